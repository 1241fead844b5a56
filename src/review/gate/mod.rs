//! The merge verdict: nine clauses, each with its reason and remedy (R18), and the exit codes of `gate` and `status`.
//!
//! It decides nothing about a finding or a reviewer; it only says what their states mean for a merge.

mod checks;
mod clauses;
mod exit;
mod people;
pub mod publish;

use std::collections::BTreeSet;

use super::ids::Sha;
use super::note::Note;
use super::observation::Observation;
use super::policy::Policy;
use super::summary::{Summary, Verified};
use super::verdict::{Clause, ClauseName, Gate, ReviewersVerdict, Verdict};

pub use self::exit::{exit_code, status_code, worst_code};
pub use self::people::{ChangeRequest, change_requests};

/// Where the branch stands in this clone and on the remote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalHeads {
    /// Tip of the local branch.
    pub local: Sha,
    /// Tip of the branch on the remote.
    pub remote: RemoteTip,
}

/// What is known of the branch on the remote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RemoteTip {
    /// It is there.
    At(Sha),
    /// The remote was asked and has no such branch.
    Gone,
    /// The remote was not asked.
    NotAsked,
}

impl From<Option<Sha>> for RemoteTip {
    fn from(answer: Option<Sha>) -> Self {
        answer.map_or(Self::Gone, Self::At)
    }
}

/// What the description shows of the reasons that must stand in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DescriptionReading {
    /// Each reason that must be there, and whether it is; `None` where that could not be told.
    pub reasons: Vec<(String, Option<bool>)>,
    /// What is wrong with our block as a whole, and the mend.
    pub problem: Option<String>,
}

/// Everything the gate rests on.
#[derive(Debug, Clone, Copy)]
pub struct GateFacts<'a> {
    /// The observation.
    pub obs: &'a Observation,
    /// Its notes.
    pub notes: &'a [Note],
    /// What is remembered.
    pub summary: &'a Summary,
    /// Have the reviewers finished?
    pub reviewers: &'a ReviewersVerdict,
    /// The clone's view of the branch; `None` where there is no clone.
    pub local: Option<&'a LocalHeads>,
    /// The description as read back.
    pub description: &'a DescriptionReading,
    /// The newest verifier record.
    pub verified: Option<&'a Verified>,
    /// Whether the head was the same before and after reading.
    pub head_same: bool,
    /// Names of checks through which reviewers speak.
    pub reviewer_checks: &'a BTreeSet<String>,
    /// The settings.
    pub policy: &'a Policy,
}

/// Judges every clause.
pub fn judge(facts: &GateFacts<'_>) -> Gate {
    let clauses = vec![
        clauses::head(facts),
        clauses::pr(facts),
        clauses::reviewers(facts),
        people::reviews(facts),
        checks::checks(facts),
        clauses::findings(facts),
        clauses::description(facts),
        clauses::threads(facts),
        checks::spec(facts),
    ];
    Gate { verdict: verdict(&clauses), head: facts.obs.pr.head.clone(), clauses }
}

/// Ready is every clause true; what only time can mend waits; what could not be read is unknown, never ready.
fn verdict(clauses: &[Clause]) -> Verdict {
    let any = |test: &dyn Fn(&Clause) -> bool| clauses.iter().any(test);
    if any(&|clause| clause.ok == Some(false) && !clause.waiting) {
        Verdict::Blocked
    } else if any(&|clause| clause.ok.is_none()) {
        Verdict::Unknown
    } else if any(&|clause| clause.ok == Some(false)) {
        Verdict::Waiting
    } else {
        Verdict::Ready
    }
}

fn clause(clause: ClauseName, ok: Option<bool>, reason: String, remedy: String) -> Clause {
    Clause { clause, ok, waiting: false, reason, remedy, person: false }
}

fn holds(name: ClauseName, reason: impl Into<String>) -> Clause {
    clause(name, Some(true), reason.into(), String::new())
}

fn fails(name: ClauseName, reason: impl Into<String>, remedy: impl Into<String>) -> Clause {
    clause(name, Some(false), reason.into(), remedy.into())
}

fn waits(name: ClauseName, reason: impl Into<String>, remedy: impl Into<String>) -> Clause {
    Clause { waiting: true, ..fails(name, reason, remedy) }
}

fn unknown(name: ClauseName, reason: impl Into<String>, remedy: impl Into<String>) -> Clause {
    clause(name, None, reason.into(), remedy.into())
}

#[cfg(test)]
mod tests;
