//! One outbox item: stored as sent, done, recorded. An unclear answer is never repeated before a fresh reading (R23).

use super::{EngineError, Ports};
use crate::ports::{Event, Held, Write, Written};
use crate::review::description;
use crate::review::outbox;
use crate::review::summary::{OutboxItem, Summary, Target, WriteKind, WriteState};

/// What became of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Posted {
    /// It was tried, or needed no trying.
    Tried,
    /// It surely did not leave; it may be tried again.
    NotSent(String),
    /// Nothing can be posted before the forge's limit ends.
    Limited(jiff::Timestamp),
    /// The account lacks a right without which the loop cannot go on.
    Forbidden(String),
}

/// Performs one item.
pub(super) fn post(ports: &Ports<'_>, held: &Held, summary: &mut Summary, key: &str) -> Result<Posted, EngineError> {
    // A text that was dropped may have the same key: what took its place is meant.
    let Some(item) = outbox::active(summary, key).cloned() else { return Ok(Posted::Tried) };
    let write = match prepare(ports, summary, &item)? {
        Prepared::Write(write) => write,
        Prepared::Settled(state, why) => {
            set_state(summary, key, state, &why);
            ports.store.save(held, summary)?;
            return Ok(Posted::Tried);
        }
    };
    outbox::before_write(summary, key);
    ports.store.save(held, summary)?;
    let written = ports.forge.write(&write);
    tell(ports, &item, &written);
    outbox::after_write(summary, key, &written);
    ports.store.save(held, summary)?;
    Ok(match written {
        Written::Limited(until) => Posted::Limited(until),
        Written::Forbidden(why) if item.kind != WriteKind::Resolve && item.kind != WriteKind::React => {
            Posted::Forbidden(why)
        }
        Written::NotSent(why) => Posted::NotSent(why),
        Written::Forbidden(_) | Written::Done(_) | Written::Unclear(_) | Written::Gone(_) | Written::Refused(_) => {
            Posted::Tried
        }
    })
}

enum Prepared {
    Write(Write),
    Settled(WriteState, String),
}

fn set_state(summary: &mut Summary, key: &str, state: WriteState, why: &str) {
    if let Some(item) = outbox::active_mut(summary, key) {
        item.state = state;
        why.clone_into(&mut item.why);
    }
}

fn prepare(ports: &Ports<'_>, summary: &Summary, item: &OutboxItem) -> Result<Prepared, EngineError> {
    Ok(Prepared::Write(match &item.target {
        Target::Thread { root } => Write::Reply { root: *root, body: item.body.clone() },
        Target::Reply { root, .. } => Write::Reply { root: *root, body: item.body.clone() },
        Target::Conversation => Write::Comment { body: item.body.clone() },
        Target::Inline { id } => Write::React { id: *id, content: item.body.clone() },
        Target::Own { channel, id } => Write::Delete { channel: *channel, id: *id },
        Target::Reviewer { login } => Write::RequestReview { login: login.clone() },
        Target::Description => return describe(ports, summary),
        Target::ThreadNode { node_id, .. } => {
            // A reply that came since the decision cancels it: a thread somebody writes in is not closed over his head.
            let thread = ports.forge.thread(node_id)?;
            if thread.as_ref().is_some_and(|thread| thread.resolved) {
                return Ok(Prepared::Settled(WriteState::Done, String::new()));
            }
            if !outbox::still_wanted(summary, item, thread.as_ref()) {
                let why = "somebody wrote in the thread meanwhile, or it is gone";
                return Ok(Prepared::Settled(WriteState::Dropped, why.to_owned()));
            }
            Write::Resolve { node_id: node_id.clone() }
        }
    }))
}

/// The description is read again right before it is written, and only our block changes.
fn describe(ports: &Ports<'_>, summary: &Summary) -> Result<Prepared, EngineError> {
    let body = ports.forge.description()?;
    let spliced = description::render_for(summary, &body).and_then(|block| description::splice(&body, &block));
    Ok(match spliced {
        Ok(whole) if whole == body => Prepared::Settled(WriteState::Done, String::new()),
        Ok(body) => Prepared::Write(Write::Describe { body }),
        Err(problem) => Prepared::Settled(WriteState::Failed, problem.to_string()),
    })
}

fn tell(ports: &Ports<'_>, item: &OutboxItem, written: &Written) {
    let what = match item.kind {
        WriteKind::Describe => "updated the description".to_owned(),
        WriteKind::Resolve => "resolved a thread".to_owned(),
        WriteKind::Request => "asked a reviewer to look again".to_owned(),
        WriteKind::React => "put a 👍 on a command".to_owned(),
        WriteKind::Retract => "deleted a second copy of a post".to_owned(),
        WriteKind::Argue
        | WriteKind::Stale
        | WriteKind::Defer
        | WriteKind::Fixed
        | WriteKind::Answer
        | WriteKind::Review
        | WriteKind::Command => format!("posted: {}", item.kind.as_str()),
    };
    let ids: Vec<String> = item.findings.iter().map(ToString::to_string).collect();
    let what = if ids.is_empty() { what } else { format!("{what} ({})", ids.join(", ")) };
    match written {
        Written::Done(_) => ports.reporter.tell(Event::Wrote(what)),
        Written::Unclear(why) => ports.warn(format!("{what}: no clear answer ({why}); looking before trying again")),
        Written::NotSent(why) | Written::Gone(why) | Written::Refused(why) | Written::Forbidden(why) => {
            ports.warn(format!("{what}: not done: {why}"));
        }
        Written::Limited(until) => ports.warn(format!("{what}: the forge's limit holds until {until}")),
    }
}
