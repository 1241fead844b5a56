//! Outside effects: planned, stored, done, read back (R23). What they say stands in `words`.
//!
//! The caller observes, calls [`reconcile`], then [`plan`], then performs [`next`] one at a time, saving before and after.

mod describe;
mod plan;
mod reconcile;

use std::collections::BTreeSet;

use super::comment::{Channel, Thread};
use super::ids::{FindingId, Sha};
use super::marker::{self, Marker};
use super::note::{Note, Standing};
use super::observation::Observation;
use super::summary::{OutboxItem, Summary, Target, WriteKind, WriteState};
use super::verdict::Nudge;
use super::words;
use super::written::Written;

pub use describe::removed_again;
pub use plan::plan;
pub(crate) use reconcile::objected_since;
pub use reconcile::{answered_elsewhere, may_be_fixed, reconcile};

/// A receipt of ours as read on the pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Receipt {
    pub(crate) channel: Channel,
    pub(crate) comment: u64,
    pub(crate) root: u64,
    pub(crate) marker: Marker,
}

/// Returns the receipts that count on this pull request, by channel and age: our own, and those that this program left
/// from another account that may write (R13), so that two machines never say one thing twice.
pub(crate) fn receipts(obs: &Observation, notes: &[Note]) -> Vec<Receipt> {
    let known: BTreeSet<(Channel, u64)> =
        notes.iter().filter(|note| note.standing == Standing::Ours).map(|note| (note.channel, note.id)).collect();
    let ours = obs.comments.iter().filter(|c| obs.is_ours(c.author.as_ref()) || known.contains(&(c.channel, c.id)));
    let mut all: Vec<Receipt> = ours
        .flat_map(|comment| {
            let markers = marker::parse_all(&comment.body).into_iter();
            markers.filter(|marker| marker.names(&obs.pr.at)).map(move |marker| Receipt {
                channel: comment.channel,
                comment: comment.id,
                root: comment.root(),
                marker,
            })
        })
        .collect();
    all.sort_by_key(|receipt| (receipt.channel, receipt.comment));
    all
}

/// Returns every key an item stands for: its own and those of the receipts in its text.
pub fn keys(item: &OutboxItem) -> Vec<String> {
    let mut keys: Vec<String> = marker::parse_all(&item.body).iter().map(|m| m.key().to_owned()).collect();
    if !keys.contains(&item.key) {
        keys.push(item.key.clone());
    }
    keys
}

/// Returns the keys that are not to be planned again.
fn taken(summary: &Summary) -> BTreeSet<String> {
    let wanted = summary.outbox.iter().filter(|item| item.state != WriteState::Dropped);
    wanted.flat_map(keys).collect()
}

fn new_item(key: String, kind: WriteKind, target: Target, head: &Sha) -> OutboxItem {
    OutboxItem {
        key,
        kind,
        target,
        state: WriteState::Planned,
        comment_id: None,
        body: String::new(),
        findings: Vec::new(),
        head: head.clone(),
        why: String::new(),
        tries: 0,
    }
}

/// Tells whether a reviewer can be asked now: there is a way to ask it, and this asking was not tried yet.
pub fn may_ask(summary: &Summary, nudge: &Nudge, head: &Sha) -> bool {
    let way = nudge.mention.is_some() || nudge.request.is_some();
    way && !taken(summary).contains(&request_key(summary, &nudge.name, head))
}

/// Plans one request to a reviewer; tells whether it was added. One at a time, and one for each asking.
pub fn plan_request(summary: &mut Summary, nudge: &Nudge, head: &Sha) -> bool {
    let key = request_key(summary, &nudge.name, head);
    if taken(summary).contains(&key) {
        return false;
    }
    let (target, body) = match (&nudge.mention, &nudge.request) {
        (_, Some(login)) => (Target::Reviewer { login: login.clone() }, String::new()),
        (Some(mention), None) => {
            let at = summary.pr.at();
            let marker = Marker::new(WriteKind::Request, &nudge.name, &key, &at, head)
                .or_else(|| Marker::new(WriteKind::Request, "reviewer", &key, &at, head));
            let Some(marker) = marker else { return false };
            (Target::Conversation, words::post(&words::request(mention), &[marker]))
        }
        (None, None) => return false,
    };
    summary.reviewers.entry(nudge.name.clone()).or_default();
    summary.outbox.push(OutboxItem { body, ..new_item(key, WriteKind::Request, target, head) });
    true
}

/// Plans a thread command of the person at the keyboard: without a receipt, so that it is a person's word and not ours.
/// Tells whether it was added; the same words over the same state of the thread are one command.
pub fn plan_command(summary: &mut Summary, obs: &Observation, id: FindingId, text: &str) -> bool {
    let Some(root) = summary.comments.get(&id).and_then(|entry| entry.thread) else { return false };
    let in_thread = obs.comments.iter().filter(|c| c.channel == Channel::Inline && c.root() == root);
    let after = in_thread.map(|comment| comment.id).max().unwrap_or(root);
    let key = marker::key(WriteKind::Command, &id.to_string(), &format!("{text}+{after}"));
    let under_way = |item: &OutboxItem| {
        matches!(item.target, Target::Reply { root: other, .. } if other == root)
            && item.body == text
            && matches!(item.state, WriteState::Planned | WriteState::Sent)
    };
    if taken(summary).contains(&key) || summary.outbox.iter().any(under_way) {
        return false;
    }
    let item = new_item(key, WriteKind::Command, Target::Reply { root, after }, &obs.pr.head);
    summary.outbox.push(OutboxItem { body: text.to_owned(), findings: vec![id], ..item });
    true
}

fn request_key(summary: &Summary, name: &str, head: &Sha) -> String {
    let record = summary.reviewers.get(name).filter(|record| record.head.as_ref() == Some(head));
    let asked = record.map_or(0, |record| record.asked.len());
    marker::key(WriteKind::Request, name, &format!("{head}+{asked}"))
}

/// Returns what to do next: replies, then the description, then the rest.
pub fn next(summary: &Summary) -> Option<&OutboxItem> {
    let planned = summary.outbox.iter().filter(|item| item.state == WriteState::Planned);
    planned.min_by_key(|item| rank(item.kind))
}

fn rank(kind: WriteKind) -> u8 {
    match kind {
        WriteKind::Argue
        | WriteKind::Stale
        | WriteKind::Defer
        | WriteKind::Fixed
        | WriteKind::Answer
        | WriteKind::Command => 0,
        WriteKind::Describe => 1,
        WriteKind::Resolve => 2,
        WriteKind::React => 3,
        WriteKind::Retract => 4,
        WriteKind::Review => 5,
        WriteKind::Request => 6,
    }
}

/// Tells whether a thread is still as it was when its resolution was planned; asked right before the call.
pub fn still_wanted(summary: &Summary, item: &OutboxItem, thread: Option<&Thread>) -> bool {
    let (Target::ThreadNode { newest, .. }, Some(thread)) = (&item.target, thread) else { return false };
    let ours: BTreeSet<u64> = summary.outbox.iter().filter_map(|item| item.comment_id).collect();
    !thread.resolved && thread.may_resolve && thread.comments.iter().all(|id| id <= newest || ours.contains(id))
}

/// Notes that an item is about to be tried, so that a kill leaves a trace. Saved before the write.
pub fn before_write(summary: &mut Summary, key: &str) {
    if let Some(item) = active_mut(summary, key) {
        item.state = WriteState::Sent;
        item.tries += 1;
    }
}

/// Drops an item that is no longer wanted.
pub fn drop_item(summary: &mut Summary, key: &str, why: &str) {
    if let Some(item) = active_mut(summary, key) {
        item.state = WriteState::Dropped;
        why.clone_into(&mut item.why);
    }
}

/// Returns the item with a key that is not over.
pub fn active<'a>(summary: &'a Summary, key: &str) -> Option<&'a OutboxItem> {
    summary.outbox.iter().find(|item| is_active(item, key))
}

/// Returns it for a change.
pub fn active_mut<'a>(summary: &'a mut Summary, key: &str) -> Option<&'a mut OutboxItem> {
    summary.outbox.iter_mut().find(|item| is_active(item, key))
}

fn is_active(item: &OutboxItem, key: &str) -> bool {
    item.key == key && matches!(item.state, WriteState::Planned | WriteState::Sent)
}

/// Records what a write came to. Only what is read back later is done; what no reading shows is done at once.
pub fn after_write(summary: &mut Summary, key: &str, written: &Written) {
    let Some(item) = active_mut(summary, key) else { return };
    let (state, why) = match written {
        Written::Done(id) => {
            item.comment_id = id.or(item.comment_id);
            (if unread(item.kind) { WriteState::Done } else { WriteState::Sent }, "")
        }
        Written::Unclear(why) => (WriteState::Sent, why.as_str()),
        Written::NotSent(why) => (WriteState::Planned, why.as_str()),
        Written::Limited(_) => (WriteState::Planned, "a limit of the forge"),
        Written::Gone(why) if item.kind == WriteKind::Retract => (WriteState::Done, why.as_str()),
        Written::Gone(why) | Written::Refused(why) | Written::Forbidden(why) => (WriteState::Failed, why.as_str()),
    };
    item.state = state;
    why.clone_into(&mut item.why);
    let (findings, keys) = (item.findings.clone(), keys(item));
    match written {
        Written::Gone(why) => note(summary, &findings, &keys, &format!("what it answers is gone: {why}"), false),
        Written::Refused(why) => {
            note(summary, &findings, &keys, &format!("the answer could not be posted: {why}"), true)
        }
        Written::Forbidden(why) => {
            note(summary, &findings, &keys, &format!("the answer may not be posted: {why}"), false)
        }
        Written::Done(_) | Written::Unclear(_) | Written::NotSent(_) | Written::Limited(_) => {}
    }
}

/// Tells whether no reading shows the effect.
fn unread(kind: WriteKind) -> bool {
    match kind {
        WriteKind::React | WriteKind::Retract => true,
        WriteKind::Argue
        | WriteKind::Stale
        | WriteKind::Defer
        | WriteKind::Fixed
        | WriteKind::Answer
        | WriteKind::Request
        | WriteKind::Review
        | WriteKind::Describe
        | WriteKind::Command
        | WriteKind::Resolve => false,
    }
}

/// Notes on findings why their answer is not out (FC-59); where only a person can help, says so.
fn note(summary: &mut Summary, findings: &[FindingId], keys: &[String], why: &str, person: bool) {
    for id in findings {
        let Some(entry) = summary.comments.get_mut(id) else { continue };
        why.clone_into(&mut entry.finding.why);
        let waits = entry.pending.as_ref().and_then(|p| p.key.as_ref()).is_some_and(|key| keys.contains(key));
        entry.finding.needs_person |= person && waits;
    }
}

/// Plans again what failed in an earlier run and may be possible now: a lock or a missing right may have been lifted.
pub fn revive(summary: &mut Summary) -> usize {
    let gone = |id: &FindingId| {
        summary.comments.get(id).is_none_or(|entry| entry.finding.status == super::status::Status::Gone)
    };
    let mut revived = 0;
    for item in summary.outbox.iter_mut().filter(|item| item.state == WriteState::Failed && item.comment_id.is_none()) {
        // A description that lists nothing is owed all the same, and while it stands as failed no other one is planned.
        let owed = item.kind == WriteKind::Describe || (!item.findings.is_empty() && !item.findings.iter().all(gone));
        if owed {
            item.state = WriteState::Planned;
            revived += 1;
        }
    }
    revived
}

#[cfg(test)]
mod tests;
