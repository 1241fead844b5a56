//! The ports over the simulated world: forge, editor, verifier, state, clock. Each may fail as its real one may.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use jiff::Timestamp;
use pushback::ports::{
    Agent, AgentOutcome, AgentReport, Brief, BriefFiles, Clock, Depth, Event, Forge, ForgeError, Held, LinkedIssue,
    Loaded, Plans, Reporter, Store, StoreError, Verifier, VerifyReport, Woken, Write, Written,
};
use pushback::review::comment::{Comment, Thread};
use pushback::review::followup::PlanView;
use pushback::review::ids::{FindingId, PrNumber, PrRef, Sha};
use pushback::review::observation::{
    Barred, BranchRules, Check, CheckState, Mergeable, Observation, Permission, PrState, PullRequest, Reading,
};
use pushback::review::severity::Severity;
use pushback::review::summary::{Summary, VerifyState};
use serde_json::json;

use super::invariants;
use super::world::{ACCOUNTS, Sent, World, person};

pub(crate) type Shared = Rc<RefCell<World>>;

pub(crate) fn pr_ref() -> PrRef {
    PrRef { host: "forge.example".into(), slug: "o/r".parse().expect("a slug"), number: PrNumber(7) }
}

pub(crate) struct SimForge(pub(crate) Shared);

impl SimForge {
    /// Draws whether this read fails.
    fn read_fault(&self, what: &str) -> Result<(), ForgeError> {
        World::tick(&self.0, what);
        let mut world = self.0.borrow_mut();
        let chance = world.weather.reads;
        if world.rng.chance(chance) {
            return Err(ForgeError::CouldNotRead { request: what.to_owned(), why: "status 502".into() });
        }
        Ok(())
    }
}

pub(crate) fn observation(world: &World) -> Observation {
    let shown = |id: &u64| !world.lag.contains_key(id);
    let mut comments: Vec<Comment> = world.comments.iter().filter(|comment| shown(&comment.id)).cloned().collect();
    let mut threads = world.threads.clone();
    threads.iter_mut().for_each(|thread| thread.comments.retain(shown));
    let mut rng = world.rng.clone();
    // Pages come in any order.
    for at in (1..comments.len()).rev() {
        let other = usize::try_from(rng.below(at as u64 + 1)).expect("small");
        comments.swap(at, other);
    }
    let mut permissions = BTreeMap::new();
    for account in ACCOUNTS {
        permissions.insert(person(account).login, Permission::Write);
    }
    permissions.insert(person("ann").login, Permission::Write);
    permissions.insert(person("mallory").login, Permission::Read);
    Observation {
        at: world.now,
        account: Some(person(world.account)),
        pr: PullRequest {
            at: pr_ref(),
            url: "https://forge.example/o/r/pull/7".into(),
            title: "Compute values".into(),
            body: world.body.clone(),
            author: Some(person(ACCOUNTS[0])),
            state: match (world.merged, world.closed) {
                (true, _) => PrState::Merged,
                (false, true) => PrState::Closed,
                (false, false) => PrState::Open,
            },
            draft: false,
            base: "main".into(),
            base_sha: world.base.clone(),
            head_branch: "feature".into(),
            head_repo: Some("o/r".parse().expect("a slug")),
            head: world.repo.remote.clone(),
            mergeable: Mergeable::Yes,
            behind: false,
            default_branch: "main".into(),
            created_at: "2026-01-05T09:00:00Z".parse().expect("a time"),
        },
        comments: comments.into(),
        threads,
        reactions: Vec::new(),
        permissions,
        checks: Reading::Known(vec![check(world)]),
        rules: Reading::Known(BranchRules::default()),
        recent_bots: Reading::Known(world.bots.iter().map(|name| pushback::review::ids::Login::new(name)).collect()),
        head_since: None,
        barred: Barred::default(),
    }
}

fn check(world: &World) -> Check {
    let state = match world.checks.get(&world.repo.remote) {
        Some((end, green)) if *end <= world.now => {
            if *green {
                CheckState::Success
            } else {
                CheckState::Failed("failure".into())
            }
        }
        Some(_) | None => CheckState::Pending,
    };
    Check {
        app_id: Some(1),
        app: "ci".into(),
        workflow: None,
        name: "build".into(),
        state,
        text: String::new(),
        at: None,
        url: String::new(),
    }
}

impl Forge for SimForge {
    fn observe(&self, _depth: Depth) -> Result<Observation, ForgeError> {
        self.read_fault("GET pull request")?;
        let seen = observation(&self.0.borrow());
        self.0.borrow_mut().lag.retain(|_, readings| {
            *readings -= 1;
            *readings > 0
        });
        Ok(seen)
    }

    fn head(&self) -> Result<Sha, ForgeError> {
        self.read_fault("GET head")?;
        Ok(self.0.borrow().repo.remote.clone())
    }

    fn ended(&self) -> Result<bool, ForgeError> {
        // No fault of its own: what cannot be read changes nothing.
        let world = self.0.borrow();
        Ok(world.merged || world.closed)
    }

    fn description(&self) -> Result<String, ForgeError> {
        self.read_fault("GET description")?;
        Ok(self.0.borrow().body.clone())
    }

    fn thread(&self, node_id: &str) -> Result<Option<Thread>, ForgeError> {
        self.read_fault("POST graphql thread")?;
        Ok(self.0.borrow().threads.iter().find(|thread| thread.node_id == node_id).cloned())
    }

    fn linked_issues(&self) -> Result<Vec<LinkedIssue>, ForgeError> {
        self.read_fault("POST graphql issues")?;
        Ok(Vec::new())
    }

    fn write(&self, write: &Write) -> Written {
        World::tick(&self.0, "write");
        let weather = self.0.borrow().weather;
        if self.0.borrow_mut().rng.chance(weather.writes) {
            let mut world = self.0.borrow_mut();
            return match world.rng.below(4) {
                0 => Written::NotSent("status 503 before".into()),
                1 => Written::Unclear("no answer, and nothing came of it".into()),
                _ => {
                    effect(&mut world, write);
                    Written::Unclear("the connection broke after it".into())
                }
            };
        }
        let written = effect(&mut self.0.borrow_mut(), write);
        World::tick(&self.0, "write answered");
        let mut world = self.0.borrow_mut();
        if let (Written::Done(Some(id)), true) = (&written, world.rng.chance(weather.lag)) {
            let readings = 1 + world.rng.below(2);
            world.lag.insert(*id, readings);
        }
        written
    }
}

fn effect(world: &mut World, write: &Write) -> Written {
    match write {
        Write::Reply { root, body } => Written::Done(Some(world.post(Some(*root), body))),
        Write::Comment { body } => Written::Done(Some(world.post(None, body))),
        Write::Describe { body } => {
            world.former = Some((world.body.clone(), world.before.clone(), world.after.clone()));
            world.body.clone_from(body);
            Written::Done(None)
        }
        Write::Resolve { node_id } => {
            let by = person(world.account).login;
            if let Some(thread) = world.threads.iter_mut().find(|thread| &thread.node_id == node_id) {
                thread.resolved = true;
                thread.resolved_by = Some(by.clone());
            }
            Written::Done(None)
        }
        Write::Delete { id, .. } => {
            world.comments.retain(|comment| comment.id != *id);
            Written::Done(None)
        }
        Write::React { id, .. } => {
            world.reacted.insert(*id);
            Written::Done(None)
        }
        Write::RequestReview { .. } | Write::Status { .. } => Written::Done(None),
    }
}

/// An editor with habits: it fixes, argues, half-fixes, does nothing, lies, crashes, is out of quota, is slow, undoes
/// earlier fixes, drops tests, rewrites history.
pub(crate) struct SimAgent(pub(crate) Shared);

fn report(outcome: AgentOutcome) -> AgentReport {
    AgentReport { outcome, seconds: 30, tokens: 10, cost_usd: 0.01, swept: 0, swept_clean: true, log: None }
}

impl Agent for SimAgent {
    fn name(&self) -> &str {
        "scripted"
    }

    fn run(&self, brief: &Brief, _reporter: &dyn Reporter) -> AgentReport {
        World::tick(&self.0, "editor");
        let mut world = self.0.borrow_mut();
        world.now += Duration::from_secs(30);
        let mut stable = brief.view.findings.clone();
        stable.round = 0;
        let brief_text = format!("{} {:?}", serde_json::to_string(&stable).expect("JSON"), brief.view.last_round);
        let habit = world.rng.below(100);
        let machine = 1 - world.away.n;
        // One that falls over twice in a row has to be mended: its second brief comes again.
        let fell = (4..8).contains(&habit);
        let before = world.fell.remove(&machine);
        if fell {
            world.fell.insert(machine);
        }
        world.briefs.push(Sent { text: brief_text, machine, excused: habit < 4 || (fell && before) });
        // An editor works for minutes, and others do not wait for it.
        let busy = world.weather.busy;
        if world.rng.chance(busy) {
            world.somebody_acts();
        }
        if habit < 4 {
            return report(AgentOutcome::RateLimited { why: "usage limit".into(), retry_at: None });
        }
        let mut decisions = Vec::new();
        for item in &brief.view.findings.review_findings {
            let argues = if item.severity == Severity::P1 { 8 } else { world.argues };
            let words = world.rng.chance(argues);
            let verb =
                *world.rng.pick(&["argue", "argue", "argue", "argue", "argue", "defer", "defer", "stale", "answer"]);
            if words && verb != "argue" {
                let reason = "The callers of this function are rewritten by the next pull request, where this belongs.";
                let plan = json!({"title": "Check the callers", "steps": ["List them", "Check each"]});
                decisions.push(json!({"id": item.id, "decision": verb, "reason": reason, "plan": plan}));
            } else if words {
                let place = item.path.clone().unwrap_or_else(|| "the value".into());
                let reason = format!("In {place} {}, case {}.", argument(&mut world), item.id);
                decisions.push(json!({"id": item.id, "decision": "argue", "reason": reason}));
            } else if !world.rng.chance(15) {
                fix(&mut world, item.id, item.text.as_str());
                decisions.push(json!({"id": item.id, "decision": "fix"}));
            } else if world.rng.chance(50) {
                // A lie: nothing was changed.
                decisions.push(json!({"id": item.id, "decision": "fix"}));
            }
        }
        if brief.view.findings.tests.state == "red" && world.rng.chance(80) {
            world.repo.files.insert("spec.txt".into(), "GREEN\n".into());
        }
        let text = match world.rng.below(20) {
            0 => b"not json".to_vec(),
            _ => serde_json::to_vec(&json!({"schema_version": 1, "decisions": decisions})).expect("JSON"),
        };
        world.decisions = Some(text);
        let late = misbehave(&mut world, habit);
        world.now += Duration::from_secs(late);
        drop(world);
        World::tick(&self.0, "edited");
        let outcome = match habit {
            ..8 => AgentOutcome::Crashed("exit code 1".into()),
            8 => AgentOutcome::TimedOut("30m".into()),
            _ => AgentOutcome::Completed,
        };
        AgentReport { seconds: 30 + late, ..report(outcome) }
    }
}

/// Never twice the same words, as far as that is possible.
fn argument(world: &mut World) -> String {
    let who = *world.rng.pick(&[
        "the caller of this function",
        "the parser above",
        "the type of the field",
        "the guard at the entrance",
    ]);
    let how = *world.rng.pick(&[
        "is checked by",
        "cannot be empty because of",
        "was validated before by",
        "is bounded through",
    ]);
    let so = *world.rng.pick(&[
        "a second guard would never run",
        "there is nothing left to reject here",
        "an early return would hide the real cause",
        "this path is not reachable",
    ]);
    format!("the value {how} {who}, so {so} ({})", world.rng.below(1000))
}

/// Does what nobody asked for; returns for how many seconds more it worked.
fn misbehave(world: &mut World, habit: u64) -> u64 {
    match habit {
        8..11 => return 1_770,
        11..14 => {
            // Takes an earlier fix out again.
            for content in world.repo.files.values_mut() {
                let fixed = content.split("checked(").nth(1).and_then(|rest| rest.split(')').next());
                if let Some(n) = fixed.map(str::to_owned) {
                    *content = content.replace(&format!("checked({n}))"), &format!("DEFECT {n})"));
                }
            }
        }
        14 => drop(world.repo.files.insert("dropped-a-test.txt".into(), String::new())),
        15..17 => {
            let head = world.repo.head.clone();
            if let Some(parent) = world.repo.commits[&head].parent.clone() {
                let files = world.repo.at(&head).clone();
                world.repo.head = world.repo.add(&parent, files, "history made nicer");
            }
        }
        _ => {}
    }
    0
}

/// Removes the defect that a finding's text names.
fn fix(world: &mut World, _id: FindingId, text: &str) {
    let Some(n) = text.split("defect ").nth(1).and_then(|rest| rest.split(' ').next()).map(str::to_owned) else {
        return;
    };
    let marker = format!("DEFECT {n})");
    for content in world.repo.files.values_mut() {
        *content = content.replace(&marker, &format!("checked({n}))"));
    }
}

pub(crate) struct SimVerifier(pub(crate) Shared);

impl Verifier for SimVerifier {
    fn verify(&self, dir: Option<&Utf8Path>, _reporter: &dyn Reporter) -> VerifyReport {
        World::tick(&self.0, "verify");
        let world = self.0.borrow();
        let files = match dir {
            None => &world.repo.files,
            Some(dir) => {
                let sha = Sha::parse(dir.file_name().unwrap_or_default()).expect("a sha");
                world.repo.at(&sha)
            }
        };
        let red = files.get("spec.txt").is_some_and(|text| text.contains("RED"));
        let state = if red { VerifyState::Red } else { VerifyState::Green };
        let tests = if files.contains_key("dropped-a-test.txt") { 2 } else { 3 };
        let line = format!("verified {} {dir:?}: {state:?}, {tests} tests", world.repo.head.short());
        drop(world);
        self.0.borrow_mut().log.push(line);
        VerifyReport {
            state,
            why: "the spec test".into(),
            log: "log".into(),
            tests: Some(tests),
            skipped: Some(0),
            absent: false,
        }
    }
}

pub(crate) struct SimStore(pub(crate) Shared);

impl Store for SimStore {
    fn lock(&self) -> Result<Held, StoreError> {
        Ok(Held::new(Box::new(())))
    }

    fn load(&self, _held: Option<&Held>) -> Result<Loaded, StoreError> {
        // What is read back is what JSON can carry.
        let text = self.0.borrow().state.as_ref().map(|state| serde_json::to_vec(state).expect("JSON"));
        Ok(text.map_or(Loaded::Absent, |text| Loaded::Known(serde_json::from_slice(&text).expect("reads back"))))
    }

    fn save(&self, _held: &Held, summary: &Summary) -> Result<(), StoreError> {
        if self.0.borrow().state.as_ref() == Some(summary) {
            return Ok(());
        }
        World::tick(&self.0, "save");
        invariants::stored(&self.0.borrow(), summary);
        self.0.borrow_mut().state = Some(summary.clone());
        World::tick(&self.0, "saved");
        Ok(())
    }

    fn path(&self) -> Utf8PathBuf {
        "summary.json".into()
    }

    fn write_brief(&self, _: &Held, _: &BriefFiles) -> Result<(Utf8PathBuf, Utf8PathBuf, Utf8PathBuf), StoreError> {
        let mut world = self.0.borrow_mut();
        world.decisions = None;
        Ok(("findings.json".into(), "decisions.json".into(), "spec.md".into()))
    }

    fn read_decisions(&self) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.0.borrow().decisions.clone())
    }
}

pub(crate) struct SimClock(pub(crate) Shared);

impl Clock for SimClock {
    fn now(&self) -> Timestamp {
        self.0.borrow().now
    }

    fn monotonic(&self) -> Duration {
        let start: Timestamp = "2026-01-01T00:00:00Z".parse().expect("a time");
        Duration::try_from(self.0.borrow().now.duration_since(start)).expect("forward")
    }

    fn sleep(&self, time: Duration) -> Woken {
        World::tick(&self.0, "sleep");
        self.0.borrow_mut().advance(time);
        Woken::Elapsed
    }

    fn interrupted(&self) -> bool {
        false
    }
}

pub(crate) struct SimPlans;

impl Plans for SimPlans {
    fn plan(&self, view: &PlanView) -> Result<String, String> {
        let ids: Vec<&str> = view.findings.iter().map(|finding| finding.id.as_str()).collect();
        Ok(format!("# {}\n\n{}\n\n{}\n", view.title, ids.join(" "), view.steps.join("\n")))
    }
}

pub(crate) struct Silent;

impl Reporter for Silent {
    fn tell(&self, _event: Event) {}
}
