//! The `command` agent: any program that reads the brief from standard input. Its exit code is all that it tells.

use camino::Utf8Path;

use super::launch::{Setup, not_started, ran};
use super::outcome::{environment_failure, last_line, late};
use crate::ports::{Agent, AgentOutcome, AgentReport, Brief, Reporter};
use crate::process::clean::one_line;
use crate::process::{Ended, ProcessError, Why};

/// Exit code of a program that could not work for a reason of its surroundings.
const TEMPORARY: i32 = 75;

/// Any program.
pub struct CommandAgent {
    setup: Setup,
}

impl CommandAgent {
    /// Uses this set-up, whose `command` names the program.
    pub fn new(setup: Setup) -> Self {
        Self { setup }
    }
}

impl Agent for CommandAgent {
    fn name(&self) -> &'static str {
        "command"
    }

    fn run(&self, brief: &Brief, reporter: &dyn Reporter) -> AgentReport {
        let Some((program, args)) = self.setup.command.split_first() else {
            return not_started(AgentOutcome::Missing("agent.command names no program".to_owned()));
        };
        let prompt = match self.setup.prompts.fix(&brief.view) {
            Ok(prompt) => prompt,
            Err(error) => return not_started(AgentOutcome::Missing(error.to_string())),
        };
        let mut spec = match self.setup.spec(brief, &[]) {
            Ok(spec) => spec,
            Err(error) => {
                let why = format!("could not make a folder for the run in {}: {error}", self.setup.runs);
                return not_started(AgentOutcome::Missing(why));
            }
        };
        spec.program.clone_from(program);
        spec.args = args.to_vec();
        spec.stdin = prompt.into_bytes();
        match self.setup.run(self.name(), &spec, None, reporter, &|line| Some(line.to_owned())) {
            Ok(ended) => ran(outcome(&ended, brief.decisions.exists(), spec.wall.as_secs()), &ended),
            Err(ProcessError::Missing(why)) => not_started(AgentOutcome::Missing(why)),
            Err(error @ ProcessError::Failed { .. }) => not_started(AgentOutcome::Missing(error.to_string())),
            Err(ref error @ ProcessError::Lost { clean, .. }) => {
                let outcome = AgentOutcome::Crashed(error.to_string());
                AgentReport { swept_clean: clean, ..not_started(outcome) }
            }
        }
    }
}

/// Tells how a run went, from its end and, where that says little, from its last words.
fn outcome(ended: &Ended, answered: bool, wall: u64) -> AgentOutcome {
    let said = said(&ended.stdout_path, &ended.stderr_path);
    let last = one_line(last_line(&said), 200);
    match ended.why {
        Why::Exit => exited(ended, &said, &last, answered),
        Why::Quiet => AgentOutcome::Completed,
        Why::Wall => late(&format!("editor timed out after {wall} s"), &last),
        Why::Silence => late("editor said nothing for too long", &last),
        Why::FirstOutput => late("editor never said anything", ""),
        Why::Interrupted | Why::Lifeline => AgentOutcome::Cancelled,
    }
}

fn exited(ended: &Ended, said: &str, last: &str, answered: bool) -> AgentOutcome {
    let now = jiff::Timestamp::now();
    let after = if last.is_empty() { String::new() } else { format!("; its last words: {last}") };
    match (ended.code, ended.signal) {
        // A program that answered has worked, whatever it says about limits.
        (Some(0), _) if answered => AgentOutcome::Completed,
        (Some(0), _) => environment_failure(last_line(said), now).unwrap_or(AgentOutcome::Completed),
        (Some(TEMPORARY), _) => environment_failure(said, now)
            .unwrap_or_else(|| AgentOutcome::Overloaded(format!("the editor could not work (exit 75){after}"))),
        (Some(code), _) => {
            let known = if answered { None } else { environment_failure(said, now) };
            known.unwrap_or_else(|| AgentOutcome::Crashed(format!("editor exited with {code}{after}")))
        }
        (None, signal) => AgentOutcome::Crashed(format!("editor was ended by signal {}{after}", signal.unwrap_or(0))),
    }
}

/// Returns the last lines of both outputs, standard error last.
fn said(stdout: &Utf8Path, stderr: &Utf8Path) -> String {
    let end = |path: &Utf8Path| {
        let bytes = crate::process::bounded::read(path).unwrap_or_default();
        crate::process::clean::clean(&String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(16 * 1024)..]))
    };
    format!("{}\n{}", end(stdout), end(stderr))
}
