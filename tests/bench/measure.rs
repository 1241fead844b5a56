//! Runs programs and says what they took. Decides nothing about goals.

use std::ffi::OsStr;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What one run of a program took.
#[derive(Debug, Clone, Copy, Default)]
pub struct Took {
    pub wall: Duration,
    /// User and system time, its children included.
    pub cpu: Duration,
    /// Peak resident memory of the largest process.
    pub kib: u64,
    pub code: i32,
}

/// A program to run again and again in one place.
pub struct Program {
    pub argv: Vec<String>,
    pub dir: std::path::PathBuf,
    pub env: Vec<(String, String)>,
}

impl Program {
    /// Prepares the command with its environment and nothing else of ours but the path.
    pub fn command(&self, before: &[&str]) -> Command {
        let mut words = before.iter().map(|w| (*w).to_owned()).chain(self.argv.iter().cloned());
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words).current_dir(&self.dir).env_clear().stdin(Stdio::null());
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.envs(self.env.iter().map(|(n, v)| (n, v)));
        command
    }

    /// Runs it once. Standard error goes to a file, so that a failure can be told.
    pub fn once(&self, log: &Path) -> Took {
        self.into(log, Path::new("/dev/null"))
    }

    /// Runs it once with its output in a file.
    pub fn into(&self, log: &Path, out: &Path) -> Took {
        let figures = log.with_extension("figures");
        let figures_name = figures.to_string_lossy().into_owned();
        let mut command = self.command(&["/usr/bin/time", "-q", "-f", "%U %S %M", "-o", &figures_name]);
        command.stdout(File::create(out).expect("an output file")).stderr(File::create(log).expect("a log"));
        let started = Instant::now();
        let status = command.status().expect("the program starts");
        let wall = started.elapsed();
        let text = std::fs::read_to_string(&figures).unwrap_or_default();
        let mut parts = text.lines().last().unwrap_or_default().split_whitespace();
        let mut seconds = || parts.next().and_then(|t| t.parse::<f64>().ok()).unwrap_or_default();
        let cpu = Duration::from_secs_f64(seconds() + seconds());
        let kib = seconds() as u64;
        Took { wall, cpu, kib, code: status.code().unwrap_or(-1) }
    }

    /// Runs it several times: median time, largest memory. `before` makes each run start alike.
    pub fn median(&self, runs: usize, log: &Path, mut before: impl FnMut(), good: impl Fn(i32) -> bool) -> Took {
        let mut all: Vec<Took> = (0..runs)
            .map(|_| {
                before();
                let took = self.once(log);
                if !good(took.code) {
                    let said = std::fs::read_to_string(log).unwrap_or_default();
                    panic!("{:?} ended with {}: {said}", self.argv, took.code);
                }
                took
            })
            .collect();
        all.sort_by_key(|took| took.wall);
        let kib = all.iter().map(|took| took.kib).max().unwrap_or_default();
        Took { kib, ..all[runs / 2] }
    }
}

/// Processor time per run, from the kernel's sum over all children, which is finer than that of one.
pub fn cpu_per_run(runs: u32, mut command: impl FnMut() -> Command) -> Duration {
    let before = children();
    for _ in 0..runs {
        let ok = command().stdout(Stdio::null()).stderr(Stdio::null()).stdin(Stdio::null()).status();
        assert!(ok.expect("starts").success(), "a program failed");
    }
    (children() - before) / runs
}

fn children() -> Duration {
    let text = std::fs::read_to_string("/proc/self/stat").expect("/proc");
    let after = text.rsplit_once(')').map(|(_, rest)| rest).unwrap_or_default();
    let fields: Vec<u64> = after.split_whitespace().map(|f| f.parse().unwrap_or_default()).collect();
    // Counted from the state, which is field 3: cutime is 16, cstime 17, in hundredths of a second.
    Duration::from_millis((fields[13] + fields[14]) * 10)
}

/// Resident memory of a process now and at its peak, in KiB.
pub fn resident(pid: u32) -> Option<(u64, u64)> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let field = |name: &str| {
        let line = text.lines().find(|l| l.starts_with(name))?;
        line.split_whitespace().nth(1)?.parse::<u64>().ok()
    };
    Some((field("VmRSS:")?, field("VmHWM:")?))
}

/// Runs git in a folder; a failure ends the bench.
pub fn git(dir: &Path, args: &[impl AsRef<OsStr>]) {
    let done = Command::new("git").current_dir(dir).args(args).output().expect("git starts");
    assert!(done.status.success(), "git: {}", String::from_utf8_lossy(&done.stderr));
}
