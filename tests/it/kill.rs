//! The real program killed with SIGKILL after every outside effect, at every request and at random moments: the next run
//! reaches the same end as one that was never disturbed, posts nothing twice and loses nothing (fault rows 1, 3, 4).
//!
//! The default run takes a sample; `scripts/torture` runs the ignored tests, which take every point.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::forge::{Fault, faults::What};
use crate::scene::end::End;
use crate::scene::says::*;
use crate::scene::{Running, Scene};

const RUN: [&str; 3] = ["run", "--wait", "20s"];

fn scene() -> Scene {
    Scene::new(|plan| {
        plan.script = story();
        plan.editor = settles();
    })
}

/// The end of a run that nobody disturbs, and how many requests and writes it takes.
fn golden() -> &'static (End, usize, usize) {
    static GOLDEN: OnceLock<(End, usize, usize)> = OnceLock::new();
    GOLDEN.get_or_init(|| {
        let scene = scene();
        let out = scene.run(&RUN);
        out.ends(0, &["settled"]);
        scene.is_sound();
        (scene.end(), scene.forge.log().len(), scene.writes().len())
    })
}

fn kill(running: Running) {
    running.signal("KILL");
    assert_eq!(running.end().code, 1009, "it was killed");
}

/// Runs again and compares with the undisturbed end.
#[track_caller]
fn goes_on(scene: &Scene, what: &str) {
    goes_on_to(scene, &golden().0, what);
}

#[track_caller]
fn goes_on_to(scene: &Scene, golden: &End, what: &str) {
    let out = scene.run(&RUN);
    assert_eq!(out.code, 0, "after {what}: {}", out.all());
    let end = scene.end();
    // A plan holds the address of its finding, and every scene has one of its own.
    let plan = regex::Regex::new(r"blob [0-9a-f]{40}\\twiki/plans").expect("a pattern");
    let shown = |end: &End| plan.replace_all(&format!("{end:#?}"), "blob PLAN wiki/plans").into_owned();
    let (end, golden) = (shown(&end), shown(golden));
    let differs = end.lines().zip(golden.lines()).find(|(one, other)| one != other);
    assert!(end == golden, "after {what}: {differs:#?}\n{}", out.all());
    scene.is_sound();
    let files = std::fs::read_dir(scene.state_dir()).into_iter().flatten().flatten();
    let left: Vec<String> = files.map(|file| file.file_name().to_string_lossy().into_owned()).collect();
    assert!(!left.iter().any(|name| name.contains(".bad-") || name.ends_with(".tmp")), "after {what}: {left:?}");
    assert_eq!(scene.git(&["status", "--porcelain"]), "", "after {what}");
}

/// Starts a run and kills it when the n-th request of this kind has been carried out and not answered.
fn at_request(method: &str, path: &str, holds: Option<&str>, nth: u32) -> Option<Scene> {
    at_request_of(scene(), method, path, holds, nth)
}

fn at_request_of(scene: Scene, method: &str, path: &str, holds: Option<&str>, nth: u32) -> Option<Scene> {
    let fault = Fault::new(method, path, What::Delay { ms: 60_000, after_effect: true }).nth(nth);
    scene.forge.fault(holds.map_or(fault.clone(), |text| fault.holding(text)));
    let mut running = scene.start(&RUN);
    let struck = || scene.forge.log().iter().any(|asked| asked.faults.iter().any(|name| name == "delay"));
    let deadline = Instant::now() + Duration::from_secs(40);
    while !struck() {
        assert!(Instant::now() < deadline, "neither the request nor the end came");
        if running.child.try_wait().expect("a child").is_some() {
            return None;
        }
        std::thread::sleep(Duration::from_millis(3));
    }
    kill(running);
    scene.forge.heal();
    Some(scene)
}

/// A small generator, so that a seed names a moment.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most.max(1)
    }
}

fn at_random(seed: u64) {
    let scene = scene();
    let mut dice = Dice(seed);
    for _ in 0..=dice.below(2) {
        let pause = Duration::from_millis(20 + dice.below(1_800));
        let mut running = scene.start(&RUN);
        std::thread::sleep(pause);
        if running.child.try_wait().expect("a child").is_some() {
            break;
        }
        kill(running);
    }
    goes_on(&scene, &format!("seed {seed}"));
}

#[test]
fn fm_01_killed_after_a_write_and_before_its_answer() {
    for (method, path, holds, nth) in [
        ("PATCH", "*/pulls/7", None, 1),
        ("POST", "*/replies", None, 1),
        ("POST", "*/graphql", Some("resolveReviewThread"), 1),
    ] {
        let what = format!("{method} {path} {nth}");
        let scene = at_request(method, path, holds, nth).unwrap_or_else(|| panic!("{what} was not asked"));
        goes_on(&scene, &what);
    }
}

/// The P2 is left to a follow-up, and a person gives two commands: one good, one wrong.
fn settling() -> Scene {
    let scene = Scene::new(|plan| {
        plan.script = story();
        plan.editor = serde_json::json!({ "findings": [fixes(), {
            "contains": "hands every word", "decision": "defer", "reason": REASON,
            "plan": { "title": "Quote the items", "steps": ["List the callers"] } }] });
    });
    let comments = scene.forge.pull()["comments"].as_array().cloned().unwrap_or_default();
    let of = |words: &str| {
        let found = comments.iter().find(|c| c["body"].to_string().contains(words));
        found.map(|c| c["id"].clone()).expect("the finding")
    };
    for (words, said) in [("second argument", "/pushback regrade nit tiny"), ("never read", "/pushback acept")] {
        scene.forge.act(serde_json::json!({ "reply": { "user": "ann", "body": said, "to": of(words) } }));
    }
    scene
}

#[test]
fn fm_01_killed_after_a_link_a_hint_or_a_reaction() {
    let golden = settling();
    golden.run(&RUN).ends(0, &["settled"]);
    let golden = golden.end();
    assert!(golden.statuses.values().any(|status| status == "P2 deferred"), "{golden:#?}");
    for (path, holds) in [
        ("*/replies", Some("planned in")),
        ("*/replies", Some("not taken")),
        ("*/reactions", None),
        ("*/pulls/7", None),
    ] {
        let method = if path == "*/pulls/7" { "PATCH" } else { "POST" };
        let what = format!("{method} {path} {holds:?}");
        let scene = at_request_of(settling(), method, path, holds, 1).unwrap_or_else(|| panic!("{what} was not asked"));
        goes_on_to(&scene, &golden, &what);
        let posts = scene.writes().iter().filter(|write| write.ends_with("/reactions")).count();
        assert!(posts <= 2, "reacted {posts} times");
    }
}

#[test]
#[ignore = "minutes: scripts/torture"]
fn torture_every_request_of_a_settling_run() {
    let golden = settling();
    golden.run(&RUN).ends(0, &["settled"]);
    let golden = golden.end();
    let mut points = 0;
    for nth in 1.. {
        let Some(scene) = at_request_of(settling(), "*", "*", None, nth) else { break };
        goes_on_to(&scene, &golden, &format!("request {nth}"));
        points += 1;
    }
    assert!(points > 20, "{points}");
}

#[test]
fn fm_01_killed_after_the_push() {
    use std::os::unix::fs::PermissionsExt as _;
    let scene = scene();
    let (hook, sign) = (scene.bare.join("hooks/post-receive"), scene.root.join("pushed"));
    std::fs::create_dir_all(scene.bare.join("hooks")).expect("a folder");
    std::fs::write(&hook, format!("#!/bin/sh\ntouch '{sign}'\nexec sleep 3 >/dev/null 2>&1\n")).expect("a hook");
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    let running = scene.start(&RUN);
    let deadline = Instant::now() + Duration::from_secs(30);
    while !sign.exists() {
        assert!(Instant::now() < deadline, "nothing was pushed");
        std::thread::sleep(Duration::from_millis(3));
    }
    kill(running);
    std::fs::remove_file(&hook).expect("no hook");
    goes_on(&scene, "the push");
    assert_eq!(scene.editor_rounds(), 1, "the pushed round is not made again");
}

#[test]
fn fm_01_killed_while_the_editor_works() {
    let scene = scene();
    let mut slow = settles();
    slow["otherwise"] = serde_json::json!({ "edits": [{ "path": "half.txt", "write": "half\n" }], "run": ["git add -A; git commit -qm half; touch started; sleep 30"] });
    scene.script_editor(&slow);
    let running = scene.start(&RUN);
    let deadline = Instant::now() + Duration::from_secs(30);
    while !scene.work.join("started").exists() {
        assert!(Instant::now() < deadline, "the editor did not start");
        std::thread::sleep(Duration::from_millis(3));
    }
    kill(running);
    scene.script_editor(&settles());
    goes_on(&scene, "the editor's start");
    let kept = scene.git(&["for-each-ref", "--format=%(refname)", "refs/pushback"]);
    assert_eq!(kept, "refs/pushback/7/1", "what it had done is kept");
    assert!(scene.git(&["show", "refs/pushback/7/1:half.txt"]).contains("half"));
}

#[test]
fn fm_01_killed_at_random_moments() {
    for seed in [3, 8] {
        at_random(seed);
    }
}

#[test]
#[ignore = "minutes: scripts/torture"]
fn torture_every_request() {
    let mut points = 0;
    for nth in 1.. {
        let Some(scene) = at_request("*", "*", None, nth) else { break };
        goes_on(&scene, &format!("request {nth}"));
        points += 1;
    }
    println!("killed at {points} requests");
    assert!(points > 20, "{points}");
}

#[test]
#[ignore = "minutes: scripts/torture"]
fn torture_random_moments() {
    let seeds = std::env::var("PUSHBACK_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(60);
    let first = std::env::var("PUSHBACK_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1_000);
    for seed in first..first + seeds {
        at_random(seed);
    }
}

/// Runs under strace with a fault on the n-th call of this name; tells whether the fault could still strike.
fn under_strace(call: &str, fault: &str, nth: u32) -> Option<(Scene, crate::scene::Out)> {
    let scene = scene();
    let plain = scene.command(&RUN);
    let trace = scene.root.join("trace");
    let mut strace = std::process::Command::new("strace");
    strace.args(["-f", "-qq", "-o", trace.as_str(), "-e", &format!("trace={call}")]);
    strace.args(["-e", &format!("inject={call}:{fault}:when={nth}")]).arg(plain.get_program()).args(plain.get_args());
    strace.current_dir(&scene.work).env_clear().envs(&scene.env).stdin(std::process::Stdio::null());
    let out = strace.output().ok()?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let struck = std::fs::read_to_string(&trace).unwrap_or_default().contains("INJECTED")
        || std::fs::read_to_string(&trace).unwrap_or_default().contains("SIGKILL");
    let code = out.status.code().unwrap_or(1009);
    struck.then(|| (scene, crate::scene::Out { code, stdout: text(&out.stdout), stderr: text(&out.stderr) }))
}

fn ptrace_works() -> bool {
    let tried = std::process::Command::new("strace").args(["-qq", "-o", "/dev/null", "true"]).status();
    tried.is_ok_and(|status| status.success())
}

#[test]
#[ignore = "minutes: scripts/torture"]
fn torture_system_calls() {
    if !ptrace_works() {
        println!("SKIPPED: strace is not there, or ptrace is refused here");
        return;
    }
    for (call, fault) in [
        ("fsync", "signal=KILL"),
        ("rename", "signal=KILL"),
        ("fsync", "error=ENOSPC"),
        ("rename", "error=EIO"),
        ("fsync", "error=EROFS"),
    ] {
        let mut points = 0;
        for nth in 1..60 {
            let Some((scene, out)) = under_strace(call, fault, nth) else { break };
            points += 1;
            assert!(out.code != 0 || scene.end() == golden().0, "{call} {fault} {nth}: a false end: {}", out.all());
            goes_on(&scene, &format!("{call} {fault} {nth} (exit {})", out.code));
        }
        println!("{call} {fault}: {points} points");
        assert!(points > 0, "{call} {fault} struck nowhere");
    }
}
