//! A call that was mistyped, for a program: the error object of every command, beside what is said on stderr.

use clap::error::ErrorKind;

use super::args;
use super::failure::{Failure, Kind};
use super::output;

/// Prints a usage error as JSON where `--json` was typed. Help and version are no errors.
pub(super) fn told_as_json(error: &clap::Error) {
    let typed: Vec<String> = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let ours = typed.iter().take_while(|word| *word != "--");
    let wanted = ours.clone().any(|word| word == "--json");
    if !wanted || !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return;
    }
    let command = ours.into_iter().find_map(|word| args::known(word)).unwrap_or("pushback");
    output::error(command, &failure(&error.to_string()));
}

/// The first paragraph says what is wrong, a tip how to mend it.
fn failure(rendered: &str) -> Failure {
    let first: Vec<&str> = rendered.lines().take_while(|line| !line.trim().is_empty()).map(str::trim).collect();
    let message = first.join(" ");
    let tip = rendered.lines().find_map(|line| line.trim().strip_prefix("tip: "));
    let hint = tip.map_or_else(|| "`--help` shows what can be typed".to_owned(), str::to_owned);
    Failure::new(Kind::Usage, message.trim_start_matches("error: "), hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tip_is_the_hint() {
        let said = |args: &[&str]| {
            let error = args::command().try_get_matches_from(args).expect_err("an error");
            failure(&error.to_string())
        };
        let typo = said(&["pushback", "statsu", "--json"]);
        assert!(typo.message.contains("unrecognized subcommand 'statsu'") && typo.hint.contains("status"), "{typo:?}");
        let lacks = said(&["pushback", "show", "--json"]);
        assert!(lacks.message.contains("<ID>") && lacks.hint.contains("--help"), "{lacks:?}");
    }
}
