//! `pushback` settles review feedback: every open P1/P2 comment on a pull request is a failing test.
pub mod agent;
pub mod cli;
pub mod config;
pub mod engine;
pub mod git;
pub mod github;
pub mod ports;
pub mod process;
pub mod report;
pub mod review;
pub mod store;
pub mod verify;
