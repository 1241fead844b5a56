//! That one push starts one run: who claimed which commit of which branch, how it went, and where its log is.
//! A record under a lock of the operating system; whoever dies with a claim has lost it.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::time::{Duration, Instant};

use camino::{Utf8Path, Utf8PathBuf};
use jiff::Timestamp;
use rustix::fs::OFlags;
use rustix::process::{Pid, test_kill_process};
use serde::{Deserialize, Serialize};

use super::{HookError, home, io};
use crate::review::ids::{RepoSlug, Sha};

/// Runs remembered.
const RUNS: usize = 100;
/// Runs at work at once in one repository: somebody may push all branches.
pub const AT_ONCE: usize = 32;
/// Logs kept.
const LOGS: usize = 100;
/// Largest record read.
const LIMIT: u64 = 4 * 1024 * 1024;
/// The lock is held for the time of one small write; a holder that was stopped is not waited for any longer.
const PATIENCE: Duration = Duration::from_secs(60);
const TICK: Duration = Duration::from_millis(3);
/// How long runs that are under way may write while everything is removed.
const WRITES: Duration = Duration::from_secs(2);
/// Version of the record.
const VERSION: u32 = 1;

/// A branch of a repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Branch {
    /// Host.
    pub host: String,
    /// Repository that was pushed to.
    pub repo: RepoSlug,
    /// Branch there.
    pub branch: String,
}

impl Branch {
    fn same(&self, other: &Self) -> bool {
        self.host == other.host && self.repo.same(&other.repo) && self.branch == other.branch
    }
}

/// One run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// Branch.
    #[serde(flatten)]
    pub at: Branch,
    /// Commit that was pushed.
    pub sha: Sha,
    /// Process.
    pub pid: u32,
    /// Start.
    pub since: Timestamp,
    /// Log.
    pub log: Utf8PathBuf,
    /// End; `None` while it is under way.
    #[serde(default)]
    pub ended: Option<Timestamp>,
    /// How it went, in one sentence.
    #[serde(default)]
    pub outcome: String,
}

/// A process that was started, and its log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Started {
    /// Process.
    pub pid: u32,
    /// Log.
    pub log: Utf8PathBuf,
}

/// State of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunState {
    /// At work.
    Running,
    /// Ended by itself.
    Ended,
    /// Its process is gone and left no word.
    Lost,
}

impl RunState {
    /// Returns the word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Ended => "ended",
            Self::Lost => "lost",
        }
    }
}

impl Run {
    /// Says how it is.
    pub fn state(&self) -> RunState {
        match self.ended {
            Some(_) => RunState::Ended,
            None if alive(self.pid) => RunState::Running,
            None => RunState::Lost,
        }
    }
}

/// Tells whether a process is there.
pub fn alive(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    // Somebody else's process answers with a refusal, and is there.
    pid.is_some_and(|pid| !matches!(test_kill_process(pid), Err(rustix::io::Errno::SRCH)))
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Record {
    schema_version: u32,
    #[serde(default)]
    runs: Vec<Run>,
}

/// The runs of one repository.
#[derive(Debug, Clone)]
pub struct Claims {
    dir: Utf8PathBuf,
}

impl Claims {
    /// Names them; nothing is made yet.
    pub fn of(common_dir: &Utf8Path) -> Self {
        Self { dir: home(common_dir) }
    }

    fn path(&self) -> Utf8PathBuf {
        self.dir.join("runs.json")
    }

    fn locked(&self) -> Result<File, HookError> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&self.dir);
        made.map_err(|e| io("create", &self.dir, e))?;
        let path = self.dir.join("lock");
        let mut open = OpenOptions::new();
        open.read(true).write(true).create(true).truncate(false).mode(0o600);
        open.custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
        let file = open.open(&path).map_err(|e| io("open", &path, e))?;
        let asked = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) if asked.elapsed() < PATIENCE => std::thread::sleep(TICK),
                Err(TryLockError::WouldBlock) => {
                    return Err(io("lock", &path, format!("another process holds it for {} s", PATIENCE.as_secs())));
                }
                Err(TryLockError::Error(e)) => return Err(io("lock", &path, e)),
            }
        }
    }

    fn load(&self) -> Record {
        let flags = OFlags::NOFOLLOW.bits().cast_signed();
        let mut data = Vec::new();
        let file = OpenOptions::new().read(true).custom_flags(flags).open(self.path());
        let read = file.and_then(|file| file.take(LIMIT).read_to_end(&mut data));
        let record = read.ok().and_then(|_| serde_json::from_slice::<Record>(&data).ok()).unwrap_or_default();
        if record.schema_version == VERSION { record } else { Record { schema_version: VERSION, runs: Vec::new() } }
    }

    fn save(&self, record: &Record) -> Result<(), HookError> {
        let path = self.path();
        let text = serde_json::to_vec_pretty(record).map_err(|e| io("write", &path, e))?;
        self.write(&path, &text)
    }

    /// Replaces a file in one step; it is for this account only.
    fn write(&self, path: &Utf8Path, text: &[u8]) -> Result<(), HookError> {
        let write = || -> std::io::Result<()> {
            let mut file = tempfile::Builder::new().prefix(".pushback-tmp-").tempfile_in(&self.dir)?;
            file.write_all(text)?;
            file.persist(path).map_err(|e| e.error)?;
            Ok(())
        };
        write().map_err(|e| io("write", path, e))
    }

    /// Returns the runs, newest first.
    pub fn runs(&self) -> Vec<Run> {
        let mut runs = self.load().runs;
        runs.reverse();
        runs
    }

    /// Returns the commit that was pushed last to a branch.
    pub fn newest(&self, at: &Branch) -> Option<Sha> {
        self.load().runs.iter().rev().find(|run| run.at.same(at)).map(|run| run.sha.clone())
    }

    /// Claims a commit of a branch for the process that `start` starts. `None` when the branch's last run is about this
    /// very commit, and is at work or has ended; or when very many runs are at work.
    pub fn claim(
        &self,
        at: &Branch,
        sha: &Sha,
        now: Timestamp,
        start: impl FnOnce() -> Result<Started, HookError>,
    ) -> Result<Option<u32>, HookError> {
        let lock = self.locked()?;
        let mut record = self.load();
        let taken = record.runs.iter().rev().find(|run| run.at.same(at));
        if taken.is_some_and(|run| run.sha == *sha && run.state() != RunState::Lost) {
            return Ok(None);
        }
        if record.runs.iter().filter(|run| run.state() == RunState::Running).count() >= AT_ONCE {
            return Ok(None);
        }
        let Started { pid, log } = start()?;
        let run = Run { at: at.clone(), sha: sha.clone(), pid, since: now, log, ended: None, outcome: String::new() };
        record.runs.push(run);
        let surplus = record.runs.len().saturating_sub(RUNS);
        record.runs.drain(..surplus);
        self.save(&record)?;
        drop(lock);
        Ok(Some(pid))
    }

    /// Writes down how the run of a process went.
    pub fn end(&self, pid: u32, now: Timestamp, outcome: &str) -> Result<(), HookError> {
        if !self.dir.exists() {
            // The hook was removed meanwhile; nothing of it comes back.
            return Ok(());
        }
        let _lock = self.locked()?;
        let mut record = self.load();
        if let Some(run) = record.runs.iter_mut().rev().find(|run| run.pid == pid) {
            run.ended = Some(now);
            outcome.clone_into(&mut run.outcome);
        }
        self.save(&record)
    }

    /// Keeps why nothing could be started, for `hook status`.
    pub fn failed(&self, now: Timestamp, why: &str) -> Result<(), HookError> {
        let _lock = self.locked()?;
        let text = format!("{} {why}\n", now.strftime("%Y-%m-%dT%H:%M:%SZ"));
        self.write(&self.dir.join("last-failure"), text.as_bytes())
    }

    /// Returns why nothing could be started the last time that happened.
    pub fn last_failure(&self) -> Option<String> {
        let text = fs::read_to_string(self.dir.join("last-failure")).ok()?;
        Some(text.trim_end().to_owned())
    }

    /// Opens the log of a new run, and forgets the oldest ones.
    pub fn log(&self, branch: &str, sha: &Sha, now: Timestamp) -> Result<(File, Utf8PathBuf), HookError> {
        let dir = self.dir.join("logs");
        DirBuilder::new().recursive(true).mode(0o700).create(&dir).map_err(|e| io("create", &dir, e))?;
        let mut old: Vec<Utf8PathBuf> =
            dir.read_dir_utf8().into_iter().flatten().flatten().map(|entry| entry.path().to_owned()).collect();
        old.sort();
        for path in old.iter().take((old.len() + 1).saturating_sub(LOGS)) {
            // One that stays does no harm.
            let _ = fs::remove_file(path);
        }
        let plain: String = branch.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(40).collect();
        let name = format!("{}-{plain}-{}-{}.log", now.strftime("%Y%m%dT%H%M%S"), sha.short(), std::process::id());
        let path = dir.join(name);
        let flags = OFlags::NOFOLLOW.bits().cast_signed();
        let open = OpenOptions::new().append(true).create(true).mode(0o600).custom_flags(flags).open(&path);
        Ok((open.map_err(|e| io("open", &path, e))?, path))
    }
}

/// Removes everything the hook keeps of a repository.
pub fn forget(common_dir: &Utf8Path) -> Result<(), HookError> {
    let dir = home(common_dir);
    let asked = Instant::now();
    loop {
        match fs::remove_dir_all(&dir) {
            // A run that is under way has just written a file into it.
            Err(e) if e.kind() == std::io::ErrorKind::DirectoryNotEmpty && asked.elapsed() < WRITES => {
                std::thread::sleep(TICK);
            }
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(io("remove", &dir, e)),
            _ => return Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(branch: &str) -> Branch {
        Branch { host: "github.com".into(), repo: "octo/pay".parse().expect("a repository"), branch: branch.into() }
    }

    fn started(pid: u32) -> Started {
        Started { pid, log: "/log".into() }
    }

    #[test]
    fn fm_08_one_commit_of_a_branch_is_claimed_once() {
        let temp = tempfile::tempdir().expect("a folder");
        let claims = Claims::of(Utf8Path::from_path(temp.path()).expect("utf-8"));
        let sha = |digit: &str| Sha::parse(&digit.repeat(40)).expect("a sha");
        let now = Timestamp::UNIX_EPOCH;
        let own = std::process::id();
        let claim = |branch: &str, digit: &str, pid: u32| {
            claims.claim(&at(branch), &sha(digit), now, || Ok(started(pid))).expect("a claim")
        };
        assert_eq!(claim("a", "1", own), Some(own));
        assert_eq!(claim("a", "1", own), None, "at work");
        assert_eq!(claim("b", "1", own), Some(own), "another branch");
        assert_eq!(claim("a", "2", own), Some(own), "another commit");
        assert_eq!(claims.newest(&at("a")), Some(sha("2")));
        assert_eq!(claim("a", "1", own), Some(own), "pushed back to a former commit");
        claims.end(own, now, "done").expect("an end");
        assert_eq!(claim("a", "1", own), None, "done already");
        // A process id that no process has.
        assert_eq!(claim("a", "3", 0x3fff_fff0), Some(0x3fff_fff0));
        assert_eq!(claim("a", "3", own), Some(own), "whoever had it died");
        assert_eq!(claims.runs()[0].state(), RunState::Running);
    }

    #[test]
    fn what_is_written_meanwhile_is_removed_too() {
        let temp = tempfile::tempdir().expect("a folder");
        let common = Utf8Path::from_path(temp.path()).expect("utf-8");
        let logs = home(common).join("logs");
        for _ in 0..20 {
            fs::create_dir_all(&logs).expect("folders");
            (0..50).for_each(|n| fs::write(logs.join(format!("{n}")), "").expect("a file"));
            std::thread::scope(|scope| {
                scope.spawn(|| (0..2_000).try_for_each(|n| fs::write(logs.join(format!("{n}.log")), "")));
                forget(common).expect("it is removed");
            });
        }
    }

    #[test]
    fn many_at_once_start_one_run() {
        let temp = tempfile::tempdir().expect("a folder");
        let claims = Claims::of(Utf8Path::from_path(temp.path()).expect("utf-8"));
        let sha = Sha::parse(&"1".repeat(40)).expect("a sha");
        let count = std::sync::atomic::AtomicU32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let start = || {
                        count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                        Ok(started(std::process::id()))
                    };
                    claims.claim(&at("a"), &sha, Timestamp::UNIX_EPOCH, start).expect("a claim");
                });
            }
        });
        assert_eq!(count.into_inner(), 1);
    }
}
