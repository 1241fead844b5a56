//! The commit status that stands for a verdict (R19): its state, its one line with the time judged, and when a status
//! that is already there stands for a newer verdict. It writes nothing.

use jiff::Timestamp;

use crate::review::verdict::{Gate, Verdict};

/// Longest description the forge takes, in characters.
const LENGTH: usize = 140;
/// Two verdicts judged within this time cannot be told apart: the forge's clock has seconds, and answers take their time.
pub const CLOSE_S: i64 = 2;

/// A status that stands on the commit under our context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// `success`, `failure`, `error` or `pending`.
    pub state: String,
    /// Its one line.
    pub description: String,
    /// When it was made.
    pub at: Timestamp,
}

/// A status to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnStatus {
    /// `success`, `failure`, `error` or `pending`.
    pub state: &'static str,
    /// Its one line.
    pub description: String,
    /// When the reading began on which it rests, by the forge's clock.
    pub judged: Timestamp,
}

/// Says a verdict as a commit status. A clause that could not be read is an error: nobody waits for it to mend itself.
pub fn status_of(gate: &Gate, judged: Timestamp) -> OwnStatus {
    let (state, word) = match gate.verdict {
        Verdict::Ready => ("success", "ready"),
        Verdict::Blocked => ("failure", "blocked"),
        Verdict::Waiting => ("pending", "waiting"),
        Verdict::Unknown => ("error", "unknown"),
    };
    let telling = |clause: &&crate::review::verdict::Clause| match gate.verdict {
        Verdict::Ready => false,
        Verdict::Blocked => clause.ok == Some(false) && !clause.waiting,
        Verdict::Waiting => clause.ok == Some(false),
        Verdict::Unknown => clause.ok.is_none(),
    };
    let open: Vec<_> = gate.clauses.iter().filter(telling).collect();
    let names: Vec<&str> = open.iter().map(|clause| clause.clause.as_str()).collect();
    let mut what = word.to_owned();
    if let Some(first) = open.first() {
        what.push_str(&format!(": {}; {}", names.join(", "), first.reason));
    }
    own(state, &what, judged)
}

/// Makes a status of this state that says this.
pub fn own(state: &'static str, what: &str, judged: Timestamp) -> OwnStatus {
    let text: String = what.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let time = judged.strftime("%Y-%m-%dT%H:%M:%SZ");
    let mut description = format!("judged {time}: {text}");
    if description.chars().count() > LENGTH {
        description = description.chars().take(LENGTH - 1).chain(['…']).collect();
    }
    OwnStatus { state, description, judged }
}

/// Reads the time judged from a status; one that we did not write counts from when it was made. No verdict is younger
/// than its status, whatever the text says.
fn judged(standing: &Standing) -> Timestamp {
    let text = standing.description.strip_prefix("judged ").and_then(|rest| rest.split_once(": "));
    text.and_then(|(time, _)| time.parse().ok()).map_or(standing.at, |judged: Timestamp| judged.min(standing.at))
}

/// Returns the status that stands for a newer verdict than ours, if there is one. A good verdict also yields to any other
/// that was judged at about the same time.
pub fn newer<'a>(all: &'a [Standing], ours: &OwnStatus) -> Option<&'a Standing> {
    let own_second = ours.judged.as_second();
    all.iter().find(|other| {
        let second = judged(other).as_second();
        match (ours.state == "success", other.state == "success") {
            (true, false) => second + CLOSE_S >= own_second,
            (true, true) | (false, _) => second > own_second,
        }
    })
}

/// Tells whether two statuses differ in nothing but the time judged.
pub fn says_the_same(one: &OwnStatus, other: &OwnStatus) -> bool {
    let words = |own: &OwnStatus| own.description.split_once(": ").map(|(_, words)| words.to_owned());
    one.state == other.state && words(one) == words(other)
}

/// Tells whether the newest of these is ours.
pub fn stands(all: &[Standing], ours: &OwnStatus) -> bool {
    all.first().is_some_and(|top| top.state == ours.state && top.description == ours.description)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::review::ids::Sha;
    use crate::review::verdict::{Clause, ClauseName};

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).expect("a time")
    }

    fn gate(verdict: Verdict, clauses: &[(ClauseName, Option<bool>, bool, &str)]) -> Gate {
        let clause = |(clause, ok, waiting, reason): &(ClauseName, Option<bool>, bool, &str)| Clause {
            clause: *clause,
            ok: *ok,
            waiting: *waiting,
            reason: (*reason).to_owned(),
            remedy: String::new(),
            person: false,
        };
        let head = Sha::parse(&"b".repeat(40)).expect("a commit");
        Gate { verdict, head, clauses: clauses.iter().map(clause).collect() }
    }

    #[test]
    fn r19_every_verdict_has_its_state_and_says_when_it_was_judged() {
        use ClauseName::{Checks, Findings, Head, Spec};
        let all = [
            (Head, Some(true), false, "same"),
            (Checks, Some(false), true, "`test` is not done"),
            (Findings, Some(false), false, "1 open: c9 (P1)"),
            (Spec, None, false, "no record"),
        ];
        let check = |verdict, clauses: &[(ClauseName, Option<bool>, bool, &str)], state: &str, says: &str| {
            let own = status_of(&gate(verdict, clauses), at(7));
            assert_eq!((own.state, own.description.as_str()), (state, says));
        };
        let time = "judged 2027-01-15T08:00:07Z";
        check(Verdict::Ready, &all[..1], "success", &format!("{time}: ready"));
        check(Verdict::Blocked, &all, "failure", &format!("{time}: blocked: findings; 1 open: c9 (P1)"));
        check(Verdict::Waiting, &all[..2], "pending", &format!("{time}: waiting: checks; `test` is not done"));
        check(Verdict::Unknown, &all[3..], "error", &format!("{time}: unknown: spec; no record"));
    }

    #[test]
    fn r19_a_status_yields_to_a_newer_verdict() {
        let standing = |state: &str, judged: i64, made: i64| Standing {
            state: state.to_owned(),
            description: own("pending", "x", at(judged)).description,
            at: at(made),
        };
        let ours = |state, judged| own(state, "x", at(judged));
        let check = |other: Standing, own: OwnStatus, yields: bool| {
            assert_eq!(newer(std::slice::from_ref(&other), &own).is_some(), yields, "{other:?} {own:?}");
        };
        check(standing("failure", 90, 200), ours("success", 100), false);
        check(standing("failure", 110, 200), ours("success", 100), true);
        check(standing("failure", 99, 99), ours("success", 100), true);
        check(standing("pending", 100, 100), ours("success", 100), true);
        check(standing("success", 100, 100), ours("success", 100), false);
        check(standing("success", 101, 101), ours("success", 100), true);
        check(standing("success", 100, 100), ours("failure", 100), false);
        check(standing("success", 101, 101), ours("failure", 100), true);
        check(standing("failure", 101, 101), ours("pending", 100), true);
        let by_hand = Standing { state: "failure".to_owned(), description: "no".to_owned(), at: at(150) };
        check(by_hand.clone(), ours("success", 100), true);
        check(by_hand, ours("success", 200), false);
        assert_eq!(newer(&[], &ours("success", 1)), None);
        let buried = [standing("success", 50, 300), standing("failure", 110, 200)];
        assert!(newer(&buried, &ours("success", 100)).is_some(), "also one that lies below another");
    }

    #[test]
    fn r19_only_the_time_judged_may_differ() {
        assert!(says_the_same(&own("pending", "a: b", at(1)), &own("pending", "a: b", at(2))));
        assert!(!says_the_same(&own("pending", "a: b", at(1)), &own("pending", "a: c", at(1))));
        assert!(!says_the_same(&own("pending", "a", at(1)), &own("failure", "a", at(1))));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn r19_descriptions_fit_and_tell_their_time(text in "\\PC{0,300}", second in 0..100_000_000_i64) {
            let own = own("failure", &text, at(second));
            prop_assert!(own.description.chars().count() <= LENGTH);
            prop_assert!(!own.description.contains('\n'));
            let standing = Standing { state: "failure".to_owned(), description: own.description, at: at(200_000_000) };
            prop_assert_eq!(judged(&standing), at(second));
        }

        #[test]
        fn r19_of_two_verdicts_the_later_one_is_never_hidden(
            one in 0..20_i64, other in 0..20_i64, good in any::<(bool, bool)>(),
        ) {
            let make = |good, judged| own(if good { "success" } else { "failure" }, "x", at(judged));
            let seen = |own: &OwnStatus| Standing { state: own.state.to_owned(), description: own.description.clone(), at: at(50) };
            let (one, other) = (make(good.0, one), make(good.1, other));
            // Whoever writes second, a good verdict is on top only when no other was judged after it.
            if newer(&[seen(&other)], &one).is_none() && one.state == "success" {
                prop_assert!(other.judged <= one.judged);
            }
        }
    }
}
