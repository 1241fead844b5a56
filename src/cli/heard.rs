//! What comments say, found out while the rest of a reading is on its way: kept by an earlier look, else read as soon as
//! the comments are heard.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;

use crate::config::rules;
use crate::github::Github;
use crate::ports::{Loaded, Store as _};
use crate::review::classify::Rules;
use crate::review::classify::rules::{ReviewerOverride, UserRule};
use crate::review::comment::Comment;
use crate::review::observation::Observation;
use crate::review::readings::{Known, Readings};
use crate::review::shared::Shared;
use crate::store::{FileStore, content_hash};

/// What was found out before the reading was complete.
#[derive(Default)]
pub(super) struct Heard {
    /// Names the rules.
    by: Option<String>,
    readings: Readings,
    /// True when an earlier look found it out.
    kept: bool,
    /// The state, as it was when the look began. Whoever saves compares it with what is there then.
    pub(super) state: Option<Loaded>,
}

impl Heard {
    /// Takes what an earlier look kept, and the state.
    pub(super) fn kept(store: Option<FileStore>) -> Option<Self> {
        let store = store?;
        let (by, readings) = store.readings(&this_program()?)?;
        Some(Self { by: Some(by), readings, kept: true, state: store.load(None).ok() })
    }

    /// Reads the built-in rules and runs them over what is known or heard early, so that they are compiled when the forge
    /// has answered everything.
    pub(super) fn rehearsed(forge: &Github, heard: Receiver<Shared<Vec<Comment>>>, over: &AtomicBool) -> Self {
        let (user, overrides) = (Vec::new(), BTreeMap::new());
        let Ok(rules) = rules::in_force(&user, &overrides) else { return Self::default() };
        let mut readings = Readings::default();
        let mut read = |comments: &[Comment]| {
            for comment in comments.iter().take_while(|_| !over.load(Ordering::Relaxed)) {
                readings.read(&rules, comment, false);
            }
        };
        read(&forge.known_comments());
        heard.iter().for_each(|comments| read(&comments));
        Self { by: Some(named(&user, &overrides)), readings, kept: false, state: None }
    }

    /// Reads what nobody has read yet. Names the rules where there is something new to keep.
    pub(super) fn known(self, rules: Rules, by: String, obs: &Observation) -> (Known, Option<String>) {
        let same = self.by.as_ref() == Some(&by);
        let mut readings = if same { self.readings } else { Readings::default() };
        let new = readings.complete(&rules, obs) || !(same && self.kept);
        (Known { rules, readings }, new.then_some(by))
    }
}

/// Readings that are kept at most: what is saved is making the rules ready, and for many comments that is little beside
/// reading what was kept of them.
const MOST_KEPT: usize = 1_000;

/// Keeps what comments say for the next look.
pub(super) fn keep(store: &FileStore, rules: &str, readings: &Readings) {
    if let Some(program) = this_program().filter(|_| readings.count() <= MOST_KEPT) {
        store.keep_readings(&program, rules, readings);
    }
}

/// Names rules by what a user can say of them; the rest of them is the program's.
pub(super) fn named(user: &[UserRule], overrides: &BTreeMap<String, ReviewerOverride>) -> String {
    content_hash(format!("{user:?} {overrides:?}").as_bytes())
}

/// Names this very program: another build may read otherwise.
fn this_program() -> Option<String> {
    use std::os::unix::fs::MetadataExt as _;
    let path = std::env::current_exe().ok()?;
    let file = std::fs::metadata(&path).ok()?;
    let at = (file.dev(), file.ino(), file.size(), file.mtime(), file.mtime_nsec(), file.ctime(), file.ctime_nsec());
    Some(format!("{} {} {at:?}", env!("CARGO_PKG_VERSION"), path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::review::comment::{AccountKind, Author, Channel, ReviewState};
    use crate::review::ids::Login;
    use crate::review::sample;
    use crate::review::trust::Reader;

    /// Every body of the corpus, in every place and by several accounts.
    fn comments() -> Vec<Comment> {
        let rows = include_str!("../../tests/corpus/unseen.jsonl").lines();
        let bodies = rows
            .filter_map(|row| serde_json::from_str::<serde_json::Value>(row).ok()?["body"].as_str().map(str::to_owned));
        let logins = ["chatgpt-codex-connector", "coderabbitai", "cubic-dev-ai", "ann"];
        let mut comments = Vec::new();
        for (n, body) in bodies.enumerate() {
            let login = logins[n % logins.len()];
            let mut comment = sample::comment(n as u64 + 1, sample::bot(login), Channel::Inline, &body);
            let kind = if login == "ann" { AccountKind::Person } else { AccountKind::Bot };
            comment.author = (n % 9 != 0).then(|| Author { login: Login::new(login), kind });
            comment.channel = [Channel::Inline, Channel::Review, Channel::Conversation][n % 3];
            comment.review_state = (comment.channel == Channel::Review).then_some(ReviewState::Commented);
            comments.push(comment);
        }
        comments
    }

    #[test]
    fn what_was_read_and_kept_is_what_the_rules_read() {
        let rules = crate::config::rules::in_force(&[], &BTreeMap::new()).expect("the rules fit together");
        let comments = comments();
        assert!(comments.len() >= 60, "{} comments", comments.len());
        let obs = sample::observation(comments, Vec::new());
        let mut readings = Readings::default();
        assert!(readings.complete(&rules, &obs));
        assert!(!readings.complete(&rules, &obs), "nothing is read twice");
        let mut kept = Readings::default();
        for reading in readings.to_kept() {
            let text = serde_json::to_vec(&reading).expect("it can be kept");
            kept.keep(serde_json::from_slice(&text).expect("it can be read again"));
        }
        assert_eq!(kept.count(), readings.count());
        let mut known = Known { rules, readings: kept };
        assert!(!known.readings.complete(&known.rules, &obs), "all of it was kept");
        for comment in obs.comments.iter() {
            let said = Reader::classify(&known.rules, comment, false);
            assert_eq!(known.classify(comment, false), said, "{}", comment.body);
        }
    }
}
