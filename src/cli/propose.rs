//! Files that a command wants to write: shown as a diff first, written after one yes. A file that somebody else changed
//! meanwhile is not written.

use std::io::IsTerminal as _;
use std::io::Write as _;

use camino::{Utf8Path, Utf8PathBuf};
use dialoguer::Confirm;

use super::Context;
use super::failure::{Failure, Kind};
use crate::process::bounded;
use crate::report::json::FileView;
use crate::report::prompter;

/// The largest file that is read to be changed.
const LIMIT: u64 = 1 << 20;

/// One file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Proposal {
    /// Path below the top of the worktree, as shown.
    pub(crate) name: String,
    path: Utf8PathBuf,
    before: Option<String>,
    after: String,
}

impl Proposal {
    /// Reads what is there and makes the new text of it.
    pub(crate) fn new(
        top: &Utf8Path,
        name: &str,
        change: impl FnOnce(Option<&str>) -> Result<String, Failure>,
    ) -> Result<Self, Failure> {
        let path = inside(top, name)?;
        let before = read(&path)?;
        let after = change(before.as_deref())?;
        Ok(Self { name: name.to_owned(), path, before, after })
    }

    /// Tells whether anything would change.
    pub(crate) fn changes(&self) -> bool {
        self.before.as_deref() != Some(self.after.as_str())
    }

    /// Returns the text as it is, if there is a file.
    pub(crate) fn before(&self) -> Option<&str> {
        self.before.as_deref()
    }

    /// Returns the text as it will be.
    pub(crate) fn after(&self) -> &str {
        &self.after
    }

    /// Returns the change as a unified diff.
    pub(crate) fn diff(&self) -> String {
        diff(&self.name, self.before.as_deref(), &self.after)
    }

    /// Shows it for a script.
    pub(crate) fn view(&self) -> FileView {
        let change = match (&self.before, self.changes()) {
            (_, false) => "none",
            (None, true) => "create",
            (Some(_), true) => "update",
        };
        FileView { path: self.name.clone(), change, diff: if self.changes() { self.diff() } else { String::new() } }
    }

    /// Writes it, whole or not at all.
    pub(crate) fn write(&self) -> Result<(), Failure> {
        if read(&self.path)? != self.before {
            let why = format!("{} was changed while it was shown", self.name);
            return Err(Failure::usage(why, "run the command again"));
        }
        let failed = |error: std::io::Error| {
            let why = format!("could not write {}: {error}", self.path);
            Failure::new(Kind::Internal, why, "make the folder writable, then run the command again")
        };
        let dir = self.path.parent().unwrap_or(Utf8Path::new("."));
        std::fs::create_dir_all(dir).map_err(failed)?;
        let mut temp = tempfile::NamedTempFile::new_in(dir).map_err(failed)?;
        temp.write_all(self.after.as_bytes()).map_err(failed)?;
        let mode = std::fs::metadata(&self.path).map(|data| data.permissions()).ok();
        let mode = mode.unwrap_or_else(|| std::os::unix::fs::PermissionsExt::from_mode(0o644));
        temp.as_file().set_permissions(mode).map_err(failed)?;
        temp.as_file().sync_all().map_err(failed)?;
        temp.persist(&self.path).map_err(|error| failed(error.error))?;
        Ok(())
    }
}

/// Follows links to the file itself; nothing outside of the worktree is ever written.
fn inside(top: &Utf8Path, name: &str) -> Result<Utf8PathBuf, Failure> {
    let path = top.join(name);
    let real = |path: &Utf8Path| path.canonicalize_utf8().ok();
    let mut there = path.as_path();
    let rest = loop {
        match real(there) {
            Some(real) => break real.join(path.strip_prefix(there).unwrap_or(Utf8Path::new(""))),
            // A link that leads nowhere is not followed into being.
            None if there.is_symlink() => return Err(outside(name)),
            None => there = there.parent().ok_or_else(|| outside(name))?,
        }
    };
    let rest = Utf8PathBuf::from(rest.as_str().trim_end_matches('/'));
    match real(top) {
        Some(top) if rest.starts_with(&top) => Ok(rest),
        Some(_) | None => Err(outside(name)),
    }
}

fn outside(name: &str) -> Failure {
    Failure::usage(
        format!("{name} is a link that leads out of the worktree"),
        "put a file in its place, then try again",
    )
}

fn read(path: &Utf8Path) -> Result<Option<String>, Failure> {
    let bad = |why: String| Failure::usage(format!("could not read {path}: {why}"), "mend the file, then try again");
    match std::fs::metadata(path) {
        Ok(data) if data.len() > LIMIT => return Err(bad(format!("it is larger than {LIMIT} bytes"))),
        Ok(_) | Err(_) => {}
    }
    match bounded::read(path) {
        Ok(bytes) => String::from_utf8(bytes).map(Some).map_err(|_| bad("it is not UTF-8".to_owned())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(bad(error.to_string())),
    }
}

/// Shows a change of a file.
pub(crate) fn diff(name: &str, before: Option<&str>, after: &str) -> String {
    let from = if before.is_some() { format!("a/{name}") } else { "/dev/null".to_owned() };
    let text = similar::TextDiff::from_lines(before.unwrap_or_default(), after);
    text.unified_diff().context_radius(3).header(&from, &format!("b/{name}")).to_string()
}

/// Asks once; without a terminal only a flag agrees.
pub(crate) fn agreed(cx: &Context, yes: bool, question: &str, refused: &str) -> Result<(), Failure> {
    if yes {
        return Ok(());
    }
    if !std::io::stderr().is_terminal() || !std::io::stdin().is_terminal() {
        return Err(Failure::usage(
            refused.to_owned(),
            "look at what is shown, then pass `--yes`; `--dry-run` only shows it",
        ));
    }
    let question = Confirm::new().with_prompt(prompter::asked_with(question, "Go on?")).default(false);
    match prompter::ask(&cx.signals, || question.interact_opt().ok().flatten()) {
        Some(true) => Ok(()),
        Some(false) | None => Err(Failure::usage("not agreed, nothing was done", "`--dry-run` only shows it")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn top() -> (tempfile::TempDir, Utf8PathBuf) {
        let temp = tempfile::tempdir().expect("a folder");
        let path = Utf8PathBuf::from_path_buf(temp.path().canonicalize().expect("a path")).expect("utf-8");
        (temp, path)
    }

    fn says(text: &str) -> impl FnOnce(Option<&str>) -> Result<String, Failure> {
        let text = text.to_owned();
        move |_| Ok(text)
    }

    #[test]
    fn a_file_is_made_with_its_folders_and_shown_first() {
        let (_temp, top) = top();
        let new = Proposal::new(&top, "a/b/c.md", says("one\n")).expect("a proposal");
        assert!(new.changes() && new.diff().contains("+one") && new.diff().contains("/dev/null"), "{}", new.diff());
        assert_eq!(new.view().change, "create");
        new.write().expect("written");
        assert_eq!(std::fs::read_to_string(top.join("a/b/c.md")).expect("a file"), "one\n");
        let again = Proposal::new(&top, "a/b/c.md", says("one\n")).expect("a proposal");
        assert_eq!((again.changes(), again.view().change, again.view().diff), (false, "none", String::new()));
    }

    #[test]
    fn what_changed_meanwhile_is_not_written_over() {
        let (_temp, top) = top();
        std::fs::write(top.join("f"), "old\n").expect("a file");
        let new = Proposal::new(&top, "f", says("new\n")).expect("a proposal");
        std::fs::write(top.join("f"), "somebody's\n").expect("a file");
        assert!(new.write().is_err());
        assert_eq!(std::fs::read_to_string(top.join("f")).expect("a file"), "somebody's\n");
    }

    #[test]
    fn links_are_followed_inside_and_refused_outside() {
        let (_temp, top) = top();
        let (_other, outside) = self::top();
        std::fs::write(top.join("CLAUDE.md"), "x\n").expect("a file");
        std::os::unix::fs::symlink("CLAUDE.md", top.join("AGENTS.md")).expect("a link");
        Proposal::new(&top, "AGENTS.md", says("y\n")).expect("a proposal").write().expect("written");
        assert!(top.join("AGENTS.md").is_symlink());
        assert_eq!(std::fs::read_to_string(top.join("CLAUDE.md")).expect("a file"), "y\n");
        for target in [outside.join("f"), outside.join("none/f")] {
            let link = top.join(format!("link{}", target.as_str().len()));
            std::os::unix::fs::symlink(&target, &link).expect("a link");
            let name = link.file_name().expect("a name").to_owned();
            assert!(Proposal::new(&top, &name, says("y\n")).is_err(), "{target}");
        }
        std::os::unix::fs::symlink(&outside, top.join("dir")).expect("a link");
        assert!(Proposal::new(&top, "dir/f", says("y\n")).is_err());
    }
}
