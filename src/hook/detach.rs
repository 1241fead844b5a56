//! Starts the run that outlives the push: a session of its own, nothing of the caller's open, no variable of git's.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::process::{Command, Stdio};

use camino::Utf8PathBuf;
use serde::{Deserialize, Serialize};

use super::notice::Terminal;
use super::script::VARIABLES;
use super::{HookError, io};
use crate::review::ids::Sha;

/// Largest order read.
const LIMIT: u64 = 1024 * 1024;

/// What a detached run is told, on its standard input.
#[derive(Clone, Serialize, Deserialize)]
pub struct Order {
    /// Top of the worktree that was pushed from.
    pub toplevel: Utf8PathBuf,
    /// Remote, or the address without credentials.
    pub remote: String,
    /// Branch there.
    pub branch: String,
    /// Commit.
    pub sha: Sha,
    /// Local branch, where it is known.
    pub local: Option<String>,
    /// Log.
    pub log: Utf8PathBuf,
    /// Terminal of the push.
    pub terminal: Option<Terminal>,
    /// Coding agent in whose session the push was made.
    pub agent: Option<String>,
    /// A push that has still to succeed.
    pub awaits: Option<Awaits>,
}

/// A push under way. Not printable: the address may hold credentials.
#[derive(Clone, Serialize, Deserialize)]
pub struct Awaits {
    /// Its process.
    pub pid: u32,
    /// Remote or address as typed.
    pub target: String,
}

/// Puts this process into a session of its own. A process that leads its group already stays where it is.
pub fn own_session() {
    let _ = rustix::process::setsid();
}

/// Starts `hook after` with this order; returns its process.
pub fn start(order: &Order, log: &File) -> Result<u32, HookError> {
    // From here on nothing that was inherited reaches a child.
    close_fds::set_fds_cloexec(3, &[]);
    let failed = |e: std::io::Error| io("start a run beside", &order.log, e);
    let mut input = tempfile::tempfile().map_err(failed)?;
    input.write_all(&serde_json::to_vec(order).map_err(|e| failed(e.into()))?).map_err(failed)?;
    input.seek(SeekFrom::Start(0)).map_err(failed)?;
    let program =
        if cfg!(target_os = "linux") { "/proc/self/exe".into() } else { std::env::current_exe().map_err(failed)? };
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os().filter(|(name, _)| is_gits(&name.to_string_lossy())) {
        command.env_remove(name);
    }
    let copy = || log.try_clone().map_err(failed);
    command.args(["hook", "after"]).current_dir(&order.toplevel);
    command.stdin(Stdio::from(input)).stdout(copy()?).stderr(copy()?);
    Ok(command.spawn().map_err(failed)?.id())
}

/// Git leads its hooks by variables, which would mislead every git of a run that goes on elsewhere.
fn is_gits(name: &str) -> bool {
    name.starts_with("GIT_") || VARIABLES.contains(&name)
}

/// Reads the order of this run.
pub fn order() -> Option<Order> {
    let mut data = Vec::new();
    std::io::stdin().lock().take(LIMIT).read_to_end(&mut data).ok()?;
    serde_json::from_slice(&data).ok()
}
