//! The feedback loop: asks `next_step`, performs the step, records what happened, until a named stop.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;

use super::edit::{self, Ask, EditEnd};
use super::post::{self, Posted};
use super::push::{self, PushEnd};
use super::survey::{self, Survey};
use super::{EngineError, Ports, Setup, fresh_summary, recover, verify};
use crate::ports::{Depth, Event, Held, Loaded, LocalFacts, Woken, Worktree};
use crate::review::gate::{self, DescriptionReading, GateFacts, LocalHeads};
use crate::review::ids::Sha;
use crate::review::observation::{Observation, PrState};
use crate::review::reviewers::{Proofs, ReviewerFacts};
use crate::review::step::{BlockState, RunFacts, Situation, Step, next_step, tests_at, unpushed};
use crate::review::summary::{Entry, RoundOutcome, RoundRecord, StopReason, Summary, VerifyState};
use crate::review::verdict::Gate;
use crate::review::{description, outbox, rebuild};

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
}

struct Ending {
    reason: StopReason,
    why: String,
    remedy: String,
    person: bool,
    retry: Option<Timestamp>,
}

impl Ending {
    fn new(reason: StopReason, why: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { reason, why: why.into(), remedy: remedy.into(), person: false, retry: None }
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
    };
    run_observed(&mut run, obs)
}

fn run_observed(run: &mut Run<'_>, obs: Observation) -> Result<RunEnd, EngineError> {
    let (ports, setup) = (run.ports, run.setup);
    let mut summary = load(ports, setup, &run.held, &obs)?;
    // A verdict that was not reached is tried again by a new run.
    summary.verified.retain(|record| record.state != VerifyState::CouldNotRun);
    // What could not be posted may be possible now.
    outbox::revive(&mut summary);
    if run.request.more > 0 {
        summary.used.rounds = 0;
        summary.reset_at_round = summary.round;
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

/// Reads state; lost or unreadable state is rebuilt from the pull request (R13).
pub fn load(ports: &Ports<'_>, setup: &Setup<'_>, held: &Held, obs: &Observation) -> Result<Summary, EngineError> {
    let why = match ports.store.load(Some(held))? {
        Loaded::Known(summary) => return Ok(*summary),
        Loaded::Absent => None,
        Loaded::Bad { kept, why } => Some(format!("the state could not be read ({why}); it is kept as {kept}")),
    };
    if let Some(why) = why {
        ports.warn(format!("{why} and rebuilt from the pull request"));
    }
    rebuilt(ports, setup, obs)
}

/// Builds state from the pull request alone: what its comments and its description prove.
pub fn rebuilt(ports: &Ports<'_>, setup: &Setup<'_>, obs: &Observation) -> Result<Summary, EngineError> {
    let mut summary = fresh_summary(&setup.pr, obs);
    survey::digest(ports, setup, &mut summary, obs.clone(), Depth::Full)?;
    let notes = crate::review::trust::notes(obs, setup.rules, setup.policy);
    rebuild::rebuild(&mut summary, obs, &notes, setup.policy);
    super::reprove::reprove(ports, &mut summary, obs)?;
    Ok(summary)
}

/// R30: HEAD is the pull request's head, nothing staged, nothing modified; commits of ours that wait are no obstacle.
fn may_start(ports: &Ports<'_>, setup: &Setup<'_>, summary: &Summary, head: &Sha) -> Result<(), EngineError> {
    let facts = ports.tree.facts()?;
    clean(&facts, setup)?;
    let of = |outcomes: &[RoundOutcome]| {
        let here = |round: &&RoundRecord| round.head_after.as_ref() == Some(&facts.head);
        summary.rounds.iter().find(|round| here(round) && outcomes.contains(&round.outcome))
    };
    let pushed = of(&[RoundOutcome::Pushed]).is_some();
    if &facts.head == head || (pushed && ports.tree.is_ancestor(head, &facts.head)? == Some(true)) {
        return Ok(());
    }
    // Commits of ours that wait are replayed where somebody pushed meanwhile.
    if of(&[RoundOutcome::Committed, RoundOutcome::Red]).is_some()
        && let Some(first) = unpushed(summary).next()
        && ports.tree.fetch(head)?
        && ports.tree.is_ancestor(&first.head_before, head)? == Some(true)
    {
        return Ok(());
    }
    let there = ports.tree.fetch(head)?;
    let (ahead, behind) = if there {
        (ports.tree.is_ancestor(head, &facts.head)?, ports.tree.is_ancestor(&facts.head, head)?)
    } else {
        (None, None)
    };
    let (how, mend) = match (ahead, behind) {
        (Some(true), _) => ("ahead of", "push it first: `git push`"),
        (_, Some(true)) => ("behind", "pull it first: `git pull --ff-only`"),
        (Some(false), Some(false)) => {
            ("diverged from", "bring both together first: `git pull --rebase`, then `git push`")
        }
        _ => ("not", "fetch it first: `git fetch`"),
    };
    let why = format!("HEAD {} is {how} the pull request's head {}", facts.head.short(), head.short());
    Err(EngineError::usage(why, mend))
}

fn clean(facts: &LocalFacts, setup: &Setup<'_>) -> Result<(), EngineError> {
    if let Some(operation) = &facts.operation {
        return Err(EngineError::usage(format!("a {operation} is under way"), "finish or abort it first"));
    }
    match &facts.branch {
        None => {
            let mend = format!("check the branch out: `git switch {}`", setup.branch);
            return Err(EngineError::usage("HEAD is detached", mend));
        }
        Some(branch) if branch != &setup.branch => {
            let why = format!("HEAD is on `{branch}`, the pull request's branch is `{}`", setup.branch);
            return Err(EngineError::usage(why, format!("`git switch {}`", setup.branch)));
        }
        Some(_) => {}
    }
    if facts.staged {
        return Err(EngineError::usage("changes are staged", "commit or unstage them first"));
    }
    if let Some(first) = facts.modified.first() {
        let why = format!("{} tracked file(s) are modified, for example {first}", facts.modified.len());
        return Err(EngineError::usage(why, "commit them or `git stash` first"));
    }
    Ok(())
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
                summary.used.rounds = 0;
                summary.reset_at_round = summary.round;
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
            let step = self.decide(summary, survey, &local);
            tracing::debug!(?step, "next step");
            match self.perform(step, summary, survey, &local, &mut posted)? {
                Some(next) => return Ok(next),
                None => self.ports.store.save(&self.held, summary)?,
            }
        }
    }

    fn decide(&self, summary: &Summary, survey: &Survey, local: &Sha) -> Step {
        let run = RunFacts {
            elapsed: self.ports.clock.monotonic().saturating_sub(self.started).saturating_sub(self.waited),
            more: self.request.more,
            until_ready: self.request.until_ready,
            has_editor: self.ports.agent.is_some(),
        };
        let heads = LocalHeads { local: local.clone(), remote: local.clone() };
        let gate = self.request.until_ready.then(|| judge_gate(self.setup, summary, survey, Some(&heads)));
        next_step(&Situation {
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
        })
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
                verify::verify(self.ports, self.setup, summary, &survey.obs.pr.base_sha, local)?;
                Ok(None)
            }
            Step::Push(sha) => {
                let end = push::push(self.ports, &self.held, summary, &sha)?;
                self.pushed(summary, &sha, end)
            }
            Step::Replay => {
                let remote = Some(survey.obs.pr.head.clone());
                let end = push::moved(self.ports, &self.held, summary, local, remote)?;
                self.pushed(summary, local, end)
            }
            Step::Reject(why) => edit::reject(self.ports, summary, &why).map(|ending| {
                let (reason, why, remedy) = ending;
                Some(Next::End(Ending::new(reason, why, remedy)))
            }),
            Step::Edit { findings, tests } => {
                self.edit(summary, survey, &Ask { findings: &findings, tests, round: summary.round + 1, local })
            }
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
                Ok(Some(Next::End(Ending { reason, why, remedy, person, retry: None })))
            }
        }
    }

    fn posted(&mut self, key: &str, posted: Posted) -> Option<Next> {
        match posted {
            Posted::Tried => None,
            Posted::NotSent(why) => {
                let tries = self.not_sent.entry(key.to_owned()).or_insert(0);
                *tries += 1;
                let why = format!("the forge could not be written to: {why}");
                let ending = Ending::new(StopReason::CouldNotRead, why, "run again; what is owed is remembered");
                (*tries >= POST_TRIES).then_some(Next::End(ending))
            }
            Posted::Limited(until) => Some(Next::End(Ending {
                retry: Some(until),
                ..Ending::new(
                    StopReason::WaitingReviewer,
                    format!("the forge takes no posts until {until}"),
                    "run again then",
                )
            })),
            Posted::Forbidden(why) => {
                Some(Next::End(Ending::new(StopReason::Permission, why, "give the token that right, then run again")))
            }
        }
    }

    fn pushed(&mut self, summary: &mut Summary, sha: &Sha, end: PushEnd) -> Result<Option<Next>, EngineError> {
        Ok(match end {
            PushEnd::Done => {
                self.pushed = Some(sha.clone());
                self.pause = self.setup.poll_min;
                self.ports.store.save(&self.held, summary)?;
                Some(Next::Look(Depth::Full))
            }
            PushEnd::Again => None,
            PushEnd::Stop(reason, why) => {
                Some(Next::End(Ending::new(reason, why, "bring the branch up to date, then run again")))
            }
        })
    }

    fn edit(&self, summary: &mut Summary, survey: &Survey, ask: &Ask<'_>) -> Result<Option<Next>, EngineError> {
        Ok(match edit::edit(self.ports, self.setup, &self.held, summary, survey, ask)? {
            EditEnd::Go => None,
            EditEnd::Stop(reason, why, remedy) => Some(Next::End(Ending::new(reason, why, remedy))),
        })
    }

    fn wait(&mut self, what: &str, until: Option<Timestamp>, reason: StopReason) -> Result<Option<Next>, EngineError> {
        let left = self.request.wait.map(|all| all.saturating_sub(self.waited));
        if left.is_some_and(|left| left.is_zero()) {
            let remedy = "run again later, or let it wait with `--wait 30m`";
            return Ok(Some(Next::End(Ending { retry: until, ..Ending::new(reason, what, remedy) })));
        }
        self.blind = if until.is_none() { self.blind + 1 } else { 0 };
        if self.blind > BLIND_WAITS {
            return Ok(Some(Next::End(Ending::new(reason, what, "run again later"))));
        }
        self.ports.reporter.tell(Event::Waiting { what: what.to_owned(), until });
        let mut pause = self.pause.min(left.unwrap_or(Duration::MAX));
        if let Some(until) = until {
            let due = Duration::try_from(until.duration_since(self.ports.clock.now())).unwrap_or(self.setup.poll_min);
            pause = pause.min(due.max(Duration::from_millis(50)));
        }
        self.pause = (self.pause * 3 / 2).min(self.setup.poll_max);
        let woken = self.ports.clock.sleep(pause);
        self.waited += pause;
        self.ports.reporter.tell(Event::WaitOver);
        match woken {
            Woken::Elapsed => Ok(Some(Next::Look(Depth::Warm))),
            Woken::Interrupted => {
                Ok(Some(Next::End(Ending::new(StopReason::Interrupted, "stopped by a signal", "run again to go on"))))
            }
        }
    }

    fn end(&self, mut summary: Summary, survey: Option<Survey>, ending: Ending) -> Result<RunEnd, EngineError> {
        summary.stop_reason = Some(ending.reason);
        self.ports.store.save(&self.held, &summary)?;
        let exit = ending.reason.exit_code(ending.person);
        let retry_after_s = (exit == 12).then(|| {
            let due = ending.retry.map(|at| at.duration_since(self.ports.clock.now()).as_secs().max(1));
            due.and_then(|s| u64::try_from(s).ok()).unwrap_or_else(|| self.setup.poll_max.as_secs().max(1))
        });
        Ok(RunEnd {
            reason: ending.reason,
            why: ending.why,
            remedy: ending.remedy,
            exit,
            retry_after_s,
            summary,
            survey,
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

/// Heads as this clone and its remote know them.
pub fn heads(tree: &dyn Worktree, head: &Sha) -> Result<LocalHeads, EngineError> {
    let local = tree.facts()?.head;
    let remote = tree.remote_head()?.unwrap_or_else(|| head.clone());
    Ok(LocalHeads { local, remote })
}

/// Judges the gate on what one look found; a bare reaction is proof only where the settings say so.
pub fn judge_gate(setup: &Setup<'_>, summary: &Summary, survey: &Survey, local: Option<&LocalHeads>) -> Gate {
    let reviewers = survey::judge_reviewers(setup, summary, &survey.obs, &survey.notes, Proofs::Gate);
    let block = description::read(&survey.obs.pr.body);
    let missing = description::missing(summary, &block);
    let required = description::required(summary);
    let description = DescriptionReading {
        reasons: required.iter().map(|(id, _)| (id.to_string(), Some(!missing.contains(id)))).collect(),
        problem: match &survey.block {
            BlockState::Fine => None,
            BlockState::Broken(why) | BlockState::RemovedAgain(why) => Some(why.clone()),
        },
    };
    let facts = ReviewerFacts::gather(&survey.obs, &survey.notes, summary, setup.rules, setup.policy);
    let reviewer_checks = facts.check_names();
    gate::judge(&GateFacts {
        obs: &survey.obs,
        notes: &survey.notes,
        summary,
        reviewers: &reviewers,
        local,
        description: &description,
        verified: tests_at(summary, &survey.obs.pr.head),
        head_same: true,
        reviewer_checks: &reviewer_checks,
        policy: setup.policy,
    })
}

/// Runs the verifier on the head for `gate --verify` and records the result in the summary.
pub fn verify_head(
    ports: &Ports<'_>,
    setup: &Setup<'_>,
    summary: &mut Summary,
    survey: &Survey,
) -> Result<(), EngineError> {
    verify::verify(ports, setup, summary, &survey.obs.pr.base_sha, &survey.obs.pr.head)
}

/// Gathers what is shown with one finding.
pub fn around(tree: &dyn Worktree, survey: &Survey, entry: &Entry) -> Result<super::Around, EngineError> {
    super::briefing::around(tree, survey, entry, &survey.obs.pr.head)
}

/// Plans what would be posted now.
pub fn plan(setup: &Setup<'_>, summary: &mut Summary, survey: &Survey) {
    outbox::plan(summary, &survey.obs, &survey.notes, setup.policy);
}

/// Says what a run would do next, for a dry run.
pub fn would_do(setup: &Setup<'_>, summary: &Summary, survey: &Survey, local: &Sha) -> String {
    let run = RunFacts { elapsed: Duration::ZERO, more: 0, until_ready: false, has_editor: true };
    let step = next_step(&Situation {
        summary,
        pr_state: survey.obs.pr.state,
        head: &survey.obs.pr.head,
        local,
        account_known: survey.obs.account.is_some(),
        reviewers: &survey.reviewers,
        gate: None,
        block: &survey.block,
        policy: setup.policy,
        run: &run,
        now: survey.obs.at,
    });
    match step {
        Step::Verify => "run the spec tests".to_owned(),
        Step::Push(sha) => format!("push {}", sha.short()),
        Step::Replay => "replay our commits on the new head".to_owned(),
        Step::Reject(why) => format!("put our commits aside: {why}"),
        Step::Post(_) => "post what is planned above".to_owned(),
        Step::Edit { findings, tests } => {
            let ids: Vec<String> = findings.iter().map(ToString::to_string).collect();
            format!("start the editor with {}{}", ids.join(", "), if tests { " and red spec tests" } else { "" })
        }
        Step::GiveToPerson(ids) => {
            let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
            format!("hand {} to a person", ids.join(", "))
        }
        Step::Ask(nudge) => format!("ask {} to look again", nudge.name),
        Step::Wait { what, .. } => format!("wait: {what}"),
        Step::Stop { reason, why, .. } => format!("stop, {}: {why}", reason.as_str()),
    }
}
