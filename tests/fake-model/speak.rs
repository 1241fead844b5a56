//! The three protocols: what was said so far, and how one step is said in the tools that the editor offers.

use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::response::{IntoResponse, Response};
use http_body::Frame;
use serde_json::{Value, json};

use super::Step;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tongue {
    Messages,
    Responses,
    Chat,
}

impl Tongue {
    pub(crate) fn of(path: &str) -> Option<Self> {
        [("/messages", Self::Messages), ("/responses", Self::Responses), ("/chat/completions", Self::Chat)]
            .into_iter()
            .find_map(|(end, tongue)| path.ends_with(end).then_some(tongue))
    }
}

/// One entry of the conversation.
pub(crate) struct Turn {
    pub(crate) user: bool,
    pub(crate) text: String,
    /// Results of tools in it.
    pub(crate) results: usize,
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn words(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        other => list(other).iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n"),
    }
}

pub(crate) fn talk(tongue: Tongue, asked: &Value) -> Vec<Turn> {
    let entries = if tongue == Tongue::Responses { &asked["input"] } else { &asked["messages"] };
    let turn = |entry: &Value| {
        let kind = entry["type"].as_str().unwrap_or_default();
        let results = match tongue {
            Tongue::Messages => list(&entry["content"]).iter().filter(|part| part["type"] == "tool_result").count(),
            Tongue::Responses => usize::from(kind.ends_with("_call_output")),
            Tongue::Chat => usize::from(entry["role"] == "tool"),
        };
        Turn { user: entry["role"] == "user", text: words(&entry["content"]), results }
    };
    list(entries).iter().map(turn).collect()
}

/// Finds a tool by one of these names; returns its name and its parameters.
fn offered(asked: &Value, names: &[&str]) -> Option<(String, Value)> {
    let tools =
        list(&asked["tools"]).iter().map(|tool| if tool["function"].is_object() { &tool["function"] } else { tool });
    let tools: Vec<&Value> = tools.collect();
    names.iter().find_map(|name| {
        let tool = tools.iter().find(|tool| tool["name"].as_str().is_some_and(|it| it.eq_ignore_ascii_case(name)))?;
        let schema = if tool["input_schema"].is_object() { &tool["input_schema"] } else { &tool["parameters"] };
        Some((tool["name"].as_str()?.to_owned(), schema["properties"].clone()))
    })
}

/// Fills the parameters of a tool by whatever they are called.
fn filled(properties: &Value, values: &[(&[&str], Value)]) -> Value {
    let mut arguments = json!({});
    for (names, value) in values {
        if let Some(name) = names.iter().find(|name| properties[**name].is_object()) {
            arguments[*name] = value.clone();
        }
    }
    arguments
}

/// A name that was not used before: editors take two messages or calls with one name for one.
fn fresh(start: &str) -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("{start}_{}", COUNT.fetch_add(1, Ordering::Relaxed))
}

const PATH: &[&str] = &["file_path", "filePath", "path"];

/// Says a step as a call of a tool; `None` where it can only be said in words.
fn call(asked: &Value, step: &Step) -> Option<(String, Value)> {
    let here = std::env::var("FAKE_MODEL_WORKTREE").unwrap_or_default();
    let full = |path: &str| json!(format!("{here}/{path}"));
    let shell = |line: &str| {
        let (name, properties) = offered(asked, &["Bash", "exec_command", "shell_command", "shell"])?;
        let line = if properties["command"]["type"] == "array" { json!(["sh", "-c", line]) } else { json!(line) };
        Some((name, filled(&properties, &[(&["command", "cmd"], line), (&["description"], json!("a scripted step"))])))
    };
    match step {
        Step::Look(path) => match offered(asked, &["Read"]) {
            Some((name, properties)) => Some((name, filled(&properties, &[(PATH, full(path))]))),
            None => shell(&format!("cat {path}")),
        },
        Step::Replace { path, old, new } => match offered(asked, &["Edit"]) {
            Some((name, properties)) => {
                let values = [
                    (PATH, full(path)),
                    (&["old_string", "oldString"][..], json!(old)),
                    (&["new_string", "newString"][..], json!(new)),
                ];
                Some((name, filled(&properties, &values)))
            }
            None => shell(&format!("sed -i 's/{old}/{new}/' {path}")),
        },
        Step::Shell(line) => shell(line),
        Step::HandIn(answer) => offered(asked, &["StructuredOutput"]).map(|(name, _)| (name, answer.clone())),
        Step::Say(_) => None,
    }
}

pub(crate) fn answer(tongue: Tongue, asked: &Value, step: &Step) -> Response {
    let text = match step {
        Step::Say(text) => text.clone(),
        Step::HandIn(value) => value.to_string(),
        Step::Look(path) | Step::Replace { path, .. } => format!("I would need a tool for {path}."),
        Step::Shell(_) => "I would need a shell.".to_owned(),
    };
    let call = call(asked, step);
    match tongue {
        Tongue::Messages => messages(asked, &text, call, "end_turn"),
        Tongue::Responses => responses(&text, call, Ending::Whole),
        Tongue::Chat => chat(asked, &text, call, "stop"),
    }
}

pub(crate) fn refusal(tongue: Tongue, asked: &Value) -> Response {
    match tongue {
        Tongue::Messages => messages(asked, "I will not do that.", None, "refusal"),
        Tongue::Responses => responses("I will not do that.", None, Ending::Refused),
        Tongue::Chat => chat(asked, "", None, "content_filter"),
    }
}

/// A stream that begins and never ends.
pub(crate) fn cut(tongue: Tongue, asked: &Value) -> Response {
    if tongue == Tongue::Messages && asked["stream"] != true {
        // Asked once more without a stream, it has nothing to say.
        return messages(asked, "", None, "end_turn");
    }
    if tongue == Tongue::Chat && asked["stream"] != true {
        return ([("content-type", "application/json")], Body::new(Torn(Some("{\"id\":\"cut\",\"object\":\"chat"))))
            .into_response();
    }
    let first = match tongue {
        Tongue::Messages => {
            let message = json!({ "id": "msg_cut", "type": "message", "role": "assistant", "model": asked["model"], "content": [],
                "stop_reason": null, "stop_sequence": null, "usage": { "input_tokens": 10, "output_tokens": 1 } });
            vec![json!({ "type": "message_start", "message": message })]
        }
        Tongue::Responses => {
            vec![json!({ "type": "response.created", "response": { "id": "resp_cut", "status": "in_progress" } })]
        }
        Tongue::Chat => vec![json!({ "id": "cut", "object": "chat.completion.chunk",
            "choices": [{ "index": 0, "delta": { "role": "assistant" } }] })],
    };
    stream(&first, "")
}

/// An answer whose connection breaks after a few bytes.
struct Torn(Option<&'static str>);

impl HttpBody for Torn {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let next = self.0.take().map(|text| Frame::data(Bytes::from_static(text.as_bytes())));
        Poll::Ready(Some(next.ok_or_else(|| std::io::Error::other("scripted break"))))
    }
}

fn stream(events: &[Value], end: &str) -> Response {
    let mut body = String::new();
    for event in events {
        if let Some(kind) = event["type"].as_str() {
            body.push_str(&format!("event: {kind}\n"));
        }
        body.push_str(&format!("data: {event}\n\n"));
    }
    body.push_str(end);
    ([("content-type", "text/event-stream")], body).into_response()
}

fn messages(asked: &Value, text: &str, call: Option<(String, Value)>, stop: &str) -> Response {
    let (block, empty, delta, stop) = match call {
        Some((name, input)) => {
            let id = fresh("toolu");
            let block = json!({ "type": "tool_use", "id": id, "name": name, "input": input });
            let empty = json!({ "type": "tool_use", "id": id, "name": name, "input": {} });
            (block, empty, json!({ "type": "input_json_delta", "partial_json": input.to_string() }), "tool_use")
        }
        None => {
            let block = json!({ "type": "text", "text": text });
            (block, json!({ "type": "text", "text": "" }), json!({ "type": "text_delta", "text": text }), stop)
        }
    };
    let usage = json!({ "input_tokens": 1000, "output_tokens": 50, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0 });
    let mut message = json!({ "id": fresh("msg"), "type": "message", "role": "assistant", "model": asked["model"], "content": [block],
        "stop_reason": stop, "stop_sequence": null, "usage": usage });
    if asked["stream"] != true {
        return axum::Json(message).into_response();
    }
    message["content"] = json!([]);
    message["stop_reason"] = Value::Null;
    let events = [
        json!({ "type": "message_start", "message": message }),
        json!({ "type": "content_block_start", "index": 0, "content_block": empty }),
        json!({ "type": "content_block_delta", "index": 0, "delta": delta }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "delta": { "stop_reason": stop, "stop_sequence": null }, "usage": { "output_tokens": 50 } }),
        json!({ "type": "message_stop" }),
    ];
    stream(&events, "")
}

#[derive(PartialEq, Eq)]
enum Ending {
    Whole,
    Refused,
}

fn responses(text: &str, call: Option<(String, Value)>, ending: Ending) -> Response {
    let item = match call {
        Some((name, arguments)) => {
            json!({ "type": "function_call", "id": fresh("fc"), "call_id": fresh("call"), "name": name,
            "arguments": arguments.to_string(), "status": "completed" })
        }
        None => {
            let part = match ending {
                Ending::Refused => json!({ "type": "refusal", "refusal": text }),
                Ending::Whole => json!({ "type": "output_text", "text": text, "annotations": [] }),
            };
            json!({ "type": "message", "id": fresh("msg"), "role": "assistant", "status": "completed", "content": [part] })
        }
    };
    let usage = json!({ "input_tokens": 1000, "input_tokens_details": { "cached_tokens": 0 }, "output_tokens": 50,
        "output_tokens_details": { "reasoning_tokens": 0 }, "total_tokens": 1050 });
    let output = if text.is_empty() && item["type"] == "message" { json!([]) } else { json!([item]) };
    let id = fresh("resp");
    let mut events =
        vec![json!({ "type": "response.created", "response": { "id": id, "status": "in_progress", "output": [] } })];
    for item in list(&output) {
        events.push(json!({ "type": "response.output_item.done", "output_index": 0, "item": item }));
    }
    let response = json!({ "id": id, "object": "response", "status": "completed", "output": output, "usage": usage });
    events.push(json!({ "type": "response.completed", "response": response }));
    stream(&events, "")
}

fn chat(asked: &Value, text: &str, call: Option<(String, Value)>, finish: &str) -> Response {
    let usage = json!({ "prompt_tokens": 1000, "completion_tokens": 50, "total_tokens": 1050 });
    let (message, finish) = match call {
        Some((name, arguments)) => {
            let id = fresh("call");
            let function = json!({ "name": name, "arguments": arguments.to_string() });
            let calls = json!([{ "index": 0, "id": id, "type": "function", "function": function }]);
            (json!({ "role": "assistant", "content": null, "tool_calls": calls }), "tool_calls")
        }
        None => (json!({ "role": "assistant", "content": text }), finish),
    };
    if asked["stream"] != true {
        let choice = json!({ "index": 0, "message": message, "finish_reason": finish });
        return axum::Json(
            json!({ "id": fresh("chat"), "object": "chat.completion", "choices": [choice], "usage": usage }),
        )
        .into_response();
    }
    let id = fresh("chat");
    let chunk = |choices: Value, usage: &Value| {
        json!({ "id": id, "object": "chat.completion.chunk", "created": 1,
        "model": asked["model"], "choices": choices, "usage": usage })
    };
    let events = [
        chunk(json!([{ "index": 0, "delta": message, "finish_reason": null }]), &Value::Null),
        chunk(json!([{ "index": 0, "delta": {}, "finish_reason": finish }]), &Value::Null),
        chunk(json!([]), &usage),
    ];
    stream(&events, "data: [DONE]\n\n")
}
