//! The supervisor: starts one program, watches its clocks, and ends everything it started, however the run ends.
//!
//! It reads one order from standard input, which it then keeps as a lifeline: when it closes, we are gone and the run
//! ends. It writes lines of progress and one result to standard output. It judges nothing.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, PipeReader, Read, Write, pipe};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use camino::Utf8Path;
use rustix::process::Pid;
use serde::{Deserialize, Serialize};

use super::capture::{Capture, Lines, Watch};
use super::spawn::{Spec, Streams, Why};
use super::sweep::{Reaper, sweep};

/// How often the clocks are looked at.
const TICK: Duration = Duration::from_millis(10);
/// Time for output that is still on its way after the end.
const DRAIN: Duration = Duration::from_secs(1);
/// Marks a line of progress.
pub(super) const LINE: &str = "l ";
/// Marks the result.
pub(super) const RESULT: &str = "r ";
/// Asks for the end.
pub(super) const STOP: &str = "stop";

/// The result, as it travels.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Report {
    /// The program ran.
    Ran {
        why: Why,
        code: Option<i32>,
        signal: Option<i32>,
        swept: u32,
        clean: bool,
        cut: u64,
        stored: bool,
        millis: u64,
    },
    /// There is no such program, or it may not be started.
    Missing(String),
    /// The run could not be prepared.
    Failed(String),
}

/// Runs the order on standard input; everything else is said on standard output.
pub fn main() -> ExitCode {
    super::conceal();
    let report = match order() {
        Ok(spec) => run(&spec),
        Err(why) => Report::Failed(format!("could not read the order: {why}")),
    };
    // Nobody hears it when we are gone; then there is nothing left to do either.
    let _ = say(RESULT, &serde_json::to_string(&report).unwrap_or_default());
    ExitCode::SUCCESS
}

fn order() -> io::Result<Spec> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    Ok(serde_json::from_str(&line)?)
}

fn say(mark: &str, text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{mark}{text}")?;
    out.flush()
}

/// Leaves the terminal's reach, adopts orphans, and lets signals pass: only the lifeline and the clocks end a run.
fn detach() -> io::Result<()> {
    // A handler, unlike ignoring, is not inherited by the program.
    let heard = Arc::new(AtomicUsize::new(0));
    for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT, signal_hook::consts::SIGHUP] {
        signal_hook::flag::register_usize(signal, Arc::clone(&heard), 1)?;
    }
    rustix::process::setsid()?;
    #[cfg(target_os = "linux")]
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    Ok(())
}

/// A pipe or file of the program, and what reads it.
struct Stream {
    reader: PipeReader,
    capture: Arc<Mutex<Capture>>,
    shown: bool,
}

fn run(spec: &Spec) -> Report {
    let started = Instant::now();
    let (command, streams) = match detach().and_then(|()| prepare(spec)) {
        Ok(prepared) => prepared,
        Err(why) => return Report::Failed(format!("could not prepare the run: {why}")),
    };
    let pid = match start(command) {
        Ok(pid) => pid,
        Err(why) => return Report::Missing(format!("could not start {}: {why}", spec.first())),
    };
    let mut reaper = Reaper::new(pid);
    let heard = Arc::new(Heard { last: AtomicU64::new(0), marked: AtomicU64::new(0) });
    let captures: Vec<_> = streams.iter().map(|stream| Arc::clone(&stream.capture)).collect();
    let listeners = listen(streams, spec, started, &heard);
    let why = watch(spec, started, &heard, &mut reaper, &lifeline());
    let swept = sweep(&mut reaper, &spec.run_id);
    // Somebody out of reach may hold a pipe open: what came until now is kept, and we go on.
    for listener in listeners {
        let _ = listener.recv_timeout(DRAIN);
    }
    let finished: Vec<_> = captures.iter().map(|capture| lock(capture).finish()).collect();
    Report::Ran {
        why,
        code: reaper.status.and_then(|status| status.exit_status()),
        signal: reaper.status.and_then(|status| status.terminating_signal()),
        swept: swept.ended,
        clean: swept.clean,
        cut: finished.iter().map(|(cut, _)| cut).sum(),
        stored: finished.iter().all(|(_, stored)| *stored),
        millis: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
    }
}

fn lock(capture: &Mutex<Capture>) -> std::sync::MutexGuard<'_, Capture> {
    capture.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Opens the program's three streams and builds its command line.
fn prepare(spec: &Spec) -> io::Result<(Command, Vec<Stream>)> {
    if !spec.cwd.is_dir() {
        return Err(io::Error::new(io::ErrorKind::NotFound, format!("{} is no folder", spec.cwd)));
    }
    let mut command = Command::new(spec.first());
    command.args(spec.rest()).current_dir(&spec.cwd).env_clear().envs(spec.env.iter().cloned());
    command.env(super::RUN_ID, &spec.run_id).process_group(0);
    command.stdin(File::open(spec.stdin_path())?);
    let (reader, writer) = pipe()?;
    let mut streams = vec![stream(reader, &spec.stdout_path(), spec, true)?];
    match spec.streams {
        Streams::Together => {
            command.stderr(writer.try_clone()?);
        }
        Streams::Apart => {
            let (reader, writer) = pipe()?;
            streams.push(stream(reader, &spec.stderr_path(), spec, false)?);
            command.stderr(writer);
        }
    }
    command.stdout(writer);
    Ok((command, streams))
}

fn stream(reader: PipeReader, path: &Utf8Path, spec: &Spec, shown: bool) -> io::Result<Stream> {
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    Ok(Stream { reader, capture: Arc::new(Mutex::new(Capture::new(file, spec.keep, spec.keep))), shown })
}

/// Starts the program. Our copies of its ends of the pipes go with the command, so that reading ends with the last writer.
fn start(mut command: Command) -> io::Result<Pid> {
    // The handle is let go: `Reaper` collects everybody.
    let child = command.spawn()?;
    Pid::from_raw(child.id().cast_signed()).ok_or_else(|| io::Error::other("it has no process id"))
}

/// When output was heard, in milliseconds since the start; 0 is never.
struct Heard {
    last: AtomicU64,
    marked: AtomicU64,
}

fn since(started: Instant) -> u64 {
    u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX).max(1)
}

/// Reads every stream, and shows lines, in threads of their own. Each receiver ends when its thread does.
fn listen(streams: Vec<Stream>, spec: &Spec, started: Instant, heard: &Arc<Heard>) -> Vec<Receiver<()>> {
    let (lines, shown) = sync_channel::<String>(64);
    let mut threads = Vec::new();
    for stream in streams {
        let watch = Watch::new(spec.quiet_after.as_ref().map_or("", |quiet| quiet.marker.as_str()));
        let (heard, lines) = (Arc::clone(heard), lines.clone());
        threads.push(thread(move || read(stream, watch, started, &heard, &lines)));
    }
    threads.push(thread(move || {
        for line in shown {
            if say(LINE, &line).is_err() {
                break;
            }
        }
    }));
    threads
}

fn thread(work: impl FnOnce() + Send + 'static) -> Receiver<()> {
    let (alive, ended) = channel();
    std::thread::spawn(move || {
        let _alive: Sender<()> = alive;
        work();
    });
    ended
}

fn read(mut stream: Stream, mut watch: Watch, started: Instant, heard: &Heard, lines: &SyncSender<String>) {
    let mut cutter = Lines::default();
    let mut chunk = vec![0; 64 * 1024];
    loop {
        let length = match stream.reader.read(&mut chunk) {
            Ok(0) => break,
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        heard.last.store(since(started), Ordering::Relaxed);
        lock(&stream.capture).push(&chunk[..length]);
        if stream.shown {
            if watch.push(&chunk[..length]) {
                heard.marked.store(since(started), Ordering::Relaxed);
            }
            // A display that is too slow loses lines; the program never waits for it.
            cutter.push(&chunk[..length], |line| drop(lines.try_send(line.to_owned())));
        }
    }
}

/// Turns the lifeline into an event.
fn lifeline() -> Receiver<Why> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let why = loop {
            let mut line = String::new();
            match io::stdin().lock().read_line(&mut line) {
                Ok(0) | Err(_) => break Why::Lifeline,
                Ok(_) if line.trim_end() == STOP => break Why::Interrupted,
                Ok(_) => {}
            }
        };
        // The receiver is gone when the run has already ended.
        let _ = sender.send(why);
    });
    receiver
}

/// Waits until the program ends or has to.
fn watch(spec: &Spec, started: Instant, heard: &Heard, reaper: &mut Reaper, lifeline: &Receiver<Why>) -> Why {
    loop {
        reaper.reap();
        if reaper.status.is_some() {
            return Why::Exit;
        }
        if let Ok(why) = lifeline.recv_timeout(TICK) {
            return why;
        }
        if let Some(why) = late(spec, started.elapsed(), heard) {
            return why;
        }
    }
}

/// Tells which clock has run out.
fn late(spec: &Spec, now: Duration, heard: &Heard) -> Option<Why> {
    if now >= spec.wall {
        return Some(Why::Wall);
    }
    let last = heard.last.load(Ordering::Relaxed);
    let silent = now.saturating_sub(Duration::from_millis(last));
    let marked = heard.marked.load(Ordering::Relaxed) > 0;
    match (&spec.quiet_after, spec.first_output, spec.silence) {
        (Some(quiet), _, _) if marked && silent >= quiet.grace => Some(Why::Quiet),
        (_, Some(limit), _) if last == 0 && now >= limit => Some(Why::FirstOutput),
        (_, _, Some(limit)) if silent >= limit => Some(Why::Silence),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::spawn::Quiet;
    use super::*;

    #[test]
    fn clocks_run_out_in_their_order() {
        let mut spec = Spec::new("true", "/", "/nowhere");
        spec.wall = Duration::from_secs(100);
        spec.silence = Some(Duration::from_secs(30));
        spec.first_output = Some(Duration::from_secs(10));
        spec.quiet_after = Some(Quiet { marker: "end".into(), grace: Duration::from_secs(5) });
        let check = |now: u64, last: u64, marked: u64, wanted: Option<Why>| {
            let heard = Heard { last: AtomicU64::new(last * 1000), marked: AtomicU64::new(marked * 1000) };
            assert_eq!(late(&spec, Duration::from_secs(now), &heard), wanted, "{now} {last} {marked}");
        };
        check(9, 0, 0, None);
        check(10, 0, 0, Some(Why::FirstOutput));
        check(12, 8, 0, None);
        check(37, 8, 0, None);
        check(38, 8, 0, Some(Why::Silence));
        check(12, 8, 8, None);
        check(13, 8, 8, Some(Why::Quiet));
        check(14, 10, 8, None);
        check(100, 99, 0, Some(Why::Wall));
    }
}
