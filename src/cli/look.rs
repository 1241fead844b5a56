//! Builds adapters and settings for a pull request: the one place where rings meet.

use std::sync::Arc;
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};

use super::Context;
use super::failure::{Failure, Kind};
use super::place::{self, Meant, Place};
use crate::agent::{self, AgentSetup};
use crate::config::layers::{Layers, Origin, parse};
use crate::config::rules;
use crate::config::settings::Settings;
use crate::engine::survey::{self, Survey};
use crate::engine::{Ports, Setup, fresh_summary};
use crate::github::{Api, Github};
use crate::ports::{Agent, Depth, Forge, Loaded, Store};
use crate::process::Supervisor;
use crate::review::classify::Rules;
use crate::review::guard::Guard;
use crate::review::ids::PrRef;
use crate::review::observation::Observation;
use crate::review::summary::Summary;
use crate::store::{self, FileStore};
use crate::verify::Commands;

/// Time between two writes that make content, on a real forge.
const WRITE_GAP: Duration = Duration::from_secs(1);
/// Name of the configuration file.
pub const CONFIG_FILE: &str = ".pushback.toml";

/// Everything that is known before a use case starts.
pub struct Desk {
    /// Where we are.
    pub place: Place,
    /// The pull request.
    pub pr: PrRef,
    /// Settings.
    pub settings: Settings,
    /// Settings with their sources.
    pub layers: Layers,
    /// Rules.
    pub rules: Rules,
    /// Guarded paths.
    pub guard: Guard,
    /// Forge.
    pub forge: Github,
    /// State.
    pub store: FileStore,
    /// The first complete reading.
    pub obs: Observation,
    /// Things worth telling, for example policy keys that a worktree file cannot set.
    pub notes: Vec<String>,
}

/// Reads the pull request and the configuration that is in force for it.
pub fn desk(cx: &Context, command: &str) -> Result<Desk, Failure> {
    let place = place::place(&cx.global)?;
    let api = place::connect(&place, &cx.global, cx.clock.clone())?;
    let (meant, obs, default_file) = read(cx, &place, &api)?;
    let pr = PrRef { host: place.host.clone(), slug: meant.slug.clone(), number: meant.number };
    store::remember_pull(place.tree.common_dir(), &place.host, &place.remote_branch, &meant.slug, meant.number);
    let (layers, notes) = layers(place.tree.common_dir(), &place.found.toplevel, default_file.as_deref())?;
    let settings = Settings::from_layers(&layers);
    let rules = rules(&layers)?;
    let guard = guard(&settings)?;
    let branch = obs.pr.head_branch.clone();
    let place = Place { tree: place.tree.for_pr(&place.remote, &branch)?, ..place };
    let forge = Github::new(api, pr.clone(), write_gap(cx));
    let store = FileStore::new(place.tree.common_dir(), &place.found.toplevel, pr.clone(), command)?;
    Ok(Desk { place, pr, settings, layers, rules, guard, forge, store, obs, notes })
}

/// A loopback forge is a test's or the demo's and counts no writes.
fn write_gap(cx: &Context) -> Duration {
    let base = cx.global.api_url.clone().or_else(|| std::env::var("PUSHBACK_API_URL").ok()).unwrap_or_default();
    let local = ["http://127.0.0.1", "http://localhost", "http://[::1]"].iter().any(|start| base.starts_with(start));
    if local { Duration::ZERO } else { WRITE_GAP }
}

/// Finds the pull request and reads it, side by side where the pull request is known from before.
fn read(cx: &Context, place: &Place, api: &Arc<Api>) -> Result<(Meant, Observation, Option<String>), Failure> {
    let named = place::named(place, &cx.global)?;
    let remembered = store::recall_pull(place.tree.common_dir(), &place.host, &place.remote_branch)
        .filter(|(slug, _)| place.slugs.iter().any(|known| known.same(slug)))
        .map(|(slug, number)| Meant { slug, number });
    let (meant, checked) = match (named, remembered) {
        (Some(meant), _) => (meant, true),
        (None, Some(meant)) => (meant, false),
        (None, None) => (place::find(place, api)?, true),
    };
    let observe = |meant: &Meant| -> Result<Observation, Failure> {
        let pr = PrRef { host: place.host.clone(), slug: meant.slug.clone(), number: meant.number };
        Ok(Github::new(api.clone(), pr, Duration::ZERO).observe(cx.depth)?)
    };
    let (obs, found, file) = std::thread::scope(|scope| {
        let obs = scope.spawn(|| observe(&meant));
        let found = (!checked).then(|| scope.spawn(|| place::find(place, api)));
        let file = api.contents(&meant.slug, CONFIG_FILE, "");
        let joined = |handle: Result<Result<Observation, Failure>, _>| handle.unwrap_or_else(|_| Err(broken()));
        let found = found.map(|handle| handle.join().unwrap_or_else(|_| Err(broken())));
        (joined(obs.join()), found, file)
    });
    match found {
        Some(Err(failure)) => return Err(failure),
        Some(Ok(now)) if now != meant => {
            let file = api.contents(&now.slug, CONFIG_FILE, "")?;
            return Ok((now.clone(), observe(&now)?, file));
        }
        Some(Ok(_)) | None => {}
    }
    Ok((meant, obs?, file?))
}

fn broken() -> Failure {
    Failure::new(Kind::Internal, "a reader ended by a panic", "report this with the log")
}

/// Reads the user's file, a trusted worktree file, and takes the default branch's text.
pub fn layers(common_dir: &Utf8Path, toplevel: &Utf8Path, default_file: Option<&str>) -> Result<(Layers, Vec<String>), Failure> {
    let mut files = Vec::new();
    let mut notes = Vec::new();
    if let Some((path, text)) = user_file()? {
        files.push((Origin::User, parse(path.as_str(), &text)?));
    }
    if let Some(text) = default_file {
        files.push((Origin::DefaultBranch, parse(&format!("{CONFIG_FILE} of the default branch"), text)?));
    }
    let path = toplevel.join(CONFIG_FILE);
    let here = std::fs::read(&path).ok().filter(|bytes| default_file.map(str::as_bytes) != Some(bytes));
    if let Some(bytes) = here {
        let in_ci = std::env::var_os("CI").is_some_and(|value| !value.is_empty());
        if !in_ci && store::is_trusted(common_dir, &bytes)? {
            let layer = parse(path.as_str(), &String::from_utf8_lossy(&bytes))?;
            files.push((Origin::TrustedWorktree, layer));
        } else {
            notes.push(format!("{CONFIG_FILE} of this worktree differs from the default branch's and is not used"));
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

fn user_file() -> Result<Option<(Utf8PathBuf, String)>, Failure> {
    let named = std::env::var("PUSHBACK_CONFIG").ok().filter(|text| !text.is_empty()).map(Utf8PathBuf::from);
    let given = named.is_some();
    let path = match named {
        Some(path) => path,
        None => match config_home() {
            Some(home) => home.join("pushback").join("config.toml"),
            None => return Ok(None),
        },
    };
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok(Some((path, text))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && !given => Ok(None),
        Err(error) => Err(Failure::usage(format!("could not read {path}: {error}"), "mend the file, or unset PUSHBACK_CONFIG")),
    }
}

fn config_home() -> Option<Utf8PathBuf> {
    use etcetera::BaseStrategy as _;
    let base = etcetera::choose_base_strategy().ok()?;
    Utf8PathBuf::try_from(base.config_dir()).ok()
}

/// Compiles the rules, the user's first.
pub fn rules(layers: &Layers) -> Result<Rules, Failure> {
    let bad = |bad: crate::review::classify::BadRule| {
        let hint = "mend the pattern; `severity.rule` takes a regular expression";
        Failure::usage(bad.to_string(), hint)
    };
    Rules::compile(rules::builtin().map_err(bad)?, &rules::user_rules(layers), &rules::overrides(layers)).map_err(bad)
}

fn guard(settings: &Settings) -> Result<Guard, Failure> {
    Guard::new(&settings.policy.gate.protected, &settings.verify.frozen).map_err(|bad| {
        Failure::usage(format!("`{}` is no glob: {}", bad.pattern, bad.why), "mend `gate.protected` or `verify.frozen`")
    })
}

impl Desk {
    /// Returns what does not change during a use case.
    pub fn setup(&self, spec: Option<String>) -> Setup<'_> {
        Setup {
            rules: &self.rules,
            policy: &self.settings.policy,
            guard: &self.guard,
            pr: self.pr.clone(),
            branch: self.place.branch.clone(),
            spec,
            spec_paths: self.settings.spec.clone(),
            verify_commands: self.settings.verify.commands.clone(),
            retries: self.settings.verify.retries,
            frozen: self.settings.verify.frozen.clone(),
            poll_min: self.settings.poll_min,
            poll_max: self.settings.poll_max,
        }
    }

    /// Makes the verifier.
    pub fn verifier(&self, cx: &Context) -> Result<Commands, Failure> {
        let verify = &self.settings.verify;
        Ok(Commands::new(crate::verify::VerifySetup {
            commands: verify.commands.clone(),
            timeout: verify.timeout,
            env: verify.env.clone(),
            dir: self.place.found.toplevel.clone(),
            log_dir: self.store.log_dir()?,
            supervisor: Supervisor::this_program(),
            signals: cx.signals.clone(),
        }))
    }

    /// Makes the editor; `None` when none is configured or installed.
    pub fn agent(&self, cx: &Context) -> Result<Option<Box<dyn Agent>>, Failure> {
        let agent = &self.settings.agent;
        let setup = AgentSetup {
            name: agent.name.clone(),
            command: agent.command.clone(),
            timeout: agent.timeout,
            silent: agent.silent,
            env: agent.env.clone(),
            wrap: agent.wrap.clone(),
            dir: self.place.found.toplevel.clone(),
            log_dir: self.store.log_dir()?,
            prompts: config_home().map(|home| home.join("pushback").join("prompts")),
            supervisor: Supervisor::this_program(),
            signals: cx.signals.clone(),
        };
        agent::choose(setup).map_err(|why| Failure::usage(why, "set `agent.name` and, for `command`, `agent.command`"))
    }

    /// Loads state without the lock; what is not there is rebuilt in memory.
    pub fn summary(&self) -> Result<Summary, Failure> {
        let fresh = || {
            let fresh = fresh_summary(&self.pr, &self.obs.pr.url, &self.obs.pr.base, &self.obs.pr.head);
            let notes = crate::review::trust::notes(&self.obs, &self.rules, &self.settings.policy);
            crate::review::rebuild::rebuild(fresh, &self.obs, &notes, &self.settings.policy)
        };
        Ok(match self.store.load(None)? {
            Loaded::Known(summary) => *summary,
            Loaded::Absent | Loaded::Bad { .. } => fresh(),
        })
    }
}

/// One look of a command that only reads: state is saved when the lock is free and something changed.
pub fn look(cx: &Context, desk: &Desk) -> Result<(Summary, Survey), Failure> {
    let mut summary = desk.summary()?;
    let verifier = desk.verifier(cx)?;
    let ports = Ports {
        forge: &desk.forge,
        tree: &desk.place.tree,
        agent: None,
        verifier: &verifier,
        store: &desk.store,
        clock: &*cx.clock,
        reporter: &cx.printer,
    };
    let setup = desk.setup(None);
    let survey = survey::digest(&ports, &setup, &mut summary, desk.obs.clone(), Depth::Full)?;
    if !cx.global.dry_run
        && let Ok(held) = desk.store.lock()
    {
        // Another run may have saved between our reading and the lock: its state goes before ours.
        let unchanged = matches!(desk.store.load(Some(&held)), Ok(Loaded::Absent)) || desk.summary()? .pr == summary.pr;
        if unchanged {
            desk.store.save(&held, &summary)?;
        }
    }
    Ok((summary, survey))
}
