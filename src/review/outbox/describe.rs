//! When the description's block is written: never twice for one state, and never in a fight with people.

use std::collections::{BTreeMap, BTreeSet};

use crate::review::description::{self, Block, BlockReading};
use crate::review::ids::FindingId;
use crate::review::marker::{hex, key};
use crate::review::observation::Observation;
use crate::review::summary::{OutboxItem, Summary, Target, WriteKind, WriteState};
use sha2::{Digest, Sha256};

/// What somebody changed in the block since it was last read back.
#[derive(Debug, Default, PartialEq, Eq)]
struct Touched {
    /// For the first time: is restored once.
    first: BTreeSet<String>,
    /// After it was restored.
    again: BTreeSet<String>,
}

/// Stands for the block as a whole among the keys of lines.
fn whole() -> String {
    key(WriteKind::Describe, "block", "")
}

/// Returns the block that was last read back.
fn last_done(summary: &Summary) -> Option<Block> {
    let done = |item: &&OutboxItem| item.kind == WriteKind::Describe && item.state == WriteState::Done;
    let last = summary.outbox.iter().rev().filter(done).find(|item| !item.body.is_empty())?;
    match description::read(&last.body) {
        BlockReading::Block(block) => Some(block),
        BlockReading::Absent | BlockReading::Broken(_) => None,
    }
}

fn touched(summary: &Summary, read: &BlockReading) -> Touched {
    let Some(last) = last_done(summary) else { return Touched::default() };
    let empty = BTreeMap::new();
    let (lines, absent) = match read {
        BlockReading::Block(block) => (&block.lines, false),
        BlockReading::Absent | BlockReading::Broken(_) => (&empty, true),
    };
    let changed = last.lines.iter().filter(|(key, text)| lines.get(*key) != Some(text));
    let mut keys: BTreeSet<String> = changed.map(|(key, _)| key.clone()).collect();
    if !keys.is_empty() {
        let wanted = description::wanted_keys(summary);
        keys.retain(|key| wanted.contains(key));
    }
    if absent {
        keys.insert(whole());
    }
    let restored = last.counters.map(|counters| counters.restored).unwrap_or_default();
    let (again, first) = keys.into_iter().partition(|key| restored.contains(key));
    Touched { first, again }
}

/// Returns the findings whose reasons were taken out of the description again after they had been restored (R24).
pub fn removed_again(summary: &Summary, body: &str) -> Vec<FindingId> {
    reasons(summary, &touched(summary, &description::read(body)).again)
}

fn reasons(summary: &Summary, again: &BTreeSet<String>) -> Vec<FindingId> {
    if again.is_empty() {
        return Vec::new();
    }
    description::required(summary).into_iter().filter(|(_, key)| again.contains(key)).map(|(id, _)| id).collect()
}

/// Plans the block where it differs from the one that was read.
pub(super) fn plan(summary: &mut Summary, obs: &Observation) -> usize {
    let read = description::read(&obs.pr.body);
    let refused =
        summary.outbox.iter().any(|item| item.kind == WriteKind::Describe && item.state == WriteState::Failed);
    let nothing = read == BlockReading::Absent && !description::wanted(summary);
    if refused || nothing || matches!(read, BlockReading::Broken(_)) {
        return 0;
    }
    let Touched { first, again } = touched(summary, &read);
    if !reasons(summary, &again).is_empty() || again.contains(&whole()) {
        return 0;
    }
    let before = summary.restored.len();
    let new: Vec<String> = first.into_iter().filter(|key| !summary.restored.contains(key)).collect();
    summary.restored.extend(new);
    let Ok(block) = description::render_for(summary, &obs.pr.body) else { return 0 };
    // What stands there word for word needs no second reading.
    if obs.pr.body.contains(&block) || same(&description::read(&block), &read, &again) {
        summary.restored.truncate(before);
        retire(summary, None);
        return 0;
    }
    if retire(summary, Some(&block)) {
        return 0;
    }
    let n = summary.outbox.iter().filter(|item| item.kind == WriteKind::Describe).count();
    let version = format!("{n} {}", hex(&Sha256::digest(block.as_bytes())));
    let key = key(WriteKind::Describe, "description", &version);
    let item = super::new_item(key, WriteKind::Describe, Target::Description, &obs.pr.head);
    let findings = summary.comments.values().filter_map(description::line).map(|line| line.id).collect();
    summary.outbox.push(OutboxItem { body: block, findings, ..item });
    1
}

/// Drops planned blocks that say something else; tells whether one with this text is under way.
fn retire(summary: &mut Summary, block: Option<&str>) -> bool {
    let mut there = false;
    for item in summary.outbox.iter_mut().filter(|item| item.kind == WriteKind::Describe) {
        match item.state {
            WriteState::Planned | WriteState::Sent if Some(item.body.as_str()) == block => there = true,
            WriteState::Planned | WriteState::Sent => {
                item.state = WriteState::Dropped;
                "the description has more to say now".clone_into(&mut item.why);
                item.body.clear();
            }
            WriteState::Done | WriteState::Failed | WriteState::Dropped => {}
        }
    }
    there
}

/// Tells whether two blocks say the same, leaving out what was removed again.
fn same(one: &BlockReading, other: &BlockReading, without: &BTreeSet<String>) -> bool {
    match (one, other) {
        (BlockReading::Block(one), BlockReading::Block(other)) => {
            let lines = |block: &Block| {
                let kept = block.lines.iter().filter(|(key, _)| !without.contains(*key));
                kept.map(|(key, text)| (key.clone(), text.clone())).collect::<BTreeMap<_, _>>()
            };
            one.counters == other.counters && lines(one) == lines(other)
        }
        (BlockReading::Absent, BlockReading::Absent) => true,
        (BlockReading::Broken(_) | BlockReading::Absent | BlockReading::Block(_), _) => false,
    }
}

/// Marks a written block as done once it is read back; another one that was tried is tried again.
pub(super) fn reconcile(summary: &mut Summary, obs: &Observation) {
    let read = description::read(&obs.pr.body);
    let mut done = None;
    for (n, item) in summary.outbox.iter_mut().enumerate().filter(|(_, item)| item.kind == WriteKind::Describe) {
        if !matches!(item.state, WriteState::Planned | WriteState::Sent) {
            continue;
        }
        if same(&description::read(&item.body), &read, &BTreeSet::new()) {
            item.state = WriteState::Done;
            item.why.clear();
            done = Some(n);
        } else {
            item.state = WriteState::Planned;
        }
    }
    if let Some(n) = done {
        let earlier = summary.outbox[..n].iter_mut().filter(|item| item.kind == WriteKind::Describe);
        earlier.filter(|item| item.state == WriteState::Done).for_each(|item| item.body.clear());
    }
}
