//! The merged config as the values the program uses.

use std::collections::BTreeMap;
use std::time::Duration;

use toml::Value;

use super::layers::Layers;
use crate::review::ids::Login;
use crate::review::policy::{
    GatePolicy, Limits, Policy, PostPolicy, Regraders, Replies, ReviewerPolicy, ReviewersPolicy,
};
use crate::review::severity::Severity;

/// The editor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentSettings {
    /// Name; `None` means detect.
    pub name: Option<String>,
    /// Program and arguments of the `command` editor.
    pub command: Vec<String>,
    /// Model.
    pub model: Option<String>,
    /// Longest run.
    pub timeout: Duration,
    /// Longest silence.
    pub silent: Duration,
    /// Further variables.
    pub env: Vec<String>,
    /// Put before the editor.
    pub wrap: Vec<String>,
}

/// The verifier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifySettings {
    /// Shell lines.
    pub commands: Vec<String>,
    /// Longest run of one.
    pub timeout: Duration,
    /// Repeats of red.
    pub retries: u64,
    /// Frozen tests.
    pub frozen: Vec<String>,
    /// Further variables.
    pub env: Vec<String>,
}

/// Everything.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The editor.
    pub agent: AgentSettings,
    /// Spec files.
    pub spec: Vec<String>,
    /// The verifier.
    pub verify: VerifySettings,
    /// What decisions depend on.
    pub policy: Policy,
    /// Shortest pause between two looks.
    pub poll_min: Duration,
    /// Longest pause.
    pub poll_max: Duration,
    /// What the hook does.
    pub hook_mode: String,
}

/// Reads a severity word.
pub fn severity(word: &str) -> Option<Severity> {
    Severity::ALL.into_iter().find(|severity| severity.as_str() == word)
}

fn logins(names: Vec<String>) -> Vec<Login> {
    names.iter().map(|name| Login::new(name)).collect()
}

fn small(n: u64) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

impl Settings {
    /// Turns checked layers into values.
    pub fn from_layers(layers: &Layers) -> Self {
        Self {
            agent: AgentSettings {
                name: layers.text("agent.name"),
                command: layers.texts("agent.command"),
                model: layers.text("agent.model"),
                timeout: layers.time("agent.timeout"),
                silent: layers.time("agent.silent"),
                env: layers.texts("agent.env"),
                wrap: layers.texts("agent.wrap"),
            },
            spec: layers.texts("spec.path"),
            verify: VerifySettings {
                commands: layers.texts("verify.commands"),
                timeout: layers.time("verify.timeout"),
                retries: layers.count("verify.retries"),
                frozen: layers.texts("verify.frozen"),
                env: layers.texts("verify.env"),
            },
            policy: policy(layers),
            poll_min: layers.time("poll.min"),
            poll_max: layers.time("poll.max"),
            hook_mode: layers.text("hook.mode").unwrap_or_default(),
        }
    }
}

fn policy(layers: &Layers) -> Policy {
    Policy {
        reviewers: reviewers(layers),
        trust_accounts: logins(layers.texts("trust.accounts")),
        trust_allow: logins(layers.texts("trust.allow")),
        people_untagged: layers.text("people.untagged").and_then(|word| severity(&word)).unwrap_or(Severity::P2),
        people_argue: layers.text("people.argue").as_deref() == Some("auto"),
        post: PostPolicy {
            enabled: layers.flag("post.enabled"),
            replies: match layers.text("post.replies").as_deref() {
                Some("all") => Replies::All,
                Some("minimal") => Replies::Minimal,
                _ => Replies::Reasons,
            },
            description: layers.flag("post.description"),
            resolve: layers.text("post.resolve").as_deref() != Some("never"),
        },
        followup_dir: layers.text("followup.dir").unwrap_or_default(),
        limits: Limits {
            rounds: small(layers.count("limits.rounds")),
            attempts: small(layers.count("limits.attempts")),
            exchanges: small(layers.count("limits.exchanges")),
            region: small(layers.count("limits.region")),
            run: layers.time("limits.run"),
            agent_time: layers.time("limits.agent_time"),
            cost_usd: layers.number("limits.cost_usd"),
            tokens: layers.count("limits.tokens"),
            prompt_bytes: usize::try_from(layers.count("limits.prompt_bytes")).unwrap_or(usize::MAX),
        },
        gate: gate(layers),
        has_verify: !layers.texts("verify.commands").is_empty(),
        verify_none: layers.flag("verify.none"),
        base_check: layers.flag("verify.base_check"),
        push_red: layers.flag("verify.push_red"),
    }
}

fn gate(layers: &Layers) -> GatePolicy {
    let regrade = match layers.get("gate.regrade").map(|(value, _)| value) {
        Some(Value::String(word)) if word == "not_author" => Regraders::NotAuthor,
        Some(Value::Array(_)) => Regraders::Named(logins(layers.texts("gate.regrade"))),
        _ => Regraders::Writers,
    };
    GatePolicy {
        checks: layers.texts("gate.checks"),
        allow: layers.texts("gate.allow"),
        no_checks: layers.flag("gate.no_checks"),
        spec_check: layers.text("gate.spec_check"),
        draft: layers.flag("gate.draft"),
        status: layers.text("gate.status").unwrap_or_default(),
        regrade,
        protected: layers.texts("gate.protected"),
    }
}

fn reviewers(layers: &Layers) -> ReviewersPolicy {
    let one = |table: &BTreeMap<String, (Value, super::layers::Origin)>| ReviewerPolicy {
        untagged: table.get("untagged").and_then(|(value, _)| value.as_str()).and_then(severity),
        reaction_counts: table.get("reaction_counts").and_then(|(value, _)| value.as_bool()).unwrap_or(false),
        levels: table
            .get("levels")
            .and_then(|(value, _)| value.as_table())
            .into_iter()
            .flatten()
            .filter_map(|(level, to)| Some((level.to_ascii_lowercase(), severity(to.as_str()?)?)))
            .collect(),
    };
    ReviewersPolicy {
        required: layers.texts("reviewers.required"),
        none: layers.flag("reviewers.none"),
        ttl: layers.time("reviewers.ttl"),
        settle: layers.time("reviewers.settle"),
        nudge: layers.time("reviewers.nudge"),
        requests_per_head: small(layers.count("reviewers.requests_per_head")),
        each: layers.reviewers.iter().map(|(name, table)| (name.clone(), one(table))).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_values_are_the_policy_default() {
        assert_eq!(Settings::from_layers(&Layers::default()).policy, Policy::default());
    }
}
