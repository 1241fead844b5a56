//! What can be known again from the pull request when `summary.json` is lost (R13).
//!
//! Believed: our receipts for arguments, answers and follow-ups, together with the description. Not believed: fixes and stale places, which come
//! back as claims for the caller to prove. The description alone settles nothing.

use std::collections::{BTreeMap, BTreeSet};

use super::commands::{self, Command};
use super::comment::{Author, Channel, Comment};
use super::description::{self, Block, BlockReading, Counters};
use super::followup::linked;
use super::ids::{FindingId, Sha};
use super::marker::{self, Marker};
use super::note::Note;
use super::observation::{Observation, Permission};
use super::outbox::{Receipt, objected_since};
use super::owed::{key_of_version, reopened};
use super::policy::Policy;
use super::severity::Severity;
use super::status::Status;
use super::summary::{CommandRecord, Entry, Proof, Summary, WriteKind};
use super::words;

/// No counter of an honest run is higher; a higher one is cut, so that nobody can make counting fail.
const MAX_COUNT: u32 = 1_000_000;

/// What a receipt says and git has to prove.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Claimed {
    /// The finding was fixed.
    Fixed,
    /// Its place is gone.
    Stale,
}

/// A status that is claimed and not believed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The finding.
    pub id: FindingId,
    /// What is claimed.
    pub what: Claimed,
    /// Head it was said about.
    pub head: Sha,
}

/// Puts back what the pull request proves into a summary that has just been filled from an observation.
pub fn rebuild(summary: &mut Summary, obs: &Observation, notes: &[Note], policy: &Policy) -> Vec<Claim> {
    let block = block_of(obs);
    if let Some(counters) = &block.counters {
        restore(summary, counters);
    }
    let receipts = trusted(obs, policy);
    let (mut claims, mut said, mut taken_out) = (Vec::new(), Vec::new(), Vec::new());
    for entry in summary.comments.values().filter(|entry| entry.finding.status == Status::Open) {
        let own: Vec<&Found<'_>> = receipts.iter().filter(|found| found.speaks_of(entry, 0)).collect();
        if let Some(words) = spoken(entry, &own, &block, notes, obs) {
            said.push((entry.finding.id, words));
            continue;
        }
        if removed_again(entry, &own, &block, notes, obs) {
            taken_out.push(entry.finding.id);
        }
        let claim =
            |what, found: &&Found<'_>| Claim { id: entry.finding.id, what, head: found.receipt.marker.head().clone() };
        claims.extend(own.iter().rev().find_map(|found| match found.receipt.marker.kind() {
            WriteKind::Fixed => Some(claim(Claimed::Fixed, found)),
            WriteKind::Stale => Some(claim(Claimed::Stale, found)),
            WriteKind::Argue
            | WriteKind::Defer
            | WriteKind::Answer
            | WriteKind::Request
            | WriteKind::Review
            | WriteKind::Describe
            | WriteKind::Resolve
            | WriteKind::Command
            | WriteKind::React
            | WriteKind::Retract => None,
        }));
    }
    settle(summary, said, obs);
    for id in taken_out {
        if let Some(entry) = summary.comments.get_mut(&id) {
            entry.hand_over("its reason was removed from the description again");
        }
    }
    claims
}

/// Takes over what was said elsewhere, by another machine or under another account, of findings that are open here and
/// that nobody here is answering. Else two states of one pull request differ for good (R13), and what is answered is
/// answered once more (R11).
///
/// What was opened here since an answer is not settled by that answer again: words count for as many entries into the loop
/// as were made here, or more. Exchanges say nothing of that; they may be a predecessor's.
pub fn take_over(summary: &mut Summary, obs: &Observation, notes: &[Note], policy: &Policy) {
    let unanswered = |entry: &&Entry| entry.finding.status == Status::Open && entry.pending.is_none();
    let block = block_of(obs);
    if block.lines.is_empty() || !summary.comments.values().any(|entry| unanswered(&entry)) {
        return;
    }
    let receipts = trusted(obs, policy);
    let words = |entry: &Entry| {
        let next = |found: &&Found<'_>| found.speaks_of(entry, reopened(entry));
        let own: Vec<&Found<'_>> = receipts.iter().filter(next).collect();
        Some((entry.finding.id, spoken(entry, &own, &block, notes, obs)?))
    };
    let said = summary.comments.values().filter(unanswered).filter_map(words).collect();
    settle(summary, said, obs);
}

fn block_of(obs: &Observation) -> Block {
    match description::read(&obs.pr.body) {
        BlockReading::Block(block) => block,
        BlockReading::Absent | BlockReading::Broken(_) => Block::default(),
    }
}

fn settle(summary: &mut Summary, said: Vec<(FindingId, (Status, Proof))>, obs: &Observation) {
    let round = summary.round;
    for (id, (status, proof)) in said {
        let Some(entry) = summary.comments.get_mut(&id) else { continue };
        let why = format!("{status} earlier: reply and description line carry one key");
        entry.settle(status, proof, why, obs.at, round);
    }
}

/// A receipt that counts, with the comment it stands in.
struct Found<'a> {
    receipt: Receipt,
    comment: &'a Comment,
}

impl Found<'_> {
    /// Tells whether the receipt is about this text of the finding, in this entry into the loop or a later one, and stands
    /// where its answer belongs.
    fn speaks_of(&self, entry: &Entry, since: u32) -> bool {
        let marker = &self.receipt.marker;
        let here = match (self.comment.channel == Channel::Inline, entry.thread) {
            (true, Some(root)) => self.receipt.root == root,
            (true, None) => false,
            (false, _) => true,
        };
        here && marker.finding() == Some(entry.finding.id)
            && (since..=MAX_ENTRIES.max(since)).any(|n| key_of_version(marker.kind(), entry, n) == marker.key())
    }
}

/// Entries of one finding into the loop that are looked for.
const MAX_ENTRIES: u32 = 50;

/// Returns the receipts for this pull request whose authors count, oldest first.
fn trusted<'a>(obs: &'a Observation, policy: &Policy) -> Vec<Found<'a>> {
    let counts = |author: &Author| {
        obs.is_ours(Some(author))
            || policy.trust_accounts.contains(&author.login)
            || obs.permission(author) == Permission::Write
    };
    let comments = obs.comments.iter().filter(|comment| comment.author.as_ref().is_some_and(counts));
    let mut found: Vec<Found<'a>> = comments
        .flat_map(|comment| {
            let markers =
                marker::parse_all(&comment.body).into_iter().filter(|marker: &Marker| marker.names(&obs.pr.at));
            markers.map(move |marker| Found {
                receipt: Receipt { channel: comment.channel, comment: comment.id, root: comment.root(), marker },
                comment,
            })
        })
        .collect();
    found.sort_by_key(|found| (found.receipt.channel, found.receipt.comment));
    found
}

/// Returns what words of ours prove: a reply and a description line with the same key, and nobody objected since.
fn spoken(
    entry: &Entry,
    own: &[&Found<'_>],
    block: &Block,
    notes: &[Note],
    obs: &Observation,
) -> Option<(Status, Proof)> {
    own.iter().rev().find_map(|found| {
        let marker = &found.receipt.marker;
        let line = block.lines.get(marker.key()).filter(|line| !line.is_empty())?;
        if objected_since(entry, &found.receipt, notes, obs) {
            return None;
        }
        let line = line.replace("\\|", "|");
        let (comment_id, key) = (found.receipt.comment, marker.key().to_owned());
        let alone = entry.thread == Some(found.receipt.root);
        let body = Some(found.comment.body.as_str()).filter(|_| alone);
        match marker.kind() {
            WriteKind::Argue if entry.finding.severity.arguable() => {
                let reason = body.and_then(words::argued_reason).or_else(|| words::argued_reason(&line))?;
                Some((Status::Argued, Proof::Reply { comment_id, reason, key }))
            }
            WriteKind::Answer if entry.finding.severity != Severity::P1 && entry.is_question => {
                let reason =
                    body.map(words::without_receipts).or_else(|| Some(line.strip_prefix("Answered: ")?.to_owned()))?;
                Some((Status::Answered, Proof::Reply { comment_id, reason, key }))
            }
            WriteKind::Defer if entry.finding.severity != Severity::P1 => {
                let listed = description::deferred_line(&line);
                let url = body.and_then(words::deferred_link).or_else(|| Some(listed.clone()?.0))?;
                let (_, path) = linked(&url)?;
                let reason = listed.map(|(_, reason)| reason).unwrap_or_default();
                Some((Status::Deferred, Proof::Plan { path, url, comment_id, reason, key }))
            }
            WriteKind::Argue
            | WriteKind::Answer
            | WriteKind::Defer
            | WriteKind::Stale
            | WriteKind::Fixed
            | WriteKind::Request
            | WriteKind::Review
            | WriteKind::Describe
            | WriteKind::Resolve
            | WriteKind::Command
            | WriteKind::React
            | WriteKind::Retract => None,
        }
    })
}

/// Tells whether an answer of ours stands whose reason was put back into the description once and is gone again: who comes
/// with nothing does not fight with people over it either (R24).
fn removed_again(entry: &Entry, own: &[&Found<'_>], block: &Block, notes: &[Note], obs: &Observation) -> bool {
    own.iter().any(|found| {
        let key = found.receipt.marker.key();
        let needs_its_line = match found.receipt.marker.kind() {
            WriteKind::Argue => entry.finding.severity.arguable(),
            WriteKind::Defer => entry.finding.severity == Severity::P2,
            WriteKind::Answer
            | WriteKind::Stale
            | WriteKind::Fixed
            | WriteKind::Request
            | WriteKind::Review
            | WriteKind::Describe
            | WriteKind::Resolve
            | WriteKind::Command
            | WriteKind::React
            | WriteKind::Retract => false,
        };
        let restored = block.counters.as_ref().is_some_and(|counters| counters.restored.contains(key));
        let shown = block.lines.get(key).is_some_and(|line| !line.is_empty());
        needs_its_line && restored && !shown && !objected_since(entry, &found.receipt, notes, obs)
    })
}

/// Takes the maximum of every counter.
fn restore(summary: &mut Summary, counters: &Counters) {
    let most = |known: u32, read: u32| known.max(read.min(MAX_COUNT));
    summary.round = most(summary.round, counters.round);
    summary.reset_at_round = most(summary.reset_at_round, counters.reset_at_round).min(summary.round);
    let used = &mut summary.used;
    used.rounds = most(used.rounds, counters.rounds);
    used.agent_seconds = used.agent_seconds.max(counters.agent_seconds.min(u64::from(MAX_COUNT) * 1_000));
    used.tokens = used.tokens.max(counters.tokens.min(u64::MAX / 2));
    #[expect(clippy::cast_precision_loss, reason = "money in millionths fits")]
    let cost = counters.cost_micro_usd.min(1_000_000_000_000_000) as f64 / 1e6;
    used.cost_usd = used.cost_usd.max(cost);
    let asked_again = |record: &&CommandRecord| {
        record.refused.is_none() && matches!(commands::parse(&record.said), Some(Ok(Command::Retry)))
    };
    let anew: BTreeSet<FindingId> =
        summary.commands.iter().filter(asked_again).filter_map(|record| record.id).collect();
    for (id, entry) in &mut summary.comments {
        // A copy goes on with what the finding before it has used, as it does where state is kept, unless a person has
        // asked for another try since: that counter is 0, and a 0 is not written down.
        let before: &[FindingId] = if anew.contains(id) { &[] } else { &entry.finding.previous };
        let read = |all: &BTreeMap<FindingId, u32>| {
            before.iter().chain([id]).filter_map(|id| all.get(id).copied()).max().unwrap_or(0)
        };
        let (attempts, exchanges) = (read(&counters.attempts), read(&counters.exchanges));
        entry.finding.attempts = most(entry.finding.attempts, attempts);
        entry.exchanges = most(entry.exchanges, exchanges);
    }
    let new = counters.restored.iter().filter(|key| !summary.restored.contains(key)).cloned().collect::<Vec<_>>();
    summary.restored.extend(new);
}

#[cfg(test)]
mod tests;
