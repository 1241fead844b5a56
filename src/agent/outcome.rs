//! Recognises, in an editor's last words, that it could not work: no login, out of quota, service overloaded.
//!
//! Words are weak proof. They are asked only where the program's own account is missing, and only its last lines count.

use std::sync::LazyLock;

use jiff::{SignedDuration, Timestamp};
use regex::Regex;

use crate::ports::AgentOutcome;
use crate::process::clean::one_line;

/// Lines, from the end, that count as last words.
const LAST: usize = 8;

#[derive(Clone, Copy)]
enum Kind {
    Limit,
    Login,
    Overload,
}

/// Patterns of one line, lower case. The first that fits decides.
const WORDS: &[(Kind, &str)] = &[
    (
        Kind::Limit,
        r"\b(usage|rate|session|weekly|daily|5-hour|request|token) limit( was| has been| is)? (reached|exceeded|hit)\b",
    ),
    (
        Kind::Limit,
        r"\b(hit|reached|exceeded) (your|the|its) ([a-z0-9-]+ )?(usage|rate|session|weekly|daily|5-hour|message|plan) limit\b",
    ),
    (Kind::Limit, r"\b(out of|exceeded|exceeded your|no remaining|insufficient)[ _](current )?(quota|credits?)\b"),
    (Kind::Limit, r"\b(quota|credits?) (was |has been |is |are )?(exceeded|exhausted|used up)\b"),
    (
        Kind::Limit,
        r"\bcredit balance is too low\b|\brate[ _-]?limit_?(error|ed|exceeded)\b|\btoo many requests\b|\bresource_exhausted\b",
    ),
    (
        Kind::Limit,
        r"^([a-z ]*\b(error|http|status|code|api)\b[^a-z0-9]*|[^a-z0-9]*)429([^a-z0-9]*$|[:,.) ] ?[^a-z0-9]*(too|rate|quota|error|\{|status|client))",
    ),
    (Kind::Login, r"\bnot logged in\b|\bplease (run|use) \S*[ /]?login\b|\b(please )?log ?in (again|to continue)\b"),
    (
        Kind::Login,
        r"\b(invalid|incorrect|missing|expired|revoked)[ _](x-)?api[ _-]?key\b|\bapi key (is |was )?(not set|not found|missing|invalid|expired)\b",
    ),
    (
        Kind::Login,
        r"\b(oauth|access|auth|session|login|credentials?)( token)? (has |have |is )?(expired|revoked)\b|\bauthentication_(error|failed)\b",
    ),
    (Kind::Login, r"\b(error|http|status|code|api)\b[^a-z0-9]*40[13]\b|\b401 unauthorized\b|\b403 forbidden\b"),
    (
        Kind::Overload,
        r"\boverloaded(_error)?\b|\b(error|http|status|code|api)\b[^a-z0-9]*(5(00|02|03|04|29))\b|\b503 service unavailable\b",
    ),
];

static RULES: LazyLock<Vec<(Kind, Regex)>> = LazyLock::new(|| {
    #[expect(clippy::expect_used, reason = "patterns are constants, compiled by a test")]
    WORDS.iter().map(|(kind, pattern)| (*kind, Regex::new(pattern).expect("a constant pattern"))).collect()
});

static IN: LazyLock<Regex> = LazyLock::new(|| {
    #[expect(clippy::expect_used, reason = "a constant pattern")]
    Regex::new(r"(?:again|retry|retry-after|resets?|available|wait)\D{0,20}?\b(\d{1,6}) ?(s|sec|secs|seconds?|m|min|mins|minutes?|h|hours?|d|days?)\b")
        .expect("a constant pattern")
});

static AT: LazyLock<Regex> = LazyLock::new(|| {
    #[expect(clippy::expect_used, reason = "a constant pattern")]
    Regex::new(r"\b(\d{4}-\d\d-\d\d[tT]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:[zZ]|[+-]\d\d:?\d\d))|\|(\d{10})\b")
        .expect("a constant pattern")
});

/// A question that waits for somebody at a terminal.
static ASKS: LazyLock<Regex> = LazyLock::new(|| {
    #[expect(clippy::expect_used, reason = "a constant pattern")]
    Regex::new(r"(?i)[(\[]y(?:es)?\)?(?:es)?/\(?n|\b(?:allow|approve|permit|trust|proceed|continue)\b[^.!]*\?\s*$|\bpermission (?:required|needed|requested)\b|\b(?:waiting for|requires?) (?:your )?(?:approval|permission|confirmation)\b")
        .expect("a constant pattern")
});

/// Says why a clock ended a run; a question as its last words is the likely reason (FC-57).
pub(super) fn late(why: &str, last: &str) -> AgentOutcome {
    let last = one_line(last, 200);
    AgentOutcome::TimedOut(if last.is_empty() {
        why.to_owned()
    } else if ASKS.is_match(&last) {
        format!(
            "{why}: it asked a question, and nobody answers here: {last}; allow that in its own settings, or in `agent.command`"
        )
    } else {
        format!("{why}; its last words: {last}")
    })
}

/// Returns the environment failure that the last lines of a text speak of.
pub fn environment_failure(text: &str, now: Timestamp) -> Option<AgentOutcome> {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = &lines[lines.len().saturating_sub(LAST)..];
    for line in last.iter().rev() {
        let low = one_line(line, 400).to_lowercase();
        if let Some((kind, _)) = RULES.iter().find(|(_, rule)| rule.is_match(&low)) {
            let why = one_line(line, 200);
            return Some(match kind {
                Kind::Limit => AgentOutcome::RateLimited {
                    why: format!("agent out of quota: {why}"),
                    retry_at: last.iter().find_map(|line| retry_at(line, now)),
                },
                Kind::Login => AgentOutcome::AuthFailed(format!("agent not logged in: {why}")),
                Kind::Overload => AgentOutcome::Overloaded(format!("agent's service overloaded: {why}")),
            });
        }
    }
    None
}

/// Returns the last line that is not empty.
pub(super) fn last_line(text: &str) -> &str {
    text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default()
}

/// Returns when a line says that one may come back.
fn retry_at(line: &str, now: Timestamp) -> Option<Timestamp> {
    if let Some(at) = AT.captures(line) {
        return match (at.get(1), at.get(2)) {
            (Some(date), _) => date.as_str().to_uppercase().parse().ok(),
            (_, Some(seconds)) => Timestamp::from_second(seconds.as_str().parse().ok()?).ok(),
            _ => None,
        };
    }
    let low = line.to_lowercase();
    let found = IN.captures(&low)?;
    let count: i64 = found[1].parse().ok()?;
    let unit = match found[2].as_bytes().first() {
        Some(b'm') => 60,
        Some(b'h') => 3600,
        Some(b'd') => 86_400,
        _ => 1,
    };
    now.checked_add(SignedDuration::from_secs(count * unit)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Timestamp {
        "2026-01-02T03:04:05Z".parse().unwrap()
    }

    fn kind(text: &str) -> &'static str {
        match environment_failure(text, now()) {
            Some(AgentOutcome::RateLimited { .. }) => "limit",
            Some(AgentOutcome::AuthFailed(_)) => "login",
            Some(AgentOutcome::Overloaded(_)) => "overload",
            None => "none",
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn fc_40_quota_and_login_are_recognised() {
        let check = |text: &str, wanted: &str| assert_eq!(kind(text), wanted, "{text}");
        check("Claude AI usage limit reached|1767330000", "limit");
        check("You've hit your usage limit. Try again in 2 hours.", "limit");
        check("you have reached your weekly limit", "limit");
        check("429", "limit");
        check("Error: 429", "limit");
        check("HTTP 429: Too Many Requests", "limit");
        check("API Error 429 {\"type\":\"error\"}", "limit");
        check("stream error: You exceeded your current quota, please check your plan", "limit");
        check("insufficient_quota", "limit");
        check("Credit balance is too low", "limit");
        check("Error: rate_limit_error\n\n", "limit");
        check("Invalid API key · Please run /login", "login");
        check("Not logged in.", "login");
        check("API Error: 401 {..}", "login");
        check("OAuth token has expired", "login");
        check("error: status 403", "login");
        check("API Error: 529 Overloaded", "overload");
        check("server returned status: 503", "overload");
    }

    #[test]
    fn ordinary_words_are_no_failure() {
        for text in [
            "",
            "429 tests passed",
            "Added a rate limit to the login handler.",
            "fixed src/http.rs:401",
            "the limit is 5",
            "return 429 when the bucket is empty",
            "usage limit reached\n1\n2\n3\n4\n5\n6\n7\n8",
            "implemented retries for overload",
        ] {
            assert_eq!(kind(text), "none", "{text}");
        }
    }

    #[test]
    fn the_time_to_come_back_is_read() {
        let check = |text: &str, wanted: Option<&str>| {
            let Some(AgentOutcome::RateLimited { retry_at, .. }) = environment_failure(text, now()) else {
                panic!("{text}")
            };
            assert_eq!(retry_at, wanted.map(|at| at.parse().unwrap()), "{text}");
        };
        check("usage limit reached", None);
        check("usage limit reached|1767330000", Some("2026-01-02T05:00:00Z"));
        check("rate limit exceeded, try again in 20s", Some("2026-01-02T03:04:25Z"));
        check("rate limit exceeded\nretry after 15 minutes", Some("2026-01-02T03:19:05Z"));
        check("rate limit reached; resets in 2 hours", Some("2026-01-02T05:04:05Z"));
        check("usage limit reached, resets at 2026-01-02T09:30:00Z", Some("2026-01-02T09:30:00Z"));
        check("rate limit exceeded, retry in 10 days", Some("2026-01-12T03:04:05Z"));
        check("rate limit exceeded, retry in 999999999 days", None);
    }
}
