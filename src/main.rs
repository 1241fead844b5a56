//! The `pushback` program.
use std::process::ExitCode;

fn main() -> ExitCode {
    if std::env::args_os().nth(1).is_some_and(|arg| arg == pushback::process::SUPERVISE) {
        return pushback::process::supervise::main();
    }
    pushback::process::conceal();
    pushback::cli::main()
}
