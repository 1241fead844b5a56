//! Runs `classify` over labelled comments and prints, per reviewer, where it differs from the labels.
//!
//! `corpus --answers FILE` prints the answers alone, for writing rules. `corpus --comebacks [FILE...]` prints how often two findings of one
//! reviewer are taken for one, and how often a reworded one is known again. `corpus FILE...` reads JSON lines `{id, login, channel, path, body, expect: {severity, kind, findings, title}}`;
//! `levels` and `places` of `expect` hold severity and `path:line` of each finding, where the repository's own test asks for them.
#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::expect_used, missing_docs)]

use std::collections::BTreeMap;
use std::process::ExitCode;

use pushback::config::rules::builtin;
use pushback::review::classify::{CommentInput, Rules, classify, classify_stream};
use pushback::review::comeback::{NEAR_TEXT, VERBATIM, likeness, says_the_same};
use pushback::review::comment::AccountKind;
use pushback::review::ids::Login;
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
    if let Some((flag, files)) = files.split_first()
        && flag == "--comebacks"
    {
        return comebacks(if files.is_empty() { usual() } else { files.to_vec() });
    }
    let files = if files.is_empty() { usual() } else { files };
    let rules = Rules::compile(&builtin(), &[], &BTreeMap::new()).expect("the built-in rules compile");
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
    let rules = Rules::compile(&builtin(), &[], &BTreeMap::new()).expect("the built-in rules compile");
    let (lines, bad) = classify_stream(&std::fs::read(file).expect("the file can be read"), &rules);
    lines.iter().for_each(|line| println!("{line}"));
    if bad { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Title and text of every open finding, by reviewer.
fn findings(files: &[String]) -> BTreeMap<String, Vec<(String, String)>> {
    let rules = Rules::compile(&builtin(), &[], &BTreeMap::new()).expect("the built-in rules compile");
    let mut out: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    for file in files {
        let text = std::fs::read_to_string(file).expect("the corpus can be read");
        for line in text.lines().filter(|l| !l.trim().is_empty()) {
            let row: Value = serde_json::from_str(line).expect("a corpus row is JSON");
            let login = row["login"].as_str().unwrap_or("ghost");
            let channel = serde_json::from_value(row["channel"].clone()).expect("a channel");
            let bot = login.ends_with("[bot]") || login == "Copilot";
            let account = if bot { AccountKind::Bot } else { AccountKind::Person };
            let author = Login::new(login);
            let input = CommentInput {
                path: row["path"].as_str(),
                ..CommentInput::new(&author, account, channel, row["body"].as_str().unwrap_or(""))
            };
            let said = classify(&rules, &input);
            let whose =
                said.reviewer.clone().unwrap_or_else(|| if bot { login.to_owned() } else { "people".to_owned() });
            out.entry(whose).or_default().extend(said.findings.into_iter().map(|f| (f.title, f.text)));
        }
    }
    out
}

type Reword = fn(&str) -> String;

/// What reviewers do to a text that they post again.
const REWORDINGS: [(&str, Reword); 5] = [
    ("line numbers a line off", |text| {
        text.chars().map(|c| if c.is_ascii_digit() { next_digit(c) } else { c }).collect()
    }),
    ("another footer", |text| format!("{text}\n\nReported again for commit 1a2b3c4; reply to discuss.")),
    ("every 12th word changed", |text| each_nth(text, 12)),
    ("every 8th word changed", |text| each_nth(text, 8)),
    ("every 4th word changed", |text| each_nth(text, 4)),
];

fn next_digit(c: char) -> char {
    char::from_digit((c.to_digit(10).unwrap_or(0) + 1) % 10, 10).unwrap_or(c)
}

fn each_nth(text: &str, n: usize) -> String {
    let words = text.split_whitespace().enumerate();
    words.map(|(i, word)| if i % n == n - 1 { "otherwise" } else { word }).collect::<Vec<_>>().join(" ")
}

/// Measures the thresholds of a comeback on texts alone; the program asks for one place besides, so that it errs less.
fn comebacks(files: Vec<String>) -> ExitCode {
    let all = findings(&files);
    let (mut pairs, mut near, mut same, mut verbatim) = (0usize, 0usize, 0usize, 0usize);
    for (name, list) in &all {
        for (i, one) in list.iter().enumerate() {
            for other in list.iter().skip(i + 1).filter(|other| *other != one) {
                let alike = likeness(&one.1, &other.1);
                pairs += 1;
                near += usize::from(alike >= NEAR_TEXT);
                verbatim += usize::from(alike >= VERBATIM);
                if says_the_same((&one.0, &one.1), (&other.0, &other.1)) {
                    same += 1;
                    println!("taken for one ({alike:.2}), {name}: {:?} and {:?}", one.0, other.0);
                }
            }
        }
    }
    let share = |n: usize, of: usize| 100.0 * n as f64 / of.max(1) as f64;
    println!("{pairs} pairs of different findings of one reviewer");
    println!(
        "false matches: {near} by likeness >= {NEAR_TEXT} ({:.2} %), {same} by title or likeness ({:.2} %), {verbatim} verbatim >= {VERBATIM} ({:.2} %)",
        share(near, pairs),
        share(same, pairs),
        share(verbatim, pairs)
    );
    for (name, reword) in REWORDINGS {
        let texts: Vec<&(String, String)> = all.values().flatten().collect();
        let known = |own_title: bool| {
            let again = |(title, text): &&&(String, String)| {
                let title_again = if own_title { title.clone() } else { each_nth(title, 3) };
                says_the_same((title.as_str(), text.as_str()), (title_again.as_str(), reword(text).as_str()))
            };
            share(texts.iter().filter(again).count(), texts.len())
        };
        println!(
            "known again, {name}: {:.1} % with the same title, {:.1} % with another ({} findings)",
            known(true),
            known(false),
            texts.len()
        );
    }
    ExitCode::SUCCESS
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
