//! `triage` at a real pseudo-terminal of 80 by 24: the main paths, leaving at every question, how it looks.

use std::time::{Duration, Instant};

use expectrl::process::unix::{Signal, WaitStatus};
use expectrl::{Captures, Eof, Error, Expect, Needle, session::OsSession};
use serde_json::json;

use crate::forge::{Fault, faults::What};
use crate::scene::says::*;
use crate::scene::{Plan, Scene, TOKEN};

const P1: &str = "Multiply by a rate that is not zero";
const P3: &str = "Say what the second argument is";

/// A program at a terminal.
struct Tty {
    session: OsSession,
    log: String,
}

impl Tty {
    fn start(scene: &Scene, args: &[&str], env: &[(&str, &str)]) -> Self {
        let mut command = scene.command(args);
        command
            .stdin(std::process::Stdio::inherit())
            .env("TERM", "xterm")
            .env_remove("COLUMNS")
            .envs(env.iter().copied());
        let mut session = OsSession::spawn(command).expect("a terminal");
        session.get_process_mut().set_window_size(80, 24).expect("a size");
        session.set_expect_timeout(Some(Duration::ZERO));
        Self { session, log: String::new() }
    }

    /// Waits for something to be seen. The session itself would look again without a pause, and take a whole core.
    fn awaits<N: Needle>(&mut self, what: impl Fn() -> N, time: Duration) -> Result<Captures, Error> {
        let deadline = Instant::now() + time;
        loop {
            match self.session.expect(what()) {
                Err(Error::ExpectTimeout) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(2)),
                end => return end,
            }
        }
    }

    #[track_caller]
    fn sees(&mut self, text: &str) -> &mut Self {
        match self.awaits(|| text, Duration::from_secs(30)) {
            Ok(found) => {
                self.log.push_str(&String::from_utf8_lossy(found.before()));
                self.log.push_str(text);
            }
            Err(error) => {
                let mut rest = vec![0; 64 * 1024];
                let n = self.session.try_read(&mut rest).unwrap_or_default();
                self.log.push_str(&String::from_utf8_lossy(&rest[..n]));
                panic!("`{text}` does not come ({error}) after:\n{}", plain(&self.log))
            }
        }
        self
    }

    #[track_caller]
    fn types(&mut self, keys: &str) -> &mut Self {
        self.session.send(keys).expect("keys are taken");
        self
    }

    /// Waits for the end; returns the exit code. A program that stays is ended, and the test has failed.
    #[track_caller]
    fn ends(&mut self) -> i32 {
        if let Ok(found) = self.awaits(|| Eof, Duration::from_secs(90)) {
            self.log.push_str(&String::from_utf8_lossy(found.as_bytes()));
        }
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            match self.session.get_process().status().expect("a child") {
                WaitStatus::Exited(_, code) => return code,
                WaitStatus::StillAlive if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(5)),
                WaitStatus::StillAlive => {
                    let _ = self.session.get_process_mut().kill(Signal::SIGKILL);
                    panic!("the program does not end after:\n{}", plain(&self.log));
                }
                other => panic!("{other:?} after:\n{}", plain(&self.log)),
            }
        }
    }
}

/// The text without what moves the cursor.
fn plain(text: &str) -> String {
    let escapes = regex::Regex::new("\u{1b}\\[[0-9;?]*[A-Za-z]").expect("a pattern");
    escapes.replace_all(text, "").replace('\r', "")
}

fn story_of(plan: &mut Plan) {
    plan.script = story();
    plan.editor = settles();
}

fn drafts(scene: &Scene) -> usize {
    scene.summary()["drafts"].as_object().map_or(0, serde_json::Map::len)
}

const DOWN: &str = "\u{1b}[B";
const ENTER: &str = "\r";
const CTRL_C: &str = "\u{3}";

#[test]
fn without_a_terminal_it_names_what_to_use_instead() {
    let scene = Scene::new(story_of);
    scene.run(&["triage"]).ends(2, &["at a terminal", "pushback resolve", "pushback status", "/pushback regrade"]);
    scene.run(&["triage", "--json"]).ends(2, &["pushback resolve"]);
    assert_eq!(scene.forge.log().len(), 0, "nothing is asked of the forge for that");
}

#[test]
fn r6_a_person_decides_all_of_it_and_confirms_once() {
    let scene = Scene::new(|plan| {
        story_of(plan);
        plan.enabled = false;
    });
    let mut tty = Tty::start(&scene, &["triage"], &[]);
    tty.sees("1 P1, 1 P2, 1 P3, 1 nit open").sees("leave (what is decided is kept)").types(ENTER);
    tty.sees("1/4 P1 open").sees("rate=0").sees("advice: fix now (f)").sees("q list").types("f");
    tty.sees("2/4 P2 open").sees("a argue").sees("q list").types("a");
    tty.sees("Why it stays").types("Won't fix.").types(ENTER);
    tty.sees("! its reason has 10 characters").sees("q list").types("a");
    tty.sees("Why it stays").types(REASON).types(ENTER);
    tty.sees("3/4 P3 open").sees("q list").types("r");
    tty.sees("n nit").types("n").sees("Why nit").types("only a wording").types(ENTER);
    tty.sees("4/4 nit open").sees("q list").types("n");
    // The list comes back with the cursor on the row that posts.
    tty.sees("3 decided").sees("[fix now]").sees("leave (").types(ENTER);
    tty.sees("== command").sees("/pushback regrade nit only a wording").sees("== argue").sees("fixed list of product");
    tty.sees("== describe").sees("== start the editor on").sees("Do all of this?");
    assert_eq!(scene.writes(), Vec::<String>::new(), "nothing was written before the yes");
    tty.types("y").sees("posted: argue");
    let code = tty.ends();
    let log = plain(&tty.log);
    assert!([0, 12].contains(&code), "{code}: {log}");
    let statuses = scene.statuses();
    assert_eq!(statuses[P1], "P1 fixed", "{log}");
    assert_eq!(statuses["Quote the list of items."], "P2 argued", "{log}");
    assert!(statuses[P3].starts_with("nit"), "{statuses:?}");
    assert_eq!(scene.editor_rounds(), 1);
    let comments = scene.forge.pull()["comments"].as_array().cloned().unwrap_or_default();
    let commands: Vec<&str> =
        comments.iter().filter_map(|c| c["body"].as_str()).filter(|b| b.starts_with("/pushback")).collect();
    assert_eq!(commands, ["/pushback regrade nit only a wording"], "once, and without a marker");
    assert_eq!(drafts(&scene), 0);
    scene.is_sound();
}

#[test]
fn leaving_at_any_question_loses_nothing_and_posts_nothing() {
    let scene = Scene::new(story_of);
    let leave = |walk: &dyn Fn(&mut Tty)| {
        let mut tty = Tty::start(&scene, &["triage"], &[]);
        tty.sees("leave (");
        walk(&mut tty);
        tty.types(CTRL_C);
        let code = tty.ends();
        assert_eq!(code, 130, "{}", plain(&tty.log));
        assert!(tty.log.contains("\u{1b}[?25h"), "the cursor is shown again");
    };
    leave(&|_| {});
    leave(&|tty| {
        tty.types(ENTER).sees("q list");
    });
    leave(&|tty| {
        tty.types(ENTER).sees("q list").types("r").sees("n nit");
    });
    leave(&|tty| {
        tty.types(ENTER).sees("q list").types("c").sees("may be empty").types("half a rea");
    });
    assert_eq!(drafts(&scene), 0);
    leave(&|tty| {
        tty.types(DOWN).types(ENTER).sees("2/4 P2").sees("q list").types("a");
        tty.sees("Why it stays").types(REASON).types(ENTER).sees("3/4").sees("q list");
    });
    assert_eq!(drafts(&scene), 1, "what was decided is kept");
    leave(&|tty| {
        tty.types("\u{1b}[A").types("\u{1b}[A").types(ENTER).sees("Do all of this?");
    });
    assert_eq!(scene.writes(), Vec::<String>::new());
    assert_eq!(drafts(&scene), 1);
    // It goes on from there, and a clean leave says what is kept.
    let mut tty = Tty::start(&scene, &["triage"], &[]);
    tty.sees("1 decided").sees("[argue]").sees("leave (").types("q");
    let code = tty.ends();
    assert_eq!(code, 11, "{}", plain(&tty.log));
    assert!(plain(&tty.log).contains("kept: 1 decision;"), "{}", plain(&tty.log));
}

#[test]
fn several_at_once_get_one_choice() {
    let scene = Scene::new(story_of);
    let mut tty = Tty::start(&scene, &["triage", "--dry-run"], &[]);
    // Up from the first row: leave, post, mark.
    tty.sees("leave (").types("\u{1b}[A\u{1b}[A\u{1b}[A").types(ENTER);
    tty.sees("Space marks").types(DOWN).types(" ").types(DOWN).types(" ").types(ENTER);
    tty.sees("2 marked")
        .sees("q back")
        .types("r")
        .sees("n nit")
        .types("n")
        .sees("Why nit")
        .types("next time")
        .types(ENTER);
    tty.sees("2 decided").sees("[re-grade nit]").sees("leave (").types("\u{1b}[A\u{1b}[A").types(ENTER);
    tty.sees("/pushback regrade nit next time").sees("/pushback regrade nit next time");
    let _ = tty.ends();
    assert_eq!(scene.writes(), Vec::<String>::new(), "a dry run writes nothing");
    assert_eq!(drafts(&scene), 2);
}

#[test]
fn r27_the_editor_for_a_text_gets_no_token_and_its_text_is_taken() {
    let scene = Scene::new(story_of);
    let script = scene.root.join("my-editor");
    let seen = scene.root.join("editor-env");
    std::fs::write(&script, format!("#!/bin/sh\nenv >'{seen}'\nprintf '%s' \"{REASON}\" >\"$1\"\n")).expect("a script");
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("a mode");
    let editor = format!("'{script}'");
    let mut tty = Tty::start(&scene, &["triage"], &[("EDITOR", &editor)]);
    tty.sees("leave (").types(DOWN).types(ENTER).sees("2/4 P2").sees("q list").types("a");
    tty.sees("write it in $EDITOR").types(ENTER).sees("3/4").sees("q list").types("p");
    tty.sees("drafted: argue").sees("q list").types("u").sees("q list").types("q").sees("leave (").types("q");
    let _ = tty.ends();
    let env = std::fs::read_to_string(&seen).expect("the editor ran");
    assert!(!env.contains(TOKEN) && !env.contains("PUSHBACK_TOKEN"), "{env}");
    assert_eq!(drafts(&scene), 0, "undone");
}

#[test]
fn it_is_usable_at_80_by_24_without_colour() {
    let scene = Scene::new(|plan| {
        let long = "x ".repeat(400);
        plan.script = codex_reviews(
            &[codex("P1", "rate=0", &format!("A very long title {long}"), &format!("{long}\u{1b}[31mred\u{202e}"))],
            &[],
        );
    });
    let mut tty = Tty::start(&scene, &["triage"], &[]);
    tty.sees("leave (").types(ENTER).sees("1/1 P1").sees("q list");
    let after = tty.log.rsplit("\u{1b}[2J").next().unwrap_or_default().to_owned();
    let card = plain(&after);
    assert!(card.lines().count() <= 24, "{card}");
    assert!(card.lines().all(|line| line.chars().count() <= 80), "{card}");
    assert!(!tty.log.contains("\u{1b}[3") && !tty.log.contains('\u{202e}'), "no colour, nothing turned round");
    tty.types("?")
        .sees("starts the editor on it at the end")
        .sees("Esc does too")
        .sees("q back")
        .types("q")
        .sees("q list");
    tty.types("v").sees("What was said").sees("q back").types("q").sees("q list").types("q").sees("leave (").types("q");
    assert_eq!(tty.ends(), 11);
}

#[test]
fn r25_accept_by_a_person_settles_even_a_p1() {
    let scene = Scene::new(|plan| plan.script = codex_reviews(&[p1()], &[p1()]));
    let mut tty = Tty::start(&scene, &["triage"], &[]);
    tty.sees("leave (").types(ENTER).sees("1/1 P1").sees("c accept").sees("q list").types("c");
    tty.sees("may be empty").types("the rate is set by the caller").types(ENTER);
    tty.sees("1 decided").types(ENTER).sees("Do all of this?").types("y");
    let code = tty.ends();
    assert_eq!(scene.statuses()[P1], "P1 withdrawn", "{code} {}", plain(&tty.log));
    assert_eq!(
        scene.summary()["comments"].as_object().and_then(|c| c.values().next()).map(|e| e["proof"]["kind"].clone()),
        Some(json!("person"))
    );
    let before = scene.forge.requests("POST", "*/replies");
    scene.run(&["run", "--wait", "20s"]).ends(0, &["settled"]);
    assert_eq!(scene.forge.requests("POST", "*/replies"), before, "nothing is said twice");
}

#[test]
fn r23_killed_after_a_command_left_nothing_is_said_twice() {
    let scene = Scene::new(|plan| plan.script = codex_reviews(&[p1()], &[p1()]));
    scene.forge.fault(Fault::new("POST", "*/replies", What::Delay { ms: 60_000, after_effect: true }).nth(1));
    let mut tty = Tty::start(&scene, &["triage"], &[]);
    tty.sees("leave (").types(ENTER).sees("q list").types("c").sees("may be empty").types(ENTER);
    tty.sees("1 decided").types(ENTER).sees("Do all of this?").types("y");
    let deadline = Instant::now() + Duration::from_secs(40);
    while !scene.forge.log().iter().any(|asked| asked.faults.iter().any(|name| name == "delay")) {
        assert!(Instant::now() < deadline, "the command was not sent");
        std::thread::sleep(Duration::from_millis(3));
    }
    tty.session.get_process_mut().kill(Signal::SIGKILL).expect("it is killed");
    scene.forge.heal();
    scene.run(&["run", "--wait", "20s"]).ends(0, &["settled"]);
    assert_eq!(scene.statuses()[P1], "P1 withdrawn");
    let comments = scene.forge.pull()["comments"].as_array().cloned().unwrap_or_default();
    assert_eq!(comments.iter().filter(|c| c["body"] == "/pushback accept").count(), 1);
    scene.is_sound();
}

#[test]
fn r15_a_follow_up_is_planned_committed_and_linked_and_what_was_not_chosen_is_left_alone() {
    let scene = Scene::new(story_of);
    let mut tty = Tty::start(&scene, &["triage"], &[]);
    tty.sees("leave (").types(DOWN).types(ENTER).sees("2/4 P2").sees("o follow-up").sees("q list").types("o");
    tty.sees("Why not in this pull request").types(REASON).types(ENTER);
    tty.sees("Title of the plan").types(ENTER).sees("Its first step").types(ENTER);
    tty.sees("3/4").sees("q list").types("q").sees("1 decided").sees("[follow-up]").sees("leave (");
    tty.types("\u{1b}[B\u{1b}[B\u{1b}[B").types(ENTER);
    tty.sees("== write and commit wiki/plans/")
        .sees("## First steps")
        .sees("== defer")
        .sees("/blob/COMMIT/wiki/plans/")
        .sees("Do all of this?")
        .types("y");
    let code = tty.ends();
    let log = plain(&tty.log);
    let statuses = scene.statuses();
    assert_eq!(statuses["Quote the list of items."], "P2 deferred", "{code}: {log}");
    assert_eq!(statuses[P1], "P1 open", "it was not chosen");
    assert_eq!(scene.editor_rounds(), 0, "{log}");
    assert!(scene.git(&["ls-tree", "-r", "--name-only", "HEAD"]).contains("wiki/plans/"), "{log}");
    assert_eq!(scene.remote_head(), scene.git(&["rev-parse", "HEAD"]), "the plan is pushed");
    assert_eq!(drafts(&scene), 0);
    scene.is_sound();
}

/// Runs this test again, alone, as a program that asks.
#[test]
fn a_signal_that_no_reader_of_keys_sees_ends_the_question() {
    use pushback::process::signals::Signals;
    use pushback::report::prompter::ask;
    use std::process::{Command, Stdio};
    if std::env::var_os("PUSHBACK_TEST_ASKS").is_some() {
        let signals = Signals::install().expect("signals");
        assert_eq!(ask(&signals, || Some(1)), Some(1), "nothing came");
        ask(&signals, || {
            let interrupt = || Command::new("kill").args(["-INT", &std::process::id().to_string()]).status();
            assert!(interrupt().expect("kill").success());
            // Whoever reads keys goes on to wait for the next one.
            std::thread::sleep(Duration::from_secs(60));
            Some(2)
        });
        panic!("the question went on");
    }
    let mut command = Command::new("env");
    // Whoever runs the tests may have had them ignore it.
    command.arg("--default-signal=INT").arg(std::env::current_exe().expect("a test program"));
    command.args(["--exact", "triage::a_signal_that_no_reader_of_keys_sees_ends_the_question"]);
    let out = command.env("PUSHBACK_TEST_ASKS", "1").stdin(Stdio::null()).output().expect("it runs");
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!(out.status.code(), Some(130), "{}{said}", String::from_utf8_lossy(&out.stdout));
    assert!(said.contains("\u{1b}[?25h"), "the cursor is shown again: {said}");
}

#[test]
fn a_signal_between_two_questions_ends_it_and_keeps_what_was_decided() {
    let scene = Scene::new(story_of);
    let script = scene.root.join("my-editor");
    // The signal comes while nobody waits for a key.
    let text = format!("#!/bin/sh\nprintf '%s' \"{REASON}\" >\"$1\"\nkill -INT $(cat '{}/pid')\n", scene.root);
    std::fs::write(&script, text).expect("a script");
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("a mode");
    let editor = format!("'{script}'");
    let mut tty = Tty::start(&scene, &["triage"], &[("EDITOR", &editor)]);
    let pid = tty.session.get_process().pid().to_string();
    std::fs::write(scene.root.join("pid"), pid).expect("a file");
    tty.sees("leave (").types(DOWN).types(ENTER).sees("2/4 P2").sees("q list").types("a");
    tty.sees("write it in $EDITOR").types(ENTER);
    assert_eq!(tty.ends(), 130, "{}", plain(&tty.log));
    assert_eq!(drafts(&scene), 1, "{}", plain(&tty.log));
    assert_eq!(scene.writes(), Vec::<String>::new());
}
