//! The environment of programs that are not ours: an allow-list, and nothing of the forge's. Shared by editor and verifier.
//!
//! It cannot hide what a program may read in HOME; a sandbox in front of it can.

use std::collections::BTreeMap;

use camino::Utf8Path;

use super::RUN_ID;

/// Variables that are passed on.
const PASSED: &[&str] = &["PATH", "HOME", "LANG", "TMPDIR", "USER", "SHELL"];

/// Variables with a fixed value: no colours, no questions, no editor.
const FIXED: &[(&str, &str)] =
    &[("TERM", "dumb"), ("CI", "1"), ("NO_COLOR", "1"), ("GIT_TERMINAL_PROMPT", "0"), ("GIT_EDITOR", "true")];

/// Settings of git that are emptied. They are read last, and an empty entry empties the list that came before it; for
/// `credential.helper` that includes the lists for one host, for headers the host has to be named.
const EMPTIED: &[&str] =
    &["credential.helper", "core.askPass", "http.extraHeader", "http.https://github.com/.extraHeader"];

/// A complete environment.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Environment {
    vars: BTreeMap<String, String>,
    /// Names that were asked for and are never passed on.
    pub refused: Vec<String>,
}

/// What an environment is made from.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    /// Our own variables.
    pub ours: &'a [(String, String)],
    /// Names that the configuration adds.
    pub names: &'a [String],
    /// Values that must not be passed on under any name.
    pub secrets: &'a [String],
    /// An empty folder, in place of the configuration of `gh`.
    pub gh_config: &'a Utf8Path,
    /// Mark of the run.
    pub run_id: &'a str,
}

impl Environment {
    /// Picks what may be passed on.
    pub fn new(source: &Source<'_>) -> Self {
        let mut made = Self::default();
        for (name, value) in source.ours {
            let asked = source.names.contains(name);
            if !asked && !PASSED.contains(&name.as_str()) && !name.starts_with("LC_") {
                continue;
            }
            let secret = source.secrets.iter().any(|secret| !secret.is_empty() && value.contains(secret.as_str()));
            if secret || of_the_forge(name) {
                if asked {
                    made.refused.push(name.clone());
                }
                continue;
            }
            made.set(name, value);
        }
        for (name, value) in FIXED {
            made.set(name, value);
        }
        let server = source.ours.iter().find(|(name, _)| name == "GITHUB_SERVER_URL");
        let server = server.map(|(_, url)| format!("http.{}/.extraHeader", url.trim_end_matches('/')));
        let emptied = EMPTIED.iter().copied().chain(server.as_deref());
        for (at, key) in emptied.clone().enumerate() {
            made.set(&format!("GIT_CONFIG_KEY_{at}"), key);
            made.set(&format!("GIT_CONFIG_VALUE_{at}"), "");
        }
        made.set("GIT_CONFIG_COUNT", &emptied.count().to_string());
        made.set("GH_CONFIG_DIR", source.gh_config.as_str());
        made.set(RUN_ID, source.run_id);
        made
    }

    /// Sets a variable.
    pub fn set(&mut self, name: &str, value: &str) {
        self.vars.insert(name.to_owned(), value.to_owned());
    }

    /// Returns every variable.
    pub fn into_vars(self) -> Vec<(String, String)> {
        self.vars.into_iter().collect()
    }
}

/// Returns our own variables, as far as they are text.
pub fn ours() -> Vec<(String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

/// Tells whether a variable carries, finds or asks for rights at the forge. Such a name cannot be configured in.
fn of_the_forge(name: &str) -> bool {
    const NAMES: &[&str] = &["SSH_AUTH_SOCK", "SSH_AGENT_PID", "GIT_ASKPASS", "SSH_ASKPASS", "GH_CONFIG_DIR", RUN_ID];
    const STARTS: &[&str] = &["GH_", "GITHUB_", "PUSHBACK_", "GIT_CONFIG", "ACTIONS_"];
    const ENDS: &[&str] = &["TOKEN", "PASSWORD", "SECRET", "_PAT"];
    let name = name.to_ascii_uppercase();
    NAMES.contains(&name.as_str())
        || name.starts_with("GIT_CONFIG")
        || STARTS.iter().any(|start| name.starts_with(start)) && ENDS.iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(ours: &[(&str, &str)], names: &[&str], secrets: &[&str]) -> Environment {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let ours: Vec<_> = ours.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Environment::new(&Source {
            ours: &ours,
            names: &owned(names),
            secrets: &owned(secrets),
            gh_config: Utf8Path::new("/empty"),
            run_id: "r1",
        })
    }

    #[test]
    fn fm_46_only_listed_names_pass() {
        let check = |name: &str, names: &[&str], passes: bool| {
            let environment = made(&[(name, "value")], names, &[]);
            assert_eq!(environment.vars.get(name).is_some_and(|value| value == "value"), passes, "{name} {names:?}");
            assert_eq!(environment.refused.is_empty(), passes || names.is_empty(), "{name}");
        };
        for name in ["PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "USER", "SHELL"] {
            check(name, &[], true);
        }
        for name in [
            "GIT_DIR",
            "GIT_INDEX_FILE",
            "EDITOR",
            "AWS_SECRET_ACCESS_KEY",
            "OPENAI_API_KEY",
            "DBUS_SESSION_BUS_ADDRESS",
        ] {
            check(name, &[], false);
        }
        check("OPENAI_API_KEY", &["OPENAI_API_KEY"], true);
        check("CLAUDE_CODE_OAUTH_TOKEN", &["CLAUDE_CODE_OAUTH_TOKEN"], true);
        for name in [
            "GH_TOKEN",
            "GITHUB_TOKEN",
            "GH_ENTERPRISE_TOKEN",
            "PUSHBACK_TOKEN",
            "PUSHBACK_REVIEWER_TOKEN",
            "SSH_AUTH_SOCK",
            "GIT_ASKPASS",
            "SSH_ASKPASS",
            "GIT_CONFIG_PARAMETERS",
            "GIT_CONFIG_COUNT",
            "GH_CONFIG_DIR",
            "ACTIONS_RUNTIME_TOKEN",
            "github_token",
        ] {
            check(name, &[], false);
            check(name, &[name], false);
        }
    }

    #[test]
    fn r27_a_token_is_not_passed_on_under_another_name() {
        let environment =
            made(&[("HOME", "/h"), ("LANG", "tok-1"), ("MINE", "bearer tok-1")], &["MINE"], &["", "tok-1"]);
        assert_eq!(environment.refused, ["MINE"]);
        let vars = environment.into_vars();
        assert!(vars.iter().all(|(_, value)| !value.contains("tok-1")));
        assert!(vars.contains(&("HOME".into(), "/h".into())));
    }

    #[test]
    fn fixed_values_win() {
        let vars = made(&[("TERM", "xterm"), ("CI", "")], &["TERM", "CI"], &[]).vars;
        assert_eq!(vars["TERM"], "dumb");
        assert_eq!(vars["CI"], "1");
        assert_eq!(vars["GH_CONFIG_DIR"], "/empty");
        assert_eq!(vars[RUN_ID], "r1");
    }
}
