//! What the editor is told: the shapes of `findings.json` and of the prompt's view.

use serde::{Deserialize, Serialize};

use super::decision::Verb;
use super::ids::{FindingId, Sha};
use super::severity::Severity;

/// `findings.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindingsFile {
    /// Version of this format.
    pub schema_version: u32,
    /// Round.
    pub round: u32,
    /// Head.
    pub head: Sha,
    /// The spec, framed where its author is not trusted.
    pub spec: String,
    /// Tests at the head.
    pub tests: TestsView,
    /// The findings, in the order in which they are to be worked on.
    pub review_findings: Vec<BriefItem>,
    /// How many did not fit and follow in a later round.
    pub left_out: usize,
}

/// Tests as told to the editor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestsView {
    /// `green`, `red`, `could_not_run`, `not_run` or `none`.
    pub state: String,
    /// End of the output.
    pub log: String,
}

/// One item: a finding, or several at one place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BriefItem {
    /// The finding to answer.
    pub id: FindingId,
    /// Findings the same answer serves.
    pub also: Vec<FindingId>,
    /// Worst severity of them.
    pub severity: Severity,
    /// Who said it.
    pub author: String,
    /// File.
    pub path: Option<String>,
    /// First line at the head, or where it was.
    pub line: Option<u32>,
    /// Last line.
    pub end_line: Option<u32>,
    /// `LEFT` when the place is a removed line.
    pub side: Option<String>,
    /// Code at the head around the place; for a removed line, the removed text.
    pub code: String,
    /// The hunk as the reviewer saw it.
    pub hunk: String,
    /// What was said, all texts of merged findings.
    pub text: String,
    /// Thread so far.
    pub thread: Vec<ThreadLine>,
    /// Earlier rounds on this finding or its predecessors.
    pub history: Vec<PastAnswer>,
    /// Answers that are allowed.
    pub may: Vec<Verb>,
}

/// One line of a thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadLine {
    /// Who.
    pub author: String,
    /// What.
    pub text: String,
}

/// What is shown with a finding.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Around {
    /// Code at the head.
    pub code: String,
    /// The hunk as the reviewer saw it.
    pub hunk: String,
    /// The thread so far.
    pub thread: Vec<ThreadLine>,
}

/// What an earlier round did about a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PastAnswer {
    /// Round.
    pub round: u32,
    /// Answer; `none` when there was none.
    pub decision: String,
    /// Its reason, or why it was refused.
    pub reason: String,
    /// Our commit.
    pub commit: Option<String>,
}

/// Everything a prompt template may name. All texts are already cleaned and capped; frames come from the template.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PromptView {
    /// Random word that opens and closes frames of outside text; does not occur in any of them.
    pub nonce: String,
    /// Pull request, for example `o/r#7`.
    pub pr: String,
    /// The findings file as data.
    pub findings: FindingsFile,
    /// Path of the findings file.
    pub findings_path: String,
    /// Path of the decisions file.
    pub decisions_path: String,
    /// Path of the spec file.
    pub spec_path: String,
    /// True when the spec comes from somebody without write permission.
    pub spec_untrusted: bool,
    /// Verify commands, as configured.
    pub verify_commands: Vec<String>,
    /// Decisions of earlier rounds and reviews that must not be undone, one line each.
    pub settled: Vec<String>,
    /// Paths that may not be touched.
    pub protected: Vec<String>,
    /// Frozen test paths.
    pub frozen: Vec<String>,
    /// What was wrong with the last round, if anything.
    pub last_round: Option<String>,
}
