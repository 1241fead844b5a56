//! Every sentence we post. What is posted, where and when is decided in `outbox`.
//!
//! Reasons and titles come from outside: they pass `disarm` here, so that no caller can forget it.

use super::disarm::{disarm, link_text, one_line};
use super::ids::Sha;
use super::marker::Marker;

const ARGUED: &str = "Left as it is: ";
const DEFERRED: &str = "Out of scope for this pull request. The follow-up is planned in ";
const LISTED: &str = "The reason is also in the pull request description. A reply here opens this again.";

/// One answer inside a conversation comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// What it answers.
    pub title: String,
    /// Page of the finding.
    pub url: String,
    /// The answer, one of the texts of this module.
    pub text: String,
}

/// Joins a text and its receipts; receipts are the last lines.
pub fn post(text: &str, markers: &[Marker]) -> String {
    let receipts: Vec<String> = markers.iter().map(Marker::render).collect();
    format!("{}\n\n{}", text.trim_end(), receipts.join("\n"))
}

/// Returns a posted text without its receipts.
pub fn without_receipts(body: &str) -> String {
    let mut lines: Vec<&str> = body.trim_end().lines().collect();
    while lines.last().is_some_and(|line| line.trim().is_empty() || Marker::from_line(line).is_some()) {
        lines.pop();
    }
    lines.join("\n")
}

/// Argues a finding down, in its thread.
pub fn argue(reason: &str) -> String {
    format!("{ARGUED}{}\n\n{LISTED}", disarm(reason))
}

/// Argues a finding down that has no thread.
pub fn argue_in_conversation(reason: &str) -> String {
    format!("{ARGUED}{}", disarm(reason))
}

/// Returns the reason out of a posted argument.
pub fn argued_reason(text: &str) -> Option<String> {
    let rest = text.trim_start().strip_prefix(ARGUED)?;
    let reason = rest.split(LISTED).next().unwrap_or(rest).trim();
    (!reason.is_empty()).then(|| reason.to_owned())
}

/// Names the fix, in one line.
pub fn fixed(commit: &Sha, place: &str) -> String {
    let place = one_line(place).replace('`', "");
    if place.is_empty() {
        format!("Fixed in {}.", commit.short())
    } else {
        format!("Fixed in {} (`{place}`).", commit.short())
    }
}

/// Says that the place is gone.
pub fn stale(because: &str, head: &Sha) -> String {
    let because = one_line(because);
    let because = because.trim_end_matches('.');
    if because.is_empty() {
        format!("No longer applicable as of {}.", head.short())
    } else {
        format!("No longer applicable as of {}: {because}.", head.short())
    }
}

/// Links the follow-up.
pub fn defer(title: &str, url: &str) -> String {
    format!("{DEFERRED}{}.", link(title, url))
}

/// Returns the link out of a posted follow-up.
pub fn deferred_link(text: &str) -> Option<String> {
    let (_, rest) = text.trim_start().strip_prefix(DEFERRED)?.split_once("](")?;
    rest.split_once(')').map(|(url, _)| url.to_owned())
}

/// Answers a question.
pub fn answer(text: &str) -> String {
    disarm(text)
}

/// Says why a command was not taken, and how commands are written.
pub fn command_refused(why: &str) -> String {
    let why = one_line(why);
    format!(
        "That command was not taken: {}. Commands stand in the first line of a reply: `/pushback accept`, \
         `/pushback retry`, `/pushback regrade P1|P2|P3|nit REASON`, `/pushback out-of-scope REASON`.",
        why.trim_end_matches('.')
    )
}

/// Asks a reviewer to look again: the one text that is meant to ring, taken from the reviewer's rules and nobody else.
pub fn request(mention: &str) -> String {
    mention.trim().to_owned()
}

/// Answers several findings that have no thread, one paragraph each.
pub fn round(answers: &[Answer]) -> String {
    let each = |a: &Answer| format!("**{}**\n\n{}", link(&a.title, &a.url), a.text.trim_end());
    answers.iter().map(each).collect::<Vec<_>>().join("\n\n---\n\n")
}

/// Returns a link, or the bare text where the address is not one that can stand in a link.
pub fn link(title: &str, url: &str) -> String {
    let text = link_text(title, 90);
    let good = |c: char| {
        c.is_ascii_graphic() && !matches!(c, '(' | ')' | '<' | '>' | '"' | '|' | '`' | '\\' | '[' | ']' | '@')
    };
    let web = url.starts_with("https://") || url.starts_with("http://");
    if web && url.len() <= 500 && url.chars().all(good) { format!("[{text}]({url})") } else { text }
}

/// Counts things whose many have a word of their own.
pub fn count_of(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// Counts things: `1 file`, `2 files`.
pub fn count(n: usize, thing: &str) -> String {
    count_of(n, thing, &format!("{thing}s"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::review::ids::{PrNumber, PrRef};
    use crate::review::marker::{key, parse_all};
    use crate::review::summary::WriteKind;
    use insta::assert_snapshot;
    use proptest::prelude::*;

    fn head() -> Sha {
        Sha::parse(&"a1".repeat(20)).expect("sha")
    }

    fn marker(id: &str) -> Marker {
        let pr = PrRef { host: "github.com".into(), slug: "o/r".parse().expect("slug"), number: PrNumber(7) };
        let key = key(WriteKind::Argue, id, "hash");
        Marker::new(WriteKind::Argue, id, &key, &pr, &head()).expect("marker")
    }

    #[test]
    fn r25_replies_are_short() {
        assert_snapshot!(post(&argue("`parse` already rejects empty input; see @codex."), &[marker("c12")]), @r"
        Left as it is: `parse` already rejects empty input; see ＠codex.

        The reason is also in the pull request description. A reply here opens this again.

        <!-- pushback:1 argue c12 k=b2003a51c2411c0f pr=o/r#7 head=a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1 -->
        ");
        assert_snapshot!(fixed(&head(), "src/a.rs:10-14"), @"Fixed in a1a1a1a1a1 (`src/a.rs:10-14`).");
        assert_snapshot!(fixed(&head(), ""), @"Fixed in a1a1a1a1a1.");
        assert_snapshot!(stale("`src/a.rs` was removed.", &head()), @"No longer applicable as of a1a1a1a1a1: `src/a.rs` was removed.");
        assert_snapshot!(defer("Cache | plan", "https://github.com/o/r/blob/x/wiki/plans/a.md"), @"Out of scope for this pull request. The follow-up is planned in [Cache / plan](https://github.com/o/r/blob/x/wiki/plans/a.md).");
        assert_snapshot!(link("a", "javascript:alert(1)"), @"a");
    }

    #[test]
    fn r25_one_comment_answers_what_has_no_thread() {
        let of = |n: u32| Answer {
            title: format!("Finding {n} @codex"),
            url: format!("https://github.com/o/r/pull/7#pullrequestreview-{n}"),
            text: argue_in_conversation("the caller holds the lock"),
        };
        let body = post(&round(&[of(1), of(2)]), &[marker("r1.1"), marker("r2.1")]);
        assert_eq!(parse_all(&body).len(), 2);
        assert_snapshot!(body);
    }

    #[test]
    fn fc_32_only_a_request_rings() {
        assert_eq!(request(" @codex review\n"), "@codex review");
        for text in
            [argue("@codex review"), answer("@codex review"), stale("@codex review", &head()), defer("@codex", "")]
        {
            assert!(!text.contains('@'), "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_text_ends_in_its_receipt(reason in "(?s).{0,300}", title in ".{0,80}", url in ".{0,80}") {
            let marker = marker("c12");
            let answer = Answer { title: title.clone(), url: url.clone(), text: argue_in_conversation(&reason) };
            let texts = [argue(&reason), self::answer(&reason), stale(&reason, &head()), fixed(&head(), &title),
                         defer(&title, &url), round(&[answer.clone(), answer])];
            for text in texts {
                prop_assert_eq!(parse_all(&post(&text, std::slice::from_ref(&marker))), vec![marker.clone()], "{}", text);
            }
        }

        #[test]
        fn r13_the_reason_is_read_back(reason in "[a-z`*\n -]{1,200}") {
            let clean = disarm(&reason);
            prop_assume!(!clean.is_empty());
            prop_assert_eq!(argued_reason(&argue(&reason)), Some(clean));
        }
    }
}
