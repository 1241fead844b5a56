//! Writes new files into the worktree: never over another's content, never through a symbolic link.

use std::ffi::OsStr;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;

use super::{GitWorktree, SCRATCH, failed};
use crate::ports::GitError;
use crate::review::ids::RepoPath;

impl GitWorktree {
    pub(super) fn write_new_file(&self, path: &RepoPath, text: &str) -> Result<bool, GitError> {
        let bad = |error: std::io::Error| failed(format!("write {path}"), error.to_string());
        let parts: Vec<&[u8]> = path.as_bytes().split(|b| *b == b'/').collect();
        let Some((last, parents)) = parts.split_last().filter(|_| !path.as_bytes().starts_with(SCRATCH)) else {
            return Ok(false);
        };
        let mut full = self.toplevel.as_std_path().to_owned();
        for part in parents {
            full.push(OsStr::from_bytes(part));
            match std::fs::symlink_metadata(&full) {
                Ok(known) if known.is_dir() => {}
                Ok(_) => return Ok(false),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    std::fs::create_dir(&full).map_err(bad)?;
                }
                Err(error) => return Err(bad(error)),
            }
        }
        full.push(OsStr::from_bytes(last));
        match std::fs::OpenOptions::new().write(true).create_new(true).open(&full) {
            Ok(mut file) => {
                file.write_all(text.as_bytes()).map_err(bad)?;
                Ok(true)
            }
            // Left by a round that was cut off: the same words are the same plan.
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                let file = std::fs::symlink_metadata(&full).map_err(bad)?.is_file();
                Ok(file && std::fs::read(&full).map_err(bad)? == text.as_bytes())
            }
            Err(error) => Err(bad(error)),
        }
    }
}
