//! Where we are: worktree, branch, remote, repository; and which pull request is meant.

use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};

use super::args::Global;
use super::failure::{Failure, Kind};
use super::token;
use crate::git::GitWorktree;
use crate::git::discover::{Discovered, Head, PushTarget, Remote};
use crate::github::{self, Api, Bounds, Candidate, Connection};
use crate::ports::{Clock, GitError};
use crate::review::ids::{PrNumber, RepoSlug};
use crate::review::observation::PrState;
use crate::store;

/// The longest a single command waits for a rate limit.
const MAX_WAIT: std::time::Duration = std::time::Duration::from_secs(60);

/// Pushes of one branch that are tried.
const AIMS: usize = 3;

/// A worktree and what it is about.
pub(crate) struct Place {
    /// Worktree.
    pub(crate) tree: GitWorktree,
    /// What git says of it.
    pub(crate) found: Discovered,
    /// Host of the remote.
    pub(crate) host: String,
    /// Repositories in which the pull request may be, likeliest first.
    pub(crate) slugs: Vec<RepoSlug>,
    /// Remote that is pushed to.
    pub(crate) remote: String,
    /// Owner of the head branch.
    pub(crate) head_owner: String,
    /// Head branch on the remote.
    pub(crate) remote_branch: String,
    /// Local branch.
    pub(crate) branch: String,
    /// Where else the local branch went or may have gone, likeliest first.
    pub(crate) also: Vec<Aim>,
}

/// A branch of a remote that the local branch may stand for.
#[derive(Debug, Clone)]
pub(crate) struct Aim {
    remote: String,
    owner: String,
    branch: String,
    slug: Option<RepoSlug>,
}

/// What is asked of the forge to find the pull request.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    slugs: Vec<RepoSlug>,
    head_owner: String,
    remote_branch: String,
    also: Vec<Aim>,
}

impl Place {
    /// Returns what is asked of the forge to find the pull request.
    pub(crate) fn question(&self) -> Question {
        Question {
            slugs: self.slugs.clone(),
            head_owner: self.head_owner.clone(),
            remote_branch: self.remote_branch.clone(),
            also: self.also.clone(),
        }
    }

    /// Takes the branch of the pull request that was found, where a push or the branch's own name led to it.
    pub(crate) fn settle_on(&mut self, branch: &str, repo: Option<&RepoSlug>) {
        let fits =
            |aim: &&Aim| aim.branch == branch && repo.is_some_and(|repo| repo.owner.eq_ignore_ascii_case(&aim.owner));
        if self.remote_branch == branch {
            return;
        }
        if let Some(aim) = self.also.iter().find(fits) {
            self.remote.clone_from(&aim.remote);
            self.head_owner.clone_from(&aim.owner);
            self.remote_branch.clone_from(&aim.branch);
        }
    }

    /// Returns every remote and branch that the local branch may have gone to, likeliest first.
    pub(crate) fn aims(&self) -> Vec<(&str, &str)> {
        let own = std::iter::once((self.remote.as_str(), self.remote_branch.as_str()));
        own.chain(self.also.iter().map(|aim| (aim.remote.as_str(), aim.branch.as_str()))).collect()
    }

    /// Returns the local branch's commit.
    pub(crate) fn local_head(&self) -> Option<crate::review::ids::Sha> {
        match &self.found.head {
            Head::Branch { sha, .. } | Head::Detached(sha) => Some(sha.clone()),
            Head::Unborn(_) => None,
        }
    }
}

/// Opens the worktree of the given folder.
pub(crate) fn worktree(global: &Global) -> Result<GitWorktree, Failure> {
    opened(global, GitWorktree::open)
}

fn opened<T>(global: &Global, open: impl Fn(&Utf8Path) -> Result<T, GitError>) -> Result<T, Failure> {
    let dir = global.dir.clone().unwrap_or_else(|| Utf8PathBuf::from("."));
    open(&dir).map_err(|error| {
        // A folder that is not there and a git that is not there end alike.
        if !dir.is_dir() {
            let what = if dir.exists() { "is no folder" } else { "does not exist" };
            return Failure::usage(format!("{} {what}", shown(&dir)), "pass the worktree of the branch with `-C DIR`");
        }
        if error.why.starts_with("git could not be run") {
            return Failure::usage(error.why, "install git 2.36 or later; mend PATH or TMPDIR");
        }
        Failure::usage(
            format!("{} is not in a git worktree: {}", shown(&dir), error.why),
            "go into the worktree of the branch, or pass `-C DIR`",
        )
    })
}

/// Looks around from the given folder.
pub(crate) fn place(global: &Global) -> Result<Place, Failure> {
    let (tree, found) = opened(global, GitWorktree::open_and_discover)?;
    let found = found?;
    let (branch, remote_branch) = branch_of(&found, global)?;
    let remote = push_remote(&found, global)?;
    let mut place = assembled(tree, found, remote, (branch, remote_branch), global)?;
    place.also = also(&place);
    Ok(place)
}

/// Looks around for a push: to this remote or address, to this branch there.
pub(crate) fn pushed(global: &Global, remote: &str, branch: &str) -> Result<Place, Failure> {
    let (tree, found) = opened(global, GitWorktree::open_and_discover)?;
    let found = found?;
    let remote = tree.remote_for(remote)?.ok_or_else(|| {
        Failure::usage(format!("{remote} is no remote and no address of a forge"), "push to a remote of the repository")
    })?;
    let local = match &found.head {
        Head::Branch { name, .. } => name.clone(),
        Head::Detached(_) | Head::Unborn(_) => String::new(),
    };
    assembled(tree, found, remote, (local, branch.to_owned()), global)
}

fn assembled(
    tree: GitWorktree,
    found: Discovered,
    remote: Remote,
    (branch, remote_branch): (String, String),
    global: &Global,
) -> Result<Place, Failure> {
    let slugs = slugs(&found, &remote, global)?;
    let head_owner = remote
        .push_slug
        .as_ref()
        .or(remote.slug.as_ref())
        .map_or_else(|| slugs[0].owner.clone(), |slug| slug.owner.clone());
    let host = host(&found, &remote, global)?;
    Ok(Place { tree, found, host, slugs, remote: remote.name, head_owner, remote_branch, branch, also: Vec::new() })
}

/// A branch may have another name there, or have gone to an address: pushes that were seen say so. Its own name is tried
/// last: it may have been branched off one that it still tracks.
fn also(place: &Place) -> Vec<Aim> {
    let pushes = store::recall_pushes(place.tree.common_dir());
    let own = pushes.into_iter().filter(|push| push.host == place.host && push.local.as_ref() == Some(&place.branch));
    let seen = own.map(|push| Aim {
        remote: push.remote,
        owner: push.slug.owner.clone(),
        branch: push.branch,
        slug: Some(push.slug),
    });
    let named = (!place.branch.is_empty()).then(|| Aim {
        remote: place.remote.clone(),
        owner: place.head_owner.clone(),
        branch: place.branch.clone(),
        slug: None,
    });
    let other = |aim: &Aim| aim.branch != place.remote_branch || !aim.owner.eq_ignore_ascii_case(&place.head_owner);
    seen.take(AIMS).chain(named).filter(other).collect()
}

fn shown(dir: &Utf8Path) -> String {
    if dir == "." { "this folder".to_owned() } else { format!("`{dir}`") }
}

/// A detached HEAD or an unborn branch stands for no pull request, unless one is named for reading.
fn branch_of(found: &Discovered, global: &Global) -> Result<(String, String), Failure> {
    match &found.head {
        Head::Branch { name, .. } => Ok((name.clone(), found.remote_branch.clone().unwrap_or_else(|| name.clone()))),
        Head::Detached(sha) if global.pr.is_some() => Ok((String::new(), sha.to_string())),
        Head::Detached(sha) => Err(Failure::usage(
            format!("HEAD is detached at {}", sha.short()),
            "check the pull request's branch out with `git switch BRANCH`, or name it with `--pr N`",
        )),
        Head::Unborn(name) => Err(Failure::usage(
            format!("branch `{name}` has no commit yet"),
            "commit, push and open a pull request first",
        )),
    }
}

fn push_remote(found: &Discovered, global: &Global) -> Result<Remote, Failure> {
    let wanted: Option<RepoSlug> = named_repo(global)?;
    let fits =
        |remote: &&Remote| wanted.as_ref().is_some_and(|slug| remote.slug.as_ref().is_some_and(|own| own.same(slug)));
    match &found.push {
        PushTarget::One(remote) => Ok(remote.clone()),
        PushTarget::Several(_) if found.remotes.iter().filter(fits).count() == 1 => {
            found.remotes.iter().find(fits).cloned().ok_or_else(no_remote)
        }
        PushTarget::Several(remotes) => {
            let names: Vec<String> = remotes.iter().map(|remote| format!("{} ({})", remote.name, remote.url)).collect();
            Err(Failure::usage(
                format!("the branch could go to several remotes: {}", names.join(", ")),
                "push it with `git push -u REMOTE BRANCH`, or name the repository with `--repo OWNER/REPO`",
            ))
        }
        PushTarget::None => Err(no_remote()),
    }
}

fn no_remote() -> Failure {
    Failure::usage("the repository has no remote", "add one with `git remote add origin URL` and push the branch")
}

fn named_repo(global: &Global) -> Result<Option<RepoSlug>, Failure> {
    if let Some(text) = &global.repo {
        let slug = text
            .parse()
            .map_err(|_| Failure::usage(format!("`{text}` is not OWNER/REPO"), "give for example `--repo octo/app`"))?;
        return Ok(Some(slug));
    }
    Ok(url_parts(global).map(|(_, slug, _)| slug))
}

/// Takes a pull request's address apart: host, repository, number.
fn url_parts(global: &Global) -> Option<(String, RepoSlug, u64)> {
    let text = global.pr.as_deref()?.split_once("://")?.1;
    let mut parts = text.split(['/', '?', '#']);
    let host = parts.next()?.to_ascii_lowercase();
    let slug = format!("{}/{}", parts.next()?, parts.next()?).parse().ok()?;
    let (kind, number) = (parts.next()?, parts.next()?);
    (kind == "pull").then_some(())?;
    Some((host, slug, number.parse().ok()?))
}

fn slugs(found: &Discovered, remote: &Remote, global: &Global) -> Result<Vec<RepoSlug>, Failure> {
    if let Some(slug) = named_repo(global)? {
        return Ok(vec![slug]);
    }
    let same_host = |other: &&Remote| other.host == remote.host;
    let base = found.remotes.iter().filter(|r| r.base);
    let upstream = found.remotes.iter().filter(|r| r.name == "upstream");
    let mut slugs: Vec<RepoSlug> = Vec::new();
    for candidate in base.chain(upstream).filter(same_host).chain(std::iter::once(remote)) {
        if let Some(slug) = &candidate.slug
            && !slugs.iter().any(|known| known.same(slug))
        {
            slugs.push(slug.clone());
        }
    }
    if slugs.is_empty() {
        let why = format!("remote {} ({}) names no repository of a forge", remote.name, remote.url);
        return Err(Failure::usage(why, "name it with `--repo OWNER/REPO`"));
    }
    Ok(slugs)
}

/// An address may come from anywhere; its host is asked, with the token, only where this clone or the caller knows it.
fn host(found: &Discovered, remote: &Remote, global: &Global) -> Result<String, Failure> {
    if let Some((host, ..)) = url_parts(global) {
        let hosts: Vec<&str> = found.remotes.iter().chain([remote]).filter_map(|r| r.host.as_deref()).collect();
        let by_hand = by_hand(global).and_then(|text| github::parse_base(&text).ok());
        let authority = by_hand.map(|url| match (url.host_str().unwrap_or_default(), url.port()) {
            (name, Some(port)) => format!("{name}:{port}"),
            (name, None) => name.to_owned(),
        });
        let same =
            |known: &&str| known.eq_ignore_ascii_case(&host) || github::api_base(known) == github::api_base(&host);
        return match hosts.first() {
            Some(first) if !hosts.iter().any(same) && authority.as_deref() != Some(host.as_str()) => {
                Err(Failure::usage(
                    format!("that pull request is on {host}, this clone's remotes are on {first}"),
                    "go into a clone of its repository, or name its API with `--api-url URL`",
                ))
            }
            Some(_) | None => Ok(host),
        };
    }
    match (&remote.host, &global.repo) {
        (Some(host), _) => Ok(host.clone()),
        (None, Some(_)) => Ok("github.com".to_owned()),
        (None, None) => Err(Failure::usage(
            format!("remote {} ({}) has no host", remote.name, remote.url),
            "name the repository with `--repo OWNER/REPO`",
        )),
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|text| !text.is_empty())
}

/// Returns the API base that the caller gave.
fn by_hand(global: &Global) -> Option<String> {
    global.api_url.clone().or_else(|| variable("PUSHBACK_API_URL")).or_else(|| variable("GITHUB_API_URL"))
}

/// Prepares the forge's API; sends nothing.
pub(crate) fn connect(
    place: &Place,
    global: &Global,
    clock: Arc<dyn Clock + Send + Sync>,
) -> Result<Arc<Api>, Failure> {
    let bad = |error: github::BadBase| {
        Failure::usage(
            format!("`{}` cannot be the API base: {}", error.address, error.why),
            "mend `--api-url` or PUSHBACK_API_URL",
        )
    };
    let own = github::api_base(&place.host).map_err(bad)?;
    let base = match &by_hand(global) {
        Some(text) => github::parse_base(text).map_err(bad)?,
        None => own.clone(),
    };
    let graphql = match variable("GITHUB_GRAPHQL_URL")
        .filter(|_| global.api_url.is_none() && variable("PUSHBACK_API_URL").is_none())
    {
        Some(text) => github::parse_base(&text).map_err(bad)?,
        None => github::graphql_url(&base),
    };
    let own_base = base.origin() == own.origin();
    let cache_dir = store::repo_cache(place.tree.common_dir(), &place.host, &place.slugs[0]).ok();
    let connection = Connection {
        api_base: base,
        graphql,
        token: token::source(&place.host, own_base),
        cache_dir,
        max_wait: MAX_WAIT,
        bounds: Bounds::default(),
        clock,
    };
    Api::connect(connection).map(Arc::new).map_err(bad)
}

/// The pull request that is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Meant {
    /// Repository.
    pub(crate) slug: RepoSlug,
    /// Number.
    pub(crate) number: PrNumber,
}

/// Returns the pull request named by the caller.
pub(crate) fn named(place: &Place, global: &Global) -> Result<Option<Meant>, Failure> {
    let Some(text) = &global.pr else {
        return Ok(place.found.pull.map(|n| Meant { slug: place.slugs[0].clone(), number: PrNumber(n) }));
    };
    if let Some((_, slug, number)) = url_parts(global) {
        return Ok(Some(Meant { slug, number: PrNumber(number) }));
    }
    let number = text.trim_start_matches('#').parse().map_err(|_| {
        Failure::usage(
            format!("`{text}` is neither a pull request's number nor its address"),
            "give for example `--pr 12`",
        )
    })?;
    Ok(Some(Meant { slug: place.slugs[0].clone(), number: PrNumber(number) }))
}

/// Asks the forge which open pull request has this branch as its head: where it goes by its configuration, then where it
/// was seen to go.
pub(crate) fn find(place: &Question, api: &Api) -> Result<Meant, Failure> {
    let mut ended = None;
    let configured =
        Aim { remote: String::new(), owner: place.head_owner.clone(), branch: place.remote_branch.clone(), slug: None };
    for aim in std::iter::once(&configured).chain(&place.also) {
        let new = |slug: &&RepoSlug| !place.slugs.iter().any(|known| known.same(slug));
        for slug in place.slugs.iter().chain(aim.slug.as_ref().filter(new)) {
            let all = api.pulls_for(slug, &aim.owner, &aim.branch)?;
            let open: Vec<&Candidate> = all.iter().filter(|pull| pull.state == PrState::Open).collect();
            match open.as_slice() {
                [] => ended = ended.or_else(|| all.first().map(|pull| (slug.clone(), pull.number, pull.state))),
                [one] => return Ok(Meant { slug: slug.clone(), number: one.number }),
                several => {
                    let list: Vec<String> =
                        several.iter().map(|pull| format!("#{} (into {})", pull.number, pull.base)).collect();
                    return Err(Failure::usage(
                        format!("branch `{}` has several open pull requests: {}", aim.branch, list.join(", ")),
                        "name one with `--pr N`",
                    ));
                }
            }
        }
    }
    Err(none(place, ended))
}

fn none(place: &Question, ended: Option<(RepoSlug, PrNumber, PrState)>) -> Failure {
    let known: Vec<String> = place.slugs.iter().map(ToString::to_string).collect();
    let mut why = format!(
        "branch `{}` of {} has no open pull request in {}",
        place.remote_branch,
        place.head_owner,
        known.join(" or ")
    );
    if let Some((slug, number, state)) = ended {
        let state = if state == PrState::Merged { "merged" } else { "closed" };
        why.push_str(&format!("; {slug}#{number} is {state}"));
    }
    Failure::new(Kind::Usage, why, "push the branch and open one (`gh pr create`), or name one with `--pr N`")
}
