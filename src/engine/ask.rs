//! Questions of the commands that only look: heads, gate, what would be posted, what a run would do next.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::survey::{self, Survey};
use super::{EngineError, Ports, Setup, verify};
use crate::ports::{Forge, Worktree};
use crate::review::description::{self, BlockReading};
use crate::review::followup;
use crate::review::gate::{self, DescriptionReading, GateFacts, LocalHeads, RemoteTip};
use crate::review::ids::{FindingId, Sha};
use crate::review::next::Local;
use crate::review::observation::PullRequest;
use crate::review::outbox;
use crate::review::reviewers::{Proofs, ReviewerFacts};
use crate::review::status::Status;
use crate::review::step::{BlockState, RunFacts, Situation, Step, next_step, tests_at, unpushed};
use crate::review::summary::{Entry, StopReason, Summary, WriteKind, WriteState};
use crate::review::verdict::{Gate, Verdict};

/// Heads as this clone and its remote know them.
pub fn heads(tree: &dyn Worktree) -> Result<LocalHeads, EngineError> {
    Ok(LocalHeads { local: tree.facts()?.head, remote: tree.remote_head()?.into() })
}

/// Tells how a commit here stands to the pull request's head.
pub fn relation(tree: &dyn Worktree, here: &Sha, head: &Sha) -> Result<Local, EngineError> {
    if here == head {
        return Ok(Local::Same);
    }
    Ok(match (tree.is_ancestor(head, here)?, tree.is_ancestor(here, head)?) {
        (Some(true), _) => Local::Ahead,
        (_, Some(true)) => Local::Behind,
        (Some(false), Some(false)) => Local::Diverged,
        (Some(false) | None, _) => Local::Elsewhere,
    })
}

/// Judges the gate on what one look found; a bare reaction is proof only where the settings say so.
pub fn judge_gate(setup: &Setup<'_>, summary: &Summary, survey: &Survey, local: Option<&LocalHeads>) -> Gate {
    let reviewers = survey::judge_reviewers(setup, summary, &survey.obs, &survey.notes, Proofs::Gate);
    let block = description::read(&survey.obs.pr.body);
    let missing = description::missing(summary, &block);
    let required = description::required(summary);
    let description = DescriptionReading {
        reasons: required.iter().map(|(id, _)| (id.to_string(), Some(!missing.contains(id)))).collect(),
        problem: match &survey.block {
            BlockState::Fine => None,
            BlockState::Broken(why) | BlockState::RemovedAgain(why) => Some(why.clone()),
        },
    };
    let facts = ReviewerFacts::gather(&survey.obs, &survey.notes, summary, setup.rules, setup.policy);
    let reviewer_checks = facts.check_names();
    gate::judge(&GateFacts {
        obs: &survey.obs,
        notes: &survey.notes,
        summary,
        reviewers: &reviewers,
        local,
        description: &description,
        verified: tests_at(summary, &survey.obs.pr.head),
        head_same: true,
        reviewer_checks: &reviewer_checks,
        policy: setup.policy,
    })
}

/// Says which open pull requests stand on this one's branch: deleting it on merging closes them (FC-31).
pub fn stacked(forge: &dyn Forge, pr: &PullRequest) -> Option<String> {
    // A branch of a fork is nobody's base here.
    if pr.head_repo.as_ref().is_none_or(|head| !head.same(&pr.at.slug)) {
        return None;
    }
    let closes = "deleting the branch after merging closes it; give it another base first";
    match forge.stacked(&pr.head_branch) {
        Err(error) => Some(format!("whether other pull requests have this branch as their base is not known: {error}")),
        Ok(numbers) => {
            let names: Vec<String> =
                numbers.iter().filter(|n| **n != pr.at.number.0).map(|n| format!("#{n}")).collect();
            (!names.is_empty()).then(|| format!("{} has this branch as its base: {closes}", names.join(", ")))
        }
    }
}

/// Judges the gate for a run; ready is said only after the remote was asked for its tip, as `gate` does.
pub(super) fn judge_ready(
    tree: &dyn Worktree,
    setup: &Setup<'_>,
    (summary, survey): (&Summary, &Survey),
    local: &Sha,
    pushed: Option<&Sha>,
) -> Result<Gate, EngineError> {
    let judged = |remote| judge_gate(setup, summary, survey, Some(&LocalHeads { local: local.clone(), remote }));
    let gate = judged(pushed.cloned().map_or(RemoteTip::NotAsked, RemoteTip::At));
    if gate.verdict == Verdict::Ready { Ok(judged(tree.remote_head()?.into())) } else { Ok(gate) }
}

/// Runs the verifier on the head for `gate --verify` and records the result in the summary.
pub fn verify_head(
    ports: &Ports<'_>,
    setup: &Setup<'_>,
    summary: &mut Summary,
    survey: &Survey,
) -> Result<(), EngineError> {
    let commits = (&survey.obs.pr.base_sha, &survey.obs.pr.head);
    verify::verify(ports, setup, summary, commits, &mut BTreeSet::new())
}

/// Gathers what is shown with one finding.
pub fn around(tree: &dyn Worktree, survey: &Survey, entry: &Entry) -> Result<super::Around, EngineError> {
    super::briefing::around(tree, survey, entry, &survey.obs.pr.head)
}

/// Plans what would be posted now.
pub fn plan(setup: &Setup<'_>, summary: &mut Summary, survey: &Survey) {
    outbox::plan(summary, &survey.obs, &survey.notes, setup.policy);
}

/// What the pull request does not show as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unposted {
    /// Blocking findings that are fixed or stale, and whose thread or line in the description does not say so yet.
    pub settled: Vec<FindingId>,
    /// Lines of our block in the description that hold no more.
    pub outdated: usize,
}

/// Returns what a run or `resolve` would post about what is settled; plans on a copy.
pub fn unposted(setup: &Setup<'_>, summary: &Summary, survey: &Survey) -> Unposted {
    let mut copy = summary.clone();
    plan(setup, &mut copy, survey);
    let planned = || copy.outbox.iter().filter(|item| item.state == WriteState::Planned);
    let describes = planned().any(|item| item.kind == WriteKind::Describe);
    let lines = match description::read(&survey.obs.pr.body) {
        BlockReading::Block(block) => block.lines,
        BlockReading::Absent | BlockReading::Broken(_) => BTreeMap::new(),
    };
    let told = |kind: WriteKind| matches!(kind, WriteKind::Fixed | WriteKind::Stale | WriteKind::Resolve);
    let owes = |entry: &&Entry| {
        let id = entry.finding.id;
        let in_thread = planned().any(|item| told(item.kind) && item.findings.contains(&id));
        let line = description::line(entry).filter(|_| describes);
        in_thread || line.is_some_and(|line| !lines.contains_key(&line.key))
    };
    let over = |entry: &&Entry| {
        entry.finding.severity.blocks() && matches!(entry.finding.status, Status::Fixed | Status::Stale)
    };
    let wanted = description::wanted_keys(&copy);
    Unposted {
        settled: copy.comments.values().filter(over).filter(owes).map(|entry| entry.finding.id).collect(),
        outdated: if describes { lines.keys().filter(|key| !wanted.contains(*key)).count() } else { 0 },
    }
}

/// Says what a run would do next, for a dry run.
pub fn would_do(setup: &Setup<'_>, summary: &Summary, survey: &Survey, local: &Sha) -> String {
    let run = RunFacts { elapsed: Duration::ZERO, more: 0, until_ready: false, has_editor: true };
    let step = next_step(&Situation {
        summary,
        pr_state: survey.obs.pr.state,
        head: &survey.obs.pr.head,
        local,
        account_known: survey.obs.account.is_some(),
        reviewers: &survey.reviewers,
        gate: None,
        block: &survey.block,
        policy: setup.policy,
        run: &run,
        now: survey.obs.at,
    });
    match step {
        Step::Verify => "run the spec tests".to_owned(),
        Step::Push(sha) => format!("push {}", sha.short()),
        Step::Replay => "replay our commits on the new head".to_owned(),
        Step::Reject(why) => format!("put our commits aside: {why}"),
        Step::Post(_) => "post what is planned above".to_owned(),
        Step::Edit { findings, tests } => {
            let ids: Vec<String> = findings.iter().map(ToString::to_string).collect();
            format!("start the editor with {}{}", ids.join(", "), if tests { " and red spec tests" } else { "" })
        }
        Step::Plan => {
            let ids: Vec<String> = followup::unwritten(summary).iter().map(ToString::to_string).collect();
            format!("write and commit the follow-up plan of {}", ids.join(", "))
        }
        Step::GiveToPerson(ids) => {
            let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
            format!("hand {} to a person", ids.join(", "))
        }
        Step::Ask(nudge) => format!("ask {} to look again", nudge.name),
        Step::Wait { what, .. } => format!("wait: {what}"),
        Step::Stop { reason, why, .. } => format!("stop, {}: {why}", reason.as_str()),
    }
}

/// Leaves what was not chosen alone.
pub(super) fn narrowed(only: Option<&[FindingId]>, step: Step, summary: &Summary, local: &Sha) -> Step {
    let (Some(only), Step::Edit { findings, tests }) = (only, &step) else { return step };
    let chosen: Vec<FindingId> = findings.iter().filter(|id| only.contains(id)).copied().collect();
    let ours = unpushed(summary).any(|round| round.head_after.as_ref() == Some(local));
    if !chosen.is_empty() || (*tests && ours) {
        return Step::Edit { findings: chosen, tests: *tests };
    }
    if !followup::unwritten(summary).is_empty() {
        return Step::Plan;
    }
    Step::Stop {
        reason: StopReason::NeedsPerson,
        why: "what was chosen is done; other findings are open".to_owned(),
        remedy: "decide them with `pushback triage`, or let `pushback run` work on all".to_owned(),
        person: false,
    }
}
