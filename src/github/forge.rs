//! The forge of one pull request, as the engine sees it.

use std::collections::BTreeSet;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::convert;
use super::facts::repo;
use super::fault::Fault;
use super::rest::{Api, Seen};
use super::wire;
use crate::ports::{Depth, Forge, ForgeError, LinkedIssue, Write, Written};
use crate::review::comment::{Comment, Thread};
use crate::review::ids::{Login, PrRef, Sha};
use crate::review::observation::{Observation, Permission, PrState, PullRequest};
use crate::review::shared::Shared;

const READINGS: u32 = 3;

/// One pull request on GitHub or an enterprise server.
pub struct Github {
    pub(crate) api: Arc<Api>,
    pub(crate) at: PrRef,
    pub(crate) write_gap: Duration,
    pub(crate) wrote: Mutex<Option<Duration>>,
    pub(crate) early: Option<Sender<Shared<Vec<Comment>>>>,
}

impl Github {
    /// Takes the pull request; `write_gap` is the time between two writes, a second on a real forge.
    pub fn new(api: Arc<Api>, at: PrRef, write_gap: Duration) -> Self {
        Self { api, at, write_gap, wrote: Mutex::new(None), early: None }
    }

    /// Hands the comments over as soon as they are here where none were known before: the rest of a reading takes another
    /// round trip, in which they can be looked at.
    pub fn telling(mut self, early: Sender<Shared<Vec<Comment>>>) -> Self {
        self.early = Some(early);
        self
    }

    /// Returns another reader of the same pull request.
    pub fn twin(&self) -> Self {
        Self::new(self.api.clone(), self.at.clone(), self.write_gap)
    }

    /// Returns the path of the pull request.
    pub(crate) fn path(&self) -> String {
        format!("{}/pulls/{}", repo(&self.at.slug), self.at.number)
    }

    /// Returns the path of the pull request as an issue.
    pub(crate) fn issue(&self) -> String {
        format!("{}/issues/{}", repo(&self.at.slug), self.at.number)
    }

    /// Returns the name under which something of this pull request is kept.
    pub(crate) fn name(&self, what: &str) -> String {
        format!("{what} {}/{}", self.at.host, self.at)
    }

    /// Reads the pull request alone.
    pub(crate) fn pull(&self) -> Result<Seen<wire::Pull>, Fault> {
        self.api.one(&self.path())
    }

    /// Turns the pull request.
    pub(crate) fn convert_pull(&self, pull: &wire::Pull) -> Result<PullRequest, Fault> {
        let request = format!("GET /{}", self.path());
        if pull.number != self.at.number.0 {
            return Err(Fault::failed(&request, "the answer is about another pull request"));
        }
        convert::pull(pull, &self.at.host, &self.at.slug)
            .map_err(|why| Fault::failed(&request, format!("the answer has another shape: {why}")))
    }

    /// Returns how messages name the repository.
    pub(crate) fn repository(&self) -> String {
        self.at.slug.to_string()
    }

    fn told<T>(&self, result: Result<T, Fault>) -> Result<T, ForgeError> {
        result.map_err(|fault| fault.tell(&self.repository()))
    }

    fn may_write(&self, issue: &super::graphql::WireIssue) -> Result<bool, Fault> {
        let Some(author) = issue.author.as_ref().filter(|author| author.kind == "User") else { return Ok(false) };
        Ok(match self.api.permission(&self.at.slug, &Login::new(&author.login))? {
            Permission::Write => true,
            // Where the token may not ask, only the repository's owner is known to write here.
            Permission::Unasked => author.login.eq_ignore_ascii_case(&self.at.slug.owner),
            Permission::Read | Permission::Triage => false,
        })
    }
}

impl Forge for Github {
    fn observe(&self, depth: Depth) -> Result<Observation, ForgeError> {
        for _ in 0..READINGS {
            if let Some(observation) = self.told(self.read_once(depth))? {
                return Ok(observation);
            }
        }
        Err(ForgeError::HeadMoved)
    }

    fn head(&self) -> Result<Sha, ForgeError> {
        self.told(self.pull().and_then(|seen| self.convert_pull(&seen.value))).map(|pull| pull.head)
    }

    fn ended(&self) -> Result<bool, ForgeError> {
        let pull = self.told(self.pull().and_then(|seen| self.convert_pull(&seen.value)))?;
        Ok(pull.state != PrState::Open)
    }

    fn description(&self) -> Result<String, ForgeError> {
        self.told(self.pull().and_then(|seen| self.convert_pull(&seen.value))).map(|pull| pull.body)
    }

    fn thread(&self, node_id: &str) -> Result<Option<Thread>, ForgeError> {
        self.told(self.api.one_thread(node_id)).map(|thread| thread.and_then(|kept| kept.thread()))
    }

    fn linked_issues(&self) -> Result<Vec<LinkedIssue>, ForgeError> {
        let issues = self.told(self.api.closing_issues(&self.at.slug, self.at.number.0))?;
        let mut seen = BTreeSet::new();
        let mut linked = Vec::new();
        for issue in issues {
            let trusted = self.told(self.may_write(&issue))?;
            if seen.insert((issue.number, issue.title.clone())) {
                linked.push(LinkedIssue { number: issue.number, title: issue.title, body: issue.body, trusted });
            }
        }
        Ok(linked)
    }

    fn stacked(&self, branch: &str) -> Result<Vec<u64>, ForgeError> {
        self.told(self.api.based_on(&self.at.slug, branch))
    }

    fn write(&self, write: &Write) -> Written {
        self.perform(write)
    }
}
