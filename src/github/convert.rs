//! Turns the forge's words into `review`'s. A word that is not known takes the careful meaning: not finished, not green.

use jiff::Timestamp;

use super::wire;
use crate::review::comment::{AccountKind, Anchor, Association, Author, Channel, Comment, ReviewState, Side};
use crate::review::ids::{Login, PrRef, RepoSlug, Sha};
use crate::review::observation::{
    BranchRules, Check, CheckState, Mergeable, Permission, PrState, PullRequest, Reaction, RequiredCheck,
};

/// Returns an author; only the forge's own word makes a bot.
pub(crate) fn author(user: &wire::User) -> Author {
    let kind = if user.kind.as_deref() == Some("Bot") { AccountKind::Bot } else { AccountKind::Person };
    Author { login: Login::new(&user.login), kind }
}

fn association(word: Option<&str>) -> Association {
    match word {
        Some("OWNER") => Association::Owner,
        Some("MEMBER") => Association::Member,
        Some("COLLABORATOR") => Association::Collaborator,
        _ => Association::Other,
    }
}

fn sha(text: Option<&str>) -> Option<Sha> {
    text.and_then(|text| Sha::parse(text).ok())
}

/// Turns an inline comment.
pub(crate) fn inline(wire: wire::Inline) -> Comment {
    let anchor = Anchor {
        path: wire.path,
        side: if wire.side.as_deref() == Some("LEFT") { Side::Left } else { Side::Right },
        line: wire.line,
        start_line: wire.start_line,
        original_line: wire.original_line,
        original_start_line: wire.original_start_line,
        original_commit: sha(wire.original_commit_id.as_deref()),
        commit: sha(wire.commit_id.as_deref()),
        whole_file: wire.subject_type.as_deref() == Some("file"),
        hunk: wire.diff_hunk.unwrap_or_default(),
    };
    Comment {
        id: wire.id,
        channel: Channel::Inline,
        author: wire.user.as_ref().map(author),
        association: association(wire.author_association.as_deref()),
        body: wire.body.unwrap_or_default(),
        created_at: wire.created_at,
        updated_at: wire.updated_at.unwrap_or(wire.created_at),
        url: wire.html_url.unwrap_or_default(),
        anchor: Some(anchor),
        in_reply_to: wire.in_reply_to_id,
        review_id: wire.pull_request_review_id,
        review_state: None,
        review_commit: None,
    }
}

fn review_state(word: &str) -> ReviewState {
    match word {
        "APPROVED" => ReviewState::Approved,
        "CHANGES_REQUESTED" => ReviewState::ChangesRequested,
        "COMMENTED" => ReviewState::Commented,
        "DISMISSED" => ReviewState::Dismissed,
        "PENDING" => ReviewState::Pending,
        _ => ReviewState::Unknown,
    }
}

/// Turns a review; `None` for a draft, which is nobody's business. `now` stands in where no time is told.
pub(crate) fn review(wire: wire::Review, now: Timestamp) -> Option<Comment> {
    let state = review_state(&wire.state);
    if state == ReviewState::Pending {
        return None;
    }
    let at = wire.submitted_at.unwrap_or(now);
    Some(Comment {
        id: wire.id,
        channel: Channel::Review,
        author: wire.user.as_ref().map(author),
        association: association(wire.author_association.as_deref()),
        body: wire.body.unwrap_or_default(),
        created_at: at,
        updated_at: at,
        url: wire.html_url.unwrap_or_default(),
        anchor: None,
        in_reply_to: None,
        review_id: None,
        review_state: Some(state),
        review_commit: sha(wire.commit_id.as_deref()),
    })
}

/// Turns a conversation comment.
pub(crate) fn talk(wire: wire::Talk) -> Comment {
    Comment {
        id: wire.id,
        channel: Channel::Conversation,
        author: wire.user.as_ref().map(author),
        association: association(wire.author_association.as_deref()),
        body: wire.body.unwrap_or_default(),
        created_at: wire.created_at,
        updated_at: wire.updated_at.unwrap_or(wire.created_at),
        url: wire.html_url.unwrap_or_default(),
        anchor: None,
        in_reply_to: None,
        review_id: None,
        review_state: None,
        review_commit: None,
    }
}

/// Turns a bot's reaction; those of people say nothing.
pub(crate) fn reaction(wire: &wire::Reaction, on: Option<u64>) -> Option<Reaction> {
    let by = wire.user.as_ref().map(author).filter(|author| author.kind == AccountKind::Bot)?;
    Some(Reaction { by, content: wire.content.clone(), at: wire.created_at, on })
}

/// Turns a pull request; the error names the field that is no good.
pub(crate) fn pull(wire: &wire::Pull, host: &str, slug: &RepoSlug) -> Result<PullRequest, String> {
    let commit = |text: &str, field: &str| Sha::parse(text).map_err(|error| format!("`{field}`: {error}"));
    let state = match wire.state.as_str() {
        _ if wire.merged == Some(true) || wire.merged_at.is_some() => PrState::Merged,
        "open" => PrState::Open,
        "closed" => PrState::Closed,
        word => return Err(format!("`state`: `{}` is not known", super::fault::tame(word))),
    };
    let mergeable = match (wire.mergeable, wire.mergeable_state.as_deref()) {
        (Some(false), _) | (_, Some("dirty")) => Mergeable::Conflict,
        (Some(true), _) => Mergeable::Yes,
        (None, _) => Mergeable::Computing,
    };
    let at = PrRef { host: host.to_owned(), slug: slug.clone(), number: crate::review::ids::PrNumber(wire.number) };
    Ok(PullRequest {
        at,
        url: wire.html_url.clone(),
        title: wire.title.clone().unwrap_or_default(),
        body: wire.body.clone().unwrap_or_default(),
        author: wire.user.as_ref().map(author),
        state,
        draft: wire.draft.unwrap_or(false),
        base: wire.base.name.clone(),
        base_sha: commit(&wire.base.sha, "base.sha")?,
        head_branch: wire.head.name.clone(),
        head_repo: wire.head.repo.as_ref().and_then(|repo| repo.full_name.parse().ok()),
        head: commit(&wire.head.sha, "head.sha")?,
        mergeable,
        behind: wire.mergeable_state.as_deref() == Some("behind"),
        default_branch: wire.base.repo.as_ref().and_then(|repo| repo.default_branch.clone()).unwrap_or_default(),
        created_at: wire.created_at,
    })
}

/// Turns a permission; an unknown word permits nothing.
pub(crate) fn permission(wire: &wire::Access) -> Permission {
    match (wire.permission.as_str(), wire.role_name.as_deref()) {
        ("admin" | "write" | "maintain", _) => Permission::Write,
        ("triage", _) | (_, Some("triage")) => Permission::Triage,
        _ => Permission::Read,
    }
}

/// Turns a check run.
pub(crate) fn check_run(wire: &wire::CheckRun) -> Check {
    let output = wire.output.as_ref();
    let text = |part: Option<&String>| part.map(String::as_str).unwrap_or_default().trim().to_owned();
    let (title, summary) = (text(output.and_then(|o| o.title.as_ref())), text(output.and_then(|o| o.summary.as_ref())));
    Check {
        app_id: wire.app.as_ref().map(|app| app.id),
        app: wire.app.as_ref().and_then(|app| app.slug.clone()).unwrap_or_default(),
        workflow: None,
        name: wire.name.clone(),
        state: run_state(&wire.status, wire.conclusion.as_deref()),
        text: [title, summary].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n"),
        at: wire.completed_at.or(wire.started_at),
        url: wire.html_url.clone().or_else(|| wire.details_url.clone()).unwrap_or_default(),
    }
}

fn run_state(status: &str, conclusion: Option<&str>) -> CheckState {
    match (status, conclusion) {
        ("completed", Some("success")) => CheckState::Success,
        ("completed", Some(word @ ("failure" | "timed_out" | "action_required" | "startup_failure"))) => {
            CheckState::Failed(word.to_owned())
        }
        ("completed", Some(word)) => CheckState::Inconclusive(word.to_owned()),
        ("completed", None) => CheckState::Inconclusive("no conclusion".to_owned()),
        // Every other status, known or not, is an unfinished run.
        _ => CheckState::Pending,
    }
}

/// Turns a commit status.
pub(crate) fn status(wire: &wire::Status) -> Check {
    let state = match wire.state.as_str() {
        "success" => CheckState::Success,
        "pending" => CheckState::Pending,
        word @ ("failure" | "error") => CheckState::Failed(word.to_owned()),
        word => CheckState::Inconclusive(word.to_owned()),
    };
    Check {
        app_id: None,
        app: wire.creator.as_ref().map(|user| author(user).login.to_string()).unwrap_or_default(),
        workflow: None,
        name: wire.context.clone(),
        state,
        text: wire.description.clone().unwrap_or_default(),
        at: wire.updated_at.or(wire.created_at),
        url: wire.target_url.clone().unwrap_or_default(),
    }
}

/// Turns the rules that apply to a branch.
pub(crate) fn rules(list: &[wire::Rule]) -> BranchRules {
    let mut rules = BranchRules::default();
    for parameters in list.iter().filter_map(|rule| rule.parameters.as_ref()) {
        for check in parameters.required_status_checks.iter().flatten() {
            let (name, from) = (check.context.clone(), "ruleset".to_owned());
            rules.checks.push(RequiredCheck { name, app_id: check.integration_id, from });
        }
        rules.up_to_date |= parameters.strict_required_status_checks_policy == Some(true);
        rules.resolve_threads |= parameters.required_review_thread_resolution == Some(true);
    }
    rules
}

/// Adds what classic branch protection requires.
pub(crate) fn protect(rules: &mut BranchRules, protection: &wire::Protection) {
    rules.resolve_threads |= protection.required_conversation_resolution.as_ref().is_some_and(|s| s.enabled);
    let Some(required) = &protection.required_status_checks else { return };
    rules.up_to_date |= required.strict == Some(true);
    let from = || "branch protection".to_owned();
    for check in required.checks.iter().flatten() {
        let app_id = check.app_id.and_then(|id| u64::try_from(id).ok());
        rules.checks.push(RequiredCheck { name: check.context.clone(), app_id, from: from() });
    }
    for name in required.contexts.iter().flatten() {
        // The older list repeats the newer one, without the app.
        if !required.checks.iter().flatten().any(|check| check.context == *name) {
            rules.checks.push(RequiredCheck { name: name.clone(), app_id: None, from: from() });
        }
    }
}

/// Adds what a protected branch tells everybody; `false` where it does not tell which checks it requires. Whether it
/// requires resolved threads is never part of that.
///
/// github.com tells `required_status_checks` of every protected branch, with `enforcement_level: off` and empty lists where
/// none are required. A branch that is protected and says nothing of them is one whose checks are not known.
pub(crate) fn protected(rules: &mut BranchRules, info: &wire::BranchInfo, why: &str) -> bool {
    if !info.protected {
        return true;
    }
    let Some(checks) = info.protection.as_ref().and_then(|protection| protection.required_status_checks.clone()) else {
        return false;
    };
    protect(rules, &wire::Protection { required_status_checks: Some(checks), required_conversation_resolution: None });
    rules.resolve_unread = Some(why.to_owned());
    true
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn wire_inline(more: serde_json::Value) -> serde_json::Value {
        let mut all = json!({
            "id": 9_007_199_254_740_993_u64, "user": {"login": "x[bot]", "type": "Bot"}, "body": "b", "path": "a.rs",
            "created_at": "2026-01-02T03:04:05Z", "updated_at": "2026-01-02T03:04:06Z", "html_url": "u", "extra": [1],
        });
        all.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        all
    }

    #[test]
    fn fc_05_null_lines_are_accepted() {
        let hex = "a".repeat(40);
        let wire = wire_inline(json!({
            "line": null, "position": null, "original_line": 42, "original_commit_id": hex, "diff_hunk": "@@ h",
            "side": "LEFT", "subject_type": "line", "user": null, "commit_id": "not a commit",
        }));
        let comment = inline(serde_json::from_value(wire).expect("a comment"));
        assert_eq!((comment.id, comment.author), (9_007_199_254_740_993, None));
        let anchor = comment.anchor.expect("an anchor");
        assert_eq!(
            (anchor.line, anchor.original_line, anchor.side, anchor.whole_file),
            (None, Some(42), Side::Left, false)
        );
        assert_eq!((anchor.hunk.as_str(), anchor.commit), ("@@ h", None));
        assert_eq!(anchor.original_commit.expect("a commit").as_str(), hex);
    }

    #[test]
    fn fm_14_a_missing_field_is_another_shape() {
        for field in ["id", "body", "user", "path", "created_at"] {
            let mut wire = wire_inline(json!({}));
            wire.as_object_mut().expect("an object").remove(field);
            let error = serde_json::from_value::<wire::Inline>(wire).expect_err(field).to_string();
            assert!(error.contains(field), "{error}");
        }
    }

    #[test]
    fn fc_14_only_the_account_type_makes_a_bot() {
        let check = |login: &str, kind: serde_json::Value, expected: (&str, AccountKind)| {
            let user: wire::User = serde_json::from_value(json!({"login": login, "type": kind})).expect("a user");
            let author = author(&user);
            assert_eq!((author.login.as_str(), author.kind), expected);
        };
        check("Copilot", json!("Bot"), ("copilot", AccountKind::Bot));
        check("copilot-pull-request-reviewer[bot]", json!("Bot"), ("copilot-pull-request-reviewer", AccountKind::Bot));
        check("copilot[bot]", json!("User"), ("copilot", AccountKind::Person));
        check("x", json!(null), ("x", AccountKind::Person));
        check("x", json!("Mannequin"), ("x", AccountKind::Person));
    }

    #[test]
    fn fm_14_unknown_words_are_not_finished_and_not_green() {
        let check = |status, conclusion, expected: CheckState| assert_eq!(run_state(status, conclusion), expected);
        let failed = |word: &str| CheckState::Failed(word.to_owned());
        let open = |word: &str| CheckState::Inconclusive(word.to_owned());
        check("completed", Some("success"), CheckState::Success);
        check("completed", Some("failure"), failed("failure"));
        check("completed", Some("startup_failure"), failed("startup_failure"));
        check("completed", Some("skipped"), open("skipped"));
        check("completed", Some("brilliant"), open("brilliant"));
        check("completed", None, open("no conclusion"));
        check("queued", Some("success"), CheckState::Pending);
        check("waiting", None, CheckState::Pending);
        check("dreaming", None, CheckState::Pending);
        assert_eq!(review_state("BLESSED"), ReviewState::Unknown);
        let access = |word: &str, role: Option<&str>| {
            permission(&wire::Access { permission: word.to_owned(), role_name: role.map(str::to_owned) })
        };
        assert_eq!(access("write", Some("maintain")), Permission::Write);
        assert_eq!(access("read", Some("triage")), Permission::Triage);
        assert_eq!(access("none", None), Permission::Read);
        assert_eq!(access("overlord", Some("overlord")), Permission::Read);
    }

    #[test]
    fn a_pull_request_is_turned() {
        let (one, two) = ("1".repeat(40), "2".repeat(40));
        let slug: RepoSlug = "o/r".parse().expect("a slug");
        let check = |more: serde_json::Value, expected: Result<(PrState, Mergeable, bool), &str>| {
            let mut wire = json!({
                "number": 7, "html_url": "u", "title": "t", "body": null, "user": null, "state": "open", "draft": true,
                "mergeable": null, "created_at": "2026-01-02T03:04:05Z",
                "base": {"ref": "main", "sha": one, "repo": {"full_name": "o/r", "default_branch": "main"}},
                "head": {"ref": "b", "sha": two, "repo": null},
            });
            wire.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
            let wire: wire::Pull = serde_json::from_value(wire).expect("a pull request");
            let got = pull(&wire, "github.com", &slug).map(|pr| (pr.state, pr.mergeable, pr.behind));
            match expected {
                Ok(expected) => assert_eq!(got, Ok(expected), "{more}"),
                Err(part) => assert!(got.expect_err("refused").contains(part), "{more}"),
            }
        };
        check(json!({}), Ok((PrState::Open, Mergeable::Computing, false)));
        check(json!({"mergeable": true, "mergeable_state": "behind"}), Ok((PrState::Open, Mergeable::Yes, true)));
        check(json!({"mergeable": true, "mergeable_state": "dirty"}), Ok((PrState::Open, Mergeable::Conflict, false)));
        check(json!({"mergeable": false}), Ok((PrState::Open, Mergeable::Conflict, false)));
        check(json!({"state": "closed"}), Ok((PrState::Closed, Mergeable::Computing, false)));
        check(json!({"state": "closed", "merged": true}), Ok((PrState::Merged, Mergeable::Computing, false)));
        check(json!({"state": "odd"}), Err("state"));
        check(json!({"head": {"ref": "b", "sha": "x", "repo": null}}), Err("head.sha"));
    }

    #[test]
    fn fm_17_what_a_protected_branch_does_not_tell_is_not_known() {
        let check = |told: serde_json::Value, known: bool, names: &[&str], unread: bool| {
            let info: wire::BranchInfo = serde_json::from_value(told.clone()).expect("a branch");
            let mut rules = BranchRules::default();
            assert_eq!(protected(&mut rules, &info, "status 404"), known, "{told}");
            let found: Vec<&str> = rules.checks.iter().map(|check| check.name.as_str()).collect();
            assert_eq!((found.as_slice(), rules.resolve_unread.is_some()), (names, unread), "{told}");
        };
        let with = |required: serde_json::Value| json!({"protected": true, "protection": {"enabled": true, "required_status_checks": required}});
        check(json!({"protected": false}), true, &[], false);
        check(json!({"protected": false, "protection": {"enabled": false}}), true, &[], false);
        check(with(json!({"enforcement_level": "off", "contexts": [], "checks": []})), true, &[], true);
        let lists =
            json!({"enforcement_level": "everyone", "contexts": ["ci"], "checks": [{"context": "ci", "app_id": 5}]});
        check(with(lists), true, &["ci"], true);
        check(with(json!(null)), false, &[], false);
        check(json!({"protected": true, "protection": {"enabled": true}}), false, &[], false);
        check(json!({"protected": true, "protection": null}), false, &[], false);
        check(json!({"protected": true}), false, &[], false);
    }

    #[test]
    fn rules_and_protection_add_up() {
        let list: Vec<wire::Rule> = serde_json::from_value(json!([
            {"type": "deletion"},
            {"type": "pull_request", "parameters": {"required_review_thread_resolution": true, "x": 1}},
            {"type": "required_status_checks", "parameters": {"strict_required_status_checks_policy": true,
                "required_status_checks": [{"context": "test", "integration_id": 5}, {"context": "lint"}]}},
            {"type": "of the future", "parameters": {"y": {}}},
        ]))
        .expect("rules");
        let mut all = rules(&list);
        let protection: wire::Protection = serde_json::from_value(json!({
            "required_status_checks": {"strict": false, "contexts": ["old", "new"],
                "checks": [{"context": "new", "app_id": 8}, {"context": "any", "app_id": -1}]},
            "required_conversation_resolution": {"enabled": false},
        }))
        .expect("protection");
        protect(&mut all, &protection);
        assert!(all.resolve_threads && all.up_to_date);
        let mut names: Vec<_> = all.checks.iter().map(|c| (c.name.as_str(), c.app_id, c.from.as_str())).collect();
        names.sort_unstable();
        let (set, classic) = ("ruleset", "branch protection");
        assert_eq!(
            names,
            [
                ("any", None, classic),
                ("lint", None, set),
                ("new", Some(8), classic),
                ("old", None, classic),
                ("test", Some(5), set)
            ]
        );
    }
}
