//! The specification as code: what review feedback means and what is owed on it.
//!
//! No input or output, no clock, no environment, no threads: every fact is an argument, every answer a value.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]
#![deny(clippy::wildcard_enum_match_arm)]

pub mod absorb;
pub mod anchor;
pub mod brief;
pub mod classify;
pub mod code;
pub mod comeback;
pub mod commands;
pub mod comment;
pub mod commit;
pub mod compose;
pub mod decision;
pub mod description;
pub mod diff;
pub mod disarm;
pub(crate) mod fence;
pub mod followup;
pub mod gate;
pub mod guard;
pub mod ids;
pub mod judge;
pub mod marker;
pub mod moves;
pub mod next;
pub mod note;
pub mod observation;
pub mod outbox;
mod outlived;
pub mod owed;
pub mod picture;
pub mod policy;
pub mod prove;
pub mod readings;
pub mod rebuild;
pub mod recheck;
pub mod reviewers;
#[cfg(test)]
pub(crate) mod sample;
pub mod severity;
pub mod shared;
pub mod status;
pub mod step;
pub mod summary;
pub mod threads;
pub mod triage;
pub mod tried;
pub mod trust;
pub mod verdict;
pub mod words;
pub mod written;
