//! The clauses that follow from one fact each: head, pull request, reviewers, findings, description, threads.

use super::{GateFacts, RemoteTip, fails, holds, unknown, waits};
use crate::review::ids::FindingId;
use crate::review::observation::{Mergeable, PrState, Reading};
use crate::review::severity::Severity;
use crate::review::summary::Summary;
use crate::review::verdict::{Clause, ClauseName};

/// How a branch here and the pull request come to one commit.
const LEVEL: &str = "push what is only here (`git push`) or take what is only there (`git pull`)";

pub(super) fn head(facts: &GateFacts<'_>) -> Clause {
    let name = ClauseName::Head;
    let head = &facts.obs.pr.head;
    if !facts.head_same {
        return waits(name, "the head moved while it was read", "ask again");
    }
    let Some(heads) = facts.local else {
        return holds(name, format!("{} throughout; no clone to compare with", head.short()));
    };
    let local = &heads.local;
    let remote = match &heads.remote {
        RemoteTip::At(remote) => remote,
        RemoteTip::NotAsked if local == head => {
            return holds(name, format!("{} here and in the pull request; `gate` asks the remote too", head.short()));
        }
        RemoteTip::NotAsked => {
            let reason = format!("local branch {}, pull request {}", local.short(), head.short());
            return fails(name, reason, LEVEL);
        }
        RemoteTip::Gone => {
            let reason = format!("the pull request shows {}, and the remote has no such branch", head.short());
            return fails(name, reason, "push the branch again, or close the pull request");
        }
    };
    if local == head && remote == head {
        return holds(name, format!("{} here, on the remote and in the pull request", head.short()));
    }
    if local == remote {
        let reason = format!("{} was pushed, the pull request still shows {}", local.short(), head.short());
        return waits(name, reason, "wait until the forge shows the push");
    }
    let reason =
        format!("local branch {}, remote branch {}, pull request {}", local.short(), remote.short(), head.short());
    let remedy = if local == head { "fetch the remote branch" } else { LEVEL };
    fails(name, reason, remedy)
}

pub(super) fn pr(facts: &GateFacts<'_>) -> Clause {
    let name = ClauseName::Pr;
    let pr = &facts.obs.pr;
    match pr.state {
        PrState::Merged => return fails(name, "already merged", "nothing is left to do"),
        PrState::Closed => return fails(name, "closed without a merge", "reopen it"),
        PrState::Open => {}
    }
    if pr.draft && !facts.policy.gate.draft {
        return fails(
            name,
            "a draft",
            "mark it ready for review, or set `gate.draft = true` on the default branch or in your own config",
        );
    }
    if pr.mergeable == Mergeable::Conflict {
        return fails(name, format!("conflicts with {}", pr.base), format!("merge or rebase onto {}", pr.base));
    }
    if pr.behind {
        match &facts.obs.rules {
            Reading::Known(rules) if rules.up_to_date => {
                let reason = format!("behind {}, and its rules require an up-to-date branch", pr.base);
                return fails(name, reason, format!("bring {} into the branch", pr.base));
            }
            Reading::Known(_) => {}
            Reading::Unknown(why) => {
                let reason = format!("behind {}, and its rules could not be read: {why}", pr.base);
                return unknown(
                    name,
                    reason,
                    format!("bring {} into the branch, or give the token that right", pr.base),
                );
            }
        }
    }
    match pr.mergeable {
        Mergeable::Computing => waits(name, "the forge still computes whether it can be merged", "wait"),
        Mergeable::Yes | Mergeable::Conflict => holds(name, "open, without conflicts"),
    }
}

pub(super) fn reviewers(facts: &GateFacts<'_>) -> Clause {
    let name = ClauseName::Reviewers;
    let verdict = facts.reviewers;
    let (why, remedy) = (verdict.why.clone(), verdict.remedy.clone());
    match verdict.finished {
        Some(true) => holds(name, why),
        None => unknown(name, why, remedy),
        Some(false) if verdict.stuck => Clause { person: true, ..fails(name, why, remedy) },
        Some(false) => waits(name, why, remedy),
    }
}

/// Open findings that keep the gate shut, worst first.
pub(super) fn blocking(summary: &Summary) -> Vec<(FindingId, Severity, bool)> {
    let mut open: Vec<_> = summary
        .comments
        .iter()
        .filter(|(_, entry)| entry.blocks() || entry.orphaned())
        .map(|(id, entry)| (*id, entry.finding.severity, entry.finding.needs_person))
        .collect();
    open.sort_by_key(|(id, severity, _)| (*severity, *id));
    open
}

pub(super) fn findings(facts: &GateFacts<'_>) -> Clause {
    let name = ClauseName::Findings;
    let open = blocking(facts.summary);
    if open.is_empty() {
        return holds(name, "no P1 or P2 is open");
    }
    let list: Vec<String> = open
        .iter()
        .map(|(id, severity, person)| format!("{id} ({severity}{})", if *person { ", needs a person" } else { "" }))
        .collect();
    let person = open.iter().any(|(_, _, person)| *person);
    let remedy = if person {
        "decide with `pushback triage`, or answer in the thread with `/pushback …`, or mend it and push"
    } else if facts.policy.has_verify || facts.policy.verify_none {
        "pushback run"
    } else {
        // A run refuses to start where nothing could prove a fix.
        "set `verify.commands` (`pushback init` helps), then `pushback run`"
    };
    Clause { person, ..fails(name, format!("{} open: {}", open.len(), list.join(", ")), remedy) }
}

pub(super) fn description(facts: &GateFacts<'_>) -> Clause {
    let name = ClauseName::Description;
    let read = facts.description;
    if let Some(problem) = &read.problem {
        return fails(name, problem.clone(), "mend the block by hand, then `pushback run`");
    }
    let keys = |wanted: Option<bool>| -> Vec<&str> {
        read.reasons.iter().filter(|(_, there)| *there == wanted).map(|(key, _)| key.as_str()).collect()
    };
    let (missing, unread) = (keys(Some(false)), keys(None));
    if !missing.is_empty() {
        let again: Vec<&str> =
            missing.iter().copied().filter(|key| facts.summary.restored.iter().any(|k| k == key)).collect();
        let reason = format!("missing in the description: {}", missing.join(", "));
        if again.is_empty() {
            return fails(name, reason, "pushback run puts it back");
        }
        let reason = format!("{reason}; removed again after it was restored: {}", again.join(", "));
        let remedy = "put the reason back, or settle the finding in another way";
        return Clause { person: true, ..fails(name, reason, remedy) };
    }
    if !unread.is_empty() {
        let reason = format!("not read back from the description: {}", unread.join(", "));
        return unknown(name, reason, "pushback run");
    }
    holds(name, format!("reasons that stand in the description: {}", read.reasons.len()))
}

pub(super) fn threads(facts: &GateFacts<'_>) -> Clause {
    let name = ClauseName::Threads;
    let mut open: Vec<u64> = facts.obs.threads.iter().filter(|thread| !thread.resolved).map(|t| t.root).collect();
    open.sort_unstable();
    let list = open.iter().take(10).map(|root| format!("c{root}")).collect::<Vec<_>>().join(", ");
    match &facts.obs.rules {
        _ if open.is_empty() => holds(name, "every thread is resolved"),
        Reading::Known(rules) if !rules.resolve_threads && rules.resolve_unread.is_some() => {
            let why = rules.resolve_unread.clone().unwrap_or_default();
            let reason =
                format!("{} threads are open, and whether they must be resolved could not be read: {why}", open.len());
            unknown(name, reason, "resolve them, or give the token that right")
        }
        Reading::Known(rules) if !rules.resolve_threads => holds(name, "the branch does not require resolved threads"),
        Reading::Known(_) => {
            let reason = format!("the branch requires resolved threads, {} are not: {list}", open.len());
            fails(name, reason, "resolve them; `pushback run` resolves those of bots once they are settled")
        }
        Reading::Unknown(why) => {
            let reason = format!("{} threads are open, and the branch rules could not be read: {why}", open.len());
            unknown(name, reason, "resolve them, or give the token that right")
        }
    }
}
