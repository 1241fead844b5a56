//! `doctor`: each thing that a run needs, seen good and seen bad, with its mend.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::scene::says::*;
use crate::scene::{Plan, Scene, TOKEN};

/// A scene whose PATH holds git, sh and one editor of ours, and nothing of the machine's.
fn scene(change: impl FnOnce(&mut Plan)) -> Scene {
    let mut scene = Scene::new(|plan| {
        plan.script = codex_reviews(&[], &[]);
        change(plan);
    });
    let bin = scene.root.join("bin");
    std::fs::create_dir_all(&bin).expect("a folder");
    for name in ["git", "sh", "cat"] {
        let found = std::env::var("PATH")
            .expect("a PATH")
            .split(':')
            .map(|dir| format!("{dir}/{name}"))
            .find(|path| std::fs::metadata(path).is_ok_and(|data| data.is_file()));
        std::os::unix::fs::symlink(found.expect("it is on the PATH"), bin.join(name)).expect("a link");
    }
    program(&scene, "claude", "echo '2.1.332 (Claude Code)'");
    scene.env.insert("PATH".to_owned(), bin.to_string());
    scene
}

fn program(scene: &Scene, name: &str, text: &str) {
    let path = scene.root.join("bin").join(name);
    let _ = std::fs::remove_file(&path);
    std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("a program");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("a mode");
}

/// The rows of one kind: how it is, what was found, the mend.
fn rows(answer: &Value, check: &str) -> Vec<(Option<bool>, String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let all = answer["checks"].as_array().cloned().unwrap_or_default();
    let some = all.iter().filter(|row| row["check"] == check);
    some.map(|row| (row["ok"].as_bool(), text(&row["found"]), text(&row["mend"]))).collect()
}

#[track_caller]
fn has(answer: &Value, check: &str, ok: Option<bool>, found: &str, mend: &str) {
    let all = rows(answer, check);
    let fits = |row: &(Option<bool>, String, String)| row.0 == ok && row.1.contains(found) && row.2.contains(mend);
    assert!(all.iter().any(fits), "{check} {ok:?} {found} {mend}: {all:#?}");
}

#[test]
fn everything_is_looked_at_and_nothing_is_changed() {
    let scene = scene(|_| {});
    std::fs::create_dir_all(scene.root.join("home/.claude")).expect("a folder");
    std::fs::write(scene.root.join("home/.claude/.credentials.json"), "{\"a\":1}").expect("a file");
    let out = scene.run(&["doctor", "--json"]);
    out.ends(0, &[]);
    let answer = out.json();
    let good = |check: &str, found: &str| has(&answer, check, Some(true), found, "");
    good("git", "git version");
    good("repository", "ordinary formats");
    good("remote", "github.com/octo/pay");
    good("token", "from PUSHBACK_TOKEN, account me");
    good("pull request", "octo/pay#7");
    for right in [
        "contents: read",
        "pull requests: read",
        "threads",
        "checks: read",
        "commit statuses: read",
        "branch rules: read",
    ] {
        good("right", right);
    }
    good("right", "commit statuses: write");
    has(&answer, "right", None, "branch protection", "");
    good("reviewers", "codex");
    good("clock", "");
    good("disk", "MiB free");
    good("config", "sh spec/test.sh");
    good("agent", "2.1.332");
    good("agent", ".credentials.json");
    assert!(!out.all().contains(TOKEN), "the token is never shown");
    assert_eq!((scene.writes(), scene.summary_bytes()), (Vec::new(), None));
    assert_eq!(scene.forge.violations(), Vec::<String>::new());
    scene.run(&["doctor"]).ends(0, &["nothing has to be mended", "ok  token"]);
}

#[test]
fn a_token_that_is_missing_wrong_or_lacks_rights() {
    let mut none = scene(|_| {});
    none.env.remove("PUSHBACK_TOKEN");
    let out = none.run(&["doctor", "--json"]);
    out.ends(2, &[]);
    has(&out.json(), "token", Some(false), "no token for github.com", "gh auth login");
    let mut wrong = scene(|_| {});
    wrong.env.insert("PUSHBACK_TOKEN".to_owned(), "wrong".to_owned());
    let out = wrong.run(&["doctor", "--json"]);
    out.ends(2, &[]);
    has(&out.json(), "token", Some(false), "401", "PUSHBACK_TOKEN");
    let poor = scene(|plan| {
        let some = json!({ "pull_requests": "write", "contents": "read", "issues": "read", "metadata": "read" });
        plan.tokens = json!([{ "token": TOKEN, "kind": "fine_grained", "permissions": some }]);
    });
    let out = poor.run(&["doctor", "--json"]);
    out.ends(2, &[]);
    let answer = out.json();
    has(&answer, "right", Some(false), "checks: read", "checks: read");
    has(&answer, "right", Some(false), "statuses=read", "commit statuses: read");
    has(&answer, "right", Some(true), "pull requests: read", "");
    has(&answer, "right", None, "pull requests: write: only a write would tell", "");
    let reader = scene(|plan| plan.repo = json!({ "collaborators": { "me": "read" } }));
    let out = reader.run(&["doctor", "--json"]);
    out.ends(2, &[]);
    has(&out.json(), "right", Some(false), "no write permission in octo/pay", "status, show and gate do not");
}

#[test]
fn git_clock_configuration_and_editors() {
    let scene = scene(|plan| plan.policy = "[reviewers]\nsettle = \"1s\"\n".to_owned());
    let real = std::fs::read_link(scene.root.join("bin/git")).expect("a link");
    program(
        &scene,
        "git",
        &format!("[ \"$1\" = --version ] && echo git version 2.20.1 && exit 0\nexec {} \"$@\"", real.display()),
    );
    program(&scene, "claude", "exit 3");
    scene.forge.freeze_at("2026-01-01T00:00:00Z");
    let out = scene.run(&["doctor", "--json"]);
    out.ends(2, &[]);
    let answer = out.json();
    has(&answer, "git", Some(false), "2.20.1 is too old", "2.36");
    has(&answer, "clock", Some(false), " s ", "clock");
    has(&answer, "config", Some(false), "no verify command", "or `none = true`");
    has(&answer, "agent", Some(false), "claude", "reinstall");
    scene.write(".pushback.toml", "[verify]\ncommands = [\"true\"]\n");
    has(&scene.run(&["doctor", "--json"]).json(), "config", Some(false), "no verify command", "pushback trust");
    scene.run(&["doctor"]).ends(2, &["NO  git", "→ install git 2.36", " to mend"]);
    std::fs::remove_file(scene.root.join("bin/claude")).expect("a file");
    has(&scene.run(&["doctor", "--json"]).json(), "editor", Some(true), "as configured", "");
}

#[test]
fn a_place_where_no_state_can_be_kept_is_named() {
    let scene = scene(|_| {});
    let state = scene.root.join("pay/.git/pushback");
    let _ = std::fs::remove_dir_all(&state);
    std::fs::write(&state, "").expect("a file");
    let out = scene.run(&["doctor", "--json"]);
    out.ends(2, &[]);
    has(&out.json(), "state", Some(false), "is no folder", "move it away");
    std::fs::remove_file(&state).expect("a file");
    assert_eq!(rows(&scene.run(&["doctor", "--json"]).json(), "state"), []);
}

#[test]
fn the_configured_editor_is_looked_at() {
    let check = |agent: &str, ok: bool, words: &str, mend: &str| {
        let scene = scene(|plan| {
            plan.agent = format!("[agent]\n{agent}\n");
            plan.policy = "[verify]\ncommands = [\"true\"]\n".to_owned();
        });
        let out = scene.run(&["doctor", "--json"]);
        out.ends(if ok { 0 } else { 2 }, &[]);
        has(&out.json(), "editor", Some(ok), words, mend);
        assert!(!out.all().contains("no known editor"), "{}", out.all());
    };
    check("name = \"codex\"", false, "codex is configured and not there", "install it");
    check("name = \"command\"", false, "`agent.command` is empty", "agent.command");
    check("command = [\"sh\", \"edit.sh\"]", true, "sh, as configured", "");
}

#[test]
fn folders_without_a_repository_a_remote_or_a_pull_request() {
    let mut scene = scene(|_| {});
    scene.git(&["switch", "-q", "-c", "lonely"]);
    let out = scene.run(&["doctor", "--json"]);
    out.ends(0, &[]);
    has(&out.json(), "pull request", None, "has no open pull request", "gh pr create");
    let odd = scene.root.join("odd");
    for (flag, says) in [("--object-format=sha256", "objects sha256"), ("--ref-format=reftable", "refs reftable")] {
        let _ = std::fs::remove_dir_all(&odd);
        let made = std::process::Command::new("git")
            .args(["init", "-q", flag, odd.as_str()])
            .env_clear()
            .envs(&scene.env)
            .output();
        if !made.expect("git runs").status.success() {
            println!("SKIPPED: this git does not know {flag}");
            continue;
        }
        let out = scene.run(&["-C", odd.as_str(), "doctor", "--json"]);
        out.ends(2, &[]);
        has(&out.json(), "repository", Some(true), says, "");
        has(&out.json(), "remote", Some(false), "", "");
    }
    scene.work = scene.root.join("home");
    let out = scene.run(&["doctor", "--json"]);
    out.ends(2, &[]);
    has(&out.json(), "repository", Some(false), "is not in a git worktree", "-C DIR");
}
