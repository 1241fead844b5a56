//! The GraphQL fields of commits, checks and statuses.

use serde_json::json;

use super::graph::{Args, Found, Graph, Node, Out, leaf, wrong};
use super::graphql::{required, rollup};
use super::rest_pulls::{latest_checks, latest_statuses};
use super::state::iso;

impl Graph<'_> {
    /// Reads one field.
    pub fn commit(&mut self, repo: usize, sha: &str, name: &str) -> Found {
        match name {
            "oid" => leaf(sha),
            "id" => leaf(format!("C_{sha}")),
            "abbreviatedOid" => leaf(sha.get(..7).unwrap_or(sha)),
            "statusCheckRollup" => Ok(match rollup(self.st, repo, sha) {
                Some(_) => Out::One(Node::Rollup(repo, sha.to_owned())),
                None => Out::Null,
            }),
            _ => Err(None),
        }
    }

    /// Reads one field.
    pub fn rollup(&mut self, repo: usize, sha: &str, name: &str) -> Found {
        match name {
            "state" => leaf(json!(rollup(self.st, repo, sha))),
            "id" => leaf(format!("SCR_{sha}")),
            "contexts" => {
                let r = &self.st.repos[repo];
                let checks = latest_checks(r, sha, false).into_iter().map(|c| Node::Check(repo, c.id));
                let statuses = latest_statuses(r, sha).into_iter().map(|s| Node::Context(repo, s.id));
                Ok(Out::Connection(checks.chain(statuses).collect()))
            }
            _ => Err(None),
        }
    }

    fn is_required(&self, repo: usize, context: &str, app: Option<u64>, args: &Args) -> Found {
        if self.me.kind == "fine_grained" {
            return wrong("FORBIDDEN", self.me.refusal());
        }
        let number = args.number("pullRequestNumber");
        let Some(pull) = self.st.repos[repo].pull(number) else {
            return wrong("NOT_FOUND", "isRequired needs a pull request of this repository");
        };
        leaf(required(self.st, repo, &pull.base, context, app))
    }

    /// Reads one field.
    pub fn check(&mut self, repo: usize, id: u64, name: &str, args: &Args) -> Found {
        if self.me.kind == "fine_grained" {
            return wrong("FORBIDDEN", self.me.refusal());
        }
        let check = self.st.repos[repo].checks.iter().find(|c| c.id == id).ok_or(None)?;
        match name {
            "id" => leaf(format!("CR_{id}")),
            "databaseId" => leaf(id),
            "fullDatabaseId" => leaf(id.to_string()),
            "name" => leaf(check.name.as_str()),
            "status" => leaf(check.status.to_uppercase()),
            "conclusion" => leaf(json!(check.conclusion.as_ref().map(|c| c.to_uppercase()))),
            "startedAt" => leaf(iso(check.started)),
            "completedAt" => leaf(json!(check.completed.map(iso))),
            "checkSuite" => Ok(Out::One(Node::Suite(repo, id))),
            "isRequired" => self.is_required(repo, &check.name, Some(check.app_id), args),
            _ => Err(None),
        }
    }

    /// Reads one field.
    pub fn suite(&mut self, repo: usize, id: u64, name: &str) -> Found {
        let check = self.st.repos[repo].checks.iter().find(|c| c.id == id).ok_or(None)?;
        match name {
            "id" => leaf(format!("CS_{}", check.suite)),
            "databaseId" => leaf(check.suite),
            "app" => Ok(Out::One(Node::App(check.app_id, check.app_slug.clone()))),
            _ => Err(None),
        }
    }

    /// Reads one field.
    pub fn context(&mut self, repo: usize, id: u64, name: &str, args: &Args) -> Found {
        let status = self.st.repos[repo].statuses.iter().find(|s| s.id == id).ok_or(None)?;
        match name {
            "id" => leaf(format!("SC_{id}")),
            "context" => leaf(status.context.as_str()),
            "state" => leaf(status.state.to_uppercase()),
            "description" => leaf(json!(status.description)),
            "targetUrl" => leaf(json!(status.target_url)),
            "createdAt" => leaf(iso(status.created)),
            "isRequired" => self.is_required(repo, &status.context, None, args),
            _ => Err(None),
        }
    }
}
