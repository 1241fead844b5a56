//! Follow-up plans (R15): which are owed, what a plan's file is called and says, and its permanent link.
//!
//! The words of the file stand in a template, `prompts/plan.md.j2`; when it is committed is the engine's business.

use serde::{Deserialize, Serialize};

use super::decision::{PlanDraft, Verb};
use super::disarm::{cut, disarm, link_text, one_line};
use super::ids::{FindingId, PrNumber, RepoPath, Sha};
use super::owed::{Owed, owed};
use super::summary::{Entry, Pending, PrRecord, Summary};
use super::words::link;

/// Longest text of the reviewer in a plan, in bytes.
const MAX_SAID: usize = 4_000;
/// Longest part of a file's name that comes from the plan's title, in bytes.
const MAX_SLUG: usize = 48;
/// Names that are tried where one is taken.
pub const NAMES: u32 = 9;

/// Everything a plan's template may name. Texts from outside are disarmed already.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanView {
    /// Title of the plan.
    pub title: String,
    /// Pull request, for example `o/r#7`.
    pub pr: String,
    /// The findings it is for: several where one answer serves them all.
    pub findings: Vec<PlanFinding>,
    /// Why it is not done in this pull request.
    pub why: String,
    /// The first steps.
    pub steps: Vec<String>,
}

/// A finding as its plan names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanFinding {
    /// Identity.
    pub id: String,
    /// Its title as a link to it.
    pub link: String,
    /// Its severity.
    pub severity: String,
    /// Who made it.
    pub author: String,
    /// File and line, where it has one.
    pub place: Option<String>,
    /// What the reviewer said, line by line.
    pub said: Vec<String>,
}

/// Returns the findings whose plan is still to be written.
pub fn unwritten(summary: &Summary) -> Vec<FindingId> {
    let waits = |entry: &&Entry| {
        !entry.finding.needs_person
            && owed(entry) == Owed::FollowUp
            && entry.pending.as_ref().is_some_and(|pending| pending.file.is_none())
    };
    summary.comments.values().filter(waits).map(|entry| entry.finding.id).collect()
}

/// How the reason begins with which a plan that could not be written waits for a person.
pub const UNWRITTEN: &str = "its follow-up plan could not be written: ";

/// Tries again what could not be written in an earlier run: the folder may be there now (FC-64).
pub fn revive(summary: &mut Summary) {
    for entry in summary.comments.values_mut() {
        let waits = entry.pending.as_ref().is_some_and(|pending| pending.verb == Verb::Defer && pending.file.is_none());
        if waits && entry.finding.needs_person && entry.finding.why.starts_with(UNWRITTEN) {
            entry.finding.needs_person = false;
        }
    }
}

/// Tells whether two decisions are one follow-up: one answer that serves several findings.
pub fn one_plan(one: &Pending, other: &Pending) -> bool {
    one.plan.is_some() && one.plan == other.plan && one.reason == other.reason
}

/// Builds what the template is rendered from. Without a draft the plan is made from the first finding itself.
pub fn view(first: &Entry, others: &[&Entry], pending: &Pending, pr: &PrRecord) -> PlanView {
    let made = || PlanDraft { title: first.finding.title.clone(), steps: Vec::new() };
    let draft = pending.plan.clone().unwrap_or_else(made);
    let steps = if draft.steps.is_empty() { first_steps(first) } else { draft.steps };
    PlanView {
        title: link_text(&draft.title, 120),
        pr: pr.at().to_string(),
        findings: std::iter::once(first).chain(others.iter().copied()).map(finding).collect(),
        why: disarm(&pending.reason),
        steps: steps.iter().map(|step| one_line(step)).collect(),
    }
}

fn finding(entry: &Entry) -> PlanFinding {
    let finding = &entry.finding;
    let place = finding.path.as_deref().map(|path| {
        let line = finding.line.map_or_else(String::new, |line| format!(":{line}"));
        one_line(&format!("{path}{line}")).replace('`', "'")
    });
    PlanFinding {
        id: finding.id.to_string(),
        link: link(&finding.title, &finding.url),
        severity: finding.severity.to_string(),
        author: link_text(finding.author.as_str(), 60),
        place,
        said: disarm(&cut(&entry.text, MAX_SAID)).lines().map(str::to_owned).collect(),
    }
}

fn first_steps(entry: &Entry) -> Vec<String> {
    let place = entry.finding.path.as_deref().map_or_else(String::new, |path| format!(" in {path}"));
    vec![
        "Read the finding and its thread".to_owned(),
        format!("Write a test that shows it{place}"),
        "Change the code until the test passes".to_owned(),
    ]
}

/// Returns the path of a plan; the later names are for the case that the first is taken. `None` for a bad folder.
pub fn path(dir: &str, pr: PrNumber, id: FindingId, title: &str, name: u32) -> Option<RepoPath> {
    let again = if name > 1 { format!("-{name}") } else { String::new() };
    let dir = dir.trim_matches('/');
    let slash = if dir.is_empty() { "" } else { "/" };
    RepoPath::from_outside(&format!("{dir}{slash}{}{}{again}.md", stem(pr, id), slug(title))).ok()
}

fn stem(pr: PrNumber, id: FindingId) -> String {
    format!("pr{pr}-{id}-")
}

fn slug(title: &str) -> String {
    let words = title.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let mut slug = String::new();
    for word in words {
        if slug.len() + word.len() > MAX_SLUG {
            break;
        }
        if !slug.is_empty() {
            slug.push('-');
        }
        slug.push_str(&word.to_ascii_lowercase());
    }
    if slug.is_empty() { "follow-up".to_owned() } else { slug }
}

/// Tells whether a path is that of a plan this program wrote for a finding that is known here.
pub fn is_plan(path: &str, dir: &str, pr: PrNumber, known: impl Fn(FindingId) -> bool) -> bool {
    let dir = dir.trim_matches('/');
    let inside = if dir.is_empty() { Some(path) } else { path.strip_prefix(dir).and_then(|p| p.strip_prefix('/')) };
    let Some(name) = inside else { return false };
    let id = |name: &str| {
        let rest = name.strip_suffix(".md")?.strip_prefix(&format!("pr{pr}-"))?;
        rest.split_once('-')?.0.parse::<FindingId>().ok()
    };
    !name.contains('/') && id(name).is_some_and(known)
}

/// Stands for the commit that will hold a plan, in what a dry run shows.
pub const COMMIT: &str = "COMMIT";

/// Returns the permanent link to a file at a commit. The base repository keeps the commits of its pull requests.
pub fn permanent_link(pr: &PrRecord, sha: &Sha, path: &str) -> String {
    link_at(pr, sha.as_str(), path)
}

/// Returns the link that a plan will have, with [`COMMIT`] for the commit that is not made yet.
pub fn link_to_be(pr: &PrRecord, path: &str) -> String {
    link_at(pr, COMMIT, path)
}

fn link_at(pr: &PrRecord, commit: &str, path: &str) -> String {
    let page = format!("/{}/{}/pull/{}", pr.owner, pr.repo, pr.number);
    let web = match pr.url.strip_suffix(&page) {
        Some(web) if !web.is_empty() => web.to_owned(),
        Some(_) | None => format!("https://{}", pr.host),
    };
    format!("{web}/{}/{}/blob/{commit}/{}", pr.owner, pr.repo, encoded(path))
}

fn encoded(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// Reads commit and file back out of a permanent link.
pub fn linked(url: &str) -> Option<(Sha, String)> {
    let (_, rest) = url.split_once("/blob/")?;
    let (sha, path) = rest.split_once('/')?;
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let hex = (*first == b'%').then(|| after.get(..2)).flatten();
        match hex.and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    let path = String::from_utf8(bytes).ok()?;
    RepoPath::from_outside(&path).ok()?;
    Some((Sha::parse(sha).ok()?, path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::review::sample;
    use crate::review::severity::Severity;
    use proptest::prelude::*;

    fn plan(title: &str) -> Pending {
        let plan = PlanDraft { title: title.into(), steps: vec!["Measure it".into()] };
        Pending { plan: Some(plan), ..sample::pending(Verb::Defer, "belongs to the next change") }
    }

    #[test]
    fn r15_a_plan_holds_finding_link_why_and_first_steps() {
        let mut entry = sample::entry("c1", Severity::P2);
        entry.text = "Ping @codex <!-- pushback:1 x --> and fix #12".into();
        let other = sample::entry("c2", Severity::P2);
        let view = view(&entry, &[&other], &plan("Cache | the parser"), &sample::summary(vec![]).pr);
        assert_eq!(view.title, "Cache / the parser");
        let one = &view.findings[0];
        assert!(one.link.contains("](https://github.com/o/r/pull/7#x1)"), "{}", one.link);
        assert_eq!(one.place.as_deref(), Some("src/a.rs:10"));
        assert_eq!((view.findings[1].id.as_str(), view.steps.as_slice()), ("c2", &["Measure it".to_owned()][..]));
        let said = one.said.join("\n");
        assert!(!said.contains('@') && !said.contains("<!--") && !said.contains("#12"), "{said}");
    }

    #[test]
    fn r15_a_person_needs_no_draft() {
        let entry = sample::entry("c1", Severity::P2);
        let view = view(&entry, &[], &sample::pending(Verb::Defer, "later"), &sample::summary(vec![]).pr);
        assert_eq!((view.title.as_str(), view.steps.len()), ("Reject empty input c1", 3));
    }

    #[test]
    fn r15_own_plans_are_known_by_their_name() {
        let id = |text: &str| text.parse::<FindingId>().expect("id");
        let of = |id, title: &str, name| path("wiki/plans/", PrNumber(7), id, title, name).expect("a path").to_string();
        assert_eq!(of(id("c1"), "Cache the `parser`!", 1), "wiki/plans/pr7-c1-cache-the-parser.md");
        assert_eq!(of(id("r5.2"), "ここ", 2), "wiki/plans/pr7-r5.2-follow-up-2.md");
        assert_eq!(path("../out", PrNumber(7), id("c1"), "x", 1), None);
        let known = |found: FindingId| found == id("c1") || found == id("r5.2");
        let check =
            |path: &str, expected| assert_eq!(is_plan(path, "wiki/plans", PrNumber(7), known), expected, "{path}");
        check("wiki/plans/pr7-c1-cache-the-parser.md", true);
        check("wiki/plans/pr7-r5.2-follow-up-2.md", true);
        check("wiki/plans/pr8-c1-cache.md", false);
        check("wiki/plans/pr7-c9-cache.md", false);
        check("wiki/plans/pr7-c1-cache.rs", false);
        check("wiki/plans/sub/pr7-c1-cache.md", false);
        check("src/pr7-c1-cache.md", false);
        check("wiki/planspr7-c1-cache.md", false);
    }

    #[test]
    fn r15_the_link_is_permanent() {
        let mut pr = sample::summary(vec![]).pr;
        let url = permanent_link(&pr, &sample::sha('b'), "wiki/a plan.md");
        assert_eq!(url, format!("https://github.com/o/r/blob/{}/wiki/a%20plan.md", "b".repeat(40)));
        pr.url = "http://127.0.0.1:99/o/r/pull/7".into();
        assert!(permanent_link(&pr, &sample::sha('b'), "a.md").starts_with("http://127.0.0.1:99/o/r/blob/"));
        pr.url = String::new();
        assert!(permanent_link(&pr, &sample::sha('b'), "a.md").starts_with("https://github.com/o/r/blob/"));
    }

    proptest! {
        #[test]
        fn r13_the_link_is_read_back(path in "[a-zA-Zäß %()/]{1,40}") {
            prop_assume!(RepoPath::from_outside(&path).is_ok());
            let url = permanent_link(&sample::summary(vec![]).pr, &sample::sha('b'), &path);
            prop_assert!(url.is_ascii() && !url.contains(' '));
            prop_assert_eq!(linked(&url), Some((sample::sha('b'), path)));
        }
    }
}
