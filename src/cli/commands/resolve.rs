//! `resolve`: answers findings for somebody who edits, commits and pushes. The judge is the editor's; what is posted, and that
//! nothing is posted twice, is the engine's.

use std::io::Read as _;

use super::consent::{self, Does};
use super::{explain, view};
use crate::cli::args::{Answer, ResolveArgs};
use crate::cli::failure::{Failure, Kind};
use crate::cli::look::Desk;
use crate::cli::{Context, look, output};
use crate::engine::resolve::{self, By, Said, Stopped, Took};
use crate::engine::survey::{self, Survey};
use crate::engine::{Ports, Setup, rounds};
use crate::ports::{Event, Reporter, Store};
use crate::report::json::{AnswerView, PlanView, PlannedView, ResolveView};
use crate::review::decision::{PlanDraft, Verb};
use crate::review::ids::{FindingId, Sha};
use crate::review::observation::PrState;
use crate::review::outbox;
use crate::review::summary::{Summary, WriteKind, WriteState};

/// When the reply of a follow-up goes out.
const LATER: &str = "the reply and its line go out with the next `resolve` or `run` after the plan is pushed; COMMIT stands for \
                     the commit that holds it";
/// Longest reason that is read from stdin.
const LONGEST: u64 = 64 * 1024;

pub(super) fn run(cx: &Context, args: &ResolveArgs) -> Result<u8, Failure> {
    let reason = reason(args)?;
    let desk = look::desk(cx, "resolve")?;
    may_answer(&desk)?;
    let commit = commit(&desk, args)?;
    let verifier = desk.verifier(cx)?;
    let ports = desk.ports(cx, None, &verifier);
    let setup = desk.setup(None);
    let job = Job { cx, desk: &desk, ports: &ports, setup: &setup, args };
    if cx.global.dry_run {
        let (mut summary, survey) = look::look(cx, &desk)?;
        let said = said(args, &summary, &reason, commit.as_ref())?;
        job.record(&mut summary, &survey, &said)?;
        let plans = consent::plans(resolve::draft_plans(&ports, &setup, &mut summary)?);
        rounds::plan(&setup, &mut summary, &survey);
        let planned = consent::planned(&summary, &survey.obs.pr.body);
        let later = planned.iter().any(|write| write.kind == WriteKind::Defer.as_str());
        let notes = if later { vec![LATER.to_owned()] } else { Vec::new() };
        return Ok(job.answer(&summary, &said, End { planned, plans, notes, ..End::default() }));
    }
    job.now(&reason, commit.as_ref())
}

/// Nothing is answered on a pull request that has ended, or under an account that is not known: a copy could not be told
/// from a first post.
pub(super) fn may_answer(desk: &Desk) -> Result<(), Failure> {
    let ended = match desk.obs.pr.state {
        PrState::Open => None,
        PrState::Merged => Some("merged"),
        PrState::Closed => Some("closed"),
    };
    if let Some(ended) = ended {
        return Err(Failure::usage(format!("{} is {ended}", desk.pr), "there is nothing left to answer"));
    }
    if desk.obs.account.is_none() {
        let mend = "give the token the right to read its own user, or name the account in `trust.accounts`";
        let why = "the account of the token could not be learned, so nothing can be posted";
        return Err(Failure::new(Kind::Permission, why, mend));
    }
    Ok(())
}

fn reason(args: &ResolveArgs) -> Result<String, Failure> {
    let needed = match args.answer {
        Answer::Argue | Answer::Defer | Answer::Answer => true,
        Answer::Fix | Answer::Stale => false,
    };
    let plan = args.plan_title.is_some() || !args.step.is_empty();
    if plan && args.answer != Answer::Defer {
        return Err(Failure::usage("`--plan-title` and `--step` belong to `defer`", "leave them out"));
    }
    if (args.commit.is_some() || !args.place.is_empty()) && args.answer != Answer::Fix {
        return Err(Failure::usage("`--commit` and `--place` belong to `fix`", "leave them out"));
    }
    match args.reason.as_deref() {
        Some("-") => {
            let mut text = String::new();
            let read = std::io::stdin().take(LONGEST).read_to_string(&mut text);
            read.map_err(|error| Failure::usage(format!("could not read the reason: {error}"), "pipe UTF-8 text in"))?;
            Ok(text)
        }
        Some(text) => Ok(text.to_owned()),
        None if needed => Err(Failure::usage(
            format!("`{}` needs a reason", verb(args.answer).as_str()),
            "pass `--reason TEXT`, 40 to 2,000 characters that speak of the finding",
        )),
        None => Ok(String::new()),
    }
}

fn verb(answer: Answer) -> Verb {
    match answer {
        Answer::Fix => Verb::Fix,
        Answer::Argue => Verb::Argue,
        Answer::Stale => Verb::Stale,
        Answer::Defer => Verb::Defer,
        Answer::Answer => Verb::Answer,
    }
}

fn commit(desk: &Desk, args: &ResolveArgs) -> Result<Option<Sha>, Failure> {
    if args.answer != Answer::Fix {
        return Ok(None);
    }
    let name = args.commit.as_deref().unwrap_or("HEAD");
    match desk.place.tree.commit_named(name)? {
        Some(sha) => Ok(Some(sha)),
        // A commit that only the remote has can still be fetched by its whole name.
        None => Sha::parse(name).map(Some).map_err(|_| {
            Failure::usage(format!("`{name}` names no commit here"), "commit first, then pass `--commit SHA`")
        }),
    }
}

/// Finds every finding first, so that a mistyped id changes nothing.
fn said(args: &ResolveArgs, summary: &Summary, reason: &str, commit: Option<&Sha>) -> Result<Vec<Said>, Failure> {
    let mut all: Vec<Said> = Vec::new();
    for text in &args.ids {
        let id = explain::find(summary, text)?.finding.id;
        if all.iter().any(|known| known.id == id) {
            continue;
        }
        all.push(Said {
            id,
            decision: verb(args.answer),
            reason: reason.to_owned(),
            commit: commit.cloned(),
            places: args.place.clone(),
            plan: args.plan_title.as_ref().map(|title| PlanDraft { title: title.clone(), steps: args.step.clone() }),
        });
    }
    Ok(all)
}

/// How it ended, for the answer.
#[derive(Default)]
struct End {
    planned: Vec<PlannedView>,
    plans: Vec<PlanView>,
    notes: Vec<String>,
    exit: u8,
    retry_after_s: Option<u64>,
}

struct Job<'a> {
    cx: &'a Context,
    desk: &'a Desk,
    ports: &'a Ports<'a>,
    setup: &'a Setup<'a>,
    args: &'a ResolveArgs,
}

impl Job<'_> {
    fn now(&self, reason: &str, commit: Option<&Sha>) -> Result<u8, Failure> {
        let held = self.desk.store.lock()?;
        let mut summary = rounds::load(self.ports, self.setup, &held, &self.desk.obs)?;
        outbox::revive(&mut summary);
        let obs = self.desk.obs.clone();
        let survey = survey::digest(self.ports, self.setup, &mut summary, obs, self.cx.depth)?;
        let said = said(self.args, &summary, reason, commit)?;
        let claim = self.args.answer == Answer::Fix;
        let before = summary.clone();
        let drafts = match self.record(&mut summary, &survey, &said) {
            Ok(drafts) => drafts,
            Err(failure) => {
                self.desk.store.save(&held, &summary)?;
                return Err(failure);
            }
        };
        // Only who is going to post asks, and not before it is known that the answer stands. A claim itself posts nothing.
        if self.args.yes || (!claim && self.would_post(&summary, &survey)) {
            consent::ask(self.cx, self.desk, self.args.yes, Does::Post).inspect_err(|_| {
                // What the reading showed is kept, the answer is not.
                let _ = self.desk.store.save(&held, &before);
            })?;
        }
        self.desk.store.save(&held, &summary)?;
        let (mut notes, mut retry) = (Vec::new(), None);
        let ids: Vec<FindingId> = said.iter().map(|one| one.id).collect();
        let files = resolve::write_plans(self.ports, self.setup, &mut summary, &ids)?;
        self.desk.store.save(&held, &summary)?;
        notes.extend(files.iter().map(|(id, file)| {
            format!("{id}: the plan is {file}; commit and push it, the reply with its link follows once it is there")
        }));
        let mut code = if drafts { 14 } else { 0 };
        if !consent::given(self.desk)? {
            if self.would_post(&summary, &survey) {
                notes.push("nothing is posted: nobody has agreed yet that pushback may post here (`--yes`)".to_owned());
            }
        } else {
            let (_, stopped) = resolve::post_all(self.ports, self.setup, &held, &mut summary, survey)?;
            if let Some(stopped) = stopped {
                code = stop_code(&stopped);
                retry = self.retry_after(&stopped);
                notes.push(stop_words(&stopped));
            }
        }
        self.cx.printer.rest();
        Ok(self.answer(&summary, &said, End { notes, exit: code, retry_after_s: retry, ..End::default() }))
    }

    /// Tells whether anything is to be posted now.
    fn would_post(&self, summary: &Summary, survey: &Survey) -> bool {
        let mut copy = summary.clone();
        rounds::plan(self.setup, &mut copy, survey);
        copy.outbox.iter().any(|item| item.state == WriteState::Planned)
    }

    /// Returns when time alone may have helped.
    fn retry_after(&self, stopped: &Stopped) -> Option<u64> {
        match stopped {
            Stopped::Limited(until) => {
                let wait = until.duration_since(self.cx.clock.now()).as_secs().max(1);
                u64::try_from(wait).ok()
            }
            Stopped::NotSent(_) | Stopped::Forbidden(_) | Stopped::Interrupted => None,
        }
    }

    /// Records the answers; says whether one of them is only a draft for a person.
    fn record(&self, summary: &mut Summary, survey: &Survey, said: &[Said]) -> Result<bool, Failure> {
        let took = resolve::record(self.ports, self.setup, summary, survey, said, By::Program)?;
        let person = took.iter().find_map(|(id, took)| match took {
            Took::Person(why) => Some((id, why)),
            Took::Accepted | Took::Already(_) | Took::Draft | Took::Refused(_) => None,
        });
        let refused: Vec<String> = took
            .iter()
            .filter_map(|(id, took)| match took {
                Took::Refused(why) => Some(format!("{id}: {why}")),
                Took::Accepted | Took::Already(_) | Took::Draft | Took::Person(_) => None,
            })
            .collect();
        if let Some((id, why)) = person {
            let why = format!("{id} waits for a person: {why}");
            return Err(Failure::new(
                Kind::Person,
                why,
                "a person decides with `pushback triage`; a fix is always taken",
            ));
        }
        if !refused.is_empty() {
            let hint = format!("nothing was recorded; `pushback show {}` shows the finding", said_first(said));
            return Err(Failure::usage(refused.join("; "), hint));
        }
        for (id, took) in &took {
            if let Took::Already(why) = took {
                self.cx.printer.tell(Event::Line(format!("{id}: {why}")));
            }
        }
        Ok(took.iter().any(|(_, took)| *took == Took::Draft))
    }

    fn answer(&self, summary: &Summary, said: &[Said], end: End) -> u8 {
        let End { planned, plans, notes, exit, retry_after_s } = end;
        let exit = self.cx.exit(exit);
        let dry = self.cx.global.dry_run;
        let answers: Vec<AnswerView> = said.iter().filter_map(|one| answer_view(summary, one, dry)).collect();
        if self.cx.global.json {
            let findings = said.iter().filter_map(|one| summary.comments.get(&one.id));
            let findings = findings.map(|entry| entry.finding.clone()).collect();
            let more = ResolveView { answers, findings, planned, plans, notes };
            let mut whole = view::envelope("resolve", (exit, "pushback next".to_owned()), summary, more);
            whole.retry_after_s = retry_after_s;
            output::json(&whole);
            return exit;
        }
        let mut text = consent::exact_plans(&plans) + &consent::exact(&planned);
        if dry && planned.is_empty() {
            text.push_str("nothing would be posted now\n");
        }
        for one in &answers {
            text.push_str(&format!("{} {}: {}: {}\n", one.id, one.decision.as_str(), one.state, one.why));
        }
        for note in &notes {
            text.push_str(&format!("note: {note}\n"));
        }
        text.push_str("next: pushback next\n");
        output::shown(&text);
        exit
    }
}

fn said_first(said: &[Said]) -> String {
    said.first().map(|one| one.id.to_string()).unwrap_or_default()
}

fn stop_code(stopped: &Stopped) -> u8 {
    match stopped {
        Stopped::NotSent(_) => 20,
        Stopped::Limited(_) => 12,
        Stopped::Forbidden(_) => 21,
        Stopped::Interrupted => 130,
    }
}

fn stop_words(stopped: &Stopped) -> String {
    let why = match stopped {
        Stopped::NotSent(why) => format!("the forge could not be written to: {why}"),
        Stopped::Limited(until) => format!("the forge takes no posts until {until}"),
        Stopped::Forbidden(why) => why.clone(),
        Stopped::Interrupted => "stopped by a signal".to_owned(),
    };
    format!("{why}; what is owed is remembered, give the same answer again")
}

fn answer_view(summary: &Summary, said: &Said, dry: bool) -> Option<AnswerView> {
    let entry = summary.comments.get(&said.id)?;
    let finding = &entry.finding;
    let (state, why) = match &entry.pending {
        _ if finding.status.settled() => ("settled", format!("{}: {}", finding.status, finding.why)),
        Some(_) if finding.needs_person => ("draft", finding.why.clone()),
        Some(pending) if pending.verb == Verb::Fix => {
            let commit = pending.commit.as_ref().map_or("its commit", Sha::short);
            ("claimed", format!("{commit} touches {}; proved once it is on the remote", pending.reason))
        }
        Some(pending) if pending.verb == Verb::Defer && pending.url.is_none() && !dry => match &pending.file {
            Some(file) => ("claimed", format!("{file} is to be committed and pushed; then its reply links it")),
            None => ("owed", "its plan is not written".to_owned()),
        },
        Some(_) if dry => ("owed", "it would be taken".to_owned()),
        Some(_) if is_sent(summary, said.id) => ("posted", "it is posted and not read back yet".to_owned()),
        Some(_) => ("owed", "it is recorded and not posted yet".to_owned()),
        None => ("owed", finding.why.clone()),
    };
    Some(AnswerView { id: said.id, decision: said.decision, state, status: finding.status, why })
}

fn is_sent(summary: &Summary, id: FindingId) -> bool {
    let out = |state| matches!(state, WriteState::Sent | WriteState::Done);
    summary.outbox.iter().any(|item| item.findings.contains(&id) && out(item.state))
}
