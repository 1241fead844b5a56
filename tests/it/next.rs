//! `next`: the one next thing, from a reading or from one that is young enough, and never a thing from memory as a fact.

use serde_json::{Value, json};

use crate::scene::says::*;
use crate::scene::{Plan, Scene};

fn story_of(plan: &mut Plan) {
    plan.script = story();
}

fn next(scene: &Scene, args: &[&str]) -> Value {
    let mut all = vec!["next", "--json"];
    all.extend(args);
    scene.run(&all).json()
}

#[test]
fn a_fix_that_was_pushed_later_is_not_called_done_before_it_is_shown() {
    let scene = Scene::new(|plan| plan.script = codex_reviews(&[p1()], &[]));
    let id = next(&scene, &[])["finding"]["id"].as_str().expect("a finding").to_owned();
    scene.write("src/pay.sh", &scene.read("src/pay.sh").replace("rate=0", "rate=1"));
    scene.git(&["commit", "-qam", "A rate"]);
    scene.run(&["resolve", &id, "fix"]).ends(0, &["claimed"]);
    scene.git(&["push", "-q"]);
    let answer = next(&scene, &[]);
    assert_eq!((&answer["action"], &answer["pending"]), (&json!("wait"), &json!(true)), "{answer:#}");
    assert_eq!(answer["commands"]["post"], json!(format!("pushback resolve {id} fix")), "{answer:#}");
    assert_eq!(answer["next"], answer["commands"]["post"]);
    for command in ["status", "gate"] {
        let told = scene.run(&[command]);
        assert!(
            told.all().contains(&format!("{id}: settled, and not shown on the pull request yet")),
            "{}",
            told.all()
        );
        let notes = scene.run(&[command, "--json"]).json()["notes"].to_string();
        assert!(notes.contains("`pushback resolve` or `pushback run` posts it"), "{notes}");
    }
    assert_eq!(scene.forge.open_threads(), 1, "reading posts nothing");
    scene.run(&["resolve", &id, "fix"]).ends(0, &["settled"]);
    assert_eq!(scene.forge.open_threads(), 0);
    for command in ["status", "gate", "next"] {
        let told = scene.run(&[command]);
        assert!(!told.all().contains("not shown on the pull request"), "{}", told.all());
    }
    assert_ne!(next(&scene, &[])["next"], json!(format!("pushback resolve {id} fix")));
    scene.is_sound();
}

#[test]
fn without_anything_that_proves_a_fix_no_run_is_recommended() {
    let scene = Scene::new(|plan| {
        story_of(plan);
        plan.policy = plan.policy.replace("[verify]\ncommands = [\"sh spec/test.sh\"]\n", "");
    });
    assert_eq!(scene.run(&["run"]).code, 2, "a run refuses");
    let status = scene.run(&["status"]);
    status.ends(11, &["next: pushback init"]);
    assert_eq!(scene.run(&["status", "--json"]).json()["next"], json!("pushback init"));
    scene.run(&["run", "--dry-run"]).ends(11, &["a run would not start: no verify command is configured", "[verify]"]);
    let id = next(&scene, &[])["finding"]["id"].as_str().expect("a finding").to_owned();
    for command in ["show", "explain"] {
        let answer = scene.run(&[command, &id, "--json"]).json();
        assert_eq!(answer["next"], json!("pushback init"), "{answer:#}");
    }
}

#[test]
fn show_and_explain_name_the_real_next_thing_and_people_see_no_markup() {
    let scene = Scene::new(story_of);
    let answer = next(&scene, &[]);
    let id = answer["finding"]["id"].as_str().expect("a finding").to_owned();
    assert!(answer["finding"]["body"].as_str().is_some_and(|body| body.contains("<sub>")), "JSON has it as it came");
    for command in ["show", "explain"] {
        assert_eq!(scene.run(&[command, &id, "--json"]).json()["next"], json!("pushback run"), "a P1 is open");
    }
    for args in [["show", id.as_str()].as_slice(), &["next"]] {
        let out = scene.run(args);
        assert!(!out.stdout.contains("<sub>") && !out.stdout.contains("!["), "{}", out.stdout);
        assert!(out.stdout.contains("drops the fee"), "{}", out.stdout);
    }
}

fn reads(scene: &Scene) -> usize {
    scene.forge.log().len()
}

#[test]
fn next_hands_out_the_worst_finding_with_all_it_needs() {
    let scene = Scene::new(story_of);
    let out = scene.run(&["next", "--json"]);
    out.ends(11, &[]);
    let answer = out.json();
    for key in ["schema_version", "command", "exit", "pr", "next", "retry_after_s", "error", "action", "commands"] {
        assert!(answer.get(key).is_some(), "no `{key}` in {answer:#}");
    }
    let finding = &answer["finding"];
    for key in ["id", "severity", "decided_by", "rule", "author", "path", "line", "body", "hunk", "thread", "history"] {
        assert!(finding.get(key).is_some(), "no `{key}` in {finding:#}");
    }
    assert_eq!((&answer["action"], &finding["severity"]), (&json!("fix"), &json!("P1")));
    assert!(finding["code"].as_str().is_some_and(|code| code.contains("rate=0")), "{finding:#}");
    assert!(finding["body"].as_str().is_some_and(|body| body.contains("drops the fee")), "{finding:#}");
    let id = finding["id"].as_str().unwrap_or_default();
    assert_eq!(answer["commands"]["fix"], json!(format!("pushback resolve {id} fix --commit SHA")));
    assert_eq!(answer["next"], answer["commands"]["fix"]);
    assert!(answer["commands"].get("argue").is_none(), "a P1 is not argued: {answer:#}");
    assert_eq!((&answer["cached"], &answer["pending"]), (&json!(false), &json!(false)));
    let text = scene.run(&["next", "--pr", "7"]);
    text.ends(11, &["Multiply by a rate that is not zero", "pushback --pr 7 resolve", "1 P1, 1 P2"]);
    assert!(text.stdout.lines().count() < 60, "{}", text.stdout);
    assert_eq!(scene.writes(), Vec::<String>::new());
}

#[test]
fn r4_a_young_reading_answers_without_the_forge_and_says_so() {
    let scene = Scene::new(story_of);
    let first = next(&scene, &["--max-age", "10m"]);
    assert_eq!(first["cached"], json!(false), "there is no reading yet");
    let before = reads(&scene);
    let again = next(&scene, &["--max-age", "10m"]);
    assert_eq!(reads(&scene), before, "the forge was asked");
    assert_eq!(again["cached"], json!(true));
    for key in ["action", "finding", "commands", "exit", "as_of", "pr"] {
        assert_eq!(again[key], first[key], "{key}");
    }
    scene.run(&["next", "--max-age", "10m"]).ends(11, &["as of", "the forge was not asked"]);
    assert_eq!(reads(&scene), before);
    assert_eq!(next(&scene, &["--max-age", "0s"])["cached"], json!(false), "too old");
    assert!(reads(&scene) > before);
}

#[test]
fn r4_a_push_since_the_reading_is_noticed_without_asking() {
    let scene = Scene::new(|plan| plan.script = codex_reviews(&[p1()], &[]));
    assert_eq!(next(&scene, &[])["action"], json!("fix"));
    scene.write("src/pay.sh", &PAY.replace("rate=0", "rate=1"));
    scene.git(&["commit", "-qam", "A rate"]);
    let here = next(&scene, &["--max-age", "10m"]);
    assert_eq!((&here["cached"], &here["action"]), (&json!(true), &json!("fix")), "a commit that is only here");
    scene.git(&["push", "-q"]);
    assert_eq!(next(&scene, &["--max-age", "10m"])["cached"], json!(false));
}

#[test]
fn next_waits_early_and_is_done_only_by_a_reading() {
    let waiting = Scene::new(|plan| {
        plan.policy = plan.policy.replace("settle", "required = [\"codex\"]\nsettle");
    });
    let out = waiting.run(&["next", "--json"]);
    out.ends(12, &[]);
    let answer = out.json();
    assert_eq!((&answer["action"], &answer["pending"]), (&json!("wait"), &json!(true)), "{answer:#}");
    assert!(answer["retry_after_s"].as_u64().is_some_and(|s| (1..=600).contains(&s)), "{answer:#}");
    assert_eq!(answer["finding"], Value::Null);
    let done = Scene::new(|plan| plan.script = codex_reviews(&[], &[]));
    // The settle window ends by the forge's clock, which counts whole seconds.
    let answer = (0..200).map(|_| next(&done, &[])).find(|answer| answer["action"] != json!("wait")).expect("an end");
    assert_eq!((&answer["action"], &answer["exit"]), (&json!("done"), &json!(0)), "{answer:#}");
    let before = reads(&done);
    assert_eq!(next(&done, &["--max-age", "1h"])["cached"], json!(false), "done is never said from memory");
    assert!(reads(&done) > before);
    done.forge.act(json!({ "pull": { "merged_by": "ann" } }));
    let merged = next(&done, &["--pr", "7"]);
    assert_eq!((&merged["action"], &merged["exit"]), (&json!("done"), &json!(0)), "{merged:#}");
}

#[test]
fn next_takes_no_lock_and_needs_no_state() {
    let scene = Scene::new(story_of);
    scene.run(&["status"]).ends(11, &[]);
    std::fs::remove_file(scene.state_dir().join("summary.json")).expect("state was kept");
    std::fs::write(scene.state_dir().join("glance.json"), "{\"schema_version\":99}").expect("a file");
    let answer = next(&scene, &["--max-age", "10m"]);
    assert_eq!((&answer["action"], &answer["cached"]), (&json!("fix"), &json!(false)));
}
