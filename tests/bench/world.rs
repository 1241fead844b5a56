//! The place that is measured in: a bare repository, a worktree, the fake GitHub in this process, and how to call the programs.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::forge::{Bulk, Forge, state::Logged};
use crate::measure::{Program, git};

/// What a reviewer's bot asks for: titles and reasons, so that not all comments are one claim.
const TITLES: [&str; 8] = [
    "Check the length before the first access",
    "Close the file when reading fails",
    "Do not hold the lock over the network call",
    "Keep the error's cause in the message",
    "Compare the token in constant time",
    "Give the retry loop an upper bound",
    "Parse the date with its time zone",
    "Sort before removing duplicates",
];
const REASONS: [&str; 5] = [
    "An empty list reaches this line when the parser finds nothing, and `items[0]` ends the program without a word. A guard at \
     the start, or `first()` with a default, keeps it alive and lets the message say which file was empty.",
    "The caller returns early on the second branch, so that the handle stays open until the process ends; under load the \
     limit of open files is reached within minutes and every later request fails with a message that names another cause.",
    "Two workers can come here at once. The first one waits for an answer of the other side while the second one waits for \
     the first, and nothing but the time-out of the connection ends that; thirty seconds are a long time for a health check.",
    "The text that users see says only that something went wrong. Whoever reads the log later has to guess which of the four \
     calls failed; the error already carries it and only has to be passed on with `context`.",
    "Nothing bounds this. A server that answers 503 for an hour is asked some ten thousand times, and the quota of the account \
     is used up for everybody else; a cap and a growing pause with jitter are enough.",
];
/// Comments on one file; what is more goes to the next one.
const PER_FILE: usize = 100;

/// A P2 as a reviewer's bot writes it; `{{n}}` is the number of the comment.
fn body(n: usize) -> String {
    let title = TITLES[n % TITLES.len()];
    let (one, other) = (REASONS[n % REASONS.len()], REASONS[(n / 5 + n + 1) % REASONS.len()]);
    format!(
        "**<sub><sub>![P2 Badge](https://img.shields.io/badge/P2-yellow?style=flat)</sub></sub>  {title} (case {{{{n}}}} of {n})**\n\n\
         {one}\n\n{other}\n\nUseful? React with 👍 / 👎."
    )
}

pub const BOT: &str = "chatgpt-codex-connector[bot]";

pub struct World {
    pub forge: Forge,
    pub work: PathBuf,
    pub root: PathBuf,
    pub log: PathBuf,
    pushback: PathBuf,
    _temp: tempfile::TempDir,
}

impl World {
    /// Makes a repository with a pull request that has so many comments, and so many replies to them.
    pub fn new(pushback: &Path, comments: usize, replies: usize, config: &str) -> Self {
        let temp = tempfile::Builder::new().prefix("pushback-bench").tempdir().expect("a folder");
        let root = temp.path().canonicalize().expect("a path");
        let (bare, work) = (root.join("app.git"), root.join("app"));
        std::fs::write(root.join("gitconfig"), "[user]\nname = Bench\nemail = bench@example.invalid\n")
            .expect("writes");
        git(&root, &["init", "-q", "--bare", "-b", "main", "app.git"]);
        git(&root, &["init", "-q", "-b", "main", "app"]);
        std::fs::create_dir(work.join("src")).expect("a folder");
        std::fs::write(work.join("README.md"), "An app.\n").expect("writes");
        for (name, value) in [("user.name", "Bench"), ("user.email", "bench@example.invalid")] {
            git(&work, &["config", name, value]);
        }
        git(&work, &["remote", "add", "origin", "https://github.com/bench/app.git"]);
        git(&work, &["config", &format!("url.{}.insteadOf", bare.display()), "https://github.com/bench/app.git"]);
        git(&work, &["add", "-A"]);
        git(&work, &["commit", "-q", "-m", "Start"]);
        git(&work, &["push", "-q", "origin", "main"]);
        git(&work, &["switch", "-q", "-c", "topic"]);
        let files = comments.div_ceil(PER_FILE).max(1);
        let lines: String = (1..=60).map(|n| format!("let item_{n} = items[{n}];\n")).collect();
        for file in 0..files {
            std::fs::write(work.join(format!("src/a{file}.rs")), format!("// {file}\n{lines}")).expect("writes");
        }
        git(&work, &["add", "-A"]);
        git(&work, &["commit", "-q", "-m", "Items"]);
        git(&work, &["push", "-q", "-u", "origin", "topic"]);
        std::fs::write(root.join("config.toml"), config).expect("writes");
        let forge = Forge::with(json!({
            // Checking shapes is the tests' business and would be measured here.
            "settings": {"check_shapes": false, "rate_limit": 100_000_000, "graphql_limit": 100_000_000},
            "users": [{"login": "dev", "tokens": [{"token": "bench-token"}]}],
            "repos": [{"name": "bench/app", "git": bare, "default_branch": "main", "collaborators": {"dev": "write"},
                "pulls": [{"number": 7, "title": "Items", "body": "Reads items.", "head": "topic", "author": "dev"}]}],
        }));
        for file in 0..files {
            let here = PER_FILE.min(comments - file * PER_FILE);
            let (path, body) = (format!("src/a{file}.rs"), body(file));
            forge.bulk(&Bulk { user: BOT, path: &path, body: &body }, [here, replies * here / comments.max(1), 0, 0]);
        }
        forge.act(json!([
            {"review": {"user": BOT, "body": "Here are some suggestions. **Reviewed commit:** `{{head10}}`"}},
            {"issue_comment": {"user": "dev", "body": "Thanks, looking at it."}}
        ]));
        let log = root.join("stderr.txt");
        Self { forge, work, root, log, pushback: pushback.to_owned(), _temp: temp }
    }

    /// Calls `pushback` here.
    pub fn pushback(&self, args: &[&str]) -> Program {
        let argv = std::iter::once(self.pushback.to_string_lossy().into_owned());
        Program {
            argv: argv.chain(args.iter().map(|a| (*a).to_owned())).collect(),
            dir: self.work.clone(),
            env: self.env(&[
                ("PUSHBACK_API_URL", self.forge.url()),
                ("PUSHBACK_TOKEN", "bench-token"),
                ("PUSHBACK_CONFIG", &self.root.join("config.toml").to_string_lossy()),
            ]),
        }
    }

    /// Calls a shell script in which `gh` talks to the fake.
    ///
    /// `gh` speaks plain HTTP to the host `github.localhost` only; the fake takes that as a proxy's request.
    pub fn shell(&self, script: &str) -> Program {
        Program {
            argv: ["sh", "-c", script].map(str::to_owned).to_vec(),
            dir: self.work.clone(),
            env: self.env(&[
                ("GH_HOST", "github.localhost"),
                ("GH_TOKEN", "bench-token"),
                ("GH_ENTERPRISE_TOKEN", "bench-token"),
                ("GH_NO_UPDATE_NOTIFIER", "1"),
                ("GH_CONFIG_DIR", &self.root.join("gh").to_string_lossy()),
                ("HTTP_PROXY", self.forge.url()),
                ("http_proxy", self.forge.url()),
            ]),
        }
    }

    fn env(&self, more: &[(&str, &str)]) -> Vec<(String, String)> {
        let own = |name: &str| self.root.join(name).to_string_lossy().into_owned();
        let mut env = vec![
            ("HOME".to_owned(), own("home")),
            ("XDG_CONFIG_HOME".to_owned(), own("xdg")),
            ("GIT_CONFIG_GLOBAL".to_owned(), own("gitconfig")),
            ("GIT_CONFIG_NOSYSTEM".to_owned(), "1".to_owned()),
        ];
        env.extend(more.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())));
        env
    }

    /// Forgets everything `pushback` keeps: its state and its kept answers.
    pub fn forget(&self) {
        let _ = std::fs::remove_dir_all(self.work.join(".git/pushback"));
    }

    /// Sets how long each request takes.
    pub fn latency(&self, ms: u64) {
        self.forge.set(|s| s.latency_ms = ms);
    }

    /// Returns the requests since this many.
    pub fn since(&self, n: usize) -> Vec<Logged> {
        self.forge.log().split_off(n)
    }
}

/// Counts round trips: requests that were in flight together count once. Two requests are of one round trip when the
/// later one arrived before the earlier one's answer could have.
pub fn round_trips(log: &[Logged], latency_ms: u64) -> usize {
    let mut arrived: Vec<u64> = log.iter().map(|l| l.arrived_ms).collect();
    arrived.sort_unstable();
    let (mut trips, mut until) = (0, 0);
    for at in arrived {
        if trips == 0 || at >= until {
            (trips, until) = (trips + 1, at + latency_ms);
        }
    }
    trips
}

/// Writes the reads of a log as a script of `gh api` calls, one after the other, pages followed by `gh` itself.
pub fn as_gh_script(log: &[Logged]) -> String {
    let mut script = String::new();
    let mut calls = 0;
    for read in log {
        let later_page = read.query.split('&').any(|part| part.starts_with("page=") && part != "page=1");
        if read.path == "/graphql" {
            script.push_str(&format!("gh api graphql --input - >/dev/null <<'END'\n{}\nEND\n", read.body));
        } else if read.method == "GET" && !later_page {
            let query = if read.query.is_empty() { String::new() } else { format!("?{}", read.query) };
            let path = read.path.trim_start_matches('/');
            // A file or protection that is not there is an answer too.
            script.push_str(&format!("gh api --paginate '{path}{query}' >/dev/null 2>&1 || :\n"));
        } else {
            continue;
        }
        calls += 1;
    }
    format!("# {calls} calls\n{script}")
}
