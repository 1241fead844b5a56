//! One comment of an observation: who speaks, with which standing, and what the rules read in it.

pub use super::classify::{Classified, Closed, Found, Kind, ReplyVerdict, Signal};
use super::comment::{Author, Channel};
use super::shared::Shared;

/// Who speaks, as far as that matters (R2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// A known review bot, by its rule file's name.
    Reviewer(String),
    /// A person with write permission, or one whom config allows.
    Writer {
        /// True when permission could not be asked and was taken from the association.
        assumed: bool,
    },
    /// Our own account, with a marker of ours.
    Ours,
    /// The pull request's author.
    PrAuthor {
        /// Whether the author has write permission.
        writes: bool,
    },
    /// Anybody else: listed, creates no work, settles nothing.
    Untrusted,
}

impl Standing {
    /// Tells whether findings of this author create work. Untagged notes of the author are already no findings.
    pub fn creates_work(&self) -> bool {
        match self {
            Self::Reviewer(_) | Self::Writer { .. } => true,
            Self::PrAuthor { writes } => *writes,
            Self::Ours | Self::Untrusted => false,
        }
    }
}

/// One comment of an observation with its standing and its reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Channel of the comment.
    pub channel: Channel,
    /// Id of the comment within its channel.
    pub id: u64,
    /// Author.
    pub author: Option<Author>,
    /// Standing of the author here; a deputised bot is untrusted.
    pub standing: Standing,
    /// What it says.
    pub said: Shared<Classified>,
}
