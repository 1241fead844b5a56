//! `hook decide`: the installed hook said that refs moved or will move. Decides whether that is a push of a branch, and
//! starts one detached run for it. Whatever fails, the push does not.

use camino::{Utf8Path, Utf8PathBuf};

use crate::cli::failure::Failure;
use crate::cli::{Context, place};
use crate::git::{GitWorktree, Head, LogTail, Remote};
use crate::hook::claims::{AT_ONCE, Branch, Claims, Started};
use crate::hook::detach::{self, Awaits, Order};
use crate::hook::notice::Terminal;
use crate::hook::script::{self, Script};
use crate::hook::transaction::{self, Caller, Log, Moved};
use crate::hook::{HookError, sessions};
use crate::review::ids::Sha;
use crate::store::{self, SeenPush};

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Always 0: nobody listens any more.
pub(super) fn run(cx: &Context) -> u8 {
    let terminal = variable(script::TERMINAL).and_then(|text| serde_json::from_str(&text).ok());
    if let Err(failure) = look(cx, terminal) {
        tracing::warn!("the hook did nothing: {}", failure.message);
        if let Ok(tree) = place::worktree(&cx.global) {
            // There is nobody left who could be told otherwise.
            let _ = Claims::of(tree.common_dir()).failed(cx.clock.now(), &failure.message);
        }
    }
    0
}

/// What is the same for every branch of a push.
struct Push<'a> {
    cx: &'a Context,
    tree: GitWorktree,
    claims: Claims,
    terminal: Option<Terminal>,
    agent: Option<String>,
}

fn look(cx: &Context, terminal: Option<Terminal>) -> Result<(), Failure> {
    let announced = variable(script::ANNOUNCED);
    let moved = transaction::moved(&variable(script::MOVED).unwrap_or_default());
    if moved.is_empty() && announced.is_none() {
        return Ok(());
    }
    let tree = place::worktree(&cx.global)?;
    if !is_for(tree.common_dir()) {
        return Ok(());
    }
    let agent = sessions::marked(variable).map(str::to_owned);
    let push = Push { cx, claims: Claims::of(tree.common_dir()), tree, terminal, agent };
    for moved in &moved {
        push.landed(moved)?;
    }
    match announced {
        Some(lines) => push.announced(&lines),
        None => Ok(()),
    }
}

/// A hooks folder may serve many repositories; only those that asked for it start anything.
fn is_for(common_dir: &Utf8Path) -> bool {
    let Some(file) = variable(script::FILE) else { return true };
    let text = std::fs::read_to_string(file).unwrap_or_default();
    Script::parse(&text).is_some_and(|script| script.is_for(common_dir))
}

impl Push<'_> {
    /// A remote-tracking branch moved.
    fn landed(&self, moved: &Moved) -> Result<(), Failure> {
        let log = match self.tree.log_tail(&moved.refname, &moved.sha)? {
            LogTail::Push(_) => Log::Push,
            LogTail::Other => Log::Other,
            LogTail::None => Log::None,
        };
        let caller = if variable(script::CALLER).as_deref() == Some("push") { Caller::Push } else { Caller::Unknown };
        if !transaction::is_push(log, caller) {
            return Ok(());
        }
        let landed = self.tree.landed(&moved.refname)?;
        let Some((at, landed)) =
            landed.iter().find_map(|landed| Some((branch_of(&landed.remote, &landed.branch)?, landed)))
        else {
            return Ok(());
        };
        let local = self.local(&moved.sha, &landed.branch)?;
        let order = self.order(&landed.remote.name, &landed.branch, &moved.sha, local);
        let push = seen(&order, &at, self.cx);
        let now = self.cx.clock.now();
        if self.claims.claim(&at, &moved.sha, now, || self.start(order))?.is_some() {
            store::remember_push(self.tree.common_dir(), push);
        }
        Ok(())
    }

    /// A push is about to begin that will leave no trace here: somebody has to wait for it.
    fn announced(&self, lines: &str) -> Result<(), Failure> {
        let target = variable(script::TARGET).unwrap_or_default();
        let pid = variable(script::PROCESS).and_then(|pid| pid.parse().ok()).unwrap_or_default();
        let Some(remote) = self.tree.remote_for(&target)? else { return Ok(()) };
        // Each is waited for by a process of its own: somebody may push all branches.
        for one in transaction::announced(lines).into_iter().take(AT_ONCE) {
            if branch_of(&remote, &one.branch).is_none() {
                continue;
            }
            let local = match one.local {
                Some(local) => Some(local),
                None => self.local(&one.sha, &one.branch)?,
            };
            let mut order = self.order(&remote.name, &one.branch, &one.sha, local);
            order.awaits = Some(Awaits { pid, target: target.clone() });
            self.start(order)?;
        }
        Ok(())
    }

    fn order(&self, remote: &str, branch: &str, sha: &Sha, local: Option<String>) -> Order {
        Order {
            toplevel: self.tree.toplevel().to_owned(),
            remote: remote.to_owned(),
            branch: branch.to_owned(),
            sha: sha.clone(),
            local,
            log: Utf8PathBuf::new(),
            terminal: self.terminal.clone(),
            agent: self.agent.clone(),
            awaits: None,
        }
    }

    fn start(&self, mut order: Order) -> Result<Started, HookError> {
        let (log, path) = self.claims.log(&order.branch, &order.sha, self.cx.clock.now())?;
        order.log.clone_from(&path);
        Ok(Started { pid: detach::start(&order, &log)?, log: path })
    }

    /// The branch of that name, else the one HEAD is on, where it is at this commit; else any branch there.
    fn local(&self, sha: &Sha, pushed: &str) -> Result<Option<String>, Failure> {
        let mut branches = self.tree.branches_at(sha)?;
        let here = match self.tree.discover()?.head {
            Head::Branch { name, .. } => name,
            Head::Detached(_) | Head::Unborn(_) => String::new(),
        };
        let at = |name: &str| branches.iter().position(|known| known == name);
        let best = at(pushed).or_else(|| at(&here)).unwrap_or_default();
        Ok((!branches.is_empty()).then(|| branches.swap_remove(best)))
    }
}

/// Names the branch of the forge; `None` for a folder.
pub(super) fn branch_of(remote: &Remote, branch: &str) -> Option<Branch> {
    let repo = remote.push_slug.clone().or_else(|| remote.slug.clone())?;
    Some(Branch { host: remote.host.clone()?, repo, branch: branch.to_owned() })
}

/// Describes a push that succeeded.
pub(super) fn seen(order: &Order, at: &Branch, cx: &Context) -> SeenPush {
    SeenPush {
        local: order.local.clone(),
        remote: order.remote.clone(),
        host: at.host.clone(),
        slug: at.repo.clone(),
        branch: order.branch.clone(),
        sha: order.sha.clone(),
        at: cx.clock.now(),
    }
}
