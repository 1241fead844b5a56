//! One complete reading of a pull request. A reading that is not complete never becomes an [`Observation`].

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::comment::{AccountKind, Author, Comment, Thread};
use super::ids::{Login, PrRef, RepoSlug, Sha};
use super::policy::Policy;
use super::shared::Shared;

/// A fact that a missing right or an unknown answer can hide. Unknown is never taken for a good value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reading<T> {
    /// Read completely.
    Known(T),
    /// Could not be read, and why, naming the missing right where it is one.
    Unknown(String),
}

impl<T> Reading<T> {
    /// Returns the value when it is known.
    pub fn known(&self) -> Option<&T> {
        match self {
            Self::Known(value) => Some(value),
            Self::Unknown(_) => None,
        }
    }
}

/// Life of a pull request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PrState {
    /// Open.
    Open,
    /// Closed without a merge.
    Closed,
    /// Merged.
    Merged,
}

/// What the forge says of merging.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mergeable {
    /// It can be merged as far as conflicts go.
    Yes,
    /// It conflicts.
    Conflict,
    /// Still being computed.
    Computing,
}

/// The pull request itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRequest {
    /// Which one.
    pub at: PrRef,
    /// Page for people.
    pub url: String,
    /// Title.
    pub title: String,
    /// Description, as stored.
    pub body: String,
    /// Author.
    pub author: Option<Author>,
    /// Life.
    pub state: PrState,
    /// Draft.
    pub draft: bool,
    /// Base branch.
    pub base: String,
    /// Tip of the base branch.
    pub base_sha: Sha,
    /// Head branch.
    pub head_branch: String,
    /// Head repository; `None` when the fork is gone.
    pub head_repo: Option<RepoSlug>,
    /// Head commit.
    pub head: Sha,
    /// Conflicts.
    pub mergeable: Mergeable,
    /// True when the forge's merge state says that the branch is behind its base.
    pub behind: bool,
    /// The repository's default branch.
    pub default_branch: String,
    /// Creation.
    pub created_at: Timestamp,
}

/// A reaction that can mean something: on the description or on a conversation comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reaction {
    /// Who.
    pub by: Author,
    /// The forge's word: `+1`, `eyes` …
    pub content: String,
    /// When.
    pub at: Timestamp,
    /// Conversation comment it stands on; `None` is the description.
    pub on: Option<u64>,
}

/// What an account may do here, as the permission endpoint says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Permission {
    /// Nothing, or reading.
    Read,
    /// Triage only.
    Triage,
    /// Write, maintain or admin.
    Write,
    /// The token may not ask.
    Unasked,
}

/// How a check stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckState {
    /// Queued or running.
    Pending,
    /// The one good end.
    Success,
    /// Red: failure, error, timed out, action required, startup failure.
    Failed(String),
    /// Ended without a verdict: skipped, neutral, cancelled, stale, or a word we do not know.
    Inconclusive(String),
}

/// A check run or commit status on the head. Identity is app + workflow + name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// App id of a check run; `None` for a commit status.
    pub app_id: Option<u64>,
    /// App slug, or the status creator's login.
    pub app: String,
    /// Workflow, where the forge tells it.
    pub workflow: Option<String>,
    /// Name or status context.
    pub name: String,
    /// State.
    pub state: CheckState,
    /// Title and summary, for reviewers that speak through a check.
    pub text: String,
    /// Last change.
    pub at: Option<Timestamp>,
    /// Page for people.
    pub url: String,
}

/// A check that a branch rule requires.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequiredCheck {
    /// Context or check name.
    pub name: String,
    /// The app that must report it, where the rule says so.
    pub app_id: Option<u64>,
    /// Where the requirement stands: `ruleset`, `branch protection`, `config`.
    pub from: String,
}

/// What the base branch's rules require beyond checks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BranchRules {
    /// Required checks.
    pub checks: Vec<RequiredCheck>,
    /// All conversations must be resolved.
    pub resolve_threads: bool,
    /// Why it could not be read whether conversations must be resolved; only where `resolve_threads` is false.
    pub resolve_unread: Option<String>,
    /// The branch must be up to date with its base.
    pub up_to_date: bool,
}

/// What the token surely may not do, as far as reading told; what only a write would show is not in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Barred {
    /// The scopes of a classic token, where none of them lets it post.
    pub posting: Option<Vec<String>>,
    /// The description may not be changed.
    pub describing: bool,
}

/// Everything read of one pull request, at one head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observation {
    /// The forge's clock at the last answer.
    pub at: Timestamp,
    /// The account of the token; `None` when it could not be learned.
    pub account: Option<Author>,
    /// The pull request.
    pub pr: PullRequest,
    /// All comments of all channels, in no particular order.
    pub comments: Shared<Vec<Comment>>,
    /// All threads.
    pub threads: Vec<Thread>,
    /// Reactions on the description and on conversation comments, of bots.
    pub reactions: Vec<Reaction>,
    /// Permissions of the people who wrote something.
    pub permissions: BTreeMap<Login, Permission>,
    /// Checks on the head.
    pub checks: Reading<Vec<Check>>,
    /// Rules of the base branch.
    pub rules: Reading<BranchRules>,
    /// Bots seen on the repository's last ten pull requests.
    pub recent_bots: Reading<BTreeSet<Login>>,
    /// When the head was pushed, from the oldest sign bound to it; `None` without a sign.
    pub head_since: Option<Timestamp>,
    /// What the token surely may not do.
    pub barred: Barred,
}

impl Observation {
    /// Tells whether an author is our own account.
    pub fn is_ours(&self, author: Option<&Author>) -> bool {
        match (author, &self.account) {
            (Some(author), Some(account)) => author == account,
            _ => false,
        }
    }

    /// Says why a run could not post what it has to, with the mend; `None` where nothing is known against it.
    pub fn barred(&self, policy: &Policy) -> Option<(String, &'static str)> {
        let account = self.account.as_ref().map_or("the token's account", |account| account.login.as_str());
        let at = &self.pr.at;
        if let Some(scopes) = &self.barred.posting {
            let has =
                if scopes.is_empty() { "no scope".to_owned() } else { format!("no scope but {}", scopes.join(", ")) };
            let why = format!("the token of {account} may not post on {at}: it has {has}");
            return Some((
                why,
                "give it the scope `repo` (`public_repo` is enough in a public repository), then run again",
            ));
        }
        let why = || format!("{account} may not change the description of {at} with this token (`viewerCanUpdate`)");
        let mend =
            "give the token `pull_requests=write`, of an account that may write there or has opened the pull request";
        // What an app may do stands in its installation, which this answer does not speak of.
        let person = self.account.as_ref().is_some_and(|account| account.kind == AccountKind::Person);
        (self.barred.describing && person && policy.post.description).then(|| (why(), mend))
    }

    /// Returns what an account may do; bots and unknown people may only read.
    pub fn permission(&self, author: &Author) -> Permission {
        match author.kind {
            AccountKind::Bot => Permission::Read,
            AccountKind::Person => self.permissions.get(&author.login).copied().unwrap_or(Permission::Read),
        }
    }
}
