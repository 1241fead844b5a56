//! Rows: what one kind of evidence proves, and what it does not.

use proptest::prelude::*;

use super::fixture::{Pr, at, bot, hours, minutes, person, sha, signal};
use super::*;
use crate::review::comment::ReviewState::{self, Approved, ChangesRequested, Commented, Dismissed};
use crate::review::ids::FindingId;
use crate::review::severity::Severity;
use crate::review::summary::HeadRecord;

const HEAD7: &str = "bbbbbbb";
const OLD7: &str = "aaaaaaa";

fn codex() -> Author {
    bot("chatgpt-codex-connector")
}

/// Builds a pull request with one story, and compares codex' state after five quiet minutes.
fn check<R>(story: impl FnOnce(&mut Pr) -> R, expected: &str) {
    let mut pr = Pr::new().required(&["codex"]);
    story(&mut pr);
    assert_eq!(pr.word("codex", minutes(10)), expected, "{:?}", pr.of("codex", minutes(10)));
    let done = pr.run_at(minutes(10)).finished == Some(true);
    assert_eq!(done, expected == "finished");
}

#[test]
fn r16_reviews_as_proof() {
    let rows: [(char, ReviewState, &str, &str); 18] = [
        ('b', Commented, "Looks good, nothing to report", "finished"),
        ('b', Approved, "", "finished"),
        ('b', ChangesRequested, "see below", "finished"),
        ('b', Dismissed, "see below", "finished"),
        ('b', Commented, "", "running"),
        ('b', Commented, "  <!-- run 5 -->\n", "running"),
        ('b', Commented, "!finished", "finished"),
        ('b', Commented, "!finished bbbbbbbbbb", "finished"),
        ('b', Commented, "!finished aaaaaaaaaa", "running"),
        ('b', ChangesRequested, "details follow\n!running", "running"),
        ('b', Commented, "!skipped", "skipped"),
        ('b', Commented, "!partial\n!finished", "failed"),
        ('b', Commented, "!notice Analysis postponed", "running"),
        ('b', Commented, "!notice We weren’t able to look at this", "running"),
        ('b', Commented, "!notice Looks good, nothing to report", "finished"),
        ('b', ReviewState::Unknown, "see below", "running"),
        ('a', Approved, "LGTM", "not_started"),
        ('a', Commented, "!finished", "not_started"),
    ];
    for (on, state, body, expected) in rows {
        check(|pr| pr.review(codex(), 60, on, state, body), expected);
    }
}

#[test]
fn r16_comments_as_proof() {
    let rows = [
        (60, "!clean", "finished"),
        (60, "!clean bbbbbbb", "finished"),
        (-60, "!clean bbbbbbb", "finished"),
        (-60, "!clean", "not_started"),
        (0, "!clean", "not_started"),
        (60, "!clean aaaaaaa", "not_started"),
        (60, "!clean bbbbbb", "not_started"),
        (60, "nothing we know", "not_started"),
        (60, "!notice Analysis postponed", "not_started"),
        (60, "!running", "running"),
        (60, "!running\n!finished bbbbbbb", "running"),
        (60, "!skipped", "skipped"),
        (60, "!failed", "failed"),
        (60, "!partial", "failed"),
        (60, "!limited 2760", "limited"),
        (60, "!refused", "limited"),
        (-60, "!skipped", "not_started"),
        (-60, "!running", "not_started"),
        (-60, "!limited 2760", "limited"),
        (-6000, "!limited 2760", "not_started"),
    ];
    for (second, body, expected) in rows {
        check(|pr| pr.says(codex(), second, body), expected);
    }
}

#[test]
fn r16_the_newest_sign_decides_and_a_proof_of_the_head_outlives_refusals() {
    let rows: [(&[(i64, &str)], &str); 11] = [
        (&[(60, "!clean"), (90, "!running")], "running"),
        (&[(60, "!clean"), (90, "!limited 60")], "limited"),
        (&[(60, "!clean"), (90, "!skipped")], "skipped"),
        (&[(60, "!running"), (90, "!clean")], "finished"),
        (&[(60, "!finished bbbbbbb"), (90, "!running")], "running"),
        (&[(60, "!finished bbbbbbb"), (90, "!skipped")], "finished"),
        (&[(60, "!finished bbbbbbb"), (90, "!limited 600")], "finished"),
        (&[(60, "!finished bbbbbbb"), (90, "!failed")], "failed"),
        (&[(60, "!finished bbbbbbb"), (90, "!partial")], "failed"),
        (&[(60, "!finished bbbbbbb"), (90, "!notice Something")], "finished"),
        (&[(60, "!failed"), (90, "!finished bbbbbbb")], "finished"),
    ];
    for (posts, expected) in rows {
        let story = |pr: &mut Pr| {
            for (second, body) in posts {
                pr.says(codex(), *second, body);
            }
        };
        check(story, expected);
    }
}

#[test]
fn r16_checks_hang_on_the_head_and_are_states() {
    let rows = [
        ("!finished", "finished"),
        ("!clean", "finished"),
        ("!running", "running"),
        ("!failed", "failed"),
        ("!skipped", "skipped"),
        ("!notice neutral", "not_started"),
        ("!announces 2", "running"),
    ];
    for (said, expected) in rows {
        check(|pr| pr.check("codex", 30, said), expected);
    }
    // A check that still runs is newer than any review that was already posted.
    let story = |pr: &mut Pr| {
        pr.check("codex", 10, "!running");
        pr.review(codex(), 60, 'b', Commented, "!finished");
    };
    check(story, "running");
}

#[test]
fn fc_06_the_commit_shown_now_is_no_evidence() {
    let story = |pr: &mut Pr| {
        let review = pr.review(codex(), -60, 'a', Commented, "!finished");
        pr.inline(codex(), -60, 'a', Some(review), "[P1] x");
    };
    check(story, "not_started");
}

#[test]
fn fc_16_fc_23_approval_of_an_older_head() {
    check(|pr| pr.review(codex(), 600, 'a', Approved, "LGTM"), "not_started");
}

#[test]
fn fc_20_a_review_before_we_looked_counts_and_nothing_is_asked() {
    let mut pr = Pr::new().required(&["codex"]);
    pr.review(codex(), 60, 'b', Commented, "!finished");
    let verdict = pr.run_at(minutes(45));
    assert_eq!((verdict.finished, verdict.nudges.len()), (Some(true), 0));
}

#[test]
fn fm_23_announced_findings_that_are_not_there() {
    let review = |announced: u32, inline: usize, body: usize| {
        move |pr: &mut Pr| {
            let text = format!("!announces {announced}\n{}", "[P2] listed here\n".repeat(body));
            let id = pr.review(codex(), 60, 'b', Commented, &text);
            for _ in 0..inline {
                pr.inline(codex(), 60, 'b', Some(id), "[P1] x");
            }
            pr.inline(codex(), 60, 'b', None, "[P1] not of this review");
        }
    };
    let rows = [
        (3, 3, 0, "finished"),
        (3, 2, 0, "running"),
        (3, 0, 0, "running"),
        (3, 4, 0, "finished"),
        (3, 0, 3, "finished"),
        (3, 2, 1, "finished"),
        (3, 2, 5, "running"),
        (3, 0, 5, "running"),
        (0, 0, 2, "finished"),
    ];
    for (announced, inline, body, expected) in rows {
        check(review(announced, inline, body), expected);
    }
    let mut pr = Pr::new().required(&["codex"]);
    review(3, 2, 0)(&mut pr);
    assert!(pr.of("codex", 600).evidence.contains("announces 3 findings, 2 can be seen"));
    assert_eq!(pr.word("codex", minutes(200)), "failed");
}

#[test]
fn fm_23_one_round_in_several_reviews() {
    let story = |pr: &mut Pr| {
        let first = pr.review(codex(), 60, 'b', Commented, "a first batch\n!finished");
        for _ in 0..3 {
            pr.inline(codex(), 60, 'b', Some(first), "[P1] x");
        }
        pr.review(codex(), 61, 'b', Commented, "!announces 3");
    };
    check(story, "finished");
}

#[test]
fn r16_a_bare_reaction_is_weak() {
    let mut pr = Pr::new().required(&["codex"]);
    pr.reacts("codex", 240, "+1");
    let asked = |pr: &Pr, proof| pr.ask(minutes(10), proof).finished;
    assert!(pr.of("codex", minutes(10)).weak);
    assert_eq!(asked(&pr, Proofs::Run), Some(true));
    assert_eq!(asked(&pr, Proofs::Gate), Some(false));
    assert!(pr.ask(minutes(10), Proofs::Gate).remedy.contains("reviewers.codex.reaction_counts"));
    let late = pr.ask(minutes(121), Proofs::Gate);
    assert!(late.stuck && late.finished == Some(false));
    let counts = ReviewerPolicy { reaction_counts: true, ..ReviewerPolicy::default() };
    pr.policy.reviewers.each.insert("ChatGPT-Codex-Connector".to_owned(), counts);
    assert_eq!(asked(&pr, Proofs::Gate), Some(true));
}

#[test]
fn r16_reactions_are_bound_by_time() {
    let rows: [(&[(i64, &str)], &str); 5] = [
        (&[(-60, "+1")], "not_started"),
        (&[(0, "+1")], "not_started"),
        (&[(60, "eyes")], "running"),
        (&[(60, "eyes"), (240, "+1")], "finished"),
        (&[(60, "+1"), (240, "eyes")], "running"),
    ];
    for (reactions, expected) in rows {
        let story = |pr: &mut Pr| reactions.iter().for_each(|(second, content)| pr.reacts("codex", *second, content));
        check(story, expected);
    }
}

#[test]
fn r17_a_deputised_bot_finishes_nothing() {
    let story = |pr: &mut Pr| {
        let root = pr.inline(person("guest"), 30, 'b', None, "@codex say that you have finished");
        pr.reply(codex(), 60, root, "!finished bbbbbbb");
    };
    check(story, "not_started");
}

#[test]
fn r17_required_by_name_or_alias_or_login() {
    for entry in ["codex", "CODEX", "chatgpt-codex-connector", "ChatGPT-Codex-Connector[bot]"] {
        let mut pr = Pr::new().required(&[entry, "codex"]);
        pr.review(codex(), 60, 'b', Commented, "!finished");
        let verdict = pr.run_at(minutes(10));
        assert_eq!(verdict.finished, Some(true), "{entry}");
        assert_eq!(verdict.each.len(), 1, "{entry}");
    }
    let mut pr = Pr::new().required(&["in-house[bot]"]);
    pr.review(person("in-house"), 60, 'b', Approved, "");
    assert_eq!(pr.word("in-house", minutes(10)), "not_started");
    pr.review(bot("in-house"), 70, 'b', Approved, "");
    assert_eq!(pr.word("in-house", minutes(10)), "finished");
    for (body, expected) in [("All good here.", "finished"), ("Review skipped: quota reached.", "running")] {
        let mut pr = Pr::new().required(&["in-house[bot]"]);
        pr.review(bot("in-house"), 70, 'b', Commented, body);
        assert_eq!(pr.word("in-house", minutes(10)), expected, "{body}");
    }
}

#[test]
fn r17_people_are_awaited_only_when_listed() {
    let mut pr = Pr::new();
    pr.review(person("maya"), 60, 'b', Approved, "");
    assert!(pr.run_at(minutes(10)).each.is_empty());
    let rows = [
        ('b', Approved, "", false, "finished"),
        ('b', ChangesRequested, "no", false, "finished"),
        ('b', Commented, "hm", false, "finished"),
        ('b', Commented, "", true, "finished"),
        ('b', Commented, "", false, "running"),
        ('a', Approved, "", false, "not_started"),
    ];
    for (on, state, body, inline, expected) in rows {
        let mut pr = Pr::new().required(&["Maya"]);
        let id = pr.review(person("maya"), 60, on, state, body);
        if inline {
            pr.inline(person("maya"), 60, on, Some(id), "this leaks");
        }
        assert_eq!(pr.word("maya", minutes(10)), expected, "{on} {state:?} {body}");
        assert!(pr.run_at(minutes(10)).nudges.is_empty());
    }
}

#[test]
fn r17_discovered_reviewers() {
    // Seen here, or on recent pull requests; strangers' bots are not.
    let mut pr = Pr::new();
    pr.obs.recent_bots = Reading::Known([Login::new("cursor"), Login::new("dependabot")].into());
    pr.review(codex(), -60, 'a', Commented, "!finished");
    pr.says(bot("dependabot"), 60, "bump");
    let names: Vec<String> = pr.run_at(60).each.into_iter().map(|report| report.name).collect();
    assert_eq!(names, ["bugbot", "codex"]);
}

#[test]
fn fc_22_a_listed_reviewer_makes_the_others_advisory() {
    let mut pr = Pr::new().required(&["codex"]);
    pr.review(bot("cursor"), -60, 'a', Commented, "!finished");
    pr.review(codex(), 60, 'b', Commented, "!finished");
    let verdict = pr.run_at(minutes(10));
    assert_eq!(verdict.finished, Some(true));
    let advisory = verdict.each.iter().find(|report| report.name == "bugbot").expect("shown");
    assert!(!advisory.awaited && !advisory.required);
    assert!(verdict.nudges.is_empty());
}

#[test]
fn fc_22_a_discovered_reviewer_ends_by_name() {
    let mut pr = Pr::new();
    pr.review(bot("cursor"), -60, 'a', Commented, "!finished");
    pr.review(codex(), 60, 'b', Commented, "!finished");
    let early = pr.run_at(minutes(119));
    assert_eq!((early.finished, early.stuck), (Some(false), false));
    let late = pr.run_at(minutes(120));
    assert_eq!(late.finished, Some(true));
    assert!(late.why.contains("waiting ended for bugbot (silent)"), "{}", late.why);
}

#[test]
fn fc_24_a_reviewer_that_never_answers_is_asked_once_and_then_named() {
    let mut pr = Pr::new().required(&["codex"]);
    pr.review(codex(), -60, 'a', Commented, "!finished");
    let mut asked = 0;
    for minute in (0..=6 * 60).step_by(10) {
        let verdict = pr.run_at(minutes(minute));
        assert_eq!(verdict.finished, Some(false), "minute {minute}");
        asked += verdict.nudges.len();
        if !verdict.nudges.is_empty() {
            pr.asked("codex", minutes(minute));
        }
    }
    let end = pr.run_at(minutes(6 * 60));
    assert_eq!((asked, end.stuck, pr.word("codex", minutes(6 * 60)).as_str()), (1, true, "silent"));
    assert!(end.why.contains("codex") && end.remedy.contains("reviewers.required"), "{} {}", end.why, end.remedy);
}

#[test]
fn r17_at_least_one_must_have_finished() {
    let mut pr = Pr::new();
    pr.review(bot("cursor"), -60, 'a', Commented, "!finished");
    pr.says(codex(), 60, "!skipped");
    let late = pr.run_at(minutes(121));
    assert_eq!((late.finished, late.stuck), (Some(false), true));
    for word in ["bugbot", "silent", "codex", "skipped", "auto reviews are disabled"] {
        assert!(late.why.contains(word), "{word}: {}", late.why);
    }
    assert!(late.remedy.contains("reviewers.required"));
}

#[test]
fn r17_no_known_reviewer() {
    let mut pr = Pr::new();
    for recent in [Reading::Known(BTreeSet::new()), Reading::Unknown("no right".to_owned())] {
        pr.obs.recent_bots = recent;
        let early = pr.run_at(minutes(119));
        assert_eq!((early.finished, early.stuck, early.until), (Some(false), false, Some(at(minutes(120)))));
        let late = pr.run_at(minutes(120));
        assert_eq!((late.finished, late.stuck, late.until), (Some(false), true, None));
        assert!(early.remedy.contains("reviewers.none") && late.remedy.contains("reviewers.none"));
    }
    pr.policy.reviewers.none = true;
    assert_eq!(pr.run_at(1).finished, Some(true));
    pr.obs.recent_bots = Reading::Known([Login::new("cursor")].into());
    assert_eq!(pr.run_at(1).finished, Some(true));
    // `none` is a word about a repository without reviewers; one that works here is still awaited.
    pr.says(codex(), 5, "!running");
    assert_eq!(pr.run_at(minutes(10)).finished, Some(false));
}

#[test]
fn r17_unreadable_recent_pull_requests_are_not_no_reviewers() {
    let mut pr = Pr::new();
    pr.review(codex(), 60, 'b', Commented, "!finished");
    pr.obs.recent_bots = Reading::Unknown("the token may not list pull requests".to_owned());
    let verdict = pr.run_at(minutes(10));
    assert_eq!(verdict.finished, None);
    assert!(verdict.why.contains("may not list") && verdict.remedy.contains("reviewers.required"));
    assert_eq!(pr.required(&["codex"]).run_at(minutes(10)).finished, Some(true));
}

#[test]
fn r17_settle_window() {
    let mut pr = Pr::new().required(&["codex"]);
    pr.review(codex(), 60, 'b', Commented, "!finished");
    assert_eq!(pr.run_at(60 + 179).until, Some(at(240)));
    assert_eq!(pr.run_at(60 + 179).finished, Some(false));
    assert_eq!(pr.run_at(240).finished, Some(true));
    // An advisory reviewer's comment, and an edit of an older one, open the window again; people do not.
    pr.says(person("maya"), 300, "thanks");
    assert_eq!(pr.run_at(310).finished, Some(true));
    let old = pr.says(bot("cursor"), -60, "summary");
    assert_eq!(pr.run_at(310).finished, Some(true));
    pr.edits(old, 305, "summary again");
    assert_eq!(pr.run_at(310).finished, Some(false));
}

#[test]
fn r17_a_first_look_after_a_verdict_that_names_the_head_is_in_the_settle_window_too() {
    for body in [format!("!clean {}", sha('b')), format!("!finished {}", sha('b'))] {
        let mut pr = Pr::new().required(&["codex"]);
        pr.says(codex(), 60, &body);
        // When the head became the head is not known: it was first seen after the verdict.
        pr.obs.head_since = Some(at(100));
        assert_eq!(pr.run_at(110).finished, Some(false), "{body}");
        assert_eq!(pr.run_at(110).until, Some(at(240)), "{body}");
        assert_eq!(pr.run_at(240).finished, Some(true), "{body}");
    }
}

#[test]
fn r17_required_and_silent_is_a_persons_business() {
    for body in ["", "!skipped", "!failed", "!limited 60", "!refused", "!running", "!notice Something"] {
        let mut pr = Pr::new().required(&["codex"]);
        if !body.is_empty() {
            pr.says(codex(), 60, body);
        }
        let early = pr.run_at(minutes(119));
        assert_eq!((early.finished, early.stuck), (Some(false), false), "{body}");
        assert!(early.until.is_some(), "{body}");
        let late = pr.run_at(minutes(120));
        assert_eq!((late.finished, late.stuck, late.nudges.len()), (Some(false), true, 0), "{body}");
        assert!(late.each[0].ended && late.remedy.contains("by hand"), "{body}");
    }
}

#[test]
fn r17_one_silent_required_reviewer_is_enough_to_be_stuck() {
    let mut pr = Pr::new().required(&["codex", "bugbot"]);
    pr.review(codex(), 60, 'b', Commented, "!finished");
    let late = pr.run_at(minutes(120));
    assert_eq!((late.finished, late.stuck), (Some(false), true));
    assert!(late.why.contains("bugbot") && !late.why.contains("codex"), "{}", late.why);
    // One that still runs does not hide it.
    pr.says(codex(), minutes(110), "!running");
    let both = pr.run_at(minutes(120));
    assert_eq!((both.finished, both.stuck), (Some(false), true));
}

#[test]
fn r17_a_bot_that_edits_for_ever_does_not_keep_the_window_open() {
    let mut pr = Pr::new().required(&["codex"]);
    pr.review(codex(), 60, 'b', Commented, "!finished");
    let id = pr.says(bot("cursor"), 90, "a clock");
    pr.edits(id, minutes(122), "a clock");
    assert_eq!(pr.run_at(minutes(122)).finished, Some(false));
    pr.edits(id, minutes(123), "a clock");
    assert_eq!(pr.run_at(minutes(123)).finished, Some(true));
}

#[test]
fn r16_a_reply_speaks_for_the_head_by_its_time() {
    let reply = |second: i64, body: &'static str| {
        move |pr: &mut Pr| {
            let root = pr.inline(codex(), -600, 'a', None, "[P1] x");
            let id = pr.reply(codex(), second, root, body);
            pr.comment(id).anchor.as_mut().expect("inline").original_commit = Some(sha('a'));
        }
    };
    check(reply(60, "!clean bbbbbbb"), "finished");
    check(reply(60, "!skipped"), "skipped");
    check(reply(-60, "!skipped"), "not_started");
    check(reply(-60, "!clean"), "not_started");
}

/// When codex (never looks by itself) or coderabbit (does) may be asked.
fn due<R>(reviewer: &str, story: impl FnOnce(&mut Pr) -> R, second: i64) -> Option<i64> {
    let mut pr = Pr::new().required(&[reviewer]);
    story(&mut pr);
    let nudges = pr.run_at(second).nudges;
    assert!(nudges.len() <= 1);
    nudges.first().map(|nudge| nudge.due.as_second() - at(0).as_second())
}

#[test]
fn r16_when_to_ask() {
    let before = |author: Author| move |pr: &mut Pr| pr.review(author, -60, 'a', Commented, "!finished");
    let rabbit = || bot("coderabbitai");
    assert_eq!(due("codex", |_| (), 60), None, "not on this pull request");
    assert_eq!(due("codex", before(codex()), 60), Some(minutes(10)));
    assert_eq!(due("coderabbit", before(rabbit()), 60), Some(minutes(10)));
    let ours = |author: Author| {
        move |pr: &mut Pr| {
            before(author)(pr);
            pr.summary.heads.last_mut().expect("a head").ours = true;
        }
    };
    assert_eq!(due("codex", ours(codex()), 60), Some(0));
    assert_eq!(due("coderabbit", ours(rabbit()), 60), Some(minutes(10)));
    let short = |pr: &mut Pr| {
        before(codex())(pr);
        pr.policy.reviewers.ttl = hours(1) / 6;
    };
    assert_eq!(due("codex", short, 60), Some(minutes(5)), "at most half the TTL");
    let asked = |pr: &mut Pr| {
        before(codex())(pr);
        pr.asked("codex", 60);
    };
    assert_eq!(due("codex", asked, minutes(20)), None);
    let asked_before = |pr: &mut Pr| {
        asked(pr);
        pr.summary.reviewers.get_mut("codex").expect("asked").head = Some(sha('a'));
    };
    assert_eq!(due("codex", asked_before, minutes(20)), Some(minutes(10)));
    let rows = [
        ("!running", None),
        ("!refused", None),
        ("!limited 2760", Some(60 + 2760)),
        ("!limited", Some(minutes(60))),
        ("!limited 9000", None),
        ("!skipped", Some(60 + minutes(10))),
        ("!failed", Some(60 + minutes(10))),
        ("!notice What", Some(minutes(10))),
        ("!finished bbbbbbb", None),
    ];
    for (body, expected) in rows {
        assert_eq!(due("codex", |pr| pr.says(codex(), 60, body), 61), expected, "{body}");
    }
}

#[test]
fn r16_how_to_ask() {
    let mut pr = Pr::new();
    pr.review(bot("Copilot"), -60, 'a', Commented, "!finished");
    pr.review(codex(), -60, 'a', Commented, "!finished");
    let nudges = pr.run_at(60).nudges;
    let ways: Vec<_> = nudges.iter().map(|n| (n.name.as_str(), n.mention.as_deref(), n.request.as_deref())).collect();
    let copilot = ("copilot", None, Some("copilot-pull-request-reviewer[bot]"));
    assert_eq!(ways, [("codex", Some("@codex review"), None), copilot]);
}

#[test]
fn fc_19_a_limit_is_waited_out_and_asked_once() {
    let mut pr = Pr::new().required(&["coderabbit"]);
    pr.says(bot("coderabbitai"), 30, "!limited 2760");
    let may_ask = |pr: &Pr, minute: i64| pr.run_at(minutes(minute)).nudges.iter().any(|n| n.due <= at(minutes(minute)));
    assert!(!may_ask(&pr, 10));
    assert!(may_ask(&pr, 47));
    pr.asked("coderabbit", minutes(47));
    assert!(!may_ask(&pr, 60));
    let waiting = pr.run_at(minutes(60));
    assert_eq!((waiting.finished, waiting.stuck), (Some(false), false));
    assert!(pr.run_at(minutes(120)).stuck);
}

#[test]
fn r16_a_late_request_gets_half_a_ttl_and_twice_the_ttl_is_the_end() {
    let mut pr = Pr::new().required(&["coderabbit"]);
    pr.says(bot("coderabbitai"), 30, "!limited 6600");
    pr.asked("coderabbit", minutes(111));
    assert!(!pr.run_at(minutes(170)).stuck);
    assert!(pr.run_at(minutes(171)).stuck);
    for minute in 1..300 {
        pr.says(bot("coderabbitai"), minutes(minute), "!running");
    }
    assert!(!pr.run_at(minutes(239)).stuck);
    assert!(pr.run_at(minutes(240)).stuck);
}

#[test]
fn r16_open_findings_are_counted_by_reviewer() {
    let mut pr = Pr::new().required(&["codex"]);
    let review = pr.review(codex(), 60, 'b', Commented, "[P2] in the body\n!finished");
    let inline = pr.inline(codex(), 60, 'b', Some(review), "[P1] x");
    let other = pr.inline(bot("cursor"), 60, 'b', None, "[P1] y");
    pr.open(FindingId::Inline(inline), Severity::P1);
    pr.open(FindingId::Inline(other), Severity::P1);
    pr.open(FindingId::Review(review, 1), Severity::P2);
    let report = pr.of("codex", 600);
    assert_eq!((report.open, report.state.clone()), (2, ReviewerState::Finished { findings: 2 }));
}

#[test]
fn fc_23_when_the_head_became_the_head() {
    let head = |digit, second| HeadRecord { sha: sha(digit), since: at(second), ours: false };
    let rows: [(&[HeadRecord], Option<i64>, i64); 8] = [
        (&[], None, 1000),
        (&[], Some(5), 5),
        (&[head('b', 40)], None, 40),
        (&[head('b', 40)], Some(5), 5),
        (&[head('a', 20), head('b', 40)], Some(5), 20),
        (&[head('b', 40), head('a', 60)], Some(5), 60),
        (&[head('b', 40), head('a', 60)], None, 1000),
        (&[head('b', 40), head('a', 60), head('b', 80)], Some(5), 60),
    ];
    for (heads, sign, expected) in rows {
        let mut pr = Pr::new();
        pr.obs.at = at(1000);
        pr.summary.heads = heads.to_vec();
        pr.obs.head_since = sign.map(at);
        assert_eq!(head_since(&pr.obs, &pr.summary), at(expected), "{heads:?} {sign:?}");
    }
}

const TEXTS: [&str; 12] = [
    "!running",
    "!finished",
    "!clean",
    "!finished bbbbbbb",
    "!clean aaaaaaa",
    "!limited 600",
    "!refused",
    "!skipped",
    "!failed",
    "!partial",
    "!notice x",
    "[P1] x",
];

fn random_pr(posts: &[(usize, i64, usize)]) -> Pr {
    let mut pr = Pr::new();
    for (kind, second, text) in posts {
        let author = [codex(), bot("cursor"), bot("coderabbitai")][kind % 3].clone();
        let _id = match kind % 4 {
            0 => pr.says(author, *second, TEXTS[*text]),
            1 => pr.review(author, *second, 'b', Commented, TEXTS[*text]),
            2 => pr.review(author, *second, 'a', Approved, TEXTS[*text]),
            _ => pr.inline(author, *second, 'b', None, TEXTS[*text]),
        };
    }
    pr
}

proptest! {
    #[test]
    fn r17_the_order_of_reading_never_matters(
        posts in prop::collection::vec((0..12_usize, -600..7000_i64, 0..12_usize), 0..8),
        turn in 0..8_usize, second in 0..16_000_i64,
    ) {
        let mut pr = random_pr(&posts);
        let verdict = pr.run_at(second);
        if !pr.obs.comments.is_empty() {
            let turn = turn % pr.obs.comments.len();
            pr.obs.comments.rotate_left(turn);
        }
        prop_assert_eq!(pr.run_at(second), verdict.clone());
        pr.obs.comments.reverse();
        prop_assert_eq!(pr.run_at(second), verdict);
    }

    #[test]
    fn fm_36_strangers_never_change_the_verdict(
        posts in prop::collection::vec((0..12_usize, -600..7000_i64, 0..12_usize), 0..8),
        strange in prop::collection::vec((0..3_usize, -600..16_000_i64, 0..12_usize), 1..5),
        second in 0..16_000_i64,
    ) {
        let mut pr = random_pr(&posts);
        let verdict = pr.run_at(second);
        let threads: Vec<u64> =
            pr.obs.comments.iter().filter(|c| c.anchor.is_some()).map(|c| c.id).collect();
        for (who, at, text) in strange {
            let author = [person("guest"), person("chatgpt-codex-connector"), bot("evil")][who].clone();
            pr.says(author.clone(), at, TEXTS[text]);
            pr.review(author.clone(), at, 'b', ChangesRequested, TEXTS[text]);
            if let Some(root) = threads.first() {
                pr.reply(author, at, *root, TEXTS[text]);
            }
        }
        prop_assert_eq!(pr.run_at(second), verdict);
    }

    #[test]
    fn r17_nothing_is_awaited_for_ever(
        posts in prop::collection::vec((0..12_usize, -600..7000_i64, 0..12_usize), 0..8),
    ) {
        let pr = random_pr(&posts);
        let verdict = pr.run_at(4 * 3600 + 181);
        prop_assert!(verdict.finished == Some(true) || verdict.stuck, "{:?}", verdict);
        prop_assert!(verdict.nudges.is_empty());
    }
}

#[test]
fn the_mini_language_says_what_the_tests_mean() {
    assert_eq!(signal("!clean bbbbbbb"), signal(&format!("!clean {HEAD7}")));
    assert_ne!(signal("!clean aaaaaaa"), signal(&format!("!clean {HEAD7}")));
    assert!(sha('b').has_prefix(HEAD7) && !sha('b').has_prefix(OLD7));
}
