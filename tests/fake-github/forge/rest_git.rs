//! Reads that come from the git repository alone: file contents and comparisons.

use serde_json::json;

use super::git;
use super::http::Reply;
use super::rest::{Call, Outcome, not_found, refuse};
use super::rest_pulls::{diff_text, raw};
use super::view::base64;

/// Answers a read, `None` for a path that is not known.
pub fn read(call: &mut Call<'_>, segs: &[&str]) -> Option<Outcome> {
    Some(match segs {
        ["contents", path @ ..] => contents(call, &path.join("/")),
        ["compare", spec @ ..] => compare(call, &spec.join("/")),
        _ => return None,
    })
}

fn open(call: &Call<'_>) -> Result<git2::Repository, super::rest::Refused> {
    let repo = &call.st.repos[call.repo];
    let forks = repo.pulls.iter().filter_map(|p| call.st.repo_index(p.head_repo.as_deref()?));
    let others: Vec<_> = forks.filter(|f| *f != call.repo).map(|f| call.st.repos[f].git.clone()).collect();
    git::open(&repo.git, &others).or_else(|why| refuse(500, &why))
}

fn contents(call: &mut Call<'_>, path: &str) -> Outcome {
    let repo = &call.st.repos[call.repo];
    let reference = call.req.query("ref").unwrap_or_else(|| repo.default_branch.clone());
    let git = open(call)?;
    let name = reference.strip_prefix("refs/heads/").unwrap_or(&reference);
    let Some(sha) = git::resolve(&git, name) else {
        return refuse(404, &format!("No commit found for the ref {reference}"));
    };
    let Some(bytes) = git::file(&git, &sha, path) else { return not_found() };
    if call.req.header("accept").is_some_and(|a| a.contains("raw")) {
        return Ok(raw("application/vnd.github.raw+json; charset=utf-8", bytes));
    }
    let blob = git2::Oid::hash_object(git2::ObjectType::Blob, &bytes).map(|o| o.to_string()).unwrap_or_default();
    let url = format!("{}/repos/{}/contents/{path}?ref={reference}", call.st.base, repo.slug());
    let name = path.rsplit('/').next().unwrap_or(path);
    let html = format!("{}/{}/blob/{reference}/{path}", call.st.base, repo.slug());
    Ok(Reply::json(
        200,
        &json!({
            "type": "file", "encoding": "base64", "size": bytes.len(), "name": name, "path": path, "sha": blob, "url": url,
            "content": base64(&bytes), "html_url": html, "git_url": null, "download_url": null,
            "_links": {"self": url, "html": html, "git": null},
        }),
    ))
}

fn compare(call: &mut Call<'_>, spec: &str) -> Outcome {
    let Some((base, head)) = spec.split_once("...") else { return not_found() };
    let git = open(call)?;
    let local = |name: &str| git::resolve(&git, name.rsplit(':').next().unwrap_or(name));
    let (Some(base), Some(head)) = (local(base), local(head)) else { return not_found() };
    let Some(fork) = git::merge_base(&git, &base, &head) else {
        return refuse(404, "No common ancestor between the two commits");
    };
    let fail = |why: git::Fail| refuse(500, &why);
    let files = git::diff(&git, &fork, &head, None, 3).or_else(fail)?;
    if call.req.header("accept").is_some_and(|a| a.contains("diff")) {
        return Ok(raw("text/plain; charset=utf-8", files.iter().map(diff_text).collect::<String>().into_bytes()));
    }
    let ahead = git::between(&git, &base, &head).or_else(|why| refuse(500, &why))?;
    let behind = git::between(&git, &head, &base).or_else(|why| refuse(500, &why))?.len();
    let status = match (ahead.len(), behind) {
        (0, 0) => "identical",
        (_, 0) => "ahead",
        (0, _) => "behind",
        _ => "diverged",
    };
    let view = call.view();
    let one = |sha: &str| git::commit(&git, sha).map(|c| view.commit(&c));
    let (commits, link) = call.page(&ahead, |c| view.commit(c));
    let files: Vec<_> = files.iter().map(|f| view.file(f, &head)).collect();
    let body = json!({
        "status": status, "ahead_by": ahead.len(), "behind_by": behind, "total_commits": ahead.len(), "commits": commits,
        "files": files, "base_commit": one(&base), "merge_base_commit": one(&fork),
        "url": format!("{}/repos/{}/compare/{spec}", call.st.base, call.st.repos[call.repo].slug()),
        "html_url": format!("{}/{}/compare/{spec}", call.st.base, call.st.repos[call.repo].slug()),
    });
    Ok(super::rest::linked(Reply::json(200, &body), link))
}
