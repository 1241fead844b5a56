//! Answers that come from outside a round: an agent's `resolve`, a person's choices. Judged like an editor's, recorded before
//! anything leaves, posted and read back like everything else. The caller holds the lock.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::post::{self, Posted};
use super::survey::{self, Survey, places_now};
use super::{EngineError, Ports, Setup, briefing, followup, reprove};
use crate::ports::{Depth, Held};
use crate::review::absorb;
use crate::review::anchor::Place;
use crate::review::comment::{AccountKind, Side};
use crate::review::decision::{Decision, PlanDraft, Verb};
use crate::review::disarm::one_line;
use crate::review::ids::{FindingId, RepoPath, Sha};
use crate::review::judge::{self, Answered, Judged, ParsedDecisions};
use crate::review::outbox;
use crate::review::status::Status;
use crate::review::summary::{Entry, Pending, Proof, Summary, WriteState};

pub use super::followup::Drafted;

/// Times that what was posted is read back and what that makes owed is posted too.
const TURNS: u32 = 5;
/// Tries of one post that surely did not leave.
const TRIES: u32 = 3;

/// One answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// The finding.
    pub id: FindingId,
    /// The answer.
    pub decision: Verb,
    /// Reason; empty for a fix.
    pub reason: String,
    /// For a fix: the commit that is claimed.
    pub commit: Option<Sha>,
    /// For a fix: other places that were changed.
    pub places: Vec<String>,
    /// For a follow-up: its plan.
    pub plan: Option<PlanDraft>,
}

/// What became of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Took {
    /// It stands, until its effects are proved or read back.
    Accepted,
    /// It was given before; nothing is done twice.
    Already(String),
    /// It is kept as a draft for a person.
    Draft,
    /// Only a person can go on with this finding.
    Person(String),
    /// It does not stand, and why.
    Refused(String),
}

/// Who answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// A program: it never argues with a person by itself, and leaves alone what waits for one.
    Program,
    /// A person at the keyboard.
    Person,
}

/// Judges answers and records them: all of them, or none where one does not stand.
pub fn record(
    ports: &Ports<'_>,
    setup: &Setup<'_>,
    summary: &mut Summary,
    survey: &Survey,
    said: &[Said],
    by: By,
) -> Result<Vec<(FindingId, Took)>, EngineError> {
    let mut took: BTreeMap<FindingId, Took> = BTreeMap::new();
    let mut judged: Vec<Judged> = Vec::new();
    let (mut words, mut fixes) = (Vec::new(), Vec::new());
    for answer in said {
        let Some(entry) = summary.comments.get(&answer.id) else {
            took.insert(answer.id, Took::Refused("there is no such finding".to_owned()));
            continue;
        };
        let lost = answer.decision == Verb::Defer && plan_lost(ports, entry)?;
        match before(summary, entry, answer, by, lost) {
            Some(already) => drop(took.insert(answer.id, already)),
            None if answer.decision == Verb::Fix => fixes.push(answer),
            None => words.push(answer),
        }
    }
    for answer in fixes {
        let answered = match claim(ports, summary, survey, answer)? {
            Ok((place, commit)) => {
                Answered::Accepted(Pending { commit: Some(commit), ..Pending::new(Verb::Fix, place, 0) })
            }
            Err(why) => Answered::Refused(why),
        };
        judged.push(Judged { id: answer.id, answer: answered });
    }
    judged.extend(judge_words(ports, setup, summary, survey, &words, by)?);
    for one in &judged {
        let word = match &one.answer {
            Answered::Accepted(_) => Took::Accepted,
            Answered::Draft(_) => Took::Draft,
            Answered::Refused(why) => Took::Refused(why.clone()),
        };
        took.insert(one.id, word);
    }
    if !took.values().any(|took| matches!(took, Took::Refused(_) | Took::Person(_))) {
        apply(summary, &judged, by);
        // A commit that is on the remote already proves its claim in this reading.
        survey::digest(ports, setup, summary, survey.obs.clone(), survey.depth)?;
    }
    Ok(said.iter().filter_map(|answer| Some((answer.id, took.get(&answer.id)?.clone()))).collect())
}

/// Tells whether an answer needs no judging: it was given before, or cannot be given now.
///
/// One answer stands for each version of a finding (R25), and nothing is dropped in silence. So the same answer again does
/// nothing (R10). Another reason takes the place of one that was not sent: of a draft that waits for a person too. Once
/// the text has left, or has settled the finding, another one is refused: the posted one stays, and a comeback of the
/// reviewer opens the finding for a new answer under a key of its own (R12). A written plan is edited, not written twice.
fn before(summary: &Summary, entry: &Entry, answer: &Said, by: By, plan_lost: bool) -> Option<Took> {
    let (status, waits) = (entry.finding.status, entry.finding.needs_person);
    if status.settled() {
        let word = format!("it is {status} already");
        return Some(match (status == settles(answer.decision), said_before(entry, answer)) {
            (false, _) => Took::Refused(word),
            (true, true) => Took::Already(word),
            (true, false) => Took::Refused(format!("{word}, with another reason; {ANEW}")),
        });
    }
    let drafted = entry.pending.as_ref().filter(|pending| pending.verb == answer.decision);
    match drafted.map(|pending| (pending, given(summary, pending, answer, plan_lost))) {
        Some((_, Given::Same)) if waits && by == By::Program => return Some(Took::Draft),
        Some((_, Given::Same)) if waits => {}
        Some((pending, Given::Same)) => {
            return Some(Took::Already(format!("`{}` is under way already", pending.verb.as_str())));
        }
        Some((_, Given::Fixed(why))) => return Some(Took::Refused(why)),
        // A person has not sent the draft yet: a better one may take its place.
        Some((_, Given::Other)) if waits && entry.finding.author_kind == AccountKind::Person => return None,
        Some((_, Given::Other)) | None => {}
    }
    (waits && by == By::Program && answer.decision != Verb::Fix).then(|| Took::Person(entry.finding.why.clone()))
}

/// What to do instead of answering twice.
const ANEW: &str = "one answer stands for each version of a finding: say more in its thread yourself, or answer anew when its reviewer comes back";

/// How an answer is to one that is under way.
enum Given {
    /// It is that one.
    Same,
    /// It is another one, and that one was not sent.
    Other,
    /// It is another one, and that one stays; why.
    Fixed(String),
}

fn given(summary: &Summary, pending: &Pending, answer: &Said, plan_lost: bool) -> Given {
    let reasoned = same_text(&pending.reason, &answer.reason);
    let out = || is_out(summary, pending);
    let posted = || Given::Fixed(format!("`{}` is posted already, with another reason; {ANEW}", pending.verb.as_str()));
    match answer.decision {
        Verb::Fix if pending.commit == answer.commit => Given::Same,
        Verb::Fix => Given::Other,
        Verb::Stale => Given::Same,
        Verb::Argue | Verb::Answer if reasoned => Given::Same,
        Verb::Argue | Verb::Answer if out() => posted(),
        Verb::Argue | Verb::Answer => Given::Other,
        Verb::Defer if plan_lost => Given::Other,
        Verb::Defer if reasoned && answer.plan.as_ref().is_none_or(|plan| Some(plan) == pending.plan.as_ref()) => {
            Given::Same
        }
        Verb::Defer if out() => posted(),
        Verb::Defer => match &pending.file {
            None => Given::Other,
            Some(file) => Given::Fixed(format!(
                "its plan is {file} already, with another reason or other steps: edit that file, or delete it before it is \
                 committed and answer again"
            )),
        },
    }
}

/// Tells whether the answer of a settled finding is this one. What was settled without words has no other reason.
fn said_before(entry: &Entry, answer: &Said) -> bool {
    match (answer.decision, &entry.proof) {
        (Verb::Fix | Verb::Stale, _) => true,
        (_, Some(Proof::Reply { reason, .. } | Proof::Plan { reason, .. })) => {
            reason.is_empty() || same_text(reason, &answer.reason)
        }
        (
            _,
            Some(
                Proof::Commit { .. }
                | Proof::AnchorGone { .. }
                | Proof::Reviewer { .. }
                | Proof::Person { .. }
                | Proof::Listed
                | Proof::SameAs { .. }
                | Proof::Deleted,
            )
            | None,
        ) => true,
    }
}

/// Tells whether two texts are one, once they are written as they are posted.
fn same_text(one: &str, other: &str) -> bool {
    one_line(one) == one_line(other)
}

/// Tells whether the plan of a follow-up was deleted before any commit held it.
fn plan_lost(ports: &Ports<'_>, entry: &Entry) -> Result<bool, EngineError> {
    let pending = entry.pending.as_ref().filter(|pending| pending.verb == Verb::Defer && pending.commit.is_none());
    let Some(path) = pending.and_then(|pending| RepoPath::from_outside(pending.file.as_deref()?).ok()) else {
        return Ok(false);
    };
    let here = ports.tree.picture()?;
    Ok(match here.files.get(&path) {
        Some(content) => content.is_none(),
        None => ports.tree.file_at(&here.head, &path)?.is_none(),
    })
}

fn settles(verb: Verb) -> Status {
    match verb {
        Verb::Fix => Status::Fixed,
        Verb::Argue => Status::Argued,
        Verb::Stale => Status::Stale,
        Verb::Defer => Status::Deferred,
        Verb::Answer => Status::Answered,
    }
}

/// Tells whether the text of a decision has left already.
fn is_out(summary: &Summary, pending: &Pending) -> bool {
    let Some(key) = &pending.key else { return false };
    let out = summary.outbox.iter().filter(|item| matches!(item.state, WriteState::Sent | WriteState::Done));
    out.flat_map(outbox::keys).any(|known| &known == key)
}

/// Judges a claimed fix: the commit is in this branch, younger than the finding, and touches its place as it was then.
fn claim(
    ports: &Ports<'_>,
    summary: &Summary,
    survey: &Survey,
    answer: &Said,
) -> Result<Result<(String, Sha), String>, EngineError> {
    let (Some(entry), Some(sha)) = (summary.comments.get(&answer.id), &answer.commit) else {
        return Ok(Err("`fix` needs the commit that fixes it".to_owned()));
    };
    let head = &survey.obs.pr.head;
    if !ports.tree.fetch(sha)? {
        return Ok(Err(format!("commit {} is neither here nor on the remote", sha.short())));
    }
    let local = ports.tree.facts()?.head;
    let here = ports.tree.is_ancestor(sha, &local)? == Some(true) || ports.tree.is_ancestor(sha, head)? == Some(true);
    let Some(parent) = ports.tree.parent(sha)?.filter(|_| here) else {
        return Ok(Err(format!("commit {} is not in this branch", sha.short())));
    };
    if let Some(why) = too_old(ports, summary, survey, entry, sha)? {
        return Ok(Err(why));
    }
    let made = absorb::places(summary, &survey.obs).into_iter().find(|(id, ..)| *id == answer.id);
    let mut origins: Vec<(Sha, Place)> = made.into_iter().map(|(_, made_on, place)| (made_on, place)).collect();
    origins.extend(at_head(entry).map(|place| (head.clone(), place)));
    let mut then = if origins.is_empty() { Some(entry.clone()) } else { None };
    for (origin, place) in origins {
        if then.is_none() && ports.tree.fetch(&origin)? && ports.tree.is_ancestor(&origin, &parent)? == Some(true) {
            then = reprove::at_parent(ports, entry, &origin, &place, &parent)?;
        }
    }
    let Some(then) = then.or_else(|| (!answer.places.is_empty()).then(|| without_lines(entry))) else {
        return Ok(Err(format!(
            "where its place is right before {} cannot be told; name what was changed with `--place PATH:LINE`",
            sha.short()
        )));
    };
    let diff = ports.tree.diff(&parent, sha)?;
    Ok(judge::touches(&then, &answer.places, &diff).map(|place| (place, sha.clone())))
}

/// Says why a commit cannot be the fix of a finding: it is none of this pull request's, or was there before the finding.
fn too_old(
    ports: &Ports<'_>,
    summary: &Summary,
    survey: &Survey,
    entry: &Entry,
    sha: &Sha,
) -> Result<Option<String>, EngineError> {
    let (tree, base) = (ports.tree, &survey.obs.pr.base_sha);
    if !tree.fetch(base)? || tree.is_ancestor(sha, base)? != Some(false) {
        return Ok(Some(format!("commit {} is none of this pull request's", sha.short())));
    }
    // What has no commit of its own was said about the head of its time, as far as that is remembered.
    let (channel, carrier) = (entry.finding.channel, entry.finding.id.carrier());
    let said = survey.obs.comments.iter().find(|comment| comment.channel == channel && comment.id == carrier);
    let then = said.and_then(|said| summary.heads.iter().rev().find(|head| head.since <= said.created_at));
    let mut known = entry.made_on.iter().chain(then.map(|head| &head.sha));
    let Some(about) = known.try_fold(None, |found: Option<&Sha>, one| match found {
        Some(found) => Ok(Some(found)),
        None => tree.fetch(one).map(|there| there.then_some(one)),
    })?
    else {
        return older(ports, summary, survey, said.map(|said| said.created_at), sha);
    };
    Ok((tree.is_ancestor(sha, about)? == Some(true)).then(|| {
        format!(
            "commit {} is no newer than the finding, which was made on {}: commit the fix first",
            sha.short(),
            about.short()
        )
    }))
}

/// Asks the clocks where no head of the time is remembered: of what stood there at the first look, only a commit made after
/// the finding can be its fix.
fn older(
    ports: &Ports<'_>,
    summary: &Summary,
    survey: &Survey,
    said: Option<Timestamp>,
    sha: &Sha,
) -> Result<Option<String>, EngineError> {
    let (Some(said), Some(first)) = (said, summary.heads.first()) else { return Ok(None) };
    if !ports.tree.fetch(&first.sha)? || ports.tree.is_ancestor(sha, &first.sha)? != Some(true) {
        return Ok(None);
    }
    let own = ports.tree.commits(&survey.obs.pr.base_sha, sha)?;
    let made = own.iter().find(|commit| commit.sha == *sha).map(|commit| commit.at);
    Ok(made.filter(|made| *made <= said).map(|made| {
        format!("commit {} ({made}) is no newer than the finding ({said}): commit the fix first", sha.short())
    }))
}

/// The place of a finding as it is mapped to the head.
fn at_head(entry: &Entry) -> Option<Place> {
    Some(Place {
        path: RepoPath::from_outside(entry.finding.path.as_deref()?).ok()?,
        start_line: entry.start_line,
        line: entry.finding.line,
        side: entry.finding.side.unwrap_or(Side::Right),
        whole_file: entry.whole_file,
    })
}

/// A finding whose own place is out of reach: only a place that its answer names can be touched.
fn without_lines(entry: &Entry) -> Entry {
    let mut entry = entry.clone();
    (entry.finding.path, entry.finding.line, entry.start_line) = (None, None, None);
    entry
}

fn judge_words(
    ports: &Ports<'_>,
    setup: &Setup<'_>,
    summary: &Summary,
    survey: &Survey,
    words: &[&Said],
    by: By,
) -> Result<Vec<Judged>, EngineError> {
    let ids: Vec<FindingId> = words.iter().map(|answer| answer.id).collect();
    let entries: Vec<&Entry> = ids.iter().filter_map(|id| summary.comments.get(id)).collect();
    let around = briefing::lookups(ports, survey, &entries, &survey.obs.pr.head)?;
    let places = places_now(ports, summary, survey, &ids)?;
    let unknown = judge::PlaceNow::Unsure("it was not looked for".to_owned());
    let decision = |answer: &&Said| Decision {
        id: answer.id,
        decision: answer.decision,
        reason: answer.reason.clone(),
        places: answer.places.clone(),
        plan: answer.plan.clone(),
    };
    let parsed = ParsedDecisions { decisions: words.iter().map(decision).collect(), problems: Vec::new() };
    let facts = judge::RoundFacts {
        round: 0,
        commit: None,
        diff: &[],
        people_argue: by == By::Person || setup.policy.people_argue,
        code: &|entry| around.get(&entry.finding.id).map(|around| around.code.clone()).unwrap_or_default(),
        place: &|entry| places.get(&entry.finding.id).cloned().unwrap_or(unknown.clone()),
    };
    Ok(judge::judge(summary, &ids, &parsed, facts))
}

fn apply(summary: &mut Summary, judged: &[Judged], by: By) {
    for one in judged {
        let old = summary.comments.get(&one.id).and_then(|entry| entry.pending.as_ref()?.key.clone());
        if let Some(key) = old
            && summary.outbox.iter().any(|item| item.key == key && item.state == WriteState::Planned)
        {
            outbox::drop_item(summary, &key, "it was answered anew");
        }
        if by == By::Person
            && let Some(entry) = summary.comments.get_mut(&one.id)
        {
            entry.finding.needs_person = false;
        }
    }
    judge::apply(summary, judged);
}

/// Writes the follow-up plans of these findings into the worktree, for whoever answers to commit. Returns finding and file.
pub fn write_plans(
    ports: &Ports<'_>,
    setup: &Setup<'_>,
    summary: &mut Summary,
    ids: &[FindingId],
) -> Result<Vec<(FindingId, String)>, EngineError> {
    let owed: Vec<(FindingId, Pending)> =
        followup::owed(summary).into_iter().filter(|(id, _)| ids.contains(id)).collect();
    let mut files = Vec::new();
    for (id, path) in followup::write(ports, setup, summary, &owed)? {
        let Some(pending) = summary.comments.get_mut(&id).and_then(|entry| entry.pending.as_mut()) else { continue };
        pending.file = Some(path.to_string());
        files.push((id, path.to_string()));
    }
    Ok(files)
}

/// Drafts the follow-up plans that are owed, for a dry run; the replies that link them are planned after this.
pub fn draft_plans(ports: &Ports<'_>, setup: &Setup<'_>, copy: &mut Summary) -> Result<Vec<Drafted>, EngineError> {
    followup::draft(ports, setup, copy)
}

/// Why posting stopped before its end. What is owed is remembered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stopped {
    /// The forge could not be reached.
    NotSent(String),
    /// The forge takes no posts before then.
    Limited(Timestamp),
    /// The account lacks a right.
    Forbidden(String),
    /// A signal.
    Interrupted,
}

/// Posts everything that is owed, reads it back, and posts what that makes owed. Returns the last look.
pub fn post_all(
    ports: &Ports<'_>,
    setup: &Setup<'_>,
    held: &Held,
    summary: &mut Summary,
    survey: Survey,
) -> Result<(Survey, Option<Stopped>), EngineError> {
    let mut survey = survey;
    for turn in 0..TURNS {
        outbox::plan(summary, &survey.obs, &survey.notes, setup.policy);
        ports.store.save(held, summary)?;
        if let Some(stopped) = post_planned(ports, held, summary)? {
            return Ok((survey, Some(stopped)));
        }
        if !summary.outbox.iter().any(|item| item.state == WriteState::Sent) {
            break;
        }
        if turn > 0 {
            // What was posted and is not readable yet is no reason to hurry.
            ports.clock.sleep(setup.poll_min);
        }
        survey = survey::survey(ports, setup, summary, Depth::Full)?;
        ports.store.save(held, summary)?;
    }
    Ok((survey, None))
}

fn post_planned(ports: &Ports<'_>, held: &Held, summary: &mut Summary) -> Result<Option<Stopped>, EngineError> {
    let mut tries: BTreeMap<String, u32> = BTreeMap::new();
    let mut done: BTreeSet<String> = BTreeSet::new();
    while let Some(key) = outbox::next(summary).map(|item| item.key.clone()) {
        if ports.clock.interrupted() {
            return Ok(Some(Stopped::Interrupted));
        }
        match post::post(ports, held, summary, &key)? {
            // What was tried and is still planned waits for a reading.
            Posted::Tried if done.contains(&key) => return Ok(None),
            Posted::Tried => drop(done.insert(key)),
            Posted::NotSent(why) => {
                let tried = tries.entry(key).or_insert(0);
                *tried += 1;
                if *tried >= TRIES {
                    return Ok(Some(Stopped::NotSent(why)));
                }
            }
            Posted::Limited(until) => return Ok(Some(Stopped::Limited(until))),
            Posted::Forbidden(why) => return Ok(Some(Stopped::Forbidden(why))),
        }
    }
    Ok(None)
}
