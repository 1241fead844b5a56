//! `hook after`: the detached run that follows a push. Waits for what has to come, then tells, looks or runs, as
//! `hook.mode` says. It ends by itself: when it is done, when a newer push took over, or when nothing comes.

use std::fs::{File, TryLockError};
use std::os::unix::fs::MetadataExt as _;
use std::sync::Arc;
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};

use super::super::run as run_command;
use super::pushed::{branch_of, seen};
use crate::cli::args::RunArgs;
use crate::cli::failure::{Failure, Kind};
use crate::cli::look::Desk;
use crate::cli::place::{self, Meant};
use crate::cli::{Context, look};
use crate::config::settings::Settings;
use crate::engine::survey::Survey;
use crate::git::GitWorktree;
use crate::hook::claims::{Branch, Claims, Started, alive};
use crate::hook::detach::{self, Order};
use crate::hook::{notice, sessions};
use crate::ports::{Depth, Event, Reporter as _, Woken};
use crate::report::printer::{Printer, Verbosity};
use crate::review::observation::PrState;
use crate::review::severity::Severity;
use crate::review::summary::Summary;
use crate::store;

/// How long a pull request may take to be opened after its first push.
const PR_PATIENCE: Duration = Duration::from_secs(10 * 60);
/// Pauses between looks before the configuration is known.
const FIRST_PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// How long the forge may show the former head after a push.
const LAG: Duration = Duration::from_secs(60);
/// How long an announced push may take.
const PUSH_PATIENCE: Duration = Duration::from_secs(60 * 60);
/// Pause while an announced push is under way.
const PUSH_TICK: Duration = Duration::from_millis(100);
/// Shortest and longest time between two looks whether the run of an earlier push has ended.
const BUSY_MIN: Duration = Duration::from_millis(500);
const BUSY_MAX: Duration = Duration::from_secs(10);
/// Looks at the remote after an announced push has ended.
const PUSH_LOOKS: u32 = 3;
/// Failed looks in a row after which a run gives up.
const FAILURES: u32 = 20;

/// One detached run.
struct After<'a> {
    cx: &'a Context,
    order: Order,
    at: Branch,
    claims: Claims,
}

pub(super) fn run(cx: &Context) -> u8 {
    detach::own_session();
    let Some(order) = detach::order() else { return 0 };
    let unclaimed = order.awaits.is_some().then(|| order.toplevel.clone());
    match begin(cx, order) {
        Ok(Some(after)) => after.go(),
        Ok(None) => {}
        Err(failure) => {
            // No run stands for it in `hook status`: the reason is kept where that looks.
            if let Some(Ok(tree)) = unclaimed.map(|top| GitWorktree::open(&top))
                && let Err(error) = Claims::of(tree.common_dir()).failed(cx.clock.now(), &failure.message)
            {
                cx.printer.tell(Event::Warning(error.to_string()));
            }
            cx.printer.tell(Event::Warning(failure.message));
        }
    }
    0
}

/// Waits for an announced push and claims it; a push that came to nothing leaves no trace.
fn begin(cx: &Context, order: Order) -> Result<Option<After<'_>>, Failure> {
    let tree = GitWorktree::open(&order.toplevel)?;
    let claims = Claims::of(tree.common_dir());
    let remote = tree.remote_for(&order.remote)?;
    let Some(at) = remote.as_ref().and_then(|remote| branch_of(remote, &order.branch)) else { return Ok(None) };
    if let Some(awaits) = &order.awaits {
        let landed = wait_for_push(cx, awaits.pid) && is_there(cx, &tree, &awaits.target, &order)?;
        let own = Started { pid: std::process::id(), log: order.log.clone() };
        let claimed = landed && claims.claim(&at, &order.sha, cx.clock.now(), || Ok(own))?.is_some();
        if !claimed {
            // The log says nothing that anybody would look for.
            let _ = std::fs::remove_file(&order.log);
            return Ok(None);
        }
        store::remember_push(tree.common_dir(), seen(&order, &at, cx));
    }
    Ok(Some(After { cx, order, at, claims }))
}

fn wait_for_push(cx: &Context, pid: u32) -> bool {
    let started = cx.clock.monotonic();
    while alive(pid) {
        let late = cx.clock.monotonic().saturating_sub(started) >= PUSH_PATIENCE;
        if late || cx.clock.sleep(PUSH_TICK) == Woken::Interrupted {
            return false;
        }
    }
    true
}

fn is_there(cx: &Context, tree: &GitWorktree, target: &str, order: &Order) -> Result<bool, Failure> {
    for look in 1..=PUSH_LOOKS {
        if tree.branch_at(target, &order.branch)?.as_ref() == Some(&order.sha) {
            return Ok(true);
        }
        if look < PUSH_LOOKS && cx.clock.sleep(Duration::from_secs(1)) == Woken::Interrupted {
            break;
        }
    }
    Ok(false)
}

/// What a wait came to.
enum Next<T> {
    Found(T),
    Ended(String),
}

impl After<'_> {
    fn go(&self) {
        let sha = self.order.sha.short();
        self.say(format!("{} of {} was pushed at {sha}", self.at.branch, self.at.repo));
        let outcome = self.work().unwrap_or_else(|failure| format!("could not go on: {}", failure.message));
        self.say(outcome.clone());
        if let Err(error) = self.claims.end(std::process::id(), self.cx.clock.now(), &outcome) {
            self.cx.printer.tell(Event::Warning(error.to_string()));
        }
    }

    fn say(&self, line: String) {
        self.cx.printer.tell(Event::Line(line));
    }

    fn place(&self, cx: &Context) -> Result<place::Place, Failure> {
        place::pushed(&cx.global, &self.order.remote, &self.order.branch)
    }

    /// Says why this run is not wanted any more.
    fn unwanted(&self) -> Option<String> {
        match self.claims.newest(&self.at) {
            Some(newest) if newest == self.order.sha => None,
            Some(_) => Some("a newer push took over".to_owned()),
            None => Some("the hook was removed".to_owned()),
        }
    }

    fn work(&self) -> Result<String, Failure> {
        let place = self.place(self.cx)?;
        let api = place::connect(&place, &self.cx.global, self.cx.forge_clock.clone())?;
        let (meant, settings) = match self.pull(&place, &api)? {
            Next::Found(found) => found,
            Next::Ended(why) => return Ok(why),
        };
        let mut global = self.cx.global.clone();
        global.pr = Some(format!("https://{}/{}/pull/{}", place.host, meant.slug, meant.number));
        let cx = self.context(global, Depth::Warm);
        match settings.hook_mode.as_str() {
            "status" => self.status(&cx),
            "run" => match self.in_the_way() {
                Some(who) => {
                    self.say(format!("no run: {who} is at work in this worktree"));
                    self.notify(&cx, &settings)
                }
                None => self.run_aside(&cx, &meant),
            },
            _ => self.notify(&cx, &settings),
        }
    }

    fn context(&self, global: crate::cli::args::Global, depth: Depth) -> Context {
        Context {
            global,
            clock: Arc::clone(&self.cx.clock),
            forge_clock: Arc::clone(&self.cx.forge_clock),
            signals: self.cx.signals.clone(),
            printer: Printer::new(Verbosity::Normal),
            depth,
        }
    }

    /// Waits until the branch has an open pull request: the first push comes before it.
    fn pull(&self, place: &place::Place, api: &crate::github::Api) -> Result<Next<(Meant, Settings)>, Failure> {
        let started = self.cx.clock.monotonic();
        let mut poll = (FIRST_PAUSE, LONGEST_PAUSE);
        let mut pause = poll.0;
        loop {
            let settings = look::settings(place, api);
            if let Ok(settings) = &settings {
                poll = (settings.poll_min, settings.poll_max);
                pause = pause.min(poll.1);
            }
            let found = settings.and_then(|settings| Ok((place::find(&place.question(), api)?, settings)));
            let failure = match found {
                Ok(found) => return Ok(Next::Found(found)),
                Err(failure) => failure,
            };
            let may_come = matches!(failure.kind, Kind::Usage | Kind::CouldNotRead | Kind::Limited);
            if !may_come || self.cx.clock.monotonic().saturating_sub(started) >= PR_PATIENCE {
                return Ok(Next::Ended(failure.message));
            }
            self.say(failure.message);
            if let Some(why) = self.pause(&mut pause, poll.1) {
                return Ok(Next::Ended(why));
            }
        }
    }

    /// Sleeps before the next look; says why there is none.
    fn pause(&self, pause: &mut Duration, longest: Duration) -> Option<String> {
        if self.cx.clock.sleep(*pause) == Woken::Interrupted {
            return Some("stopped by a signal".to_owned());
        }
        *pause = (*pause * 3 / 2).min(longest);
        self.unwanted()
    }

    fn look(&self, cx: &Context) -> Result<(Desk, Summary, Survey), Failure> {
        let desk = look::desk_at(cx, "hook", self.place(cx)?)?;
        let (summary, survey) = look::look(cx, &desk)?;
        Ok((desk, summary, survey))
    }

    fn status(&self, cx: &Context) -> Result<String, Failure> {
        let (desk, summary, survey) = self.look(cx)?;
        Ok(format!("{}: {}", desk.pr, words(&summary, &survey)))
    }

    /// Waits for the reviewers, then tells what came back.
    fn notify(&self, cx: &Context, settings: &Settings) -> Result<String, Failure> {
        let started = cx.clock.monotonic();
        let mut pause = settings.poll_min;
        let mut failures = 0;
        loop {
            match self.look(cx) {
                Ok((desk, summary, survey)) => {
                    failures = 0;
                    if let Some(end) = self.judge(cx, started, &desk, &summary, &survey) {
                        return Ok(end);
                    }
                }
                Err(failure) => {
                    failures += 1;
                    let may_pass = matches!(failure.kind, Kind::CouldNotRead | Kind::Limited | Kind::Person);
                    if !may_pass || failures >= FAILURES {
                        return Err(failure);
                    }
                    cx.printer.tell(Event::Warning(failure.message));
                }
            }
            if cx.clock.monotonic().saturating_sub(started) >= settings.policy.limits.run {
                return Ok("waited as long as `limits.run` allows".to_owned());
            }
            if let Some(why) = self.pause(&mut pause, settings.poll_max) {
                return Ok(why);
            }
        }
    }

    /// Says how the wait ends, or that it goes on.
    fn judge(
        &self,
        cx: &Context,
        started: Duration,
        desk: &Desk,
        summary: &Summary,
        survey: &Survey,
    ) -> Option<String> {
        let pr = &survey.obs.pr;
        if pr.state != PrState::Open {
            return Some(format!("{} is not open any more", desk.pr));
        }
        if pr.head != self.order.sha {
            let late = cx.clock.monotonic().saturating_sub(started) >= LAG;
            return late.then(|| format!("the head of {} is {} by now", desk.pr, pr.head.short()));
        }
        let reviewers = &survey.reviewers;
        if reviewers.finished != Some(true) && !reviewers.stuck {
            cx.printer.tell(Event::Waiting { what: reviewers.why.clone(), until: reviewers.until });
            return None;
        }
        let said = words(summary, survey);
        let shown = notice::show(&desk.pr.to_string(), &said, self.order.terminal.as_ref());
        let how = match shown {
            notice::Shown::Desktop => "told on the desktop",
            notice::Shown::Terminal => "told in the terminal",
            notice::Shown::Nowhere => "told here alone",
        };
        Some(format!("{}: {said} ({how})", desk.pr))
    }

    /// Names the coding agent whose worktree this is.
    fn in_the_way(&self) -> Option<String> {
        self.order.agent.clone().or_else(|| sessions::seen(&self.order.toplevel))
    }

    /// Runs in a worktree of its own, so that nobody's files are touched.
    fn run_aside(&self, cx: &Context, meant: &Meant) -> Result<String, Failure> {
        let tree = GitWorktree::open(&self.order.toplevel)?;
        let dir = tree_dir(tree.common_dir(), meant, &self.order.toplevel)?;
        let parent = dir.parent().unwrap_or(&dir);
        let failed = |error: std::io::Error| {
            Failure::new(Kind::Internal, format!("could not use {parent}: {error}"), "make it writable")
        };
        let mut pause = BUSY_MIN;
        // The run of an earlier push ends when it sees this one.
        let _lock = loop {
            if let Some(lock) = locked(parent).map_err(failed)? {
                break lock;
            }
            if let Some(why) = self.pause(&mut pause, BUSY_MAX) {
                return Ok(why);
            }
        };
        // Left by a run that was killed.
        tree.drop_tree(&dir)?;
        tree.add_tree(&dir, &self.order.sha)?;
        let ended = self.run_in(cx, &dir);
        tree.drop_tree(&dir)?;
        // Nothing of ours stays.
        let _ = std::fs::remove_dir_all(parent);
        let said = match ended? {
            0 => "the run settled it".to_owned(),
            code => format!("the run ended with exit code {code}"),
        };
        notice::show(&format!("{}#{}", meant.slug, meant.number), &said, self.order.terminal.as_ref());
        Ok(said)
    }

    fn run_in(&self, cx: &Context, dir: &Utf8Path) -> Result<u8, Failure> {
        let mut global = cx.global.clone();
        global.dir = Some(dir.to_owned());
        let cx = self.context(global, Depth::Full);
        let mut desk = look::desk_at(&cx, "run (after a push)", self.place(&cx)?)?;
        desk.own_tree = true;
        let wait = desk.settings.policy.limits.run;
        run_command::run_at(&cx, &RunArgs { wait: Some(wait), ..RunArgs::default() }, desk)
    }
}

/// Locks the folder of a pull request's runs; `None` while another run has it.
fn locked(folder: &Utf8Path) -> std::io::Result<Option<File>> {
    crate::process::runs::private(folder)?;
    let path = folder.join("lock");
    let lock = File::create(&path)?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(None),
        Err(TryLockError::Error(error)) => return Err(error),
    }
    // The run before removes the folder when it ends: a lock on a file that is gone holds nothing.
    let same = path.metadata().is_ok_and(|now| lock.metadata().is_ok_and(|ours| ours.ino() == now.ino()));
    Ok(same.then_some(lock))
}

/// A folder for the worktree of a pull request's runs. Not below git's own folder, where editors refuse to write.
fn tree_dir(common_dir: &Utf8Path, meant: &Meant, toplevel: &Utf8Path) -> Result<Utf8PathBuf, Failure> {
    use etcetera::BaseStrategy as _;
    let base = etcetera::choose_base_strategy().ok();
    let base = base.and_then(|base| Utf8PathBuf::try_from(base.state_dir().unwrap_or_else(|| base.cache_dir())).ok());
    let base = base.ok_or_else(|| Failure::new(Kind::Internal, "there is no home folder", "set HOME"))?;
    let id = store::content_hash(format!("{common_dir}\n{}#{}", meant.slug, meant.number).as_bytes());
    let id: String = id.chars().take(16).collect();
    Ok(base.join("pushback").join("worktrees").join(id).join(toplevel.file_name().unwrap_or("worktree")))
}

/// Says what is open, in our own words.
fn words(summary: &Summary, survey: &Survey) -> String {
    let count = |severity| summary.open_blocking().filter(|entry| entry.finding.severity == severity).count();
    let (p1, p2) = (count(Severity::P1), count(Severity::P2));
    let person = summary.open_blocking().filter(|entry| entry.finding.needs_person).count();
    let open = match (p1, p2) {
        (0, 0) => "nothing P1/P2 is open".to_owned(),
        (p1, p2) => format!("{p1} P1 and {p2} P2 open"),
    };
    let person = if person > 0 { format!(", {person} for a person") } else { String::new() };
    let reviewers = match (survey.reviewers.finished, survey.reviewers.stuck) {
        (Some(true), _) => "the reviewers have finished".to_owned(),
        (_, true) => "a reviewer did not answer".to_owned(),
        _ => "the reviewers have not finished".to_owned(),
    };
    format!("{open}{person}; {reviewers}")
}
