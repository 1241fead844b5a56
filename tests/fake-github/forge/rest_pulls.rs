//! Reads of pull requests, their lists, checks, statuses, branch rules and roles.

use serde_json::{Value, json};

use super::git;
use super::http::Reply;
use super::rest::{Call, Outcome, Refused, not_found, refuse};
use super::state::At;
use super::state::{Check, Comment, Pull, Repo, Status, iso, parse_time};
use super::view::extend;

/// Answers a read, `None` for a path that is not known.
pub fn read(call: &mut Call<'_>, segs: &[&str]) -> Option<Outcome> {
    Some(match segs {
        ["pulls"] => pulls(call),
        ["pulls", n] => with(call, n, one),
        ["pulls", n, "comments"] => with(call, n, comments),
        ["pulls", n, "reviews"] => with(call, n, reviews),
        ["pulls", n, "reviews", id, "comments"] => with(call, n, |c, at| review_comments(c, at, id)),
        ["pulls", n, "reviews", id] => with(call, n, |c, at| review(c, at, id)),
        ["pulls", n, "files"] => with(call, n, files),
        ["pulls", n, "commits"] => with(call, n, commits),
        ["pulls", n, "requested_reviewers"] => with(call, n, requested),
        ["commits", sha, "check-runs"] => check_runs(call, sha),
        ["actions", "runs"] => workflow_runs(call),
        ["commits", sha, "status"] => combined(call, sha),
        ["commits", sha, "statuses"] => statuses(call, sha),
        ["commits", reference @ ..] if !reference.is_empty() => commit(call, &reference.join("/")),
        ["rules", "branches", branch @ ..] => rules(call, &branch.join("/")),
        ["branches", branch @ .., "protection", "required_status_checks"] => protection(call, &branch.join("/"), true),
        ["branches", branch @ .., "protection"] => protection(call, &branch.join("/"), false),
        ["branches", branch @ ..] => branch_info(call, &branch.join("/")),
        ["collaborators", login, "permission"] => permission(call, login),
        _ => return None,
    })
}

fn with(call: &mut Call<'_>, number: &str, then: impl FnOnce(&mut Call<'_>, At) -> Outcome) -> Outcome {
    let at = call.at(number)?;
    then(call, at)
}

fn pull<'a>(call: &'a Call<'_>, at: At) -> Result<&'a Pull, Refused> {
    call.st.repos[at.repo].pull(at.pull).map_or_else(not_found, Ok)
}

/// A read that shows the head brings a lagging head one step nearer.
pub fn spend_lag(call: &mut Call<'_>, number: u64) {
    let found = call.st.repos[call.repo].pulls.iter_mut().find(|p| p.number == number);
    if let Some(left) = found.and_then(|p| p.lag_left.as_mut()) {
        *left = left.saturating_sub(1);
    }
}

fn pulls(call: &mut Call<'_>) -> Outcome {
    let query = |name: &str| call.req.query(name);
    let state = query("state").unwrap_or_else(|| "open".into());
    let (head, base) = (query("head"), query("base"));
    let ascending = query("direction").is_some_and(|d| d == "asc");
    let by_update = query("sort").is_some_and(|s| s == "updated");
    let repo = &call.st.repos[call.repo];
    let label = |p: &Pull| {
        let owner = p.head_repo.as_deref().and_then(|s| s.split_once('/')).map_or(repo.owner.as_str(), |s| s.0);
        format!("{owner}:{}", p.head_branch)
    };
    // A head without an owner is ignored, as GitHub does.
    let head = head.filter(|h| h.contains(':'));
    let mut found: Vec<&Pull> = repo
        .pulls
        .iter()
        .filter(|p| state == "all" || p.state == state)
        .filter(|p| head.as_ref().is_none_or(|h| h.eq_ignore_ascii_case(&label(p))))
        .filter(|p| base.as_ref().is_none_or(|b| *b == p.base))
        .collect();
    found.sort_by_key(|p| (if by_update { p.updated } else { p.created }, p.number));
    if !ascending {
        found.reverse();
    }
    let numbers: Vec<u64> = found.iter().map(|p| p.number).collect();
    let outcome = call.list(&found, |p| call.view().pull(p, false));
    for number in numbers {
        spend_lag(call, number);
    }
    outcome
}

fn one(call: &mut Call<'_>, at: At) -> Outcome {
    let accept = call.req.header("accept").unwrap_or_default().to_owned();
    if accept.contains("diff") {
        let text = changed(call, at)?.iter().map(diff_text).collect::<String>();
        return Ok(raw("text/plain; charset=utf-8", text.into_bytes()));
    }
    let mut out = {
        let found = pull(call, at)?;
        call.view().pull(found, true)
    };
    extend(&mut out, counts(call, at)?);
    let (mergeable, word) = mergeable(call, at)?;
    out["mergeable"] = json!(mergeable);
    out["mergeable_state"] = json!(word);
    spend_lag(call, at.pull);
    Ok(Reply::json(200, &out))
}

/// What only the single read of a pull request counts.
pub fn counts(call: &Call<'_>, at: At) -> Result<Value, Refused> {
    let files = changed(call, at)?;
    let (add, del) = files.iter().fold((0, 0), |(a, d), f| (a + f.additions, d + f.deletions));
    let commits = own_commits(call, at)?.len();
    Ok(json!({"commits": commits, "additions": add, "deletions": del, "changed_files": files.len()}))
}

/// Works out whether the branches merge; the answer may be withheld for some reads.
pub fn mergeable(call: &mut Call<'_>, at: At) -> Result<(Option<bool>, String), Refused> {
    let git = call.st.git_of(at.repo, at.pull);
    let Ok(pull) = call.st.pull_mut(at) else { return not_found() };
    if pull.mergeable_null > 0 || pull.merged {
        pull.mergeable_null = pull.mergeable_null.saturating_sub(1);
        return Ok((None, "unknown".into()));
    }
    let fine = match (pull.mergeable, &pull.merge_cache, git) {
        (Some(fixed), _, _) => fixed,
        (None, Some((base, head, known)), _) if *base == pull.base_sha && *head == pull.head => *known,
        (None, _, Ok(git)) => git::merges(&git, &pull.base_sha, &pull.head),
        (None, _, Err(_)) => true,
    };
    pull.merge_cache = Some((pull.base_sha.clone(), pull.head.clone(), fine));
    let (draft, fixed) = (pull.draft, pull.mergeable_state.clone());
    let word = match (fine, draft) {
        (false, _) => "dirty",
        (true, true) => "draft",
        (true, false) if behind(call, at) => "behind",
        (true, false) => "clean",
    };
    Ok((Some(fine), fixed.unwrap_or_else(|| word.to_owned())))
}

/// Returns whether a rule wants the branch up to date and it is not.
fn behind(call: &Call<'_>, at: At) -> bool {
    let repo = &call.st.repos[at.repo];
    let Some(pull) = repo.pull(at.pull) else { return false };
    let rules = repo.rules.get(&pull.base).into_iter().flatten();
    let by_rule = rules.map(|r| &r["parameters"]["strict_required_status_checks_policy"]).any(|s| *s == true);
    let strict = by_rule || repo.protection.get(&pull.base).is_some_and(|p| p["strict"] == true);
    let git = call.st.git_of(at.repo, at.pull).ok().filter(|_| strict);
    git.is_some_and(|git| git::merge_base(&git, &pull.base_sha, &pull.head).as_ref() != Some(&pull.base_sha))
}

fn since(call: &Call<'_>) -> Option<i64> {
    call.req.query("since").as_deref().and_then(parse_time)
}

/// Sorts as the comment lists do: by creation unless `sort=updated`; a direction counts only with a sort.
fn sorted<'a, T>(
    call: &Call<'_>,
    items: &'a [T],
    created: fn(&T) -> (i64, u64),
    updated: fn(&T) -> (i64, u64),
) -> Vec<&'a T> {
    let since = since(call);
    // Whole seconds on both sides, as in the answers.
    let second = |ms: i64| ms.div_euclid(1000);
    let mut out: Vec<&T> = items.iter().filter(|i| since.is_none_or(|s| second(updated(i).0) >= second(s))).collect();
    match call.req.query("sort").as_deref() {
        Some("updated") => out.sort_by_key(|i| (second(updated(i).0), updated(i).1)),
        Some(_) => out.sort_by_key(|i| (second(created(i).0), created(i).1)),
        None => return out,
    }
    if call.req.query("direction").is_some_and(|d| d == "desc") {
        out.reverse();
    }
    out
}

fn comments(call: &mut Call<'_>, at: At) -> Outcome {
    let pull = pull(call, at)?;
    let shown = visible(call, pull);
    let found = sorted(call, &shown, |c| (c.created, c.id), |c| (c.updated, c.id));
    call.list(&found, |c| call.view().comment(pull, c))
}

/// Leaves out comments of other people's pending reviews.
fn visible<'a>(call: &Call<'_>, pull: &'a Pull) -> Vec<&'a Comment> {
    let hidden: Vec<u64> = pull
        .reviews
        .iter()
        .filter(|r| r.state == "PENDING" && !r.user.eq_ignore_ascii_case(&call.me.login))
        .map(|r| r.id)
        .collect();
    pull.comments.iter().filter(|c| c.review.is_none_or(|id| !hidden.contains(&id))).collect()
}

fn reviews(call: &mut Call<'_>, at: At) -> Outcome {
    let pull = pull(call, at)?;
    let seen = |r: &&super::state::Review| r.state != "PENDING" || r.user.eq_ignore_ascii_case(&call.me.login);
    let found: Vec<_> = pull.reviews.iter().filter(seen).collect();
    call.list(&found, |r| call.view().review(pull, r))
}

fn review(call: &mut Call<'_>, at: At, id: &str) -> Outcome {
    let pull = pull(call, at)?;
    match pull.reviews.iter().find(|r| r.id.to_string() == id) {
        Some(review) => Ok(Reply::json(200, &call.view().review(pull, review))),
        None => not_found(),
    }
}

fn review_comments(call: &mut Call<'_>, at: At, id: &str) -> Outcome {
    let pull = pull(call, at)?;
    let id = pull.reviews.iter().find(|r| r.id.to_string() == id).map_or_else(not_found, |r| Ok(r.id))?;
    let found: Vec<_> = pull.comments.iter().filter(|c| c.review == Some(id)).collect();
    // This list has no line fields, only positions.
    call.list(&found, |c| {
        let mut out = call.view().comment(pull, c);
        if let Some(map) = out.as_object_mut() {
            for key in
                ["line", "start_line", "original_line", "original_start_line", "side", "start_side", "subject_type"]
            {
                map.remove(key);
            }
        }
        out
    })
}

fn broken<T>(why: &str) -> Result<T, Refused> {
    refuse(422, why)
}

fn changed(call: &Call<'_>, at: At) -> Result<Vec<git::Changed>, Refused> {
    let pull = pull(call, at)?;
    let repo = call.st.git_of(at.repo, at.pull).or_else(|why| broken(&why))?;
    let from = git::merge_base(&repo, &pull.base_sha, &pull.head).unwrap_or_else(|| pull.base_sha.clone());
    git::diff(&repo, &from, &pull.head, None, 3).or_else(|why| broken(&why))
}

fn own_commits(call: &Call<'_>, at: At) -> Result<Vec<git::CommitInfo>, Refused> {
    let pull = pull(call, at)?;
    let repo = call.st.git_of(at.repo, at.pull).or_else(|why| broken(&why))?;
    git::between(&repo, &pull.base_sha, &pull.head).or_else(|why| broken(&why))
}

fn files(call: &mut Call<'_>, at: At) -> Outcome {
    let head = pull(call, at)?.head.clone();
    call.list(&changed(call, at)?, |f| call.view().file(f, &head))
}

fn commits(call: &mut Call<'_>, at: At) -> Outcome {
    call.list(&own_commits(call, at)?, |c| call.view().commit(c))
}

fn requested(call: &mut Call<'_>, at: At) -> Outcome {
    let users: Vec<Value> = pull(call, at)?.requested.iter().map(|l| call.st.user_json(l, false)).collect();
    Ok(Reply::json(200, &json!({"users": users, "teams": []})))
}

/// Makes the text of one file's diff.
pub fn diff_text(file: &git::Changed) -> String {
    let old = file.previous.as_ref().unwrap_or(&file.path);
    let (from, to) = match file.status {
        "added" => ("/dev/null".to_owned(), format!("b/{}", file.path)),
        "removed" => (format!("a/{old}"), "/dev/null".to_owned()),
        _ => (format!("a/{old}"), format!("b/{}", file.path)),
    };
    let more = match (file.status, &file.previous) {
        ("added", _) => "new file mode 100644\n".to_owned(),
        ("removed", _) => "deleted file mode 100644\n".to_owned(),
        (_, Some(previous)) => format!("rename from {previous}\nrename to {}\n", file.path),
        _ => String::new(),
    };
    let head = format!("diff --git a/{old} b/{}\n{more}", file.path);
    match file.patch() {
        Some(patch) => format!("{head}--- {from}\n+++ {to}\n{patch}\n"),
        None => head,
    }
}

/// Answers with bytes.
pub fn raw(kind: &str, body: Vec<u8>) -> Reply {
    let mut reply = Reply::json(200, &Value::Null);
    reply.set("content-type", kind);
    reply.body = body;
    reply
}

/// Turns a branch or short sha into a full one.
pub fn sha_of(call: &Call<'_>, name: &str) -> Result<String, Refused> {
    let repo = &call.st.repos[call.repo];
    let known = |sha: &String| sha.starts_with(name) && name.len() >= 7;
    let pulls = repo.pulls.iter().flat_map(|p| p.heads.iter());
    if let Some(sha) = pulls.chain(repo.statuses.iter().map(|s| &s.sha)).find(|s| known(s)) {
        return Ok(sha.clone());
    }
    let git = git::open(&repo.git, &[]).or_else(|why| broken(&why))?;
    git::resolve(&git, name).map_or_else(|| refuse(422, &format!("No commit found for SHA: {name}")), Ok)
}

fn commit(call: &mut Call<'_>, name: &str) -> Outcome {
    let sha = sha_of(call, name)?;
    let git = git::open(&call.st.repos[call.repo].git, &[]).or_else(|why| broken(&why))?;
    let Some(info) = git::commit(&git, &sha) else { return not_found() };
    if call.req.header("accept").is_some_and(|a| a.contains("sha")) {
        return Ok(raw("application/vnd.github.sha; charset=utf-8", sha.into_bytes()));
    }
    Ok(Reply::json(200, &call.view().commit(&info)))
}

/// Returns the newest run of each name and app, or all.
pub fn latest_checks<'a>(repo: &'a Repo, sha: &str, all: bool) -> Vec<&'a Check> {
    let mut found: Vec<&Check> = repo.checks.iter().filter(|c| c.sha == sha).collect();
    if !all {
        let newest = |c: &&Check| {
            let replaces = |o: &Check| c.workflow.is_none() && o.workflow.is_none() && o.id > c.id;
            !repo.checks.iter().any(|o| o.sha == c.sha && o.name == c.name && o.app_id == c.app_id && replaces(o))
        };
        found.retain(newest);
    }
    found.reverse();
    found
}

/// Returns the newest status of each context.
pub fn latest_statuses<'a>(repo: &'a Repo, sha: &str) -> Vec<&'a Status> {
    let mut out: Vec<&Status> = Vec::new();
    for status in repo.statuses.iter().rev().filter(|s| s.sha == sha) {
        if !out.iter().any(|s| s.context == status.context) {
            out.push(status);
        }
    }
    out
}

/// Folds states into one word: any failure, else any pending or none at all, else success.
pub fn overall(found: &[&Status]) -> &'static str {
    match found {
        [] => "pending",
        list if list.iter().any(|s| matches!(s.state.as_str(), "failure" | "error")) => "failure",
        list if list.iter().all(|s| s.state == "success") => "success",
        _ => "pending",
    }
}

fn check_runs(call: &mut Call<'_>, name: &str) -> Outcome {
    let sha = sha_of(call, name)?;
    let all = call.req.query("filter").is_some_and(|f| f == "all");
    let mut found = latest_checks(&call.st.repos[call.repo], &sha, all);
    if let Some(name) = call.req.query("check_name") {
        found.retain(|c| c.name == name);
    }
    call.counted("check_runs", &found, |c| call.view().check(c))
}

/// Workflow runs: one for each check run that has a workflow.
fn workflow_runs(call: &mut Call<'_>) -> Outcome {
    let sha = call.req.query("head_sha").unwrap_or_default();
    let checks = &call.st.repos[call.repo].checks;
    let found: Vec<&Check> = checks.iter().rev().filter(|c| c.workflow.is_some() && c.sha == sha).collect();
    call.counted("workflow_runs", &found, |c| {
        let repo = call.view().repo(None);
        json!({"id": c.suite, "node_id": format!("WFR_{}", c.suite), "check_suite_id": c.suite, "name": c.workflow,
            "path": c.workflow, "head_sha": c.sha, "head_branch": null, "status": c.status, "conclusion": c.conclusion,
            "event": "push", "run_number": 1, "display_title": c.name, "workflow_id": c.suite, "pull_requests": [],
            "created_at": iso(c.started), "updated_at": iso(c.completed.unwrap_or(c.started)), "head_commit": null,
            "head_repository": repo, "repository": repo})
    })
}

fn combined(call: &mut Call<'_>, name: &str) -> Outcome {
    let sha = sha_of(call, name)?;
    let found = latest_statuses(&call.st.repos[call.repo], &sha);
    let state = overall(&found);
    let (shown, link) = call.page(&found, |s| call.view().status(s, false));
    let body = json!({
        "state": state, "statuses": shown, "sha": sha, "total_count": found.len(), "repository": call.view().repo(None),
        "commit_url": format!("{}/repos/{}/commits/{sha}", call.st.base, call.st.repos[call.repo].slug()),
        "url": format!("{}/repos/{}/commits/{sha}/status", call.st.base, call.st.repos[call.repo].slug()),
    });
    Ok(super::rest::linked(Reply::json(200, &body), link))
}

fn statuses(call: &mut Call<'_>, name: &str) -> Outcome {
    let sha = sha_of(call, name)?;
    let found: Vec<_> = call.st.repos[call.repo].statuses.iter().rev().filter(|s| s.sha == sha).collect();
    call.list(&found, |s| call.view().status(s, true))
}

fn rules(call: &mut Call<'_>, branch: &str) -> Outcome {
    let repo = &call.st.repos[call.repo];
    let found = repo.rules.get(branch).cloned().unwrap_or_default();
    let source = json!({"ruleset_source_type": "Repository", "ruleset_source": repo.slug(), "ruleset_id": 42});
    call.list(&found, |rule| {
        let mut out = source.clone();
        extend(&mut out, rule.clone());
        if out["type"] == "required_status_checks"
            && out["parameters"]["strict_required_status_checks_policy"].is_null()
        {
            out["parameters"]["strict_required_status_checks_policy"] = json!(false);
        }
        out
    })
}

/// A branch as every reader sees it: whether it is protected, and which checks that requires.
fn branch_info(call: &mut Call<'_>, branch: &str) -> Outcome {
    let sha = sha_of(call, branch).or_else(|_| refuse(404, "Branch not found"))?;
    let git = git::open(&call.st.repos[call.repo].git, &[]).or_else(|why| broken(&why))?;
    let Some(info) = git::commit(&git, &sha) else { return not_found() };
    let commit = call.view().commit(&info);
    let rule = call.st.repos[call.repo].protection.get(branch);
    let checks = rule.and_then(|rule| rule["checks"].as_array().cloned()).unwrap_or_default();
    let names: Vec<&Value> = checks.iter().map(|check| &check["context"]).collect();
    let required = json!({"enforcement_level": if checks.is_empty() { "off" } else { "everyone" }, "contexts": names,
        "checks": checks, "strict": rule.is_some_and(|rule| rule["strict"] == true)});
    let url = format!("{}/repos/{}/branches/{branch}", call.st.base, call.st.repos[call.repo].slug());
    Ok(Reply::json(
        200,
        &json!({"name": branch, "commit": commit, "_links": {"self": url, "html": url}, "protected": rule.is_some(),
        "protection": {"enabled": rule.is_some(), "required_status_checks": required}, "protection_url": format!("{url}/protection")}),
    ))
}

fn protection(call: &mut Call<'_>, branch: &str, only_checks: bool) -> Outcome {
    let repo = &call.st.repos[call.repo];
    // Not allowed and not there look the same.
    if call.me.kind != "installation" && call.st.access(repo, &call.me.login) != "admin" {
        return not_found();
    }
    let Some(rule) = repo.protection.get(branch) else { return refuse(404, "Branch not protected") };
    let url = format!("{}/repos/{}/branches/{branch}/protection", call.st.base, repo.slug());
    let checks = rule["checks"].as_array().map(|list| {
        let names: Vec<&Value> = list.iter().map(|c| &c["context"]).collect();
        json!({"url": format!("{url}/required_status_checks"), "strict": rule["strict"].as_bool().unwrap_or(false),
            "contexts": names, "contexts_url": format!("{url}/required_status_checks/contexts"), "checks": list})
    });
    match (only_checks, checks) {
        (true, Some(checks)) => Ok(Reply::json(200, &checks)),
        (true, None) => refuse(404, "Required status checks not enabled"),
        (false, checks) => {
            let mut out = json!({"url": url});
            if let Some(checks) = checks {
                out["required_status_checks"] = checks;
            }
            for key in ["required_pull_request_reviews", "required_conversation_resolution", "enforce_admins"] {
                if !rule[key].is_null() {
                    out[key] = rule[key].clone();
                }
            }
            Ok(Reply::json(200, &out))
        }
    }
}

fn permission(call: &mut Call<'_>, login: &str) -> Outcome {
    if !call.writer() {
        return refuse(403, "Must have push access to view collaborator permission.");
    }
    let Some(user) = call.st.user(login) else { return refuse(404, &format!("{login} is not a user")) };
    let role = call.st.access(&call.st.repos[call.repo], &user.login);
    // The permission word knows four levels, the role name all of them.
    let word = match role {
        "maintain" => "write",
        "triage" => "read",
        other => other,
    };
    let mut user = call.st.user_json(login, false);
    user["role_name"] = json!(role);
    Ok(Reply::json(200, &json!({"permission": word, "role_name": role, "user": user})))
}
