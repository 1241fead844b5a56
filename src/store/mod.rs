//! State of one pull request in git's common folder, and the scratchpad in the worktree: durable, locked, private.
//! Knows nothing of what the state means.

mod atomic;
mod ledger;
mod lock;
mod pulls;
mod readings;
mod scratchpad;
mod summary_file;

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;

use camino::{Utf8Path, Utf8PathBuf};
use jiff::Timestamp;
use rustix::fs::OFlags;

use atomic::{Durable, io, private_dir};
pub use ledger::{Consent, consent, content_hash, give_consent, is_trusted, trust, trust_path};
pub use lock::Holder;
pub use pulls::{
    SeenPush, drop_if_empty, forget_pushes, pushes_to_forget, recall_pull, recall_pushes, remember_pull, remember_push,
    repo_cache,
};

use crate::ports::{BriefFiles, Held, Loaded, Store, StoreError};
use crate::review::ids::{PrRef, RepoSlug};
use crate::review::summary::Summary;
use scratchpad::Scratchpad;
use summary_file::Read;

/// Run logs kept.
const LOGS: usize = 20;

/// State and scratchpad of one pull request.
pub struct FileStore {
    common_dir: Utf8PathBuf,
    dir: Utf8PathBuf,
    pr: PrRef,
    scratchpad: Scratchpad,
    command: String,
}

impl FileStore {
    /// Names the state of a pull request; `command` is what others are told when they find it locked.
    pub fn new(common_dir: &Utf8Path, worktree: &Utf8Path, pr: PrRef, command: &str) -> Result<Self, StoreError> {
        let dir = repo_dir(common_dir, &pr.host, &pr.slug)?.join(pr.number.to_string());
        let scratchpad = Scratchpad::of(worktree);
        Ok(Self { common_dir: common_dir.to_owned(), dir, pr, scratchpad, command: command.to_owned() })
    }

    /// Returns the folder of this pull request's state.
    pub fn dir(&self) -> &Utf8Path {
        &self.dir
    }

    /// Returns the folder of the HTTP cache, made where it is missing.
    pub fn cache_dir(&self) -> Result<Utf8PathBuf, StoreError> {
        self.folder("cache")
    }

    /// Returns the folder of run logs and raw agent output, made where it is missing.
    pub fn log_dir(&self) -> Result<Utf8PathBuf, StoreError> {
        self.folder("logs")
    }

    fn folder(&self, name: &str) -> Result<Utf8PathBuf, StoreError> {
        make_dirs(&self.common_dir, &self.dir, Durable::No)?;
        let dir = self.dir.join(name);
        private_dir(&dir)?;
        Ok(dir)
    }

    /// Opens a new log of a run and removes the oldest ones.
    pub fn run_log(&self, at: Timestamp) -> Result<(File, Utf8PathBuf), StoreError> {
        let dir = self.log_dir()?;
        let entries = dir.read_dir_utf8().map_err(|e| io("read", &dir, e))?;
        let is_log = |name: &str| name.starts_with("run-") && name.ends_with(".log");
        let mut logs: Vec<Utf8PathBuf> =
            entries.flatten().filter(|e| is_log(e.file_name())).map(|e| e.path().to_owned()).collect();
        logs.sort();
        let surplus = (logs.len() + 1).saturating_sub(LOGS);
        for old in logs.iter().take(surplus) {
            // One that stays does no harm.
            let _ = std::fs::remove_file(old);
        }
        let name = format!("run-{}-{}.log", at.strftime("%Y%m%dT%H%M%S"), std::process::id());
        let path = dir.join(name);
        let flags = OFlags::NOFOLLOW.bits().cast_signed();
        let file = OpenOptions::new().create(true).append(true).mode(0o600).custom_flags(flags).open(&path);
        Ok((file.map_err(|e| io("open", &path, e))?, path))
    }
}

impl Store for FileStore {
    fn lock(&self) -> Result<Held, StoreError> {
        make_dirs(&self.common_dir, &self.dir, Durable::No)?;
        let file = lock::take(&self.dir.join("lock"), &self.command)?;
        atomic::sweep(&self.dir);
        Ok(Held::new(Box::new(file)))
    }

    fn load(&self, held: Option<&Held>) -> Result<Loaded, StoreError> {
        let path = self.path();
        let why = match summary_file::load(&path)? {
            Read::Absent => return Ok(Loaded::Absent),
            Read::Known(summary) if self.is_ours(&summary) => return Ok(Loaded::Known(summary)),
            Read::Known(summary) => format!("it is about {}", summary.pr.at()),
            Read::Bad(why) => why,
        };
        let kept = if held.is_some() { summary_file::set_aside(&path)? } else { path };
        Ok(Loaded::Bad { kept, why })
    }

    fn save(&self, _held: &Held, summary: &Summary) -> Result<(), StoreError> {
        let path = self.path();
        if !self.is_ours(summary) {
            return Err(io("write", &path, format!("the state is about {}", summary.pr.at())));
        }
        let former = match std::fs::symlink_metadata(&path) {
            Ok(meta) if meta.is_file() => atomic::read(&path, u64::MAX)?,
            _ => None,
        };
        let data = summary_file::render(&path, summary, former.as_deref())?;
        if former.as_deref() == Some(data.as_slice()) {
            return Ok(());
        }
        // A newer version's state is not written over, and an unreadable one is kept.
        let readable = matches!(summary_file::load(&path)?, Read::Absent | Read::Known(_));
        if !readable {
            summary_file::set_aside(&path)?;
        }
        // A first state that tells only what was read can be read again; what is done after it lasts, with its folders.
        let durable = if former.is_none() && summary.only_read() { Durable::Whole } else { Durable::Yes };
        make_dirs(&self.common_dir, &self.dir, durable)?;
        atomic::replace(&path, &data, durable)
    }

    fn path(&self) -> Utf8PathBuf {
        self.dir.join("summary.json")
    }

    fn write_brief(
        &self,
        _held: &Held,
        files: &BriefFiles,
    ) -> Result<(Utf8PathBuf, Utf8PathBuf, Utf8PathBuf), StoreError> {
        scratchpad::exclude(&self.common_dir)?;
        self.scratchpad.write(files)
    }

    fn read_decisions(&self) -> Result<Option<Vec<u8>>, StoreError> {
        self.scratchpad.read_decisions()
    }
}

impl FileStore {
    fn is_ours(&self, summary: &Summary) -> bool {
        let at = summary.pr.at();
        at.number == self.pr.number && at.slug.same(&self.pr.slug) && at.host.eq_ignore_ascii_case(&self.pr.host)
    }
}

/// Returns the folder of everything this program keeps in a repository.
fn root_dir(common_dir: &Utf8Path) -> Utf8PathBuf {
    common_dir.join("pushback")
}

/// Returns the folder of one repository of one host. The forge ignores case, so a folder in another spelling is taken.
fn repo_dir(common_dir: &Utf8Path, host: &str, slug: &RepoSlug) -> Result<Utf8PathBuf, StoreError> {
    let mut dir = root_dir(common_dir);
    for part in [host, &slug.owner, &slug.name] {
        let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '[' | ']');
        if part.is_empty() || part.starts_with('.') && part.trim_matches('.').is_empty() || !part.chars().all(good) {
            return Err(io("use", &dir, format!("`{}` is no name for a folder", part.escape_debug())));
        }
        dir = spelled(&dir, part);
    }
    Ok(dir)
}

fn spelled(dir: &Utf8Path, part: &str) -> Utf8PathBuf {
    let exact = dir.join(part);
    if exact.exists() {
        return exact;
    }
    let other = dir.read_dir_utf8().ok().and_then(|entries| {
        entries.flatten().find(|e| e.file_name().eq_ignore_ascii_case(part)).map(|e| e.path().to_owned())
    });
    other.unwrap_or(exact)
}

/// Makes the private folders below the common folder. What must last needs folders that do, whoever made them.
fn make_dirs(common_dir: &Utf8Path, dir: &Utf8Path, durable: Durable) -> Result<(), StoreError> {
    let below = dir.strip_prefix(common_dir).map_err(|e| io("create", dir, e))?;
    let mut path = common_dir.to_owned();
    for part in below {
        let parent = path.clone();
        path.push(part);
        private_dir(&path)?;
        if durable == Durable::Yes {
            atomic::sync_dir(&parent).map_err(|e| io("create", &path, e))?;
        }
    }
    Ok(())
}
