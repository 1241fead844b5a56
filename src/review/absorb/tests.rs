use jiff::Timestamp;
use proptest::prelude::*;

use super::super::comment::{AccountKind, Anchor, Association, Author, ReviewState, Side, Thread};
use super::super::decision::Verb;
use super::super::moves::tests::{entry, sha, summary};
use super::super::note::{Classified, Closed, Kind, ReplyVerdict, Signal};
use super::super::observation::{Barred, BranchRules, Mergeable, Permission, PrState, PullRequest, Reading};
use super::super::policy::ReviewerPolicy;
use super::super::summary::{Pending, Regrade};
use super::view::carrier;
use super::*;

/// A reading under construction; comments get rising ids and times.
#[derive(Clone)]
pub(crate) struct Scene {
    pub(crate) obs: Observation,
    pub(crate) notes: Vec<Note>,
    pub(crate) located: BTreeMap<FindingId, Located>,
    pub(crate) policy: Policy,
    ours: BTreeSet<Sha>,
}

pub(crate) fn time(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("a time")
}

fn bot(login: &str) -> Author {
    Author { login: Login::new(login), kind: AccountKind::Bot }
}

pub(crate) fn person(login: &str) -> Author {
    Author { login: Login::new(login), kind: AccountKind::Person }
}

pub(crate) fn said(kind: Kind) -> Classified {
    Classified {
        kind,
        findings: Vec::new(),
        closed_finding: None,
        reviewer: None,
        signals: Vec::new(),
        closed: None,
        verdict: ReplyVerdict::Unclear,
    }
}

pub(crate) fn found(severity: Severity, text: &str) -> Found {
    Found {
        severity,
        decided_by: DecidedBy::Tagged,
        rule: None,
        level: None,
        title: text.split('.').next().unwrap_or(text).to_owned(),
        path: None,
        line: None,
        end_line: None,
        text: text.to_owned(),
        body_hash: text.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" "),
        identity: None,
        is_question: false,
        section: None,
    }
}

impl Scene {
    pub(crate) fn new() -> Self {
        let pr = PullRequest {
            at: summary().pr.at(),
            url: "https://github.com/o/r/pull/7".to_owned(),
            title: "A change".to_owned(),
            body: String::new(),
            author: Some(person("dev")),
            state: PrState::Open,
            draft: false,
            base: "main".to_owned(),
            base_sha: sha('0'),
            head_branch: "topic".to_owned(),
            head_repo: None,
            head: sha('a'),
            mergeable: Mergeable::Yes,
            behind: false,
            default_branch: "main".to_owned(),
            created_at: time(0),
        };
        let obs = Observation {
            at: time(10),
            account: Some(person("runner")),
            pr,
            comments: Vec::new().into(),
            threads: Vec::new(),
            reactions: Vec::new(),
            permissions: [("ann", Permission::Write), ("dev", Permission::Write), ("eve", Permission::Read)]
                .map(|(login, may)| (Login::new(login), may))
                .into(),
            checks: Reading::Known(Vec::new()),
            rules: Reading::Known(BranchRules::default()),
            recent_bots: Reading::Known(BTreeSet::new()),
            head_since: None,
            barred: Barred::default(),
        };
        let (located, ours) = (BTreeMap::new(), BTreeSet::new());
        Self { obs, notes: Vec::new(), located, policy: Policy::default(), ours }
    }

    pub(crate) fn head(&mut self, digit: char, at: i64) -> &mut Self {
        self.obs.pr.head = sha(digit);
        self.obs.head_since = Some(time(at));
        self.obs.at = time(at);
        self
    }

    fn put(&mut self, channel: Channel, id: u64, author: Author, said: Classified) -> &mut Comment {
        let standing = match author.login.as_str() {
            "codex" | "rabbit" if author.kind == AccountKind::Bot => Standing::Reviewer(author.login.to_string()),
            "runner" => Standing::Ours,
            "ann" => Standing::Writer { assumed: false },
            "dev" => Standing::PrAuthor { writes: true },
            _ => Standing::Untrusted,
        };
        self.notes.push(Note { channel, id, author: Some(author.clone()), standing, said: said.into() });
        let created_at = time(id as i64);
        self.obs.comments.push(Comment {
            id,
            channel,
            author: Some(author),
            association: Association::Other,
            body: "text".to_owned(),
            created_at,
            updated_at: created_at,
            url: format!("https://github.com/o/r/pull/7#{id}"),
            anchor: None,
            in_reply_to: None,
            review_id: None,
            review_state: None,
            review_commit: None,
        });
        self.obs.comments.last_mut().expect("just added")
    }

    /// A root comment of a bot on a line of `src/a.rs`, made on the present head.
    pub(crate) fn inline(&mut self, id: u64, login: &str, line: u32, found: Found) -> &mut Self {
        self.inline_by(id, bot(login), line, found)
    }

    pub(crate) fn inline_by(&mut self, id: u64, author: Author, line: u32, found: Found) -> &mut Self {
        let head = self.obs.pr.head.clone();
        let said = Classified { findings: vec![found], ..said(Kind::Finding) };
        self.put(Channel::Inline, id, author, said).anchor = Some(Anchor {
            path: "src/a.rs".to_owned(),
            side: Side::Right,
            line: Some(line),
            start_line: None,
            original_line: Some(line),
            original_start_line: None,
            original_commit: Some(head.clone()),
            commit: Some(head),
            whole_file: false,
            hunk: String::new(),
        });
        self.obs.threads.push(Thread {
            node_id: format!("T{id}"),
            root: id,
            comments: vec![id],
            resolved: false,
            resolved_by: None,
            outdated: false,
            may_resolve: true,
            minimised: Vec::new(),
        });
        self
    }

    pub(crate) fn body(&mut self, channel: Channel, id: u64, login: &str, findings: Vec<Found>) -> &mut Self {
        let head = self.obs.pr.head.clone();
        let comment = self.put(channel, id, bot(login), Classified { findings, ..said(Kind::Finding) });
        if channel == Channel::Review {
            comment.review_commit = Some(head);
            comment.review_state = Some(ReviewState::Commented);
        }
        self
    }

    pub(crate) fn reply(&mut self, id: u64, root: u64, author: Author, verdict: ReplyVerdict, text: &str) -> &mut Self {
        let comment = self.put(Channel::Inline, id, author, Classified { verdict, ..said(Kind::Reply) });
        comment.in_reply_to = Some(root);
        comment.body = text.to_owned();
        self
    }

    fn note(&mut self, id: u64) -> &mut Note {
        self.notes.iter_mut().find(|note| note.id == id).expect("a note")
    }

    fn comment(&mut self, id: u64) -> &mut Comment {
        self.obs.comments.iter_mut().find(|comment| comment.id == id).expect("a comment")
    }

    fn thread(&mut self, root: u64) -> &mut Thread {
        self.obs.threads.iter_mut().find(|thread| thread.root == root).expect("a thread")
    }

    fn resolve(&mut self, root: u64, by: &str) -> &mut Self {
        let thread = self.thread(root);
        (thread.resolved, thread.resolved_by) = (true, Some(Login::new(by)));
        self
    }

    fn edit(&mut self, id: u64, findings: Vec<Found>) -> &mut Self {
        self.note(id).said.findings = findings;
        let comment = self.comment(id);
        comment.updated_at = time(comment.updated_at.as_second() + 1);
        self
    }

    fn delete(&mut self, id: u64) -> &mut Self {
        self.notes.retain(|note| note.id != id);
        self.obs.comments.retain(|comment| comment.id != id);
        self
    }

    fn stays(&mut self, id: &str, line: u32, edited: bool) -> &mut Self {
        let path = RepoPath::from_git("src/a.rs");
        let there = Located::There { path, line: Some(line), start_line: None, edited };
        self.located.insert(id.parse().expect("an id"), there);
        self
    }

    /// Absorbs, and proves on the way that a second time and another order change nothing.
    pub(crate) fn absorb(&self, summary: &mut Summary) -> Absorbed {
        let mut turned = self.clone();
        turned.obs.comments.reverse();
        turned.notes.reverse();
        turned.obs.threads.reverse();
        let mut other = summary.clone();
        absorb(&mut other, &turned.seen());
        let out = absorb(summary, &self.seen());
        same(summary, &other, "the order of comments says nothing");
        let again = absorb(&mut other, &self.seen());
        same(summary, &other, "absorbing twice changes nothing");
        assert!(again.events.is_empty(), "{:?}", again.events);
        out
    }

    fn seen(&self) -> Seen<'_> {
        Seen {
            obs: &self.obs,
            notes: &self.notes,
            located: &self.located,
            policy: &self.policy,
            our_commits: &self.ours,
        }
    }
}

fn same(one: &Summary, other: &Summary, law: &str) {
    for (id, entry) in &one.comments {
        let brief = |e: &Entry| e.history.iter().map(|m| format!("{} {}", m.to, m.why)).collect::<Vec<_>>();
        let other = &other.comments[id];
        assert_eq!(brief(entry), brief(other), "{law}: {id}");
        assert_eq!(entry, other, "{law}: {id}");
    }
    assert!(one == other, "{law}");
}

pub(crate) fn get<'a>(summary: &'a Summary, id: &str) -> &'a Entry {
    &summary.comments[&id.parse::<FindingId>().expect("an id")]
}

pub(crate) fn get_mut<'a>(summary: &'a mut Summary, id: &str) -> &'a mut Entry {
    summary.comments.get_mut(&id.parse::<FindingId>().expect("an id")).expect("an entry")
}

fn status(summary: &Summary, id: &str) -> Status {
    get(summary, id).finding.status
}

const GUARD: &str = "Guard the empty list before its first element is taken. It panics on empty input.";
const LOCK: &str = "Take the lock before the map is written. Two threads can write at once here.";

fn argue(summary: &mut Summary, id: &str) {
    let proof = Proof::Reply { comment_id: 50, reason: "the list is never empty here".to_owned(), key: "k".to_owned() };
    assert!(get_mut(summary, id).settle(Status::Argued, proof, "argued", time(60), 1));
}

fn fix(summary: &mut Summary, id: &str, commit: char) {
    let proof = Proof::Commit { sha: sha(commit), place: "src/a.rs:40".to_owned() };
    assert!(get_mut(summary, id).settle(Status::Fixed, proof, "fixed", time(60), 1));
}

#[test]
fn r03_findings_of_every_channel_become_entries() {
    let (mut summary, mut scene) = (summary(), Scene::new());
    let item = |text: &str| Found { path: Some("src/b.rs".to_owned()), ..found(Severity::P2, text) };
    scene
        .inline(1, "codex", 40, found(Severity::P1, GUARD))
        .body(Channel::Review, 2, "rabbit", vec![item(GUARD), item(LOCK)])
        .body(Channel::Conversation, 3, "rabbit", vec![found(Severity::P3, "Rename the helper")]);
    let out = scene.absorb(&mut summary);
    let ids: Vec<String> = summary.comments.keys().map(ToString::to_string).collect();
    assert_eq!(ids, ["c1", "r2.1", "r2.2", "i3.1"]);
    assert!(out.events.iter().all(|event| event.what == What::New));
    let first = get(&summary, "c1");
    assert_eq!((first.finding.line, first.thread), (Some(40), Some(1)));
    assert_eq!(get(&summary, "r2.1").made_on, Some(sha('a')));
}

#[test]
fn r02_only_those_who_may_create_work() {
    let (mut summary, mut scene) = (summary(), Scene::new());
    scene
        .inline_by(1, person("eve"), 4, found(Severity::P1, GUARD))
        .inline_by(2, person("runner"), 4, found(Severity::P1, GUARD))
        .inline_by(3, person("ann"), 4, found(Severity::P2, GUARD))
        .inline_by(4, person("codex"), 9, found(Severity::P1, GUARD));
    let out = scene.absorb(&mut summary);
    assert_eq!(summary.comments.len(), 1);
    let untrusted: Vec<u64> = out.untrusted.iter().map(|one| one.id).collect();
    assert_eq!(untrusted, [1, 4]);
}

#[test]
fn r03_items_of_a_body_keep_their_number_over_edits() {
    let (mut summary, mut scene) = (summary(), Scene::new());
    let item = |text: &str, file: &str| Found { path: Some(file.to_owned()), ..found(Severity::P2, text) };
    scene.body(Channel::Review, 2, "rabbit", vec![item(GUARD, "a"), item(LOCK, "b")]);
    scene.absorb(&mut summary);
    scene.edit(2, vec![item("Close the file", "c"), item(LOCK, "b"), item(GUARD, "a")]);
    scene.absorb(&mut summary);
    let path = |id| get(&summary, id).finding.path.clone().unwrap_or_default();
    assert_eq!((path("r2.1"), path("r2.2"), path("r2.3")), ("a".into(), "b".into(), "c".into()));
    scene.edit(2, vec![item(LOCK, "b")]);
    scene.absorb(&mut summary);
    assert_eq!(status(&summary, "r2.1"), Status::Gone);
    assert_eq!(status(&summary, "r2.2"), Status::Open);
    scene.edit(2, vec![item(LOCK, "b"), item(GUARD, "a")]);
    scene.absorb(&mut summary);
    assert_eq!(status(&summary, "r2.1"), Status::Open, "it is there again, under its old number");
}

#[test]
fn r03_a_body_that_repeats_an_inline_finding_counts_once() {
    let (mut summary, mut scene) = (summary(), Scene::new());
    let item = |line| Found {
        path: Some("src/a.rs".to_owned()),
        line: Some(line),
        text: "short".to_owned(),
        ..found(Severity::P2, GUARD)
    };
    scene.inline(1, "rabbit", 40, found(Severity::P2, GUARD));
    scene.comment(1).review_id = Some(2);
    scene.body(Channel::Review, 2, "rabbit", vec![item(41), item(200)]);
    scene.absorb(&mut summary);
    assert_eq!(get(&summary, "r2.1").proof, Some(Proof::SameAs { id: "c1".parse().expect("an id") }));
    assert_eq!(status(&summary, "r2.2"), Status::Open, "another place is another finding");
    assert_eq!(summary.counts().p2, 2);
}

#[test]
fn r03_a_title_many_items_share_makes_no_copy() {
    let (mut summary, mut scene) = (summary(), Scene::new());
    let item = |text: &str| Found {
        path: Some("src/a.rs".to_owned()),
        title: "Potential issue".to_owned(),
        ..found(Severity::P2, text)
    };
    scene.body(Channel::Conversation, 1, "rabbit", vec![item(GUARD)]);
    scene.body(Channel::Conversation, 2, "rabbit", vec![item(LOCK)]);
    scene.absorb(&mut summary);
    assert_eq!(summary.counts().p2, 2);
}

#[test]
fn one_text_twice_at_one_place_in_one_review_is_one() {
    let (mut summary, mut scene) = (summary(), Scene::new());
    for (id, line) in [(1, 40), (2, 40), (3, 60)] {
        scene.inline(id, "codex", line, found(Severity::P2, GUARD));
        scene.comment(id).review_id = Some(9);
    }
    scene.absorb(&mut summary);
    let all = ["c1", "c2", "c3"].map(|id| status(&summary, id));
    assert_eq!(all, [Status::Open, Status::Duplicate, Status::Open]);
    scene.delete(1);
    scene.absorb(&mut summary);
    assert_eq!(status(&summary, "c2"), Status::Open, "a copy takes over when its original is deleted");
}

#[test]
fn fc_10_an_edit_that_changes_the_meaning_reopens_with_its_severity() {
    let (mut summary, mut scene) = (summary(), Scene::new());
    scene.inline(7, "codex", 3, found(Severity::Nit, "nit: naming"));
    scene.inline(8, "codex", 90, found(Severity::Nit, LOCK));
    scene.absorb(&mut summary);
    for id in ["c7", "c8"] {
        assert!(get_mut(&mut summary, id).settle(Status::Acknowledged, Proof::Listed, "listed", time(60), 1));
    }
    let cosmetic = Found { body_hash: "other".to_owned(), ..found(Severity::Nit, &format!("{LOCK}   ")) };
    scene.edit(7, vec![found(Severity::P1, "P1: data loss here")]).edit(8, vec![cosmetic]);
    scene.absorb(&mut summary);
    let seven = get(&summary, "c7");
    assert_eq!((seven.finding.status, seven.finding.severity), (Status::Open, Severity::P1));
    assert_eq!(status(&summary, "c8"), Status::Acknowledged);
}

#[test]
fn fc_10_an_edit_voids_an_answer_under_way() {
    let (mut summary, mut scene) = (summary(), Scene::new());
    scene.inline(1, "codex", 3, found(Severity::P2, GUARD));
    scene.absorb(&mut summary);
    get_mut(&mut summary, "c1").pending = Some(pending(Verb::Argue));
    scene.edit(1, vec![found(Severity::P2, LOCK)]);
    scene.absorb(&mut summary);
    let entry = get(&summary, "c1");
    assert!(entry.pending.is_none() && entry.refused.is_some());
}

fn pending(verb: Verb) -> Pending {
    Pending::new(verb, "because", 1)
}

#[test]
fn a_deleted_comment_is_gone_and_a_p1_waits_for_a_person() {
    let (mut summary, mut scene) = (summary(), Scene::new());
    scene.inline(1, "codex", 3, found(Severity::P1, GUARD)).inline(2, "codex", 50, found(Severity::P2, LOCK));
    scene.absorb(&mut summary);
    scene.delete(1).delete(2);
    scene.absorb(&mut summary);
    let person = |id| (status(&summary, id), get(&summary, id).finding.needs_person);
    assert_eq!(person("c1"), (Status::Gone, true));
    assert_eq!(person("c2"), (Status::Gone, false));
    scene.inline(9, "codex", 3, found(Severity::P1, GUARD));
    scene.absorb(&mut summary);
    let again = get(&summary, "c9");
    assert_eq!(again.finding.previous, ["c1".parse().expect("an id")]);
    assert!(!get(&summary, "c1").finding.needs_person, "its successor is open");
}

#[test]
fn only_an_edit_takes_a_finding_out_of_a_comment() {
    let (mut summary, mut scene) = (summary(), Scene::new());
    scene.inline(1, "codex", 3, found(Severity::P2, GUARD));
    scene.absorb(&mut summary);
    scene.note(1).said = said(Kind::Noise).into();
    scene.absorb(&mut summary);
    assert_eq!(status(&summary, "c1"), Status::Open, "our reading changed, not the comment");
}

#[test]
fn r06_a_thread_resolved_by_whom() {
    fn check(severity: Severity, by: &str, reason: bool, expected: Status) {
        let (mut summary, mut scene) = (summary(), Scene::new());
        scene.inline(1, "codex", 3, found(severity, GUARD));
        if reason {
            scene.reply(5, 1, person("ann"), ReplyVerdict::Notice, "This path is only used in tests.");
        }
        scene.absorb(&mut summary);
        scene.resolve(1, by);
        scene.absorb(&mut summary);
        assert_eq!(status(&summary, "c1"), expected, "{severity} {by} {reason}");
    }
    check(Severity::P1, "codex", false, Status::Withdrawn);
    check(Severity::P2, "ann", false, Status::Withdrawn);
    check(Severity::P1, "ann", false, Status::Open);
    check(Severity::P1, "ann", true, Status::Withdrawn);
    check(Severity::P2, "runner", false, Status::Open);
    check(Severity::P2, "eve", false, Status::Open);
    check(Severity::P2, "unheard-of", false, Status::Open);
    check(Severity::P2, "rabbit", false, Status::Open);
}

#[test]
fn r13_what_an_account_that_speaks_for_us_resolves_is_no_persons_word() {
    let (mut summary, mut scene) = (summary(), Scene::new());
    scene.inline(1, "codex", 3, found(Severity::P2, GUARD)).inline(2, "codex", 9, found(Severity::P2, GUARD));
    scene.reply(5, 2, person("ann"), ReplyVerdict::Notice, "Left as it is: the caller checks it.");
    scene.note(5).standing = Standing::Ours;
    scene.resolve(1, "ann");
    scene.absorb(&mut summary);
    assert_eq!(status(&summary, "c1"), Status::Open);
}

#[test]
fn r12_what_a_reviewer_adds_in_its_own_thread_makes_it_worse_for_good() {
    let check = |settled: bool, by: Author, text: &str, expected: (Severity, Status)| {
        let (mut summary, mut scene) = (summary(), Scene::new());
        scene.inline(1, "codex", 3, found(Severity::P3, GUARD));
        scene.absorb(&mut summary);
        if settled {
            let entry = get_mut(&mut summary, "c1");
            assert!(entry.settle(Status::Acknowledged, Proof::Listed, "listed", time(60), 1));
        }
        scene.reply(5, 1, by, ReplyVerdict::Unclear, text).note(5).said.findings = vec![found(Severity::P1, text)];
        for _ in 0..2 {
            scene.absorb(&mut summary);
            let finding = &get(&summary, "c1").finding;
            assert_eq!((finding.severity, finding.status), expected, "{text}");
            assert_eq!(finding.decided_by, DecidedBy::Tagged);
        }
    };
    check(false, bot("codex"), "P1: it loses data as well.", (Severity::P1, Status::Open));
    check(true, bot("codex"), "P1: it loses data as well.", (Severity::P1, Status::Open));
    check(
        true,
        bot("rabbit"),
        "P1: another reviewer's word is a finding of its own.",
        (Severity::P3, Status::Acknowledged),
    );
}

#[test]
fn r12_a_copy_that_is_newer_than_the_withdrawal_it_is_read_with_stays_open() {
    let check = |reply: u64, copy: u64, expected: Status| {
        let (mut summary, mut scene) = (summary(), Scene::new());
        scene.inline(1, "codex", 3, found(Severity::P2, GUARD));
        scene.absorb(&mut summary);
        get_mut(&mut summary, "c1").pending = Some(pending(Verb::Argue));
        scene.reply(20, 1, person("ann"), ReplyVerdict::Notice, "Left as it is: checked by the caller.");
        scene.note(20).standing = Standing::Ours;
        if reply < copy {
            scene.reply(reply, 1, bot("codex"), ReplyVerdict::Accepts, "You are right.");
        }
        scene.inline(copy, "codex", 3, found(Severity::P2, GUARD));
        if reply > copy {
            scene.reply(reply, 1, bot("codex"), ReplyVerdict::Accepts, "You are right.");
        }
        for _ in 0..2 {
            scene.absorb(&mut summary);
            assert_eq!(status(&summary, "c1"), Status::Withdrawn);
            assert_eq!(status(&summary, &format!("c{copy}")), expected, "{reply} {copy}");
        }
    };
    check(30, 40, Status::Open);
    check(40, 30, Status::Duplicate);
}

#[test]
fn r06_a_login_that_no_person_has_is_the_bots() {
    let (mut summary, mut scene) = (summary(), Scene::new());
    scene.inline(1, "codex", 3, found(Severity::P1, GUARD));
    // What the permission endpoint says of a login without an account, and of a person who may only read.
    scene.obs.permissions.insert(Login::new("codex"), Permission::Read);
    scene.resolve(1, "codex");
    scene.absorb(&mut summary);
    assert_eq!(status(&summary, "c1"), Status::Withdrawn);
}

#[test]
fn r06_a_person_with_a_bots_name_is_not_the_bot() {
    let (mut summary, mut scene) = (summary(), Scene::new());
    scene.inline(1, "codex", 3, found(Severity::P1, GUARD));
    scene.obs.permissions.insert(Login::new("codex"), Permission::Write);
    scene.resolve(1, "codex");
    scene.absorb(&mut summary);
    assert_eq!(status(&summary, "c1"), Status::Open);
}

#[test]
fn fm_25_a_thread_opened_again_opens_its_finding_once() {
    let (mut summary, mut scene) = (summary(), Scene::new());
    scene.inline(1, "codex", 3, found(Severity::P2, GUARD)).resolve(1, "ann");
    scene.absorb(&mut summary);
    assert_eq!(status(&summary, "c1"), Status::Withdrawn);
    scene.thread(1).resolved = false;
    scene.absorb(&mut summary);
    assert_eq!(status(&summary, "c1"), Status::Open);
    scene.resolve(1, "ann");
    scene.absorb(&mut summary);
    assert_eq!(status(&summary, "c1"), Status::Withdrawn);
}

#[test]
fn a_closing_marker_of_its_reviewer_withdraws() {
    let (mut summary, mut scene) = (summary(), Scene::new());
    scene.inline(1, "rabbit", 3, found(Severity::P1, GUARD));
    scene.absorb(&mut summary);
    scene.edit(1, Vec::new()).note(1).said.closed = Some(Closed::Addressed { sha: Some("abc1234".to_owned()) });
    scene.absorb(&mut summary);
    let entry = get(&summary, "c1");
    assert_eq!(entry.finding.status, Status::Withdrawn);
    assert!(matches!(&entry.proof, Some(Proof::Reviewer { because }) if because.contains("abc1234")));
    scene.reply(19, 1, bot("rabbit"), ReplyVerdict::Insists, "Still there.");
    scene.absorb(&mut summary);
    assert_eq!(status(&summary, "c1"), Status::Open, "the marker was used; what was said later counts");
}

#[test]
fn a_closing_marker_taken_out_opens_again() {
    let (mut summary, mut scene) = (summary(), Scene::new());
    scene.inline(1, "rabbit", 3, found(Severity::P1, GUARD));
    scene.absorb(&mut summary);
    for closed in [true, false, true] {
        scene.edit(1, if closed { Vec::new() } else { vec![found(Severity::P1, GUARD)] });
        scene.note(1).said.closed = closed.then_some(Closed::Resolved { sha: None });
        scene.absorb(&mut summary);
        assert_eq!(status(&summary, "c1"), if closed { Status::Withdrawn } else { Status::Open });
    }
}

#[test]
fn r12_replies_after_ours() {
    fn check(author: Author, verdict: ReplyVerdict, severity: Severity, expected: Status) {
        let (mut summary, mut scene) = (summary(), Scene::new());
        scene.inline(1, "codex", 3, found(severity, GUARD));
        scene.absorb(&mut summary);
        if severity == Severity::P2 {
            argue(&mut summary, "c1");
        }
        scene.reply(50, 1, person("runner"), ReplyVerdict::Unclear, "The list is never empty.");
        scene.absorb(&mut summary);
        scene.reply(51, 1, author, verdict, "words");
        scene.absorb(&mut summary);
        assert_eq!(status(&summary, "c1"), expected, "{verdict:?} {severity}");
        let disputed = severity == Severity::P2 && expected == Status::Open;
        assert_eq!(get(&summary, "c1").exchanges, u32::from(disputed));
    }
    check(bot("codex"), ReplyVerdict::Accepts, Severity::P2, Status::Argued);
    check(bot("codex"), ReplyVerdict::Notice, Severity::P2, Status::Argued);
    check(bot("codex"), ReplyVerdict::Insists, Severity::P2, Status::Open);
    check(bot("codex"), ReplyVerdict::Unclear, Severity::P2, Status::Open);
    check(person("ann"), ReplyVerdict::Unclear, Severity::P2, Status::Open);
    check(person("eve"), ReplyVerdict::Insists, Severity::P2, Status::Argued);
    check(bot("codex"), ReplyVerdict::Accepts, Severity::P1, Status::Withdrawn);
    check(person("ann"), ReplyVerdict::Accepts, Severity::P1, Status::Open);
}

#[test]
fn r12_exchanges_are_capped() {
    let (mut summary, mut scene) = (summary(), Scene::new());
    scene.inline(1, "codex", 3, found(Severity::P2, GUARD));
    scene.absorb(&mut summary);
    for exchange in 1..=2_u32 {
        argue(&mut summary, "c1");
        let id = u64::from(exchange) * 10 + 50;
        scene.reply(id, 1, person("runner"), ReplyVerdict::Unclear, "The list is never empty.");
        scene.reply(id + 1, 1, bot("codex"), ReplyVerdict::Insists, "It is.");
        scene.reply(id + 2, 1, bot("codex"), ReplyVerdict::Unclear, "And more.");
        scene.absorb(&mut summary);
        let entry = get(&summary, "c1");
        assert_eq!((entry.exchanges, entry.finding.needs_person), (exchange, exchange == 2));
    }
}

#[test]
fn r12_agreement_with_the_finding_is_no_withdrawal() {
    let (mut summary, mut scene) = (summary(), Scene::new());
    scene.inline(1, "codex", 3, found(Severity::P2, GUARD));
    scene.reply(5, 1, person("ann"), ReplyVerdict::Accepts, "Agreed, good catch.");
    scene.absorb(&mut summary);
    assert_eq!(status(&summary, "c1"), Status::Open);
}

#[test]
fn fm_25_a_reply_that_crossed_our_answer_is_heard() {
    let (mut summary, mut scene) = (summary(), Scene::new());
    scene.obs.at = time(20);
    scene.inline(1, "codex", 3, found(Severity::P2, GUARD));
    scene.absorb(&mut summary);
    argue(&mut summary, "c1");
    scene.reply(48, 1, bot("codex"), ReplyVerdict::Insists, "One more thing.");
    scene.reply(50, 1, person("runner"), ReplyVerdict::Unclear, "The list is never empty.");
    scene.absorb(&mut summary);
    assert_eq!(status(&summary, "c1"), Status::Open);
}

#[test]
fn fc_08_a_comeback_is_one_open_item_with_its_history() {
    let (mut summary, mut scene) = (summary(), Scene::new());
    scene.inline(1, "codex", 40, found(Severity::P2, GUARD));
    scene.absorb(&mut summary);
    get_mut(&mut summary, "c1").finding.attempts = 2;
    argue(&mut summary, "c1");
    scene
        .head('b', 70)
        .inline(2, "codex", 41, found(Severity::P2, "Check that the list has an element."))
        .stays("c1", 40, true);
    scene.absorb(&mut summary);
    let entry = get(&summary, "c2");
    assert_eq!(entry.finding.previous, ["c1".parse().expect("an id")]);
    assert_eq!((entry.finding.attempts, entry.exchanges), (2, 1));
    assert_eq!((status(&summary, "c1"), summary.counts().p2), (Status::Argued, 1));
    scene.head('c', 80).inline(3, "codex", 40, found(Severity::P2, "Check that the list has an element!"));
    scene.absorb(&mut summary);
    let ids = |id| get(&summary, id).finding.previous.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!((status(&summary, "c2"), ids("c3")), (Status::Duplicate, vec!["c1".into(), "c2".into()]));
    assert_eq!(summary.counts().p2, 1);
}

#[test]
fn r12_what_comes_again_belongs_to_the_settled_finding_at_its_very_place() {
    let (mut summary, mut scene) = (summary(), Scene::new());
    scene.inline(1, "codex", 40, found(Severity::P2, GUARD)).inline(2, "codex", 42, found(Severity::P2, GUARD));
    scene.absorb(&mut summary);
    argue(&mut summary, "c1");
    argue(&mut summary, "c2");
    scene.head('b', 70).inline(3, "codex", 40, found(Severity::P2, GUARD));
    scene.stays("c1", 40, true).stays("c2", 42, true);
    scene.absorb(&mut summary);
    assert_eq!(get(&summary, "c3").finding.previous, ["c1".parse().expect("an id")]);
    assert_eq!(status(&summary, "c2"), Status::Argued);
}

#[test]
fn r12_what_comes_again_word_for_word_is_not_taken_for_an_open_one_beside_it() {
    let (mut summary, mut scene) = (summary(), Scene::new());
    let [one, other] =
        ["seven", "nine"].map(|n| format!("The call `compute` gets the value {n} without any check here."));
    scene.inline(1, "codex", 40, found(Severity::P2, &one)).inline(2, "codex", 42, found(Severity::P2, &other));
    scene.absorb(&mut summary);
    argue(&mut summary, "c1");
    scene.head('b', 70).inline(3, "codex", 40, found(Severity::P2, &one));
    scene.stays("c1", 40, true).stays("c2", 42, true);
    scene.absorb(&mut summary);
    assert_eq!(get(&summary, "c3").finding.previous, ["c1".parse().expect("an id")]);
    assert_eq!(status(&summary, "c2"), Status::Open, "nobody has said anything about it");
}

#[test]
fn r06_a_milder_copy_carries_what_the_older_one_weighed() {
    let (mut summary, mut scene) = (summary(), Scene::new());
    scene.inline(1, "codex", 40, found(Severity::P2, GUARD));
    scene.absorb(&mut summary);
    scene.head('b', 70).inline(2, "codex", 40, found(Severity::P3, GUARD)).stays("c1", 40, false);
    scene.absorb(&mut summary);
    assert_eq!((status(&summary, "c1"), status(&summary, "c2")), (Status::Duplicate, Status::Open));
    assert_eq!(get(&summary, "c2").finding.severity, Severity::P2);
    scene.absorb(&mut summary);
    assert_eq!((get(&summary, "c2").finding.severity, summary.counts().p2), (Severity::P2, 1), "a second look too");
}

#[test]
fn r12_a_verbatim_repost_is_shown_once_then_silent() {
    let (mut summary, mut scene) = (summary(), Scene::new());
    scene.inline(1, "codex", 40, found(Severity::P2, GUARD));
    scene.absorb(&mut summary);
    argue(&mut summary, "c1");
    scene.head('b', 70).inline(2, "codex", 40, found(Severity::P2, GUARD)).stays("c1", 40, false);
    scene.absorb(&mut summary);
    assert_eq!(status(&summary, "c2"), Status::Open);
    argue(&mut summary, "c2");
    scene.head('c', 80).inline(3, "codex", 40, found(Severity::P2, GUARD)).stays("c2", 40, false);
    scene.absorb(&mut summary);
    assert_eq!(status(&summary, "c3"), Status::Duplicate);
    scene.head('d', 90).inline(4, "codex", 40, found(Severity::P1, GUARD));
    scene.absorb(&mut summary);
    assert_eq!(status(&summary, "c4"), Status::Open, "a worse one is no copy");
}

#[test]
fn r12_a_copy_made_before_the_fix_is_no_comeback() {
    let (mut summary, mut scene) = (summary(), Scene::new());
    scene.inline(1, "codex", 40, found(Severity::P1, GUARD));
    scene.absorb(&mut summary);
    fix(&mut summary, "c1", 'b');
    scene.inline(2, "codex", 40, found(Severity::P1, GUARD)).inline(3, "codex", 41, found(Severity::P1, LOCK));
    scene.head('b', 70).stays("c1", 40, true);
    scene.absorb(&mut summary);
    assert_eq!(status(&summary, "c2"), Status::Duplicate);
    let other = get(&summary, "c3");
    assert!(other.finding.status == Status::Open && other.finding.previous.is_empty(), "another finding stays one");
    scene.inline(4, "codex", 40, found(Severity::P1, GUARD));
    scene.absorb(&mut summary);
    let back = get(&summary, "c4");
    assert_eq!((back.finding.status, back.finding.previous.len()), (Status::Open, 1));
}

#[test]
fn one_text_on_several_lines_of_one_commit_is_several_findings() {
    let (mut summary, mut scene) = (summary(), Scene::new());
    for (id, line) in [(1, 14), (2, 15), (3, 16)] {
        scene.inline(id, "codex", line, found(Severity::P1, GUARD));
        scene.absorb(&mut summary);
    }
    let open = |summary: &Summary| {
        let open = summary.comments.values().filter(|entry| entry.finding.status == Status::Open);
        open.map(|entry| entry.finding.id.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(open(&summary), ["c1", "c2", "c3"]);
    // One of them is posted again on the next head: it stands for the one right there, or for none.
    scene.head('b', 70).stays("c1", 14, false).stays("c2", 15, false).stays("c3", 16, false);
    scene.inline(4, "codex", 15, found(Severity::P1, GUARD)).absorb(&mut summary);
    assert_eq!(open(&summary), ["c1", "c3", "c4"]);
    scene.inline(5, "codex", 17, found(Severity::P1, GUARD)).absorb(&mut summary);
    assert_eq!(open(&summary), ["c1", "c3", "c4", "c5"]);
}

#[test]
fn r06_an_edit_makes_a_finding_worse_but_never_better() {
    let (mut summary, mut scene) = (summary(), Scene::new());
    scene.inline(1, "codex", 40, found(Severity::P1, GUARD));
    scene.absorb(&mut summary);
    let edit = |scene: &mut Scene, severity: Severity, text: &str| {
        let note = scene.notes.iter_mut().find(|note| note.id == 1).expect("the comment");
        note.said.findings = vec![found(severity, text)];
    };
    for (told, text, kept) in [
        (Severity::P2, LOCK, Severity::P1),
        (Severity::Nit, GUARD, Severity::P1),
        (Severity::P1, LOCK, Severity::P1),
        (Severity::P3, GUARD, Severity::P1),
    ] {
        edit(&mut scene, told, text);
        scene.absorb(&mut summary);
        scene.absorb(&mut summary);
        assert_eq!(get(&summary, "c1").finding.severity, kept, "told {told}");
    }
    // A person re-grades.
    let entry = get_mut(&mut summary, "c1");
    entry.regrade =
        Some(Regrade { by: Login::new("ann"), from: Severity::P1, to: Some(Severity::P3), why: "x".into() });
    entry.finding.severity = Severity::P3;
    scene.absorb(&mut summary);
    assert_eq!(get(&summary, "c1").finding.severity, Severity::P3);
}

#[test]
fn r12_another_reviewer_is_no_comeback() {
    let (mut summary, mut scene) = (summary(), Scene::new());
    scene.inline(1, "codex", 40, found(Severity::P2, GUARD));
    scene.absorb(&mut summary);
    argue(&mut summary, "c1");
    scene.inline(2, "rabbit", 40, found(Severity::P2, GUARD));
    scene.absorb(&mut summary);
    assert!(get(&summary, "c2").finding.previous.is_empty());
}

#[test]
fn r05_levels_are_remapped_by_config() {
    let (mut summary, mut scene) = (summary(), Scene::new());
    let levels = [("Major".to_owned(), Severity::P1)].into();
    let policy = ReviewerPolicy { untagged: Some(Severity::P3), levels, ..ReviewerPolicy::default() };
    scene.policy.reviewers.each.insert("Rabbit".to_owned(), policy);
    scene.policy.people_untagged = Severity::Nit;
    let assumed = |text: &str| Found { decided_by: DecidedBy::Assumed, ..found(Severity::P2, text) };
    let major = Found { level: Some("major".to_owned()), ..found(Severity::P2, GUARD) };
    scene.inline(1, "rabbit", 4, major).inline(2, "rabbit", 40, assumed(LOCK)).inline(3, "codex", 4, assumed(GUARD));
    scene.inline_by(4, person("ann"), 4, assumed(LOCK));
    scene.absorb(&mut summary);
    let all = ["c1", "c2", "c3", "c4"].map(|id| get(&summary, id).finding.severity);
    assert_eq!(all, [Severity::P1, Severity::P3, Severity::P2, Severity::Nit]);
}

#[test]
fn r05_levels_told_elsewhere_grade_inline_findings_and_reopen() {
    let (mut summary, mut scene) = (summary(), Scene::new());
    let assumed = Found { decided_by: DecidedBy::Assumed, ..found(Severity::P3, GUARD) };
    scene.inline(1, "codex", 4, assumed);
    scene.absorb(&mut summary);
    assert!(get_mut(&mut summary, "c1").settle(Status::Acknowledged, Proof::Listed, "listed", time(60), 1));
    scene.body(Channel::Review, 8, "codex", Vec::new()).note(8).said.signals =
        vec![Signal::ReportsLevels(vec![(1, Severity::P1)])];
    scene.absorb(&mut summary);
    let entry = get(&summary, "c1");
    assert_eq!((entry.finding.severity, entry.finding.status), (Severity::P1, Status::Open));
}

#[test]
fn r15_a_finding_on_our_own_plan_is_a_p3() {
    let check = |path: &str, expected: Severity| {
        let (mut summary, mut scene) = (summary(), Scene::new());
        scene.inline(1, "codex", 4, found(Severity::P2, "Guard the list"));
        scene.inline(2, "codex", 4, found(Severity::P1, "Say more"));
        let comment = scene.obs.comments.iter_mut().find(|c| c.id == 2).expect("the comment");
        comment.anchor.as_mut().expect("an anchor").path = path.to_owned();
        scene.absorb(&mut summary);
        scene.absorb(&mut summary);
        assert_eq!(get(&summary, "c2").finding.severity, expected, "{path}");
    };
    check("wiki/plans/pr7-c1-guard-the-list.md", Severity::P3);
    check("wiki/plans/pr7-c99-guard-the-list.md", Severity::P1);
    check("wiki/plans/pr8-c1-guard-the-list.md", Severity::P1);
    check("wiki/plans/other.md", Severity::P1);
}

#[test]
fn r06_a_persons_regrade_stays() {
    let (mut summary, mut scene) = (summary(), Scene::new());
    scene.inline(1, "codex", 4, found(Severity::P1, GUARD));
    scene.absorb(&mut summary);
    let entry = get_mut(&mut summary, "c1");
    let (from, to) = (Severity::P1, Some(Severity::P2));
    entry.regrade = Some(Regrade { by: Login::new("ann"), from, to, why: "rare".to_owned() });
    entry.finding.severity = Severity::P2;
    scene.absorb(&mut summary);
    assert_eq!(get(&summary, "c1").finding.severity, Severity::P2);
}

#[test]
fn heads_are_remembered_in_order() {
    let (mut summary, mut scene) = (summary(), Scene::new());
    scene.absorb(&mut summary);
    scene.ours.insert(sha('b'));
    scene.head('b', 70).absorb(&mut summary);
    scene.head('a', 80).absorb(&mut summary);
    let heads: Vec<_> = summary.heads.iter().map(|head| (head.sha.clone(), head.ours)).collect();
    assert_eq!(heads, [(sha('a'), false), (sha('b'), true), (sha('a'), false)]);
}

#[test]
fn fc_05_a_line_of_another_commit_is_not_shown_as_todays() {
    let (mut summary, mut scene) = (summary(), Scene::new());
    scene.inline(1, "codex", 42, found(Severity::P2, GUARD));
    scene.comment(1).anchor.as_mut().expect("an anchor").line = None;
    scene.head('b', 70).absorb(&mut summary);
    let entry = get(&summary, "c1");
    assert_eq!((entry.finding.line, entry.original_line), (None, Some(42)));
    let asked = places(&summary, &scene.obs);
    assert_eq!((asked[0].1.clone(), asked[0].2.line), (sha('a'), Some(42)));
    scene.stays("c1", 72, false).absorb(&mut summary);
    assert_eq!(get(&summary, "c1").finding.line, Some(72));
    scene.located.insert(FindingId::Inline(1), Located::Gone { because: "deleted".to_owned() });
    let out = scene.absorb(&mut summary);
    assert_eq!(out.anchors_gone.len(), 1);
    assert_eq!(status(&summary, "c1"), Status::Open, "whether it is stale is judged elsewhere");
    assert_eq!(entry_of("c1").finding.status, Status::Open);
}

fn entry_of(id: &str) -> Entry {
    entry(id, Severity::P2)
}

#[derive(Debug, Clone)]
enum Deed {
    Inline(usize, u32, usize, usize),
    Body(usize, usize, usize),
    Reply(usize, usize, usize),
    Edit(usize, usize, usize),
    Delete(usize),
    Resolve(usize, usize),
    Open(usize),
    Push,
    Settle(usize),
    Move(usize, bool),
}

fn deed() -> impl Strategy<Value = Deed> {
    let n = || 0usize..12;
    prop_oneof![
        4 => (n(), 1u32..12, n(), n()).prop_map(|(a, l, t, s)| Deed::Inline(a, l, t, s)),
        2 => (n(), n(), n()).prop_map(|(a, t, s)| Deed::Body(a, t, s)),
        4 => (n(), n(), n()).prop_map(|(r, a, v)| Deed::Reply(r, a, v)),
        2 => (n(), n(), n()).prop_map(|(c, t, s)| Deed::Edit(c, t, s)),
        1 => n().prop_map(Deed::Delete),
        2 => (n(), n()).prop_map(|(c, a)| Deed::Resolve(c, a)),
        1 => n().prop_map(Deed::Open),
        2 => Just(Deed::Push),
        4 => n().prop_map(Deed::Settle),
        1 => (n(), any::<bool>()).prop_map(|(c, e)| Deed::Move(c, e)),
    ]
}

const TEXTS: [&str; 4] =
    [GUARD, LOCK, "Guard the empty list before its first element is read. It panics!", "Rename it"];
const HEADS: [char; 6] = ['a', 'b', 'c', 'd', 'e', 'f'];

struct Play {
    scene: Scene,
    summary: Summary,
    id: u64,
}

impl Play {
    fn author(at: usize) -> Author {
        let all = [bot("codex"), bot("rabbit"), person("ann"), person("dev"), person("eve"), person("runner")];
        all[at % all.len()].clone()
    }

    fn told(text: usize, severity: usize) -> Found {
        let severity = Severity::ALL[severity % 4];
        Found { path: Some("src/a.rs".to_owned()), ..found(severity, TEXTS[text % 4]) }
    }

    fn some_id(&self, at: usize) -> Option<u64> {
        let all: Vec<u64> = self.scene.obs.comments.iter().map(|comment| comment.id).collect();
        (!all.is_empty()).then(|| all[at % all.len()])
    }

    fn root(&self, at: usize) -> Option<u64> {
        let all: Vec<u64> = self.scene.obs.threads.iter().map(|thread| thread.root).collect();
        (!all.is_empty()).then(|| all[at % all.len()])
    }

    fn act(&mut self, deed: &Deed) {
        self.id += 1;
        let id = self.id;
        self.scene.obs.at = time(id as i64);
        match *deed {
            Deed::Inline(author, line, text, severity) => {
                self.scene.inline_by(id, Self::author(author), line, Self::told(text, severity));
                self.scene.comment(id).review_id = Some((id / 4) * 4);
            }
            Deed::Body(author, text, severity) => {
                let channel = if text % 2 == 0 { Channel::Review } else { Channel::Conversation };
                let items = vec![Self::told(text, severity), Self::told(text / 4, severity / 4)];
                let login = ["codex", "rabbit"][author % 2];
                self.scene.body(channel, id, login, items);
            }
            Deed::Reply(root, author, verdict) => {
                let verdicts =
                    [ReplyVerdict::Accepts, ReplyVerdict::Insists, ReplyVerdict::Notice, ReplyVerdict::Unclear];
                if let Some(root) = self.root(root) {
                    let commands = [
                        "/pushback accept",
                        "/pushback retry",
                        "/pushback regrade P1 worse",
                        "/pushback regrade P3 better",
                        "/pushback out-of-scope later",
                    ];
                    let text = commands.get(verdict).copied().unwrap_or("this is a reason");
                    self.scene.reply(id, root, Self::author(author), verdicts[verdict % 4], text);
                }
            }
            Deed::Edit(comment, text, severity) => {
                if let Some(comment) = self.some_id(comment)
                    && self.scene.note(comment).said.kind == Kind::Finding
                {
                    self.scene.edit(comment, vec![Self::told(text, severity)]);
                    let said = &mut self.scene.note(comment).said;
                    said.closed = (text == 11).then_some(Closed::Withdrawn);
                    if severity > 6 && text == 11 {
                        said.findings.clear();
                    }
                }
            }
            Deed::Delete(comment) => {
                if let Some(comment) = self.some_id(comment) {
                    self.scene.delete(comment);
                }
            }
            Deed::Resolve(root, by) => {
                if let Some(root) = self.root(root) {
                    self.scene.resolve(root, Self::author(by).login.as_str());
                }
            }
            Deed::Open(root) => {
                if let Some(root) = self.root(root) {
                    self.scene.thread(root).resolved = false;
                }
            }
            Deed::Push => {
                self.scene.head(HEADS[id as usize % HEADS.len()], id as i64);
            }
            Deed::Move(at, edited) => {
                if let Some(key) = self.summary.comments.keys().nth(at) {
                    self.scene.stays(&key.to_string(), 5, edited);
                }
            }
            Deed::Settle(at) => {
                let (head, now) = (self.scene.obs.pr.head.clone(), time(id as i64));
                let Some(entry) = self.summary.comments.values_mut().nth(at) else { return };
                let reply = Proof::Reply { comment_id: 1, reason: "r".to_owned(), key: "k".to_owned() };
                let gone = Proof::AnchorGone { head: head.clone(), because: "b".to_owned() };
                let _ = entry.settle(Status::Acknowledged, Proof::Listed, "listed", now, 1)
                    || (at % 3 == 0 && entry.settle(Status::Argued, reply, "argued", now, 1))
                    || (at % 3 == 1 && entry.settle(Status::Stale, gone, "stale", now, 1))
                    || entry.settle(Status::Fixed, Proof::Commit { sha: head, place: "p".into() }, "fixed", now, 1);
            }
        }
    }

    fn check(&mut self) {
        let before = self.summary.clone();
        let out = self.scene.absorb(&mut self.summary);
        for (id, old) in &before.comments {
            let new = self.summary.comments.get(id).unwrap_or_else(|| panic!("{id} is lost"));
            if old.finding.status.settled() && !new.finding.status.settled() {
                let told = out.events.iter().any(|e| e.id == *id && matches!(e.what, What::Reopened(_)));
                assert!(told, "{id} opened without a new fact");
            }
        }
        for (id, entry) in &self.summary.comments {
            assert!(!entry.outgraded(), "{id}: {} as {}", entry.finding.severity, entry.finding.status);
            assert_eq!(entry.finding.status.settled(), entry.proof.is_some(), "{id}: every settled one has a proof");
            if let (Status::Duplicate, Some(Proof::SameAs { id: of })) = (entry.finding.status, &entry.proof) {
                let carrier = &self.summary.comments[of];
                let stands =
                    self.scene.obs.comments.iter().any(|c| c.id == id.carrier() && c.updated_at == c.created_at);
                assert!(carrier.finding.status != Status::Gone || !stands, "{id} is a copy of the deleted {of}");
            }
        }
        for note in self.scene.notes.iter().filter(|note| note.standing.creates_work()) {
            if note.said.worst().is_some() {
                let known = self.summary.comments.keys().any(|id| carrier(*id) == (note.channel, note.id));
                assert!(known, "{} is lost", note.id);
            }
        }
    }
}

proptest! {
    #[test]
    fn r10_absorbing_is_idempotent_and_loses_nothing(steps in prop::collection::vec(prop::collection::vec(deed(), 1..5), 1..12)) {
        let mut play = Play { scene: Scene::new(), summary: summary(), id: 0 };
        for deeds in steps {
            for deed in &deeds {
                play.act(deed);
            }
            play.check();
        }
    }
}
