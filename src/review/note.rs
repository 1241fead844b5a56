//! What one comment says, once its noise is gone: findings, signals, verdicts. The rules that read it are in `classify`.

use serde::{Deserialize, Serialize};

use super::comment::{Author, Channel};
use super::severity::{DecidedBy, RuleRef, Severity};

/// What a comment is, as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Asks for something.
    Finding,
    /// Only links or repeats what stands elsewhere.
    Summary,
    /// Started, finished, skipped, failed.
    Status,
    /// Finished, and nothing was found.
    Clean,
    /// A limit was reached.
    RateLimit,
    /// Answers in a thread.
    Reply,
    /// Asks nothing.
    Noise,
}

/// A finding read from a comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Severity.
    pub severity: Severity,
    /// How it was decided.
    pub decided_by: DecidedBy,
    /// By which rule.
    pub rule: Option<RuleRef>,
    /// The reviewer's own word for the level.
    pub level: Option<String>,
    /// One line.
    pub title: String,
    /// File, where the text names one; an inline comment's own anchor goes before it.
    pub path: Option<String>,
    /// First line, where named.
    pub line: Option<u32>,
    /// Last line, where named.
    pub end_line: Option<u32>,
    /// Readable text without noise.
    pub text: String,
    /// Hash of the meaning: cosmetic edits keep it.
    pub body_hash: String,
    /// Identity the reviewer keeps over re-posts.
    pub identity: Option<String>,
    /// True when it asks a question.
    pub is_question: bool,
}

/// What a text tells of its reviewer's work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signal {
    /// Work has begun.
    Running,
    /// A review has ended.
    Finished {
        /// The commit as given, perhaps abbreviated; `None` when the text names none.
        sha: Option<String>,
        /// True when it says that nothing was found.
        clean: bool,
        /// Number of findings it announces.
        announced: Option<u32>,
    },
    /// A limit was reached.
    Limited {
        /// Stated wait in seconds.
        wait_s: Option<u64>,
        /// True when waiting can help.
        clears: bool,
    },
    /// Not reviewed on purpose.
    Skipped(String),
    /// Not reviewed by failure.
    Failed(String),
    /// Reviewed in part.
    Partial(String),
    /// A notice no rule knows: never finished, never a finding, always shown.
    Unknown(String),
    /// Levels of inline threads, told elsewhere: comment id, severity.
    Levels(Vec<(u64, Severity)>),
}

/// A closing marker edited into a comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Closed {
    /// Its reviewer says that it was addressed, perhaps by which commit.
    Addressed(Option<String>),
    /// Its reviewer took it back.
    Withdrawn,
}

/// How a reply takes our answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReplyVerdict {
    /// Accepts it.
    Accepts,
    /// Stays with the finding.
    Insists,
    /// A notice that answers nothing.
    Notice,
    /// Cannot be told: treated as new.
    Unclear,
}

/// Everything read from one comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Classified {
    /// What it is as a whole.
    pub kind: Kind,
    /// Its findings, in the order they stand.
    pub findings: Vec<Found>,
    /// Rule file of the reviewer it belongs to.
    pub reviewer: Option<String>,
    /// What it tells of the reviewer's work.
    pub signals: Vec<Signal>,
    /// A closing marker.
    pub closed: Option<Closed>,
    /// For replies.
    pub verdict: ReplyVerdict,
}

impl Classified {
    /// Returns the worst severity; `None` without a finding.
    pub fn severity(&self) -> Option<Severity> {
        self.findings.iter().map(|found| found.severity).min()
    }

    /// Returns the worst finding, the first of several.
    pub fn worst(&self) -> Option<&Found> {
        self.findings.iter().min_by_key(|found| found.severity)
    }
}

/// Who speaks, as far as that matters (R2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// A known review bot, by its rule file's name.
    Reviewer(String),
    /// A person with write permission, or one whom config allows.
    Writer {
        /// True when permission could not be asked and was taken from the association.
        assumed: bool,
    },
    /// Our own account, with a marker of ours.
    Ours,
    /// The pull request's author.
    PrAuthor {
        /// Whether the author has write permission.
        writes: bool,
    },
    /// Anybody else: listed, creates no work, settles nothing.
    Untrusted,
}

impl Standing {
    /// Tells whether findings of this author create work. Untagged notes of the author are already no findings.
    pub fn creates_work(&self) -> bool {
        match self {
            Self::Reviewer(_) | Self::Writer { .. } => true,
            Self::PrAuthor { writes } => *writes,
            Self::Ours | Self::Untrusted => false,
        }
    }
}

/// One comment of an observation with its standing and its reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Channel of the comment.
    pub channel: Channel,
    /// Id of the comment within its channel.
    pub id: u64,
    /// Author.
    pub author: Option<Author>,
    /// Standing of the author here; a deputised bot is untrusted.
    pub standing: Standing,
    /// What it says.
    pub said: Classified,
}
