//! `doctor`: everything a run needs, looked at once; each finding with its mend. It changes nothing and spends nothing.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use camino::Utf8Path;

use super::{hook, init};
use crate::cli::around::{self, Editor};
use crate::cli::failure::Failure;
use crate::cli::look::{self, CONFIG_FILE};
use crate::cli::place::{self, Place};
use crate::cli::{Context, output, project, token};
use crate::config::layers::Layers;
use crate::config::settings::Settings;
use crate::git::{GitWorktree, version};
use crate::github::{Api, READS, RepositoryFacts, Right};
use crate::process::bounded;
use crate::report::json::{AgentView, CheckView, DoctorView, Envelope};
use crate::report::table;
use crate::review::words::count;

/// The oldest git that does what is asked of it.
const GIT: (u32, u32) = (2, 36);
/// How long git may take to tell it.
const GIT_LIMIT: Duration = Duration::from_secs(15);
/// Name of the check of the configured editor.
const EDITOR: &str = "editor";
/// Free space below which a run may end badly.
const FREE: u64 = 200 << 20;
/// A clock that is off by more than this makes times in messages misleading.
const SKEW_S: i64 = 120;

fn good(check: &'static str, found: impl Into<String>) -> CheckView {
    CheckView { check, ok: Some(true), found: found.into(), mend: String::new() }
}

fn bad(check: &'static str, found: impl Into<String>, mend: impl Into<String>) -> CheckView {
    CheckView { check, ok: Some(false), found: found.into(), mend: mend.into() }
}

fn open(check: &'static str, found: impl Into<String>, mend: impl Into<String>) -> CheckView {
    CheckView { check, ok: None, found: found.into(), mend: mend.into() }
}

fn failed(check: &'static str, failure: &Failure) -> CheckView {
    bad(check, failure.message.clone(), failure.hint.clone())
}

pub(super) fn run(cx: &Context) -> Result<u8, Failure> {
    let (mut checks, editors) = std::thread::scope(|scope| {
        let editors = scope.spawn(around::editors);
        let mut checks = vec![git()];
        match place::worktree(&cx.global) {
            Ok(tree) => here(cx, &tree, &mut checks),
            Err(failure) => checks.push(failed("repository", &failure)),
        }
        (checks, editors.join().unwrap_or_default())
    });
    // An editor that is chosen by the configuration was looked at with it.
    if !editors.is_empty() || !checks.iter().any(|check| check.check == EDITOR) {
        checks.extend(agents(&editors));
    }
    let exit = if checks.iter().any(|check| check.ok == Some(false)) { 2 } else { 0 };
    if cx.global.json {
        let agents = editors.iter().map(AgentView::from).collect();
        output::json(&Envelope::of("doctor", exit, "pushback status", DoctorView { checks, agents }));
        return Ok(exit);
    }
    let (mut text, width) = (String::new(), output::width());
    for check in &checks {
        let mark = match check.ok {
            Some(true) => "ok",
            Some(false) => "NO",
            None => "?",
        };
        text.push_str(&table::hanging(&format!("{mark:<3} {:<12} ", check.check), &check.found, width));
        if !check.mend.is_empty() {
            text.push_str(&table::hanging(&format!("    {:<12} → ", ""), &check.mend, width));
        }
    }
    let wrong = checks.iter().filter(|check| check.ok == Some(false)).count();
    text.push_str(&match wrong {
        0 if editors.is_empty() && !checks.iter().any(|check| check.check == EDITOR) => {
            "\nnothing has to be mended; `run` needs an editor, the rest works\n".to_owned()
        }
        0 => "\nnothing has to be mended\n".to_owned(),
        n => format!("\n{} to mend\n", count(n, "thing")),
    });
    output::shown(&text);
    Ok(exit)
}

/// Everything that hangs on the worktree.
fn here(cx: &Context, tree: &GitWorktree, checks: &mut Vec<CheckView>) {
    let toplevel = match tree.discover() {
        Ok(found) => found.toplevel,
        Err(error) => return checks.push(failed("repository", &error.into())),
    };
    checks.push(formats(tree));
    checks.push(disk(tree.common_dir()));
    checks.extend(unwritable(tree.common_dir()));
    checks.push(match hook::state(tree) {
        Ok((true, how)) if how.contains("is gone") => bad("hook", how, "`pushback hook install` once more"),
        Ok((true, how)) => good("hook", how),
        Ok((false, _)) => {
            open("hook", "no post-push hook here", "`pushback hook install` starts a look after every push")
        }
        Err(failure) => failed("hook", &failure),
    });
    let place = match place::place(&cx.global) {
        Ok(place) => place,
        Err(failure) => {
            checks.push(failed("remote", &failure));
            return checks.extend(policy(tree, &toplevel, None));
        }
    };
    checks.push(good("remote", format!("{} → {}/{}", place.remote, place.host, place.slugs[0])));
    let api = match place::connect(&place, &cx.global, cx.forge_clock.clone()) {
        Ok(api) => api,
        Err(failure) => return checks.push(failed("token", &failure)),
    };
    let default_file = api.contents(&place.slugs[0], CONFIG_FILE, None);
    forge(&place, &api, checks);
    match default_file {
        Ok(file) => checks.extend(policy(tree, &toplevel, file.as_deref())),
        Err(error) => {
            checks.push(open("config", format!("the default branch's {CONFIG_FILE} could not be read: {error}"), ""));
        }
    }
}

fn git() -> CheckView {
    let mend = "install git 2.36 or later";
    let text = match bounded::answer(Command::new("git").arg("--version"), GIT_LIMIT) {
        Some((status, said)) if status.success() => String::from_utf8_lossy(&said).trim().to_owned(),
        Some(_) | None => return bad("git", "`git --version` could not be run", mend),
    };
    match version(&text) {
        Some(found) if found >= GIT => good("git", text),
        Some(_) => bad("git", format!("{text} is too old"), mend),
        None => open("git", format!("`{text}` tells no version"), mend),
    }
}

/// Formats that libgit2 cannot open are read with the `git` program, which is slower and as right.
fn formats(tree: &GitWorktree) -> CheckView {
    match tree.formats() {
        Ok((objects, refs)) if objects == "sha1" && refs == "files" => good("repository", "ordinary formats"),
        Ok((objects, refs)) => good(
            "repository",
            format!("objects {objects}, refs {refs}: read through `git`, which takes a little longer"),
        ),
        Err(error) => failed("repository", &error.into()),
    }
}

/// Says where state cannot be kept; every other command would end with that.
fn unwritable(common_dir: &Utf8Path) -> Option<CheckView> {
    let state = common_dir.join("pushback");
    if state.exists() && !state.is_dir() {
        return Some(bad("state", format!("{state} is no folder"), "move it away"));
    }
    let dir = if state.is_dir() { state } else { common_dir.to_owned() };
    let access = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
    let error = rustix::fs::access(dir.as_std_path(), access).err()?;
    Some(bad("state", format!("{dir} cannot be written to: {error}"), "make the folder writable for this account"))
}

fn disk(dir: &Utf8Path) -> CheckView {
    match rustix::fs::statvfs(dir.as_std_path()) {
        Ok(stat) => {
            let free = stat.f_bavail.saturating_mul(stat.f_frsize);
            let text = format!("{} MiB free at {dir}", free >> 20);
            if free < FREE {
                bad("disk", text, "make room: a full disk ends a run in the middle")
            } else {
                good("disk", text)
            }
        }
        Err(error) => open("disk", format!("free space at {dir} could not be read: {error}"), ""),
    }
}

fn forge(place: &Place, api: &Arc<Api>, checks: &mut Vec<CheckView>) {
    let slug = &place.slugs[0];
    let Some(origin) = token::origin(&place.host) else {
        let why = format!("no token for {}", place.host);
        let mend = format!("set {}, or log in with `gh auth login -h {}`", token::OWN, place.host);
        return checks.push(bad("token", why, mend));
    };
    let facts = match api.repository(slug) {
        Ok(facts) => facts,
        Err(error) => {
            let failure = Failure::from(error);
            return checks.push(bad("token", format!("from {origin}: {}", failure.message), failure.hint));
        }
    };
    checks.push(match api.token_account() {
        Ok(Some(account)) => good("token", format!("from {origin}, account {}", account.login)),
        Ok(None) => bad(
            "token",
            format!("from {origin}; its account could not be learned, so nothing is posted"),
            "name the account in `trust.accounts`",
        ),
        Err(error) => failed("token", &error.into()),
    });
    checks.push(match place::find(&place.question(), api) {
        Ok(meant) => good("pull request", format!("{}#{}", meant.slug, meant.number)),
        Err(failure) => open("pull request", failure.message, failure.hint),
    });
    checks.extend(reads(api, slug, &facts));
    checks.extend(writes(&facts, api.scopes().as_deref()));
    checks.push(match look::rules(&Layers::default()).map(|rules| around::reviewers(api, slug, &rules)) {
        Ok(Ok(seen)) if seen.names.is_empty() => open(
            "reviewers",
            format!("no review bot on the last {}", count(seen.pulls, "pull request")),
            "where nobody reviews, `reviewers.none = true` on the default branch says so",
        ),
        Ok(Ok(seen)) => good("reviewers", seen.names.join(", ")),
        Ok(Err(why)) => open("reviewers", why, "give the token `pull requests: read`"),
        Err(failure) => failed("reviewers", &failure),
    });
    checks.push(clock(api));
}

/// What each right is for, and whether commands do without it.
fn needed(right: &str) -> (&'static str, bool) {
    match right {
        "contents: read" => ("every command: the default branch's settings", true),
        "pull requests: read" => ("every command", true),
        "review threads (GraphQL)" => ("status, run, next, gate", true),
        "checks: read" => ("gate, run --until ready: without it clause `checks` is unknown", true),
        "commit statuses: read" => ("gate, run --until ready: without it clause `checks` is unknown", true),
        "branch rules: read" => ("gate: without it clause `checks` is unknown", true),
        "administration: read" => ("gate, only where classic branch protection requires checks", false),
        _ => ("gate, only where two workflows have a check of the same name", false),
    }
}

fn reads(api: &Arc<Api>, slug: &crate::review::ids::RepoSlug, facts: &RepositoryFacts) -> Vec<CheckView> {
    let branch = facts.default_branch.as_str();
    let answers: Vec<(&str, Right)> = std::thread::scope(|scope| {
        let handles: Vec<_> =
            READS.iter().map(|right| (*right, scope.spawn(move || api.right(slug, branch, right)))).collect();
        let unknown = || Right::Unknown("its reader stopped".to_owned());
        handles.into_iter().map(|(right, handle)| (right, handle.join().unwrap_or_else(|_| unknown()))).collect()
    });
    let view = |(right, answer): (&str, Right)| {
        let (use_of, compulsory) = needed(right);
        match answer {
            Right::There => good("right", format!("{right}: there ({use_of})")),
            Right::Missing(why) if compulsory => {
                bad("right", why, format!("give the token `{right}`; needed by {use_of}"))
            }
            Right::Missing(why) => open("right", format!("{why} ({use_of})"), ""),
            Right::Unknown(why) => open("right", format!("{right}: {why}"), format!("needed by {use_of}")),
        }
    };
    answers.into_iter().map(view).collect()
}

/// Writes are not tried. A classic token names its scopes, and the repository says what the account may do.
fn writes(facts: &RepositoryFacts, scopes: Option<&[String]>) -> Vec<CheckView> {
    let slug = &facts.slug;
    if facts.may.is_some_and(|may| !may.push) {
        let why = format!("the account has no write permission in {slug}");
        let mend = "run, next, resolve and `gate --publish` need it; status, show and gate do not";
        return vec![bad("right", why, mend)];
    }
    let has = |wanted: &[&str]| scopes.map(|scopes| scopes.iter().any(|scope| wanted.contains(&scope.as_str())));
    let rows: [(&str, &str, &[&str]); 3] = [
        ("pull requests: write", "run, resolve: replies, the description, re-requests", &["repo", "public_repo"]),
        ("contents: write", "run, resolve: resolved threads", &["repo", "public_repo"]),
        ("commit statuses: write", "gate --publish", &["repo", "public_repo", "repo:status"]),
    ];
    let view = |(right, use_of, wanted): (&str, &str, &[&str])| match has(wanted) {
        Some(true) => good("right", format!("{right}: there ({use_of})")),
        Some(false) => bad(
            "right",
            format!("{right}: the token has the scopes {}", scopes.unwrap_or_default().join(", ")),
            format!("give it the scope `repo`; needed by {use_of}"),
        ),
        None => open("right", format!("{right}: only a write would tell ({use_of})"), ""),
    };
    rows.into_iter().map(view).collect()
}

fn clock(api: &Api) -> CheckView {
    let Some(ahead) = api.ahead().map(|ahead| ahead.as_secs()) else {
        return open("clock", "the forge told no time", "");
    };
    let text = match ahead {
        0 => "as the forge's".to_owned(),
        1.. => format!("{ahead} s ahead of the forge's"),
        _ => format!("{} s behind the forge's", ahead.unsigned_abs()),
    };
    if ahead.abs() > SKEW_S {
        bad("clock", text, "set this machine's clock, for example with NTP")
    } else {
        good("clock", text)
    }
}

/// What the configuration in force says of tests and editor.
fn policy(tree: &GitWorktree, toplevel: &Utf8Path, default_file: Option<&str>) -> Vec<CheckView> {
    match look::layers(tree.common_dir(), toplevel, default_file) {
        Ok((layers, _)) => {
            let settings = Settings::from_layers(&layers);
            let tests = tests(&settings, tree, toplevel, default_file);
            std::iter::once(tests).chain(editor(&settings)).collect()
        }
        Err(failure) => vec![failed("config", &failure)],
    }
}

/// Is there anything that proves a fix, and is it in force?
fn tests(settings: &Settings, tree: &GitWorktree, toplevel: &Utf8Path, default_file: Option<&str>) -> CheckView {
    if settings.policy.has_verify {
        return good("config", format!("verified by: {}", settings.verify.commands.join("; ")));
    }
    if settings.policy.verify_none {
        return good("config", "nothing is verified (`verify.none`)");
    }
    let mend = if init::untrusted(tree, toplevel, default_file) {
        format!("{CONFIG_FILE} of this worktree is not used: `pushback trust`, or put it on the default branch")
    } else if toplevel.join(CONFIG_FILE).is_file() {
        format!("say in `[verify]` of {CONFIG_FILE} what has to pass, or `none = true`, then `pushback trust`")
    } else {
        let guess = project::tests(toplevel).first().map(|found| format!(" (found: {})", found.command));
        format!("`pushback init`, or set `verify.commands`{}", guess.unwrap_or_default())
    };
    bad("config", "no verify command, so nothing could prove a fix", mend)
}

/// The editor that `agent.name` and `agent.command` choose; without them the first known one on the PATH is taken.
fn editor(settings: &Settings) -> Option<CheckView> {
    let (name, command) = (settings.agent.name.as_deref(), settings.agent.command.first().map(String::as_str));
    let program = match (name, command) {
        (Some("command"), None) => {
            return Some(bad(
                EDITOR,
                "`agent.name` is \"command\" and `agent.command` is empty",
                "set `agent.command`",
            ));
        }
        (_, Some(program)) | (Some(program), None) => program,
        (None, None) => return None,
    };
    let path = std::env::var("PATH").unwrap_or_default();
    Some(if crate::agent::offers(&path, program) {
        good(EDITOR, format!("{program}, as configured"))
    } else {
        bad(
            EDITOR,
            format!("{program} is configured and not there"),
            "install it, or mend `agent.name` or `agent.command`",
        )
    })
}

fn agents(editors: &[Editor]) -> Vec<CheckView> {
    if editors.is_empty() {
        let mend =
            "install one (claude, codex, opencode, aider), or set `agent.command`; status, next and gate need none";
        return vec![open("agent", "no known editor on the PATH", mend)];
    }
    let view = |editor: &Editor| match (&editor.version, &editor.login) {
        (Err(why), _) => bad("agent", format!("{}: {why}", editor.name), format!("mend or reinstall {}", editor.name)),
        (Ok(version), Some(login)) => good("agent", format!("{}: {version}; login seen in {login}", editor.name)),
        (Ok(version), None) => open(
            "agent",
            format!("{}: {version}; whether it is logged in cannot be told without spending", editor.name),
            "",
        ),
    };
    editors.iter().map(view).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_git_are_compared() {
        assert!(version("git version 2.9.1") < Some(GIT) && version("git version 3.0.0") > Some(GIT));
    }

    #[test]
    fn every_right_says_what_it_is_for() {
        for right in READS {
            assert!(!needed(right).0.is_empty());
        }
        assert_eq!(READS.iter().filter(|right| !needed(right).1).count(), 2);
    }
}
