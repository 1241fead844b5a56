//! Tests that see the program from outside.
mod agent;
mod process;
mod prompts;
mod verify;
