//! Runs a program under a supervisor, as a process that tests can kill and signal:
//!
//! ```text
//! run-under SUPERVISOR RUN_ID WORK_DIR LOG_DIR PROGRAM [ARGUMENT...]
//! ```
//!
//! `SUPERVISOR` may be `self`: then this program is its own supervisor, after it has removed its file.
//!
//! It prints how the run ended, and exits with 128+n after a signal.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a helper of tests talks to its terminal")]

use std::process::ExitCode;

use pushback::process::signals::Signals;
use pushback::process::{SUPERVISE, Spec, Supervisor, conceal, supervise};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|arg| arg == SUPERVISE) {
        return supervise::main();
    }
    conceal();
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
    let supervisor = if supervisor == "self" {
        if let Err(error) = std::env::current_exe().and_then(std::fs::remove_file) {
            eprintln!("run-under: {error}");
            return ExitCode::FAILURE;
        }
        Supervisor::this_program()
    } else {
        Supervisor::at(supervisor.as_str())
    };
    let ended = supervisor.run(&spec, &mut |line| println!("{line}"), &|| signals.caught().is_some());
    match ended {
        Ok(ended) => println!("{:?} clean={}", ended.why, ended.clean),
        Err(error) => println!("{error}"),
    }
    signals.exit_code().map_or(ExitCode::SUCCESS, ExitCode::from)
}
