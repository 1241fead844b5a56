//! Real time. Waiting and measuring use a clock that never jumps; only `now` follows the machine's date.

use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::signals::Signals;
use crate::ports::{Clock, Woken};

/// How soon a sleeper notices a signal.
const TICK: Duration = Duration::from_millis(25);

/// The machine's clocks.
#[derive(Debug, Clone)]
pub struct SystemClock {
    started: Instant,
    signals: Signals,
}

impl SystemClock {
    /// Starts a clock whose sleep ends on these signals.
    pub fn new(signals: Signals) -> Self {
        Self { started: Instant::now(), signals }
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn monotonic(&self) -> Duration {
        self.started.elapsed()
    }

    fn sleep(&self, time: Duration) -> Woken {
        let asleep = Instant::now();
        loop {
            if self.interrupted() {
                return Woken::Interrupted;
            }
            let left = time.saturating_sub(asleep.elapsed());
            if left.is_zero() {
                return Woken::Elapsed;
            }
            std::thread::sleep(left.min(TICK));
        }
    }

    fn interrupted(&self) -> bool {
        self.signals.caught().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleep_takes_its_time_and_no_overflow() {
        let clock = SystemClock::new(Signals::default());
        let before = clock.monotonic();
        assert_eq!(clock.sleep(Duration::from_millis(30)), Woken::Elapsed);
        assert!(clock.monotonic() - before >= Duration::from_millis(30));
        assert_eq!(clock.sleep(Duration::ZERO), Woken::Elapsed);
    }

    #[test]
    fn a_signal_wakes_a_sleeper() {
        let signals = Signals::default();
        let clock = SystemClock::new(signals.clone());
        let sleeper = std::thread::spawn(move || (clock.sleep(Duration::MAX), clock.interrupted()));
        signals.note(15);
        assert_eq!(sleeper.join().unwrap(), (Woken::Interrupted, true));
        assert_eq!((signals.caught(), signals.exit_code()), (Some(15), Some(143)));
    }
}
