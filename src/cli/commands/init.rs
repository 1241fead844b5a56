//! `init`: looks around, shows what it would write, asks once, writes and trusts it. Running it again changes nothing.

use camino::Utf8Path;

use super::{hook, trust};
use crate::cli::args::InitArgs;
use crate::cli::around::{self, Editor, Seen};
use crate::cli::failure::Failure;
use crate::cli::look::{self, CONFIG_FILE};
use crate::cli::project::{self, Tests};
use crate::cli::propose::{self, Proposal};
use crate::cli::{Context, output, place, starter};
use crate::config::layers::Layers;
use crate::git::GitWorktree;
use crate::process::bounded;
use crate::report::json::{AgentView, Envelope, InitView, TestsView};
use crate::report::table;
use crate::review::observation::PrState;
use crate::review::words::count;
use crate::store;

/// What was found around the worktree.
struct Found {
    repository: Option<String>,
    base: Option<String>,
    pull: Option<String>,
    tests: Vec<Tests>,
    editors: Vec<Editor>,
    seen: Option<Seen>,
    /// What the file here says already.
    configured: starter::Configured,
    notes: Vec<String>,
}

pub(super) fn run(cx: &Context, args: &InitArgs) -> Result<u8, Failure> {
    let tree = place::worktree(&cx.global)?;
    let top = tree.discover()?.toplevel;
    let mut found = look_around(cx, &top);
    let files = files(args, &top, &found)?;
    found.configured = files[0].before().map(starter::configured).unwrap_or_default();
    lacks(&mut found);
    let will_trust = !look::in_ci() && !store::is_trusted(tree.common_dir(), files[0].after().as_bytes())?;
    let hook = args.hook && !hook::state(&tree)?.0;
    let open = files.iter().any(Proposal::changes) || will_trust || hook;
    let diffs: Vec<String> = files.iter().filter(|file| file.changes()).map(Proposal::diff).collect();
    output::before(cx.global.json, &format!("{}{}", summary(&found), diffs.join("\n")));
    if will_trust && files[0].before().is_some() {
        // What was there before is agreed to as well, so it is shown as `trust` shows it.
        output::before(cx.global.json, &trust::shown(&tree, files[0].after()));
    }
    if !open {
        return Ok(told(cx, &found, &files, "everything is set up already", (false, !look::in_ci())));
    }
    if cx.global.dry_run {
        let would = if hook { hook::put_in(cx)?.join("\n") + "\n" } else { String::new() };
        return Ok(told(cx, &found, &files, &format!("{would}nothing was written (`--dry-run`)"), (false, false)));
    }
    propose::agreed(cx, args.yes, &question(&files, will_trust, hook), "nobody has agreed yet to what is shown")?;
    // First what may be refused: then nothing is half done.
    let installed = if hook { hook::put_in(cx)? } else { Vec::new() };
    for file in files.iter().filter(|file| file.changes()) {
        file.write()?;
    }
    if will_trust {
        store::trust(tree.common_dir(), files[0].after().as_bytes())?;
    }
    let names: Vec<&str> = files.iter().filter(|file| file.changes()).map(|file| file.name.as_str()).collect();
    let mut done = if names.is_empty() { String::new() } else { format!("wrote {}; ", names.join(", ")) };
    done.push_str(if will_trust {
        "trusted here as it is; commit it to the default branch, where all of it is in force"
    } else {
        "commit it to the default branch, where it is in force"
    });
    for line in installed {
        done.push_str(&format!("\n{line}"));
    }
    Ok(told(cx, &found, &files, &done, (!names.is_empty(), !look::in_ci())))
}

fn question(files: &[Proposal], will_trust: bool, hook: bool) -> String {
    let names: Vec<&str> = files.iter().filter(|file| file.changes()).map(|file| file.name.as_str()).collect();
    let writes = (!names.is_empty()).then(|| format!("write {}", names.join(", ")));
    let trusts = will_trust.then(|| format!("let {CONFIG_FILE} start its commands in this clone"));
    let hooks = hook.then(|| "install the post-push hook".to_owned());
    let all: Vec<String> = [writes, trusts, hooks].into_iter().flatten().collect();
    format!("Shall I {}?", all.join(", and "))
}

fn files(args: &InitArgs, top: &Utf8Path, found: &Found) -> Result<Vec<Proposal>, Failure> {
    // Nobody to be seen on no pull request at all proves nothing.
    let reviewers = found.seen.as_ref().filter(|seen| seen.pulls > 0).map(|seen| seen.names.as_slice());
    let facts = starter::Facts { tests: &found.tests, reviewers };
    let mut files = vec![Proposal::new(top, CONFIG_FILE, |now| starter::config(now, &facts))?];
    if args.agent_skill {
        files.push(Proposal::new(top, starter::SKILL_FILE, |_| Ok(starter::skill()))?);
        files.push(Proposal::new(top, starter::AGENTS_FILE, starter::agents)?);
    }
    Ok(files)
}

fn look_around(cx: &Context, top: &Utf8Path) -> Found {
    let mut found = Found {
        repository: None,
        base: None,
        pull: None,
        tests: project::tests(top),
        editors: Vec::new(),
        seen: None,
        configured: starter::Configured::default(),
        notes: Vec::new(),
    };
    std::thread::scope(|scope| {
        let editors = scope.spawn(around::editors);
        if let Err(failure) = ask_forge(cx, &mut found) {
            found.notes.push(format!("{} ({})", failure.message, failure.hint));
        }
        found.editors = editors.join().unwrap_or_default();
    });
    found
}

/// Says what a run will lack.
fn lacks(found: &mut Found) {
    if found.tests.is_empty() && found.configured.tests.is_none() {
        found.notes.push(
            "no test command was found: say in `[verify]` what has to pass, or `none = true`, then `pushback trust`"
                .to_owned(),
        );
    }
    if found.editors.is_empty() && !found.configured.editor {
        found.notes.push("no known editor is on the PATH: install one, or set `agent.command`".to_owned());
    }
}

/// Asks the forge as far as remote and token allow; the first thing that does not work ends it.
fn ask_forge(cx: &Context, found: &mut Found) -> Result<(), Failure> {
    let place = place::place(&cx.global)?;
    let slug = place.slugs[0].clone();
    found.repository = Some(format!("{}/{slug}", place.host));
    let api = place::connect(&place, &cx.global, cx.forge_clock.clone())?;
    found.base = Some(api.repository(&slug)?.default_branch);
    let pulls = api.pulls_for(&slug, &place.head_owner, &place.remote_branch)?;
    if let Some(pull) = pulls.into_iter().find(|pull| pull.state == PrState::Open) {
        found.pull = Some(format!("{slug}#{}", pull.number));
        found.base = Some(pull.base);
    }
    match around::reviewers(&api, &slug, &look::rules(&Layers::default())?) {
        Ok(seen) => found.seen = Some(seen),
        Err(why) => found.notes.push(format!("which reviewers are at work could not be read: {why}")),
    }
    Ok(())
}

fn summary(found: &Found) -> String {
    let or = |text: &Option<String>, none: &str| text.clone().unwrap_or_else(|| none.to_owned());
    let no_pull = if found.base.is_some() { "none is open for this branch" } else { "not known" };
    let mut rows = vec![
        ("repository", or(&found.repository, "not known")),
        ("pull request", or(&found.pull, no_pull)),
        ("base", or(&found.base, "not known")),
    ];
    let tests: Vec<String> = found.tests.iter().map(|t| format!("{} ({})", t.command, t.because)).collect();
    rows.push((
        "tests",
        match &found.configured.tests {
            Some(tests) => format!("{tests} (configured)"),
            None if tests.is_empty() => "none found".to_owned(),
            None => tests.join(", "),
        },
    ));
    let editors: Vec<String> = found.editors.iter().map(named).collect();
    let none = if found.configured.editor { "the configured one" } else { "none found" };
    rows.push(("editors", if editors.is_empty() { none.to_owned() } else { editors.join(", ") }));
    let seen = match &found.seen {
        None => "not known".to_owned(),
        Some(seen) if seen.names.is_empty() => format!("none on the last {}", count(seen.pulls, "pull request")),
        Some(seen) => format!("{} (last {})", seen.names.join(", "), count(seen.pulls, "pull request")),
    };
    rows.push(("reviewers", seen));
    let width = output::width();
    let mut text: String =
        rows.iter().map(|(name, value)| table::hanging(&format!("{name:<13} "), value, width)).collect();
    for note in &found.notes {
        text.push_str(&table::hanging("note: ", note, width));
    }
    text.push('\n');
    text
}

fn named(editor: &Editor) -> String {
    match &editor.version {
        Ok(version) if version.contains(editor.name) => version.clone(),
        Ok(version) => format!("{} {version}", editor.name),
        Err(_) => format!("{} (tells no version)", editor.name),
    }
}

fn told(cx: &Context, found: &Found, files: &[Proposal], how: &str, (written, trusted): (bool, bool)) -> u8 {
    if !cx.global.json {
        output::shown(&format!("{how}\nnext: pushback doctor\n"));
        return 0;
    }
    let view = InitView {
        repository: found.repository.clone(),
        pull_request: found.pull.clone(),
        base: found.base.clone(),
        tests: found
            .tests
            .iter()
            .map(|t| TestsView { command: t.command.clone(), because: t.because.clone() })
            .collect(),
        agents: found.editors.iter().map(AgentView::from).collect(),
        reviewers: found.seen.as_ref().map(|seen| seen.names.clone()),
        files: files.iter().map(Proposal::view).collect(),
        written,
        trusted,
        notes: found.notes.clone(),
    };
    output::json(&Envelope::of("init", 0, "pushback doctor", view));
    0
}

impl From<&Editor> for AgentView {
    fn from(editor: &Editor) -> Self {
        Self { name: editor.name, version: editor.version.clone().ok(), login: editor.login.clone() }
    }
}

/// Tells for `doctor` whether the worktree has a file of its own that is not trusted.
pub(super) fn untrusted(tree: &GitWorktree, top: &Utf8Path, default_file: Option<&str>) -> bool {
    let text = bounded::read(&top.join(CONFIG_FILE)).unwrap_or_default();
    !text.is_empty()
        && default_file.map(str::as_bytes) != Some(text.as_slice())
        && !store::is_trusted(tree.common_dir(), &text).unwrap_or(false)
}
