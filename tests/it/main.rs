//! Tests that see the program from outside.

#[path = "../fake-github/forge/mod.rs"]
mod forge;

mod fake_github;
