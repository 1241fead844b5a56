//! The post-push hook and the hooks of coding agents, with every git of the machine.

use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Value, json};

use crate::repo::gits;
use crate::scene::says::*;
use crate::scene::{Out, Plan, Scene, URL};
use crate::support::{Said, ended, output};

/// A scene whose hook runs are ended with it.
pub(crate) struct Hooked(pub(crate) Scene);

impl std::ops::Deref for Hooked {
    type Target = Scene;

    fn deref(&self) -> &Scene {
        &self.0
    }
}

impl Drop for Hooked {
    fn drop(&mut self) {
        for (pid, _) in self.processes() {
            let _ = Command::new("kill").args(["-KILL", &pid.to_string()]).status();
        }
    }
}

/// Waits until something is so.
#[track_caller]
pub(crate) fn until(what: &str, so: impl Fn() -> bool) {
    let started = Instant::now();
    while !so() {
        assert!(started.elapsed() < Duration::from_secs(40), "{what}: not within 40 s");
        std::thread::sleep(Duration::from_millis(15));
    }
}

/// Codex has a P1 for every head, at once.
pub(crate) fn reviewed(plan: &mut Plan) {
    plan.script = codex_reviews(&[p1()], &[p1()]);
}

/// Nobody answers after the first review, so that a run waits.
pub(crate) fn unanswered(plan: &mut Plan) {
    plan.script = codex_reviews(&[p1()], &[]);
    plan.script.truncate(1);
}

impl Hooked {
    /// A scene in which `git` is this one; the hook is installed.
    pub(crate) fn new(git: &Path, change: impl FnOnce(&mut Plan)) -> Self {
        let hooked = Self::bare(git, change);
        hooked.run(&["hook", "install"]).ends(0, &["reference-transaction", "pre-push"]);
        hooked
    }

    /// The same without the hook.
    pub(crate) fn bare(git: &Path, change: impl FnOnce(&mut Plan)) -> Self {
        let mut scene = Scene::new(change);
        let bin = scene.root.join("bin");
        std::fs::create_dir(&bin).expect("a folder");
        if git.is_absolute() {
            symlink(git, bin.join("git")).expect("a link");
        }
        let path = format!("{bin}:{}", scene.env["PATH"]);
        scene.env.insert("PATH".to_owned(), path);
        let state = scene.root.join("home/.local/state");
        scene.env.insert("XDG_STATE_HOME".to_owned(), state.to_string());
        Self(scene)
    }

    /// Puts a program on the PATH.
    pub(crate) fn program(&self, name: &str, script: &str) {
        executable(&self.root.join("bin").join(name), script);
    }

    pub(crate) fn commit(&self, text: &str) -> String {
        self.write("note.txt", text);
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", text]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// Runs git as a user would, with its exit code.
    pub(crate) fn try_git(&self, args: &[&str], env: &[(&str, &str)]) -> Out {
        let mut command = Command::new("git");
        command.args(args).current_dir(&self.work).env_clear().envs(&self.env).envs(env.iter().copied());
        out(&mut command)
    }

    pub(crate) fn runs(&self) -> Vec<Value> {
        let answer = self.run(&["hook", "status", "--json"]).json();
        assert_eq!(answer["hook"]["last_failure"], Value::Null, "{answer:#}");
        answer["hook"]["runs"].as_array().cloned().unwrap_or_default()
    }

    /// Waits until no process of the hook decides any more, then returns the commits with runs, newest first.
    pub(crate) fn started(&self) -> Vec<String> {
        until("the hook decides", || {
            !self.processes().iter().any(|(_, words)| words.contains("hook pushed") || words.contains("hook decide"))
        });
        self.runs().iter().map(|run| run["sha"].as_str().unwrap_or_default().to_owned()).collect()
    }

    /// Waits for the end of the newest run; returns it and its log.
    #[track_caller]
    pub(crate) fn ended(&self) -> (Value, String) {
        until("a run ends", || self.runs().first().is_some_and(|run| run["state"] != "running"));
        let run = self.runs().remove(0);
        let log = std::fs::read_to_string(run["log"].as_str().unwrap_or_default()).unwrap_or_default();
        (run, log)
    }

    /// Processes of the hook that stand in this scene.
    pub(crate) fn processes(&self) -> Vec<(u32, String)> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
            let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
            let inside = std::fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(&self.root));
            let words = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let words = String::from_utf8_lossy(&words).replace('\0', " ");
            // A process that has just been started has no words yet.
            let starts = words.is_empty();
            if inside && (words.contains(" hook ") || starts) {
                found.push((pid, if starts { "hook decide".to_owned() } else { words }));
            }
        }
        found
    }

    pub(crate) fn hooks(&self) -> Utf8PathBuf {
        self.root.join("pay/.git/hooks")
    }

    /// Answers one hook call of an agent.
    fn agent(&self, call: &Value, env: &[(&str, &str)]) -> Out {
        let mut command = self.command(&["hook", "agent"]);
        command.envs(env.iter().copied()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("starts");
        let text = call.as_str().map_or_else(|| call.to_string(), str::to_owned);
        child.stdin.take().expect("stdin").write_all(text.as_bytes()).expect("is read");
        let (stdout, stderr) =
            (Said::by(child.stdout.take().expect("stdout")), Said::by(child.stderr.take().expect("stderr")));
        let code = ended(&mut child, "the answer to a hook call").code().unwrap_or(-1);
        let text = |said: Said| String::from_utf8_lossy(&said.all("the answer to a hook call")).into_owned();
        Out { code, stdout: text(stdout), stderr: text(stderr) }
    }
}

pub(crate) fn out(command: &mut Command) -> Out {
    let output = output(command.stdin(Stdio::null()));
    Out {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

pub(crate) fn executable(path: &Utf8Path, script: &str) {
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
    std::fs::write(path, script).expect("a file");
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("a mode");
}

pub(crate) fn newest_git() -> std::path::PathBuf {
    gits().remove(0)
}

#[test]
fn fm_08_a_push_starts_one_detached_run_that_tells_what_came_back() {
    for git in gits() {
        let mut hooked = Hooked::bare(&git, |plan| {
            reviewed(plan);
            plan.linked = true;
        });
        hooked.0.env.insert("DISPLAY".to_owned(), ":9".to_owned());
        let seen = hooked.root.join("notice");
        hooked.program(
            "notify-send",
            &format!("#!/bin/sh\n{{ printf '%s\\n' \"$@\"; env; ls -l /proc/$$/fd; }} >'{seen}.part'\nmv '{seen}.part' '{seen}'\n"),
        );
        hooked.run(&["hook", "install"]).ends(0, &["pay/.git/hooks/reference-transaction"]);
        let sha = hooked.commit("one");
        // Descriptors of the caller stay open over an exec, as a shell's do.
        let line = "exec 7>&1 8>&2 12>&1; git push -q origin feature";
        let mut push = Command::new("bash");
        push.args(["-c", line]).current_dir(&hooked.work).env_clear().envs(&hooked.env);
        push.env("GIT_SSH_COMMAND", "false").env("GIT_TRACE2_PARENT_SID", "x");
        out(&mut push).ends(0, &[]);
        assert_eq!(hooked.started(), std::slice::from_ref(&sha), "{}", git.display());
        let (run, log) = hooked.ended();
        assert_eq!(run["state"], "ended", "{log}");
        assert!(log.contains("octo/pay#7: 1 P1 and 0 P2 open; the reviewers have finished"), "{log}");
        let notice = std::fs::read_to_string(&seen).expect("a notice");
        assert!(notice.contains("octo/pay#7") && notice.contains("1 P1 and 0 P2 open"), "{notice}");
        let gits: Vec<&str> = notice.lines().filter(|line| line.starts_with("GIT_")).collect();
        assert!(gits.is_empty(), "{gits:?}");
        let pipes: Vec<&str> = notice.lines().filter(|line| line.contains("pipe:")).collect();
        assert!(pipes.is_empty(), "{pipes:?}");
        assert!(!notice.contains("PUSHBACK_HOOK_"), "{notice}");
        until("nothing is left", || hooked.processes().is_empty());
        // An up-to-date push is not a new one.
        hooked.git(&["push", "-q", "origin", "feature"]);
        assert_eq!(hooked.started(), [sha]);
        assert!(
            !std::fs::read_to_string(run["log"].as_str().expect("a log")).expect("a log").contains(crate::scene::TOKEN)
        );
    }
}

#[test]
fn a_run_outlives_its_caller_and_ends_when_a_newer_push_takes_over() {
    for git in gits() {
        let hooked = Hooked::new(&git, unanswered);
        let first = hooked.commit("one");
        // The push returns, its pipes are at their end, and the run is still there.
        let mut push = Command::new("sh");
        push.args(["-c", "setsid sh -c 'git push -q origin feature; kill -KILL 0'"]);
        push.current_dir(&hooked.work).env_clear().envs(&hooked.env);
        out(&mut push);
        assert_eq!(hooked.started(), std::slice::from_ref(&first));
        assert_eq!(hooked.runs()[0]["state"], "running");
        let pid = hooked.runs()[0]["pid"].as_u64().expect("a process");
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("a process");
        let session = stat.rsplit_once(')').expect("a name").1.split_ascii_whitespace().nth(3).expect("a session");
        assert_eq!(session, pid.to_string(), "it leads its own session");
        let second = hooked.commit("two");
        hooked.git(&["push", "-q", "--force", "--no-verify", "origin", "feature"]);
        assert_eq!(hooked.started(), [second, first]);
        until("the first run ends", || hooked.runs()[1]["state"] == "ended");
        assert_eq!(hooked.runs()[1]["outcome"], "a newer push took over");
        assert_eq!(hooked.runs()[0]["state"], "running");
    }
}

#[test]
fn what_is_no_successful_push_of_a_branch_starts_nothing() {
    for git in gits() {
        let hooked = Hooked::new(&git, unanswered);
        // Somebody else pushes a new branch, and it is fetched.
        hooked.git_in(&hooked.bare, &["branch", "push-other", "main"]);
        hooked.git(&["fetch", "-q"]);
        hooked.git(&["fetch", "-q", "--prune"]);
        let sha = hooked.commit("one");
        hooked.git(&["push", "-q", "--dry-run", "origin", "feature"]);
        hooked.git(&["tag", "v1"]);
        hooked.git(&["push", "-q", "origin", "v1"]);
        hooked.git(&["push", "-q", "origin", ":push-other"]);
        // Refused by the other side, and not fast forward.
        executable(&hooked.bare.join("hooks/pre-receive"), "#!/bin/sh\nexit 1\n");
        assert_ne!(hooked.try_git(&["push", "-q", "origin", "feature"], &[]).code, 0);
        assert_ne!(hooked.try_git(&["push", "-q", URL, "feature"], &[]).code, 0);
        std::fs::remove_file(hooked.bare.join("hooks/pre-receive")).expect("removes");
        assert_ne!(hooked.try_git(&["push", "-q", "origin", "main:feature"], &[]).code, 0);
        // One of our own, by its mark.
        let own = hooked.commit("own");
        hooked.try_git(&["push", "-q", "origin", "feature"], &[("PUSHBACK_NO_HOOK", "1")]).ends(0, &[]);
        assert_ne!(sha, own);
        until("waiters give up", || hooked.processes().is_empty());
        assert_eq!(hooked.started(), Vec::<String>::new(), "{}", git.display());
    }
}

#[test]
fn a_push_to_an_address_is_waited_for() {
    for git in gits() {
        let hooked = Hooked::new(&git, reviewed);
        let sha = hooked.commit("one");
        hooked.git(&["push", "-q", URL, "feature"]);
        until("the run starts", || hooked.started() == [sha.clone()]);
        let (_, log) = hooked.ended();
        assert!(log.contains("octo/pay#7: 1 P1 and 0 P2 open"), "{log}");
        // Credentials in an address are used, and kept nowhere.
        let secret = URL.replace("https://", "https://me:s3cretword@");
        hooked.git(&["config", "--add", &format!("url.{}.insteadOf", hooked.bare), &secret]);
        let sha = hooked.commit("with credentials");
        hooked.git(&["push", "-q", &secret, "feature"]);
        until("the run starts", || hooked.started().first() == Some(&sha));
        hooked.ended();
        let kept =
            Command::new("grep").args(["-rlF", "s3cretword"]).arg(hooked.root.join("pay/.git/pushback")).output();
        assert_eq!(String::from_utf8_lossy(&kept.expect("grep").stdout), "");
        // A remote without tracking branches, by its name.
        hooked.git(&["config", "remote.plain.url", URL]);
        hooked.run(&["hook", "install"]).ends(0, &["to plain"]);
        let sha = hooked.commit("two");
        hooked.git(&["push", "-q", "plain", "feature"]);
        until("the run starts", || hooked.started().first() == Some(&sha));
    }
}

#[test]
fn where_there_is_no_desktop_the_terminal_of_the_push_is_told() {
    let hooked = Hooked::new(&newest_git(), reviewed);
    hooked.commit("one");
    let (done, seen) = (hooked.root.join("done"), hooked.root.join("typescript"));
    let line = format!(
        "git push -q origin feature; n=0; while [ ! -e '{done}' ] && [ $n -lt 1200 ]; do sleep 0.05; n=$((n+1)); done"
    );
    let mut terminal = Command::new("script");
    terminal.args(["-qefc", &line, seen.as_str()]).current_dir(&hooked.work).env_clear().envs(&hooked.env);
    let terminal = terminal.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
    let mut terminal = terminal.expect("`script`, of util-linux or bsdutils, makes a terminal");
    until("a run starts", || !hooked.started().is_empty());
    let (_, log) = hooked.ended();
    std::fs::write(&done, "").expect("a file");
    ended(&mut terminal, "the terminal of the push");
    let seen = std::fs::read_to_string(&seen).expect("what was shown");
    assert!(log.contains("told in the terminal"), "{log}\n{seen}");
    assert!(seen.contains("\u{7}octo/pay#7: 1 P1 and 0 P2 open; the reviewers have finished"), "{seen}");
}

#[test]
fn an_input_that_nobody_closes_holds_no_push_up() {
    let hooked = Hooked::new(&newest_git(), unanswered);
    let mut child = hooked.command(&["hook", "pushed"]).stdin(Stdio::piped()).spawn().expect("starts");
    let input = child.stdin.take();
    assert!(ended(&mut child, "a hook whose input stays open").success());
    drop(input);
    assert_eq!(hooked.started(), Vec::<String>::new());
}

#[test]
fn without_a_log_of_the_ref_the_words_of_the_caller_decide() {
    for git in gits() {
        let hooked = Hooked::new(&git, unanswered);
        hooked.git(&["config", "core.logAllRefUpdates", "false"]);
        std::fs::remove_dir_all(hooked.root.join("pay/.git/logs")).expect("removes");
        hooked.git_in(&hooked.bare, &["branch", "other", "main"]);
        hooked.git(&["fetch", "-q"]);
        hooked.git(&["update-ref", "refs/remotes/origin/made-up", "HEAD"]);
        assert_eq!(hooked.started(), Vec::<String>::new());
        let sha = hooked.commit("one");
        hooked.git(&["push", "-q", "origin", "feature"]);
        assert_eq!(hooked.started(), [sha]);
    }
}

#[test]
fn fm_49_what_the_hook_keeps_is_for_its_owner_alone() {
    let hooked = Hooked::new(&newest_git(), reviewed);
    hooked.commit("one");
    hooked.git(&["push", "-q", "origin", "feature"]);
    hooked.started();
    hooked.ended();
    let find = Command::new("find").arg(hooked.root.join("pay/.git/pushback")).args(["-perm", "/077"]).output();
    assert_eq!(String::from_utf8_lossy(&find.expect("find").stdout), "");
}

#[test]
fn fm_44_a_branch_with_shell_characters_is_a_branch_like_others() {
    let hooked = Hooked::new(&newest_git(), unanswered);
    let name = "a$(touch${IFS}x);`id`'\"&|%n";
    hooked.git(&["switch", "-q", "-c", name]);
    let sha = hooked.commit("one");
    hooked.git(&["push", "-q", "origin", name]);
    assert_eq!(hooked.started(), [sha]);
    assert_eq!(hooked.runs()[0]["branch"], name);
    assert_eq!(hooked.git(&["status", "--porcelain"]), "");
}

#[test]
fn our_own_pushes_start_nothing() {
    let hooked = Hooked::new(&newest_git(), |plan| {
        plan.script = codex_reviews(&[p1()], &[p1()]);
        plan.editor = settles();
    });
    hooked.run(&["run", "--wait", "20s"]).ends(0, &["pushed", "settled"]);
    assert_eq!(hooked.started(), Vec::<String>::new());
}

#[test]
fn hooks_that_were_there_are_chained_and_come_back() {
    for git in gits() {
        let hooked = Hooked::bare(&git, unanswered);
        let seen = hooked.root.join("chained");
        let script =
            |name: &str| format!("#!/bin/sh\n{{ echo \"{name} $*\"; cat; }} >>'{seen}'\n[ ! -e '{seen}.veto' ]\n");
        let events = ["reference-transaction", "pre-push"];
        for event in events {
            executable(&hooked.hooks().join(event), &script(event));
        }
        hooked.run(&["hook", "install"]).ends(0, &["hands on to the hook that was there"]);
        hooked.run(&["hook", "install"]).ends(0, &[]);
        let sha = hooked.commit("one");
        hooked.git(&["push", "-q", "origin", "feature"]);
        assert_eq!(hooked.started(), std::slice::from_ref(&sha));
        let text = std::fs::read_to_string(&seen).expect("they ran");
        let zero = "0".repeat(40);
        for line in [
            format!("reference-transaction committed\n{zero} {sha} refs/remotes/origin/feature\n"),
            format!("reference-transaction prepared\n{zero} {sha} refs/remotes/origin/feature\n"),
            format!("refs/heads/feature {sha} refs/heads/feature "),
            format!("pre-push origin {}\n", hooked.bare),
        ] {
            assert!(text.contains(&line), "{line}\nin\n{text}");
        }
        // Their veto counts, ours does not exist.
        std::fs::write(format!("{seen}.veto"), "").expect("a file");
        hooked.write("veto.txt", "x");
        hooked.try_git(&["add", "-A"], &[]).ends(0, &[]);
        assert_ne!(hooked.try_git(&["commit", "-q", "-m", "vetoed"], &[]).code, 0);
        assert_ne!(hooked.try_git(&["push", "-q", URL, "HEAD:refs/heads/vetoed"], &[]).code, 0);
        std::fs::remove_file(format!("{seen}.veto")).expect("removes");
        hooked.run(&["hook", "uninstall"]).ends(0, &["put back"]);
        for event in events {
            assert_eq!(std::fs::read_to_string(hooked.hooks().join(event)).expect("a hook"), script(event));
        }
        let left = std::fs::read_dir(hooked.hooks()).expect("a folder").flatten();
        let left: Vec<String> = left.map(|file| file.file_name().to_string_lossy().into_owned()).collect();
        assert!(left.iter().all(|name| name.ends_with(".sample") || events.contains(&name.as_str())), "{left:?}");
        assert!(!hooked.root.join("pay/.git/pushback/hook").exists());
    }
}

#[test]
fn fc_43_the_hook_goes_where_git_looks() {
    // A linked worktree uses the common folder; a submodule its own.
    let hooked = Hooked::bare(&newest_git(), |plan| {
        unanswered(plan);
        plan.linked = true;
    });
    hooked.run(&["hook", "install"]).ends(0, &[hooked.hooks().as_str()]);
    let before = hooked.git(&["status", "--porcelain", "--ignored"]);
    assert_eq!(before, "");
    hooked.run(&["hook", "uninstall"]).ends(0, &["removed"]);
    // husky: its folder is ignored.
    std::fs::create_dir_all(hooked.work.join(".husky/_")).expect("folders");
    std::fs::write(hooked.work.join(".husky/_/.gitignore"), "*").expect("a file");
    hooked.git(&["config", "core.hooksPath", ".husky/_"]);
    hooked.run(&["hook", "install"]).ends(0, &[".husky/_/reference-transaction"]);
    let sha = hooked.commit("one");
    hooked.git(&["push", "-q", "origin", "feature"]);
    assert_eq!(hooked.started(), [sha]);
    hooked.run(&["hook", "uninstall"]).ends(0, &["removed"]);
    // A folder outside that was not there before leaves again.
    let outside = hooked.root.join("my hooks");
    hooked.git(&["config", "core.hooksPath", outside.as_str()]);
    hooked.run(&["hook", "install"]).ends(0, &[outside.as_str()]);
    assert!(outside.join("pre-push").exists());
    hooked.run(&["hook", "uninstall"]).ends(0, &["removed"]);
    assert!(!outside.exists());
    // Nothing that was under way goes on.
    until("runs end with the hook", || hooked.processes().is_empty());
    assert!(!hooked.root.join("pay/.git/pushback/hook").exists());
    // A submodule has hooks of its own.
    hooked.git(&["config", "--unset", "core.hooksPath"]);
    hooked.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", hooked.bare.as_str(), "sub"]);
    hooked.run(&["-C", "sub", "hook", "install"]).ends(0, &["modules/sub/hooks/reference-transaction"]);
    hooked.git(&["config", "core.hooksPath", outside.as_str()]);
    // A folder that cannot be written is said so.
    std::fs::write(&outside, "a file in the way").expect("a file");
    let out = hooked.run(&["hook", "install"]);
    assert_eq!(out.code, 1, "{}", out.all());
    assert!(out.stderr.contains("my hooks"), "{}", out.all());
}

#[test]
fn nothing_is_written_into_a_tracked_folder() {
    let hooked = Hooked::bare(&newest_git(), |plan| {
        unanswered(plan);
        plan.base.push((".githooks/pre-commit", "#!/bin/sh\n".to_owned()));
    });
    hooked.git(&["config", "core.hooksPath", ".githooks"]);
    let out = hooked.run(&["hook", "install"]);
    out.ends(2, &["part of the project's files", ".githooks/reference-transaction", "pushback hook pushed"]);
    assert_eq!(hooked.git(&["status", "--porcelain"]), "");
    // The line does it.
    let line = out.stderr.lines().find(|line| line.contains("pushback hook pushed")).expect("a line").trim();
    executable(&hooked.work.join(".githooks/reference-transaction"), &format!("#!/bin/sh\n{line}\n"));
    symlink(env!("CARGO_BIN_EXE_pushback"), hooked.root.join("bin/pushback")).expect("a link");
    hooked.run(&["hook", "install"]).ends(0, &["has the line already"]);
    let sha = hooked.commit("one");
    hooked.git(&["push", "-q", "origin", "feature"]);
    assert_eq!(hooked.started(), [sha]);
    let status = hooked.run(&["hook", "status", "--json"]).json();
    assert_eq!((&status["hook"]["method"], &status["hook"]["installed"]), (&json!("line"), &json!(true)));
}

#[test]
fn a_program_that_is_gone_costs_one_line_and_no_push() {
    let hooked = Hooked::new(&newest_git(), unanswered);
    let path = hooked.hooks().join("reference-transaction");
    let text = std::fs::read_to_string(&path).expect("a hook");
    let text = text.replace(env!("CARGO_BIN_EXE_pushback"), "/nowhere/pushback");
    std::fs::write(&path, &text).expect("writes");
    let sha = hooked.commit("one");
    let out = hooked.try_git(&["push", "-q", "origin", "feature"], &[]);
    assert_eq!((out.code, out.stderr.lines().count()), (0, 1), "{}", out.all());
    assert!(out.stderr.contains("pushback is not there any more"), "{}", out.all());
    assert_eq!(hooked.remote_head(), sha);
    // By the PATH it is found again.
    symlink(env!("CARGO_BIN_EXE_pushback"), hooked.root.join("bin/pushback")).expect("a link");
    let sha = hooked.commit("two");
    hooked.try_git(&["push", "-q", "origin", "feature"], &[]).ends(0, &[]);
    assert_eq!(hooked.started(), [sha]);
}

#[test]
fn a_git_that_has_config_hooks_is_told_there() {
    let hooked = Hooked::bare(Path::new("git"), |plan| {
        unanswered(plan);
        plan.base.push((".githooks/pre-commit", "#!/bin/sh\n".to_owned()));
    });
    let real = gits().remove(0);
    hooked.program(
        "git",
        &format!(
            "#!/bin/sh\ncase \"$*\" in *version) echo 'git version 2.54.0' ;; *) exec '{}' \"$@\" ;; esac\n",
            real.display()
        ),
    );
    hooked.git(&["config", "core.hooksPath", ".githooks"]);
    let config = || std::fs::read_to_string(hooked.root.join("pay/.git/config")).expect("a file");
    let before = config();
    hooked.run(&["hook", "install"]).ends(0, &["configuration"]);
    let once = config();
    assert_eq!(hooked.git(&["status", "--porcelain"]), "");
    let command = hooked.git(&["config", "hook.pushback-reference-transaction.command"]);
    assert_eq!(hooked.git(&["config", "hook.pushback-reference-transaction.event"]), "reference-transaction");
    assert_eq!(hooked.git(&["config", "hook.pushback-pre-push.event"]), "pre-push");
    hooked.run(&["hook", "install"]).ends(0, &[]);
    assert_eq!(config(), once, "idempotent");
    // As such a git calls it: by a shell, with the arguments after it.
    let sha = hooked.commit("one");
    hooked.git(&["push", "-q", "origin", "feature"]);
    let zero = "0".repeat(40);
    let line = format!("echo '{zero} {sha} refs/remotes/origin/feature' | {command} committed");
    out(Command::new("sh").args(["-c", &line]).current_dir(&hooked.work).env_clear().envs(&hooked.env)).ends(0, &[]);
    until("the run starts", || hooked.started() == [sha.clone()]);
    let status = hooked.run(&["hook", "status", "--json"]).json();
    assert_eq!((&status["hook"]["method"], &status["hook"]["installed"]), (&json!("config"), &json!(true)));
    hooked.run(&["hook", "uninstall"]).ends(0, &["configuration"]);
    assert_eq!(config(), before, "without a trace");
}

#[test]
fn a_branch_pushed_under_another_name_is_found_again() {
    let hooked = Hooked::new(&newest_git(), reviewed);
    hooked.git(&["switch", "-q", "--no-track", "-c", "mine", "feature"]);
    let sha = hooked.commit("one");
    hooked.run(&["status"]).ends(2, &["`mine`", "no open pull request"]);
    hooked.git(&["push", "-q", "origin", "HEAD:feature"]);
    assert_eq!(hooked.started(), [sha]);
    hooked.ended();
    let answer = hooked.run(&["status", "--json"]).json();
    assert_eq!((&answer["pr"]["number"], &answer["exit"]), (&json!(7), &json!(11)), "{answer:#}");
    // The upstream is another branch than the one that was pushed to.
    hooked.git(&["switch", "-q", "--track", "-c", "feature2", "origin/main"]);
    hooked.run(&["status"]).ends(2, &["no open pull request"]);
}

#[test]
fn a_mode_decides_what_happens() {
    let with = |mode: &'static str| {
        Hooked::new(&newest_git(), move |plan| {
            reviewed(plan);
            plan.editor = settles();
            plan.user = format!("[hook]\nmode = \"{mode}\"\n");
        })
    };
    let hooked = with("status");
    hooked.run(&["hook", "status"]).ends(0, &["after a push: status"]);
    hooked.commit("one");
    hooked.git(&["push", "-q", "origin", "feature"]);
    hooked.started();
    let (_, log) = hooked.ended();
    assert!(log.contains("octo/pay#7: ") && !log.contains("told"), "{log}");

    let hooked = with("run");
    let sha = hooked.commit("one");
    hooked.write("src/pay.sh", "somebody is at work here\n");
    hooked.git(&["push", "-q", "origin", "feature"]);
    assert_eq!(hooked.started(), std::slice::from_ref(&sha));
    let (run, log) = hooked.ended();
    assert_eq!(run["outcome"], "the run settled it", "{log}");
    assert_ne!(hooked.remote_head(), sha, "the fix is pushed");
    assert_eq!(hooked.git(&["rev-parse", "HEAD"]), sha);
    assert_eq!(hooked.read("src/pay.sh"), "somebody is at work here\n");
    assert_eq!(hooked.git(&["worktree", "list"]).lines().count(), 1, "its worktree is gone");
    assert_eq!(hooked.started().len(), 1, "its own push started nothing");
    hooked.is_sound();

    let hooked = with("run");
    let sha = hooked.commit("one");
    hooked.try_git(&["push", "-q", "origin", "feature"], &[("CLAUDECODE", "1")]).ends(0, &[]);
    assert_eq!(hooked.started(), std::slice::from_ref(&sha));
    let (_, log) = hooked.ended();
    assert!(log.contains("no run: claude is at work in this worktree"), "{log}");
    assert_eq!((hooked.remote_head(), hooked.editor_rounds()), (sha, 0));
}

#[test]
fn an_agent_that_pushed_is_told_once_and_kept_going_once() {
    let hooked = Hooked::new(&newest_git(), reviewed);
    let push = json!({
        "hook_event_name": "PostToolUse", "session_id": "s1", "cwd": hooked.work, "tool_name": "Bash",
        "tool_input": { "command": "git push origin feature; true" },
    });
    let stop = |active: bool| json!({ "hook_event_name": "Stop", "session_id": "s1", "cwd": hooked.work, "stop_hook_active": active });
    let silent = |out: &Out| assert_eq!((out.code, out.all().trim()), (0, ""), "{out:?}");
    let sha = hooked.commit("one");
    // The command ran, the push failed.
    executable(&hooked.bare.join("hooks/pre-receive"), "#!/bin/sh\nexit 1\n");
    hooked.try_git(&["push", "-q", "origin", "feature"], &[]);
    std::fs::remove_file(hooked.bare.join("hooks/pre-receive")).expect("removes");
    silent(&hooked.agent(&push, &[]));
    hooked.git(&["push", "-q", "origin", "feature"]);
    silent(&hooked.agent(&push, &[("PUSHBACK_RUN_ID", "r")]));
    silent(&hooked.agent(&json!("no JSON"), &[]));
    let mut other = push.clone();
    other["tool_input"]["command"] = json!("git status");
    silent(&hooked.agent(&other, &[]));
    let told = hooked.agent(&push, &[]);
    assert_eq!((told.code, told.stdout.as_str()), (2, ""), "{told:?}");
    for words in ["1 P1 and 0 P2 open on octo/pay#7", &sha[..10], "src/pay.sh:", "Multiply by a rate that is not zero"]
    {
        assert!(told.stderr.contains(words), "{words}: {told:?}");
    }
    silent(&hooked.agent(&push, &[]));
    let kept = hooked.agent(&stop(false), &[]);
    assert_eq!((kept.code, &kept.json()["decision"]), (0, &json!("block")), "{kept:?}");
    assert!(kept.json()["reason"].as_str().is_some_and(|why| why.contains("1 P1")), "{kept:?}");
    silent(&hooked.agent(&stop(true), &[]));
    assert_eq!(hooked.agent(&stop(false), &[]).json()["decision"], "block");
    silent(&hooked.agent(&stop(false), &[]));
    silent(&hooked.agent(&stop(false), &[("PUSHBACK_RUN_ID", "r")]));
    // A branch without a pull request, and a folder without a repository.
    hooked.git(&["switch", "-q", "-c", "elsewhere"]);
    hooked.git(&["commit", "-q", "--allow-empty", "-m", "else"]);
    let mut nowhere = stop(false);
    nowhere["session_id"] = json!("s2");
    silent(&hooked.agent(&nowhere, &[]));
    nowhere["cwd"] = json!(hooked.root);
    silent(&hooked.agent(&nowhere, &[]));
}
