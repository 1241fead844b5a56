//! One file a command.

mod classify;
mod config;
mod consent;
mod doctor;
mod explain;
mod gate;
mod generate;
mod hook;
mod init;
mod next;
mod publish;
mod resolve;
mod run;
mod show;
mod status;
mod triage;
mod trust;
mod view;

use super::Context;
use super::args::Command;
use super::failure::Failure;

/// Returns the command's name as JSON says it.
pub(super) fn name(command: &Command) -> &'static str {
    match command {
        Command::Init(_) => "init",
        Command::Run(_) => "run",
        Command::Status(_) => "status",
        Command::Triage => "triage",
        Command::Next(_) => "next",
        Command::Resolve(_) => "resolve",
        Command::Gate(_) => "gate",
        Command::Show(_) => "show",
        Command::Explain(_) => "explain",
        Command::Hook(_) => "hook",
        Command::Classify => "classify",
        Command::Config(_) => "config",
        Command::Completions { .. } => "completions",
        Command::Man => "man",
        Command::Doctor => "doctor",
        Command::Trust(_) => "trust",
    }
}

/// Runs a command; returns its exit code.
pub(super) fn dispatch(cx: &Context, command: Command) -> Result<u8, Failure> {
    match command {
        Command::Init(args) => init::run(cx, &args),
        Command::Run(args) => run::run(cx, &args),
        Command::Status(args) => status::run(cx, &args),
        Command::Triage => triage::run(cx),
        Command::Next(args) => next::run(cx, &args),
        Command::Resolve(args) => resolve::run(cx, &args),
        Command::Gate(args) => gate::run(cx, &args),
        Command::Show(args) => show::run(cx, &args),
        Command::Explain(args) => explain::run(cx, &args),
        Command::Hook(args) => hook::run(cx, args.command),
        Command::Classify => classify::run(cx),
        Command::Trust(args) => trust::run(cx, &args),
        Command::Doctor => doctor::run(cx),
        Command::Config(args) => config::run(cx, &args),
        Command::Completions { shell } => {
            generate::completions(shell);
            Ok(0)
        }
        Command::Man => generate::man(),
    }
}
