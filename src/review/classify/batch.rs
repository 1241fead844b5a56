//! Comments that are answered together: author by author, as each author's rules are run with tables of their own, and
//! those of all authors together do not fit into the processor's near memory. An answer is made from its comment and the
//! rules alone, so that it is the same whichever comment was answered before; answers are told in the order of the rows.

use std::borrow::Cow;
use std::collections::HashMap;

use super::Rules;
use super::offline::{answer, error};
use super::row::{Kept, Read, Row};
use crate::review::comment::{AccountKind, Channel, ReviewState};
use crate::review::ids::Login;

/// Bytes of texts that are answered together.
const ROOM: usize = 16 << 20;
/// What a comment takes beside its texts.
const EACH: usize = size_of::<Waits<'_>>();

/// What counts of a comment that waits for its answer.
pub(super) struct Asked<'a> {
    pub(super) id: Kept<'a>,
    /// The place of its author among all.
    who: usize,
    /// The kind of the account, where the row says it.
    pub(super) account: Option<AccountKind>,
    pub(super) channel: Channel,
    pub(super) body: Cow<'a, str>,
    pub(super) path: Option<Cow<'a, str>>,
    pub(super) line: Option<u32>,
    pub(super) is_reply: bool,
    pub(super) reply_unknown: bool,
    pub(super) state: Option<ReviewState>,
}

/// An author.
pub(super) struct Who {
    pub(super) login: Login,
    /// What an account of this login is taken for where the row does not say it.
    pub(super) account: AccountKind,
}

impl Who {
    /// An account without a type: the suffix that only apps have, or the exact login of a known reviewer.
    fn of(written: &str, rules: &Rules) -> Self {
        let login = Login::new(written);
        let is_bot = written.trim().ends_with("[bot]") || rules.has_login(&login);
        Self { login, account: if is_bot { AccountKind::Bot } else { AccountKind::Person } }
    }
}

impl Asked<'_> {
    /// Returns what comments with the same rules and tables have in common.
    fn kin(&self) -> (usize, u8, bool) {
        // Texts of ASCII alone have tables of their own.
        (self.who, self.channel as u8, self.body.is_ascii())
    }
}

/// A row that waits.
struct Waits<'a> {
    /// The comment, or why it is none.
    asked: Result<Asked<'a>, String>,
    /// The number of the row.
    n: usize,
}

/// Rows that wait, in their order.
pub(super) struct Batch<'a, T> {
    rules: &'a Rules,
    waiting: Vec<Waits<'a>>,
    /// The places of comments that wait, each beside what makes it kin to others.
    order: Vec<((usize, u8, bool), usize)>,
    /// Every author so far, and the place of each by the login as written.
    authors: Vec<Who>,
    places: HashMap<String, usize>,
    /// Bytes that they take.
    room: usize,
    /// Whether one was an error.
    bad: bool,
    told: T,
}

impl<'a, T: FnMut(&str)> Batch<'a, T> {
    /// Takes the rules, and whoever is told the answers.
    pub(super) fn new(rules: &'a Rules, told: T) -> Self {
        let (authors, places) = (Vec::new(), HashMap::new());
        Self { rules, waiting: Vec::new(), order: Vec::new(), authors, places, room: 0, bad: false, told }
    }

    /// Takes a row, or why it is none, with its number.
    pub(super) fn ask(&mut self, read: Result<Read<'a>, String>, n: usize) {
        let asked = read.and_then(|read| match read {
            Read::Comment(row) => self.asked(*row),
            Read::Other => Err("not a comment object".to_owned()),
        });
        self.room += EACH;
        match &asked {
            Ok(asked) => {
                self.order.push((asked.kin(), self.waiting.len()));
                self.room += asked.body.len();
            }
            Err(_) => self.bad = true,
        }
        self.waiting.push(Waits { asked, n });
        if self.room >= ROOM {
            self.tell();
        }
    }

    /// Takes what counts out of a row.
    fn asked(&mut self, row: Row<'a>) -> Result<Asked<'a>, String> {
        row.body()?;
        let (channel, account, line, state) = (row.channel()?, row.account_kind(), row.line(), row.state());
        let (is_reply, reply_unknown) = (row.is_reply(), row.reply_unknown());
        let (id, login, body, path) = row.into_texts();
        let who = match self.places.get(login.as_ref()) {
            Some(place) => *place,
            None => {
                self.authors.push(Who::of(&login, self.rules));
                *self.places.entry(login.into_owned()).or_insert(self.authors.len() - 1)
            }
        };
        Ok(Asked { id, who, account, channel, body, path, line, is_reply, reply_unknown, state })
    }

    /// Answers what waits.
    fn tell(&mut self) {
        self.order.sort_unstable();
        let (mut answers, mut places) = (String::new(), vec![0..0; self.waiting.len()]);
        for (_, at) in self.order.drain(..) {
            let (Some(waits), Some(place)) = (self.waiting.get(at), places.get_mut(at)) else { continue };
            let start = answers.len();
            if let Ok(asked) = &waits.asked
                && let Some(who) = self.authors.get(asked.who)
                && let Err(why) = answer(asked, who, self.rules, &mut answers)
            {
                self.bad = true;
                answers.truncate(start);
                answers.push_str(&error(&why, waits.n));
            }
            *place = start..answers.len();
        }
        for (waits, place) in self.waiting.drain(..).zip(places) {
            match waits.asked {
                Ok(_) => (self.told)(answers.get(place).unwrap_or_default()),
                Err(why) => (self.told)(&error(&why, waits.n)),
            }
        }
        self.room = 0;
    }

    /// Answers all that is left; returns whether a row was bad.
    pub(super) fn end(mut self) -> bool {
        self.tell();
        self.bad
    }
}
