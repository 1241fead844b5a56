//! What is known of one reviewer: its rule file with every pattern checked for shape and kept for its first use. It
//! decides nothing of who speaks; `compile` does.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

use super::Kind;
use super::compile::BadRule;
use super::pattern::{BadPattern, Groups, Pattern, Reading};
use super::rules::{
    CheckRule, ClosingIs, MarkerPlace, MarkerRule, ReactionRule, RequestRule, RuleFile, SectionRule, SignalIs,
    SignalRule, VerdictIs, VerdictRule,
};
use super::sieve::Runs;
use super::start::Bytes;
use crate::review::comment::Channel;
use crate::review::ids::Login;
use crate::review::severity::Severity;

/// What the rules know of one reviewer.
#[derive(Debug, Clone)]
pub struct Reviewer {
    /// Name of the rule file.
    pub name: String,
    /// Logins of its bot accounts.
    pub aliases: Vec<Login>,
    /// How a fresh review is asked for.
    pub request: RequestRule,
    /// Severity of a finding without a marker.
    pub untagged: Option<Severity>,
    /// Whether a bare reaction is proof enough for the gate.
    pub reaction_counts: bool,
    pub(super) levels: BTreeMap<String, Severity>,
    parts: Arc<Parts>,
}

impl Deref for Reviewer {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.parts
    }
}

/// The patterns of one reviewer. No setting changes them, so that all rules of a process share them.
#[derive(Debug)]
pub struct Parts {
    pub(super) body: Option<Pattern>,
    pub(super) carriers: Vec<Login>,
    pub(super) any_carrier: bool,
    pub(super) questions: Vec<String>,
    pub(super) markers: Vec<Marker>,
    pub(super) titles: Vec<Pattern>,
    pub(super) places: Vec<Pattern>,
    pub(super) identities: Vec<Pattern>,
    noise: Vec<Pattern>,
    footer: Vec<Pattern>,
    shared: Shared,
    pub(super) sections: Vec<Section>,
    pub(super) signals: Vec<SignalMatch>,
    pub(super) closings: Vec<Closing>,
    pub(super) verdicts: Vec<Verdict>,
    pub(super) checks: Vec<Check>,
    pub(super) reactions: Vec<ReactionRule>,
    pub(super) reports: Option<Pattern>,
}

/// What every file takes over from the general one.
#[derive(Debug, Clone, Default)]
pub(super) struct Shared {
    levels: BTreeMap<String, Severity>,
    noise: Arc<[Pattern]>,
    footer: Arc<[Pattern]>,
}

impl Shared {
    /// Takes all there is to share from the general file.
    pub(super) fn of(general: &RuleFile) -> Result<Self, BadRule> {
        let make = Maker { file: &general.name };
        Ok(Self {
            levels: lower(&general.levels),
            noise: make.list("noise", &general.noise)?.into(),
            footer: make.list("footer", &general.footer)?.into(),
        })
    }

    /// The levels alone.
    pub(super) fn levels(&self) -> Self {
        Self { levels: self.levels.clone(), ..Self::default() }
    }
}

fn lower(levels: &BTreeMap<String, Severity>) -> BTreeMap<String, Severity> {
    levels.iter().map(|(level, to)| (level.to_lowercase(), *to)).collect()
}

#[derive(Debug)]
pub(super) struct Marker {
    pub(super) name: String,
    pub(super) place: MarkerPlace,
    pub(super) pattern: Pattern,
    pub(super) unless: Option<Pattern>,
    pub(super) level: Option<String>,
    pub(super) asks: bool,
    pub(super) known_only: bool,
    pub(super) plain: bool,
}

impl Marker {
    /// Returns the native level of a match, lower case.
    pub(super) fn native(&self, found: &Groups<'_>) -> String {
        let group = ["level", "level2"].iter().find_map(|name| found.name(name));
        let level = group.or(self.level.as_deref()).unwrap_or_default().trim();
        if level.is_ascii() { level.to_ascii_lowercase() } else { level.to_lowercase() }
    }
}

#[derive(Debug)]
pub(super) struct Section {
    pub(super) name: String,
    pub(super) channels: Vec<Channel>,
    pub(super) summary: Option<Pattern>,
    pub(super) heading: Option<Pattern>,
    pub(super) stop: Option<Pattern>,
    pub(super) whole: bool,
    pub(super) code: bool,
    pub(super) ignore: bool,
    pub(super) level: Option<String>,
    pub(super) item: Option<Pattern>,
    pub(super) block: Option<Pattern>,
    pub(super) file: Option<Pattern>,
    pub(super) group: Option<Pattern>,
    pub(super) closed: Option<Pattern>,
    pub(super) together: Option<String>,
}

#[derive(Debug)]
pub(super) struct SignalMatch {
    pub(super) is: SignalIs,
    pub(super) kind: Kind,
    pub(super) channels: Vec<Channel>,
    pub(super) pattern: Option<Pattern>,
    /// True when a group of the pattern may take back that it fits.
    pub(super) takes_back: bool,
    pub(super) marker: Option<Pattern>,
    pub(super) summary: Option<Pattern>,
    pub(super) sha: Option<Pattern>,
    pub(super) envelope: Vec<Pattern>,
    pub(super) clears: Option<bool>,
    pub(super) more: bool,
}

impl SignalMatch {
    /// Tells whether the rule is asked in a channel.
    pub(super) fn counts_in(&self, channel: Channel) -> bool {
        self.channels.is_empty() || self.channels.contains(&channel)
    }
}

#[derive(Debug)]
pub(super) struct Closing {
    pub(super) is: ClosingIs,
    pub(super) pattern: Pattern,
}

#[derive(Debug)]
pub(super) struct Verdict {
    pub(super) is: VerdictIs,
    pub(super) pattern: Option<Pattern>,
    pub(super) marker: Option<Pattern>,
    pub(super) unless: Option<Pattern>,
    pub(super) reply: bool,
}

#[derive(Debug)]
pub(super) struct Check {
    pub(super) app: Option<Login>,
    pub(super) name: Pattern,
    pub(super) text: Option<Pattern>,
    pub(super) conclusion: Vec<String>,
    pub(super) is: SignalIs,
}

/// A reviewer's rules beside what one page holds, which tells the rules that cannot fit there.
pub(super) struct Sifted<'a> {
    reviewer: &'a Reviewer,
    /// `None`: every rule is asked.
    runs: Option<&'a Runs>,
    /// Places of the markers that may begin a line, with the bytes that each begins with.
    labels: OnceCell<Vec<(usize, Option<Bytes>)>>,
}

/// A marker that may begin a line.
#[derive(Clone, Copy)]
pub(super) struct Label<'a> {
    pub(super) marker: &'a Marker,
    /// Bytes with which a line begins that it fits; none: any.
    first: Option<&'a Bytes>,
}

impl Label<'_> {
    /// Tells whether the marker may fit a line; false is certain.
    pub(super) fn may_begin(&self, line: &str) -> bool {
        self.first.is_none_or(|first| line.as_bytes().first().is_some_and(|byte| first.has(*byte)))
    }
}

impl Deref for Sifted<'_> {
    type Target = Reviewer;

    fn deref(&self) -> &Reviewer {
        self.reviewer
    }
}

impl<'a> Sifted<'a> {
    /// Takes a reviewer and what a page holds; without a page every rule stays in.
    pub(super) fn new(reviewer: &'a Reviewer, runs: Option<&'a Runs>) -> Self {
        Self { reviewer, runs, labels: OnceCell::new() }
    }

    /// Returns the same rules, all of them in, for a text that is no part of the page.
    pub(super) fn all(&self) -> Self {
        Self::new(self.reviewer, None)
    }

    /// Tells whether a pattern may fit; false is certain.
    pub(super) fn may(&self, pattern: &Pattern) -> bool {
        self.runs.is_none_or(|runs| pattern.may_fit(runs))
    }

    /// Returns the markers that may begin a line.
    pub(super) fn labels(&self) -> impl Iterator<Item = Label<'_>> {
        let markers = &self.reviewer.parts.markers;
        let is_label = |m: &Marker| matches!(m.place, MarkerPlace::Label | MarkerPlace::Paragraph);
        let label =
            |(at, m): (usize, &Marker)| (is_label(m) && self.may(&m.pattern)).then(|| (at, m.pattern.first_bytes()));
        let labels = self.labels.get_or_init(|| markers.iter().enumerate().filter_map(label).collect());
        labels.iter().filter_map(|(at, first)| Some(Label { marker: markers.get(*at)?, first: first.as_ref() }))
    }

    /// Returns the patterns of summaries under which nothing is the reviewer's own, as far as they may fit the page.
    pub(super) fn noise(&self) -> impl Iterator<Item = &Pattern> {
        self.shared.noise.iter().chain(&self.reviewer.parts.noise).filter(|pattern| self.may(pattern))
    }

    /// Returns the patterns of lines that carry no meaning, as far as they may fit the page.
    pub(super) fn footers(&self) -> impl Iterator<Item = &Pattern> {
        self.shared.footer.iter().chain(&self.reviewer.parts.footer).filter(|pattern| self.may(pattern))
    }

    /// Returns every pattern that may make a line of the page more than words: what opens, ends or fills a section.
    pub(super) fn turns(&self) -> Vec<&'a Pattern> {
        let parts = |s: &'a Section| [&s.heading, &s.stop, &s.item, &s.group].into_iter().flatten();
        self.reviewer.parts.sections.iter().flat_map(parts).filter(|p| self.may(p)).collect()
    }

    /// Tells whether a pattern fits a text of the page.
    pub(super) fn fits(&self, pattern: Option<&Pattern>, text: &str) -> bool {
        pattern.is_some_and(|pattern| self.may(pattern) && pattern.is_match(text))
    }
}

impl Reviewer {
    /// Returns all its patterns.
    pub(super) fn patterns(&self) -> Vec<&Pattern> {
        let mut all: Vec<&Pattern> = [&self.titles, &self.places, &self.identities].into_iter().flatten().collect();
        all.extend([&self.body, &self.reports].into_iter().flatten());
        all.extend([&self.noise, &self.footer].into_iter().flatten());
        all.extend([&self.shared.noise, &self.shared.footer].into_iter().flat_map(|patterns| patterns.iter()));
        for marker in &self.markers {
            all.extend(std::iter::once(&marker.pattern).chain(&marker.unless));
        }
        for s in &self.sections {
            let parts = [&s.summary, &s.heading, &s.stop, &s.item, &s.block, &s.file, &s.group, &s.closed];
            all.extend(parts.into_iter().flatten());
        }
        for s in &self.signals {
            all.extend([&s.pattern, &s.marker, &s.summary, &s.sha].into_iter().flatten().chain(&s.envelope));
        }
        all.extend(self.closings.iter().map(|c| &c.pattern));
        all.extend(self.verdicts.iter().flat_map(|v| [&v.pattern, &v.marker, &v.unless]).flatten());
        all.extend(self.checks.iter().flat_map(|c| std::iter::once(&c.name).chain(&c.text)));
        all
    }

    pub(super) fn compile(file: &RuleFile, shared: &Shared) -> Result<Self, BadRule> {
        let make = Maker { file: &file.name };
        let mut levels = shared.levels.clone();
        levels.extend(lower(&file.levels));
        let sections: Vec<Section> = each(&file.section, |s| make.section(s))?;
        let closing =
            |c: &super::rules::ClosingRule| Ok(Closing { is: c.is, pattern: make.regex(&c.name, &c.pattern)? });
        let parts = Parts {
            body: make.union("body", &file.body)?,
            carriers: file.carriers.iter().filter(|c| *c != "*").map(|l| Login::new(l)).collect(),
            any_carrier: file.carriers.iter().any(|c| c == "*"),
            questions: file.questions.iter().map(|q| q.to_lowercase()).collect(),
            markers: each(&file.marker, |m| make.marker(m))?,
            titles: make.list("title", &file.title)?,
            places: make.list("place", &file.place)?,
            identities: make.list("identity", &file.identity)?,
            noise: make.list("noise", &file.noise)?,
            footer: make.list("footer", &file.footer)?,
            shared: shared.clone(),
            sections,
            signals: each(&file.signal, |s| make.signal(s))?,
            closings: each(&file.closing, closing)?,
            verdicts: each(&file.verdict, |v| make.verdict(v))?,
            checks: each(&file.check, |c| make.check(c))?,
            reactions: file.reaction.clone(),
            reports: make.maybe("reports", file.reports.as_ref())?,
        };
        Ok(Self {
            name: file.name.clone(),
            aliases: file.logins.iter().map(|l| Login::new(l)).collect(),
            request: file.request.clone(),
            untagged: file.untagged,
            reaction_counts: false,
            levels,
            parts: Arc::new(parts),
        })
    }
}

fn each<T, U>(items: &[T], make: impl Fn(&T) -> Result<U, BadRule>) -> Result<Vec<U>, BadRule> {
    items.iter().map(make).collect()
}

pub(super) fn bad(file: &str, rule: &str, why: &str) -> BadRule {
    let file = if file == "config" { file.to_owned() } else { format!("{file}.toml") };
    BadRule { file, rule: rule.to_owned(), why: why.to_owned() }
}

/// Makes the parts of one file.
struct Maker<'a> {
    file: &'a str,
}

impl Maker<'_> {
    fn marker(&self, rule: &MarkerRule) -> Result<Marker, BadRule> {
        let pattern = self.regex(&rule.name, &rule.pattern)?;
        let asks = rule.asks.unwrap_or(true);
        if !rule.pattern.contains("(?P<level") && rule.level.is_none() && asks && !rule.plain {
            return Err(bad(self.file, &rule.name, "it has neither a level nor a group `level`"));
        }
        Ok(Marker {
            name: rule.name.clone(),
            place: rule.place,
            pattern,
            unless: self.maybe(&rule.name, rule.unless.as_ref())?,
            level: rule.level.clone(),
            asks,
            known_only: rule.known_only,
            plain: rule.plain,
        })
    }

    fn section(&self, rule: &SectionRule) -> Result<Section, BadRule> {
        let part = |pattern: &Option<String>| self.maybe(&rule.name, pattern.as_ref());
        if rule.summary.is_none() && rule.heading.is_none() && !rule.whole {
            return Err(bad(self.file, &rule.name, "a section needs `summary`, `heading` or `whole`"));
        }
        Ok(Section {
            name: rule.name.clone(),
            channels: rule.channels.clone(),
            summary: part(&rule.summary)?,
            heading: part(&rule.heading)?,
            stop: part(&rule.stop)?,
            whole: rule.whole,
            code: rule.code,
            ignore: rule.ignore,
            level: rule.level.clone(),
            item: part(&rule.item)?,
            block: part(&rule.block)?,
            file: part(&rule.file)?,
            group: part(&rule.group)?,
            closed: part(&rule.closed)?,
            together: rule.together.clone(),
        })
    }

    fn signal(&self, rule: &SignalRule) -> Result<SignalMatch, BadRule> {
        let part = |pattern: &Option<String>| self.maybe(&rule.name, pattern.as_ref());
        if rule.pattern.is_none() && rule.marker.is_none() && rule.summary.is_none() {
            return Err(bad(self.file, &rule.name, "a signal needs `pattern`, `marker` or `summary`"));
        }
        let usual = match rule.is {
            SignalIs::Clean => Kind::Clean,
            SignalIs::Limited => Kind::RateLimit,
            SignalIs::Nothing => Kind::Noise,
            SignalIs::Finished => Kind::Summary,
            SignalIs::Running | SignalIs::Skipped | SignalIs::Failed | SignalIs::Partial => Kind::Status,
        };
        Ok(SignalMatch {
            is: rule.is,
            kind: rule.kind.unwrap_or(usual),
            channels: rule.channels.clone(),
            pattern: part(&rule.pattern)?,
            takes_back: rule.pattern.as_ref().is_some_and(|pattern| pattern.contains("<closed>")),
            marker: part(&rule.marker)?,
            summary: part(&rule.summary)?,
            sha: part(&rule.sha)?,
            envelope: rule.envelope.iter().map(|p| self.regex(&rule.name, p)).collect::<Result<_, _>>()?,
            clears: rule.clears,
            more: rule.more,
        })
    }

    fn verdict(&self, rule: &VerdictRule) -> Result<Verdict, BadRule> {
        Ok(Verdict {
            is: rule.is,
            pattern: self.maybe(&rule.name, rule.pattern.as_ref())?,
            marker: self.maybe(&rule.name, rule.marker.as_ref())?,
            unless: self.maybe(&rule.name, rule.unless.as_ref())?,
            reply: rule.reply,
        })
    }

    fn check(&self, rule: &CheckRule) -> Result<Check, BadRule> {
        Ok(Check {
            app: rule.app.as_deref().map(Login::new),
            name: self.regex(&rule.rule, &rule.name)?,
            text: self.maybe(&rule.rule, rule.text.as_ref())?,
            conclusion: rule.conclusion.clone(),
            is: rule.is,
        })
    }

    fn maybe(&self, name: &str, pattern: Option<&String>) -> Result<Option<Pattern>, BadRule> {
        pattern.map(|p| self.regex(name, p)).transpose()
    }

    fn list(&self, what: &str, patterns: &[String]) -> Result<Vec<Pattern>, BadRule> {
        patterns.iter().map(|p| self.regex(what, p)).collect()
    }

    fn regex(&self, name: &str, pattern: &str) -> Result<Pattern, BadRule> {
        regex(self.file, name, pattern)
    }

    fn union(&self, name: &str, patterns: &[String]) -> Result<Option<Pattern>, BadRule> {
        let parts: Vec<String> = patterns.iter().map(|p| format!("(?:{p})")).collect();
        if parts.is_empty() { Ok(None) } else { self.regex(name, &parts.join("|")).map(Some) }
    }
}

pub(super) fn regex(file: &str, name: &str, pattern: &str) -> Result<Pattern, BadRule> {
    let reading = if file == "config" { Reading::Exact } else { Reading::Small };
    Pattern::new(pattern, reading).map_err(|BadPattern(why)| bad(file, name, &why))
}
