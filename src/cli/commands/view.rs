//! What `status`, `run` and `gate` have in common: the answer as JSON and as text.

use crate::cli::look::{CONFIG_FILE, Desk};
use crate::cli::output;
use crate::engine::rounds;
use crate::engine::survey::Survey;
use crate::report::json::{Counts, Envelope, PrView, ReviewerView, SCHEMA_VERSION, StatusView, UsedView};
use crate::report::table;
use crate::review::note::{Signal, Standing};
use crate::review::step::more_needed;
use crate::review::summary::Summary;
use crate::review::verdict::Gate;
use crate::review::words::count;

/// Notices that people should see: who was not listened to, notices no rule knows, a loosened gate.
pub(super) fn notes(desk: &Desk, survey: &Survey) -> Vec<String> {
    let mut notes = desk.notes.clone();
    for untrusted in &survey.untrusted {
        let who = untrusted.login.as_ref().map_or("a deleted account", |login| login.as_str());
        notes.push(format!(
            "not listened to: {} by {who}, who has no write permission and is no review bot that is known; `trust.allow` lets it count",
            untrusted.title
        ));
    }
    for note in survey.notes.iter().filter(|note| matches!(note.standing, Standing::Reviewer(_))) {
        for signal in &note.said.signals {
            if let Signal::Unknown(text) = signal {
                let who = note.said.reviewer.clone().unwrap_or_default();
                notes.push(format!("{who} says something no rule knows: {text}"));
            }
        }
    }
    notes
}

/// Says what is settled and not shown on the pull request yet, and what that still claims and holds no more: only
/// `resolve` and `run` post.
pub(super) fn unposted(desk: &Desk, summary: &Summary, survey: &Survey) -> Vec<String> {
    let owed = rounds::unposted(&desk.setup(None), summary, survey);
    let mut notes = Vec::new();
    if !owed.settled.is_empty() {
        let ids: Vec<String> = owed.settled.iter().map(ToString::to_string).collect();
        let how = if runs(desk) { "`pushback resolve` or `pushback run`" } else { "`pushback resolve`" };
        notes.push(format!(
            "{}: settled, and not shown on the pull request yet; the next {how} posts it",
            ids.join(", ")
        ));
    }
    if owed.outdated > 0 {
        notes.push(format!(
            "our block in the description has {} out of date; the next `pushback resolve` or `pushback run` renews it",
            count(owed.outdated, "line")
        ));
    }
    notes
}

/// Builds the common part.
pub(super) fn status(desk: &Desk, summary: &Summary, survey: &Survey, gate: Option<Gate>) -> StatusView {
    StatusView {
        counts: Counts::of(summary, survey.untrusted.len()),
        findings: summary.comments.values().map(|entry| entry.finding.clone()).collect(),
        reviewers: survey.reviewers.each.iter().map(ReviewerView::of).collect(),
        gate,
        used: UsedView::of(&summary.used),
        notes: notes(desk, survey),
    }
}

/// Wraps an answer.
pub(super) fn envelope<T: serde::Serialize>(
    command: &'static str,
    (exit, next): (u8, String),
    summary: &Summary,
    more: T,
) -> Envelope<T> {
    Envelope {
        schema_version: SCHEMA_VERSION,
        command,
        exit,
        pr: Some(PrView::of(summary)),
        next,
        retry_after_s: None,
        error: None,
        more,
    }
}

/// Tells whether `run` would start here: it has something that proves a fix.
pub(super) fn runs(desk: &Desk) -> bool {
    desk.settings.policy.has_verify || desk.settings.policy.verify_none
}

/// Names what helps where nothing proves a fix: `init` once, then what it wrote is to be filled in.
fn set_up(desk: &Desk) -> String {
    let there = desk.place.found.toplevel.join(CONFIG_FILE).is_file();
    if there { "doctor" } else { "init" }.to_owned()
}

/// Returns the one command to run next. `run` is not named where it would refuse to start.
pub(super) fn next(desk: &Desk, exit: u8, summary: &Summary) -> String {
    let command = command(desk, exit, summary);
    format!("pushback{} {command}", desk.flags)
}

/// The same after a command that has just run: nothing, where it is itself all there is to call; remedies say what helps.
pub(super) fn next_after(ran: &str, desk: &Desk, exit: u8, summary: &Summary) -> String {
    if command(desk, exit, summary) == ran { String::new() } else { next(desk, exit, summary) }
}

fn command(desk: &Desk, exit: u8, summary: &Summary) -> String {
    let first = summary.open_blocking().next().map(|entry| entry.finding.id);
    match (exit, first) {
        (0, _) => "gate".to_owned(),
        (10 | 11 | 13, _) if !runs(desk) => set_up(desk),
        (10 | 11 | 13, _) => match more_needed(summary, &desk.settings.policy.limits) {
            Some(more) => format!("run --more {more}"),
            None => "run".to_owned(),
        },
        (12, _) if !runs(desk) => "gate --wait 30m".to_owned(),
        (12, _) => "run --wait 30m".to_owned(),
        (14, _) if summary.comments.values().any(|entry| entry.finding.needs_person) => "triage".to_owned(),
        (14, _) if more_needed(summary, &desk.settings.policy.limits).is_some() => {
            format!("run --more {}", more_needed(summary, &desk.settings.policy.limits).unwrap_or(1))
        }
        (14, Some(id)) => format!("show {id}"),
        _ => "gate".to_owned(),
    }
}

/// Prints head line, findings, reviewers, gate and notes.
pub(super) fn print(desk: &Desk, summary: &Summary, survey: &Survey, gate: Option<&Gate>) {
    let width = output::width();
    let pr = &survey.obs.pr;
    let mut text = format!("{} {} ({} → {}, head {})\n", desk.pr, pr.title, pr.head_branch, pr.base, pr.head.short());
    text.push_str(&format!("{}\n\n", pr.url));
    text.push_str(&table::findings(summary, width));
    text.push('\n');
    text.push_str(&table::reviewers(&survey.reviewers, width));
    if let Some(gate) = gate {
        text.push('\n');
        text.push_str(&table::gate(gate, width));
    }
    if !summary.rounds.is_empty() {
        text.push_str(&format!("\n{}\n", table::spent(summary)));
    }
    for note in notes(desk, survey).iter().chain(&unposted(desk, summary, survey)) {
        text.push_str(&format!("\nnote: {note}"));
    }
    text.push('\n');
    output::shown(&text);
}
