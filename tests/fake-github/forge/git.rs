//! Reads real commits: heads, files, diffs, and where a line of one commit stands in another. Writes only scripted commits.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};

use git2::{Delta, DiffOptions, Oid, Patch, Repository};

/// A failed read in words.
pub type Fail = String;

fn say(error: git2::Error) -> Fail {
    error.message().to_owned()
}

/// Repositories that stay open between requests: opening one reads a dozen files, and refs are read anew in any case.
#[derive(Default)]
pub struct Opened(HashMap<PathBuf, Repository>);

impl fmt::Debug for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl Opened {
    /// Takes a repository out; `None` where it cannot be opened.
    pub fn take(&mut self, path: &Path) -> Option<Repository> {
        self.0.remove(path).or_else(|| Repository::open(path).ok())
    }

    /// Puts it back.
    pub fn put(&mut self, path: PathBuf, repo: Repository) {
        self.0.insert(path, repo);
    }
}

/// Opens a repository; objects of the others are readable too.
pub fn open(path: &Path, others: &[PathBuf]) -> Result<Repository, Fail> {
    let repo = Repository::open(path).map_err(say)?;
    for other in others {
        let objects = Repository::open(other).map_err(say)?.path().join("objects");
        repo.odb().and_then(|odb| odb.add_disk_alternate(&objects.to_string_lossy())).map_err(say)?;
    }
    Ok(repo)
}

/// Returns the commit of a branch.
pub fn branch(repo: &Repository, name: &str) -> Option<String> {
    repo.refname_to_id(&format!("refs/heads/{name}")).ok().map(|id| id.to_string())
}

/// Resolves a branch, tag or (short) sha to a commit.
pub fn resolve(repo: &Repository, name: &str) -> Option<String> {
    if let Some(sha) = branch(repo, name) {
        return Some(sha);
    }
    let object = repo.revparse_single(name).ok()?;
    object.peel_to_commit().ok().map(|c| c.id().to_string())
}

/// Returns the bytes of a file at a commit.
pub fn file(repo: &Repository, sha: &str, path: &str) -> Option<Vec<u8>> {
    let tree = repo.find_commit(Oid::from_str(sha).ok()?).ok()?.tree().ok()?;
    let entry = tree.get_path(Path::new(path)).ok()?;
    let object = entry.to_object(repo).ok()?;
    object.as_blob().map(|b| b.content().to_vec())
}

/// Returns the number (from 1) of the first line that holds `text`.
pub fn find_line(repo: &Repository, sha: &str, path: &str, text: &str) -> Option<u64> {
    let bytes = file(repo, sha, path)?;
    let all = String::from_utf8_lossy(&bytes);
    all.lines().position(|l| l.contains(text)).map(|n| n as u64 + 1)
}

/// Returns the merge base of two commits.
pub fn merge_base(repo: &Repository, a: &str, b: &str) -> Option<String> {
    repo.merge_base(Oid::from_str(a).ok()?, Oid::from_str(b).ok()?).ok().map(|id| id.to_string())
}

/// Returns whether merging would not conflict; unknown counts as fine.
pub fn merges(repo: &Repository, base: &str, head: &str) -> bool {
    let commit = |sha: &str| repo.find_commit(Oid::from_str(sha).ok()?).ok();
    let (Some(base), Some(head)) = (commit(base), commit(head)) else { return true };
    repo.merge_commits(&base, &head, None).map(|index| !index.has_conflicts()).unwrap_or(true)
}

/// One hunk of a file's diff.
#[derive(Debug, Clone)]
pub struct Hunk {
    pub old_start: u64,
    pub old_lines: u64,
    pub new_start: u64,
    pub new_lines: u64,
    pub header: String,
    /// Sign and text of each line.
    pub lines: Vec<(char, Option<u64>, Option<u64>, String)>,
}

/// One changed file.
#[derive(Debug, Clone)]
pub struct Changed {
    pub path: String,
    pub previous: Option<String>,
    pub status: &'static str,
    pub blob: String,
    pub additions: u64,
    pub deletions: u64,
    pub hunks: Vec<Hunk>,
    pub binary: bool,
}

impl Changed {
    /// Returns the diff text as in the `patch` field.
    pub fn patch(&self) -> Option<String> {
        if self.hunks.is_empty() {
            return None;
        }
        let mut out = Vec::new();
        for hunk in &self.hunks {
            out.push(hunk.header.trim_end().to_owned());
            out.extend(hunk.lines.iter().map(|(sign, _, _, text)| format!("{sign}{}", text.trim_end_matches('\n'))));
        }
        Some(out.join("\n"))
    }

    /// Finds the hunk of a line, its position in the diff and the hunk text down to it.
    pub fn place(&self, side: &str, line: u64) -> Option<(usize, u64, String)> {
        let mut position = 0;
        for (index, hunk) in self.hunks.iter().enumerate() {
            if index > 0 {
                position += 1;
            }
            let mut text = vec![hunk.header.trim_end().to_owned()];
            for (sign, old, new, words) in &hunk.lines {
                position += 1;
                text.push(format!("{sign}{}", words.trim_end_matches('\n')));
                let hit = if side == "LEFT" { *old == Some(line) } else { *new == Some(line) };
                if hit {
                    return Some((index, position, text.join("\n")));
                }
            }
        }
        None
    }
}

/// Returns the changed files between two commits.
pub fn diff(repo: &Repository, from: &str, to: &str, only: Option<&str>, context: u32) -> Result<Vec<Changed>, Fail> {
    let tree = |sha: &str| Oid::from_str(sha).and_then(|o| repo.find_commit(o)).and_then(|c| c.tree()).map_err(say);
    let (old, new) = (tree(from)?, tree(to)?);
    let mut options = DiffOptions::new();
    options.context_lines(context).interhunk_lines(0);
    if let Some(path) = only {
        options.pathspec(path).disable_pathspec_match(true);
    }
    let mut found = repo.diff_tree_to_tree(Some(&old), Some(&new), Some(&mut options)).map_err(say)?;
    if only.is_none() {
        found.find_similar(None).map_err(say)?;
    }
    let mut out = Vec::new();
    for index in 0..found.deltas().len() {
        out.push(changed(&found, index)?);
    }
    Ok(out)
}

fn changed(diff: &git2::Diff<'_>, index: usize) -> Result<Changed, Fail> {
    let delta = diff.get_delta(index).ok_or("no delta")?;
    let name =
        |f: git2::DiffFile<'_>| f.path_bytes().map(|b| String::from_utf8_lossy(b).into_owned()).unwrap_or_default();
    let status = match delta.status() {
        Delta::Added => "added",
        Delta::Deleted => "removed",
        Delta::Renamed => "renamed",
        _ => "modified",
    };
    let path = if status == "removed" { name(delta.old_file()) } else { name(delta.new_file()) };
    let previous = (status == "renamed").then(|| name(delta.old_file()));
    let mut hunks = Vec::new();
    let (mut additions, mut deletions) = (0, 0);
    let patch = Patch::from_diff(diff, index).map_err(say)?;
    if let Some(patch) = &patch {
        let (_, add, del) = patch.line_stats().map_err(say)?;
        (additions, deletions) = (add as u64, del as u64);
        for h in 0..patch.num_hunks() {
            hunks.push(hunk(patch, h)?);
        }
    }
    let blob = if status == "removed" { delta.old_file().id() } else { delta.new_file().id() };
    let binary = patch.is_none() || delta.flags().is_binary();
    Ok(Changed { path, previous, status, blob: blob.to_string(), additions, deletions, hunks, binary })
}

fn hunk(patch: &Patch<'_>, index: usize) -> Result<Hunk, Fail> {
    let (head, count) = patch.hunk(index).map_err(say)?;
    let mut lines = Vec::new();
    for n in 0..count {
        let line = patch.line_in_hunk(index, n).map_err(say)?;
        let sign = line.origin();
        if matches!(sign, '=' | '<' | '>') {
            lines.push(('\\', None, None, " No newline at end of file".to_owned()));
        }
        if matches!(sign, '+' | '-' | ' ') {
            let text = String::from_utf8_lossy(line.content()).into_owned();
            lines.push((sign, line.old_lineno().map(u64::from), line.new_lineno().map(u64::from), text));
        }
    }
    Ok(Hunk {
        old_start: head.old_start().into(),
        old_lines: head.old_lines().into(),
        new_start: head.new_start().into(),
        new_lines: head.new_lines().into(),
        header: String::from_utf8_lossy(head.header()).into_owned(),
        lines,
    })
}

/// Returns where an old line stands in the new file, `None` when it was changed or removed. `files` has no context lines.
pub fn map_line(files: &[Changed], path: &str, line: u64) -> Option<u64> {
    let Some(file) = files.iter().find(|f| f.path == path) else { return Some(line) };
    if file.status == "removed" || file.binary {
        return None;
    }
    let mut shift = 0i64;
    for hunk in &file.hunks {
        // A pure insertion names the line before it.
        let first = if hunk.old_lines == 0 { hunk.old_start + 1 } else { hunk.old_start };
        if line < first {
            break;
        }
        if line < first + hunk.old_lines {
            return None;
        }
        shift += hunk.new_lines as i64 - hunk.old_lines as i64;
    }
    u64::try_from(line as i64 + shift).ok()
}

/// One commit for the lists.
#[derive(Debug, Clone)]
pub struct CommitInfo {
    pub sha: String,
    pub tree: String,
    pub parents: Vec<String>,
    pub message: String,
    pub author: String,
    pub email: String,
    pub time: i64,
}

/// Reads one commit.
pub fn commit(repo: &Repository, sha: &str) -> Option<CommitInfo> {
    let found = repo.find_commit(Oid::from_str(sha).ok()?).ok()?;
    let author = found.author();
    Some(CommitInfo {
        sha: found.id().to_string(),
        tree: found.tree_id().to_string(),
        parents: found.parent_ids().map(|p| p.to_string()).collect(),
        message: String::from_utf8_lossy(found.message_bytes()).into_owned(),
        author: String::from_utf8_lossy(author.name_bytes()).into_owned(),
        email: String::from_utf8_lossy(author.email_bytes()).into_owned(),
        time: author.when().seconds(),
    })
}

/// Returns the commits reachable from `head` and not from `base`, oldest first.
pub fn between(repo: &Repository, base: &str, head: &str) -> Result<Vec<CommitInfo>, Fail> {
    let mut walk = repo.revwalk().map_err(say)?;
    let id = |sha: &str| Oid::from_str(sha).map_err(say);
    walk.set_sorting(git2::Sort::TOPOLOGICAL | git2::Sort::REVERSE).map_err(say)?;
    walk.push(id(head)?).map_err(say)?;
    walk.hide(id(base)?).map_err(say)?;
    Ok(walk.flatten().filter_map(|oid| commit(repo, &oid.to_string())).collect())
}

/// What a scripted commit changes; `None` removes the file.
pub struct NewCommit<'a> {
    pub branch: &'a str,
    pub files: Vec<(String, Option<Vec<u8>>)>,
    pub message: &'a str,
    pub author: &'a str,
    pub seconds: i64,
    /// Build on the parent of the branch tip, as after an amend and a forced push.
    pub amend: bool,
}

/// Makes a commit on a branch of a bare repository and returns its sha.
pub fn make_commit(repo: &Repository, new: &NewCommit<'_>) -> Result<String, Fail> {
    let tip = branch(repo, new.branch).ok_or_else(|| format!("no branch {}", new.branch))?;
    let tip = repo.find_commit(Oid::from_str(&tip).map_err(say)?).map_err(say)?;
    let parents: Vec<_> = if new.amend { tip.parents().collect() } else { vec![tip.clone()] };
    let mut update = git2::build::TreeUpdateBuilder::new();
    for (path, content) in &new.files {
        match content {
            Some(bytes) => {
                let blob = repo.blob(bytes).map_err(say)?;
                update.upsert(path.as_str(), blob, git2::FileMode::Blob);
            }
            None => {
                update.remove(path.as_str());
            }
        }
    }
    let tree = update.create_updated(repo, &tip.tree().map_err(say)?).map_err(say)?;
    let tree = repo.find_tree(tree).map_err(say)?;
    let time = git2::Time::new(new.seconds, 0);
    let who = git2::Signature::new(new.author, &format!("{}@example.invalid", new.author), &time).map_err(say)?;
    let parents: Vec<_> = parents.iter().collect();
    let id = repo.commit(None, &who, &who, new.message, &tree, &parents).map_err(say)?;
    repo.reference(&format!("refs/heads/{}", new.branch), id, true, "scene").map_err(say)?;
    Ok(id.to_string())
}
