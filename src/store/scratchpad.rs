//! `.pushback/` in the worktree: written for the editor, read back from it. It is the editor's to write, so nothing in it
//! is trusted and no link in it is followed.

use std::io::ErrorKind;

use camino::{Utf8Path, Utf8PathBuf};

use super::atomic::{Durable, io, private_dir, read, real_dir, replace};
use crate::ports::{BriefFiles, StoreError};

/// Most that is read of a decisions file.
const DECISIONS: u64 = 1024 * 1024;
/// Line that keeps the folder out of git.
const EXCLUDE: &str = "/.pushback/";

/// Paths of the scratchpad.
pub(super) struct Scratchpad {
    /// The folder.
    pub(super) dir: Utf8PathBuf,
}

impl Scratchpad {
    pub(super) fn of(worktree: &Utf8Path) -> Self {
        Self { dir: worktree.join(".pushback") }
    }

    fn findings(&self) -> Utf8PathBuf {
        self.dir.join("findings.json")
    }

    fn decisions(&self) -> Utf8PathBuf {
        self.dir.join("decisions.json")
    }

    fn spec(&self) -> Utf8PathBuf {
        self.dir.join("spec.md")
    }

    /// Writes the files of a round and removes the answer to the former one.
    pub(super) fn write(&self, files: &BriefFiles) -> Result<(Utf8PathBuf, Utf8PathBuf, Utf8PathBuf), StoreError> {
        private_dir(&self.dir)?;
        for (path, text) in [
            (self.dir.join("findings.md"), &files.findings_md),
            (self.findings(), &files.findings_json),
            (self.spec(), &files.spec),
        ] {
            clear(&path, Clear::FolderOnly)?;
            replace(&path, text.as_bytes(), Durable::No)?;
        }
        clear(&self.decisions(), Clear::Anything)?;
        Ok((self.findings(), self.decisions(), self.spec()))
    }

    pub(super) fn read_decisions(&self) -> Result<Option<Vec<u8>>, StoreError> {
        match std::fs::symlink_metadata(&self.dir) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            _ => real_dir(&self.dir)?,
        }
        read(&self.decisions(), DECISIONS)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Clear {
    /// What a rename cannot replace.
    FolderOnly,
    /// Whatever is there.
    Anything,
}

fn clear(path: &Utf8Path, what: Clear) -> Result<(), StoreError> {
    let done = match std::fs::symlink_metadata(path) {
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
        Err(e) => Err(e),
        Ok(meta) if meta.is_dir() => std::fs::remove_dir_all(path),
        Ok(_) if what == Clear::Anything => std::fs::remove_file(path),
        Ok(_) => Ok(()),
    };
    done.map_err(|e| io("remove", path, e))
}

/// Keeps the scratchpad out of git by the exclude file all worktrees share.
pub(super) fn exclude(common_dir: &Utf8Path) -> Result<(), StoreError> {
    let path = common_dir.join("info").join("exclude");
    let former = match std::fs::read(&path) {
        Ok(data) => data,
        Err(e) if e.kind() == ErrorKind::NotFound => Vec::new(),
        Err(e) => return Err(io("read", &path, e)),
    };
    if former.split(|b| *b == b'\n').any(|line| line.trim_ascii() == EXCLUDE.as_bytes()) {
        return Ok(());
    }
    let mut data = former;
    if !data.is_empty() && !data.ends_with(b"\n") {
        data.push(b'\n');
    }
    data.extend_from_slice(format!("{EXCLUDE}\n").as_bytes());
    let dir = common_dir.join("info");
    std::fs::create_dir_all(&dir).map_err(|e| io("create", &dir, e))?;
    // Through a link it is someone's shared file: written in place.
    if path.is_symlink() {
        std::fs::write(&path, data).map_err(|e| io("write", &path, e))
    } else {
        replace(&path, &data, Durable::No)
    }
}
