//! Ends every process that a run left behind. Decides who is ended and in which order; the clocks are `supervise`'s.

use std::collections::BTreeSet;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, wait as wait_any};

use super::tree::{Proc, descendants, marked};

/// Time for processes that are ending by themselves.
const SETTLE: Duration = Duration::from_millis(50);
/// Time between the request to end and force.
const POLITE: Duration = Duration::from_millis(800);
/// Time after which a sweep is given up.
const CAP: Duration = Duration::from_secs(10);
const TICK: Duration = Duration::from_millis(5);
/// Most that are collected before the clocks are looked at again: a storm of processes must not keep us from them.
const AT_ONCE: usize = 1000;

/// What a sweep came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Swept {
    /// Processes that were ended, the program itself not counted.
    pub(super) ended: u32,
    /// False when some could not be.
    pub(super) clean: bool,
}

/// Collects the ended children of this process: the program itself and every orphan.
#[derive(Debug)]
pub(super) struct Reaper {
    program: Pid,
    /// How the program ended, once it has.
    pub(super) status: Option<WaitStatus>,
}

impl Reaper {
    /// Starts to wait for a program.
    pub(super) fn new(program: Pid) -> Self {
        Self { program, status: None }
    }

    /// Collects whoever has ended. Returns true when there is no child left at all.
    ///
    /// A subreaper without children has no descendants: every orphan below it becomes its child. So this is the proof
    /// that a sweep is complete; lists of processes are always a moment old.
    pub(super) fn reap(&mut self) -> bool {
        for _ in 0..AT_ONCE {
            match wait_any(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.program => self.status = Some(status),
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return false,
                Err(_) => return true,
            }
        }
        false
    }
}

fn signal(procs: &BTreeSet<Proc>, signal: Signal) {
    for pid in procs.iter().filter_map(|proc| Pid::from_raw(proc.pid)) {
        // It may have ended meanwhile, or belong to another account: the next listing tells.
        let _ = kill_process(pid, signal);
    }
}

/// Ends all descendants of this process, then whoever else carries the mark.
pub(super) fn sweep(reaper: &mut Reaper, run_id: &str) -> Swept {
    let own = std::process::id().cast_signed();
    let started = Instant::now();
    let mut met = BTreeSet::new();
    let mut gone = wait(reaper, SETTLE);
    if !gone {
        let living = descendants(own);
        signal(&living, Signal::TERM);
        // A stopped process hears the request only when it goes on.
        signal(&living, Signal::CONT);
        met.extend(living);
        gone = wait(reaper, POLITE);
    }
    while !gone && started.elapsed() < CAP {
        met.extend(force(|| descendants(own)));
        gone = wait(reaper, TICK);
    }
    if cfg!(not(target_os = "linux")) {
        // Orphans are not ours there; the group is all that is left of the tree.
        let _ = rustix::process::kill_process_group(reaper.program, Signal::KILL);
    }
    let (strays, no_strays) = sweep_marked(run_id, started);
    met.extend(strays);
    let program = reaper.program.as_raw_nonzero().get();
    let ended = met.iter().filter(|proc| proc.pid != program).count();
    Swept { ended: u32::try_from(ended).unwrap_or(u32::MAX), clean: gone && no_strays }
}

/// Ends, by force, whoever carries the mark. Returns them, and whether none is left.
pub(super) fn sweep_marked(run_id: &str, started: Instant) -> (BTreeSet<Proc>, bool) {
    let mut met = BTreeSet::new();
    loop {
        let found = force(|| marked(run_id));
        if found.is_empty() {
            return (met, true);
        }
        met.extend(found);
        if started.elapsed() > CAP {
            return (met, false);
        }
        sleep(TICK);
    }
}

/// Stops everybody until a listing shows nobody new, so that nobody can start another; then kills all.
pub(super) fn force(list: impl Fn() -> BTreeSet<Proc>) -> BTreeSet<Proc> {
    let mut stopped = BTreeSet::new();
    for _ in 0..100 {
        let fresh: BTreeSet<Proc> = list().difference(&stopped).copied().collect();
        if fresh.is_empty() {
            break;
        }
        signal(&fresh, Signal::STOP);
        stopped.extend(fresh);
    }
    signal(&stopped, Signal::KILL);
    stopped
}

/// Collects for some time. Returns true when no child is left.
fn wait(reaper: &mut Reaper, time: Duration) -> bool {
    let until = Instant::now() + time;
    loop {
        if reaper.reap() {
            return true;
        }
        if Instant::now() >= until {
            return false;
        }
        sleep(TICK);
    }
}
