//! Whether a reason speaks of its finding.

use std::collections::BTreeSet;

use similar::TextDiff;

use super::parse::MAX_REASON;
use crate::review::summary::Entry;

/// Shortest reason, in characters.
const MIN_REASON: usize = 40;

/// Likeness from which one reason is the text of another.
const SAME: f32 = 0.95;

/// Words that tell nothing about one finding: grammar, and what every review says.
const COMMON: &str = "a about above actually add added after again all already also always an and another any are argument array \
    avoid bad be because been before being below best better between both bug but by call called calls can case cases change changed \
    changes check checks class code comment consider correct correctly could data default did different do does doing done each \
    either else ensure error errors even every example file files finding first fix fixed for from function functions get gets \
    given good handle handled handling has have having here how however if implementation in incorrect instead into invalid is \
    issue issues it its itself just like line lines list logic make makes many may means method might missing more most must name \
    need needed needs never new no none not note now null number object of off old on once one only or other otherwise out over \
    path place please point possible potential problem properly provide read really reason remove removed result results return \
    returned returns right run same see set should since some something still string such suggestion sure take test tests than \
    that the their them then there these they thing things this those through time to too true try type under unless until update \
    updated use used useful uses using value values variable very via want was way well were what when where whether which while \
    who why will with within without work works would wrong you your";

/// Checks that a reason has the right size.
pub(super) fn sized(reason: &str) -> Result<(), String> {
    let length = reason.chars().count();
    if (MIN_REASON..=MAX_REASON).contains(&length) {
        return Ok(());
    }
    Err(format!("its reason has {length} characters; {MIN_REASON} to {MAX_REASON} are asked for"))
}

/// Checks that a reason has the right size, speaks of this finding, and is not the text of another argument.
pub(super) fn speaks_of<'a>(
    entry: &Entry,
    reason: &str,
    code: &str,
    others: impl Iterator<Item = &'a str>,
) -> Result<(), String> {
    sized(reason)?;
    let words = words(reason);
    let lower = reason.to_lowercase();
    let path = entry.finding.path.as_deref().is_some_and(|path| {
        let name = path.rsplit('/').next().unwrap_or(path);
        names(reason, path) || (name.len() >= 3 && names(reason, name))
    });
    let symbol = || symbols(code).iter().any(|symbol| names(reason, symbol));
    let title = || {
        distinctive(&entry.finding.title).iter().any(|word| words.iter().any(|w| akin(w, word)) || lower.contains(word))
    };
    if !path && !title() && !symbol() {
        return Err(
            "its reason does not speak of the finding: name the file, a symbol at the place, or the point it makes"
                .to_owned(),
        );
    }
    let plain = words.join(" ");
    for other in others {
        if TextDiff::from_words(self::words(other).join(" ").as_str(), plain.as_str()).ratio() >= SAME {
            return Err("its reason is the text of another argument; each finding needs its own".to_owned());
        }
    }
    Ok(())
}

fn words(text: &str) -> Vec<String> {
    let parts = text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
    parts.map(str::to_lowercase).collect()
}

fn common(word: &str) -> bool {
    COMMON.split_ascii_whitespace().any(|w| w == word)
}

fn distinctive(title: &str) -> BTreeSet<String> {
    words(title).into_iter().filter(|word| word.chars().count() >= 4 && !common(word)).collect()
}

/// Tells whether two words are forms of one: the same, or alike but for a short ending.
fn akin(one: &str, other: &str) -> bool {
    let shared = one.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    let rest = |word: &str| word.chars().count() - shared;
    one == other || (shared >= 5 && rest(one) <= 3 && rest(other) <= 3)
}

fn symbols(code: &str) -> BTreeSet<&str> {
    let identifiers = code.split(|c: char| !c.is_alphanumeric() && c != '_');
    let telling = |word: &&str| {
        let first = word.chars().next().is_some_and(|c| c.is_alphabetic() || c == '_');
        first && word.chars().count() >= 4 && !common(&word.to_lowercase()) && !KEYWORDS.contains(word)
    };
    identifiers.filter(telling).collect()
}

/// Keywords of widespread languages with four letters or more: they name nothing at a place.
const KEYWORDS: &[&str] = &[
    "abstract",
    "async",
    "await",
    "begin",
    "bool",
    "boolean",
    "break",
    "catch",
    "char",
    "const",
    "constructor",
    "continue",
    "crate",
    "defer",
    "delete",
    "double",
    "elif",
    "enum",
    "except",
    "export",
    "extends",
    "extern",
    "false",
    "final",
    "finally",
    "float",
    "foreach",
    "func",
    "global",
    "goto",
    "implements",
    "import",
    "include",
    "int32",
    "int64",
    "interface",
    "internal",
    "lambda",
    "long",
    "loop",
    "match",
    "module",
    "move",
    "mutable",
    "namespace",
    "nonlocal",
    "operator",
    "override",
    "package",
    "pass",
    "private",
    "protected",
    "public",
    "raise",
    "require",
    "self",
    "short",
    "signed",
    "sizeof",
    "static",
    "struct",
    "super",
    "switch",
    "template",
    "throw",
    "throws",
    "trait",
    "typedef",
    "typename",
    "typeof",
    "union",
    "unsafe",
    "unsigned",
    "usize",
    "void",
    "volatile",
    "yield",
    "None",
    "Some",
    "this",
    "True",
    "False",
];

/// Tells whether a text names something as a whole word.
fn names(text: &str, name: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    !name.is_empty()
        && text.match_indices(name).any(|(at, found)| {
            let before = text[..at].chars().next_back();
            let after = text[at + found.len()..].chars().next();
            !before.is_some_and(part) && !after.is_some_and(part)
        })
}
