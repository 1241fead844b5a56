//! A round's commit goes to the remote: no force; replayed on a moved branch, twice at most; else kept on a ref (R28).

use super::{EngineError, Ports};
use crate::ports::{Event, Held, Pushed, Replayed};
use crate::review::ids::Sha;
use crate::review::step::unpushed;
use crate::review::summary::{RoundOutcome, RoundRecord, StopReason, Summary};

/// Replays of one round's commits on a moved branch.
const REPLAYS: u32 = 2;

/// How pushing went on.
pub(super) enum PushEnd {
    /// The remote has the commit.
    Done,
    /// The commit was replayed and has to be verified again.
    Again,
    /// The run stops.
    Stop(StopReason, String),
}

fn round_of<'a>(summary: &'a mut Summary, sha: &Sha) -> Option<&'a mut RoundRecord> {
    summary.rounds.iter_mut().rev().find(|round| round.head_after.as_ref() == Some(sha))
}

/// Pushes our newest commit.
pub(super) fn push(ports: &Ports<'_>, held: &Held, summary: &mut Summary, sha: &Sha) -> Result<PushEnd, EngineError> {
    let pushed = match ports.tree.push(sha)? {
        Pushed::Unclear(why) => match ports.tree.remote_head()? {
            Some(remote) if &remote == sha => Pushed::Done,
            Some(remote) => Pushed::Moved(Some(remote)),
            None => Pushed::Refused(why),
        },
        clear => clear,
    };
    match pushed {
        Pushed::Done => {
            ports.reporter.tell(Event::Wrote(format!("pushed {}", sha.short())));
            pushed_rounds(ports, summary, sha)?;
            Ok(PushEnd::Done)
        }
        Pushed::Moved(remote) => moved(ports, held, summary, sha, remote),
        Pushed::Refused(why) | Pushed::Unclear(why) => {
            let why = format!("the remote did not take {}: {why}", sha.short());
            Ok(PushEnd::Stop(StopReason::PushRefused, why))
        }
    }
}

/// Every unpushed round that a commit of the remote contains is pushed now.
pub(super) fn pushed_rounds(ports: &Ports<'_>, summary: &mut Summary, remote: &Sha) -> Result<(), EngineError> {
    let waiting: Vec<(u32, Sha)> =
        unpushed(summary).filter_map(|round| round.head_after.clone().map(|after| (round.n, after))).collect();
    for (n, after) in waiting {
        if ports.tree.is_ancestor(&after, remote)? == Some(true) {
            summary
                .rounds
                .iter_mut()
                .filter(|round| round.n == n)
                .for_each(|round| round.outcome = RoundOutcome::Pushed);
        }
    }
    Ok(())
}

/// Replays our unpushed commits on the branch as somebody else left it.
pub(super) fn moved(
    ports: &Ports<'_>,
    held: &Held,
    summary: &mut Summary,
    sha: &Sha,
    remote: Option<Sha>,
) -> Result<PushEnd, EngineError> {
    let remote = match remote {
        Some(remote) => Some(remote),
        None => ports.tree.remote_head()?,
    };
    let Some(remote) = remote else {
        return Ok(PushEnd::Stop(StopReason::PushRefused, "the remote branch is gone".to_owned()));
    };
    ports.warn(format!("somebody pushed {} meanwhile", remote.short()));
    let Some((from, n)) = unpushed(summary).next().map(|round| (round.head_before.clone(), round.n)) else {
        return Ok(PushEnd::Stop(StopReason::HeadMoved, format!("the branch moved to {}", remote.short())));
    };
    let tries = round_of(summary, sha).map_or(REPLAYS, |round| {
        round.replays += 1;
        round.replays
    });
    let known = ports.tree.fetch(&remote)?;
    if tries <= REPLAYS && known {
        if let Some(round) = round_of(summary, sha) {
            round.replaying = Some(remote.clone());
        }
        ports.store.save(held, summary)?;
        match ports.tree.replay(&from, &remote)? {
            Replayed::Clean(new) => {
                rebase_record(summary, sha, &new, &remote);
                ports.say(format!("replayed our commit on {} as {}", remote.short(), new.short()));
                return Ok(PushEnd::Again);
            }
            Replayed::Conflict(why) => ports.warn(format!("our commit does not apply there: {why}")),
        }
    }
    let name = format!("{}/{n}", summary.pr.number);
    ports.tree.keep(&name, &from)?;
    ports.tree.rewind(&from, &[])?;
    for round in summary.rounds.iter_mut().filter(|round| round.n >= n && round.outcome != RoundOutcome::Pushed) {
        (round.outcome, round.replaying) = (RoundOutcome::Kept, None);
        round.why = format!("kept on refs/pushback/{name}");
    }
    let why = format!("the branch moved to {}; our commit is kept on refs/pushback/{name}", remote.short());
    Ok(PushEnd::Stop(StopReason::HeadMoved, why))
}

fn rebase_record(summary: &mut Summary, old: &Sha, new: &Sha, onto: &Sha) {
    let ours: Vec<Sha> = summary.rounds.iter().filter_map(|round| round.head_after.clone()).collect();
    for pending in summary.comments.values_mut().filter_map(|entry| entry.pending.as_mut()) {
        let linked = pending.url.is_some();
        if !linked && pending.commit.as_ref().is_some_and(|sha| sha == old || ours.contains(sha)) {
            pending.commit = Some(new.clone());
        }
    }
    let unpushed = |round: &&mut RoundRecord| matches!(round.outcome, RoundOutcome::Committed | RoundOutcome::Red);
    let mut replays = 0;
    for round in summary.rounds.iter_mut().filter(unpushed) {
        round.head_before = onto.clone();
        replays = replays.max(round.replays);
        let newest = round.head_after.as_ref() == Some(old);
        round.head_after = Some(new.clone());
        round.outcome = RoundOutcome::Committed;
        (round.verify, round.replaying) = (None, None);
        if newest {
            round.replays = replays;
        }
    }
}
