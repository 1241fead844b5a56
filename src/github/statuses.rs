//! Commit statuses of a verdict, and the pull requests that share or follow a head. Decides nothing about verdicts.

use super::facts::repo;
use super::forge::Github;
use super::wire;
use crate::ports::{Forge as _, ForgeError, StatusBoard, Write, Written};
use crate::review::gate::publish::{OwnStatus, Standing};
use crate::review::ids::{PrNumber, Sha};
use crate::review::observation::{PrState, PullRequest};

impl StatusBoard for Github {
    fn statuses(&self, sha: &Sha, context: &str) -> Result<Vec<Standing>, ForgeError> {
        let path = format!("{}/commits/{sha}/statuses?per_page=100", repo(&self.at.slug));
        let pages = self.api.list::<Vec<wire::Status>>(&path).map_err(|fault| fault.tell(&self.repository()))?;
        let mut found: Vec<wire::Status> = pages.value.into_iter().flatten().filter(|s| s.context == context).collect();
        found.sort_by_key(|status| std::cmp::Reverse(status.id));
        let now = self.api.client.server_time();
        let standing = |status: wire::Status| Standing {
            at: status.created_at.unwrap_or(now),
            state: status.state,
            description: status.description.unwrap_or_default(),
        };
        Ok(found.into_iter().map(standing).collect())
    }

    fn set_status(&self, sha: &Sha, context: &str, status: &OwnStatus) -> Written {
        self.write(&Write::Status {
            sha: sha.clone(),
            state: status.state.to_owned(),
            context: context.to_owned(),
            description: status.description.clone(),
        })
    }
}

impl Github {
    /// Returns the other open pull requests that have the same commit as their head: a status cannot tell them apart.
    pub fn same_head(&self, pr: &PullRequest) -> Result<Vec<PrNumber>, ForgeError> {
        let Some(head_repo) = &pr.head_repo else { return Ok(Vec::new()) };
        let all = self.api.pulls_for(&self.at.slug, &head_repo.owner, &pr.head_branch)?;
        let others = all
            .iter()
            .filter(|other| other.state == PrState::Open && other.head == pr.head && other.number != self.at.number);
        Ok(others.map(|other| other.number).collect())
    }
}
