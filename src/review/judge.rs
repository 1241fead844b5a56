//! Judges what the editor answered (R8): the shape of `decisions.json`, and whether each answer may stand.
//!
//! | answer | stands when |
//! |---|---|
//! | `fix` | the round's commit touches the cited place or a named other one |
//! | `argue` | P2; 40 to 2,000 characters that speak of the finding |
//! | `stale` | its place is provably gone; what a commit of ours took out is a claimed fix (R14) |
//! | `defer` | P2 and lower; a reason and a plan with a title and steps (R15) |
//! | `answer` | P2 and lower; the finding is a question: its tag says so (`question:`, `ask:`), or its title ends in a question mark |
//!
//! With a person none of these words is sent by itself (`people.argue`): it is kept as a draft. `stale` is the exception,
//! for it says nothing but what git proves. An accepted answer settles nothing yet: a fix is proved on the remote head,
//! words by what is read back.

mod parse;
mod reason;
mod touch;

use std::collections::BTreeMap;

use super::comment::AccountKind;
use super::compose::merged;
use super::decision::{Decision, PlanDraft, Verb};
use super::diff::FileDiff;
use super::disarm::{clean, one_line};
use super::ids::{FindingId, Sha};
use super::severity::Severity;
use super::summary::{Entry, Pending, Proof, Summary};

pub use parse::{ItemProblem, ParsedDecisions, parse};
pub use touch::touches;

/// Longest title of a plan and longest step, in characters, and most steps.
const MAX_PLAN_TITLE: usize = 120;
const MAX_PLAN_STEP: usize = 400;
const MAX_PLAN_STEPS: usize = 20;

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
    /// Where the place of a finding is at the pull request's head.
    pub place: &'a dyn Fn(&Entry) -> PlaceNow,
}

/// Where the place of a finding is at the head, for judging `stale` (R14).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlaceNow {
    /// Still there, in words.
    There(String),
    /// Provably gone.
    Gone {
        /// The proof in a clause.
        because: String,
        /// The commit of ours that took it out, if it was ours.
        by: Option<Sha>,
    },
    /// Cannot be proved, and why: counts as still there.
    Unsure(String),
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
        if let Answered::Accepted(Pending { verb: Verb::Argue, reason, .. })
        | Answered::Draft(Pending { verb: Verb::Argue, reason, .. }) = &answer
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
    let pending = |commit: Option<Sha>| Pending { commit, ..Pending::new(decision.decision, &reason, facts.round) };
    let words = |pending: Pending| match entry.finding.author_kind {
        AccountKind::Person if !facts.people_argue => Answered::Draft(pending),
        AccountKind::Person | AccountKind::Bot => Answered::Accepted(pending),
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
                Ok(()) => words(pending(None)),
            }
        }
        (Verb::Stale, _) => stale(entry, facts),
        (Verb::Defer, Severity::P1) => {
            refuse("a P1 is never left to a follow-up: it has to be fixed; only a person may grade it lower")
        }
        (Verb::Defer, Severity::P2 | Severity::P3 | Severity::Nit) => {
            match (reason::sized(&reason), decision.plan.as_ref().map(drafted)) {
                (Err(why), _) | (Ok(()), Some(Err(why))) => Answered::Refused(why),
                (Ok(()), None) => refuse("`defer` needs a plan: `\"plan\": {\"title\": \"…\", \"steps\": [\"…\"]}`"),
                (Ok(()), Some(Ok(plan))) => words(Pending { plan: Some(plan), ..pending(None) }),
            }
        }
        (Verb::Answer, Severity::P1) => {
            refuse("a P1 is never settled by an answer: it has to be fixed; only a person may grade it lower")
        }
        (Verb::Answer, Severity::P2 | Severity::P3 | Severity::Nit) if !entry.is_question => {
            refuse("it asks no question, so it cannot be settled by an answer: fix it, or argue where that is allowed")
        }
        (Verb::Answer, Severity::P2 | Severity::P3 | Severity::Nit) => match reason::sized(&reason) {
            Err(why) => Answered::Refused(why),
            Ok(()) => words(pending(None)),
        },
    }
}

/// What is provably gone is stale; what a commit of ours took out is a fix that is claimed (R14).
fn stale(entry: &Entry, facts: RoundFacts<'_>) -> Answered {
    let of =
        |verb, reason: &str, commit| Answered::Accepted(Pending { commit, ..Pending::new(verb, reason, facts.round) });
    let place = (facts.place)(entry);
    // What the round itself took out is still there at the head of the pull request.
    if let (PlaceNow::There(_) | PlaceNow::Unsure(_), Some(commit), true) =
        (&place, facts.commit, entry.finding.path.is_some())
        && let Ok(place) = touches(entry, &[], facts.diff)
    {
        return of(Verb::Fix, &place, Some(commit.clone()));
    }
    match place {
        PlaceNow::Gone { because, by: None } => of(Verb::Stale, &because, None),
        PlaceNow::Gone { by: Some(sha), .. } => of(Verb::Fix, &cited(entry), Some(sha)),
        PlaceNow::There(place) => Answered::Refused(format!(
            "it is not stale: its place is still there, at {place}; fix it or answer it otherwise"
        )),
        PlaceNow::Unsure(why) => {
            Answered::Refused(format!("that it is stale cannot be proved ({why}), and unsure counts as still there"))
        }
    }
}

/// Returns the place a finding cites, as it stands in proofs.
fn cited(entry: &Entry) -> String {
    let path = entry.finding.path.as_deref().unwrap_or_default();
    match (entry.start_line, entry.finding.line) {
        (Some(from), Some(to)) if from != to => format!("{path}:{from}-{to}"),
        (_, Some(line)) => format!("{path}:{line}"),
        (_, None) => path.to_owned(),
    }
}

/// Cleans a drafted plan; a plan without a title or without a step is none.
fn drafted(plan: &PlanDraft) -> Result<PlanDraft, String> {
    let text = |text: &String, most| one_line(&clean(text).chars().take(most).collect::<String>());
    let title = text(&plan.title, MAX_PLAN_TITLE);
    let steps: Vec<String> =
        plan.steps.iter().map(|step| text(step, MAX_PLAN_STEP)).filter(|s| !s.is_empty()).collect();
    if title.is_empty() || steps.is_empty() {
        return Err("its plan needs a title and at least one step".to_owned());
    }
    if steps.len() > MAX_PLAN_STEPS {
        return Err(format!("its plan has {} steps; at most {MAX_PLAN_STEPS} are first steps", steps.len()));
    }
    Ok(PlanDraft { title, steps })
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
                entry.finding.why = match pending.verb {
                    Verb::Fix | Verb::Argue | Verb::Stale => "a drafted argument against a person waits for a person",
                    Verb::Defer => "a drafted follow-up of a person's finding waits for a person",
                    Verb::Answer => "a drafted answer to a person waits for a person",
                }
                .to_owned();
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
