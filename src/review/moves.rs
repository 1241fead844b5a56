//! The legal moves of a finding and the questions everybody asks of the summary. What causes a move is decided elsewhere.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Map;

use super::severity::Severity;
use super::status::{NewFact, Status};
use super::summary::{Entry, HeadRecord, Move, PrRecord, Proof, SCHEMA_VERSION, Summary, Used};

/// Findings that are open, by severity, and those that wait for a person.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Open P1.
    pub p1: u32,
    /// Open P2.
    pub p2: u32,
    /// Open P3.
    pub p3: u32,
    /// Open nits.
    pub nit: u32,
    /// Findings that only a person can settle.
    pub needs_person: u32,
}

impl Summary {
    /// Returns the summary of a pull request of which nothing is known but its head.
    pub fn new(pr: PrRecord, head: HeadRecord) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            pr,
            account: None,
            round: 0,
            used: Used::default(),
            comments: BTreeMap::new(),
            reviewers: BTreeMap::new(),
            rounds: Vec::new(),
            outbox: Vec::new(),
            stop_reason: None,
            heads: vec![head],
            verified: Vec::new(),
            restored: Vec::new(),
            reset_at_round: 0,
            commands_heard: Vec::new(),
            commands: Vec::new(),
            drafts: Default::default(),
            extra: Map::new(),
        }
    }

    /// Returns the open findings that keep the gate shut.
    pub fn open_blocking(&self) -> impl Iterator<Item = &Entry> {
        self.comments.values().filter(|entry| entry.blocks())
    }

    /// Returns the open findings the editor can be given now: blocking, not a person's business, nothing under way.
    pub fn workable(&self) -> impl Iterator<Item = &Entry> {
        self.open_blocking().filter(|entry| !entry.finding.needs_person && entry.pending.is_none())
    }

    /// Counts what is open.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for entry in self.comments.values() {
            counts.needs_person += u32::from(entry.finding.needs_person);
            if entry.finding.status == Status::Open {
                *match entry.finding.severity {
                    Severity::P1 => &mut counts.p1,
                    Severity::P2 => &mut counts.p2,
                    Severity::P3 => &mut counts.p3,
                    Severity::Nit => &mut counts.nit,
                } += 1;
            }
        }
        counts
    }
}

/// How the reason begins with which words to a person wait for a person's consent.
pub const DRAFTED: &str = "a drafted";

impl Entry {
    /// Tells whether an answer is a draft that nobody has agreed to yet.
    pub fn drafted(&self) -> bool {
        self.pending.is_some() && self.finding.needs_person && self.finding.why.starts_with(DRAFTED)
    }

    /// Tells whether the finding is open and keeps the gate shut.
    pub fn blocks(&self) -> bool {
        self.finding.status == Status::Open && self.finding.severity.blocks()
    }

    /// Tells whether only a person can close it although its comment is gone: a P1 that was deleted.
    pub fn orphaned(&self) -> bool {
        self.finding.status == Status::Gone && self.finding.needs_person
    }

    /// Settles the finding if the move is legal and the proof is one for that status; else changes nothing.
    ///
    /// Who may withdraw a P1 (R6) is the caller's business: the proof names the reviewer or the person.
    pub fn settle(&mut self, to: Status, proof: Proof, why: impl Into<String>, at: Timestamp, round: u32) -> bool {
        if !self.may_settle(to, &proof) {
            return false;
        }
        self.proof = Some(proof);
        self.pending = None;
        self.refused = None;
        self.finding.needs_person = false;
        self.moves_to(to, why.into(), at, round);
        true
    }

    /// Opens a settled finding again because of a fact that speaks against its status; else changes nothing.
    pub fn reopen(&mut self, fact: NewFact, why: impl Into<String>, at: Timestamp, round: u32) -> bool {
        if !fact.reopens(self.finding.status) {
            return false;
        }
        self.proof = None;
        self.pending = None;
        self.finding.needs_person = false;
        self.moves_to(Status::Open, why.into(), at, round);
        true
    }

    /// Hands the finding to a person. Returns whether that is new.
    pub fn hand_over(&mut self, why: impl Into<String>) -> bool {
        if self.finding.needs_person {
            return false;
        }
        self.finding.needs_person = true;
        self.finding.why = why.into();
        true
    }

    /// Tells whether `to` is a legal end for this finding now and `proof` one that proves it.
    pub fn may_settle(&self, to: Status, proof: &Proof) -> bool {
        let severity = self.finding.severity;
        match self.finding.status {
            Status::Open => {}
            // The one settled status that still waits for a person: a deleted P1.
            Status::Gone => {
                return self.finding.needs_person
                    && to == Status::Withdrawn
                    && matches!(proof, Proof::Person { .. } | Proof::Reviewer { .. });
            }
            Status::Fixed
            | Status::Argued
            | Status::Stale
            | Status::Deferred
            | Status::Acknowledged
            | Status::Answered
            | Status::Withdrawn
            | Status::Duplicate => return false,
        }
        match to {
            Status::Open => false,
            Status::Fixed => matches!(proof, Proof::Commit { .. }),
            Status::Argued => severity.arguable() && matches!(proof, Proof::Reply { .. }),
            Status::Stale => matches!(proof, Proof::AnchorGone { .. }),
            Status::Deferred => severity != Severity::P1 && matches!(proof, Proof::Plan { .. }),
            Status::Acknowledged => !severity.blocks() && matches!(proof, Proof::Listed),
            Status::Answered => severity != Severity::P1 && self.is_question && matches!(proof, Proof::Reply { .. }),
            Status::Withdrawn => matches!(proof, Proof::Reviewer { .. } | Proof::Person { .. }),
            Status::Duplicate => matches!(proof, Proof::SameAs { id } if *id != self.finding.id),
            Status::Gone => matches!(proof, Proof::Deleted),
        }
    }

    /// Tells whether the severity in force forbids the status the finding is settled with.
    pub fn outgraded(&self) -> bool {
        let severity = self.finding.severity;
        match self.finding.status {
            Status::Argued => severity == Severity::P1,
            Status::Deferred | Status::Answered => severity == Severity::P1,
            Status::Acknowledged => severity.blocks(),
            Status::Open | Status::Fixed | Status::Stale | Status::Withdrawn | Status::Duplicate | Status::Gone => {
                false
            }
        }
    }

    fn moves_to(&mut self, to: Status, why: String, at: Timestamp, round: u32) {
        self.history.push(Move { at, from: Some(self.finding.status), to, why: why.clone(), round });
        self.finding.status = to;
        self.finding.why = why;
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::super::comment::{AccountKind, Channel, Side};
    use super::super::ids::{FindingId, Login, PrNumber, Sha};
    use super::super::severity::DecidedBy;
    use super::super::summary::Finding;
    use super::*;

    /// Returns a commit id made of one digit.
    pub(crate) fn sha(digit: char) -> Sha {
        Sha::parse(&digit.to_string().repeat(40)).expect("a sha")
    }

    /// Returns an open finding.
    pub(crate) fn entry(id: &str, severity: Severity) -> Entry {
        Entry {
            finding: Finding {
                id: id.parse().expect("an id"),
                severity,
                decided_by: DecidedBy::Tagged,
                rule: None,
                author: Login::new("codex"),
                author_kind: AccountKind::Bot,
                channel: Channel::Inline,
                path: Some("src/a.rs".to_owned()),
                line: Some(40),
                side: Some(Side::Right),
                status: Status::Open,
                needs_person: false,
                title: "Guard the empty list".to_owned(),
                url: String::new(),
                attempts: 0,
                previous: Vec::new(),
                why: String::new(),
            },
            body_hash: "h".to_owned(),
            seen_head: sha('a'),
            first_head: sha('a'),
            made_on: Some(sha('a')),
            start_line: None,
            original_line: Some(40),
            thread: None,
            identity: None,
            text: "Guard the empty list before taking its first element".to_owned(),
            is_question: false,
            whole_file: false,
            regrade: None,
            proof: None,
            pending: None,
            heard: Vec::new(),
            exchanges: 0,
            worst: None,
            refused: None,
            history: Vec::new(),
        }
    }

    /// Returns an empty summary at head `a…`.
    pub(crate) fn summary() -> Summary {
        let pr = PrRecord {
            host: "github.com".to_owned(),
            owner: "o".to_owned(),
            repo: "r".to_owned(),
            number: PrNumber(7),
            url: String::new(),
            base: "main".to_owned(),
            head: sha('a'),
        };
        Summary::new(pr, HeadRecord { sha: sha('a'), since: Timestamp::UNIX_EPOCH, ours: false })
    }

    fn proofs() -> Vec<Proof> {
        let other: FindingId = "c99".parse().expect("an id");
        vec![
            Proof::Commit { sha: sha('b'), place: "src/a.rs:40".to_owned() },
            Proof::Reply { comment_id: 1, reason: "because".to_owned(), key: "k".to_owned() },
            Proof::AnchorGone { head: sha('b'), because: "deleted".to_owned() },
            Proof::Plan {
                path: "wiki/plans/a.md".to_owned(),
                url: "u".to_owned(),
                comment_id: 1,
                reason: "later".to_owned(),
                key: "k".to_owned(),
            },
            Proof::Reviewer { because: "resolved".to_owned() },
            Proof::Person { by: Login::new("ann"), because: "accept".to_owned() },
            Proof::Listed,
            Proof::SameAs { id: other },
            Proof::Deleted,
        ]
    }

    /// What the contract allows from `open`, written out: status, severities, whether it must be a question, proof.
    fn legal(to: Status, severity: Severity, question: bool, proof: &Proof) -> bool {
        let low = severity == Severity::P3 || severity == Severity::Nit;
        match proof {
            Proof::Commit { .. } => to == Status::Fixed,
            Proof::Reply { .. } => {
                (to == Status::Argued && severity == Severity::P2)
                    || (to == Status::Answered && question && severity != Severity::P1)
            }
            Proof::AnchorGone { .. } => to == Status::Stale,
            Proof::Plan { .. } => to == Status::Deferred && severity != Severity::P1,
            Proof::Reviewer { .. } | Proof::Person { .. } => to == Status::Withdrawn,
            Proof::Listed => to == Status::Acknowledged && low,
            Proof::SameAs { .. } => to == Status::Duplicate,
            Proof::Deleted => to == Status::Gone,
        }
    }

    #[test]
    fn r06_every_move_from_open_is_in_the_table() {
        let at = Timestamp::UNIX_EPOCH;
        for to in Status::ALL {
            for severity in Severity::ALL {
                for question in [false, true] {
                    for proof in proofs() {
                        let mut open = entry("c1", severity);
                        open.is_question = question;
                        let before = open.clone();
                        let moved = open.settle(to, proof.clone(), "why", at, 3);
                        assert_eq!(moved, legal(to, severity, question, &proof), "{to} {severity} {proof:?}");
                        if moved {
                            assert_eq!((open.finding.status, open.proof), (to, Some(proof)));
                            assert_eq!(open.history.len(), 1);
                        } else {
                            assert_eq!(open, before, "a refused move changes nothing");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn r11_settled_moves_nowhere_without_a_new_fact() {
        let at = Timestamp::UNIX_EPOCH;
        for from in Status::ALL.into_iter().filter(|status| status.settled()) {
            for to in Status::ALL {
                for proof in proofs() {
                    let mut settled = entry("c1", Severity::P2);
                    settled.finding.status = from;
                    assert!(!settled.settle(to, proof, "why", at, 1), "{from} to {to}");
                }
            }
        }
    }

    #[test]
    fn r12_each_fact_reopens_only_what_it_speaks_against() {
        let at = Timestamp::UNIX_EPOCH;
        let pairs: Vec<(NewFact, Status)> =
            NewFact::ALL.into_iter().flat_map(|fact| Status::ALL.map(|status| (fact, status))).collect();
        for (fact, status) in pairs {
            let mut entry = entry("c1", Severity::P2);
            entry.finding.status = status;
            let expected = match fact {
                NewFact::Edited | NewFact::Asked => status != Status::Open,
                NewFact::Disputed => status != Status::Open && status != Status::Gone,
                NewFact::Graded => {
                    [Status::Argued, Status::Deferred, Status::Acknowledged, Status::Answered].contains(&status)
                }
                NewFact::ProofLost => {
                    [Status::Fixed, Status::Stale, Status::Argued, Status::Deferred, Status::Answered].contains(&status)
                }
                NewFact::Undone => status == Status::Fixed,
                NewFact::OriginalLost => status == Status::Duplicate,
                NewFact::Returned => status == Status::Gone,
                NewFact::Unresolved => status == Status::Withdrawn,
            };
            assert_eq!(entry.reopen(fact, "why", at, 1), expected, "{fact:?} {status}");
            assert_eq!(entry.finding.status == Status::Open, expected || status == Status::Open);
        }
    }

    #[test]
    fn a_deleted_p1_is_settled_by_a_person_alone() {
        let at = Timestamp::UNIX_EPOCH;
        let mut gone = entry("c1", Severity::P1);
        assert!(gone.settle(Status::Gone, Proof::Deleted, "deleted", at, 0));
        assert!(gone.hand_over("a deleted P1"));
        assert!(!gone.settle(Status::Stale, proofs().remove(2), "x", at, 0));
        let person = Proof::Person { by: Login::new("ann"), because: "accept".to_owned() };
        assert!(gone.settle(Status::Withdrawn, person, "accepted", at, 0));
        assert!(!gone.finding.needs_person);
    }

    #[test]
    fn counts_and_work_see_open_findings_only() {
        let mut summary = summary();
        for (id, severity, status, person) in [
            ("c1", Severity::P1, Status::Open, false),
            ("c2", Severity::P2, Status::Open, true),
            ("c3", Severity::P2, Status::Argued, false),
            ("c4", Severity::P3, Status::Open, false),
            ("c5", Severity::Nit, Status::Open, false),
            ("c6", Severity::P1, Status::Gone, true),
        ] {
            let mut entry = entry(id, severity);
            entry.finding.status = status;
            entry.finding.needs_person = person;
            summary.comments.insert(entry.finding.id, entry);
        }
        assert_eq!(summary.counts(), Counts { p1: 1, p2: 1, p3: 1, nit: 1, needs_person: 2 });
        assert_eq!(summary.open_blocking().count(), 2);
        assert_eq!(summary.workable().count(), 1);
    }
}
