//! The control endpoints under `/_control`, for callers outside the process, and the picture of the end state.

use serde_json::{Value, json};

use super::http::{Reply, Req};
use super::scene::{Action, Scene, Scripted};
use super::state::{Ms, Reaction, State, User, iso, parse_time};

/// Answers a control request.
pub fn handle(st: &mut State, req: &Req) -> Reply {
    let name = req.path.trim_start_matches("/_control").trim_matches('/').to_owned();
    st.tick();
    let body = match req.body.is_empty() {
        true => Value::Null,
        false => match serde_json::from_slice(&req.body) {
            Ok(value) => value,
            Err(why) => return Reply::json(400, &json!({"message": why.to_string()})),
        },
    };
    let outcome = run(st, &req.method, &name, req, body);
    st.tick();
    match outcome {
        Ok(json) => Reply::json(200, &json),
        Err(why) => Reply::json(400, &json!({"message": why})),
    }
}

fn read<T: serde::de::DeserializeOwned>(value: Value) -> Result<T, String> {
    serde_json::from_value(value).map_err(|e| e.to_string())
}

fn run(st: &mut State, method: &str, name: &str, req: &Req, body: Value) -> Result<Value, String> {
    let at = || st.only_pull(req.query("repo").as_deref(), req.query("pull").and_then(|n| n.parse().ok()));
    match (method, name) {
        ("GET", "state") => Ok(dump(st)),
        ("GET", "log") => Ok(json!(st.log)),
        ("DELETE", "log") => {
            st.log.clear();
            Ok(json!({}))
        }
        ("GET", "violations") => Ok(json!(st.violations)),
        ("GET", "notes") => Ok(json!(st.notes)),
        ("GET", "pending") => {
            let due: Vec<Value> =
                st.due.iter().map(|d| json!({"at": iso(d.at), "pull": d.pull, "actions": d.actions})).collect();
            Ok(json!({"due": due, "script": st.script}))
        }
        ("POST", "scene") => st.add_scene(read::<Scene>(body)?).map(|()| json!({})),
        ("POST", "actions") => {
            let at = at()?;
            let actions: Vec<Action> = if body.is_array() { read(body)? } else { vec![read(body)?] };
            let ids = st.act_all(at, &actions)?;
            Ok(json!({"ids": ids}))
        }
        ("POST", "script") => {
            let list: Vec<Scripted> = if body.is_array() { read(body)? } else { vec![read(body)?] };
            list.into_iter().try_for_each(|s| st.add_script(s))?;
            Ok(json!({}))
        }
        ("POST", "users") => {
            st.add_user(read::<User>(body)?);
            Ok(json!({}))
        }
        ("POST", "faults") => {
            let list: Vec<Value> = if let Value::Array(list) = body { list } else { vec![body] };
            list.into_iter().try_for_each(|f| st.arm(read(f)?))?;
            Ok(json!({}))
        }
        ("DELETE", "faults") => {
            st.faults.clear();
            Ok(json!({}))
        }
        ("GET", "settings") => Ok(json!(st.settings)),
        ("POST", "settings") => {
            // Only the named switches change.
            let mut all = json!(st.settings);
            super::view::extend(&mut all, body);
            st.settings = read(all)?;
            st.version += 1;
            Ok(json!(st.settings))
        }
        ("GET", "clock") => Ok(json!({"now": iso(st.clock.now())})),
        ("POST", "clock") => clock(st, &body),
        ("POST", "quota") => {
            let (login, remaining) =
                (body["login"].as_str().unwrap_or_default(), body["remaining"].as_i64().unwrap_or(0));
            st.set_quota(
                login,
                body["resource"].as_str().unwrap_or("core"),
                remaining,
                body["reset_in_s"].as_i64().unwrap_or(3600),
            );
            Ok(json!({}))
        }
        ("POST", "bulk") => {
            let at = at()?;
            let count = |key: &str| body[key].as_u64().unwrap_or(0) as usize;
            let (user, path) =
                (body["user"].as_str().unwrap_or("bot[bot]"), body["path"].as_str().unwrap_or("src/a.rs"));
            let bulk = Bulk { user, path, body: body["body"].as_str().unwrap_or("[P2] Number {{n}}") };
            st.bulk(at, &bulk, [count("comments"), count("replies"), count("reviews"), count("issue_comments")])?;
            Ok(json!({}))
        }
        _ => Err(format!("no control endpoint {method} {name}")),
    }
}

fn clock(st: &mut State, body: &Value) -> Result<Value, String> {
    if let Some(stand) = body["freeze"].as_bool() {
        st.clock.freeze(stand);
    }
    if let Some(at) = body["set"].as_str() {
        st.clock.set(parse_time(at).ok_or("set: no time stamp")?);
    }
    if let Some(ms) = body["advance_ms"].as_i64() {
        st.clock.advance(ms);
    }
    Ok(json!({"now": iso(st.clock.now())}))
}

/// What mass-produced comments have in common.
pub struct Bulk<'a> {
    pub user: &'a str,
    pub path: &'a str,
    /// `{{n}}` is the number.
    pub body: &'a str,
}

impl State {
    /// Sets what a user has left.
    pub fn set_quota(&mut self, login: &str, resource: &str, remaining: i64, reset_in_s: i64) {
        let limit = if resource == "graphql" { self.settings.graphql_limit } else { self.settings.rate_limit };
        let reset = self.clock.now() + reset_in_s * 1000;
        self.quotas.insert(format!("{resource}:{login}"), super::state::Quota { used: limit - remaining, reset });
    }

    /// Makes many comments, replies, reviews and issue comments quickly; no anchors are looked up.
    pub fn bulk(&mut self, at: super::state::At, bulk: &Bulk<'_>, counts: [usize; 4]) -> Result<(), String> {
        self.ensure_user(bulk.user);
        let [comments, replies, reviews, talk] = counts;
        let keep = std::mem::replace(&mut self.settings.empty_reviews, false);
        let head = self.repos[at.repo].pull(at.pull).map(|p| p.head.clone()).unwrap_or_default();
        let text = |n: usize| bulk.body.replace("{{n}}", &n.to_string());
        let mut roots = Vec::new();
        let now: Ms = self.clock.now();
        for n in 0..comments {
            let draft = super::posts::Draft {
                user: bulk.user.into(),
                body: text(n),
                path: bulk.path.into(),
                side: "RIGHT".into(),
                line: Some(n as u64 % 50 + 1),
                start_line: None,
                commit: head.clone(),
                position: Some(n as u64 % 50 + 1),
                hunk: "@@ -0,0 +1,50 @@".into(),
                file_level: false,
                at: now,
            };
            roots.push(self.new_comment(at, draft, None)?);
        }
        for n in 0..replies {
            let root = *roots.get(n % roots.len().max(1)).ok_or("replies need comments")?;
            self.new_reply(at, bulk.user, &text(n), root)?;
        }
        for n in 0..reviews {
            self.new_review(at, bulk.user, &text(n), "COMMENTED", Some(head.clone()), None)?;
        }
        for n in 0..talk {
            self.new_talk(at, bulk.user, &text(n), None);
        }
        self.settings.empty_reviews = keep;
        Ok(())
    }
}

/// Returns the end state: what stands on every pull request.
pub fn dump(st: &State) -> Value {
    let emoji =
        |list: &[Reaction]| list.iter().map(|r| json!({"user": r.user, "content": r.content})).collect::<Vec<_>>();
    let mut repos = Vec::new();
    for repo in &st.repos {
        let mut pulls = Vec::new();
        for p in &repo.pulls {
            let comments: Vec<Value> = p
                .comments
                .iter()
                .map(|c| {
                    json!({
                        "id": c.id, "user": c.user, "body": c.body, "path": c.path, "line": c.line, "side": c.side,
                        "original_line": c.original_line, "commit": c.commit, "in_reply_to": c.reply_to, "review": c.review,
                        "outdated": c.outdated, "resolved_by": p.resolved.get(&c.reply_to.unwrap_or(c.id)),
                        "reactions": emoji(&c.reactions), "created_at": iso(c.created), "updated_at": iso(c.updated),
                    })
                })
                .collect();
            let reviews: Vec<Value> = p
                .reviews
                .iter()
                .map(|r| json!({"id": r.id, "user": r.user, "state": r.state, "body": r.body, "commit": r.commit}))
                .collect();
            let talk: Vec<Value> = p
                .talk
                .iter()
                .map(|t| json!({"id": t.id, "user": t.user, "body": t.body, "reactions": emoji(&t.reactions)}))
                .collect();
            let open = p.comments.iter().filter(|c| c.reply_to.is_none() && !p.resolved.contains_key(&c.id)).count();
            pulls.push(json!({
                "number": p.number, "title": p.title, "body": p.body, "state": p.state, "merged": p.merged, "draft": p.draft,
                "head": p.head, "heads": p.heads, "pushes": p.pushes, "base": p.base, "requested_reviewers": p.requested,
                "open_threads": open, "comments": comments, "reviews": reviews, "issue_comments": talk,
                "reactions": emoji(&p.reactions),
            }));
        }
        let statuses: Vec<Value> = repo
            .statuses
            .iter()
            .map(|s| json!({"sha": s.sha, "context": s.context, "state": s.state, "description": s.description, "user": s.user}))
            .collect();
        let checks: Vec<Value> = repo
            .checks
            .iter()
            .map(|c| json!({"sha": c.sha, "name": c.name, "status": c.status, "conclusion": c.conclusion}))
            .collect();
        repos.push(json!({"name": repo.slug(), "pulls": pulls, "statuses": statuses, "check_runs": checks}));
    }
    json!({"now": iso(st.clock.now()), "keys": st.keys, "repos": repos, "notes": st.notes, "violations": st.violations})
}
