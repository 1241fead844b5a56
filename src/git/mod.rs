//! The worktree and its repository: reads with libgit2 where that can open the repository, else with the `git`
//! program; writes, status and network always with the program, so that hooks, signing and credentials are the
//! user's own. Decides nothing about findings.

mod aside;
mod commit;
mod diff;
pub mod discover;
mod hooks;
mod picture;
mod plain;
mod read;
mod remote;
mod restore;
mod run;
mod status;
mod write;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::{Mutex, OnceLock};

use camino::{Utf8Path, Utf8PathBuf};
use secrecy::SecretString;

pub use discover::{Discovered, Head, PushTarget, Remote, discover};
pub use hooks::{HookFacts, Landed, LogTail, version};

use crate::ports::{CommitInfo, GitError, LocalFacts, Pushed, Replayed, Worktree};
use crate::review::diff::FileDiff;
use crate::review::ids::{RepoPath, Sha};
use crate::review::picture::Picture;
use run::{Git, Token};

/// Folder of the scratchpad at the top of the worktree; git must never take it.
const SCRATCH: &[u8] = b".pushback/";
/// Name space of the refs this program keeps work on.
const OUR_REFS: &str = "refs/pushback/";

/// Where the pull request's branch is pushed to. Not printable: the address may hold credentials.
struct Push {
    remote: String,
    branch: String,
    /// Address as configured when the run began; a changed one is refused.
    url: String,
}

/// One worktree of one repository.
pub struct GitWorktree {
    git: Git,
    toplevel: Utf8PathBuf,
    git_dir: Utf8PathBuf,
    common_dir: Utf8PathBuf,
    /// False where libgit2 cannot read the repository's formats.
    libgit2: bool,
    push: Option<Push>,
    /// A remote and its push address, asked before the branch was known.
    asked: OnceLock<(String, String)>,
    watched: Vec<Utf8PathBuf>,
    identity: (String, String),
    seen: Mutex<BTreeMap<String, picture::Seen>>,
    asides: Mutex<BTreeMap<Utf8PathBuf, aside::Aside>>,
    /// The configuration as it was told without git.
    told: Option<discover::Config>,
}

impl GitWorktree {
    /// Opens the worktree that holds this folder.
    pub fn open(dir: &Utf8Path) -> Result<Self, GitError> {
        Self::open_using("git", dir)
    }

    /// Opens it with another git program.
    pub fn open_using(program: impl Into<OsString>, dir: &Utf8Path) -> Result<Self, GitError> {
        let program = program.into();
        let [toplevel, git_dir, common_dir] = places(&Git::new(program.clone(), dir), dir)?;
        let toplevel = Utf8PathBuf::from(toplevel);
        if toplevel.as_str().is_empty() {
            return Err(failed(format!("open the repository at {dir}"), "it has no worktree"));
        }
        Ok(Self::at(program, dir, [toplevel, absolute(dir, &git_dir), absolute(dir, &common_dir)]))
    }

    /// Takes a worktree whose places are known.
    fn at(program: impl Into<OsString>, dir: &Utf8Path, [toplevel, git_dir, common_dir]: [Utf8PathBuf; 3]) -> Self {
        let mut git = Git::new(program, dir);
        git.set_dir(&toplevel);
        let libgit2 = git2::Repository::open(&toplevel).is_ok();
        Self {
            git,
            toplevel,
            git_dir,
            common_dir,
            libgit2,
            push: None,
            asked: OnceLock::new(),
            watched: Vec::new(),
            identity: ("pushback".to_owned(), "pushback@localhost".to_owned()),
            seen: Mutex::default(),
            asides: Mutex::default(),
            told: None,
        }
    }

    /// Asks for a remote's push address ahead of `for_pr`, beside other work; a failure is found again there.
    pub fn ask_ahead(&self, remote: &str) {
        let told = self.told.as_ref().and_then(|config| plain::push_url(config, remote));
        if !remote.starts_with('-')
            && let Ok(url) = told.map_or_else(|| self.push_url(remote), Ok)
        {
            let _ = self.asked.set((remote.to_owned(), url));
        }
    }

    /// Names the remote and the branch of the pull request; its address is fixed from here on.
    pub fn for_pr(mut self, remote: &str, branch: &str) -> Result<Self, GitError> {
        let what = format!("use branch {branch} of remote {remote}");
        if remote.starts_with('-') || branch.starts_with('-') {
            return Err(failed(what, "a name must not begin with a dash"));
        }
        let full = format!("refs/heads/{branch}");
        // What libgit2 accepts git accepts; git has the last word on the rest.
        if !git2::Reference::is_valid_name(&full) {
            self.git.call(&what).args(["check-ref-format", &full]).ok().map_err(|_| failed(&what, "no branch name"))?;
        }
        let url = match self.asked.take() {
            Some((asked, url)) if asked == remote => url,
            _ => self.push_url(remote)?,
        };
        self.push = Some(Push { remote: remote.to_owned(), branch: branch.to_owned(), url });
        Ok(self)
    }

    /// Gives pushes and fetches a token, used only for this host over HTTP.
    pub fn with_token(mut self, host: &str, secret: SecretString) -> Self {
        let local = host.split(':').next().is_some_and(|h| matches!(h, "127.0.0.1" | "localhost"));
        let scheme = if local { "http" } else { "https" };
        self.git.set_token(Token { scope: format!("{scheme}://{host}"), secret });
        self
    }

    /// Adds files outside the worktree to every picture.
    pub fn watch(mut self, files: impl IntoIterator<Item = Utf8PathBuf>) -> Self {
        self.watched.extend(files);
        self
    }

    /// Sets who commits where the user has no identity configured.
    pub fn fallback_identity(mut self, name: &str, email: &str) -> Self {
        self.identity = (name.to_owned(), email.to_owned());
        self
    }

    /// Returns the folder that all worktrees of the repository share.
    pub fn common_dir(&self) -> &Utf8Path {
        &self.common_dir
    }

    /// Returns git's folder of this worktree.
    pub fn git_dir(&self) -> &Utf8Path {
        &self.git_dir
    }

    /// Returns the top of the worktree.
    pub fn toplevel(&self) -> &Utf8Path {
        &self.toplevel
    }

    /// Tells whether history is cut off.
    pub fn is_shallow(&self) -> bool {
        self.common_dir.join("shallow").exists()
    }
}

/// Asks git for the top of the worktree, its own folder and the shared one.
fn places(git: &Git, dir: &Utf8Path) -> Result<[String; 3], GitError> {
    const ASKED: [&str; 3] = ["--show-toplevel", "--absolute-git-dir", "--git-common-dir"];
    let call = || git.call(format!("open the repository at {dir}"));
    let all = call().args(["rev-parse"].iter().chain(&ASKED)).line()?;
    let lines: Vec<String> = all.split('\n').map(str::to_owned).collect();
    if let Ok(three) = <[String; 3]>::try_from(lines) {
        return Ok(three);
    }
    // A path with a line break in it, or none at all: asked one by one.
    let one = |what: &str| call().args(["rev-parse", what]).line();
    Ok([one(ASKED[0])?, one(ASKED[1])?, one(ASKED[2])?])
}

fn absolute(dir: &Utf8Path, path: &str) -> Utf8PathBuf {
    let joined = dir.join(path);
    joined.canonicalize_utf8().unwrap_or(joined)
}

fn failed(what: impl Into<String>, why: impl Into<String>) -> GitError {
    GitError { what: what.into(), why: run::mask(&why.into(), None) }
}

impl Worktree for GitWorktree {
    fn facts(&self) -> Result<LocalFacts, GitError> {
        self.read_facts()
    }

    fn remote_head(&self) -> Result<Option<Sha>, GitError> {
        self.ask_remote()
    }

    fn fetch(&self, sha: &Sha) -> Result<bool, GitError> {
        self.fetch_commit(sha)
    }

    fn is_ancestor(&self, ancestor: &Sha, of: &Sha) -> Result<Option<bool>, GitError> {
        self.ancestry(ancestor, of)
    }

    fn merge_base(&self, one: &Sha, other: &Sha) -> Result<Option<Sha>, GitError> {
        self.common_ancestor(one, other)
    }

    fn file_at(&self, sha: &Sha, path: &RepoPath) -> Result<Option<Vec<u8>>, GitError> {
        self.blob_at(sha, path)
    }

    fn diff(&self, from: &Sha, to: &Sha) -> Result<Vec<FileDiff>, GitError> {
        self.diff_trees(&self.tree_of(from)?, &self.tree_of(to)?)
    }

    fn commits(&self, after: &Sha, to: &Sha) -> Result<Vec<CommitInfo>, GitError> {
        self.commits_between(after, to)
    }

    fn diff_worktree(&self) -> Result<Vec<FileDiff>, GitError> {
        self.diff_with_worktree()
    }

    fn tree(&self, sha: &Sha) -> Result<String, GitError> {
        self.tree_of(sha)
    }

    fn parent(&self, sha: &Sha) -> Result<Option<Sha>, GitError> {
        self.first_parent(sha)
    }

    fn picture(&self) -> Result<Picture, GitError> {
        self.take_picture()
    }

    fn put_back(&self, at: &Sha, paths: &[RepoPath]) -> Result<(), GitError> {
        self.restore_paths(at, paths)
    }

    fn put_back_refs(&self, picture: &Picture) -> Result<(), GitError> {
        self.restore_refs(picture)
    }

    fn write_new(&self, path: &RepoPath, text: &str) -> Result<bool, GitError> {
        self.write_new_file(path, text)
    }

    fn commit(&self, paths: &[RepoPath], message: &str) -> Result<Sha, GitError> {
        self.commit_paths(paths, message)
    }

    fn push(&self, sha: &Sha) -> Result<Pushed, GitError> {
        self.push_commit(sha)
    }

    fn replay(&self, from: &Sha, onto: &Sha) -> Result<Replayed, GitError> {
        self.replay_commits(from, onto)
    }

    fn keep(&self, name: &str, base: &Sha) -> Result<Option<Sha>, GitError> {
        self.keep_work(name, base)
    }

    fn rewind(&self, to: &Sha, untracked: &[RepoPath]) -> Result<(), GitError> {
        self.reset_to(to, untracked)
    }

    fn aside(&self, sha: &Sha) -> Result<Utf8PathBuf, GitError> {
        self.add_aside(sha)
    }

    fn drop_aside(&self, dir: &Utf8Path) -> Result<(), GitError> {
        self.remove_aside(dir)
    }
}
