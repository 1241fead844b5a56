//! The real rules and these verdicts together, on bodies as reviewers post them.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::fixture::{Pr, at, bot, minutes, person, sha};
use super::{Proofs, ReviewerFacts, judge};
use crate::config::rules::builtin;
use crate::review::classify::Rules;
use crate::review::comment::Author;
use crate::review::comment::ReviewState::Commented;
use crate::review::note::Standing;
use crate::review::observation::{Check, CheckState, Reaction, Reading};
use crate::review::trust::notes;

/// Compiling them takes longer than all of these tests.
static RULES: LazyLock<Rules> =
    LazyLock::new(|| Rules::compile(&builtin(), &[], &BTreeMap::new()).expect("the built-in rules"));

fn check(reviewer: &str, story: impl FnOnce(&mut Pr), expected: &str) {
    let mut pr = Pr::new().required(&[reviewer]);
    story(&mut pr);
    pr.obs.at = at(minutes(10));
    let notes = notes(&pr.obs, &*RULES, &pr.policy);
    let facts = ReviewerFacts::gather(&pr.obs, &notes, &pr.summary, &RULES, &pr.policy);
    let verdict = judge(&facts, Proofs::Run);
    let report = verdict.each.iter().find(|report| report.required).expect("the required one");
    assert_eq!(report.state.as_str(), expected, "{report:?}");
}

fn codex() -> Author {
    bot("chatgpt-codex-connector")
}

fn says(pr: &mut Pr, body: &str) {
    pr.says(codex(), 60, body);
}

#[test]
fn fc_03_codex_speaks_in_comments() {
    let clean =
        format!("Codex Review: Didn't find any major issues. Swish!\n\n**Reviewed commit:** `{}`", sha('b').short());
    check("codex", |pr| says(pr, &clean), "finished");
    let old = clean.replace(sha('b').short(), sha('a').short());
    check("codex", |pr| says(pr, &old), "not_started");
    let limit = "You have reached your Codex usage limits for code reviews.";
    check("codex", |pr| says(pr, limit), "limited");
}

#[test]
fn fc_13_a_clean_review_without_a_tag() {
    let review = |body: &'static str| {
        move |pr: &mut Pr| {
            pr.review(codex(), 60, 'b', Commented, body);
        }
    };
    check("codex", review("Looks good, nothing to report"), "finished");
    check("codex", review("Analysis postponed"), "running");
}

#[test]
fn fc_15_banners() {
    for body in ["Review skipped: auto reviews are disabled", "Analysis postponed"] {
        check("codex", |pr| says(pr, body), "not_started");
    }
}

#[test]
fn r02_a_tool_under_a_strangers_account_proves_nothing() {
    let snyk = "### ✅ **Snyk checks have passed. No issues have been found so far.**";
    let kody = "<!-- kody-codereview -->\n## Code Review Complete! 🔥";
    for (tool, body) in [("snyk", snyk), ("kody", kody)] {
        let state = |by: Author| {
            let mut pr = Pr::new().required(&[tool]);
            pr.says(by, 60, body);
            pr.review(person("guest"), 61, 'b', Commented, body);
            pr.obs.at = at(minutes(10));
            let notes = notes(&pr.obs, &*RULES, &pr.policy);
            assert!(notes.iter().any(|note| note.standing == Standing::Untrusted), "{tool}");
            let facts = ReviewerFacts::gather(&pr.obs, &notes, &pr.summary, &RULES, &pr.policy);
            let report = judge(&facts, Proofs::Run).each.into_iter().find(|report| report.name == tool);
            report.map(|report| report.state.as_str().to_owned())
        };
        assert_eq!(state(person("guest")).as_deref(), Some("not_started"), "{tool} under a stranger's account");
        assert_ne!(state(person("maya")).as_deref(), Some("not_started"), "{tool} under a writer's account");
    }
}

#[test]
fn r16_reactions_of_the_bot_only() {
    let thumb = |by: Author| {
        move |pr: &mut Pr| pr.obs.reactions.push(Reaction { by, content: "+1".to_owned(), at: at(60), on: None })
    };
    check("codex", thumb(codex()), "finished");
    check("codex", thumb(person("chatgpt-codex-connector")), "not_started");
}

#[test]
fn r16_bugbot_speaks_through_its_check() {
    let state = |state: CheckState, text: &'static str| {
        move |pr: &mut Pr| {
            pr.obs.checks = Reading::Known(vec![Check {
                app_id: Some(1),
                app: "cursor".to_owned(),
                workflow: None,
                name: "Cursor Bugbot".to_owned(),
                state,
                text: text.to_owned(),
                at: Some(at(60)),
                url: String::new(),
            }]);
        }
    };
    check("bugbot", state(CheckState::Pending, ""), "running");
    check("bugbot", state(CheckState::Success, "Bugbot Review\nno issues found"), "finished");
    check("bugbot", state(CheckState::Inconclusive("neutral".to_owned()), "a text nobody knows"), "not_started");
}
