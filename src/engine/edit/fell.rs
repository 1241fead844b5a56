//! An editor that did not come to its end: what is taken back, what it is called, and what a person can do.

use super::{EditEnd, Ran, finish, stop, take_out};
use crate::engine::{EngineError, Ports};
use crate::ports::AgentOutcome;
use crate::review::summary::{RoundOutcome, RoundRecord, StopReason, Summary};

/// Environment failures cost no attempt; a crash or a clock does. Either way nothing of it stays in the tree.
pub(super) fn bad_end(ports: &Ports<'_>, summary: &mut Summary, ran: &Ran<'_>) -> Result<Option<EditEnd>, EngineError> {
    let outcome = &ran.report.outcome;
    if let AgentOutcome::Completed = outcome {
        return Ok(None);
    }
    let words = outcome_words(outcome);
    let kept = take_out(ports, summary, ran)?;
    let again = same_end(summary, outcome, &words);
    if outcome.environment() || again || *outcome == AgentOutcome::Cancelled {
        summary.used.rounds = summary.used.rounds.saturating_sub(1);
        for id in &ran.sent {
            if let Some(entry) = summary.comments.get_mut(id) {
                entry.finding.attempts = entry.finding.attempts.saturating_sub(1);
            }
        }
    }
    if *outcome == AgentOutcome::Cancelled && !ports.clock.interrupted() && ports.forge.ended().unwrap_or(false) {
        finish(summary, RoundOutcome::CutOff, format!("the pull request ended{kept}"));
        ports.warn(format!("the pull request ended while the editor worked: it was stopped{kept}"));
        return Ok(Some(EditEnd::Look));
    }
    if *outcome == AgentOutcome::Cancelled {
        finish(summary, RoundOutcome::CutOff, format!("{words}{kept}"));
        return Ok(Some(stop(StopReason::Interrupted, format!("{words}{kept}"), "run again to go on")));
    }
    if outcome.environment() || again {
        finish(summary, RoundOutcome::Environment, format!("{words}{kept}"));
        return Ok(Some(if again {
            stop(StopReason::NoProgress, format!("{words}, twice in the same way"), mend(outcome))
        } else {
            stop(StopReason::EditorUnavailable, words, mend(outcome))
        }));
    }
    ports.warn(format!("{words}{kept}"));
    finish(summary, RoundOutcome::Failed, format!("{words}{kept}"));
    Ok(Some(EditEnd::Go))
}

/// Tells whether the editor fell over twice with the same words: then it is the editor that has to be mended, not the code.
fn same_end(summary: &Summary, outcome: &AgentOutcome, words: &str) -> bool {
    let fell = matches!(outcome, AgentOutcome::Crashed(_) | AgentOutcome::Unparseable(_));
    let bad = |round: &RoundRecord| matches!(round.outcome, RoundOutcome::Failed | RoundOutcome::Environment);
    // Behind the words stands only where the changes are kept.
    let same = |round: &RoundRecord| {
        round
            .why
            .strip_prefix(words)
            .is_some_and(|kept| kept.is_empty() || kept.starts_with("; its changes are kept on "))
    };
    fell && summary.rounds.iter().rev().nth(1).is_some_and(|before| bad(before) && same(before))
}

/// What to do about an editor that could not work.
fn mend(outcome: &AgentOutcome) -> &'static str {
    match outcome {
        AgentOutcome::Missing(_) => {
            "install it, or mend `agent.name` or `agent.command`, then run again; no attempt was counted"
        }
        AgentOutcome::AuthFailed(_) => "log in with the editor's own command, then run again; no attempt was counted",
        AgentOutcome::Crashed(_) | AgentOutcome::Unparseable(_) => {
            "mend the editor (`agent.command`), then run again; the second attempt was not counted"
        }
        AgentOutcome::Completed
        | AgentOutcome::Refused(_)
        | AgentOutcome::RateLimited { .. }
        | AgentOutcome::Overloaded(_)
        | AgentOutcome::LimitHit(_)
        | AgentOutcome::Denied(_)
        | AgentOutcome::Cancelled
        | AgentOutcome::TimedOut(_) => "mend the editor's login or limit, then run again; no attempt was counted",
    }
}

fn outcome_words(outcome: &AgentOutcome) -> String {
    match outcome {
        AgentOutcome::Completed => "the editor is done".to_owned(),
        AgentOutcome::Refused(why) => format!("the editor refused: {why}"),
        AgentOutcome::AuthFailed(why) => format!("the editor is not logged in: {why}"),
        AgentOutcome::RateLimited { why, retry_at: Some(at) } => {
            format!("the editor's limit is reached until {at}: {why}")
        }
        AgentOutcome::RateLimited { why, retry_at: None } => format!("the editor's limit is reached: {why}"),
        AgentOutcome::Overloaded(why) => format!("the editor's service is overloaded: {why}"),
        AgentOutcome::LimitHit(why) => format!("the editor reached its own limit: {why}"),
        AgentOutcome::Denied(tools) => format!("the editor was denied: {}", tools.join(", ")),
        AgentOutcome::Cancelled => "the editor was stopped by a signal".to_owned(),
        AgentOutcome::TimedOut(why) => format!("the editor timed out: {why}"),
        AgentOutcome::Crashed(why) => format!("the editor failed: {why}"),
        AgentOutcome::Unparseable(why) => format!("the editor's output cannot be read: {why}"),
        AgentOutcome::Missing(why) => format!("the editor could not be started: {why}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::review::sample;

    #[test]
    fn r21_an_editor_falls_over_in_the_same_way_only_with_the_same_words() {
        let check = |before: &str, ended: RoundOutcome, now: &str, expected: bool| {
            let outcome = AgentOutcome::Crashed(now.to_owned());
            let mut summary = sample::summary(vec![]);
            let begun = |n| RoundRecord::begun(n, sample::sha('a'), Vec::new());
            let why = format!("the editor failed: {before}");
            summary.rounds = vec![RoundRecord { outcome: ended, why, ..begun(1) }, begun(2)];
            let same = same_end(&summary, &outcome, &outcome_words(&outcome));
            assert_eq!(same, expected, "{before} {ended:?} {now}");
        };
        check("exit code 1", RoundOutcome::Failed, "exit code 1", true);
        check("exit code 1; its changes are kept on refs/pushback/7/1", RoundOutcome::Failed, "exit code 1", true);
        check("exit code 1", RoundOutcome::Environment, "exit code 1", true);
        check("exit code 12", RoundOutcome::Failed, "exit code 1", false);
        check("exit code 1; its last words: no such file", RoundOutcome::Failed, "exit code 1", false);
        check("exit code 1", RoundOutcome::Red, "exit code 1", false);
    }
}
