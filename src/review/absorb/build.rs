//! A finding as an entry: its place as of today, and its severity as the settings have it (R5).

use super::Told;
use super::view::{View, Who};
use crate::review::comment::{AccountKind, Channel};
use crate::review::ids::{FindingId, Login};
use crate::review::note::{Note, Standing};
use crate::review::policy::ReviewerPolicy;
use crate::review::severity::{DecidedBy, Severity};
use crate::review::status::Status;
use crate::review::summary::{Entry, Finding, Move};

pub(super) fn build(told: &Told<'_, '_>, id: FindingId) -> Entry {
    let Told { view, comment, note, author_login, found } = told;
    let (severity, decided_by) = grade(told, id);
    let anchor = comment.anchor.as_ref();
    let made_on = anchor.and_then(|a| a.original_commit.clone()).or_else(|| comment.review_commit.clone());
    let current = made_on.as_ref() == Some(view.head());
    let said_end = found.end_line.or(found.line);
    let original_line = anchor.map_or(said_end, |a| a.original_line.or(a.line));
    // A line of another commit is never shown as a line of this one.
    let (line, start_line) = match anchor {
        Some(a) if a.whole_file => (None, None),
        Some(a) if current => (a.original_line.or(a.line), a.original_start_line.or(a.start_line)),
        Some(a) => (a.line, a.start_line),
        None if current || made_on.is_none() => (said_end, found.line.filter(|_| found.end_line.is_some())),
        None => (None, None),
    };
    let path = anchor.map(|a| a.path.clone()).or_else(|| found.path.clone());
    let whole_file = anchor.map_or(path.is_some() && said_end.is_none(), |a| a.whole_file);
    let why = "seen for the first time".to_owned();
    Entry {
        finding: Finding {
            id,
            severity,
            decided_by,
            rule: found.rule.clone(),
            author: (*author_login).clone(),
            author_kind: note.author.as_ref().map_or(AccountKind::Person, |author| author.kind),
            channel: note.channel,
            path,
            line,
            side: anchor.map(|a| a.side),
            status: Status::Open,
            needs_person: false,
            title: found.title.clone(),
            url: comment.url.clone(),
            attempts: 0,
            previous: Vec::new(),
            why: why.clone(),
        },
        body_hash: found.body_hash.clone(),
        seen_head: view.head().clone(),
        first_head: view.head().clone(),
        made_on,
        start_line: start_line.filter(|start| line.is_none_or(|line| *start < line)),
        original_line,
        thread: (note.channel == Channel::Inline).then(|| comment.root()),
        identity: found.identity.clone(),
        text: found.text.clone(),
        is_question: found.is_question,
        whole_file,
        regrade: None,
        proof: None,
        pending: None,
        heard: Vec::new(),
        exchanges: 0,
        worst: None,
        refused: None,
        history: vec![Move { at: view.at, from: None, to: Status::Open, why, round: view.round }],
    }
}

/// Decides the severity: the marker, remapped by the settings, then levels told elsewhere, then the configured default.
pub(super) fn grade(told: &Told<'_, '_>, id: FindingId) -> (Severity, DecidedBy) {
    let Told { view, note, author_login, found, .. } = told;
    let settings = settings(view, note, author_login);
    let path = told.comment.anchor.as_ref().map(|a| a.path.as_str()).or(found.path.as_deref());
    if path.is_some_and(|path| view.is_plan(path)) {
        return (Severity::P3, found.decided_by);
    }
    let level = found.level.as_deref().zip(settings).and_then(|(level, settings)| {
        settings.levels.iter().find(|(name, _)| name.eq_ignore_ascii_case(level)).map(|(_, severity)| *severity)
    });
    if let Some(severity) = level {
        return (severity, DecidedBy::Tagged);
    }
    match found.decided_by {
        DecidedBy::Tagged | DecidedBy::UnknownTag => (found.severity, found.decided_by),
        DecidedBy::Assumed => {
            if let (FindingId::Inline(comment), Channel::Inline) = (id, note.channel)
                && let Some((name, severity)) = view.levels.get(&comment)
                && view.speaker(note) == Some(Who::Reviewer(name))
            {
                return (*severity, DecidedBy::Tagged);
            }
            let assumed = match note.standing {
                Standing::Reviewer(_) => settings.and_then(|s| s.untagged).unwrap_or(found.severity),
                Standing::Writer { .. } | Standing::PrAuthor { .. } => view.seen.policy.people_untagged,
                Standing::Ours | Standing::Untrusted => found.severity,
            };
            (assumed, DecidedBy::Assumed)
        }
    }
}

fn settings<'a>(view: &View<'a>, note: &Note, login: &Login) -> Option<&'a ReviewerPolicy> {
    let each = &view.seen.policy.reviewers.each;
    let named = |wanted: &str| {
        each.iter().find(|(name, _)| Login::new(name).as_str().eq_ignore_ascii_case(wanted)).map(|(_, policy)| policy)
    };
    let by_name = match &note.standing {
        Standing::Reviewer(name) => named(name),
        Standing::Writer { .. } | Standing::PrAuthor { .. } | Standing::Ours | Standing::Untrusted => None,
    };
    by_name.or_else(|| named(login.as_str()))
}
