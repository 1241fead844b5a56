//! A whole small world for one test: a real bare repository and clone, the fake GitHub with reviewers that react, the scripted
//! editor, and the real program. Hermetic: nothing of the machine's git, GitHub or user set-up takes part.
pub(crate) mod end;
pub(crate) mod says;

use std::collections::BTreeMap;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Value, json};

use crate::forge::{Forge, Logged};
use crate::process::helper;
use crate::support::{Said, output};

/// The token of every scene; it looks like nothing else, so that it can be searched for.
pub(crate) const TOKEN: &str = "canary-7f3dQ9+zz/Kw=token";
/// Where the remote says it is.
pub(crate) const URL: &str = "https://github.com/octo/pay.git";

/// Policy of the default branch in most scenes.
pub(crate) const POLICY: &str = r#"
[verify]
commands = ["sh spec/test.sh"]
[reviewers]
settle = "100ms"
[poll]
min = "100ms"
max = "300ms"
"#;

/// What a test sets up; everything has a default.
pub(crate) struct Plan {
    /// `.pushback.toml` of the default branch.
    pub(crate) policy: String,
    /// `[agent]` of the user's file; the scripted editor when empty.
    pub(crate) agent: String,
    /// More of the user's file.
    pub(crate) user: String,
    /// Whether posting was agreed to in the user's file.
    pub(crate) enabled: bool,
    /// What the scripted editor does.
    pub(crate) editor: Value,
    /// What reviewers do.
    pub(crate) script: Vec<Value>,
    /// Files of the default branch, beside the usual ones.
    pub(crate) base: Vec<(&'static str, String)>,
    /// Files of the pull request.
    pub(crate) feature: Vec<(&'static str, String)>,
    /// More of the pull request.
    pub(crate) pull: Value,
    /// More of the repository.
    pub(crate) repo: Value,
    /// Tokens of `me`.
    pub(crate) tokens: Value,
    /// Whether the program works in a linked worktree.
    pub(crate) linked: bool,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            policy: POLICY.to_owned(),
            agent: String::new(),
            user: String::new(),
            enabled: true,
            editor: json!({}),
            script: Vec::new(),
            base: vec![
                ("src/pay.sh", "price=$1\necho \"$price\"\n".to_owned()),
                ("spec/test.sh", "! grep -q BROKEN src/pay.sh\n".to_owned()),
            ],
            feature: vec![("src/pay.sh", says::PAY.to_owned())],
            pull: json!({}),
            repo: json!({}),
            tokens: json!([{ "token": TOKEN }]),
            linked: false,
        }
    }
}

/// The world.
pub(crate) struct Scene {
    _temp: tempfile::TempDir,
    pub(crate) root: Utf8PathBuf,
    pub(crate) bare: Utf8PathBuf,
    /// Where the program is started.
    pub(crate) work: Utf8PathBuf,
    pub(crate) forge: Forge,
    pub(crate) env: BTreeMap<String, String>,
    /// Flags that every call gets.
    pub(crate) flags: Vec<String>,
}

/// What a call left.
#[derive(Debug, Clone)]
pub(crate) struct Out {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Out {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("no JSON ({error}): {self:?}"))
    }

    pub(crate) fn all(&self) -> String {
        format!("{}\n{}", self.stdout, self.stderr)
    }

    /// Asserts the exit code and that all of these words were said.
    #[track_caller]
    pub(crate) fn ends(&self, code: i32, words: &[&str]) -> &Self {
        assert_eq!(self.code, code, "{}", self.all());
        for word in words {
            assert!(self.all().contains(word), "`{word}` is not said in:\n{}", self.all());
        }
        self
    }
}

fn merged(mut into: Value, more: &Value) -> Value {
    for (key, value) in more.as_object().into_iter().flatten() {
        into[key] = value.clone();
    }
    into
}

impl Scene {
    /// Builds a world.
    pub(crate) fn new(change: impl FnOnce(&mut Plan)) -> Self {
        let mut plan = Plan::default();
        change(&mut plan);
        let temp = tempfile::Builder::new().prefix("pushback scene ").tempdir().expect("a folder");
        let root = Utf8PathBuf::from_path_buf(temp.path().canonicalize().expect("a path")).expect("utf-8");
        let (bare, mut work) = (root.join("pay.git"), root.join("pay"));
        let env = environment(&root);
        let mut scene = Self {
            _temp: temp,
            bare: bare.clone(),
            work: work.clone(),
            forge: Forge::start(),
            env,
            flags: Vec::new(),
            root: root.clone(),
        };
        std::fs::create_dir_all(root.join("home/tmp")).expect("a home");
        std::fs::write(
            root.join("home/.gitconfig"),
            "[user]\nname = Me\nemail = me@example.invalid\n[init]\ndefaultBranch = main\n",
        )
        .expect("a file");
        scene.git_in(&root, &["init", "-q", "--bare", bare.as_str()]);
        scene.git_in(&root, &["init", "-q", work.as_str()]);
        scene.git(&["remote", "add", "origin", URL]);
        scene.git(&["config", &format!("url.{bare}.insteadOf"), URL]);
        scene.write_all(&plan.base);
        scene.write(".pushback.toml", &plan.policy);
        scene.git(&["add", "-A"]);
        scene.git(&["commit", "-q", "-m", "The base"]);
        scene.git(&["push", "-q", "origin", "main"]);
        if plan.linked {
            let linked = root.join("linked tree");
            scene.git(&["worktree", "add", "-q", "-b", "feature", linked.as_str()]);
            work = linked;
            scene.work = work;
        } else {
            scene.git(&["switch", "-q", "-c", "feature"]);
        }
        scene.write_all(&plan.feature);
        scene.git(&["add", "-A"]);
        scene.git(&["commit", "-q", "-m", "Charge by rate"]);
        scene.git(&["push", "-q", "-u", "origin", "feature"]);
        scene.configure(&plan);
        scene.serve(&plan);
        scene
    }

    fn configure(&mut self, plan: &Plan) {
        let editor = self.root.join("editor.json");
        self.script_editor(&plan.editor);
        let agent = match plan.agent.as_str() {
            "" => format!(
                "[agent]\nname = \"command\"\ncommand = [{:?}, {:?}]\n",
                helper("scripted-editor").as_str(),
                editor.as_str()
            ),
            other => other.to_owned(),
        };
        let post = if plan.enabled { "[post]\nenabled = true\n" } else { "" };
        let user = self.root.join("user.toml");
        std::fs::write(&user, format!("{agent}{post}{}", plan.user)).expect("a file");
        self.env.insert("PUSHBACK_CONFIG".to_owned(), user.to_string());
        self.env.insert("PUSHBACK_API_URL".to_owned(), self.forge.url().to_owned());
        self.env.insert("PUSHBACK_TOKEN".to_owned(), TOKEN.to_owned());
    }

    fn serve(&self, plan: &Plan) {
        let pull = json!({
            "number": 7, "title": "Charge by rate", "body": "Prices are multiplied by a rate.\n\nNobody pays nothing.",
            "head": "feature", "author": "me", "script": plan.script,
        });
        let repo = json!({
            "name": "octo/pay", "git": self.bare, "default_branch": "main", "collaborators": { "me": "write", "ann": "write" },
            "pulls": [merged(pull, &plan.pull)],
        });
        let users = json!([{ "login": "me", "tokens": plan.tokens }]);
        self.forge.scene(json!({ "users": users, "repos": [merged(repo, &plan.repo)] }));
    }

    /// Changes what the editor will do.
    pub(crate) fn script_editor(&self, editor: &Value) {
        let scenario = merged(json!({ "record": self.root.join("seen") }), editor);
        std::fs::write(self.root.join("editor.json"), scenario.to_string()).expect("a file");
    }

    /// Runs git in the worktree.
    pub(crate) fn git(&self, args: &[&str]) -> String {
        self.git_in(&self.work, args)
    }

    /// Runs git in a folder.
    pub(crate) fn git_in(&self, dir: &Utf8Path, args: &[&str]) -> String {
        let mut git = Command::new("git");
        let run = output(git.args(args).current_dir(dir).env_clear().envs(&self.env).stdin(Stdio::null()));
        assert!(run.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&run.stderr));
        String::from_utf8_lossy(&run.stdout).trim().to_owned()
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.work.join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        std::fs::write(path, text).expect("a file");
    }

    fn write_all(&self, files: &[(&'static str, String)]) {
        for (path, text) in files {
            self.write(path, text);
        }
    }

    pub(crate) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.work.join(path)).unwrap_or_default()
    }

    /// Prepares a call of the program.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pushback"));
        command.args(&self.flags).args(args).current_dir(&self.work).env_clear().envs(&self.env).stdin(Stdio::null());
        command
    }

    /// Calls the program and waits for it, 60 s at most.
    pub(crate) fn run(&self, args: &[&str]) -> Out {
        finish(start(self.command(args)))
    }

    /// Starts the program.
    pub(crate) fn start(&self, args: &[&str]) -> Running {
        start(self.command(args))
    }

    /// Returns the folder of the pull request's state.
    pub(crate) fn state_dir(&self) -> Utf8PathBuf {
        self.root.join("pay/.git/pushback/github.com/octo/pay/7")
    }

    /// Returns the bytes of `summary.json`, if it is there.
    pub(crate) fn summary_bytes(&self) -> Option<Vec<u8>> {
        std::fs::read(self.state_dir().join("summary.json")).ok()
    }

    /// Returns `summary.json`.
    pub(crate) fn summary(&self) -> Value {
        serde_json::from_slice(&self.summary_bytes().expect("a summary")).expect("JSON")
    }

    /// Returns status by finding title.
    pub(crate) fn statuses(&self) -> BTreeMap<String, String> {
        let summary = self.summary();
        let entries = summary["comments"].as_object().cloned().unwrap_or_default();
        let pair = |e: &Value| (text(&e["title"]), format!("{} {}", text(&e["severity"]), text(&e["status"])));
        entries.values().map(pair).collect()
    }

    /// Returns what the editor saw of a kind in a round: `prompt-1.txt`, `env-1.txt`, `findings-1.json`.
    pub(crate) fn seen(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.root.join("seen").join(name)).ok()
    }

    /// Counts the editor's rounds that were recorded.
    pub(crate) fn editor_rounds(&self) -> usize {
        let files = std::fs::read_dir(self.root.join("seen")).into_iter().flatten().flatten();
        files.filter(|file| file.file_name().to_string_lossy().starts_with("prompt-")).count()
    }

    /// Returns the requests that change something: method and path.
    pub(crate) fn writes(&self) -> Vec<String> {
        let log = self.forge.log();
        let reads = |l: &Logged| l.method == "GET" || (l.path.ends_with("/graphql") && !l.body.contains("mutation"));
        let changes = log.iter().filter(|l| !reads(l));
        changes.map(|l| format!("{} {}", l.method, l.path)).collect()
    }

    /// Returns the branch's head at the remote.
    pub(crate) fn remote_head(&self) -> String {
        self.git_in(&self.bare, &["rev-parse", "feature"])
    }

    /// Asserts that a call changes nothing outside and nothing in the state but times.
    #[track_caller]
    pub(crate) fn changes_nothing(&self, args: &[&str]) -> Out {
        let (before, head, state) = (self.writes().len(), self.remote_head(), self.statuses());
        let seen = self.editor_rounds();
        let out = self.run(args);
        assert_eq!(self.writes().len(), before, "something was written: {:?}\n{}", self.writes(), out.all());
        assert_eq!((self.remote_head(), self.statuses(), self.editor_rounds()), (head, state, seen), "{}", out.all());
        out
    }
}

impl Scene {
    /// Asserts that a call writes nothing outside; the state may be built anew.
    #[track_caller]
    pub(crate) fn changes_nothing_but_state(&self, args: &[&str]) -> Out {
        let (before, head, seen) = (self.writes().len(), self.remote_head(), self.editor_rounds());
        let out = self.run(args);
        assert_eq!(self.writes().len(), before, "something was written: {:?}\n{}", self.writes(), out.all());
        assert_eq!((self.remote_head(), self.editor_rounds()), (head, seen), "{}", out.all());
        out
    }
}

fn environment(root: &Utf8Path) -> BTreeMap<String, String> {
    let path = std::env::var("PATH").expect("a PATH");
    let home = root.join("home");
    let pairs = [
        ("PATH", path.as_str()),
        ("HOME", home.as_str()),
        ("TMPDIR", root.join("home/tmp").as_str()),
        ("XDG_CONFIG_HOME", root.join("home/.config").as_str()),
        ("GIT_CONFIG_GLOBAL", root.join("home/.gitconfig").as_str()),
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("LANG", "C.UTF-8"),
        ("TZ", "UTC"),
        ("COLUMNS", "80"),
        ("NO_COLOR", "1"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()));
    BTreeMap::from(pairs)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// A call that is under way; its output is read as it comes.
pub(crate) struct Running {
    pub(crate) child: Child,
    stdout: Said,
    stderr: Said,
}

impl Running {
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, name: &str) {
        let _ = Command::new("kill").args([&format!("-{name}"), &self.pid().to_string()]).status();
    }

    pub(crate) fn end(self) -> Out {
        finish(self)
    }
}

fn start(mut command: Command) -> Running {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
    let (out, err) = (child.stdout.take().expect("stdout"), child.stderr.take().expect("stderr"));
    Running { child, stdout: Said::by(out), stderr: Said::by(err) }
}

fn finish(mut running: Running) -> Out {
    use std::os::unix::process::ExitStatusExt as _;
    let started = Instant::now();
    let status = loop {
        if let Some(status) = running.child.try_wait().expect("a child") {
            break status;
        }
        if started.elapsed() > Duration::from_secs(60) {
            let _ = running.child.kill();
            let status = running.child.wait().expect("a child");
            let out = String::from_utf8_lossy(&running.stderr.all("the program")).into_owned();
            panic!("the program did not end in 60 s ({status}): {out}");
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let text = |said: Said| String::from_utf8_lossy(&said.all("the program")).into_owned();
    Out {
        code: status.code().unwrap_or_else(|| 1000 + status.signal().unwrap_or(0)),
        stdout: text(running.stdout),
        stderr: text(running.stderr),
    }
}
