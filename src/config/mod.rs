//! Configuration: which keys there are, which file may set them, and the values in force with their source.

pub mod keys;
pub mod layers;
pub mod loosen;
pub mod rules;
pub mod settings;
