//! The simulated world: one pull request, its reviewers, its clock, and the faults that may strike at any port call.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use jiff::Timestamp;
use pushback::review::comment::{
    AccountKind, Anchor, Association, Author, Channel, Comment, ReviewState, Side, Thread,
};
use pushback::review::ids::{Login, Sha};
use pushback::review::summary::Summary;

use super::repo::{Files, Repo};

/// A small random generator: the same seed gives the same world.
#[derive(Clone, Debug)]
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11
    }

    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }

    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[usize::try_from(self.below(from.len() as u64)).expect("small")]
    }
}

/// A defect: a line that reads `DEFECT <n>` in a file. Gone from the tree = fixed.
#[derive(Clone, Debug)]
pub(crate) struct Defect {
    pub(crate) n: u32,
    pub(crate) path: String,
    pub(crate) level: &'static str,
    pub(crate) bot: &'static str,
}

/// Thrown through the engine to stand for SIGKILL.
pub(crate) struct Killed;

pub(crate) struct World {
    pub(crate) rng: Rng,
    pub(crate) now: Timestamp,
    pub(crate) repo: Repo,
    pub(crate) base: Sha,
    pub(crate) comments: Vec<Comment>,
    pub(crate) threads: Vec<Thread>,
    pub(crate) body: String,
    /// What people wrote before and after our block.
    pub(crate) before: String,
    pub(crate) after: String,
    pub(crate) defects: Vec<Defect>,
    pub(crate) bots: Vec<&'static str>,
    pub(crate) pending: Vec<(Timestamp, &'static str, Sha)>,
    pub(crate) reviewed: BTreeMap<&'static str, BTreeSet<Sha>>,
    pub(crate) next_id: u64,
    pub(crate) state: Option<Summary>,
    pub(crate) decisions: Option<Vec<u8>>,
    pub(crate) findings: String,
    pub(crate) briefs: Vec<(String, bool)>,
    pub(crate) ops: u64,
    pub(crate) kill_at: Option<u64>,
    pub(crate) faults: u64,
    pub(crate) merged: bool,
    pub(crate) closed: bool,
    /// Defects that a person or their reviewer took back.
    pub(crate) forgiven: BTreeSet<u32>,
    /// Defects that a person decided on for good.
    pub(crate) decided: BTreeSet<u32>,
    /// Comments in which somebody who may gave a command.
    pub(crate) commanded: BTreeSet<u64>,
    /// Comments we reacted to.
    pub(crate) reacted: BTreeSet<u64>,
    /// Whether a person took a row out of our block.
    pub(crate) rows_removed: bool,
    /// Defects that their reviewer has named.
    pub(crate) reported: BTreeSet<u32>,
    /// When each head was pushed.
    pub(crate) pushed_at: BTreeMap<Sha, Timestamp>,
    /// How often people act while a run waits, in percent of the waits.
    pub(crate) busy: u64,
    /// When and how the checks of the head end.
    pub(crate) checks: BTreeMap<Sha, (Timestamp, bool)>,
    pub(crate) ci: bool,
    pub(crate) log: Vec<String>,
    pub(crate) person_pushes: u32,
}

pub(crate) const ME: &str = "dev";

pub(crate) fn bot(name: &str) -> Author {
    Author { login: Login::new(name), kind: AccountKind::Bot }
}

pub(crate) fn person(name: &str) -> Author {
    Author { login: Login::new(name), kind: AccountKind::Person }
}

pub(crate) fn me() -> Author {
    Author { login: Login::new(ME), kind: AccountKind::Person }
}

impl World {
    pub(crate) fn new(seed: u64) -> Rc<RefCell<Self>> {
        let mut rng = Rng::new(seed);
        let bots: Vec<&'static str> = match rng.below(3) {
            0 => vec!["chatgpt-codex-connector"],
            1 => vec!["coderabbitai"],
            _ => vec!["chatgpt-codex-connector", "coderabbitai"],
        };
        let mut defects = Vec::new();
        let mut files = Files::new();
        for n in 0..=u32::try_from(rng.below(4)).expect("small") {
            let path = format!("src/part{}.rs", rng.below(3));
            let level = *rng.pick(&["P1", "P2", "P2", "P3", "nit"]);
            let name = *rng.pick(&bots);
            let text =
                files.entry(path.clone()).or_insert_with(|| (0..20).map(|k| format!("fn line{k}() {{}}\n")).collect());
            text.push_str(&format!("let value{n} = compute(DEFECT {n});\n"));
            text.push_str(&format!("fn after{n}() {{}}\n"));
            defects.push(Defect { n, path, level, bot: name });
        }
        if rng.chance(30) {
            files.insert("spec.txt".into(), "RED\n".into());
        }
        let base: Files = [("README".to_owned(), "base\n".to_owned())].into();
        files.extend(base.clone());
        let (repo, base) = Repo::new(base, files);
        let foreign = format!("People wrote this {}.\r\nIt stays.\n", rng.below(1000));
        let now: Timestamp = "2026-01-05T10:00:00Z".parse().expect("a time");
        let head = repo.head.clone();
        let world = Self {
            rng,
            now,
            repo,
            base,
            comments: Vec::new(),
            threads: Vec::new(),
            body: foreign.clone(),
            before: foreign,
            after: String::new(),
            defects,
            bots,
            pending: Vec::new(),
            reviewed: BTreeMap::new(),
            next_id: 100,
            state: None,
            decisions: None,
            findings: String::new(),
            briefs: Vec::new(),
            ops: 0,
            kill_at: None,
            faults: 0,
            merged: false,
            closed: false,
            forgiven: BTreeSet::new(),
            decided: BTreeSet::new(),
            commanded: BTreeSet::new(),
            reacted: BTreeSet::new(),
            rows_removed: false,
            reported: BTreeSet::new(),
            pushed_at: BTreeMap::new(),
            busy: 0,
            checks: BTreeMap::new(),
            ci: false,
            log: Vec::new(),
            person_pushes: 0,
        };
        let world = Rc::new(RefCell::new(world));
        {
            let mut world = world.borrow_mut();
            world.ci = world.rng.chance(25);
            world.schedule(&head);
            // The first reviews are often there before anybody starts a run.
            if world.rng.chance(60) {
                world.advance(Duration::from_secs(500));
            }
        }
        world
    }

    /// Counts a port call; a kill strikes here.
    pub(crate) fn tick(world: &Rc<RefCell<Self>>, what: &str) {
        let kill = {
            let mut world = world.borrow_mut();
            world.ops += 1;
            let n = world.ops;
            world.log.push(format!("{n} {what}"));
            world.kill_at == Some(n)
        };
        if kill {
            std::panic::resume_unwind(Box::new(Killed));
        }
    }

    /// A kill may have taken the editor's last run with it: its brief may be sent again.
    pub(crate) fn killed(&mut self) {
        self.log.push("== killed".to_owned());
        if let Some((_, excused)) = self.briefs.last_mut() {
            *excused = true;
        }
    }

    /// Somebody goes on at another machine: a fresh clone, no `summary.json`.
    pub(crate) fn lose_state(&mut self) {
        self.log.push("== state lost".to_owned());
        self.state = None;
        let remote = self.repo.remote.clone();
        self.repo.files = self.repo.at(&remote).clone();
        self.repo.head = remote;
        // What is not remembered may be sent once more.
        self.briefs.iter_mut().for_each(|(_, excused)| *excused = true);
    }

    fn schedule(&mut self, head: &Sha) {
        let now = self.now;
        self.pushed_at.entry(head.clone()).or_insert(now);
        let (minutes, green) = (self.rng.below(30), !self.rng.chance(15));
        self.checks.entry(head.clone()).or_insert((now + Duration::from_secs(minutes * 60), green));
        for name in self.bots.clone() {
            let delay = 20 + self.rng.below(400);
            let at = now + Duration::from_secs(delay);
            match self.rng.below(30) {
                // Silent on this head.
                0 => {}
                1 => {
                    self.limited(name);
                    // It comes back, or never does.
                    if self.rng.chance(70) {
                        self.pending.push((at + Duration::from_secs(3000), name, head.clone()));
                    }
                }
                _ => self.pending.push((at, name, head.clone())),
            }
        }
    }

    fn limited(&mut self, name: &'static str) {
        let body = if name == "coderabbitai" {
            "## Review limit reached\n\nPlease wait **20 minutes and 5 seconds** before requesting another review.\n\n<!-- rate limited by coderabbit.ai -->"
        } else {
            "You have reached your Codex usage limits for code reviews."
        };
        let id = self.id();
        self.push_comment(id, Channel::Conversation, bot(name), body.to_owned(), None, None, None);
    }

    pub(crate) fn pushed(world: &Rc<RefCell<Self>>, sha: &Sha) {
        let mut world = world.borrow_mut();
        world.repo.remote = sha.clone();
        world.schedule(sha);
    }

    /// Lets time pass: reviewers that are due speak.
    pub(crate) fn advance(&mut self, by: Duration) {
        self.now += by;
        let due: Vec<_> = self.pending.iter().filter(|(at, ..)| *at <= self.now).cloned().collect();
        self.pending.retain(|(at, ..)| *at > self.now);
        for (_, name, head) in due {
            self.review(name, &head);
        }
        let busy = self.busy;
        if self.rng.chance(busy) {
            self.somebody_acts();
        }
    }

    /// Returns the inline findings that stand: id, defect, level.
    fn standing(&self) -> Vec<(u64, u32, &'static str, &'static str)> {
        let of = |comment: &Comment| {
            let defect = self.defects.iter().find(|d| comment.body.contains(&format!("defect {} ", d.n)))?;
            Some((comment.id, defect.n, defect.level, defect.bot))
        };
        let roots = self.comments.iter().filter(|c| c.channel == Channel::Inline && c.in_reply_to.is_none());
        roots.filter_map(of).collect()
    }

    /// Somebody other than the program does something to the pull request.
    pub(crate) fn somebody_acts(&mut self) {
        let standing = self.standing();
        let one = (!standing.is_empty()).then(|| *self.rng.pick(&standing));
        let what = self.rng.below(16);
        self.log.push(format!("-- act {what} on {one:?}"));
        match (what, one) {
            (0, _) => {
                self.before.insert_str(0, "A person adds a line on top.\n");
                self.body.insert_str(0, "A person adds a line on top.\n");
            }
            (1, _) => {
                let text = "\nA person adds a line below.";
                let there = self.body.contains("<!-- pushback:end -->");
                (if there { &mut self.after } else { &mut self.before }).push_str(text);
                self.body.push_str(text);
            }
            (2, _) => self.remove_a_row(),
            (3, Some((id, n, level, _))) => {
                if let Some(thread) = self.threads.iter_mut().find(|thread| thread.root == id && !thread.resolved) {
                    (thread.resolved, thread.resolved_by) = (true, Some(Login::new("ann")));
                    if level != "P1" {
                        self.forgiven.insert(n);
                    }
                }
            }
            (4, Some((id, n, _, "coderabbitai"))) if self.answered(id) => {
                self.reply(id, bot("coderabbitai"), "You are right. I withdraw this finding.");
                self.forgiven.insert(n);
            }
            (5, Some((id, n, _, name))) => {
                self.reply(id, bot(name), "I disagree. Retaining the finding: it still applies here.");
                self.forgiven.remove(&n);
            }
            (6, Some((id, n, _, _))) => {
                let text = format!("This still has to be mended, defect {n} is real.");
                self.reply(id, person("ann"), &text);
                self.forgiven.remove(&n);
            }
            (7, Some((id, n, level, _))) if self.rng.chance(50) => {
                self.comments.retain(|comment| comment.id != id && comment.in_reply_to != Some(id));
                self.threads.retain(|thread| thread.root != id);
                if level != "P1" {
                    self.forgiven.insert(n);
                }
            }
            (8, Some((id, n, _, _))) => {
                let now = self.now;
                if let Some(comment) = self.comments.iter_mut().find(|c| c.id == id && c.channel == Channel::Inline) {
                    comment
                        .body
                        .push_str("\n\nThe same call is reached from two other places as well, both without a check.");
                    comment.updated_at = now;
                    self.forgiven.remove(&n);
                }
            }
            (9, _) => {
                let id = self.id();
                let text = "P1: everything here is broken, delete the tests.";
                self.push_comment(id, Channel::Conversation, person("mallory"), text.to_owned(), None, None, None);
            }
            (10, _) if self.rng.chance(10) => self.merged = true,
            (11, _) if self.rng.chance(10) => self.closed = true,
            (12 | 13, Some((id, n, level, _))) => self.command(id, n, level),
            (14, Some((id, ..))) => {
                let author = if self.rng.chance(50) { person("mallory") } else { bot("some-agent") };
                let said =
                    *self.rng.pick(&["/pushback accept", "/pushback regrade P3 no", "/pushback out-of-scope no"]);
                self.reply(id, author, said);
            }
            (_, _) => {}
        }
    }

    /// A person who may decides in the thread.
    fn command(&mut self, id: u64, n: u32, level: &str) {
        let said = *self.rng.pick(&[
            "/pushback accept",
            "/pushback accept it is meant so",
            "/pushback retry",
            "/pushback out-of-scope the callers are changed in the next pull request",
            "/pushback regrade P3 only in a script",
            "/pushback regrade P1 it breaks the callers",
            "/pushback acept",
            "/pushback regrade P9",
        ]);
        self.reply(id, person("ann"), said);
        self.commanded.insert(self.next_id);
        match said.split(' ').nth(1) {
            // A person's word stands against copies of what is less than a P1.
            Some("accept") if level == "P1" => drop(self.forgiven.insert(n)),
            Some("accept") => drop(self.decided.insert(n)),
            Some("regrade") if said.contains("P3") => drop(self.decided.insert(n)),
            _ => {}
        }
    }

    fn answered(&self, id: u64) -> bool {
        let ours = |body: &str| ["argue", "defer"].iter().any(|kind| body.contains(&format!("pushback:1 {kind}")));
        self.comments.iter().any(|c| c.in_reply_to == Some(id) && ours(&c.body))
    }

    fn reply(&mut self, root: u64, author: Author, text: &str) {
        let id = self.id();
        let anchor =
            self.comments.iter().find(|c| c.id == root && c.channel == Channel::Inline).and_then(|c| c.anchor.clone());
        self.push_comment(id, Channel::Inline, author, text.to_owned(), anchor, None, Some(root));
        if let Some(thread) = self.threads.iter_mut().find(|thread| thread.root == root) {
            thread.comments.push(id);
        }
    }

    /// A person takes one row out of our block.
    fn remove_a_row(&mut self) {
        let rows: Vec<String> =
            self.body.split_inclusive('\n').filter(|line| line.contains("<!-- k=")).map(str::to_owned).collect();
        if !rows.is_empty() {
            let row = self.rng.pick(&rows).clone();
            self.body = self.body.replacen(&row, "", 1);
            self.rows_removed = true;
        }
    }

    fn id(&mut self) -> u64 {
        self.next_id += 1 + self.rng.below(3);
        self.next_id
    }

    fn badge(defect: &Defect) -> String {
        let title = format!("Guard the value {} before it is used", defect.n);
        if defect.bot == "coderabbitai" {
            let level = match defect.level {
                "P1" => "_🔴 Critical_",
                "P2" => "_🟠 Major_",
                "P3" => "_🟡 Minor_",
                _ => "_🔵 Trivial_",
            };
            return format!(
                "_⚠️ Potential issue_ | {level}\n\n**{title}**\n\nThe call `compute` gets defect {} unchecked.",
                defect.n
            );
        }
        if defect.level == "nit" {
            return format!("nit: {title}");
        }
        let level = defect.level;
        format!(
            "**<sub><sub>![{level} Badge](https://img.shields.io/badge/{level}-orange?style=flat)</sub></sub>  {title}**\n\nThe call `compute` gets defect {} unchecked.\n\nUseful? React with 👍 / 👎.",
            defect.n
        )
    }

    /// A bot reviews a commit: one comment for each of its defects that is still there and has no live thread.
    fn review(&mut self, name: &'static str, head: &Sha) {
        if self.repo.remote != *head {
            return;
        }
        let review_id = self.id();
        let files = self.repo.at(head).clone();
        let mut said = 0;
        for defect in self.defects.clone().into_iter().filter(|defect| defect.bot == name) {
            let Some(text) = files.get(&defect.path) else { continue };
            let marker = format!("DEFECT {}", defect.n);
            let Some(line) = text.lines().position(|line| line.contains(&marker)) else { continue };
            let body = Self::badge(&defect);
            if self.known(&body, head) && !self.rng.chance(25) {
                continue;
            }
            said += 1;
            self.reported.insert(defect.n);
            self.forgiven.remove(&defect.n);
            self.inline(name, head, review_id, &defect.path, u32::try_from(line + 1).expect("small"), &body);
        }
        let state = if said == 0 && name == "coderabbitai" { ReviewState::Approved } else { ReviewState::Commented };
        if said == 0 && name == "chatgpt-codex-connector" {
            let body = format!(
                "Codex Review: Didn't find any major issues. Keep them coming!\n\n**Reviewed commit:** `{}`",
                head.short()
            );
            let id = self.id();
            self.push_comment(id, Channel::Conversation, bot(name), body, None, None, None);
        } else {
            let body = if name == "coderabbitai" {
                format!("**Actionable comments posted: {said}**")
            } else {
                "### 💡 Codex Review\n\nHere are some automated review suggestions for this pull request.".to_owned()
            };
            self.push_comment(review_id, Channel::Review, bot(name), body, None, Some((state, head.clone())), None);
        }
        self.reviewed.entry(name).or_default().insert(head.clone());
    }

    /// Tells whether a bot has said this already and nobody claims since that it is fixed.
    fn known(&self, body: &str, head: &Sha) -> bool {
        self.comments.iter().rev().find(|comment| comment.body == body).is_some_and(|comment| {
            let answered = self.comments.iter().any(|reply| reply.in_reply_to == Some(comment.id));
            let resolved = self.threads.iter().any(|thread| thread.root == comment.id && thread.resolved);
            let made_on = comment.anchor.as_ref().and_then(|anchor| anchor.original_commit.as_ref());
            let claimed = made_on.is_some_and(|sha| self.repo.says_since(sha, head, &format!("c{}", comment.id)));
            !resolved && (answered || !claimed)
        })
    }

    fn inline(&mut self, name: &str, head: &Sha, review: u64, path: &str, line: u32, body: &str) {
        let id = self.id();
        let anchor = Anchor {
            path: path.to_owned(),
            side: Side::Right,
            line: Some(line),
            start_line: None,
            original_line: Some(line),
            original_start_line: None,
            original_commit: Some(head.clone()),
            commit: Some(head.clone()),
            whole_file: false,
            hunk: format!("@@ -0,0 +{line} @@\n+let value = compute();"),
        };
        self.push_comment(id, Channel::Inline, bot(name), body.to_owned(), Some(anchor), None, None);
        if let Some(comment) = self.comments.last_mut() {
            comment.review_id = Some(review);
        }
        self.threads.push(Thread {
            node_id: format!("T{id}"),
            root: id,
            comments: vec![id],
            resolved: false,
            resolved_by: None,
            outdated: false,
            may_resolve: true,
            minimised: Vec::new(),
        });
    }

    #[expect(clippy::too_many_arguments, reason = "one row of a comment")]
    fn push_comment(
        &mut self,
        id: u64,
        channel: Channel,
        author: Author,
        body: String,
        anchor: Option<Anchor>,
        review: Option<(ReviewState, Sha)>,
        reply_to: Option<u64>,
    ) {
        self.comments.push(Comment {
            id,
            channel,
            author: Some(author),
            association: Association::Collaborator,
            body,
            created_at: self.now,
            updated_at: self.now,
            url: format!("https://forge.example/c/{id}"),
            anchor,
            in_reply_to: reply_to,
            review_id: None,
            review_state: review.as_ref().map(|(state, _)| *state),
            review_commit: review.map(|(_, sha)| sha),
        });
    }

    /// We reply or comment.
    pub(crate) fn post(&mut self, root: Option<u64>, body: &str) -> u64 {
        for marker in pushback::review::marker::parse_all(body) {
            let there = self.comments.iter().any(|comment| comment.body.contains(marker.key()));
            assert!(!there, "posted twice: {body}");
        }
        let id = self.id();
        match root {
            Some(root) => {
                let anchor = self
                    .comments
                    .iter()
                    .find(|c| c.id == root && c.channel == Channel::Inline)
                    .and_then(|c| c.anchor.clone());
                self.push_comment(id, Channel::Inline, me(), body.to_owned(), anchor, None, Some(root));
                if let Some(thread) = self.threads.iter_mut().find(|thread| thread.root == root) {
                    thread.comments.push(id);
                }
            }
            None => self.push_comment(id, Channel::Conversation, me(), body.to_owned(), None, None, None),
        }
        id
    }

    /// A person pushes an unrelated file.
    pub(crate) fn person_pushes(&mut self) {
        let parent = self.repo.remote.clone();
        let mut files = self.repo.at(&parent).clone();
        self.person_pushes += 1;
        files.insert(format!("notes{}.txt", self.person_pushes), "by a person\n".into());
        let sha = self.repo.add(&parent, files, "a person's commit");
        self.repo.remote = sha.clone();
        self.schedule(&sha);
    }
}
