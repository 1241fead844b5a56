//! Whether the proofs of settled findings still hold at the head (R13, FC-34, FC-41).
//!
//! Git is asked by the caller; an answer it could not give changes nothing. Replies and description lines are proofs
//! of another kind and are checked where they are read back.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::absorb::{Happened, What};
use super::anchor::Located;
use super::comment::Channel;
use super::diff::FileDiff;
use super::ids::{FindingId, Sha};
use super::observation::Observation;
use super::status::{NewFact, Status};
use super::summary::{Entry, Move, Proof, Summary};

/// Who took a fix away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    /// The commit, where it is known.
    pub by: Option<Sha>,
    /// True when the commit is one of this program's.
    pub ours: bool,
}

/// What git says of the commits that prove something.
pub struct ProofFacts<'a> {
    /// Whether a commit is in the history of the remote head; `None` when that cannot be told (a shallow clone).
    pub reachable: &'a dyn Fn(&Sha) -> Option<bool>,
    /// The commit that carries the same change in a rewritten history.
    pub replaced_by: &'a dyn Fn(&Sha) -> Option<Sha>,
    /// Who took away what that commit did for this finding, as `anchor::undone` tells.
    pub undone: &'a dyn Fn(&Entry, &Sha) -> Option<Taken>,
    /// Whether the file of a follow-up plan is at the head, under this or another name; `None` when that cannot be told.
    pub plan: &'a dyn Fn(&str) -> Option<bool>,
    /// Where the places of findings are now.
    pub located: &'a BTreeMap<FindingId, Located>,
    /// The forge's clock.
    pub at: Timestamp,
}

/// Tells whether two commits make one change: the same lines in the same files, wherever they stand now.
pub fn same_change(one: &[FileDiff], other: &[FileDiff]) -> bool {
    let parts = |diff: &FileDiff| {
        let hunks: Vec<_> = diff.hunks.iter().map(|hunk| (hunk.removed.clone(), hunk.added.clone())).collect();
        (diff.old_path.clone(), diff.new_path.clone(), diff.binary, hunks)
    };
    // A binary file says nothing of what it holds.
    !one.is_empty()
        && one.len() == other.len()
        && one.iter().all(|diff| !diff.binary && other.iter().any(|twin| parts(twin) == parts(diff)))
}

/// Opens every finding whose proof does not hold any more.
pub fn recheck_proofs(summary: &mut Summary, facts: &ProofFacts<'_>) -> Vec<Happened> {
    let mut look = Recheck { facts, round: summary.round, out: Vec::new() };
    for entry in summary.comments.values_mut() {
        match (&entry.finding.status, entry.proof.clone()) {
            (Status::Fixed, Some(Proof::Commit { sha, place })) => look.fix(entry, &sha, place),
            (Status::Stale, Some(Proof::AnchorGone { .. })) => look.stale(entry),
            (Status::Deferred, Some(Proof::Plan { path, .. })) => look.plan(entry, &path),
            (
                Status::Open
                | Status::Fixed
                | Status::Argued
                | Status::Stale
                | Status::Deferred
                | Status::Acknowledged
                | Status::Answered
                | Status::Withdrawn
                | Status::Duplicate
                | Status::Gone,
                _,
            ) => {}
        }
    }
    look.out
}

/// Opens every argument and answer whose reply was deleted while what it answers still stands: somebody disagrees.
pub fn recheck_replies(summary: &mut Summary, obs: &Observation) -> Vec<Happened> {
    let there = |id: u64| obs.comments.iter().any(|comment| comment.id == id && comment.channel != Channel::Review);
    let mut out = Vec::new();
    let round = summary.round;
    for entry in summary.comments.values_mut() {
        let Some(Proof::Reply { comment_id, .. } | Proof::Plan { comment_id, .. }) = &entry.proof else { continue };
        let (reply, carrier) = (*comment_id, entry.finding.id.carrier());
        let stands = obs.comments.iter().any(|c| c.channel == entry.finding.channel && c.id == carrier);
        let why = format!("our answer, comment {reply}, was deleted");
        if stands && !there(reply) && entry.reopen(NewFact::ProofLost, why.clone(), obs.at, round) {
            let id = entry.finding.id;
            entry.refused = Some(why.clone());
            out.push(Happened { id, what: What::Reopened(NewFact::ProofLost), why: why.clone() });
            entry.hand_over(why.clone());
            out.push(Happened { id, what: What::NeedsPerson, why });
        }
    }
    out
}

/// Whether a person has to look at what is open again.
#[derive(PartialEq, Eq)]
enum Next {
    Work,
    Person,
}

struct Recheck<'a> {
    facts: &'a ProofFacts<'a>,
    round: u32,
    out: Vec<Happened>,
}

impl Recheck<'_> {
    fn fix(&mut self, entry: &mut Entry, sha: &Sha, place: String) {
        let reachable = |sha: &Sha| (self.facts.reachable)(sha);
        match reachable(sha) {
            None => {}
            Some(false) => match (self.facts.replaced_by)(sha).filter(|new| reachable(new) == Some(true)) {
                Some(new) => {
                    let why = format!("its fix {} is {} in the rewritten history", sha.short(), new.short());
                    let (from, to) = (Some(Status::Fixed), Status::Fixed);
                    entry.history.push(Move { at: self.facts.at, from, to, why, round: self.round });
                    entry.proof = Some(Proof::Commit { sha: new, place });
                }
                // What a person took out is not put back without a person.
                None => {
                    let why = format!("its fix {} is no longer in the history of the branch", sha.short());
                    self.open(entry, NewFact::ProofLost, why, &Next::Person);
                }
            },
            Some(true) => {
                if let Some(taken) = (self.facts.undone)(entry, sha) {
                    let by = taken.by.map_or_else(|| "a later commit".into(), |sha| format!("commit {}", sha.short()));
                    let next = if taken.ours { Next::Work } else { Next::Person };
                    let why = format!("its fix {} was removed by {by}", sha.short());
                    self.open(entry, NewFact::Undone, why, &next);
                }
            }
        }
    }

    fn stale(&mut self, entry: &mut Entry) {
        if let Some(Located::There { path, .. }) = self.facts.located.get(&entry.finding.id) {
            let why = format!("its place is there again, in `{path}`");
            self.open(entry, NewFact::ProofLost, why, &Next::Work);
        }
    }

    /// A plan that somebody took out is not written again without a person.
    fn plan(&mut self, entry: &mut Entry, path: &str) {
        if (self.facts.plan)(path) == Some(false) {
            let why = format!("its follow-up plan `{path}` is not in the branch any more");
            self.open(entry, NewFact::ProofLost, why, &Next::Person);
        }
    }

    fn open(&mut self, entry: &mut Entry, fact: NewFact, why: String, next: &Next) {
        if !entry.reopen(fact, why.clone(), self.facts.at, self.round) {
            return;
        }
        let id = entry.finding.id;
        entry.refused = Some(why.clone());
        self.out.push(Happened { id, what: What::Reopened(fact), why: why.clone() });
        if *next == Next::Person && entry.hand_over(why.clone()) {
            self.out.push(Happened { id, what: What::NeedsPerson, why });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::ids::RepoPath;
    use super::super::moves::tests::{entry, sha, summary};
    use super::super::severity::Severity;
    use super::*;

    fn check(
        status: Status,
        reachable: Option<bool>,
        moved: bool,
        taken: Option<bool>,
        expected: (Status, bool, char),
    ) {
        let mut summary = summary();
        let mut one = entry("c1", Severity::P1);
        let proof = if status == Status::Fixed {
            Proof::Commit { sha: sha('b'), place: "src/a.rs:40".to_owned() }
        } else {
            Proof::AnchorGone { head: sha('b'), because: "deleted".to_owned() }
        };
        assert!(one.settle(status, proof, "settled", Timestamp::UNIX_EPOCH, 1));
        summary.comments.insert(one.finding.id, one);
        let there = Located::There { path: RepoPath::from_git("b.rs"), line: Some(1), start_line: None, edited: false };
        let facts = ProofFacts {
            reachable: &|asked| if *asked == sha('b') { reachable } else { Some(true) },
            replaced_by: &|_| moved.then(|| sha('c')),
            plan: &|_| None,
            undone: &|_, _| taken.map(|ours| Taken { by: Some(sha('d')), ours }),
            located: &[(FindingId::Inline(1), there)].into(),
            at: Timestamp::UNIX_EPOCH,
        };
        let happened = recheck_proofs(&mut summary, &facts);
        let after = summary.comments[&FindingId::Inline(1)].clone();
        let commit = match &after.proof {
            Some(Proof::Commit { sha, .. }) => sha.as_str().chars().next().unwrap_or(' '),
            _ => ' ',
        };
        assert_eq!((after.finding.status, after.finding.needs_person, commit), expected);
        assert_eq!(happened.is_empty(), after.finding.status == status);
        let again = recheck_proofs(&mut summary, &facts);
        assert!(again.is_empty(), "a second look finds nothing new");
    }

    #[test]
    fn fc_34_a_fix_that_a_person_dropped_waits_for_a_person() {
        check(Status::Fixed, Some(false), false, None, (Status::Open, true, ' '));
        check(Status::Fixed, Some(true), false, Some(false), (Status::Open, true, ' '));
    }

    #[test]
    fn fc_41_a_fix_that_we_took_away_is_work_again() {
        check(Status::Fixed, Some(true), false, Some(true), (Status::Open, false, ' '));
    }

    #[test]
    fn r13_what_holds_or_cannot_be_told_stays() {
        check(Status::Fixed, Some(true), false, None, (Status::Fixed, false, 'b'));
        check(Status::Fixed, None, false, None, (Status::Fixed, false, 'b'));
        check(Status::Fixed, Some(false), true, None, (Status::Fixed, false, 'c'));
    }

    #[test]
    fn an_argument_whose_reply_was_deleted_waits_for_a_person() {
        use crate::review::sample;
        let check = |reply_there: bool, finding_there: bool, expected: (Status, bool)| {
            let mut argued = sample::entry("c1", Severity::P2);
            let proof = Proof::Reply { comment_id: 9, reason: "because".to_owned(), key: "k".to_owned() };
            assert!(argued.settle(Status::Argued, proof, "argued", Timestamp::UNIX_EPOCH, 1));
            let mut summary = sample::summary(vec![argued]);
            let of = |id: u64| sample::comment(id, sample::bot("codex"), Channel::Inline, "text");
            let comments = [(1, finding_there), (9, reply_there)].into_iter().filter(|(_, there)| *there);
            let obs = sample::observation(comments.map(|(id, _)| of(id)).collect(), Vec::new());
            recheck_replies(&mut summary, &obs);
            let after = &summary.comments[&FindingId::Inline(1)];
            assert_eq!((after.finding.status, after.finding.needs_person), expected);
        };
        check(true, true, (Status::Argued, false));
        check(false, true, (Status::Open, true));
        check(false, false, (Status::Argued, false));
    }

    #[test]
    fn fc_34_a_follow_up_whose_plan_was_dropped_waits_for_a_person() {
        for (there, expected) in [
            (Some(true), (Status::Deferred, false)),
            (None, (Status::Deferred, false)),
            (Some(false), (Status::Open, true)),
        ] {
            let mut one = entry("c1", Severity::P2);
            let proof = Proof::Plan {
                path: "wiki/plans/a.md".to_owned(),
                url: "u".to_owned(),
                comment_id: 9,
                reason: "later".to_owned(),
                key: "k".to_owned(),
            };
            assert!(one.settle(Status::Deferred, proof, "deferred", Timestamp::UNIX_EPOCH, 1));
            let mut summary = summary();
            summary.comments.insert(one.finding.id, one);
            let facts = ProofFacts {
                reachable: &|_| None,
                replaced_by: &|_| None,
                undone: &|_, _| None,
                plan: &|path| there.filter(|_| path == "wiki/plans/a.md"),
                located: &BTreeMap::new(),
                at: Timestamp::UNIX_EPOCH,
            };
            recheck_proofs(&mut summary, &facts);
            let after = &summary.comments[&FindingId::Inline(1)].finding;
            assert_eq!((after.status, after.needs_person), expected);
        }
    }

    #[test]
    fn r14_a_place_that_is_there_again_is_not_stale() {
        check(Status::Stale, Some(true), false, None, (Status::Open, false, ' '));
    }
}
