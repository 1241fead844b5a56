//! One pattern of a rule: compiled when it is first asked, size-limited, with ASCII word boundaries. It decides nothing.

use std::ops::Deref;
use std::sync::OnceLock;

use regex::{Regex, RegexBuilder, RegexSet, RegexSetBuilder, SetMatches};

const SIZE_LIMIT: usize = 1 << 20;
const MAX_LEN: usize = 8_000;

/// Why a pattern cannot be used, in one line.
#[derive(Debug)]
pub(super) struct BadPattern(pub(super) String);

/// A pattern. A run looks at few reviewers, so most patterns are never compiled.
#[derive(Debug)]
pub(super) struct Pattern {
    source: String,
    compiled: OnceLock<Regex>,
}

impl Pattern {
    /// Keeps a pattern for later.
    pub(super) fn new(source: &str) -> Result<Self, BadPattern> {
        if source.len() > MAX_LEN {
            return Err(BadPattern(format!("the pattern is longer than {MAX_LEN} bytes")));
        }
        Ok(Self { source: source.to_owned(), compiled: OnceLock::new() })
    }

    /// Returns the pattern as written.
    pub(super) fn source(&self) -> &str {
        &self.source
    }

    /// Compiles the pattern now; one that matches nothing at all is refused too.
    pub(super) fn check(&self) -> Result<(), BadPattern> {
        let built = build(&self.source).map_err(|e| BadPattern(one_line(&e.to_string())))?;
        if built.is_match("") {
            return Err(BadPattern("the pattern matches the empty text".to_owned()));
        }
        Ok(())
    }
}

impl Deref for Pattern {
    type Target = Regex;

    fn deref(&self) -> &Regex {
        self.compiled.get_or_init(|| build(&self.source).unwrap_or_else(|_| never()))
    }
}

/// Patterns that are asked about the same text: one look tells which of them are worth a closer one.
#[derive(Debug, Default)]
pub(super) struct Group {
    sources: Vec<String>,
    compiled: OnceLock<Option<RegexSet>>,
}

/// Which patterns of a group may fit a text.
pub(super) struct Hits(Option<SetMatches>);

impl Hits {
    /// Tells whether a pattern may fit; false is certain.
    pub(super) fn may(&self, slot: usize) -> bool {
        self.0.as_ref().is_none_or(|found| found.matched(slot))
    }
}

impl Group {
    /// Adds a pattern and returns its slot.
    pub(super) fn add(&mut self, pattern: &Pattern) -> usize {
        self.sources.push(as_run(&pattern.source));
        self.sources.len() - 1
    }

    /// Tells whether any pattern may fit; false is certain.
    pub(super) fn any(&self, text: &str) -> bool {
        !self.sources.is_empty() && self.set().is_none_or(|set| set.is_match(text))
    }

    /// Tells which patterns may fit.
    pub(super) fn hits(&self, text: &str) -> Hits {
        Hits(self.set().map(|set| set.matches(text)))
    }

    /// `None` when the patterns cannot be asked together: then each is asked for itself.
    fn set(&self) -> Option<&RegexSet> {
        let build = || {
            let mut builder = RegexSetBuilder::new(&self.sources);
            builder.multi_line(true).size_limit(16 * SIZE_LIMIT).dfa_size_limit(8 * SIZE_LIMIT).build().ok()
        };
        self.compiled.get_or_init(build).as_ref()
    }
}

/// A pattern that fits nothing. Patterns of users are checked when they are read, and the built-in ones by a test.
#[expect(clippy::expect_used, reason = "a fixed pattern")]
fn never() -> Regex {
    Regex::new(r"[^\s\S]").expect("a pattern that fits nothing compiles")
}

fn build(source: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(&as_run(source)).multi_line(true).size_limit(SIZE_LIMIT).dfa_size_limit(2 * SIZE_LIMIT).build()
}

/// The pattern as it is run. Variation selectors are taken out of bodies, so that an emoji is one however it was typed.
fn as_run(source: &str) -> String {
    ascii_boundaries(source).replace('\u{fe0f}', "")
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Rewrites `\b` to its ASCII form: the Unicode one falls off the engine's fast path on text with emoji.
fn ascii_boundaries(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut chars = pattern.chars().peekable();
    let mut in_class = false;
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('b') if !in_class && chars.peek() != Some(&'{') => out.push_str(r"(?-u:\b)"),
                Some(next) => out.extend(['\\', next]),
                None => out.push('\\'),
            },
            '[' => {
                in_class = true;
                out.push(c);
            }
            ']' => {
                in_class = false;
                out.push(c);
            }
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn word_boundaries_are_ascii() {
        assert_eq!(ascii_boundaries(r"\bnit\b[\b]\\b"), r"(?-u:\b)nit(?-u:\b)[\b]\\b");
    }

    #[test]
    fn a_pattern_that_cannot_compile_fits_nothing() {
        let pattern = Pattern::new("(").expect("short enough");
        assert!(pattern.check().is_err() && !pattern.is_match("("));
    }
}
