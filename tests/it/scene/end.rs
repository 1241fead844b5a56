//! The end state of a scene in a form in which two runs can be compared: without ids, commits, times and counters.

use std::collections::BTreeMap;

use regex::Regex;
use serde_json::Value;

use super::Scene;

/// What is left of a run for others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct End {
    /// The description.
    pub(crate) description: String,
    /// Every comment on the diff, with who resolved its thread.
    pub(crate) inline: Vec<String>,
    /// The conversation.
    pub(crate) talk: Vec<String>,
    /// Title to severity and status.
    pub(crate) statuses: BTreeMap<String, String>,
    /// Files of the branch.
    pub(crate) files: String,
    /// Number of threads without a resolution.
    pub(crate) open_threads: u64,
}

/// Takes out what differs from run to run.
pub(crate) fn scrub(text: &str) -> String {
    let rules = [
        (r"(?m)^<!-- pushback:state .*-->$", "<!-- STATE -->"),
        (r"127\.0\.0\.1:\d+", "HOST"),
        (r"\b[cr]?43\d{8}\b", "ID"),
        (r"_r43\d{8}\b", "_rID"),
        (r"\bk=[0-9a-f]{16}\b", "k=KEY"),
        (r"\b[0-9a-f]{40}\b", "SHA"),
        (r"\b[0-9a-f]{10}\b", "SHA"),
    ];
    rules.iter().fold(text.to_owned(), |text, (from, to)| {
        Regex::new(from).expect("a pattern").replace_all(&text, *to).into_owned()
    })
}

impl Scene {
    /// Returns the end state.
    pub(crate) fn end(&self) -> End {
        let pull = self.forge.pull();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let list = |key: &str| pull[key].as_array().cloned().unwrap_or_default();
        let line = |c: &Value| {
            format!(
                "{} {} [{}] {}",
                text(&c["user"]),
                text(&c["path"]),
                text(&c["resolved_by"]),
                scrub(&text(&c["body"]))
            )
        };
        let sorted = |key: &str| {
            let mut lines: Vec<String> = list(key).iter().map(line).collect();
            lines.sort();
            lines
        };
        let tree = self.git_in(&self.bare, &["ls-tree", "-r", "feature"]);
        End {
            description: scrub(&text(&pull["body"])),
            inline: sorted("comments"),
            talk: sorted("issue_comments"),
            statuses: self.statuses(),
            files: tree,
            open_threads: pull["open_threads"].as_u64().unwrap_or_default(),
        }
    }

    /// Returns the keys of our markers, those in the description too; a key found twice in comments is a double post.
    pub(crate) fn posted_keys(&self) -> Vec<String> {
        let pull = self.forge.pull();
        let bodies = ["comments", "issue_comments", "reviews"]
            .iter()
            .flat_map(|key| pull[*key].as_array().cloned().unwrap_or_default())
            .filter_map(|item| item["body"].as_str().map(str::to_owned));
        let marker = Regex::new(r"<!-- pushback:1 (\w+ \S+ k=[0-9a-f]{16})").expect("a pattern");
        let mut keys: Vec<String> =
            bodies.flat_map(|body| marker.captures_iter(&body).map(|c| c[1].to_owned()).collect::<Vec<_>>()).collect();
        keys.sort();
        keys
    }

    /// Asserts that no key was posted twice and that the fake saw nothing against the contract.
    #[track_caller]
    pub(crate) fn is_sound(&self) {
        let keys = self.posted_keys();
        let mut once = keys.clone();
        once.dedup();
        assert_eq!(keys, once, "posted twice");
        assert_eq!(self.forge.violations(), Vec::<String>::new());
        let summary = self.summary();
        for (id, entry) in summary["comments"].as_object().into_iter().flatten() {
            let (severity, status) = (entry["severity"].as_str(), entry["status"].as_str());
            assert!(!(severity == Some("P1") && status == Some("argued")), "{id}: a P1 was argued");
            let settled = ["fixed", "argued", "stale", "withdrawn"].iter().any(|s| status == Some(s));
            assert!(!settled || !entry["proof"].is_null(), "{id}: settled without a proof: {entry}");
        }
    }
}
