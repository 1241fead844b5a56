//! Which patterns may fit a page, told by the words that they cannot do without: one look at the page serves every
//! pattern. Its "no" is certain, its "yes" is not.

use std::cell::Cell;

use regex_syntax::ast::parse::Parser;
use regex_syntax::ast::{Ast, ClassBracketed, ClassSet, ClassSetItem, RepetitionKind, RepetitionRange};
use unicode_normalization::{IsNormalized, UnicodeNormalization as _, is_nfkc_quick};

/// Most words of which a pattern needs one.
const MOST: usize = 96;
/// Words shorter than this stand everywhere.
const SHORTEST: usize = RUN;
const LONGEST: usize = 24;
/// Bytes of a run.
const RUN: usize = 3;
/// Places for runs.
const PLACES: usize = 1 << 14;
/// Runs of a word that are asked for.
const ASKED: usize = 6;

/// The runs of three bytes that a page holds, ASCII in lower case; several runs share a place.
#[derive(Debug)]
pub(super) struct Runs {
    /// `None` only while it is dropped.
    table: Option<Box<Table>>,
    /// True where case folds in a way that runs cannot tell.
    odd: bool,
}

/// A place is taken when it bears the mark of the page, so that the table need not be cleared for each.
#[derive(Debug)]
struct Table {
    places: [u8; PLACES],
    mark: u8,
}

thread_local! {
    /// The table of the page before, for the next one.
    static SPARE: Cell<Option<Box<Table>>> = const { Cell::new(None) };
}

/// The words of which a text that a pattern fits holds one, each as the places of its runs. None: it needs no word.
#[derive(Debug, Default)]
pub(super) struct Needs(Box<[Word]>);

/// The places of a word's runs; those of a short one are named again until the row is full.
type Word = [u16; ASKED];

/// Returns the place of the run in the three low bytes.
fn place(run: u64) -> usize {
    ((run as u32) << 8).wrapping_mul(0x9e37_79b1) as usize >> 18
}

/// Returns eight bytes with ASCII in lower case.
fn lower(bytes: [u8; 8]) -> u64 {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let row = u64::from_le_bytes(bytes);
    let low = row & (0x7f * EACH);
    // The high bit of a byte is set from `A` on, and from the one after `Z` on.
    let (from_a, after_z) = (low + (0x80 - 0x41) * EACH, low + (0x80 - 0x5b) * EACH);
    row | ((from_a ^ after_z) & !row & (0x80 * EACH)) >> 2
}

impl Table {
    fn empty() -> Box<Self> {
        let mut table = SPARE.take().unwrap_or_else(|| Box::new(Self { places: [0; PLACES], mark: 0 }));
        if table.mark == u8::MAX {
            table.places.fill(0);
            table.mark = 0;
        }
        table.mark += 1;
        table
    }

    fn take(&mut self, mut bytes: &[u8]) {
        // Eight bytes hold six runs.
        while let Some(row) = bytes.first_chunk() {
            let row = lower(*row);
            (0..6).for_each(|at| self.places[place(row >> (8 * at))] = self.mark);
            bytes = &bytes[6..];
        }
        places(bytes).for_each(|place| self.places[place] = self.mark);
    }

    fn has(&self, word: &Word) -> bool {
        word.iter().all(|place| self.places.get(usize::from(*place)) == Some(&self.mark))
    }
}

/// Returns the places of the runs of a short text.
fn places(bytes: &[u8]) -> impl Iterator<Item = usize> {
    bytes.windows(RUN).map(|run| place(lower([run[0], run[1], run[2], 0, 0, 0, 0, 0])))
}

impl Drop for Runs {
    fn drop(&mut self) {
        SPARE.set(self.table.take());
    }
}

impl Runs {
    /// Looks at texts, of which every text that is asked about later is a part: lines may be cut, left out and joined,
    /// and written in their compatibility form, nothing else.
    pub(super) fn of<'t>(texts: impl Iterator<Item = &'t str>) -> Self {
        let mut runs = Self { table: Some(Table::empty()), odd: false };
        texts.for_each(|text| runs.add(text));
        runs
    }

    fn add(&mut self, text: &str) {
        self.take(text);
        // Characters outside ASCII may stand for others.
        let (mut at, mut folded_to) = (0, 0);
        while let Some(wide) = first_wide(&text.as_bytes()[at..]) {
            at += wide;
            let Some(c) = text[at..].chars().next() else { break };
            // These stand for `s` and `k` where case is ignored.
            self.odd |= matches!(c, '\u{17f}' | '\u{212a}');
            if at >= folded_to && may_change(c) {
                let line = text[..at].rfind('\n').map_or(0, |n| n + 1);
                folded_to = text[at..].find('\n').map_or(text.len(), |n| at + n);
                self.take(&text[line..folded_to].chars().flat_map(folded).collect::<String>());
            }
            at += c.len_utf8();
        }
    }

    fn take(&mut self, text: &str) {
        if let Some(table) = &mut self.table {
            table.take(text.as_bytes());
        }
    }

    /// Tells whether a pattern with these needs may fit; false is certain.
    pub(super) fn may(&self, needs: &Needs) -> bool {
        let has = |table: &Table| needs.0.iter().any(|word| table.has(word));
        self.odd || needs.0.is_empty() || self.table.as_deref().is_none_or(has)
    }
}

impl Needs {
    /// Finds out what a pattern needs.
    pub(super) fn of(pattern: &str) -> Self {
        let word = |word: &String| -> Word {
            let mut row = places(word.as_bytes()).collect::<Vec<_>>().into_iter().cycle();
            std::array::from_fn(|_| row.next().map_or(0, |place| place as u16))
        };
        Self(needed(pattern).iter().flatten().map(word).collect())
    }
}

/// Returns where the first byte outside ASCII stands; rows without one are passed at once.
fn first_wide(bytes: &[u8]) -> Option<usize> {
    const ROW: usize = 32;
    let row = bytes.chunks(ROW).position(|row| !row.is_ascii())? * ROW;
    bytes.get(row..)?.iter().position(|byte| !byte.is_ascii()).map(|n| row + n)
}

/// Tells whether a character may have another compatibility form; a no is certain. The first lines only save time: dashes
/// and quotation marks, signs, kana, ideographs, emoji.
pub(super) fn may_change(c: char) -> bool {
    !matches!(c, '\u{2012}'..='\u{2016}' | '\u{2018}'..='\u{2023}' | '\u{2190}'..='\u{21ff}' | '\u{2500}'..='\u{27bf}')
        && !matches!(c, '\u{3041}'..='\u{3096}' | '\u{4e00}'..='\u{9fff}' | '\u{1f300}'..='\u{1faff}')
        && is_nfkc_quick(std::iter::once(c)) != IsNormalized::Yes
}

/// Returns the compatibility form of one character.
pub(super) fn folded(c: char) -> impl Iterator<Item = char> {
    std::iter::once(c).nfkc()
}

/// Returns words, ASCII in lower case, of which every text that the pattern fits holds one; `None` where there are none.
fn needed(source: &str) -> Option<Words> {
    let ast = Parser::new().parse(source).ok()?;
    let known = Known::of(&ast);
    known.need.or_else(|| known.exact.filter(good))
}

/// Few texts, in their order, each once.
type Words = Vec<String>;

/// What is known of the texts that a part of a pattern fits.
struct Known {
    /// All of them, where they are few.
    exact: Option<Words>,
    /// Words of which each holds one.
    need: Option<Words>,
}

fn good(words: &Words) -> bool {
    words.len() <= MOST && words.iter().all(|word| word.len() >= SHORTEST)
}

fn add(words: &mut Words, word: String) {
    if !words.contains(&word) {
        words.push(word);
    }
}

fn one(text: &str) -> Words {
    vec![text.to_owned()]
}

/// Returns the set that is the rarer in texts: longer words, then fewer.
fn rarer(a: Option<Words>, b: Option<Words>) -> Option<Words> {
    let rank = |set: &Words| {
        let shortest = set.iter().map(String::len).min().unwrap_or_default();
        (shortest.min(6), usize::MAX - set.len(), shortest)
    };
    match (a.filter(good), b.filter(good)) {
        (Some(a), Some(b)) => Some(if rank(&a) >= rank(&b) { a } else { b }),
        (a, b) => a.or(b),
    }
}

impl Known {
    fn anything() -> Self {
        Self { exact: None, need: None }
    }

    fn of(ast: &Ast) -> Self {
        match ast {
            Ast::Empty(_) | Ast::Flags(_) | Ast::Assertion(_) => Self { exact: Some(one("")), need: None },
            // Variation selectors are taken out of pages, and out of patterns before they are run.
            Ast::Literal(literal) if literal.c == '\u{fe0f}' => Self { exact: Some(one("")), need: None },
            Ast::Literal(literal) => Self { exact: character(literal.c).map(|c| one(&c)), need: None },
            Ast::Dot(_) | Ast::ClassUnicode(_) | Ast::ClassPerl(_) => Self::anything(),
            Ast::ClassBracketed(class) => Self { exact: characters(class), need: None },
            Ast::Group(group) => Self::of(&group.ast),
            Ast::Repetition(repetition) => Self::repeated(&repetition.op.kind, Self::of(&repetition.ast)),
            Ast::Alternation(all) => Self::either(&all.asts),
            Ast::Concat(all) => Self::row(&all.asts),
        }
    }

    fn repeated(kind: &RepetitionKind, inner: Self) -> Self {
        let least = match kind {
            RepetitionKind::ZeroOrOne => {
                let exact = inner.exact.map(|mut set| {
                    add(&mut set, String::new());
                    set
                });
                return Self { exact, need: None };
            }
            RepetitionKind::ZeroOrMore => 0,
            RepetitionKind::OneOrMore => 1,
            RepetitionKind::Range(
                RepetitionRange::Exactly(n) | RepetitionRange::AtLeast(n) | RepetitionRange::Bounded(n, _),
            ) => *n,
        };
        if least == 0 {
            return Self::anything();
        }
        let need = rarer(inner.need, inner.exact.filter(good));
        Self { exact: None, need }
    }

    fn either(all: &[Ast]) -> Self {
        let (mut exact, mut need) = (Some(Vec::new()), Some(Vec::new()));
        for known in all.iter().map(Self::of) {
            let joined = |(mut all, more): (Words, Words)| {
                more.into_iter().for_each(|word| add(&mut all, word));
                all
            };
            let needs = rarer(known.need, known.exact.clone().filter(good));
            need = need.zip(needs).map(joined);
            exact = exact.zip(known.exact).map(joined);
            if need.is_none() && exact.is_none() {
                break;
            }
        }
        Self { exact: exact.filter(|set| set.len() <= MOST), need: need.filter(good) }
    }

    fn row(all: &[Ast]) -> Self {
        let (mut need, mut open, mut whole) = (None, one(""), true);
        for known in all.iter().map(Self::of) {
            need = rarer(need, known.need);
            let joined = known.exact.as_ref().and_then(|more| cross(&open, more));
            match (joined, known.exact) {
                (Some(joined), _) => open = joined,
                (None, exact) => {
                    need = rarer(need, Some(open));
                    whole = false;
                    open = exact.unwrap_or_else(|| one(""));
                }
            }
        }
        need = rarer(need, Some(open.clone()));
        Self { exact: whole.then_some(open), need }
    }
}

/// Returns every text of the one followed by every text of the other, where they stay few and short.
fn cross(first: &Words, then: &Words) -> Option<Words> {
    if first.len() * then.len() > MOST {
        return None;
    }
    let mut all = Vec::with_capacity(first.len() * then.len());
    for (a, b) in first.iter().flat_map(|a| then.iter().map(move |b| (a, b))) {
        if a.len() + b.len() > LONGEST {
            return None;
        }
        all.push([a.as_str(), b.as_str()].concat());
    }
    Some(all)
}

/// Returns a character as it is looked for; `None` where it has other forms, or where texts are cut and joined.
fn character(c: char) -> Option<String> {
    match c {
        '\n' | '\r' | '\u{1}' => None,
        c if c.is_ascii() => Some(c.to_ascii_lowercase().to_string()),
        c if c.is_lowercase() || c.is_uppercase() || c.to_lowercase().next() != Some(c) => None,
        c if folded(c).next() != Some(c) => None,
        c => Some(c.to_string()),
    }
}

/// Returns the characters of a class that has few.
fn characters(class: &ClassBracketed) -> Option<Words> {
    if class.negated {
        return None;
    }
    let mut out = Words::new();
    match &class.kind {
        ClassSet::Item(item) => gather(item, &mut out)?,
        ClassSet::BinaryOp(_) => return None,
    }
    (out.len() <= MOST).then_some(out)
}

fn gather(item: &ClassSetItem, out: &mut Words) -> Option<()> {
    match item {
        ClassSetItem::Empty(_) => {}
        ClassSetItem::Literal(literal) if literal.c == '\u{fe0f}' => {}
        ClassSetItem::Literal(literal) => {
            add(out, character(literal.c)?);
        }
        ClassSetItem::Range(range) => {
            for c in (range.start.c..=range.end.c).take(MOST + 1) {
                add(out, character(c)?);
            }
        }
        ClassSetItem::Union(union) => union.items.iter().try_for_each(|item| gather(item, out))?,
        ClassSetItem::Ascii(_) | ClassSetItem::Unicode(_) | ClassSetItem::Perl(_) | ClassSetItem::Bracketed(_) => {
            return None;
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, expected: Option<&str>) {
        let got = needed(pattern).map(|mut words| {
            words.sort();
            words.join(" ")
        });
        assert_eq!(got.as_deref(), expected, "{pattern}");
    }

    #[test]
    fn a_pattern_needs_one_of_some_words() {
        check("(?i)^Severity: High$", Some("severity: high"));
        check(r"^\s*(?i:nits?|typo)\b", Some("nit nits typo"));
        check(r"p[0-2]\s+badge", Some("badge"));
        check(r"^(?:\*\*)?P[12]:", Some("**p1: **p2: p1: p2:"));
        check(r"[🔴🟠]\s*\w+", Some("🔴 🟠"));
        check(r"(?:abc)+x?", Some("abc"));
        check(r"(?:abc){0,2}\w", None);
        check(r"(?:abc|\w+)", None);
        check("[^a-z]+", None);
        check(r"line\nend", Some("line"));
        check("É", None);
    }

    #[test]
    fn what_is_passed_at_once_has_no_other_form() {
        for c in ('\u{80}'..=char::MAX).filter(|c| !may_change(*c)) {
            assert!(folded(c).eq([c]), "{c:?}");
        }
    }

    #[test]
    fn every_run_of_a_text_is_taken_in_lower_case() {
        let text = "The GATE[ @opens` {Twice~, \u{c9}t\u{e9} 0Z9 za AZ.";
        for len in 0..=text.len() {
            let Some(text) = text.get(..len) else { continue };
            let runs = Runs::of([text].into_iter());
            let all = text.to_ascii_lowercase();
            for word in all.as_bytes().windows(RUN).filter_map(|run| std::str::from_utf8(run).ok()) {
                assert!(runs.may(&Needs::of(&regex_syntax::escape(word))), "{word} in {text}");
            }
        }
    }

    #[test]
    fn what_needs_no_word_is_always_asked_and_every_place_counts() {
        let may = |texts: &[&str], pattern: &str| Runs::of(texts.iter().copied()).may(&Needs::of(pattern));
        assert!(may(&["x ALPHAbet", ""], "(?i)alpha") && may(&["x ALPHAbet"], "alphabet"));
        assert!(may(&["beta", "gamma"], r"\w+") && may(&["beta", "gamma"], "gam"));
        assert!(!may(&["beta", "gamma"], "(?i)alpha") && !may(&["alp", "ha"], "alpha"));
        assert!(may(&["P1: x"], "p[0-4]:") && !may(&["p1", ":"], "p[0-4]:") && may(&["x"], "p[0-4]"));
        assert!(may(&["🟠 x"], "[🟠🔴]") && !may(&["🟢 x"], "[🟠🔴]"));
        assert!(may(&["ａｌｐｈａ"], "alpha"), "the compatibility form counts");
        assert!(may(&["\u{17f}"], "(?i)severity"), "one that folds to an ASCII letter lets all through");
    }
}
