//! Finds what a worktree is about: HEAD, remotes with host and repository, where its branch is pushed to.
//! Asks no network. Which pull request it is, is not decided here.

use std::collections::BTreeMap;
use std::process::Command;
use std::thread;
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};

use super::plain::{self, Around};
use super::run::Git;
use super::{GitWorktree, failed};
use crate::ports::GitError;
use crate::process::bounded;
use crate::review::ids::{RepoSlug, Sha};

/// Where HEAD is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Head {
    /// On a branch.
    Branch {
        /// Its short name.
        name: String,
        /// Its commit.
        sha: Sha,
    },
    /// On a commit.
    Detached(Sha),
    /// On a branch without a commit.
    Unborn(String),
}

/// One remote. Addresses are shown without userinfo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remote {
    /// Name in git's configuration.
    pub name: String,
    /// Address as configured, before `insteadOf`.
    pub url: String,
    /// Host as the forge is known by; `None` for a folder.
    pub host: Option<String>,
    /// Repository, where the address names one.
    pub slug: Option<RepoSlug>,
    /// Repository that pushes go to, where that is another one.
    pub push_slug: Option<RepoSlug>,
    /// True when `gh` was told that pull requests are made against this one.
    pub base: bool,
}

/// Which remote the branch is pushed to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PushTarget {
    /// This one.
    One(Remote),
    /// It cannot be told; these are possible.
    Several(Vec<Remote>),
    /// There is no remote.
    None,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Discovered {
    /// Top of the worktree.
    pub toplevel: Utf8PathBuf,
    /// git's folder of this worktree.
    pub git_dir: Utf8PathBuf,
    /// Folder shared by all worktrees.
    pub common_dir: Utf8PathBuf,
    /// HEAD.
    pub head: Head,
    /// All remotes, by name.
    pub remotes: Vec<Remote>,
    /// Where the branch goes.
    pub push: PushTarget,
    /// Name of the branch on that remote.
    pub remote_branch: Option<String>,
    /// Pull request that the branch was checked out from, where its configuration says so.
    pub pull: Option<u64>,
}

/// git's configuration by key, values in order; sections and names are lower case, subsections as written.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Config(BTreeMap<String, Vec<String>>);

impl Config {
    pub(super) fn parse(data: &[u8]) -> Self {
        let mut config = Self::default();
        for entry in data.split(|b| *b == 0).filter(|e| !e.is_empty()) {
            let text = String::from_utf8_lossy(entry);
            let (key, value) = text.split_once('\n').unwrap_or((&text, ""));
            config.add(key.to_owned(), value.to_owned());
        }
        config
    }

    /// Adds a value behind those that a key has.
    pub(super) fn add(&mut self, key: String, value: String) {
        self.0.entry(key).or_default().push(value);
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Returns what stands in for prefixes of addresses, by a kind of rule: base and prefix.
    pub(super) fn instead_of(&self, kind: &str) -> Vec<(&str, &str)> {
        let bases =
            self.0.iter().filter_map(|(key, prefixes)| Some((key.strip_prefix("url.")?.strip_suffix(kind)?, prefixes)));
        bases.flat_map(|(base, prefixes)| prefixes.iter().map(move |prefix| (base, prefix.as_str()))).collect()
    }

    /// Returns the value in force.
    fn last(&self, key: &str) -> Option<&str> {
        self.0.get(key)?.last().map(String::as_str).filter(|v| !v.is_empty())
    }

    fn first(&self, key: &str) -> Option<&str> {
        self.0.get(key)?.first().map(String::as_str).filter(|v| !v.is_empty())
    }

    pub(super) fn remote_names(&self) -> Vec<String> {
        let names = self.0.keys().filter_map(|k| k.strip_prefix("remote.")?.strip_suffix(".url"));
        names.map(str::to_owned).collect()
    }

    /// Returns every value of a key.
    pub(super) fn all(&self, key: &str) -> &[String] {
        self.0.get(key).map(Vec::as_slice).unwrap_or_default()
    }

    /// Applies the longest fitting `insteadOf`.
    fn rewritten(&self, url: &str) -> Option<String> {
        let rules = self.0.iter().filter_map(|(key, prefixes)| {
            let base = key.strip_prefix("url.")?.strip_suffix(".insteadof")?;
            let prefix = prefixes.iter().filter(|p| url.starts_with(p.as_str())).max_by_key(|p| p.len())?;
            Some((base, prefix))
        });
        let (base, prefix) = rules.max_by_key(|(_, prefix)| prefix.len())?;
        Some(format!("{base}{}", url.strip_prefix(prefix.as_str())?))
    }
}

/// Looks around from a folder.
pub fn discover(dir: &Utf8Path) -> Result<Discovered, GitError> {
    GitWorktree::open(dir)?.discover()
}

impl GitWorktree {
    /// Opens the worktree that holds this folder and tells what it is about: both questions are put to git at once.
    pub fn open_and_discover(dir: &Utf8Path) -> Result<(Self, Result<Discovered, GitError>), GitError> {
        if let Some(plain) = plain::look(dir, &Around::process()) {
            let mut tree = Self::at("git", dir, [plain.toplevel, plain.git_dir, plain.common_dir]);
            let found = tree.discovered(&plain.config);
            tree.told = Some(plain.config);
            return Ok((tree, found));
        }
        let git = Git::new("git", dir);
        let (tree, config) = thread::scope(|scope| {
            let config = scope.spawn(|| configuration(&git));
            (Self::open(dir), config.join())
        });
        let tree = tree?;
        let found = match config {
            Ok(Ok(config)) => tree.discovered(&config),
            Ok(Err(_)) | Err(_) => tree.discover(),
        };
        Ok((tree, found))
    }

    /// Tells what this worktree is about.
    pub fn discover(&self) -> Result<Discovered, GitError> {
        self.discovered(&self.config()?)
    }

    fn discovered(&self, config: &Config) -> Result<Discovered, GitError> {
        let head = self.head()?;
        let remotes: Vec<Remote> = config.remote_names().iter().filter_map(|n| remote(config, n)).collect();
        let branch = match &head {
            Head::Branch { name, .. } => Some(name.as_str()),
            Head::Detached(_) | Head::Unborn(_) => None,
        };
        let push = self.push_target(config, branch, &remotes)?;
        let (remote_branch, pull) = branch.map_or((None, None), |b| upstream(config, b, &push));
        Ok(Discovered {
            toplevel: self.toplevel.clone(),
            git_dir: self.git_dir.clone(),
            common_dir: self.common_dir.clone(),
            head,
            remotes,
            push,
            remote_branch,
            pull,
        })
    }

    pub(super) fn config(&self) -> Result<Config, GitError> {
        configuration(&self.git)
    }

    fn head(&self) -> Result<Head, GitError> {
        if let Some(head) = self.head_by_library() {
            return Ok(head);
        }
        let name = self.git.call("read HEAD").args(["symbolic-ref", "--quiet", "--short", "HEAD"]).run()?;
        let name = String::from_utf8_lossy(&name.stdout).trim_end_matches('\n').to_owned();
        let sha = self.git.call("read HEAD").args(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]).run()?;
        let sha = Sha::parse(String::from_utf8_lossy(&sha.stdout).trim()).ok();
        match (name.is_empty(), sha) {
            (false, Some(sha)) => Ok(Head::Branch { name, sha }),
            (false, None) => Ok(Head::Unborn(name)),
            (true, Some(sha)) => Ok(Head::Detached(sha)),
            (true, None) => Err(failed("read HEAD", "it names neither a branch nor a commit")),
        }
    }

    /// Reads HEAD without a process; whatever is unusual about it is left to git.
    fn head_by_library(&self) -> Option<Head> {
        let repo = self.lib()?;
        let head = repo.find_reference("HEAD").ok()?;
        let sha = Sha::parse(&head.peel_to_commit().ok()?.id().to_string()).ok()?;
        match head.kind()? {
            git2::ReferenceType::Symbolic => {
                let name = head.symbolic_target().ok()??.strip_prefix("refs/heads/")?.to_owned();
                Some(Head::Branch { name, sha })
            }
            git2::ReferenceType::Direct => Some(Head::Detached(sha)),
        }
    }

    /// The order of git's own push, then the remotes that are known to have the branch.
    fn push_target(&self, config: &Config, branch: Option<&str>, all: &[Remote]) -> Result<PushTarget, GitError> {
        let of_branch = |key: &str| branch.and_then(|b| config.last(&format!("branch.{b}.{key}")));
        let named =
            of_branch("pushremote").or_else(|| config.last("remote.pushdefault")).or_else(|| of_branch("remote"));
        if let Some(name) = named.filter(|n| *n != ".") {
            if let Some(found) = all.iter().find(|r| r.name == name) {
                return Ok(PushTarget::One(found.clone()));
            }
            if let Some(found) = address_as_remote(config, name) {
                return Ok(PushTarget::One(found));
            }
        }
        match all {
            [] => return Ok(PushTarget::None),
            [only] => return Ok(PushTarget::One(only.clone())),
            [first, rest @ ..] if first.slug.is_some() && rest.iter().all(|r| same_place(first, r)) => {
                return Ok(PushTarget::One(first.clone()));
            }
            _ => {}
        }
        let Some(branch) = branch else { return Ok(PushTarget::Several(all.to_vec())) };
        let tracked =
            self.git.call("list the remote branches").args(["for-each-ref", "--format=%(refname)", "refs/remotes"]);
        let tracked = String::from_utf8_lossy(&tracked.ok()?).into_owned();
        let has = |r: &&Remote| tracked.lines().any(|l| l == format!("refs/remotes/{}/{branch}", r.name));
        let having: Vec<Remote> = all.iter().filter(has).cloned().collect();
        Ok(match <[Remote; 1]>::try_from(having) {
            Ok([one]) => PushTarget::One(one),
            Err(none) if none.is_empty() => PushTarget::Several(all.to_vec()),
            Err(several) => PushTarget::Several(several),
        })
    }
}

fn configuration(git: &Git) -> Result<Config, GitError> {
    let data = git.call("read the configuration").args(["config", "--list", "-z"]).ok()?;
    Ok(Config::parse(&data))
}

fn same_place(a: &Remote, b: &Remote) -> bool {
    let same_slug = |x: &Option<RepoSlug>, y: &Option<RepoSlug>| match (x, y) {
        (Some(x), Some(y)) => x.same(y),
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    };
    a.host == b.host && same_slug(&a.slug, &b.slug) && same_slug(&a.push_slug, &b.push_slug)
}

/// A branch may name an address in place of a remote; one with credentials is not used.
pub(super) fn address_as_remote(config: &Config, text: &str) -> Option<Remote> {
    let (host, slug) = identity(config, text);
    (slug.is_some() && without_userinfo(text) == text).then(|| Remote {
        name: text.to_owned(),
        url: text.to_owned(),
        host,
        slug,
        push_slug: None,
        base: false,
    })
}

pub(super) fn remote(config: &Config, name: &str) -> Option<Remote> {
    let url = config.first(&format!("remote.{name}.url"))?;
    let (host, slug) = identity(config, url);
    let push = config.first(&format!("remote.{name}.pushurl")).and_then(|u| identity(config, u).1);
    let differs = |p: &RepoSlug| !slug.as_ref().is_some_and(|s| s.same(p));
    let push_slug = push.filter(differs);
    let base = config.last(&format!("remote.{name}.gh-resolved")).is_some_and(|v| v == "base");
    Some(Remote { name: name.to_owned(), url: without_userinfo(url), host, slug, push_slug, base })
}

/// The branch's name on the remote, and the pull request it was made from.
fn upstream(config: &Config, branch: &str, push: &PushTarget) -> (Option<String>, Option<u64>) {
    let merge = config.last(&format!("branch.{branch}.merge")).unwrap_or_default();
    let tracked = config.last(&format!("branch.{branch}.remote"));
    let pull = merge.strip_prefix("refs/pull/").and_then(|rest| rest.split('/').next()?.parse().ok());
    let same_remote = matches!((push, tracked), (PushTarget::One(r), Some(t)) if r.name == t);
    let name = merge.strip_prefix("refs/heads/").filter(|_| same_remote).unwrap_or(branch);
    (Some(name.to_owned()), pull)
}

/// An address taken apart.
#[derive(Debug, PartialEq, Eq)]
struct Address<'a> {
    ssh: bool,
    host: String,
    path: &'a str,
}

/// Takes an address apart; `None` for a folder of this machine.
fn take_apart(url: &str) -> Option<Address<'_>> {
    if let Some((scheme, rest)) = url.split_once("://") {
        let scheme = scheme.to_ascii_lowercase();
        let (authority, path) = rest.split_once('/')?;
        let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host).to_ascii_lowercase();
        let (ssh, default) = match scheme.as_str() {
            "ssh" | "git+ssh" | "ssh+git" => (true, ""),
            "https" => (false, ":443"),
            "http" => (false, ":80"),
            "git" => (false, ":9418"),
            _ => return None,
        };
        let host = if ssh { without_port(&authority) } else { authority.strip_suffix(default).unwrap_or(&authority) };
        return (!host.is_empty()).then(|| Address { ssh, host: host.to_owned(), path });
    }
    // `user@host:path`, unless a slash comes before the colon: that is a folder.
    let (left, path) = url.split_once(':')?;
    if left.contains('/') || left.is_empty() {
        return None;
    }
    let host = left.rsplit_once('@').map_or(left, |(_, host)| host).to_ascii_lowercase();
    (!host.is_empty()).then_some(Address { ssh: true, host, path })
}

fn without_port(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) => host,
        _ => authority,
    }
}

fn slug_of(path: &str) -> Option<RepoSlug> {
    let path = path.trim_matches('/');
    path.strip_suffix(".git").unwrap_or(path).parse().ok()
}

/// Returns host and repository of a configured address.
fn identity(config: &Config, url: &str) -> (Option<String>, Option<RepoSlug>) {
    let rewritten = config.rewritten(url);
    let raw = take_apart(url);
    // An abbreviation of one's own (`gh:owner/name`) says its host only once it is written out.
    let short = raw.as_ref().is_none_or(|a| !a.host.contains(['.', ':']));
    let full = rewritten.as_deref().filter(|_| short).and_then(take_apart);
    let (Some(host_side), Some(path_side)) = (full.as_ref().or(raw.as_ref()), raw.as_ref().or(full.as_ref())) else {
        return (None, None);
    };
    let slug = slug_of(path_side.path).or_else(|| full.as_ref().and_then(|a| slug_of(a.path)));
    (Some(forge_host(host_side)), slug)
}

/// Names the forge behind a host: other doors to it and aliases of ssh's configuration are resolved.
fn forge_host(address: &Address<'_>) -> String {
    let host = address.host.as_str();
    let known = match host {
        "ssh.github.com" | "www.github.com" | "github.com" => Some("github.com"),
        _ => None,
    };
    if let Some(known) = known {
        return known.to_owned();
    }
    if !address.ssh {
        return host.to_owned();
    }
    match ssh_host_name(host) {
        Some(name) if name == "ssh.github.com" => "github.com".to_owned(),
        Some(name) if is_alias(host, &name) => name,
        _ => host.to_owned(),
    }
}

/// A host with a dot is an alias only of a name it is made from (`github.com-work`), else it is the forge's own name.
fn is_alias(host: &str, name: &str) -> bool {
    let is_name = name.contains('.') && name.bytes().any(|b| b.is_ascii_alphabetic());
    is_name && name != host && (!host.contains('.') || host.contains(name))
}

/// How long ssh may take to read its configuration, which can start programs (`Match exec`).
const SSH_LIMIT: Duration = Duration::from_secs(15);

/// Asks ssh which host it would call.
fn ssh_host_name(host: &str) -> Option<String> {
    let safe = host.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_'));
    if !safe || host.starts_with('-') {
        return None;
    }
    let (_, said) = bounded::answer(Command::new("ssh").args(["-G", host]), SSH_LIMIT)?;
    let text = String::from_utf8_lossy(&said).into_owned();
    let name = text.lines().find_map(|l| l.strip_prefix("hostname "))?;
    Some(name.trim().to_ascii_lowercase())
}

/// Removes userinfo that may hold a credential; the plain user name of an ssh address stays.
pub(super) fn without_userinfo(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let authority = rest.split('/').next().unwrap_or(rest);
    let Some((user, _)) = authority.rsplit_once('@') else { return url.to_owned() };
    let plain_ssh = scheme.to_ascii_lowercase().contains("ssh") && !user.contains(':');
    if plain_ssh {
        return url.to_owned();
    }
    let rest = rest.get(user.len() + 1..).unwrap_or_default();
    format!("{scheme}://{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(config: &str, url: &str, host: Option<&str>, slug: Option<&str>) {
        let data = config.replace('|', "\0").replace('=', "\n");
        let (found, repo) = identity(&Config::parse(data.as_bytes()), url);
        assert_eq!((found.as_deref(), repo.map(|s| s.to_string()).as_deref()), (host, slug), "{url}");
    }

    #[test]
    fn fc_48_hosts_and_repositories_of_addresses() {
        let gh = Some("github.com");
        let or = Some("o/r");
        for url in [
            "https://github.com/o/r",
            "https://github.com/o/r.git",
            "https://github.com/o/r/",
            "https://user:tok@github.com/o/r.git",
            "https://GitHub.com:443/o/r",
            "https://www.github.com/o/r",
            "git@github.com:o/r.git",
            "github.com:o/r",
            "ssh://git@github.com/o/r.git",
            "ssh://git@github.com:22/o/r.git",
            "ssh://git@ssh.github.com:443/o/r.git",
            "git+ssh://git@github.com/o/r",
        ] {
            check("", url, gh, or);
        }
        check("", "https://git.corp.example/o/r", Some("git.corp.example"), or);
        check("", "https://git.corp.example:8443/o/r", Some("git.corp.example:8443"), or);
        check("", "http://127.0.0.1:3000/o/r.git", Some("127.0.0.1:3000"), or);
        check("", "https://github.com/o", gh, None);
        check("", "https://github.com/a/b/c", gh, None);
        for url in ["/srv/git/o/r.git", "../o/r", "./o:r", "file:///srv/o/r", ""] {
            check("", url, None, None);
        }
    }

    #[test]
    fn the_configured_address_names_the_repository_before_instead_of() {
        let or = Some("o/r");
        check(
            "url.https://cache.corp/.insteadof=https://github.com/",
            "https://github.com/o/r",
            Some("github.com"),
            or,
        );
        check("url.file:///tmp/x/.insteadof=https://github.com/", "https://github.com/o/r", Some("github.com"), or);
        check("url.https://github.com/.insteadof=gh:", "gh:o/r", Some("github.com"), or);
        check("url.git@github.com:o/.insteadof=work:", "work:r", Some("github.com"), or);
    }

    #[test]
    fn fm_47_addresses_are_shown_without_userinfo() {
        let check = |url: &str, expected: &str| assert_eq!(without_userinfo(url), expected);
        check("https://user:tok@h/o/r", "https://h/o/r");
        check("https://tok@h/o/r@x", "https://h/o/r@x");
        check("https://a:b@c@h/o/r", "https://h/o/r");
        check("ssh://git@h/o/r", "ssh://git@h/o/r");
        check("ssh://git:pw@h/o/r", "ssh://h/o/r");
        check("git@h:o/r", "git@h:o/r");
    }

    #[test]
    fn aliases_are_told_from_names() {
        let check =
            |host: &str, name: &str, expected: bool| assert_eq!(is_alias(host, name), expected, "{host} {name}");
        check("work", "github.com", true);
        check("github.com-work", "github.com", true);
        check("git.corp.example", "10.0.0.5", false);
        check("git.corp.example", "lb7.internal.example", false);
        check("work", "10.0.0.5", false);
        check("nowhere", "nowhere", false);
    }
}
