//! What the token may do, told from real answers and their headers. It writes nothing: what only a write would show stays
//! unknown.

use jiff::SignedDuration;

use super::facts::repo;
use super::fault::Fault;
use super::rest::{Api, part};
use super::wire;
use crate::review::ids::RepoSlug;

/// What one question showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Right {
    /// It was answered.
    There,
    /// It was refused: names what is missing where the forge tells it.
    Missing(String),
    /// Neither can be told.
    Unknown(String),
}

/// Rights in the words of the forge's permission lists, in the order in which they are asked.
pub const READS: [&str; 8] = [
    "contents: read",
    "pull requests: read",
    "review threads (GraphQL)",
    "checks: read",
    "commit statuses: read",
    "branch rules: read",
    "administration: read",
    "actions: read",
];

impl Api {
    /// Asks for something that only this right (one of [`READS`]) shows.
    pub fn right(&self, slug: &RepoSlug, branch: &str, right: &str) -> Right {
        let (repo, at) = (repo(slug), part(branch));
        let asked = match right {
            "contents: read" => match self.contents(slug, ".pushback.toml", None) {
                Ok(_) => return Right::There,
                Err(error) => return Right::Unknown(error.to_string()),
            },
            "pull requests: read" => self.one::<Vec<wire::Listed>>(&format!("{repo}/pulls?per_page=1")).map(drop),
            "review threads (GraphQL)" => self.viewer().map(drop),
            "checks: read" => {
                self.list::<wire::CheckRuns>(&format!("{repo}/commits/{at}/check-runs?per_page=1")).map(drop)
            }
            "commit statuses: read" => self.one::<wire::Combined>(&format!("{repo}/commits/{at}/status")).map(drop),
            "branch rules: read" => self.one::<Vec<wire::Rule>>(&format!("{repo}/rules/branches/{at}")).map(drop),
            "administration: read" => {
                self.one::<wire::Protection>(&format!("{repo}/branches/{at}/protection")).map(drop)
            }
            _ => self.one::<wire::WorkflowRuns>(&format!("{repo}/actions/runs?per_page=1")).map(drop),
        };
        match asked {
            Ok(()) => Right::There,
            // An unprotected branch says so only to those who may know.
            Err(Fault::NotThere { message, .. }) if message.contains("not protected") => Right::There,
            Err(fault @ (Fault::Denied { .. } | Fault::NotThere { .. })) => {
                Right::Missing(fault.hides(right).unwrap_or_default())
            }
            Err(fault) => Right::Unknown(fault.tell(&slug.to_string()).to_string()),
        }
    }

    /// Returns the scopes of a classic token, as the last answer named them; `None` for other tokens.
    pub fn scopes(&self) -> Option<Vec<String>> {
        self.client.heard().scopes
    }

    /// Returns how far this machine's clock is ahead of the forge's; `None` before the first answer.
    pub fn ahead(&self) -> Option<SignedDuration> {
        self.client.heard().ahead
    }
}
