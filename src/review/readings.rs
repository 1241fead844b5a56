//! What comments say, read once: the same words by the same account in the same place say the same to the same rules.
//!
//! A reading is known by a digest of all that the rules see of a comment. Which rules and which program made it is for its
//! keeper to know: what others read is not taken.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::classify::{CommentInput, Rules, classify};
use super::comment::{Author, Comment};
use super::note::{Classified, Closed, Found, Kind, ReplyVerdict, Signal};
use super::observation::Observation;
use super::severity::{DecidedBy, RuleRef, Severity};
use super::shared::Shared;
use super::trust::{Reader, by_pr_author, input};

/// A digest of all that rules see of a comment.
type Words = u128;

/// Readings by what was read.
#[derive(Debug, Default, Clone)]
pub struct Readings(HashMap<Words, Shared<Classified>>);

/// Rules that need not read twice.
#[derive(Debug)]
pub struct Known {
    /// The rules.
    pub rules: Rules,
    /// What they have read.
    pub readings: Readings,
}

impl Readings {
    /// Reads a comment, unless that was done.
    pub fn read(&mut self, rules: &Rules, comment: &Comment, by_pr_author: bool) {
        let input = input(comment, by_pr_author);
        self.0.entry(words(&input)).or_insert_with(|| classify(rules, &input).into());
    }

    /// Reads every comment of an observation that was not read before, and forgets what is not in it. Tells whether
    /// anything had to be read.
    pub fn complete(&mut self, rules: &Rules, obs: &Observation) -> bool {
        let mut known = std::mem::take(&mut self.0);
        let mut new = false;
        for comment in obs.comments.iter() {
            let input = input(comment, by_pr_author(comment, obs));
            let words = words(&input);
            // People say the same in several places.
            if self.0.contains_key(&words) {
                continue;
            }
            let said = known.remove(&words).unwrap_or_else(|| {
                new = true;
                classify(rules, &input).into()
            });
            self.0.insert(words, said);
        }
        new
    }

    /// Returns how many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Returns them in a form to be kept, one by one: together they are large.
    pub fn to_kept(&self) -> impl Iterator<Item = KeptReading> {
        self.0.iter().map(|(words, said)| KeptReading::of(*words, said))
    }

    /// Takes what was kept.
    pub fn keep(&mut self, kept: KeptReading) {
        self.0.insert(kept.words, kept.said().into());
    }
}

impl Reader for Known {
    fn reviewer_of(&self, author: &Author, body: &str) -> Option<String> {
        Reader::reviewer_of(&self.rules, author, body)
    }

    fn classify(&self, comment: &Comment, by_pr_author: bool) -> Shared<Classified> {
        let input = input(comment, by_pr_author);
        let known = self.readings.0.get(&words(&input)).cloned();
        known.unwrap_or_else(|| classify(&self.rules, &input).into())
    }
}

/// Every field counts: one that is added must be told apart here too.
fn words(input: &CommentInput<'_>) -> Words {
    let CommentInput { login, account, channel, body, path, line, is_reply, reply_unknown, review_state, by_pr_author } =
        input;
    let mut digest = Digest(Sha256::new());
    (login, account, channel, body, path).hash(&mut digest);
    (line, is_reply, reply_unknown, review_state, by_pr_author).hash(&mut digest);
    digest.0.finalize().iter().take(16).fold(0, |words, byte| (words << 8) | Words::from(*byte))
}

/// Takes what a value is made of; its own answer is not used.
struct Digest(Sha256);

impl Hasher for Digest {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        0
    }
}

/// A reading as it is kept.
#[derive(Debug, Serialize, Deserialize)]
pub struct KeptReading {
    words: Words,
    kind: Kind,
    findings: Vec<AFound>,
    closed_finding: Option<AFound>,
    reviewer: Option<String>,
    signals: Vec<ASignal>,
    closed: Option<AClosed>,
    #[serde(with = "VerdictForm")]
    verdict: ReplyVerdict,
}

impl KeptReading {
    fn of(words: Words, said: &Classified) -> Self {
        let Classified { kind, findings, closed_finding, reviewer, signals, closed, verdict } = said.clone();
        Self {
            words,
            kind,
            findings: findings.into_iter().map(AFound).collect(),
            closed_finding: closed_finding.map(AFound),
            reviewer,
            signals: signals.into_iter().map(ASignal).collect(),
            closed: closed.map(AClosed),
            verdict,
        }
    }

    fn said(self) -> Classified {
        Classified {
            kind: self.kind,
            findings: self.findings.into_iter().map(|AFound(found)| found).collect(),
            closed_finding: self.closed_finding.map(|AFound(found)| found),
            reviewer: self.reviewer,
            signals: self.signals.into_iter().map(|ASignal(signal)| signal).collect(),
            closed: self.closed.map(|AClosed(closed)| closed),
            verdict: self.verdict,
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct AFound(#[serde(with = "FoundForm")] Found);

#[derive(Debug, Serialize, Deserialize)]
struct ASignal(#[serde(with = "SignalForm")] Signal);

#[derive(Debug, Serialize, Deserialize)]
struct AClosed(#[serde(with = "ClosedForm")] Closed);

#[derive(Serialize, Deserialize)]
#[serde(remote = "Found")]
struct FoundForm {
    severity: Severity,
    decided_by: DecidedBy,
    rule: Option<RuleRef>,
    title: String,
    path: Option<String>,
    line: Option<u32>,
    end_line: Option<u32>,
    text: String,
    body_hash: String,
    identity: Option<String>,
    is_question: bool,
    level: Option<String>,
    section: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Signal")]
enum SignalForm {
    Running,
    Finished { sha: Option<String>, clean: bool, announced: Option<u32> },
    Limited { wait_s: Option<u64>, clears: bool },
    Skipped(String),
    Failed(String),
    Partial(String),
    Unknown(String),
    ReportsLevels(Vec<(u64, Severity)>),
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Closed")]
enum ClosedForm {
    Addressed { sha: Option<String> },
    Resolved { sha: Option<String> },
    Withdrawn,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "ReplyVerdict")]
enum VerdictForm {
    Accepts,
    Insists,
    Notice,
    Unclear,
}

#[cfg(test)]
mod tests {
    use super::super::comment::{AccountKind, Anchor, Channel, ReviewState, Side};
    use super::super::sample;
    use super::*;

    #[test]
    fn another_account_place_or_word_is_another_reading() {
        let mut comment = sample::comment(1, sample::bot("x"), Channel::Inline, "[P2] Close the file");
        comment.anchor = Some(Anchor {
            path: "a".to_owned(),
            side: Side::Right,
            line: None,
            start_line: None,
            original_line: Some(3),
            original_start_line: None,
            original_commit: None,
            commit: None,
            whole_file: false,
            hunk: String::new(),
        });
        let of = |comment: &Comment, by_pr_author| words(&input(comment, by_pr_author));
        let same = of(&comment, false);
        let changed = |change: &dyn Fn(&mut Comment)| {
            let mut other = comment.clone();
            change(&mut other);
            of(&other, false)
        };
        let others = [
            of(&comment, true),
            changed(&|c| c.body.push(' ')),
            changed(&|c| c.channel = Channel::Conversation),
            changed(&|c| c.in_reply_to = Some(9)),
            changed(&|c| c.review_state = Some(ReviewState::Approved)),
            changed(&|c| c.author = Some(sample::bot("y"))),
            changed(&|c| c.author = Some(Author { kind: AccountKind::Person, ..sample::bot("x") })),
            changed(&|c| c.author = None),
            changed(&|c| c.anchor = None),
            changed(&|c| c.anchor.iter_mut().for_each(|anchor| anchor.line = Some(4))),
        ];
        let mut all: Vec<Words> = others.iter().copied().chain([same]).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), others.len() + 1);
        assert_eq!(changed(&|c| c.id = 7), same, "a number says nothing");
    }
}
