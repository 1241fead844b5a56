//! `gate --publish` (R19): the right state on the right commit, never a good verdict over a newer one, and the rights it needs.

use serde_json::{Value, json};

use crate::scene::says::*;
use crate::scene::{POLICY, Plan, Scene, TOKEN};

/// Everything good but for what the test changes: Codex finds nothing, tests are green, no check is wanted.
fn good(plan: &mut Plan) {
    plan.policy = format!("{POLICY}[gate]\nno_checks = true\n");
    plan.script = codex_reviews(&[], &[]);
}

/// The statuses of our context, newest last.
fn statuses(scene: &Scene) -> Vec<(String, String, String)> {
    let dump = scene.forge.dump();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let all = dump["repos"][0]["statuses"].as_array().cloned().unwrap_or_default();
    let ours = all.iter().filter(|status| status["context"] == "pushback/gate");
    ours.map(|status| (text(&status["state"]), text(&status["sha"]), text(&status["description"]))).collect()
}

/// Waits until the settle window of the scenes is over; it counts by the forge's clock, which has seconds.
fn settled(scene: &Scene) {
    scene.forge.advance(std::time::Duration::from_secs(10));
}

#[test]
fn r19_the_verdict_is_published_on_the_judged_commit() {
    let scene = Scene::new(good);
    settled(&scene);
    let dry = ["gate", "--verify", "--publish", "--dry-run"];
    scene.run(&dry).ends(15, &["would publish: pushback/gate error on "]);
    scene.run(&["gate", "--verify"]).ends(0, &["gate: ready"]);
    scene.run(&dry).ends(0, &["would publish: pushback/gate success on "]);
    assert_eq!(scene.writes(), Vec::<String>::new());
    let out = scene.run(&["gate", "--verify", "--publish", "--json"]);
    out.ends(0, &[]);
    let all = statuses(&scene);
    assert_eq!(all.len(), 1, "{all:?}");
    let (state, sha, description) = &all[0];
    assert_eq!((state.as_str(), sha), ("success", &scene.remote_head()));
    assert!(description.starts_with("judged 20") && description.ends_with("Z: ready"), "{description}");
    let published = out.json()["published"].clone();
    assert_eq!((&published["written"], &published["sha"]), (&json!(true), &json!(sha)), "{published}");
    assert_eq!(scene.writes().len(), 1, "{:?}", scene.writes());
    assert_eq!(scene.forge.violations(), Vec::<String>::new());
}

#[test]
fn r18_what_other_commands_found_proves_nothing_and_red_is_asked_again() {
    let scene = Scene::new(good);
    settled(&scene);
    scene.run(&["gate", "--verify"]).ends(0, &["gate: ready"]);
    let file = scene.env["PUSHBACK_CONFIG"].clone();
    let before = std::fs::read_to_string(&file).expect("the configuration");
    let mark = scene.work.join("../mark");
    std::fs::write(&file, format!("{before}[verify]\ncommands = [\"test -e '{mark}'\"]\n")).expect("written");
    // Nothing was run with these commands yet, then they fail.
    scene.run(&["gate"]).ends(15, &["gate: unknown", " spec         ?"]);
    scene.run(&["gate", "--verify"]).ends(13, &[" spec         NO  red"]);
    // What they wanted is there: no new commit is needed.
    std::fs::write(&mark, "").expect("written");
    scene.run(&["gate", "--verify"]).ends(0, &["gate: ready"]);
    scene.run(&["gate"]).ends(0, &["gate: ready"]);
}

#[test]
fn r19_open_findings_and_unknown_clauses_are_no_success() {
    let scene = Scene::new(|plan| {
        good(plan);
        plan.script = codex_reviews(&[p1()], &[p1()]);
    });
    settled(&scene);
    scene.run(&["gate", "--verify", "--publish"]).ends(11, &["published: pushback/gate failure"]);
    let all = statuses(&scene);
    assert!(all[0].0 == "failure" && all[0].2.contains("findings") && all[0].2.chars().count() <= 140, "{all:?}");
    let unknown = Scene::new(good);
    settled(&unknown);
    unknown.run(&["gate", "--publish"]).ends(15, &["published: pushback/gate error"]);
    assert!(statuses(&unknown)[0].2.contains("spec"), "{:?}", statuses(&unknown));
}

#[test]
fn r19_waiting_is_published_as_pending_and_then_the_end() {
    let scene = Scene::new(|plan| {
        good(plan);
        plan.policy = plan.policy.replace("100ms\"\n[poll]", "100ms\"\nrequired = [\"codex\"]\n[poll]");
        plan.script = codex_reviews(&[], &[]);
        plan.script[0]["delay_ms"] = json!(1500);
    });
    let out = scene.run(&["gate", "--verify", "--publish", "--wait", "30s"]);
    out.ends(0, &["waiting: reviewers: codex"]);
    let all = statuses(&scene);
    assert_eq!((all[0].0.as_str(), all.last().map(|last| last.0.as_str())), ("pending", Some("success")), "{all:?}");
    assert!(all.iter().all(|status| status.1 == scene.remote_head()));
    assert!(all.windows(2).all(|two| two[0].2[30..] != two[1].2[30..]), "no row of equals: {all:?}");
}

#[test]
fn r19_a_status_made_meanwhile_is_judged_again_before_it_is_written_over() {
    let scene = Scene::new(good);
    settled(&scene);
    scene.forge.act(
        json!({ "status": { "user": "ann", "context": "pushback/gate", "state": "failure", "description": "no" } }),
    );
    scene.run(&["gate", "--verify", "--publish"]).ends(0, &["published: pushback/gate success"]);
    let all = statuses(&scene);
    assert_eq!(all.len(), 2, "{all:?}");
    let reads = scene.forge.requests("GET", "*/statuses");
    assert!(reads >= 3, "read, judged again, read, written, read back: {reads}");
}

#[test]
fn r19_a_missing_right_is_named() {
    let scene = Scene::new(|plan| {
        good(plan);
        let all = json!({ "pull_requests": "write", "contents": "write", "issues": "write", "checks": "read",
            "statuses": "read", "administration": "read", "metadata": "read" });
        plan.tokens = json!([{ "token": TOKEN, "permissions": all }]);
    });
    settled(&scene);
    let out = scene.run(&["gate", "--verify", "--publish"]);
    out.ends(21, &["pushback/gate", "statuses: write", "octo/pay"]);
    assert_eq!(statuses(&scene), Vec::new());
}

#[test]
fn r19_a_merge_group_gets_the_verdict_of_its_pull_request() {
    let mut scene = Scene::new(good);
    settled(&scene);
    scene.run(&["gate", "--verify"]).ends(0, &["gate: ready"]);
    scene.git(&["switch", "-q", "--detach", "origin/main"]);
    scene.git(&["merge", "-q", "--no-ff", "-m", "Queued", "feature"]);
    let group = scene.git(&["rev-parse", "HEAD"]);
    let branch = format!("refs/heads/gh-readonly-queue/main/pr-7-{}", scene.git(&["rev-parse", "origin/main"]));
    scene.git(&["push", "-q", "origin", &format!("HEAD:{branch}")]);
    let event = scene.root.join("event.json");
    std::fs::write(&event, json!({ "merge_group": { "head_sha": group, "head_ref": branch } }).to_string())
        .expect("a file");
    for (name, value) in [("GITHUB_ACTIONS", "true"), ("GITHUB_EVENT_NAME", "merge_group"), ("CI", "true")] {
        scene.env.insert(name.to_owned(), value.to_owned());
    }
    scene.env.insert("GITHUB_EVENT_PATH".to_owned(), event.to_string());
    scene.run(&["gate", "--publish"]).ends(0, &["published: pushback/gate success"]);
    let all = statuses(&scene);
    assert_eq!(all.iter().map(|status| status.1.as_str()).collect::<Vec<_>>(), [group.as_str()], "on the group alone");
    scene.run(&["gate", "--publish", "--pr", "8"]).ends(2, &["the merge group is about #7"]);
}

#[test]
fn r19_a_head_of_several_pull_requests_gets_no_good_verdict() {
    let scene = Scene::new(|plan| {
        good(plan);
        let again = json!({ "number": 9, "title": "Again", "head": "feature", "author": "me", "base": "next" });
        let first = json!({ "number": 7, "title": "Charge", "body": "", "head": "feature", "author": "me",
            "script": codex_reviews(&[], &[]) });
        plan.repo = json!({ "pulls": [first, again] });
    });
    scene.git(&["push", "-q", "origin", "main:next"]);
    settled(&scene);
    scene.run(&["gate", "--verify", "--publish", "--pr", "7"]).ends(0, &["published: pushback/gate error", "#9"]);
}

#[test]
fn fc_30_the_gate_does_not_wait_for_itself() {
    let scene = Scene::new(|plan| {
        good(plan);
        let parameters = json!({ "required_status_checks": [{ "context": "pushback/gate" }, { "context": "build" }] });
        plan.repo = json!({ "rules": { "main": [{ "type": "required_status_checks", "parameters": parameters }] } });
        plan.script[0]["actions"]
            .as_array_mut()
            .expect("actions")
            .push(json!({ "check_run": { "name": "build", "conclusion": "success" } }));
    });
    settled(&scene);
    scene.forge.act(json!({ "status": { "user": "me", "context": "pushback/gate", "state": "pending" } }));
    scene.forge.act(json!({ "check_run": { "name": "pushback/gate: publish", "status": "in_progress" } }));
    scene.run(&["gate", "--verify"]).ends(0, &["gate: ready"]);
    let alone = Scene::new(good);
    settled(&alone);
    alone.forge.act(json!({ "check_run": { "name": "pushback/gate: publish", "status": "in_progress" } }));
    alone.run(&["gate", "--verify"]).ends(0, &["gate: ready"]);
}

#[test]
fn fc_31_pull_requests_built_on_the_branch_are_named() {
    let scene = Scene::new(good);
    scene.git(&["push", "-q", "origin", "HEAD:child"]);
    let child = json!({ "number": 8, "title": "Child", "head": "child", "author": "me", "base": "feature" });
    scene.forge.scene(json!({ "repos": [{ "name": "octo/pay", "default_branch": "main", "pulls": [child] }] }));
    settled(&scene);
    scene.run(&["gate", "--verify"]).ends(0, &["gate: ready", "#8 has this branch as its base"]);
}

#[test]
fn r18_checks_of_classic_protection_are_known_without_the_right_to_its_settings() {
    let protected = |plan: &mut Plan| {
        good(plan);
        plan.repo = json!({ "protection": { "main": { "strict": false, "checks": [{ "context": "build", "app_id": null }] } } });
    };
    let scene = Scene::new(protected);
    settled(&scene);
    // `me` may write and is no administrator: the settings answer 404, the branch names its checks.
    scene.run(&["gate", "--verify"]).ends(12, &["`build` has not reported", "required by branch"]);
    scene.forge.act(json!({ "check_run": { "name": "build", "conclusion": "success" } }));
    scene.run(&["gate"]).ends(0, &["gate: ready"]);
    assert_eq!(scene.forge.violations(), Vec::<String>::new());
}

/// A red run of one workflow and a later green one of another, under one name.
fn two_workflows(scene: &Scene) {
    for (path, conclusion) in [("a.yml", "failure"), ("b.yml", "success")] {
        scene.forge.act(json!({ "check_run": { "name": "test", "conclusion": conclusion, "workflow": path } }));
        scene.forge.advance(std::time::Duration::from_secs(5));
    }
}

#[test]
fn fc_27_a_later_success_of_another_workflow_hides_no_failure() {
    let mut scene = Scene::new(good);
    scene.env.insert("COLUMNS".to_owned(), "300".to_owned());
    settled(&scene);
    two_workflows(&scene);
    scene.run(&["gate", "--verify"]).ends(15, &["`test` of github-actions (a.yml) ended in failure"]);
    scene.forge.act(json!({ "check_run": { "name": "test", "conclusion": "success", "workflow": "a.yml" } }));
    scene.run(&["gate"]).ends(0, &["gate: ready"]);
    assert_eq!(scene.forge.violations(), Vec::<String>::new());
    let mut blind = Scene::new(|plan| {
        good(plan);
        let all = json!({ "pull_requests": "write", "contents": "write", "issues": "write", "checks": "read",
            "statuses": "write", "administration": "read", "metadata": "read" });
        plan.tokens = json!([{ "token": TOKEN, "permissions": all }]);
    });
    blind.env.insert("COLUMNS".to_owned(), "300".to_owned());
    settled(&blind);
    two_workflows(&blind);
    blind.run(&["gate", "--verify"]).ends(15, &["failure", "actions=read"]);
}

#[test]
fn r18_another_pull_request_is_judged_from_any_checkout() {
    let scene = Scene::new(good);
    settled(&scene);
    scene.run(&["gate", "--verify"]).ends(0, &["gate: ready"]);
    scene.git(&["switch", "-q", "main"]);
    scene.run(&["gate", "--pr", "7"]).ends(0, &["gate: ready"]);
    scene.git(&["checkout", "-q", "--detach"]);
    scene.run(&["gate", "--pr", "7"]).ends(0, &["gate: ready"]);
}
