//! Single comments of both kinds, their reactions, and the conversation.

use serde_json::{Value, json};

use super::http::Reply;
use super::rest::{Call, Outcome, Refused, invalid, not_found, refuse};
use super::state::At;
use super::state::{Pull, parse_time};

/// Answers, `None` for a path that is not known.
pub fn handle(call: &mut Call<'_>, segs: &[&str]) -> Option<Outcome> {
    let method = call.req.method.clone();
    Some(match (method.as_str(), segs) {
        ("GET", ["issues", n]) => issue(call, n),
        ("GET", ["issues", n, "comments"]) => talk(call, n),
        ("POST", ["issues", n, "comments"]) => say(call, n),
        (_, ["issues", "comments", id]) => single(call, id, false),
        (_, ["pulls", "comments", id]) => single(call, id, true),
        (_, ["issues", "comments", id, "reactions"]) => reactions(call, Some(id), None),
        (_, ["pulls", "comments", id, "reactions"]) => reactions(call, Some(id), None),
        (_, ["issues", n, "reactions"]) => reactions(call, None, Some(n)),
        _ => return None,
    })
}

fn issue(call: &mut Call<'_>, number: &str) -> Outcome {
    let repo = &call.st.repos[call.repo];
    let url = format!("{}/repos/{}/issues/{number}", call.st.base, repo.slug());
    let form = |title: &str, body: &Option<String>, state: &str, author: &str, n: u64| json!({"number": n, "title": title, "body": body, "state": state, "user": call.st.user_json(author, false), "url": url});
    if let Some(issue) = repo.issues.iter().find(|i| i.number.to_string() == number) {
        return Ok(Reply::json(200, &form(&issue.title, &issue.body, &issue.state, &issue.author, issue.number)));
    }
    let at = call.at(number)?;
    let Some(p) = repo.pull(at.pull) else { return not_found() };
    let mut out = form(&p.title, &p.body, &p.state, &p.author, p.number);
    out["pull_request"] = json!({"url": format!("{}/repos/{}/pulls/{number}", call.st.base, repo.slug())});
    Ok(Reply::json(200, &out))
}

fn talk(call: &mut Call<'_>, number: &str) -> Outcome {
    let at = call.at(number)?;
    let Some(pull) = call.st.repos[at.repo].pull(at.pull) else { return not_found() };
    let since = call.req.query("since").as_deref().and_then(parse_time);
    let new = |t: &&super::state::Talk| since.is_none_or(|s| t.updated.div_euclid(1000) >= s.div_euclid(1000));
    let found: Vec<_> = pull.talk.iter().filter(new).collect();
    call.list(&found, |t| call.view().talk(pull, t))
}

fn say(call: &mut Call<'_>, number: &str) -> Outcome {
    let at = call.at(number)?;
    let body = call.body()?;
    let text = call.text(&body, "body")?;
    if text.trim().is_empty() {
        return invalid("IssueComment", "body", "body can't be blank");
    }
    let me = call.me.login.clone();
    let id = call.st.new_talk(at, &me, &text, None);
    call.st.heard.push_back((at.repo, at.pull, id, me, text));
    show(call, at, id, 201)
}

/// Shows a comment of either kind.
pub fn show(call: &Call<'_>, at: At, id: u64, status: u16) -> Outcome {
    let Some(pull) = call.st.repos[at.repo].pull(at.pull) else { return not_found() };
    let json = match (pull.comments.iter().find(|c| c.id == id), pull.talk.iter().find(|t| t.id == id)) {
        (Some(comment), _) => call.view().comment(pull, comment),
        (_, Some(talk)) => call.view().talk(pull, talk),
        _ => return not_found(),
    };
    let mut reply = Reply::json(status, &json);
    if status == 201 {
        reply.set("location", json["url"].as_str().unwrap_or_default());
    }
    Ok(reply)
}

fn find(call: &Call<'_>, id: u64, inline: bool) -> Result<(At, String), Refused> {
    let here = |p: &Pull| match inline {
        true => p.comments.iter().find(|c| c.id == id).map(|c| c.user.clone()),
        false => p.talk.iter().find(|t| t.id == id).map(|t| t.user.clone()),
    };
    let pulls = &call.st.repos[call.repo].pulls;
    let found = pulls.iter().find_map(|p| Some((At { repo: call.repo, pull: p.number, trigger: None }, here(p)?)));
    found.map_or_else(not_found, Ok)
}

fn single(call: &mut Call<'_>, id: &str, inline: bool) -> Outcome {
    let id: u64 = id.parse().or_else(|_| not_found())?;
    let (at, user) = find(call, id, inline)?;
    let own = user.eq_ignore_ascii_case(&call.me.login) || call.writer();
    match call.req.method.as_str() {
        "GET" => show(call, at, id, 200),
        "PATCH" | "DELETE" if !own => refuse(403, "Must have admin rights to Repository."),
        "PATCH" => {
            let body = call.body()?;
            let text = call.text(&body, "body")?;
            call.st.edit(at, id, &text);
            show(call, at, id, 200)
        }
        "DELETE" => {
            call.st.delete(at, id);
            Ok(Reply::json(204, &Value::Null))
        }
        _ => refuse(405, "Method Not Allowed"),
    }
}

fn reactions(call: &mut Call<'_>, comment: Option<&str>, number: Option<&str>) -> Outcome {
    let inline = call.req.path.contains("/pulls/comments/");
    let (at, to) = match (comment, number) {
        (Some(id), _) => {
            let id: u64 = id.parse().or_else(|_| not_found())?;
            (find(call, id, inline)?.0, id)
        }
        (None, n) => (call.at(n.unwrap_or_default())?, 0),
    };
    match call.req.method.as_str() {
        "GET" => {
            let all = call.st.reactions_mut(at, to).cloned().unwrap_or_default();
            let wanted = call.req.query("content");
            let found: Vec<_> = all.iter().filter(|r| wanted.as_ref().is_none_or(|w| *w == r.content)).collect();
            call.list(&found, |r| call.view().reaction(r))
        }
        "POST" => {
            let body = call.body()?;
            let content = body["content"].as_str().unwrap_or_default().to_owned();
            let known = ["+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes"];
            if !known.contains(&content.as_str()) {
                return invalid("Reaction", "content", "content is not one of the known reactions");
            }
            let me = call.me.login.clone();
            let Some((id, new)) = call.st.new_reaction(at, &me, &content, to) else { return not_found() };
            let list = call.st.reactions_mut(at, to).cloned().unwrap_or_default();
            let found = list.iter().find(|r| r.id == id).map(|r| call.view().reaction(r)).unwrap_or_default();
            Ok(Reply::json(if new { 201 } else { 200 }, &found))
        }
        _ => refuse(405, "Method Not Allowed"),
    }
}
