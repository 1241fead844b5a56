//! One editor run: counted, pictured, started, examined, committed. Nothing it says is believed (R7, R8, R28).

mod fell;

use super::briefing::{self, Draft};
use super::followup;
use super::message;
use super::recover::set_aside;
use super::reversal;
use super::survey::{Survey, places_now};
use super::{EngineError, Ports, Setup};
use crate::ports::{AgentReport, Brief, BriefFiles, Event, Held};
use crate::review::compose;
use crate::review::decision::Verb;
use crate::review::diff::{FileChange, FileDiff};
use crate::review::guard::Examined;
use crate::review::ids::{FindingId, RepoPath, Sha};
use crate::review::judge;
use crate::review::picture::Picture;
use crate::review::summary::{RoundOutcome, RoundRecord, StopReason, Summary, Touched};
use crate::review::words;
use fell::bad_end;

/// What the editor is asked.
pub(super) struct Ask<'a> {
    pub(super) findings: &'a [FindingId],
    pub(super) tests: bool,
    pub(super) round: u32,
    pub(super) local: &'a Sha,
}

/// How a round went on.
pub(super) enum EditEnd {
    /// Go on with the next step.
    Go,
    /// Look again first: the editor was stopped because the pull request has ended.
    Look,
    /// The run stops.
    Stop(StopReason, String, String),
}

pub(super) fn stop(reason: StopReason, why: impl Into<String>, remedy: impl Into<String>) -> EditEnd {
    EditEnd::Stop(reason, why.into(), remedy.into())
}

/// Runs one round's editing.
pub(super) fn edit(
    ports: &Ports<'_>,
    setup: &Setup<'_>,
    held: &Held,
    summary: &mut Summary,
    survey: &Survey,
    ask: &Ask<'_>,
) -> Result<EditEnd, EngineError> {
    let Some(agent) = ports.agent else {
        return Ok(stop(StopReason::EditorUnavailable, "no editor", "set `agent.name`"));
    };
    let draft = briefing::draft(ports, setup, summary, survey, ask)?;
    if summary
        .rounds
        .iter()
        .any(|round| round.n > summary.reset_at_round && counted(round) && round.brief == draft.hash)
    {
        let why = "the editor would get the same brief a second time";
        return Ok(stop(
            StopReason::NoProgress,
            why,
            "say more in the thread, or mend it yourself and push, then run again with `--more 1`",
        ));
    }
    let sent: Vec<FindingId> =
        draft.file.review_findings.iter().flat_map(|i| std::iter::once(i.id).chain(i.also.iter().copied())).collect();
    ports.reporter.tell(Event::Round { n: ask.round, sent: sent.clone(), tests: ask.tests });
    let brief = prepare(ports, setup, held, summary, &draft, ask)?;
    let before = ports.tree.picture()?;
    open_round(summary, ask, &draft, sent.clone(), untracked(ports)?);
    ports.store.save(held, summary)?;
    let report = agent.run(&brief, ports.reporter);
    spend(summary, &report);
    let end = after_run(ports, setup, summary, survey, &Ran { before, report, ask, sent })?;
    ports.store.save(held, summary)?;
    Ok(end)
}

/// Rounds whose brief really reached an editor.
fn counted(round: &RoundRecord) -> bool {
    !matches!(round.outcome, RoundOutcome::Environment | RoundOutcome::CutOff)
}

pub(super) fn untracked(ports: &Ports<'_>) -> Result<Vec<String>, EngineError> {
    let added = ports.tree.diff_worktree()?.into_iter().filter(|file| file.change == FileChange::Added);
    Ok(added.filter_map(|file| file.new_path).map(|path| path.to_string()).collect())
}

fn prepare(
    ports: &Ports<'_>,
    setup: &Setup<'_>,
    held: &Held,
    summary: &Summary,
    draft: &Draft,
    ask: &Ask<'_>,
) -> Result<Brief, EngineError> {
    let json = serde_json::to_string_pretty(&draft.file).unwrap_or_default();
    let files = BriefFiles {
        findings_md: compose::findings_md(&draft.file),
        findings_json: json,
        spec: draft.spec.text.clone(),
    };
    let (findings, decisions, spec) = ports.store.write_brief(held, &files)?;
    let seed = format!("{} {:?}", ports.clock.now(), ports.clock.monotonic());
    let paths = [findings.to_string(), decisions.to_string(), spec.to_string()];
    let limits = &setup.policy.limits;
    let left = limits.agent_time.saturating_sub(std::time::Duration::from_secs(summary.used.agent_seconds));
    Ok(Brief {
        round: ask.round,
        view: briefing::view(setup, summary, draft, paths, &seed),
        findings,
        decisions,
        spec,
        time_left: left,
        cost_left: (limits.cost_usd > 0.0).then(|| (limits.cost_usd - summary.used.cost_usd).max(0.0)),
    })
}

/// Counted before the start: a kill cannot give an attempt back.
fn open_round(summary: &mut Summary, ask: &Ask<'_>, draft: &Draft, sent: Vec<FindingId>, untracked: Vec<String>) {
    summary.round = ask.round;
    summary.used.rounds += 1;
    for id in &sent {
        if let Some(entry) = summary.comments.get_mut(id) {
            entry.finding.attempts += 1;
        }
    }
    let begun = RoundRecord::begun(ask.round, ask.local.clone(), sent);
    summary.rounds.push(RoundRecord { brief: draft.hash.clone(), untracked, ..begun });
}

fn spend(summary: &mut Summary, report: &AgentReport) {
    summary.used.agent_seconds += report.seconds;
    summary.used.tokens += report.tokens;
    summary.used.cost_usd += report.cost_usd;
    if let Some(round) = summary.rounds.last_mut() {
        (round.seconds, round.tokens, round.cost_usd) = (report.seconds, report.tokens, report.cost_usd);
    }
}

pub(super) struct Ran<'a> {
    pub(super) before: Picture,
    report: AgentReport,
    pub(super) ask: &'a Ask<'a>,
    pub(super) sent: Vec<FindingId>,
}

pub(super) fn finish(summary: &mut Summary, outcome: RoundOutcome, why: impl Into<String>) {
    if let Some(round) = summary.rounds.last_mut() {
        round.outcome = outcome;
        round.why = why.into();
    }
}

fn kept_name(summary: &Summary, ask: &Ask<'_>) -> String {
    format!("{}/{}", summary.pr.number, ask.round)
}

/// Takes out what a run left, keeping it on a ref.
pub(super) fn take_out(ports: &Ports<'_>, summary: &Summary, ran: &Ran<'_>) -> Result<String, EngineError> {
    let name = kept_name(summary, ran.ask);
    let mine = summary.rounds.last().map(|round| round.untracked.clone()).unwrap_or_default();
    let kept = set_aside(ports, &name, &ran.before.head, &mine)?;
    Ok(if kept.is_some() { format!("; its changes are kept on refs/pushback/{name}") } else { String::new() })
}

fn after_run(
    ports: &Ports<'_>,
    setup: &Setup<'_>,
    summary: &mut Summary,
    survey: &Survey,
    ran: &Ran<'_>,
) -> Result<EditEnd, EngineError> {
    if ran.report.swept > 0 {
        ports.warn(format!(
            "ended {} that the editor left behind",
            words::count_of(ran.report.swept as usize, "process", "processes")
        ));
    }
    if !ran.report.swept_clean {
        ports.warn("some processes of the editor could not be ended; look for them before you go on");
    }
    let (examined, commits) = examine(ports, setup, ran)?;
    if !examined.rejected.is_empty() {
        let why = examined.rejected.join("; ");
        ports.tree.put_back_refs(&ran.before)?;
        let kept = take_out(ports, summary, ran)?;
        finish(summary, RoundOutcome::Rejected, format!("{why}{kept}"));
        refuse(summary, &ran.sent, &format!("the round was put aside: {why}"));
        let remedy = "look at what it did, then run again; it starts from the same head";
        return Ok(stop(
            StopReason::RejectedRound,
            format!("round {} was put aside: {why}{kept}", ran.ask.round),
            remedy,
        ));
    }
    if let Some(end) = bad_end(ports, summary, ran)? {
        return Ok(end);
    }
    read_decisions(ports, summary)?;
    put_frozen_back(ports, setup, summary, ran, &examined)?;
    if let Some(end) = reversal::given_back(ports, summary, ran)? {
        return Ok(end);
    }
    let plans = write_plans(ports, setup, summary, survey)?;
    let end = commit(ports, summary, ran, &commits)?;
    if let EditEnd::Go = end {
        judge_answers(ports, setup, summary, survey)?;
        let head = ports.tree.facts()?.head;
        followup::committed(ports, summary, &plans, &head, ran.ask.round)?;
    }
    Ok(end)
}

/// Writes the plans that this round's commit is to hold: those the editor drafted, and those that waited.
fn write_plans(
    ports: &Ports<'_>,
    setup: &Setup<'_>,
    summary: &mut Summary,
    survey: &Survey,
) -> Result<Vec<followup::Written>, EngineError> {
    let Some(round) = summary.rounds.last().cloned() else { return Ok(Vec::new()) };
    let judged = judged(ports, setup, summary, survey, &round)?;
    let drafted = judged.into_iter().filter_map(|one| match one.answer {
        judge::Answered::Accepted(pending) if pending.verb == Verb::Defer => Some((one.id, pending)),
        judge::Answered::Accepted(_) | judge::Answered::Draft(_) | judge::Answered::Refused(_) => None,
    });
    let decisions: Vec<_> = followup::owed(summary).into_iter().chain(drafted).collect();
    followup::write(ports, setup, summary, &decisions)
}

/// Tells the editor's next run what was wrong with this one.
pub(super) fn refuse(summary: &mut Summary, sent: &[FindingId], why: &str) {
    for id in sent {
        if let Some(entry) = summary.comments.get_mut(id) {
            entry.refused = Some(why.to_owned());
        }
    }
}

/// Compares the pictures; commits of the editor stand when they only go forward.
fn examine(ports: &Ports<'_>, setup: &Setup<'_>, ran: &Ran<'_>) -> Result<(Examined, Vec<FileDiff>), EngineError> {
    let after = ports.tree.picture()?;
    let moved = after.head != ran.before.head;
    let forward = !moved || ports.tree.is_ancestor(&ran.before.head, &after.head)? == Some(true);
    let commits = if moved && forward { ports.tree.diff(&ran.before.head, &after.head)? } else { Vec::new() };
    let paths: Vec<RepoPath> = commits.iter().flat_map(paths_of).collect();
    let mut examined = setup.guard.examine(&ran.before, &after, &paths);
    if !forward {
        examined.rejected.push(format!(
            "the editor rewrote history: {} is not in {}",
            ran.before.head.short(),
            after.head.short()
        ));
    }
    let scratch: Vec<String> =
        paths.iter().filter(|path| path.as_bytes().starts_with(b".pushback/")).map(ToString::to_string).collect();
    if !scratch.is_empty() {
        examined.rejected.push(format!("the editor committed scratch files: {}", scratch.join(", ")));
    }
    Ok((examined, commits))
}

fn paths_of(file: &FileDiff) -> impl Iterator<Item = RepoPath> + use<> {
    let old = file.old_path.clone().filter(|old| file.new_path.as_ref() != Some(old));
    old.into_iter().chain(file.new_path.clone())
}

fn read_decisions(ports: &Ports<'_>, summary: &mut Summary) -> Result<(), EngineError> {
    let parsed = match ports.store.read_decisions()? {
        Some(bytes) => judge::parse(&bytes),
        None => return Ok(()),
    };
    for problem in &parsed.problems {
        ports.warn(format!("decisions file: {}", problem.why));
    }
    if let Some(round) = summary.rounds.last_mut() {
        (round.decisions, round.problems) = (parsed.decisions, parsed.problems);
    }
    Ok(())
}

/// Frozen tests are put back, unless the file carries an open finding of this round.
fn put_frozen_back(
    ports: &Ports<'_>,
    setup: &Setup<'_>,
    summary: &Summary,
    ran: &Ran<'_>,
    examined: &Examined,
) -> Result<(), EngineError> {
    let asked = |path: &RepoPath| {
        ran.sent
            .iter()
            .filter_map(|id| summary.comments.get(id))
            .any(|entry| entry.finding.path.as_deref() == path.as_str())
    };
    let (allowed, back): (Vec<_>, Vec<_>) =
        examined.changed.iter().filter(|path| setup.guard.is_frozen(path)).cloned().partition(|path| asked(path));
    let words = |paths: &[RepoPath]| paths.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    if !allowed.is_empty() {
        ports.warn(format!("frozen test changed because a finding is about it: {}", words(&allowed)));
    }
    if !back.is_empty() {
        ports.tree.put_back(&ran.before.head, &back)?;
        ports.warn(format!("put frozen tests back: {}", words(&back)));
    }
    Ok(())
}

fn commit(
    ports: &Ports<'_>,
    summary: &mut Summary,
    ran: &Ran<'_>,
    commits: &[FileDiff],
) -> Result<EditEnd, EngineError> {
    let after = ports.tree.picture()?;
    let differs = |path: &RepoPath| ran.before.files.get(path) != after.files.get(path);
    let all = ran.before.files.keys().chain(after.files.keys());
    let mut paths: Vec<RepoPath> = all.filter(|path| differs(path)).cloned().collect();
    if after.head != ran.before.head {
        // Relative to the editor's own commits: everything that is not committed yet.
        paths = after.files.keys().filter(|path| differs(path)).cloned().collect();
    }
    paths.sort();
    paths.dedup();
    let head = if paths.is_empty() {
        after.head.clone()
    } else {
        match ports.tree.commit(&paths, &message::of_round(summary, ran.ask.round, &ran.sent, ran.ask.tests)) {
            Ok(sha) => sha,
            Err(error) => {
                let kept = take_out(ports, summary, ran)?;
                let why = format!("{error}{kept}");
                finish(summary, RoundOutcome::Rejected, why.clone());
                return Ok(stop(
                    StopReason::RejectedRound,
                    why,
                    "mend what the commit hook complains of, then run again",
                ));
            }
        }
    };
    let changed = head != ran.before.head;
    let touched = if changed { touched(&ports.tree.diff(&ran.before.head, &head)?) } else { Vec::new() };
    let tree = ports.tree.tree(&head)?;
    if !commits.is_empty() {
        ports.say("the editor committed by itself; its commits are taken as they are");
    }
    let Some(round) = summary.rounds.last_mut() else { return Ok(EditEnd::Go) };
    round.tree = tree;
    round.touched = touched;
    if changed {
        let files = ports.tree.diff(&ran.before.head, &head)?.len();
        ports.say(format!("committed {} ({})", head.short(), words::count(files, "file")));
        round.head_after = Some(head);
        round.outcome = RoundOutcome::Committed;
    } else {
        round.outcome = if round.decisions.is_empty() { RoundOutcome::NoChange } else { RoundOutcome::Answered };
    }
    Ok(EditEnd::Go)
}

fn touched(diff: &[FileDiff]) -> Vec<Touched> {
    let mut places = Vec::new();
    for file in diff {
        let Some(path) = file.new_path.as_ref().or(file.old_path.as_ref()) else { continue };
        for hunk in &file.hunks {
            let to = hunk.new_start + hunk.new_len.saturating_sub(1);
            places.push(Touched { path: path.to_string(), from: hunk.new_start, to: to.max(hunk.new_start) });
        }
    }
    places
}

/// Judges what the editor answered on what its commit really changed; lines are those the editor was given.
fn judge_answers(
    ports: &Ports<'_>,
    setup: &Setup<'_>,
    summary: &mut Summary,
    survey: &Survey,
) -> Result<(), EngineError> {
    let Some(round) = summary.rounds.last().cloned() else { return Ok(()) };
    let judged = judged(ports, setup, summary, survey, &round)?;
    judge::apply(summary, &judged);
    let mut settled = Vec::new();
    for verdict in &judged {
        match &verdict.answer {
            judge::Answered::Accepted(pending) => {
                settled.push(verdict.id);
                ports.say(format!("{}: {} accepted", verdict.id, pending.verb.as_str()));
            }
            judge::Answered::Draft(_) => {
                ports.warn(format!("{}: the argument is kept as a draft for a person", verdict.id))
            }
            judge::Answered::Refused(why) => ports.say(format!("{}: not accepted: {why}", verdict.id)),
        }
    }
    if let Some(round) = summary.rounds.last_mut() {
        round.judged = true;
        round.settled = settled;
    }
    Ok(())
}

fn judged(
    ports: &Ports<'_>,
    setup: &Setup<'_>,
    summary: &Summary,
    survey: &Survey,
    round: &RoundRecord,
) -> Result<Vec<judge::Judged>, EngineError> {
    // Lines are those of the pull request's head; commits that wait here count like this round's own.
    let head = &survey.obs.pr.head;
    let local = ports.tree.facts()?.head;
    let diff = if &local == head { Vec::new() } else { ports.tree.diff(head, &local)? };
    let entries: Vec<&crate::review::summary::Entry> =
        round.sent.iter().filter_map(|id| summary.comments.get(id)).collect();
    let around = briefing::lookups(ports, survey, &entries, head)?;
    let parsed = judge::ParsedDecisions { decisions: round.decisions.clone(), problems: round.problems.clone() };
    let places = places_now(ports, summary, survey, &round.sent)?;
    let unknown = judge::PlaceNow::Unsure("it was not looked for".to_owned());
    let facts = judge::RoundFacts {
        round: round.n,
        commit: (&local != head).then_some(&local),
        diff: &diff,
        people_argue: setup.policy.people_argue,
        place: &|entry| places.get(&entry.finding.id).cloned().unwrap_or(unknown.clone()),
        code: &|entry| around.get(&entry.finding.id).map(|around| around.code.clone()).unwrap_or_default(),
    };
    Ok(judge::judge(summary, &round.sent, &parsed, facts))
}
