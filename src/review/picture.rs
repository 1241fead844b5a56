//! The repository before and after an editor run, as data (R28).

use std::collections::BTreeMap;

use super::ids::{RepoPath, Sha};

/// Everything an editor could have changed, by content hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// HEAD.
    pub head: Sha,
    /// Branch HEAD is on; `None` when detached.
    pub branch: Option<String>,
    /// All refs but those of our own name space.
    pub refs: BTreeMap<String, Sha>,
    /// Hash of the remotes' configuration.
    pub remotes: String,
    /// Hash of the hooks folder.
    pub hooks: String,
    /// Hash of the repository's configuration, remotes included.
    pub config: String,
    /// Hash of what is staged, as far as it differs from HEAD; empty when nothing is.
    pub index: String,
    /// Files that differ from HEAD or are untracked and not ignored: content and mode hash; `None` is a deleted one.
    pub files: BTreeMap<RepoPath, Option<String>>,
    /// Declared files outside the worktree.
    pub outside: BTreeMap<String, String>,
}
