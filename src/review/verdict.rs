//! The shapes of verdicts: reviewer states (R16) and the gate's clauses (R18). How they are reached is decided elsewhere.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::ids::Sha;

/// State of one reviewer for one head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReviewerState {
    /// No sign on this head.
    NotStarted,
    /// At work.
    Running,
    /// Positive proof that the review of this head has ended.
    Finished {
        /// Findings on this head.
        findings: u32,
    },
    /// A limit, and when it ends.
    Limited {
        /// When it ends, where told.
        until: Option<Timestamp>,
    },
    /// Not reviewed on purpose.
    Skipped(String),
    /// Not reviewed by failure.
    Failed(String),
    /// No sign until the TTL.
    Silent,
}

impl ReviewerState {
    /// Returns the word used in every format.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::NotStarted => "not_started",
            Self::Running => "running",
            Self::Finished { .. } => "finished",
            Self::Limited { .. } => "limited",
            Self::Skipped(_) => "skipped",
            Self::Failed(_) => "failed",
            Self::Silent => "silent",
        }
    }
}

/// One reviewer as shown and judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewerReport {
    /// Rule file's name, or the login of a listed person.
    pub name: String,
    /// Listed in `reviewers.required`.
    pub required: bool,
    /// Awaited at all; an advisory reviewer is shown only.
    pub awaited: bool,
    /// State for `head`.
    pub state: ReviewerState,
    /// The head.
    pub head: Sha,
    /// Findings of this reviewer that are open.
    pub open: u32,
    /// What the state rests on, in one sentence.
    pub evidence: String,
    /// Since when.
    pub since: Option<Timestamp>,
    /// When waiting ends: limit, settle window or TTL.
    pub until: Option<Timestamp>,
    /// True when the proof is a bare reaction.
    pub weak: bool,
    /// True when its TTL has ended without a finished review: nothing more is awaited, by name.
    pub ended: bool,
}

/// What is to be asked of a reviewer, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nudge {
    /// Reviewer.
    pub name: String,
    /// Not before.
    pub due: Timestamp,
    /// How: a comment with this text.
    pub mention: Option<String>,
    /// How: the forge's own request, for this login.
    pub request: Option<String>,
    /// Why.
    pub why: String,
}

/// All reviewers of a head (R17).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewersVerdict {
    /// Each reviewer.
    pub each: Vec<ReviewerReport>,
    /// `Some(true)`: every awaited one has finished or ended by name; `Some(false)`: not; `None`: cannot be told.
    pub finished: Option<bool>,
    /// Why not, in one sentence.
    pub why: String,
    /// When time alone can change this.
    pub until: Option<Timestamp>,
    /// True when only a person can help: a required reviewer is silent after its TTL, or no reviewer is known.
    pub stuck: bool,
    /// What helps.
    pub remedy: String,
    /// What may be asked now or later.
    pub nudges: Vec<Nudge>,
}

/// The gate's verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Every clause is true.
    Ready,
    /// A clause is false.
    Blocked,
    /// Time alone can help.
    Waiting,
    /// A clause could not be read.
    Unknown,
}

/// A clause of the gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "R18 of the contract names and explains them")]
pub enum ClauseName {
    Head,
    Pr,
    Reviewers,
    Reviews,
    Checks,
    Findings,
    Description,
    Threads,
    Spec,
}

impl ClauseName {
    /// Returns the word used in every format.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Head => "head",
            Self::Pr => "pr",
            Self::Reviewers => "reviewers",
            Self::Reviews => "reviews",
            Self::Checks => "checks",
            Self::Findings => "findings",
            Self::Description => "description",
            Self::Threads => "threads",
            Self::Spec => "spec",
        }
    }
}

/// One clause, judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clause {
    /// Which one.
    pub clause: ClauseName,
    /// True, false, or not known.
    pub ok: Option<bool>,
    /// Whether time alone can help.
    pub waiting: bool,
    /// Why.
    pub reason: String,
    /// What helps; empty when true.
    pub remedy: String,
    /// Whether only a person can help.
    #[serde(skip)]
    pub person: bool,
}

/// The whole gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gate {
    /// Verdict.
    pub verdict: Verdict,
    /// Head that was judged.
    pub head: Sha,
    /// Clauses, in the contract's order.
    pub clauses: Vec<Clause>,
}
