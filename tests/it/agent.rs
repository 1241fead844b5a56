//! The `command` agent as the program that it starts sees it.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::cell::RefCell;
use std::fs;
use std::rc::Rc;
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use pushback::agent::prompt::Prompts;
use pushback::agent::{KNOWN, Setup, editor, version};
use pushback::ports::{AgentOutcome, AgentReport, Brief, Event, Reporter};
use pushback::process::ProcessError;
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

    /// A known editor, played by a shell script that finds its arguments in `$*`.
    fn playing(script: &str) -> Self {
        let mut stage = Self::new(&json!({}));
        let program = stage.root.join("editor");
        // Asked for its options it tells nothing.
        let quiet = "case \" $* \" in *' --help '*) exit 0 ;; esac";
        fs::write(&program, format!("#!/bin/sh\n{quiet}\n{}\n", script.replace("$ROOT", stage.root.as_str()))).unwrap();
        fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        stage.setup.command = vec![program.into_string()];
        stage
    }

    fn run(&self) -> AgentReport {
        self.run_as("command")
    }

    fn run_as(&self, name: &str) -> AgentReport {
        let scratch = self.root.join("work/.pushback");
        let brief = Brief {
            round: 2,
            view: view(Vec::new()),
            findings: scratch.join("findings.json"),
            decisions: scratch.join("decisions.json"),
            spec: scratch.join("spec.md"),
            time_left: Duration::from_secs(50),
            cost_left: Some(12.5),
        };
        let agent = editor(name, self.setup.clone()).unwrap();
        assert_eq!(agent.name(), name);
        agent.run(&brief, &self.heard)
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
    let asked = silent.run().outcome;
    assert!(
        matches!(&asked, AgentOutcome::TimedOut(why) if why.contains("asked a question, and nobody answers here: Allow this write?")),
        "{asked:?}"
    );
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

/// The last event of Claude Code.
const DONE: &str = r#"{"type":"result","subtype":"success","is_error":false,"result":"Done.","session_id":"s-1","total_cost_usd":0.5,"usage":{"input_tokens":7,"output_tokens":3},"structured_output":{"schema_version":1,"decisions":[{"id":"c1","decision":"fix","reason":null,"places":["a.rs:1-2"],"plan":null}]}}"#;

/// What it says of a session that it does not know.
const UNKNOWN: &str = r#"{"type":"result","subtype":"error_during_execution","is_error":true,"num_turns":0,"session_id":"s-1","total_cost_usd":0,"usage":{"input_tokens":0,"output_tokens":0}}"#;

#[test]
fn fm_29_a_flood_does_not_hide_the_last_event() {
    let stage = Stage::playing(&format!(
        "echo '{{\"type\":\"system\"}}'; head -c 20000000 /dev/zero | tr '\\\\0' x; echo; head -c 20000000 /dev/urandom; echo; echo '{DONE}'"
    ));
    let report = stage.run_as("claude");
    assert_eq!(report.outcome, AgentOutcome::Completed);
    assert!(fs::metadata(report.log.unwrap()).unwrap().len() < 5_000_000);
}

#[test]
fn an_editor_tells_its_version() {
    let told = |script: &str| {
        let stage = Stage::playing(script);
        version(&supervisor(), &stage.setup.command[0], &stage.root)
    };
    assert_eq!(
        told("[ \"$1\" = --version ] && echo && echo '2.1.332 (Claude Code)'"),
        Ok("2.1.332 (Claude Code)".into())
    );
    assert!(told("echo 1.0; exit 3").is_err());
    assert!(told("exit 0").is_err());
    let nowhere = Utf8PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    assert!(matches!(version(&supervisor(), "no-such-editor", &nowhere.join("target")), Err(ProcessError::Missing(_))));
}

#[test]
fn the_answer_of_claude_becomes_the_decisions_file() {
    let stage = Stage::playing(&format!("printf '%s\\n' \"$@\" > $ROOT/args; cat > $ROOT/prompt; echo '{DONE}'"));
    let report = stage.run_as("claude");
    assert_eq!(report.outcome, AgentOutcome::Completed);
    assert_eq!(report.tokens, 10);
    assert!((report.cost_usd - 0.5).abs() < 1e-9);
    let decisions: Value = serde_json::from_str(&stage.read("work/.pushback/decisions.json")).unwrap();
    let wanted =
        json!({ "schema_version": 1, "decisions": [{ "id": "c1", "decision": "fix", "places": ["a.rs:1-2"] }] });
    assert_eq!(decisions, wanted);
    // FC-53: the brief is on a closed standard input and nowhere on the command line.
    assert_eq!(stage.read("prompt"), Prompts::default().fix(&view(Vec::new())).unwrap());
    assert!(!stage.read("args").contains("k7q2m9x4"));
}

#[test]
fn the_answer_of_aider_is_read_where_its_lines_are_whole() {
    let stage = Stage::playing(
        "while [ $# -gt 0 ]; do [ \"$1\" != --chat-history-file ] || chat=$2; shift; done\n\
         printf '#### {\"decisions\":\\n#### []}\\nSo:\\n{\"decisions\":[{\"id\":\"c1\",\"reason\":\"a b\"}]}\\n' > $chat\n\
         printf 'So:\\n{\"decisions\":[{\"id\":\"c1\",\"reason\":\"a\\nb\"}]}\\nTokens: 1.0k sent, 50 received.\\n'",
    );
    let report = stage.run_as("aider");
    assert_eq!((report.outcome, report.tokens), (AgentOutcome::Completed, 1050));
    assert_eq!(stage.read("work/.pushback/decisions.json"), r#"{"decisions":[{"id":"c1","reason":"a b"}]}"#);
    // What it was told is no answer of its own, on one line neither.
    let told = Stage::playing(
        "while [ $# -gt 0 ]; do [ \"$1\" != --chat-history-file ] || chat=$2; shift; done\n\
         printf '#### {\"decisions\":[{\"id\":\"c1\",\"decision\":\"argue\",\"reason\":\"x\"}]}\\n' > $chat\n\
         printf 'Nothing to do.\\nTokens: 1.0k sent, 50 received.\\n'",
    );
    told.run_as("aider");
    assert!(!told.root.join("work/.pushback/decisions.json").exists());
}

#[test]
fn what_the_editor_wrote_itself_stands_and_no_link_is_followed() {
    let own = Stage::playing(&format!("echo mine > $PUSHBACK_DECISIONS; echo '{DONE}'"));
    assert_eq!(own.run_as("claude").outcome, AgentOutcome::Completed);
    assert_eq!(own.read("work/.pushback/decisions.json"), "mine\n");
    let linked = Stage::playing(&format!(
        "rm -r $ROOT/work/.pushback; mkdir $ROOT/else; ln -s $ROOT/else $ROOT/work/.pushback; echo '{DONE}'"
    ));
    assert!(matches!(linked.run_as("claude").outcome, AgentOutcome::Unparseable(_)));
    assert!(fs::read_dir(linked.root.join("else")).unwrap().next().is_none());
}

#[test]
fn a_session_goes_on_and_a_lost_one_costs_nothing() {
    let stage = Stage::playing(&format!(
        "echo \"$*\" >> $ROOT/calls; cat > $ROOT/prompt\n\
         case \"$*\" in *'--resume s-1'*) [ ! -e $ROOT/gone ] || {{ echo '{UNKNOWN}'; echo 'No conversation found with session ID: s-1' >&2; exit 1; }};; esac\n\
         echo '{DONE}'"
    ));
    let call = |at: usize| stage.read("calls").lines().nth(at).unwrap_or_default().to_owned();
    let brief = Prompts::default().fix(&view(Vec::new())).unwrap();
    assert_eq!(stage.run_as("claude").outcome, AgentOutcome::Completed);
    assert!(!call(0).contains("--resume"));
    fs::remove_file(stage.root.join("work/.pushback/decisions.json")).unwrap();
    let again = stage.run_as("claude");
    assert_eq!(again.outcome, AgentOutcome::Completed);
    assert!(call(1).contains("--resume s-1"));
    // It reports what the session has cost, not what this round has.
    assert!(again.cost_usd.abs() < 1e-9 && again.tokens == 10, "{again:?}");
    let prompt = stage.read("prompt");
    assert!(prompt.ends_with(&brief) && prompt.len() > brief.len());
    fs::write(stage.root.join("gone"), "").unwrap();
    assert_eq!(stage.run_as("claude").outcome, AgentOutcome::Completed);
    assert!(call(2).contains("--resume s-1") && !call(3).contains("--resume"));
    assert_eq!(stage.read("prompt"), brief);
}

#[test]
fn r20_a_round_of_codex_counts_its_own_tokens() {
    let done = r#"{"type":"turn.completed","usage":{"input_tokens":N,"output_tokens":10}}"#;
    let answer = json!({ "type": "item.completed", "item": { "type": "agent_message", "text": "{\"decisions\":[{\"id\":\"c1\"}]}" } });
    let stage = Stage::playing(&format!(
        "echo '{{\"type\":\"thread.started\",\"thread_id\":\"t-1\"}}'; echo '{answer}'; echo '{done}' | sed s/N/$(cat $ROOT/sum)/"
    ));
    // The sum of the session, with one that was started anew at the end.
    let counted = [90, 190, 390, 40].map(|sum| {
        fs::write(stage.root.join("sum"), sum.to_string()).unwrap();
        let report = stage.run_as("codex");
        assert_eq!(report.outcome, AgentOutcome::Completed);
        fs::remove_file(stage.root.join("work/.pushback/decisions.json")).unwrap();
        report.tokens
    });
    assert_eq!(counted, [100, 100, 200, 50]);
}

#[test]
fn a_login_that_ends_between_rounds_does_not_lose_the_session() {
    let limited = r#"{"type":"result","subtype":"success","is_error":true,"api_error_status":429,"result":"429"}"#;
    let stage = Stage::playing(&format!(
        "echo \"$*\" >> $ROOT/calls\nif [ -e $ROOT/limited ]; then echo '{limited}'; exit 1; fi\necho '{DONE}'"
    ));
    assert_eq!(stage.run_as("claude").outcome, AgentOutcome::Completed);
    fs::write(stage.root.join("limited"), "").unwrap();
    assert!(matches!(stage.run_as("claude").outcome, AgentOutcome::RateLimited { .. }));
    fs::remove_file(stage.root.join("limited")).unwrap();
    assert_eq!(stage.run_as("claude").outcome, AgentOutcome::Completed);
    let calls = stage.read("calls");
    assert_eq!(calls.lines().map(|call| call.contains("--resume s-1")).collect::<Vec<_>>(), [false, true, true]);
}

#[test]
fn fc_55_final_words_and_then_silence_end_the_run_as_done() {
    let mut stage = Stage::playing(&format!("echo '{DONE}'; exec sleep 300"));
    stage.setup.grace = Duration::from_millis(300);
    assert_eq!(stage.run_as("claude").outcome, AgentOutcome::Completed);
    assert!(stage.root.join("work/.pushback/decisions.json").exists());
    // The words in what a tool printed are no last event.
    let quoted = json!({ "type": "user", "message": { "content": "{\"type\":\"result\"}" } });
    let mut stage = Stage::playing(&format!("echo '{quoted}'; exec sleep 300"));
    stage.setup.grace = Duration::from_millis(200);
    stage.setup.timeout = Duration::from_millis(900);
    assert!(matches!(stage.run_as("claude").outcome, AgentOutcome::TimedOut(_)));
}

#[test]
fn the_last_tool_or_file_is_told_while_it_works() {
    let edit = r#"{"type":"assistant","message":{"model":"m","content":[{"type":"tool_use","name":"Edit","input":{"file_path":"src/a.rs"}}]}}"#;
    let stage = Stage::playing(&format!("echo '{edit}'; echo '{DONE}'"));
    stage.run_as("claude");
    assert!(
        matches!(&stage.heard.0.borrow()[..], [Event::Agent { name, doing, .. }] if name == "claude" && doing == "Edit src/a.rs")
    );
}

#[test]
fn fc_57_options_that_are_missing_are_named_before_the_first_round() {
    let options = "--output-format --permission-mode acceptEdits --strict-mcp-config --allowedTools --json-schema";
    let stage = |known: &str| {
        let mut stage = Stage::new(&json!({}));
        let program = stage.root.join("editor");
        let script = format!(
            "#!/bin/sh\necho \"$*\" >>{0}/calls\ncase \"$*\" in --help) echo 'Options: {known}'; exit 0 ;; esac\necho '{DONE}'\n",
            stage.root
        );
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        stage.setup.command = vec![program.into_string()];
        stage
    };
    let calls = |stage: &Stage| stage.read("calls").lines().map(|line| line.starts_with("-p")).collect::<Vec<_>>();
    let old = stage(&options.replace("--permission-mode", "--mode"));
    for _ in 0..2 {
        let outcome = old.run_as("claude").outcome;
        assert!(outcome.environment(), "{outcome:?}");
        assert!(format!("{outcome:?}").contains("does not know --permission-mode, without which"), "{outcome:?}");
    }
    assert_eq!(calls(&old), [false], "asked once, never started");
    let new = stage(options);
    for _ in 0..2 {
        assert_eq!(new.run_as("claude").outcome, AgentOutcome::Completed);
        fs::remove_file(new.root.join("work/.pushback/decisions.json")).unwrap();
    }
    assert_eq!(calls(&new), [false, true, true], "asked once");
    // Another program of the same name is asked again.
    fs::write(new.root.join("editor"), "#!/bin/sh\necho 'Options: --output-format'\n").unwrap();
    assert!(matches!(new.run_as("claude").outcome, AgentOutcome::Missing(_)));
}

#[test]
fn fc_56_nothing_at_all_after_the_start() {
    let mut stage = Stage::playing("exec sleep 300");
    stage.setup.silence = Some(Duration::from_millis(300));
    for name in KNOWN.into_iter().chain(["command"]) {
        let outcome = stage.run_as(name).outcome;
        assert!(matches!(&outcome, AgentOutcome::TimedOut(why) if why.contains("said nothing")), "{name}: {outcome:?}");
        assert!(!outcome.environment(), "an attempt");
    }
}

#[test]
fn every_editor_is_called_without_bypass_and_ends_with_its_input() {
    for (name, wanted) in [
        ("claude", "-p --output-format stream-json --verbose --permission-mode acceptEdits --strict-mcp-config"),
        ("codex", "exec --json --skip-git-repo-check -s workspace-write -c analytics.enabled=false"),
        ("opencode", "run --format json -m one --more"),
        ("aider", "--message-file"),
    ] {
        let mut stage = Stage::playing("echo \"$*\" > $ROOT/args; cat > $ROOT/prompt; env > $ROOT/env");
        stage.setup.model = Some("one".into());
        stage.setup.command.push("--more".into());
        let outcome = stage.run_as(name).outcome;
        assert!(matches!(outcome, AgentOutcome::Unparseable(_)), "{name}: {outcome:?}");
        let args = stage.read("args");
        assert!(args.starts_with(wanted), "{name}: {args}");
        assert!(args.contains("one") && args.contains("--more"), "{name}: {args}");
        for bypass in ["dangerously", "bypass", "full-access", "yolo", "full-auto"] {
            assert!(!args.contains(bypass), "{name}: {args}");
        }
        let told = if name == "aider" {
            fs::read_to_string(args.split_whitespace().nth(1).unwrap()).unwrap()
        } else {
            stage.read("prompt")
        };
        assert_eq!(told, Prompts::default().fix(&view(Vec::new())).unwrap(), "{name}");
        let left = fs::read_dir(stage.root.join("work")).unwrap().count();
        assert_eq!(left, 1, "{name} leaves nothing but the scratchpad in the worktree");
        let config = if name == "opencode" { "\"edit\":\"allow\"" } else { "PUSHBACK_ROUND=2" };
        assert!(stage.read("env").contains(config), "{name}");
    }
}

/// Returns the words of the block in the documentation.
fn documented_wrap() -> Vec<String> {
    let text = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/agents.md")).unwrap();
    let block =
        text.split("<!-- tested").nth(1).unwrap().split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    let table: toml::Table = block.parse().unwrap();
    table["agent"]["wrap"].as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect()
}

#[test]
fn fm_31_the_documented_sandbox_keeps_the_editor_in_the_worktree() {
    let wrap = documented_wrap();
    let works = std::process::Command::new("bwrap")
        .args(["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-pid", "true"])
        .status();
    if !works.is_ok_and(|status| status.success()) {
        println!("SKIPPED: bubblewrap is not installed, or may not be used here");
        return;
    }
    let mut stage = Stage::sh(
        "cat > read; echo in > inside; echo out > ../outside; echo hook > .git/hooks/pre-push; \
         (setsid sh -c 'trap \"\" TERM; sleep 300' &) ; ls /proc | grep -c '^[0-9]'; echo done",
    );
    fs::create_dir_all(stage.root.join("work/.git/hooks")).unwrap();
    stage.setup.wrap = wrap;
    let report = stage.run();
    assert_eq!(report.outcome, AgentOutcome::Completed);
    assert!(report.swept_clean);
    assert_eq!(stage.read("work/inside"), "in\n");
    assert!(stage.read("work/read").contains("decisions"));
    assert!(!stage.root.join("outside").exists());
    assert!(!stage.root.join("work/.git/hooks/pre-push").exists());
    let log = fs::read_to_string(report.log.unwrap()).unwrap();
    assert!(log.lines().next().unwrap().parse::<u32>().unwrap() < 10, "{log}");
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
    command
        .env("ANTHROPIC_API_KEY", "k1")
        .env("OPENAI_API_KEY", "k2")
        .env("CODEX_HOME", "/codex")
        .env("CLAUDECODE", "1");
    command.env("ANTHROPIC_AUTH_TOKEN", CANARY);
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
         git push -q https://github.com/o/r HEAD; echo push=$?; gh auth token; echo gh=$?; ls -A \"$GH_CONFIG_DIR\"; ssh-add -l; echo add=$?; echo other=$OTHER",
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
        ("ssh-add fails", log.contains("add=2") || log.contains("add=127")),
        ("git push fails", log.contains("push=") && !log.contains("push=0\n")),
        ("gh auth token fails", log.contains("gh=") && !log.contains("gh=0\n")),
        ("no socket", !log.contains("SSH_AUTH_SOCK")),
        ("no askpass", !log.contains("ASKPASS")),
        ("named variable", log.contains("PUSHBACK_TEST_INNER=1")),
    ];
    for (what, holds) in checks {
        assert!(holds, "{what}");
    }
    for name in KNOWN {
        let mut stage = Stage::playing("env > $ROOT/env");
        stage.setup.env = ["GITHUB_TOKEN", "MY_KEY"].map(str::to_owned).to_vec();
        stage.setup.secrets = vec![canary.clone().into()];
        stage.run_as(name);
        let env = stage.read("env");
        assert!(!env.contains(&canary) && !env.contains("SSH_AUTH_SOCK") && !env.contains("CLAUDECODE"), "{name}");
        let key = if name == "codex" { "OPENAI_API_KEY=k2" } else { "ANTHROPIC_API_KEY=k1" };
        assert!(env.lines().any(|line| line == key), "{name}: {env}");
        assert_eq!(env.contains("CODEX_HOME=/codex"), name == "codex");
        assert_eq!(env.contains("OPENAI_API_KEY"), name != "claude");
    }
    for entry in walk(&stage.root) {
        assert!(!String::from_utf8_lossy(&fs::read(&entry).unwrap()).contains(&canary), "{entry}");
    }
}

fn walk(folder: &Utf8Path) -> Vec<Utf8PathBuf> {
    let entries = folder.read_dir_utf8().unwrap().flatten();
    entries.flat_map(|entry| if entry.path().is_dir() { walk(entry.path()) } else { vec![entry.into_path()] }).collect()
}
