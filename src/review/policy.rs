//! The settings that decisions depend on, as plain values. Where they come from is the business of `config`.

use std::collections::BTreeMap;
use std::time::Duration;

use super::ids::Login;
use super::severity::Severity;

/// What may be posted about settled findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Replies {
    /// Reasons, and everything in people's threads.
    Reasons,
    /// One line for each settled finding.
    All,
    /// Only what the contract demands: arguments, stale, follow-ups.
    Minimal,
}

/// Who may re-grade.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Regraders {
    /// Everybody with write permission.
    Writers,
    /// Writers other than the pull request's author.
    NotAuthor,
    /// These logins.
    Named(Vec<Login>),
}

/// Settings of one reviewer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReviewerPolicy {
    /// Severity of an untagged finding; `None` keeps the rule file's.
    pub untagged: Option<Severity>,
    /// Whether a bare reaction is proof enough for the gate.
    pub reaction_counts: bool,
    /// Native level → severity.
    pub levels: BTreeMap<String, Severity>,
}

/// Reviewers: who is awaited, and for how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewersPolicy {
    /// Names or logins that must have finished.
    pub required: Vec<String>,
    /// True when the repository has no reviewer.
    pub none: bool,
    /// How long a reviewer may be silent or limited.
    pub ttl: Duration,
    /// Quiet time after the last sign.
    pub settle: Duration,
    /// Silence after which one re-request goes out.
    pub nudge: Duration,
    /// Re-requests per head.
    pub requests_per_head: u32,
    /// Per reviewer, by name or alias.
    pub each: BTreeMap<String, ReviewerPolicy>,
}

/// Bounds (R20).
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// Rounds since the last reset.
    pub rounds: u32,
    /// Editor runs per finding.
    pub attempts: u32,
    /// Exchanges per thread.
    pub exchanges: u32,
    /// Rounds on one region.
    pub region: u32,
    /// One `run`.
    pub run: Duration,
    /// Editor time over all rounds.
    pub agent_time: Duration,
    /// Money.
    pub cost_usd: f64,
    /// Tokens; 0 is off.
    pub tokens: u64,
    /// Size of a brief.
    pub prompt_bytes: usize,
}

/// The gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GatePolicy {
    /// Checks required beside the branch rules.
    pub checks: Vec<String>,
    /// Checks that may end skipped, neutral or cancelled.
    pub allow: Vec<String>,
    /// True when having no check at all is fine.
    pub no_checks: bool,
    /// Check that stands for the spec on other machines.
    pub spec_check: Option<String>,
    /// True when a draft may be ready.
    pub draft: bool,
    /// Context of our own status: never waited for.
    pub status: String,
    /// Who may re-grade.
    pub regrade: Regraders,
    /// Paths an editor may not touch.
    pub protected: Vec<String>,
}

/// Posting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PostPolicy {
    /// Consent to post.
    pub enabled: bool,
    /// Which replies.
    pub replies: Replies,
    /// Whether the description block is written.
    pub description: bool,
    /// Whether bots' threads are resolved.
    pub resolve: bool,
}

/// All of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    /// Reviewers.
    pub reviewers: ReviewersPolicy,
    /// Accounts whose markers count beside our own.
    pub trust_accounts: Vec<Login>,
    /// Logins that may create work without write permission.
    pub trust_allow: Vec<Login>,
    /// Severity of people's untagged findings.
    pub people_untagged: Severity,
    /// Whether the program may argue with a person by itself.
    pub people_argue: bool,
    /// Posting.
    pub post: PostPolicy,
    /// Folder of follow-up plans.
    pub followup_dir: String,
    /// Bounds.
    pub limits: Limits,
    /// Gate.
    pub gate: GatePolicy,
    /// Whether verify commands are configured.
    pub has_verify: bool,
    /// Whether having none was said to be right.
    pub verify_none: bool,
    /// Whether red on the merge base is looked for.
    pub base_check: bool,
    /// Whether red commits are pushed.
    pub push_red: bool,
}

impl Default for Policy {
    fn default() -> Self {
        let minutes = |n: u64| Duration::from_secs(n * 60);
        Self {
            reviewers: ReviewersPolicy {
                required: Vec::new(),
                none: false,
                ttl: minutes(120),
                settle: minutes(3),
                nudge: minutes(10),
                requests_per_head: 1,
                each: BTreeMap::new(),
            },
            trust_accounts: Vec::new(),
            trust_allow: Vec::new(),
            people_untagged: Severity::P2,
            people_argue: false,
            post: PostPolicy { enabled: false, replies: Replies::Reasons, description: true, resolve: true },
            followup_dir: "wiki/plans".to_owned(),
            limits: Limits {
                rounds: 5,
                attempts: 3,
                exchanges: 2,
                region: 3,
                run: minutes(240),
                agent_time: minutes(120),
                cost_usd: 20.0,
                tokens: 0,
                prompt_bytes: 60_000,
            },
            gate: GatePolicy {
                checks: Vec::new(),
                allow: Vec::new(),
                no_checks: false,
                spec_check: None,
                draft: false,
                status: "pushback/gate".to_owned(),
                regrade: Regraders::Writers,
                protected: [".github/**", ".pushback.toml", ".claude/**", ".codex/**"].map(str::to_owned).to_vec(),
            },
            has_verify: false,
            verify_none: false,
            base_check: true,
            push_red: false,
        }
    }
}
