//! The classifier from outside: what each kind of comment asks for, and the laws that hold for every text.

use std::collections::BTreeMap;

use pushback::config::rules::builtin;
use pushback::review::classify::rules::{ReviewerOverride, UserRule};
use pushback::review::classify::{
    BadRule, CheckText, Classified, CommentInput, Kind, Rules, Signal, check_signals, classify, classify_stream, plain,
};
use pushback::review::comment::{AccountKind, Channel, ReviewState};
use pushback::review::ids::Login;
use pushback::review::severity::{DecidedBy, Severity};

fn rules() -> Rules {
    with(&[], &BTreeMap::new()).expect("the built-in rules compile")
}

fn with(user: &[UserRule], said: &BTreeMap<String, ReviewerOverride>) -> Result<Rules, BadRule> {
    Rules::compile(&builtin(), user, said)
}

fn read(rules: &Rules, login: &str, channel: Channel, body: &str) -> Classified {
    let account = if login.ends_with("[bot]") { AccountKind::Bot } else { AccountKind::Person };
    classify(rules, &CommentInput::new(&Login::new(login), account, channel, body))
}

fn inline(login: &str, body: &str) -> Classified {
    read(&rules(), login, Channel::Inline, body)
}

fn check(login: &str, body: &str, severity: &str, decided_by: DecidedBy) {
    let got = inline(login, body);
    let severity_got = got.severity().map_or("none", Severity::as_str);
    assert_eq!((severity_got, got.decided_by()), (severity, Some(decided_by)), "{login}: {body}");
}

#[test]
fn fc_11_a_word_inside_another_word_decides_nothing() {
    check("ann", "nit: debug output is noisy", "nit", DecidedBy::Tagged);
    check("ann", "[major] race in cache", "P2", DecidedBy::Tagged);
    check("ann", "🟣 Odd new label: broken retry", "P2", DecidedBy::UnknownTag);
}

#[test]
fn fc_12_a_badge_quoted_from_the_diff_is_no_finding() {
    let body = "```md\n**<sub><sub>![P1 Badge](https://img.shields.io/badge/P1-orange)</sub></sub> Old**\n```\n\n\
                **<sub><sub>![P2 Badge](https://img.shields.io/badge/P2-yellow)</sub></sub>  Keep the lock**\n\nIt leaks.";
    let got = inline("chatgpt-codex-connector[bot]", body);
    assert_eq!((got.severity(), got.findings.len()), (Some(Severity::P2), 1));
    assert_eq!(got.findings[0].title, "Keep the lock");
}

#[test]
fn r04_a_label_after_praise_is_not_lost() {
    let rules = rules();
    let check = |channel: Channel, body: &str, expected: &[(Severity, &str)]| {
        let got = read(&rules, "ann", channel, body);
        let findings: Vec<_> = got.findings.iter().map(|found| (found.severity, found.title.as_str())).collect();
        assert_eq!(findings, expected, "{channel:?} {body}");
    };
    for praise in ["LGTM", "Looks good to me!", "All good"] {
        for channel in [Channel::Review, Channel::Conversation] {
            check(channel, praise, &[]);
            let body = format!("{praise}\n\n[P1] but rounding loses cents");
            check(channel, &body, &[(Severity::P1, "but rounding loses cents")]);
        }
    }
    let ann = Login::new("ann");
    let input = CommentInput::new(&ann, AccountKind::Person, Channel::Review, "LGTM\n\nHandle refunds.");
    let asked = CommentInput { review_state: Some(ReviewState::ChangesRequested), ..input };
    assert_eq!(classify(&rules, &asked).severity(), Some(Severity::P2));
}

#[test]
fn r04_a_heading_and_a_numbered_item_carry_a_label() {
    let rules = rules();
    let check = |body: &str, expected: &[(Severity, &str)]| {
        let got = read(&rules, "ann", Channel::Review, body);
        let findings: Vec<_> = got.findings.iter().map(|found| (found.severity, found.title.as_str())).collect();
        assert_eq!(findings, expected, "{body}");
    };
    check("1. [P1] Cents are lost\n2) P2: no test", &[(Severity::P1, "Cents are lost"), (Severity::P2, "no test")]);
    check(
        "### P1\n- Cents are lost\n\n### P3\nRename it",
        &[(Severity::P1, "Cents are lost"), (Severity::P3, "Rename it")],
    );
    check("- [x] P1: Cents were lost", &[(Severity::P1, "Cents were lost")]);
    check("The release is P1\nfor the team", &[]);
    check("P1\nis what we call it", &[]);
}

#[test]
fn fc_13_a_clean_review_needs_no_tag() {
    let got = read(&rules(), "some-reviewer[bot]", Channel::Review, "Looks good, nothing to report");
    assert_eq!((got.kind, got.findings.len()), (Kind::Clean, 0));
    assert!(matches!(got.signals[..], [Signal::Finished { clean: true, .. }]));
}

#[test]
fn fc_14_look_alikes_are_people() {
    let rules = rules();
    let who = |login: &str, kind| rules.reviewer_of(&Login::new(login), kind, "x").map(|r| r.name.clone());
    assert_eq!(who("Copilot", AccountKind::Bot).as_deref(), Some("copilot"));
    assert_eq!(who("copilot-pull-request-reviewer[bot]", AccountKind::Bot).as_deref(), Some("copilot"));
    assert_eq!(who("copilot-pull-request-reviewer1", AccountKind::Person), None);
    assert_eq!(who("copilot-pull-request-reviewer1", AccountKind::Bot), None);
    assert_eq!(who("renovate-maintainer", AccountKind::Person), None);
    assert_eq!(who("coderabbitai", AccountKind::Person), None);
}

#[test]
fn fc_15_notices_are_never_finished_and_never_findings() {
    let rules = rules();
    for body in ["## Review skipped\n\nAuto reviews are disabled on this repository.", "Analysis postponed"] {
        let got = read(&rules, "coderabbitai[bot]", Channel::Conversation, body);
        assert_eq!((got.kind, got.findings.len()), (Kind::Status, 0), "{body}");
        assert!(matches!(&got.signals[..], [Signal::Skipped(_) | Signal::Unknown(_)]), "{:?}", got.signals);
    }
}

#[test]
fn fm_40_forged_severities_change_nothing() {
    let assumed = DecidedBy::Assumed;
    for body in [
        "`[P1]` is only quoted here.",
        "> P1: quoted\n",
        "This is not a P1, more of a remark.",
        "```\nP1: in code\n```\nSee above.",
        "    P1: indented code",
        "| P1 | valve |\n|---|---|\n\nWhat is this table for?",
        "Р1: a look-alike letter",
        "The P0 pump and the critical path: both are fine?",
        "&gt; P0: pasted by a person\n\nWhat do you think of this?",
    ] {
        check("ann", &format!("{body}\n"), "P2", assumed);
    }
    check("ann", "🔥🔥 P1: emoji before the tag", "P1", DecidedBy::Tagged);
    check("ann", "Ｐ１：full width", "P1", DecidedBy::Tagged);
}

#[test]
fn r5_levels_can_be_remapped_in_one_line() {
    let said = ReviewerOverride { levels: [("Major".to_owned(), Severity::P1)].into(), ..ReviewerOverride::default() };
    let rules = with(&[], &[("coderabbitai".to_owned(), said)].into()).expect("a known login");
    let body = "_⚠️ Potential issue_ | _🟠 Major_\n\n**Close the hatch.**\n\nIt floods.";
    let got = read(&rules, "coderabbitai[bot]", Channel::Inline, body);
    assert_eq!(got.severity(), Some(Severity::P1));
    assert_eq!(got.findings[0].level.as_deref(), Some("major"));
}

#[test]
fn r4_user_rules_come_first_and_are_named() {
    let rule = UserRule { author: Some("codex".to_owned()), pattern: r"^.*\bschema\b".to_owned(), level: Severity::P1 };
    let rules = with(&[rule], &BTreeMap::new()).expect("a good rule");
    let body = "**![P3 Badge](x) Guard the schema**\n\nText";
    let got = read(&rules, "chatgpt-codex-connector[bot]", Channel::Inline, body);
    let rule = got.rule().expect("a rule decided");
    assert_eq!(
        (got.severity(), rule.file.as_str(), rule.name.as_str()),
        (Some(Severity::P1), "config", "severity.rule 1")
    );
    assert_eq!(
        read(&rules, "ann", Channel::Inline, body).rule().map(|r| r.file.clone()).as_deref(),
        Some("general.toml")
    );
}

#[test]
fn r5_people_without_a_tag() {
    let rules = rules();
    let login = Login::new("ann");
    let body = "The cache is never emptied.";
    let kind = |channel, state, by_pr_author| {
        let base = CommentInput::new(&login, AccountKind::Person, channel, body);
        classify(&rules, &CommentInput { review_state: state, by_pr_author, ..base }).severity()
    };
    assert_eq!(kind(Channel::Inline, None, false), Some(Severity::P2));
    assert_eq!(kind(Channel::Inline, None, true), None);
    assert_eq!(kind(Channel::Review, Some(ReviewState::ChangesRequested), false), Some(Severity::P2));
    assert_eq!(kind(Channel::Review, Some(ReviewState::Commented), false), None);
    assert_eq!(kind(Channel::Review, Some(ReviewState::Approved), false), None);
    assert_eq!(kind(Channel::Review, Some(ReviewState::Pending), false), None);
    assert_eq!(kind(Channel::Conversation, None, false), None);
}

#[test]
fn r16_checks_speak_by_their_words() {
    let rules = rules();
    let say = |text, conclusion| {
        let check = CheckText { app: "cursor", name: "Cursor Bugbot", text, conclusion };
        check_signals(&rules, check).expect("a known check").1
    };
    let finished = |clean, announced| vec![Signal::Finished { sha: None, clean, announced }];
    assert_eq!(say("", "in_progress"), [Signal::Running]);
    assert_eq!(say("Bugbot Review\nBugbot found 2 potential issues", "neutral"), finished(false, Some(2)));
    assert_eq!(say("no issues found", "success"), finished(true, Some(0)));
    assert!(matches!(&say("Error\nsomething broke", "neutral")[..], [Signal::Failed(_)]));
    assert!(matches!(&say("Usage limit reached", "neutral")[..], [Signal::Limited { .. }]));
    assert!(matches!(&say("Never seen words", "neutral")[..], [Signal::Unknown(_)]));
    assert_eq!(
        check_signals(&rules, CheckText { app: "actions", name: "build", text: "", conclusion: "success" }),
        None
    );
}

#[test]
fn the_offline_form_takes_what_people_pipe() {
    let rules = rules();
    let row = r#"{"id":"x1","login":"ann","channel":"inline","body":"P1: é","path":"a.rs"}"#;
    let check = |bytes: &[u8]| {
        let (lines, bad) = classify_stream(bytes, &rules);
        assert!(!bad, "{lines:?}");
        assert!(lines[0].starts_with(r#"{"id":"x1","severity":"P1","decided_by":"tagged""#), "{}", lines[0]);
    };
    check(row.as_bytes());
    check(format!("[{row}]").as_bytes());
    check(format!("\u{feff}{row}\r\n").as_bytes());
    let units: Vec<u16> = row.encode_utf16().collect();
    check(&units.iter().flat_map(|u| u.to_le_bytes()).collect::<Vec<_>>());
    check(&std::iter::once(0xfeff).chain(units).flat_map(u16::to_be_bytes).collect::<Vec<_>>());
    let (lines, bad) = classify_stream(format!("{row}\nnot json\n[1]\n{row}").as_bytes(), &rules);
    assert!(bad && lines.len() == 4, "{lines:?}");
    assert!(lines[1].contains(r#""line":2"#) && lines[2].contains(r#""line":3"#), "{lines:?}");
    let rest = r#"{"id":7,"user":{"login":"cursor[bot]","type":"Bot"},"body":"x","path":"a","in_reply_to_id":3}"#;
    let (lines, _) = classify_stream(rest.as_bytes(), &rules);
    assert_eq!(lines, [r#"{"id":7,"severity":"none","decided_by":null,"rule":null,"kind":"reply","findings":[]}"#]);
}

#[test]
fn an_answer_is_the_same_whatever_stands_around_its_row_and_keeps_its_place() {
    let rules = rules();
    let rows: Vec<&str> = include_str!("../corpus/unseen.jsonl").lines().chain(["no JSON", "[1]"]).collect();
    let alone: Vec<String> = rows.iter().map(|row| classify_stream(row.as_bytes(), &rules).0.remove(0)).collect();
    // More than is answered at once, and in an order of its own each time.
    let all = rows.len();
    // A step that does not divide the number of rows comes by each of them once.
    let steps: Vec<usize> =
        [1, 5, 7, 11, 13, 17].into_iter().filter(|step| *step == 1 || !all.is_multiple_of(*step)).collect();
    let order = |step: usize| (0..all).map(move |n| (n * step + step) % all);
    let order: Vec<usize> = steps.into_iter().cycle().take(16).flat_map(order).collect();
    let text: String = order.iter().flat_map(|n| [rows[*n], "\n"]).collect();
    assert!(text.len() > 4 << 20, "{} bytes", text.len());
    let (answers, bad) = classify_stream(text.as_bytes(), &rules);
    assert!(bad && answers.len() == order.len());
    for (n, (answer, row)) in answers.iter().zip(order).enumerate() {
        let placed = alone[row].replace("\"line\":1}", &format!("\"line\":{}}}", n + 1));
        let expected = if row + 2 < all { &alone[row] } else { &placed };
        assert_eq!(answer, expected, "row {n}");
    }
}

#[test]
fn a_line_that_is_no_single_row_is_read_as_if_it_stood_alone() {
    let rules = rules();
    let good = r#"{"id":1,"login":"ann","channel":"inline","body":"P1: \"x\""}"#;
    let whole = [good.to_owned(), format!("{good} {good}"), format!("\u{3000}{good}"), format!(" {good}\u{a0}\r")];
    let odd =
        ["{\"body\":\"x\",\n\"id\":7}", "[\n1\n]", "5", "\"x\"", "{\"body\":", "{\"body\":\"x", "}", "x", "null 1"];
    for odd in whole.into_iter().chain(odd.map(str::to_owned)) {
        let text = format!("{good}\n{odd}\n\n \n{good}\n{odd}\n{good}");
        let rows = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let alone = |(n, line): (usize, &str)| {
            let answer = classify_stream(line.as_bytes(), &rules).0.remove(0);
            answer.replace("\"line\":1}", &format!("\"line\":{}}}", n + 1))
        };
        assert_eq!(classify_stream(text.as_bytes(), &rules).0, rows.map(alone).collect::<Vec<_>>(), "{odd:?}");
    }
}

#[test]
fn an_account_without_a_type_is_a_bot_where_its_login_is_a_known_reviewers() {
    let rules = rules();
    let mut told_apart = 0;
    for login in rules.reviewers().iter().flat_map(|reviewer| &reviewer.aliases).map(Login::as_str).chain(["ann"]) {
        let answer = |kind: &str| {
            let row = format!(r#"{{"login":"{login}",{kind}"channel":"issue_comment","body":"Wrong unit."}}"#);
            classify_stream(row.as_bytes(), &rules).0
        };
        let (bot, person) = (answer(r#""type":"Bot","#), answer(r#""type":"User","#));
        let known = rules.reviewer_of(&Login::new(login), AccountKind::Bot, "").is_some();
        assert_eq!(&answer(""), if known { &bot } else { &person }, "{login}");
        told_apart += usize::from(bot != person);
    }
    assert!(told_apart > 30, "{told_apart}");
}

#[test]
fn a_closed_finding_keeps_its_level_but_no_rule_decides() {
    let body = "_⚠️ Potential issue_ | _🟠 Major_\\n\\n**Seal the hatch.**\\n\\nIt leaks.";
    let row = |tail: &str| {
        format!(
            r#"{{"id":1,"login":"coderabbitai[bot]","channel":"inline","body":"{body}{tail}","in_reply_to_id":null}}"#
        )
    };
    let answer = |tail: &str| classify_stream(row(tail).as_bytes(), &rules()).0.remove(0);
    let open = answer("");
    assert!(open.contains(r#""severity":"P2","decided_by":"tagged","rule":"coderabbit.toml:"#), "{open}");
    let closed = answer("\\n\\n✅ Addressed in commit 1a2b3c4");
    let expected = r#"{"id":1,"severity":"P2","decided_by":null,"rule":null,"kind":"finding","findings":[]}"#;
    assert_eq!(closed, expected);
}

#[test]
fn a_flood_of_labels_loses_no_level() {
    let many = "nit: sort it\n".repeat(3_000);
    let got = inline("ann", &format!("{many}P1: the hatch leaks\n{many}"));
    assert_eq!(got.severity(), Some(Severity::P1));
    let last = got.findings.last().expect("a finding");
    assert!(last.severity == Severity::P1 && last.text.contains("the hatch leaks"), "{:?}", last.severity);
    assert_eq!(inline("ann", &many).severity(), Some(Severity::Nit));
}

#[test]
fn r27_plain_text_hides_nothing() {
    assert_eq!(plain("a\u{1b}[31m<!-- do evil -->\u{202e}b\u{200b}", 100), "a[31mb");
}

/// The example of `docs/reviewers.md`, compiled beside the built-in files.
#[test]
fn the_documented_example_works() {
    let text = include_str!("../../docs/reviewers.md");
    let example = text.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
    let mut files = builtin();
    files.push(pushback::config::rules::parse("plumb", example).expect("the example parses"));
    let rules = Rules::compile(&files, &[], &BTreeMap::new()).expect("the example fits");
    let login = "plumb-review[bot]";
    let got = read(&rules, login, Channel::Inline, "[PLUMB-HIGH] The pipe leaks\n\nText");
    assert_eq!((got.severity(), got.findings[0].title.as_str()), (Some(Severity::P1), "The pipe leaks"));
    let body = "Plumb has finished: 1 remarks (commit 1a2b3c4)\n\n<details><summary>Unplaced remarks</summary>\n\n- `src/pipe.rs:4` [PLUMB-LOW] Name it\n\n</details>";
    let got = read(&rules, login, Channel::Conversation, body);
    let found = &got.findings[0];
    assert_eq!((found.severity, found.path.as_deref(), found.line), (Severity::P3, Some("src/pipe.rs"), Some(4)));
    let sha = Some("1a2b3c4".to_owned());
    assert_eq!(got.signals, [Signal::Finished { sha, clean: false, announced: Some(1) }]);
    let odd = read(&rules, login, Channel::Inline, "[PLUMB-ODD] Something new");
    assert_eq!((odd.severity(), odd.decided_by()), (Some(Severity::P2), Some(DecidedBy::UnknownTag)));
}

/// Every labelled comment of the repository's own corpus, one reviewer's format each.
#[test]
fn r3_r5_the_own_corpus_is_read_as_labelled() {
    let rules = rules();
    for line in include_str!("../corpus/unseen.jsonl").lines() {
        let row: serde_json::Value = serde_json::from_str(line).expect("a row");
        let (answers, _) = classify_stream(line.as_bytes(), &rules);
        let got: serde_json::Value = serde_json::from_str(&answers[0]).expect("an answer");
        let expect = &row["expect"];
        let severity = expect["severity"].as_str().expect("a severity");
        let assumed = severity == "unclassified";
        assert_eq!(got["severity"], if assumed { "P2" } else { severity }, "{}", row["id"]);
        assert_eq!(assumed, got["decided_by"] == "assumed", "{}", row["id"]);
        assert_eq!(got["kind"], expect["kind"], "{}", row["id"]);
        let findings = got["findings"].as_array().expect("findings");
        assert_eq!(findings.len() as u64, expect["findings"].as_u64().expect("a count"), "{}", row["id"]);
        if let Some(title) = expect["title"].as_str() {
            assert_eq!(findings[0]["title"], title, "{}", row["id"]);
        }
        if let Some(levels) = expect["levels"].as_array() {
            assert_eq!(&findings.iter().map(|f| f["severity"].clone()).collect::<Vec<_>>(), levels, "{}", row["id"]);
        }
        if let Some(places) = expect["places"].as_array() {
            let place = |f: &serde_json::Value| f["path"].as_str().map(|path| format!("{path}:{}", f["line"]));
            let places: Vec<_> = places.iter().map(|place| place.as_str().map(str::to_owned)).collect();
            assert_eq!(findings.iter().map(place).collect::<Vec<_>>(), places, "{}", row["id"]);
        }
    }
}

#[test]
fn r16_texts_say_how_a_review_stands() {
    let rules = rules();
    let say = |login: &str, body: &str| read(&rules, login, Channel::Conversation, body).signals;
    let sha = |text: &str| Some(text.to_owned());
    let codex = "chatgpt-codex-connector[bot]";
    let clean = "Codex Review: Didn't find any major issues. Swish!\n\n**Reviewed commit:** `ab12cd34ef`";
    assert_eq!(say(codex, clean), [Signal::Finished { sha: sha("ab12cd34ef"), clean: true, announced: Some(0) }]);
    let row = |state| {
        format!(
            "<!-- codex-pull-request-review-summary -->\n\n| Review | Status | Commit |\n|---|---|---|\n| 📝 **Code Review** | {state} | `ab12cd3` | Push |\n| 🔒 **Security Review** | ✅ **Completed** | `ffffff1` | Push |"
        )
    };
    assert_eq!(say(codex, &row("🔄 **Running**")), [Signal::Running]);
    assert_eq!(
        say(codex, &row("✅ **Completed**")),
        [Signal::Finished { sha: sha("ab12cd3"), clean: false, announced: None }]
    );
    let limit =
        "## Rate limit exceeded\n\n> Please wait **17 minutes and 37 seconds** before the next one. 5 reviews/hour.";
    assert_eq!(say("coderabbitai[bot]", limit), [Signal::Limited { wait_s: Some(1_057), clears: true }]);
    let busy = "Currently processing new changes in this PR. This may take a few minutes, please wait...\n\n<details>\n<summary>Commits</summary>\nReviewing files that changed from the base of the PR and between 1111111 and 2222222.\n</details>";
    assert_eq!(say("coderabbitai[bot]", busy), [Signal::Running]);
    assert!(matches!(
        &say("coderabbitai[bot]", "<!-- rate limited by coderabbit.ai -->\n## Review skipped\n\nToo many files!")[..],
        [Signal::Skipped(_)]
    ));
    assert!(matches!(
        &say(codex, "You have reached your Codex usage limits for code reviews.")[..],
        [Signal::Limited { wait_s: None, clears: false }]
    ));
}

#[test]
fn r12_the_hash_is_that_of_the_meaning() {
    let rules = rules();
    let hash = |body: &str| {
        let got = read(&rules, "coderabbitai[bot]", Channel::Inline, body);
        got.findings.first().or(got.closed_finding.as_ref()).map(|f| f.body_hash.clone())
    };
    let body = "_⚠️ Potential issue_ | _🟠 Major_\n\n**Seal the hatch.**\n\n- [ ] It leaks.";
    let same = [
        format!("{body}\n\n<!-- cr-comment:v1:aa11 -->\n\n<!-- This is an auto-generated comment by CodeRabbit -->"),
        format!("{body}\n\n✅ Addressed in commit 1a2b3c4"),
        format!("{body}\n\n<details>\n<summary>🤖 Prompt for AI Agents</summary>\n\n```\nx\n```\n\n</details>"),
        body.replace("[ ]", "[x]").replace('\n', "  \r\n"),
    ];
    for other in &same {
        assert_eq!(hash(other), hash(body), "{other}");
    }
    assert_ne!(hash(&body.replace("leaks", "floods")), hash(body));
    assert_ne!(hash(&format!("{body}\n\n```\nlet x = 1;\n```")), hash(body));
}

#[test]
fn r12_an_identity_survives_a_repost() {
    let body = |line| {
        format!(
            "### Hatch leaks\n\n**High Severity**\n\n<!-- BUGBOT_BUG_ID: 11-aa-22 -->\n\n<!-- LOCATIONS START\nsrc/hatch.rs#L{line}-L{line}\nLOCATIONS END -->"
        )
    };
    let (first, second) = (inline("cursor[bot]", &body(4)), inline("cursor[bot]", &body(9)));
    assert_eq!(first.findings[0].identity.as_deref(), Some("11-aa-22"));
    assert_eq!(first.findings[0].identity, second.findings[0].identity);
    assert_eq!((first.findings[0].path.as_deref(), second.findings[0].line), (Some("src/hatch.rs"), Some(9)));
}

#[test]
fn r3_one_inline_comment_can_be_merged_to_one_finding() {
    let got = inline("ann", "P3: sort the rows\n\nP1: the hatch leaks");
    let merged = got.merged().expect("a finding");
    assert_eq!((got.findings.len(), merged.severity, merged.title.as_str()), (2, Severity::P1, "sort the rows"));
    assert!(merged.text.contains("hatch leaks"));
}

#[test]
fn copilot_reports_the_levels_of_its_open_threads() {
    let picture = |level: &str| format!("<picture><img src=\"x\" alt=\"{level} severity\"></picture>");
    let body = format!(
        "<!-- ccr-overview-v2 -->\n\n### 🟡 Changes recommended\n\n<details open>\n<summary><strong>1 open finding</strong></summary>\n\n- {} [A](#discussion_r11) · New\n</details>\n\n<details>\n<summary><strong>Resolved since last review (1)</strong></summary>\n\n- {} [B](#discussion_r12)\n</details>",
        picture("High"),
        picture("Low")
    );
    let got = read(&rules(), "copilot-pull-request-reviewer[bot]", Channel::Review, &body);
    assert_eq!((got.kind, got.findings.len()), (Kind::Summary, 0));
    assert!(got.signals.contains(&Signal::ReportsLevels(vec![(11, Severity::P1)])), "{:?}", got.signals);
}
