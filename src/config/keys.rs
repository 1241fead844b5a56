//! Every config key: where it stands, what it takes, its default, who may set it. Help, schema and README table come from here.

/// What a key takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// `true` or `false`.
    Bool,
    /// A whole number, not negative.
    Count,
    /// A number, not negative.
    Number,
    /// A text.
    Text,
    /// A list of texts.
    Texts,
    /// A duration such as `"90s"` or `"2h"`.
    Time,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// `"writers"`, `"not_author"` or a list of logins.
    Regraders,
}

impl Takes {
    /// Says it in words.
    pub fn words(self) -> String {
        match self {
            Self::Bool => "true or false".to_owned(),
            Self::Count => "a whole number that is not negative".to_owned(),
            Self::Number => "a number that is not negative".to_owned(),
            Self::Text => "a text".to_owned(),
            Self::Texts => "a list of texts".to_owned(),
            Self::Time => "a duration such as \"90s\", \"15m\" or \"2h\"".to_owned(),
            Self::OneOf(words) => format!("one of \"{}\"", words.join("\", \"")),
            Self::Regraders => "\"writers\", \"not_author\" or a list of logins".to_owned(),
        }
    }
}

/// Which files may set a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The user's file, the default branch's, or a trusted worktree file.
    Anywhere,
    /// Never a worktree file: the user's or the default branch's.
    Policy,
}

/// One key.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// `section.key`.
    pub name: &'static str,
    /// What it takes.
    pub takes: Takes,
    /// Default as TOML; empty when it has none.
    pub default: &'static str,
    /// Who may set it.
    pub scope: Scope,
    /// One sentence.
    pub doc: &'static str,
}

const fn any(name: &'static str, takes: Takes, default: &'static str, doc: &'static str) -> Key {
    Key { name, takes, default, scope: Scope::Anywhere, doc }
}

const fn policy(name: &'static str, takes: Takes, default: &'static str, doc: &'static str) -> Key {
    Key { name, takes, default, scope: Scope::Policy, doc }
}

use Takes::{Bool, Count, Number, OneOf, Regraders, Text, Texts, Time};

/// Words for a severity.
pub const LEVELS: &[&str] = &["P1", "P2", "P3", "nit"];

/// All keys, in the order in which they are shown.
pub const KEYS: &[Key] = &[
    any(
        "agent.name",
        OneOf(&["claude", "codex", "opencode", "aider", "command"]),
        "",
        "Editor to start; the first one on the PATH when unset, in this order.",
    ),
    any(
        "agent.command",
        Texts,
        "[]",
        "Program and arguments of the `command` editor, which reads the brief on standard input; with another `agent.name`, that editor's program and further arguments.",
    ),
    any("agent.model", Text, "", "Model, passed on where the editor takes one."),
    any("agent.timeout", Time, "\"30m\"", "Longest editor run."),
    any("agent.silent", Time, "\"10m\"", "Longest silence of the editor."),
    any("agent.env", Texts, "[]", "Names of further variables that the editor may see."),
    any("agent.wrap", Texts, "[]", "Program and arguments put before the editor, for example a sandbox."),
    any("spec.path", Texts, "[]", "Files that say what the pull request has to do; its description when unset."),
    any("verify.commands", Texts, "[]", "Shell lines that must succeed; run in the worktree, in order."),
    any("verify.timeout", Time, "\"15m\"", "Longest run of one command."),
    any("verify.retries", Count, "1", "Repeats of red tests without a change; green on a repeat is reported as flaky."),
    any("verify.base_check", Bool, "true", "Whether red tests are also run on the merge base."),
    any("verify.frozen", Texts, "[]", "Globs of test files that are put back when the editor changes them."),
    any("verify.env", Texts, "[]", "Names of further variables that the commands may see."),
    any("verify.push_red", Bool, "false", "Whether commits with red tests are pushed."),
    any("verify.none", Bool, "false", "Says that there is nothing to verify."),
    policy(
        "reviewers.required",
        Texts,
        "[]",
        "Reviewers, by name or login, that must have finished; discovered when unset.",
    ),
    policy("reviewers.none", Bool, "false", "Says that nobody reviews this repository."),
    policy("reviewers.ttl", Time, "\"2h\"", "How long a silent or limited reviewer is waited for."),
    policy("reviewers.settle", Time, "\"3m\"", "Quiet time after the last sign on a head."),
    policy(
        "reviewers.nudge",
        Time,
        "\"10m\"",
        "Silence after which a reviewer is asked once; at most half the TTL counts.",
    ),
    policy("reviewers.requests_per_head", Count, "1", "Re-requests per reviewer and head."),
    policy("trust.accounts", Texts, "[]", "Accounts whose markers count beside our own."),
    policy("trust.allow", Texts, "[]", "Logins that may create work without write permission."),
    policy("people.untagged", OneOf(LEVELS), "\"P2\"", "Severity of people's untagged findings."),
    policy("people.argue", OneOf(&["ask", "auto"]), "\"ask\"", "Whether an argument with a person waits for a person."),
    policy("post.enabled", Bool, "false", "Consent to post in this repository."),
    policy("post.replies", OneOf(&["reasons", "all", "minimal"]), "\"reasons\"", "Which settled findings get a reply."),
    policy("post.description", Bool, "true", "Whether the block in the description is kept; arguments need it."),
    policy("post.resolve", OneOf(&["auto", "never"]), "\"auto\"", "Whether bots' threads are resolved once settled."),
    policy(
        "followup.dir",
        Text,
        "\"wiki/plans\"",
        "Folder in the repository where the plans of follow-ups are written.",
    ),
    policy("limits.rounds", Count, "5", "Rounds since the last success, a person's commit or word."),
    policy("limits.attempts", Count, "3", "Editor runs per finding."),
    policy("limits.exchanges", Count, "2", "Exchanges per thread."),
    policy("limits.region", Count, "3", "Rounds that change one region."),
    policy("limits.run", Time, "\"4h\"", "Longest run."),
    policy("limits.agent_time", Time, "\"2h\"", "Editor time over all rounds."),
    policy("limits.cost_usd", Number, "20", "Money the editor reports, in US dollars; 0 is off."),
    policy("limits.tokens", Count, "0", "Tokens the editor reports; 0 is off."),
    policy("limits.prompt_bytes", Count, "60000", "Size of a brief in bytes."),
    policy("gate.checks", Texts, "[]", "Checks required beside the branch rules."),
    policy("gate.allow", Texts, "[]", "Checks that may end skipped, neutral or cancelled."),
    policy("gate.no_checks", Bool, "false", "Whether having no check at all is fine."),
    policy("gate.spec_check", Text, "", "Check that proves the spec where no verifier has run."),
    policy("gate.draft", Bool, "false", "Whether a draft may be ready."),
    policy("gate.status", Text, "\"pushback/gate\"", "Context of the published status."),
    policy("gate.regrade", Regraders, "\"writers\"", "Who may re-grade a finding."),
    policy(
        "gate.protected",
        Texts,
        "[\".github/**\", \".pushback.toml\", \".claude/**\", \".codex/**\"]",
        "Globs of paths that the editor may not touch.",
    ),
    any("poll.min", Time, "\"10s\"", "Shortest pause between two looks."),
    any("poll.max", Time, "\"60s\"", "Longest pause between two looks."),
    any(
        "hook.mode",
        OneOf(&["notify", "status", "run"]),
        "\"notify\"",
        "What the post-push hook does: `notify` waits for the reviewers and tells what came back, `status` looks once, `run` starts a run in a worktree of its own.",
    ),
];

/// Keys of a `[reviewers.NAME]` section.
pub const REVIEWER_KEYS: &[&str] = &["untagged", "reaction_counts", "levels"];

/// Keys of a `[[severity.rule]]` entry.
pub const SEVERITY_RULE_KEYS: &[&str] = &["author", "pattern", "level"];

/// Finds a key by its full name.
pub fn find(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.name == name)
}

/// Returns the known name nearest to an unknown one.
pub fn nearest<'a>(unknown: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let ratio = |name: &str| similar::TextDiff::from_chars(unknown, name).ratio();
    known
        .map(|name| (name, ratio(name)))
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .filter(|(_, r)| *r > 0.4)
        .map(|(name, _)| name)
}
