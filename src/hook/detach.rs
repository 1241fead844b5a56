//! Starts the run that outlives the push: a session of its own, nothing of the caller's open, no variable of git's.

use std::fs::File;
use std::io::{IsTerminal as _, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use camino::Utf8PathBuf;
use serde::{Deserialize, Serialize};

use super::notice::{self, Terminal};
use super::script::{self, VARIABLES};
use super::{HookError, io, transaction};
use crate::process::{NO_HOOK, nested};
use crate::review::ids::Sha;

/// Longest transaction read.
const LINES: u64 = 4 * 1024 * 1024;
/// How long a caller may take to hand it on.
const HANDED_ON: Duration = Duration::from_secs(10);
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

/// Arguments of the process that decides.
const GO_ON: [&str; 2] = ["hook", "decide"];

/// Called by the installed hook: starts the process that decides, out of reach of the caller's job control, and returns at
/// once. Whatever fails, the push does not hear of it.
///
/// A session of its own costs the kernel milliseconds, which the push would wait for: only the run that follows takes one.
pub fn leave() {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if set(NO_HOOK) || nested() {
        return;
    }
    let mut command = Command::new(this_program());
    if !set(script::MOVED) && !set(script::ANNOUNCED) {
        // A line in a hook of the project's hands the transaction on.
        let lines = from_stdin();
        if transaction::moved(&lines).is_empty() {
            return;
        }
        command.env(script::MOVED, lines);
    }
    // Whose terminal it is can be told only before we leave it.
    if let Some(terminal) = notice::terminal().and_then(|terminal| serde_json::to_string(&terminal).ok()) {
        command.env(script::TERMINAL, terminal);
    }
    close_fds::set_fds_cloexec(3, &[]);
    let quiet = command.args(GO_ON).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // Not waited for: no signal to the caller's group, and no end of its terminal, reaches another group.
    let _ = quiet.process_group(0).spawn();
}

/// Reads what the caller hands on; an input that nobody closes is none, so that no push waits for it.
fn from_stdin() -> String {
    if std::io::stdin().is_terminal() {
        return String::new();
    }
    let (tell, told) = channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // What cannot be read is no push.
        let _ = std::io::stdin().lock().take(LINES).read_to_end(&mut bytes);
        let _ = tell.send(bytes);
    });
    String::from_utf8_lossy(&told.recv_timeout(HANDED_ON).unwrap_or_default()).into_owned()
}

fn this_program() -> std::path::PathBuf {
    if cfg!(target_os = "linux") {
        return "/proc/self/exe".into();
    }
    std::env::current_exe().unwrap_or_else(|_| "pushback".into())
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
    let mut command = Command::new(this_program());
    for (name, _) in std::env::vars_os().filter(|(name, _)| is_gits(&name.to_string_lossy())) {
        command.env_remove(name);
    }
    let copy = || log.try_clone().map_err(failed);
    if let Some(path) = own_path(std::env::var("PATH").ok(), std::env::var("GIT_EXEC_PATH").ok()) {
        command.env("PATH", path);
    }
    command.args(["hook", "after"]).current_dir(&order.toplevel);
    command.stdin(Stdio::from(input)).stdout(copy()?).stderr(copy()?);
    Ok(command.spawn().map_err(failed)?.id())
}

/// Git puts the folder of its own programs in front; the user's `git` may be another one.
fn own_path(path: Option<String>, programs: Option<String>) -> Option<String> {
    let rest = path?.strip_prefix(programs?.as_str())?.strip_prefix(':')?.to_owned();
    Some(rest)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_put_in_front_of_the_path_is_taken_away() {
        let check = |path: &str, programs: &str, expected: Option<&str>| {
            let found = own_path(Some(path.to_owned()), Some(programs.to_owned()));
            assert_eq!(found.as_deref(), expected, "{path} {programs}");
        };
        check("/usr/lib/git-core:/usr/bin:/bin", "/usr/lib/git-core", Some("/usr/bin:/bin"));
        check("/usr/bin:/usr/lib/git-core", "/usr/lib/git-core", None);
        check("/usr/lib/git-core2:/bin", "/usr/lib/git-core", None);
        assert_eq!(own_path(Some("/bin".to_owned()), None), None);
    }
}
