//! `summary.json` as data: finding id → status with its proof, rounds, outbox. How it changes is decided elsewhere.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::comment::{AccountKind, Channel, Side};
use super::decision::{Decision, PlanDraft, Verb};
use super::ids::{FindingId, Login, PrNumber, PrRef, RepoSlug, Sha};
use super::severity::{DecidedBy, RuleRef, Severity};
use super::status::Status;
use super::triage::Choice;

/// Version of `summary.json` this program writes.
pub const SCHEMA_VERSION: u32 = 1;

/// A finding as every format shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Identity.
    pub id: FindingId,
    /// Severity in force.
    pub severity: Severity,
    /// How it was decided.
    pub decided_by: DecidedBy,
    /// The rule that decided.
    pub rule: Option<RuleRef>,
    /// Who said it.
    pub author: Login,
    /// Bot or person.
    pub author_kind: AccountKind,
    /// Where it was said.
    pub channel: Channel,
    /// File it is about.
    pub path: Option<String>,
    /// Line at the head it was last mapped to.
    pub line: Option<u32>,
    /// Side of the diff.
    pub side: Option<Side>,
    /// Where it stands.
    pub status: Status,
    /// Only a person can go on.
    #[serde(default)]
    pub needs_person: bool,
    /// One line.
    pub title: String,
    /// Page for people.
    pub url: String,
    /// Editor runs that were given this finding or a predecessor.
    #[serde(default)]
    pub attempts: u32,
    /// Findings this one came back from, oldest first.
    #[serde(default)]
    pub previous: Vec<FindingId>,
    /// Why it stands as it does, in one sentence.
    #[serde(default)]
    pub why: String,
}

/// What proves a settled status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Proof {
    /// A commit reachable from the remote head that touches the place.
    Commit {
        /// The commit.
        sha: Sha,
        /// The place it touched, `path` or `path:line-line`.
        place: String,
    },
    /// A reply of ours in the thread or conversation, with its line in the description.
    Reply {
        /// The comment.
        comment_id: u64,
        /// The reason given.
        reason: String,
        /// Key of the marker.
        key: String,
    },
    /// The anchor does not exist at this head.
    AnchorGone {
        /// Head at which it was proved.
        head: Sha,
        /// The proof in a clause.
        because: String,
    },
    /// A follow-up plan.
    Plan {
        /// The plan file.
        path: String,
        /// Permanent link.
        url: String,
        /// The reply that links it.
        comment_id: u64,
        /// Why it is not done in this pull request.
        #[serde(default)]
        reason: String,
        /// Key of the reply's marker and of the line in the description.
        #[serde(default)]
        key: String,
    },
    /// Its reviewer took it back, or marked it as done.
    Reviewer {
        /// What the reviewer said or did.
        because: String,
    },
    /// A person who may decided.
    Person {
        /// Who.
        by: Login,
        /// What was said or done.
        because: String,
    },
    /// Listed in the description.
    Listed,
    /// Carried by this other finding.
    SameAs {
        /// The other finding.
        id: FindingId,
    },
    /// The comment was deleted.
    Deleted,
}

/// One move of a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Move {
    /// When, by the forge's clock.
    pub at: Timestamp,
    /// Former status; `None` for the first sight.
    pub from: Option<Status>,
    /// New status.
    pub to: Status,
    /// Why.
    pub why: String,
    /// Round in which it happened; 0 before the first.
    pub round: u32,
}

/// A severity changed by a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Regrade {
    /// Who.
    pub by: Login,
    /// From which severity.
    pub from: Severity,
    /// To which severity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Severity>,
    /// Why.
    pub why: String,
}

/// An accepted decision whose outside effects are not all read back yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pending {
    /// What was decided.
    pub verb: Verb,
    /// The reason, as it will be or was posted.
    pub reason: String,
    /// Round of the decision.
    pub round: u32,
    /// For `fix`: the commit that is claimed. For `defer`: the commit that holds the plan, once there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<Sha>,
    /// Key of the reply's marker, once planned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// For `defer`: the plan as drafted; without one it is made from the finding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanDraft>,
    /// For `defer`: the plan file, once written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// For `defer`: the permanent link, once the commit is on the remote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

impl Pending {
    /// Makes a decision of which nothing is posted yet.
    pub fn new(verb: Verb, reason: impl Into<String>, round: u32) -> Self {
        Self { verb, reason: reason.into(), round, commit: None, key: None, plan: None, file: None, url: None }
    }
}

/// A finding with everything remembered about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The finding as shown.
    #[serde(flatten)]
    pub finding: Finding,
    /// Hash of what the body means; cosmetic edits keep it.
    pub body_hash: String,
    /// Head at which it was last seen.
    pub seen_head: Sha,
    /// Head at which it was first seen.
    pub first_head: Sha,
    /// Commit it was made on, where known.
    #[serde(default)]
    pub made_on: Option<Sha>,
    /// First line of its place, when it is about several.
    #[serde(default)]
    pub start_line: Option<u32>,
    /// Line it was made on, in `made_on`.
    #[serde(default)]
    pub original_line: Option<u32>,
    /// First comment of the thread it stands in, if it stands in one.
    #[serde(default)]
    pub thread: Option<u64>,
    /// Stable identity given by the reviewer.
    #[serde(default)]
    pub identity: Option<String>,
    /// Readable text, noise removed, for briefs and for telling comebacks.
    #[serde(default)]
    pub text: String,
    /// True when it asks a question.
    #[serde(default)]
    pub is_question: bool,
    /// True when its place was named and is the whole file.
    #[serde(default)]
    pub whole_file: bool,
    /// Severity change by a person.
    #[serde(default)]
    pub regrade: Option<Regrade>,
    /// Proof of a settled status.
    #[serde(default)]
    pub proof: Option<Proof>,
    /// Accepted decision that is under way.
    #[serde(default)]
    pub pending: Option<Pending>,
    /// Replies of others in the thread that were already taken into account.
    #[serde(default)]
    pub heard: Vec<u64>,
    /// Exchanges with us in this thread.
    #[serde(default)]
    pub exchanges: u32,
    /// The worst severity that its reviewer told: a version of its comment before an edit told a lower one, or a reply in
    /// its thread (R6: only a person re-grades).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worst: Option<Severity>,
    /// What was wrong with the last answer; shown to the editor.
    #[serde(default)]
    pub refused: Option<String>,
    /// Moves, oldest first.
    #[serde(default)]
    pub history: Vec<Move>,
}

/// Everything that is limited, counted over restarts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Used {
    /// Rounds since a person or success reset them.
    pub rounds: u32,
    /// Editor time.
    pub agent_seconds: u64,
    /// Tokens the editor reported.
    pub tokens: u64,
    /// Money the editor reported.
    pub cost_usd: f64,
}

/// How the verifier ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerifyState {
    /// Every command passed.
    Green,
    /// A command failed.
    Red,
    /// Missing command, no test run, time out: proves nothing.
    CouldNotRun,
}

/// What is known of the tests at one commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verified {
    /// The commit.
    pub head: Sha,
    /// The result.
    pub state: VerifyState,
    /// One sentence: which command, how it ended.
    pub why: String,
    /// True when red came out green on a repeat.
    #[serde(default)]
    pub flaky: bool,
    /// Result on the merge base, when it was asked.
    #[serde(default)]
    pub on_base: Option<VerifyState>,
    /// The end of the output, for the brief.
    #[serde(default)]
    pub log: String,
    /// Tests counted, where the output tells.
    #[serde(default)]
    pub tests: Option<u64>,
    /// Skipped tests counted, where the output tells.
    #[serde(default)]
    pub skipped: Option<u64>,
    /// Names the commands that were run: what other commands found is nothing to go by.
    #[serde(default)]
    pub commands: String,
    /// A program that a command starts is not there: what the editor changes could not be proved.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub absent: bool,
}

/// How a round ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RoundOutcome {
    /// The editor was started and nothing is known yet: what a kill leaves.
    Editing,
    /// A commit was made; the verifier has not answered.
    Committed,
    /// The commit is red and stays here.
    Red,
    /// The commit is on the remote.
    Pushed,
    /// The editor answered without changing anything.
    Answered,
    /// Neither a change nor an accepted answer.
    NoChange,
    /// Put aside, with the reason.
    Rejected,
    /// The editor timed out or crashed.
    Failed,
    /// The editor could not work: login, limits, overload.
    Environment,
    /// Cut off by a kill or a signal.
    CutOff,
    /// The remote did not take the commit; it is kept on a ref.
    Kept,
}

/// One round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoundRecord {
    /// Number, from 1, never reused.
    pub n: u32,
    /// Head the editor was given.
    pub head_before: Sha,
    /// Our commit, if one was made.
    pub head_after: Option<Sha>,
    /// Findings that were sent.
    pub sent: Vec<FindingId>,
    /// How it ended.
    pub outcome: RoundOutcome,
    /// Why, in one sentence.
    #[serde(default)]
    pub why: String,
    /// Tests at its end.
    pub verify: Option<VerifyState>,
    /// Editor time.
    pub seconds: u64,
    /// Tokens reported.
    #[serde(default)]
    pub tokens: u64,
    /// Money reported.
    #[serde(default)]
    pub cost_usd: f64,
    /// Hash of the brief, so that the same one is never sent twice.
    #[serde(default)]
    pub brief: String,
    /// Tree after the round, to tell rounds without progress.
    #[serde(default)]
    pub tree: String,
    /// The editor's answers, kept until they were judged.
    #[serde(default)]
    pub decisions: Vec<Decision>,
    /// What was wrong with the answers.
    #[serde(default)]
    pub problems: Vec<super::judge::ItemProblem>,
    /// True once the answers were judged.
    #[serde(default)]
    pub judged: bool,
    /// Findings it settled.
    #[serde(default)]
    pub settled: Vec<FindingId>,
    /// Places it changed: path and line range at `head_after`.
    #[serde(default)]
    pub touched: Vec<Touched>,
    /// Untracked files there were before it, so that a cut-off round removes none of them.
    #[serde(default)]
    pub untracked: Vec<String>,
    /// True for a round without the editor: it counts against no limit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unattended: bool,
    /// Findings whose fix the editor took back, so that the round was given back (R21).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reversed: Vec<FindingId>,
    /// How often it was replayed on a moved branch.
    #[serde(default)]
    pub replays: u32,
    /// Where its commit is being replayed; what a kill in the middle leaves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaying: Option<Sha>,
}

impl RoundRecord {
    /// A round that has just begun.
    pub fn begun(n: u32, head_before: Sha, sent: Vec<FindingId>) -> Self {
        Self {
            n,
            head_before,
            head_after: None,
            sent,
            outcome: RoundOutcome::Editing,
            why: String::new(),
            verify: None,
            seconds: 0,
            tokens: 0,
            cost_usd: 0.0,
            brief: String::new(),
            tree: String::new(),
            decisions: Vec::new(),
            problems: Vec::new(),
            judged: false,
            settled: Vec::new(),
            touched: Vec::new(),
            untracked: Vec::new(),
            unattended: false,
            reversed: Vec::new(),
            replays: 0,
            replaying: None,
        }
    }
}

/// A region that a round changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Touched {
    /// File.
    pub path: String,
    /// First line.
    pub from: u32,
    /// Last line.
    pub to: u32,
}

/// What an outbox item does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WriteKind {
    /// Argues a P2 down.
    Argue,
    /// Says that the place is gone.
    Stale,
    /// Links a follow-up plan.
    Defer,
    /// Names the fix.
    Fixed,
    /// Answers a question.
    Answer,
    /// Asks a reviewer to look again.
    Request,
    /// Publishes an own review.
    Review,
    /// Writes our block in the description.
    Describe,
    /// Resolves a thread.
    Resolve,
    /// Gives a thread command for the person at the keyboard.
    Command,
    /// Acknowledges a thread command.
    React,
    /// Deletes our own second copy.
    Retract,
}

impl WriteKind {
    /// Returns the word used in markers and formats.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Argue => "argue",
            Self::Stale => "stale",
            Self::Defer => "defer",
            Self::Fixed => "fixed",
            Self::Answer => "answer",
            Self::Request => "request",
            Self::Review => "review",
            Self::Describe => "describe",
            Self::Resolve => "resolve",
            Self::Command => "command",
            Self::React => "react",
            Self::Retract => "retract",
        }
    }
}

/// Where an outbox item goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "at", rename_all = "snake_case")]
pub enum Target {
    /// A reply to the first comment of a thread.
    Thread {
        /// Id of that comment.
        root: u64,
    },
    /// A reply without a receipt: known again by its text, newer than this comment of the thread.
    Reply {
        /// Id of the first comment of the thread.
        root: u64,
        /// Newest comment of the thread when this was planned.
        after: u64,
    },
    /// The conversation.
    Conversation,
    /// The description.
    Description,
    /// A thread, for resolving.
    ThreadNode {
        /// Node id.
        node_id: String,
        /// Id of the first comment.
        root: u64,
        /// Newest comment of the thread when this was planned: a later one cancels it.
        newest: u64,
    },
    /// An inline comment, for a reaction.
    Inline {
        /// Its id.
        id: u64,
    },
    /// A comment of ours, for deletion.
    Own {
        /// Its channel.
        channel: Channel,
        /// Its id.
        id: u64,
    },
    /// A reviewer that is asked through the forge's own request.
    Reviewer {
        /// Its login as the forge spells it.
        login: String,
    },
}

/// How far an outbox item is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WriteState {
    /// Stored, not tried.
    Planned,
    /// Tried; the answer is not known.
    Sent,
    /// Read back.
    Done,
    /// Cannot be done, and why.
    Failed,
    /// No longer wanted before it was tried.
    Dropped,
}

/// One outside effect: planned, stored, done, read back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutboxItem {
    /// Key, also in the marker.
    pub key: String,
    /// What it does.
    pub kind: WriteKind,
    /// Where.
    pub target: Target,
    /// How far.
    pub state: WriteState,
    /// The comment it became.
    pub comment_id: Option<u64>,
    /// Exact text, marker included; empty for effects without one.
    #[serde(default)]
    pub body: String,
    /// Findings it speaks for.
    #[serde(default)]
    pub findings: Vec<FindingId>,
    /// Head it speaks about.
    pub head: Sha,
    /// Why it failed or was dropped.
    #[serde(default)]
    pub why: String,
    /// How often it was tried.
    #[serde(default)]
    pub tries: u32,
}

/// What is remembered of a reviewer over restarts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewerRecord {
    /// Head the rest is about.
    #[serde(default)]
    pub head: Option<Sha>,
    /// When it was asked for that head, each time.
    #[serde(default)]
    pub asked: Vec<Timestamp>,
    /// The state last shown.
    #[serde(default)]
    pub state: String,
    /// Since when.
    #[serde(default)]
    pub since: Option<Timestamp>,
    /// Head for which its absence was told.
    #[serde(default)]
    pub told: Option<Sha>,
}

/// A head of the pull request we have seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeadRecord {
    /// The commit.
    pub sha: Sha,
    /// When it became the head, as far as known, by the forge's clock.
    pub since: Timestamp,
    /// True when we pushed it.
    #[serde(default)]
    pub ours: bool,
}

/// The pull request, for reading.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrRecord {
    /// Host of the remote.
    pub host: String,
    /// Owner.
    pub owner: String,
    /// Repository.
    pub repo: String,
    /// Number.
    pub number: PrNumber,
    /// Page for people.
    pub url: String,
    /// Base branch.
    pub base: String,
    /// Head commit.
    pub head: Sha,
}

impl PrRecord {
    /// Returns the pull request's identity.
    pub fn at(&self) -> PrRef {
        PrRef {
            host: self.host.clone(),
            slug: RepoSlug { owner: self.owner.clone(), name: self.repo.clone() },
            number: self.number,
        }
    }
}

/// Why a run ended. Exit codes are the contract of `design.md` R20.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the words are the documentation; `docs/exit-codes.md` explains each")]
pub enum StopReason {
    Settled,
    Merged,
    Closed,
    WaitingReviewer,
    WaitingCi,
    ChecksRed,
    NotMergeable,
    TestsRed,
    NoProgress,
    RepeatingRegion,
    Contested,
    Budget,
    NeedsPerson,
    RejectedRound,
    PushRefused,
    HeadMoved,
    EditorUnavailable,
    CouldNotRead,
    Permission,
    Interrupted,
}

/// A thread command that was taken into account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandRecord {
    /// The inline comment that carries it.
    pub comment: u64,
    /// First comment of its thread.
    pub root: u64,
    /// The finding it was about, where there is one.
    pub id: Option<FindingId>,
    /// Who gave it.
    pub by: Login,
    /// Its line.
    pub said: String,
    /// Version of the comment: an edit of its first line is another command.
    pub version: String,
    /// Why it was not obeyed, in one sentence; `None` when it was.
    #[serde(default)]
    pub refused: Option<String>,
}

/// The whole of `summary.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Version of this format.
    pub schema_version: u32,
    /// The pull request.
    pub pr: PrRecord,
    /// Account that posted for us.
    pub account: Option<Login>,
    /// Rounds ever made.
    pub round: u32,
    /// What was spent.
    pub used: Used,
    /// The findings.
    pub comments: BTreeMap<FindingId, Entry>,
    /// The reviewers.
    #[serde(default)]
    pub reviewers: BTreeMap<String, ReviewerRecord>,
    /// The rounds.
    #[serde(default)]
    pub rounds: Vec<RoundRecord>,
    /// Outside effects.
    #[serde(default)]
    pub outbox: Vec<OutboxItem>,
    /// How the last run ended.
    #[serde(default)]
    pub stop_reason: Option<StopReason>,
    /// Heads seen, oldest first.
    #[serde(default)]
    pub heads: Vec<HeadRecord>,
    /// Tests at the newest verified commits, oldest first, a few only.
    #[serde(default)]
    pub verified: Vec<Verified>,
    /// Keys of reasons that were restored once in the description.
    #[serde(default)]
    pub restored: Vec<String>,
    /// Rounds already counted when a person last reset them.
    #[serde(default)]
    pub reset_at_round: u32,
    /// Comments taken into account as thread commands.
    #[serde(default)]
    pub commands_heard: Vec<u64>,
    /// The thread commands among them, oldest first, with what came of each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<CommandRecord>,
    /// What a person chose at the keyboard and has not carried out yet.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub drafts: BTreeMap<FindingId, Choice>,
    /// Fields of a later minor version, kept.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Summary {
    /// Starts the count of rounds anew (R20): somebody moved on.
    pub fn restart_rounds(&mut self) {
        self.used.rounds = 0;
        self.reset_at_round = self.round;
    }

    /// Tells whether everything in it was read on the pull request and can be read there again: nothing was begun yet.
    pub fn only_read(&self) -> bool {
        let begun = |entry: &Entry| entry.pending.is_some() || entry.refused.is_some() || entry.finding.attempts > 0;
        self.rounds.is_empty()
            && self.outbox.is_empty()
            && self.verified.is_empty()
            && self.restored.is_empty()
            && self.drafts.is_empty()
            && self.stop_reason.is_none()
            && !self.comments.values().any(begun)
    }
}
