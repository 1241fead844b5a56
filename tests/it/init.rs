//! `init` and `trust`: what is found, shown, written, trusted; and that a second time changes nothing.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::scene::says::*;
use crate::scene::{Plan, Scene};

/// A fresh clone: no configuration anywhere, one editor on the PATH that tells its version.
fn fresh(change: impl FnOnce(&mut Plan)) -> Scene {
    let mut scene = Scene::new(|plan| {
        plan.policy = String::new();
        plan.base.push(("Cargo.toml", "[package]\nname = \"pay\"\n".to_owned()));
        plan.base.push(("Makefile", "test:\n\tsh spec/test.sh\n".to_owned()));
        change(plan);
    });
    scene.git(&["rm", "-q", "--cached", ".pushback.toml"]);
    std::fs::remove_file(scene.work.join(".pushback.toml")).expect("a file");
    scene.env.remove("PUSHBACK_CONFIG");
    let bin = scene.root.join("bin");
    std::fs::create_dir_all(&bin).expect("a folder");
    std::fs::write(bin.join("claude"), "#!/bin/sh\necho '2.1.332 (Claude Code)'\n").expect("a program");
    std::fs::set_permissions(bin.join("claude"), std::fs::Permissions::from_mode(0o755)).expect("a mode");
    scene.env.insert("PATH".to_owned(), format!("{bin}:/usr/local/bin:/usr/bin:/bin"));
    scene
}

fn config(scene: &Scene) -> Option<String> {
    std::fs::read_to_string(scene.work.join(".pushback.toml")).ok()
}

/// Asks for one value of the configuration in force, and where it comes from.
fn value(scene: &Scene, key: &str) -> (Value, Value) {
    let shown = scene.run(&["config", "show", "--origin", "--json"]).json();
    (shown["config"][key]["value"].clone(), shown["config"][key]["origin"].clone())
}

#[test]
fn a_fresh_clone_is_set_up_once() {
    let scene = fresh(|plan| plan.script = codex_reviews(&[], &[]));
    let shown = scene.run(&["init", "--dry-run"]);
    shown.ends(0, &["github.com/octo/pay", "octo/pay#7", "cargo test (Cargo.toml)", "2.1.332", "codex", "+[verify]"]);
    assert_eq!(config(&scene), None, "a dry run writes nothing");
    scene.run(&["init"]).ends(2, &["nobody has agreed yet", "--yes", "+commands = [\"cargo test\"]"]);
    assert_eq!(config(&scene), None, "without a terminal only --yes agrees");
    scene.run(&["init", "--yes"]).ends(0, &["wrote .pushback.toml", "trusted here"]);
    let text = config(&scene).expect("a file");
    assert!(text.contains("make test") && text.contains("required = [\"codex\"]"), "{text}");
    assert_eq!(value(&scene, "verify.commands"), (json!(["cargo test"]), json!("trusted worktree")));
    assert_eq!(value(&scene, "reviewers.none").0, json!(false));
    let again = scene.run(&["init", "--json"]).json();
    assert_eq!(
        (&again["files"][0]["change"], &again["written"], &again["exit"]),
        (&json!("none"), &json!(false), &json!(0))
    );
    scene.run(&["init"]).ends(0, &["everything is set up already"]);
    assert_eq!(config(&scene), Some(text));
    assert_eq!(scene.writes(), Vec::<String>::new(), "nothing is written to the forge");
    assert_eq!(scene.forge.violations(), Vec::<String>::new());
}

#[test]
fn r17_no_bot_on_recent_pull_requests_is_said_in_the_file() {
    let scene = fresh(|_| {});
    scene.run(&["init", "--yes"]).ends(0, &["none on the last 1 pull request"]);
    assert!(config(&scene).expect("a file").contains("\nnone = true\n"));
    let blind = fresh(|_| {});
    let mut blind = blind;
    blind.env.remove("PUSHBACK_TOKEN");
    blind.run(&["init", "--yes"]).ends(0, &["note: ", "PUSHBACK_TOKEN"]);
    let text = config(&blind).expect("a file");
    assert!(
        !text.contains("\nnone = true\n") && text.contains("# none = true"),
        "what was not read proves nothing: {text}"
    );
}

#[test]
fn init_needs_no_remote_and_no_pull_request() {
    let scene = fresh(|_| {});
    scene.git(&["switch", "-q", "-c", "lonely"]);
    scene.run(&["init", "--dry-run"]).ends(0, &["none is open for this branch"]);
    scene.git(&["remote", "remove", "origin"]);
    scene.run(&["init", "--yes"]).ends(0, &["the repository has no remote", "wrote .pushback.toml"]);
    let mut nowhere = fresh(|_| {});
    nowhere.work = nowhere.root.join("home");
    nowhere.run(&["init"]).ends(2, &["is not in a git worktree"]);
}

#[test]
fn what_people_wrote_is_added_to_and_a_bad_file_is_left_alone() {
    let scene = fresh(|_| {});
    let own = "# ours\n[verify]\ncommands = [\"sh spec/test.sh\"]";
    scene.write(".pushback.toml", own);
    scene.run(&["init", "--yes"]).ends(0, &["wrote .pushback.toml"]);
    let text = config(&scene).expect("a file");
    assert!(text.starts_with(own) && text.contains("\n[agent]\n") && text.contains("\n[reviewers]\n"), "{text}");
    assert_eq!(value(&scene, "verify.commands").0, json!(["sh spec/test.sh"]));
    scene.write(".pushback.toml", "[verfy]\ncommands = []\n");
    scene.run(&["init", "--yes"]).ends(2, &["verfy", "verify"]);
    assert_eq!(config(&scene).as_deref(), Some("[verfy]\ncommands = []\n"));
}

#[test]
fn what_is_configured_already_is_not_missed() {
    let scene = fresh(|plan| plan.base = vec![("a.txt", "a\n".to_owned())]);
    scene.run(&["init", "--dry-run"]).ends(0, &["none found", "no test command was found"]);
    scene.write(
        ".pushback.toml",
        "[verify]\ncommands = [\"sh check.sh\", \"sh more.sh\"]\n[agent]\ncommand = [\"me\"]\n",
    );
    let out = scene.run(&["init", "--dry-run"]);
    out.ends(0, &["sh check.sh; sh more.sh (configured)"]);
    assert!(
        !out.all().contains("no test command was found") && !out.all().contains("no known editor"),
        "{}",
        out.all()
    );
}

#[test]
fn the_skill_is_written_once_and_people_s_words_stay() {
    let scene = fresh(|_| {});
    scene.write("AGENTS.md", "# Our rules\n\nBe kind.\n");
    let shown = scene.run(&["init", "--agent-skill", "--dry-run"]);
    shown.ends(0, &["+++ b/AGENTS.md", "+++ b/.claude/skills/pushback/SKILL.md"]);
    scene
        .run(&["init", "--agent-skill", "--yes"])
        .ends(0, &["wrote .pushback.toml, .claude/skills/pushback/SKILL.md, AGENTS.md"]);
    let (agents, skill) = (scene.read("AGENTS.md"), scene.read(".claude/skills/pushback/SKILL.md"));
    assert!(agents.starts_with("# Our rules\n\nBe kind.\n\n<!-- pushback:agents -->\n"), "{agents}");
    assert!(skill.starts_with("---\nname: pushback\ndescription: "), "{skill}");
    scene.run(&["init", "--agent-skill"]).ends(0, &["everything is set up already"]);
    assert_eq!(scene.read("AGENTS.md"), agents);
    scene.write("AGENTS.md", &agents.replace("<!-- pushback:agents:end -->", ""));
    scene.run(&["init", "--agent-skill", "--yes"]).ends(2, &["AGENTS.md holds our markers"]);
}

#[test]
fn the_hook_is_installed_with_the_rest() {
    let scene = fresh(|_| {});
    let hook = scene.root.join("pay/.git/hooks/reference-transaction");
    scene.run(&["init", "--hook", "--dry-run"]).ends(0, &["would write", "reference-transaction"]);
    assert!(!hook.exists());
    scene.run(&["init", "--hook", "--yes"]).ends(0, &["wrote .pushback.toml", "reference-transaction"]);
    scene.run(&["hook", "status"]).ends(0, &["post-push hook: "]);
    scene.run(&["init", "--hook"]).ends(0, &["everything is set up already"]);
    let doctor = scene.run(&["doctor"]);
    assert!(doctor.stdout.contains("ok  hook"), "{}", doctor.all());
}

#[test]
fn r29_trust_is_for_exactly_this_content_and_never_in_ci() {
    let mut scene = fresh(|_| {});
    scene.run(&["trust", "--yes"]).ends(2, &[".pushback.toml", "pushback init"]);
    scene.write(".pushback.toml", "[verify]\ncommands = [\"true\"]\n[limits]\nrounds = 99\n");
    assert_eq!(value(&scene, "verify.commands").1, json!("built-in"), "not before it is trusted");
    scene.run(&["trust"]).ends(2, &["nobody has agreed", "+commands = [\"true\"]", "limits.rounds"]);
    scene.run(&["trust", "--dry-run"]).ends(0, &["would be trusted"]);
    assert_eq!(value(&scene, "verify.commands").1, json!("built-in"));
    scene.run(&["trust", "--yes"]).ends(0, &["trusted, as long as it stays as it is"]);
    assert_eq!(value(&scene, "verify.commands"), (json!(["true"]), json!("trusted worktree")));
    assert_eq!(value(&scene, "limits.rounds").1, json!("built-in"), "policy is never the worktree's");
    let again = scene.run(&["trust", "--json"]).json();
    assert_eq!((&again["trusted"], &again["ignored"]), (&json!(true), &json!(["limits.rounds"])));
    scene.env.insert("CI".to_owned(), "1".to_owned());
    assert_eq!(value(&scene, "verify.commands").1, json!("built-in"), "never where CI is set");
    scene.run(&["trust", "--yes"]).ends(2, &["CI"]);
    scene.env.remove("CI");
    scene.write(".pushback.toml", "[verify]\ncommands = [\"true \"]\n");
    assert_eq!(value(&scene, "verify.commands").1, json!("built-in"), "one byte more is another content");
}

#[test]
fn r29_a_pull_request_that_loosens_its_gate_is_pointed_out() {
    let scene = Scene::new(|plan| {
        plan.script = codex_reviews(&[], &[]);
        plan.feature.push((".pushback.toml", format!("{}[gate]\nno_checks = true\n", plan.policy)));
    });
    for args in [["status"].as_slice(), &["gate"], &["status", "--json"], &["gate", "--json"]] {
        let out = scene.run(args);
        assert!(out.stdout.contains("loosens the gate it has to pass: `gate.no_checks`"), "{args:?}: {}", out.all());
    }
    let behind = Scene::new(|plan| plan.script = codex_reviews(&[], &[]));
    behind.git(&["switch", "-q", "main"]);
    behind.write(".pushback.toml", &format!("{}[gate]\nchecks = [\"build\"]\n", behind.read(".pushback.toml")));
    behind.git(&["commit", "-q", "-am", "More to pass"]);
    behind.git(&["push", "-q", "origin", "main"]);
    behind.git(&["switch", "-q", "feature"]);
    assert!(!behind.run(&["gate"]).stdout.contains("loosens"), "a branch that is only behind changes nothing");
}
