//! What rounds tried on a finding, in words: for a person who has to go on where the editor did not.

use super::ids::FindingId;
use super::summary::{Entry, RoundOutcome, Summary};

/// Returns one line a round that was given this finding or one it came back from, then why its last answer was refused.
pub fn tried(summary: &Summary, entry: &Entry) -> Vec<String> {
    let own = |id: &FindingId| *id == entry.finding.id || entry.finding.previous.contains(id);
    let rounds = summary.rounds.iter().filter(|round| round.sent.iter().any(own));
    let mut lines: Vec<String> = rounds
        .map(|round| {
            let answer = round.decisions.iter().find(|decision| own(&decision.id));
            let word = match (answer, round.outcome) {
                (Some(answer), _) => answer.decision.as_str(),
                (None, RoundOutcome::Editing) => "under way",
                (None, _) => "no answer",
            };
            let commit = round.head_after.as_ref().map_or(String::new(), |sha| format!(", {}", sha.short()));
            let why = if round.why.is_empty() { String::new() } else { format!(": {}", round.why) };
            format!("round {}: {word}{commit}{why}", round.n)
        })
        .collect();
    lines.extend(entry.refused.iter().map(|why| format!("last answer refused: {why}")));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::review::decision::{Decision, Verb};
    use crate::review::sample;
    use crate::review::severity::Severity;
    use crate::review::summary::RoundRecord;

    #[test]
    fn rounds_of_a_finding_and_of_those_it_came_back_from_are_told_in_order() {
        let id = |text: &str| -> FindingId { text.parse().expect("an id") };
        let mut entry = sample::entry("c2", Severity::P1);
        entry.finding.previous = vec![id("c1")];
        entry.refused = Some("the change touches nothing there".to_owned());
        let mut summary = sample::summary(vec![entry.clone()]);
        let mut round = |n, of: &str, verb: Option<Verb>, outcome, why: &str| {
            let mut record = RoundRecord::begun(n, sample::sha('a'), vec![id(of)]);
            record.decisions = verb
                .into_iter()
                .map(|verb| Decision {
                    id: id(of),
                    decision: verb,
                    reason: String::new(),
                    places: Vec::new(),
                    plan: None,
                })
                .collect();
            (record.outcome, record.why) = (outcome, why.to_owned());
            record.head_after = verb.map(|_| sample::sha('b'));
            summary.rounds.push(record);
        };
        round(1, "c1", Some(Verb::Fix), RoundOutcome::Pushed, "");
        round(2, "c9", Some(Verb::Fix), RoundOutcome::Pushed, "");
        round(3, "c2", None, RoundOutcome::Failed, "exit code 1");
        round(4, "c2", None, RoundOutcome::Editing, "");
        assert_eq!(
            tried(&summary, &entry),
            [
                "round 1: fix, bbbbbbbbbb",
                "round 3: no answer: exit code 1",
                "round 4: under way",
                "last answer refused: the change touches nothing there",
            ]
        );
    }
}
