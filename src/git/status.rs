//! Reads `git status --porcelain=v2 -z`. Parsing only.

use crate::review::ids::{RepoPath, Sha};

/// Arguments of the command this module reads.
pub(super) const ARGS: &[&str] = &[
    "--no-optional-locks",
    "status",
    "--porcelain=v2",
    "--branch",
    "--no-ahead-behind",
    "-z",
    "--untracked-files=all",
    "--ignore-submodules=none",
    "--no-renames",
];

/// One path of the status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Item {
    /// The path.
    pub(super) path: RepoPath,
    /// State of the index against HEAD: `.` when the same.
    pub(super) index: u8,
    /// State of the worktree against the index.
    pub(super) worktree: u8,
    /// The whole record up to the path; holds modes and object ids.
    pub(super) record: Vec<u8>,
}

impl Item {
    /// Tells whether git does not know the path.
    pub(super) fn untracked(&self) -> bool {
        self.index == b'?'
    }

    /// Tells whether the index differs from HEAD here.
    pub(super) fn staged(&self) -> bool {
        !matches!(self.index, b'.' | b'?' | b'!')
    }
}

/// The status.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Status {
    /// HEAD; `None` before the first commit.
    pub(super) head: Option<Sha>,
    /// Branch; `None` when detached.
    pub(super) branch: Option<String>,
    /// Paths that differ.
    pub(super) items: Vec<Item>,
}

/// Reads the records; `Err` names the first one that is not understood.
pub(super) fn parse(data: &[u8]) -> Result<Status, String> {
    let mut status = Status::default();
    let mut records = data.split(|b| *b == 0).filter(|r| !r.is_empty());
    while let Some(record) = records.next() {
        let odd = || format!("unknown status record `{}`", String::from_utf8_lossy(record).escape_debug());
        match record {
            [b'#', b' ', rest @ ..] => header(&mut status, rest),
            [b'1', ..] => status.items.push(item(record, 8).ok_or_else(odd)?),
            [b'u', ..] => status.items.push(item(record, 10).ok_or_else(odd)?),
            [b'2', ..] => {
                status.items.push(item(record, 9).ok_or_else(odd)?);
                records.next();
            }
            [kind @ (b'?' | b'!'), b' ', path @ ..] => status.items.push(Item {
                path: RepoPath::from_git(path),
                index: *kind,
                worktree: *kind,
                record: vec![*kind],
            }),
            _ => return Err(odd()),
        }
    }
    Ok(status)
}

fn header(status: &mut Status, rest: &[u8]) {
    let text = String::from_utf8_lossy(rest);
    if let Some(oid) = text.strip_prefix("branch.oid ") {
        status.head = Sha::parse(oid).ok();
    } else if let Some(name) = text.strip_prefix("branch.head ") {
        status.branch = (name != "(detached)").then(|| name.to_owned());
    }
}

/// Splits a record with this many words before its path; the path may hold spaces.
fn item(record: &[u8], words: usize) -> Option<Item> {
    let mut parts = record.splitn(words + 1, |b| *b == b' ');
    let xy = parts.nth(1)?;
    let path = parts.nth(words - 2)?;
    let (index, worktree) = match xy {
        [index, worktree] => (*index, *worktree),
        _ => return None,
    };
    let record = record.get(..record.len() - path.len())?.to_vec();
    Some(Item { path: RepoPath::from_git(path), index, worktree, record })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fc_80_records_hold_any_path() {
        let sha = "a".repeat(40);
        let mut data = format!("# branch.oid {sha}\0# branch.head main\0").into_bytes();
        data.extend(format!("1 .M N... 100644 100644 100644 {sha} {sha} foo b/bar.md\0").as_bytes());
        data.extend(b"? a\nb\xff\0");
        data.extend(format!("u UU N... 1 1 1 1 {sha} {sha} {sha} c d\0").as_bytes());
        let status = parse(&data).expect("parses");
        let paths: Vec<_> = status.items.iter().map(|i| i.path.as_bytes().to_vec()).collect();
        assert_eq!(paths, vec![b"foo b/bar.md".to_vec(), b"a\nb\xff".to_vec(), b"c d".to_vec()]);
        assert_eq!(status.branch.as_deref(), Some("main"));
        assert_eq!(status.items.iter().map(Item::staged).collect::<Vec<_>>(), [false, false, true]);
    }

    #[test]
    fn odd_records_are_no_clean_worktree() {
        for data in [&b"1 .M\0"[..], b"x\0", b"1 .M N... 1 1 1 a b\0"] {
            assert!(parse(data).is_err(), "{data:?}");
        }
        assert_eq!(parse(b"# branch.oid (initial)\0# branch.head (detached)\0"), Ok(Status::default()));
    }
}
