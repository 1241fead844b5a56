//! What of the outbox is seen on the pull request, and what that settles.

use std::collections::{BTreeMap, BTreeSet};

use crate::review::commands::is_command;
use crate::review::comment::Channel;
use crate::review::decision::Verb;
use crate::review::description::{self, BlockReading};
use crate::review::disarm::{clean, disarm};
use crate::review::followup;
use crate::review::ids::FindingId;
use crate::review::marker::{self, key};
use crate::review::note::{Note, ReplyVerdict, Standing};
use crate::review::observation::Observation;
use crate::review::severity::Severity;
use crate::review::status::Status;
use crate::review::summary::{Entry, OutboxItem, Pending, Proof, Summary, Target, WriteKind, WriteState};
use crate::review::words;

use super::{Receipt, keys, new_item, receipts};

/// Readings after which a comment that was posted and is not there counts as deleted.
const LOOKS: u32 = 5;

/// Marks what is read back as done, settles what that settles, and plans the removal of our own second copies.
pub fn reconcile(summary: &mut Summary, obs: &Observation, notes: &[Note]) {
    if obs.account.is_none() {
        return;
    }
    let seen = receipts(obs, notes);
    read_back_comments(summary, obs, &seen);
    adopt(summary, &seen);
    read_back_threads(summary, obs, notes);
    super::describe::reconcile(summary, obs);
    retract(summary, obs, &seen);
    settle_all(summary, obs, notes, &seen);
}

/// Returns the lowest comment of ours for each key.
fn by_key(seen: &[Receipt]) -> BTreeMap<&str, &Receipt> {
    let mut first = BTreeMap::new();
    for receipt in seen {
        first.entry(receipt.marker.key()).or_insert(receipt);
    }
    first
}

fn read_back_comments(summary: &mut Summary, obs: &Observation, seen: &[Receipt]) {
    let first = by_key(seen);
    let mut asked = Vec::new();
    for item in summary.outbox.iter_mut().filter(|item| item.state != WriteState::Done) {
        let request = item.kind == WriteKind::Request;
        if let Some(comment) = said_by_us(obs, item) {
            (item.state, item.comment_id) = (WriteState::Done, Some(comment));
            item.why.clear();
            continue;
        }
        if let Some(receipt) = keys(item).iter().find_map(|key| first.get(key.as_str())) {
            item.state = WriteState::Done;
            item.comment_id = Some(receipt.comment);
            item.why.clear();
            if request {
                let comment = obs.comments.iter().find(|c| (c.channel, c.id) == (receipt.channel, receipt.comment));
                asked.push((item.key.clone(), item.head.clone(), comment.map_or(obs.at, |c| c.created_at)));
            }
        } else if item.state == WriteState::Sent {
            match item.target {
                Target::Thread { .. } | Target::Reply { .. } | Target::Conversation => not_seen(item),
                Target::Reviewer { .. } => {
                    item.state = WriteState::Done;
                    asked.push((item.key.clone(), item.head.clone(), obs.at));
                }
                Target::Inline { .. } | Target::Own { .. } => item.state = WriteState::Planned,
                Target::Description | Target::ThreadNode { .. } => {}
            }
        }
    }
    for (key, head, at) in asked {
        let name = summary.reviewers.keys().find(|name| super::request_key(summary, name, &head) == key).cloned();
        let Some(record) = name.and_then(|name| summary.reviewers.get_mut(&name)) else { continue };
        if record.head.as_ref() != Some(&head) {
            record.asked.clear();
            record.head = Some(head);
        }
        record.asked.push(at);
    }
}

/// Finds a reply without a receipt by its text: our account's, in its thread, newer than what was there when it was planned.
fn said_by_us(obs: &Observation, item: &OutboxItem) -> Option<u64> {
    let Target::Reply { root, after } = &item.target else { return None };
    let same = |comment: &&crate::review::comment::Comment| {
        comment.channel == Channel::Inline
            && comment.root() == *root
            && comment.id > *after
            && obs.is_ours(comment.author.as_ref())
            && comment.body.trim() == item.body.trim()
    };
    obs.comments.iter().filter(same).map(|comment| comment.id).min()
}

/// A comment that surely was posted is never posted again; one whose fate was unclear is not there, so it may be.
fn not_seen(item: &mut OutboxItem) {
    if item.comment_id.is_none() {
        item.state = WriteState::Planned;
    } else if item.tries >= LOOKS {
        item.state = WriteState::Failed;
        "it was posted and is not there any more".clone_into(&mut item.why);
    } else {
        item.tries += 1;
    }
}

/// Takes over receipts of ours that the outbox does not know: another machine, another account, or lost state.
pub(super) fn adopt(summary: &mut Summary, seen: &[Receipt]) {
    let known: BTreeSet<String> = summary.outbox.iter().flat_map(keys).collect();
    for (key, receipt) in by_key(seen) {
        if known.contains(key) {
            continue;
        }
        let (marker, kind) = (&receipt.marker, receipt.marker.kind());
        let target = match receipt.channel {
            Channel::Inline => Target::Thread { root: receipt.root },
            Channel::Review | Channel::Conversation => Target::Conversation,
        };
        let mut item = new_item(key.to_owned(), kind, target, marker.head());
        item.state = WriteState::Done;
        item.comment_id = Some(receipt.comment);
        item.findings = marker.finding().into_iter().collect();
        summary.outbox.push(item);
    }
}

fn read_back_threads(summary: &mut Summary, obs: &Observation, notes: &[Note]) {
    let ours =
        |id: u64| notes.iter().any(|n| n.channel == Channel::Inline && n.id == id && n.standing == Standing::Ours);
    for item in summary.outbox.iter_mut() {
        let Target::ThreadNode { root, newest, .. } = &item.target else { continue };
        let thread = obs.threads.iter().find(|thread| thread.root == *root);
        let moved = thread.is_some_and(|t| t.comments.iter().any(|id| id > newest && !ours(*id)));
        match (item.state, thread) {
            (WriteState::Planned | WriteState::Sent, Some(thread)) if thread.resolved => item.state = WriteState::Done,
            (WriteState::Planned | WriteState::Sent, None) => drop_it(item, "the thread is gone"),
            (WriteState::Planned | WriteState::Sent, Some(_)) if moved => drop_it(item, "somebody wrote in the thread"),
            (WriteState::Sent, Some(_)) if item.tries > 1 => {
                item.state = WriteState::Failed;
                "the thread stays unresolved".clone_into(&mut item.why);
            }
            (WriteState::Sent, Some(_)) => item.state = WriteState::Planned,
            (WriteState::Planned | WriteState::Done | WriteState::Failed | WriteState::Dropped, _) => {}
        }
    }
}

fn drop_it(item: &mut OutboxItem, why: &str) {
    item.state = WriteState::Dropped;
    why.clone_into(&mut item.why);
}

/// Plans the deletion of our own comments that carry nothing but keys of an earlier comment, ours or another account's.
fn retract(summary: &mut Summary, obs: &Observation, seen: &[Receipt]) {
    for item in summary.outbox.iter_mut().filter(|item| item.kind == WriteKind::Retract) {
        let Target::Own { channel, id } = item.target else { continue };
        if !obs.comments.iter().any(|comment| (comment.channel, comment.id) == (channel, id)) {
            item.state = WriteState::Done;
        }
    }
    let mut comments: BTreeMap<(Channel, u64), Vec<&Receipt>> = BTreeMap::new();
    for receipt in seen.iter().filter(|receipt| receipt.channel != Channel::Review) {
        comments.entry((receipt.channel, receipt.comment)).or_default().push(receipt);
    }
    let taken = super::taken(summary);
    let mut kept = BTreeSet::new();
    for ((channel, id), receipts) in comments {
        let of = |receipt: &Receipt| (channel, receipt.marker.key().to_owned());
        let comment = obs.comments.iter().find(|comment| (comment.channel, comment.id) == (channel, id));
        let own = comment.is_some_and(|comment| obs.is_ours(comment.author.as_ref()));
        if !own || receipts.iter().any(|receipt| !kept.contains(&of(receipt))) {
            kept.extend(receipts.iter().map(|receipt| of(receipt)));
            continue;
        }
        let key = key(WriteKind::Retract, &format!("{channel:?}"), &id.to_string());
        if !taken.contains(&key) {
            summary.outbox.push(new_item(key, WriteKind::Retract, Target::Own { channel, id }, &obs.pr.head));
        }
    }
}

fn settle_all(summary: &mut Summary, obs: &Observation, notes: &[Note], seen: &[Receipt]) {
    let lines = match description::read(&obs.pr.body) {
        BlockReading::Block(block) => block.lines,
        BlockReading::Absent | BlockReading::Broken(_) => BTreeMap::new(),
    };
    let listed = |key: &str| lines.get(key).is_some_and(|text| !text.is_empty());
    let first = by_key(seen);
    let other = heed_threads(summary, obs, &first);
    let round = summary.round;
    let moves: Vec<(FindingId, Status, Proof)> = summary
        .comments
        .values()
        .filter(|entry| entry.finding.status == Status::Open && !entry.finding.needs_person)
        .filter(|entry| !other.contains(&entry.finding.id))
        .filter_map(|entry| {
            let id = entry.finding.id;
            let Some(pending) = &entry.pending else {
                let line = description::line(entry).filter(|line| listed(&line.key))?;
                let quiet = matches!(entry.finding.severity, Severity::P3 | Severity::Nit);
                return quiet.then_some((id, Status::Acknowledged, Proof::Listed)).filter(|_| line.id == id);
            };
            let key = pending.key.as_ref()?;
            let receipt = first.get(key.as_str()).filter(|receipt| !answered_since(entry, receipt, notes, obs))?;
            let proof = Proof::Reply { comment_id: receipt.comment, reason: pending.reason.clone(), key: key.clone() };
            match (pending.verb, entry.finding.severity) {
                (Verb::Argue, Severity::P2) if listed(key) => Some((id, Status::Argued, proof)),
                (Verb::Answer, Severity::P2 | Severity::P3 | Severity::Nit) => Some((id, Status::Answered, proof)),
                (Verb::Defer, Severity::P2 | Severity::P3 | Severity::Nit) if listed(key) => {
                    let (path, url) = (pending.file.clone()?, pending.url.clone()?);
                    let (comment_id, reason) = (receipt.comment, pending.reason.clone());
                    Some((id, Status::Deferred, Proof::Plan { path, url, comment_id, reason, key: key.clone() }))
                }
                (Verb::Argue | Verb::Answer | Verb::Fix | Verb::Stale | Verb::Defer, _) => None,
            }
        })
        .collect();
    for (id, to, proof) in moves {
        let Some(entry) = summary.comments.get_mut(&id) else { continue };
        let why = match to {
            Status::Acknowledged => "listed in the description",
            Status::Answered => "answered in its thread",
            Status::Argued => "argued in its thread and in the description, both read back",
            Status::Deferred => "left to a follow-up; the link and the description were read back",
            Status::Open | Status::Fixed | Status::Stale | Status::Withdrawn | Status::Duplicate | Status::Gone => "",
        };
        entry.settle(to, proof, why, obs.at, round);
    }
}

/// What stands in the thread is the answer: a text that was believed lost and came after all, or that was posted elsewhere,
/// counts before the one that was to take its place, and the description follows it. Returns the findings whose
/// description says something else.
fn heed_threads(summary: &mut Summary, obs: &Observation, first: &BTreeMap<&str, &Receipt>) -> BTreeSet<FindingId> {
    let mut other = BTreeSet::new();
    for entry in summary.comments.values_mut().filter(|entry| entry.finding.status == Status::Open) {
        let Some(pending) = entry.pending.as_mut() else { continue };
        let receipt = pending.key.as_deref().and_then(|key| first.get(key));
        let Some(receipt) = receipt.filter(|receipt| receipt.channel == Channel::Inline) else { continue };
        let said = obs.comments.iter().find(|c| (c.channel, c.id) == (receipt.channel, receipt.comment));
        let Some(said) = said.map(|comment| clean(&comment.body)) else { continue };
        if says_otherwise(pending, &said) {
            other.insert(entry.finding.id);
        }
    }
    other
}

/// Takes over what a reply of ours says: its reason, or its plan. Tells whether that is another one than was meant.
fn says_otherwise(pending: &mut Pending, said: &str) -> bool {
    match pending.verb {
        Verb::Argue => match words::argued_reason(said) {
            Some(reason) if reason != pending.reason && reason != disarm(&pending.reason) => {
                pending.reason = reason;
                true
            }
            Some(_) | None => false,
        },
        Verb::Defer => match words::deferred_link(said).and_then(|url| Some((followup::linked(&url)?.1, url))) {
            Some((path, url)) if pending.file.as_ref() != Some(&path) => {
                (pending.file, pending.url) = (Some(path), Some(url));
                true
            }
            Some(_) | None => false,
        },
        Verb::Fix | Verb::Stale | Verb::Answer => false,
    }
}

/// Tells whether somebody who counts wrote in the thread after our answer and was not heard yet.
pub(crate) fn answered_since(entry: &Entry, receipt: &Receipt, notes: &[Note], obs: &Observation) -> bool {
    objections(entry, receipt, notes, obs).any(|id| !entry.heard.contains(&id))
}

/// Tells whether somebody who counts ever objected to our answer. What a fresh state has just heard speaks against it too.
pub(crate) fn objected_since(entry: &Entry, receipt: &Receipt, notes: &[Note], obs: &Observation) -> bool {
    objections(entry, receipt, notes, obs).next().is_some()
}

/// Returns the replies after an answer of ours that do not accept it.
fn objections<'a>(
    entry: &'a Entry,
    receipt: &'a Receipt,
    notes: &'a [Note],
    obs: &'a Observation,
) -> impl Iterator<Item = u64> + 'a {
    let later = obs.comments.iter().filter(|comment| {
        receipt.channel == Channel::Inline
            && comment.channel == Channel::Inline
            && Some(comment.root()) == entry.thread
            && comment.id > receipt.comment
    });
    let counts = |id: &u64| {
        let note = notes.iter().find(|note| note.channel == Channel::Inline && note.id == *id);
        note.is_none_or(|note| {
            note.standing.creates_work() && matches!(note.said.verdict, ReplyVerdict::Insists | ReplyVerdict::Unclear)
        })
    };
    later.map(|comment| comment.id).filter(counts)
}

/// Tells whether what was said in a finding's thread leaves room for a commit having fixed it (R13).
///
/// In an open thread the last word has to be ours and say so: after a fix the thread is resolved or told. In a resolved
/// one an objection may be older than the fix where it answers words of ours; otherwise it may speak against the fix.
pub fn may_be_fixed(entry: &Entry, obs: &Observation, notes: &[Note]) -> bool {
    let (said, resolved) = said_about(entry, obs, notes);
    match (said.last(), resolved) {
        (None | Some((_, Said::Fixed)), _) => true,
        (Some((_, Said::Words | Said::Objection)), false) => false,
        (Some((_, Said::Words)), true) => true,
        (Some((_, Said::Objection)), true) => said.first().is_some_and(|(_, first)| *first == Said::Words),
    }
}

/// Tells whether the program has answered a finding in words from another state than this one, and the thread is open: the
/// commits it pushed from there leave the finding as it is.
pub fn answered_elsewhere(summary: &Summary, entry: &Entry, obs: &Observation, notes: &[Note]) -> bool {
    let (said, resolved) = said_about(entry, obs, notes);
    let from_here = |id: u64| summary.outbox.iter().any(|item| item.comment_id == Some(id));
    !resolved && matches!(said.last(), Some((id, Said::Words)) if !from_here(*id))
}

/// What was said about a finding's end in its thread, oldest first, and whether the thread is resolved.
fn said_about(entry: &Entry, obs: &Observation, notes: &[Note]) -> (Vec<(u64, Said)>, bool) {
    let mut said: Vec<(u64, Said)> = Vec::new();
    let Some(root) = entry.thread else { return (said, false) };
    for comment in obs.comments.iter().filter(|c| c.channel == Channel::Inline && c.in_reply_to == Some(root)) {
        let Some(note) = notes.iter().find(|note| note.channel == Channel::Inline && note.id == comment.id) else {
            continue;
        };
        let objects = matches!(note.said.verdict, ReplyVerdict::Insists | ReplyVerdict::Unclear);
        let receipts = marker::parse_all(&comment.body);
        let about = receipts.iter().filter(|receipt| receipt.finding() == Some(entry.finding.id));
        if note.standing == Standing::Ours {
            said.extend(about.filter_map(|receipt| Some((comment.id, Said::of(receipt.kind())?))));
        } else if note.standing.creates_work() && objects && !is_command(&comment.body) {
            said.push((comment.id, Said::Objection));
        }
    }
    said.sort_by_key(|(id, _)| *id);
    (said, obs.threads.iter().any(|thread| thread.root == root && thread.resolved))
}

/// What one reply says about a finding's end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Said {
    Fixed,
    Words,
    Objection,
}

impl Said {
    fn of(kind: WriteKind) -> Option<Self> {
        match kind {
            WriteKind::Fixed => Some(Self::Fixed),
            WriteKind::Argue | WriteKind::Defer | WriteKind::Answer => Some(Self::Words),
            WriteKind::Stale
            | WriteKind::Request
            | WriteKind::Review
            | WriteKind::Describe
            | WriteKind::Resolve
            | WriteKind::Command
            | WriteKind::React
            | WriteKind::Retract => None,
        }
    }
}
