//! `run`: settles, stops by name, goes on, and does nothing twice.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::scene::says::*;
use crate::scene::{POLICY, Scene};

const RUN: [&str; 3] = ["run", "--wait", "20s"];

/// One P1 of Codex, and nothing else.
fn one(plan: &mut crate::scene::Plan) {
    plan.script = codex_reviews(&[p1()], &[p1()]);
    plan.editor = settles();
}

fn waits_for(done: impl Fn() -> bool) {
    let started = Instant::now();
    while !done() {
        assert!(started.elapsed() < Duration::from_secs(20), "it does not happen");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The editor that does this in every round.
fn always(round: Value) -> Value {
    json!({ "otherwise": round })
}

#[test]
fn the_story_settles_and_a_second_run_does_nothing() {
    let scene = Scene::new(|plan| {
        plan.script = story();
        plan.editor = settles();
        plan.linked = true;
    });
    let out = scene.run(&RUN);
    out.ends(0, &["settled"]);
    let statuses = scene.statuses();
    let expect =
        |title: &str, what: &str| assert_eq!(statuses.get(title).map(String::as_str), Some(what), "{statuses:?}");
    expect("Multiply by a rate that is not zero", "P1 fixed");
    expect("Quote the list of items.", "P2 argued");
    expect("Say what the second argument is", "P3 acknowledged");
    expect("Drop the leftover variable.", "nit acknowledged");
    assert_eq!(scene.forge.open_threads(), 3, "the fixed thread alone is resolved");
    let pull = scene.forge.pull();
    let body = pull["body"].as_str().unwrap_or_default();
    assert!(body.starts_with("Prices are multiplied by a rate.\n\nNobody pays nothing."), "{body}");
    assert!(body.contains(REASON) && body.contains("Fixed in"), "{body}");
    assert!(scene.forge.pull()["comments"].to_string().contains("splitting on words"), "argued in the thread");
    assert_eq!(scene.read("src/pay.sh"), PAY.replace("rate=0", "rate=1"));
    assert_eq!(scene.git(&["status", "--porcelain"]), "", "nothing is left in the worktree");
    scene.is_sound();
    scene.changes_nothing(&RUN).ends(0, &["settled"]);
    scene.changes_nothing(&["run", "--json"]);
}

#[test]
fn r13_another_account_that_may_write_sees_the_same_after_lost_state() {
    let lost = codex("P2", "rate=0", "Multiply by a rate that is not zero", "The line `rate=0` drops the fee.");
    let mut scene = Scene::new(|plan| {
        plan.script = codex_reviews(&[lost], &[]);
        plan.editor = settles();
    });
    scene.run(&RUN).ends(0, &["settled"]);
    let statuses = scene.statuses();
    assert_eq!(statuses["Multiply by a rate that is not zero"], "P2 fixed");
    assert_eq!(scene.forge.open_threads(), 0, "the program resolved it");
    std::fs::remove_file(scene.state_dir().join("summary.json")).expect("it was there");
    scene.forge.scene(json!({ "users": [{ "login": "ann", "tokens": [{ "token": "anns-own-token" }] }] }));
    scene.env.insert("PUSHBACK_TOKEN".to_owned(), "anns-own-token".to_owned());
    scene.run(&["status"]).ends(0, &["fixed"]);
    assert_eq!(scene.statuses(), statuses);
}

#[test]
fn the_json_of_a_run_has_every_key_of_the_contract() {
    let scene = Scene::new(|plan| {
        plan.script = story();
        plan.editor = settles();
    });
    let answer = scene.run(&["run", "--wait", "20s", "--json"]).json();
    let has = |value: &Value, keys: &[&str]| {
        for key in keys {
            assert!(value.get(key).is_some(), "no `{key}` in {value:#}");
        }
    };
    has(&answer, &["schema_version", "command", "exit", "pr", "next", "retry_after_s", "error"]);
    has(&answer, &["counts", "findings", "reviewers", "gate", "stop_reason", "rounds"]);
    has(&answer["counts"], &["p1", "p2", "p3", "nit", "needs_person", "untrusted"]);
    let finding = &answer["findings"][0];
    has(finding, &["id", "severity", "decided_by", "rule", "author", "author_kind", "channel", "path", "line", "side"]);
    has(finding, &["status", "needs_person", "title", "url", "attempts", "previous", "why"]);
    has(&answer["reviewers"][0], &["name", "required", "state", "head", "findings", "evidence", "since", "until"]);
    has(&answer["rounds"][0], &["n", "head_before", "head_after", "sent", "outcome", "verify", "seconds"]);
    assert_eq!(
        (&answer["stop_reason"], &answer["exit"], &answer["error"]),
        (&json!("settled"), &json!(0), &Value::Null)
    );
    let gate = scene.run(&["gate", "--json"]).json();
    has(&gate["gate"], &["verdict", "head", "clauses"]);
    let clauses = gate["gate"]["clauses"].as_array().cloned().unwrap_or_default();
    let names: Vec<&str> = clauses.iter().filter_map(|clause| clause["clause"].as_str()).collect();
    let wanted = ["head", "pr", "reviewers", "reviews", "checks", "findings", "description", "threads", "spec"];
    assert_eq!(names, wanted);
    has(&clauses[0], &["ok", "waiting", "reason", "remedy"]);
    let summary = scene.summary();
    has(
        &summary,
        &[
            "schema_version",
            "pr",
            "account",
            "round",
            "used",
            "comments",
            "reviewers",
            "rounds",
            "outbox",
            "stop_reason",
        ],
    );
}

#[test]
fn r20_merged_and_closed_end_well_and_stop_a_working_editor() {
    for (state, change) in [("merged", json!({ "merged_by": "ann" })), ("closed", json!({ "state": "closed" }))] {
        let scene = Scene::new(one);
        let gone = scene.forge.clone();
        gone.act(json!({ "pull": change }));
        let number = scene.run(&["run", "--pr", "7"]);
        number.ends(0, &[state]);
        assert_eq!(scene.editor_rounds(), 0);
        assert_eq!(scene.writes(), Vec::<String>::new());

        let scene = Scene::new(one);
        scene.script_editor(&always(json!({ "misbehave": ["hang"] })));
        let (before, run) = (scene.remote_head(), scene.start(&["run"]));
        waits_for(|| scene.editor_rounds() == 1);
        scene.forge.act(json!({ "pull": change }));
        run.end().ends(0, &[state, "it was stopped"]);
        assert_eq!((scene.editor_rounds(), scene.remote_head()), (1, before));
        assert_eq!(scene.summary()["rounds"][0]["outcome"], "cut_off");
    }
}

#[test]
fn r09_tests_say_nothing_of_a_commit_from_which_the_worktree_differs() {
    let scene = Scene::new(one);
    let hook = scene.root.join("pay/.git/hooks/pre-commit");
    std::fs::write(&hook, "#!/bin/sh\nsed -i s/BROKEN/mended/ src/pay.sh\n").expect("a hook");
    std::fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("a mode");
    let edits = json!([{ "path": "src/pay.sh", "replace": "rate=0", "with": "rate=2 # BROKEN" }]);
    scene.script_editor(
        &json!({ "findings": [{ "contains": "a rate that is not zero", "edits": edits, "decision": "fix" }] }),
    );
    let before = scene.remote_head();
    scene.run(&RUN).ends(13, &["the worktree differs from", "src/pay.sh was changed and is not committed"]);
    assert_eq!(scene.remote_head(), before, "nothing that was not verified is pushed");
}

#[test]
fn r09_what_the_tests_themselves_change_stops_nothing() {
    let scene = Scene::new(|plan| {
        one(plan);
        plan.policy = POLICY.replace("sh spec/test.sh", "echo ran >> notes; sh spec/test.sh");
        plan.base.push(("notes", "of the tests\n".to_owned()));
    });
    scene.run(&RUN).ends(0, &["settled"]);
}

#[test]
fn r24_a_description_that_takes_no_reason_is_named_and_not_waited_for() {
    for (body, why) in [
        ("x".repeat(65_500), "the description has no room for our block; shorten it"),
        ("Words\n\n```\nopen".to_owned(), "a code fence in the description is never closed; close it"),
    ] {
        let scene = Scene::new(|plan| {
            plan.script = codex_reviews(&[], &[]);
            plan.script.push(json!({ "after_push": 0, "actions": [{ "review": { "user": RABBIT, "comments": [p2()],
                "body": "**Actionable comments posted: 1**" } }] }));
            plan.editor = settles();
            plan.pull = json!({ "body": body });
        });
        scene.run(&RUN).ends(14, &["needs_person: ", why]);
        assert!(scene.forge.pull()["body"].as_str().is_some_and(|now| now.starts_with(&body)));
    }
}

#[test]
fn r20_nothing_is_pushed_once_the_pull_request_has_ended() {
    let scene = Scene::new(|plan| {
        one(plan);
        plan.policy = POLICY.replace("sh spec/test.sh", "sleep 1; sh spec/test.sh");
    });
    let (before, run) = (scene.remote_head(), scene.start(&RUN));
    waits_for(|| scene.git(&["rev-parse", "HEAD"]) != before);
    scene.forge.act(json!({ "pull": { "merged_by": "ann" } }));
    run.end().ends(0, &["merged"]);
    assert_eq!(scene.remote_head(), before);
    assert_eq!(scene.summary()["rounds"][0]["outcome"], "committed");
}

#[test]
fn r20_a_silent_reviewer_is_waited_for_and_then_named() {
    let scene = Scene::new(|plan| {
        plan.policy = format!("{POLICY}required = [\"codex\"]\n")
            .replace("[poll]", "#")
            .replace("min =", "#")
            .replace("max =", "#");
    });
    let out = scene.run(&["run", "--json"]);
    out.ends(12, &[]);
    let answer = out.json();
    assert_eq!(answer["stop_reason"], "waiting_reviewer", "{answer:#}");
    assert!(answer["retry_after_s"].as_u64().is_some_and(|s| s > 0), "{answer:#}");
    let short = Scene::new(|plan| {
        let named = "settle = \"100ms\"\nrequired = [\"codex\"]\nttl = \"5s\"\nnudge = \"1s\"";
        plan.policy = POLICY.replace("settle = \"100ms\"", named);
        plan.script = vec![codex_reviews(&[], &[]).remove(0)];
    });
    // It finished on the first head and says nothing about a person's later one.
    short.git(&["commit", "-q", "--allow-empty", "-m", "More"]);
    short.git(&["push", "-q"]);
    short.run(&RUN).ends(14, &["waiting_reviewer", "codex"]);
    assert_eq!(short.forge.requests("POST", "*/issues/7/comments"), 1, "asked once for this head");
    short.changes_nothing(&RUN).ends(14, &["codex"]);
}

#[test]
fn r20_red_tests_are_named_on_the_base_too_and_when_they_cannot_run() {
    let own = Scene::new(|plan| {
        plan.script = codex_reviews(&[], &[]);
        plan.feature = vec![("src/pay.sh", PAY.replace("# Leftover", "# BROKEN"))];
        plan.editor = always(json!({ "edits": [{ "path": "notes.txt", "append": "x\n" }] }));
        plan.policy = format!("{POLICY}[limits]\nrounds = 1\n");
    });
    own.run(&RUN).ends(14, &["budget"]);
    assert_eq!(own.remote_head(), own.git(&["rev-parse", "HEAD~1"]), "a red commit is not pushed");
    let base = Scene::new(|plan| {
        plan.script = codex_reviews(&[], &[]);
        plan.base =
            vec![("src/pay.sh", "# BROKEN\n".to_owned()), ("spec/test.sh", "! grep -q BROKEN src/pay.sh\n".to_owned())];
        plan.feature = vec![("src/pay.sh", "# BROKEN\necho 1\n".to_owned())];
    });
    base.run(&RUN).ends(13, &["tests_red", "also on the base"]);
    assert_eq!(base.editor_rounds(), 0, "the editor is not started for tests that are not this pull request's");
    for (line, words) in [("no-such-program-anywhere", "could not be run"), ("sleep 5", "could not be run")] {
        let scene = Scene::new(|plan| {
            plan.script = codex_reviews(&[], &[]);
            plan.policy = POLICY.replace("sh spec/test.sh\"]", &format!("{line}\"]\ntimeout = \"300ms\""));
        });
        scene.run(&RUN).ends(13, &["tests_red", words]);
        assert_eq!(scene.editor_rounds(), 0);
    }
}

#[test]
fn r21_two_rounds_without_progress_stop() {
    let scene = Scene::new(|plan| {
        one(plan);
        plan.editor = json!({});
    });
    scene.run(&RUN).ends(14, &["no_progress"]);
    let rounds = scene.editor_rounds();
    assert!((1..=2).contains(&rounds), "{rounds}");
    assert_eq!(scene.forge.requests("POST", "*/replies"), 0);
    scene.changes_nothing(&RUN).ends(14, &["no_progress"]);
}

#[test]
fn r20_rounds_are_counted_and_more_allows_more() {
    let scene = Scene::new(|plan| {
        one(plan);
        plan.editor = json!({ "otherwise": { "run": ["echo x >>notes-$PUSHBACK_ROUND.txt"] } });
        plan.policy = format!("{POLICY}[limits]\nrounds = 1\nattempts = 9\n");
    });
    scene.run(&RUN).ends(14, &["budget", "--more"]);
    assert_eq!(scene.editor_rounds(), 1);
    scene.changes_nothing(&RUN).ends(14, &["budget"]);
    scene.run(&["run", "--wait", "20s", "--more", "1"]).ends(14, &["budget"]);
    assert_eq!(scene.editor_rounds(), 2);
    // A person's commit starts the count anew, a bot's does not.
    let push = |name: &str| {
        let who = format!("user.name={name}");
        scene.git(&["-c", &who, "-c", "user.email=x@example.invalid", "commit", "-q", "--allow-empty", "-m", "More"]);
        scene.git(&["push", "-q", "origin", "HEAD:feature"]);
    };
    push("pre-commit-ci[bot]");
    scene.run(&RUN).ends(14, &["budget"]);
    assert_eq!(scene.editor_rounds(), 2);
    push("Ann");
    scene.run(&RUN).ends(14, &["budget"]);
    assert_eq!(scene.editor_rounds(), 3);
}

#[test]
fn r20_used_up_attempts_go_to_a_person() {
    let scene = Scene::new(|plan| {
        one(plan);
        plan.editor = json!({ "otherwise": { "run": ["echo x >>notes-$PUSHBACK_ROUND.txt"] } });
        plan.policy = format!("{POLICY}[limits]\nrounds = 9\nattempts = 2\n");
    });
    scene.run(&RUN).ends(14, &["needs_person", "/pushback"]);
    assert_eq!(scene.editor_rounds(), 2);
    scene.changes_nothing(&RUN).ends(14, &["needs_person"]);
    let status = scene.run(&["status", "--json"]);
    status.ends(14, &[]);
    assert_eq!(status.json()["counts"]["needs_person"], 1);
}

#[test]
fn r08_a_persons_finding_is_never_argued_with() {
    let scene = Scene::new(|plan| {
        plan.script = codex_reviews(&[], &[]);
        let comment =
            json!({ "path": "src/pay.sh", "match": "for item in", "body": "[P2] This hands every word on; quote it." });
        plan.script
            .push(json!({ "after_push": 0, "actions": [{ "review": { "user": "ann", "comments": [comment] } }] }));
        plan.editor = settles();
    });
    scene.run(&RUN).ends(14, &["needs_person"]);
    assert_eq!(scene.posted_keys(), Vec::<String>::new());
    assert!(!scene.forge.pull()["comments"].to_string().contains("fixed list"), "the draft is not posted");
}

#[test]
fn fm_32_a_round_that_breaks_the_rules_is_put_aside() {
    let cases: [(&str, Value, &str); 5] = [
        (
            "amend",
            json!({ "edits": [{ "path": "src/pay.sh", "replace": "rate=0", "with": "rate=1" }], "misbehave": ["amend"] }),
            "rewrote history",
        ),
        ("reset", json!({ "misbehave": ["reset"] }), "rewrote history"),
        ("switch", json!({ "misbehave": ["switch"] }), "switched from feature to elsewhere"),
        (
            "protected",
            json!({ "edits": [{ "path": ".github/workflows/ci.yml", "write": "on: push\n" }] }),
            ".github/workflows/ci.yml",
        ),
        ("hook", json!({ "run": ["printf '#!/bin/sh\\n' >.git/hooks/pre-push"] }), "hook"),
    ];
    for (name, round, words) in cases {
        let scene = Scene::new(|plan| {
            one(plan);
            plan.editor = always(round);
        });
        let before = (scene.git(&["rev-parse", "HEAD"]), scene.git(&["branch", "--show-current"]));
        let out = scene.run(&RUN);
        assert!(out.code == 14 && out.all().contains("rejected_round") && out.all().contains(words), "{name}: {out:?}");
        assert_eq!((scene.git(&["rev-parse", "HEAD"]), scene.git(&["branch", "--show-current"])), before, "{name}");
        assert_eq!(scene.git(&["status", "--porcelain"]), "", "{name}");
        assert_eq!(scene.remote_head(), before.0, "{name}");
    }
}

#[test]
fn r28_a_push_that_the_server_refuses_is_kept_and_tried_again() {
    use std::os::unix::fs::PermissionsExt as _;
    let scene = Scene::new(one);
    let hook = scene.bare.join("hooks/pre-receive");
    std::fs::create_dir_all(scene.bare.join("hooks")).expect("a folder");
    std::fs::write(&hook, "#!/bin/sh\necho 'no pushes on Mondays' >&2\nexit 1\n").expect("a hook");
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    scene.run(&RUN).ends(14, &["push_refused", "no pushes on Mondays"]);
    let ours = scene.git(&["rev-parse", "HEAD"]);
    assert_ne!(ours, scene.remote_head());
    std::fs::remove_file(&hook).expect("no hook");
    scene.run(&RUN).ends(0, &["settled"]);
    assert_eq!((scene.remote_head(), scene.editor_rounds()), (ours, 1), "the known commit is pushed, not made again");
    scene.is_sound();
}

#[test]
fn fc_50_a_person_pushes_while_the_editor_works() {
    let push = |scene: &Scene, path: &str, text: &str| {
        let other = scene.root.join("other");
        scene.git_in(&scene.root, &["clone", "-q", "-b", "feature", scene.bare.as_str(), other.as_str()]);
        let line = format!(
            "cd '{other}' && printf '{text}' >{path} && git -c user.name=ann -c user.email=a@a add -A && \
             git -c user.name=ann -c user.email=a@a commit -qm 'By Ann' && git push -q origin feature"
        );
        let edits = json!([{ "path": "src/pay.sh", "replace": "rate=0", "with": "rate=1" }]);
        let round = json!({ "edits": edits, "run": [line] });
        scene.script_editor(&json!({ "rounds": { "1": round }, "findings": [
            { "contains": "rate=0", "decision": "fix" } ] }));
    };
    let clean = Scene::new(one);
    push(&clean, "other.txt", "hello\\n");
    // Codex said the same on Ann's commit, which is older than the replayed fix: no comeback.
    clean.run(&RUN).ends(0, &["settled", "replayed"]);
    assert_eq!(clean.git_in(&clean.bare, &["show", "feature:other.txt"]), "hello");
    assert!(clean.git_in(&clean.bare, &["show", "feature:src/pay.sh"]).contains("rate=1"));
    clean.is_sound();
    let conflict = Scene::new(one);
    push(&conflict, "src/pay.sh", "rate=7\\n");
    conflict.run(&RUN).ends(14, &["head_moved", "refs/pushback/7/1"]);
    assert_eq!(conflict.git_in(&conflict.bare, &["show", "feature:src/pay.sh"]), "rate=7");
    assert!(conflict.git(&["show", "refs/pushback/7/1:src/pay.sh"]).contains("rate=1"), "our commit is kept");
}

#[test]
fn r22_an_editor_that_is_not_there_costs_no_attempt() {
    let quota = Scene::new(|plan| {
        one(plan);
        plan.editor = always(json!({ "exit": 75 }));
    });
    quota.run(&RUN).ends(22, &["editor_unavailable"]);
    let entry = quota.summary()["comments"].as_object().and_then(|all| all.values().next().cloned());
    assert_eq!(entry.map(|entry| entry["attempts"].clone()), Some(json!(0)));
    quota.script_editor(&settles());
    quota.run(&RUN).ends(0, &["settled"]);
    let missing = Scene::new(|plan| {
        one(plan);
        plan.agent = "[agent]\nname = \"command\"\ncommand = [\"/no/such/editor\"]\n".to_owned();
    });
    missing.run(&RUN).ends(22, &["editor_unavailable", "/no/such/editor"]);
    assert_eq!(missing.summary()["used"]["rounds"], 0);
    let none = Scene::new(|plan| {
        one(plan);
        plan.agent = "[agent]\nsilent = \"1m\"\n".to_owned();
    });
    let mut none = none;
    none.env.insert("PATH".to_owned(), "/usr/bin:/bin".to_owned());
    none.run(&RUN).ends(22, &["agent.command"]);
}

#[test]
fn r20_a_forge_that_cannot_be_read_ends_20_and_changes_nothing() {
    use crate::forge::{Fault, faults::What};
    let scene = Scene::new(one);
    let bad = What::Status { code: 502, after_effect: false, body: None, headers: Default::default() };
    scene.forge.fault(Fault::new("GET", "*/pulls/7/comments", bad).times(0));
    scene.run(&RUN).ends(20, &["pulls/7/comments", "502"]);
    assert_eq!((scene.summary_bytes(), scene.writes().len(), scene.editor_rounds()), (None, 0, 0));
    scene.forge.heal();
    scene.run(&RUN).ends(0, &["settled"]);
}

#[test]
fn r20_a_token_that_may_not_post_ends_21() {
    let scene = Scene::new(|plan| {
        plan.script = story();
        plan.editor = settles();
        plan.tokens = json!([{ "token": crate::scene::TOKEN, "kind": "fine_grained", "permissions": {
            "contents": "read", "pull_requests": "read", "issues": "read", "metadata": "read", "statuses": "read", "checks": "read" } }]);
    });
    let out = scene.run(&RUN);
    out.ends(21, &["permission"]);
    assert_eq!(scene.posted_keys(), Vec::<String>::new());
}

#[test]
fn fm_02_ctrl_c_ends_the_editor_and_a_later_run_goes_on() {
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let scene = Scene::new(|plan| {
            one(plan);
            plan.editor = always(json!({ "run": ["touch started"], "misbehave": ["child", "hang"] }));
        });
        let running = scene.start(&[&RUN[..], &["--json"]].concat());
        let deadline = Instant::now() + Duration::from_secs(20);
        while !scene.work.join("started").exists() {
            assert!(Instant::now() < deadline, "the editor did not start");
            std::thread::sleep(Duration::from_millis(10));
        }
        let asked = Instant::now();
        running.signal(signal);
        let out = running.end();
        assert!(asked.elapsed() < Duration::from_secs(5), "{:?}", asked.elapsed());
        out.ends(code, &["interrupted"]);
        assert_eq!(out.json()["exit"], json!(code), "JSON and exit code say one thing");
        let env = scene.seen("env-1.txt").expect("the editor noted its environment");
        let run_id = env.lines().find_map(|line| line.strip_prefix("PUSHBACK_RUN_ID=")).expect("a run id").to_owned();
        assert!(!run_id.is_empty());
        assert_eq!(crate::process::marked(&run_id), Vec::<String>::new(), "the editor's tree is ended");
        assert_eq!(scene.git(&["status", "--porcelain"]), "");
        scene.script_editor(&settles());
        scene.run(&RUN).ends(0, &["settled"]);
        scene.is_sound();
    }
}

#[test]
fn a_signal_while_the_gate_waits_is_told_alike_in_json_and_by_the_exit_code() {
    let scene = Scene::new(|plan| {
        one(plan);
        plan.policy = POLICY.replace("settle = \"100ms\"", "settle = \"1h\"");
        plan.script = codex_reviews(&[], &[]);
        plan.policy.push_str("[gate]\nno_checks = true\n");
    });
    scene.run(&["gate", "--verify"]).ends(12, &["gate: waiting"]);
    scene.forge.clear_log();
    let running = scene.start(&["gate", "--wait", "50s", "--json"]);
    let deadline = Instant::now() + Duration::from_secs(20);
    while scene.forge.requests("GET", "*/pulls/7/comments") < 2 {
        assert!(Instant::now() < deadline, "it does not look again");
        std::thread::sleep(Duration::from_millis(10));
    }
    running.signal("TERM");
    let out = running.end();
    out.ends(143, &[]);
    assert_eq!(out.json()["exit"], json!(143), "{}", out.all());
}

#[test]
fn r26_the_first_run_asks_and_yes_is_asked_once() {
    let scene = Scene::new(|plan| {
        one(plan);
        plan.enabled = false;
    });
    scene.run(&RUN).ends(2, &["agreed", "--yes", "--dry-run"]);
    assert_eq!((scene.writes().len(), scene.editor_rounds()), (0, 0));
    scene.run(&["run", "--wait", "20s", "--yes"]).ends(0, &["settled"]);
    scene.changes_nothing(&RUN).ends(0, &["settled"]);
}

#[test]
fn r26_a_dry_run_says_the_exact_texts_and_does_nothing() {
    let scene = Scene::new(|plan| {
        plan.script = story();
        plan.editor = settles();
        plan.enabled = false;
    });
    let out = scene.run(&["run", "--dry-run"]);
    out.ends(11, &["<!-- pushback:begin 1 -->", "Say what the second argument is", "then the editor gets c"]);
    let json = scene.run(&["run", "--dry-run", "--json"]).json();
    assert!(json["planned"].as_array().is_some_and(|planned| !planned.is_empty()), "{json:#}");
    assert_eq!((scene.writes().len(), scene.editor_rounds(), scene.summary_bytes()), (0, 0, None));
    assert_eq!(scene.git(&["for-each-ref", "refs/pushback"]), "");
}

#[test]
fn fm_07_of_eight_runs_at_once_one_works_and_the_others_name_it() {
    let scene = Scene::new(|plan| {
        one(plan);
        plan.editor = json!({ "findings": [fixes()], "otherwise": { "sleep_ms": 1500 } });
    });
    let all: Vec<_> = (0..8).map(|_| scene.start(&RUN)).collect();
    let outs: Vec<_> = all.into_iter().map(crate::scene::Running::end).collect();
    let worked: Vec<_> = outs.iter().filter(|out| out.code == 0).collect();
    assert!(!worked.is_empty(), "{outs:?}");
    for out in outs.iter().filter(|out| out.code != 0) {
        out.ends(75, &["`run`, process ", "since"]);
    }
    assert!(outs.iter().filter(|out| out.code == 75).count() >= 6, "{outs:?}");
    assert_eq!(scene.editor_rounds(), 1);
    scene.is_sound();
}

#[test]
fn r28_frozen_tests_are_put_back_and_the_rest_stands() {
    let scene = Scene::new(|plan| {
        one(plan);
        plan.policy = POLICY.replace("[reviewers]", "frozen = [\"spec/**\"]\n[reviewers]");
        plan.editor = json!({ "findings": [{ "contains": "rate=0", "decision": "fix", "edits": [
            { "path": "src/pay.sh", "replace": "rate=0", "with": "rate=1" },
            { "path": "spec/test.sh", "write": "true\n" } ] }] });
    });
    scene.run(&RUN).ends(0, &["settled", "put frozen tests back: spec/test.sh"]);
    assert_eq!(scene.git_in(&scene.bare, &["show", "feature:spec/test.sh"]), "! grep -q BROKEN src/pay.sh");
    assert!(scene.git_in(&scene.bare, &["show", "feature:src/pay.sh"]).contains("rate=1"));
}

#[test]
fn fc_51_scratch_files_never_reach_a_commit() {
    let swept = Scene::new(|plan| {
        one(plan);
        plan.editor = json!({ "findings": [fixes()], "otherwise": { "run": ["git add -A && git commit -qm all"] } });
    });
    swept.run(&RUN).ends(0, &["settled"]);
    let files = swept.git_in(&swept.bare, &["ls-tree", "-r", "--name-only", "feature"]);
    assert!(!files.contains(".pushback/"), "{files}");
    assert_eq!(swept.git(&["status", "--porcelain"]), "");
    let forced = Scene::new(|plan| {
        one(plan);
        plan.editor =
            json!({ "findings": [fixes()], "otherwise": { "run": ["git add -Af .pushback && git commit -qm all"] } });
    });
    forced.run(&RUN).ends(14, &["rejected_round", ".pushback/"]);
    assert_eq!(forced.remote_head(), forced.git(&["rev-parse", "HEAD"]));
}

#[test]
fn fc_36_and_37_what_counts_is_the_commit_not_the_claim() {
    let claimed = Scene::new(|plan| {
        one(plan);
        plan.editor = json!({ "findings": [{ "contains": "rate=0", "decision": "fix" }] });
    });
    claimed.run(&RUN).ends(14, &[]);
    assert_eq!(claimed.statuses().values().next().map(String::as_str), Some("P1 open"));
    for run in [json!(["git commit -qam mine"]), json!(["git commit -qam mine && echo more >more.txt"])] {
        let scene = Scene::new(|plan| {
            one(plan);
            plan.editor = json!({ "findings": [fixes()], "otherwise": { "run": run } });
        });
        scene.run(&RUN).ends(0, &["settled"]);
        assert!(scene.git_in(&scene.bare, &["show", "feature:src/pay.sh"]).contains("rate=1"));
        assert_eq!(scene.git(&["status", "--porcelain"]), "");
    }
}

#[test]
fn fc_46_a_detached_head_and_fc_47_another_branch_are_stopped() {
    let scene = Scene::new(|plan| {
        one(plan);
        plan.editor = json!({ "findings": [fixes()], "otherwise": { "run": ["git checkout -q --detach && git commit -qam mine"] } });
    });
    scene.run(&RUN).ends(14, &["rejected_round"]);
    assert_eq!(scene.git(&["branch", "--show-current"]), "feature");
    assert_eq!(scene.remote_head(), scene.git(&["rev-parse", "feature"]));
}
