//! What the post-push hook has to know of git: where hooks lie, what git can do, and whether a ref was moved by a push.
//! Installs nothing and decides nothing.

use camino::{Utf8Path, Utf8PathBuf};

use super::discover::{Config, address_as_remote, remote, without_userinfo};
use super::run::ASK_LIMIT;
use super::{GitWorktree, Remote, failed};
use crate::ports::GitError;
use crate::review::ids::Sha;

/// Remote made for one question, so that an address is no argument.
const ASKED: &str = "pushback-asked";
/// What git writes into the log of a remote-tracking branch that a push moved.
const BY_PUSH: &str = "update by push";
/// Newest log entries looked at: a fetch may have come right after the push.
const LOOKED_AT: &str = "20";

/// Where hooks lie and what this git can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookFacts {
    /// Version of git.
    pub version: (u32, u32),
    /// The folder git looks into from this worktree.
    pub dir: Utf8PathBuf,
    /// True when `core.hooksPath` names it.
    pub configured: bool,
    /// True when that is said in the user's or the system's file, for every repository.
    pub for_all: bool,
    /// True when what is put there is, or would be, part of a worktree's files.
    pub tracked: bool,
    /// Remotes whose pushes move no remote-tracking branch.
    pub blind: Vec<String>,
}

/// What the log of a remote-tracking branch says of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogTail {
    /// A push brought it, at this second.
    Push(i64),
    /// Something else did.
    Other,
    /// There is no log.
    None,
}

/// Where a remote-tracking branch comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Landed {
    /// Remote.
    pub remote: Remote,
    /// Branch there.
    pub branch: String,
}

impl GitWorktree {
    /// Looks at hooks and their configuration.
    pub fn hook_facts(&self) -> Result<HookFacts, GitError> {
        let version = version(&self.git.call("ask git for its version").args(["version"]).line()?);
        let config = self.config()?;
        let call = self.git.call("ask git for its hooks folder");
        let dir = call.args(["rev-parse", "--path-format=absolute", "--git-path", "hooks"]).line()?;
        let dir = Utf8PathBuf::from(dir);
        let scope = ["config", "--show-scope", "--get", "core.hooksPath"];
        let scope = self.git.call("ask git for core.hooksPath").args(scope).run()?;
        let scope = String::from_utf8_lossy(&scope.stdout).into_owned();
        let tracked = self.would_be_tracked(&dir.join("reference-transaction"))?;
        Ok(HookFacts {
            version: version.ok_or_else(|| failed("ask git for its version", "it said none"))?,
            configured: !scope.is_empty(),
            for_all: scope.starts_with("global\t") || scope.starts_with("system\t"),
            tracked,
            blind: blind(&config),
            dir,
        })
    }

    /// Tells whether a file belongs to a worktree's files, or would be taken by `git add`.
    fn would_be_tracked(&self, file: &Utf8Path) -> Result<bool, GitError> {
        let Some(there) = file.ancestors().skip(1).find(|dir| dir.is_dir()) else { return Ok(false) };
        let call = |args: &[&str]| self.git.call(format!("look at {there}")).dir(there).args(args).run();
        let inside = call(&["rev-parse", "--is-inside-work-tree"])?;
        if !inside.success() || inside.stdout.trim_ascii() != b"true" {
            return Ok(false);
        }
        if call(&["ls-files", "--error-unmatch", "--", file.as_str()])?.success() {
            return Ok(true);
        }
        Ok(!call(&["check-ignore", "--quiet", "--", file.as_str()])?.success())
    }

    /// Says what the log of a remote-tracking branch tells of a commit that it was moved to.
    pub fn log_tail(&self, refname: &str, sha: &Sha) -> Result<LogTail, GitError> {
        let call = self.git.call(format!("read the log of {refname}"));
        let format = ["log", "-g", "-n", LOOKED_AT, "--date=unix", "--format=%H%x09%gd%x09%gs", refname, "--"];
        let output = call.args(format).run()?;
        Ok(tail(&String::from_utf8_lossy(&output.stdout), sha))
    }

    /// Returns the commit of a ref; `None` when it is not there.
    pub fn commit_of(&self, refname: &str) -> Result<Option<Sha>, GitError> {
        let call = self.git.call(format!("read {refname}"));
        let output = call.args(["rev-parse", "--verify", "--quiet", "--end-of-options", refname]).run()?;
        Ok(Sha::parse(String::from_utf8_lossy(&output.stdout).trim()).ok())
    }

    /// Says which branches of which remotes are tracked by this ref.
    pub fn landed(&self, refname: &str) -> Result<Vec<Landed>, GitError> {
        let config = self.config()?;
        let mut found = Vec::new();
        for name in config.remote_names() {
            let specs = config.all(&format!("remote.{name}.fetch"));
            let branch = specs.iter().find_map(|spec| source_of(spec, refname));
            if let (Some(branch), Some(remote)) = (branch, remote(&config, &name)) {
                found.push(Landed { remote, branch });
            }
        }
        Ok(found)
    }

    /// Returns the refs that track a branch of a remote.
    pub fn tracking(&self, remote: &str, branch: &str) -> Result<Vec<String>, GitError> {
        let config = self.config()?;
        let specs = config.all(&format!("remote.{remote}.fetch"));
        Ok(specs.iter().filter_map(|spec| target_of(spec, branch)).collect())
    }

    /// Returns a configured remote, or what an address says of itself; credentials in it are dropped.
    pub fn remote_for(&self, name_or_address: &str) -> Result<Option<Remote>, GitError> {
        let config = self.config()?;
        Ok(remote(&config, name_or_address).or_else(|| address_as_remote(&config, &without_userinfo(name_or_address))))
    }

    /// Asks the place that pushes to a remote or an address go to for a branch.
    pub fn branch_at(&self, target: &str, branch: &str) -> Result<Option<Sha>, GitError> {
        let what = format!("ask the remote for branch {branch}");
        let named = !self.config()?.all(&format!("remote.{target}.url")).is_empty();
        let address = if named { self.push_url(target)? } else { target.to_owned() };
        let full = format!("refs/heads/{branch}");
        let call = self.git.call(&what).network(ASK_LIMIT);
        let call = call.private_config(&[(format!("remote.{ASKED}.url"), address)]);
        let data = call.args(["ls-remote", "--quiet", "--", ASKED, &full]).ok()?;
        let text = String::from_utf8_lossy(&data);
        let line = text.lines().filter_map(|line| line.split_once('\t')).find(|(_, name)| *name == full);
        Ok(line.and_then(|(id, _)| Sha::parse(id).ok()))
    }

    /// Returns the local branches at a commit.
    pub fn branches_at(&self, sha: &Sha) -> Result<Vec<String>, GitError> {
        let call = self.git.call(format!("list the branches at {}", sha.short()));
        let data =
            call.args(["for-each-ref", "--format=%(refname:lstrip=2)", "--points-at", sha.as_str(), "refs/heads"]);
        Ok(String::from_utf8_lossy(&data.ok()?).lines().map(str::to_owned).collect())
    }

    /// Returns the values of a key of the repository's own configuration.
    pub fn own_config(&self, key: &str) -> Result<Vec<String>, GitError> {
        let call = self.git.call(format!("read {key}"));
        let output = call.args(["config", "--local", "-z", "--get-all", key]).run()?;
        let values = output.stdout.split(|byte| *byte == 0).filter(|value| !value.is_empty());
        Ok(values.map(|value| String::from_utf8_lossy(value).into_owned()).collect())
    }

    /// Adds a value to the repository's own configuration.
    pub fn add_own_config(&self, key: &str, value: &str) -> Result<(), GitError> {
        self.git.call(format!("set {key}")).args(["config", "--local", "--add", key, value]).ok().map(drop)
    }

    /// Removes a section of the repository's own configuration.
    pub fn drop_own_section(&self, section: &str) -> Result<(), GitError> {
        let call = self.git.call(format!("remove the section {section}"));
        call.args(["config", "--local", "--remove-section", section]).ok().map(drop)
    }

    /// Makes a worktree at a commit, on no branch. No hook of the user's has business with it.
    pub fn add_tree(&self, dir: &Utf8Path, sha: &Sha) -> Result<(), GitError> {
        let call = self.git.call(format!("make a worktree at {}", sha.short())).config("core.hooksPath=/dev/null");
        call.args(["worktree", "add", "--quiet", "--force", "--detach", dir.as_str(), sha.as_str()]).ok().map(drop)
    }

    /// Removes a worktree and what is left in it; one that is not there is removed already.
    pub fn drop_tree(&self, dir: &Utf8Path) -> Result<(), GitError> {
        let call = || self.git.call(format!("remove the worktree {dir}"));
        if dir.exists() {
            call().args(["worktree", "remove", "--force", "--force", dir.as_str()]).ok()?;
        }
        call().args(["worktree", "prune"]).ok().map(drop)
    }
}

/// Reads `git version 2.47.3 (Apple …)`.
pub fn version(text: &str) -> Option<(u32, u32)> {
    let number = text.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()))?;
    let mut parts = number.split('.').map(str::parse);
    Some((parts.next()?.ok()?, parts.next()?.ok()?))
}

fn tail(log: &str, sha: &Sha) -> LogTail {
    let mut found = LogTail::None;
    for line in log.lines() {
        let mut parts = line.splitn(3, '\t');
        let (Some(id), Some(at), Some(said)) = (parts.next(), parts.next(), parts.next()) else { continue };
        if id == sha.as_str() && said == BY_PUSH {
            let seconds = at.rsplit_once("@{").and_then(|(_, at)| at.trim_end_matches('}').parse().ok());
            return LogTail::Push(seconds.unwrap_or_default());
        }
        found = LogTail::Other;
    }
    found
}

/// Takes a fetch refspec apart: source and target; `None` for one that maps nothing.
fn sides(spec: &str) -> Option<(&str, &str)> {
    spec.strip_prefix('+').unwrap_or(spec).split_once(':').filter(|(from, to)| !from.is_empty() && !to.is_empty())
}

fn mapped<'a>(from: &str, to: &str, name: &'a str) -> Option<std::borrow::Cow<'a, str>> {
    match (from.split_once('*'), to.split_once('*')) {
        (Some((before, after)), Some((start, end))) => {
            let middle = name.strip_prefix(before)?.strip_suffix(after)?;
            Some(format!("{start}{middle}{end}").into())
        }
        (None, None) => (from == name).then(|| to.to_owned().into()),
        (Some(_), None) | (None, Some(_)) => None,
    }
}

/// Returns the branch of the remote that a refspec stores in this ref.
fn source_of(spec: &str, refname: &str) -> Option<String> {
    let (from, to) = sides(spec)?;
    mapped(to, from, refname)?.strip_prefix("refs/heads/").map(str::to_owned)
}

/// Returns the ref in which a refspec stores this branch of the remote.
fn target_of(spec: &str, branch: &str) -> Option<String> {
    let (from, to) = sides(spec)?;
    mapped(from, to, &format!("refs/heads/{branch}")).map(std::borrow::Cow::into_owned)
}

/// Names the remotes of which a push leaves no trace below `refs/remotes`.
fn blind(config: &Config) -> Vec<String> {
    let traced = |name: &String| {
        let specs = config.all(&format!("remote.{name}.fetch"));
        specs.iter().filter_map(|spec| target_of(spec, "any")).any(|target| target.starts_with("refs/remotes/"))
    };
    config.remote_names().into_iter().filter(|name| !traced(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_git_are_read() {
        let check = |text: &str, expected: Option<(u32, u32)>| assert_eq!(version(text), expected, "{text}");
        check("git version 2.47.3", Some((2, 47)));
        check("git version 2.39.5 (Apple Git-154)", Some((2, 39)));
        check("git version 2.54.0.rc1", Some((2, 54)));
        check("git version 3.0", Some((3, 0)));
        check("git version 2.36.0.windows.1", Some((2, 36)));
        check("git version", None);
        check("git version 2", None);
        check("git", None);
    }

    #[test]
    fn refspecs_are_followed_both_ways() {
        let check = |spec: &str, refname: &str, branch: Option<&str>| {
            assert_eq!(source_of(spec, refname).as_deref(), branch, "{spec} {refname}");
            if let Some(branch) = branch {
                assert_eq!(target_of(spec, branch).as_deref(), Some(refname), "{spec} {branch}");
            }
        };
        let all = "+refs/heads/*:refs/remotes/origin/*";
        check(all, "refs/remotes/origin/feature", Some("feature"));
        check(all, "refs/remotes/origin/a/b", Some("a/b"));
        check(all, "refs/remotes/other/feature", None);
        check("refs/heads/main:refs/remotes/origin/main", "refs/remotes/origin/main", Some("main"));
        check("refs/heads/main:refs/remotes/origin/main", "refs/remotes/origin/dev", None);
        check("+refs/heads/me/*:refs/remotes/o/*/x", "refs/remotes/o/f/x", Some("me/f"));
        check("+refs/pull/*/head:refs/remotes/origin/pr/*", "refs/remotes/origin/pr/7", None);
        check("refs/heads/main", "refs/remotes/origin/main", None);
    }

    #[test]
    fn only_a_push_of_this_commit_is_one() {
        let (one, two) = ("1".repeat(40), "2".repeat(40));
        let sha = Sha::parse(&one).expect("a sha");
        let check = |log: &str, expected: LogTail| {
            let log = log.replace("ONE", &one).replace("TWO", &two);
            assert_eq!(tail(&log, &sha), expected, "{log}");
        };
        check("", LogTail::None);
        check("ONE\to/f@{17}\tupdate by push\n", LogTail::Push(17));
        check("ONE\to/f@{18}\tfetch origin: fast-forward\n", LogTail::Other);
        check("TWO\to/f@{19}\tfetch\nONE\to/f@{18}\tupdate by push\n", LogTail::Push(18));
        check("TWO\to/f@{19}\tupdate by push\n", LogTail::Other);
    }

    #[test]
    fn remotes_without_tracking_branches_are_named() {
        let data = "remote.a.url\nu\0remote.a.fetch\n+refs/heads/*:refs/remotes/a/*\0remote.b.url\nu\0\
                    remote.c.url\nu\0remote.c.fetch\n+refs/*:refs/*\0";
        assert_eq!(blind(&Config::parse(data.as_bytes())), ["b", "c"]);
    }
}
