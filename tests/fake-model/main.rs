//! A scripted model on loopback, for driving real editors: `fake-model --answers FILE [--log FILE]`. The first line of
//! output is its base URL. It speaks Anthropic Messages, OpenAI Responses and OpenAI Chat Completions, as far as the
//! editors need.
//!
//! The first segment of the path names what happens:
//!
//! - `work`: it does what the answers say for each item of the brief whose text contains the words, then hands in its decisions;
//! - `401`, `403`, `429`, `500`, `529`: that status; `refuse`; `cut` (a stream without an end); `loop` (looks at one file
//!   again and again); `denied` (tries to commit and push, and gives up); `mute` (ends its turn without a word);
//! - `doors`: pushes by itself, ends its turn, and mends one finding and argues one when a hook keeps it going.
//!
//! The answers are the `findings` of a `scripted-editor` scenario. It keeps no state: what is next follows from the
//! results of tools since the last brief.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a helper of tests"
)]

mod speak;

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};

/// Heading of the last part of every brief.
const BRIEF: &str = "## Your answers";

#[derive(Deserialize)]
struct Answers {
    findings: Vec<Answer>,
}

#[derive(Deserialize)]
struct Answer {
    contains: String,
    #[serde(default)]
    edits: Vec<Edit>,
    decision: String,
    #[serde(default)]
    reason: Option<String>,
}

#[derive(Deserialize, Clone)]
struct Edit {
    path: String,
    replace: String,
    with: String,
}

/// One thing that the model does.
#[derive(Clone)]
pub(crate) enum Step {
    Look(String),
    Replace { path: String, old: String, new: String },
    Shell(String),
    HandIn(Value),
    Say(String),
}

struct Server {
    answers: Answers,
    log: Option<Mutex<File>>,
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> ExitCode {
    let (mut answers, mut log) = (None, None);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match (arg.as_str(), args.next()) {
            ("--answers", Some(file)) => answers = Some(file),
            ("--log", Some(file)) => log = Some(file),
            _ => {
                eprintln!("usage: fake-model --answers FILE [--log FILE]");
                return ExitCode::from(2);
            }
        }
    }
    let text = std::fs::read_to_string(answers.expect("--answers")).unwrap();
    let log = log.map(|file| Mutex::new(OpenOptions::new().create(true).append(true).open(file).unwrap()));
    let server = Arc::new(Server { answers: serde_json::from_str(&text).unwrap(), log });
    let app = Router::new().route("/{*path}", axum::routing::any(serve)).with_state(server);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("http://{}", listener.local_addr().unwrap());
    axum::serve(listener, app.into_make_service()).await.unwrap();
    ExitCode::SUCCESS
}

async fn serve(State(server): State<Arc<Server>>, method: Method, Path(path): Path<String>, body: Bytes) -> Response {
    let (case, rest) = path.split_once('/').unwrap_or((&path, ""));
    let asked: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
    if let Some(log) = &server.log {
        writeln!(log.lock().unwrap(), "{method} /{path} {}", String::from_utf8_lossy(&body)).unwrap();
    }
    if rest.ends_with("count_tokens") {
        return axum::Json(json!({ "input_tokens": 10 })).into_response();
    }
    let Some(tongue) = speak::Tongue::of(rest).filter(|_| method == Method::POST) else {
        let models = json!({ "object": "list", "data": [], "models": [] });
        let known = method != Method::POST && (rest.ends_with("models") || rest.is_empty());
        return if known { axum::Json(models).into_response() } else { StatusCode::NOT_FOUND.into_response() };
    };
    if let Ok(status) = case.parse::<u16>() {
        let error =
            json!({ "type": "error", "error": { "type": kind(status), "message": format!("scripted {status}") } });
        let status = StatusCode::from_u16(status).unwrap();
        return (status, [("retry-after", "1")], axum::Json(error)).into_response();
    }
    let talk = speak::talk(tongue, &asked);
    let brief = talk.iter().rposition(|turn| turn.user && turn.text.contains(BRIEF));
    let done = talk.iter().skip(brief.unwrap_or(0)).map(|turn| turn.results).sum::<usize>();
    let step = match (brief, case) {
        (_, "refuse") => return speak::refusal(tongue, &asked),
        (_, "cut") => return speak::cut(tongue, &asked),
        (_, "mute") => Step::Say(String::new()),
        (_, "doors") if !asked["tools"].is_null() => doors(&server.answers, &talk),
        // A title or a summary that the program asks for on the side.
        (None, _) => Step::Say("A scripted title".to_owned()),
        (Some(_), "loop") => Step::Look("src/fare.sh".to_owned()),
        // Codex does not always report a command that ends at once.
        (Some(_), "denied") if done == 0 => Step::Shell(
            "sleep 0.5; git commit -q --allow-empty -m stolen && git push origin HEAD:refs/heads/stolen".to_owned(),
        ),
        (Some(_), "denied") => Step::HandIn(json!({ "schema_version": 1, "decisions": [] })),
        (Some(at), _) if asked["tools"].is_null() => Step::Say(in_words(&server.answers, &talk[at].text)),
        (Some(at), _) => {
            let steps = plan(&server.answers, &talk[at].text);
            steps.get(done).cloned().unwrap_or_else(|| Step::Say("All items are answered.".to_owned()))
        }
    };
    speak::answer(tongue, &asked, &step)
}

fn kind(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        403 => "permission_error",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        _ => "api_error",
    }
}

/// Pushes, ends its turn, and when it is kept going mends the P1, says so, and argues the P2.
fn doors(answers: &Answers, talk: &[speak::Turn]) -> Step {
    const PUSH: &str = "git push -q origin child-fares";
    let done = talk.iter().map(|turn| turn.results).sum::<usize>();
    let Some(asked) = talk.iter().rfind(|turn| turn.text.contains("Fix each and push")) else {
        return match done {
            0 => Step::Shell(format!("git commit -q --allow-empty -m 'Ask for a review' && {PUSH}")),
            _ => Step::Say("Pushed.".to_owned()),
        };
    };
    let id = |severity: &str| {
        let line = asked.text.lines().find_map(|line| line.strip_prefix(&format!("- {severity} ")));
        line.and_then(|line| line.split(' ').next()).unwrap_or("none").to_owned()
    };
    let reason = answers.findings.iter().find_map(|answer| answer.reason.as_deref()).unwrap_or_default();
    match done {
        1 => Step::Shell(format!(
            "sed -i 's/-gt 12/-le 12/' src/fare.sh && git commit -q -a -m 'Halve the fare for children' && {PUSH}"
        )),
        2 => Step::Shell(format!("pushback resolve {} fix --commit \"$(git rev-parse HEAD)\"", id("P1"))),
        3 => Step::Shell(format!("pushback resolve {} argue --reason '{reason}'", id("P2"))),
        _ => Step::Say("Mended, pushed and answered.".to_owned()),
    }
}

/// Says the whole plan in one message, edits as blocks of whole lines, for an editor without tools.
fn in_words(answers: &Answers, brief: &str) -> String {
    let here = std::env::var("FAKE_MODEL_WORKTREE").unwrap_or_default();
    let mut text = String::from("I looked at every item.\n\n");
    for step in plan(answers, brief) {
        match step {
            Step::Replace { path, old, new } => {
                let file = std::fs::read_to_string(format!("{here}/{path}")).unwrap_or_default();
                for line in file.lines().filter(|line| line.contains(&old)) {
                    let changed = line.replace(&old, &new);
                    text.push_str(&format!(
                        "{path}\n```\n<<<<<<< SEARCH\n{line}\n=======\n{changed}\n>>>>>>> REPLACE\n```\n\n"
                    ));
                }
            }
            Step::HandIn(decisions) => text.push_str(&format!("My answers:\n\n{decisions}\n")),
            Step::Look(_) | Step::Shell(_) | Step::Say(_) => {}
        }
    }
    text
}

/// Reads the items of a brief and says what is done about them, the decisions last.
fn plan(answers: &Answers, brief: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut decisions = Vec::new();
    for item in brief.split("\n### ").skip(1) {
        let id = item.split(':').next().unwrap_or_default();
        let Some(answer) = answers.findings.iter().find(|answer| item.contains(&answer.contains)) else { continue };
        for edit in &answer.edits {
            steps.push(Step::Look(edit.path.clone()));
            let Edit { path, replace: old, with: new } = edit.clone();
            steps.push(Step::Replace { path, old, new });
        }
        decisions.push(
            json!({ "id": id, "decision": answer.decision, "reason": answer.reason, "places": null, "plan": null }),
        );
    }
    steps.push(Step::HandIn(json!({ "schema_version": 1, "decisions": decisions })));
    steps
}
