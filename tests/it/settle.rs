//! Settling without a fix: follow-ups, answers, stale places, commands in threads. From outside, against the fake GitHub.

use serde_json::{Value, json};

use crate::scene::Scene;
use crate::scene::says::*;

const RUN: [&str; 3] = ["run", "--wait", "20s"];
const WHY: &str =
    "Splitting the list of items is how every caller works today; quoting it belongs to the change of callers.";

fn defers() -> Value {
    json!({ "contains": "hands every word", "decision": "defer", "reason": WHY,
            "plan": { "title": "Quote the items @codex", "steps": ["List the callers", "Quote `items`"] } })
}

/// One P2 of CodeRabbit.
fn one_p2(plan: &mut crate::scene::Plan) {
    plan.script = rabbit_reviews(&[p2()]);
}

fn title() -> &'static str {
    "Quote the list of items."
}

fn status(scene: &Scene) -> String {
    scene.statuses().get(title()).cloned().unwrap_or_default()
}

/// The comments of the diff as the forge has them.
fn inline(scene: &Scene) -> Vec<Value> {
    scene.forge.pull()["comments"].as_array().cloned().unwrap_or_default()
}

fn ours(scene: &Scene) -> Vec<String> {
    let body = |c: &Value| c["body"].as_str().unwrap_or_default().to_owned();
    inline(scene).iter().map(body).filter(|body| body.contains("<!-- pushback:1 ")).collect()
}

fn root(scene: &Scene) -> Value {
    inline(scene).iter().find(|c| c["user"] == RABBIT).expect("the finding")["id"].clone()
}

fn plan_files(scene: &Scene) -> Vec<String> {
    let files = scene.git_in(&scene.bare, &["ls-tree", "-r", "--name-only", "feature", "wiki/plans/"]);
    files.lines().map(str::to_owned).collect()
}

fn planned(scene: &Scene) -> String {
    let files = plan_files(scene);
    assert_eq!(files.len(), 1, "{files:?}");
    scene.git_in(&scene.bare, &["show", &format!("feature:{}", files[0])])
}

#[test]
fn r15_an_editor_leaves_a_p2_to_a_follow_up() {
    let scene = Scene::new(|plan| {
        plan.script = story();
        plan.editor = json!({ "findings": [fixes(), defers()] });
        plan.linked = true;
    });
    scene.run(&RUN).ends(0, &["settled"]);
    assert_eq!(status(&scene), "P2 deferred");
    let plan = planned(&scene);
    for words in ["# Quote the items", "List the callers", WHY, "hands every word", title()] {
        assert!(plan.contains(words), "`{words}` is not in:\n{plan}");
    }
    assert!(!plan.contains("@codex"), "{plan}");
    let log = scene.git_in(&scene.bare, &["log", "--format=%s", "main..feature"]);
    assert_eq!(log.lines().count(), 2, "the plan is part of the round's commit: {log}");
    let link = format!("/octo/pay/blob/{}/{}", scene.remote_head(), plan_files(&scene)[0]);
    let replies = ours(&scene);
    assert_eq!(replies.iter().filter(|body| body.contains(&link)).count(), 1, "{replies:?}");
    let body = scene.forge.pull()["body"].as_str().unwrap_or_default().to_owned();
    assert!(body.contains(&link) && body.contains(WHY), "{body}");
    scene.is_sound();
    scene.changes_nothing(&RUN).ends(0, &["settled"]);
    // Lost state comes back from reply and description.
    std::fs::remove_file(scene.state_dir().join("summary.json")).expect("it was there");
    scene.changes_nothing_but_state(&RUN).ends(0, &["settled"]);
    assert_eq!(status(&scene), "P2 deferred");
}

#[test]
fn r15_a_person_puts_it_off_and_the_editor_is_not_started() {
    let scene = Scene::new(one_p2);
    let command = json!({ "reply": { "user": "ann", "body": format!("/pushback out-of-scope {WHY}"), "to": root(&scene), "key": "order" } });
    scene.forge.act(command);
    scene.run(&RUN).ends(0, &["settled"]);
    assert_eq!((status(&scene).as_str(), scene.editor_rounds()), ("P2 deferred", 0));
    assert!(planned(&scene).contains(WHY));
    let order = inline(&scene).into_iter().find(|c| c["user"] == "ann").expect("the command");
    assert!(order["reactions"].to_string().contains("+1"), "{order}");
    let body = scene.forge.pull()["body"].as_str().unwrap_or_default().to_owned();
    assert!(body.contains("1 command") && body.contains("/blob/"), "{body}");
    assert_eq!(ours(&scene).len(), 1);
    scene.is_sound();
    scene.changes_nothing(&RUN).ends(0, &["settled"]);
}

#[test]
fn r06_a_wrong_command_gets_one_hint_and_a_strangers_none() {
    let scene = Scene::new(one_p2);
    let say = |user: &str, body: &str| {
        scene.forge.act(json!({ "reply": { "user": user, "body": body, "to": root(&scene) } }));
    };
    say("mallory", "/pushback accept");
    say("ann", "/pushback acept");
    scene.run(&["run"]);
    assert_eq!(status(&scene), "P2 open");
    let hints = || ours(&scene).iter().filter(|body| body.contains("That command was not taken")).count();
    assert_eq!(hints(), 1);
    scene.run(&["run"]);
    assert_eq!(hints(), 1);
    say("ann", "/pushback accept the callers know");
    scene.run(&RUN).ends(0, &["settled"]);
    assert_eq!((status(&scene).as_str(), hints()), ("P2 withdrawn", 1));
    for comment in inline(&scene).iter().filter(|c| c["user"] == "mallory") {
        assert!(!comment["reactions"].to_string().contains("+1"), "{comment}");
    }
    scene.is_sound();
}

#[test]
fn r14_what_the_editor_calls_stale_is_looked_up() {
    let scene = Scene::new(|plan| {
        one_p2(plan);
        plan.editor = json!({ "findings": [{ "contains": "hands every word", "decision": "stale",
            "reason": "The loop over the items was taken out of src/pay.sh some time ago, nothing is left of it." }] });
    });
    scene.run(&RUN).ends(14, &["still there, at `src/pay.sh:7`"]);
    assert_eq!((status(&scene).as_str(), ours(&scene).len()), ("P2 open", 0));
}

#[test]
fn r15_a_plan_that_git_ignores_waits_for_a_person() {
    let scene = Scene::new(|plan| {
        one_p2(plan);
        plan.feature.push((".gitignore", "wiki/\n".to_owned()));
    });
    scene.forge.act(json!({ "reply": { "user": "ann", "body": "/pushback out-of-scope later", "to": root(&scene) } }));
    scene.run(&RUN).ends(14, &["git ignores `wiki/plans/pr7-"]);
    assert_eq!((status(&scene).as_str(), plan_files(&scene).len()), ("P2 open", 0));
    scene.run(&RUN).ends(14, &["git ignores"]);
}

#[test]
fn fc_64_a_follow_up_is_not_forgotten_when_its_plan_cannot_be_written() {
    let scene = Scene::new(|plan| {
        one_p2(plan);
        plan.user = "[followup]\ndir = \"src/pay.sh\"\n".to_owned();
    });
    scene.forge.act(json!({ "reply": { "user": "ann", "body": "/pushback out-of-scope later", "to": root(&scene) } }));
    scene.run(&RUN).ends(14, &["no plan can be written in `src/pay.sh`"]);
    assert_eq!((status(&scene).as_str(), ours(&scene).len()), ("P2 open", 0));
    let user = scene.root.join("user.toml");
    let text = std::fs::read_to_string(&user).expect("a file").replace("src/pay.sh", "wiki/plans");
    std::fs::write(&user, text).expect("a file");
    scene.run(&RUN).ends(0, &["settled"]);
    assert_eq!((status(&scene).as_str(), plan_files(&scene).len(), ours(&scene).len()), ("P2 deferred", 1, 1));
    scene.changes_nothing(&RUN).ends(0, &["settled"]);
}

#[test]
fn r21_a_fix_that_is_taken_back_is_given_back_once_and_then_contested() {
    let back = codex("P2", "rate=1", "Keep the rate at nothing", "A rate of one is wrong here: put the nothing back.");
    let scene = Scene::new(|plan| {
        plan.script = codex_reviews(&[p1()], &[back]);
        let undo = json!([{ "path": "src/pay.sh", "replace": "rate=1", "with": "rate=0" }]);
        plan.editor = json!({ "findings": [
            { "contains": "put the nothing back", "decision": "fix", "edits": undo },
            { "contains": "drops the fee", "decision": "fix",
              "edits": [{ "path": "src/pay.sh", "replace": "rate=0", "with": "rate=1" }] },
        ] });
    });
    let out = scene.run(&RUN);
    out.ends(14, &["contested", "Keep the rate at nothing", "Multiply by a rate that is not zero", "/pushback accept"]);
    assert_eq!(scene.editor_rounds(), 3, "given back once");
    let told = scene.seen("prompt-3.txt").expect("a third round");
    assert!(told.contains("takes back what settled"), "{told}");
    assert!(scene.git_in(&scene.bare, &["show", "feature:src/pay.sh"]).contains("rate=1"));
    assert_eq!(scene.statuses()["Multiply by a rate that is not zero"], "P1 fixed");
    scene.is_sound();
    scene.run(&RUN).ends(14, &["contested"]);
    assert_eq!(scene.editor_rounds(), 3, "a person decides first");
    let thread =
        inline(&scene).iter().find(|c| c["body"].to_string().contains("Keep the rate")).expect("it")["id"].clone();
    scene.forge.act(json!({ "reply": { "user": "ann", "body": "/pushback accept it is meant so", "to": thread } }));
    scene.run(&RUN).ends(0, &["settled"]);
}

#[test]
fn fc_31_ready_warns_of_pull_requests_that_stand_on_the_branch() {
    let scene = Scene::new(|plan| {
        plan.script = codex_reviews(&[], &[]);
        plan.policy = format!("{}[gate]\nno_checks = true\n", crate::scene::POLICY);
    });
    let out = scene.run(&["run", "--until", "ready", "--wait", "20s"]);
    out.ends(0, &["settled"]);
    assert!(!out.all().contains("as its base"), "{}", out.all());
    scene.git(&["switch", "-q", "-c", "child"]);
    scene.write("child.txt", "more\n");
    scene.git(&["add", "-A"]);
    scene.git(&["commit", "-q", "-m", "A child"]);
    scene.git(&["push", "-q", "origin", "child"]);
    scene.git(&["switch", "-q", "feature"]);
    scene.forge.scene(json!({ "repos": [{ "name": "octo/pay", "pulls": [
        { "number": 8, "title": "A child", "body": "", "head": "child", "base": "feature", "author": "me" }] }] }));
    scene.run(&["run", "--until", "ready", "--wait", "20s"]).ends(0, &["#8 has this branch as its base"]);
    let gate = scene.run(&["gate", "--json"]).json();
    assert_eq!(gate["gate"]["verdict"], "ready", "{gate:#}");
    assert!(gate["notes"].to_string().contains("#8 has this branch as its base"), "{gate:#}");
}

#[test]
fn r18_a_run_until_ready_asks_the_remote_before_it_says_ready() {
    let scene = Scene::new(|plan| {
        plan.script = codex_reviews(&[], &[]);
        plan.policy = format!("{}[gate]\nno_checks = true\n", crate::scene::POLICY);
    });
    let until = ["run", "--until", "ready", "--wait", "2s"];
    scene.run(&until).ends(0, &["settled"]);
    // Somebody pushes, and the forge goes on showing the head from before.
    scene.forge.act(json!({ "pull": { "head_lag": 100_000 } }));
    let other = scene.root.join("other");
    scene.git_in(&scene.root, &["clone", "-q", "-b", "feature", scene.bare.as_str(), other.as_str()]);
    std::fs::write(other.join("more.txt"), "more\n").expect("a file");
    scene.git_in(&other, &["add", "-A"]);
    scene.git_in(&other, &["commit", "-q", "-m", "Somebody else's"]);
    scene.git_in(&other, &["push", "-q", "origin", "feature"]);
    assert_ne!(scene.remote_head(), scene.git(&["rev-parse", "HEAD"]));
    let pull = scene.run(&["status", "--json"]).json()["pr"]["head"].clone();
    assert_eq!(pull, json!(scene.git(&["rev-parse", "HEAD"])), "the forge lags");
    scene.run(&["gate"]).ends(15, &["remote branch"]);
    scene.run(&until).ends(15, &["not_mergeable", "remote branch", "fetch the remote branch"]);
}

/// A pull request whose P1 was fixed by our commit.
fn fixed_p1() -> Scene {
    let scene = Scene::new(|plan| {
        plan.script = codex_reviews(&[p1()], &[p1()]);
        plan.editor = settles();
    });
    scene.run(&RUN).ends(0, &["settled"]);
    assert_eq!(scene.editor_rounds(), 1);
    scene
}

#[test]
fn fc_34_a_force_push_that_drops_our_commit_is_a_persons_business() {
    let scene = fixed_p1();
    scene.git(&["reset", "-q", "--hard", "HEAD~1"]);
    scene.write("notes.txt", "by a person\n");
    scene.git(&["add", "-A"]);
    scene.git(&["commit", "-q", "-m", "A person's commit"]);
    scene.git(&["push", "-q", "--force", "origin", "feature"]);
    // Until somebody may post, the description goes on claiming the fix: whoever looks is told.
    assert!(scene.forge.pull()["body"].to_string().contains("Fixed in"));
    for command in ["status", "gate"] {
        let told = scene.run(&[command]);
        assert!(told.all().contains("in the description has 1 line out of date"), "{}", told.all());
    }
    scene.run(&RUN).ends(14, &["is no longer in the history of the branch"]);
    assert_eq!(scene.editor_rounds(), 1, "what a person took out is not put back");
    assert!(scene.git(&["show", "HEAD:src/pay.sh"]).contains("rate=0"));
    scene.run(&RUN).ends(14, &[]);
    assert_eq!(scene.editor_rounds(), 1);
    scene.is_sound();
}

#[test]
fn fc_34_a_persons_revert_is_not_undone() {
    let scene = fixed_p1();
    scene.git(&["revert", "--no-edit", "HEAD"]);
    scene.git(&["push", "-q", "origin", "feature"]);
    let revert = scene.remote_head();
    scene.run(&RUN).ends(14, &[&format!("was removed by commit {}", &revert[..10])]);
    scene.write("notes.txt", "formatting only\n");
    scene.git(&["add", "-A"]);
    scene.git(&["commit", "-q", "-m", "Another commit"]);
    scene.git(&["push", "-q", "origin", "feature"]);
    scene.run(&RUN).ends(14, &[]);
    assert_eq!(scene.editor_rounds(), 1, "neither the finding nor its copy is sent again");
    assert!(scene.git_in(&scene.bare, &["show", "feature:src/pay.sh"]).contains("rate=0"));
    scene.is_sound();
}

#[test]
fn fc_34_a_rebase_that_keeps_our_change_keeps_it_fixed() {
    let scene = fixed_p1();
    let ours = scene.git(&["rev-parse", "HEAD"]);
    scene.git(&["reset", "-q", "--hard", "HEAD~1"]);
    scene.git(&["commit", "-q", "--amend", "-m", "Charge by rate, said better"]);
    scene.git(&["cherry-pick", &ours]);
    scene.git(&["push", "-q", "--force", "origin", "feature"]);
    assert_ne!(scene.git(&["rev-parse", "HEAD"]), ours);
    scene.run(&RUN).ends(0, &["settled"]);
    assert_eq!(scene.statuses()["Multiply by a rate that is not zero"], "P1 fixed");
    assert_eq!(scene.editor_rounds(), 1);
    let proof = scene.summary()["comments"].to_string();
    assert!(proof.contains(&scene.remote_head()) && !proof.contains(&format!("\"sha\":\"{ours}\"")), "{proof}");
    scene.is_sound();
}

#[test]
fn r08_a_question_is_answered_in_its_thread() {
    let ask = rabbit(
        "_⚠️ Potential issue_ | _🟠 Major_",
        "for item in",
        "Why are the items not quoted?",
        "`for item in $items` hands every word on its own.",
    );
    let scene = Scene::new(|plan| {
        plan.script = rabbit_reviews(&[ask]);
        plan.editor = json!({ "findings": [{ "contains": "hands every word", "decision": "answer", "reason": WHY }] });
    });
    scene.run(&RUN).ends(0, &["settled"]);
    assert_eq!(scene.statuses()["Why are the items not quoted?"], "P2 answered");
    assert!(ours(&scene)[0].starts_with(WHY), "{:?}", ours(&scene));
    scene.is_sound();
    scene.changes_nothing(&RUN).ends(0, &["settled"]);
    std::fs::remove_file(scene.state_dir().join("summary.json")).expect("it was there");
    scene.changes_nothing_but_state(&RUN).ends(0, &["settled"]);
    assert_eq!(scene.statuses()["Why are the items not quoted?"], "P2 answered");
}

#[test]
fn r13_a_look_after_lost_state_proves_fixes_from_commits_alone() {
    let scene = Scene::new(|plan| {
        plan.script = rabbit_reviews(&[p1()]);
        plan.editor = json!({ "findings": [fixes()] });
        plan.policy.push_str("[post]\ndescription = false\nresolve = \"never\"\n");
    });
    scene.run(&RUN).ends(0, &["settled"]);
    let fixed = scene.statuses();
    assert_eq!(fixed.values().map(String::as_str).collect::<Vec<_>>(), ["P1 fixed"]);
    let pull = scene.forge.pull();
    let lists =
        ["comments", "issue_comments", "conversation"].map(|list| pull[list].as_array().cloned().unwrap_or_default());
    for own in lists.iter().flatten().filter(|c| c["body"].as_str().unwrap_or_default().contains("pushback:1 ")) {
        scene.forge.act(json!({ "delete": { "of": own["id"] } }));
    }
    assert!(
        !scene.forge.pull().to_string().contains("pushback:"),
        "no word of ours stands there: {}",
        scene.forge.pull()
    );
    std::fs::remove_file(scene.state_dir().join("summary.json")).expect("it was there");
    scene.run(&["status"]).ends(0, &["fixed"]);
    assert_eq!(scene.statuses(), fixed);
}
