//! `gate`: may the pull request be merged? Says ready on positive proof only, and publishes the verdict where asked.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::{publish, view};
use crate::cli::args::GateArgs;
use crate::cli::failure::Failure;
use crate::cli::look::Desk;
use crate::cli::{Context, look, output};
use crate::engine::rounds;
use crate::engine::survey::Survey;
use crate::ports::{Event, Loaded, Reporter, Store as _, Woken, Worktree};
use crate::report::json::{GateView, PublishedView};
use crate::report::table;
use crate::review::gate;
use crate::review::summary::{Summary, VerifyState};
use crate::review::verdict::{Gate, Verdict};

/// One look and what it came to.
struct Look {
    desk: Desk,
    summary: Summary,
    survey: Survey,
    verdict: Gate,
    /// When the reading began, by the forge's clock.
    judged: Timestamp,
    exit: u8,
    notes: Vec<String>,
}

pub(super) fn run(cx: &Context, args: &GateArgs) -> Result<u8, Failure> {
    let started = cx.clock.monotonic();
    let left =
        |cx: &Context| args.wait.unwrap_or_default().saturating_sub(cx.clock.monotonic().saturating_sub(started));
    let mut pause: Option<Duration> = None;
    let mut published = publish::Board::new(args)?;
    loop {
        let look = look(cx, args)?;
        let again = published.take(cx, &look.desk, &look.verdict, look.judged)?;
        let over = look.verdict.verdict != Verdict::Waiting || left(cx).is_zero();
        if over && again.is_none() {
            return Ok(told(cx, look, published.view()));
        }
        let next: Duration = match (again, pause) {
            (Some(soon), _) => soon,
            (None, None) => look.desk.settings.poll_min.min(left(cx)),
            (None, Some(last)) => (last * 3 / 2).min(look.desk.settings.poll_max).min(left(cx)),
        };
        if again.is_none() {
            pause = Some(next);
            let waiting = look.verdict.clauses.iter().filter(|clause| clause.waiting && clause.ok != Some(true));
            let what: Vec<String> =
                waiting.map(|clause| format!("{}: {}", clause.clause.as_str(), clause.reason)).collect();
            cx.printer.tell(Event::Waiting { what: what.join("; "), until: look.survey.reviewers.until });
        }
        if cx.clock.sleep(next) == Woken::Interrupted {
            return Ok(told(cx, look, published.view()));
        }
        cx.printer.tell(Event::WaitOver);
    }
}

fn look(cx: &Context, args: &GateArgs) -> Result<Look, Failure> {
    let began = cx.clock.monotonic();
    let desk = look::desk(cx, "gate")?;
    let took = cx.clock.monotonic().saturating_sub(began);
    // The forge's clock at the end less the whole reading: at or before its beginning.
    let took = SignedDuration::try_from(took).unwrap_or(SignedDuration::MAX);
    let judged = desk.obs.at.checked_sub(took).unwrap_or(desk.obs.at);
    let (mut summary, survey) = look::look(cx, &desk)?;
    // A dry run starts no verifier (R26).
    if args.verify && !cx.global.dry_run {
        verify(cx, &desk, &mut summary, &survey)?;
    }
    let heads = desk.heads(&survey.obs.pr.head)?;
    let verdict = rounds::judge_gate(&desk.setup(None), &summary, &survey, heads.as_ref());
    let exit = gate::exit_code(&verdict, &summary);
    // A verdict that lets merge says what merging would do to others.
    let ready = verdict.verdict == Verdict::Ready;
    let stacked = ready.then(|| rounds::stacked(&desk.forge, &survey.obs.pr)).flatten();
    let mut notes: Vec<String> = stacked.into_iter().collect();
    notes.extend(view::unposted(&desk, &summary, &survey));
    Ok(Look { desk, summary, survey, verdict, judged, exit, notes })
}

/// Runs the verify commands for this head, without any token, unless they are known to succeed there.
fn verify(cx: &Context, desk: &Desk, summary: &mut Summary, survey: &Survey) -> Result<(), Failure> {
    let head = survey.obs.pr.head.clone();
    let local = desk.place.tree.facts()?;
    let known = crate::review::step::tests_at(summary, &head);
    if known.is_some_and(|record| record.state == VerifyState::Green) || !desk.settings.policy.has_verify {
        return Ok(());
    }
    if local.head != head || local.staged || !local.modified.is_empty() {
        return Err(Failure::usage(
            "the worktree is not the pull request's head",
            "check that head out without changes, then `gate --verify`",
        ));
    }
    let verifier = desk.verifier(cx)?;
    let ports = desk.ports(cx, None, &verifier);
    let before = summary.clone();
    rounds::verify_head(&ports, &desk.setup(None), summary, survey)?;
    // Kept for the next look where the lock is free and nothing came between.
    if !cx.global.dry_run
        && let Ok(held) = desk.store.lock()
        && desk.store.load(Some(&held))? == Loaded::Known(Box::new(before))
    {
        desk.store.save(&held, summary)?;
    }
    Ok(())
}

/// Prints the answer and returns the exit code.
fn told(cx: &Context, look: Look, published: Option<PublishedView>) -> u8 {
    cx.printer.rest();
    let Look { desk, summary, survey, verdict, exit, notes, .. } = look;
    let exit = cx.exit(exit);
    // Another verdict stands at the forge: what is said here is not what is there.
    let overtaken = published.as_ref().is_some_and(|it| !it.written && !it.why.is_empty() && !cx.global.dry_run);
    let exit = if overtaken && exit == 0 { 12 } else { exit };
    if cx.global.json {
        let mut status = view::status(&desk, &summary, &survey, Some(verdict));
        status.notes.extend(notes);
        let mut answer = view::envelope(
            "gate",
            (exit, view::next_after("gate", &desk, exit, &summary)),
            &summary,
            GateView { status, published },
        );
        answer.retry_after_s = (exit == 12).then(|| desk.settings.poll_max.as_secs().max(1));
        output::json(&answer);
        return exit;
    }
    let mut text = table::gate(&verdict, output::width());
    for note in view::notes(&desk, &survey).iter().chain(&notes) {
        text.push_str(&format!("note: {note}\n"));
    }
    if let Some(it) = published {
        let how = match (cx.global.dry_run, it.written) {
            (true, _) => "would publish",
            (false, true) => "published",
            (false, false) => "not published",
        };
        let why = if it.why.is_empty() { String::new() } else { format!(" ({})", it.why) };
        text.push_str(&format!("{how}: {} {} on {}: {}{why}\n", it.context, it.state, it.sha, it.description));
    }
    let next = view::next_after("gate", &desk, exit, &summary);
    if !next.is_empty() {
        text.push_str(&format!("next: {next}\n"));
    }
    output::shown(&text);
    exit
}
