//! A person at the keyboard who answers at random, leaves anywhere, and is killed anywhere: over a scripted `Prompter`.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

use pushback::engine::rounds;
use pushback::engine::survey;
use pushback::engine::triage::{Terms, TriageEnd, triage};
use pushback::ports::{Depth, Prompter};
use pushback::review::marker;
use pushback::review::severity::Severity;
use pushback::review::status::Status;
use pushback::review::triage::Size;

use super::ports::Shared;
use super::world::{Killed, Rng, World, is_ours};

/// Questions after which a person has enough.
const PATIENCE: u32 = 80;

struct Whim {
    rng: RefCell<Rng>,
    yes: bool,
    asked: Cell<u32>,
}

impl Whim {
    fn new(seed: u64, yes: bool) -> Self {
        Self { rng: RefCell::new(Rng::new(seed + 7)), yes, asked: Cell::new(0) }
    }

    /// Draws whether the person leaves here.
    fn leaves(&self) -> bool {
        self.asked.set(self.asked.get() + 1);
        self.asked.get() > PATIENCE || (!self.yes && self.rng.borrow_mut().chance(3))
    }

    fn below(&self, most: usize) -> usize {
        usize::try_from(self.rng.borrow_mut().below(most as u64)).expect("small")
    }

    /// A reason that speaks of any finding here and is like no other.
    fn reason(&self) -> String {
        let n = self.rng.borrow_mut().below(1_000_000);
        format!(
            "In src/part0.rs, src/part1.rs and src/part2.rs, spec.txt too, case {n} of {n} is what compute wants, {n}."
        )
    }
}

impl Prompter for Whim {
    fn confirm(&self, _: &str) -> Option<bool> {
        if self.yes { Some(true) } else { [None, Some(false)][self.below(2)] }
    }

    fn pick(&self, _: &str, rows: &[String], start: usize) -> Option<usize> {
        if self.leaves() {
            return None;
        }
        let leave = rows.len() - 1;
        let at = if self.rng.borrow_mut().chance(60) { start } else { self.below(rows.len()) };
        // Who means to say yes does not leave by the row for leaving.
        Some(if self.yes && at == leave { leave - 1 } else { at })
    }

    fn mark(&self, _: &str, rows: &[String]) -> Option<Vec<usize>> {
        (!self.leaves()).then(|| (0..rows.len()).filter(|_| self.rng.borrow_mut().chance(50)).collect())
    }

    fn key(&self, keys: &[(char, &str)]) -> Option<char> {
        (!self.leaves()).then(|| keys[self.below(keys.len())].0)
    }

    fn line(&self, _: &str, start: &str) -> Option<String> {
        if self.leaves() {
            return None;
        }
        Some([self.reason(), self.reason(), start.to_owned(), String::new(), "short".to_owned()][self.below(5)].clone())
    }

    fn edit(&self, text: &str) -> Option<String> {
        Some([self.reason(), text.to_owned()][self.below(2)].clone())
    }

    fn show(&self, _: &str, _: bool) {}

    fn open(&self, _: &str) -> bool {
        false
    }

    fn size(&self) -> Size {
        Size { columns: 80, rows: 24 }
    }
}

/// One sitting; `None` when it was killed.
fn sit(world: &Shared, whim: &Whim) -> Option<TriageEnd> {
    let session = || {
        super::at_work(world, |ports, setup| {
            let held = ports.store.lock().expect("the lock");
            let obs = ports.forge.observe(Depth::Full).expect("a reading");
            let mut summary = rounds::load(ports, setup, &held, &obs).expect("state");
            let survey = survey::digest(ports, setup, &mut summary, obs, Depth::Full).expect("a look");
            ports.store.save(&held, &summary).expect("saved");
            let no_fix = ports.agent.is_none().then(|| "no editor".to_owned());
            let terms = Terms { dry: false, no_fix };
            triage(ports, setup, whim, &held, &mut summary, survey, terms).expect("an end")
        })
    };
    match catch_unwind(AssertUnwindSafe(session)) {
        Ok(end) => Some(end),
        Err(payload) if payload.is::<Killed>() => None,
        Err(payload) => resume_unwind(payload),
    }
}

fn reviewed(seed: u64) -> Shared {
    let world = World::new(seed);
    world.borrow_mut().advance(Duration::from_secs(7_200));
    world
}

/// Returns how often each receipt and each command of ours stands on the pull request.
fn said(world: &World) -> BTreeMap<String, u32> {
    let mut said = BTreeMap::new();
    for comment in world.comments.iter().filter(|comment| is_ours(comment)) {
        let markers = marker::parse_all(&comment.body);
        let mut keys: Vec<String> = markers.iter().map(|marker| marker.key().to_owned()).collect();
        if keys.is_empty() {
            keys.push(format!("{:?} {}", comment.in_reply_to, comment.body));
        }
        for key in keys {
            *said.entry(key).or_insert(0) += 1;
        }
    }
    said
}

#[test]
fn without_a_yes_nothing_leaves_and_what_is_decided_is_kept() {
    let mut drafted = 0;
    for seed in 0..60 {
        let world = reviewed(seed);
        let before = super::invariants::outside(&world);
        let end = sit(&world, &Whim::new(seed, false)).expect("nobody kills it");
        assert!(!end.posted && end.fixes.is_empty(), "seed {seed}");
        assert_eq!(super::invariants::outside(&world), before, "seed {seed}");
        let world = world.borrow();
        let state = world.state.as_ref().expect("state");
        assert!(state.outbox.iter().all(|item| item.tries == 0), "seed {seed}");
        assert!(state.comments.values().all(|entry| entry.pending.is_none()), "seed {seed}: only drafts");
        drafted += state.drafts.len();
    }
    assert!(drafted > 20, "{drafted}: the whims decide nothing");
}

#[test]
fn r23_a_sitting_that_is_killed_anywhere_says_nothing_twice_and_argues_no_p1() {
    let (mut killed, mut commands, mut argued) = (0, 0, 0);
    for seed in 0..50 {
        let world = reviewed(seed);
        {
            let mut world = world.borrow_mut();
            let at = world.ops + 1 + world.rng.below(120);
            world.kill_at = Some(at);
        }
        let end = sit(&world, &Whim::new(seed, true));
        world.borrow_mut().kill_at = None;
        if end.is_none() {
            killed += 1;
            world.borrow_mut().killed();
        }
        let _ = super::run(&world);
        let world = world.borrow();
        let said = said(&world);
        let twice: Vec<_> = said.iter().filter(|(_, times)| **times > 1).collect();
        assert!(twice.is_empty(), "seed {seed}: said twice: {twice:?}");
        commands += said.keys().filter(|key| key.contains("/pushback")).count();
        let state = world.state.as_ref().expect("state");
        for entry in state.comments.values().filter(|entry| entry.finding.status == Status::Argued) {
            argued += 1;
            assert_ne!(entry.finding.severity, Severity::P1, "seed {seed}: {}", entry.finding.id);
            assert!(entry.proof.is_some(), "seed {seed}");
        }
    }
    assert!(killed > 3 && commands > 3 && argued > 3, "{killed} killed, {commands} commands, {argued} argued");
}
