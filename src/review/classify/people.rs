//! Comments of people: every label at the start of a line begins a claim of its own; what has no label asks as well where it stands in the diff.

use super::clean::line_end;
use super::level::{Author, Level};
use super::words::{Quotes, Words};
use crate::review::severity::Severity;

/// One claim: where its text begins and ends in the region, and its grade when it is labelled.
pub(super) struct Claim {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) level: Option<Level>,
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
    let mut at = 0;
    // The forge shows a line end as one, so that every line may begin with a label.
    while at < masked.len() {
        let end = line_end(masked, at);
        let text = &masked[at..end];
        if out.len() == MOST && out.last().is_some_and(is_worst) {
            break;
        }
        let full = out.len() == MOST;
        let now = out.last().filter(|_| full).and_then(severity);
        let level = (!text.starts_with('|')).then(|| author.label(at, text, now)).flatten();
        if full {
            if let Some((last, level)) = out.last_mut().zip(level) {
                raise_to(last, level);
            }
        } else if level.is_some() || (out.is_empty() && !text.trim_ascii().is_empty()) {
            out.push(Claim { start: at, end: at, level });
        }
        at = end + 1;
    }
    for i in 0..out.len() {
        out[i].end = out.get(i + 1).map_or(masked.len(), |next| next.start);
    }
    out
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
