//! Real repositories for tests: a bare remote, a clone, a second clone that plays the other person. Hermetic.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use camino::{Utf8Path, Utf8PathBuf};
use pushback::git::GitWorktree;
use pushback::review::ids::{RepoPath, Sha};

/// Every git program of this machine, one of each.
pub(crate) fn gits() -> Vec<PathBuf> {
    let found = ["/usr/local/bin/git", "/usr/bin/git", "/opt/homebrew/bin/git"].map(PathBuf::from);
    let mut seen = Vec::new();
    let mut gits: Vec<PathBuf> = Vec::new();
    for git in found.into_iter().filter(|p| p.exists()).chain(std::iter::once(PathBuf::from("git"))) {
        let version = Command::new(&git).arg("version").output().expect("git runs").stdout;
        if !seen.contains(&version) {
            seen.push(version);
            gits.push(git);
        }
    }
    gits
}

pub(crate) struct Scene {
    _temp: tempfile::TempDir,
    pub(crate) root: Utf8PathBuf,
    /// Stands in for git: hermetic, and writes down how it was called.
    pub(crate) git: Utf8PathBuf,
    pub(crate) remote: Utf8PathBuf,
    pub(crate) work: Utf8PathBuf,
    pub(crate) base: Sha,
}

impl Scene {
    pub(crate) fn new(git: &std::path::Path) -> Self {
        Self::with_init(git, &[])
    }

    pub(crate) fn with_init(git: &std::path::Path, init: &[&str]) -> Self {
        let temp = tempfile::Builder::new().prefix("pushback it ").tempdir().expect("a folder");
        let root = Utf8PathBuf::from_path_buf(temp.path().canonicalize().expect("canonical")).expect("utf-8");
        let wrapper = root.join("bin/git");
        std::fs::create_dir(root.join("bin")).expect("mkdir");
        let script = format!(
            "#!/bin/sh\nfor a in \"$@\"; do printf '%s\\n' \"$a\"; done >>'{root}/argv'\nexport -p >>'{root}/environment'\n\
             export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 HOME='{root}'\n\
             export GIT_AUTHOR_DATE='2026-01-01T00:00:00Z' GIT_COMMITTER_DATE='2026-01-01T00:00:00Z'\n\
             exec '{}' \"$@\"\n",
            git.display()
        );
        std::fs::write(&wrapper, script).expect("writes");
        std::fs::set_permissions(&wrapper, std::fs::Permissions::from_mode(0o755)).expect("mode");
        let mut scene = Self {
            _temp: temp,
            git: wrapper,
            remote: root.join("remote.git"),
            work: root.join("work"),
            base: Sha::parse(&"0".repeat(40)).expect("a sha"),
            root: root.clone(),
        };
        let init: Vec<&str> = ["init", "-q", "-b", "main"].iter().chain(init).copied().collect();
        let bare: Vec<&str> = init.iter().copied().chain(["--bare", "remote.git"]).collect();
        run(&scene.git, &root, &bare);
        run(&scene.git, &root, &init.iter().copied().chain(["work"]).collect::<Vec<_>>());
        scene.git(&["config", "user.name", "A"]);
        scene.git(&["config", "user.email", "a@example.org"]);
        scene.git(&["remote", "add", "origin", "../remote.git"]);
        scene.write("a.txt", "one\ntwo\nthree\n");
        scene.write("dir/b.txt", "b\n");
        scene.git(&["add", "-A"]);
        scene.git(&["commit", "-q", "-m", "first"]);
        scene.git(&["checkout", "-q", "-b", "topic"]);
        scene.git(&["push", "-q", "origin", "main", "topic"]);
        scene.base = scene.head();
        scene
    }

    pub(crate) fn open(&self) -> GitWorktree {
        self.open_at(&self.work)
    }

    pub(crate) fn open_at(&self, dir: &Utf8Path) -> GitWorktree {
        let opened = GitWorktree::open_using(self.git.as_str(), dir).expect("opens");
        opened.for_pr("origin", "topic").expect("has a remote")
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        run(&self.git, &self.work, args)
    }

    pub(crate) fn git_in(&self, dir: &Utf8Path, args: &[&str]) -> String {
        run(&self.git, dir, args)
    }

    pub(crate) fn head(&self) -> Sha {
        Sha::parse(&self.git(&["rev-parse", "HEAD"])).expect("a sha")
    }

    pub(crate) fn write(&self, path: impl AsRef<OsStr>, text: impl AsRef<[u8]>) {
        let full = self.work.as_std_path().join(PathBuf::from(path.as_ref()));
        std::fs::create_dir_all(full.parent().expect("a parent")).expect("mkdir");
        std::fs::write(full, text).expect("writes");
    }

    pub(crate) fn read(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.work.join(path)).ok()
    }

    pub(crate) fn commit(&self, path: &str, text: &str) -> Sha {
        self.write(path, text);
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", path]);
        self.head()
    }

    /// Another person pushes a change to the branch.
    pub(crate) fn other_pushes(&self, path: &str, text: &str) -> Sha {
        let other = self.root.join("other");
        if !other.exists() {
            run(&self.git, &self.root, &["clone", "-q", "-b", "topic", "remote.git", "other"]);
            for (key, value) in [("user.name", "B"), ("user.email", "b@example.org")] {
                run(&self.git, &other, &["config", key, value]);
            }
        }
        run(&self.git, &other, &["pull", "-q", "--ff-only"]);
        std::fs::write(other.join(path), text).expect("writes");
        run(&self.git, &other, &["add", "-A"]);
        run(&self.git, &other, &["commit", "-q", "-m", "theirs"]);
        run(&self.git, &other, &["push", "-q"]);
        Sha::parse(&run(&self.git, &other, &["rev-parse", "HEAD"])).expect("a sha")
    }

    pub(crate) fn remote_topic(&self) -> String {
        run(&self.git, &self.remote, &["rev-parse", "refs/heads/topic"])
    }

    pub(crate) fn hook(&self, dir: &Utf8Path, name: &str, script: &str) {
        let path = dir.join("hooks").join(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("mkdir");
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("writes");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("mode");
    }
}

pub(crate) fn run(git: &Utf8Path, dir: &Utf8Path, args: &[&str]) -> String {
    let output = Command::new(git).current_dir(dir).args(args).output().expect("git runs");
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {args:?}: {words}");
    String::from_utf8_lossy(&output.stdout).trim_end_matches('\n').to_owned()
}

pub(crate) fn path(bytes: impl AsRef<[u8]>) -> RepoPath {
    RepoPath::from_git(bytes.as_ref())
}

pub(crate) fn os(bytes: &[u8]) -> &OsStr {
    OsStr::from_bytes(bytes)
}
