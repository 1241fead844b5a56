//! Commits exactly the given paths, replays commits on a moved branch, keeps work on a ref of ours.

use std::collections::BTreeSet;

use camino::Utf8Path;

use super::picture::nul_separated;
use super::run::Call;
use super::{GitWorktree, OUR_REFS, SCRATCH, failed};
use crate::ports::{GitError, Replayed};
use crate::review::ids::{RepoPath, Sha};

impl GitWorktree {
    pub(super) fn commit_paths(&self, paths: &[RepoPath], message: &str) -> Result<Sha, GitError> {
        let what = "commit the changes";
        if let Some(path) = paths.iter().find(|p| p.as_bytes().starts_with(SCRATCH)) {
            return Err(failed(what, format!("{path} belongs to the scratchpad")));
        }
        if let Some(path) = paths.iter().find(|p| p.as_bytes().ends_with(b"/")) {
            return Err(failed(what, format!("{path} is a repository of its own")));
        }
        let before = self.read_facts()?.head;
        self.unstage()?;
        let made = self.stage(&before, paths).and_then(|()| self.run_commit(message));
        if made.is_err() {
            // The worktree keeps the changes; only the index goes back to what it was.
            self.unstage()?;
        }
        made?;
        let after = self.read_facts()?.head;
        if self.first_parent(&after)?.as_ref() != Some(&before) {
            return Err(failed(what, format!("HEAD is {} and not a child of {}", after.short(), before.short())));
        }
        self.refuse_scratch(&before, &after)?;
        Ok(after)
    }

    fn unstage(&self) -> Result<(), GitError> {
        self.git.call("clear the index").args(["reset", "--quiet", "--mixed"]).ok().map(drop)
    }

    fn stage(&self, head: &Sha, paths: &[RepoPath]) -> Result<(), GitError> {
        let what = "stage the changes";
        let (mut there, mut gone) = (Vec::new(), Vec::new());
        for path in paths {
            if self.in_worktree(path).is_some() {
                there.push(path.clone());
            } else if self.entry_at(head, path)?.is_some() {
                gone.push(path.clone());
            }
        }
        let from_file = ["--pathspec-from-file=-", "--pathspec-file-nul"];
        if !gone.is_empty() {
            let call = self.git.call(what).args(["--literal-pathspecs", "rm", "-r", "--cached", "--quiet"]);
            call.args(["--ignore-unmatch"]).args(from_file).stdin(nul_separated(&gone)).ok()?;
        }
        if !there.is_empty() {
            let call = self.git.call(what).args(["--literal-pathspecs", "add", "-A"]).args(from_file);
            call.stdin(nul_separated(&there)).ok()?;
        }
        self.check_staged(paths)
    }

    /// Proves that nothing but the given paths is staged.
    fn check_staged(&self, paths: &[RepoPath]) -> Result<(), GitError> {
        let what = "stage the changes";
        let args = ["diff-index", "--cached", "--name-only", "--no-renames", "-z", "HEAD", "--"];
        let data = self.git.call(what).args(args).ok()?;
        let wanted: BTreeSet<&[u8]> = paths.iter().map(RepoPath::as_bytes).collect();
        let staged: Vec<&[u8]> = data.split(|b| *b == 0).filter(|p| !p.is_empty()).collect();
        if staged.is_empty() {
            return Err(failed(what, "none of them differs from HEAD"));
        }
        match staged.iter().find(|p| !wanted.contains(**p)) {
            None => Ok(()),
            Some(path) => Err(failed(what, format!("{} would get in as well", String::from_utf8_lossy(path)))),
        }
    }

    fn run_commit(&self, message: &str) -> Result<(), GitError> {
        let call = self.git.call("commit the changes").args(["commit", "--quiet", "--cleanup=whitespace", "-F", "-"]);
        self.identified(call)?.stdin(message).ok().map(drop)
    }

    /// A hook of the user's may add files; the scratchpad may not be among them.
    fn refuse_scratch(&self, before: &Sha, after: &Sha) -> Result<(), GitError> {
        let args = ["diff-tree", "-r", "--name-only", "--no-renames", "-z", before.as_str(), after.as_str()];
        let data = self.git.call("read the commit").args(args).ok()?;
        let Some(path) = data.split(|b| *b == 0).find(|p| p.starts_with(SCRATCH)) else { return Ok(()) };
        self.git.call("undo the commit").args(["reset", "--quiet", "--mixed", before.as_str()]).ok()?;
        Err(failed("commit the changes", format!("a hook added {}", String::from_utf8_lossy(path))))
    }

    /// Gives a command an identity where the user has none.
    fn identified<'g>(&'g self, mut call: Call<'g>) -> Result<Call<'g>, GitError> {
        let data = self.git.call("read the identity").args(["config", "--list", "--name-only", "-z"]).ok()?;
        let configured = |key: &str| data.split(|b| *b == 0).any(|name| name == key.as_bytes());
        let set = |name: &str| std::env::var_os(name).is_some_and(|v| !v.is_empty());
        for who in ["author", "committer"] {
            for (part, value) in [("name", &self.identity.0), ("email", &self.identity.1)] {
                let variable = format!("GIT_{}_{}", who.to_ascii_uppercase(), part.to_ascii_uppercase());
                let known = configured(&format!("user.{part}")) || configured(&format!("{who}.{part}"));
                let known = known || set(&variable) || (part == "email" && set("EMAIL"));
                if !known {
                    call = call.env(variable, value);
                }
            }
        }
        Ok(call)
    }

    pub(super) fn replay_commits(&self, from: &Sha, onto: &Sha) -> Result<Replayed, GitError> {
        let head = self.read_facts()?.head;
        let dir = self.add_aside(onto)?;
        let picked = self.pick(&dir, from, &head);
        self.remove_aside(&dir)?;
        let new = match picked? {
            Ok(new) => new,
            Err(words) => return Ok(Replayed::Conflict(words)),
        };
        let what = format!("move the branch to {}", new.short());
        self.git.call(what).args(["reset", "--keep", "--quiet", new.as_str()]).ok()?;
        Ok(Replayed::Clean(new))
    }

    /// Picks the commits in another folder; the inner `Err` is a conflict.
    fn pick(&self, dir: &Utf8Path, from: &Sha, to: &Sha) -> Result<Result<Sha, String>, GitError> {
        let range = format!("{from}..{to}");
        let what = format!("replay {}..{}", from.short(), to.short());
        let count = self.git.call(&what).args(["rev-list", "--count", &range]).line()?;
        if count != "0" {
            let args = ["cherry-pick", "--allow-empty", "--keep-redundant-commits", &range];
            let output = self.identified(self.git.call(&what))?.dir(dir).args(args).run()?;
            if !output.success() {
                let unmerged =
                    self.git.call(&what).dir(dir).args(["diff", "--name-only", "--diff-filter=U", "-z"]).ok()?;
                let files: Vec<_> = unmerged.split(|b| *b == 0).filter(|p| !p.is_empty()).collect();
                let files: Vec<_> = files.iter().map(|p| String::from_utf8_lossy(p)).collect();
                let words = if files.is_empty() { output.words() } else { files.join(", ") };
                return Ok(Err(words));
            }
        }
        let head = self.git.call(&what).dir(dir).args(["rev-parse", "HEAD"]).line()?;
        Ok(Ok(Sha::parse(&head).map_err(|e| failed(what, e.to_string()))?))
    }

    /// Writes everything in the worktree as a tree, through an index of its own.
    pub(super) fn worktree_tree(&self) -> Result<String, GitError> {
        Ok(self.trees()?.1)
    }

    /// Returns the tree of the index (where it has no conflicts) and that of the worktree.
    fn trees(&self) -> Result<(Option<String>, String), GitError> {
        let what = "read the worktree";
        let oops = |e: std::io::Error| failed(what, e.to_string());
        // Beside the real one: a split index is found by its folder.
        let temp = tempfile::Builder::new().prefix("pushback-index-").tempdir_in(&self.git_dir).map_err(oops)?;
        let index = temp.path().join("index");
        let real = self.git_dir.join("index");
        if real.exists() {
            let time = std::fs::metadata(&real).and_then(|m| m.modified()).map_err(oops)?;
            std::fs::copy(&real, &index).map_err(oops)?;
            // git looks into files changed in the same moment as the index by the index's own time: a younger copy
            // would make it take them as unchanged.
            std::fs::File::options().write(true).open(&index).and_then(|f| f.set_modified(time)).map_err(oops)?;
        }
        let git = || self.git.call(what).env("GIT_INDEX_FILE", index.as_os_str());
        let staged = git().args(["write-tree"]).run()?;
        let staged = staged.success().then(|| String::from_utf8_lossy(&staged.stdout).trim().to_owned());
        // git refuses a pathspec that names something ignored, even to leave it out.
        let ignored =
            self.git.call(what).args(["check-ignore", "-q", "--no-index", "--", ".pushback/x"]).run()?.success();
        let spec: &[&str] = if ignored { &[":/"] } else { &[":/", ":(top,exclude).pushback"] };
        git().config("advice.addEmbeddedRepo=false").args(["add", "-A", "--"]).args(spec).ok()?;
        Ok((staged, git().args(["write-tree"]).line()?))
    }

    pub(super) fn keep_work(&self, name: &str, base: &Sha) -> Result<Option<Sha>, GitError> {
        let full = format!("{OUR_REFS}{name}");
        let what = format!("keep the work on {full}");
        self.git.call(&what).args(["check-ref-format", &full]).ok().map_err(|_| failed(&what, "no name for a ref"))?;
        let head = self.read_facts()?.head;
        let (staged, tree) = self.trees()?;
        let head_tree = self.tree_of(&head)?;
        let staged = staged.filter(|s| *s != head_tree && *s != tree);
        if tree == head_tree && staged.is_none() {
            if self.ancestry(&head, base)? == Some(true) {
                return Ok(None);
            }
            return self.place(&full, &head).map(Some);
        }
        if let Some(kept) = self.kept_before(&full, &tree, &head)? {
            return Ok(Some(kept));
        }
        let mut parents = vec![head];
        if let Some(staged) = staged {
            parents.push(self.commit_tree(&staged, &parents, "pushback: what was staged")?);
        }
        let commit = self.commit_tree(&tree, &parents, "pushback: work that was cut off or put aside")?;
        self.place(&full, &commit).map(Some)
    }

    /// Finds work that an earlier, killed attempt kept already.
    fn kept_before(&self, full: &str, tree: &str, head: &Sha) -> Result<Option<Sha>, GitError> {
        let Some(kept) = self.ref_target(full)? else { return Ok(None) };
        let same = self.tree_of(&kept)? == tree && self.first_parent(&kept)?.as_ref() == Some(head);
        Ok(same.then_some(kept))
    }

    fn ref_target(&self, full: &str) -> Result<Option<Sha>, GitError> {
        let output = self.git.call(format!("read {full}")).args(["rev-parse", "--verify", "--quiet", full]).run()?;
        Ok(Sha::parse(String::from_utf8_lossy(&output.stdout).trim()).ok())
    }

    fn commit_tree(&self, tree: &str, parents: &[Sha], message: &str) -> Result<Sha, GitError> {
        let what = "keep the work";
        let mut call = self.git.call(what).args(["commit-tree", "--no-gpg-sign", tree, "-m", message]);
        for parent in parents {
            call = call.args(["-p", parent.as_str()]);
        }
        let id = self.identified(call)?.line()?;
        Sha::parse(&id).map_err(|e| failed(what, e.to_string()))
    }

    /// Points a ref at a commit; a ref that holds other work keeps it and the next free name is taken.
    fn place(&self, full: &str, commit: &Sha) -> Result<Sha, GitError> {
        let mut name = full.to_owned();
        let mut n = 1;
        while let Some(held) = self.ref_target(&name)? {
            if held == *commit {
                return Ok(held);
            }
            n += 1;
            name = format!("{full}-{n}");
        }
        let zeros = "0".repeat(commit.as_str().len());
        let call = self.git.call(format!("keep {} on {name}", commit.short()));
        call.args(["update-ref", &name, commit.as_str(), &zeros]).ok()?;
        Ok(commit.clone())
    }
}
