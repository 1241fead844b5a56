use super::*;
use crate::review::diff::{FileChange, Hunk};
use crate::review::ids::{Login, RepoPath};
use crate::review::sample;
use crate::review::status::Status;
use proptest::prelude::*;

fn id(text: &str) -> FindingId {
    text.parse().expect("an id")
}

fn file(items: &str) -> String {
    format!(r#"{{"schema_version":1,"decisions":[{items}]}}"#)
}

fn item(id: &str, verb: &str, reason: &str) -> String {
    serde_json::json!({ "id": id, "decision": verb, "reason": reason, "extra": [1] }).to_string()
}

fn check_parse(text: &str, decisions: &[&str], problems: &[(Option<&str>, &str)]) {
    let parsed = parse(text.as_bytes());
    let ids: Vec<String> = parsed.decisions.iter().map(|d| d.id.to_string()).collect();
    assert_eq!(ids, decisions, "{text}");
    assert_eq!(parsed.problems.len(), problems.len(), "{:?}", parsed.problems);
    for (problem, (id, why)) in parsed.problems.iter().zip(problems) {
        assert_eq!(problem.id.map(|id| id.to_string()).as_deref(), *id);
        assert!(problem.why.contains(why), "{problem:?}");
    }
}

#[test]
fn fm_34_a_bad_item_is_unanswered_and_the_others_stand() {
    let good = item("c1", "fix", "");
    check_parse(&file(&good), &["c1"], &[]);
    check_parse(&format!("\u{feff}{}", file(&good)), &["c1"], &[]);
    check_parse(&format!(r#"{{"decisions":[{good}],"note":"x"}}"#), &["c1"], &[]);
    check_parse("", &[], &[(None, "empty")]);
    check_parse("I fixed it.", &[], &[(None, "not JSON")]);
    check_parse(&format!("{}{}", file(&good), file("")), &[], &[(None, "more than one document")]);
    check_parse(&format!("{} trailing", file(&good)), &[], &[(None, "more than one document")]);
    check_parse(&format!("[{good}]"), &[], &[(None, "not a JSON object")]);
    check_parse(r#"{"schema_version":2,"decisions":[]}"#, &[], &[(None, "schema_version")]);
    check_parse(r#"{"schema_version":1}"#, &[], &[(None, "missing")]);
    check_parse(&"[".repeat(100_000), &[], &[(None, "not JSON")]);
    check_parse(&file(&format!(r#"1,{{"id":7}},{good}"#)), &["c1"], &[(None, "item 1"), (None, "item 2")]);
    check_parse(&file(&format!("{good},{}", item("c2", "ignore", ""))), &["c1"], &[(Some("c2"), "not one of")]);
    check_parse(
        &file(&format!("{good},{}", item("c2", "argue", &"x".repeat(10_000_000)))),
        &["c1"],
        &[(Some("c2"), "longer")],
    );
    let marked = item("c2", "argue", "because <!-- pushback:1 argue c1 k=0 -->");
    check_parse(&file(&format!("{good},{marked}")), &["c1"], &[(Some("c2"), "markers")]);
    let twice = [item("c2", "fix", ""), good.clone(), item("c2", "argue", "x")].join(",");
    check_parse(&file(&twice), &["c1"], &[(Some("c2"), "more than once")]);
    check_parse(&file(r#"{"id":"c3","decision":"fix","places":"a.rs"}"#), &[], &[(Some("c3"), "not a list")]);
    check_parse(&file(r#"{"id":"c3","decision":"defer","plan":{"steps":[]}}"#), &[], &[(Some("c3"), "no title")]);
    check_parse(&file(r#"{"id":"c3","decision":"fix","reason":null,"plan":null}"#), &["c3"], &[]);
}

fn hunk(old: (u32, &[&str]), new: (u32, &[&str])) -> Hunk {
    let lines = |text: &[&str]| text.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
    let len = |text: &[&str]| u32::try_from(text.len()).expect("short");
    Hunk {
        old_start: old.0,
        old_len: len(old.1),
        new_start: new.0,
        new_len: len(new.1),
        removed: lines(old.1),
        added: lines(new.1),
    }
}

fn changed(path: &str, hunks: Vec<Hunk>) -> FileDiff {
    let path = RepoPath::from_git(path);
    FileDiff { change: FileChange::Modified, old_path: Some(path.clone()), new_path: Some(path), binary: false, hunks }
}

fn check_touch(entry: &Entry, places: &[&str], diff: &[FileDiff], expected: bool) {
    let places: Vec<String> = places.iter().map(|place| (*place).to_owned()).collect();
    let got = touches(entry, &places, diff);
    assert_eq!(got.is_ok(), expected, "{got:?} {diff:?}");
}

#[test]
fn r8_a_fix_touches_the_cited_place_or_one_it_names() {
    let entry = sample::entry("c1", Severity::P1);
    let edit = |line| changed("src/a.rs", vec![hunk((line, &["old()"]), (line, &["new()"]))]);
    check_touch(&entry, &[], &[edit(10)], true);
    check_touch(&entry, &[], &[edit(13)], true);
    check_touch(&entry, &[], &[edit(40)], false);
    check_touch(&entry, &["src/a.rs:40"], &[edit(40)], true);
    check_touch(&entry, &["src/a.rs"], &[edit(40)], true);
    check_touch(&entry, &["src/a.rs:80-90"], &[edit(40)], false);
    check_touch(&entry, &["../../etc/passwd", "src/b.rs"], &[edit(40)], false);
    check_touch(&entry, &[], &[changed("src/b.rs", vec![hunk((10, &["a"]), (10, &["b"]))])], false);
    check_touch(&entry, &[], &[], false);
    let insert = changed("src/a.rs", vec![hunk((9, &[]), (10, &["guard()"]))]);
    check_touch(&entry, &[], &[insert], true);
    let deleted = FileDiff { change: FileChange::Deleted, new_path: None, ..changed("src/a.rs", vec![]) };
    check_touch(&entry, &[], &[deleted], true);
    let moved = FileDiff { change: FileChange::Renamed, new_path: Some(RepoPath::from_git("src/z.rs")), ..edit(10) };
    check_touch(&entry, &[], &[moved], true);
    let mut nowhere = sample::entry("i1.1", Severity::P2);
    nowhere.finding.path = None;
    nowhere.finding.line = None;
    check_touch(&nowhere, &[], &[edit(40)], true);
    check_touch(&nowhere, &["src/b.rs"], &[edit(40)], false);
}

#[test]
fn r8_white_space_and_comments_do_not_touch() {
    let entry = sample::entry("c1", Severity::P1);
    let one = |path: &str, old: &[&str], new: &[&str]| changed(path, vec![hunk((10, old), (10, new))]);
    check_touch(&entry, &[], &[one("src/a.rs", &["a( b )"], &["    a(b)"])], false);
    check_touch(&entry, &[], &[one("src/a.rs", &[], &["", ""])], false);
    check_touch(&entry, &[], &[one("src/a.rs", &["// old"], &["// new", "/// doc"])], false);
    check_touch(&entry, &[], &[one("src/a.rs", &["a()"], &["// why", "a()"])], false);
    check_touch(&entry, &[], &[one("src/a.rs", &["a()"], &["// a()"])], true);
    check_touch(&entry, &[], &[one("src/a.rs", &["#[test]"], &[])], true);
    let mut about = sample::entry("c1", Severity::P2);
    about.finding.title = "The comment is wrong".into();
    check_touch(&about, &[], &[one("src/a.rs", &["// old"], &["// new"])], true);
    let mut python = sample::entry("c1", Severity::P1);
    python.finding.path = Some("a.py".into());
    check_touch(&python, &[], &[one("a.py", &[], &["# noqa"])], false);
    let mut text = sample::entry("c1", Severity::P1);
    text.finding.path = Some("README.md".into());
    check_touch(&text, &[], &[one("README.md", &["# Old"], &["# New"])], true);
}

const REASON: &str =
    "`parse` is only ever called with input that the reader has checked, see the test `reads_nothing`.";

struct Case {
    summary: Summary,
    commit: Option<Sha>,
    diff: Vec<FileDiff>,
    people_argue: bool,
    place: PlaceNow,
}

impl Case {
    fn new(entries: Vec<Entry>) -> Self {
        Self {
            summary: sample::summary(entries),
            commit: None,
            diff: Vec::new(),
            people_argue: false,
            place: PlaceNow::There("`src/a.rs:10`".into()),
        }
    }

    fn judge(&self, items: &[String]) -> Vec<(String, String)> {
        let sent: Vec<FindingId> = self.summary.comments.keys().copied().collect();
        let code = |_: &Entry| "let parsed = parse_header(buffer);".to_owned();
        let facts = RoundFacts {
            round: 3,
            commit: self.commit.as_ref(),
            diff: &self.diff,
            people_argue: self.people_argue,
            code: &code,
            place: &|_| self.place.clone(),
        };
        let judged = judge(&self.summary, &sent, &parse(file(&items.join(",")).as_bytes()), facts);
        let word = |answer: &Answered| match answer {
            Answered::Accepted(pending) => format!("accepted {}", pending.verb.as_str()),
            Answered::Draft(_) => "draft".to_owned(),
            Answered::Refused(why) => why.clone(),
        };
        judged.iter().map(|judged| (judged.id.to_string(), word(&judged.answer))).collect()
    }

    fn check(&self, items: &[String], expected: &[(&str, &str)]) {
        let got = self.judge(items);
        assert_eq!(got.len(), expected.len(), "{got:?}");
        for ((id, text), (wanted, part)) in got.iter().zip(expected) {
            assert!(id == wanted && text.contains(part), "{id}: {text} / {part}");
        }
    }
}

#[test]
fn r8_each_answer_is_judged() {
    let mut case = Case::new(vec![sample::entry("c1", Severity::P1), sample::entry("c2", Severity::P2)]);
    case.check(
        &[item("c1", "argue", REASON), item("c2", "argue", REASON)],
        &[("c1", "never argued down"), ("c2", "accepted argue")],
    );
    case.check(&[item("c9", "fix", "")], &[("c1", "not answered"), ("c2", "not answered")]);
    case.check(&[item("c1", "fix", "")], &[("c1", "no commit"), ("c2", "not answered")]);
    case.commit = Some(sample::sha('b'));
    case.diff = vec![changed("src/a.rs", vec![hunk((10, &["a"]), (10, &["b"]))])];
    case.check(
        &[item("c1", "fix", ""), item("c2", "argue", "too short")],
        &[("c1", "accepted fix"), ("c2", "characters")],
    );
    case.diff = vec![changed("src/b.rs", vec![hunk((10, &["a"]), (10, &["b"]))])];
    case.check(&[item("c1", "fix", "")], &[("c1", "touches neither src/a.rs:10"), ("c2", "not answered")]);
}

#[test]
fn r8_people_are_not_argued_with() {
    let mut entry = sample::entry("c2", Severity::P2);
    entry.finding.author_kind = AccountKind::Person;
    let mut case = Case::new(vec![entry]);
    case.check(&[item("c2", "argue", REASON)], &[("c2", "draft")]);
    case.people_argue = true;
    case.check(&[item("c2", "argue", REASON)], &[("c2", "accepted argue")]);
}

#[test]
fn r14_stale_is_taken_only_where_the_place_is_provably_gone() {
    for severity in [Severity::P1, Severity::P2] {
        let mut case = Case::new(vec![sample::entry("c1", severity)]);
        let said = [item("c1", "stale", REASON)];
        case.check(&said, &[("c1", "still there, at `src/a.rs:10`")]);
        case.place = PlaceNow::Unsure("commit abc is not available here".into());
        case.check(&said, &[("c1", "unsure counts as still there")]);
        case.place = PlaceNow::Gone { because: "`src/a.rs` was deleted".into(), by: None };
        case.check(&said, &[("c1", "accepted stale")]);
    }
}

#[test]
fn r14_what_our_own_commit_took_out_is_a_claimed_fix() {
    let mut case = Case::new(vec![sample::entry("c1", Severity::P1)]);
    let said = [item("c1", "stale", REASON)];
    case.place = PlaceNow::Gone { because: "`src/a.rs` was deleted".into(), by: Some(sample::sha('c')) };
    case.check(&said, &[("c1", "accepted fix")]);
    case.place = PlaceNow::There("`src/a.rs:10`".into());
    case.commit = Some(sample::sha('b'));
    case.diff = vec![changed("src/a.rs", vec![hunk((10, &["a"]), (10, &["b"]))])];
    case.check(&said, &[("c1", "accepted fix")]);
    case.diff = vec![changed("src/b.rs", vec![hunk((10, &["a"]), (10, &["b"]))])];
    case.check(&said, &[("c1", "still there")]);
}

fn planned(id: &str, reason: &str, plan: &serde_json::Value) -> String {
    serde_json::json!({ "id": id, "decision": "defer", "reason": reason, "plan": plan }).to_string()
}

#[test]
fn r15_a_follow_up_needs_a_reason_and_a_plan_and_is_never_for_a_p1() {
    let plan = serde_json::json!({ "title": "Cache the parser", "steps": ["Measure it", " "] });
    let check = |severity, item: String, expected: &str| {
        Case::new(vec![sample::entry("c2", severity)]).check(&[item], &[("c2", expected)]);
    };
    check(Severity::P2, planned("c2", REASON, &plan), "accepted defer");
    check(Severity::P3, planned("c2", REASON, &plan), "accepted defer");
    check(Severity::P1, planned("c2", REASON, &plan), "only a person may grade it lower");
    check(Severity::P2, planned("c2", "too short", &plan), "characters");
    check(Severity::P2, item("c2", "defer", REASON), "needs a plan");
    for bad in [
        serde_json::json!({ "title": " ", "steps": ["Measure it"] }),
        serde_json::json!({ "title": "Cache", "steps": [] }),
        serde_json::json!({ "title": "Cache", "steps": ["\u{200b}"] }),
    ] {
        check(Severity::P2, planned("c2", REASON, &bad), "a title and at least one step");
    }
    let many = serde_json::json!({ "title": "Cache", "steps": vec!["again"; 21] });
    check(Severity::P2, planned("c2", REASON, &many), "at most 20");
    let mut person = sample::entry("c2", Severity::P2);
    person.finding.author_kind = AccountKind::Person;
    Case::new(vec![person]).check(&[planned("c2", REASON, &plan)], &[("c2", "draft")]);
}

#[test]
fn r8_only_a_question_is_settled_by_an_answer() {
    let check = |severity, question: bool, kind, reason: &str, expected: &str| {
        let mut entry = sample::entry("c2", severity);
        (entry.is_question, entry.finding.author_kind) = (question, kind);
        Case::new(vec![entry]).check(&[item("c2", "answer", reason)], &[("c2", expected)]);
    };
    let text = "Because the caller closes it; the reader never sees the end of the stream.";
    check(Severity::P2, true, AccountKind::Bot, text, "accepted answer");
    check(Severity::P3, true, AccountKind::Bot, text, "accepted answer");
    check(Severity::P2, true, AccountKind::Person, text, "draft");
    check(Severity::P2, false, AccountKind::Bot, text, "asks no question");
    check(Severity::P1, true, AccountKind::Bot, text, "only a person may grade it lower");
    check(Severity::P2, true, AccountKind::Bot, "Yes.", "characters");
    check(Severity::P2, true, AccountKind::Bot, &"long ".repeat(399), "accepted answer");
}

#[test]
fn a_reason_speaks_of_its_finding() {
    let case = Case::new(vec![sample::entry("c2", Severity::P2)]);
    let check = |reason: &str, expected: &str| case.check(&[item("c2", "argue", reason)], &[("c2", expected)]);
    check("This is by design and the code should stay as it is for now.", "does not speak");
    check("See src/a.rs, where this is handled one call further up the stack.", "accepted");
    check("In a.rs this is handled one call further up the stack, by the loop.", "accepted");
    check("The call of parse_header already refuses that, one line further up.", "accepted");
    check("Rejecting would break every user who pipes nothing into it on purpose.", "accepted");
    check("Nothing here can be empty, as the loop ends before that could be so.", "accepted");
    check(&"é".repeat(2_000), "does not speak");
    check("src/a.rs", "characters");
    check("schema.rs is another file and says nothing whatever about the place.", "does not speak");
}

#[test]
fn one_argument_does_not_serve_two_findings() {
    let mut other = sample::entry("c7", Severity::P2);
    other.finding.line = Some(90);
    let mut case = Case::new(vec![sample::entry("c2", Severity::P2), other]);
    let both = [item("c2", "argue", REASON), item("c7", "argue", REASON)];
    case.check(&both, &[("c2", "accepted argue"), ("c7", "another argument")]);
    for entry in case.summary.comments.values_mut().filter(|entry| entry.finding.id == id("c7")) {
        entry.finding.line = Some(10);
        entry.finding.author = Login::new("coderabbitai");
    }
    case.check(&both, &[("c2", "accepted argue"), ("c7", "accepted argue")]);
    case.check(&both[1..], &[("c2", "accepted argue"), ("c7", "accepted argue")]);
    let mut settled = sample::entry("c1", Severity::P2);
    settled.finding.status = Status::Argued;
    settled.proof = Some(Proof::Reply { comment_id: 1, reason: REASON.into(), key: String::new() });
    let mut case = Case::new(vec![sample::entry("c2", Severity::P2)]);
    let sent: Vec<FindingId> = vec![id("c2")];
    case.summary.comments.insert(id("c1"), settled);
    let place = |_: &Entry| PlaceNow::Unsure("unknown".into());
    let facts =
        RoundFacts { round: 1, commit: None, diff: &[], people_argue: false, code: &|_| String::new(), place: &place };
    let parsed = parse(file(&item("c2", "argue", REASON)).as_bytes());
    assert!(
        matches!(&judge(&case.summary, &sent, &parsed, facts)[0].answer, Answered::Refused(why) if why.contains("another"))
    );
    case.summary.comments.get_mut(&id("c2")).expect("c2").finding.previous = vec![id("c1")];
    assert!(
        matches!(&judge(&case.summary, &sent, &parsed, facts)[0].answer, Answered::Accepted(_)),
        "its own predecessor's"
    );
}

#[test]
fn verdicts_are_recorded() {
    let mut summary = sample::summary(vec![sample::entry("c1", Severity::P2), sample::entry("c2", Severity::P2)]);
    let draft = Answered::Draft(sample::pending(Verb::Argue, REASON));
    apply(
        &mut summary,
        &[Judged { id: id("c1"), answer: draft }, Judged { id: id("c2"), answer: Answered::Refused("no".into()) }],
    );
    let (one, two) = (&summary.comments[&id("c1")], &summary.comments[&id("c2")]);
    assert!(one.drafted());
    assert!(one.finding.needs_person && one.pending.is_some() && !two.finding.needs_person);
    assert_eq!((two.refused.as_deref(), &two.pending), (Some("no"), &None));
}

proptest! {
    #[test]
    fn r6_no_answer_argues_a_p1(verb in "fix|argue|stale|defer|answer|[a-z]{0,6}", reason in "(?s).{0,200}", commit: bool) {
        let mut case = Case::new(vec![sample::entry("c1", Severity::P1)]);
        case.commit = commit.then(|| sample::sha('b'));
        let judged = case.judge(&[item("c1", &verb, &format!("src/a.rs {reason}"))]);
        let words = ["accepted argue", "accepted defer", "accepted answer", "draft"];
        prop_assert!(!words.contains(&judged[0].1.as_str()), "{}", judged[0].1);
    }

    #[test]
    fn fm_34_reading_answers_never_fails(bytes in proptest::collection::vec(any::<u8>(), 0..200), text in "[\\[\\]{}\":,a-z0-9]{0,80}") {
        let _ = parse(&bytes);
        let _ = parse(text.as_bytes());
        let _ = parse(file(&text).as_bytes());
    }
}
