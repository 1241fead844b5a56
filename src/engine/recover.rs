//! What a kill left behind is kept on a ref and undone, before anything else is asked of the worktree.

use super::{EngineError, Ports};
use crate::ports::LocalFacts;
use crate::review::decision::Verb;
use crate::review::diff::FileChange;
use crate::review::ids::{RepoPath, Sha};
use crate::review::step::unpushed;
use crate::review::summary::{RoundOutcome, RoundRecord, StopReason, Summary};

/// Puts everything that came since `base` on a ref and takes it out of the worktree; untracked files named in `mine` stay.
pub(super) fn set_aside(
    ports: &Ports<'_>,
    name: &str,
    base: &Sha,
    mine: &[String],
) -> Result<Option<Sha>, EngineError> {
    let added = ports.tree.diff_worktree()?.into_iter().filter(|file| file.change == FileChange::Added);
    let left: Vec<RepoPath> =
        added.filter_map(|file| file.new_path).filter(|path| !mine.contains(&path.to_string())).collect();
    let facts = ports.tree.facts()?;
    let tracked = facts.head != *base || facts.staged || !facts.modified.is_empty() || facts.operation.is_some();
    // What was untracked before stays where it is: alone it is nothing to be kept.
    let kept = if tracked || !left.is_empty() { ports.tree.keep(name, base)? } else { None };
    ports.tree.rewind(base, &left)?;
    Ok(kept)
}

/// Brings worktree and state together after a kill. Tells whether anything was changed.
pub(super) fn recover(
    ports: &Ports<'_>,
    summary: &mut Summary,
    facts: &LocalFacts,
    remote: &Sha,
) -> Result<bool, EngineError> {
    let replayed = undo_replay(ports, summary)?;
    let cut = undo_round(ports, summary, facts)?;
    let lost = lost_commits(ports, summary, remote)?;
    Ok(replayed || cut || lost)
}

/// A replay that was cut off is undone: its commit is still there and is replayed again.
fn undo_replay(ports: &Ports<'_>, summary: &mut Summary) -> Result<bool, EngineError> {
    let number = summary.pr.number;
    let Some(round) = summary.rounds.iter_mut().rev().find(|round| round.replaying.is_some()) else { return Ok(false) };
    let (Some(onto), Some(sha)) = (round.replaying.take(), round.head_after.clone()) else { return Ok(true) };
    let head = ports.tree.facts()?.head;
    if head != sha && ports.tree.is_ancestor(&onto, &head)? == Some(true) {
        let name = format!("{number}/{}-replayed", round.n);
        set_aside(ports, &name, &sha, &round.untracked)?;
        ports.warn(format!("replaying round {} was cut off; it is back at {}", round.n, sha.short()));
    }
    Ok(true)
}

/// Commits of ours that are neither here nor on the remote wait no longer.
fn lost_commits(ports: &Ports<'_>, summary: &mut Summary, remote: &Sha) -> Result<bool, EngineError> {
    let waiting: Vec<(u32, Sha)> =
        unpushed(summary).filter_map(|round| round.head_after.clone().map(|after| (round.n, after))).collect();
    let head = ports.tree.facts()?.head;
    let mut changed = false;
    for (n, after) in waiting {
        let gone = |of: &Sha| ports.tree.is_ancestor(&after, of).map(|known| known == Some(false));
        if gone(&head)? && gone(remote)? {
            for round in summary.rounds.iter_mut().filter(|round| round.n == n) {
                round.outcome = RoundOutcome::Kept;
                round.why = format!("its commit {} is not in the branch any more", after.short());
            }
            changed = true;
        }
    }
    Ok(changed)
}

/// Undoes a round that was cut off. Does nothing when the last round has ended.
fn undo_round(ports: &Ports<'_>, summary: &mut Summary, facts: &LocalFacts) -> Result<bool, EngineError> {
    let number = summary.pr.number;
    let Some(round) = summary.rounds.last_mut().filter(|round| round.outcome == RoundOutcome::Editing) else {
        return Ok(false);
    };
    let forward = ports.tree.is_ancestor(&round.head_before, &facts.head)? == Some(true);
    round.outcome = RoundOutcome::CutOff;
    if !forward {
        round.why = "cut off; the branch has been moved since, nothing was undone".to_owned();
        return Ok(true);
    }
    let name = format!("{number}/{}", round.n);
    let kept = set_aside(ports, &name, &round.head_before, &round.untracked)?;
    round.why = match &kept {
        Some(_) => format!("cut off; what it left is kept on refs/pushback/{name}"),
        None => "cut off before it changed anything".to_owned(),
    };
    ports.warn(format!("round {} was {}", round.n, round.why));
    Ok(true)
}

/// Takes the commits that wait out of the branch: what they prove is not taken.
pub(super) fn reject(
    ports: &Ports<'_>,
    summary: &mut Summary,
    why: &str,
) -> Result<(StopReason, String, String), EngineError> {
    let waiting: Vec<RoundRecord> = unpushed(summary).cloned().collect();
    let remedy = "look at what it did, then run again; it starts from the same head".to_owned();
    let Some(first) = waiting.first() else { return Ok((StopReason::RejectedRound, why.to_owned(), remedy)) };
    let name = format!("{}/{}", summary.pr.number, first.n);
    set_aside(ports, &name, &first.head_before, &first.untracked)?;
    let words = format!("{why}; the commit is kept on refs/pushback/{name}");
    for round in waiting {
        for known in summary.rounds.iter_mut().filter(|known| known.n == round.n) {
            (known.outcome, known.why) = (RoundOutcome::Rejected, words.clone());
        }
        for entry in summary.comments.values_mut() {
            if entry.pending.as_ref().is_some_and(|pending| pending.verb == Verb::Fix && pending.round == round.n) {
                entry.pending = None;
                entry.refused = Some(format!("its round was put aside: {why}"));
            } else if let Some(plan) = entry.pending.as_mut().filter(|p| p.verb == Verb::Defer && p.url.is_none()) {
                (plan.commit, plan.file) = (None, None);
            }
        }
    }
    Ok((StopReason::RejectedRound, format!("the tests were weakened: {words}"), remedy))
}
