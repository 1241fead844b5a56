//! Puts hooks into a folder and takes them out again without a trace. What was there is kept beside and chained.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;

use camino::{Utf8Path, Utf8PathBuf};

use super::script::{Event, KEPT, Script};
use super::{HookError, io};

/// First version of git that takes hooks from its configuration.
pub const CONFIG_HOOKS: (u32, u32) = (2, 54);
/// Longest script read.
const LIMIT: u64 = 1024 * 1024;

/// How the hooks are installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Named in the repository's configuration: no hook of anybody is in the way.
    Config,
    /// Files in git's hooks folder.
    Files,
    /// Not at all: the folder is part of the project's files.
    Line,
}

/// Chooses how.
pub fn method(version: (u32, u32), tracked: bool) -> Method {
    match (version >= CONFIG_HOOKS, tracked) {
        (true, true | false) => Method::Config,
        (false, true) => Method::Line,
        (false, false) => Method::Files,
    }
}

/// What lies in the place of a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// Nothing.
    Absent,
    /// A script of ours, and whether it hands on to one that was there before.
    Ours {
        /// The script.
        script: Script,
        /// The hook it hands on to.
        chained: Option<Utf8PathBuf>,
    },
    /// Somebody else's.
    Foreign,
}

/// Returns the place of a hook.
pub fn path(dir: &Utf8Path, event: Event) -> Utf8PathBuf {
    dir.join(event.name())
}

fn kept(dir: &Utf8Path, event: Event) -> Utf8PathBuf {
    dir.join(format!("{}{KEPT}", event.name()))
}

fn there(path: &Utf8Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

/// Looks at the place of a hook.
pub fn look(dir: &Utf8Path, event: Event) -> Found {
    let path = path(dir, event);
    let Ok(meta) = fs::symlink_metadata(&path) else { return Found::Absent };
    let text = if meta.is_file() && meta.len() <= LIMIT { fs::read(&path).ok() } else { None };
    let script = text.and_then(|bytes| Script::parse(&String::from_utf8_lossy(&bytes)));
    match script.filter(|script| script.event == event) {
        Some(script) => Found::Ours { script, chained: Some(kept(dir, event)).filter(|kept| there(kept)) },
        None => Found::Foreign,
    }
}

/// Puts a script in its place. Installing twice changes nothing; another repository that uses the folder is added.
pub fn put(dir: &Utf8Path, mut script: Script) -> Result<Found, HookError> {
    let event = script.event;
    let (path, kept) = (path(dir, event), kept(dir, event));
    let made = |other| matches!(look(dir, other), Found::Ours { script, .. } if script.made_folder);
    script.made_folder = !dir.is_dir() || Event::ALL.into_iter().any(made);
    match look(dir, event) {
        Found::Absent => {
            if !dir.is_dir() {
                fs::create_dir_all(dir).map_err(|e| io("create", dir, e))?;
            }
            write(&path, &script.text())?;
        }
        Found::Ours { script: former, .. } => {
            let others = former.repositories.into_iter().filter(|known| !script.repositories.contains(known));
            script.repositories.extend(others.collect::<Vec<_>>());
            script.repositories.sort();
            if fs::read_to_string(&path).ok().as_deref() != Some(script.text().as_str()) {
                write(&path, &script.text())?;
            }
        }
        Found::Foreign => {
            if there(&kept) {
                return Err(HookError::Twice { hook: path, kept });
            }
            fs::rename(&path, &kept).map_err(|e| io("keep", &path, e))?;
            if let Err(error) = write(&path, &script.text()) {
                // The hook that was there must stay in force.
                let _ = fs::rename(&kept, &path);
                return Err(error);
            }
        }
    }
    Ok(look(dir, event))
}

/// What taking out came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Taken {
    /// There was nothing of ours.
    Nothing,
    /// It is gone, and the hook that was there before is back where there was one.
    Gone,
    /// Other repositories still use it.
    Shared,
    /// Somebody else's hook took our place; the one we kept lies beside.
    Overwritten {
        /// The hook we kept.
        kept: Utf8PathBuf,
    },
}

/// Takes a script out for one repository.
pub fn take(dir: &Utf8Path, event: Event, common_dir: &Utf8Path) -> Result<Taken, HookError> {
    let (path, kept) = (path(dir, event), kept(dir, event));
    let mut script = match look(dir, event) {
        Found::Absent if there(&kept) => {
            fs::rename(&kept, &path).map_err(|e| io("put back", &kept, e))?;
            return Ok(Taken::Gone);
        }
        Found::Absent => return Ok(Taken::Nothing),
        Found::Foreign if there(&kept) => return Ok(Taken::Overwritten { kept }),
        Found::Foreign => return Ok(Taken::Nothing),
        Found::Ours { script, .. } => script,
    };
    script.repositories.retain(|known| known != common_dir);
    if !script.repositories.is_empty() {
        write(&path, &script.text())?;
        return Ok(Taken::Shared);
    }
    if there(&kept) {
        // In one step: at no moment is the hook that was there out of force.
        fs::rename(&kept, &path).map_err(|e| io("put back", &kept, e))?;
    } else {
        fs::remove_file(&path).map_err(|e| io("remove", &path, e))?;
    }
    if script.made_folder {
        // Not empty any more: somebody else's.
        let _ = fs::remove_dir(dir);
    }
    Ok(Taken::Gone)
}

fn write(path: &Utf8Path, text: &str) -> Result<(), HookError> {
    let dir = path.parent().unwrap_or(path);
    let put = || -> std::io::Result<()> {
        let mut file = tempfile::Builder::new()
            .prefix(".pushback-tmp-")
            .permissions(fs::Permissions::from_mode(0o755))
            .tempfile_in(dir)?;
        file.write_all(text.as_bytes())?;
        file.as_file().set_permissions(fs::Permissions::from_mode(0o755))?;
        file.persist(path).map_err(|e| e.error)?;
        Ok(())
    };
    put().map_err(|e| io("write", path, e))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(event: Event, repository: &str) -> Script {
        Script {
            event,
            program: "/opt/pushback".into(),
            repositories: vec![repository.into()],
            blind: Vec::new(),
            made_folder: false,
        }
    }

    fn dir() -> (tempfile::TempDir, Utf8PathBuf) {
        let temp = tempfile::tempdir().expect("a folder");
        let dir = Utf8PathBuf::from_path_buf(temp.path().join("hooks")).expect("utf-8");
        (temp, dir)
    }

    #[test]
    fn how_hooks_are_installed() {
        let check = |version, tracked, expected| assert_eq!(method(version, tracked), expected);
        check((2, 39), false, Method::Files);
        check((2, 53), true, Method::Line);
        check((2, 54), true, Method::Config);
        check((3, 0), false, Method::Config);
    }

    #[test]
    fn what_was_there_is_chained_and_comes_back_byte_for_byte() {
        let (_temp, dir) = dir();
        fs::create_dir(&dir).expect("a folder");
        let event = Event::PrePush;
        let former = "#!/bin/sh\nexit 3\n";
        fs::write(path(&dir, event), former).expect("a file");
        fs::set_permissions(path(&dir, event), fs::Permissions::from_mode(0o744)).expect("a mode");
        let found = put(&dir, script(event, "/a")).expect("installs");
        assert!(
            matches!(&found, Found::Ours { chained: Some(kept), .. } if kept.as_str().ends_with(KEPT)),
            "{found:?}"
        );
        let once = fs::read(path(&dir, event)).expect("a file");
        assert_eq!(put(&dir, script(event, "/a")).expect("installs again"), found);
        assert_eq!(fs::read(path(&dir, event)).expect("a file"), once, "idempotent");
        assert_eq!(take(&dir, event, "/a".into()).expect("removes"), Taken::Gone);
        assert_eq!(fs::read_to_string(path(&dir, event)).expect("a file"), former);
        let mode = fs::metadata(path(&dir, event)).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o744);
        assert_eq!(fs::read_dir(&dir).expect("a folder").count(), 1);
        assert_eq!(take(&dir, event, "/a".into()).expect("nothing"), Taken::Nothing);
    }

    #[test]
    fn a_folder_of_several_repositories_keeps_the_hook_until_the_last_leaves() {
        let (_temp, dir) = dir();
        let event = Event::ReferenceTransaction;
        put(&dir, script(event, "/b")).expect("installs");
        put(&dir, script(Event::PrePush, "/b")).expect("installs");
        assert_eq!(take(&dir, event, "/b".into()).expect("leaves"), Taken::Gone);
        assert_eq!(take(&dir, Event::PrePush, "/b".into()).expect("leaves"), Taken::Gone);
        assert!(!dir.exists(), "whichever leaves last");
        put(&dir, script(event, "/b")).expect("installs");
        put(&dir, script(event, "/a")).expect("installs");
        assert!(
            matches!(look(&dir, event), Found::Ours { script, .. } if script.is_for("/a".into()) && script.is_for("/b".into()))
        );
        assert_eq!(take(&dir, event, "/a".into()).expect("leaves"), Taken::Shared);
        assert_eq!(take(&dir, event, "/b".into()).expect("leaves"), Taken::Gone);
        assert!(!dir.exists(), "the folder was made by us");
    }

    #[test]
    fn somebody_elses_hook_is_never_lost() {
        let (_temp, dir) = dir();
        fs::create_dir(&dir).expect("a folder");
        let event = Event::PrePush;
        fs::write(path(&dir, event), "one").expect("a file");
        put(&dir, script(event, "/a")).expect("installs");
        fs::write(path(&dir, event), "two").expect("another tool installs its own");
        assert!(matches!(put(&dir, script(event, "/a")), Err(HookError::Twice { .. })));
        assert!(matches!(take(&dir, event, "/a".into()), Ok(Taken::Overwritten { .. })));
        assert_eq!(fs::read_to_string(kept(&dir, event)).expect("a file"), "one");
        assert_eq!(fs::read_to_string(path(&dir, event)).expect("a file"), "two");
    }
}
