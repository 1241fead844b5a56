//! What a write to the forge came to. How it is reached is the adapter's business, what follows is decided in `outbox`.

use jiff::Timestamp;

/// What a write came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Written {
    /// It took effect; the comment's id where one was made.
    Done(Option<u64>),
    /// It may have taken effect: look for the marker before anything else.
    Unclear(String),
    /// It surely took no effect and may be tried again later.
    NotSent(String),
    /// What it was about does not exist any more.
    Gone(String),
    /// The conversation is locked, or the forge refuses this text; trying again is useless.
    Refused(String),
    /// The account may not do this: names account and right.
    Forbidden(String),
    /// A limit, until then.
    Limited(Timestamp),
}
