//! The author's own words on a page: what is left without code, quotes, noise and footers. It decides what rules may look at.

use std::borrow::Cow;

use sha2::{Digest, Sha256};

use super::clean::{mask, trim, trim_start};
use super::page::{BODY, Line, Page};
use super::reviewer::Sifted;
use super::title::strip;

/// A page together with what is not the author's own on it.
pub(super) struct Words<'a> {
    pub(super) page: &'a Page,
    /// Blocks that hold noise; those that are not told of hold none.
    noise: Vec<bool>,
    /// Lines that carry no meaning: footers, closing lines.
    dropped: Vec<usize>,
}

/// Whether quoted lines are the author's own words.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Quotes {
    /// They are somebody else's.
    Drop,
    /// The tool uses quotes as a frame.
    Peel,
}

impl<'a> Words<'a> {
    /// Finds what is noise for this reviewer.
    pub(super) fn new(page: &'a Page, reviewer: &Sifted<'_>) -> Self {
        // Without a `<details>` there is no summary.
        let patterns: Vec<_> = if page.blocks.len() > 1 { reviewer.noise().collect() } else { Vec::new() };
        let blocks = if patterns.is_empty() { &[] } else { page.blocks.as_slice() };
        let mut noise = Vec::with_capacity(blocks.len());
        for (index, block) in blocks.iter().enumerate() {
            let inherited = index > 0 && noise.get(block.parent as usize).copied().unwrap_or(false);
            let own = || block.closed && index as u32 != BODY && patterns.iter().any(|n| n.is_match(&block.summary));
            noise.push(inherited || own());
        }
        let mut words = Self { page, noise, dropped: Vec::new() };
        for found in reviewer.footers().flat_map(|footer| footer.all_places(&page.flat)) {
            words.dropped.extend(words.line_at(found.start));
        }
        words.dropped.sort_unstable();
        words
    }

    /// Returns the line of words at a place of the page.
    fn line_at(&self, at: usize) -> Option<usize> {
        let index = self.page.lines.partition_point(|line| (line.end as usize) < at);
        self.page.lines.get(index).filter(|line| !line.code).map(|_| index)
    }

    /// Takes a line out of the author's words.
    pub(super) fn drop_line(&mut self, index: usize) {
        let at = self.dropped.partition_point(|dropped| *dropped < index);
        self.dropped.insert(at, index);
    }

    /// Tells whether a line is noise or a footer.
    pub(super) fn is_noise(&self, index: usize, line: &Line) -> bool {
        self.is_noise_block(line.block) || (!self.dropped.is_empty() && self.dropped.binary_search(&index).is_ok())
    }

    /// Tells whether a block is noise.
    pub(super) fn is_noise_block(&self, block: u32) -> bool {
        self.noise.get(block as usize).copied().unwrap_or(false)
    }

    /// Tells whether a line is the author's own words; code is not.
    pub(super) fn is_own(&self, index: usize, quotes: Quotes) -> bool {
        self.page.lines.get(index).is_some_and(|line| {
            !line.code && (line.quote == 0 || quotes == Quotes::Peel) && !self.is_noise(index, line)
        })
    }

    /// Joins the author's own words.
    pub(super) fn own(&self, quotes: Quotes) -> Region {
        let count = self.page.lines.len();
        self.join("", (0..count).filter(|index| self.is_own(*index, quotes)), count)
    }

    /// Joins lines to a region of text.
    pub(super) fn region(&self, head: &str, lines: &[usize]) -> Region {
        self.join(head, lines.iter().copied(), lines.len())
    }

    fn join(&self, head: &str, lines: impl Iterator<Item = usize>, count: usize) -> Region {
        let room = (head.len() + 80 * count).min(head.len() + self.page.flat.len()) + 1;
        let mut text = String::with_capacity(room);
        let mut starts = Vec::with_capacity(count);
        if !head.is_empty() {
            text.push_str(head);
            text.push('\n');
        }
        for index in lines {
            starts.push((text.len() as u32, index as u32));
            // Indentation is the list's, not the author's: markers stand at the start of what is left.
            text.push_str(trim_start(self.page.text(&self.page.lines[index])));
            text.push('\n');
        }
        Region { text, starts }
    }

    fn between(&self, from: usize, to: usize) -> impl Iterator<Item = (usize, &Line)> {
        let lines = self.page.lines.get(from..to.max(from)).unwrap_or_default();
        lines.iter().enumerate().map(move |(n, line)| (from + n, line))
    }

    /// Returns how much room the lines in a range take on the page.
    fn room(&self, from: usize, to: usize) -> usize {
        let lines = self.page.lines.get(from..to.max(from)).unwrap_or_default();
        lines.first().zip(lines.last()).map_or(0, |(first, last)| (last.end + 1 - first.start) as usize)
    }

    /// Returns the readable text of the lines in a range, code fenced, noise left out.
    pub(super) fn brief(&self, head: &str, from: usize, to: usize) -> String {
        let mut out = String::with_capacity(head.len() + self.room(from, to) + 8);
        out.push_str(head);
        let mut in_code = false;
        for (index, line) in self.between(from, to) {
            if self.is_noise(index, line) {
                continue;
            }
            if line.code != in_code {
                in_code = line.code;
                push_line(&mut out, "```");
            }
            let text = self.page.text(line);
            if line.code {
                push_line(&mut out, text);
            } else if !is_button(text) {
                push_words(&mut out, text.trim_end());
            }
        }
        if in_code {
            push_line(&mut out, "```");
        }
        out.truncate(out.trim_end().len());
        out
    }

    /// Returns the hash of what the lines in a range mean: no footers, no check marks, no time stamps, no spacing.
    pub(super) fn hash(&self, head: &str, from: usize, to: usize) -> String {
        let mut meant = Vec::with_capacity(head.len() + self.room(from, to));
        meant.extend_from_slice(head.trim().as_bytes());
        for (index, line) in self.between(from, to) {
            let text = trim(self.page.text(line));
            if text.is_empty() || self.is_noise(index, line) || (!line.code && is_button(text)) {
                continue;
            }
            let text = if line.code { Cow::Borrowed(text) } else { without_state(text) };
            meant.extend_from_slice(trim(&text).as_bytes());
            meant.push(b'\n');
        }
        Sha256::digest(&meant).iter().take(16).fold(String::with_capacity(32), |mut hex, byte| {
            for digit in [byte >> 4, byte & 15] {
                hex.push(char::from_digit(digit.into(), 16).unwrap_or('0'));
            }
            hex
        })
    }
}

fn push_line(out: &mut String, text: &str) {
    if !out.is_empty() {
        out.push('\n');
    }
    out.push_str(text);
}

/// Adds a line of words; several blank ones become one.
fn push_words(out: &mut String, text: &str) {
    if text.is_empty() && (out.is_empty() || out.ends_with("\n")) {
        return;
    }
    push_line(out, text);
}

/// Tells whether a line is only a button or a picture.
fn is_button(text: &str) -> bool {
    let text = trim_start(text);
    (text.starts_with('<') || text.starts_with("![") || text.starts_with("[!["))
        && text.len() < 2_000
        && strip(text).trim().is_empty()
}

/// Removes what changes without a change of meaning: the state of check boxes and machine-written times.
fn without_state(text: &str) -> Cow<'_, str> {
    let bullet = text.trim_start_matches(['-', '*', '+', ' ']);
    let text = match bullet.as_bytes() {
        [b'[', b' ' | b'x' | b'X', b']', ..] => &bullet[3..],
        _ => text,
    };
    if !text.contains('<') || !text.contains("<relative-time") {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("<relative-time") {
        out.push_str(&rest[..at]);
        let end = rest[at..].find("</relative-time>").map_or(rest.len(), |n| at + n + "</relative-time>".len());
        rest = &rest[end..];
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Some lines joined, with the way back to the page.
pub(super) struct Region {
    pub(super) text: String,
    starts: Vec<(u32, u32)>,
}

impl Region {
    /// Returns the text with inline code masked; offsets are those of `text`.
    pub(super) fn masked(&self) -> Cow<'_, str> {
        mask(&self.text)
    }

    /// Returns the page's line at an offset.
    pub(super) fn line_at(&self, offset: usize) -> Option<usize> {
        let next = self.starts.partition_point(|(start, _)| *start as usize <= offset);
        self.starts.get(next.checked_sub(1)?).map(|(_, index)| *index as usize)
    }

    /// Returns the first line with something on it, as an offset and its text.
    pub(super) fn first_line(text: &str) -> Option<(usize, &str)> {
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            if !line.trim().is_empty() {
                return Some((at, line.trim_end_matches('\n')));
            }
            at += line.len();
        }
        None
    }

    /// Returns the last line with something on it, as an offset and its text.
    pub(super) fn last_line(text: &str) -> Option<(usize, &str)> {
        let body = text.trim_end();
        let at = body.rfind('\n').map_or(0, |n| n + 1);
        (!body.is_empty()).then(|| (at, &body[at..]))
    }
}
