//! `pushback` settles review feedback: every open P1/P2 comment on a pull request is a failing test.
pub mod config;
pub mod github;
pub mod ports;
pub mod report;
pub mod review;
