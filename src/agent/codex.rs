//! Codex: `codex exec --json` with the brief on standard input, in its own sandbox with the worktree writable.
//!
//! It says nothing about refusals: a turn that completes without a word or a deed is one.

use std::io;

use jiff::Timestamp;
use serde_json::Value;

use super::drive::{Call, Dialect, Job, Sums};
use super::probe::Needs;
use super::transcript::{Transcript, by_words, count, event, schema, text};
use crate::ports::AgentOutcome;
use crate::process::clean::one_line;

/// What keeps it from looking up anything but its model's service, and from servers that may hold rights at the forge.
const QUIET: &[&str] = &[
    "analytics.enabled=false",
    "check_for_update_on_startup=false",
    "features.plugins=false",
    "features.apps=false",
    "mcp_servers={}",
];

/// Words in a command's output that tell of the sandbox.
const BLOCKED: &[&str] =
    &["Read-only file system", "Operation not permitted", "Permission denied", "rejected by", "sandbox denied"];

/// Codex.
pub(super) struct Codex;

impl Dialect for Codex {
    fn name(&self) -> &'static str {
        "codex"
    }

    fn passes(&self) -> &'static [&'static str] {
        &["OPENAI_*", "CODEX_HOME", "CODEX_API_KEY"]
    }

    fn needs(&self) -> Needs {
        Needs {
            ask: &["exec", "--help"],
            words: &["--json", "--skip-git-repo-check", "--sandbox", "workspace-write", "--output-schema"],
        }
    }

    fn call(&self, job: &Job<'_>) -> io::Result<Call> {
        let file = job.folder.join("schema.json");
        std::fs::write(&file, schema().to_string())?;
        let mut args: Vec<String> =
            ["exec", "--json", "--skip-git-repo-check", "-s", "workspace-write"].map(str::to_owned).to_vec();
        for setting in QUIET {
            args.extend(["-c".to_owned(), (*setting).to_owned()]);
        }
        args.extend(["--output-schema".to_owned(), file.into_string()]);
        if let Some(model) = job.model {
            args.extend(["-m".to_owned(), model.to_owned()]);
        }
        args.extend_from_slice(job.extra);
        if let Some(session) = job.session {
            args.extend(["resume".to_owned(), session.to_owned()]);
        }
        args.push("-".to_owned());
        Ok(Call { args, env: Vec::new(), stdin: job.prompt.to_owned() })
    }

    fn hear(&self, seen: &mut Transcript, line: &str) {
        let Some(event) = event(line) else { return };
        let now = Timestamp::now();
        match text(&event, "/type") {
            "thread.started" => {
                seen.session = Some(text(&event, "/thread_id").to_owned()).filter(|id| !id.is_empty());
            }
            "turn.started" => (seen.finished, seen.failure) = (false, None),
            "item.completed" => item(seen, &event["item"]),
            "turn.completed" => {
                seen.tokens = count(&event, "/usage/input_tokens") + count(&event, "/usage/output_tokens");
                seen.finished = true;
                if !seen.worked {
                    let why = "its turn ended without a word or a deed";
                    seen.failure = Some(AgentOutcome::Refused(why.to_owned()));
                }
            }
            "turn.failed" => {
                let why = text(&event, "/error/message");
                let known = by_words(why, now).or_else(|| seen.trouble.clone());
                seen.failure = Some(known.unwrap_or_else(|| AgentOutcome::Crashed(one_line(why, 200))));
            }
            // A notice before it tries again, or the last thing it says.
            "error" => seen.trouble = by_words(text(&event, "/message"), now).or_else(|| seen.trouble.take()),
            _ => {}
        }
    }

    fn doing(&self, line: &str) -> Option<String> {
        let event = event(line)?;
        let item = &event["item"];
        match text(item, "/type") {
            "command_execution" => Some(format!("runs {}", text(item, "/command"))),
            "file_change" => Some(format!("edits {}", paths(item))),
            "agent_message" | "reasoning" => Some(text(item, "/text").to_owned()),
            _ => None,
        }
    }

    fn prices(&self) -> bool {
        false
    }

    fn last_word(&self) -> Option<&'static str> {
        Some("\"type\":\"turn.completed\"")
    }

    fn sums(&self) -> Sums {
        Sums::Tokens
    }
}

fn paths(item: &Value) -> String {
    let changes = item.get("changes").and_then(Value::as_array).into_iter().flatten();
    changes.map(|change| text(change, "/path")).collect::<Vec<_>>().join(", ")
}

fn item(seen: &mut Transcript, item: &Value) {
    let status = text(item, "/status");
    match text(item, "/type") {
        "agent_message" => seen.say(text(item, "/text")),
        "file_change" => {
            seen.worked = true;
            match status {
                "completed" => seen.edited = true,
                _ => seen.deny(&format!("edit of {}", paths(item))),
            }
        }
        "command_execution" => {
            seen.worked = true;
            let blocked = BLOCKED.iter().any(|words| text(item, "/aggregated_output").contains(words));
            if status == "declined" || status == "failed" && blocked {
                seen.deny(text(item, "/command"));
            }
        }
        "mcp_tool_call" | "web_search" => seen.worked = true,
        _ => {}
    }
}
