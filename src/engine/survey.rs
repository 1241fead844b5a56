//! One look: read everything, classify, map anchors, absorb, judge the reviewers. Writes nothing.

use std::collections::BTreeMap;

use super::{EngineError, Ports, Setup};
use crate::ports::Depth;
use crate::review::absorb::{self, Seen, Untrusted};
use crate::review::anchor::{self, Located, Place};
use crate::review::comment::Comment;
use crate::review::description;
use crate::review::diff::FileDiff;
use crate::review::ids::{FindingId, RepoPath, Sha};
use crate::review::note::Note;
use crate::review::observation::Observation;
use crate::review::reviewers::{self, Proofs, ReviewerFacts};
use crate::review::step::BlockState;
use crate::review::summary::Summary;
use crate::review::verdict::ReviewersVerdict;
use crate::review::{outbox, trust};

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
pub fn survey(ports: &Ports<'_>, setup: &Setup<'_>, summary: &mut Summary, depth: Depth) -> Result<Survey, EngineError> {
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
    let located = locate_all(ports, &obs)?;
    let absorbed = absorb::absorb(summary, &Seen { obs: &obs, notes: &notes, located: &located, policy: setup.policy });
    let head = obs.pr.head.clone();
    let mut reachable = BTreeMap::new();
    for sha in absorb::claimed_commits(summary) {
        let answer = ports.tree.is_ancestor(&sha, &head)?;
        reachable.insert(sha, answer);
    }
    absorb::recheck_proofs(summary, &obs, &|sha: &Sha| reachable.get(sha).copied().flatten());
    outbox::reconcile(summary, &obs, &notes);
    let facts = ReviewerFacts::gather(&obs, &notes, summary, setup.rules, setup.policy);
    let reviewers = reviewers::judge(&facts, Proofs::Run);
    let block = block_state(summary, &obs);
    Ok(Survey { obs, notes, reviewers, block, untrusted: absorbed.untrusted, depth })
}

fn block_state(summary: &Summary, obs: &Observation) -> BlockState {
    match description::read(&obs.pr.body) {
        description::BlockReading::Broken(why) => BlockState::Broken(why),
        description::BlockReading::Absent | description::BlockReading::Block(_) => {
            match outbox::removed_again(summary, obs) {
                Some(why) => BlockState::RemovedAgain(why),
                None => BlockState::Fine,
            }
        }
    }
}

/// Maps every inline comment's place to the head, through the real diff from the commit it was made on.
fn locate_all(ports: &Ports<'_>, obs: &Observation) -> Result<BTreeMap<FindingId, Located>, EngineError> {
    let mut diffs: BTreeMap<Sha, Option<Vec<FileDiff>>> = BTreeMap::new();
    let mut located = BTreeMap::new();
    let head = &obs.pr.head;
    if !ports.tree.fetch(head)? {
        return Ok(located);
    }
    for comment in obs.comments.iter().filter(|comment| comment.in_reply_to.is_none()) {
        let Some((place, made_on)) = place_of(comment) else { continue };
        if !diffs.contains_key(&made_on) {
            let known = &made_on == head || ports.tree.fetch(&made_on)?;
            let diff = if known { Some(ports.tree.diff(&made_on, head)?) } else { None };
            diffs.insert(made_on.clone(), diff);
        }
        let found = match diffs.get(&made_on).and_then(Option::as_ref) {
            None => Located::Unsure { because: format!("commit {} is not available here", made_on.short()) },
            Some(diff) => locate(ports, &place, diff, &made_on, head)?,
        };
        located.insert(FindingId::Inline(comment.id), found);
    }
    Ok(located)
}

fn locate(ports: &Ports<'_>, place: &Place, diff: &[FileDiff], made_on: &Sha, head: &Sha) -> Result<Located, EngineError> {
    let Ok(path) = RepoPath::from_outside(&place.path) else {
        return Ok(Located::Unsure { because: "its path is not a path of the repository".to_owned() });
    };
    let text = |sha: &Sha, path: &RepoPath| -> Result<Option<String>, EngineError> {
        let bytes = ports.tree.file_at(sha, path)?;
        Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    };
    let untouched = !diff.iter().any(|file| file.old_path.as_ref() == Some(&path) || file.new_path.as_ref() == Some(&path));
    let now_path = diff.iter().find(|file| file.old_path.as_ref() == Some(&path)).and_then(|file| file.new_path.clone());
    let then = text(made_on, &path)?;
    let now = text(head, now_path.as_ref().unwrap_or(&path))?;
    if untouched && then.is_some() {
        return Ok(Located::There { path: place.path.clone(), line: place.line, start_line: place.start_line });
    }
    Ok(anchor::locate(place, diff, then.as_deref(), &|wanted: &RepoPath| {
        if wanted == now_path.as_ref().unwrap_or(&path) { now.clone() } else { None }
    }))
}

fn place_of(comment: &Comment) -> Option<(Place, Sha)> {
    let anchor = comment.anchor.as_ref()?;
    let made_on = anchor.original_commit.clone()?;
    let place = Place {
        path: anchor.path.clone(),
        line: anchor.original_line.or(anchor.line),
        start_line: anchor.original_start_line.or(anchor.start_line),
        side: anchor.side,
        whole_file: anchor.whole_file,
    };
    Some((place, made_on))
}
