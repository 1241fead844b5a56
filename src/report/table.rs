//! Findings, reviewers and gate as tables for people: usable at 80 columns and without colour.

use std::io::IsTerminal;
use std::os::fd::AsFd;

use comfy_table::presets::NOTHING;
use comfy_table::{ColumnConstraint, ContentArrangement, Row, Table};

use rustix::termios::tcgetwinsize;

use super::clean::one_line;
use crate::review::summary::{Finding, Summary};
use crate::review::verdict::{Gate, ReviewersVerdict, Verdict};
use crate::review::words::count;

/// From so many columns on a finding has one line.
const WIDE: u16 = 110;

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
    if width < WIDE {
        return narrow(&all, usize::from(width));
    }
    // What identifies a finding is never broken over lines.
    let (reviewer, place_most) = (24, 36);
    let mut out = table(width, &["ID", "SEV", "STATUS", "REVIEWER", "WHERE", "TITLE"]);
    for finding in all {
        out.add_row(Row::from([
            finding.id.to_string(),
            finding.severity.to_string(),
            status(finding).to_owned(),
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

fn status(finding: &Finding) -> &'static str {
    if finding.needs_person && !finding.status.settled() { "open!" } else { finding.status.as_str() }
}

/// On a narrow terminal each finding has two lines, the second one is its title.
fn narrow(all: &[&Finding], width: usize) -> String {
    let ids: Vec<String> = all.iter().map(|finding| finding.id.to_string()).collect();
    let id = ids.iter().map(|id| id.chars().count()).chain([2]).max().unwrap_or(2);
    let row = |cells: [&str; 5]| {
        let [name, severity, status, reviewer, place] = cells;
        let head = format!(" {name:<id$}  {severity:<3}  {status:<12}  {:<14}  ", one_line(reviewer, 14));
        let room = width.saturating_sub(head.chars().count()).max(12);
        format!("{}\n", format!("{head}{}", end_of(place, room)).trim_end())
    };
    let mut out = row(["ID", "SEV", "STATUS", "REVIEWER", "WHERE"]);
    for (finding, name) in all.iter().zip(&ids) {
        let (severity, place) = (finding.severity.to_string(), place(finding));
        out.push_str(&row([name, &severity, status(finding), finding.author.as_str(), &place]));
        out.push_str(&format!("   {}\n", one_line(&finding.title, width.saturating_sub(4))));
    }
    out
}

/// Lays a text out beside what stands before it; further lines begin under its first word.
pub fn hanging(before: &str, text: &str, width: u16) -> String {
    let indent = before.chars().count();
    let room = usize::from(width).saturating_sub(indent + 1).max(20);
    let (mut out, mut line) = (before.to_owned(), String::new());
    for word in text.split_whitespace() {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > room {
            out.push_str(&format!("{line}\n{:indent$}", ""));
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    format!("{}\n", format!("{out}{line}").trim_end())
}

/// Returns how many columns a terminal has; `None` for anything else, and for one too narrow to lay anything out in.
pub fn columns(stream: impl AsFd + IsTerminal) -> Option<u16> {
    let size = stream.is_terminal().then(|| tcgetwinsize(&stream).ok()).flatten()?;
    Some(size.ws_col).filter(|columns| *columns >= 40)
}

/// Breaks a line between words where it is wider than the terminal; elsewhere it stays one line.
pub fn wrapped(line: &str, columns: Option<u16>) -> String {
    match columns {
        Some(columns) if !line.contains('\n') && line.chars().count() > usize::from(columns) => {
            let mark = line.len() - line.trim_start_matches([' ', '!', '→']).len();
            hanging(&line[..mark], &line[mark..], columns).trim_end().to_owned()
        }
        Some(_) | None => line.to_owned(),
    }
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
            one_line(&clause.reason, 200),
            one_line(&clause.remedy, 200),
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
    let mut text = format!("{} on this pull request, editor {} s", count(rounds, "round"), used.agent_seconds);
    if used.tokens > 0 {
        text.push_str(&format!(", {} tokens", used.tokens));
    }
    if used.cost_usd > 0.0 {
        text.push_str(&format!(", {:.2} USD", used.cost_usd));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::review::sample;
    use crate::review::severity::Severity;
    use insta::assert_snapshot;

    #[test]
    fn at_80_columns_a_finding_has_two_lines_and_nothing_is_broken() {
        let mut long = sample::entry("c4300000012", Severity::P1);
        long.finding.title =
            "Reject ages that are not numbers before anything is computed with them, negative ones too".into();
        long.finding.path = Some("crates/pricing/src/very/deep/fare/table.rs".into());
        let summary = sample::summary(vec![long, sample::entry("c7", Severity::Nit)]);
        let text = findings(&summary, 80);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert_snapshot!(text, @r"
         ID           SEV  STATUS        REVIEWER        WHERE
         c4300000012  P1   open          codex           …src/very/deep/fare/table.rs:10
           Reject ages that are not numbers before anything is computed with them, neg…
         c7           nit  open          codex           src/a.rs:10
           Reject empty input c7
        ");
    }

    #[test]
    fn a_long_text_hangs_under_its_first_word() {
        let text = "from PUSHBACK_TOKEN, account me, which may read everything";
        let shown = hanging("ok  token  ", text, 40);
        assert_eq!(
            shown,
            "ok  token  from PUSHBACK_TOKEN, account\n           me, which may read\n           everything\n"
        );
        assert_eq!(hanging("ok  ", "", 40), "ok\n");
        // On a terminal a line breaks between words, under where it began; elsewhere it is one line.
        let line = "! the description takes no reason; make room in it, then run again";
        let shown = "! the description takes no reason; make\n  room in it, then run again";
        assert_eq!(wrapped(line, Some(40)), shown);
        assert_eq!((wrapped(line, None).as_str(), wrapped(line, Some(80)).as_str()), (line, line));
    }
}
