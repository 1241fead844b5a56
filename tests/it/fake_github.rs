//! Tests of the fake GitHub itself: that it behaves as the notes on the real one say.
#![expect(clippy::unwrap_used, reason = "a failed set-up is a failed test")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use pretty_assertions::assert_eq;
use reqwest::blocking::{Client, RequestBuilder, Response};
use serde_json::{Value, json};

use crate::forge::faults::What;
use crate::forge::{Bulk, Fault, Forge};

/// A bare repository with `main` and `feature`, a working clone, and the fake on top.
struct World {
    forge: Forge,
    dir: tempfile::TempDir,
    client: Client,
}

fn git(dir: &Path, args: &[&str]) -> String {
    let out = Command::new("git")
        .current_dir(dir)
        .args(["-c", "user.name=t", "-c", "user.email=t@example.invalid", "-c", "init.defaultBranch=main"])
        .args(args)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap();
    assert!(out.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap().trim().to_owned()
}

fn lines(range: std::ops::RangeInclusive<u32>) -> String {
    range.map(|n| format!("line {n}\n")).collect()
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (bare, work) = (dir.path().join("bare.git"), dir.path().join("work"));
        std::fs::create_dir(&work).unwrap();
        git(dir.path(), &["init", "-q", "--bare", "bare.git"]);
        git(&work, &["init", "-q"]);
        git(&work, &["remote", "add", "origin", bare.to_str().unwrap()]);
        std::fs::write(work.join("old.txt"), lines(1..=60)).unwrap();
        std::fs::write(work.join(".pushback.toml"), "[limits]\nrounds = 2\n").unwrap();
        git(&work, &["add", "-A"]);
        git(&work, &["commit", "-qm", "base"]);
        git(&work, &["checkout", "-qb", "feature"]);
        std::fs::write(work.join("a.txt"), lines(1..=20)).unwrap();
        std::fs::write(work.join("old.txt"), lines(1..=60).replace("line 30\n", "line thirty\n")).unwrap();
        git(&work, &["add", "-A"]);
        git(&work, &["commit", "-qm", "feature"]);
        git(&work, &["push", "-q", "origin", "main", "feature"]);
        let forge = Forge::with(json!({
            "users": [
                {"login": "me", "tokens": [{"token": "t-me"}]},
                {"login": "other", "tokens": [{"token": "t-other"}]},
                {"login": "fine", "tokens": [{"token": "t-fine", "kind": "fine_grained", "permissions": {"pull_requests": "read"}}]},
                {"login": "app[bot]", "tokens": [{"token": "t-app", "kind": "installation"}]},
                {"login": "copilot-pull-request-reviewer[bot]", "inline_login": "Copilot", "type": "Bot"},
            ],
            "repos": [{
                "name": "o/r", "git": bare, "collaborators": {"me": "admin", "fine": "write"},
                "issues": [{"number": 3, "title": "An issue", "body": "Wanted", "author": "other"}],
                "pulls": [{"number": 7, "title": "Feature", "head": "feature", "author": "me", "closes": [3]}],
            }],
        }));
        let _ = rustls::crypto::ring::default_provider().install_default();
        let redirect = reqwest::redirect::Policy::none();
        let client = Client::builder().user_agent("test").redirect(redirect).timeout(Duration::from_secs(20)).build();
        Self { forge, dir, client: client.unwrap() }
    }

    fn work(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    fn head(&self) -> String {
        git(&self.work(), &["rev-parse", "HEAD"])
    }

    /// Changes a file, commits and pushes.
    fn push(&self, path: &str, text: &str) -> String {
        let work = self.work();
        std::fs::write(work.join(path), text).unwrap();
        git(&work, &["add", "-A"]);
        git(&work, &["commit", "-qm", "change"]);
        git(&work, &["push", "-q", "origin", "feature"]);
        self.head()
    }

    fn request(&self, method: &str, path: &str, token: &str) -> RequestBuilder {
        let url = if path.starts_with("http") { path.to_owned() } else { format!("{}{path}", self.forge.url()) };
        let request = self.client.request(method.parse().unwrap(), url).header("X-GitHub-Api-Version", "2026-03-10");
        if token.is_empty() { request } else { request.header("Authorization", format!("Bearer {token}")) }
    }

    fn get(&self, path: &str) -> Response {
        self.request("GET", path, "t-me").send().unwrap()
    }

    fn json(&self, path: &str) -> Value {
        let response = self.get(path);
        assert_eq!(response.status(), 200, "{path}");
        response.json().unwrap()
    }

    fn post(&self, path: &str, body: &Value) -> Response {
        self.request("POST", path, "t-me").json(body).send().unwrap()
    }

    /// Follows the next links and joins the pages.
    fn all(&self, path: &str) -> Vec<Value> {
        let (mut out, mut next) = (Vec::new(), Some(path.to_owned()));
        while let Some(url) = next {
            let response = self.get(&url);
            assert_eq!(response.status(), 200);
            next = next_link(&response);
            out.extend(response.json::<Vec<Value>>().unwrap());
        }
        out
    }

    fn graphql(&self, token: &str, query: &str, variables: &Value) -> Value {
        let body = json!({"query": query, "variables": variables});
        let response = self.request("POST", "/graphql", token).json(&body).send().unwrap();
        assert_eq!(response.status(), 200);
        response.json().unwrap()
    }

    fn clean(&self) {
        assert_eq!(self.forge.violations(), Vec::<String>::new());
        let notes = self.forge.state(|st| st.notes.clone());
        assert_eq!(notes, Vec::<String>::new());
    }
}

fn next_link(response: &Response) -> Option<String> {
    let link = response.headers().get("link")?.to_str().unwrap();
    let part = link.split(", ").find(|p| p.contains("rel=\"next\""))?;
    Some(part.split(['<', '>']).nth(1).unwrap().to_owned())
}

const INLINE: &str = "/repos/o/r/pulls/7/comments";

const THREADS: &str = "query Threads($owner: String!, $name: String!, $number: Int!, $after: String) {
    rateLimit { cost remaining resetAt }
    repository(owner: $owner, name: $name) { pullRequest(number: $number) {
        reviewThreads(first: 50, after: $after) {
            nodes { id isResolved isOutdated resolvedBy { login } viewerCanResolve
                comments(first: 50) {
                    nodes { fullDatabaseId isMinimized author { login __typename } }
                    pageInfo { hasNextPage endCursor } } }
            pageInfo { hasNextPage endCursor } } } } }";

fn pr() -> Value {
    json!({"owner": "o", "name": "r", "number": 7})
}

#[test]
fn pages_concatenate_to_the_list() {
    let world = World::new();
    let bulk = Bulk { user: "codex[bot]", path: "a.txt", body: "[P2] {{n}}" };
    world.forge.bulk(&bulk, [65, 0, 3, 41]);
    let check = |path: &str, cap: Option<usize>, want: usize, pages: usize| {
        world.forge.set(|s| s.page_cap = cap);
        world.forge.clear_log();
        let items = world.all(path);
        let mut ids: Vec<u64> = items.iter().map(|i| i["id"].as_u64().unwrap()).collect();
        assert!(ids.is_sorted(), "{path}");
        ids.dedup();
        assert_eq!((ids.len(), world.forge.log().len()), (want, pages), "{path}");
    };
    check(INLINE, None, 65, 3);
    check("/repos/o/r/pulls/7/comments?per_page=100", None, 65, 1);
    check("/repos/o/r/pulls/7/comments?per_page=100", Some(30), 65, 3);
    check("/api/v3/repos/o/r/issues/7/comments?per_page=20", None, 41, 3);
    check("/repos/o/r/pulls/7/reviews", None, 3, 1);
    let response = world.get(&format!("{INLINE}?per_page=10"));
    assert!(next_link(&response).unwrap().contains("/repositories/"), "targets are named by number");
    world.clean();
}

#[test]
fn sort_and_since_see_an_edit() {
    let world = World::new();
    world.forge.freeze_at("2026-01-01T00:00:00Z");
    let first =
        world.forge.act(json!({"inline": {"user": "codex[bot]", "path": "a.txt", "line": 3, "body": "one"}}))[0];
    world.forge.advance(Duration::from_secs(60));
    let second =
        world.forge.act(json!({"inline": {"user": "codex[bot]", "path": "a.txt", "line": 4, "body": "two"}}))[0];
    world.forge.advance(Duration::from_secs(60));
    world.forge.act(json!({"edit": {"of": first, "body": "one, edited"}}));
    let ids = |query: &str| -> Vec<u64> {
        world.all(&format!("{INLINE}?{query}")).iter().map(|c| c["id"].as_u64().unwrap()).collect()
    };
    assert_eq!(ids("sort=updated&direction=asc"), [second, first]);
    assert_eq!(ids("sort=created&direction=desc"), [second, first]);
    assert_eq!(ids("sort=updated&direction=asc&since=2026-01-01T00:02:00Z"), [first]);
    let date = world.get(INLINE).headers()["date"].to_str().unwrap().to_owned();
    assert_eq!(date, "Thu, 01 Jan 2026 00:02:00 GMT");
    world.clean();
}

#[test]
fn etag_is_equal_exactly_when_the_body_is() {
    let world = World::new();
    for (style, start) in [("weak", "W/\""), ("strong", "\"")] {
        world.forge.set(|s| s.etag = style.into());
        let tag = world.get(INLINE).headers()["etag"].to_str().unwrap().to_owned();
        assert!(tag.starts_with(start));
        let again = |tag: &str| world.request("GET", INLINE, "t-me").header("If-None-Match", tag).send().unwrap();
        let used = |r: &Response| r.headers()["x-ratelimit-used"].to_str().unwrap().parse::<u64>().unwrap();
        let same = again(&tag);
        let before = used(&same);
        assert_eq!((same.status().as_u16(), same.text().unwrap()), (304, String::new()));
        assert_eq!(used(&again(&tag)), before, "an unchanged answer costs nothing");
        world.forge.act(json!({"inline": {"user": "codex[bot]", "path": "a.txt", "line": 3, "body": style}}));
        let changed = again(&tag);
        assert_eq!(changed.status(), 200);
        assert_ne!(changed.headers()["etag"].to_str().unwrap(), tag);
    }
    world.clean();
}

#[test]
fn rest_and_graphql_agree() {
    let world = World::new();
    let bulk = Bulk { user: "codex[bot]", path: "a.txt", body: "{{n}}" };
    world.forge.bulk(&bulk, [120, 240, 0, 0]);
    world.forge.act(json!([
        {"inline": {"user": "copilot-pull-request-reviewer[bot]", "path": "a.txt", "line": 2, "body": "x", "key": "k"}},
        {"resolve": {"of": "k", "user": "other"}},
    ]));
    let mut by_thread = std::collections::BTreeMap::<String, Vec<String>>::new();
    let rest = world.all(&format!("{INLINE}?per_page=100"));
    for comment in &rest {
        let root = comment["in_reply_to_id"].as_u64().or(comment["id"].as_u64()).unwrap();
        by_thread.entry(format!("PRRT_{root}")).or_default().push(comment["id"].to_string());
    }
    assert_eq!(rest.last().unwrap()["user"]["login"], "Copilot");
    let (mut seen, mut after, mut last) = (std::collections::BTreeMap::new(), Value::Null, Value::Null);
    loop {
        let mut variables = pr();
        variables["after"] = after;
        let answer = world.graphql("t-me", THREADS, &variables);
        assert!(answer.get("errors").is_none(), "{answer}");
        let threads = &answer["data"]["repository"]["pullRequest"]["reviewThreads"];
        for thread in threads["nodes"].as_array().unwrap() {
            let ids = thread["comments"]["nodes"].as_array().unwrap().iter();
            let ids: Vec<String> = ids.map(|c| c["fullDatabaseId"].as_str().unwrap().to_owned()).collect();
            seen.insert(thread["id"].as_str().unwrap().to_owned(), ids);
            last = thread.clone();
        }
        if threads["pageInfo"]["hasNextPage"] == false {
            break;
        }
        after = threads["pageInfo"]["endCursor"].clone();
    }
    assert_eq!(seen, by_thread);
    assert_eq!(last["resolvedBy"]["login"], "other");
    let author = json!({"login": "copilot-pull-request-reviewer", "__typename": "Bot"});
    assert_eq!(last["comments"]["nodes"][0]["author"], author);
    world.clean();
}

#[test]
fn graphql_gives_what_was_selected_and_refuses_the_rest() {
    let world = World::new();
    let closing = "query C($owner: String!, $name: String!, $number: Int!) { viewer { login } repository(owner: $owner, name: $name) {
        pullRequest(number: $number) { closingIssuesReferences(first: 10) { nodes { number title body } } } } }";
    let answer = world.graphql("t-me", closing, &pr());
    let want = json!({"data": {"viewer": {"login": "me"}, "repository": {"pullRequest": {"closingIssuesReferences": {
        "nodes": [{"number": 3, "title": "An issue", "body": "Wanted"}]}}}}});
    assert_eq!(answer, want);
    world.clean();
    let check = |query: &str, message: &str| {
        let answer = world.graphql("t-me", query, &pr());
        assert!(answer["errors"][0]["message"].as_str().unwrap().contains(message), "{answer}");
        assert!(!world.forge.violations().is_empty());
        world.forge.state(|st| st.violations.clear());
    };
    check("query A { viewer { login shoeSize } }", "shoeSize");
    check(
        "query A($number: Int!) { repository(owner: \"o\", name: \"r\") { pullRequest(number: $number) { reviewThreads { nodes { id } } } } }",
        "first",
    );
    check("query A($owner: Int!) { viewer { login } }", "$owner");
    check(
        "query A { repository(owner: \"o\", name: \"r\") { pullRequest(number: 7) { reviewThreads(first: 1) {
        nodes { colour } } } } }",
        "colour",
    );
    check("query A { repository(owner: \"o\") { name } }", "required arguments");
    check("query A { viewer { ", "Parse error");
    check("query A { repository(owner: $owner, name: \"r\") { name } }", "$owner");
}

#[test]
fn required_flags_need_another_kind_of_token() {
    let world = World::new();
    world.forge.scene(json!({"repos": [{"name": "o/r", "rules": {"main": [{"type": "required_status_checks",
        "parameters": {"required_status_checks": [{"context": "build", "integration_id": 15368}]}}]}}]}));
    world
        .forge
        .act(json!([{"check_run": {"name": "build", "conclusion": "success"}}, {"check_run": {"name": "lint"}}]));
    let query = "query R($owner: String!, $name: String!, $number: Int!) { repository(owner: $owner, name: $name) {
        pullRequest(number: $number) { commits(last: 1) { nodes { commit { statusCheckRollup { state contexts(first: 100) {
            nodes { __typename ... on CheckRun { name isRequired(pullRequestNumber: $number) }
                ... on StatusContext { context isRequired(pullRequestNumber: $number) } } } } } } } } } }";
    let answer = world.graphql("t-me", query, &pr());
    let rollup = &answer["data"]["repository"]["pullRequest"]["commits"]["nodes"][0]["commit"]["statusCheckRollup"];
    let required: Vec<_> =
        rollup["contexts"]["nodes"].as_array().unwrap().iter().map(|n| (&n["name"], &n["isRequired"])).collect();
    assert_eq!(required, [(&json!("lint"), &json!(false)), (&json!("build"), &json!(true))]);
    let refused = world.graphql("t-fine", query, &pr());
    assert_eq!(refused["errors"][0]["type"], "FORBIDDEN");
    let rules = world.json("/repos/o/r/rules/branches/main");
    assert_eq!(rules[0]["parameters"]["required_status_checks"][0]["context"], "build");
    assert_eq!(world.get("/repos/o/r/branches/main/protection/required_status_checks").status(), 404);
    world.clean();
}

#[test]
fn a_reply_after_502_with_effect_is_there_once() {
    let world = World::new();
    let root = world.forge.act(json!({"inline": {"user": "codex[bot]", "path": "a.txt", "line": 3, "body": "x"}}))[0];
    let path = format!("/repos/o/r/pulls/7/comments/{root}/replies");
    let status = |after_effect| What::Status { code: 502, after_effect, body: None, headers: Default::default() };
    world.forge.fault(Fault::new("POST", "*/replies", status(true)));
    assert_eq!(world.post(&path, &json!({"body": "ours"})).status(), 502);
    let ours = || world.all(INLINE).iter().filter(|c| c["body"] == "ours").count();
    assert_eq!(ours(), 1);
    world.forge.fault(Fault::new("POST", "*/replies", status(false)));
    assert_eq!(world.post(&path, &json!({"body": "ours"})).status(), 502);
    assert_eq!(ours(), 1, "struck before the effect");
    assert_eq!(world.post(&path, &json!({"body": "ours"})).status(), 201);
    assert_eq!(ours(), 2);
    world.clean();
}

#[test]
fn a_caller_who_gives_up_may_have_been_heard() {
    let world = World::new();
    let talk = "/repos/o/r/issues/7/comments";
    let give_up = |after_effect: bool| {
        world.forge.heal();
        world.forge.fault(Fault::new("POST", talk, What::Delay { ms: 60_000, after_effect }));
        let request = world.request("POST", talk, "t-me").json(&json!({"body": "x"}));
        assert!(request.timeout(Duration::from_secs(1)).send().unwrap_err().is_timeout());
        world.all(talk).len()
    };
    assert_eq!((give_up(false), give_up(true)), (0, 1));
    world.clean();
}

#[test]
fn replies_go_to_the_top_comment_only() {
    let world = World::new();
    let root = world.forge.act(json!({"inline": {"user": "codex[bot]", "path": "a.txt", "line": 3, "body": "x"}}))[0];
    let reply: Value = world.post(&format!("{INLINE}/{root}/replies"), &json!({"body": "a"})).json().unwrap();
    assert_eq!(reply["in_reply_to_id"], root);
    let nested = world.post(&format!("{INLINE}/{}/replies", reply["id"]), &json!({"body": "b"}));
    assert_eq!(nested.status(), 404);
    let other = world.post(INLINE, &json!({"body": "c", "in_reply_to": root}));
    assert_eq!(other.status(), 201);
    let reviews = world.all("/repos/o/r/pulls/7/reviews");
    assert!(reviews.iter().all(|r| r["state"] == "COMMENTED" && r["body"] == ""), "each brought an empty review");
    assert_eq!(reviews.len(), 3);
    world.clean();
}

#[test]
fn comments_follow_their_lines_to_new_heads() {
    let world = World::new();
    let first = world.head();
    world.forge.act(json!([
        {"inline": {"user": "codex[bot]", "path": "a.txt", "line": 5, "body": "moves"}},
        {"inline": {"user": "codex[bot]", "path": "a.txt", "match": "line 10", "body": "goes"}},
        {"inline": {"user": "codex[bot]", "path": "a.txt", "line": 15, "start_line": 14, "body": "range"}},
        {"inline": {"user": "codex[bot]", "path": "a.txt", "file_level": true, "body": "file"}},
        {"inline": {"user": "codex[bot]", "path": "a.txt", "match": "line 999", "body": "never said"}},
    ]));
    let text = format!("new\n{}", lines(1..=20).replace("line 10\n", "line ten\n"));
    let second = world.push("a.txt", &text);
    let seen = |want: &[(&str, Value, &str, Value)]| {
        let found: Vec<_> = world.all(INLINE);
        let found: Vec<_> = found
            .iter()
            .map(|c| {
                (
                    c["body"].as_str().unwrap(),
                    c["line"].clone(),
                    c["commit_id"].as_str().unwrap(),
                    c["start_line"].clone(),
                )
            })
            .collect();
        assert_eq!(found, want);
    };
    let null = Value::Null;
    seen(&[
        ("moves", json!(6), &second, null.clone()),
        ("goes", null.clone(), &first, null.clone()),
        ("range", json!(16), &second, json!(15)),
        ("file", null.clone(), &second, null.clone()),
    ]);
    let threads = world.graphql("t-me", THREADS, &pr());
    let nodes = threads["data"]["repository"]["pullRequest"]["reviewThreads"]["nodes"].as_array().unwrap().clone();
    let outdated: Vec<_> = nodes.iter().map(|t| t["isOutdated"].as_bool().unwrap()).collect();
    assert_eq!(outdated, [false, true, false, false]);
    // Put back: the old line is there again, so the comment is too.
    let third = world.push("a.txt", &lines(1..=20));
    seen(&[
        ("moves", json!(5), &third, null.clone()),
        ("goes", json!(10), &third, null.clone()),
        ("range", json!(15), &third, json!(14)),
        ("file", null.clone(), &third, null.clone()),
    ]);
    world.clean();
}

#[test]
fn anchors_outside_the_diff_refuse_the_whole_review() {
    let world = World::new();
    let sha = world.head();
    let comment = |path: &str, line: u64| json!({"path": path, "line": line, "side": "RIGHT", "body": "x"});
    let review = |comments: Vec<Value>| {
        let body = json!({"commit_id": sha, "event": "COMMENT", "body": "b", "comments": comments});
        world.post("/repos/o/r/pulls/7/reviews", &body).status().as_u16()
    };
    assert_eq!(review(vec![comment("a.txt", 3), comment("old.txt", 2)]), 422);
    assert_eq!(review(vec![comment("none.txt", 3)]), 422);
    assert_eq!(world.all(INLINE).len(), 0);
    let mut range = comment("old.txt", 31);
    range["start_line"] = json!(2);
    assert_eq!(review(vec![range.clone()]), 422);
    range["start_line"] = json!(29);
    assert_eq!(review(vec![range, comment("a.txt", 3)]), 200);
    assert_eq!(world.all(INLINE).len(), 2);
    let own = json!({"commit_id": sha, "event": "APPROVE", "body": "b"});
    assert_eq!(world.post("/repos/o/r/pulls/7/reviews", &own).status(), 422);
    let empty = json!({"commit_id": sha, "event": "COMMENT", "body": ""});
    assert_eq!(world.post("/repos/o/r/pulls/7/reviews", &empty).status(), 422);
    let long = json!({"body": "x".repeat(65_537)});
    assert_eq!(world.post("/repos/o/r/issues/7/comments", &long).status(), 422);
    world.clean();
}

#[test]
fn tokens_get_the_codes_they_deserve() {
    let world = World::new();
    world
        .forge
        .scene(json!({"repos": [{"name": "o/hidden", "git": world.dir.path().join("bare.git"), "private": true}]}));
    let check = |method: &str, path: &str, token: &str, want: u16| {
        let mut request = world.request(method, path, token);
        if method == "POST" {
            request = request.json(&json!({"body": "x"}));
        }
        let response = request.send().unwrap();
        assert_eq!(response.status().as_u16(), want, "{method} {path} with {token:?}");
        response.headers().get("x-accepted-github-permissions").map(|v| v.to_str().unwrap().to_owned())
    };
    check("GET", "/user", "", 401);
    check("GET", "/user", "wrong", 401);
    check("GET", "/user", "t-app", 403);
    check("GET", "/user", "t-me", 200);
    check("GET", "/repos/o/hidden", "t-me", 404);
    check("GET", INLINE, "t-fine", 200);
    let asked = check("POST", "/repos/o/r/issues/7/comments", "t-fine", 403);
    assert_eq!(asked.unwrap(), "issues=write; pull_requests=write");
    let sha = world.head();
    check("GET", &format!("/repos/o/r/commits/{sha}/check-runs?filter=latest"), "t-fine", 403);
    check("GET", &format!("/repos/o/r/commits/{sha}/check-runs?filter=latest"), "t-me", 200);
    check("GET", "/repos/o/r/collaborators/other/permission", "t-other", 403);
    check("GET", "/repos/o/r/collaborators/other/permission", "t-me", 200);
    world.clean();
}

#[test]
fn a_reactive_reviewer_answers_real_pushes() {
    let world = World::new();
    world.forge.freeze_at("2026-01-01T00:00:00Z");
    world.forge.script(json!({"after_push": 1, "and_later": true, "delay_ms": 5000, "actions": [
        {"review": {"user": "codex[bot]", "body": "Reviewed commit: {{head10}}",
            "comments": [{"path": "a.txt", "match": "TODO", "body": "[P1] finish this"}],
            "when_clean": [{"issue_comment": {"user": "codex[bot]", "body": "No major issues in {{head7}}"}},
                {"reaction": {"user": "codex[bot]", "content": "+1"}}]}},
        {"check_run": {"name": "build", "conclusion": "success"}},
    ]}));
    world.forge.script(json!({"on_comment": "@codex review", "times": 1, "actions": [
        {"reaction": {"user": "codex[bot]", "to": "trigger", "content": "eyes"}}]}));
    let first = world.push("a.txt", "ok\nTODO\n");
    assert_eq!(world.json("/repos/o/r/pulls/7")["head"]["sha"], first);
    assert_eq!(world.all(INLINE).len(), 0, "not before its time");
    world.forge.advance(Duration::from_secs(5));
    let found = world.all(INLINE);
    assert_eq!((found.len(), &found[0]["line"], &found[0]["commit_id"]), (1, &json!(2), &json!(first)));
    let reviews = world.all("/repos/o/r/pulls/7/reviews");
    assert_eq!(reviews[0]["body"], format!("Reviewed commit: {}", &first[..10]));
    let second = world.push("a.txt", "ok\ndone\n");
    world.json("/repos/o/r/pulls/7");
    world.forge.advance(Duration::from_secs(5));
    assert_eq!(world.all(INLINE)[0]["line"], Value::Null);
    let talk = world.all("/repos/o/r/issues/7/comments");
    assert_eq!(talk[0]["body"], format!("No major issues in {}", &second[..7]));
    assert_eq!(world.all("/repos/o/r/issues/7/reactions").len(), 1);
    for text in ["@codex review", "please, @codex review"] {
        assert_eq!(world.post("/repos/o/r/issues/7/comments", &json!({"body": text})).status(), 201);
    }
    let eyes: Vec<_> =
        world.all("/repos/o/r/issues/7/comments").iter().map(|t| t["reactions"]["eyes"].clone()).collect();
    assert_eq!(eyes, [json!(0), json!(1), json!(0)]);
    let runs = world.json(&format!("/repos/o/r/commits/{second}/check-runs?filter=latest"));
    assert_eq!(runs["check_runs"][0]["conclusion"], "success");
    world.clean();
}

#[test]
fn a_review_can_show_before_its_comments() {
    let world = World::new();
    world.forge.freeze_at("2026-01-01T00:00:00Z");
    world.forge.scene(json!({"script": [
        {"after_push": 0, "actions": [{"review": {"user": "codex[bot]", "body": "2 findings", "key": "review"}}]},
        {"after_push": 0, "delay_ms": 9000, "actions": [
            {"inline": {"user": "codex[bot]", "path": "a.txt", "line": 2, "body": "late", "review": "review"}}]},
    ]}));
    let review = world.all("/repos/o/r/pulls/7/reviews")[0]["id"].clone();
    assert_eq!(world.all(INLINE).len(), 0);
    world.forge.advance(Duration::from_secs(9));
    assert_eq!(world.all(INLINE)[0]["pull_request_review_id"], review);
    let own = world.all(&format!("/repos/o/r/pulls/7/reviews/{review}/comments"));
    assert_eq!((own.len(), own[0].get("line")), (1, None), "this list has positions only");
    world.clean();
}

#[test]
fn a_fork_and_a_renamed_repository_are_found() {
    let world = World::new();
    let fork = world.dir.path().join("fork.git");
    git(world.dir.path(), &["clone", "-q", "--bare", "bare.git", "fork.git"]);
    git(&world.work(), &["checkout", "-qb", "patch", "main"]);
    std::fs::write(world.work().join("b.txt"), "b\n").unwrap();
    git(&world.work(), &["add", "-A"]);
    git(&world.work(), &["commit", "-qm", "patch"]);
    git(&world.work(), &["push", "-q", fork.to_str().unwrap(), "patch"]);
    world.forge.scene(json!({"repos": [{"name": "fan/r", "git": fork},
        {"name": "o/r", "renamed_from": ["o/before"], "pulls": [
            {"number": 8, "title": "Patch", "head": "patch", "head_repo": "fan/r", "author": "fan"}]}]}));
    let pull = world.json("/repos/o/r/pulls?head=fan:patch")[0].clone();
    assert_eq!((&pull["number"], &pull["head"]["repo"]["full_name"]), (&json!(8), &json!("fan/r")));
    assert_eq!(world.json("/repos/o/r/pulls/8/files")[0]["filename"], "b.txt");
    let sha = world.head();
    let body = json!({"body": "x", "commit_id": sha, "path": "b.txt", "line": 1, "side": "RIGHT"});
    assert_eq!(world.post("/repos/o/r/pulls/8/comments", &body).status(), 201);
    let moved = world.get("/repos/o/before/pulls/8");
    assert_eq!(moved.status(), 301);
    let target = moved.headers()["location"].to_str().unwrap().to_owned();
    assert_eq!(world.json(&target)["number"], 8);
    world.clean();
}

#[test]
fn every_kept_line_keeps_its_comment() {
    let world = World::new();
    for n in 1..=20 {
        world
            .forge
            .act(json!({"inline": {"user": "codex[bot]", "path": "a.txt", "line": n, "body": format!("line {n}")}}));
    }
    let kept = |n: u32| !matches!(n, 1 | 4 | 9..=11 | 20);
    let text: Vec<String> = (1..=20)
        .filter(|n| kept(*n))
        .flat_map(
            |n| if n % 3 == 0 { vec![format!("before {n}"), format!("line {n}")] } else { vec![format!("line {n}")] },
        )
        .collect();
    world.push("a.txt", &text.join("\n"));
    let comments = world.all(&format!("{INLINE}?per_page=100"));
    for (n, comment) in (1..=20).zip(&comments) {
        let there = comment["line"].as_u64().map(|l| text[l as usize - 1].clone());
        // The last line but one lost its newline: it was changed.
        assert_eq!(there, (kept(n) && n != 19).then(|| format!("line {n}")), "line {n}");
    }
    world.clean();
}

#[test]
fn the_diff_applies() {
    let world = World::new();
    world.push("a.txt", "no newline at the end");
    let diff = world.request("GET", "/repos/o/r/pulls/7", "t-me").header("Accept", "application/vnd.github.diff");
    let patch = world.dir.path().join("patch");
    std::fs::write(&patch, diff.send().unwrap().text().unwrap()).unwrap();
    git(&world.work(), &["checkout", "-q", "main"]);
    git(&world.work(), &["apply", "--index", patch.to_str().unwrap()]);
    assert_eq!(git(&world.work(), &["write-tree"]), git(&world.work(), &["rev-parse", "feature^{tree}"]));
    world.clean();
}

#[test]
fn closed_pulls_need_no_branch() {
    let world = World::new();
    world.forge.scene(json!({"repos": [{"name": "o/r", "pulls": [
        {"number": 5, "title": "Old", "head": "gone", "merged_by": "other", "actions": [
            {"review": {"user": "codex[bot]", "body": "fine", "commit": "none"}}]}]}]}));
    let all = world.json("/repos/o/r/pulls?state=all&sort=updated&direction=desc&per_page=10");
    assert_eq!(all.as_array().unwrap().len(), 2);
    assert_eq!(world.json("/repos/o/r/pulls?state=open").as_array().unwrap().len(), 1);
    let pull = world.json("/repos/o/r/pulls/5");
    assert_eq!((&pull["merged"], &pull["state"], &pull["mergeable"]), (&json!(true), &json!("closed"), &Value::Null));
    assert_eq!(world.json("/repos/o/r/pulls/5/reviews")[0]["commit_id"], Value::Null);
    world.clean();
}

#[test]
fn a_branch_that_must_be_up_to_date_is_behind() {
    let world = World::new();
    let state = || world.json("/repos/o/r/pulls/7")["mergeable_state"].clone();
    world.forge.act(json!({"git_commit": {"branch": "main", "files": {"c.txt": "c\n"}}}));
    assert_eq!(state(), "clean");
    world.forge.scene(json!({"repos": [{"name": "o/r", "protection": {"main": {"strict": true, "checks": [
        {"context": "never", "app_id": null}]}}}]}));
    assert_eq!(state(), "behind");
    let required = world.json("/repos/o/r/branches/main/protection/required_status_checks");
    assert_eq!((&required["strict"], &required["contexts"]), (&json!(true), &json!(["never"])));
    world.forge.act(json!({"git_commit": {"branch": "main", "files": {"a.txt": "conflict\n"}}}));
    let pull = world.json("/repos/o/r/pulls/7");
    assert_eq!((&pull["mergeable"], &pull["mergeable_state"]), (&json!(false), &json!("dirty")));
    world.forge.act(json!({"pull": {"mergeable_null": 2}}));
    let seen: Vec<_> = (0..3).map(|_| world.json("/repos/o/r/pulls/7")["mergeable"].clone()).collect();
    assert_eq!(json!(seen), json!([null, null, false]));
    world.clean();
}

#[test]
fn a_second_fake_tells_whether_a_token_strayed() {
    let world = World::new();
    let elsewhere = Forge::start();
    let next = format!("{}/repos/o/r/pulls/7/comments", elsewhere.url());
    world.forge.fault(Fault::new("GET", "*/comments", What::Link { next: next.clone() }));
    assert_eq!(next_link(&world.get(INLINE)).unwrap(), next);
    assert_eq!(world.get(&next).status(), 401);
    assert_eq!(elsewhere.log()[0].token.as_deref(), Some("t-me"), "this client is not careful");
    world.clean();
}

#[test]
fn bots_are_named_with_and_without_suffix() {
    let world = World::new();
    world.forge.act(json!({"inline": {"user": "codex[bot]", "path": "a.txt", "line": 2, "body": "x"}}));
    world.forge.scene(json!({"users": [{"login": "plain", "type": "Bot"}]}));
    world.forge.act(json!({"inline": {"user": "plain", "path": "a.txt", "line": 2, "body": "x"}}));
    world.forge.act(json!({"inline": {"user": "ghost", "path": "a.txt", "line": 2, "body": "x"}}));
    let rest: Vec<_> = world.all(INLINE).iter().map(|c| c["user"]["login"].clone()).collect();
    assert_eq!(json!(rest), json!(["codex[bot]", "plain", null]));
    let answer = world.graphql("t-me", THREADS, &pr());
    let threads = answer["data"]["repository"]["pullRequest"]["reviewThreads"]["nodes"].as_array().unwrap().clone();
    let authors: Vec<_> = threads.iter().map(|t| t["comments"]["nodes"][0]["author"].clone()).collect();
    let bot = |login: &str| json!({"login": login, "__typename": "Bot"});
    assert_eq!(json!(authors), json!([bot("codex"), bot("plain"), null]));
    assert_eq!(
        world.graphql("t-app", "query W { viewer { login } }", &json!({}))["data"]["viewer"]["login"],
        "app[bot]"
    );
    world.clean();
}

#[test]
fn a_lagging_head_shows_after_so_many_reads() {
    let world = World::new();
    let old = world.head();
    world.forge.act(json!({"pull": {"head_lag": 2}}));
    let new = world.push("a.txt", "short\n");
    let shown: Vec<_> = (0..4).map(|_| world.json("/repos/o/r/pulls/7")["head"]["sha"].clone()).collect();
    assert_eq!(json!(shown), json!([old, old, new, new]));
    world.clean();
}

#[test]
fn a_person_can_push_between_read_and_write() {
    let world = World::new();
    let actions =
        serde_json::from_value(json!([{"git_commit": {"files": {"a.txt": "by hand\n"}, "user": "other"}}])).unwrap();
    world.forge.fault(Fault::new("GET", "*/reviews", What::Act { actions, after: true, repo: None, pull: None }));
    let before = world.json("/repos/o/r/pulls/7")["head"]["sha"].clone();
    world.json("/repos/o/r/pulls/7/reviews");
    let after = world.json("/repos/o/r/pulls/7")["head"]["sha"].clone();
    assert_ne!(before, after);
    world.clean();
}

#[test]
fn faults_strike_the_request_they_name() {
    let world = World::new();
    let bulk = Bulk { user: "codex[bot]", path: "a.txt", body: "{{n}}" };
    world.forge.bulk(&bulk, [40, 0, 0, 0]);
    let strike = |what: What| {
        world.forge.heal();
        world.forge.fault(Fault::new("GET", "*/comments", what));
        world.get(INLINE)
    };
    let ids = |r: Response| -> Vec<u64> {
        r.json::<Vec<Value>>().unwrap().iter().map(|c| c["id"].as_u64().unwrap()).collect()
    };
    let plain = ids(world.get(INLINE));
    assert!(strike(What::Reset { bytes: 40, before_effect: false }).text().is_err(), "cut in the middle");
    let cut = strike(What::Truncate { keep: 0.5 }).text().unwrap();
    assert!(serde_json::from_str::<Value>(&cut).is_err() && cut.len() > 100);
    assert!(strike(What::Html {}).text().unwrap().contains("<html>"));
    let empty = strike(What::Empty {});
    assert_eq!((empty.status().as_u16(), empty.text().unwrap()), (200, String::new()));
    let limited = strike(What::Secondary { retry_after: Some(7), code: None });
    assert_eq!((limited.status().as_u16(), &limited.headers()["retry-after"]), (403, &"7".parse().unwrap()));
    assert_eq!(strike(What::Secondary { retry_after: None, code: Some(429) }).status(), 429);
    assert_eq!(strike(What::Unauthorized {}).status(), 401);
    let mut reversed = plain.clone();
    reversed.reverse();
    assert_eq!(ids(strike(What::Items { op: "reverse".into() })), reversed);
    assert_eq!(ids(strike(What::HideNewest { items: 4 })), plain[..26]);
    let link = |r: &Response| next_link(r).unwrap();
    assert!(link(&strike(What::Link { next: "same".into() })).ends_with(INLINE));
    assert!(link(&strike(What::Link { next: "endless".into() })).ends_with("page=2"));
    let moved = strike(What::Redirect { code: 301, location: "http://elsewhere.invalid/".into() });
    assert_eq!(
        (moved.status().as_u16(), &moved.headers()["location"]),
        (301, &"http://elsewhere.invalid/".parse().unwrap())
    );
    let at = [("/0/line".to_owned(), json!("none"))].into();
    assert_eq!(strike(What::Set { at }).json::<Value>().unwrap()[0]["line"], "none");
    world.get(INLINE);
    world.forge.act(json!({"inline": {"user": "codex[bot]", "path": "a.txt", "line": 1, "body": "new"}}));
    let all = format!("{INLINE}?per_page=100");
    world.forge.heal();
    assert_eq!(world.all(&all).len(), 41);
    world.forge.act(json!({"inline": {"user": "codex[bot]", "path": "a.txt", "line": 1, "body": "newer"}}));
    world.forge.fault(Fault::new("GET", "*/comments", What::Stale {}).times(2));
    let lengths: Vec<_> = (0..3).map(|_| world.all(&all).len()).collect();
    assert_eq!(lengths, [41, 41, 42]);
    world.clean();
}

#[test]
fn a_spoiled_list_has_an_etag_of_its_own() {
    let world = World::new();
    let bulk = Bulk { user: "codex[bot]", path: "a.txt", body: "{{n}}" };
    world.forge.bulk(&bulk, [3, 0, 0, 0]);
    world.forge.fault(Fault::new("GET", "*/comments", What::Items { op: "drop_last".into() }));
    let spoiled = world.get(INLINE).headers()["etag"].clone();
    let again = world.request("GET", INLINE, "t-me").header("If-None-Match", spoiled).send().unwrap();
    assert_eq!((again.status().as_u16(), again.json::<Vec<Value>>().unwrap().len()), (200, 3));
    world.clean();
}

#[test]
fn a_thread_outlives_its_top_comment() {
    let world = World::new();
    world.forge.act(json!([
        {"inline": {"user": "codex[bot]", "path": "a.txt", "line": 3, "body": "x", "key": "top"}},
        {"reply": {"user": "other", "to": "top", "body": "y"}},
        {"delete": {"of": "top"}},
    ]));
    let answer = world.graphql("t-me", THREADS, &pr());
    let threads = &answer["data"]["repository"]["pullRequest"]["reviewThreads"]["nodes"];
    assert_eq!(threads.as_array().unwrap().len(), 1);
    assert_eq!(threads[0]["comments"]["nodes"][0]["author"]["login"], "other");
    world.clean();
}

#[test]
fn the_log_knows_how_many_came_at_once() {
    let world = World::new();
    world.forge.set(|s| s.latency_ms = 800);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| world.json("/user"));
        }
    });
    let most = world.forge.log().iter().map(|l| l.in_flight).max();
    assert_eq!(most, Some(3));
    world.forge.clear_log();
    world.json("/user");
    assert_eq!(world.forge.log()[0].in_flight, 1);
    world.clean();
}

#[test]
fn bodies_out_of_measure_are_real() {
    let world = World::new();
    let strike = |what: What| {
        world.forge.heal();
        world.forge.fault(Fault::new("GET", "/user", what));
        world.get("/user").text()
    };
    assert_eq!(strike(What::GzipBomb { mib: 3 }).unwrap().len(), 3 << 20);
    assert!(strike(What::BadGzip {}).is_err());
    assert!(strike(What::Huge { bytes: 2 << 20 }).unwrap().len() > 2 << 20);
    assert!(strike(What::Trickle { bytes: 50, every_ms: 1 }).unwrap().contains("\"login\":\"me\""));
    world.clean();
}

#[test]
fn an_empty_quota_refuses_and_resets() {
    let world = World::new();
    world.forge.freeze_at("2026-01-01T00:00:00Z");
    world.forge.state(|st| st.set_quota("me", "core", 1, 60));
    assert_eq!(world.get("/user").headers()["x-ratelimit-remaining"], "0");
    assert_eq!(world.get("/user").status(), 403);
    assert_eq!(world.json("/rate_limit")["resources"]["core"]["remaining"], 0);
    world.forge.advance(Duration::from_secs(61));
    assert_eq!(world.get("/user").status(), 200);
    world.clean();
}

#[test]
fn writes_of_the_program_leave_their_mark() {
    let world = World::new();
    let sha = world.head();
    let root = world.forge.act(json!({"inline": {"user": "codex[bot]", "path": "a.txt", "line": 3, "body": "x"}}))[0];
    let react = |content: &str| {
        world
            .post(&format!("/repos/o/r/pulls/comments/{root}/reactions"), &json!({"content": content}))
            .status()
            .as_u16()
    };
    assert_eq!((react("+1"), react("+1"), react("bad")), (201, 200, 422));
    let patched = world.request("PATCH", "/repos/o/r/pulls/7", "t-me").json(&json!({"body": "text"})).send().unwrap();
    assert_eq!(patched.json::<Value>().unwrap()["body"], "text");
    let status = json!({"state": "success", "context": "pushback/gate", "description": "ready"});
    let combined = || world.json(&format!("/repos/o/r/commits/{sha}/status"));
    assert_eq!((&combined()["state"], &combined()["total_count"]), (&json!("pending"), &json!(0)));
    assert_eq!(world.post(&format!("/repos/o/r/statuses/{sha}"), &status).status(), 201);
    assert_eq!(combined()["state"], "success");
    let mutation =
        "mutation Resolve($id: ID!) { resolveReviewThread(input: {threadId: $id}) { thread { id isResolved } } }";
    let id = json!({"id": format!("PRRT_{root}")});
    let refused = world.graphql("t-other", mutation, &id);
    assert_eq!((&refused["errors"][0]["type"], world.forge.open_threads()), (&json!("FORBIDDEN"), 1));
    let done = world.graphql("t-me", mutation, &id);
    assert_eq!(done["data"]["resolveReviewThread"]["thread"]["isResolved"], true);
    assert_eq!(world.forge.open_threads(), 0);
    let own: Value = world.post("/repos/o/r/issues/7/comments", &json!({"body": "mine"})).json().unwrap();
    let url = own["url"].as_str().unwrap();
    assert_eq!(world.request("DELETE", url, "t-other").send().unwrap().status(), 403);
    assert_eq!(world.request("DELETE", url, "t-me").send().unwrap().status(), 204);
    assert_eq!(world.get(url).status(), 404);
    world.clean();
}

#[test]
fn git_facts_come_from_the_repository() {
    let world = World::new();
    let sha = world.head();
    let pulls = world.json("/repos/o/r/pulls?head=o:feature&state=open");
    assert_eq!((pulls.as_array().unwrap().len(), &pulls[0]["head"]["sha"]), (1, &json!(sha)));
    assert_eq!(world.json("/repos/o/r/pulls?head=o:other&state=all"), json!([]));
    let pull = world.json("/repos/o/r/pulls/7");
    assert_eq!((&pull["mergeable"], &pull["commits"], &pull["changed_files"]), (&json!(true), &json!(1), &json!(2)));
    let files = world.json("/repos/o/r/pulls/7/files");
    assert!(files[1]["patch"].as_str().unwrap().contains("-line 30\n+line thirty"));
    assert_eq!(world.json("/repos/o/r/pulls/7/commits")[0]["sha"], sha);
    let compare = world.json("/repos/o/r/compare/main...feature");
    assert_eq!((&compare["status"], &compare["ahead_by"]), (&json!("ahead"), &json!(1)));
    let raw = world.request("GET", "/repos/o/r/contents/.pushback.toml?ref=main", "t-me");
    let raw = raw.header("Accept", "application/vnd.github.raw+json").send().unwrap();
    assert_eq!(raw.text().unwrap(), "[limits]\nrounds = 2\n");
    assert_eq!(world.json("/repos/o/r/contents/.pushback.toml")["content"], "W2xpbWl0c10Kcm91bmRzID0gMgo=\n");
    assert_eq!(world.get("/repos/o/r/contents/none").status(), 404);
    world.clean();
}

#[test]
fn the_documented_scene_is_a_scene() {
    let text = include_str!("../../docs/fake-github.md");
    let blocks: Vec<&str> = text.split("```json\n").skip(1).map(|b| b.split("```").next().unwrap()).collect();
    assert_eq!(blocks.len(), 2);
    let world = World::new();
    let mut scene: Value = serde_json::from_str(blocks[0]).unwrap();
    scene["repos"][0]["name"] = json!("o/documented");
    scene["repos"][0]["git"] = json!(world.dir.path().join("bare.git"));
    scene["script"] = json!([serde_json::from_str::<Value>(blocks[1]).unwrap()]);
    world.forge.scene(scene);
    assert_eq!(world.json("/repos/o/documented/pulls/7")["title"], "Feature");
    // Every fault named there can be armed.
    let faults = text.split("**Faults**").nth(1).unwrap();
    let found = faults.split("`{\"").skip(1).map(|t| format!("{{\"{}", t.split('`').next().unwrap()));
    let found: Vec<String> = found.filter(|t| !t.contains('…') && !t.contains("method")).collect();
    assert!(found.len() > 15);
    for what in found {
        serde_json::from_str::<What>(&what).unwrap_or_else(|why| panic!("{what}: {why}"));
    }
}

#[test]
fn a_request_off_the_contract_is_a_violation() {
    let world = World::new();
    let check = |text: &str, ask: &dyn Fn()| {
        ask();
        let found = world.forge.violations();
        assert!(found.iter().any(|v| v.contains(text)), "{text}: {found:?}");
        world.forge.state(|st| st.violations.clear());
    };
    check("unknown path", &|| drop(world.get("/repos/o/r/nonsense")));
    check("unknown query parameter colour", &|| drop(world.get(&format!("{INLINE}?colour=red"))));
    check("without sort", &|| drop(world.get(&format!("{INLINE}?direction=asc"))));
    check("unknown body field text", &|| {
        drop(world.post("/repos/o/r/issues/7/comments", &json!({"body": "x", "text": 1})))
    });
    check("is no s", &|| drop(world.post("/repos/o/r/issues/7/comments", &json!({"body": 5}))));
}

#[test]
fn the_control_endpoints_reach_everything() {
    let world = World::new();
    let control = |method: &str, path: &str, body: Value| -> Value {
        let request = world.request(method, &format!("/_control/{path}"), "");
        let response = if body.is_null() { request } else { request.json(&body) }.send().unwrap();
        assert_eq!(response.status(), 200, "{path}");
        response.json().unwrap()
    };
    let made =
        control("POST", "actions", json!([{"issue_comment": {"user": "codex[bot]", "body": "hello", "key": "h"}}]));
    let state = control("GET", "state", Value::Null);
    assert_eq!(state["repos"][0]["pulls"][0]["issue_comments"][0]["id"], made["ids"][0]);
    assert_eq!(state["keys"]["h"], made["ids"][0]);
    control("POST", "faults", json!({"path": "/user", "do": {"unauthorized": {}}}));
    assert_eq!(world.get("/user").status(), 401);
    assert_eq!(world.get("/user").status(), 200);
    let log = control("GET", "log", Value::Null);
    assert_eq!((&log[0]["token"], &log[0]["faults"][0]), (&json!("t-me"), &json!("unauthorized")));
    control("POST", "bulk", json!({"comments": 10_000, "path": "a.txt"}));
    assert_eq!(world.json(&format!("{INLINE}?per_page=100&page=100")).as_array().unwrap().len(), 100);
    control("POST", "clock", json!({"freeze": true, "set": "2026-01-01T00:00:00Z", "advance_ms": 1000}));
    assert_eq!(control("GET", "clock", Value::Null)["now"], "2026-01-01T00:00:01Z");
    assert_eq!(control("GET", "violations", Value::Null), json!([]));
}
