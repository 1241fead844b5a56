//! Findings, reviewers and gate as tables for people: usable at 80 columns and without colour.

use comfy_table::presets::NOTHING;
use comfy_table::{ColumnConstraint, ContentArrangement, Row, Table};

use super::clean::one_line;
use crate::review::summary::{Finding, Summary};
use crate::review::verdict::{Gate, ReviewersVerdict, Verdict};

fn table(width: u16, head: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    table.set_header(head.to_vec());
    table
}

fn trimmed(table: &Table) -> String {
    table.to_string().lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// Returns where a finding is, for people.
pub fn place(finding: &Finding) -> String {
    match (&finding.path, finding.line) {
        (Some(path), Some(line)) => format!("{path}:{line}"),
        (Some(path), None) => path.clone(),
        (None, _) => "-".to_owned(),
    }
}

/// Lays the findings out, worst and open first.
pub fn findings(summary: &Summary, width: u16) -> String {
    let mut all: Vec<&Finding> = summary.comments.values().map(|entry| &entry.finding).collect();
    if all.is_empty() {
        return "no findings\n".to_owned();
    }
    all.sort_by(|a, b| {
        let key = |f: &Finding| (f.status.settled(), f.severity, f.path.clone(), f.line, f.id);
        key(a).cmp(&key(b))
    });
    // What identifies a finding is never broken over lines: on a narrow terminal the others are cut, the title is wrapped.
    let (reviewer, place_most) = if width < 110 { (13, 18) } else { (24, 36) };
    let mut out = table(width, &["ID", "SEV", "STATUS", "REVIEWER", "WHERE", "TITLE"]);
    for finding in all {
        let status = if finding.needs_person && !finding.status.settled() { "open!" } else { finding.status.as_str() };
        out.add_row(Row::from([
            finding.id.to_string(),
            finding.severity.to_string(),
            status.to_owned(),
            one_line(finding.author.as_str(), reviewer),
            end_of(&place(finding), place_most),
            one_line(&finding.title, 72),
        ]));
    }
    for at in 0..5 {
        if let Some(column) = out.column_mut(at) {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
    trimmed(&out)
}

/// The end of a place says most: file and line.
fn end_of(place: &str, most: usize) -> String {
    let flat = one_line(place, usize::MAX);
    let chars = flat.chars().count();
    if chars <= most {
        return flat;
    }
    format!("…{}", flat.chars().skip(chars - most + 1).collect::<String>())
}

/// Lays the reviewers out.
pub fn reviewers(verdict: &ReviewersVerdict, width: u16) -> String {
    if verdict.each.is_empty() {
        return "no reviewers known\n".to_owned();
    }
    let mut out = table(width, &["REVIEWER", "STATE", "AWAITED", "OPEN", "EVIDENCE"]);
    for report in &verdict.each {
        let awaited = match (report.required, report.awaited) {
            (true, _) => "required",
            (false, true) => "yes",
            (false, false) => "no",
        };
        out.add_row(Row::from([
            one_line(&report.name, 24),
            report.state.as_str().to_owned(),
            awaited.to_owned(),
            report.open.to_string(),
            one_line(&report.evidence, 90),
        ]));
    }
    trimmed(&out)
}

/// Lays the gate out.
pub fn gate(gate: &Gate, width: u16) -> String {
    let mut out = table(width, &["CLAUSE", "", "REASON", "REMEDY"]);
    for clause in &gate.clauses {
        let mark = match clause.ok {
            Some(true) => "ok",
            Some(false) if clause.waiting => "wait",
            Some(false) => "NO",
            None if clause.waiting => "wait",
            None => "?",
        };
        out.add_row(Row::from([
            clause.clause.as_str().to_owned(),
            mark.to_owned(),
            one_line(&clause.reason, 120),
            one_line(&clause.remedy, 120),
        ]));
    }
    format!("gate: {} at {}\n{}", verdict(gate.verdict), gate.head.short(), trimmed(&out))
}

/// Returns the verdict's word.
pub fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Ready => "ready",
        Verdict::Blocked => "blocked",
        Verdict::Waiting => "waiting",
        Verdict::Unknown => "unknown",
    }
}
/// Says what the editor has cost so far.
pub fn spent(summary: &Summary) -> String {
    let (rounds, used) = (summary.rounds.len(), &summary.used);
    let mut text = format!("{rounds} round(s) on this pull request, editor {} s", used.agent_seconds);
    if used.tokens > 0 {
        text.push_str(&format!(", {} tokens", used.tokens));
    }
    if used.cost_usd > 0.0 {
        text.push_str(&format!(", {:.2} USD", used.cost_usd));
    }
    text
}
