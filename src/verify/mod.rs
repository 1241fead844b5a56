//! The verifier: runs the configured command lines and says what they prove.
//!
//! Red needs a test program that ran and failed; whatever kept it from running proves nothing. What follows from a
//! result, repeating it included, is decided elsewhere.
mod counts;
mod judge;

use std::rc::Rc;
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use secrecy::{ExposeSecret, SecretString};

pub use counts::{Counts, counts};
use judge::{Ran, judge};

use crate::ports::{Event, Reporter, Verifier, VerifyReport};
use crate::process::clean::{clean, mask_file, tail};
use crate::process::environment::{Environment, Source, ours};
use crate::process::{Ended, ProcessError, Spec, Streams, Supervisor, Why, bounded, fresh_id, runs};
use crate::review::summary::VerifyState;

/// Characters of output in a report.
const LOG: usize = 12_000;
/// Bytes of output kept of each end.
const KEEP: usize = 8 * 1024 * 1024;

/// The configured commands.
#[derive(Clone)]
pub struct Commands {
    /// Shell lines.
    pub lines: Vec<String>,
    /// Limit of each.
    pub timeout: Duration,
    /// Names of our variables that they get too.
    pub env: Vec<String>,
    /// Values that they must not get under any name, and that no report may hold.
    pub secrets: Vec<SecretString>,
    /// Where they run unless told otherwise.
    pub worktree: Utf8PathBuf,
    /// Where the output of runs is kept.
    pub runs: Utf8PathBuf,
    /// Who runs them.
    pub supervisor: Supervisor,
    /// Asked all the time: true ends them.
    pub stop: Rc<dyn Fn() -> bool>,
}

impl Verifier for Commands {
    fn verify(&self, dir: Option<&Utf8Path>, reporter: &dyn Reporter) -> VerifyReport {
        let dir = dir.unwrap_or(&self.worktree);
        let mut ran = Vec::new();
        for line in &self.lines {
            reporter.tell(Event::Line(format!("verify: {line}")));
            ran.push(self.one(line, dir));
            if (self.stop)() {
                break;
            }
        }
        let mut report = report(&ran);
        if (self.stop)() && report.state == VerifyState::Green && ran.len() < self.lines.len() {
            report.state = VerifyState::CouldNotRun;
            report.why = "interrupted".to_owned();
        }
        for secret in &self.secrets {
            mask(&mut report, secret.expose_secret());
        }
        report
    }
}

impl Commands {
    fn one(&self, line: &str, dir: &Utf8Path) -> Ran {
        let run =
            self.spec(line, dir).map_err(|why| ProcessError::Failed { program: line.to_owned(), why: why.to_string() });
        let secrets: Vec<String> = self.secrets.iter().map(|secret| secret.expose_secret().to_owned()).collect();
        let ended = run.and_then(|spec| {
            let ended = self.supervisor.run(&spec, &mut |_| {}, &*self.stop);
            if !mask_file(&spec.stdout_path(), &secrets) {
                tracing::warn!(path = %spec.stdout_path(), "a secret in the tests' output could not be taken out");
            }
            ended
        });
        match ended {
            Ok(ended) => judge(line, &ended, &output(&ended), self.timeout),
            Err(error) => Ran::could_not(line, error.to_string()),
        }
    }

    fn spec(&self, line: &str, dir: &Utf8Path) -> std::io::Result<Spec> {
        let run_id = fresh_id();
        let folder = runs::folder(&self.runs, "verify", &run_id)?;
        let gh_config = folder.join("gh");
        runs::private(&gh_config)?;
        let secrets: Vec<String> = self.secrets.iter().map(|secret| secret.expose_secret().to_owned()).collect();
        let source =
            Source { ours: &ours(), names: &self.env, secrets: &secrets, gh_config: &gh_config, run_id: &run_id };
        let mut spec = Spec::new("/bin/sh", dir, folder);
        spec.args = vec!["-c".to_owned(), line.to_owned()];
        spec.env = Environment::new(&source).into_vars();
        spec.run_id = run_id;
        spec.wall = self.timeout;
        spec.streams = Streams::Together;
        spec.keep = KEEP;
        Ok(spec)
    }
}

fn output(ended: &Ended) -> String {
    clean(&String::from_utf8_lossy(&bounded::read(&ended.stdout_path).unwrap_or_default()))
}

/// Puts the commands together: red needs one that is, green needs all.
fn report(ran: &[Ran]) -> VerifyReport {
    let state = if ran.iter().any(|one| one.state == VerifyState::Red) {
        VerifyState::Red
    } else if ran.is_empty() || ran.iter().any(|one| one.state == VerifyState::CouldNotRun) {
        VerifyState::CouldNotRun
    } else {
        VerifyState::Green
    };
    let told: Vec<&Ran> =
        ran.iter().filter(|one| state == VerifyState::Green || one.state != VerifyState::Green).collect();
    let why: Vec<&str> = told.iter().map(|one| one.why.as_str()).collect();
    let log: Vec<String> =
        told.iter().map(|one| format!("$ {}\n{}", one.line, tail(one.output.trim_end(), LOG / told.len()))).collect();
    let sum = |each: fn(&Ran) -> Option<u64>| {
        // A command that counts nothing is no test program; without any count there is none to give.
        let all: Vec<u64> = ran.iter().filter_map(each).collect();
        (!all.is_empty()).then(|| all.iter().fold(0, |sum: u64, one| sum.saturating_add(*one)))
    };
    VerifyReport {
        state,
        why: if ran.is_empty() { "no verify command is configured".to_owned() } else { why.join("; ") },
        log: log.join("\n\n"),
        tests: sum(|one| one.tests),
        skipped: sum(|one| one.skipped),
        absent: state == VerifyState::CouldNotRun && ran.iter().any(|one| one.absent),
    }
}

fn mask(report: &mut VerifyReport, secret: &str) {
    if !secret.is_empty() {
        report.log = report.log.replace(secret, "***");
        report.why = report.why.replace(secret, "***");
    }
}

/// Tells whether a run ended because we wanted it to.
fn interrupted(why: Why) -> bool {
    match why {
        Why::Interrupted | Why::Lifeline => true,
        Why::Exit | Why::Wall | Why::Silence | Why::FirstOutput | Why::Quiet => false,
    }
}
