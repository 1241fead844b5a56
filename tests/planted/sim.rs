//! The simulation alone, so that a planted bug is found without building every other test. See `scripts/planted`.
#![expect(clippy::expect_used, clippy::panic, reason = "a test that cannot go on has failed")]

#[path = "../it/sim/mod.rs"]
mod sim;
#[path = "../it/support.rs"]
mod support;
