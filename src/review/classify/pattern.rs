//! One pattern of a rule: compiled when it is first asked, size-limited, with ASCII word boundaries. It decides nothing.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::OnceLock;

use regex::RegexBuilder;

pub(super) use super::engine::Groups;
use super::engine::{Built, Engine, SIZE_LIMIT, Tried, is_plain};
use super::sieve::{Needs, Runs};
use super::start::{Bytes, Start};

const MAX_LEN: usize = 8_000;

/// Why a pattern cannot be used, in one line.
#[derive(Debug)]
pub(super) struct BadPattern(pub(super) String);

/// A pattern. A run looks at few reviewers, so most patterns are never compiled.
#[derive(Debug)]
pub(super) struct Pattern {
    source: String,
    reading: Reading,
    has_groups: bool,
    needs: OnceLock<Needs>,
    start: OnceLock<Start>,
    anywhere: Engine,
    /// The pattern at the start of a text: where it begins is told before, and the engine's search for it is spared.
    at_start: Engine,
}

/// Places where a pattern is tried before the engine searches the rest of the text: a text with many places that lead to
/// nothing stays linear work.
const TRIES: usize = 8;

/// How the classes of a pattern are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// A person wrote it: `\w` and `\d` are the whole of Unicode.
    Exact,
    /// It is built in: `\w` is [`WORD`] and `\d` is ASCII, as the full classes take much memory and time to compile.
    Small,
}

macro_rules! signs {
    () => {
        concat!(
            r"\x00-\x2F\x3A-\x40\x5B-\x5E\x60\x7B-\xA9\xAB-\xB4\xB6-\xB9\xBB-\xBF\xD7\xF7\x{2000}-\x{20CF}\x{20F1}-\x{2101}",
            r"\x{2103}-\x{2106}\x{2108}-\x{2109}\x{2114}\x{2116}-\x{2118}\x{211E}-\x{2123}\x{2125}\x{2127}\x{2129}\x{212E}",
            r"\x{213A}-\x{213B}\x{2140}-\x{2144}",
            r"\x{214A}-\x{214D}\x{214F}-\x{215F}\x{2189}-\x{24B5}\x{24EA}-\x{2BFF}\x{2CE5}-\x{2CEA}\x{2E00}-\x{3004}",
            r"\x{3008}-\x{3020}\x{3030}\x{3036}-\x{3037}\x{303D}-\x{3040}\x{309B}-\x{309C}\x{30A0}\x{30FB}\x{3190}-\x{319F}",
            r"\x{31C0}-\x{31EF}\x{3200}-\x{33FF}\x{4DC0}-\x{4DFF}\x{E000}-\x{F8FF}\x{FE10}-\x{FE1F}\x{FE30}-\x{FE32}",
            r"\x{FE35}-\x{FE4C}\x{FE50}-\x{FE6F}\x{FEFF}-\x{FF0F}\x{FF1A}-\x{FF20}\x{FF3B}-\x{FF3E}\x{FF40}\x{FF5B}-\x{FF65}",
            r"\x{FFDD}-\x{FFFF}\x{1D000}-\x{1D3FF}\x{1F000}-\x{1F12F}\x{1F14A}-\x{1F14F}\x{1F16A}-\x{1F16F}\x{1F18A}-\x{1FBEF}",
            r"\x{1FBFA}-\x{1FFFF}\x{40000}-\x{10FFFF}",
        )
    };
}

/// The word characters of built-in patterns: every character of blocks that are no signs (punctuation, symbols, emoji)
/// and, in those blocks, those of `\w`. Told by the signs, as these are few ranges and have no case to fold.
const WORD: &str = concat!("[^", signs!(), "]");
const SIGN: &str = concat!("[", signs!(), "]");

impl Pattern {
    /// Keeps a pattern for later.
    pub(super) fn new(source: &str, reading: Reading) -> Result<Self, BadPattern> {
        if source.len() > MAX_LEN {
            return Err(BadPattern(format!("the pattern is longer than {MAX_LEN} bytes")));
        }
        Ok(Self {
            source: source.to_owned(),
            reading,
            has_groups: source.contains("(?P<") || source.contains("(?<"),
            needs: OnceLock::new(),
            start: OnceLock::new(),
            anywhere: Engine::default(),
            at_start: Engine::default(),
        })
    }

    /// Returns the pattern as written.
    pub(super) fn source(&self) -> &str {
        &self.source
    }

    /// Tells whether the pattern may fit a text of a page; false is certain, and costs no compilation.
    pub(super) fn may_fit(&self, page: &Runs) -> bool {
        page.may(self.needs.get_or_init(|| Needs::of(&self.source)))
    }

    /// Tells whether the pattern may begin anywhere in a text; false is certain, and costs no compilation.
    pub(super) fn may_begin(&self, text: &str) -> bool {
        self.start().next(text, 0).is_some()
    }

    /// Returns the bytes with which a single line begins that the pattern fits, where it fits at its start only.
    pub(super) fn first_bytes(&self) -> Option<Bytes> {
        self.start().first_of_line()
    }

    /// Tells whether the pattern fits a text.
    pub(super) fn is_match(&self, text: &str) -> bool {
        let fits = |built: &Built, at: usize, from| built.fits(text.get(at..)?, from).then_some(());
        self.first(text, 0, &mut TRIES.clone(), fits).is_some()
    }

    /// Returns what the groups of the pattern hold where it fits a text first.
    pub(super) fn groups<'t>(&'t self, text: &'t str) -> Option<Groups<'t>> {
        self.groups_from(text, 0, &mut TRIES.clone())
    }

    /// Returns what the groups of the pattern hold wherever it fits a text.
    pub(super) fn all_groups<'t>(&'t self, text: &'t str) -> impl Iterator<Item = Groups<'t>> {
        let mut tries = TRIES;
        let mut next = move |from| self.groups_from(text, from, &mut tries);
        std::iter::successors(next(0), move |found| next(found.range().end))
    }

    /// Returns every place of a text that the pattern fits.
    pub(super) fn all_places(&self, text: &str) -> impl Iterator<Item = Range<usize>> {
        let mut tries = TRIES;
        let mut next = move |from| {
            let place = |built: &Built, at: usize, from| {
                let found = built.place(text.get(at..)?, from)?;
                Some(at + found.start..at + found.end)
            };
            self.first(text, from, &mut tries, place)
        };
        std::iter::successors(next(0), move |found| next(found.end))
    }

    /// Returns the first place by the engine alone, which knows nothing of where the pattern may begin, nor of ASCII.
    #[cfg(test)]
    pub(super) fn plain_place(&self, text: &str) -> Option<Range<usize>> {
        self.anywhere.built(false, Tried::Anywhere, || self.as_run()).place(text, 0)
    }

    /// Returns a text without what the pattern fits.
    pub(super) fn without<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let (mut out, mut done) = (String::new(), 0);
        for found in self.all_places(text) {
            out.push_str(&text[done..found.start]);
            done = found.end;
        }
        if done == 0 {
            return Cow::Borrowed(text);
        }
        out.push_str(&text[done..]);
        Cow::Owned(out)
    }

    fn groups_from<'t>(&'t self, text: &'t str, from: usize, tries: &mut usize) -> Option<Groups<'t>> {
        self.first(text, from, tries, |built, at, from| built.groups(text.get(at..)?, from, at))
    }

    /// Asks where the pattern may begin, from a place on, until there is an answer: about the rest of the text there, or
    /// about the whole text once there were too many tries. Whoever is asked is told where the text begins that it is
    /// asked about, and from which place of that on.
    fn first<'p, T>(
        &'p self,
        text: &str,
        from: usize,
        tries: &mut usize,
        ask: impl Fn(&'p Built, usize, usize) -> Option<T>,
    ) -> Option<T> {
        let start = self.start();
        let mut at = start.next(text, from)?;
        let plain = is_plain(text);
        if start.is_known() && *tries > 0 {
            let built = self.at_start.built(plain, Tried::AtStart, || self.as_run());
            while *tries > 0 {
                if let Some(found) = ask(built, at, 0) {
                    return Some(found);
                }
                *tries -= 1;
                at = start.next(text, at + 1)?;
            }
        }
        ask(self.anywhere.built(plain, Tried::Anywhere, || self.as_run()), 0, at)
    }

    fn start(&self) -> &Start {
        self.start.get_or_init(|| Start::of(&self.as_run()))
    }

    /// Tells whether any group of the pattern has a name.
    pub(super) fn has_groups(&self) -> bool {
        self.has_groups
    }

    /// Compiles the pattern now; one that matches nothing at all is refused too.
    pub(super) fn check(&self) -> Result<(), BadPattern> {
        let mut builder = RegexBuilder::new(&self.as_run());
        let builder = builder.multi_line(true).size_limit(SIZE_LIMIT).dfa_size_limit(SIZE_LIMIT);
        let built = builder.build().map_err(|e| BadPattern(one_line(&e.to_string())))?;
        if built.is_match("") {
            return Err(BadPattern("the pattern matches the empty text".to_owned()));
        }
        Ok(())
    }

    /// The pattern as it is run. Variation selectors are taken out of bodies, so that an emoji is one however it was typed.
    fn as_run(&self) -> String {
        rewritten(&self.source, self.reading).replace('\u{fe0f}', "")
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Rewrites `\b` to its ASCII form, as the Unicode one falls off the engine's fast path on text with emoji, and the
/// classes that are meant small.
fn rewritten(pattern: &str, reading: Reading) -> String {
    let small = reading == Reading::Small;
    let mut out = String::with_capacity(pattern.len());
    let mut chars = pattern.chars().peekable();
    let mut in_class = false;
    // True in a class that stands in a group of its own.
    let mut apart = false;
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('b') if !in_class && chars.peek() != Some(&'{') => out.push_str(r"(?-u:\b)"),
                Some('w') if small => out.push_str(WORD),
                Some('W') if small => out.push_str(SIGN),
                Some('d') if small => out.push_str("[0-9]"),
                Some(next) => out.extend(['\\', next]),
                None => out.push('\\'),
            },
            '[' => {
                if small && !in_class && is_caseless(chars.clone()) {
                    apart = true;
                    out.push_str("(?-i:");
                }
                in_class = true;
                out.push(c);
            }
            ']' => {
                in_class = false;
                out.push(c);
                if std::mem::take(&mut apart) {
                    out.push(')');
                }
            }
            _ => out.push(c),
        }
    }
    out
}

/// Tells whether a class holds word characters and beside them nothing that has a case: that it is told without regard to
/// case changes nothing in it, and costs a walk through all of Unicode. The characters are those behind its bracket.
fn is_caseless(mut class: impl Iterator<Item = char>) -> bool {
    let mut words = false;
    let mut first = true;
    while let Some(c) = class.next() {
        match c {
            ']' if first => return false,
            ']' => return words,
            '[' | '&' => return false,
            '\\' => match class.next() {
                Some('w' | 'W') => words = true,
                Some('d' | 'D' | 's' | 'S' | 'n' | 't') => {}
                Some('x') if class.next() == Some('0') && class.next() == Some('1') => {}
                Some(sign) if sign.is_ascii_punctuation() => {}
                Some(_) | None => return false,
            },
            c if c.is_lowercase() || c.is_uppercase() => return false,
            '^' if first => continue,
            _ => {}
        }
        first = false;
    }
    false
}

#[cfg(test)]
mod tests {
    use regex::Regex;

    use super::*;

    #[test]
    fn word_boundaries_are_ascii() {
        assert_eq!(rewritten(r"\bnit\b[\b]\\b", Reading::Exact), r"(?-u:\b)nit(?-u:\b)[\b]\\b");
    }

    #[test]
    fn the_small_word_class_knows_every_script_and_every_emoji() {
        let exact = Regex::new(r"\w").expect("compiles");
        let small = Regex::new(WORD).expect("compiles");
        let differ = |range: std::ops::RangeInclusive<char>| {
            let odd =
                |c: &char| exact.is_match(c.encode_utf8(&mut [0; 4])) != small.is_match(c.encode_utf8(&mut [0; 4]));
            range.filter(odd).collect::<String>()
        };
        // Latin; symbols and arrows; kana, ideographs and Hangul; wide forms; emoji.
        for range in ['\0'..='\u{2c1}', '\u{20a0}'..='\u{2bff}', '\u{ff01}'..='\u{ffbe}', '\u{1f000}'..='\u{1faff}'] {
            assert_eq!(differ(range), "");
        }
        for letter in "žßαжשعहไ漢々〇のーン한ﬁ𝐏ⅣⓂ".chars() {
            assert!(small.is_match(letter.encode_utf8(&mut [0; 4])), "{letter}");
        }
        for sign in "–—…“”•→≠─■★✅❌➤⭐、。「」【】・〜！：（）｜🔥🟠🧹🤖".chars()
        {
            assert!(!small.is_match(sign.encode_utf8(&mut [0; 4])), "{sign}");
        }
    }

    #[test]
    fn a_class_told_with_regard_to_case_is_the_same_class() {
        let parsed =
            |text: &str| regex_syntax::ParserBuilder::new().multi_line(true).build().parse(text).expect("parses");
        let apart = |text: &str| {
            let run = rewritten(text, Reading::Small);
            // The groups that were put in are the only ones of their kind.
            assert_eq!(parsed(&run), parsed(&run.replace("(?-i:", "(?:")), "{text}");
            run.contains("(?-i:")
        };
        for class in [r"[^\w\n]", r"[\w./@-]", r"[\w -]+", r"[^\w\x01\n|>`]*", r"[\W\d]{2,3}?"] {
            assert!(apart(&format!("(?i)a{class}b")), "{class}");
        }
        for class in [r"[^*\n]", r"[\wa]", r"[]\w]", r"[\w[a]]", r"[\w&&\d]", r"[\x41\w]", r"[\wЖ]", r"\[\w\]"] {
            assert!(!apart(&format!("(?i){class}")), "{class}");
        }
        let rules = concat!(
            include_str!("../../rules/amazon-q.toml"),
            include_str!("../../rules/claude.toml"),
            include_str!("../../rules/general.toml"),
            include_str!("../../rules/people.toml"),
            include_str!("../../rules/codacy.toml"),
            include_str!("../../rules/coderabbit.toml"),
        );
        let quoted = rules.lines().filter_map(|line| line.split_once("= '")?.1.strip_suffix('\''));
        let changed = quoted.filter(|text| !text.starts_with("''") && apart(text)).count();
        assert!(changed >= 10, "{changed} patterns");
    }

    #[test]
    fn classes_of_built_in_patterns_are_small() {
        let small = Pattern::new(r"^[^\w\n]+\w+\W[\d\W]$", Reading::Small).expect("short enough");
        assert!(small.check().is_ok());
        assert!(small.is_match("🔥é-1") && small.is_match("-x-。") && !small.is_match("a-b-1"));
    }

    #[test]
    fn a_pattern_that_cannot_compile_fits_nothing() {
        let pattern = Pattern::new("(", Reading::Exact).expect("short enough");
        assert!(pattern.check().is_err() && !pattern.is_match("("));
    }
}
