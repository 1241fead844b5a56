//! Writes: comments on the diff, replies, reviews, the pull request itself, statuses and check runs.

use serde_json::{Value, json};

use super::git;
use super::http::Reply;
use super::posts::Draft;
use super::rest::{Call, Outcome, Refused, not_found, refuse, unprocessable};
use super::rest_pulls::sha_of;
use super::rest_talk::show;
use super::state::At;
use super::state::{Check, Status};

/// Answers, `None` for a path that is not known.
pub fn handle(call: &mut Call<'_>, segs: &[&str]) -> Option<Outcome> {
    let method = call.req.method.clone();
    Some(match (method.as_str(), segs) {
        ("POST", ["pulls", n, "comments", id, "replies"]) => reply(call, n, id),
        ("POST", ["pulls", n, "comments"]) => comment(call, n),
        ("POST", ["pulls", n, "reviews"]) => review(call, n),
        ("PATCH", ["pulls", n]) => patch(call, n),
        ("POST", ["pulls", n, "requested_reviewers"]) => request(call, n),
        ("PUT", ["pulls", n, "reviews", id, "dismissals"]) => dismiss(call, n, id),
        ("POST", ["statuses", sha]) => status(call, sha),
        ("POST", ["check-runs"]) => check_run(call),
        _ => return None,
    })
}

fn open_pull(call: &Call<'_>, number: &str) -> Result<At, Refused> {
    call.at(number)
}

fn needed(call: &Call<'_>, body: &Value) -> Result<String, Refused> {
    let text = call.text(body, "body")?;
    match text.trim().is_empty() {
        true => unprocessable(&["Body can't be blank"]),
        false => Ok(text),
    }
}

fn reply(call: &mut Call<'_>, number: &str, id: &str) -> Outcome {
    let at = open_pull(call, number)?;
    let id: u64 = id.parse().or_else(|_| not_found())?;
    let body = call.body()?;
    let text = needed(call, &body)?;
    answer_thread(call, at, id, &text)
}

fn answer_thread(call: &mut Call<'_>, at: At, id: u64, text: &str) -> Outcome {
    let pull = call.st.repos[at.repo].pull(at.pull);
    let top = pull.and_then(|p| p.comments.iter().find(|c| c.id == id));
    if top.is_none_or(|c| c.reply_to.is_some()) {
        return not_found();
    }
    let me = call.me.login.clone();
    let Ok(new) = call.st.new_reply(at, &me, text, id) else { return not_found() };
    call.st.heard.push_back((at.repo, at.pull, new, me, text.to_owned()));
    show(call, at, new, 201)
}

fn comment(call: &mut Call<'_>, number: &str) -> Outcome {
    let at = open_pull(call, number)?;
    let body = call.body()?;
    let text = needed(call, &body)?;
    if let Some(id) = body["in_reply_to"].as_u64() {
        return answer_thread(call, at, id, &text);
    }
    let Some(sha) = body["commit_id"].as_str().map(str::to_owned) else {
        return unprocessable(&["\"commit_id\" wasn't supplied."]);
    };
    let draft = anchored(call, at, &body, &sha)?;
    let me = call.me.login.clone();
    let Ok(id) = call.st.new_comment(at, draft, None) else { return not_found() };
    call.st.heard.push_back((at.repo, at.pull, id, me, text));
    show(call, at, id, 201)
}

/// Checks path, line and side against the diff of base and commit.
fn anchored(call: &Call<'_>, at: At, body: &Value, sha: &str) -> Result<Draft, Refused> {
    let Some(pull) = call.st.repos[at.repo].pull(at.pull) else { return not_found() };
    let text = call.text(body, "body")?;
    if text.trim().is_empty() {
        return unprocessable(&["Body can't be blank"]);
    }
    let git = call.st.git_of(at.repo, at.pull).or_else(|why| refuse(500, &why))?;
    let from = git::merge_base(&git, &pull.base_sha, sha);
    let Some(files) = from.and_then(|from| git::diff(&git, &from, sha, None, 3).ok()) else {
        return unprocessable(&["Commit could not be resolved"]);
    };
    let path = body["path"].as_str().unwrap_or_default();
    let Some(file) = files.iter().find(|f| f.path == path) else {
        return unprocessable(&["Path could not be resolved"]);
    };
    let side = body["side"].as_str().unwrap_or("RIGHT");
    let base = Draft {
        user: call.me.login.clone(),
        body: text,
        path: path.to_owned(),
        side: side.to_owned(),
        line: None,
        start_line: None,
        commit: sha.to_owned(),
        position: Some(1),
        hunk: String::new(),
        file_level: true,
        at: call.st.clock.now(),
    };
    if body["subject_type"] == "file" {
        return Ok(base);
    }
    let Some(line) = body["line"].as_u64() else { return unprocessable(&["Line could not be resolved"]) };
    let Some((hunk, position, words)) = file.place(side, line) else {
        return unprocessable(&["Line could not be resolved"]);
    };
    let start = body["start_line"].as_u64();
    if let Some(start) = start {
        let start_side = body["start_side"].as_str().unwrap_or(side);
        match file.place(start_side, start) {
            Some((first, start_position, _)) if first == hunk && start_position < position => {}
            Some(_) => return unprocessable(&["Start line must precede the end line and be part of the same hunk"]),
            None => return unprocessable(&["Start line could not be resolved"]),
        }
    }
    Ok(Draft { line: Some(line), start_line: start, position: Some(position), hunk: words, file_level: false, ..base })
}

fn review(call: &mut Call<'_>, number: &str) -> Outcome {
    let at = open_pull(call, number)?;
    let body = call.body()?;
    let text = call.text(&body, "body")?;
    let Some(pull) = call.st.repos[at.repo].pull(at.pull) else { return not_found() };
    let own = pull.author.eq_ignore_ascii_case(&call.me.login);
    let state = match body["event"].as_str() {
        None => "PENDING",
        Some("COMMENT") => "COMMENTED",
        Some("APPROVE") if own => return unprocessable(&["Can not approve your own pull request"]),
        Some("REQUEST_CHANGES") if own => return unprocessable(&["Can not request changes on your own pull request"]),
        Some("APPROVE") => "APPROVED",
        Some("REQUEST_CHANGES") => "CHANGES_REQUESTED",
        Some(_) => {
            return unprocessable(&["Variable $event of type PullRequestReviewEvent was provided invalid value"]);
        }
    };
    let comments = body["comments"].as_array().cloned().unwrap_or_default();
    let blank = text.trim().is_empty();
    if blank && (state == "CHANGES_REQUESTED" || (state == "COMMENTED" && comments.is_empty())) {
        return unprocessable(&["Body can't be blank"]);
    }
    let sha = match body["commit_id"].as_str() {
        Some(sha) => sha_of(call, sha)?,
        None => pull.head.clone(),
    };
    // All anchors first: one bad anchor refuses everything.
    let drafts = comments.iter().map(|c| anchored(call, at, c, &sha)).collect::<Result<Vec<_>, _>>()?;
    let me = call.me.login.clone();
    let Ok(id) = call.st.new_review(at, &me, &text, state, Some(sha), None) else { return not_found() };
    for draft in drafts {
        if call.st.new_comment(at, draft, Some(id)).is_err() {
            return not_found();
        }
    }
    if state != "PENDING" {
        call.st.heard.push_back((at.repo, at.pull, id, me, text));
    }
    let Some(pull) = call.st.repos[at.repo].pull(at.pull) else { return not_found() };
    let found = pull.reviews.iter().find(|r| r.id == id).map(|r| call.view().review(pull, r));
    Ok(Reply::json(200, &found.unwrap_or_default()))
}

fn dismiss(call: &mut Call<'_>, number: &str, id: &str) -> Outcome {
    let at = open_pull(call, number)?;
    let body = call.body()?;
    if body["message"].as_str().unwrap_or_default().is_empty() {
        return unprocessable(&["message wasn't supplied."]);
    }
    if !call.writer() {
        return refuse(403, "Must have push access to dismiss a review.");
    }
    call.st.version += 1;
    let Ok(pull) = call.st.pull_mut(at) else { return not_found() };
    let Some(review) = pull.reviews.iter_mut().find(|r| r.id.to_string() == id) else { return not_found() };
    "DISMISSED".clone_into(&mut review.state);
    let id = review.id;
    let Some(pull) = call.st.repos[at.repo].pull(at.pull) else { return not_found() };
    let found = pull.reviews.iter().find(|r| r.id == id).map(|r| call.view().review(pull, r));
    Ok(Reply::json(200, &found.unwrap_or_default()))
}

fn patch(call: &mut Call<'_>, number: &str) -> Outcome {
    let at = open_pull(call, number)?;
    let body = call.body()?;
    call.text(&body, "body")?;
    call.text(&body, "title")?;
    let author = call.st.repos[at.repo].pull(at.pull).map(|p| p.author.clone()).unwrap_or_default();
    if !call.writer() && !author.eq_ignore_ascii_case(&call.me.login) {
        return refuse(403, "Must have admin rights to Repository.");
    }
    let now = call.st.clock.now();
    call.st.version += 1;
    let Ok(pull) = call.st.pull_mut(at) else { return not_found() };
    let word = |key: &str| body[key].as_str().map(str::to_owned);
    if let Some(title) = word("title") {
        pull.title = title;
    }
    if let Some(text) = body.get("body") {
        pull.body = text.as_str().map(str::to_owned);
    }
    if let Some(base) = word("base") {
        pull.base = base;
    }
    if let Some(state) = word("state") {
        pull.closed_at = (state == "closed").then_some(now);
        pull.state = state;
    }
    pull.updated = now;
    let Some(pull) = call.st.repos[at.repo].pull(at.pull) else { return not_found() };
    let mut out = call.view().pull(pull, true);
    super::view::extend(&mut out, super::rest_pulls::counts(call, at)?);
    super::view::extend(&mut out, json!({"mergeable": null, "mergeable_state": "unknown"}));
    Ok(Reply::json(200, &out))
}

fn request(call: &mut Call<'_>, number: &str) -> Outcome {
    let at = open_pull(call, number)?;
    let body = call.body()?;
    let logins: Vec<String> =
        body["reviewers"].as_array().into_iter().flatten().filter_map(|l| l.as_str().map(str::to_owned)).collect();
    if !call.writer() {
        return refuse(403, "Must have push access to request reviews.");
    }
    let Some(pull) = call.st.repos[at.repo].pull(at.pull) else { return not_found() };
    for login in &logins {
        if pull.author.eq_ignore_ascii_case(login) {
            return unprocessable(&["Review cannot be requested from pull request author."]);
        }
        if call.st.user(login).is_none() {
            return unprocessable(&["Reviews may only be requested from collaborators."]);
        }
    }
    call.st.version += 1;
    for login in logins {
        let login = call.st.user(&login).map_or(login.clone(), |u| u.login.clone());
        if let Ok(pull) = call.st.pull_mut(at)
            && !pull.requested.contains(&login)
        {
            pull.requested.push(login.clone());
        }
        call.st.heard.push_back((at.repo, at.pull, 0, login, String::new()));
    }
    let Some(pull) = call.st.repos[at.repo].pull(at.pull) else { return not_found() };
    Ok(Reply::json(201, &call.view().pull(pull, false)))
}

fn status(call: &mut Call<'_>, sha: &str) -> Outcome {
    if !call.writer() {
        return not_found();
    }
    let body = call.body()?;
    let sha = sha_of(call, sha)?;
    let state = body["state"].as_str().unwrap_or_default().to_owned();
    if !["error", "failure", "pending", "success"].contains(&state.as_str()) {
        return unprocessable(&["state is not included in the list"]);
    }
    let description = body["description"].as_str().map(str::to_owned);
    if description.as_ref().is_some_and(|d| d.chars().count() > 140) {
        return unprocessable(&["description is too long (maximum is 140 characters)"]);
    }
    let (id, created) = (call.st.fresh_id(), call.st.clock.now());
    call.st.version += 1;
    let new = Status {
        id,
        sha,
        context: body["context"].as_str().unwrap_or("default").to_owned(),
        state,
        description,
        target_url: body["target_url"].as_str().map(str::to_owned),
        user: call.me.login.clone(),
        created,
    };
    let json = call.view().status(&new, true);
    call.st.repos[call.repo].statuses.push(new);
    Ok(Reply::json(201, &json))
}

fn check_run(call: &mut Call<'_>) -> Outcome {
    if call.me.kind != "installation" {
        return refuse(403, "You must authenticate via a GitHub App.");
    }
    let body = call.body()?;
    let word = |key: &str| body[key].as_str().map(str::to_owned);
    let (Some(name), Some(sha)) = (word("name"), word("head_sha")) else {
        return unprocessable(&["name and head_sha are needed"]);
    };
    let sha = sha_of(call, &sha)?;
    let (id, suite, now) = (call.st.fresh_id(), call.st.fresh_id(), call.st.clock.now());
    call.st.version += 1;
    let conclusion = word("conclusion");
    let default = if conclusion.is_some() { "completed" } else { "queued" };
    let status = word("status").unwrap_or_else(|| default.to_owned());
    let output = |key: &str| body["output"][key].as_str().map(str::to_owned);
    let new = Check {
        id,
        suite,
        sha,
        name,
        completed: (status == "completed").then_some(now),
        status,
        conclusion,
        app_id: call.st.user(&call.me.login).map_or(1, |u| u.id),
        app_slug: call.me.login.trim_end_matches("[bot]").to_owned(),
        title: output("title"),
        summary: output("summary"),
        workflow: None,
        started: now,
    };
    let json = call.view().check(&new);
    call.st.repos[call.repo].checks.push(new);
    Ok(Reply::json(201, &json))
}
