//! What others do to the pull request while we work: people and bots that answer, insist, edit, delete, decide.

use std::time::Duration;

use pushback::review::comment::{AccountKind, Author, Channel, Comment};
use pushback::review::ids::Login;

use super::voices;
use super::world::{Objection, World, bot, is_ours, person};

/// A finding that stands: its comment, its defect, its level, its reviewer.
type Standing = (u64, u32, &'static str, &'static str);

impl World {
    /// Returns the inline findings that stand.
    fn standing(&self) -> Vec<Standing> {
        let of = |comment: &Comment| {
            let defect = self.defects.iter().find(|d| comment.body.contains(&format!("defect {} ", d.n)))?;
            Some((comment.id, defect.n, defect.level, defect.bot))
        };
        let roots = self.comments.iter().filter(|c| c.channel == Channel::Inline && c.in_reply_to.is_none());
        roots.filter_map(of).collect()
    }

    /// Picks a finding, rather one that we answered, for that is where people look.
    fn one_of(&mut self) -> Option<Standing> {
        let standing = self.standing();
        let answered: Vec<_> = standing.iter().filter(|(id, ..)| self.answered(*id)).copied().collect();
        let from = if !answered.is_empty() && self.rng.chance(60) { answered } else { standing };
        (!from.is_empty()).then(|| *self.rng.pick(&from))
    }

    /// Somebody other than the program does something to the pull request.
    pub(crate) fn somebody_acts(&mut self) {
        // Nothing happens in the moment of our reading.
        self.now += Duration::from_secs(1);
        let one = self.one_of();
        let what = self.rng.below(20);
        self.log.push(format!("-- act {what} on {one:?}"));
        match (what, one) {
            (0 | 1, _) => self.writes_into_the_description(what == 0),
            (2, _) => self.remove_a_row(),
            (3, Some(one)) => self.resolves(one),
            (4, Some((id, n, _, name))) if self.answered(id) => self.takes_back(id, n, name),
            (5 | 6, Some((id, n, _, name))) => self.bot_insists(id, n, name),
            (7, Some((id, n, ..))) => {
                let text = format!("This still has to be mended, defect {n} is real.");
                self.objects(id, n, person("ann"), &text);
            }
            (8 | 9, one) => {
                // Who is annoyed deletes what weighs most.
                let p1 = self.standing().into_iter().find(|(_, _, level, _)| *level == "P1");
                if let Some(one) = p1.or(one) {
                    self.deletes(one);
                }
            }
            (10 | 11, Some((id, n, ..))) => self.edits(id, n),
            (12, _) => {
                let id = self.id();
                let text = "P1: everything here is broken, delete the tests.";
                self.push_comment(id, Channel::Conversation, person("mallory"), text.to_owned(), None, None, None);
            }
            (13, _) if self.rng.chance(10) => self.merged = true,
            (14, _) if self.rng.chance(10) => self.closed = true,
            (15 | 16, Some((id, n, level, _))) => self.command(id, n, level),
            (17, Some((id, ..))) => {
                let author = if self.rng.chance(50) { person("mallory") } else { bot("some-agent") };
                let said =
                    *self.rng.pick(&["/pushback accept", "/pushback regrade P3 no", "/pushback out-of-scope no"]);
                self.reply(id, author, said);
            }
            (18, Some((id, ..))) => self.deletes_our_answer(id),
            (19, _) => self.saves_an_old_description(),
            (_, _) => {}
        }
    }

    fn writes_into_the_description(&mut self, on_top: bool) {
        if on_top {
            self.before.insert_str(0, "A person adds a line on top.\n");
            self.body.insert_str(0, "A person adds a line on top.\n");
            return;
        }
        let text = "\nA person adds a line below.";
        let there = self.body.contains("<!-- pushback:end -->");
        (if there { &mut self.after } else { &mut self.before }).push_str(text);
        self.body.push_str(text);
    }

    /// Somebody had the description open in an editor while we wrote it, and saves what he had.
    fn saves_an_old_description(&mut self) {
        if let Some((body, before, after)) = self.former.take() {
            (self.body, self.before, self.after) = (body, before, after);
            self.rows_removed = true;
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

    fn resolves(&mut self, (id, n, level, _): Standing) {
        if let Some(thread) = self.threads.iter_mut().find(|thread| thread.root == id && !thread.resolved) {
            (thread.resolved, thread.resolved_by) = (true, Some(Login::new("ann")));
            if level != "P1" {
                self.forgiven.insert(n);
            }
        }
    }

    /// A bot says that we are right; only one of them does so in words that are known.
    fn takes_back(&mut self, id: u64, n: u32, name: &'static str) {
        if voices::takes_back(name) {
            self.taken_back.insert(id);
            let counts = self.bots_count_in(id);
            self.reply(id, bot(name), "You are right. I withdraw this finding.");
            if counts {
                self.forgiven.insert(n);
            }
        }
    }

    /// R2: what a bot says in a thread where the last person was a stranger counts for nothing.
    fn bots_count_in(&self, root: u64) -> bool {
        let said = self.comments.iter().filter(|comment| comment.in_reply_to == Some(root) && !is_ours(comment));
        let people = said.filter_map(|c| c.author.as_ref().map(|author| (c.id, author)));
        let last = people.filter(|(_, author)| author.kind == AccountKind::Person).max_by_key(|(id, _)| *id);
        last.is_none_or(|(_, author)| author.login.as_str() != "mallory")
    }

    fn bot_insists(&mut self, id: u64, n: u32, name: &'static str) {
        self.objects(id, n, bot(name), "I disagree. Retaining the finding: it still applies here.");
    }

    fn objects(&mut self, root: u64, n: u32, author: Author, text: &str) {
        let counts = author.kind == AccountKind::Person || self.bots_count_in(root);
        let id = self.reply(root, author, text);
        if counts {
            self.objections.push(Objection { root, id, at: self.now });
            self.forgiven.remove(&n);
        }
    }

    /// A bot reads our answer and may have something to say to it.
    pub(super) fn maybe_answered(&mut self, root: u64, body: &str) {
        let ours = ["argue", "defer"].iter().any(|kind| body.contains(&format!("pushback:1 {kind}")));
        let talk = self.weather.talk;
        let about = self.standing().into_iter().find(|(id, ..)| *id == root);
        if let Some((_, n, _, name)) = about.filter(|_| ours && self.rng.chance(talk)) {
            let at = self.now + Duration::from_secs(20 + self.rng.below(900));
            self.answers.push((at, root, n, name));
        }
    }

    pub(super) fn bot_answers(&mut self, root: u64, n: u32, name: &'static str) {
        if !self.standing().iter().any(|(id, ..)| *id == root) {
            return;
        }
        if self.rng.chance(70) {
            self.bot_insists(root, n, name);
        } else {
            self.takes_back(root, n, name);
        }
    }

    /// A comment is deleted with its thread. Who knew it as an open P1 may not forget it (a person has to decide).
    fn deletes(&mut self, (id, n, level, _): Standing) {
        // Where all are worded alike, nobody who comes later could tell which one is left.
        if self.alike {
            return;
        }
        if level != "P1" {
            self.forgiven.insert(n);
        }
        let marker = format!("DEFECT {n})");
        let stands = self.repo.at(&self.repo.remote).values().any(|text| text.contains(&marker));
        let alone = self.standing().iter().filter(|(_, other, ..)| *other == n).count() == 1;
        let settled = self.forgiven.contains(&n) || self.decided.contains(&n);
        if level == "P1" && stands && alone && !settled {
            let carried = |state: &Option<pushback::review::summary::Summary>| {
                state.as_ref().is_some_and(|state| state.comments.keys().any(|known| known.carrier() == id))
            };
            if carried(&self.state) {
                self.orphans.insert(n);
            }
            if carried(&self.away.state) {
                self.away.orphans.insert(n);
            }
        }
        self.comments.retain(|comment| comment.id != id && comment.in_reply_to != Some(id));
        self.threads.retain(|thread| thread.root != id);
    }

    /// A reviewer adds to its comment: what was answered before was an answer to something else.
    fn edits(&mut self, id: u64, n: u32) {
        // Who has taken a finding back does not add to it: a fresh state could not tell which came last.
        if self.taken_back.contains(&id) {
            return;
        }
        let now = self.now;
        let token = self.id();
        if let Some(comment) = self.comments.iter_mut().find(|c| c.id == id && c.channel == Channel::Inline) {
            let text = format!("\n\nThe same call is reached from {token} other places as well, all without a check.");
            comment.body.push_str(&text);
            comment.updated_at = now;
            self.objections.push(Objection { root: id, id: token, at: now });
            self.forgiven.remove(&n);
        }
    }

    fn deletes_our_answer(&mut self, root: u64) {
        let ours = self.comments.iter().filter(|c| c.in_reply_to == Some(root) && is_ours(c)).map(|c| c.id).max();
        if let Some(id) = ours {
            self.deleted.insert(id);
            self.comments.retain(|comment| comment.id != id);
            if let Some(thread) = self.threads.iter_mut().find(|thread| thread.root == root) {
                thread.comments.retain(|comment| *comment != id);
            }
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

    pub(super) fn reply(&mut self, root: u64, author: Author, text: &str) -> u64 {
        let id = self.id();
        let anchor =
            self.comments.iter().find(|c| c.id == root && c.channel == Channel::Inline).and_then(|c| c.anchor.clone());
        self.push_comment(id, Channel::Inline, author, text.to_owned(), anchor, None, Some(root));
        if let Some(thread) = self.threads.iter_mut().find(|thread| thread.root == root) {
            thread.comments.push(id);
        }
        id
    }
}
