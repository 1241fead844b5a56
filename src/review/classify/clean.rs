//! Text as people see it: what is invisible, and what only the renderer reads, is taken out. Decides nothing about meaning.

use std::borrow::Cow;
use std::collections::BTreeMap;

use memchr::memchr;

/// Returns where the line ends that begins at a place. Short lines are told by eight bytes at once, for which a search
/// would take longer to begin.
pub(super) fn line_end(text: &str, start: usize) -> usize {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let rest = text.as_bytes().get(start..).unwrap_or_default();
    if let Some(row) = rest.first_chunk() {
        // A line end becomes the lowest byte that is zero, and that borrows.
        let row = u64::from_le_bytes(*row) ^ (EACH * u64::from(b'\n'));
        let ends = row.wrapping_sub(EACH) & !row & (0x80 * EACH);
        if ends != 0 {
            return start + ends.trailing_zeros() as usize / 8;
        }
    }
    memchr(b'\n', rest).map_or(text.len(), |n| start + n)
}

/// Tells whether a character is invisible or steers the direction or the terminal.
fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{0}'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{ad}' | '\u{61c}'
        | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Tells whether a byte begins no character that is hidden or replaced. Bytes inside a character begin none.
fn is_plain_byte(byte: u8) -> bool {
    match byte {
        b'\n' | b'\t' | 0x20..=0x7e => true,
        0..=0x1f | 0x7f => false,
        _ => !matches!(byte, 0xc2 | 0xd8 | 0xe1 | 0xe2 | 0xef | 0xf3),
    }
}

/// Returns where the first byte stands that is not plain. Looks at a row of bytes without a branch, which the compiler
/// makes a few wide steps; only a row that holds more than shown ASCII is looked at byte by byte.
fn first_not_plain(bytes: &[u8]) -> Option<usize> {
    const ROW: usize = 32;
    let is_more = |byte: u8| (byte.wrapping_sub(b' ') > b'~' - b' ') & (byte != b'\n') & (byte != b'\t');
    let mut rows = bytes.chunks(ROW).enumerate();
    rows.find_map(|(n, row)| {
        let more = row.iter().fold(false, |more, byte| more | is_more(*byte));
        let near = if more { row.iter().position(|byte| !is_plain_byte(*byte)) } else { None };
        near.map(|at| n * ROW + at)
    })
}

/// Returns a body with invisible characters and variation selectors removed, no-break spaces as spaces, and LF line ends.
pub(super) fn visible(body: &str) -> Cow<'_, str> {
    if first_not_plain(body.as_bytes()).is_none() {
        return Cow::Borrowed(body);
    }
    let mut out = String::with_capacity(body.len());
    let mut rest = body;
    while !rest.is_empty() {
        let plain = first_not_plain(rest.as_bytes()).unwrap_or(rest.len());
        out.push_str(&rest[..plain]);
        rest = &rest[plain..];
        let mut chars = rest.chars();
        while !chars.as_str().as_bytes().first().is_none_or(|b| is_plain_byte(*b)) {
            let Some(c) = chars.next() else { break };
            match c {
                '\r' if chars.as_str().starts_with('\n') => {}
                '\r' | '\u{85}' | '\u{2028}' | '\u{2029}' => out.push('\n'),
                '\u{a0}' | '\u{202f}' | '\u{2007}' => out.push(' '),
                c if is_hidden(c) => {}
                c => out.push(c),
            }
        }
        rest = chars.as_str();
    }
    Cow::Owned(out)
}

/// Returns text from outside for a person or a prompt: no control, zero-width or bidi characters, no HTML comments, and
/// at most `cap` bytes.
pub fn plain(body: &str, cap: usize) -> String {
    let text = visible(body);
    let mut out = without_comments(&text);
    if out.len() > cap {
        let mut end = cap;
        while !out.is_char_boundary(end) {
            end -= 1;
        }
        out.truncate(end);
    }
    out
}

/// Removes `<!-- … -->`, in code too: a reader of plain text cannot tell the difference. An unclosed one stays readable.
fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("<!--") {
        let Some(len) = rest[start + 4..].find("-->") else { break };
        out.push_str(&rest[..start]);
        rest = &rest[start + 4 + len + 3..];
    }
    out.push_str(rest);
    out
}

/// Spans of inline code in one paragraph, as byte ranges of their content. Linear in the text, and in need of no room.
pub(super) fn code_spans(text: &str) -> CodeSpans<'_> {
    CodeSpans { bytes: text.as_bytes(), at: 0, last: None }
}

/// The spans of inline code that are left in a paragraph.
pub(super) struct CodeSpans<'t> {
    bytes: &'t [u8],
    at: usize,
    /// Where the last row of each length begins; known once a row was without its like.
    last: Option<BTreeMap<usize, usize>>,
}

impl CodeSpans<'_> {
    /// Returns the next row of backticks as its start and its end.
    fn row(&self, from: usize) -> Option<(usize, usize)> {
        let rest = self.bytes.get(from..)?;
        let found = memchr(b'`', rest)?;
        let len = rest[found..].iter().take_while(|b| **b == b'`').count();
        Some((from + found, from + found + len))
    }

    fn rows(&self, from: usize) -> impl Iterator<Item = (usize, usize)> {
        std::iter::successors(self.row(from), |(_, end)| self.row(*end))
    }

    /// Returns the first row of a length. Looking for it in vain happens once, so that all looking is linear.
    fn close(&mut self, from: usize, len: usize) -> Option<(usize, usize)> {
        if self.last.as_ref().is_some_and(|last| last.get(&len).is_none_or(|at| *at < from)) {
            return None;
        }
        let found = self.rows(from).find(|(start, end)| end - start == len);
        if found.is_none() {
            self.last = Some(self.rows(from).map(|(start, end)| (end - start, start)).collect());
        }
        found
    }
}

impl Iterator for CodeSpans<'_> {
    type Item = (usize, usize);

    fn next(&mut self) -> Option<(usize, usize)> {
        loop {
            let (start, end) = self.row(self.at)?;
            self.at = end;
            let escaped = start > 0 && self.bytes.get(start - 1) == Some(&b'\\');
            if !escaped && let Some(close) = self.close(end, end - start) {
                self.at = close.1;
                return Some((end, close.0));
            }
        }
    }
}

/// Returns the text with the content of inline code replaced, byte for byte, by a character that no rule means.
pub(super) fn mask(text: &str) -> Cow<'_, str> {
    if !text.contains('`') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let end = text[at..].find("\n\n").map_or(text.len(), |n| at + n + 2);
        mask_paragraph(&text[at..end], &mut out);
        at = end;
    }
    Cow::Owned(out)
}

fn mask_paragraph(paragraph: &str, out: &mut String) {
    let mut done = 0;
    for (start, end) in code_spans(paragraph) {
        out.push_str(&paragraph[done..start]);
        for (n, line) in paragraph[start..end].split('\n').enumerate() {
            if n > 0 {
                out.push('\n');
            }
            fill(line.len(), out);
        }
        done = end;
    }
    out.push_str(&paragraph[done..]);
}

fn fill(len: usize, out: &mut String) {
    const FILLER: &str = "\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}";
    let mut left = len;
    while left > 0 {
        let now = left.min(FILLER.len());
        out.push_str(&FILLER[..now]);
        left -= now;
    }
}

/// Returns a text without the white space around it. Most texts have none, which their first and last byte tell.
pub(super) fn trim(text: &str) -> &str {
    let is_sign = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_graphic);
    if is_sign(text.as_bytes().first()) && is_sign(text.as_bytes().last()) { text } else { text.trim() }
}

/// Returns a text without the white space before it, told by its first byte in the same way.
pub(super) fn trim_start(text: &str) -> &str {
    if text.as_bytes().first().is_some_and(u8::is_ascii_graphic) { text } else { text.trim_start() }
}

/// Returns the longest prefix of at most `cap` bytes.
pub(super) fn head(text: &str, cap: usize) -> &str {
    let mut end = cap.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_is_gone() {
        assert_eq!(visible("P\u{200b}1:\u{a0}a\r\nb\u{fe0f}\u{202e}c\u{1b}[0m"), "P1: a\nbc[0m");
        assert_eq!(plain("a<!-- x -->b<!-- open", 99), "ab<!-- open");
        assert_eq!(plain("ééé", 3), "é");
    }

    #[test]
    fn only_code_is_masked() {
        assert_eq!(
            mask("a `P1` ``x`y`` ` b\n\n`P2\nz`"),
            "a `\u{1}\u{1}` ``\u{1}\u{1}\u{1}`` ` b\n\n`\u{1}\u{1}\n\u{1}`"
        );
    }
}
