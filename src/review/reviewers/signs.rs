//! Collects what one reviewer let us see about one head. What it amounts to is decided in `state`.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;

use super::who::Who;
use super::{Facts, after, notice};
use crate::review::comment::{AccountKind, Channel, Comment, ReviewState};
use crate::review::ids::{FindingId, Sha};
use crate::review::note::{Note, Signal};

/// What a sign says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Says {
    Running,
    Finished,
    /// More findings are announced than can be seen.
    Short(String),
    Limited {
        until: Option<Timestamp>,
        clears: bool,
    },
    Skipped(String),
    Failed(String),
    Partial(String),
    Unknown(String),
}

/// How firmly a sign is tied to the head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Bond {
    /// A bare reaction after the head became the head.
    Reaction,
    /// Made after the head became the head.
    Time,
    /// Names the head, or hangs on it.
    Head,
}

/// One sign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sign {
    pub(super) at: Timestamp,
    pub(super) says: Says,
    pub(super) bond: Bond,
    pub(super) from: String,
    /// True for a state that holds now, whenever it began.
    pub(super) holds: bool,
}

/// All that was seen of one reviewer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) signs: Vec<Sign>,
    /// Any sign on this pull request, whatever the head.
    pub(super) here: bool,
    /// Last activity on this head.
    pub(super) last: Option<Timestamp>,
    /// When it last said that it is at work.
    pub(super) running_at: Option<Timestamp>,
    /// Findings on this head.
    pub(super) findings: u32,
    /// Comments made on this head.
    pub(super) comments: u32,
}

/// Returns the channel in which a finding was said.
pub(super) fn channel(id: FindingId) -> Channel {
    match id {
        FindingId::Inline(_) => Channel::Inline,
        FindingId::Review(..) => Channel::Review,
        FindingId::Conversation(..) => Channel::Conversation,
    }
}

/// Tells whether a reviewer gave any sign on this pull request.
pub(super) fn here(facts: &Facts<'_>, who: &Who<'_>) -> bool {
    facts.notes.iter().any(|note| who.wrote(note))
        || facts.checks.iter().any(|check| who.is_called(&check.reviewer))
        || facts.reactions.iter().any(|reaction| who.is_called(&reaction.reviewer))
}

/// A comment of the reviewer with its reading.
#[derive(Clone, Copy)]
struct Post<'a> {
    note: &'a Note,
    comment: &'a Comment,
}

struct Gatherer<'a> {
    head: &'a Sha,
    since: Timestamp,
    now: Timestamp,
    person: bool,
    /// A listed bot that no rules know.
    bot: bool,
    posts: Vec<Post<'a>>,
    seen: Seen,
}

/// Collects the signs of a reviewer.
pub(super) fn gather(facts: &Facts<'_>, who: &Who<'_>, since: Timestamp) -> Seen {
    // Of two readings of one comment the newest holds, as in the notes.
    let mut comments: BTreeMap<(Channel, u64), &Comment> = BTreeMap::new();
    for comment in facts.obs.comments.iter() {
        let kept = comments.entry((comment.channel, comment.id)).or_insert(comment);
        if (kept.updated_at, &kept.body) < (comment.updated_at, &comment.body) {
            *kept = comment;
        }
    }
    let mut posts: Vec<Post<'_>> = facts
        .notes
        .iter()
        .filter(|note| who.wrote(note))
        .filter_map(|note| comments.get(&(note.channel, note.id)).map(|comment| Post { note, comment }))
        .collect();
    posts.sort_by_key(|post| (post.note.channel, post.note.id));
    let mut gatherer = Gatherer {
        head: &facts.obs.pr.head,
        since,
        now: facts.obs.at,
        person: who.is_account(AccountKind::Person),
        bot: who.is_account(AccountKind::Bot),
        posts,
        seen: Seen { here: here(facts, who), ..Seen::default() },
    };
    for post in gatherer.posts.clone() {
        gatherer.post(post);
    }
    gatherer.checks(facts, who);
    gatherer.reactions(facts, who);
    gatherer.finish()
}

impl Gatherer<'_> {
    fn post(&mut self, post: Post<'_>) {
        let Post { note, comment } = post;
        let commit = match note.channel {
            Channel::Review => comment.review_commit.as_ref(),
            Channel::Inline => comment.anchor.as_ref().and_then(|anchor| anchor.original_commit.as_ref()),
            Channel::Conversation => None,
        };
        // A reply hangs on an old thread whenever it is made; only its text and its time can speak for the head.
        let commit = commit.filter(|_| comment.in_reply_to.is_none());
        let on_head = commit == Some(self.head);
        let fresh = commit.is_none() && comment.updated_at >= self.since;
        if on_head || fresh || comment.updated_at >= self.since {
            self.active(comment.updated_at);
        }
        if on_head || fresh {
            self.seen.findings =
                self.seen.findings.saturating_add(u32::try_from(note.said.findings.len()).unwrap_or(u32::MAX));
        }
        if on_head {
            self.seen.comments = self.seen.comments.saturating_add(1);
        }
        let from = match note.channel {
            Channel::Review => format!("review {}", note.id),
            Channel::Inline => format!("inline comment {}", note.id),
            Channel::Conversation => format!("comment {}", note.id),
        };
        let hindered = self.hindrances(post, on_head, fresh, &from);
        // A listed bot without rules is read by nobody else.
        let unread = self.bot && self.reads_like_notice(post);
        let spoke = hindered || self.text_finish(post, commit, &from);
        if !spoke && !unread && note.channel == Channel::Review && on_head {
            self.record(post, &from);
        }
    }

    /// Takes what speaks against an end; tells whether the text holds any of it, for this head or another.
    fn hindrances(&mut self, post: Post<'_>, on_head: bool, fresh: bool, from: &str) -> bool {
        let at = post.comment.updated_at;
        let bond = if on_head { Bond::Head } else { Bond::Time };
        let mut hindered = false;
        for signal in &post.note.said.signals {
            let Some(says) = self.hindrance(signal, at) else { continue };
            // Prose that no rule knows does not undo a submitted review, unless it reads like a notice.
            let harmless = matches!(says, Says::Unknown(_)) && !self.reads_like_notice(post);
            hindered |= !harmless;
            let still_limited = matches!(says, Says::Limited { until: Some(until), .. } if until > self.now);
            if on_head || fresh || still_limited {
                self.add(at, says, bond, from.to_owned(), false);
            }
        }
        hindered
    }

    fn hindrance(&self, signal: &Signal, at: Timestamp) -> Option<Says> {
        match signal {
            Signal::Running => Some(Says::Running),
            Signal::Limited { wait_s, clears } => {
                let until = wait_s.filter(|_| *clears).map(|wait| after(at, Duration::from_secs(wait)));
                Some(Says::Limited { until, clears: *clears })
            }
            Signal::Skipped(why) => Some(Says::Skipped(why.clone())),
            Signal::Failed(why) => Some(Says::Failed(why.clone())),
            Signal::Partial(why) => Some(Says::Partial(why.clone())),
            Signal::Unknown(text) => Some(Says::Unknown(text.clone())),
            Signal::Finished { .. } | Signal::ReportsLevels(_) => None,
        }
    }

    /// Tells whether a review body may be a notice in place of a review: it brings no finding and speaks of obstacles.
    fn reads_like_notice(&self, post: Post<'_>) -> bool {
        let brings = !post.note.said.findings.is_empty() || self.carries_inline(post.note);
        post.note.channel != Channel::Review || !brings && notice::speaks_of_obstacles(&post.comment.body)
    }

    /// Takes what the text says of an end; tells whether it says anything of one.
    fn text_finish(&mut self, post: Post<'_>, commit: Option<&Sha>, from: &str) -> bool {
        let Post { note, comment } = post;
        let mut spoke = false;
        for signal in &note.said.signals {
            let Signal::Finished { sha, announced, .. } = signal else { continue };
            spoke = true;
            let of_other_commit = commit.is_some_and(|commit| commit != self.head);
            let bond = match sha {
                Some(sha) if !self.head.has_prefix(sha) => None,
                _ if of_other_commit => None,
                Some(_) => Some(Bond::Head),
                None if commit.is_some() => Some(Bond::Head),
                None => (comment.updated_at > self.since).then_some(Bond::Time),
            };
            let Some(bond) = bond else { continue };
            if note.channel == Channel::Review && comment.review_state == Some(ReviewState::Unknown) {
                continue;
            }
            let says = match announced.and_then(|announced| self.short(note, announced)) {
                Some(text) => Says::Short(text),
                None => Says::Finished,
            };
            let names = if sha.is_some() { " names this head as reviewed" } else { " says that the review has ended" };
            self.add(comment.updated_at, says, bond, format!("{from}{names}"), false);
        }
        spoke
    }

    /// Takes a submitted review of the head itself as the proof. An empty one is only a wrapper around comments.
    fn record(&mut self, post: Post<'_>, from: &str) {
        let Some(state) = post.comment.review_state else { return };
        let filled = notice::has_words(&post.comment.body);
        let proves = match state {
            ReviewState::Approved => true,
            ReviewState::ChangesRequested => filled || self.person,
            ReviewState::Commented | ReviewState::Dismissed => filled || self.person && self.carries_inline(post.note),
            ReviewState::Pending | ReviewState::Unknown => false,
        };
        if proves {
            // A review's date is that of its submission; an edit of its body ends nothing anew.
            self.add(post.comment.created_at, Says::Finished, Bond::Head, format!("{from} is of this head"), false);
        }
    }

    /// Tells whether a review brought comments that open a thread.
    fn carries_inline(&self, review: &Note) -> bool {
        review.channel == Channel::Review && self.inline_of(&[review.id]) > 0
    }

    fn inline_of(&self, reviews: &[u64]) -> usize {
        let of = |post: &&Post<'_>| {
            post.note.channel == Channel::Inline
                && post.comment.in_reply_to.is_none()
                && post.comment.review_id.is_some_and(|id| reviews.contains(&id))
        };
        self.posts.iter().filter(of).count()
    }

    /// Compares announced with visible findings; returns the sentence when some are missing.
    fn short(&self, note: &Note, announced: u32) -> Option<String> {
        let announced_here = usize::try_from(announced).unwrap_or(usize::MAX);
        let body = note.said.findings.len();
        let (shown, enough) = match note.channel {
            Channel::Review => {
                let own = self.inline_of(&[note.id]);
                // A body that lists its findings itself announces exactly those; other lists in a body are extra.
                let exact = own >= announced_here || body == announced_here || own + body == announced_here;
                (own, exact || self.batches_complete())
            }
            Channel::Inline | Channel::Conversation => {
                let shown = self.inline_roots() + body;
                (shown, shown >= announced_here)
            }
        };
        (!enough).then(|| format!("announces {announced} findings, {shown} can be seen"))
    }

    fn inline_roots(&self) -> usize {
        let root = |post: &&Post<'_>| post.note.channel == Channel::Inline && post.comment.in_reply_to.is_none();
        self.posts.iter().filter(root).count()
    }

    /// One round can be several reviews: what one announces, the next ones may bring.
    fn batches_complete(&self) -> bool {
        let of_head = |post: &&Post<'_>| {
            post.note.channel == Channel::Review && post.comment.review_commit.as_ref() == Some(self.head)
        };
        let ids: Vec<u64> = self.posts.iter().filter(of_head).map(|post| post.note.id).collect();
        let announced: u64 = self
            .posts
            .iter()
            .filter(of_head)
            .flat_map(|post| &post.note.said.signals)
            .map(|signal| match signal {
                Signal::Finished { announced, .. } => u64::from(announced.unwrap_or(0)),
                Signal::Running
                | Signal::Limited { .. }
                | Signal::Skipped(_)
                | Signal::Failed(_)
                | Signal::Partial(_)
                | Signal::Unknown(_)
                | Signal::ReportsLevels(_) => 0,
            })
            .sum();
        u64::try_from(self.inline_of(&ids)).unwrap_or(u64::MAX) >= announced
    }

    /// Checks hang on the head, and are states: one that runs is running now.
    fn checks(&mut self, facts: &Facts<'_>, who: &Who<'_>) {
        for check in facts.checks.iter().filter(|check| who.is_called(&check.reviewer)) {
            let at = check.at.unwrap_or(self.since);
            self.active(at);
            let from = format!("check `{}`", check.check);
            let hindrances: Vec<Says> = check.signals.iter().filter_map(|s| self.hindrance(s, at)).collect();
            let hindered = hindrances.iter().any(|says| !matches!(says, Says::Unknown(_)));
            for says in hindrances {
                let holds = says == Says::Running;
                self.add(at, says, Bond::Head, from.clone(), holds);
            }
            for signal in check.signals.iter().filter(|_| !hindered) {
                let Signal::Finished { sha, announced, .. } = signal else { continue };
                if sha.as_ref().is_some_and(|sha| !self.head.has_prefix(sha)) {
                    continue;
                }
                let visible = self.inline_roots() + self.body_findings();
                let says = match announced.filter(|n| usize::try_from(*n).is_ok_and(|n| n > visible)) {
                    Some(n) => Says::Short(format!("announces {n} findings, {visible} can be seen")),
                    None => Says::Finished,
                };
                self.add(at, says, Bond::Head, from.clone(), false);
            }
        }
    }

    fn body_findings(&self) -> usize {
        self.posts.iter().filter(|post| post.note.channel != Channel::Inline).map(|p| p.note.said.findings.len()).sum()
    }

    fn reactions(&mut self, facts: &Facts<'_>, who: &Who<'_>) {
        let since = self.since;
        for reaction in facts.reactions.iter().filter(|r| who.is_called(&r.reviewer) && r.at > since) {
            self.active(reaction.at);
            let from = format!("a {} reaction", reaction.content);
            match &reaction.signal {
                Signal::Finished { .. } => self.add(reaction.at, Says::Finished, Bond::Reaction, from, false),
                Signal::Running
                | Signal::Limited { .. }
                | Signal::Skipped(_)
                | Signal::Failed(_)
                | Signal::Partial(_)
                | Signal::Unknown(_)
                | Signal::ReportsLevels(_) => {
                    if let Some(says) = self.hindrance(&reaction.signal, reaction.at) {
                        self.add(reaction.at, says, Bond::Reaction, from, false);
                    }
                }
            }
        }
    }

    fn active(&mut self, at: Timestamp) {
        self.seen.last = self.seen.last.max(Some(at));
    }

    fn add(&mut self, at: Timestamp, says: Says, bond: Bond, from: String, holds: bool) {
        // What names the head is a sign on it, also where the head was learned of later than that.
        if bond == Bond::Head {
            self.active(at);
        }
        if matches!(says, Says::Running | Says::Short(_)) {
            self.seen.running_at = self.seen.running_at.max(Some(at));
        }
        self.seen.signs.push(Sign { at, says, bond, from, holds });
    }

    fn finish(mut self) -> Seen {
        self.seen.signs.sort_by(|a, b| (a.at, a.bond, &a.from).cmp(&(b.at, b.bond, &b.from)));
        self.seen
    }
}
