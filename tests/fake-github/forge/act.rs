//! Makes the scene happen: builds the world, follows the branches, re-anchors comments, and lets scripted people act.

use std::collections::HashMap;
use std::path::PathBuf;

use git2::Repository;
use serde_json::Value;

use super::git::{self, Changed, Fail};
use super::scene::{
    Action, CheckAct, CommitAct, Inline, KeyAct, PullAct, PullScene, ReactAct, RepoScene, ReviewAct, Scene, Scripted,
    StatusAct,
};
use super::state::{Check, Comment, Due, Issue, Ms, Pull, Reaction, Repo, Review, State, Status, Talk, parse_time};

/// Where an action happens.
#[derive(Debug, Clone, Copy)]
pub struct At {
    pub repo: usize,
    pub pull: u64,
    /// The comment that set it off.
    pub trigger: Option<u64>,
}

impl State {
    /// Adds a scene.
    pub fn add_scene(&mut self, scene: Scene) -> Result<(), Fail> {
        if let Some(settings) = scene.settings {
            self.settings = settings;
        }
        if let Some(start) = &scene.start {
            self.clock.set(parse_time(start).ok_or("start: no time stamp")?);
        }
        for user in scene.users {
            self.add_user(user);
        }
        for repo in scene.repos {
            self.add_repo(repo)?;
        }
        for scripted in scene.script {
            self.add_script(scripted)?;
        }
        for fault in scene.faults {
            self.arm(fault)?;
        }
        if !scene.actions.is_empty() {
            let at = self.only_pull(None, None)?;
            self.act_all(at, &scene.actions)?;
        }
        self.tick();
        Ok(())
    }

    fn add_repo(&mut self, scene: RepoScene) -> Result<(), Fail> {
        let (owner, name) = scene.name.split_once('/').ok_or("repo name: want owner/name")?;
        let (owner, name) = (owner.to_owned(), name.to_owned());
        let index = match self.repo_index(&scene.name) {
            Some(index) => index,
            None => {
                let id = self.fresh_id();
                self.repos.push(Repo { id, owner: owner.clone(), name, git: scene.git.clone(), ..Repo::default() });
                self.repos.len() - 1
            }
        };
        self.ensure_user(&owner);
        for login in scene.collaborators.keys() {
            self.ensure_user(login);
        }
        let repo = &mut self.repos[index];
        if scene.git != PathBuf::new() {
            repo.git = scene.git;
        }
        repo.default_branch = scene.default_branch.unwrap_or_else(|| "main".into());
        repo.private |= scene.private;
        repo.organisation |= scene.organisation;
        repo.collaborators.extend(scene.collaborators);
        repo.rules.extend(scene.rules);
        repo.protection.extend(scene.protection);
        repo.renamed_from.extend(scene.renamed_from);
        for issue in scene.issues {
            repo.issues.push(Issue {
                number: issue.number,
                title: issue.title,
                body: issue.body,
                author: issue.author,
                state: issue.state.unwrap_or_else(|| "open".into()),
            });
        }
        for pull in scene.pulls {
            self.add_pull(index, pull)?;
        }
        Ok(())
    }

    fn add_pull(&mut self, index: usize, scene: PullScene) -> Result<(), Fail> {
        let now = self.clock.now();
        let id = self.fresh_id();
        let author = if scene.author.is_empty() { self.repos[index].owner.clone() } else { scene.author };
        self.ensure_user(&author);
        for login in &scene.requested_reviewers {
            self.ensure_user(login);
        }
        let number = scene.number;
        let base = scene.base.unwrap_or_else(|| self.repos[index].default_branch.clone());
        let pull = Pull {
            id,
            number,
            title: scene.title,
            body: scene.body,
            base,
            head_branch: scene.head,
            head_repo: scene.head_repo,
            author,
            draft: scene.draft,
            state: scene.state.unwrap_or_else(|| "open".into()),
            mergeable: scene.mergeable,
            mergeable_state: scene.mergeable_state,
            mergeable_null: scene.mergeable_null,
            labels: scene.labels,
            closes: scene.closes,
            head_lag: scene.head_lag,
            requested: scene.requested_reviewers,
            created: now,
            updated: now,
            ..Pull::default()
        };
        self.repos[index].pulls.push(pull);
        self.sync();
        let shown = self.repos[index].pull(number).is_some_and(|p| !p.head.is_empty());
        if !shown {
            return Err(format!("pull {number}: its branch is not in the git repository"));
        }
        let at = At { repo: index, pull: number, trigger: None };
        self.act_all(at, &scene.actions)?;
        let slug = self.repos[index].slug();
        for mut scripted in scene.script {
            scripted.repo.get_or_insert_with(|| slug.clone());
            scripted.pull.get_or_insert(number);
            self.add_script(scripted)?;
        }
        Ok(())
    }

    /// Adds a reactive reviewer; `after_push: 0`, or a push already seen, is due now.
    pub fn add_script(&mut self, mut scripted: Scripted) -> Result<(), Fail> {
        let at = self.only_pull(scripted.repo.as_deref(), scripted.pull)?;
        scripted.repo = Some(self.repos[at.repo].slug());
        scripted.pull = Some(at.pull);
        let seen = self.repos[at.repo].pull(at.pull).map_or(0, |p| p.pushes);
        match scripted.after_push {
            Some(0) if !scripted.and_later => self.plan(at, &scripted),
            Some(n) if n <= seen && scripted.and_later => {
                self.plan(at, &scripted);
                self.script.push(scripted);
            }
            _ => self.script.push(scripted),
        }
        Ok(())
    }

    /// Finds the pull request that is meant.
    pub fn only_pull(&self, repo: Option<&str>, pull: Option<u64>) -> Result<At, Fail> {
        let index = match repo {
            Some(slug) => self.repo_index(slug).ok_or_else(|| format!("no repository {slug}"))?,
            None => self.repos.iter().position(|r| !r.pulls.is_empty()).ok_or("no repository with a pull request")?,
        };
        let pulls = &self.repos[index].pulls;
        let number = match pull {
            Some(number) => number,
            None => pulls.first().ok_or("no pull request")?.number,
        };
        self.repos[index].pull(number).ok_or_else(|| format!("no pull request {number}"))?;
        Ok(At { repo: index, pull: number, trigger: None })
    }

    fn plan(&mut self, at: At, scripted: &Scripted) {
        let due = self.clock.now() + scripted.delay_ms;
        let actions = scripted.actions.clone();
        self.due.push(Due { at: due, repo: at.repo, pull: at.pull, trigger: at.trigger, actions });
    }

    /// Follows the branches, hears new comments, and does what is due.
    pub fn tick(&mut self) {
        for _ in 0..50 {
            self.sync();
            while let Some((repo, pull, id, login, body)) = self.heard.pop_front() {
                self.hear(At { repo, pull, trigger: Some(id) }, &login, &body);
            }
            let now = self.clock.now();
            let Some(next) = (0..self.due.len()).filter(|i| self.due[*i].at <= now).min_by_key(|i| self.due[*i].at)
            else {
                return;
            };
            let due = self.due.remove(next);
            let at = At { repo: due.repo, pull: due.pull, trigger: due.trigger };
            if let Err(why) = self.act_all(at, &due.actions) {
                self.notes.push(why);
            }
        }
    }

    fn hear(&mut self, at: At, login: &str, body: &str) {
        let slug = self.repos[at.repo].slug();
        let said = |s: &Scripted| match (&s.on_comment, &s.on_request) {
            (Some(text), _) => !body.is_empty() && body.contains(text.as_str()),
            (_, Some(who)) => body.is_empty() && who.eq_ignore_ascii_case(login),
            _ => false,
        };
        self.fire(at, |s| s.repo.as_deref() == Some(&slug) && s.pull == Some(at.pull) && said(s));
    }

    fn fire(&mut self, at: At, wanted: impl Fn(&Scripted) -> bool) {
        for index in 0..self.script.len() {
            if !wanted(&self.script[index]) || self.script[index].times == Some(0) {
                continue;
            }
            if let Some(times) = &mut self.script[index].times {
                *times -= 1;
            }
            let scripted = self.script[index].clone();
            self.plan(at, &scripted);
        }
    }

    /// Looks at the branches of all open pull requests.
    pub fn sync(&mut self) {
        for index in 0..self.repos.len() {
            let Ok(repo) = Repository::open(&self.repos[index].git) else { continue };
            for p in 0..self.repos[index].pulls.len() {
                self.sync_pull(index, p, &repo);
            }
        }
    }

    fn sync_pull(&mut self, index: usize, p: usize, repo: &Repository) {
        let pull = &self.repos[index].pulls[p];
        if pull.state != "open" && !pull.head.is_empty() {
            return;
        }
        let base = git::branch(repo, &pull.base);
        let tip = match pull.head_repo.as_deref().and_then(|slug| self.repo_index(slug)) {
            Some(fork) => Repository::open(&self.repos[fork].git).ok().and_then(|r| git::branch(&r, &pull.head_branch)),
            None => git::branch(repo, &pull.head_branch),
        };
        let pull = &mut self.repos[index].pulls[p];
        if let Some(base) = base
            && base != pull.base_sha
        {
            pull.base_sha = base;
            self.version += 1;
        }
        let Some(tip) = tip else { return };
        let pull = &mut self.repos[index].pulls[p];
        if tip == pull.head {
            pull.lag_left = None;
            return;
        }
        let first = pull.head.is_empty();
        let left = *pull.lag_left.get_or_insert(pull.head_lag);
        if !first && left > 0 {
            return;
        }
        pull.lag_left = None;
        pull.head = tip.clone();
        pull.heads.push(tip);
        self.version += 1;
        if first {
            return;
        }
        pull.pushes += 1;
        let (number, n) = (pull.number, pull.pushes);
        pull.updated = self.clock.now();
        self.reanchor(index, p);
        let slug = self.repos[index].slug();
        let at = At { repo: index, pull: number, trigger: None };
        let due = |s: &Scripted| s.after_push.is_some_and(|k| k == n || (s.and_later && k < n));
        self.fire(at, |s| s.repo.as_deref() == Some(&slug) && s.pull == Some(number) && due(s));
    }

    /// Opens the git repository of a pull request, with its fork's objects.
    pub fn git_of(&self, index: usize, pull: u64) -> Result<Repository, Fail> {
        let repo = &self.repos[index];
        let fork = repo.pull(pull).and_then(|p| p.head_repo.as_deref()).and_then(|s| self.repo_index(s));
        let others: Vec<PathBuf> =
            fork.filter(|f| *f != index).map(|f| self.repos[f].git.clone()).into_iter().collect();
        git::open(&repo.git, &others)
    }

    /// Moves the comments along to the new head, or marks them outdated.
    fn reanchor(&mut self, index: usize, p: usize) {
        let number = self.repos[index].pulls[p].number;
        let Ok(repo) = self.git_of(index, number) else { return };
        let pull = &mut self.repos[index].pulls[p];
        let (head, base) = (pull.head.clone(), pull.base_sha.clone());
        let from = git::merge_base(&repo, &base, &head).unwrap_or(base);
        let shown = git::diff(&repo, &from, &head, None, 3).unwrap_or_default();
        let mut moves: HashMap<(String, String), Option<Vec<Changed>>> = HashMap::new();
        for comment in &mut pull.comments {
            if comment.file_level {
                comment.commit.clone_from(&head);
                continue;
            }
            let key = (comment.original_commit.clone(), comment.path.clone());
            let files =
                moves.entry(key).or_insert_with_key(|(sha, path)| git::diff(&repo, sha, &head, Some(path), 0).ok());
            let map = |line: u64| match comment.side.as_str() {
                "LEFT" => Some(line),
                _ => files.as_deref().and_then(|f| git::map_line(f, &comment.path, line)),
            };
            let line = comment.original_line.and_then(map);
            let place = line.and_then(|line| {
                let file = shown.iter().find(|f| f.path == comment.path)?;
                file.place(&comment.side, line)
            });
            comment.outdated = line.is_none() || (comment.side == "LEFT" && place.is_none());
            if comment.outdated {
                (comment.line, comment.position, comment.start_line) = (None, None, None);
                continue;
            }
            comment.start_line = comment.original_start_line.and_then(map);
            comment.line = line;
            comment.position = place.map(|(_, n, _)| n).or(comment.original_position);
            comment.commit.clone_from(&head);
        }
    }

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

    /// Stores a review.
    pub fn new_review(
        &mut self,
        at: At,
        user: &str,
        body: &str,
        state: &str,
        commit: Option<String>,
        when: Option<Ms>,
    ) -> Result<u64, Fail> {
        let id = self.fresh_id();
        let submitted = when.unwrap_or_else(|| self.clock.now());
        let pull = self.pull_mut(at)?;
        pull.requested.retain(|l| !l.eq_ignore_ascii_case(user));
        let review = Review { id, user: user.into(), body: body.into(), state: state.into(), commit, submitted };
        pull.reviews.push(review);
        self.version += 1;
        Ok(id)
    }

    /// Stores a comment on the diff; alone it may bring an empty review with it.
    pub fn new_comment(&mut self, at: At, draft: Draft, review: Option<u64>) -> Result<u64, Fail> {
        let review = match review {
            None if self.settings.empty_reviews => {
                let commit = Some(draft.commit.clone());
                Some(self.new_review(at, &draft.user, "", "COMMENTED", commit, Some(draft.at))?)
            }
            review => review,
        };
        let id = self.fresh_id();
        self.version += 1;
        let pull = self.pull_mut(at)?;
        pull.updated = draft.at;
        pull.comments.push(draft.into_comment(id, review));
        Ok(id)
    }

    /// Stores an answer; any comment of the thread may be named.
    pub fn new_reply(&mut self, at: At, user: &str, body: &str, to: u64) -> Result<u64, Fail> {
        let now = self.clock.now();
        let pull = self.pull_mut(at)?;
        let named = pull.comments.iter().find(|c| c.id == to).ok_or_else(|| format!("no comment {to}"))?;
        let root = named.reply_to.unwrap_or(to);
        let root = pull.comments.iter().find(|c| c.id == root).unwrap_or(named).clone();
        let review = match self.settings.empty_reviews {
            true => Some(self.new_review(at, user, "", "COMMENTED", Some(root.commit.clone()), None)?),
            false => None,
        };
        let id = self.fresh_id();
        self.version += 1;
        let reply = Comment {
            id,
            user: user.into(),
            body: body.into(),
            reply_to: Some(root.id),
            review,
            created: now,
            updated: now,
            reactions: Vec::new(),
            ..root
        };
        let pull = self.pull_mut(at)?;
        pull.updated = now;
        pull.comments.push(reply);
        Ok(id)
    }

    /// Stores a comment in the conversation.
    pub fn new_talk(&mut self, at: At, user: &str, body: &str, when: Option<Ms>) -> u64 {
        let id = self.fresh_id();
        let now = when.unwrap_or_else(|| self.clock.now());
        self.version += 1;
        if let Ok(pull) = self.pull_mut(at) {
            pull.updated = now;
            let talk =
                Talk { id, user: user.into(), body: body.into(), created: now, updated: now, reactions: Vec::new() };
            pull.talk.push(talk);
        }
        id
    }

    /// Gives an item new words.
    pub fn edit(&mut self, at: At, id: u64, body: &str) -> bool {
        let now = self.clock.now();
        self.version += 1;
        let Ok(pull) = self.pull_mut(at) else { return false };
        if let Some(c) = pull.comments.iter_mut().find(|c| c.id == id) {
            (c.body, c.updated) = (body.into(), now);
        } else if let Some(t) = pull.talk.iter_mut().find(|t| t.id == id) {
            (t.body, t.updated) = (body.into(), now);
        } else if let Some(r) = pull.reviews.iter_mut().find(|r| r.id == id) {
            r.body = body.into();
        } else {
            return false;
        }
        true
    }

    /// Takes an item away. The answers of a deleted top comment stay and go on naming it.
    pub fn delete(&mut self, at: At, id: u64) -> bool {
        self.version += 1;
        let Ok(pull) = self.pull_mut(at) else { return false };
        let before = pull.comments.len() + pull.talk.len() + pull.reviews.len();
        pull.comments.retain(|c| c.id != id);
        pull.talk.retain(|t| t.id != id);
        pull.reviews.retain(|r| r.id != id);
        before != pull.comments.len() + pull.talk.len() + pull.reviews.len()
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

    /// Returns the reactions of a comment, or of the pull request for 0.
    pub fn reactions_mut(&mut self, at: At, to: u64) -> Option<&mut Vec<Reaction>> {
        let pull = self.pull_mut(at).ok()?;
        if to == 0 {
            return Some(&mut pull.reactions);
        }
        let comment = pull.comments.iter_mut().find(|c| c.id == to).map(|c| &mut c.reactions);
        comment.or_else(|| pull.talk.iter_mut().find(|t| t.id == to).map(|t| &mut t.reactions))
    }

    /// Adds an emoji once; says whether it is new.
    pub fn new_reaction(&mut self, at: At, user: &str, content: &str, to: u64) -> Option<(u64, bool)> {
        let (id, created) = (self.fresh_id(), self.clock.now());
        self.version += 1;
        let list = self.reactions_mut(at, to)?;
        if let Some(old) = list.iter().find(|r| r.user == user && r.content == content) {
            return Some((old.id, false));
        }
        list.push(Reaction { id, user: user.into(), content: content.into(), created });
        Some((id, true))
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

/// A comment before it has a number.
#[derive(Debug, Clone)]
pub struct Draft {
    pub user: String,
    pub body: String,
    pub path: String,
    pub side: String,
    pub line: Option<u64>,
    pub start_line: Option<u64>,
    pub commit: String,
    pub position: Option<u64>,
    pub hunk: String,
    pub file_level: bool,
    pub at: Ms,
}

impl Draft {
    fn into_comment(self, id: u64, review: Option<u64>) -> Comment {
        Comment {
            id,
            user: self.user,
            body: self.body,
            path: self.path,
            side: self.side,
            line: self.line,
            start_line: self.start_line,
            position: self.position,
            original_line: self.line,
            original_start_line: self.start_line,
            original_position: self.position,
            original_commit: self.commit.clone(),
            commit: self.commit,
            hunk: self.hunk,
            file_level: self.file_level,
            reply_to: None,
            review,
            created: self.at,
            updated: self.at,
            outdated: false,
            reactions: Vec::new(),
        }
    }
}
