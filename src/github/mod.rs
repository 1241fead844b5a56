//! The forge: GitHub's REST and GraphQL interfaces behind [`crate::ports::Forge`].
//!
//! Decides what is a complete reading and what an answer proves. What the readings mean is `review`'s business.
mod base;
mod client;
mod convert;
mod discover;
mod etag;
mod facts;
mod fault;
mod forge;
mod graphql;
mod heard;
mod newest;
mod observe;
mod pages;
mod rest;
mod retry;
mod rights;
mod statuses;
mod token;
mod transport;
mod wire;
mod write;

pub use base::{BadBase, api_base, graphql_url, parse_base};
pub use client::Bounds;
pub use discover::{Candidate, RepositoryFacts, TokenPermissions};
pub use forge::Github;
pub use rest::{Api, Connection};
pub use rights::{READS, Right};
pub use token::{TokenSource, Wanted};
