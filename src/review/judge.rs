//! Judges what the editor answered (R8): the shape of `decisions.json`, and whether each answer may stand.
//!
//! An accepted answer settles nothing yet: a fix is proved on the remote head, an argument by what is read back.

mod parse;
mod reason;
mod touch;

use std::collections::BTreeMap;

use super::comment::AccountKind;
use super::compose::merged;
use super::decision::{Decision, Verb};
use super::diff::FileDiff;
use super::disarm::clean;
use super::ids::{FindingId, Sha};
use super::severity::Severity;
use super::summary::{Entry, Pending, Proof, Summary};

pub use parse::{ItemProblem, ParsedDecisions, parse};
pub use touch::touches;

/// What is known of the round whose answers are judged.
#[derive(Clone, Copy)]
pub struct RoundFacts<'a> {
    /// Its number.
    pub round: u32,
    /// Its commit; `None` when nothing was changed.
    pub commit: Option<&'a Sha>,
    /// What that commit changed against the head that the findings' lines are mapped to.
    pub diff: &'a [FileDiff],
    /// Whether the program may argue with people by itself.
    pub people_argue: bool,
    /// Code at the place of a finding.
    pub code: &'a dyn Fn(&Entry) -> String,
}

/// What an answer came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answered {
    /// It stands, until its effects are proved or read back.
    Accepted(Pending),
    /// It is kept as a draft: only a person may send it.
    Draft(Pending),
    /// It does not stand; the editor is told why.
    Refused(String),
}

/// One finding that was sent, judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    /// The finding.
    pub id: FindingId,
    /// What its answer came to.
    pub answer: Answered,
}

/// Judges the answers of a round: one verdict for each finding that was sent, in that order.
pub fn judge(summary: &Summary, sent: &[FindingId], parsed: &ParsedDecisions, facts: RoundFacts<'_>) -> Vec<Judged> {
    let entries: Vec<&Entry> = sent.iter().filter_map(|id| summary.comments.get(id)).collect();
    let groups: Vec<Vec<FindingId>> =
        merged(&entries).iter().map(|group| group.iter().map(|entry| entry.finding.id).collect()).collect();
    let answers: BTreeMap<FindingId, &Decision> = parsed.decisions.iter().map(|d| (d.id, d)).collect();
    let mut arguments: Vec<(Vec<FindingId>, String)> = known_arguments(summary);
    let mut judged = Vec::new();
    for entry in entries {
        let id = entry.finding.id;
        let group = groups.iter().find(|group| group.contains(&id)).cloned().unwrap_or_else(|| vec![id]);
        let direct = parsed.problems.iter().find(|problem| problem.id == Some(id));
        let answer = match (direct, answers.get(&id)) {
            (Some(problem), _) => Answered::Refused(problem.why.clone()),
            (None, Some(decision)) => verdict(entry, decision, &group, &arguments, facts),
            (None, None) => match group.iter().find_map(|other| answers.get(other)) {
                Some(decision) => verdict(entry, decision, &group, &arguments, facts),
                None => Answered::Refused(unanswered(parsed)),
            },
        };
        if let Answered::Accepted(Pending { verb: Verb::Argue, reason, .. }) | Answered::Draft(Pending { reason, .. }) =
            &answer
        {
            arguments.push((group, reason.clone()));
        }
        judged.push(Judged { id, answer });
    }
    judged
}

fn unanswered(parsed: &ParsedDecisions) -> String {
    match parsed.problems.iter().find(|problem| problem.id.is_none()) {
        Some(problem) => format!("it was not answered ({})", problem.why),
        None => "it was not answered".to_owned(),
    }
}

/// Returns every argument there is, with the findings it was made for.
fn known_arguments(summary: &Summary) -> Vec<(Vec<FindingId>, String)> {
    let each = |entry: &Entry| {
        let mut own = entry.finding.previous.clone();
        own.push(entry.finding.id);
        let pending = entry.pending.as_ref().filter(|p| p.verb == Verb::Argue).map(|p| p.reason.clone());
        let posted = match &entry.proof {
            Some(Proof::Reply { reason, .. }) => Some(reason.clone()),
            Some(
                Proof::Commit { .. }
                | Proof::AnchorGone { .. }
                | Proof::Plan { .. }
                | Proof::Reviewer { .. }
                | Proof::Person { .. }
                | Proof::Listed
                | Proof::SameAs { .. }
                | Proof::Deleted,
            )
            | None => None,
        };
        pending.or(posted).map(|reason| (own, reason))
    };
    summary.comments.values().filter_map(each).collect()
}

fn verdict(
    entry: &Entry,
    decision: &Decision,
    group: &[FindingId],
    arguments: &[(Vec<FindingId>, String)],
    facts: RoundFacts<'_>,
) -> Answered {
    let refuse = |why: &str| Answered::Refused(why.to_owned());
    let reason = clean(&decision.reason).trim().to_owned();
    let pending = |commit: Option<Sha>| Pending {
        verb: decision.decision,
        reason: reason.clone(),
        round: facts.round,
        commit,
        key: None,
    };
    match (decision.decision, entry.finding.severity) {
        (Verb::Fix, _) => match facts.commit {
            None => refuse("it was answered with `fix`, but the round made no commit"),
            Some(commit) => match touches(entry, &decision.places, facts.diff) {
                Ok(place) => Answered::Accepted(Pending { reason: place, ..pending(Some(commit.clone())) }),
                Err(why) => Answered::Refused(why),
            },
        },
        (Verb::Argue, Severity::P1) => {
            refuse("a P1 is never argued down: it has to be fixed; only a person may grade it lower")
        }
        (Verb::Argue, Severity::P3 | Severity::Nit) => refuse("it does not block and needs no argument"),
        (Verb::Argue, Severity::P2) => {
            let own = |known: &&(Vec<FindingId>, String)| {
                !known.0.iter().any(|id| group.contains(id) || entry.finding.previous.contains(id))
            };
            let others = arguments.iter().filter(own).map(|(_, text)| text.as_str());
            match reason::speaks_of(entry, &reason, &(facts.code)(entry), others) {
                Err(why) => Answered::Refused(why),
                Ok(()) if entry.finding.author_kind == AccountKind::Person && !facts.people_argue => {
                    Answered::Draft(pending(None))
                }
                Ok(()) => Answered::Accepted(pending(None)),
            }
        }
        (Verb::Stale, _) => refuse("`stale` is not taken from the editor yet: fix it, or argue where that is allowed"),
        (Verb::Defer, _) => refuse("`defer` is not supported yet: fix it, or argue where that is allowed"),
        (Verb::Answer, _) => refuse("`answer` is not supported yet: fix it, or argue where that is allowed"),
    }
}

/// Records verdicts on the findings they are about.
pub fn apply(summary: &mut Summary, judged: &[Judged]) {
    for Judged { id, answer } in judged {
        let Some(entry) = summary.comments.get_mut(id) else { continue };
        match answer {
            Answered::Accepted(pending) => {
                entry.pending = Some(pending.clone());
                entry.refused = None;
            }
            Answered::Draft(pending) => {
                entry.pending = Some(pending.clone());
                entry.refused = None;
                entry.finding.needs_person = true;
                "a drafted argument against a person waits for a person".clone_into(&mut entry.finding.why);
            }
            Answered::Refused(why) => {
                entry.pending = None;
                entry.refused = Some(why.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests;
