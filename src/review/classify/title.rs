//! The title of a finding: one readable line, without markup, badges and labels. It decides only which line that is.

use std::borrow::Cow;

use super::clean::code_spans;

const LONGEST: usize = 300;
const LONGEST_LINE: usize = 2_000;

/// Tags that are removed; any other `<T>` is the author's text.
const KNOWN_TAGS: [&str; 40] = [
    "a",
    "b",
    "br",
    "blockquote",
    "center",
    "code",
    "del",
    "details",
    "div",
    "em",
    "font",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "i",
    "img",
    "kbd",
    "li",
    "ol",
    "p",
    "picture",
    "pre",
    "s",
    "samp",
    "small",
    "source",
    "span",
    "strike",
    "strong",
    "sub",
    "summary",
    "sup",
    "table",
    "td",
    "tr",
    "ul",
];

/// Finds the title in the words of a finding: the first line that says something.
pub(super) fn find(text: &str) -> Option<String> {
    let lines = || text.lines().filter(|line| speaks(line));
    let first = lines().find(|line| !is_path(line)).or_else(|| lines().next())?;
    line(first)
}

/// Tells whether a line is a path and no more.
fn is_path(line: &str) -> bool {
    let bare = line.trim().trim_matches(['*', '`', ':']);
    let name = bare.rsplit_once('/').and_then(|(_, name)| name.rsplit_once('.'));
    name.is_some_and(|(_, kind)| (1..=5).contains(&kind.len()) && kind.bytes().all(|b| b.is_ascii_alphanumeric()))
        && !bare.contains(char::is_whitespace)
}

/// Turns one line into a title.
pub(super) fn line(raw: &str) -> Option<String> {
    let text = strip(super::clean::head(raw, LONGEST_LINE));
    let text = text.trim();
    let text = text.trim_start_matches('#').trim_start_matches([' ', '\u{3000}']);
    let text = without_bullet(text);
    let whole_bold = bold(text);
    let words = match whole_bold {
        Some(words) => Cow::Borrowed(words),
        None => match without_bold(text) {
            Cow::Borrowed(text) => Cow::Borrowed(first_sentence(text)),
            Cow::Owned(text) => Cow::Owned(first_sentence(&text).to_owned()),
        },
    };
    let words = htmlize::unescape(words.trim());
    let words = words.trim().trim_start_matches(['·', '—', '–']).trim();
    let words = ["- ", ": "].iter().find_map(|mark| words.strip_prefix(mark)).unwrap_or(words);
    (!words.is_empty() && words.chars().any(char::is_alphanumeric)).then(|| capped(words))
}

/// Turns a title that the reviewer set apart into plain words; it is never cut to a sentence.
pub(super) fn field(raw: &str) -> Option<String> {
    let text = strip(super::clean::head(raw, LONGEST_LINE));
    let text = without_bold(text.trim().trim_start_matches('#'));
    let text = htmlize::unescape(text.trim());
    let text = text.trim();
    (!text.is_empty()).then(|| capped(text))
}

fn capped(text: &str) -> String {
    // Most titles are well as they are.
    let well = text.is_ascii() && !text.contains("  ") && text.bytes().all(|b| b >= b' ');
    if well && text.len() <= LONGEST {
        return text.trim_ascii().to_owned();
    }
    let mut one_line = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !one_line.is_empty() {
            one_line.push(' ');
        }
        one_line.push_str(word);
    }
    if let Some((end, _)) = one_line.char_indices().nth(LONGEST) {
        one_line.truncate(end);
    }
    one_line
}

/// Tells whether a line can be a title: not a table, a rule, a bare path, a bare level or only pictures.
fn speaks(line: &str) -> bool {
    let line = super::clean::head(line.trim(), LONGEST_LINE);
    if line.is_empty() || line.starts_with('|') || line.starts_with("[!") {
        return false;
    }
    if !line.bytes().any(|b| b.is_ascii_alphanumeric() || b >= 0x80) {
        return false;
    }
    let text = strip(line);
    if is_list_mark(text.trim()) {
        return false;
    }
    let text = text.trim_matches(|c: char| {
        c.is_whitespace() || matches!(c, '*' | '_' | ':' | '#' | '-' | '—' | '–' | '·' | '|' | '(' | ')')
    });
    !text.is_empty() && !is_bare_level(text) && !is_place(text) && text.chars().any(char::is_alphanumeric)
}

/// Tells whether a text is the number or the check box of a list item and nothing else.
fn is_list_mark(text: &str) -> bool {
    if matches!(text.trim_start_matches(['-', '*', '+', ' ']), "[x]" | "[X]") {
        return true;
    }
    let digits = text.trim_end_matches(['.', ')']);
    digits.len() < text.len() && !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
}

fn is_bare_level(text: &str) -> bool {
    // The longest is `critical severity`.
    if text.len() > 17 {
        return false;
    }
    let lower = text.to_ascii_lowercase();
    let word = lower.strip_suffix(" severity").or_else(|| lower.strip_suffix(" priority")).unwrap_or(&lower);
    matches!(
        word,
        "critical"
            | "high"
            | "medium"
            | "low"
            | "major"
            | "minor"
            | "trivial"
            | "blocker"
            | "p0"
            | "p1"
            | "p2"
            | "p3"
            | "nit"
    )
}

fn is_place(text: &str) -> bool {
    let bare = text.trim_matches('`');
    let number = bare.strip_prefix("lines ").or_else(|| bare.strip_prefix("line "));
    if number.is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'-' | b' '))) {
        return true;
    }
    if bare.starts_with("https://") || bare.starts_with("http://") {
        return !bare.contains(char::is_whitespace);
    }
    let path = bare.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '-' | ':' | 'L' | '#' | '–'));
    let named = path.contains('.') || path.contains('/');
    named && path.len() < bare.len() && !bare.contains(char::is_whitespace)
}

fn without_bullet(text: &str) -> &str {
    if !super::marks::is_list_item(text) {
        let number = text.strip_suffix(['.', ')']).is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()));
        return if number { "" } else { text };
    }
    let text = text.split_once([' ', '\t']).map_or(text, |(_, rest)| rest.trim_start());
    let boxed = ["[ ] ", "[x] ", "[X] "].iter().find_map(|mark| text.strip_prefix(mark));
    boxed.map_or(text, str::trim_start)
}

/// Returns the words of a line that is bold as a whole.
fn bold(text: &str) -> Option<&str> {
    let inner = text.strip_prefix("**")?.strip_suffix("**").or_else(|| text.strip_prefix("__")?.strip_suffix("__"))?;
    let inner = inner.trim();
    (!inner.is_empty() && !inner.contains("**")).then_some(inner)
}

/// Removes bold marks outside code.
fn without_bold(text: &str) -> Cow<'_, str> {
    if !text.contains("**") {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for (start, end) in code_spans(text) {
        out.push_str(&text[done..start].replace("**", ""));
        out.push_str(&text[start..end]);
        done = end;
    }
    out.push_str(&text[done..].replace("**", ""));
    Cow::Owned(out)
}

/// Removes pictures, the targets of links and known tags; keeps inline code as it is.
pub(super) fn strip(text: &str) -> Cow<'_, str> {
    if !text.contains(['<', '[', '&', '\\']) {
        return Cow::Borrowed(text);
    }
    let decoded =
        if text.contains("&lt;") || text.contains("&nbsp;") { unescaped_tags(text) } else { Cow::Borrowed(text) };
    let mut out = String::with_capacity(decoded.len());
    let mut done = 0;
    for (start, end) in code_spans(&decoded) {
        strip_words(&decoded[done..start], &mut out);
        out.push_str(&decoded[start..end]);
        done = end;
    }
    strip_words(&decoded[done..], &mut out);
    Cow::Owned(out)
}

/// Decodes `&lt;sub&gt;` and the like, as some archives store markup; other entities wait until the markup is gone.
fn unescaped_tags(text: &str) -> Cow<'_, str> {
    let mut out = text.replace("&nbsp;", " ");
    for tag in ["sub", "sup", "b", "i"] {
        out = out.replace(&format!("&lt;{tag}&gt;"), "").replace(&format!("&lt;/{tag}&gt;"), "");
    }
    Cow::Owned(out)
}

fn strip_words(text: &str, out: &mut String) {
    let mut rest = text;
    while let Some(at) = rest.find(['<', '[', ']', '!', '\\']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let taken = match rest.as_bytes().first() {
            Some(b'<') => tag(rest),
            Some(b'!') => link(&rest[1..]).map(|(_, len)| len + 1),
            Some(b'[') if rest.starts_with("[![") => Some(1),
            Some(b'[') => link(rest).map(|(words, len)| {
                out.push_str(words);
                len
            }),
            Some(b']') if rest.starts_with("](") => window(rest).find(')').map(|n| n + 1),
            Some(b'\\') if rest.as_bytes().get(1).is_some_and(u8::is_ascii_punctuation) => {
                out.push_str(&rest[1..2]);
                Some(2)
            }
            _ => None,
        };
        let taken = taken.unwrap_or_else(|| {
            out.push_str(&rest[..1]);
            1
        });
        rest = &rest[taken..];
    }
    out.push_str(rest);
}

/// Looking for a closing mark stops here, so that an endless row of openers stays linear work.
fn window(text: &str) -> &str {
    super::clean::head(text, 600)
}

fn tag(rest: &str) -> Option<usize> {
    let name_at = if rest.as_bytes().get(1) == Some(&b'/') { 2 } else { 1 };
    let name_len = rest.as_bytes().get(name_at..)?.iter().take(12).take_while(|b| b.is_ascii_alphanumeric()).count();
    let name = rest.get(name_at..name_at + name_len)?;
    if !KNOWN_TAGS.iter().any(|known| known.eq_ignore_ascii_case(name)) {
        return None;
    }
    window(rest).find('>').map(|n| n + 1)
}

/// Returns the words and the length of `[words](target)`.
fn link(rest: &str) -> Option<(&str, usize)> {
    let near = window(rest);
    let mid = near.strip_prefix('[').and_then(|_| near.find(']'))?;
    near[mid + 1..].starts_with('(').then_some(())?;
    let close = near[mid..].find(')')?;
    Some((&rest[1..mid], mid + close + 1))
}

/// Returns the first sentence. A mark inside code, or after an abbreviation, ends none.
fn first_sentence(text: &str) -> &str {
    let mut spans = code_spans(text).peekable();
    for (at, c) in text.char_indices() {
        while spans.next_if(|(_, to)| *to <= at).is_some() {}
        if spans.peek().is_some_and(|(from, _)| *from <= at) {
            continue;
        }
        let end = at + c.len_utf8();
        match c {
            '。' | '！' | '？' => return &text[..end],
            '.' | '!' | '?' if ends_here(text, at, end) => return &text[..end],
            _ => {}
        }
    }
    text
}

fn ends_here(text: &str, at: usize, end: usize) -> bool {
    let rest = &text[end..];
    if !rest.is_empty() && !rest.starts_with([' ', '\n', '\t']) {
        return false;
    }
    let word = text[..at].rsplit([' ', '(']).next().unwrap_or_default();
    let short = matches!(word, "e.g" | "i.e" | "etc" | "vs" | "cf" | "approx" | "resp" | "no" | "z.B" | "bzw" | "t.ex");
    let goes_on = rest.trim_start().chars().next().is_some_and(char::is_lowercase);
    // A level at the beginning is no sentence.
    !(short && (goes_on || word.contains('.')))
        && (!is_bare_level(&text[..at]) || rest.trim().is_empty())
        && !(word.chars().all(|c| c.is_ascii_digit()) && !word.is_empty() && at < 3)
}

/// Tells whether a title asks something.
pub(super) fn is_question(title: &str) -> bool {
    title.trim_end_matches([')', '"', '\'', '*', ' ']).ends_with(['?', '？'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(find(text).as_deref(), Some(expected), "{text}");
    }

    #[test]
    fn the_first_line_that_says_something_is_the_title() {
        check("### Wrong `unit` in _the_ log\n\nBody", "Wrong `unit` in _the_ log");
        check("**Close `a**b` first.** \n\nmore", "Close `a**b` first.");
        check("| P1 | x |\n|---|\n\n---\nIt is e.g. late. More", "It is e.g. late.");
        check(
            "![x](http://a.b) **High Severity**\n`src/a.rs:12`\nThe <b>gate</b> of Vec<T> [stays](http://x) &amp; opens",
            "The gate of Vec<T> stays & opens",
        );
        check("1. first point: `a. b` is odd. Then", "first point: `a. b` is odd.");
        check("ここを直す。次", "ここを直す。");
    }

    #[test]
    fn nothing_to_say_is_no_title() {
        for text in ["", "---", "| a |", "![a](b)", "<div>", "High Severity", "`a/b.rs:1-2`"] {
            assert_eq!(find(text), None, "{text}");
        }
    }
}
