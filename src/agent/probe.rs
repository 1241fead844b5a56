//! Whether an editor knows the options that an unattended run stands on: asked once for a program, from its own help, before
//! its first round. It costs no tokens and changes nothing. What it does not tell is not held against it.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};

use super::launch::Setup;
use crate::process::{Spec, Why};

/// Longest time that a program may take to tell its options.
const LIMIT: Duration = Duration::from_secs(30);

/// What a program's help has to name.
#[derive(Debug, Clone, Copy)]
pub(super) struct Needs {
    /// Arguments that make it tell.
    pub(super) ask: &'static [&'static str],
    /// Options, and values of them, without which it would ask a question or edit nothing.
    pub(super) words: &'static [&'static str],
}

/// A program that was asked: the same file tells the same.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Asked {
    program: Utf8PathBuf,
    size: u64,
    changed_ns: i64,
    missing: Vec<String>,
}

fn file(runs: &Utf8Path, name: &str) -> Utf8PathBuf {
    runs.join(format!("options-{name}.json"))
}

/// Returns the words that the program does not know. `spec` is the run that is about to start.
pub(super) fn missing(setup: &Setup, name: &str, spec: &Spec, needs: Needs) -> Vec<String> {
    let now = identity(spec);
    let kept = fs::read(file(&setup.runs, name)).ok().and_then(|data| serde_json::from_slice::<Asked>(&data).ok());
    if let (Some(now), Some(kept)) = (&now, kept)
        && (&kept.program, kept.size, kept.changed_ns) == (&now.program, now.size, now.changed_ns)
    {
        return kept.missing;
    }
    let Some(help) = ask(setup, spec, needs) else { return Vec::new() };
    let missing = unknown(&help, needs.words);
    if let Some(asked) = now.map(|now| Asked { missing: missing.clone(), ..now })
        && let Ok(text) = serde_json::to_vec(&asked)
    {
        // Asked again the next time.
        let _ = fs::write(file(&setup.runs, name), text);
    }
    missing
}

fn ask(setup: &Setup, spec: &Spec, needs: Needs) -> Option<String> {
    let mut probe = spec.clone();
    probe.args = needs.ask.iter().map(|word| (*word).to_owned()).collect();
    probe.stdin = Vec::new();
    probe.log_dir = spec.log_dir.join("options");
    (probe.wall, probe.silence, probe.quiet_after) = (LIMIT.min(spec.wall), None, None);
    let ended = setup.supervisor.run(&probe, &mut |_| {}, &*setup.stop).ok()?;
    let read = |path: &Utf8Path| String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned();
    let told = ended.why == Why::Exit && ended.code == Some(0);
    told.then(|| format!("{}\n{}", read(&ended.stdout_path), read(&ended.stderr_path)))
}

/// A text that names none of them is no help of this program, and tells nothing.
fn unknown(help: &str, words: &[&str]) -> Vec<String> {
    let named = |word: &str| {
        help.match_indices(word).any(|(at, _)| {
            let after = help[at + word.len()..].chars().next();
            !after.is_some_and(|next| next.is_ascii_alphanumeric() || next == '-')
        })
    };
    let missing: Vec<String> = words.iter().filter(|word| !named(word)).map(|word| (*word).to_owned()).collect();
    if missing.len() == words.len() { Vec::new() } else { missing }
}

/// Says which file would be started.
fn identity(spec: &Spec) -> Option<Asked> {
    let paths = spec.env.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_str()).unwrap_or_default();
    let program = if spec.program.contains('/') {
        spec.cwd.join(&spec.program)
    } else {
        paths.split(':').map(|dir| Utf8Path::new(dir).join(&spec.program)).find(|path| path.is_file())?
    };
    let program = program.canonicalize_utf8().ok()?;
    let data = program.metadata().ok()?;
    let changed_ns = data.mtime().saturating_mul(1_000_000_000).saturating_add(data.mtime_nsec());
    Some(Asked { program, size: data.size(), changed_ns, missing: Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fc_57_options_that_a_help_does_not_name_are_missing() {
        let check = |help: &str, wanted: &[&str]| {
            assert_eq!(unknown(help, &["--json", "--sandbox", "workspace-write"]), wanted, "{help}");
        };
        check("  --json\n  -s, --sandbox <MODE> [possible values: read-only, workspace-write]", &[]);
        check("  --json  --sandbox-dir DIR", &["--sandbox", "workspace-write"]);
        check("  --jsonl  --sandbox=MODE (workspace-write)", &["--json"]);
        check("", &[]);
        check("usage: something else --verbose", &[]);
    }
}
