//! How bad a finding is: user rules first, then the author's own file, then the general one; only markers in their place count.

use std::borrow::Cow;
use std::ops::Range;

use super::clean::head;
use super::compile::Rules;
use super::marks::is_list_item;
use super::pattern::{Groups, Pattern};
use super::reviewer::{Label, Marker, Reviewer, Sifted};
use super::rules::MarkerPlace;
use super::sieve::{folded, may_change};
use super::words::Region;
use crate::review::ids::Login;
use crate::review::severity::{DecidedBy, RuleRef, Severity};

const LABEL_WINDOW: usize = 160;

/// The severity of one region and how it was found.
#[derive(Debug, Clone)]
pub(super) struct Level {
    /// `None`: the tag says that nothing is asked.
    pub(super) severity: Option<Severity>,
    pub(super) decided_by: DecidedBy,
    pub(super) rule: Option<RuleRef>,
    pub(super) native: Option<String>,
    pub(super) question: bool,
    /// Where the marker stands in the text.
    pub(super) at: Option<Range<usize>>,
}

/// Whose rules are asked, in order.
pub(super) struct Author<'a> {
    pub(super) rules: &'a Rules,
    pub(super) login: &'a Login,
    /// The file of the author.
    pub(super) own: &'a Sifted<'a>,
    /// The file asked after it.
    pub(super) then: Option<&'a Sifted<'a>>,
}

impl<'a> Author<'a> {
    /// Returns the severity that no marker decided.
    pub(super) fn assumed(&self) -> Level {
        let severity = self.own.untagged.unwrap_or(Severity::P2);
        Level {
            severity: Some(severity),
            decided_by: DecidedBy::Assumed,
            rule: None,
            native: None,
            question: false,
            at: None,
        }
    }

    fn files(&self) -> impl Iterator<Item = &'a Sifted<'a>> {
        std::iter::once(self.own).chain(self.then)
    }

    /// Tells whether any line may begin with a label; false is certain.
    pub(super) fn may_label(&self) -> bool {
        !self.rules.user.is_empty() || self.files().any(|file| file.labels().next().is_some())
    }

    /// Decides the severity of a region from its markers.
    pub(super) fn decide(&self, masked: &str, hidden: &str) -> Option<Level> {
        let first = Region::first_line(masked);
        if let Some((at, line)) = first
            && let Some(level) = self.by_user(at, line)
        {
            return Some(level);
        }
        let (mut head, mut last) = (None, None);
        self.files().find_map(|file| {
            file.markers.iter().filter(|marker| file.may(&marker.pattern)).find_map(|marker| {
                let found = match marker.place {
                    MarkerPlace::Head | MarkerPlace::Paragraph | MarkerPlace::Label => {
                        let make = || first.map(|(at, line)| Head::new(at, line));
                        head.get_or_insert_with(make).as_ref().and_then(|line| line.hit(marker))
                    }
                    MarkerPlace::Last => {
                        let make = || Region::last_line(masked).map(|(at, line)| Head::new(at, line));
                        last.get_or_insert_with(make).as_ref().and_then(|line| line.hit(marker))
                    }
                    MarkerPlace::Line => anywhere(marker, masked),
                    MarkerPlace::Comment if hidden.is_empty() => None,
                    MarkerPlace::Comment => anywhere(marker, hidden).map(|hit| Hit { at: None, ..hit }),
                    MarkerPlace::Sentence => None,
                }?;
                self.level(file, marker, found)
            })
        })
    }

    /// Decides by the label at the start of one line, as in [`Self::decide`], but only by labels; a label that is no worse
    /// than what is known already may be left out.
    pub(super) fn label(&self, at: usize, line: &str, known: Option<Severity>) -> Option<Level> {
        if let Some(level) = self.by_user(at, line) {
            return Some(level);
        }
        if !may_be_label(line) {
            return None;
        }
        let head = &Head::new(at, head(line, LABEL_WINDOW));
        let hits = self.files().flat_map(|file| {
            let hit = move |label: Label<'a>| Some((file, label.marker, head.hit(label.marker)?));
            file.labels().filter(|label| label.may_begin(head.of(label.marker))).filter_map(hit)
        });
        let mut graded =
            hits.filter_map(|(file, marker, hit)| Some((self.grade(file, marker, &hit)?, file, marker, hit)));
        let (grade, file, marker, hit) = graded.next()?;
        let worse = known.is_none_or(|known| grade.severity.is_some_and(|new| new < known));
        worse.then(|| self.level_of(grade, file, marker, hit))
    }

    /// Returns sentences that say outright how bad it is.
    pub(super) fn sentences(&self, masked: &str) -> Vec<Level> {
        let mut out = Vec::new();
        for file in self.files() {
            let sentence = |m: &&Marker| m.place == MarkerPlace::Sentence && file.may(&m.pattern);
            for marker in file.markers.iter().filter(sentence) {
                for found in marker.pattern.all_groups(masked) {
                    let sentence = sentence_around(masked, found.range());
                    if marker.unless.as_ref().is_some_and(|u| u.is_match(sentence)) {
                        continue;
                    }
                    out.extend(self.level(file, marker, Hit::of(marker, &found)));
                }
            }
        }
        out
    }

    fn by_user(&self, at: usize, line: &str) -> Option<Level> {
        let rule = self.rules.user.iter().find(|rule| {
            let fits = rule.author.as_ref().is_none_or(|author| {
                author == &self.own.name
                    || Login::new(author) == *self.login
                    || self.own.aliases.contains(&Login::new(author))
            });
            fits && rule.pattern.is_match(line)
        })?;
        let found = rule.pattern.all_places(line).next()?;
        let matched = line.get(found.clone())?.to_owned();
        let rule_ref = RuleRef { file: "config".to_owned(), name: rule.name.clone(), matched };
        let end = if found.start == 0 { at + found.end } else { at };
        Some(Level {
            severity: Some(rule.level),
            decided_by: DecidedBy::Tagged,
            rule: Some(rule_ref),
            native: None,
            question: false,
            at: Some(at..end),
        })
    }

    fn level(&self, file: &Reviewer, marker: &Marker, hit: Hit<'_>) -> Option<Level> {
        Some(self.level_of(self.grade(file, marker, &hit)?, file, marker, hit))
    }

    /// Grades what a marker says; `None` where it was no marker after all.
    fn grade(&self, file: &Reviewer, marker: &Marker, hit: &Hit<'_>) -> Option<Grade> {
        let known = self.own.levels.get(&hit.native).or_else(|| file.levels.get(&hit.native)).copied();
        if known.is_none() && marker.known_only {
            return None;
        }
        let (severity, decided_by) = match (marker.asks, known) {
            _ if marker.plain => (self.assumed().severity, DecidedBy::Assumed),
            (false, _) => (None, DecidedBy::Tagged),
            (true, Some(severity)) => (Some(severity), DecidedBy::Tagged),
            (true, None) => (Some(Severity::P2), DecidedBy::UnknownTag),
        };
        Some(Grade { severity, decided_by })
    }

    fn level_of(&self, grade: Grade, file: &Reviewer, marker: &Marker, hit: Hit<'_>) -> Level {
        let Grade { severity, decided_by } = grade;
        if marker.plain {
            return Level { at: hit.at, ..self.assumed() };
        }
        let question = self.own.questions.contains(&hit.native) || file.questions.contains(&hit.native);
        let matched = hit.text.trim();
        let matched = if matched.contains('\u{1}') { matched.replace('\u{1}', "…") } else { matched.to_owned() };
        let rule = RuleRef { file: [&file.name, ".toml"].concat(), name: marker.name.clone(), matched };
        let native = Some(hit.native).filter(|n| !n.is_empty());
        Level { severity, decided_by, rule: Some(rule), native, question, at: hit.at }
    }

    /// Decides by a native level that stands outside the text, such as a section's.
    pub(super) fn native(&self, level: &str, section: &str, matched: &str) -> Level {
        let level = level.to_lowercase();
        let known = self.own.levels.get(&level).copied();
        let decided_by = if known.is_some() { DecidedBy::Tagged } else { DecidedBy::UnknownTag };
        let rule = RuleRef {
            file: format!("{}.toml", self.own.name),
            name: section.to_owned(),
            matched: matched.trim().to_owned(),
        };
        Level {
            severity: Some(known.unwrap_or(Severity::P2)),
            decided_by,
            rule: Some(rule),
            question: self.own.questions.contains(&level),
            native: Some(level),
            at: None,
        }
    }
}

/// How bad a marker says it is.
struct Grade {
    severity: Option<Severity>,
    decided_by: DecidedBy,
}

/// A marker that matched.
struct Hit<'t> {
    native: String,
    text: &'t str,
    at: Option<Range<usize>>,
}

impl<'t> Hit<'t> {
    fn of(marker: &Marker, found: &Groups<'t>) -> Self {
        Self { native: marker.native(found), text: found.text(), at: Some(found.range()) }
    }
}

/// The line on which markers of one place are looked for, in its compatibility form.
struct Head<'t> {
    at: usize,
    len: usize,
    text: Cow<'t, str>,
    map: Option<Vec<usize>>,
    /// Where a label would begin.
    label: usize,
}

impl<'t> Head<'t> {
    fn new(at: usize, line: &'t str) -> Self {
        let near = head(line, 1_000);
        let (text, map) = fold(near);
        let label = label_start(&text);
        Self { at, len: near.len(), text, map, label }
    }

    fn label(&self) -> &str {
        self.text.get(self.label..).unwrap_or_default()
    }

    /// Returns the part of the line that a marker is tried on.
    fn of(&self, marker: &Marker) -> &str {
        match marker.place {
            MarkerPlace::Label => self.label(),
            MarkerPlace::Head | MarkerPlace::Line | MarkerPlace::Last | MarkerPlace::Comment => &self.text,
            MarkerPlace::Paragraph | MarkerPlace::Sentence => &self.text,
        }
    }

    fn hit<'h>(&'h self, marker: &'h Marker) -> Option<Hit<'h>> {
        let text = self.of(marker);
        let skipped = if marker.place == MarkerPlace::Label { self.label } else { 0 };
        let found = captures(&marker.pattern, marker.unless.as_ref(), text)?;
        let all = found.range();
        let back = |offset: usize| self.map.as_ref().map_or(offset, |m| m.get(offset).copied().unwrap_or(self.len));
        let at = self.at + back(skipped + all.start)..self.at + back(skipped + all.end);
        Some(Hit { at: Some(at), ..Hit::of(marker, &found) })
    }
}

fn anywhere<'t>(marker: &'t Marker, text: &'t str) -> Option<Hit<'t>> {
    let found = captures(&marker.pattern, marker.unless.as_ref(), text)?;
    Some(Hit::of(marker, &found))
}

fn captures<'t>(pattern: &'t Pattern, unless: Option<&Pattern>, text: &'t str) -> Option<Groups<'t>> {
    let found = pattern.groups(text)?;
    let refused = unless.is_some_and(|u| u.is_match(line_around(text, found.range())));
    (!refused).then_some(found)
}

fn line_around(text: &str, at: Range<usize>) -> &str {
    let start = text[..at.start].rfind('\n').map_or(0, |n| n + 1);
    let end = text[at.end..].find('\n').map_or(text.len(), |n| at.end + n);
    &text[start..end]
}

fn sentence_around(text: &str, at: Range<usize>) -> &str {
    let before = head(text, at.start);
    let start = before
        .rfind(['.', '!', '?', '\n', ';', '。'])
        .map_or(0, |n| n + before[n..].chars().next().map_or(1, char::len_utf8));
    let end = text[at.end..].find(['.', '!', '\n', ';', '。']).map_or(text.len(), |n| at.end + n);
    &text[start..end]
}

/// Returns where a label would begin: after the bullet, its check box and a short run of marks.
fn label_start(line: &str) -> usize {
    let mut at = line.len() - line.trim_start().len();
    if is_list_item(line) {
        at += line[at..].find([' ', '\t']).unwrap_or(0);
        at += line[at..].len() - line[at..].trim_start().len();
        if matches!(line.as_bytes().get(at..at + 3), Some([b'[', b' ' | b'x' | b'X', b']'])) {
            at += 3;
        }
    }
    // No emoji of these blocks is a letter; the tables need not be asked.
    let is_emoji = |c: &char| matches!(c, '\u{1f300}'..='\u{1faff}');
    let stops =
        |c: &char| c.is_alphanumeric() || matches!(c, '\u{1}' | '`' | '|' | '>' | '<' | '[' | '(' | '【' | '\n');
    let skip = |c: &char| is_emoji(c) || !stops(c);
    at + line[at..].chars().take(16).take_while(skip).map(char::len_utf8).sum::<usize>()
}

/// A cheap look: a label needs a mark that ends it, or one that makes it a heading.
fn may_be_label(line: &str) -> bool {
    let near = &line.as_bytes()[..line.len().min(LABEL_WINDOW)];
    near.iter().any(|b| matches!(b, b':' | b']' | b')' | b'*' | b'-' | b'|' | b'#') || *b >= 0x80)
}

/// Returns the compatibility form of the start of a line, and for each of its bytes the offset in the line.
fn fold(line: &str) -> (Cow<'_, str>, Option<Vec<usize>>) {
    let changes = |c: char| !c.is_ascii() && may_change(c) && folded(c).next() != Some(c);
    if line.is_ascii() || !line.chars().take(60).any(changes) {
        return (Cow::Borrowed(line), None);
    }
    let mut out = String::with_capacity(line.len());
    let mut map = Vec::with_capacity(line.len() + 1);
    for (n, (at, c)) in line.char_indices().enumerate() {
        let from = out.len();
        if n < 60 {
            out.extend(folded(c));
        } else {
            out.push(c);
        }
        map.extend(std::iter::repeat_n(at, out.len() - from));
    }
    map.push(line.len());
    (Cow::Owned(out), Some(map))
}
