//! aider: one message from a file, plain text back. It has no events and exits 0 on a refused login: its words are all there is.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::LazyLock;

use camino::Utf8Path;
use jiff::Timestamp;
use regex::Regex;

use super::drive::{Call, Dialect, Job};
use super::outcome::environment_failure;
use super::probe::Needs;
use super::transcript::{Transcript, by_words, found_in};
use crate::ports::AgentOutcome;
use crate::process::bounded;
use crate::process::clean::{clean, one_line};

/// What was said, in the folder of the run; the brief in it has a mark before each line.
const CHAT: &str = "chat.md";
/// Begins the lines of its record that hold what it was told.
const TOLD: &str = "####";

/// What it says of a model that says nothing.
const EMPTY: &str = "Empty response received from LLM";

/// Most files that it is given at the start.
const FILES: usize = 20;

static SPENT: LazyLock<Regex> = LazyLock::new(|| {
    #[expect(clippy::expect_used, reason = "a constant pattern")]
    Regex::new(r"^Tokens: ([0-9.,]+)([kM]?) sent, (?:.*, )?([0-9.,]+)([kM]?) received\.(?:.*\$([0-9.]+) session)?")
        .expect("a constant pattern")
});

/// An error of the library that it asks models with.
static ERROR: LazyLock<Regex> = LazyLock::new(|| {
    #[expect(clippy::expect_used, reason = "a constant pattern")]
    Regex::new(r"^litellm\.(\w+)(?:: *(.*))?").expect("a constant pattern")
});

/// aider.
pub(super) struct Aider;

impl Dialect for Aider {
    fn name(&self) -> &'static str {
        "aider"
    }

    fn passes(&self) -> &'static [&'static str] {
        &[
            "AIDER_*",
            "OPENAI_*",
            "ANTHROPIC_*",
            "OPENROUTER_API_KEY",
            "GEMINI_API_KEY",
            "GROQ_API_KEY",
            "MISTRAL_API_KEY",
            "DEEPSEEK_API_KEY",
            "XAI_API_KEY",
            "OLLAMA_API_BASE",
        ]
    }

    fn needs(&self) -> Needs {
        Needs {
            ask: &["--help"],
            words: &[
                "--message-file",
                "--yes-always",
                "--no-auto-commits",
                "--no-dirty-commits",
                "--no-suggest-shell-commands",
            ],
        }
    }

    fn call(&self, job: &Job<'_>) -> io::Result<Call> {
        let message = job.folder.join("message.md");
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&message)?;
        file.write_all(job.prompt.as_bytes())?;
        let mut args = vec!["--message-file".to_owned(), message.into_string()];
        let flags = [
            "--yes-always",
            "--no-auto-commits",
            "--no-dirty-commits",
            "--no-gitignore",
            "--no-analytics",
            "--no-check-update",
            "--no-show-release-notes",
            "--no-show-model-warnings",
            "--no-suggest-shell-commands",
            "--no-detect-urls",
            "--no-pretty",
            "--no-stream",
            // The map is cached in the worktree, and would be taken for work.
            "--map-tokens",
            "0",
        ];
        args.extend(flags.map(str::to_owned));
        for (flag, name) in [("--chat-history-file", CHAT), ("--input-history-file", "input")] {
            args.extend([flag.to_owned(), job.folder.join(name).into_string()]);
        }
        if let Some(model) = job.model {
            args.extend(["--model".to_owned(), model.to_owned()]);
        }
        args.extend_from_slice(job.extra);
        let mut files = Vec::new();
        for path in job.brief.view.findings.review_findings.iter().filter_map(|item| item.path.as_deref()) {
            // Absolute: no name can be taken for a flag.
            let path = job.worktree.join(path);
            let inside = path.canonicalize_utf8().is_ok_and(|real| real.is_file() && real.starts_with(job.worktree));
            if inside && !files.contains(&path) && files.len() < FILES {
                files.push(path);
            }
        }
        args.extend(files.into_iter().map(camino::Utf8PathBuf::into_string));
        // It writes a name into the repository's configuration where it finds none.
        let config = job.folder.join("config");
        std::fs::create_dir_all(config.join("git"))?;
        std::fs::write(config.join("git/config"), "[user]\n\tname = editor\n\temail = editor@localhost\n")?;
        let env = vec![("XDG_CONFIG_HOME", config.into_string()), ("LITELLM_LOCAL_MODEL_COST_MAP", "True".to_owned())];
        Ok(Call { args, env, stdin: String::new() })
    }

    fn hear(&self, seen: &mut Transcript, line: &str) {
        let line = clean(line);
        let now = Timestamp::now();
        if let Some(spent) = SPENT.captures(&line) {
            // It counts the tokens of an empty answer too.
            let empty =
                |failure: &AgentOutcome| matches!(failure, AgentOutcome::Refused(why) if why.starts_with(EMPTY));
            seen.failure = seen.failure.take().filter(|failure| !seen.finished && empty(failure));
            (seen.finished, seen.worked) = (true, true);
            seen.tokens += amount(&spent[1], &spent[2]) + amount(&spent[3], &spent[4]);
            seen.cost_usd = spent.get(5).and_then(|cost| cost.as_str().parse().ok()).unwrap_or(seen.cost_usd);
            return;
        }
        if line.starts_with("Applied edit to ") {
            (seen.edited, seen.worked) = (true, true);
        }
        if line.starts_with(EMPTY) {
            seen.finished = false;
            seen.failure = Some(AgentOutcome::Refused(one_line(&line, 200)));
        }
        if let Some(error) = ERROR.captures(&line) {
            let known = known(&error[1], error.get(2).map_or("", |why| why.as_str()), now);
            (seen.trouble, seen.failure) = (Some(known.clone()), Some(known));
        } else if !seen.finished && (line.starts_with("Please set") || line.contains("API key")) {
            seen.failure = by_words(&line, now).or_else(|| seen.failure.take());
        }
        if seen.text.len() < 256 * 1024 {
            seen.text.push_str(&line);
            seen.text.push('\n');
        }
    }

    fn doing(&self, line: &str) -> Option<String> {
        Some(line.to_owned())
    }

    fn reread(&self, folder: &Utf8Path, seen: &mut Transcript) {
        // On standard output long lines are broken, also within an answer.
        let chat = String::from_utf8(bounded::read(&folder.join(CHAT)).unwrap_or_default()).unwrap_or_default();
        // Lines with this mark are what it was told, and in that stands the text of others.
        let said: Vec<&str> = chat.lines().filter(|line| !line.starts_with(TOLD)).collect();
        seen.answer = found_in(&said.join("\n"));
    }

    fn last_word(&self) -> Option<&'static str> {
        None
    }
}

fn amount(number: &str, unit: &str) -> u64 {
    let number: f64 = number.replace(',', "").parse().unwrap_or(0.0);
    let times = match unit {
        "k" => 1e3,
        "M" => 1e6,
        _ => 1.0,
    };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count that was rounded for display")]
    let tokens = (number * times).clamp(0.0, 1e15) as u64;
    tokens
}

fn known(kind: &str, why: &str, now: Timestamp) -> AgentOutcome {
    let said = format!("{kind}: {}", one_line(why, 200));
    match kind {
        "AuthenticationError" | "PermissionDeniedError" => AgentOutcome::AuthFailed(said),
        "RateLimitError" => AgentOutcome::RateLimited {
            retry_at: match environment_failure(why, now) {
                Some(AgentOutcome::RateLimited { retry_at, .. }) => retry_at,
                _ => None,
            },
            why: said,
        },
        "InternalServerError" | "ServiceUnavailableError" | "APIConnectionError" | "Timeout" | "BadGatewayError" => {
            AgentOutcome::Overloaded(said)
        }
        "ContentPolicyViolationError" => AgentOutcome::Refused(said),
        // An answer that it has no name for; it has tried again for a minute.
        "APIError" | "APIResponseValidationError" => by_words(why, now).unwrap_or(AgentOutcome::Overloaded(said)),
        _ => by_words(why, now).unwrap_or(AgentOutcome::Crashed(said)),
    }
}
