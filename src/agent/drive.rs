//! Runs an editor that has a dialect of its own: brief in, stored output read, outcome, answers, session for the next round.
//!
//! What differs from program to program is a [`Dialect`], one file each.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::time::Duration;

use camino::Utf8Path;

use super::launch::{Setup, not_started, ran};
use super::probe::{self, Needs};
use super::session::{self, Session};
use super::transcript::{Answered, Facts, Transcript, each_line, judge};
use crate::ports::{Agent, AgentOutcome, AgentReport, Brief, Event, Reporter};
use crate::process::clean::clean;
use crate::process::{Ended, ProcessError, Quiet, Spec, Why, bounded};

/// What a call is made from.
pub(super) struct Job<'a> {
    pub(super) brief: &'a Brief,
    pub(super) model: Option<&'a str>,
    /// Session to go on in.
    pub(super) session: Option<&'a str>,
    /// Arguments that the configuration adds.
    pub(super) extra: &'a [String],
    /// Folder of the run, ours alone.
    pub(super) folder: &'a Utf8Path,
    pub(super) worktree: &'a Utf8Path,
    pub(super) prompt: &'a str,
}

/// How a program is called.
#[derive(Debug, Default)]
pub(super) struct Call {
    pub(super) args: Vec<String>,
    pub(super) env: Vec<(&'static str, String)>,
    /// Standard input; closed after it.
    pub(super) stdin: String,
}

/// A figure that an editor sums up over all runs of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sums {
    Neither,
    Tokens,
    Cost,
}

/// What one program needs, and how it speaks.
pub(super) trait Dialect {
    /// Its name, which is also its program's.
    fn name(&self) -> &'static str;
    /// Variables of ours that it gets; `*` at the end stands for any ending.
    fn passes(&self) -> &'static [&'static str];
    /// What its help has to name, so that it runs unattended.
    fn needs(&self) -> Needs;
    /// Builds the call.
    fn call(&self, job: &Job<'_>) -> io::Result<Call>;
    /// Takes a line of its output.
    fn hear(&self, seen: &mut Transcript, line: &str);
    /// Reads what it left in the folder of the run.
    fn reread(&self, _folder: &Utf8Path, _seen: &mut Transcript) {}
    /// Says in a few words what a line shows it doing.
    fn doing(&self, line: &str) -> Option<String>;
    /// Text in its output after which it should end.
    fn last_word(&self) -> Option<&'static str>;
    /// Tells whether it reports money.
    fn prices(&self) -> bool {
        true
    }
    /// Says which figure counts the whole session, not this run alone.
    fn sums(&self) -> Sums {
        Sums::Neither
    }
}

/// Variables that every editor gets: the way to the network, and where settings are.
const EVERY: &[&str] = &[
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_CACHE_HOME",
    "XDG_STATE_HOME",
];

/// An editor with a dialect.
pub(super) struct Driven<D> {
    pub(super) setup: Setup,
    pub(super) dialect: D,
}

/// One start of the program.
struct Once {
    report: AgentReport,
    /// Session that the next round may go on in.
    session: Option<Session>,
    /// It ended before its model did anything, for no reason of the environment.
    stillborn: bool,
}

impl<D: Dialect> Agent for Driven<D> {
    fn name(&self) -> &str {
        self.dialect.name()
    }

    fn run(&self, brief: &Brief, reporter: &dyn Reporter) -> AgentReport {
        let (runs, name, tree) = (&self.setup.runs, self.dialect.name(), &self.setup.worktree);
        let old = session::recall(runs, name, tree);
        let mut once = self.once(brief, old.as_ref(), reporter);
        if old.is_some() && once.stillborn {
            reporter.tell(Event::Line(format!("{name} does not know its last session any more: starting a new one")));
            let left = brief.time_left.saturating_sub(Duration::from_secs(once.report.seconds));
            let first = once.report;
            once = self.once(&Brief { time_left: left, ..brief.clone() }, None, reporter);
            once.report.seconds += first.seconds;
            once.report.swept += first.swept;
            once.report.swept_clean &= first.swept_clean;
        }
        if !once.report.outcome.environment() {
            session::keep(runs, name, once.session.as_ref());
        }
        once.report
    }
}

impl<D: Dialect> Driven<D> {
    fn once(&self, brief: &Brief, session: Option<&Session>, reporter: &dyn Reporter) -> Once {
        let failed = |outcome: AgentOutcome| Once { report: not_started(outcome), session: None, stillborn: false };
        let spec = match self.spec(brief, session.map(|session| session.id.as_str())) {
            Ok(spec) => spec,
            Err(why) => return failed(AgentOutcome::Missing(why)),
        };
        if let Some(why) = self.lacks(&spec) {
            return failed(AgentOutcome::Missing(why));
        }
        let money = brief.cost_left.filter(|_| self.dialect.prices());
        let doing = |line: &str| self.dialect.doing(line);
        let ended = match self.setup.run(self.dialect.name(), &spec, money, reporter, &doing) {
            Ok(ended) => ended,
            Err(ProcessError::Missing(why)) => return failed(AgentOutcome::Missing(why)),
            Err(error @ ProcessError::Failed { .. }) => return failed(AgentOutcome::Missing(error.to_string())),
            Err(ref error @ ProcessError::Lost { clean, .. }) => {
                let mut once = failed(AgentOutcome::Crashed(error.to_string()));
                once.report.swept_clean = clean;
                return once;
            }
        };
        self.read(brief, &spec, &ended, session)
    }

    /// Says which option of an unattended run the program does not have (FC-57).
    fn lacks(&self, spec: &Spec) -> Option<String> {
        let name = self.dialect.name();
        let missing = probe::missing(&self.setup, name, spec, self.dialect.needs());
        let why = "without which it cannot work unattended";
        (!missing.is_empty()).then(|| {
            format!(
                "{} does not know {}, {why}: update it, or name the right program in `agent.command`",
                spec.program,
                missing.join(", ")
            )
        })
    }

    fn spec(&self, brief: &Brief, session: Option<&str>) -> Result<Spec, String> {
        let setup = &self.setup;
        let brief_text = setup.prompts.fix(&brief.view).map_err(|error| error.to_string())?;
        let prompt = if session.is_some() { format!("{}{brief_text}", session::AGAIN) } else { brief_text };
        let passes: Vec<&str> = EVERY.iter().chain(self.dialect.passes()).copied().collect();
        let mut spec = setup
            .spec(brief, &passes)
            .map_err(|error| format!("could not make a folder for the run in {}: {error}", setup.runs))?;
        let (program, extra) = match setup.command.split_first() {
            Some((program, extra)) => (program.as_str(), extra),
            None => (self.dialect.name(), &[][..]),
        };
        let job = Job {
            brief,
            model: setup.model.as_deref(),
            session,
            extra,
            folder: &spec.log_dir,
            worktree: &setup.worktree,
            prompt: &prompt,
        };
        let call = self.dialect.call(&job).map_err(|error| format!("could not prepare the run: {error}"))?;
        program.clone_into(&mut spec.program);
        spec.args = call.args;
        spec.stdin = call.stdin.into_bytes();
        for (name, value) in call.env {
            spec.env.retain(|(known, _)| known != name);
            spec.env.push((name.to_owned(), value));
        }
        let marker = self.dialect.last_word().map(str::to_owned);
        spec.quiet_after = marker.map(|marker| Quiet { marker, grace: setup.grace });
        Ok(spec)
    }

    fn read(&self, brief: &Brief, spec: &Spec, ended: &Ended, former: Option<&Session>) -> Once {
        let mut seen = Transcript::default();
        let heard = each_line(&ended.stdout_path, |line| self.dialect.hear(&mut seen, line));
        self.dialect.reread(&spec.log_dir, &mut seen);
        let stderr = bounded::read(&ended.stderr_path).unwrap_or_default();
        let stderr = clean(&String::from_utf8_lossy(&stderr[stderr.len().saturating_sub(16 * 1024)..]));
        let written = brief.decisions.symlink_metadata().is_ok();
        let answer = if written { None } else { seen.decisions() };
        let facts = Facts {
            ended,
            answered: if written { Answered::Yes } else { Answered::by(answer.as_ref()) },
            stderr: &stderr,
            wall: spec.wall.as_secs(),
            now: jiff::Timestamp::now(),
        };
        let mut outcome = match heard {
            Ok(()) => judge(&seen, &facts),
            Err(error) => AgentOutcome::Unparseable(format!("its output is gone: {error}")),
        };
        if outcome == AgentOutcome::Completed
            && let Some(answer) = answer
            && let Err(error) = hand_in(&brief.decisions, &answer.to_string())
        {
            outcome = AgentOutcome::Unparseable(format!("its answer could not be written down: {error}"));
        }
        let stillborn = !seen.worked
            && seen.failure.as_ref().is_none_or(|failure| !failure.environment())
            && ended.why == Why::Exit
            && ended.code != Some(0)
            && !outcome.environment();
        let (session, tokens, cost_usd) = self.account(&seen, former);
        let session = session.filter(|_| outcome == AgentOutcome::Completed);
        let report = AgentReport { tokens, cost_usd, ..ran(outcome, ended) };
        Once { report, session, stillborn }
    }
}

impl<D: Dialect> Driven<D> {
    /// Returns the session as it is now, and the tokens and the money of this run alone.
    fn account(&self, seen: &Transcript, former: Option<&Session>) -> (Option<Session>, u64, f64) {
        let (tokens, cost_usd) = (seen.tokens, seen.cost_usd.max(0.0));
        let sums = self.dialect.sums();
        let before = |which: Sums| former.filter(|_| sums == which);
        let tokens_before = before(Sums::Tokens).map_or(0, |session| session.tokens);
        let cost_before = before(Sums::Cost).map_or(0.0, |session| session.cost_usd);
        let worktree = self.setup.worktree.clone();
        let session = seen.session.clone().map(|id| Session { id, cost_usd, tokens, worktree });
        // Less than before is a sum that began anew.
        let tokens = tokens.checked_sub(tokens_before).unwrap_or(tokens);
        let cost_usd = if cost_usd >= cost_before { cost_usd - cost_before } else { cost_usd };
        (session, tokens, cost_usd)
    }
}

/// Writes the answer where the editor should have. The folder is the editor's: no link in it is followed.
fn hand_in(path: &Utf8Path, answer: &str) -> io::Result<()> {
    let folder = path.parent().unwrap_or(path);
    if !folder.symlink_metadata()?.is_dir() {
        return Err(io::Error::other(format!("{folder} is no folder")));
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(answer.as_bytes())
}
