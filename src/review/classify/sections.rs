//! Findings that stand in a body: the parts of it that hold them, and where each one begins. It takes them out; `level` grades them.

use super::clean::head;
use super::marks::is_list_item;
use super::page::{BODY, Line, Page};
use super::pattern::{Groups, Pattern};
use super::reviewer::{Section, Sifted};
use super::words::Words;
use crate::review::comment::Channel;

/// One finding in a body, before it is graded.
#[derive(Debug, Clone, Default)]
pub(super) struct Item {
    /// Index of the section rule.
    pub(super) section: usize,
    /// What the item's own summary or the rest of its first line says.
    pub(super) head: String,
    /// Title, where the pattern names it.
    pub(super) title: Option<String>,
    pub(super) path: Option<String>,
    pub(super) line: Option<u32>,
    pub(super) end_line: Option<u32>,
    /// Native level from the group before it or from its section.
    pub(super) level: Option<String>,
    /// The section's summary or heading.
    pub(super) from: String,
    /// Its lines, code included.
    pub(super) first: usize,
    pub(super) last: usize,
    /// Its own words.
    pub(super) lines: Vec<usize>,
    /// True when it stands in a part that mostly repeats other parts.
    pub(super) copied: bool,
    block: u32,
    by_block: bool,
    /// Where it stands in a list; `None` for what no bullet or number begins.
    listed: Option<Listed>,
}

/// A bullet or a number at the beginning of a line.
#[derive(Debug, Clone, Copy)]
struct Listed {
    /// How deep it is quoted.
    quote: u16,
    /// Columns before it.
    indent: usize,
    /// Columns before its text.
    content: usize,
    numbered: bool,
}

impl Listed {
    fn of(line: &str, quote: u16) -> Option<Self> {
        let text = line.trim_start();
        if !is_list_item(text) {
            return None;
        }
        let columns = |text: &str| text.chars().map(|c| if c == '\t' { 4 } else { 1 }).sum::<usize>();
        let indent = columns(&line[..line.len() - text.len()]);
        let numbered = text.starts_with(|c: char| c.is_ascii_digit());
        let marker = text.find([' ', '\t']).unwrap_or_default();
        Some(Self { quote, indent, content: indent + marker + 1, numbered })
    }

    /// Tells whether this stands inside of another one: quoted there, or under its text. Between a bullet and a number people
    /// are less exact.
    fn is_inside(self, other: Self) -> bool {
        let from = if self.numbered == other.numbered { other.content } else { other.indent + 1 };
        self.quote > other.quote || (self.quote == other.quote && self.indent >= from)
    }
}

/// What the sections of a body hold.
#[derive(Default)]
pub(super) struct Found {
    pub(super) items: Vec<Item>,
    /// Lines of sections that are not ignored.
    pub(super) open: Vec<usize>,
    /// True when some part of the body was a section.
    pub(super) any: bool,
}

/// What a block inherits from the blocks around it.
#[derive(Clone, Copy, Default)]
struct Place {
    section: Option<usize>,
    /// The block whose summary opened the section.
    opener: u32,
    /// The block whose summary names the file.
    file: Option<u32>,
    /// The block that is an item.
    item: Option<u32>,
}

struct Walk<'a> {
    page: &'a Page,
    words: &'a Words<'a>,
    reviewer: &'a Sifted<'a>,
    rules: &'a [Section],
    /// The patterns that may make a line more than words.
    turns: Vec<&'a Pattern>,
    places: Vec<Place>,
    /// The section that a line opened, its block and its text.
    heading: Option<(usize, u32, String)>,
    whole: Option<usize>,
    /// Whether a line of words can open a section.
    headed: bool,
    group: Option<String>,
    current: Option<Item>,
    found: Found,
}

/// Takes the findings of a body apart.
pub(super) fn read<'a>(reviewer: &'a Sifted<'a>, channel: Channel, words: &'a Words<'a>) -> Found {
    let rules = &reviewer.sections;
    let counts = |s: &Section| {
        if s.channels.is_empty() { channel != Channel::Inline } else { s.channels.contains(&channel) }
    };
    if !rules.iter().any(counts) {
        return Found::default();
    }
    let whole = rules.iter().position(|s| s.whole && counts(s));
    let headed = rules.iter().any(|s| !s.code && s.heading.is_some());
    let page = words.page;
    if !headed && whole.is_none() && page.blocks.len() == 1 {
        // Only the summary of a `<details>` could open a section, and there is none.
        return Found::default();
    }
    let mut walk = Walk {
        page,
        words,
        reviewer,
        rules,
        turns: reviewer.turns(),
        places: vec![Place::default()],
        heading: None,
        whole,
        headed,
        group: None,
        current: None,
        found: Found::default(),
    };
    let mut block = 1;
    for index in 0..=page.lines.len() {
        while page.blocks.get(block).is_some_and(|b| b.first_line <= index) {
            walk.enter(block as u32, channel);
            block += 1;
        }
        if index < page.lines.len() {
            walk.line(index);
        }
    }
    walk.close(page.lines.len());
    walk.found
}

impl Walk<'_> {
    fn enter(&mut self, index: u32, channel: Channel) {
        let block = &self.page.blocks[index as usize];
        let mut place = self.places.get(block.parent as usize).copied().unwrap_or_default();
        let summary = block.summary.as_str();
        let opens = self.rules.iter().position(|s| {
            let channel_fits = s.channels.is_empty() || s.channels.contains(&channel);
            channel_fits && self.reviewer.fits(s.summary.as_ref(), summary)
        });
        if let Some(section) = opens {
            place = Place { section: Some(section), opener: index, file: None, item: None };
            self.found.any = true;
            self.close(block.first_line);
        } else if let Some((rule, _)) = self.section_of(place) {
            let rule = &self.rules[rule];
            if place.item.is_none() && self.reviewer.fits(rule.file.as_ref(), summary) {
                place.file = Some(index);
                self.close(block.first_line);
            } else if place.item.is_none()
                && !self.words.is_noise_block(index)
                && self.reviewer.fits(rule.block.as_ref(), summary)
            {
                place.item = Some(index);
            }
        }
        self.places.push(place);
        if place.item == Some(index) {
            self.begin_block(index);
        }
    }

    /// Returns the section rule in force at a place, and the text that opened it.
    fn section_of(&self, place: Place) -> Option<(usize, &str)> {
        if let Some(section) = place.section {
            let opener = self.page.blocks.get(place.opener as usize).map_or("", |b| b.summary.as_str());
            return Some((section, opener));
        }
        if let Some((section, _, text)) = &self.heading {
            return Some((*section, text));
        }
        self.whole.map(|section| (section, ""))
    }

    fn begin_block(&mut self, index: u32) {
        let first = self.page.blocks[index as usize].first_line;
        self.close(first);
        let place = self.places.get(index as usize).copied().unwrap_or_default();
        let Some((section, from)) = self.section_of(place) else { return };
        let summary = self.page.blocks[index as usize].summary.trim();
        let rule = &self.rules[section];
        if rule.ignore {
            return;
        }
        let from = head(from, 200).to_owned();
        let mut item = Item { section, from, first, block: index, by_block: true, ..Item::default() };
        if let Some(found) = rule.block.as_ref().and_then(|re| re.groups(summary)) {
            item.take(&found);
        }
        item.head = summary.to_owned();
        self.start(item, place);
    }

    /// Starts an item with what its surroundings give it.
    fn start(&mut self, mut item: Item, place: Place) {
        let rule = &self.rules[item.section];
        item.level = item.level.or_else(|| self.group.clone()).or_else(|| rule.level.clone());
        if item.path.is_none()
            && let Some(file) = place.file
            && let Some(found) =
                rule.file.as_ref().and_then(|re| re.groups(head(&self.page.blocks[file as usize].summary, 1_000)))
        {
            item.path = text_of(&found, "path");
        }
        self.found.any = true;
        self.current = Some(item);
    }

    fn close(&mut self, at: usize) {
        if let Some(mut item) = self.current.take() {
            item.last = at.max(item.first);
            self.found.items.push(item);
        }
    }

    fn line(&mut self, index: usize) {
        let line = &self.page.lines[index];
        let place = self.places.get(line.block as usize).copied().unwrap_or_default();
        if place.section.is_some_and(|section| self.rules[section].code) {
            return self.code_line(index, place);
        }
        if line.code || self.words.is_noise(index, line) {
            return;
        }
        let text = self.page.text(line).trim();
        // Outside of sections nothing turns on a line, unless one can be opened by it.
        let asked = self.headed || self.heading.is_some() || place.section.is_some() || self.whole.is_some();
        let turns = asked && !text.is_empty() && self.turns.iter().any(|pattern| pattern.may_begin(text));
        if place.section.is_none() && place.item.is_none() {
            self.heading_line(text, line.block, index, turns);
        }
        let Some((section, _)) = self.section_of(place) else {
            return self.close(index);
        };
        let rule = &self.rules[section];
        if rule.ignore {
            return self.close(index);
        }
        self.found.open.push(index);
        if turns && let Some(found) = rule.group.as_ref().and_then(|re| re.groups(text)) {
            self.group = text_of(&found, "level");
            return;
        }
        if turns
            && place.item.is_none()
            && !self.is_part(section, line)
            && let Some(found) = rule.item.as_ref().and_then(|re| re.groups(text))
        {
            let from = head(self.section_of(place).map_or("", |(_, from)| from), 200).to_owned();
            let mut item = Item { section, from, first: index, block: line.block, ..Item::default() };
            item.take(&found);
            item.head = text.get(found.range().end..).unwrap_or_default().trim().to_owned();
            item.listed = Listed::of(self.page.text(line), line.quote);
            self.take_over(&mut item);
            self.close(index);
            self.start(item, place);
            return;
        }
        if self.current.as_ref().is_some_and(|item| item.section != section || !Self::inside(item, place, line.block)) {
            self.close(index);
        }
        if let Some(item) = &mut self.current {
            item.lines.push(index);
        }
    }

    /// A line that names a file and says nothing is about what follows it.
    fn take_over(&mut self, item: &mut Item) {
        let only_named = |named: &Item| {
            let said = named.lines.iter().any(|line| !self.page.text(&self.page.lines[*line]).trim().is_empty());
            let bare = named.head.is_empty() && named.title.is_none() && named.level == self.rules[named.section].level;
            named.section == item.section
                && !named.by_block
                && named.path.is_some()
                && named.line.is_none()
                && bare
                && !said
        };
        if item.path.is_none()
            && self.current.as_ref().is_some_and(only_named)
            && let Some(named) = self.current.take()
        {
            item.path = named.path;
        }
    }

    /// Tells whether a line goes on with the item before it: a list in its text, or one that it quotes. Where the item says
    /// no more than a file, what stands under it are the findings.
    fn is_part(&self, section: usize, line: &Line) -> bool {
        let Some(item) = self.current.as_ref().filter(|item| item.section == section && !names_a_file(&item.head))
        else {
            return false;
        };
        let listed = || Listed::of(self.page.text(line), line.quote);
        item.listed.is_some_and(|outer| listed().is_some_and(|inner| inner.is_inside(outer)))
    }

    /// A line of a section that repeats findings for machines; it counts from its heading on.
    fn code_line(&mut self, index: usize, place: Place) {
        let Some(section) = place.section else { return };
        let rule = &self.rules[section];
        let text = self.page.text(&self.page.lines[index]).trim();
        if self.reviewer.fits(rule.heading.as_ref(), text) {
            self.close(index);
            self.heading = Some((section, place.opener, text.to_owned()));
        } else if self.reviewer.fits(rule.stop.as_ref(), text) {
            self.close(index);
            self.heading = None;
        } else if self.heading.as_ref().is_none_or(|(s, _, _)| *s != section) {
            // Before its heading, or after its end.
        } else if let Some(found) = rule.file.as_ref().and_then(|re| re.groups(text)) {
            self.close(index);
            self.group = text_of(&found, "path");
        } else if let Some(found) = rule.item.as_ref().and_then(|re| re.groups(text)) {
            self.close(index);
            let path = self.group.clone();
            let mut item =
                Item { section, path, from: rule.name.clone(), first: index, copied: true, ..Item::default() };
            item.take(&found);
            item.head = text.get(found.range().end..).unwrap_or_default().trim().to_owned();
            self.found.any = true;
            self.current = Some(item);
        } else if let Some(item) = &mut self.current {
            item.lines.push(index);
        }
    }

    /// Tells whether a line still belongs to an item.
    fn inside(item: &Item, place: Place, block: u32) -> bool {
        if item.by_block {
            return place.item == Some(item.block);
        }
        // An item that a line started ends when its block does; blocks are numbered in their order.
        item.block == BODY || block >= item.block
    }

    /// Opens or ends a section at a line.
    fn heading_line(&mut self, text: &str, block: u32, index: usize, turns: bool) {
        if text.is_empty() {
            return;
        }
        let opened = || self.rules.iter().position(|s| !s.code && self.reviewer.fits(s.heading.as_ref(), text));
        if turns && let Some(section) = opened() {
            self.close(index);
            self.found.any = true;
            self.heading = Some((section, block, text.to_owned()));
            return;
        }
        if let Some((section, opener, _)) = &self.heading {
            let rule = &self.rules[*section];
            let stops = block < *opener
                || (turns && self.reviewer.fits(rule.stop.as_ref(), text))
                || (is_heading(text) && !self.reviewer.fits(rule.item.as_ref(), text));
            if stops {
                self.close(index);
                self.heading = None;
            }
        }
    }
}

/// Tells whether a text is one word that looks like a path, marks around it left out.
fn names_a_file(text: &str) -> bool {
    let bare = text.trim_matches(|c: char| matches!(c, '*' | '_' | '`' | '[' | ']' | '(' | ')' | ':' | ' '));
    !bare.is_empty() && !bare.contains(char::is_whitespace) && bare.contains(['.', '/'])
}

fn is_heading(text: &str) -> bool {
    let level = text.bytes().take_while(|b| *b == b'#').count();
    (1..=6).contains(&level) && text.as_bytes().get(level) == Some(&b' ')
}

fn text_of(found: &Groups<'_>, name: &str) -> Option<String> {
    found.name(name).map(|m| m.trim().to_owned()).filter(|t| !t.is_empty())
}

impl Item {
    /// Takes what a pattern's groups say.
    pub(super) fn take(&mut self, found: &Groups<'_>) {
        let number = |name: &str| text_of(found, name).and_then(|t| t.parse().ok());
        self.path = text_of(found, "path").or_else(|| self.path.take());
        self.line = number("line").or(self.line);
        self.end_line = number("end").or(self.end_line);
        self.title = text_of(found, "title").or_else(|| self.title.take());
        self.level = text_of(found, "level").or_else(|| self.level.take());
    }
}
