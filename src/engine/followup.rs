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

/// A plan as it would be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drafted {
    /// The findings it is for.
    pub ids: Vec<FindingId>,
    /// Its file; the next free name, as far as git sees what is in the worktree.
    pub path: RepoPath,
    /// Its text.
    pub text: String,
}

/// Writes the plans of these decisions; one that has no place is handed to a person.
pub(super) fn write(
    ports: &Ports<'_>,
    setup: &Setup<'_>,
    summary: &mut Summary,
    decisions: &[(FindingId, Pending)],
) -> Result<Vec<Written>, EngineError> {
    let mut written = Vec::new();
    for (pending, ids) in grouped(decisions) {
        match write_one(ports, setup, summary, &ids, pending)? {
            Ok(path) => written.extend(ids.into_iter().map(|id| (id, path.clone()))),
            Err(why) => ids.into_iter().for_each(|id| hand_over(summary, id, &why)),
        }
    }
    Ok(written)
}

/// Drafts what [`write`] would write, writes nothing, and lets the replies that link it be planned: each finding gets its
/// file and a link that waits for its commit. For a copy of the state, in a dry run.
pub(super) fn draft(ports: &Ports<'_>, setup: &Setup<'_>, copy: &mut Summary) -> Result<Vec<Drafted>, EngineError> {
    let decisions = owed(copy);
    let mut drafts = Vec::new();
    for (pending, ids) in grouped(&decisions) {
        match draft_one(ports, setup, copy, &ids, pending)? {
            Ok((path, text)) => drafts.push(Drafted { ids, path, text }),
            Err(why) => ids.into_iter().for_each(|id| hand_over(copy, id, &why)),
        }
    }
    let files = drafts.iter().flat_map(|plan| plan.ids.iter().map(|id| (*id, plan.path.to_string())));
    for (id, file) in files {
        let Some(pending) = copy.comments.get_mut(&id).and_then(|entry| entry.pending.as_mut()) else { continue };
        pending.file = Some(file);
    }
    let pr = copy.pr.clone();
    for pending in copy.comments.values_mut().filter_map(|entry| entry.pending.as_mut()) {
        if let (Verb::Defer, Some(file), None) = (pending.verb, &pending.file, &pending.url) {
            pending.url = Some(followup::link_to_be(&pr, file));
        }
    }
    Ok(drafts)
}

/// Puts together what one plan serves.
fn grouped(decisions: &[(FindingId, Pending)]) -> Vec<(&Pending, Vec<FindingId>)> {
    let mut plans: Vec<(&Pending, Vec<FindingId>)> = Vec::new();
    for (id, pending) in decisions {
        match plans.iter_mut().find(|(other, _)| followup::one_plan(other, pending)) {
            Some((_, ids)) if ids.contains(id) => {}
            Some((_, ids)) => ids.push(*id),
            None => plans.push((pending, vec![*id])),
        }
    }
    plans
}

/// A rendered plan and the names its file may have.
struct Rendered<'a> {
    dir: &'a str,
    names: Vec<RepoPath>,
    text: String,
}

fn rendered<'a>(
    setup: &'a Setup<'_>,
    summary: &Summary,
    ids: &[FindingId],
    pending: &Pending,
) -> Result<Rendered<'a>, String> {
    let entries: Vec<&Entry> = ids.iter().filter_map(|id| summary.comments.get(id)).collect();
    let Some((first, others)) = entries.split_first() else { return Err("its finding is not known".to_owned()) };
    let view = followup::view(first, others, pending, &summary.pr);
    let text = setup.plans.plan(&view)?;
    let dir = setup.policy.followup_dir.as_str();
    let name = |n| followup::path(dir, summary.pr.number, first.finding.id, &view.title, n);
    let names: Option<Vec<RepoPath>> = (1..=followup::NAMES).map(name).collect();
    let names = names.ok_or_else(|| format!("`followup.dir` is `{dir}`, which is no folder inside the repository"))?;
    Ok(Rendered { dir, names, text })
}

fn taken(dir: &str) -> String {
    format!("no plan can be written in `{dir}`: the names are taken, or it leads out of the worktree")
}

fn write_one(
    ports: &Ports<'_>,
    setup: &Setup<'_>,
    summary: &Summary,
    ids: &[FindingId],
    pending: &Pending,
) -> Result<Result<RepoPath, String>, EngineError> {
    let plan = match rendered(setup, summary, ids, pending) {
        Ok(plan) => plan,
        Err(why) => return Ok(Err(why)),
    };
    for path in plan.names {
        if ports.tree.write_new(&path, &plan.text)? {
            return Ok(Ok(path));
        }
    }
    Ok(Err(taken(plan.dir)))
}

fn draft_one(
    ports: &Ports<'_>,
    setup: &Setup<'_>,
    summary: &Summary,
    ids: &[FindingId],
    pending: &Pending,
) -> Result<Result<(RepoPath, String), String>, EngineError> {
    let plan = match rendered(setup, summary, ids, pending) {
        Ok(plan) => plan,
        Err(why) => return Ok(Err(why)),
    };
    let here = ports.tree.picture()?;
    for path in plan.names {
        let known = ports.tree.file_at(&here.head, &path)?;
        let same = known.as_deref() == Some(plan.text.as_bytes());
        if !here.files.contains_key(&path) && (known.is_none() || same) {
            return Ok(Ok((path, plan.text)));
        }
    }
    Ok(Err(taken(plan.dir)))
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
    let titles: Vec<String> = sent.iter().filter_map(|id| summary.comments.get(id)).map(super::message::item).collect();
    let ids: Vec<String> = sent.iter().map(ToString::to_string).collect();
    let subject = if sent.len() == 1 { "Plan a follow-up" } else { "Plan follow-ups" };
    format!("{subject}\n\n{}\n\nPushback-Round: {n}\nPushback-Findings: {}\n", titles.join("\n"), ids.join(", "))
}
