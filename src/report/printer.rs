//! Progress for people: a spinner line on a terminal, plain lines with a time elsewhere, nothing with `-q`. Goes to stderr.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anstyle::{AnsiColor, Style};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::clean::clean;
use super::live::{self, Live};
use super::table;
use crate::ports::{Event, Reporter};

/// How much is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verbosity {
    /// Only warnings.
    Quiet,
    /// Steps.
    Normal,
    /// Everything, the editor's output included.
    Verbose,
}

/// Tells events to a person.
pub struct Printer {
    verbosity: Verbosity,
    terminal: bool,
    live: Arc<Live>,
    /// What was last told of the head, and of what is waited for: the same words twice tell nothing.
    head: RefCell<String>,
    reason: RefCell<String>,
    /// Time into the editor's run at which it was last told of.
    told: Cell<Option<Duration>>,
    /// Since when it is waited, with nothing but looks between.
    waiting: Cell<Option<Instant>>,
}

/// Time between two plain lines about one editor run.
const PLAIN: Duration = Duration::from_secs(30);

/// Tells whether it is time for another plain line; a shorter time than before is a new run.
fn due(told: &Cell<Option<Duration>>, elapsed: Duration) -> bool {
    let due = told.get().is_none_or(|last| elapsed < last || elapsed >= last + PLAIN);
    if due {
        told.set(Some(elapsed));
    }
    due
}

impl Printer {
    /// Makes a printer for stderr.
    pub fn new(verbosity: Verbosity) -> Self {
        let live = Arc::new(Live::new(verbosity == Verbosity::Quiet));
        Self {
            verbosity,
            terminal: live.terminal(),
            live,
            head: RefCell::default(),
            reason: RefCell::default(),
            told: Cell::new(None),
            waiting: Cell::new(None),
        }
    }

    fn line(&self, style: Style, text: &str) {
        // What was live is over once something is told for good.
        self.rest();
        self.waiting.set(None);
        if self.terminal {
            let text = table::wrapped(&clean(text), table::columns(std::io::stderr()));
            live::write_line(&format!("{style}{text}{style:#}"));
        } else {
            live::plain(text);
        }
    }

    /// Returns the live line, for others who wait.
    pub fn live(&self) -> Arc<Live> {
        self.live.clone()
    }

    /// Takes the live line away, before something else is printed.
    pub fn rest(&self) {
        self.live.rest();
    }
}

fn at(until: Option<Timestamp>) -> String {
    let local = |at: Timestamp| at.to_zoned_datetime(TimeZone::system()).strftime("%H:%M:%S").to_string();
    until.map_or_else(String::new, |at| format!(", until {} at most", local(at)))
}

fn time(elapsed: Duration) -> String {
    let s = elapsed.as_secs();
    if s < 60 { format!("{s}s") } else { format!("{}m{:02}s", s / 60, s % 60) }
}

impl Reporter for Printer {
    fn tell(&self, event: Event) {
        let plain = Style::new();
        let strong = Style::new().bold();
        let warning = Style::new().fg_color(Some(AnsiColor::Yellow.into()));
        let quiet = self.verbosity == Verbosity::Quiet;
        match event {
            Event::Warning(text) => self.line(warning, &format!("! {text}")),
            _ if quiet => {}
            Event::Line(text) => self.line(plain, &format!("  {text}")),
            Event::Wrote(text) => self.line(Style::new().fg_color(Some(AnsiColor::Green.into())), &format!("→ {text}")),
            Event::Observed { head, p1, p2 } => {
                self.rest();
                let text = format!("head {}: {p1} P1 and {p2} P2 open", head.short());
                if self.head.replace(text.clone()) != text {
                    self.line(strong, &text);
                }
            }
            Event::Round { n, sent, tests } => {
                let mut what: Vec<String> = sent.iter().map(ToString::to_string).collect();
                if tests {
                    what.push("red spec tests".to_owned());
                }
                self.line(strong, &format!("round {n}: the editor gets {}", what.join(", ")));
            }
            Event::Agent { name, elapsed, limit, cost_left, doing } => {
                let money = cost_left.map(|left| format!(", {left:.2} USD left")).unwrap_or_default();
                let text = format!("{name} {} of {}{money}: {doing}", time(elapsed), time(limit));
                if self.terminal {
                    // The live line counts the time by itself.
                    self.live.show(&format!("{name}, {} at most{money}: {doing}", time(limit)));
                }
                let streams = self.verbosity == Verbosity::Verbose;
                if streams || !self.terminal && due(&self.told, elapsed) {
                    self.line(plain, &format!("  {text}"));
                }
            }
            Event::Waiting { what, until } => {
                let text = format!("waiting: {what}{}", at(until));
                if self.terminal {
                    // The end first: what is waited for may be cut, and is then told whole once.
                    let live = format!("waiting{}: {what}", at(until));
                    if self.reason.replace(what.clone()) != what && !self.live.fits(&live) {
                        self.line(plain, &format!("  waiting: {what}"));
                    }
                    let since = self.waiting.get().unwrap_or_else(Instant::now);
                    self.waiting.set(Some(since));
                    self.live.show_since(&live, since.elapsed());
                } else if self.reason.replace(text.clone()) != text {
                    self.line(plain, &format!("  {text}"));
                }
            }
            Event::WaitOver => {
                if !self.terminal {
                    self.rest();
                }
            }
        }
    }
}

impl Drop for Printer {
    fn drop(&mut self) {
        self.rest();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_editor_run_is_told_of_now_and_then() {
        let told = Cell::new(None);
        let due: Vec<bool> = [1, 5, 30, 31, 40, 3, 4].map(|s| due(&told, Duration::from_secs(s))).to_vec();
        assert_eq!(due, [true, false, false, true, false, true, false]);
    }
}
