//! What of this machine could keep us waiting for ever, bounded: programs that only answer a question, and files that
//! turn out to be pipes.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use camino::Utf8Path;
use rustix::fs::OFlags;
use rustix::process::{Pid, Signal, kill_process_group};

/// How long a killed program may take to be gone: one that the system holds is left behind.
const GONE: Duration = Duration::from_secs(5);

/// Runs a program to its end, in a process group of its own; `None` when it had to be killed with its group.
pub fn within(command: &mut Command, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let mut child = command.process_group(0).spawn()?;
    let group = Pid::from_child(&child);
    let (tell, ended) = channel();
    std::thread::spawn(move || {
        // Nobody listens any more to one that was left behind.
        let _ = tell.send(child.wait());
    });
    match ended.recv_timeout(limit) {
        Ok(status) => status.map(Some),
        Err(RecvTimeoutError::Disconnected) => Err(io::Error::other("its end was not seen")),
        Err(RecvTimeoutError::Timeout) => {
            // Gone in the meantime is as good as killed.
            let _ = kill_process_group(group, Signal::KILL);
            let _ = ended.recv_timeout(GONE);
            Ok(None)
        }
    }
}

/// Asks a program something and returns how it ended and what it said; `None` when it is not there or does not answer
/// in time. It gets no input, and its words on standard error are nobody's.
pub fn answer(command: &mut Command, limit: Duration) -> Option<(ExitStatus, Vec<u8>)> {
    // A file, not a pipe: what the program leaves behind would keep a pipe open.
    let mut out = tempfile::tempfile().ok()?;
    command.stdin(Stdio::null()).stdout(out.try_clone().ok()?).stderr(Stdio::null());
    let status = within(command, limit).ok()??;
    let mut said = Vec::new();
    out.seek(SeekFrom::Start(0)).ok()?;
    out.read_to_end(&mut said).ok()?;
    Some((status, said))
}

/// Opens a regular file, also through a link, or a device such as `/dev/null`. Anything else is refused: a pipe would be
/// waited for.
pub fn open(path: &Utf8Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(path)?;
    let kind = file.metadata()?.file_type();
    match kind.is_file() || kind.is_char_device() {
        true => Ok(file),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file")),
    }
}

/// Reads a regular file, also through a link.
pub fn read(path: &Utf8Path) -> io::Result<Vec<u8>> {
    let mut data = Vec::new();
    open(path)?.read_to_end(&mut data)?;
    Ok(data)
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use camino::Utf8PathBuf;

    use super::*;

    fn sh(line: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", line]);
        command
    }

    #[test]
    fn an_answer_is_taken_whoever_holds_its_output_and_silence_is_none() {
        let soon = Duration::from_secs(20);
        let asked = Instant::now();
        let (status, said) = answer(&mut sh("echo yes; sleep 30 & exit 3"), soon).expect("an answer");
        assert_eq!((status.code(), said.as_slice()), (Some(3), b"yes\n".as_slice()));
        assert!(answer(&mut Command::new("no-such-program-7"), soon).is_none());
        assert!(answer(&mut sh("echo no; sleep 30 & wait"), Duration::from_millis(200)).is_none());
        assert!(asked.elapsed() < soon, "{:?}", asked.elapsed());
    }

    #[test]
    fn a_pipe_in_place_of_a_file_is_not_waited_for() {
        let temp = tempfile::tempdir().expect("a folder");
        let path = |name: &str| Utf8PathBuf::from_path_buf(temp.path().join(name)).expect("UTF-8");
        assert!(Command::new("mkfifo").arg(path("pipe")).status().expect("mkfifo").success());
        std::fs::write(path("file"), "text").expect("a file");
        std::os::unix::fs::symlink(path("file"), path("link")).expect("a link");
        assert_eq!(read(&path("link")).expect("a file"), b"text");
        assert!(read(&path("pipe")).is_err() && read(temp.path().try_into().expect("UTF-8")).is_err());
        assert_eq!(read(Utf8Path::new("/dev/null")).expect("an empty file"), b"");
        assert_eq!(read(&path("none")).expect_err("nothing").kind(), io::ErrorKind::NotFound);
    }
}
