//! Runs the `git` program: argument vectors, a scrubbed environment, a time limit, words without secrets.
//! Knows nothing of what a command means.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write as _};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use regex::Regex;
use secrecy::{ExposeSecret, SecretString};

use crate::ports::GitError;
use crate::process::{NO_HOOK, bounded};

/// Limit of commands that stay on this machine; generous, since commit hooks of people run tests.
const LOCAL_LIMIT: Duration = Duration::from_secs(30 * 60);
/// Limit of a question to the remote.
pub(super) const ASK_LIMIT: Duration = Duration::from_secs(120);
/// Limit of a transfer; hooks before a push may run tests.
pub(super) const TRANSFER_LIMIT: Duration = Duration::from_secs(30 * 60);

/// Variable that carries the token to the credential helper of one command.
const TOKEN_VARIABLE: &str = "PUSHBACK_GIT_TOKEN";

/// What git sets for its hooks, or people for one command: it would lead every child to another repository.
const SCRUBBED: &[&str] = &[
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_ATTR_SOURCE",
    "GIT_CEILING_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_CONFIG_PARAMETERS",
    "GIT_DEFAULT_HASH",
    "GIT_DIFF_OPTS",
    "GIT_DIR",
    "GIT_EXTERNAL_DIFF",
    "GIT_GLOB_PATHSPECS",
    "GIT_GRAFT_FILE",
    "GIT_ICASE_PATHSPECS",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_INDEX_VERSION",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_LITERAL_PATHSPECS",
    "GIT_NAMESPACE",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_QUARANTINE_PATH",
    "GIT_REFLOG_ACTION",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_TRACE",
    "GIT_TRACE2",
    "GIT_TRACE2_EVENT",
    "GIT_TRACE2_PERF",
    "GIT_TRACE_CURL",
    "GIT_TRACE_PACKET",
    "GIT_WORK_TREE",
];

/// Tells whether git is never told of a variable.
pub(super) fn is_scrubbed(name: &str) -> bool {
    SCRUBBED.contains(&name)
}

/// Tokens of ours that no git command needs.
const OUR_SECRETS: &[&str] = &["PUSHBACK_TOKEN", "PUSHBACK_REVIEWER_TOKEN", TOKEN_VARIABLE];

/// A token for pushing and fetching, bound to one host.
#[derive(Clone)]
pub(super) struct Token {
    /// Scheme and host as the credential section of git's configuration names them.
    pub(super) scope: String,
    /// The secret.
    pub(super) secret: SecretString,
}

/// The program, where it runs, and what every call shares.
#[derive(Clone)]
pub(super) struct Git {
    program: OsString,
    dir: Utf8PathBuf,
    token: Option<Token>,
}

/// How a command ended.
#[derive(Debug)]
pub(super) struct Output {
    /// Exit code; `None` when a signal or the time limit ended it.
    pub(super) code: Option<i32>,
    /// Its data.
    pub(super) stdout: Vec<u8>,
    /// Its words, secrets masked.
    pub(super) stderr: String,
    /// True when the time limit ended it.
    pub(super) timed_out: bool,
}

impl Output {
    /// Tells whether it succeeded.
    pub(super) fn success(&self) -> bool {
        self.code == Some(0)
    }

    /// Returns why it failed, in git's words where it left any.
    pub(super) fn words(&self) -> String {
        let said = self.stderr.trim();
        let end = match self.code {
            _ if self.timed_out => "git did not end within its time limit".to_owned(),
            Some(code) => format!("git ended with exit code {code}"),
            None => "git was ended by a signal".to_owned(),
        };
        match (said.is_empty(), self.code.is_none()) {
            (true, _) => end,
            (false, true) => format!("{end}: {said}"),
            (false, false) => said.to_owned(),
        }
    }
}

/// One command being put together.
pub(super) struct Call<'g> {
    git: &'g Git,
    what: String,
    configs: Vec<OsString>,
    args: Vec<OsString>,
    stdin: Vec<u8>,
    env: Vec<(String, OsString)>,
    dir: Utf8PathBuf,
    limit: Duration,
    network: bool,
}

impl Git {
    /// Runs this program in this folder.
    pub(super) fn new(program: impl Into<OsString>, dir: &Utf8Path) -> Self {
        Self { program: program.into(), dir: dir.to_owned(), token: None }
    }

    /// Gives network commands a token.
    pub(super) fn set_token(&mut self, token: Token) {
        self.token = Some(token);
    }

    /// Sets the folder commands run in.
    pub(super) fn set_dir(&mut self, dir: &Utf8Path) {
        self.dir = dir.to_owned();
    }

    /// Begins a command; `what` completes "could not …".
    pub(super) fn call(&self, what: impl Into<String>) -> Call<'_> {
        Call {
            git: self,
            what: what.into(),
            configs: Vec::new(),
            args: Vec::new(),
            stdin: Vec::new(),
            env: Vec::new(),
            dir: self.dir.clone(),
            limit: LOCAL_LIMIT,
            network: false,
        }
    }
}

impl Call<'_> {
    /// Adds arguments.
    pub(super) fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(|a| a.as_ref().to_owned()));
        self
    }

    /// Sets a configuration value for this command alone. Never a secret: this is an argument.
    pub(super) fn config(mut self, value: &str) -> Self {
        self.configs.push(value.into());
        self
    }

    /// Sets configuration values by environment: for names that hold anything, and for values that may be secret.
    pub(super) fn private_config(mut self, values: &[(String, String)]) -> Self {
        let before = std::env::var("GIT_CONFIG_COUNT").ok().and_then(|n| n.parse().ok()).unwrap_or(0_usize);
        for (n, (key, value)) in values.iter().enumerate() {
            self = self.env(format!("GIT_CONFIG_KEY_{}", before + n), key);
            self = self.env(format!("GIT_CONFIG_VALUE_{}", before + n), value);
        }
        self.env("GIT_CONFIG_COUNT", (before + values.len()).to_string())
    }

    /// Gives it data on standard input.
    pub(super) fn stdin(mut self, data: impl Into<Vec<u8>>) -> Self {
        self.stdin = data.into();
        self
    }

    /// Sets an environment variable.
    pub(super) fn env(mut self, name: impl Into<String>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Runs it in another folder.
    pub(super) fn dir(mut self, dir: &Utf8Path) -> Self {
        self.dir = dir.to_owned();
        self
    }

    /// Marks it as one that talks to the remote, at most for this long.
    pub(super) fn network(mut self, limit: Duration) -> Self {
        self.network = true;
        self.limit = limit;
        self
    }

    /// Runs it and returns how it ended; fails only when it could not be run.
    pub(super) fn run(self) -> Result<Output, GitError> {
        let what = self.what.clone();
        self.spawn_and_wait().map_err(|e| GitError { what, why: format!("git could not be run: {e}") })
    }

    /// Runs it and returns its data; fails unless it succeeds.
    pub(super) fn ok(self) -> Result<Vec<u8>, GitError> {
        let what = self.what.clone();
        let output = self.run()?;
        if output.success() { Ok(output.stdout) } else { Err(GitError { what, why: output.words() }) }
    }

    /// Runs it and returns its first line as text.
    pub(super) fn line(self) -> Result<String, GitError> {
        let data = self.ok()?;
        let text = String::from_utf8_lossy(&data);
        Ok(text.trim_end_matches('\n').to_owned())
    }

    fn spawn_and_wait(self) -> std::io::Result<Output> {
        // Files, not pipes: a daemon that git leaves behind (credential cache, gc) would keep a pipe open for ever.
        let mut stdout = scratch()?;
        let mut stderr = scratch()?;
        let mut command = self.command();
        command.stdin(self.input()?).stdout(stdout.try_clone()?).stderr(stderr.try_clone()?);
        let status = bounded::within(&mut command, self.limit)?;
        let words = String::from_utf8_lossy(&slurp(&mut stderr)?).into_owned();
        let stderr = mask(&words, self.git.token.as_ref().map(|t| t.secret.expose_secret()));
        let code = status.and_then(|status| status.code());
        Ok(Output { code, stdout: slurp(&mut stdout)?, stderr, timed_out: status.is_none() })
    }

    fn input(&self) -> std::io::Result<Stdio> {
        if self.stdin.is_empty() {
            return Ok(Stdio::null());
        }
        let mut file = scratch()?;
        file.write_all(&self.stdin)?;
        file.seek(SeekFrom::Start(0))?;
        Ok(Stdio::from(file))
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.git.program);
        command.current_dir(&self.dir);
        for name in SCRUBBED.iter().chain(OUR_SECRETS) {
            command.env_remove(name);
        }
        if !self.network {
            // Hooks and filters of the tree run under local commands; a token is none of their business.
            for (name, _) in std::env::vars_os().filter(|(name, _)| is_token(name)) {
                command.env_remove(name);
            }
        }
        command
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_EDITOR", ":")
            .env("GIT_SEQUENCE_EDITOR", ":")
            .env("GIT_MERGE_AUTOEDIT", "no")
            .env("GIT_PAGER", "cat")
            .env("LC_ALL", "C")
            .env("LANGUAGE", "C")
            .env(NO_HOOK, "1");
        if std::env::var_os("SSH_ASKPASS_REQUIRE").is_none() {
            // In a process group of its own a question on the terminal would stop ssh for good.
            command.env("SSH_ASKPASS_REQUIRE", "force");
        }
        // A file system monitor named by the repository's configuration is a program that status would start.
        command.args(["-c", "core.fsmonitor=false"]);
        for config in &self.configs {
            command.arg("-c").arg(config);
        }
        if let (true, Some(token)) = (self.network, &self.git.token) {
            credentials(&mut command, token);
        }
        command.args(&self.args);
        for (name, value) in &self.env {
            command.env(name, value);
        }
        command
    }
}

/// Makes a file for what git says or is told.
fn scratch() -> std::io::Result<File> {
    tempfile::tempfile().map_err(|error| {
        let dir = std::env::temp_dir();
        std::io::Error::new(error.kind(), format!("no temporary file can be made in {}: {error}", dir.display()))
    })
}

/// Lets git ask a helper that reads the token from this child's environment. Other helpers are emptied, so that none
/// of them is told to store it.
fn credentials(command: &mut Command, token: &Token) {
    let helper = format!(
        "!f() {{ test \"$1\" = get && printf 'username=x-access-token\\npassword=%s\\n' \"${TOKEN_VARIABLE}\"; }}; f"
    );
    let scope = format!("credential.{}.helper", token.scope);
    command.args(["-c", "credential.helper=", "-c"]).arg(format!("{scope}="));
    command.arg("-c").arg(format!("{scope}={helper}"));
    command.env(TOKEN_VARIABLE, token.secret.expose_secret());
}

fn is_token(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    name.ends_with("_TOKEN") || name == "GIT_ASKPASS"
}

fn slurp(file: &mut File) -> std::io::Result<Vec<u8>> {
    let mut data = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.read_to_end(&mut data)?;
    Ok(data)
}

#[expect(clippy::expect_used, reason = "a fixed pattern")]
static USERINFO: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?i)\b([a-z][a-z0-9+.-]*://)[^/\s'`]*@").expect("compiles"));
#[expect(clippy::expect_used, reason = "a fixed pattern")]
static TOKEN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\b(?:gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,}|glpat-[A-Za-z0-9_-]{16,})")
        .expect("compiles")
});

/// Masks userinfo in addresses, what looks like a token, and this secret.
pub(super) fn mask(text: &str, secret: Option<&str>) -> String {
    let text = match secret {
        Some(secret) if !secret.is_empty() => text.replace(secret, "***"),
        _ => text.to_owned(),
    };
    let text = USERINFO.replace_all(&text, "$1***@");
    TOKEN.replace_all(&text, "***").into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fm_47_words_carry_no_credentials() {
        let check = |text: &str, expected: &str| assert_eq!(mask(text, Some("s3cret")), expected);
        check("fatal: https://u:p@h/o/r refused", "fatal: https://***@h/o/r refused");
        check("fatal: 'https://tok@h/o/r'", "fatal: 'https://***@h/o/r'");
        check("ssh://git@h/o", "ssh://***@h/o");
        check("a s3cret b", "a *** b");
        check("ghp_0123456789abcdefABCD!", "***!");
        check("me@example.org: https://h/o", "me@example.org: https://h/o");
    }

    #[test]
    fn a_command_that_does_not_end_is_ended_with_its_children() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().expect("a folder");
        let dir = Utf8Path::from_path(dir.path()).expect("utf-8");
        let script = dir.join("git");
        std::fs::write(&script, "#!/bin/sh\necho begun >&2\nsleep 600 &\nwait\n").expect("writes");
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).expect("sets mode");
        let git = Git::new(script.as_str(), dir);
        let output = git.call("wait").network(Duration::from_millis(300)).run().expect("runs");
        assert!(output.timed_out && output.code.is_none());
        assert!(output.words().contains("time limit"), "{}", output.words());
    }

    #[test]
    fn fm_46_a_token_goes_to_its_host_and_to_network_commands_alone() {
        let mut git = Git::new("git", Utf8Path::new("/"));
        let token = Token { scope: "https://forge.invalid".to_owned(), secret: "canary".to_owned().into() };
        git.set_token(token);
        let ask = |host: &str, network: bool| {
            let call = git.call("ask").args(["credential", "fill"]).env("GIT_ASKPASS", "false");
            let call = call.stdin(format!("protocol=https\nhost={host}\n\n"));
            let call = if network { call.network(ASK_LIMIT) } else { call };
            String::from_utf8(call.run().expect("runs").stdout).expect("utf-8")
        };
        assert!(ask("forge.invalid", true).contains("username=x-access-token\npassword=canary\n"));
        assert!(!ask("other.invalid", true).contains("canary"));
        assert!(!ask("forge.invalid.evil.invalid", true).contains("canary"));
        assert!(!ask("forge.invalid", false).contains("canary"));
    }
}
