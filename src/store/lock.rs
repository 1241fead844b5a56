//! One run a pull request: a lock of the operating system, so that it dies with its holder. Never waits.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Seek, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt;

use camino::Utf8Path;
use jiff::Timestamp;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use super::atomic::{io, read};
use crate::ports::StoreError;

/// Longest command kept in the lock file.
const COMMAND: usize = 200;

/// Who holds the lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Process.
    pub pid: u32,
    /// Machine.
    pub host: String,
    /// Start.
    pub since: Timestamp,
    /// What it does.
    pub command: String,
}

impl Holder {
    /// Describes this process.
    fn ours(command: &str) -> Self {
        let host = ["/proc/sys/kernel/hostname", "/etc/hostname"].iter().find_map(|p| std::fs::read_to_string(p).ok());
        let host = host.map_or_else(|| "this machine".to_owned(), |name| name.trim().to_owned());
        let command = command.chars().take(COMMAND).collect();
        Self { pid: std::process::id(), host, since: Timestamp::now(), command }
    }

    fn words(&self) -> String {
        let age = Timestamp::now().as_second().saturating_sub(self.since.as_second()).max(0);
        let age = match age {
            0..120 => format!("{age} s"),
            120..7_200 => format!("{} min", age / 60),
            _ => format!("{} h", age / 3_600),
        };
        let since = self.since.strftime("%Y-%m-%dT%H:%M:%SZ");
        format!("`{}`, process {} on {}, since {since} ({age} ago)", self.command, self.pid, self.host)
    }
}

/// Takes the lock, or says who has it.
pub(super) fn take(path: &Utf8Path, command: &str) -> Result<File, StoreError> {
    // Ready before the lock is taken: others read at once who has it.
    let text = serde_json::to_vec(&Holder::ours(command)).map_err(|e| io("write", path, e))?;
    let flags = OFlags::NOFOLLOW.bits().cast_signed();
    let open = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(flags)
        .open(path);
    let mut file = open.map_err(|e| io("open", path, e))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(StoreError::Held { holder: holder(path) }),
        Err(TryLockError::Error(e)) => return Err(io("lock", path, e)),
    }
    let write = |file: &mut File| -> std::io::Result<()> {
        file.set_len(0)?;
        file.seek(SeekFrom::Start(0))?;
        file.write_all(&text)
    };
    write(&mut file).map_err(|e| io("write", path, e))?;
    Ok(file)
}

/// Reads who holds the lock; it may just be writing that down.
fn holder(path: &Utf8Path) -> String {
    let data = read(path, 64 * 1024).ok().flatten().unwrap_or_default();
    match serde_json::from_slice::<Holder>(&data) {
        Ok(holder) => holder.words(),
        Err(_) => "a process that has only just started".to_owned(),
    }
}
