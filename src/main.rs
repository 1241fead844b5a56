//! The `pushback` program.
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    match args.next() {
        Some(arg) if arg == pushback::process::SUPERVISE => return pushback::process::supervise::main(),
        Some(arg) if arg == "hook" && args.eq(["pushed"]) => {
            pushback::hook::detach::leave();
            return ExitCode::SUCCESS;
        }
        _ => {}
    }
    pushback::process::conceal();
    pushback::cli::main()
}
