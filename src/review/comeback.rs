//! Which findings are one: copies, repeats and comebacks of a reviewer's claim (R3, R12).
//!
//! A claim is never lost: of several copies one stays open, and a copy is only as settled as the one that carries it.
//! Whether an answer is right is not decided here.

mod alike;

use std::collections::{BTreeMap, BTreeSet};

use super::absorb::{Absorbed, View, What};
use super::anchor::Located;
use super::commands::{Command, parse};
use super::comment::Channel;
use super::decision::Verb;
use super::ids::{FindingId, Sha};
use super::note::{Found, ReplyVerdict, Standing};
use super::status::{NewFact, Status};
use super::summary::{Entry, Proof, Summary};

pub(super) use alike::same_words;
pub use alike::{NEAR_TEXT, SAME_PLACE_LINES, SHARED_WORDS, VERBATIM, likeness, says_the_same};
use alike::{distance, related, repeats, same_carrier, same_claim, same_identity, same_text};

/// From this likeness on, an item of an edited body is the former item of that file.
pub const SAME_ITEM: f32 = 0.6;

/// How sure two items of one body are the same, surest first.
pub(super) const ITEM_LIKENESS: [fn(&Entry, &Found) -> bool; 5] = [
    |entry, found| entry.identity.is_some() && entry.identity == found.identity,
    |entry, found| entry.body_hash == found.body_hash && entry.finding.path == found.path && same_line(entry, found),
    |entry, found| entry.body_hash == found.body_hash && entry.finding.path == found.path,
    |entry, found| entry.finding.path == found.path && same_words(&entry.finding.title, &found.title),
    |entry, found| entry.finding.path == found.path && likeness(&entry.text, &found.text) >= SAME_ITEM,
];

fn same_line(entry: &Entry, found: &Found) -> bool {
    entry.original_line == found.end_line.or(found.line)
}

/// What is said of a copy after the id of the open finding that carries it.
const COPY_OF_OPEN: &str = " says the same and is open";

/// What a new finding is to the known ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Relation {
    /// Nothing.
    Fresh,
    /// A copy of one that carries it.
    Duplicate {
        /// The one that carries it.
        of: FindingId,
        /// Why it is a copy.
        why: String,
    },
    /// The newer copy of one that is still open: carries both from now on.
    Replaces {
        /// The older copy.
        pred: FindingId,
    },
    /// A claim that had been settled.
    CameBack {
        /// The settled one.
        pred: FindingId,
        /// True when it is word for word the same over unchanged code.
        verbatim: bool,
    },
}

/// Findings by what can make them one with another: the file they speak of, and the reviewer's own identity.
#[derive(Default)]
pub(super) struct Near {
    by_path: BTreeMap<Option<String>, Vec<FindingId>>,
    by_identity: BTreeMap<String, Vec<FindingId>>,
}

impl Near {
    pub(super) fn new(summary: &Summary) -> Self {
        let mut near = Self::default();
        summary.comments.values().for_each(|entry| near.add(entry));
        near
    }

    pub(super) fn add(&mut self, entry: &Entry) {
        let id = entry.finding.id;
        self.by_path.entry(entry.finding.path.clone()).or_default().push(id);
        if let Some(identity) = &entry.identity {
            self.by_identity.entry(identity.clone()).or_default().push(id);
        }
    }

    /// Returns all that a finding can be one with, in the order of their ids.
    fn of(&self, new: &Entry) -> BTreeSet<FindingId> {
        let by_path = self.by_path.get(&new.finding.path);
        let by_identity = new.identity.as_ref().and_then(|identity| self.by_identity.get(identity));
        by_path.into_iter().chain(by_identity).flatten().copied().collect()
    }
}

/// Decides what a finding that is seen for the first time is to those that are known.
pub(super) fn relate(summary: &Summary, view: &View<'_>, near: &Near, new: &Entry) -> Relation {
    let own = view.author(new);
    let mut older: Vec<&Entry> = near
        .of(new)
        .iter()
        .filter_map(|id| summary.comments.get(id))
        .filter(|entry| entry.finding.path == new.finding.path || same_identity(entry, new))
        .filter(|entry| entry.finding.status != Status::Duplicate && view.author(entry) == own)
        .collect();
    older.sort_by_cached_key(|entry| std::cmp::Reverse(written(view, entry)));
    let together = |entry: &&&Entry| review_of(view, entry).is_some_and(|id| review_of(view, new) == Some(id));
    let body_first =
        |entry: &&&Entry| entry.finding.channel != Channel::Inline && new.finding.channel == Channel::Inline;
    if let Some(body) = older.iter().filter(together).filter(body_first).find(|body| same_claim(body, new)) {
        return of_claim(summary, view, body, new);
    }
    if let Some(first) = older.iter().rev().filter(together).find(|entry| repeats(entry, new)) {
        return Relation::Duplicate { of: first.finding.id, why: format!("{} says the same", first.finding.id) };
    }
    let apart: Vec<&Entry> = older
        .iter()
        .filter(|entry| !together(entry) && !same_carrier(entry, new) && written(view, entry) <= written(view, new))
        .copied()
        .collect();
    if let Some(pred) = the_one(&apart, new) {
        return of_claim(summary, view, pred, new);
    }
    match apart.iter().find(|pred| pred.finding.status != Status::Open && related(pred, new)) {
        Some(pred) if !before_fix(summary, view, pred, new) => {
            Relation::CameBack { pred: pred.finding.id, verbatim: false }
        }
        Some(_) | None => Relation::Fresh,
    }
}

/// The finding that a new one repeats. Where several near it say the same and none stands right there, it is none of
/// them: to take it for one of them would lose that one.
fn the_one<'e>(apart: &[&'e Entry], new: &Entry) -> Option<&'e Entry> {
    let mut fitting = apart.iter().filter(|pred| same_claim(pred, new));
    let first = fitting.next()?;
    let right_there = |pred: &&&Entry| same_identity(pred, new) || distance(pred, new) == Some(0);
    let open = |pred: &&&Entry| pred.finding.status == Status::Open;
    let others: Vec<&&Entry> = fitting.collect();
    // The place decides before the age, unless the newer one is itself what came of the older.
    let older = |pred: &&&&Entry| right_there(pred) && !first.finding.previous.contains(&pred.finding.id);
    // Beside an open one only the very text does: near an open claim, one that sounds like it may be about another thing.
    let verbatim = |pred: &&&&Entry| older(pred) && pred.body_hash == new.body_hash;
    let there = if open(&first) { others.iter().find(verbatim) } else { others.iter().find(older) };
    if let (false, Some(there)) = (right_there(&first), there) {
        return Some(there);
    }
    if right_there(&first) || !open(&first) || !others.iter().any(open) {
        return Some(first);
    }
    others.into_iter().find(|pred| right_there(pred)).copied()
}

fn written(view: &View<'_>, entry: &Entry) -> (Option<jiff::Timestamp>, u64) {
    (view.comment(entry.finding.id).map(|comment| comment.created_at), entry.finding.id.carrier())
}

fn review_of(view: &View<'_>, entry: &Entry) -> Option<u64> {
    match entry.finding.id {
        FindingId::Inline(_) => view.comment(entry.finding.id).and_then(|comment| comment.review_id),
        FindingId::Review(id, _) => Some(id),
        FindingId::Conversation(..) => None,
    }
}

fn of_claim(summary: &Summary, view: &View<'_>, pred: &Entry, new: &Entry) -> Relation {
    let id = pred.finding.id;
    let worse = new.finding.severity < pred.finding.severity;
    let inline = |entry: &Entry| entry.finding.channel == Channel::Inline;
    match pred.finding.status {
        Status::Open => {
            let copy = Relation::Duplicate { of: id, why: format!("{id}{COPY_OF_OPEN}") };
            match (inline(pred), inline(new)) {
                // A thread carries better than a body, but never a worse claim.
                (true, false) if worse => Relation::Fresh,
                (true, false) => copy,
                _ if !worse && pred.pending.is_some() && !place_gone(view, id) => copy,
                _ => Relation::Replaces { pred: id },
            }
        }
        Status::Fixed if before_fix(summary, view, pred, new) => {
            Relation::Duplicate { of: id, why: format!("made on a commit older than the fix of {id}") }
        }
        Status::Argued | Status::Answered | Status::Deferred | Status::Acknowledged | Status::Withdrawn => {
            let again = !worse && stands(pred) && unchanged(view, id) && likeness(&pred.text, &new.text) >= VERBATIM;
            if again && (pred.finding.status == Status::Acknowledged || reposted(summary, pred)) {
                return Relation::Duplicate {
                    of: id,
                    why: format!("{id} posted again word for word over the same code"),
                };
            }
            Relation::CameBack { pred: id, verbatim: again }
        }
        Status::Fixed | Status::Stale | Status::Gone | Status::Duplicate => {
            Relation::CameBack { pred: id, verbatim: false }
        }
    }
}

/// A person's word stands against a copy, a reviewer's own withdrawal is taken back by it.
fn stands(pred: &Entry) -> bool {
    match &pred.proof {
        Some(Proof::Reviewer { .. }) => false,
        Some(Proof::Person { .. }) => pred.finding.severity != super::severity::Severity::P1,
        Some(
            Proof::Commit { .. }
            | Proof::Reply { .. }
            | Proof::AnchorGone { .. }
            | Proof::Plan { .. }
            | Proof::Listed
            | Proof::SameAs { .. }
            | Proof::Deleted,
        )
        | None => true,
    }
}

fn unchanged(view: &View<'_>, id: FindingId) -> bool {
    matches!(view.seen.located.get(&id), Some(Located::There { edited: false, .. }))
}

fn place_gone(view: &View<'_>, id: FindingId) -> bool {
    matches!(view.seen.located.get(&id), Some(Located::Gone { .. }))
}

/// Tells whether a word for word copy was already shown once more: a later one, or the finding is one itself.
fn reposted(summary: &Summary, pred: &Entry) -> bool {
    let alike = |other: &Entry| likeness(&other.text, &pred.text) >= VERBATIM;
    let later = summary.comments.values().any(|e| e.finding.previous.contains(&pred.finding.id) && alike(e));
    later || pred.finding.previous.iter().filter_map(|id| summary.comments.get(id)).any(alike)
}

/// Tells whether a finding was made on a commit older than its predecessor's fix. Unknown history says no.
fn before_fix(summary: &Summary, view: &View<'_>, pred: &Entry, new: &Entry) -> bool {
    let (Status::Fixed, Some(Proof::Commit { sha, .. })) = (pred.finding.status, &pred.proof) else { return false };
    let Some(fixed_at) = head_of(summary, sha) else { return false };
    match &new.made_on {
        Some(commit) => {
            let fed = summary.rounds.iter().any(|r| r.head_after.as_ref() == Some(sha) && r.head_before == *commit);
            let last = summary.heads.iter().rposition(|head| head.sha == *commit);
            last.map_or(fed, |last| last < fixed_at)
        }
        None => {
            let since = summary.heads.get(fixed_at).map(|head| head.since);
            view.comment(new.finding.id).zip(since).is_some_and(|(comment, since)| comment.created_at < since)
        }
    }
}

fn head_of(summary: &Summary, sha: &Sha) -> Option<usize> {
    summary.heads.iter().position(|head| head.sha == *sha)
}

/// Writes a relation into both entries. The new one is not in the summary yet.
pub(super) fn link(summary: &mut Summary, view: &View<'_>, new: &mut Entry, relation: &Relation, out: &mut Absorbed) {
    let (at, round) = (view.at, view.round);
    match relation {
        Relation::Fresh => {}
        Relation::Duplicate { of, why } => {
            new.settle(Status::Duplicate, Proof::SameAs { id: *of }, why.clone(), at, round);
        }
        Relation::Replaces { pred } => {
            let Some(old) = summary.comments.get_mut(pred) else { return };
            inherit(new, old);
            // A milder copy carries what the older one weighed: only a person re-grades (R6).
            if old.finding.severity.blocks() && old.finding.severity < new.finding.severity && new.regrade.is_none() {
                new.worst = Some(old.finding.severity);
                new.finding.severity = old.finding.severity;
            }
            new.finding.needs_person = old.finding.needs_person;
            new.refused.clone_from(&old.refused);
            let why = if old.finding.needs_person { &old.finding.why } else { "a newer copy of the same finding" };
            new.finding.why = why.to_owned();
            let id = new.finding.id;
            if old.settle(Status::Duplicate, Proof::SameAs { id }, format!("came again as {id}"), at, round) {
                out.tell(old, What::Settled(Status::Duplicate));
            }
        }
        Relation::CameBack { pred, verbatim } => {
            let Some(old) = summary.comments.get_mut(pred) else { return };
            inherit(new, old);
            come_back(new, old, *verbatim, view.seen.policy.limits.exchanges);
            if old.finding.status == Status::Gone {
                // Its successor waits now.
                old.finding.needs_person = false;
            }
        }
    }
}

fn inherit(new: &mut Entry, old: &Entry) {
    new.finding.previous = old.finding.previous.iter().copied().chain([old.finding.id]).collect();
    new.finding.attempts = old.finding.attempts;
    new.exchanges = old.exchanges;
    // A person's word on a claim holds for its copies, as long as its reviewer does not say worse than before.
    if let Some(regrade) = &old.regrade
        && same_claim(old, new)
        && new.finding.severity >= regrade.from
    {
        new.regrade = Some(regrade.clone());
        new.finding.severity = regrade.to.unwrap_or(new.finding.severity);
    }
}

fn come_back(new: &mut Entry, old: &Entry, verbatim: bool, cap: u32) {
    let (id, status, why) = (old.finding.id, old.finding.status, &old.finding.why);
    new.finding.why = format!("{id} came back");
    new.refused = Some(match verbatim {
        true => format!("{id} was posted again word for word; it is {status}: {why}"),
        false => format!("{id} was {status} ({why}) and came back"),
    });
    match status {
        Status::Argued | Status::Answered | Status::Deferred => {
            new.exchanges += 1;
            if new.exchanges >= cap.max(1) && !verbatim {
                new.hand_over(format!("{id} came back {} times in spite of an answer", new.exchanges));
            }
        }
        Status::Open
        | Status::Fixed
        | Status::Stale
        | Status::Acknowledged
        | Status::Withdrawn
        | Status::Duplicate
        | Status::Gone => {}
    }
}

/// Opens copies whose carrier was edited and does not say what they say any more.
pub(super) fn leave_edited(summary: &mut Summary, view: &View<'_>, carrier: FindingId, out: &mut Absorbed) {
    let Some(now) = summary.comments.get(&carrier).cloned() else { return };
    for entry in summary.comments.values_mut().filter(|entry| copies(entry) == Some(carrier)) {
        if !same_text(entry, &now) {
            lose(entry, format!("{carrier} says something else now"), view, out);
        }
    }
}

fn copies(entry: &Entry) -> Option<FindingId> {
    match &entry.proof {
        Some(Proof::SameAs { id }) if entry.finding.status == Status::Duplicate => Some(*id),
        Some(_) | None => None,
    }
}

fn lose(entry: &mut Entry, why: String, view: &View<'_>, out: &mut Absorbed) {
    if entry.reopen(NewFact::OriginalLost, why, view.at, view.round) {
        out.tell(entry, What::Reopened(NewFact::OriginalLost));
    }
}

/// Opens copies whose carrier is gone while they still stand: a copy is only as settled as the one that carries it.
pub(super) fn repair_duplicates(summary: &mut Summary, view: &View<'_>, unsaid: &[FindingId], out: &mut Absorbed) {
    let mut taken_over = Vec::new();
    let lost: Vec<(FindingId, FindingId, String)> = summary
        .comments
        .values()
        .filter_map(|entry| {
            let carrier = copies(entry)?;
            view.comment(entry.finding.id)?;
            if unsaid.contains(&entry.finding.id) {
                return None;
            }
            let why = match summary.comments.get(&carrier) {
                None => format!("{carrier} is not known any more"),
                Some(other) => match other.finding.status {
                    Status::Gone => format!("{carrier} was deleted, this copy stands"),
                    Status::Stale if place_there(view, entry.finding.id) => {
                        format!("the place of {carrier} is gone, this one's is there")
                    }
                    Status::Withdrawn if said_after(view, other, entry) => {
                        format!("posted after {carrier} had been taken back")
                    }
                    Status::Open
                    | Status::Fixed
                    | Status::Argued
                    | Status::Stale
                    | Status::Deferred
                    | Status::Acknowledged
                    | Status::Answered
                    | Status::Withdrawn
                    | Status::Duplicate => return None,
                },
            };
            Some((entry.finding.id, carrier, why))
        })
        .collect();
    for (id, carrier, why) in lost {
        if let Some(entry) = summary.comments.get_mut(&id) {
            lose(entry, why, view, out);
            taken_over.push(carrier);
        }
    }
    for carrier in taken_over {
        if let Some(entry) = summary.comments.get_mut(&carrier)
            && entry.finding.status == Status::Gone
        {
            entry.finding.needs_person = false;
        }
    }
}

/// Tells whether the copy of an open finding was written after the words in the finding's thread that took it back. Both
/// may be read together, the copy before the words.
fn said_after(view: &View<'_>, carrier: &Entry, copy: &Entry) -> bool {
    let posts = carrier.thread.and_then(|root| view.threads.get(&root));
    let took_back = |(comment, note): &&(&super::comment::Comment, &super::note::Note)| {
        let counts = !matches!(note.standing, Standing::Ours | Standing::Untrusted);
        let accepted = matches!(parse(&comment.body), Some(Ok(Command::Accept { .. })));
        comment.in_reply_to.is_some()
            && counts
            && (note.said.verdict == ReplyVerdict::Accepts || note.said.closed.is_some() || accepted)
    };
    let last = posts.into_iter().flatten().filter(took_back).map(|(comment, _)| comment.created_at).max();
    copy.finding.why.ends_with(COPY_OF_OPEN)
        && last.is_some_and(|last| view.comment(copy.finding.id).is_some_and(|comment| comment.created_at > last))
}

fn place_there(view: &View<'_>, id: FindingId) -> bool {
    matches!(view.seen.located.get(&id), Some(Located::There { .. }))
}

/// Tells whether an answer under way is one of words, which a dispute makes void; a claimed fix stands on its commit.
pub(super) fn of_words(verb: Verb) -> bool {
    match verb {
        Verb::Argue | Verb::Stale | Verb::Defer | Verb::Answer => true,
        Verb::Fix => false,
    }
}
