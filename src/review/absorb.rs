//! What one observation changes in the summary: findings that are new, edited, deleted or moved.
//!
//! Absorbing is idempotent and does not depend on the order of comments. Relations between findings are decided in
//! `comeback`, what threads say in `threads`; nothing here settles by answer: answers are judged elsewhere.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::anchor::{Located, Place};
use super::comeback::{self, Relation};
use super::commands::{self, Obeyed};
use super::comment::{AccountKind, Channel, Comment};
use super::ids::{FindingId, Login, RepoPath, Sha};
use super::note::{Found, Note, Signal, Standing};
use super::observation::Observation;
use super::policy::{Policy, ReviewerPolicy};
use super::severity::{DecidedBy, Severity};
use super::status::{NewFact, Status};
use super::summary::{Entry, Finding, HeadRecord, Move, Proof, Summary};
use super::threads;

/// Everything absorbing depends on.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    /// A complete reading.
    pub obs: &'a Observation,
    /// Its comments with standing and meaning.
    pub notes: &'a [Note],
    /// Where the places of known findings are at the observed head, as far as it was asked.
    pub located: &'a BTreeMap<FindingId, Located>,
    /// Settings.
    pub policy: &'a Policy,
    /// Commits made by this program, pushed or not, beside those the rounds name.
    pub our_commits: &'a BTreeSet<Sha>,
}

/// What happened to one finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum What {
    /// Seen for the first time.
    New,
    /// A successor of an earlier finding.
    CameBack,
    /// Its text means something else.
    Edited,
    /// Its severity changed without an edit.
    Graded,
    /// Settled.
    Settled(Status),
    /// Opened again.
    Reopened(NewFact),
    /// Handed to a person.
    NeedsPerson,
}

/// One event, for the report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Happened {
    /// The finding.
    pub id: FindingId,
    /// What happened.
    pub what: What,
    /// Why, in one sentence.
    pub why: String,
}

/// Something asked by an account that creates no work: shown, never acted upon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Untrusted {
    /// Channel.
    pub channel: Channel,
    /// Id within the channel.
    pub id: u64,
    /// Who, where the account still exists.
    pub login: Option<Login>,
    /// What is asked, one line.
    pub title: String,
}

/// Result of absorbing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Absorbed {
    /// True when the summary is not what it was.
    pub changed: bool,
    /// What happened, in the order in which it was found.
    pub events: Vec<Happened>,
    /// What nobody acts upon.
    pub untrusted: Vec<Untrusted>,
    /// Thread commands that were taken in this reading, obeyed or refused.
    pub commands: Vec<Obeyed>,
    /// Open findings whose place is provably gone, with the proof: candidates for `stale`.
    pub anchors_gone: Vec<(FindingId, String)>,
}

impl Absorbed {
    pub(super) fn tell(&mut self, entry: &Entry, what: What) {
        self.events.push(Happened { id: entry.finding.id, what, why: entry.finding.why.clone() });
    }
}

/// An observation, indexed.
pub(super) struct View<'a> {
    pub(super) seen: Seen<'a>,
    pub(super) at: Timestamp,
    pub(super) round: u32,
    comments: BTreeMap<(Channel, u64), &'a Comment>,
    notes: BTreeMap<(Channel, u64), &'a Note>,
    names: BTreeMap<(Login, AccountKind), &'a str>,
    /// Inline notes of a thread in the order in which they were written, by the thread's first comment.
    pub(super) threads: BTreeMap<u64, Vec<(&'a Comment, &'a Note)>>,
    levels: BTreeMap<u64, (&'a str, Severity)>,
}

impl<'a> View<'a> {
    fn new(round: u32, seen: Seen<'a>) -> Self {
        let comments: BTreeMap<_, _> = seen.obs.comments.iter().map(|c| ((c.channel, c.id), c)).collect();
        let notes: BTreeMap<_, _> = seen.notes.iter().map(|n| ((n.channel, n.id), n)).collect();
        let mut names = BTreeMap::new();
        for note in notes.values() {
            if let (Standing::Reviewer(name), Some(author)) = (&note.standing, &note.author) {
                names.insert((author.login.clone(), author.kind), name.as_str());
            }
        }
        let mut view = Self {
            seen,
            at: seen.obs.at,
            round,
            comments,
            notes,
            names,
            threads: BTreeMap::new(),
            levels: BTreeMap::new(),
        };
        for (comment, note) in view.in_order() {
            if comment.channel == Channel::Inline {
                view.threads.entry(comment.root()).or_default().push((comment, note));
            }
            let Standing::Reviewer(name) = &note.standing else { continue };
            for signal in &note.said.signals {
                if let Signal::ReportsLevels(levels) = signal {
                    // Written later is read later: the newest word stands.
                    view.levels.extend(levels.iter().map(|(id, severity)| (*id, (name.as_str(), *severity))));
                }
            }
        }
        for thread in view.threads.values_mut() {
            thread.sort_by_key(|(comment, _)| (comment.in_reply_to.is_some(), comment.created_at, comment.id));
        }
        view
    }

    /// Comments with their notes, oldest first, whatever the order of the reading.
    pub(super) fn in_order(&self) -> Vec<(&'a Comment, &'a Note)> {
        let mut all: Vec<(&'a Comment, &'a Note)> =
            self.notes.iter().filter_map(|(key, note)| Some((*self.comments.get(key)?, *note))).collect();
        // A review's inline comments come before its body, which may repeat them.
        let time = |comment: &Comment| {
            let review = comment.review_id.and_then(|id| self.comments.get(&(Channel::Review, id)));
            review.map_or(comment.created_at, |review| review.created_at.min(comment.created_at))
        };
        all.sort_by_key(|(comment, _)| (time(comment), comment.channel, comment.id));
        all
    }

    /// Returns the comment that carries a finding, while it exists.
    pub(super) fn comment(&self, id: FindingId) -> Option<&'a Comment> {
        self.comments.get(&carrier(id)).copied()
    }

    /// Returns the note on the comment that carries a finding.
    pub(super) fn note(&self, id: FindingId) -> Option<&'a Note> {
        self.notes.get(&carrier(id)).copied()
    }

    /// Returns who wrote a note.
    pub(super) fn speaker(&self, note: &'a Note) -> Option<Who<'a>> {
        match (&note.standing, &note.author) {
            (Standing::Reviewer(name), _) => Some(Who::Reviewer(name)),
            (_, Some(author)) => Some(self.account(&author.login, author.kind)),
            (_, None) => None,
        }
    }

    /// Returns who is behind an account. A tool that posts under a person's account is told by its own notes only.
    pub(super) fn account(&self, login: &Login, kind: AccountKind) -> Who<'a> {
        match (kind, self.names.get(&(login.clone(), kind))) {
            (AccountKind::Bot, Some(name)) => Who::Reviewer(name),
            (AccountKind::Bot | AccountKind::Person, _) => Who::Account(login.clone(), kind),
        }
    }

    /// Returns who made a finding.
    pub(super) fn author(&self, entry: &Entry) -> Who<'a> {
        let Finding { author, author_kind, id, .. } = &entry.finding;
        match self.note(*id).map(|note| &note.standing) {
            Some(Standing::Reviewer(name)) => Who::Reviewer(name),
            Some(_) => self.account(author, *author_kind),
            None => match self.names.get(&(author.clone(), *author_kind)) {
                Some(name) => Who::Reviewer(name),
                None => Who::Account(author.clone(), *author_kind),
            },
        }
    }

    fn head(&self) -> &Sha {
        &self.seen.obs.pr.head
    }
}

/// Somebody who speaks, one for all accounts of a reviewer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Who<'a> {
    /// A known reviewer, by its rule file's name.
    Reviewer(&'a str),
    /// Anybody else. A person may have a bot's name.
    Account(Login, AccountKind),
}

fn carrier(id: FindingId) -> (Channel, u64) {
    match id {
        FindingId::Inline(id) => (Channel::Inline, id),
        FindingId::Review(id, _) => (Channel::Review, id),
        FindingId::Conversation(id, _) => (Channel::Conversation, id),
    }
}

/// Brings the summary up to an observation.
pub fn absorb(summary: &mut Summary, seen: &Seen<'_>) -> Absorbed {
    let before = summary.clone();
    let view = View::new(summary.round, *seen);
    let mut out = Absorbed::default();
    take_head(summary, &view);
    take_places(summary, &view, &mut out);
    take_deletions(summary, &view, &mut out);
    let mut unsaid = Vec::new();
    for (comment, note) in view.in_order() {
        unsaid.extend(take_note(summary, &view, comment, note, &mut out));
    }
    threads::take_replies(summary, &view, &before, &mut out);
    commands::take_commands(summary, &view, &mut out);
    threads::take_closings(summary, &view, &mut out);
    threads::take_resolutions(summary, &view, &mut out);
    // Last, because a reply can have opened what nobody says any more.
    for id in &unsaid {
        if let Some(entry) = summary.comments.get_mut(id) {
            vanish(entry, "an edit took it out of its comment", &view, &mut out);
        }
    }
    take_deletions(summary, &view, &mut out);
    comeback::repair_duplicates(summary, &view, &unsaid, &mut out);
    out.changed = *summary != before;
    out
}

/// Returns the places to be mapped from the commit they were cited on to the head, one a finding.
///
/// Findings without a known commit or file have no place.
pub fn places(summary: &Summary, obs: &Observation) -> Vec<(FindingId, Sha, Place)> {
    let inline: BTreeMap<u64, &Comment> =
        obs.comments.iter().filter(|c| c.channel == Channel::Inline).map(|c| (c.id, c)).collect();
    let place = |entry: &Entry| {
        let anchor = inline.get(&entry.finding.id.carrier()).and_then(|c| c.anchor.as_ref());
        let anchor = anchor.filter(|_| entry.finding.channel == Channel::Inline);
        let path = anchor.map(|a| a.path.as_str()).or(entry.finding.path.as_deref())?;
        let span = match (entry.start_line, entry.finding.line) {
            (Some(start), Some(line)) => line.saturating_sub(start),
            _ => 0,
        };
        let line = entry.original_line;
        let start = anchor.map_or_else(|| line.map(|l| l.saturating_sub(span)), |a| a.original_start_line);
        let place = Place {
            path: RepoPath::from_outside(path).ok()?,
            start_line: start,
            line,
            side: entry.finding.side.unwrap_or(super::comment::Side::Right),
            whole_file: entry.whole_file,
        };
        Some((entry.finding.id, entry.made_on.clone()?, place))
    };
    summary.comments.values().filter_map(place).collect()
}

fn take_head(summary: &mut Summary, view: &View<'_>) {
    let obs = view.seen.obs;
    let head = view.head();
    let ours = view.seen.our_commits.contains(head)
        || summary.rounds.iter().any(|round| round.head_after.as_ref() == Some(head));
    if summary.heads.last().is_none_or(|last| last.sha != *head) {
        let since = obs.head_since.unwrap_or(obs.at);
        summary.heads.push(HeadRecord { sha: head.clone(), since, ours });
    }
    if summary.pr.head != *head {
        summary.pr.head = head.clone();
    }
    summary.pr.base.clone_from(&obs.pr.base);
    summary.pr.url.clone_from(&obs.pr.url);
    if let Some(account) = &obs.account {
        summary.account = Some(account.login.clone());
    }
}

fn take_places(summary: &mut Summary, view: &View<'_>, out: &mut Absorbed) {
    for entry in summary.comments.values_mut() {
        match view.seen.located.get(&entry.finding.id) {
            Some(Located::There { path, line, start_line, .. }) => {
                entry.finding.path = Some(path.to_string());
                entry.finding.line = *line;
                entry.start_line = *start_line;
            }
            Some(Located::Gone { because }) if entry.finding.status == Status::Open => {
                out.anchors_gone.push((entry.finding.id, because.clone()));
            }
            Some(Located::Gone { .. } | Located::Unsure { .. }) | None => {}
        }
    }
}

/// A reading is complete, so what is not in it does not exist any more.
fn take_deletions(summary: &mut Summary, view: &View<'_>, out: &mut Absorbed) {
    for entry in summary.comments.values_mut() {
        if view.comment(entry.finding.id).is_some() {
            entry.seen_head.clone_from(view.head());
        } else {
            vanish(entry, "its comment was deleted", view, out);
        }
    }
}

fn vanish(entry: &mut Entry, why: &str, view: &View<'_>, out: &mut Absorbed) {
    if entry.settle(Status::Gone, Proof::Deleted, why, view.at, view.round) {
        out.tell(entry, What::Settled(Status::Gone));
        if entry.finding.severity == Severity::P1 && entry.hand_over(format!("{why}; it was a P1")) {
            out.tell(entry, What::NeedsPerson);
        }
    }
}

/// Takes one comment; returns the findings that an edit took out of it.
fn take_note<'a>(
    summary: &mut Summary,
    view: &View<'a>,
    comment: &'a Comment,
    note: &'a Note,
    out: &mut Absorbed,
) -> Vec<FindingId> {
    if !note.standing.creates_work() {
        let listed = note.standing != Standing::Ours && of_carrier(summary, note.channel, note.id).is_empty();
        if let (true, Some(found)) = (listed, note.said.worst()) {
            let login = note.author.as_ref().map(|author| author.login.clone());
            let title = found.title.clone();
            out.untrusted.push(Untrusted { channel: note.channel, id: note.id, login, title });
        }
        return Vec::new();
    }
    let Some(author) = &note.author else { return Vec::new() };
    let mut known = of_carrier(summary, note.channel, note.id);
    for (id, found) in assign(summary, note, &known) {
        known.retain(|other| *other != id);
        let told = Told { view, comment, note, author_login: &author.login, found: &found };
        if summary.comments.contains_key(&id) {
            update(summary, &told, id, out);
        } else if !answers_its_own(summary, view, comment, note, &found) {
            insert(summary, &told, id, out);
        }
    }
    // Without an edit only our reading has changed, and a closing marker says more than its text.
    if note.said.closed.is_some() || comment.updated_at <= comment.created_at {
        return Vec::new();
    }
    known
}

/// A finding as one comment tells it.
struct Told<'v, 'a> {
    view: &'v View<'a>,
    comment: &'a Comment,
    note: &'a Note,
    author_login: &'a Login,
    found: &'v Found,
}

fn of_carrier(summary: &Summary, channel: Channel, id: u64) -> Vec<FindingId> {
    summary.comments.keys().copied().filter(|known| carrier(*known) == (channel, id)).collect()
}

/// Gives each finding of a comment its id: the one it had, found by content, or the next free one.
fn assign(summary: &Summary, note: &Note, known: &[FindingId]) -> Vec<(FindingId, Found)> {
    let make = match note.channel {
        Channel::Inline => {
            return note.said.merged().map(|found| (FindingId::Inline(note.id), found)).into_iter().collect();
        }
        Channel::Review => FindingId::Review,
        Channel::Conversation => FindingId::Conversation,
    };
    let mut free: Vec<&Entry> = known.iter().filter_map(|id| summary.comments.get(id)).collect();
    let mut ids: Vec<Option<FindingId>> = vec![None; note.said.findings.len()];
    // The surest likeness takes its entry first, so that a new item never takes another one's.
    for sure in comeback::ITEM_LIKENESS {
        for (id, found) in ids.iter_mut().zip(&note.said.findings) {
            if id.is_none()
                && let Some(at) = free.iter().position(|entry| sure(entry, found))
            {
                *id = Some(free.remove(at).finding.id);
            }
        }
    }
    let mut next = known.iter().map(|id| item(*id)).max().unwrap_or(0);
    let fresh = |id: Option<FindingId>| {
        id.unwrap_or_else(|| {
            next += 1;
            make(note.id, next)
        })
    };
    ids.into_iter().map(fresh).collect::<Vec<_>>().into_iter().zip(note.said.findings.iter().cloned()).collect()
}

fn item(id: FindingId) -> u32 {
    match id {
        FindingId::Inline(_) => 1,
        FindingId::Review(_, n) | FindingId::Conversation(_, n) => n,
    }
}

/// In its own thread a reviewer answers; what it says there belongs to the finding that is discussed.
fn answers_its_own<'a>(summary: &Summary, view: &View<'a>, comment: &Comment, note: &'a Note, found: &Found) -> bool {
    let Some(root) = comment.in_reply_to.and_then(|root| summary.comments.get(&FindingId::Inline(root))) else {
        return false;
    };
    let same = view.speaker(note).is_some_and(|who| who == view.author(root));
    same || found.decided_by != DecidedBy::Tagged
}

fn insert(summary: &mut Summary, told: &Told<'_, '_>, id: FindingId, out: &mut Absorbed) {
    let mut entry = build(summary, told, id);
    let relation = comeback::relate(summary, told.view, &entry);
    comeback::link(summary, told.view, &mut entry, &relation, out);
    let what = match relation {
        Relation::Fresh => What::New,
        Relation::Duplicate { .. } => What::Settled(Status::Duplicate),
        Relation::Replaces { .. } | Relation::CameBack { .. } => What::CameBack,
    };
    out.tell(&entry, what);
    if entry.finding.needs_person {
        out.tell(&entry, What::NeedsPerson);
    }
    summary.comments.insert(id, entry);
}

fn build(summary: &Summary, told: &Told<'_, '_>, id: FindingId) -> Entry {
    let Told { view, comment, note, author_login, found } = told;
    let (severity, decided_by) = grade(summary, told, id);
    let anchor = comment.anchor.as_ref();
    let made_on = anchor.and_then(|a| a.original_commit.clone()).or_else(|| comment.review_commit.clone());
    let current = made_on.as_ref() == Some(view.head());
    let said_end = found.end_line.or(found.line);
    let original_line = anchor.map_or(said_end, |a| a.original_line.or(a.line));
    // A line of another commit is never shown as a line of this one.
    let (line, start_line) = match anchor {
        Some(a) if a.whole_file => (None, None),
        Some(a) if current => (a.original_line.or(a.line), a.original_start_line.or(a.start_line)),
        Some(a) => (a.line, a.start_line),
        None if current || made_on.is_none() => (said_end, found.line.filter(|_| found.end_line.is_some())),
        None => (None, None),
    };
    let path = anchor.map(|a| a.path.clone()).or_else(|| found.path.clone());
    let whole_file = anchor.map_or(path.is_some() && said_end.is_none(), |a| a.whole_file);
    let why = "seen for the first time".to_owned();
    Entry {
        finding: Finding {
            id,
            severity,
            decided_by,
            rule: found.rule.clone(),
            author: (*author_login).clone(),
            author_kind: note.author.as_ref().map_or(AccountKind::Person, |author| author.kind),
            channel: note.channel,
            path,
            line,
            side: anchor.map(|a| a.side),
            status: Status::Open,
            needs_person: false,
            title: found.title.clone(),
            url: comment.url.clone(),
            attempts: 0,
            previous: Vec::new(),
            why: why.clone(),
        },
        body_hash: found.body_hash.clone(),
        seen_head: view.head().clone(),
        first_head: view.head().clone(),
        made_on,
        start_line: start_line.filter(|start| line.is_none_or(|line| *start < line)),
        original_line,
        thread: (note.channel == Channel::Inline).then(|| comment.root()),
        identity: found.identity.clone(),
        text: found.text.clone(),
        is_question: found.is_question,
        whole_file,
        regrade: None,
        proof: None,
        pending: None,
        heard: Vec::new(),
        exchanges: 0,
        refused: None,
        history: vec![Move { at: view.at, from: None, to: Status::Open, why, round: view.round }],
    }
}

/// Decides the severity: the marker, remapped by the settings, then levels told elsewhere, then the configured default.
fn grade(summary: &Summary, told: &Told<'_, '_>, id: FindingId) -> (Severity, DecidedBy) {
    let Told { view, note, author_login, found, .. } = told;
    let settings = settings(view, note, author_login);
    let path = told.comment.anchor.as_ref().map(|a| a.path.as_str()).or(found.path.as_deref());
    if path.is_some_and(|path| own_plan(summary, path)) {
        return (Severity::P3, found.decided_by);
    }
    let level = found.level.as_deref().zip(settings).and_then(|(level, settings)| {
        settings.levels.iter().find(|(name, _)| name.eq_ignore_ascii_case(level)).map(|(_, severity)| *severity)
    });
    if let Some(severity) = level {
        return (severity, DecidedBy::Tagged);
    }
    match found.decided_by {
        DecidedBy::Tagged | DecidedBy::UnknownTag => (found.severity, found.decided_by),
        DecidedBy::Assumed => {
            if let (FindingId::Inline(comment), Channel::Inline) = (id, note.channel)
                && let Some((name, severity)) = view.levels.get(&comment)
                && view.speaker(note) == Some(Who::Reviewer(name))
            {
                return (*severity, DecidedBy::Tagged);
            }
            let assumed = match note.standing {
                Standing::Reviewer(_) => settings.and_then(|s| s.untagged).unwrap_or(found.severity),
                Standing::Writer { .. } | Standing::PrAuthor { .. } => view.seen.policy.people_untagged,
                Standing::Ours | Standing::Untrusted => found.severity,
            };
            (assumed, DecidedBy::Assumed)
        }
    }
}

fn settings<'a>(view: &View<'a>, note: &Note, login: &Login) -> Option<&'a ReviewerPolicy> {
    let each = &view.seen.policy.reviewers.each;
    let named = |wanted: &str| {
        each.iter().find(|(name, _)| Login::new(name).as_str().eq_ignore_ascii_case(wanted)).map(|(_, policy)| policy)
    };
    let by_name = match &note.standing {
        Standing::Reviewer(name) => named(name),
        Standing::Writer { .. } | Standing::PrAuthor { .. } | Standing::Ours | Standing::Untrusted => None,
    };
    by_name.or_else(|| named(login.as_str()))
}

/// Tells whether a file is a follow-up plan of ours (R15).
fn own_plan(summary: &Summary, path: &str) -> bool {
    summary.comments.values().any(|entry| matches!(&entry.proof, Some(Proof::Plan { path: plan, .. }) if plan == path))
}

fn update(summary: &mut Summary, told: &Told<'_, '_>, id: FindingId, out: &mut Absorbed) {
    let (severity, decided_by) = grade(summary, told, id);
    let Told { view, found, .. } = told;
    let Some(entry) = summary.comments.get_mut(&id) else { return };
    let same_hash = entry.body_hash == found.body_hash;
    entry.body_hash.clone_from(&found.body_hash);
    // A new reading of the same words is no edit.
    let same_words = same_hash || comeback::same_words(&entry.text, &found.text);
    entry.text.clone_from(&found.text);
    entry.is_question = found.is_question;
    entry.finding.rule.clone_from(&found.rule);
    if !same_words {
        entry.finding.title.clone_from(&found.title);
        if entry.regrade.as_ref().is_some_and(|regrade| severity < regrade.from) {
            entry.regrade = None;
        }
    }
    let in_force = entry.regrade.as_ref().and_then(|regrade| regrade.to);
    let graded = in_force.is_none() && entry.finding.severity != severity;
    if in_force.is_none() {
        entry.finding.severity = severity;
        entry.finding.decided_by = decided_by;
    }
    let (at, round) = (view.at, view.round);
    if entry.finding.status == Status::Gone {
        if entry.reopen(NewFact::Returned, "it is there again", at, round) {
            out.tell(entry, What::Reopened(NewFact::Returned));
        }
    } else if !same_words {
        edited(entry, view, out);
        comeback::leave_edited(summary, view, id, out);
    } else if graded && entry.outgraded() {
        entry.reopen(NewFact::Graded, format!("its severity is {severity} now"), at, round);
        out.tell(entry, What::Reopened(NewFact::Graded));
    } else if graded {
        out.tell(entry, What::Graded);
    }
}

fn edited(entry: &mut Entry, view: &View<'_>, out: &mut Absorbed) {
    let why = "its comment was edited and means something else now";
    if entry.reopen(NewFact::Edited, why, view.at, view.round) {
        out.tell(entry, What::Reopened(NewFact::Edited));
        return;
    }
    // An answer under way speaks of the former text.
    if entry.pending.take().is_some() {
        entry.refused = Some("The comment was edited after this answer was given.".to_owned());
    }
    out.tell(entry, What::Edited);
}

#[cfg(test)]
pub(crate) mod tests;
