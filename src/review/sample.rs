//! Entries and observations for the tests of this folder.

use jiff::Timestamp;

use super::comment::{AccountKind, Association, Author, Channel, Comment, Side, Thread};
use super::decision::Verb;
use super::ids::{FindingId, Login, PrNumber, PrRef, Sha};
use super::observation::{Barred, BranchRules, Mergeable, Observation, PrState, PullRequest, Reading};
use super::severity::{DecidedBy, Severity};
use super::status::Status;
use super::summary::{Entry, Finding, Move, Pending, PrRecord, SCHEMA_VERSION, Summary, Used};

pub(crate) fn sha(digit: char) -> Sha {
    Sha::parse(&digit.to_string().repeat(40)).expect("a sha")
}

pub(crate) fn at() -> Timestamp {
    "2026-01-02T03:04:05Z".parse().expect("a time")
}

pub(crate) fn pr() -> PrRef {
    PrRef { host: "github.com".into(), slug: "o/r".parse().expect("slug"), number: PrNumber(7) }
}

pub(crate) fn bot(login: &str) -> Author {
    Author { login: Login::new(login), kind: AccountKind::Bot }
}

pub(crate) fn person(login: &str) -> Author {
    Author { login: Login::new(login), kind: AccountKind::Person }
}

pub(crate) fn moved(from: Option<Status>, to: Status) -> Move {
    Move { at: at(), from, to, why: String::new(), round: 0 }
}

pub(crate) fn pending(verb: Verb, reason: &str) -> Pending {
    Pending::new(verb, reason, 1)
}

pub(crate) fn entry(id: &str, severity: Severity) -> Entry {
    let id: FindingId = id.parse().expect("id");
    let (channel, thread) = match id {
        FindingId::Inline(n) => (Channel::Inline, Some(n)),
        FindingId::Review(..) => (Channel::Review, None),
        FindingId::Conversation(..) => (Channel::Conversation, None),
    };
    Entry {
        finding: Finding {
            id,
            severity,
            decided_by: DecidedBy::Tagged,
            rule: None,
            author: Login::new("codex"),
            author_kind: AccountKind::Bot,
            channel,
            path: Some("src/a.rs".into()),
            line: Some(10),
            side: Some(Side::Right),
            status: Status::Open,
            needs_person: false,
            title: format!("Reject empty input {id}"),
            url: format!("https://github.com/o/r/pull/7#x{}", id.carrier()),
            attempts: 0,
            previous: Vec::new(),
            why: String::new(),
        },
        body_hash: format!("hash-{id}"),
        seen_head: sha('a'),
        first_head: sha('a'),
        made_on: Some(sha('a')),
        start_line: None,
        original_line: Some(10),
        thread,
        identity: None,
        text: "`parse` accepts empty input and then panics".into(),
        is_question: false,
        whole_file: false,
        regrade: None,
        proof: None,
        pending: None,
        heard: Vec::new(),
        exchanges: 0,
        worst: None,
        refused: None,
        history: vec![moved(None, Status::Open)],
    }
}

pub(crate) fn summary(entries: Vec<Entry>) -> Summary {
    Summary {
        schema_version: SCHEMA_VERSION,
        pr: PrRecord {
            host: "github.com".into(),
            owner: "o".into(),
            repo: "r".into(),
            number: PrNumber(7),
            url: "https://github.com/o/r/pull/7".into(),
            base: "main".into(),
            head: sha('a'),
        },
        account: Some(Login::new("me")),
        round: 1,
        used: Used::default(),
        comments: entries.into_iter().map(|entry| (entry.finding.id, entry)).collect(),
        reviewers: std::collections::BTreeMap::new(),
        rounds: Vec::new(),
        outbox: Vec::new(),
        stop_reason: None,
        heads: Vec::new(),
        verified: Vec::new(),
        restored: Vec::new(),
        reset_at_round: 0,
        commands_heard: Vec::new(),
        commands: Vec::new(),
        drafts: Default::default(),
        extra: serde_json::Map::new(),
    }
}

pub(crate) fn comment(id: u64, author: Author, channel: Channel, body: &str) -> Comment {
    Comment {
        id,
        channel,
        author: Some(author),
        association: Association::Other,
        body: body.into(),
        created_at: at(),
        updated_at: at(),
        url: format!("https://github.com/o/r/pull/7#x{id}"),
        anchor: None,
        in_reply_to: None,
        review_id: None,
        review_state: None,
        review_commit: None,
    }
}

pub(crate) fn thread(root: u64, comments: &[u64]) -> Thread {
    Thread {
        node_id: format!("T{root}"),
        root,
        comments: comments.to_vec(),
        resolved: false,
        resolved_by: None,
        outdated: false,
        may_resolve: true,
        minimised: Vec::new(),
    }
}

pub(crate) fn observation(comments: Vec<Comment>, threads: Vec<Thread>) -> Observation {
    Observation {
        at: at(),
        account: Some(person("me")),
        pr: PullRequest {
            at: pr(),
            url: "https://github.com/o/r/pull/7".into(),
            title: "Title".into(),
            body: "What this does.\n".into(),
            author: Some(person("me")),
            state: PrState::Open,
            draft: false,
            base: "main".into(),
            base_sha: sha('b'),
            head_branch: "topic".into(),
            head_repo: Some("o/r".parse().expect("slug")),
            head: sha('a'),
            mergeable: Mergeable::Yes,
            behind: false,
            default_branch: "main".into(),
            created_at: at(),
        },
        comments: comments.into(),
        threads,
        reactions: Vec::new(),
        permissions: std::collections::BTreeMap::new(),
        checks: Reading::Known(Vec::new()),
        rules: Reading::Known(BranchRules::default()),
        recent_bots: Reading::Known(std::collections::BTreeSet::new()),
        head_since: Some(at()),
        barred: Barred::default(),
    }
}
