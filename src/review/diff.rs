//! A diff as data. Reading it from git is the business of an adapter.

use super::ids::RepoPath;

/// How a file changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileChange {
    /// Was added.
    Added,
    /// Was deleted.
    Deleted,
    /// Content or mode changed.
    Modified,
    /// Moved, perhaps with changes.
    Renamed,
}

/// A run of changed lines: `old_len` lines from `old_start` became `new_len` lines from `new_start` (1-based, no context).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    /// First removed line; the line before the insertion when none is removed.
    pub old_start: u32,
    /// Removed lines.
    pub old_len: u32,
    /// First added line; the line before the removal when none is added.
    pub new_start: u32,
    /// Added lines.
    pub new_len: u32,
    /// Removed text, without line ends.
    pub removed: Vec<String>,
    /// Added text, without line ends.
    pub added: Vec<String>,
}

/// One file of a diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileDiff {
    /// How it changed.
    pub change: FileChange,
    /// Path before; `None` for an added file.
    pub old_path: Option<RepoPath>,
    /// Path after; `None` for a deleted file.
    pub new_path: Option<RepoPath>,
    /// True when it is not text; `hunks` is empty then.
    pub binary: bool,
    /// Changed runs in order.
    pub hunks: Vec<Hunk>,
}
