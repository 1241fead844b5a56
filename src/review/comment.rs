//! What the forge returns: comments of the three channels, their anchors and their threads.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::ids::{Login, Sha};

/// Where a comment stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    /// On a line or file of the diff.
    Inline,
    /// The body of a review.
    #[serde(alias = "review_body")]
    Review,
    /// In the pull request's conversation.
    #[serde(alias = "issue_comment")]
    Conversation,
}

/// The kind of an account, as the forge types it; a name never decides this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AccountKind {
    /// An app or bot account.
    Bot,
    /// A user account.
    Person,
}

/// Who wrote something.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Author {
    /// Normalised login.
    pub login: Login,
    /// Account kind.
    pub kind: AccountKind,
}

/// The forge's word for an author's relation to the repository; proof of nothing by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Association {
    /// Owns the repository.
    Owner,
    /// Belongs to the organisation.
    Member,
    /// Was invited.
    Collaborator,
    /// Anything else, known or not.
    Other,
}

/// Side of a diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Side {
    /// The removed side.
    Left,
    /// The added side.
    Right,
}

/// Where an inline comment was put, then and now. Age and staleness use the original fields: the forge moves the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Anchor {
    /// Path in the repository, as posted; not yet trusted as a path of the tree.
    pub path: String,
    /// Side of the diff.
    pub side: Side,
    /// Last line now, if the forge still places it.
    pub line: Option<u32>,
    /// First line now, of a comment on several lines.
    pub start_line: Option<u32>,
    /// Last line when it was made.
    pub original_line: Option<u32>,
    /// First line when it was made.
    pub original_start_line: Option<u32>,
    /// Commit it was made on.
    pub original_commit: Option<Sha>,
    /// Commit the forge shows it on now; no evidence of what was read.
    pub commit: Option<Sha>,
    /// True when the whole file is meant.
    pub whole_file: bool,
    /// The hunk as stored by the forge.
    pub hunk: String,
}

/// State of a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReviewState {
    /// Approves.
    Approved,
    /// Requests changes.
    ChangesRequested,
    /// Only comments.
    Commented,
    /// Was dismissed.
    Dismissed,
    /// The token owner's own draft: ignored everywhere.
    Pending,
    /// A word we do not know: proves nothing.
    Unknown,
}

/// One comment, reply or review body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comment {
    /// The forge's id, unique within its channel.
    pub id: u64,
    /// Channel.
    pub channel: Channel,
    /// Author; `None` when the account is gone.
    pub author: Option<Author>,
    /// Relation of the author to the repository.
    pub association: Association,
    /// Text as stored.
    pub body: String,
    /// Creation (reviews: submission).
    pub created_at: Timestamp,
    /// Last edit.
    pub updated_at: Timestamp,
    /// Page for people.
    pub url: String,
    /// Inline only.
    pub anchor: Option<Anchor>,
    /// Inline replies only: the thread's first comment.
    pub in_reply_to: Option<u64>,
    /// Inline only: the review it belongs to.
    pub review_id: Option<u64>,
    /// Reviews only.
    pub review_state: Option<ReviewState>,
    /// Reviews only: the commit that was reviewed.
    pub review_commit: Option<Sha>,
}

impl Comment {
    /// Returns the id of the first comment of the thread.
    pub fn root(&self) -> u64 {
        self.in_reply_to.unwrap_or(self.id)
    }
}

/// A thread's state as only GraphQL tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thread {
    /// Node id for resolving.
    pub node_id: String,
    /// Id of the first comment.
    pub root: u64,
    /// Ids of all its comments.
    pub comments: Vec<u64>,
    /// Whether it is resolved.
    pub resolved: bool,
    /// By whom.
    pub resolved_by: Option<Login>,
    /// Whether the forge calls it outdated.
    pub outdated: bool,
    /// Whether our account may resolve it.
    pub may_resolve: bool,
    /// Ids of comments that were hidden by someone.
    pub minimised: Vec<u64>,
}
