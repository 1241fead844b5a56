//! What every editor is started with: environment, folder, limits, and the words about what it does.

use std::rc::Rc;
use std::time::{Duration, Instant};

use camino::{Utf8Path, Utf8PathBuf};
use secrecy::{ExposeSecret, SecretString};

use super::prompt::Prompts;
use crate::ports::{AgentOutcome, AgentReport, Brief, Event, Reporter};
use crate::process::clean::{mask_file, one_line};
use crate::process::environment::{Environment, Source, ours};
use crate::process::{Ended, ProcessError, Spec, Supervisor, fresh_id, runs};

/// Time between two words about what the editor does.
const TELL: Duration = Duration::from_millis(100);

/// How an editor is set up.
#[derive(Clone)]
pub struct Setup {
    /// Program and arguments, where the configuration names them. A known editor adds the arguments to its own.
    pub command: Vec<String>,
    /// Model, where the editor takes one.
    pub model: Option<String>,
    /// Command line put in front, for example a sandbox.
    pub wrap: Vec<String>,
    /// Limit of one run.
    pub timeout: Duration,
    /// Longest silence.
    pub silence: Option<Duration>,
    /// Silence after its last word that ends it.
    pub grace: Duration,
    /// Names of our variables that it gets too.
    pub env: Vec<String>,
    /// Values that it must not get under any name: the tokens in use.
    pub secrets: Vec<SecretString>,
    /// Where it works.
    pub worktree: Utf8PathBuf,
    /// Where the output of runs is kept.
    pub runs: Utf8PathBuf,
    /// Templates.
    pub prompts: Prompts,
    /// Who runs it.
    pub supervisor: Supervisor,
    /// Asked all the time: true ends it.
    pub stop: Rc<dyn Fn() -> bool>,
}

impl Setup {
    /// Prepares a run of the editor: its environment is complete, its program is still to be named.
    ///
    /// `passes` are names of ours that this editor needs; `*` at the end stands for any ending.
    pub(super) fn spec(&self, brief: &Brief, passes: &[&str]) -> std::io::Result<Spec> {
        let run_id = fresh_id();
        let folder = runs::folder(&self.runs, &format!("agent-{}", brief.round), &run_id)?;
        let gh_config = folder.join("gh");
        runs::private(&gh_config)?;
        let secrets = self.secrets();
        let ours = ours();
        let wanted = |name: &str| {
            passes.iter().any(|known| known.strip_suffix('*').map_or(*known == name, |start| name.starts_with(start)))
        };
        let passed = ours.iter().map(|(name, _)| name).filter(|name| wanted(name));
        let names: Vec<String> = self.env.iter().chain(passed).cloned().collect();
        let source = Source { ours: &ours, names: &names, secrets: &secrets, gh_config: &gh_config, run_id: &run_id };
        let mut environment = Environment::new(&source);
        environment.set("PUSHBACK_FINDINGS", brief.findings.as_str());
        environment.set("PUSHBACK_DECISIONS", brief.decisions.as_str());
        environment.set("PUSHBACK_SPEC", brief.spec.as_str());
        environment.set("PUSHBACK_ROUND", &brief.round.to_string());
        let mut spec = Spec::new("", &self.worktree, folder);
        spec.run_id = run_id;
        spec.wrap.clone_from(&self.wrap);
        spec.env = environment.into_vars();
        spec.wall = self.timeout.min(brief.time_left);
        spec.silence = self.silence;
        Ok(spec)
    }

    /// Runs it, and tells what it says. A secret it got hold of is taken out of its output and of the files it answered with.
    pub(super) fn run(
        &self,
        name: &str,
        spec: &Spec,
        cost_left: Option<f64>,
        reporter: &dyn Reporter,
        doing: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Ended, ProcessError> {
        let started = Instant::now();
        let mut told: Option<Instant> = None;
        let secrets = self.secrets();
        let mut say = |line: &str| {
            let masked = secrets.iter().fold(line.to_owned(), |line, secret| line.replace(secret.as_str(), "***"));
            let doing = doing(&masked).map(|text| one_line(&text, 200)).unwrap_or_default();
            if !doing.is_empty() && told.is_none_or(|last| last.elapsed() >= TELL) {
                told = Some(Instant::now());
                reporter.tell(Event::Agent {
                    name: name.to_owned(),
                    elapsed: started.elapsed(),
                    limit: spec.wall,
                    cost_left,
                    doing,
                });
            }
        };
        let ended = self.supervisor.run(spec, &mut say, &*self.stop);
        if let Some(words) = ended.as_ref().ok().and_then(best_effort) {
            reporter.tell(Event::Line(words.to_owned()));
        }
        let answers = spec.env.iter().filter(|(name, _)| name == "PUSHBACK_DECISIONS");
        let answers = answers.map(|(_, path)| Utf8PathBuf::from(path));
        for path in files_in(&spec.log_dir).into_iter().chain(answers) {
            if !mask_file(&path, &secrets) {
                tracing::warn!(%path, "a secret in the editor's output could not be taken out");
            }
        }
        ended
    }

    fn secrets(&self) -> Vec<String> {
        let all = self.secrets.iter().map(|secret| secret.expose_secret().to_owned());
        all.filter(|secret| !secret.is_empty()).collect()
    }
}

/// What has to be said where not every process of a run can be found.
fn best_effort(ended: &Ended) -> Option<&'static str> {
    let words = "this system does not tell every process that the editor started: what it left behind was ended as far as it was found";
    (!ended.thorough).then_some(words)
}

/// Everything that was written down of a run, the editor's own records too.
fn files_in(folder: &Utf8Path) -> Vec<Utf8PathBuf> {
    let entries = folder.read_dir_utf8().into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_dir())).map(|entry| entry.into_path()).collect()
}

/// Returns the report of an editor that was not started.
pub(super) fn not_started(outcome: AgentOutcome) -> AgentReport {
    AgentReport { outcome, seconds: 0, tokens: 0, cost_usd: 0.0, swept: 0, swept_clean: true, log: None }
}

/// Returns the report of an editor that ran and told no figures.
pub(super) fn ran(outcome: AgentOutcome, ended: &Ended) -> AgentReport {
    AgentReport {
        outcome,
        seconds: Duration::from_secs_f64(ended.seconds.max(0.0)).as_secs(),
        tokens: 0,
        cost_usd: 0.0,
        swept: ended.swept,
        swept_clean: ended.clean,
        log: Some(ended.stdout_path.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Why;

    #[test]
    fn fm_28_a_sweep_that_is_best_effort_says_so() {
        let ended = |thorough| Ended {
            why: Why::Exit,
            code: Some(0),
            signal: None,
            swept: 0,
            clean: true,
            thorough,
            cut: 0,
            stored: true,
            stdout_path: "/o".into(),
            stderr_path: "/e".into(),
            seconds: 1.0,
        };
        assert!(best_effort(&ended(false)).is_some_and(|words| words.contains("as far as it was found")));
        assert_eq!(best_effort(&ended(true)), None);
    }
}
