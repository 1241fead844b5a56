//! Tests that see the program from outside.
#![expect(clippy::expect_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod architecture;
mod classify;
mod classify_laws;
mod licences;
