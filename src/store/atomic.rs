//! Files that are whole or absent: written beside, synced, renamed. No link is ever followed at the last step.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{BufWriter, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};

use camino::Utf8Path;
use rustix::fs::OFlags;

use crate::ports::StoreError;

/// Prefix of files that are being written; one left by a killed run has no value.
const TEMPORARY: &str = ".pushback-tmp-";

/// Names the file and the cause.
pub(super) fn io(what: &'static str, path: &Utf8Path, why: impl ToString) -> StoreError {
    StoreError::Io { what, path: path.to_owned(), why: why.to_string() }
}

/// Whether a write must survive a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Durable {
    /// Synced, folder included.
    Yes,
    /// Either whole or absent then.
    Whole,
    /// Replaced in one step, no more.
    No,
}

/// Replaces a file's content in one step. Leaves the former content and no temporary file when it fails.
pub(super) fn replace(path: &Utf8Path, data: &[u8], durable: Durable) -> Result<(), StoreError> {
    replace_with(path, durable, |out| out.write_all(data))
}

/// The same with content that is written piece by piece.
pub(super) fn replace_with(
    path: &Utf8Path,
    durable: Durable,
    content: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<(), StoreError> {
    let dir = path.parent().unwrap_or(path);
    let write = || -> std::io::Result<()> {
        let mut file = tempfile::Builder::new()
            .prefix(TEMPORARY)
            .permissions(std::fs::Permissions::from_mode(0o600))
            .tempfile_in(dir)?;
        let mut out = BufWriter::new(&mut file);
        content(&mut out)?;
        out.flush()?;
        drop(out);
        if durable != Durable::No {
            file.as_file().sync_all()?;
        }
        file.persist(path).map_err(|e| e.error)?;
        if durable == Durable::Yes {
            sync_dir(dir)?;
        }
        Ok(())
    };
    write().map_err(|e| io("write", path, e))
}

/// Makes renames and new files in a folder durable.
pub(super) fn sync_dir(dir: &Utf8Path) -> std::io::Result<()> {
    File::open(dir)?.sync_all()
}

/// Removes what killed runs were writing. Only for the holder of the lock.
pub(super) fn sweep(dir: &Utf8Path) {
    let Ok(entries) = dir.read_dir_utf8() else { return };
    for entry in entries.flatten().filter(|e| e.file_name().starts_with(TEMPORARY)) {
        // One that stays does no harm.
        let _ = std::fs::remove_file(entry.path());
    }
}

/// Makes a private folder below a trusted one; refuses anything else in its place, links included.
pub(super) fn private_dir(dir: &Utf8Path) -> Result<(), StoreError> {
    match DirBuilder::new().mode(0o700).create(dir) {
        Ok(()) => Ok(()),
        Err(e) if e.kind() == ErrorKind::AlreadyExists => real_dir(dir),
        Err(e) => Err(io("create", dir, e)),
    }
}

/// Checks that a folder is one and no link.
pub(super) fn real_dir(dir: &Utf8Path) -> Result<(), StoreError> {
    let meta = std::fs::symlink_metadata(dir).map_err(|e| io("read", dir, e))?;
    match (meta.is_symlink(), meta.is_dir()) {
        (true, _) => Err(io("use", dir, "it is a symbolic link")),
        (_, false) => Err(io("use", dir, "it is no folder")),
        (_, true) => Ok(()),
    }
}

/// Opens a regular file for reading, neither following a link nor waiting for a pipe; `None` when it is not there.
pub(super) fn open(path: &Utf8Path) -> Result<Option<File>, StoreError> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        Err(_) if path.is_symlink() => return Err(io("read", path, "it is a symbolic link")),
        Err(e) => return Err(io("read", path, e)),
    };
    let meta = file.metadata().map_err(|e| io("read", path, e))?;
    if meta.is_file() { Ok(Some(file)) } else { Err(io("read", path, "it is no regular file")) }
}

/// Reads at most this much of a file; `None` when it is not there.
pub(super) fn read(path: &Utf8Path, limit: u64) -> Result<Option<Vec<u8>>, StoreError> {
    let Some(file) = open(path)? else { return Ok(None) };
    let mut data = Vec::new();
    file.take(limit).read_to_end(&mut data).map_err(|e| io("read", path, e))?;
    Ok(Some(data))
}
