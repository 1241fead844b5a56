//! A person decides at the keyboard. Every choice is a draft in the state at once, so that leaving loses nothing; at the end
//! everything that would be written is shown word for word and confirmed once. The caller holds the lock.

mod shown;

use crate::review::tried::tried;
use shown::{exact, head, whole};

use super::resolve::{self, By, Said, Stopped, Took};
use super::survey::{Survey, places_now};
use super::{EngineError, Ports, Setup, briefing};
use crate::ports::{Held, Prompter};
use crate::review::decision::{PlanDraft, Verb};
use crate::review::ids::FindingId;
use crate::review::judge::PlaceNow;
use crate::review::observation::Observation;
use crate::review::outbox;
use crate::review::severity::Severity;
use crate::review::status::Status;
use crate::review::summary::{Entry, Proof, Summary};
use crate::review::triage::{self, Card, Choice, Kind, Outcome, Rights};

/// Rows below the findings in the list.
const MARK: &str = "mark several, for one choice";
const DONE: &str = "look at what is decided and post it";
const QUIT: &str = "leave (what is decided is kept)";

/// What a person's session came to.
#[derive(Debug, Clone)]
pub struct TriageEnd {
    /// The last look.
    pub survey: Survey,
    /// True when the writes were confirmed and made.
    pub posted: bool,
    /// Why posting stopped before its end.
    pub stopped: Option<Stopped>,
    /// Findings the editor is to be started on now.
    pub fixes: Vec<FindingId>,
    /// True when a follow-up plan waits to be written and committed.
    pub plans: bool,
    /// What became of choices that do not stand.
    pub notes: Vec<String>,
}

/// What does not change during a session.
struct Desk<'a> {
    ports: &'a Ports<'a>,
    setup: &'a Setup<'a>,
    ask: &'a dyn Prompter,
    held: &'a Held,
    rights: Rights,
    dry: bool,
}

/// How the look at one finding ended.
enum Turn {
    On,
    Back,
    List,
    Leave,
}

/// What a sitting is held with.
#[derive(Debug, Clone, Default)]
pub struct Terms {
    /// Everything is shown, nothing is written.
    pub dry: bool,
    /// Why the editor cannot be started on anything, where it cannot.
    pub no_fix: Option<String>,
}

/// Lets a person decide.
pub fn triage(
    ports: &Ports<'_>,
    setup: &Setup<'_>,
    ask: &dyn Prompter,
    held: &Held,
    summary: &mut Summary,
    survey: Survey,
    terms: Terms,
) -> Result<TriageEnd, EngineError> {
    let Terms { dry, no_fix } = terms;
    let rights = Rights::of(&survey.obs, setup.policy, no_fix.is_none());
    let desk = Desk { ports, setup, ask, held, rights, dry };
    let void = triage::outcome(summary, &summary.drafts, rights).void;
    let mut notes: Vec<String> =
        no_fix.map(|why| format!("`{}` is not offered: {why}", Kind::Fix.word())).into_iter().collect();
    for (id, why) in void {
        summary.drafts.remove(&id);
        notes.push(format!("{id}: {why}"));
    }
    if desk.decide(summary, &survey, &mut notes)? {
        return desk.finish(summary, survey, notes);
    }
    Ok(left(survey, notes))
}

fn left(survey: Survey, notes: Vec<String>) -> TriageEnd {
    TriageEnd { survey, posted: false, stopped: None, fixes: Vec::new(), plans: false, notes }
}

impl Desk<'_> {
    fn save(&self, summary: &Summary) -> Result<(), EngineError> {
        Ok(self.ports.store.save(self.held, summary)?)
    }

    /// The list, until the person leaves (`false`) or wants to post (`true`).
    fn decide(&self, summary: &mut Summary, survey: &Survey, notes: &mut Vec<String>) -> Result<bool, EngineError> {
        let ids = triage::list(summary);
        if ids.is_empty() {
            self.ask.show("nothing waits for a decision\n", false);
            return Ok(false);
        }
        let mut start = 0;
        loop {
            self.ask.show(&head(summary, survey, notes), true);
            notes.clear();
            let columns = self.ask.size().columns;
            let mut rows: Vec<String> = ids
                .iter()
                .filter_map(|id| Some(triage::row(summary.comments.get(id)?, summary.drafts.get(id), columns)))
                .collect();
            let drafted = summary.drafts.len();
            rows.extend([MARK.to_owned(), format!("{DONE} ({drafted})"), QUIT.to_owned()]);
            let Some(picked) = self.ask.pick("Enter opens, arrows move, q leaves", &rows, start) else {
                return Ok(false);
            };
            match picked.checked_sub(ids.len()) {
                None => match self.walk(summary, survey, &ids, picked)? {
                    Some(at) => start = at,
                    None => return Ok(false),
                },
                Some(0) => self.several(summary, survey, &ids, notes)?,
                Some(1) if drafted == 0 => notes.push("nothing is decided yet".to_owned()),
                Some(1) => return Ok(true),
                Some(_) => return Ok(false),
            }
        }
    }

    /// Goes from finding to finding; returns where the list goes on, `None` when the person leaves.
    fn walk(
        &self,
        summary: &mut Summary,
        survey: &Survey,
        ids: &[FindingId],
        from: usize,
    ) -> Result<Option<usize>, EngineError> {
        let mut at = from;
        while let Some(id) = ids.get(at) {
            match self.one(summary, survey, *id, (at + 1, ids.len()))? {
                Turn::On => at += 1,
                Turn::Back => at = at.saturating_sub(1),
                Turn::List => return Ok(Some(at)),
                Turn::Leave => return Ok(None),
            }
        }
        // After the last one the row that posts comes next.
        Ok(Some(ids.len() + 1))
    }

    fn one(
        &self,
        summary: &mut Summary,
        survey: &Survey,
        id: FindingId,
        at: (usize, usize),
    ) -> Result<Turn, EngineError> {
        let mut note = String::new();
        // What was written and does not stand yet: it is there to be mended, not to be written again.
        let mut refused: Option<Choice> = None;
        loop {
            let Some(entry) = summary.comments.get(&id) else { return Ok(Turn::On) };
            let around = briefing::around(self.ports.tree, survey, entry, &survey.obs.pr.head)?;
            let place = places_now(self.ports, summary, survey, &[id])?.remove(&id);
            let place = place.unwrap_or(PlaceNow::Unsure(String::new()));
            let allowed = triage::allowed(entry, self.rights);
            let advice = triage::advised(entry, &place, &allowed, self.setup.policy.limits.attempts);
            let (tried, draft) = (tried(summary, entry), summary.drafts.get(&id));
            let card = Card { entry, around: &around, tried: &tried, at, advice: advice.as_ref(), draft };
            self.ask.show(&triage::card(card, self.ask.size()), true);
            if !note.is_empty() {
                self.ask.show(&format!("! {note}\n"), false);
                note.clear();
            }
            let keys = triage::keys(&allowed, draft.is_some());
            let Some(key) = self.ask.key(&keys) else { return Ok(Turn::Leave) };
            match key {
                '?' => {
                    self.ask.show(&triage::help(&keys), true);
                    if self.ask.key(&[('q', "back")]).is_none() {
                        return Ok(Turn::Leave);
                    }
                }
                'n' => return Ok(Turn::On),
                'p' => return Ok(Turn::Back),
                'q' => return Ok(Turn::List),
                'u' => {
                    summary.drafts.remove(&id);
                    self.save(summary)?;
                }
                'b' if !self.ask.open(&entry.finding.url) => note = format!("open {} yourself", entry.finding.url),
                'b' => {}
                'v' => {
                    self.ask.show(&whole(entry, &around, &tried), true);
                    if self.ask.key(&[('q', "back")]).is_none() {
                        return Ok(Turn::Leave);
                    }
                }
                'e' => {
                    let Some(draft) = refused.clone().or(draft.cloned()) else { continue };
                    let Some(text) = self.ask.edit(draft.text()) else { return Ok(Turn::Leave) };
                    let choice = with_text(draft, text);
                    match self.keep(summary, survey, id, choice.clone())? {
                        None => refused = None,
                        Some(why) => (note, refused) = (why, Some(choice)),
                    }
                }
                key => {
                    let Some(kind) = Kind::ALL.into_iter().find(|kind| kind.key() == key) else { continue };
                    let begun = refused.as_ref().filter(|choice| choice.kind() == kind).or(draft);
                    let choice = match self.choice(entry, begun, kind) {
                        Ok(choice) => choice,
                        Err(Instead::Back) => continue,
                        Err(Instead::Leave) => return Ok(Turn::Leave),
                    };
                    match self.keep(summary, survey, id, choice.clone())? {
                        None => return Ok(Turn::On),
                        Some(why) => {
                            note = format!("{why} ({} takes your words up again)", kind.key());
                            refused = Some(choice);
                        }
                    }
                }
            }
        }
    }

    /// Asks for what a choice needs.
    fn choice(&self, entry: &Entry, draft: Option<&Choice>, kind: Kind) -> Result<Choice, Instead> {
        let known = draft.filter(|draft| draft.kind() == kind).map(|draft| draft.text().to_owned());
        let known = known.or_else(|| entry.pending.as_ref().map(|pending| pending.reason.clone())).unwrap_or_default();
        let line = |question: &str, known: &str| self.ask.line(question, known).ok_or(Instead::Leave);
        let text = |question: &str| self.text(question, &known).ok_or(Instead::Leave);
        Ok(match kind {
            Kind::Fix => Choice::Fix,
            Kind::Stale => Choice::Stale,
            Kind::Argue => Choice::Argue { reason: text("Why it stays as it is")? },
            Kind::Answer => Choice::Answer { reason: text("The answer")? },
            Kind::Defer => {
                let reason = text("Why not in this pull request")?;
                let title = line("Title of the plan", &entry.finding.title)?;
                let step = line("Its first step", "Write a test that shows it")?;
                Choice::Defer { reason, plan: PlanDraft { title, steps: vec![step] } }
            }
            Kind::Regrade => {
                let to = self.level(entry.finding.severity)?;
                Choice::Regrade { to, reason: line(&format!("Why {to}"), &known)? }
            }
            Kind::Accept => Choice::Accept { reason: line("Why (may be empty)", &known)? },
        })
    }

    /// Asks for another severity than today's.
    fn level(&self, now: Severity) -> Result<Severity, Instead> {
        let levels = [
            ('1', "P1", Severity::P1),
            ('2', "P2", Severity::P2),
            ('3', "P3", Severity::P3),
            ('n', "nit", Severity::Nit),
        ];
        let others = levels.into_iter().filter(|(_, _, level)| *level != now);
        let keys: Vec<(char, &str)> = others.map(|(key, word, _)| (key, word)).chain([('q', "back")]).collect();
        let key = self.ask.key(&keys).ok_or(Instead::Leave)?;
        levels.into_iter().find(|(known, ..)| *known == key).map(|(_, _, level)| level).ok_or(Instead::Back)
    }

    /// A line is enough for most reasons; an empty one opens the editor.
    fn text(&self, question: &str, known: &str) -> Option<String> {
        let line = self.ask.line(&format!("{question} (empty: write it in $EDITOR)"), known)?;
        if line.trim().is_empty() { self.ask.edit(known) } else { Some(line) }
    }

    /// Keeps a choice as a draft if it would stand; else says why not.
    fn keep(
        &self,
        summary: &mut Summary,
        survey: &Survey,
        id: FindingId,
        choice: Choice,
    ) -> Result<Option<String>, EngineError> {
        if let Some(refused) = self.refused(summary, survey, id, &choice)? {
            return Ok(Some(refused));
        }
        summary.drafts.insert(id, choice);
        self.save(summary)?;
        Ok(None)
    }

    /// Judges a choice on a copy of the state, so that what cannot be posted is known while it is written.
    fn refused(
        &self,
        summary: &Summary,
        survey: &Survey,
        id: FindingId,
        choice: &Choice,
    ) -> Result<Option<String>, EngineError> {
        if let Choice::Regrade { reason, .. } = choice
            && reason.trim().is_empty()
        {
            return Ok(Some("a re-grade needs a reason".to_owned()));
        }
        let Some(said) = said(id, choice) else { return Ok(None) };
        let mut copy = summary.clone();
        let took = resolve::record(self.ports, self.setup, &mut copy, survey, &[said], By::Person)?;
        Ok(took.into_iter().find_map(|(_, took)| match took {
            Took::Refused(why) | Took::Person(why) => Some(why),
            Took::Accepted | Took::Already(_) | Took::Draft => None,
        }))
    }

    /// One choice for several findings.
    fn several(
        &self,
        summary: &mut Summary,
        survey: &Survey,
        ids: &[FindingId],
        notes: &mut Vec<String>,
    ) -> Result<(), EngineError> {
        let columns = self.ask.size().columns;
        let rows: Vec<String> = ids
            .iter()
            .filter_map(|id| Some(triage::row(summary.comments.get(id)?, summary.drafts.get(id), columns)))
            .collect();
        let Some(marked) = self.ask.mark("Space marks, a all, Enter goes on, q leaves", &rows) else { return Ok(()) };
        let marked: Vec<FindingId> = marked.iter().filter_map(|at| ids.get(*at).copied()).collect();
        let Some(first) = marked.first().and_then(|id| summary.comments.get(id)).cloned() else { return Ok(()) };
        let kinds = [Kind::Regrade, Kind::Defer, Kind::Accept, Kind::Fix, Kind::Stale];
        let mut keys: Vec<(char, &str)> = kinds.iter().map(|kind| (kind.key(), kind.word())).collect();
        keys.push(('q', "back"));
        self.ask.show(&format!("{} marked\n", marked.len()), false);
        let Some(kind) = self.ask.key(&keys).and_then(|key| kinds.into_iter().find(|kind| kind.key() == key)) else {
            return Ok(());
        };
        let Ok(choice) = self.choice(&first, None, kind) else { return Ok(()) };
        for id in marked {
            let fits = summary.comments.get(&id).is_some_and(|e| triage::allowed(e, self.rights).contains(&kind));
            let refused = match fits {
                true => self.keep(summary, survey, id, choice.clone())?,
                false => Some(format!("`{}` is not possible there", kind.word())),
            };
            notes.extend(refused.map(|why| format!("{id}: {why}")));
        }
        Ok(())
    }

    /// Shows everything that would be written, asks once, writes.
    fn finish(&self, summary: &mut Summary, survey: Survey, mut notes: Vec<String>) -> Result<TriageEnd, EngineError> {
        let outcome = triage::outcome(summary, &summary.drafts, self.rights);
        let mut copy = summary.clone();
        let refused = self.carry_out(&mut copy, &survey, &outcome)?;
        let plans = resolve::draft_plans(self.ports, self.setup, &mut copy)?;
        outbox::plan(&mut copy, &survey.obs, &survey.notes, self.setup.policy);
        self.ask.show(&exact(&copy, &survey.obs.pr.body, &outcome, &plans), true);
        for (id, why) in refused.iter().chain(&outcome.void) {
            self.ask.show(&format!("! {id}: {why}\n"), false);
        }
        if self.dry || self.ask.confirm("Do all of this?") != Some(true) {
            return Ok(left(survey, notes));
        }
        // What stands now counts: the worktree may have changed while the question stood.
        let refused = self.carry_out(summary, &survey, &outcome)?;
        notes.extend(refused.iter().chain(&outcome.void).map(|(id, why)| format!("{id}: {why}")));
        for id in outcome.fixes.iter() {
            self.fresh_start(summary, *id);
        }
        // A choice that does not stand yet, and a fix whose run has not begun, are kept.
        let kept: Vec<FindingId> = refused.iter().map(|(id, _)| *id).chain(outcome.fixes.iter().copied()).collect();
        summary.drafts.retain(|id, _| kept.contains(id));
        self.save(summary)?;
        let (survey, stopped) = resolve::post_all(self.ports, self.setup, self.held, summary, survey)?;
        notes.extend(not_obeyed(summary, &outcome));
        let plans = !crate::review::followup::unwritten(summary).is_empty();
        let fixes = if stopped.is_some() { Vec::new() } else { outcome.fixes };
        Ok(TriageEnd { survey, posted: true, stopped, fixes, plans, notes })
    }

    /// Records answers and plans commands; returns what does not stand.
    fn carry_out(
        &self,
        summary: &mut Summary,
        survey: &Survey,
        outcome: &Outcome,
    ) -> Result<Vec<(FindingId, String)>, EngineError> {
        for (id, text) in &outcome.commands {
            if !(self.rights.writes && accepted_here(summary, &survey.obs, *id, text)) {
                outbox::plan_command(summary, &survey.obs, *id, text);
            }
        }
        let mut refused = Vec::new();
        for (id, choice) in &outcome.answers {
            let Some(said) = said(*id, choice) else { continue };
            let took = resolve::record(self.ports, self.setup, summary, survey, &[said], By::Person)?;
            refused.extend(took.into_iter().filter_map(|(id, took)| match took {
                Took::Refused(why) | Took::Person(why) => Some((id, why)),
                Took::Accepted | Took::Already(_) | Took::Draft => None,
            }));
        }
        Ok(refused)
    }

    /// A person asks for another try: the attempts of before do not count.
    fn fresh_start(&self, summary: &mut Summary, id: FindingId) {
        if let Some(entry) = summary.comments.get_mut(&id) {
            entry.finding.attempts = 0;
            entry.exchanges = 0;
            entry.finding.needs_person = false;
            entry.pending = None;
        }
    }
}

/// What a person does instead of answering.
enum Instead {
    /// Goes back to the finding.
    Back,
    /// Leaves.
    Leave,
}

/// Takes a person's word for a finding whose comment was deleted: there is no thread to say it in.
fn accepted_here(summary: &mut Summary, obs: &Observation, id: FindingId, text: &str) -> bool {
    let (by, round) = (summary.account.clone(), summary.round);
    let Some((entry, by)) = summary.comments.get_mut(&id).filter(|entry| entry.orphaned()).zip(by) else {
        return false;
    };
    let reason = text.trim_start_matches("/pushback accept").trim();
    let because = if reason.is_empty() { "accepted at the keyboard".to_owned() } else { reason.to_owned() };
    let why = format!("{by} accepts it: {because}");
    entry.settle(Status::Withdrawn, Proof::Person { by, because }, why, obs.at, round)
}

/// Says which commands were posted and not obeyed: not every account may give every command.
fn not_obeyed(summary: &Summary, outcome: &Outcome) -> Vec<String> {
    let mut notes = Vec::new();
    for (id, text) in &outcome.commands {
        let item = summary.outbox.iter().rev().find(|item| item.findings.contains(id) && item.body == *text);
        let Some(comment) = item.and_then(|item| item.comment_id) else { continue };
        let record = summary.commands.iter().find(|record| record.comment == comment);
        let why = match record.map(|record| &record.refused) {
            Some(None) => continue,
            Some(Some(why)) => why.clone(),
            None => "the account may not give commands here".to_owned(),
        };
        notes.push(format!("{id}: `{text}` is posted and was not obeyed: {why}"));
    }
    notes
}

fn said(id: FindingId, choice: &Choice) -> Option<Said> {
    let of = |decision, reason: &str, plan| {
        Some(Said { id, decision, reason: reason.to_owned(), commit: None, places: Vec::new(), plan })
    };
    match choice {
        Choice::Argue { reason } => of(Verb::Argue, reason, None),
        Choice::Stale => of(Verb::Stale, "", None),
        Choice::Defer { reason, plan } => of(Verb::Defer, reason, Some(plan.clone())),
        Choice::Answer { reason } => of(Verb::Answer, reason, None),
        Choice::Fix | Choice::Regrade { .. } | Choice::Accept { .. } => None,
    }
}

fn with_text(choice: Choice, text: String) -> Choice {
    let reason = text.trim().to_owned();
    match choice {
        Choice::Argue { .. } => Choice::Argue { reason },
        Choice::Defer { plan, .. } => Choice::Defer { reason, plan },
        Choice::Answer { .. } => Choice::Answer { reason },
        Choice::Regrade { to, .. } => Choice::Regrade { to, reason },
        Choice::Accept { .. } => Choice::Accept { reason },
        Choice::Fix => Choice::Fix,
        Choice::Stale => Choice::Stale,
    }
}
