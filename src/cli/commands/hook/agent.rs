//! `hook agent`: answers one hook call of a coding agent. 2 shows its words to the model, 0 lets it go on; whatever is not
//! known is not said.

use std::io::{IsTerminal as _, Read as _, Write as _};
use std::process::Command;
use std::time::{Duration, SystemTime};

use camino::Utf8Path;
use serde_json::{Value, json};

use crate::cli::failure::Failure;
use crate::cli::place::{self, Place};
use crate::cli::{Context, output};
use crate::git::LogTail;
use crate::hook::agent::{self, Call, Known, Memory, Open, When};
use crate::ports::{Loaded, Store as _};
use crate::process::{self, bounded};
use crate::report::clean::one_line;
use crate::report::table;
use crate::review::ids::{PrRef, Sha};
use crate::review::summary::{Finding, Summary};
use crate::store::{self, FileStore};

/// Longest call read.
const LIMIT: u64 = 8 * 1024 * 1024;
/// Longest look after a push, and before an agent ends its turn.
const AFTER_PUSH: Duration = Duration::from_secs(8);
const BEFORE_STOP: Duration = Duration::from_secs(15);
/// Age up to which state need not be read again.
const FRESH: Duration = Duration::from_secs(60);
/// Age up to which a push can be that of the command that has just run.
const RECENT_S: i64 = 15 * 60;
/// Longest title shown.
const TITLE: usize = 120;

pub(super) fn run(cx: &Context) -> Result<u8, Failure> {
    if process::nested() {
        return Ok(0);
    }
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        return Err(Failure::usage(
            "hook agent answers the hook calls of coding agents, as JSON on stdin",
            "name it in the agent's hook settings; `docs/hooks.md` shows how",
        ));
    }
    let mut input = Vec::new();
    let read = stdin.lock().take(LIMIT).read_to_end(&mut input);
    let Some(call) = read.ok().and_then(|_| agent::call(&input)) else { return Ok(0) };
    let answered = match call.when {
        When::AfterTool => after_tool(cx, &call),
        When::Stop => stop(cx, &call),
        When::Other => Ok(0),
    };
    // An agent is not disturbed by what we could not find out.
    Ok(answered.unwrap_or_else(|failure| {
        tracing::info!("hook agent: {}", failure.message);
        0
    }))
}

fn placed(cx: &Context, call: &Call) -> Result<Place, Failure> {
    let mut global = cx.global.clone();
    global.dir = global.dir.or_else(|| call.cwd.clone());
    place::place(&global)
}

fn after_tool(cx: &Context, call: &Call) -> Result<u8, Failure> {
    if !agent::pushes(&call.command) {
        return Ok(0);
    }
    let place = placed(cx, call)?;
    let Some(head) = place.local_head() else { return Ok(0) };
    let mut memory = Memory::of(place.tree.common_dir(), cx.clock.now());
    if memory.was_told(&call.session, head.as_str()) || !was_pushed(cx, &place, &head)? {
        return Ok(0);
    }
    let Some(known) = known(cx, &place, AFTER_PUSH) else { return Ok(0) };
    let Some(words) = agent::after_push(&known, head.short()) else { return Ok(0) };
    memory.tell(&call.session, head.as_str())?;
    // An agent that closed the pipe does not want to know.
    let _ = std::io::stderr().write_all(words.as_bytes());
    Ok(2)
}

/// Whether HEAD was pushed a short time ago: a failed push leaves no such trace, whatever the command's exit code.
fn was_pushed(cx: &Context, place: &Place, head: &Sha) -> Result<bool, Failure> {
    let now = cx.clock.now().as_second();
    let recent = |at: i64| now.saturating_sub(at) <= RECENT_S;
    let seen = store::recall_pushes(place.tree.common_dir());
    if seen.iter().any(|push| push.sha == *head && recent(push.at.as_second())) {
        return Ok(true);
    }
    for (remote, branch) in place.aims() {
        for tracking in place.tree.tracking(remote, branch)? {
            if let LogTail::Push(at) = place.tree.log_tail(&tracking, head)?
                && recent(at)
                && place.tree.commit_of(&tracking)?.as_ref() == Some(head)
            {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

fn stop(cx: &Context, call: &Call) -> Result<u8, Failure> {
    let place = placed(cx, call)?;
    let mut memory = Memory::of(place.tree.common_dir(), cx.clock.now());
    if call.going_on || memory.kept_going(&call.session) {
        memory.set_kept_going(&call.session, false)?;
        return Ok(0);
    }
    let Some(reason) = known(cx, &place, BEFORE_STOP).as_ref().and_then(agent::on_stop) else { return Ok(0) };
    memory.set_kept_going(&call.session, true)?;
    output::stdout(&format!("{}\n", output::escaped(&json!({ "decision": "block", "reason": reason }).to_string())));
    Ok(0)
}

/// What is known of the pull request: stored state while it is fresh, else one look that may take this long, else what
/// was stored before.
fn known(cx: &Context, place: &Place, limit: Duration) -> Option<Known> {
    let stored = stored(place);
    if let Some((summary, age)) = &stored
        && *age <= FRESH
        && place.local_head().as_ref() == Some(&summary.pr.head)
        && summary.open_blocking().next().is_some()
    {
        return Some(from_state(summary));
    }
    match look(cx, &place.found.toplevel, limit) {
        Looked::Known(known) => Some(known),
        Looked::NoPull => None,
        Looked::Nothing => stored.map(|(summary, _)| from_state(&summary)),
    }
}

fn stored(place: &Place) -> Option<(Summary, Duration)> {
    let common = place.tree.common_dir();
    let (slug, number) = store::recall_pull(common, &place.host, &place.remote_branch)?;
    let pr = PrRef { host: place.host.clone(), slug, number };
    let store = FileStore::new(common, &place.found.toplevel, pr, "hook agent").ok()?;
    let written = std::fs::metadata(store.path()).and_then(|meta| meta.modified()).ok()?;
    match store.load(None).ok()? {
        Loaded::Known(summary) => Some((*summary, SystemTime::now().duration_since(written).unwrap_or_default())),
        Loaded::Absent | Loaded::Bad { .. } => None,
    }
}

fn from_state(summary: &Summary) -> Known {
    let mut findings: Vec<&Finding> = summary.workable().map(|entry| &entry.finding).collect();
    findings.sort_by_key(|finding| (finding.severity, finding.id));
    let open = findings.into_iter().map(|finding| Open {
        id: finding.id.to_string(),
        severity: finding.severity.to_string(),
        place: table::place(finding),
        title: one_line(&finding.title, TITLE),
    });
    Known {
        pr: format!("{}/{}#{}", summary.pr.owner, summary.pr.repo, summary.pr.number),
        open: open.collect(),
        awaited: Vec::new(),
        stored: true,
    }
}

enum Looked {
    Known(Known),
    NoPull,
    Nothing,
}

/// Looks once, in a process that can be ended when it takes too long.
fn look(cx: &Context, dir: &Utf8Path, limit: Duration) -> Looked {
    let Some((code, text)) = status(cx, dir, limit) else { return Looked::Nothing };
    let Ok(answer) = serde_json::from_str::<Value>(&text) else { return Looked::Nothing };
    match (code, answer["error"].is_null()) {
        (_, true) => from_json(&answer).map_or(Looked::Nothing, Looked::Known),
        (2, false) => Looked::NoPull,
        (_, false) => Looked::Nothing,
    }
}

fn status(cx: &Context, dir: &Utf8Path, limit: Duration) -> Option<(i32, String)> {
    let mut command = Command::new(std::env::current_exe().ok()?);
    command.args(["status", "--json", "-q", "-C", dir.as_str()]);
    for (flag, value) in [("--pr", &cx.global.pr), ("--repo", &cx.global.repo), ("--api-url", &cx.global.api_url)] {
        if let Some(value) = value {
            command.args([flag, value]);
        }
    }
    // One that is ended has written its state whole or not at all.
    let (status, said) = bounded::answer(&mut command, limit)?;
    Some((status.code()?, String::from_utf8(said).ok()?))
}

fn from_json(answer: &Value) -> Option<Known> {
    let pr = &answer["pr"];
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let blocking = |finding: &&Value| {
        finding["status"] == "open"
            && matches!(finding["severity"].as_str(), Some("P1" | "P2"))
            && finding["needs_person"] != json!(true)
    };
    let mut open: Vec<Open> = answer["findings"]
        .as_array()?
        .iter()
        .filter(blocking)
        .map(|finding| Open {
            id: word(&finding["id"]),
            severity: word(&finding["severity"]),
            place: match finding["line"].as_u64() {
                Some(line) => format!("{}:{line}", word(&finding["path"])),
                None => word(&finding["path"]),
            },
            title: one_line(&word(&finding["title"]), TITLE),
        })
        .collect();
    open.sort_by(|a, b| (&a.severity, &a.id).cmp(&(&b.severity, &b.id)));
    let awaited = |reviewer: &&Value| {
        reviewer["awaited"] == json!(true)
            && matches!(reviewer["state"].as_str(), Some("not_started" | "running" | "limited"))
    };
    let reviewers = answer["reviewers"].as_array()?.iter().filter(awaited);
    Some(Known {
        pr: format!("{}/{}#{}", word(&pr["owner"]), word(&pr["repo"]), pr["number"]),
        open,
        awaited: reviewers.map(|reviewer| word(&reviewer["name"])).collect(),
        stored: false,
    })
}
