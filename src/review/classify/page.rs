//! A body taken apart, once and in linear time: lines with their quote depth, code, hidden comments, and the `<details>`
//! they stand in. It decides what is whose words, never what they mean.

use std::cell::Cell;

use memchr::{memchr, memchr_iter, memmem, memrchr};

use super::clean::{code_spans, line_end};
use super::marks::{Ahead, Fence, Tag, closes, is_list_item, opens, quote_marks, tag_at};
use super::sieve::Runs;

/// No block: the body itself.
pub(super) const BODY: u32 = 0;

/// A `<details>`; block 0 is the body.
#[derive(Debug, Default)]
pub(super) struct Block {
    /// The block around it.
    pub(super) parent: u32,
    /// Text of its summary, tags kept.
    pub(super) summary: String,
    /// Index of the first line after its opening.
    pub(super) first_line: usize,
    /// Whether it was closed.
    pub(super) closed: bool,
    quotes: u16,
}

/// One line without quote marks, hidden comments and structural tags.
#[derive(Debug, Clone)]
pub(super) struct Line {
    /// Where its text begins in `Page::flat`.
    pub(super) start: u32,
    /// Where it ends.
    pub(super) end: u32,
    /// The block it stands in.
    pub(super) block: u32,
    /// How deep it is quoted.
    pub(super) quote: u16,
    /// Whether it is code.
    pub(super) code: bool,
}

/// A body taken apart.
#[derive(Debug)]
pub(super) struct Page {
    /// Text of all lines.
    pub(super) flat: String,
    /// All lines.
    pub(super) lines: Vec<Line>,
    /// All blocks, parents first.
    pub(super) blocks: Vec<Block>,
    /// Contents of the hidden comments, separated by line ends.
    pub(super) hidden: String,
    /// True when there is a fenced block.
    pub(super) has_code: bool,
    /// True where words stand together that the body holds apart.
    joined: bool,
}

/// Rooms of pages, for the page after: most bodies fit into the room of the one before.
type Room = (String, Vec<Line>, Vec<Block>);

/// A room for more than this is given back to the system.
const ROOM: usize = 1 << 20;

thread_local! {
    static SPARE: Cell<Room> = const { Cell::new((String::new(), Vec::new(), Vec::new())) };
}

impl Drop for Page {
    fn drop(&mut self) {
        let (mut flat, mut lines) = (std::mem::take(&mut self.flat), std::mem::take(&mut self.lines));
        let mut blocks = std::mem::take(&mut self.blocks);
        if flat.capacity() <= ROOM && lines.capacity() <= ROOM / 16 && blocks.capacity() <= ROOM / 64 {
            flat.clear();
            lines.clear();
            blocks.clear();
            SPARE.set((flat, lines, blocks));
        }
    }
}

impl Page {
    /// Takes a body apart, of which only what is visible is given.
    pub(super) fn read(text: &str) -> Self {
        let mut scan = Scan::new(text);
        let mut at = 0;
        while at < text.len() {
            let end = line_end(text, at);
            scan.line(at, end);
            at = end + 1;
        }
        scan.page
    }

    /// Returns every text of the page: its lines, its hidden comments, its summaries.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        let summaries = self.blocks.iter().map(|block| block.summary.as_str());
        [self.flat.as_str(), self.hidden.as_str()].into_iter().chain(summaries)
    }

    /// Returns what the page and the text it was read from hold. The text alone has it all, where nothing was joined.
    pub(super) fn runs(&self, text: &str) -> Runs {
        let joined = self.joined.then(|| self.texts());
        Runs::of(std::iter::once(text).chain(joined.into_iter().flatten()))
    }

    /// Returns the first line of code that says something.
    pub(super) fn first_code(&self) -> Option<String> {
        let mut code = self.lines.iter().filter(|line| line.code).map(|line| self.text(line).trim());
        code.find(|text| text.chars().any(char::is_alphanumeric)).map(|text| text.chars().take(120).collect())
    }

    /// Returns the text of a line.
    pub(super) fn text(&self, line: &Line) -> &str {
        &self.flat[line.start as usize..line.end as usize]
    }
}

struct Scan<'a> {
    text: &'a str,
    page: Page,
    /// The blocks that are open in the body, innermost last.
    stack: Vec<u32>,
    fence: Option<Fence>,
    in_comment: bool,
    summary: Option<u32>,
    quotes: u16,
    after_blank: bool,
    in_list: bool,
    /// Where the next tag or hidden comment may begin.
    next_tag: usize,
    comment_end: Ahead,
    summary_end: Ahead,
}

impl<'a> Scan<'a> {
    fn new(text: &'a str) -> Self {
        let (flat, lines, blocks) = SPARE.take();
        let mut page = Page { joined: false, flat, lines, blocks, hidden: String::new(), has_code: false };
        page.flat.reserve(text.len() + 1);
        // Most texts have as many lines as line ends; a large list is not moved over and over then.
        page.lines.reserve(memchr_iter(b'\n', text.as_bytes()).count() + 1);
        page.blocks.push(Block { closed: true, ..Block::default() });
        let next_tag = memchr(b'<', text.as_bytes()).unwrap_or(usize::MAX);
        Self {
            text,
            page,
            stack: Vec::new(),
            fence: None,
            in_comment: false,
            summary: None,
            quotes: 0,
            after_blank: true,
            in_list: false,
            next_tag,
            comment_end: Ahead::new("-->"),
            summary_end: Ahead::new("</summary>"),
        }
    }

    /// Tells whether a tag may begin before a place; asked about places in their order.
    fn tag_before(&mut self, start: usize, end: usize) -> bool {
        if self.next_tag < start {
            self.next_tag = memchr(b'<', &self.text.as_bytes()[start..]).map_or(usize::MAX, |n| start + n);
        }
        self.next_tag < end
    }

    fn block(&self) -> u32 {
        self.stack.last().copied().unwrap_or(BODY)
    }

    fn line(&mut self, start: usize, end: usize) {
        let raw = &self.text[start..end];
        if self.in_comment {
            return self.hidden_line(raw, start, end);
        }
        let (quote, skipped) = quote_marks(raw);
        if let Some(fence) = self.fence {
            if quote >= fence.quote {
                let code = if fence.quote == 0 { raw } else { &raw[skipped..] };
                if closes(code, fence) {
                    self.fence = None;
                } else {
                    self.code(code, quote.min(fence.quote));
                }
                return;
            }
            self.fence = None;
        }
        let text = &raw[skipped..];
        match text.as_bytes().first() {
            // Most lines begin with a word or are empty; they open nothing.
            Some(b'a'..=b'z' | b'A'..=b'Z') => {
                self.in_list = false;
                self.after_blank = false;
                return self.inline(start + skipped, end, quote);
            }
            None => {
                self.after_blank = true;
                return self.inline(start + skipped, end, quote);
            }
            Some(_) => {}
        }
        if let Some(fence) = opens(text, quote) {
            self.fence = Some(fence);
            self.page.has_code = true;
            self.after_blank = false;
            return;
        }
        if self.is_indented_code(text) {
            return self.code(text, quote);
        }
        self.inline(start + skipped, end, quote);
    }

    /// A line that begins inside a hidden comment.
    fn hidden_line(&mut self, raw: &str, start: usize, end: usize) {
        match memmem::find(raw.as_bytes(), b"-->") {
            Some(close) => {
                self.page.hidden.push_str(&raw[..close]);
                self.page.hidden.push('\n');
                self.in_comment = false;
                self.inline(start + close + 3, end, 0);
            }
            None => {
                self.page.hidden.push_str(raw);
                self.page.hidden.push('\n');
            }
        }
    }

    fn is_indented_code(&mut self, text: &str) -> bool {
        let indented = text.starts_with("    ") || text.starts_with('\t');
        let blank = text.trim_ascii().is_empty();
        let code = indented && !blank && self.after_blank && !self.in_list && self.block() == BODY;
        if !indented && !blank {
            self.in_list = is_list_item(text);
        }
        if !code {
            self.after_blank = blank;
        }
        code
    }

    /// The words of a line: hidden comments and structural tags are taken out, text around a tag becomes lines of its own.
    fn inline(&mut self, start: usize, end: usize, quote: u16) {
        let source: &'a str = self.text;
        let text = &source[start..end];
        let mut line = Open { from: self.page.flat.len(), quote, tagged: false };
        if !self.tag_before(start, end) {
            self.put(text);
            if self.summary.is_some() {
                self.put("\n");
            }
            return self.end_line(line.from, quote);
        }
        let mut spans = code_spans(text).peekable();
        let last_close = memrchr(b'>', text.as_bytes()).unwrap_or(0);
        let (mut done, mut at) = (0, 0);
        while let Some(found) = memchr(b'<', &text.as_bytes()[at..]) {
            let open = at + found;
            while spans.next_if(|(_, to)| *to <= open).is_some() {}
            if let Some((_, to)) = spans.peek().filter(|(from, _)| *from <= open) {
                at = *to;
                continue;
            }
            let rest = &text[open..];
            if rest.starts_with("<!--") && self.comment_end.stands_after(self.text, start + open + 4) {
                self.put(&text[done..open]);
                self.page.joined |= self.page.flat.len() > line.from;
                line.tagged = true;
                let Some(close) = self.comment(&rest[4..]) else {
                    done = text.len();
                    break;
                };
                at = open + 4 + close + 3;
                done = at;
            } else if let Some((tag, name)) =
                tag_at(rest).filter(|(tag, _)| last_close > open && self.fits(*tag, start + open))
            {
                self.put(&text[done..open]);
                at = open + memchr(b'>', &rest.as_bytes()[name..]).map_or(rest.len(), |n| name + n + 1);
                done = at;
                self.flush(&mut line);
                self.tag(tag, quote);
                line.from = self.page.flat.len();
            } else {
                at = open + 1;
            }
        }
        self.put(&text[done..]);
        self.end(&line);
    }

    /// Keeps a hidden comment; returns where it closes, or nothing when it goes on.
    fn comment(&mut self, inner: &str) -> Option<usize> {
        let close = memmem::find(inner.as_bytes(), b"-->");
        self.page.hidden.push_str(&inner[..close.unwrap_or(inner.len())]);
        self.page.hidden.push('\n');
        self.in_comment = close.is_none();
        close
    }

    /// Tells whether a tag means something where it stands; anything else stays text.
    fn fits(&mut self, tag: Tag, at: usize) -> bool {
        match tag {
            Tag::Summary => self.summary.is_none() && self.summary_end.stands_after(self.text, at),
            Tag::SummaryEnd => self.summary.is_some(),
            Tag::Details | Tag::DetailsEnd | Tag::Quote | Tag::QuoteEnd => true,
        }
    }

    fn tag(&mut self, tag: Tag, quote: u16) {
        match tag {
            Tag::Details => {
                self.summary = None;
                let parent = self.block();
                let first_line = self.page.lines.len();
                self.page.blocks.push(Block { parent, first_line, quotes: self.quotes, ..Block::default() });
                self.stack.push((self.page.blocks.len() - 1) as u32);
            }
            Tag::DetailsEnd => {
                self.summary = None;
                if let Some(top) = self.stack.pop() {
                    let block = &mut self.page.blocks[top as usize];
                    block.closed = true;
                    self.quotes = block.quotes;
                }
                self.blank(quote);
            }
            Tag::Summary => self.summary = (self.block() != BODY).then(|| self.block()),
            Tag::SummaryEnd => self.summary = None,
            Tag::Quote => self.quotes = self.quotes.saturating_add(1),
            Tag::QuoteEnd => self.quotes = self.quotes.saturating_sub(1),
        }
    }

    /// Writes text to where it belongs: the open summary or the open line.
    fn put(&mut self, text: &str) {
        match self.summary {
            Some(block) => {
                let summary = &mut self.page.blocks[block as usize].summary;
                self.page.joined |= !summary.is_empty() && !summary.ends_with('\n');
                summary.push_str(text);
            }
            None => self.page.flat.push_str(text),
        }
    }

    /// Ends the line before a tag, if it has words.
    fn flush(&mut self, line: &mut Open) {
        line.tagged = true;
        if self.page.flat[line.from..].trim_ascii().is_empty() {
            self.page.flat.truncate(line.from);
        } else {
            self.end_line(line.from, line.quote);
            line.from = self.page.flat.len();
        }
    }

    /// Ends the line at the line end. A line that held only tags is a blank one.
    fn end(&mut self, line: &Open) {
        if self.summary.is_some() {
            self.put("\n");
        }
        let blank = self.page.flat[line.from..].trim_ascii().is_empty();
        if blank && line.tagged {
            self.page.flat.truncate(line.from);
        }
        self.end_line(line.from, line.quote);
    }

    fn end_line(&mut self, from: usize, quote: u16) {
        let quote = quote.saturating_add(self.quotes);
        let (start, end) = (from as u32, self.page.flat.len() as u32);
        let block = self.block();
        if start == end
            && let Some(last) = self.page.lines.last()
            && (last.start, last.block, last.quote, last.code) == (last.end, block, quote, false)
        {
            // Several blank lines mean what one means.
            return;
        }
        self.page.lines.push(Line { start, end, block, quote, code: false });
        self.page.flat.push('\n');
    }

    fn blank(&mut self, quote: u16) {
        self.end_line(self.page.flat.len(), quote);
    }

    fn code(&mut self, text: &str, quote: u16) {
        let start = self.page.flat.len() as u32;
        self.page.flat.push_str(text);
        let end = self.page.flat.len() as u32;
        let quote = quote.saturating_add(self.quotes);
        self.page.lines.push(Line { start, end, block: self.block(), quote, code: true });
        self.page.flat.push('\n');
        self.page.has_code = true;
    }
}

/// The line being written.
struct Open {
    from: usize,
    quote: u16,
    tagged: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(body: &str) -> Vec<String> {
        let page = Page::read(body);
        page.lines
            .iter()
            .filter(|line| !page.text(line).trim().is_empty())
            .map(|line| {
                let mark = if line.code { "#" } else { "" };
                format!("{}{}{mark}{}", line.block, ">".repeat(line.quote.into()), page.text(line))
            })
            .collect()
    }

    #[test]
    fn lines_know_where_they_stand() {
        assert_eq!(shown("a\n> b\n> > c\n```\n> d\n```\ne"), ["0a", "0>b", "0>>c", "0#> d", "0e"]);
        assert_eq!(shown("> ```\n> x\nafter"), ["0>#x", "0after"]);
        assert_eq!(
            shown("a <details><summary>S</summary><blockquote>b</blockquote></details> c"),
            ["0a ", "1>b", "0 c"]
        );
        assert_eq!(shown("`<details>` and `<!-- x -->` b"), ["0`<details>` and `<!-- x -->` b"]);
        assert_eq!(shown("a<!-- x\ny -->b\n<!-- open"), ["0a", "0b", "0<!-- open"]);
        assert_eq!(
            shown("a\n\n    P1: code\n\n- item\n\n    P1: text"),
            ["0a", "0#    P1: code", "0- item", "0    P1: text"]
        );
    }

    #[test]
    fn hidden_text_and_summaries_are_kept() {
        let page = Page::read("<!-- a\nb -->\n<details>\n<summary>\n<b>S</b>\n</summary>\nx\n</details>");
        assert_eq!(page.hidden.split_whitespace().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(page.blocks[1].summary.trim(), "<b>S</b>");
        assert!(page.blocks[1].closed);
    }

    #[test]
    fn hostile_nesting_is_flat_work() {
        for unit in ["> ", "<details>", "<!-- ", "`", "<details", "- ", "<summary>", "``` "] {
            let page = Page::read(&unit.repeat(20_000));
            assert!(page.lines.len() <= 40_001, "{unit}");
        }
    }
}
