//! Identities: pull requests, comments, findings, commits, accounts. Parsed at the edge, compared exactly inside.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A text that is not the identity it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadId {
    text: String,
    wanted: &'static str,
}

impl fmt::Display for BadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not {}", self.text.escape_default(), self.wanted)
    }
}

impl std::error::Error for BadId {}

fn bad(text: &str, wanted: &'static str) -> BadId {
    BadId { text: text.chars().take(80).collect(), wanted }
}

/// The number of a pull request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PrNumber(pub u64);

impl fmt::Display for PrNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A full commit id, lower case.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Sha(String);

impl Sha {
    /// Parses 40 or 64 hexadecimal digits.
    pub fn parse(text: &str) -> Result<Self, BadId> {
        let full = matches!(text.len(), 40 | 64) && text.bytes().all(|b| b.is_ascii_hexdigit());
        if full { Ok(Self(text.to_ascii_lowercase())) } else { Err(bad(text, "a full commit id")) }
    }

    /// Returns the commit id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the ten digits shown to people.
    pub fn short(&self) -> &str {
        &self.0[..10]
    }

    /// Tells whether an abbreviated id of at least seven digits means this commit.
    pub fn has_prefix(&self, prefix: &str) -> bool {
        prefix.len() >= 7 && self.0.starts_with(&prefix.to_ascii_lowercase())
    }
}

impl fmt::Display for Sha {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for Sha {
    type Error = BadId;

    fn try_from(text: String) -> Result<Self, BadId> {
        Self::parse(&text)
    }
}

impl From<Sha> for String {
    fn from(sha: Sha) -> Self {
        sha.0
    }
}

/// An account's login without the `[bot]` suffix, case folded; the account's type is kept beside it, never in it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Login(String);

impl Login {
    /// Returns the normal form of a login as any API spells it.
    pub fn new(text: &str) -> Self {
        let text = text.trim();
        Self(text.strip_suffix("[bot]").unwrap_or(text).to_ascii_lowercase())
    }

    /// Returns the login as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<String> for Login {
    fn from(text: String) -> Self {
        Self::new(&text)
    }
}

impl From<Login> for String {
    fn from(login: Login) -> Self {
        login.0
    }
}

/// `owner/name` of a repository.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RepoSlug {
    /// The account or organisation.
    pub owner: String,
    /// The repository.
    pub name: String,
}

impl RepoSlug {
    /// Tells whether both name the same repository; the forge ignores case.
    pub fn same(&self, other: &Self) -> bool {
        self.owner.eq_ignore_ascii_case(&other.owner) && self.name.eq_ignore_ascii_case(&other.name)
    }
}

impl FromStr for RepoSlug {
    type Err = BadId;

    fn from_str(text: &str) -> Result<Self, BadId> {
        let word = |s: &str| {
            !s.is_empty()
                && s != "."
                && s != ".."
                && s.len() <= 100
                && s.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
        };
        match text.split_once('/') {
            Some((owner, name)) if word(owner) && word(name) => {
                Ok(Self { owner: owner.to_owned(), name: name.to_owned() })
            }
            _ => Err(bad(text, "a repository of the form owner/name")),
        }
    }
}

impl fmt::Display for RepoSlug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.owner, self.name)
    }
}

impl TryFrom<String> for RepoSlug {
    type Error = BadId;

    fn try_from(text: String) -> Result<Self, BadId> {
        text.parse()
    }
}

impl From<RepoSlug> for String {
    fn from(slug: RepoSlug) -> Self {
        slug.to_string()
    }
}

/// One pull request of one host.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PrRef {
    /// Host of the remote, for example `github.com`.
    pub host: String,
    /// Repository the pull request belongs to.
    pub slug: RepoSlug,
    /// Its number.
    pub number: PrNumber,
}

impl fmt::Display for PrRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.slug, self.number)
    }
}

/// Identity of a finding: where it was said, and for bodies that hold several, which one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum FindingId {
    /// `c<comment id>`: an inline comment.
    Inline(u64),
    /// `r<review id>.<n>`: the n-th finding of a review body, counted from 1.
    Review(u64, u32),
    /// `i<comment id>.<n>`: the n-th finding of a conversation comment, counted from 1.
    Conversation(u64, u32),
}

impl FindingId {
    /// Returns the forge's id of the comment or review that carries the finding.
    pub fn carrier(self) -> u64 {
        match self {
            Self::Inline(id) | Self::Review(id, _) | Self::Conversation(id, _) => id,
        }
    }
}

impl fmt::Display for FindingId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inline(id) => write!(f, "c{id}"),
            Self::Review(id, n) => write!(f, "r{id}.{n}"),
            Self::Conversation(id, n) => write!(f, "i{id}.{n}"),
        }
    }
}

impl FromStr for FindingId {
    type Err = BadId;

    fn from_str(text: &str) -> Result<Self, BadId> {
        let wanted = "a finding id such as c12, r12.1 or i12.1";
        let number = |s: &str| s.parse::<u64>().map_err(|_| bad(text, wanted));
        let pair = |s: &str| {
            let (id, n) = s.split_once('.').ok_or_else(|| bad(text, wanted))?;
            Ok((number(id)?, n.parse::<u32>().map_err(|_| bad(text, wanted))?))
        };
        match text.split_at_checked(1) {
            Some(("c", rest)) => number(rest).map(Self::Inline),
            Some(("r", rest)) => pair(rest).map(|(id, n)| Self::Review(id, n)),
            Some(("i", rest)) => pair(rest).map(|(id, n)| Self::Conversation(id, n)),
            _ => Err(bad(text, wanted)),
        }
    }
}

impl TryFrom<String> for FindingId {
    type Error = BadId;

    fn try_from(text: String) -> Result<Self, BadId> {
        text.parse()
    }
}

impl From<FindingId> for String {
    fn from(id: FindingId) -> Self {
        id.to_string()
    }
}

/// A path in the repository: bytes, as git has them. Lossy only for display.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RepoPath(Vec<u8>);

impl RepoPath {
    /// Takes a path as git gave it, relative to the top of the tree.
    pub fn from_git(bytes: impl Into<Vec<u8>>) -> Self {
        Self(bytes.into())
    }

    /// Checks a path that came from outside: relative, no `..`, no empty part, no control bytes, not inside `.git`.
    pub fn from_outside(text: &str) -> Result<Self, BadId> {
        let part = |p: &str| !p.is_empty() && p != "." && p != ".." && !p.eq_ignore_ascii_case(".git");
        let good = !text.is_empty()
            && text.len() <= 4096
            && !text.chars().any(char::is_control)
            && !text.contains('\\')
            && text.split('/').all(part);
        if good { Ok(Self(text.as_bytes().to_vec())) } else { Err(bad(text, "a path inside the repository")) }
    }

    /// Returns the bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the path as text where it is valid UTF-8.
    pub fn as_str(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }
}

impl fmt::Display for RepoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logins_of_every_api_are_one() {
        assert_eq!(Login::new("CodeRabbitAI[bot]"), Login::new("coderabbitai"));
        assert_ne!(Login::new("coderabbitai1"), Login::new("coderabbitai"));
    }

    #[test]
    fn finding_ids_round_trip() {
        for text in ["c12", "r7.2", "i9.1"] {
            let id: FindingId = text.parse().expect("a good id");
            assert_eq!(id.to_string(), text);
        }
        for text in ["", "12", "c", "cx", "r7", "r7.x", "é1", "c-1"] {
            assert!(text.parse::<FindingId>().is_err(), "{text}");
        }
    }

    #[test]
    fn slugs_hold_no_path_tricks() {
        assert!("o/r".parse::<RepoSlug>().is_ok());
        for text in ["o", "o/", "/r", "o/..", "o/r/x", "o/r x", "o/\n"] {
            assert!(text.parse::<RepoSlug>().is_err(), "{text}");
        }
    }

    #[test]
    fn fm_38_paths_from_outside_stay_inside() {
        for text in ["src/a.rs", "foo b/bar.md", "-rf", "a"] {
            assert!(RepoPath::from_outside(text).is_ok(), "{text}");
        }
        for text in
            ["", "/etc/passwd", "../x", "a/../b", "a//b", ".git/config", "a/.GIT/x", "a\0b", "a\nb", "a/", "c:\\x"]
        {
            assert!(RepoPath::from_outside(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn abbreviated_commits_need_seven_digits() {
        let sha = Sha::parse(&"ab".repeat(20)).expect("a sha");
        assert!(sha.has_prefix("ABABABA") && !sha.has_prefix("ababab") && !sha.has_prefix(""));
    }
}
