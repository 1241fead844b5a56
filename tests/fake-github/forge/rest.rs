//! Finds the resource of a REST path, asks for the permission, pages the lists. The resources themselves are in `rest_*`.

use serde_json::{Value, json};

use super::http::{Caller, Reply, Req, decode};
use super::shapes;
use super::state::At;
use super::state::State;
use super::view::{LONG_AGO, View};
use super::{rest_git, rest_pulls, rest_talk, rest_writes};

/// A refusal.
#[derive(Debug)]
pub struct Refused(pub Reply);

/// What a handler gives back.
pub type Outcome = Result<Reply, Refused>;

/// A request on its way to a handler.
pub struct Call<'a> {
    pub st: &'a mut State,
    pub req: &'a Req,
    pub me: &'a Caller,
    pub repo: usize,
    /// `/api/v3` when the caller uses it; links keep it.
    pub prefix: &'a str,
}

/// Refuses with a message.
pub fn refuse<T>(status: u16, message: &str) -> Result<T, Refused> {
    let body =
        json!({"message": message, "documentation_url": "https://docs.github.com/rest", "status": status.to_string()});
    Err(Refused(Reply::json(status, &body)))
}

/// Refuses with 422 and string errors.
pub fn unprocessable<T>(errors: &[&str]) -> Result<T, Refused> {
    let body = json!({"message": "Unprocessable Entity", "errors": errors, "documentation_url": "https://docs.github.com/rest",
        "status": "422"});
    Err(Refused(Reply::json(422, &body)))
}

/// Refuses with 422 and one error as an object.
pub fn invalid<T>(resource: &str, field: &str, message: &str) -> Result<T, Refused> {
    let error = json!({"resource": resource, "code": "custom", "field": field, "message": message});
    let body = json!({"message": "Validation Failed", "errors": [error], "documentation_url": "https://docs.github.com/rest",
        "status": "422"});
    Err(Refused(Reply::json(422, &body)))
}

/// Refuses as for something that is not there.
pub fn not_found<T>() -> Result<T, Refused> {
    refuse(404, "Not Found")
}

/// Returns whether the page may be kept until the next change.
pub fn cachable(req: &Req) -> bool {
    let last = req.path.rsplit('/').next().unwrap_or_default();
    let list = req.path.contains("/pulls/") || req.path.contains("/issues/");
    (list && matches!(last, "comments" | "reviews"))
        || (req.path == "/graphql" && !req.body.windows(8).any(|w| w == b"mutation"))
}

/// Answers a REST request.
pub fn answer(st: &mut State, req: &Req, me: &Caller, prefix: &str) -> Reply {
    let segs: Vec<String> = req.path.split('/').filter(|s| !s.is_empty()).map(|s| decode(s, false)).collect();
    let segs: Vec<&str> = segs.iter().map(String::as_str).collect();
    let outcome = route(st, req, me, prefix, &segs);
    let reply = outcome.unwrap_or_else(|Refused(reply)| reply);
    if st.settings.check_shapes {
        shapes::check_reply(st, req, &reply);
    }
    reply
}

fn route(st: &mut State, req: &Req, me: &Caller, prefix: &str, segs: &[&str]) -> Outcome {
    match (req.method.as_str(), segs) {
        ("GET", ["user"]) => {
            if me.kind == "installation" {
                return refuse(403, me.refusal());
            }
            let mut user = st.user_json(&me.login, false);
            for name in ["bio", "blog", "company", "email", "hireable", "location", "name"] {
                user[name] = Value::Null;
            }
            for name in ["followers", "following", "public_gists", "public_repos"] {
                user[name] = json!(0);
            }
            for name in ["created_at", "updated_at"] {
                user[name] = json!(LONG_AGO);
            }
            Ok(Reply::json(200, &user))
        }
        ("GET", ["rate_limit"]) => Ok(Reply::json(200, &rate_limit(st, me))),
        (_, ["repos", owner, name, rest @ ..]) => {
            let slug = format!("{owner}/{name}");
            if let Some(repo) = st.repo_index(&slug) {
                return in_repo(Call { st, req, me, repo, prefix }, rest);
            }
            let old = |r: &super::state::Repo| r.renamed_from.iter().any(|o| o.eq_ignore_ascii_case(&slug));
            match st.repos.iter().find(|r| old(r)) {
                Some(repo) => {
                    let query = if req.query_text.is_empty() { String::new() } else { format!("?{}", req.query_text) };
                    let tail = rest.iter().map(|s| format!("/{s}")).collect::<String>();
                    let to = format!("{}{prefix}/repositories/{}{tail}{query}", st.base, repo.id);
                    let mut reply = Reply::json(301, &json!({"message": "Moved Permanently", "url": to}));
                    reply.set("location", to);
                    Ok(reply)
                }
                None => not_found(),
            }
        }
        (_, ["repositories", id, rest @ ..]) => match st.repos.iter().position(|r| r.id.to_string() == *id) {
            Some(repo) => in_repo(Call { st, req, me, repo, prefix }, rest),
            None => not_found(),
        },
        _ => {
            st.violation(format!("unknown path: {} {}", req.method, req.path));
            not_found()
        }
    }
}

fn rate_limit(st: &State, me: &Caller) -> Value {
    let figures = |resource: &str, limit: i64| {
        let quota = st.quotas.get(&format!("{resource}:{}", me.login));
        let used = quota.map_or(0, |q| q.used);
        let reset = quota.map_or(st.clock.now() + 3_600_000, |q| q.reset) / 1000;
        json!({"limit": limit, "used": used, "remaining": limit - used, "reset": reset})
    };
    let (core, graphql) = (figures("core", st.settings.rate_limit), figures("graphql", st.settings.graphql_limit));
    let search = json!({"limit": 30, "used": 0, "remaining": 30, "reset": st.clock.now() / 1000 + 60});
    json!({"resources": {"core": core, "graphql": graphql, "search": search}, "rate": core})
}

/// Permission alternatives of a path inside a repository.
fn needs(method: &str, segs: &[&str]) -> &'static [(&'static str, &'static str)] {
    match (method, segs) {
        ("GET", ["issues", ..]) => &[("issues", "read"), ("pull_requests", "read")],
        (_, ["issues", ..]) => &[("issues", "write"), ("pull_requests", "write")],
        ("GET", ["pulls", ..]) => &[("pull_requests", "read")],
        (_, ["pulls", ..]) => &[("pull_requests", "write")],
        ("GET", ["commits", _, "check-runs"]) => &[("checks", "read")],
        ("GET", ["actions", ..]) => &[("actions", "read")],
        (_, ["check-runs", ..]) => &[("checks", "write")],
        ("GET", ["commits", _, "status" | "statuses"]) => &[("statuses", "read")],
        (_, ["statuses", ..]) => &[("statuses", "write")],
        ("GET", ["branches", .., "protection"] | ["branches", .., "protection", "required_status_checks"]) => {
            &[("administration", "read")]
        }
        ("GET", ["contents" | "compare" | "commits" | "branches", ..]) => &[("contents", "read")],
        _ => &[("metadata", "read")],
    }
}

fn in_repo(mut call: Call<'_>, segs: &[&str]) -> Outcome {
    let repo = &call.st.repos[call.repo];
    let access = call.st.access(repo, &call.me.login);
    // An app is installed on every repository; its permissions decide.
    if access == "none" && call.me.kind != "installation" {
        return not_found();
    }
    let method = call.req.method.as_str();
    let wanted = needs(method, segs);
    let checks = wanted[0].0 == "checks" && call.me.kind == "fine_grained";
    if checks || !wanted.iter().any(|(name, level)| call.me.may(name, level)) {
        let accepted: Vec<String> = wanted.iter().map(|(name, level)| format!("{name}={level}")).collect();
        let Err(Refused(mut reply)) = refuse::<()>(403, call.me.refusal()) else { return not_found() };
        reply.set("x-accepted-github-permissions", accepted.join("; "));
        return Err(Refused(reply));
    }
    match (method, segs) {
        ("GET", []) => {
            let login = call.me.login.clone();
            let mut out = call.view().repo(Some(&login));
            super::view::extend(&mut out, json!({"network_count": 0, "subscribers_count": 0}));
            Ok(Reply::json(200, &out))
        }
        (_, ["issues", ..])
        | ("GET" | "PATCH" | "DELETE", ["pulls", "comments", ..])
        | (_, ["pulls", "comments", _, "reactions"]) => {
            rest_talk::handle(&mut call, segs).unwrap_or_else(|| unknown(&mut call))
        }
        (
            "GET",
            ["pulls", ..]
            | ["commits", ..]
            | ["rules", ..]
            | ["branches", ..]
            | ["collaborators", ..]
            | ["actions", ..],
        ) => match rest_pulls::read(&mut call, segs) {
            Some(outcome) => outcome,
            None => unknown(&mut call),
        },
        ("GET", ["contents" | "compare", ..]) => rest_git::read(&mut call, segs).unwrap_or_else(|| unknown(&mut call)),
        _ => rest_writes::handle(&mut call, segs).unwrap_or_else(|| unknown(&mut call)),
    }
}

fn unknown(call: &mut Call<'_>) -> Outcome {
    let text = format!("unknown path: {} {}", call.req.method, call.req.path);
    call.st.violation(text);
    not_found()
}

impl Call<'_> {
    /// Returns the repository to render from.
    pub fn view(&self) -> View<'_> {
        View { st: self.st, repo: &self.st.repos[self.repo] }
    }

    /// Finds the pull request of a path.
    pub fn at(&self, number: &str) -> Result<At, Refused> {
        let number: u64 = number.parse().or_else(|_| not_found())?;
        match self.st.repos[self.repo].pull(number) {
            Some(_) => Ok(At { repo: self.repo, pull: number, trigger: None }),
            None => not_found(),
        }
    }

    /// Returns the request's JSON object.
    pub fn body(&self) -> Result<Value, Refused> {
        match serde_json::from_slice(&self.req.body) {
            Ok(value @ Value::Object(_)) => Ok(value),
            _ => refuse(400, "Problems parsing JSON"),
        }
    }

    /// Returns a text of the request; a too long one is refused.
    pub fn text(&self, body: &Value, field: &str) -> Result<String, Refused> {
        let text = body[field].as_str().unwrap_or_default().to_owned();
        if text.chars().count() > 65_536 {
            return invalid("IssueComment", field, &format!("{field} is too long (maximum is 65536 characters)"));
        }
        Ok(text)
    }

    /// Returns whether the caller may push.
    pub fn writer(&self) -> bool {
        let access = self.st.access(&self.st.repos[self.repo], &self.me.login);
        self.me.kind == "installation" || matches!(access, "write" | "maintain" | "admin")
    }

    /// Cuts the page asked for out of a list and renders only that.
    pub fn page<T>(&self, items: &[T], mut render: impl FnMut(&T) -> Value) -> (Vec<Value>, Option<String>) {
        let number = |name: &str, default: usize| self.req.query(name).and_then(|n| n.parse().ok()).unwrap_or(default);
        let asked = number("per_page", 30).clamp(1, 100);
        let size = self.st.settings.page_cap.map_or(asked, |cap| asked.min(cap.max(1)));
        let page = number("page", 1).max(1);
        let pages = items.len().div_ceil(size).max(1);
        let first = ((page - 1) * size).min(items.len());
        let last = (first + size).min(items.len());
        let shown = items[first..last].iter().map(&mut render).collect();
        let rest = || {
            let inner = self.req.path.split('/').skip(if self.req.path.starts_with("/repos/") { 4 } else { 3 });
            inner.map(|s| format!("/{s}")).collect::<String>()
        };
        let mut links = Vec::new();
        let mut link = |rel: &str, to: usize| {
            let kept = self.req.query_text.split('&').filter(|p| !p.is_empty() && !p.starts_with("page="));
            let query: Vec<String> = kept.map(str::to_owned).chain([format!("page={to}")]).collect();
            let (base, prefix, id) = (&self.st.base, self.prefix, self.st.repos[self.repo].id);
            links.push(format!("<{base}{prefix}/repositories/{id}{}?{}>; rel=\"{rel}\"", rest(), query.join("&")));
        };
        if page > 1 {
            link("prev", (page - 1).min(pages));
        }
        if page < pages {
            link("next", page + 1);
            link("last", pages);
        }
        if page > 1 {
            link("first", 1);
        }
        (shown, (!links.is_empty()).then(|| links.join(", ")))
    }

    /// Answers with one page of a list.
    pub fn list<T>(&self, items: &[T], render: impl FnMut(&T) -> Value) -> Outcome {
        let (shown, link) = self.page(items, render);
        Ok(linked(Reply::json(200, &Value::Array(shown)), link))
    }

    /// Answers with one page inside an object that tells the total.
    pub fn counted<T>(&self, name: &str, items: &[T], render: impl FnMut(&T) -> Value) -> Outcome {
        let (shown, link) = self.page(items, render);
        Ok(linked(Reply::json(200, &json!({"total_count": items.len(), name: shown})), link))
    }
}

/// Adds the Link header.
pub fn linked(mut reply: Reply, link: Option<String>) -> Reply {
    if let Some(link) = link {
        reply.set("link", link);
    }
    reply
}
