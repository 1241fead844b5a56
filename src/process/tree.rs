//! The table of processes: who descends from whom, and who carries the mark of a run. It reads; `sweep` ends.

use std::collections::{BTreeMap, BTreeSet};

/// One living process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Proc {
    /// Its id.
    pub(super) pid: i32,
    /// Its start, so that a reused id is another process. 0 where the system does not tell.
    pub(super) start: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Row {
    pid: i32,
    parent: i32,
    start: u64,
    dead: bool,
}

/// Returns every living descendant of a process.
pub(super) fn descendants(root: i32) -> BTreeSet<Proc> {
    below(&rows(), root)
}

fn below(rows: &[Row], root: i32) -> BTreeSet<Proc> {
    let mut children: BTreeMap<i32, Vec<&Row>> = BTreeMap::new();
    for row in rows {
        children.entry(row.parent).or_default().push(row);
    }
    let (mut found, mut met, mut next) = (BTreeSet::new(), BTreeSet::from([root]), vec![root]);
    while let Some(parent) = next.pop() {
        for row in children.get(&parent).into_iter().flatten() {
            if met.insert(row.pid) {
                next.push(row.pid);
                if !row.dead {
                    found.insert(Proc { pid: row.pid, start: row.start });
                }
            }
        }
    }
    found
}

/// Reads one line of `/proc/PID/stat`. The name in brackets may itself hold brackets and blanks.
#[cfg(any(target_os = "linux", test))]
fn stat_row(text: &str) -> Option<Row> {
    let pid = text.split_once(' ')?.0.parse().ok()?;
    let mut fields = text.rsplit_once(") ")?.1.split(' ');
    let dead = matches!(fields.next()?, "Z" | "X" | "x");
    let parent = fields.next()?.parse().ok()?;
    let start = fields.nth(17)?.parse().ok()?;
    Some(Row { pid, parent, start, dead })
}

#[cfg(target_os = "linux")]
fn pids() -> Vec<i32> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

#[cfg(target_os = "linux")]
fn rows() -> Vec<Row> {
    let read = |pid| stat_row(&String::from_utf8_lossy(&std::fs::read(format!("/proc/{pid}/stat")).ok()?));
    pids().into_iter().filter_map(read).collect()
}

/// Returns every living process, except ourselves, whose environment at its start carried this mark.
#[cfg(target_os = "linux")]
pub(super) fn marked(run_id: &str) -> BTreeSet<Proc> {
    if run_id.is_empty() {
        return BTreeSet::new();
    }
    let mark = format!("{}={run_id}", super::RUN_ID);
    let own = std::process::id().cast_signed();
    let carries = |pid: &i32| {
        std::fs::read(format!("/proc/{pid}/environ"))
            .is_ok_and(|vars| vars.split(|byte| *byte == 0).any(|var| var == mark.as_bytes()))
    };
    let pids: BTreeSet<i32> = pids().into_iter().filter(|pid| *pid != own).filter(carries).collect();
    rows()
        .into_iter()
        .filter(|row| !row.dead && pids.contains(&row.pid))
        .map(|row| Proc { pid: row.pid, start: row.start })
        .collect()
}

/// Reads one line of `ps -axo pid=,ppid=,stat=`.
#[cfg(any(not(target_os = "linux"), test))]
fn ps_row(line: &str) -> Option<Row> {
    let mut fields = line.split_whitespace();
    let (pid, parent) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    Some(Row { pid, parent, start: 0, dead: fields.next()?.starts_with('Z') })
}

/// Best effort: the list is a moment old when it arrives, and orphans have left the tree.
#[cfg(not(target_os = "linux"))]
fn rows() -> Vec<Row> {
    ps(&["-axo", "pid=,ppid=,stat="]).lines().filter_map(ps_row).collect()
}

/// Best effort: the system hides the environment of protected programs.
#[cfg(not(target_os = "linux"))]
pub(super) fn marked(run_id: &str) -> BTreeSet<Proc> {
    if run_id.is_empty() {
        return BTreeSet::new();
    }
    let mark = format!("{}={run_id}", super::RUN_ID);
    let own = std::process::id().cast_signed();
    ps(&["-axEwwo", "pid=,command="])
        .lines()
        .filter(|line| line.split_whitespace().any(|word| word == mark))
        .filter_map(|line| line.split_whitespace().next()?.parse().ok())
        .filter(|pid| *pid != own)
        .map(|pid| Proc { pid, start: 0 })
        .collect()
}

#[cfg(not(target_os = "linux"))]
fn ps(args: &[&str]) -> String {
    let output = std::process::Command::new("/bin/ps").args(args).stdin(std::process::Stdio::null()).output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(pid: i32, parent: i32, dead: bool) -> Row {
        Row { pid, parent, start: 7, dead }
    }

    #[test]
    fn stat_lines_are_read_whatever_the_name() {
        let tail = "S 41 40 40 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 98765 1 1";
        let check = |name: &str| {
            let wanted = Row { pid: 42, parent: 41, start: 98765, dead: false };
            assert_eq!(stat_row(&format!("42 ({name}) {tail}")), Some(wanted), "{name}");
        };
        ["sh", "a b", "x) R 1 (y", ")", ""].into_iter().for_each(check);
        assert!(stat_row(&format!("42 (sh) {}", tail.replacen('S', "Z", 1))).unwrap().dead);
        for cut in ["", "42", "42 (sh", "42 (sh) S", "42 (sh) S 41 40"] {
            assert_eq!(stat_row(cut), None, "{cut}");
        }
    }

    #[test]
    fn ps_lines_are_read() {
        assert_eq!(ps_row("  42    41 Ss+"), Some(Row { pid: 42, parent: 41, start: 0, dead: false }));
        assert!(ps_row("42 41 Z").unwrap().dead);
        assert_eq!(ps_row("PID PPID STAT"), None);
    }

    #[test]
    fn descendants_reach_through_the_dead_and_stop_at_loops() {
        let rows = [row(2, 1, false), row(3, 2, true), row(4, 3, false), row(1, 4, false), row(9, 8, false)];
        let found: Vec<i32> = below(&rows, 1).into_iter().map(|proc| proc.pid).collect();
        assert_eq!(found, [2, 4]);
    }

    #[test]
    fn our_own_child_is_found() {
        let mut child =
            std::process::Command::new("sleep").arg("30").env(super::super::RUN_ID, "tree-test").spawn().unwrap();
        let pid = child.id().cast_signed();
        assert!(descendants(std::process::id().cast_signed()).iter().any(|proc| proc.pid == pid));
        // The environment is the child's own only once it has been exec'd, which spawn waits for.
        assert_eq!(marked("tree-test").into_iter().map(|proc| proc.pid).collect::<Vec<_>>(), [pid]);
        assert!(marked("tree-tes").is_empty());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(marked("tree-test").is_empty());
    }
}
