//! A small server on this machine with one pull request in it, for faults that only a bare socket can make.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// A request as it came in.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: String,
    pub(crate) from: Instant,
    pub(crate) to: Instant,
    pub(crate) status: u16,
}

impl Seen {
    pub(crate) fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    pub(crate) fn query(&self, name: &str) -> Option<&str> {
        let query = self.target.split_once('?')?.1;
        query.split('&').filter_map(|p| p.split_once('=')).find(|(n, _)| *n == name).map(|(_, v)| v)
    }

    pub(crate) fn is(&self, method: &str, end: &str) -> bool {
        self.method == method && self.path().ends_with(end)
    }

    pub(crate) fn operation(&self) -> String {
        let body: Value = serde_json::from_str(&self.body).unwrap_or_default();
        body["operationName"].as_str().unwrap_or_default().to_owned()
    }
}

/// An answer.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// Closes the connection after so many bytes of the body.
    pub(crate) cut: Option<usize>,
    /// Closes the connection without any answer.
    pub(crate) hang_up: bool,
}

pub(crate) fn reply(status: u16, body: &Value) -> Reply {
    raw(status, body.to_string().into_bytes())
}

pub(crate) fn raw(status: u16, body: impl Into<Vec<u8>>) -> Reply {
    Reply { status, headers: Vec::new(), body: body.into(), cut: None, hang_up: false }
}

impl Reply {
    pub(crate) fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }
}

type Handler = dyn Fn(&Seen, &World) -> Option<Reply> + Send + Sync;

/// What stands on the pull request `o/r#7`.
pub(crate) struct World {
    pub(crate) pull: Value,
    pub(crate) inline: Vec<Value>,
    pub(crate) reviews: Vec<Value>,
    pub(crate) talk: Vec<Value>,
    pub(crate) threads: Vec<Value>,
    pub(crate) runs: Vec<Value>,
    pub(crate) per_page: usize,
    pub(crate) delay: Duration,
    pub(crate) clock: i64,
}

pub(crate) fn sha(digit: char) -> String {
    digit.to_string().repeat(40)
}

pub(crate) fn bot(login: &str) -> Value {
    json!({"login": format!("{login}[bot]"), "type": "Bot", "id": 1})
}

pub(crate) fn person(login: &str) -> Value {
    json!({"login": login, "type": "User", "id": 2})
}

pub(crate) fn inline(id: u64, body: &str) -> Value {
    json!({
        "id": id, "user": bot("codex"), "body": body, "path": "src/a.rs", "side": "RIGHT", "line": 3, "original_line": 3,
        "commit_id": sha('b'), "original_commit_id": sha('a'), "author_association": "NONE", "diff_hunk": "@@ -1 +1 @@",
        "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z", "html_url": "https://h/c",
    })
}

pub(crate) fn talk(id: u64, user: Value, body: &str) -> Value {
    json!({
        "id": id, "user": user, "body": body, "author_association": "MEMBER", "html_url": "https://h/i",
        "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z", "reactions": {"total_count": 0},
    })
}

pub(crate) fn thread(node: &str, ids: &[u64]) -> Value {
    let nodes: Vec<Value> = ids
        .iter()
        .map(|id| json!({"fullDatabaseId": id.to_string(), "isMinimized": false, "pullRequestReview": {"state": "COMMENTED"}}))
        .collect();
    json!({
        "id": node, "isResolved": false, "isOutdated": false, "viewerCanResolve": true, "resolvedBy": null,
        "comments": {"pageInfo": {"hasNextPage": false, "endCursor": null}, "nodes": nodes},
    })
}

impl Default for World {
    fn default() -> Self {
        let repo = json!({"full_name": "o/r", "default_branch": "main"});
        let pull = json!({
            "number": 7, "html_url": "https://h/o/r/pull/7", "title": "t", "body": "words", "user": person("ann"),
            "state": "open", "draft": false, "merged": false, "mergeable": true, "mergeable_state": "clean",
            "created_at": "2025-12-31T00:00:00Z", "base": {"ref": "main", "sha": sha('0'), "repo": repo},
            "head": {"ref": "topic", "sha": sha('b'), "repo": repo},
        });
        let review = json!({
            "id": 50, "user": bot("codex"), "body": "", "state": "COMMENTED", "commit_id": sha('b'),
            "submitted_at": "2026-01-01T00:00:00Z", "author_association": "NONE", "html_url": "https://h/r",
        });
        let run = json!({
            "id": 900, "name": "test", "status": "completed", "conclusion": "success", "app": {"id": 15, "slug": "ci"},
            "started_at": "2026-01-01T00:01:00Z", "completed_at": "2026-01-01T00:02:00Z", "html_url": "https://h/k",
        });
        Self {
            pull,
            inline: vec![inline(100, "one")],
            reviews: vec![review],
            talk: vec![talk(300, person("bob"), "hello")],
            threads: vec![thread("T1", &[100])],
            runs: vec![run],
            per_page: 100,
            delay: Duration::ZERO,
            clock: 1_767_300_000,
        }
    }
}

impl World {
    fn answer(&self, seen: &Seen, base: &str) -> Reply {
        let repo = seen.path().strip_prefix("/repos/o/r/").unwrap_or(seen.path());
        match (seen.method.as_str(), repo) {
            ("GET", "/user") => reply(200, &person("me")),
            ("GET", "pulls/7") => reply(200, &self.pull),
            ("GET", "pulls/7/comments") => self.page(seen, base, &self.inline),
            ("GET", "pulls/7/reviews") => self.page(seen, base, &self.reviews),
            ("GET", "issues/7/comments") => self.page(seen, base, &self.talk),
            ("GET", path) if path.ends_with("/reactions") => self.page(seen, base, &[]),
            ("GET", path) if path.ends_with("/check-runs") => {
                reply(200, &json!({"total_count": self.runs.len(), "check_runs": self.runs}))
            }
            ("GET", path) if path.ends_with("/status") => {
                reply(200, &json!({"state": "pending", "total_count": 0, "statuses": []}))
            }
            ("GET", path) if path.starts_with("rules/branches/") => reply(200, &json!([])),
            ("GET", path) if path.ends_with("/protection") => reply(404, &json!({"message": "Branch not protected"})),
            ("GET", path) if path.starts_with("collaborators/") => {
                reply(200, &json!({"permission": "write", "role_name": "write"}))
            }
            ("GET", "pulls") => reply(200, &json!([])),
            ("POST", "/graphql") => self.graph(seen),
            _ => reply(404, &json!({"message": "Not Found"})),
        }
    }

    fn page(&self, seen: &Seen, base: &str, items: &[Value]) -> Reply {
        let number: usize = seen.query("page").and_then(|p| p.parse().ok()).unwrap_or(1);
        let asked: usize = seen.query("per_page").and_then(|p| p.parse().ok()).unwrap_or(30);
        let size = asked.min(self.per_page);
        let pages = items.len().div_ceil(size).max(1);
        let part: Vec<&Value> = items.iter().skip((number - 1) * size).take(size).collect();
        let answer = reply(200, &json!(part));
        if number >= pages {
            return answer;
        }
        let at = |page: usize| format!("<{base}{}?per_page={asked}&page={page}>", seen.path());
        answer.with("Link", format!("{}; rel=\"next\", {}; rel=\"last\"", at(number + 1), at(pages)))
    }

    fn graph(&self, seen: &Seen) -> Reply {
        match seen.operation().as_str() {
            operation @ ("Threads" | "ThreadsBefore") => {
                let body: Value = serde_json::from_str(&seen.body).unwrap_or_default();
                let cursor = |name: &str| {
                    body["variables"][name].as_str().map(|at| at.parse().expect("a cursor of this server"))
                };
                let all = self.threads.len();
                let (from, to) = if operation == "Threads" {
                    let from: usize = cursor("after").map_or(0, |at: usize| at + 1);
                    (from, (from + self.per_page).min(all))
                } else {
                    let to: usize = cursor("before").unwrap_or(all);
                    (to.saturating_sub(self.per_page), to)
                };
                let info = if operation == "Threads" {
                    json!({"hasNextPage": to < all, "endCursor": to.checked_sub(1).map(|at| at.to_string())})
                } else {
                    json!({"hasPreviousPage": from > 0, "startCursor": from.to_string()})
                };
                let page = json!({"pageInfo": info, "nodes": self.threads[from..to]});
                reply(
                    200,
                    &json!({"data": {"repository": {"pullRequest": {"reviewThreads": page}}, "rateLimit": null}}),
                )
            }
            _ => reply(200, &json!({"errors": [{"type": "NOT_FOUND", "message": "no such thing"}]})),
        }
    }
}

/// The running server.
pub(crate) struct Server {
    pub(crate) base: String,
    pub(crate) world: Arc<Mutex<World>>,
    log: Arc<Mutex<Vec<Seen>>>,
}

impl Server {
    /// Starts it; the handler goes before the world.
    pub(crate) fn start(handler: impl Fn(&Seen, &World) -> Option<Reply> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let base = format!("http://{}", listener.local_addr().expect("an address"));
        let (world, log) = (Arc::new(Mutex::new(World::default())), Arc::new(Mutex::new(Vec::new())));
        let handler: Arc<Handler> = Arc::new(handler);
        let shared = (base.clone(), Arc::clone(&world), Arc::clone(&log));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (base, world, log) = shared.clone();
                let handler = Arc::clone(&handler);
                thread::spawn(move || serve(stream, &base, &world, &log, &*handler));
            }
        });
        Self { base, world, log }
    }

    /// Returns what came in so far and forgets it.
    pub(crate) fn take_log(&self) -> Vec<Seen> {
        std::mem::take(&mut self.log.lock().expect("the log"))
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut World)) {
        change(&mut self.world.lock().expect("the world"));
    }
}

fn serve(mut stream: TcpStream, base: &str, world: &Mutex<World>, log: &Mutex<Vec<Seen>>, handler: &Handler) {
    let Some(mut seen) = receive(&stream) else { return };
    let (mut answer, delay, clock) = {
        let world = world.lock().expect("the world");
        (handler(&seen, &world).unwrap_or_else(|| world.answer(&seen, base)), world.delay, world.clock)
    };
    thread::sleep(delay);
    condition(&seen, &mut answer);
    seen.to = Instant::now();
    seen.status = answer.status;
    log.lock().expect("the log").push(seen);
    if answer.hang_up {
        return;
    }
    let date = jiff::fmt::rfc2822::DateTimePrinter::new()
        .timestamp_to_rfc9110_string(&jiff::Timestamp::from_second(clock).expect("a time"))
        .expect("a date");
    let mut head = format!("HTTP/1.1 {} X\r\nConnection: close\r\nDate: {date}\r\n", answer.status);
    for (name, value) in &answer.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    if answer.status != 304 && answer.status != 204 {
        head.push_str(&format!("Content-Length: {}\r\n", answer.body.len()));
    }
    head.push_str("\r\n");
    let body = &answer.body[..answer.cut.unwrap_or(answer.body.len()).min(answer.body.len())];
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body)).and_then(|()| stream.flush());
}

/// Gives good answers an ETag of their body, and answers 304 to who knows it.
fn condition(seen: &Seen, answer: &mut Reply) {
    use std::hash::{DefaultHasher, Hash as _, Hasher as _};
    if answer.status != 200 || seen.method != "GET" {
        return;
    }
    let mut hash = DefaultHasher::new();
    answer.body.hash(&mut hash);
    let etag = format!("W/\"{:x}\"", hash.finish());
    if seen.headers.get("if-none-match") == Some(&etag) {
        *answer = raw(304, "");
    }
    answer.headers.push(("ETag".to_owned(), etag));
}

fn receive(stream: &TcpStream) -> Option<Seen> {
    let from = Instant::now();
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace();
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").and_then(|v| v.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let body = String::from_utf8(body).ok()?;
    Some(Seen { method, target, headers, body, from, to: from, status: 0 })
}
