//! The way from one comment to its findings: who speaks, where, and which of the other modules is asked.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::{BTreeSet, HashSet};

use sha2::{Digest, Sha256};

use super::compile::Rules;
use super::level::{Author, Level};
use super::page::Page;
use super::pattern::{Groups, Pattern};
use super::reviewer::Sifted;
use super::sections::{self, Item};
use super::signals::{self, Said};
use super::words::{Quotes, Region, Words};
use super::{Classified, CommentInput, Found, Kind, ReplyVerdict, Signal, clean, people, title};
use crate::review::comment::{AccountKind, Channel, ReviewState};
use crate::review::severity::{DecidedBy, Severity};

/// Titles that a file's own patterns name stand near the top.
const TITLE_TOP: usize = 4_000;

/// Tells what one comment asks for.
pub fn classify(rules: &Rules, input: &CommentInput<'_>) -> Classified {
    read(rules, input, Wanted::All)
}

/// How much of a comment is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// All there is.
    All,
    /// Only the kind of the comment, and of its findings what [`super::offline`] answers: neither their text nor what
    /// knows them again, no signal, and not who the reviewer is.
    Answer,
}

/// Reads one comment.
pub(super) fn read(rules: &Rules, input: &CommentInput<'_>, wanted: Wanted) -> Classified {
    if input.review_state == Some(ReviewState::Pending) {
        return bare(Kind::Noise);
    }
    let text = clean::visible(input.body);
    let page = Page::read(&text);
    let runs = page.runs(&text);
    let known = rules.reviewer_behind(input.login, input.account, input.body, Some(&runs));
    let (own, then) = match (known, input.account) {
        (Some(reviewer), _) => (reviewer, Some(&rules.general)),
        (None, AccountKind::Bot) => (&rules.general, None),
        (None, AccountKind::Person) => (&rules.people, Some(&rules.general)),
    };
    let (own, then) = (Sifted::new(own, Some(&runs)), then.map(|then| Sifted::new(then, Some(&runs))));
    let author = Author { rules, login: input.login, own: &own, then: then.as_ref() };
    let mut words = Words::new(&page, &own);
    let mut region = words.own(Quotes::Drop);
    // What the text would mean as a reply is asked before a closing line is taken out of it.
    let asked = input.is_reply || input.reply_unknown;
    let verdict = if asked { signals::verdict(&own, &page, &region.text) } else { None };
    let closed = signals::closing(&own, &mut words);
    if closed.is_some() {
        region = words.own(Quotes::Drop);
    }
    let case = Case {
        wanted,
        input,
        page: &page,
        words: &words,
        author: &author,
        known: known.is_some(),
        verdict,
        region,
        masked: OnceCell::new(),
        first_code: OnceCell::new(),
    };
    let mut out = match (known, input.account) {
        (None, AccountKind::Person) => case.person(),
        _ => case.bot(),
    };
    if closed.is_some() && out.kind == Kind::Finding {
        out.closed_finding = out.findings.first().cloned();
        out.findings.clear();
    }
    out.closed = closed.or(out.closed);
    if wanted == Wanted::All {
        out.reviewer = known.map(|r| r.name.clone());
    }
    out
}

fn bare(kind: Kind) -> Classified {
    Classified {
        kind,
        findings: Vec::new(),
        closed_finding: None,
        reviewer: None,
        signals: Vec::new(),
        closed: None,
        verdict: ReplyVerdict::Unclear,
    }
}

/// Returns one hash for several.
pub(super) fn hash_of<'a>(parts: impl Iterator<Item = &'a str>) -> String {
    let mut hash = Sha256::new();
    parts.for_each(|part| hash.update(part));
    hash.finalize().iter().take(16).map(|b| format!("{b:02x}")).collect()
}

/// One comment on its way.
struct Case<'a> {
    wanted: Wanted,
    input: &'a CommentInput<'a>,
    page: &'a Page,
    words: &'a Words<'a>,
    author: &'a Author<'a>,
    known: bool,
    verdict: Option<(ReplyVerdict, bool)>,
    /// The author's own words.
    region: Region,
    masked: OnceCell<String>,
    first_code: OnceCell<Option<String>>,
}

/// Part of a page that becomes a finding.
struct Part<'t> {
    /// Words that may carry markers and the title.
    text: &'t str,
    /// Words of the summary that is part of the text.
    head: &'t str,
    first: usize,
    last: usize,
}

impl Case<'_> {
    fn bot(&self) -> Classified {
        let view = self.view();
        let verdict = self.verdict;
        let unknown = self.input.reply_unknown && self.input.channel == Channel::Inline;
        let guessed = unknown && verdict.is_some_and(|(_, reply)| reply);
        if self.input.is_reply || guessed {
            return self.bot_reply(&view, verdict.map(|(v, _)| v), guessed);
        }
        match self.input.channel {
            Channel::Inline => self.bot_inline(&view),
            Channel::Review | Channel::Conversation => self.bot_body(&view),
        }
    }

    fn bot_reply(&self, view: &str, verdict: Option<ReplyVerdict>, guessed: bool) -> Classified {
        let said = self.said(view);
        if let Some(kind @ (Kind::Status | Kind::RateLimit | Kind::Clean)) = said.kind {
            return Classified { signals: said.signals, verdict: ReplyVerdict::Notice, ..bare(kind) };
        }
        let verdict = verdict.unwrap_or(ReplyVerdict::Unclear);
        Classified { findings: self.reply_findings(verdict, guessed), verdict, ..bare(Kind::Reply) }
    }

    /// A reply that insists keeps its thread open, and so does one that its words alone give away; one with a marker of
    /// its own says how bad it is.
    fn reply_findings(&self, verdict: ReplyVerdict, guessed: bool) -> Vec<Found> {
        let masked = self.masked();
        let part = self.whole(&self.region);
        match verdict {
            ReplyVerdict::Accepts | ReplyVerdict::Notice => Vec::new(),
            ReplyVerdict::Insists | ReplyVerdict::Unclear => {
                let level = self.author.decide(masked, &self.page.hidden);
                let level = if guessed || verdict == ReplyVerdict::Insists {
                    level.or_else(|| Some(self.author.assumed()))
                } else {
                    level.filter(|l| l.decided_by == DecidedBy::Tagged)
                };
                level.and_then(|level| self.found(&part, level)).into_iter().collect()
            }
        }
    }

    fn said(&self, view: &str) -> Said {
        let mut said = signals::read(self.author.own, self.input.channel, self.page, view, self.wanted);
        if said.kind.is_none()
            && let Some(general) = self.author.then
        {
            let more = signals::read(general, self.input.channel, self.page, view, self.wanted);
            said.kind = more.kind;
            said.signals.extend(more.signals);
            said.left_over = more.left_over;
        }
        said
    }

    /// The author's own words with inline code masked.
    fn masked(&self) -> &str {
        if self.region.text.contains('`') {
            self.masked.get_or_init(|| self.region.masked().into_owned())
        } else {
            &self.region.text
        }
    }

    /// The words that signal rules see: quotes peeled.
    fn view(&self) -> Cow<'_, str> {
        if self.page.lines.iter().any(|line| line.quote > 0) {
            Cow::Owned(self.words.own(Quotes::Peel).text)
        } else {
            Cow::Borrowed(&self.region.text)
        }
    }

    fn whole<'t>(&self, region: &'t Region) -> Part<'t> {
        Part { text: &region.text, head: "", first: 0, last: self.page.lines.len() }
    }

    fn bot_inline(&self, view: &str) -> Classified {
        let masked = self.masked();
        let part = self.whole(&self.region);
        let level = self.author.decide(masked, &self.page.hidden);
        if level.is_none() {
            let said = self.said(view);
            if let Some(kind) = said.kind.filter(|kind| *kind != Kind::Finding) {
                return Classified { signals: said.signals, ..bare(kind) };
            }
            if !self.page.has_code && !view.chars().any(char::is_alphanumeric) {
                return bare(Kind::Noise);
            }
        }
        let level = level.unwrap_or_else(|| self.author.assumed());
        match self.found(&part, level) {
            Some(found) => Classified { findings: vec![found], ..bare(Kind::Finding) },
            None => bare(Kind::Noise),
        }
    }

    fn bot_body(&self, view: &str) -> Classified {
        let (mut findings, sections) = self.section_findings();
        let mut said = self.said(view);
        if let Some(rest) = said.left_over.take()
            && findings.is_empty()
        {
            findings.extend(self.left_over(&rest));
        }
        if self.wanted == Wanted::All {
            let levels = self.reported_levels(&sections.open);
            if !levels.is_empty() {
                said.signals.push(Signal::ReportsLevels(levels));
            }
        }
        if findings.is_empty() && said.kind.is_none() {
            findings.extend(self.tagged_body());
        }
        let approves = self.input.review_state == Some(ReviewState::Approved) && self.known;
        if approves && findings.is_empty() && said.kind.is_none() && !view.chars().any(char::is_alphanumeric) {
            said.signals.push(Signal::Finished { sha: None, clean: true, announced: Some(0) });
            said.kind = Some(Kind::Clean);
        }
        let kind =
            if findings.is_empty() { self.kind_without_finding(&said, sections.any, view) } else { Kind::Finding };
        if !findings.is_empty() {
            said.signals.iter_mut().for_each(not_clean);
        }
        if kind == Kind::Status && said.kind.is_none() && self.wanted == Wanted::All {
            said.signals.push(Signal::Unknown(signals::reason(view)));
        }
        Classified { findings, signals: said.signals, ..bare(kind) }
    }

    fn kind_without_finding(&self, said: &Said, sections: bool, view: &str) -> Kind {
        let empty = !view.chars().any(char::is_alphanumeric) && !self.page.has_code;
        match said.kind {
            Some(Kind::Finding) | None => match (self.input.channel, empty) {
                (Channel::Review, true) => Kind::Summary,
                (Channel::Conversation | Channel::Inline, true) => Kind::Noise,
                (_, false) if sections => Kind::Summary,
                (_, false) if self.known => Kind::Status,
                (Channel::Review, false) => Kind::Summary,
                (Channel::Conversation | Channel::Inline, false) => Kind::Noise,
            },
            Some(kind) => kind,
        }
    }

    /// Findings in the sections of a body, and the sections.
    fn section_findings(&self) -> (Vec<Found>, sections::Found) {
        let read = sections::read(self.author.own, self.input.channel, self.words);
        let mut out = Vec::new();
        let mut together = BTreeSet::new();
        let shown: HashSet<_> = read.items.iter().filter(|i| !i.copied).map(|i| (i.path.as_deref(), i.line)).collect();
        for item in &read.items {
            let rule = &self.author.own.sections[item.section];
            if item.copied && shown.contains(&(item.path.as_deref(), item.line)) {
                continue;
            }
            if let Some(name) = &rule.together {
                if together.insert(item.section) {
                    let level = self.item_level(item, "", &rule.name);
                    out.extend(self.item_found(item, level).map(|found| Found { title: name.clone(), ..found }));
                }
                continue;
            }
            let region = self.words.region(&item.head, &item.lines);
            if rule.closed.as_ref().is_some_and(|re| self.author.own.may(re) && re.is_match(&region.text)) {
                continue;
            }
            let level = self.item_level(item, &region.masked(), &rule.name);
            out.extend(self.item_found(item, level));
        }
        (out, read)
    }

    fn item_level(&self, item: &Item, masked: &str, section: &str) -> Level {
        if let Some(level) = self.author.decide(masked, "") {
            return level;
        }
        match &item.level {
            Some(level) => self.author.native(level, section, &title::field(&item.from).unwrap_or_default()),
            None => self.author.assumed(),
        }
    }

    fn item_found(&self, item: &Item, level: Level) -> Option<Found> {
        let region = self.words.region(&item.head, &item.lines);
        let part = Part { text: &region.text, head: &item.head, first: item.first, last: item.last };
        let mut found = self.found(&part, level)?;
        let mut place = item.clone();
        if place.line.is_none() {
            self.author
                .own
                .places
                .iter()
                .filter(|re| self.author.own.may(re))
                .filter_map(|re| re.groups(&region.text))
                .take(1)
                .for_each(|c| place.take(&c));
        }
        if let Some(named) = item.title.as_deref().and_then(title::field) {
            found.title = named;
        }
        found.section = Some(self.author.own.sections[item.section].name.clone());
        found.path = place.path;
        found.line = place.line;
        found.end_line = place.end_line.or(place.line);
        Some(found)
    }

    fn left_over(&self, rest: &str) -> Option<Found> {
        let masked = clean::mask(rest);
        // What stood apart may have come together here, so that every rule is asked.
        let own = self.author.own.all();
        let then = self.author.then.map(Sifted::all);
        let author = Author { own: &own, then: then.as_ref(), ..*self.author };
        let level = author.decide(&masked, "").unwrap_or_else(|| author.assumed());
        let part = Part { text: rest, head: "", first: 0, last: self.page.lines.len() };
        self.found(&part, level)
    }

    /// A body without sections that begins with a marker.
    fn tagged_body(&self) -> Option<Found> {
        let level = self.author.decide(self.masked(), &self.page.hidden)?;
        if level.decided_by != DecidedBy::Tagged {
            return None;
        }
        self.found(&self.whole(&self.region), level)
    }

    fn reported_levels(&self, open: &[usize]) -> Vec<(u64, Severity)> {
        let own = self.author.own;
        let Some(reports) = own.reports.as_ref().filter(|reports| own.may(reports)) else { return Vec::new() };
        let level = |c: Groups<'_>| {
            let severity = self.author.own.levels.get(&c.name("level")?.to_lowercase())?;
            Some((c.name("id")?.parse().ok()?, *severity))
        };
        open.iter().filter_map(|i| reports.groups(self.page.text(&self.page.lines[*i])).and_then(level)).collect()
    }

    fn found(&self, part: &Part<'_>, level: Level) -> Option<Found> {
        let severity = level.severity?;
        let title = self.title(part, &level);
        let (path, line, end_line) = self.place();
        let asks = title::is_question(&title);
        let (text, body_hash, identity) = match self.wanted {
            Wanted::Answer => Default::default(),
            Wanted::All => (
                self.words.brief(&title_head(part.head), part.first, part.last),
                self.words.hash(part.head, part.first, part.last),
                self.identity(),
            ),
        };
        Some(Found {
            severity,
            decided_by: level.decided_by,
            rule: level.rule,
            title,
            path,
            line,
            end_line,
            text,
            body_hash,
            identity,
            is_question: level.question || asks,
            section: None,
            level: level.native,
        })
    }

    fn title(&self, part: &Part<'_>, level: &Level) -> String {
        let top = clean::head(part.text, TITLE_TOP);
        let own = self.author.own;
        let named = own.titles.iter().filter(|re| own.may(re)).find_map(|re| {
            let found = re.groups(top)?;
            title::field(found.name("title")?)
        });
        let around = |at: &std::ops::Range<usize>| {
            let before = title::find(part.text.get(..at.start)?);
            before.or_else(|| title::find(part.text.get(at.end..)?))
        };
        named
            .or_else(|| level.at.as_ref().and_then(around))
            .or_else(|| title::find(part.text))
            .unwrap_or_else(|| self.fallback_title())
    }

    /// A finding without words is called by its first line of code, else by its place.
    fn fallback_title(&self) -> String {
        if let Some(line) = self.first_code.get_or_init(|| self.page.first_code()) {
            return line.clone();
        }
        match (self.input.path, self.input.line) {
            (Some(path), Some(line)) => format!("{path}:{line}"),
            (Some(path), None) => path.to_owned(),
            (None, _) => "(no words)".to_owned(),
        }
    }

    fn identity(&self) -> Option<String> {
        if self.input.channel != Channel::Inline || self.page.hidden.is_empty() {
            return None;
        }
        let found = |re: &Pattern| Some(re.groups(&self.page.hidden)?.name("id")?.trim().to_owned());
        self.author.own.identities.iter().filter(|re| self.author.own.may(re)).find_map(found)
    }

    /// Where an inline finding stands: the forge's place, else what its hidden comments say.
    fn place(&self) -> (Option<String>, Option<u32>, Option<u32>) {
        if self.input.channel != Channel::Inline {
            return (None, None, None);
        }
        let mut place = Item::default();
        if self.input.path.is_none() || self.input.line.is_none() {
            self.author
                .own
                .places
                .iter()
                .filter(|re| self.author.own.may(re))
                .filter_map(|re| re.groups(&self.page.hidden))
                .take(1)
                .for_each(|c| place.take(&c));
        }
        let path = self.input.path.map(ToOwned::to_owned).or(place.path);
        (path, self.input.line.or(place.line), self.input.line.or(place.end_line).or(place.line))
    }

    fn person(&self) -> Classified {
        let region = &self.region;
        let view = self.view();
        if !self.page.has_code && !view.chars().any(char::is_alphanumeric) {
            return bare(Kind::Noise);
        }
        let verdict = self.verdict.map(|(v, _)| v);
        let given_away = || people::answers_a_quote(self.words) || self.verdict.is_some_and(|(_, reply)| reply);
        let guessed = self.input.reply_unknown && self.input.channel == Channel::Inline && given_away();
        let reply = self.input.is_reply || guessed;
        let said = self.said(&region.text);
        // Where more stands beside what a rule took for a notice, the rest is read like any other words.
        let notice = said.kind.filter(|kind| *kind != Kind::Finding && !self.page.has_code && !reply);
        if let Some(kind) = notice {
            return Classified { signals: said.signals, ..bare(kind) };
        }
        let masked = self.masked();
        let untagged_asks = match self.input.channel {
            Channel::Inline => !self.input.by_pr_author,
            Channel::Review => self.input.review_state == Some(ReviewState::ChangesRequested),
            Channel::Conversation => false,
        };
        let findings = self.person_findings(region, masked, untagged_asks && !reply);
        if reply {
            let verdict = verdict.unwrap_or(ReplyVerdict::Unclear);
            let findings = if verdict == ReplyVerdict::Accepts { Vec::new() } else { findings };
            return Classified { findings, verdict, ..bare(Kind::Reply) };
        }
        let kind = if findings.is_empty() { Kind::Noise } else { Kind::Finding };
        Classified { findings, ..bare(kind) }
    }

    fn person_findings(&self, region: &Region, masked: &str, untagged_asks: bool) -> Vec<Found> {
        let claims = people::claims(self.author, masked);
        if claims.is_empty() && untagged_asks {
            let part = self.whole(region);
            return self.found(&part, self.author.assumed()).into_iter().collect();
        }
        let mut out = Vec::new();
        for (n, claim) in claims.iter().enumerate() {
            let (start, end) = (claim.start, claim.end);
            let text = &region.text[start..end];
            let nothing = claim.level.as_ref().and_then(|level| self.after_nothing(text, start, level));
            let level = match &claim.level {
                Some(level) if nothing.is_none() => level.clone(),
                _ if !untagged_asks || self.asks_nothing(nothing.unwrap_or(text)) => continue,
                _ => self.author.assumed(),
            };
            let at = level.at.clone().map(|at| at.start.saturating_sub(start)..at.end.saturating_sub(start));
            let first = if n == 0 { 0 } else { region.line_at(start).unwrap_or(0) };
            let next = if end < region.text.len() { region.line_at(end) } else { None };
            let last = next.unwrap_or(self.page.lines.len());
            let part = Part { text, head: "", first, last };
            out.extend(self.found(&part, Level { at, ..level }));
        }
        out
    }

    /// Returns what follows where a graded claim says that there is nothing of its kind.
    fn after_nothing<'t>(&self, text: &'t str, start: usize, level: &Level) -> Option<&'t str> {
        let label = level.at.as_ref().map_or(0, |at| at.end.saturating_sub(start));
        let words = text.get(label..)?.trim_start();
        let (first, rest) = words.split_once('\n').unwrap_or((words, ""));
        (first.chars().any(char::is_alphanumeric) && self.asks_nothing(first)).then_some(rest)
    }

    fn asks_nothing(&self, text: &str) -> bool {
        !text.chars().any(char::is_alphanumeric)
            || signals::read(self.author.own, self.input.channel, self.page, text, Wanted::Answer).kind
                == Some(Kind::Noise)
    }
}

fn title_head(head: &str) -> String {
    title::field(head).unwrap_or_default()
}

fn not_clean(signal: &mut Signal) {
    if let Signal::Finished { clean, .. } = signal {
        *clean = false;
    }
}
