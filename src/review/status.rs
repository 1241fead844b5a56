//! Statuses of a finding and the moves between them that are legal.

use serde::{Deserialize, Serialize};

/// Where a finding stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Asks for something that nobody has settled.
    Open,
    /// A commit reachable from the remote head changed the place.
    Fixed,
    /// Argued down, in the thread and in the description, both read back.
    Argued,
    /// The place no longer exists.
    Stale,
    /// Out of scope: a plan and a link to it exist.
    Deferred,
    /// P3 or nit, listed in the description.
    Acknowledged,
    /// A question that was answered.
    Answered,
    /// Taken back by its reviewer or by a person who may.
    Withdrawn,
    /// Says what another open or settled finding says.
    Duplicate,
    /// Its comment was deleted.
    Gone,
}

impl Status {
    /// Every status.
    pub const ALL: [Self; 10] = [
        Self::Open,
        Self::Fixed,
        Self::Argued,
        Self::Stale,
        Self::Deferred,
        Self::Acknowledged,
        Self::Answered,
        Self::Withdrawn,
        Self::Duplicate,
        Self::Gone,
    ];

    /// Tells whether nothing more is owed.
    pub fn settled(self) -> bool {
        match self {
            Self::Open => false,
            Self::Fixed
            | Self::Argued
            | Self::Stale
            | Self::Deferred
            | Self::Acknowledged
            | Self::Answered
            | Self::Withdrawn
            | Self::Duplicate
            | Self::Gone => true,
        }
    }

    /// Returns the word used in every format.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Fixed => "fixed",
            Self::Argued => "argued",
            Self::Stale => "stale",
            Self::Deferred => "deferred",
            Self::Acknowledged => "acknowledged",
            Self::Answered => "answered",
            Self::Withdrawn => "withdrawn",
            Self::Duplicate => "duplicate",
            Self::Gone => "gone",
        }
    }
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

/// A fact that was not known when a finding was settled. Nothing else re-opens one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NewFact {
    /// Its text means something else now.
    Edited,
    /// Somebody trusted answered and did not accept.
    Disputed,
    /// Its severity rose above what the settled status may carry.
    Graded,
    /// What proved the status does not hold at the head any more.
    ProofLost,
    /// A later commit took the fix away.
    Undone,
    /// The finding that carried this one is gone, or says something else.
    OriginalLost,
    /// The deleted comment, or the text cut from it, is there again.
    Returned,
    /// The thread that had been resolved is open again.
    Unresolved,
    /// A person asks for another try.
    Asked,
}

impl NewFact {
    /// Every fact.
    pub const ALL: [Self; 9] = [
        Self::Edited,
        Self::Disputed,
        Self::Graded,
        Self::ProofLost,
        Self::Undone,
        Self::OriginalLost,
        Self::Returned,
        Self::Unresolved,
        Self::Asked,
    ];

    /// Tells whether this fact speaks against that status.
    pub fn reopens(self, status: Status) -> bool {
        match self {
            Self::Edited | Self::Asked => status.settled(),
            Self::Disputed => match status {
                Status::Open | Status::Gone => false,
                Status::Fixed
                | Status::Argued
                | Status::Stale
                | Status::Deferred
                | Status::Acknowledged
                | Status::Answered
                | Status::Withdrawn
                | Status::Duplicate => true,
            },
            Self::Graded => {
                matches!(status, Status::Argued | Status::Deferred | Status::Acknowledged | Status::Answered)
            }
            Self::ProofLost => {
                matches!(status, Status::Fixed | Status::Stale | Status::Argued | Status::Deferred | Status::Answered)
            }
            Self::Undone => status == Status::Fixed,
            Self::OriginalLost => status == Status::Duplicate,
            Self::Returned => status == Status::Gone,
            Self::Unresolved => status == Status::Withdrawn,
        }
    }
}
