//! The records of the state: users, repositories, pull requests and what is said on them.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::state::Ms;

/// Switches of the server as a whole.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Waiting time added to every answer.
    pub latency_ms: u64,
    /// `weak`, `strong` or `off`.
    pub etag: String,
    /// The most items a page ever holds, whatever was asked for.
    pub page_cap: Option<usize>,
    /// A comment made alone, or a reply, also makes a COMMENTED review with an empty body.
    pub empty_reviews: bool,
    /// Compare requests and answers with the pinned shapes.
    pub check_shapes: bool,
    /// Keep rendered pages until something changes.
    pub page_cache: bool,
    /// Requests an hour and user.
    pub rate_limit: i64,
    /// Points an hour and user for GraphQL.
    pub graphql_limit: i64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            latency_ms: 0,
            etag: "weak".into(),
            page_cap: None,
            empty_reviews: true,
            check_shapes: true,
            page_cache: true,
            rate_limit: 5000,
            graphql_limit: 5000,
        }
    }
}

/// An account.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct User {
    /// REST spelling; bots end in `[bot]`.
    pub login: String,
    /// The login that stands on its inline comments, where it differs (Copilot).
    #[serde(default)]
    pub inline_login: Option<String>,
    /// `User` or `Bot`; by default from the login.
    #[serde(default, rename = "type")]
    pub kind: Option<String>,
    /// Its number; given out when 0.
    #[serde(default)]
    pub id: u64,
    /// What it may sign in with.
    #[serde(default)]
    pub tokens: Vec<Token>,
    /// Overrides `author_association`.
    #[serde(default)]
    pub association: Option<String>,
}

impl User {
    /// Returns `User` or `Bot`.
    pub fn kind(&self) -> &str {
        self.kind.as_deref().unwrap_or(if self.login.ends_with("[bot]") { "Bot" } else { "User" })
    }
}

/// A token and what it may do.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Token {
    /// The secret itself.
    pub token: String,
    /// `classic` (default), `fine_grained` or `installation`.
    #[serde(default = "classic")]
    pub kind: String,
    /// Permission name to `read`, `write` or `admin`; absent = everything.
    #[serde(default)]
    pub permissions: Option<BTreeMap<String, String>>,
    /// Logical time from which it is refused with 401.
    #[serde(default)]
    pub expires: Option<String>,
}

fn classic() -> String {
    "classic".into()
}

/// A repository: settings here, commits in a bare git repository.
#[derive(Debug, Default)]
pub struct Repo {
    pub id: u64,
    pub owner: String,
    pub name: String,
    pub git: PathBuf,
    pub default_branch: String,
    pub private: bool,
    /// Owned by an organisation: writers show as MEMBER.
    pub organisation: bool,
    pub collaborators: BTreeMap<String, String>,
    pub rules: BTreeMap<String, Vec<Value>>,
    pub protection: BTreeMap<String, Value>,
    pub renamed_from: Vec<String>,
    pub pulls: Vec<Pull>,
    pub issues: Vec<Issue>,
    pub statuses: Vec<Status>,
    pub checks: Vec<Check>,
}

impl Repo {
    /// Returns `owner/name`.
    pub fn slug(&self) -> String {
        format!("{}/{}", self.owner, self.name)
    }

    /// Finds a pull request by its number.
    pub fn pull(&self, number: u64) -> Option<&Pull> {
        self.pulls.iter().find(|p| p.number == number)
    }
}

/// A plain issue.
#[derive(Debug, Clone, Default)]
pub struct Issue {
    pub number: u64,
    pub title: String,
    pub body: Option<String>,
    pub author: String,
    pub state: String,
}

/// A pull request.
#[derive(Debug, Default)]
pub struct Pull {
    pub id: u64,
    pub number: u64,
    pub title: String,
    pub body: Option<String>,
    pub base: String,
    pub head_branch: String,
    /// The fork it comes from.
    pub head_repo: Option<String>,
    pub author: String,
    pub draft: bool,
    pub state: String,
    pub merged: bool,
    pub merged_by: Option<String>,
    pub closed_at: Option<Ms>,
    pub mergeable: Option<bool>,
    pub mergeable_state: Option<String>,
    /// Answers with `mergeable: null` still to give.
    pub mergeable_null: u32,
    pub labels: Vec<String>,
    pub closes: Vec<u64>,
    /// What the API shows; follows the branch after `head_lag` reads.
    pub head: String,
    pub base_sha: String,
    pub heads: Vec<String>,
    pub head_lag: u32,
    pub lag_left: Option<u32>,
    pub pushes: u32,
    pub created: Ms,
    pub updated: Ms,
    pub reviews: Vec<Review>,
    pub comments: Vec<Comment>,
    pub talk: Vec<Talk>,
    pub reactions: Vec<Reaction>,
    pub requested: Vec<String>,
    /// Root comment id to who resolved it.
    pub resolved: HashMap<u64, String>,
    /// Comments hidden as outdated, spam …
    pub minimized: HashMap<u64, String>,
    pub merge_cache: Option<(String, String, bool)>,
}

/// A review.
#[derive(Debug, Clone)]
pub struct Review {
    pub id: u64,
    pub user: String,
    pub body: String,
    pub state: String,
    pub commit: Option<String>,
    pub submitted: Ms,
}

/// A comment on the diff.
#[derive(Debug, Clone)]
pub struct Comment {
    pub id: u64,
    pub user: String,
    pub body: String,
    pub path: String,
    pub side: String,
    pub line: Option<u64>,
    pub start_line: Option<u64>,
    pub position: Option<u64>,
    pub original_line: Option<u64>,
    pub original_start_line: Option<u64>,
    pub original_position: Option<u64>,
    pub commit: String,
    pub original_commit: String,
    pub hunk: String,
    pub file_level: bool,
    pub reply_to: Option<u64>,
    pub review: Option<u64>,
    pub created: Ms,
    pub updated: Ms,
    pub outdated: bool,
    pub reactions: Vec<Reaction>,
}

/// A comment in the conversation.
#[derive(Debug, Clone)]
pub struct Talk {
    pub id: u64,
    pub user: String,
    pub body: String,
    pub created: Ms,
    pub updated: Ms,
    pub reactions: Vec<Reaction>,
}

/// An emoji.
#[derive(Debug, Clone)]
pub struct Reaction {
    pub id: u64,
    pub user: String,
    pub content: String,
    pub created: Ms,
}

/// A commit status.
#[derive(Debug, Clone)]
pub struct Status {
    pub id: u64,
    pub sha: String,
    pub context: String,
    pub state: String,
    pub description: Option<String>,
    pub target_url: Option<String>,
    pub user: String,
    pub created: Ms,
}

/// A check run.
#[derive(Debug, Clone)]
pub struct Check {
    pub id: u64,
    pub suite: u64,
    pub sha: String,
    pub name: String,
    pub status: String,
    pub conclusion: Option<String>,
    pub app_id: u64,
    pub app_slug: String,
    pub title: Option<String>,
    pub summary: Option<String>,
    pub workflow: Option<String>,
    pub started: Ms,
    pub completed: Option<Ms>,
}
