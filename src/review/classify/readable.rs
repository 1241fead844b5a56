//! A reviewer's text as a person reads it at a terminal: without pictures, tags and comments. What it means is decided
//! elsewhere, and from the text as it came.

use std::sync::LazyLock;

use regex::Regex;

use super::clean::{code_spans, plain};
use crate::review::fence::{Fences, LineIs};

macro_rules! rule {
    ($name:ident, $pattern:expr) => {
        static $name: LazyLock<Regex> = LazyLock::new(|| Regex::new($pattern).expect("a valid pattern"));
    };
}

rule!(PICTURE, r"!\[[^\]\n]{0,200}\]\([^)\n]{0,600}\)");
rule!(LINK_WITHOUT_WORDS, r"\[\s*\]\([^)\n]{0,600}\)");
rule!(
    TAG,
    r"(?i)</?(?:a|b|blockquote|br|center|code|del|details|div|em|font|h[1-6]|hr|i|img|ins|kbd|li|ol|p|picture|pre|q|s|samp|small|source|span|strong|sub|summary|sup|table|tbody|td|th|thead|tr|tt|u|ul)(?:\s[^<>]{0,600})?/?>"
);

/// Returns a body without markup that a terminal would show raw; code, links and emphasis inside lines stay as written.
pub fn readable(body: &str) -> String {
    let (mut fences, mut lines): (Fences, Vec<String>) = (Fences::default(), Vec::new());
    for line in plain(body, usize::MAX).lines() {
        let shown = match fences.feed(line) {
            LineIs::Code => line.to_owned(),
            LineIs::Text => text(line),
        };
        let doubled = shown.is_empty() && lines.last().is_none_or(String::is_empty);
        if !doubled {
            lines.push(shown);
        }
    }
    lines.join("\n").trim_end().to_owned()
}

fn text(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut done = 0;
    for (start, end) in code_spans(line) {
        out.push_str(&words(&line[done..start]));
        out.push_str(&line[start..end]);
        done = end;
    }
    out.push_str(&words(&line[done..]));
    let changed = out != line;
    let out = out.trim_end();
    let inner = out.trim().strip_prefix("**").and_then(|rest| rest.strip_suffix("**"));
    match inner.filter(|inner| !inner.contains("**")) {
        Some(inner) => inner.trim().to_owned(),
        None if changed && out.trim().chars().all(|c| "*_".contains(c)) => String::new(),
        None => out.to_owned(),
    }
}

fn words(text: &str) -> String {
    let text = PICTURE.replace_all(text, "");
    let text = TAG.replace_all(&text, "");
    LINK_WITHOUT_WORDS.replace_all(&text, "").into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(body: &str, expected: &str) {
        assert_eq!(readable(body), expected, "{body:?}");
    }

    #[test]
    fn badges_and_tags_are_not_shown() {
        check(
            "**<sub><sub>![P1 Badge](https://img.shields.io/badge/P1-orange?style=flat)</sub></sub>  Halve it**\n\nSay `a<b>`.",
            "Halve it\n\nSay `a<b>`.",
        );
        check("<details>\n<summary>More</summary>\n\n\n\ntext\n\n</details>", "More\n\ntext");
        check(
            "<a href=\"https://x.io\"><picture><img alt=\"P2\" src=\"y\"></picture></a>\nRead [this](https://x.io).",
            "Read [this](https://x.io).",
        );
        check("[![Fix it](https://x.io/b.svg)](https://x.io/go)\nNow", "Now");
        check("a < b and c > d, Vec<T>, **bold** words", "a < b and c > d, Vec<T>, **bold** words");
        check("```html\n<b>![x](y)</b>\n```", "```html\n<b>![x](y)</b>\n```");
        check("text <!-- hidden --> more\n***\n", "text  more\n***");
    }

    proptest! {
        #[test]
        fn no_line_is_added_and_plain_words_stay(body in "[a-z0-9 .,\n]{0,200}") {
            let shown = readable(&body);
            prop_assert!(shown.lines().count() <= body.lines().count());
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            prop_assert_eq!(words(&shown), words(&body));
        }

        #[test]
        fn any_text_is_taken(body in "(?s).{0,200}") {
            readable(&body);
        }
    }
}
