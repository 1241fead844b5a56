//! `classify` for a stream of comments: any shape people pipe in, one answer a comment, in order. It never fails as a whole.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{Classified, CommentInput, Rules, classify};
use crate::review::comment::{AccountKind, Channel, ReviewState};
use crate::review::ids::Login;

/// Classifies a JSON array or JSON lines of comments; returns one JSON line per comment and whether one was bad.
pub fn classify_stream(bytes: &[u8], rules: &Rules) -> (Vec<String>, bool) {
    let text = match decode(bytes) {
        Ok(text) => text,
        Err(why) => return (vec![error(&why, 1)], true),
    };
    let trimmed = text.trim_start();
    if trimmed.starts_with('[')
        && let Ok(all) = serde_json::from_str::<Vec<Value>>(trimmed)
    {
        return collect(all.iter().enumerate().map(|(n, value)| answer(value, n + 1, rules)));
    }
    if let Ok(value @ Value::Object(_)) = serde_json::from_str::<Value>(trimmed) {
        return collect(std::iter::once(answer(&value, 1, rules)));
    }
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    collect(lines.map(|(n, line)| match serde_json::from_str::<Value>(line.trim()) {
        Ok(value) => answer(&value, n + 1, rules),
        Err(why) => Err(error(&format!("not JSON: {why}"), n + 1)),
    }))
}

fn collect(answers: impl Iterator<Item = Result<String, String>>) -> (Vec<String>, bool) {
    let mut bad = false;
    let lines = answers.map(|answer| {
        answer.unwrap_or_else(|line| {
            bad = true;
            line
        })
    });
    (lines.collect(), bad)
}

fn error(why: &str, line: usize) -> String {
    json!({ "error": why, "line": line }).to_string()
}

/// Decodes UTF-8 or UTF-16, with or without a byte order mark.
fn decode(bytes: &[u8]) -> Result<Cow<'_, str>, String> {
    let utf16 = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
        let units = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
        let text: Result<String, _> = char::decode_utf16(units).collect();
        text.map(Cow::Owned).map_err(|_| "the input is not valid UTF-16".to_owned())
    };
    match bytes {
        [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes),
        [b'[' | b'{' | b'\r' | b'\n' | b' ', 0, ..] => utf16(bytes, u16::from_le_bytes),
        [0, b'[' | b'{' | b'\r' | b'\n' | b' ', ..] => utf16(bytes, u16::from_be_bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] => utf8(rest),
        _ => utf8(bytes),
    }
}

/// Bytes that are not UTF-8 become replacement characters: one bad line must not hide the others.
fn utf8(bytes: &[u8]) -> Result<Cow<'_, str>, String> {
    Ok(String::from_utf8_lossy(bytes))
}

fn answer(value: &Value, n: usize, rules: &Rules) -> Result<String, String> {
    let object = value.as_object().ok_or_else(|| error("not a comment object", n))?;
    let row = Row::read(object).map_err(|why| error(&why, n))?;
    let login = Login::new(row.login);
    let input = CommentInput {
        account: row.account.unwrap_or_else(|| guess_account(rules, &login, row.login)),
        path: row.path,
        line: row.line,
        is_reply: row.is_reply,
        reply_unknown: row.reply_unknown,
        review_state: row.state,
        ..CommentInput::new(&login, AccountKind::Person, row.channel, row.body)
    };
    let classified = classify(rules, &input);
    let id = object.get("id").unwrap_or(&Value::Null);
    serde_json::to_string(&Answer::new(id, &classified)).map_err(|why| error(&why.to_string(), n))
}

/// An account without a type: the suffix that only apps have, or the exact login of a known reviewer.
fn guess_account(rules: &Rules, login: &Login, written: &str) -> AccountKind {
    let known = || rules.reviewer_of(login, AccountKind::Bot, "").is_some();
    if written.trim().ends_with("[bot]") || known() { AccountKind::Bot } else { AccountKind::Person }
}

struct Row<'a> {
    login: &'a str,
    account: Option<AccountKind>,
    channel: Channel,
    body: &'a str,
    path: Option<&'a str>,
    line: Option<u32>,
    is_reply: bool,
    reply_unknown: bool,
    state: Option<ReviewState>,
}

impl<'a> Row<'a> {
    fn read(object: &'a Map<String, Value>) -> Result<Self, String> {
        let text = |key: &str| object.get(key).and_then(Value::as_str);
        let user = object.get("user").or_else(|| object.get("author")).and_then(Value::as_object);
        let of_user = |key: &str| user.and_then(|u| u.get(key)).and_then(Value::as_str);
        let login = text("login").or_else(|| of_user("login")).unwrap_or("ghost");
        let account = of_user("type").or_else(|| of_user("__typename")).or_else(|| text("type")).and_then(account_kind);
        let body = match object.get("body") {
            Some(Value::String(body)) => body,
            Some(Value::Null) | None if user.is_some() => "",
            Some(Value::Null) => "",
            Some(_) => return Err("`body` is not text".to_owned()),
            None => return Err("`body` is missing".to_owned()),
        };
        let answers = object.get("in_reply_to_id").or_else(|| object.get("in_reply_to"));
        let is_reply = answers.is_some_and(|v| !v.is_null());
        let line = ["line", "original_line"].iter().find_map(|k| object.get(*k).and_then(Value::as_u64));
        Ok(Self {
            login,
            account,
            channel: channel(object)?,
            body,
            path: text("path").filter(|p| !p.is_empty()),
            line: line.and_then(|n| u32::try_from(n).ok()),
            is_reply,
            // A forge's own object names the comment it answers; the short form cannot.
            reply_unknown: answers.is_none() && user.is_none(),
            state: text("state").map(review_state),
        })
    }
}

fn account_kind(text: &str) -> Option<AccountKind> {
    match text {
        "Bot" | "bot" | "App" => Some(AccountKind::Bot),
        "User" | "user" | "Person" | "person" | "Mannequin" | "Organization" => Some(AccountKind::Person),
        _ => None,
    }
}

fn review_state(text: &str) -> ReviewState {
    match text.to_ascii_uppercase().as_str() {
        "APPROVED" => ReviewState::Approved,
        "CHANGES_REQUESTED" => ReviewState::ChangesRequested,
        "COMMENTED" => ReviewState::Commented,
        "DISMISSED" => ReviewState::Dismissed,
        "PENDING" => ReviewState::Pending,
        _ => ReviewState::Unknown,
    }
}

/// The channel: named, else by the shape of the forge's object.
fn channel(object: &Map<String, Value>) -> Result<Channel, String> {
    if let Some(named) = object.get("channel") {
        return serde_json::from_value(named.clone()).map_err(|_| format!("unknown channel {named}"));
    }
    let has = |key: &str| object.get(key).is_some_and(|v| !v.is_null());
    if has("path") || has("diff_hunk") || has("pull_request_review_id") {
        Ok(Channel::Inline)
    } else if has("state") || has("submitted_at") {
        Ok(Channel::Review)
    } else {
        Ok(Channel::Conversation)
    }
}

#[derive(Serialize)]
struct Answer<'a> {
    id: &'a Value,
    severity: &'static str,
    decided_by: Option<super::DecidedBy>,
    rule: Option<String>,
    kind: super::Kind,
    findings: Vec<AnswerFinding<'a>>,
}

#[derive(Serialize)]
struct AnswerFinding<'a> {
    severity: super::Severity,
    decided_by: super::DecidedBy,
    title: &'a str,
    path: Option<&'a str>,
    line: Option<u32>,
}

impl<'a> Answer<'a> {
    fn new(id: &'a Value, classified: &'a Classified) -> Self {
        // A finding closed by an edit keeps its level for the reader, though it is no open finding any more.
        let shown = classified.worst().or(classified.closed_finding.as_ref());
        let finding = |found: &'a super::Found| AnswerFinding {
            severity: found.severity,
            decided_by: found.decided_by,
            title: &found.title,
            path: found.path.as_deref(),
            line: found.line,
        };
        Self {
            id,
            severity: shown.map_or("none", |f| f.severity.as_str()),
            decided_by: classified.decided_by(),
            rule: classified.rule().map(|rule| format!("{}:{}", rule.file, rule.name)),
            kind: classified.kind,
            findings: classified.findings.iter().map(finding).collect(),
        }
    }
}
