//! `completions` and `man`: generated from the arguments.

use crate::cli::args::{command, completed};
use crate::cli::failure::{Failure, Kind};
use crate::cli::output;

pub(super) fn completions(shell: clap_complete::Shell) {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut completed(), "pushback", &mut text);
    output::stdout(&String::from_utf8_lossy(&text));
}

pub(super) fn man() -> Result<u8, Failure> {
    let mut text = Vec::new();
    let failed =
        |error: std::io::Error| Failure::new(Kind::Internal, format!("could not write the man page: {error}"), "");
    clap_mangen::Man::new(command()).render(&mut text).map_err(failed)?;
    output::stdout(&String::from_utf8_lossy(&text));
    Ok(0)
}
