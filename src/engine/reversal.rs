//! A round that takes an earlier fix back is given back to the editor once, with words; then two findings are contested (R21).

use super::edit::{EditEnd, Ran, finish, refuse, stop, take_out};
use super::{EngineError, Ports};
use crate::review::anchor::{self, Place};
use crate::review::diff::FileDiff;
use crate::review::ids::{FindingId, Sha};
use crate::review::status::Status;
use crate::review::step::{CHOICES, contested_before};
use crate::review::summary::{Entry, Proof, RoundOutcome, StopReason, Summary};

/// Looks at what the editor left, before it is committed.
pub(super) fn given_back(
    ports: &Ports<'_>,
    summary: &mut Summary,
    ran: &Ran<'_>,
) -> Result<Option<EditEnd>, EngineError> {
    let reversed = reversed(ports, summary, ran)?;
    let Some(first) = reversed.first().and_then(|id| summary.comments.get(id)) else { return Ok(None) };
    let (id, what, path) = (first.finding.id, named(first), first.finding.path.clone());
    let again = reversed.iter().any(|id| contested_before(summary, *id));
    let by: Vec<FindingId> = against(summary, ran, path.as_deref());
    let kept = take_out(ports, summary, ran)?;
    if let Some(round) = summary.rounds.last_mut() {
        round.reversed.clone_from(&reversed);
    }
    let words = format!("it takes back what settled {what}");
    if !again {
        finish(summary, RoundOutcome::Rejected, format!("{words}{kept}"));
        let mend = "settle this without undoing that, or answer it otherwise";
        refuse(summary, &ran.sent, &format!("the change was given back, for {words}; {mend}"));
        ports.warn(format!("round {} was given back: {words}{kept}", ran.ask.round));
        return Ok(Some(EditEnd::Go));
    }
    let asks: Vec<String> = by.iter().filter_map(|id| summary.comments.get(id)).map(named).collect();
    // A round may be about nothing but red tests.
    let asks = if asks.is_empty() { "the spec".to_owned() } else { asks.join(", ") };
    let why = format!("contested: {asks} asks for what undoes the fix of {what}");
    finish(summary, RoundOutcome::Rejected, format!("{why}{kept}"));
    for other in by.iter().filter(|other| **other != id) {
        if let Some(entry) = summary.comments.get_mut(other) {
            entry.finding.needs_person = true;
            entry.finding.why.clone_from(&why);
        }
    }
    Ok(Some(stop(StopReason::Contested, why, CHOICES)))
}

/// Names a finding with its thread.
fn named(entry: &Entry) -> String {
    let finding = &entry.finding;
    format!("{} \u{201c}{}\u{201d} ({})", finding.id, finding.title, finding.url)
}

/// The findings of the round that ask for the reversal: those of that file, else all.
fn against(summary: &Summary, ran: &Ran<'_>, path: Option<&str>) -> Vec<FindingId> {
    let there = |id: &&FindingId| summary.comments.get(id).is_some_and(|entry| entry.finding.path.as_deref() == path);
    let near: Vec<FindingId> = ran.sent.iter().filter(there).copied().collect();
    if near.is_empty() { ran.sent.clone() } else { near }
}

/// Returns the settled findings whose fix the editor's change takes back.
fn reversed(ports: &Ports<'_>, summary: &Summary, ran: &Ran<'_>) -> Result<Vec<FindingId>, EngineError> {
    let (before, after) = (&ran.before.head, ports.tree.facts()?.head);
    let mut changes: Vec<Vec<FileDiff>> = vec![ports.tree.diff_worktree()?];
    if &after != before {
        changes.push(ports.tree.diff(before, &after)?);
    }
    changes.retain(|change| !change.is_empty());
    let mut found = Vec::new();
    if changes.is_empty() {
        return Ok(found);
    }
    for entry in summary.comments.values().filter(|entry| entry.finding.status == Status::Fixed) {
        let Some(Proof::Commit { sha, place }) = &entry.proof else { continue };
        let (Some(place), Some(parent)) = (Place::named(place), parent(ports, sha, before)?) else { continue };
        let (fix, between) = (ports.tree.diff(&parent, sha)?, ports.tree.diff(sha, before)?);
        if changes.iter().any(|change| anchor::reverses(&place, &fix, &between, change)) {
            found.push(entry.finding.id);
        }
    }
    Ok(found)
}

/// Returns the parent of a fix that is part of this history.
fn parent(ports: &Ports<'_>, sha: &Sha, head: &Sha) -> Result<Option<Sha>, EngineError> {
    if ports.tree.is_ancestor(sha, head)? != Some(true) {
        return Ok(None);
    }
    let parent = ports.tree.parent(sha)?;
    Ok(match parent {
        Some(parent) if ports.tree.fetch(&parent)? => Some(parent),
        Some(_) | None => None,
    })
}
