//! What was known before a reading, as far as it is asked while the reading is taken in. A copy of everything would cost
//! more than the reading itself.

use std::collections::BTreeMap;

use crate::review::comeback::same_words;
use crate::review::ids::FindingId;
use crate::review::severity::Severity;
use crate::review::summary::{Entry, Summary};

/// The findings as they were before this reading.
pub(in crate::review) struct Before(BTreeMap<FindingId, Then>);

struct Then {
    /// What its reviewer said of its severity.
    says: Severity,
    /// The text that the reading replaced, with the hash of what it means.
    former: Option<(String, String)>,
}

impl Before {
    pub(super) fn of(summary: &Summary) -> Self {
        let then = |entry: &Entry| {
            let says = entry.regrade.as_ref().map_or(entry.finding.severity, |earlier| earlier.from);
            (entry.finding.id, Then { says, former: None })
        };
        Self(summary.comments.values().map(then).collect())
    }

    /// Keeps the text of a finding that is about to get another one.
    pub(super) fn keep_text(&mut self, entry: &Entry) {
        if let Some(then) = self.0.get_mut(&entry.finding.id) {
            then.former.get_or_insert_with(|| (entry.body_hash.clone(), entry.text.clone()));
        }
    }

    /// Tells whether a finding was known.
    pub(in crate::review) fn knew(&self, id: FindingId) -> bool {
        self.0.contains_key(&id)
    }

    /// Returns what the reviewer of a finding said of its severity; `None` where it was not known.
    pub(in crate::review) fn says(&self, id: FindingId) -> Option<Severity> {
        self.0.get(&id).map(|then| then.says)
    }

    /// Tells whether a finding was known and means now what it meant then.
    pub(in crate::review) fn means_the_same(&self, now: &Entry) -> bool {
        self.0.get(&now.finding.id).is_some_and(|then| match &then.former {
            None => true,
            Some((hash, text)) => *hash == now.body_hash || same_words(text, &now.text),
        })
    }
}
