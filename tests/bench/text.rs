//! How fast comments are classified: as reviewers write them, and written to be slow.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use pushback::config::rules::builtin;
use pushback::review::classify::{Rules, classify_each};
use serde_json::json;

use crate::Table;

const SIZE: usize = 24 << 20;

/// Measures both kinds, on one thread, from the bytes of the input to the written answers.
pub fn classify(_pushback: &Path, table: &mut Table) {
    let rules = Rules::compile(&builtin(), &[], &BTreeMap::new()).expect("the built-in rules compile");
    let files = ["tests/corpus/unseen.jsonl", "../shared/corpus/review-comments.jsonl"];
    let text: String = files.iter().filter_map(|file| std::fs::read_to_string(file).ok()).collect();
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let rate = megabytes_per_second(&repeated(&lines), &rules);
    table.add("`classify`, comments as in the corpus", "100 MB/s", format!("{rate:.0} MB/s"), Some(rate >= 100.0));
    let mut worst = f64::MAX;
    let mut name = "";
    for (kind, line) in hostile() {
        let rate = megabytes_per_second(&repeated(&[&line]), &rules);
        eprintln!("  hostile {kind}: {rate:.0} MB/s");
        if rate < worst {
            (worst, name) = (rate, kind);
        }
    }
    let measured = format!("{worst:.0} MB/s (the slowest: {name})");
    table.add("`classify`, comments written to be slow", "30 MB/s", measured, Some(worst >= 30.0));
}

fn repeated(lines: &[&str]) -> Vec<u8> {
    let mut out = Vec::with_capacity(SIZE + 65_536);
    while out.len() < SIZE {
        for line in lines {
            out.extend_from_slice(line.as_bytes());
            out.push(b'\n');
        }
    }
    out
}

fn megabytes_per_second(bytes: &[u8], rules: &Rules) -> f64 {
    let best = (0..3)
        .map(|_| {
            let started = Instant::now();
            // As the command does it, but for the system's part.
            let mut answers = String::new();
            classify_each(bytes, rules, |line| answers.extend([line, "\n"]));
            assert!(!answers.is_empty(), "no answers");
            started.elapsed()
        })
        .min()
        .unwrap_or_default();
    bytes.len() as f64 / 1e6 / best.as_secs_f64()
}

/// Comments of the largest size the forge takes, each of one nasty kind.
fn hostile() -> Vec<(&'static str, String)> {
    let repeat = |unit: &str| unit.chars().cycle().take(65_000).collect::<String>();
    let bodies = [
        ("open brackets", repeat("[")),
        ("open tags", repeat("<details><summary>")),
        ("open comments", repeat("<!-- ")),
        ("emphasis", repeat("*_")),
        ("badges", repeat("![P1 Badge](https://img.shields.io/badge/P1-orange) ")),
        ("almost badges", repeat("![P9 Badge](https://img.shields.io/badge/")),
        ("fences", repeat("```\n")),
        ("quotes", repeat("> ")),
        ("words of severity", repeat("critical major minor P1 P2 high low nit: ")),
        ("table rows", repeat("| a | b |\n|---|---|\n")),
        ("one long word", repeat("a")),
        ("wide characters", repeat("🟠⚠️")),
    ];
    let logins = ["chatgpt-codex-connector[bot]", "coderabbitai[bot]"];
    bodies
        .into_iter()
        .enumerate()
        .map(|(n, (kind, body))| {
            (
                kind,
                json!({"id": n, "login": logins[n % 2], "channel": "inline", "path": "a.rs", "body": body}).to_string(),
            )
        })
        .collect()
}
