//! `status --comments`: findings of inline comments from a file, without a forge. Posts nothing; the gate is unknown.

use std::io::Read as _;

use camino::Utf8Path;
use serde_json::Value;

use super::failure::{Failure, Kind};
use super::{Context, look, output};
use crate::config::layers::Layers;
use crate::report::clean::one_line;
use crate::report::json::UsedView;
use crate::review::classify;
use crate::review::severity::Severity;
use crate::review::words;

/// The most that is read.
const LIMIT: u64 = 1 << 30;

struct Row {
    id: String,
    severity: Severity,
    author: String,
    place: String,
    title: String,
    /// The finding as every answer shows one.
    finding: Value,
}

pub(super) fn status(cx: &Context, file: &Utf8Path) -> Result<u8, Failure> {
    let bytes = read(file)?;
    let rules = look::rules(&Layers::default())?;
    let (lines, any_bad) = classify::classify_stream(&bytes, &rules);
    let comments: Vec<Value> = originals(&bytes);
    if any_bad || comments.len() != lines.len() {
        let bad = lines.iter().find(|line| line.starts_with("{\"error\"")).cloned().unwrap_or_default();
        let hint = "give what `gh api repos/O/R/pulls/N/comments --paginate` prints";
        return Err(Failure::usage(format!("{file} is not a list of review comments: {bad}"), hint));
    }
    let rows: Vec<Row> = lines.iter().zip(&comments).filter_map(|(line, comment)| row(line, comment)).collect();
    let count = |severity: Severity| rows.iter().filter(|row| row.severity == severity).count();
    let (p1, p2) = (count(Severity::P1), count(Severity::P2));
    let exit = if p1 > 0 {
        11
    } else if p2 > 0 {
        10
    } else {
        0
    };
    if cx.global.json {
        let findings: Vec<&Value> = rows.iter().map(|row| &row.finding).collect();
        let used = UsedView { rounds: 0, agent_seconds: 0, tokens: 0, cost_usd: 0.0 };
        output::json(&serde_json::json!({
            "schema_version": crate::report::json::SCHEMA_VERSION, "command": "status", "exit": exit, "pr": null,
            "next": "pushback status", "retry_after_s": null, "error": null,
            "counts": {"p1": p1, "p2": p2, "p3": count(Severity::P3), "nit": count(Severity::Nit), "needs_person": 0, "untrusted": 0},
            "findings": findings, "reviewers": [], "gate": {"verdict": "unknown", "head": null, "clauses": []}, "used": used, "notes": [],
        }));
        return Ok(exit);
    }
    let mut text = String::new();
    for row in &rows {
        text.push_str(&format!(
            "{:<14} {:<4} {:<24} {:<36} {}\n",
            row.id,
            row.severity,
            one_line(&row.author, 24),
            one_line(&row.place, 36),
            one_line(&row.title, 80)
        ));
    }
    text.push_str(&format!(
        "{p1} P1 and {p2} P2 in {}; threads and later commits are not known here: gate unknown\n",
        words::count(comments.len(), "comment")
    ));
    output::shown(&text);
    Ok(exit)
}

fn read(file: &Utf8Path) -> Result<Vec<u8>, Failure> {
    let failed = |error: std::io::Error| {
        Failure::usage(format!("could not read {file}: {error}"), "name a file, or `-` for stdin")
    };
    let mut bytes = Vec::new();
    if file == "-" {
        std::io::stdin().lock().take(LIMIT).read_to_end(&mut bytes).map_err(failed)?;
    } else {
        std::fs::File::open(file).map_err(failed)?.take(LIMIT).read_to_end(&mut bytes).map_err(failed)?;
    }
    if bytes.iter().all(u8::is_ascii_whitespace) {
        // Zero bytes are no list: a read that failed looks just like that.
        let hint = "an empty list is `[]`";
        return Err(Failure::new(
            Kind::CouldNotRead,
            format!("{file} is empty, which is not a list of comments"),
            hint,
        ));
    }
    Ok(bytes)
}

/// The comments as given, in order: one array, several arrays (as `--paginate` prints them), or JSON lines.
fn originals(bytes: &[u8]) -> Vec<Value> {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_start_matches('\u{feff}');
    let values = serde_json::Deserializer::from_str(text).into_iter::<Value>().map_while(Result::ok);
    values
        .flat_map(|value| match value {
            Value::Array(list) => list,
            other => vec![other],
        })
        .collect()
}

fn row(line: &str, comment: &Value) -> Option<Row> {
    let said: Value = serde_json::from_str(line).ok()?;
    let severity = crate::config::settings::severity(said["severity"].as_str()?)?;
    let finding = said["findings"].get(0)?;
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let id = match comment["id"].as_u64() {
        Some(id) => format!("c{id}"),
        None => format!("c{}", comment["id"].as_str().unwrap_or("?")),
    };
    let author = text(&comment["user"]["login"]).or_else(|| text(&comment["login"])).unwrap_or_default();
    let title = text(&finding["title"]).unwrap_or_default();
    let path = text(&finding["path"]).or_else(|| text(&comment["path"])).unwrap_or_else(|| "-".to_owned());
    let at = finding["line"].as_u64().or_else(|| comment["line"].as_u64());
    let rule = said["rule"].as_str().and_then(|rule| rule.split_once(':'));
    let bot = comment["user"]["type"].as_str() == Some("Bot") || author.ends_with("[bot]");
    let shown = serde_json::json!({
        "id": id, "severity": severity, "decided_by": finding["decided_by"],
        "rule": rule.map(|(file, name)| serde_json::json!({ "file": file, "name": name, "matched": "" })),
        "author": author, "author_kind": if bot { "bot" } else { "person" }, "channel": "inline",
        "path": (path != "-").then_some(&path), "line": at,
        "side": comment["side"].as_str().filter(|side| ["LEFT", "RIGHT"].contains(side)),
        "status": "open", "needs_person": false, "title": title,
        "url": comment["html_url"].as_str().unwrap_or_default(), "attempts": 0, "previous": [], "why": "",
    });
    let place = at.map_or(path.clone(), |line| format!("{path}:{line}"));
    Some(Row { id, severity, author, place, title, finding: shown })
}
