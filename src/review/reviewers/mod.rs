//! Has every awaited reviewer finished on this head (R16, R17)? Only positive evidence bound to the head says yes.
//!
//! Which texts mean what is the rules' business, and posting a request is the outbox's; this module says when one is due.

mod facts;
mod notice;
mod nudge;
mod signs;
mod state;
mod who;

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;

use self::signs::Seen;
use self::state::Judged;
use self::who::Who;
use super::comment::{AccountKind, Author, Channel};
use super::ids::{FindingId, Login, Sha};
use super::note::{Note, Signal};
use super::observation::{Observation, Reading};
use super::policy::{Policy, ReviewerPolicy};
use super::status::Status;
use super::summary::Summary;
use super::verdict::{ReviewerReport, ReviewerState, ReviewersVerdict};

/// What the rules know of a reviewer beside its texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewerData {
    /// Rule file's name.
    pub name: String,
    /// Its accounts.
    pub logins: Vec<Login>,
    /// Text of a comment that asks it for a review.
    pub mention: Option<String>,
    /// Login for the forge's own review request.
    pub request_login: Option<String>,
    /// Whether it looks at later pushes by itself.
    pub rereviews: bool,
}

/// What a check on the head says for a reviewer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckSignals {
    /// Rule file's name.
    pub reviewer: String,
    /// What it says.
    pub signals: Vec<Signal>,
    /// Last change of the check.
    pub at: Option<Timestamp>,
    /// Name of the check.
    pub check: String,
}

/// What a reaction says for a reviewer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReactionSignal {
    /// Rule file's name.
    pub reviewer: String,
    /// What it says.
    pub signal: Signal,
    /// When it was put.
    pub at: Timestamp,
    /// The forge's word for it.
    pub content: String,
}

/// How strong a proof has to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Proofs {
    /// A bare reaction is enough.
    Run,
    /// A bare reaction counts only where the policy says so.
    Gate,
}

/// Everything the verdict rests on.
#[derive(Debug, Clone)]
pub struct ReviewerFacts<'a> {
    /// The observation.
    pub obs: &'a Observation,
    /// Its notes.
    pub notes: &'a [Note],
    /// Signals of checks on the head.
    pub checks: Vec<CheckSignals>,
    /// Signals of reactions.
    pub reactions: Vec<ReactionSignal>,
    /// What is remembered.
    pub summary: &'a Summary,
    /// The settings.
    pub policy: &'a Policy,
    /// Reviewers the rules know.
    pub known: Vec<ReviewerData>,
}

/// The facts with the strength a proof needs.
#[derive(Clone, Copy)]
struct Facts<'a> {
    obs: &'a Observation,
    notes: &'a [Note],
    checks: &'a [CheckSignals],
    reactions: &'a [ReactionSignal],
    summary: &'a Summary,
    policy: &'a Policy,
    known: &'a [ReviewerData],
    proof: Proofs,
}

/// One reviewer on its way to a report.
struct Candidate<'a> {
    name: String,
    who: Who<'a>,
    required: bool,
    awaited: bool,
    seen: Seen,
    judged: Judged,
    deadline: Timestamp,
    counts: bool,
    ended: bool,
}

/// Judges all reviewers of the head.
pub fn judge(facts: &ReviewerFacts<'_>, proof: Proofs) -> ReviewersVerdict {
    let facts = &Facts {
        obs: facts.obs,
        notes: facts.notes,
        checks: &facts.checks,
        reactions: &facts.reactions,
        summary: facts.summary,
        policy: facts.policy,
        known: &facts.known,
        proof,
    };
    let since = head_since(facts.obs, facts.summary);
    let mut candidates: Vec<Candidate<'_>> =
        candidates(facts).into_iter().map(|(who, required)| candidate(facts, who, required, since)).collect();
    let listed = !facts.policy.reviewers.required.is_empty();
    for candidate in &mut candidates {
        let expected = candidate.seen.here || !facts.policy.reviewers.none;
        candidate.awaited = if listed { candidate.required } else { expected };
    }
    let quiet = quiet_at(facts, &candidates, since);
    let nudges = candidates.iter().filter_map(|c| nudge::nudge(facts, c, since)).collect();
    let mut verdict = verdict(facts, &candidates, since, quiet);
    verdict.each = candidates.iter().map(|candidate| report(facts, candidate, quiet)).collect();
    verdict.nudges = nudges;
    verdict
}

/// Returns when the head became the head: the earliest that is known, but never before another head was seen.
pub fn head_since(obs: &Observation, summary: &Summary) -> Timestamp {
    let head = &obs.pr.head;
    let recorded = summary.heads.iter().rev().find(|record| record.sha == *head).map(|record| record.since);
    let other = summary.heads.iter().filter(|record| record.sha != *head).map(|record| record.since);
    // Another head that was recorded after this one's last record means that this one came back since.
    let came_back = summary.heads.last().is_some_and(|record| record.sha != *head);
    let recorded = recorded.filter(|_| !came_back);
    let earliest = match (recorded, obs.head_since) {
        (Some(a), Some(b)) => a.min(b),
        (Some(at), None) | (None, Some(at)) => at,
        (None, None) => obs.at,
    };
    other.max().map_or(earliest, |other| earliest.max(other))
}

/// Adds a duration without ever failing.
fn after(at: Timestamp, wait: Duration) -> Timestamp {
    at.checked_add(wait).unwrap_or(Timestamp::MAX)
}

/// Everybody who is awaited or shown: the listed ones, then every known reviewer with a sign here or on recent pull requests.
fn candidates<'a>(facts: &Facts<'a>) -> Vec<(Who<'a>, bool)> {
    let mut found: Vec<(Who<'a>, bool)> = Vec::new();
    for entry in &facts.policy.reviewers.required {
        let who = who(entry, facts.known);
        if !found.iter().any(|(other, _)| *other == who) {
            found.push((who, true));
        }
    }
    let empty = BTreeSet::new();
    let recent = facts.obs.recent_bots.known().unwrap_or(&empty);
    let mut known: Vec<&ReviewerData> = facts.known.iter().collect();
    known.sort_by(|a, b| a.name.cmp(&b.name));
    for data in known {
        let who = Who::Known(data);
        let elsewhere = data.logins.iter().any(|login| recent.contains(login));
        if !found.iter().any(|(other, _)| *other == who) && (elsewhere || signs::here(facts, &who)) {
            found.push((who, false));
        }
    }
    found
}

/// Reads an entry of `reviewers.required`: a rule file's name, an alias, or the login of an account without rules.
fn who<'a>(entry: &str, known: &'a [ReviewerData]) -> Who<'a> {
    let login = Login::new(entry);
    let named = known.iter().find(|data| data.name.eq_ignore_ascii_case(entry.trim()));
    match named.or_else(|| known.iter().find(|data| data.logins.contains(&login))) {
        Some(data) => Who::Known(data),
        None => {
            let kind = if entry.trim().ends_with("[bot]") { AccountKind::Bot } else { AccountKind::Person };
            Who::Account(Author { login, kind })
        }
    }
}

fn candidate<'a>(facts: &Facts<'a>, who: Who<'a>, required: bool, since: Timestamp) -> Candidate<'a> {
    let name = who.name();
    let seen = signs::gather(facts, &who, since);
    let deadline = deadline(facts, &name, &seen, since);
    let judged = state::decide(&seen, facts.obs.at, deadline);
    let finished = matches!(judged.state, ReviewerState::Finished { .. });
    let weak_counts = facts.proof == Proofs::Run || settings(facts.policy, &who).is_some_and(|p| p.reaction_counts);
    let counts = finished && (!judged.weak || weak_counts);
    let ended = !counts && facts.obs.at >= deadline;
    Candidate { name, who, required, awaited: required, seen, judged, deadline, counts, ended }
}

fn settings<'a>(policy: &'a Policy, who: &Who<'_>) -> Option<&'a ReviewerPolicy> {
    policy.reviewers.each.iter().find(|(key, _)| who.is_called(key)).map(|(_, settings)| settings)
}

/// When waiting for a reviewer ends. A late request, or a late start, gets half a TTL more; twice the TTL is the last bound.
fn deadline(facts: &Facts<'_>, name: &str, seen: &Seen, since: Timestamp) -> Timestamp {
    let ttl = facts.policy.reviewers.ttl;
    let late = asked(facts, name).iter().copied().chain(seen.running_at).max();
    let end = after(since, ttl).max(late.map_or(Timestamp::MIN, |at| after(at, ttl / 2)));
    end.min(after(since, ttl.saturating_mul(2)))
}

/// When a reviewer was asked for this head.
fn asked<'a>(facts: &Facts<'a>, name: &str) -> &'a [Timestamp] {
    facts
        .summary
        .reviewers
        .get(name)
        .filter(|record| record.head.as_ref() == Some(&facts.obs.pr.head))
        .map_or(&[], |record| record.asked.as_slice())
}

/// When the settle window after the last sign on this head is over; `None` without a sign, or when it is over.
fn quiet_at(facts: &Facts<'_>, candidates: &[Candidate<'_>], since: Timestamp) -> Option<Timestamp> {
    let settle = facts.policy.reviewers.settle;
    let last = candidates.iter().filter_map(|candidate| candidate.seen.last).max()?;
    // A bot that edits its comment for ever cannot keep the window open for ever.
    let latest = candidates.iter().map(|candidate| candidate.deadline).max().unwrap_or(since);
    let quiet = after(last, settle).min(after(latest, settle));
    (quiet > facts.obs.at).then_some(quiet)
}

const NONE_KEY: &str =
    "set `reviewers.none = true` if this repository has no reviewer, on the default branch or in your own config";

fn verdict(
    facts: &Facts<'_>,
    candidates: &[Candidate<'_>],
    since: Timestamp,
    quiet: Option<Timestamp>,
) -> ReviewersVerdict {
    let awaited: Vec<&Candidate<'_>> = candidates.iter().filter(|candidate| candidate.awaited).collect();
    if awaited.is_empty() {
        return nobody(facts, since, quiet);
    }
    let missing: Vec<&Candidate<'_>> =
        awaited.iter().copied().filter(|c| !c.counts && (c.required || !c.ended)).collect();
    let ended: Vec<&Candidate<'_>> = awaited.iter().copied().filter(|c| c.ended).collect();
    let lost = ended.iter().any(|c| c.required);
    let one_finished = awaited.iter().any(|c| c.counts) || facts.policy.reviewers.none;
    if !missing.is_empty() {
        let until = missing.iter().filter_map(|c| next_change(facts, c)).min();
        let why = missing.iter().map(|c| sentence(c, &facts.obs.pr.head)).collect::<Vec<_>>().join("; ");
        let mut remedy = if lost { ways_out(&ended) } else { wait_until(until) };
        for weak in missing.iter().filter(|c| c.judged.weak) {
            remedy = format!("{remedy}; `reviewers.{}.reaction_counts = true` accepts its bare reaction", weak.name);
        }
        return shape(Some(false), why, until, lost, remedy);
    }
    if !one_finished {
        let why = ended.iter().map(|c| sentence(c, &facts.obs.pr.head)).collect::<Vec<_>>().join("; ");
        return shape(Some(false), format!("no reviewer has finished: {why}"), None, true, ways_out(&ended));
    }
    if let Some(quiet) = quiet {
        return settling(quiet);
    }
    let finished: Vec<&str> = awaited.iter().filter(|c| c.counts).map(|c| c.name.as_str()).collect();
    let mut why = format!("finished on {}: {}", facts.obs.pr.head.short(), finished.join(", "));
    if !ended.is_empty() {
        let named: Vec<String> = ended.iter().map(|c| format!("{} ({})", c.name, c.judged.state.as_str())).collect();
        why = format!("{why}; waiting ended for {}", named.join(", "));
    }
    match (&facts.obs.recent_bots, facts.policy.reviewers.required.is_empty() && !facts.policy.reviewers.none) {
        (Reading::Unknown(reason), true) => {
            let why = format!("the reviewers of other pull requests could not be read: {reason}");
            shape(None, why, None, false, "name the awaited reviewers in `reviewers.required`".to_owned())
        }
        (Reading::Unknown(_), false) | (Reading::Known(_), _) => shape(Some(true), why, None, false, String::new()),
    }
}

fn settling(quiet: Timestamp) -> ReviewersVerdict {
    let why = format!("the last sign of a reviewer is fresh; quiet until {quiet} is awaited");
    shape(Some(false), why, Some(quiet), false, wait_until(Some(quiet)))
}

/// No awaited reviewer at all (R17).
fn nobody(facts: &Facts<'_>, since: Timestamp, quiet: Option<Timestamp>) -> ReviewersVerdict {
    if facts.policy.reviewers.none {
        return match quiet {
            Some(quiet) => settling(quiet),
            None => shape(Some(true), "no reviewer is awaited".to_owned(), None, false, String::new()),
        };
    }
    let end = after(since, facts.policy.reviewers.ttl);
    let why = match &facts.obs.recent_bots {
        Reading::Known(_) => "no reviewer is known on this or on recent pull requests".to_owned(),
        Reading::Unknown(why) => {
            format!("no reviewer is known here, and recent pull requests could not be read: {why}")
        }
    };
    let remedy = format!("name one in `reviewers.required`, or {NONE_KEY}");
    if facts.obs.at >= end {
        shape(Some(false), why, None, true, remedy)
    } else {
        shape(Some(false), why, Some(end), false, remedy)
    }
}

fn shape(
    finished: Option<bool>,
    why: String,
    until: Option<Timestamp>,
    stuck: bool,
    remedy: String,
) -> ReviewersVerdict {
    ReviewersVerdict { each: Vec::new(), finished, why, until, stuck, remedy, nudges: Vec::new() }
}

fn wait_until(until: Option<Timestamp>) -> String {
    until.map_or_else(|| "wait".to_owned(), |until| format!("wait until {until}"))
}

fn ways_out(ended: &[&Candidate<'_>]) -> String {
    let names = ended.iter().map(|c| c.name.as_str()).collect::<Vec<_>>().join(", ");
    format!(
        "ask {names} for a review by hand, take it out of `reviewers.required` or list one that answers, or {NONE_KEY}"
    )
}

fn sentence(candidate: &Candidate<'_>, head: &Sha) -> String {
    let state = if candidate.judged.weak { "only a bare reaction" } else { candidate.judged.state.as_str() };
    let ended = if candidate.ended { ", its time is over" } else { "" };
    format!("{} on {}: {state}{ended} ({})", candidate.name, head.short(), candidate.judged.evidence)
}

/// The next moment at which time alone changes something for a reviewer.
fn next_change(facts: &Facts<'_>, candidate: &Candidate<'_>) -> Option<Timestamp> {
    let limit = match candidate.judged.state {
        ReviewerState::Limited { until } => until,
        ReviewerState::NotStarted
        | ReviewerState::Running
        | ReviewerState::Finished { .. }
        | ReviewerState::Skipped(_)
        | ReviewerState::Failed(_)
        | ReviewerState::Silent => None,
    };
    [limit, Some(candidate.deadline)].into_iter().flatten().filter(|at| *at > facts.obs.at).min()
}

fn report(facts: &Facts<'_>, candidate: &Candidate<'_>, quiet: Option<Timestamp>) -> ReviewerReport {
    let until = if candidate.counts { quiet } else { next_change(facts, candidate) };
    ReviewerReport {
        name: candidate.name.clone(),
        required: candidate.required,
        awaited: candidate.awaited,
        state: candidate.judged.state.clone(),
        head: facts.obs.pr.head.clone(),
        open: open(facts, &candidate.who),
        evidence: candidate.judged.evidence.clone(),
        since: candidate.judged.since,
        until,
        weak: candidate.judged.weak,
        ended: candidate.ended,
    }
}

/// Counts the open findings of a reviewer.
fn open(facts: &Facts<'_>, who: &Who<'_>) -> u32 {
    let written: BTreeSet<(Channel, u64)> =
        facts.notes.iter().filter(|note| who.wrote(note)).map(|note| (note.channel, note.id)).collect();
    let of = |id: &FindingId| written.contains(&(signs::channel(*id), id.carrier()));
    let open = facts.summary.comments.iter().filter(|(id, entry)| entry.finding.status == Status::Open && of(id));
    u32::try_from(open.count()).unwrap_or(u32::MAX)
}

#[cfg(test)]
pub(crate) mod fixture;
#[cfg(test)]
mod rules_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod timeline_tests;
