//! The verifier over real command lines.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::cell::RefCell;
use std::fs;
use std::rc::Rc;
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use pushback::ports::{Event, Reporter, Verifier, VerifyReport};
use pushback::review::summary::VerifyState;
use pushback::verify::Commands;

use crate::process::supervisor;

struct Silent;

impl Reporter for Silent {
    fn tell(&self, _: Event) {}
}

fn commands(folder: &tempfile::TempDir, lines: &[&str]) -> Commands {
    let root = Utf8PathBuf::try_from(folder.path().to_owned()).unwrap();
    fs::create_dir_all(root.join("work")).unwrap();
    Commands {
        lines: lines.iter().map(|line| (*line).to_owned()).collect(),
        timeout: Duration::from_secs(30),
        env: Vec::new(),
        secrets: Vec::new(),
        worktree: root.join("work"),
        runs: root.join("runs"),
        supervisor: supervisor(),
        stop: Rc::new(|| false),
    }
}

fn verified(lines: &[&str]) -> VerifyReport {
    commands(&tempfile::tempdir().unwrap(), lines).verify(None, &Silent)
}

#[test]
fn r09_an_end_proves_what_it_proves() {
    use VerifyState::{CouldNotRun, Green, Red};
    let check = |line: &str, state: VerifyState, words: &str| {
        let report = verified(&[line]);
        assert_eq!(report.state, state, "{line}: {report:?}");
        assert!(report.why.contains(words), "{line}: {}", report.why);
    };
    check("true", Green, "`true` passed");
    check("echo '9 passed in 0.1s'", Green, "9 tests");
    check("false", Red, "exit 1");
    check("echo '1 failed, 8 passed in 0.1s'; exit 1", Red, "exit 1");
    check("kill -SEGV $$", Red, "signal 11");
    check("echo 'Test suite failed to run'; echo 'Tests:       0 total'; exit 1", Red, "exit 1");
    // FC-42
    check("no-such-tool-7", CouldNotRun, "not found");
    check("exit 127", CouldNotRun, "127");
    check("touch x; ./x", CouldNotRun, "126");
    check("echo '0 tests'", CouldNotRun, "no test ran");
    check("echo 'no tests ran in 0.01s'; exit 5", CouldNotRun, "no test to run");
    check("echo 'error: no such command: `nextest`'; exit 101", CouldNotRun, "no such command");
    check("kill -KILL $$", CouldNotRun, "killed");
}

#[test]
fn fc_42_a_limit_proves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut commands = commands(&folder, &["echo started; sleep 300"]);
    commands.timeout = Duration::from_millis(300);
    let report = commands.verify(None, &Silent);
    assert_eq!(report.state, VerifyState::CouldNotRun);
    assert!(report.why.contains("limit of 0.3 s") && report.log.ends_with("started"), "{report:?}");
}

#[test]
fn every_command_runs_and_the_worst_counts() {
    let report = verified(&[
        "echo '2 passed in 0.1s'",
        "echo oops; exit 3",
        "no-such-tool-7",
        "echo '3 passed, 1 skipped in 0.1s'",
    ]);
    assert_eq!(report.state, VerifyState::Red);
    assert_eq!((report.tests, report.skipped), (Some(5), Some(1)));
    assert!(report.why.starts_with("`echo oops; exit 3` failed (exit 3); `no-such-tool-7`"), "{}", report.why);
    assert!(report.log.starts_with("$ echo oops; exit 3\noops\n\n$ no-such-tool-7\n"), "{}", report.log);
    assert_eq!(verified(&["true", "exit 127"]).state, VerifyState::CouldNotRun);
    // What only an installation helps, and what a change of the repository may.
    for (lines, absent) in [
        (&["no-such-tool-7 --all"][..], true),
        (&["true", "cd / && no-such-tool-7"][..], true),
        (&["false", "no-such-tool-7"][..], false),
        (&["./no-such-script"][..], true),
        (&["exit 127"][..], false),
        (&["echo x: y: not found; exit 1"][..], false),
        (&["true"][..], false),
    ] {
        assert_eq!(verified(lines).absent, absent, "{lines:?}");
    }
    assert_eq!(verified(&["true", "true"]).state, VerifyState::Green);
    assert_eq!(verified(&[]).state, VerifyState::CouldNotRun);
}

#[test]
fn a_stop_is_no_result() {
    let folder = tempfile::tempdir().unwrap();
    let check = |lines: &[&str]| {
        let mut commands = commands(&folder, lines);
        let marker = commands.worktree.join("started");
        // Asked to stop once the first command has begun.
        commands.stop = Rc::new(move || marker.exists());
        commands.verify(None, &Silent)
    };
    assert_eq!(check(&["touch started; sleep 300"]).state, VerifyState::CouldNotRun);
    assert_eq!(check(&["true", "false"]).state, VerifyState::CouldNotRun);
}

#[test]
fn the_output_is_readable_and_capped() {
    let report = verified(&["printf 'a\\033[31mred\\033[0m\\r\\n'; echo err >&2; seq 1 200000; exit 1"]);
    assert!(report.log.contains("characters left out ...]\n"), "{}", &report.log[..200]);
    assert!(report.log.ends_with("\n200000") && report.log.len() < 13_000);
    let report = verified(&["printf 'a\\033[31mred\\033[0m\\r\\n'; echo err >&2; exit 1"]);
    assert!(report.log.ends_with("\nared\nerr"), "{:?}", report.log);
}

#[test]
fn r18_commands_run_where_told_and_without_keys() {
    let folder = tempfile::tempdir().unwrap();
    let elsewhere = Utf8Path::from_path(folder.path()).unwrap().join("else where");
    fs::create_dir(&elsewhere).unwrap();
    let commands = commands(&folder, &["pwd; env; cat; exit 1"]);
    let heard = Heard::default();
    let report = commands.verify(Some(&elsewhere), &heard);
    assert!(report.log.contains(&format!("\n{}\n", elsewhere.canonicalize_utf8().unwrap())), "{}", report.log);
    assert!(!report.log.contains("CARGO_") && !report.log.contains("PUSHBACK_FINDINGS"), "{}", report.log);
    assert!(report.log.contains("\nCI=1\n") && report.log.contains("\nGH_CONFIG_DIR="), "{}", report.log);
    assert_eq!(heard.0.borrow()[..], [Event::Line("verify: pwd; env; cat; exit 1".into())]);
}

#[derive(Default)]
struct Heard(RefCell<Vec<Event>>);

impl Reporter for Heard {
    fn tell(&self, event: Event) {
        self.0.borrow_mut().push(event);
    }
}

#[test]
fn r27_a_secret_in_the_output_is_masked() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("work")).unwrap();
    fs::write(folder.path().join("work/key"), "tok-canary-1").unwrap();
    let mut commands = commands(&folder, &["cat key; exit 1"]);
    commands.secrets = vec!["tok-canary-1".to_owned().into()];
    let report = commands.verify(None, &Silent);
    assert!(report.log.ends_with("***"), "{report:?}");
}
