//! Compares trees: which files differ comes from git, renames found; the changed lines are computed from the contents,
//! so that nothing the pull request configures (attributes, text conversion) can hide them.

use std::path::Path;

use git2::{Delta, DiffFindOptions, DiffOptions, Patch, Repository};

use super::run::TRANSFER_LIMIT;
use super::{GitWorktree, SCRATCH, failed};
use crate::ports::GitError;
use crate::review::diff::{FileChange, FileDiff, Hunk};
use crate::review::ids::RepoPath;

/// Similarity from which a file counts as renamed, as git has it.
const RENAME: u16 = 50;
/// Pairs looked at when renames are searched.
const RENAME_LIMIT: usize = 1_000;
/// Mode of a submodule.
const SUBMODULE: &str = "160000";

/// One side of a changed file.
#[derive(Debug, Clone)]
struct Side {
    path: RepoPath,
    id: String,
    submodule: bool,
}

/// A changed file before its lines are known.
#[derive(Debug, Clone)]
struct Changed {
    change: FileChange,
    old: Option<Side>,
    new: Option<Side>,
}

impl GitWorktree {
    pub(super) fn diff_trees(&self, from: &str, to: &str) -> Result<Vec<FileDiff>, GitError> {
        if from == to {
            return Ok(Vec::new());
        }
        let found = match self.lib().and_then(|repo| with_library(&repo, from, to).ok()) {
            Some(found) => found,
            None => self.with_program(from, to)?,
        };
        found.into_iter().map(|changed| self.lines(changed)).collect()
    }

    pub(super) fn diff_with_worktree(&self) -> Result<Vec<FileDiff>, GitError> {
        let head = self.read_facts()?.head;
        let tree = self.worktree_tree()?;
        let scratch = |p: &Option<RepoPath>| p.as_ref().is_some_and(|p| p.as_bytes().starts_with(SCRATCH));
        let mut files = self.diff_trees(&self.tree_of(&head)?, &tree)?;
        files.retain(|f| !scratch(if f.new_path.is_some() { &f.new_path } else { &f.old_path }));
        Ok(files)
    }

    fn with_program(&self, from: &str, to: &str) -> Result<Vec<Changed>, GitError> {
        let what = "compare two commits";
        let (renames, limit) = (format!("-M{RENAME}%"), format!("-l{RENAME_LIMIT}"));
        let args = ["diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-ext-diff", &renames, &limit, from, to];
        let data = self.git.call(what).network(TRANSFER_LIMIT).args(args).ok()?;
        parse_raw(&data).ok_or_else(|| failed(what, "git's answer was not understood"))
    }

    fn lines(&self, changed: Changed) -> Result<FileDiff, GitError> {
        let Changed { change, old, new } = changed;
        let submodule = [&old, &new].into_iter().flatten().any(|s| s.submodule);
        let same = matches!((&old, &new), (Some(a), Some(b)) if a.id == b.id);
        let (binary, hunks) = if submodule {
            (true, Vec::new())
        } else if same {
            (false, Vec::new())
        } else {
            let content = |side: &Option<Side>| side.as_ref().map_or(Ok(Vec::new()), |s| self.blob(&s.id));
            hunks(&content(&old)?, &content(&new)?).map_err(|e| failed("compare two files", e.message()))?
        };
        Ok(FileDiff { change, old_path: old.map(|s| s.path), new_path: new.map(|s| s.path), binary, hunks })
    }
}

fn with_library(repo: &Repository, from: &str, to: &str) -> Result<Vec<Changed>, git2::Error> {
    let tree = |id: &str| repo.find_tree(id.parse()?);
    let mut options = DiffOptions::new();
    options.include_typechange(true).context_lines(0);
    let mut diff = repo.diff_tree_to_tree(Some(&tree(from)?), Some(&tree(to)?), Some(&mut options))?;
    let mut find = DiffFindOptions::new();
    find.renames(true).rename_threshold(RENAME).rename_limit(RENAME_LIMIT);
    diff.find_similar(Some(&mut find))?;
    Ok(diff.deltas().filter_map(|delta| changed(&delta)).collect())
}

fn changed(delta: &git2::DiffDelta<'_>) -> Option<Changed> {
    let change = match delta.status() {
        Delta::Added => FileChange::Added,
        Delta::Deleted => FileChange::Deleted,
        Delta::Renamed => FileChange::Renamed,
        Delta::Unmodified => return None,
        _ => FileChange::Modified,
    };
    let side = |file: git2::DiffFile<'_>| {
        let path = RepoPath::from_git(file.path_bytes()?);
        Some(Side { path, id: file.id().to_string(), submodule: file.mode() == git2::FileMode::Commit })
    };
    let old = if change == FileChange::Added { None } else { side(delta.old_file()) };
    let new = if change == FileChange::Deleted { None } else { side(delta.new_file()) };
    Some(Changed { change, old, new })
}

/// Reads `diff-tree -r -z --raw`.
fn parse_raw(data: &[u8]) -> Option<Vec<Changed>> {
    let mut found = Vec::new();
    let mut parts = data.split(|b| *b == 0);
    while let Some(head) = parts.next() {
        if head.is_empty() {
            continue;
        }
        let head = std::str::from_utf8(head.strip_prefix(b":")?).ok()?;
        let words: Vec<&str> = head.split(' ').collect();
        let [old_mode, new_mode, old_id, new_id, status] = words[..] else { return None };
        let path = RepoPath::from_git(parts.next()?);
        let (change, new_path) = match status.as_bytes().first()? {
            b'A' => (FileChange::Added, path.clone()),
            b'D' => (FileChange::Deleted, path.clone()),
            b'R' | b'C' => (FileChange::Renamed, RepoPath::from_git(parts.next()?)),
            _ => (FileChange::Modified, path.clone()),
        };
        let side = |path, id: &str, mode| Side { path, id: id.to_owned(), submodule: mode == SUBMODULE };
        let old = (change != FileChange::Added).then(|| side(path, old_id, old_mode));
        let new = (change != FileChange::Deleted).then(|| side(new_path, new_id, new_mode));
        found.push(Changed { change, old, new });
    }
    Some(found)
}

/// Computes the changed lines of two contents; no lines for a binary one.
pub(super) fn hunks(old: &[u8], new: &[u8]) -> Result<(bool, Vec<Hunk>), git2::Error> {
    let mut options = DiffOptions::new();
    options.context_lines(0).interhunk_lines(0);
    let name = Some(Path::new("file"));
    let patch = Patch::from_buffers(old, name, new, name, Some(&mut options))?;
    if patch.delta().flags().is_binary() {
        return Ok((true, Vec::new()));
    }
    // Only now has the library looked at the contents.
    let mut found = Vec::new();
    for index in 0..patch.num_hunks() {
        let (head, lines) = patch.hunk(index)?;
        let mut hunk = Hunk {
            old_start: head.old_start(),
            old_len: head.old_lines(),
            new_start: head.new_start(),
            new_len: head.new_lines(),
            removed: Vec::new(),
            added: Vec::new(),
        };
        for line in 0..lines {
            let line = patch.line_in_hunk(index, line)?;
            match line.origin() {
                '-' => hunk.removed.push(text(line.content())),
                '+' => hunk.added.push(text(line.content())),
                _ => {}
            }
        }
        found.push(hunk);
    }
    Ok((patch.delta().flags().is_binary(), found))
}

fn text(line: &[u8]) -> String {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(old: &str, new: &str, expected: &[(u32, u32, u32, u32)]) {
        let (binary, found) = hunks(old.as_bytes(), new.as_bytes()).expect("compares");
        let found: Vec<_> = found.iter().map(|h| (h.old_start, h.old_len, h.new_start, h.new_len)).collect();
        assert!(!binary);
        assert_eq!(found, expected, "{old:?} {new:?}");
    }

    #[test]
    fn hunks_name_exactly_the_changed_lines() {
        check("a\nb\nc\n", "a\nB\nc\n", &[(2, 1, 2, 1)]);
        check("a\nc\n", "a\nb\nc\n", &[(1, 0, 2, 1)]);
        check("a\nb\nc\n", "a\nc\n", &[(2, 1, 1, 0)]);
        check("", "a\n", &[(0, 0, 1, 1)]);
        check("a\nb\nc\nd\ne\n", "A\nb\nc\nd\nE\n", &[(1, 1, 1, 1), (5, 1, 5, 1)]);
        check("a\nb", "a\nb\n", &[(2, 1, 2, 1)]);
    }

    #[test]
    fn fc_81_line_ends_are_not_part_of_the_text() {
        check("a\r\nb\r\n", "a\r\nc\r\n", &[(2, 1, 2, 1)]);
        let (_, found) = hunks(b"a\r\nb\r\n", b"a\r\nc\r\n").expect("compares");
        assert_eq!((found[0].removed[0].as_str(), found[0].added[0].as_str()), ("b", "c"));
    }

    #[test]
    fn what_is_not_text_has_no_lines() {
        assert_eq!(hunks(b"a\0b", b"a\0c").expect("compares"), (true, Vec::new()));
        assert_eq!(hunks(b"", b"\0").expect("compares"), (true, Vec::new()));
    }

    #[test]
    fn fc_79_raw_records_hold_any_path() {
        let (a, b) = ("a".repeat(40), "b".repeat(40));
        let mut data = format!(":100644 100644 {a} {b} M\0foo b/bar.md\0").into_bytes();
        data.extend(format!(":100644 100644 {a} {b} R080\0x b/y\0z\nq\0").as_bytes());
        let found = parse_raw(&data).expect("parses");
        assert_eq!(found[0].new.as_ref().map(|s| s.path.to_string()).as_deref(), Some("foo b/bar.md"));
        assert_eq!(found[1].new.as_ref().map(|s| s.path.to_string()).as_deref(), Some("z\nq"));
        assert!(parse_raw(b"nonsense\0").is_none());
    }

    /// Applies hunks to lines.
    fn apply(old: &[String], hunks: &[Hunk]) -> Vec<String> {
        let (mut new, mut at) = (Vec::new(), 0_usize);
        for hunk in hunks {
            let start = hunk.old_start as usize - usize::from(hunk.old_len > 0);
            new.extend_from_slice(&old[at..start]);
            assert_eq!(hunk.removed, old[start..start + hunk.old_len as usize]);
            assert_eq!(new.len() + 1, hunk.new_start as usize + usize::from(hunk.new_len == 0));
            assert_eq!(hunk.added.len(), hunk.new_len as usize);
            new.extend_from_slice(&hunk.added);
            at = start + hunk.old_len as usize;
        }
        new.extend_from_slice(&old[at..]);
        new
    }

    proptest::proptest! {
        #[test]
        fn applying_the_hunks_gives_the_new_text(
            old in proptest::collection::vec("[abc]{0,2}", 0..12),
            new in proptest::collection::vec("[abc]{0,2}", 0..12),
        ) {
            let joined = |lines: &[String]| lines.iter().map(|l| format!("{l}\n")).collect::<String>();
            let (_, found) = hunks(joined(&old).as_bytes(), joined(&new).as_bytes()).expect("compares");
            proptest::prop_assert_eq!(apply(&old, &found), new);
        }
    }
}
