//! What a sitting shows beside the cards: the line above the list, all of one finding, everything that would be written.

use crate::engine::resolve::Drafted;
use crate::engine::survey::Survey;
use crate::review::brief::Around;
use crate::review::classify::readable;
use crate::review::description;
use crate::review::ids::FindingId;
use crate::review::summary::{Entry, OutboxItem, Summary, WriteKind, WriteState};
use crate::review::triage::Outcome;

pub(super) fn head(summary: &Summary, survey: &Survey, notes: &[String]) -> String {
    let counts = summary.counts();
    let mut text = format!(
        "{}#{} at {}: {} P1, {} P2, {} P3, {} nit open, {} decided\n",
        survey.obs.pr.at.slug,
        survey.obs.pr.at.number,
        survey.obs.pr.head.short(),
        counts.p1,
        counts.p2,
        counts.p3,
        counts.nit,
        summary.drafts.len()
    );
    for note in notes {
        text.push_str(&format!("! {note}\n"));
    }
    text
}

/// Everything that is known of a finding.
pub(super) fn whole(entry: &Entry, around: &Around, tried: &[String]) -> String {
    let thread: Vec<String> =
        around.thread.iter().map(|line| format!("{}: {}", line.author, readable(&line.text))).collect();
    let parts = [
        ("What was said", readable(&entry.text)),
        ("Code now", around.code.clone()),
        ("The hunk as the reviewer saw it", around.hunk.clone()),
        ("Thread", thread.join("\n")),
        ("Tried", tried.join("\n")),
    ];
    let mut text = format!("{} {}\n{}\n", entry.finding.id, entry.finding.title, entry.finding.url);
    for (title, body) in parts.iter().filter(|(_, body)| !body.trim().is_empty()) {
        text.push_str(&format!("\n{title}\n{}\n", body.trim_end()));
    }
    text
}

/// Everything that would be written, word for word.
pub(super) fn exact(summary: &Summary, body: &str, outcome: &Outcome, plans: &[Drafted]) -> String {
    let ids = |ids: &[FindingId]| ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let mut text = String::new();
    for plan in plans {
        let text_of = plan.text.trim_end();
        text.push_str(&format!(
            "== write and commit {} for {}; then link it\n{text_of}\n\n",
            plan.path,
            ids(&plan.ids)
        ));
    }
    for item in summary.outbox.iter().filter(|item| item.state == WriteState::Planned) {
        let (kind, words) = (item.kind.as_str(), words(summary, item, body));
        text.push_str(&format!("== {kind} {}\n{words}\n\n", ids(&item.findings)));
    }
    if !outcome.fixes.is_empty() {
        text.push_str(&format!("== start the editor on {}; its commit is verified and pushed\n", ids(&outcome.fixes)));
    }
    if text.is_empty() {
        text.push_str("nothing would be written\n");
    }
    text
}

fn words(summary: &Summary, item: &OutboxItem, body: &str) -> String {
    match item.kind {
        WriteKind::Describe => description::render_for(summary, body).unwrap_or_default(),
        WriteKind::Argue
        | WriteKind::Stale
        | WriteKind::Defer
        | WriteKind::Fixed
        | WriteKind::Answer
        | WriteKind::Request
        | WriteKind::Review
        | WriteKind::Resolve
        | WriteKind::Command
        | WriteKind::React
        | WriteKind::Retract => item.body.clone(),
    }
}
