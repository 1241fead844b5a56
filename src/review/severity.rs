//! How bad a finding is, and how that was decided. The rules that decide it are in `classify`.

use serde::{Deserialize, Serialize};

/// Severity of a finding; the worst one is the least value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Severity {
    /// Blocks, and is settled only by a proven fix.
    P1,
    /// Blocks until fixed or argued down.
    P2,
    /// Does not block; listed in the description.
    P3,
    /// Does not block; one folded line in the description.
    #[serde(rename = "nit")]
    Nit,
}

impl Severity {
    /// Every severity, worst first.
    pub const ALL: [Self; 4] = [Self::P1, Self::P2, Self::P3, Self::Nit];

    /// Tells whether an open finding of this severity keeps the gate shut.
    pub fn blocks(self) -> bool {
        match self {
            Self::P1 | Self::P2 => true,
            Self::P3 | Self::Nit => false,
        }
    }

    /// Tells whether a finding of this severity may be argued down.
    pub fn arguable(self) -> bool {
        match self {
            Self::P2 => true,
            Self::P1 | Self::P3 | Self::Nit => false,
        }
    }

    /// Returns the word used in every format.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::P1 => "P1",
            Self::P2 => "P2",
            Self::P3 => "P3",
            Self::Nit => "nit",
        }
    }
}

impl std::fmt::Display for Severity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

/// How a severity was decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecidedBy {
    /// By an explicit marker.
    Tagged,
    /// No marker: the reviewer's configured level.
    Assumed,
    /// A marker without a rule: P2.
    UnknownTag,
}

impl DecidedBy {
    /// Returns the word used in every format.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tagged => "tagged",
            Self::Assumed => "assumed",
            Self::UnknownTag => "unknown_tag",
        }
    }
}

/// The rule that decided, for `explain`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleRef {
    /// The rule file, for example `codex.toml`, or `config` for a user's rule.
    pub file: String,
    /// The rule's name inside the file.
    pub name: String,
    /// The text it matched.
    pub matched: String,
}
