//! The one next thing for somebody who drives the loop by hand: an agent or a person. Decides which action and about which
//! finding; how it is shown, and how old a reading may be, is decided elsewhere.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::brief::Around;
use super::compose::merged;
use super::decision::Verb;
use super::ids::{FindingId, Sha};
use super::observation::PrState;
use super::severity::Severity;
use super::summary::{Entry, Summary, WriteState};
use super::verdict::ReviewersVerdict;

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// A finding is to be settled.
    Fix,
    /// Time alone helps.
    Wait,
    /// Commits here are not on the remote.
    Push,
    /// Only a person can go on.
    AskPerson,
    /// Nothing is left.
    Done,
}

impl Action {
    /// Returns the word used in every format.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fix => "fix",
            Self::Wait => "wait",
            Self::Push => "push",
            Self::AskPerson => "ask_person",
            Self::Done => "done",
        }
    }
}

/// How HEAD here stands to the pull request's head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Local {
    /// The same commit.
    Same,
    /// Commits here are not on the remote.
    Ahead,
    /// The remote has commits that are not here.
    Behind,
    /// Both have commits of their own.
    Diverged,
    /// Another branch is checked out here, or it cannot be told.
    Elsewhere,
}

/// The reviewers, as far as waiting for them goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reviewers {
    /// As in the verdict: `None` cannot be told.
    pub finished: Option<bool>,
    /// Only a person can help.
    pub stuck: bool,
    /// Why not, in one sentence.
    pub why: String,
    /// When time alone can change this.
    pub until: Option<Timestamp>,
}

impl Reviewers {
    /// Takes what matters out of a verdict.
    pub fn of(verdict: &ReviewersVerdict) -> Self {
        Self { finished: verdict.finished, stuck: verdict.stuck, why: verdict.why.clone(), until: verdict.until }
    }
}

/// Everything the next thing depends on.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// What is remembered.
    pub summary: &'a Summary,
    /// Life of the pull request.
    pub state: PrState,
    /// Its head.
    pub head: &'a Sha,
    /// HEAD here.
    pub local: Local,
    /// The reviewers.
    pub reviewers: &'a Reviewers,
    /// What is settled and not shown on the pull request yet.
    pub unposted: &'a [FindingId],
}

/// Version of a kept glance.
pub const GLANCE_VERSION: u32 = 1;

/// What one reading showed, kept so that the next answer needs no reading while it is fresh enough. A hint with a time,
/// never a proof.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Glance {
    /// Version of this format.
    pub schema_version: u32,
    /// When the reading was made, by this machine's clock.
    pub at: Timestamp,
    /// Head of the pull request then.
    pub head: Sha,
    /// Its life then.
    pub state: PrState,
    /// The reviewers then.
    pub reviewers: Reviewers,
    /// What is shown with each finding that was open.
    pub around: BTreeMap<FindingId, Around>,
    /// Whether `run` would start here: something is configured that proves a fix.
    #[serde(default = "yes")]
    pub runs: bool,
}

fn yes() -> bool {
    true
}

/// The next thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Next {
    /// What to do.
    pub action: Action,
    /// About which finding.
    pub finding: Option<FindingId>,
    /// Findings at the same place, which the same answer serves.
    pub also: Vec<FindingId>,
    /// Why, in one sentence.
    pub why: String,
    /// When to come back.
    pub until: Option<Timestamp>,
    /// True when answers are owed that only a run or `resolve` posts.
    pub unposted: bool,
}

impl Next {
    fn new(action: Action, why: impl Into<String>) -> Self {
        Self { action, finding: None, also: Vec::new(), why: why.into(), until: None, unposted: false }
    }
}

/// Decides the next thing. The first row that fits decides.
pub fn next(at: Facts<'_>) -> Next {
    ended(at)
        .or_else(|| to_fix(at))
        .or_else(|| to_push(at))
        .or_else(|| to_a_person(at))
        .or_else(|| to_post(at))
        .or_else(|| to_show(at))
        .or_else(|| to_wait_for(at))
        .unwrap_or_else(|| Next::new(Action::Done, "no P1/P2 is open and the reviewers have finished"))
}

fn ended(at: Facts<'_>) -> Option<Next> {
    match at.state {
        PrState::Open => None,
        PrState::Merged => Some(Next::new(Action::Done, "the pull request is merged")),
        PrState::Closed => Some(Next::new(Action::Done, "the pull request is closed")),
    }
}

/// All findings are answered before anything is pushed: each push starts every reviewer again.
fn to_fix(at: Facts<'_>) -> Option<Next> {
    let open: Vec<&Entry> = at.summary.workable().collect();
    let groups = merged(&open);
    let group = groups.first()?;
    let first = group.first()?;
    let left = match open.len() {
        1 => "the only finding that is open for work".to_owned(),
        n => format!("the first of {n} findings that are open for work"),
    };
    let why = match &first.refused {
        Some(why) => format!("{left}; the last answer was not taken: {why}"),
        None => left,
    };
    Some(Next {
        finding: Some(first.finding.id),
        also: group.iter().skip(1).map(|entry| entry.finding.id).collect(),
        ..Next::new(Action::Fix, why)
    })
}

fn claims(summary: &Summary) -> impl Iterator<Item = &Entry> {
    summary.open_blocking().filter(|entry| entry.pending.as_ref().is_some_and(|p| p.verb == Verb::Fix))
}

/// Returns the plan file of a follow-up that no commit on the remote holds.
pub fn uncommitted_plan(entry: &Entry) -> Option<String> {
    let pending = entry.pending.as_ref().filter(|pending| pending.verb == Verb::Defer && pending.commit.is_none())?;
    pending.file.clone()
}

fn to_push(at: Facts<'_>) -> Option<Next> {
    let ids: Vec<String> = claims(at.summary).map(|entry| entry.finding.id.to_string()).collect();
    let claimed = if ids.is_empty() {
        String::new()
    } else {
        format!("; a fix of {} is proved once it is there", ids.join(", "))
    };
    let plan = at.summary.comments.values().find_map(uncommitted_plan);
    match at.local {
        Local::Same | Local::Ahead | Local::Behind if plan.is_some() => {
            let file = plan.unwrap_or_default();
            Some(Next::new(Action::Push, format!("the follow-up plan {file} is to be committed and pushed{claimed}")))
        }
        Local::Ahead => Some(Next::new(Action::Push, format!("commits here are not on the remote{claimed}"))),
        Local::Diverged if !ids.is_empty() => {
            Some(Next::new(Action::Push, format!("the branch here and the remote have both moved{claimed}")))
        }
        Local::Same | Local::Behind | Local::Diverged | Local::Elsewhere => None,
    }
}

fn to_a_person(at: Facts<'_>) -> Option<Next> {
    if let Some(entry) = worst(at.summary.open_blocking().filter(|entry| entry.finding.needs_person)) {
        let why = if entry.finding.why.is_empty() { "it needs a person".to_owned() } else { entry.finding.why.clone() };
        return Some(Next { finding: Some(entry.finding.id), ..Next::new(Action::AskPerson, why) });
    }
    if let Some(entry) = at.summary.comments.values().find(|entry| entry.finding.needs_person) {
        let id = Some(entry.finding.id);
        return Some(Next { finding: id, ..Next::new(Action::AskPerson, entry.finding.why.clone()) });
    }
    let lost = claims(at.summary).next()?;
    let commit = lost.pending.as_ref().and_then(|p| p.commit.as_ref()).map(|sha| sha.short().to_owned());
    let why = match commit {
        Some(commit) => format!("whether {commit}, the claimed fix, is in the branch cannot be told here"),
        None => "the claimed fix names no commit".to_owned(),
    };
    Some(Next { finding: Some(lost.finding.id), ..Next::new(Action::AskPerson, why) })
}

fn worst<'a>(entries: impl Iterator<Item = &'a Entry>) -> Option<&'a Entry> {
    entries.min_by_key(|entry| (entry.finding.severity, entry.finding.id))
}

/// An accepted answer that is not out, or not read back.
fn to_post(at: Facts<'_>) -> Option<Next> {
    let entry = at.summary.open_blocking().find(|entry| entry.pending.is_some())?;
    let id = entry.finding.id;
    let failed = at
        .summary
        .outbox
        .iter()
        .rev()
        .find(|item| item.state == WriteState::Failed && item.findings.contains(&id) && !item.why.is_empty());
    Some(match failed {
        Some(item) => Next {
            finding: Some(id),
            ..Next::new(Action::AskPerson, format!("the answer on {id} could not be posted: {}", item.why))
        },
        None => Next {
            finding: Some(id),
            unposted: true,
            ..Next::new(Action::Wait, format!("the answer on {id} is not read back yet"))
        },
    })
}

/// What is settled stands in the thread and in the description only once `resolve` or a run has posted it.
fn to_show(at: Facts<'_>) -> Option<Next> {
    let first = at.unposted.first()?;
    let ids: Vec<String> = at.unposted.iter().map(ToString::to_string).collect();
    let why = format!("settled, and not shown on the pull request yet: {}", ids.join(", "));
    Some(Next { finding: Some(*first), unposted: true, ..Next::new(Action::Wait, why) })
}

fn to_wait_for(at: Facts<'_>) -> Option<Next> {
    let seen = at.reviewers;
    let action = match seen.finished {
        Some(true) => return None,
        Some(false) if !seen.stuck => Action::Wait,
        Some(false) | None => Action::AskPerson,
    };
    Some(Next { until: seen.until, ..Next::new(action, seen.why.clone()) })
}

/// Returns the severity of the worst finding that is open for work, for the count in words.
pub fn open_for_work(summary: &Summary) -> (usize, usize) {
    let p1 = summary.workable().filter(|entry| entry.finding.severity == Severity::P1).count();
    (p1, summary.workable().count() - p1)
}

/// Returns the ids that look most like what was typed, likeliest first.
pub fn nearest(known: &[FindingId], typed: &str, most: usize) -> Vec<FindingId> {
    let like = |id: &FindingId| similar::TextDiff::from_chars(typed, id.to_string().as_str()).ratio();
    let mut all: Vec<(f32, FindingId)> = known.iter().map(|id| (like(id), *id)).collect();
    all.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    all.into_iter().map(|(_, id)| id).take(most).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::review::sample;
    use crate::review::status::Status;

    fn reviewers(finished: Option<bool>, stuck: bool) -> Reviewers {
        Reviewers { finished, stuck, why: "codex has not finished".to_owned(), until: Some(sample::at()) }
    }

    fn pending(verb: Verb) -> Entry {
        let mut entry = sample::entry("c2", Severity::P2);
        entry.pending = Some(sample::pending(verb, "because"));
        entry
    }

    fn person() -> Entry {
        let mut entry = sample::entry("c3", Severity::P2);
        entry.finding.needs_person = true;
        entry.finding.why = "3 attempts did not settle it".to_owned();
        entry
    }

    #[track_caller]
    fn check(entries: Vec<Entry>, state: PrState, local: Local, seen: &Reviewers, action: Action, id: Option<&str>) {
        let summary = sample::summary(entries);
        let head = sample::sha('a');
        let next = next(Facts { summary: &summary, state, head: &head, local, reviewers: seen, unposted: &[] });
        let wanted = id.map(|id| id.parse().expect("an id"));
        assert_eq!((next.action, next.finding), (action, wanted), "{next:?}");
        assert!(!next.why.is_empty(), "{next:?}");
    }

    #[test]
    fn the_first_row_that_fits_decides() {
        let (done, open) = (reviewers(Some(true), false), PrState::Open);
        let (p1, p2) = (sample::entry("c1", Severity::P1), sample::entry("c9", Severity::P2));
        let all = || vec![p2.clone(), p1.clone(), pending(Verb::Fix), person()];
        check(all(), open, Local::Ahead, &done, Action::Fix, Some("c1"));
        check(all(), PrState::Merged, Local::Ahead, &done, Action::Done, None);
        check(vec![pending(Verb::Fix), person()], open, Local::Ahead, &done, Action::Push, None);
        check(vec![pending(Verb::Fix)], open, Local::Diverged, &done, Action::Push, None);
        check(vec![], open, Local::Ahead, &done, Action::Push, None);
        check(vec![], open, Local::Diverged, &done, Action::Done, None);
        check(vec![pending(Verb::Fix), person()], open, Local::Same, &done, Action::AskPerson, Some("c3"));
        check(vec![pending(Verb::Fix)], open, Local::Same, &done, Action::AskPerson, Some("c2"));
        check(vec![pending(Verb::Argue)], open, Local::Same, &done, Action::Wait, Some("c2"));
        check(vec![], open, Local::Same, &reviewers(Some(false), false), Action::Wait, None);
        check(vec![], open, Local::Same, &reviewers(Some(false), true), Action::AskPerson, None);
        check(vec![], open, Local::Same, &reviewers(None, false), Action::AskPerson, None);
        check(vec![sample::entry("c4", Severity::P3)], open, Local::Same, &done, Action::Done, None);
    }

    #[test]
    fn what_is_settled_and_not_shown_is_posted_before_anybody_is_waited_for() {
        let (id, head) = ("c1".parse().expect("an id"), sample::sha('a'));
        let mut fixed = sample::entry("c1", Severity::P1);
        fixed.finding.status = Status::Fixed;
        let look = |entries: Vec<Entry>, unposted: &[FindingId]| {
            let (summary, seen) = (sample::summary(entries), reviewers(Some(false), false));
            let (state, local) = (PrState::Open, Local::Same);
            next(Facts { summary: &summary, state, head: &head, local, reviewers: &seen, unposted })
        };
        let found = look(vec![fixed.clone()], &[id]);
        assert_eq!((found.action, found.finding, found.unposted), (Action::Wait, Some(id), true), "{found:?}");
        let waits = look(vec![fixed.clone()], &[]);
        assert_eq!((waits.action, waits.unposted), (Action::Wait, false), "{waits:?}");
        let first = look(vec![fixed, sample::entry("c2", Severity::P2)], &[id]);
        assert_eq!(first.action, Action::Fix, "what is open comes first: {first:?}");
    }

    #[test]
    fn a_deleted_p1_is_a_persons_business() {
        let mut gone = sample::entry("c5", Severity::P1);
        (gone.finding.status, gone.finding.needs_person) = (Status::Gone, true);
        gone.finding.why = "a P1 was deleted".to_owned();
        check(vec![gone], PrState::Open, Local::Same, &reviewers(Some(true), false), Action::AskPerson, Some("c5"));
    }

    #[test]
    fn a_refused_answer_says_why_and_one_place_is_one_thing() {
        let mut entry = sample::entry("c1", Severity::P1);
        entry.refused = Some("the commit touches nothing there".to_owned());
        let mut other = sample::entry("c2", Severity::P2);
        other.finding.author = crate::review::ids::Login::new("coderabbitai");
        let (summary, head) = (sample::summary(vec![entry, other]), sample::sha('a'));
        let seen = reviewers(Some(true), false);
        let facts = Facts {
            summary: &summary,
            state: PrState::Open,
            head: &head,
            local: Local::Same,
            reviewers: &seen,
            unposted: &[],
        };
        let next = next(facts);
        assert!(next.why.contains("touches nothing there"), "{next:?}");
        assert_eq!(next.also, vec!["c2".parse().expect("an id")]);
        assert_eq!(open_for_work(&summary), (1, 1));
    }

    #[test]
    fn a_mistyped_id_is_met_by_the_nearest_ones() {
        let known: Vec<FindingId> =
            ["c4300000008", "c4300000012", "r77.1"].iter().map(|id| id.parse().expect("an id")).collect();
        let near = nearest(&known, "c430000012", 2);
        assert_eq!(near.iter().map(ToString::to_string).collect::<Vec<_>>(), ["c4300000012", "c4300000008"]);
        assert_eq!(nearest(&known, "r77", 1)[0].to_string(), "r77.1");
    }
}
