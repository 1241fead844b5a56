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
