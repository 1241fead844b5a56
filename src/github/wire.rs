//! The forge's JSON, as far as it is needed. Private to this adapter; what can be null in practice is nullable here.
//!
//! The same shapes are kept in the cache, so an answer and a kept answer are read by one code.

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};

/// Takes null for `None`, but wants the field to be there: without it the answer has another shape.
fn there<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Option<T>, D::Error> {
    Option::deserialize(from)
}

/// Something in a list that has an identity.
pub(crate) trait Item {
    /// Returns the forge's id.
    fn id(&self) -> u64;
    /// Returns the last change, where the forge tells it.
    fn changed(&self) -> Option<Timestamp>;
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct User {
    pub(crate) login: String,
    #[serde(rename = "type")]
    pub(crate) kind: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Inline {
    pub(crate) id: u64,
    pub(crate) in_reply_to_id: Option<u64>,
    pub(crate) pull_request_review_id: Option<u64>,
    #[serde(deserialize_with = "there")]
    pub(crate) user: Option<User>,
    pub(crate) author_association: Option<String>,
    #[serde(deserialize_with = "there")]
    pub(crate) body: Option<String>,
    pub(crate) path: String,
    pub(crate) side: Option<String>,
    pub(crate) line: Option<u32>,
    pub(crate) start_line: Option<u32>,
    pub(crate) original_line: Option<u32>,
    pub(crate) original_start_line: Option<u32>,
    pub(crate) commit_id: Option<String>,
    pub(crate) original_commit_id: Option<String>,
    pub(crate) subject_type: Option<String>,
    pub(crate) diff_hunk: Option<String>,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Option<Timestamp>,
    pub(crate) html_url: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Review {
    pub(crate) id: u64,
    #[serde(deserialize_with = "there")]
    pub(crate) user: Option<User>,
    pub(crate) author_association: Option<String>,
    #[serde(deserialize_with = "there")]
    pub(crate) body: Option<String>,
    pub(crate) state: String,
    pub(crate) commit_id: Option<String>,
    pub(crate) submitted_at: Option<Timestamp>,
    pub(crate) html_url: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Talk {
    pub(crate) id: u64,
    #[serde(deserialize_with = "there")]
    pub(crate) user: Option<User>,
    pub(crate) author_association: Option<String>,
    #[serde(deserialize_with = "there")]
    pub(crate) body: Option<String>,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Option<Timestamp>,
    pub(crate) html_url: Option<String>,
    pub(crate) reactions: Option<Rollup>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Rollup {
    pub(crate) total_count: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Reaction {
    pub(crate) id: u64,
    #[serde(deserialize_with = "there")]
    pub(crate) user: Option<User>,
    pub(crate) content: String,
    pub(crate) created_at: Timestamp,
}

impl Item for Inline {
    fn id(&self) -> u64 {
        self.id
    }
    fn changed(&self) -> Option<Timestamp> {
        self.updated_at
    }
}

impl Item for Review {
    fn id(&self) -> u64 {
        self.id
    }
    fn changed(&self) -> Option<Timestamp> {
        self.submitted_at
    }
}

impl Item for Talk {
    fn id(&self) -> u64 {
        self.id
    }
    fn changed(&self) -> Option<Timestamp> {
        self.updated_at
    }
}

impl Item for Reaction {
    fn id(&self) -> u64 {
        self.id
    }
    fn changed(&self) -> Option<Timestamp> {
        None
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Pull {
    pub(crate) number: u64,
    pub(crate) html_url: String,
    #[serde(deserialize_with = "there")]
    pub(crate) title: Option<String>,
    #[serde(deserialize_with = "there")]
    pub(crate) body: Option<String>,
    pub(crate) user: Option<User>,
    pub(crate) state: String,
    pub(crate) draft: Option<bool>,
    pub(crate) merged: Option<bool>,
    pub(crate) merged_at: Option<Timestamp>,
    pub(crate) mergeable: Option<bool>,
    pub(crate) mergeable_state: Option<String>,
    pub(crate) created_at: Timestamp,
    pub(crate) base: Branch,
    pub(crate) head: Branch,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Branch {
    #[serde(rename = "ref")]
    pub(crate) name: String,
    pub(crate) sha: String,
    pub(crate) repo: Option<Repository>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Repository {
    pub(crate) full_name: String,
    pub(crate) default_branch: Option<String>,
    pub(crate) permissions: Option<Rights>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Rights {
    pub(crate) admin: bool,
    pub(crate) maintain: bool,
    pub(crate) push: bool,
    pub(crate) triage: bool,
    pub(crate) pull: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct CheckRuns {
    pub(crate) check_runs: Vec<CheckRun>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct CheckRun {
    pub(crate) id: u64,
    pub(crate) name: String,
    pub(crate) status: String,
    pub(crate) conclusion: Option<String>,
    pub(crate) started_at: Option<Timestamp>,
    pub(crate) completed_at: Option<Timestamp>,
    pub(crate) html_url: Option<String>,
    pub(crate) details_url: Option<String>,
    pub(crate) app: Option<App>,
    pub(crate) output: Option<Output>,
    pub(crate) check_suite: Option<Suite>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Suite {
    pub(crate) id: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct WorkflowRuns {
    pub(crate) workflow_runs: Vec<WorkflowRun>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct WorkflowRun {
    pub(crate) check_suite_id: Option<u64>,
    pub(crate) path: Option<String>,
    pub(crate) name: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct App {
    pub(crate) id: u64,
    pub(crate) slug: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Output {
    pub(crate) title: Option<String>,
    pub(crate) summary: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Combined {
    pub(crate) statuses: Vec<Status>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Status {
    pub(crate) id: u64,
    pub(crate) context: String,
    pub(crate) state: String,
    pub(crate) description: Option<String>,
    pub(crate) target_url: Option<String>,
    pub(crate) created_at: Option<Timestamp>,
    pub(crate) updated_at: Option<Timestamp>,
    pub(crate) creator: Option<User>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Rule {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) parameters: Option<RuleParameters>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct RuleParameters {
    pub(crate) required_status_checks: Option<Vec<RuleCheck>>,
    pub(crate) strict_required_status_checks_policy: Option<bool>,
    pub(crate) required_review_thread_resolution: Option<bool>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct RuleCheck {
    pub(crate) context: String,
    pub(crate) integration_id: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Protection {
    pub(crate) required_status_checks: Option<ProtectedChecks>,
    pub(crate) required_conversation_resolution: Option<Switch>,
}

/// A branch as everybody who may read the repository sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct BranchInfo {
    pub(crate) protected: bool,
    pub(crate) protection: Option<PublicProtection>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct PublicProtection {
    pub(crate) required_status_checks: Option<ProtectedChecks>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ProtectedChecks {
    pub(crate) strict: Option<bool>,
    pub(crate) contexts: Option<Vec<String>>,
    pub(crate) checks: Option<Vec<ProtectedCheck>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ProtectedCheck {
    pub(crate) context: String,
    /// -1 stands for any app.
    pub(crate) app_id: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Switch {
    pub(crate) enabled: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Access {
    pub(crate) permission: String,
    pub(crate) role_name: Option<String>,
}

/// A pull request in a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Listed {
    pub(crate) number: u64,
    pub(crate) state: String,
    pub(crate) draft: Option<bool>,
    pub(crate) merged_at: Option<Timestamp>,
    pub(crate) title: Option<String>,
    pub(crate) user: Option<User>,
    pub(crate) base: Branch,
    pub(crate) head: Branch,
}

/// A comment or review of any pull request, only to see who writes in the repository.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Elsewhere {
    pub(crate) user: Option<User>,
}

/// A file's content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Content {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) encoding: Option<String>,
    pub(crate) content: Option<String>,
}

/// What a write answers, as far as it matters.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct Made {
    pub(crate) id: u64,
}

/// Whose review is requested.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct Requested {
    #[serde(default)]
    pub(crate) requested_reviewers: Vec<User>,
}
