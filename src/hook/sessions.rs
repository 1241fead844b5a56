//! Whether a coding agent is at work in a worktree: by the mark its shell carries, and by the processes that stand in it.
//! A session that is not seen may still be there; the answer is for not getting in its way, never for safety.

use camino::Utf8Path;

/// Programs of coding agents.
const PROGRAMS: &[&str] = &[
    "claude",
    "codex",
    "opencode",
    "aider",
    "gemini",
    "qwen",
    "copilot",
    "cursor-agent",
    "amp",
    "goose",
    "crush",
    "droid",
];
/// Packages of those that a runtime of scripts starts.
const PACKAGES: &[&str] = &["claude-code", "@openai/codex", "opencode-ai", "gemini-cli", "qwen-code", "aider-chat"];
/// What runs scripts: the program is then the second word.
const RUNTIMES: &[&str] = &["node", "bun", "deno", "python"];
/// Variables that agents set for the commands they run.
const MARKS: &[(&str, &str)] = &[
    ("CLAUDECODE", "claude"),
    ("CODEX_SANDBOX", "codex"),
    ("CODEX_THREAD_ID", "codex"),
    ("OPENCODE", "opencode"),
    ("GEMINI_CLI", "gemini"),
    ("QWEN_CODE", "qwen"),
    ("CURSOR_AGENT", "cursor-agent"),
];

/// Names the agent whose shell this is.
pub fn marked(variable: impl Fn(&str) -> Option<String>) -> Option<&'static str> {
    MARKS.iter().find(|(name, _)| variable(name).is_some_and(|value| !value.is_empty())).map(|(_, agent)| *agent)
}

/// Names the agent that a command line is one of.
fn agent_of(argv: &[&str]) -> Option<&'static str> {
    let base = |word: &str| word.rsplit('/').next().unwrap_or(word).to_owned();
    let runtime = argv.first().is_some_and(|word| RUNTIMES.iter().any(|runtime| base(word).starts_with(runtime)));
    for word in argv.iter().take(if runtime { 2 } else { 1 }) {
        let name = base(word);
        let stem = name.split('.').next().unwrap_or(&name);
        if let Some(found) = PROGRAMS.iter().find(|program| **program == stem) {
            return Some(found);
        }
        if let Some(at) = PACKAGES.iter().position(|package| word.contains(package)) {
            return Some(["claude", "codex", "opencode", "gemini", "qwen", "aider"][at]);
        }
    }
    None
}

/// Looks for the process of an agent whose working directory lies in this worktree; editors of ours are none.
pub fn seen(worktree: &Utf8Path) -> Option<String> {
    let processes = std::fs::read_dir("/proc").ok()?;
    for process in processes.flatten() {
        let name = process.file_name();
        let Some(pid) = name.to_str().filter(|name| name.bytes().all(|byte| byte.is_ascii_digit())) else { continue };
        let dir = process.path();
        let inside = std::fs::read_link(dir.join("cwd")).is_ok_and(|cwd| cwd.starts_with(worktree));
        if !inside || pid == std::process::id().to_string() {
            continue;
        }
        let words = std::fs::read(dir.join("cmdline")).unwrap_or_default();
        let words = String::from_utf8_lossy(&words).into_owned();
        let argv: Vec<&str> = words.split('\0').collect();
        let Some(agent) = agent_of(&argv) else { continue };
        let environment = std::fs::read(dir.join("environ")).unwrap_or_default();
        let ours = environment.split(|byte| *byte == 0).any(|pair| pair.starts_with(b"PUSHBACK_RUN_ID="));
        if !ours {
            return Some(format!("{agent} (process {pid})"));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_are_known_by_their_command_line() {
        let check = |argv: &[&str], expected: Option<&str>| assert_eq!(agent_of(argv), expected, "{argv:?}");
        check(&["claude"], Some("claude"));
        check(&["/usr/bin/codex", "exec"], Some("codex"));
        check(&["node", "/usr/lib/node_modules/@anthropic-ai/claude-code/cli.js"], Some("claude"));
        check(&["python3", "/usr/local/bin/aider", "--model", "x"], Some("aider"));
        check(&["vim", "claude"], None);
        check(&["git", "push", "codex"], None);
        check(&["bash"], None);
        check(&[], None);
    }

    #[test]
    fn an_agents_shell_carries_its_mark() {
        let of =
            |name: &'static str, value: &'static str| marked(move |asked| (asked == name).then(|| value.to_owned()));
        assert_eq!(of("CLAUDECODE", "1"), Some("claude"));
        assert_eq!(of("CLAUDECODE", ""), None);
        assert_eq!(of("HOME", "/h"), None);
    }
}
