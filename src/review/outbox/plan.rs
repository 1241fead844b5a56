//! What is to be posted about each finding, and which threads are resolved (R25).

use std::collections::BTreeSet;

use crate::review::commands;
use crate::review::comment::{AccountKind, Channel, Thread};
use crate::review::ids::FindingId;
use crate::review::marker::{Marker, key};
use crate::review::note::{Note, Standing};
use crate::review::observation::Observation;
use crate::review::owed::{Owed, entered, key_of, key_of_version, owed};
use crate::review::policy::{Policy, Replies};
use crate::review::status::Status;
use crate::review::summary::{CommandRecord, Entry, OutboxItem, Proof, Summary, Target, WriteKind, WriteState};
use crate::review::words::{self, Answer};

/// Findings answered by one conversation comment, at most.
const MAX_ANSWERS: usize = 20;

/// Size of a conversation comment, at most.
const MAX_BYTES: usize = 50_000;

/// A text that is owed.
struct Reply {
    id: FindingId,
    kind: WriteKind,
    key: String,
    text: String,
    thread: Option<u64>,
    title: String,
    url: String,
}

/// Adds every outside effect that is owed and not yet in the outbox; returns how many.
pub fn plan(summary: &mut Summary, obs: &Observation, notes: &[Note], policy: &Policy) -> usize {
    if obs.account.is_none() {
        return 0;
    }
    super::reconcile::adopt(summary, &super::receipts(obs, notes));
    let mut added = plan_replies(summary, obs, notes, policy);
    added += plan_acknowledgements(summary, obs);
    if policy.post.description {
        added += super::describe::plan(summary, obs);
    }
    if policy.post.resolve {
        added += plan_resolves(summary, obs, notes);
    }
    added
}

/// Drops planned texts that are not owed any more, and requests that speak of an older head.
fn drop_unwanted(summary: &mut Summary, obs: &Observation, notes: &[Note], policy: &Policy) {
    let scene = Scene { summary, obs, notes, policy };
    let replies = summary.comments.values().filter_map(|entry| scene.reply(entry)).map(|reply| reply.key);
    let owed: BTreeSet<String> = replies.chain(hints(summary, obs).map(|(key, _)| key)).collect();
    let planned = summary.outbox.iter_mut().filter(|item| item.state == WriteState::Planned);
    for item in planned {
        let unwanted = match item.kind {
            WriteKind::Argue | WriteKind::Stale | WriteKind::Fixed | WriteKind::Answer | WriteKind::Defer => {
                !super::keys(item).iter().all(|key| owed.contains(key))
            }
            WriteKind::Request => item.head != obs.pr.head,
            WriteKind::Review
            | WriteKind::Describe
            | WriteKind::Resolve
            | WriteKind::Command
            | WriteKind::React
            | WriteKind::Retract => false,
        };
        if unwanted {
            item.state = WriteState::Dropped;
            "it is not owed any more".clone_into(&mut item.why);
        }
    }
}

/// Returns the commands that were not taken and whose comments are still there, each with the key of its hint.
fn hints<'a>(summary: &'a Summary, obs: &'a Observation) -> impl Iterator<Item = (String, &'a CommandRecord)> {
    let wrong = summary.commands.iter().filter(|record| record.refused.is_some() && is_there(obs, record.comment));
    wrong.map(|record| {
        let version = format!("{} {}", record.comment, record.version);
        (key(WriteKind::Answer, commands::HINT, &version), record)
    })
}

fn is_there(obs: &Observation, inline: u64) -> bool {
    obs.comments.iter().any(|comment| comment.channel == Channel::Inline && comment.id == inline)
}

/// Plans a reaction for each command that was obeyed, once a comment, and a hint for each that was not, once a version.
///
/// The forge takes a second reaction of the same account and kind as the first one, so a repeat does nothing.
fn plan_acknowledgements(summary: &mut Summary, obs: &Observation) -> usize {
    let (taken, pr, head) = (super::taken(summary), obs.pr.at.clone(), &obs.pr.head);
    let mut items = Vec::new();
    for record in summary.commands.iter().filter(|record| record.refused.is_none()) {
        let key = key(WriteKind::React, &record.comment.to_string(), "+1");
        if !taken.contains(&key) && is_there(obs, record.comment) {
            let item = super::new_item(key, WriteKind::React, Target::Inline { id: record.comment }, head);
            items.push(OutboxItem { body: "+1".to_owned(), ..item });
        }
    }
    for (key, record) in hints(summary, obs).filter(|(key, _)| !taken.contains(key)) {
        let Some(marker) = Marker::new(WriteKind::Answer, commands::HINT, &key, &pr, head) else { continue };
        let text = words::command_refused(record.refused.as_deref().unwrap_or_default());
        let item = super::new_item(key, WriteKind::Answer, Target::Thread { root: record.root }, head);
        items.push(OutboxItem { body: words::post(&text, &[marker]), ..item });
    }
    let added = items.len();
    summary.outbox.extend(items);
    added
}

/// Gives each decision that is to be posted its key.
///
/// A reply of ours with this key that nobody has answered is taken over: it was posted before state was lost. After an
/// objection the next key is used, so that the new reason is posted.
fn choose_keys(summary: &mut Summary, obs: &Observation, notes: &[Note]) {
    let taken = super::taken(summary);
    let seen = super::receipts(obs, notes);
    let ours = |id: u64| seen.iter().any(|receipt| receipt.channel == Channel::Inline && receipt.comment == id);
    for entry in summary.comments.values_mut() {
        let kind = match owed(entry) {
            Owed::Argue => WriteKind::Argue,
            Owed::Answer => WriteKind::Answer,
            Owed::FollowUp => WriteKind::Defer,
            Owed::Person
            | Owed::Fix
            | Owed::FixOrArgue
            | Owed::Proof
            | Owed::NoLongerApplies
            | Owed::Close
            | Owed::Keep
            | Owed::List
            | Owed::Fold
            | Owed::Nothing => continue,
        };
        if entry.pending.as_ref().is_none_or(|pending| pending.key.is_some()) {
            continue;
        }
        let first = entered(kind, entry);
        let (mut key, mut reason) = (key_of_version(kind, entry, first), None);
        if let Some(receipt) = seen.iter().find(|receipt| receipt.marker.key() == key) {
            let said = obs.comments.iter().find(|c| (c.channel, c.id) == (receipt.channel, receipt.comment));
            let answered = obs.comments.iter().any(|c| {
                c.channel == Channel::Inline
                    && Some(c.root()) == entry.thread
                    && c.id > receipt.comment
                    && !obs.is_ours(c.author.as_ref())
                    && !ours(c.id)
            });
            if !answered {
                reason =
                    said.and_then(|comment| words::argued_reason(&comment.body)).filter(|_| entry.thread.is_some());
            }
            if answered {
                let next = (1..=100).map(|n| key_of_version(kind, entry, first.saturating_add(n)));
                key = next.into_iter().find(|key| !taken.contains(key)).unwrap_or(key);
            }
        }
        if let Some(pending) = entry.pending.as_mut() {
            pending.key = Some(key);
            pending.reason = reason.unwrap_or_else(|| pending.reason.clone());
        }
    }
}

fn plan_replies(summary: &mut Summary, obs: &Observation, notes: &[Note], policy: &Policy) -> usize {
    drop_unwanted(summary, obs, notes, policy);
    choose_keys(summary, obs, notes);
    let owed: Vec<Reply> = {
        let taken = super::taken(summary);
        let scene = Scene { summary, obs, notes, policy };
        summary.comments.values().filter_map(|entry| scene.reply(entry)).filter(|r| !taken.contains(&r.key)).collect()
    };
    let (threads, rest): (Vec<Reply>, Vec<Reply>) = owed.into_iter().partition(|reply| reply.thread.is_some());
    let before = summary.outbox.len();
    let pr = obs.pr.at.clone();
    let marker = |r: &Reply| Marker::new(r.kind, &r.id.to_string(), &r.key, &pr, &obs.pr.head);
    for reply in threads {
        let (Some(root), Some(marker)) = (reply.thread, marker(&reply)) else { continue };
        let item = super::new_item(reply.key.clone(), reply.kind, Target::Thread { root }, &obs.pr.head);
        let body = words::post(&reply.text, &[marker]);
        summary.outbox.push(OutboxItem { body, findings: vec![reply.id], ..item });
    }
    for group in groups(rest) {
        let Some(first) = group.first() else { continue };
        let answers: Vec<Answer> = group.iter().map(answer).collect();
        let markers: Vec<Marker> = group.iter().filter_map(marker).collect();
        let item = super::new_item(first.key.clone(), first.kind, Target::Conversation, &obs.pr.head);
        let body = words::post(&words::round(&answers), &markers);
        summary.outbox.push(OutboxItem { body, findings: group.iter().map(|r| r.id).collect(), ..item });
    }
    summary.outbox.len() - before
}

fn answer(reply: &Reply) -> Answer {
    Answer { title: reply.title.clone(), url: reply.url.clone(), text: reply.text.clone() }
}

/// Splits answers into comments of a size the forge takes.
fn groups(replies: Vec<Reply>) -> Vec<Vec<Reply>> {
    let (mut groups, mut size): (Vec<Vec<Reply>>, usize) = (Vec::new(), 0);
    for reply in replies {
        let bytes = reply.text.len() + reply.url.len() + 400;
        match groups.last_mut() {
            Some(group) if group.len() < MAX_ANSWERS && size + bytes <= MAX_BYTES => group.push(reply),
            _ => {
                groups.push(vec![reply]);
                size = 0;
            }
        }
        size += bytes;
    }
    groups
}

struct Scene<'a> {
    summary: &'a Summary,
    obs: &'a Observation,
    notes: &'a [Note],
    policy: &'a Policy,
}

impl Scene<'_> {
    /// Returns the text that is owed on a finding, whether it was posted or not.
    fn reply(&self, entry: &Entry) -> Option<Reply> {
        let thread = entry.thread;
        if thread.is_some_and(|root| !self.obs.comments.iter().any(|c| c.channel == Channel::Inline && c.id == root)) {
            return None;
        }
        let (kind, text) = self.text(entry)?;
        let pending = entry.pending.as_ref().and_then(|pending| pending.key.clone());
        let key = pending.unwrap_or_else(|| key_of(kind, entry));
        let finding = &entry.finding;
        Some(Reply { id: finding.id, kind, key, text, thread, title: finding.title.clone(), url: finding.url.clone() })
    }

    fn text(&self, entry: &Entry) -> Option<(WriteKind, String)> {
        let reason = entry.pending.as_ref().map(|pending| pending.reason.as_str()).unwrap_or_default();
        match owed(entry) {
            Owed::Argue if entry.thread.is_some() => Some((WriteKind::Argue, words::argue(reason))),
            Owed::Argue => Some((WriteKind::Argue, words::argue_in_conversation(reason))),
            Owed::NoLongerApplies if !self.resolved(entry) => {
                let because = match &entry.proof {
                    Some(Proof::AnchorGone { because, .. }) => because,
                    _ => reason,
                };
                Some((WriteKind::Stale, words::stale(because, &self.obs.pr.head)))
            }
            Owed::Answer => Some((WriteKind::Answer, words::answer(reason))),
            Owed::FollowUp => {
                let pending = entry.pending.as_ref()?;
                let (file, url) = (pending.file.as_ref()?, pending.url.as_ref()?);
                Some((WriteKind::Defer, words::defer(file, url)))
            }
            Owed::Close if self.says_fixed(entry) => match &entry.proof {
                Some(Proof::Commit { sha, place }) => Some((WriteKind::Fixed, words::fixed(sha, place))),
                _ => None,
            },
            Owed::NoLongerApplies
            | Owed::Close
            | Owed::Person
            | Owed::Fix
            | Owed::FixOrArgue
            | Owed::Proof
            | Owed::Keep
            | Owed::List
            | Owed::Fold
            | Owed::Nothing => None,
        }
    }

    fn thread(&self, entry: &Entry) -> Option<&Thread> {
        self.obs.threads.iter().find(|thread| Some(thread.root) == entry.thread)
    }

    fn resolved(&self, entry: &Entry) -> bool {
        self.thread(entry).is_some_and(|thread| thread.resolved)
    }

    /// Tells whether a fix gets a line: in people's threads, and where a bot's thread cannot be resolved.
    fn says_fixed(&self, entry: &Entry) -> bool {
        if self.resolved(entry) || !entry.finding.severity.blocks() {
            return false;
        }
        let person = entry.finding.author_kind == AccountKind::Person;
        match (self.policy.post.replies, self.thread(entry)) {
            (Replies::Minimal, _) => false,
            (Replies::All, _) => true,
            (Replies::Reasons, Some(thread)) => {
                let barred = !self.policy.post.resolve || !thread.may_resolve || self.resolving_failed(thread.root);
                person || barred || !only_a_bot_and_us(thread, self.notes)
            }
            (Replies::Reasons, None) => person,
        }
    }

    fn resolving_failed(&self, thread: u64) -> bool {
        let at = |item: &OutboxItem| matches!(item.target, Target::ThreadNode { root, .. } if root == thread);
        self.summary.outbox.iter().any(|item| item.state == WriteState::Failed && at(item))
    }
}

/// Tells whether a bot opened the thread and nobody but that bot and we wrote in it (FC-61). Unknown authors count as others.
fn only_a_bot_and_us(thread: &Thread, notes: &[Note]) -> bool {
    let of = |id: u64| notes.iter().find(|note| note.channel == Channel::Inline && note.id == id);
    let Some(opener) = of(thread.root).and_then(|note| note.author.as_ref()) else { return false };
    let member =
        |id: &u64| of(*id).is_some_and(|note| note.standing == Standing::Ours || note.author.as_ref() == Some(opener));
    opener.kind == AccountKind::Bot && thread.comments.contains(&thread.root) && thread.comments.iter().all(member)
}

fn plan_resolves(summary: &mut Summary, obs: &Observation, notes: &[Note]) -> usize {
    let every = obs.rules.known().is_some_and(|rules| rules.resolve_threads);
    let taken = super::taken(summary);
    let busy: BTreeSet<u64> = summary.outbox.iter().filter_map(replying_in).collect();
    let mut items = Vec::new();
    for thread in obs.threads.iter().filter(|thread| !thread.resolved && thread.may_resolve) {
        let entries: Vec<&Entry> = summary.comments.values().filter(|e| e.thread == Some(thread.root)).collect();
        let over = |entry: &&Entry| closable(summary, entry) || (every && entry.finding.status.settled());
        let ready = !entries.is_empty() && entries.iter().all(over) && !busy.contains(&thread.root);
        if !ready || !only_a_bot_and_us(thread, notes) {
            continue;
        }
        let version: Vec<String> = entries.iter().map(|entry| key_of(WriteKind::Resolve, entry)).collect();
        let key = key(WriteKind::Resolve, &thread.root.to_string(), &version.join(" "));
        if !taken.contains(&key) {
            let newest = thread.comments.iter().copied().max().unwrap_or(thread.root);
            let target = Target::ThreadNode { node_id: thread.node_id.clone(), root: thread.root, newest };
            let item = super::new_item(key, WriteKind::Resolve, target, &obs.pr.head);
            items.push(OutboxItem { findings: entries.iter().map(|entry| entry.finding.id).collect(), ..item });
        }
    }
    let added = items.len();
    summary.outbox.extend(items);
    added
}

/// Returns the thread an unfinished reply goes to.
fn replying_in(item: &OutboxItem) -> Option<u64> {
    match (&item.target, item.state) {
        (Target::Thread { root }, WriteState::Planned | WriteState::Sent) => Some(*root),
        _ => None,
    }
}

/// Tells whether a bot's thread may be resolved for this finding: it is fixed or stale, or says what such a one says.
fn closable(summary: &Summary, entry: &Entry) -> bool {
    let done = |status: Status| matches!(status, Status::Fixed | Status::Stale);
    match &entry.proof {
        Some(Proof::SameAs { id }) => summary.comments.get(id).is_some_and(|other| done(other.finding.status)),
        _ => done(entry.finding.status),
    }
}
