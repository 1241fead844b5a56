//! Runs of other programs: clocks, output, and that nothing survives.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use camino::{Utf8Path, Utf8PathBuf};
use pushback::process::{Ended, ProcessError, Quiet, Spec, Streams, Supervisor, Why};

use crate::support::{ended, output};

/// A folder for one run, and the run.
pub(crate) struct Run {
    pub(crate) spec: Spec,
    folder: tempfile::TempDir,
}

/// Returns the program under test as a supervisor.
pub(crate) fn supervisor() -> Supervisor {
    Supervisor::at(env!("CARGO_BIN_EXE_pushback"))
}

/// Returns the path of a helper program, building it when only this test was built.
pub(crate) fn helper(name: &str) -> Utf8PathBuf {
    let program = Utf8Path::new(env!("CARGO_BIN_EXE_pushback"));
    let path = program.with_file_name("examples").join(name);
    if !path.exists() {
        let built = Command::new(env!("CARGO")).args(["build", "--example", name]).status();
        assert!(built.unwrap().success() && path.exists(), "cargo build --example {name}");
    }
    path
}

impl Run {
    pub(crate) fn new(program: &str, args: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = Utf8Path::from_path(folder.path()).unwrap();
        std::fs::create_dir(root.join("work")).unwrap();
        let mut spec = Spec::new(program, root.join("work"), root.join("logs/1"));
        spec.args = args.iter().map(|arg| (*arg).to_owned()).collect();
        spec.wall = Duration::from_secs(60);
        let path = std::env::var("PATH").unwrap();
        spec.env = vec![("PATH".into(), path), ("PUSHBACK_RUN_ID".into(), spec.run_id.clone())];
        Self { spec, folder }
    }

    fn sh(line: &str) -> Self {
        Self::new("sh", &["-c", line])
    }

    fn misbehave(words: &str) -> Self {
        let mut run = Self::new(helper("scripted-editor").as_str(), &[]);
        let scenario = Utf8Path::from_path(run.folder.path()).unwrap().join("scenario.json");
        let words: Vec<&str> = words.split(' ').collect();
        std::fs::write(&scenario, serde_json::json!({ "otherwise": { "misbehave": words } }).to_string()).unwrap();
        run.spec.args = vec![scenario.into_string()];
        run
    }

    fn end(&self) -> Ended {
        self.try_end().unwrap()
    }

    fn try_end(&self) -> Result<Ended, ProcessError> {
        supervisor().run(&self.spec, &mut |_| {}, &|| false)
    }
}

/// Returns every process that carries this mark.
pub(crate) fn marked(run_id: &str) -> Vec<String> {
    let mark = format!("PUSHBACK_RUN_ID={run_id}");
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let environ = std::fs::read(entry.path().join("environ")).unwrap_or_default();
        if environ.split(|byte| *byte == 0).any(|var| var == mark.as_bytes()) {
            found.push(std::fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default().replace('\0', " "));
        }
    }
    found
}

fn text(path: &Utf8Path) -> String {
    String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned()
}

#[test]
fn codes_and_signals_are_told() {
    let check = |line: &str, code: Option<i32>, signal: Option<i32>| {
        let run = Run::sh(line);
        let ended = run.end();
        assert_eq!((ended.why, ended.code, ended.signal), (Why::Exit, code, signal), "{line}");
        assert_eq!((ended.swept, ended.clean), (0, true), "{line}");
        assert_eq!(ended.succeeded(), code == Some(0), "{line}");
    };
    check("exit 0", Some(0), None);
    check("exit 75", Some(75), None);
    check("exit 255", Some(255), None);
    check("kill -SEGV $$", None, Some(11));
    check("kill -KILL $$", None, Some(9));
}

#[test]
fn a_program_that_is_not_there_is_missing() {
    let missing = |run: Run| match run.try_end() {
        Err(ProcessError::Missing(why)) => why,
        other => panic!("{other:?}"),
    };
    assert!(missing(Run::new("no-such-program-7", &[])).contains("no-such-program-7"));
    assert!(missing(Run::new("/etc/passwd", &[])).contains("/etc/passwd"));
    let mut run = Run::sh("true");
    run.spec.cwd = "/no/such/folder".into();
    assert!(matches!(run.try_end(), Err(ProcessError::Failed { why, .. }) if why.contains("/no/such/folder")));
}

#[test]
fn a_wrap_stands_in_front() {
    let mut run = Run::new("printf", &["%s.", "a b", "c"]);
    run.spec.wrap = vec!["env".into(), "X=1".into()];
    assert_eq!(text(&run.end().stdout_path), "a b.c.");
}

#[test]
fn streams_are_kept_apart_or_together_for_this_account_only() {
    let mut run = Run::sh("echo one; echo two >&2; echo three");
    let ended = run.end();
    assert_eq!((text(&ended.stdout_path), text(&ended.stderr_path)), ("one\nthree\n".into(), "two\n".into()));
    let mode = |path: &Utf8Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&ended.stdout_path), mode(&ended.stderr_path), mode(&run.spec.log_dir)), (0o600, 0o600, 0o700));
    assert_eq!(mode(&run.spec.log_dir.join("stdin")), 0o600);
    run.spec.streams = Streams::Together;
    assert_eq!(text(&run.end().stdout_path), "one\ntwo\nthree\n");
}

#[test]
fn lines_are_shown_while_it_runs() {
    let run = Run::sh("echo first; while [ ! -e go ]; do sleep 0.02; done; printf 'last\\n'");
    let mut seen = Vec::new();
    let go = run.spec.cwd.join("go");
    let ended = supervisor().run(
        &run.spec,
        &mut |line| {
            seen.push(line.to_owned());
            std::fs::write(&go, "").unwrap();
        },
        &|| false,
    );
    assert!(ended.unwrap().succeeded());
    assert_eq!(seen, ["first", "last"]);
}

#[test]
fn fc_53_input_is_given_and_closed() {
    let mut run = Run::sh("cat; echo; cat; echo end");
    run.spec.stdin = "a prompt\0 with bytes".repeat(20_000).into_bytes();
    let ended = run.end();
    assert_eq!(text(&ended.stdout_path), format!("{}\nend\n", "a prompt\0 with bytes".repeat(20_000)));
    let mut ignores = Run::sh("exit 3");
    ignores.spec.stdin = vec![b'x'; 1 << 20];
    assert_eq!(ignores.end().code, Some(3));
}

#[test]
fn fm_27_the_wall_clock_ends_a_chatty_program() {
    let mut run = Run::misbehave("chat");
    run.spec.wall = Duration::from_millis(400);
    run.spec.silence = Some(Duration::from_secs(30));
    let ended = run.end();
    assert_eq!((ended.why, ended.clean), (Why::Wall, true));
    assert!(ended.seconds >= 0.4 && ended.seconds < 20.0, "{}", ended.seconds);
    assert_eq!(marked(&run.spec.run_id), [""; 0]);
}

#[test]
fn fm_27_silence_ends_a_hanging_program() {
    let mut run = Run::misbehave("hang");
    run.spec.silence = Some(Duration::from_millis(300));
    assert_eq!(run.end().why, Why::Silence);
    run.spec.first_output = Some(Duration::from_millis(100));
    assert_eq!(run.end().why, Why::FirstOutput);
    assert_eq!(marked(&run.spec.run_id), [""; 0]);
}

#[test]
fn fc_55_after_its_last_word_it_has_a_grace() {
    let mut run = Run::sh("echo '{\"type\":\"result\"}'; exec sleep 300");
    run.spec.quiet_after = Some(Quiet { marker: "\"type\":\"result\"".into(), grace: Duration::from_millis(200) });
    let ended = run.end();
    assert_eq!((ended.why, ended.clean, ended.swept), (Why::Quiet, true, 0));
}

#[test]
fn fm_28_nothing_survives() {
    let check = |words: &str, least: u32| {
        let run = Run::misbehave(words);
        let ended = run.end();
        assert_eq!((ended.why, ended.code, ended.clean), (Why::Exit, Some(0), true), "{words}");
        assert!(ended.swept >= least, "{words}: {}", ended.swept);
        assert_eq!(marked(&run.spec.run_id), [""; 0], "{words}");
    };
    check("child", 1);
    check("daemon", 1);
    check("storm", 1);
    check("child daemon storm", 3);
}

#[test]
fn fm_28_a_killed_or_stopped_supervisor_leaves_nothing() {
    let killed = Run::misbehave("daemon kill-parent");
    assert!(matches!(killed.try_end(), Err(ProcessError::Lost { clean: true, .. })));
    assert_eq!(marked(&killed.spec.run_id), [""; 0]);
    let mut stopped = Run::misbehave("daemon stop-parent");
    stopped.spec.wall = Duration::from_millis(500);
    let ended = supervisor().patience(Duration::from_millis(500)).run(&stopped.spec, &mut |_| {}, &|| false);
    assert!(matches!(ended, Err(ProcessError::Lost { clean: true, .. })));
    assert_eq!(marked(&stopped.spec.run_id), [""; 0]);
}

#[test]
fn fm_28_a_process_that_is_no_descendant_is_found_by_its_mark() {
    let run = Run::sh("while [ ! -e go ]; do sleep 0.02; done");
    let mut stray = Command::new("sleep").arg("300").env("PUSHBACK_RUN_ID", &run.spec.run_id).spawn().unwrap();
    let mut other = Command::new("sleep").arg("300").env("PUSHBACK_RUN_ID", "another").spawn().unwrap();
    std::fs::write(run.spec.cwd.join("go"), "").unwrap();
    // It is our child: it leaves the table only when we collect it.
    let reaper = std::thread::spawn(move || stray.wait().unwrap());
    let ended = run.end();
    assert_eq!((ended.swept, ended.clean), (1, true));
    assert!(!reaper.join().unwrap().success());
    assert!(other.try_wait().unwrap().is_none());
    other.kill().unwrap();
    other.wait().unwrap();
}

#[test]
fn the_program_starts_with_nothing_of_ours() {
    let line = "grep -E 'SigIgn|SigBlk' /proc/self/status; ps -o tty= $$; ls /proc/$$/fd";
    let run = Run::sh(line);
    let ended = run.end();
    let (mut masks, mut rest) = (0, Vec::new());
    let text = text(&ended.stdout_path);
    for line in text.lines() {
        match line.split_once(":\t") {
            // HUP, INT, PIPE, TERM
            Some((_, mask)) => masks |= u64::from_str_radix(mask, 16).unwrap() & 0x5003,
            None => rest.push(line.trim()),
        }
    }
    assert_eq!((masks, rest[0]), (0, "?"), "{text}");
    // What our own caller left open for everybody is not ours.
    let plain = Command::new("sh").args(["-c", "ls /proc/$$/fd"]).output().unwrap();
    assert_eq!(rest[1..], String::from_utf8(plain.stdout).unwrap().lines().collect::<Vec<_>>());
}

#[test]
fn the_program_is_found_by_its_own_path() {
    let mut run = Run::new("mine", &[]);
    let bin = run.spec.cwd.join("bin");
    std::fs::create_dir(&bin).unwrap();
    std::fs::write(bin.join("mine"), "#!/bin/sh\necho found\n").unwrap();
    std::fs::set_permissions(bin.join("mine"), std::fs::Permissions::from_mode(0o755)).unwrap();
    assert!(matches!(run.try_end(), Err(ProcessError::Missing(_))));
    run.spec.env = vec![("PATH".into(), bin.into_string())];
    assert_eq!(text(&run.end().stdout_path), "found\n");
    run.spec.program = "bin/mine".into();
    assert_eq!(text(&run.end().stdout_path), "found\n");
}

#[test]
fn fm_31_a_replaced_program_still_supervises() {
    let run = Run::sh("exit 0");
    let copy = run.spec.cwd.join("copy");
    std::fs::copy(helper("run-under"), &copy).unwrap();
    let mut command = Command::new(&copy);
    command.args(["self", &run.spec.run_id, run.spec.cwd.as_str(), run.spec.log_dir.as_str(), "sh", "-c", "echo ran"]);
    let output = command.output().unwrap();
    assert!(!copy.exists());
    assert_eq!(String::from_utf8_lossy(&output.stdout), "ran\nExit clean=true\n", "{output:?}");
}

/// A run whose parent is a process of its own.
fn run_under(run: &Run) -> Child {
    // Whoever runs the tests may have had them ignore a signal.
    under(run, Command::new("env").args(["--default-signal=HUP,INT,TERM", helper("run-under").as_str()]))
}

fn under(run: &Run, command: &mut Command) -> Child {
    let mut child = command
        .arg(env!("CARGO_BIN_EXE_pushback"))
        .args([run.spec.run_id.as_str(), run.spec.cwd.as_str(), run.spec.log_dir.as_str(), run.spec.program.as_str()])
        .args(&run.spec.args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // Only a program that runs can have said this.
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    child
}

fn soon(what: &str, holds: impl Fn() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < Duration::from_secs(15), "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

const DAEMON: &str =
    "(trap '' TERM; setsid sh -c 'trap \"\" TERM; echo ready; while :; do sleep 1; done' &); sleep 300";

#[test]
fn fm_01_killing_us_ends_everything() {
    let run = Run::sh(DAEMON);
    let mut parent = run_under(&run);
    parent.kill().unwrap();
    ended(&mut parent, "who was killed");
    soon("the tree ends with us", || marked(&run.spec.run_id).is_empty());
}

#[test]
fn fm_02_the_first_signal_ends_the_tree_and_the_second_us() {
    let signal = |child: &Child, name: &str| {
        Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
    };
    for (name, code) in [("-TERM", 143), ("-INT", 130), ("-HUP", 129)] {
        let run = Run::sh(DAEMON);
        let mut parent = run_under(&run);
        let asked = Instant::now();
        signal(&parent, name);
        assert_eq!(ended(&mut parent, "who was asked to stop").code(), Some(code));
        assert!(asked.elapsed() < Duration::from_secs(5), "{:?}", asked.elapsed());
        assert_eq!(marked(&run.spec.run_id), [""; 0], "{name}");
    }
    let run = Run::sh(DAEMON);
    let mut parent = run_under(&run);
    signal(&parent, "-TERM");
    signal(&parent, "-INT");
    assert!(matches!(ended(&mut parent, "who was asked to stop").code(), Some(130 | 143)));
    soon("the tree ends after us", || marked(&run.spec.run_id).is_empty());
}

#[test]
fn fm_02_a_request_to_stop_ends_the_tree_soon() {
    let run = Run::misbehave("daemon hang");
    let asked = Instant::now();
    let ready = || !marked(&run.spec.run_id).is_empty() && asked.elapsed() > Duration::from_millis(300);
    let ended = supervisor().run(&run.spec, &mut |_| {}, &ready).unwrap();
    assert_eq!((ended.why, ended.clean), (Why::Interrupted, true));
    assert_eq!(marked(&run.spec.run_id), [""; 0]);
}

#[test]
fn fm_29_a_gigabyte_takes_constant_memory() {
    let check = |word: &str, bytes: u64| {
        let mut run = Run::misbehave(word);
        let scenario = run.spec.args[0].clone();
        let editor = run.spec.program.clone();
        run.spec.program = "sh".into();
        run.spec.args = vec!["-c".into(), format!("'{editor}' '{scenario}'; grep VmHWM /proc/$PPID/status; echo end")];
        let ended = run.end();
        assert!(ended.succeeded() && ended.stored, "{word}");
        let length = std::fs::metadata(&ended.stdout_path).unwrap().len();
        assert!(length < 5 << 20, "{word}: {length}");
        assert!(ended.cut + length >= bytes, "{word}: {}", ended.cut);
        let text = text(&ended.stdout_path);
        assert!(text.contains("bytes left out") && text.ends_with("end\n"), "{word}");
        let peak = text.rsplit("VmHWM:").next().unwrap().split_whitespace().next().unwrap();
        assert!(peak.parse::<u64>().unwrap() < 64 << 10, "{word}: {peak} KiB");
    };
    check("flood", 1 << 30);
    check("long-line", 100 << 20);
}

#[test]
fn fm_29_binary_output_is_kept_as_it_is() {
    let run = Run::misbehave("binary");
    let ended = run.end();
    let all: Vec<u8> = (0..=255).collect();
    assert_eq!(std::fs::read(&ended.stdout_path).unwrap(), all.repeat(4096));
}

#[test]
fn fm_46_the_supervisor_and_its_program_have_no_variable_of_ours() {
    // Cargo sets this one for every test, so it is surely in our environment.
    assert!(std::env::var("CARGO_MANIFEST_DIR").is_ok());
    let run = Run::sh("env; tr '\\0' '\\n' < /proc/$PPID/environ");
    let ended = run.end();
    let names: BTreeMap<String, String> = text(&ended.stdout_path)
        .lines()
        .filter_map(|line| line.split_once('='))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    assert_eq!(names["PUSHBACK_RUN_ID"], run.spec.run_id);
    assert!(!names.contains_key("CARGO_MANIFEST_DIR"), "{names:?}");
}

#[test]
fn fm_45_arguments_and_environment_are_not_in_the_supervisors_command_line() {
    let mut run = Run::sh("tr '\\0' ' ' < /proc/$PPID/cmdline");
    run.spec.env.push(("KEY".into(), "canary".into()));
    assert_eq!(text(&run.end().stdout_path), "pushback __supervise ");
    assert!(!format!("{:?}", run.spec).contains("canary"));
}

#[test]
fn an_ignored_signal_stays_ignored() {
    let run = Run::sh(DAEMON);
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' HUP; exec \"$0\" \"$@\"", helper("run-under").as_str()]);
    let mut parent = under(&run, &mut command);
    for name in ["-HUP", "-HUP", "-TERM"] {
        assert!(Command::new("kill").args([name, &parent.id().to_string()]).status().unwrap().success());
    }
    assert_eq!(ended(&mut parent, "who was asked to stop").code(), Some(143));
}

/// Runs this test again, alone, as if from within a run.
#[test]
fn a_call_from_within_a_run_is_seen() {
    if let Ok(wanted) = std::env::var("NESTED_WANTED") {
        assert_eq!(pushback::process::nested().to_string(), wanted);
        return;
    }
    let check = |id: Option<&str>, wanted: &str| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "process::a_call_from_within_a_run_is_seen"]).env("NESTED_WANTED", wanted);
        match id {
            Some(id) => command.env("PUSHBACK_RUN_ID", id),
            None => command.env_remove("PUSHBACK_RUN_ID"),
        };
        let output = output(&mut command);
        assert!(output.status.success() && String::from_utf8_lossy(&output.stdout).contains("1 passed"), "{id:?}");
    };
    check(Some("abc"), "true");
    check(Some(""), "false");
    check(None, "false");
}
