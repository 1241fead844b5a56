//! Talks to the remote: asks, fetches, pushes. Never forces, never skips a hook, never names a credential.

use super::run::{ASK_LIMIT, Output, TRANSFER_LIMIT};
use super::{GitWorktree, Push, failed};
use crate::ports::{GitError, Pushed};
use crate::review::ids::Sha;

/// Remote made for one command, where a branch is pushed to another address than it is fetched from.
const PUSH_SIDE: &str = "pushback-push-side";

impl GitWorktree {
    fn pushes_to(&self, what: &str) -> Result<&Push, GitError> {
        self.push.as_ref().ok_or_else(|| failed(what, "the pull request's branch is not known"))
    }

    /// Returns the address that pushes to a remote go to.
    pub(super) fn push_url(&self, remote: &str) -> Result<String, GitError> {
        let what = format!("read the address of remote {remote}");
        let output = self.git.call(&what).args(["remote", "get-url", "--push", "--", remote]).run()?;
        if output.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned());
        }
        let is_url = remote.contains(['/', ':']) && !remote.contains('@');
        if is_url { Ok(remote.to_owned()) } else { Err(failed(what, output.words())) }
    }

    /// Refuses to talk to a remote whose address was changed while the run was under way.
    fn unchanged(&self, what: &str) -> Result<&Push, GitError> {
        let push = self.pushes_to(what)?;
        if self.push_url(&push.remote)? == push.url {
            Ok(push)
        } else {
            Err(failed(what, format!("the address of remote {} was changed meanwhile", push.remote)))
        }
    }

    pub(super) fn ask_remote(&self) -> Result<Option<Sha>, GitError> {
        let push = self.unchanged("ask the remote for its branch")?;
        let what = format!("ask remote {} for branch {}", push.remote, push.branch);
        let full = format!("refs/heads/{}", push.branch);
        let fetched_from = self.git.call(&what).args(["remote", "get-url", "--", &push.remote]).run()?;
        let fetched_from = String::from_utf8_lossy(&fetched_from.stdout).trim_end().to_owned();
        let mut call = self.git.call(&what).network(ASK_LIMIT);
        let mut remote = push.remote.as_str();
        if !fetched_from.is_empty() && fetched_from != push.url {
            // By environment: the address may hold credentials and arguments are visible to everybody.
            call = call.private_config(&[(format!("remote.{PUSH_SIDE}.url"), push.url.clone())]);
            remote = PUSH_SIDE;
        }
        let data = call.args(["ls-remote", "--quiet", "--", remote, &full]).ok()?;
        let text = String::from_utf8_lossy(&data);
        let found = text.lines().filter_map(|l| l.split_once('\t')).find(|(_, name)| *name == full);
        found.map(|(id, _)| Sha::parse(id).map_err(|e| failed(what, e.to_string()))).transpose()
    }

    pub(super) fn fetch_commit(&self, sha: &Sha) -> Result<bool, GitError> {
        if self.has_commit(sha)? {
            return Ok(true);
        }
        let what = format!("fetch {}", sha.short());
        let push = self.unchanged(&what)?;
        let branch = format!("refs/heads/{}", push.branch);
        let mut last = None;
        // By id first; servers that do not allow that give the branch.
        for wanted in [sha.as_str(), &branch] {
            let args = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--"];
            let call = self.git.call(&what).network(TRANSFER_LIMIT).args(args).args([push.remote.as_str(), wanted]);
            let output = call.run()?;
            if self.has_commit(sha)? {
                return Ok(true);
            }
            last = Some(output);
        }
        match last {
            Some(output) if !output.success() && !says_not_there(&output.stderr) => Err(failed(what, output.words())),
            _ => Ok(false),
        }
    }

    pub(super) fn push_commit(&self, sha: &Sha) -> Result<Pushed, GitError> {
        let push = self.unchanged(&format!("push {}", sha.short()))?;
        let what = format!("push {} to branch {} of {}", sha.short(), push.branch, push.remote);
        let refspec = format!("{sha}:refs/heads/{}", push.branch);
        let args = ["push", "--porcelain", "--no-follow-tags", "--", &push.remote, &refspec];
        let output = self.git.call(&what).network(TRANSFER_LIMIT).args(args).run()?;
        let line = parse_porcelain(&output.stdout);
        Ok(match &line {
            Some((flag, _)) if output.success() && *flag != '!' => Pushed::Done,
            Some(('!', summary)) if summary.starts_with("[rejected]") => self.moved(sha, summary),
            Some(('!', summary)) if is_race(summary) => self.moved(sha, summary),
            Some(('!', summary)) if summary.starts_with("[remote failure]") => self.unclear(sha, &output),
            Some(('!', summary)) => Pushed::Refused(refusal(summary, &output)),
            _ if is_refusal(&output) => Pushed::Refused(output.words()),
            _ => self.unclear(sha, &output),
        })
    }

    /// The remote has another commit than we thought; which one, it says itself.
    fn moved(&self, sha: &Sha, summary: &str) -> Pushed {
        match self.ask_remote() {
            Ok(Some(head)) if head == *sha => Pushed::Done,
            Ok(head) => Pushed::Moved(head),
            Err(e) => Pushed::Unclear(format!("{summary}; {e}")),
        }
    }

    fn unclear(&self, sha: &Sha, output: &Output) -> Pushed {
        match self.ask_remote() {
            Ok(Some(head)) if head == *sha => Pushed::Done,
            _ => Pushed::Unclear(output.words()),
        }
    }
}

/// Reads the one ref line of `push --porcelain`: flag and summary.
fn parse_porcelain(data: &[u8]) -> Option<(char, String)> {
    let text = String::from_utf8_lossy(data);
    text.lines().find_map(|line| {
        let mut parts = line.splitn(3, '\t');
        let (flag, _, summary) = (parts.next()?, parts.next()?, parts.next()?);
        let mut chars = flag.chars();
        let flag = chars.next()?;
        (chars.next().is_none() && " +-*!=".contains(flag)).then(|| (flag, summary.trim().to_owned()))
    })
}

/// Tells whether the remote lost a race with another push.
fn is_race(summary: &str) -> bool {
    ["cannot lock ref", "failed to update ref", "incorrect old value", "fetch first", "non-fast-forward", "stale info"]
        .iter()
        .any(|w| summary.contains(w))
}

/// Tells whether git gave up before anything was sent, for a reason that trying again does not change.
fn is_refusal(output: &Output) -> bool {
    if output.timed_out || output.code.is_none() {
        return false;
    }
    let said = output.stderr.to_ascii_lowercase();
    let denied = [
        "permission denied",
        "permission to ",
        "access denied",
        "authentication failed",
        "could not read username",
        "could not read password",
        "requested url returned error: 403",
        "requested url returned error: 401",
        "repository not found",
        "write access to repository not granted",
        "host key verification failed",
    ];
    // A hook of the user's that refuses leaves no ref line and no `fatal:`.
    let hook = output.code == Some(1) && said.contains("failed to push some refs") && !said.contains("fatal:");
    hook || denied.iter().any(|w| said.contains(w))
}

/// Puts the remote's own words, hook output included, before the summary.
fn refusal(summary: &str, output: &Output) -> String {
    let lines = output.stderr.lines().filter_map(|l| l.strip_prefix("remote: ")).map(str::trim_end);
    let said: Vec<&str> = lines.filter(|l| !l.trim().is_empty()).collect();
    if said.is_empty() { summary.to_owned() } else { format!("{summary}: {}", said.join("; ")) }
}

fn says_not_there(stderr: &str) -> bool {
    ["not our ref", "couldn't find remote ref", "could not find remote ref", "unadvertised object"]
        .iter()
        .any(|w| stderr.contains(w))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ref_line_is_found() {
        let check = |text: &str, expected: Option<(char, &str)>| {
            let found = parse_porcelain(text.as_bytes());
            assert_eq!(found, expected.map(|(flag, s)| (flag, s.to_owned())), "{text:?}");
        };
        check("To x\n \ta:refs/heads/b\t1..2\nDone\n", Some((' ', "1..2")));
        check("To x\n!\ta:refs/heads/b\t[rejected] (fetch first)\nDone\n", Some(('!', "[rejected] (fetch first)")));
        check("To x\n=\ta:refs/heads/b\t[up to date]\nDone\n", Some(('=', "[up to date]")));
        check("hook\tsays\thello\n", None);
        check("", None);
    }

    #[test]
    fn refusals_are_told_from_failures_of_the_network() {
        let check = |code: i32, stderr: &str, expected: bool| {
            let output = Output { code: Some(code), stdout: Vec::new(), stderr: stderr.to_owned(), timed_out: false };
            assert_eq!(is_refusal(&output), expected, "{stderr}");
        };
        check(1, "no!\nerror: failed to push some refs to 'x'", true);
        check(128, "fatal: unable to access 'https://h/': The requested URL returned error: 403", true);
        check(128, "git@h: Permission denied (publickey).\nfatal: Could not read from remote repository.", true);
        check(128, "fatal: unable to access 'https://h/': Could not resolve host: h", false);
        check(1, "error: RPC failed; curl 56\nfatal: the remote end hung up\nerror: failed to push some refs", false);
    }
}
