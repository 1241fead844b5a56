//! The feedback loop: asks `next_step`, performs the step, records what happened, until a named stop.

mod after;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;

use super::edit::{self, Ask, EditEnd};
use super::post;
use super::push;
use super::start::may_start;
use super::survey::{self, Survey};
use super::{EngineError, Ports, Setup, followup, recover, verify};

pub use super::ask::{around, heads, judge_gate, plan, relation, stacked, unposted, verify_head, would_do};
pub use super::start::{first, load, rebuilt};

use crate::ports::{Depth, Event, Held};
use crate::review::followup as followup_plans;
use crate::review::ids::{FindingId, RepoPath, Sha};
use crate::review::observation::{Observation, PrState};
use crate::review::outbox;
use crate::review::step::{RunFacts, Situation, Step, next_step};
use crate::review::summary::{Entry, RoundOutcome, StopReason, Summary, Verified, VerifyState};

/// Looks after our push at which the forge may still show the former head.
const LAG_LOOKS: u32 = 8;
/// Waits in a row for something that has no known end.
const BLIND_WAITS: u32 = 30;
/// Times that a run goes on to post what its last steps made owed.
const LAST_POSTS: u32 = 4;
/// Tries of one post that surely did not leave, in one run.
const POST_TRIES: u32 = 3;

/// What a run was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunRequest {
    /// Rounds beyond the limit.
    pub more: u32,
    /// Whether CI and merging are looked at too.
    pub until_ready: bool,
    /// How long the run may wait for others, all waits together; `None` means as long as it takes.
    pub wait: Option<Duration>,
}

/// How a run ended.
#[derive(Debug, Clone)]
pub struct RunEnd {
    /// Named reason.
    pub reason: StopReason,
    /// In one sentence.
    pub why: String,
    /// What a person can do.
    pub remedy: String,
    /// Exit code.
    pub exit: u8,
    /// When to come back, in seconds, where time alone helps.
    pub retry_after_s: Option<u64>,
    /// State at the end.
    pub summary: Summary,
    /// The last look; `None` when the run ended before one.
    pub survey: Option<Survey>,
}

struct Run<'a> {
    ports: &'a Ports<'a>,
    setup: &'a Setup<'a>,
    request: RunRequest,
    held: Held,
    started: Duration,
    waited: Duration,
    pause: Duration,
    pushed: Option<Sha>,
    blind: u32,
    not_sent: BTreeMap<String, u32>,
    last_posts: u32,
    /// Tracked files that the tests have changed.
    left: BTreeSet<RepoPath>,
    /// Findings the editor may be started on; `None` means all.
    only: Option<Vec<FindingId>>,
    /// Why the editor is not started again.
    stopped: Option<Ending>,
}

#[derive(Clone)]
struct Ending {
    reason: StopReason,
    why: String,
    remedy: String,
    person: bool,
    retry: Option<Timestamp>,
    /// The editor is not started again before the run ends: what is owed is posted, no more.
    at_once: bool,
}

impl Ending {
    fn new(reason: StopReason, why: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { reason, why: why.into(), remedy: remedy.into(), person: false, retry: None, at_once: false }
    }

    /// An ending of the editor's run.
    fn of_editor(reason: StopReason, why: String, remedy: impl Into<String>) -> Self {
        Self { at_once: reason == StopReason::NoProgress, ..Self::new(reason, why, remedy) }
    }
}

/// Runs the loop until a named stop.
pub fn run(ports: &Ports<'_>, setup: &Setup<'_>, request: RunRequest) -> Result<RunEnd, EngineError> {
    let held = ports.store.lock()?;
    let obs = ports.forge.observe(Depth::Full)?;
    run_with(ports, setup, request, held, obs)
}

/// Runs the loop from a complete reading that was made just now, with the lock already held.
pub fn run_with(
    ports: &Ports<'_>,
    setup: &Setup<'_>,
    request: RunRequest,
    held: Held,
    obs: Observation,
) -> Result<RunEnd, EngineError> {
    run_on(ports, setup, request, held, obs, None)
}

/// Runs the loop with the editor on these findings only: what a person chose at the keyboard.
pub fn run_on(
    ports: &Ports<'_>,
    setup: &Setup<'_>,
    request: RunRequest,
    held: Held,
    obs: Observation,
    only: Option<Vec<FindingId>>,
) -> Result<RunEnd, EngineError> {
    let mut run = Run {
        ports,
        setup,
        request,
        held,
        started: ports.clock.monotonic(),
        waited: Duration::ZERO,
        pause: setup.poll_min,
        pushed: None,
        blind: 0,
        not_sent: BTreeMap::new(),
        last_posts: LAST_POSTS,
        left: BTreeSet::new(),
        only,
        stopped: None,
    };
    run_observed(&mut run, obs)
}

fn run_observed(run: &mut Run<'_>, obs: Observation) -> Result<RunEnd, EngineError> {
    let (ports, setup) = (run.ports, run.setup);
    let mut summary = load(ports, setup, &run.held, &obs)?;
    // A verdict that was not reached is tried again by a new run, and so is a red one: what it wanted may be there now.
    let head = ports.tree.facts()?.head;
    let again = |record: &Verified| match record.state {
        VerifyState::Green => false,
        VerifyState::Red => record.head == head,
        VerifyState::CouldNotRun => true,
    };
    summary.verified.retain(|record| !again(record));
    // What could not be posted may be possible now.
    outbox::revive(&mut summary);
    followup_plans::revive(&mut summary);
    if run.request.more > 0 {
        summary.restart_rounds();
    }
    summary.pr.head = obs.pr.head.clone();
    let facts = ports.tree.facts()?;
    if recover::recover(ports, &mut summary, &facts, &obs.pr.head)? {
        ports.store.save(&run.held, &summary)?;
    }
    if obs.pr.state == PrState::Open {
        may_start(ports, setup, &summary, &obs.pr.head)?;
    }
    run.pushed = pushed_last(&summary);
    match run.digest(&mut summary, obs, Depth::Full)? {
        Some(first) => run.drive(summary, first),
        None => match run.look(&mut summary, Depth::Full)? {
            Seen::Head(first) => run.drive(summary, *first),
            Seen::Former(ending) => run.end(summary, None, ending),
        },
    }
}

fn pushed_last(summary: &Summary) -> Option<Sha> {
    let pushed = summary.rounds.iter().rev().find(|round| round.outcome == RoundOutcome::Pushed);
    pushed.and_then(|round| round.head_after.clone())
}

impl Run<'_> {
    fn drive(&mut self, mut summary: Summary, first: Survey) -> Result<RunEnd, EngineError> {
        let mut survey = first;
        loop {
            self.plan(&mut summary, &survey)?;
            self.told(&summary, &survey);
            let depth = match self.steps(&mut summary, &survey)? {
                Next::Look(depth) => depth,
                Next::End(ending) if ending.reason == StopReason::Settled && survey.depth == Depth::Warm => {
                    // A good verdict rests on a complete reading only.
                    Depth::Full
                }
                // The description mirrors the counters: it is brought up to date before the run ends.
                Next::End(ending) if self.owes_more(&mut summary, &survey, &ending)? => continue,
                Next::End(ending) => return self.end(summary, Some(survey), ending),
            };
            match self.look(&mut summary, depth)? {
                Seen::Head(seen) => survey = *seen,
                Seen::Former(ending) => return self.end(summary, Some(survey), ending),
            }
        }
    }

    /// Plans what the last steps made owed; tells whether it is to be posted before the run ends.
    fn owes_more(&mut self, summary: &mut Summary, survey: &Survey, ending: &Ending) -> Result<bool, EngineError> {
        match ending.reason {
            StopReason::Merged
            | StopReason::Closed
            | StopReason::Permission
            | StopReason::CouldNotRead
            | StopReason::Interrupted => return Ok(false),
            // These follow from what just happened, not from the state: going on would start the next round.
            StopReason::RejectedRound
            | StopReason::PushRefused
            | StopReason::HeadMoved
            | StopReason::EditorUnavailable => return Ok(false),
            // Success starts the count of rounds anew.
            StopReason::Settled => {
                summary.restart_rounds();
            }
            StopReason::WaitingReviewer
            | StopReason::WaitingCi
            | StopReason::ChecksRed
            | StopReason::NotMergeable
            | StopReason::TestsRed
            | StopReason::NoProgress
            | StopReason::RepeatingRegion
            | StopReason::Contested
            | StopReason::Budget
            | StopReason::NeedsPerson => {}
        }
        if ending.retry.is_some() || self.last_posts == 0 {
            return Ok(false);
        }
        self.last_posts -= 1;
        if ending.at_once {
            self.stopped = Some(ending.clone());
        }
        self.plan(summary, survey)?;
        Ok(outbox::next(summary).is_some())
    }

    fn plan(&self, summary: &mut Summary, survey: &Survey) -> Result<(), EngineError> {
        outbox::plan(summary, &survey.obs, &survey.notes, self.setup.policy);
        self.ports.store.save(&self.held, summary)?;
        Ok(())
    }

    fn told(&self, summary: &Summary, survey: &Survey) {
        let open: Vec<&Entry> = summary.open_blocking().collect();
        let p1 = open.iter().filter(|entry| entry.finding.severity == crate::review::severity::Severity::P1).count();
        let head = survey.obs.pr.head.clone();
        self.ports.reporter.tell(Event::Observed { head, p1, p2: open.len() - p1 });
    }

    /// Looks; a forge that still shows the head from before our push is asked again.
    fn look(&mut self, summary: &mut Summary, depth: Depth) -> Result<Seen, EngineError> {
        for _ in 0..LAG_LOOKS {
            let obs = self.ports.forge.observe(depth)?;
            if let Some(seen) = self.digest(summary, obs, depth)? {
                return Ok(Seen::Head(Box::new(seen)));
            }
            let what = "the forge to show the pushed head";
            if let Some(Next::End(ending)) = self.wait(what, None, StopReason::WaitingReviewer)? {
                return Ok(Seen::Former(ending));
            }
        }
        let why = "the forge does not show the pushed head";
        Ok(Seen::Former(Ending::new(StopReason::WaitingReviewer, why, "run again later")))
    }

    /// Absorbs a reading; nothing is concluded from one that lags behind our own push.
    fn digest(&self, summary: &mut Summary, obs: Observation, depth: Depth) -> Result<Option<Survey>, EngineError> {
        let tree = self.ports.tree;
        if let Some(pushed) = self.pushed.as_ref().filter(|pushed| **pushed != obs.pr.head)
            && obs.pr.state == PrState::Open
            && tree.is_ancestor(&obs.pr.head, pushed)? == Some(true)
            && tree.remote_head()?.as_ref() == Some(pushed)
        {
            return Ok(None);
        }
        survey::digest(self.ports, self.setup, summary, obs, depth).map(Some)
    }

    /// Performs steps that need no new look; returns what comes after them.
    fn steps(&mut self, summary: &mut Summary, survey: &Survey) -> Result<Next, EngineError> {
        let mut posted = false;
        loop {
            if self.ports.clock.interrupted() {
                return Ok(Next::End(Ending::new(
                    StopReason::Interrupted,
                    "stopped by a signal",
                    "run again to go on",
                )));
            }
            let local = self.ports.tree.facts()?.head;
            let step =
                super::ask::narrowed(self.only.as_deref(), self.decide(summary, survey, &local)?, summary, &local);
            tracing::debug!(?step, "next step");
            if let (Step::Edit { .. } | Step::Plan, Some(ending)) = (&step, &self.stopped) {
                return Ok(Next::End(ending.clone()));
            }
            match self.perform(step, summary, survey, &local, &mut posted)? {
                Some(next) => return Ok(next),
                None => self.ports.store.save(&self.held, summary)?,
            }
        }
    }

    fn decide(&self, summary: &Summary, survey: &Survey, local: &Sha) -> Result<Step, EngineError> {
        let run = RunFacts {
            elapsed: self.ports.clock.monotonic().saturating_sub(self.started).saturating_sub(self.waited),
            more: self.request.more,
            until_ready: self.request.until_ready,
            has_editor: self.ports.agent.is_some(),
        };
        let gate = match self.request.until_ready {
            true => {
                let ours = self.pushed.as_ref().filter(|pushed| *pushed == local);
                Some(super::ask::judge_ready(self.ports.tree, self.setup, (summary, survey), local, ours)?)
            }
            false => None,
        };
        Ok(next_step(&Situation {
            summary,
            pr_state: survey.obs.pr.state,
            head: &survey.obs.pr.head,
            local,
            account_known: survey.obs.account.is_some(),
            reviewers: &survey.reviewers,
            gate: gate.as_ref(),
            block: &survey.block,
            policy: self.setup.policy,
            run: &run,
            now: survey.obs.at,
        }))
    }

    fn perform(
        &mut self,
        step: Step,
        summary: &mut Summary,
        survey: &Survey,
        local: &Sha,
        posted: &mut bool,
    ) -> Result<Option<Next>, EngineError> {
        let looks_first = *posted && !matches!(step, Step::Post(_));
        if looks_first {
            // What was posted is read back before anything is built on it.
            return Ok(Some(Next::Look(Depth::Full)));
        }
        // No work is begun whose answers could not be posted.
        if matches!(step, Step::Edit { .. } | Step::Plan)
            && let Some((why, remedy)) = survey.obs.barred(self.setup.policy)
        {
            return Ok(Some(Next::End(Ending::new(StopReason::Permission, why, remedy))));
        }
        match step {
            Step::Post(key) => {
                let unclear = summary
                    .outbox
                    .iter()
                    .any(|item| item.key == key && item.state == crate::review::summary::WriteState::Sent);
                if unclear && *posted {
                    return Ok(Some(Next::Look(Depth::Full)));
                }
                *posted = true;
                let done = post::post(self.ports, &self.held, summary, &key)?;
                Ok(self.posted(&key, done))
            }
            Step::Verify => {
                let commits = (&survey.obs.pr.base_sha, local);
                verify::verify(self.ports, self.setup, summary, commits, &mut self.left)?;
                Ok(None)
            }
            // Nothing goes to the branch of a pull request that has ended meanwhile; what cannot be read stops nothing.
            Step::Push(_) if self.ports.forge.ended().unwrap_or(false) => Ok(Some(Next::Look(Depth::Full))),
            Step::Push(sha) => {
                let end = push::push(self.ports, &self.held, summary, &sha)?;
                self.pushed(summary, &sha, end)
            }
            Step::Replay => {
                let remote = Some(survey.obs.pr.head.clone());
                let end = push::moved(self.ports, &self.held, summary, local, remote)?;
                self.pushed(summary, local, end)
            }
            Step::Reject(why) => recover::reject(self.ports, summary, &why).map(|ending| {
                let (reason, why, remedy) = ending;
                Some(Next::End(Ending::new(reason, why, remedy)))
            }),
            Step::Edit { findings, tests } => {
                self.edit(summary, survey, &Ask { findings: &findings, tests, round: summary.round + 1, local })
            }
            Step::Plan => Ok(match followup::round(self.ports, self.setup, &self.held, summary, local)? {
                EditEnd::Go => None,
                EditEnd::Look => Some(Next::Look(Depth::Full)),
                EditEnd::Stop(reason, why, remedy) => Some(Next::End(Ending::of_editor(reason, why, remedy))),
            }),
            Step::GiveToPerson(ids) => {
                for id in ids {
                    if let Some(entry) = summary.comments.get_mut(&id) {
                        entry.finding.needs_person = true;
                        entry.finding.why = format!("{} attempts did not settle it", entry.finding.attempts);
                    }
                }
                Ok(None)
            }
            Step::Ask(nudge) => {
                if !outbox::plan_request(summary, &nudge, &survey.obs.pr.head) {
                    // The request is under way: what it brings shows in the next look.
                    return Ok(Some(Next::Look(Depth::Full)));
                }
                Ok(None)
            }
            Step::Wait { what, until, reason } => self.wait(&what, until, reason),
            Step::Stop { reason, why, remedy, person } => {
                Ok(Some(Next::End(Ending { reason, why, remedy, person, retry: None, at_once: false })))
            }
        }
    }

    fn edit(&self, summary: &mut Summary, survey: &Survey, ask: &Ask<'_>) -> Result<Option<Next>, EngineError> {
        Ok(match edit::edit(self.ports, self.setup, &self.held, summary, survey, ask)? {
            EditEnd::Go => None,
            EditEnd::Look => Some(Next::Look(Depth::Full)),
            EditEnd::Stop(reason, why, remedy) => Some(Next::End(Ending::of_editor(reason, why, remedy))),
        })
    }
}

enum Next {
    Look(Depth),
    End(Ending),
}

enum Seen {
    Head(Box<Survey>),
    Former(Ending),
}
