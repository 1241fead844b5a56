//! Makes outside text harmless: for reading ([`clean`]), and for posting ([`disarm`]), where nothing may ring a bell.
//!
//! What is said with the text is decided in `words` and `compose`.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::fence::{Fences, LineIs};

/// Longest text that is posted, in bytes.
pub const MAX_POST: usize = 60_000;

macro_rules! rule {
    ($name:ident, $pattern:expr) => {
        static $name: LazyLock<Regex> = LazyLock::new(|| Regex::new($pattern).expect("a valid pattern"));
    };
}

rule!(TERMINAL, r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]?");
rule!(FENCE, "(?P<one>[`~])[`~]{2,}");
rule!(ENTITY, r"(?i)&(?:#0*(?:64|35|47)|#x0*(?:40|23|2f)|commat|num|sol);?");
rule!(GH_NUMBER, r"(?i)\bGH-(?P<n>[0-9])");
rule!(SCHEME, r"(?i)https?://|\bwww\.");
rule!(FORGE_PATH, r"(?i)^[^\s<>()\[\]]*/(?:issues|pulls?|discussions|commits?|compare)/");
rule!(SPOKEN_COMMAND, r"(?i)\b(?P<bot>bugbot|cursor|augment)[ \t]+(?P<verb>run|review)\b");

/// Removes what people cannot see: control, zero-width and bidi characters, terminal sequences, HTML comments.
pub fn clean(text: &str) -> String {
    without_comments(&without_invisible(text))
}

/// Makes a text safe to post: cleaned, without live mentions, references, commands, links that trigger, or open fences.
pub fn disarm(text: &str) -> String {
    let cleaned = clean(text);
    let mut out = String::with_capacity(cleaned.len() + 16);
    let (mut fences, mut dangling) = (Fences::default(), false);
    for line in cleaned.trim().lines() {
        let before = fences.clone();
        let is = fences.feed(line);
        let line = if fences == before { line.trim_end() } else { line.trim() };
        dangling &= !line.is_empty();
        match is {
            LineIs::Code => out.push_str(&quiet(line)),
            LineIs::Text => out.push_str(&quiet_text(line, &mut dangling)),
        }
        out.push('\n');
    }
    balanced(out.trim_end(), MAX_POST)
}

/// Makes a text safe for one cell of a table or one item of a list: one line, no cell border.
pub fn one_line(text: &str) -> String {
    let flat = clean(text).split_whitespace().collect::<Vec<_>>().join(" ");
    let flat = disarm(&FENCE.replace_all(&flat, "$one")).replace('\n', " ");
    let mut out = String::with_capacity(flat.len());
    for (n, part) in flat.split('|').enumerate() {
        if n > 0 {
            out.push_str(if out.ends_with('\\') { "|" } else { "\\|" });
        }
        out.push_str(part);
    }
    out
}

/// Makes a text safe as the text of a link, without any formatting of its own.
pub fn link_text(text: &str, max: usize) -> String {
    let line = one_line(&cut(text, max).replace(['`', '*', '_', '~'], " "));
    let line = line.replace(['[', ']'], " ").replace('\\', "");
    let line = line.replace('|', "/").split_whitespace().collect::<Vec<_>>().join(" ");
    if line.is_empty() { "untitled".to_owned() } else { line }
}

/// Cuts a text at a character border and marks the cut.
pub fn cut(text: &str, max: usize) -> Cow<'_, str> {
    if text.len() <= max {
        return Cow::Borrowed(text);
    }
    let end = floor(text, max.saturating_sub('…'.len_utf8()));
    Cow::Owned(format!("{}…", &text[..end]))
}

/// Returns the last character border at or before a place.
fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// Cuts a text to a size and closes the fence that is then open.
fn balanced(text: &str, max: usize) -> String {
    let mut room = max;
    loop {
        let kept = cut(text, room);
        let mut fences = Fences::default();
        for line in kept.lines() {
            fences.feed(line);
        }
        let Some(closer) = fences.closer() else { return kept.into_owned() };
        if kept.len() + 1 + closer.len() <= max {
            return format!("{kept}\n{closer}");
        }
        room = max.saturating_sub(closer.len() + 1).min(room.saturating_sub(1));
    }
}

fn without_invisible(text: &str) -> Cow<'_, str> {
    // Most texts hold nothing of that kind, and every line of every look passes here.
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t')) {
        return Cow::Borrowed(text);
    }
    let text = text.replace("\r\n", "\n").replace(['\r', '\u{2028}', '\u{2029}', '\u{85}'], "\n");
    let text = TERMINAL.replace_all(&text, "");
    Cow::Owned(text.chars().filter(|c| matches!(c, '\n' | '\t') || !invisible(*c)).collect())
}

/// Tells whether a character is one that people do not see but programs do.
fn invisible(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Removes HTML comments. One that never closes hides the rest where it begins a line; elsewhere it is only broken.
fn without_comments(text: &str) -> String {
    let (mut out, mut rest, mut closable) = (String::with_capacity(text.len()), text, true);
    while let Some(at) = rest.find("<!--") {
        let line = rest[..at].rsplit('\n').next().unwrap_or_default();
        let starts_line =
            line.trim().is_empty() && (rest[..at].contains('\n') || out.is_empty() || out.ends_with('\n'));
        out.push_str(&rest[..at]);
        let inner = &rest[at + 4..];
        let end = if closable { inner.find("-->") } else { None };
        match end {
            Some(end) => {
                out.push(' ');
                rest = &inner[end + 3..];
            }
            None if starts_line => return out,
            None => {
                closable = false;
                out.push_str("<!- -");
                rest = inner;
            }
        }
    }
    out.push_str(rest);
    out
}

/// Silences what acts anywhere, code included: programs that read raw text know no code.
fn quiet(line: &str) -> String {
    let line = if line.contains('&') { without_entities(line) } else { Cow::Borrowed(line) };
    let line = without_forge_links(&line);
    let line = GH_NUMBER.replace_all(&line, "GH‑$n");
    let line = SPOKEN_COMMAND.replace_all(&line, "$bot-$verb");
    if !line.contains(['@', '#']) {
        return without_command(line.into_owned());
    }
    let mut out = String::with_capacity(line.len());
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        let next = chars.peek();
        match c {
            '@' if next.is_some_and(|n| !n.is_whitespace()) => out.push('＠'),
            '#' if out.ends_with('&') || next.is_some_and(char::is_ascii_digit) => out.push('＃'),
            _ => out.push(c),
        }
    }
    without_command(out)
}

/// Replaces signs that are written as entities.
fn without_entities(line: &str) -> Cow<'_, str> {
    ENTITY.replace_all(line, |found: &Captures<'_>| {
        let sign = found[0].to_ascii_lowercase();
        let is = |ends: [&str; 3]| ends.iter().any(|end| sign.trim_end_matches(';').ends_with(end));
        if is(["64", "40", "commat"]) {
            "＠"
        } else if is(["35", "23", "num"]) {
            "＃"
        } else {
            "∕"
        }
    })
}

/// Breaks links to issues and the like: they would leave a note there.
fn without_forge_links<'a>(line: &'a str) -> Cow<'a, str> {
    if !SCHEME.is_match(line) {
        return Cow::Borrowed(line);
    }
    let (mut out, mut from) = (String::with_capacity(line.len()), 0);
    for scheme in SCHEME.find_iter(line) {
        let rest = &line[scheme.end()..];
        if FORGE_PATH.is_match(&rest[..floor(rest, 500)]) {
            let head = scheme.as_str().trim_end_matches('/');
            out.push_str(&line[from..scheme.start()]);
            out.push_str(head);
            out.push(' ');
            out.push_str(&scheme.as_str()[head.len()..]);
            from = scheme.end();
        }
    }
    out.push_str(&line[from..]);
    Cow::Owned(out)
}

/// Escapes the slash of a line that begins like a command.
fn without_command(line: String) -> String {
    let lead =
        line.len() - line.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '>' | '*' | '-' | '+')).len();
    let (before, body) = line.split_at(lead);
    let Some(word) = body.strip_prefix('/') else { return line };
    let name = word.split(char::is_whitespace).next().unwrap_or_default();
    if name.starts_with(|c: char| c.is_ascii_alphabetic()) && !name.contains('/') {
        format!("{before}\\{body}")
    } else {
        line
    }
}

/// Silences a line outside fences: also tags and links, except inside code spans.
fn quiet_text(line: &str, dangling: &mut bool) -> String {
    let line = quiet(line);
    let mut out = String::with_capacity(line.len());
    for (code, part) in spans(&line, dangling) {
        if code {
            out.push_str(part);
        } else {
            out.push_str(&no_tags(part).replace("](", "] (").replace("]:", "] :"));
        }
    }
    out
}

fn no_tags(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let opens = chars.peek().is_some_and(|n| n.is_ascii_alphabetic() || matches!(n, '/' | '!' | '?'));
        if c == '<' && opens { out.push_str("&lt;") } else { out.push(c) }
    }
    out
}

/// Splits a line in text and code spans. After a tick that finds no partner in its line, the paragraph has no more code.
fn spans<'a>(line: &'a str, dangling: &mut bool) -> Vec<(bool, &'a str)> {
    let (mut parts, mut start, mut at) = (Vec::new(), 0, 0);
    let bytes = line.as_bytes();
    let mut missing = std::collections::BTreeSet::new();
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'`' => {
                let run = bytes[at..].iter().take_while(|b| **b == b'`').count();
                let close = if *dangling || missing.contains(&run) { None } else { closing(bytes, at + run, run) };
                match close {
                    Some(end) => {
                        parts.push((false, &line[start..at]));
                        parts.push((true, &line[at..end]));
                        (start, at) = (end, end);
                    }
                    None => {
                        missing.insert(run);
                        at += run;
                    }
                }
            }
            _ => at += 1,
        }
    }
    parts.push((false, &line[start..]));
    if missing.is_empty() {
        return parts;
    }
    *dangling = true;
    vec![(false, line)]
}

/// Finds the end of the code span whose opening run of ticks ends at `from`.
fn closing(bytes: &[u8], from: usize, run: usize) -> Option<usize> {
    let mut at = from;
    while at < bytes.len() {
        let here = bytes[at..].iter().take_while(|b| **b == b'`').count();
        if here == run {
            return Some(at + here);
        }
        at += here.max(1);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(disarm(text), expected);
    }

    #[test]
    fn fc_32_no_mention_reference_or_command_stays_live() {
        check("see @codex review and @openhands /iterate", "see ＠codex review and ＠openhands /iterate");
        check("`@dataclass` and a @ b", "`＠dataclass` and a @ b");
        check("&#64;codex &commat;codex &#x40;codex @&#99;odex", "＠codex ＠codex ＠codex ＠&＃99;odex");
        check("@\u{200b}codex", "＠codex");
        check("fixes #12, o/r#3, GH-4, &#35;5 #&#x31;", "fixes ＃12, o/r＃3, GH‑4, ＃5 #&＃x31;");
        check("#include <a.h> and # heading", "#include &lt;a.h> and # heading");
        check("/pushback accept", "\\/pushback accept");
        check("a\n> - /lgtm\n/usr/bin/x\n/", "a\n> - \\/lgtm\n/usr/bin/x\n/");
        check("bugbot run, Cursor  review", "bugbot-run, Cursor-review");
        check("https://github.com/o/r/issues/1 https://x.io/a", "https: //github.com/o/r/issues/1 https://x.io/a");
        check("[x](//github.com/o/r/pull/1)", "[x] (//github.com/o/r/pull/1)");
    }

    #[test]
    fn fm_34_comments_and_tags_are_inert() {
        check("a <!-- pushback:1 --> b", "a   b");
        check("a\n<!-- hides the rest\nb", "a");
        check("a `<!--` b", "a `<!- -` b");
        check("<details>x", "&lt;details>x");
        check("`Vec<T>` and Vec<T>", "`Vec<T>` and Vec&lt;T>");
        check("`\n` <details> `", "`\n` &lt;details> `");
        check("\\`<details>`", "\\`&lt;details>`");
        check("```\n<b>\n", "```\n<b>\n```");
        check("- a\n  ```\n<b>", "- a\n```\n<b>\n```");
        check("```\n<!-- x", "```\n```");
    }

    #[test]
    fn fm_37_nothing_unseen_is_posted() {
        check("a\u{202e}b\u{200b}c\u{7}d\x1b[31me\x1b]8;;x\x07f\u{e0041}g", "abcdefg");
        check("a\rb\u{2028}c", "a\nb\nc");
    }

    #[test]
    fn fm_34_a_huge_text_is_cut_on_a_character_border() {
        let long = disarm(&"ü".repeat(5_000_000));
        assert!(long.len() <= MAX_POST && long.ends_with('…'));
        let fenced = disarm(&format!("{}\n{}", "`".repeat(40_000), "x\n".repeat(40_000)));
        assert!(fenced.len() <= MAX_POST);
    }

    #[test]
    fn fm_43_a_cell_stays_one_cell() {
        assert_eq!(one_line("a | b\n\nc \\| d"), "a \\| b c \\| d");
        assert_eq!(link_text("a [b](c) `d` | e", 80), "a b (c) d / e");
        assert_eq!(link_text("**", 80), "untitled");
    }

    fn hostile() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            Just("@".to_owned()),
            Just("<!--".to_owned()),
            Just("-->".to_owned()),
            Just("```".to_owned()),
            Just("\n".to_owned()),
            Just("`".to_owned()),
            Just("/x ".to_owned()),
            Just("&#64;".to_owned()),
            Just("|".to_owned()),
            Just("\\".to_owned()),
            Just("#1".to_owned()),
            Just("<b".to_owned()),
            Just("~~~~".to_owned()),
            Just("](".to_owned()),
            Just("\u{200b}".to_owned()),
            Just("\r".to_owned()),
            Just("<!".to_owned()),
            Just("https://github.com/o/r/pull/1".to_owned()),
            "[a-z@# ]{1,4}".prop_map(|s| s),
            any::<char>().prop_map(String::from),
        ];
        proptest::collection::vec(piece, 0..40).prop_map(|v| v.concat())
    }

    proptest! {
        #[test]
        fn r27_what_is_posted_triggers_nothing(text in hostile()) {
            let out = disarm(&text);
            let bytes: Vec<char> = out.chars().collect();
            for pair in bytes.windows(2) {
                prop_assert!(pair[0] != '@' || pair[1].is_whitespace(), "{:?}", out);
                prop_assert!(!(pair[0] == '#' && pair[1].is_ascii_digit()), "{:?}", out);
            }
            prop_assert!(!out.contains("<!--"), "{:?}", out);
            prop_assert!(!out.contains("https://github.com/o/r/pull/1"), "{:?}", out);
            prop_assert!(!out.chars().any(|c| c != '\n' && c != '\t' && invisible(c)));
            prop_assert!(!out.lines().any(|l| l.starts_with("/x")));
            let mut fences = Fences::default();
            out.lines().for_each(|line| { fences.feed(line); });
            prop_assert!(!fences.open(), "{:?}", out);
        }

        #[test]
        fn disarming_twice_changes_nothing(text in hostile()) {
            let once = disarm(&text);
            prop_assert_eq!(disarm(&once), once);
            let cell = one_line(&text);
            prop_assert!(!cell.contains('\n'));
            prop_assert_eq!(one_line(&cell), cell);
        }
    }
}
