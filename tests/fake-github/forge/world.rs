//! Builds the world of a scene, follows the branches, re-anchors comments, and says when scripted people act.

use std::collections::HashMap;
use std::path::PathBuf;

use git2::Repository;

use super::git::{self, Changed, Fail};
use super::scene::{PullScene, RepoScene, Scene, Scripted};
use super::state::{At, Due, Issue, Pull, Repo, State, parse_time};

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
        let merged = scene.merged_by.is_some();
        let closed = merged || scene.state.as_deref() == Some("closed");
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
            state: scene.state.unwrap_or_else(|| if merged { "closed" } else { "open" }.into()),
            merged,
            closed_at: closed.then_some(now),
            merged_by: scene.merged_by,
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
        let Some(pull) = self.repos[index].pulls.last_mut() else { return Ok(()) };
        if pull.head.is_empty() && closed {
            // Its branch is gone.
            pull.head.clone_from(&pull.base_sha);
        }
        if pull.head.is_empty() {
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
        let due = scripted.after_push.is_some_and(|n| n <= seen);
        if due {
            self.plan(at, &scripted);
        }
        if !due || scripted.and_later {
            self.script.push(scripted);
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
            let path = self.repos[index].git.clone();
            let Some(repo) = self.opened.take(&path) else { continue };
            for p in 0..self.repos[index].pulls.len() {
                self.sync_pull(index, p, &repo);
            }
            self.opened.put(path, repo);
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
    pub fn reanchor(&mut self, index: usize, p: usize) {
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
}
