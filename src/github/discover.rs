//! What the command line asks before it knows the pull request: the repository, the branch's pull requests, a file of
//! the default branch, the token's rights. Decides nothing about which pull request is meant.

use std::collections::BTreeSet;
use std::thread;

use super::facts::repo;
use super::fault::{Fault, tame};
use super::observe::FOREVER;
use super::rest::{Api, part};
use super::wire;
use crate::ports::ForgeError;
use crate::review::comment::Author;
use crate::review::ids::{Login, PrNumber, RepoSlug, Sha};
use crate::review::observation::PrState;

/// A repository as the token sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryFacts {
    /// Its name now, also after a rename.
    pub slug: RepoSlug,
    /// Default branch.
    pub default_branch: String,
    /// What the token may do; `None` where the forge does not say.
    pub may: Option<TokenPermissions>,
}

/// What the token may do in a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenPermissions {
    /// Change settings and read classic branch protection.
    pub admin: bool,
    /// Push.
    pub push: bool,
    /// Label and close.
    pub triage: bool,
}

/// A pull request that a branch may mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Number.
    pub number: PrNumber,
    /// Life.
    pub state: PrState,
    /// Draft.
    pub draft: bool,
    /// Title.
    pub title: String,
    /// Author.
    pub author: Option<Author>,
    /// Head repository; `None` when the fork is gone.
    pub head_repo: Option<RepoSlug>,
    /// Head branch.
    pub head_branch: String,
    /// Head commit.
    pub head: Sha,
    /// Base branch.
    pub base: String,
}

impl Api {
    /// Reads the repository.
    pub fn repository(&self, slug: &RepoSlug) -> Result<RepositoryFacts, ForgeError> {
        let path = repo(slug);
        let wire = told(slug, self.one::<wire::Repository>(&path))?.value;
        let bad = |why: &str| ForgeError::CouldNotRead { request: format!("GET /{path}"), why: why.to_owned() };
        let name = wire.full_name.parse().map_err(|_| bad("`full_name` is no repository"))?;
        let default_branch = wire.default_branch.ok_or_else(|| bad("`default_branch` is missing"))?;
        let may = wire.permissions.map(|p| TokenPermissions {
            admin: p.admin,
            push: p.push || p.maintain || p.admin,
            triage: p.triage || p.push || p.maintain || p.admin,
        });
        Ok(RepositoryFacts { slug: name, default_branch, may })
    }

    /// Learns what the token may do in a repository; `None` where the forge does not say.
    pub fn token_permissions(&self, slug: &RepoSlug) -> Result<Option<TokenPermissions>, ForgeError> {
        self.repository(slug).map(|facts| facts.may)
    }

    /// Learns the account of the token; `None` when it could not be learned.
    pub fn token_account(&self) -> Result<Option<Author>, ForgeError> {
        self.account().map_err(|fault| fault.tell("the API"))
    }

    /// Lists the pull requests of a repository whose head is this branch of this owner, in every state, newest first.
    pub fn pulls_for(&self, slug: &RepoSlug, owner: &str, branch: &str) -> Result<Vec<Candidate>, ForgeError> {
        let path = format!("{}/pulls?head={}%3A{}&state=all&per_page=100", repo(slug), part(owner), part(branch));
        let pages = told(slug, self.list::<Vec<wire::Listed>>(&path))?.value;
        let mut found = Vec::new();
        for pull in pages.into_iter().flatten() {
            let same_owner = pull.head.repo.as_ref().and_then(|r| r.full_name.split_once('/')).map(|(o, _)| o);
            // Some servers ignore a filter they do not understand.
            if pull.head.name == branch && same_owner.is_none_or(|o| o.eq_ignore_ascii_case(owner)) {
                found.push(candidate(pull, &path)?);
            }
        }
        found.sort_by_key(|pull| std::cmp::Reverse(pull.number));
        Ok(found)
    }

    /// Returns the open pull requests that have a branch as their base.
    pub(crate) fn based_on(&self, slug: &RepoSlug, branch: &str) -> Result<Vec<u64>, Fault> {
        let path = format!("{}/pulls?base={}&state=open&per_page=100", repo(slug), part(branch));
        let pages = self.list::<Vec<wire::Listed>>(&path)?.value;
        // Some servers ignore a filter they do not understand.
        let on = pages.into_iter().flatten().filter(|pull| pull.base.name == branch && pull.state == "open");
        Ok(on.map(|pull| pull.number).collect())
    }

    /// Learns which bots wrote on the repository's last ten pull requests, and how many pull requests there were.
    pub fn newest_bots(&self, slug: &RepoSlug) -> Result<(usize, BTreeSet<Login>), ForgeError> {
        told(slug, self.ask_recent_bots(slug))
    }

    /// Tells whether a pull request is surely not there.
    pub(crate) fn pull_is_missing(&self, slug: &RepoSlug, number: PrNumber) -> bool {
        let path = format!("{}/pulls/{number}", repo(slug));
        matches!(self.one::<wire::Pull>(&path), Err(Fault::NotThere { .. }))
    }

    /// Reads a text file at a branch or commit, else at the default branch; `None` when it is not there.
    pub fn contents(&self, slug: &RepoSlug, file: &str, at: Option<&str>) -> Result<Option<String>, ForgeError> {
        let file: Vec<String> = file.split('/').map(part).collect();
        let at = at.map(|at| format!("?ref={}", part(at))).unwrap_or_default();
        let path = format!("{}/contents/{}{at}", repo(slug), file.join("/"));
        let bad = |why: &str| ForgeError::CouldNotRead { request: format!("GET /{path}"), why: why.to_owned() };
        // A file that is missing and a repository that is hidden answer alike: only the repository tells them apart. It is
        // asked beside where the file was missing the last time.
        let name = format!("missing {path}");
        let missed = self.kept::<bool>(&name, FOREVER) == Some(true);
        let (content, there) = thread::scope(|scope| {
            let there = missed.then(|| scope.spawn(|| self.repository(slug)));
            let content = self.one::<wire::Content>(&path);
            (content, there.and_then(|there| there.join().ok()))
        });
        let is_missing = matches!(content, Err(Fault::NotThere { .. }));
        if is_missing != missed && (is_missing || content.is_ok()) {
            self.keep(&name, is_missing);
        }
        let content = match content {
            Ok(seen) => seen.value,
            Err(Fault::NotThere { .. }) => {
                return there.unwrap_or_else(|| self.repository(slug)).map(|_| None);
            }
            Err(fault) => return Err(fault.tell(&slug.to_string())),
        };
        if content.kind != "file" || content.encoding.as_deref() != Some("base64") {
            return Err(bad("it is not a readable file"));
        }
        let bytes =
            base64(content.content.as_deref().unwrap_or_default()).ok_or_else(|| bad("its content is not base64"))?;
        String::from_utf8(bytes).map(Some).map_err(|_| bad("it is not UTF-8"))
    }
}

fn told<T>(slug: &RepoSlug, result: Result<T, Fault>) -> Result<T, ForgeError> {
    result.map_err(|fault| fault.tell(&slug.to_string()))
}

fn candidate(pull: wire::Listed, path: &str) -> Result<Candidate, ForgeError> {
    let head = Sha::parse(&pull.head.sha).map_err(|error| ForgeError::CouldNotRead {
        request: format!("GET /{path}"),
        why: tame(&format!("`head.sha`: {error}")),
    })?;
    let state = match (pull.merged_at, pull.state.as_str()) {
        (Some(_), _) => PrState::Merged,
        (None, "open") => PrState::Open,
        (None, _) => PrState::Closed,
    };
    Ok(Candidate {
        number: PrNumber(pull.number),
        state,
        draft: pull.draft.unwrap_or(false),
        title: pull.title.unwrap_or_default(),
        author: pull.user.as_ref().map(super::convert::author),
        head_repo: pull.head.repo.as_ref().and_then(|repo| repo.full_name.parse().ok()),
        head_branch: pull.head.name,
        head,
        base: pull.base.name,
    })
}

/// Decodes base64 with line breaks, as the contents endpoint sends it.
fn base64(text: &str) -> Option<Vec<u8>> {
    let value = |byte: u8| match byte {
        b'A'..=b'Z' => Some(u32::from(byte - b'A')),
        b'a'..=b'z' => Some(u32::from(byte - b'a') + 26),
        b'0'..=b'9' => Some(u32::from(byte - b'0') + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let clean: Vec<u8> = text.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
    let body = clean.strip_suffix(b"==").or_else(|| clean.strip_suffix(b"=")).unwrap_or(&clean);
    let mut out = Vec::with_capacity(body.len() * 3 / 4);
    for chunk in body.chunks(4) {
        let mut word = 0;
        for byte in chunk {
            word = word << 6 | value(*byte)?;
        }
        let bytes = match chunk.len() {
            4 => 3,
            3 => 2,
            2 => 1,
            _ => return None,
        };
        word <<= 6 * (4 - chunk.len());
        out.extend((0..bytes).map(|n| (word >> (16 - 8 * n) & 0xff) as u8));
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_decoded() {
        let check = |text: &str, expected: Option<&[u8]>| assert_eq!(base64(text).as_deref(), expected, "{text:?}");
        check("", Some(b""));
        check("Zg==", Some(b"f"));
        check("Zm8=", Some(b"fo"));
        check("Zm9v\nYmFy\n", Some(b"foobar"));
        check("//79", Some(&[0xff, 0xfe, 0xfd]));
        check("Z", None);
        check("Z*==", None);
    }
}
