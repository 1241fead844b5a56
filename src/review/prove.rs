//! Claimed fixes become `fixed` once their commit is in the history of the remote head; a claim that lost its commit is void.

use jiff::Timestamp;

use super::decision::Verb;
use super::ids::{FindingId, Sha};
use super::status::Status;
use super::summary::{Proof, RoundOutcome, Summary};

/// What git says of a claimed commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reach {
    /// It is in the history of the remote head.
    Reached,
    /// It is not, yet: the remote head is behind it.
    Ahead,
    /// It is not, and the remote head went another way.
    Lost,
    /// History is missing here.
    Unknown,
}

/// Returns the commits that are claimed and not yet proved.
pub fn claimed(summary: &Summary) -> Vec<Sha> {
    let pending = summary.comments.values().filter_map(|entry| entry.pending.as_ref());
    pending.filter(|pending| pending.verb == Verb::Fix).filter_map(|pending| pending.commit.clone()).collect()
}

/// Settles claims that are proved; returns the findings settled, each with its round.
pub fn prove(summary: &mut Summary, reach: &dyn Fn(&Sha) -> Reach, at: Timestamp) -> Vec<FindingId> {
    let mut proved = Vec::new();
    let kept: Vec<u32> = summary
        .rounds
        .iter()
        .filter(|round| matches!(round.outcome, RoundOutcome::Kept | RoundOutcome::CutOff | RoundOutcome::Rejected))
        .map(|round| round.n)
        .collect();
    for entry in summary.comments.values_mut() {
        let Some(pending) = entry.pending.clone().filter(|pending| pending.verb == Verb::Fix) else { continue };
        let Some(sha) = pending.commit.clone() else { continue };
        match reach(&sha) {
            Reach::Reached => {
                let proof = Proof::Commit { sha: sha.clone(), place: pending.reason.clone() };
                let why = format!("fixed by {} at {}", sha.short(), pending.reason);
                entry.pending = None;
                if entry.settle(Status::Fixed, proof, why, at, pending.round) {
                    proved.push(entry.finding.id);
                }
            }
            Reach::Lost => void(entry, "its commit is no longer in the branch"),
            Reach::Ahead if kept.contains(&pending.round) => void(entry, "its commit could not be pushed"),
            Reach::Ahead | Reach::Unknown => {}
        }
    }
    proved
}

fn void(entry: &mut super::summary::Entry, why: &str) {
    entry.pending = None;
    entry.refused = Some(why.to_owned());
}
