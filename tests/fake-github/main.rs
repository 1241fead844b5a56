//! `fake-github [--port N] [--scene FILE]`: runs the fake until it is ended; the first line of output is its base URL.

mod forge;

use std::io::Write;
use std::process::ExitCode;

const USAGE: &str = "\
usage: fake-github [--port N] [--scene FILE]...

Behaves like the part of GitHub that pushback uses, on loopback, until it is ended.
The first line of output is its base URL: export it as PUSHBACK_API_URL.

  --port N      listens there; any free port when unset
  --scene FILE  accounts, repositories, pull requests and scripted reviewers, as JSON

docs/fake-github.md explains scenes, faults and the control handle, with an example.";

fn main() -> ExitCode {
    match start() {
        Ok(None) => {
            let shown = writeln!(std::io::stdout(), "{USAGE}");
            if shown.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Ok(Some(forge)) => {
            let mut out = std::io::stdout();
            let shown = writeln!(out, "{}", forge.url()).and_then(|()| out.flush());
            while shown.is_ok() {
                std::thread::park();
            }
            ExitCode::FAILURE
        }
        Err(why) => {
            let _ = writeln!(std::io::stderr(), "fake-github: {why}");
            ExitCode::from(2)
        }
    }
}

fn start() -> Result<Option<forge::Forge>, String> {
    let (mut port, mut scenes) = (0, Vec::new());
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} wants a value"));
        match arg.as_str() {
            "--port" => port = value()?.parse().map_err(|_| "--port wants a number")?,
            "--scene" => scenes.push(value()?),
            "-h" | "--help" => return Ok(None),
            _ => return Err(format!("unknown argument {arg}\n{USAGE}")),
        }
    }
    let forge = forge::Forge::start_at(port);
    for file in scenes {
        let text = std::fs::read_to_string(&file).map_err(|e| format!("{file}: {e}"))?;
        let scene: forge::Scene = serde_json::from_str(&text).map_err(|e| format!("{file}: {e}"))?;
        forge.state(|st| st.add_scene(scene)).map_err(|e| format!("{file}: {e}"))?;
    }
    Ok(Some(forge))
}
