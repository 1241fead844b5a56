//! The REST form of everything, with the nullable fields null where GitHub leaves them so.

use serde_json::{Map, Value, json};

use super::git::{Changed, CommitInfo};
use super::state::{Check, Comment, Pull, Reaction, Repo, Review, State, Status, Talk, iso};

/// When what nobody dates was made.
pub const LONG_AGO: &str = "2020-01-01T00:00:00Z";

/// One repository seen by the state.
#[derive(Clone, Copy)]
pub struct View<'a> {
    pub st: &'a State,
    pub repo: &'a Repo,
}

impl View<'_> {
    fn api(&self) -> String {
        format!("{}/repos/{}", self.st.base, self.repo.slug())
    }

    fn html(&self) -> String {
        format!("{}/{}", self.st.base, self.repo.slug())
    }

    /// Returns the repository in short.
    pub fn repo(&self, login: Option<&str>) -> Value {
        let r = self.repo;
        let mut out = json!({
            "id": r.id, "node_id": format!("R_{}", r.id), "name": r.name, "full_name": r.slug(), "private": r.private,
            "owner": self.st.user_json(&r.owner, false), "html_url": self.html(), "url": self.api(), "fork": false,
            "default_branch": r.default_branch, "archived": false, "disabled": false, "description": null, "forks": 0, "forks_count": 0,
            "has_downloads": true, "has_issues": true, "has_projects": false, "has_wiki": false, "has_pages": false,
            "has_discussions": false, "homepage": null, "language": null, "open_issues": r.pulls.len(),
            "open_issues_count": r.pulls.len(), "license": null, "size": 0, "stargazers_count": 0, "watchers": 0,
            "watchers_count": 0, "pushed_at": LONG_AGO,
            "created_at": LONG_AGO, "updated_at": LONG_AGO,
            "visibility": if r.private { "private" } else { "public" }, "clone_url": format!("{}.git", self.html()),
        });
        if let Some(login) = login {
            let level = self.st.access(r, login);
            let rank = |min: usize| {
                ["none", "read", "triage", "write", "maintain", "admin"].iter().position(|l| *l == level) >= Some(min)
            };
            out["permissions"] = json!({
                "admin": rank(5), "maintain": rank(4), "push": rank(3), "triage": rank(2), "pull": rank(1),
            });
        }
        out
    }

    /// Returns a pull request; `full` adds what only the single read gives.
    pub fn pull(&self, p: &Pull, full: bool) -> Value {
        let (st, api) = (self.st, self.api());
        let url = format!("{api}/pulls/{}", p.number);
        let head_repo = match p.head_repo.as_deref() {
            Some(slug) => st.repo_index(slug).map(|i| View { st, repo: &st.repos[i] }.repo(None)).unwrap_or_default(),
            None => self.repo(None),
        };
        let head_owner =
            p.head_repo.as_deref().and_then(|s| s.split_once('/')).map_or(self.repo.owner.as_str(), |s| s.0);
        let side = |label: &str, branch: &str, sha: &str, owner: &str, repo: Value| json!({"label": label, "ref": branch, "sha": sha, "user": st.user_json(owner, false), "repo": repo});
        let users: Vec<Value> = p.requested.iter().map(|l| st.user_json(l, false)).collect();
        let labels: Vec<Value> = p.labels.iter().map(|l| json!({"id": 1, "name": l, "color": "ededed"})).collect();
        let association = st.association(self.repo, &p.author, &p.author);
        let mut out = json!({
            "id": p.id, "node_id": format!("PR_{}", p.id), "number": p.number, "state": p.state, "locked": false,
            "title": p.title, "body": p.body, "user": st.user_json(&p.author, false), "draft": p.draft, "url": url,
            "html_url": format!("{}/pull/{}", self.html(), p.number), "labels": labels, "assignees": [], "assignee": null,
            "milestone": null, "requested_reviewers": users, "requested_teams": [], "author_association": association,
            "created_at": iso(p.created), "updated_at": iso(p.updated), "closed_at": p.closed_at.map(iso),
            "merged_at": if p.merged { p.closed_at.map(iso) } else { None }, "auto_merge": null,
            "merge_commit_sha": if p.merged { json!(p.head) } else { Value::Null },
            "comments_url": format!("{api}/issues/{}/comments", p.number), "review_comments_url": format!("{url}/comments"),
            "statuses_url": format!("{api}/statuses/{}", p.head), "commits_url": format!("{url}/commits"),
            "head": side(&format!("{head_owner}:{}", p.head_branch), &p.head_branch, &p.head, head_owner, head_repo),
            "base": side(&format!("{}:{}", self.repo.owner, p.base), &p.base, &p.base_sha, &self.repo.owner, self.repo(None)),
        });
        if full {
            let more = json!({
                "merged": p.merged, "merged_by": p.merged_by.as_deref().map(|l| st.user_json(l, false)),
                "comments": p.talk.len(), "review_comments": p.comments.len(), "maintainer_can_modify": false,
                "rebaseable": null,
            });
            extend(&mut out, more);
        }
        out
    }

    /// Returns a comment on the diff.
    pub fn comment(&self, p: &Pull, c: &Comment) -> Value {
        let api = self.api();
        let url = format!("{api}/pulls/comments/{}", c.id);
        let html = format!("{}/pull/{}#discussion_r{}", self.html(), p.number, c.id);
        let pull_url = format!("{api}/pulls/{}", p.number);
        let mut out = json!({
            "id": c.id, "node_id": format!("PRRC_{}", c.id), "url": url, "html_url": html, "pull_request_url": pull_url,
            "pull_request_review_id": c.review, "diff_hunk": c.hunk, "path": c.path, "commit_id": c.commit,
            "original_commit_id": c.original_commit, "user": self.st.user_json(&c.user, true), "body": c.body,
            "created_at": iso(c.created), "updated_at": iso(c.updated), "reactions": summary(&url, &c.reactions),
            "author_association": self.st.association(self.repo, &p.author, &c.user), "side": c.side, "line": c.line,
            "original_line": c.original_line, "start_line": c.start_line, "original_start_line": c.original_start_line,
            "start_side": c.original_start_line.map(|_| c.side.clone()), "position": c.position,
            "original_position": c.original_position, "subject_type": if c.file_level { "file" } else { "line" },
            "_links": {"self": {"href": url}, "html": {"href": html}, "pull_request": {"href": pull_url}},
        });
        if let Some(root) = c.reply_to {
            out["in_reply_to_id"] = json!(root);
        }
        out
    }

    /// Returns a review.
    pub fn review(&self, p: &Pull, r: &Review) -> Value {
        let html = format!("{}/pull/{}#pullrequestreview-{}", self.html(), p.number, r.id);
        let pull_url = format!("{}/pulls/{}", self.api(), p.number);
        let mut out = json!({
            "id": r.id, "node_id": format!("PRR_{}", r.id), "user": self.st.user_json(&r.user, false), "body": r.body,
            "state": r.state, "html_url": html, "pull_request_url": pull_url, "commit_id": r.commit,
            "author_association": self.st.association(self.repo, &p.author, &r.user),
            "_links": {"html": {"href": html}, "pull_request": {"href": pull_url}},
        });
        if r.state != "PENDING" {
            out["submitted_at"] = json!(iso(r.submitted));
        }
        out
    }

    /// Returns a comment of the conversation.
    pub fn talk(&self, p: &Pull, t: &Talk) -> Value {
        let url = format!("{}/issues/comments/{}", self.api(), t.id);
        json!({
            "id": t.id, "node_id": format!("IC_{}", t.id), "url": url, "body": t.body,
            "html_url": format!("{}/pull/{}#issuecomment-{}", self.html(), p.number, t.id),
            "issue_url": format!("{}/issues/{}", self.api(), p.number), "user": self.st.user_json(&t.user, false),
            "created_at": iso(t.created), "updated_at": iso(t.updated), "reactions": summary(&url, &t.reactions),
            "author_association": self.st.association(self.repo, &p.author, &t.user), "performed_via_github_app": null,
        })
    }

    /// Returns one emoji.
    pub fn reaction(&self, r: &Reaction) -> Value {
        json!({
            "id": r.id, "node_id": format!("REA_{}", r.id), "user": self.st.user_json(&r.user, false),
            "content": r.content, "created_at": iso(r.created),
        })
    }

    /// Returns the app of a check run.
    fn app(&self, c: &Check) -> Value {
        json!({
            "id": c.app_id, "node_id": format!("A_{}", c.app_id), "slug": c.app_slug, "name": c.app_slug, "description": null,
            "owner": self.st.user_json(&self.repo.owner, false), "external_url": self.html(), "html_url": self.html(),
            "created_at": LONG_AGO, "updated_at": LONG_AGO, "permissions": {}, "events": [],
        })
    }

    /// Returns a check run.
    pub fn check(&self, c: &Check) -> Value {
        let api = self.api();
        json!({
            "id": c.id, "node_id": format!("CR_{}", c.id), "name": c.name, "head_sha": c.sha, "status": c.status,
            "conclusion": c.conclusion, "started_at": iso(c.started), "completed_at": c.completed.map(iso),
            "external_id": "", "url": format!("{api}/check-runs/{}", c.id), "pull_requests": [],
            "html_url": format!("{}/runs/{}", self.html(), c.id), "details_url": format!("{}/runs/{}", self.html(), c.id),
            "check_suite": {"id": c.suite}, "app": self.app(c),
            "output": {"title": c.title, "summary": c.summary, "text": null, "annotations_count": 0,
                "annotations_url": format!("{api}/check-runs/{}/annotations", c.id)},
        })
    }

    /// Returns a commit status; the combined form has no creator.
    pub fn status(&self, s: &Status, creator: bool) -> Value {
        let mut out = json!({
            "id": s.id, "node_id": format!("SC_{}", s.id), "state": s.state, "description": s.description,
            "target_url": s.target_url, "context": s.context, "created_at": iso(s.created), "updated_at": iso(s.created),
            "url": format!("{}/statuses/{}", self.api(), s.sha), "avatar_url": null,
        });
        if creator {
            out["creator"] = self.st.user_json(&s.user, false);
        }
        out
    }

    /// Returns a commit of a list.
    pub fn commit(&self, c: &CommitInfo) -> Value {
        let api = self.api();
        let who = json!({"name": c.author, "email": c.email, "date": iso(c.time * 1000)});
        let parents: Vec<Value> =
            c.parents.iter().map(|p| json!({"sha": p, "url": format!("{api}/commits/{p}")})).collect();
        json!({
            "sha": c.sha, "node_id": format!("C_{}", c.sha), "url": format!("{api}/commits/{}", c.sha),
            "html_url": format!("{}/commit/{}", self.html(), c.sha), "parents": parents, "author": null, "committer": null,
            "comments_url": format!("{api}/commits/{}/comments", c.sha),
            "commit": {"message": c.message.trim_end(), "author": who, "committer": who, "comment_count": 0,
                "tree": {"sha": c.tree}, "url": format!("{api}/git/commits/{}", c.sha)},
        })
    }

    /// Returns a changed file.
    pub fn file(&self, f: &Changed, sha: &str) -> Value {
        let mut out = json!({
            "sha": f.blob, "filename": f.path, "status": f.status, "additions": f.additions, "deletions": f.deletions,
            "changes": f.additions + f.deletions, "blob_url": format!("{}/blob/{sha}/{}", self.html(), f.path),
            "raw_url": format!("{}/raw/{sha}/{}", self.html(), f.path),
            "contents_url": format!("{}/contents/{}?ref={sha}", self.api(), f.path),
        });
        if let Some(patch) = f.patch() {
            out["patch"] = json!(patch);
        }
        if let Some(previous) = &f.previous {
            out["previous_filename"] = json!(previous);
        }
        out
    }
}

fn summary(url: &str, list: &[Reaction]) -> Value {
    let mut out = Map::new();
    out.insert("url".into(), json!(format!("{url}/reactions")));
    out.insert("total_count".into(), json!(list.len()));
    for word in ["+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes"] {
        out.insert(word.into(), json!(list.iter().filter(|r| r.content == word).count()));
    }
    Value::Object(out)
}

/// Adds the keys of one object to another.
pub fn extend(to: &mut Value, more: Value) {
    if let (Value::Object(to), Value::Object(more)) = (to, more) {
        to.extend(more);
    }
}

/// Encodes bytes as the contents endpoint does, in lines of 60.
pub fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for (n, chunk) in bytes.chunks(3).enumerate() {
        if n > 0 && n % 15 == 0 {
            out.push('\n');
        }
        let word = chunk.iter().fold(0u32, |w, b| w << 8 | u32::from(*b)) << (8 * (3 - chunk.len()));
        for k in 0..4 {
            let letter = LETTERS[(word >> (18 - 6 * k) & 63) as usize] as char;
            out.push(if k <= chunk.len() { letter } else { '=' });
        }
    }
    out.push('\n');
    out
}
