//! Reads commits, trees, blobs and ancestry. Missing history is unknown, never "no".

use git2::{ErrorCode, ObjectType, Oid, Repository};
use jiff::Timestamp;

use super::run::TRANSFER_LIMIT;
use super::{GitWorktree, SCRATCH, failed, status};
use crate::ports::{CommitInfo, GitError, LocalFacts};
use crate::review::ids::{RepoPath, Sha};

/// How far a cut-off history is deepened before an answer stays unknown.
const DEEPEN: &[u32] = &[200, 5_000];

/// Marks of an operation under way in git's folder of the worktree.
const OPERATIONS: &[(&str, &str)] = &[
    ("rebase-merge", "rebase"),
    ("rebase-apply", "rebase"),
    ("MERGE_HEAD", "merge"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("sequencer", "cherry-pick"),
    ("BISECT_LOG", "bisect"),
];

impl GitWorktree {
    /// Opens the repository anew, so that what others wrote is seen; `None` where libgit2 cannot.
    pub(super) fn lib(&self) -> Option<Repository> {
        if self.libgit2 { Repository::open(&self.toplevel).ok() } else { None }
    }

    /// Returns the commit that a name stands for; `None` where it stands for none.
    pub fn commit_named(&self, name: &str) -> Result<Option<Sha>, GitError> {
        if name.starts_with('-') {
            return Ok(None);
        }
        let full = format!("{name}^{{commit}}");
        let output = self.git.call(format!("look for commit {name}")).args(["rev-parse", "--verify", "--quiet", &full]);
        let output = output.run()?;
        Ok(Sha::parse(String::from_utf8_lossy(&output.stdout).trim()).ok().filter(|_| output.success()))
    }

    /// Returns where the remote's branch was when it was last pushed to or fetched here; asks nobody.
    pub fn tracked(&self, remote: &str, branch: &str) -> Option<Sha> {
        let id = self.lib()?.refname_to_id(&format!("refs/remotes/{remote}/{branch}")).ok()?;
        Sha::parse(&id.to_string()).ok()
    }

    pub(super) fn status(&self) -> Result<status::Status, GitError> {
        self.status_without(&[])
    }

    /// Reads the status with these configuration values in place of the repository's.
    pub(super) fn status_without(&self, values: &[(String, String)]) -> Result<status::Status, GitError> {
        let what = "read the state of the worktree";
        let call = self.git.call(what).args(status::ARGS);
        let data = if values.is_empty() { call.ok()? } else { call.private_config(values).ok()? };
        status::parse(&data).map_err(|why| failed(what, why))
    }

    pub(super) fn read_facts(&self) -> Result<LocalFacts, GitError> {
        let status = self.status()?;
        let head = status.head.ok_or_else(|| failed("read HEAD", "there is no commit yet"))?;
        let changed = status.items.iter().filter(|i| !i.untracked());
        Ok(LocalFacts {
            head,
            branch: status.branch,
            staged: changed.clone().any(status::Item::staged),
            modified: changed
                .filter(|i| i.worktree != b'.' && !i.path.as_bytes().starts_with(SCRATCH))
                .map(|i| i.path.clone())
                .collect(),
            operation: self.operation(),
        })
    }

    fn operation(&self) -> Option<String> {
        let found = OPERATIONS.iter().find(|(mark, _)| self.git_dir.join(mark).exists());
        found.map(|(_, name)| (*name).to_owned())
    }

    pub(super) fn has_commit(&self, sha: &Sha) -> Result<bool, GitError> {
        if let Some(repo) = self.lib() {
            return Ok(oid(sha).is_some_and(|id| repo.find_commit(id).is_ok()));
        }
        let name = format!("{sha}^{{commit}}");
        Ok(self.git.call(format!("look for commit {sha}")).args(["cat-file", "-e", &name]).run()?.success())
    }

    pub(super) fn ancestry(&self, ancestor: &Sha, of: &Sha) -> Result<Option<bool>, GitError> {
        if ancestor == of {
            return Ok(Some(true));
        }
        for depth in std::iter::once(None).chain(DEEPEN.iter().copied().map(Some)) {
            if !self.deepened(depth)? {
                return Ok(None);
            }
            let known = self.has_commit(ancestor)? && self.has_commit(of)?;
            if known && self.reaches(ancestor, of)? {
                return Ok(Some(true));
            }
            if !self.is_shallow() {
                // In a whole history a commit that is not here is not known to be unrelated: it was never fetched.
                return Ok(known.then_some(false));
            }
        }
        Ok(None)
    }

    fn reaches(&self, ancestor: &Sha, of: &Sha) -> Result<bool, GitError> {
        if let (Some(repo), Some(a), Some(b), false) = (self.lib(), oid(ancestor), oid(of), self.is_shallow())
            && let Ok(answer) = repo.graph_descendant_of(b, a)
        {
            return Ok(answer);
        }
        let what = format!("compare {} and {}", ancestor.short(), of.short());
        let args = ["merge-base", "--is-ancestor", ancestor.as_str(), of.as_str()];
        let output = self.git.call(&what).args(args).run()?;
        match output.code {
            Some(0) => Ok(true),
            Some(1) => Ok(false),
            _ => Err(failed(what, output.words())),
        }
    }

    pub(super) fn common_ancestor(&self, one: &Sha, other: &Sha) -> Result<Option<Sha>, GitError> {
        for depth in std::iter::once(None).chain(DEEPEN.iter().copied().map(Some)) {
            if !self.deepened(depth)? {
                return Ok(None);
            }
            if self.has_commit(one)?
                && self.has_commit(other)?
                && let Some(base) = self.found_base(one, other)?
            {
                return Ok(Some(base));
            }
            if !self.is_shallow() {
                return Ok(None);
            }
        }
        Ok(None)
    }

    fn found_base(&self, one: &Sha, other: &Sha) -> Result<Option<Sha>, GitError> {
        if let (Some(repo), Some(a), Some(b), false) = (self.lib(), oid(one), oid(other), self.is_shallow()) {
            match repo.merge_base(a, b) {
                Ok(base) => return Ok(Sha::parse(&base.to_string()).ok()),
                Err(e) if e.code() == ErrorCode::NotFound => return Ok(None),
                Err(_) => {}
            }
        }
        let what = format!("find the merge base of {} and {}", one.short(), other.short());
        let output = self.git.call(&what).args(["merge-base", one.as_str(), other.as_str()]).run()?;
        match output.code {
            Some(0) => Ok(Sha::parse(String::from_utf8_lossy(&output.stdout).trim()).ok()),
            Some(1) => Ok(None),
            _ => Err(failed(what, output.words())),
        }
    }

    /// Fetches more of a cut-off history; `false` when that did not work.
    fn deepened(&self, depth: Option<u32>) -> Result<bool, GitError> {
        let Some(depth) = depth else { return Ok(true) };
        let Some(push) = &self.push else { return Ok(false) };
        let deepen = format!("--deepen={depth}");
        let args = ["fetch", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", &deepen, &push.remote];
        let output = self.git.call("deepen the history").network(TRANSFER_LIMIT).args(args).run()?;
        Ok(output.success())
    }

    pub(super) fn tree_of(&self, sha: &Sha) -> Result<String, GitError> {
        let what = format!("read the tree of {}", sha.short());
        if let (Some(repo), Some(id)) = (self.lib(), oid(sha))
            && let Ok(commit) = repo.find_commit(id)
        {
            return Ok(commit.tree_id().to_string());
        }
        let name = format!("{sha}^{{tree}}");
        self.git.call(what).args(["rev-parse", "--verify", "--quiet", "--end-of-options", &name]).line()
    }

    pub(super) fn commits_between(&self, after: &Sha, to: &Sha) -> Result<Vec<CommitInfo>, GitError> {
        let what = format!("list the commits from {} to {}", after.short(), to.short());
        let not_after = format!("^{after}");
        let format = "--format=tformat:%ct %H %P%n%an <%ae>%n%B%x00";
        let args = ["log", "--no-show-signature", "--no-color", format, "--end-of-options", to.as_str(), &not_after];
        let data = self.git.call(&what).args(args).ok()?;
        let commit = |entry: &[u8]| {
            let text = String::from_utf8_lossy(entry).into_owned();
            let (ids, rest) = text.trim_start_matches('\n').split_once('\n')?;
            let (author, message) = rest.split_once('\n')?;
            let mut ids = ids.split(' ');
            let at = Timestamp::from_second(ids.next()?.parse().ok()?).ok()?;
            let sha = Sha::parse(ids.next()?).ok()?;
            let parent = ids.next().and_then(|id| Sha::parse(id).ok());
            Some(CommitInfo { sha, parent, author: author.to_owned(), message: message.to_owned(), at })
        };
        Ok(data.split(|byte| *byte == 0).filter_map(commit).collect())
    }

    pub(super) fn first_parent(&self, sha: &Sha) -> Result<Option<Sha>, GitError> {
        let what = format!("read the parent of {}", sha.short());
        let data = self.git.call(&what).args(["cat-file", "commit", sha.as_str()]).ok()?;
        let header = data.split(|b| *b == b'\n').take_while(|line| !line.is_empty());
        let mut parents = header.filter_map(|line| line.strip_prefix(b"parent "));
        match parents.next() {
            None => Ok(None),
            Some(id) => Sha::parse(&String::from_utf8_lossy(id)).map(Some).map_err(|e| failed(what, e.to_string())),
        }
    }

    /// Tells the formats of objects (`sha1`, `sha256`) and refs (`files`, `reftable`).
    pub fn formats(&self) -> Result<(String, String), GitError> {
        let read = |key: &str, default: &str| -> Result<String, GitError> {
            let args = ["config", "--default", default, "--get", key];
            let data = self.git.call("read the repository's formats").args(args).ok()?;
            Ok(String::from_utf8_lossy(&data).trim().to_lowercase())
        };
        Ok((read("extensions.objectFormat", "sha1")?, read("extensions.refStorage", "files")?))
    }

    /// Reads a text file as the default branch had it when it was fetched last; `None` when that cannot be told.
    pub fn default_branch_file(&self, path: &str) -> Option<String> {
        let refs = ["refs/remotes/origin/HEAD", "refs/remotes/origin/main", "refs/remotes/origin/master"];
        let read = |name: &&str| {
            let what = "read a file of the default branch";
            self.git.call(what).args(["cat-file", "blob", &format!("{name}:{path}")]).ok().ok()
        };
        String::from_utf8(refs.iter().find_map(read)?).ok()
    }

    pub(super) fn blob_at(&self, sha: &Sha, path: &RepoPath) -> Result<Option<Vec<u8>>, GitError> {
        match self.entry_at(sha, path)? {
            Some((kind, id)) if kind == "blob" => self.blob(&id).map(Some),
            _ => Ok(None),
        }
    }

    /// Finds the kind and id of what is at a path of a commit.
    pub(super) fn entry_at(&self, sha: &Sha, path: &RepoPath) -> Result<Option<(String, String)>, GitError> {
        if path.as_bytes().is_empty() || path.as_bytes().contains(&0) {
            return Ok(None);
        }
        if let (Some(repo), Some(id)) = (self.lib(), oid(sha))
            && let Ok(found) = lookup(&repo, id, path.as_bytes())
        {
            return Ok(found);
        }
        let what = format!("look for {path} in {}", sha.short());
        let tree = self.tree_of(sha)?;
        let call = self.git.call(what).args(["--literal-pathspecs", "ls-tree", "-z", "--full-tree", &tree, "--"]);
        let data = call.args([os(path)]).ok()?;
        let entry = data.split(|b| *b == 0).find_map(|record| {
            let tab = record.iter().position(|b| *b == b'\t')?;
            let (head, name) = record.split_at_checked(tab)?;
            let head = String::from_utf8_lossy(head).into_owned();
            let mut words = head.split(' ').skip(1);
            let found = (words.next()?.to_owned(), words.next()?.to_owned());
            (name.get(1..)? == path.as_bytes()).then_some(found)
        });
        Ok(entry)
    }

    pub(super) fn blob(&self, id: &str) -> Result<Vec<u8>, GitError> {
        if let (Some(repo), Ok(oid)) = (self.lib(), id.parse::<Oid>())
            && let Ok(blob) = repo.find_blob(oid)
        {
            return Ok(blob.content().to_vec());
        }
        // In a partial clone git fetches the object now.
        self.git.call(format!("read object {id}")).network(TRANSFER_LIMIT).args(["cat-file", "blob", id]).ok()
    }
}

/// Walks a tree by bytes; `Err` when an object is missing here.
fn lookup(repo: &Repository, commit: Oid, path: &[u8]) -> Result<Option<(String, String)>, git2::Error> {
    let mut tree = repo.find_commit(commit)?.tree()?;
    let mut parts = path.split(|b| *b == b'/').peekable();
    while let Some(part) = parts.next() {
        let Some((id, kind)) = tree.iter().find(|e| e.name_bytes() == part).map(|e| (e.id(), e.kind())) else {
            return Ok(None);
        };
        match (parts.peek(), kind) {
            (None, kind) => return Ok(kind.map(|k| (k.str().to_owned(), id.to_string()))),
            (Some(_), Some(ObjectType::Tree)) => tree = repo.find_tree(id)?,
            (Some(_), _) => return Ok(None),
        }
    }
    Ok(None)
}

/// Returns the id in libgit2's form; `None` for a SHA-256 one.
pub(super) fn oid(sha: &Sha) -> Option<Oid> {
    sha.as_str().parse().ok()
}

/// Returns a path as an argument of a program.
pub(super) fn os(path: &RepoPath) -> &std::ffi::OsStr {
    std::os::unix::ffi::OsStrExt::from_bytes(path.as_bytes())
}
