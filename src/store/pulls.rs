//! What is remembered to save round trips: which pull request a branch had, where local branches were pushed to whose
//! branch has another name or another address there, what the last reading showed. Hints, never proofs.

use std::collections::BTreeMap;

use camino::{Utf8Path, Utf8PathBuf};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::atomic::{Durable, private_dir, read, replace};
use super::{FileStore, make_dirs, repo_dir, root_dir};
use crate::ports::StoreError;
use crate::review::ids::{PrNumber, RepoSlug, Sha};
use crate::review::next::{GLANCE_VERSION, Glance};

/// Branches remembered.
const KEPT: usize = 200;
/// Largest record read.
const LIMIT: u64 = 1024 * 1024;

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Pulls(BTreeMap<String, (RepoSlug, PrNumber)>);

fn path(common_dir: &Utf8Path, host: &str) -> Utf8PathBuf {
    root_dir(common_dir).join(format!("pulls-{}.json", host.replace([':', '/'], "_")))
}

fn load(common_dir: &Utf8Path, host: &str) -> Pulls {
    let data = read(&path(common_dir, host), LIMIT).ok().flatten().unwrap_or_default();
    serde_json::from_slice(&data).unwrap_or_default()
}

/// Returns the pull request that a remote branch had.
pub fn recall_pull(common_dir: &Utf8Path, host: &str, branch: &str) -> Option<(RepoSlug, PrNumber)> {
    load(common_dir, host).0.get(branch).cloned()
}

/// Remembers the pull request of a remote branch; failing to is no failure.
pub fn remember_pull(common_dir: &Utf8Path, host: &str, branch: &str, slug: &RepoSlug, number: PrNumber) {
    let mut pulls = load(common_dir, host);
    if pulls.0.get(branch).is_some_and(|known| known == &(slug.clone(), number)) {
        return;
    }
    if pulls.0.len() >= KEPT {
        pulls.0.clear();
    }
    pulls.0.insert(branch.to_owned(), (slug.clone(), number));
    let Ok(text) = serde_json::to_vec(&pulls) else { return };
    let path = path(common_dir, host);
    let _ = make_dirs(common_dir, path.parent().unwrap_or(&path), Durable::No)
        .and_then(|()| replace(&path, &text, Durable::No));
}

/// A push that was seen to succeed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenPush {
    /// Local branch, where it is known.
    pub local: Option<String>,
    /// Remote, or an address without credentials.
    pub remote: String,
    /// Host.
    pub host: String,
    /// Repository.
    pub slug: RepoSlug,
    /// Branch there.
    pub branch: String,
    /// Commit.
    pub sha: Sha,
    /// When.
    pub at: Timestamp,
}

impl SeenPush {
    fn same_way(&self, other: &Self) -> bool {
        self.local == other.local && self.remote == other.remote && self.branch == other.branch
    }
}

fn pushes_path(common_dir: &Utf8Path) -> Utf8PathBuf {
    root_dir(common_dir).join("pushes.json")
}

/// Returns the pushes that were seen, newest first, one for each way a local branch went.
pub fn recall_pushes(common_dir: &Utf8Path) -> Vec<SeenPush> {
    let data = read(&pushes_path(common_dir), LIMIT).ok().flatten().unwrap_or_default();
    serde_json::from_slice(&data).unwrap_or_default()
}

/// Remembers a push; failing to is no failure.
pub fn remember_push(common_dir: &Utf8Path, push: SeenPush) {
    let mut pushes = recall_pushes(common_dir);
    pushes.retain(|known| !known.same_way(&push));
    pushes.insert(0, push);
    pushes.truncate(KEPT);
    let Ok(text) = serde_json::to_vec(&pushes) else { return };
    let path = pushes_path(common_dir);
    let _ = make_dirs(common_dir, path.parent().unwrap_or(&path), Durable::No)
        .and_then(|()| replace(&path, &text, Durable::No));
}

/// Counts the remembered pushes that nothing needs any more, and those that the state of a pull request stands on.
pub fn pushes_to_forget(common_dir: &Utf8Path) -> (usize, usize) {
    let (kept, gone) = sorted(common_dir);
    (gone.len(), kept.len())
}

/// Forgets pushes, but for those by which a branch with state is found again; returns what `pushes_to_forget` does.
pub fn forget_pushes(common_dir: &Utf8Path) -> (usize, usize) {
    let (kept, gone) = sorted(common_dir);
    let path = pushes_path(common_dir);
    if kept.is_empty() {
        // A hint that stays does no harm.
        let _ = std::fs::remove_file(&path);
    } else if let Ok(text) = serde_json::to_vec(&kept) {
        let _ = replace(&path, &text, Durable::No);
    }
    (gone.len(), kept.len())
}

fn sorted(common_dir: &Utf8Path) -> (Vec<SeenPush>, Vec<SeenPush>) {
    recall_pushes(common_dir).into_iter().partition(|push| {
        recall_pull(common_dir, &push.host, &push.branch).is_some_and(|(slug, number)| {
            let dir = repo_dir(common_dir, &push.host, &slug);
            dir.is_ok_and(|dir| dir.join(number.to_string()).join("summary.json").exists())
        })
    })
}

/// Removes the folder of all state where nothing is in it any more.
pub fn drop_if_empty(common_dir: &Utf8Path) {
    let _ = std::fs::remove_dir(root_dir(common_dir));
}

/// Returns the folder of the answers kept for a repository, made where it is missing.
pub fn repo_cache(common_dir: &Utf8Path, host: &str, slug: &RepoSlug) -> Result<Utf8PathBuf, StoreError> {
    let dir = repo_dir(common_dir, host, slug)?;
    make_dirs(common_dir, &dir, Durable::No)?;
    let cache = dir.join("cache");
    private_dir(&cache)?;
    Ok(cache)
}

/// Largest glance read.
const GLANCE_LIMIT: u64 = 16 * 1024 * 1024;

impl FileStore {
    fn glance_path(&self) -> Utf8PathBuf {
        self.dir.join("glance.json")
    }

    /// Keeps what a reading showed; failing to is no failure.
    pub fn keep_glance(&self, glance: &Glance) {
        let Ok(text) = serde_json::to_vec(glance) else { return };
        let _ = make_dirs(&self.common_dir, &self.dir, Durable::No)
            .and_then(|()| replace(&self.glance_path(), &text, Durable::No));
    }

    /// Returns what the last reading showed, where that was kept and can be read.
    pub fn glance(&self) -> Option<Glance> {
        let data = read(&self.glance_path(), GLANCE_LIMIT).ok().flatten()?;
        let glance: Glance = serde_json::from_slice(&data).ok()?;
        (glance.schema_version == GLANCE_VERSION).then_some(glance)
    }
}
