//! The server: reads requests, asks who is calling, counts the quota, remembers ETags, writes the log. No resource is known here.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use serde_json::{Value, json};

use super::body::Spoiled;
use super::control;
use super::faults::{self, What};
use super::graphql;
use super::recorder;
use super::rest;
use super::shapes;
use super::state::{Cached, Logged, Quota, State, http_date, parse_time};

/// Versions of the REST API that are served.
const API_VERSIONS: [&str; 2] = ["2022-11-28", "2026-03-10"];

/// The shared world.
pub type Shared = Arc<Mutex<State>>;

/// Locks the state; a test that failed while holding it does not stop the others.
pub fn lock(shared: &Shared) -> MutexGuard<'_, State> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A request.
#[derive(Debug, Clone)]
pub struct Req {
    pub method: String,
    /// Without `/api/v3`.
    pub path: String,
    pub raw_path: String,
    pub query_text: String,
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
    pub base: String,
    /// Requests being answered when it came, itself included.
    pub in_flight: usize,
    /// Real milliseconds since the start of the server.
    pub arrived_ms: u64,
}

impl Req {
    /// Returns a query parameter, decoded.
    pub fn query(&self, name: &str) -> Option<String> {
        self.queries().into_iter().find(|(n, _)| n == name).map(|(_, v)| v)
    }

    /// Returns all query parameters.
    pub fn queries(&self) -> Vec<(String, String)> {
        let pairs = self.query_text.split('&').filter(|p| !p.is_empty());
        pairs.map(|p| p.split_once('=').unwrap_or((p, ""))).map(|(n, v)| (decode(n, true), decode(v, true))).collect()
    }

    /// Returns the path as sent.
    pub fn raw_path_and_query(&self) -> String {
        match self.query_text.as_str() {
            "" => self.raw_path.clone(),
            query => format!("{}?{query}", self.raw_path),
        }
    }

    /// Returns a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// Returns the token.
    pub fn token(&self) -> Option<String> {
        let value = self.header("authorization")?;
        let (scheme, token) = value.split_once(' ')?;
        matches!(scheme.to_ascii_lowercase().as_str(), "bearer" | "token").then(|| token.trim().to_owned())
    }
}

/// Decodes `%41`, and `+` in queries.
pub fn decode(text: &str, plus: bool) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let hex = text.get(at + 1..at + 3).and_then(|h| u8::from_str_radix(h, 16).ok());
        match (bytes[at], hex) {
            (b'%', Some(byte)) => {
                out.push(byte);
                at += 2;
            }
            (b'+', _) if plus => out.push(b' '),
            (byte, _) => out.push(byte),
        }
        at += 1;
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// How the body goes out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Mode {
    Whole,
    /// Breaks the connection after so many bytes.
    Break(usize),
    /// So many bytes at a time, every so many milliseconds.
    Trickle(usize, u64),
    /// So many blanks before the body.
    Blanks(u64),
}

/// An answer.
#[derive(Debug, Clone)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    pub mode: Mode,
}

impl Reply {
    /// Makes a JSON answer.
    pub fn json(status: u16, body: &Value) -> Self {
        let headers = vec![("content-type".to_owned(), "application/json; charset=utf-8".to_owned())];
        let body = if status == 204 { Vec::new() } else { body.to_string().into_bytes() };
        Self { status, headers, body, mode: Mode::Whole }
    }

    /// Sets a header.
    pub fn set(&mut self, name: &str, value: impl Into<String>) {
        self.headers.retain(|(n, _)| n != name);
        self.headers.push((name.to_owned(), value.into()));
    }

    /// Returns a header.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }
}

/// Who is calling.
#[derive(Debug, Clone, Default)]
pub struct Caller {
    pub login: String,
    pub kind: String,
    pub permissions: Option<BTreeMap<String, String>>,
}

impl Caller {
    /// Returns whether the token has this permission at this level.
    pub fn may(&self, permission: &str, level: &str) -> bool {
        let Some(granted) = &self.permissions else { return true };
        if self.kind != "classic" && permission == "metadata" && level == "read" {
            return true;
        }
        let rank = |word: &str| ["read", "write", "admin"].iter().position(|l| *l == word);
        granted.get(permission).is_some_and(|has| rank(has) >= rank(level))
    }

    /// Returns the sentence for a missing permission.
    pub fn refusal(&self) -> &'static str {
        match self.kind.as_str() {
            "installation" => "Resource not accessible by integration",
            _ => "Resource not accessible by personal access token",
        }
    }
}

/// Answers one HTTP request.
pub async fn serve(shared: Shared, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, 64 << 20).await.unwrap_or_default();
    let mut headers = BTreeMap::new();
    for (name, value) in &parts.headers {
        headers.insert(name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned());
    }
    let raw_path = parts.uri.path().to_owned();
    let path = match raw_path.as_str() {
        "/api/graphql" => "/graphql".to_owned(),
        other => other.strip_prefix("/api/v3").unwrap_or(other).to_owned(),
    };
    let prefix = if raw_path.starts_with("/api/v3/") { "/api/v3" } else { "" };
    let mut req = Req {
        method: parts.method.as_str().to_owned(),
        path,
        raw_path,
        query_text: parts.uri.query().unwrap_or_default().to_owned(),
        headers,
        body: body.to_vec(),
        base: String::new(),
        in_flight: 0,
        arrived_ms: 0,
    };
    let (struck, wait) = {
        let mut st = lock(&shared);
        req.base.clone_from(&st.base);
        let control = req.path.starts_with("/_control");
        let struck = if control { Vec::new() } else { st.struck(&req) };
        let wait = if control { 0 } else { st.settings.latency_ms };
        if !control {
            st.in_flight += 1;
            req.in_flight = st.in_flight;
            req.arrived_ms = u64::try_from(st.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        }
        (struck, wait)
    };
    let _flight = Flight(Arc::clone(&shared), !req.path.starts_with("/_control"));
    let wait = wait + delay(&struck, false);
    let late = delay(&struck, true);
    if wait > 0 {
        tokio::time::sleep(Duration::from_millis(wait)).await;
    }
    let work = move || answer(&shared, &req, &struck, prefix);
    let reply = tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|why| Reply::json(500, &json!({"message": format!("the fake itself failed: {why}")})));
    if late > 0 {
        tokio::time::sleep(Duration::from_millis(late)).await;
    }
    into_response(reply)
}

fn delay(struck: &[What], late: bool) -> u64 {
    let one = |what: &What| match what {
        What::Delay { ms, after_effect } if *after_effect == late => *ms,
        _ => 0,
    };
    struck.iter().map(one).sum()
}

/// Counts a request as being answered, also when the caller goes away.
struct Flight(Shared, bool);

impl Drop for Flight {
    fn drop(&mut self) {
        if self.1 {
            let mut st = lock(&self.0);
            st.in_flight = st.in_flight.saturating_sub(1);
        }
    }
}

fn answer(shared: &Shared, req: &Req, struck: &[What], prefix: &str) -> Reply {
    let mut guard = lock(shared);
    let st = &mut *guard;
    if req.path.starts_with("/_control") {
        return control::handle(st, req);
    }
    st.tick();
    for what in struck {
        act(st, what, false);
    }
    let caller = authenticate(st, req);
    let login = caller.as_ref().ok().map(|c| c.login.clone());
    let scopes = caller.as_ref().ok().filter(|c| c.kind == "classic").map(|c| match c.may("pull_requests", "write") {
        true => "read:org, repo",
        false => "read:org",
    });
    let mut reply = match struck.iter().find_map(|what| faults::before(st, req, what)) {
        Some(reply) => reply,
        None => true_answer(st, req, caller, struck, prefix),
    };
    if let Some(scopes) = scopes {
        reply.set("x-oauth-scopes", scopes);
    }
    let true_body = reply.body.clone();
    for what in struck {
        faults::after(req, &mut reply, what);
        act(st, what, true);
    }
    if reply.body != true_body && reply.get("etag").is_some() {
        // A spoiled body must not travel under the ETag of the true one.
        let tag = etag(st, &reply.body);
        reply.set("etag", tag);
    }
    finish(st, req, &mut reply, login.as_deref());
    let names: Vec<String> = struck.iter().map(What::name).collect();
    recorder::keep(req, &reply, &names);
    record(st, req, reply.status, login, names);
    st.tick();
    reply
}

fn act(st: &mut State, what: &What, after: bool) {
    if let What::Act { actions, after: when, repo, pull } = what
        && *when == after
    {
        let done = st.only_pull(repo.as_deref(), *pull).and_then(|at| st.act_all(at, actions));
        if let Err(why) = done {
            st.notes.push(why);
        }
        st.tick();
    }
}

fn authenticate(st: &State, req: &Req) -> Result<Caller, Reply> {
    let bad = |message: &str| Reply::json(401, &json!({"message": message, "status": "401"}));
    let Some(token) = req.token() else { return Err(bad("Requires authentication")) };
    let found = st.users.iter().find_map(|u| Some((u, u.tokens.iter().find(|t| t.token == token)?)));
    let Some((user, token)) = found else { return Err(bad("Bad credentials")) };
    if token.expires.as_deref().and_then(parse_time).is_some_and(|at| at <= st.clock.now()) {
        return Err(bad("Bad credentials"));
    }
    Ok(Caller { login: user.login.clone(), kind: token.kind.clone(), permissions: token.permissions.clone() })
}

fn true_answer(st: &mut State, req: &Req, caller: Result<Caller, Reply>, struck: &[What], prefix: &str) -> Reply {
    if req.header("user-agent").is_none_or(str::is_empty) {
        st.violation("a request without User-Agent");
        return Reply::json(403, &json!({"message": "Request forbidden by administrative rules."}));
    }
    if req.header("x-github-api-version").is_some_and(|v| !API_VERSIONS.contains(&v)) {
        return Reply::json(400, &json!({"message": "Invalid API version."}));
    }
    let caller = match caller {
        Ok(caller) => caller,
        Err(reply) => return reply,
    };
    if st.settings.check_shapes {
        shapes::check_request(st, req);
    }
    if let Some(reply) = spent(st, req, &caller) {
        return reply;
    }
    let accept = req.header("accept").unwrap_or_default();
    let key = format!("{} {} {} {accept}", caller.login, req.token().unwrap_or_default(), req.raw_path_and_query());
    let readable = req.method == "GET" || req.path == "/graphql";
    let key = if req.path == "/graphql" { format!("{key} {}", String::from_utf8_lossy(&req.body)) } else { key };
    if readable
        && struck.iter().any(|w| matches!(w, What::Stale {}))
        && let Some(old) = st.served.get(&key)
    {
        return Reply { status: old.status, headers: old.headers.clone(), body: old.body.clone(), mode: Mode::Whole };
    }
    let cachable = readable && st.settings.page_cache && rest::cachable(req);
    if cachable
        && let Some(page) = st.pages.get(&key)
        && page.version == st.version
    {
        return Reply { status: 200, headers: page.headers.clone(), body: page.body.clone(), mode: Mode::Whole };
    }
    let mut reply = match req.path.as_str() {
        "/graphql" => graphql::answer(st, req, &caller),
        _ => rest::answer(st, req, &caller, prefix),
    };
    if req.method == "GET" && reply.status == 200 && st.settings.etag != "off" {
        let tag = etag(st, &reply.body);
        reply.set("etag", tag);
    }
    if readable && reply.status == 200 {
        let page =
            Cached { version: st.version, status: 200, headers: reply.headers.clone(), body: reply.body.clone() };
        if cachable {
            st.pages.insert(key.clone(), page.clone());
        }
        st.served.insert(key, page);
    }
    reply
}

fn etag(st: &State, body: &[u8]) -> String {
    let mut tag = String::new();
    for seed in 0..2u8 {
        let mut hasher = DefaultHasher::new();
        (seed, body).hash(&mut hasher);
        tag.push_str(&format!("{:016x}", hasher.finish()));
    }
    match st.settings.etag.as_str() {
        "strong" => format!("\"{tag}\""),
        _ => format!("W/\"{tag}\""),
    }
}

fn quota_name(req: &Req, login: &str) -> (String, &'static str) {
    let resource = if req.path == "/graphql" { "graphql" } else { "core" };
    (format!("{resource}:{login}"), resource)
}

fn spent(st: &mut State, req: &Req, caller: &Caller) -> Option<Reply> {
    let now = st.clock.now();
    let (name, resource) = quota_name(req, &caller.login);
    let limit = if resource == "graphql" { st.settings.graphql_limit } else { st.settings.rate_limit };
    let quota = st.quotas.entry(name).or_insert(Quota { used: 0, reset: now + 3_600_000 });
    if quota.reset <= now {
        *quota = Quota { used: 0, reset: now + 3_600_000 };
    }
    if quota.used < limit || req.path == "/rate_limit" {
        return None;
    }
    let message = "API rate limit exceeded for user ID.";
    Some(match resource {
        "graphql" => Reply::json(200, &json!({"errors": [{"type": "RATE_LIMITED", "message": message}]})),
        _ => Reply::json(403, &json!({"message": message, "documentation_url": "https://docs.github.com/rest"})),
    })
}

fn finish(st: &mut State, req: &Req, reply: &mut Reply, login: Option<&str>) {
    let now = st.clock.now();
    if reply.get("etag").is_some() && reply.status == 200 {
        let same = req.header("if-none-match").is_some_and(|sent| {
            let bare = |t: &str| t.trim().trim_start_matches("W/").to_owned();
            let own = reply.get("etag").map(bare);
            sent.split(',').any(|t| Some(bare(t)) == own)
        });
        if same {
            (reply.status, reply.mode) = (304, Mode::Whole);
            reply.body.clear();
        }
        reply.set("cache-control", "private, max-age=60, s-maxage=60");
    }
    reply.set("date", http_date(now));
    reply.set("x-github-media-type", "github.v3; format=json");
    let Some(login) = login else { return };
    let (name, resource) = quota_name(req, login);
    let limit = if resource == "graphql" { st.settings.graphql_limit } else { st.settings.rate_limit };
    let quota = st.quotas.entry(name).or_insert(Quota { used: 0, reset: now + 3_600_000 });
    if reply.status != 304 && req.path != "/rate_limit" && reply.status != 401 {
        quota.used = (quota.used + 1).min(limit);
    }
    let figures = [
        ("x-ratelimit-limit", limit.to_string()),
        ("x-ratelimit-remaining", (limit - quota.used).to_string()),
        ("x-ratelimit-used", quota.used.to_string()),
        ("x-ratelimit-reset", (quota.reset / 1000).to_string()),
        ("x-ratelimit-resource", resource.to_owned()),
    ];
    for (name, value) in figures {
        if reply.get(name).is_none() {
            reply.set(name, value);
        }
    }
}

fn record(st: &mut State, req: &Req, status: u16, login: Option<String>, faults: Vec<String>) {
    let wanted = ["accept", "user-agent", "if-none-match", "x-github-api-version", "host", "content-type"];
    let headers = wanted.iter().filter_map(|n| Some(((*n).to_owned(), req.header(n)?.to_owned()))).collect();
    let entry = Logged {
        n: st.log.len() + 1,
        at: super::state::iso(st.clock.now()),
        method: req.method.clone(),
        path: req.path.clone(),
        query: req.query_text.clone(),
        token: req.token(),
        login,
        headers,
        body: String::from_utf8_lossy(&req.body).into_owned(),
        status,
        faults,
        in_flight: req.in_flight,
        arrived_ms: req.arrived_ms,
    };
    st.log.push(entry);
}

fn into_response(reply: Reply) -> Response {
    let mut builder = Response::builder().status(reply.status);
    for (name, value) in &reply.headers {
        builder = builder.header(name.as_str(), value.as_str());
    }
    let body = match reply.mode {
        Mode::Whole => Body::from(reply.body),
        mode => Body::new(Spoiled::new(reply.body, mode)),
    };
    builder.body(body).unwrap_or_default()
}
