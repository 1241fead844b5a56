//! The real classifier, which remembers what it has read: in a thousand worlds the same comments are written again and again.

use std::cell::RefCell;
use std::collections::HashMap;

use pushback::review::comment::{AccountKind, Author, Comment};
use pushback::review::note::Classified;
use pushback::review::shared::Shared;
use pushback::review::trust::Reader;

/// Readings after which it starts anew, so that it stays small.
const MOST: usize = 4_000;

#[derive(Default)]
struct Known {
    said: HashMap<String, Shared<Classified>>,
    who: HashMap<String, Option<String>>,
}

thread_local! {
    static KNOWN: RefCell<Known> = RefCell::default();
}

/// The built-in rules, asked once for each comment.
pub(crate) struct Remembered;

fn key(author: &Author, body: &str) -> String {
    [author.login.as_str(), if author.kind == AccountKind::Bot { "|b|" } else { "|p|" }, body].concat()
}

impl Reader for Remembered {
    fn reviewer_of(&self, author: &Author, body: &str) -> Option<String> {
        let key = key(author, body);
        if let Some(who) = KNOWN.with_borrow(|known| known.who.get(&key).cloned()) {
            return who;
        }
        let who = Reader::reviewer_of(crate::support::rules(), author, body);
        KNOWN.with_borrow_mut(|known| {
            if known.who.len() > MOST {
                known.who.clear();
            }
            known.who.insert(key, who.clone());
        });
        who
    }

    fn classify(&self, comment: &Comment, by_pr_author: bool) -> Shared<Classified> {
        let nobody = String::new();
        let author = comment.author.as_ref().map_or(nobody, |author| key(author, &comment.body));
        let place = comment.anchor.as_ref().map(|anchor| (&anchor.path, anchor.line, anchor.original_line));
        let around = (comment.channel, place, comment.in_reply_to.is_some(), comment.review_state, by_pr_author);
        let key = format!("{around:?}{author}");
        if let Some(said) = KNOWN.with_borrow(|known| known.said.get(&key).cloned()) {
            return said;
        }
        let said = Reader::classify(crate::support::rules(), comment, by_pr_author);
        KNOWN.with_borrow_mut(|known| {
            if known.said.len() > MOST {
                known.said.clear();
            }
            known.said.insert(key, said.clone());
        });
        said
    }
}
