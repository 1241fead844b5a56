//! Temporary worktrees outside the user's one. Each holds a lock, so that leftovers of killed runs are told from live ones.

use std::fs::File;

use camino::{Utf8Path, Utf8PathBuf};
use tempfile::TempDir;

use super::{GitWorktree, failed};
use crate::ports::GitError;
use crate::review::ids::Sha;

const PREFIX: &str = "pushback-aside-";
const LOCK: &str = "lock";

/// A temporary worktree and what keeps it.
pub(super) struct Aside {
    root: TempDir,
    /// Held by living.
    _lock: File,
}

impl GitWorktree {
    pub(super) fn add_aside(&self, sha: &Sha) -> Result<Utf8PathBuf, GitError> {
        self.sweep_asides()?;
        let what = format!("make a temporary worktree at {}", sha.short());
        let oops = |e: std::io::Error| failed(&what, e.to_string());
        let root = tempfile::Builder::new().prefix(PREFIX).tempdir().map_err(oops)?;
        let lock = File::create(root.path().join(LOCK)).map_err(oops)?;
        lock.try_lock().map_err(|e| failed(&what, e.to_string()))?;
        let base = root.path().canonicalize().map_err(oops)?;
        let base = Utf8PathBuf::from_path_buf(base).map_err(|_| failed(&what, "the folder's name is not UTF-8"))?;
        let dir = base.join(self.toplevel.file_name().unwrap_or("worktree"));
        // The checkout is ours, so no hook of the user's has business with it.
        let call = self.git.call(&what).config("core.hooksPath=/dev/null");
        call.args(["worktree", "add", "--quiet", "--detach", dir.as_str(), sha.as_str()]).ok()?;
        if let Ok(mut asides) = self.asides.lock() {
            asides.insert(dir.clone(), Aside { root, _lock: lock });
        }
        Ok(dir)
    }

    pub(super) fn remove_aside(&self, dir: &Utf8Path) -> Result<(), GitError> {
        let what = format!("remove the temporary worktree {dir}");
        let known = self.asides.lock().ok().and_then(|mut asides| asides.remove(dir));
        let aside = known.ok_or_else(|| failed(&what, "it is none of this run's"))?;
        self.unregister(dir)?;
        aside.root.close().map_err(|e| failed(what, e.to_string()))
    }

    fn unregister(&self, dir: &Utf8Path) -> Result<(), GitError> {
        let call = self.git.call(format!("remove the temporary worktree {dir}"));
        call.args(["worktree", "remove", "--force", "--force", dir.as_str()]).ok().map(drop)
    }

    /// Removes temporary worktrees of this repository whose run is dead.
    fn sweep_asides(&self) -> Result<(), GitError> {
        let data = self.git.call("list the worktrees").args(["worktree", "list", "--porcelain", "-z"]).ok()?;
        let dirs = data.split(|b| *b == 0).filter_map(|line| line.strip_prefix(b"worktree "));
        for dir in dirs.filter_map(|d| std::str::from_utf8(d).ok()).map(Utf8Path::new) {
            let Some(root) = dir.parent().filter(|r| r.file_name().is_some_and(|n| n.starts_with(PREFIX))) else {
                continue;
            };
            // No lock file: not ours, already gone, or on another machine.
            let Ok(lock) = File::open(root.join(LOCK)) else { continue };
            if lock.try_lock().is_ok() {
                self.unregister(dir)?;
                std::fs::remove_dir_all(root).map_err(|e| failed(format!("remove {root}"), e.to_string()))?;
            }
        }
        Ok(())
    }
}

impl Drop for GitWorktree {
    fn drop(&mut self) {
        let asides = self.asides.lock().map(|mut a| std::mem::take(&mut *a)).unwrap_or_default();
        for (dir, aside) in asides {
            // What cannot be removed now is swept by the next run.
            let _ = self.unregister(&dir);
            drop(aside);
        }
    }
}
