//! What one observation changes in the summary: findings that are new, edited, deleted or moved.
//!
//! Absorbing is idempotent and does not depend on the order of comments. Relations between findings are decided in
//! `comeback`, what threads say in `threads`; nothing here settles by answer: answers are judged elsewhere.

use std::collections::{BTreeMap, BTreeSet};

use super::anchor::{Located, Place};
use super::comeback::{self, Near, Relation};
use super::commands;
use super::comment::{Channel, Comment};
use super::ids::{FindingId, Login, RepoPath, Sha};
use super::note::{Found, Note, Standing};
use super::observation::Observation;
use super::policy::Policy;
use super::severity::{DecidedBy, Severity};
use super::status::{NewFact, Status};
use super::summary::{CommandRecord, Entry, HeadRecord, Proof, Summary};
use super::threads;
pub(super) use before::Before;
use build::{build, grade};
pub(super) use view::View;

mod before;
mod build;
mod view;

/// Everything absorbing depends on.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    /// A complete reading.
    pub obs: &'a Observation,
    /// Its comments with standing and meaning.
    pub notes: &'a [Note],
    /// Where the places of known findings are at the observed head, as far as it was asked.
    pub located: &'a BTreeMap<FindingId, Located>,
    /// Settings.
    pub policy: &'a Policy,
    /// Commits made by this program, pushed or not, beside those the rounds name.
    pub our_commits: &'a BTreeSet<Sha>,
}

/// What happened to one finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum What {
    /// Seen for the first time.
    New,
    /// A successor of an earlier finding.
    CameBack,
    /// Its text means something else.
    Edited,
    /// Its severity changed without an edit.
    Graded,
    /// Settled.
    Settled(Status),
    /// Opened again.
    Reopened(NewFact),
    /// Handed to a person.
    NeedsPerson,
}

/// One event, for the report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Happened {
    /// The finding.
    pub id: FindingId,
    /// What happened.
    pub what: What,
    /// Why, in one sentence.
    pub why: String,
}

/// Something asked by an account that creates no work: shown, never acted upon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Untrusted {
    /// Channel.
    pub channel: Channel,
    /// Id within the channel.
    pub id: u64,
    /// Who, where the account still exists.
    pub login: Option<Login>,
    /// What is asked, one line.
    pub title: String,
}

/// Result of absorbing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Absorbed {
    /// What happened, in the order in which it was found.
    pub events: Vec<Happened>,
    /// What nobody acts upon.
    pub untrusted: Vec<Untrusted>,
    /// Thread commands that were taken in this reading, obeyed or refused.
    pub commands: Vec<CommandRecord>,
    /// Open findings whose place is provably gone, with the proof: candidates for `stale`.
    pub anchors_gone: Vec<(FindingId, String)>,
}

impl Absorbed {
    pub(super) fn tell(&mut self, entry: &Entry, what: What) {
        self.events.push(Happened { id: entry.finding.id, what, why: entry.finding.why.clone() });
    }
}

/// Brings the summary up to an observation.
pub fn absorb(summary: &mut Summary, seen: &Seen<'_>) -> Absorbed {
    let view = View::new(summary, *seen);
    let mut out = Absorbed::default();
    take_head(summary, &view);
    take_places(summary, &view, &mut out);
    take_deletions(summary, &view, &mut out);
    let mut unsaid = Vec::new();
    let mut known = Known { before: Before::of(summary), near: Near::new(summary) };
    for (comment, note) in view.in_order() {
        unsaid.extend(take_note(summary, &view, &mut known, (comment, note), &mut out));
    }
    threads::take_replies(summary, &view, &known.before, &mut out);
    commands::take_commands(summary, &view, &known.before, &mut out);
    threads::take_closings(summary, &view, &mut out);
    threads::take_resolutions(summary, &view, &mut out);
    // Last, because a reply can have opened what nobody says any more.
    for id in &unsaid {
        if let Some(entry) = summary.comments.get_mut(id) {
            vanish(entry, "an edit took it out of its comment", &view, &mut out);
        }
    }
    take_deletions(summary, &view, &mut out);
    comeback::repair_duplicates(summary, &view, &unsaid, &mut out);
    out
}

/// Returns the places to be mapped from the commit they were cited on to the head, one a finding.
///
/// Findings without a known commit or file have no place.
pub fn places(summary: &Summary, obs: &Observation) -> Vec<(FindingId, Sha, Place)> {
    let inline: BTreeMap<u64, &Comment> =
        obs.comments.iter().filter(|c| c.channel == Channel::Inline).map(|c| (c.id, c)).collect();
    let place = |entry: &Entry| {
        let anchor = inline.get(&entry.finding.id.carrier()).and_then(|c| c.anchor.as_ref());
        let anchor = anchor.filter(|_| entry.finding.channel == Channel::Inline);
        let path = anchor.map(|a| a.path.as_str()).or(entry.finding.path.as_deref())?;
        let span = match (entry.start_line, entry.finding.line) {
            (Some(start), Some(line)) => line.saturating_sub(start),
            _ => 0,
        };
        let line = entry.original_line;
        let start = anchor.map_or_else(|| line.map(|l| l.saturating_sub(span)), |a| a.original_start_line);
        let place = Place {
            path: RepoPath::from_outside(path).ok()?,
            start_line: start,
            line,
            side: entry.finding.side.unwrap_or(super::comment::Side::Right),
            whole_file: entry.whole_file,
        };
        Some((entry.finding.id, entry.made_on.clone()?, place))
    };
    summary.comments.values().filter_map(place).collect()
}

fn take_head(summary: &mut Summary, view: &View<'_>) {
    let obs = view.seen.obs;
    let head = view.head();
    let ours = view.seen.our_commits.contains(head)
        || summary.rounds.iter().any(|round| round.head_after.as_ref() == Some(head));
    if summary.heads.last().is_none_or(|last| last.sha != *head) {
        let since = obs.head_since.unwrap_or(obs.at);
        summary.heads.push(HeadRecord { sha: head.clone(), since, ours });
    }
    if summary.pr.head != *head {
        summary.pr.head = head.clone();
    }
    summary.pr.base.clone_from(&obs.pr.base);
    summary.pr.url.clone_from(&obs.pr.url);
    if let Some(account) = &obs.account {
        summary.account = Some(account.login.clone());
    }
}

fn take_places(summary: &mut Summary, view: &View<'_>, out: &mut Absorbed) {
    for entry in summary.comments.values_mut() {
        match view.seen.located.get(&entry.finding.id) {
            Some(Located::There { path, line, start_line, .. }) => {
                entry.finding.path = Some(path.to_string());
                entry.finding.line = *line;
                entry.start_line = *start_line;
            }
            Some(Located::Gone { because }) if entry.finding.status == Status::Open => {
                out.anchors_gone.push((entry.finding.id, because.clone()));
            }
            Some(Located::Gone { .. } | Located::Unsure { .. }) | None => {}
        }
    }
}

/// A reading is complete, so what is not in it does not exist any more.
fn take_deletions(summary: &mut Summary, view: &View<'_>, out: &mut Absorbed) {
    for entry in summary.comments.values_mut() {
        if view.comment(entry.finding.id).is_some() {
            entry.seen_head.clone_from(view.head());
        } else {
            vanish(entry, "its comment was deleted", view, out);
        }
    }
}

fn vanish(entry: &mut Entry, why: &str, view: &View<'_>, out: &mut Absorbed) {
    if entry.settle(Status::Gone, Proof::Deleted, why, view.at, view.round) {
        out.tell(entry, What::Settled(Status::Gone));
        if entry.finding.severity == Severity::P1 && entry.hand_over(format!("{why}; it was a P1")) {
            out.tell(entry, What::NeedsPerson);
        }
    }
}

/// Takes one comment; returns the findings that an edit took out of it.
fn take_note<'a>(
    summary: &mut Summary,
    view: &View<'a>,
    memory: &mut Known,
    (comment, note): (&'a Comment, &'a Note),
    out: &mut Absorbed,
) -> Vec<FindingId> {
    if !note.standing.creates_work() {
        let listed = note.standing != Standing::Ours && of_carrier(summary, note.channel, note.id).is_empty();
        if let (true, Some(found)) = (listed, note.said.worst()) {
            let login = note.author.as_ref().map(|author| author.login.clone());
            let title = found.title.clone();
            out.untrusted.push(Untrusted { channel: note.channel, id: note.id, login, title });
        }
        return Vec::new();
    }
    let Some(author) = &note.author else { return Vec::new() };
    let mut known = of_carrier(summary, note.channel, note.id);
    for (id, found) in assign(summary, note, &known) {
        known.retain(|other| *other != id);
        let told = Told { view, comment, note, author_login: &author.login, found: &found };
        if summary.comments.contains_key(&id) {
            update(summary, &told, &mut memory.before, id, out);
        } else if !answers_its_own(summary, view, comment, note, &found) {
            insert(summary, &told, &mut memory.near, id, out);
        }
    }
    // Without an edit only our reading has changed, and a closing marker says more than its text.
    if note.said.closed.is_some() || comment.updated_at <= comment.created_at {
        return Vec::new();
    }
    known
}

/// What is known while a reading is taken in, beside the summary.
struct Known {
    before: Before,
    near: Near,
}

/// A finding as one comment tells it.
struct Told<'v, 'a> {
    view: &'v View<'a>,
    comment: &'a Comment,
    note: &'a Note,
    author_login: &'a Login,
    found: &'v Found,
}

fn of_carrier(summary: &Summary, channel: Channel, id: u64) -> Vec<FindingId> {
    let range = match channel {
        Channel::Inline => FindingId::Inline(id)..=FindingId::Inline(id),
        Channel::Review => FindingId::Review(id, 0)..=FindingId::Review(id, u32::MAX),
        Channel::Conversation => FindingId::Conversation(id, 0)..=FindingId::Conversation(id, u32::MAX),
    };
    summary.comments.range(range).map(|(id, _)| *id).collect()
}

/// Gives each finding of a comment its id: the one it had, found by content, or the next free one.
fn assign(summary: &Summary, note: &Note, known: &[FindingId]) -> Vec<(FindingId, Found)> {
    let make = match note.channel {
        Channel::Inline => {
            return note.said.merged().map(|found| (FindingId::Inline(note.id), found)).into_iter().collect();
        }
        Channel::Review => FindingId::Review,
        Channel::Conversation => FindingId::Conversation,
    };
    let mut free: Vec<&Entry> = known.iter().filter_map(|id| summary.comments.get(id)).collect();
    let mut ids: Vec<Option<FindingId>> = vec![None; note.said.findings.len()];
    // The surest likeness takes its entry first, so that a new item never takes another one's.
    for sure in comeback::ITEM_LIKENESS {
        for (id, found) in ids.iter_mut().zip(&note.said.findings) {
            if id.is_none()
                && let Some(at) = free.iter().position(|entry| sure(entry, found))
            {
                *id = Some(free.remove(at).finding.id);
            }
        }
    }
    let mut next = known.iter().map(|id| item(*id)).max().unwrap_or(0);
    let fresh = |id: Option<FindingId>| {
        id.unwrap_or_else(|| {
            next += 1;
            make(note.id, next)
        })
    };
    ids.into_iter().map(fresh).collect::<Vec<_>>().into_iter().zip(note.said.findings.iter().cloned()).collect()
}

fn item(id: FindingId) -> u32 {
    match id {
        FindingId::Inline(_) => 1,
        FindingId::Review(_, n) | FindingId::Conversation(_, n) => n,
    }
}

/// In its own thread a reviewer answers; what it says there belongs to the finding that is discussed.
fn answers_its_own<'a>(summary: &Summary, view: &View<'a>, comment: &Comment, note: &'a Note, found: &Found) -> bool {
    let Some(root) = comment.in_reply_to.and_then(|root| summary.comments.get(&FindingId::Inline(root))) else {
        return false;
    };
    let same = view.speaker(note).is_some_and(|who| who == view.author(root));
    same || found.decided_by != DecidedBy::Tagged
}

fn insert(summary: &mut Summary, told: &Told<'_, '_>, near: &mut Near, id: FindingId, out: &mut Absorbed) {
    let mut entry = build(told, id);
    let relation = comeback::relate(summary, told.view, near, &entry);
    comeback::link(summary, told.view, &mut entry, &relation, out);
    let what = match relation {
        Relation::Fresh => What::New,
        Relation::Duplicate { .. } => What::Settled(Status::Duplicate),
        Relation::Replaces { .. } | Relation::CameBack { .. } => What::CameBack,
    };
    out.tell(&entry, what);
    if entry.finding.needs_person {
        out.tell(&entry, What::NeedsPerson);
    }
    near.add(&entry);
    summary.comments.insert(id, entry);
}

fn update(summary: &mut Summary, told: &Told<'_, '_>, before: &mut Before, id: FindingId, out: &mut Absorbed) {
    let (mut severity, mut decided_by) = grade(told, id);
    let Told { view, found, .. } = told;
    let Some(entry) = summary.comments.get_mut(&id) else { return };
    let same_hash = entry.body_hash == found.body_hash;
    if !same_hash {
        before.keep_text(entry);
    }
    entry.body_hash.clone_from(&found.body_hash);
    // A new reading of the same words is no edit.
    let same_words = same_hash || comeback::same_words(&entry.text, &found.text);
    entry.text.clone_from(&found.text);
    entry.is_question = found.is_question;
    entry.finding.rule.clone_from(&found.rule);
    if !same_words {
        entry.finding.title.clone_from(&found.title);
        if entry.regrade.as_ref().is_some_and(|regrade| severity < regrade.from) {
            entry.regrade = None;
        }
    }
    let in_force = entry.regrade.as_ref().and_then(|regrade| regrade.to);
    // An edit makes a finding worse, never better: only a person re-grades (R6).
    if !same_words && in_force.is_none() && severity > entry.finding.severity && entry.finding.severity.blocks() {
        entry.worst = Some(entry.finding.severity);
    }
    if let Some(worst) = entry.worst.filter(|worst| *worst < severity) {
        (severity, decided_by) = (worst, entry.finding.decided_by);
    }
    let graded = in_force.is_none() && entry.finding.severity != severity;
    if in_force.is_none() {
        entry.finding.severity = severity;
        entry.finding.decided_by = decided_by;
    }
    let (at, round) = (view.at, view.round);
    if entry.finding.status == Status::Gone {
        if entry.reopen(NewFact::Returned, "it is there again", at, round) {
            out.tell(entry, What::Reopened(NewFact::Returned));
        }
    } else if !same_words {
        edited(entry, view, out);
        comeback::leave_edited(summary, view, id, out);
    } else if graded && entry.outgraded() {
        entry.reopen(NewFact::Graded, format!("its severity is {severity} now"), at, round);
        out.tell(entry, What::Reopened(NewFact::Graded));
    } else if graded {
        out.tell(entry, What::Graded);
    }
}

fn edited(entry: &mut Entry, view: &View<'_>, out: &mut Absorbed) {
    let why = "its comment was edited and means something else now";
    if entry.reopen(NewFact::Edited, why, view.at, view.round) {
        out.tell(entry, What::Reopened(NewFact::Edited));
        return;
    }
    // An answer under way speaks of the former text.
    if entry.pending.take().is_some() {
        entry.refused = Some("The comment was edited after this answer was given.".to_owned());
    }
    out.tell(entry, What::Edited);
}

#[cfg(test)]
pub(crate) mod tests;
