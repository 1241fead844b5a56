//! `run`: the loop, until a named stop.

use std::io::IsTerminal;
use std::time::Duration;

use super::consent::{self, Does};
use super::view;
use crate::cli::args::{RunArgs, Until};
use crate::cli::failure::Failure;
use crate::cli::look::Desk;
use crate::cli::{Context, look, output, project, watched};
use crate::engine::resolve;
use crate::engine::rounds::{self, RunEnd, RunRequest};
use crate::ports::{Event, Reporter, Store};
use crate::report::json::{RoundView, RunView};
use crate::report::{prompter, table};
use crate::review::comment::AccountKind;
use crate::review::observation::Permission;
use crate::review::summary::Summary;

pub(super) fn run(cx: &Context, args: &RunArgs) -> Result<u8, Failure> {
    if crate::process::nested() {
        return Err(Failure::usage(
            "this is running inside an editor that pushback started",
            "let the outer run go on",
        ));
    }
    run_at(cx, args, look::desk(cx, "run")?)
}

/// Runs from a desk that is laid out.
pub(super) fn run_at(cx: &Context, args: &RunArgs, mut desk: Desk) -> Result<u8, Failure> {
    let declared = watched::files(desk.place.tree.common_dir());
    desk.place.tree = desk.place.tree.watch(declared);
    for note in &desk.notes {
        cx.printer.tell(Event::Warning(note.clone()));
    }
    let spec = args.spec.as_ref().map(|path| {
        std::fs::read_to_string(path)
            .map_err(|error| Failure::usage(format!("could not read the spec {path}: {error}"), "mend `--spec`"))
    });
    let setup = desk.setup(spec.transpose()?);
    if cx.global.dry_run {
        return dry_run(cx, &desk);
    }
    may_run(&desk)?;
    stranger(&desk)?;
    // Whoever holds the pull request is named before anything is asked.
    let held = desk.store.lock()?;
    consent::ask(cx, &desk, args.yes, Does::PushAndPost)?;
    let (agent, verifier) = (desk.agent(cx)?, desk.verifier(cx)?);
    let ports = desk.ports(cx, agent.as_deref(), &verifier);
    let end = rounds::run_with(&ports, &setup, request(args), held, desk.obs.clone())?;
    Ok(print(cx, &desk, &end))
}

fn request(args: &RunArgs) -> RunRequest {
    let terminal = std::io::stderr().is_terminal();
    RunRequest {
        more: args.more,
        until_ready: args.until == Some(Until::Ready),
        wait: args.wait.or((!terminal).then_some(Duration::ZERO)),
    }
}

pub(super) fn may_run(desk: &Desk) -> Result<(), Failure> {
    let policy = &desk.settings.policy;
    if policy.has_verify || policy.verify_none {
        return Ok(());
    }
    let top = &desk.place.found.toplevel;
    let hint = match project::tests(top).first() {
        _ if top.join(look::CONFIG_FILE).exists() => {
            "say in `[verify] commands` of .pushback.toml what has to pass; `pushback trust` shows that file and lets it apply here"
                .to_owned()
        }
        Some(found) => format!(
            "`pushback init` writes `[verify] commands = [\"{}\"]` to .pushback.toml; or set it in your own config",
            found.command
        ),
        None => "set `[verify] commands` to what has to pass, or `none = true` when there is nothing to run".to_owned(),
    };
    Err(Failure::usage("no verify command is configured, so nothing could prove a fix", hint))
}

/// Code of somebody without write permission is run only after a person has typed yes at a terminal.
pub(super) fn stranger(desk: &Desk) -> Result<(), Failure> {
    let (obs, pr) = (&desk.obs, &desk.obs.pr);
    let own_branch = pr.head_repo.as_ref().is_some_and(|repo| repo.same(&desk.pr.slug));
    let trusted = pr.author.as_ref().is_some_and(|author| match author.kind {
        AccountKind::Bot => own_branch,
        AccountKind::Person => match obs.permission(author) {
            Permission::Write => true,
            Permission::Unasked => own_branch,
            Permission::Read | Permission::Triage => obs.is_ours(Some(author)),
        },
    });
    if trusted {
        return Ok(());
    }
    let who = pr.author.as_ref().map_or_else(|| "a deleted account".to_owned(), |author| author.login.to_string());
    let why = format!("{} is by {who}, who has no write permission; a run starts its code and its tests here", desk.pr);
    let terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    let asked = terminal.then(|| {
        let prompt = prompter::asked_with(&format!("{why}. Type yes to go on"), "Type yes to go on");
        dialoguer::Input::<String>::new().with_prompt(prompt).allow_empty(true).interact_text().unwrap_or_default()
    });
    if asked.is_some_and(|answer| answer.trim() == "yes") {
        return Ok(());
    }
    Err(Failure::usage(why, "read the change first, then run it at a terminal and type yes"))
}

/// Prints every planned write with its exact text; starts neither editor nor verifier.
fn dry_run(cx: &Context, desk: &Desk) -> Result<u8, Failure> {
    let (mut summary, survey) = look::look(cx, desk)?;
    let setup = desk.setup(None);
    rounds::plan(&setup, &mut summary, &survey);
    let local = desk.place.local_head().unwrap_or_else(|| survey.obs.pr.head.clone());
    let step = rounds::would_do(&setup, &summary, &survey, &local);
    let verifier = desk.verifier(cx)?;
    let plans = consent::plans(resolve::draft_plans(&desk.ports(cx, None, &verifier), &setup, &mut summary)?);
    rounds::plan(&setup, &mut summary, &survey);
    let planned = consent::planned(&summary, &survey.obs.pr.body);
    let exit = crate::review::gate::status_code(&summary, &survey.reviewers);
    let refused = may_run(desk).err().map(|why| format!("a run would not start: {} ({})", why.message, why.hint));
    let barred = survey.obs.barred(&desk.settings.policy);
    let refused = refused.or_else(|| barred.map(|(why, mend)| format!("a run would start no editor: {why} ({mend})")));
    if cx.global.json {
        let more = view_of(desk, &summary, view::status(desk, &summary, &survey, None), None, &step);
        let mut more = RunView { planned, plans, ..more };
        more.status.notes.extend(refused);
        output::json(&view::envelope("run", (exit, view::next(desk, exit, &summary)), &summary, more));
        return Ok(exit);
    }
    let mut text = consent::exact_plans(&plans) + &consent::exact(&planned);
    if planned.is_empty() {
        text.push_str("nothing would be posted now\n");
    }
    text.push_str(&format!("{} step of a run: {step}\n", if planned.is_empty() { "first" } else { "next" }));
    let work: Vec<String> =
        crate::review::step::editor_work(&summary).iter().map(|entry| entry.finding.id.to_string()).collect();
    if !work.is_empty() {
        text.push_str(&format!("then the editor gets {}\n", work.join(", ")));
    }
    if let Some(refused) = refused {
        text.push_str(&format!("note: {refused}\n"));
    }
    output::shown(&text);
    Ok(exit)
}

fn view_of(
    desk: &Desk,
    summary: &Summary,
    status: crate::report::json::StatusView,
    reason: Option<crate::review::summary::StopReason>,
    why: &str,
) -> RunView {
    RunView {
        status,
        stop_reason: reason,
        why: why.to_owned(),
        rounds: summary.rounds.iter().map(RoundView::of).collect(),
        planned: Vec::new(),
        plans: Vec::new(),
        summary: desk.store.path().to_string(),
    }
}

/// Tells how a run ended; returns the exit code.
pub(super) fn print(cx: &Context, desk: &Desk, end: &RunEnd) -> u8 {
    cx.printer.rest();
    let exit = cx.exit(end.exit);
    let Some(survey) = &end.survey else { return exit };
    if cx.global.json {
        let status = view::status(desk, &end.summary, survey, None);
        let more = view_of(desk, &end.summary, status, Some(end.reason), &end.why);
        let mut answer = view::envelope("run", (exit, view::next(desk, exit, &end.summary)), &end.summary, more);
        answer.retry_after_s = end.retry_after_s;
        output::json(&answer);
        return exit;
    }
    let width = output::width();
    let mut text = table::findings(&end.summary, width);
    let line = |text: String| format!("{}\n", table::wrapped(&text, table::columns(std::io::stdout())));
    text.push('\n');
    text.push_str(&line(format!("{}: {}", end.reason.as_str(), end.why)));
    if !end.remedy.is_empty() {
        text.push_str(&line(format!("  {}", end.remedy)));
    }
    for note in view::notes(desk, survey) {
        text.push_str(&line(format!("note: {note}")));
    }
    text.push_str(&format!("{}\n", table::spent(&end.summary)));
    text.push_str(&format!("state: {}\n", desk.store.path()));
    output::shown(&text);
    exit
}
