//! Whether a change touches the place of a finding. White space and comments alone do not.

use crate::review::comment::Side;
use crate::review::diff::{FileChange, FileDiff, Hunk};
use crate::review::ids::RepoPath;
use crate::review::summary::Entry;

/// Lines around a place that still belong to it: a guard or a declaration next to it mends it too.
const NEAR: u32 = 3;

/// Tells where a change touches the place of a finding or one that was named; else says why it does not.
pub fn touches(entry: &Entry, places: &[String], diff: &[FileDiff]) -> Result<String, String> {
    if diff.is_empty() {
        return Err("the commit changes nothing".to_owned());
    }
    let about = about_comments(entry);
    let finding = &entry.finding;
    let cited = finding.path.as_deref().map(|path| {
        let line = finding.line.filter(|_| !entry.whole_file && finding.side != Some(Side::Left));
        Place { path: path.to_owned(), lines: line.map(|line| (entry.start_line.unwrap_or(line).min(line), line)) }
    });
    let wanted = match &cited {
        Some(place) => match hit(place, true, diff, about) {
            Some(found) => return Ok(found),
            None => place.to_string(),
        },
        None if places.is_empty() => {
            let any = diff.iter().find_map(|file| touched(file, None, true, about));
            return any.ok_or_else(|| "the commit changes only white space or comments".to_owned());
        }
        None => places.join(", "),
    };
    let named = places.iter().filter_map(|text| Place::parse(text));
    let found = named.into_iter().find_map(|place| hit(&place, false, diff, about));
    found.ok_or_else(|| {
        format!("it was answered with `fix`, but the commit does not touch {wanted} (white space and comments do not count), nor another place that the answer names")
    })
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    path: String,
    lines: Option<(u32, u32)>,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.lines {
            Some((from, to)) if from == to => write!(f, "{}:{from}", self.path),
            Some((from, to)) => write!(f, "{}:{from}-{to}", self.path),
            None => f.write_str(&self.path),
        }
    }
}

impl Place {
    fn parse(text: &str) -> Option<Self> {
        let text = text.trim().trim_start_matches("./");
        let (path, lines) = match text.rsplit_once(':').and_then(|(path, lines)| Some((path, range(lines)?))) {
            Some((path, lines)) => (path, Some(lines)),
            None => (text, None),
        };
        RepoPath::from_outside(path).ok()?;
        Some(Self { path: path.to_owned(), lines })
    }
}

fn range(text: &str) -> Option<(u32, u32)> {
    let (from, to) = text.split_once('-').unwrap_or((text, text));
    let (from, to) = (from.trim_start_matches('L').parse().ok()?, to.trim_start_matches('L').parse().ok()?);
    (from <= to).then_some((from, to))
}

fn hit(place: &Place, before: bool, diff: &[FileDiff], about: bool) -> Option<String> {
    let is = |path: Option<&RepoPath>| path.is_some_and(|path| path.as_bytes() == place.path.as_bytes());
    let file = diff.iter().find(|file| is(file.old_path.as_ref()) || is(file.new_path.as_ref()))?;
    touched(file, place.lines, before, about)
}

/// Tells where a file is touched: anywhere, or near these lines of the old side (`before`) or of either side.
fn touched(file: &FileDiff, lines: Option<(u32, u32)>, before: bool, about: bool) -> Option<String> {
    let path = file.new_path.as_ref().or(file.old_path.as_ref())?;
    let name = path.to_string();
    let whole = match file.change {
        FileChange::Deleted => true,
        FileChange::Added => !before || lines.is_none(),
        FileChange::Renamed => lines.is_none(),
        FileChange::Modified => file.binary && lines.is_none(),
    };
    let near = |hunk: &&Hunk| {
        lines.is_none_or(|lines| {
            meets(lines, hunk.old_start, hunk.old_len) || (!before && meets(lines, hunk.new_start, hunk.new_len))
        })
    };
    let hunk = file.hunks.iter().filter(|hunk| about || meaningful(&name, hunk)).find(near);
    match hunk {
        Some(hunk) => Some(match hunk.new_len {
            0 | 1 => format!("{name}:{}", hunk.new_start.max(1)),
            n => format!("{name}:{}-{}", hunk.new_start, hunk.new_start + n - 1),
        }),
        None => (whole && (file.hunks.is_empty() || file.change == FileChange::Deleted)).then_some(name),
    }
}

fn meets((from, to): (u32, u32), start: u32, length: u32) -> bool {
    let end = start.saturating_add(length.max(1) - 1);
    start <= to.saturating_add(NEAR) && from <= end.saturating_add(NEAR)
}

/// Tells whether a hunk changes more than white space and comments.
fn meaningful(path: &str, hunk: &Hunk) -> bool {
    let solid = |lines: &[String]| -> String {
        let code = lines.iter().filter(|line| !is_comment(path, line));
        code.flat_map(|line| line.chars().filter(|c| !c.is_whitespace())).collect()
    };
    solid(&hunk.removed) != solid(&hunk.added)
}

/// Tells whether a line is nothing but a comment, as far as the file's name tells its language.
fn is_comment(path: &str, line: &str) -> bool {
    let line = line.trim();
    let name = path.rsplit('/').next().unwrap_or(path);
    let extension = name.rsplit_once('.').map_or(name, |(_, extension)| extension).to_ascii_lowercase();
    let starts: &[&str] = match extension.as_str() {
        "c" | "h" | "cc" | "cpp" | "cxx" | "hpp" | "hh" | "cs" | "java" | "js" | "jsx" | "mjs" | "cjs" | "ts"
        | "tsx" | "go" | "rs" | "swift" | "kt" | "kts" | "scala" | "dart" | "m" | "mm" | "proto" | "zig" | "groovy"
        | "gradle" | "scss" | "less" | "css" => &["//", "/*", "*/", "* "],
        "php" => &["//", "/*", "*/", "* ", "# "],
        "py" | "pyi" | "rb" | "sh" | "bash" | "zsh" | "fish" | "yaml" | "yml" | "toml" | "pl" | "pm" | "r" | "mk"
        | "makefile" | "dockerfile" | "tf" | "cmake" | "ex" | "exs" | "nix" | "jl" | "cfg" | "conf" | "properties"
        | "gitignore" => &["#"],
        "sql" | "lua" | "hs" | "elm" | "ada" | "vhdl" => &["--"],
        "lisp" | "clj" | "cljs" | "el" | "scm" | "ini" | "asm" => &[";"],
        "erl" | "tex" => &["%"],
        "html" | "htm" | "xml" | "vue" | "svelte" => &["<!--"],
        _ => &[],
    };
    starts.iter().any(|start| line.starts_with(start)) || (line == "*" && starts.contains(&"* "))
}

/// Tells whether a finding is about a comment or about writing, so that such a change does touch it.
fn about_comments(entry: &Entry) -> bool {
    let text = format!("{} {}", entry.finding.title, entry.text).to_lowercase();
    let words = [
        "comment",
        "docstring",
        "doc string",
        "documentation",
        "typo",
        "spelling",
        "wording",
        "rustdoc",
        "javadoc",
        "jsdoc",
        "todo",
        "license header",
        "whitespace",
        "white space",
        "indentation",
        "formatting",
        "misspell",
        "docs",
    ];
    words.iter().any(|word| text.contains(word))
}
