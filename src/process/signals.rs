//! Signals that ask us to stop. The first is only remembered, so that the run can end its program, save and let go of
//! its lock; the second ends us at once, and the lifeline ends the program.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

/// The signal that asked us to stop, if one did.
#[derive(Debug, Clone, Default)]
pub struct Signals {
    caught: Arc<AtomicUsize>,
}

impl Signals {
    /// Starts to listen for SIGINT, SIGTERM and SIGHUP, except those that our caller had us ignore (`nohup`, `&`).
    pub fn install() -> io::Result<Self> {
        let signals = Self::default();
        let armed = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| !ignored(*signal)) {
            // Asked first, so that only the second signal meets an armed flag.
            flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&armed))?;
            flag::register(signal, Arc::clone(&armed))?;
            flag::register_usize(signal, Arc::clone(&signals.caught), signal.unsigned_abs() as usize)?;
        }
        Ok(signals)
    }

    /// Returns the number of the last signal.
    pub fn caught(&self) -> Option<i32> {
        i32::try_from(self.caught.load(Ordering::SeqCst)).ok().filter(|signal| *signal != 0)
    }

    /// Sends the last signal once more: as the second one it ends us at once.
    pub fn repeat(&self) {
        if let Some(signal) = self.caught() {
            // A signal that was caught can be sent.
            let _ = signal_hook::low_level::raise(signal);
        }
    }

    /// Behaves as if a signal had come.
    #[cfg(test)]
    pub(super) fn note(&self, signal: usize) {
        self.caught.store(signal, Ordering::SeqCst);
    }

    /// Returns the exit code that a signal asks for.
    pub fn exit_code(&self) -> Option<u8> {
        self.caught().and_then(|signal| u8::try_from(128 + signal).ok())
    }
}

/// Tells whether a signal is ignored now; where the system does not tell, it is not.
fn ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}
