//! What a comment asks for, and how bad that is (rules R3 to R5), by rules that are data. It knows one text at a time:
//! threads, earlier rounds and the state of a reviewer are decided elsewhere.

mod batch;
mod clean;
mod compile;
mod engine;
mod found;
mod level;
mod marks;
mod offline;
mod page;
mod pattern;
mod people;
mod readable;
mod reviewer;
mod row;
pub mod rules;
mod sections;
mod sieve;
mod signals;
mod start;
mod title;
mod words;

use serde::{Deserialize, Serialize};

pub use clean::plain;
pub use compile::{BadRule, Rules};
pub use found::classify;
pub use offline::{classify_each, classify_stream};
pub use readable::{below_title, readable};
pub use reviewer::Reviewer;
pub use signals::{CheckText, check_signals, reaction_signal};

use super::comment::{AccountKind, Channel, ReviewState};
use super::ids::Login;
use super::severity::{DecidedBy, RuleRef, Severity};

/// What a comment is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// It asks for something.
    Finding,
    /// It sums up or repeats.
    Summary,
    /// It says how a review stands.
    Status,
    /// It says that a review has ended without a finding.
    Clean,
    /// It says that a limit is in the way.
    RateLimit,
    /// It answers in a thread.
    Reply,
    /// It asks for nothing.
    Noise,
}

impl Kind {
    /// Returns the word used in every format.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Finding => "finding",
            Self::Summary => "summary",
            Self::Status => "status",
            Self::Clean => "clean",
            Self::RateLimit => "rate_limit",
            Self::Reply => "reply",
            Self::Noise => "noise",
        }
    }
}

/// Everything that rules see of a comment.
#[derive(Debug, Clone, Copy)]
pub struct CommentInput<'a> {
    /// Who wrote it.
    pub login: &'a Login,
    /// Kind of the account.
    pub account: AccountKind,
    /// Where it stands.
    pub channel: Channel,
    /// Text as stored.
    pub body: &'a str,
    /// Inline: the path.
    pub path: Option<&'a str>,
    /// Inline: the line.
    pub line: Option<u32>,
    /// Whether it answers another comment of its thread.
    pub is_reply: bool,
    /// True when nobody can tell whether it is a reply, so that its words may.
    pub reply_unknown: bool,
    /// Reviews: the state.
    pub review_state: Option<ReviewState>,
    /// Whether the author of the pull request wrote it.
    pub by_pr_author: bool,
}

impl<'a> CommentInput<'a> {
    /// Returns the input for a comment in a channel, with everything else unset.
    pub fn new(login: &'a Login, account: AccountKind, channel: Channel, body: &'a str) -> Self {
        Self {
            login,
            account,
            channel,
            body,
            path: None,
            line: None,
            is_reply: false,
            reply_unknown: false,
            review_state: None,
            by_pr_author: false,
        }
    }
}

/// What a comment turned out to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Classified {
    /// Kind.
    pub kind: Kind,
    /// Open findings, in the order of the text.
    pub findings: Vec<Found>,
    /// The finding of an inline comment that was closed by an edit: its level and title stay known.
    pub closed_finding: Option<Found>,
    /// Name of the reviewer's rule file; `None` for people and unknown bots.
    pub reviewer: Option<String>,
    /// What it says of the review.
    pub signals: Vec<Signal>,
    /// The closing line, if one was edited in.
    pub closed: Option<Closed>,
    /// Replies: what it means for our argument.
    pub verdict: ReplyVerdict,
}

impl Classified {
    /// Returns the worst finding; of equals the first.
    pub fn worst(&self) -> Option<&Found> {
        self.findings.iter().min_by_key(|f| (f.severity, f.decided_by == DecidedBy::Assumed))
    }

    /// Returns the effective severity.
    pub fn severity(&self) -> Option<Severity> {
        self.worst().map(|f| f.severity)
    }

    /// Returns how the effective severity was decided.
    pub fn decided_by(&self) -> Option<DecidedBy> {
        self.worst().map(|f| f.decided_by)
    }

    /// Returns the rule that decided the effective severity.
    pub fn rule(&self) -> Option<&RuleRef> {
        self.worst().and_then(|f| f.rule.as_ref())
    }

    /// Returns all findings as one, for an inline comment, which is one finding whatever it holds: the worst severity,
    /// the first title, the whole text.
    pub fn merged(&self) -> Option<Found> {
        let first = self.findings.first()?;
        let worst = self.worst()?;
        if self.findings.len() == 1 {
            return Some(first.clone());
        }
        let text = self.findings.iter().map(|f| f.text.as_str()).collect::<Vec<_>>().join("\n\n");
        let body_hash = found::hash_of(self.findings.iter().map(|f| f.body_hash.as_str()));
        let is_question = self.findings.iter().all(|f| f.is_question);
        Some(Found { title: first.title.clone(), text, body_hash, is_question, ..worst.clone() })
    }
}

/// One claim that asks for something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Severity.
    pub severity: Severity,
    /// How it was decided.
    pub decided_by: DecidedBy,
    /// The rule that decided.
    pub rule: Option<RuleRef>,
    /// Title in one line.
    pub title: String,
    /// Path, as given; not yet trusted as a path of the tree.
    pub path: Option<String>,
    /// First line.
    pub line: Option<u32>,
    /// Last line.
    pub end_line: Option<u32>,
    /// Readable text without noise.
    pub text: String,
    /// Hash of what it means.
    pub body_hash: String,
    /// The reviewer's own identity of the finding, stable across reposts.
    pub identity: Option<String>,
    /// Whether it only asks.
    pub is_question: bool,
    /// The reviewer's own level.
    pub level: Option<String>,
    /// The section of a body it was found in; one of the name `duplicate` repeats an open thread.
    pub section: Option<String>,
}

/// What a text, a check or a reaction says of a review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signal {
    /// It is under way.
    Running,
    /// It has ended.
    Finished {
        /// The commit, abbreviated as given.
        sha: Option<String>,
        /// Whether it says that nothing was found.
        clean: bool,
        /// How many findings it announces.
        announced: Option<u32>,
    },
    /// A limit is in the way.
    Limited {
        /// The stated wait in seconds.
        wait_s: Option<u64>,
        /// Whether waiting helps.
        clears: bool,
    },
    /// No review, on purpose, and why.
    Skipped(String),
    /// No review, by failure, and why.
    Failed(String),
    /// Only a part was reviewed, and why.
    Partial(String),
    /// A notice by a known reviewer that no rule knows.
    Unknown(String),
    /// Levels of inline comments, by comment id.
    ReportsLevels(Vec<(u64, Severity)>),
}

/// A line edited in when a finding is settled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Closed {
    /// Addressed by a commit.
    Addressed {
        /// The commit, abbreviated as given.
        sha: Option<String>,
    },
    /// Resolved or no longer relevant.
    Resolved {
        /// The commit, abbreviated as given.
        sha: Option<String>,
    },
    /// Taken back.
    Withdrawn,
}

/// What a reply means for our argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReplyVerdict {
    /// It accepts.
    Accepts,
    /// It insists.
    Insists,
    /// It is only a notice; nothing is owed.
    Notice,
    /// Nobody can tell: it re-enters.
    Unclear,
}
