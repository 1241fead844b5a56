//! Exit codes of `gate` and `status`, and which of several wins.

use super::clauses::blocking;
use crate::review::severity::Severity;
use crate::review::status::Status;
use crate::review::summary::Summary;
use crate::review::verdict::{Clause, ClauseName, Gate, ReviewersVerdict, Verdict};

/// Codes from the one that wins to the one that yields.
const PRECEDENCE: [u8; 10] = [21, 20, 75, 22, 14, 11, 13, 10, 15, 12];

/// Returns the code that wins; 0 without one. A code without a rank wins over all: it is never hidden.
pub fn worst_code(codes: &[u8]) -> u8 {
    let rank = |code: u8| PRECEDENCE.iter().position(|known| *known == code).map_or(0, |rank| rank + 1);
    codes.iter().copied().filter(|code| *code != 0).min_by_key(|code| rank(*code)).unwrap_or(0)
}

/// Returns the exit code of a gate verdict; `summary` tells how bad the open findings are.
pub fn exit_code(gate: &Gate, summary: &Summary) -> u8 {
    if gate.verdict == Verdict::Ready {
        return 0;
    }
    let worst = blocking(summary).first().map(|(_, severity, _)| *severity);
    worst_code(&gate.clauses.iter().flat_map(|clause| codes(clause, worst)).collect::<Vec<_>>())
}

fn codes(clause: &Clause, worst: Option<Severity>) -> Vec<u8> {
    let mut codes = Vec::new();
    if clause.person && clause.ok != Some(true) {
        codes.push(14);
    }
    match (clause.ok, clause.waiting) {
        (Some(true), _) => {}
        (None, _) => codes.push(15),
        (Some(false), true) => codes.push(12),
        (Some(false), false) => codes.push(match clause.clause {
            ClauseName::Findings if worst == Some(Severity::P1) => 11,
            ClauseName::Findings => 10,
            ClauseName::Spec => 13,
            // Its own code is 14, above; a reviewer is never `not ready for another clause`.
            ClauseName::Reviewers => 14,
            ClauseName::Head
            | ClauseName::Pr
            | ClauseName::Reviews
            | ClauseName::Checks
            | ClauseName::Description
            | ClauseName::Threads => 15,
        }),
    }
    codes
}

/// Returns the exit code of `status`: it answers for findings and reviewers only.
pub fn status_code(summary: &Summary, reviewers: &ReviewersVerdict) -> u8 {
    let mut codes = Vec::new();
    let open = |entry: &crate::review::summary::Entry| entry.finding.status == Status::Open;
    if summary.comments.values().any(|entry| open(entry) && entry.finding.needs_person || entry.orphaned()) {
        codes.push(14);
    }
    match blocking(summary).first() {
        Some((_, Severity::P1, _)) => codes.push(11),
        Some((_, Severity::P2 | Severity::P3 | Severity::Nit, _)) => codes.push(10),
        None => {}
    }
    match reviewers.finished {
        Some(true) => {}
        // Who is awaited cannot be told: no time helps, only naming them.
        None => codes.push(14),
        Some(false) if reviewers.stuck => codes.push(14),
        Some(false) => codes.push(12),
    }
    worst_code(&codes)
}
