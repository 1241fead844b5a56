//! The command line: arguments in, exit code out. Adapters are built here and nowhere else.

pub mod args;
mod around;
mod commands;
mod ended;
mod event;
mod failure;
mod heard;
mod look;
mod offline;
mod output;
mod place;
mod project;
mod propose;
mod starter;
mod token;
mod typed;
mod waits;
mod watched;

use std::io::IsTerminal as _;
use std::process::ExitCode;
use std::sync::Arc;

use clap::FromArgMatches as _;

use self::args::{Cli, Command, Global};
use self::failure::{Failure, Kind};
use crate::ports::{Clock, Depth};
use crate::process::clock::SystemClock;
use crate::process::signals::Signals;
use crate::report::printer::{Printer, Verbosity};

/// What every command needs.
pub(crate) struct Context {
    pub(crate) global: Global,
    pub(crate) clock: Arc<dyn Clock + Send + Sync>,
    pub(crate) signals: Signals,
    pub(crate) printer: Printer,
    pub(crate) depth: Depth,
    /// The clock of everything that asks the forge: it tells of long waits.
    pub(crate) forge_clock: Arc<dyn Clock + Send + Sync>,
}

impl Context {
    /// Returns the exit code: a signal that asked us to stop goes before everything else.
    pub(crate) fn exit(&self, exit: u8) -> u8 {
        self.signals.exit_code().unwrap_or(exit)
    }

    /// Returns the question whether a signal asked us to stop.
    pub(crate) fn stop(&self) -> std::rc::Rc<dyn Fn() -> bool> {
        let signals = self.signals.clone();
        std::rc::Rc::new(move || signals.caught().is_some())
    }
}

/// Runs the program.
pub fn main() -> ExitCode {
    let parsed = args::command().try_get_matches().and_then(|found| Cli::from_arg_matches(&found));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => {
            // clap prints help to stdout and errors to stderr; a closed pipe is no failure.
            let _ = error.print();
            typed::told_as_json(&error);
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let name = commands::name(&cli.command);
    let json = cli.global.json;
    match prepared(cli) {
        Ok(exit) => ExitCode::from(output::exit(exit)),
        Err(failure) => ExitCode::from(output::failure(name, json, &failure)),
    }
}

fn prepared(mut cli: Cli) -> Result<u8, Failure> {
    logs();
    if let Command::Gate(_) = cli.command {
        event::name_pull(&mut cli.global)?;
    }
    let internal = |why: String| Failure::new(Kind::Internal, why, "run the command again");
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // Fails only when another one was installed meanwhile, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
    let signals = Signals::install().map_err(|error| internal(format!("could not catch signals: {error}")))?;
    let verbosity = match (cli.global.quiet, cli.global.verbose) {
        (true, _) => Verbosity::Quiet,
        (false, 0) => Verbosity::Normal,
        (false, _) => Verbosity::Verbose,
    };
    let depth = match cli.command {
        Command::Gate(_) | Command::Run(_) | Command::Resolve(_) | Command::Triage => Depth::Full,
        _ => Depth::Warm,
    };
    let clock: Arc<dyn Clock + Send + Sync> = Arc::new(SystemClock::new(signals.clone()));
    let printer = Printer::new(verbosity);
    let forge_clock = Arc::new(waits::Telling::new(clock.clone(), printer.live()));
    let cx = Context { global: cli.global, clock, signals, printer, depth, forge_clock };
    let ended = commands::dispatch(&cx, cli.command);
    cx.printer.rest();
    match (ended, cx.signals.exit_code()) {
        // What was told as JSON stands: a signal that came after it changes nothing.
        (Ok(exit), _) if output::told() => Ok(exit),
        (Ok(exit), code) => Ok(code.unwrap_or(exit)),
        (Err(failure), Some(code)) if !output::told() => {
            let why = format!("stopped by a signal; {}", failure.message);
            Err(Failure::new(Kind::Interrupted(code), why, "run the same command again to go on"))
        }
        (Err(failure), _) => Err(failure),
    }
}

/// `PUSHBACK_LOG` turns on the program's own log, on stderr.
fn logs() {
    if let Ok(filter) = std::env::var("PUSHBACK_LOG") {
        let filter = tracing_subscriber::EnvFilter::new(filter);
        // A second subscriber in one process is the tests' doing.
        let _ = tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_ansi(std::io::stderr().is_terminal())
            .with_writer(std::io::stderr)
            .try_init();
    }
}
