//! Whether two findings say one thing, and whether they say it of one place. Pure; what follows from it is decided by the caller.

use std::collections::HashMap;

use similar::{Algorithm, capture_diff_slices};

use super::SAME_ITEM;
use crate::review::comment::Channel;
use crate::review::summary::Entry;

/// From this likeness of words on, two texts make one claim.
pub const NEAR_TEXT: f32 = 0.8;

/// From this likeness on, a text is posted again word for word.
pub const VERBATIM: f32 = 0.95;

/// Share of words that texts under one title must have in common: reviewers use one title for many things.
pub const SHARED_WORDS: f32 = 0.5;

/// Words below which a text says nothing beside its title.
const FEW_WORDS: usize = 8;

/// Lines between two places that still are one place.
pub const SAME_PLACE_LINES: u32 = 3;

/// Words of a text that are compared.
const MOST_WORDS: usize = 400;

/// Splits a text into lower-case words without punctuation and markup.
fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
        .take(MOST_WORDS)
        .map(str::to_lowercase)
        .collect()
}

/// Returns the likeness of two texts by their words, 0 to 1.
pub fn likeness(one: &str, other: &str) -> f32 {
    alike((one, &words(one)), (other, &words(other)))
}

/// The same for texts whose words are known.
fn alike((one, a): (&str, &[String]), (other, b): (&str, &[String])) -> f32 {
    let total = (a.len() + b.len()) as f32;
    if a.is_empty() || b.is_empty() {
        return if a.len() == b.len() && one.trim() == other.trim() { 1.0 } else { 0.0 };
    }
    // No pair can be more alike than its lengths allow, nor than the words that both have.
    let at_most = |words: usize| 2.0 * words as f32 / total < SAME_ITEM;
    if at_most(a.len().min(b.len())) || at_most(in_both(a, b)) {
        return 0.0;
    }
    let equal: usize = capture_diff_slices(Algorithm::Myers, a, b)
        .iter()
        .filter(|op| op.tag() == similar::DiffTag::Equal)
        .map(|op| op.old_range().len())
        .sum();
    2.0 * equal as f32 / total
}

/// Counts the words that two texts have in common, each as often as both have it.
fn in_both(one: &[String], other: &[String]) -> usize {
    let mut left: HashMap<&str, usize> = HashMap::new();
    one.iter().for_each(|word| *left.entry(word).or_default() += 1);
    let mut taken = |word: &&String| match left.get_mut(word.as_str()) {
        Some(count) if *count > 0 => {
            *count -= 1;
            true
        }
        Some(_) | None => false,
    };
    other.iter().filter(|word| taken(word)).count()
}

/// Returns the share of the shorter text's words that the other has too; a text of few words is no evidence against.
fn share(a: &[String], b: &[String]) -> f32 {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    if short.len() < FEW_WORDS {
        return 1.0;
    }
    short.iter().filter(|word| long.contains(word)).count() as f32 / short.len() as f32
}

/// Two comments on two lines of one commit, of one kind: what they say alike they say of two places.
fn two_places(one: &Entry, other: &Entry) -> bool {
    let inline = |entry: &Entry| entry.finding.channel == Channel::Inline;
    let lines = one.original_line.zip(other.original_line);
    one.made_on.is_some()
        && one.made_on == other.made_on
        && inline(one) == inline(other)
        && lines.is_some_and(|(a, b)| a != b)
}

pub(super) fn same_carrier(one: &Entry, other: &Entry) -> bool {
    one.finding.channel == other.finding.channel && one.finding.id.carrier() == other.finding.id.carrier()
}

/// Within one review: one text at one place, or a body's item that repeats an inline comment.
pub(super) fn repeats(first: &Entry, new: &Entry) -> bool {
    if new.finding.severity < first.finding.severity {
        return false;
    }
    let inline = |entry: &Entry| entry.finding.channel == Channel::Inline;
    if inline(first) && !inline(new) {
        return same_claim(first, new);
    }
    inline(first) == inline(new)
        && first.body_hash == new.body_hash
        && first.finding.path == new.finding.path
        && first.finding.side == new.finding.side
        && (first.original_line, first.whole_file) == (new.original_line, new.whole_file)
}

/// Lines between two places of one file; `None` when it cannot be told.
pub(super) fn distance(one: &Entry, other: &Entry) -> Option<u32> {
    if one.finding.path.is_none() || one.finding.path != other.finding.path {
        return None;
    }
    if one.finding.side.zip(other.finding.side).is_some_and(|(a, b)| a != b) {
        return None;
    }
    if one.whole_file && other.whole_file {
        return Some(0);
    }
    match (one.finding.line, other.finding.line) {
        (Some(a), Some(b)) => Some(a.abs_diff(b)),
        (_, _) if one.made_on.is_some() && one.made_on == other.made_on => {
            Some(one.original_line?.abs_diff(other.original_line?))
        }
        (_, _) => None,
    }
}

fn same_place(one: &Entry, other: &Entry) -> bool {
    distance(one, other).is_some_and(|lines| lines <= SAME_PLACE_LINES)
}

/// A body's item may name its file only.
fn vague(entry: &Entry) -> bool {
    entry.finding.channel != Channel::Inline && entry.original_line.is_none()
}

pub(super) fn same_text(one: &Entry, other: &Entry) -> bool {
    says_the_same((&one.finding.title, &one.text), (&other.finding.title, &other.text))
}

/// Tells whether two findings, each a title and a text, say one thing; where they stand is left aside.
pub fn says_the_same(one: (&str, &str), other: (&str, &str)) -> bool {
    let (a, b) = (words(one.1), words(other.1));
    let titled = same_words(one.0, other.0) && share(&a, &b) >= SHARED_WORDS;
    titled || alike((one.1, &a), (other.1, &b)) >= NEAR_TEXT
}

pub(super) fn same_identity(one: &Entry, other: &Entry) -> bool {
    one.identity.is_some() && one.identity == other.identity
}

/// Tells whether both say one thing about one place.
pub(super) fn same_claim(one: &Entry, other: &Entry) -> bool {
    if same_identity(one, other) {
        return true;
    }
    if two_places(one, other) {
        return false;
    }
    let at_one_place =
        same_place(one, other) || (one.finding.path == other.finding.path && (vague(one) || vague(other)));
    (at_one_place && same_text(one, other)) || same_words_where_it_was(one, other)
}

/// A comment made on an older commit has no line at the head: then the text word for word, near the same line of then, is one claim.
fn same_words_where_it_was(one: &Entry, other: &Entry) -> bool {
    let lost = one.finding.line.is_none() || other.finding.line.is_none();
    let sides = one.finding.side.zip(other.finding.side).is_none_or(|(a, b)| a == b);
    let near = one.original_line.zip(other.original_line).is_some_and(|(a, b)| a.abs_diff(b) <= SAME_PLACE_LINES);
    let path = one.finding.path.is_some() && one.finding.path == other.finding.path;
    lost && sides && near && path && likeness(&one.text, &other.text) >= VERBATIM
}

/// Tells whether a settled finding and a new one belong together: at one place, or with one text in one file.
pub(super) fn related(pred: &Entry, new: &Entry) -> bool {
    same_place(pred, new) || (pred.finding.path == new.finding.path && likeness(&pred.text, &new.text) >= NEAR_TEXT)
}

/// Tells whether two texts have the same words in the same order; case, punctuation and spacing say nothing.
///
/// Symbols count, for `a < b` and `a > b` mean different things.
pub(in crate::review) fn same_words(one: &str, other: &str) -> bool {
    let normal = |text: &str| {
        text.split_whitespace()
            .map(|word| {
                word.trim_matches(|c: char| matches!(c, '*' | '_' | '`' | '.' | ',' | ':' | ';')).to_lowercase()
            })
            .filter(|word| !word.is_empty())
            .collect::<Vec<_>>()
    };
    normal(one) == normal(other)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_bound_that_spares_a_comparison_changes_no_likeness(one in "([abc] ){0,12}", other in "([abcd] ){0,12}") {
            let (a, b) = (words(&one), words(&other));
            let equal: usize = capture_diff_slices(Algorithm::Myers, &a, &b)
                .iter()
                .filter(|op| op.tag() == similar::DiffTag::Equal)
                .map(|op| op.old_range().len())
                .sum();
            prop_assert!(equal <= in_both(&a, &b) && in_both(&a, &b) == in_both(&b, &a));
            let exact = 2.0 * equal as f32 / (a.len() + b.len()).max(1) as f32;
            let told = likeness(&one, &other);
            prop_assert!(told == exact || (told == 0.0 && exact < SAME_ITEM) || a.is_empty() || b.is_empty());
        }
    }
}
