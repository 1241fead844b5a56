//! `pushback` settles review feedback: every open P1/P2 comment on a pull request is a failing test.
pub mod config;
pub mod git;
pub mod ports;
pub mod report;
pub mod review;
pub mod store;
