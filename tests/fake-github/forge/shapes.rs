//! The pinned shapes: which keys and JSON types each answer has, and which parameters and body fields a request may send.
//! Own list, written from the API's documentation; what is not in it is a violation.

use serde_json::Value;

use super::http::{Reply, Req};
use super::state::State;

/// A template of a path: `*` is one segment, `**` any number.
struct Route {
    method: &'static str,
    path: &'static str,
    /// Query parameters.
    query: &'static str,
    /// Body fields: `name:type`, `!` in front when compulsory.
    body: &'static str,
    /// Answer: name in `SHAPES`, in brackets for a list.
    answer: &'static str,
}

const fn route(
    method: &'static str,
    path: &'static str,
    query: &'static str,
    body: &'static str,
    answer: &'static str,
) -> Route {
    Route { method, path, query, body, answer }
}

const PAGE: &str = "per_page page";

/// Everything the program may call. Paths are those inside a repository, or full ones with a leading slash.
const ROUTES: &[Route] = &[
    route("GET", "/user", "", "", "user"),
    route("GET", "/rate_limit", "", "", "rates"),
    route("POST", "/graphql", "", "!query:s variables:o? operationName:s?", ""),
    route("GET", "", "", "", "repo"),
    route("GET", "pulls", "state head base sort direction per_page page", "", "[pull]"),
    route("GET", "pulls/*", "", "", "full_pull"),
    route("PATCH", "pulls/*", "", "title:s body:s state:s base:s", "full_pull"),
    route("GET", "pulls/*/comments", "sort direction since per_page page", "", "[comment]"),
    route(
        "POST",
        "pulls/*/comments",
        "",
        "!body:s in_reply_to:n commit_id:s path:s line:n side:s start_line:n start_side:s subject_type:s",
        "comment",
    ),
    route("POST", "pulls/*/comments/*/replies", "", "!body:s", "comment"),
    route("GET", "pulls/*/reviews", PAGE, "", "[review]"),
    route("POST", "pulls/*/reviews", "", "commit_id:s event:s body:s comments:a", "review"),
    route("GET", "pulls/*/reviews/*", "", "", "review"),
    route("PUT", "pulls/*/reviews/*/dismissals", "", "!message:s event:s", "review"),
    route("GET", "pulls/*/reviews/*/comments", PAGE, "", "[review_comment]"),
    route("GET", "pulls/*/files", PAGE, "", "[file]"),
    route("GET", "pulls/*/commits", PAGE, "", "[commit]"),
    route("GET", "pulls/*/requested_reviewers", "", "", "requested"),
    route("POST", "pulls/*/requested_reviewers", "", "reviewers:a team_reviewers:a", "pull"),
    route("GET", "pulls/comments/*", "", "", "comment"),
    route("PATCH", "pulls/comments/*", "", "!body:s", "comment"),
    route("DELETE", "pulls/comments/*", "", "", ""),
    route("GET", "pulls/comments/*/reactions", "content per_page page", "", "[reaction]"),
    route("POST", "pulls/comments/*/reactions", "", "!content:s", "reaction"),
    route("GET", "issues/*", "", "", "issue"),
    route("GET", "issues/*/comments", "since per_page page", "", "[talk]"),
    route("POST", "issues/*/comments", "", "!body:s", "talk"),
    route("GET", "issues/*/reactions", "content per_page page", "", "[reaction]"),
    route("POST", "issues/*/reactions", "", "!content:s", "reaction"),
    route("GET", "issues/comments/*", "", "", "talk"),
    route("PATCH", "issues/comments/*", "", "!body:s", "talk"),
    route("DELETE", "issues/comments/*", "", "", ""),
    route("GET", "issues/comments/*/reactions", "content per_page page", "", "[reaction]"),
    route("POST", "issues/comments/*/reactions", "", "!content:s", "reaction"),
    route("GET", "commits/*/check-runs", "filter check_name status app_id per_page page", "", "check_runs"),
    route("GET", "actions/runs", "head_sha per_page page", "", "workflow_runs"),
    route("GET", "commits/*/status", PAGE, "", "combined"),
    route("GET", "commits/*/statuses", PAGE, "", "[status]"),
    route("GET", "commits/**", "", "", "commit"),
    route("POST", "statuses/*", "", "!state:s target_url:s? description:s? context:s", "status"),
    route(
        "POST",
        "check-runs",
        "",
        "!name:s !head_sha:s status:s conclusion:s started_at:s completed_at:s external_id:s details_url:s output:o",
        "check",
    ),
    route("GET", "rules/branches/**", PAGE, "", "[rule]"),
    route("GET", "branches/**/protection/required_status_checks", "", "", "required"),
    route("GET", "branches/**/protection", "", "", "protection"),
    route("GET", "branches/**", "", "", "branch"),
    route("GET", "collaborators/*/permission", "", "", "permission"),
    route("GET", "contents/**", "ref", "", "content"),
    route("GET", "compare/**", PAGE, "", "compare"),
];

const PULL: &str = "id:n node_id:s number:n state:s locked:b title:s body:s? user:o? draft:b url:s html_url:s labels:a assignees:a \
    assignee:o? milestone:o? requested_reviewers:a requested_teams:a author_association:s created_at:s updated_at:s closed_at:s? \
    merged_at:s? auto_merge:o? merge_commit_sha:s? comments_url:s review_comments_url:s statuses_url:s commits_url:s head:o base:o";
const FULL: &str = "merged:b merged_by:o? comments:n review_comments:n maintainer_can_modify:b rebaseable:b? mergeable:b? \
    mergeable_state:s ~commits:n ~additions:n ~deletions:n ~changed_files:n";
const COMMENT: &str = "id:n node_id:s url:s html_url:s pull_request_url:s pull_request_review_id:n? diff_hunk:s path:s commit_id:s \
    original_commit_id:s user:o? body:s created_at:s updated_at:s reactions:o author_association:s position:n? original_position:n? \
    _links:o ~in_reply_to_id:n";
const LINES: &str = "side:s line:n? original_line:n? start_line:n? original_start_line:n? start_side:s? subject_type:s";

/// Keys of each answer: `name:type` with n number, s string, b boolean, o object, a list; `?` nullable; `~` may be absent.
const SHAPES: &[(&str, &[&str])] = &[
    (
        "user",
        &[
            "login:s id:n node_id:s type:s site_admin:b avatar_url:s url:s html_url:s user_view_type:s",
            "name:s? company:s? blog:s? location:s? email:s? hireable:b? bio:s? public_repos:n public_gists:n followers:n \
             following:n created_at:s updated_at:s",
        ],
    ),
    ("rates", &["resources:o rate:o"]),
    (
        "repo",
        &[
            "id:n node_id:s name:s full_name:s private:b owner:o? html_url:s url:s fork:b default_branch:s archived:b disabled:b \
           description:s? visibility:s clone_url:s ~permissions:o",
            "homepage:s? language:s? license:o? size:n stargazers_count:n watchers:n watchers_count:n network_count:n \
             subscribers_count:n forks:n forks_count:n open_issues:n open_issues_count:n has_downloads:b has_issues:b \
             has_projects:b has_wiki:b has_pages:b has_discussions:b pushed_at:s created_at:s updated_at:s",
        ],
    ),
    ("pull", &[PULL]),
    ("full_pull", &[PULL, FULL]),
    ("comment", &[COMMENT, LINES]),
    ("review_comment", &[COMMENT]),
    (
        "review",
        &[
            "id:n node_id:s user:o? body:s state:s html_url:s pull_request_url:s commit_id:s? author_association:s _links:o \
           ~submitted_at:s",
        ],
    ),
    (
        "talk",
        &["id:n node_id:s url:s html_url:s issue_url:s body:s user:o? created_at:s updated_at:s reactions:o \
           author_association:s performed_via_github_app:o?"],
    ),
    ("reaction", &["id:n node_id:s user:o? content:s created_at:s"]),
    ("issue", &["number:n title:s body:s? state:s user:o? url:s ~pull_request:o"]),
    ("requested", &["users:a teams:a"]),
    (
        "file",
        &["sha:s filename:s status:s additions:n deletions:n changes:n blob_url:s raw_url:s contents_url:s ~patch:s \
           ~previous_filename:s"],
    ),
    ("commit", &["sha:s node_id:s url:s html_url:s parents:a author:o? committer:o? comments_url:s commit:o"]),
    ("check_runs", &["total_count:n check_runs:a"]),
    ("workflow_runs", &["total_count:n workflow_runs:a"]),
    (
        "check",
        &[
            "id:n node_id:s name:s head_sha:s status:s conclusion:s? started_at:s? completed_at:s? external_id:s? url:s html_url:s? \
           details_url:s? pull_requests:a check_suite:o? app:o? output:o",
        ],
    ),
    ("combined", &["state:s statuses:a sha:s total_count:n repository:o commit_url:s url:s"]),
    (
        "status",
        &[
            "id:n node_id:s state:s description:s? target_url:s? context:s created_at:s updated_at:s url:s avatar_url:s? creator:o?",
        ],
    ),
    ("rule", &["type:s ruleset_source_type:s ruleset_source:s ruleset_id:n ~parameters:o"]),
    ("branch", &["name:s commit:o _links:o protected:b protection:o protection_url:s"]),
    ("required", &["url:s strict:b contexts:a contexts_url:s checks:a"]),
    (
        "protection",
        &[
            "url:s ~required_status_checks:o ~required_pull_request_reviews:o ~required_conversation_resolution:o ~enforce_admins:o",
        ],
    ),
    ("permission", &["permission:s role_name:s user:o?"]),
    (
        "content",
        &[
            "type:s encoding:s size:n name:s path:s sha:s url:s content:s html_url:s? git_url:s? download_url:s? _links:o",
        ],
    ),
    (
        "compare",
        &[
            "status:s ahead_by:n behind_by:n total_commits:n commits:a files:a base_commit:o merge_base_commit:o url:s html_url:s",
        ],
    ),
];

/// The part of the path that the table knows.
fn inner(path: &str) -> Option<String> {
    let mut segs = path.split('/').filter(|s| !s.is_empty());
    match segs.next() {
        Some("repos") => Some(segs.skip(2).collect::<Vec<_>>().join("/")),
        Some("repositories") => Some(segs.skip(1).collect::<Vec<_>>().join("/")),
        _ => Some(path.to_owned()),
    }
}

fn fits(pattern: &[&str], path: &[&str]) -> bool {
    match (pattern, path) {
        ([], []) => true,
        (["**", rest @ ..], _) => (1..=path.len()).any(|n| fits(rest, &path[n..])),
        (["*", rest @ ..], [_, tail @ ..]) => fits(rest, tail),
        ([a, rest @ ..], [b, tail @ ..]) => a == b && fits(rest, tail),
        _ => false,
    }
}

fn find(req: &Req) -> Option<&'static Route> {
    let path = inner(&req.path)?;
    let segs: Vec<&str> = path.split('/').collect();
    ROUTES.iter().find(|r| r.method == req.method && fits(&r.path.split('/').collect::<Vec<_>>(), &segs))
}

fn is_kind(kind: &str, value: &Value) -> bool {
    let (kind, nullable) = kind.strip_suffix('?').map_or((kind, false), |k| (k, true));
    match value {
        Value::Null => nullable,
        Value::String(_) => kind == "s",
        Value::Number(_) => kind == "n",
        Value::Bool(_) => kind == "b",
        Value::Array(_) => kind == "a",
        Value::Object(_) => kind == "o",
    }
}

/// Compares a request of the program with the table.
pub fn check_request(st: &mut State, req: &Req) {
    let here = format!("{} {}", req.method, req.path);
    if req.header("x-github-api-version").is_none() && req.path != "/graphql" {
        st.violation(format!("{here}: no X-GitHub-Api-Version"));
    }
    let Some(route) = find(req) else {
        st.violation(format!("unknown path: {here}"));
        return;
    };
    for (name, value) in req.queries() {
        if !route.query.split(' ').any(|n| n == name) {
            st.violation(format!("{here}: unknown query parameter {name}"));
        }
        if name == "direction" && req.query("sort").is_none() {
            st.violation(format!("{here}: direction={value} without sort is ignored"));
        }
    }
    if matches!(req.method.as_str(), "GET" | "DELETE") {
        if !req.body.is_empty() {
            st.violation(format!("{here}: a body"));
        }
        return;
    }
    let Ok(Value::Object(body)) = serde_json::from_slice::<Value>(&req.body) else {
        st.violation(format!("{here}: the body is no JSON object"));
        return;
    };
    let fields: Vec<(&str, &str, bool)> = route.body.split(' ').filter(|f| !f.is_empty()).map(field).collect();
    for (name, value) in &body {
        match fields.iter().find(|(n, _, _)| n == name) {
            None => st.violation(format!("{here}: unknown body field {name}")),
            Some((_, kind, _)) if !is_kind(kind, value) => {
                st.violation(format!("{here}: body field {name} is no {kind}"))
            }
            Some(_) => {}
        }
    }
    for (name, _, compulsory) in fields {
        if compulsory && !body.contains_key(name) {
            st.violation(format!("{here}: body field {name} is missing"));
        }
    }
}

fn field(text: &'static str) -> (&'static str, &'static str, bool) {
    let (name, kind) = text.split_once(':').unwrap_or((text, "s"));
    (name.trim_start_matches(['!', '~']), kind, name.starts_with('!'))
}

/// Compares an answer of the fake with the table.
pub fn check_reply(st: &mut State, req: &Req, reply: &Reply) {
    let json = reply.get("content-type").is_some_and(|t| t.starts_with("application/json"));
    if reply.status >= 300 || !json {
        return;
    }
    let Some(route) = find(req).filter(|r| !r.answer.is_empty()) else { return };
    let Ok(body) = serde_json::from_slice::<Value>(&reply.body) else { return };
    let list = route.answer.strip_prefix('[').and_then(|n| n.strip_suffix(']'));
    let mut wrong = Vec::new();
    match (list, &body) {
        (Some(name), Value::Array(items)) => items.iter().for_each(|item| compare(name, item, &mut wrong)),
        (Some(name), _) => wrong.push(format!("{name}: not a list")),
        (None, value) => compare(route.answer, value, &mut wrong),
    }
    let inside = match route.answer {
        "check_runs" => Some(("check", "check_runs")),
        _ => None,
    };
    if let Some((name, key)) = inside {
        body[key].as_array().into_iter().flatten().for_each(|item| compare(name, item, &mut wrong));
    }
    for text in wrong {
        st.violation(format!("answer to {} {}: {text}", req.method, route.path));
    }
}

/// Compares a value with a named shape.
pub fn compare(name: &str, value: &Value, wrong: &mut Vec<String>) {
    let Some((_, parts)) = SHAPES.iter().find(|(n, _)| *n == name) else {
        wrong.push(format!("no shape {name}"));
        return;
    };
    let Value::Object(map) = value else {
        wrong.push(format!("{name}: not an object"));
        return;
    };
    let keys: Vec<&str> = parts.iter().flat_map(|p| p.split_whitespace()).collect();
    for key in &keys {
        let (bare, kind, _) = split(key);
        match map.get(bare) {
            None if key.starts_with('~') => {}
            None => wrong.push(format!("{name}.{bare} is missing")),
            Some(value) if !is_kind(kind, value) => wrong.push(format!("{name}.{bare} is no {kind}: {value}")),
            Some(_) => {}
        }
    }
    for key in map.keys() {
        if !keys.iter().any(|k| split(k).0 == key) {
            wrong.push(format!("{name}.{key} is not in the table"));
        }
    }
}

fn split(text: &str) -> (&str, &str, bool) {
    let (name, kind) = text.split_once(':').unwrap_or((text, "s"));
    (name.trim_start_matches('~'), kind, name.starts_with('~'))
}
