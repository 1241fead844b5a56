//! The one line on a terminal that changes while something is waited for; elsewhere a plain line, once. Goes to stderr.

use std::io::{IsTerminal, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use dialoguer::console::Term;
use indicatif::{ProgressBar, ProgressStyle};
use jiff::tz::TimeZone;

use super::clean::{clean, one_line};

/// Columns beside the message: the spinner, the time and the spaces between.
const BESIDE: usize = 10;

/// The live line, shared by whoever waits.
pub struct Live {
    terminal: bool,
    quiet: bool,
    bar: Mutex<Option<ProgressBar>>,
    last: Mutex<String>,
}

impl Live {
    /// Makes one for stderr.
    pub fn new(quiet: bool) -> Self {
        Self { terminal: std::io::stderr().is_terminal(), quiet, bar: Mutex::default(), last: Mutex::default() }
    }

    /// Tells whether stderr is a terminal.
    pub fn terminal(&self) -> bool {
        self.terminal
    }

    /// Tells whether a message is shown whole.
    pub fn fits(&self, text: &str) -> bool {
        text.chars().count() <= room()
    }

    /// Shows a message, cut to the terminal's width.
    pub fn show(&self, text: &str) {
        self.show_since(text, Duration::ZERO);
    }

    /// Shows a message about something that has lasted for a while already.
    pub fn show_since(&self, text: &str, lasted: Duration) {
        let text = one_line(text, room());
        let mut bar = held(&self.bar);
        let bar = bar.get_or_insert_with(|| {
            let bar = ProgressBar::new_spinner().with_elapsed(lasted);
            // A message that is wider than it has characters is cut by the bar.
            if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {wide_msg}") {
                bar.set_style(style);
            }
            bar.enable_steady_tick(Duration::from_millis(120));
            bar
        });
        bar.set_message(text);
    }

    /// Tells of a wait: live on a terminal, else as a plain line, once for the same words.
    pub fn waits(&self, text: &str) {
        if self.quiet {
            return;
        }
        if self.terminal {
            self.show(text);
        } else if std::mem::replace(&mut *held(&self.last), text.to_owned()) != text {
            plain(&format!("  {text}"));
        }
    }

    /// Takes the live line away, before something else is printed.
    pub fn rest(&self) {
        if let Some(bar) = held(&self.bar).take() {
            bar.finish_and_clear();
        }
    }
}

/// Returns how many columns a message has.
fn room() -> usize {
    usize::from(Term::stderr().size().1).saturating_sub(BESIDE).max(20)
}

/// Prints a line with the time, for logs.
pub(super) fn plain(text: &str) {
    let now = jiff::Timestamp::now().to_zoned_datetime(TimeZone::system()).strftime("%H:%M:%S");
    write_line(&format!("{now} {}", clean(text)));
}

pub(super) fn write_line(line: &str) {
    // A closed stderr is no reason to stop the work.
    let _ = writeln!(anstream::stderr(), "{line}");
}

fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}
