//! `hook`: installs, removes and shows the post-push hook; the other doors are in files of their own.

mod after;
mod agent;
mod pushed;

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Value, json};

use crate::cli::args::HookCommand;
use crate::cli::failure::{Failure, Kind};
use crate::cli::{Context, look, output, place};
use crate::config::settings::Settings;
use crate::git::{GitWorktree, HookFacts};
use crate::hook::claims::{self, Claims, Run, RunState};
use crate::hook::install::{self, Found, Method, Taken};
use crate::hook::script::{self, Event, Script, quoted};
use crate::hook::{detach, home};
use crate::report::json::{Envelope, SCHEMA_VERSION};
use crate::review::words::count;
use crate::store;

/// Section of git's configuration that names the hooks where git takes them from there.
const SECTION: &str = "hook.pushback";
/// Runs shown.
const SHOWN: usize = 10;

pub(super) fn run(cx: &Context, command: HookCommand) -> Result<u8, Failure> {
    match command {
        HookCommand::Install => install(cx),
        HookCommand::Uninstall => uninstall(cx),
        HookCommand::Status => status(cx),
        HookCommand::Agent => agent::run(cx),
        HookCommand::Pushed => {
            detach::leave();
            Ok(0)
        }
        HookCommand::Decide => Ok(pushed::run(cx)),
        HookCommand::After => Ok(after::run(cx)),
    }
}

/// What a command of the hook found or did.
struct Report {
    lines: Vec<String>,
    json: Value,
    next: &'static str,
}

fn print(cx: &Context, report: Report) -> u8 {
    if cx.global.json {
        output::json(&Envelope {
            schema_version: SCHEMA_VERSION,
            command: "hook",
            exit: 0,
            pr: None,
            next: report.next.to_owned(),
            retry_after_s: None,
            error: None,
            more: json!({ "hook": report.json }),
        });
    } else {
        output::shown(&format!("{}\n", report.lines.join("\n")));
    }
    0
}

/// Where scripts lie that git's configuration names.
fn own_scripts(common_dir: &Utf8Path) -> Utf8PathBuf {
    home(common_dir).join("scripts")
}

fn script_for(event: Event, common_dir: &Utf8Path, facts: &HookFacts) -> Result<Script, Failure> {
    let program = std::env::current_exe().and_then(|path| path.canonicalize()).ok();
    let program = program.and_then(|path| Utf8PathBuf::from_path_buf(path).ok()).ok_or_else(|| {
        Failure::new(Kind::Internal, "where this program lies could not be told", "call it by its full path")
    })?;
    let blind = if event == Event::PrePush { facts.blind.clone() } else { Vec::new() };
    Ok(Script { event, program, repositories: vec![common_dir.to_owned()], blind, made_folder: false })
}

fn reason(event: Event, facts: &HookFacts) -> String {
    match (event, facts.blind.as_slice()) {
        (Event::ReferenceTransaction, _) => "starts after a push, when git moves the remote-tracking branch".to_owned(),
        (Event::PrePush, []) => {
            "for pushes to an address: they move no remote-tracking branch, so it waits until the push has succeeded"
                .to_owned()
        }
        (Event::PrePush, blind) => format!(
            "for pushes to an address or to {}: they move no remote-tracking branch, so it waits until the push has succeeded",
            blind.join(", ")
        ),
    }
}

fn install(cx: &Context) -> Result<u8, Failure> {
    Ok(print(cx, installed(cx)?))
}

/// Installs the hook for `init`; returns what was done, or would be in a dry run.
pub(super) fn put_in(cx: &Context) -> Result<Vec<String>, Failure> {
    installed(cx).map(|report| report.lines)
}

/// Tells for `init` and `doctor` whether the hook is installed, and where.
pub(super) fn state(tree: &GitWorktree) -> Result<(bool, String), Failure> {
    let (lines, json) = picture(tree, &tree.hook_facts()?)?;
    Ok((json["installed"] == json!(true), lines.join("; ")))
}

fn installed(cx: &Context) -> Result<Report, Failure> {
    let tree = place::worktree(&cx.global)?;
    let facts = tree.hook_facts()?;
    let method = install::method(facts.version, facts.tracked);
    if method == Method::Line {
        return by_line(&facts);
    }
    let common = tree.common_dir();
    let dir = if method == Method::Config { own_scripts(common) } else { facts.dir.clone() };
    if cx.global.dry_run {
        let would = |event: &Event| format!("would write {} ({})", install::path(&dir, *event), reason(*event, &facts));
        let lines: Vec<String> = Event::ALL.iter().map(would).collect();
        return Ok(Report { json: json!({ "planned": lines }), lines, next: "pushback hook install" });
    }
    if method == Method::Config {
        let failed = |error: std::io::Error| {
            Failure::new(Kind::Internal, format!("could not create {dir}: {error}"), "make the folder writable")
        };
        crate::process::runs::private(&dir).map_err(failed)?;
    }
    let mut lines = Vec::new();
    for event in Event::ALL {
        let script = script_for(event, common, &facts)?;
        match install::put(&dir, script) {
            Ok(found) => {
                let chained = matches!(&found, Found::Ours { chained: Some(_), .. });
                let chained = if chained { "; hands on to the hook that was there" } else { "" };
                lines.push(format!("{}: {}{chained}", install::path(&dir, event), reason(event, &facts)));
            }
            Err(error) if event == Event::PrePush => lines.push(format!("not installed: {error}")),
            Err(error) => return Err(error.into()),
        }
    }
    match method {
        Method::Config => {
            name_in_config(&tree, &dir)?;
            lines.push(format!(
                "named in this repository's configuration ({SECTION}), which git 2.54 and later read; an older git does not"
            ));
            retire(&facts.dir, common, Deed::Do)?;
        }
        Method::Files | Method::Line => lines.extend(scope_words(&facts)),
    }
    lines.push("`hook.mode` says what happens after a push; `pushback hook status` shows the runs".to_owned());
    let (_, json) = picture(&tree, &facts)?;
    Ok(Report { lines, json, next: "pushback hook status" })
}

fn scope_words(facts: &HookFacts) -> Vec<String> {
    if facts.for_all {
        return vec![format!(
            "{} is the hooks folder of every repository of yours; only pushes from this one start anything",
            facts.dir
        )];
    }
    Vec::new()
}

/// Names both scripts in git's configuration, once.
fn name_in_config(tree: &GitWorktree, dir: &Utf8Path) -> Result<(), Failure> {
    for event in Event::ALL {
        let section = format!("{SECTION}-{}", event.name());
        let command = quoted(install::path(dir, event).as_str());
        let wanted = (vec![event.name().to_owned()], vec![command.clone()]);
        let now = (tree.own_config(&format!("{section}.event"))?, tree.own_config(&format!("{section}.command"))?);
        if now == wanted {
            continue;
        }
        if now != (Vec::new(), Vec::new()) {
            tree.drop_own_section(&section)?;
        }
        tree.add_own_config(&format!("{section}.event"), event.name())?;
        tree.add_own_config(&format!("{section}.command"), &command)?;
    }
    Ok(())
}

/// Takes files of ours out of a folder; what is not ours stays. `Deed::Tell` only says what would be done.
fn retire(dir: &Utf8Path, common_dir: &Utf8Path, deed: Deed) -> Result<Vec<String>, Failure> {
    let mut lines = Vec::new();
    for event in Event::ALL {
        let path = install::path(dir, event);
        let former = install::has_former(dir, event);
        let taken = match deed {
            Deed::Do => install::take(dir, event, common_dir)?,
            Deed::Tell => install::would_take(dir, event, common_dir),
        };
        match taken {
            Taken::Nothing => {}
            Taken::Gone if former => lines.push(deed.says("put back", &format!("what was at {path} before"))),
            Taken::Gone => lines.push(deed.says("remove", path.as_str())),
            Taken::Shared => lines.push(format!("{path} stays for the other repositories that use it")),
            Taken::Overwritten { kept } => {
                let left = deed.says("leave", path.as_str());
                lines.push(format!("{left}, which is not ours any more; what was there before is {kept}"));
            }
        }
    }
    Ok(lines)
}

/// Whether something is done or only told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Deed {
    Do,
    Tell,
}

impl Deed {
    fn says(self, verb: &str, what: &str) -> String {
        let done = match verb {
            "remove" => "removed",
            "leave" => "left",
            other => other,
        };
        match self {
            Self::Do => format!("{done} {what}"),
            Self::Tell => format!("would {verb} {what}"),
        }
    }
}

/// The folder belongs to the project's files: nothing is written there.
fn by_line(facts: &HookFacts) -> Result<Report, Failure> {
    let path = install::path(&facts.dir, Event::ReferenceTransaction);
    if has_line(&facts.dir) {
        let lines = vec![format!("{path} has the line already")];
        return Ok(Report { json: json!({ "method": "line" }), lines, next: "pushback hook status" });
    }
    Err(Failure::usage(
        format!("git's hooks folder {} is part of the project's files, so nothing was written there", facts.dir),
        format!("add this line to {path} (a script that begins with `#!/bin/sh`, executable):\n{}", script::line()),
    ))
}

fn has_line(dir: &Utf8Path) -> bool {
    let text = std::fs::read_to_string(install::path(dir, Event::ReferenceTransaction)).unwrap_or_default();
    text.contains("pushback hook pushed")
}

fn uninstall(cx: &Context) -> Result<u8, Failure> {
    let tree = place::worktree(&cx.global)?;
    let facts = tree.hook_facts()?;
    let deed = if cx.global.dry_run { Deed::Tell } else { Deed::Do };
    let mut lines = retire_all(&tree, &facts, deed)?;
    lines.extend(forget(tree.common_dir(), deed)?);
    if lines.is_empty() {
        lines.push("the post-push hook is not installed here".to_owned());
    }
    let (key, next) = match deed {
        Deed::Do => ("removed", "pushback status"),
        Deed::Tell => ("planned", "pushback hook uninstall"),
    };
    Ok(print(cx, Report { json: json!({ key: lines }), lines, next }))
}

/// Takes the hook out of every place where it may have been put.
fn retire_all(tree: &GitWorktree, facts: &HookFacts, deed: Deed) -> Result<Vec<String>, Failure> {
    let common = tree.common_dir();
    let mut lines = retire(&facts.dir, common, deed)?;
    // The hooks may have been installed before `core.hooksPath` was set.
    let usual = common.join("hooks");
    if usual != facts.dir {
        lines.extend(retire(&usual, common, deed)?);
    }
    for event in Event::ALL {
        let section = format!("{SECTION}-{}", event.name());
        if !tree.own_config(&format!("{section}.command"))?.is_empty() {
            if deed == Deed::Do {
                tree.drop_own_section(&section)?;
            }
            lines.push(deed.says("remove", &format!("{section} from this repository's configuration")));
        }
    }
    if facts.tracked && has_line(&facts.dir) {
        let path = install::path(&facts.dir, Event::ReferenceTransaction);
        lines.push(format!("remove the line with `pushback hook pushed` from {path} yourself"));
    }
    Ok(lines)
}

/// Forgets runs, logs and pushes. What a pull request's state stands on is not the hook's: it stays.
fn forget(common: &Utf8Path, deed: Deed) -> Result<Vec<String>, Failure> {
    let mut lines = Vec::new();
    let home = home(common);
    if home.exists() {
        let running = Claims::of(common).runs().iter().filter(|run| run.state() == RunState::Running).count();
        let ends = if running > 0 { format!("; ends {} under way", count(running, "run")) } else { String::new() };
        lines.push(deed.says("remove", &format!("{home} (runs and their logs){ends}")));
    }
    let (gone, kept) = match deed {
        Deed::Do => store::forget_pushes(common),
        Deed::Tell => store::pushes_to_forget(common),
    };
    if gone > 0 {
        let stay = if kept > 0 { format!("; {kept} stay: a pull request's state needs them") } else { String::new() };
        lines.push(deed.says("remove", &format!("{gone} remembered push(es){stay}")));
    }
    if deed == Deed::Do {
        claims::forget(common)?;
        store::drop_if_empty(common);
    }
    Ok(lines)
}

fn status(cx: &Context) -> Result<u8, Failure> {
    let tree = place::worktree(&cx.global)?;
    let facts = tree.hook_facts()?;
    let (mut lines, mut json) = picture(&tree, &facts)?;
    let toplevel = tree.toplevel().to_owned();
    let (layers, _) = look::layers(tree.common_dir(), &toplevel, None)?;
    let mode = Settings::from_layers(&layers).hook_mode;
    let set = layers.get("hook.mode").is_some_and(|(_, origin)| origin.as_str() != "built-in");
    json["mode"] = json!(mode);
    let other = if set { "" } else { ", unless the default branch says otherwise" };
    lines.push(format!("after a push: {mode}{other}"));
    let claims = Claims::of(tree.common_dir());
    let failure = claims.last_failure();
    lines.extend(failure.iter().map(|why| format!("nothing could be started, the last time at {why}")));
    json["last_failure"] = json!(failure);
    let runs = claims.runs();
    json["runs"] = Value::Array(runs.iter().take(SHOWN).map(run_json).collect());
    lines.push(if runs.is_empty() { "no run yet".to_owned() } else { "runs, newest first:".to_owned() });
    lines.extend(runs.iter().take(SHOWN).map(run_line));
    let installed = json["installed"] == json!(true);
    Ok(print(cx, Report { lines, json, next: if installed { "pushback status" } else { "pushback hook install" } }))
}

fn run_line(run: &Run) -> String {
    let outcome = if run.outcome.is_empty() { String::new() } else { format!(": {}", run.outcome) };
    format!(
        "  {} {} of {} at {}: {}{outcome}\n    {}",
        run.since.strftime("%Y-%m-%dT%H:%M:%SZ"),
        run.at.branch,
        run.at.repo,
        run.sha.short(),
        run.state().as_str(),
        run.log
    )
}

fn run_json(run: &Run) -> Value {
    json!({
        "host": run.at.host, "repo": run.at.repo.to_string(), "branch": run.at.branch, "sha": run.sha.as_str(),
        "pid": run.pid, "since": run.since, "ended": run.ended, "state": run.state().as_str(),
        "outcome": run.outcome, "log": run.log,
    })
}

/// Says where hooks lie and what is there.
fn picture(tree: &GitWorktree, facts: &HookFacts) -> Result<(Vec<String>, Value), Failure> {
    let common = tree.common_dir();
    let named = |event: Event| tree.own_config(&format!("{SECTION}-{}.command", event.name()));
    let by_config = facts.version >= install::CONFIG_HOOKS && !named(Event::ReferenceTransaction)?.is_empty();
    let dir = if by_config { own_scripts(common) } else { facts.dir.clone() };
    let mut lines = Vec::new();
    let mut files = Vec::new();
    let mut installed = false;
    for event in Event::ALL {
        let path = install::path(&dir, event);
        let mut by = None;
        let (state, chained, program) = match install::look(&dir, event) {
            Found::Absent => ("absent", None, None),
            Found::Foreign => ("foreign", None, None),
            Found::Ours { script, .. } if !script.is_for(common) => ("another_repository", None, None),
            Found::Ours { script, at, chained } => {
                by = (at != path).then_some(at);
                ("ours", chained, Some(script.program))
            }
        };
        installed |= state == "ours" && event == Event::ReferenceTransaction;
        let gone = program.as_ref().is_some_and(|program| !program.exists());
        let gone = if gone { ", whose program is gone: install again" } else { "" };
        let also = chained.as_ref().map(|kept| format!(", hands on to {kept}")).unwrap_or_default();
        let by = by.map(|at| format!(", called as {at}")).unwrap_or_default();
        lines.push(format!("{path}: {state}{gone}{by}{also}"));
        files.push(
            json!({ "event": event.name(), "path": path, "state": state, "chained": chained, "program": program }),
        );
    }
    let line = facts.tracked && !by_config && has_line(&facts.dir);
    installed |= line;
    let method = match (installed, by_config, line) {
        (false, _, _) => "none",
        (true, true, _) => "config",
        (true, false, true) => "line",
        (true, false, false) => "files",
    };
    lines.insert(0, format!("post-push hook: {}", if installed { method } else { "not installed" }));
    if facts.configured {
        lines.push(format!("core.hooksPath names {}", facts.dir));
    }
    Ok((
        lines,
        json!({ "installed": installed, "method": method, "dir": dir, "tracked": facts.tracked, "files": files }),
    ))
}
