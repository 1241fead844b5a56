//! Long waits of the forge's client are told of: for what, and until when. Short pauses between tries are not.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::ports::{Clock, Woken};
use crate::report::live::Live;

/// Waits from this on are a limit of the forge.
const LONG: Duration = Duration::from_secs(2);

/// A clock that says why its sleeper sleeps.
pub(super) struct Telling {
    inner: Arc<dyn Clock + Send + Sync>,
    live: Arc<Live>,
}

impl Telling {
    pub(super) fn new(inner: Arc<dyn Clock + Send + Sync>, live: Arc<Live>) -> Self {
        Self { inner, live }
    }
}

impl Clock for Telling {
    fn now(&self) -> Timestamp {
        self.inner.now()
    }

    fn monotonic(&self) -> Duration {
        self.inner.monotonic()
    }

    fn sleep(&self, time: Duration) -> Woken {
        if time < LONG {
            return self.inner.sleep(time);
        }
        let until = self.now().checked_add(time).unwrap_or(Timestamp::MAX);
        let until = until.to_zoned_datetime(TimeZone::system()).strftime("%H:%M:%S");
        self.live.waits(&format!("waiting: the forge's rate limit, until {until}"));
        let woken = self.inner.sleep(time);
        self.live.rest();
        woken
    }

    fn interrupted(&self) -> bool {
        self.inner.interrupted()
    }
}
