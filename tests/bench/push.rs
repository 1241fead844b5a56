//! What the installed hook adds to a push, and to a change of a ref that is none.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use super::{Table, ms};

/// Pushes of each kind.
const PUSHES: usize = 31;
/// Changes of a ref of each kind.
const CHANGES: usize = 101;
/// Time for the run that follows a push: without a token it ends by itself, and must not share the next push's time.
const REST: Duration = Duration::from_millis(250);

/// A clone and its bare repository on the same disk.
struct Clone {
    root: tempfile::TempDir,
}

impl Clone {
    fn new() -> Self {
        let clone = Self { root: tempfile::tempdir().expect("a folder") };
        let bare = clone.bare();
        let bare = bare.to_str().expect("utf-8");
        std::fs::create_dir(clone.work()).expect("a folder");
        clone.git(&["init", "-q", "--bare", bare]);
        clone.git(&["init", "-q", "-b", "feature", "."]);
        for (key, value) in [("user.name", "a"), ("user.email", "a@example.invalid"), ("gc.auto", "0")] {
            clone.git(&["config", key, value]);
        }
        clone.git(&["remote", "add", "origin", "https://github.com/octo/pay.git"]);
        clone.git(&["config", &format!("url.{bare}.insteadOf"), "https://github.com/octo/pay.git"]);
        clone.git(&["commit", "-q", "--allow-empty", "-m", "one"]);
        clone.git(&["push", "-q", "origin", "feature"]);
        clone
    }

    fn bare(&self) -> PathBuf {
        self.root.path().join("bare.git")
    }

    fn work(&self) -> PathBuf {
        self.root.path().join("work")
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.work()).env_clear().env("HOME", self.root.path()).env("GIT_CONFIG_NOSYSTEM", "1");
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command
    }

    fn git(&self, args: &[&str]) -> Duration {
        let started = Instant::now();
        let out = self.command(Path::new("git")).args(args).output().expect("git runs");
        let took = started.elapsed();
        assert!(out.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&out.stderr));
        took
    }

    fn push(&self) -> Duration {
        self.git(&["commit", "-q", "--allow-empty", "-m", "more"]);
        self.git(&["push", "-q", "origin", "feature"])
    }

    /// Moves a branch that nobody pushes to and fro.
    fn change(&self, n: usize) -> Duration {
        self.git(&["update-ref", "refs/heads/other", if n.is_multiple_of(2) { "HEAD" } else { "HEAD~1" }])
    }
}

/// Returns the medians of both, measured in turns, and the median of the differences.
fn in_turns(
    count: usize,
    mut plain: impl FnMut(usize) -> Duration,
    mut hooked: impl FnMut(usize) -> Duration,
) -> [f64; 3] {
    let mut pairs: Vec<(f64, f64)> = Vec::new();
    for n in 0..count {
        // Neither is always the one that finds the disk warm.
        let (one, other) = if n.is_multiple_of(2) {
            let one = plain(n);
            (one, hooked(n))
        } else {
            let other = hooked(n);
            (plain(n), other)
        };
        pairs.push((ms(one), ms(other)));
    }
    let median = |mut all: Vec<f64>| {
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    };
    [
        median(pairs.iter().map(|pair| pair.0).collect()),
        median(pairs.iter().map(|pair| pair.1).collect()),
        median(pairs.iter().map(|pair| pair.1 - pair.0).collect()),
    ]
}

/// Compares pushes with and without the hook.
pub(super) fn push(pushback: &Path, table: &mut Table) {
    let (plain, hooked) = (Clone::new(), Clone::new());
    let out = hooked.command(pushback).args(["hook", "install"]).output().expect("installs");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let [without, with, added] = in_turns(
        PUSHES,
        |_| plain.push(),
        |_| {
            let took = hooked.push();
            std::thread::sleep(REST);
            took
        },
    );
    let started = hooked.command(pushback).args(["hook", "status", "--json"]).output().expect("tells").stdout;
    let runs = String::from_utf8_lossy(&started).matches("\"sha\"").count();
    assert!(runs > 0, "no push started a run: {}", String::from_utf8_lossy(&started));
    let measured = format!("{added:.1} ms added ({with:.1} ms with the hook, {without:.1} ms without)");
    table.add(
        "`git push` to a bare repository on disk, with the hook",
        "at most 5 ms added",
        measured,
        Some(added <= 5.0),
    );
    let [without, with, added] = in_turns(CHANGES, |n| plain.change(n), |n| hooked.change(n));
    let measured = format!("{added:.1} ms added ({with:.1} ms with the hook, {without:.1} ms without)");
    table.add("a change of a ref that is no push (`git update-ref`)", "–", measured, None);
}
