//! Our side of a run: gives the order to a supervisor, passes its lines on, and returns how it ended.

use std::fmt;
use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};

use super::supervise::{LINE, RESULT, Report, STOP};
use super::{SUPERVISE, sweep, tree};

/// Bytes kept of the beginning and of the end of each output.
const KEEP: usize = 2 * 1024 * 1024;
/// How often we look whether we are asked to stop.
const TICK: Duration = Duration::from_millis(20);
/// Time a supervisor may need beyond the wall clock, or after it was asked to stop.
const PATIENCE: Duration = Duration::from_secs(15);

/// A program's last word, after which it should end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quiet {
    /// Text on standard output that says it is done.
    pub marker: String,
    /// Silence after it that ends the run.
    pub grace: Duration,
}

/// Where standard error goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Streams {
    /// Into a file of its own.
    Apart,
    /// Into standard output, in the order of writing.
    Together,
}

/// One run of one program.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    /// Mark of every process of the run; set as `PUSHBACK_RUN_ID`.
    pub run_id: String,
    /// Program, found by the `PATH` of its own environment.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Command line put in front, for example a sandbox.
    pub wrap: Vec<String>,
    /// Working directory.
    pub cwd: Utf8PathBuf,
    /// Complete environment; the mark of the run is added.
    pub env: Vec<(String, String)>,
    /// Standard input.
    #[serde(skip)]
    pub stdin: Vec<u8>,
    /// Limit of the whole run.
    pub wall: Duration,
    /// Longest time without output.
    pub silence: Option<Duration>,
    /// Longest time until the first output.
    pub first_output: Option<Duration>,
    /// Last word.
    pub quiet_after: Option<Quiet>,
    /// Where standard error goes.
    pub streams: Streams,
    /// Bytes kept of the beginning and of the end of each output.
    pub keep: usize,
    /// Folder for standard input and both outputs.
    pub log_dir: Utf8PathBuf,
}

impl Spec {
    /// Returns a run without arguments, environment and input, limited to ten minutes.
    pub fn new(program: &str, cwd: impl Into<Utf8PathBuf>, log_dir: impl Into<Utf8PathBuf>) -> Self {
        Self {
            run_id: super::fresh_id(),
            program: program.to_owned(),
            args: Vec::new(),
            wrap: Vec::new(),
            cwd: cwd.into(),
            env: Vec::new(),
            stdin: Vec::new(),
            wall: Duration::from_secs(600),
            silence: None,
            first_output: None,
            quiet_after: None,
            streams: Streams::Apart,
            keep: KEEP,
            log_dir: log_dir.into(),
        }
    }

    pub(super) fn first(&self) -> &str {
        self.wrap.first().unwrap_or(&self.program)
    }

    pub(super) fn rest(&self) -> impl Iterator<Item = &String> {
        let program = (!self.wrap.is_empty()).then_some(&self.program);
        self.wrap.iter().skip(1).chain(program).chain(&self.args)
    }

    pub(crate) fn stdin_path(&self) -> Utf8PathBuf {
        self.log_dir.join("stdin")
    }

    pub(crate) fn stdout_path(&self) -> Utf8PathBuf {
        self.log_dir.join("stdout.log")
    }

    pub(crate) fn stderr_path(&self) -> Utf8PathBuf {
        self.log_dir.join("stderr.log")
    }
}

impl fmt::Debug for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Environment and input may hold keys of the agent.
        let names: Vec<&String> = self.env.iter().map(|(name, _)| name).collect();
        f.debug_struct("Spec")
            .field("run_id", &self.run_id)
            .field("program", &self.program)
            .field("args", &self.args)
            .field("wrap", &self.wrap)
            .field("cwd", &self.cwd)
            .field("env", &names)
            .field("wall", &self.wall)
            .finish_non_exhaustive()
    }
}

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Why {
    /// The program ended by itself.
    Exit,
    /// The whole run took too long.
    Wall,
    /// It said nothing for too long.
    Silence,
    /// It never said anything.
    FirstOutput,
    /// It had said its last word and stayed.
    Quiet,
    /// We are gone.
    Lifeline,
    /// We were asked to stop.
    Interrupted,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    /// Why.
    pub why: Why,
    /// Exit code, if it exited.
    pub code: Option<i32>,
    /// Signal, if one ended it.
    pub signal: Option<i32>,
    /// Processes it left behind that were ended.
    pub swept: u32,
    /// False when some could not be ended.
    pub clean: bool,
    /// False where the system only allows a best effort at finding them (everything but Linux).
    pub thorough: bool,
    /// Bytes of output that were not kept.
    pub cut: u64,
    /// False when the output could not be stored completely.
    pub stored: bool,
    /// Standard output.
    pub stdout_path: Utf8PathBuf,
    /// Standard error; the same file when the streams are together.
    pub stderr_path: Utf8PathBuf,
    /// Wall time.
    pub seconds: f64,
}

impl Ended {
    /// Tells whether the program ended by itself with code 0.
    pub fn succeeded(&self) -> bool {
        self.why == Why::Exit && self.code == Some(0)
    }
}

/// Why a program did not run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProcessError {
    /// The program is not there or may not be started.
    #[error("{0}")]
    Missing(String),
    /// Something of ours failed.
    #[error("could not run {program}: {why}")]
    Failed {
        /// Program.
        program: String,
        /// Cause.
        why: String,
    },
    /// Its supervisor was killed or hung: how it ended is not known.
    #[error("could not follow {program} to its end: its supervisor ended without a word")]
    Lost {
        /// Program.
        program: String,
        /// True when no process of the run could be found any more.
        clean: bool,
    },
}

/// Starts supervisors.
#[derive(Debug, Clone)]
pub struct Supervisor {
    program: Utf8PathBuf,
    patience: Duration,
}

impl Default for Supervisor {
    fn default() -> Self {
        Self::this_program()
    }
}

/// What a supervisor says.
enum Said {
    Line(String),
    Result(Report),
}

impl Supervisor {
    /// Uses this very program, which must hand `__supervise` to [`super::supervise::main`].
    ///
    /// On Linux it is the file that runs now, even when another one was put in its place.
    pub fn this_program() -> Self {
        let path = if cfg!(target_os = "linux") {
            Some(Utf8PathBuf::from("/proc/self/exe"))
        } else {
            std::env::current_exe().ok().and_then(|path| Utf8PathBuf::try_from(path).ok())
        };
        Self::at(path.unwrap_or_else(|| Utf8PathBuf::from("pushback")))
    }

    /// Uses the program at this path, for tests, whose own program is not this one.
    pub fn at(program: impl Into<Utf8PathBuf>) -> Self {
        Self { program: program.into(), patience: PATIENCE }
    }

    /// Waits so long for a supervisor that should have ended its run, before it is taken for dead.
    #[must_use]
    pub fn patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Runs a program to its end, its descendants included.
    ///
    /// `on_line` gets lines of standard output for display; it may miss some. `interrupted` is asked all the time.
    pub fn run(
        &self,
        spec: &Spec,
        on_line: &mut dyn FnMut(&str),
        interrupted: &dyn Fn() -> bool,
    ) -> Result<Ended, ProcessError> {
        let failed = |why: String| ProcessError::Failed { program: spec.program.clone(), why };
        lay_out(spec).map_err(|why| failed(format!("could not write {}: {why}", spec.log_dir)))?;
        let mut child = self.start().map_err(|why| failed(format!("could not start {}: {why}", self.program)))?;
        let mut lifeline = child.stdin.take();
        let said = listen(&mut child);
        // A supervisor that is already gone is noticed below.
        let _ = tell(lifeline.as_mut(), &serde_json::to_string(spec).unwrap_or_default());
        let report = self.attend(spec, &said, &mut lifeline, on_line, interrupted);
        drop(lifeline);
        let clean = report.is_some() || rescue(&mut child, &spec.run_id);
        // It has said its result or was killed: it ends at once.
        let _ = child.wait();
        match report {
            Some(report) => ended(spec, report),
            None => Err(ProcessError::Lost { program: spec.program.clone(), clean }),
        }
    }

    /// Listens until the supervisor has said its result, or cannot any more.
    fn attend(
        &self,
        spec: &Spec,
        said: &Receiver<Said>,
        lifeline: &mut Option<ChildStdin>,
        on_line: &mut dyn FnMut(&str),
        interrupted: &dyn Fn() -> bool,
    ) -> Option<Report> {
        let mut deadline = Instant::now() + spec.wall + self.patience;
        let mut stopping = false;
        loop {
            match said.recv_timeout(TICK) {
                Ok(Said::Line(line)) => on_line(&line),
                Ok(Said::Result(report)) => return Some(report),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return None,
            }
            if !stopping && interrupted() {
                stopping = true;
                deadline = Instant::now() + self.patience;
                // If it cannot hear us it is gone, or it runs into the deadline.
                let _ = tell(lifeline.as_mut(), STOP);
            }
            if Instant::now() >= deadline {
                return None;
            }
        }
    }

    fn start(&self) -> io::Result<Child> {
        // No variable of ours: the program may be able to read its supervisor's environment.
        Command::new(&self.program)
            .arg0("pushback")
            .arg(SUPERVISE)
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
    }
}

/// Makes the folder and the file of standard input, for this account only.
fn lay_out(spec: &Spec) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(&spec.log_dir)?;
    write_private(&spec.stdin_path(), &spec.stdin)
}

fn write_private(path: &Utf8Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(bytes)
}

fn tell(lifeline: Option<&mut ChildStdin>, line: &str) -> io::Result<()> {
    if let Some(pipe) = lifeline {
        pipe.write_all(line.as_bytes())?;
        pipe.write_all(b"\n")?;
        pipe.flush()?;
    }
    Ok(())
}

fn listen(child: &mut Child) -> Receiver<Said> {
    let (sender, receiver) = sync_channel(256);
    if let Some(out) = child.stdout.take() {
        std::thread::spawn(move || {
            let mut out = BufReader::new(out);
            let mut line = Vec::new();
            while let Ok(1..) = out.read_until(b'\n', &mut line) {
                let text = String::from_utf8_lossy(&line);
                let text = text.trim_end_matches('\n');
                let said = match (text.strip_prefix(LINE), text.strip_prefix(RESULT)) {
                    (Some(line), _) => Some(Said::Line(line.to_owned())),
                    (_, Some(result)) => serde_json::from_str(result).ok().map(Said::Result),
                    _ => None,
                };
                line.clear();
                if said.is_some_and(|said| sender.send(said).is_err()) {
                    break;
                }
            }
        });
    }
    receiver
}

/// Ends a run whose supervisor died or hangs: its descendants as far as they can be found, then it. Tells whether none is left.
fn rescue(child: &mut Child, run_id: &str) -> bool {
    let supervisor = child.id().cast_signed();
    sweep::force(|| tree::descendants(supervisor));
    // It may be dead already.
    let _ = child.kill();
    sweep::sweep_marked(run_id, Instant::now()).1
}

fn ended(spec: &Spec, report: Report) -> Result<Ended, ProcessError> {
    match report {
        Report::Ran { why, code, signal, swept, clean, cut, stored, millis } => Ok(Ended {
            why,
            code,
            signal,
            swept,
            clean,
            thorough: cfg!(target_os = "linux"),
            cut,
            stored,
            stdout_path: spec.stdout_path(),
            stderr_path: match spec.streams {
                Streams::Apart => spec.stderr_path(),
                Streams::Together => spec.stdout_path(),
            },
            seconds: Duration::from_millis(millis).as_secs_f64(),
        }),
        Report::Missing(why) => Err(ProcessError::Missing(why)),
        Report::Failed(why) => Err(ProcessError::Failed { program: spec.program.clone(), why }),
    }
}
