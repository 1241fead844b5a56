//! What commands print: the answer on stdout, everything else on stderr. A closed pipe ends quietly.

use std::borrow::Cow;
use std::io::{ErrorKind, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;

use super::failure::{Failure, Kind};
use crate::report::clean::clean;
use crate::report::json::{Envelope, ErrorView, Nothing, SCHEMA_VERSION};
use crate::report::paint::paint;
use crate::report::table;

/// Prints the answer as it is.
pub(crate) fn stdout(text: &str) {
    write(anstream::stdout(), text);
}

/// Why an answer could not be printed.
static LOST: OnceLock<String> = OnceLock::new();

fn write(mut out: impl Write, text: &str) {
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        // A reader that closed the pipe has seen enough.
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            // The first reason is kept.
            let _ = LOST.set(error.to_string());
        }
        Ok(()) | Err(_) => {}
    }
}

/// Returns the exit code of a command: an answer that nobody can read is none.
pub(crate) fn exit(exit: u8) -> u8 {
    let Some(why) = LOST.get() else { return exit };
    let _ = writeln!(anstream::stderr(), "error: the answer could not be written: {}", clean(why));
    Kind::Internal.exit()
}

/// Prints text that holds words from outside.
pub(crate) fn shown(text: &str) {
    stdout(&paint(&clean(text)));
}

/// Prints what a person has to see before the answer: on stderr where stdout is for a program.
pub(crate) fn before(json: bool, text: &str) {
    if json {
        let _ = anstream::stderr().write_all(clean(text).as_bytes());
    } else {
        shown(text);
    }
}

/// Whether the answer was told as JSON.
static TOLD: AtomicBool = AtomicBool::new(false);

/// Tells whether the answer was told as JSON, with its exit code.
pub(crate) fn told() -> bool {
    TOLD.load(Ordering::Relaxed)
}

/// Prints one JSON object.
pub(crate) fn json<T: Serialize>(value: &T) {
    TOLD.store(true, Ordering::Relaxed);
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    write(std::io::stdout(), &format!("{}\n", escaped(&text)));
}

/// Prints JSON lines while more come, many at a time.
#[derive(Default)]
pub(crate) struct JsonLines(String);

/// Bytes that are printed at once.
const MANY: usize = 1 << 16;

impl JsonLines {
    /// Takes one line.
    pub(crate) fn add(&mut self, line: &str) {
        self.0.push_str(&escaped(line));
        self.0.push('\n');
        if self.0.len() >= MANY {
            self.print();
        }
    }

    /// Prints what waits. Nothing of it is for a terminal to obey, so that nothing need be taken out.
    pub(crate) fn print(&mut self) {
        write(std::io::stdout(), &self.0);
        self.0.clear();
    }
}

/// Escapes what a terminal would obey or hide inside JSON; such characters stand in its strings only.
pub(crate) fn escaped(json: &str) -> Cow<'_, str> {
    let Some((mut at, mut c)) = obeyed(json, 0) else { return Cow::Borrowed(json) };
    let mut out = String::with_capacity(json.len() + 16);
    let mut done = 0;
    loop {
        out.push_str(&json[done..at]);
        out.push_str(&format!("\\u{:04x}", u32::from(c)));
        done = at + c.len_utf8();
        let Some(next) = obeyed(json, done) else { break };
        (at, c) = next;
    }
    out.push_str(&json[done..]);
    Cow::Owned(out)
}

/// Returns the first character from a place on that a terminal would obey or hide, and where it stands.
fn obeyed(json: &str, from: usize) -> Option<(usize, char)> {
    // Only these bytes begin one.
    let may_begin = |byte: &u8| matches!(byte, 0..=0x1f | 0x7f | 0xc2 | 0xe2 | 0xef) && *byte != b'\n';
    let is_one = |c: &char| (c.is_control() && *c != '\n') || crate::report::clean::hidden(*c);
    let places = json.as_bytes().iter().enumerate().skip(from).filter(|(_, byte)| may_begin(byte));
    places.map(|(at, _)| at).find_map(|at| Some((at, json.get(at..)?.chars().next().filter(is_one)?)))
}

/// Prints a failure as JSON.
pub(crate) fn error(command: &'static str, failure: &Failure) {
    json(&Envelope {
        schema_version: SCHEMA_VERSION,
        command,
        exit: failure.kind.exit(),
        pr: None,
        next: String::new(),
        retry_after_s: failure.retry_after_s,
        error: Some(ErrorView {
            kind: failure.kind.as_str(),
            message: failure.message.clone(),
            hint: failure.hint.clone(),
        }),
        more: Nothing {},
    });
}

/// Prints a failure and returns its exit code.
pub(crate) fn failure(command: &'static str, as_json: bool, failure: &Failure) -> u8 {
    let exit = failure.kind.exit();
    if as_json {
        error(command, failure);
    }
    let line = |text: String| table::wrapped(&clean(&text), table::columns(std::io::stderr()));
    let _ = writeln!(anstream::stderr(), "{}", line(format!("error: {}", failure.message)));
    if !failure.hint.is_empty() {
        let _ = writeln!(anstream::stderr(), "{}", line(format!("  hint: {}", failure.hint)));
    }
    exit
}

/// Returns the width to lay tables out in.
pub(crate) fn width() -> u16 {
    use std::io::IsTerminal;
    let columns = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    let terminal = || {
        let out = std::io::stdout();
        out.is_terminal().then(|| rustix::termios::tcgetwinsize(&out).ok().map(|size| size.ws_col)).flatten()
    };
    columns.or_else(terminal).filter(|width| *width >= 40).unwrap_or(120)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_a_terminal_obeys_or_hides_is_escaped_and_nothing_else() {
        let by_each = |json: &str| -> String {
            let obeyed = |c: char| (c.is_control() && c != '\n') || crate::report::clean::hidden(c);
            json.chars().map(|c| if obeyed(c) { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() }).collect()
        };
        for c in ('\0'..='\u{ffff}').chain(['\u{1f525}', '\u{e0041}']) {
            for json in [format!("{c}"), format!("{{\"a\":\"é{c}—{c}b\"}}\n")] {
                assert_eq!(escaped(&json), by_each(&json), "{c:?}");
            }
        }
    }
}
