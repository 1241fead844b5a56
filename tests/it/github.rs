//! The forge adapter against a socket: complete readings, faults of the network, limits, tokens, writes.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use camino::Utf8PathBuf;
use jiff::Timestamp;
use pretty_assertions::assert_eq;
use pushback::github::{Api, Bounds, Connection, Github, TokenSource, Wanted, graphql_url, parse_base};
use pushback::ports::{Clock, Depth, Forge as _, ForgeError, Woken, Write, Written};
use pushback::review::comment::{AccountKind, Channel};
use pushback::review::ids::{Login, PrNumber, PrRef, Sha};
use pushback::review::observation::{CheckState, Observation, Permission, PrState, Reading};
use secrecy::SecretString;
use serde_json::json;

use super::loopback::{Reply, Seen, Server, World, bot, inline, person, raw, reply, sha, talk, thread};

const CANARY: &str = "ghp_CanaryCanaryCanary";
/// Three megabytes of blanks, compressed.
const BLANKS: &[u8] = include_bytes!("../fixtures/github/blanks.gz");

/// Time that only sleeping moves.
pub(crate) struct TestClock {
    now: Mutex<Timestamp>,
    slept: Mutex<Vec<Duration>>,
}

impl TestClock {
    pub(crate) fn new() -> Arc<Self> {
        let now = Timestamp::from_second(1_767_300_000).expect("a time");
        Arc::new(Self { now: Mutex::new(now), slept: Mutex::new(Vec::new()) })
    }

    pub(crate) fn advance(&self, time: Duration) {
        let mut now = self.now.lock().expect("the time");
        *now = now.checked_add(time).expect("a time");
    }

    fn slept(&self) -> Vec<Duration> {
        self.slept.lock().expect("the list").clone()
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        *self.now.lock().expect("the time")
    }
    fn monotonic(&self) -> Duration {
        Duration::from_secs(u64::try_from(self.now().as_second()).expect("after 1970"))
    }
    fn sleep(&self, time: Duration) -> Woken {
        self.advance(time);
        self.slept.lock().expect("the list").push(time);
        Woken::Elapsed
    }
    fn interrupted(&self) -> bool {
        false
    }
}

struct Setup {
    base: String,
    token: TokenSource,
    cache: Option<Utf8PathBuf>,
    max_wait: Duration,
    bytes: u64,
    clock: Arc<TestClock>,
}

impl Setup {
    fn of(server: &Server) -> Self {
        Self::at(&server.base)
    }

    fn at(base: &str) -> Self {
        let token = TokenSource::fixed(SecretString::from(CANARY));
        let (max_wait, bytes) = (Duration::from_secs(600), 1 << 20);
        Self { base: base.to_owned(), token, cache: None, max_wait, bytes, clock: TestClock::new() }
    }

    fn api(self) -> Arc<Api> {
        let api_base = parse_base(&self.base).expect("a base");
        let graphql = graphql_url(&api_base);
        let bounds = Bounds { bytes: self.bytes, idle: Duration::from_secs(5), ..Bounds::default() };
        let (token, cache_dir, max_wait, clock) = (self.token, self.cache, self.max_wait, self.clock);
        Arc::new(
            Api::connect(Connection { api_base, graphql, token, cache_dir, max_wait, bounds, clock }).expect("an API"),
        )
    }

    fn forge(self) -> Github {
        let slug = "o/r".parse().expect("a slug");
        let at = PrRef { host: "github.com".to_owned(), slug, number: PrNumber(7) };
        Github::new(self.api(), at, Duration::from_secs(1))
    }
}

fn quiet() -> Server {
    Server::start(|_, _| None)
}

/// Answers the n-th request (from 0) that fits, and all later ones up to `times`.
fn nth(
    fits: impl Fn(&Seen) -> bool + Send + Sync,
    from: usize,
    times: usize,
    answer: impl Fn(&Seen) -> Reply + Send + Sync,
) -> impl Fn(&Seen, &World) -> Option<Reply> + Send + Sync {
    let count = AtomicUsize::new(0);
    move |seen, _| {
        if !fits(seen) {
            return None;
        }
        let n = count.fetch_add(1, Ordering::SeqCst);
        (n >= from && n < from + times).then(|| answer(seen))
    }
}

fn folder() -> (tempfile::TempDir, Utf8PathBuf) {
    let dir = tempfile::tempdir().expect("a folder");
    let path = Utf8PathBuf::from_path_buf(dir.path().join("http")).expect("UTF-8");
    (dir, path)
}

fn ids(observation: &Observation, channel: Channel) -> Vec<u64> {
    let mut ids: Vec<u64> = observation.comments.iter().filter(|c| c.channel == channel).map(|c| c.id).collect();
    ids.sort_unstable();
    ids
}

#[test]
fn r1_a_reading_holds_every_channel() {
    let server = quiet();
    let seen = Setup::of(&server).forge().observe(Depth::Full).expect("a reading");
    assert_eq!(ids(&seen, Channel::Inline), [100]);
    assert_eq!(ids(&seen, Channel::Review), [50]);
    assert_eq!(ids(&seen, Channel::Conversation), [300]);
    assert_eq!(seen.threads.iter().map(|t| (t.root, t.node_id.as_str())).collect::<Vec<_>>(), [(100, "T1")]);
    assert_eq!((seen.pr.head.as_str(), seen.pr.state), (sha('b').as_str(), PrState::Open));
    assert_eq!(seen.account.as_ref().map(|a| (a.login.as_str(), a.kind)), Some(("me", AccountKind::Person)));
    let asked: Vec<_> = seen.permissions.iter().map(|(l, p)| (l.as_str(), *p)).collect();
    assert_eq!(asked, [("ann", Permission::Write), ("bob", Permission::Write), ("me", Permission::Write)]);
    let checks = seen.checks.known().expect("checks");
    assert_eq!(
        checks.iter().map(|c| (c.name.as_str(), c.state.clone())).collect::<Vec<_>>(),
        [("test", CheckState::Success)]
    );
    assert!(seen.rules.known().is_some() && seen.recent_bots.known().is_some());
    // The oldest sign of the head is the review on it.
    assert_eq!(seen.head_since, Some("2026-01-01T00:00:00Z".parse().expect("a time")));
    for request in server.take_log() {
        assert_eq!(request.headers["authorization"], format!("Bearer {CANARY}"));
        assert_eq!(request.headers["accept"], "application/vnd.github+json");
        assert!(
            request.headers.contains_key("x-github-api-version")
                && request.headers["user-agent"].starts_with("pushback/")
        );
    }
}

#[test]
fn fc_01_all_pages_are_read_however_small_they_are() {
    for per_page in [1, 7, 30, 64, 65, 100] {
        let server = quiet();
        server.change(|world| {
            world.per_page = per_page;
            world.inline = (1..=65).map(|n| inline(n, "text")).collect();
            world.threads = (1..=65).map(|n| thread(&format!("T{n}"), &[n])).collect();
        });
        let seen = Setup::of(&server).forge().observe(Depth::Full).expect("a reading");
        assert_eq!(ids(&seen, Channel::Inline), (1..=65).collect::<Vec<_>>(), "{per_page} a page");
    }
}

#[test]
fn a_cold_reading_needs_three_round_trips_at_most() {
    let server = quiet();
    server.change(|world| {
        world.delay = Duration::from_millis(250);
        world.inline = (1..=100).map(|n| inline(n, "text")).collect();
        world.threads = (1..=100).map(|n| thread(&format!("T{n}"), &[n])).collect();
    });
    Setup::of(&server).forge().observe(Depth::Full).expect("a reading");
    assert_eq!(chain(&server.take_log()), 3);
}

/// Returns how many requests had to wait for one another.
fn chain(log: &[Seen]) -> usize {
    let mut sorted: Vec<&Seen> = log.iter().collect();
    sorted.sort_by_key(|seen| seen.to);
    let mut end = None;
    sorted.iter().fold(0, |count, seen| {
        if end.is_none_or(|end| seen.from >= end) {
            end = Some(seen.to);
            return count + 1;
        }
        count
    })
}

#[test]
fn a_poll_without_change_is_one_round_trip_of_conditions() {
    let (_dir, cache) = folder();
    let server = quiet();
    server.change(|world| world.delay = Duration::from_millis(250));
    let setup = || Setup { cache: Some(cache.clone()), ..Setup::of(&server) };
    let before = setup().forge().observe(Depth::Full).expect("a reading");
    server.take_log();
    let after = setup().forge().observe(Depth::Warm).expect("a reading");
    assert_eq!(before, after);
    let log = server.take_log();
    assert_eq!(chain(&log), 1);
    let spent: Vec<_> = log.iter().filter(|r| r.status == 200).map(|r| (r.method.as_str(), r.path())).collect();
    assert_eq!(spent, []);

    // A verdict reads threads and head anew, whatever the conditions say.
    setup().forge().observe(Depth::Full).expect("a reading");
    let log = server.take_log();
    assert_eq!(log.iter().filter(|r| r.method == "POST").count(), 1);
    assert_eq!(log.iter().filter(|r| r.is("GET", "pulls/7")).count(), 2);
}

#[test]
fn threads_are_read_again_when_a_list_changed_or_time_passed() {
    let (_dir, cache) = folder();
    let server = quiet();
    let clock = TestClock::new();
    let setup = || Setup { cache: Some(cache.clone()), clock: Arc::clone(&clock), ..Setup::of(&server) };
    let asked = |server: &Server| server.take_log().iter().filter(|r| r.method == "POST").count();
    setup().forge().observe(Depth::Warm).expect("a reading");
    assert_eq!(asked(&server), 1);
    setup().forge().observe(Depth::Warm).expect("a reading");
    assert_eq!(asked(&server), 0);
    server.change(|world| {
        world.inline.push(inline(101, "two"));
        world.threads.push(thread("T2", &[101]));
    });
    let seen = setup().forge().observe(Depth::Warm).expect("a reading");
    assert_eq!((asked(&server), seen.threads.len()), (1, 2));
    clock.advance(Duration::from_secs(301));
    server.change(|world| world.threads[0]["isResolved"] = json!(true));
    let seen = setup().forge().observe(Depth::Warm).expect("a reading");
    assert_eq!((asked(&server), seen.threads[0].resolved), (1, true));
    // Looks in between make what was kept no younger.
    for expected in [0, 1] {
        clock.advance(Duration::from_secs(200));
        setup().forge().observe(Depth::Warm).expect("a reading");
        assert_eq!(asked(&server), expected);
    }
}

#[test]
fn fm_21_a_list_that_grows_by_a_page_is_seen_though_its_first_page_is_unchanged() {
    for size in [30, 100] {
        let (_dir, cache) = folder();
        let server = quiet();
        let grow = |count: u64| {
            server.change(|world| {
                world.per_page = size;
                world.talk = (0..count).map(|n| talk(300 + n, person("bob"), "hello")).collect();
            });
        };
        let setup = || Setup { cache: Some(cache.clone()), ..Setup::of(&server) };
        let size = size as u64;
        // Full, one more, full again and known to be, and two pages more at once.
        for count in [size, size + 1, 2 * size, 2 * size, 2 * size + 1, 3 * size, 3 * size, 5 * size] {
            grow(count);
            let seen = setup().forge().observe(Depth::Warm).expect("a reading");
            assert_eq!(ids(&seen, Channel::Conversation).len() as u64, count, "pages of {size}");
        }
        setup().forge().observe(Depth::Warm).expect("a reading");
        server.take_log();
        let seen = setup().forge().observe(Depth::Warm).expect("a reading");
        assert_eq!(ids(&seen, Channel::Conversation).len() as u64, 5 * size);
        let lists = server.take_log().into_iter().filter(|r| r.target.contains("/issues/7/comments"));
        assert!(lists.into_iter().all(|r| r.status == 304), "no page is read again without need");
    }
}

#[test]
fn fm_21_kept_answers_of_another_token_or_torn_ones_are_not_used() {
    let (_dir, cache) = folder();
    let server = quiet();
    let setup = || Setup { cache: Some(cache.clone()), ..Setup::of(&server) };
    let first = setup().forge().observe(Depth::Full).expect("a reading");
    server.take_log();
    let other = TokenSource::fixed(SecretString::from("another"));
    Setup { token: other, ..setup() }.forge().observe(Depth::Warm).expect("a reading");
    let mut asked = BTreeSet::new();
    let first_of_each = |r: &Seen| asked.insert(r.target.clone());
    let conditions =
        server.take_log().into_iter().filter(first_of_each).filter(|r| r.headers.contains_key("if-none-match"));
    assert_eq!(conditions.count(), 0, "another account's answers");
    for file in std::fs::read_dir(&cache).expect("a folder").flatten() {
        let bytes = std::fs::read(file.path()).expect("a file");
        std::fs::write(file.path(), &bytes[..bytes.len() / 2]).expect("torn");
    }
    let again = setup().forge().observe(Depth::Warm).expect("a reading");
    assert_eq!(first.comments, again.comments);
    assert!(server.take_log().iter().all(|r| !r.headers.contains_key("if-none-match") || r.status == 304));
}

/// Answers with a fault and returns the error of a reading, and how often the request was sent.
fn fails(end: &'static str, answer: impl Fn() -> Reply + Send + Sync + 'static) -> (ForgeError, usize) {
    let server = Server::start(nth(move |r| r.is("GET", end), 0, 99, move |_| answer()));
    let (_dir, cache) = folder();
    let error =
        Setup { cache: Some(cache), ..Setup::of(&server) }.forge().observe(Depth::Full).expect_err("no reading");
    let sent = server.take_log().iter().filter(|r| r.is("GET", end)).count();
    (error, sent)
}

#[test]
fn fm_14_a_body_that_is_no_answer_is_never_a_list() {
    let check = |answer: fn() -> Reply, tries: usize, words: &str| {
        for end in
            ["pulls/7/comments", "pulls/7/reviews", "issues/7/comments", "pulls/7", "/status", "issues/7/reactions"]
        {
            let (error, sent) = fails(end, answer);
            let ForgeError::CouldNotRead { request, why } = &error else { panic!("{end}: {error:?}") };
            assert!(request.contains(end) && !request.contains("127.0.0.1"), "{request}");
            assert!(why.contains(words), "{end}: {why}");
            assert!(sent >= tries && sent <= tries * 2, "{end}: {sent} requests, {words}");
        }
    };
    check(|| raw(200, ""), 3, "empty body");
    check(|| raw(200, "<html><body>502</body></html>"), 1, "not JSON");
    check(|| raw(200, "   "), 3, "cut off");
    check(|| Reply { cut: Some(1), ..raw(200, "[]   ") }, 3, "broke off");
    check(|| raw(200, "{\"message\": \"hm\"}"), 1, "another shape");
    check(|| raw(200, "[{\"id\": 1}]"), 1, "another shape");
    check(|| raw(200, "[] []"), 1, "");
    check(|| raw(200, "not gzip").with("Content-Encoding", "gzip"), 3, "");
    check(|| raw(304, ""), 1, "304");
    check(|| reply(418, &json!({"message": "teapot"})), 1, "status 418: teapot");
    check(|| reply(502, &json!({})), 3, "status 502");
    check(|| Reply { hang_up: true, ..raw(200, "") }, 3, "");
}

#[test]
fn fm_13_a_fault_that_passes_is_outlived() {
    for answer in [
        (|| reply(502, &json!({}))) as fn() -> Reply,
        || Reply { hang_up: true, ..raw(200, "") },
        || Reply { cut: Some(9), ..raw(200, "[          ]") },
        || raw(200, ""),
    ] {
        let server = Server::start(nth(|r| r.is("GET", "pulls/7/comments"), 0, 2, move |_| answer()));
        let setup = Setup::of(&server);
        let clock = Arc::clone(&setup.clock);
        let seen = setup.forge().observe(Depth::Full).expect("a reading");
        assert_eq!(ids(&seen, Channel::Inline), [100]);
        assert_eq!(clock.slept().len(), 2);
    }
}

#[test]
fn fc_04_a_later_page_that_fails_fails_the_list() {
    let server = Server::start(nth(|r| r.query("page") == Some("2"), 0, 99, |_| reply(502, &json!({}))));
    server.change(|world| world.talk = (1..=130).map(|n| talk(n, person("bob"), "x")).collect());
    let error = Setup::of(&server).forge().observe(Depth::Full).expect_err("no reading");
    assert!(matches!(&error, ForgeError::CouldNotRead { request, .. } if request.contains("page=2")), "{error}");
}

#[test]
fn fm_15_the_token_never_leaves_the_origin() {
    let foreign = quiet();
    let base = foreign.base.clone();
    let elsewhere: [Box<dyn Fn() -> Reply + Send + Sync>; 4] = [
        Box::new({
            let base = base.clone();
            move || raw(302, "").with("Location", format!("{base}/x"))
        }),
        Box::new({
            let base = base.clone();
            move || raw(307, "").with("Location", format!("//{}/x", base.trim_start_matches("http://")))
        }),
        Box::new({
            let base = base.clone();
            move || reply(200, &json!([])).with("Link", format!("<{base}/x?page=2>; rel=\"next\""))
        }),
        Box::new(|| reply(200, &json!([])).with("Link", "<https://evil.invalid/x?page=2>; rel=\"next\"")),
    ];
    for answer in elsewhere {
        let (error, _) = fails("pulls/7/reviews", answer);
        assert!(matches!(&error, ForgeError::CouldNotRead { why, .. } if why.contains("another host")), "{error}");
        assert!(!error.to_string().contains(CANARY));
    }
    assert_eq!(foreign.take_log().len(), 0);
}

#[test]
fn a_renamed_repository_is_followed_inside_the_origin() {
    let server = Server::start(|seen, _| {
        let old = seen.target.strip_prefix("/repos/old/name/")?;
        Some(reply(301, &json!({})).with("Location", format!("/repos/o/r/{old}")))
    });
    let slug = "old/name".parse().expect("a slug");
    let at = PrRef { host: "github.com".to_owned(), slug, number: PrNumber(7) };
    let forge = Github::new(Setup::of(&server).api(), at, Duration::ZERO);
    assert_eq!(forge.head().expect("a head").as_str(), sha('b'));
    assert!(server.take_log().iter().all(|r| r.headers.contains_key("authorization")));
}

#[test]
fn fm_15_endless_answers_end() {
    let check = |answer: fn(&Seen) -> Reply, words: &str| {
        let server = Server::start(nth(|r| r.is("GET", "pulls/7/reviews"), 0, usize::MAX, answer));
        let error = Setup::of(&server).forge().observe(Depth::Full).expect_err("no reading");
        assert!(matches!(&error, ForgeError::CouldNotRead { why, .. } if why.contains(words)), "{error}");
    };
    check(|seen| reply(200, &json!([])).with("Link", format!("<{}>; rel=\"next\"", seen.target)), "do not end");
    check(
        |seen| {
            let page: u32 = seen.query("page").and_then(|p| p.parse().ok()).unwrap_or(1);
            let next = if page == 1 { 2 } else { 1 };
            let first = if next == 1 { "?per_page=100".to_owned() } else { format!("?per_page=100&page={next}") };
            reply(200, &json!([])).with("Link", format!("<{}{first}>; rel=\"next\"", seen.path()))
        },
        "do not end",
    );
    check(|_| raw(302, "").with("Location", "/repos/o/r/pulls/7/reviews"), "too many redirects");
    check(|_| raw(200, vec![b' '; 2 << 20]), "larger than");
    check(|_| raw(200, BLANKS).with("Content-Encoding", "gzip"), "larger than");
}

#[test]
fn fc_77_a_token_that_dies_is_renewed_once() {
    let refuse_old = |seen: &Seen, _: &World| {
        (!seen.headers["authorization"].ends_with("fresh")).then(|| reply(401, &json!({"message": "Bad credentials"})))
    };
    let server = Server::start(refuse_old);
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let token = TokenSource::new(move |wanted| {
        count.fetch_add(1, Ordering::SeqCst);
        Ok(SecretString::from(if wanted == Wanted::Current { CANARY } else { "fresh" }))
    });
    Setup { token, ..Setup::of(&server) }.forge().observe(Depth::Full).expect("a reading");
    assert_eq!(asked.load(Ordering::SeqCst), 2);

    let error = Setup::of(&server).forge().observe(Depth::Full).expect_err("no reading");
    let ForgeError::Permission { why, hint, .. } = &error else { panic!("{error:?}") };
    assert!(why.contains("401") && why.contains("Bad credentials") && hint.contains("PUSHBACK_TOKEN"), "{why}, {hint}");
    assert!(!format!("{error} {error:?}").contains(CANARY));
}

#[test]
fn fm_17_missing_rights_are_named() {
    let refused = || {
        reply(403, &json!({"message": "Resource not accessible by personal access token"}))
            .with("X-Accepted-GitHub-Permissions", "pull_requests=read")
    };
    let (error, sent) = fails("pulls/7/comments", refused);
    let ForgeError::Permission { why, hint, .. } = &error else { panic!("{error:?}") };
    assert!(why.contains("403") && hint.contains("pull_requests=read") && hint.contains("o/r"), "{why}, {hint}");
    assert_eq!(sent, 1);
    let (error, _) = fails("pulls/7", || reply(404, &json!({"message": "Not Found"})));
    let ForgeError::Permission { why, .. } = &error else { panic!("{error:?}") };
    assert!(why.contains("missing, or this token cannot see it"), "{why}");
}

#[test]
fn what_a_token_may_not_see_is_unknown_and_never_empty() {
    let denied = |end: &'static str, right: &'static str| {
        Server::start(nth(
            move |r| r.path().ends_with(end) || end.ends_with('/') && r.path().contains(end),
            0,
            99,
            move |_| {
                reply(403, &json!({"message": "Resource not accessible"})).with("X-Accepted-GitHub-Permissions", right)
            },
        ))
    };
    let seen = |server: &Server| Setup::of(server).forge().observe(Depth::Full).expect("a reading");
    let unknown = |why: &str, right: &str| assert!(why.contains(right), "{why}");

    let Reading::Unknown(why) = seen(&denied("/check-runs", "checks=read")).checks else { panic!("checks known") };
    unknown(&why, "checks=read");
    let Reading::Unknown(why) = seen(&denied("/protection", "administration=read")).rules else {
        panic!("rules known")
    };
    unknown(&why, "administration=read");
    let Reading::Unknown(why) = seen(&denied("/rules/branches/", "metadata=read")).rules else { panic!("rules known") };
    unknown(&why, "metadata=read");
    let asked = seen(&denied("/permission", "members=read"));
    assert_eq!(asked.permissions[&Login::new("bob")], Permission::Unasked);
    let Reading::Unknown(_) = seen(&denied("/o/r/pulls", "pull_requests=read")).recent_bots else {
        panic!("bots known")
    };
    assert_eq!(seen(&denied("/user", "none")).account, None);
}

#[test]
fn fm_18_limits_are_waited_out_by_the_clock_or_told() {
    let reset = 1_767_300_000 + 300;
    let limited = move || {
        reply(403, &json!({"message": "API rate limit exceeded"}))
            .with("X-RateLimit-Remaining", "0")
            .with("X-RateLimit-Reset", reset.to_string())
    };
    let start = || Server::start(nth(|r| r.is("GET", "pulls/7"), 0, 1, move |_| limited()));
    let server = start();
    let setup = Setup::of(&server);
    let clock = Arc::clone(&setup.clock);
    assert_eq!(setup.forge().head().expect("a head").as_str(), sha('b'));
    assert_eq!(clock.slept(), [Duration::from_secs(300)]);

    let server = start();
    let short = Setup { max_wait: Duration::from_secs(60), ..Setup::of(&server) };
    let forge = short.forge();
    let error = forge.head().expect_err("limited");
    let ForgeError::Limited { until, .. } = error else { panic!("{error:?}") };
    assert_eq!(until.as_second(), reset);
    // Other reads stop too, without asking.
    assert!(matches!(forge.head(), Err(ForgeError::Limited { .. })));
    assert_eq!(server.take_log().len(), 1);
}

#[test]
fn fm_19_a_limit_that_does_not_end_is_not_asked_in_a_loop() {
    let answer = || reply(429, &json!({"message": "You have exceeded a secondary rate limit"}));
    let server = Server::start(nth(|r| r.is("GET", "pulls/7"), 0, 99, move |_| answer()));
    let setup = Setup::of(&server);
    let clock = Arc::clone(&setup.clock);
    assert!(matches!(setup.forge().head(), Err(ForgeError::Limited { .. })));
    assert_eq!(clock.slept(), [Duration::from_secs(60), Duration::from_secs(120)]);
    assert_eq!(server.take_log().len(), 3);
}

#[test]
fn fc_76_the_thread_quota_is_its_own() {
    let answer = || {
        reply(200, &json!({"data": null, "errors": [{"type": "RATE_LIMITED", "message": "API rate limit exceeded"}]}))
            .with("X-RateLimit-Reset", (1_767_300_000 + 3000).to_string())
    };
    let server = Server::start(nth(|r| r.method == "POST", 0, 99, move |_| answer()));
    let forge = Setup::of(&server).forge();
    let error = forge.observe(Depth::Full).expect_err("incomplete");
    assert!(matches!(&error, ForgeError::Limited { request, .. } if request.contains("graphql")), "{error}");
    assert!(forge.head().is_ok(), "REST still answers");
    assert_eq!(server.take_log().iter().filter(|r| r.method == "POST").count(), 1);
}

#[test]
fn fm_24_a_head_that_moves_is_read_again_and_given_up_after_three() {
    let moving = |until: usize| {
        let count = AtomicUsize::new(0);
        Server::start(move |seen, world| {
            if !seen.is("GET", "pulls/7") {
                return None;
            }
            let n = count.fetch_add(1, Ordering::SeqCst).min(until);
            let mut pull = world.pull.clone();
            pull["head"]["sha"] = json!(format!("{n:040x}"));
            Some(reply(200, &pull))
        })
    };
    let seen = Setup::of(&moving(3)).forge().observe(Depth::Full).expect("a reading");
    assert_eq!(seen.pr.head.as_str(), format!("{:040x}", 3));
    assert_eq!(Setup::of(&moving(99)).forge().observe(Depth::Full), Err(ForgeError::HeadMoved));
}

#[test]
fn fm_20_partial_threads_are_no_threads() {
    let page = |nodes: serde_json::Value, next: bool, cursor: &str| {
        let info = json!({"hasNextPage": next, "endCursor": cursor});
        json!({"data": {"repository": {"pullRequest": {"reviewThreads": {"pageInfo": info, "nodes": nodes}}}}})
    };
    let with_errors = {
        let mut answer = page(json!([thread("T1", &[100])]), false, "x");
        answer["errors"] = json!([{"message": "something went wrong"}]);
        answer
    };
    let check = |answer: serde_json::Value, words: &str| {
        let server = Server::start(nth(|r| r.method == "POST", 0, 99, move |_| reply(200, &answer)));
        let error = Setup::of(&server).forge().observe(Depth::Full).expect_err("no reading");
        assert!(matches!(&error, ForgeError::CouldNotRead { why, .. } if why.contains(words)), "{error}");
    };
    check(with_errors, "something went wrong");
    check(page(json!([thread("T1", &[100]), null]), false, "x"), "incomplete");
    check(json!({"data": null}), "incomplete");
    check(json!({}), "incomplete");
    check(page(json!([thread("T1", &[100, 4711])]), false, "x"), "threads hold comments that the list does not");
}

#[test]
fn fm_20_a_cursor_that_stands_still_ends_the_reading() {
    let count = AtomicUsize::new(0);
    let server = Server::start(move |seen, _| {
        let new = thread(&format!("T{}", count.fetch_add(1, Ordering::SeqCst)), &[100]);
        let info = match seen.operation().as_str() {
            "Threads" => json!({"hasNextPage": true, "endCursor": "same"}),
            "ThreadsBefore" => json!({"hasPreviousPage": true, "startCursor": "same"}),
            _ => return None,
        };
        let threads = json!({"pageInfo": info, "nodes": [new]});
        Some(reply(200, &json!({"data": {"repository": {"pullRequest": {"reviewThreads": threads}}}})))
    });
    let error = Setup::of(&server).forge().observe(Depth::Full).expect_err("no reading");
    assert!(error.to_string().contains("cursor does not advance"), "{error}");
}

/// A server with so many comments, each a thread of its own, on pages of ten.
fn with_threads(count: u64, handler: impl Fn(&Seen, &World) -> Option<Reply> + Send + Sync + 'static) -> Server {
    let server = Server::start(handler);
    server.change(|world| {
        world.per_page = 10;
        world.inline = (100..100 + count).map(|n| inline(n, "x")).collect();
        world.threads = (100..100 + count).map(|n| thread(&format!("T{n}"), &[n])).collect();
    });
    server
}

#[test]
fn many_threads_are_read_from_both_ends_each_once_and_in_order() {
    for count in [1, 9, 10, 11, 19, 20, 21, 30, 45, 97, 120] {
        let server = with_threads(count, |_, _| None);
        let seen = Setup::of(&server).forge().observe(Depth::Full).expect("a reading");
        let roots: Vec<u64> = seen.threads.iter().map(|thread| thread.root).collect();
        assert_eq!(roots, (100..100 + count).collect::<Vec<_>>(), "{count} threads");
        let asked = server.take_log().iter().filter(|seen| seen.operation().starts_with("Threads")).count();
        assert!(asked as u64 <= count.div_ceil(10) + 2, "{count} threads took {asked} pages");
    }
}

#[test]
fn fm_20_where_one_end_of_the_threads_fails_nothing_is_read() {
    let check = |operation: &'static str| {
        let (own, other) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let server = with_threads(60, move |seen, _| {
            let threads = seen.operation();
            if threads == operation && own.fetch_add(1, Ordering::SeqCst) > 0 {
                return Some(reply(200, &json!({"data": null, "errors": [{"message": "something went wrong"}]})));
            }
            // The other end comes to no end before that.
            if threads.starts_with("Threads") && threads != operation && other.fetch_add(1, Ordering::SeqCst) > 0 {
                let mut waits = 0;
                while own.load(Ordering::SeqCst) < 2 && waits < 1_000 {
                    std::thread::sleep(Duration::from_millis(5));
                    waits += 1;
                }
            }
            None
        });
        let error = Setup::of(&server).forge().observe(Depth::Full).expect_err("no reading");
        assert!(error.to_string().contains("something went wrong"), "{operation}: {error}");
    };
    check("Threads");
    check("ThreadsBefore");
}

#[test]
fn fm_20_nested_pages_of_thread_comments_are_read() {
    let server = Server::start(|seen, _| {
        let more = |ids: &[u64], next: bool, cursor: &str| {
            let mut all = thread("T1", ids);
            all["comments"]["pageInfo"] = json!({"hasNextPage": next, "endCursor": cursor});
            all
        };
        let info = json!({"hasNextPage": false, "endCursor": null});
        match seen.operation().as_str() {
            "Threads" => {
                let threads = json!({"pageInfo": info, "nodes": [more(&[100], true, "c1")]});
                Some(reply(200, &json!({"data": {"repository": {"pullRequest": {"reviewThreads": threads}}}})))
            }
            "Thread" if seen.body.contains("c1") => {
                Some(reply(200, &json!({"data": {"node": more(&[101], true, "c2")}})))
            }
            "Thread" => Some(reply(200, &json!({"data": {"node": more(&[102], false, "c3")}}))),
            _ => None,
        }
    });
    server.change(|world| world.inline = (100..=102).map(|n| inline(n, "x")).collect());
    let seen = Setup::of(&server).forge().observe(Depth::Full).expect("a reading");
    assert_eq!(seen.threads[0].comments, [100, 101, 102]);
}

#[test]
fn a_comment_made_between_two_requests_is_read_again() {
    let stale = nth(|r| r.is("GET", "pulls/7/comments"), 0, 1, |_| reply(200, &json!([])));
    let seen = Setup::of(&Server::start(stale)).forge().observe(Depth::Full).expect("a reading");
    assert_eq!((ids(&seen, Channel::Inline), seen.threads.len()), (vec![100], 1));
}

#[test]
fn our_own_draft_is_nobody_s_business() {
    let server = quiet();
    server.change(|world| {
        world.threads.push(thread("T9", &[700]));
        world.threads[1]["comments"]["nodes"][0]["pullRequestReview"]["state"] = json!("PENDING");
        let draft = json!({"id": 51, "user": person("me"), "body": "later", "state": "PENDING", "commit_id": sha('b')});
        world.reviews.push(draft);
    });
    let seen = Setup::of(&server).forge().observe(Depth::Full).expect("a reading");
    assert_eq!((seen.threads.len(), ids(&seen, Channel::Review)), (1, vec![50]));
}

#[test]
fn fc_06_the_commit_of_an_inline_comment_is_no_sign_of_the_head() {
    let server = quiet();
    server.change(|world| {
        world.reviews[0]["commit_id"] = json!(sha('a'));
        world.runs.clear();
    });
    let seen = Setup::of(&server).forge().observe(Depth::Full).expect("a reading");
    assert_eq!(seen.head_since, Some(seen.at), "only our own first sight is left");
}

#[test]
fn fc_27_checks_of_two_apps_with_one_name_are_two() {
    let server = quiet();
    server.change(|world| {
        let mut other = world.runs[0].clone();
        other["id"] = json!(901);
        other["conclusion"] = json!("failure");
        other["app"] = json!({"id": 16, "slug": "other"});
        world.runs.push(other);
    });
    let seen = Setup::of(&server).forge().observe(Depth::Full).expect("a reading");
    let checks = seen.checks.known().expect("checks");
    let found: Vec<_> = checks.iter().map(|c| (c.app_id, c.state == CheckState::Success)).collect();
    assert_eq!(found, [(Some(15), true), (Some(16), false)]);
}

#[test]
fn reactions_of_bots_are_read_on_the_description_and_on_requests() {
    let server = Server::start(|seen, _| {
        let reaction = |id: u64, user, word: &str| json!({"id": id, "user": user, "content": word, "created_at": "2026-01-01T00:00:00Z"});
        match seen.path() {
            "/repos/o/r/issues/7/reactions" => {
                Some(reply(200, &json!([reaction(1, bot("codex"), "+1"), reaction(2, person("bob"), "heart")])))
            }
            "/repos/o/r/issues/comments/301/reactions" => Some(reply(200, &json!([reaction(3, bot("codex"), "eyes")]))),
            _ => None,
        }
    });
    server.change(|world| {
        let mut request = talk(301, person("bob"), "@codex review");
        request["reactions"]["total_count"] = json!(1);
        world.talk.push(request);
    });
    let seen = Setup::of(&server).forge().observe(Depth::Full).expect("a reading");
    let found: Vec<_> = seen.reactions.iter().map(|r| (r.content.as_str(), r.on)).collect();
    assert_eq!(found, [("+1", None), ("eyes", Some(301))]);
}

fn writes(
    handler: impl Fn(&Seen, &World) -> Option<Reply> + Send + Sync + 'static,
    write: &Write,
) -> (Written, Vec<Seen>) {
    let server = Server::start(handler);
    let written = Setup::of(&server).forge().write(write);
    (written, server.take_log())
}

fn a_reply() -> Write {
    Write::Reply { root: 100, body: "no".to_owned() }
}

fn sent(log: &[Seen]) -> Vec<String> {
    log.iter().filter(|r| r.method != "GET").map(|r| format!("{} {}", r.method, r.path())).collect()
}

#[test]
fn fm_16_a_write_is_sent_once_and_its_answer_decides() {
    let check = |answer: fn() -> Reply, expected: fn(&Written) -> bool| {
        let (written, log) = writes(move |r, _| (r.method == "POST").then(answer), &a_reply());
        assert!(expected(&written), "{written:?}");
        assert_eq!(sent(&log).len(), 1, "{written:?}");
    };
    check(|| reply(201, &json!({"id": 9})), |w| *w == Written::Done(Some(9)));
    check(|| reply(502, &json!({})), |w| matches!(w, Written::Unclear(_)));
    check(|| reply(500, &json!({})), |w| matches!(w, Written::Unclear(_)));
    check(|| Reply { hang_up: true, ..raw(201, "") }, |w| matches!(w, Written::Unclear(_)));
    check(|| Reply { cut: Some(2), ..raw(201, "{\"id\": 9}") }, |w| matches!(w, Written::Unclear(_)));
    check(|| raw(201, "<html>"), |w| matches!(w, Written::Unclear(_)));
    check(|| reply(422, &json!({"message": "Validation Failed"})), |w| matches!(w, Written::Refused(_)));
    check(
        || reply(403, &json!({"message": "Unable to create comment because issue is locked."})),
        |w| matches!(w, Written::Refused(why) if why.contains("locked")),
    );
    check(
        || reply(403, &json!({"message": "Resource not accessible by integration"})),
        |w| matches!(w, Written::Forbidden(why) if why.contains("@me") && why.contains("o/r")),
    );
    check(|| reply(401, &json!({"message": "Bad credentials"})), |w| matches!(w, Written::Forbidden(_)));
    check(
        || reply(429, &json!({})).with("Retry-After", "90"),
        |w| matches!(w, Written::Limited(until) if until.as_second() == 1_767_300_090),
    );
    check(|| raw(302, "").with("Location", "/elsewhere"), |w| matches!(w, Written::Refused(_)));
}

#[test]
fn a_write_that_reaches_nobody_is_not_sent() {
    let closed = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        format!("http://{}", listener.local_addr().expect("an address"))
    };
    let written = Setup::at(&closed).forge().write(&a_reply());
    assert!(matches!(written, Written::NotSent(_)), "{written:?}");
    let setup = Setup::at(&closed);
    let clock = Arc::clone(&setup.clock);
    assert!(matches!(setup.forge().head(), Err(ForgeError::CouldNotRead { .. })));
    assert_eq!(clock.slept().len(), 2, "a read is tried three times");
}

#[test]
fn fc_59_each_reply_stands_alone() {
    let replies = "/repos/o/r/pulls/7/comments/100/replies";
    let gone = |_: &Seen, _: &World| Some(reply(404, &json!({"message": "Not Found"})));
    let (written, log) = writes(gone, &a_reply());
    assert!(matches!(written, Written::Gone(_)), "{written:?}");
    assert_eq!(sent(&log), [format!("POST {replies}"), "POST /repos/o/r/pulls/7/comments".to_owned()]);

    let (written, log) = writes(
        move |r, _| {
            let other = r.is("POST", "pulls/7/comments");
            other.then(|| reply(201, &json!({"id": 12}))).or_else(|| Some(reply(404, &json!({}))))
        },
        &a_reply(),
    );
    assert_eq!(written, Written::Done(Some(12)));
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&log[1].body).expect("JSON"),
        json!({"body": "no", "in_reply_to": 100})
    );
    let (written, _) = writes(gone, &Write::Delete { channel: Channel::Conversation, id: 5 });
    assert!(matches!(written, Written::Gone(_)));
    let (written, _) = writes(gone, &Write::Comment { body: "x".to_owned() });
    assert!(matches!(written, Written::Forbidden(_)));
}

#[test]
fn every_write_goes_to_its_place() {
    let check = |write: Write, answer: (u16, serde_json::Value), request: &str, body: serde_json::Value| {
        let (status, content) = answer;
        let (written, log) = writes(move |r, _| (r.method != "GET").then(|| reply(status, &content)), &write);
        assert!(matches!(written, Written::Done(_)), "{write:?}: {written:?}");
        assert_eq!(sent(&log), [request]);
        let sent: serde_json::Value = serde_json::from_str(&log[0].body).unwrap_or_default();
        assert_eq!(sent, body);
    };
    let text = || "x".to_owned();
    let made = || json!({"id": 4});
    let pull = World::default().pull;
    check(Write::Comment { body: text() }, (201, made()), "POST /repos/o/r/issues/7/comments", json!({"body": "x"}));
    check(Write::Describe { body: text() }, (200, pull), "PATCH /repos/o/r/pulls/7", json!({"body": "x"}));
    let react = Write::React { id: 100, content: "+1".to_owned() };
    check(react, (200, made()), "POST /repos/o/r/pulls/comments/100/reactions", json!({"content": "+1"}));
    let delete = Write::Delete { channel: Channel::Inline, id: 3 };
    check(delete, (204, json!("")), "DELETE /repos/o/r/pulls/comments/3", json!(null));
    let status = Write::Status {
        sha: Sha::parse(&sha('b')).expect("a commit"),
        state: "success".to_owned(),
        context: "pushback/gate".to_owned(),
        description: "é".repeat(200),
    };
    let body = json!({"state": "success", "context": "pushback/gate", "description": "é".repeat(140)});
    check(status, (201, made()), &format!("POST /repos/o/r/statuses/{}", sha('b')), body);
    let answer = json!({"requested_reviewers": [{"login": "Copilot", "type": "Bot"}]});
    let request = Write::RequestReview { login: "copilot".to_owned() };
    check(request, (201, answer), "POST /repos/o/r/pulls/7/requested_reviewers", json!({"reviewers": ["copilot"]}));
}

#[test]
fn fc_78_a_request_that_was_not_registered_is_told() {
    let request = Write::RequestReview { login: "copilot".to_owned() };
    let (written, _) = writes(|_, _| Some(reply(201, &json!({"requested_reviewers": []}))), &request);
    assert!(matches!(&written, Written::NotSent(why) if why.contains("not registered")), "{written:?}");
}

#[test]
fn threads_are_resolved_or_the_refusal_is_told() {
    let check = |answer: serde_json::Value, expected: fn(&Written) -> bool| {
        let resolve = Write::Resolve { node_id: "T1".to_owned() };
        let (written, log) = writes(move |r, _| (r.method == "POST").then(|| reply(200, &answer)), &resolve);
        assert!(expected(&written), "{written:?}");
        assert_eq!(sent(&log), ["POST /graphql"]);
    };
    let done = json!({"data": {"resolveReviewThread": {"thread": {"id": "T1", "isResolved": true}}}});
    check(done, |w| *w == Written::Done(None));
    let error =
        |kind: &str| json!({"data": {"resolveReviewThread": null}, "errors": [{"type": kind, "message": "no"}]});
    check(error("FORBIDDEN"), |w| matches!(w, Written::Forbidden(_)));
    check(error("NOT_FOUND"), |w| matches!(w, Written::Gone(_)));
    check(error("RATE_LIMITED"), |w| matches!(w, Written::Limited(_)));
    check(json!({"data": null}), |w| matches!(w, Written::Unclear(_)));
}

#[test]
fn fm_19_writes_keep_a_second_between_them() {
    let server = Server::start(|r, _| (r.method == "POST").then(|| reply(201, &json!({"id": 9}))));
    let setup = Setup::of(&server);
    let clock = Arc::clone(&setup.clock);
    let forge = setup.forge();
    for _ in 0..3 {
        forge.write(&a_reply());
    }
    assert_eq!(clock.slept(), [Duration::from_secs(1); 2]);
}

#[test]
fn fm_49_a_text_with_the_token_is_not_posted() {
    let (written, log) = writes(|_, _| None, &Write::Comment { body: format!("see {CANARY}") });
    assert!(matches!(&written, Written::Refused(why) if !why.contains(CANARY)), "{written:?}");
    assert_eq!(log.len(), 0);
}

#[test]
fn discovery_finds_pull_requests_and_files() {
    let server = Server::start(|seen, world| {
        let listed = |number: u64, state: &str, branch: &str| {
            let mut pull = world.pull.clone();
            pull["number"] = json!(number);
            pull["state"] = json!(state);
            pull["head"]["ref"] = json!(branch);
            pull
        };
        let hidden = || Some(reply(404, &json!({"message": "Not Found"})));
        match seen.path() {
            "/repos/o/r/pulls" => Some(reply(
                200,
                &json!([listed(3, "closed", "a/b"), listed(9, "open", "a/b"), listed(8, "open", "other")]),
            )),
            "/repos/o/r" => {
                let may = json!({"admin": false, "push": true, "pull": true});
                Some(reply(200, &json!({"full_name": "o/r", "default_branch": "main", "permissions": may})))
            }
            "/repos/o/r/contents/.pushback.toml" if seen.query("ref") == Some("main") => {
                let content = json!({"type": "file", "encoding": "base64", "content": "W3Nw\nZWNdCg==\n"});
                Some(reply(200, &content))
            }
            _ => hidden(),
        }
    });
    let api = Setup::of(&server).api();
    let slug = "o/r".parse().expect("a slug");
    let found = api.pulls_for(&slug, "o", "a/b").expect("a list");
    assert_eq!(
        found.iter().map(|c| (c.number.0, c.state)).collect::<Vec<_>>(),
        [(9, PrState::Open), (3, PrState::Closed)]
    );
    assert_eq!(server.take_log()[0].query("head"), Some("o%3Aa%2Fb"));
    assert_eq!(api.contents(&slug, ".pushback.toml", Some("main")).expect("a file").as_deref(), Some("[spec]\n"));
    assert_eq!(api.contents(&slug, ".pushback.toml", Some("gone")).expect("an answer"), None);
    let may = api.token_permissions(&slug).expect("rights").expect("told");
    assert!(may.push && may.triage && !may.admin);
    let other = "o/hidden".parse().expect("a slug");
    assert!(
        matches!(api.contents(&other, "x", Some("main")), Err(ForgeError::Permission { .. })),
        "hidden is not absent"
    );
}
