//! `resolve`: answers of an agent that edits, commits and pushes itself. Judged like the editor's, posted once.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::forge::{Fault, faults::What};
use crate::scene::says::*;
use crate::scene::{Out, Plan, Scene};

fn story_of(plan: &mut Plan) {
    plan.script = story();
}

/// Returns the id of the finding with these words in its title.
fn id(scene: &Scene, title: &str) -> String {
    let answer = scene.run(&["status", "--json"]).json();
    let findings = answer["findings"].as_array().cloned().unwrap_or_default();
    let found = findings.iter().find(|f| f["title"].as_str().is_some_and(|t| t.contains(title)));
    found.and_then(|f| f["id"].as_str()).map(str::to_owned).unwrap_or_else(|| panic!("no {title} in {answer:#}"))
}

fn commit(scene: &Scene, from: &str, to: &str) -> String {
    scene.write("src/pay.sh", &scene.read("src/pay.sh").replace(from, to));
    scene.git(&["commit", "-qam", "A change"]);
    scene.git(&["rev-parse", "HEAD"])
}

fn state(out: &Out) -> String {
    out.json()["answers"][0]["state"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn r6_an_argument_is_posted_once_and_settles() {
    let scene = Scene::new(story_of);
    let p2 = id(&scene, "Quote the list");
    let args = ["resolve", p2.as_str(), "argue", "--reason", REASON];
    let dry = scene.run(&[&args[..], &["--dry-run", "--json"]].concat());
    dry.ends(0, &[]);
    assert_eq!(scene.writes(), Vec::<String>::new(), "a dry run writes nothing");
    assert_eq!(scene.statuses()["Quote the list of items."], "P2 open");
    let planned = dry.json()["planned"].as_array().cloned().unwrap_or_default();
    let reply = planned.iter().find(|write| write["kind"] == "argue").expect("a planned reply");
    let text = scene.run(&[&args[..], &["--dry-run"]].concat());
    text.ends(0, &[REASON, "== would argue", "<!-- pushback:1 argue"]);
    let out = scene.run(&[&args[..], &["--json"]].concat());
    out.ends(0, &[]);
    assert_eq!(state(&out), "settled", "{}", out.all());
    assert_eq!(scene.statuses()["Quote the list of items."], "P2 argued");
    let pull = scene.forge.pull();
    let posted = pull["comments"].as_array().cloned().unwrap_or_default();
    assert!(posted.iter().any(|c| c["body"] == reply["body"]), "the exact text of the dry run was posted");
    assert!(pull["body"].as_str().is_some_and(|body| body.contains(REASON)), "and stands in the description");
    scene.is_sound();
    let again = scene.changes_nothing(&[&args[..], &["--json"]].concat());
    again.ends(0, &[]);
    scene.changes_nothing(&args).ends(0, &["it is argued already"]);
    scene.is_sound();
}

#[test]
fn r6_what_does_not_stand_is_refused_with_the_mend_and_changes_nothing() {
    let scene = Scene::new(story_of);
    let (p1, p2, p3) = (id(&scene, "Multiply"), id(&scene, "Quote"), id(&scene, "Say what the second"));
    let check = |args: &[&str], words: &[&str]| {
        let before = scene.summary_bytes();
        scene.run(&[&["resolve"], args].concat()).ends(2, words);
        assert_eq!(scene.summary_bytes(), before, "{args:?}");
    };
    check(&[&p1, "argue", "--reason", REASON], &["a P1 is never argued down", "only a person may grade it lower"]);
    check(
        &[&p1, "defer", "--reason", REASON, "--plan-title", "Later", "--step", "One"],
        &["never left to a follow-up"],
    );
    check(&[&p3, "argue", "--reason", REASON], &["needs no argument"]);
    check(&[&p2, "argue"], &["needs a reason", "--reason"]);
    check(&[&p2, "argue", "--reason", "Won't fix."], &["40 to 2000 are asked for"]);
    check(
        &[&p2, "argue", "--reason", "This is fine the way it is and nothing has to be done at all here."],
        &["does not speak of the finding"],
    );
    check(&[&p2, "answer", "--reason", REASON], &["asks no question"]);
    check(&[&p2, "stale"], &["still there", "src/pay.sh"]);
    check(&[&p2, "fix", "--commit", "no-such-name"], &["names no commit here"]);
    check(&[&p2, "fix", "--reason", "x", "--step", "y"], &["belong to `defer`"]);
    let mut typo = p2.clone();
    typo.remove(typo.len() - 2);
    check(&[&typo, "argue", "--reason", REASON], &["no finding", &p2, "nearest"]);
    check(&["nonsense", "fix"], &["pushback status"]);
    // One of several that does not stand keeps the others back.
    check(&[&p2, &p1, "argue", "--reason", REASON], &["never argued down"]);
    assert_eq!(scene.writes(), Vec::<String>::new());
    assert_eq!(scene.run(&["resolve", &p2, "shrug"]).code, 2);
}

#[test]
fn r8_a_fix_is_a_claim_until_its_commit_is_on_the_remote() {
    let scene = Scene::new(story_of);
    let p1 = id(&scene, "Multiply");
    let refused = |sha: &str, words: &[&str]| {
        scene.run(&["resolve", &p1, "fix", "--commit", sha]).ends(2, words);
    };
    refused("HEAD", &["no newer than the finding", "commit the fix first"]);
    let elsewhere = commit(&scene, "tmp=1", "tmp=2");
    refused(&elsewhere, &["touches neither src/pay.sh:3"]);
    let spaces = commit(&scene, "rate=0", "rate=0  ");
    refused(&spaces, &["white space and comments do not count"]);
    let fix = commit(&scene, "rate=0  ", "rate=1");
    let out = scene.run(&["resolve", &p1, "fix", "--commit", &fix[..12], "--json"]);
    out.ends(0, &[]);
    assert_eq!(state(&out), "claimed", "{}", out.all());
    assert_eq!(scene.statuses()["Multiply by a rate that is not zero"], "P1 open", "a claim settles nothing");
    scene.run(&["status"]).ends(11, &[]);
    scene.changes_nothing(&["resolve", &p1, "fix"]).ends(0, &["under way already"]);
    let next = scene.run(&["next", "--json"]).json();
    assert_eq!((&next["action"], &next["finding"]["severity"]), (&json!("fix"), &json!("P2")), "{next:#}");
    scene.git(&["push", "-q"]);
    scene.run(&["status"]);
    assert_eq!(scene.statuses()["Multiply by a rate that is not zero"], "P1 fixed");
    let proof = scene.summary()["comments"][&p1]["proof"].clone();
    assert_eq!((&proof["kind"], &proof["sha"]), (&json!("commit"), &json!(fix)));
    scene.is_sound();
}

#[test]
fn r8_a_commit_that_is_pushed_already_settles_at_once_and_its_thread_is_resolved() {
    let scene = Scene::new(|plan| plan.script = codex_reviews(&[p1()], &[]));
    let p1 = id(&scene, "Multiply");
    let sha = commit(&scene, "rate=0", "rate=1");
    scene.git(&["push", "-q"]);
    let out = scene.run(&["resolve", &p1, "fix", "--json"]);
    out.ends(0, &[]);
    assert_eq!(state(&out), "settled", "{}", out.all());
    assert_eq!(scene.forge.open_threads(), 0);
    assert!(scene.forge.pull()["body"].as_str().is_some_and(|body| body.contains(&sha[..10])));
    scene.is_sound();
    scene.changes_nothing(&["resolve", &p1, "fix"]).ends(0, &["it is fixed already"]);
}

#[test]
fn r26_the_first_post_needs_consent_and_a_claim_needs_none() {
    let scene = Scene::new(|plan| {
        story_of(plan);
        plan.enabled = false;
    });
    let (p1, p2) = (id(&scene, "Multiply"), id(&scene, "Quote"));
    let args = ["resolve", p2.as_str(), "argue", "--reason", REASON];
    scene.run(&args).ends(2, &["nobody has agreed yet", "--yes"]);
    // What does not stand is said before anybody is asked.
    scene.run(&["resolve", &p1, "argue", "--reason", REASON]).ends(2, &["never argued down"]);
    assert_eq!(scene.statuses()["Quote the list of items."], "P2 open");
    assert!(scene.summary()["comments"][&p2]["pending"].is_null(), "nothing is recorded");
    commit(&scene, "rate=0", "rate=1");
    scene.run(&["resolve", &p1, "fix"]).ends(0, &["claimed", "nobody has agreed yet"]);
    assert_eq!(scene.writes(), Vec::<String>::new());
    scene.run(&[&args[..], &["--yes"]].concat()).ends(0, &["settled"]);
    scene.is_sound();
}

#[test]
fn r8_an_older_commit_fixes_nothing_that_was_said_in_the_conversation() {
    let scene = Scene::new(|plan| {
        let said =
            json!({ "issue_comment": { "user": "ann", "body": "[P1] The total is lost when a price is missing." } });
        plan.script = vec![json!({ "after_push": 0, "actions": [said] })];
    });
    let p1 = id(&scene, "The total is lost");
    assert!(p1.starts_with('i'), "{p1}");
    let refused = |sha: &str, words: &str| {
        scene.run(&["resolve", &p1, "fix", "--commit", sha]).ends(2, &[words]);
    };
    refused("HEAD", "no newer than the finding");
    // What comes from the base was made for something else.
    scene.git(&["switch", "-q", "-C", "main", "origin/main"]);
    scene.write("other.txt", "more\n");
    scene.git(&["add", "-A"]);
    scene.git(&["commit", "-q", "-m", "On the base"]);
    scene.git(&["push", "-q", "origin", "main"]);
    let base = scene.git(&["rev-parse", "HEAD"]);
    scene.git(&["switch", "-q", "feature"]);
    scene.git(&["merge", "-q", "--no-edit", "main"]);
    scene.git(&["push", "-q", "origin", "feature"]);
    refused(&base, "none of this pull request's");
    assert!(scene.statuses().values().all(|status| status == "P1 open"), "{:?}", scene.statuses());
    let fix = commit(&scene, "rate=0", "rate=1");
    scene.run(&["resolve", &p1, "fix", "--commit", &fix]).ends(0, &["claimed"]);
}

#[test]
fn r8_a_persons_finding_gets_a_draft_and_no_words() {
    let scene = Scene::new(|plan| {
        let comment =
            json!({ "path": "src/pay.sh", "match": "for item in", "body": "[P2] Quote the list of items, please." });
        plan.script =
            vec![json!({ "after_push": 0, "actions": [{ "review": { "user": "ann", "comments": [comment] } }] })];
    });
    let p2 = id(&scene, "Quote the list");
    let args = ["resolve", p2.as_str(), "argue", "--reason", REASON];
    let out = scene.run(&[&args[..], &["--json"]].concat());
    out.ends(14, &[]);
    assert_eq!(state(&out), "draft", "{}", out.all());
    assert_eq!(scene.forge.requests("POST", "*/replies"), 0);
    scene.changes_nothing(&args).ends(14, &["draft"]);
    let next = scene.run(&["next", "--json"]).json();
    assert_eq!((&next["action"], &next["commands"]["triage"]), (&json!("ask_person"), &json!("pushback triage")));
    scene.run(&["resolve", &p2, "stale"]).ends(14, &["waits for a person", "pushback triage"]);
}

#[test]
fn a_run_that_holds_the_pull_request_keeps_resolve_out() {
    let scene = Scene::new(|plan| {
        story_of(plan);
        plan.editor = json!({ "otherwise": { "run": ["sleep 30"] } });
    });
    let p2 = id(&scene, "Quote the list");
    let holder = scene.start(&["run", "--wait", "20s"]);
    let deadline = Instant::now() + Duration::from_secs(20);
    while scene.editor_rounds() == 0 {
        assert!(Instant::now() < deadline, "the run did not come to its editor");
        std::thread::sleep(Duration::from_millis(10));
    }
    scene.run(&["resolve", &p2, "argue", "--reason", REASON]).ends(75, &["another run holds"]);
    holder.signal("TERM");
    holder.end();
}

/// Kills `resolve` when the n-th such request was carried out and not answered, and gives the same answer again.
#[test]
fn r23_killed_after_a_write_the_same_answer_completes_and_posts_nothing_twice() {
    for (method, path) in [("POST", "*/replies"), ("PATCH", "*/pulls/7")] {
        let scene = Scene::new(story_of);
        let p2 = id(&scene, "Quote the list");
        let args = ["resolve", p2.as_str(), "argue", "--reason", REASON];
        scene.forge.fault(Fault::new(method, path, What::Delay { ms: 60_000, after_effect: true }).nth(1));
        let running = scene.start(&args);
        let deadline = Instant::now() + Duration::from_secs(40);
        while !scene.forge.log().iter().any(|asked| asked.faults.iter().any(|name| name == "delay")) {
            assert!(Instant::now() < deadline, "{method} {path} did not come");
            std::thread::sleep(Duration::from_millis(3));
        }
        running.signal("KILL");
        running.end();
        scene.forge.heal();
        assert_eq!(scene.statuses()["Quote the list of items."], "P2 open", "{method}");
        scene.run(&args).ends(0, &["settled"]);
        assert_eq!(scene.forge.requests("POST", "*/replies"), 1, "{method} {path}");
        scene.is_sound();
        scene.changes_nothing(&args).ends(0, &[]);
    }
}

#[test]
fn r23_a_write_that_fails_is_remembered_and_made_up_for() {
    let scene = Scene::new(story_of);
    let p2 = id(&scene, "Quote the list");
    let args = ["resolve", p2.as_str(), "argue", "--reason", REASON, "--json"];
    scene.forge.fault(Fault::new("POST", "*/replies", What::Reset { bytes: 0, before_effect: true }).times(99));
    let out = scene.run(&args);
    assert_ne!(state(&out), "settled", "{}", out.all());
    scene.forge.heal();
    let out = scene.run(&args);
    out.ends(0, &[]);
    assert_eq!(state(&out), "settled", "{}", out.all());
    scene.is_sound();
}

#[test]
fn nothing_is_answered_on_a_pull_request_that_has_ended() {
    let scene = Scene::new(story_of);
    let p2 = id(&scene, "Quote the list");
    scene.forge.act(json!({ "pull": { "merged_by": "ann" } }));
    let args = ["resolve", "--pr", "7", &p2, "argue", "--reason", REASON];
    scene.run(&args).ends(2, &["is merged", "nothing left to answer"]);
    assert_eq!(scene.writes(), Vec::<String>::new());
}

#[test]
fn the_json_of_an_answer_has_every_key() {
    let scene = Scene::new(story_of);
    let p2 = id(&scene, "Quote the list");
    let answer: Value = scene.run(&["resolve", &p2, "argue", "--reason", REASON, "--json"]).json();
    for key in ["schema_version", "command", "exit", "pr", "next", "retry_after_s", "error", "answers", "findings"] {
        assert!(answer.get(key).is_some(), "no `{key}` in {answer:#}");
    }
    for key in ["id", "decision", "state", "status", "why"] {
        assert!(answer["answers"][0].get(key).is_some(), "no `{key}` in {answer:#}");
    }
    assert_eq!((&answer["command"], &answer["next"]), (&json!("resolve"), &json!("pushback next")));
}

#[test]
fn r15_a_follow_up_is_written_for_the_agent_to_commit_and_linked_once_it_is_pushed() {
    let scene = Scene::new(story_of);
    let p2 = id(&scene, "Quote the list");
    let args = ["resolve", &p2, "defer", "--reason", REASON, "--plan-title", "Quote lists", "--step", "Write a test"];
    let dry = scene.run(&[&args[..], &["--dry-run"]].concat());
    dry.ends(
        0,
        &["would be taken", "== would write wiki/plans/", "== would defer", "/blob/COMMIT/wiki/plans/", REASON],
    );
    let drafted = scene.run(&[&args[..], &["--dry-run", "--json"]].concat()).json();
    assert_eq!(scene.git(&["status", "--porcelain"]), "", "a dry run writes no plan");
    let out = scene.run(&[&args[..], &["--json"]].concat());
    out.ends(0, &[]);
    assert_eq!(state(&out), "claimed", "{}", out.all());
    let file = scene.summary()["comments"][&p2]["pending"]["file"].as_str().unwrap_or_default().to_owned();
    assert!(file.starts_with("wiki/plans/") && scene.read(&file).contains("Quote lists"), "{file}");
    assert_eq!(drafted["plans"][0]["path"], json!(file), "{drafted:#}");
    assert_eq!(drafted["plans"][0]["text"], json!(scene.read(&file)), "the exact text of the dry run was written");
    let planned = drafted["planned"].as_array().cloned().unwrap_or_default();
    let reply = planned.iter().find(|write| write["kind"] == "defer").and_then(|write| write["body"].as_str());
    let reply = reply.expect("a planned reply").to_owned();
    assert_eq!(scene.forge.requests("POST", "*/replies"), 0, "no link to a file that is not there");
    scene.changes_nothing(&args).ends(0, &["under way already"]);
    scene.write("src/pay.sh", &PAY.replace("rate=0", "rate=1"));
    scene.git(&["commit", "-qam", "A rate"]);
    let p1 = id(&scene, "Multiply");
    scene.run(&["resolve", &p1, "fix"]).ends(0, &["claimed"]);
    let next = scene.run(&["next", "--json"]).json();
    assert_eq!(next["action"], json!("push"), "{next:#}");
    assert!(next["commands"]["commit"].as_str().is_some_and(|line| line.contains(&file)), "{next:#}");
    scene.git(&["add", &file]);
    scene.git(&["commit", "-qm", "Plan a follow-up"]);
    scene.git(&["push", "-q"]);
    // What is still to be posted is said, with the command that posts it.
    let next = scene.run(&["next", "--json"]).json();
    let post = next["commands"]["post"].as_str().unwrap_or_default();
    assert!(post.contains(&format!("resolve {p2} defer")) && post.contains("--plan-title 'Quote lists'"), "{next:#}");
    let out = scene.run(&[&args[..], &["--json"]].concat());
    out.ends(0, &[]);
    assert_eq!(state(&out), "settled", "{}", out.all());
    assert_eq!(scene.statuses()["Quote the list of items."], "P2 deferred");
    let posted = scene.forge.pull()["comments"].as_array().cloned().unwrap_or_default();
    let (before, after) = reply.split_once("COMMIT").expect("a commit to come");
    let after = after.split(" head=").next().unwrap_or_default();
    let head = scene.remote_head();
    let exact = format!("{before}{head}{after} head={head} -->");
    assert!(posted.iter().any(|c| c["body"] == json!(exact)), "not {exact:?} in {posted:#?}");
    scene.is_sound();
}

const OTHER: &str =
    "Splitting `$items` on words is the purpose here: src/pay.sh is handed a list of codes by its only caller.";

#[test]
fn r25_another_reason_takes_the_place_of_one_that_was_not_sent_and_never_of_one_that_was() {
    let scene = Scene::new(story_of);
    let p2 = id(&scene, "Quote the list");
    let argue = |reason: &str| scene.run(&["resolve", &p2, "argue", "--reason", reason]);
    scene.forge.fault(Fault::new("POST", "*/replies", What::Reset { bytes: 0, before_effect: true }).times(99));
    argue(REASON);
    assert_eq!(scene.summary()["comments"][&p2]["pending"]["reason"], json!(REASON));
    argue(OTHER);
    assert_eq!(scene.summary()["comments"][&p2]["pending"]["reason"], json!(OTHER), "the first one had not left");
    scene.forge.heal();
    argue(OTHER).ends(0, &["settled"]);
    let pull = scene.forge.pull();
    assert!(!pull["comments"].to_string().contains("fixed list of product codes"), "{pull:#}");
    assert!(pull["comments"].to_string().contains("handed a list of codes"), "{pull:#}");
    let state = scene.summary_bytes();
    let again = scene.changes_nothing(&["resolve", &p2, "argue", "--reason", REASON]);
    again.ends(2, &["it is argued already, with another reason", "in its thread"]);
    assert_eq!(scene.summary_bytes(), state);
    scene.changes_nothing(&["resolve", &p2, "argue", "--reason", OTHER]).ends(0, &["it is argued already"]);
    scene.changes_nothing(&["resolve", &p2, "stale"]).ends(2, &["it is argued already"]);
    scene.is_sound();
}

#[test]
fn r25_a_text_that_has_left_is_not_followed_by_another_one() {
    let scene = Scene::new(story_of);
    let p2 = id(&scene, "Quote the list");
    // The reply is out, the description could not be written: it is argued in one place only.
    scene.forge.fault(Fault::new("PATCH", "*/pulls/7", What::Reset { bytes: 0, before_effect: true }).times(99));
    scene.run(&["resolve", &p2, "argue", "--reason", REASON]);
    assert_eq!(scene.forge.requests("POST", "*/replies"), 1);
    scene.forge.heal();
    let out = scene.changes_nothing(&["resolve", &p2, "argue", "--reason", OTHER]);
    out.ends(2, &["posted already, with another reason"]);
    scene.run(&["resolve", &p2, "argue", "--reason", REASON]).ends(0, &["settled"]);
    assert_eq!(scene.forge.requests("POST", "*/replies"), 1);
    scene.is_sound();
}

#[test]
fn r8_a_better_draft_for_a_person_takes_the_place_of_the_first() {
    let scene = Scene::new(|plan| {
        let body = "[P2] Quote the list of items, please.";
        let comment = json!({ "path": "src/pay.sh", "match": "for item in", "body": body });
        let review = json!({ "review": { "user": "ann", "comments": [comment] } });
        plan.script = vec![json!({ "after_push": 0, "actions": [review] })];
    });
    let p2 = id(&scene, "Quote the list");
    scene.run(&["resolve", &p2, "argue", "--reason", REASON]).ends(14, &["draft"]);
    scene.run(&["resolve", &p2, "argue", "--reason", OTHER]).ends(14, &["draft"]);
    assert_eq!(scene.summary()["comments"][&p2]["pending"]["reason"], json!(OTHER));
    assert_eq!(scene.forge.requests("POST", "*/replies"), 0);
}

#[test]
fn r15_another_plan_is_not_written_beside_the_first_and_a_deleted_one_is_written_anew() {
    let scene = Scene::new(story_of);
    let p2 = id(&scene, "Quote the list");
    let defer = |title: &str| {
        scene.run(&["resolve", &p2, "defer", "--reason", REASON, "--plan-title", title, "--step", "Write a test"])
    };
    defer("Quote lists").ends(0, &["claimed"]);
    let file =
        |scene: &Scene| scene.summary()["comments"][&p2]["pending"]["file"].as_str().unwrap_or_default().to_owned();
    let first = file(&scene);
    defer("Quote every list").ends(2, &[&first, "edit that file, or delete it"]);
    assert_eq!(file(&scene), first);
    std::fs::remove_file(scene.work.join(&first)).expect("a file");
    defer("Quote every list").ends(0, &["claimed"]);
    assert!(scene.read(&file(&scene)).contains("Quote every list"), "{}", file(&scene));
    assert!(file(&scene) != first && scene.read(&first).is_empty());
}
