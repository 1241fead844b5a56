//! What bounds the editor: rounds, time, money, rounds that bring nothing, one region again and again (R20, R21).

use super::{CHOICES, Situation, Step, stop};
use crate::review::policy::Limits;
use crate::review::summary::{RoundOutcome, RoundRecord, StopReason, Summary};

/// Lines that make two places one region (R21).
pub const REGION_LINES: u32 = 10;

/// Rounds that count against the limit: since a person or success reset them.
pub fn rounds_used(summary: &Summary) -> u32 {
    let given_back = |round: &RoundRecord| {
        round.unattended || matches!(round.outcome, RoundOutcome::Environment | RoundOutcome::CutOff)
    };
    let counts = |round: &&RoundRecord| round.n > summary.reset_at_round && !given_back(round);
    // A round that was cut off by a kill stands in `used`, one that was stopped by a signal was given back there.
    let here = u32::try_from(summary.rounds.iter().filter(counts).count()).unwrap_or(u32::MAX);
    here.max(summary.used.rounds)
}

/// Returns how many rounds more have to be allowed before the editor is started again; `None` where a run may start it.
pub fn more_needed(summary: &Summary, limits: &Limits) -> Option<u32> {
    if no_progress(summary).is_some() {
        return Some(1);
    }
    (rounds_used(summary) >= limits.rounds).then_some(2)
}

pub(super) fn bounds(at: &Situation<'_>) -> Option<Step> {
    let limits = &at.policy.limits;
    let used = &at.summary.used;
    let more = "decide what is open with `pushback triage`, or allow more with `pushback run --more 2`";
    let over = |what: String| Some(stop(StopReason::Budget, what, more));
    // `--more N` starts a count of its own (R20).
    let (rounds, key) = if at.run.more > 0 { (at.run.more, "--more") } else { (limits.rounds, "limits.rounds") };
    if rounds_used(at.summary) >= rounds {
        return over(format!("{rounds} rounds are used up ({key})"));
    }
    if at.run.elapsed >= limits.run {
        return over("this run has reached its time limit (limits.run)".to_owned());
    }
    if used.agent_seconds >= limits.agent_time.as_secs() {
        return over(format!("the editor has worked {} s (limits.agent_time)", used.agent_seconds));
    }
    if limits.cost_usd > 0.0 && used.cost_usd >= limits.cost_usd {
        return over(format!("the editor has cost {:.2} USD (limits.cost_usd)", used.cost_usd));
    }
    if limits.tokens > 0 && used.tokens >= limits.tokens {
        return over(format!("the editor has used {} tokens (limits.tokens)", used.tokens));
    }
    no_progress(at.summary).or_else(|| repeating_region(at.summary, limits.region))
}

fn editor_rounds(summary: &Summary) -> impl DoubleEndedIterator<Item = &RoundRecord> {
    let counts = |round: &&RoundRecord| {
        round.n > summary.reset_at_round
            && !round.unattended
            && !matches!(round.outcome, RoundOutcome::Environment | RoundOutcome::CutOff | RoundOutcome::Editing)
    };
    summary.rounds.iter().filter(counts)
}

fn no_progress(summary: &Summary) -> Option<Step> {
    let mut newest = editor_rounds(summary).rev();
    let (last, before) = (newest.next()?, newest.next()?);
    let idle = |round: &RoundRecord| round.settled.is_empty();
    let same_tree = last.tree == before.tree && !last.tree.is_empty();
    (idle(last) && idle(before) && same_tree).then(|| {
        stop(
            StopReason::NoProgress,
            format!("rounds {} and {} settled nothing and left the same tree", before.n, last.n),
            "say more in the threads or change the code yourself, then run again with `--more 1`",
        )
    })
}

fn repeating_region(summary: &Summary, limit: u32) -> Option<Step> {
    let last = editor_rounds(summary).next_back()?;
    for place in &last.touched {
        let near = |round: &&RoundRecord| {
            round.touched.iter().any(|other| {
                other.path == place.path
                    && other.from <= place.to.saturating_add(REGION_LINES / 2)
                    && place.from <= other.to.saturating_add(REGION_LINES / 2)
            })
        };
        let times = editor_rounds(summary).filter(near).count();
        let open_there = summary.workable().find(|entry| {
            entry.finding.path.as_deref() == Some(place.path.as_str())
                && entry.finding.line.is_some_and(|line| {
                    line + REGION_LINES >= place.from && line <= place.to.saturating_add(REGION_LINES)
                })
        });
        if let (Some(open), true) = (open_there, times >= limit as usize) {
            let (id, url) = (open.finding.id, &open.finding.url);
            let place = format!("{}:{}-{}", place.path, place.from, place.to);
            return Some(stop(
                StopReason::RepeatingRegion,
                format!("{place} was changed in {times} rounds and is not at rest; open there: {id} ({url})"),
                CHOICES,
            ));
        }
    }
    None
}
