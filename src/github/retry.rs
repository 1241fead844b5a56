//! Decides what an answer means for the request: take it, try again, wait, or give up. Knows no clock and sends nothing.

use std::time::Duration;

use jiff::Timestamp;
use reqwest::header::HeaderMap;

/// Tries of one request before it is given up.
pub(crate) const TRIES: u32 = 3;
/// Waits for a limit within one request.
pub(crate) const LIMIT_WAITS: u32 = 3;
const SECONDARY: Duration = Duration::from_secs(60);
const LONGEST: Duration = Duration::from_secs(900);

/// Whether repeating a request can do something twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Repeating is harmless.
    Read,
    /// Sent once.
    Write,
}

/// An answer as far as the decision needs it.
pub(crate) struct Signs<'a> {
    /// HTTP status.
    pub(crate) status: u16,
    /// Headers.
    pub(crate) headers: &'a HeaderMap,
    /// The `message` of an error body, or empty.
    pub(crate) message: &'a str,
}

/// What has been tried.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tries {
    /// Failed attempts before this answer.
    pub(crate) failed: u32,
    /// Limits met before this answer.
    pub(crate) limited: u32,
}

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Decision {
    /// A good answer.
    Take,
    /// Nothing changed since the answer that the condition names.
    Unchanged,
    /// Try again after this time.
    Again(Duration),
    /// A limit until then; whether to wait is the caller's business.
    WaitUntil(Timestamp),
    /// The token is not accepted.
    Unauthorised,
    /// The token may not do this.
    Forbidden,
    /// Not there, or not visible.
    Missing,
    /// Nothing to hope for.
    Fail,
}

/// Decides on an answer. `spread` in 0..=1 spreads retries of several readers.
pub(crate) fn decide(signs: &Signs<'_>, tries: Tries, now: Timestamp, kind: Kind, spread: f64) -> Decision {
    match signs.status {
        200..=299 => Decision::Take,
        304 => Decision::Unchanged,
        401 => Decision::Unauthorised,
        403 | 429 => limit(signs, tries, now).map_or(Decision::Forbidden, Decision::WaitUntil),
        404 | 410 => Decision::Missing,
        500 | 502 | 503 | 504 => again(signs.headers, tries, now, kind, spread),
        _ => Decision::Fail,
    }
}

fn again(headers: &HeaderMap, tries: Tries, now: Timestamp, kind: Kind, spread: f64) -> Decision {
    match broken(tries, kind, spread) {
        None => Decision::Fail,
        Some(pause) => match retry_after(headers, now) {
            Some(until) if until > later(now, pause) => Decision::WaitUntil(until),
            _ => Decision::Again(pause),
        },
    }
}

/// Returns the pause before a broken request is tried again; `None` when it is not.
pub(crate) fn broken(tries: Tries, kind: Kind, spread: f64) -> Option<Duration> {
    if kind == Kind::Write || tries.failed + 1 >= TRIES {
        return None;
    }
    let base = Duration::from_millis(250) * 2_u32.pow(tries.failed);
    Some(base + base.mul_f64(spread.clamp(0.0, 1.0)))
}

/// Returns until when a limit holds; `None` when the refusal is no limit.
pub(crate) fn limit(signs: &Signs<'_>, tries: Tries, now: Timestamp) -> Option<Timestamp> {
    if let Some(until) = retry_after(signs.headers, now) {
        return Some(until);
    }
    if number(signs.headers, "x-ratelimit-remaining") == Some(0) {
        return Some(reset(signs.headers).unwrap_or_else(|| later(now, SECONDARY)).max(now));
    }
    let message = signs.message.to_ascii_lowercase();
    let words = ["secondary rate limit", "abuse", "rate limit exceeded"];
    if signs.status == 429 || words.iter().any(|word| message.contains(word)) {
        return Some(later(now, backoff(tries.limited)));
    }
    None
}

/// Returns the wait for a limit that names no time: a minute, doubling, capped.
pub(crate) fn backoff(limited: u32) -> Duration {
    SECONDARY.saturating_mul(2_u32.saturating_pow(limited)).min(LONGEST)
}

/// Returns the reset time of the quota that answered.
pub(crate) fn reset(headers: &HeaderMap) -> Option<Timestamp> {
    number(headers, "x-ratelimit-reset").and_then(|seconds| Timestamp::from_second(seconds).ok())
}

/// Adds a time, never overflowing.
pub(crate) fn later(now: Timestamp, by: Duration) -> Timestamp {
    now.checked_add(by).unwrap_or(Timestamp::MAX)
}

fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Timestamp> {
    let text = headers.get("retry-after")?.to_str().ok()?.trim();
    match text.parse::<u64>() {
        // At least a second: a limit that is over at once would be met again at once.
        Ok(seconds) => Some(later(now, Duration::from_secs(seconds.clamp(1, 31 * 86_400)))),
        Err(_) => http_date(text),
    }
}

/// Parses the date format of HTTP headers.
pub(crate) fn http_date(text: &str) -> Option<Timestamp> {
    jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(text).ok()
}

fn number(headers: &HeaderMap, name: &str) -> Option<i64> {
    headers.get(name)?.to_str().ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use reqwest::header::{HeaderName, HeaderValue};

    use super::*;

    fn headers(list: &[(&'static str, &'static str)]) -> HeaderMap {
        list.iter().map(|(n, v)| (HeaderName::from_static(n), HeaderValue::from_static(v))).collect()
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("a time")
    }

    #[test]
    fn fm_19_answers_are_decided() {
        let check = |status, list: &[_], message, tries: (u32, u32), kind, expected: Decision| {
            let headers = headers(list);
            let signs = Signs { status, headers: &headers, message };
            let tries = Tries { failed: tries.0, limited: tries.1 };
            assert_eq!(decide(&signs, tries, at(1000), kind, 0.0), expected, "{status} {list:?} {message} {tries:?}");
        };
        let wait = |second| Decision::WaitUntil(at(second));
        use Kind::{Read, Write};
        check(200, &[], "", (0, 0), Read, Decision::Take);
        check(201, &[], "", (0, 0), Write, Decision::Take);
        check(304, &[], "", (0, 0), Read, Decision::Unchanged);
        check(401, &[("x-ratelimit-remaining", "0")], "", (0, 0), Read, Decision::Unauthorised);
        check(403, &[], "Resource not accessible by integration", (0, 0), Read, Decision::Forbidden);
        check(403, &[("x-ratelimit-remaining", "12")], "no", (0, 0), Read, Decision::Forbidden);
        check(403, &[("retry-after", "7")], "", (0, 0), Read, wait(1007));
        check(403, &[("retry-after", "0")], "", (0, 0), Read, wait(1001));
        check(429, &[("retry-after", "Thu, 01 Jan 1970 00:20:00 GMT")], "", (0, 0), Read, wait(1200));
        check(403, &[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1900")], "", (0, 0), Read, wait(1900));
        check(403, &[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "9")], "", (0, 0), Read, wait(1000));
        check(403, &[], "You have exceeded a secondary rate limit", (0, 0), Read, wait(1060));
        check(403, &[], "triggered an Abuse detection", (0, 1), Read, wait(1120));
        check(429, &[], "", (0, 2), Write, wait(1240));
        check(429, &[], "", (0, 30), Read, wait(1900));
        check(404, &[], "", (0, 0), Read, Decision::Missing);
        check(410, &[], "", (0, 0), Read, Decision::Missing);
        check(422, &[], "", (0, 0), Write, Decision::Fail);
        check(418, &[], "", (0, 0), Read, Decision::Fail);
        check(502, &[], "", (0, 0), Read, Decision::Again(Duration::from_millis(250)));
        check(503, &[], "", (1, 0), Read, Decision::Again(Duration::from_millis(500)));
        check(503, &[("retry-after", "30")], "", (0, 0), Read, wait(1030));
        check(504, &[], "", (2, 0), Read, Decision::Fail);
        check(500, &[], "", (0, 0), Write, Decision::Fail);
        check(501, &[], "", (0, 0), Read, Decision::Fail);
    }

    #[test]
    fn pauses_are_spread_and_writes_never_repeated() {
        let first = Tries::default();
        assert_eq!(broken(first, Kind::Read, 1.0), Some(Duration::from_millis(500)));
        assert_eq!(broken(first, Kind::Read, 9.0), Some(Duration::from_millis(500)));
        assert_eq!(broken(first, Kind::Write, 0.5), None);
    }
}
