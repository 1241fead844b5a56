//! One look: read everything, classify, map anchors, absorb, judge the reviewers. Writes nothing.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::{EngineError, Ports, Setup, push, verify};
use crate::ports::{Depth, GitError};
use crate::review::absorb::{self, Seen, Untrusted};
use crate::review::anchor::{self, Located, Place, Undone};
use crate::review::decision::Verb;
use crate::review::diff::FileDiff;
use crate::review::followup::linked;
use crate::review::ids::{FindingId, RepoPath, Sha};
use crate::review::judge::PlaceNow;
use crate::review::note::Note;
use crate::review::observation::Observation;
use crate::review::prove::{self, Reach};
use crate::review::rebuild;
use crate::review::recheck::{self, ProofFacts, Taken};
use crate::review::reviewers::{self, Proofs, ReviewerFacts};
use crate::review::status::Status;
use crate::review::step::BlockState;
use crate::review::summary::{Entry, Pending, Proof, RoundOutcome, Summary};
use crate::review::verdict::ReviewersVerdict;
use crate::review::{commit, description, outbox, trust};

/// Changed files in which a moved block is looked for.
const MOVED_INTO: usize = 200;
/// Commits of a branch among which a rebased one is looked for.
const MOST_COMMITS: usize = 250;

/// What one look found, beside the summary it was absorbed into.
#[derive(Debug, Clone)]
pub struct Survey {
    /// The complete reading.
    pub obs: Observation,
    /// Every comment with its standing and meaning.
    pub notes: Vec<Note>,
    /// The reviewers.
    pub reviewers: ReviewersVerdict,
    /// Our block in the description.
    pub block: BlockState,
    /// Comments that create no work because of who wrote them.
    pub untrusted: Vec<Untrusted>,
    /// How deep the look was.
    pub depth: Depth,
    /// Where the places of the findings are at the head.
    pub located: BTreeMap<FindingId, Located>,
}

/// Says where the places of findings are at the head, and which commit of ours took them out, for judging `stale`.
pub fn places_now(
    ports: &Ports<'_>,
    summary: &Summary,
    survey: &Survey,
    ids: &[FindingId],
) -> Result<BTreeMap<FindingId, PlaceNow>, EngineError> {
    let mut places = BTreeMap::new();
    for entry in ids.iter().filter_map(|id| summary.comments.get(id)) {
        let place = match survey.located.get(&entry.finding.id) {
            None => PlaceNow::Unsure("the commit it was made on is not known".to_owned()),
            Some(Located::Unsure { because }) => PlaceNow::Unsure(because.clone()),
            Some(Located::There { path, line, .. }) => {
                PlaceNow::There(line.map_or_else(|| format!("`{path}`"), |line| format!("`{path}:{line}`")))
            }
            Some(Located::Gone { because }) => PlaceNow::Gone {
                because: because.clone(),
                by: removed_by_us(ports, summary, entry, &survey.obs.pr.head)?,
            },
        };
        places.insert(entry.finding.id, place);
    }
    Ok(places)
}

/// Looks once and absorbs what is new.
pub fn survey(
    ports: &Ports<'_>,
    setup: &Setup<'_>,
    summary: &mut Summary,
    depth: Depth,
) -> Result<Survey, EngineError> {
    let obs = ports.forge.observe(depth)?;
    digest(ports, setup, summary, obs, depth)
}

/// Absorbs a reading.
pub fn digest(
    ports: &Ports<'_>,
    setup: &Setup<'_>,
    summary: &mut Summary,
    obs: Observation,
    depth: Depth,
) -> Result<Survey, EngineError> {
    let notes = trust::notes(&obs, setup.reader, setup.policy);
    verify::forget_others(setup, summary);
    if by_a_person(ports, summary, &obs)? {
        summary.restart_rounds();
    }
    push::pushed_rounds(ports, summary, &obs.pr.head)?;
    committed_plans(ports, summary, &obs)?;
    prove_fixes(ports, summary, &obs, &notes)?;
    if summary.heads.last().is_some_and(|last| last.sha != obs.pr.head) {
        // What a person took out is known before its reviewer names it again: the copy is a person's business too (FC-34).
        recheck(ports, summary, &obs, &BTreeMap::new())?;
    }
    let ours = our_commits(summary);
    let seen = |located| Seen { obs: &obs, notes: &notes, located, policy: setup.policy, our_commits: &ours };
    let nothing = BTreeMap::new();
    let absorbed = absorb::absorb(summary, &seen(&nothing));
    for record in &absorbed.commands {
        let what = record.refused.as_ref().map_or("taken".to_owned(), |why| format!("not taken: {why}"));
        ports.say(format!("{}: `{}`: {what}", record.by, record.said));
    }
    // New findings are known only now; their places are mapped like those of the others.
    let located = locate_all(ports, summary, &obs)?;
    let again = absorb::absorb(summary, &seen(&located));
    take_gone(ports, summary, &obs, &again.anchors_gone)?;
    rebuild::take_over(summary, &obs, &notes, setup.policy);
    recheck(ports, summary, &obs, &located)?;
    recheck::recheck_replies(summary, &obs);
    outbox::reconcile(summary, &obs, &notes);
    let reviewers = judge_reviewers(setup, summary, &obs, &notes, Proofs::Run);
    let block = block_state(summary, &obs);
    Ok(Survey { obs, notes, reviewers, block, untrusted: again.untrusted, depth, located })
}

/// Tells whether the head moved by a commit that a person made. What cannot be read here resets nothing.
fn by_a_person(ports: &Ports<'_>, summary: &Summary, obs: &Observation) -> Result<bool, EngineError> {
    let (head, base) = (&obs.pr.head, &obs.pr.base_sha);
    let Some(last) = summary.heads.last().map(|last| &last.sha).filter(|last| *last != head) else {
        return Ok(false);
    };
    if our_commits(summary).contains(head) || summary.heads.iter().any(|known| known.sha == *head) {
        return Ok(false);
    }
    if !ports.tree.fetch(last)? || !ports.tree.fetch(head)? || !ports.tree.fetch(base)? {
        return Ok(false);
    }
    // What a merge of the base brought along was made elsewhere.
    let own: BTreeSet<Sha> = ports.tree.commits(base, head)?.into_iter().map(|made| made.sha).collect();
    let new = ports.tree.commits(last, head)?;
    Ok(new.iter().any(|made| own.contains(&made.sha) && commit::by_person(&made.author, &made.message)))
}

/// Judges the reviewers on a reading.
pub fn judge_reviewers(
    setup: &Setup<'_>,
    summary: &Summary,
    obs: &Observation,
    notes: &[Note],
    proofs: Proofs,
) -> ReviewersVerdict {
    reviewers::judge(&ReviewerFacts::gather(obs, notes, summary, setup.rules, setup.policy), proofs)
}

fn our_commits(summary: &Summary) -> BTreeSet<Sha> {
    summary.rounds.iter().filter_map(|round| round.head_after.clone()).collect()
}

/// A plan that somebody else commits has no commit of ours: it is there once its file is at the head (R15).
fn committed_plans(ports: &Ports<'_>, summary: &mut Summary, obs: &Observation) -> Result<(), EngineError> {
    let head = &obs.pr.head;
    for entry in summary.comments.values_mut() {
        let waits = |pending: &&mut Pending| pending.verb == Verb::Defer && pending.commit.is_none();
        let Some(pending) = entry.pending.as_mut().filter(waits) else { continue };
        let Some(path) = pending.file.as_deref().and_then(|file| RepoPath::from_outside(file).ok()) else { continue };
        if ports.tree.fetch(head)? && ports.tree.file_at(head, &path)?.is_some() {
            pending.commit = Some(head.clone());
        }
    }
    Ok(())
}

/// Asks git about every claimed commit.
fn prove_fixes(ports: &Ports<'_>, summary: &mut Summary, obs: &Observation, notes: &[Note]) -> Result<(), EngineError> {
    let head = &obs.pr.head;
    let mut known = BTreeMap::new();
    for sha in prove::claimed(summary) {
        let reach = match (ports.tree.is_ancestor(&sha, head)?, ports.tree.is_ancestor(head, &sha)?) {
            (Some(true), _) => Reach::Reached,
            (_, Some(true)) => Reach::Ahead,
            (Some(false), Some(false)) => Reach::Lost,
            (Some(false) | None, _) => Reach::Unknown,
        };
        known.insert(sha, reach);
    }
    let lost = known.iter().filter(|(_, reach)| **reach == Reach::Lost).map(|(sha, _)| sha.clone()).collect();
    for (old, new) in replaced(ports, obs, lost)? {
        // The same change may be another machine's, which has said in words why it leaves a finding as it is.
        let claims = |entry: &&Entry| entry.pending.as_ref().is_some_and(|p| p.commit.as_ref() == Some(&old));
        let carried = summary.comments.values().filter(claims);
        let carried: Vec<FindingId> = carried
            .filter(|entry| !outbox::answered_elsewhere(summary, entry, obs, notes))
            .map(|entry| entry.finding.id)
            .collect();
        for id in carried {
            if let Some(pending) = summary.comments.get_mut(&id).and_then(|entry| entry.pending.as_mut()) {
                pending.commit = Some(new.clone());
            }
        }
        known.insert(new, Reach::Reached);
    }
    prove::prove(summary, &|sha| known.get(sha).copied().unwrap_or(Reach::Unknown), obs.at);
    Ok(())
}

/// Settles findings whose place is provably gone (R14): what a commit of ours removed is a fix, never stale.
fn take_gone(
    ports: &Ports<'_>,
    summary: &mut Summary,
    obs: &Observation,
    gone: &[(FindingId, String)],
) -> Result<(), EngineError> {
    for (id, because) in gone {
        let free = |entry: &&Entry| entry.pending.as_ref().is_none_or(|pending| pending.verb == Verb::Stale);
        let Some(entry) = summary.comments.get(id).filter(|entry| entry.blocks()).filter(free) else { continue };
        let ours = removed_by_us(ports, summary, entry, &obs.pr.head)?;
        let (head, round) = (obs.pr.head.clone(), summary.round);
        let place = entry.finding.path.clone().unwrap_or_default();
        let Some(entry) = summary.comments.get_mut(id) else { continue };
        match ours {
            Some(sha) => {
                let why = format!("{} took its place out: {because}", sha.short());
                entry.settle(Status::Fixed, Proof::Commit { sha, place }, why, obs.at, round);
            }
            None => {
                let proof = Proof::AnchorGone { head, because: because.clone() };
                entry.settle(Status::Stale, proof, because.clone(), obs.at, round);
            }
        }
    }
    Ok(())
}

/// Returns the commit of ours that changed the finding's file since the finding was made.
fn removed_by_us(ports: &Ports<'_>, summary: &Summary, entry: &Entry, head: &Sha) -> Result<Option<Sha>, EngineError> {
    let Some(made_on) = &entry.made_on else { return Ok(None) };
    for round in summary.rounds.iter().filter(|round| round.outcome == RoundOutcome::Pushed) {
        let Some(after) = &round.head_after else { continue };
        let there = round.touched.iter().any(|place| Some(&place.path) == entry.finding.path.as_ref());
        if there
            && ports.tree.is_ancestor(made_on, &round.head_before)? == Some(true)
            && ports.tree.is_ancestor(after, head)? == Some(true)
        {
            return Ok(Some(after.clone()));
        }
    }
    Ok(None)
}

/// Tells who took a fix out again, if somebody did (FC-41).
fn taken_away(
    ports: &Ports<'_>,
    summary: &Summary,
    sha: &Sha,
    place: &str,
    head: &Sha,
) -> Result<Option<Taken>, EngineError> {
    if sha == head || ports.tree.is_ancestor(sha, head)? != Some(true) {
        return Ok(None);
    }
    let (Some(place), Some(parent)) = (Place::named(place), ports.tree.parent(sha)?) else { return Ok(None) };
    if !ports.tree.fetch(&parent)? {
        return Ok(None);
    }
    let fix = ports.tree.diff(&parent, sha)?;
    let undone = |at: &Sha| -> Result<bool, EngineError> {
        Ok(anchor::undone(&place, &fix, &ports.tree.diff(sha, at)?) == Undone::Wholly)
    };
    if !undone(head)? {
        return Ok(None);
    }
    for record in &summary.heads {
        if record.sha != *sha && ports.tree.is_ancestor(sha, &record.sha)? == Some(true) && undone(&record.sha)? {
            return Ok(Some(Taken { by: Some(record.sha.clone()), ours: record.ours }));
        }
    }
    // A head that is seen for the first time is not among them yet.
    Ok(Some(Taken { by: Some(head.clone()), ours: our_commits(summary).contains(head) }))
}

/// Asks whether the proofs of settled findings still hold.
fn recheck(
    ports: &Ports<'_>,
    summary: &mut Summary,
    obs: &Observation,
    located: &BTreeMap<FindingId, Located>,
) -> Result<(), EngineError> {
    let head = &obs.pr.head;
    let (mut reachable, mut taken) = (BTreeMap::new(), BTreeMap::new());
    for entry in summary.comments.values() {
        let Some(Proof::Commit { sha, place }) = &entry.proof else { continue };
        if !reachable.contains_key(sha) {
            reachable.insert(sha.clone(), ports.tree.is_ancestor(sha, head)?);
        }
        if let Some(by) = taken_away(ports, summary, sha, place, head)? {
            taken.insert(entry.finding.id, by);
        }
    }
    let lost = reachable.iter().filter(|(_, known)| **known == Some(false)).map(|(sha, _)| sha.clone()).collect();
    let replaced = replaced(ports, obs, lost)?;
    // They were found in the history of the head.
    reachable.extend(replaced.values().map(|sha| (sha.clone(), Some(true))));
    let plans = plans_there(ports, summary, head)?;
    recheck::recheck_proofs(
        summary,
        &ProofFacts {
            reachable: &|sha: &Sha| reachable.get(sha).copied().flatten(),
            replaced_by: &|sha| replaced.get(sha).cloned(),
            plan: &|path| plans.get(path).copied().flatten(),
            undone: &|entry, _| taken.get(&entry.finding.id).cloned(),
            located,
            at: obs.at,
        },
    );
    Ok(())
}

/// Finds the commits that carry the change of commits which are no longer in the branch: a rebase kept it (FC-34).
fn replaced(ports: &Ports<'_>, obs: &Observation, lost: Vec<Sha>) -> Result<BTreeMap<Sha, Sha>, EngineError> {
    let (tree, head) = (ports.tree, &obs.pr.head);
    let mut found = BTreeMap::new();
    if lost.is_empty() || !tree.fetch(head)? || !tree.fetch(&obs.pr.base_sha)? {
        return Ok(found);
    }
    let mut changes = Vec::new();
    for commit in tree.commits(&obs.pr.base_sha, head)?.into_iter().take(MOST_COMMITS) {
        if let Some(parent) = commit.parent {
            changes.push((commit.sha.clone(), tree.diff(&parent, &commit.sha)?));
        }
    }
    for sha in lost {
        if !tree.fetch(&sha)? {
            continue;
        }
        let Some(parent) = tree.parent(&sha)? else { continue };
        if !tree.fetch(&parent)? {
            continue;
        }
        let change = tree.diff(&parent, &sha)?;
        if let Some((new, _)) = changes.iter().find(|(_, other)| recheck::same_change(&change, other)) {
            found.insert(sha, new.clone());
        }
    }
    Ok(found)
}

/// Tells of each follow-up plan whether its file is at the head, by its own name or one it was renamed to.
fn plans_there(
    ports: &Ports<'_>,
    summary: &Summary,
    head: &Sha,
) -> Result<BTreeMap<String, Option<bool>>, EngineError> {
    let mut plans = BTreeMap::new();
    for entry in summary.comments.values() {
        let Some(Proof::Plan { path, url, .. }) = &entry.proof else { continue };
        let Ok(file) = RepoPath::from_outside(path) else { continue };
        if plans.contains_key(path) || !ports.tree.fetch(head)? {
            continue;
        }
        let mut there = ports.tree.file_at(head, &file)?.is_some();
        if let (false, Some((commit, _))) = (there, linked(url))
            && ports.tree.is_ancestor(&commit, head)? == Some(true)
        {
            let moved = |diff: &FileDiff| diff.old_path.as_ref() == Some(&file) && diff.new_path.is_some();
            there = ports.tree.diff(&commit, head)?.iter().any(moved);
        }
        plans.insert(path.clone(), Some(there));
    }
    Ok(plans)
}

fn block_state(summary: &Summary, obs: &Observation) -> BlockState {
    let body = &obs.pr.body;
    let read = description::read(body);
    if let description::BlockReading::Broken(problem) = read {
        return BlockState::Broken(problem.to_string());
    }
    // Waiting makes no room for a reason, and closes no fence.
    if !description::missing(summary, &read).is_empty()
        && let Err(problem) = description::render_for(summary, body).and_then(|block| description::splice(body, &block))
    {
        return BlockState::Broken(problem.to_string());
    }
    let again: Vec<String> = outbox::removed_again(summary, body).iter().map(ToString::to_string).collect();
    if again.is_empty() {
        return BlockState::Fine;
    }
    BlockState::RemovedAgain(format!("the reasons of {} were removed from the description again", again.join(", ")))
}

/// Maps the place of every finding to the head, through the real diff from the commit it was made on.
fn locate_all(
    ports: &Ports<'_>,
    summary: &Summary,
    obs: &Observation,
) -> Result<BTreeMap<FindingId, Located>, EngineError> {
    let head = &obs.pr.head;
    let mut located = BTreeMap::new();
    let places = absorb::places(summary, obs);
    if places.is_empty() || !ports.tree.fetch(head)? {
        return Ok(located);
    }
    let mut diffs: BTreeMap<Sha, Option<Vec<FileDiff>>> = BTreeMap::new();
    let files = Files { ports, known: RefCell::default(), failed: RefCell::default() };
    for (id, made_on, place) in places {
        if !diffs.contains_key(&made_on) {
            let known = &made_on == head || ports.tree.fetch(&made_on)?;
            let diff = if known { Some(ports.tree.diff(&made_on, head)?) } else { None };
            diffs.insert(made_on.clone(), diff);
        }
        let Some(diff) = diffs.get(&made_on).and_then(Option::as_ref) else {
            let because = format!("commit {} is not available here", made_on.short());
            located.insert(id, Located::Unsure { because });
            continue;
        };
        let then = files.text(&made_on, &place.path);
        // The place's own file under its names, and the changed files into which a block may have been moved.
        let renamed = diff.iter().filter(|file| file.old_path.as_ref() == Some(&place.path));
        let own: BTreeSet<&RepoPath> = renamed.filter_map(|file| file.new_path.as_ref()).chain([&place.path]).collect();
        let moved_into = |path: &RepoPath| {
            diff.iter().filter_map(|file| file.new_path.as_ref()).take(MOVED_INTO).any(|changed| changed == path)
        };
        let now = |path: &RepoPath| {
            if own.contains(path) || moved_into(path) { files.text(head, path) } else { None }
        };
        let answer = anchor::locate(&place, diff, then.as_deref(), |path| now(path).map(|text| text.to_string()));
        files.failure()?;
        located.insert(id, answer);
    }
    Ok(located)
}

/// Texts of one commit's files.
type Known = BTreeMap<RepoPath, Option<Rc<str>>>;

/// Texts of files, read once each. A failure to read is kept until it is asked for.
struct Files<'a> {
    ports: &'a Ports<'a>,
    known: RefCell<BTreeMap<Sha, Known>>,
    failed: RefCell<Option<GitError>>,
}

impl Files<'_> {
    fn text(&self, sha: &Sha, path: &RepoPath) -> Option<Rc<str>> {
        if let Some(text) = self.known.borrow().get(sha).and_then(|files| files.get(path)) {
            return text.clone();
        }
        let text = match self.ports.tree.file_at(sha, path) {
            Ok(bytes) => bytes.map(|bytes| Rc::from(String::from_utf8_lossy(&bytes))),
            Err(error) => {
                self.failed.borrow_mut().get_or_insert(error);
                None
            }
        };
        self.known.borrow_mut().entry(sha.clone()).or_default().insert(path.clone(), text.clone());
        text
    }

    fn failure(&self) -> Result<(), GitError> {
        self.failed.borrow_mut().take().map_or(Ok(()), Err)
    }
}
