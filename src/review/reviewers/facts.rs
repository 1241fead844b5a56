//! Reads checks and reactions by the rules, and lists the reviewers the rules know. It judges none of them.

use std::collections::BTreeSet;

use super::{CheckSignals, ReactionSignal, ReviewerData, ReviewerFacts};
use crate::review::classify::{CheckText, Rules, check_signals, reaction_signal};
use crate::review::comment::AccountKind;
use crate::review::note::Note;
use crate::review::observation::{Check, CheckState, Observation, Reaction, Reading};
use crate::review::policy::Policy;
use crate::review::summary::Summary;

impl<'a> ReviewerFacts<'a> {
    /// Gathers everything the verdict rests on.
    pub fn gather(
        obs: &'a Observation,
        notes: &'a [Note],
        summary: &'a Summary,
        rules: &Rules,
        policy: &'a Policy,
    ) -> Self {
        let read: &[Check] = match &obs.checks {
            Reading::Known(checks) => checks,
            Reading::Unknown(_) => &[],
        };
        Self {
            obs,
            notes,
            checks: read.iter().filter_map(|check| of_check(rules, check)).collect(),
            reactions: obs.reactions.iter().filter_map(|reaction| of_reaction(rules, reaction)).collect(),
            summary,
            policy,
            known: known(rules),
        }
    }

    /// Returns the names of the checks through which reviewers speak.
    pub fn check_names(&self) -> BTreeSet<String> {
        self.checks.iter().map(|check| check.check.clone()).collect()
    }
}

fn known(rules: &Rules) -> Vec<ReviewerData> {
    rules
        .reviewers()
        .iter()
        .map(|reviewer| ReviewerData {
            name: reviewer.name.clone(),
            logins: reviewer.aliases.clone(),
            mention: reviewer.request.mention.clone(),
            request_login: reviewer.request.reviewer.clone(),
            rereviews: reviewer.request.by_itself,
        })
        .collect()
}

fn of_check(rules: &Rules, check: &Check) -> Option<CheckSignals> {
    let conclusion = match &check.state {
        CheckState::Pending => "in_progress",
        CheckState::Success => "success",
        CheckState::Failed(word) | CheckState::Inconclusive(word) => word,
    };
    let text = CheckText { app: &check.app, name: &check.name, text: &check.text, conclusion };
    let (reviewer, signals) = check_signals(rules, text)?;
    Some(CheckSignals { reviewer, signals, at: check.at, check: check.name.clone() })
}

/// Reads a reaction of a bot account; a person of the same name says nothing for a reviewer.
fn of_reaction(rules: &Rules, reaction: &Reaction) -> Option<ReactionSignal> {
    if reaction.by.kind != AccountKind::Bot {
        return None;
    }
    let (reviewer, signal) = reaction_signal(rules, &reaction.by.login, &reaction.content)?;
    Some(ReactionSignal { reviewer, signal, at: reaction.at, content: reaction.content.clone() })
}
