//! `classify` for a stream of comments: any shape people pipe in, one answer a comment, in order. It never fails as a whole.

use std::borrow::Cow;

use serde::{Serialize, Serializer};
use serde_json::json;

use super::row::{Kept, Read, Row};
use super::{Classified, CommentInput, Rules, found, found::Wanted};
use crate::review::comment::AccountKind;
use crate::review::ids::Login;
use crate::review::severity::RuleRef;

/// Classifies a JSON array or JSON lines of comments; returns one JSON line per comment and whether one was bad.
pub fn classify_stream(bytes: &[u8], rules: &Rules) -> (Vec<String>, bool) {
    let mut lines = Vec::new();
    let any_bad = classify_each(bytes, rules, |line| lines.push(line.to_owned()));
    (lines, any_bad)
}

/// Does the same, one answer after the other; returns whether a comment was bad.
pub fn classify_each(bytes: &[u8], rules: &Rules, mut told: impl FnMut(&str)) -> bool {
    let text = match decode(bytes) {
        Ok(text) => text,
        Err(why) => {
            told(&error(&why, 1));
            return true;
        }
    };
    let mut answers = Answers { rules, line: Vec::new(), bad: false, told };
    let trimmed = text.trim_start();
    if trimmed.starts_with('[')
        && let Ok(all) = serde_json::from_str::<Vec<Read<'_>>>(trimmed)
    {
        all.iter().enumerate().for_each(|(n, read)| answers.tell(read, n + 1));
        return answers.bad;
    }
    if let Ok(read @ Read::Comment(_)) = serde_json::from_str(trimmed) {
        answers.tell(&read, 1);
        return answers.bad;
    }
    for (n, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match serde_json::from_str(line.trim()) {
            Ok(read) => answers.tell(&read, n + 1),
            Err(why) => answers.fail(&format!("not JSON: {why}"), n + 1),
        }
    }
    answers.bad
}

/// Answers on their way.
struct Answers<'a, T> {
    rules: &'a Rules,
    /// Room for one.
    line: Vec<u8>,
    /// Whether one was an error.
    bad: bool,
    told: T,
}

impl<T: FnMut(&str)> Answers<'_, T> {
    fn tell(&mut self, read: &Read<'_>, n: usize) {
        self.line.clear();
        let written = match read {
            Read::Comment(row) => answer(row, self.rules, &mut self.line),
            Read::Other => Err("not a comment object".to_owned()),
        };
        match written.as_ref().map(|()| std::str::from_utf8(&self.line)) {
            Ok(Ok(line)) => (self.told)(line),
            Ok(Err(why)) => self.fail(&why.to_string(), n),
            Err(why) => self.fail(why, n),
        }
    }

    fn fail(&mut self, why: &str, n: usize) {
        self.bad = true;
        (self.told)(&error(why, n));
    }
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
    // The plain check takes wide steps, which the replacing one does not.
    Ok(std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed))
}

/// Writes the answer to one comment.
fn answer(row: &Row<'_>, rules: &Rules, out: &mut Vec<u8>) -> Result<(), String> {
    let body = row.body()?;
    let channel = row.channel()?;
    let written = row.login();
    let login = Login::new(written);
    let input = CommentInput {
        account: row.account_kind().unwrap_or_else(|| guess_account(rules, &login, written)),
        path: row.path(),
        line: row.line(),
        is_reply: row.is_reply(),
        reply_unknown: row.reply_unknown(),
        review_state: row.state(),
        ..CommentInput::new(&login, AccountKind::Person, channel, body)
    };
    let classified = found::read(rules, &input, Wanted::Answer);
    serde_json::to_writer(out, &Answer::new(&row.id, &classified)).map_err(|why| why.to_string())
}

/// An account without a type: the suffix that only apps have, or the exact login of a known reviewer.
fn guess_account(rules: &Rules, login: &Login, written: &str) -> AccountKind {
    let known = || rules.reviewer_of(login, AccountKind::Bot, "").is_some();
    if written.trim().ends_with("[bot]") || known() { AccountKind::Bot } else { AccountKind::Person }
}

#[derive(Serialize)]
struct Answer<'a> {
    id: &'a Kept<'a>,
    severity: &'static str,
    decided_by: Option<super::DecidedBy>,
    #[serde(serialize_with = "rule_name")]
    rule: Option<&'a RuleRef>,
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

fn rule_name<S: Serializer>(rule: &Option<&RuleRef>, out: S) -> Result<S::Ok, S::Error> {
    match rule {
        Some(rule) => out.collect_str(&format_args!("{}:{}", rule.file, rule.name)),
        None => out.serialize_none(),
    }
}

impl<'a> Answer<'a> {
    fn new(id: &'a Kept<'a>, classified: &'a Classified) -> Self {
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
            rule: classified.rule(),
            kind: classified.kind,
            findings: classified.findings.iter().map(finding).collect(),
        }
    }
}
