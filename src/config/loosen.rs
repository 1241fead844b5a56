//! What a pull request's own `.pushback.toml` would change, and which of it would make its gate easier to pass (R29).
//! Nothing of it is in force before the merge; it is only told.

use std::collections::BTreeSet;

use toml::Value;

use super::keys::KEYS;
use super::layers::{BadConfig, Layers, Origin, parse};

/// One key that the pull request changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Key.
    pub key: String,
    /// Value now.
    pub from: String,
    /// Value after the merge.
    pub to: String,
    /// Whether the gate would be easier to pass.
    pub loosens: bool,
}

/// How a key makes the gate easier to pass.
enum Easier {
    /// By naming fewer.
    Fewer,
    /// By naming more.
    More,
    /// By being true.
    True,
    /// By being shorter.
    Shorter,
    /// By any change: which way is easier depends on the rest.
    Other,
}

fn easier(key: &str) -> Option<Easier> {
    Some(match key {
        "verify.commands" | "verify.frozen" | "gate.checks" | "gate.protected" | "spec.path" => Easier::Fewer,
        "gate.allow" | "trust.accounts" | "trust.allow" => Easier::More,
        "gate.no_checks" | "gate.draft" | "verify.none" | "verify.push_red" | "reviewers.none" => Easier::True,
        "reviewers.ttl" | "reviewers.settle" => Easier::Shorter,
        "reviewers.required" | "gate.spec_check" | "gate.regrade" | "gate.status" | "people.untagged"
        | "people.argue" => Easier::Other,
        _ => return None,
    })
}

fn names(value: Option<&Value>) -> BTreeSet<&str> {
    value.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}

fn loosens(key: &str, from: Option<&Value>, to: Option<&Value>) -> bool {
    let time = |value: Option<&Value>| value.and_then(Value::as_str).and_then(super::layers::duration);
    match easier(key) {
        None => false,
        Some(Easier::Other) => true,
        Some(Easier::Fewer) => !names(from).is_subset(&names(to)),
        Some(Easier::More) => !names(to).is_subset(&names(from)),
        Some(Easier::True) => to.and_then(Value::as_bool) == Some(true),
        Some(Easier::Shorter) => time(to) < time(from),
    }
}

fn layers(text: Option<&str>) -> Result<Layers, BadConfig> {
    let layer = text.map(|text| parse("the pull request's .pushback.toml", text)).transpose()?;
    Ok(Layers::merge(layer.into_iter().map(|layer| (Origin::DefaultBranch, layer)).collect()))
}

/// Compares the default branch's file with the pull request's; `None` is no file.
pub fn changes(now: Option<&str>, then: Option<&str>) -> Result<Vec<Change>, BadConfig> {
    let (now, then) = (layers(now)?, layers(then)?);
    let shown = |value: Option<&Value>| value.map_or_else(|| "unset".to_owned(), ToString::to_string);
    let mut found = Vec::new();
    for key in KEYS {
        let value = |layers: &Layers| layers.get(key.name).map(|(value, _)| value);
        let (from, to) = (value(&now), value(&then));
        if from != to {
            let loosens = loosens(key.name, from.as_ref(), to.as_ref());
            let (from, to) = (shown(from.as_ref()), shown(to.as_ref()));
            found.push(Change { key: key.name.to_owned(), from, to, loosens });
        }
    }
    let mut sections = vec![("severity.rule".to_owned(), now.rules != then.rules)];
    let reviewers: BTreeSet<&String> = now.reviewers.keys().chain(then.reviewers.keys()).collect();
    sections.extend(
        reviewers
            .into_iter()
            .map(|name| (format!("reviewers.{name}"), now.reviewers.get(name) != then.reviewers.get(name))),
    );
    let changed = sections.into_iter().filter(|(_, changed)| *changed);
    // Levels decide what blocks; which way a pattern goes cannot be told from outside.
    found.extend(changed.map(|(key, _)| Change {
        key,
        from: "rules".to_owned(),
        to: "other rules".to_owned(),
        loosens: true,
    }));
    Ok(found)
}

/// Says it in one sentence; `None` when nothing is changed.
pub fn told(changes: &[Change]) -> Option<String> {
    let list = |wanted: bool| -> Vec<String> {
        let some = changes.iter().filter(|change| change.loosens == wanted);
        some.map(|change| format!("`{}` ({} → {})", change.key, short(&change.from), short(&change.to))).collect()
    };
    let (loose, other) = (list(true), list(false));
    let after = "it is judged by the default branch's file, whatever it says";
    match (loose.is_empty(), other.is_empty()) {
        (true, true) => None,
        (true, false) => Some(format!("this pull request changes .pushback.toml: {}; {after}", other.join(", "))),
        (false, _) => Some(format!("this pull request loosens the gate it has to pass: {}; {after}", loose.join(", "))),
    }
}

fn short(value: &str) -> String {
    if value.chars().count() <= 60 { value.to_owned() } else { value.chars().take(59).chain(['…']).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r29_fc_75_a_pull_request_that_loosens_its_own_gate() {
        let check = |now: &str, then: &str, loose: &[&str], other: &[&str]| {
            let all = changes(Some(now), Some(then)).expect("good files");
            let of = |wanted: bool| -> Vec<&str> {
                all.iter().filter(|c| c.loosens == wanted).map(|c| c.key.as_str()).collect()
            };
            assert_eq!((of(true), of(false)), (loose.to_vec(), other.to_vec()), "{now} → {then}");
        };
        check("", "", &[], &[]);
        check("", "[gate]\nno_checks = true", &["gate.no_checks"], &[]);
        check("[gate]\nno_checks = true", "", &[], &["gate.no_checks"]);
        check("[gate]\nchecks = [\"a\", \"b\"]", "[gate]\nchecks = [\"b\"]", &["gate.checks"], &[]);
        check("[gate]\nchecks = [\"a\"]", "[gate]\nchecks = [\"a\", \"b\"]", &[], &["gate.checks"]);
        check("", "[gate]\nallow = [\"a\"]", &["gate.allow"], &[]);
        check("", "[gate]\nprotected = []", &["gate.protected"], &[]);
        check("[verify]\ncommands = [\"x\"]", "[verify]\ncommands = [\"true\"]", &["verify.commands"], &[]);
        check("", "[verify]\ncommands = [\"x\"]", &[], &["verify.commands"]);
        check("", "[reviewers]\nttl = \"1s\"", &["reviewers.ttl"], &[]);
        check("", "[reviewers]\nttl = \"9h\"", &[], &["reviewers.ttl"]);
        check("", "[reviewers]\nrequired = [\"codex\"]", &["reviewers.required"], &[]);
        check("", "[reviewers.codex]\nlevels = { major = \"nit\" }", &["reviewers.codex"], &[]);
        check("", "[[severity.rule]]\npattern = \"x\"\nlevel = \"nit\"", &["severity.rule"], &[]);
        check("", "[poll]\nmin = \"1s\"", &[], &["poll.min"]);
    }

    #[test]
    fn r29_it_is_told_in_one_sentence() {
        let say = |now, then| told(&changes(now, then).expect("good files"));
        assert_eq!(say(Some("[poll]\nmin = \"10s\""), None), None, "the default said in words");
        let loose = say(Some(""), Some("[gate]\nno_checks = true\n[poll]\nmin = \"1s\"")).expect("a sentence");
        assert!(loose.contains("loosens the gate") && loose.contains("`gate.no_checks` (false → true)"), "{loose}");
        let gone = say(Some("[verify]\ncommands = [\"cargo test\"]"), None).expect("a sentence");
        assert!(gone.contains("`verify.commands` ([\"cargo test\"] → [])"), "{gone}");
        assert!(say(None, Some("[poll]\nmin = \"1s\"")).is_some_and(|text| text.contains("changes .pushback.toml")));
        assert!(changes(None, Some("[poll\n")).is_err());
    }
}
