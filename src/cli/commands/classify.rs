//! `classify`: review comments from stdin, offline.

use std::io::{IsTerminal, Read};

use crate::cli::failure::{Failure, Kind};
use crate::cli::{Context, look, output};
use crate::config::layers::Layers;
use crate::review::classify;

/// The most that is read from stdin.
const LIMIT: u64 = 1 << 30;

pub(super) fn run(_cx: &Context) -> Result<u8, Failure> {
    if std::io::stdin().is_terminal() {
        return Err(Failure::usage(
            "classify reads comments from stdin",
            "pipe them in: `gh api repos/O/R/pulls/N/comments | pushback classify`",
        ));
    }
    let mut bytes = Vec::new();
    let failed = |error: std::io::Error| Failure::new(Kind::Internal, format!("could not read stdin: {error}"), "");
    std::io::stdin().lock().take(LIMIT).read_to_end(&mut bytes).map_err(failed)?;
    let rules = look::rules(&Layers::default())?;
    let mut answers = output::JsonLines::default();
    let any_bad = classify::classify_each(&bytes, &rules, |line| answers.add(line));
    answers.print();
    Ok(if any_bad { 2 } else { 0 })
}
