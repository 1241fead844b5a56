//! What must hold after every run, kill or not.

use std::collections::{BTreeMap, BTreeSet};

use pushback::engine::EngineError;
use pushback::engine::rounds::RunEnd;
use pushback::review::comment::{Channel, Comment};
use pushback::review::description::{self, BlockReading};
use pushback::review::ids::FindingId;
use pushback::review::marker;
use pushback::review::severity::Severity;
use pushback::review::status::Status;
use pushback::review::summary::{Entry, Proof, RoundOutcome, StopReason, Summary, WriteKind};

use super::ports::Shared;
use super::voices;
use super::world::{World, is_ours};

type End<'a> = Option<&'a Result<RunEnd, EngineError>>;

fn no_double_post(world: &World, seed: u64) {
    let mut seen = BTreeMap::new();
    for comment in world.comments.iter().filter(|comment| is_ours(comment)) {
        let markers = marker::parse_all(&comment.body);
        assert!(!markers.is_empty(), "seed {seed}: a comment of ours without a marker: {}", comment.body);
        for marker in markers {
            *seen.entry(marker.key().to_owned()).or_insert(0) += 1;
        }
    }
    let twice: Vec<_> = seen.iter().filter(|(_, count)| **count > 1).collect();
    assert!(twice.is_empty(), "seed {seed}: posted twice: {twice:?}");
}

fn no_argued_p1(world: &World, seed: u64) {
    for comment in world.comments.iter().filter(|comment| is_ours(comment)) {
        let words = |kind: WriteKind| matches!(kind, WriteKind::Argue | WriteKind::Defer | WriteKind::Answer);
        let said = marker::parse_all(&comment.body).into_iter().filter(|marker| words(marker.kind()));
        for marker in said {
            // A person may have graded it lower before.
            let graded = world.comments.iter().any(|other| {
                Some(other.id) <= Some(comment.id)
                    && other.in_reply_to == marker.finding().map(|id| id.carrier())
                    && other.body.contains("regrade P3")
            });
            if graded {
                continue;
            }
            let carrier = world.comments.iter().find(|other| {
                other.channel == Channel::Inline && Some(other.id) == marker.finding().map(|id| id.carrier())
            });
            let p1 = carrier.is_some_and(|carrier| voices::is_p1(&carrier.body));
            assert!(!p1, "seed {seed}: a P1 was argued: {}", comment.body);
        }
    }
}

/// Outside our block every byte is theirs; around it only line ends are ours.
fn people_keep_their_text(world: &World, seed: u64) {
    let (before, after) = match (world.body.find("<!-- pushback:begin 1 -->"), world.body.find("<!-- pushback:end -->"))
    {
        (Some(from), Some(to)) => (&world.body[..from], &world.body[to + "<!-- pushback:end -->".len()..]),
        (None, None) => (world.body.as_str(), ""),
        (_, _) => panic!("seed {seed}: half a block: {}", world.body),
    };
    let ends = |text: &str| text.chars().all(|c| matches!(c, '\r' | '\n'));
    let kept = before.strip_prefix(world.before.as_str()).is_some_and(ends)
        && after.strip_suffix(world.after.as_str()).is_some_and(ends);
    assert!(kept, "seed {seed}: the description lost text: {}", world.body);
}

/// Only what surely reached no editor, or was cut off, may be sent again.
fn no_brief_twice(world: &World, seed: u64) {
    let mut seen = BTreeSet::new();
    for (at, sent) in world.briefs.iter().enumerate() {
        let brief = (sent.machine, &sent.text);
        assert!(!seen.contains(&brief), "seed {seed}: brief {at} was sent twice: {brief:?}");
        if !sent.excused {
            seen.insert(brief);
        }
    }
}

/// Tells whether the description shows a reason. A key among the counters, where keys stand that were restored once, is no line.
fn listed(world: &World, key: &str) -> bool {
    match description::read(&world.body) {
        BlockReading::Block(block) => block.lines.get(key).is_some_and(|text| !text.is_empty()),
        BlockReading::Absent | BlockReading::Broken(_) => false,
    }
}

/// A claim that came back is told by its newest form.
fn told_by_newer(world: &World, summary: &Summary, id: FindingId) -> bool {
    let newer = summary.comments.values().filter(|entry| entry.finding.previous.contains(&id));
    newer.into_iter().any(|entry| {
        let key = match (&entry.proof, &entry.pending) {
            (Some(Proof::Reply { key, .. } | Proof::Plan { key, .. }), _) => Some(key.clone()),
            (_, Some(pending)) => pending.key.clone(),
            (_, None) => None,
        };
        key.is_some_and(|key| listed(world, &key))
    })
}

/// Says what of a settled finding's proof is not there in the world.
fn unproved(world: &World, summary: &Summary, entry: &Entry) -> Option<String> {
    let p1 = entry.finding.severity == Severity::P1;
    let id = entry.finding.id;
    match (&entry.finding.status, &entry.proof) {
        (Status::Fixed, Some(Proof::Commit { sha, .. })) => (!world.repo.is_ancestor(sha, &world.repo.remote))
            .then(|| "fixed by a commit that is not pushed".to_owned()),
        (Status::Argued, Some(Proof::Reply { .. })) if p1 => Some("a P1 and argued".to_owned()),
        (Status::Deferred, Some(Proof::Plan { .. })) if p1 => Some("a P1 and deferred".to_owned()),
        (Status::Argued, Some(Proof::Reply { comment_id, key, reason })) => {
            unread(world, summary, entry, (*comment_id, key, reason))
        }
        (Status::Deferred, Some(Proof::Plan { path, comment_id, key, .. })) => {
            let files = world.repo.at(&world.repo.remote);
            let named = files.get(path).is_some_and(|plan| plan.split_whitespace().any(|word| word == id.to_string()));
            if !named {
                return Some("deferred without a plan for it in the branch".to_owned());
            }
            unread(world, summary, entry, (*comment_id, key, path))
        }
        (status, None) => Some(format!("{status} without a proof")),
        (_, Some(_)) => None,
    }
}

const UNLISTED: &str = " without a line in the description";

/// R5: words count only in the thread and in the description. Nothing is left to say where the thread is gone.
fn unread(world: &World, summary: &Summary, entry: &Entry, (comment, key, says): (u64, &str, &str)) -> Option<String> {
    let carrier = entry.thread.unwrap_or_default();
    if !world.comments.iter().any(|comment| comment.id == carrier) || world.deleted.contains(&comment) {
        return None;
    }
    let said = |body: &str| body.contains(key) && body.contains(says);
    if !world.comments.iter().any(|other| other.id == comment && is_ours(other) && said(&other.body)) {
        return Some(format!("{} without a reply that says so", entry.finding.status));
    }
    let listed = world.rows_removed || self::listed(world, key) || told_by_newer(world, summary, entry.finding.id);
    (!listed).then(|| format!("{}{UNLISTED}", entry.finding.status))
}

/// Whatever is stored as settled for the first time is proved in the world at that moment.
pub(crate) fn stored(world: &World, summary: &Summary) {
    // A P1 whose comment was deleted waits for a person, from the moment its end is known.
    for n in &world.orphans {
        let about = format!("defect {n} ");
        let gone = |entry: &&Entry| entry.finding.status == Status::Gone && entry.text.contains(&about);
        let let_go = summary.comments.values().filter(gone).find(|entry| !entry.finding.needs_person);
        assert!(let_go.is_none(), "stored: P1 {:?} was deleted and waits for nobody", let_go.map(|e| e.finding.id));
    }
    for entry in summary.comments.values() {
        let before = world.state.as_ref().and_then(|state| state.comments.get(&entry.finding.id));
        let new = entry.history.iter().skip(before.map_or(0, |before| before.history.len()));
        // R8: what the history calls fixed was on the remote then, whatever became of it in the same moment.
        for word in new.filter(|new| new.to == Status::Fixed).filter_map(|new| new.why.strip_prefix("fixed by ")) {
            let short = word.split(' ').next().unwrap_or_default();
            let pushed = world
                .repo
                .commits
                .keys()
                .any(|sha| sha.as_str().starts_with(short) && world.repo.is_ancestor(sha, &world.repo.remote));
            assert!(pushed, "stored: {} was fixed by {short}, which is not pushed", entry.finding.id);
        }
    }
    for entry in summary.comments.values().filter(|entry| entry.finding.status.settled()) {
        let known = world.state.as_ref().and_then(|state| state.comments.get(&entry.finding.id));
        if known.is_some_and(|known| known.finding.status == entry.finding.status && known.proof == entry.proof) {
            continue;
        }
        let wrong = unproved(world, summary, entry);
        assert!(wrong.is_none(), "stored: {} is {}", entry.finding.id, wrong.unwrap_or_default());
    }
}

/// After a run that looked, every proof holds, and nobody has objected to what settles in words.
fn proofs_hold(world: &World, end: End<'_>, seed: u64) {
    let Some(Ok(end)) = end else { return };
    let Some(survey) = &end.survey else { return };
    for entry in end.summary.comments.values().filter(|entry| entry.finding.status.settled()) {
        let wrong = unproved(world, &end.summary, entry);
        // Another machine may have told a claim by a newer form of it that this one has only now seen. Where the pull request
        // has ended, nobody may write the line again: then the run has to know that it is missing, and shows it (R24).
        let ended = matches!(end.reason, StopReason::Merged | StopReason::Closed);
        if ended && wrong.as_deref().is_some_and(|wrong| wrong.ends_with(UNLISTED)) {
            let read = description::read(&survey.obs.pr.body);
            let known = description::missing(&end.summary, &read).contains(&entry.finding.id);
            assert!(known, "seed {seed}: nobody knows that the reason of {} is not there", entry.finding.id);
            continue;
        }
        assert!(wrong.is_none(), "seed {seed}: {} is {}", entry.finding.id, wrong.unwrap_or_default());
        let (Status::Argued | Status::Deferred | Status::Answered, Some(proof)) = (entry.finding.status, &entry.proof)
        else {
            continue;
        };
        let (Proof::Reply { comment_id, .. } | Proof::Plan { comment_id, .. }) = proof else { continue };
        let against = world.objections.iter().find(|objection| {
            Some(objection.root) == entry.thread && objection.id > *comment_id && objection.at <= survey.obs.at
        });
        let stands = world.comments.iter().any(|comment| Some(comment.id) == entry.thread);
        assert!(
            against.is_none() || !stands,
            "seed {seed}: {} is {} by comment {comment_id}, against which {against:?} was said",
            entry.finding.id,
            entry.finding.status
        );
    }
}

fn no_lost_finding(world: &World, end: End<'_>, seed: u64) {
    let Some(Ok(end)) = end else { return };
    if end.survey.is_none() {
        return;
    }
    let known: BTreeSet<u64> = end.summary.comments.keys().map(|id| id.carrier()).collect();
    let looked = end.survey.as_ref().map(|survey| survey.obs.at);
    for comment in world.comments.iter().filter(|comment| comment.channel == Channel::Inline && !is_ours(comment)) {
        if Some(comment.created_at) < looked && comment.in_reply_to.is_none() {
            assert!(known.contains(&comment.id), "seed {seed}: comment {} was lost", comment.id);
        }
    }
}

/// A settled run is checked against the world, not against what the program thinks.
fn settled_is_true(world: &World, end: End<'_>, seed: u64) {
    let Some(Ok(end)) = end else { return };
    if end.reason != StopReason::Settled {
        return;
    }
    let open: Vec<_> = end.summary.open_blocking().map(|entry| entry.finding.id).collect();
    assert!(open.is_empty(), "seed {seed}: settled with an open P1/P2: {open:?}");
    let files = world.repo.at(&world.repo.remote);
    assert!(!files.get("spec.txt").is_some_and(|text| text.contains("RED")), "seed {seed}: settled with red tests");
    let head = &world.repo.remote;
    let seen = |name: &str| world.reviewed.get(name).is_some_and(|heads| heads.contains(head));
    assert!(world.bots.iter().any(|name| seen(name)), "seed {seed}: settled although nobody has reviewed the head");
    let waited = world.now.duration_since(world.pushed_at[head]).as_secs();
    for name in world.bots.iter().filter(|name| !seen(name)) {
        assert!(waited >= 7200, "seed {seed}: settled although {name} has not reviewed the head ({waited} s)");
    }
    if world.ci {
        let green = world.checks.get(head).is_some_and(|(end, green)| *green && *end <= world.now);
        assert!(green, "seed {seed}: ready without green checks");
    }
    for defect in &world.defects {
        let there = files.get(&defect.path).is_some_and(|text| text.contains(&format!("DEFECT {})", defect.n)));
        if !there || matches!(defect.level, "P3" | "nit") {
            continue;
        }
        // A reviewer that was silent on this head until its time was over has neither named nor repeated anything.
        if world.forgiven.contains(&defect.n)
            || world.decided.contains(&defect.n)
            || !world.reported.contains(&defect.n)
            || !seen(defect.bot)
        {
            continue;
        }
        let threads = threads_about(world, defect.n);
        // Nobody can know of a comment that was gone before he looked; who knew of a P1 is asked below.
        if threads.is_empty() {
            continue;
        }
        // A person's word stands as long as the thread does that he resolved.
        let closed = |root: &u64| {
            world
                .threads
                .iter()
                .any(|t| t.root == *root && t.resolved && t.resolved_by.as_ref().is_some_and(|by| by.as_str() == "ann"))
        };
        if defect.level == "P2" && threads.iter().any(closed) {
            continue;
        }
        assert!(defect.level == "P2", "seed {seed}: settled with P1 defect {} in the head", defect.n);
        let looked = end.survey.as_ref().map(|survey| survey.obs.at);
        let argued = threads.iter().any(|root| answered_in_words(world, *root, looked));
        assert!(argued, "seed {seed}: settled with P2 defect {} neither fixed, argued nor deferred", defect.n);
    }
    let there = |n: &&u32| files.values().any(|text| text.contains(&format!("DEFECT {n})")));
    let orphan = world.orphans.iter().find(there);
    assert!(orphan.is_none(), "seed {seed}: settled although the comment of P1 defect {orphan:?} was deleted");
}

fn threads_about(world: &World, n: u32) -> Vec<u64> {
    let roots = world.comments.iter().filter(|c| c.channel == Channel::Inline && c.in_reply_to.is_none());
    roots.filter(|comment| comment.body.contains(&format!("defect {n} "))).map(|comment| comment.id).collect()
}

/// Tells whether an answer of ours stands in a thread and in the description, with nothing said against it since.
fn answered_in_words(world: &World, root: u64, looked: Option<jiff::Timestamp>) -> bool {
    let against =
        |reply: &Comment| world.objections.iter().any(|o| o.root == root && o.id > reply.id && Some(o.at) <= looked);
    let ours = world.comments.iter().filter(|comment| comment.in_reply_to == Some(root) && is_ours(comment));
    ours.filter(|reply| !against(reply)).flat_map(|reply| marker::parse_all(&reply.body)).any(|marker| {
        matches!(marker.kind(), WriteKind::Argue | WriteKind::Defer)
            && (world.rows_removed || listed(world, marker.key()))
    })
}

/// Only commands of those who may are acknowledged.
fn only_commands_are_acknowledged(world: &World, seed: u64) {
    let others: Vec<_> = world.reacted.difference(&world.commanded).collect();
    assert!(others.is_empty(), "seed {seed}: reacted to {others:?}");
}

/// Checks everything that must hold after a run.
pub(crate) fn check(world: &Shared, end: End<'_>, seed: u64) {
    let world = world.borrow();
    no_double_post(&world, seed);
    no_argued_p1(&world, seed);
    only_commands_are_acknowledged(&world, seed);
    people_keep_their_text(&world, seed);
    no_brief_twice(&world, seed);
    no_lost_finding(&world, end, seed);
    settled_is_true(&world, end, seed);
    proofs_hold(&world, end, seed);
    the_branch_is_sound(&world, seed);
}

/// What an editor must not do reaches no branch: rewritten history, dropped tests.
fn the_branch_is_sound(world: &World, seed: u64) {
    let repo = &world.repo;
    assert!(!repo.at(&repo.remote).contains_key("dropped-a-test.txt"), "seed {seed}: a dropped test was pushed");
    let mut at = Some(repo.remote.clone());
    while let Some(commit) = at.and_then(|sha| repo.commits.get(&sha)) {
        assert!(commit.message != "history made nicer", "seed {seed}: rewritten history was pushed");
        at = commit.parent.clone();
    }
}

/// A person brings his clone up to date.
pub(crate) fn pull(world: &Shared) {
    let mut world = world.borrow_mut();
    let remote = world.repo.remote.clone();
    let head = world.repo.head.clone();
    // Where the program was killed, nobody but a person can tell an editor's rewritten history from his own.
    if world.repo.commits[&head].message == "history made nicer" {
        (world.repo.files, world.repo.head) = (world.repo.at(&remote).clone(), remote);
    } else if world.repo.is_ancestor(&world.repo.head.clone(), &remote) {
        let clean = world.repo.files == *world.repo.at(&world.repo.head.clone());
        if clean {
            world.repo.files = world.repo.at(&remote).clone();
            world.repo.head = remote;
        }
    }
}

/// Tells whether running again can change nothing. An editor that fell over twice may work in the next run.
pub(crate) fn at_rest(end: End<'_>) -> bool {
    let last = |end: &RunEnd| end.summary.rounds.last().map(|round| round.outcome);
    let fell = |end: &RunEnd| end.reason == StopReason::NoProgress && last(end) == Some(RoundOutcome::Environment);
    !matches!(end, Some(Ok(end)) if fell(end))
        && matches!(end, Some(Ok(end)) if !matches!(end.exit, 12 | 22) && !matches!(end.reason, StopReason::RejectedRound | StopReason::HeadMoved))
}

/// What others can see.
pub(crate) fn outside(world: &Shared) -> (Vec<(u64, String)>, String, String) {
    let world = world.borrow();
    let ours = world.comments.iter().filter(|comment| is_ours(comment)).map(|c| (c.id, c.body.clone())).collect();
    (ours, world.body.clone(), world.repo.remote.to_string())
}

/// A run at rest, run again, changes nothing outside and ends the same way.
pub(crate) fn final_state(world: &Shared, end: End<'_>, before: &(Vec<(u64, String)>, String, String), seed: u64) {
    match end {
        Some(Ok(end)) => {
            if end.exit != 12 && end.exit != 22 {
                assert_eq!(&outside(world), before, "seed {seed}: a second run changed something ({:?})", end.reason);
            }
        }
        Some(Err(error)) => panic!("seed {seed}: without faults a run failed: {error}"),
        None => panic!("seed {seed}: killed without a kill"),
    }
}

/// R13: who comes with nothing believes neither less of what was said than what is true, nor more.
pub(crate) fn known_again(world: &Shared, end: End<'_>, rebuilt: &Summary, seed: u64) {
    let Some(Ok(end)) = end else { return };
    let world = world.borrow();
    let resolved = |root: &u64| world.threads.iter().any(|thread| thread.root == *root && thread.resolved);
    for entry in end.summary.comments.values().filter(|entry| entry.finding.severity.blocks()) {
        let Some(again) = rebuilt.comments.get(&entry.finding.id) else { continue };
        let (was, is) = (entry.finding.status, again.finding.status);
        // Who resolved a thread has decided; when he did is not told.
        if entry.thread.as_ref().is_some_and(resolved) {
            continue;
        }
        let key = match &entry.proof {
            Some(Proof::Reply { key, .. } | Proof::Plan { key, .. }) => Some(key),
            Some(_) | None => None,
        };
        let (id, why) = (entry.finding.id, &again.finding.why);
        // A command that came too late for one state comes in time for another.
        let chain: Vec<u64> = entry.finding.previous.iter().map(|id| id.carrier()).chain(entry.thread).collect();
        let in_chain = |c: &&Comment| c.in_reply_to.is_some_and(|root| chain.contains(&root));
        let commanded = world.comments.iter().filter(in_chain).any(|c| world.commanded.contains(&c.id));
        // The description tells the newest form of a claim only.
        if !commanded && matches!(was, Status::Argued | Status::Deferred) && key.is_some_and(|key| listed(&world, key))
        {
            assert!(is.settled(), "seed {seed}: {id} is {was} and rebuilt as {is}: {why}");
        }
        let n = entry.text.split("defect ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap_or_default();
        // What a person decided, or a reviewer took back, holds for what comes again; a copy is as open as the other one.
        let number = n.parse().unwrap_or(u32::MAX);
        if world.decided.contains(&number) || world.forgiven.contains(&number) || is == Status::Duplicate {
            continue;
        }
        let mark = format!("DEFECT {n})");
        let there = world.repo.at(&world.repo.remote).values().any(|text| text.contains(&mark));
        // A fix that is claimed and only touches the place is for its reviewer to judge, who sees the head before a verdict.
        let disputed = entry.thread.is_some_and(|root| disputed(&world, root));
        if was == Status::Open && there && (is != Status::Fixed || disputed) {
            assert!(!is.settled(), "seed {seed}: {id} is open and rebuilt as {is}: {why}");
        }
    }
}

/// Tells whether the last word in a thread is somebody's who insists.
fn disputed(world: &World, root: u64) -> bool {
    let said = |id: u64| world.comments.iter().any(|comment| comment.id == id);
    let insists = world.objections.iter().filter(|o| o.root == root && said(o.id)).map(|o| o.id).max();
    let ours = world.comments.iter().filter(|c| c.in_reply_to == Some(root) && is_ours(c)).map(|c| c.id).max();
    insists > ours
}
