//! Remembers an editor's session between rounds. A lost one costs tokens, never correctness: every brief is complete.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;

use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};

/// Said in front of a brief that goes on in an old session.
pub(super) const AGAIN: &str = "This goes on from an earlier round of yours. Files may have changed since, also back to an older \
state, and somebody else may have worked on them: read them again. The brief below is complete; where it differs from what you remember, it is right.\n\n";

/// A session of an editor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Session {
    /// Its name.
    pub(super) id: String,
    /// Money it was said to have cost in all.
    pub(super) cost_usd: f64,
    /// Tokens it was said to have used in all.
    pub(super) tokens: u64,
    /// Where it worked; an editor knows its sessions by their folder.
    pub(super) worktree: Utf8PathBuf,
}

fn file(runs: &Utf8Path, name: &str) -> Utf8PathBuf {
    runs.join(format!("session-{name}.json"))
}

/// Returns the session of this editor in this worktree.
pub(super) fn recall(runs: &Utf8Path, name: &str, worktree: &Utf8Path) -> Option<Session> {
    let kept: Session = serde_json::from_slice(&fs::read(file(runs, name)).ok()?).ok()?;
    (kept.worktree == worktree && plain(&kept.id)).then_some(kept)
}

/// Keeps a session, or forgets the last one. Failing to is no reason to stop.
pub(super) fn keep(runs: &Utf8Path, name: &str, session: Option<&Session>) {
    let path = file(runs, name);
    let done = match session.filter(|session| plain(&session.id)) {
        Some(session) => write(&path, session),
        None => fs::remove_file(&path),
    };
    drop(done);
}

fn write(path: &Utf8Path, kept: &Session) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(&serde_json::to_vec(kept)?)
}

/// A session is named on the command line: nothing that could be taken for an option.
fn plain(session: &str) -> bool {
    let allowed = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_');
    (1..=100).contains(&session.len()) && !session.starts_with('-') && session.chars().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_belongs_to_an_editor_and_a_worktree() {
        let temp = tempfile::tempdir().unwrap();
        let runs = Utf8Path::from_path(temp.path()).unwrap();
        let (here, there) = (Utf8Path::new("/w"), Utf8Path::new("/v"));
        let session = |id: &str| Session { id: id.to_owned(), cost_usd: 0.5, tokens: 7, worktree: here.to_owned() };
        assert_eq!(recall(runs, "claude", here), None);
        keep(runs, "claude", Some(&session("4a-b_1")));
        assert_eq!(recall(runs, "claude", here), Some(session("4a-b_1")));
        assert_eq!(recall(runs, "codex", here), None);
        assert_eq!(recall(runs, "claude", there), None);
        for bad in ["", "--help", "a b", "../x", "a\nb"] {
            keep(runs, "claude", Some(&session(bad)));
            assert_eq!(recall(runs, "claude", here), None, "{bad}");
        }
        fs::write(file(runs, "claude"), r#"{"id":"--help","cost_usd":0,"tokens":0,"worktree":"/w"}"#).unwrap();
        assert_eq!(recall(runs, "claude", here), None);
        fs::write(file(runs, "claude"), "{").unwrap();
        assert_eq!(recall(runs, "claude", here), None);
    }
}
