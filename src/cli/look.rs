//! Builds adapters and settings for a pull request: the one place where rings meet.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};

use super::Context;
use super::failure::{Failure, Kind};
use super::heard::{self, Heard};
use super::place::{self, Meant, Place};
use super::{ended, token};
use crate::agent;
use crate::agent::prompt::Prompts;
use crate::config::layers::{Layers, Origin, parse};
use crate::config::loosen;
use crate::config::rules;
use crate::config::settings::Settings;
use crate::engine::survey::{self, Survey};
use crate::engine::{Ports, Setup, rounds};
use crate::github::{Api, Github};
use crate::hook::script::quoted;
use crate::ports::{Agent, Depth, Event, Forge, ForgeError, Loaded, Reporter, Store, Worktree as _};
use crate::process::{Supervisor, bounded};
use crate::review::classify::Rules;
use crate::review::classify::rules::{ReviewerOverride, UserRule};
use crate::review::gate::LocalHeads;
use crate::review::guard::Guard;
use crate::review::ids::{PrRef, RepoPath, RepoSlug, Sha};
use crate::review::observation::Observation;
use crate::review::readings::Known;
use crate::review::summary::Summary;
use crate::store::{self, FileStore};
use crate::verify::Commands;

/// Time between two writes that make content, on a real forge.
const WRITE_GAP: Duration = Duration::from_secs(1);
/// Silence of an editor after its last word.
const LAST_WORD: Duration = Duration::from_secs(30);
/// Name of the configuration file.
pub(crate) const CONFIG_FILE: &str = ".pushback.toml";

/// Everything that is known before a use case starts.
pub(crate) struct Desk {
    /// Where we are.
    pub(crate) place: Place,
    /// The pull request.
    pub(crate) pr: PrRef,
    /// Settings.
    pub(crate) settings: Settings,
    /// Rules, and what they have read.
    known: Known,
    /// Names the rules, where they had to read something new.
    fresh: Option<String>,
    /// The state, where it was read beside the forge.
    state: Option<Loaded>,
    /// Guarded paths.
    pub(crate) guard: Guard,
    /// Templates.
    pub(crate) prompts: Prompts,
    /// Forge.
    pub(crate) forge: Github,
    /// State.
    pub(crate) store: FileStore,
    /// The first complete reading.
    pub(crate) obs: Observation,
    /// Things worth telling, for example policy keys that a worktree file cannot set.
    pub(crate) notes: Vec<String>,
    /// True in a worktree of the program's own.
    pub(crate) own_tree: bool,
    /// Flags without which a later call would mean another pull request.
    pub(crate) flags: String,
}

/// Flags of this call without which the next one would mean another pull request.
pub(crate) fn passed_on(cx: &Context) -> String {
    let plain = |text: &str| {
        let good = |c: char| c.is_ascii_alphanumeric() || "-_./:@".contains(c);
        if text.chars().all(good) { text.to_owned() } else { quoted(text) }
    };
    let dir = cx.global.dir.as_ref().map(|dir| dir.as_str());
    let global = &cx.global;
    let (repo, pr, api) = (global.repo.as_deref(), global.pr.as_deref(), global.api_url.as_deref());
    let flags = [("-C", dir), ("--repo", repo), ("--pr", pr), ("--api-url", api)];
    flags.iter().filter_map(|(flag, value)| value.map(|value| format!(" {flag} {}", plain(value)))).collect()
}

/// Reads the pull request and the configuration that is in force for it.
pub(crate) fn desk(cx: &Context, command: &str) -> Result<Desk, Failure> {
    desk_at(cx, command, place::place(&cx.global)?)
}

/// The same from a place that is known.
pub(crate) fn desk_at(cx: &Context, command: &str, mut place: Place) -> Result<Desk, Failure> {
    let api = place::connect(&place, &cx.global, cx.forge_clock.clone())?;
    let (meant, obs, force, mut heard) = read(cx, &place, &api)?;
    let pr = PrRef { host: place.host.clone(), slug: meant.slug.clone(), number: meant.number };
    let looked_up = place.remote_branch.clone();
    let Force { settings, rules, guard, mut notes, default_file, by } = force;
    let state = heard.state.take();
    let (known, fresh) = heard.known(rules, by, &obs);
    notes.extend(loosened(&place, &api, &meant.slug, &obs, default_file.as_deref()));
    let branch = obs.pr.head_branch.clone();
    place.settle_on(&branch, obs.pr.head_repo.as_ref());
    let place = Place { tree: place.tree.for_pr(&place.remote, &branch)?, ..place };
    let forge = Github::new(api, pr.clone(), write_gap(cx));
    let store = FileStore::new(place.tree.common_dir(), &place.found.toplevel, pr.clone(), command)?;
    let (prompts, own_tree) = (prompts(), false);
    let desk = Desk {
        place,
        pr,
        settings,
        known,
        fresh,
        state,
        guard,
        prompts,
        forge,
        store,
        obs,
        notes,
        own_tree,
        flags: passed_on(cx),
    };
    // Another pull request that was named says nothing about this branch.
    if desk.on_its_branch() {
        let common = desk.place.tree.common_dir();
        store::remember_pull(common, &desk.place.host, &looked_up, &desk.pr.slug, desk.pr.number);
    }
    Ok(desk)
}

/// What is in force for a pull request, made ready.
struct Force {
    settings: Settings,
    rules: Rules,
    guard: Guard,
    notes: Vec<String>,
    /// Text of the default branch's file.
    default_file: Option<String>,
    /// Names the rules.
    by: String,
}

impl Force {
    fn new(place: &Place, default_file: Option<&str>) -> Result<Self, Failure> {
        let (layers, notes) = layers(place.tree.common_dir(), &place.found.toplevel, default_file)?;
        let settings = Settings::from_layers(&layers);
        let (user, overrides) = (rules::user_rules(&layers), rules::overrides(&settings.policy));
        let by = heard::named(&user, &overrides);
        let rules = in_force(&user, &overrides)?;
        let guard = guard(&settings)?;
        Ok(Self { settings, rules, guard, notes, default_file: default_file.map(str::to_owned), by })
    }
}

/// Says what the pull request itself changes about the rules it is judged by (R29).
fn loosened(
    place: &Place,
    api: &Api,
    slug: &RepoSlug,
    obs: &Observation,
    default_file: Option<&str>,
) -> Option<String> {
    let head = &obs.pr.head;
    let path = RepoPath::from_git(CONFIG_FILE);
    let here = |sha: &Sha| place.tree.file_at(sha, &path).ok();
    let text = |bytes: Option<Vec<u8>>| bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let own = match here(head).filter(|_| place.local_head().as_ref() == Some(head)) {
        Some(bytes) => text(bytes),
        None => match api.contents(slug, CONFIG_FILE, Some(head.as_str())) {
            Ok(file) => file,
            Err(error) => return Some(format!("the pull request's {CONFIG_FILE} could not be read: {error}")),
        },
    };
    if own.as_deref() == default_file {
        return None;
    }
    // A branch that is only behind changes nothing.
    let base = place.tree.merge_base(&obs.pr.base_sha, head).ok().flatten();
    if base.and_then(|base| here(&base)).is_some_and(|bytes| text(bytes) == own) {
        return None;
    }
    match loosen::changes(default_file, own.as_deref()) {
        Ok(changes) => loosen::told(&changes),
        Err(bad) => Some(format!("{bad}; after the merge no command would run with it")),
    }
}

/// A loopback forge is a test's or the demo's and counts no writes.
fn write_gap(cx: &Context) -> Duration {
    let base = cx.global.api_url.clone().or_else(|| std::env::var("PUSHBACK_API_URL").ok()).unwrap_or_default();
    let local = ["http://127.0.0.1", "http://localhost", "http://[::1]"].iter().any(|start| base.starts_with(start));
    if local { Duration::ZERO } else { WRITE_GAP }
}

/// Finds the pull request and reads it, side by side where the pull request is known from before. What needs only the
/// default branch's file or nothing from the forge is made ready in the meantime.
fn read(cx: &Context, place: &Place, api: &Arc<Api>) -> Result<(Meant, Observation, Force, Heard), Failure> {
    let named = place::named(place, &cx.global)?;
    let remembered = store::recall_pull(place.tree.common_dir(), &place.host, &place.remote_branch)
        .filter(|(slug, _)| place.slugs.iter().any(|known| known.same(slug)))
        .map(|(slug, number)| Meant { slug, number });
    let (meant, checked) = match (named, remembered) {
        (Some(meant), _) => (meant, true),
        (None, Some(meant)) => (meant, false),
        (None, None) => (place::find(&place.question(), api)?, true),
    };
    let (host, depth) = (place.host.clone(), cx.depth);
    let github = |meant: &Meant| {
        let pr = PrRef { host: host.clone(), slug: meant.slug.clone(), number: meant.number };
        Github::new(api.clone(), pr, Duration::ZERO)
    };
    let observe = |meant: &Meant, forge: &Github| -> Result<Observation, Failure> {
        forge.observe(depth).map_err(|error| missing(api, meant, error))
    };
    let (early, heard) = mpsc::channel();
    let (forge, over) = (github(&meant).telling(early), AtomicBool::new(false));
    let known = github(&meant);
    let question = place.question();
    let kept = (depth == Depth::Warm).then(|| pull_store(place, &meant)).flatten();
    let (obs, found, force, heard) = std::thread::scope(|scope| {
        let obs = scope.spawn(|| {
            let obs = observe(&meant, &forge);
            over.store(true, Ordering::Relaxed);
            drop(forge);
            obs
        });
        let found = (!checked).then(|| scope.spawn(|| place::find(&question, api)));
        scope.spawn(|| place.tree.ask_ahead(&place.remote));
        let heard = scope.spawn(|| Heard::kept(kept).unwrap_or_else(|| Heard::rehearsed(&known, heard, &over)));
        let file = api.contents(&meant.slug, CONFIG_FILE, None);
        let force = file.map_err(Failure::from).and_then(|file| Force::new(place, file.as_deref()));
        let joined = |handle: Result<Result<Observation, Failure>, _>| handle.unwrap_or_else(|_| Err(broken()));
        let found = found.map(|handle| handle.join().unwrap_or_else(|_| Err(broken())));
        (joined(obs.join()), found, force, heard.join().unwrap_or_default())
    });
    match found {
        Some(Err(failure)) => return Err(failure),
        Some(Ok(now)) if now != meant => {
            let mut heard = heard;
            heard.state = None;
            let file = api.contents(&now.slug, CONFIG_FILE, None)?;
            return Ok((now.clone(), observe(&now, &github(&now))?, Force::new(place, file.as_deref())?, heard));
        }
        Some(Ok(_)) | None => {}
    }
    Ok((meant, obs?, force?, heard))
}

fn pull_store(place: &Place, meant: &Meant) -> Option<FileStore> {
    let pr = PrRef { host: place.host.clone(), slug: meant.slug.clone(), number: meant.number };
    FileStore::new(place.tree.common_dir(), &place.found.toplevel, pr, "").ok()
}

/// A pull request that is not there and a repository that is hidden answer alike: only the repository tells them apart.
fn missing(api: &Api, meant: &Meant, error: ForgeError) -> Failure {
    let hidden = matches!(&error, ForgeError::Permission { why, .. } if why.starts_with("status 404"));
    if hidden && api.repository(&meant.slug).is_ok() && api.pull_is_missing(&meant.slug, meant.number) {
        return Failure::new(
            Kind::Permission,
            format!("{} has no pull request #{}, or this token cannot see it", meant.slug, meant.number),
            "name one that is there with `--pr N`; fine-grained tokens need `pull requests: read`",
        );
    }
    error.into()
}

fn broken() -> Failure {
    Failure::new(Kind::Internal, "a reader ended by a panic", "report this with the log")
}

/// Reads the user's file, a trusted worktree file, and takes the default branch's text.
pub(crate) fn layers(
    common_dir: &Utf8Path,
    toplevel: &Utf8Path,
    default_file: Option<&str>,
) -> Result<(Layers, Vec<String>), Failure> {
    let mut files = Vec::new();
    let mut notes = Vec::new();
    if let Some((path, text)) = user_file()? {
        files.push((Origin::User, parse(path.as_str(), &text)?));
    }
    if let Some(text) = default_file {
        files.push((Origin::DefaultBranch, parse(&format!("{CONFIG_FILE} of the default branch"), text)?));
    }
    let path = toplevel.join(CONFIG_FILE);
    let here = bounded::read(&path).ok().filter(|bytes| default_file.map(str::as_bytes) != Some(bytes));
    if let Some(bytes) = here {
        if !in_ci() && store::is_trusted(common_dir, &bytes)? {
            let layer = parse(path.as_str(), &String::from_utf8_lossy(&bytes))?;
            files.push((Origin::TrustedWorktree, layer));
        } else {
            notes.push(format!(
                "{CONFIG_FILE} of this worktree differs from the default branch's and is not used; `pushback trust` shows it \
                 and lets it apply"
            ));
        }
    }
    let mut layers = Layers::merge(files);
    if let Ok(name) = std::env::var("PUSHBACK_AGENT")
        && !name.is_empty()
    {
        let layer = parse("PUSHBACK_AGENT", &format!("[agent]\nname = {}", toml::Value::String(name)))?;
        let checked = Layers::merge(vec![(Origin::Call, layer)]);
        if let Some((value, _)) = checked.get("agent.name") {
            layers.set("agent.name", value);
        }
    }
    if !layers.ignored.is_empty() {
        notes.push(format!("a worktree file cannot set: {}", layers.ignored.join(", ")));
    }
    Ok((layers, notes))
}

/// Tells whether a worktree's file is ruled out (R29).
pub(crate) fn in_ci() -> bool {
    std::env::var_os("CI").is_some_and(|value| !value.is_empty())
}

fn named_file() -> Option<Utf8PathBuf> {
    std::env::var("PUSHBACK_CONFIG").ok().filter(|text| !text.is_empty()).map(Utf8PathBuf::from)
}

/// Returns where the user's file is, or would be.
pub(crate) fn user_path() -> Option<Utf8PathBuf> {
    named_file().or_else(|| Some(config_home()?.join("pushback").join("config.toml")))
}

fn user_file() -> Result<Option<(Utf8PathBuf, String)>, Failure> {
    let given = named_file().is_some();
    let Some(path) = user_path() else { return Ok(None) };
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok(Some((path, text))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && !given => Ok(None),
        Err(error) => {
            Err(Failure::usage(format!("could not read {path}: {error}"), "mend the file, or unset PUSHBACK_CONFIG"))
        }
    }
}

fn config_home() -> Option<Utf8PathBuf> {
    use etcetera::BaseStrategy as _;
    let base = etcetera::choose_base_strategy().ok()?;
    Utf8PathBuf::try_from(base.config_dir()).ok()
}

/// The templates, the user's own first.
fn prompts() -> Prompts {
    Prompts::new(config_home().map(|home| home.join("pushback").join("prompts")).filter(|dir| dir.is_dir()))
}

/// Compiles the rules, the user's first.
pub(crate) fn rules(layers: &Layers) -> Result<Rules, Failure> {
    let policy = Settings::from_layers(layers).policy;
    in_force(&rules::user_rules(layers), &rules::overrides(&policy))
}

fn in_force(user: &[UserRule], overrides: &BTreeMap<String, ReviewerOverride>) -> Result<Rules, Failure> {
    rules::in_force(user, overrides)
        .map_err(|bad| Failure::usage(bad.to_string(), "mend the pattern; `severity.rule` takes a regular expression"))
}

fn guard(settings: &Settings) -> Result<Guard, Failure> {
    Guard::new(&settings.policy.gate.protected, &settings.verify.frozen).map_err(|bad| {
        Failure::usage(format!("`{}` is no glob: {}", bad.pattern, bad.why), "mend `gate.protected` or `verify.frozen`")
    })
}

impl Desk {
    /// Tells whether this worktree is on the pull request's own branch. Only then its HEAD says something about it.
    pub(crate) fn on_its_branch(&self) -> bool {
        let pr = &self.obs.pr;
        let owner = pr.head_repo.as_ref().map(|repo| repo.owner.as_str());
        self.place.remote_branch == pr.head_branch
            && owner.is_some_and(|owner| owner.eq_ignore_ascii_case(&self.place.head_owner))
    }

    /// Returns the branch's heads here and on the remote for a verdict; `None` where this clone knows nothing of it.
    pub(crate) fn heads(&self, head: &Sha) -> Result<Option<LocalHeads>, Failure> {
        if self.on_its_branch() {
            return Ok(Some(rounds::heads(&self.place.tree)?));
        }
        let pushed_here = self.obs.pr.head_repo.as_ref().is_some_and(|repo| {
            self.place.slugs.iter().any(|slug| slug.same(repo))
                && repo.owner.eq_ignore_ascii_case(&self.place.head_owner)
        });
        if !pushed_here {
            return Ok(None);
        }
        // What is checked out here is another branch: there is nothing local to compare.
        let remote = self.place.tree.remote_head()?;
        Ok(Some(LocalHeads { local: remote.clone().unwrap_or_else(|| head.clone()), remote: remote.into() }))
    }

    /// Returns what does not change during a use case.
    pub(crate) fn setup(&self, spec: Option<String>) -> Setup<'_> {
        Setup {
            rules: &self.known.rules,
            reader: &self.known,
            policy: &self.settings.policy,
            guard: &self.guard,
            plans: &self.prompts,
            pr: self.pr.clone(),
            // Another pull request than this branch's: only its own branch may run it.
            branch: if self.place.remote_branch == self.obs.pr.head_branch {
                self.place.branch.clone()
            } else {
                self.obs.pr.head_branch.clone()
            },
            own_tree: self.own_tree,
            spec,
            spec_paths: self.settings.spec.clone(),
            verify_commands: self.settings.verify.commands.clone(),
            retries: self.settings.verify.retries,
            frozen: self.settings.verify.frozen.clone(),
            poll_min: self.settings.poll_min,
            poll_max: self.settings.poll_max,
        }
    }

    /// Returns the world as the engine sees it.
    pub(crate) fn ports<'a>(
        &'a self,
        cx: &'a Context,
        agent: Option<&'a dyn Agent>,
        verifier: &'a Commands,
    ) -> Ports<'a> {
        Ports {
            forge: &self.forge,
            tree: &self.place.tree,
            agent,
            verifier,
            store: &self.store,
            clock: &*cx.clock,
            reporter: &cx.printer,
        }
    }

    /// Makes the verifier.
    pub(crate) fn verifier(&self, cx: &Context) -> Result<Commands, Failure> {
        let verify = &self.settings.verify;
        Ok(Commands {
            lines: verify.commands.clone(),
            timeout: verify.timeout,
            env: verify.env.clone(),
            secrets: token::secrets(),
            worktree: self.place.found.toplevel.clone(),
            runs: self.store.log_dir()?,
            supervisor: Supervisor::this_program(),
            stop: cx.stop(),
        })
    }

    /// Makes the editor; `None` when none is configured or installed.
    pub(crate) fn agent(&self, cx: &Context) -> Result<Option<Box<dyn Agent>>, Failure> {
        let agent = &self.settings.agent;
        let name = match agent.name.as_deref() {
            Some("command") if agent.command.is_empty() => {
                return Err(Failure::usage(
                    "`agent.name` is \"command\" and `agent.command` is empty",
                    "set `agent.command = [\"program\", \"argument\"]`",
                ));
            }
            Some(name) => name,
            None if !agent.command.is_empty() => "command",
            None => match agent::detect(&std::env::var("PATH").unwrap_or_default()).first() {
                Some(found) => {
                    cx.printer.tell(Event::Line(format!("editor: {found}, found on the PATH (`agent.name` decides)")));
                    found
                }
                None => return Ok(None),
            },
        };
        let setup = agent::Setup {
            command: agent.command.clone(),
            model: agent.model.clone(),
            wrap: agent.wrap.clone(),
            timeout: agent.timeout,
            silence: Some(agent.silent),
            grace: LAST_WORD,
            env: agent.env.clone(),
            secrets: token::secrets(),
            worktree: self.place.found.toplevel.clone(),
            runs: self.store.log_dir()?,
            prompts: self.prompts.clone(),
            supervisor: Supervisor::this_program(),
            stop: ended::stop(cx.stop(), self.forge.twin(), self.settings.poll_max),
        };
        Ok(agent::editor(name, setup))
    }
}

/// Reads the configuration that is in force here, without a pull request.
pub(crate) fn config(cx: &Context) -> Result<(Layers, Vec<String>), Failure> {
    let place = place::place(&cx.global)?;
    let api = place::connect(&place, &cx.global, cx.forge_clock.clone())?;
    let (file, note) = match api.contents(&place.slugs[0], CONFIG_FILE, None) {
        Ok(file) => (file, None),
        Err(error) => (None, Some(format!("the default branch's {CONFIG_FILE} could not be read: {error}"))),
    };
    let (layers, mut notes) = layers(place.tree.common_dir(), &place.found.toplevel, file.as_deref())?;
    notes.extend(note);
    rules(&layers)?;
    Ok((layers, notes))
}

/// Reads the settings that are in force for a place, before its pull request is known.
pub(crate) fn settings(place: &Place, api: &Api) -> Result<Settings, Failure> {
    let file = api.contents(&place.slugs[0], CONFIG_FILE, None)?;
    let (layers, _) = layers(place.tree.common_dir(), &place.found.toplevel, file.as_deref())?;
    Ok(Settings::from_layers(&layers))
}

/// One look of a command that only reads: state is saved when the lock is free and nothing came between.
pub(crate) fn look(cx: &Context, desk: &Desk) -> Result<(Summary, Survey), Failure> {
    std::thread::scope(|scope| {
        if let (Depth::Warm, Some(rules)) = (cx.depth, &desk.fresh) {
            let (store, readings) = (&desk.store, &desk.known.readings);
            scope.spawn(move || heard::keep(store, rules, readings));
        }
        looked(cx, desk)
    })
}

fn looked(cx: &Context, desk: &Desk) -> Result<(Summary, Survey), Failure> {
    let verifier = desk.verifier(cx)?;
    let ports = desk.ports(cx, None, &verifier);
    let setup = desk.setup(None);
    let before = match &desk.state {
        Some(state) => state,
        None => &desk.store.load(None)?,
    };
    let (summary, survey) = match before {
        Loaded::Known(known) => {
            let mut summary = Summary::clone(known);
            let survey = survey::digest(&ports, &setup, &mut summary, desk.obs.clone(), cx.depth)?;
            (summary, survey)
        }
        Loaded::Absent | Loaded::Bad { .. } => rounds::first(&ports, &setup, desk.obs.clone(), cx.depth)?,
    };
    let changed = match before {
        Loaded::Known(known) => **known != summary,
        Loaded::Absent => true,
        Loaded::Bad { .. } => false,
    };
    if changed
        && !cx.global.dry_run
        && let Ok(held) = desk.store.lock()
        && desk.store.load(Some(&held))? == *before
    {
        desk.store.save(&held, &summary)?;
    }
    Ok((summary, survey))
}
