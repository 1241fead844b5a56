//! Which reference transactions are pushes. Pure: everything it needs is handed in.

use crate::review::ids::Sha;

/// Where remote-tracking branches lie.
const TRACKING: &str = "refs/remotes/";
const BRANCHES: &str = "refs/heads/";

/// A remote-tracking branch that a push may have moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    /// Its new commit.
    pub sha: Sha,
    /// Its full name.
    pub refname: String,
}

/// One line that git hands to `pre-push`, as far as it is about a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Announced {
    /// Local branch, where one was named.
    pub local: Option<String>,
    /// Commit.
    pub sha: Sha,
    /// Branch of the remote.
    pub branch: String,
}

/// What the log of the ref says of the commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Log {
    /// A push brought it.
    Push,
    /// Something else did.
    Other,
    /// There is no log.
    None,
}

/// Which command moved the ref.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caller {
    /// A push, by its own words.
    Push,
    /// Not told.
    Unknown,
}

fn is_zero(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|byte| byte == b'0')
}

/// Picks what may be a push: git's push writes remote-tracking branches without naming a former value. Anything else in
/// the transaction, and a deletion, is not looked at.
pub fn moved(lines: &str) -> Vec<Moved> {
    let fits = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let (old, new, refname) = (words.next()?, words.next()?, words.next()?);
        let tracking = refname.starts_with(TRACKING) && !refname.ends_with("/HEAD");
        if !is_zero(old) || is_zero(new) || !tracking || words.next().is_some() {
            return None;
        }
        Some(Moved { sha: Sha::parse(new).ok()?, refname: refname.to_owned() })
    };
    lines.lines().filter_map(fits).collect()
}

/// Says whether what moved the ref was a push. The log decides; a caller's words count where there is no log.
pub fn is_push(log: Log, caller: Caller) -> bool {
    match (log, caller) {
        (Log::Push, Caller::Push | Caller::Unknown) => true,
        (Log::Other, Caller::Push | Caller::Unknown) => false,
        (Log::None, Caller::Push) => true,
        (Log::None, Caller::Unknown) => false,
    }
}

/// Picks the branches that a push is about to move: no tag, no deletion (FC-45).
pub fn announced(lines: &str) -> Vec<Announced> {
    let fits = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let [local, new, remote, _] = words.as_slice() else { return None };
        if is_zero(new) {
            return None;
        }
        let branch = remote.strip_prefix(BRANCHES)?.to_owned();
        let local = local.strip_prefix(BRANCHES).map(str::to_owned);
        Some(Announced { local, sha: Sha::parse(new).ok()?, branch })
    };
    lines.lines().filter_map(fits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const Z: &str = "0000000000000000000000000000000000000000";
    const A: &str = "1111111111111111111111111111111111111111";
    const B: &str = "2222222222222222222222222222222222222222";

    fn named(text: &str) -> String {
        let word = |word: &str| {
            let id = match word.trim_end() {
                "Z" => Z,
                "A" => A,
                "B" => B,
                other => other,
            };
            word.replace(word.trim_end(), id)
        };
        text.split_inclusive([' ', '\n']).map(word).collect()
    }

    #[test]
    fn transactions_that_may_be_pushes() {
        let check = |lines: &str, expected: &[&str]| {
            let found: Vec<String> = moved(&named(lines)).into_iter().map(|moved| moved.refname).collect();
            assert_eq!(found, expected, "{lines}");
        };
        check("Z A refs/remotes/origin/feature\n", &["refs/remotes/origin/feature"]);
        check("Z A refs/remotes/origin/a/b\nZ B refs/remotes/up/c", &["refs/remotes/origin/a/b", "refs/remotes/up/c"]);
        // A fetch names what was there; a deletion has no new value; the rest is local.
        check("A B refs/remotes/origin/feature\n", &[]);
        check("Z Z refs/remotes/origin/feature\n", &[]);
        check("Z A refs/heads/feature\nZ A HEAD\nZ A refs/tags/v1\nZ A ORIG_HEAD\n", &[]);
        check("Z ref:refs/remotes/origin/main refs/remotes/origin/HEAD\n", &[]);
        check("Z A refs/remotes/origin/HEAD\n", &[]);
        check("", &[]);
        check("nonsense\nZ A\nZ A refs/remotes/origin/x y\nZ zz refs/remotes/origin/x\n", &[]);
        let long = format!("{Z}{} {A}{} refs/remotes/o/x", "0".repeat(24), "1".repeat(24));
        assert_eq!(moved(&long).len(), 1, "SHA-256");
    }

    #[test]
    fn a_fetch_of_a_new_branch_is_no_push() {
        let check = |log: Log, caller: Caller, expected: bool| assert_eq!(is_push(log, caller), expected);
        check(Log::Push, Caller::Push, true);
        check(Log::Push, Caller::Unknown, true);
        check(Log::Other, Caller::Push, false);
        check(Log::Other, Caller::Unknown, false);
        check(Log::None, Caller::Push, true);
        check(Log::None, Caller::Unknown, false);
    }

    #[test]
    fn fc_45_what_pre_push_receives() {
        let check = |lines: &str, expected: &[(Option<&str>, &str)]| {
            let found = announced(&named(lines));
            let found: Vec<(Option<&str>, &str)> =
                found.iter().map(|one| (one.local.as_deref(), one.branch.as_str())).collect();
            assert_eq!(found, expected, "{lines}");
        };
        check("refs/heads/a A refs/heads/a B\n", &[(Some("a"), "a")]);
        check("refs/heads/a A refs/heads/b Z\nrefs/heads/c B refs/heads/c A\n", &[(Some("a"), "b"), (Some("c"), "c")]);
        check("HEAD A refs/heads/other Z\n", &[(None, "other")]);
        check("(delete) Z refs/heads/gone A\n", &[]);
        check("refs/tags/v1 A refs/tags/v1 Z\n", &[]);
        check("", &[]);
    }
}
