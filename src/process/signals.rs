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
    /// Starts to listen for SIGINT, SIGTERM and SIGHUP.
    pub fn install() -> io::Result<Self> {
        let signals = Self::default();
        let armed = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
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

    /// Returns the exit code that a signal asks for.
    pub fn exit_code(&self) -> Option<u8> {
        self.caught().and_then(|signal| u8::try_from(128 + signal).ok())
    }
}
