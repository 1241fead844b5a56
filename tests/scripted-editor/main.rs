//! An editor that follows a script, for tests and the demo. It is a `command` agent:
//!
//! ```text
//! scripted-editor SCENARIO.json
//! ```
//!
//! The scenario:
//!
//! ```json
//! {
//!   "record": "/tmp/seen",
//!   "rounds": {
//!     "1": {
//!       "say": ["working"],
//!       "sleep_ms": 0,
//!       "edits": [{ "path": "src/a.rs", "replace": "old", "with": "new" },
//!                 { "path": "src/b.rs", "write": "whole file\n" },
//!                 { "path": "src/c.rs", "append": "one more line\n" },
//!                 { "path": "src/d.rs", "delete": true }],
//!       "decisions": [{ "id": "c1", "decision": "fix" }],
//!       "run": ["git commit -qam wip"],
//!       "misbehave": ["daemon"],
//!       "exit": 0
//!     }
//!   },
//!   "otherwise": {},
//!   "findings": [{ "contains": "off by one", "edits": [], "decision": "argue", "reason": "..." }]
//! }
//! ```
//!
//! Everything may be left out. `rounds` is looked up by `PUSHBACK_ROUND`, else `otherwise` is done. The order within a
//! round is: record, say, sleep, edits, decisions, run, misbehave, exit. `findings` answers by what was said: for every
//! finding of the round whose text contains the words, its edits are made and its decision is added (`id` is filled in).
//! `decisions_text` writes this text, whatever it is, in place of decisions. `record` is a folder that receives
//! `prompt-N.txt`, `env-N.txt` and `findings-N.json`.
//!
//! Misbehaviours: `commit amend reset switch` (git), `outside` (writes beside the worktree), `hang` (for ever, silent),
//! `chat` (for ever, loud), `daemon` (a process in a session of its own, ignoring TERM), `child` (a plain one),
//! `storm` (processes that replace themselves faster than they can be listed), `flood` (1 GB), `long-line` (100 MB),
//! `binary`, `kill-parent`, `stop-parent`, `no-input` (leaves standard input unread).
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an editor talks to its terminal")]

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct Scenario {
    record: Option<PathBuf>,
    rounds: BTreeMap<String, Round>,
    otherwise: Round,
    findings: Vec<Answer>,
}

#[derive(Deserialize, Default, Clone)]
#[serde(default, deny_unknown_fields)]
struct Round {
    say: Vec<String>,
    sleep_ms: u64,
    edits: Vec<Edit>,
    decisions: Vec<Value>,
    decisions_text: Option<String>,
    run: Vec<String>,
    misbehave: Vec<String>,
    exit: u8,
}

#[derive(Deserialize, Default, Clone)]
#[serde(default, deny_unknown_fields)]
struct Edit {
    path: PathBuf,
    replace: Option<String>,
    with: String,
    write: Option<String>,
    append: Option<String>,
    delete: bool,
}

#[derive(Deserialize)]
struct Answer {
    contains: String,
    #[serde(default)]
    edits: Vec<Edit>,
    #[serde(flatten)]
    decision: serde_json::Map<String, Value>,
}

type Done = Result<(), Box<dyn Error>>;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().collect();
    if args.get(1).is_some_and(|arg| arg == "__storm") {
        return storm(args.get(2).and_then(|until| until.parse().ok()).unwrap_or(0));
    }
    match act(args.get(1).map_or("", String::as_str)) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("scripted-editor: {error}");
            ExitCode::from(70)
        }
    }
}

fn act(path: &str) -> Result<u8, Box<dyn Error>> {
    let scenario: Scenario = serde_json::from_str(&std::fs::read_to_string(path)?)?;
    let number = std::env::var("PUSHBACK_ROUND").unwrap_or_default();
    let round = scenario.rounds.get(&number).unwrap_or(&scenario.otherwise);
    let mut prompt = Vec::new();
    if !round.misbehave.iter().any(|word| word == "no-input") {
        std::io::stdin().read_to_end(&mut prompt)?;
    }
    let findings = std::env::var("PUSHBACK_FINDINGS").ok().and_then(|path| std::fs::read_to_string(path).ok());
    if let Some(folder) = &scenario.record {
        record(folder, &number, &prompt, findings.as_deref())?;
    }
    for line in &round.say {
        println!("{line}");
    }
    sleep(Duration::from_millis(round.sleep_ms));
    round.edits.iter().try_for_each(edit)?;
    let mut decisions = round.decisions.clone();
    answer(&scenario.findings, findings.as_deref(), &mut decisions)?;
    decide(round, &decisions)?;
    for line in &round.run {
        let status = Command::new("sh").args(["-c", line]).stdin(Stdio::null()).status()?;
        if !status.success() {
            println!("`{line}` ended with {status}");
        }
    }
    for word in &round.misbehave {
        misbehave(word)?;
    }
    Ok(round.exit)
}

fn record(folder: &Path, round: &str, prompt: &[u8], findings: Option<&str>) -> Done {
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join(format!("prompt-{round}.txt")), prompt)?;
    let env: Vec<String> = std::env::vars().map(|(name, value)| format!("{name}={value}\n")).collect();
    std::fs::write(folder.join(format!("env-{round}.txt")), env.concat())?;
    Ok(std::fs::write(folder.join(format!("findings-{round}.json")), findings.unwrap_or_default())?)
}

fn edit(edit: &Edit) -> Done {
    let path = &edit.path;
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    if edit.delete {
        std::fs::remove_file(path)?;
    }
    if let Some(text) = &edit.write {
        std::fs::write(path, text)?;
    }
    if let Some(old) = &edit.replace {
        let text = std::fs::read_to_string(path)?;
        if !text.contains(old.as_str()) {
            return Err(format!("{} does not contain {old:?}", path.display()).into());
        }
        std::fs::write(path, text.replacen(old.as_str(), &edit.with, 1))?;
    }
    if let Some(text) = &edit.append {
        std::fs::OpenOptions::new().append(true).create(true).open(path)?.write_all(text.as_bytes())?;
    }
    Ok(())
}

fn answer(answers: &[Answer], findings: Option<&str>, decisions: &mut Vec<Value>) -> Done {
    let Some(findings) = findings.filter(|_| !answers.is_empty()) else { return Ok(()) };
    let findings: Value = serde_json::from_str(findings)?;
    for finding in findings["review_findings"].as_array().into_iter().flatten() {
        let text = finding["text"].as_str().unwrap_or_default();
        let Some(found) = answers.iter().find(|answer| text.contains(&answer.contains)) else { continue };
        found.edits.iter().try_for_each(edit)?;
        if found.decision.contains_key("decision") {
            let mut decision = found.decision.clone();
            decision.insert("id".to_owned(), finding["id"].clone());
            decisions.push(Value::Object(decision));
        }
    }
    Ok(())
}

fn decide(round: &Round, decisions: &[Value]) -> Done {
    let Ok(path) = std::env::var("PUSHBACK_DECISIONS") else { return Ok(()) };
    match &round.decisions_text {
        Some(text) => std::fs::write(path, text)?,
        None if decisions.is_empty() => {}
        None => std::fs::write(path, json!({ "schema_version": 1, "decisions": decisions }).to_string())?,
    }
    Ok(())
}

fn sh(line: &str) -> Done {
    Command::new("sh").args(["-c", line]).stdin(Stdio::null()).spawn()?.wait()?;
    Ok(())
}

fn misbehave(word: &str) -> Done {
    match word {
        "commit" => sh("git -c user.name=e -c user.email=e@e commit -qam 'by the editor'"),
        "amend" => sh("git -c user.name=e -c user.email=e@e commit -q --amend -am amended"),
        "reset" => sh("git reset -q --hard HEAD~1"),
        "switch" => sh("git switch -q -c elsewhere"),
        "outside" => Ok(std::fs::write("../outside.txt", "written by the editor\n")?),
        "hang" => loop {
            sleep(Duration::from_secs(1));
        },
        "chat" => loop {
            println!("still here");
            sleep(Duration::from_millis(20));
        },
        "child" => sh("sleep 300 &"),
        "daemon" => sh("(trap '' TERM HUP; setsid sh -c 'trap \"\" TERM HUP; while :; do sleep 1; done' &)"),
        "storm" => {
            let until = (std::time::UNIX_EPOCH.elapsed()? + Duration::from_secs(60)).as_secs();
            for _ in 0..10 {
                Command::new(std::env::current_exe()?).args(["__storm", &until.to_string()]).spawn()?;
            }
            sleep(Duration::from_millis(100));
            Ok(())
        }
        "flood" => repeat(&[b"line of a flood\n".repeat(4096)].concat(), 1 << 30),
        "long-line" => repeat(&vec![b'x'; 65536], 100 << 20).and_then(|()| repeat(b"\n", 1)),
        "binary" => repeat(&(0..=255).collect::<Vec<u8>>(), 1 << 20),
        "kill-parent" => sh(&format!("kill -KILL {}; sleep 300", std::os::unix::process::parent_id())),
        "stop-parent" => sh(&format!("kill -STOP {}; sleep 300", std::os::unix::process::parent_id())),
        "no-input" => Ok(()),
        _ => Err(format!("unknown misbehaviour {word:?}").into()),
    }
}

fn repeat(piece: &[u8], bytes: usize) -> Done {
    let mut out = std::io::stdout().lock();
    for _ in 0..bytes.div_ceil(piece.len()) {
        out.write_all(piece)?;
    }
    Ok(out.flush()?)
}

/// Replaces itself by a successor in another session, until the time is up.
fn storm(until: u64) -> ExitCode {
    let started = Instant::now();
    while started.elapsed() < Duration::from_millis(2) {}
    if std::time::UNIX_EPOCH.elapsed().is_ok_and(|now| now.as_secs() < until)
        && let Ok(program) = std::env::current_exe()
    {
        // Out of processes is one way for a storm to end.
        let _ = Command::new("setsid").arg(program).args(["__storm", &until.to_string()]).spawn();
    }
    ExitCode::SUCCESS
}
