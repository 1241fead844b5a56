//! The list of threads, read from both ends at once: one page leads to the next, and a long list has many.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use serde_json::json;

use super::{Cursor, InRepository, KeptThread, Threads, WireThread, not_there, partial};
use crate::github::fault::Fault;
use crate::github::rest::{Api, parallel};
use crate::github::retry::Kind;
use crate::review::ids::RepoSlug;

/// Where two readings of one list, from its ends, come together.
struct Met {
    /// Threads that one of them has read.
    seen: Mutex<HashSet<String>>,
    /// True when nothing is left between them, or one of them failed.
    over: AtomicBool,
}

/// A reading of the list of threads from one of its ends.
struct End<'a> {
    api: &'a Api,
    operation: &'static str,
    /// The variable that takes the cursor.
    from: &'static str,
    slug: &'a RepoSlug,
    number: u64,
    cursor: Cursor,
}

impl End<'_> {
    /// Reads the next page, in the order of the list; `false` when it was the last.
    fn page(&mut self) -> Result<(Vec<WireThread>, bool), Fault> {
        let request = self.api.graph_name(self.operation);
        let mut variables = json!({"owner": self.slug.owner, "name": self.slug.name, "number": self.number});
        variables[self.from] = json!(self.cursor.after.as_deref());
        let data: InRepository<Threads> = self.api.graph(self.operation, Kind::Read, &variables)?;
        let threads = data.repository.and_then(|r| r.pull_request).ok_or_else(|| not_there(&request))?;
        if let Some(may) = threads.viewer_can_update {
            self.api.client.hear_may_describe(may);
        }
        let page = threads.review_threads.ok_or_else(|| partial(&request))?;
        let nodes: Option<Vec<WireThread>> = page.nodes.into_iter().collect();
        let more = self.cursor.advance(page.page_info, &request)?;
        Ok((nodes.ok_or_else(|| partial(&request))?, more))
    }

    /// Reads on until the list ends or the other reading is met; what it leaves is what the other one has not read.
    fn until(&mut self, met: &Met) -> Result<Vec<WireThread>, Fault> {
        let mut found = Vec::new();
        while !met.over.load(Ordering::Acquire) {
            let page = self.page();
            let (threads, more) = page.inspect_err(|_| met.over.store(true, Ordering::Release))?;
            let (all, mut seen) = (threads.len(), met.seen.lock().unwrap_or_else(PoisonError::into_inner));
            let new: Vec<WireThread> = threads.into_iter().filter(|thread| seen.insert(thread.id.clone())).collect();
            if new.len() < all || !more {
                met.over.store(true, Ordering::Release);
            }
            // Nearest to where this reading began comes first.
            if self.from == "before" { found.extend(new.into_iter().rev()) } else { found.extend(new) }
        }
        Ok(found)
    }
}

impl Api {
    /// Reads all threads with the ids of all their comments.
    pub(crate) fn threads(&self, slug: &RepoSlug, number: u64) -> Result<Vec<KeptThread>, Fault> {
        let request = self.graph_name("Threads");
        let end = |operation, from| End { api: self, operation, from, slug, number, cursor: Cursor::default() };
        let (mut front, mut back) = (end("Threads", "after"), end("ThreadsBefore", "before"));
        let (mut found, more) = front.page()?;
        if more {
            let met = Met {
                seen: Mutex::new(found.iter().map(|thread| thread.id.clone()).collect()),
                over: AtomicBool::new(false),
            };
            let (rest, tail) = thread::scope(|scope| {
                let tail = scope.spawn(|| back.until(&met));
                let rest = front.until(&met);
                (rest, tail.join())
            });
            found.extend(rest?);
            let tail = tail.map_err(|_| Fault::failed(&request, "incomplete read: a worker ended early"))??;
            found.extend(tail.into_iter().rev());
        }
        parallel(found, 8, |thread| self.whole(thread, &request))
    }
}
