//! The stable JSON of every command: one object on stdout, versioned. The text formats may change, this does not.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;

use crate::review::brief::{Around, ThreadLine};
use crate::review::decision::Verb;
use crate::review::ids::FindingId;
use crate::review::next::Action;
use crate::review::severity::Severity;
use crate::review::status::Status;
use crate::review::summary::{Entry, Finding, Move, RoundRecord, StopReason, Summary, Used};
use crate::review::verdict::{Gate, ReviewerReport, ReviewerState};

/// Version of every JSON object this program prints.
pub const SCHEMA_VERSION: u32 = 1;

/// What every object carries.
#[derive(Debug, Clone, Serialize)]
pub struct Envelope<T: Serialize> {
    /// Version.
    pub schema_version: u32,
    /// Command.
    pub command: &'static str,
    /// Exit code.
    pub exit: u8,
    /// The pull request; null when none was found.
    pub pr: Option<PrView>,
    /// The one command to run next.
    pub next: String,
    /// When to come back.
    pub retry_after_s: Option<u64>,
    /// What went wrong.
    pub error: Option<ErrorView>,
    /// What the command adds.
    #[serde(flatten)]
    pub more: T,
}

impl<T: Serialize> Envelope<T> {
    /// Wraps the answer of a command that is about no pull request.
    pub fn of(command: &'static str, exit: u8, next: &str, more: T) -> Self {
        let (schema_version, next) = (SCHEMA_VERSION, next.to_owned());
        Self { schema_version, command, exit, pr: None, next, retry_after_s: None, error: None, more }
    }
}

/// An error.
#[derive(Debug, Clone, Serialize)]
pub struct ErrorView {
    /// `usage`, `config`, `could_not_read`, `permission`, `held`, `editor`, `internal`.
    pub kind: &'static str,
    /// One sentence.
    pub message: String,
    /// How to mend it.
    pub hint: String,
}

/// A pull request.
#[derive(Debug, Clone, Serialize)]
pub struct PrView {
    /// Host.
    pub host: String,
    /// Owner.
    pub owner: String,
    /// Repository.
    pub repo: String,
    /// Number.
    pub number: u64,
    /// Page for people.
    pub url: String,
    /// Base branch.
    pub base: String,
    /// Head commit.
    pub head: String,
}

impl PrView {
    /// Shows the pull request of a summary.
    pub fn of(summary: &Summary) -> Self {
        let pr = &summary.pr;
        Self {
            host: pr.host.clone(),
            owner: pr.owner.clone(),
            repo: pr.repo.clone(),
            number: pr.number.0,
            url: pr.url.clone(),
            base: pr.base.clone(),
            head: pr.head.to_string(),
        }
    }
}

/// Open findings, counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// P1.
    pub p1: usize,
    /// P2.
    pub p2: usize,
    /// P3.
    pub p3: usize,
    /// Nits.
    pub nit: usize,
    /// Only a person can go on.
    pub needs_person: usize,
    /// From authors who create no work.
    pub untrusted: usize,
}

impl Counts {
    /// Counts what is open.
    pub fn of(summary: &Summary, untrusted: usize) -> Self {
        let open: Vec<&Finding> =
            summary.comments.values().map(|entry| &entry.finding).filter(|finding| !finding.status.settled()).collect();
        let of = |severity: Severity| open.iter().filter(|finding| finding.severity == severity).count();
        Self {
            p1: of(Severity::P1),
            p2: of(Severity::P2),
            p3: of(Severity::P3),
            nit: of(Severity::Nit),
            needs_person: open.iter().filter(|finding| finding.needs_person).count()
                + summary.comments.values().filter(|entry| entry.orphaned()).count(),
            untrusted,
        }
    }
}

/// A reviewer.
#[derive(Debug, Clone, Serialize)]
pub struct ReviewerView {
    name: String,
    required: bool,
    awaited: bool,
    state: &'static str,
    head: String,
    findings: u32,
    evidence: String,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
}

impl ReviewerView {
    /// Shows a report.
    pub fn of(report: &ReviewerReport) -> Self {
        Self {
            name: report.name.clone(),
            required: report.required,
            awaited: report.awaited,
            state: report.state.as_str(),
            head: report.head.to_string(),
            findings: match report.state {
                ReviewerState::Finished { findings } => findings,
                _ => report.open,
            },
            evidence: report.evidence.clone(),
            since: report.since,
            until: report.until,
        }
    }
}

/// What `status` adds.
#[derive(Debug, Clone, Serialize)]
pub struct StatusView {
    /// Open findings.
    pub counts: Counts,
    /// All findings.
    pub findings: Vec<Finding>,
    /// Reviewers.
    pub reviewers: Vec<ReviewerView>,
    /// The gate.
    pub gate: Option<Gate>,
    /// What was spent.
    pub used: UsedView,
    /// Notices worth a look: untrusted comments, a loosened gate, unknown notices.
    pub notes: Vec<String>,
}

/// What `gate` adds.
#[derive(Debug, Clone, Serialize)]
pub struct GateView {
    /// The same as `status`.
    #[serde(flatten)]
    pub status: StatusView,
    /// The published commit status; null without `--publish`.
    pub published: Option<PublishedView>,
}

/// A commit status that stands for a verdict.
#[derive(Debug, Clone, Serialize)]
pub struct PublishedView {
    /// Commit.
    pub sha: String,
    /// Context.
    pub context: String,
    /// `success`, `failure`, `error` or `pending`.
    pub state: &'static str,
    /// Its one line.
    pub description: String,
    /// Whether it stands there now.
    pub written: bool,
    /// Why not.
    pub why: String,
}

/// What `run` adds.
#[derive(Debug, Clone, Serialize)]
pub struct RunView {
    /// The same as `status`.
    #[serde(flatten)]
    pub status: StatusView,
    /// Named stop reason.
    pub stop_reason: Option<StopReason>,
    /// In one sentence.
    pub why: String,
    /// Rounds of this pull request.
    pub rounds: Vec<RoundView>,
    /// Planned writes of a dry run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub planned: Vec<PlannedView>,
    /// Plans of a dry run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub plans: Vec<PlanView>,
    /// Where state is.
    pub summary: String,
}

/// What was spent.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct UsedView {
    /// Rounds since the last reset.
    pub rounds: u32,
    /// Editor time.
    pub agent_seconds: u64,
    /// Tokens.
    pub tokens: u64,
    /// Money.
    pub cost_usd: f64,
}

impl UsedView {
    /// Shows what was spent.
    pub fn of(used: &Used) -> Self {
        Self { rounds: used.rounds, agent_seconds: used.agent_seconds, tokens: used.tokens, cost_usd: used.cost_usd }
    }
}

/// One round.
#[derive(Debug, Clone, Serialize)]
pub struct RoundView {
    n: u32,
    head_before: String,
    head_after: Option<String>,
    sent: Vec<FindingId>,
    outcome: crate::review::summary::RoundOutcome,
    why: String,
    verify: Option<crate::review::summary::VerifyState>,
    seconds: u64,
    tokens: u64,
    cost_usd: f64,
}

impl RoundView {
    /// Shows a round.
    pub fn of(round: &RoundRecord) -> Self {
        Self {
            n: round.n,
            head_before: round.head_before.to_string(),
            head_after: round.head_after.as_ref().map(ToString::to_string),
            sent: round.sent.clone(),
            outcome: round.outcome,
            why: round.why.clone(),
            verify: round.verify,
            seconds: round.seconds,
            tokens: round.tokens,
            cost_usd: round.cost_usd,
        }
    }
}

/// One planned write.
#[derive(Debug, Clone, Serialize)]
pub struct PlannedView {
    /// What it does.
    pub kind: &'static str,
    /// Where it goes.
    pub target: crate::review::summary::Target,
    /// Exact text.
    pub body: String,
    /// Findings it speaks for.
    pub findings: Vec<FindingId>,
}

/// A follow-up plan that a dry run shows.
#[derive(Debug, Clone, Serialize)]
pub struct PlanView {
    /// Its file.
    pub path: String,
    /// Exact text.
    pub text: String,
    /// Findings it is for.
    pub findings: Vec<FindingId>,
}

/// A finding with everything that is known of it.
#[derive(Debug, Clone, Serialize)]
pub struct FindingView {
    /// The finding.
    #[serde(flatten)]
    pub finding: Finding,
    /// What was said.
    pub body: String,
    /// Code at the head.
    pub code: String,
    /// The hunk as the reviewer saw it.
    pub hunk: String,
    /// The thread so far.
    pub thread: Vec<ThreadLine>,
    /// Moves, oldest first.
    pub history: Vec<Move>,
    /// Findings at the same place, which the same answer serves.
    pub also: Vec<FindingId>,
    /// Answers that are allowed.
    pub may: Vec<Verb>,
}

impl FindingView {
    /// Shows a finding.
    pub fn of(entry: &Entry, around: Around, also: &[FindingId], may: &[Verb]) -> Self {
        Self {
            finding: entry.finding.clone(),
            body: entry.text.clone(),
            code: around.code,
            hunk: around.hunk,
            thread: around.thread,
            history: entry.history.clone(),
            also: also.to_vec(),
            may: may.to_vec(),
        }
    }
}

/// What `next` adds.
#[derive(Debug, Clone, Serialize)]
pub struct NextView {
    /// What to do.
    pub action: Action,
    /// True when time alone helps: come back after `retry_after_s`.
    pub pending: bool,
    /// Why, in one sentence.
    pub why: String,
    /// Open findings.
    pub counts: Counts,
    /// The finding it is about.
    pub finding: Option<FindingView>,
    /// Commands that go on from here, by name; words in capitals are to be filled in.
    pub commands: BTreeMap<&'static str, String>,
    /// When the reading was made that this rests on.
    pub as_of: Timestamp,
    /// True when the forge was not asked now.
    pub cached: bool,
}

/// What `resolve` adds.
#[derive(Debug, Clone, Serialize)]
pub struct ResolveView {
    /// Each answer.
    pub answers: Vec<AnswerView>,
    /// The findings that were answered.
    pub findings: Vec<Finding>,
    /// Planned writes of a dry run.
    pub planned: Vec<PlannedView>,
    /// Plans of a dry run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub plans: Vec<PlanView>,
    /// What is worth knowing.
    pub notes: Vec<String>,
}

/// One answer and how far it is.
#[derive(Debug, Clone, Serialize)]
pub struct AnswerView {
    /// The finding.
    pub id: FindingId,
    /// The answer.
    pub decision: Verb,
    /// `settled`, `claimed` (a fix that is proved once it is on the remote), `posted` (not read back yet), `owed`, `draft`.
    pub state: &'static str,
    /// Status of the finding now.
    pub status: Status,
    /// In one sentence.
    pub why: String,
}

/// What `explain` adds.
#[derive(Debug, Clone, Serialize)]
pub struct ExplainView {
    /// The finding.
    pub finding: Finding,
    /// Why it has its severity, in words.
    pub explanation: Vec<String>,
}

/// What `trust` adds.
#[derive(Debug, Clone, Serialize)]
pub struct TrustView {
    /// The file.
    pub path: String,
    /// SHA-256 of its content.
    pub hash: String,
    /// Whether exactly this content is trusted now.
    pub trusted: bool,
    /// Keys of it that never apply from a worktree.
    pub ignored: Vec<String>,
}

/// A file that a command wants to write.
#[derive(Debug, Clone, Serialize)]
pub struct FileView {
    /// Path below the top of the worktree.
    pub path: String,
    /// `create`, `update` or `none`.
    pub change: &'static str,
    /// The change as a unified diff.
    pub diff: String,
}

/// What `init` adds.
#[derive(Debug, Clone, Serialize)]
pub struct InitView {
    /// Host, owner and repository.
    pub repository: Option<String>,
    /// Open pull request of the branch.
    pub pull_request: Option<String>,
    /// Its base, else the default branch.
    pub base: Option<String>,
    /// Test commands, likeliest first.
    pub tests: Vec<TestsView>,
    /// Editors on the PATH.
    pub agents: Vec<AgentView>,
    /// Review bots seen on the last pull requests; null where that could not be read.
    pub reviewers: Option<Vec<String>>,
    /// Files with their changes.
    pub files: Vec<FileView>,
    /// Whether anything was written.
    pub written: bool,
    /// Whether the configuration file is trusted here.
    pub trusted: bool,
    /// What could not be told, or has to be done.
    pub notes: Vec<String>,
}

/// A test command.
#[derive(Debug, Clone, Serialize)]
pub struct TestsView {
    /// Shell line.
    pub command: String,
    /// File it was told from.
    pub because: String,
}

/// An editor.
#[derive(Debug, Clone, Serialize)]
pub struct AgentView {
    /// Name.
    pub name: &'static str,
    /// Version; null when it tells none.
    pub version: Option<String>,
    /// Variable or file in which a login was seen; null proves nothing.
    pub login: Option<String>,
}

/// What `doctor` adds.
#[derive(Debug, Clone, Serialize)]
pub struct DoctorView {
    /// One entry for everything that was looked at.
    pub checks: Vec<CheckView>,
    /// Editors on the PATH.
    pub agents: Vec<AgentView>,
}

/// One thing that was looked at.
#[derive(Debug, Clone, Serialize)]
pub struct CheckView {
    /// What: `git`, `repository`, `token`, `right`, `agent` …
    pub check: &'static str,
    /// Good, to be mended, or not to be told.
    pub ok: Option<bool>,
    /// What was found.
    pub found: String,
    /// The mend; empty when there is nothing to mend.
    pub mend: String,
}

/// Nothing.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Nothing {}

/// Values with their sources, for `config show`.
#[derive(Debug, Clone, Serialize)]
pub struct ConfigView {
    /// Key → value and source.
    pub config: BTreeMap<String, ConfigValue>,
}

/// One value.
#[derive(Debug, Clone, Serialize)]
pub struct ConfigValue {
    /// The value as JSON.
    pub value: serde_json::Value,
    /// Its source.
    pub origin: &'static str,
}
