//! How a run starts: state read or rebuilt, and whether the worktree is as it has to be (R13, R30).

use super::reprove;
use super::survey::{self, Survey};
use super::{EngineError, Ports, Setup, fresh_summary};
use crate::ports::{Depth, Held, Loaded, LocalFacts};
use crate::review::ids::Sha;
use crate::review::marker;
use crate::review::observation::Observation;
use crate::review::rebuild;
use crate::review::step::unpushed;
use crate::review::summary::{RoundOutcome, RoundRecord, Summary};

/// Reads state; lost or unreadable state is rebuilt from the pull request (R13).
pub fn load(ports: &Ports<'_>, setup: &Setup<'_>, held: &Held, obs: &Observation) -> Result<Summary, EngineError> {
    let why = match ports.store.load(Some(held))? {
        Loaded::Known(summary) => return Ok(*summary),
        Loaded::Absent => None,
        Loaded::Bad { kept, why } => Some(format!("the state could not be read ({why}); it is kept as {kept}")),
    };
    if let Some(why) = why {
        ports.warn(format!("{why} and rebuilt from the pull request"));
    }
    rebuilt(ports, setup, obs)
}

/// Builds state from the pull request alone: what its comments and its description prove.
pub fn rebuilt(ports: &Ports<'_>, setup: &Setup<'_>, obs: &Observation) -> Result<Summary, EngineError> {
    let mut summary = fresh_summary(&setup.pr, obs);
    // Who resolved a thread is heard after what words and commits prove: the program resolves what it has settled, and
    // another account of it would be taken for a person who withdrew the finding. The look that follows hears the rest.
    let mut unresolved = obs.clone();
    for thread in &mut unresolved.threads {
        (thread.resolved, thread.resolved_by) = (false, None);
    }
    survey::digest(ports, setup, &mut summary, unresolved, Depth::Full)?;
    let notes = crate::review::trust::notes(obs, setup.reader, setup.policy);
    rebuild::rebuild(&mut summary, obs, &notes, setup.policy);
    super::reprove::reprove(ports, &mut summary, obs, &notes)?;
    Ok(summary)
}

/// Looks for the first time, or after state was lost: what [`rebuilt`] and a look after it come to.
pub fn first(
    ports: &Ports<'_>,
    setup: &Setup<'_>,
    obs: Observation,
    depth: Depth,
) -> Result<(Summary, Survey), EngineError> {
    // Without a word or a commit of ours there is nothing to put back, and a second look at the same reading changes nothing.
    let names_us = |text: &str| text.contains(marker::NAME);
    let ours = names_us(&obs.pr.body) || obs.comments.iter().any(|comment| names_us(&comment.body));
    let ours = ours || obs.threads.iter().any(|thread| thread.resolved) || reprove::claimed(ports, &obs)?;
    let mut summary = if ours { rebuilt(ports, setup, &obs)? } else { fresh_summary(&setup.pr, &obs) };
    let survey = survey::digest(ports, setup, &mut summary, obs, depth)?;
    Ok((summary, survey))
}

/// R30: HEAD is the pull request's head, nothing staged, nothing modified; commits of ours that wait are no obstacle.
pub(super) fn may_start(
    ports: &Ports<'_>,
    setup: &Setup<'_>,
    summary: &Summary,
    head: &Sha,
) -> Result<(), EngineError> {
    let facts = ports.tree.facts()?;
    clean(&facts, setup)?;
    let of = |outcomes: &[RoundOutcome]| {
        let here = |round: &&RoundRecord| round.head_after.as_ref() == Some(&facts.head);
        summary.rounds.iter().find(|round| here(round) && outcomes.contains(&round.outcome))
    };
    let pushed = of(&[RoundOutcome::Pushed]).is_some();
    if &facts.head == head || (pushed && ports.tree.is_ancestor(head, &facts.head)? == Some(true)) {
        return Ok(());
    }
    // Commits of ours that wait are replayed where somebody pushed meanwhile.
    if of(&[RoundOutcome::Committed, RoundOutcome::Red]).is_some()
        && let Some(first) = unpushed(summary).next()
        && ports.tree.fetch(head)?
        && ports.tree.is_ancestor(&first.head_before, head)? == Some(true)
    {
        return Ok(());
    }
    let there = ports.tree.fetch(head)?;
    let (ahead, behind) = if there {
        (ports.tree.is_ancestor(head, &facts.head)?, ports.tree.is_ancestor(&facts.head, head)?)
    } else {
        (None, None)
    };
    let (how, mend) = match (ahead, behind) {
        (Some(true), _) => ("ahead of", "push it first: `git push`"),
        (_, Some(true)) => ("behind", "pull it first: `git pull --ff-only`"),
        (Some(false), Some(false)) => {
            ("diverged from", "bring both together first: `git pull --rebase`, then `git push`")
        }
        _ => ("not", "fetch it first: `git fetch`"),
    };
    let why = format!("HEAD {} is {how} the pull request's head {}", facts.head.short(), head.short());
    Err(EngineError::usage(why, mend))
}

fn clean(facts: &LocalFacts, setup: &Setup<'_>) -> Result<(), EngineError> {
    if let Some(operation) = &facts.operation {
        return Err(EngineError::usage(format!("a {operation} is under way"), "finish or abort it first"));
    }
    match &facts.branch {
        None if setup.own_tree => {}
        None => {
            let mend = format!("check the branch out: `git switch {}`", setup.branch);
            return Err(EngineError::usage("HEAD is detached", mend));
        }
        Some(branch) if branch != &setup.branch => {
            let why = format!("HEAD is on `{branch}`, the pull request's branch is `{}`", setup.branch);
            return Err(EngineError::usage(why, format!("`git switch {}`", setup.branch)));
        }
        Some(_) => {}
    }
    if facts.staged {
        return Err(EngineError::usage("changes are staged", "commit or unstage them first"));
    }
    if let Some(first) = facts.modified.first() {
        let why = match facts.modified.len() {
            1 => format!("{first} is modified"),
            n => format!("{n} tracked files are modified, for example {first}"),
        };
        return Err(EngineError::usage(why, "commit them or `git stash` first"));
    }
    Ok(())
}
