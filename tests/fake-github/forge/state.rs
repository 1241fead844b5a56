//! What the fake remembers: users, repositories, pull requests and everything said on them, the clock and the request log.
//! Decides nothing about HTTP.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::Instant;

use serde::Serialize;
use serde_json::{Value, json};

use super::faults::Armed;
use super::git::Opened;
pub use super::records::{Check, Comment, Issue, Pull, Reaction, Repo, Review, Settings, Status, Talk, User};
use super::scene::{Action, Scripted};

/// Logical milliseconds since 1970.
pub type Ms = i64;

/// A clock that follows real time plus an offset, or stands still.
#[derive(Debug, Default)]
pub struct Clock {
    offset: Ms,
    frozen: Option<Ms>,
}

impl Clock {
    /// Returns the present logical time.
    pub fn now(&self) -> Ms {
        self.frozen.unwrap_or_else(|| real_ms() + self.offset)
    }

    /// Moves on by `ms`; a standing clock stands at the later time.
    pub fn advance(&mut self, ms: Ms) {
        match &mut self.frozen {
            Some(at) => *at += ms,
            None => self.offset += ms,
        }
    }

    /// Makes it `at` now; the clock keeps running or standing as before.
    pub fn set(&mut self, at: Ms) {
        match &mut self.frozen {
            Some(now) => *now = at,
            None => self.offset = at - real_ms(),
        }
    }

    /// Stops the clock, or lets it run on from where it stands.
    pub fn freeze(&mut self, stand: bool) {
        let now = self.now();
        self.frozen = stand.then_some(now);
        self.offset = now - real_ms();
    }
}

fn real_ms() -> Ms {
    jiff::Timestamp::now().as_millisecond()
}

/// Returns `2026-01-02T03:04:05Z`, whole seconds as the API gives them.
pub fn iso(ms: Ms) -> String {
    jiff::Timestamp::from_second(ms.div_euclid(1000)).map(|t| t.to_string()).unwrap_or_default()
}

/// Reads a time stamp with a zone.
pub fn parse_time(text: &str) -> Option<Ms> {
    text.parse::<jiff::Timestamp>().ok().map(|t| t.as_millisecond())
}

/// Returns the time in the form of HTTP's `Date`.
pub fn http_date(ms: Ms) -> String {
    jiff::Timestamp::from_millisecond(ms)
        .map(|t| t.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string())
        .unwrap_or_default()
}

/// One request as it came in.
#[derive(Debug, Clone, Serialize)]
pub struct Logged {
    pub n: usize,
    pub at: String,
    pub method: String,
    pub path: String,
    pub query: String,
    /// The token as sent; the log is for tests only.
    pub token: Option<String>,
    pub login: Option<String>,
    pub headers: BTreeMap<String, String>,
    pub body: String,
    pub status: u16,
    /// The faults that struck.
    pub faults: Vec<String>,
    /// Requests being answered when it came, itself included.
    pub in_flight: usize,
    /// Real milliseconds from the start of the server to its coming.
    pub arrived_ms: u64,
}

/// Actions that will happen at a time.
#[derive(Debug, Clone)]
pub struct Due {
    pub at: Ms,
    pub repo: usize,
    pub pull: u64,
    pub trigger: Option<u64>,
    pub actions: Vec<Action>,
}

/// What a user has left of his quota.
#[derive(Debug, Clone, Copy)]
pub struct Quota {
    pub used: i64,
    pub reset: Ms,
}

/// A rendered answer.
#[derive(Debug, Clone)]
pub struct Cached {
    pub version: u64,
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// Where an action happens.
#[derive(Debug, Clone, Copy)]
pub struct At {
    pub repo: usize,
    pub pull: u64,
    /// The comment that set it off.
    pub trigger: Option<u64>,
}

/// The whole of it.
#[derive(Debug)]
pub struct State {
    pub base: String,
    pub clock: Clock,
    pub settings: Settings,
    pub users: Vec<User>,
    pub repos: Vec<Repo>,
    pub opened: Opened,
    pub next_id: u64,
    /// Counts changes; a rendered page is good for one version.
    pub version: u64,
    pub log: Vec<Logged>,
    pub in_flight: usize,
    pub started: Instant,
    pub violations: Vec<String>,
    /// Scene actions that could not be done, in words.
    pub notes: Vec<String>,
    pub faults: Vec<Armed>,
    pub script: Vec<Scripted>,
    pub due: Vec<Due>,
    /// Names given in scenes, to ids.
    pub keys: HashMap<String, u64>,
    /// Comments posted over HTTP, for scripts that listen.
    pub heard: VecDeque<(usize, u64, u64, String, String)>,
    pub quotas: HashMap<String, Quota>,
    pub pages: HashMap<String, Cached>,
    pub served: HashMap<String, Cached>,
}

impl State {
    /// Returns an empty world.
    pub fn new() -> Self {
        Self {
            base: String::new(),
            clock: Clock::default(),
            settings: Settings::default(),
            users: Vec::new(),
            repos: Vec::new(),
            opened: Opened::default(),
            next_id: 4_300_000_001,
            version: 0,
            log: Vec::new(),
            in_flight: 0,
            started: Instant::now(),
            violations: Vec::new(),
            notes: Vec::new(),
            faults: Vec::new(),
            script: Vec::new(),
            due: Vec::new(),
            keys: HashMap::new(),
            heard: VecDeque::new(),
            quotas: HashMap::new(),
            pages: HashMap::new(),
            served: HashMap::new(),
        }
    }

    /// Gives out an id; ids rise and are above 32 bits.
    pub fn fresh_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    /// Records a departure from the contract.
    pub fn violation(&mut self, text: impl Into<String>) {
        let text = text.into();
        if self.violations.len() < 1000 && !self.violations.contains(&text) {
            self.violations.push(text);
        }
    }

    /// Finds a user; letter case does not matter, the inline spelling counts too.
    pub fn user(&self, login: &str) -> Option<&User> {
        let same = |u: &&User| {
            u.login.eq_ignore_ascii_case(login)
                || u.inline_login.as_deref().is_some_and(|l| l.eq_ignore_ascii_case(login))
        };
        self.users.iter().find(same)
    }

    /// Makes sure that a user is there.
    pub fn add_user(&mut self, mut user: User) {
        if user.id == 0 {
            user.id = self.fresh_id();
        }
        match self.users.iter_mut().find(|u| u.login.eq_ignore_ascii_case(&user.login)) {
            Some(old) => {
                user.id = old.id;
                user.tokens.extend(old.tokens.clone());
                *old = user;
            }
            None => self.users.push(user),
        }
        self.version += 1;
    }

    /// Makes sure that somebody of this login is there; `ghost` stays nobody.
    pub fn ensure_user(&mut self, login: &str) {
        if login != "ghost" && self.user(login).is_none() {
            self.add_user(User {
                login: login.into(),
                inline_login: None,
                kind: None,
                id: 0,
                tokens: Vec::new(),
                association: None,
            });
        }
    }

    /// Finds a repository by slug, by old name, or by number.
    pub fn repo_index(&self, slug: &str) -> Option<usize> {
        self.repos.iter().position(|r| r.slug().eq_ignore_ascii_case(slug))
    }

    /// Returns what `login` may do in the repository: `admin`, `write`, `read` or `none`.
    pub fn access(&self, repo: &Repo, login: &str) -> &'static str {
        if repo.owner.eq_ignore_ascii_case(login) {
            return "admin";
        }
        let found = repo.collaborators.iter().find(|(name, _)| name.eq_ignore_ascii_case(login));
        match found.map(|(_, level)| level.as_str()) {
            Some("admin") => "admin",
            Some("maintain") => "maintain",
            Some("write") => "write",
            Some("triage") => "triage",
            Some("read") => "read",
            Some("none") => "none",
            _ if repo.private => "none",
            _ => "read",
        }
    }

    /// Returns the role word that stands beside a comment.
    pub fn association(&self, repo: &Repo, pull_author: &str, login: &str) -> String {
        if let Some(word) = self.user(login).and_then(|u| u.association.clone()) {
            return word;
        }
        let word = match self.access(repo, login) {
            _ if repo.owner.eq_ignore_ascii_case(login) => "OWNER",
            "admin" | "maintain" | "write" | "triage" if repo.organisation => "MEMBER",
            "admin" | "maintain" | "write" | "triage" => "COLLABORATOR",
            _ if login == pull_author && !login.ends_with("[bot]") => "CONTRIBUTOR",
            _ => "NONE",
        };
        word.to_owned()
    }

    /// Returns the REST form of an account, null for a deleted one.
    pub fn user_json(&self, login: &str, inline: bool) -> Value {
        let Some(user) = self.user(login) else { return Value::Null };
        let shown = match &user.inline_login {
            Some(other) if inline => other,
            _ => &user.login,
        };
        let base = &self.base;
        let in_url = shown.replace('[', "%5B").replace(']', "%5D");
        json!({
            "login": shown, "id": user.id, "node_id": format!("U_{}", user.id), "type": user.kind(), "site_admin": false,
            "avatar_url": format!("{base}/avatars/{}", user.id), "url": format!("{base}/users/{in_url}"),
            "html_url": format!("{base}/{in_url}"), "user_view_type": "public",
        })
    }
}
