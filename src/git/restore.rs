//! Puts things back: files, refs, configuration, the whole worktree. What a ref loses is first kept on a ref of ours.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Write as _};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::picture::{Kept, Ref, collect_hooks, keep, key, nul_separated};
use super::read::os;
use super::{GitWorktree, OUR_REFS, failed};
use crate::ports::GitError;
use crate::review::ids::{RepoPath, Sha};
use crate::review::picture::Picture;

impl GitWorktree {
    pub(super) fn restore_paths(&self, at: &Sha, paths: &[RepoPath]) -> Result<(), GitError> {
        let (mut there, mut gone) = (Vec::new(), Vec::new());
        for path in paths {
            check_inside(path)?;
            let known = self.entry_at(at, path)?.is_some();
            if known { there.push(path.clone()) } else { gone.push(path) }
        }
        for path in gone {
            self.remove_file(path)?;
        }
        if there.is_empty() {
            return Ok(());
        }
        let source = format!("--source={at}");
        let call = self.git.call(format!("put files back to {}", at.short())).args([
            "--literal-pathspecs",
            "restore",
            &source,
            "--worktree",
            "--pathspec-from-file=-",
            "--pathspec-file-nul",
        ]);
        call.stdin(nul_separated(&there)).ok().map(drop)
    }

    pub(super) fn reset_to(&self, to: &Sha, untracked: &[RepoPath]) -> Result<(), GitError> {
        let what = format!("put the worktree back to {}", to.short());
        self.quit_operation()?;
        let head = self.read_facts()?.head;
        if self.ancestry(&head, to)? != Some(true) {
            self.set_aside(&head)?;
        }
        self.git.call(what).args(["reset", "--hard", "--quiet", to.as_str()]).ok()?;
        for path in untracked {
            check_inside(path)?;
            if self.entry_at(to, path)?.is_none() {
                self.remove_file(path)?;
            }
        }
        Ok(())
    }

    fn quit_operation(&self) -> Result<(), GitError> {
        let Some(operation) = self.read_facts()?.operation else { return Ok(()) };
        let commands: &[&[&str]] = match operation.as_str() {
            "rebase" => &[&["rebase", "--quit"], &["am", "--quit"]],
            "cherry-pick" => &[&["cherry-pick", "--quit"], &["revert", "--quit"]],
            "bisect" => &[&["bisect", "reset", "HEAD"]],
            // A merge and a single revert end with the reset.
            _ => &[],
        };
        for command in commands {
            // Only one of them fits; the reset that follows tells whether something is left.
            self.git.call(format!("end the {operation}")).args(*command).run()?;
        }
        Ok(())
    }

    /// Keeps a commit that is about to lose its ref, unless one of ours holds it.
    pub(super) fn set_aside(&self, commit: &Sha) -> Result<(), GitError> {
        let contains = format!("--contains={commit}");
        let held =
            self.git.call("look for kept commits").args(["for-each-ref", "--count=1", &contains, OUR_REFS]).run()?;
        if held.success() && !held.stdout.is_empty() {
            return Ok(());
        }
        let name = format!("{OUR_REFS}set-aside/{}", commit.short());
        let call = self.git.call(format!("keep {} on {name}", commit.short()));
        call.args(["update-ref", "--create-reflog", &name, commit.as_str()]).ok().map(drop)
    }

    pub(super) fn restore_refs(&self, picture: &Picture) -> Result<(), GitError> {
        let surroundings = self.restore_surroundings(picture);
        self.restore_head(picture)?;
        let now: BTreeMap<String, Ref> = self.refs()?.into_iter().map(|r| (r.name.clone(), r)).collect();
        let (mut deleted, mut updated) = (Vec::new(), Vec::new());
        for (name, found) in now.iter().filter(|(_, r)| !r.symbolic && !r.elsewhere) {
            match picture.refs.get(name) {
                Some(target) if *target == found.target => {}
                // What other programs fetch or stash meanwhile is not undone: nothing here relies on it.
                _ if name.starts_with("refs/remotes/") || name == "refs/stash" => {}
                Some(target) => {
                    self.set_aside(&found.target)?;
                    updated.extend(command("update", name, Some(target), &found.target));
                }
                None => {
                    self.set_aside(&found.target)?;
                    deleted.extend(command("delete", name, None, &found.target));
                }
            }
        }
        for (name, target) in picture.refs.iter().filter(|(name, _)| !now.contains_key(*name)) {
            updated.extend(format!("create {name}\0{target}\0").as_bytes());
        }
        // Deletions first: `a` cannot come back while `a/b` is there.
        for commands in [deleted, updated].into_iter().filter(|c| !c.is_empty()) {
            self.git.call("put the refs back").args(["update-ref", "-z", "--stdin"]).stdin(commands).ok()?;
        }
        surroundings
    }

    fn restore_head(&self, picture: &Picture) -> Result<(), GitError> {
        let status = self.status()?;
        if status.branch == picture.branch && (picture.branch.is_some() || status.head.as_ref() == Some(&picture.head))
        {
            return Ok(());
        }
        if let (None, Some(head)) = (&status.branch, &status.head) {
            self.set_aside(head)?;
        }
        let call = self.git.call("put HEAD back");
        match &picture.branch {
            Some(branch) => call.args(["symbolic-ref", "HEAD", &format!("refs/heads/{branch}")]).ok(),
            None => call.args(["update-ref", "--no-deref", "HEAD", picture.head.as_str()]).ok(),
        }
        .map(drop)
    }

    fn restore_surroundings(&self, picture: &Picture) -> Result<(), GitError> {
        let wanted = key(&picture.config, &picture.remotes, &picture.hooks);
        let what = "put configuration and hooks back";
        // A configuration that git cannot even read is put back all the same.
        let now = self.surroundings(picture.branch.as_deref());
        if now.as_ref().is_ok_and(|now| now.key() == wanted) {
            return Ok(());
        }
        let known = self.seen.lock().ok().and_then(|seen| seen.get(&wanted).cloned());
        let known = known.ok_or_else(|| failed(what, "they were changed, and no copy of the former ones is known"))?;
        let mut hooks = BTreeMap::new();
        collect_hooks(&known.hooks_dir, 0, &mut hooks);
        for path in hooks.keys().filter(|p| !known.files.contains_key(*p)) {
            std::fs::remove_file(path).map_err(|e| failed(what, format!("{}: {e}", path.display())))?;
        }
        for (path, kept) in &known.files {
            // A folder in the place of `.git` is the repository itself.
            if keep(path) != *kept && !path.is_dir() {
                write_back(path, kept).map_err(|e| failed(what, format!("{}: {e}", path.display())))?;
            }
        }
        let hidden = self.surroundings(picture.branch.as_deref())?.hidden;
        let newly: Vec<RepoPath> = hidden.difference(&known.hidden).cloned().collect();
        self.unhide(&newly)?;
        let after = self.surroundings(picture.branch.as_deref())?;
        // A file of the user's own may lead git to other hooks: nothing here can take that back, but it is watched.
        let led_away = after.config == known.config && after.hooks_dir != known.hooks_dir;
        let same = after.key() == wanted || (led_away && after.remotes == known.remotes);
        if same { Ok(()) } else { Err(failed(what, "they still differ")) }
    }

    /// Removes a file or link of the worktree and the folders that become empty; never follows a link.
    fn remove_file(&self, path: &RepoPath) -> Result<(), GitError> {
        let Some(full) = self.in_worktree(path) else { return Ok(()) };
        if std::fs::symlink_metadata(&full).is_ok_and(|m| m.is_dir()) {
            // A repository of its own, or a folder made since: not a file that was seen.
            return Ok(());
        }
        match std::fs::remove_file(&full) {
            Ok(()) => {}
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
            Err(e) => return Err(failed(format!("remove {path}"), e.to_string())),
        }
        let parents = full.ancestors().skip(1).take_while(|p| *p != self.toplevel.as_std_path());
        for parent in parents {
            // Fails where something is left in it, which is when to stop.
            if std::fs::remove_dir(parent).is_err() {
                break;
            }
        }
        Ok(())
    }
}

fn command(verb: &str, name: &str, new: Option<&Sha>, old: &Sha) -> Vec<u8> {
    let new = new.map(|sha| format!("{sha}\0")).unwrap_or_default();
    format!("{verb} {name}\0{new}{old}\0").into_bytes()
}

/// Refuses a path that could leave the worktree or reach into git's folder.
fn check_inside(path: &RepoPath) -> Result<(), GitError> {
    let trimmed = path.as_bytes().strip_suffix(b"/").unwrap_or(path.as_bytes());
    let bad = |p: &[u8]| matches!(p, b"" | b"." | b"..") || p.eq_ignore_ascii_case(b".git") || p.contains(&0);
    if trimmed.split(|b| *b == b'/').any(bad) {
        return Err(failed(format!("touch {path}"), "it is no path inside the worktree"));
    }
    debug_assert_eq!(os(path).as_bytes(), path.as_bytes());
    Ok(())
}

fn write_back(path: &Path, kept: &Kept) -> std::io::Result<()> {
    let Some((mode, data)) = kept else {
        return match std::fs::remove_file(path) {
            Err(e) if e.kind() != ErrorKind::NotFound => Err(e),
            _ => Ok(()),
        };
    };
    let dir = path.parent().unwrap_or(path);
    std::fs::create_dir_all(dir)?;
    if *mode == 0 {
        let _ = std::fs::remove_file(path);
        return std::os::unix::fs::symlink(std::ffi::OsStr::from_bytes(data), path);
    }
    let mut file = tempfile::NamedTempFile::new_in(dir)?;
    file.write_all(data)?;
    file.as_file().set_permissions(std::fs::Permissions::from_mode(*mode))?;
    file.as_file().sync_all()?;
    file.persist(path).map(drop).map_err(|e| e.error)
}
