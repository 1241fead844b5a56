//! What threads say about the findings they hold: replies (R12), closing markers and resolved threads (R6).
//!
//! Each reply is heard once; a standing fact (a marker, a resolved thread) is used once and remembered in the history.

use std::collections::{BTreeMap, BTreeSet};

use super::absorb::{Absorbed, Before, View, What};
use super::comeback;
use super::commands::{is_command, is_hint};
use super::comment::{AccountKind, Author, Channel, Comment, Thread};
use super::ids::{FindingId, Login};
use super::note::{Closed, Note, ReplyVerdict, Standing};
use super::observation::Permission;
use super::outlived::edited_since;
use super::severity::{DecidedBy, Severity};
use super::status::{NewFact, Status};
use super::summary::{Entry, Move, Proof, Summary};

/// Characters of a reply that make a reason.
const REASON: usize = 15;
/// Characters of a reply that are quoted to the editor.
const QUOTED: usize = 300;
const RESOLVED: &str = "its thread was resolved by ";
const UNRESOLVED: &str = "its thread is open again";
const MARKED: &str = "its reviewer marked it as ";
const UNMARKED: &str = "its reviewer took the closing marker out";

/// Tells whether an author's reply has weight in a thread.
pub(super) fn has_weight(standing: &Standing) -> bool {
    match standing {
        Standing::Reviewer(_) | Standing::Writer { .. } | Standing::PrAuthor { writes: true } => true,
        Standing::PrAuthor { writes: false } | Standing::Ours | Standing::Untrusted => false,
    }
}

/// Takes every reply that was not heard yet into account.
pub(super) fn take_replies(summary: &mut Summary, view: &View<'_>, before: &Before, out: &mut Absorbed) {
    let own: BTreeSet<FindingId> = summary.comments.keys().copied().collect();
    for entry in summary.comments.values_mut() {
        let Some(thread) = entry.thread.and_then(|root| view.threads.get(&root)) else { continue };
        let (known, same) = (before.knew(entry.finding.id), before.means_the_same(entry));
        let born = thread.iter().position(|(c, _)| FindingId::Inline(c.id) == entry.finding.id);
        let after = born.map_or(0, |at| at + 1);
        for (at, (comment, note)) in thread.iter().enumerate().skip(after) {
            if !has_weight(&note.standing) || entry.heard.contains(&comment.id) {
                continue;
            }
            entry.heard.push(comment.id);
            if is_command(&comment.body) || (own.contains(&FindingId::Inline(comment.id)) && !insists(note)) {
                continue;
            }
            let earlier = &thread[after..at];
            let outlived = !same && edited_since(view, entry.finding.id, comment);
            Reply { view, comment, note, earlier, known, outlived }.take(entry, out);
        }
        entry.heard.sort_unstable();
    }
}

/// Tells whether a comment is an answer of ours. A hint about a command answers nobody's finding.
fn answers((comment, note): &(&Comment, &Note)) -> bool {
    note.standing == Standing::Ours && !is_hint(&comment.body)
}

/// Tells whether a reply says that the finding stands.
pub(super) fn insists(note: &Note) -> bool {
    note.said.verdict == ReplyVerdict::Insists
}

struct Reply<'v, 'a> {
    view: &'v View<'a>,
    comment: &'a Comment,
    note: &'a Note,
    /// The thread from the finding to this reply.
    earlier: &'v [(&'a Comment, &'a Note)],
    /// True when the finding was known before this observation.
    known: bool,
    /// True when the finding may have been edited to mean something else since.
    outlived: bool,
}

impl Reply<'_, '_> {
    fn take(&self, entry: &mut Entry, out: &mut Absorbed) {
        let after_ours = self.earlier.iter().any(answers);
        if self.note.said.closed.is_some() && self.of_reviewer(entry) {
            if !self.outlived {
                self.withdraw(entry, "says that it is done", out);
            }
            return;
        }
        match self.note.said.verdict {
            ReplyVerdict::Notice => {}
            ReplyVerdict::Accepts if after_ours && !self.outlived => self.accept(entry, out),
            // Without an answer of ours there is nothing to accept but the finding itself; what was edited since is another one.
            ReplyVerdict::Accepts => {}
            ReplyVerdict::Insists | ReplyVerdict::Unclear => {
                if after_ours || self.crossed(entry) {
                    self.dispute(entry, out);
                } else {
                    self.raise(entry, out);
                }
            }
        }
    }

    /// A reply nobody of us had read when the finding was answered, or one to a finding settled without words.
    fn crossed(&self, entry: &Entry) -> bool {
        let first_seen = entry.history.first().map(|first| first.at);
        // Within one second times say nothing; that nobody heard it before does.
        let late = self.known && first_seen.is_some_and(|seen| self.comment.created_at >= seen);
        let under_way = entry.pending.as_ref().is_some_and(|pending| comeback::of_words(pending.verb));
        let settled = entry.finding.status.settled() && (self.of_reviewer(entry) || insists(self.note));
        late && (under_way || settled)
    }

    fn of_reviewer(&self, entry: &Entry) -> bool {
        self.view.speaker(self.note).is_some_and(|who| who == self.view.author(entry))
    }

    fn login(&self) -> Option<&Login> {
        self.note.author.as_ref().map(|author| &author.login)
    }

    fn name(&self) -> &str {
        self.login().map_or("somebody", Login::as_str)
    }

    fn accept(&self, entry: &mut Entry, out: &mut Absorbed) {
        if self.of_reviewer(entry) {
            self.withdraw(entry, "accepts the answer", out);
            return;
        }
        let Some(author) = &self.note.author else { return };
        // R6: others may take back what is less than a P1.
        if author.kind == AccountKind::Person && entry.finding.severity != Severity::P1 {
            let because = format!("accepts the answer in comment {}", self.comment.id);
            let why = format!("{} {because}", author.login);
            let proof = Proof::Person { by: author.login.clone(), because };
            if entry.settle(Status::Withdrawn, proof, why, self.view.at, self.view.round) {
                out.tell(entry, What::Settled(Status::Withdrawn));
            }
        }
    }

    fn withdraw(&self, entry: &mut Entry, what: &str, out: &mut Absorbed) {
        let why = format!("{} {what} in comment {}", self.name(), self.comment.id);
        let proof = Proof::Reviewer { because: why.clone() };
        if entry.settle(Status::Withdrawn, proof, why, self.view.at, self.view.round) {
            out.tell(entry, What::Settled(Status::Withdrawn));
        }
    }

    fn dispute(&self, entry: &mut Entry, out: &mut Absorbed) {
        match entry.finding.status {
            Status::Gone => return,
            // Taken back or carried elsewhere: only a clear word opens it again.
            Status::Withdrawn | Status::Duplicate if !insists(self.note) => return,
            Status::Open
            | Status::Fixed
            | Status::Argued
            | Status::Stale
            | Status::Deferred
            | Status::Acknowledged
            | Status::Answered
            | Status::Withdrawn
            | Status::Duplicate => {}
        }
        let why = format!("{} answered and does not accept it", self.name());
        if entry.reopen(NewFact::Disputed, why.clone(), self.view.at, self.view.round) {
            out.tell(entry, What::Reopened(NewFact::Disputed));
        } else if entry.pending.as_ref().is_some_and(|pending| comeback::of_words(pending.verb)) {
            entry.pending = None;
            entry.finding.why = why;
        }
        self.raise(entry, out);
        let text: String = self.comment.body.chars().take(QUOTED).collect();
        entry.refused = Some(format!("{} answered: {}", self.name(), text.trim()));
        if self.opens_exchange() {
            entry.exchanges += 1;
            let cap = self.view.seen.policy.limits.exchanges.max(1);
            if entry.exchanges >= cap && entry.hand_over(format!("{} exchanges without agreement", entry.exchanges)) {
                out.tell(entry, What::NeedsPerson);
            }
        }
    }

    /// Several replies to one answer of ours are one exchange.
    fn opens_exchange(&self) -> bool {
        let last_ours = self.earlier.iter().rposition(answers);
        !self.earlier[last_ours.map_or(0, |at| at + 1)..].iter().any(|(comment, note)| {
            has_weight(&note.standing)
                && !is_command(&comment.body)
                && matches!(note.said.verdict, ReplyVerdict::Insists | ReplyVerdict::Unclear)
                && last_ours.is_some()
        })
    }

    /// A reviewer may say in its own thread that it is worse than it said; the first comment, read again, takes nothing back.
    fn raise(&self, entry: &mut Entry, out: &mut Absorbed) {
        let Some(found) = self.note.said.worst().filter(|found| found.decided_by == DecidedBy::Tagged) else { return };
        let plan = entry.finding.path.as_deref().is_some_and(|path| self.view.is_plan(path));
        let worse = found.severity < entry.finding.severity && !plan;
        if !worse || !self.of_reviewer(entry) || entry.regrade.is_some() {
            return;
        }
        entry.finding.severity = found.severity;
        entry.finding.decided_by = found.decided_by;
        entry.worst = Some(found.severity);
        if entry.outgraded() {
            let why = format!("{} says in comment {} that it is {}", self.name(), self.comment.id, found.severity);
            entry.reopen(NewFact::Graded, why, self.view.at, self.view.round);
            out.tell(entry, What::Reopened(NewFact::Graded));
        } else {
            out.tell(entry, What::Graded);
        }
    }
}

/// Settles, or where it is settled already, remembers the fact so that it is not used later.
fn use_once(entry: &mut Entry, proof: Proof, why: String, view: &View<'_>, out: &mut Absorbed) {
    if entry.finding.status.settled() {
        let status = entry.finding.status;
        entry.history.push(Move { at: view.at, from: Some(status), to: status, why, round: view.round });
    } else if entry.settle(Status::Withdrawn, proof, why, view.at, view.round) {
        out.tell(entry, What::Settled(Status::Withdrawn));
    }
}

/// Takes closing markers that a reviewer wrote into its own comment, or took out again.
pub(super) fn take_closings(summary: &mut Summary, view: &View<'_>, out: &mut Absorbed) {
    let mut items: BTreeMap<(Channel, u64), usize> = BTreeMap::new();
    for entry in summary.comments.values() {
        *items.entry((entry.finding.channel, entry.finding.id.carrier())).or_default() += 1;
    }
    for entry in summary.comments.values_mut() {
        let Some(note) = view.note(entry.finding.id).filter(|note| has_weight(&note.standing)) else { continue };
        let alone = items.get(&(entry.finding.channel, entry.finding.id.carrier())).is_none_or(|n| *n <= 1);
        // A marker on a body closes all of it or says nothing of one item among several.
        match &note.said.closed {
            Some(closed) if alone || note.said.findings.is_empty() => close(entry, closed, view, out),
            None if !note.said.findings.is_empty() => unclose(entry, view, out),
            Some(_) | None => {}
        }
    }
}

fn close(entry: &mut Entry, closed: &Closed, view: &View<'_>, out: &mut Absorbed) {
    let (what, sha) = match closed {
        Closed::Addressed { sha } => ("addressed", sha.as_deref()),
        Closed::Resolved { sha } => ("resolved", sha.as_deref()),
        Closed::Withdrawn => ("withdrawn", None),
    };
    let because = match sha {
        Some(sha) => format!("{MARKED}{what} in {sha}"),
        None => format!("{MARKED}{what}"),
    };
    if last_of(entry, MARKED, UNMARKED).is_none_or(|last| last.why != because) {
        use_once(entry, Proof::Reviewer { because: because.clone() }, because, view, out);
    }
}

fn unclose(entry: &mut Entry, view: &View<'_>, out: &mut Absorbed) {
    if let Some(last) = last_of(entry, MARKED, UNMARKED).filter(|last| last.why.starts_with(MARKED)).cloned() {
        take_back(entry, &last, UNMARKED, view, out);
    }
}

/// Returns the last move made by a standing fact or by its end.
fn last_of<'e>(entry: &'e Entry, begin: &str, end: &str) -> Option<&'e Move> {
    entry.history.iter().rev().find(|past| past.why.starts_with(begin) || past.why == end)
}

/// The end of a standing fact opens what the fact had settled.
fn take_back(entry: &mut Entry, last: &Move, why: &str, view: &View<'_>, out: &mut Absorbed) {
    let status = entry.finding.status;
    let withdrew = last.from == Some(Status::Open) && status == Status::Withdrawn;
    if withdrew && entry.reopen(NewFact::Unresolved, why, view.at, view.round) {
        out.tell(entry, What::Reopened(NewFact::Unresolved));
    } else {
        let why = why.to_owned();
        entry.history.push(Move { at: view.at, from: Some(status), to: status, why, round: view.round });
    }
}

/// Takes threads that somebody resolved, and threads that are open again.
pub(super) fn take_resolutions(summary: &mut Summary, view: &View<'_>, out: &mut Absorbed) {
    let threads: BTreeMap<u64, &Thread> = view.seen.obs.threads.iter().map(|thread| (thread.root, thread)).collect();
    for entry in summary.comments.values_mut() {
        if let Some(thread) = entry.thread.and_then(|root| threads.get(&root)) {
            resolution(entry, thread, view, out);
        }
    }
}

fn resolution(entry: &mut Entry, thread: &Thread, view: &View<'_>, out: &mut Absorbed) {
    let used = last_of(entry, RESOLVED, UNRESOLVED).filter(|last| last.why.starts_with(RESOLVED)).cloned();
    match (thread.resolved, used) {
        (true, None) => {
            if let Some(proof) = thread.resolved_by.as_ref().and_then(|by| resolver(entry, thread, by, view)) {
                let by = thread.resolved_by.as_ref().map(ToString::to_string).unwrap_or_default();
                use_once(entry, proof, format!("{RESOLVED}{by}"), view, out);
            }
        }
        (false, Some(last)) => take_back(entry, &last, UNRESOLVED, view, out),
        (true, Some(_)) | (false, None) => {}
    }
}

/// Returns the proof a resolver's deed gives; `None` where it proves nothing.
fn resolver(entry: &Entry, thread: &Thread, by: &Login, view: &View<'_>) -> Option<Proof> {
    if view.seen.obs.account.as_ref().is_some_and(|account| account.login == *by) || speaks_for_us(by, view) {
        return None;
    }
    if is_author(entry, by, view) {
        return Some(Proof::Reviewer { because: format!("{by} resolved its thread") });
    }
    if !writes(by, view) {
        return None;
    }
    let because = match (entry.finding.severity, reason_of(thread, by, view)) {
        (Severity::P1, None) => return None,
        (_, None) => "resolved its thread".to_owned(),
        (_, Some(comment)) => format!("resolved its thread with the reason in comment {comment}"),
    };
    Some(Proof::Person { by: by.clone(), because })
}

/// Tells whether this program has spoken here through an account: what that account resolves may be the program's deed,
/// which tells another account no more than it tells this one (R13).
fn speaks_for_us(by: &Login, view: &View<'_>) -> bool {
    let of_theirs = |note: &Note| note.author.as_ref().is_some_and(|author| author.login == *by);
    view.seen.notes.iter().any(|note| note.standing == Standing::Ours && of_theirs(note))
}

/// The forge names a resolver by login alone; a person who took a bot's name is not that bot.
fn is_author(entry: &Entry, by: &Login, view: &View<'_>) -> bool {
    let author = view.author(entry);
    let person = Author { login: by.clone(), kind: AccountKind::Person };
    let obs = view.seen.obs;
    // Who may only read could not have resolved it; the forge says the same of a login that no person has.
    let is_person = obs.permissions.get(by).is_some_and(|may| *may != Permission::Read)
        || obs.pr.author.as_ref() == Some(&person)
        || obs.comments.iter().any(|comment| comment.author.as_ref() == Some(&person));
    author == view.account(by, AccountKind::Person) || (!is_person && author == view.account(by, AccountKind::Bot))
}

/// Tells whether a person may write here: by the permission that was read, or by what was decided on a note of theirs.
fn writes(by: &Login, view: &View<'_>) -> bool {
    let person = Author { login: by.clone(), kind: AccountKind::Person };
    view.seen.obs.permission(&person) == Permission::Write
        || view.seen.notes.iter().any(|note| {
            note.author.as_ref() == Some(&person)
                && match note.standing {
                    Standing::Writer { .. } => true,
                    Standing::PrAuthor { writes } => writes,
                    Standing::Reviewer(_) | Standing::Ours | Standing::Untrusted => false,
                }
        })
}

/// Returns the resolver's own comment in the thread that gives a reason.
fn reason_of(thread: &Thread, by: &Login, view: &View<'_>) -> Option<u64> {
    let posts = view.threads.get(&thread.root)?;
    let reason = posts.iter().rev().find(|(comment, note)| {
        comment.id != thread.root
            && note.author.as_ref().is_some_and(|author| author.login == *by)
            && note.standing != Standing::Ours
            && !is_command(&comment.body)
            && comment.body.trim().chars().count() >= REASON
    });
    reason.map(|(comment, _)| comment.id)
}
