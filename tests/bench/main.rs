//! Measures the program against its goals, all in one run: `bench PUSHBACK [--write FILE] [--only WORD]`.
//!
//! Ratios compare with `gh` and `jq` on the same machine, against the same server, in the same minute.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::expect_used,
    clippy::panic,
    unreachable_pub,
    reason = "a measuring program talks to its terminal and stops at the first failure"
)]

#[path = "../fake-github/forge/mod.rs"]
mod forge;
mod measure;
mod push;
mod text;
mod world;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use pushback::process::{Spec, Supervisor};
use serde_json::json;

use crate::measure::{Program, cpu_per_run, resident};
use crate::world::{World, as_gh_script, round_trips};

/// A line of the table.
struct Row {
    what: String,
    goal: String,
    measured: String,
    met: Option<bool>,
}

#[derive(Default)]
struct Table {
    rows: Vec<Row>,
}

impl Table {
    fn add(
        &mut self,
        what: impl Into<String>,
        goal: impl Into<String>,
        measured: impl Into<String>,
        met: Option<bool>,
    ) {
        let row = Row { what: what.into(), goal: goal.into(), measured: measured.into(), met };
        eprintln!("{} | {} | {}", row.what, row.goal, row.measured);
        self.rows.push(row);
    }

    fn markdown(&self) -> String {
        let mut out = "| what | goal | measured | met |\n|---|---|---|---|\n".to_owned();
        for row in &self.rows {
            let met = row.met.map_or("–", |met| if met { "yes" } else { "**no**" });
            out.push_str(&format!("| {} | {} | {} | {met} |\n", row.what, row.goal, row.measured));
        }
        out
    }
}

/// A look is fine when it came to a verdict.
fn looked(code: i32) -> bool {
    matches!(code, 0 | 10..=19)
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// A part of the bench, by the word that picks it.
type Part = (&'static str, fn(&Path, &mut Table));

fn main() {
    let mut args = std::env::args().skip(1);
    let pushback = PathBuf::from(args.next().expect("usage: bench PUSHBACK [--write FILE] [--only WORD]"));
    let pushback = pushback.canonicalize().expect("the program to measure");
    let (mut write, mut only) = (None, None);
    while let Some(flag) = args.next() {
        match flag.as_str() {
            "--write" => write = args.next(),
            "--only" => only = args.next(),
            other => panic!("unknown argument {other}"),
        }
    }
    let wanted = |word: &str| only.as_deref().is_none_or(|only| only == word);
    let mut table = Table::default();
    // A push lasts as long as a few starts of programs: it is measured before the others have filled caches and disk.
    let parts: [Part; 10] = [
        ("push", push::push),
        ("start", start_up),
        ("hundred", hundred),
        ("many", many),
        ("next", next_thing),
        ("round", one_round),
        ("wait", waiting),
        ("text", text::classify),
        ("supervisor", supervisor),
        ("sweep", sweep),
    ];
    for (name, part) in parts {
        if wanted(name) {
            part(&pushback, &mut table);
        }
    }
    let text = table.markdown();
    println!("{text}");
    if let Some(file) = write {
        std::fs::write(&file, page(&text)).expect("the page is written");
    }
}

fn page(table: &str) -> String {
    let said = |program: &str, args: &[&str]| {
        let out = Command::new(program).args(args).output().map(|o| o.stdout).unwrap_or_default();
        String::from_utf8_lossy(&out).lines().next().unwrap_or_default().trim().to_owned()
    };
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let cpu = cpu.lines().find_map(|l| l.strip_prefix("model name")).unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    format!(
        "# Measured\n\nWritten by `scripts/bench`; all figures of one run on one machine ({}, {cores} cores, {}, {}). The server is \
         the bundled fake GitHub on loopback, so a round trip costs what the row says and nothing else; it shares the cores with \
         the program. Times are medians.\n\n{table}",
        cpu.trim_start_matches([' ', '\t', ':']),
        said("gh", &["--version"]),
        said("jq", &["--version"]),
    )
}

fn start_up(pushback: &Path, table: &mut Table) {
    let own = cpu_per_run(200, || version(pushback));
    let gh = cpu_per_run(20, || version(Path::new("gh")));
    let ratio = gh.as_secs_f64() / own.as_secs_f64().max(0.000_01);
    let measured = format!("{:.2} ms, `gh` {:.1} ms: 1/{ratio:.0}", ms(own), ms(gh));
    table.add("start-up: processor time of `--version`", "at most 1/20 of `gh`", measured, Some(ratio >= 20.0));
}

fn version(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.arg("--version");
    command
}

/// A look at a pull request with 100 comments, cold and warm.
fn hundred(pushback: &Path, table: &mut Table) {
    let world = World::new(pushback, 100, 0, "");
    let status = world.pushback(&["status"]);
    for latency in [0, 30, 150] {
        world.latency(latency);
        let before = || world.forget();
        status.median(1, &world.log, before, looked);
        let seen = world.forge.log().len();
        status.median(1, &world.log, before, looked);
        let log = world.since(seen);
        let trips = if latency == 0 { String::new() } else { format!(", {} round trips", round_trips(&log, latency)) };
        let took = status.median(9, &world.log, before, looked);
        let goal = 3 * latency + 20;
        let measured = format!("{:.0} ms{trips}, {} requests", ms(took.wall), log.len());
        let what = format!("cold `status`, 100 comments, {latency} ms per request");
        table.add(what, format!("3 round trips + 20 = {goal} ms"), measured, Some(ms(took.wall) <= goal as f64));
        if latency == 30 {
            let script = world.shell(&as_gh_script(&log));
            let seen = world.forge.log().len();
            script.median(1, &world.log, || {}, |code| code == 0);
            let reads = world.since(seen);
            let refused = reads.iter().filter(|read| read.status == 401 || read.status >= 500).count();
            assert!(reads.len() >= log.len() && refused == 0, "`gh` read {} of {}", reads.len(), log.len());
            let gh = script.median(3, &world.log, || {}, |code| code == 0);
            let ratio = gh.wall.as_secs_f64() / took.wall.as_secs_f64();
            let measured = format!("{:.0} ms against {:.0} ms: {ratio:.1} times", ms(took.wall), ms(gh.wall));
            let what = "the same reads by a `gh api` script, 30 ms per request";
            table.add(what, "at least 10 times faster", measured, Some(ratio >= 10.0));
        }
    }
    for latency in [0, 30, 150] {
        world.latency(latency);
        status.median(2, &world.log, || {}, looked);
        let seen = world.forge.log().len();
        status.median(1, &world.log, || {}, looked);
        let log = world.since(seen);
        let took = status.median(9, &world.log, || {}, looked);
        let goal = latency + 10;
        let measured = format!("{:.1} ms, {} requests", ms(took.wall), log.len());
        let what = format!("look without change in a new process, {latency} ms per request");
        table.add(what, format!("1 round trip + 10 = {goal} ms"), measured, Some(ms(took.wall) <= goal as f64));
        if latency > 0 {
            verdict(&world, latency, round_trips(&log, latency), took.wall, table);
        }
    }
}

/// What a verdict takes beyond a look that found nothing new.
fn verdict(world: &World, latency: u64, trips: usize, look: Duration, table: &mut Table) {
    let gate = world.pushback(&["gate"]);
    gate.median(1, &world.log, || {}, looked);
    let seen = world.forge.log().len();
    gate.median(1, &world.log, || {}, looked);
    let more = round_trips(&world.since(seen), latency).saturating_sub(trips);
    let took = gate.median(9, &world.log, || {}, looked);
    let measured = format!("{more} more, {:.1} ms against {:.1} ms", ms(took.wall), ms(look));
    let what = format!("`gate` beyond `status`, nothing new, {latency} ms per request");
    table.add(what, "1 round trip", measured, Some(more <= 1));
}

/// 10,000 comments, against reading the list with `gh` and `jq`.
fn many(pushback: &Path, table: &mut Table) {
    for (threads, replies) in [(2_500, 7_500), (10_000, 0)] {
        let world = World::new(pushback, threads, replies, "");
        let status = world.pushback(&["status"]);
        let path = "repos/bench/app/pulls/7/comments?per_page=100";
        let script =
            format!("gh api --paginate '{path}' | jq -s 'add | map({{id, path, line, body}}) | length' >/dev/null");
        let gh = world.shell(&script);
        let shape = format!("10,000 comments in {threads} threads");
        for (latency, goal) in [(0, 20.0), (150, 8.0)] {
            world.latency(latency);
            // The server writes each page once, for both.
            status.median(1, &world.log, || world.forget(), looked);
            let by_gh = gh.median(if latency == 0 { 3 } else { 1 }, &world.log, || {}, |code| code == 0);
            let took = status.median(3, &world.log, || world.forget(), looked);
            let ratio = by_gh.wall.as_secs_f64() / took.wall.as_secs_f64();
            let cores = by_gh.cpu.as_secs_f64() / took.cpu.as_secs_f64();
            let measured = format!(
                "{:.0} ms against {:.0} ms: {ratio:.1} times (processor time {cores:.1} times)",
                ms(took.wall),
                ms(by_gh.wall)
            );
            let what = format!("cold `status`, {shape}, against `gh api --paginate \\| jq`, {latency} ms per request");
            table.add(what, format!("at least {goal:.0} times faster"), measured, Some(ratio >= goal));
            if latency == 0 {
                let mib = took.kib as f64 / 1024.0;
                let what = format!("peak memory of that, {threads} threads");
                table.add(what, "under 40 MB", format!("{mib:.0} MiB"), Some(mib * 1.048_576 < 40.0));
            }
        }
        world.latency(0);
        status.median(1, &world.log, || {}, looked);
        world
            .forge
            .act(json!({"inline": {"user": world::BOT, "body": "[P2] One more", "path": "src/a0.rs", "line": 3}}));
        let seen = world.forge.log().len();
        let took = status.median(1, &world.log, || {}, looked);
        let log = world.since(seen);
        let lists = log.iter().filter(|l| l.path.ends_with("/pulls/7/comments")).count();
        let measured = format!("{lists} comment requests, {} in all, {:.0} ms", log.len(), ms(took.wall));
        table.add(
            format!("warm with one new comment, {shape}"),
            "at most 3 comment requests",
            measured,
            Some(lists <= 3),
        );
    }
}

/// The next thing from a young reading: nothing is asked of the forge.
fn next_thing(pushback: &Path, table: &mut Table) {
    let world = World::new(pushback, 100, 0, "");
    let fresh = world.pushback(&["next", "--json"]);
    fresh.median(1, &world.log, || {}, looked);
    let seen = world.forge.log().len();
    let cached = world.pushback(&["next", "--json", "--max-age", "1h"]);
    let took = cached.median(21, &world.log, || {}, looked);
    let asked = world.since(seen).len();
    let measured = format!("{:.1} ms, {asked} requests", ms(took.wall));
    let met = ms(took.wall) < 15.0 && asked == 0;
    table.add("`next --json` from a young reading, 100 comments", "below 15 ms", measured, Some(met));
}

/// One round with an editor that does nothing.
fn one_round(pushback: &Path, table: &mut Table) {
    let config = "[agent]\nname = \"command\"\ncommand = [\"true\"]\n[verify]\ncommands = [\"true\"]\n[limits]\nrounds = 1\n\
                  [post]\nenabled = true\n";
    let world = World::new(pushback, 1, 0, config);
    let run = world.pushback(&["run", "--wait", "0s"]);
    for latency in [0, 30, 150] {
        world.latency(latency);
        let ended = |code: i32| !matches!(code, 1 | 2 | 20..);
        run.median(1, &world.log, || world.forget(), |_| true);
        let seen = world.forge.log().len();
        run.median(1, &world.log, || world.forget(), |_| true);
        let log = world.since(seen);
        let took = run.median(9, &world.log, || world.forget(), |_| true);
        let trips = if latency == 0 { String::new() } else { format!(", {} round trips", round_trips(&log, latency)) };
        let goal = 100 + 4 * latency;
        let good = if ended(took.code) { "" } else { " (did not end well)" };
        let measured = format!("{:.0} ms{trips}, exit {}{good}", ms(took.wall), took.code);
        let what = format!("`run`: one round, editor and tests `true`, cold, {latency} ms per request");
        table.add(what, format!("100 ms + 4 round trips = {goal} ms"), measured, Some(ms(took.wall) <= goal as f64));
    }
}

/// Memory while a run waits for a reviewer.
fn waiting(pushback: &Path, table: &mut Table) {
    let config = "[agent]\nname = \"command\"\ncommand = [\"true\"]\n[verify]\ncommands = [\"true\"]\n[post]\nenabled = true\n\
                  [reviewers]\nrequired = [\"coderabbit\"]\nttl = \"10h\"\nnudge = \"5h\"\n[poll]\nmin = \"1ms\"\nmax = \"1ms\"\n";
    let world = World::new(pushback, 0, 0, config);
    let program: Program = world.pushback(&["run", "--wait", "1h"]);
    let errors = std::fs::File::create(&world.log).expect("a log");
    let mut child = program.command(&[]).stdout(Stdio::null()).stderr(errors).spawn().expect("starts");
    let looks = || world.forge.requests("GET", "*/pulls/7");
    let mut figures = Vec::new();
    let started = Instant::now();
    for goal in [50, 250, 500, 1050] {
        while looks() < goal {
            if child.try_wait().expect("a child").is_some() {
                panic!("run ended: {}", std::fs::read_to_string(&world.log).unwrap_or_default());
            }
            assert!(started.elapsed() < Duration::from_secs(300), "only {} looks", looks());
            std::thread::sleep(Duration::from_millis(20));
        }
        figures.push(resident(child.id()).expect("a process"));
    }
    let took = started.elapsed();
    let _ = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    let _ = child.wait();
    let mib = |kib: u64| kib as f64 / 1024.0;
    let list: Vec<String> = figures.iter().map(|(now, _)| format!("{:.1}", mib(*now))).collect();
    let (now, peak) = figures[figures.len() - 1];
    let measured = format!("{} MiB after 50, 250, 500 and 1,050 looks, peak {:.1} MiB", list.join(", "), mib(peak));
    table.add("memory while waiting", "at most 12 MB", measured, Some(mib(now) * 1.048_576 <= 12.0));
    let growth = now as i64 - figures[0].0 as i64;
    let measured = format!("{growth:+} KiB over 1,000 looks, {:.1} ms each", ms(took) / 1050.0);
    table.add("the same over 1,000 looks", "flat", measured, Some(growth < 512));
}

/// What the supervising process costs per editor.
fn supervisor(pushback: &Path, table: &mut Table) {
    let temp = tempfile::tempdir().expect("a folder");
    let dir = temp.path().to_string_lossy().into_owned();
    let mut all: Vec<Duration> = (0..15)
        .map(|n| {
            let mut spec = Spec::new("true", dir.as_str(), dir.as_str());
            spec.run_id = format!("bench-{n}");
            spec.env = vec![("PATH".to_owned(), std::env::var("PATH").unwrap_or_default())];
            let supervisor = Supervisor::at(pushback.to_string_lossy().as_ref());
            let started = Instant::now();
            let ended = supervisor.run(&spec, &mut |_| {}, &|| false).expect("the supervisor runs");
            assert!(ended.clean, "{:?}", ended.why);
            started.elapsed()
        })
        .collect();
    all.sort();
    let mut plain: Vec<Duration> = (0..15)
        .map(|_| {
            let started = Instant::now();
            let _ = Command::new("true").status();
            started.elapsed()
        })
        .collect();
    plain.sort();
    let over = all[7].saturating_sub(plain[7]);
    let measured = format!("{:.1} ms more than the plain process ({:.1} ms)", ms(over), ms(plain[7]));
    table.add("supervisor, per editor that does nothing", "at most 60 ms", measured, Some(ms(over) <= 60.0));
}

/// How long it takes to end a tree that does not want to end: sessions of their own, TERM ignored, children without parents.
fn sweep(pushback: &Path, table: &mut Table) {
    let temp = tempfile::tempdir().expect("a folder");
    let dir = temp.path().to_string_lossy().into_owned();
    let left = "trap '' TERM HUP INT; for n in 1 2 3 4; do (trap '' TERM; sleep 300) & done; (setsid sh -c 'sleep 300 & sleep 300' &) ; sleep 300";
    let script = format!(
        "for n in 1 2 3 4 5; do setsid sh -c \"{left}\" </dev/null >/dev/null 2>&1 & done; sleep 0.3; date +%s%N >ended"
    );
    let mut all: Vec<(Duration, u64)> = (0..7)
        .map(|n| {
            let mut spec = Spec::new("sh", dir.as_str(), dir.as_str());
            spec.args = vec!["-c".to_owned(), script.clone()];
            spec.run_id = format!("sweep-{n}");
            spec.env = vec![("PATH".to_owned(), std::env::var("PATH").unwrap_or_default())];
            let supervisor = Supervisor::at(pushback.to_string_lossy().as_ref());
            let ended = supervisor.run(&spec, &mut |_| {}, &|| false).expect("the supervisor runs");
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a clock");
            let stamp = std::fs::read_to_string(temp.path().join("ended")).expect("the editor's last word");
            let at = Duration::from_nanos(stamp.trim().parse().expect("a number"));
            assert!(ended.clean && ended.swept > 0, "{:?}: {} swept", ended.why, ended.swept);
            (now.saturating_sub(at), ended.swept as u64)
        })
        .collect();
    all.sort();
    let (took, swept) = all[3];
    let measured = format!("{:.2} s for {swept} processes", took.as_secs_f64());
    table.add("sweep of a tree that ignores TERM", "under 2 s", measured, Some(took < Duration::from_secs(2)));
}
