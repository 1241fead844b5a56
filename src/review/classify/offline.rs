//! `classify` for a stream of comments: any shape people pipe in, one answer a comment, in order. It never fails as a whole.

use std::borrow::Cow;

use serde_json::de::StrRead;
use serde_json::{Deserializer, StreamDeserializer, json};

use super::batch::{Asked, Batch, Who};
use super::row::{Kept, Read};
use super::{Classified, CommentInput, Rules, found, found::Wanted};

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
    let mut batch = Batch::new(rules, told);
    let trimmed = text.trim_start();
    if trimmed.starts_with('[')
        && let Ok(all) = serde_json::from_str::<Vec<Read<'_>>>(trimmed)
    {
        all.into_iter().enumerate().for_each(|(n, read)| batch.ask(Ok(read), n + 1));
        return batch.end();
    }
    if let Ok(read @ Read::Comment(_)) = serde_json::from_str(trimmed) {
        batch.ask(Ok(read), 1);
        return batch.end();
    }
    let (mut rows, mut at) = (Rows { stream: Some(Deserializer::from_str(&text).into_iter()) }, 0);
    for (n, line) in text.split_inclusive('\n').enumerate() {
        let row = line.trim();
        if !row.is_empty() {
            let end = at + line.trim_end().len();
            batch.ask(rows.read(row, end).map_err(|why| format!("not JSON: {why}")), n + 1);
        }
        at += line.len();
    }
    batch.end()
}

/// A text of which every line is one row. One reader goes through all of it, with the room it has, for as long as that is
/// so; the first line that is none ends that, and this and all later ones are read alone.
struct Rows<'t> {
    stream: Option<StreamDeserializer<'t, StrRead<'t>, Read<'t>>>,
}

impl<'t> Rows<'t> {
    /// Reads the next line, of which the white space around it is left out, and which ends at a place of the text. Between
    /// the row before and this one is nothing but white space, so that a value that ends there is this line and no more.
    fn read(&mut self, line: &'t str, end: usize) -> serde_json::Result<Read<'t>> {
        if let Some(stream) = &mut self.stream {
            match stream.next() {
                Some(Ok(read)) if stream.byte_offset() == end => return Ok(read),
                _ => self.stream = None,
            }
        }
        serde_json::from_str(line)
    }
}

/// Returns the answer to a row that is no comment.
pub(super) fn error(why: &str, line: usize) -> String {
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
pub(super) fn answer(asked: &Asked<'_>, who: &Who, rules: &Rules, out: &mut String) -> Result<(), String> {
    let input = CommentInput {
        path: asked.path.as_deref(),
        line: asked.line,
        is_reply: asked.is_reply,
        reply_unknown: asked.reply_unknown,
        review_state: asked.state,
        ..CommentInput::new(&who.login, asked.account.unwrap_or(who.account), asked.channel, &asked.body)
    };
    let classified = found::read(rules, &input, Wanted::Answer);
    write(&asked.id, &classified, out).map_err(|why| why.to_string())
}

/// Writes the answer as one JSON object. Its names and words are written as they are; only texts from outside need more.
fn write(id: &Kept<'_>, classified: &Classified, out: &mut String) -> serde_json::Result<()> {
    // A finding closed by an edit keeps its level for the reader, though it is no open finding any more.
    let shown = classified.worst().or(classified.closed_finding.as_ref());
    out.push_str("{\"id\":");
    match id {
        Kept::Text(id) => text(out, id)?,
        Kept::Other(id) => out.push_str(&serde_json::to_string(id)?),
    }
    out.push_str(",\"severity\":\"");
    out.push_str(shown.map_or("none", |found| found.severity.as_str()));
    out.push_str("\",\"decided_by\":");
    match classified.decided_by() {
        Some(by) => {
            out.push('"');
            out.push_str(by.as_str());
            out.push('"');
        }
        None => out.push_str("null"),
    }
    out.push_str(",\"rule\":");
    match classified.rule() {
        Some(rule) => texts(out, &[&rule.file, ":", &rule.name])?,
        None => out.push_str("null"),
    }
    out.push_str(",\"kind\":\"");
    out.push_str(classified.kind.as_str());
    out.push_str("\",\"findings\":[");
    for (n, found) in classified.findings.iter().enumerate() {
        out.push_str(if n == 0 { "{\"severity\":\"" } else { ",{\"severity\":\"" });
        out.push_str(found.severity.as_str());
        out.push_str("\",\"decided_by\":\"");
        out.push_str(found.decided_by.as_str());
        out.push_str("\",\"title\":");
        text(out, &found.title)?;
        out.push_str(",\"path\":");
        match &found.path {
            Some(path) => text(out, path)?,
            None => out.push_str("null"),
        }
        out.push_str(",\"line\":");
        match found.line {
            Some(line) => out.push_str(&line.to_string()),
            None => out.push_str("null"),
        }
        out.push('}');
    }
    out.push_str("]}");
    Ok(())
}

fn text(out: &mut String, text: &str) -> serde_json::Result<()> {
    texts(out, &[text])
}

/// Writes texts as one text of JSON. Most hold nothing to escape, which is told by a few wide steps.
fn texts(out: &mut String, texts: &[&str]) -> serde_json::Result<()> {
    let escaped = |byte: u8| (byte < b' ') | (byte == b'"') | (byte == b'\\');
    if texts.iter().any(|text| text.bytes().fold(false, |any, byte| any | escaped(byte))) {
        out.push_str(&serde_json::to_string(&texts.concat())?);
        return Ok(());
    }
    out.push('"');
    texts.iter().for_each(|text| out.push_str(text));
    out.push('"');
    Ok(())
}
