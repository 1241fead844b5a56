use super::*;
use crate::review::comment::{Author, Comment};
use crate::review::decision::Verb;
use crate::review::description::{BlockReading, read, splice};
use crate::review::ids::Login;
use crate::review::note::{Classified, Kind, Note, ReplyVerdict, Standing};
use crate::review::observation::{Permission, Reading};
use crate::review::owed::key_of_version;
use crate::review::policy::{Policy, Replies};
use crate::review::sample;
use crate::review::severity::Severity;
use crate::review::status::Status;
use crate::review::summary::{CommandRecord, Entry, Pending, Proof};
use proptest::prelude::*;

/// A pull request that takes writes, with everything around it.
struct Scene {
    summary: Summary,
    obs: Observation,
    policy: Policy,
    posted: usize,
    next_id: u64,
}

impl Scene {
    fn new(entries: Vec<Entry>) -> Self {
        let mut comments = Vec::new();
        let mut threads = Vec::new();
        for entry in &entries {
            let id = entry.finding.id.carrier();
            let author = Author { login: entry.finding.author.clone(), kind: entry.finding.author_kind };
            comments.push(sample::comment(id, author, entry.finding.channel, &entry.text));
            if entry.thread.is_some() {
                threads.push(sample::thread(id, &[id]));
            }
        }
        let obs = sample::observation(comments, threads);
        Self { summary: sample::summary(entries), obs, policy: Policy::default(), posted: 0, next_id: 1000 }
    }

    fn notes(&self) -> Vec<Note> {
        let each = |comment: &Comment| {
            let writes = comment.author.as_ref().is_some_and(|author| self.obs.permission(author) == Permission::Write);
            let may_mark = writes || self.obs.is_ours(comment.author.as_ref());
            let ours = may_mark && marker::parse(&comment.body).is_some();
            let bot = comment.author.as_ref().is_some_and(|a| a.kind == crate::review::comment::AccountKind::Bot);
            let standing = match (ours, bot) {
                (true, _) => Standing::Ours,
                (false, true) => Standing::Reviewer("codex".into()),
                (false, false) => Standing::Writer { assumed: false },
            };
            let said = Classified {
                closed_finding: None,
                kind: Kind::Reply,
                findings: Vec::new(),
                reviewer: None,
                signals: Vec::new(),
                closed: None,
                verdict: ReplyVerdict::Unclear,
            };
            Note {
                channel: comment.channel,
                id: comment.id,
                author: comment.author.clone(),
                standing,
                said: said.into(),
            }
        };
        self.obs.comments.iter().map(each).collect()
    }

    fn look(&mut self) -> usize {
        let notes = self.notes();
        reconcile(&mut self.summary, &self.obs, &notes);
        plan(&mut self.summary, &self.obs, &notes, &self.policy)
    }

    fn say(&mut self, root: Option<u64>, author: Author, body: &str) -> u64 {
        self.next_id += 1;
        let channel = if root.is_some() { Channel::Inline } else { Channel::Conversation };
        let mut comment = sample::comment(self.next_id, author, channel, body);
        comment.in_reply_to = root;
        self.obs.comments.push(comment);
        for thread in self.obs.threads.iter_mut().filter(|thread| Some(thread.root) == root) {
            thread.comments.push(self.next_id);
        }
        self.next_id
    }

    /// Takes one write as the forge does.
    fn take(&mut self, item: &OutboxItem) -> Written {
        let me = sample::person("me");
        match &item.target {
            Target::Thread { root } | Target::Reply { root, .. } => {
                self.posted += 1;
                Written::Done(Some(self.say(Some(*root), me, &item.body)))
            }
            Target::Conversation => {
                self.posted += 1;
                Written::Done(Some(self.say(None, me, &item.body)))
            }
            Target::Description => {
                self.obs.pr.body = splice(&self.obs.pr.body, &item.body).expect("a place for the block");
                Written::Done(None)
            }
            Target::ThreadNode { root, .. } => {
                let thread = self.obs.threads.iter_mut().find(|thread| thread.root == *root).expect("a thread");
                thread.resolved = true;
                Written::Done(None)
            }
            Target::Own { channel, id } => {
                self.obs.comments.retain(|comment| (comment.channel, comment.id) != (*channel, *id));
                self.obs.threads.iter_mut().for_each(|thread| thread.comments.retain(|c| c != id));
                Written::Done(None)
            }
            Target::Inline { .. } | Target::Reviewer { .. } => Written::Done(None),
        }
    }

    /// Performs everything that is planned; returns the order of kinds.
    fn perform(&mut self) -> Vec<WriteKind> {
        let mut kinds = Vec::new();
        while let Some(item) = next(&self.summary).cloned() {
            before_write(&mut self.summary, &item.key);
            let written = self.take(&item);
            after_write(&mut self.summary, &item.key, &written);
            kinds.push(item.kind);
            assert!(kinds.len() < 50, "no end");
        }
        kinds
    }

    fn run(&mut self) -> Vec<WriteKind> {
        let mut kinds = Vec::new();
        for _ in 0..6 {
            self.look();
            kinds.extend(self.perform());
        }
        kinds
    }

    fn status(&self, id: &str) -> Status {
        self.summary.comments[&id.parse().expect("id")].finding.status
    }

    fn texts(&self) -> Vec<&str> {
        let ours = self.obs.comments.iter().filter(|c| self.obs.is_ours(c.author.as_ref()));
        ours.map(|c| c.body.as_str()).collect()
    }
}

fn argued(id: &str) -> Entry {
    let mut entry = sample::entry(id, Severity::P2);
    entry.pending = Some(sample::pending(Verb::Argue, "`parse` is only called with checked input"));
    entry
}

fn fixed(id: &str) -> Entry {
    let mut entry = sample::entry(id, Severity::P1);
    entry.finding.status = Status::Fixed;
    entry.proof = Some(Proof::Commit { sha: sample::sha('c'), place: "src/a.rs:10".into() });
    entry
}

fn stale(id: &str) -> Entry {
    let mut entry = sample::entry(id, Severity::P2);
    entry.finding.status = Status::Stale;
    entry.proof = Some(Proof::AnchorGone { head: sample::sha('a'), because: "`src/a.rs` was removed".into() });
    entry
}

#[test]
fn r8_an_argument_counts_once_both_places_are_read_back() {
    let mut scene = Scene::new(vec![argued("c1")]);
    assert_eq!(scene.look(), 2);
    let reply = next(&scene.summary).cloned().expect("a reply first");
    assert_eq!((reply.kind, &reply.target), (WriteKind::Argue, &Target::Thread { root: 1 }));
    let written = scene.take(&reply);
    after_write(&mut scene.summary, &reply.key, &written);
    scene.look();
    assert_eq!(scene.status("c1"), Status::Open, "the description does not say it yet");
    assert_eq!(scene.perform(), [WriteKind::Describe]);
    assert_eq!(scene.status("c1"), Status::Open, "written is not read back");
    scene.look();
    assert_eq!(scene.status("c1"), Status::Argued);
    let entry = &scene.summary.comments[&"c1".parse().expect("id")];
    assert!(matches!(&entry.proof, Some(Proof::Reply { comment_id: 1001, key, .. }) if *key == reply.key));
    assert_eq!(entry.history.last().map(|m| (m.from, m.to)), Some((Some(Status::Open), Status::Argued)));
}

#[test]
fn r13_two_accounts_that_may_write_say_one_thing_once() {
    let mut scene = Scene::new(vec![argued("c1"), stale("c2")]);
    scene.run();
    let posted = scene.posted;
    assert_eq!(posted, 2);
    // The same pull request from another machine, where another account works with a state of its own.
    scene.obs.permissions.insert(sample::person("me").login, Permission::Write);
    scene.obs.account = Some(sample::person("you"));
    scene.summary = sample::summary(vec![argued("c1"), stale("c2")]);
    scene.run();
    assert_eq!(scene.posted, posted, "{:?}", scene.texts());
    assert_eq!(scene.status("c1"), Status::Argued, "what stands there settles it");
    // Who may not write here is not believed. The stale one's thread is resolved by now and needs no words.
    scene.obs.permissions.insert(sample::person("me").login, Permission::Read);
    scene.summary = sample::summary(vec![argued("c1"), stale("c2")]);
    scene.run();
    assert_eq!(scene.posted, posted + 1);
}

#[test]
fn r23_a_second_copy_is_deleted_by_the_account_that_wrote_it() {
    let mut scene = Scene::new(vec![argued("c1")]);
    scene.run();
    let said = scene.texts()[0].to_owned();
    let theirs = scene.say(Some(1), sample::person("you"), &said);
    scene.obs.permissions.insert(sample::person("you").login, Permission::Write);
    scene.run();
    assert!(scene.obs.comments.iter().any(|comment| comment.id == theirs), "what is not ours is not deleted");
    scene.obs.account = Some(sample::person("you"));
    scene.obs.permissions.insert(sample::person("me").login, Permission::Write);
    scene.run();
    assert!(!scene.obs.comments.iter().any(|comment| comment.id == theirs), "the later copy goes");
    assert_eq!(scene.obs.comments.iter().filter(|comment| comment.body == said).count(), 1);
}

#[test]
fn r15_a_follow_up_is_linked_after_the_push_and_counts_once_read_back() {
    for (id, severity) in [("c1", Severity::P2), ("i5.1", Severity::P2), ("c2", Severity::P3)] {
        let mut entry = sample::entry(id, severity);
        entry.pending = Some(sample::pending(Verb::Defer, "belongs to the next change, which rewrites the reader"));
        let mut scene = Scene::new(vec![entry]);
        let kinds = scene.run();
        assert!(!kinds.contains(&WriteKind::Defer), "nothing is said before the plan is on the remote: {kinds:?}");
        let key: FindingId = id.parse().expect("id");
        let pending = scene.summary.comments.get_mut(&key).and_then(|e| e.pending.as_mut()).expect("under way");
        pending.file = Some("wiki/plans/a.md".into());
        pending.url = Some(format!("https://github.com/o/r/blob/{}/wiki/plans/a.md", sample::sha('c')));
        scene.look();
        assert_eq!(scene.perform(), [WriteKind::Defer, WriteKind::Describe]);
        assert_eq!(scene.status(id), Status::Open, "written is not read back");
        scene.look();
        assert_eq!(scene.status(id), Status::Deferred);
        assert!(scene.texts()[0].contains("](https://github.com/o/r/blob/cccc"), "{}", scene.texts()[0]);
        assert!(scene.obs.pr.body.contains("Out of scope, follow-up in [wiki/plans/a.md]("), "{}", scene.obs.pr.body);
        assert!(scene.obs.pr.body.contains("which rewrites the reader"), "{}", scene.obs.pr.body);
        assert_eq!(scene.run(), []);
        assert_eq!(scene.posted, 1);
    }
}

#[test]
fn fc_58_an_answer_goes_to_the_threads_first_comment() {
    let mut entry = argued("c205");
    entry.thread = Some(100);
    let mut scene = Scene::new(vec![sample::entry("c100", Severity::P3), entry]);
    scene.look();
    let reply = next(&scene.summary).cloned().expect("a reply");
    assert_eq!((reply.kind, &reply.target), (WriteKind::Argue, &Target::Thread { root: 100 }));
    assert!(reply.body.contains(" c205 "), "{}", reply.body);
}

#[test]
fn fc_39_a_claim_that_came_back_is_told_once() {
    let mut again = argued("c9");
    again.finding.previous = vec!["c1".parse().expect("id")];
    let mut scene = Scene::new(vec![argued("c1"), again.clone()]);
    scene.summary.comments.remove(&again.finding.id);
    scene.run();
    assert_eq!(scene.obs.pr.body.matches("Left as it is").count(), 1, "{}", scene.obs.pr.body);
    scene.summary.comments.insert(again.finding.id, again);
    scene.run();
    assert_eq!((scene.status("c1"), scene.status("c9")), (Status::Argued, Status::Argued));
    assert_eq!(scene.obs.pr.body.matches("Left as it is").count(), 1, "{}", scene.obs.pr.body);
    assert!(scene.obs.pr.body.contains("#x9"), "the newest form");
}

#[test]
fn fc_39_another_claim_at_the_place_of_a_settled_one_hides_no_reason() {
    let mut related = argued("c9");
    related.finding.previous = vec!["c1".parse().expect("id")];
    related.finding.title = "Close the handle when the loop ends early".into();
    related.text =
        "The handle stays open when the loop is left by `break`, and a long run then has no handles left.".into();
    let mut scene = Scene::new(vec![argued("c1"), related.clone()]);
    scene.summary.comments.remove(&related.finding.id);
    scene.run();
    scene.summary.comments.insert(related.finding.id, related);
    scene.run();
    assert_eq!((scene.status("c1"), scene.status("c9")), (Status::Argued, Status::Argued));
    let body = scene.obs.pr.body.clone();
    assert!(body.matches("Left as it is").count() == 2 && body.contains("#x1") && body.contains("#x9"), "{body}");
    let required: Vec<String> =
        crate::review::description::required(&scene.summary).into_iter().map(|(id, _)| id.to_string()).collect();
    assert_eq!(required, ["c1", "c9"], "the gate asks for both");
}

fn commanded(comment: u64, said: &str, refused: Option<&str>) -> CommandRecord {
    CommandRecord {
        comment,
        root: 1,
        id: "c1".parse().ok(),
        by: Login::new("ann"),
        said: said.into(),
        version: format!("{comment} {said}"),
        refused: refused.map(str::to_owned),
    }
}

#[test]
fn r06_each_command_is_acknowledged_once_and_shown() {
    let mut scene = Scene::new(vec![sample::entry("c1", Severity::P2)]);
    let id = scene.say(Some(1), sample::person("ann"), "/pushback regrade P2 rare | @codex");
    scene.summary.commands = vec![commanded(id, "/pushback regrade P2 rare | @codex", None)];
    assert_eq!(scene.run(), [WriteKind::Describe, WriteKind::React]);
    assert!(scene.obs.pr.body.contains("1 command"), "{}", scene.obs.pr.body);
    assert!(scene.obs.pr.body.contains("ann: \\/pushback regrade P2 rare"), "{}", scene.obs.pr.body);
    assert!(!scene.obs.pr.body.contains("@codex"), "{}", scene.obs.pr.body);
    assert_eq!((scene.run(), scene.posted), (vec![], 0));
    // Taken out by a person: put back once, then left.
    let without = |scene: &mut Scene| {
        let body = scene.obs.pr.body.clone();
        let lines: Vec<&str> = body.lines().filter(|line| !line.starts_with("- ann:")).collect();
        scene.obs.pr.body = lines.join("\n");
    };
    without(&mut scene);
    assert_eq!(scene.run(), [WriteKind::Describe]);
    without(&mut scene);
    assert_eq!(scene.run(), [], "no fight");
    assert!(!scene.obs.pr.body.contains("- ann:"), "{}", scene.obs.pr.body);
}

#[test]
fn r06_a_wrong_command_gets_one_hint_a_version() {
    let mut scene = Scene::new(vec![sample::entry("c1", Severity::P2)]);
    let id = scene.say(Some(1), sample::person("ann"), "/pushback acept");
    scene.summary.commands = vec![commanded(id, "/pushback acept", Some("the commands are `accept` and others"))];
    assert_eq!(scene.run(), [WriteKind::Answer, WriteKind::Describe]);
    assert!(scene.texts()[0].contains("`/pushback accept`"), "{}", scene.texts()[0]);
    assert!(crate::review::commands::is_hint(scene.texts()[0]) && !scene.obs.pr.body.contains("acept"));
    assert_eq!(scene.run(), []);
    // State is lost: the hint is found by its key.
    scene.summary.outbox.clear();
    assert_eq!((scene.run(), scene.posted), (vec![], 1));
    scene.summary.commands = vec![commanded(id, "/pushback regrad P2", Some("the commands are `accept` and others"))];
    assert_eq!(scene.run(), [WriteKind::Answer]);
    assert_eq!(scene.posted, 2);
}

#[test]
fn r10_a_second_run_posts_nothing() {
    let mut scene = Scene::new(vec![argued("c1"), argued("r5.1"), argued("i6.1"), fixed("c2"), stale("c3")]);
    scene.policy.post.replies = Replies::All;
    scene.run();
    let (posted, body) = (scene.posted, scene.obs.pr.body.clone());
    assert_eq!(posted, 4, "two threads with reasons, one line, one comment for both without a thread");
    assert_eq!(scene.run(), []);
    assert_eq!((scene.posted, &scene.obs.pr.body), (posted, &body));
    assert_eq!(
        (scene.status("c1"), scene.status("r5.1"), scene.status("i6.1")),
        (Status::Argued, Status::Argued, Status::Argued)
    );
    assert!(scene.obs.pr.body.starts_with("What this does.\n"));
}

#[test]
fn r25_bots_fixed_threads_are_resolved_without_words() {
    let mut scene = Scene::new(vec![fixed("c1")]);
    assert_eq!(scene.run(), [WriteKind::Describe, WriteKind::Resolve]);
    assert_eq!(scene.posted, 0);
    let mut scene = Scene::new(vec![fixed("c1")]);
    scene.obs.threads[0].may_resolve = false;
    assert_eq!(scene.run(), [WriteKind::Fixed, WriteKind::Describe]);
    let mut scene = Scene::new(vec![stale("c1")]);
    assert_eq!(scene.run(), [WriteKind::Stale, WriteKind::Describe, WriteKind::Resolve]);
    let mut scene = Scene::new(vec![argued("c1")]);
    assert_eq!(scene.run(), [WriteKind::Argue, WriteKind::Describe], "an argument leaves the thread open");
    let mut scene = Scene::new(vec![argued("c1")]);
    if let Reading::Known(rules) = &mut scene.obs.rules {
        rules.resolve_threads = true;
    }
    assert_eq!(scene.run(), [WriteKind::Argue, WriteKind::Describe, WriteKind::Resolve], "where the rule asks for it");
}

#[test]
fn fc_61_only_threads_of_one_bot_and_us_are_resolved() {
    let check = |scene: &mut Scene, expected: bool| {
        scene.run();
        assert_eq!(scene.obs.threads[0].resolved, expected);
    };
    let mut a = Scene::new(vec![stale("c1")]);
    check(&mut a, true);
    let mut entry = fixed("c1");
    entry.finding.author_kind = crate::review::comment::AccountKind::Person;
    let mut b = Scene::new(vec![entry]);
    check(&mut b, false);
    assert_eq!(b.posted, 1, "a person gets a line");
    let mut c = Scene::new(vec![fixed("c1")]);
    c.say(Some(1), sample::person("ann"), "is this really so?");
    check(&mut c, false);
    let mut own_words = Scene::new(vec![fixed("c1")]);
    own_words.say(Some(1), sample::person("me"), "typed by hand, no receipt");
    check(&mut own_words, false);
    let mut d = Scene::new(vec![fixed("c1")]);
    d.look();
    let item = d.summary.outbox.iter().find(|item| item.kind == WriteKind::Resolve).cloned().expect("planned");
    assert!(still_wanted(&d.summary, &item, d.obs.threads.first()));
    d.say(Some(1), sample::bot("codex"), "still there");
    assert!(!still_wanted(&d.summary, &item, d.obs.threads.first()));
    assert!(!still_wanted(&d.summary, &item, None));
}

#[test]
fn fm_25_a_resolved_thread_is_left_alone() {
    let mut scene = Scene::new(vec![stale("c1")]);
    scene.run();
    scene.obs.threads[0].resolved = false;
    assert_eq!(scene.run(), [], "somebody opened it again: that is theirs");
}

#[test]
fn fc_60_a_kill_after_the_server_stored_it_posts_nothing_twice() {
    for id in ["c1", "r5.1"] {
        let mut scene = Scene::new(vec![argued(id)]);
        scene.look();
        let item = next(&scene.summary).cloned().expect("planned");
        before_write(&mut scene.summary, &item.key);
        scene.take(&item);
        scene.run();
        assert_eq!((scene.posted, scene.status(id)), (1, Status::Argued));
    }
}

#[test]
fn fm_16_an_unclear_post_that_is_not_there_is_posted_again() {
    let mut scene = Scene::new(vec![argued("c1")]);
    scene.look();
    let item = next(&scene.summary).cloned().expect("planned");
    before_write(&mut scene.summary, &item.key);
    after_write(&mut scene.summary, &item.key, &Written::Unclear("502".into()));
    assert_ne!(next(&scene.summary).map(|i| i.key.clone()), Some(item.key), "first it is looked for");
    scene.run();
    assert_eq!((scene.posted, scene.status("c1")), (1, Status::Argued));
}

#[test]
fn r24_a_reply_that_was_believed_lost_is_the_argument_once_it_shows() {
    let mut scene = Scene::new(vec![argued("c1")]);
    scene.look();
    let item = next(&scene.summary).cloned().expect("planned");
    before_write(&mut scene.summary, &item.key);
    after_write(&mut scene.summary, &item.key, &Written::Unclear("502".into()));
    scene.look();
    // Not seen, so it is answered anew, with other words under the same key; then the first reply shows.
    drop_item(&mut scene.summary, &item.key, "it was answered anew");
    let id = "c1".parse().expect("id");
    let anew = sample::pending(Verb::Argue, "`parse` has one caller, and that one looks first");
    scene.summary.comments.get_mut(&id).expect("an entry").pending = Some(anew);
    scene.look();
    scene.take(&item);
    scene.run();
    assert_eq!((scene.posted, scene.status("c1")), (1, Status::Argued));
    assert!(scene.texts()[0].contains("checked input"), "{:?}", scene.texts());
    let body = &scene.obs.pr.body;
    assert!(
        body.contains("checked input") && !body.contains("one caller"),
        "thread and description say one thing: {body}"
    );
}

#[test]
fn r23_a_post_that_was_deleted_is_not_repeated() {
    let mut scene = Scene::new(vec![argued("c1")]);
    scene.look();
    let item = next(&scene.summary).cloned().expect("planned");
    before_write(&mut scene.summary, &item.key);
    let written = scene.take(&item);
    after_write(&mut scene.summary, &item.key, &written);
    scene.obs.comments.retain(|comment| comment.id != 1001);
    scene.run();
    scene.run();
    assert_eq!((scene.posted, scene.status("c1")), (1, Status::Open));
}

#[test]
fn r23_of_two_copies_the_lower_one_stays() {
    let mut scene = Scene::new(vec![argued("c1")]);
    scene.look();
    let item = next(&scene.summary).cloned().expect("planned");
    scene.take(&item);
    scene.take(&item);
    scene.run();
    let ours: Vec<u64> = scene.obs.comments.iter().filter(|c| c.id > 1000).map(|c| c.id).collect();
    assert_eq!((ours, scene.status("c1")), (vec![1001], Status::Argued));
}

#[test]
fn r23_a_copy_that_says_more_is_kept() {
    let mut scene = Scene::new(vec![argued("r1.1"), argued("r2.1")]);
    scene.look();
    let both = next(&scene.summary).cloned().expect("planned");
    let first = marker::parse_all(&both.body).first().cloned().expect("a receipt");
    scene.say(None, sample::person("me"), &words::post("only the first", &[first]));
    scene.take(&both);
    scene.run();
    assert_eq!(scene.texts().len(), 2, "the second comment alone answers the second finding");
}

#[test]
fn r13_a_reply_posted_before_state_was_lost_is_taken_over() {
    for objected in [false, true] {
        let mut scene = Scene::new(vec![argued("c1")]);
        scene.look();
        let item = next(&scene.summary).cloned().expect("planned");
        scene.take(&item);
        if objected {
            scene.say(Some(1), sample::bot("codex"), "I do not agree");
        }
        let mut entry = argued("c1");
        entry.pending = Some(sample::pending(Verb::Argue, "the loop before `parse` ends on empty input"));
        entry.heard = vec![1002];
        scene.summary = sample::summary(vec![entry]);
        scene.run();
        assert_eq!((scene.status("c1"), scene.posted), (Status::Argued, if objected { 2 } else { 1 }));
        let last = scene.texts().last().copied().and_then(words::argued_reason).expect("an argument");
        assert!(scene.obs.pr.body.contains(&last), "thread and description give one reason");
    }
}

#[test]
fn r15_the_plan_that_a_reply_links_is_the_plan() {
    let deferred = |path: &str| {
        let mut entry = argued("c1");
        let url = format!("https://github.com/octo/pay/blob/{}/{path}", "a".repeat(40));
        let pending = sample::pending(Verb::Defer, "the callers belong to the next change");
        entry.pending = Some(Pending { file: Some(path.to_owned()), url: Some(url), ..pending });
        entry
    };
    let mut scene = Scene::new(vec![deferred("wiki/plans/one.md")]);
    scene.look();
    let item = next(&scene.summary).cloned().expect("planned");
    scene.take(&item);
    // Another machine of ours had a plan of its own in mind.
    scene.summary = sample::summary(vec![deferred("wiki/plans/other.md")]);
    scene.run();
    assert_eq!((scene.status("c1"), scene.posted), (Status::Deferred, 1));
    let entry = scene.summary.comments.values().next().expect("an entry");
    assert!(matches!(&entry.proof, Some(Proof::Plan { path, .. }) if path == "wiki/plans/one.md"), "{:?}", entry.proof);
    let body = &scene.obs.pr.body;
    assert!(body.contains("wiki/plans/one.md") && !body.contains("wiki/plans/other.md"), "{body}");
}

#[test]
fn fm_42_another_accounts_receipt_is_nothing() {
    let mut scene = Scene::new(vec![argued("c1")]);
    scene.look();
    let item = next(&scene.summary).cloned().expect("planned");
    scene.say(Some(1), sample::person("mallory"), &item.body);
    scene.look();
    assert_eq!(scene.status("c1"), Status::Open);
    scene.run();
    assert_eq!(scene.posted, 1);
    assert!(scene.obs.comments.iter().any(|c| c.author == Some(sample::person("mallory"))), "never another's comment");
}

#[test]
fn fc_59_one_posted_one_gone_one_locked() {
    let mut scene = Scene::new(vec![argued("c1"), argued("c2"), argued("c3")]);
    scene.look();
    let mut answers = [None, Some(Written::Gone("404".into())), Some(Written::Refused("locked".into()))].into_iter();
    while let Some(item) = next(&scene.summary).cloned() {
        before_write(&mut scene.summary, &item.key);
        let written = answers.next().flatten().unwrap_or_else(|| scene.take(&item));
        after_write(&mut scene.summary, &item.key, &written);
    }
    scene.run();
    assert_eq!(scene.posted, 1);
    assert_eq!(
        (scene.status("c1"), scene.status("c2"), scene.status("c3")),
        (Status::Argued, Status::Open, Status::Open)
    );
    let entry = |id: &str| &scene.summary.comments[&id.parse().expect("id")].finding;
    assert!(entry("c2").why.contains("gone") && entry("c3").why.contains("locked") && entry("c3").needs_person);
    let failed = |s: &Summary| s.outbox.iter().filter(|i| i.state == WriteState::Failed).count();
    assert_eq!((failed(&scene.summary), revive(&mut scene.summary)), (2, 2));
}

#[test]
fn a_description_that_listed_nothing_and_was_refused_is_planned_again_by_the_next_call() {
    let mut scene = Scene::new(vec![]);
    scene.summary.round = 1;
    scene.look();
    let item = next(&scene.summary).cloned().expect("planned");
    assert_eq!((item.kind, item.findings.len()), (WriteKind::Describe, 0));
    before_write(&mut scene.summary, &item.key);
    after_write(&mut scene.summary, &item.key, &Written::Refused("status 403".into()));
    assert_eq!(scene.run(), [], "not in the same call");
    assert_eq!(revive(&mut scene.summary), 1);
    assert_eq!(scene.run(), [WriteKind::Describe]);
}

#[test]
fn r24_a_removed_reason_is_restored_once() {
    let mut scene = Scene::new(vec![argued("c1"), argued("c2")]);
    scene.run();
    let remove = |scene: &mut Scene| {
        let kept = scene.obs.pr.body.split_inclusive('\n').filter(|line| !line.contains("input c1]"));
        scene.obs.pr.body = kept.collect();
    };
    let body = scene.obs.pr.body.clone();
    remove(&mut scene);
    assert_eq!(removed_again(&scene.summary, &scene.obs.pr.body), []);
    assert_eq!(scene.run(), [WriteKind::Describe]);
    assert_eq!(scene.obs.pr.body.matches("input c1]").count(), body.matches("input c1]").count());
    remove(&mut scene);
    assert_eq!(removed_again(&scene.summary, &scene.obs.pr.body), ["c1".parse().expect("id")]);
    assert_eq!(scene.run(), [], "not a third time");
}

#[test]
fn r24_a_block_removed_twice_stays_away() {
    let mut scene = Scene::new(vec![sample::entry("c1", Severity::P3)]);
    assert_eq!(scene.run(), [WriteKind::Describe]);
    assert_eq!(scene.status("c1"), Status::Acknowledged);
    scene.obs.pr.body = "only mine".into();
    assert_eq!(scene.run(), [WriteKind::Describe]);
    scene.obs.pr.body = "only mine".into();
    assert_eq!(scene.run(), []);
}

#[test]
fn r24_a_kill_before_the_restoring_write_is_no_second_removal() {
    let mut scene = Scene::new(vec![argued("c1")]);
    scene.run();
    scene.obs.pr.body = "What this does.\n".into();
    scene.look();
    assert_eq!(removed_again(&scene.summary, &scene.obs.pr.body), []);
    assert_eq!(scene.run(), [WriteKind::Describe]);
}

#[test]
fn r24_a_broken_pair_is_not_written_to() {
    let mut scene = Scene::new(vec![argued("c1")]);
    scene.obs.pr.body = "<!-- pushback:end -->\n".into();
    assert_eq!(scene.run(), [WriteKind::Argue]);
    assert_eq!(scene.obs.pr.body, "<!-- pushback:end -->\n");
    assert_eq!(scene.status("c1"), Status::Open);
}

#[test]
fn r12_an_objection_after_our_argument_keeps_it_open() {
    let mut scene = Scene::new(vec![argued("c1")]);
    scene.look();
    scene.perform();
    scene.say(Some(1), sample::bot("codex"), "I still see the panic");
    scene.look();
    assert_eq!(scene.status("c1"), Status::Open);
}

#[test]
fn r23_what_is_not_owed_any_more_is_dropped_before_it_is_tried() {
    let mut scene = Scene::new(vec![argued("c1"), argued("r1.1"), argued("r2.1")]);
    scene.look();
    for id in ["c1", "r1.1"] {
        let entry = scene.summary.comments.get_mut(&id.parse().expect("id")).expect("an entry");
        entry.finding.status = Status::Withdrawn;
        entry.pending = None;
    }
    scene.run();
    assert_eq!(scene.texts().len(), 1);
    assert!(scene.texts()[0].contains("r2.1") && !scene.texts()[0].contains("r1.1"));
}

#[test]
fn unknown_account_posts_nothing() {
    let mut scene = Scene::new(vec![argued("c1")]);
    scene.obs.account = None;
    assert_eq!(scene.look(), 0);
}

#[test]
fn people_are_not_argued_with() {
    let mut entry = argued("c1");
    entry.finding.needs_person = true;
    let mut scene = Scene::new(vec![entry]);
    scene.run();
    assert_eq!(scene.posted, 0);
}

#[test]
fn r16_one_request_for_each_head() {
    let mut scene = Scene::new(vec![]);
    let nudge = |mention: Option<&str>, request: Option<&str>| Nudge {
        name: "codex".into(),
        due: sample::at(),
        mention: mention.map(str::to_owned),
        request: request.map(str::to_owned),
        why: "silent".into(),
    };
    let head = sample::sha('a');
    assert!(plan_request(&mut scene.summary, &nudge(Some("@codex review"), None), &head));
    assert!(!plan_request(&mut scene.summary, &nudge(Some("@codex review"), None), &head));
    scene.run();
    assert_eq!(scene.posted, 1);
    assert!(scene.texts()[0].starts_with("@codex review\n"));
    assert_eq!(scene.summary.reviewers["codex"].asked.len(), 1);
    scene.obs.pr.head = sample::sha('b');
    scene.summary.pr.head = sample::sha('b');
    assert!(plan_request(&mut scene.summary, &nudge(None, Some("Copilot")), &sample::sha('b')));
    scene.run();
    assert_eq!(scene.posted, 1, "asked through the forge");
    assert_eq!(scene.summary.reviewers["codex"].head, Some(sample::sha('b')));
}

#[test]
fn r16_a_lost_summary_does_not_ask_twice() {
    let mut scene = Scene::new(vec![]);
    let nudge = Nudge {
        name: "codex".into(),
        due: sample::at(),
        mention: Some("@codex review".into()),
        request: None,
        why: String::new(),
    };
    plan_request(&mut scene.summary, &nudge, &sample::sha('a'));
    scene.run();
    scene.summary = sample::summary(vec![]);
    scene.look();
    assert!(!plan_request(&mut scene.summary, &nudge, &sample::sha('a')));
}

#[test]
fn the_login_of_the_account_alone_does_not_make_it_ours() {
    let mut scene = Scene::new(vec![argued("c1")]);
    scene.look();
    let item = next(&scene.summary).cloned().expect("planned");
    let twin = Author { login: Login::new("me"), kind: crate::review::comment::AccountKind::Bot };
    scene.say(Some(1), twin, &item.body);
    scene.look();
    assert_eq!(scene.status("c1"), Status::Open);
}

fn entry_of(kind: usize, id: u64) -> Entry {
    match kind {
        0 => argued(&format!("c{id}")),
        1 => argued(&format!("r{id}.1")),
        2 => fixed(&format!("c{id}")),
        3 => stale(&format!("c{id}")),
        4 => sample::entry(&format!("c{id}"), Severity::P3),
        _ => sample::entry(&format!("i{id}.1"), Severity::Nit),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Whatever is cut off, and wherever: each key is posted once, and a run without faults ends everything.
    #[test]
    fn r23_no_schedule_posts_twice(kinds in proptest::collection::vec(0..6_usize, 1..6),
                                   faults in proptest::collection::vec((0..6_usize, any::<bool>()), 0..30)) {
        let entries = kinds.iter().enumerate().map(|(n, kind)| entry_of(*kind, n as u64 + 1)).collect();
        let mut scene = Scene::new(entries);
        for (fault, lose) in faults {
            scene.look();
            let Some(item) = next(&scene.summary).cloned() else { continue };
            let saved = scene.summary.clone();
            before_write(&mut scene.summary, &item.key);
            let written = match fault {
                0 => Written::NotSent("no route".into()),
                1 => Written::Unclear("timeout".into()),
                2 => { scene.take(&item); Written::Unclear("timeout".into()) }
                _ => scene.take(&item),
            };
            after_write(&mut scene.summary, &item.key, &written);
            if lose { scene.summary = saved; }
        }
        scene.run();
        let keys: Vec<String> = scene.texts().iter().flat_map(|t| marker::parse_all(t)).map(|m| m.key().to_owned()).collect();
        let once: BTreeSet<&String> = keys.iter().collect();
        prop_assert_eq!(keys.len(), once.len());
        for entry in scene.summary.comments.values() {
            prop_assert!(entry.finding.status.settled(), "{:?}", entry.finding);
        }
        prop_assert!(matches!(read(&scene.obs.pr.body), BlockReading::Block(_)));
        prop_assert!(scene.obs.pr.body.starts_with("What this does.\n"));
        prop_assert_eq!(scene.run(), vec![]);
    }
}

#[test]
fn r6_a_persons_command_is_posted_once_without_a_receipt_and_known_again_by_its_text() {
    let text = "/pushback regrade P3 only in tests";
    let mut scene = Scene::new(vec![sample::entry("c1", Severity::P2)]);
    let id = "c1".parse().expect("an id");
    assert!(plan_command(&mut scene.summary, &scene.obs, id, text));
    assert!(!plan_command(&mut scene.summary, &scene.obs, id, text), "one command");
    let item = next(&scene.summary).cloned().expect("planned");
    assert_eq!((item.body.as_str(), item.kind), (text, WriteKind::Command));
    // The same words by somebody else are not ours.
    scene.say(Some(1), sample::person("ann"), text);
    // Killed after it was sent: the next reading finds it.
    before_write(&mut scene.summary, &item.key);
    let comment = scene.say(Some(1), sample::person("me"), text);
    scene.look();
    let done = scene.summary.outbox.iter().find(|known| known.key == item.key).expect("the item");
    assert_eq!((done.state, done.comment_id), (WriteState::Done, Some(comment)));
    // The same words later, over a thread that went on, are another command.
    assert!(plan_command(&mut scene.summary, &scene.obs, id, text));
}

#[test]
fn r23_a_command_whose_answer_was_lost_and_that_is_not_there_is_sent_again() {
    let mut scene = Scene::new(vec![sample::entry("c1", Severity::P2)]);
    assert!(plan_command(&mut scene.summary, &scene.obs, "c1".parse().expect("an id"), "/pushback accept"));
    let key = next(&scene.summary).map(|item| item.key.clone()).expect("planned");
    before_write(&mut scene.summary, &key);
    scene.look();
    assert_eq!(next(&scene.summary).map(|item| item.key.clone()), Some(key));
}

#[test]
fn r13_words_that_another_state_posted_speak_against_a_claim_of_this_one() {
    let check = |from_here: bool, insists: bool, resolved: bool, expected: bool| {
        let entry = sample::entry("c1", Severity::P2);
        let mut scene = Scene::new(vec![entry.clone()]);
        let key = key_of_version(WriteKind::Argue, &entry, 0);
        let marker = Marker::new(WriteKind::Argue, "c1", &key, &scene.obs.pr.at, &sample::sha('a')).expect("a receipt");
        let comment = scene.say(Some(1), sample::person("me"), &words::post("words", &[marker]));
        if insists {
            scene.say(Some(1), sample::bot("codex"), "It still applies.");
        }
        if from_here {
            assert!(plan_command(&mut scene.summary, &scene.obs, "c1".parse().expect("an id"), "/pushback retry"));
            scene.summary.outbox[0].comment_id = Some(comment);
        }
        scene.obs.threads[0].resolved = resolved;
        let notes = scene.notes();
        let got = answered_elsewhere(&scene.summary, &entry, &scene.obs, &notes);
        assert_eq!(got, expected, "{from_here} {insists} {resolved}");
    };
    check(false, false, false, true);
    check(true, false, false, false);
    check(false, true, false, false);
    check(false, false, true, false);
}

#[test]
fn r13_a_commit_fixed_nothing_that_was_left_in_words_or_disputed_since() {
    let check = |said: &[(&str, WriteKind)], resolved: bool, expected: bool| {
        let entry = sample::entry("c1", Severity::P2);
        let mut scene = Scene::new(vec![entry.clone()]);
        for (n, (who, kind)) in said.iter().enumerate() {
            let key = key_of_version(*kind, &entry, u32::try_from(n).expect("few"));
            let marker = Marker::new(*kind, "c1", &key, &scene.obs.pr.at, &sample::sha('a')).expect("a receipt");
            match *who {
                "me" => scene.say(Some(1), sample::person("me"), &words::post("words", &[marker])),
                _ => scene.say(Some(1), sample::bot("codex"), "It still applies."),
            };
        }
        scene.obs.threads[0].resolved = resolved;
        let notes = scene.notes();
        assert_eq!(may_be_fixed(&entry, &scene.obs, &notes), expected, "{said:?} {resolved}");
    };
    let (me, bot) = ("me", "codex");
    check(&[], false, true);
    check(&[], true, true);
    check(&[(me, WriteKind::Fixed)], false, true);
    check(&[(me, WriteKind::Defer)], false, false);
    check(&[(me, WriteKind::Defer), (bot, WriteKind::Answer)], false, false);
    check(&[(me, WriteKind::Argue), (bot, WriteKind::Answer), (me, WriteKind::Fixed)], false, true);
    check(&[(me, WriteKind::Fixed), (bot, WriteKind::Answer)], false, false);
    // Resolved without words right after the fix, or before the objection: only the former answers words of ours.
    check(&[(me, WriteKind::Argue), (bot, WriteKind::Answer)], true, true);
    check(&[(bot, WriteKind::Answer)], true, false);
}
