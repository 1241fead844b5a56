//! What the first signs of a line mean, one line at a time: quotes, fences, list items and the tags that shape a page.

use memchr::memmem;

/// The fence that is open.
#[derive(Clone, Copy)]
pub(super) struct Fence {
    pub(super) mark: u8,
    pub(super) len: usize,
    pub(super) quote: u16,
}

/// Tags that shape the page.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Tag {
    Details,
    DetailsEnd,
    Summary,
    SummaryEnd,
    Quote,
    QuoteEnd,
}

const TAGS: [(&str, Tag); 6] = [
    ("<details", Tag::Details),
    ("</details", Tag::DetailsEnd),
    ("<summary", Tag::Summary),
    ("</summary", Tag::SummaryEnd),
    ("<blockquote", Tag::Quote),
    ("</blockquote", Tag::QuoteEnd),
];

/// A mark that stands further on in a text, looked for once however often it is asked about.
pub(super) struct Ahead {
    mark: &'static str,
    /// Where it stands next; `None` when it does no more.
    at: Option<usize>,
}

impl Ahead {
    /// Takes a mark that nobody has looked for yet.
    pub(super) fn new(mark: &'static str) -> Self {
        Self { mark, at: Some(0) }
    }

    /// Tells whether the mark stands at a place or after it; asked about places in their order.
    pub(super) fn stands_after(&mut self, text: &str, place: usize) -> bool {
        if self.at.is_some_and(|at| at < place || at == 0) {
            let rest = text.as_bytes().get(place..).unwrap_or_default();
            self.at = memmem::find(rest, self.mark.as_bytes()).map(|n| place + n);
        }
        self.at.is_some()
    }
}

/// Counts quote marks, escaped ones too, and returns how much of the line they take.
pub(super) fn quote_marks(line: &str) -> (u16, usize) {
    let bytes = line.as_bytes();
    if !matches!(bytes.first(), Some(b' ' | b'>' | b'&')) {
        return (0, 0);
    }
    let (mut depth, mut at) = (0u16, 0);
    loop {
        let spaces = bytes[at..].iter().take(3).take_while(|b| **b == b' ').count();
        let mark = at + spaces;
        let len = match bytes.get(mark) {
            Some(b'>') => 1,
            Some(b'&') if line[mark..].starts_with("&gt;") => 4,
            _ => return (depth, at),
        };
        depth = depth.saturating_add(1);
        at = mark + len;
        if bytes.get(at) == Some(&b' ') {
            at += 1;
        }
    }
}

pub(super) fn fence_run(text: &str) -> Option<(u8, usize)> {
    let mark = *text.as_bytes().first().filter(|b| matches!(b, b'`' | b'~'))?;
    let len = text.bytes().take_while(|b| *b == mark).count();
    (len >= 3).then_some((mark, len))
}

pub(super) fn opens(text: &str, quote: u16) -> Option<Fence> {
    let mut text = text.trim_start_matches([' ', '\t']);
    if is_list_item(text) {
        let marker = text.find([' ', '\t']).unwrap_or(0);
        text = text[marker..].trim_start_matches([' ', '\t']);
    }
    let (mark, len) = fence_run(text)?;
    let info = &text[len..];
    (mark == b'~' || !info.contains('`')).then_some(Fence { mark, len, quote })
}

pub(super) fn closes(text: &str, fence: Fence) -> bool {
    let text = text.trim_ascii();
    matches!(fence_run(text), Some((mark, len)) if mark == fence.mark && len >= fence.len && len == text.len())
}

/// Tells whether a line begins with a bullet or a number.
pub(super) fn is_list_item(text: &str) -> bool {
    let text = text.trim_start();
    let bytes = text.as_bytes();
    match bytes.first() {
        Some(b'-' | b'*' | b'+') => matches!(bytes.get(1), Some(b' ' | b'\t')),
        Some(b'0'..=b'9') => {
            let digits = bytes.iter().take(10).take_while(|b| b.is_ascii_digit()).count();
            matches!(bytes.get(digits), Some(b'.' | b')')) && matches!(bytes.get(digits + 1), Some(b' ' | b'\t'))
        }
        _ => false,
    }
}

pub(super) fn tag_at(rest: &str) -> Option<(Tag, usize)> {
    let bytes = rest.as_bytes();
    let name = if bytes.get(1) == Some(&b'/') { bytes.get(2) } else { bytes.get(1) }?;
    if !matches!(name, b'd' | b'D' | b's' | b'S' | b'b' | b'B') {
        return None;
    }
    TAGS.iter().find_map(|(word, tag)| {
        let found = bytes.get(..word.len())?.eq_ignore_ascii_case(word.as_bytes());
        let ends = matches!(bytes.get(word.len()), Some(b'>' | b' ' | b'/' | b'\t'));
        (found && ends).then_some((*tag, word.len()))
    })
}
