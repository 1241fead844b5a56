//! What a commit's own words tell: which findings it says it answers, and whether a person made it. Proves nothing.

use super::ids::FindingId;

/// The trailer of a round's commit.
pub const TRAILER: &str = "Pushback-Findings:";

/// Returns the findings that a commit says it answers.
pub fn answered(message: &str) -> Vec<FindingId> {
    let lines = message.lines().filter_map(|line| line.strip_prefix(TRAILER));
    lines.flat_map(|ids| ids.split(',')).filter_map(|id| id.trim().parse().ok()).collect()
}

/// Tells whether a person made a commit (R20): it is of no round, and its author is no bot.
///
/// `author` is the name with the address in angle brackets.
pub fn by_person(author: &str, message: &str) -> bool {
    let of_a_round = message.lines().any(|line| line.starts_with(TRAILER));
    let (name, address) = author.rsplit_once('<').unwrap_or((author, ""));
    let account = address.split('@').next().unwrap_or_default();
    let bot = |text: &str| text.trim().to_ascii_lowercase().ends_with("[bot]");
    !of_a_round && !bot(name) && !bot(account)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trailers_name_findings() {
        let message =
            "Address 2 review findings\n\n- c1 P1: x\n\nPushback-Round: 1\nPushback-Findings: c1, r5.2, junk\n";
        let ids: Vec<String> = answered(message).iter().map(ToString::to_string).collect();
        assert_eq!(ids, ["c1", "r5.2"]);
        assert!(answered("Pushback-Findings: tests\n").is_empty());
    }

    #[test]
    fn r20_a_round_and_a_bot_are_no_person() {
        let check = |author: &str, message: &str, expected: bool| {
            assert_eq!(by_person(author, message), expected, "{author}: {message}");
        };
        check("Ann <ann@example.org>", "Handle empty lists", true);
        check("Ann <ann@example.org>", "Address 1 finding\n\nPushback-Round: 1\nPushback-Findings: c1\n", false);
        check("Ann <ann@example.org>", "Make the tests pass\n\nPushback-Findings: tests\n", false);
        check("pre-commit-ci[bot] <66853113+pre-commit-ci[bot]@users.noreply.github.com>", "auto fixes", false);
        check("Renovate <29139614+renovate[bot]@users.noreply.github.com>", "Update", false);
        check("Robot Ann <12+ann@users.noreply.github.com>", "Talk of Pushback-Findings: c1", true);
        check("Ann", "", true);
    }
}
