//! Tests that see the program from outside.
#![expect(clippy::expect_used, clippy::panic, reason = "a test that cannot go on has failed")]

#[path = "../fake-github/forge/mod.rs"]
mod forge;

mod agent;
mod agent_run;
mod architecture;
mod bad_input;
mod canary;
mod classify;
mod classify_laws;
mod doctor;
mod fake_github;
mod faults;
mod git;
mod github;
mod github_fake;
mod hook;
mod hook_places;
mod init;
mod kill;
mod licences;
mod loopback;
mod next;
mod process;
mod prompts;
mod publish;
mod repo;
mod resolve;
mod run;
mod scene;
mod schema;
mod settle;
mod sim;
mod store;
mod support;
mod triage;
mod verify;
mod workflow;
