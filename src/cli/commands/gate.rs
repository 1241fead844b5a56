//! `gate`: may the pull request be merged? Says ready on positive proof only.

use std::time::Duration;

use super::view;
use crate::cli::args::GateArgs;
use crate::cli::failure::Failure;
use crate::cli::look::Desk;
use crate::cli::{Context, look, output};
use crate::engine::survey::Survey;
use crate::engine::{Ports, rounds};
use crate::ports::{Event, Reporter, Woken, Worktree};
use crate::report::table;
use crate::review::gate;
use crate::review::summary::Summary;
use crate::review::verdict::{ClauseName, Gate, Verdict};

pub(super) fn run(cx: &Context, args: &GateArgs) -> Result<u8, Failure> {
    let started = cx.clock.monotonic();
    let mut pause = None;
    loop {
        let desk = look::desk(cx, "gate")?;
        let (mut summary, survey) = look::look(cx, &desk)?;
        if args.verify {
            verify(cx, &desk, &mut summary, &survey)?;
        }
        let verdict = warned(&desk, &survey, judge(&desk, &summary, &survey)?);
        let exit = gate::exit_code(&verdict, &summary);
        let left = args.wait.unwrap_or_default().saturating_sub(cx.clock.monotonic().saturating_sub(started));
        if verdict.verdict != Verdict::Waiting || left.is_zero() {
            print(cx, &desk, &summary, &survey, verdict, exit);
            return Ok(exit);
        }
        let next: Duration =
            pause.map_or(desk.settings.poll_min, |last: Duration| (last * 3 / 2).min(desk.settings.poll_max));
        pause = Some(next);
        let what = verdict
            .clauses
            .iter()
            .find(|clause| clause.waiting)
            .map(|clause| clause.reason.clone())
            .unwrap_or_default();
        cx.printer.tell(Event::Waiting { what, until: survey.reviewers.until });
        if cx.clock.sleep(next.min(left)) == Woken::Interrupted {
            print(cx, &desk, &summary, &survey, verdict, exit);
            return Ok(exit);
        }
        cx.printer.tell(Event::WaitOver);
    }
}

/// A verdict that lets merge says what merging would do to others.
fn warned(desk: &Desk, survey: &Survey, mut verdict: Gate) -> Gate {
    if verdict.verdict == Verdict::Ready
        && let Some(words) = rounds::stacked(&desk.forge, &survey.obs.pr)
        && let Some(clause) = verdict.clauses.iter_mut().find(|clause| clause.clause == ClauseName::Pr)
    {
        clause.reason = if clause.reason.is_empty() { words } else { format!("{}; {words}", clause.reason) };
    }
    verdict
}

fn judge(desk: &Desk, summary: &Summary, survey: &Survey) -> Result<Gate, Failure> {
    let setup = desk.setup(None);
    let head = rounds::heads(&desk.place.tree, &survey.obs.pr.head)?;
    Ok(rounds::judge_gate(&setup, summary, survey, Some(&head)))
}

/// Runs the verify commands for this head, without any token, when there is no record of it.
fn verify(cx: &Context, desk: &Desk, summary: &mut Summary, survey: &Survey) -> Result<(), Failure> {
    let head = survey.obs.pr.head.clone();
    let local = desk.place.tree.facts()?;
    let known = crate::review::step::tests_at(summary, &head).is_some();
    if known || !desk.settings.policy.has_verify {
        return Ok(());
    }
    if local.head != head || local.staged || !local.modified.is_empty() {
        return Err(Failure::usage(
            "the worktree is not the pull request's head",
            "check that head out without changes, then `gate --verify`",
        ));
    }
    let verifier = desk.verifier(cx)?;
    let ports = Ports {
        forge: &desk.forge,
        tree: &desk.place.tree,
        agent: None,
        verifier: &verifier,
        store: &desk.store,
        clock: &*cx.clock,
        reporter: &cx.printer,
    };
    rounds::verify_head(&ports, &desk.setup(None), summary, survey)?;
    Ok(())
}

fn print(cx: &Context, desk: &Desk, summary: &Summary, survey: &Survey, verdict: Gate, exit: u8) {
    if cx.global.json {
        let mut answer = view::envelope("gate", exit, summary, view::status(desk, summary, survey, Some(verdict)));
        answer.retry_after_s = (exit == 12).then(|| desk.settings.poll_max.as_secs().max(1));
        output::json(&answer);
    } else {
        output::shown(&table::gate(&verdict, output::width()));
    }
}
