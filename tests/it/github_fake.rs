//! The forge adapter against the shared fake GitHub: whole readings and writes, the end state, and the contract kept.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use camino::Utf8PathBuf;
use pretty_assertions::assert_eq;
use pushback::github::{Api, Bounds, Connection, Github, TokenSource, graphql_url, parse_base};
use pushback::ports::{Depth, Forge as _, ForgeError, Write, Written};
use pushback::process::clock::SystemClock;
use pushback::process::signals::Signals;
use pushback::review::comment::Channel;
use pushback::review::ids::{PrNumber, PrRef, RepoSlug};
use pushback::review::observation::{Observation, PrState, Reading};
use secrecy::SecretString;
use serde_json::{Value, json};

use crate::forge::faults::What;
use crate::forge::{Bulk, Fault, Forge};
use crate::github::TestClock;

fn git(dir: &Path, args: &[&str]) {
    let out = Command::new("git")
        .current_dir(dir)
        .args(["-c", "user.name=t", "-c", "user.email=t@example.invalid", "-c", "init.defaultBranch=main"])
        .args(args)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .expect("git");
    assert!(out.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&out.stderr));
}

/// A pull request with a P1 of a bot, a remark of a person, a check and a rule.
struct Scene {
    forge: Forge,
    dir: tempfile::TempDir,
    clock: Arc<TestClock>,
}

impl Scene {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let (bare, work) = (dir.path().join("bare.git"), dir.path().join("work"));
        std::fs::create_dir(&work).expect("a folder");
        git(dir.path(), &["init", "-q", "--bare", "bare.git"]);
        git(&work, &["init", "-q"]);
        git(&work, &["remote", "add", "origin", bare.to_str().expect("UTF-8")]);
        std::fs::write(work.join(".pushback.toml"), "[limits]\nrounds = 2\n").expect("a file");
        git(&work, &["add", "-A"]);
        git(&work, &["commit", "-qm", "base"]);
        git(&work, &["checkout", "-qb", "feature"]);
        let text: String = (1..=400).map(|n| format!("line {n}\n")).collect();
        std::fs::write(work.join("a.txt"), text).expect("a file");
        git(&work, &["add", "-A"]);
        git(&work, &["commit", "-qm", "feature"]);
        git(&work, &["push", "-q", "origin", "main", "feature"]);
        let checks = json!({"required_status_checks": [{"context": "build"}]});
        let forge = Forge::with(json!({
            "users": [
                {"login": "me", "tokens": [{"token": "t-me"}, {"token": "t-fine", "kind": "fine_grained"}]},
                {"login": "app[bot]", "tokens": [{"token": "t-app", "kind": "installation"}]},
            ],
            "repos": [{
                "name": "o/r", "git": bare, "collaborators": {"me": "admin", "ann": "write"}, "renamed_from": ["o/old"],
                "rules": {"main": [{"type": "required_status_checks", "parameters": checks}]},
                "protection": {"main": {"strict": true, "checks": [{"context": "lint", "app_id": null}]}},
                "issues": [{"number": 3, "title": "Wanted", "body": "a thing", "author": "ann"}],
                "pulls": [{"number": 7, "title": "Feature", "body": "words", "head": "feature", "author": "me", "closes": [3]}],
            }],
        }));
        forge.act(json!([
            {"review": {"user": "codex[bot]", "body": "hm", "comments": [
                {"path": "a.txt", "line": 3, "body": "[P1] breaks", "key": "one"}]}},
            {"issue_comment": {"user": "ann", "body": "@codex review", "key": "ask"}},
            {"reaction": {"user": "codex[bot]", "content": "eyes", "to": "ask"}},
            {"check_run": {"name": "build", "conclusion": "success"}},
            {"status": {"user": "ci[bot]", "context": "lint", "state": "pending"}},
        ]));
        Self { forge, dir, clock: TestClock::new() }
    }

    fn api(&self, token: &str) -> Arc<Api> {
        let api_base = parse_base(self.forge.url()).expect("a base");
        let graphql = graphql_url(&api_base);
        let cache_dir = Some(Utf8PathBuf::from_path_buf(self.dir.path().join("http")).expect("UTF-8"));
        let token = TokenSource::fixed(SecretString::from(token));
        let (max_wait, bounds, clock) = (Duration::from_secs(600), Bounds::default(), Arc::clone(&self.clock));
        Arc::new(
            Api::connect(Connection { api_base, graphql, token, cache_dir, max_wait, bounds, clock }).expect("an API"),
        )
    }

    fn at(&self, slug: &str, token: &str) -> Github {
        let slug = slug.parse().expect("a slug");
        let at = PrRef { host: "github.com".to_owned(), slug, number: PrNumber(7) };
        Github::new(self.api(token), at, Duration::from_secs(1))
    }

    fn github(&self) -> Github {
        self.at("o/r", "t-me")
    }

    fn forget(&self) {
        let _ = std::fs::remove_dir_all(self.dir.path().join("http"));
        self.forge.clear_log();
    }

    fn read(&self) -> Observation {
        self.github().observe(Depth::Full).expect("a reading")
    }

    fn kept(&self) {
        assert_eq!(self.forge.violations(), Vec::<String>::new());
    }
}

fn what(json: &Value) -> What {
    serde_json::from_value(json.clone()).expect("a fault")
}

fn ids(observation: &Observation, channel: Channel) -> Vec<u64> {
    let mut ids: Vec<u64> = observation.comments.iter().filter(|c| c.channel == channel).map(|c| c.id).collect();
    ids.sort_unstable();
    ids
}

#[test]
fn fc_03_a_reading_agrees_with_what_stands_there() {
    let scene = Scene::new();
    let seen = scene.read();
    let there = scene.forge.pull();
    let all = |name: &str| {
        let list = there[name].as_array().expect("a list");
        let mut ids: Vec<u64> = list.iter().filter_map(|c| c["id"].as_u64()).collect();
        ids.sort_unstable();
        ids
    };
    assert_eq!(ids(&seen, Channel::Inline), all("comments"));
    assert_eq!(ids(&seen, Channel::Review), all("reviews"));
    assert_eq!(ids(&seen, Channel::Conversation), all("issue_comments"));
    assert_eq!((seen.threads.len(), seen.threads[0].may_resolve), (1, true));
    assert_eq!(seen.pr.head.as_str(), there["head"].as_str().expect("a head"));
    assert_eq!((seen.pr.state, seen.pr.default_branch.as_str()), (PrState::Open, "main"));
    let ask = ids(&seen, Channel::Conversation)[0];
    assert_eq!(seen.reactions.iter().map(|r| (r.content.as_str(), r.on)).collect::<Vec<_>>(), [("eyes", Some(ask))]);
    let rules = seen.rules.known().expect("rules");
    assert_eq!(rules.checks.iter().map(|c| c.name.as_str()).collect::<Vec<_>>(), ["build", "lint"]);
    assert!(rules.up_to_date);
    assert_eq!(seen.checks.known().expect("checks").len(), 2);
    let bots = seen.recent_bots.known().expect("bots");
    assert_eq!(bots.iter().map(|b| b.as_str()).collect::<Vec<_>>(), ["codex"]);
    scene.kept();
}

#[test]
fn fc_01_fc_02_long_lists_are_read_to_their_end() {
    let scene = Scene::new();
    scene.forge.set(|s| s.page_cap = Some(30));
    scene.forge.bulk(&Bulk { user: "codex[bot]", path: "a.txt", body: "[P2] {{n}}" }, [120, 10, 65, 65]);
    let seen = scene.read();
    let there = scene.forge.pull();
    assert_eq!(ids(&seen, Channel::Inline).len(), there["comments"].as_array().map_or(0, Vec::len));
    assert_eq!(ids(&seen, Channel::Review).len(), there["reviews"].as_array().map_or(0, Vec::len));
    assert_eq!(ids(&seen, Channel::Conversation).len(), there["issue_comments"].as_array().map_or(0, Vec::len));
    assert_eq!(seen.threads.len() as u64, scene.forge.open_threads());
    scene.kept();
}

/// Does the same for each kind of request of a cold reading and each fault.
fn each_request(faults: &[Value], times: usize, judge: impl Fn(&str, Result<Observation, ForgeError>, &Observation)) {
    let scene = Scene::new();
    let clean = scene.read();
    let requests: BTreeSet<(String, String)> = scene.forge.log().into_iter().map(|l| (l.method, l.path)).collect();
    assert!(requests.len() >= 12, "{requests:?}");
    for (method, path) in requests {
        for fault in faults {
            scene.forget();
            scene.forge.fault(Fault::new(&method, &path, what(fault)).nth(1).times(times as _));
            let read = scene.github().observe(Depth::Full);
            scene.forge.heal();
            judge(&path, read.map(|seen| Observation { at: clean.at, ..seen }), &clean);
        }
    }
}

#[test]
fn fm_13_any_request_that_breaks_once_is_outlived() {
    each_request(&[json!({"reset": {"bytes": 3, "before_effect": false}})], 1, |path, read, clean| {
        assert_eq!(read.as_ref(), Ok(clean), "{path}");
    });
}

#[test]
fn fm_13_any_request_that_keeps_failing_fails_the_reading() {
    let faults = [json!({"truncate": {}}), json!({"html": {}}), json!({"empty": {}})];
    each_request(&faults, 0, |path, read, _| match read {
        // Only who wrote lately on other pull requests may stay unknown.
        Ok(seen) => {
            assert!(path == "/repos/o/r/pulls" && seen.recent_bots.known().is_none(), "{path}: taken for an answer")
        }
        Err(ForgeError::CouldNotRead { request, .. }) => assert!(request.contains(path), "{path}: {request}"),
        Err(error) => panic!("{path}: {error}"),
    });
}

#[test]
fn an_error_that_never_ends_is_not_read_to_its_end() {
    let scene = Scene::new();
    let message = json!({ "message": "x".repeat(6_000) });
    let refused = What::Status { code: 404, after_effect: false, body: Some(message), headers: Default::default() };
    for what in [refused, What::Trickle { bytes: 1, every_ms: 20 }] {
        scene.forge.fault(Fault::new("GET", "*/contents/*", what));
    }
    let api_base = parse_base(scene.forge.url()).expect("a base");
    let (graphql, token) = (graphql_url(&api_base), TokenSource::fixed(SecretString::from("t-me")));
    let bounds = Bounds { whole: Duration::from_millis(300), ..Bounds::default() };
    let clock = Arc::new(SystemClock::new(Signals::default()));
    let connection =
        Connection { api_base, graphql, token, cache_dir: None, max_wait: Duration::from_secs(1), bounds, clock };
    let (asked, api) = (std::time::Instant::now(), Api::connect(connection).expect("an API"));
    // What it came to is not the question: two minutes are.
    let _ = api.contents(&"o/r".parse().expect("a slug"), "a.txt", None);
    assert!(scene.forge.requests("GET", "*/contents/*") > 0);
    assert!(asked.elapsed() < Duration::from_secs(40), "{:?}", asked.elapsed());
}

#[test]
fn the_pages_of_a_long_list_are_asked_for_together() {
    const LATENCY: u64 = 400;
    let scene = Scene::new();
    let bulk = Bulk { user: "codex[bot]", path: "a.txt", body: "[P2] {{n}}" };
    scene.forge.bulk(&bulk, [650, 0, 0, 0]);
    scene.forge.set(|s| s.latency_ms = LATENCY);
    scene.read();
    let log = scene.forge.log();
    let later = log.iter().filter(|read| read.path.ends_with("/pulls/7/comments") && read.query.contains("&page="));
    let pages: Vec<u64> = later.map(|read| read.arrived_ms).collect();
    assert!(pages.len() >= 6, "{} pages", pages.len());
    let (first, last) = (pages.iter().min().copied(), pages.iter().max().copied());
    // All were on their way before the first of them could have been answered.
    assert!(first.zip(last).is_some_and(|(first, last)| last - first < LATENCY), "{pages:?}");
    scene.kept();
}

#[test]
fn a_long_list_is_polled_by_its_newest_page() {
    let scene = Scene::new();
    let bulk = Bulk { user: "codex[bot]", path: "a.txt", body: "[P2] {{n}}" };
    scene.forge.bulk(&bulk, [950, 0, 0, 0]);
    let before = scene.read();
    let poll = || {
        scene.forge.clear_log();
        let seen = scene.github().observe(Depth::Warm).expect("a reading");
        (ids(&seen, Channel::Inline), scene.forge.requests("GET", "*/pulls/7/comments"))
    };
    assert_eq!(poll(), (ids(&before, Channel::Inline), 1));
    let made = scene.forge.act(json!({"reply": {"user": "ann", "body": "why?", "to": "one"}}));
    let (seen, requests) = poll();
    assert!(seen.contains(&made[0]) && requests == 1, "{requests} requests");
    assert_eq!(poll(), (seen, 1));
    // A deletion shows in the threads, and the list is read whole.
    scene.forge.act(json!([{"reply": {"user": "ann", "body": "more", "to": "one"}}, {"delete": {"of": made[0]}}]));
    assert!(!poll().0.contains(&made[0]));
    // So is it after a push, which moves comments without a trace in their times.
    scene.forge.act(json!({"git_commit": {"files": {"b.txt": "x\n"}, "message": "more", "user": "me"}}));
    let head = scene.forge.pull()["head"].as_str().map(str::to_owned);
    let seen = scene.github().observe(Depth::Warm).expect("a reading");
    let commits: BTreeSet<_> = seen.comments.iter().filter_map(|c| c.anchor.as_ref()?.commit.as_ref()).collect();
    assert_eq!(commits.iter().map(|c| Some(c.to_string())).collect::<Vec<_>>(), [head]);
    scene.kept();
}

#[test]
fn polls_see_what_changed_between_them() {
    let scene = Scene::new();
    let one = scene.read();
    scene.forge.clear_log();
    let same = scene.github().observe(Depth::Warm).expect("a reading");
    assert_eq!(Observation { at: one.at, ..same }, one);
    assert!(scene.forge.log().iter().all(|l| l.status == 304), "only conditions");
    let made = scene.forge.act(json!([
        {"reply": {"user": "ann", "body": "why?", "to": "one"}},
        {"edit": {"of": "one", "body": "[P2] hm"}},
        {"resolve": {"of": "one", "user": "ann"}},
    ]));
    let seen = scene.github().observe(Depth::Warm).expect("a reading");
    assert!(ids(&seen, Channel::Inline).contains(&made[0]));
    assert!(seen.comments.iter().any(|c| c.body == "[P2] hm"));
    assert_eq!(seen.threads[0].resolved_by.as_ref().map(|l| l.as_str()), Some("ann"));
    scene.forge.act(json!({"delete": {"of": made[0]}}));
    let seen = scene.github().observe(Depth::Warm).expect("a reading");
    assert!(!ids(&seen, Channel::Inline).contains(&made[0]));
    scene.forge.act(json!({"git_commit": {"files": {"b.txt": "x\n"}, "message": "more", "user": "me"}}));
    let seen = scene.github().observe(Depth::Warm).expect("a reading");
    assert_eq!(seen.pr.head.as_str(), scene.forge.pull()["head"].as_str().expect("a head"));
    assert_eq!(seen.checks.known().map(Vec::len), Some(0), "the new head has no checks");
    scene.kept();
}

#[test]
fn fm_24_a_push_while_reading_starts_the_reading_again() {
    let scene = Scene::new();
    let push = json!({"git_commit": {"files": {"b.txt": "x\n"}, "message": "more", "user": "me"}});
    let act = what(&json!({"act": {"actions": [push], "after": false}}));
    scene.forge.fault(Fault::new("GET", "*/check-runs", act).nth(1).times(1));
    let seen = scene.read();
    assert_eq!(seen.pr.head.as_str(), scene.forge.pull()["head"].as_str().expect("a head"));
    scene.kept();
}

#[test]
fn writes_take_effect_once_and_are_read_back() {
    let scene = Scene::new();
    let (github, seen) = (scene.github(), scene.read());
    let root = ids(&seen, Channel::Inline)[0];
    let done = |write: Write| match github.write(&write) {
        Written::Done(id) => id,
        other => panic!("{write:?}: {other:?}"),
    };
    let reply = done(Write::Reply { root, body: "no longer".to_owned() }).expect("an id");
    let comment = done(Write::Comment { body: "all".to_owned() }).expect("an id");
    done(Write::Describe { body: "new words".to_owned() });
    done(Write::Resolve { node_id: seen.threads[0].node_id.clone() });
    done(Write::React { id: root, content: "+1".to_owned() });
    let (state, context) = ("success".to_owned(), "pushback/gate".to_owned());
    done(Write::Status { sha: seen.pr.head.clone(), state, context, description: "ready".to_owned() });
    let after = scene.read();
    let found = after.comments.iter().find(|c| c.id == reply && c.channel == Channel::Inline).expect("the reply");
    assert_eq!(
        (found.in_reply_to, found.body.as_str(), after.is_ours(found.author.as_ref())),
        (Some(root), "no longer", true)
    );
    assert!(ids(&after, Channel::Conversation).contains(&comment));
    assert_eq!((after.pr.body.as_str(), github.description().expect("words").as_str()), ("new words", "new words"));
    assert!(after.threads[0].resolved);
    let names: Vec<_> = after.checks.known().expect("checks").iter().map(|c| c.name.as_str()).collect();
    assert!(names.contains(&"pushback/gate"), "{names:?}");
    done(Write::Delete { channel: Channel::Inline, id: reply });
    done(Write::Delete { channel: Channel::Conversation, id: comment });
    let again = Write::Delete { channel: Channel::Inline, id: reply };
    assert!(matches!(github.write(&again), Written::Gone(_)));
    assert_eq!(github.thread(&seen.threads[0].node_id).expect("a thread").map(|t| t.comments), Some(vec![root]));
    assert_eq!(github.thread("PRRT_0").expect("an answer"), None);
    scene.kept();
}

#[test]
fn fm_16_an_unclear_write_is_not_repeated() {
    for after_effect in [false, true] {
        let scene = Scene::new();
        let fault = Fault::new(
            "POST",
            "*/issues/7/comments",
            what(&json!({"status": {"code": 502, "after_effect": after_effect}})),
        );
        scene.forge.fault(fault.nth(1).times(1));
        let written = scene.github().write(&Write::Comment { body: "marked".to_owned() });
        assert!(matches!(written, Written::Unclear(_)), "{written:?}");
        assert_eq!(scene.forge.requests("POST", "*/issues/7/comments"), 1);
        let there = scene.read().comments.iter().filter(|c| c.body == "marked").count();
        assert_eq!(there, usize::from(after_effect));
    }
}

#[test]
fn tokens_of_every_kind_tell_what_they_see() {
    let scene = Scene::new();
    let fine = scene.at("o/r", "t-fine").observe(Depth::Full).expect("a reading");
    let Reading::Unknown(why) = fine.checks else { panic!("check runs are closed to fine-grained tokens") };
    assert!(why.contains("checks"), "{why}");
    let app = scene.at("o/r", "t-app").observe(Depth::Full).expect("a reading");
    assert_eq!(app.account.map(|a| a.login.to_string()).as_deref(), Some("app"));
    let error = scene.at("o/r", "t-nobody").observe(Depth::Full).expect_err("no reading");
    assert!(matches!(error, ForgeError::Permission { .. }), "{error}");
    scene.kept();
}

#[test]
fn a_renamed_repository_is_read_through_its_old_name() {
    let scene = Scene::new();
    let seen = scene.at("o/old", "t-me").observe(Depth::Full).expect("a reading");
    assert_eq!(ids(&seen, Channel::Inline), ids(&scene.read(), Channel::Inline));
    scene.kept();
}

#[test]
fn closing_issues_and_discovery() {
    let scene = Scene::new();
    let linked = scene.github().linked_issues().expect("issues");
    let found: Vec<_> = linked.iter().map(|i| (i.number, i.title.as_str(), i.body.as_str(), i.trusted)).collect();
    assert_eq!(found, [(3, "Wanted", "a thing", true)]);
    let (api, slug) = (scene.api("t-me"), "o/r".parse::<RepoSlug>().expect("a slug"));
    let pulls = api.pulls_for(&slug, "o", "feature").expect("a list");
    assert_eq!(pulls.iter().map(|c| (c.number.0, c.base.as_str())).collect::<Vec<_>>(), [(7, "main")]);
    assert_eq!(api.pulls_for(&slug, "o", "none").expect("a list"), []);
    let config = api.contents(&slug, ".pushback.toml", Some("main")).expect("a file");
    assert_eq!(config.as_deref(), Some("[limits]\nrounds = 2\n"));
    assert_eq!(api.contents(&slug, "missing.toml", Some("main")).expect("an answer"), None);
    assert!(api.token_permissions(&slug).expect("rights").is_some_and(|may| may.admin && may.push));
    scene.kept();
}

#[test]
fn fm_20_faults_of_graphql_are_incomplete_reads() {
    let scene = Scene::new();
    for fault in [
        json!({"graphql_errors": {"message": "odd", "type": null, "keep_data": true, "null": []}}),
        json!({"graphql_errors": {"message": "odd", "type": "FORBIDDEN", "keep_data": true, "null": ["/data/repository"]}}),
    ] {
        scene.forge.fault(Fault::new("POST", "*/graphql", what(&fault)).nth(1).times(0));
        let error: Result<Observation, ForgeError> = scene.github().observe(Depth::Full);
        assert!(error.is_err(), "{fault}");
        scene.forge.heal();
    }
}
