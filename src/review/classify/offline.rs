//! `classify` for a stream of comments: any shape people pipe in, one answer a comment, in order. It never fails as a whole.

use std::borrow::Cow;

use serde_json::json;

use super::row::{Kept, Read, Row};
use super::{Classified, CommentInput, Rules, found, found::Wanted};
use crate::review::comment::AccountKind;
use crate::review::ids::Login;

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
    write(&row.id, &classified, out).map_err(|why| why.to_string())
}

/// An account without a type: the suffix that only apps have, or the exact login of a known reviewer.
fn guess_account(rules: &Rules, login: &Login, written: &str) -> AccountKind {
    let known = || rules.reviewer_of(login, AccountKind::Bot, "").is_some();
    if written.trim().ends_with("[bot]") || known() { AccountKind::Bot } else { AccountKind::Person }
}

/// Writes the answer as one JSON object. Its names and words are written as they are; only texts from outside need more.
fn write(id: &Kept<'_>, classified: &Classified, out: &mut Vec<u8>) -> serde_json::Result<()> {
    // A finding closed by an edit keeps its level for the reader, though it is no open finding any more.
    let shown = classified.worst().or(classified.closed_finding.as_ref());
    word(out, "{\"id\":");
    match id {
        Kept::Text(id) => text(out, id)?,
        Kept::Other(id) => serde_json::to_writer(&mut *out, id)?,
    }
    word(out, ",\"severity\":\"");
    word(out, shown.map_or("none", |found| found.severity.as_str()));
    word(out, "\",\"decided_by\":");
    match classified.decided_by() {
        Some(by) => {
            word(out, "\"");
            word(out, by.as_str());
            word(out, "\"");
        }
        None => word(out, "null"),
    }
    word(out, ",\"rule\":");
    match classified.rule() {
        Some(rule) => text(out, &[rule.file.as_str(), ":", rule.name.as_str()].concat())?,
        None => word(out, "null"),
    }
    word(out, ",\"kind\":\"");
    word(out, classified.kind.as_str());
    word(out, "\",\"findings\":[");
    for (n, found) in classified.findings.iter().enumerate() {
        word(out, if n == 0 { "{\"severity\":\"" } else { ",{\"severity\":\"" });
        word(out, found.severity.as_str());
        word(out, "\",\"decided_by\":\"");
        word(out, found.decided_by.as_str());
        word(out, "\",\"title\":");
        text(out, &found.title)?;
        word(out, ",\"path\":");
        match &found.path {
            Some(path) => text(out, path)?,
            None => word(out, "null"),
        }
        word(out, ",\"line\":");
        serde_json::to_writer(&mut *out, &found.line)?;
        word(out, "}");
    }
    word(out, "]}");
    Ok(())
}

fn word(out: &mut Vec<u8>, word: &str) {
    out.extend_from_slice(word.as_bytes());
}

/// Writes a text as JSON. Most hold nothing to escape, which is told by a few wide steps.
fn text(out: &mut Vec<u8>, text: &str) -> serde_json::Result<()> {
    let escaped = |byte: &u8| (*byte < b' ') | (*byte == b'"') | (*byte == b'\\');
    if text.bytes().fold(false, |any, byte| any | escaped(&byte)) {
        return serde_json::to_writer(out, text);
    }
    word(out, "\"");
    word(out, text);
    word(out, "\"");
    Ok(())
}
