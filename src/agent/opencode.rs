//! opencode: `opencode run --format json`. It has no sandbox, so its shell is held to a list of commands.

use std::io;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::drive::{Call, Dialect, Job};
use super::probe::Needs;
use super::transcript::{Transcript, by_status, by_words, count, event, text};
use crate::ports::AgentOutcome;
use crate::process::clean::one_line;

/// Commands that only look.
const LOOKS: &[&str] =
    &["ls", "cat", "head", "tail", "wc", "grep", "rg", "git status", "git diff", "git log", "git show", "git blame"];

/// opencode.
pub(super) struct Opencode;

impl Dialect for Opencode {
    fn name(&self) -> &'static str {
        "opencode"
    }

    fn passes(&self) -> &'static [&'static str] {
        &[
            "OPENCODE_CONFIG",
            "OPENCODE_CONFIG_DIR",
            "OPENCODE_CONFIG_CONTENT",
            "OPENCODE_API_KEY",
            "ANTHROPIC_*",
            "OPENAI_*",
            "OPENROUTER_API_KEY",
            "GEMINI_API_KEY",
            "GOOGLE_GENERATIVE_AI_API_KEY",
            "GROQ_API_KEY",
            "MISTRAL_API_KEY",
            "DEEPSEEK_API_KEY",
            "XAI_API_KEY",
        ]
    }

    fn needs(&self) -> Needs {
        Needs { ask: &["run", "--help"], words: &["--format", "--session", "--model"] }
    }

    fn call(&self, job: &Job<'_>) -> io::Result<Call> {
        let mut args: Vec<String> = ["run", "--format", "json"].map(str::to_owned).to_vec();
        if let Some(model) = job.model {
            args.extend(["-m".to_owned(), model.to_owned()]);
        }
        if let Some(session) = job.session {
            args.extend(["-s".to_owned(), session.to_owned()]);
        }
        args.extend_from_slice(job.extra);
        let mut env: Vec<_> =
            ["OPENCODE_DISABLE_AUTOUPDATE", "OPENCODE_DISABLE_MODELS_FETCH", "OPENCODE_DISABLE_LSP_DOWNLOAD"]
                .map(|name| (name, "1".to_owned()))
                .to_vec();
        env.push(("OPENCODE_PERMISSION", permissions(&job.brief.view.verify_commands).to_string()));
        Ok(Call { args, env, stdin: job.prompt.to_owned() })
    }

    fn hear(&self, seen: &mut Transcript, line: &str) {
        let Some(event) = event(line) else { return };
        let id = text(&event, "/sessionID");
        if !id.is_empty() {
            seen.session = Some(id.to_owned());
        }
        let part = &event["part"];
        match text(&event, "/type") {
            "text" => seen.say(text(part, "/text")),
            "tool_use" => tool(seen, part),
            "step_start" => {
                // What was said before a tool ran is not its last word.
                seen.text.clear();
                seen.finished = false;
            }
            "step_finish" => {
                let parts = ["input", "output", "reasoning", "cache/read", "cache/write"];
                seen.tokens += parts.iter().map(|name| count(part, &format!("/tokens/{name}"))).sum::<u64>();
                seen.cost_usd += part.get("cost").and_then(Value::as_f64).unwrap_or(0.0);
                // An answer that broke off; it asks again, without end.
                let broken = text(part, "/reason") == "unknown" && count(part, "/tokens/output") == 0;
                let why = "its service breaks off its answers".to_owned();
                seen.trouble = broken.then_some(AgentOutcome::Overloaded(why));
                match text(part, "/reason") {
                    "stop" => seen.finished = true,
                    "content-filter" => seen.failure = Some(AgentOutcome::Refused("content filter".to_owned())),
                    "length" => seen.failure = Some(AgentOutcome::LimitHit("the length of an answer".to_owned())),
                    _ => {}
                }
            }
            "error" => seen.failure = Some(failure(&event["error"], Timestamp::now())),
            _ => {}
        }
    }

    fn doing(&self, line: &str) -> Option<String> {
        let event = event(line)?;
        let part = &event["part"];
        match text(&event, "/type") {
            "tool_use" => {
                let input = part.pointer("/state/input")?;
                let about = ["filePath", "path", "command", "pattern"];
                let about = about.iter().find_map(|key| input.get(*key)?.as_str()).unwrap_or_default();
                Some(format!("{} {about}", text(part, "/tool")))
            }
            "text" => Some(text(part, "/text").to_owned()),
            _ => None,
        }
    }

    fn last_word(&self) -> Option<&'static str> {
        Some("\"reason\":\"stop\"")
    }
}

/// Every right is either given or refused: a question would wait for nobody.
fn permissions(verify: &[String]) -> Value {
    // Sorted as they are written, `*` comes first, and the last rule that fits decides.
    let mut shell = Map::new();
    shell.insert("*".to_owned(), json!("deny"));
    for command in LOOKS.iter().copied().chain(verify.iter().map(String::as_str)) {
        if !command.contains(['*', '?', '\n']) {
            shell.insert(command.to_owned(), json!("allow"));
            shell.insert(format!("{command} *"), json!("allow"));
        }
    }
    json!({ "edit": "allow", "bash": shell, "external_directory": "deny", "webfetch": "deny", "doom_loop": "deny" })
}

fn tool(seen: &mut Transcript, part: &Value) {
    seen.worked = true;
    let name = text(part, "/tool");
    match text(part, "/state/status") {
        "completed" => seen.edited |= matches!(name, "edit" | "write" | "patch" | "apply_patch" | "multiedit"),
        "error" => {
            let why = text(part, "/state/error").to_lowercase();
            let words = ["permission", "rejected", "denied", "not allowed", "prevents you"];
            if words.iter().any(|word| why.contains(word)) {
                let about = ["command", "filePath"];
                let about = about.iter().find_map(|key| part.pointer(&format!("/state/input/{key}"))?.as_str());
                seen.deny(format!("{name} {}", about.unwrap_or_default()).trim_end());
            }
        }
        _ => {}
    }
}

fn failure(error: &Value, now: Timestamp) -> AgentOutcome {
    let name = text(error, "/name");
    let said = text(error, "/data/message");
    let why = one_line(if said.is_empty() { name } else { said }, 200);
    match name {
        "ContentFilterError" => return AgentOutcome::Refused(why),
        "ProviderAuthError" => return AgentOutcome::AuthFailed(why),
        "MessageOutputLengthError" => return AgentOutcome::LimitHit(why),
        "MessageAbortedError" => return AgentOutcome::Cancelled,
        _ => {}
    }
    let known = by_status(count(error, "/data/statusCode"), said, None, now).or_else(|| by_words(said, now));
    known.unwrap_or(AgentOutcome::Crashed(why))
}
