//! Tests that see the program from outside.
#![expect(clippy::expect_used, clippy::panic, reason = "a test that cannot go on has failed")]

#[path = "../fake-github/forge/mod.rs"]
mod forge;

mod architecture;
mod fake_github;
mod github;
mod licences;
mod loopback;
