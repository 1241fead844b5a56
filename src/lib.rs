//! `pushback` settles review feedback: every open P1/P2 comment on a pull request is a failing test.
pub mod agent;
pub mod ports;
pub mod process;
pub mod review;
pub mod verify;
