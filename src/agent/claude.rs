//! Claude Code: `claude -p` with a stream of JSON events, edits accepted, nothing bypassed.
//!
//! Its exit status and its `subtype` say little: a refused login ends as `success` with `is_error`.

use std::io;

use jiff::Timestamp;
use serde_json::Value;

use super::drive::{Call, Dialect, Job, Sums};
use super::probe::Needs;
use super::transcript::{Transcript, by_status, by_words, count, event, schema, text};
use crate::ports::AgentOutcome;
use crate::process::clean::one_line;

/// Turns of one run; far above what a round needs, and still an end.
const TURNS: &str = "200";
/// Tries per request, unless the variable is set: by default a refused login is tried for more than a minute.
const RETRIES: &str = "4";

/// Claude Code.
pub(super) struct Claude;

impl Dialect for Claude {
    fn name(&self) -> &'static str {
        "claude"
    }

    fn passes(&self) -> &'static [&'static str] {
        &[
            "ANTHROPIC_*",
            "CLAUDE_CONFIG_DIR",
            "CLAUDE_CODE_OAUTH_TOKEN",
            "CLAUDE_CODE_MAX_OUTPUT_TOKENS",
            "CLAUDE_CODE_MAX_RETRIES",
            "CLAUDE_CODE_USE_BEDROCK",
            "CLAUDE_CODE_USE_VERTEX",
            "BASH_DEFAULT_TIMEOUT_MS",
            "BASH_MAX_TIMEOUT_MS",
        ]
    }

    fn needs(&self) -> Needs {
        Needs {
            ask: &["--help"],
            words: &[
                "--output-format",
                "--permission-mode",
                "acceptEdits",
                "--strict-mcp-config",
                "--allowedTools",
                "--json-schema",
            ],
        }
    }

    fn call(&self, job: &Job<'_>) -> io::Result<Call> {
        let mut args: Vec<String> = ["-p", "--output-format", "stream-json", "--verbose"].map(str::to_owned).to_vec();
        // Servers of the user's may hold rights at the forge.
        args.extend(["--permission-mode", "acceptEdits", "--strict-mcp-config"].map(str::to_owned));
        let allowed = job.brief.view.verify_commands.iter().filter_map(|command| permission(command)).flatten();
        let allowed: Vec<String> = allowed.collect();
        if !allowed.is_empty() {
            args.push("--allowedTools".to_owned());
            args.extend(allowed);
        }
        args.extend(["--max-turns".to_owned(), TURNS.to_owned(), "--json-schema".to_owned(), schema().to_string()]);
        if let Some(left) = job.brief.cost_left {
            // Its own stop, to the cent; ours comes before the next run.
            args.extend(["--max-budget-usd".to_owned(), format!("{:.2}", left.max(0.01))]);
        }
        if let Some(model) = job.model {
            args.extend(["--model".to_owned(), model.to_owned()]);
        }
        if let Some(session) = job.session {
            args.extend(["--resume".to_owned(), session.to_owned()]);
        }
        args.extend_from_slice(job.extra);
        let quiet = ["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_AUTOUPDATER"];
        let mut env: Vec<_> = quiet.map(|name| (name, "1".to_owned())).to_vec();
        if std::env::var_os("CLAUDE_CODE_MAX_RETRIES").is_none() {
            env.push(("CLAUDE_CODE_MAX_RETRIES", RETRIES.to_owned()));
        }
        Ok(Call { args, env, stdin: job.prompt.to_owned() })
    }

    fn hear(&self, seen: &mut Transcript, line: &str) {
        let Some(event) = event(line) else { return };
        match text(&event, "/type") {
            "assistant" => assistant(seen, &event),
            "user" => tool_results(seen, &event),
            "rate_limit_event" => limit(seen, &event),
            "result" => result(seen, &event, Timestamp::now()),
            _ => {}
        }
    }

    fn doing(&self, line: &str) -> Option<String> {
        if let Some(event) = event(line) {
            let blocks = event.pointer("/message/content")?.as_array()?;
            return blocks.iter().rev().find_map(|block| match text(block, "/type") {
                "tool_use" => Some(tool(text(block, "/name"), &block["input"])),
                "text" if text(&event, "/type") == "assistant" => Some(text(block, "/text").to_owned()),
                _ => None,
            });
        }
        // A long line arrives cut: the file is still named near its beginning.
        let name = after(line, "\"type\":\"tool_use\"").and_then(|rest| value_of(rest, "name"))?;
        Some(format!("{name} {}", value_of(line, "file_path").unwrap_or_default()))
    }

    fn last_word(&self) -> Option<&'static str> {
        // Inside of a text the quotes would be escaped.
        Some("\"type\":\"result\"")
    }

    fn sums(&self) -> Sums {
        Sums::Cost
    }
}

/// Lets a command of the verifier run, alone and with arguments; `None` where it cannot be said in a rule.
fn permission(command: &str) -> Option<[String; 2]> {
    let plain = !command.trim().is_empty() && !command.contains(['(', ')', '\n', ',', ':', '*']);
    plain.then(|| [format!("Bash({command})"), format!("Bash({command}:*)")])
}

fn tool(name: &str, input: &Value) -> String {
    let about = ["file_path", "notebook_path", "path", "command", "pattern", "description"];
    let about = about.iter().find_map(|key| input.get(*key)?.as_str()).unwrap_or_default();
    format!("{name} {about}").trim_end().to_owned()
}

fn after<'a>(line: &'a str, mark: &str) -> Option<&'a str> {
    line.find(mark).map(|at| &line[at + mark.len()..])
}

fn value_of<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    after(line, &format!("\"{key}\":\"")).and_then(|rest| rest.split('"').next())
}

fn assistant(seen: &mut Transcript, event: &Value) {
    // Errors of the service come as messages of a model that does not exist.
    if text(event, "/message/model") == "<synthetic>" {
        return;
    }
    for block in event.pointer("/message/content").and_then(Value::as_array).into_iter().flatten() {
        match text(block, "/type") {
            "text" => seen.say(text(block, "/text")),
            "tool_use" => seen.worked = true,
            _ => {}
        }
    }
}

/// The tool's name is on another line than its result; the shape of the result tells an edit.
fn tool_results(seen: &mut Transcript, event: &Value) {
    let result = &event["tool_use_result"];
    if result.get("filePath").is_some() && (result.get("structuredPatch").is_some() || result.get("content").is_some())
    {
        seen.edited = true;
    }
}

fn limit(seen: &mut Transcript, event: &Value) {
    let info = &event["rate_limit_info"];
    let at = info.get("resetsAt").and_then(Value::as_i64).and_then(|at| Timestamp::from_second(at).ok());
    if text(info, "/status") == "rejected" {
        seen.limit_ends = at;
    }
}

fn result(seen: &mut Transcript, event: &Value, now: Timestamp) {
    // Background work may lead to a second result: the last one counts.
    (seen.finished, seen.failure) = (false, None);
    let said = text(event, "/result");
    if !said.trim().is_empty() {
        said.clone_into(&mut seen.text);
    } else if event.get("is_error").and_then(Value::as_bool) == Some(false) {
        // What was said before the last request is not its last word.
        seen.text.clear();
    }
    seen.answer = event.get("structured_output").filter(|value| !value.is_null()).cloned();
    seen.session = Some(text(event, "/session_id").to_owned()).filter(|id| !id.is_empty());
    seen.cost_usd = event.get("total_cost_usd").and_then(Value::as_f64).unwrap_or(0.0);
    let parts = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens"];
    seen.tokens = parts.iter().map(|part| count(event, &format!("/usage/{part}"))).sum();
    for denial in event.get("permission_denials").and_then(Value::as_array).into_iter().flatten() {
        seen.deny(&tool(text(denial, "/tool_name"), &denial["tool_input"]));
    }
    seen.failure = failure(event, said, seen.limit_ends, now);
    seen.finished = seen.failure.is_none();
}

fn failure(event: &Value, said: &str, limit_ends: Option<Timestamp>, now: Timestamp) -> Option<AgentOutcome> {
    let subtype = text(event, "/subtype");
    let bad = event.get("is_error").and_then(Value::as_bool) == Some(true);
    let status = count(event, "/api_error_status");
    let why = || one_line(if said.is_empty() { subtype } else { said }, 200);
    match subtype {
        "error_max_turns" => return Some(AgentOutcome::LimitHit("its number of turns".to_owned())),
        "error_max_budget_usd" => return Some(AgentOutcome::LimitHit("its budget".to_owned())),
        // Seen after an interrupt, together with exit 0.
        "error_during_execution" => return Some(AgentOutcome::Cancelled),
        _ => {}
    }
    if text(event, "/stop_reason") == "refusal" {
        return Some(AgentOutcome::Refused(why()));
    }
    if !bad && !subtype.starts_with("error") {
        return None;
    }
    if status >= 400
        && let Some(outcome) = by_status(status, said, limit_ends, now)
    {
        return Some(outcome);
    }
    let known = by_words(said, now).map(|outcome| match outcome {
        AgentOutcome::RateLimited { why, retry_at } => {
            AgentOutcome::RateLimited { why, retry_at: retry_at.or(limit_ends) }
        }
        other => other,
    });
    Some(known.unwrap_or_else(|| AgentOutcome::Crashed(why())))
}
