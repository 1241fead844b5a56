//! Lets scripted people act.

use serde_json::Value;

use super::git::{self, Fail};
use super::posts::Draft;
use super::scene::{Action, CheckAct, CommitAct, Inline, KeyAct, PullAct, ReactAct, ReviewAct, StatusAct};
use super::state::{At, Check, Pull, State, Status, parse_time};

impl State {
    /// Performs actions one after the other.
    pub fn act_all(&mut self, at: At, actions: &[Action]) -> Result<Vec<u64>, Fail> {
        actions.iter().map(|action| self.act(at, action)).collect()
    }

    /// Performs one action; returns the id of what it made, or 0.
    pub fn act(&mut self, at: At, action: &Action) -> Result<u64, Fail> {
        self.version += 1;
        match action {
            Action::Inline(inline) => Ok(self.inline(at, inline, None)?.unwrap_or(0)),
            Action::Review(review) => self.review(at, review),
            Action::Reply(reply) => {
                let to = self.target(at, &reply.to)?;
                let body = self.fill(at, &reply.body);
                self.ensure_user(&reply.user);
                let id = self.new_reply(at, &reply.user, &body, to)?;
                self.name(reply.key.as_deref(), id);
                Ok(id)
            }
            Action::IssueComment(talk) => {
                self.ensure_user(&talk.user);
                let body = self.fill(at, &talk.body);
                let id = self.new_talk(at, &talk.user, &body, talk.at.as_deref().and_then(parse_time));
                self.name(talk.key.as_deref(), id);
                Ok(id)
            }
            Action::Edit(edit) => {
                let id = self.target(at, &edit.of)?;
                let body = self.fill(at, &edit.body);
                self.edit(at, id, &body).then_some(id).ok_or_else(|| format!("nothing to edit: {id}"))
            }
            Action::Delete(key) => {
                let id = self.target(at, &key.of)?;
                self.delete(at, id).then_some(0).ok_or_else(|| format!("nothing to delete: {id}"))
            }
            Action::Dismiss(key) => {
                let id = self.target(at, &key.of)?;
                let pull = self.pull_mut(at)?;
                let review = pull.reviews.iter_mut().find(|r| r.id == id).ok_or("no review to dismiss")?;
                "DISMISSED".clone_into(&mut review.state);
                Ok(id)
            }
            Action::Resolve(key) => self.resolve(at, key, true),
            Action::Unresolve(key) => self.resolve(at, key, false),
            Action::Minimize(key) => {
                let id = self.target(at, &key.of)?;
                self.pull_mut(at)?.minimized.insert(id, "outdated".into());
                Ok(id)
            }
            Action::Reaction(reaction) => self.react(at, reaction),
            Action::CheckRun(check) => self.check(at, check),
            Action::Status(status) => self.status(at, status),
            Action::GitCommit(commit) => self.git_commit(at, commit),
            Action::Pull(change) => self.change_pull(at, change),
            Action::RequestReview(key) => {
                self.ensure_user(&key.user);
                let pull = self.pull_mut(at)?;
                if !pull.requested.contains(&key.user) {
                    pull.requested.push(key.user.clone());
                }
                Ok(0)
            }
            Action::Advance(ms) => {
                self.clock.advance(*ms);
                Ok(0)
            }
        }
    }

    /// Returns the pull request to change.
    pub fn pull_mut(&mut self, at: At) -> Result<&mut Pull, Fail> {
        let found = self.repos[at.repo].pulls.iter_mut().find(|p| p.number == at.pull);
        found.ok_or_else(|| format!("no pull request {}", at.pull))
    }

    fn name(&mut self, key: Option<&str>, id: u64) {
        if let Some(key) = key {
            self.keys.insert(key.to_owned(), id);
        }
    }

    fn target(&self, at: At, value: &Value) -> Result<u64, Fail> {
        match value {
            Value::String(word) if word == "trigger" => at.trigger.ok_or_else(|| "no trigger".to_owned()),
            Value::String(key) => self.keys.get(key).copied().ok_or_else(|| format!("no item named {key}")),
            Value::Number(n) => n.as_u64().ok_or_else(|| "id: want a number".to_owned()),
            _ => Err("want a key or an id".to_owned()),
        }
    }

    fn fill(&self, at: At, text: &str) -> String {
        if !text.contains("{{") {
            return text.to_owned();
        }
        let repo = &self.repos[at.repo];
        let head = repo.pull(at.pull).map(|p| p.head.clone()).unwrap_or_default();
        let short = |n: usize| head.get(..n).unwrap_or(&head).to_owned();
        text.replace("{{head}}", &head)
            .replace("{{head7}}", &short(7))
            .replace("{{head10}}", &short(10))
            .replace("{{repo}}", &repo.slug())
            .replace("{{pull}}", &at.pull.to_string())
    }

    fn commit_of(&self, at: At, word: Option<&str>) -> Result<String, Fail> {
        let pull = self.repos[at.repo].pull(at.pull).ok_or("no pull request")?;
        match word {
            None | Some("head") => Ok(pull.head.clone()),
            Some("previous") => {
                let n = pull.heads.len();
                Ok(pull.heads[n.saturating_sub(2)].clone())
            }
            Some(sha) => {
                let repo = self.git_of(at.repo, at.pull)?;
                git::resolve(&repo, sha).ok_or_else(|| format!("no commit {sha}"))
            }
        }
    }

    /// Adds a scripted comment; `None` when its text is not in the file. Lines need not be in the diff.
    fn inline(&mut self, at: At, inline: &Inline, review: Option<u64>) -> Result<Option<u64>, Fail> {
        self.ensure_user(&inline.user);
        let commit = self.commit_of(at, inline.commit.as_deref())?;
        let repo = self.git_of(at.repo, at.pull)?;
        let line = match (&inline.matching, inline.line) {
            (Some(text), _) => match git::find_line(&repo, &commit, &inline.path, text) {
                Some(line) => Some(line),
                None => return Ok(None),
            },
            (None, line) => line,
        };
        let side = inline.side.clone().unwrap_or_else(|| "RIGHT".into());
        let base = self.repos[at.repo].pull(at.pull).map(|p| p.base_sha.clone()).unwrap_or_default();
        let from = git::merge_base(&repo, &base, &commit).unwrap_or(base);
        let files = git::diff(&repo, &from, &commit, None, 3)?;
        let place = line.and_then(|l| files.iter().find(|f| f.path == inline.path)?.place(&side, l));
        let review = match (&inline.review, review) {
            (_, Some(id)) => Some(id),
            (Some(key), None) => Some(self.target(at, key)?),
            (None, None) => None,
        };
        let now = inline.at.as_deref().and_then(parse_time).unwrap_or_else(|| self.clock.now());
        let body = self.fill(at, &inline.body);
        let draft = Draft {
            user: inline.user.clone(),
            body,
            path: inline.path.clone(),
            side,
            line,
            start_line: inline.start_line,
            commit: commit.clone(),
            position: place.as_ref().map(|p| p.1).or(line.map(|_| 1)),
            hunk: place.map(|p| p.2).unwrap_or_else(|| format!("@@ -0,0 +{},1 @@", line.unwrap_or(1))),
            file_level: inline.file_level || line.is_none(),
            at: now,
        };
        let id = self.new_comment(at, draft, review)?;
        self.name(inline.key.as_deref(), id);
        let head = self.repos[at.repo].pull(at.pull).map(|p| p.head.clone()).unwrap_or_default();
        if commit != head
            && let Some(p) = self.repos[at.repo].pulls.iter().position(|p| p.number == at.pull)
        {
            self.reanchor(at.repo, p);
        }
        Ok(Some(id))
    }

    fn review(&mut self, at: At, act: &ReviewAct) -> Result<u64, Fail> {
        let commit = match act.commit.as_deref() {
            Some("none") => None,
            word => Some(self.commit_of(at, word)?),
        };
        if !act.comments.is_empty() && !act.when_clean.is_empty() {
            let repo = self.git_of(at.repo, at.pull)?;
            let head = self.commit_of(at, act.commit.as_deref().filter(|w| *w != "none"))?;
            let here = |c: &Inline| match &c.matching {
                Some(text) => git::find_line(&repo, &head, &c.path, text).is_some(),
                None => true,
            };
            if !act.comments.iter().any(here) {
                self.act_all(at, &act.when_clean)?;
                return Ok(0);
            }
        }
        self.ensure_user(&act.user);
        let body = self.fill(at, &act.body);
        let state = act.state.clone().unwrap_or_else(|| "COMMENTED".into());
        let when = act.at.as_deref().and_then(parse_time);
        let id = self.new_review(at, &act.user, &body, &state, commit, when)?;
        self.name(act.key.as_deref(), id);
        for comment in &act.comments {
            let mut comment = comment.clone();
            if comment.user.is_empty() {
                comment.user.clone_from(&act.user);
            }
            comment.commit = comment.commit.or_else(|| act.commit.clone().filter(|w| w != "none"));
            self.inline(at, &comment, Some(id))?;
        }
        Ok(id)
    }

    fn resolve(&mut self, at: At, key: &KeyAct, on: bool) -> Result<u64, Fail> {
        let id = self.target(at, &key.of)?;
        self.ensure_user(&key.user);
        let pull = self.pull_mut(at)?;
        let root = pull.comments.iter().find(|c| c.id == id).ok_or("no comment to resolve")?;
        let root = root.reply_to.unwrap_or(id);
        if on {
            pull.resolved.insert(root, key.user.clone());
        } else {
            pull.resolved.remove(&root);
        }
        Ok(root)
    }

    fn react(&mut self, at: At, act: &ReactAct) -> Result<u64, Fail> {
        self.ensure_user(&act.user);
        let to = match &act.to {
            Value::Null => 0,
            Value::String(word) if word == "pull" => 0,
            other => self.target(at, other)?,
        };
        if act.remove {
            let list = self.reactions_mut(at, to).ok_or("nothing to react to")?;
            list.retain(|r| !(r.user == act.user && r.content == act.content));
            return Ok(0);
        }
        let (id, _) = self.new_reaction(at, &act.user, &act.content, to).ok_or("nothing to react to")?;
        Ok(id)
    }

    fn check(&mut self, at: At, act: &CheckAct) -> Result<u64, Fail> {
        let sha = self.commit_of(at, act.commit.as_deref())?;
        let now = self.clock.now();
        let old = act.key.as_ref().and_then(|k| self.keys.get(k).copied());
        let status = act.status.clone().unwrap_or_else(|| {
            let word = if act.conclusion.is_some() { "completed" } else { "in_progress" };
            word.to_owned()
        });
        let completed = (status == "completed").then_some(now);
        let known = old.and_then(|id| self.repos[at.repo].checks.iter().position(|c| c.id == id && c.sha == sha));
        if let Some(index) = known {
            let check = &mut self.repos[at.repo].checks[index];
            (check.status, check.completed) = (status, completed);
            check.conclusion.clone_from(&act.conclusion);
            check.title = act.title.clone().or(check.title.take());
            check.summary = act.summary.clone().or(check.summary.take());
            return Ok(check.id);
        }
        let (id, suite) = (self.fresh_id(), self.fresh_id());
        self.repos[at.repo].checks.push(Check {
            id,
            suite,
            sha,
            name: act.name.clone(),
            status,
            conclusion: act.conclusion.clone(),
            app_id: act.app_id.unwrap_or(15368),
            app_slug: act.app.clone().unwrap_or_else(|| "github-actions".into()),
            title: act.title.clone(),
            summary: act.summary.clone(),
            workflow: act.workflow.clone(),
            started: now,
            completed,
        });
        self.name(act.key.as_deref(), id);
        Ok(id)
    }

    fn status(&mut self, at: At, act: &StatusAct) -> Result<u64, Fail> {
        let sha = self.commit_of(at, act.commit.as_deref())?;
        let user = act.user.clone().unwrap_or_else(|| "ci[bot]".into());
        self.ensure_user(&user);
        let (id, created) = (self.fresh_id(), self.clock.now());
        self.repos[at.repo].statuses.push(Status {
            id,
            sha,
            context: act.context.clone(),
            state: act.state.clone(),
            description: act.description.clone(),
            target_url: None,
            user,
            created,
        });
        Ok(id)
    }

    fn git_commit(&mut self, at: At, act: &CommitAct) -> Result<u64, Fail> {
        let pull = self.repos[at.repo].pull(at.pull).ok_or("no pull request")?;
        let fork = pull.head_repo.as_deref().and_then(|s| self.repo_index(s));
        let home = if act.branch.is_some() { at.repo } else { fork.unwrap_or(at.repo) };
        let branch = act.branch.clone().unwrap_or_else(|| pull.head_branch.clone());
        let repo = git::open(&self.repos[home].git, &[])?;
        let files = act.files.iter().map(|(p, t)| (p.clone(), t.clone().map(String::into_bytes))).collect();
        git::make_commit(
            &repo,
            &git::NewCommit {
                branch: &branch,
                files,
                message: act.message.as_deref().unwrap_or("A commit by somebody else"),
                author: act.user.as_deref().unwrap_or("person"),
                seconds: self.clock.now() / 1000,
                amend: act.amend,
            },
        )?;
        self.sync();
        Ok(0)
    }

    fn change_pull(&mut self, at: At, act: &PullAct) -> Result<u64, Fail> {
        let now = self.clock.now();
        if let Some(login) = &act.merged_by {
            self.ensure_user(login);
        }
        let pull = self.pull_mut(at)?;
        pull.updated = now;
        pull.title = act.title.clone().unwrap_or(std::mem::take(&mut pull.title));
        pull.body = act.body.clone().or(pull.body.take());
        pull.draft = act.draft.unwrap_or(pull.draft);
        pull.base = act.base.clone().unwrap_or(std::mem::take(&mut pull.base));
        pull.mergeable = act.mergeable.unwrap_or(pull.mergeable);
        pull.mergeable_state = act.mergeable_state.clone().or(pull.mergeable_state.take());
        pull.mergeable_null = act.mergeable_null.unwrap_or(pull.mergeable_null);
        pull.head_lag = act.head_lag.unwrap_or(pull.head_lag);
        if let Some(login) = &act.merged_by {
            (pull.merged, pull.merged_by) = (true, Some(login.clone()));
        }
        let state = act.state.clone().or(act.merged_by.as_ref().map(|_| "closed".to_owned()));
        if let Some(state) = state {
            pull.closed_at = (state == "closed").then_some(now);
            pull.state = state;
        }
        Ok(0)
    }
}
