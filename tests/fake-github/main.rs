//! `fake-github [--port N] [--scene FILE]`: runs the fake until it is ended; the first line of output is its base URL.

mod forge;

use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    match start() {
        Ok(forge) => {
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

fn start() -> Result<forge::Forge, String> {
    let (mut port, mut scenes) = (0, Vec::new());
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} wants a value"));
        match arg.as_str() {
            "--port" => port = value()?.parse().map_err(|_| "--port wants a number")?,
            "--scene" => scenes.push(value()?),
            _ => return Err(format!("unknown argument {arg}; usage: fake-github [--port N] [--scene FILE]")),
        }
    }
    let forge = forge::Forge::start_at(port);
    for file in scenes {
        let text = std::fs::read_to_string(&file).map_err(|e| format!("{file}: {e}"))?;
        let scene: forge::Scene = serde_json::from_str(&text).map_err(|e| format!("{file}: {e}"))?;
        forge.state(|st| st.add_scene(scene)).map_err(|e| format!("{file}: {e}"))?;
    }
    Ok(forge)
}
