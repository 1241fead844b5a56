//! A person decides finding by finding: the list, what may be chosen, what is advised, what a choice leads to, and how one
//! finding looks on a small terminal. Asking, drafting and posting are done elsewhere.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::brief::Around;
use super::classify::readable;
use super::commands::may_regrade;
use super::comment::{AccountKind, Author};
use super::decision::PlanDraft;
use super::disarm::{clean, one_line};
use super::ids::FindingId;
use super::judge::PlaceNow;
use super::observation::{Observation, Permission};
use super::policy::Policy;
use super::severity::Severity;
use super::status::Status;
use super::summary::{Entry, Summary};

/// What a person chose for one finding. Kept in the state until it is carried out or taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "choice", rename_all = "snake_case")]
pub enum Choice {
    /// The editor is started on it.
    Fix,
    /// It is argued down.
    Argue {
        /// Why.
        reason: String,
    },
    /// Its place is gone.
    Stale,
    /// It is left to a follow-up.
    Defer {
        /// Why.
        reason: String,
        /// The plan.
        plan: PlanDraft,
    },
    /// Its question is answered.
    Answer {
        /// The answer.
        reason: String,
    },
    /// It gets another severity.
    Regrade {
        /// Which.
        to: Severity,
        /// Why.
        reason: String,
    },
    /// It is taken as it is.
    Accept {
        /// Why; may be empty.
        reason: String,
    },
}

/// The kinds of choices, each with its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "`Choice` explains them")]
pub enum Kind {
    Fix,
    Argue,
    Stale,
    Defer,
    Answer,
    Regrade,
    Accept,
}

impl Kind {
    /// Every kind, in the order in which they are offered.
    pub const ALL: [Self; 7] =
        [Self::Fix, Self::Argue, Self::Stale, Self::Defer, Self::Answer, Self::Regrade, Self::Accept];

    /// Returns its key.
    pub fn key(self) -> char {
        match self {
            Self::Fix => 'f',
            Self::Argue => 'a',
            Self::Stale => 's',
            Self::Defer => 'o',
            Self::Answer => 'w',
            Self::Regrade => 'r',
            Self::Accept => 'c',
        }
    }

    /// Returns its word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Fix => "fix now",
            Self::Argue => "argue",
            Self::Stale => "stale",
            Self::Defer => "follow-up",
            Self::Answer => "answer",
            Self::Regrade => "re-grade",
            Self::Accept => "accept",
        }
    }
}

impl Choice {
    /// Returns its kind.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Fix => Kind::Fix,
            Self::Argue { .. } => Kind::Argue,
            Self::Stale => Kind::Stale,
            Self::Defer { .. } => Kind::Defer,
            Self::Answer { .. } => Kind::Answer,
            Self::Regrade { .. } => Kind::Regrade,
            Self::Accept { .. } => Kind::Accept,
        }
    }

    /// Returns the text that goes with it, for editing it again.
    pub fn text(&self) -> &str {
        match self {
            Self::Argue { reason }
            | Self::Defer { reason, .. }
            | Self::Answer { reason }
            | Self::Regrade { reason, .. }
            | Self::Accept { reason } => reason,
            Self::Fix | Self::Stale => "",
        }
    }

    /// Says it in a few words.
    pub fn words(&self) -> String {
        match self {
            Self::Regrade { to, .. } => format!("re-grade {to}"),
            Self::Fix
            | Self::Argue { .. }
            | Self::Stale
            | Self::Defer { .. }
            | Self::Answer { .. }
            | Self::Accept { .. } => self.kind().word().to_owned(),
        }
    }

    /// Returns the thread command that carries it out; `None` where it is carried out otherwise. The first line is all of it.
    pub fn command(&self) -> Option<String> {
        let line = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
        match self {
            Self::Regrade { to, reason } => Some(line(format!("/pushback regrade {to} {}", clean(reason)))),
            Self::Accept { reason } => Some(line(format!("/pushback accept {}", clean(reason)))),
            Self::Fix | Self::Argue { .. } | Self::Stale | Self::Defer { .. } | Self::Answer { .. } => None,
        }
    }
}

/// Returns what waits for a decision: open findings and what waits for a person, worst first, by file and line.
pub fn list(summary: &Summary) -> Vec<FindingId> {
    let waits = |entry: &&Entry| entry.finding.status == Status::Open || entry.finding.needs_person;
    let mut open: Vec<&Entry> = summary.comments.values().filter(waits).collect();
    open.sort_by_key(|entry| {
        let f = &entry.finding;
        (f.severity, f.path.clone(), f.line, f.id)
    });
    open.into_iter().map(|entry| entry.finding.id).collect()
}

/// What the account at the keyboard may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rights {
    /// Its thread commands are obeyed.
    pub commands: bool,
    /// It may re-grade, and so take back a P1.
    pub regrade: bool,
    /// An editor is there.
    pub editor: bool,
    /// It is known to have write permission: what is said here is then as good as a command in a thread.
    pub writes: bool,
}

impl Rights {
    /// Reads them from what is known of the account. A bot's commands are never obeyed.
    pub fn of(obs: &Observation, policy: &Policy, editor: bool) -> Self {
        let person = |author: &&Author| author.kind == AccountKind::Person;
        let account = obs.account.as_ref().filter(person);
        let regrade = account.is_some_and(|by| may_regrade(&policy.gate.regrade, by, obs.pr.author.as_ref()));
        let writes = account.is_some_and(|by| obs.permission(by) == Permission::Write);
        Self { commands: account.is_some(), regrade, editor, writes }
    }
}

/// Returns what may be chosen for a finding.
pub fn allowed(entry: &Entry, rights: Rights) -> Vec<Kind> {
    let finding = &entry.finding;
    let (open, p1) = (finding.status == Status::Open, finding.severity == Severity::P1);
    let spoken = rights.commands && entry.thread.is_some();
    let may = |kind: &Kind| match kind {
        Kind::Fix => open && rights.editor && finding.severity.blocks(),
        Kind::Argue => open && finding.severity.arguable(),
        Kind::Stale => open && finding.path.is_some(),
        Kind::Defer => open && !p1,
        Kind::Answer => open && !p1 && entry.is_question,
        Kind::Regrade => open && spoken && rights.regrade,
        // With its comment a thread may be gone too: then the word is kept here.
        Kind::Accept => (spoken || entry.orphaned() && rights.writes) && (!p1 || rights.regrade),
    };
    Kind::ALL.into_iter().filter(may).collect()
}

/// Returns what is advised for a finding, and why. The first row that fits decides; only what is allowed is advised.
pub fn advised(entry: &Entry, place: &PlaceNow, allowed: &[Kind], attempts: u32) -> Option<(Kind, String)> {
    let finding = &entry.finding;
    let drafted = entry.pending.as_ref().filter(|_| finding.needs_person).map(|pending| pending.reason.clone());
    let rows = [
        (Kind::Accept, finding.status == Status::Gone, "its comment was deleted".to_owned()),
        (Kind::Stale, matches!(place, PlaceNow::Gone { by: None, .. }), "its place is gone".to_owned()),
        (Kind::Answer, entry.is_question, "it asks a question".to_owned()),
        (Kind::Argue, drafted.is_some(), "an argument is drafted and waits for you".to_owned()),
        (
            Kind::Regrade,
            finding.attempts >= attempts && finding.severity.blocks(),
            format!("{} attempts did not settle it", finding.attempts),
        ),
        (Kind::Fix, finding.severity == Severity::P1, "a P1 is settled by a fix".to_owned()),
        (
            Kind::Fix,
            finding.severity == Severity::P2,
            "no attempt was made yet or the last one can be mended".to_owned(),
        ),
        (Kind::Accept, !finding.severity.blocks(), "it blocks nothing".to_owned()),
    ];
    rows.into_iter().find(|(kind, fits, _)| *fits && allowed.contains(kind)).map(|(kind, _, why)| (kind, why))
}

/// What the drafts of a person lead to, in the order in which it is done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Thread commands: finding and text.
    pub commands: Vec<(FindingId, String)>,
    /// Answers that are judged and posted.
    pub answers: Vec<(FindingId, Choice)>,
    /// Findings the editor is started on.
    pub fixes: Vec<FindingId>,
    /// Drafts that fit no more, and why.
    pub void: Vec<(FindingId, String)>,
}

/// Sorts drafts by what they lead to.
pub fn outcome(summary: &Summary, drafts: &BTreeMap<FindingId, Choice>, rights: Rights) -> Outcome {
    let mut out = Outcome::default();
    for (id, choice) in drafts {
        let Some(entry) = summary.comments.get(id) else {
            out.void.push((*id, "it is not on this pull request any more".to_owned()));
            continue;
        };
        if !allowed(entry, rights).contains(&choice.kind()) {
            let why =
                format!("`{}` fits no more: it is {} {}", choice.words(), entry.finding.severity, entry.finding.status);
            out.void.push((*id, why));
        } else if let Some(command) = choice.command() {
            out.commands.push((*id, command));
        } else if *choice == Choice::Fix {
            out.fixes.push(*id);
        } else {
            out.answers.push((*id, choice.clone()));
        }
    }
    out
}

/// Size of the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Columns.
    pub columns: usize,
    /// Rows.
    pub rows: usize,
}

/// Returns one row of the list.
pub fn row(entry: &Entry, draft: Option<&Choice>, columns: usize) -> String {
    let finding = &entry.finding;
    let mark = if finding.needs_person { '!' } else { ' ' };
    let drafted = draft.map_or_else(String::new, |choice| format!("[{}]", choice.words()));
    let place = tail(&place(entry), 20);
    let head = format!("{:<3}{mark} {place:<20} ", finding.severity.to_string());
    let room = columns.saturating_sub(head.chars().count() + drafted.chars().count() + 6).max(8);
    let title = fit(&finding.title, room);
    format!("{head}{title:<room$} {drafted}").trim_end().to_owned()
}

fn place(entry: &Entry) -> String {
    match (&entry.finding.path, entry.finding.line) {
        (Some(path), Some(line)) => format!("{path}:{line}"),
        (Some(path), None) => path.clone(),
        (None, _) => "-".to_owned(),
    }
}

/// Cuts a text to one line of this many characters.
fn fit(text: &str, most: usize) -> String {
    let flat = clean(text).split_whitespace().collect::<Vec<_>>().join(" ");
    if flat.chars().count() <= most {
        return flat;
    }
    format!("{}…", flat.chars().take(most.saturating_sub(1)).collect::<String>())
}

/// Keeps the end of a text: of a place, file and line say most.
fn tail(text: &str, most: usize) -> String {
    let (flat, chars) = (clean(text), clean(text).chars().count());
    if chars <= most {
        return flat;
    }
    format!("…{}", flat.chars().skip(chars - most + 1).collect::<String>())
}

/// What is shown of one finding.
#[derive(Debug, Clone, Copy)]
pub struct Card<'a> {
    /// The finding.
    pub entry: &'a Entry,
    /// Its code, hunk and thread.
    pub around: &'a Around,
    /// What rounds tried, one line each.
    pub tried: &'a [String],
    /// Number in the list and length of the list.
    pub at: (usize, usize),
    /// What is advised.
    pub advice: Option<&'a (Kind, String)>,
    /// What is drafted.
    pub draft: Option<&'a Choice>,
}

/// Lays one finding out so that it and two lines of keys fit into the terminal.
pub fn card(card: Card<'_>, size: Size) -> String {
    let finding = &card.entry.finding;
    let line = |text: &str| fit(text, size.columns.saturating_sub(1));
    let mut head = vec![line(&format!(
        "{}/{} {} {} {} by {} at {}",
        card.at.0,
        card.at.1,
        finding.severity,
        finding.status,
        finding.id,
        finding.author,
        place(card.entry)
    ))];
    head.push(line(&finding.title));
    if !finding.why.is_empty() {
        head.push(line(&finding.why));
    }
    let mut foot = Vec::new();
    if let Some((kind, why)) = card.advice {
        foot.push(line(&format!("advice: {} ({}): {why}", kind.word(), kind.key())));
    }
    if let Some(draft) = card.draft {
        foot.push(line(&format!("drafted: {} {}", draft.words(), one_line(draft.text()))));
    }
    let mut left = size.rows.saturating_sub(head.len() + foot.len() + 5);
    let mut parts: Vec<(&str, Vec<String>)> = Vec::new();
    let said = wrapped(&readable(&card.entry.text), size.columns.saturating_sub(3));
    let code = near(card.entry, &card.around.code);
    let hunk: Vec<&str> = card.around.hunk.lines().rev().take(10).collect();
    let thread = card.around.thread.iter().rev().take(3).rev().map(|l| format!("{}: {}", l.author, readable(&l.text)));
    let extra = size.rows.saturating_sub(24);
    let tried = card.tried.iter().rev().take(2).rev().cloned().collect();
    let wanted: [(&str, Vec<String>, usize); 5] = [
        ("said", said, 4 + extra / 3),
        ("code now", code, 5),
        ("tried", tried, 2),
        ("thread", thread.collect(), 1 + extra / 6),
        ("hunk then", hunk.into_iter().rev().map(str::to_owned).collect(), 4 + extra / 6),
    ];
    for (name, lines, most) in wanted {
        // A short part stands beside its name.
        let beside = usize::from(!matches!(name, "tried" | "thread"));
        let room = most.min(left.saturating_sub(beside));
        if lines.is_empty() || room == 0 {
            continue;
        }
        let more = beside == 1 && lines.len() > room;
        // Of a thread and of what was tried the newest says most.
        let skip = if beside == 0 { lines.len().saturating_sub(room) } else { 0 };
        let mut shown: Vec<String> = lines.iter().skip(skip).take(room).map(|text| cut(text, size.columns)).collect();
        if let (true, Some(last)) = (more, shown.last_mut()) {
            *last = cut(&format!("{last} …"), size.columns);
        }
        left -= shown.len() + beside;
        parts.push((name, shown));
    }
    let mut out = head.join("\n");
    for (name, lines) in parts {
        match name {
            "tried" | "thread" => {
                let own = |text: &String| format!("\n{}", line(&format!("{name}: {text}")));
                lines.iter().for_each(|text| out.push_str(&own(text)));
            }
            _ => out.push_str(&format!("\n{name}:\n  {}", lines.join("\n  "))),
        }
    }
    for text in foot {
        out.push_str(&format!("\n{text}"));
    }
    out.push('\n');
    out
}

/// Cuts a line of code, its indentation kept.
fn cut(text: &str, columns: usize) -> String {
    let (flat, most) = (clean(text).replace('\t', "  "), columns.saturating_sub(3));
    let flat = flat.replace(['\n', '\r'], " ");
    if flat.chars().count() <= most {
        return flat;
    }
    format!("{}…", flat.chars().take(most.saturating_sub(1)).collect::<String>())
}

/// Breaks prose into lines; code is cut elsewhere.
fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for paragraph in clean(text).lines().filter(|line| !line.trim().is_empty()) {
        let mut line = String::new();
        for word in paragraph.split_whitespace() {
            if !line.is_empty() && line.chars().count() + word.chars().count() >= columns {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        lines.push(line);
    }
    lines
}

/// Returns the lines of code next to the place; the code comes with its line numbers.
fn near(entry: &Entry, code: &str) -> Vec<String> {
    let number = |line: &str| line.split_whitespace().next().and_then(|word| word.parse::<u32>().ok());
    let Some(line) = entry.finding.line else { return code.lines().map(str::to_owned).collect() };
    let (from, to) = (entry.start_line.unwrap_or(line).min(line).saturating_sub(2), line + 2);
    let close = |text: &&str| number(text).is_none_or(|n| (from..=to).contains(&n));
    let mark = |text: &str| if number(text) == Some(line) { format!(">{text}") } else { format!(" {text}") };
    code.lines().filter(close).map(mark).collect()
}

/// Returns the line of keys for a finding.
pub fn keys(allowed: &[Kind], drafted: bool) -> Vec<(char, &'static str)> {
    let mut keys: Vec<(char, &'static str)> = allowed.iter().map(|kind| (kind.key(), kind.word())).collect();
    keys.extend([('b', "browser"), ('v', "all of it")]);
    if drafted {
        keys.extend([('e', "edit"), ('u', "undo")]);
    }
    keys.extend([('n', "skip"), ('p', "back"), ('q', "list"), ('?', "help")]);
    keys
}

/// Says what each key does, one line each, for a small terminal.
pub fn help(keys: &[(char, &str)]) -> String {
    let says = |key: char, word: &str| -> String {
        let kind = Kind::ALL.into_iter().find(|kind| kind.key() == key && kind.word() == word);
        match (kind, key) {
            (Some(Kind::Fix), _) => {
                "starts the editor on it at the end of the sitting; its commit is verified and pushed"
            }
            (Some(Kind::Argue), _) => "leaves it as it is, with a reason in the thread and in the description",
            (Some(Kind::Stale), _) => "says that its place is gone; git has to prove it",
            (Some(Kind::Defer), _) => "leaves it to a follow-up: a plan in the repository, linked in the thread",
            (Some(Kind::Answer), _) => "answers the question in its thread",
            (Some(Kind::Regrade), _) => "gives it another severity, by a command in its thread",
            (Some(Kind::Accept), _) => "takes it as it is, by your word",
            (None, 'b') => "opens its page",
            (None, 'v') => "shows text, code, hunk and thread in full",
            (None, 'e') => "edits the drafted text in $EDITOR",
            (None, 'u') => "takes the draft back",
            (None, 'n') => "goes on to the next one",
            (None, 'p') => "goes back to the one before",
            (None, 'q') => "goes to the list; Esc does too",
            (None, _) => "shows this",
        }
        .to_owned()
    };
    let mut text = "Nothing is posted before the end, where every text is shown and confirmed once.\n\n".to_owned();
    for (key, word) in keys {
        text.push_str(&format!("{key}  {word:<10} {}\n", says(*key, word)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::review::brief::ThreadLine;
    use crate::review::decision::Verb;
    use crate::review::sample;
    use proptest::prelude::*;

    const ALL: Rights = Rights { commands: true, regrade: true, editor: true, writes: true };

    fn there() -> PlaceNow {
        PlaceNow::There("`src/a.rs:10`".to_owned())
    }

    #[test]
    fn the_list_is_by_severity_and_file_and_holds_what_waits_for_a_person() {
        let mut entries: Vec<Entry> = [
            ("c1", Severity::Nit, "src/a.rs", 1),
            ("c2", Severity::P2, "src/b.rs", 9),
            ("c3", Severity::P2, "src/a.rs", 20),
            ("c4", Severity::P2, "src/a.rs", 3),
            ("c5", Severity::P1, "src/z.rs", 1),
            ("c6", Severity::P1, "src/a.rs", 1),
            ("c7", Severity::P1, "src/b.rs", 1),
        ]
        .into_iter()
        .map(|(id, severity, path, line)| {
            let mut entry = sample::entry(id, severity);
            (entry.finding.path, entry.finding.line) = (Some(path.to_owned()), Some(line));
            entry
        })
        .collect();
        entries[5].finding.status = Status::Fixed;
        (entries[6].finding.status, entries[6].finding.needs_person) = (Status::Gone, true);
        let ids: Vec<String> = list(&sample::summary(entries)).iter().map(ToString::to_string).collect();
        assert_eq!(ids, ["c7", "c5", "c4", "c3", "c2", "c1"]);
    }

    #[track_caller]
    fn check_allowed(entry: &Entry, rights: Rights, expected: &str) {
        assert_eq!(allowed(entry, rights).iter().map(|kind| kind.key()).collect::<String>(), expected);
    }

    #[test]
    fn r6_a_p1_may_be_fixed_be_gone_or_be_graded_by_who_may() {
        let (p1, p2, p3) =
            (sample::entry("c1", Severity::P1), sample::entry("c2", Severity::P2), sample::entry("c3", Severity::P3));
        check_allowed(&p1, ALL, "fsrc");
        check_allowed(&p1, Rights { regrade: false, ..ALL }, "fs");
        check_allowed(&p2, ALL, "fasorc");
        check_allowed(&p2, Rights { regrade: false, ..ALL }, "fasoc");
        check_allowed(&p2, Rights { commands: false, regrade: false, editor: false, writes: false }, "aso");
        check_allowed(&p3, ALL, "sorc");
        let mut question = p2.clone();
        question.is_question = true;
        check_allowed(&question, ALL, "fasowrc");
        let mut nowhere = sample::entry("i5.1", Severity::P2);
        nowhere.finding.path = None;
        check_allowed(&nowhere, ALL, "fao");
        let mut gone = p1;
        (gone.finding.status, gone.finding.needs_person) = (Status::Gone, true);
        check_allowed(&gone, ALL, "c");
        // Without a thread only an account that may write has a word.
        gone.thread = None;
        check_allowed(&gone, ALL, "c");
        check_allowed(&gone, Rights { writes: false, ..ALL }, "");
    }

    #[track_caller]
    fn check_advice(entry: &Entry, place: &PlaceNow, expected: Kind) {
        let advice = advised(entry, place, &allowed(entry, ALL), 3);
        assert_eq!(advice.map(|(kind, _)| kind), Some(expected));
    }

    #[test]
    fn what_is_advised() {
        let (p1, p2) = (sample::entry("c1", Severity::P1), sample::entry("c2", Severity::P2));
        let gone = PlaceNow::Gone { because: "`src/a.rs` was removed".to_owned(), by: None };
        check_advice(&p1, &there(), Kind::Fix);
        check_advice(&p2, &there(), Kind::Fix);
        check_advice(&p1, &gone, Kind::Stale);
        let mut spent = p1.clone();
        spent.finding.attempts = 3;
        check_advice(&spent, &there(), Kind::Regrade);
        let mut question = p2.clone();
        question.is_question = true;
        check_advice(&question, &there(), Kind::Answer);
        let mut drafted = p2.clone();
        (drafted.pending, drafted.finding.needs_person) = (Some(sample::pending(Verb::Argue, "because")), true);
        check_advice(&drafted, &there(), Kind::Argue);
        check_advice(&sample::entry("c3", Severity::Nit), &there(), Kind::Accept);
        let nobody = Rights { commands: false, regrade: false, editor: false, writes: false };
        assert_eq!(advised(&p1, &there(), &allowed(&p1, nobody), 3), None, "what is not allowed is not advised");
    }

    #[test]
    fn r6_regrade_and_accept_are_the_thread_commands() {
        let regrade = Choice::Regrade { to: Severity::P3, reason: "only in\n tests <!-- x -->".to_owned() };
        let text = regrade.command().expect("a command");
        assert_eq!(text, "/pushback regrade P3 only in tests");
        assert!(matches!(super::super::commands::parse(&text), Some(Ok(_))));
        let accept = Choice::Accept { reason: String::new() };
        assert_eq!(accept.command().as_deref(), Some("/pushback accept"));
        assert_eq!(Choice::Fix.command(), None);
    }

    #[test]
    fn drafts_are_sorted_by_what_they_lead_to_and_void_ones_are_named() {
        let mut settled = sample::entry("c4", Severity::P2);
        settled.finding.status = Status::Argued;
        let entries = vec![
            sample::entry("c1", Severity::P1),
            sample::entry("c2", Severity::P2),
            sample::entry("c3", Severity::P2),
            settled,
        ];
        let summary = sample::summary(entries);
        let id = |text: &str| -> FindingId { text.parse().expect("an id") };
        let argue = Choice::Argue { reason: "because".to_owned() };
        let drafts = BTreeMap::from([
            (id("c1"), Choice::Fix),
            (id("c2"), Choice::Regrade { to: Severity::P3, reason: "rare".to_owned() }),
            (id("c3"), argue.clone()),
            (id("c4"), argue.clone()),
            (id("c9"), Choice::Stale),
        ]);
        let out = outcome(&summary, &drafts, ALL);
        assert_eq!(out.fixes, [id("c1")]);
        assert_eq!(out.commands, [(id("c2"), "/pushback regrade P3 rare".to_owned())]);
        assert_eq!(out.answers, [(id("c3"), argue)]);
        assert_eq!(out.void.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [id("c4"), id("c9")]);
    }

    #[test]
    fn the_keys_of_a_finding_are_one_each() {
        let mut seen: Vec<char> = keys(&Kind::ALL, true).into_iter().map(|(key, _)| key).collect();
        let all = seen.len();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), all);
    }

    fn example() -> (Entry, Around) {
        let mut entry = sample::entry("c4300000008", Severity::P1);
        entry.text = "Every price becomes nothing because the rate is zero. ".repeat(20);
        entry.finding.why = "3 attempts did not settle it".to_owned();
        let code: String = (1..30).map(|n| format!("{n:>5} let line_{n} = compute({n});\n")).collect();
        let thread =
            (0..5).map(|n| ThreadLine { author: "ann".to_owned(), text: format!("reply {n} {}", "x".repeat(200)) });
        (entry, Around { code, hunk: "@@ -1,3 +1,4 @@\n-old\n+new\n more".to_owned(), thread: thread.collect() })
    }

    #[test]
    fn a_finding_fits_80_by_24() {
        let (entry, around) = example();
        let (advice, draft) = ((Kind::Regrade, "3 attempts did not settle it".to_owned()), Choice::Stale);
        let tried = vec!["round 1: fix refused".to_owned(), "round 2: nothing".to_owned(), "round 3: x".to_owned()];
        let card = card(
            Card {
                entry: &entry,
                around: &around,
                tried: &tried,
                at: (1, 4),
                advice: Some(&advice),
                draft: Some(&draft),
            },
            Size { columns: 80, rows: 24 },
        );
        insta::assert_snapshot!(card);
        let mut columns: Vec<usize> = card.lines().map(|line| line.chars().count()).collect();
        columns.sort_unstable();
        assert!(columns.last().is_some_and(|most| *most < 80), "{card}");
        assert!(card.lines().count() <= 21, "{card}");
        let row = row(&entry, Some(&draft), 80);
        assert!(row.chars().count() <= 76, "{row}");
        assert!(row.ends_with("[stale]") && row.contains("src/a.rs:10"), "{row}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn no_text_breaks_the_layout(text in "(?s).{0,400}", title in "(?s).{0,200}", columns in 40..200_usize, rows in 16..60_usize) {
            let (mut entry, mut around) = example();
            (entry.text, entry.finding.title) = (text.clone(), title);
            around.code = text;
            let card = card(
                Card { entry: &entry, around: &around, tried: &[], at: (1, 1), advice: None, draft: None },
                Size { columns, rows },
            );
            prop_assert!(card.lines().count() <= rows.saturating_sub(3), "{}", card);
            prop_assert!(card.lines().all(|line| line.chars().count() <= columns || line.split_whitespace().count() == 1), "{}", card);
        }
    }
}
