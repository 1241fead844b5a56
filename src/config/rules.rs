//! The rule files that are built in. Parses them; what they mean is decided by `review::classify`.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use super::layers::Layers;
use super::settings::severity;
use crate::review::classify::rules::{ReviewerOverride, RuleFile, UserRule};
use crate::review::classify::{BadRule, Rules};
use crate::review::policy::Policy;

macro_rules! files {
    ($($name:literal),* $(,)?) => { &[$(($name, include_str!(concat!("../rules/", $name, ".toml")))),*] };
}

const FILES: &[(&str, &str)] = files![
    "general",
    "people",
    "amazon-q",
    "augment",
    "bito",
    "bugbot",
    "claude",
    "codacy",
    "code-review-gpt",
    "code-scanning",
    "codeant",
    "codefactor",
    "coderabbit",
    "codex",
    "codoki",
    "copilot",
    "cubic",
    "deepsource",
    "devin",
    "ellipsis",
    "entelligence",
    "gemini",
    "gitar",
    "graphite",
    "greptile",
    "kilo",
    "kody",
    "korbit",
    "llamapreview",
    "macroscope",
    "mesa",
    "pr-agent",
    "qodo",
    "sentry",
    "snyk",
    "sonar",
    "sourcery",
    "tembo",
    "vercel",
    "windsurf",
];

/// Returns the built-in rule files.
#[expect(clippy::expect_used, reason = "the files are embedded, and a test parses every one of them")]
pub fn builtin() -> Vec<RuleFile> {
    FILES.iter().map(|(name, text)| parse(name, text).expect("a built-in rule file parses")).collect()
}

/// Returns the built-in rules with what the user says. The built-in part is read once a process: later rules share its
/// patterns, and with them what was compiled of those.
pub fn in_force(user: &[UserRule], overrides: &BTreeMap<String, ReviewerOverride>) -> Result<Rules, BadRule> {
    static BUILTIN: OnceLock<Rules> = OnceLock::new();
    let rules = match BUILTIN.get() {
        Some(rules) => rules,
        None => {
            let rules = Rules::compile(&builtin(), &[], &BTreeMap::new())?;
            BUILTIN.get_or_init(|| rules)
        }
    };
    rules.clone().with(user, overrides)
}

/// Parses one rule file.
pub fn parse(name: &str, text: &str) -> Result<RuleFile, BadRule> {
    let why = |e: toml::de::Error| BadRule {
        file: format!("{name}.toml"),
        rule: e.span().map_or_else(|| "file".to_owned(), |span| format!("byte {}", span.start)),
        why: e.message().to_owned(),
    };
    toml::from_str(text).map_err(why)
}

/// Returns the user's severity rules, the strongest file's first.
pub fn user_rules(layers: &Layers) -> Vec<UserRule> {
    let rule = |(rule, _): &(super::layers::SeverityRule, super::layers::Origin)| {
        let level = severity(&rule.level)?;
        Some(UserRule { author: rule.author.clone(), pattern: rule.pattern.clone(), level })
    };
    layers.rules.iter().filter_map(rule).collect()
}

/// Returns what the settings say of single reviewers.
pub fn overrides(policy: &Policy) -> BTreeMap<String, ReviewerOverride> {
    let each = |(name, said): (&String, &crate::review::policy::ReviewerPolicy)| {
        let said = ReviewerOverride {
            untagged: said.untagged,
            reaction_counts: said.reaction_counts,
            levels: said.levels.clone(),
        };
        (name.clone(), said)
    };
    policy.reviewers.each.iter().map(each).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_file_compiles_and_bears_its_name() {
        let files = builtin();
        let names: Vec<_> = files.iter().map(|f| f.name.as_str()).collect();
        assert_eq!(names, FILES.iter().map(|(name, _)| *name).collect::<Vec<_>>());
        let rules = Rules::compile(&files, &[], &BTreeMap::new()).expect("the rules fit together");
        rules.check().expect("every pattern compiles");
    }

    #[test]
    fn no_pattern_that_fits_is_ruled_out_by_what_a_body_holds() {
        let rules = in_force(&[], &BTreeMap::new()).expect("the rules fit together");
        let rows = include_str!("../../tests/corpus/unseen.jsonl").lines();
        let bodies: Vec<String> = rows
            .filter_map(|row| serde_json::from_str::<serde_json::Value>(row).ok()?["body"].as_str().map(str::to_owned))
            .collect();
        assert!(bodies.len() >= 60, "{} bodies", bodies.len());
        for (n, body) in bodies.iter().enumerate() {
            let other = if n % 2 == 0 { body.to_uppercase() } else { body.replace(' ', "\u{a0}") };
            for body in [body.clone(), other] {
                assert_eq!(rules.ruled_out_wrongly(&body), Vec::<String>::new(), "{body}");
            }
        }
    }

    fn with_config(text: &str) -> Rules {
        let layer = crate::config::layers::parse("user", text).expect("a good file");
        let layers = Layers::merge(vec![(crate::config::layers::Origin::User, layer)]);
        let policy = crate::config::settings::Settings::from_layers(&layers).policy;
        in_force(&user_rules(&layers), &overrides(&policy)).expect("the rules fit together")
    }

    #[test]
    fn r05_one_line_of_a_file_remaps_a_native_level() {
        use crate::review::classify::{CommentInput, classify};
        use crate::review::comment::{AccountKind, Channel};
        use crate::review::ids::Login;
        let rows = [
            (
                "coderabbit",
                "major",
                "coderabbitai[bot]",
                "_⚠️ Potential issue_ | _🟠 Major_\n\n**Seal it.**\n\nIt leaks.",
            ),
            ("cursor[bot]", "low", "cursor[bot]", "### Seal it\n\n**Low Severity**\n\nIt leaks."),
            ("people", "nit", "ann", "nit: seal it"),
        ];
        for (name, level, login, body) in rows {
            let rules = with_config(&format!("[reviewers.{name:?}]\nlevels = {{ {level} = \"P1\" }}\n"));
            let account = if login.ends_with("[bot]") { AccountKind::Bot } else { AccountKind::Person };
            let got = classify(&rules, &CommentInput::new(&Login::new(login), account, Channel::Inline, body));
            assert_eq!(got.severity().map(|s| s.as_str()), Some("P1"), "{name} {level}");
        }
    }

    #[test]
    fn a_bad_file_is_named() {
        let bad = parse("odd", "nam = 1").expect_err("unknown key");
        assert_eq!(bad.file, "odd.toml");
        assert!(bad.why.contains("nam"), "{bad}");
    }
}
