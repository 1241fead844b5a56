//! A fake GitHub on loopback for tests, demo and bench: real commits from a bare git repository, everything else in memory.
//!
//! `Forge` is the handle for Rust, `/_control` the one for everybody else; both take the same scenes and actions. What it
//! does not do: serve git over HTTP, webhooks, teams, more than one page size rule. See `docs/fake-github.md`.
#![expect(
    dead_code,
    unreachable_pub,
    clippy::expect_used,
    reason = "shared by several targets, each of which uses a part; a failure here is a failed test"
)]

mod act;
mod body;
mod control;
pub mod faults;
mod git;
mod graph;
mod graph_checks;
mod graphql;
mod http;
mod mutations;
mod posts;
mod recorder;
pub mod records;
mod rest;
mod rest_git;
mod rest_pulls;
mod rest_talk;
mod rest_writes;
pub mod scene;
mod schema;
mod shapes;
pub mod state;
mod view;
mod world;

use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use serde_json::Value;
use tokio::sync::oneshot;

pub use control::Bulk;
pub use faults::Fault;
pub use scene::{Action, Scene, Scripted};
pub use state::{Logged, State};

use http::{Shared, lock};

/// Keeps the server thread; the last handle to go stops it.
struct Server {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A running fake.
#[derive(Clone)]
pub struct Forge {
    shared: Shared,
    base: String,
    _server: Arc<Server>,
}

impl Forge {
    /// Starts an empty fake on a free port of 127.0.0.1.
    pub fn start() -> Self {
        Self::start_at(0)
    }

    /// Starts an empty fake on this port.
    pub fn start_at(port: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", port)).expect("a free port");
        listener.set_nonblocking(true).expect("a socket");
        let base = format!("http://{}", listener.local_addr().expect("an address"));
        let mut state = State::new();
        state.base.clone_from(&base);
        let shared = Arc::new(Mutex::new(state));
        let (stop, stopped) = oneshot::channel();
        let inner = Arc::clone(&shared);
        let thread = std::thread::spawn(move || serve(listener, inner, stopped));
        let server = Server { stop: Some(stop), thread: Some(thread) };
        Self { shared, base, _server: Arc::new(server) }
    }

    /// Starts with a scene given as JSON.
    pub fn with(scene: Value) -> Self {
        let forge = Self::start();
        forge.scene(scene);
        forge
    }

    /// Returns the API base, `http://127.0.0.1:PORT`.
    pub fn url(&self) -> &str {
        &self.base
    }

    /// Gives access to the whole state; kept pages are rendered anew afterwards.
    pub fn state<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let mut st = lock(&self.shared);
        st.version += 1;
        change(&mut st)
    }

    fn look<T>(&self, look: impl FnOnce(&mut State) -> T) -> T {
        look(&mut lock(&self.shared))
    }

    /// Adds a scene; one that does not fit is a failed test.
    pub fn scene(&self, scene: Value) {
        let scene: Scene = serde_json::from_value(scene).expect("a scene");
        self.state(|st| st.add_scene(scene)).expect("a scene that fits");
    }

    /// Lets somebody act now, on the first pull request; returns the ids of what was made.
    pub fn act(&self, actions: Value) -> Vec<u64> {
        self.act_on(None, None, actions)
    }

    /// Lets somebody act now.
    pub fn act_on(&self, repo: Option<&str>, pull: Option<u64>, actions: Value) -> Vec<u64> {
        let actions = if actions.is_array() { actions } else { Value::Array(vec![actions]) };
        let actions: Vec<Action> = serde_json::from_value(actions).expect("actions");
        self.state(|st| {
            st.tick();
            let at = st.only_pull(repo, pull).expect("a pull request");
            let ids = st.act_all(at, &actions).expect("actions that fit");
            st.tick();
            ids
        })
    }

    /// Adds a reactive reviewer.
    pub fn script(&self, scripted: Value) {
        let scripted: Scripted = serde_json::from_value(scripted).expect("a script");
        self.state(|st| st.add_script(scripted)).expect("a script that fits");
    }

    /// Arms a fault.
    pub fn fault(&self, fault: Fault) {
        self.state(|st| st.arm(fault)).expect("a fault");
    }

    /// Disarms all faults.
    pub fn heal(&self) {
        self.state(|st| st.faults.clear());
    }

    /// Changes the named switches.
    pub fn set(&self, change: impl FnOnce(&mut state::Settings)) {
        self.state(|st| {
            change(&mut st.settings);
            st.version += 1;
        });
    }

    /// Moves the clock on and lets everything happen that is due.
    pub fn advance(&self, by: Duration) {
        self.state(|st| {
            st.clock.advance(i64::try_from(by.as_millis()).unwrap_or(i64::MAX));
            st.tick();
        });
    }

    /// Stops the clock at a time such as `2026-01-02T03:04:05Z`.
    pub fn freeze_at(&self, at: &str) {
        let at = state::parse_time(at).expect("a time stamp");
        self.state(|st| {
            st.clock.freeze(true);
            st.clock.set(at);
        });
    }

    /// Returns the requests so far.
    pub fn log(&self) -> Vec<Logged> {
        self.look(|st| st.log.clone())
    }

    /// Forgets the requests so far.
    pub fn clear_log(&self) {
        self.state(|st| st.log.clear());
    }

    /// Counts the requests of a method (or `*`) on a path pattern.
    pub fn requests(&self, method: &str, path: &str) -> usize {
        let fits = |l: &&Logged| (method == "*" || l.method == method) && faults::glob(path, &l.path);
        self.look(|st| st.log.iter().filter(fits).count())
    }

    /// Returns what was asked or answered against the contract; a good test ends with an empty list.
    pub fn violations(&self) -> Vec<String> {
        self.look(|st| st.violations.clone())
    }

    /// Returns the end state as JSON, see `GET /_control/state`.
    pub fn dump(&self) -> Value {
        self.look(|st| {
            st.tick();
            control::dump(st)
        })
    }

    /// Returns the first pull request of the end state.
    pub fn pull(&self) -> Value {
        let all = self.dump();
        all["repos"].as_array().into_iter().flatten().find_map(|r| r["pulls"].get(0)).cloned().unwrap_or_default()
    }

    /// Counts the unresolved threads of the first pull request.
    pub fn open_threads(&self) -> u64 {
        self.pull()["open_threads"].as_u64().unwrap_or_default()
    }

    /// Makes many comments, replies, reviews and issue comments on the first pull request.
    pub fn bulk(&self, bulk: &Bulk<'_>, counts: [usize; 4]) {
        self.state(|st| {
            let at = st.only_pull(None, None).expect("a pull request");
            st.bulk(at, bulk, counts).expect("comments");
        });
    }
}

fn serve(listener: TcpListener, shared: Shared, stopped: oneshot::Receiver<()>) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    runtime.block_on(async move {
        let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
        let ticking = Arc::clone(&shared);
        // Scripted people act in real time too, when nobody asks anything.
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(Duration::from_millis(25)).await;
                let shared = Arc::clone(&ticking);
                let work = move || {
                    let mut st = lock(&shared);
                    if !(st.script.is_empty() && st.due.is_empty()) {
                        st.tick();
                    }
                };
                if tokio::task::spawn_blocking(work).await.is_err() {
                    return;
                }
            }
        });
        let app = Router::new().fallback(move |request: Request| http::serve(Arc::clone(&shared), request));
        tokio::select! {
            _ = axum::serve(listener, app) => {}
            _ = stopped => {}
        }
    });
    runtime.shutdown_timeout(Duration::from_millis(200));
}
