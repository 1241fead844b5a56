//! Where in a text a pattern may begin: at its start, at the start of a line, or at some first bytes. Told once from the
//! pattern, and then by a look at three bytes. A pattern that is tried only there needs no search of the text.

use memchr::{memchr, memchr2, memchr3};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind, Look};

/// Bytes that are looked at.
const NEAR: usize = 3;

/// A set of bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Bytes([u64; 4]);

impl Bytes {
    fn add(&mut self, first: u8, last: u8) {
        (first..=last).for_each(|byte| self.0[usize::from(byte / 64)] |= 1 << (byte % 64));
    }

    fn add_all(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(to, from)| *to |= from);
    }

    /// Tells whether a byte is one of them.
    pub(super) fn has(&self, byte: u8) -> bool {
        self.0[usize::from(byte / 64)] & 1 << (byte % 64) != 0
    }
}

/// Where a pattern may begin.
#[derive(Debug, Default)]
pub(super) struct Start {
    place: Place,
    /// The bytes that may stand there, first to third; fewer where a match may be shorter.
    near: Vec<Bytes>,
}

#[derive(Debug, Default, Clone, PartialEq, Eq)]
enum Place {
    /// At the start of a text.
    Text,
    /// At the start of a line.
    Line,
    /// At one of few bytes.
    Byte(Vec<u8>),
    /// Nobody can tell.
    #[default]
    Unknown,
}

impl Start {
    /// Finds out where a pattern may begin. It is given as it is run.
    pub(super) fn of(pattern: &str) -> Self {
        let parsed = ParserBuilder::new().multi_line(true).build().parse(pattern);
        let Ok(hir) = parsed else { return Self::default() };
        let begin = Begin::of(&hir);
        let known = begin.lengths.iter().take(NEAR).position(|ends| *ends).unwrap_or(NEAR);
        let near: Vec<Bytes> = begin.near.into_iter().take(known).collect();
        let (properties, before) = (hir.properties(), hir.properties().look_set_prefix());
        let first = near.first().map(|first| (0..=u8::MAX).filter(|byte| first.has(*byte)).collect::<Vec<_>>());
        // Where the rest of a text is tried alone, the pattern must not ask what stands before it.
        let place = match first {
            _ if before.contains(Look::Start) => Place::Text,
            _ if properties.look_set().contains(Look::Start) => Place::Unknown,
            _ if before.contains(Look::StartLF) => Place::Line,
            Some(first) if first.len() <= 3 && known == NEAR && properties.look_set_prefix_any().is_empty() => {
                Place::Byte(first)
            }
            _ => Place::Unknown,
        };
        Self { place, near }
    }

    /// Tells whether places can be told.
    pub(super) fn is_known(&self) -> bool {
        self.place != Place::Unknown
    }

    /// Returns the first bytes of a line on which the pattern begins at its start or nowhere.
    pub(super) fn first_of_line(&self) -> Option<Bytes> {
        if matches!(self.place, Place::Text | Place::Line) { self.near.first().copied() } else { None }
    }

    /// Returns the first place from one on where the pattern may begin; none is certain.
    pub(super) fn next(&self, text: &str, from: usize) -> Option<usize> {
        let bytes = text.as_bytes();
        let mut at = from;
        loop {
            let rest = bytes.get(at..)?;
            at += match &self.place {
                Place::Text if at == 0 => 0,
                Place::Text => return None,
                Place::Line if at == 0 || bytes.get(at - 1) == Some(&b'\n') => 0,
                Place::Line => memchr(b'\n', rest)? + 1,
                Place::Byte(first) => match first.as_slice() {
                    [a] => memchr(*a, rest)?,
                    [a, b] => memchr2(*a, *b, rest)?,
                    [a, b, c] => memchr3(*a, *b, *c, rest)?,
                    _ => 0,
                },
                Place::Unknown => return Some(at),
            };
            if self.may_begin(bytes.get(at..)?) {
                return Some(at);
            }
            at += 1;
        }
    }

    fn may_begin(&self, text: &[u8]) -> bool {
        self.near.iter().enumerate().all(|(at, bytes)| text.get(at).is_some_and(|byte| bytes.has(*byte)))
    }
}

/// How the texts begin that a part of a pattern fits: the bytes at each place, and at which lengths it may end. The last
/// length stands for every longer one.
#[derive(Clone, Copy, Default)]
struct Begin {
    near: [Bytes; NEAR],
    lengths: [bool; NEAR + 1],
}

impl Begin {
    fn nothing() -> Self {
        Self { near: [Bytes::default(); NEAR], lengths: std::array::from_fn(|len| len == 0) }
    }

    fn of(hir: &Hir) -> Self {
        match hir.kind() {
            HirKind::Empty | HirKind::Look(_) => Self::nothing(),
            HirKind::Literal(literal) => Self::row(literal.0.iter().map(|byte| Self::byte(*byte, *byte))),
            HirKind::Class(class) => Self::class(class),
            HirKind::Capture(capture) => Self::of(&capture.sub),
            HirKind::Concat(all) => Self::row(all.iter().map(Self::of)),
            HirKind::Alternation(all) => all.iter().fold(Self::default(), |mut any, one| {
                any.or(&Self::of(one));
                any
            }),
            HirKind::Repetition(repetition) => {
                let once = Self::of(&repetition.sub);
                let least = usize::try_from(repetition.min).unwrap_or(NEAR).min(NEAR);
                let most = repetition.max.and_then(|max| usize::try_from(max).ok()).unwrap_or(NEAR).min(NEAR);
                let mut all = Self::row(std::iter::repeat_n(once, least));
                let mut longer = all;
                for _ in least..most.max(least) {
                    longer = longer.then(&once);
                    all.or(&longer);
                }
                // More than this many do not change how it begins, unless each may be empty.
                all
            }
        }
    }

    fn byte(first: u8, last: u8) -> Self {
        let mut one = Self::default();
        one.near[0].add(first, last);
        one.lengths[1] = true;
        one
    }

    fn class(class: &Class) -> Self {
        let mut any = Self::default();
        match class {
            Class::Bytes(class) => class.iter().for_each(|range| any.or(&Self::byte(range.start(), range.end()))),
            Class::Unicode(class) => {
                class.iter().for_each(|range| any.or(&Self::characters(range.start(), range.end())))
            }
        }
        any
    }

    /// The characters of a range. Of those outside ASCII the first byte is told, and that others follow it.
    fn characters(first: char, last: char) -> Self {
        let lead = |c: char| c.encode_utf8(&mut [0; 4]).as_bytes().first().copied().unwrap_or_default();
        let mut any = Self::default();
        if first.is_ascii() {
            any.or(&Self::byte(lead(first), lead(last).min(0x7f)));
        }
        if !last.is_ascii() {
            any.near[0].add(lead(first).max(0xc2), lead(last));
            any.near.iter_mut().skip(1).for_each(|bytes| bytes.add(0x80, 0xbf));
            let longest = last.len_utf8();
            (first.len_utf8().max(2)..=longest).for_each(|len| any.lengths[len.min(NEAR)] = true);
        }
        any
    }

    fn row(all: impl Iterator<Item = Self>) -> Self {
        all.fold(Self::nothing(), |row, next| row.then(&next))
    }

    fn or(&mut self, other: &Self) {
        self.near.iter_mut().zip(&other.near).for_each(|(to, from)| to.add_all(from));
        self.lengths.iter_mut().zip(other.lengths).for_each(|(to, from)| *to |= from);
    }

    /// This followed by another: the other begins wherever this may end.
    fn then(&self, next: &Self) -> Self {
        let mut both = Self { near: self.near, lengths: [false; NEAR + 1] };
        for (end, _) in self.lengths.iter().enumerate().filter(|(_, ends)| **ends) {
            both.near.iter_mut().skip(end).zip(&next.near).for_each(|(to, from)| to.add_all(from));
            next.lengths.iter().enumerate().for_each(|(len, ends)| both.lengths[(end + len).min(NEAR)] |= ends);
        }
        both
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, fits: &[&str], ruled_out: &[&str]) {
        let start = Start::of(pattern);
        for text in fits {
            assert_eq!(start.next(text, 0), Some(0), "{pattern}: {text}");
        }
        for text in ruled_out {
            assert_eq!(start.next(text, 0), None, "{pattern}: {text}");
        }
    }

    #[test]
    fn a_text_that_begins_otherwise_is_ruled_out() {
        check("^(?i:p[0-4]):", &["P1: x", "p4: x"], &["", "P", "P5: x", "P1- x", "x P1: x"]);
        check("^[【(]?(?i:nit|high)", &["nit", "【nit", "(HIGH"], &["not", "(", "[nit]"]);
        check(r"^#+ *Review", &["# R", "###", "#Review"], &["Review", "#", "# x"]);
        check("^a?", &["", "x"], &[]);
        check(r"^\W*(?:lgtm)", &["lgt", "> l", "🔥🔥🔥"], &["lx", "lg", ""]);
        check(r"^(?:a|bc|)(?:x|yz){2}", &["xx", "ayz", "bcx", "yzy"], &["b", "ab", "cb"]);
        check("ab", &["x"], &[]);
        check("^a|b", &["b", "x"], &[]);
    }

    #[test]
    fn places_are_told_one_after_the_other() {
        let all = |pattern: &str, text: &str| {
            let start = Start::of(pattern);
            let next = |at: &usize| start.next(text, at + 1);
            std::iter::successors(start.next(text, 0), next).take(4).collect::<Vec<_>>()
        };
        assert_eq!(all("^a", "ax\na\n\nba\na"), [0, 3, 9]);
        assert_eq!(all(r"\Aa", "a\na"), [0]);
        assert_eq!(all(r"\Aa", "x\na"), [0; 0]);
        assert_eq!(all("(?i)abc(?:d|$)", "aabc Abc xabx"), [1, 5]);
        assert_eq!(all(r"\babc", "xabc"), [0, 1, 2, 3], "what stands before counts");
        assert_eq!(all("[^x]bc", "abc"), [0, 1, 2, 3], "too many bytes");
        assert_eq!(all(r"^a|\Ab", "x\nb"), [0, 1, 2, 3]);
        assert_eq!(all("^a", "x\n"), [0; 0]);
    }
}
