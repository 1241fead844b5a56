use super::*;
use crate::review::decision::Verb;
use crate::review::ids::{Login, PrNumber, PrRef};
use crate::review::note::{Classified, Kind, ReplyVerdict, Standing};
use crate::review::owed::key_of;
use crate::review::sample;
use proptest::prelude::*;

const REASON: &str = "callers check `parse`'s input | see the reader";

/// A pull request on which a finding was argued down by the account `by`.
struct Lost {
    entry: Entry,
    by: Author,
    reply: Option<WriteKind>,
    line: bool,
    pr: PrRef,
    policy: Policy,
    permission: Option<Permission>,
    later: Option<Author>,
}

impl Lost {
    fn new(id: &str) -> Self {
        Self {
            entry: sample::entry(id, Severity::P2),
            by: sample::person("me"),
            reply: Some(WriteKind::Argue),
            line: true,
            pr: sample::pr(),
            policy: Policy::default(),
            permission: None,
            later: None,
        }
    }

    fn observation(&self) -> Observation {
        let id = self.entry.finding.id;
        let root = sample::comment(id.carrier(), sample::bot("codex"), self.entry.finding.channel, &self.entry.text);
        let mut comments = vec![root];
        let channel = if self.entry.thread.is_some() { Channel::Inline } else { Channel::Conversation };
        if let Some(kind) = self.reply {
            let key = key_of(kind, &self.entry);
            let marker = Marker::new(kind, &id.to_string(), &key, &self.pr, &sample::sha('a')).expect("a receipt");
            let mut reply =
                sample::comment(900, self.by.clone(), channel, &words::post(&words::argue(REASON), &[marker]));
            reply.in_reply_to = self.entry.thread;
            comments.push(reply);
        }
        if let Some(author) = &self.later {
            let mut reply = sample::comment(901, author.clone(), channel, "I do not agree");
            reply.in_reply_to = self.entry.thread;
            comments.push(reply);
        }
        let mut obs = sample::observation(comments, vec![]);
        if let Some(permission) = self.permission {
            obs.permissions.insert(self.by.login.clone(), permission);
        }
        if self.line {
            let mut entry = self.entry.clone();
            entry.pending = Some(sample::pending(Verb::Argue, REASON));
            entry.finding.attempts = 2;
            let mut summary = sample::summary(vec![entry]);
            summary.round = 4;
            summary.used.rounds = 3;
            summary.used.cost_usd = 1.5;
            obs.pr.body = description::render(&summary, 60_000).expect("room");
        }
        obs
    }

    fn rebuilt(&self) -> (Summary, Vec<Claim>) {
        let obs = self.observation();
        let mut summary = sample::summary(vec![self.entry.clone()]);
        let notes: Vec<Note> = self.later.iter().map(|author| note(author.clone())).collect();
        let claims = rebuild(&mut summary, &obs, &notes, &self.policy);
        (summary, claims)
    }

    fn check(&self, expected: Status) {
        let (summary, _) = self.rebuilt();
        assert_eq!(summary.comments[&self.entry.finding.id].finding.status, expected);
    }
}

fn note(author: Author) -> Note {
    let said = Classified {
        closed_finding: None,
        kind: Kind::Reply,
        findings: vec![],
        reviewer: None,
        signals: vec![],
        closed: None,
        verdict: ReplyVerdict::Insists,
    };
    Note {
        channel: Channel::Inline,
        id: 901,
        author: Some(author),
        standing: Standing::Reviewer("codex".into()),
        said: said.into(),
    }
}

#[test]
fn r13_reply_and_line_with_one_key_are_an_argument() {
    for id in ["c1", "r5.1", "i5.2"] {
        Lost::new(id).check(Status::Argued);
        Lost { line: false, ..Lost::new(id) }.check(Status::Open);
        Lost { reply: None, ..Lost::new(id) }.check(Status::Open);
        Lost { reply: Some(WriteKind::Answer), ..Lost::new(id) }.check(Status::Open);
    }
    let (summary, _) = Lost::new("c1").rebuilt();
    let entry = &summary.comments[&"c1".parse().expect("id")];
    let key = key_of(WriteKind::Argue, entry);
    assert_eq!(entry.proof, Some(Proof::Reply { comment_id: 900, reason: REASON.into(), key }));
    let (again, _) = Lost::new("i5.2").rebuilt();
    let proof = &again.comments[&"i5.2".parse().expect("id")].proof;
    assert!(matches!(proof, Some(Proof::Reply { reason, .. }) if reason == REASON));
}

#[test]
fn r13_what_was_said_elsewhere_is_taken_over_where_the_finding_is_open() {
    let there = || {
        let by = sample::person("dev2");
        Lost { by, permission: Some(Permission::Write), ..Lost::new("c1") }
    };
    let check = |there: Lost, what: &str, entry: Entry, expected: Status| {
        let mut summary = sample::summary(vec![entry]);
        let notes: Vec<Note> = there.later.iter().map(|author| note(author.clone())).collect();
        take_over(&mut summary, &there.observation(), &notes, &there.policy);
        let finding = &summary.comments[&there.entry.finding.id].finding;
        assert_eq!((finding.status, finding.needs_person), (expected, false), "{what}");
    };
    let open = || sample::entry("c1", Severity::P2);
    check(there(), "nobody here answered it", open(), Status::Argued);
    let mut given = open();
    given.hand_over("3 attempts did not settle it");
    check(there(), "what was out of attempts here was argued there", given, Status::Argued);
    let mut again = open();
    again.history.push(sample::moved(Some(Status::Argued), Status::Open));
    check(there(), "it was argued and opened here since", again, Status::Open);
    let mut copy = open();
    copy.exchanges = 1;
    check(there(), "what it is a copy of had an exchange here", copy, Status::Argued);
    let mut under_way = open();
    under_way.pending = Some(sample::pending(Verb::Fix, ""));
    check(there(), "another answer is under way here", under_way, Status::Open);
    check(there(), "a P1", sample::entry("c1", Severity::P1), Status::Open);
    check(Lost { line: false, ..there() }, "no line", open(), Status::Open);
    check(Lost { reply: None, ..there() }, "no reply", open(), Status::Open);
    check(Lost { permission: Some(Permission::Read), ..there() }, "a stranger's reply", open(), Status::Open);
    check(Lost { later: Some(sample::bot("codex")), ..there() }, "somebody objects", open(), Status::Open);
}

/// A pull request on which a finding was left to a follow-up, or answered; state is lost.
fn said(id: &str, verb: Verb, line: bool, severity: Severity) -> Summary {
    let mut entry = sample::entry(id, severity);
    entry.is_question = true;
    let kind = if verb == Verb::Defer { WriteKind::Defer } else { WriteKind::Answer };
    let key = key_of(kind, &entry);
    let file = "wiki/plans/pr7-c1-cache.md";
    let url = crate::review::followup::permanent_link(&sample::summary(vec![]).pr, &sample::sha('c'), file);
    let text = if verb == Verb::Defer { words::defer(file, &url) } else { words::answer(REASON) };
    let marker = Marker::new(kind, id, &key, &sample::pr(), &sample::sha('a')).expect("a receipt");
    let lost = Lost { reply: None, line: false, ..Lost::new(id) };
    let mut obs = lost.observation();
    let channel = if entry.thread.is_some() { Channel::Inline } else { Channel::Conversation };
    let mut reply = sample::comment(900, sample::person("me"), channel, &words::post(&text, &[marker]));
    reply.in_reply_to = entry.thread;
    obs.comments.push(reply);
    let mut summary = sample::summary(vec![entry.clone()]);
    if line {
        let pending = sample::pending(verb, REASON);
        entry.finding.severity = Severity::P2;
        entry.pending = Some(crate::review::summary::Pending {
            key: Some(key),
            file: Some(file.into()),
            url: Some(url),
            ..pending
        });
        obs.pr.body = description::render(&sample::summary(vec![entry]), 60_000).expect("room");
    }
    rebuild(&mut summary, &obs, &[], &Policy::default());
    summary
}

#[test]
fn r13_a_follow_up_comes_back_from_reply_and_line() {
    let status = |id: &str, line, severity| {
        said(id, Verb::Defer, line, severity).comments[&id.parse().expect("id")].finding.status
    };
    for id in ["c1", "i5.2"] {
        assert_eq!(status(id, true, Severity::P2), Status::Deferred);
        assert_eq!(status(id, false, Severity::P2), Status::Open);
        assert_eq!(status(id, true, Severity::P1), Status::Open, "a P1 is never left to a follow-up");
    }
    let summary = said("c1", Verb::Defer, true, Severity::P2);
    let proof = summary.comments[&"c1".parse().expect("id")].proof.clone();
    match proof {
        Some(Proof::Plan { path, url, comment_id, reason, .. }) => {
            assert_eq!((path.as_str(), comment_id, reason.as_str()), ("wiki/plans/pr7-c1-cache.md", 900, REASON));
            assert!(url.contains("/blob/cccc"), "{url}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn r13_an_answered_question_comes_back() {
    for id in ["c1", "i5.2"] {
        let summary = said(id, Verb::Answer, true, Severity::P2);
        let entry = &summary.comments[&id.parse().expect("id")];
        assert_eq!(entry.finding.status, Status::Answered);
        assert!(matches!(&entry.proof, Some(Proof::Reply { reason, .. }) if reason == REASON), "{:?}", entry.proof);
        let open = said(id, Verb::Answer, false, Severity::P2);
        assert_eq!(open.comments[&id.parse().expect("id")].finding.status, Status::Open);
    }
}

#[test]
fn r13_only_accounts_that_count_are_believed() {
    let stranger = sample::person("mallory");
    Lost { by: stranger.clone(), ..Lost::new("c1") }.check(Status::Open);
    let permitted = |permission| Lost { by: stranger.clone(), permission: Some(permission), ..Lost::new("c1") };
    permitted(Permission::Read).check(Status::Open);
    permitted(Permission::Triage).check(Status::Open);
    permitted(Permission::Unasked).check(Status::Open);
    permitted(Permission::Write).check(Status::Argued);
    let mut listed = Lost { by: stranger, ..Lost::new("c1") };
    listed.policy.trust_accounts = vec![Login::new("Mallory")];
    listed.check(Status::Argued);
}

#[test]
fn fm_42_a_receipt_of_another_place_is_not_believed() {
    let pr = PrRef { number: PrNumber(8), ..sample::pr() };
    Lost { pr, ..Lost::new("c1") }.check(Status::Open);
    let pr = PrRef { slug: "o/other".parse().expect("slug"), ..sample::pr() };
    Lost { pr, ..Lost::new("c1") }.check(Status::Open);
    let lost = Lost::new("c1");
    let obs = lost.observation();
    let mut edited = lost.entry.clone();
    edited.body_hash = "another meaning".into();
    let mut summary = sample::summary(vec![edited]);
    rebuild(&mut summary, &obs, &[], &Policy::default());
    assert_eq!(summary.comments[&lost.entry.finding.id].finding.status, Status::Open, "another version");
}

#[test]
fn r6_a_p1_is_never_rebuilt_as_argued() {
    let mut lost = Lost::new("c1");
    lost.entry.finding.severity = Severity::P1;
    lost.line = false;
    let p2 = Lost::new("c1").observation();
    let mut summary = sample::summary(vec![lost.entry.clone()]);
    rebuild(&mut summary, &p2, &[], &Policy::default());
    assert_eq!(summary.comments[&lost.entry.finding.id].finding.status, Status::Open);
}

#[test]
fn r12_an_objection_after_the_argument_keeps_it_open() {
    let lost = || Lost { later: Some(sample::bot("codex")), ..Lost::new("c1") };
    lost().check(Status::Open);
    // A fresh state hears every reply before it is rebuilt: an objection that was heard speaks against the argument too.
    let mut heard = lost();
    heard.entry.heard = vec![901];
    heard.check(Status::Open);
}

#[test]
fn r13_fixed_and_stale_are_claims() {
    for (kind, what) in [(WriteKind::Fixed, Claimed::Fixed), (WriteKind::Stale, Claimed::Stale)] {
        let lost = Lost { reply: Some(kind), ..Lost::new("c1") };
        let (summary, claims) = lost.rebuilt();
        assert_eq!(summary.comments[&lost.entry.finding.id].finding.status, Status::Open);
        assert_eq!(claims, [Claim { id: lost.entry.finding.id, what, head: sample::sha('a') }]);
    }
}

#[test]
fn r20_counters_are_the_maximum_of_what_is_known() {
    let (summary, _) = Lost::new("c1").rebuilt();
    assert_eq!((summary.round, summary.used.rounds, summary.used.cost_usd), (4, 3, 1.5));
    assert_eq!(summary.comments[&"c1".parse().expect("id")].finding.attempts, 2);
    let mut known = sample::summary(vec![]);
    known.round = 9;
    restore(&mut known, &Counters { round: u32::MAX, rounds: 1, ..Counters::default() });
    assert_eq!((known.round, known.used.rounds), (MAX_COUNT, 1));
    let mut known = sample::summary(vec![]);
    known.round = 9;
    restore(&mut known, &Counters { round: 2, ..Counters::default() });
    assert_eq!(known.round, 9);
}

#[test]
fn r20_a_copy_goes_on_with_what_the_finding_before_it_has_used() {
    let of = |said: Option<&str>| {
        let mut copy = sample::entry("c2", Severity::P2);
        copy.finding.previous = vec!["c1".parse().expect("id")];
        let mut known = sample::summary(vec![sample::entry("c1", Severity::P2), copy]);
        let command = |said: &str| CommandRecord {
            comment: 60,
            root: 2,
            id: Some("c2".parse().expect("id")),
            by: Login::new("ann"),
            said: said.to_owned(),
            version: String::new(),
            refused: None,
        };
        known.commands = said.map(command).into_iter().collect();
        let one = |n| BTreeMap::from([("c1".parse().expect("id"), n)]);
        restore(&mut known, &Counters { attempts: one(3), exchanges: one(1), ..Counters::default() });
        let copy = &known.comments[&"c2".parse().expect("id")];
        (copy.finding.attempts, copy.exchanges)
    };
    assert_eq!(of(None), (3, 1));
    assert_eq!(of(Some("/pushback accept")), (3, 1));
    assert_eq!(of(Some("/pushback retry")), (0, 0), "a person asked for another try");
}

#[test]
fn r24_a_reason_that_was_removed_again_waits_for_a_person_also_where_state_was_lost() {
    let check = |restored: bool, later: Option<Author>, expected: bool| {
        let lost = Lost { line: false, later, ..Lost::new("c1") };
        let mut obs = lost.observation();
        let mut said = sample::summary(vec![lost.entry.clone()]);
        said.restored = Some(key_of(WriteKind::Argue, &lost.entry)).filter(|_| restored).into_iter().collect();
        obs.pr.body = description::render(&said, 60_000).expect("room");
        let notes: Vec<Note> = lost.later.iter().map(|author| note(author.clone())).collect();
        let mut summary = sample::summary(vec![lost.entry.clone()]);
        rebuild(&mut summary, &obs, &notes, &Policy::default());
        let finding = &summary.comments[&lost.entry.finding.id].finding;
        assert_eq!((finding.status, finding.needs_person), (Status::Open, expected), "{restored}");
    };
    check(true, None, true);
    check(false, None, false);
    check(true, Some(sample::bot("codex")), false);
}

proptest! {
    #[test]
    fn r13_the_description_alone_settles_nothing(body in "(?s).{0,200}", copy: bool) {
        let lost = Lost { reply: None, ..Lost::new("c1") };
        let mut obs = lost.observation();
        if copy { obs.pr.body.push_str(&body) } else { obs.pr.body = body }
        let mut summary = sample::summary(vec![lost.entry.clone()]);
        let claims = rebuild(&mut summary, &obs, &[], &Policy::default());
        prop_assert!(claims.is_empty());
        prop_assert_eq!(summary.comments[&lost.entry.finding.id].finding.status, Status::Open);
    }
}
