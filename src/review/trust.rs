//! Who speaks (R2): the standing of every comment's author, and of bots that speak on behalf of somebody else.
//!
//! What a comment says is the classifier's business; what follows from both is decided elsewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use super::classify::{CommentInput, Rules, classify};
use super::comment::{AccountKind, Association, Author, Channel, Comment, ReviewState};
use super::ids::{Login, PrRef};
use super::note::{Classified, Note, Standing};
use super::observation::{Observation, Permission};
use super::policy::Policy;
use super::shared::Shared;

/// Reads comments by rules: the classifier, as far as this module needs it.
pub trait Reader {
    /// Returns the rule file's name of the reviewer that speaks through this account with this text.
    fn reviewer_of(&self, author: &Author, body: &str) -> Option<String>;

    /// Returns what a comment says.
    fn classify(&self, comment: &Comment, by_pr_author: bool) -> Shared<Classified>;
}

impl Reader for Rules {
    fn reviewer_of(&self, author: &Author, body: &str) -> Option<String> {
        Self::reviewer_of(self, &author.login, author.kind, body).map(|reviewer| reviewer.name.clone())
    }

    fn classify(&self, comment: &Comment, by_pr_author: bool) -> Shared<Classified> {
        classify(self, &input(comment, by_pr_author)).into()
    }
}

/// An account that is gone is read as a nameless person: its words are shown, and never trusted.
static NOBODY: LazyLock<Author> = LazyLock::new(|| Author { login: Login::new(""), kind: AccountKind::Person });

/// Returns what rules see of a comment.
pub(super) fn input(comment: &Comment, by_pr_author: bool) -> CommentInput<'_> {
    let author = comment.author.as_ref().unwrap_or(&NOBODY);
    let anchor = comment.anchor.as_ref();
    CommentInput {
        path: anchor.map(|anchor| anchor.path.as_str()),
        line: anchor.and_then(|anchor| anchor.line.or(anchor.original_line)),
        is_reply: comment.in_reply_to.is_some(),
        review_state: comment.review_state,
        by_pr_author,
        ..CommentInput::new(&author.login, author.kind, comment.channel, &comment.body)
    }
}

/// Tells whether the author of the pull request wrote a comment.
pub(super) fn by_pr_author(comment: &Comment, obs: &Observation) -> bool {
    comment.author.is_some() && comment.author == obs.pr.author
}

/// An author in one place, before any judgement.
#[derive(Debug, Clone, Copy)]
pub struct Speaker<'a> {
    /// The account; `None` when it is gone.
    pub author: Option<&'a Author>,
    /// The forge's word for its relation to the repository.
    pub association: Association,
    /// The reviewer that speaks through it, by rule file.
    pub reviewer: Option<&'a str>,
    /// Whether the text ends with a marker of ours for this pull request.
    pub marked: bool,
}

/// How far write permission is known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Writes {
    No,
    Assumed,
    Yes,
}

/// Returns the standing of a speaker, the deputy rule aside.
pub fn standing(speaker: &Speaker<'_>, obs: &Observation, policy: &Policy) -> Standing {
    let Some(author) = speaker.author else { return Standing::Untrusted };
    let allowed = policy.trust_allow.contains(&author.login);
    let writes = writes(author, speaker.association, obs);
    let may_mark = obs.is_ours(Some(author)) || policy.trust_accounts.contains(&author.login) || writes == Writes::Yes;
    if speaker.marked && may_mark {
        return Standing::Ours;
    }
    match (speaker.reviewer, author.kind) {
        (Some(name), AccountKind::Bot) => return Standing::Reviewer(name.to_owned()),
        // A tool that speaks through a person's account has no more rights than the person.
        (Some(name), AccountKind::Person) if allowed || writes != Writes::No => {
            return Standing::Reviewer(name.to_owned());
        }
        (Some(_) | None, AccountKind::Person) | (None, AccountKind::Bot) => {}
    }
    if obs.pr.author.as_ref() == Some(author) {
        return Standing::PrAuthor { writes: allowed || writes != Writes::No };
    }
    match writes {
        Writes::Yes => Standing::Writer { assumed: false },
        Writes::No | Writes::Assumed if allowed => Standing::Writer { assumed: false },
        Writes::Assumed => Standing::Writer { assumed: true },
        Writes::No => Standing::Untrusted,
    }
}

fn writes(author: &Author, association: Association, obs: &Observation) -> Writes {
    match (obs.permission(author), association) {
        (Permission::Write, _) => Writes::Yes,
        (Permission::Unasked, Association::Owner | Association::Member | Association::Collaborator) => Writes::Assumed,
        (Permission::Unasked, Association::Other) | (Permission::Read | Permission::Triage, _) => Writes::No,
    }
}

/// Tells whether the last line of a text is a marker of ours for this pull request.
///
/// Markers of own reviews do not count: a review asks for something, whoever runs the reviewer.
pub fn carries_marker(body: &str, at: &PrRef) -> bool {
    let Some(line) = body.lines().rev().map(str::trim).find(|line| !line.is_empty()) else { return false };
    let Some(inside) = line.strip_prefix("<!-- pushback:1 ").and_then(|rest| rest.strip_suffix(" -->")) else {
        return false;
    };
    let mut words = inside.split(' ');
    let kind = words.next().unwrap_or_default();
    let here = format!("pr={}#{}", at.slug, at.number);
    !kind.is_empty() && kind != "review" && words.any(|word| word.eq_ignore_ascii_case(&here))
}

/// Returns a note for each comment of an observation, by channel and id. Drafts of reviews are left out.
pub fn notes(obs: &Observation, reader: &dyn Reader, policy: &Policy) -> Vec<Note> {
    let comments = readable(obs);
    let mut notes: Vec<Note> = comments.iter().map(|comment| note(comment, obs, reader, policy)).collect();
    let deputies = deputised(&comments, &notes);
    for index in deputies {
        notes[index].standing = Standing::Untrusted;
    }
    notes
}

/// Comments in a fixed order, once each, without drafts and what hangs on them.
fn readable(obs: &Observation) -> Vec<&Comment> {
    let draft = |comment: &Comment| comment.review_state == Some(ReviewState::Pending);
    let drafts: BTreeSet<u64> =
        obs.comments.iter().filter(|c| c.channel == Channel::Review && draft(c)).map(|c| c.id).collect();
    let of_draft = |c: &Comment| c.review_id.is_some_and(|id| drafts.contains(&id));
    let mut comments: Vec<&Comment> = obs.comments.iter().filter(|c| !draft(c) && !of_draft(c)).collect();
    // The newest reading of a comment comes first, so that `dedup` keeps it.
    comments.sort_by(|a, b| {
        (a.channel, a.id).cmp(&(b.channel, b.id)).then(b.updated_at.cmp(&a.updated_at)).then(b.body.cmp(&a.body))
    });
    comments.dedup_by_key(|c| (c.channel, c.id));
    comments
}

fn note(comment: &Comment, obs: &Observation, reader: &dyn Reader, policy: &Policy) -> Note {
    let author = comment.author.as_ref();
    let reviewer = author.and_then(|author| reader.reviewer_of(author, &comment.body));
    let speaker = Speaker {
        author,
        association: comment.association,
        reviewer: reviewer.as_deref(),
        marked: carries_marker(&comment.body, &obs.pr.at),
    };
    Note {
        channel: comment.channel,
        id: comment.id,
        author: comment.author.clone(),
        standing: standing(&speaker, obs, policy),
        said: reader.classify(comment, by_pr_author(comment, obs)),
    }
}

/// Positions of bots' posts in threads whose root, or whose last person before them, is an outsider.
///
/// Only persons *before* the post count: otherwise a stranger could silence a finding by answering it.
fn deputised(comments: &[&Comment], notes: &[Note]) -> Vec<usize> {
    let mut threads: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for (index, comment) in comments.iter().enumerate().filter(|(_, c)| c.channel == Channel::Inline) {
        threads.entry(comment.root()).or_default().push(index);
    }
    let mut found = Vec::new();
    for (root, posts) in threads {
        let outsider_root = posts.iter().any(|&i| comments[i].id == root && outsider(&notes[i].standing));
        let mut outsider_before = false;
        for index in posts {
            let note = &notes[index];
            let tool = matches!(note.standing, Standing::Reviewer(_));
            let bot = note.author.as_ref().is_some_and(|author| author.kind == AccountKind::Bot);
            if note.standing == Standing::Ours {
                continue;
            }
            if !(tool || bot) {
                outsider_before = outsider(&note.standing);
            } else if note.id != root && (outsider_root || outsider_before) {
                found.push(index);
            }
        }
    }
    found
}

fn outsider(standing: &Standing) -> bool {
    match standing {
        Standing::Untrusted | Standing::PrAuthor { writes: false } => true,
        Standing::Reviewer(_) | Standing::Writer { .. } | Standing::Ours | Standing::PrAuthor { writes: true } => false,
    }
}

#[cfg(test)]
mod tests;
