//! `regen [--check]`: writes the files that are generated from the program: man page, completions, help, schemas,
//! and the tables of the README. With `--check` it writes nothing and fails when one of them is out of step.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a tool talks to its terminal")]

mod schemas;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap_complete::Shell;
use pushback::cli::args::{command, completed};
use pushback::config::keys::{KEYS, Key, Scope, Takes};

fn man() -> Result<String, String> {
    let mut text = Vec::new();
    clap_mangen::Man::new(command()).render(&mut text).map_err(|error| error.to_string())?;
    String::from_utf8(text).map_err(|error| error.to_string())
}

fn completions(shell: Shell) -> Result<String, String> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut completed(), "pushback", &mut text);
    String::from_utf8(text).map_err(|error| error.to_string())
}

fn help() -> String {
    let mut whole = command().term_width(100).disable_help_subcommand(true);
    let mut text = format!("$ pushback --help\n{}\n", whole.render_long_help());
    let names: Vec<String> =
        whole.get_subcommands().filter(|c| !c.is_hide_set()).map(|c| c.get_name().to_owned()).collect();
    for name in names {
        if let Some(sub) = whole.find_subcommand_mut(&name) {
            let help = sub.clone().bin_name(format!("pushback {name}")).term_width(100).render_help();
            text.push_str(&format!("\n$ pushback {name} -h\n{help}"));
        }
    }
    text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

fn commands() -> String {
    let whole = command();
    let mut text = "| command | does |\n|---|---|\n".to_owned();
    for sub in whole.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        let about = sub.get_about().map(ToString::to_string).unwrap_or_default();
        text.push_str(&format!("| `{}` | {about} |\n", sub.get_name()));
    }
    text
}

fn config() -> String {
    let mut text = "| key | default | what it is |\n|---|---|---|\n".to_owned();
    for key in KEYS {
        let policy = if key.scope == Scope::Policy { " *" } else { "" };
        let default = if key.default.is_empty() { "–".to_owned() } else { format!("`{}`", key.default) };
        text.push_str(&format!("| `{}`{policy} | {default} | {} |\n", key.name, key.doc));
    }
    text.push_str("| `[reviewers.NAME]` * | – | `untagged` (severity), `reaction_counts` (true or false), `levels` (native level → severity). |\n");
    text.push_str("| `[[severity.rule]]` * | – | `pattern` (regular expression), `level`, perhaps `author`. Goes before the built-in rules. |\n");
    text
}

fn takes(key: &Key) -> serde_json::Value {
    use serde_json::json;
    let level = json!({"enum": ["P1", "P2", "P3", "nit"]});
    let mut value = match key.takes {
        Takes::Bool => json!({"type": "boolean"}),
        Takes::Count => json!({"type": "integer", "minimum": 0}),
        Takes::Number => json!({"type": "number", "minimum": 0}),
        Takes::Text => json!({"type": "string"}),
        Takes::Texts => json!({"type": "array", "items": {"type": "string"}}),
        Takes::Time => json!({"type": "string", "pattern": "^[0-9]"}),
        Takes::OneOf(words) if words == pushback::config::keys::LEVELS => level,
        Takes::OneOf(words) => json!({"enum": words}),
        Takes::Regraders => {
            json!({"anyOf": [{"enum": ["writers", "not_author"]}, {"type": "array", "items": {"type": "string"}}]})
        }
    };
    value["description"] = json!(key.doc);
    value
}

fn schema() -> String {
    use serde_json::{Map, json};
    let level = json!({"enum": ["P1", "P2", "P3", "nit"]});
    let mut sections: Map<String, serde_json::Value> = Map::new();
    for key in KEYS {
        let Some((section, name)) = key.name.split_once('.') else { continue };
        let entry = sections
            .entry(section.to_owned())
            .or_insert_with(|| json!({"type": "object", "additionalProperties": false, "properties": {}}));
        entry["properties"][name] = takes(key);
    }
    sections["reviewers"]["additionalProperties"] = json!({
        "type": "object", "additionalProperties": false,
        "properties": {"untagged": level, "reaction_counts": {"type": "boolean"}, "levels": {"type": "object", "additionalProperties": level}},
    });
    let rule = json!({
        "type": "object", "additionalProperties": false, "required": ["pattern", "level"],
        "properties": {"author": {"type": "string"}, "pattern": {"type": "string"}, "level": level},
    });
    sections.insert("severity".to_owned(), json!({"type": "object", "additionalProperties": false, "properties": {"rule": {"type": "array", "items": rule}}}));
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema", "title": ".pushback.toml", "type": "object",
        "additionalProperties": false, "properties": sections,
    });
    format!("{}\n", serde_json::to_string_pretty(&schema).unwrap_or_default())
}

/// Puts text between the markers of a section of the README.
fn spliced(readme: &str, section: &str, text: &str) -> Result<String, String> {
    let (begin, end) = (format!("<!-- regen:{section} -->\n"), format!("<!-- regen:{section}:end -->"));
    let from = readme.find(&begin).ok_or_else(|| format!("README.md has no section {section}"))? + begin.len();
    let to = readme[from..].find(&end).ok_or_else(|| format!("README.md has no end of section {section}"))? + from;
    Ok(format!("{}{text}{}", &readme[..from], &readme[to..]))
}

fn generated(root: &Path) -> Result<Vec<(PathBuf, String)>, String> {
    let readme_path = root.join("README.md");
    let readme = std::fs::read_to_string(&readme_path).map_err(|error| format!("README.md: {error}"))?;
    let readme = spliced(&spliced(&readme, "commands", &commands())?, "config", &config())?;
    let docs = root.join("docs");
    let formats = schemas::all()?.into_iter();
    let mut files: Vec<(PathBuf, String)> =
        formats.map(|(name, text)| (docs.join("schema").join(format!("{name}.schema.json")), text)).collect();
    files.extend([
        (docs.join("pushback.1"), man()?),
        (docs.join("help.txt"), help()),
        (docs.join("config.schema.json"), schema()),
        (docs.join("completions/pushback.bash"), completions(Shell::Bash)?),
        (docs.join("completions/_pushback"), completions(Shell::Zsh)?),
        (docs.join("completions/pushback.fish"), completions(Shell::Fish)?),
        (readme_path, readme),
    ]);
    Ok(files)
}

fn run(check: bool) -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut stale = Vec::new();
    for (path, text) in generated(root)? {
        let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
        if std::fs::read_to_string(&path).is_ok_and(|now| now == text) {
            continue;
        }
        if check {
            stale.push(name);
            continue;
        }
        if let Some(dir) = path.parent() {
            std::fs::create_dir_all(dir).map_err(|error| format!("{name}: {error}"))?;
        }
        std::fs::write(&path, text).map_err(|error| format!("{name}: {error}"))?;
        println!("wrote {name}");
    }
    if stale.is_empty() { Ok(()) } else { Err(format!("out of step, run scripts/regen: {}", stale.join(", "))) }
}

fn main() -> ExitCode {
    match run(std::env::args().nth(1).as_deref() == Some("--check")) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("regen: {why}");
            ExitCode::FAILURE
        }
    }
}
