//! Tests at a commit: run, repeated when red, asked of the merge base when still red (R9).

use std::collections::BTreeSet;

use super::{EngineError, Ports, Setup};
use crate::ports::VerifyReport;
use crate::review::ids::{RepoPath, Sha};
use crate::review::marker;
use crate::review::step::tests_at;
use crate::review::summary::{RoundOutcome, Summary, Verified, VerifyState, WriteKind};

/// Verified commits that are remembered.
const REMEMBERED: usize = 12;

/// Names the commands that are configured.
fn commands(setup: &Setup<'_>) -> String {
    marker::key(WriteKind::Review, "verify", &setup.verify_commands.join("\0"))
}

/// Forgets what other commands found than those that are configured now: it says nothing of what has to pass.
pub(super) fn forget_others(setup: &Setup<'_>, summary: &mut Summary) {
    let commands = commands(setup);
    summary.verified.retain(|record| record.commands == commands);
}

/// Runs the verifier on the worktree's HEAD and records the result. `left` holds the tracked files that the tests of this
/// run have changed; any other change in the tree would let the tests speak of something that nobody has committed.
pub(super) fn verify(
    ports: &Ports<'_>,
    setup: &Setup<'_>,
    summary: &mut Summary,
    (base, head): (&Sha, &Sha),
    left: &mut BTreeSet<RepoPath>,
) -> Result<(), EngineError> {
    let facts = ports.tree.facts()?;
    if let Some(path) = facts.modified.iter().find(|path| !left.contains(path)) {
        let why = format!("the worktree differs from {}: {path} was changed and is not committed", head.short());
        let report = VerifyReport {
            state: VerifyState::CouldNotRun,
            why,
            log: String::new(),
            tests: None,
            skipped: None,
            absent: false,
        };
        ports.say(words(&report, false, None));
        record(setup, summary, head, report, (false, None));
        return Ok(());
    }
    ports.say(format!("running the spec tests on {}", head.short()));
    let mut report = ports.verifier.verify(None, ports.reporter);
    let mut flaky = false;
    for _ in 0..setup.retries {
        if report.state != VerifyState::Red || ports.clock.interrupted() {
            break;
        }
        ports.say("red; repeating once without a change");
        report = ports.verifier.verify(None, ports.reporter);
        flaky = report.state == VerifyState::Green;
    }
    if ports.clock.interrupted() {
        return Ok(());
    }
    left.extend(ports.tree.facts()?.modified);
    let on_base = match report.state {
        VerifyState::Red if setup.policy.base_check => base_state(ports, summary, base, head)?,
        VerifyState::Red | VerifyState::Green | VerifyState::CouldNotRun => None,
    };
    ports.say(words(&report, flaky, on_base));
    record(setup, summary, head, report, (flaky, on_base));
    Ok(())
}

fn words(report: &VerifyReport, flaky: bool, on_base: Option<VerifyState>) -> String {
    match report.state {
        VerifyState::Green if flaky => "spec tests: green on a repeat (flaky)".to_owned(),
        VerifyState::Green => "spec tests: green".to_owned(),
        VerifyState::Red if on_base == Some(VerifyState::Red) => {
            format!("spec tests: red ({}), and red on the base too", report.why)
        }
        VerifyState::Red => format!("spec tests: red ({})", report.why),
        VerifyState::CouldNotRun => format!("spec tests: could not be run ({})", report.why),
    }
}

fn base_state(
    ports: &Ports<'_>,
    summary: &Summary,
    base: &Sha,
    head: &Sha,
) -> Result<Option<VerifyState>, EngineError> {
    ports.tree.fetch(base)?;
    let Some(merge_base) = ports.tree.merge_base(base, head)? else { return Ok(None) };
    if &merge_base == head {
        return Ok(None);
    }
    if let Some(known) = tests_at(summary, &merge_base) {
        return Ok(Some(known.state));
    }
    ports.say(format!("red; looking whether it is red on the merge base {} too", merge_base.short()));
    let dir = ports.tree.aside(&merge_base)?;
    let report = ports.verifier.verify(Some(&dir), ports.reporter);
    ports.tree.drop_aside(&dir)?;
    Ok(Some(report.state))
}

fn record(
    setup: &Setup<'_>,
    summary: &mut Summary,
    head: &Sha,
    report: VerifyReport,
    (flaky, on_base): (bool, Option<VerifyState>),
) {
    summary.verified.retain(|known| &known.head != head);
    if summary.verified.len() >= REMEMBERED {
        summary.verified.remove(0);
    }
    let round = summary.rounds.iter_mut().rev().find(|round| round.head_after.as_ref() == Some(head));
    if let Some(round) = round {
        round.verify = Some(report.state);
        if report.state == VerifyState::Red && round.outcome == RoundOutcome::Committed {
            round.outcome = RoundOutcome::Red;
        }
    }
    summary.verified.push(Verified {
        head: head.clone(),
        state: report.state,
        why: report.why,
        flaky,
        on_base,
        log: report.log,
        tests: report.tests,
        skipped: report.skipped,
        commands: commands(setup),
        absent: report.absent,
    });
}
