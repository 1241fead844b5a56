//! Use cases over ports: observe, decide, act, record. No adapter, no clock and no file is named here.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod ask;
mod briefing;
mod edit;
mod followup;
mod message;
mod post;
pub mod publish;
mod push;
mod recover;
mod reprove;
pub mod resolve;
mod reversal;
pub mod rounds;
mod start;
pub mod survey;
pub mod triage;
mod verify;

use std::time::Duration;

use crate::ports::{
    Agent, Clock, Event, Forge, ForgeError, GitError, Plans, Reporter, Store, StoreError, Verifier, Worktree,
};
use crate::review::classify::Rules;
use crate::review::guard::Guard;
use crate::review::ids::PrRef;
use crate::review::observation::Observation;
use crate::review::policy::Policy;
use crate::review::summary::{HeadRecord, PrRecord, Summary};
use crate::review::trust::Reader;

pub use crate::review::brief::Around;

/// The world, as a use case sees it.
#[derive(Clone, Copy)]
pub struct Ports<'a> {
    /// The forge.
    pub forge: &'a dyn Forge,
    /// The worktree.
    pub tree: &'a dyn Worktree,
    /// The editor, if there is one.
    pub agent: Option<&'a dyn Agent>,
    /// The verifier.
    pub verifier: &'a dyn Verifier,
    /// State.
    pub store: &'a dyn Store,
    /// Time.
    pub clock: &'a dyn Clock,
    /// Progress.
    pub reporter: &'a dyn Reporter,
}

impl Ports<'_> {
    fn say(&self, line: impl Into<String>) {
        self.reporter.tell(Event::Line(line.into()));
    }

    fn warn(&self, line: impl Into<String>) {
        self.reporter.tell(Event::Warning(line.into()));
    }
}

/// What does not change during a use case.
pub struct Setup<'a> {
    /// Classification rules.
    pub rules: &'a Rules,
    /// Reads comments by those rules.
    pub reader: &'a dyn Reader,
    /// Settings that decide.
    pub policy: &'a Policy,
    /// Protected and frozen paths.
    pub guard: &'a Guard,
    /// Templates of follow-up plans.
    pub plans: &'a dyn Plans,
    /// The pull request.
    pub pr: PrRef,
    /// Local branch that stands for its head.
    pub branch: String,
    /// True in a worktree of the program's own, where HEAD is on no branch.
    pub own_tree: bool,
    /// Spec given by the caller; the description and its issues otherwise.
    pub spec: Option<String>,
    /// Spec files at the head.
    pub spec_paths: Vec<String>,
    /// Verify commands, for the brief.
    pub verify_commands: Vec<String>,
    /// Repeats of red tests.
    pub retries: u64,
    /// Frozen globs, for the brief.
    pub frozen: Vec<String>,
    /// Shortest pause between two looks.
    pub poll_min: Duration,
    /// Longest pause.
    pub poll_max: Duration,
}

/// Why a use case ended without a result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EngineError {
    /// The forge.
    #[error(transparent)]
    Forge(#[from] ForgeError),
    /// git.
    #[error(transparent)]
    Git(#[from] GitError),
    /// State.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The worktree or the call is not as it has to be.
    #[error("{why}")]
    Usage {
        /// What is wrong.
        why: String,
        /// How to mend it.
        hint: String,
    },
}

impl EngineError {
    fn usage(why: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Usage { why: why.into(), hint: hint.into() }
    }
}

/// Makes the state of a pull request that was never seen.
pub fn fresh_summary(pr: &PrRef, obs: &Observation) -> Summary {
    let record = PrRecord {
        host: pr.host.clone(),
        owner: pr.slug.owner.clone(),
        repo: pr.slug.name.clone(),
        number: pr.number,
        url: obs.pr.url.clone(),
        base: obs.pr.base.clone(),
        head: obs.pr.head.clone(),
    };
    let since = obs.head_since.unwrap_or(obs.at);
    Summary::new(record, HeadRecord { sha: obs.pr.head.clone(), since, ours: false })
}
