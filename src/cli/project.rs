//! What a project is tested with, told from the files at its top. A guess for people to look at; nothing is started.

use camino::Utf8Path;
use serde::Deserialize;
use std::collections::BTreeMap;

/// A test command and what it was told from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tests {
    /// Shell line.
    pub(crate) command: String,
    /// File.
    pub(crate) because: String,
}

/// Files that stand for one command each, likeliest first.
const PLAIN: [(&str, &str); 10] = [
    ("go.mod", "go test ./..."),
    ("mix.exs", "mix test"),
    ("gradlew", "./gradlew test"),
    ("build.gradle", "gradle test"),
    ("build.gradle.kts", "gradle test"),
    ("mvnw", "./mvnw -q test"),
    ("pom.xml", "mvn -q test"),
    ("Package.swift", "swift test"),
    ("deno.json", "deno test"),
    ("dune-project", "dune test"),
];

/// Shell scripts whose names say that they test, likeliest first.
const SCRIPTS: [&str; 6] =
    ["script/test", "scripts/test", "scripts/test.sh", "test.sh", "tests/run.sh", "spec/test.sh"];

/// Finds every test command, likeliest first: the language's own, then what a task runner offers.
pub(crate) fn tests(top: &Utf8Path) -> Vec<Tests> {
    let has = |file: &str| top.join(file).is_file();
    let text = |file: &str| std::fs::read_to_string(top.join(file)).unwrap_or_default();
    let mut found: Vec<Tests> = Vec::new();
    let mut add = |command: &str, because: &str| {
        if !found.iter().any(|known| known.command == command) {
            found.push(Tests { command: command.to_owned(), because: because.to_owned() });
        }
    };
    if has("Cargo.toml") {
        let workspace = text("Cargo.toml").lines().any(|line| line.trim() == "[workspace]");
        add(if workspace { "cargo test --workspace" } else { "cargo test" }, "Cargo.toml");
    }
    if let Some(command) = node(top, &text("package.json")) {
        add(command, "package.json");
    }
    if let Some((command, because)) = python(top, &text) {
        add(command, because);
    }
    for (file, command) in PLAIN {
        if has(file) {
            add(command, file);
        }
    }
    if has("Gemfile") && top.join("spec").is_dir() {
        add("bundle exec rspec", "Gemfile");
    }
    if script(&text("composer.json"), "test").is_some() {
        add("composer test", "composer.json");
    }
    let solution = top.read_dir_utf8().into_iter().flatten().flatten().find(|e| e.file_name().ends_with(".sln"));
    if let Some(solution) = solution {
        add("dotnet test", solution.file_name());
    }
    for file in ["justfile", "Justfile", ".justfile"] {
        if let Some(recipe) = recipe(&text(file)) {
            add(&format!("just {recipe}"), file);
        }
    }
    for file in ["GNUmakefile", "makefile", "Makefile"] {
        if let Some(target) = recipe(&text(file)) {
            add(&format!("make {target}"), file);
        }
    }
    // Last, what is only called like a test.
    for file in SCRIPTS {
        if has(file) {
            add(&format!("sh {file}"), file);
        }
    }
    found
}

fn script(json: &str, name: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Manifest {
        #[serde(default)]
        scripts: BTreeMap<String, serde_json::Value>,
    }
    let manifest: Manifest = serde_json::from_str(json).ok()?;
    manifest.scripts.get(name).map(|value| value.as_str().unwrap_or("").to_owned())
}

/// The package manager is the one whose lock file is there.
fn node(top: &Utf8Path, manifest: &str) -> Option<&'static str> {
    let script = script(manifest, "test")?;
    // What `npm init` writes always fails.
    if script.trim().is_empty() || script.contains("no test specified") {
        return None;
    }
    let has = |file: &str| top.join(file).is_file();
    Some(if has("pnpm-lock.yaml") {
        "pnpm test"
    } else if has("yarn.lock") {
        "yarn test"
    } else if has("bun.lock") || has("bun.lockb") {
        "bun run test"
    } else {
        "npm test"
    })
}

fn python(top: &Utf8Path, text: &dyn Fn(&str) -> String) -> Option<(&'static str, &'static str)> {
    let has = |file: &str| top.join(file).is_file();
    let project = ["pyproject.toml", "setup.py", "setup.cfg"].into_iter().find(|file| has(file));
    let told = if has("pytest.ini") {
        "pytest.ini"
    } else if text("pyproject.toml").contains("pytest") {
        "pyproject.toml"
    } else if let Some(file) = project.filter(|_| top.join("tests").is_dir() || top.join("test").is_dir()) {
        file
    } else if has("tox.ini") {
        return Some(("tox", "tox.ini"));
    } else {
        return None;
    };
    Some(if has("uv.lock") {
        ("uv run pytest", told)
    } else if has("poetry.lock") {
        ("poetry run pytest", told)
    } else {
        ("python -m pytest", told)
    })
}

/// The recipe of a makefile or justfile that tests: `test`, else `check`.
fn recipe(text: &str) -> Option<&'static str> {
    let named = |name: &str| {
        text.lines().any(|line| {
            // `test *args:` takes parameters, `test:=` sets a variable.
            let head = line.strip_prefix(name).and_then(|rest| rest.split_once(':'));
            head.is_some_and(|(between, rest)| {
                (between.trim().is_empty() || between.starts_with(' ') && !between.contains('='))
                    && !rest.starts_with('=')
            })
        })
    };
    ["test", "check"].into_iter().find(|name| named(name))
}

#[cfg(test)]
mod tests_of_projects {
    use super::*;

    #[test]
    fn test_commands_are_told_from_files() {
        let check = |files: &[(&str, &str)], expected: &[&str]| {
            let temp = tempfile::tempdir().expect("a folder");
            let top = Utf8Path::from_path(temp.path()).expect("utf-8");
            for (name, text) in files {
                let path = top.join(name);
                std::fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
                std::fs::write(path, text).expect("a file");
            }
            let commands: Vec<String> = tests(top).into_iter().map(|found| found.command).collect();
            assert_eq!(commands, expected, "{files:?}");
        };
        let node = r#"{"scripts":{"test":"vitest run"}}"#;
        check(&[], &[]);
        check(&[("README.md", "")], &[]);
        check(&[("Cargo.toml", "[package]\n")], &["cargo test"]);
        check(&[("Cargo.toml", "[workspace]\nmembers = []\n")], &["cargo test --workspace"]);
        check(&[("package.json", node)], &["npm test"]);
        check(&[("package.json", node), ("pnpm-lock.yaml", "")], &["pnpm test"]);
        check(&[("package.json", node), ("yarn.lock", "")], &["yarn test"]);
        check(&[("package.json", node), ("bun.lock", "")], &["bun run test"]);
        check(&[("package.json", "{}")], &[]);
        check(&[("package.json", "not json")], &[]);
        let default = r#"{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}"#;
        check(&[("package.json", default)], &[]);
        check(&[("pyproject.toml", "[tool.pytest.ini_options]\n")], &["python -m pytest"]);
        check(&[("pyproject.toml", "[project]\n"), ("tests/test_a.py", "")], &["python -m pytest"]);
        check(&[("pyproject.toml", "[project]\n")], &[]);
        check(&[("pytest.ini", ""), ("uv.lock", "")], &["uv run pytest"]);
        check(&[("setup.py", ""), ("tests/a.py", ""), ("poetry.lock", "")], &["poetry run pytest"]);
        check(&[("tox.ini", "")], &["tox"]);
        check(&[("go.mod", "module x\n")], &["go test ./..."]);
        check(&[("Makefile", "all: x\ntest: all\n\tcc\n")], &["make test"]);
        check(&[("Makefile", "check:\n\ttrue\n")], &["make check"]);
        check(&[("Makefile", "test := 1\ntests:\n")], &[]);
        check(&[("justfile", "test:\n  cargo test\n")], &["just test"]);
        check(&[("justfile", "test *args:\n  x\n")], &["just test"]);
        check(&[("Cargo.toml", ""), ("Makefile", "test:\n")], &["cargo test", "make test"]);
        check(&[("App.sln", "")], &["dotnet test"]);
        check(&[("composer.json", r#"{"scripts":{"test":["phpunit"]}}"#)], &["composer test"]);
    }
}
