//! Commits of ours that are not on the remote yet: tested, pushed, replayed or taken back (R28).

use super::{Situation, Step, tests_at};
use crate::review::summary::{RoundOutcome, RoundRecord, Summary, VerifyState};

/// Returns the rounds whose commits are not on the remote yet, oldest first.
pub fn unpushed(summary: &Summary) -> impl DoubleEndedIterator<Item = &RoundRecord> {
    let waiting = |round: &&RoundRecord| {
        round.head_after.is_some() && matches!(round.outcome, RoundOutcome::Committed | RoundOutcome::Red)
    };
    summary.rounds.iter().filter(waiting)
}

pub(super) fn unfinished_round(at: &Situation<'_>) -> Option<Step> {
    if at.local == at.head || !unpushed(at.summary).any(|round| round.head_after.as_ref() == Some(at.local)) {
        return None;
    }
    if unpushed(at.summary).next().is_some_and(|round| round.head_before != *at.head) {
        return Some(Step::Replay);
    }
    let tests = tests_at(at.summary, at.local).map(|record| record.state);
    let pushable = match (at.policy.has_verify, tests) {
        (true, None) => return Some(Step::Verify),
        (true, Some(VerifyState::Green)) | (false, _) => true,
        (true, Some(VerifyState::Red | VerifyState::CouldNotRun)) => at.policy.push_red || also_red_on_base(at),
    };
    pushable.then(|| weakened(at).map_or_else(|| Step::Push(at.local.clone()), Step::Reject))
}

/// Says how our unpushed commits made the tests weaker: fewer of them, or more skipped (R28, FC-38).
///
/// A round that was given a finding about a test file may change what that file counts.
fn weakened(at: &Situation<'_>) -> Option<String> {
    let now = tests_at(at.summary, at.local)?;
    let mut before: Vec<&crate::review::summary::Verified> = unpushed(at.summary)
        .map(|round| &round.head_before)
        .chain([at.head])
        .filter_map(|sha| tests_at(at.summary, sha))
        .collect();
    let base = unpushed(at.summary).next().map(|round| &round.head_before);
    if [base, Some(at.head)].into_iter().flatten().all(|sha| tests_at(at.summary, sha).is_none()) {
        // What was replayed stands on a head where nothing was run, and what stands on it may be weaker already: then all
        // that was known before counts.
        before = at.summary.verified.iter().filter(|record| &record.head != at.local).collect();
    }
    let asked = |round: &RoundRecord| {
        let about =
            round.sent.iter().filter_map(|id| at.summary.comments.get(id)).filter_map(|e| e.finding.path.as_deref());
        about.filter(|path| is_test(path)).any(|path| round.touched.iter().any(|place| place.path == path))
    };
    if unpushed(at.summary).any(asked) {
        return None;
    }
    let then = before.iter().filter_map(|record| record.tests).max().unwrap_or(0);
    let fewer = match now.tests {
        Some(now) if now < then => Some(format!("{now} tests ran, {then} did before")),
        // Silence is no proof that they still run.
        None if then > 0 => Some(format!("no test could be counted, {then} ran before")),
        Some(_) | None => None,
    };
    let skips = before.iter().filter_map(|record| record.skipped).min().zip(now.skipped);
    let skips = skips.filter(|(then, now)| now > then);
    let skips = skips.map(|(then, now)| format!("{now} tests were skipped, {then} were before"));
    let why: Vec<String> = fewer.into_iter().chain(skips).collect();
    (!why.is_empty()).then(|| why.join("; "))
}

fn is_test(path: &str) -> bool {
    let mut words = path.split(|c: char| !c.is_alphanumeric());
    words.any(|word| {
        ["test", "tests", "spec", "specs"].iter().any(|known| word.eq_ignore_ascii_case(known))
            || ["Test", "Tests", "Spec"].iter().any(|end| word.ends_with(end))
    })
}

/// Tests that are red on the merge base too are not this pull request's: they hold no commit back.
pub(super) fn also_red_on_base(at: &Situation<'_>) -> bool {
    tests_at(at.summary, at.local).is_some_and(|record| record.on_base == Some(VerifyState::Red))
}
