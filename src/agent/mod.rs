//! The editors: one file a program, each an [`Agent`]. They start it, and say how it ended.
//!
//! What an editor claims is never believed here or elsewhere; whether it changed anything is for the repository to say.
mod aider;
mod claude;
mod codex;
mod command;
mod drive;
mod launch;
mod opencode;
mod outcome;
mod probe;
pub mod prompt;
mod session;
#[cfg(test)]
mod table;
mod transcript;

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use camino::Utf8Path;

use crate::ports::Agent;
use crate::process::clean::one_line;
use crate::process::environment::{self, Environment, Source};
use crate::process::{ProcessError, Spec, Supervisor, bounded, fresh_id};
pub use command::CommandAgent;
pub use launch::Setup;
pub use outcome::environment_failure;

/// Programs known as editors, in the order in which one is chosen.
pub const KNOWN: [&str; 4] = ["claude", "codex", "opencode", "aider"];

/// Longest time that an editor may take to tell its version.
const VERSION: Duration = Duration::from_secs(30);

/// Makes the editor of this name; `None` when none is known by it.
pub fn editor(name: &str, setup: Setup) -> Option<Box<dyn Agent>> {
    use drive::Driven;
    Some(match name {
        "claude" => Box::new(Driven { setup, dialect: claude::Claude }),
        "codex" => Box::new(Driven { setup, dialect: codex::Codex }),
        "opencode" => Box::new(Driven { setup, dialect: opencode::Opencode }),
        "aider" => Box::new(Driven { setup, dialect: aider::Aider }),
        "command" => Box::new(CommandAgent::new(setup)),
        _ => return None,
    })
}

/// Asks an editor for its version: the first line that it prints. `folder` receives its output.
pub fn version(supervisor: &Supervisor, program: &str, folder: &Utf8Path) -> Result<String, ProcessError> {
    let run_id = fresh_id();
    let mut spec = Spec::new(program, folder, folder.join("version"));
    let gh_config = folder.join("gh");
    let names = ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"].map(str::to_owned);
    let ours = environment::ours();
    let source = Source { ours: &ours, names: &names, secrets: &[], gh_config: &gh_config, run_id: &run_id };
    spec.env = Environment::new(&source).into_vars();
    spec.run_id = run_id;
    spec.args = vec!["--version".to_owned()];
    spec.wall = VERSION;
    let ended = supervisor.run(&spec, &mut |_| {}, &|| false)?;
    let text = String::from_utf8(bounded::read(&ended.stdout_path).unwrap_or_default()).unwrap_or_default();
    let line = text.lines().map(|line| one_line(line, 80)).find(|line| !line.is_empty());
    match line {
        Some(line) if ended.succeeded() => Ok(line),
        _ => Err(ProcessError::Failed { program: program.to_owned(), why: "it tells no version".to_owned() }),
    }
}

/// Returns the known editors that this `PATH` offers.
pub fn detect(path: &str) -> Vec<&'static str> {
    KNOWN.into_iter().filter(|name| offers(path, name)).collect()
}

/// Tells whether this `PATH` offers a program, or a program that is named with its folder is there.
pub fn offers(path: &str, program: &str) -> bool {
    let runs =
        |file: &Utf8Path| file.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0);
    if program.contains('/') {
        return runs(Utf8Path::new(program));
    }
    path.split(':').any(|dir| dir.starts_with('/') && runs(&Utf8Path::new(dir).join(program)))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn editors_are_found_on_the_path_and_nowhere_else() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Utf8Path::from_path(temp.path()).unwrap();
        for (name, mode) in [("codex", 0o755), ("claude", 0o644), ("opencode", 0o700)] {
            fs::write(dir.join(name), "").unwrap();
            fs::set_permissions(dir.join(name), fs::Permissions::from_mode(mode)).unwrap();
        }
        fs::create_dir(dir.join("aider")).unwrap();
        assert_eq!(detect(&format!("/no/such:{dir}")), ["codex", "opencode"]);
        assert_eq!(detect("::relative"), [""; 0]);
    }
}
