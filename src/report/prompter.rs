//! Questions to a person at a terminal, by dialoguer. Texts from outside are cleaned here, whoever hands them in.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use dialoguer::console::{Key, Term};
use dialoguer::{Confirm, Input, MultiSelect, Select};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};

use super::clean::{clean, one_line};
use super::table;
use crate::ports::Prompter;
use crate::process::signals::Signals;
use crate::review::triage::Size;

/// Variables that a browser or an editor needs; everything else, tokens above all, stays here.
const PASSED: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "TERM",
    "COLORTERM",
    "TMPDIR",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "XDG_RUNTIME_DIR",
    "XDG_CURRENT_DESKTOP",
    "XDG_CONFIG_HOME",
    "XDG_DATA_DIRS",
    "XDG_DATA_HOME",
    "DBUS_SESSION_BUS_ADDRESS",
    "BROWSER",
    "NO_COLOR",
    "COLUMNS",
    "LINES",
];
/// Rows that a list leaves for its title and the line above it.
const AROUND: usize = 4;

/// Columns of what stands beside a question: its choices and the answer.
const BESIDE_QUESTION: usize = 12;

/// How long a question may stand after a signal.
const STANDS: Duration = Duration::from_millis(500);
/// How often it is looked whether one came.
const TICK: Duration = Duration::from_millis(50);

/// Asks a question, unless a signal has come. One that comes between two keys does not wake who reads the next key, so
/// that the question would stand until somebody types: such a signal is repeated, and ends us.
pub fn ask<T>(signals: &Signals, question: impl FnOnce() -> Option<T>) -> Option<T> {
    if signals.caught().is_some() {
        return None;
    }
    let before = tcgetattr(std::io::stdin()).ok();
    let (standing, answered) = channel();
    std::thread::scope(move |scope| {
        scope.spawn(move || watch(&answered, signals, before.as_ref()));
        let answer = question();
        drop(standing);
        answer
    })
}

/// Returns the words to ask with. A question that is wider than the terminal would be shown again when it is answered:
/// it is told before, and a few words are asked.
pub fn asked_with(question: &str, few: &str) -> String {
    let columns = table::columns(std::io::stderr());
    let fits = |columns: u16| question.chars().count() + BESIDE_QUESTION <= usize::from(columns);
    if columns.is_none_or(fits) {
        return question.to_owned();
    }
    let _ = Term::stderr().write_line(&table::wrapped(&clean(question), columns));
    few.to_owned()
}

/// Looks for a signal until the question is answered.
fn watch(answered: &Receiver<()>, signals: &Signals, before: Option<&Termios>) {
    let mut came = None;
    while answered.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
        if signals.caught().is_some() && came.get_or_insert_with(Instant::now).elapsed() >= STANDS {
            // The terminal is left as it was found, its cursor shown.
            let _ = before.map(|modes| tcsetattr(std::io::stdin(), OptionalActions::Now, modes));
            let _ = std::io::stderr().write_all(b"\x1b[?25h\r\n");
            signals.repeat();
        }
    }
}

/// A person at the terminal.
pub struct Terminal {
    term: Term,
    signals: Signals,
    columns: Option<usize>,
}

impl Terminal {
    /// Talks on stderr, so that stdout stays data; `columns` overrules what the terminal says.
    pub fn new(columns: Option<usize>, signals: Signals) -> Self {
        Self { term: Term::stderr(), signals, columns }
    }

    fn rows(&self) -> usize {
        usize::from(self.term.size().0).saturating_sub(AROUND).max(3)
    }

    /// A prompt that was cut off may have left the cursor hidden.
    fn left<T, E>(&self, answer: Result<T, E>) -> Option<T> {
        answer
            .map_err(|_| {
                let _ = self.term.show_cursor();
                let _ = self.term.write_line("");
            })
            .ok()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.term.show_cursor();
    }
}

/// A program that gets nothing of ours but what it needs.
fn program(name: &str) -> Command {
    let mut command = Command::new(name);
    command.env_clear();
    for name in PASSED {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command
}

impl Prompter for Terminal {
    fn confirm(&self, question: &str) -> Option<bool> {
        let asked = Confirm::new().with_prompt(one_line(question, 200)).default(false);
        ask(&self.signals, || self.left(asked.interact_on_opt(&self.term)).flatten())
    }

    fn pick(&self, title: &str, rows: &[String], start: usize) -> Option<usize> {
        let most = self.size().columns.saturating_sub(4);
        let rows: Vec<String> = rows.iter().map(|row| cut(row, most)).collect();
        let asked = Select::new().with_prompt(one_line(title, most)).items(&rows).default(start.min(rows.len() - 1));
        ask(&self.signals, || {
            self.left(asked.report(false).max_length(self.rows()).interact_on_opt(&self.term)).flatten()
        })
    }

    fn mark(&self, title: &str, rows: &[String]) -> Option<Vec<usize>> {
        let most = self.size().columns.saturating_sub(8);
        let rows: Vec<String> = rows.iter().map(|row| cut(row, most)).collect();
        let asked = MultiSelect::new().with_prompt(one_line(title, most)).items(&rows);
        ask(&self.signals, || {
            self.left(asked.report(false).max_length(self.rows()).interact_on_opt(&self.term)).flatten()
        })
    }

    fn key(&self, keys: &[(char, &str)]) -> Option<char> {
        let mut line = String::new();
        let mut shown = 0;
        for (key, word) in keys {
            let item = format!("{key} {word}");
            let width = item.chars().count() + 3;
            if shown > 0 && shown + width > self.size().columns {
                line.push('\n');
                shown = 0;
            }
            line.push_str(if shown == 0 { "" } else { " · " });
            line.push_str(&item);
            shown += width;
        }
        let _ = self.term.write_line(&line);
        ask(&self.signals, || {
            loop {
                match self.left(self.term.read_key())? {
                    Key::Char(typed) => {
                        let typed = typed.to_ascii_lowercase();
                        if keys.iter().any(|(key, _)| *key == typed) {
                            return Some(typed);
                        }
                    }
                    Key::Escape if keys.iter().any(|(key, _)| *key == 'q') => return Some('q'),
                    Key::Unknown => return None,
                    _ => {}
                }
            }
        })
    }

    fn line(&self, question: &str, start: &str) -> Option<String> {
        let asked = Input::<String>::new()
            .with_prompt(one_line(question, 200))
            .with_initial_text(one_line(start, usize::MAX))
            .allow_empty(true);
        ask(&self.signals, || self.left(asked.interact_text_on(&self.term)))
    }

    fn edit(&self, text: &str) -> Option<String> {
        let set = |name| std::env::var(name).ok().filter(|text| !text.trim().is_empty());
        let editor = set("VISUAL").or_else(|| set("EDITOR")).unwrap_or_else(|| "vi".to_owned());
        let mut file = tempfile::Builder::new().prefix("pushback-").suffix(".md").tempfile().ok()?;
        file.write_all(text.as_bytes()).ok()?;
        let line = format!("{editor} \"$1\"");
        let ended = program("sh").args(["-c", &line, "sh"]).arg(file.path()).status();
        if !self.left(ended).is_some_and(|status| status.success()) {
            return Some(text.to_owned());
        }
        std::fs::read_to_string(file.path()).ok()
    }

    fn show(&self, text: &str, fresh: bool) {
        if fresh {
            let _ = self.term.clear_screen();
        }
        let _ = self.term.write_str(&clean(text));
    }

    fn open(&self, url: &str) -> bool {
        if !url.starts_with("https://") && !url.starts_with("http://") {
            return false;
        }
        let set = std::env::var("BROWSER").ok().filter(|name| !name.trim().is_empty());
        let names = set.as_deref().into_iter().chain(["xdg-open", "open", "wslview"]);
        for name in names {
            let started =
                program(name).arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
            if let Ok(mut child) = started {
                // It is not waited for here: a browser may stay.
                std::thread::spawn(move || child.wait());
                return true;
            }
        }
        false
    }

    fn size(&self) -> Size {
        let (rows, columns) = self.term.size();
        let columns = self.columns.unwrap_or_else(|| usize::from(columns));
        Size { columns: columns.clamp(40, 200), rows: usize::from(rows).max(16) }
    }
}

/// Cuts a row, its spaces kept: they line the columns up.
fn cut(row: &str, most: usize) -> String {
    let flat = clean(row).replace(['\n', '\t'], " ");
    if flat.chars().count() <= most {
        return flat;
    }
    format!("{}…", flat.chars().take(most.saturating_sub(1)).collect::<String>())
}
