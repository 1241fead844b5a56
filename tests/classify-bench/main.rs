//! Times `classify`: megabytes a second over labelled comments and over hostile shapes, and what doubling a text costs.
//!
//! `classify-bench [--quick|--long] [NAME]`. One line a shape: `SHAPE MB/s`, for hostile shapes the slowest of several authors and the worst doubling
//! between 8,192 and 65,536 characters. Exit 1 when a figure misses its floor: 100 MB/s, 30 MB/s, 2.2 times.
#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::expect_used, missing_docs)]

use std::collections::BTreeMap;
use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use pushback::config::rules::builtin;
use pushback::review::classify::{CommentInput, Rules, classify, classify_stream};
use pushback::review::comment::{AccountKind, Channel};
use pushback::review::ids::Login;
use serde_json::Value;

const FLOOR: f64 = 100.0;
const HOSTILE_FLOOR: f64 = 30.0;
const DOUBLING: f64 = 2.2;
const LONGEST: usize = 65_536;

/// Who writes the hostile bodies: a person, the reviewer with the most sections, one with plain bodies, an unknown bot.
const AUTHORS: [(&str, Channel); 6] = [
    ("ann", Channel::Inline),
    ("coderabbitai[bot]", Channel::Review),
    ("coderabbitai[bot]", Channel::Inline),
    ("qodo-code-review[bot]", Channel::Conversation),
    ("chatgpt-codex-connector[bot]", Channel::Inline),
    ("some-new-bot[bot]", Channel::Conversation),
];

fn main() -> ExitCode {
    let quick = std::env::args().any(|arg| arg == "--quick");
    let long = std::env::args().any(|arg| arg == "--long");
    let budget = Duration::from_millis(if quick {
        60
    } else if long {
        3_000
    } else {
        400
    });
    let only = std::env::args().skip(1).find(|arg| !arg.starts_with("--"));
    let wanted = |name: &str| only.as_deref().is_none_or(|only| name.contains(only));
    let rules = Rules::compile(&builtin(), &[], &BTreeMap::new()).expect("the built-in rules compile");
    let mut fine = true;
    for (name, rows) in corpora().into_iter().filter(|(name, _)| wanted(name)) {
        fine &= corpus(&rules, &name, &rows, budget);
    }
    for (name, shape) in shapes().into_iter().filter(|(name, _)| wanted(name)) {
        fine &= hostile(&rules, name, shape, budget / 8);
    }
    if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The repository's own labelled comments, and the handed ones where they are.
fn corpora() -> Vec<(String, Vec<String>)> {
    let files = ["tests/corpus/unseen.jsonl", "../shared/corpus/review-comments.jsonl"];
    let read = |file: &&str| {
        let text = std::fs::read_to_string(file).ok()?;
        let name = file.rsplit('/').next().unwrap_or(file).trim_end_matches(".jsonl").to_owned();
        Some((name, text.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect()))
    };
    files.iter().filter_map(read).collect()
}

fn corpus(rules: &Rules, name: &str, lines: &[String], budget: Duration) -> bool {
    let rows: Vec<Value> = lines.iter().map(|line| serde_json::from_str(line).expect("a row")).collect();
    let inputs: Vec<(Login, AccountKind, Channel, &str, Option<&str>)> = rows
        .iter()
        .map(|row| {
            let login = row["login"].as_str().unwrap_or("ghost");
            let channel = serde_json::from_value(row["channel"].clone()).expect("a channel");
            let kind =
                if login.ends_with("[bot]") || login == "Copilot" { AccountKind::Bot } else { AccountKind::Person };
            (Login::new(login), kind, channel, row["body"].as_str().unwrap_or(""), row["path"].as_str())
        })
        .collect();
    let bytes: usize = inputs.iter().map(|(.., body, _)| body.len()).sum();
    let whole = best(budget, || {
        for (login, kind, channel, body, path) in &inputs {
            let input = CommentInput { path: *path, ..CommentInput::new(login, *kind, *channel, body) };
            black_box(classify(rules, &input));
        }
    });
    let speed = rate(bytes, whole);
    println!("{name:<28} {speed:>7.1} MB/s  ({} comments, {bytes} bytes of bodies)", inputs.len());
    // Rows as the command reads them; the labels are left out, they are no part of a comment.
    let stripped: Vec<String> = rows
        .iter()
        .map(|row| {
            let mut row = row.clone();
            if let Some(object) = row.as_object_mut() {
                object.retain(|key, _| key != "expect" && key != "why");
            }
            row.to_string()
        })
        .collect();
    let stream = stripped.join("\n");
    let whole = best(budget, || {
        black_box(classify_stream(stream.as_bytes(), rules));
    });
    let streamed = rate(stream.len(), whole);
    println!(
        "{:<28} {streamed:>7.1} MB/s  (JSON lines in, JSON lines out, {} bytes)",
        format!("{name}, stream"),
        stream.len()
    );
    speed >= FLOOR && streamed >= FLOOR
}

type Shape = fn(usize) -> String;

/// Texts that cost more than they should where the work is not linear.
fn shapes() -> Vec<(&'static str, Shape)> {
    // Whole units alone: a text cut within one may mean something else, so that a longer one would not be twice the work.
    fn fill(unit: &str, len: usize) -> String {
        unit.repeat(len / unit.len())
    }
    fn deep(open: &str, close: &str, len: usize) -> String {
        let depth = (len / (open.len() + close.len())).min(10_000);
        format!("{}P1: x{}", open.repeat(depth), close.repeat(depth))
    }
    vec![
        ("prose", |n| fill("The gate opens twice when both sensors report; the log then shows one entry.\n\n", n)),
        ("emoji", |n| fill("🔥⚠️🟠✅🧹 ", n)),
        ("emoji lines", |n| fill("🟠 🔥 ⚠️ ✅\n", n)),
        ("other scripts", |n| fill("水門が二度開く。ログには一行だけ残る。\n", n)),
        ("nested details", |n| deep("<details><summary>a</summary>\n", "</details>\n", n)),
        ("unclosed details", |n| fill("<details><summary>🧹 Nitpick comments (1)</summary>\n", n)),
        ("nested quotes", |n| deep("> ", "\n", n)),
        ("quote stairs", |n| fill("> a\n> > b\n> > > c\n", n)),
        ("nested lists", |n| fill("- - - - a\n", n)),
        ("nested emphasis", |n| fill("**a __b ", n)),
        ("nested brackets", |n| fill("[![", n)),
        ("unclosed fence", |n| format!("```\n{}", fill("let gate = open(\"P1: x\");\n", n))),
        ("fences", |n| fill("```\nx\n```\n", n)),
        ("unclosed comment", |n| fill("<!-- a ", n)),
        ("tiny comments", |n| fill("<!--a-->\n", n)),
        ("tiny paragraphs", |n| fill("a\n\n", n)),
        ("empty lines", |n| fill("\n", n)),
        ("one line", |n| fill("gate ", n)),
        ("labels", |n| fill("P1: gate\n", n)),
        ("label paragraphs", |n| fill("**issue (blocking):** gate\n\n", n)),
        ("odd labels", |n| fill("🟣 Odd label: gate\n", n)),
        ("code spans", |n| fill("`a` ``b`` ", n)),
        ("backticks", |n| fill("` `` ``` ", n)),
        ("ranges", |n| fill("`10-12`: **Gate.**\n\n", n)),
        ("angles", |n| fill("<", n)),
        ("entities", |n| fill("&lt;sub&gt;&gt; ", n)),
        ("table", |n| fill("| P1 | gate | `x` |\n", n)),
        ("links", |n| fill("https://example.com/o/r/blob/abc/src/a.rs#L10-L14\n**![P1 Badge](x) Gate**\n", n)),
        ("base64", |n| fill("P0aGF0Y2ggbGVha3MgP1AxCg9Xk3", n)),
        ("carriage returns", |n| fill("gate opens\r\n", n)),
        ("zero width", |n| fill("g\u{200b}a\u{fe0f}", n)),
    ]
}

fn hostile(rules: &Rules, name: &str, shape: Shape, budget: Duration) -> bool {
    let mut slowest = (f64::MAX, "");
    let mut worst: f64 = 0.0;
    let bodies: Vec<String> = [LONGEST / 8, LONGEST / 4, LONGEST / 2, LONGEST].into_iter().map(shape).collect();
    for (login, channel) in AUTHORS {
        let account = if login.ends_with("[bot]") { AccountKind::Bot } else { AccountKind::Person };
        let who = Login::new(login);
        let time = |body: &String, budget| {
            best(budget, || {
                black_box(classify(rules, &CommentInput::new(&who, account, channel, body)));
            })
        };
        let mut times: Vec<Duration> = bodies.iter().map(|body| time(body, budget / 4)).collect();
        let speed = rate(bodies.last().map_or(0, String::len), times[times.len() - 1]);
        if speed < slowest.0 {
            slowest = (speed, login);
        }
        // A busy machine makes a time longer, never shorter: what looks too steep is measured again.
        for _ in 0..4 {
            if steepest(&bodies, &times) <= DOUBLING {
                break;
            }
            times.iter_mut().zip(&bodies).for_each(|(was, body)| *was = (*was).min(time(body, budget)));
        }
        worst = worst.max(steepest(&bodies, &times));
    }
    let fine = slowest.0 >= HOSTILE_FLOOR && worst <= DOUBLING;
    let mark = if fine { "" } else { "  MISSED" };
    println!("{name:<28} {:>7.1} MB/s  doubling {worst:.2}  (slowest for {}){mark}", slowest.0, slowest.1);
    fine
}

/// The worst growth of time from one size to the next, for a doubled text.
fn steepest(bodies: &[String], times: &[Duration]) -> f64 {
    let pairs = bodies.windows(2).zip(times.windows(2));
    let growth = pairs.map(|(b, t)| {
        let longer = b[1].len() as f64 / b[0].len() as f64;
        2.0 * (t[1].as_secs_f64() / t[0].as_secs_f64()) / longer
    });
    growth.fold(0.0, f64::max)
}

/// The shortest of many runs: what a busy machine adds is left out.
fn best(budget: Duration, mut work: impl FnMut()) -> Duration {
    work();
    let begun = Instant::now();
    let mut best = Duration::MAX;
    let mut n = 0;
    while n < 7 || begun.elapsed() < budget {
        let start = Instant::now();
        work();
        best = best.min(start.elapsed());
        n += 1;
    }
    best
}

fn rate(bytes: usize, time: Duration) -> f64 {
    bytes as f64 / time.as_secs_f64() / 1e6
}
