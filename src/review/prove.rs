//! Claimed fixes become `fixed` once their commit is in the history of the remote head; a claim that lost its commit is void.
//! The plan of a follow-up gets its permanent link at the same moment.

use jiff::Timestamp;

use super::decision::Verb;
use super::followup::permanent_link;
use super::ids::{FindingId, Sha};
use super::status::Status;
use super::summary::{Pending, PrRecord, Proof, RoundOutcome, Summary};

/// What git says of a claimed commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reach {
    /// It is in the history of the remote head.
    Reached,
    /// It is not, yet: the remote head is behind it.
    Ahead,
    /// It is not, and the remote head went another way.
    Lost,
    /// History is missing here.
    Unknown,
}

/// Returns the commits that are claimed and not yet proved.
pub fn claimed(summary: &Summary) -> Vec<Sha> {
    let pending = summary.comments.values().filter_map(|entry| entry.pending.as_ref());
    let open = |pending: &&Pending| match pending.verb {
        Verb::Fix => true,
        Verb::Defer => pending.url.is_none(),
        Verb::Argue | Verb::Stale | Verb::Answer => false,
    };
    pending.filter(open).filter_map(|pending| pending.commit.clone()).collect()
}

/// Settles claims that are proved; returns the findings settled, each with its round.
pub fn prove(summary: &mut Summary, reach: &dyn Fn(&Sha) -> Reach, at: Timestamp) -> Vec<FindingId> {
    let mut proved = Vec::new();
    let kept: Vec<u32> = summary
        .rounds
        .iter()
        .filter(|round| matches!(round.outcome, RoundOutcome::Kept | RoundOutcome::CutOff | RoundOutcome::Rejected))
        .map(|round| round.n)
        .collect();
    let pr = summary.pr.clone();
    for entry in summary.comments.values_mut() {
        if let Some(pending) = entry.pending.as_mut().filter(|pending| pending.verb == Verb::Defer) {
            publish(pending, &pr, reach, &kept);
        }
        let Some(pending) = entry.pending.clone().filter(|pending| pending.verb == Verb::Fix) else { continue };
        let Some(sha) = pending.commit.clone() else { continue };
        match reach(&sha) {
            Reach::Reached => {
                let proof = Proof::Commit { sha: sha.clone(), place: pending.reason.clone() };
                let why = format!("fixed by {} at {}", sha.short(), pending.reason);
                entry.pending = None;
                if entry.settle(Status::Fixed, proof, why, at, pending.round) {
                    proved.push(entry.finding.id);
                }
            }
            Reach::Lost => void(entry, "its commit is no longer in the branch"),
            Reach::Ahead if kept.contains(&pending.round) => void(entry, "its commit could not be pushed"),
            Reach::Ahead | Reach::Unknown => {}
        }
    }
    proved
}

/// A plan is linked once its commit is on the remote; a plan whose commit is lost has to be written again.
fn publish(pending: &mut Pending, pr: &PrRecord, reach: &dyn Fn(&Sha) -> Reach, kept: &[u32]) {
    let (Some(sha), Some(file), None) = (&pending.commit, &pending.file, &pending.url) else { return };
    match reach(sha) {
        Reach::Reached => pending.url = Some(permanent_link(pr, sha, file)),
        Reach::Lost => (pending.commit, pending.file) = (None, None),
        Reach::Ahead if kept.contains(&pending.round) => (pending.commit, pending.file) = (None, None),
        Reach::Ahead | Reach::Unknown => {}
    }
}

fn void(entry: &mut super::summary::Entry, why: &str) {
    entry.pending = None;
    entry.refused = Some(why.to_owned());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::review::sample;
    use crate::review::severity::Severity;
    use crate::review::summary::RoundRecord;

    fn check(verb: Verb, reach: Reach, round: Option<RoundOutcome>, expected: (Status, bool, bool)) {
        let mut entry = sample::entry("c1", Severity::P1);
        entry.pending = Some(Pending { commit: Some(sample::sha('b')), ..sample::pending(verb, "src/a.rs:10") });
        let mut summary = sample::summary(vec![entry]);
        summary.rounds.extend(round.map(|outcome| {
            let text = format!(
                r#"{{"n":1,"head_before":"{}","head_after":null,"sent":[],"outcome":"editing","verify":null,"seconds":0}}"#,
                sample::sha('a')
            );
            RoundRecord { outcome, ..serde_json::from_str(&text).expect("a round") }
        }));
        let proved = prove(&mut summary, &|_| reach, sample::at());
        let after = &summary.comments[&FindingId::Inline(1)];
        assert_eq!((after.finding.status, after.pending.is_some(), after.refused.is_some()), expected, "{reach:?}");
        assert_eq!(proved.is_empty(), after.finding.status == Status::Open);
        if after.finding.status == Status::Fixed {
            let proof = Proof::Commit { sha: sample::sha('b'), place: "src/a.rs:10".into() };
            assert_eq!(after.proof, Some(proof));
        }
    }

    #[test]
    fn r8_a_fix_is_proved_by_the_history_of_the_remote_head_alone() {
        check(Verb::Fix, Reach::Reached, None, (Status::Fixed, false, false));
        check(Verb::Fix, Reach::Ahead, None, (Status::Open, true, false));
        check(Verb::Fix, Reach::Unknown, None, (Status::Open, true, false));
        check(Verb::Fix, Reach::Lost, None, (Status::Open, false, true));
        check(Verb::Argue, Reach::Reached, None, (Status::Open, true, false));
    }

    fn check_plan(reach: Reach, round: Option<RoundOutcome>, expected: (bool, bool)) {
        let mut entry = sample::entry("c1", Severity::P2);
        let file = Some("wiki/plans/a.md".to_owned());
        entry.pending = Some(Pending { commit: Some(sample::sha('b')), file, ..sample::pending(Verb::Defer, "later") });
        let mut summary = sample::summary(vec![entry]);
        let begun = |outcome| RoundRecord { outcome, ..RoundRecord::begun(1, sample::sha('a'), vec![]) };
        summary.rounds.extend(round.map(begun));
        assert!(prove(&mut summary, &|_| reach, sample::at()).is_empty());
        let pending = summary.comments[&FindingId::Inline(1)].pending.clone().expect("still under way");
        assert_eq!((pending.file.is_some() && pending.commit.is_some(), pending.url.is_some()), expected, "{reach:?}");
    }

    #[test]
    fn r15_a_plan_is_linked_once_its_commit_is_on_the_remote() {
        check_plan(Reach::Reached, None, (true, true));
        check_plan(Reach::Ahead, None, (true, false));
        check_plan(Reach::Unknown, None, (true, false));
        check_plan(Reach::Lost, None, (false, false));
        check_plan(Reach::Ahead, Some(RoundOutcome::Kept), (false, false));
        check_plan(Reach::Ahead, Some(RoundOutcome::Committed), (true, false));
    }

    #[test]
    fn r28_a_round_that_was_put_aside_proves_nothing() {
        for outcome in [RoundOutcome::Kept, RoundOutcome::CutOff, RoundOutcome::Rejected] {
            check(Verb::Fix, Reach::Ahead, Some(outcome), (Status::Open, false, true));
        }
        check(Verb::Fix, Reach::Ahead, Some(RoundOutcome::Committed), (Status::Open, true, false));
        check(Verb::Fix, Reach::Ahead, Some(RoundOutcome::Red), (Status::Open, true, false));
    }
}
