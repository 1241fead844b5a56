//! Runs `classify` over labelled comments and prints, per reviewer, where it differs from the labels.
//!
//! `corpus --answers FILE` prints the answers alone, for writing rules. `corpus FILE...` reads JSON lines `{id, login, channel, path, body, expect: {severity, kind, findings, title}}`.
#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::expect_used, missing_docs)]

use std::collections::BTreeMap;
use std::process::ExitCode;

use pushback::config::rules::builtin;
use pushback::review::classify::{Rules, classify_stream};
use serde_json::Value;

#[derive(Default)]
struct Score {
    rows: usize,
    severity: usize,
    missed: usize,
    false_blocks: usize,
    kind: usize,
    count: usize,
    titled: usize,
    title: usize,
}

fn blocks(severity: &str) -> bool {
    matches!(severity, "P1" | "P2" | "unclassified")
}

fn main() -> ExitCode {
    let files: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, file] = &files[..]
        && flag == "--answers"
    {
        return answers(file);
    }
    let files = if files.is_empty() { usual() } else { files };
    let rules = Rules::compile(builtin(), &[], &BTreeMap::new()).expect("the built-in rules compile");
    let mut scores: BTreeMap<String, Score> = BTreeMap::new();
    for file in &files {
        let text = std::fs::read_to_string(file).expect("the corpus can be read");
        for line in text.lines().filter(|l| !l.trim().is_empty()) {
            let row: Value = serde_json::from_str(line).expect("a corpus row is JSON");
            let (answers, bad) = classify_stream(line.as_bytes(), &rules);
            assert!(!bad, "{answers:?}");
            let got: Value = serde_json::from_str(&answers[0]).expect("an answer is JSON");
            let login = row["login"].as_str().unwrap_or("?").to_owned();
            judge(&row, &got, scores.entry(login).or_default());
        }
    }
    report(&scores)
}

/// The repository's own rows, and the handed ones where they are.
fn usual() -> Vec<String> {
    let files = ["tests/corpus/unseen.jsonl", "../shared/corpus/review-comments.jsonl"];
    files.into_iter().filter(|file| std::path::Path::new(file).exists()).map(str::to_owned).collect()
}

fn answers(file: &str) -> ExitCode {
    let rules = Rules::compile(builtin(), &[], &BTreeMap::new()).expect("the built-in rules compile");
    let (lines, bad) = classify_stream(&std::fs::read(file).expect("the file can be read"), &rules);
    lines.iter().for_each(|line| println!("{line}"));
    if bad { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn judge(row: &Value, got: &Value, score: &mut Score) {
    let expect = &row["expect"];
    let want = expect["severity"].as_str().unwrap_or("none");
    let severity = got["severity"].as_str().unwrap_or("none");
    let effective = if want == "unclassified" { "P2" } else { want };
    let right = effective == severity && (want != "unclassified" || got["decided_by"] == "assumed");
    let count = got["findings"].as_array().map_or(0, Vec::len) as u64;
    let open = expect["findings"].as_u64().unwrap_or(0);
    score.rows += 1;
    score.severity += usize::from(right);
    score.missed += usize::from(blocks(want) && open > 0 && !(blocks(severity) && count > 0));
    score.false_blocks += usize::from(!(blocks(want) && open > 0) && blocks(severity) && count > 0);
    score.kind += usize::from(got["kind"] == expect["kind"]);
    score.count += usize::from(count == open);
    let title_right = match expect["title"].as_str() {
        Some(title) if open > 0 => {
            score.titled += 1;
            let same = got["findings"][0]["title"] == title;
            score.title += usize::from(same);
            same
        }
        _ => true,
    };
    if !right || got["kind"] != expect["kind"] || count != open || !title_right {
        println!("{} {}\n  want {expect}\n  got  {got}", row["id"], row["login"]);
    }
}

fn report(scores: &BTreeMap<String, Score>) -> ExitCode {
    println!("\n{:<40} rows severity missed false kind count title", "reviewer");
    let mut all = Score::default();
    for (login, s) in scores {
        print_row(login, s);
        all.rows += s.rows;
        all.severity += s.severity;
        all.missed += s.missed;
        all.false_blocks += s.false_blocks;
        all.kind += s.kind;
        all.count += s.count;
        all.titled += s.titled;
        all.title += s.title;
    }
    print_row("all", &all);
    let right = all.missed == 0 && all.severity == all.rows && all.kind == all.rows && all.count == all.rows;
    if right && all.title * 100 >= all.titled * 95 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn print_row(name: &str, s: &Score) {
    let title = format!("{}/{}", s.title, s.titled);
    println!(
        "{name:<40} {:>4} {:>8} {:>6} {:>5} {:>4} {:>5} {title:>7}",
        s.rows, s.severity, s.missed, s.false_blocks, s.kind, s.count
    );
}
