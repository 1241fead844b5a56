//! Turns the signs of one reviewer into its state for the head (R16). The newest sign decides, proofs of an end aside.

use jiff::Timestamp;

use super::signs::{Bond, Says, Seen, Sign};
use crate::review::verdict::ReviewerState;

/// A state and what it rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Judged {
    pub(super) state: ReviewerState,
    pub(super) evidence: String,
    pub(super) since: Option<Timestamp>,
    pub(super) weak: bool,
    /// Whether asking again is useless, by the reviewer's own words.
    pub(super) refuses: bool,
}

/// Decides the state. After the deadline work that never ended is silence.
pub(super) fn decide(seen: &Seen, now: Timestamp, deadline: Timestamp) -> Judged {
    let over = now >= deadline;
    if let Some(sign) = end(&seen.signs, over) {
        let state = ReviewerState::Finished { findings: seen.findings };
        let weak = sign.bond == Bond::Reaction;
        return Judged { state, evidence: sign.from.clone(), since: Some(sign.at), weak, refuses: false };
    }
    let mut judged = match newest_hindrance(&seen.signs) {
        Some(sign) => hindered(sign, over),
        None if over => silent("no sign of an end on this head".to_owned(), seen.last),
        None if seen.comments > 0 => {
            let evidence = "comments on this head, and nothing that says that the review has ended".to_owned();
            Judged { state: ReviewerState::Running, evidence, since: seen.last, weak: false, refuses: false }
        }
        None => {
            let evidence = if seen.here { "no sign on this head" } else { "no sign on this pull request" };
            let state = ReviewerState::NotStarted;
            Judged { state, evidence: evidence.to_owned(), since: None, weak: false, refuses: false }
        }
    };
    if let Some(notice) = seen.signs.iter().rev().find_map(notice) {
        judged.evidence = format!("{}; {notice}", judged.evidence);
    }
    judged
}

/// The proof that the review of this head has ended, if it stands.
fn end(signs: &[Sign], over: bool) -> Option<&Sign> {
    let newest =
        |bond: Bond| signs.iter().filter(|sign| sign.says == Says::Finished && sign.bond == bond).max_by_key(|s| s.at);
    let stands = |sign: &&Sign| !signs.iter().any(|other| undoes(other, sign, over));
    [Bond::Head, Bond::Time, Bond::Reaction].into_iter().filter_map(newest).find(stands)
}

/// Tells whether a newer sign takes a proof of the end away.
///
/// A proof that names the head is not undone by a later limit or refusal: those are answers to a second request.
fn undoes(other: &Sign, end: &Sign, over: bool) -> bool {
    let newer = other.at > end.at;
    let firm = end.bond == Bond::Head;
    match &other.says {
        Says::Running | Says::Short(_) => (newer || other.holds) && !(firm && over),
        Says::Failed(_) | Says::Partial(_) => newer,
        Says::Limited { .. } | Says::Skipped(_) => newer && !firm,
        Says::Finished | Says::Unknown(_) => false,
    }
}

fn newest_hindrance(signs: &[Sign]) -> Option<&Sign> {
    let decides = |sign: &&Sign| match sign.says {
        Says::Running
        | Says::Short(_)
        | Says::Limited { .. }
        | Says::Skipped(_)
        | Says::Failed(_)
        | Says::Partial(_) => true,
        Says::Finished | Says::Unknown(_) => false,
    };
    signs.iter().filter(decides).max_by_key(|sign| (sign.holds, sign.at))
}

fn hindered(sign: &Sign, over: bool) -> Judged {
    let (state, evidence) = match &sign.says {
        Says::Running if over => {
            return silent(format!("{} said that it runs, then nothing", sign.from), Some(sign.at));
        }
        Says::Running | Says::Finished | Says::Unknown(_) => {
            (ReviewerState::Running, format!("{} says that it runs", sign.from))
        }
        Says::Short(text) if over => (ReviewerState::Failed(text.clone()), format!("{}: {text}", sign.from)),
        Says::Short(text) => (ReviewerState::Running, format!("{}: {text}", sign.from)),
        Says::Limited { until, .. } => {
            (ReviewerState::Limited { until: *until }, format!("{} tells of a limit", sign.from))
        }
        Says::Skipped(why) => (ReviewerState::Skipped(why.clone()), format!("{}: {why}", sign.from)),
        Says::Failed(why) => (ReviewerState::Failed(why.clone()), format!("{}: {why}", sign.from)),
        Says::Partial(why) => {
            let why = format!("reviewed in part only: {why}");
            (ReviewerState::Failed(why.clone()), format!("{}: {why}", sign.from))
        }
    };
    let refuses = matches!(sign.says, Says::Limited { clears: false, .. });
    Judged { state, evidence, since: Some(sign.at), weak: false, refuses }
}

fn silent(evidence: String, since: Option<Timestamp>) -> Judged {
    Judged { state: ReviewerState::Silent, evidence, since, weak: false, refuses: false }
}

fn notice(sign: &Sign) -> Option<String> {
    match &sign.says {
        Says::Unknown(text) => Some(format!("a notice that no rule knows, {}: {text}", sign.from)),
        Says::Running
        | Says::Finished
        | Says::Short(_)
        | Says::Limited { .. }
        | Says::Skipped(_)
        | Says::Failed(_)
        | Says::Partial(_) => None,
    }
}
