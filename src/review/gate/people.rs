//! Clause `reviews`: no standing change request of a trusted account.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::{GateFacts, fails, holds};
use crate::review::comment::{Author, Channel, Comment, ReviewState};
use crate::review::ids::Sha;
use crate::review::note::{Note, Standing};
use crate::review::observation::Observation;
use crate::review::verdict::{Clause, ClauseName};

/// A change request that stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeRequest {
    /// Who requests.
    pub author: Author,
    /// The reviewer's rule file, for a bot.
    pub reviewer: Option<String>,
    /// The review.
    pub review: u64,
    /// The commit it was made on.
    pub commit: Option<Sha>,
    /// Page for people.
    pub url: String,
}

/// Returns the standing change requests of trusted accounts, by login.
///
/// Of each account the latest of approved, changes requested and dismissed decides; comments neither give nor take.
pub fn change_requests(obs: &Observation, notes: &[Note]) -> Vec<ChangeRequest> {
    let notes: BTreeMap<u64, &Note> =
        notes.iter().filter(|note| note.channel == Channel::Review).map(|note| (note.id, note)).collect();
    let mut latest: BTreeMap<&Author, (Timestamp, u64, &Comment, &Note)> = BTreeMap::new();
    for comment in obs.comments.iter().filter(|comment| comment.channel == Channel::Review && decides(comment)) {
        let (Some(author), Some(note)) = (&comment.author, notes.get(&comment.id)) else { continue };
        let newer = latest.get(author).is_none_or(|(at, id, ..)| (*at, *id) < (comment.created_at, comment.id));
        if trusted(&note.standing) && newer {
            latest.insert(author, (comment.created_at, comment.id, comment, note));
        }
    }
    latest
        .into_iter()
        .filter(|(_, (_, _, comment, _))| comment.review_state == Some(ReviewState::ChangesRequested))
        .map(|(author, (_, id, comment, note))| ChangeRequest {
            author: author.clone(),
            reviewer: match &note.standing {
                Standing::Reviewer(name) => Some(name.clone()),
                Standing::Writer { .. } | Standing::Ours | Standing::PrAuthor { .. } | Standing::Untrusted => None,
            },
            review: id,
            commit: comment.review_commit.clone(),
            url: comment.url.clone(),
        })
        .collect()
}

fn decides(comment: &Comment) -> bool {
    match comment.review_state {
        Some(ReviewState::Approved | ReviewState::ChangesRequested | ReviewState::Dismissed) => true,
        Some(ReviewState::Commented | ReviewState::Pending | ReviewState::Unknown) | None => false,
    }
}

fn trusted(standing: &Standing) -> bool {
    match standing {
        Standing::Reviewer(_) | Standing::Writer { .. } | Standing::Ours | Standing::PrAuthor { writes: true } => true,
        Standing::PrAuthor { writes: false } | Standing::Untrusted => false,
    }
}

pub(super) fn reviews(facts: &GateFacts<'_>) -> Clause {
    let name = ClauseName::Reviews;
    let requests = change_requests(facts.obs, facts.notes);
    if requests.is_empty() {
        return holds(name, "no change request stands");
    }
    let logins: Vec<&str> = requests.iter().map(|request| request.author.login.as_str()).collect();
    let logins = logins.join(", ");
    let remedy = format!("settle the findings of {logins}, then ask for a fresh review");
    fails(name, format!("changes are requested by {logins}"), remedy)
}
