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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::review::ids::Sha;
    use std::collections::BTreeMap;

    fn path(text: &str) -> RepoPath {
        RepoPath::from_git(text.as_bytes())
    }

    fn sha(digit: char) -> Sha {
        Sha::parse(&digit.to_string().repeat(40)).expect("a sha")
    }

    fn picture() -> Picture {
        Picture {
            head: sha('a'),
            branch: Some("feature".into()),
            refs: BTreeMap::from([
                ("refs/heads/feature".to_owned(), sha('a')),
                ("refs/heads/main".to_owned(), sha('b')),
            ]),
            remotes: "origin".into(),
            hooks: "none".into(),
            config: "c".into(),
            index: String::new(),
            files: BTreeMap::from([(path("notes.txt"), Some("1".to_owned()))]),
            outside: BTreeMap::from([("/home/dev/.gitconfig".to_owned(), "1".to_owned())]),
        }
    }

    fn guard() -> Guard {
        let protected = [".github/**", ".pushback.toml"].map(str::to_owned);
        Guard::new(&protected, &["spec/**".to_owned()]).expect("globs")
    }

    /// Checks the first words of the rejection; `None` when the round stands.
    fn check(change: impl FnOnce(&mut Picture), committed: &[&str], expected: Option<&str>) {
        let (before, mut after) = (picture(), picture());
        change(&mut after);
        let committed: Vec<RepoPath> = committed.iter().map(|text| path(text)).collect();
        let examined = guard().examine(&before, &after, &committed);
        match expected {
            None => assert_eq!(examined.rejected, Vec::<String>::new()),
            Some(words) => {
                let [why] = examined.rejected.as_slice() else { panic!("{:?}", examined.rejected) };
                assert!(why.starts_with(words), "{why}");
            }
        }
    }

    fn write(text: &str) -> impl FnOnce(&mut Picture) + use<'_> {
        move |after: &mut Picture| {
            after.files.insert(path(text), Some("2".to_owned()));
        }
    }

    #[test]
    fn r28_what_an_editor_may_not_touch_rejects_the_round() {
        check(|after| after.branch = Some("other".into()), &[], Some("the editor switched from feature to other"));
        check(|after| after.branch = None, &[], Some("the editor switched from feature to a detached HEAD"));
        check(|after| after.remotes = "evil".into(), &[], Some("the editor changed the remotes"));
        check(|after| after.hooks = "pre-push".into(), &[], Some("the editor changed git hooks"));
        check(|after| after.config = "d".into(), &[], Some("the editor changed the git configuration"));
        let main = |after: &mut Picture| drop(after.refs.insert("refs/heads/main".into(), sha('c')));
        check(main, &[], Some("the editor moved refs: refs/heads/main"));
        check(|after| drop(after.refs.remove("refs/heads/main")), &[], Some("the editor moved refs"));
        let home = |after: &mut Picture| drop(after.outside.insert("/home/dev/.gitconfig".into(), "2".into()));
        check(home, &[], Some("the editor changed files outside the worktree: /home/dev/.gitconfig"));
        check(write(".github/workflows/ci.yml"), &[], Some("the editor changed protected paths"));
        check(write(".GitHub/workflows/ci.yml"), &[], Some("the editor changed protected paths"));
        check(|_| {}, &[".pushback.toml"], Some("the editor changed protected paths: .pushback.toml"));
    }

    #[test]
    fn r28_ordinary_work_stands() {
        check(|_| {}, &[], None);
        check(write("src/a.rs"), &["src/b.rs"], None);
        check(|after| after.head = sha('c'), &["src/a.rs"], None);
        check(|after| drop(after.refs.insert("refs/heads/feature".into(), sha('c'))), &[], None);
        check(|after| drop(after.refs.insert("refs/stash".into(), sha('c'))), &[], None);
        check(|after| drop(after.refs.insert("refs/remotes/origin/main".into(), sha('c'))), &[], None);
        check(write("src/.github.rs"), &[], None);
    }

    #[test]
    fn r30_only_what_differs_between_the_pictures_is_changed() {
        let (before, mut after) = (picture(), picture());
        write("src/a.rs")(&mut after);
        after.files.remove(&path("notes.txt"));
        let examined = guard().examine(&before, &after, &[path("src/b.rs"), path("src/a.rs")]);
        assert_eq!(examined.changed, [path("notes.txt"), path("src/a.rs"), path("src/b.rs")]);
        assert!(!examined.head_moved);
    }

    #[test]
    fn frozen_and_protected_paths_are_told_by_their_globs() {
        let guard = guard();
        assert!(guard.is_frozen(&path("spec/a/b.sh")) && !guard.is_frozen(&path("src/spec.rs")));
        assert!(guard.is_protected(&path(".pushback.toml")) && !guard.is_protected(&path("a/.pushback.toml")));
        assert!(Guard::new(&["[".to_owned()], &[]).is_err_and(|bad| bad.pattern == "["));
    }
}
