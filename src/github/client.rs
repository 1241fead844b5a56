//! One HTTP client: headers, token, redirects, bounds, retries, limits. Knows no resource of the forge.
//!
//! The token is attached per request and only for the configured API origin; other origins are never asked at all.

use std::io::{self, Read};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use reqwest::blocking::{Client as Http, Response};
use reqwest::header::{self, HeaderMap, HeaderValue};
use reqwest::{Method, Url};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::base::same_origin;
use super::fault::{Effect, Fault, tame};
use super::heard::Heard;
use super::pages::Links;
use super::retry::{self, Decision, Kind, Signs, Tries};
use super::token::TokenSource;
use super::transport::{Broken, Permits, broken, build, causes};
use crate::ports::{Clock, Woken};

/// The form of every REST answer.
pub(crate) const JSON: &str = "application/vnd.github+json";
const API_VERSION: &str = "2026-03-10";
const REDIRECTS: u32 = 5;
const AT_ONCE: usize = 32;
const ERROR_BYTES: u64 = 64 << 10;

/// Bounds of one request.
#[derive(Debug, Clone)]
pub struct Bounds {
    /// Time to connect.
    pub connect: Duration,
    /// Time without a byte.
    pub idle: Duration,
    /// Time for a whole answer.
    pub whole: Duration,
    /// Bytes of an answer after decompression.
    pub bytes: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            idle: Duration::from_secs(30),
            whole: Duration::from_secs(180),
            bytes: 64 << 20,
        }
    }
}

/// The forge counts REST and GraphQL apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quota {
    /// REST.
    Rest,
    /// GraphQL.
    Graph,
}

/// One request.
pub(crate) struct Ask<'a> {
    /// Method.
    pub(crate) method: Method,
    /// Address.
    pub(crate) url: Url,
    /// Form asked for.
    pub(crate) accept: &'a str,
    /// JSON body.
    pub(crate) body: Option<Vec<u8>>,
    /// ETag of what is known.
    pub(crate) condition: Option<&'a str>,
    /// Quota.
    pub(crate) quota: Quota,
    /// Whether it may be repeated.
    pub(crate) kind: Kind,
}

impl<'a> Ask<'a> {
    /// Makes a read.
    pub(crate) fn get(url: Url, condition: Option<&'a str>) -> Self {
        let (quota, kind) = (Quota::Rest, Kind::Read);
        Self { method: Method::GET, url, accept: JSON, body: None, condition, quota, kind }
    }

    /// Names the request without host or secrets.
    pub(crate) fn name(&self) -> String {
        let query = self.url.query().map(|query| format!("?{query}")).unwrap_or_default();
        tame(&format!("{} {}{query}", self.method, self.url.path()))
    }
}

/// What an answer's headers tell.
#[derive(Debug, Clone, Default)]
pub(crate) struct Head {
    /// ETag.
    pub(crate) etag: Option<String>,
    /// Links, where the answer has that header.
    pub(crate) links: Option<Links>,
    /// When the quota is filled again.
    pub(crate) reset: Option<Timestamp>,
}

/// A good answer.
pub(crate) enum Got<T> {
    /// With content.
    Fresh(Head, T),
    /// Nothing new since the condition.
    Unchanged(Head),
}

/// The HTTP client of one forge.
pub(crate) struct Client {
    api: Url,
    token: TokenSource,
    clock: Arc<dyn Clock + Send + Sync>,
    bounds: Bounds,
    max_wait: Duration,
    http: OnceLock<Result<Http, String>>,
    limits: Mutex<[Option<Hold>; 2]>,
    served: Mutex<Option<Timestamp>>,
    heard: Mutex<Heard>,
    permits: Permits,
}

#[derive(Clone, Copy)]
struct Hold {
    here: Timestamp,
    there: Timestamp,
}

impl Client {
    /// Makes a client; nothing is opened before the first request.
    pub(crate) fn new(
        api: Url,
        token: TokenSource,
        clock: Arc<dyn Clock + Send + Sync>,
        bounds: Bounds,
        max_wait: Duration,
    ) -> Self {
        Self {
            api,
            token,
            clock,
            bounds,
            max_wait,
            http: OnceLock::new(),
            limits: Mutex::new([None; 2]),
            served: Mutex::new(None),
            heard: Mutex::default(),
            permits: Permits::new(AT_ONCE),
        }
    }

    /// Returns the source of tokens.
    pub(crate) fn token(&self) -> &TokenSource {
        &self.token
    }

    /// Returns the clock.
    pub(crate) fn clock(&self) -> &(dyn Clock + Send + Sync) {
        &*self.clock
    }

    /// Returns the forge's clock at its last answer, else ours.
    pub(crate) fn server_time(&self) -> Timestamp {
        (*held(&self.served)).unwrap_or_else(|| self.clock.now())
    }

    /// Asks for JSON of one shape.
    pub(crate) fn json<T: DeserializeOwned>(&self, ask: &Ask<'_>) -> Result<Got<T>, Fault> {
        // Only this much of a request knows the shape: the rest is there once for all of them.
        let mut value = None;
        let got = self.run(ask, &mut |body| {
            // A slice is read several times faster than a stream; the bounds hold for what is read here.
            let mut bytes = Vec::new();
            body.read_to_end(&mut bytes).map_err(serde_json::Error::io)?;
            value = Some(serde_json::from_slice(&bytes)?);
            Ok(())
        })?;
        match (got, value) {
            (Got::Fresh(head, ()), Some(value)) => Ok(Got::Fresh(head, value)),
            (Got::Fresh(_, ()), None) => Err(Fault::failed(&ask.name(), "its content was not read")),
            (Got::Unchanged(head), _) => Ok(Got::Unchanged(head)),
        }
    }

    /// Asks and ignores the content.
    pub(crate) fn bare(&self, ask: &Ask<'_>) -> Result<Got<()>, Fault> {
        self.run(ask, &mut |_| Ok(()))
    }

    /// Notes a limit, so that other readers of this quota stop as well.
    pub(crate) fn hold(&self, quota: Quota, until: Timestamp) {
        let now = self.clock.now();
        let wait = until.duration_since(self.server_time());
        let here = Duration::try_from(wait).map_or(now, |wait| retry::later(now, wait));
        held(&self.limits)[quota as usize] = Some(Hold { here, there: until });
    }

    /// Runs one request to an answer or a fault.
    fn run(&self, ask: &Ask<'_>, read: &mut Reader<'_>) -> Result<Got<()>, Fault> {
        let request = ask.name();
        let mut tries = Tries::default();
        let mut renewed = false;
        let mut token = self.token.current().map_err(|why| unauthorised(&request, why))?;
        if let Some(body) = &ask.body
            && holds(body, token.expose_secret())
        {
            let why = "the text holds the token and is not sent".to_owned();
            return Err(Fault::Failed { request, why, effect: Effect::None });
        }
        loop {
            self.keep_hold(ask, &request)?;
            let _permit = self.permits.take();
            let broken = match self.send(ask, &token) {
                Err(broken) => broken,
                Ok(response) => match self.judge(ask, &request, response, tries, read) {
                    Judged::Done(got) => return Ok(got),
                    Judged::Fault(fault) => return Err(fault),
                    Judged::Broken(broken) => broken,
                    Judged::Again(pause) => {
                        tries.failed += 1;
                        drop(_permit);
                        self.pause(pause, &request)?;
                        continue;
                    }
                    Judged::Limited => {
                        tries.limited += 1;
                        continue;
                    }
                    Judged::Unauthorised(why) => match self.token.instead_of(&token) {
                        Some(other) if !renewed => {
                            (token, renewed) = (other, true);
                            continue;
                        }
                        _ => return Err(unauthorised(&request, why)),
                    },
                },
            };
            drop(_permit);
            match retry::broken(tries, ask.kind, spread()) {
                Some(pause) if !broken.hopeless => self.pause(pause, &request)?,
                _ => return Err(Fault::Failed { request, why: broken.why, effect: broken.effect }),
            }
            tries.failed += 1;
        }
    }

    fn judge(
        &self,
        ask: &Ask<'_>,
        request: &str,
        mut response: Response,
        tries: Tries,
        read: &mut Reader<'_>,
    ) -> Judged {
        let now = self.note_date(response.headers());
        let status = response.status().as_u16();
        let message = if status >= 400 { self.message(&mut response) } else { String::new() };
        let signs = Signs { status, headers: response.headers(), message: &message };
        match retry::decide(&signs, tries, now, ask.kind, spread()) {
            Decision::Take => {
                let head = head(response.headers());
                match self.content(response, read) {
                    Ok(()) => Judged::Done(Got::Fresh(head, ())),
                    Err(broken) => Judged::Broken(broken),
                }
            }
            Decision::Unchanged if ask.condition.is_some() => Judged::Done(Got::Unchanged(head(response.headers()))),
            Decision::Unchanged => Judged::Fault(Fault::failed(request, "status 304 to a request without a condition")),
            Decision::Again(pause) => Judged::Again(pause),
            Decision::WaitUntil(until) => {
                self.hold(ask.quota, until);
                if ask.kind == Kind::Write || tries.limited + 1 >= retry::LIMIT_WAITS {
                    return Judged::Fault(Fault::Limited { request: request.to_owned(), until });
                }
                Judged::Limited
            }
            Decision::Unauthorised => Judged::Unauthorised(message),
            Decision::Forbidden => Judged::Fault(denied(request, message, response.headers())),
            Decision::Missing => Judged::Fault(Fault::NotThere { request: request.to_owned(), message }),
            Decision::Fail => {
                let why =
                    if message.is_empty() { format!("status {status}") } else { format!("status {status}: {message}") };
                let effect = if status >= 500 { Effect::Unclear } else { Effect::Refused };
                Judged::Fault(Fault::Failed { request: request.to_owned(), why, effect })
            }
        }
    }

    fn content(&self, response: Response, read: &mut Reader<'_>) -> Result<(), Broken> {
        let mut body = self.capped(response, self.bounds.bytes);
        read(&mut body).map_err(|error| {
            let effect = Effect::Unclear;
            match error.classify() {
                serde_json::error::Category::Io if body.over => {
                    Broken::hopeless(format!("the answer is larger than {} bytes", self.bounds.bytes), effect)
                }
                serde_json::error::Category::Io => {
                    Broken { why: format!("the answer broke off: {}", causes(&error)), effect, hopeless: false }
                }
                serde_json::error::Category::Eof => {
                    let why = if body.seen == 0 { "status 200 with an empty body" } else { "the answer is cut off" };
                    Broken { why: why.to_owned(), effect, hopeless: false }
                }
                serde_json::error::Category::Syntax => Broken::hopeless("the answer is not JSON", effect),
                serde_json::error::Category::Data => {
                    Broken::hopeless(tame(&format!("the answer has another shape: {error}")), effect)
                }
            }
        })
    }

    fn capped<R: Read>(&self, response: R, bytes: u64) -> Capped<'_, R> {
        let until = self.clock.monotonic().saturating_add(self.bounds.whole);
        Capped { inner: response, left: bytes, seen: 0, over: false, until, clock: &*self.clock }
    }

    fn message(&self, response: &mut Response) -> String {
        #[derive(Deserialize)]
        struct Body {
            message: Option<String>,
            #[serde(default)]
            errors: Vec<serde_json::Value>,
        }
        let mut text = Vec::new();
        // A broken error body leaves the status, which is enough.
        let _ = self.capped(response, ERROR_BYTES).read_to_end(&mut text);
        let Ok(body) = serde_json::from_slice::<Body>(&text) else { return String::new() };
        let more = body.errors.iter().filter_map(|error| match error {
            serde_json::Value::String(text) => Some(text.clone()),
            other => other.get("message").and_then(|m| m.as_str()).map(str::to_owned),
        });
        let all: Vec<String> = body.message.into_iter().chain(more).collect();
        tame(&self.masked(&all.join(": ")))
    }

    /// Takes the token out of a text of the forge: proxies echo what they were sent.
    pub(crate) fn masked(&self, text: &str) -> String {
        match self.token.current() {
            Ok(token) => text.replace(token.expose_secret(), "***"),
            Err(_) => text.to_owned(),
        }
    }

    fn send(&self, ask: &Ask<'_>, token: &SecretString) -> Result<Response, Broken> {
        let http = self.http.get_or_init(|| build(&self.api, &self.bounds));
        let http = http.as_ref().map_err(|why| Broken::hopeless(why.clone(), Effect::None))?;
        let mut url = ask.url.clone();
        for _ in 0..=REDIRECTS {
            if !same_origin(&self.api, &url) {
                return Err(Broken::hopeless("it points to another host", Effect::Refused));
            }
            let mut request = http.request(ask.method.clone(), url.clone()).headers(headers(ask, token)?);
            if let Some(body) = &ask.body {
                request = request.body(body.clone());
            }
            let response = request.send().map_err(broken)?;
            match target(ask.kind, &url, &response)? {
                None => return Ok(response),
                Some(next) => {
                    self.note_date(response.headers());
                    url = next;
                }
            }
        }
        Err(Broken::hopeless("too many redirects", Effect::Refused))
    }

    fn keep_hold(&self, ask: &Ask<'_>, request: &str) -> Result<(), Fault> {
        if self.clock.interrupted() {
            return Err(interrupted(request));
        }
        let Some(hold) = held(&self.limits)[ask.quota as usize] else { return Ok(()) };
        let wait = Duration::try_from(hold.here.duration_since(self.clock.now())).unwrap_or_default();
        if wait > Duration::ZERO {
            if wait > self.max_wait || ask.kind == Kind::Write {
                return Err(Fault::Limited { request: request.to_owned(), until: hold.there });
            }
            self.pause(wait, request)?;
        }
        let mut limits = held(&self.limits);
        if limits[ask.quota as usize].is_some_and(|now| now.here <= hold.here) {
            limits[ask.quota as usize] = None;
        }
        Ok(())
    }

    fn pause(&self, time: Duration, request: &str) -> Result<(), Fault> {
        match self.clock.sleep(time) {
            Woken::Elapsed => Ok(()),
            Woken::Interrupted => Err(interrupted(request)),
        }
    }

    fn note_date(&self, headers: &HeaderMap) -> Timestamp {
        let date = headers.get(header::DATE).and_then(|v| v.to_str().ok()).and_then(retry::http_date);
        let mut served = held(&self.served);
        if let Some(date) = date {
            *served = Some(served.map_or(date, |known| known.max(date)));
        }
        let mut heard = held(&self.heard);
        heard.note(headers, date.map(|date| self.clock.now().duration_since(date)));
        date.unwrap_or_else(|| self.clock.now())
    }

    /// Returns what the answers so far told beside their content.
    pub(crate) fn heard(&self) -> Heard {
        held(&self.heard).clone()
    }

    /// Notes whether the account may change the description.
    pub(crate) fn hear_may_describe(&self, may: bool) {
        held(&self.heard).may_describe = Some(may);
    }
}

/// Reads the content of a good answer.
type Reader<'a> = dyn FnMut(&mut dyn Read) -> Result<(), serde_json::Error> + 'a;

enum Judged {
    Done(Got<()>),
    Fault(Fault),
    Broken(Broken),
    Again(Duration),
    Limited,
    Unauthorised(String),
}

/// Locks; a reader that stopped does not stop the others.
pub(crate) fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn holds(text: &[u8], secret: &str) -> bool {
    text.windows(secret.len().max(1)).any(|window| window == secret.as_bytes())
}

fn unauthorised(request: &str, why: String) -> Fault {
    Fault::Unauthorised { request: request.to_owned(), why: tame(&why) }
}

fn interrupted(request: &str) -> Fault {
    Fault::Failed { request: request.to_owned(), why: "interrupted".to_owned(), effect: Effect::None }
}

fn denied(request: &str, message: String, headers: &HeaderMap) -> Fault {
    let text = |name: &str| headers.get(name).and_then(|v| v.to_str().ok()).map(tame).filter(|t| !t.is_empty());
    let right = text("x-accepted-github-permissions").or_else(|| text("x-accepted-oauth-scopes"));
    let advice = text("x-github-sso").map(|_| "authorise the token for the organisation's single sign-on".to_owned());
    Fault::Denied { request: request.to_owned(), message, right, advice }
}

fn head(headers: &HeaderMap) -> Head {
    let etag = headers.get(header::ETAG).and_then(|v| v.to_str().ok()).map(str::to_owned);
    Head { etag, links: Links::of(headers), reset: retry::reset(headers) }
}

fn headers(ask: &Ask<'_>, token: &SecretString) -> Result<HeaderMap, Broken> {
    let plain = |text: &str| {
        HeaderValue::from_str(text).map_err(|_| Broken::hopeless("a header cannot be written", Effect::None))
    };
    let mut headers = HeaderMap::new();
    let mut secret = plain(&format!("Bearer {}", token.expose_secret()))?;
    secret.set_sensitive(true);
    headers.insert(header::AUTHORIZATION, secret);
    headers.insert(header::ACCEPT, plain(ask.accept)?);
    headers.insert("x-github-api-version", HeaderValue::from_static(API_VERSION));
    if ask.body.is_some() {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
    if let Some(etag) = ask.condition {
        headers.insert(header::IF_NONE_MATCH, plain(etag)?);
    }
    Ok(headers)
}

/// Returns where a redirect leads; `None` for an answer that is none.
fn target(kind: Kind, from: &Url, response: &Response) -> Result<Option<Url>, Broken> {
    let follow = match (response.status().as_u16(), kind) {
        (301 | 302 | 307 | 308, Kind::Read) | (307 | 308, Kind::Write) => true,
        (300..=303 | 305..=399, _) => false,
        _ => return Ok(None),
    };
    let status = response.status().as_u16();
    let place = response.headers().get(header::LOCATION).and_then(|v| v.to_str().ok());
    match place.and_then(|place| from.join(place).ok()) {
        Some(url) if follow => Ok(Some(url)),
        _ => Err(Broken::hopeless(format!("status {status}, a redirect that is not followed"), Effect::Refused)),
    }
}

/// Returns a number in 0..1 that differs between readers.
fn spread() -> f64 {
    use std::hash::{BuildHasher as _, Hasher as _, RandomState};
    let random = RandomState::new().build_hasher().finish();
    f64::from((random & 0xffff) as u16) / 65_536.0
}

struct Capped<'a, R> {
    inner: R,
    left: u64,
    seen: u64,
    over: bool,
    until: Duration,
    clock: &'a (dyn Clock + Send + Sync),
}

impl<R: Read> Read for Capped<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.clock.monotonic() > self.until {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "the whole answer takes too long"));
        }
        let n = self.inner.read(buffer)?;
        self.seen += n as u64;
        match self.left.checked_sub(n as u64) {
            Some(left) => self.left = left,
            None => {
                self.over = true;
                return Err(io::Error::other("the answer is too large"));
            }
        }
        Ok(n)
    }
}
