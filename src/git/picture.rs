//! Takes the picture of everything an editor could have changed, and remembers what it takes to put it back.
//! Judging the difference of two pictures is not done here.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::read::os;
use super::status::Item;
use super::{GitWorktree, OUR_REFS, SCRATCH, failed};
use crate::ports::GitError;
use crate::review::ids::{RepoPath, Sha};
use crate::review::picture::Picture;

/// Line of `info/exclude` that this program itself adds.
const OUR_EXCLUDE: &[u8] = b"/.pushback/";
/// Hook files looked at; a folder with more is no hooks folder.
const HOOK_FILES: usize = 2_000;
/// Folders below the hooks folder looked at.
const HOOK_DEPTH: usize = 4;

/// Mode and content of a file; `None` where there is none.
pub(super) type Kept = Option<(u32, Vec<u8>)>;

/// What lies around the worktree and can be put back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seen {
    /// Configuration, `info/` files and hooks.
    pub(super) files: BTreeMap<PathBuf, Kept>,
    /// The hooks folder.
    pub(super) hooks_dir: PathBuf,
    /// Paths that git was told not to look at.
    pub(super) hidden: BTreeSet<RepoPath>,
    /// False for what appeared while an editor was at work: filters it defines are not run.
    pub(super) trusted: bool,
    /// Filters that the repository's configuration defines.
    pub(super) filters: BTreeSet<String>,
    /// Hash of the remotes.
    pub(super) remotes: String,
    /// Hash of the configuration.
    pub(super) config: String,
    /// Hash of the hooks.
    pub(super) hooks: String,
}

impl Seen {
    /// Returns the key it is remembered by.
    pub(super) fn key(&self) -> String {
        key(&self.config, &self.remotes, &self.hooks)
    }
}

/// Returns the key of what a picture saw around the worktree.
pub(super) fn key(config: &str, remotes: &str, hooks: &str) -> String {
    format!("{config} {remotes} {hooks}")
}

/// A ref.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ref {
    /// Full name.
    pub(super) name: String,
    /// What it points to.
    pub(super) target: Sha,
    /// True when it only names another ref.
    pub(super) symbolic: bool,
    /// True when it is the branch of another worktree: somebody else is at work there.
    pub(super) elsewhere: bool,
}

impl GitWorktree {
    pub(super) fn take_picture(&self) -> Result<Picture, GitError> {
        let seen = self.surroundings(self.branch_name()?.as_deref())?;
        let trusted = self.trusts(&seen);
        let status = if trusted { self.status()? } else { self.status_without(&disarmed(&seen))? };
        let head = status.head.ok_or_else(|| failed("read HEAD", "there is no commit yet"))?;
        let refs = self.refs()?.into_iter().filter(|r| !r.symbolic && !r.elsewhere);
        let picture = Picture {
            head,
            branch: status.branch,
            refs: refs.map(|r| (r.name, r.target)).collect(),
            remotes: seen.remotes.clone(),
            hooks: seen.hooks.clone(),
            config: seen.config.clone(),
            index: index_hash(&status.items),
            files: self.file_hashes(&status.items)?,
            outside: self.watched.iter().map(|p| (p.to_string(), outside_hash(p.as_std_path()))).collect(),
        };
        if let Ok(mut known) = self.seen.lock() {
            known.entry(seen.key()).or_insert(Seen { trusted, ..seen });
        }
        Ok(picture)
    }

    fn branch_name(&self) -> Result<Option<String>, GitError> {
        let output = self.git.call("read HEAD").args(["symbolic-ref", "--quiet", "HEAD"]).run()?;
        let name = String::from_utf8_lossy(&output.stdout);
        Ok(name.trim_end_matches('\n').strip_prefix("refs/heads/").map(str::to_owned))
    }

    /// Tells whether the surroundings are those of the first picture, or of a later one that changed nothing of them.
    fn trusts(&self, seen: &Seen) -> bool {
        let known = self.seen.lock().map(|known| known.is_empty() || known.get(&seen.key()).is_some_and(|s| s.trusted));
        known.unwrap_or(false)
    }

    fn file_hashes(&self, items: &[Item]) -> Result<BTreeMap<RepoPath, Option<String>>, GitError> {
        let mut files = BTreeMap::new();
        for item in items.iter().filter(|i| !i.path.as_bytes().starts_with(SCRATCH)) {
            let submodule = item.record.split(|b| *b == b' ').nth(2).is_some_and(|w| w.starts_with(b"S"));
            let hash = if submodule || item.path.as_bytes().ends_with(b"/") {
                Some(self.repository_hash(&item.path)?)
            } else {
                self.content_hash(&item.path)?
            };
            files.insert(item.path.clone(), hash);
        }
        Ok(files)
    }

    /// Hashes mode and content of a file of the worktree; `None` when it is not there.
    pub(super) fn content_hash(&self, path: &RepoPath) -> Result<Option<String>, GitError> {
        match self.in_worktree(path) {
            None => Ok(None),
            Some(full) => hash_file(&full).map_err(|e| failed(format!("read {path}"), e.to_string())),
        }
    }

    /// Returns the full path, unless a parent is a symbolic link or missing: then git does not see the path either.
    pub(super) fn in_worktree(&self, path: &RepoPath) -> Option<PathBuf> {
        let mut full = self.toplevel.as_std_path().to_owned();
        let parts: Vec<&[u8]> = path.as_bytes().split(|b| *b == b'/').filter(|p| !p.is_empty()).collect();
        let (last, parents) = parts.split_last()?;
        for part in parents {
            full.push(std::ffi::OsStr::from_bytes(part));
            if !std::fs::symlink_metadata(&full).is_ok_and(|m| m.is_dir()) {
                return None;
            }
        }
        full.push(std::ffi::OsStr::from_bytes(last));
        std::fs::symlink_metadata(&full).is_ok().then_some(full)
    }

    fn repository_hash(&self, path: &RepoPath) -> Result<String, GitError> {
        let Some(full) = self.in_worktree(path) else { return Ok("missing".to_owned()) };
        let Some(dir) = camino::Utf8Path::from_path(&full) else { return Ok("unreadable".to_owned()) };
        let mut hash = Sha256::new();
        for args in [&["rev-parse", "HEAD"][..], super::status::ARGS] {
            let output = self.git.call(format!("read {path}")).dir(dir).args(args).run()?;
            hash.update(&output.stdout);
        }
        Ok(hex(hash))
    }

    /// Reads configuration, hooks and the hidden paths.
    pub(super) fn surroundings(&self, branch: Option<&str>) -> Result<Seen, GitError> {
        let hidden = self.hidden()?;
        let (remotes, mut config, filters) = self.config_hashes(branch)?;
        let mut files = BTreeMap::new();
        for path in self.config_files() {
            files.insert(path.clone(), keep(&path));
        }
        // In a linked worktree `.git` is a file that says where everything else is.
        let link = self.toplevel.join(".git").into_std_path_buf();
        let kept = keep(&link);
        config.update(kept.as_ref().map(|(_, data)| data.clone()).unwrap_or_default());
        files.insert(link, kept);
        for (name, dir) in [
            ("exclude", &self.common_dir),
            ("attributes", &self.common_dir),
            ("grafts", &self.common_dir),
            ("sparse-checkout", &self.git_dir),
        ] {
            let path = dir.join("info").join(name).into_std_path_buf();
            let kept = keep(&path);
            config.update(name);
            config.update(kept.as_ref().map(|(_, data)| without_ours(data)).unwrap_or_default());
            files.insert(path, kept);
        }
        for path in &hidden {
            config.update(path.as_bytes());
            config.update([0]);
        }
        let (hooks_dir, found) = self.hook_files()?;
        let hooks = hooks_hash(&hooks_dir, &found);
        files.extend(found);
        Ok(Seen { files, hooks_dir, hidden, trusted: false, filters, remotes, config: hex(config), hooks })
    }

    fn hook_files(&self) -> Result<(PathBuf, BTreeMap<PathBuf, Kept>), GitError> {
        let place = self.git.call("find the hooks").args(["rev-parse", "--git-path", "hooks"]).ok()?;
        let place = std::ffi::OsString::from_vec(place.strip_suffix(b"\n").unwrap_or(&place).to_vec());
        let dir = self.toplevel.as_std_path().join(place);
        // husky's own scripts lie in `_` and start those beside it, which belong to the project.
        let dir = match dir.parent() {
            Some(beside) if dir.ends_with("_") && beside != self.toplevel && beside.starts_with(&self.toplevel) => {
                beside.to_owned()
            }
            _ => dir,
        };
        let mut found = BTreeMap::new();
        collect_hooks(&dir, 0, &mut found);
        Ok((dir, found))
    }

    fn config_files(&self) -> [PathBuf; 2] {
        [self.common_dir.join("config").into_std_path_buf(), self.git_dir.join("config.worktree").into_std_path_buf()]
    }

    /// Hashes the repository's effective configuration. Branches of other worktrees are none of this run's business.
    fn config_hashes(&self, branch: Option<&str>) -> Result<(String, Sha256, BTreeSet<String>), GitError> {
        let data = self.git.call("read the configuration").args(["config", "--list", "--show-scope", "-z"]).ok()?;
        let ours = branch.map(|b| format!("branch.{b}."));
        let (mut remotes, mut config) = (Sha256::new(), Sha256::new());
        let mut filters = BTreeSet::new();
        let mut parts = data.split(|b| *b == 0);
        while let (Some(scope), Some(entry)) = (parts.next(), parts.next()) {
            let foreign =
                entry.starts_with(b"branch.") && !ours.as_ref().is_some_and(|ours| entry.starts_with(ours.as_bytes()));
            if !matches!(scope, b"local" | b"worktree") || foreign {
                continue;
            }
            if [&b"remote."[..], b"url."].iter().any(|p| entry.starts_with(p)) {
                remotes.update(entry);
                remotes.update([0]);
            }
            filters.extend(filter_name(entry));
            config.update(entry);
            config.update([0]);
        }
        Ok((hex(remotes), config, filters))
    }

    /// Lists paths that git was told to take as unchanged: edits there would be tested but never committed.
    fn hidden(&self) -> Result<BTreeSet<RepoPath>, GitError> {
        let data = self.git.call("list the tracked files").args(["ls-files", "-v", "-z"]).ok()?;
        let records = data.split(|b| *b == 0).filter_map(|r| r.split_at_checked(2));
        let flagged = records.filter(|(tag, _)| tag.first().is_some_and(|t| t.is_ascii_lowercase() || *t == b'S'));
        Ok(flagged.map(|(_, path)| RepoPath::from_git(path)).collect())
    }

    /// Lists all refs but our own.
    pub(super) fn refs(&self) -> Result<Vec<Ref>, GitError> {
        let what = "list the refs";
        let format = "--format=%(objectname)%00%(refname)%00%(symref)%00%(worktreepath)%00";
        let data = self.git.call(what).args(["for-each-ref", format]).ok()?;
        let fields: Vec<&[u8]> = data.split(|b| *b == 0).collect();
        let mut refs = Vec::new();
        for record in fields.chunks_exact(4) {
            let [id, name, symref, worktree] = record else { continue };
            let id = String::from_utf8_lossy(id);
            let target = Sha::parse(id.trim_start()).map_err(|e| failed(what, e.to_string()))?;
            let name = String::from_utf8(name.to_vec()).map_err(|_| failed(what, "a ref's name is not UTF-8"))?;
            if !name.starts_with(OUR_REFS) {
                let elsewhere = !worktree.is_empty() && !self.is_here(worktree);
                refs.push(Ref { name, target, symbolic: !symref.is_empty(), elsewhere });
            }
        }
        Ok(refs)
    }

    fn is_here(&self, worktree: &[u8]) -> bool {
        let path = Path::new(std::ffi::OsStr::from_bytes(worktree));
        path == self.toplevel.as_std_path() || path.canonicalize().is_ok_and(|p| p == self.toplevel.as_std_path())
    }

    /// Tells git to look at these paths again.
    pub(super) fn unhide(&self, paths: &[RepoPath]) -> Result<(), GitError> {
        if paths.is_empty() {
            return Ok(());
        }
        for flag in ["--no-assume-unchanged", "--no-skip-worktree"] {
            let call = self.git.call("let git see hidden files").args(["update-index", flag, "-z", "--stdin"]);
            call.stdin(nul_separated(paths)).ok()?;
        }
        Ok(())
    }
}

/// Joins paths for `-z --stdin` and `--pathspec-file-nul`.
pub(super) fn nul_separated(paths: &[RepoPath]) -> Vec<u8> {
    let mut data = Vec::new();
    for path in paths {
        data.extend_from_slice(os(path).as_bytes());
        data.push(0);
    }
    data
}

fn index_hash(items: &[Item]) -> String {
    let mut hash = Sha256::new();
    let mut any = false;
    for item in items.iter().filter(|i| i.staged()) {
        any = true;
        // The worktree's state and mode are no part of what is staged.
        let words = item.record.split(|b| *b == b' ').enumerate().filter(|(n, _)| !matches!(n, 1 | 2 | 5));
        for (_, word) in words {
            hash.update(word);
            hash.update(b" ");
        }
        hash.update([item.index]);
        hash.update(item.path.as_bytes());
        hash.update([0]);
    }
    if any { hex(hash) } else { String::new() }
}

fn hooks_hash(dir: &Path, found: &BTreeMap<PathBuf, Kept>) -> String {
    let mut hash = Sha256::new();
    hash.update(dir.as_os_str().as_bytes());
    for (path, kept) in found {
        hash.update(path.as_os_str().as_bytes());
        if let Some((mode, data)) = kept {
            hash.update(mode.to_le_bytes());
            hash.update(Sha256::digest(data));
        }
    }
    hex(hash)
}

pub(super) fn hex(hash: Sha256) -> String {
    use std::fmt::Write as _;
    hash.finalize().iter().fold(String::with_capacity(64), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Hashes kind, mode and content, never following a link; `None` when nothing is there.
fn hash_file(path: &Path) -> std::io::Result<Option<String>> {
    let meta = match std::fs::symlink_metadata(path) {
        Ok(meta) => meta,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(e),
    };
    let mut hash = Sha256::new();
    if meta.is_symlink() {
        hash.update(b"link ");
        hash.update(std::fs::read_link(path)?.as_os_str().as_bytes());
    } else if meta.is_file() {
        let executable = meta.permissions().mode() & 0o100 != 0;
        hash.update(if executable { b"exec " } else { b"file " });
        let flags = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
        let mut file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let n = file.read(&mut buffer)?;
            if n == 0 {
                break;
            }
            hash.update(buffer.get(..n).unwrap_or_default());
        }
    } else if meta.is_dir() {
        hash.update(b"folder ");
    } else {
        hash.update(b"special ");
    }
    Ok(Some(hex(hash)))
}

fn outside_hash(path: &Path) -> String {
    match hash_file(path) {
        Ok(Some(hash)) => hash,
        Ok(None) => "missing".to_owned(),
        Err(e) => format!("unreadable: {}", e.kind()),
    }
}

pub(super) fn keep(path: &Path) -> Kept {
    let meta = std::fs::symlink_metadata(path).ok()?;
    if meta.is_symlink() {
        let target = std::fs::read_link(path).ok()?;
        return Some((0, target.into_os_string().into_vec()));
    }
    meta.is_file().then_some(())?;
    Some((meta.permissions().mode() & 0o7777, std::fs::read(path).ok()?))
}

pub(super) fn collect_hooks(dir: &Path, depth: usize, found: &mut BTreeMap<PathBuf, Kept>) {
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    for entry in entries.flatten() {
        if found.len() >= HOOK_FILES {
            return;
        }
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && depth < HOOK_DEPTH => collect_hooks(&path, depth + 1, found),
            Ok(kind) if kind.is_dir() => {}
            _ => {
                let kept = keep(&path);
                found.insert(path, kept);
            }
        }
    }
}

/// Returns values that switch filters off: what an editor configured must not run with this program's rights.
fn disarmed(seen: &Seen) -> Vec<(String, String)> {
    let off = |filter: &String| ["clean", "smudge", "process"].map(|f| (format!("filter.{filter}.{f}"), String::new()));
    let soft = |filter: &String| (format!("filter.{filter}.required"), "false".to_owned());
    seen.filters.iter().flat_map(|f| off(f).into_iter().chain([soft(f)])).collect()
}

/// Returns the filter that an entry `filter.NAME.key` is about.
fn filter_name(entry: &[u8]) -> Option<String> {
    let key = String::from_utf8_lossy(entry.split(|b| *b == b'\n').next()?).into_owned();
    let (name, _) = key.strip_prefix("filter.")?.rsplit_once('.')?;
    Some(name.to_owned())
}

fn without_ours(data: &[u8]) -> Vec<u8> {
    let lines = data.split(|b| *b == b'\n').filter(|l| *l != OUR_EXCLUDE && !l.is_empty());
    lines.collect::<Vec<_>>().join(&b'\n')
}
