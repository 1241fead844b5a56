//! What the editor may answer on a finding.

use serde::{Deserialize, Serialize};

use super::ids::FindingId;

/// Version of `decisions.json` and `findings.json`.
pub const SCHEMA_VERSION: u32 = 1;

/// The five answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verb {
    /// The code was changed.
    Fix,
    /// The finding is wrong or not worth it; P2 only.
    Argue,
    /// The place is gone.
    Stale,
    /// Out of scope; a plan follows.
    Defer,
    /// A question, answered.
    Answer,
}

impl Verb {
    /// Returns the word used in every format.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fix => "fix",
            Self::Argue => "argue",
            Self::Stale => "stale",
            Self::Defer => "defer",
            Self::Answer => "answer",
        }
    }
}

/// One answer of the editor, shape already checked, not yet judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// Finding it answers.
    pub id: FindingId,
    /// The answer.
    pub decision: Verb,
    /// Reason; empty for `fix`.
    #[serde(default)]
    pub reason: String,
    /// Other places that were changed, `path` or `path:from-to`.
    #[serde(default)]
    pub places: Vec<String>,
    /// Plan of a `defer`.
    #[serde(default)]
    pub plan: Option<PlanDraft>,
}

/// A follow-up plan as drafted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanDraft {
    /// Title.
    pub title: String,
    /// First steps.
    #[serde(default)]
    pub steps: Vec<String>,
}
