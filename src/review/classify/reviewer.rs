//! What is known of one reviewer: its rule file with every pattern checked for shape and kept for its first use. It
//! decides nothing of who speaks; `compile` does.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

use regex::Captures;

use super::Kind;
use super::compile::BadRule;
use super::pattern::{BadPattern, Group, Hits, Pattern, Reading};
use super::rules::{
    CheckRule, ClosingIs, MarkerPlace, MarkerRule, ReactionRule, RequestRule, RuleFile, SectionRule, SignalIs,
    SignalRule, VerdictIs, VerdictRule,
};
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
    pub(super) marks: Marks,
    /// Every pattern that may make a line of a body more than words.
    pub(super) turns: Group,
    /// The patterns of signals over the text, by channel.
    texts: [Group; 3],
    pub(super) ends: Group,
    pub(super) titles: Vec<Pattern>,
    pub(super) places: Vec<Pattern>,
    pub(super) identities: Vec<Pattern>,
    pub(super) noise: Option<Pattern>,
    pub(super) footer: Option<Pattern>,
    pub(super) sections: Vec<Section>,
    pub(super) signals: Vec<SignalMatch>,
    pub(super) closings: Vec<Closing>,
    pub(super) verdicts: Vec<Verdict>,
    pub(super) checks: Vec<Check>,
    pub(super) reactions: Vec<ReactionRule>,
    pub(super) reports: Option<Pattern>,
}

/// Markers by the text they are asked about.
#[derive(Debug, Default)]
pub(super) struct Marks {
    pub(super) head: Group,
    pub(super) label: Group,
    pub(super) line: Group,
    pub(super) last: Group,
    pub(super) comment: Group,
    pub(super) sentence: Group,
}

impl Marks {
    fn of(&mut self, place: MarkerPlace) -> &mut Group {
        match place {
            MarkerPlace::Head | MarkerPlace::Paragraph => &mut self.head,
            MarkerPlace::Label => &mut self.label,
            MarkerPlace::Line => &mut self.line,
            MarkerPlace::Last => &mut self.last,
            MarkerPlace::Comment => &mut self.comment,
            MarkerPlace::Sentence => &mut self.sentence,
        }
    }
}

#[derive(Debug)]
pub(super) struct Marker {
    /// Its place in the group of its place.
    pub(super) slot: usize,
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
    pub(super) fn native(&self, found: &Captures<'_>) -> String {
        let group = ["level", "level2"].iter().find_map(|name| found.name(name));
        let level = group.map_or_else(|| self.level.clone().unwrap_or_default(), |m| m.as_str().to_owned());
        level.trim().to_lowercase()
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
    /// Places of `pattern` in the reviewer's `texts`.
    slots: [usize; 3],
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

    /// Tells whether the pattern may fit, by what its group told; false is certain.
    pub(super) fn may_fit(&self, hits: &Hits, channel: Channel) -> bool {
        self.pattern.is_none() || hits.may(self.slots[nth(channel)])
    }
}

fn nth(channel: Channel) -> usize {
    match channel {
        Channel::Inline => 0,
        Channel::Review => 1,
        Channel::Conversation => 2,
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

impl Parts {
    /// Returns the patterns of signals that are asked over the text in a channel.
    pub(super) fn texts_in(&self, channel: Channel) -> &Group {
        &self.texts[nth(channel)]
    }
}

impl Reviewer {
    /// Returns all its patterns.
    pub(super) fn patterns(&self) -> Vec<&Pattern> {
        let mut all: Vec<&Pattern> = [&self.titles, &self.places, &self.identities].into_iter().flatten().collect();
        let single = [&self.body, &self.noise, &self.footer, &self.reports];
        all.extend(single.into_iter().flatten());
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

    pub(super) fn compile(file: &RuleFile, general: &RuleFile) -> Result<Self, BadRule> {
        let from = &file.name;
        let list = |what: &str, patterns: &[String]| -> Result<Vec<Pattern>, BadRule> {
            patterns.iter().map(|p| regex(from, what, p)).collect()
        };
        let lower = |levels: &BTreeMap<String, Severity>| -> BTreeMap<String, Severity> {
            levels.iter().map(|(level, to)| (level.to_lowercase(), *to)).collect()
        };
        let mut levels = lower(&general.levels);
        levels.extend(lower(&file.levels));
        let mut marks = Marks::default();
        let mut markers: Vec<Marker> = each(&file.marker, |m| marker(from, m))?;
        markers.iter_mut().for_each(|m| m.slot = marks.of(m.place).add(&m.pattern));
        let sections: Vec<Section> = each(&file.section, |s| section(from, s))?;
        let mut turns = Group::default();
        for s in &sections {
            [&s.heading, &s.stop, &s.item, &s.file, &s.group].into_iter().flatten().for_each(|p| {
                turns.add(p);
            });
        }
        let mut texts: [Group; 3] = Default::default();
        let mut signals: Vec<SignalMatch> = each(&file.signal, |s| signal(from, s))?;
        for s in &mut signals {
            for channel in [Channel::Inline, Channel::Review, Channel::Conversation] {
                if let Some(pattern) = s.pattern.as_ref().filter(|_| s.counts_in(channel)) {
                    s.slots[nth(channel)] = texts[nth(channel)].add(pattern);
                }
            }
        }
        let closing =
            |c: &super::rules::ClosingRule| Ok(Closing { is: c.is, pattern: regex(from, &c.name, &c.pattern)? });
        let closings: Vec<Closing> = each(&file.closing, closing)?;
        let mut ends = Group::default();
        closings.iter().for_each(|c| {
            ends.add(&c.pattern);
        });
        let parts = Parts {
            body: union(from, "body", &file.body, &[])?,
            carriers: file.carriers.iter().filter(|c| *c != "*").map(|l| Login::new(l)).collect(),
            any_carrier: file.carriers.iter().any(|c| c == "*"),
            questions: file.questions.iter().map(|q| q.to_lowercase()).collect(),
            marks,
            turns,
            texts,
            ends,
            markers,
            titles: list("title", &file.title)?,
            places: list("place", &file.place)?,
            identities: list("identity", &file.identity)?,
            noise: union(from, "noise", &general.noise, &file.noise)?,
            footer: union(from, "footer", &general.footer, &file.footer)?,
            sections,
            signals,
            closings,
            verdicts: each(&file.verdict, |v| verdict(from, v))?,
            checks: each(&file.check, |c| check(from, c))?,
            reactions: file.reaction.clone(),
            reports: maybe(from, "reports", file.reports.as_ref())?,
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

fn marker(file: &str, rule: &MarkerRule) -> Result<Marker, BadRule> {
    let pattern = regex(file, &rule.name, &rule.pattern)?;
    let asks = rule.asks.unwrap_or(true);
    if !rule.pattern.contains("(?P<level") && rule.level.is_none() && asks && !rule.plain {
        return Err(bad(file, &rule.name, "it has neither a level nor a group `level`"));
    }
    Ok(Marker {
        slot: 0,
        name: rule.name.clone(),
        place: rule.place,
        pattern,
        unless: maybe(file, &rule.name, rule.unless.as_ref())?,
        level: rule.level.clone(),
        asks,
        known_only: rule.known_only,
        plain: rule.plain,
    })
}

fn section(file: &str, rule: &SectionRule) -> Result<Section, BadRule> {
    let part = |pattern: &Option<String>| maybe(file, &rule.name, pattern.as_ref());
    if rule.summary.is_none() && rule.heading.is_none() && !rule.whole {
        return Err(bad(file, &rule.name, "a section needs `summary`, `heading` or `whole`"));
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

fn signal(file: &str, rule: &SignalRule) -> Result<SignalMatch, BadRule> {
    let part = |pattern: &Option<String>| maybe(file, &rule.name, pattern.as_ref());
    if rule.pattern.is_none() && rule.marker.is_none() && rule.summary.is_none() {
        return Err(bad(file, &rule.name, "a signal needs `pattern`, `marker` or `summary`"));
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
        slots: [0; 3],
        marker: part(&rule.marker)?,
        summary: part(&rule.summary)?,
        sha: part(&rule.sha)?,
        envelope: rule.envelope.iter().map(|p| regex(file, &rule.name, p)).collect::<Result<_, _>>()?,
        clears: rule.clears,
        more: rule.more,
    })
}

fn verdict(file: &str, rule: &VerdictRule) -> Result<Verdict, BadRule> {
    Ok(Verdict {
        is: rule.is,
        pattern: maybe(file, &rule.name, rule.pattern.as_ref())?,
        marker: maybe(file, &rule.name, rule.marker.as_ref())?,
        unless: maybe(file, &rule.name, rule.unless.as_ref())?,
        reply: rule.reply,
    })
}

fn check(file: &str, rule: &CheckRule) -> Result<Check, BadRule> {
    Ok(Check {
        app: rule.app.as_deref().map(Login::new),
        name: regex(file, &rule.rule, &rule.name)?,
        text: maybe(file, &rule.rule, rule.text.as_ref())?,
        conclusion: rule.conclusion.clone(),
        is: rule.is,
    })
}

fn maybe(file: &str, name: &str, pattern: Option<&String>) -> Result<Option<Pattern>, BadRule> {
    pattern.map(|p| regex(file, name, p)).transpose()
}

pub(super) fn regex(file: &str, name: &str, pattern: &str) -> Result<Pattern, BadRule> {
    let reading = if file == "config" { Reading::Exact } else { Reading::Small };
    Pattern::new(pattern, reading).map_err(|BadPattern(why)| bad(file, name, &why))
}

fn union(file: &str, name: &str, first: &[String], then: &[String]) -> Result<Option<Pattern>, BadRule> {
    let parts: Vec<String> = first.iter().chain(then).map(|p| format!("(?:{p})")).collect();
    if parts.is_empty() { Ok(None) } else { regex(file, name, &parts.join("|")).map(Some) }
}
