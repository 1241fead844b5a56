//! Folders for the output of runs. Decides how many are kept.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;

use camino::{Utf8Path, Utf8PathBuf};

/// Run folders that are kept beside the new one.
const KEPT: usize = 30;

/// Makes the folder of a new run, for this account only, and removes the oldest ones.
pub fn folder(runs: &Utf8Path, label: &str, run_id: &str) -> io::Result<Utf8PathBuf> {
    private(runs)?;
    forget(runs, KEPT);
    let name: String = run_id.chars().filter(char::is_ascii_alphanumeric).take(12).collect();
    let folder = runs.join(format!("{label}-{name}"));
    private(&folder)?;
    Ok(folder)
}

/// Makes a folder, and those above it, for this account only.
pub fn private(folder: &Utf8Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Removes all but the youngest run folders. What cannot be removed is no reason not to run.
fn forget(runs: &Utf8Path, kept: usize) {
    let Ok(entries) = fs::read_dir(runs) else { return };
    let mut folders: Vec<_> = entries
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    folders.sort();
    for (_, path) in folders.iter().rev().skip(kept) {
        let _ = fs::remove_dir_all(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_runs_are_forgotten_and_files_are_not() {
        let temp = tempfile::tempdir().unwrap();
        let runs = Utf8Path::from_path(temp.path()).unwrap().join("a/runs");
        let first = folder(&runs, "verify", "0-1").unwrap();
        fs::write(runs.join("note"), "").unwrap();
        assert!(first.ends_with("verify-01"));
        for n in 0..KEPT + 3 {
            let made = folder(&runs, "agent", &format!("{n:04}")).unwrap();
            fs::write(made.join("stdout.log"), "").unwrap();
        }
        assert_eq!(fs::read_dir(&runs).unwrap().count(), KEPT + 2);
        assert!(!first.exists() && runs.join("note").exists());
    }
}
