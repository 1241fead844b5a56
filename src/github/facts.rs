//! Facts around a pull request: account, permissions, checks, branch rules, reactions, bots seen lately.
//!
//! Decides when a fact is unknown (a right is missing) and when the whole reading fails (anything else).

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::convert;
use super::fault::Fault;
use super::rest::{Api, Seen, parallel, part};
use super::wire;
use crate::review::comment::{AccountKind, Author};
use crate::review::ids::{Login, RepoSlug, Sha};
use crate::review::observation::{BranchRules, Check, Permission, Reaction, Reading};

const ACCOUNT_AGE: Duration = Duration::from_secs(86_400);
const BOTS_AGE: Duration = Duration::from_secs(86_400);
const PERMISSION_AGE: Duration = Duration::from_secs(600);
/// The one app whose runs belong to workflows.
const ACTIONS: &str = "github-actions";

/// The checks of a commit, and the oldest sign that it was there.
#[derive(Debug)]
pub(crate) struct Checks {
    /// All of them, or why not.
    pub(crate) reading: Reading<Vec<Check>>,
    /// The oldest of them.
    pub(crate) oldest: Option<Timestamp>,
}

/// An account as it is kept between readings.
#[derive(Serialize, Deserialize)]
struct KeptAccount {
    login: Login,
    kind: AccountKind,
}

/// Waits for a reader. One that stopped by a defect of ours is a failed reading.
pub(crate) fn joined<T>(handle: thread::ScopedJoinHandle<'_, Result<T, Fault>>) -> Result<T, Fault> {
    handle.join().unwrap_or_else(|_| Err(Fault::failed("a reading", "its reader stopped")))
}

/// Splits a fault that only hides one fact from one that fails the reading.
fn hidden<T>(result: Result<T, Fault>, what: &str) -> Result<Result<T, String>, Fault> {
    match result {
        Ok(value) => Ok(Ok(value)),
        Err(fault) => fault.hides(what).map(Err).ok_or(fault),
    }
}

impl Api {
    /// Learns the account of the token: `/user`, else GraphQL, else unknown.
    pub(crate) fn account(&self) -> Result<Option<Author>, Fault> {
        if let Some(kept) = self.kept::<KeptAccount>("account", ACCOUNT_AGE) {
            return Ok(Some(Author { login: kept.login, kind: kept.kind }));
        }
        let user = match self.one::<wire::User>("user") {
            Ok(seen) => Some(seen.value),
            Err(fault) if fault.hides("").is_some() => match self.viewer() {
                Ok(login) => Some(wire::User { login, kind: None }),
                Err(fault) if fault.hides("").is_some() => None,
                Err(fault) => return Err(fault),
            },
            Err(fault) => return Err(fault),
        };
        let Some(user) = user else { return Ok(None) };
        let mut author = convert::author(&user);
        // Of one's own account GraphQL tells no type, but only apps have this ending.
        if user.login.ends_with("[bot]") {
            author.kind = AccountKind::Bot;
        }
        self.keep("account", KeptAccount { login: author.login.clone(), kind: author.kind });
        Ok(Some(author))
    }

    /// Asks what an account may do in the repository.
    pub(crate) fn permission(&self, slug: &RepoSlug, login: &Login) -> Result<Permission, Fault> {
        let name = format!("permission {slug} {login}").to_ascii_lowercase();
        if let Some(known) = self.kept(&name, PERMISSION_AGE) {
            return Ok(known);
        }
        let path = format!("{}/collaborators/{}/permission", repo(slug), part(login.as_str()));
        let permission = match self.one::<wire::Access>(&path) {
            Ok(seen) => convert::permission(&seen.value),
            Err(Fault::Denied { .. }) => Permission::Unasked,
            Err(Fault::NotThere { .. }) => Permission::Read,
            Err(fault) => return Err(fault),
        };
        self.keep(&name, permission);
        Ok(permission)
    }

    /// Asks for several accounts.
    pub(crate) fn permissions(
        &self,
        slug: &RepoSlug,
        logins: BTreeSet<Login>,
    ) -> Result<BTreeMap<Login, Permission>, Fault> {
        let all = parallel(logins.into_iter().collect(), 8, |login| {
            let permission = self.permission(slug, &login)?;
            Ok((login, permission))
        })?;
        Ok(all.into_iter().collect())
    }

    /// Reads check runs and commit statuses of a commit.
    pub(crate) fn checks(&self, slug: &RepoSlug, sha: &Sha) -> Result<Checks, Fault> {
        let at = format!("{}/commits/{sha}", repo(slug));
        let (runs, statuses) = thread::scope(|scope| {
            let runs =
                scope.spawn(|| self.list::<wire::CheckRuns>(&format!("{at}/check-runs?filter=latest&per_page=100")));
            let statuses = self.list::<wire::Combined>(&format!("{at}/status?per_page=100"));
            (joined(runs), statuses)
        });
        let (runs, statuses) = (hidden(runs, "check runs")?, hidden(statuses, "commit statuses")?);
        let runs = runs.map(|s| s.value.into_iter().flat_map(|page| page.check_runs).collect::<Vec<_>>());
        let statuses = statuses.map(|s| s.value.into_iter().flat_map(|page| page.statuses).collect::<Vec<_>>());
        let started = runs.iter().flatten().filter_map(|run| run.started_at);
        let oldest = started.chain(statuses.iter().flatten().filter_map(|status| status.created_at)).min();
        let reading = match (runs, statuses) {
            (Ok(runs), Ok(statuses)) => {
                let workflows = self.workflows(slug, sha, &runs)?;
                Reading::Known(checks_of(runs, statuses, &workflows))
            }
            (Err(one), Err(other)) => Reading::Unknown(format!("{one}; {other}")),
            (Err(why), Ok(_)) | (Ok(_), Err(why)) => Reading::Unknown(why),
        };
        Ok(Checks { reading, oldest })
    }

    /// Learns which workflow the runs of one app and name are of, where several suites have such runs: only then it
    /// matters, because the newer run of the same workflow replaces the older one. Where that cannot be read, each suite
    /// stands for itself: a later success hides no failure.
    fn workflows(&self, slug: &RepoSlug, sha: &Sha, runs: &[wire::CheckRun]) -> Result<BTreeMap<u64, String>, Fault> {
        let mut suites: BTreeMap<(u64, &str), BTreeSet<u64>> = BTreeMap::new();
        for run in runs {
            let app = run.app.as_ref().filter(|app| app.slug.as_deref() == Some(ACTIONS));
            if let (Some(app), Some(suite)) = (app, suite(run)) {
                suites.entry((app.id, &run.name)).or_default().insert(suite);
            }
        }
        let unclear: BTreeSet<u64> = suites.into_values().filter(|of| of.len() > 1).flatten().collect();
        if unclear.is_empty() {
            return Ok(BTreeMap::new());
        }
        let path = format!("{}/actions/runs?head_sha={sha}&per_page=100", repo(slug));
        let told = match hidden(self.list::<wire::WorkflowRuns>(&path), "workflow runs")? {
            Ok(seen) => Ok(seen.value.into_iter().flat_map(|page| page.workflow_runs).collect::<Vec<_>>()),
            Err(why) => Err(why),
        };
        let name = |id: u64| match &told {
            Ok(all) => {
                let run = all.iter().find(|run| run.check_suite_id == Some(id));
                let name = run.and_then(|run| run.path.clone().or_else(|| run.name.clone()));
                name.unwrap_or_else(|| format!("suite {id}"))
            }
            Err(why) => format!("suite {id}; {why}"),
        };
        Ok(unclear.into_iter().map(|id| (id, name(id))).collect())
    }

    /// Reads what rulesets and classic protection require of a branch.
    pub(crate) fn rules(&self, slug: &RepoSlug, branch: &str) -> Result<Reading<BranchRules>, Fault> {
        let (repo, branch) = (repo(slug), part(branch));
        let (sets, classic, public) = thread::scope(|scope| {
            let sets =
                scope.spawn(|| self.list::<Vec<wire::Rule>>(&format!("{repo}/rules/branches/{branch}?per_page=100")));
            let public = scope.spawn(|| self.one::<wire::BranchInfo>(&format!("{repo}/branches/{branch}")));
            let classic = self.one::<wire::Protection>(&format!("{repo}/branches/{branch}/protection"));
            (joined(sets), classic, joined(public))
        });
        let public = match public {
            Err(fault) if fault.hides("the branch").is_none() => return Err(fault),
            hidden_or_read => hidden_or_read.ok(),
        };
        let (mut rules, sets_read) = match sets {
            Ok(seen) => (convert::rules(&seen.value.concat()), true),
            Err(Fault::NotThere { .. }) => (BranchRules::default(), false),
            Err(fault) => match fault.hides("branch rules") {
                Some(why) => return Ok(Reading::Unknown(why)),
                None => return Err(fault),
            },
        };
        match classic {
            Ok(seen) => convert::protect(&mut rules, &seen.value),
            Err(Fault::NotThere { message, .. }) if message.contains("not protected") => {}
            // The settings are for administrators; the branch itself tells everybody which checks it requires.
            Err(fault) => match (fault.hides("branch protection"), public) {
                (None, _) => return Err(fault),
                (Some(why), Some(seen)) => {
                    if !convert::protected(&mut rules, &seen.value, &why) {
                        return Ok(Reading::Unknown(why));
                    }
                }
                (Some(_), None) if sets_read && matches!(fault, Fault::NotThere { .. }) => {}
                (Some(why), None) => return Ok(Reading::Unknown(why)),
            },
        }
        rules.checks.sort();
        rules.checks.dedup();
        Ok(Reading::Known(rules))
    }

    /// Reads the reactions of bots on the description or on one conversation comment.
    pub(crate) fn reactions(&self, path: &str, on: Option<u64>) -> Result<Seen<Vec<Reaction>>, Fault> {
        let seen = self.list::<Vec<wire::Reaction>>(&format!("{path}/reactions?per_page=100"))?;
        let all = seen.value.iter().flatten().filter_map(|wire| convert::reaction(wire, on)).collect();
        Ok(Seen { value: all, changed: seen.changed })
    }

    /// Learns which bots wrote on the repository's last ten pull requests. Asked once a day.
    pub(crate) fn recent_bots(&self, slug: &RepoSlug) -> Reading<BTreeSet<Login>> {
        let name = format!("bots {slug}").to_ascii_lowercase();
        if let Some(known) = self.kept(&name, BOTS_AGE) {
            return Reading::Known(known);
        }
        match self.ask_recent_bots(slug) {
            Ok((_, bots)) => {
                self.keep(&name, &bots);
                Reading::Known(bots)
            }
            Err(fault) => Reading::Unknown(fault.tell(&slug.to_string()).to_string()),
        }
    }

    /// Asks which bots wrote on the last ten pull requests, and how many pull requests that were.
    pub(crate) fn ask_recent_bots(&self, slug: &RepoSlug) -> Result<(usize, BTreeSet<Login>), Fault> {
        let repo = repo(slug);
        let newest = format!("{repo}/pulls?state=all&sort=created&direction=desc&per_page=10");
        let pulls = self.one::<Vec<wire::Listed>>(&newest)?.value;
        // The page is named so that these single pages are not taken for the lists of a whole reading.
        let places = pulls.iter().flat_map(|pull| {
            ["pulls", "issues"].map(|part| {
                let list = if part == "pulls" { "reviews" } else { "comments" };
                format!("{repo}/{part}/{}/{list}?per_page=100&page=1", pull.number)
            })
        });
        let found = parallel(places.collect(), 20, |place| self.one::<Vec<wire::Elsewhere>>(&place))?;
        let users = found.iter().flat_map(|seen| &seen.value).filter_map(|comment| comment.user.as_ref());
        let authors = users.map(convert::author);
        let bots = authors.filter(|author| author.kind == AccountKind::Bot).map(|author| author.login).collect();
        Ok((pulls.len(), bots))
    }
}

fn suite(run: &wire::CheckRun) -> Option<u64> {
    run.check_suite.and_then(|suite| suite.id)
}

fn checks_of(runs: Vec<wire::CheckRun>, statuses: Vec<wire::Status>, workflows: &BTreeMap<u64, String>) -> Vec<Check> {
    let runs: BTreeMap<u64, wire::CheckRun> = runs.into_iter().map(|run| (run.id, run)).collect();
    let check = |run: &wire::CheckRun| Check {
        workflow: suite(run).and_then(|id| workflows.get(&id)).cloned(),
        ..convert::check_run(run)
    };
    runs.values().map(check).chain(statuses.iter().map(convert::status)).collect()
}

/// Returns the path of a repository.
pub(crate) fn repo(slug: &RepoSlug) -> String {
    format!("repos/{}/{}", part(&slug.owner), part(&slug.name))
}
