//! Clauses `checks` and `spec`: only a check that is present and green counts, by app, workflow and name.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::{GateFacts, fails, holds, unknown, waits};
use crate::review::observation::{Check, CheckState, Reading, RequiredCheck};
use crate::review::policy::GatePolicy;
use crate::review::summary::{Verified, VerifyState};
use crate::review::verdict::{Clause, ClauseName};

/// How a group of checks stands together; the worst comes last.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Group {
    Good,
    Missing(String),
    Pending(String),
    Inconclusive(String),
    Failed(String),
}

/// Judges one check. A name on the allow-list may end without a verdict, never red.
fn judge(check: &Check, policy: &GatePolicy) -> Group {
    let of = check.workflow.as_ref().map_or_else(String::new, |workflow| format!(" ({workflow})"));
    let named = |how: &str| format!("`{}` of {}{of} {how}", check.name, check.app);
    match &check.state {
        CheckState::Success => Group::Good,
        CheckState::Pending => Group::Pending(named("is not done")),
        CheckState::Failed(how) => Group::Failed(named(&format!("ended in {how}"))),
        CheckState::Inconclusive(_) if policy.allow.contains(&check.name) => Group::Good,
        CheckState::Inconclusive(how) => Group::Inconclusive(named(&format!("ended in {how}"))),
    }
}

/// Our own status, and the job that publishes it (`pushback/gate: …`): neither is ever waited for.
fn ours(name: &str, policy: &GatePolicy) -> bool {
    name.strip_prefix(policy.status.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with(": "))
}

/// The newest check of each identity. Where the order in time is not known, the worst one stands.
fn current<'a>(checks: &'a [Check], policy: &GatePolicy) -> Vec<&'a Check> {
    type Identity<'a> = (Option<u64>, &'a str, Option<&'a str>, &'a str);
    let mut newest: BTreeMap<Identity<'_>, &Check> = BTreeMap::new();
    for check in checks.iter().filter(|check| !ours(&check.name, policy)) {
        let identity = (check.app_id, check.app.as_str(), check.workflow.as_deref(), check.name.as_str());
        let kept = newest.entry(identity).or_insert(check);
        if supersedes(check, kept, policy) {
            *kept = check;
        }
    }
    newest.into_values().collect()
}

fn supersedes(check: &Check, kept: &Check, policy: &GatePolicy) -> bool {
    // A check without a time has not started: it is the newest there is.
    let time = |check: &Check| check.at.unwrap_or(Timestamp::MAX);
    (time(check), judge(check, policy)) > (time(kept), judge(kept, policy))
}

pub(super) fn checks(facts: &GateFacts<'_>) -> Clause {
    let name = ClauseName::Checks;
    let policy = &facts.policy.gate;
    let read = match &facts.obs.checks {
        Reading::Known(checks) => current(checks, policy),
        Reading::Unknown(why) => {
            let reason = format!("the checks could not be read: {why}");
            return unknown(name, reason, "give the token the right to read checks and commit statuses");
        }
    };
    let required = required(facts);
    let judged = if required.is_empty() { all(&read, facts) } else { each(&required, &read, policy) };
    let list =
        |wanted: &dyn Fn(&Group) -> Option<&str>| judged.iter().filter_map(wanted).collect::<Vec<_>>().join("; ");
    match (judged.iter().max(), &facts.obs.rules) {
        (Some(Group::Failed(_) | Group::Inconclusive(_)), _) => {
            fails(name, list(&red), "mend or re-run them; `gate.allow` names checks that may be skipped")
        }
        (_, Reading::Unknown(why)) => {
            let reason = format!("which checks are required could not be read: {why}");
            unknown(name, reason, "give the token the right to read branch rules")
        }
        (Some(Group::Pending(_) | Group::Missing(_)), Reading::Known(_)) => waits(name, list(&open), "wait for them"),
        (Some(Group::Good), Reading::Known(_)) => match judged.len() {
            1 => holds(name, "1 check is green"),
            n => holds(name, format!("{n} checks are green")),
        },
        (None, Reading::Known(_)) if policy.no_checks => {
            holds(name, "no check is required, and none is awaited (`gate.no_checks`)")
        }
        (None, Reading::Known(_)) => {
            let remedy = "name the awaited ones in `gate.checks`, or set `gate.no_checks = true`, on the default branch or in your own config";
            fails(name, "no check has reported, and none is required", remedy)
        }
    }
}

fn red(group: &Group) -> Option<&str> {
    match group {
        Group::Failed(why) | Group::Inconclusive(why) => Some(why),
        Group::Good | Group::Missing(_) | Group::Pending(_) => None,
    }
}

fn open(group: &Group) -> Option<&str> {
    match group {
        Group::Pending(why) | Group::Missing(why) => Some(why),
        Group::Good | Group::Failed(_) | Group::Inconclusive(_) => None,
    }
}

/// Checks required by branch rules and config; our own status never waits for itself.
fn required(facts: &GateFacts<'_>) -> Vec<RequiredCheck> {
    let policy = &facts.policy.gate;
    let by_rules = facts.obs.rules.known().map_or(&[][..], |rules| &rules.checks);
    let by_config =
        policy.checks.iter().map(|name| RequiredCheck { name: name.clone(), app_id: None, from: "config".to_owned() });
    let mut required: Vec<RequiredCheck> =
        by_rules.iter().cloned().chain(by_config).filter(|check| !ours(&check.name, policy)).collect();
    required.sort();
    required.dedup_by(|a, b| a.name == b.name && a.app_id == b.app_id);
    required
}

/// Each required check, by name and app. Several of one name must all be green.
fn each(required: &[RequiredCheck], read: &[&Check], policy: &GatePolicy) -> Vec<Group> {
    let judge_one = |wanted: &RequiredCheck| {
        let fits =
            |check: &&&Check| check.name == wanted.name && wanted.app_id.is_none_or(|app| check.app_id == Some(app));
        let missing = || Group::Missing(format!("`{}` has not reported (required by {})", wanted.name, wanted.from));
        read.iter().filter(fits).map(|check| judge(check, policy)).max().unwrap_or_else(missing)
    };
    required.iter().map(judge_one).collect()
}

/// Nothing is required: all that reported must be green. A reviewer's check without a verdict is the reviewers' clause.
fn all(read: &[&Check], facts: &GateFacts<'_>) -> Vec<Group> {
    let of_reviewer = |check: &Check| facts.reviewer_checks.contains(&check.name);
    let judged = |check: &&&Check| match check.state {
        CheckState::Failed(_) => true,
        CheckState::Pending | CheckState::Success | CheckState::Inconclusive(_) => !of_reviewer(check),
    };
    read.iter().filter(judged).map(|check| judge(check, &facts.policy.gate)).collect()
}

pub(super) fn spec(facts: &GateFacts<'_>) -> Clause {
    let head = &facts.obs.pr.head;
    match facts.verified.filter(|verified| verified.head == *head) {
        Some(verified) => by_record(verified),
        None => match &facts.policy.gate.spec_check {
            Some(check) => by_check(check, facts),
            None => without_record(facts),
        },
    }
}

fn by_record(verified: &Verified) -> Clause {
    let name = ClauseName::Spec;
    let why = &verified.why;
    match verified.state {
        VerifyState::Green if verified.flaky => holds(name, format!("green on a repeat only (flaky): {why}")),
        VerifyState::Green => holds(name, format!("green on {}", verified.head.short())),
        VerifyState::Red if verified.on_base == Some(VerifyState::Red) => {
            fails(name, format!("red, also on the base: {why}"), "mend the base branch")
        }
        VerifyState::Red => fails(name, format!("red: {why}"), "pushback run"),
        VerifyState::CouldNotRun => {
            unknown(name, format!("the spec tests could not run: {why}"), "mend them, then `pushback gate --verify`")
        }
    }
}

fn by_check(wanted: &str, facts: &GateFacts<'_>) -> Clause {
    let name = ClauseName::Spec;
    let checks = match &facts.obs.checks {
        Reading::Known(checks) => current(checks, &facts.policy.gate),
        Reading::Unknown(why) => {
            return unknown(name, format!("`{wanted}` could not be read: {why}"), "pushback gate --verify");
        }
    };
    let wanted = RequiredCheck { name: wanted.to_owned(), app_id: None, from: "gate.spec_check".to_owned() };
    // The allow-list is about CI; a spec that was skipped was not proved.
    let strict = GatePolicy { allow: Vec::new(), ..facts.policy.gate.clone() };
    match each(&[wanted], &checks, &strict).into_iter().max() {
        Some(Group::Good) => holds(name, "the check of `gate.spec_check` is green"),
        Some(Group::Failed(why)) => fails(name, why, "pushback run"),
        Some(Group::Inconclusive(why)) => unknown(name, why, "re-run it, or `pushback gate --verify`"),
        Some(Group::Pending(why) | Group::Missing(why)) => waits(name, why, "wait, or `pushback gate --verify`"),
        None => without_record(facts),
    }
}

fn without_record(facts: &GateFacts<'_>) -> Clause {
    let name = ClauseName::Spec;
    if facts.policy.has_verify {
        let reason = format!("the spec tests have not run on {}", facts.obs.pr.head.short());
        return unknown(name, reason, "pushback gate --verify");
    }
    if facts.policy.verify_none {
        return holds(name, "there are no spec tests (`verify.none`)");
    }
    unknown(name, "no spec tests are configured", "set `verify.commands`, or `verify.none = true`")
}
