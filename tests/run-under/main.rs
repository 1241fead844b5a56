//! Runs a program under a supervisor, as a process that tests can kill and signal:
//!
//! ```text
//! run-under SUPERVISOR RUN_ID WORK_DIR LOG_DIR PROGRAM [ARGUMENT...]
//! ```
//!
//! It prints how the run ended, and exits with 128+n after a signal.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a helper of tests talks to its terminal")]

use std::process::ExitCode;

use pushback::process::signals::Signals;
use pushback::process::{Spec, Supervisor};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [supervisor, run_id, work, logs, program, rest @ ..] = args.as_slice() else {
        eprintln!("usage: run-under SUPERVISOR RUN_ID WORK_DIR LOG_DIR PROGRAM [ARGUMENT...]");
        return ExitCode::from(2);
    };
    let signals = match Signals::install() {
        Ok(signals) => signals,
        Err(error) => {
            eprintln!("run-under: {error}");
            return ExitCode::FAILURE;
        }
    };
    let mut spec = Spec::new(program, work.as_str(), logs.as_str());
    spec.run_id.clone_from(run_id);
    spec.args = rest.to_vec();
    spec.env = vec![
        ("PATH".to_owned(), std::env::var("PATH").unwrap_or_default()),
        ("PUSHBACK_RUN_ID".to_owned(), run_id.clone()),
    ];
    let ended =
        Supervisor::at(supervisor.as_str()).run(&spec, &mut |line| println!("{line}"), &|| signals.caught().is_some());
    match ended {
        Ok(ended) => println!("{:?} clean={}", ended.why, ended.clean),
        Err(error) => println!("{error}"),
    }
    signals.exit_code().map_or(ExitCode::SUCCESS, ExitCode::from)
}
