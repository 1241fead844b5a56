//! A pattern made ready to run, when it is first asked. It is made twice: for any text, and for short texts of ASCII
//! alone, which most are. Without the characters that those cannot hold its tables are a fraction, and stay in the
//! processor's near memory beside those of hundreds of other patterns.

use std::ops::Range;
use std::sync::OnceLock;

use regex_automata::Input;
use regex_automata::meta::{Config, Regex};
use regex_automata::util::primitives::NonMaxUsize;
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Capture, Class, ClassBytes, ClassBytesRange, ClassUnicode, ClassUnicodeRange};
use regex_syntax::hir::{Hir, HirKind, Look, Repetition};

/// The most room that a pattern may take, and the tables it is run with.
pub(super) const SIZE_LIMIT: usize = 1 << 20;
/// A longer text is not looked at for ASCII: the pattern may need no more than its start.
const SHORT: usize = 4_096;

/// Where in a text a pattern is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tried {
    Anywhere,
    AtStart,
}

/// A pattern for both kinds of texts.
#[derive(Debug, Default)]
pub(super) struct Engine {
    any: OnceLock<Built>,
    ascii: OnceLock<Built>,
}

/// A pattern for one kind.
#[derive(Debug)]
pub(super) struct Built {
    regex: Regex,
    /// The groups that have a name.
    names: Box<[(Box<str>, usize)]>,
}

/// What the groups of a pattern hold in a text.
#[derive(Debug)]
pub(super) struct Groups<'t> {
    /// Where the text begins that was searched.
    at: usize,
    text: &'t str,
    /// Where each group begins and ends, the whole first.
    slots: Slots,
    names: &'t [(Box<str>, usize)],
}

/// Places of groups; those of most patterns are few.
#[derive(Debug)]
enum Slots {
    Few([Option<NonMaxUsize>; FEW]),
    Many(Vec<Option<NonMaxUsize>>),
}

const FEW: usize = 10;

/// Tells whether a text is one of ASCII that the smaller pattern serves.
pub(super) fn is_plain(text: &str) -> bool {
    text.len() <= SHORT && text.is_ascii()
}

impl Engine {
    /// Returns the pattern for a text, plain or not.
    pub(super) fn built(&self, plain: bool, tried: Tried, source: impl Fn() -> String) -> &Built {
        let place = if plain { &self.ascii } else { &self.any };
        place.get_or_init(|| Built::of(&source(), plain, tried).unwrap_or_else(Built::never))
    }
}

impl Built {
    /// Makes a pattern ready; one that cannot be is refused where patterns are checked, and fits nothing here.
    fn of(source: &str, plain: bool, tried: Tried) -> Option<Self> {
        let hir = ParserBuilder::new().multi_line(true).build().parse(source).ok()?;
        let hir = if plain { ascii(&hir) } else { hir };
        let hir = match tried {
            Tried::Anywhere => hir,
            Tried::AtStart => Hir::concat(vec![Hir::look(Look::Start), hir]),
        };
        Self::of_hir(&hir)
    }

    fn of_hir(hir: &Hir) -> Option<Self> {
        let limits = Config::new().nfa_size_limit(Some(SIZE_LIMIT)).hybrid_cache_capacity(SIZE_LIMIT);
        let regex = Regex::builder().configure(limits).build_from_hir(hir).ok()?;
        let groups = regex.group_info().pattern_names(regex_automata::PatternID::ZERO).enumerate();
        let names = groups.filter_map(|(index, name)| Some((name?.into(), index))).collect();
        Some(Self { regex, names })
    }

    #[expect(clippy::expect_used, reason = "a fixed pattern")]
    fn never() -> Self {
        Self::of_hir(&Hir::fail()).expect("a pattern that fits nothing can be made")
    }

    fn input<'t>(text: &'t str, from: usize) -> Input<'t> {
        Input::new(text).span(from.min(text.len())..text.len())
    }

    /// Tells whether the pattern fits a text from a place on.
    pub(super) fn fits(&self, text: &str, from: usize) -> bool {
        self.regex.is_match(Self::input(text, from))
    }

    /// Returns where the pattern fits a text first, from a place on.
    pub(super) fn place(&self, text: &str, from: usize) -> Option<Range<usize>> {
        self.regex.find(Self::input(text, from)).map(|found| found.range())
    }

    /// Returns what the groups hold there, for a text that begins at a place of a longer one.
    pub(super) fn groups<'t>(&'t self, text: &'t str, from: usize, at: usize) -> Option<Groups<'t>> {
        let input = Self::input(text, from);
        let count = 2 * self.regex.captures_len();
        let mut few = [None; FEW];
        let slots = match few.get_mut(..count) {
            Some(slots) => {
                self.regex.search_slots(&input, slots)?;
                Slots::Few(few)
            }
            None => {
                let mut slots = vec![None; count];
                self.regex.search_slots(&input, &mut slots)?;
                Slots::Many(slots)
            }
        };
        Some(Groups { at, text, slots, names: &self.names })
    }
}

impl<'t> Groups<'t> {
    fn span(&self, group: usize) -> Option<Range<usize>> {
        let slots = match &self.slots {
            Slots::Few(slots) => slots.as_slice(),
            Slots::Many(slots) => slots,
        };
        let slot = |n: usize| slots.get(n).copied().flatten().map(NonMaxUsize::get);
        Some(slot(2 * group)?..slot(2 * group + 1)?)
    }

    /// Returns what a group holds, if it took part.
    pub(super) fn name(&self, name: &str) -> Option<&'t str> {
        let (_, group) = self.names.iter().find(|(known, _)| **known == *name)?;
        self.text.get(self.span(*group)?)
    }

    /// Returns all that the pattern fits.
    pub(super) fn text(&self) -> &'t str {
        self.span(0).and_then(|all| self.text.get(all)).unwrap_or_default()
    }

    /// Returns where in the text that is.
    pub(super) fn range(&self) -> Range<usize> {
        self.span(0).map_or(self.at..self.at, |all| self.at + all.start..self.at + all.end)
    }
}

/// Returns a pattern without the characters that a text of ASCII cannot hold; it fits the same there.
fn ascii(hir: &Hir) -> Hir {
    let all = |parts: &[Hir]| parts.iter().map(ascii).collect::<Vec<_>>();
    match hir.kind() {
        HirKind::Empty => Hir::empty(),
        HirKind::Look(look) => Hir::look(*look),
        HirKind::Literal(literal) if literal.0.is_ascii() => Hir::literal(literal.0.clone()),
        HirKind::Literal(_) => Hir::fail(),
        HirKind::Class(Class::Unicode(class)) => {
            let mut class = class.clone();
            class.intersect(&ClassUnicode::new([ClassUnicodeRange::new('\0', '\x7f')]));
            Hir::class(Class::Unicode(class))
        }
        HirKind::Class(Class::Bytes(class)) => {
            let mut class = class.clone();
            class.intersect(&ClassBytes::new([ClassBytesRange::new(0, 0x7f)]));
            Hir::class(Class::Bytes(class))
        }
        HirKind::Repetition(each) => Hir::repetition(Repetition { sub: Box::new(ascii(&each.sub)), ..each.clone() }),
        HirKind::Capture(group) => Hir::capture(Capture { sub: Box::new(ascii(&group.sub)), ..group.clone() }),
        HirKind::Concat(parts) => Hir::concat(all(parts)),
        HirKind::Alternation(parts) => Hir::alternation(all(parts)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(pattern: &str, text: &str, plain: bool) -> Option<(Range<usize>, Option<String>)> {
        let engine = Engine::default();
        let built = engine.built(plain, Tried::Anywhere, || pattern.to_owned());
        let found = built.groups(text, 0, 0)?;
        Some((found.range(), found.name("g").map(str::to_owned)))
    }

    #[test]
    fn what_texts_of_ascii_cannot_hold_changes_nothing_there() {
        for pattern in [
            r"(?i)(?P<g>straße|strasse|k)",
            r"^\W*(?P<g>[^\n]+?)\s*$",
            r"[🔴🟠]|(?P<g>é*)x",
            r"(?P<g>ü)?b",
            r"(?:ü|(?P<g>a))+",
            r"(?-u:\b)(?P<g>\w+)[.。]",
            r"(?s).(?P<g>[^a])",
            r"水(?P<g>x)",
        ] {
            for text in ["", "x", "ab", " Straight talk. \nk", "--\nb\n", "STRASSE", "a a\n"] {
                assert_eq!(spans(pattern, text, true), spans(pattern, text, false), "{pattern}: {text:?}");
            }
        }
    }

    #[test]
    fn a_group_that_took_no_part_holds_nothing() {
        assert_eq!(spans("(?P<g>a)|b", "b", true), Some((0..1, None)));
        assert_eq!(spans("(?P<g>a)|b", "ca", false), Some((1..2, Some("a".to_owned()))));
        assert_eq!(spans("(", "(", false), None);
    }
}
