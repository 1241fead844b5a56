//! Our block in the pull request's description: its lines, where it goes, and what of it is read back (R24).
//!
//! When it is written is decided in `outbox`. The rest of the description belongs to people and is never changed.

mod block;
mod line;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;
use serde::{Deserialize, Serialize};

use super::comeback::says_the_same;
use super::commands::{Command, parse};
use super::disarm::{cut, link_text, one_line};
use super::ids::FindingId;
use super::marker::{is_key, key};
use super::status::Status;
use super::summary::{CommandRecord, Entry, Proof, Summary, WriteKind};
use super::words::link;
use block::locate;
pub use block::{Block, BlockProblem, BlockReading, read, splice};
pub use line::{Line, Place, deferred_line, line};

const BEGIN: &str = "<!-- pushback:begin 1 -->";
const END: &str = "<!-- pushback:end -->";
const STATE: &str = "<!-- pushback:state 1 ";

/// Most characters the forge keeps of a description.
pub const MAX_BODY: usize = 65_536;

/// Rows of the table that are not folded: with headings and folds the block shows less than 40 lines.
const MAX_ROWS: usize = 24;

/// Counters that outlive a loss of state (R20).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counters {
    /// Rounds ever made.
    pub round: u32,
    /// Rounds since the last reset.
    pub rounds: u32,
    /// Rounds already counted at the last reset.
    pub reset_at_round: u32,
    /// Editor time.
    pub agent_seconds: u64,
    /// Tokens.
    pub tokens: u64,
    /// Money, in millionths, so that it is read back exactly.
    pub cost_micro_usd: u64,
    /// Attempts per finding, where there were any.
    pub attempts: BTreeMap<FindingId, u32>,
    /// Exchanges per finding, where there were any.
    pub exchanges: BTreeMap<FindingId, u32>,
    /// Keys that were restored once.
    pub restored: BTreeSet<String>,
}

/// Returns the counters of a summary.
pub fn counters(summary: &Summary) -> Counters {
    let each = |of: fn(&Entry) -> u32| {
        summary.comments.iter().map(|(id, entry)| (*id, of(entry))).filter(|(_, n)| *n > 0).collect()
    };
    Counters {
        round: summary.round,
        rounds: summary.used.rounds,
        reset_at_round: summary.reset_at_round,
        agent_seconds: summary.used.agent_seconds,
        tokens: summary.used.tokens,
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a float cast saturates")]
        cost_micro_usd: (summary.used.cost_usd * 1e6).round() as u64,
        attempts: each(|entry| entry.finding.attempts),
        exchanges: each(|entry| entry.exchanges),
        restored: summary.restored.iter().filter(|key| is_key(key)).cloned().collect(),
    }
}

/// Returns the lines of all findings. A claim that came back is told once, by its newest form (FC-39); what only stands at
/// the place of a settled one keeps that one's reason beside it.
fn lines(summary: &Summary) -> Vec<(&Entry, Line)> {
    let all: Vec<(&Entry, Line)> = summary.comments.values().filter_map(|e| line(e).map(|l| (e, l))).collect();
    let newer: BTreeSet<FindingId> = all
        .iter()
        .filter(|(_, line)| line.place == Place::Reason)
        .flat_map(|(entry, _)| entry.finding.previous.iter().map(move |id| (*entry, *id)))
        .filter(|(entry, id)| summary.comments.get(id).is_some_and(|former| one_claim(former, entry)))
        .map(|(_, id)| id)
        .collect();
    let told = |entry: &Entry, line: &Line| {
        line.place == Place::Reason && entry.finding.status.settled() && newer.contains(&line.id)
    };
    all.into_iter().filter(|(entry, line)| !told(entry, line)).collect()
}

/// Tells whether a comeback makes the claim of its predecessor, so that one reason speaks for both.
fn one_claim(former: &Entry, newer: &Entry) -> bool {
    let identity = former.identity.is_some() && former.identity == newer.identity;
    identity || says_the_same((&former.finding.title, &former.text), (&newer.finding.title, &newer.text))
}

/// Commands of people that the block shows, newest last, at most.
const MAX_COMMANDS: usize = 20;

/// Returns the commands that the block shows, each with its key.
fn commands(summary: &Summary) -> Vec<(String, &CommandRecord)> {
    let obeyed: Vec<&CommandRecord> = summary.commands.iter().filter(|record| record.refused.is_none()).collect();
    let newest = obeyed.into_iter().rev().take(MAX_COMMANDS).rev();
    newest.map(|record| (command_key(&record.version), record)).collect()
}

fn command_key(version: &str) -> String {
    key(WriteKind::React, "command", version)
}

/// Returns the key that says what a command in force was given about: the text it accepts, or the grade it replaces.
fn about_key(summary: &Summary, record: &CommandRecord) -> Option<String> {
    let entry = summary.comments.get(&record.id?)?;
    let about = match parse(&record.said)?.ok()? {
        Command::Accept { .. } => match (entry.finding.status, &entry.proof) {
            (Status::Withdrawn, Some(Proof::Person { .. })) => entry.body_hash.as_str(),
            _ => return None,
        },
        Command::Regrade { .. } => entry.regrade.as_ref()?.from.as_str(),
        Command::Retry | Command::OutOfScope { .. } => return None,
    };
    Some(key(WriteKind::React, &record.version, about))
}

/// Tells what a description shows a command to have been given about; `None` where it does not show the command.
///
/// Of the candidates it is the one that was meant; a command that is in force no more is about none of them.
pub fn given_about<'a>(body: &str, version: &str, candidates: &[&'a str]) -> Option<Option<&'a str>> {
    let BlockReading::Block(block) = read(body) else { return None };
    let shown = block.lines.contains_key(&command_key(version));
    let about = |about: &&&str| block.lines.contains_key(&key(WriteKind::React, version, about));
    shown.then(|| candidates.iter().find(about).copied())
}

/// Returns the keys of everything that the block has to say.
pub fn wanted_keys(summary: &Summary) -> BTreeSet<String> {
    let lines = lines(summary).into_iter().map(|(_, line)| line.key);
    let keys = |(key, record): (String, &CommandRecord)| [Some(key), about_key(summary, record)];
    lines.chain(commands(summary).into_iter().flat_map(keys).flatten()).collect()
}

fn draw_commands(summary: &Summary) -> String {
    let shown = commands(summary);
    if shown.is_empty() {
        return String::new();
    }
    let item = |(key, record): &(String, &CommandRecord)| {
        let said = one_line(&cut(&record.said, 300));
        let on = record
            .id
            .and_then(|id| summary.comments.get(&id))
            .map_or_else(String::new, |entry| format!(" on {}", link(&entry.finding.title, &entry.finding.url)));
        let about = about_key(summary, record);
        let keys = receipt([key.as_str()].into_iter().chain(about.as_deref()));
        format!("- {}: {said}{on} {keys}", link_text(record.by.as_str(), 40))
    };
    let items: Vec<String> = shown.iter().map(item).collect();
    let title = if items.len() == 1 { "1 command".to_owned() } else { format!("{} commands", items.len()) };
    fold(&title, &items.join("\n"))
}

/// Returns the findings whose reasons have to stand in the description, with their keys.
pub fn required(summary: &Summary) -> Vec<(FindingId, String)> {
    let lines = lines(summary).into_iter().map(|(_, line)| line);
    lines.filter(|line| line.place == Place::Reason).map(|line| (line.id, line.key)).collect()
}

/// Returns the findings whose reasons are not in the description as read.
pub fn missing(summary: &Summary, read: &BlockReading) -> Vec<FindingId> {
    let known = |line: &Line| match read {
        BlockReading::Block(block) => block.lines.get(&line.key).is_some_and(|text| shows(text, &line.outcome)),
        BlockReading::Absent | BlockReading::Broken(_) => false,
    };
    let reasons = lines(summary).into_iter().map(|(_, line)| line).filter(|line| line.place == Place::Reason);
    reasons.filter(|line| !known(line)).map(|line| line.id).collect()
}

/// Tells whether a line that was read still shows anything of a reason: a key alone tells a reader nothing. Words that a
/// person changed in it, and the cut of a long one, are no matter.
fn shows(text: &str, outcome: &str) -> bool {
    let reason = |line: &str| line.split_once(": ").map_or("", |(_, reason)| reason).trim().to_owned();
    let (shown, wanted) = (reason(text), reason(outcome));
    if wanted.is_empty() {
        return !text.is_empty();
    }
    let begin: String = shown.trim_end_matches('…').chars().take(8).collect();
    let words = |text: &str| -> BTreeSet<String> {
        text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
    };
    (!begin.is_empty() && wanted.starts_with(&begin)) || !words(&shown).is_disjoint(&words(&wanted))
}

/// How much the block is folded to fit.
#[derive(Debug, Clone, Copy)]
struct Shape {
    acknowledged: usize,
    reason: usize,
    keys: bool,
}

/// Renders the block in at most `room` characters, oldest acknowledgements folded first; `None` when it cannot fit.
pub fn render(summary: &Summary, room: usize) -> Option<String> {
    let all = lines(summary);
    let state = counters(summary);
    let mut shape = Shape { acknowledged: all.len(), reason: usize::MAX, keys: true };
    loop {
        let block = draw(&all, &state, shape, &if shape.keys { draw_commands(summary) } else { String::new() });
        if measure(&block) <= room {
            return Some(block);
        }
        shape = match shape {
            Shape { acknowledged: 1.., .. } => Shape { acknowledged: shape.acknowledged * 4 / 5, ..shape },
            Shape { keys: true, .. } => Shape { keys: false, ..shape },
            Shape { reason: 601.., .. } => Shape { reason: 600, ..shape },
            Shape { reason: 161.., .. } => Shape { reason: 160, ..shape },
            Shape { reason: 61.., .. } => Shape { reason: 60, ..shape },
            Shape { .. } => return None,
        };
    }
}

/// Renders the block for a description as it is now.
pub fn render_for(summary: &Summary, body: &str) -> Result<String, BlockProblem> {
    let foreign = match locate(body)? {
        Some(range) => measure(body) - measure(&body[range]),
        None => measure(body) + 2,
    };
    render(summary, MAX_BODY.saturating_sub(foreign)).ok_or(BlockProblem::TooLong)
}

/// Tells whether there is anything to describe.
pub fn wanted(summary: &Summary) -> bool {
    summary.round > 0 || !commands(summary).is_empty() || summary.comments.values().any(|entry| line(entry).is_some())
}

fn measure(text: &str) -> usize {
    text.encode_utf16().count()
}

fn draw(all: &[(&Entry, Line)], state: &Counters, shape: Shape, commands: &str) -> String {
    let at = |place: Place| all.iter().filter(move |(_, line)| line.place == place);
    let mut rows: Vec<_> = at(Place::Reason).chain(at(Place::Row)).collect();
    rows.sort_by_key(|(entry, line)| (line.place, entry.finding.severity, line.id));
    let folded = rows.split_off(rows.len().min(MAX_ROWS));
    let mut out = String::new();
    if !rows.is_empty() {
        out.push('\n');
        out.push_str(&table(&rows, shape.reason));
    }
    if !folded.is_empty() {
        out.push_str(&fold(&format!("{} more", folded.len()), table(&folded, shape.reason).trim_end()));
    }
    out.push_str(&acknowledged(at(Place::Acknowledged).collect(), shape));
    out.push_str(&nits(at(Place::Nit).collect(), shape));
    out.push_str(commands);
    let state = serde_json::to_string(state).unwrap_or_default();
    // A heading over nothing would only puzzle people.
    let title = if out.is_empty() { "" } else { "### Review findings\n" };
    format!("{BEGIN}\n{title}{out}\n{STATE}{state} -->\n{END}")
}

fn fold(title: &str, content: &str) -> String {
    format!("\n<details><summary>{title}</summary>\n\n{content}\n\n</details>\n")
}

fn table(rows: &[&(&Entry, Line)], reason: usize) -> String {
    let mut out = "| Finding | Outcome |\n| --- | --- |\n".to_owned();
    for (entry, line) in rows {
        let outcome =
            if line.outcome.len() > reason { one_line(&cut(&line.outcome, reason)) } else { line.outcome.clone() };
        let finding = &entry.finding;
        out.push_str(&format!(
            "| {} {} | {outcome} {} |\n",
            finding.severity,
            named(entry),
            receipt([line.key.as_str()])
        ));
    }
    out
}

fn named(entry: &Entry) -> String {
    let finding = &entry.finding;
    format!("{} ({})", link(&finding.title, &finding.url), link_text(finding.author.as_str(), 40))
}

fn receipt<'a>(keys: impl IntoIterator<Item = &'a str>) -> String {
    format!("<!-- k={} -->", keys.into_iter().collect::<Vec<_>>().join(","))
}

/// Lines of the description with the findings they are about.
type Lines<'a, 'b> = Vec<&'a (&'b Entry, Line)>;

/// Sorts by age and splits the oldest off, as far as the shape asks for it.
fn oldest<'a, 'b>(mut all: Lines<'a, 'b>, shape: Shape) -> (Lines<'a, 'b>, Lines<'a, 'b>) {
    all.sort_by_key(|(entry, line)| (entry.history.first().map(|m| m.at), line.id));
    let newest = all.split_off(all.len().saturating_sub(shape.acknowledged));
    (all, newest)
}

fn folded_keys(old: &[&(&Entry, Line)], shape: Shape) -> String {
    if shape.keys { format!(" {}", receipt(old.iter().map(|(_, line)| line.key.as_str()))) } else { String::new() }
}

fn acknowledged(all: Vec<&(&Entry, Line)>, shape: Shape) -> String {
    if all.is_empty() {
        return String::new();
    }
    let title = format!("{} acknowledged (P3)", all.len());
    let (old, new) = oldest(all, shape);
    let mut items: Vec<String> =
        new.iter().rev().map(|(entry, line)| format!("- {} {}", named(entry), receipt([line.key.as_str()]))).collect();
    if !old.is_empty() {
        items.push(format!("- and {} older{}", old.len(), folded_keys(&old, shape)));
    }
    fold(&title, &items.join("\n"))
}

fn nits(all: Vec<&(&Entry, Line)>, shape: Shape) -> String {
    if all.is_empty() {
        return String::new();
    }
    let title = if all.len() == 1 { "1 nit".to_owned() } else { format!("{} nits", all.len()) };
    let (old, new) = oldest(all, shape);
    let mut items: Vec<String> = new
        .iter()
        .rev()
        .map(|(entry, line)| {
            format!("{} {}", link(&entry.finding.title, &entry.finding.url), receipt([line.key.as_str()]))
        })
        .collect();
    if !old.is_empty() {
        items.push(format!("and {} older{}", old.len(), folded_keys(&old, shape)));
    }
    fold(&title, &items.join(", "))
}

static RECEIPT: LazyLock<Regex> = LazyLock::new(|| {
    #[expect(clippy::expect_used, reason = "a fixed pattern, compiled by every test")]
    Regex::new(r"<!-- k=(?P<keys>[0-9a-f]{16}(?:,[0-9a-f]{16})*) -->").expect("a valid pattern")
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::review::decision::Verb;
    use crate::review::ids::Login;
    use crate::review::sample;
    use crate::review::severity::Severity;
    use insta::assert_snapshot;
    use proptest::prelude::*;

    fn settled(mut entry: Entry, status: Status, proof: Proof) -> Entry {
        entry.finding.status = status;
        entry.proof = Some(proof);
        entry
    }

    fn argued(id: &str, reason: &str) -> Entry {
        let mut entry = sample::entry(id, Severity::P2);
        entry.pending = Some(sample::pending(Verb::Argue, reason));
        entry
    }

    fn block_of(body: &str) -> Block {
        match read(body) {
            BlockReading::Block(block) => block,
            other @ (BlockReading::Absent | BlockReading::Broken(_)) => panic!("{other:?}"),
        }
    }

    #[test]
    fn r24_the_block_reads_well() {
        let fix = Proof::Commit { sha: sample::sha('c'), place: "src/a.rs:10-12".into() };
        let gone = Proof::AnchorGone { head: sample::sha('c'), because: "`src/a.rs` was removed".into() };
        let person = Proof::Person { by: Login::new("ann"), because: "ok | for now".into() };
        let mut summary = sample::summary(vec![
            argued("c1", "`parse` is only called with checked input, see @codex #12.\n\nAnd | that is tested."),
            settled(sample::entry("c2", Severity::P1), Status::Fixed, fix),
            settled(sample::entry("r3.1", Severity::P2), Status::Stale, gone),
            settled(sample::entry("c4", Severity::P1), Status::Withdrawn, person),
            sample::entry("c5", Severity::P3),
            sample::entry("c6", Severity::P3),
            sample::entry("c7", Severity::Nit),
            sample::entry("c8", Severity::Nit),
            sample::entry("c9", Severity::P1),
        ]);
        summary.used.cost_usd = 1.25;
        let block = render(&summary, MAX_BODY).expect("room");
        assert_snapshot!(block);
        assert_eq!(missing(&summary, &read(&block)), []);
    }

    #[test]
    fn r24_a_key_without_its_reason_shows_nothing() {
        let summary = sample::summary(vec![argued("c1", "The list is fixed, so no word can hold a space")]);
        let block = render(&summary, MAX_BODY).expect("room");
        let check = |from: &str, to: &str, stands: bool| {
            assert!(block.contains(from), "{block}");
            assert_eq!(missing(&summary, &read(&block.replace(from, to))).is_empty(), stands, "{to:?}");
        };
        check("The list is fixed, so no word can hold a space", "", false);
        check("Left as it is: The list is fixed, so no word can hold a space", "", false);
        check("The list is fixed, so no word can hold a space", "see chat", false);
        check("The list is fixed, so no word can hold a space", "The list…", true);
        check("so no word can hold a space", "says ann", true);
        check("Left as it is", "Kept", true);
        let japanese = sample::summary(vec![argued("c1", "一覧は固定なので空白は入りません、呼び出し側も確認済み")]);
        let block =
            render(&japanese, MAX_BODY).expect("room").replace("ので空白は入りません、呼び出し側も確認済み", "…");
        assert_eq!(missing(&japanese, &read(&block)), []);
    }

    #[test]
    fn r24_only_reasons_are_required() {
        let summary = sample::summary(vec![argued("c1", "why"), sample::entry("c5", Severity::P3)]);
        let missing = |body: &str| missing(&summary, &read(body));
        assert_eq!(missing(""), ["c1".parse().expect("id")]);
        let block = render(&summary, MAX_BODY).expect("room");
        assert_eq!(missing(&block), []);
        let removed: String = block.lines().filter(|l| !l.contains("why")).map(|l| format!("{l}\n")).collect();
        assert_eq!(missing(&removed), ["c1".parse().expect("id")]);
        assert_eq!(missing(&format!("```\n{block}\n```")), ["c1".parse().expect("id")], "in a fence it does not count");
    }

    #[test]
    fn r6_a_p1_has_no_line_for_an_argument() {
        let mut entry = argued("c1", "why");
        entry.finding.severity = Severity::P1;
        assert_eq!(line(&entry), None);
    }

    fn check(body: &str, expected: Result<&str, BlockProblem>) {
        assert_eq!(splice(body, "NEW"), expected.map(str::to_owned), "{body:?}");
    }

    #[test]
    fn r24_the_pair_of_lines_decides() {
        let pair = |begins, ends| Err(BlockProblem::Pair { begins, ends });
        check("", Ok("NEW"));
        check("a", Ok("a\n\nNEW"));
        check("a\n", Ok("a\n\nNEW"));
        check("a\r\n\r\n", Ok("a\r\n\r\nNEW"));
        check(&format!("a\r\n{BEGIN}\r\nx\r\n{END}\r\nb"), Ok("a\r\nNEW\r\nb"));
        check(&format!("{BEGIN}\n{END}"), Ok("NEW"));
        check(&format!("{BEGIN}\nx"), pair(1, 0));
        check(END, pair(0, 1));
        check(&format!("{BEGIN}\n{BEGIN}\n{END}"), pair(2, 1));
        check(&format!("{BEGIN}\n{END}\n{BEGIN}\n{END}"), pair(2, 2));
        check(&format!("{END}\n{BEGIN}"), Err(BlockProblem::Order));
        check(&format!(" {BEGIN}\n{END}"), Err(BlockProblem::Changed));
        check("<!-- pushback:begin 2 -->\nx", Err(BlockProblem::Changed));
        check(&format!("see `{BEGIN}` here"), Ok(&format!("see `{BEGIN}` here\n\nNEW")));
        check(&format!("```\n{BEGIN}\n{END}\n```"), Ok(&format!("```\n{BEGIN}\n{END}\n```\n\nNEW")));
        check("```\nopen", Err(BlockProblem::OpenFence));
        check(&format!("```\n{BEGIN}\n{END}"), Err(BlockProblem::OpenFence));
        check(&format!("{BEGIN}\n{END}\n```\nopen"), Ok("NEW\n```\nopen"));
        check(&"x".repeat(MAX_BODY), Err(BlockProblem::TooLong));
    }

    #[test]
    fn r24_the_oldest_acknowledgements_fold_first() {
        let entries = |n: u64, severity| (1..=n).map(move |i| sample::entry(&format!("c{i}"), severity));
        let mut all: Vec<Entry> = entries(900, Severity::P3).collect();
        all.push(argued("c1000", &"reason ".repeat(200)));
        let summary = sample::summary(all);
        let body = "people's text\n".repeat(1_000);
        let block = render_for(&summary, &body).expect("it fits");
        let whole = splice(&body, &block).expect("it fits");
        assert!(whole.len() <= MAX_BODY && whole.starts_with(&body));
        assert!(block.contains("Reject empty input c900]") && !block.contains("Reject empty input c1]"));
        assert!(block.contains("older") && block.contains(&"reason ".repeat(199)));
        let keys = block_of(&whole).lines;
        assert_eq!(keys.len(), 901, "folded ones are still read back");
        let full = "x".repeat(MAX_BODY - 100);
        assert_eq!(render_for(&summary, &full), Err(BlockProblem::TooLong));
    }

    #[test]
    fn r24_at_most_forty_lines_are_visible() {
        let mut all: Vec<Entry> = (1..=100).map(|i| argued(&format!("c{i}"), "why it stays")).collect();
        all.extend((200..300).map(|i| sample::entry(&format!("c{i}"), Severity::P3)));
        all.extend((300..400).map(|i| sample::entry(&format!("c{i}"), Severity::Nit)));
        let summary = sample::summary(all);
        let block = render(&summary, MAX_BODY).expect("room");
        let (mut visible, mut folded) = (0, false);
        for line in block.lines() {
            folded |= line.starts_with("<details>");
            visible += usize::from(!folded || line.starts_with("<details>"));
            folded &= line != "</details>";
        }
        assert!(visible <= 40, "{visible}");
        assert_eq!(missing(&summary, &read(&block)), []);
    }

    #[test]
    fn r20_counters_are_read_back() {
        let mut entry = sample::entry("c1", Severity::P1);
        entry.finding.attempts = 2;
        entry.exchanges = 1;
        let mut summary = sample::summary(vec![entry]);
        summary.used.cost_usd = 0.1 + 0.2;
        summary.used.agent_seconds = 77;
        summary.restored = vec!["0123456789abcdef".into(), "--> not a key".into()];
        let block = render(&summary, MAX_BODY).expect("room");
        assert_eq!(block_of(&block).counters, Some(counters(&summary)));
    }

    proptest! {
        #[test]
        fn r24_what_is_rendered_is_read_back(reasons in proptest::collection::vec("(?s).{1,120}", 0..6), title in ".{0,120}") {
            let all: Vec<Entry> = reasons.iter().enumerate().map(|(n, reason)| {
                let mut entry = argued(&format!("c{}", n + 1), &format!("because {reason}"));
                entry.finding.title = title.clone();
                entry.finding.url = format!("https://x.io/{}", title.len());
                entry
            }).collect();
            let summary = sample::summary(all);
            let block = render(&summary, MAX_BODY).expect("room");
            let read = block_of(&format!("text\n\n{block}\nmore"));
            let lines: BTreeMap<String, String> =
                summary.comments.values().filter_map(line).map(|line| (line.key, line.outcome)).collect();
            prop_assert_eq!(read.lines, lines);
            prop_assert_eq!(read.counters, Some(counters(&summary)));
            prop_assert_eq!(missing(&summary, &self::read(&block)), []);
        }

        #[test]
        fn fm_43_peoples_text_never_changes(before in foreign(), after in foreign(), reason in "(?s).{0,80}") {
            let old = render(&sample::summary(vec![argued("c1", "old")]), MAX_BODY).expect("room");
            let new = render(&sample::summary(vec![argued("c1", &reason)]), MAX_BODY).expect("room");
            for body in [before.clone(), format!("{before}\n{old}\n{after}"), format!("{before}{old}{after}")] {
                let Ok(written) = splice(&body, &new) else { continue };
                let at = written.find(&new).expect("the block is there");
                match locate(&body).expect("it was written") {
                    None => prop_assert_eq!(written[..at].trim_end(), body.trim_end()),
                    Some(range) => {
                        prop_assert_eq!(&written[..at], &body[..range.start]);
                        prop_assert_eq!(&written[at + new.len()..], &body[range.end..]);
                    }
                }
                prop_assert!(written.starts_with(&body[..at.min(body.len())]));
                prop_assert_eq!(splice(&written, &new), Ok(written.clone()));
                prop_assert_eq!(missing(&sample::summary(vec![argued("c1", &reason)]), &read(&written)), []);
            }
        }
    }

    fn foreign() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            Just("\n".to_owned()),
            Just("\r\n".to_owned()),
            Just("```".to_owned()),
            Just(BEGIN.to_owned()),
            Just(END.to_owned()),
            Just("<!--".to_owned()),
            Just("-->".to_owned()),
            Just("</details>".to_owned()),
            ".{0,6}",
        ];
        proptest::collection::vec(piece, 0..8).prop_map(|v| v.concat())
    }
}
