//! What is owed on a finding, in the contract's order and words. How it is posted is decided in `outbox`.

use super::decision::Verb;
use super::marker::key;
use super::severity::Severity;
use super::status::Status;
use super::summary::{Entry, WriteKind};

/// What is owed on a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Owed {
    /// A person's decision.
    Person,
    /// A fix by the editor; never an argument.
    Fix,
    /// A fix or an argument by the editor.
    FixOrArgue,
    /// Proof that the claimed commit reached the remote and touched the place.
    Proof,
    /// The reason, in the thread and in the description.
    Argue,
    /// A "no longer applicable" reply, and the reason in the description.
    NoLongerApplies,
    /// A link to the follow-up plan, and the reason in the description.
    FollowUp,
    /// An answer to a question.
    Answer,
    /// The fix in the description, and an end of its thread.
    Close,
    /// Its reason stays in the description.
    Keep,
    /// A line in the description.
    List,
    /// A place in the folded line of nits.
    Fold,
    /// Nothing.
    Nothing,
}

/// Returns what is owed. The first row that fits decides.
pub fn owed(entry: &Entry) -> Owed {
    let finding = &entry.finding;
    let pending = entry.pending.as_ref().map(|pending| pending.verb);
    match (finding.status, pending, finding.severity) {
        (Status::Open, _, Severity::P1 | Severity::P2) if finding.needs_person => Owed::Person,
        (Status::Open, Some(Verb::Fix), _) => Owed::Proof,
        (Status::Open, Some(Verb::Stale), _) => Owed::NoLongerApplies,
        (Status::Open, Some(Verb::Argue | Verb::Defer | Verb::Answer) | None, Severity::P1) => Owed::Fix,
        (Status::Open, Some(Verb::Argue), Severity::P2) => Owed::Argue,
        (Status::Open, Some(Verb::Defer), Severity::P2 | Severity::P3 | Severity::Nit) => Owed::FollowUp,
        (Status::Open, Some(Verb::Answer), Severity::P2 | Severity::P3 | Severity::Nit) => Owed::Answer,
        (Status::Open, None, Severity::P2) => Owed::FixOrArgue,
        (Status::Open, Some(Verb::Argue) | None, Severity::P3) => Owed::List,
        (Status::Open, Some(Verb::Argue) | None, Severity::Nit) => Owed::Fold,
        (Status::Fixed, _, _) => Owed::Close,
        (Status::Stale, _, _) => Owed::NoLongerApplies,
        (Status::Argued | Status::Deferred | Status::Answered, _, _) => Owed::Keep,
        (Status::Acknowledged, _, Severity::P1 | Severity::P2 | Severity::P3) => Owed::List,
        (Status::Acknowledged, _, Severity::Nit) => Owed::Fold,
        (Status::Withdrawn | Status::Duplicate | Status::Gone, _, _) => Owed::Nothing,
    }
}

/// Tells whether the editor is to be started for a finding.
pub fn editor_owes(entry: &Entry) -> bool {
    match owed(entry) {
        Owed::Fix | Owed::FixOrArgue => true,
        Owed::Person
        | Owed::Proof
        | Owed::Argue
        | Owed::NoLongerApplies
        | Owed::FollowUp
        | Owed::Answer
        | Owed::Close
        | Owed::Keep
        | Owed::List
        | Owed::Fold
        | Owed::Nothing => false,
    }
}

/// Returns the key of a text about the present version of a finding: another text, or a re-entry, is another version.
pub fn key_of(kind: WriteKind, entry: &Entry) -> String {
    key_of_version(kind, entry, entered(kind, entry))
}

/// Counts how often a finding was settled and opened again.
pub fn reopened(entry: &Entry) -> u32 {
    let again = |m: &&super::summary::Move| m.to == Status::Open && m.from.is_some_and(Status::settled);
    u32::try_from(entry.history.iter().filter(again).count()).unwrap_or(u32::MAX)
}

/// Counts how often a finding has entered the loop again, as far as it matters for this kind of text.
pub fn entered(kind: WriteKind, entry: &Entry) -> u32 {
    let entered = reopened(entry);
    match kind {
        WriteKind::Argue | WriteKind::Answer | WriteKind::Defer => entered.max(entry.exchanges),
        WriteKind::Stale
        | WriteKind::Fixed
        | WriteKind::Request
        | WriteKind::Review
        | WriteKind::Describe
        | WriteKind::Resolve
        | WriteKind::Command
        | WriteKind::React
        | WriteKind::Retract => entered,
    }
}

/// Returns the key of a text about one entry into the loop; the first one is 0.
pub fn key_of_version(kind: WriteKind, entry: &Entry, entered: u32) -> String {
    let hash = &entry.body_hash;
    let version = if entered == 0 { hash.clone() } else { format!("{hash}+{entered}") };
    key(kind, &entry.finding.id.to_string(), &version)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::review::sample;
    use proptest::prelude::*;

    fn check(status: Status, verb: Option<Verb>, severity: Severity, expected: Owed) {
        let mut entry = sample::entry("c1", severity);
        entry.finding.status = status;
        entry.pending = verb.map(|verb| sample::pending(verb, "because"));
        assert_eq!(owed(&entry), expected, "{status} {verb:?} {severity}");
    }

    #[test]
    fn the_table_of_the_contract() {
        check(Status::Open, None, Severity::P1, Owed::Fix);
        check(Status::Open, None, Severity::P2, Owed::FixOrArgue);
        check(Status::Open, None, Severity::P3, Owed::List);
        check(Status::Open, None, Severity::Nit, Owed::Fold);
        check(Status::Open, Some(Verb::Argue), Severity::P2, Owed::Argue);
        check(Status::Open, Some(Verb::Fix), Severity::P1, Owed::Proof);
        check(Status::Argued, None, Severity::P2, Owed::Keep);
        check(Status::Fixed, None, Severity::P1, Owed::Close);
        check(Status::Stale, None, Severity::P2, Owed::NoLongerApplies);
        check(Status::Acknowledged, None, Severity::P3, Owed::List);
        check(Status::Withdrawn, None, Severity::P1, Owed::Nothing);
    }

    #[test]
    fn r12_a_re_entry_is_a_new_version() {
        let mut entry = sample::entry("c1", Severity::P2);
        let first = key_of(WriteKind::Argue, &entry);
        entry.history.push(sample::moved(Some(Status::Argued), Status::Open));
        let second = key_of(WriteKind::Argue, &entry);
        assert_ne!(first, second);
        assert_eq!(key_of_version(WriteKind::Argue, &entry, 0), first);
        entry.body_hash = "other".into();
        assert_ne!(key_of_version(WriteKind::Argue, &entry, 0), first);
    }

    proptest! {
        #[test]
        fn r6_a_p1_never_owes_an_argument(status in 0..10_usize, verb in 0..6_usize, person: bool) {
            let verbs = [None, Some(Verb::Fix), Some(Verb::Argue), Some(Verb::Stale), Some(Verb::Defer), Some(Verb::Answer)];
            let mut entry = sample::entry("c1", Severity::P1);
            entry.finding.status = Status::ALL[status];
            entry.finding.needs_person = person;
            entry.pending = verbs[verb].map(|verb| sample::pending(verb, "because"));
            prop_assert!(!matches!(owed(&entry), Owed::Argue | Owed::FollowUp | Owed::FixOrArgue));
        }
    }
}
