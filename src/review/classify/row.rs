//! One comment as people pipe it in: read in one pass, of which only what counts is kept, and without a copy where the
//! text stands in the input as it is. It takes exactly what a JSON value takes.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer, StrDeserializer};
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use crate::review::comment::{AccountKind, Channel, ReviewState};

/// What stands where a comment is expected.
pub(super) enum Read<'a> {
    Comment(Box<Row<'a>>),
    /// Some other JSON.
    Other,
}

/// The members of a comment that count; of several of one name the last.
#[derive(Default)]
pub(super) struct Row<'a> {
    pub(super) id: Kept<'a>,
    login: Field<'a>,
    account: Field<'a>,
    user: Option<User<'a>>,
    author: Option<User<'a>>,
    channel: Option<Kept<'a>>,
    body: Field<'a>,
    path: Field<'a>,
    line: Field<'a>,
    original_line: Field<'a>,
    in_reply_to_id: Field<'a>,
    in_reply_to: Field<'a>,
    state: Field<'a>,
    diff_hunk: Field<'a>,
    review: Field<'a>,
    submitted_at: Field<'a>,
}

/// A value of which a text or a whole number is kept.
#[derive(Default)]
enum Field<'a> {
    #[default]
    Absent,
    Null,
    Text(Cow<'a, str>),
    Whole(u64),
    Other,
}

/// A value that is kept whatever it is.
pub(super) enum Kept<'a> {
    Text(Cow<'a, str>),
    Other(Value),
}

/// Who wrote it, where the forge says that as an object.
enum User<'a> {
    Known(Box<Account<'a>>),
    Other,
}

#[derive(Default)]
struct Account<'a> {
    login: Field<'a>,
    kind: Field<'a>,
    typename: Field<'a>,
}

impl Default for Kept<'_> {
    fn default() -> Self {
        Self::Other(Value::Null)
    }
}

impl<'a> Row<'a> {
    fn account(&self) -> Option<&Account<'a>> {
        match self.user.as_ref().or(self.author.as_ref())? {
            User::Known(account) => Some(account),
            User::Other => None,
        }
    }

    /// Returns the kind of the account, where the row says it.
    pub(super) fn account_kind(&self) -> Option<AccountKind> {
        let of_user = |user: &'_ Account<'a>| user.kind.text().or_else(|| user.typename.text()).map(account_kind);
        self.account().and_then(of_user).unwrap_or_else(|| self.account.text().and_then(account_kind))
    }

    /// Returns the text.
    pub(super) fn body(&self) -> Result<&str, &'static str> {
        match &self.body {
            Field::Text(body) => Ok(body),
            Field::Null => Ok(""),
            Field::Absent if self.account().is_some() => Ok(""),
            Field::Absent => Err("`body` is missing"),
            Field::Whole(_) | Field::Other => Err("`body` is not text"),
        }
    }

    /// Returns the channel: named, else by the shape of the forge's object.
    pub(super) fn channel(&self) -> Result<Channel, String> {
        match &self.channel {
            Some(Kept::Text(named)) => channel_of(named).ok_or_else(|| unknown(&Value::from(named.as_ref()))),
            Some(Kept::Other(named)) => Channel::deserialize(named).map_err(|_| unknown(named)),
            None if self.path.says() || self.diff_hunk.says() || self.review.says() => Ok(Channel::Inline),
            None if self.state.says() || self.submitted_at.says() => Ok(Channel::Review),
            None => Ok(Channel::Conversation),
        }
    }

    /// Returns the line, if it is one.
    pub(super) fn line(&self) -> Option<u32> {
        let line = self.line.whole().or_else(|| self.original_line.whole());
        line.and_then(|n| u32::try_from(n).ok())
    }

    fn answers(&self) -> Option<&Field<'a>> {
        [&self.in_reply_to_id, &self.in_reply_to].into_iter().find(|field| !matches!(field, Field::Absent))
    }

    /// Tells whether it answers another comment.
    pub(super) fn is_reply(&self) -> bool {
        self.answers().is_some_and(Field::says)
    }

    /// Tells whether nobody can tell. A forge's own object names the comment it answers; the short form cannot.
    pub(super) fn reply_unknown(&self) -> bool {
        self.answers().is_none() && self.account().is_none()
    }

    /// Takes out the id, the login as written, the text and the path.
    pub(super) fn into_texts(self) -> (Kept<'a>, Cow<'a, str>, Cow<'a, str>, Option<Cow<'a, str>>) {
        let of_user = match self.user.or(self.author) {
            Some(User::Known(account)) => account.login.into_text(),
            Some(User::Other) | None => None,
        };
        let login = self.login.into_text().or(of_user).unwrap_or(Cow::Borrowed("ghost"));
        let path = self.path.into_text().filter(|path| !path.is_empty());
        (self.id, login, self.body.into_text().unwrap_or_default(), path)
    }

    /// Returns the state of a review.
    pub(super) fn state(&self) -> Option<ReviewState> {
        self.state.text().map(review_state)
    }
}

fn channel_of(named: &str) -> Option<Channel> {
    Channel::deserialize(StrDeserializer::<serde::de::value::Error>::new(named)).ok()
}

fn unknown(named: &Value) -> String {
    format!("unknown channel {named}")
}

fn account_kind(text: &str) -> Option<AccountKind> {
    match text {
        "Bot" | "bot" | "App" => Some(AccountKind::Bot),
        "User" | "user" | "Person" | "person" | "Mannequin" | "Organization" => Some(AccountKind::Person),
        _ => None,
    }
}

fn review_state(text: &str) -> ReviewState {
    match text.to_ascii_uppercase().as_str() {
        "APPROVED" => ReviewState::Approved,
        "CHANGES_REQUESTED" => ReviewState::ChangesRequested,
        "COMMENTED" => ReviewState::Commented,
        "DISMISSED" => ReviewState::Dismissed,
        "PENDING" => ReviewState::Pending,
        _ => ReviewState::Unknown,
    }
}

impl<'a> Field<'a> {
    fn into_text(self) -> Option<Cow<'a, str>> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    fn whole(&self) -> Option<u64> {
        if let Self::Whole(n) = self { Some(*n) } else { None }
    }

    /// Tells whether there is a value, and not null.
    fn says(&self) -> bool {
        !matches!(self, Self::Absent | Self::Null)
    }
}

/// Names of members that count.
#[derive(PartialEq, Eq, Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum Name {
    Id,
    Login,
    Type,
    #[serde(rename = "__typename")]
    Typename,
    User,
    Author,
    Channel,
    Body,
    Path,
    Line,
    OriginalLine,
    InReplyToId,
    InReplyTo,
    State,
    DiffHunk,
    PullRequestReviewId,
    SubmittedAt,
    #[serde(other)]
    Other,
}

impl<'de> Deserialize<'de> for Read<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(ReadVisitor)
    }
}

struct ReadVisitor;

/// The kinds of JSON that mean one thing alike.
macro_rules! alike {
    ($($visit:ident: $of:ty),* => $what:expr) => {
        $(fn $visit<E: Error>(self, _: $of) -> Result<Self::Value, E> {
            Ok($what)
        })*
    };
}

impl<'de> Visitor<'de> for ReadVisitor {
    type Value = Read<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON")
    }

    alike!(visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_str: &str => Read::Other);

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(Read::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
        SKIP.visit_seq(seq).map(|_| Read::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut row = Box::new(Row::default());
        while let Some(name) = map.next_key()? {
            let place = match name {
                Name::Id => {
                    row.id = map.next_value()?;
                    continue;
                }
                Name::Channel => {
                    row.channel = Some(map.next_value()?);
                    continue;
                }
                Name::User => {
                    row.user = Some(map.next_value()?);
                    continue;
                }
                Name::Author => {
                    row.author = Some(map.next_value()?);
                    continue;
                }
                Name::DiffHunk => {
                    row.diff_hunk = map.next_value_seed(SKIP)?;
                    continue;
                }
                Name::Typename | Name::Other => {
                    map.next_value_seed(SKIP)?;
                    continue;
                }
                Name::Login => &mut row.login,
                Name::Type => &mut row.account,
                Name::Body => &mut row.body,
                Name::Path => &mut row.path,
                Name::Line => &mut row.line,
                Name::OriginalLine => &mut row.original_line,
                Name::InReplyToId => &mut row.in_reply_to_id,
                Name::InReplyTo => &mut row.in_reply_to,
                Name::State => &mut row.state,
                Name::PullRequestReviewId => &mut row.review,
                Name::SubmittedAt => &mut row.submitted_at,
            };
            *place = map.next_value_seed(TAKE)?;
        }
        Ok(Read::Comment(row))
    }
}

impl<'de> Deserialize<'de> for User<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(UserVisitor)
    }
}

struct UserVisitor;

impl<'de> Visitor<'de> for UserVisitor {
    type Value = User<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON")
    }

    alike!(visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_str: &str => User::Other);

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(User::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
        SKIP.visit_seq(seq).map(|_| User::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut account = Box::new(Account::default());
        while let Some(name) = map.next_key()? {
            let kept = [
                (Name::Login, &mut account.login),
                (Name::Type, &mut account.kind),
                (Name::Typename, &mut account.typename),
            ];
            match kept.into_iter().find(|(known, _)| *known == name) {
                Some((_, place)) => *place = map.next_value_seed(TAKE)?,
                None => _ = map.next_value_seed(SKIP)?,
            }
        }
        Ok(User::Known(account))
    }
}

/// Reads a value whatever it is, with all that makes JSON valid. A text is kept, or only passed.
#[derive(Clone, Copy)]
struct Take {
    text: bool,
}

const TAKE: Take = Take { text: true };
const SKIP: Take = Take { text: false };

impl<'de> DeserializeSeed<'de> for Take {
    type Value = Field<'de>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Take {
    type Value = Field<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON")
    }

    alike!(visit_bool: bool, visit_i64: i64, visit_f64: f64 => Field::Other);

    fn visit_u64<E: Error>(self, n: u64) -> Result<Self::Value, E> {
        Ok(Field::Whole(n))
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(Field::Null)
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Field::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(if self.text { Field::Text(Cow::Owned(text.to_owned())) } else { Field::Other })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        while seq.next_element_seed(SKIP)?.is_some() {}
        Ok(Field::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_key_seed(SKIP)?.is_some() {
            map.next_value_seed(SKIP)?;
        }
        Ok(Field::Other)
    }
}

impl<'de> Deserialize<'de> for Kept<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(KeptVisitor)
    }
}

struct KeptVisitor;

impl<'de> Visitor<'de> for KeptVisitor {
    type Value = Kept<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON")
    }

    fn visit_bool<E: Error>(self, is: bool) -> Result<Self::Value, E> {
        Ok(Kept::Other(is.into()))
    }

    fn visit_i64<E: Error>(self, n: i64) -> Result<Self::Value, E> {
        Ok(Kept::Other(n.into()))
    }

    fn visit_u64<E: Error>(self, n: u64) -> Result<Self::Value, E> {
        Ok(Kept::Other(n.into()))
    }

    fn visit_f64<E: Error>(self, n: f64) -> Result<Self::Value, E> {
        Ok(Kept::Other(n.into()))
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(Kept::default())
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Kept::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Kept::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
        Value::deserialize(SeqAccessDeserializer::new(seq)).map(Kept::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        Value::deserialize(MapAccessDeserializer::new(map)).map(Kept::Other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(text: &str) -> Box<Row<'_>> {
        match serde_json::from_str(text).expect("JSON") {
            Read::Comment(row) => row,
            Read::Other => panic!("no comment: {text}"),
        }
    }

    #[test]
    fn whatever_is_no_json_value_is_refused_also_where_nobody_looks() {
        let deep = |n: usize| format!(r#"{{"body": "x", "other": {}{}}}"#, "[".repeat(n), "]".repeat(n));
        let members = [
            r#""other": "\ud800""#,
            r#""other": {"\udc00": 1}"#,
            r#""other": [1e999]"#,
            r#""user": 01"#,
            r#""id": "\q""#,
        ];
        let rows = members.map(|member| format!(r#"{{"body": "x", {member}}}"#)).into_iter();
        for text in rows.chain([deep(100), deep(126), deep(127), deep(200), r#"{"body": "x"} x"#.to_owned()]) {
            let (read, value) = (serde_json::from_str::<Read<'_>>(&text), serde_json::from_str::<Value>(&text));
            let why = |e: serde_json::Error| e.to_string();
            assert_eq!(read.map(drop).map_err(why), value.map(drop).map_err(why), "{text}");
        }
    }

    #[test]
    fn the_last_of_several_members_counts_and_text_is_not_copied() {
        let last =
            row(r#"{"body": "a", "user": {"login": "x", "type": "Bot"}, "user": {"login": 5}, "b\u006fdy": "b"}"#);
        assert_eq!((last.body(), last.account_kind()), (Ok("b"), None));
        assert_eq!(last.into_texts().1, "ghost");
        let plain = row(r#"{"body": "plain", "path": "with \" escape"}"#);
        assert!(matches!(plain.body, Field::Text(Cow::Borrowed("plain"))));
        assert_eq!(plain.into_texts().3.as_deref(), Some("with \" escape"));
    }

    #[test]
    fn a_null_user_hides_the_author_and_a_null_answer_is_known() {
        let hidden = row(r#"{"body": null, "user": null, "author": {"login": "x"}}"#);
        assert_eq!((hidden.reply_unknown(), hidden.body()), (true, Ok("")));
        assert_eq!(hidden.into_texts().1, "ghost");
        assert!(row(r#"{"user": null}"#).body().is_err() && row(r#"{"author": {}}"#).body() == Ok(""));
        let known = row(r#"{"body": "", "in_reply_to_id": null, "in_reply_to": 5}"#);
        assert!(!known.is_reply() && !known.reply_unknown());
    }
}
