//! One look: read everything, classify, map anchors, absorb, judge the reviewers. Writes nothing.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::{EngineError, Ports, Setup, push};
use crate::ports::{Depth, GitError};
use crate::review::absorb::{self, Seen, Untrusted};
use crate::review::anchor::{self, Located, Place, Undone};
use crate::review::diff::FileDiff;
use crate::review::ids::{FindingId, RepoPath, Sha};
use crate::review::note::Note;
use crate::review::observation::Observation;
use crate::review::prove::{self, Reach};
use crate::review::recheck::{self, ProofFacts, Taken};
use crate::review::reviewers::{self, Proofs, ReviewerFacts};
use crate::review::status::Status;
use crate::review::step::BlockState;
use crate::review::summary::{Entry, Proof, RoundOutcome, Summary};
use crate::review::verdict::ReviewersVerdict;
use crate::review::{commit, description, outbox, trust};

/// Changed files in which a moved block is looked for.
const MOVED_INTO: usize = 200;

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
    let notes = trust::notes(&obs, setup.rules, setup.policy);
    if by_a_person(ports, summary, &obs.pr.head)? {
        summary.restart_rounds();
    }
    push::pushed_rounds(ports, summary, &obs.pr.head)?;
    prove_fixes(ports, summary, &obs)?;
    let ours = our_commits(summary);
    let seen = |located| Seen { obs: &obs, notes: &notes, located, policy: setup.policy, our_commits: &ours };
    let nothing = BTreeMap::new();
    let mut absorbed = absorb::absorb(summary, &seen(&nothing));
    // New findings are known only now; their places are mapped like those of the others.
    let located = locate_all(ports, summary, &obs)?;
    let again = absorb::absorb(summary, &seen(&located));
    absorbed.changed |= again.changed;
    take_gone(ports, summary, &obs, &again.anchors_gone)?;
    recheck(ports, summary, &obs, &located)?;
    recheck::recheck_replies(summary, &obs);
    outbox::reconcile(summary, &obs, &notes);
    let reviewers = judge_reviewers(setup, summary, &obs, &notes, Proofs::Run);
    let block = block_state(summary, &obs);
    Ok(Survey { obs, notes, reviewers, block, untrusted: again.untrusted, depth })
}

/// Tells whether the head moved by a commit that a person made. What cannot be read here resets nothing.
fn by_a_person(ports: &Ports<'_>, summary: &Summary, head: &Sha) -> Result<bool, EngineError> {
    let Some(last) = summary.heads.last().map(|last| &last.sha).filter(|last| *last != head) else {
        return Ok(false);
    };
    if our_commits(summary).contains(head) || summary.heads.iter().any(|known| known.sha == *head) {
        return Ok(false);
    }
    if !ports.tree.fetch(last)? || !ports.tree.fetch(head)? {
        return Ok(false);
    }
    let new = ports.tree.commits(last, head)?;
    Ok(new.iter().any(|made| commit::by_person(&made.author, &made.message)))
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

/// Asks git about every claimed commit.
fn prove_fixes(ports: &Ports<'_>, summary: &mut Summary, obs: &Observation) -> Result<(), EngineError> {
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
        let Some(entry) = summary.comments.get(id).filter(|entry| entry.blocks() && entry.pending.is_none()) else {
            continue;
        };
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
    Ok(Some(Taken { by: None, ours: false }))
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
    recheck::recheck_proofs(
        summary,
        &ProofFacts {
            reachable: &|sha: &Sha| reachable.get(sha).copied().flatten(),
            replaced_by: &|_| None,
            undone: &|entry, _| taken.get(&entry.finding.id).cloned(),
            located,
            at: obs.at,
        },
    );
    Ok(())
}

fn block_state(summary: &Summary, obs: &Observation) -> BlockState {
    if let description::BlockReading::Broken(problem) = description::read(&obs.pr.body) {
        return BlockState::Broken(problem.to_string());
    }
    let again: Vec<String> = outbox::removed_again(summary, &obs.pr.body).iter().map(ToString::to_string).collect();
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
