//! The loop as a pure function: what is known → the one next step. The driver in `engine` performs it and records what happened.
//!
//! The order of the rules is the contract's; the first that fits decides. Nothing here waits, writes or asks.

mod limits;
mod reason;
mod unpushed;

pub use limits::{REGION_LINES, more_needed, rounds_used};
pub use unpushed::unpushed;

use std::time::Duration;

use jiff::Timestamp;

use super::decision::Verb;
use super::ids::{FindingId, Sha};
use super::observation::PrState;
use super::policy::Policy;
use super::summary::{Entry, RoundRecord, StopReason, Summary, VerifyState, WriteState};
use super::verdict::{ClauseName, Gate, Nudge, ReviewersVerdict};
use limits::bounds;
use unpushed::unfinished_round;

/// What this run was told and what it has used.
#[derive(Debug, Clone, PartialEq)]
pub struct RunFacts {
    /// Time since the run began.
    pub elapsed: Duration,
    /// Extra rounds a person allowed.
    pub more: u32,
    /// Whether CI and merging are looked at.
    pub until_ready: bool,
    /// An editor is there.
    pub has_editor: bool,
}

/// State of our block in the description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlockState {
    /// As it should be, or still to be written.
    Fine,
    /// Markers are broken or doubled: nothing is written, and why.
    Broken(String),
    /// A reason was removed again after it was restored.
    RemovedAgain(String),
}

/// Everything the next step depends on.
#[derive(Debug)]
pub struct Situation<'a> {
    /// What is remembered.
    pub summary: &'a Summary,
    /// Life of the pull request.
    pub pr_state: PrState,
    /// Head by the forge.
    pub head: &'a Sha,
    /// HEAD of the worktree.
    pub local: &'a Sha,
    /// True when the account of the token is known: only then can what was posted be told from what others wrote.
    pub account_known: bool,
    /// The reviewers.
    pub reviewers: &'a ReviewersVerdict,
    /// The gate, where the run looks at it.
    pub gate: Option<&'a Gate>,
    /// Our block.
    pub block: &'a BlockState,
    /// Settings.
    pub policy: &'a Policy,
    /// This run.
    pub run: &'a RunFacts,
    /// The forge's clock.
    pub now: Timestamp,
}

/// What comes next.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Run the verifier on the worktree's HEAD.
    Verify,
    /// Push our newest commit.
    Push(Sha),
    /// Put our unpushed commits on top of the pull request's head: somebody pushed meanwhile.
    Replay,
    /// Take our unpushed commits out of the branch and keep them aside.
    Reject(String),
    /// Perform this outbox item.
    Post(String),
    /// Start the editor.
    Edit {
        /// With these findings.
        findings: Vec<FindingId>,
        /// And red tests.
        tests: bool,
    },
    /// Write the follow-up plans that are owed, and commit them: a round without the editor.
    Plan,
    /// Hand these findings to a person: their attempts are used up.
    GiveToPerson(Vec<FindingId>),
    /// Ask a reviewer to look again.
    Ask(Nudge),
    /// Wait.
    Wait {
        /// What for.
        what: String,
        /// When time alone changes something.
        until: Option<Timestamp>,
        /// Why the run ends when it may not wait.
        reason: StopReason,
    },
    /// Stop.
    Stop {
        /// Named reason.
        reason: StopReason,
        /// In one sentence.
        why: String,
        /// What a person can do.
        remedy: String,
        /// True where only a person can help although the reason alone would be a wait.
        person: bool,
    },
}

/// What a person can do about findings that the editor cannot bring together.
pub const CHOICES: &str = "decide in the thread with `/pushback accept`, `/pushback regrade P3 <reason>` or \
    `/pushback out-of-scope <reason>`, or change the place yourself and push; `/pushback retry` lets the editor try again";

/// Tells whether a round since the last reset was given back because it undid the fix of this finding.
pub fn contested_before(summary: &Summary, fixed: FindingId) -> bool {
    let since = summary.rounds.iter().filter(|round| round.n > summary.reset_at_round);
    since.filter(|round| round.reversed.contains(&fixed)).count() > 0
}

/// Tells whether a finding asked twice for what undoes the same fix.
fn contested(summary: &Summary, entry: &Entry) -> bool {
    let own = |id: &FindingId| *id == entry.finding.id || entry.finding.previous.contains(id);
    let asked = |round: &&RoundRecord| round.n > summary.reset_at_round && round.sent.iter().any(own);
    let rounds: Vec<&RoundRecord> = summary.rounds.iter().filter(asked).collect();
    rounds.iter().enumerate().any(|(n, round)| {
        round.reversed.iter().any(|fixed| rounds[..n].iter().any(|earlier| earlier.reversed.contains(fixed)))
    })
}

/// Decides the next step.
pub fn next_step(at: &Situation<'_>) -> Step {
    ended(at)
        .or_else(|| nobody_posts(at))
        .or_else(|| unfinished_round(at))
        .or_else(|| moved_on(at))
        .or_else(|| owed_post(at))
        .or_else(|| unknown_tests(at))
        .or_else(|| nothing_to_test_with(at))
        .or_else(|| work_or_plan(at))
        .or_else(|| only_a_person(at))
        .or_else(|| red_tests(at))
        .or_else(|| reviewers(at))
        .or_else(|| readiness(at))
        .unwrap_or_else(|| stop(StopReason::Settled, "tests are green and no P1/P2 is open", ""))
}

fn stop(reason: StopReason, why: impl Into<String>, remedy: impl Into<String>) -> Step {
    Step::Stop { reason, why: why.into(), remedy: remedy.into(), person: false }
}

fn ended(at: &Situation<'_>) -> Option<Step> {
    match at.pr_state {
        PrState::Open => None,
        PrState::Merged => Some(stop(StopReason::Merged, "the pull request is merged", "")),
        PrState::Closed => Some(stop(StopReason::Closed, "the pull request is closed", "")),
    }
}

/// Nothing is posted under an unknown account: a copy could not be told from a first post.
fn nobody_posts(at: &Situation<'_>) -> Option<Step> {
    (!at.account_known).then(|| {
        stop(
            StopReason::Permission,
            "the account of the token could not be learned, so nothing can be posted",
            "give the token the right to read its own user, or name the account in `trust.accounts`",
        )
    })
}

/// Returns the record of the tests at a commit.
pub fn tests_at<'a>(summary: &'a Summary, sha: &Sha) -> Option<&'a super::summary::Verified> {
    summary.verified.iter().rev().find(|record| &record.head == sha)
}

/// HEAD is neither the pull request's head nor a commit of ours that waits: somebody pushed, or moved the branch here.
fn moved_on(at: &Situation<'_>) -> Option<Step> {
    if at.local == at.head || unpushed(at.summary).any(|round| round.head_after.as_ref() == Some(at.local)) {
        return None;
    }
    let why = format!("the pull request's head is {} now, HEAD here is {}", at.head.short(), at.local.short());
    Some(stop(StopReason::HeadMoved, why, "bring the branch up to date (`git pull --ff-only`), then run again"))
}

fn owed_post(at: &Situation<'_>) -> Option<Step> {
    super::outbox::next(at.summary).map(|item| Step::Post(item.key.clone()))
}

fn unknown_tests(at: &Situation<'_>) -> Option<Step> {
    let known = tests_at(at.summary, at.local).is_some();
    (at.policy.has_verify && !known).then_some(Step::Verify)
}

/// A program that the tests start is not there: what the editor changes could not be proved, and not be pushed.
fn nothing_to_test_with(at: &Situation<'_>) -> Option<Step> {
    let record = tests_at(at.summary, at.local).filter(|record| record.absent && at.local == at.head)?;
    let why = format!("the tests could not be run: {}", record.why);
    Some(stop(StopReason::TestsRed, why, "install it, or mend `verify.commands`; no editor was started"))
}

/// Returns the findings the editor has to be given now.
pub fn editor_work(summary: &Summary) -> Vec<&Entry> {
    summary.workable().collect()
}

/// Tells whether the editor is owed a run for the tests alone.
fn tests_need_editor(at: &Situation<'_>) -> bool {
    tests_at(at.summary, at.local)
        .is_some_and(|record| record.state == VerifyState::Red && record.on_base != Some(VerifyState::Red))
}

/// Plans go into the commit of a round of the editor, or into one of their own where the editor has nothing to do.
fn work_or_plan(at: &Situation<'_>) -> Option<Step> {
    let work = work(at);
    let edits = matches!(work, Some(Step::Edit { .. }));
    if !edits && !super::followup::unwritten(at.summary).is_empty() { Some(Step::Plan) } else { work }
}

fn work(at: &Situation<'_>) -> Option<Step> {
    let todo = editor_work(at.summary);
    let tests = tests_need_editor(at);
    if todo.is_empty() && !tests {
        return None;
    }
    let spent: Vec<FindingId> = todo
        .iter()
        .filter(|entry| entry.finding.attempts >= at.policy.limits.attempts)
        .map(|entry| entry.finding.id)
        .collect();
    if !spent.is_empty() {
        return Some(Step::GiveToPerson(spent));
    }
    if let Some(refusal) = bounds(at) {
        return Some(refusal);
    }
    if !at.run.has_editor {
        return Some(stop(
            StopReason::EditorUnavailable,
            "no editor is configured or installed",
            "set `agent.name` or `agent.command` in .pushback.toml, or work through the findings with `pushback next` and `pushback resolve`",
        ));
    }
    Some(Step::Edit { findings: todo.iter().map(|entry| entry.finding.id).collect(), tests })
}

fn only_a_person(at: &Situation<'_>) -> Option<Step> {
    let waits = |entry: &&Entry| entry.blocks() && entry.finding.needs_person || entry.orphaned();
    let blocked: Vec<&Entry> = at.summary.comments.values().filter(waits).collect();
    if let Some(first) = blocked.first() {
        let ids: Vec<String> = blocked.iter().map(|entry| entry.finding.id.to_string()).collect();
        if let Some(entry) = blocked.iter().find(|entry| contested(at.summary, entry)) {
            return Some(stop(StopReason::Contested, entry.finding.why.clone(), CHOICES));
        }
        return Some(stop(
            StopReason::NeedsPerson,
            format!("{}: {}", ids.join(", "), first.finding.why),
            format!(
                "decide with `pushback triage`, or in the thread with `/pushback accept`, `/pushback regrade P3 <reason>` or \
                 `/pushback retry`; or mend it yourself, push, and claim it: `pushback resolve {} fix --commit HEAD`",
                first.finding.id
            ),
        ));
    }
    let stuck = at.summary.open_blocking().find(|entry| entry.pending.is_some())?;
    match stuck.pending.as_ref().map(|pending| pending.verb) {
        Some(Verb::Fix) if at.local != at.head => return None,
        Some(Verb::Fix) => {
            let why = format!("{}: whether its fix is in the branch cannot be told here", stuck.finding.id);
            return Some(stop(StopReason::NeedsPerson, why, "fetch the whole history (`git fetch --unshallow`)"));
        }
        Some(Verb::Defer) if at.local != at.head => return None,
        Some(Verb::Defer) if super::next::uncommitted_plan(stuck).is_some() => {
            let file = super::next::uncommitted_plan(stuck).unwrap_or_default();
            let why = format!("{}: its follow-up plan {file} is written and not on the remote", stuck.finding.id);
            return Some(stop(StopReason::NeedsPerson, why, "commit the plan and push it, then run again"));
        }
        Some(Verb::Defer) if stuck.pending.as_ref().is_some_and(|pending| pending.url.is_none()) => {
            let why = format!("{}: whether its follow-up plan is in the branch cannot be told here", stuck.finding.id);
            return Some(stop(StopReason::NeedsPerson, why, "fetch the whole history (`git fetch --unshallow`)"));
        }
        Some(Verb::Defer) if !at.policy.post.description => {
            let why = format!("{}: a follow-up counts only in the description too", stuck.finding.id);
            return Some(stop(
                StopReason::NeedsPerson,
                why,
                "set `post.description = true` on the default branch or in your own config",
            ));
        }
        Some(Verb::Argue) if !at.policy.post.description => {
            let why = format!("{}: an argument counts only in the description too", stuck.finding.id);
            return Some(stop(
                StopReason::NeedsPerson,
                why,
                "set `post.description = true` on the default branch or in your own config",
            ));
        }
        Some(Verb::Argue | Verb::Stale | Verb::Answer | Verb::Defer) | None => {}
    }
    let failed = at
        .summary
        .outbox
        .iter()
        .rev()
        .find(|item| item.state == WriteState::Failed && item.findings.contains(&stuck.finding.id));
    let why = failed.map_or("its answer is not read back yet".to_owned(), |item| item.why.clone());
    let block = match at.block {
        BlockState::Fine => None,
        BlockState::Broken(why) | BlockState::RemovedAgain(why) => Some(why.clone()),
    };
    if failed.is_some() || block.is_some() {
        return Some(stop(
            StopReason::NeedsPerson,
            format!("{}: {}", stuck.finding.id, block.unwrap_or(why)),
            "mend that, then run again",
        ));
    }
    Some(Step::Wait {
        what: format!("the answer on {} to be readable", stuck.finding.id),
        until: None,
        reason: StopReason::WaitingReviewer,
    })
}

fn red_tests(at: &Situation<'_>) -> Option<Step> {
    let record = tests_at(at.summary, at.local)?;
    match record.state {
        VerifyState::Green => None,
        VerifyState::Red if record.on_base == Some(VerifyState::Red) => Some(stop(
            StopReason::TestsRed,
            format!("{}; red also on the base", record.why),
            "mend the base branch first; this pull request did not break it",
        )),
        VerifyState::Red => {
            Some(stop(StopReason::TestsRed, record.why.clone(), "run `pushback run` again or mend the tests"))
        }
        VerifyState::CouldNotRun => Some(stop(
            StopReason::TestsRed,
            format!("the tests could not be run: {}", record.why),
            "mend `verify.commands`, or what is named there; a test that did not run proves nothing",
        )),
    }
}

fn reviewers(at: &Situation<'_>) -> Option<Step> {
    let seen = at.reviewers;
    let askable: Vec<&Nudge> =
        seen.nudges.iter().filter(|nudge| super::outbox::may_ask(at.summary, nudge, at.head)).collect();
    if let Some(nudge) = askable.iter().find(|nudge| nudge.due <= at.now) {
        return Some(Step::Ask((*nudge).clone()));
    }
    match seen.finished {
        Some(true) => None,
        Some(false) | None if seen.stuck => Some(Step::Stop {
            reason: StopReason::WaitingReviewer,
            why: seen.why.clone(),
            remedy: seen.remedy.clone(),
            person: true,
        }),
        Some(false) | None => {
            let asks = askable.iter().map(|nudge| nudge.due);
            let nobody = seen.each.is_empty() && !seen.remedy.is_empty();
            let what = if nobody { format!("{}; {}", seen.why, seen.remedy) } else { seen.why.clone() };
            Some(Step::Wait { what, until: asks.chain(seen.until).min(), reason: StopReason::WaitingReviewer })
        }
    }
}

fn readiness(at: &Situation<'_>) -> Option<Step> {
    match at.block {
        BlockState::Fine => {}
        BlockState::Broken(why) | BlockState::RemovedAgain(why) => {
            return Some(stop(
                StopReason::NeedsPerson,
                why.clone(),
                "mend the block in the description, then run again",
            ));
        }
    }
    if !at.run.until_ready {
        return None;
    }
    for clause in &at.gate?.clauses {
        if clause.ok == Some(true) {
            continue;
        }
        let reason = match clause.clause {
            ClauseName::Checks if clause.waiting => StopReason::WaitingCi,
            ClauseName::Checks => StopReason::ChecksRed,
            ClauseName::Spec => StopReason::TestsRed,
            ClauseName::Reviewers | ClauseName::Reviews if clause.waiting => StopReason::WaitingReviewer,
            ClauseName::Findings | ClauseName::Description | ClauseName::Threads => StopReason::NeedsPerson,
            ClauseName::Head | ClauseName::Pr | ClauseName::Reviewers | ClauseName::Reviews => StopReason::NotMergeable,
        };
        return Some(if clause.waiting {
            Step::Wait { what: clause.reason.clone(), until: at.reviewers.until, reason }
        } else {
            stop(reason, clause.reason.clone(), clause.remedy.clone())
        });
    }
    None
}

#[cfg(test)]
mod tests;
