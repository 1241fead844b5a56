//! The rules as the other parts of the core ask them: who is behind an account, what a comment, a check, a reaction says.

use super::classify::{self, CheckText, Classified, CommentInput, Rules};
use super::comment::{Author, Comment};
use super::ids::Login;
use super::observation::{CheckState, Observation};
use super::reviewers::{CheckSignals, ReactionSignal, ReviewerData};
use super::trust::Reader;

impl Reader for Rules {
    fn reviewer_of(&self, author: &Author, body: &str) -> Option<String> {
        Self::reviewer_of(self, &author.login, author.kind, body).map(|reviewer| reviewer.name.clone())
    }

    fn classify(&self, comment: &Comment, by_pr_author: bool) -> Classified {
        let gone = Login::new("ghost");
        let (login, account) =
            comment.author.as_ref().map_or((&gone, super::comment::AccountKind::Person), |a| (&a.login, a.kind));
        let anchor = comment.anchor.as_ref();
        classify::classify(
            self,
            &CommentInput {
                path: anchor.map(|anchor| anchor.path.as_str()),
                line: anchor.and_then(|anchor| anchor.line.or(anchor.original_line)),
                is_reply: comment.in_reply_to.is_some(),
                review_state: comment.review_state,
                by_pr_author,
                ..CommentInput::new(login, account, comment.channel, &comment.body)
            },
        )
    }
}

/// Returns what the checks on the head say for reviewers.
pub fn check_signals(rules: &Rules, obs: &Observation) -> Vec<CheckSignals> {
    let Some(checks) = obs.checks.known() else { return Vec::new() };
    let says = |check: &super::observation::Check| {
        let conclusion = match &check.state {
            CheckState::Pending => "in_progress",
            CheckState::Success => "success",
            CheckState::Failed(word) | CheckState::Inconclusive(word) => word.as_str(),
        };
        let text = CheckText { app: &check.app, name: &check.name, text: &check.text, conclusion };
        let (reviewer, signals) = classify::check_signals(rules, text)?;
        Some(CheckSignals { reviewer, signals, at: check.at, check: check.name.clone() })
    };
    checks.iter().filter_map(says).collect()
}

/// Returns what reactions of reviewers' accounts say.
pub fn reaction_signals(rules: &Rules, obs: &Observation) -> Vec<ReactionSignal> {
    let says = |reaction: &super::observation::Reaction| {
        let (reviewer, signal) = classify::reaction_signal(rules, &reaction.by.login, &reaction.content)?;
        Some(ReactionSignal { reviewer, signal, at: reaction.at, content: reaction.content.clone() })
    };
    obs.reactions.iter().filter_map(says).collect()
}

/// Returns what the rules know of every reviewer.
pub fn reviewer_data(rules: &Rules) -> Vec<ReviewerData> {
    let data = |reviewer: &classify::Reviewer| ReviewerData {
        name: reviewer.name.clone(),
        logins: reviewer.aliases.clone(),
        mention: reviewer.request.mention.clone(),
        request_login: reviewer.request.reviewer.clone(),
        rereviews: reviewer.request.by_itself,
    };
    rules.reviewers().iter().map(data).collect()
}
