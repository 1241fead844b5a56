//! The message of a round's commit: what was asked, and in a trailer what the change claims to have fixed.
//!
//! A trailer proves nothing; where state is lost it is all that is known of a claim, and git is asked (R13).

use crate::review::compose;
use crate::review::decision::Verb;
use crate::review::disarm;
use crate::review::ids::FindingId;
use crate::review::summary::{Entry, Summary};
use crate::review::words;

/// Names a finding in a commit's message. The forge acts upon messages: it closes issues and tells people, so that a
/// reviewer's words are posted words here too.
pub(super) fn item(entry: &Entry) -> String {
    format!("- {} {}: {}", entry.finding.id, entry.finding.severity, disarm::one_line(&entry.finding.title))
}

/// Writes the message of the round that is under way: about what the change claims to fix, else about what was asked.
pub(super) fn of_round(summary: &Summary, round: u32, sent: &[FindingId], tests: bool) -> String {
    let claimed = claimed(summary, sent);
    let (verb, about) = if claimed.is_empty() { ("Work on", sent) } else { ("Address", claimed.as_slice()) };
    let titles: Vec<String> = about.iter().filter_map(|id| summary.comments.get(id)).map(item).collect();
    let findings = words::count(titles.len(), "review finding");
    let subject = match (titles.is_empty(), tests) {
        (true, _) => "Mend the spec tests".to_owned(),
        (false, false) => format!("{verb} {findings}"),
        (false, true) => format!("Mend the spec tests and {} {findings}", verb.to_lowercase()),
    };
    let ids: Vec<String> = claimed.iter().map(ToString::to_string).collect();
    let trailer = match (ids.is_empty(), tests) {
        (false, _) => ids.join(", "),
        (true, true) => "tests".to_owned(),
        (true, false) => "none".to_owned(),
    };
    let list = if titles.is_empty() { String::new() } else { format!("{}\n\n", titles.join("\n")) };
    format!("{subject}\n\n{list}Pushback-Round: {round}\nPushback-Findings: {trailer}\n")
}

/// The findings that the editor says its change answers. What is argued or left for later is no fix, whatever else the
/// commit changes near it.
fn claimed(summary: &Summary, sent: &[FindingId]) -> Vec<FindingId> {
    let decisions = summary.rounds.last().map(|round| round.decisions.as_slice()).unwrap_or_default();
    let entries: Vec<_> = sent.iter().filter_map(|id| summary.comments.get(id)).collect();
    let groups = compose::merged(&entries);
    let decided = |id: FindingId| decisions.iter().find(|decision| decision.id == id).map(|one| one.decision);
    let by_change = |id: &FindingId| {
        let group = groups.iter().find(|group| group.iter().any(|entry| entry.finding.id == *id));
        let of_group = || group.and_then(|group| group.iter().find_map(|entry| decided(entry.finding.id)));
        match decided(*id).or_else(of_group) {
            Some(Verb::Fix | Verb::Stale) => true,
            Some(Verb::Argue | Verb::Defer | Verb::Answer) | None => false,
        }
    };
    sent.iter().filter(|id| by_change(id)).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::review::commit::answered;
    use crate::review::decision::Decision;
    use crate::review::sample;
    use crate::review::severity::Severity;
    use crate::review::summary::RoundRecord;

    #[test]
    fn r27_a_reviewers_words_close_no_issue_and_call_nobody() {
        let mut entry = sample::entry("c1", Severity::P2);
        entry.finding.title = "Fixes #12 and o/r#3 for @ann \u{1b}[2J<!-- x --> with `a || b`".to_owned();
        let id = entry.finding.id;
        let message = of_round(&sample::summary(vec![entry]), 1, &[id], false);
        for live in ["#12", "#3", "@ann", "\u{1b}", "<!--"] {
            assert!(!message.contains(live), "{live}: {message}");
        }
        assert!(message.contains("- c1 P2: Fixes "), "{message}");
    }

    #[test]
    fn r13_a_commit_claims_only_what_the_editor_says_it_fixed() {
        let check = |answers: &[(&str, Verb)], tests: bool, subject: &str, list: &str, trailer: &str| {
            let ids: Vec<FindingId> = ["c1", "c2"].iter().map(|id| id.parse().expect("an id")).collect();
            let entries = ["c1", "c2"].map(|id| sample::entry(id, Severity::P2)).to_vec();
            let mut summary = sample::summary(entries);
            let mut round = RoundRecord::begun(1, sample::sha('a'), ids.clone());
            round.decisions = answers
                .iter()
                .map(|(id, verb)| Decision {
                    id: id.parse().expect("an id"),
                    decision: *verb,
                    reason: String::new(),
                    places: Vec::new(),
                    plan: None,
                })
                .collect();
            summary.rounds.push(round);
            let message = of_round(&summary, 1, &ids, tests);
            let listed: Vec<&str> =
                ["c1", "c2"].into_iter().filter(|id| message.contains(&format!("- {id} P2: "))).collect();
            assert_eq!((message.lines().next(), listed.join(", ").as_str()), (Some(subject), list), "{message}");
            assert!(message.ends_with(&format!("\nPushback-Findings: {trailer}\n")), "{message}");
            assert_eq!(answered(&message).is_empty(), !trailer.contains('c'), "{message}");
        };
        let both = "c1, c2";
        check(&[("c1", Verb::Fix), ("c2", Verb::Stale)], false, "Address 2 review findings", both, both);
        check(&[("c1", Verb::Fix), ("c2", Verb::Defer)], false, "Address 1 review finding", "c1", "c1");
        check(&[("c1", Verb::Fix)], true, "Mend the spec tests and address 1 review finding", "c1", "c1");
        check(&[("c1", Verb::Argue)], true, "Mend the spec tests and work on 2 review findings", both, "tests");
        check(&[], false, "Work on 2 review findings", both, "none");
    }
}
