//! Stories asked at many moments: never finished too early, never waiting for ever.

use super::fixture::{Pr, bot, minutes};
use super::{Proofs, Timestamp};
use crate::review::comment::Author;
use crate::review::comment::ReviewState::{Approved, Commented};
use crate::review::verdict::ReviewersVerdict;

/// What a reviewer does, and when.
enum Does {
    Says(&'static str),
    Edits(&'static str),
    Reviews(char, &'static str),
    Approves(char),
    Comments(&'static str),
    Reacts(&'static str),
    Checks(&'static str),
}

fn codex() -> Author {
    bot("chatgpt-codex-connector")
}

/// Lets everything happen that happens until a second.
fn until(pr: &Pr, story: &[(i64, Does)], second: i64) -> Pr {
    let mut pr = pr.clone();
    let mut last = None;
    let mut review = None;
    for (when, does) in story.iter().filter(|(when, _)| *when <= second) {
        match does {
            Does::Says(body) => last = Some(pr.says(codex(), *when, body)),
            Does::Edits(body) => pr.edits(last.expect("a comment to edit"), *when, body),
            Does::Reviews(on, body) => review = Some(pr.review(codex(), *when, *on, Commented, body)),
            Does::Approves(on) => {
                pr.review(codex(), *when, *on, Approved, "");
            }
            Does::Comments(body) => {
                pr.inline(codex(), *when, 'b', review, body);
            }
            Does::Reacts(content) => pr.reacts("codex", *when, content),
            Does::Checks(said) => {
                pr.checks.clear();
                pr.check("codex", *when, said);
            }
        }
    }
    pr
}

fn verdict(pr: &Pr, story: &[(i64, Does)], second: i64) -> ReviewersVerdict {
    until(pr, story, second).ask(second, Proofs::Run)
}

/// Asks every ten seconds for an hour, then every minute for four: not finished before `from`, finished ever after; without `from`, stuck at last.
fn check(pr: &Pr, story: &[(i64, Does)], from: Option<i64>) {
    for second in (0..3600).step_by(10).chain((3600..5 * 3600).step_by(60)) {
        let verdict = verdict(pr, story, second);
        let expected = from.is_some_and(|from| second >= from);
        assert_eq!(verdict.finished, Some(expected), "at {second}: {}", verdict.why);
        if !expected {
            let waits = verdict.until.is_some_and(|until: Timestamp| until > pr.obs.at);
            assert!(waits || verdict.stuck, "at {second} neither waits nor ends: {verdict:?}");
        }
    }
    let end = verdict(pr, story, 5 * 3600);
    assert!(from.is_some() || end.stuck, "{end:?}");
}

fn both(story: &[(i64, Does)], from: Option<i64>) {
    check(&Pr::new().required(&["codex"]), story, from);
    let mut discovered = Pr::new();
    discovered.review(codex(), -3600, 'a', Commented, "!finished");
    check(&discovered, story, from);
}

#[test]
fn fc_17_a_placeholder_that_is_edited_later() {
    let story = [
        (14, Does::Says("!running")),
        (100, Does::Edits("[P1] one\n!finished bbbbbbb")),
        (100, Does::Comments("[P1] one")),
        (101, Does::Comments("[P1] two")),
    ];
    both(&story, Some(290));
    let pr = Pr::new().required(&["codex"]);
    assert_eq!(until(&pr, &story, 60).word("codex", 60), "running");
}

#[test]
fn fc_03_a_clean_verdict_only_as_a_comment() {
    both(&[(240, Does::Says("!clean bbbbbbb"))], Some(420));
    both(&[(240, Does::Says("!clean"))], Some(420));
}

#[test]
fn fc_18_a_clean_verdict_only_as_a_reaction() {
    both(&[(10, Does::Reacts("eyes")), (240, Does::Reacts("+1"))], Some(420));
    both(&[(10, Does::Reacts("eyes"))], None);
}

#[test]
fn r16_a_summary_row_that_says_completed() {
    let story = [
        (18, Does::Says("!running")),
        (200, Does::Edits("!finished aaaaaaa")),
        (300, Does::Edits("!running\n!finished bbbbbbb")),
        (400, Does::Edits("!finished bbbbbbb")),
        (410, Does::Reviews('b', "!announces 1")),
        (430, Does::Comments("[P1] x")),
    ];
    both(&story, Some(610));
}

#[test]
fn r16_a_check_that_runs_and_ends_neutral() {
    both(&[(5, Does::Checks("!running")), (300, Does::Checks("!finished"))], Some(480));
    both(&[(5, Does::Checks("!running")), (300, Does::Checks("!notice neutral"))], None);
    both(&[(5, Does::Checks("!running")), (300, Does::Checks("!failed"))], None);
    both(&[(5, Does::Checks("!running"))], None);
}

#[test]
fn fc_16_an_approval_of_the_older_head() {
    both(&[(30, Does::Approves('a'))], None);
    both(&[(30, Does::Approves('a')), (600, Does::Approves('b'))], Some(780));
}

#[test]
fn fc_15_a_banner_is_no_review() {
    both(&[(30, Does::Says("!skipped"))], None);
    both(&[(30, Does::Says("!notice Analysis postponed"))], None);
}

#[test]
fn fc_19_a_limit_that_clears_and_one_that_never_does() {
    both(&[(30, Does::Says("!limited 2760")), (3000, Does::Reviews('b', "!finished"))], Some(3180));
    both(&[(30, Does::Says("!limited 2760"))], None);
    both(&[(30, Does::Says("!refused"))], None);
}

#[test]
fn fm_23_a_review_that_is_seen_before_its_comments() {
    let story =
        [(60, Does::Reviews('b', "!announces 2")), (400, Does::Comments("[P1] x")), (900, Does::Comments("[P1] y"))];
    both(&story, Some(1080));
}

#[test]
fn r16_an_empty_review_proves_nothing() {
    both(&[(60, Does::Reviews('b', "")), (60, Does::Comments("[P1] x"))], None);
}

#[test]
fn r16_a_second_look_that_never_ends_leaves_the_first_proof() {
    both(&[(60, Does::Reviews('b', "!finished")), (90, Does::Says("!running"))], Some(minutes(120)));
    both(&[(60, Does::Says("!clean")), (90, Does::Says("!running"))], None);
}

#[test]
fn r17_nobody_is_known() {
    let pr = Pr::new();
    for second in (0..minutes(300)).step_by(60) {
        let verdict = pr.run_at(second);
        assert_eq!((verdict.finished, verdict.stuck), (Some(false), second >= minutes(120)), "at {second}");
    }
}
