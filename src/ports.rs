//! What the engine needs from the world, in the words of `review`. Adapters and the simulation implement these traits.

use std::any::Any;
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use jiff::Timestamp;

use crate::review::brief::PromptView;
use crate::review::comment::{Channel, Thread};
use crate::review::diff::FileDiff;
use crate::review::followup::PlanView;
use crate::review::gate::publish::{OwnStatus, Standing};
use crate::review::ids::{FindingId, RepoPath, Sha};
use crate::review::observation::Observation;
use crate::review::picture::Picture;
use crate::review::summary::{Summary, VerifyState};
use crate::review::triage::Size;
pub use crate::review::written::Written;

/// Why the forge could not be read. The request is named; the token never is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ForgeError {
    /// Failed, partial, empty or unreadable: exit 20.
    #[error("could not read {request}: {why}")]
    CouldNotRead {
        /// Method and path.
        request: String,
        /// Status or cause.
        why: String,
    },
    /// Auth or permission: exit 21.
    #[error("{why} ({request})")]
    Permission {
        /// Method and path.
        request: String,
        /// Account, repository and missing right.
        why: String,
        /// How to mend it.
        hint: String,
    },
    /// A limit that outlasts the wait the caller allows: exit 12 with the time.
    #[error("the forge's rate limit holds until {until} ({request})")]
    Limited {
        /// Method and path.
        request: String,
        /// When to come back.
        until: Timestamp,
    },
    /// The head moved under three readings.
    #[error("the head moved while it was read, three times")]
    HeadMoved,
}

/// How much a reading may rely on what is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Changes since the last reading.
    Warm,
    /// Everything, for a verdict.
    Full,
}

/// One write to the forge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Write {
    /// Replies to the first comment of a thread.
    Reply {
        /// Its id.
        root: u64,
        /// Text.
        body: String,
    },
    /// Comments in the conversation.
    Comment {
        /// Text.
        body: String,
    },
    /// Replaces the description.
    Describe {
        /// Whole new description.
        body: String,
    },
    /// Resolves a thread.
    Resolve {
        /// Node id.
        node_id: String,
    },
    /// Reacts to an inline comment.
    React {
        /// Its id.
        id: u64,
        /// The forge's word.
        content: String,
    },
    /// Deletes a comment of our own.
    Delete {
        /// Channel.
        channel: Channel,
        /// Id.
        id: u64,
    },
    /// Requests a review.
    RequestReview {
        /// Login as the forge spells it.
        login: String,
    },
    /// Publishes a commit status.
    Status {
        /// Commit.
        sha: Sha,
        /// `success`, `failure` or `pending`.
        state: String,
        /// Context.
        context: String,
        /// One line.
        description: String,
    },
}

/// An issue the pull request closes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkedIssue {
    /// Number.
    pub number: u64,
    /// Title.
    pub title: String,
    /// Text.
    pub body: String,
    /// True when its author may write here.
    pub trusted: bool,
}

/// The forge.
pub trait Forge {
    /// Reads everything of the pull request, or fails.
    fn observe(&self, depth: Depth) -> Result<Observation, ForgeError>;
    /// Reads the head alone.
    fn head(&self) -> Result<Sha, ForgeError>;
    /// Tells whether the pull request was merged or closed; asks for nothing else.
    fn ended(&self) -> Result<bool, ForgeError>;
    /// Reads the description alone.
    fn description(&self) -> Result<String, ForgeError>;
    /// Reads one thread alone; `None` when it is gone.
    fn thread(&self, node_id: &str) -> Result<Option<Thread>, ForgeError>;
    /// Reads the issues that the pull request closes.
    fn linked_issues(&self) -> Result<Vec<LinkedIssue>, ForgeError>;
    /// Lists the open pull requests that have this branch as their base. A forge without stacks has none.
    fn stacked(&self, branch: &str) -> Result<Vec<u64>, ForgeError> {
        let _ = branch;
        Ok(Vec::new())
    }
    /// Writes once. Never repeats a write whose effect is not known.
    fn write(&self, write: &Write) -> Written;
}

/// The commit statuses of a commit, for a published verdict.
pub trait StatusBoard {
    /// Lists the statuses of a context, newest first.
    fn statuses(&self, sha: &Sha, context: &str) -> Result<Vec<Standing>, ForgeError>;
    /// Writes one, once.
    fn set_status(&self, sha: &Sha, context: &str, status: &OwnStatus) -> Written;
}

/// A failure of git, named.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("could not {what}: {why}")]
pub struct GitError {
    /// What was tried, with the branch or commit.
    pub what: String,
    /// git's own words, without secrets.
    pub why: String,
}

/// The worktree as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalFacts {
    /// HEAD.
    pub head: Sha,
    /// Branch; `None` when detached.
    pub branch: Option<String>,
    /// Something is staged.
    pub staged: bool,
    /// Modified tracked files.
    pub modified: Vec<RepoPath>,
    /// A merge, rebase, cherry-pick, revert or bisect under way.
    pub operation: Option<String>,
}

/// How a push ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pushed {
    /// The remote has it.
    Done,
    /// The remote branch has moved to this commit, or to one we do not know.
    Moved(Option<Sha>),
    /// The remote or a hook refuses.
    Refused(String),
    /// It could not be told; the remote ref decides.
    Unclear(String),
}

/// How replaying our commits on a moved branch ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Replayed {
    /// HEAD is now this commit.
    Clean(Sha),
    /// It conflicts; nothing was changed.
    Conflict(String),
}

/// A commit with its message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitInfo {
    /// The commit.
    pub sha: Sha,
    /// Its first parent.
    pub parent: Option<Sha>,
    /// Name and address of its author.
    pub author: String,
    /// Its message.
    pub message: String,
    /// When it was committed, by the clock of whoever did.
    pub at: Timestamp,
}

/// The worktree and its repository.
pub trait Worktree {
    /// Reads HEAD, branch, state.
    fn facts(&self) -> Result<LocalFacts, GitError>;
    /// Asks the remote for the branch's tip; `None` when the branch is not there.
    fn remote_head(&self) -> Result<Option<Sha>, GitError>;
    /// Makes a commit available locally; `false` when it cannot be had.
    fn fetch(&self, sha: &Sha) -> Result<bool, GitError>;
    /// Tells whether one commit is an ancestor of (or the same as) another; `None` when history is missing.
    fn is_ancestor(&self, ancestor: &Sha, of: &Sha) -> Result<Option<bool>, GitError>;
    /// Finds the merge base; `None` when history is missing or unrelated.
    fn merge_base(&self, one: &Sha, other: &Sha) -> Result<Option<Sha>, GitError>;
    /// Reads a file at a commit; `None` when it is not there.
    fn file_at(&self, sha: &Sha, path: &RepoPath) -> Result<Option<Vec<u8>>, GitError>;
    /// Compares two commits, renames found.
    fn diff(&self, from: &Sha, to: &Sha) -> Result<Vec<FileDiff>, GitError>;
    /// Compares HEAD with the files in the worktree, untracked ones that are not ignored included.
    fn diff_worktree(&self) -> Result<Vec<FileDiff>, GitError>;
    /// Returns the id of a commit's tree.
    fn tree(&self, sha: &Sha) -> Result<String, GitError>;
    /// Returns the first parent.
    fn parent(&self, sha: &Sha) -> Result<Option<Sha>, GitError>;
    /// Lists the commits that `to` has and `after` has not, newest first.
    fn commits(&self, after: &Sha, to: &Sha) -> Result<Vec<CommitInfo>, GitError>;
    /// Takes a picture.
    fn picture(&self) -> Result<Picture, GitError>;
    /// Puts paths back to how they are at a commit (removes those that are not there).
    fn put_back(&self, at: &Sha, paths: &[RepoPath]) -> Result<(), GitError>;
    /// Puts refs, branch and remotes back as they are in the picture.
    fn put_back_refs(&self, picture: &Picture) -> Result<(), GitError>;
    /// Writes a new file; `false` when the path is taken by another content or leads through a link.
    fn write_new(&self, path: &RepoPath, text: &str) -> Result<bool, GitError>;
    /// Commits exactly these paths with this message, hooks run.
    fn commit(&self, paths: &[RepoPath], message: &str) -> Result<Sha, GitError>;
    /// Pushes HEAD to the pull request's branch, no force.
    fn push(&self, sha: &Sha) -> Result<Pushed, GitError>;
    /// Replays the commits after `from` on top of `onto`.
    fn replay(&self, from: &Sha, onto: &Sha) -> Result<Replayed, GitError>;
    /// Keeps HEAD and everything uncommitted on `refs/pushback/<name>`; returns the commit, or `None` when there is nothing to keep.
    fn keep(&self, name: &str, base: &Sha) -> Result<Option<Sha>, GitError>;
    /// Puts branch, index and tracked files back to a commit and removes the given untracked files.
    fn rewind(&self, to: &Sha, untracked: &[RepoPath]) -> Result<(), GitError>;
    /// Makes a temporary worktree at a commit.
    fn aside(&self, sha: &Sha) -> Result<Utf8PathBuf, GitError>;
    /// Removes it.
    fn drop_aside(&self, dir: &Utf8Path) -> Result<(), GitError>;
}

/// Renders the files of follow-up plans.
pub trait Plans {
    /// Renders one plan; an error says in a sentence what is wrong with the template.
    fn plan(&self, view: &PlanView) -> Result<String, String>;
}

/// Files of one brief.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BriefFiles {
    /// For reading.
    pub findings_md: String,
    /// For the agent.
    pub findings_json: String,
    /// The spec.
    pub spec: String,
}

/// What the editor is started with.
#[derive(Debug, Clone, PartialEq)]
pub struct Brief {
    /// Round.
    pub round: u32,
    /// What the prompt is rendered from.
    pub view: PromptView,
    /// `findings.json`.
    pub findings: Utf8PathBuf,
    /// Where `decisions.json` is expected.
    pub decisions: Utf8PathBuf,
    /// The spec.
    pub spec: Utf8PathBuf,
    /// Time left in every budget.
    pub time_left: Duration,
    /// Dollars left of `limits.cost_usd`; `None` where there is no such limit.
    pub cost_left: Option<f64>,
}

/// How an editor run ended (`agent-clis.md` §2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentOutcome {
    /// It says that it is done; proves nothing.
    Completed,
    /// The model refused.
    Refused(String),
    /// Login missing or refused. Environment.
    AuthFailed(String),
    /// A limit. Environment.
    RateLimited {
        /// What it said.
        why: String,
        /// When to come back.
        retry_at: Option<Timestamp>,
    },
    /// The service is overloaded. Environment.
    Overloaded(String),
    /// Its own turn or money limit.
    LimitHit(String),
    /// Tools it needed were denied.
    Denied(Vec<String>),
    /// We were told to stop.
    Cancelled,
    /// Ran into a clock of ours.
    TimedOut(String),
    /// Exit code, signal.
    Crashed(String),
    /// Its output has no terminal event.
    Unparseable(String),
    /// It could not be started. Environment.
    Missing(String),
}

impl AgentOutcome {
    /// Tells whether this is a failure of the environment: no attempt, settles nothing (R22).
    pub fn environment(&self) -> bool {
        match self {
            Self::AuthFailed(_) | Self::RateLimited { .. } | Self::Overloaded(_) | Self::Missing(_) => true,
            Self::Completed
            | Self::Refused(_)
            | Self::LimitHit(_)
            | Self::Denied(_)
            | Self::Cancelled
            | Self::TimedOut(_)
            | Self::Crashed(_)
            | Self::Unparseable(_) => false,
        }
    }
}

/// What an editor run came to.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentReport {
    /// How it ended.
    pub outcome: AgentOutcome,
    /// Wall time.
    pub seconds: u64,
    /// Tokens it reported.
    pub tokens: u64,
    /// Money it reported.
    pub cost_usd: f64,
    /// Processes it left behind that were ended.
    pub swept: u32,
    /// False when the sweep did not reach zero.
    pub swept_clean: bool,
    /// Where its raw output is.
    pub log: Option<Utf8PathBuf>,
}

/// The editor.
pub trait Agent {
    /// Returns its name.
    fn name(&self) -> &str;
    /// Runs it once to its end, its process tree included.
    fn run(&self, brief: &Brief, reporter: &dyn Reporter) -> AgentReport;
}

/// What a verifier run came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifyReport {
    /// The result.
    pub state: VerifyState,
    /// One sentence.
    pub why: String,
    /// End of the output.
    pub log: String,
    /// Tests counted.
    pub tests: Option<u64>,
    /// Skipped tests counted.
    pub skipped: Option<u64>,
    /// A program that a command starts is not there: what the editor changes could not be proved.
    pub absent: bool,
}

/// The verifier.
pub trait Verifier {
    /// Runs every command once, in the worktree or in this folder.
    fn verify(&self, dir: Option<&Utf8Path>, reporter: &dyn Reporter) -> VerifyReport;
}

/// Why state could not be read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Reading or writing failed.
    #[error("could not {what} {path}: {why}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// File.
        path: Utf8PathBuf,
        /// Cause.
        why: String,
    },
    /// Written by a newer version.
    #[error("{path} has schema version {found}, this program knows {known}")]
    Newer {
        /// File.
        path: Utf8PathBuf,
        /// Found.
        found: u64,
        /// Known.
        known: u32,
    },
    /// Another run holds this pull request.
    #[error("another run holds this pull request: {holder}")]
    Held {
        /// Process, machine and start.
        holder: String,
    },
}

/// Proof that the lock is held; state cannot be saved without it.
pub struct Held(#[expect(dead_code, reason = "holds the lock by living")] Box<dyn Any>);

impl Held {
    /// Wraps whatever keeps the lock while it lives.
    pub fn new(guard: Box<dyn Any>) -> Self {
        Self(guard)
    }
}

/// What was found where state should be.
#[derive(Debug, Clone, PartialEq)]
pub enum Loaded {
    /// Nothing.
    Absent,
    /// State.
    Known(Box<Summary>),
    /// Something unreadable, set aside under this name (or only seen, when reading without the lock).
    Bad {
        /// Where it is now.
        kept: Utf8PathBuf,
        /// What is wrong.
        why: String,
    },
}

/// State and scratchpad.
pub trait Store {
    /// Takes the lock, or says who has it.
    fn lock(&self) -> Result<Held, StoreError>;
    /// Reads state; sets an unreadable file aside when the lock is held.
    fn load(&self, held: Option<&Held>) -> Result<Loaded, StoreError>;
    /// Writes state durably; does nothing when nothing changed.
    fn save(&self, held: &Held, summary: &Summary) -> Result<(), StoreError>;
    /// Returns where state is.
    fn path(&self) -> Utf8PathBuf;
    /// Writes the scratchpad, removes an old decisions file, and returns the paths of findings, decisions, spec.
    fn write_brief(
        &self,
        held: &Held,
        files: &BriefFiles,
    ) -> Result<(Utf8PathBuf, Utf8PathBuf, Utf8PathBuf), StoreError>;
    /// Reads the decisions file, at most 1 MiB of it; `None` when there is none.
    fn read_decisions(&self) -> Result<Option<Vec<u8>>, StoreError>;
}

/// Why a sleep ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Woken {
    /// Time is up.
    Elapsed,
    /// A signal asks us to stop.
    Interrupted,
}

/// Time.
pub trait Clock {
    /// Wall time.
    fn now(&self) -> Timestamp;
    /// Time that never jumps, from some start.
    fn monotonic(&self) -> Duration;
    /// Sleeps, or wakes on a signal.
    fn sleep(&self, time: Duration) -> Woken;
    /// Tells whether a signal asked us to stop.
    fn interrupted(&self) -> bool;
}

/// Questions to a person at a terminal. `None` means that the person leaves: Esc, Ctrl-C, or the terminal is gone.
pub trait Prompter {
    /// Asks yes or no.
    fn confirm(&self, question: &str) -> Option<bool>;
    /// Lets one row be picked.
    fn pick(&self, title: &str, rows: &[String], start: usize) -> Option<usize>;
    /// Lets several rows be marked.
    fn mark(&self, title: &str, rows: &[String]) -> Option<Vec<usize>>;
    /// Waits for one of these keys.
    fn key(&self, keys: &[(char, &str)]) -> Option<char>;
    /// Asks for a line; `start` stands there already.
    fn line(&self, question: &str, start: &str) -> Option<String>;
    /// Lets a text be written in the person's editor; an unchanged text is an answer too.
    fn edit(&self, text: &str) -> Option<String>;
    /// Shows text; `fresh` puts it at the top of an empty screen.
    fn show(&self, text: &str, fresh: bool);
    /// Opens a page; `false` where that is not possible.
    fn open(&self, url: &str) -> bool;
    /// Size of the terminal.
    fn size(&self) -> Size;
}

/// Something worth telling while a command works.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// One line for people.
    Line(String),
    /// One line that asks for attention.
    Warning(String),
    /// The head was read.
    Observed {
        /// Head.
        head: Sha,
        /// Open P1.
        p1: usize,
        /// Open P2.
        p2: usize,
    },
    /// A round begins.
    Round {
        /// Round.
        n: u32,
        /// Findings sent.
        sent: Vec<FindingId>,
        /// True when tests are red.
        tests: bool,
    },
    /// The editor said or touched something.
    Agent {
        /// Editor.
        name: String,
        /// Time so far.
        elapsed: Duration,
        /// Time that it may have in all.
        limit: Duration,
        /// Dollars left at its start, where money is limited.
        cost_left: Option<f64>,
        /// What it does.
        doing: String,
    },
    /// Waiting, for what and until when at most.
    Waiting {
        /// What for.
        what: String,
        /// At most until.
        until: Option<Timestamp>,
    },
    /// The wait is over.
    WaitOver,
    /// Something was posted or pushed.
    Wrote(String),
}

/// Where progress goes.
pub trait Reporter {
    /// Takes an event.
    fn tell(&self, event: Event);
}
