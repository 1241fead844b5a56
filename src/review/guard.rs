//! What an editor run may have done to the repository, and what follows from what it did (R28).

use super::ids::RepoPath;
use super::picture::Picture;

/// What follows from comparing the pictures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Examined {
    /// Paths in the worktree that differ between the pictures.
    pub changed: Vec<RepoPath>,
    /// True when HEAD moved; the caller proves that it moved forward.
    pub head_moved: bool,
    /// Why the round must be put aside, each reason in words.
    pub rejected: Vec<String>,
}

/// Globs of paths that are guarded, compiled once.
pub struct Guard {
    protected: globset::GlobSet,
    frozen: globset::GlobSet,
}

/// A glob that does not compile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadGlob {
    /// The pattern.
    pub pattern: String,
    /// Why.
    pub why: String,
}

fn set(patterns: &[String]) -> Result<globset::GlobSet, BadGlob> {
    let bad = |pattern: &str, error: &globset::Error| BadGlob { pattern: pattern.to_owned(), why: error.to_string() };
    let mut all = globset::GlobSetBuilder::new();
    for pattern in patterns {
        let glob = globset::GlobBuilder::new(pattern).literal_separator(true).case_insensitive(true).build();
        all.add(glob.map_err(|error| bad(pattern, &error))?);
    }
    all.build().map_err(|error| bad("all patterns together", &error))
}

impl Guard {
    /// Compiles the globs of `gate.protected` and `verify.frozen`.
    pub fn new(protected: &[String], frozen: &[String]) -> Result<Self, BadGlob> {
        Ok(Self { protected: set(protected)?, frozen: set(frozen)? })
    }

    /// Tells whether a path may never be touched by the editor.
    pub fn is_protected(&self, path: &RepoPath) -> bool {
        self.protected.is_match(path.to_string())
    }

    /// Tells whether a path is a frozen test.
    pub fn is_frozen(&self, path: &RepoPath) -> bool {
        self.frozen.is_match(path.to_string())
    }

    /// Compares the pictures before and after an editor run; `committed` are the paths of commits the editor made itself.
    pub fn examine(&self, before: &Picture, after: &Picture, committed: &[RepoPath]) -> Examined {
        let mut rejected = Vec::new();
        let mut refuse = |bad: bool, why: String| {
            if bad {
                rejected.push(why);
            }
        };
        refuse(before.branch != after.branch, branch_words(before, after));
        refuse(before.remotes != after.remotes, "the editor changed the remotes".to_owned());
        refuse(before.hooks != after.hooks, "the editor changed git hooks".to_owned());
        refuse(
            before.config != after.config && before.remotes == after.remotes,
            "the editor changed the git configuration".to_owned(),
        );
        let moved_refs = moved_refs(before, after);
        refuse(!moved_refs.is_empty(), format!("the editor moved refs: {}", moved_refs.join(", ")));
        let outside: Vec<&str> = differing(&before.outside, &after.outside);
        refuse(!outside.is_empty(), format!("the editor changed files outside the worktree: {}", outside.join(", ")));
        let mut changed: Vec<RepoPath> = differing(&before.files, &after.files).into_iter().cloned().collect();
        changed.extend(committed.iter().cloned());
        changed.sort();
        changed.dedup();
        let protected: Vec<String> = changed.iter().filter(|p| self.is_protected(p)).map(ToString::to_string).collect();
        refuse(!protected.is_empty(), format!("the editor changed protected paths: {}", protected.join(", ")));
        Examined { changed, head_moved: before.head != after.head, rejected }
    }
}

fn branch_words(before: &Picture, after: &Picture) -> String {
    let name = |branch: &Option<String>| branch.clone().unwrap_or_else(|| "a detached HEAD".to_owned());
    format!("the editor switched from {} to {} (at {})", name(&before.branch), name(&after.branch), after.head.short())
}

/// Refs other than the branch HEAD is on. What a fetch or a stash moves is nobody's work and harms nobody.
fn moved_refs(before: &Picture, after: &Picture) -> Vec<String> {
    let own = before.branch.as_ref().map(|branch| format!("refs/heads/{branch}"));
    let harmless =
        |name: &str| name == "refs/stash" || name.starts_with("refs/remotes/") || name.starts_with("refs/tags/");
    let moved = differing(&before.refs, &after.refs).into_iter();
    moved.filter(|name| Some(*name) != own.as_ref() && !harmless(name)).cloned().collect()
}

fn differing<'a, K, V, Q>(
    before: &'a std::collections::BTreeMap<K, V>,
    after: &'a std::collections::BTreeMap<K, V>,
) -> Vec<&'a Q>
where
    K: Ord + std::borrow::Borrow<Q>,
    V: PartialEq,
    Q: Ord + ?Sized,
{
    let gone_or_other =
        before.iter().filter(|(key, value)| after.get((*key).borrow()) != Some(*value)).map(|(k, _)| k.borrow());
    let new = after.keys().filter(|key| !before.contains_key((*key).borrow())).map(std::borrow::Borrow::borrow);
    let mut all: Vec<&Q> = gone_or_other.chain(new).collect();
    all.sort();
    all
}
