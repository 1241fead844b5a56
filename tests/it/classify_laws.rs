//! Laws of the classifier that hold for every text.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use proptest::prelude::*;
use pushback::config::rules::builtin;
use pushback::review::classify::{Classified, CommentInput, Kind, Rules, classify};
use pushback::review::comment::{AccountKind, Channel};
use pushback::review::ids::Login;
use pushback::review::severity::Severity;

static RULES: LazyLock<Rules> =
    LazyLock::new(|| Rules::compile(&builtin(), &[], &BTreeMap::new()).expect("the built-in rules compile"));

/// Findings with and without markers, of several kinds of authors.
const BASES: [(&str, &str); 12] = [
    (
        "chatgpt-codex-connector[bot]",
        "**<sub><sub>![P2 Badge](https://img.shields.io/badge/P2-yellow)</sub></sub>  Keep the ledger sorted**\n\nRows move.",
    ),
    ("coderabbitai[bot]", "_⚠️ Potential issue_ | _🟡 Minor_\n\n**Name the ledger.**\n\nIt has none."),
    (
        "coderabbitai[bot]",
        "_🎯 Functional Correctness_ | _🔴 Critical_ | _⚡ Quick win_\n\n**Lock the ledger.**\n\nTwo writers.",
    ),
    ("cursor[bot]", "### Ledger is unsorted\n\n**Medium Severity**\n\nRows move."),
    ("gemini-code-assist[bot]", "![low](https://www.gstatic.com/codereviewagent/low-priority.svg)\n\nSort the ledger."),
    (
        "greptile-apps[bot]",
        "<a href=\"#\"><img alt=\"P3\" src=\"https://x/badges/p3.svg?v=9\" align=\"top\"></a> **Name it**\n\nText.",
    ),
    ("Copilot[bot]", "The ledger is not sorted."),
    ("sentry[bot]", "**Bug:** The ledger wraps.\n<sub>Severity: LOW</sub>\n\nText."),
    ("ann", "nit: name the ledger"),
    ("ann", "P1: the ledger is lost"),
    ("ann", "**issue (non-blocking):** the ledger is noisy\n\nSee the log."),
    ("ann", "The ledger is read twice."),
];

fn read(login: &str, channel: Channel, body: &str) -> Classified {
    let account = if login.ends_with("[bot]") { AccountKind::Bot } else { AccountKind::Person };
    classify(&RULES, &CommentInput::new(&Login::new(login), account, channel, body))
}

fn severity(login: &str, body: &str) -> Option<Severity> {
    read(login, Channel::Inline, body).severity()
}

/// A few words, some of which name levels, but never shaped like a label.
fn prose() -> impl Strategy<Value = String> {
    let words = [
        "the", "critical", "path", "P0", "P1", "major", "release", "nit", "blocker", "minor", "severity", "high", "it",
        "works", "blocking", "call", "must", "low", "bug", "debug", "issue",
    ];
    prop::collection::vec(prop::sample::select(words.to_vec()), 1..12).prop_map(|w| format!("So {}.", w.join(" ")))
}

/// A label as it would count if it stood in the author's own words.
fn label() -> impl Strategy<Value = String> {
    let labels = [
        "P0: gone",
        "[P1] gone",
        "nit: small",
        "**issue (blocking):** bad",
        "_🔴 Critical_",
        "![P1 Badge](x) bad",
        "**High Severity**",
        "<sub>Severity: CRITICAL</sub>",
        "BLOCKER: bad",
        "🔴 **Critical**: bad",
        "praise: good",
    ];
    prop::sample::select(labels.to_vec()).prop_map(str::to_owned)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn code_quotes_and_prose_change_no_severity(
        base in prop::sample::select(BASES.to_vec()), label in label(), prose in prose(), how in 0..6usize,
    ) {
        let (login, body) = base;
        let extra = match how {
            0 => format!("```\n{label}\n```"),
            1 => format!("~~~text\n{label}\n{prose}\n~~~"),
            2 => format!("> {label}\n> {prose}"),
            3 => format!("The form `{label}` is only named."),
            4 => format!("```suggestion\n{label}\n```"),
            _ => prose,
        };
        prop_assert_eq!(severity(login, &format!("{body}\n\n{extra}")), severity(login, body), "{}", extra);
        let before = if how == 5 { String::new() } else { format!("{extra}\n\n") };
        if how != 3 {
            prop_assert_eq!(severity(login, &format!("{before}{body}")), severity(login, body), "{}", before);
        }
    }

    #[test]
    fn appended_text_lowers_nothing(base in prop::sample::select(BASES.to_vec()), extra in "\\PC{0,40}", label in label()) {
        let (login, body) = base;
        let was = severity(login, body);
        for text in [format!("{body}\n\n{extra}"), format!("{body}\n\n{label}"), format!("{body} {extra}\n{label}")] {
            let now = severity(login, &text);
            prop_assert!(now.is_some() && now <= was, "{:?} -> {:?}: {}", was, now, text);
        }
    }

    #[test]
    fn dress_never_matters(base in prop::sample::select(BASES.to_vec()), seed in any::<u64>()) {
        let (login, body) = base;
        let plain = read(login, Channel::Inline, body);
        let dressed = body.replace('\n', "  \r\n").replace('⚠', "⚠\u{fe0f}").replace('P', if seed % 2 == 0 { "P\u{200b}" } else { "P" });
        let bare = body.replace('\u{fe0f}', "");
        for other in [dressed.as_str(), bare.as_str(), &format!("{body}\n\n"), &format!("\u{feff}{body}")] {
            let other = read(login, Channel::Inline, other);
            prop_assert_eq!((other.kind, other.severity(), other.findings.len()), (plain.kind, plain.severity(), plain.findings.len()));
            prop_assert_eq!(&other.findings[0].title, &plain.findings[0].title);
            prop_assert_eq!(&other.findings[0].body_hash, &plain.findings[0].body_hash);
        }
    }

    #[test]
    fn every_text_has_an_answer(body in "(?s).{0,200}", n in 0..40usize, channel in 0..3usize) {
        let logins: Vec<String> = RULES.reviewers().iter().filter_map(|r| r.aliases.first()).map(|l| format!("{l}[bot]")).collect();
        let login = logins.get(n).map_or("ann", String::as_str);
        let channel = [Channel::Inline, Channel::Review, Channel::Conversation][channel];
        let got = read(login, channel, &body);
        prop_assert_eq!(got.kind == Kind::Finding, !got.findings.is_empty() || got.closed_finding.is_some());
        prop_assert!(got.findings.iter().all(|f| !f.title.is_empty() && f.body_hash.len() == 32));
    }

    #[test]
    fn markup_soup_has_an_answer(parts in prop::collection::vec(prop::sample::select(vec![
        "<details>", "</details>", "<summary>", "</summary>", "<blockquote>", "</blockquote>", "<!--", "-->", "```", "~~~", "\n",
        "> ", "`", "P1: x", "**", "- ", "1. ", "🧹 Nitpick comments (1)", "src/a.rs (1)", "`10-12`: ", "\t", "    ", "é", "Outside diff range comments (1)",
    ]), 0..60), channel in 0..3usize, who in 0..4usize) {
        let body = parts.concat();
        let login = ["coderabbitai[bot]", "qodo-code-review[bot]", "ann", "copilot-pull-request-reviewer[bot]"][who];
        let channel = [Channel::Inline, Channel::Review, Channel::Conversation][channel];
        let got = read(login, channel, &body);
        prop_assert!(got.findings.iter().all(|f| !f.title.is_empty()));
    }
}
