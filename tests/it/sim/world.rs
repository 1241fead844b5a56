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
use super::voices::{self, CASTS};

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
    /// What its reviewer says: a title, and words that name the defect.
    pub(crate) title: String,
    pub(crate) text: String,
}

/// In some worlds all findings are worded alike, so that only their places tell them apart.
fn worded(n: u32, alike: bool) -> (String, String) {
    match if alike { 0 } else { n % 4 } {
        0 => {
            (format!("Guard the value {n} before it is used"), format!("The call `compute` gets defect {n} unchecked."))
        }
        1 => (
            format!("Close the handle {n} on every path"),
            format!("An early return leaks the file of defect {n} here."),
        ),
        2 => (
            format!("Bound the loop {n} by its input"),
            format!("A negative length turns defect {n} into an endless iteration."),
        ),
        _ => (
            format!("Escape the name {n} for the shell"),
            format!("Quotes within the argument of defect {n} break out of the command."),
        ),
    }
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
    /// What the machine in use remembers, and who works at it.
    pub(crate) state: Option<Summary>,
    pub(crate) decisions: Option<Vec<u8>>,
    pub(crate) account: &'static str,
    /// P1s that this machine knew as open when their comments were deleted.
    pub(crate) orphans: BTreeSet<u32>,
    /// The other machine.
    pub(crate) away: Machine,
    pub(crate) briefs: Vec<Sent>,
    /// Machines at which the editor fell over last time.
    pub(crate) fell: BTreeSet<usize>,
    pub(crate) ops: u64,
    pub(crate) kill_at: Option<u64>,
    /// Kills at a call of this name, after so many of them.
    pub(crate) kill_on: Option<(&'static str, u64)>,
    pub(crate) weather: Weather,
    /// Comments of ours that the next readings do not show yet.
    pub(crate) lag: BTreeMap<u64, u64>,
    /// What speaks against answers of ours.
    pub(crate) objections: Vec<Objection>,
    /// Replies of bots that are to come: when, in which thread, about which defect, by whom.
    pub(crate) answers: Vec<(Timestamp, u64, u32, &'static str)>,
    /// Our replies that people deleted.
    pub(crate) deleted: BTreeSet<u64>,
    /// Comments whose reviewer has taken them back.
    pub(crate) taken_back: BTreeSet<u64>,
    /// The description before our last write, with what people had written around the block.
    pub(crate) former: Option<(String, String, String)>,
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
    /// When and how the checks of the head end.
    pub(crate) checks: BTreeMap<Sha, (Timestamp, bool)>,
    pub(crate) ci: bool,
    pub(crate) log: Vec<String>,
    pub(crate) person_pushes: u32,
    /// How often the editor answers a P2 with words, in percent.
    pub(crate) argues: u64,
    /// Whether all findings are worded alike.
    pub(crate) alike: bool,
}

/// How likely what is, in percent, during one run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Weather {
    /// A read that fails.
    pub(crate) reads: u64,
    /// A write without a clear answer.
    pub(crate) writes: u64,
    /// A post that the next readings do not show.
    pub(crate) lag: u64,
    /// Somebody who acts while the run waits.
    pub(crate) busy: u64,
    /// A bot that answers our answer.
    pub(crate) talk: u64,
}

/// Something said against a finding's answer: only what we say later answers it.
#[derive(Clone, Debug)]
pub(crate) struct Objection {
    pub(crate) root: u64,
    pub(crate) id: u64,
    pub(crate) at: Timestamp,
}

/// A brief that an editor was started with.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) text: String,
    pub(crate) machine: usize,
    /// Whether it surely reached no editor, was cut off, or is remembered nowhere.
    pub(crate) excused: bool,
}

/// A clone with its own state, and the account that works there.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    pub(crate) n: usize,
    pub(crate) account: &'static str,
    pub(crate) head: Sha,
    pub(crate) files: Files,
    pub(crate) state: Option<Summary>,
    pub(crate) decisions: Option<Vec<u8>>,
    pub(crate) orphans: BTreeSet<u32>,
}

/// Accounts that run the program; both may write.
pub(crate) const ACCOUNTS: [&str; 2] = ["dev", "dev2"];

pub(crate) fn bot(name: &str) -> Author {
    Author { login: Login::new(name), kind: AccountKind::Bot }
}

pub(crate) fn person(name: &str) -> Author {
    Author { login: Login::new(name), kind: AccountKind::Person }
}

/// Tells whether the program wrote a comment, from whichever account.
pub(crate) fn is_ours(comment: &Comment) -> bool {
    comment.author.as_ref().is_some_and(|author| ACCOUNTS.contains(&author.login.as_str()))
}

impl World {
    pub(crate) fn new(seed: u64) -> Rc<RefCell<Self>> {
        let mut rng = Rng::new(seed);
        let bots = rng.pick(&CASTS).to_vec();
        let alike = rng.chance(40);
        let mut defects = Vec::new();
        let mut files = Files::new();
        for n in 0..=u32::try_from(rng.below(4)).expect("small") {
            let path = format!("src/part{}.rs", rng.below(3));
            let name = *rng.pick(&bots);
            let level = *rng.pick(voices::levels(name));
            let text =
                files.entry(path.clone()).or_insert_with(|| (0..20).map(|k| format!("fn line{k}() {{}}\n")).collect());
            text.push_str(&format!("let value{n} = compute(DEFECT {n});\n"));
            text.push_str(&format!("fn after{n}() {{}}\n"));
            let (title, text) = worded(n, alike);
            defects.push(Defect { n, path, level, bot: name, title, text });
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
        let account = if rng.chance(50) { ACCOUNTS[0] } else { ACCOUNTS[1] };
        let away = Machine {
            n: 1,
            account,
            head: repo.head.clone(),
            files: repo.files.clone(),
            state: None,
            decisions: None,
            orphans: BTreeSet::new(),
        };
        let argues = *rng.pick(&[20, 50, 80]);
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
            account: ACCOUNTS[0],
            orphans: BTreeSet::new(),
            away,
            briefs: Vec::new(),
            fell: BTreeSet::new(),
            ops: 0,
            kill_at: None,
            kill_on: None,
            weather: Weather::default(),
            lag: BTreeMap::new(),
            objections: Vec::new(),
            answers: Vec::new(),
            deleted: BTreeSet::new(),
            taken_back: BTreeSet::new(),
            former: None,
            merged: false,
            closed: false,
            forgiven: BTreeSet::new(),
            decided: BTreeSet::new(),
            commanded: BTreeSet::new(),
            reacted: BTreeSet::new(),
            rows_removed: false,
            reported: BTreeSet::new(),
            pushed_at: BTreeMap::new(),
            checks: BTreeMap::new(),
            ci: false,
            log: Vec::new(),
            person_pushes: 0,
            argues,
            alike,
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
            if let Some((_, left)) = world.kill_on.as_mut().filter(|(on, _)| *on == what) {
                *left = left.saturating_sub(1);
            }
            world.kill_at == Some(n) || matches!(world.kill_on, Some((on, 0)) if on == what)
        };
        if kill {
            std::panic::resume_unwind(Box::new(Killed));
        }
    }

    /// A kill may have taken the editor's last run with it: its brief may be sent again.
    pub(crate) fn killed(&mut self) {
        self.log.push("== killed".to_owned());
        // Who comes back later reads what is there.
        self.lag.clear();
        if let Some(sent) = self.briefs.last_mut() {
            sent.excused = true;
        }
    }

    /// The work goes on at the other machine, with what is remembered there.
    pub(crate) fn switch(&mut self) {
        use std::mem::swap;
        swap(&mut self.account, &mut self.away.account);
        swap(&mut self.repo.head, &mut self.away.head);
        swap(&mut self.repo.files, &mut self.away.files);
        swap(&mut self.state, &mut self.away.state);
        swap(&mut self.decisions, &mut self.away.decisions);
        swap(&mut self.orphans, &mut self.away.orphans);
        self.away.n = 1 - self.away.n;
        self.lag.clear();
        self.log.push(format!("== at machine {}, as {}", 1 - self.away.n, self.account));
    }

    /// Somebody goes on at another machine: a fresh clone, no `summary.json`.
    pub(crate) fn lose_state(&mut self) {
        self.log.push("== state lost".to_owned());
        self.state = None;
        self.orphans.clear();
        self.lag.clear();
        let remote = self.repo.remote.clone();
        self.repo.files = self.repo.at(&remote).clone();
        self.repo.head = remote;
        // What is not remembered may be sent once more.
        let here = 1 - self.away.n;
        self.briefs.iter_mut().filter(|sent| sent.machine == here).for_each(|sent| sent.excused = true);
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
        let (channel, body) = voices::limited(name);
        let id = self.id();
        self.push_comment(id, channel, bot(name), body.to_owned(), None, None, None);
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
        let due: Vec<_> = self.answers.iter().filter(|(at, ..)| *at <= self.now).copied().collect();
        self.answers.retain(|(at, ..)| *at > self.now);
        for (_, root, n, name) in due {
            self.bot_answers(root, n, name);
        }
        let busy = self.weather.busy;
        if self.rng.chance(busy) {
            self.somebody_acts();
        }
    }

    pub(super) fn id(&mut self) -> u64 {
        self.next_id += 1 + self.rng.below(3);
        self.next_id
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
            let line = u32::try_from(line + 1).expect("small");
            let body = voices::finding(&defect, head, line);
            if self.known(&body, head) && !self.rng.chance(25) {
                continue;
            }
            said += 1;
            self.reported.insert(defect.n);
            self.forgiven.remove(&defect.n);
            // Its new comment stands for it from now on.
            self.orphans.remove(&defect.n);
            self.away.orphans.remove(&defect.n);
            self.inline(voices::hand(name), head, review_id, &defect.path, line, &body);
        }
        let end = voices::end(name, said, head);
        if let Some((state, body)) = end.review {
            self.push_comment(review_id, Channel::Review, bot(name), body, None, Some((state, head.clone())), None);
        }
        if let Some(body) = end.talk {
            self.says(name, body, end.sticky);
        }
        self.reviewed.entry(name).or_default().insert(head.clone());
    }

    /// A bot speaks in the conversation, where some have one comment that they edit.
    fn says(&mut self, name: &str, body: String, sticky: bool) {
        let now = self.now;
        let own = |c: &&mut Comment| {
            c.channel == Channel::Conversation && c.author == Some(bot(name)) && c.body.starts_with("<!--")
        };
        match self.comments.iter_mut().find(own).filter(|_| sticky) {
            Some(known) => (known.body, known.updated_at) = (body, now),
            None => {
                let id = self.id();
                self.push_comment(id, Channel::Conversation, bot(name), body, None, None, None);
            }
        }
    }

    /// Tells whether a bot has said this already and nobody claims since that it is fixed.
    fn known(&self, body: &str, head: &Sha) -> bool {
        let same = |comment: &&Comment| voices::claim(&comment.body) == voices::claim(body);
        self.comments.iter().rev().find(same).is_some_and(|comment| {
            // Its last word decides: that it is fixed is a claim, which a reviewer looks at.
            let about_it = |reply: &&Comment| !reply.body.contains("pushback:1 answer command");
            let last = self.comments.iter().filter(about_it).rfind(|reply| reply.in_reply_to == Some(comment.id));
            let says_fixed = |reply: &Comment| is_ours(reply) && reply.body.contains("pushback:1 fixed");
            let answered = last.is_some_and(|reply| !says_fixed(reply));
            let resolved = self.threads.iter().any(|thread| thread.root == comment.id && thread.resolved);
            let made_on = comment.anchor.as_ref().and_then(|anchor| anchor.original_commit.as_ref());
            let claimed = last.is_some_and(says_fixed)
                || made_on.is_some_and(|sha| self.repo.says_since(sha, head, &format!("c{}", comment.id)));
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
    pub(super) fn push_comment(
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
        self.log.push(format!("-- posts in {root:?}: {}", body.lines().next_back().unwrap_or_default()));
        let me = person(self.account);
        match root {
            Some(root) => {
                let id = self.reply(root, me, body);
                self.maybe_answered(root, body);
                id
            }
            None => {
                let id = self.id();
                self.push_comment(id, Channel::Conversation, me, body.to_owned(), None, None, None);
                id
            }
        }
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
