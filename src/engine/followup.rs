//! Follow-up plans are written into the worktree and committed: in the round's commit, or in a round without the editor
//! where nothing else is to be changed (R15). What they say is decided in `review::followup`.

use super::edit::{EditEnd, stop};
use super::recover::set_aside;
use super::{EngineError, Ports, Setup};
use crate::ports::Held;
use crate::review::decision::Verb;
use crate::review::followup;
use crate::review::ids::{FindingId, RepoPath, Sha};
use crate::review::picture::Picture;
use crate::review::summary::{Entry, Pending, RoundOutcome, RoundRecord, StopReason, Summary};

/// A plan file in the worktree, and the finding it is for.
pub(super) type Written = (FindingId, RepoPath);

/// Writes the plans of these decisions; one that has no place is handed to a person.
pub(super) fn write(
    ports: &Ports<'_>,
    setup: &Setup<'_>,
    summary: &mut Summary,
    decisions: &[(FindingId, Pending)],
) -> Result<Vec<Written>, EngineError> {
    let mut plans: Vec<(&Pending, Vec<FindingId>)> = Vec::new();
    for (id, pending) in decisions {
        match plans.iter_mut().find(|(other, _)| followup::one_plan(other, pending)) {
            Some((_, ids)) if ids.contains(id) => {}
            Some((_, ids)) => ids.push(*id),
            None => plans.push((pending, vec![*id])),
        }
    }
    let mut written = Vec::new();
    for (pending, ids) in plans {
        match write_one(ports, setup, summary, &ids, pending)? {
            Ok(path) => written.extend(ids.into_iter().map(|id| (id, path.clone()))),
            Err(why) => ids.into_iter().for_each(|id| hand_over(summary, id, &why)),
        }
    }
    Ok(written)
}

fn write_one(
    ports: &Ports<'_>,
    setup: &Setup<'_>,
    summary: &Summary,
    ids: &[FindingId],
    pending: &Pending,
) -> Result<Result<RepoPath, String>, EngineError> {
    let entries: Vec<&Entry> = ids.iter().filter_map(|id| summary.comments.get(id)).collect();
    let Some((first, others)) = entries.split_first() else { return Ok(Err("its finding is not known".to_owned())) };
    let view = followup::view(first, others, pending, &summary.pr);
    let text = match setup.plans.plan(&view) {
        Ok(text) => text,
        Err(why) => return Ok(Err(why)),
    };
    let dir = &setup.policy.followup_dir;
    for name in 1..=followup::NAMES {
        let Some(path) = followup::path(dir, summary.pr.number, first.finding.id, &view.title, name) else {
            return Ok(Err(format!("`followup.dir` is `{dir}`, which is no folder inside the repository")));
        };
        if ports.tree.write_new(&path, &text)? {
            return Ok(Ok(path));
        }
    }
    Ok(Err(format!("no plan can be written in `{dir}`: the names are taken, or it leads out of the worktree")))
}

fn hand_over(summary: &mut Summary, id: FindingId, why: &str) {
    if let Some(entry) = summary.comments.get_mut(&id) {
        entry.finding.needs_person = true;
        entry.finding.why = format!("{}{why}", followup::UNWRITTEN);
    }
}

/// Records where the plans are, once a commit holds them. One that git did not take is handed to a person.
pub(super) fn committed(
    ports: &Ports<'_>,
    summary: &mut Summary,
    written: &[Written],
    commit: &Sha,
    round: u32,
) -> Result<Vec<FindingId>, EngineError> {
    let mut held = Vec::new();
    for (id, path) in written {
        if ports.tree.file_at(commit, path)?.is_none() {
            hand_over(summary, *id, &format!("git ignores `{path}`"));
            continue;
        }
        let Some(entry) = summary.comments.get_mut(id) else { continue };
        let Some(pending) = entry.pending.as_mut().filter(|pending| pending.verb == Verb::Defer) else { continue };
        (pending.file, pending.commit, pending.round) = (Some(path.to_string()), Some(commit.clone()), round);
        ports.say(format!("{id}: its follow-up plan is {path}"));
        held.push(*id);
    }
    Ok(held)
}

/// Returns the decisions whose plans are owed whatever the editor answers.
pub(super) fn owed(summary: &Summary) -> Vec<(FindingId, Pending)> {
    let of = |id: FindingId| Some((id, summary.comments.get(&id)?.pending.clone()?));
    followup::unwritten(summary).into_iter().filter_map(of).collect()
}

/// A round without the editor: writes and commits the plans that are owed.
pub(super) fn round(
    ports: &Ports<'_>,
    setup: &Setup<'_>,
    held: &Held,
    summary: &mut Summary,
    local: &Sha,
) -> Result<EditEnd, EngineError> {
    let decisions = owed(summary);
    let sent: Vec<FindingId> = decisions.iter().map(|(id, _)| *id).collect();
    let n = summary.round + 1;
    let before = ports.tree.picture()?;
    summary.round = n;
    let mut record = RoundRecord::begun(n, local.clone(), sent.clone());
    (record.unattended, record.untracked) = (true, super::edit::untracked(ports)?);
    summary.rounds.push(record);
    ports.store.save(held, summary)?;
    let written = write(ports, setup, summary, &decisions)?;
    let paths = changed(&before, &ports.tree.picture()?);
    let mut paths: Vec<RepoPath> =
        written.iter().map(|(_, path)| path.clone()).filter(|path| paths.contains(path)).collect();
    paths.sort();
    paths.dedup();
    let head = if paths.is_empty() {
        local.clone()
    } else {
        match ports.tree.commit(&paths, &message(summary, n, &sent)) {
            Ok(sha) => sha,
            Err(error) => return rejected(ports, summary, local, &error.to_string()),
        }
    };
    let settled = committed(ports, summary, &written, &head, n)?;
    let tree = ports.tree.tree(&head)?;
    if let Some(round) = summary.rounds.last_mut() {
        (round.judged, round.settled, round.tree) = (true, settled, tree);
        round.outcome = if &head == local { RoundOutcome::NoChange } else { RoundOutcome::Committed };
        round.head_after = (&head != local).then_some(head);
    }
    ports.store.save(held, summary)?;
    Ok(EditEnd::Go)
}

fn changed(before: &Picture, after: &Picture) -> Vec<RepoPath> {
    after
        .files
        .iter()
        .filter(|(path, hash)| before.files.get(*path) != Some(*hash))
        .map(|(path, _)| path.clone())
        .collect()
}

fn rejected(ports: &Ports<'_>, summary: &mut Summary, local: &Sha, error: &str) -> Result<EditEnd, EngineError> {
    let name = format!("{}/{}", summary.pr.number, summary.round);
    let mine = summary.rounds.last().map(|round| round.untracked.clone()).unwrap_or_default();
    let kept = set_aside(ports, &name, local, &mine)?;
    let kept = if kept.is_some() { format!("; it is kept on refs/pushback/{name}") } else { String::new() };
    let why = format!("the follow-up plan could not be committed: {error}{kept}");
    if let Some(round) = summary.rounds.last_mut() {
        (round.outcome, round.why) = (RoundOutcome::Rejected, why.clone());
    }
    Ok(stop(StopReason::RejectedRound, why, "mend what the commit hook complains of, then run again"))
}

fn message(summary: &Summary, n: u32, sent: &[FindingId]) -> String {
    let titles = sent.iter().filter_map(|id| summary.comments.get(id));
    let titles: Vec<String> = titles
        .map(|entry| format!("- {} {}: {}", entry.finding.id, entry.finding.severity, entry.finding.title))
        .collect();
    let ids: Vec<String> = sent.iter().map(ToString::to_string).collect();
    let subject = if sent.len() == 1 { "Plan a follow-up" } else { "Plan follow-ups" };
    format!("{subject}\n\n{}\n\nPushback-Round: {n}\nPushback-Findings: {}\n", titles.join("\n"), ids.join(", "))
}
