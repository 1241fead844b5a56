//! A small pull request for tests of verdicts: comments in a mini language, read by a reader without rules.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Map;

use super::{CheckSignals, Proofs, ReactionSignal, ReviewerData, ReviewerFacts, judge};
use crate::review::comment::{AccountKind, Anchor, Association, Author, Channel, Comment, ReviewState, Side};
use crate::review::ids::{FindingId, Login, PrNumber, PrRef, RepoSlug, Sha};
use crate::review::note::{Classified, Found, Kind, Note, ReplyVerdict, Signal};
use crate::review::observation::{
    Barred, BranchRules, Mergeable, Observation, Permission, PrState, PullRequest, Reading,
};
use crate::review::policy::Policy;
use crate::review::severity::{DecidedBy, Severity};
use crate::review::shared::Shared;
use crate::review::status::Status;
use crate::review::summary::{Entry, Finding, HeadRecord, PrRecord, SCHEMA_VERSION, Summary, Used};
use crate::review::trust::{Reader, notes};
use crate::review::verdict::{ReviewerReport, ReviewersVerdict};

/// The moment the head `b…` was pushed.
pub(crate) const PUSH: i64 = 1_800_000_000;

/// Seconds after the push.
pub(crate) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(PUSH + seconds).expect("a time")
}

/// A commit of forty equal digits.
pub(crate) fn sha(digit: char) -> Sha {
    Sha::parse(&digit.to_string().repeat(40)).expect("a sha")
}

pub(crate) fn bot(login: &str) -> Author {
    Author { login: Login::new(login), kind: AccountKind::Bot }
}

pub(crate) fn person(login: &str) -> Author {
    Author { login: Login::new(login), kind: AccountKind::Person }
}

/// Reads `[P1] title` lines as findings and `!word` lines as signals.
pub(crate) struct MiniReader;

impl Reader for MiniReader {
    fn reviewer_of(&self, author: &Author, body: &str) -> Option<String> {
        if body.contains("<!-- kody -->") {
            return Some("kody".to_owned());
        }
        let known = known();
        let data = known.iter().find(|data| data.logins.contains(&author.login))?;
        (author.kind == AccountKind::Bot).then(|| data.name.clone())
    }

    fn classify(&self, comment: &Comment, _by_pr_author: bool) -> Shared<Classified> {
        let findings: Vec<Found> = comment.body.lines().filter_map(found).collect();
        let signals: Vec<Signal> = comment.body.lines().filter_map(signal).collect();
        let kind = if findings.is_empty() { Kind::Status } else { Kind::Finding };
        Classified {
            kind,
            findings,
            closed_finding: None,
            reviewer: None,
            signals,
            closed: None,
            verdict: ReplyVerdict::Unclear,
        }
        .into()
    }
}

fn found(line: &str) -> Option<Found> {
    let (level, title) = line.strip_prefix('[')?.split_once("] ")?;
    let severity = Severity::ALL.into_iter().find(|severity| severity.as_str() == level)?;
    Some(Found {
        severity,
        decided_by: DecidedBy::Tagged,
        rule: None,
        level: None,
        title: title.to_owned(),
        path: None,
        line: None,
        end_line: None,
        text: title.to_owned(),
        body_hash: title.to_owned(),
        identity: None,
        is_question: false,
        section: None,
    })
}

/// Reads one signal: `!running`, `!finished [sha]`, `!clean [sha]`, `!announces N`, `!limited S`, `!refused`, `!skipped`, `!failed`, `!partial`, `!notice TEXT`.
pub(crate) fn signal(line: &str) -> Option<Signal> {
    let line = line.strip_prefix('!')?;
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    let sha = || (!rest.is_empty()).then(|| rest.to_owned());
    Some(match word {
        "running" => Signal::Running,
        "finished" => Signal::Finished { sha: sha(), clean: false, announced: None },
        "clean" => Signal::Finished { sha: sha(), clean: true, announced: Some(0) },
        "announces" => Signal::Finished { sha: None, clean: false, announced: rest.parse().ok() },
        "limited" => Signal::Limited { wait_s: rest.parse().ok(), clears: true },
        "refused" => Signal::Limited { wait_s: None, clears: false },
        "skipped" => Signal::Skipped("auto reviews are disabled".to_owned()),
        "failed" => Signal::Failed("it met an error".to_owned()),
        "partial" => Signal::Partial("more than 50 files".to_owned()),
        "notice" => Signal::Unknown(rest.to_owned()),
        other => panic!("no signal {other}"),
    })
}

/// Reviewers that the mini rules know.
pub(crate) fn known() -> Vec<ReviewerData> {
    let data = |name: &str, logins: &[&str], mention: Option<&str>, rereviews| ReviewerData {
        name: name.to_owned(),
        logins: logins.iter().map(|login| Login::new(login)).collect(),
        mention: mention.map(str::to_owned),
        request_login: None,
        rereviews,
    };
    let mut copilot = data("copilot", &["Copilot", "copilot-pull-request-reviewer[bot]"], None, false);
    copilot.request_login = Some("copilot-pull-request-reviewer[bot]".to_owned());
    vec![
        data("codex", &["chatgpt-codex-connector[bot]"], Some("@codex review"), false),
        data("coderabbit", &["coderabbitai[bot]"], Some("@coderabbitai review"), true),
        data("bugbot", &["cursor[bot]"], Some("bugbot run"), true),
        copilot,
        data("kody", &[], None, true),
    ]
}

/// A pull request by `dev`, seen by `dev`'s token, head `b…` pushed at second 0 over `a…`.
#[derive(Clone)]
pub(crate) struct Pr {
    pub(crate) obs: Observation,
    pub(crate) summary: Summary,
    pub(crate) policy: Policy,
    pub(crate) checks: Vec<CheckSignals>,
    pub(crate) reactions: Vec<ReactionSignal>,
    next_id: u64,
}

impl Pr {
    pub(crate) fn new() -> Self {
        let at_pr = PrRef {
            host: "github.com".to_owned(),
            slug: RepoSlug { owner: "o".to_owned(), name: "r".to_owned() },
            number: PrNumber(7),
        };
        let obs = observation(at_pr);
        let summary = summary(&obs);
        Self { obs, summary, policy: Policy::default(), checks: Vec::new(), reactions: Vec::new(), next_id: 100 }
    }

    pub(crate) fn required(mut self, names: &[&str]) -> Self {
        self.policy.reviewers.required = names.iter().map(|name| (*name).to_owned()).collect();
        self
    }

    fn push(&mut self, author: Author, channel: Channel, second: i64, body: &str) -> &mut Comment {
        self.next_id += 1;
        self.obs.comments.push(Comment {
            id: self.next_id,
            channel,
            author: Some(author),
            association: Association::Other,
            body: body.to_owned(),
            created_at: at(second),
            updated_at: at(second),
            url: String::new(),
            anchor: None,
            in_reply_to: None,
            review_id: None,
            review_state: None,
            review_commit: None,
        });
        self.obs.comments.last_mut().expect("just pushed")
    }

    /// Adds a conversation comment; returns its id.
    pub(crate) fn says(&mut self, author: Author, second: i64, body: &str) -> u64 {
        self.push(author, Channel::Conversation, second, body).id
    }

    /// Edits a comment.
    pub(crate) fn edits(&mut self, id: u64, second: i64, body: &str) {
        let comment = self.obs.comments.iter_mut().find(|comment| comment.id == id).expect("the comment");
        comment.body = body.to_owned();
        comment.updated_at = at(second);
    }

    /// Adds a review; returns its id.
    pub(crate) fn review(&mut self, author: Author, second: i64, on: char, state: ReviewState, body: &str) -> u64 {
        let comment = self.push(author, Channel::Review, second, body);
        comment.review_state = Some(state);
        comment.review_commit = Some(sha(on));
        comment.id
    }

    /// Adds an inline comment made on a commit, which the forge shows on the head; returns its id.
    pub(crate) fn inline(&mut self, author: Author, second: i64, on: char, review: Option<u64>, body: &str) -> u64 {
        let head = self.obs.pr.head.clone();
        let comment = self.push(author, Channel::Inline, second, body);
        comment.review_id = review;
        comment.anchor = Some(Anchor {
            path: "src/a.rs".to_owned(),
            side: Side::Right,
            line: Some(3),
            start_line: None,
            original_line: Some(3),
            original_start_line: None,
            original_commit: Some(sha(on)),
            commit: Some(head),
            whole_file: false,
            hunk: String::new(),
        });
        comment.id
    }

    /// Adds a reply; returns its id.
    pub(crate) fn reply(&mut self, author: Author, second: i64, root: u64, body: &str) -> u64 {
        let id = self.inline(author, second, 'b', None, body);
        self.comment(id).in_reply_to = Some(root);
        id
    }

    pub(crate) fn comment(&mut self, id: u64) -> &mut Comment {
        self.obs.comments.iter_mut().find(|comment| comment.id == id).expect("the comment")
    }

    pub(crate) fn check(&mut self, reviewer: &str, second: i64, said: &str) {
        self.checks.push(CheckSignals {
            reviewer: reviewer.to_owned(),
            signals: said.lines().filter_map(signal).collect(),
            at: Some(at(second)),
            check: "Cursor Bugbot".to_owned(),
        });
    }

    pub(crate) fn reacts(&mut self, reviewer: &str, second: i64, content: &str) {
        let done = Signal::Finished { sha: None, clean: true, announced: Some(0) };
        let signal = if content == "eyes" { Signal::Running } else { done };
        self.reactions.push(ReactionSignal {
            reviewer: reviewer.to_owned(),
            signal,
            at: at(second),
            content: content.to_owned(),
        });
    }

    pub(crate) fn asked(&mut self, reviewer: &str, second: i64) {
        let head = Some(self.obs.pr.head.clone());
        let record = self.summary.reviewers.entry(reviewer.to_owned()).or_default();
        record.head = head;
        record.asked.push(at(second));
    }

    pub(crate) fn notes(&self) -> Vec<Note> {
        notes(&self.obs, &MiniReader, &self.policy)
    }

    /// Asks for the verdict at a second.
    pub(crate) fn ask(&self, second: i64, proof: Proofs) -> ReviewersVerdict {
        let mut obs = self.obs.clone();
        obs.at = at(second);
        let notes = notes(&obs, &MiniReader, &self.policy);
        let facts = ReviewerFacts {
            obs: &obs,
            notes: &notes,
            checks: self.checks.clone(),
            reactions: self.reactions.clone(),
            summary: &self.summary,
            policy: &self.policy,
            known: known(),
        };
        judge(&facts, proof)
    }

    pub(crate) fn run_at(&self, second: i64) -> ReviewersVerdict {
        self.ask(second, Proofs::Run)
    }

    /// The report of one reviewer at a second.
    pub(crate) fn of(&self, name: &str, second: i64) -> ReviewerReport {
        self.run_at(second).each.into_iter().find(|report| report.name == name).expect("the reviewer is listed")
    }

    pub(crate) fn word(&self, name: &str, second: i64) -> String {
        self.of(name, second).state.as_str().to_owned()
    }

    /// Adds a finding to the state.
    pub(crate) fn open(&mut self, id: FindingId, severity: Severity) -> &mut Entry {
        let entry = entry(id, severity);
        self.summary.comments.insert(id, entry);
        self.summary.comments.get_mut(&id).expect("just inserted")
    }
}

/// Minutes in seconds.
pub(crate) const fn minutes(n: i64) -> i64 {
    n * 60
}

pub(crate) fn hours(n: u64) -> Duration {
    Duration::from_secs(n * 3600)
}

fn observation(at_pr: PrRef) -> Observation {
    let dev = person("dev");
    Observation {
        at: at(0),
        account: Some(dev.clone()),
        pr: PullRequest {
            at: at_pr,
            url: "https://github.com/o/r/pull/7".to_owned(),
            title: "A change".to_owned(),
            body: String::new(),
            author: Some(dev),
            state: PrState::Open,
            draft: false,
            base: "main".to_owned(),
            base_sha: sha('0'),
            head_branch: "topic".to_owned(),
            head_repo: None,
            head: sha('b'),
            mergeable: Mergeable::Yes,
            behind: false,
            default_branch: "main".to_owned(),
            created_at: at(-86_400),
        },
        comments: Vec::new().into(),
        threads: Vec::new(),
        reactions: Vec::new(),
        permissions: [("dev", Permission::Write), ("maya", Permission::Write), ("guest", Permission::Read)]
            .into_iter()
            .map(|(login, permission)| (Login::new(login), permission))
            .collect(),
        checks: Reading::Known(Vec::new()),
        rules: Reading::Known(BranchRules::default()),
        recent_bots: Reading::Known(BTreeSet::new()),
        head_since: Some(at(0)),
        barred: Barred::default(),
    }
}

fn summary(obs: &Observation) -> Summary {
    let head = |digit, second, ours| HeadRecord { sha: sha(digit), since: at(second), ours };
    Summary {
        schema_version: SCHEMA_VERSION,
        pr: PrRecord {
            host: "github.com".to_owned(),
            owner: "o".to_owned(),
            repo: "r".to_owned(),
            number: PrNumber(7),
            url: obs.pr.url.clone(),
            base: "main".to_owned(),
            head: obs.pr.head.clone(),
        },
        account: Some(Login::new("dev")),
        round: 0,
        used: Used::default(),
        comments: BTreeMap::new(),
        reviewers: BTreeMap::new(),
        rounds: Vec::new(),
        outbox: Vec::new(),
        stop_reason: None,
        heads: vec![head('a', -7200, false), head('b', 0, false)],
        verified: Vec::new(),
        restored: Vec::new(),
        reset_at_round: 0,
        commands_heard: Vec::new(),
        commands: Vec::new(),
        drafts: Default::default(),
        extra: Map::new(),
    }
}

fn entry(id: FindingId, severity: Severity) -> Entry {
    Entry {
        finding: Finding {
            id,
            severity,
            decided_by: DecidedBy::Tagged,
            rule: None,
            author: Login::new("chatgpt-codex-connector"),
            author_kind: AccountKind::Bot,
            channel: Channel::Inline,
            path: Some("src/a.rs".to_owned()),
            line: Some(3),
            side: Some(Side::Right),
            status: Status::Open,
            needs_person: false,
            title: "A title".to_owned(),
            url: String::new(),
            attempts: 0,
            previous: Vec::new(),
            why: String::new(),
        },
        body_hash: String::new(),
        seen_head: sha('b'),
        first_head: sha('b'),
        made_on: Some(sha('b')),
        start_line: None,
        original_line: None,
        thread: None,
        identity: None,
        text: String::new(),
        is_question: false,
        whole_file: false,
        regrade: None,
        proof: None,
        pending: None,
        heard: Vec::new(),
        exchanges: 0,
        worst: None,
        refused: None,
        history: Vec::new(),
    }
}
