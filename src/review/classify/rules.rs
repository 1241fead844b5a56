//! The shape of a rule file: what a reviewer's data may say. It decides nothing; `compile` checks it and `classify` reads it.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::Kind;
use crate::review::comment::Channel;
use crate::review::severity::Severity;

/// One rule file: a reviewer, or the general rules for all bots (`general`), or those for people (`people`).
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RuleFile {
    /// Name of the reviewer, and of the file without `.toml`.
    pub name: String,
    /// Logins of its bot accounts, compared exactly after the usual folding.
    pub logins: Vec<String>,
    /// Patterns over the stored body that identify the tool under an account of `carriers`.
    pub body: Vec<String>,
    /// Logins under which `body` is asked; `*` is any account.
    pub carriers: Vec<String>,
    /// Severity of a finding without a marker.
    pub untagged: Option<Severity>,
    /// Native level (lower case) → severity.
    pub levels: BTreeMap<String, Severity>,
    /// Native levels that only ask.
    pub questions: Vec<String>,
    /// Severity markers, in order.
    pub marker: Vec<MarkerRule>,
    /// Patterns with a group `title`, asked before the usual places.
    pub title: Vec<String>,
    /// Patterns with groups `path`, `line`, `end` that place a finding; asked in hidden comments and in the text.
    pub place: Vec<String>,
    /// Patterns over hidden comments with a group `id`: an identity that survives a repost.
    pub identity: Vec<String>,
    /// Patterns over the summary of a `<details>` that holds nothing of the reviewer's own words.
    pub noise: Vec<String>,
    /// Patterns of lines that carry no meaning: footers, buttons, fixed headings.
    pub footer: Vec<String>,
    /// Parts of a body that hold findings, or that repeat others.
    pub section: Vec<SectionRule>,
    /// Texts that say how the review stands.
    pub signal: Vec<SignalRule>,
    /// Lines edited in when a finding is settled.
    pub closing: Vec<ClosingRule>,
    /// Texts of replies that accept, insist or only notify.
    pub verdict: Vec<VerdictRule>,
    /// Check runs and statuses through which the reviewer speaks.
    pub check: Vec<CheckRule>,
    /// Reactions that mean something.
    pub reaction: Vec<ReactionRule>,
    /// Pattern of a line outside ignored sections that gives the level (`level`) of an inline comment (`id`).
    pub reports: Option<String>,
    /// How a fresh review is asked for.
    pub request: RequestRule,
}

/// Where a marker counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MarkerPlace {
    /// The first line of the finding.
    #[default]
    Head,
    /// A line of its own anywhere in the finding's own words.
    Line,
    /// The last line.
    Last,
    /// A hidden comment.
    Comment,
    /// The start of any paragraph or list item; each one starts a finding of its own.
    Paragraph,
    /// The same, once the bullet and the run of marks before the first word or bracket are skipped.
    Label,
    /// Anywhere in the author's own words; raises only.
    Sentence,
}

/// One severity marker.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MarkerRule {
    /// Name for `explain`.
    pub name: String,
    /// Where it counts.
    pub place: MarkerPlace,
    /// The pattern; the first of its groups `level`, `level2` … that took part is the native level.
    pub pattern: String,
    /// The native level, where the pattern has no group for it.
    pub level: Option<String>,
    /// A pattern that refuses the match when it fits the same line.
    pub unless: Option<String>,
    /// False for a tag that asks for nothing (praise).
    pub asks: Option<bool>,
    /// True for a tag that names no level: the finding is graded as an untagged one.
    pub plain: bool,
    /// True when a level that nobody knows means that this was no tag at all.
    pub known_only: bool,
}

/// One part of a body.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SectionRule {
    /// Name for `explain`.
    pub name: String,
    /// Channels; none means review bodies and conversation comments.
    pub channels: Vec<Channel>,
    /// Pattern over the summary of the `<details>` that is the section.
    pub summary: Option<String>,
    /// Pattern of a line that opens the section.
    pub heading: Option<String>,
    /// Pattern of a line that ends a section opened by a line; the next heading always does.
    pub stop: Option<String>,
    /// True when the whole body is the section.
    pub whole: bool,
    /// True when it is written for machines, in code, and mostly repeats: items count from `heading` on, unless another part has them.
    pub code: bool,
    /// True when nothing in it is a finding.
    pub ignore: bool,
    /// Native level of items without a marker.
    pub level: Option<String>,
    /// Pattern of the line that starts an item; groups `path`, `line`, `end`, `title`; the rest of the line belongs to the item.
    pub item: Option<String>,
    /// Pattern over the summary of a nested `<details>` that is an item.
    pub block: Option<String>,
    /// Pattern over the summary of a nested `<details>` that names a file (`path`).
    pub file: Option<String>,
    /// Pattern of a line that sets the native level (`level`) for the items after it.
    pub group: Option<String>,
    /// Pattern that marks an item as closed.
    pub closed: Option<String>,
    /// True when all items together are one finding with this title.
    pub together: Option<String>,
}

/// What a text says of the review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SignalIs {
    /// A review is under way.
    Running,
    /// A review has ended; says nothing of its result.
    Finished,
    /// A review has ended without a finding.
    Clean,
    /// No review until a limit ends.
    Limited,
    /// No review, on purpose.
    Skipped,
    /// No review, by failure.
    Failed,
    /// Only a part was reviewed.
    Partial,
    /// Says nothing.
    Nothing,
}

/// A text that says how the review stands.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignalRule {
    /// Name for `explain`.
    pub name: String,
    /// Meaning.
    pub is: SignalIs,
    /// Kind of the comment; by default what the meaning says.
    #[serde(default)]
    pub kind: Option<Kind>,
    /// Channels; none means all.
    #[serde(default)]
    pub channels: Vec<Channel>,
    /// Pattern over the top of the visible text; groups `hours`, `minutes`, `seconds`, `count`, `why`, and `closed`, which must equal `count`.
    #[serde(default)]
    pub pattern: Option<String>,
    /// Pattern over the hidden comments.
    #[serde(default)]
    pub marker: Option<String>,
    /// Pattern over the summaries of the body's `<details>`.
    #[serde(default)]
    pub summary: Option<String>,
    /// Pattern with a group `sha`, over the whole body.
    #[serde(default)]
    pub sha: Option<String>,
    /// Patterns of everything that a clean body may hold; what is left over is a finding.
    #[serde(default)]
    pub envelope: Vec<String>,
    /// Whether a limit ends by waiting.
    #[serde(default)]
    pub clears: Option<bool>,
    /// True when it only adds a signal and later rules still decide.
    #[serde(default)]
    pub more: bool,
}

/// What an edited-in line says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClosingIs {
    /// Addressed by a commit.
    Addressed,
    /// Resolved, or no longer relevant.
    Resolved,
    /// Taken back.
    Withdrawn,
}

/// A line edited in when a finding is settled; it counts as the first or the last line only.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClosingRule {
    /// Name for `explain`.
    pub name: String,
    /// Meaning.
    pub is: ClosingIs,
    /// Pattern of the line, with an optional group `sha`.
    pub pattern: String,
}

/// What a reply means for our argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerdictIs {
    /// It accepts.
    Accepts,
    /// It insists.
    Insists,
    /// It is only a notice.
    Notice,
    /// Nobody can tell; only that it is a reply.
    Unclear,
}

/// A text of a reply.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VerdictRule {
    /// Name for `explain`.
    pub name: String,
    /// Meaning.
    pub is: VerdictIs,
    /// Pattern over the visible text.
    #[serde(default)]
    pub pattern: Option<String>,
    /// Pattern over the hidden comments.
    #[serde(default)]
    pub marker: Option<String>,
    /// A pattern that refuses the match when it fits the text.
    #[serde(default)]
    pub unless: Option<String>,
    /// True when a comment of unknown place that fits is taken for a reply.
    #[serde(default)]
    pub reply: bool,
}

/// A check run or commit status that speaks for the reviewer.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckRule {
    /// Name for `explain`.
    pub rule: String,
    /// App slug or the login of the status creator; none means any.
    #[serde(default)]
    pub app: Option<String>,
    /// Pattern of the check's name.
    pub name: String,
    /// Pattern over title and summary; none means any text.
    #[serde(default)]
    pub text: Option<String>,
    /// The conclusion or status it must have; none means any.
    #[serde(default)]
    pub conclusion: Vec<String>,
    /// Meaning.
    pub is: SignalIs,
}

/// A reaction that means something.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReactionRule {
    /// The forge's word: `+1`, `eyes` …
    pub content: String,
    /// Meaning.
    pub is: SignalIs,
}

/// How a fresh review is asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RequestRule {
    /// Text of a conversation comment.
    pub mention: Option<String>,
    /// Login to request a review from.
    pub reviewer: Option<String>,
    /// Whether it looks at later pushes by itself.
    pub by_itself: bool,
}

/// A rule of the user's config.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserRule {
    /// Login or reviewer name; none or `*` is everybody.
    #[serde(default)]
    pub author: Option<String>,
    /// Pattern over the first line of a finding.
    pub pattern: String,
    /// Severity.
    pub level: Severity,
}

/// What the user's config says of one reviewer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ReviewerOverride {
    /// Severity of a finding without a marker.
    pub untagged: Option<Severity>,
    /// Whether a bare reaction is proof enough for the gate.
    pub reaction_counts: bool,
    /// Native level → severity.
    pub levels: BTreeMap<String, Severity>,
}
