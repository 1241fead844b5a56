//! The texts that `init` writes: a commented `.pushback.toml`, a skill for coding agents, a paragraph for AGENTS.md.
//! What people wrote stays; running it again changes nothing.

use super::failure::Failure;
use super::project::Tests;

/// The skill's file.
pub(crate) const SKILL_FILE: &str = ".claude/skills/pushback/SKILL.md";
/// The file that most coding agents read.
pub(crate) const AGENTS_FILE: &str = "AGENTS.md";
const SKILL: &str = include_str!("../../prompts/skill.md");
const AGENTS: &str = include_str!("../../prompts/agents.md");
const BEGIN: &str = "<!-- pushback:agents -->";
const END: &str = "<!-- pushback:agents:end -->";

const HEAD: &str = "\
# How review feedback is settled here. `pushback config show --origin` prints
# every value and where it comes from. All of it is in force once it is on the
# default branch. In a worktree only [agent], [spec], [verify] and [hook] apply,
# and only while the file is exactly what `pushback init` or `pushback trust`
# was shown.
";

/// What the file is made from.
#[derive(Debug, Clone, Default)]
pub(crate) struct Facts<'a> {
    /// Test commands, likeliest first.
    pub(crate) tests: &'a [Tests],
    /// Reviewers seen on recent pull requests; `None` where that could not be read or there are none to look at.
    pub(crate) reviewers: Option<&'a [String]>,
}

/// Adds to `.pushback.toml` the sections that are not there yet.
pub(crate) fn config(existing: Option<&str>, facts: &Facts<'_>) -> Result<String, Failure> {
    let known: toml::Table = match existing {
        Some(text) => {
            // The checked reading names key and mend; the sections come from the plain one.
            crate::config::layers::parse(".pushback.toml", text)?;
            text.parse().unwrap_or_default()
        }
        None => toml::Table::new(),
    };
    let mut text = existing.map_or_else(|| HEAD.to_owned(), str::to_owned);
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    for (section, content) in [("verify", verify(facts)), ("agent", agent()), ("reviewers", reviewers(facts))] {
        if !known.contains_key(section) {
            text.push_str(&format!("\n[{section}]\n{content}"));
        }
    }
    Ok(text)
}

/// What a file says already.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Configured {
    /// What proves a fix, in words.
    pub(crate) tests: Option<String>,
    /// Whether it names an editor.
    pub(crate) editor: bool,
}

/// Reads what a file says of tests and editor.
pub(crate) fn configured(text: &str) -> Configured {
    let table: toml::Table = text.parse().unwrap_or_default();
    let value = |section: &str, key: &str| table.get(section).and_then(|section| section.get(key));
    let list = |section: &str, key: &str| {
        let lines = value(section, key).and_then(toml::Value::as_array).map(Vec::as_slice).unwrap_or_default();
        lines.iter().filter_map(toml::Value::as_str).collect::<Vec<_>>()
    };
    let (commands, none) = (list("verify", "commands"), value("verify", "none").and_then(toml::Value::as_bool));
    let tests = match (commands.is_empty(), none) {
        (false, _) => Some(commands.join("; ")),
        (true, Some(true)) => Some("nothing, `verify.none`".to_owned()),
        (true, _) => None,
    };
    let named = value("agent", "name").and_then(toml::Value::as_str).is_some_and(|name| name != "command");
    Configured { tests, editor: named || !list("agent", "command").is_empty() }
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

fn verify(facts: &Facts<'_>) -> String {
    let mut text = "# Shell lines that must succeed, run here after every commit of a round.\n".to_owned();
    match facts.tests {
        [] => text.push_str(
            "# No test command was found. `none = true` says that there is nothing to run.\n# commands = [\"make test\"]\n",
        ),
        [first, others @ ..] => {
            text.push_str(&format!("# Told from {}:\ncommands = [{}]\n", first.because, quoted(&first.command)));
            for other in others {
                text.push_str(&format!("# also possible, told from {}: {}\n", other.because, quoted(&other.command)));
            }
        }
    }
    text.push_str(
        "# Test files that are put back when the editor changes them:\n# frozen = [\"tests/acceptance/**\"]\n",
    );
    text
}

fn agent() -> String {
    "# Unset, the first of claude, codex, opencode and aider on the PATH is started.\n# name = \"claude\"\n".to_owned()
}

fn reviewers(facts: &Facts<'_>) -> String {
    match facts.reviewers {
        None => "# Which review bots are at work here could not be told yet. Unset, each one\n\
                 # that shows a sign is awaited.\n\
                 # required = [\"codex\"]\n# none = true\n"
            .to_owned(),
        Some([]) => {
            "# No review bot was seen on the last pull requests. Take this out once there is\n# one.\nnone = true\n"
                .to_owned()
        }
        Some(seen) => {
            let list: Vec<String> = seen.iter().map(|name| quoted(name)).collect();
            format!(
                "# Seen on the last pull requests. Unset, each bot that shows a sign is awaited;\n# named, exactly these are.\n\
                 # required = [{}]\n",
                list.join(", ")
            )
        }
    }
}

/// Returns the skill's text; it is wholly ours.
pub(crate) fn skill() -> String {
    SKILL.to_owned()
}

/// Puts our paragraph into AGENTS.md, between its markers.
pub(crate) fn agents(existing: Option<&str>) -> Result<String, Failure> {
    let text = existing.unwrap_or_default();
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let block = format!("{BEGIN}\n{AGENTS}{END}").replace('\n', newline);
    match (text.matches(BEGIN).count(), text.matches(END).count(), text.find(BEGIN), text.find(END)) {
        (0, 0, ..) if text.trim().is_empty() => Ok(format!("{block}{newline}")),
        (0, 0, ..) => Ok(format!("{}{newline}{newline}{block}{newline}", text.trim_end_matches(['\r', '\n']))),
        (1, 1, Some(begin), Some(end)) if begin < end => {
            Ok(format!("{}{block}{}", &text[..begin], &text[end + END.len()..]))
        }
        _ => Err(Failure::usage(
            format!("{AGENTS_FILE} holds our markers in another number or order than once `{BEGIN}` and then `{END}`"),
            "take them out by hand, then run `pushback init --agent-skill` again",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::layers::{Layers, Origin, parse};

    fn found(command: &str) -> Tests {
        Tests { command: command.to_owned(), because: "Cargo.toml".to_owned() }
    }

    fn value(text: &str, key: &str) -> Option<String> {
        let layer = parse("f", text).expect("a good file");
        Layers::merge(vec![(Origin::DefaultBranch, layer)]).get(key).map(|(value, _)| value.to_string())
    }

    #[test]
    fn the_starter_is_a_good_file_and_stays_as_it_is() {
        let tests = [found("cargo test"), found("make \"quoted\" \\ test")];
        let seen = ["codex".to_owned()];
        for tests in [&tests[..], &[]] {
            for reviewers in [None, Some(&[][..]), Some(&seen[..])] {
                let facts = Facts { tests, reviewers };
                let text = config(None, &facts).expect("a file");
                let commands = if tests.is_empty() { "[]" } else { "[\"cargo test\"]" };
                assert_eq!(value(&text, "verify.commands").as_deref(), Some(commands), "{text}");
                let none = reviewers.is_some_and(<[String]>::is_empty).to_string();
                assert_eq!(value(&text, "reviewers.none"), Some(none), "{text}");
                assert_eq!(config(Some(&text), &facts).expect("the same"), text);
                assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
                // Every line that is commented out is a good one too.
                let out: String = text
                    .lines()
                    .map(|line| line.strip_prefix("# ").unwrap_or(line))
                    .filter(|line| {
                        line.starts_with('[')
                            || ["commands =", "frozen =", "name =", "required ="].iter().any(|k| line.starts_with(k))
                    })
                    .map(|line| format!("{line}\n"))
                    .collect();
                parse("uncommented", &out).unwrap_or_else(|bad| panic!("{bad}: {out}"));
            }
        }
    }

    #[test]
    fn what_people_wrote_stays() {
        let own = "# ours\n[reviewers]\nrequired = [\"ann\"] # she knows\n\n[verify]\nnone = true";
        let text = config(Some(own), &Facts { tests: &[found("cargo test")], reviewers: Some(&[]) }).expect("a file");
        assert!(text.starts_with(own), "{text}");
        assert!(
            text.contains("\n[agent]\n") && !text.contains("none = true\nnone") && !text.contains("cargo test"),
            "{text}"
        );
        assert!(config(Some("[verfy]\nx = 1\n"), &Facts::default()).is_err(), "a bad file is not added to");
    }

    #[test]
    fn the_paragraph_is_put_in_once_and_renewed() {
        let fresh = agents(None).expect("a file");
        assert!(fresh.starts_with(BEGIN) && fresh.ends_with(&format!("{END}\n")));
        let own = "# Our rules\n\nBe kind.\n";
        let once = agents(Some(own)).expect("a file");
        assert!(once.starts_with("# Our rules\n\nBe kind.\n\n<!-- pushback:agents -->\n"), "{once}");
        assert_eq!(agents(Some(&once)).expect("the same"), once);
        let old = once.replace("After every push", "In former times") + "\nMore of ours.\n";
        let renewed = agents(Some(&old)).expect("a file");
        assert!(renewed.contains("After every push") && renewed.ends_with("\nMore of ours.\n"), "{renewed}");
        let windows = agents(Some("# Rules\r\n")).expect("a file");
        assert!(!windows.replace("\r\n", "").contains('\n'), "{windows:?}");
        assert_eq!(agents(Some(&windows)).expect("the same"), windows);
        for bad in [format!("{BEGIN}\n"), format!("{END}\n{BEGIN}\n"), format!("{BEGIN}{BEGIN}{END}")] {
            assert!(agents(Some(&bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_skill_says_when_it_is_used() {
        let text = skill();
        let head = text.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n")).expect("front matter").0;
        assert!(
            head.contains("name: pushback\n") && head.contains("description: ") && head.contains("Use when"),
            "{head}"
        );
    }
}
