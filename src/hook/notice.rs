//! Tells a person what came back: on the desktop where there is one, else in the terminal of the push.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::process::Command;
use std::time::Duration;

use camino::Utf8PathBuf;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use crate::process::bounded;

/// Longest time a desktop may take to show a notice.
const PATIENCE: Duration = Duration::from_secs(5);
/// Major numbers of Linux' pseudo terminals.
const PTS: std::ops::RangeInclusive<u64> = 136..=143;

/// A terminal, and the session that had it at the time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terminal {
    /// Device.
    pub device: Utf8PathBuf,
    /// Leader of the session.
    pub session: i32,
}

/// How a notice was shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// On the desktop.
    Desktop,
    /// In the terminal.
    Terminal,
    /// In the log alone.
    Nowhere,
}

/// Takes the line of `/proc/PID/stat` apart: session and terminal.
fn session_of(stat: &str) -> Option<(i32, u64)> {
    // The name in parentheses may hold anything.
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(3);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

fn device(number: u64) -> Option<Utf8PathBuf> {
    let (major, minor) = ((number >> 8) & 0xfff, (number & 0xff) | ((number >> 12) & 0xfff00));
    PTS.contains(&major).then(|| format!("/dev/pts/{}", minor + (major - PTS.start()) * 256).into())
}

fn stat(pid: &str) -> Option<(i32, u64)> {
    session_of(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Returns the terminal of this process, where the system tells.
pub fn terminal() -> Option<Terminal> {
    let (session, number) = stat("self")?;
    Some(Terminal { device: device(number)?, session })
}

impl Terminal {
    /// Tells whether the session that had it still has it.
    fn is_still_theirs(&self) -> bool {
        let now = stat(&self.session.to_string());
        now.is_some_and(|(session, number)| session == self.session && device(number).as_ref() == Some(&self.device))
    }

    fn tell(&self, line: &str) -> bool {
        if !self.is_still_theirs() {
            return false;
        }
        let flags = (OFlags::NOCTTY | OFlags::NONBLOCK).bits().cast_signed();
        let open = OpenOptions::new().write(true).custom_flags(flags).open(&self.device);
        open.is_ok_and(|mut terminal| write!(terminal, "\r\n\x07{line}\r\n").is_ok())
    }
}

/// Shows a title and a line. Both are our own words: no text from outside.
pub fn show(title: &str, line: &str, terminal: Option<&Terminal>) -> Shown {
    if desktop(title, line) {
        return Shown::Desktop;
    }
    match terminal.is_some_and(|terminal| terminal.tell(&format!("{title}: {line}"))) {
        true => Shown::Terminal,
        false => Shown::Nowhere,
    }
}

fn desktop(title: &str, line: &str) -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if cfg!(target_os = "macos") {
        let script = [
            "-e",
            "on run argv",
            "-e",
            "display notification (item 2 of argv) with title (item 1 of argv)",
            "-e",
            "end run",
        ];
        return ends_well(Command::new("osascript").args(script).args([title, line]));
    }
    if !(set("DISPLAY") || set("WAYLAND_DISPLAY") || set("DBUS_SESSION_BUS_ADDRESS")) {
        return false;
    }
    ends_well(Command::new("notify-send").args(["--app-name=pushback", "--", title, line]))
}

fn ends_well(command: &mut Command) -> bool {
    // A desktop that does not answer shows nothing.
    bounded::answer(command, PATIENCE).is_some_and(|(status, _)| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_terminal_of_a_process_is_found() {
        let check = |stat: &str, expected: Option<(i32, &str)>| {
            let found = session_of(stat).and_then(|(session, number)| Some((session, device(number)?)));
            let expected = expected.map(|(session, path)| (session, Utf8PathBuf::from(path)));
            assert_eq!(found, expected, "{stat}");
        };
        check("12 (git) S 11 12 10 34817 12 0 0", Some((10, "/dev/pts/1")));
        check("12 (a) b (c) S 11 12 10 34835 12 0 0", Some((10, "/dev/pts/19")));
        check("12 (git) S 11 12 10 0 -1 0 0", None);
        check("12 (git) S 11 12 10 1025 12 0 0", None);
        check("", None);
    }

    #[test]
    fn a_terminal_that_changed_hands_is_left_alone() {
        let gone = Terminal { device: "/dev/pts/0".into(), session: 0x3fff_fff0 };
        assert!(!gone.tell("nothing"));
    }
}
