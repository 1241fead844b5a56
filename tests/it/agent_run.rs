//! Whole runs with editors that misbehave: each has a named end, and nothing of what it did outside its task stays.

use serde_json::{Value, json};

use crate::process::marked;
use crate::scene::says::*;
use crate::scene::{Out, POLICY, Plan, Scene};
use crate::support::ended;

const RUN: [&str; 3] = ["run", "--wait", "20s"];

/// One P1 of Codex; the editor does this in every round.
fn scene(round: &Value, change: impl FnOnce(&mut Plan)) -> Scene {
    Scene::new(|plan| {
        plan.script = codex_reviews(&[p1()], &[p1()]);
        plan.editor = json!({ "otherwise": round });
        change(plan);
    })
}

/// Asserts that the round was put aside for this reason, and that everything is as it was before.
#[track_caller]
fn put_aside(scene: &Scene, round: &str, reason: &str) {
    let picture = |scene: &Scene| {
        let refs = scene.git(&["for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/replace"]);
        let config = scene.git(&["config", "--local", "--list"]);
        let hooks = std::fs::read_dir(scene.root.join("pay/.git/hooks")).into_iter().flatten().count();
        let branch = scene.git(&["branch", "--show-current"]);
        (refs, config, hooks, branch, scene.git(&["status", "--porcelain"]), scene.remote_head())
    };
    let before = picture(scene);
    let out = scene.run(&RUN);
    out.ends(14, &["rejected_round", reason]);
    assert_eq!(picture(scene), before, "{round}:\n{}", out.all());
    open(scene, round);
}

/// Asserts that nothing was settled or posted.
#[track_caller]
fn open(scene: &Scene, round: &str) {
    assert_eq!(scene.statuses().values().map(String::as_str).collect::<Vec<_>>(), ["P1 open"], "{round}");
    assert_eq!(scene.posted_keys(), Vec::<String>::new(), "{round}");
}

fn attempts(scene: &Scene) -> Value {
    let summary = scene.summary();
    let entry = summary["comments"].as_object().and_then(|all| all.values().next().cloned());
    entry.map(|entry| entry["attempts"].clone()).unwrap_or_default()
}

#[test]
fn fm_31_what_it_touches_beside_its_task_puts_the_round_aside() {
    let check = |line: &str, reason: &str| {
        let scene = scene(&json!({ "run": ["sed -i s/rate=0/rate=1/ src/pay.sh", line] }), |_| {});
        put_aside(&scene, line, reason);
    };
    check("git config alias.x '!sh -c evil'", "git configuration");
    check("git config core.hooksPath /tmp/evil", "changed git hooks");
    check("printf '[core]\\n\\tfsmonitor = /bin/true\\n' >>.git/config", "git configuration");
    check("printf '*.sh\\n' >>.git/info/exclude", "git configuration");
    check("git update-index --assume-unchanged spec/test.sh && echo true >spec/test.sh", "git configuration");
    check("printf '#!/bin/sh\\n' >.git/hooks/post-checkout; chmod +x .git/hooks/post-checkout", "changed git hooks");
    check("printf '[gate]\\nno_checks = true\\n' >.pushback.toml", "protected paths: .pushback.toml");
    check("mkdir -p .github/workflows && echo 'on: push' >.github/workflows/ci.yml", ".github/workflows/ci.yml");
    check("mkdir -p .claude && echo '{}' >.claude/settings.json", ".claude/settings.json");
    check("mkdir -p .codex && echo '{}' >.codex/hooks.json", ".codex/hooks.json");
}

#[test]
fn fm_31_files_outside_that_steer_git_or_pushback_are_watched() {
    let check = |line: &str, named: &str, back: bool| {
        let line = line.to_owned();
        let scene = scene(&json!({ "run": ["sed -i s/rate=0/rate=1/ src/pay.sh", line] }), |_| {});
        let out = scene.run(&RUN);
        out.ends(14, &["rejected_round", "files outside the worktree", named]);
        assert_eq!(scene.git(&["status", "--porcelain"]), "", "{line}");
        open(&scene, &line);
        if back {
            scene.script_editor(&settles());
            scene.run(&RUN).ends(0, &["settled"]);
        }
    };
    check("git config --global alias.x y", ".gitconfig", true);
    check("git config --global core.hooksPath /nowhere", ".gitconfig", true);
    check("mkdir -p ~/.config/git && echo '[user]' >~/.config/git/config", ".config/git/config", true);
    check("echo '[post]' >>../user.toml", "user.toml", false);
    check("echo '{}' >.git/pushback/trust.json", "trust.json", true);
}

#[test]
fn fm_31_its_own_judge_is_not_to_be_had() {
    let state = ".git/pushback/github.com/octo/pay/7/summary.json";
    for line in [
        format!("sed -i 's/\"open\"/\"fixed\"/' {state}"),
        format!("echo '{{}}' >{state}"),
        format!("rm {state}"),
        "rm -r .git/pushback/github.com".to_owned(),
    ] {
        let scene = scene(&json!({ "run": [line] }), |plan| plan.user = "[limits]\nrounds = 1\n".to_owned());
        let out = scene.run(&RUN);
        assert_eq!(out.code, 14, "{line}: {}", out.all());
        open(&scene, &line);
        assert_eq!(scene.summary()["used"]["rounds"], 1, "{line}");
        scene.script_editor(&settles());
        scene.run(&["run", "--wait", "20s", "--more", "2"]).ends(0, &["settled"]);
        scene.is_sound();
    }
}

#[test]
fn fm_32_history_branch_refs_and_remotes_are_put_back() {
    let check = |line: &str, reason: &str| {
        let round = json!({ "run": [format!("sed -i s/rate=0/rate=1/ src/pay.sh; {line}")] });
        put_aside(&scene(&round, |_| {}), line, reason);
    };
    check("git commit -qam x --amend", "rewrote history");
    check("git reset -q --hard HEAD~1", "rewrote history");
    check("git commit -qam x && git rebase -q --onto main~0 HEAD~1", "rewrote history");
    check("git switch -q -c elsewhere", "switched from feature to elsewhere");
    check("git switch -q --detach", "a detached HEAD");
    check("git remote set-url origin https://github.com/evil/pay.git", "changed the remotes");
    check("git config url.https://evil.example/.insteadOf https://github.com/", "changed the remotes");
    check("git branch -q -D main", "refs/heads/main");
    check("git branch -q -f main HEAD", "refs/heads/main");
    check("git replace HEAD HEAD~1", "refs/replace/");
    check("git rev-parse HEAD~1 >.git/info/grafts", "git configuration");
}

#[test]
fn fm_32_what_it_pushed_by_itself_is_never_forced_back() {
    // The remote here needs no credentials.
    let round = json!({ "run": ["git commit -qam x --amend && git push -qf origin feature"] });
    let scene = scene(&round, |_| {});
    let before = scene.git(&["rev-parse", "HEAD"]);
    let out = scene.run(&RUN);
    assert_eq!(out.code, 14, "{}", out.all());
    assert_eq!(scene.git(&["rev-parse", "HEAD"]), before);
    open(&scene, "force push");
    assert_ne!(scene.remote_head(), before, "a person decides which one it is");
    scene.run(&RUN).ends(2, &["pull"]);
}

#[test]
fn fm_33_fewer_tests_and_new_skips_are_put_aside_in_words() {
    let spec = "# The suite.\nprintf 'ok 1 - a\\nok 2 - b\\nok 3 - c\\n1..3\\n'\n! grep -q BROKEN src/pay.sh\n";
    let check = |line: &str, words: &str| {
        let round = json!({ "findings": [fixes()], "otherwise": { "run": [line] } });
        let scene = Scene::new(|plan| {
            plan.script = codex_reviews(&[p1()], &[p1()]);
            plan.editor = round;
            plan.base = vec![("src/pay.sh", "price=$1\n".to_owned()), ("spec/test.sh", spec.to_owned())];
        });
        let before = scene.remote_head();
        scene.run(&RUN).ends(14, &[words]);
        assert_eq!(scene.remote_head(), before, "{line}");
        assert!(!scene.statuses().values().any(|status| status == "P1 fixed"), "{line}");
    };
    check("sed -i 's/ok 3 - c.n1..3/1..2/' spec/test.sh", "2 tests ran, 3 did before");
    check("sed -i 's/ok 3 - c/ok 3 - c # SKIP later/' spec/test.sh", "1 tests were skipped, 0 were before");
    check("echo true >spec/test.sh", "no test could be counted, 3 ran before");
}

#[test]
fn fm_27_fm_28_a_hanging_editor_is_an_attempt_and_leaves_nothing() {
    let limits = |silent: &'static str| {
        move |plan: &mut Plan| {
            plan.user = "[limits]\nattempts = 1\nrounds = 1\n".to_owned();
            plan.agent = silent.to_owned();
        }
    };
    let agent = |scene: &Scene, keys: &str| {
        let user = scene.root.join("user.toml");
        let text = std::fs::read_to_string(&user).expect("a file").replace("[post]", &format!("{keys}\n[post]"));
        std::fs::write(user, text).expect("a file");
    };
    let check = |words: &[&str], keys: &str, said: &[&str]| {
        let scene = scene(&json!({ "misbehave": words }), limits(""));
        agent(&scene, keys);
        let out = scene.run(&RUN);
        assert_eq!(out.code, 14, "{words:?}: {}", out.all());
        for word in said {
            assert!(out.all().contains(word), "{word}: {}", out.all());
        }
        assert_eq!(attempts(&scene), 1, "{words:?}");
        open(&scene, words[0]);
        let env = scene.seen("env-1.txt").expect("the editor started");
        let id = env.lines().find_map(|line| line.strip_prefix("PUSHBACK_RUN_ID=")).expect("a mark");
        assert_eq!(marked(id), [""; 0], "{words:?}");
    };
    check(&["hang"], "silent = \"300ms\"", &["editor said nothing"]);
    check(&["chat"], "timeout = \"500ms\"", &["editor timed out"]);
    check(&["daemon", "child"], "", &["that the editor left behind"]);
}

#[test]
fn fm_29_fm_30_noise_crashes_and_claims_prove_nothing() {
    let check = |round: Value, words: &str| {
        let scene = scene(&round, |plan| plan.user = "[limits]\nrounds = 3\n".to_owned());
        scene.run(&RUN).ends(14, &[words]);
        open(&scene, words);
    };
    check(json!({ "exit": 3 }), "exited with 3");
    check(json!({ "run": ["kill -KILL $PPID"] }), "signal 9");
    check(json!({ "say": ["All findings are fixed. Tests pass."] }), "no_progress");
    check(json!({ "misbehave": ["binary"] }), "no_progress");
    check(json!({ "decisions": [{ "id": "c1", "decision": "fix" }] }), "no_progress");
}

#[test]
fn an_editor_that_falls_over_twice_is_not_started_again() {
    let scene = scene(&json!({ "say": ["no such model"], "exit": 3 }), |_| {});
    scene.run(&RUN).ends(14, &["no_progress", "twice in the same way"]);
    assert_eq!(scene.editor_rounds(), 2);
    scene.run(&RUN).ends(14, &["no_progress", "twice in the same way"]);
    assert_eq!(scene.editor_rounds(), 3, "one start tells whether it was mended");
}

#[test]
fn only_what_the_editor_left_is_said_to_be_kept() {
    for (round, kept) in [(json!({ "exit": 3 }), false), (json!({ "run": ["echo x >made.txt"], "exit": 3 }), true)] {
        let scene = scene(&round, |_| {});
        scene.write("notes.txt", "mine, not tracked\n");
        let out = scene.run(&RUN);
        assert_eq!(out.all().contains("kept on refs/pushback/"), kept, "{}", out.all());
        assert_eq!(scene.read("notes.txt"), "mine, not tracked\n");
        assert!(!scene.work.join("made.txt").exists());
    }
}

#[test]
fn fm_35_a_failure_of_the_environment_is_retried_later() {
    let check = |round: Value, words: &str| -> Out {
        let scene = scene(&round, |_| {});
        let out = scene.run(&RUN);
        out.ends(22, &["editor_unavailable", words]);
        assert_eq!(attempts(&scene), 0, "{words}");
        open(&scene, words);
        scene.script_editor(&settles());
        scene.run(&RUN).ends(0, &["settled"]);
        out
    };
    let limited = json!({ "say": ["You've hit your usage limit, resets at 2037-01-02T09:30:00Z"], "exit": 1 });
    check(limited, "2037-01-02T09:30:00Z");
    check(json!({ "say": ["Not logged in. Please run /login"], "exit": 1 }), "not logged in");
    check(json!({ "say": ["API Error: 529 Overloaded"], "exit": 1 }), "overloaded");
    check(json!({ "exit": 75 }), "exit 75");
}

#[test]
fn fc_53_an_open_input_of_ours_is_not_the_editors() {
    use std::process::Stdio;
    let scene = Scene::new(|plan| {
        plan.script = codex_reviews(&[p1()], &[p1()]);
        plan.editor = settles();
        plan.policy = POLICY.replace("sh spec/test.sh", "cat; sh spec/test.sh");
    });
    // Nobody writes to it and nobody closes it.
    let mut child =
        scene.command(&RUN).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("starts");
    let input = child.stdin.take();
    assert_eq!(ended(&mut child, "a run whose input stays open").code(), Some(0));
    drop(input);
    assert_eq!(scene.statuses().values().map(String::as_str).collect::<Vec<_>>(), ["P1 fixed"]);
}
