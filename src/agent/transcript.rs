//! What an editor's stored output came to: the one shape that every dialect is read into, and how a run is judged by it.
//!
//! Words of the model are no proof of work. They only decide between "it says it is done" and the ways of not being done.

use std::io::{self, BufRead, BufReader};

use camino::Utf8Path;
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::outcome::{environment_failure, last_line, late};
use crate::ports::AgentOutcome;
use crate::process::clean::one_line;
use crate::process::{Ended, Why, bounded};

/// Longest text that is kept of a message.
const TEXT: usize = 256 * 1024;

/// What a stream told.
#[derive(Debug, Default)]
pub(super) struct Transcript {
    /// The event that ends a good run was there.
    pub(super) finished: bool,
    /// What the stream itself says went wrong.
    pub(super) failure: Option<AgentOutcome>,
    /// An error that it tried again after; it counts when a clock of ours ended the run.
    pub(super) trouble: Option<AgentOutcome>,
    /// The last message of the model.
    pub(super) text: String,
    /// The answer, where the program holds the model to a schema.
    pub(super) answer: Option<Value>,
    /// Name of the session.
    pub(super) session: Option<String>,
    /// Tokens, both ways.
    pub(super) tokens: u64,
    /// Money in US dollars.
    pub(super) cost_usd: f64,
    /// Tools that it was denied.
    pub(super) denied: Vec<String>,
    /// A tool that changes files has succeeded.
    pub(super) edited: bool,
    /// The model did something: a message or a tool.
    pub(super) worked: bool,
    /// When the limit ends, where that was told apart from the error.
    pub(super) limit_ends: Option<Timestamp>,
}

impl Transcript {
    /// Keeps the latest message.
    pub(super) fn say(&mut self, text: &str) {
        self.worked = true;
        if !text.trim().is_empty() {
            let end = (0..=text.len().min(TEXT)).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            text[..end].clone_into(&mut self.text);
        }
    }

    /// Remembers a denied tool once.
    pub(super) fn deny(&mut self, tool: &str) {
        let tool = one_line(tool, 120);
        if !self.denied.contains(&tool) && self.denied.len() < 20 {
            self.denied.push(tool);
        }
    }

    /// Returns the answers to the findings: the ones held to a schema, or the ones in the last message.
    pub(super) fn decisions(&self) -> Option<Value> {
        let held = self.answer.as_ref().filter(|value| answers(value)).cloned();
        held.or_else(|| found_in(&self.text)).map(without_nulls)
    }
}

/// Hands every line of a stored output over; what is not text is replaced.
pub(super) fn each_line(path: &Utf8Path, mut take: impl FnMut(&str)) -> io::Result<()> {
    let mut reader = BufReader::new(bounded::open(path)?);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        take(String::from_utf8_lossy(&line).trim_end());
        line.clear();
    }
    Ok(())
}

/// Reads a line as an event; anything but a JSON object is none.
pub(super) fn event(line: &str) -> Option<Value> {
    let line = line.trim_start();
    line.starts_with('{').then(|| serde_json::from_str(line).ok()).flatten()
}

/// Returns a text field.
pub(super) fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Returns a count.
pub(super) fn count(value: &Value, pointer: &str) -> u64 {
    value.pointer(pointer).and_then(Value::as_u64).unwrap_or(0)
}

/// Turns a status of the model's service into an outcome; `None` where the status alone says little.
pub(super) fn by_status(status: u64, why: &str, retry_at: Option<Timestamp>, now: Timestamp) -> Option<AgentOutcome> {
    let why = format!("{status}: {}", one_line(why, 200));
    match status {
        401 | 403 => Some(AgentOutcome::AuthFailed(why)),
        402 | 429 => {
            let told = match environment_failure(&why, now) {
                Some(AgentOutcome::RateLimited { retry_at, .. }) => retry_at,
                _ => None,
            };
            Some(AgentOutcome::RateLimited { why, retry_at: retry_at.or(told) })
        }
        408 | 500..=599 => Some(AgentOutcome::Overloaded(why)),
        _ => None,
    }
}

/// Turns the words of an error event into an outcome of the environment.
pub(super) fn by_words(why: &str, now: Timestamp) -> Option<AgentOutcome> {
    const UNREACHABLE: &[&str] = &[
        "unable to connect",
        "connection refused",
        "connection reset",
        "connectionrefused",
        "connection error",
        "error sending request",
        "econnrefused",
        "econnreset",
        "enotfound",
        "eai_again",
        "etimedout",
        "failed to lookup address",
        "could not resolve",
        "dns error",
        "network error",
        "fetch failed",
        "socket connection was closed",
        "stream disconnected before completion",
        "empty or malformed response",
    ];
    let low = why.to_lowercase();
    environment_failure(why, now).or_else(|| {
        let unreachable = UNREACHABLE.iter().any(|words| low.contains(words));
        unreachable.then(|| AgentOutcome::Overloaded(format!("no answer from its service: {}", one_line(why, 200))))
    })
}

/// Whether the editor answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answered {
    /// In no way.
    No,
    /// In the right shape, without an answer to anything.
    Empty,
    /// At least something.
    Yes,
}

impl Answered {
    /// Tells how much there is in an answer.
    pub(super) fn by(answer: Option<&Value>) -> Self {
        match answer.and_then(|answer| answer.get("decisions")).and_then(Value::as_array) {
            None => Self::No,
            Some(decisions) if decisions.is_empty() => Self::Empty,
            Some(_) => Self::Yes,
        }
    }
}

/// What else is known when a run is judged.
pub(super) struct Facts<'a> {
    /// How its process ended.
    pub(super) ended: &'a Ended,
    /// What it answered the findings.
    pub(super) answered: Answered,
    /// Its standard error, cleaned.
    pub(super) stderr: &'a str,
    /// Limit of the run in seconds.
    pub(super) wall: u64,
    /// Now.
    pub(super) now: Timestamp,
}

/// Tells how a run ended.
pub(super) fn judge(seen: &Transcript, facts: &Facts<'_>) -> AgentOutcome {
    let last = last_line(if seen.text.is_empty() { facts.stderr } else { &seen.text });
    let after = match one_line(last, 200) {
        last if last.is_empty() => String::new(),
        last => format!("; its last words: {last}"),
    };
    let late = |why: &str| match (&seen.failure, &seen.trouble) {
        (Some(known), _) | (None, Some(known)) if known.environment() => known.clone(),
        _ => late(why, last),
    };
    match facts.ended.why {
        Why::Exit | Why::Quiet => exited(seen, facts, &after),
        Why::Wall => late(&format!("editor timed out after {} s", facts.wall)),
        Why::Silence => late("editor said nothing for too long"),
        Why::FirstOutput => late("editor never said anything"),
        Why::Interrupted | Why::Lifeline => AgentOutcome::Cancelled,
    }
}

fn exited(seen: &Transcript, facts: &Facts<'_>, after: &str) -> AgentOutcome {
    let code = match facts.ended.why {
        Why::Quiet => Some(0),
        Why::Exit | Why::Wall | Why::Silence | Why::FirstOutput | Why::Lifeline | Why::Interrupted => facts.ended.code,
    };
    let environment = || by_words(facts.stderr, facts.now);
    match &seen.failure {
        // An interrupt ends in peace; with another exit it is an error of its own.
        Some(AgentOutcome::Cancelled) if code != Some(0) => {
            return environment().unwrap_or_else(|| AgentOutcome::Crashed(format!("editor broke off{after}")));
        }
        Some(failure) => return failure.clone(),
        None => {}
    }
    match code {
        None => {
            let signal = facts.ended.signal.unwrap_or(0);
            return AgentOutcome::Crashed(format!("editor was ended by signal {signal}{after}"));
        }
        // What a shell or a runtime makes of a signal that it caught.
        Some(code @ (130 | 137 | 143)) => {
            return AgentOutcome::Crashed(format!("editor was ended by signal {}{after}", code - 128));
        }
        Some(0) if seen.finished => {}
        Some(0) => {
            return environment()
                .unwrap_or_else(|| AgentOutcome::Unparseable(format!("it exited without a last event{after}")));
        }
        Some(code) => {
            return environment().unwrap_or_else(|| AgentOutcome::Crashed(format!("editor exited with {code}{after}")));
        }
    }
    if facts.answered == Answered::Yes {
        return AgentOutcome::Completed;
    }
    if !seen.denied.is_empty() && !seen.edited {
        return AgentOutcome::Denied(seen.denied.clone());
    }
    if facts.answered == Answered::No && seen.text.trim().is_empty() {
        return AgentOutcome::Unparseable("it ended without a word and without an answer".to_owned());
    }
    let quota = if seen.edited { None } else { environment_failure(last_line(&seen.text), facts.now) };
    quota.unwrap_or(AgentOutcome::Completed)
}

fn answers(value: &Value) -> bool {
    value.get("decisions").is_some_and(Value::is_array)
}

/// Finds the last JSON object in a text that answers findings.
pub(super) fn found_in(text: &str) -> Option<Value> {
    // Only where an answer can begin: a hostile text of a million braces is not parsed a million times.
    let begins = |at: &usize| {
        let rest = text[at + 1..].trim_start();
        rest.starts_with("\"decisions\"") || rest.starts_with("\"schema_version\"")
    };
    let starts = text.match_indices('{').map(|(at, _)| at).filter(begins);
    let tail: Vec<usize> = starts.collect();
    tail.iter().rev().take(8).find_map(|at| {
        let value = serde_json::Deserializer::from_str(&text[*at..]).into_iter::<Value>().next()?.ok()?;
        answers(&value).then_some(value)
    })
}

/// Takes fields without a value out: a strict schema makes the model name every field.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let kept: Map<String, Value> = map
                .into_iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(key, value)| (key, without_nulls(value)))
                .collect();
            Value::Object(kept)
        }
        Value::Array(items) => Value::Array(items.into_iter().map(without_nulls).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    }
}

/// Returns the schema of an answer in the strict form that every service takes: each field required, some of them empty.
pub(super) fn schema() -> Value {
    let plan = serde_json::json!({
        "type": ["object", "null"], "additionalProperties": false, "required": ["title", "steps"],
        "properties": { "title": { "type": "string" }, "steps": { "type": "array", "items": { "type": "string" } } },
    });
    let decision = serde_json::json!({
        "type": "object", "additionalProperties": false,
        "required": ["id", "decision", "reason", "places", "plan"],
        "properties": {
            "id": { "type": "string" },
            "decision": { "type": "string", "enum": ["fix", "argue", "stale", "defer", "answer"] },
            "reason": { "type": ["string", "null"] },
            "places": { "type": ["array", "null"], "items": { "type": "string" } },
            "plan": plan,
        },
    });
    serde_json::json!({
        "type": "object", "additionalProperties": false, "required": ["schema_version", "decisions"],
        "properties": { "schema_version": { "type": "integer" }, "decisions": { "type": "array", "items": decision } },
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_is_found_in_a_text() {
        let check = |text: &str, wanted: Option<Value>| {
            let seen = Transcript { text: text.to_owned(), ..Transcript::default() };
            assert_eq!(seen.decisions(), wanted, "{text}");
        };
        check("", None);
        check("I fixed it.", None);
        check("{\"decisions\": 3}", None);
        check("{\"decisions\": [", None);
        check("Here:\n```json\n{ \"decisions\": [] }\n```\nBye {x}.", Some(json!({ "decisions": [] })));
        check(
            "{\"schema_version\":1,\"decisions\":[{\"id\":\"c1\",\"decision\":\"fix\",\"reason\":null,\"plan\":null}]}",
            Some(json!({ "schema_version": 1, "decisions": [{ "id": "c1", "decision": "fix" }] })),
        );
        check(
            "{\"decisions\":[1]} no, better {\"decisions\":[2]} and {\"decisions\":",
            Some(json!({ "decisions": [2] })),
        );
    }

    #[test]
    fn a_held_answer_wins_when_it_is_one() {
        let mut seen = Transcript { text: "{\"decisions\":[1]}".into(), ..Transcript::default() };
        seen.answer = Some(json!({ "decisions": [2] }));
        assert_eq!(seen.decisions(), Some(json!({ "decisions": [2] })));
        seen.answer = Some(json!("text"));
        assert_eq!(seen.decisions(), Some(json!({ "decisions": [1] })));
    }

    #[test]
    fn fm_39_a_flood_of_braces_costs_little() {
        let seen = Transcript { text: "{\"decisions\":[".repeat(20_000), ..Transcript::default() };
        assert_eq!(seen.decisions(), None);
    }

    #[test]
    fn fm_29_a_long_message_is_cut_between_characters() {
        let mut seen = Transcript::default();
        seen.say(&"ä".repeat(TEXT));
        assert!(seen.text.len() <= TEXT && seen.text.ends_with('ä'));
    }

    #[test]
    fn fm_35_a_service_out_of_reach_is_an_environment_failure() {
        let now = "2026-01-02T03:04:05Z".parse().unwrap();
        for text in
            ["API Error: Unable to connect to API (ConnectionRefused)", "error sending request for url (http://x)"]
        {
            assert!(by_words(text, now).is_some_and(|outcome| outcome.environment()), "{text}");
        }
        assert_eq!(by_words("could not parse the patch", now), None);
    }
}
