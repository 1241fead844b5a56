//! What one entry says in the description, and how it is recognised there.

use crate::review::decision::Verb;
use crate::review::disarm::one_line;
use crate::review::ids::FindingId;
use crate::review::owed::key_of;
use crate::review::severity::Severity;
use crate::review::status::Status;
use crate::review::summary::{Entry, Proof, WriteKind};
use crate::review::words::link;

/// Where a line stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// A reason: the gate asks for it.
    Reason,
    /// A row without a reason.
    Row,
    /// In the folded list.
    Acknowledged,
    /// In the folded line of nits.
    Nit,
}

/// One finding as the description names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The finding.
    pub id: FindingId,
    /// Key by which it is read back.
    pub key: String,
    /// Where it stands.
    pub place: Place,
    /// What became of it.
    pub outcome: String,
}

/// Returns what the description has to say about a finding, if anything.
pub fn line(entry: &Entry) -> Option<Line> {
    let finding = &entry.finding;
    let argued = |key: Option<&String>, reason: &str| {
        let key = key.cloned().unwrap_or_else(|| key_of(WriteKind::Argue, entry));
        (Place::Reason, key, format!("Left as it is: {reason}"))
    };
    let of = |kind, place, text: String| (place, key_of(kind, entry), text);
    let (place, key, text) = match (finding.status, &entry.pending, &entry.proof) {
        (Status::Open, _, _) if finding.needs_person => return listed(entry),
        (Status::Open, Some(pending), _) => match (pending.verb, finding.severity) {
            (Verb::Argue, Severity::P2) => argued(pending.key.as_ref(), &pending.reason),
            (Verb::Stale, _) => {
                of(WriteKind::Stale, Place::Reason, format!("No longer applicable: {}", pending.reason))
            }
            (Verb::Answer, Severity::P2 | Severity::P3 | Severity::Nit) => {
                of(WriteKind::Answer, Place::Row, format!("Answered: {}", pending.reason))
            }
            (Verb::Defer, Severity::P2 | Severity::P3 | Severity::Nit) => {
                let (Some(path), Some(url)) = (&pending.file, &pending.url) else { return listed(entry) };
                return Some(deferred(entry, pending.key.as_ref(), (path, url), &pending.reason));
            }
            (Verb::Argue | Verb::Fix | Verb::Defer | Verb::Answer, _) => return listed(entry),
        },
        (Status::Argued, _, Some(Proof::Reply { reason, key, .. })) => argued(Some(key), reason),
        (Status::Answered, _, Some(Proof::Reply { reason, key, .. })) => {
            (Place::Row, key.clone(), format!("Answered: {reason}"))
        }
        (Status::Stale, _, proof) => {
            let because = proof.as_ref().map_or(finding.why.as_str(), because);
            of(WriteKind::Stale, Place::Reason, format!("No longer applicable: {because}"))
        }
        (Status::Deferred, _, Some(Proof::Plan { path, url, reason, key, .. })) => {
            return Some(deferred(entry, Some(key).filter(|key| !key.is_empty()), (path, url), reason));
        }
        (Status::Fixed, _, proof) if finding.severity.blocks() => {
            let how = proof.as_ref().map_or("Fixed".to_owned(), fixed_by);
            of(WriteKind::Fixed, Place::Row, how)
        }
        (Status::Withdrawn, _, Some(Proof::Person { by, because })) if finding.severity.blocks() => {
            of(WriteKind::Describe, Place::Row, format!("Accepted by {by}: {because}"))
        }
        (Status::Open | Status::Acknowledged, _, _) => return listed(entry),
        (Status::Argued | Status::Answered | Status::Deferred | Status::Fixed, _, _) => return None,
        (Status::Withdrawn | Status::Duplicate | Status::Gone, _, _) => return None,
    };
    Some(Line { id: finding.id, key, place, outcome: one_line(&format!("{text}{}", regraded(entry))) })
}

const DEFERRED: &str = "Out of scope, follow-up in ";

/// Returns the line of a follow-up. The link stands first, so that folding a long reason leaves it whole.
fn deferred(entry: &Entry, key: Option<&String>, (path, url): (&str, &str), reason: &str) -> Line {
    let key = key.cloned().unwrap_or_else(|| key_of(WriteKind::Defer, entry));
    let why = one_line(&format!("{reason}{}", regraded(entry)));
    let outcome = format!("{DEFERRED}{}: {why}", link(path, url));
    Line { id: entry.finding.id, key, place: Place::Reason, outcome }
}

/// Reads link and reason back out of the line of a follow-up.
pub fn deferred_line(text: &str) -> Option<(String, String)> {
    let (_, rest) = text.strip_prefix(DEFERRED)?.split_once("](")?;
    let (url, rest) = rest.split_once(')')?;
    Some((url.to_owned(), rest.trim_start_matches(':').trim().to_owned()))
}

fn because(proof: &Proof) -> &str {
    match proof {
        Proof::AnchorGone { because, .. } | Proof::Reviewer { because } | Proof::Person { because, .. } => because,
        Proof::Reply { reason, .. } => reason,
        Proof::Commit { .. } | Proof::Plan { .. } | Proof::Listed | Proof::SameAs { .. } | Proof::Deleted => "",
    }
}

fn fixed_by(proof: &Proof) -> String {
    match proof {
        Proof::Commit { sha, .. } => format!("Fixed in {}", sha.short()),
        Proof::Reviewer { .. } => "Fixed, as its reviewer says".to_owned(),
        Proof::Person { by, .. } => format!("Fixed, as {by} says"),
        Proof::Reply { .. }
        | Proof::AnchorGone { .. }
        | Proof::Plan { .. }
        | Proof::Listed
        | Proof::SameAs { .. }
        | Proof::Deleted => "Fixed".to_owned(),
    }
}

fn regraded(entry: &Entry) -> String {
    match &entry.regrade {
        Some(regrade) => format!(" (re-graded from {} by {}: {})", regrade.from, regrade.by, regrade.why),
        None => String::new(),
    }
}

/// Returns the line of a finding that is only acknowledged.
pub(super) fn listed(entry: &Entry) -> Option<Line> {
    let place = match entry.finding.severity {
        Severity::P1 | Severity::P2 => return None,
        Severity::P3 => Place::Acknowledged,
        Severity::Nit => Place::Nit,
    };
    let key = key_of(WriteKind::Describe, entry);
    Some(Line { id: entry.finding.id, key, place, outcome: String::new() })
}
