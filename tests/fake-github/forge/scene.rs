//! The scene: users, repositories, pull requests and what reviewers do after each push, as data. Decides no behaviour.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::faults::Fault;
use super::state::{Settings, User};

/// Everything a test or demo sets up; each part may be empty, and a second scene adds to the first.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Scene {
    pub settings: Option<Settings>,
    /// Logical time to start at.
    pub start: Option<String>,
    pub users: Vec<User>,
    pub repos: Vec<RepoScene>,
    /// Reactive reviewers.
    pub script: Vec<Scripted>,
    pub faults: Vec<Fault>,
    /// Done at once, after the pulls exist.
    pub actions: Vec<Action>,
}

/// A repository.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RepoScene {
    /// `owner/name`.
    pub name: String,
    /// The bare git repository.
    pub git: PathBuf,
    pub default_branch: Option<String>,
    pub private: bool,
    pub organisation: bool,
    /// Login to admin, maintain, write, triage, read or none.
    pub collaborators: BTreeMap<String, String>,
    /// Branch to the list that `rules/branches/B` gives.
    pub rules: BTreeMap<String, Vec<Value>>,
    /// Branch to `{"strict": bool, "checks": [{"context", "app_id"}]}`.
    pub protection: BTreeMap<String, Value>,
    /// Former names; they answer 301.
    pub renamed_from: Vec<String>,
    pub pulls: Vec<PullScene>,
    pub issues: Vec<IssueScene>,
}

/// A pull request.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PullScene {
    pub number: u64,
    pub title: String,
    pub body: Option<String>,
    pub base: Option<String>,
    /// The branch.
    pub head: String,
    /// `owner/name` of the fork, which must be a repository of the scene.
    pub head_repo: Option<String>,
    pub author: String,
    pub draft: bool,
    pub state: Option<String>,
    /// Merged by this login.
    pub merged_by: Option<String>,
    pub requested_reviewers: Vec<String>,
    pub labels: Vec<String>,
    /// Issues that it closes.
    pub closes: Vec<u64>,
    /// Reads that still show the old head after a push.
    pub head_lag: u32,
    pub mergeable: Option<bool>,
    pub mergeable_state: Option<String>,
    pub mergeable_null: u32,
    /// Done at once.
    pub actions: Vec<Action>,
    /// Reactive reviewers of this pull request.
    pub script: Vec<Scripted>,
}

/// An issue.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct IssueScene {
    pub number: u64,
    pub title: String,
    pub body: Option<String>,
    pub author: String,
    pub state: Option<String>,
}

/// Something that happens by itself. One of `after_push`, `on_comment`, `on_request` says when.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Scripted {
    /// `owner/name`; may be left out when there is one repository.
    pub repo: Option<String>,
    /// May be left out when the repository has one pull request.
    pub pull: Option<u64>,
    /// The n-th new head; 0 = at the start.
    pub after_push: Option<u32>,
    /// Also after every later push.
    pub and_later: bool,
    /// A comment posted over HTTP holds this text.
    pub on_comment: Option<String>,
    /// This login is asked for a review.
    pub on_request: Option<String>,
    /// How often it may still happen; no limit when left out (once for `after_push` without `and_later`).
    pub times: Option<u32>,
    pub delay_ms: i64,
    pub actions: Vec<Action>,
}

/// One thing that somebody does.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Action {
    Inline(Inline),
    Review(ReviewAct),
    Reply(ReplyAct),
    IssueComment(TalkAct),
    Edit(EditAct),
    Delete(KeyAct),
    Dismiss(KeyAct),
    Resolve(KeyAct),
    Unresolve(KeyAct),
    Minimize(KeyAct),
    Reaction(ReactAct),
    CheckRun(CheckAct),
    Status(StatusAct),
    GitCommit(CommitAct),
    Pull(PullAct),
    RequestReview(KeyAct),
    Advance(i64),
}

/// A comment on the diff.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Inline {
    pub user: String,
    pub body: String,
    pub path: String,
    pub line: Option<u64>,
    /// The first line of the file that holds this text; not there = nothing is said.
    #[serde(rename = "match")]
    pub matching: Option<String>,
    pub start_line: Option<u64>,
    pub side: Option<String>,
    /// A comment on the file as a whole.
    pub file_level: bool,
    /// `head` (default), `previous`, or a sha.
    pub commit: Option<String>,
    /// Key or id of the review it belongs to.
    pub review: Option<Value>,
    /// A name for later actions.
    pub key: Option<String>,
    /// Logical time it carries instead of now.
    pub at: Option<String>,
}

/// A review with its comments.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReviewAct {
    pub user: String,
    /// COMMENTED (default), APPROVED, CHANGES_REQUESTED, DISMISSED, PENDING.
    pub state: Option<String>,
    pub body: String,
    pub comments: Vec<Inline>,
    /// Done instead when there are comments and none of their `match` texts is in the head any more.
    pub when_clean: Vec<Action>,
    /// `head` (default), `previous`, a sha, or `none`.
    pub commit: Option<String>,
    pub key: Option<String>,
    pub at: Option<String>,
}

/// An answer in a thread.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReplyAct {
    pub user: String,
    pub body: String,
    /// Key or id of any comment of the thread, or `trigger`.
    pub to: Value,
    pub key: Option<String>,
}

/// A comment in the conversation.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TalkAct {
    pub user: String,
    pub body: String,
    pub key: Option<String>,
    pub at: Option<String>,
}

/// New words for a comment or review.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EditAct {
    pub of: Value,
    pub body: String,
}

/// Something done to one item by somebody.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct KeyAct {
    /// Key or id.
    pub of: Value,
    pub user: String,
}

/// An emoji.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReactAct {
    pub user: String,
    /// `pull` (default), key or id, or `trigger`.
    pub to: Value,
    /// +1 -1 laugh confused heart hooray rocket eyes.
    pub content: String,
    /// Takes it away.
    pub remove: bool,
}

/// A check run; the same key updates it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CheckAct {
    pub name: String,
    /// queued, in_progress, completed (default when a conclusion is given).
    pub status: Option<String>,
    pub conclusion: Option<String>,
    pub app: Option<String>,
    pub app_id: Option<u64>,
    pub title: Option<String>,
    pub summary: Option<String>,
    pub commit: Option<String>,
    pub key: Option<String>,
    /// Path of its workflow; every run with one is in a suite of its own.
    pub workflow: Option<String>,
}

/// A commit status.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StatusAct {
    pub user: Option<String>,
    pub context: String,
    pub state: String,
    pub description: Option<String>,
    pub commit: Option<String>,
}

/// A commit by somebody else.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CommitAct {
    /// The pull request's branch when left out.
    pub branch: Option<String>,
    /// Path to text; null removes the file.
    pub files: BTreeMap<String, Option<String>>,
    pub message: Option<String>,
    pub user: Option<String>,
    /// Replace the tip, as after a forced push.
    pub amend: bool,
}

/// Changes of the pull request itself.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PullAct {
    pub title: Option<String>,
    pub body: Option<String>,
    pub state: Option<String>,
    pub draft: Option<bool>,
    pub merged_by: Option<String>,
    pub base: Option<String>,
    pub mergeable: Option<Option<bool>>,
    pub mergeable_state: Option<String>,
    pub mergeable_null: Option<u32>,
    pub head_lag: Option<u32>,
}
