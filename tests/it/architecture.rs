//! The rings of the program, held by reading every `use` line and path: an edge that is not allowed fails here.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Ring → rings of ours it may name.
fn allowed(ring: &str) -> &'static [&'static str] {
    match ring {
        "review" => &[],
        "ports" => &["review"],
        "engine" => &["review", "ports"],
        "process" => &["review", "ports"],
        "github" | "git" | "agent" | "verify" | "store" | "report" | "hook" => &["review", "ports", "process"],
        "config" => &["review"],
        "cli" => &[
            "review", "ports", "engine", "process", "github", "git", "agent", "verify", "store", "report", "hook",
            "config",
        ],
        "lib" | "main" => &[
            "cli", "process", "review", "ports", "engine", "github", "git", "agent", "verify", "store", "report",
            "hook", "config",
        ],
        other => panic!("`{other}` has no ring: add it to the table and to the crate doc"),
    }
}

/// Crates that a ring may not name, beside rings.
fn forbidden_crates(ring: &str) -> &'static [&'static str] {
    match ring {
        "review" => &[
            "clap",
            "reqwest",
            "git2",
            "toml",
            "thiserror",
            "anyhow",
            "tracing",
            "dialoguer",
            "rustix",
            "tempfile",
            "camino",
            "minijinja",
        ],
        "ports" => &["clap", "reqwest", "git2", "toml", "anyhow", "dialoguer", "rustix"],
        "engine" => &["clap", "reqwest", "git2", "toml", "anyhow", "dialoguer", "rustix", "tempfile", "minijinja"],
        "github" => &["clap", "git2", "anyhow", "dialoguer"],
        "git" | "store" | "agent" | "verify" | "process" | "report" | "hook" | "config" => {
            &["clap", "reqwest", "anyhow"]
        }
        _ => &[],
    }
}

/// Parts of std that the two inner rings may not name.
const IO: &[&str] = &[
    "std::fs",
    "std::net",
    "std::process",
    "std::env",
    "std::thread",
    "SystemTime::now",
    "Instant::now",
    "Timestamp::now",
];

fn files(dir: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files(&path, out);
        } else if path.extension().is_some_and(|ext| ext == "rs") {
            out.push(path);
        }
    }
}

/// The text that is compiled into the program: without comments, and without test modules.
fn program_text(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        if line.trim() == "#[cfg(test)]" {
            break;
        }
        let code = line.split("//").next().unwrap_or("");
        out.push_str(code);
        out.push('\n');
    }
    out
}

/// Tells whether a file is a module that only tests compile: its parent declares it so.
fn only_for_tests(path: &Path) -> bool {
    let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
    let dir = path.parent().expect("a folder");
    let declared =
        regex::Regex::new(&format!(r"#\[cfg\(test\)\]\s*(pub(\([a-z]+\))? )?mod {name};")).expect("a pattern");
    let parents = [dir.join("mod.rs"), dir.with_extension("rs")];
    parents.iter().filter_map(|parent| fs::read_to_string(parent).ok()).any(|text| declared.is_match(&text))
}

fn ring_of(path: &Path, src: &Path) -> String {
    let inside = path.strip_prefix(src).expect("inside src");
    let first = inside.components().next().expect("a component").as_os_str().to_string_lossy().into_owned();
    first.trim_end_matches(".rs").to_owned()
}

fn violations(ring: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let names = [
        "review", "ports", "engine", "process", "github", "git", "agent", "verify", "store", "report", "hook",
        "config", "cli",
    ];
    for name in names {
        let path = regex::Regex::new(&format!(r"crate::{name}\b")).expect("a pattern");
        if name != ring && !allowed(ring).contains(&name) && path.is_match(text) {
            found.push(format!("names crate::{name}"));
        }
    }
    for krate in forbidden_crates(ring) {
        let path = regex::Regex::new(&format!(r"(^|[^A-Za-z0-9_:]){krate}::")).expect("a pattern");
        if text.lines().any(|line| path.is_match(line)) {
            found.push(format!("names the crate {krate}"));
        }
    }
    if matches!(ring, "review" | "engine") {
        found.extend(IO.iter().filter(|name| text.contains(**name)).map(|name| format!("names {name}")));
    }
    found
}

#[test]
fn every_edge_between_rings_is_allowed() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut all = Vec::new();
    files(&src, &mut all);
    let mut bad = BTreeMap::new();
    for path in all.into_iter().filter(|path| !only_for_tests(path)) {
        let ring = ring_of(&path, &src);
        let found = violations(&ring, &program_text(&fs::read_to_string(&path).expect("readable")));
        if !found.is_empty() {
            bad.insert(path.display().to_string(), found);
        }
    }
    assert!(bad.is_empty(), "{bad:#?}");
}

#[test]
fn the_check_sees_a_forbidden_edge() {
    assert_eq!(violations("review", "use crate::github::Client;\n"), ["names crate::github"]);
    assert_eq!(
        violations("engine", "let x = std::fs::read(p);\nuse reqwest::Url;\n"),
        ["names the crate reqwest", "names std::fs"]
    );
    assert!(violations("git", "use crate::review::ids::Sha;\nuse crate::ports::Pushed;\n").is_empty());
    assert!(violations("git", "use crate::github::x;\n").len() == 1);
}
