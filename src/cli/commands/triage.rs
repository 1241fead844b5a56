//! `triage`: a person decides at the keyboard. Needs a terminal; scripts and agents have `next` and `resolve`.

use std::io::IsTerminal;
use std::time::Duration;

use super::{consent, resolve, run, view};
use crate::cli::failure::Failure;
use crate::cli::look::Desk;
use crate::cli::{Context, look, output};
use crate::engine::resolve::Stopped;
use crate::engine::rounds::{self, RunRequest};
use crate::engine::survey;
use crate::engine::triage::{self, Terms, TriageEnd};
use crate::engine::{Ports, Setup};
use crate::ports::{Event, Held, Reporter, Store};
use crate::report::prompter::Terminal;
use crate::report::table;
use crate::review::gate;
use crate::review::outbox;
use crate::review::summary::Summary;
use crate::review::words::count;

/// Rounds that a person's choice allows the editor, whatever was used before.
const ROUNDS: u32 = 2;

pub(super) fn run(cx: &Context) -> Result<u8, Failure> {
    if cx.global.json || !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Err(Failure::usage(
            "triage is for a person at a terminal",
            "`pushback status` lists the findings, `pushback resolve ID ANSWER` answers one, and a person can reply \
             `/pushback regrade P3 REASON` or `/pushback accept` in its thread",
        ));
    }
    let desk = look::desk(cx, "triage")?;
    resolve::may_answer(&desk)?;
    let held = desk.store.lock()?;
    let (agent, verifier) = (desk.agent(cx)?, desk.verifier(cx)?);
    let ports = desk.ports(cx, agent.as_deref(), &verifier);
    let setup = desk.setup(None);
    let mut summary = rounds::load(&ports, &setup, &held, &desk.obs)?;
    outbox::revive(&mut summary);
    let survey = survey::digest(&ports, &setup, &mut summary, desk.obs.clone(), cx.depth)?;
    desk.store.save(&held, &summary)?;
    let width = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    let ask = Terminal::new(width, cx.signals.clone());
    let no_fix = run::may_run(&desk).err().map(|why| format!("{}; {}", why.message, why.hint));
    let no_editor = || "no editor is configured or installed (`pushback doctor`)".to_owned();
    let no_fix = no_fix.or_else(|| agent.is_none().then(no_editor));
    let terms = Terms { dry: cx.global.dry_run, no_fix };
    let end = triage::triage(&ports, &setup, &ask, &held, &mut summary, survey, terms)?;
    drop(ask);
    finish(cx, &desk, &ports, &setup, held, summary, end)
}

fn finish(
    cx: &Context,
    desk: &Desk,
    ports: &Ports<'_>,
    setup: &Setup<'_>,
    held: Held,
    mut summary: Summary,
    end: TriageEnd,
) -> Result<u8, Failure> {
    cx.printer.rest();
    for note in &end.notes {
        cx.printer.tell(Event::Warning(note.clone()));
    }
    if end.posted {
        consent::give(cx, desk)?;
    }
    let drafts = summary.drafts.keys().filter(|id| !end.fixes.contains(id)).count();
    if drafts > 0 {
        cx.printer
            .tell(Event::Line(format!("kept: {}; `pushback triage` goes on from there", count(drafts, "decision"))));
    }
    if let Some(stopped) = &end.stopped {
        return Err(why_stopped(stopped));
    }
    if end.posted && (!end.fixes.is_empty() || end.plans) {
        run::may_run(desk)?;
        run::stranger(desk)?;
        summary.drafts.retain(|id, _| !end.fixes.contains(id));
        desk.store.save(&held, &summary)?;
        let request = RunRequest { more: ROUNDS, until_ready: false, wait: Some(Duration::ZERO) };
        let ended = rounds::run_on(ports, setup, request, held, end.survey.obs.clone(), Some(end.fixes))?;
        return Ok(run::print(cx, desk, &ended));
    }
    let exit = gate::status_code(&summary, &end.survey.reviewers);
    output::shown(&table::findings(&summary, output::width()));
    output::stdout(&format!("next: {}\n", view::next(desk, exit, &summary)));
    Ok(exit)
}

fn why_stopped(stopped: &Stopped) -> Failure {
    use crate::cli::failure::Kind;
    let hint = "what is owed is remembered; `pushback triage` or `pushback run` posts the rest";
    match stopped {
        Stopped::NotSent(why) => {
            Failure::new(Kind::CouldNotRead, format!("the forge could not be written to: {why}"), hint)
        }
        Stopped::Limited(until) => Failure::new(Kind::Limited, format!("the forge takes no posts until {until}"), hint),
        Stopped::Forbidden(why) => Failure::new(Kind::Permission, why.clone(), hint),
        Stopped::Interrupted => Failure::new(Kind::Internal, "stopped by a signal", hint),
    }
}
