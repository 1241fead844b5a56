//! The rule files that are built in. Parses them; what they mean is decided by `review::classify`.

use crate::review::classify::BadRule;
use crate::review::classify::rules::RuleFile;

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

/// Parses one rule file.
pub fn parse(name: &str, text: &str) -> Result<RuleFile, BadRule> {
    let why = |e: toml::de::Error| BadRule {
        file: format!("{name}.toml"),
        rule: e.span().map_or_else(|| "file".to_owned(), |span| format!("byte {}", span.start)),
        why: e.message().to_owned(),
    };
    toml::from_str(text).map_err(why)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::review::classify::Rules;

    #[test]
    fn every_built_in_file_compiles_and_bears_its_name() {
        let files = builtin();
        let names: Vec<_> = files.iter().map(|f| f.name.as_str()).collect();
        assert_eq!(names, FILES.iter().map(|(name, _)| *name).collect::<Vec<_>>());
        let rules = Rules::compile(files, &[], &BTreeMap::new()).expect("the rules fit together");
        rules.check().expect("every pattern compiles");
    }

    #[test]
    fn a_bad_file_is_named() {
        let bad = parse("odd", "nam = 1").expect_err("unknown key");
        assert_eq!(bad.file, "odd.toml");
        assert!(bad.why.contains("nam"), "{bad}");
    }
}
