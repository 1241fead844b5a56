//! The `command` agent as the program that it starts sees it.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::cell::RefCell;
use std::fs;
use std::rc::Rc;
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use pushback::agent::prompt::Prompts;
use pushback::agent::{CommandAgent, Setup};
use pushback::ports::{Agent, AgentOutcome, AgentReport, Brief, Event, Reporter};
use serde_json::{Value, json};

use crate::process::{helper, marked, supervisor};
use crate::prompts::view;

#[derive(Default)]
struct Heard(RefCell<Vec<Event>>);

impl Reporter for Heard {
    fn tell(&self, event: Event) {
        self.0.borrow_mut().push(event);
    }
}

struct Stage {
    _folder: tempfile::TempDir,
    root: Utf8PathBuf,
    setup: Setup,
    heard: Heard,
}

impl Stage {
    fn new(scenario: &Value) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = Utf8PathBuf::try_from(folder.path().to_owned()).unwrap();
        fs::create_dir_all(root.join("work/.pushback")).unwrap();
        fs::write(root.join("scenario.json"), scenario.to_string().replace("$ROOT", root.as_str())).unwrap();
        let setup = Setup {
            command: vec![helper("scripted-editor").into_string(), root.join("scenario.json").into_string()],
            model: None,
            wrap: Vec::new(),
            timeout: Duration::from_secs(60),
            silence: None,
            grace: Duration::from_secs(20),
            env: Vec::new(),
            secrets: Vec::new(),
            worktree: root.join("work"),
            runs: root.join("runs"),
            prompts: Prompts::default(),
            supervisor: supervisor(),
            stop: Rc::new(|| false),
        };
        Self { _folder: folder, root, setup, heard: Heard::default() }
    }

    fn sh(line: &str) -> Self {
        let mut stage = Self::new(&json!({}));
        stage.setup.command = vec!["sh".into(), "-c".into(), line.into()];
        stage
    }

    fn run(&self) -> AgentReport {
        let scratch = self.root.join("work/.pushback");
        let brief = Brief {
            round: 2,
            view: view(Vec::new()),
            findings: scratch.join("findings.json"),
            decisions: scratch.join("decisions.json"),
            spec: scratch.join("spec.md"),
            time_left: Duration::from_secs(50),
        };
        CommandAgent::new(self.setup.clone()).run(&brief, &self.heard)
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.root.join(path)).unwrap()
    }
}

#[test]
fn the_brief_arrives_and_the_answers_are_where_they_should_be() {
    let stage = Stage::new(&json!({
        "record": "$ROOT/seen",
        "rounds": { "2": { "say": ["\u{1b}[1mworking"], "edits": [{ "path": "a.txt", "write": "new\n" }],
                           "decisions": [{ "id": "c1", "decision": "fix" }] } },
        "otherwise": { "exit": 9 },
    }));
    let report = stage.run();
    assert_eq!(report.outcome, AgentOutcome::Completed);
    assert_eq!((report.swept, report.swept_clean, report.tokens), (0, true, 0));
    assert_eq!(stage.read("seen/prompt-2.txt"), Prompts::default().fix(&view(Vec::new())).unwrap());
    assert_eq!(stage.read("work/a.txt"), "new\n");
    let decisions: Value = serde_json::from_str(&stage.read("work/.pushback/decisions.json")).unwrap();
    assert_eq!(decisions, json!({ "schema_version": 1, "decisions": [{ "id": "c1", "decision": "fix" }] }));
    let env = stage.read("seen/env-2.txt");
    for line in ["PUSHBACK_ROUND=2", "CI=1", "TERM=dumb", "NO_COLOR=1", "GIT_TERMINAL_PROMPT=0", "GIT_EDITOR=true"] {
        assert!(env.lines().any(|found| found == line), "{line}");
    }
    for (name, file) in [("FINDINGS", "findings.json"), ("DECISIONS", "decisions.json"), ("SPEC", "spec.md")] {
        assert!(env.contains(&format!("PUSHBACK_{name}={}/work/.pushback/{file}\n", stage.root)), "{name}");
    }
    assert!(matches!(&stage.heard.0.borrow()[..], [Event::Agent { doing, .. }] if doing == "working"));
    assert!(fs::read_to_string(report.log.unwrap()).unwrap().contains("working"));
}

#[test]
fn the_scripted_editor_answers_findings_by_their_words() {
    let stage = Stage::new(&json!({
        "findings": [
            { "contains": "off by one", "decision": "fix", "edits": [{ "path": "a.txt", "replace": "n - 1", "with": "n" }] },
            { "contains": "rename", "decision": "argue", "reason": "no" },
        ],
    }));
    fs::write(stage.root.join("work/a.txt"), "0..n - 1\n").unwrap();
    let findings = json!({ "review_findings": [
        { "id": "c1", "text": "This is off by one." }, { "id": "c2", "text": "please rename" }, { "id": "c3", "text": "else" },
    ] });
    fs::write(stage.root.join("work/.pushback/findings.json"), findings.to_string()).unwrap();
    assert_eq!(stage.run().outcome, AgentOutcome::Completed);
    assert_eq!(stage.read("work/a.txt"), "0..n\n");
    let decisions: Value = serde_json::from_str(&stage.read("work/.pushback/decisions.json")).unwrap();
    assert_eq!(
        decisions["decisions"],
        json!([{ "id": "c1", "decision": "fix" }, { "id": "c2", "decision": "argue", "reason": "no" }])
    );
}

#[test]
fn r22_the_end_says_whether_it_was_an_attempt() {
    let check = |line: &str, environment: bool, words: &str| {
        let outcome = Stage::sh(line).run().outcome;
        assert_eq!(outcome.environment(), environment, "{line}: {outcome:?}");
        assert!(format!("{outcome:?}").contains(words), "{line}: {outcome:?}");
    };
    check("exit 0", false, "Completed");
    check("exit 1", false, "exited with 1");
    check("echo cannot parse >&2; exit 2", false, "its last words: cannot parse");
    check("exit 75", true, "exit 75");
    check("echo 'Not logged in'; exit 75", true, "AuthFailed");
    check("kill -SEGV $$", false, "signal 11");
    // FC-40
    check("echo 'You have hit your usage limit'", true, "RateLimited");
    check("echo 'Error: 429' >&2; exit 1", true, "RateLimited");
    check("echo '{}' > $PUSHBACK_DECISIONS; echo 'usage limit reached'", false, "Completed");
}

#[test]
fn r22_what_cannot_be_started_is_no_attempt() {
    let missing = |change: &dyn Fn(&mut Setup)| {
        let mut stage = Stage::sh("exit 0");
        change(&mut stage.setup);
        let report = stage.run();
        assert!(report.outcome.environment(), "{:?}", report.outcome);
        format!("{:?}", report.outcome)
    };
    assert!(missing(&|setup| setup.command = vec!["no-such-editor".into()]).contains("no-such-editor"));
    assert!(missing(&|setup| setup.command = Vec::new()).contains("agent.command"));
    assert!(missing(&|setup| setup.wrap = vec!["no-such-sandbox".into()]).contains("no-such-sandbox"));
}

#[test]
fn fm_27_limits_are_kept_and_the_tree_ends() {
    let mut silent = Stage::sh("echo 'Allow this write? [y/N]'; exec sleep 300");
    silent.setup.silence = Some(Duration::from_millis(300));
    // FC-57
    assert!(matches!(silent.run().outcome, AgentOutcome::TimedOut(why) if why.contains("Allow this write?")));
    let mut long = Stage::sh("exec sleep 300");
    long.setup.timeout = Duration::from_millis(300);
    assert!(matches!(long.run().outcome, AgentOutcome::TimedOut(why) if why.contains("editor timed out")));
    let mut stopped = Stage::sh("exec sleep 300");
    stopped.setup.stop = Rc::new(|| true);
    assert_eq!(stopped.run().outcome, AgentOutcome::Cancelled);
    let daemon = Stage::new(&json!({ "record": "$ROOT/seen", "otherwise": { "misbehave": ["daemon"] } }));
    let report = daemon.run();
    assert!(report.swept >= 1 && report.swept_clean, "{report:?}");
    let env = daemon.read("seen/env-2.txt");
    let id = env.lines().find_map(|line| line.strip_prefix("PUSHBACK_RUN_ID=")).unwrap();
    assert_eq!(marked(id), [""; 0]);
}

/// Runs this very program's test again, alone, with secrets in its environment.
#[test]
fn fm_46_no_token_reaches_the_editor() {
    const CANARY: &str = "ghp_canary0123456789abcdefghijklmnopqrst";
    if std::env::var("PUSHBACK_TEST_INNER").is_ok() {
        return inner_with_secrets();
    }
    let home = tempfile::tempdir().unwrap();
    let helper_line = "[credential \"https://github.com\"]\n\thelper = \"!f() { echo username=u; echo password=CANARY; }; f\"\n[credential]\n\thelper = \"!f() { echo username=u; echo password=CANARY; }; f\"\n";
    let header = "[http \"https://github.com/\"]\n\textraheader = AUTHORIZATION: basic CANARY\n\
                  [http \"https://git.corp/\"]\n\textraheader = AUTHORIZATION: basic CANARY\n[http]\n\textraheader = X: CANARY\n\
                  [core]\n\taskPass = /bin/echo\n";
    fs::write(home.path().join(".gitconfig"), format!("{helper_line}{header}").replace("CANARY", CANARY)).unwrap();
    fs::create_dir_all(home.path().join(".config/gh")).unwrap();
    fs::write(home.path().join(".config/gh/hosts.yml"), format!("github.com:\n  oauth_token: {CANARY}\n")).unwrap();
    let askpass = home.path().join("askpass");
    fs::write(&askpass, format!("#!/bin/sh\necho {CANARY}\n")).unwrap();
    fs::set_permissions(&askpass, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "agent::fm_46_no_token_reaches_the_editor", "--nocapture"]);
    command.env("PUSHBACK_TEST_INNER", "1").env("HOME", home.path()).env("SSH_AUTH_SOCK", "/tmp/agent.sock");
    command.env("GIT_ASKPASS", &askpass).env("SSH_ASKPASS", &askpass).env("MY_KEY", format!("x{CANARY}"));
    for name in
        ["GH_TOKEN", "GITHUB_TOKEN", "PUSHBACK_TOKEN", "PUSHBACK_REVIEWER_TOKEN", "GH_ENTERPRISE_TOKEN", "NPM_TOKEN"]
    {
        command.env(name, CANARY);
    }
    let output = command.env("GITHUB_SERVER_URL", "https://git.corp").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
    assert!(!said.contains(CANARY), "{said}");
}

fn inner_with_secrets() {
    let canary = std::env::var("PUSHBACK_TOKEN").unwrap();
    let mut stage = Stage::sh(
        "exec 2>&1; env; tr '\\0' '\\n' < /proc/$PPID/environ; tr '\\0' ' ' < /proc/$PPID/cmdline; \
         printf 'protocol=https\\nhost=github.com\\n\\n' | git credential fill; echo fill=$?; \
         for url in https://github.com/o/r https://git.corp/o/r https://else.where; do \
         echo \"header=$(git config --get-urlmatch http.extraheader $url)\"; done; \
         gh auth token; ls -A \"$GH_CONFIG_DIR\"; ssh-add -l; echo add=$?; echo other=$OTHER",
    );
    // Asked for by name: the forge's tokens and the token's value are refused all the same.
    stage.setup.env = ["GITHUB_TOKEN", "SSH_AUTH_SOCK", "MY_KEY", "PUSHBACK_TEST_INNER"].map(str::to_owned).to_vec();
    stage.setup.secrets = vec![canary.clone().into()];
    let report = stage.run();
    assert_eq!(report.outcome, AgentOutcome::Completed);
    let log = fs::read_to_string(report.log.unwrap()).unwrap();
    let checks = [
        ("the canary", !log.contains(&canary)),
        ("git credential fill fails", log.contains("fill=128")),
        ("no header of git", log.matches("header=\n").count() == 3),
        ("ssh-add fails", log.contains("add=2")),
        ("no socket", !log.contains("SSH_AUTH_SOCK")),
        ("no askpass", !log.contains("ASKPASS")),
        ("named variable", log.contains("PUSHBACK_TEST_INNER=1")),
    ];
    for (what, holds) in checks {
        assert!(holds, "{what}");
    }
    for entry in walk(&stage.root) {
        assert!(!String::from_utf8_lossy(&fs::read(&entry).unwrap()).contains(&canary), "{entry}");
    }
}

fn walk(folder: &Utf8Path) -> Vec<Utf8PathBuf> {
    let entries = folder.read_dir_utf8().unwrap().flatten();
    entries.flat_map(|entry| if entry.path().is_dir() { walk(entry.path()) } else { vec![entry.into_path()] }).collect()
}
