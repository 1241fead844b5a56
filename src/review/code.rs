//! Which part of a changed line is code, by file name alone. A rough reader for every language, not a parser: where it
//! cannot tell, the text counts as code.

/// How comments look in a family of languages.
struct Syntax {
    line: &'static [&'static str],
    block: Option<(&'static str, &'static str)>,
    /// Indentation has a meaning.
    indent: bool,
}

const SLASHES: Syntax = Syntax { line: &["//"], block: Some(("/*", "*/")), indent: false };
const HASH: Syntax = Syntax { line: &["#"], block: None, indent: false };
const HASH_INDENT: Syntax = Syntax { line: &["#"], block: None, indent: true };
const DASHES: Syntax = Syntax { line: &["--"], block: Some(("/*", "*/")), indent: false };
const SEMICOLON: Syntax = Syntax { line: &[";"], block: None, indent: false };
const PERCENT: Syntax = Syntax { line: &["%"], block: None, indent: false };
const MARKUP: Syntax = Syntax { line: &[], block: Some(("<!--", "-->")), indent: false };
const MIXED: Syntax = Syntax { line: &["//", "#"], block: Some(("/*", "*/")), indent: false };
const PLAIN: Syntax = Syntax { line: &[], block: None, indent: false };

fn syntax(path: &str) -> Syntax {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    if matches!(name.as_str(), "makefile" | "gnumakefile") || name.ends_with(".mk") {
        return HASH_INDENT;
    }
    if name.starts_with("dockerfile") || name == "justfile" || name == "gemfile" || name == "rakefile" {
        return HASH;
    }
    match name.rsplit('.').next().unwrap_or_default() {
        "rs" | "c" | "h" | "cc" | "cpp" | "cxx" | "hpp" | "hh" | "java" | "js" | "jsx" | "mjs" | "cjs" | "ts"
        | "tsx" | "mts" | "cts" | "go" | "swift" | "kt" | "kts" | "scala" | "cs" | "dart" | "zig" | "groovy"
        | "gradle" | "m" | "mm" | "proto" | "css" | "scss" | "less" | "sol" | "v" | "sv" | "jsonc" | "json5" => SLASHES,
        "php" | "tf" | "hcl" => MIXED,
        "py" | "pyi" | "yml" | "yaml" | "nim" | "coffee" => HASH_INDENT,
        "rb" | "sh" | "bash" | "zsh" | "fish" | "toml" | "pl" | "pm" | "r" | "jl" | "ex" | "exs" | "cmake" | "nix"
        | "ps1" | "conf" | "cfg" | "properties" | "bzl" | "tcl" | "awk" | "gitignore" | "env" => HASH,
        "sql" | "lua" | "hs" | "elm" | "ada" | "adb" | "ads" | "vhd" | "vhdl" => DASHES,
        "lisp" | "clj" | "cljs" | "el" | "scm" | "asm" | "ini" => SEMICOLON,
        "tex" | "erl" | "hrl" => PERCENT,
        "html" | "htm" | "xml" | "svg" | "vue" | "svelte" | "md" | "markdown" | "xhtml" => MARKUP,
        _ => PLAIN,
    }
}

/// Tells whether two runs of lines differ in nothing but white space and comments.
pub fn cosmetic(path: &str, removed: &[String], added: &[String]) -> bool {
    substance(path, removed) == substance(path, added)
}

/// Tells whether two runs of lines differ in nothing but white space.
pub fn spacing_only(path: &str, removed: &[String], added: &[String]) -> bool {
    let indent = syntax(path).indent;
    squeeze(removed.iter().map(String::as_str), indent) == squeeze(added.iter().map(String::as_str), indent)
}

/// Tells whether every line that is not blank is a comment; false without such a line.
pub fn all_comment(path: &str, lines: &[String]) -> bool {
    lines.iter().any(|line| !line.trim().is_empty()) && substance(path, lines).is_empty()
}

fn substance(path: &str, lines: &[String]) -> String {
    let syntax = syntax(path);
    let mut inside = starts_inside_block(&syntax, lines);
    let code: Vec<String> = lines.iter().map(|line| code_part(line, &syntax, &mut inside)).collect();
    squeeze(code.iter().map(String::as_str), syntax.indent)
}

fn squeeze<'a>(lines: impl Iterator<Item = &'a str>, indent: bool) -> String {
    let mut out = String::new();
    for line in lines.filter(|line| !line.trim().is_empty()) {
        if indent {
            let depth = line.chars().take_while(|c| c.is_whitespace()).count();
            out.push_str(&format!("\n{depth}:"));
        }
        out.extend(line.chars().filter(|c| !c.is_whitespace()));
    }
    out
}

/// A run cut out of a file can begin in the middle of a block comment: its end stands before any beginning.
fn starts_inside_block(syntax: &Syntax, lines: &[String]) -> bool {
    let Some((open, close)) = syntax.block else { return false };
    for line in lines {
        match (line.find(open), line.find(close)) {
            (Some(begin), Some(end)) if begin <= end => return false,
            (_, Some(_)) => return true,
            (Some(_), None) => return false,
            (None, None) => {}
        }
    }
    // No mark at all: stars at every line's head are the middle of one.
    open == "/*"
        && lines.iter().any(|line| !line.trim().is_empty())
        && lines.iter().all(|line| starred(line.trim()) || line.trim().is_empty())
}

fn starred(line: &str) -> bool {
    line == "*" || line.starts_with("* ")
}

/// Returns the line without its comments; `inside` says whether a block comment is open.
fn code_part(line: &str, syntax: &Syntax, inside: &mut bool) -> String {
    let mut out = String::new();
    let mut rest = line;
    let mut quote: Option<char> = None;
    while let Some(first) = rest.chars().next() {
        if let Some((open, close)) = syntax.block {
            if *inside {
                match rest.find(close) {
                    Some(at) => {
                        rest = &rest[at + close.len()..];
                        *inside = false;
                        continue;
                    }
                    None => return out,
                }
            }
            if quote.is_none() && rest.starts_with(open) {
                *inside = true;
                rest = &rest[open.len()..];
                continue;
            }
        }
        let free = out.chars().next_back().is_none_or(char::is_whitespace);
        if quote.is_none() && syntax.line.iter().any(|token| rest.starts_with(token) && (free || *token == "//")) {
            return out;
        }
        quote = match quote {
            Some(open) if open == first && !out.ends_with('\\') => None,
            Some(open) => Some(open),
            // A quote that does not close on this line is an apostrophe or a lifetime.
            None if matches!(first, '"' | '\'' | '`') && rest[first.len_utf8()..].contains(first) => Some(first),
            None => None,
        };
        out.push(first);
        rest = &rest[first.len_utf8()..];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    fn check(path: &str, removed: &str, added: &str, expected: bool) {
        assert_eq!(cosmetic(path, &lines(removed), &lines(added)), expected, "{path}: {removed:?} to {added:?}");
    }

    #[test]
    fn r08_comments_and_white_space_are_no_change() {
        check("a.rs", "let a = 1;", "let  a = 1; // one", true);
        check("a.rs", "", "// TODO", true);
        check("a.rs", "let a = 1;", "let a = 2;", false);
        check("a.py", "", "# noqa", true);
        check("a.py", "x = 1  ", "x = 1", true);
        check("a.py", "    return x", "        return x", false);
        check("a.go", "a()", "  a()", true);
        check("a.js", "", "/* a\n b */", true);
        check("a.js", "", "/* a */ run()", false);
        check("a.sql", "", "-- slow", true);
        check("a.html", "<p>", "<!-- x --><p>", true);
        check("Makefile", "", "# x", true);
        check("notes.txt", "", "# x", false);
        check("README.md", "", "more words", false);
        check("a.c", "", "#include <a.h>", false);
        check("a.rs", "", "#[derive(Debug)]", false);
    }

    #[test]
    fn r08_marks_in_strings_are_code() {
        check("a.js", "get(\"http://a\")", "get(\"http://b\")", false);
        check("a.sh", "echo '# a'", "echo '# b'", false);
        check("a.rs", "fn f<'a>(x: &'a str) {} // x", "fn f<'a>(x: &'a str) {}", true);
        check("a.py", "color = a#b", "color = a#c", false);
    }

    #[test]
    fn r08_a_run_can_begin_inside_a_block_comment() {
        check("a.java", " * old words", " * new words", true);
        check("a.java", "old words */", "new words */", true);
        check("a.c", "*p = 1;", "*p = 2;", false);
        check("a.java", "new words */\nrun();", "new words */\nwalk();", false);
    }

    #[test]
    fn a_place_of_comments_is_told() {
        assert!(all_comment("a.rs", &lines("// a\n\n// b")));
        assert!(!all_comment("a.rs", &lines("// a\nrun();")) && !all_comment("a.rs", &lines("\n")));
    }
}
