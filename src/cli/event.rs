//! What started this call in GitHub Actions: the pull request, or the merge group, that the event is about.

use serde::Deserialize;

use super::args::Global;
use super::failure::Failure;
use crate::review::ids::Sha;

/// A pull request that is queued for a merge: the verdict on it goes to the group's commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Queued {
    /// The pull request.
    pub(crate) number: u64,
    /// The group's commit.
    pub(crate) sha: Sha,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Payload {
    merge_group: Option<Group>,
    pull_request: Option<Numbered>,
    issue: Option<Issue>,
    check_run: Option<Checked>,
    check_suite: Option<Checked>,
}

#[derive(Debug, Deserialize)]
struct Group {
    head_sha: String,
    head_ref: String,
}

#[derive(Debug, Deserialize)]
struct Numbered {
    number: u64,
}

#[derive(Debug, Deserialize)]
struct Issue {
    number: u64,
    /// There when the issue is a pull request.
    pull_request: Option<serde_json::Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Checked {
    pull_requests: Vec<Numbered>,
}

/// The event of a merge queue.
const MERGE_GROUP: &str = "merge_group";

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|text| !text.is_empty())
}

fn payload() -> Result<Option<(String, Payload)>, Failure> {
    if variable("GITHUB_ACTIONS").as_deref() != Some("true") {
        return Ok(None);
    }
    let (Some(name), Some(path)) = (variable("GITHUB_EVENT_NAME"), variable("GITHUB_EVENT_PATH")) else {
        return Ok(None);
    };
    let mend = if name == MERGE_GROUP { "make the event's file readable here" } else { "name it with `--pr N`" };
    let bad =
        |why: String| Failure::usage(format!("the event of this workflow ({path}) could not be read: {why}"), mend);
    let bytes = std::fs::read(&path).map_err(|error| bad(error.to_string()))?;
    let payload = serde_json::from_slice(&bytes).map_err(|error| bad(error.to_string()))?;
    Ok(Some((name, payload)))
}

/// Takes a queue's branch apart: `refs/heads/gh-readonly-queue/main/pr-12-<commit>`.
fn queued_number(head_ref: &str) -> Option<u64> {
    let last = head_ref.strip_prefix("refs/heads/").unwrap_or(head_ref).strip_prefix("gh-readonly-queue/")?;
    let (number, commit) = last.rsplit('/').next()?.strip_prefix("pr-")?.split_once('-')?;
    Sha::parse(commit).ok()?;
    number.parse().ok()
}

fn queued_of(group: &Group) -> Result<Queued, Failure> {
    let bad = |why: String| Failure::usage(why, "judge the pull request itself with `--pr N`, outside of this event");
    let sha = Sha::parse(&group.head_sha)
        .map_err(|error| bad(format!("the merge group's commit is not readable: {error}")))?;
    let number = queued_number(&group.head_ref)
        .ok_or_else(|| bad(format!("`{}` names no queued pull request", group.head_ref.escape_debug())))?;
    Ok(Queued { number, sha })
}

fn pull_of(payload: &Payload) -> Option<u64> {
    let of_issue = payload.issue.as_ref().filter(|issue| issue.pull_request.is_some()).map(|issue| issue.number);
    let of_check = |checked: &Option<Checked>| match checked.as_ref().map(|c| c.pull_requests.as_slice()) {
        Some([one]) => Some(one.number),
        Some([] | [_, _, ..]) | None => None,
    };
    let own = payload.pull_request.as_ref().map(|pull| pull.number);
    own.or(of_issue).or_else(|| of_check(&payload.check_run)).or_else(|| of_check(&payload.check_suite))
}

/// Returns the queued pull request when a merge group started this call.
pub(crate) fn queued() -> Result<Option<Queued>, Failure> {
    // Other events name at most a pull request, and that may be named by hand.
    if variable("GITHUB_EVENT_NAME").as_deref() != Some(MERGE_GROUP) {
        return Ok(None);
    }
    match payload()? {
        Some((_, payload)) if payload.merge_group.is_some() => payload.merge_group.as_ref().map(queued_of).transpose(),
        Some(_) => Err(Failure::usage(
            "the event `merge_group` names no group",
            "judge the pull request itself with `--pr N`, outside of this event",
        )),
        None => Ok(None),
    }
}

/// Names the event's pull request where the caller names none. A merge group judges its own pull request and no other.
pub(crate) fn name_pull(global: &mut Global) -> Result<(), Failure> {
    if let Some(queued) = queued()? {
        let number = queued.number.to_string();
        match &global.pr {
            // By number or by address.
            Some(named) if named.rsplit("/pull/").next().unwrap_or(named).trim_start_matches('#') != number => {
                let why = format!("the merge group is about #{number}, not about {named}");
                return Err(Failure::usage(why, "leave `--pr` out in a `merge_group` event"));
            }
            Some(_) | None => global.pr = Some(number),
        }
        return Ok(());
    }
    if global.pr.is_none()
        && let Some((_, payload)) = payload()?
    {
        global.pr = pull_of(&payload).map(|number| number.to_string());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r19_the_queued_pull_request_is_in_the_branch_of_the_group() {
        let commit = "a".repeat(40);
        let check = |head_ref: &str, number| assert_eq!(queued_number(head_ref), number, "{head_ref}");
        check(&format!("refs/heads/gh-readonly-queue/main/pr-12-{commit}"), Some(12));
        check(&format!("refs/heads/gh-readonly-queue/release/v1/pr-3-{commit}"), Some(3));
        check(&format!("gh-readonly-queue/main/pr-12-{commit}"), Some(12));
        check("refs/heads/gh-readonly-queue/main/pr-12-abc", None);
        check(&format!("refs/heads/feature/pr-12-{commit}"), None);
        check("", None);
    }

    #[test]
    fn events_name_their_pull_request() {
        let check = |text: &str, number| {
            let payload: Payload = serde_json::from_str(text).expect("a payload");
            assert_eq!(pull_of(&payload), number, "{text}");
        };
        check(r#"{"pull_request":{"number":5,"x":1},"review":{}}"#, Some(5));
        check(r#"{"issue":{"number":6,"pull_request":{"url":"u"}},"comment":{}}"#, Some(6));
        check(r#"{"issue":{"number":6}}"#, None);
        check(r#"{"check_run":{"pull_requests":[{"number":7}]}}"#, Some(7));
        check(r#"{"check_suite":{"pull_requests":[{"number":7},{"number":8}]}}"#, None);
        check(r#"{"check_suite":{"pull_requests":[]}}"#, None);
        check(r#"{"ref":"refs/heads/x"}"#, None);
    }
}
