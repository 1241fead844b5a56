//! What one command line proved, from its end and its output.

use std::sync::LazyLock;
use std::time::Duration;

use regex::Regex;

use super::counts::{Counts, counts, says_none_found};
use super::interrupted;
use crate::process::clean::one_line;
use crate::process::{Ended, Why};
use crate::review::summary::VerifyState;

/// Lines, from the end, that may say why nothing could be run.
const LAST: usize = 15;

/// One command line and what it came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ran {
    pub(super) line: String,
    pub(super) state: VerifyState,
    pub(super) why: String,
    pub(super) output: String,
    pub(super) tests: Option<u64>,
    pub(super) skipped: Option<u64>,
    /// The shell found no program of that name.
    pub(super) absent: bool,
}

impl Ran {
    /// Returns a command that was not run.
    pub(super) fn could_not(line: &str, why: String) -> Self {
        let state = VerifyState::CouldNotRun;
        Self { line: line.to_owned(), state, why, output: String::new(), tests: None, skipped: None, absent: false }
    }
}

/// Lines that say that a tool, not the code, is what is missing.
static MISSING: LazyLock<Regex> = LazyLock::new(|| {
    const TEXT: &str = concat!(
        r"^error: no such command: ",
        r"|^error: toolchain '.*' is not installed",
        r"|^(?:/bin/)?(?:sh|bash|dash|zsh|make): (?:(?:line )?\d+: )?\S+: (?:command )?not found$",
        r"|^make: \S+: No such file or directory$",
        r"|^make: \*\*\* No rule to make target ",
        r"|^npm (?:ERR!|error) [Mm]issing script: ",
        r"|^\S*python[\d.]*: No module named \S+$",
        r"|Cannot connect to the Docker daemon",
        r"|[Cc]ould not resolve host",
        r"|No space left on device",
    );
    #[expect(clippy::expect_used, reason = "a constant pattern")]
    Regex::new(TEXT).expect("a constant pattern")
});

/// Judges how a command ended.
pub(super) fn judge(line: &str, ended: &Ended, output: &str, limit: Duration) -> Ran {
    let found = counts(output);
    // Where the middle of the output is missing, a number would be too small.
    let whole = ended.cut == 0;
    let (state, why) = verdict(line, ended, output, found, limit);
    Ran {
        line: line.to_owned(),
        state,
        why,
        output: output.to_owned(),
        tests: found.ran.filter(|_| whole),
        skipped: found.skipped.filter(|_| whole),
        absent: state == VerifyState::CouldNotRun && ended.code == Some(127) && unknown_program(output),
    }
}

fn verdict(line: &str, ended: &Ended, output: &str, found: Counts, limit: Duration) -> (VerifyState, String) {
    let line = one_line(line, 100);
    let could_not = |why: String| (VerifyState::CouldNotRun, why);
    if interrupted(ended.why) {
        return could_not(format!("`{line}` was interrupted"));
    }
    if ended.why != Why::Exit {
        return could_not(format!("`{line}` ran into its limit of {} s", limit.as_secs_f64()));
    }
    match (ended.code, ended.signal) {
        (Some(0), _) if found.nothing_ran() && ended.cut == 0 => {
            could_not(format!("`{line}` ended well, but no test ran"))
        }
        (Some(0), _) => (VerifyState::Green, passed(&line, found)),
        (Some(code @ (126 | 127)), _) => {
            could_not(format!("`{line}` could not be started (exit {code}): {}", last(output)))
        }
        (None, Some(9)) | (Some(137), _) => could_not(format!("`{line}` was killed, perhaps for want of memory")),
        (Some(_), _) if missing(output).is_some() => {
            could_not(format!("`{line}` could not run: {}", missing(output).unwrap_or_default()))
        }
        (Some(code), _) if found.ran.unwrap_or(0) == 0 && !found.uncounted && says_none_found(output) => {
            could_not(format!("`{line}` found no test to run (exit {code})"))
        }
        (Some(code), _) => (VerifyState::Red, format!("`{line}` failed (exit {code})")),
        (None, signal) => (VerifyState::Red, format!("`{line}` was ended by signal {}", signal.unwrap_or(0))),
    }
}

fn passed(line: &str, found: Counts) -> String {
    match (found.ran, found.skipped) {
        (Some(ran), Some(skipped @ 1..)) => format!("`{line}` passed, {ran} tests, {skipped} skipped"),
        (Some(ran), _) => format!("`{line}` passed, {ran} tests"),
        (None, _) => format!("`{line}` passed"),
    }
}

fn missing(output: &str) -> Option<String> {
    let lines: Vec<&str> = output.lines().collect();
    let last = &lines[lines.len().saturating_sub(LAST)..];
    last.iter().find(|line| MISSING.is_match(line)).map(|line| one_line(line, 200))
}

/// Tells whether the shell ends with the name of a program that it did not find.
fn unknown_program(output: &str) -> bool {
    let last = last(output);
    last.ends_with(": not found")
        || last.ends_with(": command not found")
        || last.ends_with(": No such file or directory")
}

fn last(output: &str) -> String {
    one_line(output.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default(), 200)
}
