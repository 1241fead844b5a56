//! What several tests share: the built-in rules, compiled once, and waits that end.

use std::collections::BTreeMap;
use std::io::Read;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::LazyLock;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use pushback::config::rules::builtin;
use pushback::review::classify::Rules;

static RULES: LazyLock<Rules> =
    LazyLock::new(|| Rules::compile(&builtin(), &[], &BTreeMap::new()).expect("the built-in rules"));

/// Returns the built-in rules.
pub(crate) fn rules() -> &'static Rules {
    &RULES
}

/// How long a program of a test may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// Waits for the end of a program; one that stays is killed, and the test has failed.
#[track_caller]
pub(crate) fn ended(child: &mut Child, what: &str) -> ExitStatus {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("a child") {
            return status;
        }
        if started.elapsed() > PATIENCE {
            let _ = child.kill();
            let _ = child.wait();
            panic!("{what} did not end in {} s", PATIENCE.as_secs());
        }
        std::thread::sleep(Duration::from_millis(3));
    }
}

/// What a program says, read as it comes.
pub(crate) struct Said(Receiver<Vec<u8>>);

impl Said {
    /// Starts to read.
    pub(crate) fn by(mut from: impl Read + Send + 'static) -> Self {
        let (tell, said) = channel();
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = from.read_to_end(&mut bytes);
            let _ = tell.send(bytes);
        });
        Self(said)
    }

    /// Returns all of it. Somebody whom the ended program left behind may hold its output open: then the test has failed.
    #[track_caller]
    pub(crate) fn all(self, what: &str) -> Vec<u8> {
        let all = self.0.recv_timeout(PATIENCE);
        all.unwrap_or_else(|_| panic!("{what} has ended, and somebody it left behind holds its output open"))
    }
}

/// Runs a program to its end and to the end of its output.
#[track_caller]
pub(crate) fn output(command: &mut Command) -> Output {
    let what = format!("{command:?}");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let stdout = Said::by(child.stdout.take().expect("stdout"));
    let stderr = Said::by(child.stderr.take().expect("stderr"));
    Output { status: ended(&mut child, &what), stdout: stdout.all(&what), stderr: stderr.all(&what) }
}
