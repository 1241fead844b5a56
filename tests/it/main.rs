//! Tests that see the program from outside.
mod process;
