use super::*;
use crate::review::decision::Verb;
use crate::review::sample;
use crate::review::severity::Severity;
use crate::review::status::Status;
use crate::review::summary::{RoundOutcome, Touched, Verified};
use crate::review::verdict::{Clause, Verdict};

/// Everything a step depends on, owned; each test changes what it is about.
struct Case {
    summary: Summary,
    pr: PrState,
    head: Sha,
    local: Sha,
    account: bool,
    reviewers: ReviewersVerdict,
    gate: Option<Gate>,
    block: BlockState,
    policy: Policy,
    run: RunFacts,
}

fn verified(head: char, state: VerifyState) -> Verified {
    Verified {
        head: sample::sha(head),
        state,
        why: "`make test` failed".into(),
        flaky: false,
        on_base: None,
        log: String::new(),
        tests: Some(10),
        skipped: Some(1),
        commands: String::new(),
        absent: false,
    }
}

fn round(n: u32, outcome: RoundOutcome) -> RoundRecord {
    RoundRecord { outcome, judged: true, ..RoundRecord::begun(n, sample::sha('a'), Vec::new()) }
}

fn committed(n: u32, after: char) -> RoundRecord {
    RoundRecord { head_after: Some(sample::sha(after)), ..round(n, RoundOutcome::Committed) }
}

impl Case {
    /// Green, nothing open, reviewers finished: settled.
    fn new() -> Self {
        let mut summary = sample::summary(Vec::new());
        summary.round = 0;
        summary.verified = vec![verified('a', VerifyState::Green)];
        Self {
            summary,
            pr: PrState::Open,
            head: sample::sha('a'),
            local: sample::sha('a'),
            account: true,
            reviewers: ReviewersVerdict {
                each: Vec::new(),
                finished: Some(true),
                why: "codex is not done".into(),
                until: None,
                stuck: false,
                remedy: "ask it".into(),
                nudges: Vec::new(),
            },
            gate: None,
            block: BlockState::Fine,
            policy: Policy { has_verify: true, ..Policy::default() },
            run: RunFacts { elapsed: Duration::ZERO, more: 0, until_ready: false, has_editor: true },
        }
    }

    fn open(severity: Severity) -> Self {
        let mut case = Self::new();
        case.add(sample::entry("c1", severity));
        case
    }

    fn add(&mut self, entry: Entry) {
        self.summary.comments.insert(entry.finding.id, entry);
    }

    fn step(&self) -> Step {
        next_step(&Situation {
            summary: &self.summary,
            pr_state: self.pr,
            head: &self.head,
            local: &self.local,
            account_known: self.account,
            reviewers: &self.reviewers,
            gate: self.gate.as_ref(),
            block: &self.block,
            policy: &self.policy,
            run: &self.run,
            now: sample::at(),
        })
    }
}

fn case(change: impl FnOnce(&mut Case)) -> Case {
    let mut case = Case::new();
    change(&mut case);
    case
}

fn open(severity: Severity, change: impl FnOnce(&mut Case)) -> Case {
    let mut case = Case::open(severity);
    change(&mut case);
    case
}

/// Checks how a step stops, and with which exit code.
fn stops(case: &Case, expected: StopReason, exit: u8) {
    match case.step() {
        Step::Stop { reason, person, why, .. } => {
            assert_eq!((reason, reason.exit_code(person)), (expected, exit), "{why}");
        }
        Step::Wait { reason, what, .. } => assert_eq!((reason, reason.exit_code(false)), (expected, exit), "{what}"),
        other @ (Step::Verify
        | Step::Push(_)
        | Step::Replay
        | Step::Reject(_)
        | Step::Post(_)
        | Step::Edit { .. }
        | Step::Plan
        | Step::GiveToPerson(_)
        | Step::Ask(_)) => panic!("{other:?} instead of {}", expected.as_str()),
    }
}

fn edits(case: &Case) {
    assert!(matches!(case.step(), Step::Edit { .. }), "{:?}", case.step());
}

#[test]
fn r15_a_plan_is_written_even_if_nothing_else_is_to_be_edited() {
    let later = |c: &mut Case| {
        let entry = c.summary.comments.values_mut().next().expect("a finding");
        entry.pending = Some(sample::pending(Verb::Defer, "belongs to the next change"));
    };
    let alone = open(Severity::P2, later);
    assert_eq!(alone.step(), Step::Plan);
    let alone = open(Severity::P3, later);
    assert_eq!(alone.step(), Step::Plan);
    let mut person = open(Severity::P2, later);
    person.summary.comments.values_mut().for_each(|entry| entry.finding.needs_person = true);
    stops(&person, StopReason::NeedsPerson, 14);
    // With other work it goes into that round's commit; where the editor cannot be started, it does not wait for it.
    let mut both = open(Severity::P2, later);
    let other = sample::entry("c77", Severity::P2);
    both.summary.comments.insert(other.finding.id, other);
    edits(&both);
    both.run.has_editor = false;
    assert_eq!(both.step(), Step::Plan);
    both.run.has_editor = true;
    both.summary.rounds = (1..=5).map(|n| round(n, RoundOutcome::Pushed)).collect();
    assert_eq!(both.step(), Step::Plan);
    // Written and not linked: the history is missing here.
    let written = open(Severity::P2, |c| {
        later(c);
        let pending = c.summary.comments.values_mut().find_map(|entry| entry.pending.as_mut()).expect("under way");
        (pending.file, pending.commit) = (Some("wiki/plans/a.md".into()), Some(sample::sha('c')));
    });
    stops(&written, StopReason::NeedsPerson, 14);
}

#[test]
fn r21_what_asks_twice_for_the_undoing_of_a_fix_is_contested() {
    let fixed: FindingId = "c9".parse().expect("id");
    let rounds = |n: u32| -> Vec<RoundRecord> {
        let one = |n| RoundRecord {
            sent: vec![FindingId::Inline(1)],
            reversed: vec![fixed],
            ..round(n, RoundOutcome::Rejected)
        };
        (1..=n).map(one).collect()
    };
    let waits = |n: u32| {
        open(Severity::P2, |c| {
            c.summary.rounds = rounds(n);
            c.summary.comments.values_mut().for_each(|entry| entry.finding.needs_person = true);
        })
    };
    assert!(contested_before(&waits(1).summary, fixed));
    stops(&waits(1), StopReason::NeedsPerson, 14);
    stops(&waits(2), StopReason::Contested, 14);
    let mut again = waits(2);
    again.summary.reset_at_round = 2;
    stops(&again, StopReason::NeedsPerson, 14);
    assert!(!contested_before(&again.summary, fixed), "a person's word starts anew");
}

#[test]
fn r20_a_round_without_the_editor_counts_against_no_limit() {
    let mut case = Case::open(Severity::P2);
    case.summary.rounds = (1..=9).map(|n| RoundRecord { unattended: true, ..round(n, RoundOutcome::Pushed) }).collect();
    edits(&case);
}

#[test]
fn r9_settled_only_when_green_nothing_open_and_reviewers_finished() {
    stops(&Case::new(), StopReason::Settled, 0);
    edits(&Case::open(Severity::P1));
    edits(&Case::open(Severity::P2));
    stops(&Case::open(Severity::P3), StopReason::Settled, 0);
    stops(&case(|c| c.reviewers.finished = Some(false)), StopReason::WaitingReviewer, 12);
    stops(&case(|c| c.reviewers.finished = None), StopReason::WaitingReviewer, 12);
    assert_eq!(case(|c| c.summary.verified.clear()).step(), Step::Verify);
    stops(&case(|c| (c.summary.verified, c.policy.has_verify) = (Vec::new(), false)), StopReason::Settled, 0);
}

#[test]
fn r20_a_pull_request_that_ended_ends_the_run() {
    stops(&open(Severity::P1, |c| c.pr = PrState::Merged), StopReason::Merged, 0);
    stops(&open(Severity::P1, |c| c.pr = PrState::Closed), StopReason::Closed, 0);
}

#[test]
fn r23_nothing_is_posted_under_an_unknown_account() {
    stops(&open(Severity::P1, |c| c.account = false), StopReason::Permission, 21);
}

#[test]
fn r20_every_budget_stops_the_editor() {
    let budget = |change: fn(&mut Case)| stops(&open(Severity::P1, change), StopReason::Budget, 14);
    budget(|c| c.summary.used.rounds = 5);
    budget(|c| c.summary.rounds = (1..=5).map(|n| round(n, RoundOutcome::Failed)).collect());
    budget(|c| c.run.elapsed = c.policy.limits.run);
    budget(|c| c.summary.used.agent_seconds = 7200);
    budget(|c| c.summary.used.cost_usd = 20.0);
    budget(|c| (c.policy.limits.tokens, c.summary.used.tokens) = (10, 10));
    budget(|c| (c.run.more, c.summary.used.rounds) = (2, 2));
    let below = |change: fn(&mut Case)| edits(&open(Severity::P1, change));
    below(|c| c.summary.used.rounds = 4);
    below(|c| (c.policy.limits.cost_usd, c.summary.used.cost_usd) = (0.0, 99.0));
    below(|c| c.summary.used.tokens = 1_000_000);
    below(|c| (c.run.more, c.summary.used.rounds) = (2, 1));
    // Rounds before the last reset, and those of a broken environment, do not count.
    below(|c| c.summary.rounds = (1..=9).map(|n| round(n, RoundOutcome::Environment)).collect());
    below(|c| {
        c.summary.rounds = (1..=9).map(|n| round(n, RoundOutcome::Failed)).collect();
        c.summary.reset_at_round = 9;
    });
    // The budget is the editor's: without work for it nothing stops.
    stops(&case(|c| c.summary.used.rounds = 99), StopReason::Settled, 0);
}

#[test]
fn a_p1_whose_comment_was_deleted_waits_for_a_person() {
    let gone = |person: bool| {
        open(Severity::P1, |c| {
            c.summary.comments.values_mut().for_each(|entry| {
                (entry.finding.status, entry.finding.needs_person) = (Status::Gone, person);
            });
        })
    };
    stops(&gone(true), StopReason::NeedsPerson, 14);
    stops(&gone(false), StopReason::Settled, 0);
}

#[test]
fn r20_attempts_that_are_used_up_hand_the_finding_to_a_person() {
    let spent = open(Severity::P1, |c| {
        c.summary.comments.values_mut().for_each(|entry| entry.finding.attempts = 3);
    });
    assert_eq!(spent.step(), Step::GiveToPerson(vec![FindingId::Inline(1)]));
    let given = open(Severity::P1, |c| {
        c.summary.comments.values_mut().for_each(|entry| entry.finding.needs_person = true);
    });
    stops(&given, StopReason::NeedsPerson, 14);
}

#[test]
fn r21_two_idle_rounds_with_one_tree_are_no_progress() {
    let idle = |n: u32, tree: &str| RoundRecord { tree: tree.into(), ..round(n, RoundOutcome::NoChange) };
    let with = |rounds: Vec<RoundRecord>| open(Severity::P1, |c| c.summary.rounds = rounds);
    stops(&with(vec![idle(1, "t"), idle(2, "t")]), StopReason::NoProgress, 14);
    edits(&with(vec![idle(1, "t")]));
    edits(&with(vec![idle(1, "t"), idle(2, "other")]));
    edits(&with(vec![idle(1, "t"), RoundRecord { settled: vec![FindingId::Inline(9)], ..idle(2, "t") }]));
    edits(&with(vec![idle(1, ""), idle(2, "")]));
    // A cut-off round between the two changes nothing.
    stops(&with(vec![idle(1, "t"), round(2, RoundOutcome::CutOff), idle(3, "t")]), StopReason::NoProgress, 14);
}

#[test]
fn r21_a_region_changed_in_three_rounds_stops() {
    let at = |n: u32, path: &str, from: u32| RoundRecord {
        touched: vec![Touched { path: path.into(), from, to: from + 1 }],
        tree: n.to_string(),
        ..round(n, RoundOutcome::Pushed)
    };
    let with = |rounds: Vec<RoundRecord>| open(Severity::P1, |c| c.summary.rounds = rounds);
    stops(
        &with(vec![at(1, "src/a.rs", 9), at(2, "src/a.rs", 11), at(3, "src/a.rs", 10)]),
        StopReason::RepeatingRegion,
        14,
    );
    edits(&with(vec![at(1, "src/a.rs", 9), at(2, "src/a.rs", 11)]));
    edits(&with(vec![at(1, "src/a.rs", 9), at(2, "src/a.rs", 90), at(3, "src/a.rs", 10)]));
    edits(&with(vec![at(1, "src/b.rs", 9), at(2, "src/b.rs", 9), at(3, "src/b.rs", 9)]));
}

#[test]
fn r9_red_tests_start_the_editor_but_for_what_is_not_ours() {
    let red = |change: fn(&mut Verified)| {
        let mut record = verified('a', VerifyState::Red);
        change(&mut record);
        case(|c| c.summary.verified = vec![record])
    };
    assert_eq!(red(|_| {}).step(), Step::Edit { findings: Vec::new(), tests: true });
    stops(&red(|r| r.on_base = Some(VerifyState::Red)), StopReason::TestsRed, 13);
    edits(&red(|r| r.on_base = Some(VerifyState::Green)));
    stops(&red(|r| r.state = VerifyState::CouldNotRun), StopReason::TestsRed, 13);
    // What is not installed keeps the editor from work that could not be proved; anything else may be its work to mend.
    let with_work = |mut case: Case| {
        case.add(sample::entry("c1", Severity::P1));
        case
    };
    edits(&with_work(red(|r| r.state = VerifyState::CouldNotRun)));
    let absent = |r: &mut Verified| (r.state, r.absent) = (VerifyState::CouldNotRun, true);
    stops(&with_work(red(absent)), StopReason::TestsRed, 13);
    let mut spent = red(|_| {});
    spent.summary.used.rounds = 5;
    stops(&spent, StopReason::Budget, 14);
    let mut alone = red(|_| {});
    alone.run.has_editor = false;
    stops(&alone, StopReason::EditorUnavailable, 22);
}

#[test]
fn r28_our_commit_is_verified_then_pushed_and_a_red_one_stays() {
    let ours = |state: Option<VerifyState>, change: fn(&mut Case)| {
        let mut case = case(|c| {
            c.local = sample::sha('b');
            c.summary.rounds = vec![committed(1, 'b')];
            c.summary.verified.extend(state.map(|state| verified('b', state)));
        });
        change(&mut case);
        case
    };
    assert_eq!(ours(None, |_| {}).step(), Step::Verify);
    assert_eq!(ours(Some(VerifyState::Green), |_| {}).step(), Step::Push(sample::sha('b')));
    edits(&ours(Some(VerifyState::Red), |_| {}));
    stops(&ours(Some(VerifyState::CouldNotRun), |_| {}), StopReason::TestsRed, 13);
    assert_eq!(ours(Some(VerifyState::Red), |c| c.policy.push_red = true).step(), Step::Push(sample::sha('b')));
    let on_base = ours(Some(VerifyState::Red), |c| {
        c.summary.verified.last_mut().expect("a record").on_base = Some(VerifyState::Red);
    });
    assert_eq!(on_base.step(), Step::Push(sample::sha('b')));
    assert_eq!(ours(Some(VerifyState::Green), |c| c.head = sample::sha('c')).step(), Step::Replay);
    stops(&ours(None, |c| c.summary.rounds[0].outcome = RoundOutcome::Kept), StopReason::HeadMoved, 14);
    stops(&case(|c| c.local = sample::sha('c')), StopReason::HeadMoved, 14);
}

#[test]
fn fc_38_fewer_tests_or_more_skips_put_the_round_aside() {
    let after = |tests: Option<u64>, skipped: Option<u64>, about: &str| {
        let case = case(|c| {
            let mut entry = sample::entry("c1", Severity::P1);
            entry.finding.path = Some(about.into());
            entry.pending = Some(sample::pending(Verb::Fix, about));
            c.add(entry);
            c.local = sample::sha('b');
            let touched = vec![Touched { path: about.into(), from: 1, to: 9 }];
            c.summary.rounds = vec![RoundRecord { sent: vec![FindingId::Inline(1)], touched, ..committed(1, 'b') }];
            c.summary.verified.push(Verified { tests, skipped, ..verified('b', VerifyState::Green) });
        });
        matches!(case.step(), Step::Reject(_))
    };
    assert!(after(Some(9), Some(1), "src/a.rs"));
    assert!(after(Some(10), Some(2), "src/a.rs"));
    assert!(after(Some(9), Some(1), "src/latest.rs"));
    assert!(!after(Some(10), Some(1), "src/a.rs"));
    assert!(!after(Some(12), Some(0), "src/a.rs"));
    assert!(after(None, None, "src/a.rs"), "a suite that fell silent");
    assert!(!after(Some(9), Some(1), "tests/a.rs"), "the finding is about that test file");
    // Replayed onto a head where nothing was run.
    let replayed = case(|c| {
        (c.head, c.local) = (sample::sha('d'), sample::sha('b'));
        c.summary.rounds = vec![RoundRecord { head_before: sample::sha('d'), ..committed(1, 'b') }];
        c.summary.verified.push(Verified { tests: Some(9), skipped: Some(1), ..verified('b', VerifyState::Green) });
    });
    assert!(matches!(replayed.step(), Step::Reject(_)));
    // A second round stands on what was replayed, which had lost the test already.
    let second = case(|c| {
        (c.head, c.local) = (sample::sha('d'), sample::sha('e'));
        let first = RoundRecord { head_before: sample::sha('d'), outcome: RoundOutcome::Red, ..committed(1, 'b') };
        c.summary.rounds = vec![first, RoundRecord { head_before: sample::sha('b'), ..committed(2, 'e') }];
        for (head, state) in [('b', VerifyState::Red), ('e', VerifyState::Green)] {
            c.summary.verified.push(Verified { tests: Some(9), skipped: Some(1), ..verified(head, state) });
        }
    });
    assert!(matches!(second.step(), Step::Reject(_)), "{:?}", second.step());
}

#[test]
fn r16_reviewers_are_awaited_asked_and_named() {
    let nudge = |due: i64, mention: Option<&str>| Nudge {
        name: "codex".into(),
        due: sample::at() + jiff::SignedDuration::from_secs(due),
        mention: mention.map(str::to_owned),
        request: None,
        why: "silent".into(),
    };
    let waiting = |nudges: Vec<Nudge>| case(|c| (c.reviewers.finished, c.reviewers.nudges) = (Some(false), nudges));
    assert!(matches!(waiting(vec![nudge(-1, Some("@codex review"))]).step(), Step::Ask(_)));
    let later = waiting(vec![nudge(60, Some("@codex review"))]).step();
    assert!(matches!(later, Step::Wait { until: Some(_), .. }), "{later:?}");
    // Nobody can be asked without a way to ask: waiting is left.
    assert!(matches!(waiting(vec![nudge(-1, None)]).step(), Step::Wait { until: None, .. }));
    let mut asked = waiting(vec![nudge(-1, Some("@codex review"))]);
    assert!(super::super::outbox::plan_request(&mut asked.summary, &asked.reviewers.nudges[0], &asked.head));
    asked.summary.outbox[0].state = WriteState::Failed;
    assert!(matches!(asked.step(), Step::Wait { until: None, .. }), "a request that failed is not asked again at once");
    stops(&case(|c| (c.reviewers.finished, c.reviewers.stuck) = (Some(false), true)), StopReason::WaitingReviewer, 14);
}

#[test]
fn r24_a_broken_block_or_a_reason_removed_again_stops() {
    let removed = || BlockState::RemovedAgain("the reason of c1 was removed again".into());
    stops(&case(|c| c.block = BlockState::Broken("two pairs".into())), StopReason::NeedsPerson, 14);
    stops(&case(|c| c.block = removed()), StopReason::NeedsPerson, 14);
    let pending = |verb: Verb, change: fn(&mut Case)| {
        let mut case = case(|c| {
            let mut entry = sample::entry("c1", Severity::P2);
            entry.pending = Some(sample::pending(verb, "because"));
            c.add(entry);
        });
        change(&mut case);
        case
    };
    stops(&pending(Verb::Argue, |_| {}), StopReason::WaitingReviewer, 12);
    stops(&pending(Verb::Argue, |c| c.block = BlockState::Broken("two pairs".into())), StopReason::NeedsPerson, 14);
    stops(&pending(Verb::Argue, |c| c.policy.post.description = false), StopReason::NeedsPerson, 14);
    let linked = |c: &mut Case| {
        let pending = c.summary.comments.values_mut().find_map(|entry| entry.pending.as_mut()).expect("under way");
        (pending.file, pending.url) = (Some("wiki/plans/a.md".into()), Some("https://github.com/o/r".into()));
        c.policy.post.description = false;
    };
    stops(&pending(Verb::Defer, linked), StopReason::NeedsPerson, 14);
    stops(&pending(Verb::Fix, |_| {}), StopReason::NeedsPerson, 14);
}

#[test]
fn r18_until_ready_names_the_clause_that_is_missing() {
    let with = |clause: ClauseName, ok: Option<bool>, waiting: bool| {
        case(|c| {
            c.run.until_ready = true;
            let one = Clause { clause, ok, waiting, reason: "r".into(), remedy: "m".into(), person: false };
            c.gate = Some(Gate { verdict: Verdict::Blocked, head: sample::sha('a'), clauses: vec![one] });
        })
    };
    stops(&with(ClauseName::Checks, Some(true), false), StopReason::Settled, 0);
    stops(&with(ClauseName::Checks, Some(false), true), StopReason::WaitingCi, 12);
    stops(&with(ClauseName::Checks, Some(false), false), StopReason::ChecksRed, 15);
    stops(&with(ClauseName::Checks, None, false), StopReason::ChecksRed, 15);
    stops(&with(ClauseName::Pr, Some(false), false), StopReason::NotMergeable, 15);
    stops(&with(ClauseName::Reviews, Some(false), false), StopReason::NotMergeable, 15);
    stops(&with(ClauseName::Reviews, Some(false), true), StopReason::WaitingReviewer, 12);
    stops(&with(ClauseName::Spec, Some(false), false), StopReason::TestsRed, 13);
    stops(&with(ClauseName::Description, Some(false), false), StopReason::NeedsPerson, 14);
    // Plain runs do not look at CI.
    let mut plain = with(ClauseName::Checks, Some(false), false);
    plain.run.until_ready = false;
    stops(&plain, StopReason::Settled, 0);
}

#[test]
fn r20_each_reason_has_the_exit_code_of_the_contract() {
    let check = |reason: StopReason, person: bool, expected: u8| assert_eq!(reason.exit_code(person), expected);
    for reason in [StopReason::Settled, StopReason::Merged, StopReason::Closed] {
        check(reason, false, 0);
    }
    for reason in [StopReason::WaitingReviewer, StopReason::WaitingCi] {
        check(reason, false, 12);
        check(reason, true, 14);
    }
    for reason in [StopReason::ChecksRed, StopReason::NotMergeable] {
        check(reason, false, 15);
    }
    check(StopReason::TestsRed, false, 13);
    for reason in [
        StopReason::NoProgress,
        StopReason::RepeatingRegion,
        StopReason::Contested,
        StopReason::Budget,
        StopReason::NeedsPerson,
        StopReason::RejectedRound,
        StopReason::PushRefused,
        StopReason::HeadMoved,
    ] {
        check(reason, false, 14);
    }
    check(StopReason::EditorUnavailable, false, 22);
    check(StopReason::CouldNotRead, false, 20);
    check(StopReason::Permission, false, 21);
}

#[test]
fn posts_come_before_everything_that_is_built_on_them() {
    let mut case = Case::open(Severity::P1);
    let mut argued = sample::entry("c2", Severity::P2);
    argued.finding.status = Status::Open;
    argued.pending =
        Some(sample::pending(Verb::Argue, "In src/a.rs the caller checks this already, so nothing is lost."));
    case.add(argued);
    let obs = sample::observation(
        vec![sample::comment(2, sample::bot("codex"), super::super::comment::Channel::Inline, "x")],
        Vec::new(),
    );
    super::super::outbox::plan(&mut case.summary, &obs, &[], &case.policy);
    assert!(matches!(case.step(), Step::Post(_)), "{:?}", case.step());
}
