//! Reads of single resources and of whole lists, with conditions from the cache. Decides which page to ask, not what it means.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use camino::Utf8PathBuf;
use jiff::Timestamp;
use reqwest::Url;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::base::{BadBase, check, same_origin};
use super::client::{Ask, Bounds, Client, Got, JSON, held};
use super::etag::{Cache, Kept, Key};
use super::fault::Fault;
use super::pages::{self, Links};
use super::token::{TokenSource, digest};
use super::wire;
use crate::ports::Clock;

/// No list of a pull request has more pages than this.
const MOST_PAGES: usize = 2000;
const LONG: usize = 20;

/// How to reach a forge.
pub struct Connection {
    /// REST address.
    pub api_base: Url,
    /// GraphQL address, of the same origin.
    pub graphql: Url,
    /// Where the token comes from.
    pub token: TokenSource,
    /// Folder for kept answers; `None` keeps none.
    pub cache_dir: Option<Utf8PathBuf>,
    /// The longest wait for a limit.
    pub max_wait: Duration,
    /// Bounds of each request.
    pub bounds: Bounds,
    /// Time.
    pub clock: Arc<dyn Clock + Send + Sync>,
}

/// A forge's API.
pub struct Api {
    pub(crate) client: Client,
    pub(crate) cache: Cache,
    pub(crate) graphql: Url,
    base: Url,
}

/// Something that was read, and whether it differs from what was known.
#[derive(Debug)]
pub(crate) struct Seen<T> {
    /// What was read.
    pub(crate) value: T,
    /// False only when it is what was kept from the last reading.
    pub(crate) changed: bool,
}

/// The content of one page of a list.
pub(crate) trait Sheet: Serialize + DeserializeOwned + PartialEq + Send {
    /// Returns how many items it holds.
    fn count(&self) -> usize;
}

impl<T: Serialize + DeserializeOwned + PartialEq + Send> Sheet for Vec<T> {
    fn count(&self) -> usize {
        self.len()
    }
}

impl Sheet for wire::CheckRuns {
    fn count(&self) -> usize {
        self.check_runs.len()
    }
}

impl Sheet for wire::WorkflowRuns {
    fn count(&self) -> usize {
        self.workflow_runs.len()
    }
}

impl Sheet for wire::Combined {
    fn count(&self) -> usize {
        self.statuses.len()
    }
}

/// What is told of one page beside its items.
struct Page {
    count: usize,
    links: Links,
    changed: bool,
}

/// Asks for one page and puts its items away.
type AskPage<'a> = dyn Fn(Url) -> Result<Page, Fault> + Sync + 'a;

impl Api {
    /// Prepares the API of a forge; nothing is sent yet.
    pub fn connect(with: Connection) -> Result<Self, BadBase> {
        check(&with.api_base)?;
        check(&with.graphql)?;
        if !same_origin(&with.api_base, &with.graphql) {
            let why = "the token would be shown to another host than the API's";
            return Err(BadBase { address: with.graphql.to_string(), why });
        }
        let mut base = with.api_base;
        if !base.path().ends_with('/') {
            let path = format!("{}/", base.path());
            base.set_path(&path);
        }
        let client = Client::new(base.clone(), with.token, with.clock, with.bounds, with.max_wait);
        Ok(Self { client, cache: Cache::new(with.cache_dir), graphql: with.graphql, base })
    }

    /// Returns the address of a path whose outside parts are already encoded.
    pub(crate) fn url(&self, path: &str) -> Result<Url, Fault> {
        // A leading `./` keeps a colon in the first part from being read as a scheme.
        self.base.join(&format!("./{path}")).map_err(|_| Fault::failed(path, "it makes no address"))
    }

    /// Returns the key of an answer to our token.
    pub(crate) fn key(&self, url: &str) -> Key {
        let identity = self.client.token().current().map(|token| digest(&token)).unwrap_or_default();
        Key { identity, url: url.to_owned(), accept: JSON.to_owned() }
    }

    /// Keeps something that is no plain answer, under a name of ours.
    pub(crate) fn keep<T: Serialize>(&self, name: &str, value: T) {
        let at = self.client.clock().now();
        self.cache.put(&self.key(name), &Kept { etag: None, at, next: None, last: None, value });
    }

    /// Returns something kept under a name of ours, if it is not older than this.
    pub(crate) fn kept<T: DeserializeOwned>(&self, name: &str, at_most: Duration) -> Option<T> {
        let kept = self.cache.get::<T>(&self.key(name))?;
        self.young(kept.at, at_most).then_some(kept.value)
    }

    fn young(&self, at: Timestamp, at_most: Duration) -> bool {
        Duration::try_from(self.client.clock().now().duration_since(at)).is_ok_and(|age| age <= at_most)
    }

    /// Reads one resource.
    pub(crate) fn one<T>(&self, path: &str) -> Result<Seen<T>, Fault>
    where
        T: Serialize + DeserializeOwned + PartialEq,
    {
        let url = self.url(path)?;
        let key = self.key(url.as_str());
        let known = self.cache.get::<T>(&key);
        let condition = known.as_ref().and_then(|kept| kept.etag.as_deref());
        let ask = Ask::get(url, condition);
        match (self.client.json::<T>(&ask)?, &known) {
            (Got::Fresh(head, value), _) => {
                let changed = known.as_ref().is_none_or(|kept| kept.value != value);
                let kept = Kept { etag: head.etag, at: self.client.clock().now(), next: None, last: None, value };
                self.cache.put(&key, &kept);
                Ok(Seen { value: kept.value, changed })
            }
            (Got::Unchanged(_), Some(_)) => match known {
                Some(kept) => Ok(Seen { value: kept.value, changed: false }),
                None => Err(Fault::failed(&ask.name(), "status 304")),
            },
            (Got::Unchanged(_), None) => Err(Fault::failed(&ask.name(), "status 304 without a kept answer")),
        }
    }

    /// Reads a list whole: every page, by its own links.
    pub(crate) fn list<P: Sheet>(&self, path: &str) -> Result<Seen<Vec<P>>, Fault> {
        let first = self.url(path)?;
        let chain = self.known_chain::<P>(&first);
        let urls = chain.iter().map(|(url, _)| url.clone()).collect();
        let known: Mutex<HashMap<String, Option<Kept<P>>>> =
            Mutex::new(chain.into_iter().map(|(url, kept)| (url.into(), kept)).collect());
        let read: Mutex<HashMap<String, P>> = Mutex::default();
        let ask = |url: Url| {
            let known = held(&known).remove(url.as_str()).flatten();
            let (page, value) = self.page(&url, known)?;
            held(&read).insert(url.into(), value);
            Ok(page)
        };
        let (order, changed) = self.walk(first, urls, &ask)?;
        let mut read = read.into_inner().unwrap_or_else(PoisonError::into_inner);
        let pages: Option<Vec<P>> = order.iter().map(|url| read.remove(url)).collect();
        let value = pages.ok_or_else(|| Fault::failed(path, "incomplete read: a page is missing"))?;
        Ok(Seen { value, changed })
    }

    /// Asks for the pages of a list, those known before and those that follow; returns them in order, and whether any of
    /// them differs from what was known.
    fn walk(&self, first: Url, known: Vec<Url>, ask: &AskPage<'_>) -> Result<(Vec<String>, bool), Fault> {
        let request = Ask::get(first.clone(), None).name();
        let mut have = fetch(known, ask)?;
        let (mut order, mut seen) = (Vec::new(), HashSet::new());
        let (mut url, mut changed) = (first, false);
        let mut last: Option<Url> = None;
        loop {
            if !seen.insert(url.to_string()) || order.len() >= MOST_PAGES {
                return Err(Fault::failed(&request, "incomplete read: its pages do not end"));
            }
            if !have.contains_key(url.as_str()) {
                let ahead = pages::span(&url, last.as_ref(), MOST_PAGES as u32);
                // This one was noted as seen above; what was read before is not read again.
                let new = |page: &Url| *page == url || !seen.contains(page.as_str());
                let ahead = ahead.into_iter().filter(|page| !have.contains_key(page.as_str()) && new(page));
                let mut wanted: Vec<_> = ahead.collect();
                if wanted.first() != Some(&url) {
                    wanted = vec![url.clone()];
                }
                have.extend(fetch(wanted, ask)?);
            }
            let Some(page) = have.remove(url.as_str()) else {
                return Err(Fault::failed(&request, "incomplete read: a page is missing"));
            };
            changed |= page.changed;
            order.push(url.to_string());
            last = page.links.last.as_deref().and_then(|text| url.join(text).ok());
            url = match page.links.next {
                Some(next) => self.follow(&url, &next, &request)?,
                None => match pages::after(&url) {
                    after if have.get(after.as_str()).is_some_and(|page| page.count > 0) => after,
                    _ => break,
                },
            };
        }
        Ok((order, changed))
    }

    fn follow(&self, from: &Url, next: &str, request: &str) -> Result<Url, Fault> {
        match from.join(next) {
            Ok(url) if same_origin(&self.base, &url) => Ok(url),
            Ok(_) => Err(Fault::failed(request, "incomplete read: the next page is on another host")),
            Err(_) => Err(Fault::failed(request, "incomplete read: the next page has no address")),
        }
    }

    /// Returns the first page and the pages that followed it at the last reading. The last one's successor is among them
    /// where it may be full: the ETag of a page does not tell that another has come into being behind it.
    pub(crate) fn known_chain<P: Sheet>(&self, first: &Url) -> Vec<(Url, Option<Kept<P>>)> {
        let mut chain: Vec<(Url, Option<Kept<P>>)> = Vec::new();
        let mut next = Some((first.clone(), true));
        while let Some((url, wanted)) = next
            && chain.len() < MOST_PAGES
            && !chain.iter().any(|(known, _)| *known == url)
        {
            let kept = self.cache.get::<P>(&self.key(url.as_str()));
            next = match &kept {
                None => None,
                Some(kept) => match kept.next.as_deref() {
                    Some(next) => self.follow(&url, next, "").ok().map(|next| (next, false)),
                    None => may_go_on(kept).then(|| (pages::after(&url), true)),
                },
            };
            if kept.is_some() || wanted {
                chain.push((url, kept));
            }
        }
        chain
    }

    /// Returns a page as it was at the last reading.
    pub(crate) fn known_page<P: Sheet>(&self, url: &Url) -> Option<P> {
        self.cache.get::<P>(&self.key(url.as_str())).map(|kept| kept.value)
    }

    fn page<P: Sheet>(&self, url: &Url, known: Option<Kept<P>>) -> Result<(Page, P), Fault> {
        let key = self.key(url.as_str());
        let condition = known.as_ref().and_then(|kept| kept.etag.clone());
        let ask = Ask::get(url.clone(), condition.as_deref());
        match (self.client.json::<P>(&ask)?, known) {
            (Got::Fresh(head, value), known) => {
                let links = head.links.unwrap_or_default();
                let changed = known.is_none_or(|kept| kept.value != value || kept.links() != links);
                let at = self.client.clock().now();
                let (next, last) = (links.next.clone(), links.last.clone());
                let kept = Kept { etag: head.etag, at, next, last, value };
                // An answer that leads astray is not kept: the next reading asks without a condition.
                if kept.next.as_deref().is_none_or(|next| self.follow(url, next, "").is_ok()) {
                    self.cache.put(&key, &kept);
                }
                Ok((Page { count: kept.value.count(), links, changed }, kept.value))
            }
            (Got::Unchanged(head), Some(mut kept)) => {
                let links = head.links.unwrap_or_else(|| kept.links());
                if links != kept.links() {
                    (kept.next, kept.last) = (links.next.clone(), links.last.clone());
                    if kept.next.as_deref().is_none_or(|next| self.follow(url, next, "").is_ok()) {
                        self.cache.put(&key, &kept);
                    }
                }
                Ok((Page { count: kept.value.count(), links, changed: false }, kept.value))
            }
            (Got::Unchanged(_), None) => Err(Fault::failed(&ask.name(), "status 304 without a kept answer")),
        }
    }
}

fn fetch(wanted: Vec<Url>, ask: &AskPage<'_>) -> Result<HashMap<String, Page>, Fault> {
    let width = if wanted.len() > LONG { 32 } else { 8 };
    let pages = parallel(wanted, width, |url| {
        let name = url.to_string();
        ask(url).map(|page| (name, page))
    })?;
    Ok(pages.into_iter().collect())
}

/// Tells whether a page without a successor may be full.
fn may_go_on<P: Sheet>(kept: &Kept<P>) -> bool {
    let count = kept.value.count();
    kept.next.is_none() && count >= 10 && count.is_multiple_of(10)
}

/// Encodes one part of a path.
pub(crate) fn part(text: &str) -> String {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'~' => out.push(byte as char),
            b'.' if text != "." && text != ".." => out.push('.'),
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

/// Does the same to all items, so many at once, and stops early when one fails. Order is kept.
pub(crate) fn parallel<T: Send, R: Send, E: Send>(
    items: Vec<T>,
    width: usize,
    work: impl Fn(T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    if items.len() < 2 {
        return items.into_iter().map(work).collect();
    }
    let workers = width.clamp(1, items.len());
    let results: Mutex<Vec<(usize, Result<R, E>)>> = Mutex::new(Vec::with_capacity(items.len()));
    let queue = Mutex::new(items.into_iter().enumerate());
    let stop = AtomicBool::new(false);
    let turn = || {
        while !stop.load(Ordering::Relaxed) {
            let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((at, item)) = next else { break };
            let result = work(item);
            stop.fetch_or(result.is_err(), Ordering::Relaxed);
            results.lock().unwrap_or_else(PoisonError::into_inner).push((at, result));
        }
    };
    thread::scope(|scope| {
        for _ in 1..workers {
            scope.spawn(turn);
        }
        turn();
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_paths_cannot_leave_their_place() {
        let check = |text: &str, expected: &str| assert_eq!(part(text), expected);
        check("main", "main");
        check("feature/a b", "feature%2Fa%20b");
        check("..", "%2E%2E");
        check("v1.2", "v1.2");
        check("ä?#%", "%C3%A4%3F%23%25");
    }

    #[test]
    fn parallel_keeps_order_and_reports_the_failure() {
        let all: Vec<u32> = (0..50).collect();
        let doubled = parallel(all.clone(), 8, |n| Ok::<_, ()>(n * 2)).expect("all good");
        assert_eq!(doubled, all.iter().map(|n| n * 2).collect::<Vec<_>>());
        assert_eq!(parallel(all, 8, |n| if n == 7 { Err(n) } else { Ok(n) }), Err(7));
        assert_eq!(parallel(Vec::<u32>::new(), 8, Ok::<_, ()>), Ok(vec![]));
    }
}
