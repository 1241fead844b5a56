//! Writes, each sent once. Decides what an answer proves about the effect; what to do about an unclear one is not its business.

use std::sync::PoisonError;

use reqwest::Method;
use secrecy::ExposeSecret as _;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::client::{Ask, Got, JSON, Quota};
use super::convert;
use super::facts::repo;
use super::fault::{Effect, Fault};
use super::forge::Github;
use super::retry::Kind;
use super::wire;
use crate::ports::{Woken, Write, Written};
use crate::review::comment::Channel;
use crate::review::ids::Login;

/// What a 404 means for a write.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Absent {
    /// Its object is gone.
    Gone,
    /// The token does not see the pull request or may not write there.
    Hidden,
}

impl Github {
    /// Performs one write.
    pub(crate) fn perform(&self, write: &Write) -> Written {
        if self.leaks(write) {
            return Written::Refused("the text holds the token".to_owned());
        }
        // Held while sending: one write at a time, with the pause that the forge asks for.
        let mut wrote = self.wrote.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.wait_for_gap(*wrote) {
            return Written::NotSent("interrupted".to_owned());
        }
        let written = self.send(write);
        *wrote = Some(self.api.client.clock().monotonic());
        written
    }

    fn leaks(&self, write: &Write) -> bool {
        let text = match write {
            Write::Reply { body, .. } | Write::Comment { body } | Write::Describe { body } => body,
            Write::Status { description, .. } => description,
            Write::Resolve { .. } | Write::React { .. } | Write::Delete { .. } | Write::RequestReview { .. } => {
                return false;
            }
        };
        self.api.client.token().current().is_ok_and(|token| text.contains(token.expose_secret()))
    }

    fn wait_for_gap(&self, wrote: Option<std::time::Duration>) -> bool {
        let clock = self.api.client.clock();
        let Some(next) = wrote.map(|at| at.saturating_add(self.write_gap)) else { return true };
        match next.checked_sub(clock.monotonic()) {
            Some(rest) if !rest.is_zero() => clock.sleep(rest) == Woken::Elapsed,
            _ => true,
        }
    }

    fn send(&self, write: &Write) -> Written {
        let (repo, pull, issue) = (repo(&self.at.slug), self.path(), self.issue());
        match write {
            Write::Reply { root, body } => self.reply(*root, body),
            Write::Comment { body } => {
                let sent = self.post::<wire::Made>(Method::POST, &format!("{issue}/comments"), &json!({"body": body}));
                self.made(sent, Absent::Hidden)
            }
            Write::Describe { body } => {
                let sent = self.post::<wire::Pull>(Method::PATCH, &pull, &json!({"body": body}));
                self.done(sent, Absent::Hidden)
            }
            Write::Resolve { node_id } => match self.api.resolve(node_id) {
                Ok(true) => Written::Done(None),
                Ok(false) => Written::Unclear("the answer does not say that the thread is resolved".to_owned()),
                Err(fault) => self.written(fault, Absent::Gone),
            },
            Write::React { id, content } => {
                let path = format!("{repo}/pulls/comments/{id}/reactions");
                self.done(self.post::<wire::Made>(Method::POST, &path, &json!({"content": content})), Absent::Gone)
            }
            Write::Delete { channel, id } => {
                let path = match channel {
                    Channel::Inline => format!("{repo}/pulls/comments/{id}"),
                    Channel::Conversation => format!("{repo}/issues/comments/{id}"),
                    Channel::Review => return Written::Refused("a submitted review cannot be deleted".to_owned()),
                };
                self.done(self.delete(&path), Absent::Gone)
            }
            Write::RequestReview { login } => self.request_review(login),
            Write::Status { sha, state, context, description } => {
                let description: String = description.chars().take(140).collect();
                let body = json!({"state": state, "context": context, "description": description});
                self.done(
                    self.post::<wire::Made>(Method::POST, &format!("{repo}/statuses/{sha}"), &body),
                    Absent::Hidden,
                )
            }
        }
    }

    fn reply(&self, root: u64, body: &str) -> Written {
        let path = format!("{}/comments/{root}/replies", self.path());
        match self.post::<wire::Made>(Method::POST, &path, &json!({"body": body})) {
            // The route is not there for every token; the refusal proves that nothing was made.
            Err(Fault::NotThere { .. }) => {
                let path = format!("{}/comments", self.path());
                let sent = self.post::<wire::Made>(Method::POST, &path, &json!({"body": body, "in_reply_to": root}));
                match sent {
                    Err(Fault::Failed { effect: Effect::Refused, why, .. }) => Written::Gone(why),
                    sent => self.made(sent, Absent::Gone),
                }
            }
            sent => self.made(sent, Absent::Gone),
        }
    }

    /// Requests a review and looks whether the request was registered: the forge accepts some and forgets them.
    fn request_review(&self, login: &str) -> Written {
        let path = format!("{}/requested_reviewers", self.path());
        let named = |list: &[wire::User]| list.iter().any(|u| convert::author(u).login == Login::new(login));
        match self.post::<wire::Requested>(Method::POST, &path, &json!({"reviewers": [login]})) {
            Ok(answer) if named(&answer.requested_reviewers) => Written::Done(None),
            Ok(_) => Written::NotSent(format!("the request to {login} was not registered")),
            Err(fault) => self.written(fault, Absent::Hidden),
        }
    }

    fn post<T: DeserializeOwned>(&self, method: Method, path: &str, body: &Value) -> Result<T, Fault> {
        let ask = self.ask(method, path, Some(body))?;
        match self.api.client.json::<T>(&ask)? {
            Got::Fresh(_, value) => Ok(value),
            Got::Unchanged(_) => Err(Fault::failed(&ask.name(), "status 304")),
        }
    }

    fn delete(&self, path: &str) -> Result<(), Fault> {
        let ask = self.ask(Method::DELETE, path, None)?;
        self.api.client.bare(&ask).map(|_| ())
    }

    fn ask(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Ask<'static>, Fault> {
        Ok(Ask {
            method,
            url: self.api.url(path)?,
            accept: JSON,
            body: body.map(|body| body.to_string().into_bytes()),
            condition: None,
            quota: Quota::Rest,
            kind: Kind::Write,
        })
    }

    fn made(&self, sent: Result<wire::Made, Fault>, absent: Absent) -> Written {
        match sent {
            Ok(made) => Written::Done(Some(made.id)),
            Err(fault) => self.written(fault, absent),
        }
    }

    fn done<T>(&self, sent: Result<T, Fault>, absent: Absent) -> Written {
        match sent {
            Ok(_) => Written::Done(None),
            Err(fault) => self.written(fault, absent),
        }
    }

    fn written(&self, fault: Fault, absent: Absent) -> Written {
        match fault {
            Fault::NotThere { message, .. } if absent == Absent::Gone => Written::Gone(message),
            Fault::Denied { message, .. } if locked(&message) => Written::Refused(message),
            Fault::Limited { until, .. } => Written::Limited(until),
            Fault::Failed { why, effect: Effect::None, .. } => Written::NotSent(why),
            Fault::Failed { why, effect: Effect::Refused, .. } => Written::Refused(why),
            Fault::Failed { why, effect: Effect::Unclear, .. } => Written::Unclear(why),
            Fault::NotThere { .. } | Fault::Denied { .. } | Fault::Unauthorised { .. } => {
                let account = match self.api.account() {
                    Ok(Some(account)) => format!("@{}: ", account.login),
                    _ => String::new(),
                };
                Written::Forbidden(format!("{account}{}", forbidden(fault, &self.repository())))
            }
        }
    }
}

/// What a refusal says. Where the forge names no right, it is the one that posts to pull requests need.
fn forbidden(fault: Fault, repository: &str) -> String {
    let fault = match fault {
        Fault::Denied { request, message, right: None, advice } => {
            Fault::Denied { request, message, right: Some(RIGHT.to_owned()), advice }
        }
        named => named,
    };
    match fault.tell(repository) {
        crate::ports::ForgeError::Permission { why, hint, .. } => format!("{why}; {hint}"),
        other => other.to_string(),
    }
}

/// What every post on a pull request needs: replies, reactions, the description, resolved threads.
const RIGHT: &str = "pull_requests=write";

fn locked(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    message.contains("locked") || message.contains("archived") || message.contains("read-only")
}
