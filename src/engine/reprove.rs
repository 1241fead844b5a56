//! After state was lost: which findings our own commits fixed is proved again from git, by the trailer of a commit and by
//! what it really changed (R13). Nothing is believed because a comment says so.

use std::collections::BTreeMap;

use super::{EngineError, Ports};
use crate::review::absorb;
use crate::review::anchor::{self, Located, Place};
use crate::review::commit::answered;
use crate::review::ids::{FindingId, Sha};
use crate::review::judge;
use crate::review::note::Note;
use crate::review::observation::Observation;
use crate::review::outbox;
use crate::review::status::Status;
use crate::review::summary::{Entry, Proof, Summary};

/// Settles what commits in the history of the head prove as fixed.
pub(super) fn reprove(
    ports: &Ports<'_>,
    summary: &mut Summary,
    obs: &Observation,
    notes: &[Note],
) -> Result<(), EngineError> {
    let head = &obs.pr.head;
    if !ports.tree.fetch(head)? || !ports.tree.fetch(&obs.pr.base_sha)? {
        return Ok(());
    }
    let places: BTreeMap<FindingId, (Sha, Place)> =
        absorb::places(summary, obs).into_iter().map(|(id, made_on, place)| (id, (made_on, place))).collect();
    for commit in ports.tree.commits(&obs.pr.base_sha, head)? {
        let Some(parent) = commit.parent else { continue };
        for id in answered(&commit.message) {
            let Some(entry) = summary.comments.get(&id).filter(|entry| entry.finding.status == Status::Open) else {
                continue;
            };
            // A round's commit names all that it answers, what it leaves as it is included.
            if !outbox::may_be_fixed(entry, obs, notes) {
                continue;
            }
            // A claim can only answer what was said before it: the comment's commit is part of its history.
            let Some((made_on, place)) = places.get(&id) else { continue };
            if ports.tree.is_ancestor(made_on, &parent)? != Some(true) {
                continue;
            }
            let Some(then) = at_parent(ports, entry, made_on, place, &parent)? else { continue };
            let diff = ports.tree.diff(&parent, &commit.sha)?;
            let Ok(found) = judge::touches(&then, &[], &diff) else { continue };
            let why = format!("fixed by {} at {found}", commit.sha.short());
            let proof = Proof::Commit { sha: commit.sha.clone(), place: found };
            let round = summary.round;
            if let Some(entry) = summary.comments.get_mut(&id) {
                entry.settle(Status::Fixed, proof, why, obs.at, round);
            }
        }
    }
    Ok(())
}

/// Tells whether a commit in the history of the head claims to have fixed anything.
pub(super) fn claimed(ports: &Ports<'_>, obs: &Observation) -> Result<bool, EngineError> {
    let (base, head) = (&obs.pr.base_sha, &obs.pr.head);
    if !ports.tree.fetch(head)? || !ports.tree.fetch(base)? {
        return Ok(false);
    }
    Ok(ports.tree.commits(base, head)?.iter().any(|commit| !answered(&commit.message).is_empty()))
}

/// The finding with its place as it was right before a commit.
pub(super) fn at_parent(
    ports: &Ports<'_>,
    entry: &Entry,
    made_on: &Sha,
    place: &Place,
    parent: &Sha,
) -> Result<Option<Entry>, EngineError> {
    let mut then = entry.clone();
    if made_on == parent {
        then.finding.path = place.path.as_str().map(str::to_owned);
        (then.finding.line, then.start_line) = (place.line, place.start_line);
        return Ok(Some(then));
    }
    let diff = ports.tree.diff(made_on, parent)?;
    let text = |sha: &Sha, path: &crate::review::ids::RepoPath| -> Result<Option<String>, EngineError> {
        Ok(ports.tree.file_at(sha, path)?.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    };
    let before = text(made_on, &place.path)?;
    let mut now = BTreeMap::new();
    for path in diff.iter().filter_map(|file| file.new_path.clone()).chain([place.path.clone()]) {
        let content = text(parent, &path)?;
        now.insert(path, content);
    }
    Ok(match anchor::locate(place, &diff, before.as_deref(), |path| now.get(path).cloned().flatten()) {
        Located::There { path, line, start_line, .. } => {
            then.finding.path = path.as_str().map(str::to_owned);
            (then.finding.line, then.start_line) = (line, start_line);
            Some(then)
        }
        Located::Gone { .. } | Located::Unsure { .. } => None,
    })
}
