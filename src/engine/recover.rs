//! What a kill left behind is kept on a ref and undone, before anything else is asked of the worktree.

use super::{EngineError, Ports};
use crate::ports::LocalFacts;
use crate::review::diff::FileChange;
use crate::review::ids::{RepoPath, Sha};
use crate::review::summary::{RoundOutcome, Summary};

/// Puts everything that came since `base` on a ref and takes it out of the worktree; untracked files named in `mine` stay.
pub(super) fn set_aside(
    ports: &Ports<'_>,
    name: &str,
    base: &Sha,
    mine: &[String],
) -> Result<Option<Sha>, EngineError> {
    let kept = ports.tree.keep(name, base)?;
    let added = ports.tree.diff_worktree()?.into_iter().filter(|file| file.change == FileChange::Added);
    let left: Vec<RepoPath> =
        added.filter_map(|file| file.new_path).filter(|path| !mine.contains(&path.to_string())).collect();
    ports.tree.rewind(base, &left)?;
    Ok(kept)
}

/// Undoes a round that was cut off. Does nothing when the last round has ended.
pub(super) fn recover(ports: &Ports<'_>, summary: &mut Summary, facts: &LocalFacts) -> Result<bool, EngineError> {
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
