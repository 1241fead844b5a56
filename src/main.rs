//! The `pushback` program.
fn main() {}
