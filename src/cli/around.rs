//! What is around a worktree, for `init` and `doctor`: editors, reviewers seen lately, the pull request. Nothing here
//! fails a command: what could not be told is said.

use std::collections::BTreeSet;

use camino::Utf8Path;

use crate::agent;
use crate::github::Api;
use crate::process::Supervisor;
use crate::review::classify::Rules;
use crate::review::comment::AccountKind;
use crate::review::ids::RepoSlug;

/// An editor on the PATH.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Editor {
    /// Name.
    pub(crate) name: &'static str,
    /// Its version, or why it tells none.
    pub(crate) version: Result<String, String>,
    /// Where a login was seen, told without asking its service; `None` proves nothing.
    pub(crate) login: Option<String>,
}

/// Asks every editor on the PATH for its version, side by side.
pub(crate) fn editors() -> Vec<Editor> {
    let names = agent::detect(&std::env::var("PATH").unwrap_or_default());
    let ask = |name: &'static str| {
        let version = tempfile::tempdir().map_err(|error| error.to_string()).and_then(|temp| {
            let folder = Utf8Path::from_path(temp.path()).ok_or("the temporary folder has a strange name")?;
            agent::version(&Supervisor::this_program(), name, folder).map_err(|error| error.to_string())
        });
        Editor { name, version, login: login(name) }
    };
    std::thread::scope(|scope| {
        let handles: Vec<_> = names.into_iter().map(|name| scope.spawn(move || ask(name))).collect();
        handles.into_iter().filter_map(|handle| handle.join().ok()).collect()
    })
}

/// Looks for a stored login or a key. Whether its service takes it is known only by spending.
fn login(name: &str) -> Option<String> {
    let variables: &[&str] = match name {
        "claude" => &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"],
        "codex" => &["CODEX_API_KEY", "OPENAI_API_KEY"],
        _ => &["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY", "GEMINI_API_KEY"],
    };
    let set = |name: &&&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if let Some(variable) = variables.iter().find(set) {
        return Some((*variable).to_owned());
    }
    let home = std::env::var("HOME").unwrap_or_default();
    let own = |variable: &str, default: &str| {
        std::env::var(variable).ok().filter(|dir| !dir.is_empty()).unwrap_or_else(|| format!("{home}/{default}"))
    };
    let file = match name {
        "claude" => format!("{}/.credentials.json", own("CLAUDE_CONFIG_DIR", ".claude")),
        "codex" => format!("{}/auth.json", own("CODEX_HOME", ".codex")),
        "opencode" => format!("{}/opencode/auth.json", own("XDG_DATA_HOME", ".local/share")),
        _ => return None,
    };
    std::fs::metadata(&file).is_ok_and(|data| data.len() > 2).then_some(file)
}

/// Review bots on the newest pull requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Pull requests looked at.
    pub(crate) pulls: usize,
    /// Reviewers by the names of their rules.
    pub(crate) names: Vec<String>,
}

/// Looks at the repository's last ten pull requests for known review bots.
pub(crate) fn reviewers(api: &Api, slug: &RepoSlug, rules: &Rules) -> Result<Seen, String> {
    let (pulls, bots) = api.newest_bots(slug).map_err(|error| error.to_string())?;
    let known = bots.iter().filter_map(|login| rules.reviewer_of(login, AccountKind::Bot, ""));
    let names: BTreeSet<String> = known.map(|reviewer| reviewer.name.clone()).collect();
    Ok(Seen { pulls, names: names.into_iter().collect() })
}
