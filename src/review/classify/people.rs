//! Comments of people: every label at the start of a line begins a claim of its own; what has no label asks as well where it stands in the diff.

use super::clean::line_end;
use super::level::{Author, Level};
use super::marks::is_list_item;
use super::words::{Quotes, Words};
use crate::review::severity::Severity;

/// One claim: where its text begins and ends in the region, and its grade when it is labelled.
pub(super) struct Claim {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) level: Option<Level>,
}

/// A label alone on its line: it grades what is listed below it, or else the paragraph below it.
struct Heading {
    at: usize,
    level: Level,
    listed: bool,
}

/// Claims beyond this one are part of the last: its text holds them, and its level is the worst of theirs.
const MOST: usize = 100;

/// Splits a person's words into claims.
pub(super) fn claims(author: &Author<'_>, masked: &str) -> Vec<Claim> {
    let mut out = if author.may_label() { labelled(author, masked) } else { Vec::new() };
    if out.is_empty() && !masked.trim_ascii().is_empty() {
        let blank = masked.len() - masked.trim_ascii_start().len();
        let start = masked[..blank].rfind('\n').map_or(0, |n| n + 1);
        out.push(Claim { start, end: masked.len(), level: None });
    }
    raise(author, masked, &mut out);
    out
}

/// Splits a person's words at their labels.
fn labelled(author: &Author<'_>, masked: &str) -> Vec<Claim> {
    let mut out: Vec<Claim> = Vec::new();
    let mut above: Option<Heading> = None;
    // True while the last claim is graded by a label above it.
    let mut graded = false;
    let mut at = 0;
    // The forge shows a line end as one, so that every line may begin with a label.
    while at < masked.len() {
        let end = line_end(masked, at);
        let (start, text) = (at, &masked[at..end]);
        at = end + 1;
        if text.is_empty() {
            continue;
        }
        if out.len() == MOST && out.last().is_some_and(is_worst) {
            break;
        }
        let full = out.len() == MOST;
        let now = out.last().filter(|_| full).and_then(severity);
        let level = (!text.starts_with('|')).then(|| author.label(start, text, now)).flatten();
        if full {
            if let Some((last, level)) = out.last_mut().zip(level) {
                raise_to(last, level);
            }
            continue;
        }
        let other = text.starts_with('#') && level.is_none() && (graded || above.is_some());
        if let Some(level) = level.as_ref().filter(|level| stands_alone(level, masked, end)) {
            end_at(&mut out, start);
            above = Some(Heading { at: start, level: level.clone(), listed: false });
            graded = false;
            continue;
        }
        if other {
            above = None;
        }
        let below = if level.is_none() { below(&mut above, text) } else { None };
        graded = below.is_some() || (graded && level.is_none() && !other);
        let level = level.or(below);
        if level.is_some() || other || (out.is_empty() && !text.trim_ascii().is_empty()) {
            end_at(&mut out, start);
            out.push(Claim { start, end: masked.len(), level });
        }
    }
    if let Some(heading) = above.filter(|heading| !heading.listed && out.len() < MOST) {
        out.push(Claim { start: heading.at, end: masked.len(), level: Some(heading.level) });
    }
    out
}

/// Ends the last claim, unless it has ended before.
fn end_at(claims: &mut [Claim], at: usize) {
    if let Some(last) = claims.last_mut() {
        last.end = last.end.min(at);
    }
}

fn stands_alone(level: &Level, masked: &str, end: usize) -> bool {
    let rest = level.at.as_ref().and_then(|label| masked.get(label.end..end));
    level.severity.is_some() && rest.is_some_and(|rest| !rest.contains(char::is_alphanumeric))
}

/// Returns the level that a line has from the label above it: every item of a list, or the first line of a paragraph.
fn below(above: &mut Option<Heading>, text: &str) -> Option<Level> {
    if text.trim_ascii().is_empty() {
        return None;
    }
    let item = is_list_item(text);
    let heading = above.as_mut().filter(|heading| item || !heading.listed)?;
    heading.listed = true;
    let level = Level { at: None, ..heading.level.clone() };
    if !item {
        *above = None;
    }
    Some(level)
}

fn severity(claim: &Claim) -> Option<Severity> {
    claim.level.as_ref().and_then(|level| level.severity)
}

fn is_worst(claim: &Claim) -> bool {
    severity(claim) == Some(Severity::P1)
}

/// Raises a claim to a level, if that is worse than its own. Its label still ends where it did.
fn raise_to(claim: &mut Claim, level: Level) {
    if severity(claim).is_none_or(|now| level.severity.is_some_and(|new| new < now)) {
        let label = claim.level.take().and_then(|l| l.at);
        claim.level = Some(Level { at: label, ..level });
    }
}

/// Raises a claim that says outright how bad it is.
fn raise(author: &Author<'_>, masked: &str, claims: &mut [Claim]) {
    for level in author.sentences(masked) {
        let Some(at) = level.at.clone() else { continue };
        let next = claims.partition_point(|c| c.start <= at.start);
        let Some(claim) = next.checked_sub(1).and_then(|i| claims.get_mut(i)) else { continue };
        raise_to(claim, level);
    }
}

/// Tells whether a person's text begins with a quote and goes on with words of its own.
pub(super) fn answers_a_quote(words: &Words<'_>) -> bool {
    let page = words.page;
    let spoken = |line: &&super::page::Line| !page.text(line).trim().is_empty();
    page.lines.iter().find(spoken).is_some_and(|line| line.quote > 0)
        && (0..page.lines.len())
            .any(|index| words.is_own(index, Quotes::Drop) && !page.text(&page.lines[index]).trim().is_empty())
}
