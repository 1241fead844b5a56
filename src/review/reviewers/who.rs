//! Who a reviewer is: one the rules know, or a listed account. It decides nothing about states.

use super::ReviewerData;
use crate::review::comment::{AccountKind, Author};
use crate::review::ids::Login;
use crate::review::note::{Note, Standing};

/// A reviewer the rules know, or a listed account they do not know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Who<'a> {
    Known(&'a ReviewerData),
    Account(Author),
}

impl Who<'_> {
    pub(super) fn name(&self) -> String {
        match self {
            Self::Known(data) => data.name.clone(),
            Self::Account(author) => author.login.as_str().to_owned(),
        }
    }

    /// Tells whether a name or alias of the configuration means this one.
    pub(super) fn is_called(&self, text: &str) -> bool {
        let login = Login::new(text);
        match self {
            Self::Known(data) => data.name.eq_ignore_ascii_case(text.trim()) || data.logins.contains(&login),
            Self::Account(author) => author.login == login,
        }
    }

    /// Tells whether a comment is this reviewer's. A deputised post of a known reviewer is nobody's.
    pub(super) fn wrote(&self, note: &Note) -> bool {
        match (self, &note.standing) {
            (Self::Known(data), Standing::Reviewer(name)) => *name == data.name,
            (
                Self::Known(_),
                Standing::Writer { .. } | Standing::Ours | Standing::PrAuthor { .. } | Standing::Untrusted,
            ) => false,
            (Self::Account(author), _) => note.author.as_ref() == Some(author),
        }
    }

    pub(super) fn is_account(&self, kind: AccountKind) -> bool {
        match self {
            Self::Known(_) => false,
            Self::Account(author) => author.kind == kind,
        }
    }
}
