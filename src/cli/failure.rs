//! Errors on their way out: one sentence, a hint, the exit code of the contract.

use crate::config::layers::BadConfig;
use crate::engine::EngineError;
use crate::hook::HookError;
use crate::ports::{ForgeError, GitError, StoreError};

/// What kind of failure it is; the kind gives the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The call, the worktree or the configuration.
    Usage,
    /// The forge could not be read.
    CouldNotRead,
    /// Auth or permission.
    Permission,
    /// A forge limit: time helps.
    Limited,
    /// Another run holds the pull request.
    Held,
    /// Only a person can help.
    Person,
    /// A signal asked us to stop; holds the exit code.
    Interrupted(u8),
    /// Ours.
    Internal,
}

impl Kind {
    /// Returns the exit code.
    pub(crate) fn exit(self) -> u8 {
        match self {
            Self::Usage => 2,
            Self::CouldNotRead => 20,
            Self::Permission => 21,
            Self::Limited => 12,
            Self::Held => 75,
            Self::Person => 14,
            Self::Interrupted(code) => code,
            Self::Internal => 1,
        }
    }

    /// Returns the word in JSON.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Usage => "usage",
            Self::CouldNotRead => "could_not_read",
            Self::Permission => "permission",
            Self::Limited => "limited",
            Self::Held => "held",
            Self::Person => "needs_person",
            Self::Interrupted(_) => "interrupted",
            Self::Internal => "internal",
        }
    }
}

/// A failure, ready to be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    /// Kind.
    pub(crate) kind: Kind,
    /// One sentence.
    pub(crate) message: String,
    /// How to mend it.
    pub(crate) hint: String,
    /// Seconds after which time alone may have helped.
    pub(crate) retry_after_s: Option<u64>,
}

impl Failure {
    /// Makes a failure.
    pub(crate) fn new(kind: Kind, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: hint.into(), retry_after_s: None }
    }

    /// Makes a usage failure.
    pub(crate) fn usage(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::new(Kind::Usage, message, hint)
    }
}

impl From<BadConfig> for Failure {
    fn from(bad: BadConfig) -> Self {
        Self::usage(bad.to_string(), bad.hint)
    }
}

impl From<GitError> for Failure {
    fn from(error: GitError) -> Self {
        Self::new(Kind::Internal, error.to_string(), "look at the repository with `git status` and run again")
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let message = error.to_string();
        match error {
            StoreError::Io { .. } => {
                Self::new(Kind::Internal, message, "make the folder writable and the disk not full, then run again")
            }
            StoreError::Newer { .. } => Self::usage(message, "use the newer `pushback` that wrote it"),
            StoreError::Held { .. } => Self::new(Kind::Held, message, "wait for it to end, or stop it"),
        }
    }
}

impl From<HookError> for Failure {
    fn from(error: HookError) -> Self {
        let message = error.to_string();
        match error {
            HookError::Io { .. } => Self::new(Kind::Internal, message, "make the folder writable, then run again"),
            HookError::Path(_) => Self::usage(message, "move the repository or the program to a path without one"),
            HookError::Twice { .. } => Self::usage(message, "keep one of the two in the first place, remove the other"),
        }
    }
}

impl From<ForgeError> for Failure {
    fn from(error: ForgeError) -> Self {
        let message = error.to_string();
        match error {
            ForgeError::CouldNotRead { .. } => {
                Self::new(Kind::CouldNotRead, message, "nothing was changed; run the same command again")
            }
            ForgeError::Permission { hint, .. } => {
                let doctor = "`pushback doctor` says what the token may do";
                let hint = if hint.is_empty() { doctor.to_owned() } else { format!("{hint}; {doctor}") };
                Self::new(Kind::Permission, message, hint)
            }
            ForgeError::HeadMoved => Self::new(Kind::Person, message, "wait for the pushes to end, then run again"),
            ForgeError::Limited { until, .. } => {
                let wait = until.duration_since(jiff::Timestamp::now()).as_secs().max(1);
                let failure = Self::new(Kind::Limited, message, "run again then");
                Self { retry_after_s: u64::try_from(wait).ok(), ..failure }
            }
        }
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Forge(error) => error.into(),
            EngineError::Git(error) => error.into(),
            EngineError::Store(error) => error.into(),
            EngineError::Usage { why, hint } => Self::usage(why, hint),
        }
    }
}
