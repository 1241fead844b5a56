//! A repository in memory: commits as whole trees, a worktree, a remote branch.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use camino::{Utf8Path, Utf8PathBuf};
use pushback::ports::{CommitInfo, GitError, LocalFacts, Pushed, Replayed, Worktree};
use pushback::review::diff::{FileChange, FileDiff, Hunk};
use pushback::review::ids::{RepoPath, Sha};
use pushback::review::picture::Picture;
use similar::{DiffOp, TextDiff};

use super::world::World;

pub(crate) type Files = BTreeMap<String, String>;

#[derive(Clone, Debug)]
pub(crate) struct Commit {
    pub(crate) parent: Option<Sha>,
    pub(crate) files: Files,
    pub(crate) message: String,
}

/// Local and remote side of one clone.
#[derive(Clone, Debug)]
pub(crate) struct Repo {
    pub(crate) commits: BTreeMap<Sha, Commit>,
    pub(crate) head: Sha,
    pub(crate) remote: Sha,
    pub(crate) files: Files,
    pub(crate) kept: BTreeMap<String, Sha>,
}

pub(crate) fn sha_of(parent: Option<&Sha>, files: &Files, message: &str) -> Sha {
    use sha2::{Digest, Sha256};
    let mut hash = Sha256::new();
    hash.update(parent.map_or("", Sha::as_str));
    hash.update(message);
    for (path, text) in files {
        hash.update(path);
        hash.update([0]);
        hash.update(text);
        hash.update([0]);
    }
    let hex: String = hash.finalize().iter().take(20).map(|byte| format!("{byte:02x}")).collect();
    Sha::parse(&hex).expect("a sha")
}

impl Repo {
    pub(crate) fn new(base: Files, head: Files) -> (Self, Sha) {
        let base_sha = sha_of(None, &base, "base");
        let head_sha = sha_of(Some(&base_sha), &head, "feature");
        let mut commits = BTreeMap::new();
        commits.insert(base_sha.clone(), Commit { parent: None, files: base, message: "base".into() });
        commits.insert(
            head_sha.clone(),
            Commit { parent: Some(base_sha.clone()), files: head.clone(), message: "feature".into() },
        );
        (Self { commits, head: head_sha.clone(), remote: head_sha, files: head, kept: BTreeMap::new() }, base_sha)
    }

    pub(crate) fn add(&mut self, parent: &Sha, files: Files, message: &str) -> Sha {
        let sha = sha_of(Some(parent), &files, message);
        self.commits.insert(sha.clone(), Commit { parent: Some(parent.clone()), files, message: message.to_owned() });
        sha
    }

    pub(crate) fn is_ancestor(&self, ancestor: &Sha, of: &Sha) -> bool {
        let mut at = Some(of.clone());
        while let Some(sha) = at {
            if &sha == ancestor {
                return true;
            }
            at = self.commits.get(&sha).and_then(|commit| commit.parent.clone());
        }
        false
    }

    /// Tells whether a commit after one, up to another, names a word in its message.
    pub(crate) fn says_since(&self, after: &Sha, up_to: &Sha, word: &str) -> bool {
        let mut at = Some(up_to.clone());
        while let Some(sha) = at.filter(|sha| sha != after) {
            let Some(commit) = self.commits.get(&sha) else { return false };
            if commit.message.split(|c: char| !c.is_alphanumeric()).any(|known| known == word) {
                return true;
            }
            at = commit.parent.clone();
        }
        false
    }

    pub(crate) fn at(&self, sha: &Sha) -> &Files {
        &self.commits[sha].files
    }
}

pub(crate) fn diff(old: &Files, new: &Files) -> Vec<FileDiff> {
    let mut out = Vec::new();
    let mut paths: Vec<&String> = old.keys().chain(new.keys()).collect();
    paths.sort();
    paths.dedup();
    for path in paths {
        let (before, after) = (old.get(path), new.get(path));
        if before == after {
            continue;
        }
        let change = match (before, after) {
            (None, _) => FileChange::Added,
            (_, None) => FileChange::Deleted,
            _ => FileChange::Modified,
        };
        let here = RepoPath::from_git(path.as_bytes());
        out.push(FileDiff {
            change,
            old_path: before.map(|_| here.clone()),
            new_path: after.map(|_| here.clone()),
            binary: false,
            hunks: hunks(before.map_or("", String::as_str), after.map_or("", String::as_str)),
        });
    }
    out
}

fn hunks(before: &str, after: &str) -> Vec<Hunk> {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let diff = TextDiff::from_slices(&old, &new);
    let n = |n: usize| u32::try_from(n).expect("small");
    let text = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
    diff.ops()
        .iter()
        .filter(|op| !matches!(op, DiffOp::Equal { .. }))
        .map(|op| {
            let (o, w) = (op.old_range(), op.new_range());
            let start =
                |range: &std::ops::Range<usize>| if range.is_empty() { n(range.start) } else { n(range.start + 1) };
            Hunk {
                old_start: start(&o),
                old_len: n(o.len()),
                new_start: start(&w),
                new_len: n(w.len()),
                removed: text(&old[o.clone()]),
                added: text(&new[w.clone()]),
            }
        })
        .collect()
}

/// The worktree port over the world's repository.
pub(crate) struct Tree(pub(crate) Rc<RefCell<World>>);

fn err(what: &str) -> GitError {
    GitError { what: what.to_owned(), why: "simulated".to_owned() }
}

impl Worktree for Tree {
    fn facts(&self) -> Result<LocalFacts, GitError> {
        let world = self.0.borrow();
        let head_files = world.repo.at(&world.repo.head).clone();
        let modified = diff(&head_files, &world.repo.files)
            .into_iter()
            .filter(|file| file.change != FileChange::Added)
            .filter_map(|file| file.old_path)
            .collect();
        Ok(LocalFacts {
            head: world.repo.head.clone(),
            branch: Some("feature".into()),
            staged: false,
            modified,
            operation: None,
        })
    }

    fn remote_head(&self) -> Result<Option<Sha>, GitError> {
        Ok(Some(self.0.borrow().repo.remote.clone()))
    }

    fn fetch(&self, sha: &Sha) -> Result<bool, GitError> {
        Ok(self.0.borrow().repo.commits.contains_key(sha))
    }

    fn is_ancestor(&self, ancestor: &Sha, of: &Sha) -> Result<Option<bool>, GitError> {
        let world = self.0.borrow();
        let known = world.repo.commits.contains_key(ancestor) && world.repo.commits.contains_key(of);
        Ok(known.then(|| world.repo.is_ancestor(ancestor, of)))
    }

    fn merge_base(&self, one: &Sha, other: &Sha) -> Result<Option<Sha>, GitError> {
        let world = self.0.borrow();
        let mut at = Some(one.clone());
        while let Some(sha) = at {
            if world.repo.is_ancestor(&sha, other) {
                return Ok(Some(sha));
            }
            at = world.repo.commits.get(&sha).and_then(|commit| commit.parent.clone());
        }
        Ok(None)
    }

    fn file_at(&self, sha: &Sha, path: &RepoPath) -> Result<Option<Vec<u8>>, GitError> {
        let world = self.0.borrow();
        let files = &world.repo.commits.get(sha).ok_or_else(|| err("read a file"))?.files;
        Ok(path.as_str().and_then(|path| files.get(path)).map(|text| text.clone().into_bytes()))
    }

    fn diff(&self, from: &Sha, to: &Sha) -> Result<Vec<FileDiff>, GitError> {
        let world = self.0.borrow();
        Ok(diff(world.repo.at(from), world.repo.at(to)))
    }

    fn diff_worktree(&self) -> Result<Vec<FileDiff>, GitError> {
        let world = self.0.borrow();
        Ok(diff(world.repo.at(&world.repo.head), &world.repo.files))
    }

    fn tree(&self, sha: &Sha) -> Result<String, GitError> {
        Ok(sha_of(None, self.0.borrow().repo.at(sha), "tree").to_string())
    }

    fn parent(&self, sha: &Sha) -> Result<Option<Sha>, GitError> {
        Ok(self.0.borrow().repo.commits.get(sha).and_then(|commit| commit.parent.clone()))
    }

    fn commits(&self, after: &Sha, to: &Sha) -> Result<Vec<CommitInfo>, GitError> {
        let world = self.0.borrow();
        let (mut at, mut out) = (Some(to.clone()), Vec::new());
        while let Some(sha) = at.filter(|sha| !world.repo.is_ancestor(sha, after)) {
            let commit = &world.repo.commits[&sha];
            let (parent, message) = (commit.parent.clone(), commit.message.clone());
            // Nobody asks a simulated commit for its age: ancestry decides there.
            let (author, made) = ("Ann <ann@example.invalid>".to_owned(), jiff::Timestamp::MAX);
            out.push(CommitInfo { sha: sha.clone(), parent, author, message, at: made });
            at = commit.parent.clone();
        }
        Ok(out)
    }

    fn picture(&self) -> Result<Picture, GitError> {
        let world = self.0.borrow();
        let head_files = world.repo.at(&world.repo.head);
        let mut files = BTreeMap::new();
        for change in diff(head_files, &world.repo.files) {
            let path = change.new_path.clone().or(change.old_path.clone()).expect("a path");
            let hash =
                change.new_path.as_ref().and_then(|path| path.as_str()).map(|path| world.repo.files[path].clone());
            files.insert(path, hash);
        }
        let mut refs = BTreeMap::new();
        refs.insert("refs/heads/feature".to_owned(), world.repo.head.clone());
        Ok(Picture {
            head: world.repo.head.clone(),
            branch: Some("feature".into()),
            refs,
            remotes: String::new(),
            hooks: String::new(),
            config: String::new(),
            index: String::new(),
            files,
            outside: BTreeMap::new(),
        })
    }

    fn put_back(&self, at: &Sha, paths: &[RepoPath]) -> Result<(), GitError> {
        let mut world = self.0.borrow_mut();
        let then = world.repo.at(at).clone();
        for path in paths.iter().filter_map(RepoPath::as_str) {
            match then.get(path) {
                Some(text) => world.repo.files.insert(path.to_owned(), text.clone()),
                None => world.repo.files.remove(path),
            };
        }
        Ok(())
    }

    fn put_back_refs(&self, picture: &Picture) -> Result<(), GitError> {
        self.0.borrow_mut().repo.head = picture.head.clone();
        Ok(())
    }

    fn write_new(&self, path: &RepoPath, text: &str) -> Result<bool, GitError> {
        World::tick(&self.0, "write a plan");
        let mut world = self.0.borrow_mut();
        let path = path.as_str().expect("text").to_owned();
        Ok(world.repo.files.entry(path).or_insert_with(|| text.to_owned()) == text)
    }

    fn commit(&self, paths: &[RepoPath], message: &str) -> Result<Sha, GitError> {
        World::tick(&self.0, "commit");
        let mut world = self.0.borrow_mut();
        let mut files = world.repo.at(&world.repo.head).clone();
        for path in paths.iter().filter_map(RepoPath::as_str) {
            match world.repo.files.get(path) {
                Some(text) => files.insert(path.to_owned(), text.clone()),
                None => files.remove(path),
            };
        }
        let parent = world.repo.head.clone();
        let sha = world.repo.add(&parent, files, message);
        world.repo.head = sha.clone();
        drop(world);
        World::tick(&self.0, "committed");
        Ok(sha)
    }

    fn push(&self, sha: &Sha) -> Result<Pushed, GitError> {
        World::tick(&self.0, "push");
        let forward = {
            let world = self.0.borrow();
            world.repo.is_ancestor(&world.repo.remote, sha)
        };
        if !forward {
            let remote = self.0.borrow().repo.remote.clone();
            return Ok(Pushed::Moved(Some(remote)));
        }
        let red = self.0.borrow().repo.at(sha).get("spec.txt").is_some_and(|text| text.contains("RED"));
        assert!(!red, "a red commit was pushed");
        World::pushed(&self.0, sha);
        World::tick(&self.0, "pushed");
        Ok(Pushed::Done)
    }

    fn replay(&self, from: &Sha, onto: &Sha) -> Result<Replayed, GitError> {
        let mut world = self.0.borrow_mut();
        let (old, ours, theirs) =
            (world.repo.at(from).clone(), world.repo.at(&world.repo.head).clone(), world.repo.at(onto).clone());
        let mut merged = theirs.clone();
        for file in diff(&old, &ours) {
            let path = file.new_path.or(file.old_path).expect("a path").to_string();
            if theirs.get(&path) != old.get(&path) {
                return Ok(Replayed::Conflict(path));
            }
            match ours.get(&path) {
                Some(text) => merged.insert(path, text.clone()),
                None => merged.remove(&path),
            };
        }
        let message = world.repo.commits[&world.repo.head.clone()].message.clone();
        let sha = world.repo.add(onto, merged.clone(), &message);
        world.repo.head = sha.clone();
        world.repo.files = merged;
        Ok(Replayed::Clean(sha))
    }

    fn keep(&self, name: &str, base: &Sha) -> Result<Option<Sha>, GitError> {
        let mut world = self.0.borrow_mut();
        if &world.repo.head == base && world.repo.files == *world.repo.at(base) {
            return Ok(None);
        }
        let (parent, files) = (world.repo.head.clone(), world.repo.files.clone());
        let sha = world.repo.add(&parent, files, "kept");
        world.repo.kept.insert(name.to_owned(), sha.clone());
        Ok(Some(sha))
    }

    fn rewind(&self, to: &Sha, untracked: &[RepoPath]) -> Result<(), GitError> {
        let mut world = self.0.borrow_mut();
        let before = world.repo.at(&world.repo.head.clone()).clone();
        let target = world.repo.at(to).clone();
        let mut files = world.repo.files.clone();
        files.retain(|path, _| target.contains_key(path) || !before.contains_key(path));
        for path in untracked.iter().filter_map(RepoPath::as_str) {
            files.remove(path);
        }
        files.extend(target);
        world.repo.files = files;
        world.repo.head = to.clone();
        Ok(())
    }

    fn aside(&self, sha: &Sha) -> Result<Utf8PathBuf, GitError> {
        Ok(Utf8PathBuf::from(format!("/aside/{sha}")))
    }

    fn drop_aside(&self, _dir: &Utf8Path) -> Result<(), GitError> {
        Ok(())
    }
}
