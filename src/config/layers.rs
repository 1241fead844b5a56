//! One file's values, checked against the keys, and the merge of several files key by key, each value knowing its source.

use std::collections::BTreeMap;

use toml::{Table, Value};

use super::keys::{self, Key, REVIEWER_KEYS, SEVERITY_RULE_KEYS, Scope, Takes};

/// A config that cannot be used: which file, which key, what is wrong, how to mend it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}: {what}")]
pub struct BadConfig {
    /// File or source.
    pub file: String,
    /// What is wrong.
    pub what: String,
    /// How to mend it.
    pub hint: String,
}

/// Where a value comes from, strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// A flag or variable of this call.
    Call,
    /// The user's file.
    User,
    /// A worktree file whose content was trusted.
    TrustedWorktree,
    /// The default branch's file.
    DefaultBranch,
    /// Built in.
    BuiltIn,
}

impl Origin {
    /// Says it in words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Call => "this call",
            Self::User => "user",
            Self::TrustedWorktree => "trusted worktree",
            Self::DefaultBranch => "default branch",
            Self::BuiltIn => "built-in",
        }
    }
}

/// One `[[severity.rule]]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeverityRule {
    /// Login or reviewer the rule is for; everybody when unset.
    pub author: Option<String>,
    /// Pattern.
    pub pattern: String,
    /// Level.
    pub level: String,
}

/// One file, checked.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Layer {
    values: BTreeMap<String, Value>,
    reviewers: BTreeMap<String, Table>,
    rules: Vec<SeverityRule>,
}

/// All files, merged.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Layers {
    values: BTreeMap<String, (Value, Origin)>,
    /// `[reviewers.NAME]` sections, key by key.
    pub reviewers: BTreeMap<String, BTreeMap<String, (Value, Origin)>>,
    /// `[[severity.rule]]` entries, the strongest file's first.
    pub rules: Vec<(SeverityRule, Origin)>,
    /// Policy keys found in a worktree file, which were left out.
    pub ignored: Vec<String>,
}

/// Reads one file's text.
pub fn parse(file: &str, text: &str) -> Result<Layer, BadConfig> {
    let bad = |what: String, hint: &str| BadConfig { file: file.to_owned(), what, hint: hint.to_owned() };
    let table: Table = text.parse().map_err(|error: toml::de::Error| {
        let line = error.span().map_or(1, |span| text[..span.start.min(text.len())].lines().count().max(1));
        bad(format!("line {line} is not TOML: {}", error.message()), "mend the line; strings need quotes")
    })?;
    let mut layer = Layer::default();
    for (section, content) in table {
        let Value::Table(content) = content else {
            let hint = format!("write it under a section such as `[{}]`", nearest_section(&section));
            return Err(bad(format!("`{section}` stands outside a section"), &hint));
        };
        if !known_section(&section) {
            return Err(unknown_section(file, &section));
        }
        for (key, value) in content {
            read_key(file, &section, &key, value, &mut layer)?;
        }
    }
    Ok(layer)
}

fn sections() -> impl Iterator<Item = &'static str> {
    keys::KEYS.iter().filter_map(|key| key.name.split_once('.').map(|(section, _)| section)).chain(["severity"])
}

fn known_section(name: &str) -> bool {
    sections().any(|known| known == name)
}

fn unknown_section(file: &str, section: &str) -> BadConfig {
    let hint = match keys::nearest(section, sections()) {
        Some(near) => format!("did you mean `[{near}]`?"),
        None => "`pushback config show` lists every section and key".to_owned(),
    };
    BadConfig { file: file.to_owned(), what: format!("unknown section `[{section}]`"), hint }
}

fn nearest_section(name: &str) -> &'static str {
    keys::nearest(name, sections()).unwrap_or("agent")
}

fn read_key(file: &str, section: &str, key: &str, value: Value, layer: &mut Layer) -> Result<(), BadConfig> {
    let name = format!("{section}.{key}");
    if let Some(known) = keys::find(&name) {
        check(known, &value).map_err(|what| BadConfig {
            file: file.to_owned(),
            what: format!("`{name}` {what}"),
            hint: format!("give {}", known.takes.words()),
        })?;
        layer.values.insert(name, value);
        return Ok(());
    }
    match (section, value) {
        ("reviewers", Value::Table(table)) => {
            check_reviewer(file, key, &table)?;
            layer.reviewers.insert(key.to_ascii_lowercase(), table);
            Ok(())
        }
        ("severity", Value::Array(rules)) if key == "rule" => {
            for (n, rule) in rules.into_iter().enumerate() {
                layer.rules.push(severity_rule(file, n + 1, rule)?);
            }
            Ok(())
        }
        _ => Err(unknown_key(file, &name)),
    }
}

fn unknown_key(file: &str, name: &str) -> BadConfig {
    let known = keys::KEYS.iter().map(|key| key.name).chain(["severity.rule"]);
    let hint = match keys::nearest(name, known) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "`pushback config show` lists every key".to_owned(),
    };
    BadConfig { file: file.to_owned(), what: format!("unknown key `{name}`"), hint }
}

fn check(key: &Key, value: &Value) -> Result<(), String> {
    let texts = |value: &Value| value.as_array().is_some_and(|list| list.iter().all(Value::is_str));
    let good = match key.takes {
        Takes::Bool => value.is_bool(),
        Takes::Count => value.as_integer().is_some_and(|n| n >= 0),
        Takes::Number => number(value).is_some_and(|n| n.is_finite() && n >= 0.0),
        Takes::Text => value.is_str(),
        Takes::Texts => texts(value),
        Takes::Time => value.as_str().is_some_and(|text| duration(text).is_some()),
        Takes::OneOf(words) => value.as_str().is_some_and(|text| words.contains(&text)),
        Takes::Regraders => matches!(value.as_str(), Some("writers" | "not_author")) || texts(value),
    };
    if good { Ok(()) } else { Err(format!("cannot be {value}")) }
}

fn number(value: &Value) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "limits are small")]
    value.as_float().or_else(|| value.as_integer().map(|n| n as f64))
}

/// Reads a duration such as `"90s"`, `"15m"`, `"2h"`, `"200ms"`.
pub fn duration(text: &str) -> Option<std::time::Duration> {
    let span: jiff::SignedDuration = text.parse().ok()?;
    std::time::Duration::try_from(span).ok()
}

fn check_reviewer(file: &str, name: &str, table: &Table) -> Result<(), BadConfig> {
    let bad = |what: String, hint: String| BadConfig { file: file.to_owned(), what, hint };
    let is_level = |value: &Value| value.as_str().is_some_and(|text| keys::LEVELS.contains(&text));
    let levels = "give one of \"P1\", \"P2\", \"P3\", \"nit\"";
    for (key, value) in table {
        let full = format!("reviewers.{name}.{key}");
        let good = match key.as_str() {
            "untagged" => is_level(value),
            "reaction_counts" => value.is_bool(),
            "levels" => value.as_table().is_some_and(|table| table.values().all(is_level)),
            _ => {
                let near = keys::nearest(key, REVIEWER_KEYS.iter().copied());
                let hint = near.map_or("it takes untagged, reaction_counts, levels".to_owned(), |n| {
                    format!("did you mean `{n}`?")
                });
                return Err(bad(format!("unknown key `{full}`"), hint));
            }
        };
        if !good {
            return Err(bad(format!("`{full}` cannot be {value}"), levels.to_owned()));
        }
    }
    Ok(())
}

fn severity_rule(file: &str, n: usize, value: Value) -> Result<SeverityRule, BadConfig> {
    let bad = |what: String| BadConfig {
        file: file.to_owned(),
        what: format!("severity.rule number {n} {what}"),
        hint: "a rule is `pattern = \"…\"`, `level = \"P1|P2|P3|nit\"` and perhaps `author = \"login\"`".to_owned(),
    };
    let Value::Table(mut table) = value else { return Err(bad("is not a table".to_owned())) };
    let mut text = |key: &str| match table.remove(key) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(bad(format!("has a `{key}` that is not a text"))),
    };
    let (author, pattern, level) = (text("author")?, text("pattern")?, text("level")?);
    if let Some(key) = table.keys().find(|key| !SEVERITY_RULE_KEYS.contains(&key.as_str())) {
        return Err(bad(format!("has an unknown key `{key}`")));
    }
    let (Some(pattern), Some(level)) = (pattern, level) else {
        return Err(bad("lacks `pattern` or `level`".to_owned()));
    };
    if !keys::LEVELS.contains(&level.as_str()) {
        return Err(bad(format!("has the level `{level}`")));
    }
    Ok(SeverityRule { author, pattern, level })
}

impl Layers {
    /// Merges files; of two values the stronger origin's stays.
    pub fn merge(files: Vec<(Origin, Layer)>) -> Self {
        let mut files = files;
        files.sort_by_key(|(origin, _)| *origin);
        let mut merged = Self::default();
        for (origin, layer) in files {
            let from_worktree = origin == Origin::TrustedWorktree;
            for (name, value) in layer.values {
                let policy = keys::find(&name).is_none_or(|key| key.scope == Scope::Policy);
                let here = ["agent.", "spec.", "verify.", "hook."].iter().any(|section| name.starts_with(section));
                if from_worktree && (policy || !here) {
                    merged.ignored.push(name);
                } else {
                    merged.values.entry(name).or_insert((value, origin));
                }
            }
            if from_worktree {
                merged.ignored.extend(layer.reviewers.keys().map(|name| format!("reviewers.{name}")));
                merged.ignored.extend((!layer.rules.is_empty()).then(|| "severity.rule".to_owned()));
                continue;
            }
            for (name, table) in layer.reviewers {
                let reviewer = merged.reviewers.entry(name).or_default();
                for (key, value) in table {
                    reviewer.entry(key).or_insert((value, origin));
                }
            }
            merged.rules.extend(layer.rules.into_iter().map(|rule| (rule, origin)));
        }
        merged
    }

    /// Sets a value for this call.
    pub fn set(&mut self, name: &str, value: Value) {
        self.values.insert(name.to_owned(), (value, Origin::Call));
    }

    /// Returns the value in force and its source; `None` for a key without default that nobody set.
    pub fn get(&self, name: &str) -> Option<(Value, Origin)> {
        if let Some((value, origin)) = self.values.get(name) {
            return Some((value.clone(), *origin));
        }
        let default = keys::find(name)?.default;
        let table: Table = format!("v = {default}").parse().ok()?;
        table.get("v").map(|value| (value.clone(), Origin::BuiltIn))
    }

    pub(super) fn text(&self, name: &str) -> Option<String> {
        self.get(name)?.0.as_str().map(str::to_owned)
    }

    pub(super) fn texts(&self, name: &str) -> Vec<String> {
        let list = self.get(name).and_then(|(value, _)| value.as_array().cloned()).unwrap_or_default();
        list.iter().filter_map(|value| value.as_str().map(str::to_owned)).collect()
    }

    pub(super) fn flag(&self, name: &str) -> bool {
        self.get(name).and_then(|(value, _)| value.as_bool()).unwrap_or(false)
    }

    pub(super) fn count(&self, name: &str) -> u64 {
        self.get(name).and_then(|(value, _)| value.as_integer()).and_then(|n| u64::try_from(n).ok()).unwrap_or(0)
    }

    pub(super) fn number(&self, name: &str) -> f64 {
        self.get(name).and_then(|(value, _)| number(&value)).unwrap_or(0.0)
    }

    pub(super) fn time(&self, name: &str) -> std::time::Duration {
        self.text(name).and_then(|text| duration(&text)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(text: &str) -> String {
        let error = parse("f.toml", text).expect_err("a bad file");
        format!("{} ({})", error.what, error.hint)
    }

    #[test]
    fn every_default_is_what_its_key_takes() {
        for key in keys::KEYS.iter().filter(|key| !key.default.is_empty()) {
            let (value, _) = Layers::default().get(key.name).unwrap_or_else(|| panic!("{} has no default", key.name));
            assert_eq!(check(key, &value), Ok(()), "{}", key.name);
        }
    }

    #[test]
    fn unknown_keys_name_the_nearest() {
        assert_eq!(wrong("[gaet]\ndraft = true"), "unknown section `[gaet]` (did you mean `[gate]`?)");
        assert_eq!(wrong("[gaet]"), "unknown section `[gaet]` (did you mean `[gate]`?)");
        assert_eq!(wrong("[zz]\nx = 1"), "unknown section `[zz]` (`pushback config show` lists every section and key)");
        assert_eq!(wrong("[verify]\ncomands = []"), "unknown key `verify.comands` (did you mean `verify.commands`?)");
        assert!(wrong("[veriffy]\ncommands = []").contains("did you mean `[verify]`?"));
        assert!(wrong("[reviewers.codex]\nuntaged = \"P2\"").contains("did you mean `untagged`?"));
    }

    #[test]
    fn wrong_values_say_what_is_taken() {
        assert!(wrong("[limits]\nrounds = -1").contains("whole number"));
        assert!(wrong("[poll]\nmin = \"soon\"").contains("duration"));
        assert!(wrong("[people]\nuntagged = \"P9\"").contains("P1"));
        assert!(wrong("rounds = 3").contains("outside a section"));
        assert!(wrong("[limits\n").contains("line 1"));
        assert!(wrong("[[severity.rule]]\npattern = \"x\"").contains("lacks"));
    }

    #[test]
    fn r29_a_worktree_file_sets_no_policy() {
        let text = "[verify]\ncommands = [\"true\"]\n[limits]\nrounds = 99\n[reviewers.codex]\nuntagged = \"nit\"";
        let layer = parse("f", text).expect("good");
        let merged = Layers::merge(vec![(Origin::TrustedWorktree, layer)]);
        assert_eq!(
            merged.get("limits.rounds").map(|(v, o)| (v.to_string(), o)),
            Some(("5".to_owned(), Origin::BuiltIn))
        );
        assert_eq!(merged.texts("verify.commands"), ["true"]);
        assert_eq!(merged.ignored, ["limits.rounds", "reviewers.codex"]);
        assert!(merged.reviewers.is_empty());
    }

    #[test]
    fn r29_the_user_goes_before_the_default_branch() {
        let user = parse("u", "[limits]\nrounds = 2").expect("good");
        let branch = parse("b", "[limits]\nrounds = 3\nattempts = 9").expect("good");
        let merged = Layers::merge(vec![(Origin::DefaultBranch, branch), (Origin::User, user)]);
        assert_eq!((merged.count("limits.rounds"), merged.count("limits.attempts")), (2, 9));
    }

    #[test]
    fn durations_go_down_to_milliseconds() {
        assert_eq!(duration("200ms"), Some(std::time::Duration::from_millis(200)));
        assert_eq!(duration("2h"), Some(std::time::Duration::from_secs(7200)));
        assert_eq!(duration("-1s"), None);
        assert_eq!(duration("5"), None);
    }
}
