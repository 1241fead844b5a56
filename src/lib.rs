//! `pushback` settles review feedback: every open P1/P2 comment on a pull request is a failing test.
//!
//! # Rings
//!
//! | ring | modules | may name |
//! |---|---|---|
//! | core | [`review`] | nothing of ours: no files, network, processes, environment, clock or threads |
//! | ports | [`ports`] | `review` |
//! | use cases | [`engine`] | `review`, `ports` |
//! | adapters | [`github`], [`git`], [`store`], [`agent`], [`verify`], [`report`], [`hook`], with [`process`] under them | `review`, `ports`, `process`; never each other |
//! | configuration | [`config`] | `review` |
//! | command line | [`cli`] | everything |
//!
//! `tests/it/architecture.rs` reads every path and fails on any other edge.
//!
//! # One look, one step
//!
//! [`engine::survey`] turns one complete reading into state; [`review::step::next_step`] is a pure function from what is
//! known to the one next step; [`engine::rounds`] performs it and records what happened, saving before and after every
//! outside effect. So every interleaving, crash and re-run is a table test, and the loop runs in a simulation.
//!
//! # Invariants
//!
//! 1. Never ready with an open P1/P2 or an awaited reviewer that has not finished on the head.
//! 2. Never a lost finding: an entry is settled only with a proof that still holds at the head.
//! 3. Never a double post: every post has a key, stored before it is sent, found again in its marker.
//! 4. Never a leaked token: it goes to its own origin only, and into no child, log, state, prompt or post.
pub mod agent;
pub mod cli;
pub mod config;
pub mod engine;
pub mod git;
pub mod github;
pub mod hook;
pub mod ports;
pub mod process;
pub mod report;
pub mod review;
pub mod store;
pub mod verify;
