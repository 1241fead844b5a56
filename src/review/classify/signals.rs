//! What a text, a check or a reaction says of the review itself. It reads one text at a time and never judges a reviewer's state.

use std::borrow::Cow;

use super::clean::head;
use super::compile::Rules;
use super::found::Wanted;
use super::page::Page;
use super::pattern::{Groups, Pattern};
use super::reviewer::{Sifted, SignalMatch};
use super::rules::{ClosingIs, SignalIs, VerdictIs};
use super::words::{Quotes, Words};
use super::{Closed, Kind, ReplyVerdict, Signal};
use crate::review::comment::Channel;
use crate::review::ids::Login;

/// Rules that read the top of a body look no further.
const TOP: usize = 6_000;

/// The signals of one text and the kind they give it.
#[derive(Default)]
pub(super) struct Said {
    pub(super) kind: Option<Kind>,
    pub(super) signals: Vec<Signal>,
    /// What a clean body holds beside its fixed words.
    pub(super) left_over: Option<String>,
}

/// Reads a text for signals; the first rule that fits decides, `more` rules add. Where they are not wanted only the kind
/// and what is left over count.
pub(super) fn read(reviewer: &Sifted<'_>, channel: Channel, page: &Page, view: &str, wanted: Wanted) -> Said {
    let mut said = Said::default();
    let view = view.trim_start();
    for rule in reviewer.signals.iter().filter(|rule| rule.counts_in(channel)) {
        if rule.more && wanted == Wanted::Answer {
            continue;
        }
        let parts = [&rule.pattern, &rule.marker, &rule.summary];
        if !parts.into_iter().flatten().all(|pattern| reviewer.may(pattern)) {
            continue;
        }
        let Some(found) = fit(reviewer, rule, page, view, wanted) else { continue };
        let left_over = left_over(rule, view);
        let clean = left_over.is_none();
        if wanted == Wanted::All {
            said.signals.extend(signal(rule.is, found, rule.clears, clean));
        }
        if rule.more {
            continue;
        }
        said.kind = Some(if clean { rule.kind } else { Kind::Finding });
        said.left_over = left_over;
        break;
    }
    said
}

/// What the groups of a pattern held.
#[derive(Default)]
struct Facts {
    wait_s: Option<u64>,
    count: Option<u32>,
    sha: Option<String>,
    why: String,
}

fn fit(reviewer: &Sifted<'_>, rule: &SignalMatch, page: &Page, view: &str, wanted: Wanted) -> Option<Facts> {
    if let Some(marker) = &rule.marker
        && (page.hidden.is_empty() || !marker.is_match(&page.hidden))
    {
        return None;
    }
    if let Some(summary) = &rule.summary
        && !page.blocks.iter().any(|block| summary.is_match(&block.summary))
    {
        return None;
    }
    let top = head(view, TOP);
    let mut facts = Facts::default();
    let told = wanted == Wanted::All && matches!(rule.is, SignalIs::Skipped | SignalIs::Failed | SignalIs::Partial);
    if let Some(pattern) = &rule.pattern {
        // A count of what is closed may take back that the rule fits.
        let asked = if wanted == Wanted::All { told || pattern.has_groups() } else { rule.takes_back };
        if !asked {
            pattern.is_match(top).then_some(())?;
        } else {
            let found = pattern.groups(top)?;
            (found.name("closed").is_none() || found.name("closed") == found.name("count")).then_some(())?;
            facts.take(&found, told);
        }
    }
    if wanted == Wanted::Answer {
        return Some(facts);
    }
    if rule.is == SignalIs::Limited && facts.wait_s.is_none() {
        facts.wait_s = wait_in(top);
    }
    if told && facts.why.is_empty() {
        facts.why = reason(view);
    }
    facts.sha = rule.sha.as_ref().filter(|sha| reviewer.may(sha)).and_then(|sha| sha_of(sha, page));
    Some(facts)
}

impl Facts {
    /// Takes what the groups of a pattern hold; why it is so only where that is told.
    fn take(&mut self, found: &Groups<'_>, told: bool) {
        let group = |name: &str| found.name(name);
        let number = |name: &str| group(name).and_then(|text| text.parse::<u64>().ok());
        let parts = [("hours", 3_600), ("minutes", 60), ("seconds", 1)];
        let sum = |sum: Option<u64>, (name, unit): (&str, u64)| match number(name) {
            Some(n) => Some(sum.unwrap_or(0).saturating_add(n.saturating_mul(unit))),
            None => sum,
        };
        self.wait_s = parts.into_iter().fold(None, sum);
        self.count = number("count").and_then(|n| u32::try_from(n).ok());
        if told {
            self.why = reason(group("why").unwrap_or(found.text()));
        }
    }
}

/// Reads a stated wait such as `17 minutes and 37 seconds`; the first one of a text counts.
fn wait_in(text: &str) -> Option<u64> {
    let mut words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| !w.is_empty()).peekable();
    let mut sum = None;
    while let Some(word) = words.next() {
        let unit = words.peek().and_then(|w| unit_s(w));
        match (word.parse::<u64>().ok(), unit) {
            (Some(n), Some(unit)) => {
                sum = Some(sum.unwrap_or(0u64).saturating_add(n.saturating_mul(unit)));
                words.next();
            }
            _ if sum.is_some() && word != "and" => break,
            _ => {}
        }
    }
    sum
}

fn unit_s(word: &str) -> Option<u64> {
    match word.to_ascii_lowercase().as_str() {
        "second" | "seconds" | "sec" | "secs" => Some(1),
        "minute" | "minutes" | "min" | "mins" => Some(60),
        "hour" | "hours" | "hr" | "hrs" => Some(3_600),
        "day" | "days" => Some(86_400),
        _ => None,
    }
}

fn sha_of(pattern: &Pattern, page: &Page) -> Option<String> {
    let take = |text: &str| pattern.all_groups(text).last().and_then(|c| c.name("sha").map(str::to_lowercase));
    take(&page.flat).or_else(|| take(&page.hidden))
}

/// One readable line of a notice.
pub(super) fn reason(text: &str) -> String {
    let line = text.lines().find_map(super::title::field).unwrap_or_default();
    line.trim_matches(|c: char| matches!(c, '*' | '#' | '_' | ' ')).chars().take(200).collect()
}

fn signal(is: SignalIs, facts: Facts, clears: Option<bool>, clean: bool) -> Option<Signal> {
    match is {
        SignalIs::Running => Some(Signal::Running),
        SignalIs::Finished => Some(Signal::Finished { sha: facts.sha, clean: false, announced: facts.count }),
        SignalIs::Clean => Some(Signal::Finished { sha: facts.sha, clean, announced: clean.then_some(0) }),
        SignalIs::Limited => Some(Signal::Limited { wait_s: facts.wait_s, clears: clears.unwrap_or(true) }),
        SignalIs::Skipped => Some(Signal::Skipped(facts.why)),
        SignalIs::Failed => Some(Signal::Failed(facts.why)),
        SignalIs::Partial => Some(Signal::Partial(facts.why)),
        SignalIs::Nothing => None,
    }
}

/// Returns what stands in a clean body beside its fixed words.
fn left_over(rule: &SignalMatch, view: &str) -> Option<String> {
    if rule.envelope.is_empty() {
        return None;
    }
    let mut rest = view.to_owned();
    for fixed in &rule.envelope {
        if let Cow::Owned(less) = fixed.without(&rest) {
            rest = less;
        }
    }
    let speaks = |line: &str| super::title::strip(head(line, TOP)).chars().any(char::is_alphanumeric);
    rest.lines().any(speaks).then(|| rest.trim().to_owned())
}

/// Looks for a closing line, first or last, and takes it out of the words.
pub(super) fn closing(reviewer: &Sifted<'_>, words: &mut Words<'_>) -> Option<Closed> {
    let page = words.page;
    if !reviewer.closings.iter().any(|rule| reviewer.may(&rule.pattern)) {
        return None;
    }
    let spoken =
        |index: &usize| words.is_own(*index, Quotes::Drop) && !page.text(&page.lines[*index]).trim().is_empty();
    let ends = [(0..page.lines.len()).rev().find(spoken), (0..page.lines.len()).find(spoken)];
    for index in ends.into_iter().flatten() {
        let raw = page.text(&page.lines[index]);
        let line = super::clean::mask(raw.trim());
        for rule in &reviewer.closings {
            if !reviewer.fits(Some(&rule.pattern), &line) {
                continue;
            }
            let sha = rule.pattern.groups(raw.trim()).and_then(|c| c.name("sha").map(str::to_lowercase));
            words.drop_line(index);
            return Some(match rule.is {
                ClosingIs::Addressed => Closed::Addressed { sha },
                ClosingIs::Resolved => Closed::Resolved { sha },
                ClosingIs::Withdrawn => Closed::Withdrawn,
            });
        }
    }
    None
}

/// What a reply means, and whether its words give it away as one.
pub(super) fn verdict(file: &Sifted<'_>, page: &Page, view: &str) -> Option<(ReplyVerdict, bool)> {
    let view = head(view.trim_start(), TOP);
    let rule = file.verdicts.iter().find(|rule| {
        if ![&rule.pattern, &rule.marker].into_iter().flatten().all(|pattern| file.may(pattern)) {
            return false;
        }
        let said = rule.pattern.as_ref().is_none_or(|p| p.is_match(view));
        let marked = rule.marker.as_ref().is_none_or(|m| m.is_match(&page.hidden));
        said && marked && !rule.unless.as_ref().is_some_and(|u| u.is_match(view))
    })?;
    let verdict = match rule.is {
        VerdictIs::Accepts => ReplyVerdict::Accepts,
        VerdictIs::Insists => ReplyVerdict::Insists,
        VerdictIs::Notice => ReplyVerdict::Notice,
        VerdictIs::Unclear => ReplyVerdict::Unclear,
    };
    Some((verdict, rule.reply))
}

/// One check run or commit status, in words.
#[derive(Debug, Clone, Copy)]
pub struct CheckText<'a> {
    /// App slug, or the login of the status creator.
    pub app: &'a str,
    /// Name or context.
    pub name: &'a str,
    /// Title, summary and text, or the description of a status.
    pub text: &'a str,
    /// Conclusion, else status, in the forge's words: `success`, `neutral`, `in_progress` …
    pub conclusion: &'a str,
}

/// Returns which reviewer speaks through a check and what it says; words nobody knows are `Unknown`.
pub fn check_signals(rules: &Rules, check: CheckText<'_>) -> Option<(String, Vec<Signal>)> {
    let app = Login::new(check.app);
    for reviewer in rules.reviewers() {
        let mut hers = reviewer
            .checks
            .iter()
            .filter(|rule| rule.app.as_ref().is_none_or(|a| *a == app) && rule.name.is_match(check.name));
        let Some(first) = hers.next() else { continue };
        let fits = std::iter::once(first).chain(hers).find_map(|rule| {
            if !rule.conclusion.is_empty() && !rule.conclusion.iter().any(|c| c == check.conclusion) {
                return None;
            }
            let found = match &rule.text {
                Some(text) => Some(text.groups(check.text)?),
                None => None,
            };
            let count = found.as_ref().and_then(|c| c.name("count")).and_then(|m| m.parse().ok());
            let facts = Facts { count, why: reason(check.text), ..Facts::default() };
            Some(signal(rule.is, facts, None, true))
        });
        let signals = match fits {
            Some(signal) => signal.into_iter().collect(),
            None => vec![Signal::Unknown(reason(check.text))],
        };
        return Some((reviewer.name.clone(), signals));
    }
    None
}

/// Returns what a reaction of a reviewer's bot account means.
pub fn reaction_signal(rules: &Rules, login: &Login, content: &str) -> Option<(String, Signal)> {
    let reviewer = rules.reviewers().iter().find(|r| r.aliases.contains(login))?;
    let rule = reviewer.reactions.iter().find(|r| r.content == content)?;
    Some((reviewer.name.clone(), signal(rule.is, Facts::default(), None, true)?))
}
