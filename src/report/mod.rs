//! What people and programs see: progress, tables, JSON. Decides nothing.

pub mod clean;
pub mod json;
pub mod live;
pub mod paint;
pub mod printer;
pub mod prompter;
pub mod table;
