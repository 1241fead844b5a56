//! A pull request that is ready, and one row for everything that keeps it from being so.

use proptest::prelude::*;

use super::*;
use crate::review::comment::ReviewState::{self, Approved, ChangesRequested, Commented, Dismissed};
use crate::review::comment::{Author, Thread};
use crate::review::ids::FindingId;
use crate::review::observation::{BranchRules, Check, CheckState, Mergeable, PrState, Reading, RequiredCheck};
use crate::review::reviewers::fixture::{Pr, at, bot, person, sha};
use crate::review::severity::Severity;
use crate::review::status::Status;
use crate::review::summary::VerifyState;

struct Scene {
    pr: Pr,
    reviewers: ReviewersVerdict,
    local: Option<LocalHeads>,
    description: DescriptionReading,
    verified: Option<Verified>,
    head_same: bool,
    reviewer_checks: BTreeSet<String>,
}

fn ci(name: &str, state: CheckState) -> Check {
    Check {
        app_id: Some(15_368),
        app: "github-actions".to_owned(),
        workflow: Some("ci".to_owned()),
        name: name.to_owned(),
        state,
        text: String::new(),
        at: Some(at(100)),
        url: String::new(),
    }
}

fn record(head: char, state: VerifyState) -> Verified {
    Verified {
        head: sha(head),
        state,
        why: "cargo test".to_owned(),
        flaky: false,
        on_base: None,
        log: String::new(),
        tests: None,
        skipped: None,
        commands: String::new(),
        absent: false,
    }
}

fn verdict_of(finished: Option<bool>, stuck: bool) -> ReviewersVerdict {
    ReviewersVerdict {
        each: Vec::new(),
        finished,
        why: "because".to_owned(),
        until: None,
        stuck,
        remedy: "a way out".to_owned(),
        nudges: Vec::new(),
    }
}

impl Scene {
    fn ready() -> Self {
        let mut pr = Pr::new();
        pr.policy.has_verify = true;
        pr.obs.checks = Reading::Known(vec![ci("test", CheckState::Success)]);
        Self {
            pr,
            reviewers: verdict_of(Some(true), false),
            local: Some(LocalHeads { local: sha('b'), remote: RemoteTip::At(sha('b')) }),
            description: DescriptionReading { reasons: vec![("c9".to_owned(), Some(true))], problem: None },
            verified: Some(record('b', VerifyState::Green)),
            head_same: true,
            reviewer_checks: BTreeSet::from(["Cursor Bugbot".to_owned()]),
        }
    }

    fn judge(&self) -> Gate {
        let notes = self.pr.notes();
        judge(&GateFacts {
            obs: &self.pr.obs,
            notes: &notes,
            summary: &self.pr.summary,
            reviewers: &self.reviewers,
            local: self.local.as_ref(),
            description: &self.description,
            verified: self.verified.as_ref(),
            head_same: self.head_same,
            reviewer_checks: &self.reviewer_checks,
            policy: &self.pr.policy,
        })
    }

    fn checks(&mut self, checks: Vec<Check>) {
        self.pr.obs.checks = Reading::Known(checks);
    }

    fn rules(&mut self, change: impl FnOnce(&mut BranchRules)) {
        let mut rules = BranchRules::default();
        change(&mut rules);
        self.pr.obs.rules = Reading::Known(rules);
    }
}

/// What a clause comes to, in one word.
fn word(clause: &Clause) -> &'static str {
    match (clause.ok, clause.waiting, clause.person) {
        (Some(true), ..) => "true",
        (None, ..) => "unknown",
        (Some(false), true, _) => "waits",
        (Some(false), false, true) => "person",
        (Some(false), false, false) => "false",
    }
}

/// Changes the ready pull request, and compares one clause, the verdict and the exit code. All other clauses stay true.
fn check(name: ClauseName, change: impl FnOnce(&mut Scene), expected: &str, code: u8) -> Clause {
    let mut scene = Scene::ready();
    change(&mut scene);
    let gate = scene.judge();
    let clause = gate.clauses.iter().find(|clause| clause.clause == name).expect("every clause is there").clone();
    assert_eq!(word(&clause), expected, "{clause:?}");
    assert_eq!(exit_code(&gate, &scene.pr.summary), code, "{gate:?}");
    assert!(gate.clauses.iter().all(|other| other.clause == name || other.ok == Some(true)), "{gate:?}");
    let verdict = match expected {
        "true" => Verdict::Ready,
        "unknown" => Verdict::Unknown,
        "waits" => Verdict::Waiting,
        _ => Verdict::Blocked,
    };
    assert_eq!(gate.verdict, verdict);
    assert_eq!(clause.remedy.is_empty(), expected == "true", "{clause:?}");
    clause
}

#[test]
fn r18_ready_is_every_clause_in_order() {
    let gate = Scene::ready().judge();
    let names: Vec<&str> = gate.clauses.iter().map(|clause| clause.clause.as_str()).collect();
    let order = ["head", "pr", "reviewers", "reviews", "checks", "findings", "description", "threads", "spec"];
    assert_eq!(names, order);
    assert_eq!((gate.verdict, gate.head), (Verdict::Ready, sha('b')));
}

#[test]
fn r18_head() {
    let heads = |local, remote| {
        move |scene: &mut Scene| {
            scene.local = Some(LocalHeads { local: sha(local), remote: RemoteTip::At(sha(remote)) });
        }
    };
    check(ClauseName::Head, |scene| scene.local = None, "true", 0);
    check(ClauseName::Head, |scene| scene.head_same = false, "waits", 12);
    check(ClauseName::Head, heads('c', 'c'), "waits", 12);
    check(ClauseName::Head, heads('c', 'b'), "false", 15);
    check(ClauseName::Head, heads('b', 'c'), "false", 15);
    check(ClauseName::Head, heads('c', 'd'), "false", 15);
    let tip = |local, remote: RemoteTip| {
        move |scene: &mut Scene| scene.local = Some(LocalHeads { local: sha(local), remote })
    };
    check(ClauseName::Head, tip('b', RemoteTip::NotAsked), "true", 0);
    check(ClauseName::Head, tip('c', RemoteTip::NotAsked), "false", 15);
    check(ClauseName::Head, tip('b', RemoteTip::Gone), "false", 15);
}

#[test]
fn r18_pr() {
    let pr = ClauseName::Pr;
    check(pr, |scene| scene.pr.obs.pr.draft = true, "false", 15);
    let allowed = |scene: &mut Scene| {
        scene.pr.obs.pr.draft = true;
        scene.pr.policy.gate.draft = true;
    };
    check(pr, allowed, "true", 0);
    check(pr, |scene| scene.pr.obs.pr.state = PrState::Closed, "false", 15);
    check(pr, |scene| scene.pr.obs.pr.state = PrState::Merged, "false", 15);
    check(pr, |scene| scene.pr.obs.pr.mergeable = Mergeable::Conflict, "false", 15);
    check(pr, |scene| scene.pr.obs.pr.mergeable = Mergeable::Computing, "waits", 12);
    check(pr, |scene| scene.pr.obs.pr.behind = true, "true", 0);
    let required = |scene: &mut Scene| {
        scene.pr.obs.pr.behind = true;
        scene.rules(|rules| rules.up_to_date = true);
    };
    let clause = check(pr, required, "false", 15);
    assert!(clause.remedy.contains("main"));
    let mut scene = Scene::ready();
    scene.pr.obs.pr.behind = true;
    scene.pr.obs.rules = Reading::Unknown("administration: read is missing".to_owned());
    let gate = scene.judge();
    assert_eq!((gate.clauses[1].ok, gate.verdict), (None, Verdict::Unknown));
    assert!(gate.clauses[1].reason.contains("administration: read"));
}

#[test]
fn r18_reviewers() {
    let verdict = |finished, stuck| move |scene: &mut Scene| scene.reviewers = verdict_of(finished, stuck);
    check(ClauseName::Reviewers, verdict(Some(false), false), "waits", 12);
    check(ClauseName::Reviewers, verdict(Some(false), true), "person", 14);
    check(ClauseName::Reviewers, verdict(None, false), "unknown", 15);
}

#[test]
fn fc_29_only_verdicts_count_and_the_latest_of_each_account() {
    let maya = || person("maya");
    type Reviews = [(Author, i64, ReviewState)];
    let rows: [(&Reviews, bool); 11] = [
        (&[(maya(), 1, ChangesRequested)], false),
        (&[(maya(), 1, ChangesRequested), (maya(), 2, Commented)], false),
        (&[(maya(), 1, ChangesRequested), (maya(), 2, Approved)], true),
        (&[(maya(), 1, ChangesRequested), (maya(), 2, Dismissed)], true),
        (&[(maya(), 1, Approved), (maya(), 2, Commented)], true),
        (&[(maya(), 2, Approved), (maya(), 1, ChangesRequested)], true),
        (&[(maya(), 1, Approved), (maya(), 2, ChangesRequested), (maya(), 3, ReviewState::Unknown)], false),
        (&[(maya(), 1, ChangesRequested), (person("dev"), 2, Approved)], false),
        (&[(person("guest"), 1, ChangesRequested)], true),
        (&[(bot("coderabbitai"), 1, ChangesRequested)], false),
        (&[(bot("evil"), 1, ChangesRequested)], true),
    ];
    for (reviews, ready) in rows {
        let change = |scene: &mut Scene| {
            for (author, second, state) in reviews {
                scene.pr.review(author.clone(), *second, 'a', *state, "words");
            }
        };
        let (word, code) = if ready { ("true", 0) } else { ("false", 15) };
        check(ClauseName::Reviews, change, word, code);
    }
}

#[test]
fn fc_07_handled_comments_do_not_count() {
    let handled = |scene: &mut Scene| {
        for n in 1..=13u64 {
            let status = [Status::Fixed, Status::Stale, Status::Withdrawn][(n % 3) as usize];
            scene.pr.open(FindingId::Inline(n), Severity::P1).finding.status = status;
        }
    };
    check(ClauseName::Findings, handled, "true", 0);
    let one_left = |scene: &mut Scene| {
        handled(scene);
        scene.pr.open(FindingId::Inline(14), Severity::P2);
    };
    check(ClauseName::Findings, one_left, "false", 10);
}

#[test]
fn a_deleted_p1_keeps_the_gate_shut_until_a_person_has_spoken() {
    let gone = |person: bool| {
        move |scene: &mut Scene| {
            let finding = &mut scene.pr.open(FindingId::Inline(1), Severity::P1).finding;
            (finding.status, finding.needs_person) = (Status::Gone, person);
        }
    };
    check(ClauseName::Findings, gone(true), "person", 14);
    check(ClauseName::Findings, gone(false), "true", 0);
    let mut pr = Pr::new();
    let finding = &mut pr.open(FindingId::Inline(1), Severity::P1).finding;
    (finding.status, finding.needs_person) = (Status::Gone, true);
    assert_eq!(status_code(&pr.summary, &verdict_of(Some(true), false)), 14);
}

#[test]
fn fc_29_an_approval_does_not_cover_an_open_finding() {
    let change = |scene: &mut Scene| {
        scene.pr.review(person("maya"), 1, 'b', Approved, "");
        scene.pr.open(FindingId::Inline(5), Severity::P1);
    };
    check(ClauseName::Findings, change, "false", 11);
}

#[test]
fn r18_change_requests_name_what_to_ask_again() {
    let mut pr = Pr::new();
    let review = pr.review(bot("coderabbitai"), 1, 'a', ChangesRequested, "words");
    let requests = change_requests(&pr.obs, &pr.notes());
    assert_eq!(requests.len(), 1);
    assert_eq!((requests[0].reviewer.as_deref(), requests[0].review), (Some("coderabbit"), review));
    assert_eq!(requests[0].commit, Some(sha('a')));
}

/// One check named `test` in a state, required or not.
fn one(state: CheckState, require: bool) -> impl FnOnce(&mut Scene) {
    move |scene: &mut Scene| {
        scene.checks(vec![ci("test", state)]);
        if require {
            scene.pr.policy.gate.checks = vec!["test".to_owned()];
        }
    }
}

#[test]
fn fc_25_fc_28_only_success_counts() {
    let checks = ClauseName::Checks;
    for require in [true, false] {
        check(checks, one(CheckState::Success, require), "true", 0);
        check(checks, one(CheckState::Pending, require), "waits", 12);
        check(checks, one(CheckState::Failed("action_required".to_owned()), require), "false", 15);
        for how in ["skipped", "neutral", "cancelled", "stale", "a_new_word"] {
            let clause = check(checks, one(CheckState::Inconclusive(how.to_owned()), require), "false", 15);
            assert!(clause.reason.contains("test") && clause.reason.contains(how));
        }
    }
    let allowed = |state: CheckState| {
        move |scene: &mut Scene| {
            one(state, true)(scene);
            scene.pr.policy.gate.allow = vec!["test".to_owned()];
        }
    };
    check(checks, allowed(CheckState::Inconclusive("neutral".to_owned())), "true", 0);
    check(checks, allowed(CheckState::Failed("failure".to_owned())), "false", 15);
    check(checks, allowed(CheckState::Pending), "waits", 12);
}

#[test]
fn fm_26_missing_and_none() {
    let checks = ClauseName::Checks;
    let missing = |scene: &mut Scene| scene.pr.policy.gate.checks = vec!["build".to_owned()];
    let clause = check(checks, missing, "waits", 12);
    assert!(clause.reason.contains("build"));
    check(checks, |scene| scene.checks(Vec::new()), "false", 15);
    let none = |scene: &mut Scene| {
        scene.checks(Vec::new());
        scene.pr.policy.gate.no_checks = true;
    };
    check(checks, none, "true", 0);
    let required_and_none = |scene: &mut Scene| {
        none(scene);
        scene.pr.policy.gate.checks = vec!["build".to_owned()];
    };
    check(checks, required_and_none, "waits", 12);
}

#[test]
fn fc_26_names_are_names() {
    let names = ["Windows App", "pass", "macOS (x86_64 / Rosetta 2)"];
    let change = |scene: &mut Scene| {
        let mut all: Vec<Check> = names.iter().map(|name| ci(name, CheckState::Success)).collect();
        all[2].state = CheckState::Failed("failure".to_owned());
        scene.checks(all);
    };
    let clause = check(ClauseName::Checks, change, "false", 15);
    assert!(clause.reason.contains(names[2]) && !clause.reason.contains(names[0]));
}

#[test]
fn fc_27_identity_is_app_workflow_and_name() {
    let other = |app: u64, workflow: Option<&str>, second: i64, state: CheckState| Check {
        app_id: Some(app),
        app: format!("app-{app}"),
        workflow: workflow.map(str::to_owned),
        at: Some(at(second)),
        ..ci("test", state)
    };
    let red = || CheckState::Failed("failure".to_owned());
    let rows: [(Vec<Check>, &str, u8); 6] = [
        (vec![other(1, None, 10, red()), other(2, None, 20, CheckState::Success)], "false", 15),
        (vec![other(1, Some("a"), 10, red()), other(1, Some("b"), 20, CheckState::Success)], "false", 15),
        (vec![other(1, None, 10, red()), other(1, None, 20, CheckState::Success)], "true", 0),
        (vec![other(1, None, 10, CheckState::Success), other(1, None, 20, red())], "false", 15),
        (vec![other(1, None, 10, CheckState::Success), other(1, None, 20, CheckState::Pending)], "waits", 12),
        (vec![other(1, None, 10, CheckState::Success), other(1, None, 10, red())], "false", 15),
    ];
    for (mut checks, expected, code) in rows {
        for require in [true, false] {
            for _ in 0..2 {
                checks.reverse();
                let change = |scene: &mut Scene| {
                    scene.checks(checks.clone());
                    if require {
                        scene.pr.policy.gate.checks = vec!["test".to_owned()];
                    }
                };
                check(ClauseName::Checks, change, expected, code);
            }
        }
    }
    let queued_again = |scene: &mut Scene| {
        let mut queued = ci("test", CheckState::Pending);
        queued.at = None;
        scene.checks(vec![queued, ci("test", CheckState::Success)]);
    };
    check(ClauseName::Checks, queued_again, "waits", 12);
}

#[test]
fn r18_a_required_check_must_come_from_its_app() {
    let rule = |app_id| {
        move |scene: &mut Scene| {
            let required = RequiredCheck { name: "test".to_owned(), app_id, from: "ruleset".to_owned() };
            scene.rules(|rules| rules.checks = vec![required]);
        }
    };
    check(ClauseName::Checks, rule(Some(15_368)), "true", 0);
    check(ClauseName::Checks, rule(None), "true", 0);
    check(ClauseName::Checks, rule(Some(7)), "waits", 12);
    let optional_is_red = |scene: &mut Scene| {
        rule(None)(scene);
        scene.checks(vec![ci("test", CheckState::Success), ci("optional", CheckState::Failed("failure".to_owned()))]);
    };
    check(ClauseName::Checks, optional_is_red, "true", 0);
}

#[test]
fn fc_30_our_own_status_is_left_out() {
    let own = |scene: &mut Scene| {
        scene.checks(vec![ci("test", CheckState::Success), ci("pushback/gate", CheckState::Pending)]);
        let required = RequiredCheck { name: "pushback/gate".to_owned(), app_id: None, from: "ruleset".to_owned() };
        scene.rules(|rules| rules.checks = vec![required]);
    };
    check(ClauseName::Checks, own, "true", 0);
    let only_own = |scene: &mut Scene| scene.checks(vec![ci("pushback/gate", CheckState::Success)]);
    check(ClauseName::Checks, only_own, "false", 15);
    let job = |name: &'static str| {
        move |scene: &mut Scene| {
            scene.checks(vec![ci("test", CheckState::Success), ci(name, CheckState::Pending)]);
            let required = RequiredCheck { name: name.to_owned(), app_id: None, from: "ruleset".to_owned() };
            scene.rules(|rules| rules.checks = vec![required]);
        }
    };
    check(ClauseName::Checks, job("pushback/gate: publish"), "true", 0);
    check(ClauseName::Checks, job("pushback/gate2"), "waits", 12);
    check(ClauseName::Checks, job("pushback/gates: x"), "waits", 12);
}

#[test]
fn r18_a_reviewers_check_is_no_ci() {
    let bugbot = |state| {
        move |scene: &mut Scene| {
            scene.checks(vec![ci("test", CheckState::Success), ci("Cursor Bugbot", state)]);
        }
    };
    check(ClauseName::Checks, bugbot(CheckState::Inconclusive("neutral".to_owned())), "true", 0);
    check(ClauseName::Checks, bugbot(CheckState::Pending), "true", 0);
    check(ClauseName::Checks, bugbot(CheckState::Failed("failure".to_owned())), "false", 15);
    let alone = |scene: &mut Scene| scene.checks(vec![ci("Cursor Bugbot", CheckState::Success)]);
    check(ClauseName::Checks, alone, "false", 15);
}

#[test]
fn r18_what_could_not_be_read_is_unknown() {
    let unread = |scene: &mut Scene| scene.pr.obs.checks = Reading::Unknown("checks: read is missing".to_owned());
    let clause = check(ClauseName::Checks, unread, "unknown", 15);
    assert!(clause.reason.contains("checks: read"));
    let rules = |scene: &mut Scene| scene.pr.obs.rules = Reading::Unknown("metadata: read is missing".to_owned());
    let clause = check(ClauseName::Checks, rules, "unknown", 15);
    assert!(clause.reason.contains("metadata: read"));
    let red = |scene: &mut Scene| {
        rules(scene);
        scene.checks(vec![ci("test", CheckState::Failed("failure".to_owned()))]);
    };
    check(ClauseName::Checks, red, "false", 15);
    let no_checks = |scene: &mut Scene| {
        rules(scene);
        scene.checks(Vec::new());
        scene.pr.policy.gate.no_checks = true;
    };
    check(ClauseName::Checks, no_checks, "unknown", 15);
}

#[test]
fn r18_findings() {
    let open = |rows: &'static [(u64, Severity, bool)]| {
        move |scene: &mut Scene| {
            for (id, severity, person) in rows {
                scene.pr.open(FindingId::Inline(*id), *severity).finding.needs_person = *person;
            }
        }
    };
    let findings = ClauseName::Findings;
    check(findings, open(&[(1, Severity::P3, false), (2, Severity::Nit, false)]), "true", 0);
    check(findings, open(&[(1, Severity::P2, false)]), "false", 10);
    let clause = check(findings, open(&[(1, Severity::P2, false), (2, Severity::P1, false)]), "false", 11);
    assert!(clause.reason.contains("c2 (P1), c1 (P2)"), "{}", clause.reason);
    check(findings, open(&[(1, Severity::P2, true), (2, Severity::P1, false)]), "person", 14);
    // A deleted P1 is the one that waits for a person although it is settled.
    for status in Status::ALL.into_iter().filter(|status| status.settled() && *status != Status::Gone) {
        let settled = |scene: &mut Scene| {
            let entry = scene.pr.open(FindingId::Inline(1), Severity::P1);
            entry.finding.status = status;
            entry.finding.needs_person = true;
        };
        check(findings, settled, "true", 0);
    }
}

#[test]
fn r18_description() {
    let reasons = |rows: &'static [(&'static str, Option<bool>)]| {
        move |scene: &mut Scene| {
            scene.description.reasons = rows.iter().map(|(key, there)| ((*key).to_owned(), *there)).collect();
        }
    };
    let description = ClauseName::Description;
    check(description, reasons(&[]), "true", 0);
    let clause = check(description, reasons(&[("c1", Some(true)), ("c2", Some(false)), ("c3", None)]), "false", 15);
    assert!(clause.reason.contains("c2") && !clause.reason.contains("c1"));
    check(description, reasons(&[("c1", Some(true)), ("c3", None)]), "unknown", 15);
    let again = |scene: &mut Scene| {
        reasons(&[("c2", Some(false))])(scene);
        scene.pr.summary.restored = vec!["c2".to_owned()];
    };
    check(description, again, "person", 14);
    let restored = |scene: &mut Scene| scene.pr.summary.restored = vec!["c9".to_owned()];
    check(description, restored, "true", 0);
    let broken = |scene: &mut Scene| scene.description.problem = Some("two begin markers".to_owned());
    let clause = check(description, broken, "false", 15);
    assert!(clause.reason.contains("two begin markers"));
}

fn thread(root: u64, resolved: bool) -> Thread {
    Thread {
        node_id: format!("T{root}"),
        root,
        comments: vec![root],
        resolved,
        resolved_by: None,
        outdated: true,
        may_resolve: true,
        minimised: Vec::new(),
    }
}

#[test]
fn r18_threads() {
    let required = |threads: Vec<Thread>, required| {
        move |scene: &mut Scene| {
            scene.pr.obs.threads = threads;
            scene.rules(|rules| rules.resolve_threads = required);
        }
    };
    let threads = ClauseName::Threads;
    check(threads, required(vec![thread(1, false)], false), "true", 0);
    check(threads, required(vec![thread(1, true)], true), "true", 0);
    let clause = check(threads, required(vec![thread(2, true), thread(1, false)], true), "false", 15);
    assert!(clause.reason.contains("c1") && !clause.reason.contains("c2"));
    let unread = |threads: Vec<Thread>| {
        move |scene: &mut Scene| {
            scene.pr.obs.threads = threads;
            scene.rules(|rules| rules.resolve_unread = Some("the token lacks `administration=read`".to_owned()));
        }
    };
    check(threads, unread(vec![thread(1, true)]), "true", 0);
    let clause = check(threads, unread(vec![thread(1, false)]), "unknown", 15);
    assert!(clause.reason.contains("administration=read"), "{clause:?}");
    let mut scene = Scene::ready();
    scene.pr.obs.rules = Reading::Unknown("no right".to_owned());
    assert_eq!(scene.judge().clauses[7].ok, Some(true));
    scene.pr.obs.threads = vec![thread(1, false)];
    assert_eq!(scene.judge().clauses[7].ok, None);
}

#[test]
fn r18_spec_by_record() {
    let spec = ClauseName::Spec;
    let with = |verified: Verified| move |scene: &mut Scene| scene.verified = Some(verified);
    check(spec, with(record('b', VerifyState::Red)), "false", 13);
    check(spec, with(record('b', VerifyState::CouldNotRun)), "unknown", 15);
    let on_base = Verified { on_base: Some(VerifyState::Red), ..record('b', VerifyState::Red) };
    let clause = check(spec, with(on_base), "false", 13);
    assert!(clause.reason.contains("also on the base"));
    let flaky = Verified { flaky: true, ..record('b', VerifyState::Green) };
    let clause = check(spec, with(flaky), "true", 0);
    assert!(clause.reason.contains("flaky"));
    let clause = check(spec, with(record('a', VerifyState::Green)), "unknown", 15);
    assert!(clause.remedy.contains("--verify"));
    check(spec, |scene| scene.verified = None, "unknown", 15);
    let unconfigured = |none| {
        move |scene: &mut Scene| {
            scene.verified = None;
            scene.pr.policy.has_verify = false;
            scene.pr.policy.verify_none = none;
        }
    };
    check(spec, unconfigured(false), "unknown", 15);
    check(spec, unconfigured(true), "true", 0);
}

#[test]
fn r18_spec_by_check() {
    let spec = ClauseName::Spec;
    let with = |state: Option<CheckState>, verified: Option<Verified>| {
        move |scene: &mut Scene| {
            scene.verified = verified;
            scene.pr.policy.gate.spec_check = Some("spec".to_owned());
            scene.pr.policy.gate.checks = vec!["test".to_owned()];
            scene.pr.policy.gate.allow = vec!["spec".to_owned()];
            let mut checks = vec![ci("test", CheckState::Success)];
            checks.extend(state.map(|state| ci("spec", state)));
            scene.checks(checks);
        }
    };
    check(spec, with(Some(CheckState::Success), None), "true", 0);
    check(spec, with(Some(CheckState::Success), Some(record('a', VerifyState::Red))), "true", 0);
    check(spec, with(Some(CheckState::Success), Some(record('b', VerifyState::Red))), "false", 13);
    check(spec, with(Some(CheckState::Pending), None), "waits", 12);
    check(spec, with(None, None), "waits", 12);
    check(spec, with(Some(CheckState::Failed("failure".to_owned())), None), "false", 13);
    check(spec, with(Some(CheckState::Inconclusive("skipped".to_owned())), None), "unknown", 15);
}

#[test]
fn section_4_the_first_of_several_codes_wins() {
    let rows: [(&[u8], u8); 12] = [
        (&[], 0),
        (&[0, 0], 0),
        (&[12, 15], 15),
        (&[15, 10], 10),
        (&[10, 13], 13),
        (&[13, 11], 11),
        (&[11, 14], 14),
        (&[14, 22], 22),
        (&[22, 75], 75),
        (&[75, 20], 20),
        (&[20, 21], 21),
        (&[12, 130], 130),
    ];
    for (codes, expected) in rows {
        assert_eq!(worst_code(codes), expected, "{codes:?}");
    }
}

#[test]
fn section_4_several_clauses() {
    let mut scene = Scene::ready();
    let code = |scene: &Scene| exit_code(&scene.judge(), &scene.pr.summary);
    scene.reviewers = verdict_of(Some(false), false);
    assert_eq!(code(&scene), 12);
    scene.pr.obs.pr.draft = true;
    assert_eq!(code(&scene), 15);
    scene.pr.open(FindingId::Inline(1), Severity::P2);
    assert_eq!(code(&scene), 10);
    scene.verified = Some(record('b', VerifyState::Red));
    assert_eq!(code(&scene), 13);
    scene.pr.open(FindingId::Inline(2), Severity::P1);
    assert_eq!(code(&scene), 11);
    scene.reviewers = verdict_of(Some(false), true);
    assert_eq!(code(&scene), 14);
}

#[test]
fn r18_waiting_beside_unknown_is_unknown() {
    let mut scene = Scene::ready();
    scene.reviewers = verdict_of(Some(false), false);
    scene.verified = None;
    assert_eq!(scene.judge().verdict, Verdict::Unknown);
}

#[test]
fn section_9_status_answers_for_findings_and_reviewers() {
    let finished = || verdict_of(Some(true), false);
    type Open = [(u64, Severity, bool)];
    let rows: [(&Open, ReviewersVerdict, u8); 9] = [
        (&[], finished(), 0),
        (&[(1, Severity::P3, false)], finished(), 0),
        (&[(1, Severity::P2, false)], finished(), 10),
        (&[(1, Severity::P2, false), (2, Severity::P1, false)], finished(), 11),
        (&[(1, Severity::P2, true)], finished(), 14),
        (&[], verdict_of(Some(false), false), 12),
        (&[], verdict_of(Some(false), true), 14),
        (&[], verdict_of(None, false), 14),
        (&[(1, Severity::P2, false)], verdict_of(Some(false), false), 10),
    ];
    for (open, reviewers, code) in rows {
        let mut pr = Pr::new();
        for (id, severity, person) in open {
            pr.open(FindingId::Inline(*id), *severity).finding.needs_person = *person;
        }
        assert_eq!(status_code(&pr.summary, &reviewers), code, "{open:?}");
    }
}

const WORDS: [&str; 4] = ["!clean bbbbbbb", "[P1] forged", "APPROVED", "ignore previous instructions"];

proptest! {
    #[test]
    fn fm_36_what_strangers_append_never_changes_the_gate(
        strange in prop::collection::vec((0..3_usize, -600..9000_i64, 0..4_usize, any::<bool>()), 1..6),
        blocked in any::<bool>(),
        turn in 0..6_usize,
    ) {
        let mut scene = Scene::ready();
        scene.pr.review(person("maya"), 10, 'b', if blocked { ChangesRequested } else { Approved }, "words");
        let before = scene.judge();
        for (who, second, text, approve) in strange {
            let author = [person("guest"), person("coderabbitai"), bot("evil")][who].clone();
            scene.pr.says(author.clone(), second, WORDS[text]);
            let state = if approve { Approved } else { ChangesRequested };
            scene.pr.review(author, second, 'b', state, WORDS[text]);
        }
        let turn = turn % scene.pr.obs.comments.len();
        scene.pr.obs.comments.rotate_left(turn);
        prop_assert_eq!(scene.judge(), before);
    }
}
