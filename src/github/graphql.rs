//! The few things only GraphQL tells: threads, closing issues, who an app token is. A partial answer is no answer.

use std::collections::{BTreeMap, HashSet};

use reqwest::Method;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::client::{Ask, Got, Head, JSON, Quota};
use super::fault::{Effect, Fault, tame};
use super::rest::Api;
use super::retry::{self, Kind};
use crate::review::comment::Thread;
use crate::review::ids::{Login, RepoSlug};

mod ends;

/// The documents, by operation.
pub(crate) const DOCUMENTS: [(&str, &str); 6] = [
    ("Threads", include_str!("queries/threads.graphql")),
    ("ThreadsBefore", include_str!("queries/threads_before.graphql")),
    ("Thread", include_str!("queries/thread.graphql")),
    ("Viewer", include_str!("queries/viewer.graphql")),
    ("Resolve", include_str!("queries/resolve.graphql")),
    ("Linked", include_str!("queries/linked.graphql")),
];
const MOST_PAGES: usize = 1000;

#[derive(Deserialize)]
struct Envelope<T> {
    data: Option<T>,
    errors: Option<Vec<GraphError>>,
}

#[derive(Deserialize)]
struct GraphError {
    #[serde(rename = "type")]
    kind: Option<String>,
    message: Option<String>,
}

/// Whether a list goes on, towards its end or, where it is read backwards, its beginning.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PageInfo {
    #[serde(alias = "hasPreviousPage")]
    has_next_page: bool,
    #[serde(alias = "startCursor")]
    end_cursor: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Connected<T> {
    page_info: PageInfo,
    nodes: Vec<Option<T>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireThread {
    id: String,
    is_resolved: bool,
    #[serde(default)]
    is_outdated: bool,
    #[serde(default)]
    viewer_can_resolve: bool,
    resolved_by: Option<Named>,
    comments: Connected<WireComment>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireComment {
    full_database_id: Option<Digits>,
    /// What older servers have in place of the full id.
    database_id: Option<u64>,
    #[serde(default)]
    is_minimized: bool,
    pull_request_review: Option<WireReview>,
}

#[derive(Deserialize)]
struct WireReview {
    state: String,
}

/// A 64-bit id: a string by the schema, a number on older servers.
#[derive(Deserialize)]
#[serde(untagged)]
enum Digits {
    Text(String),
    Number(u64),
}

#[derive(Deserialize)]
struct Named {
    login: String,
}

/// A thread as it is kept between readings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeptThread {
    node_id: String,
    comments: Vec<u64>,
    resolved: bool,
    resolved_by: Option<Login>,
    outdated: bool,
    may_resolve: bool,
    minimised: Vec<u64>,
}

impl KeptThread {
    /// Turns it into `review`'s form; `None` for a thread that holds nothing but a draft.
    pub(crate) fn thread(&self) -> Option<Thread> {
        Some(Thread {
            node_id: self.node_id.clone(),
            root: *self.comments.first()?,
            comments: self.comments.clone(),
            resolved: self.resolved,
            resolved_by: self.resolved_by.clone(),
            outdated: self.outdated,
            may_resolve: self.may_resolve,
            minimised: self.minimised.clone(),
        })
    }
}

/// An issue that the pull request closes, as the forge tells it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WireIssue {
    pub(crate) number: u64,
    pub(crate) title: String,
    pub(crate) body: String,
    pub(crate) author: Option<IssueAuthor>,
}

/// Who opened an issue.
#[derive(Debug, Deserialize)]
pub(crate) struct IssueAuthor {
    #[serde(rename = "__typename")]
    pub(crate) kind: String,
    pub(crate) login: String,
}

#[derive(Deserialize)]
struct InRepository<T> {
    repository: Option<InPull<T>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct InPull<T> {
    pull_request: Option<T>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Threads {
    review_threads: Option<Connected<WireThread>>,
    viewer_can_update: Option<bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Linked {
    closing_issues_references: Option<Connected<WireIssue>>,
}

#[derive(Deserialize)]
struct NodeOnly {
    node: Option<MaybeThread>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum MaybeThread {
    Thread(WireThread),
    Other {},
}

#[derive(Deserialize)]
struct Viewer {
    viewer: Named,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Resolved {
    resolve_review_thread: Option<ResolvedThread>,
}

#[derive(Deserialize)]
struct ResolvedThread {
    thread: Option<ThreadState>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ThreadState {
    is_resolved: bool,
}

/// Counts pages and refuses cursors that do not advance.
#[derive(Default)]
struct Cursor {
    after: Option<String>,
    seen: HashSet<String>,
}

impl Cursor {
    /// Moves on; `false` at the end.
    fn advance(&mut self, info: PageInfo, request: &str) -> Result<bool, Fault> {
        if !info.has_next_page {
            return Ok(false);
        }
        match info.end_cursor {
            Some(cursor) if self.seen.len() < MOST_PAGES && self.seen.insert(cursor.clone()) => {
                self.after = Some(cursor);
                Ok(true)
            }
            _ => Err(Fault::failed(request, "incomplete read: the cursor does not advance")),
        }
    }
}

impl Api {
    /// Reads one thread whole; `None` when it is gone.
    pub(crate) fn one_thread(&self, node_id: &str) -> Result<Option<KeptThread>, Fault> {
        match self.thread_page(node_id, None) {
            Ok(Some(thread)) => self.whole(thread, &self.graph_name("Thread")).map(Some),
            Ok(None) | Err(Fault::NotThere { .. }) => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    fn thread_page(&self, node_id: &str, after: Option<&str>) -> Result<Option<WireThread>, Fault> {
        let data: NodeOnly = self.graph("Thread", Kind::Read, &json!({"id": node_id, "after": after}))?;
        match data.node {
            Some(MaybeThread::Thread(thread)) => Ok(Some(thread)),
            Some(MaybeThread::Other {}) => Err(partial(&self.graph_name("Thread"))),
            None => Ok(None),
        }
    }

    /// Reads the rest of a thread's comments: a thread read in part proves nothing.
    fn whole(&self, mut thread: WireThread, request: &str) -> Result<KeptThread, Fault> {
        let mut kept = KeptThread {
            node_id: thread.id.clone(),
            comments: Vec::new(),
            resolved: thread.is_resolved,
            resolved_by: thread.resolved_by.as_ref().map(|by| Login::new(&by.login)),
            outdated: thread.is_outdated,
            may_resolve: thread.viewer_can_resolve,
            minimised: Vec::new(),
        };
        let mut cursor = Cursor::default();
        loop {
            for comment in thread.comments.nodes {
                add(&mut kept, comment.ok_or_else(|| partial(request))?, request)?;
            }
            if !cursor.advance(thread.comments.page_info, request)? {
                return Ok(kept);
            }
            thread = self.thread_page(&kept.node_id, cursor.after.as_deref())?.ok_or_else(|| partial(request))?;
        }
    }

    /// Reads the issues that the pull request closes.
    pub(crate) fn closing_issues(&self, slug: &RepoSlug, number: u64) -> Result<Vec<WireIssue>, Fault> {
        let request = self.graph_name("Linked");
        let (mut cursor, mut found) = (Cursor::default(), Vec::new());
        loop {
            let variables =
                json!({"owner": slug.owner, "name": slug.name, "number": number, "after": cursor.after.as_deref()});
            let data: InRepository<Linked> = self.graph("Linked", Kind::Read, &variables)?;
            let linked = data.repository.and_then(|r| r.pull_request).ok_or_else(|| not_there(&request))?;
            let page = linked.closing_issues_references.ok_or_else(|| partial(&request))?;
            for issue in page.nodes {
                found.push(issue.ok_or_else(|| partial(&request))?);
            }
            if !cursor.advance(page.page_info, &request)? {
                return Ok(found);
            }
        }
    }

    /// Reads the login of the token's account as GraphQL spells it.
    pub(crate) fn viewer(&self) -> Result<String, Fault> {
        let data: Viewer = self.graph("Viewer", Kind::Read, &json!({}))?;
        Ok(data.viewer.login)
    }

    /// Resolves a thread, once; tells whether it is resolved now.
    pub(crate) fn resolve(&self, node_id: &str) -> Result<bool, Fault> {
        let data: Resolved = self.graph("Resolve", Kind::Write, &json!({"id": node_id}))?;
        Ok(data.resolve_review_thread.and_then(|r| r.thread).is_some_and(|thread| thread.is_resolved))
    }

    fn graph_name(&self, operation: &str) -> String {
        format!("POST {} ({operation})", self.graphql.path())
    }

    fn graph<T: DeserializeOwned>(
        &self,
        operation: &'static str,
        kind: Kind,
        variables: &serde_json::Value,
    ) -> Result<T, Fault> {
        let request = self.graph_name(operation);
        let document = DOCUMENTS.iter().find(|(name, _)| *name == operation).map_or("", |(_, text)| *text);
        let body = json!({"query": document, "operationName": operation, "variables": variables});
        let mut limited = 0;
        loop {
            let ask = Ask {
                method: Method::POST,
                url: self.graphql.clone(),
                accept: JSON,
                body: Some(body.to_string().into_bytes()),
                condition: None,
                quota: Quota::Graph,
                kind,
            };
            let Got::Fresh(head, envelope) = self.client.json::<Envelope<T>>(&ask)? else {
                return Err(Fault::failed(&request, "status 304"));
            };
            let errors = envelope.errors.unwrap_or_default();
            match (envelope.data, errors.is_empty()) {
                (Some(data), true) => return Ok(data),
                (None, true) => return Err(partial(&request)),
                _ => {}
            }
            let Some(until) = self.limit_of(&errors, &head, limited) else { return Err(fault_of(&request, &errors)) };
            self.client.hold(Quota::Graph, until);
            limited += 1;
            if kind == Kind::Write || limited >= retry::LIMIT_WAITS {
                return Err(Fault::Limited { request, until });
            }
        }
    }

    fn limit_of(&self, errors: &[GraphError], head: &Head, limited: u32) -> Option<jiff::Timestamp> {
        let rated = |error: &GraphError| {
            matches!(error.kind.as_deref(), Some("RATE_LIMITED" | "RATE_LIMIT"))
                || error.message.as_deref().is_some_and(|m| m.to_ascii_lowercase().contains("secondary rate limit"))
        };
        let now = self.client.server_time();
        let fallback = retry::later(now, retry::backoff(limited));
        errors.iter().any(rated).then(|| head.reset.filter(|reset| *reset > now).unwrap_or(fallback))
    }
}

fn add(kept: &mut KeptThread, comment: WireComment, request: &str) -> Result<(), Fault> {
    // Our own draft is nobody's business, and REST does not list it.
    if comment.pull_request_review.is_some_and(|review| review.state == "PENDING") {
        return Ok(());
    }
    let id = match (comment.full_database_id, comment.database_id) {
        (Some(Digits::Text(text)), _) => text.parse().ok(),
        (Some(Digits::Number(id)), _) | (None, Some(id)) => Some(id),
        (None, None) => None,
    };
    let id = id.ok_or_else(|| Fault::failed(request, "`fullDatabaseId` is not a number"))?;
    kept.comments.push(id);
    if comment.is_minimized {
        kept.minimised.push(id);
    }
    Ok(())
}

fn partial(request: &str) -> Fault {
    Fault::failed(request, "incomplete read: parts of the answer are missing")
}

fn not_there(request: &str) -> Fault {
    Fault::NotThere { request: request.to_owned(), message: String::new() }
}

fn fault_of(request: &str, errors: &[GraphError]) -> Fault {
    let mut kinds: BTreeMap<&str, &GraphError> = BTreeMap::new();
    for error in errors {
        kinds.entry(error.kind.as_deref().unwrap_or_default()).or_insert(error);
    }
    let said = |error: &GraphError| tame(error.message.as_deref().unwrap_or("no message"));
    let request = request.to_owned();
    if let Some(error) = ["FORBIDDEN", "INSUFFICIENT_SCOPES"].iter().find_map(|kind| kinds.get(kind)) {
        return Fault::Denied { request, message: said(error), right: None, advice: None };
    }
    if let Some(error) = kinds.get("NOT_FOUND") {
        return Fault::NotThere { request, message: said(error) };
    }
    let all: Vec<String> = errors.iter().map(said).collect();
    Fault::Failed {
        request,
        why: tame(&format!("the answer reports errors: {}", all.join("; "))),
        effect: Effect::Unclear,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_named_as_they_are_sent() {
        for (name, text) in DOCUMENTS {
            let document = graphql_parser::parse_query::<String>(text).expect(name);
            let found = document.definitions.iter().find_map(|definition| match definition {
                graphql_parser::query::Definition::Operation(graphql_parser::query::OperationDefinition::Query(q)) => {
                    q.name.clone()
                }
                graphql_parser::query::Definition::Operation(graphql_parser::query::OperationDefinition::Mutation(
                    m,
                )) => m.name.clone(),
                _ => None,
            });
            assert_eq!(found.as_deref(), Some(name));
        }
    }

    #[test]
    fn fc_02_a_cursor_that_stands_still_is_an_incomplete_read() {
        let info = |next, cursor: Option<&str>| PageInfo { has_next_page: next, end_cursor: cursor.map(str::to_owned) };
        let mut cursor = Cursor::default();
        assert_eq!(cursor.advance(info(true, Some("a")), "q"), Ok(true));
        assert_eq!(cursor.advance(info(true, Some("b")), "q"), Ok(true));
        assert!(cursor.advance(info(true, Some("a")), "q").is_err());
        assert!(cursor.advance(info(true, None), "q").is_err());
        assert_eq!(cursor.advance(info(false, Some("a")), "q"), Ok(false));
    }
}
