//! An observation with its indexes: who said what, in which order, in which thread.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::Seen;
use crate::review::comment::{AccountKind, Channel, Comment};
use crate::review::followup;
use crate::review::ids::{FindingId, Login, PrNumber, Sha};
use crate::review::note::{Note, Signal, Standing};
use crate::review::severity::Severity;
use crate::review::summary::{Entry, Finding, Proof, Summary};

/// An observation, indexed.
pub(in crate::review) struct View<'a> {
    pub(in crate::review) seen: Seen<'a>,
    pub(in crate::review) at: Timestamp,
    pub(in crate::review) round: u32,
    comments: BTreeMap<(Channel, u64), &'a Comment>,
    notes: BTreeMap<(Channel, u64), &'a Note>,
    names: BTreeMap<(Login, AccountKind), &'a str>,
    /// Inline notes of a thread in the order in which they were written, by the thread's first comment.
    pub(in crate::review) threads: BTreeMap<u64, Vec<(&'a Comment, &'a Note)>>,
    pub(super) levels: BTreeMap<u64, (&'a str, Severity)>,
    plans: BTreeSet<String>,
    pr: PrNumber,
}

impl<'a> View<'a> {
    pub(super) fn new(summary: &Summary, seen: Seen<'a>) -> Self {
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
            round: summary.round,
            comments,
            notes,
            names,
            threads: BTreeMap::new(),
            levels: BTreeMap::new(),
            plans: summary.comments.values().filter_map(own_plan).collect(),
            pr: summary.pr.number,
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
    pub(in crate::review) fn in_order(&self) -> Vec<(&'a Comment, &'a Note)> {
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
    pub(in crate::review) fn comment(&self, id: FindingId) -> Option<&'a Comment> {
        self.comments.get(&carrier(id)).copied()
    }

    /// Returns the note on the comment that carries a finding.
    pub(in crate::review) fn note(&self, id: FindingId) -> Option<&'a Note> {
        self.notes.get(&carrier(id)).copied()
    }

    /// Returns who wrote a note.
    pub(in crate::review) fn speaker(&self, note: &'a Note) -> Option<Who<'a>> {
        match (&note.standing, &note.author) {
            (Standing::Reviewer(name), _) => Some(Who::Reviewer(name)),
            (_, Some(author)) => Some(self.account(&author.login, author.kind)),
            (_, None) => None,
        }
    }

    /// Returns who is behind an account. A tool that posts under a person's account is told by its own notes only.
    pub(in crate::review) fn account(&self, login: &Login, kind: AccountKind) -> Who<'a> {
        match (kind, self.names.get(&(login.clone(), kind))) {
            (AccountKind::Bot, Some(name)) => Who::Reviewer(name),
            (AccountKind::Bot | AccountKind::Person, _) => Who::Account(login.clone(), kind),
        }
    }

    /// Returns who made a finding.
    pub(in crate::review) fn author(&self, entry: &Entry) -> Who<'a> {
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

    /// Tells whether a file is a follow-up plan of ours (R15): by what is remembered, or by its name.
    pub(in crate::review) fn is_plan(&self, path: &str) -> bool {
        let dir = &self.seen.policy.followup_dir;
        self.plans.contains(path) || followup::is_plan(path, dir, self.pr, |id| self.comment(id).is_some())
    }

    pub(super) fn head(&self) -> &Sha {
        &self.seen.obs.pr.head
    }
}

/// Somebody who speaks, one for all accounts of a reviewer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::review) enum Who<'a> {
    /// A known reviewer, by its rule file's name.
    Reviewer(&'a str),
    /// Anybody else. A person may have a bot's name.
    Account(Login, AccountKind),
}

pub(super) fn carrier(id: FindingId) -> (Channel, u64) {
    match id {
        FindingId::Inline(id) => (Channel::Inline, id),
        FindingId::Review(id, _) => (Channel::Review, id),
        FindingId::Conversation(id, _) => (Channel::Conversation, id),
    }
}

/// Returns the follow-up plan of a finding.
fn own_plan(entry: &Entry) -> Option<String> {
    match &entry.proof {
        Some(Proof::Plan { path, .. }) => Some(path.clone()),
        Some(_) | None => entry.pending.as_ref().and_then(|pending| pending.file.clone()),
    }
}
