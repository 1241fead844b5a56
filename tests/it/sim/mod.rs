//! Deterministic simulation: the real core and driver over a world in memory, seeded; invariants after every run and kill.

mod invariants;
mod keyboard;
mod ports;
mod repo;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use pushback::engine::rounds::{self, RunEnd, RunRequest};
use pushback::engine::{EngineError, Ports, Setup};
use pushback::review::guard::Guard;
use pushback::review::policy::Policy;

use ports::{Shared, SimAgent, SimClock, SimForge, SimStore, SimVerifier, pr_ref};
use repo::Tree;
use world::{Killed, World};

fn policy() -> Policy {
    let mut policy = Policy { has_verify: true, ..Policy::default() };
    policy.post.enabled = true;
    policy
}

/// Worlds that are played side by side.
const THREADS: usize = 2;

/// Failing seeds after which no more are played.
const MOST_FAILURES: usize = 4;

/// Runs once to its end, or to the kill.
fn run(world: &Shared) -> Option<Result<RunEnd, EngineError>> {
    let (forge, tree, agent) = (SimForge(world.clone()), Tree(world.clone()), SimAgent(world.clone()));
    let (verifier, store, clock) = (SimVerifier(world.clone()), SimStore(world.clone()), SimClock(world.clone()));
    let mut policy = policy();
    let until_ready = world.borrow().ci;
    if until_ready {
        policy.gate.checks = vec!["build".into()];
    }
    let guard = Guard::new(&policy.gate.protected, &[]).expect("globs");
    let rules = crate::support::rules();
    let ports = Ports {
        forge: &forge,
        tree: &tree,
        agent: Some(&agent),
        verifier: &verifier,
        store: &store,
        clock: &clock,
        reporter: &ports::Silent,
    };
    let setup = Setup {
        rules,
        policy: &policy,
        guard: &guard,
        plans: &ports::SimPlans,
        pr: pr_ref(),
        branch: "feature".into(),
        own_tree: false,
        spec: None,
        spec_paths: Vec::new(),
        verify_commands: vec!["true".into()],
        retries: 1,
        frozen: Vec::new(),
        poll_min: Duration::from_secs(60),
        poll_max: Duration::from_secs(180),
    };
    let request = RunRequest { more: 0, until_ready, wait: None };
    match catch_unwind(AssertUnwindSafe(|| rounds::run(&ports, &setup, request))) {
        Ok(end) => {
            let line = match &end {
                Ok(end) => format!("== {} {}", end.reason.as_str(), end.why),
                Err(error) => format!("== error {error}"),
            };
            world.borrow_mut().log.push(line);
            Some(end)
        }
        Err(payload) if payload.is::<Killed>() => None,
        Err(payload) => resume_unwind(payload),
    }
}

/// Plays one seed: runs, kills and faults, then a last run without either.
fn play(seed: u64) {
    let world = World::new(seed);
    let told = world.clone();
    let played = catch_unwind(AssertUnwindSafe(|| play_in(&world, seed)));
    let alone = std::env::var_os("PUSHBACK_SIM_SEED").is_some();
    if std::env::var_os("PUSHBACK_SIM_LOG").is_some() || (alone && played.is_err()) {
        tell(&told);
    }
    if let Err(payload) = played {
        resume_unwind(payload);
    }
}

/// Prints what happened and how it ended.
#[expect(clippy::print_stderr, reason = "a failing seed is read by a person")]
fn tell(told: &Shared) {
    let world = told.borrow();
    for line in &world.log {
        eprintln!("{line}");
    }
    for entry in world.state.iter().flat_map(|state| state.comments.values()) {
        let f = &entry.finding;
        eprintln!(
            "{} {} {} {:?}:{:?} was {:?} on {:?}: {} | {:?} | {:?}",
            f.id,
            f.severity,
            f.status,
            f.path,
            f.line,
            entry.original_line,
            entry.made_on,
            f.why,
            entry.text,
            entry.proof
        );
    }
    for comment in &world.comments {
        let who = comment.author.as_ref().map_or("", |author| author.login.as_str());
        eprintln!(
            "at {} {:?} {} by {who} re {:?}: {:?}",
            comment.created_at, comment.channel, comment.id, comment.in_reply_to, comment.body
        );
    }
    eprintln!("{:?} now {} head {}", world.defects, world.now, world.repo.remote);
}

fn play_in(world: &Shared, seed: u64) {
    let (kills, faults) = {
        let mut world = world.borrow_mut();
        (world.rng.below(4), world.rng.below(3) * 4)
    };
    {
        let mut world = world.borrow_mut();
        world.faults = faults;
        world.busy = *world.rng.pick(&[0, 0, 5, 15]);
    }
    for _ in 0..kills {
        {
            let mut world = world.borrow_mut();
            let at = world.ops + 1 + world.rng.below(60);
            world.kill_at = Some(at);
        }
        let end = run(world);
        world.borrow_mut().kill_at = None;
        if end.is_none() {
            world.borrow_mut().killed();
        }
        invariants::check(world, end.as_ref(), seed);
        if world.borrow_mut().rng.chance(12) {
            world.borrow_mut().lose_state();
        }
        if world.borrow_mut().rng.chance(15) {
            world.borrow_mut().person_pushes();
            invariants::pull(world);
        }
        if world.borrow().busy > 0 && world.borrow_mut().rng.chance(40) {
            world.borrow_mut().somebody_acts();
        }
    }
    {
        let mut world = world.borrow_mut();
        (world.faults, world.busy) = (0, 0);
    }
    for _ in 0..8 {
        invariants::pull(world);
        let end = run(world);
        invariants::check(world, end.as_ref(), seed);
        if invariants::at_rest(end.as_ref()) {
            break;
        }
    }
    invariants::pull(world);
    let before = invariants::outside(world);
    let end = run(world);
    invariants::check(world, end.as_ref(), seed);
    invariants::final_state(world, end.as_ref(), &before, seed);
}

fn seeds() -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    match (number("PUSHBACK_SIM_SEED"), number("PUSHBACK_SIM_SEEDS")) {
        (Some(seed), _) => seed..seed + 1,
        // As many as the default test run has time for; `scripts/simulate --seeds N` plays more.
        (None, count) => 0..count.unwrap_or(1000),
    }
}

#[test]
fn simulation_holds_every_invariant() {
    let (next, end) = (AtomicU64::new(seeds().start), seeds().end);
    let failed = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= end || failed.lock().expect("a list").len() >= MOST_FAILURES {
                        break;
                    }
                    if catch_unwind(|| play(seed)).is_err() {
                        eprintln!("seed {seed} failed: replay with scripts/simulate --seed {seed}");
                        failed.lock().expect("a list").push(seed);
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().expect("a list");
    assert!(failed.is_empty(), "seeds {failed:?} failed");
}
