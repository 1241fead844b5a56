//! The doors that start the program: git hooks after a push, and the hooks of coding agents.
//!
//! Decides which transactions are pushes, what the installed scripts say, where they go and how they leave again, that
//! one push starts one detached run, and what an agent is told. It asks neither git nor the forge; the command line
//! brings what those say.
pub mod agent;
pub mod claims;
pub mod detach;
pub mod install;
pub mod notice;
pub mod script;
pub mod sessions;
pub mod transaction;

use camino::{Utf8Path, Utf8PathBuf};

/// Why something of the hook could not be done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HookError {
    /// The disk or its rights.
    #[error("could not {what} {path}: {why}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// Where.
        path: Utf8PathBuf,
        /// Cause.
        why: String,
    },
    /// A path cannot stand in a script.
    #[error("{0:?} holds a line break or another control character")]
    Path(Utf8PathBuf),
    /// A hook of somebody else is in the way and cannot be chained.
    #[error("{hook} is not ours, and {kept} is still there from before")]
    Twice {
        /// The hook in place.
        hook: Utf8PathBuf,
        /// The one kept earlier.
        kept: Utf8PathBuf,
    },
}

fn io(what: &'static str, path: &Utf8Path, why: impl ToString) -> HookError {
    HookError::Io { what, path: path.to_owned(), why: why.to_string() }
}

/// Returns the folder of what the hook keeps, below git's common folder.
pub fn home(common_dir: &Utf8Path) -> Utf8PathBuf {
    common_dir.join("pushback").join("hook")
}
