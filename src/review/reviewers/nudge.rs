//! When a reviewer may be asked to look again (R16). Asking itself, and asking once, is the outbox's business.

use jiff::Timestamp;

use super::who::Who;
use super::{Candidate, Facts, after, asked};
use crate::review::verdict::{Nudge, ReviewerState};

/// Returns what may be asked of a reviewer, and not before when.
///
/// Only a known bot that is already on this pull request is asked, and only while it is awaited and not at work.
pub(super) fn nudge(facts: &Facts<'_>, candidate: &Candidate<'_>, since: Timestamp) -> Option<Nudge> {
    let policy = &facts.policy.reviewers;
    let Who::Known(data) = &candidate.who else { return None };
    let can_be_asked = data.mention.is_some() || data.request_login.is_some();
    let asked = u32::try_from(asked(facts, &candidate.name).len()).unwrap_or(u32::MAX);
    let useful = candidate.awaited && candidate.seen.here && !candidate.ended && !candidate.judged.refuses;
    if !(useful && can_be_asked && asked < policy.requests_per_head) {
        return None;
    }
    let wait = policy.nudge.min(policy.ttl / 2);
    let ours = facts.summary.heads.iter().rev().find(|h| h.sha == facts.obs.pr.head).is_some_and(|h| h.ours);
    let last = candidate.judged.since.unwrap_or(since).max(since);
    let (due, why) = match &candidate.judged.state {
        ReviewerState::NotStarted if ours && !data.rereviews => {
            (since, "it does not look at later pushes by itself".to_owned())
        }
        ReviewerState::NotStarted => (after(since, wait), "it has given no sign on this head".to_owned()),
        ReviewerState::Limited { until: Some(until) } => (*until, "its limit has ended".to_owned()),
        ReviewerState::Limited { until: None } => {
            (after(since, policy.ttl / 2).max(last), "its limit names no end".to_owned())
        }
        ReviewerState::Skipped(why) | ReviewerState::Failed(why) => (after(last, wait), why.clone()),
        ReviewerState::Running | ReviewerState::Finished { .. } | ReviewerState::Silent => return None,
    };
    let (mention, request) = (data.mention.clone(), data.request_login.clone());
    (due < candidate.deadline).then(|| Nudge { name: candidate.name.clone(), due, mention, request, why })
}
