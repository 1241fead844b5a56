//! Which findings are one: copies, repeats and comebacks of a reviewer's claim (R3, R12).
//!
//! A claim is never lost: of several copies one stays open, and a copy is only as settled as the one that carries it.
//! Whether an answer is right is not decided here.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use similar::{Algorithm, capture_diff_slices};

use super::absorb::{Absorbed, View, What};
use super::anchor::Located;
use super::commands::{Command, parse};
use super::comment::Channel;
use super::decision::Verb;
use super::ids::{FindingId, Sha};
use super::note::{Found, ReplyVerdict, Standing};
use super::status::{NewFact, Status};
use super::summary::{Entry, Proof, Summary};

/// From this likeness of words on, two texts make one claim.
pub const NEAR_TEXT: f32 = 0.8;
/// From this likeness on, a text is posted again word for word.
pub const VERBATIM: f32 = 0.95;
/// From this likeness on, an item of an edited body is the former item of that file.
pub const SAME_ITEM: f32 = 0.6;
/// Share of words that texts under one title must have in common: reviewers use one title for many things.
pub const SHARED_WORDS: f32 = 0.5;
/// Words below which a text says nothing beside its title.
const FEW_WORDS: usize = 8;
/// Lines between two places that still are one place.
pub const SAME_PLACE_LINES: u32 = 3;
/// Words of a text that are compared.
const MOST_WORDS: usize = 400;

/// How sure two items of one body are the same, surest first.
pub(super) const ITEM_LIKENESS: [fn(&Entry, &Found) -> bool; 5] = [
    |entry, found| entry.identity.is_some() && entry.identity == found.identity,
    |entry, found| entry.body_hash == found.body_hash && entry.finding.path == found.path && same_line(entry, found),
    |entry, found| entry.body_hash == found.body_hash && entry.finding.path == found.path,
    |entry, found| entry.finding.path == found.path && same_words(&entry.finding.title, &found.title),
    |entry, found| entry.finding.path == found.path && likeness(&entry.text, &found.text) >= SAME_ITEM,
];

fn same_line(entry: &Entry, found: &Found) -> bool {
    entry.original_line == found.end_line.or(found.line)
}

/// What is said of a copy after the id of the open finding that carries it.
const COPY_OF_OPEN: &str = " says the same and is open";

/// Splits a text into lower-case words without punctuation and markup.
fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
        .take(MOST_WORDS)
        .map(str::to_lowercase)
        .collect()
}

/// Tells whether two texts have the same words in the same order; case, punctuation and spacing say nothing.
///
/// Symbols count, for `a < b` and `a > b` mean different things.
pub(super) fn same_words(one: &str, other: &str) -> bool {
    let normal = |text: &str| {
        text.split_whitespace()
            .map(|word| {
                word.trim_matches(|c: char| matches!(c, '*' | '_' | '`' | '.' | ',' | ':' | ';')).to_lowercase()
            })
            .filter(|word| !word.is_empty())
            .collect::<Vec<_>>()
    };
    normal(one) == normal(other)
}

/// Returns the likeness of two texts by their words, 0 to 1.
pub fn likeness(one: &str, other: &str) -> f32 {
    alike((one, &words(one)), (other, &words(other)))
}

/// The same for texts whose words are known.
fn alike((one, a): (&str, &[String]), (other, b): (&str, &[String])) -> f32 {
    let total = (a.len() + b.len()) as f32;
    if a.is_empty() || b.is_empty() {
        return if a.len() == b.len() && one.trim() == other.trim() { 1.0 } else { 0.0 };
    }
    // No pair can be more alike than its lengths allow, nor than the words that both have.
    let at_most = |words: usize| 2.0 * words as f32 / total < SAME_ITEM;
    if at_most(a.len().min(b.len())) || at_most(in_both(a, b)) {
        return 0.0;
    }
    let equal: usize = capture_diff_slices(Algorithm::Myers, a, b)
        .iter()
        .filter(|op| op.tag() == similar::DiffTag::Equal)
        .map(|op| op.old_range().len())
        .sum();
    2.0 * equal as f32 / total
}

/// Counts the words that two texts have in common, each as often as both have it.
fn in_both(one: &[String], other: &[String]) -> usize {
    let mut left: HashMap<&str, usize> = HashMap::new();
    one.iter().for_each(|word| *left.entry(word).or_default() += 1);
    let mut taken = |word: &&String| match left.get_mut(word.as_str()) {
        Some(count) if *count > 0 => {
            *count -= 1;
            true
        }
        Some(_) | None => false,
    };
    other.iter().filter(|word| taken(word)).count()
}

/// Returns the share of the shorter text's words that the other has too; a text of few words is no evidence against.
fn share(a: &[String], b: &[String]) -> f32 {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    if short.len() < FEW_WORDS {
        return 1.0;
    }
    short.iter().filter(|word| long.contains(word)).count() as f32 / short.len() as f32
}

/// What a new finding is to the known ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Relation {
    /// Nothing.
    Fresh,
    /// A copy of one that carries it.
    Duplicate {
        /// The one that carries it.
        of: FindingId,
        /// Why it is a copy.
        why: String,
    },
    /// The newer copy of one that is still open: carries both from now on.
    Replaces {
        /// The older copy.
        pred: FindingId,
    },
    /// A claim that had been settled.
    CameBack {
        /// The settled one.
        pred: FindingId,
        /// True when it is word for word the same over unchanged code.
        verbatim: bool,
    },
}

/// Findings by what can make them one with another: the file they speak of, and the reviewer's own identity.
#[derive(Default)]
pub(super) struct Near {
    by_path: BTreeMap<Option<String>, Vec<FindingId>>,
    by_identity: BTreeMap<String, Vec<FindingId>>,
}

impl Near {
    pub(super) fn new(summary: &Summary) -> Self {
        let mut near = Self::default();
        summary.comments.values().for_each(|entry| near.add(entry));
        near
    }

    pub(super) fn add(&mut self, entry: &Entry) {
        let id = entry.finding.id;
        self.by_path.entry(entry.finding.path.clone()).or_default().push(id);
        if let Some(identity) = &entry.identity {
            self.by_identity.entry(identity.clone()).or_default().push(id);
        }
    }

    /// Returns all that a finding can be one with, in the order of their ids.
    fn of(&self, new: &Entry) -> BTreeSet<FindingId> {
        let by_path = self.by_path.get(&new.finding.path);
        let by_identity = new.identity.as_ref().and_then(|identity| self.by_identity.get(identity));
        by_path.into_iter().chain(by_identity).flatten().copied().collect()
    }
}

/// Decides what a finding that is seen for the first time is to those that are known.
pub(super) fn relate(summary: &Summary, view: &View<'_>, near: &Near, new: &Entry) -> Relation {
    let own = view.author(new);
    let mut older: Vec<&Entry> = near
        .of(new)
        .iter()
        .filter_map(|id| summary.comments.get(id))
        .filter(|entry| entry.finding.path == new.finding.path || same_identity(entry, new))
        .filter(|entry| entry.finding.status != Status::Duplicate && view.author(entry) == own)
        .collect();
    older.sort_by_cached_key(|entry| std::cmp::Reverse(written(view, entry)));
    let together = |entry: &&&Entry| review_of(view, entry).is_some_and(|id| review_of(view, new) == Some(id));
    let body_first =
        |entry: &&&Entry| entry.finding.channel != Channel::Inline && new.finding.channel == Channel::Inline;
    if let Some(body) = older.iter().filter(together).filter(body_first).find(|body| same_claim(body, new)) {
        return of_claim(summary, view, body, new);
    }
    if let Some(first) = older.iter().rev().filter(together).find(|entry| repeats(entry, new)) {
        return Relation::Duplicate { of: first.finding.id, why: format!("{} says the same", first.finding.id) };
    }
    let apart: Vec<&Entry> = older
        .iter()
        .filter(|entry| !together(entry) && !same_carrier(entry, new) && written(view, entry) <= written(view, new))
        .copied()
        .collect();
    if let Some(pred) = the_one(&apart, new) {
        return of_claim(summary, view, pred, new);
    }
    match apart.iter().find(|pred| pred.finding.status != Status::Open && related(pred, new)) {
        Some(pred) if !before_fix(summary, view, pred, new) => {
            Relation::CameBack { pred: pred.finding.id, verbatim: false }
        }
        Some(_) | None => Relation::Fresh,
    }
}

/// The finding that a new one repeats. Where several near it say the same and none stands right there, it is none of
/// them: to take it for one of them would lose that one.
fn the_one<'e>(apart: &[&'e Entry], new: &Entry) -> Option<&'e Entry> {
    let mut fitting = apart.iter().filter(|pred| same_claim(pred, new));
    let first = fitting.next()?;
    let right_there = |pred: &&&Entry| same_identity(pred, new) || distance(pred, new) == Some(0);
    let open = |pred: &&&Entry| pred.finding.status == Status::Open;
    let others: Vec<&&Entry> = fitting.collect();
    // The place decides before the age, unless the newer one is itself what came of the older.
    let older = |pred: &&&&Entry| right_there(pred) && !first.finding.previous.contains(&pred.finding.id);
    // Beside an open one only the very text does: near an open claim, one that sounds like it may be about another thing.
    let verbatim = |pred: &&&&Entry| older(pred) && pred.body_hash == new.body_hash;
    let there = if open(&first) { others.iter().find(verbatim) } else { others.iter().find(older) };
    if let (false, Some(there)) = (right_there(&first), there) {
        return Some(there);
    }
    if right_there(&first) || !open(&first) || !others.iter().any(open) {
        return Some(first);
    }
    others.into_iter().find(|pred| right_there(pred)).copied()
}

/// Two comments on two lines of one commit, of one kind: what they say alike they say of two places.
fn two_places(one: &Entry, other: &Entry) -> bool {
    let inline = |entry: &Entry| entry.finding.channel == Channel::Inline;
    let lines = one.original_line.zip(other.original_line);
    one.made_on.is_some()
        && one.made_on == other.made_on
        && inline(one) == inline(other)
        && lines.is_some_and(|(a, b)| a != b)
}

fn written(view: &View<'_>, entry: &Entry) -> (Option<jiff::Timestamp>, u64) {
    (view.comment(entry.finding.id).map(|comment| comment.created_at), entry.finding.id.carrier())
}

fn same_carrier(one: &Entry, other: &Entry) -> bool {
    one.finding.channel == other.finding.channel && one.finding.id.carrier() == other.finding.id.carrier()
}

fn review_of(view: &View<'_>, entry: &Entry) -> Option<u64> {
    match entry.finding.id {
        FindingId::Inline(_) => view.comment(entry.finding.id).and_then(|comment| comment.review_id),
        FindingId::Review(id, _) => Some(id),
        FindingId::Conversation(..) => None,
    }
}

/// Within one review: one text at one place, or a body's item that repeats an inline comment.
fn repeats(first: &Entry, new: &Entry) -> bool {
    if new.finding.severity < first.finding.severity {
        return false;
    }
    let inline = |entry: &Entry| entry.finding.channel == Channel::Inline;
    if inline(first) && !inline(new) {
        return same_claim(first, new);
    }
    inline(first) == inline(new)
        && first.body_hash == new.body_hash
        && first.finding.path == new.finding.path
        && first.finding.side == new.finding.side
        && (first.original_line, first.whole_file) == (new.original_line, new.whole_file)
}

/// Lines between two places of one file; `None` when it cannot be told.
fn distance(one: &Entry, other: &Entry) -> Option<u32> {
    if one.finding.path.is_none() || one.finding.path != other.finding.path {
        return None;
    }
    if one.finding.side.zip(other.finding.side).is_some_and(|(a, b)| a != b) {
        return None;
    }
    if one.whole_file && other.whole_file {
        return Some(0);
    }
    match (one.finding.line, other.finding.line) {
        (Some(a), Some(b)) => Some(a.abs_diff(b)),
        (_, _) if one.made_on.is_some() && one.made_on == other.made_on => {
            Some(one.original_line?.abs_diff(other.original_line?))
        }
        (_, _) => None,
    }
}

fn same_place(one: &Entry, other: &Entry) -> bool {
    distance(one, other).is_some_and(|lines| lines <= SAME_PLACE_LINES)
}

/// A body's item may name its file only.
fn vague(entry: &Entry) -> bool {
    entry.finding.channel != Channel::Inline && entry.original_line.is_none()
}

fn same_text(one: &Entry, other: &Entry) -> bool {
    says_the_same((&one.finding.title, &one.text), (&other.finding.title, &other.text))
}

/// Tells whether two findings, each a title and a text, say one thing; where they stand is left aside.
pub fn says_the_same(one: (&str, &str), other: (&str, &str)) -> bool {
    let (a, b) = (words(one.1), words(other.1));
    let titled = same_words(one.0, other.0) && share(&a, &b) >= SHARED_WORDS;
    titled || alike((one.1, &a), (other.1, &b)) >= NEAR_TEXT
}

fn same_identity(one: &Entry, other: &Entry) -> bool {
    one.identity.is_some() && one.identity == other.identity
}

/// Tells whether both say one thing about one place.
fn same_claim(one: &Entry, other: &Entry) -> bool {
    if same_identity(one, other) {
        return true;
    }
    if two_places(one, other) {
        return false;
    }
    let at_one_place =
        same_place(one, other) || (one.finding.path == other.finding.path && (vague(one) || vague(other)));
    (at_one_place && same_text(one, other)) || same_words_where_it_was(one, other)
}

/// A comment made on an older commit has no line at the head: then the text word for word, near the same line of then, is one claim.
fn same_words_where_it_was(one: &Entry, other: &Entry) -> bool {
    let lost = one.finding.line.is_none() || other.finding.line.is_none();
    let sides = one.finding.side.zip(other.finding.side).is_none_or(|(a, b)| a == b);
    let near = one.original_line.zip(other.original_line).is_some_and(|(a, b)| a.abs_diff(b) <= SAME_PLACE_LINES);
    let path = one.finding.path.is_some() && one.finding.path == other.finding.path;
    lost && sides && near && path && likeness(&one.text, &other.text) >= VERBATIM
}

/// Tells whether a settled finding and a new one belong together: at one place, or with one text in one file.
fn related(pred: &Entry, new: &Entry) -> bool {
    same_place(pred, new) || (pred.finding.path == new.finding.path && likeness(&pred.text, &new.text) >= NEAR_TEXT)
}

fn of_claim(summary: &Summary, view: &View<'_>, pred: &Entry, new: &Entry) -> Relation {
    let id = pred.finding.id;
    let worse = new.finding.severity < pred.finding.severity;
    let inline = |entry: &Entry| entry.finding.channel == Channel::Inline;
    match pred.finding.status {
        Status::Open => {
            let copy = Relation::Duplicate { of: id, why: format!("{id}{COPY_OF_OPEN}") };
            match (inline(pred), inline(new)) {
                // A thread carries better than a body, but never a worse claim.
                (true, false) if worse => Relation::Fresh,
                (true, false) => copy,
                _ if !worse && pred.pending.is_some() && !place_gone(view, id) => copy,
                _ => Relation::Replaces { pred: id },
            }
        }
        Status::Fixed if before_fix(summary, view, pred, new) => {
            Relation::Duplicate { of: id, why: format!("made on a commit older than the fix of {id}") }
        }
        Status::Argued | Status::Answered | Status::Deferred | Status::Acknowledged | Status::Withdrawn => {
            let again = !worse && stands(pred) && unchanged(view, id) && likeness(&pred.text, &new.text) >= VERBATIM;
            if again && (pred.finding.status == Status::Acknowledged || reposted(summary, pred)) {
                return Relation::Duplicate {
                    of: id,
                    why: format!("{id} posted again word for word over the same code"),
                };
            }
            Relation::CameBack { pred: id, verbatim: again }
        }
        Status::Fixed | Status::Stale | Status::Gone | Status::Duplicate => {
            Relation::CameBack { pred: id, verbatim: false }
        }
    }
}

/// A person's word stands against a copy, a reviewer's own withdrawal is taken back by it.
fn stands(pred: &Entry) -> bool {
    match &pred.proof {
        Some(Proof::Reviewer { .. }) => false,
        Some(Proof::Person { .. }) => pred.finding.severity != super::severity::Severity::P1,
        Some(
            Proof::Commit { .. }
            | Proof::Reply { .. }
            | Proof::AnchorGone { .. }
            | Proof::Plan { .. }
            | Proof::Listed
            | Proof::SameAs { .. }
            | Proof::Deleted,
        )
        | None => true,
    }
}

fn unchanged(view: &View<'_>, id: FindingId) -> bool {
    matches!(view.seen.located.get(&id), Some(Located::There { edited: false, .. }))
}

fn place_gone(view: &View<'_>, id: FindingId) -> bool {
    matches!(view.seen.located.get(&id), Some(Located::Gone { .. }))
}

/// Tells whether a word for word copy was already shown once more: a later one, or the finding is one itself.
fn reposted(summary: &Summary, pred: &Entry) -> bool {
    let alike = |other: &Entry| likeness(&other.text, &pred.text) >= VERBATIM;
    let later = summary.comments.values().any(|e| e.finding.previous.contains(&pred.finding.id) && alike(e));
    later || pred.finding.previous.iter().filter_map(|id| summary.comments.get(id)).any(alike)
}

/// Tells whether a finding was made on a commit older than its predecessor's fix. Unknown history says no.
fn before_fix(summary: &Summary, view: &View<'_>, pred: &Entry, new: &Entry) -> bool {
    let (Status::Fixed, Some(Proof::Commit { sha, .. })) = (pred.finding.status, &pred.proof) else { return false };
    let Some(fixed_at) = head_of(summary, sha) else { return false };
    match &new.made_on {
        Some(commit) => {
            let fed = summary.rounds.iter().any(|r| r.head_after.as_ref() == Some(sha) && r.head_before == *commit);
            let last = summary.heads.iter().rposition(|head| head.sha == *commit);
            last.map_or(fed, |last| last < fixed_at)
        }
        None => {
            let since = summary.heads.get(fixed_at).map(|head| head.since);
            view.comment(new.finding.id).zip(since).is_some_and(|(comment, since)| comment.created_at < since)
        }
    }
}

fn head_of(summary: &Summary, sha: &Sha) -> Option<usize> {
    summary.heads.iter().position(|head| head.sha == *sha)
}

/// Writes a relation into both entries. The new one is not in the summary yet.
pub(super) fn link(summary: &mut Summary, view: &View<'_>, new: &mut Entry, relation: &Relation, out: &mut Absorbed) {
    let (at, round) = (view.at, view.round);
    match relation {
        Relation::Fresh => {}
        Relation::Duplicate { of, why } => {
            new.settle(Status::Duplicate, Proof::SameAs { id: *of }, why.clone(), at, round);
        }
        Relation::Replaces { pred } => {
            let Some(old) = summary.comments.get_mut(pred) else { return };
            inherit(new, old);
            // A milder copy carries what the older one weighed: only a person re-grades (R6).
            if old.finding.severity.blocks() && old.finding.severity < new.finding.severity && new.regrade.is_none() {
                new.worst = Some(old.finding.severity);
                new.finding.severity = old.finding.severity;
            }
            new.finding.needs_person = old.finding.needs_person;
            new.refused.clone_from(&old.refused);
            let why = if old.finding.needs_person { &old.finding.why } else { "a newer copy of the same finding" };
            new.finding.why = why.to_owned();
            let id = new.finding.id;
            if old.settle(Status::Duplicate, Proof::SameAs { id }, format!("came again as {id}"), at, round) {
                out.tell(old, What::Settled(Status::Duplicate));
            }
        }
        Relation::CameBack { pred, verbatim } => {
            let Some(old) = summary.comments.get_mut(pred) else { return };
            inherit(new, old);
            come_back(new, old, *verbatim, view.seen.policy.limits.exchanges);
            if old.finding.status == Status::Gone {
                // Its successor waits now.
                old.finding.needs_person = false;
            }
        }
    }
}

fn inherit(new: &mut Entry, old: &Entry) {
    new.finding.previous = old.finding.previous.iter().copied().chain([old.finding.id]).collect();
    new.finding.attempts = old.finding.attempts;
    new.exchanges = old.exchanges;
    // A person's word on a claim holds for its copies, as long as its reviewer does not say worse than before.
    if let Some(regrade) = &old.regrade
        && same_claim(old, new)
        && new.finding.severity >= regrade.from
    {
        new.regrade = Some(regrade.clone());
        new.finding.severity = regrade.to.unwrap_or(new.finding.severity);
    }
}

fn come_back(new: &mut Entry, old: &Entry, verbatim: bool, cap: u32) {
    let (id, status, why) = (old.finding.id, old.finding.status, &old.finding.why);
    new.finding.why = format!("{id} came back");
    new.refused = Some(match verbatim {
        true => format!("{id} was posted again word for word; it is {status}: {why}"),
        false => format!("{id} was {status} ({why}) and came back"),
    });
    match status {
        Status::Argued | Status::Answered | Status::Deferred => {
            new.exchanges += 1;
            if new.exchanges >= cap.max(1) && !verbatim {
                new.hand_over(format!("{id} came back {} times in spite of an answer", new.exchanges));
            }
        }
        Status::Open
        | Status::Fixed
        | Status::Stale
        | Status::Acknowledged
        | Status::Withdrawn
        | Status::Duplicate
        | Status::Gone => {}
    }
}

/// Opens copies whose carrier was edited and does not say what they say any more.
pub(super) fn leave_edited(summary: &mut Summary, view: &View<'_>, carrier: FindingId, out: &mut Absorbed) {
    let Some(now) = summary.comments.get(&carrier).cloned() else { return };
    for entry in summary.comments.values_mut().filter(|entry| copies(entry) == Some(carrier)) {
        if !same_text(entry, &now) {
            lose(entry, format!("{carrier} says something else now"), view, out);
        }
    }
}

fn copies(entry: &Entry) -> Option<FindingId> {
    match &entry.proof {
        Some(Proof::SameAs { id }) if entry.finding.status == Status::Duplicate => Some(*id),
        Some(_) | None => None,
    }
}

fn lose(entry: &mut Entry, why: String, view: &View<'_>, out: &mut Absorbed) {
    if entry.reopen(NewFact::OriginalLost, why, view.at, view.round) {
        out.tell(entry, What::Reopened(NewFact::OriginalLost));
    }
}

/// Opens copies whose carrier is gone while they still stand: a copy is only as settled as the one that carries it.
pub(super) fn repair_duplicates(summary: &mut Summary, view: &View<'_>, unsaid: &[FindingId], out: &mut Absorbed) {
    let mut taken_over = Vec::new();
    let lost: Vec<(FindingId, FindingId, String)> = summary
        .comments
        .values()
        .filter_map(|entry| {
            let carrier = copies(entry)?;
            view.comment(entry.finding.id)?;
            if unsaid.contains(&entry.finding.id) {
                return None;
            }
            let why = match summary.comments.get(&carrier) {
                None => format!("{carrier} is not known any more"),
                Some(other) => match other.finding.status {
                    Status::Gone => format!("{carrier} was deleted, this copy stands"),
                    Status::Stale if place_there(view, entry.finding.id) => {
                        format!("the place of {carrier} is gone, this one's is there")
                    }
                    Status::Withdrawn if said_after(view, other, entry) => {
                        format!("posted after {carrier} had been taken back")
                    }
                    Status::Open
                    | Status::Fixed
                    | Status::Argued
                    | Status::Stale
                    | Status::Deferred
                    | Status::Acknowledged
                    | Status::Answered
                    | Status::Withdrawn
                    | Status::Duplicate => return None,
                },
            };
            Some((entry.finding.id, carrier, why))
        })
        .collect();
    for (id, carrier, why) in lost {
        if let Some(entry) = summary.comments.get_mut(&id) {
            lose(entry, why, view, out);
            taken_over.push(carrier);
        }
    }
    for carrier in taken_over {
        if let Some(entry) = summary.comments.get_mut(&carrier)
            && entry.finding.status == Status::Gone
        {
            entry.finding.needs_person = false;
        }
    }
}

/// Tells whether the copy of an open finding was written after the words in the finding's thread that took it back. Both
/// may be read together, the copy before the words.
fn said_after(view: &View<'_>, carrier: &Entry, copy: &Entry) -> bool {
    let posts = carrier.thread.and_then(|root| view.threads.get(&root));
    let took_back = |(comment, note): &&(&super::comment::Comment, &super::note::Note)| {
        let counts = !matches!(note.standing, Standing::Ours | Standing::Untrusted);
        let accepted = matches!(parse(&comment.body), Some(Ok(Command::Accept { .. })));
        comment.in_reply_to.is_some()
            && counts
            && (note.said.verdict == ReplyVerdict::Accepts || note.said.closed.is_some() || accepted)
    };
    let last = posts.into_iter().flatten().filter(took_back).map(|(comment, _)| comment.created_at).max();
    copy.finding.why.ends_with(COPY_OF_OPEN)
        && last.is_some_and(|last| view.comment(copy.finding.id).is_some_and(|comment| comment.created_at > last))
}

fn place_there(view: &View<'_>, id: FindingId) -> bool {
    matches!(view.seen.located.get(&id), Some(Located::There { .. }))
}

/// Tells whether an answer under way is one of words, which a dispute makes void; a claimed fix stands on its commit.
pub(super) fn of_words(verb: Verb) -> bool {
    match verb {
        Verb::Argue | Verb::Stale | Verb::Defer | Verb::Answer => true,
        Verb::Fix => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_bound_that_spares_a_comparison_changes_no_likeness(one in "([abc] ){0,12}", other in "([abcd] ){0,12}") {
            let (a, b) = (words(&one), words(&other));
            let equal: usize = capture_diff_slices(Algorithm::Myers, &a, &b)
                .iter()
                .filter(|op| op.tag() == similar::DiffTag::Equal)
                .map(|op| op.old_range().len())
                .sum();
            prop_assert!(equal <= in_both(&a, &b) && in_both(&a, &b) == in_both(&b, &a));
            let exact = 2.0 * equal as f32 / (a.len() + b.len()).max(1) as f32;
            let told = likeness(&one, &other);
            prop_assert!(told == exact || (told == 0.0 && exact < SAME_ITEM) || a.is_empty() || b.is_empty());
        }
    }
}
