//! Every JSON object that the program prints or writes for others is what `docs/schema/` says, with no field left out.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::scene::says::*;
use crate::scene::{Plan, Scene};

/// Reads a schema and closes it: here a field that is not documented is a failure. Outside, fields may be added.
fn schema(name: &str) -> Value {
    let path = format!("{}/docs/schema/{name}.schema.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut schema: Value = serde_json::from_str(&text).expect("JSON");
    let open = schema.get("$comment").is_some();
    let close = |object: &mut Value| {
        if object.get("properties").is_some() && object.get("additionalProperties").is_none() {
            object["additionalProperties"] = json!(false);
        }
    };
    if !open {
        close(&mut schema);
    }
    for def in schema["$defs"].as_object_mut().into_iter().flatten() {
        close(def.1);
    }
    schema
}

#[track_caller]
fn fits(name: &str, value: &Value) {
    let validator = jsonschema::validator_for(&schema(name)).expect("a schema");
    let wrong: Vec<String> =
        validator.iter_errors(value).map(|error| format!("{} at {}", error, error.instance_path())).collect();
    let hint = "a field that is new goes into tests/regen/schemas.rs; then scripts/regen";
    assert!(wrong.is_empty(), "{name}: {wrong:#?}\n{hint}\n{value:#}");
}

fn story_of(plan: &mut Plan) {
    plan.script = story();
    plan.editor = settles();
}

#[test]
fn every_answer_fits_its_schema() {
    let scene = Scene::new(story_of);
    let calls: [(&str, &[&str]); 9] = [
        ("hook", &["hook", "status"]),
        ("status", &["status"]),
        ("run", &["run", "--dry-run"]),
        ("gate", &["gate"]),
        ("gate", &["gate", "--publish", "--dry-run"]),
        ("gate", &["gate", "--publish"]),
        ("config", &["config", "show", "--origin"]),
        ("doctor", &["doctor"]),
        ("init", &["init", "--dry-run", "--agent-skill"]),
    ];
    let ask = |args: &[&str]| scene.run(&[args, &["--json"]].concat()).json();
    for (name, args) in calls {
        fits(name, &ask(args));
    }
    fits("next", &ask(&["next"]));
    fits("next", &ask(&["next", "--max-age", "10m"]));
    let open = ask(&["status"])["findings"].as_array().cloned().unwrap_or_default();
    let p2 = open.iter().find(|finding| finding["severity"] == "P2").and_then(|f| f["id"].as_str()).expect("a P2");
    let answer = ["resolve", p2, "argue", "--reason", REASON];
    fits("resolve", &ask(&[&answer[..], &["--dry-run"]].concat()));
    let defer = ["resolve", p2, "defer", "--reason", REASON, "--plan-title", "Later", "--step", "One", "--dry-run"];
    let drafted = ask(&defer);
    fits("resolve", &drafted);
    assert_eq!(drafted["plans"].as_array().map(Vec::len), Some(1), "{drafted:#}");
    fits("resolve", &ask(&answer));
    fits("run", &ask(&["run", "--wait", "20s"]));
    fits("next", &ask(&["next"]));
    fits("status", &ask(&["status"]));
    let status = ask(&["status"]);
    let id = status["findings"][0]["id"].as_str().expect("a finding").to_owned();
    fits("show", &ask(&["show", &id]));
    fits("explain", &ask(&["explain", &id]));
    fits("trust", &ask(&["trust", "--yes"]));
    fits("summary", &scene.summary());
    let findings = scene.seen("findings-1.json").expect("the editor saw its findings");
    fits("findings", &serde_json::from_str(&findings).expect("JSON"));
    let decisions = scene.read(".pushback/decisions.json");
    fits("decisions", &serde_json::from_str(&decisions).expect("JSON"));
    let file = scene.root.join("comments.json");
    let comments = json!([{ "id": 5, "user": { "login": "codex" }, "path": "a.rs", "line": 3, "body": "[P1] boom" }]);
    std::fs::write(&file, comments.to_string()).expect("a file");
    let loose = ask(&["status", "--comments", file.as_str()]);
    fits("status", &loose);
    assert_eq!((&loose["findings"][0]["id"], &loose["counts"]["p1"]), (&json!("c5"), &json!(1)));
}

#[test]
fn what_was_mistyped_is_told_as_json_too() {
    let scene = Scene::new(story_of);
    for (args, command, words) in [
        (["statsu", "--json"].as_slice(), "pushback", "unrecognized subcommand"),
        (&["--json", "show"], "show", "<ID>"),
        (&["run", "--json", "--wait", "soon"], "run", "soon"),
        (&["resolve", "c1", "shrug", "--json"], "resolve", "shrug"),
    ] {
        let out = scene.run(args);
        assert_eq!(out.code, 2, "{}", out.all());
        let answer = out.json();
        fits("error", &answer);
        assert_eq!((&answer["command"], &answer["exit"]), (&json!(command), &json!(2)), "{answer:#}");
        assert_eq!(answer["error"]["kind"], json!("usage"));
        assert!(answer["error"]["message"].as_str().is_some_and(|text| text.contains(words)), "{answer:#}");
        assert!(!out.stderr.is_empty(), "a person is told too");
    }
    for args in [["--help", "--json"].as_slice(), &["--version", "--json"], &["show", "--", "--json", "x"]] {
        assert!(!scene.run(args).stdout.contains("schema_version"), "{args:?}");
    }
}

#[test]
fn every_failure_fits_its_schema() {
    let mut scene = Scene::new(story_of);
    for args in
        [["show", "c1"].as_slice(), &["status", "--pr", "99"], &["gate", "--pr", "x"], &["config", "show"], &["trust"]]
    {
        if args[0] == "config" {
            scene.env.insert("PUSHBACK_CONFIG".to_owned(), "/no/such.toml".to_owned());
        }
        let answer = scene.run(&[args, &["--json"]].concat()).json();
        fits("error", &answer);
        assert!(!answer["error"].is_null(), "{args:?}: {answer}");
    }
}

#[test]
fn classify_fits_its_schema() {
    let scene = Scene::new(|_| {});
    let file = scene.root.join("in.json");
    let comments = json!([
        { "id": 1, "user": { "login": "chatgpt-codex-connector[bot]", "type": "Bot" }, "body": "[P1] boom", "path": "a.rs", "line": 3 },
        { "id": "two", "login": "ann", "channel": "issue_comment", "body": "Thanks!" },
    ]);
    std::fs::write(&file, comments.to_string()).expect("a file");
    let mut command = scene.command(&["classify"]);
    command.stdin(std::fs::File::open(&file).expect("a file"));
    let output = command.output().expect("the program runs");
    let lines = String::from_utf8(output.stdout).expect("UTF-8");
    assert_eq!(lines.lines().count(), 2, "{lines}");
    for line in lines.lines() {
        fits("classify", &serde_json::from_str(line).expect("JSON"));
    }
}

#[test]
fn the_schemas_are_schemas_and_say_their_version() {
    let dir = format!("{}/docs/schema", env!("CARGO_MANIFEST_DIR"));
    let mut seen = BTreeMap::new();
    for entry in std::fs::read_dir(dir).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().replace(".schema.json", "");
        let schema = schema(&name);
        jsonschema::validator_for(&schema).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(schema["$id"], json!(format!("urn:pushback:schema:1:{name}")));
        seen.insert(name, schema);
    }
    let wanted =
        ["status", "run", "gate", "next", "show", "explain", "classify", "doctor", "summary", "findings", "decisions"];
    for name in wanted {
        assert!(seen.contains_key(name), "no schema of {name}");
    }
    let refused = jsonschema::validator_for(&seen["status"]).expect("a schema");
    assert!(!refused.is_valid(&json!({ "schema_version": 2 })), "the check can fail");
}
