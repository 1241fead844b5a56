//! One complete reading of a pull request. Decides which requests go out together, what the last reading lets us skip,
//! and when two readings do not fit each other.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::convert;
use super::facts::{Checks, joined, repo};
use super::fault::Fault;
use super::forge::Github;
use super::graphql::KeptThread;
use super::newest::Newest;
use super::rest::Seen;
use super::wire::{self, Item};
use crate::ports::Depth;
use crate::review::comment::{AccountKind, Author, Channel, Comment, Thread};
use crate::review::ids::{Login, Sha};
use crate::review::observation::{BranchRules, Observation, Permission, PullRequest, Reaction, Reading};
use crate::review::shared::Shared;

const THREADS_AGE: Duration = Duration::from_secs(300);
/// Age at which what is kept only to ask sooner is still good.
pub(super) const FOREVER: Duration = Duration::from_secs(365 * 86_400);
const TRIGGERS: usize = 3;
const FITS: u32 = 3;

/// What the last reading lets the next one ask for at once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Plan {
    head: Sha,
    base: String,
    since: Timestamp,
    logins: BTreeSet<Login>,
    triggers: Vec<u64>,
}

/// What stands on the pull request.
struct Said {
    /// Inline comments first.
    comments: Shared<Vec<Comment>>,
    /// Conversation comments on which a bot may answer with a reaction.
    triggers: Vec<u64>,
    changed: bool,
    by_newest: bool,
}

impl Said {
    fn of(inline: Vec<wire::Inline>, reviews: Vec<wire::Review>, talk: Vec<wire::Talk>, at: Timestamp) -> Self {
        let triggers = triggers(&talk);
        let mut comments: Vec<Comment> = inline.into_iter().map(convert::inline).collect();
        comments.extend(reviews.into_iter().filter_map(|review| convert::review(review, at)));
        comments.extend(talk.into_iter().map(convert::talk));
        Self { comments: comments.into(), triggers, changed: false, by_newest: false }
    }

    /// Takes the inline comments as they were read again.
    fn renew(&mut self, inline: Vec<wire::Inline>) {
        let mut comments: Vec<Comment> = inline.into_iter().map(convert::inline).collect();
        comments.extend(self.comments.iter().filter(|comment| comment.channel != Channel::Inline).cloned());
        self.comments = comments.into();
    }
}

/// What hangs on head and base.
struct About {
    checks: Checks,
    rules: Reading<BranchRules>,
}

/// What the first round of requests brought.
struct First {
    pull: Seen<wire::Pull>,
    said: Said,
    reactions: Seen<Vec<Reaction>>,
    account: Option<Author>,
    threads: Option<Vec<KeptThread>>,
    about: Option<About>,
    permissions: BTreeMap<Login, Permission>,
    on_triggers: BTreeMap<u64, Vec<Reaction>>,
}

/// What the second round brought.
struct Second {
    about: About,
    threads: Vec<KeptThread>,
    permissions: BTreeMap<Login, Permission>,
    reactions: Vec<Reaction>,
}

/// All that a complete reading is made of.
struct Parts {
    pull: PullRequest,
    said: Said,
    account: Option<Author>,
    threads: Vec<Thread>,
    about: About,
    permissions: BTreeMap<Login, Permission>,
    reactions: Vec<Reaction>,
    plan: Option<Plan>,
}

fn ids<T: Item>(pages: Vec<Vec<T>>) -> BTreeMap<u64, T> {
    let mut all: BTreeMap<u64, T> = BTreeMap::new();
    for item in pages.into_iter().flatten() {
        // A page can repeat an item that moved while the list was read: the newest form counts.
        if all.get(&item.id()).is_none_or(|known| known.changed() <= item.changed()) {
            all.insert(item.id(), item);
        }
    }
    all
}

fn values<T: Item>(pages: Vec<Vec<T>>) -> Vec<T> {
    ids(pages).into_values().collect()
}

impl Github {
    /// Reads everything once; `None` when the head or the base moved meanwhile.
    pub(crate) fn read_once(&self, depth: Depth) -> Result<Option<Observation>, Fault> {
        thread::scope(|scope| {
            let bots = scope.spawn(|| Ok(self.api.recent_bots(&self.at.slug)));
            let parts = self.read_parts(depth);
            let bots = joined(bots)?;
            Ok(parts?.map(|parts| self.assemble(parts, bots)))
        })
    }

    fn read_parts(&self, depth: Depth) -> Result<Option<Parts>, Fault> {
        let plan: Option<Plan> = self.api.kept(&self.name("plan"), FOREVER);
        let known = match depth {
            Depth::Warm => self.api.kept::<Vec<KeptThread>>(&self.name("threads"), THREADS_AGE),
            Depth::Full => None,
        };
        let mut first = self.first(plan.as_ref(), depth, known.is_none())?;
        if let (Some(early), None) = (&self.early, &plan) {
            // Nobody need be listening.
            let _ = early.send(first.said.comments.clone());
        }
        let pull = self.convert_pull(&first.pull.value)?;
        let plan = plan.filter(|plan| plan.head == pull.head && plan.base == pull.base);
        let changed = first.pull.changed || first.said.changed || first.reactions.changed || plan.is_none();
        if first.said.by_newest && plan.is_none() {
            // A new head moves comments and leaves their times as they are.
            first.said.renew(values(self.inline(Depth::Full)?.list.value));
        }
        let known = known.filter(|_| !changed);
        let quiet = !changed && known.is_some();
        let asked = first.threads.is_some() || known.is_none();
        // Comments and threads that are here already are covered by a look at the head that starts now, beside the rest.
        // Not for a verdict: there the head is compared after everything else was read.
        let beside = !quiet && depth == Depth::Warm && first.threads.is_some();
        let (second, after) = thread::scope(|scope| {
            let after = beside.then(|| scope.spawn(|| self.pull()));
            let second = self.second(first, &pull, plan.as_ref(), known);
            (second, after.map(joined))
        });
        let (mut said, second) = second?;
        let (threads, again) = self.fitting(&mut said.0, second.threads, asked)?;
        let after = match after {
            _ if quiet => None,
            Some(after) if !again => Some(after?),
            _ => Some(self.pull()?),
        };
        let pull = match after {
            None => pull,
            Some(after) => {
                let after = self.convert_pull(&after.value)?;
                if after.head != pull.head || after.base != pull.base {
                    return Ok(None);
                }
                after
            }
        };
        let (said, account) = said;
        let Second { about, permissions, reactions, .. } = second;
        Ok(Some(Parts { pull, said, account, threads, about, permissions, reactions, plan }))
    }

    fn first(&self, plan: Option<&Plan>, depth: Depth, with_threads: bool) -> Result<First, Fault> {
        let (api, slug) = (&self.api, &self.at.slug);
        thread::scope(|scope| {
            let pull = scope.spawn(|| self.pull());
            let inline = scope.spawn(|| self.inline(depth));
            let reviews = scope.spawn(|| api.list::<Vec<wire::Review>>(&self.reviews_path()));
            let talk = scope.spawn(|| api.list::<Vec<wire::Talk>>(&format!("{}/comments?per_page=100", self.issue())));
            let reactions = scope.spawn(|| api.reactions(&self.issue(), None));
            let account = scope.spawn(|| api.account());
            let threads = with_threads.then(|| scope.spawn(|| api.threads(slug, self.at.number.0)));
            let about = plan.map(|plan| scope.spawn(|| self.about(&plan.head, &plan.base)));
            let people = plan.map(|plan| scope.spawn(|| api.permissions(slug, plan.logins.clone())));
            let triggers = plan.map(|plan| scope.spawn(|| self.on_triggers(&plan.triggers)));
            let pull = joined(pull)?;
            let (inline, reviews, talk) = (joined(inline)?, joined(reviews)?, joined(talk)?);
            let (by_newest, inline) = (inline.by_newest, inline.list);
            let changed = inline.changed || reviews.changed || talk.changed;
            let at = api.client.server_time();
            let said = Said::of(values(inline.value), values(reviews.value), values(talk.value), at);
            Ok(First {
                pull,
                said: Said { changed, by_newest, ..said },
                reactions: joined(reactions)?,
                account: joined(account)?,
                threads: threads.map(joined).transpose()?,
                // Asked ahead: what is wrong with these is found out again where they are needed.
                about: about.and_then(|h| joined(h).ok()),
                permissions: people.and_then(|h| joined(h).ok()).unwrap_or_default(),
                on_triggers: triggers.and_then(|h| joined(h).ok()).unwrap_or_default(),
            })
        })
    }

    fn second(
        &self,
        first: First,
        pull: &PullRequest,
        plan: Option<&Plan>,
        known: Option<Vec<KeptThread>>,
    ) -> Result<((Said, Option<Author>), Second), Fault> {
        let (api, slug) = (&self.api, &self.at.slug);
        let First { said, account, mut permissions, on_triggers, mut reactions, .. } = first;
        let threads = first.threads.or(known);
        let triggers = said.triggers.clone();
        let missing = |known: &BTreeMap<Login, Permission>, wanted: BTreeSet<Login>| {
            wanted.into_iter().filter(|login| !known.contains_key(login)).collect::<BTreeSet<_>>()
        };
        let resolvers = threads.iter().flatten().filter_map(KeptThread::thread).filter_map(|t| t.resolved_by);
        let own = account.iter().filter(|own| own.kind == AccountKind::Person).map(|own| own.login.clone());
        let wanted = people(&said, pull).into_iter().chain(resolvers).chain(own).collect();
        let wanted = missing(&permissions, wanted);
        let about = first.about.filter(|_| plan.is_some());
        let second = thread::scope(|scope| {
            let about = about.map_or_else(|| Err(scope.spawn(|| self.about(&pull.head, &pull.base))), Ok);
            let read = threads.map_or_else(|| Err(scope.spawn(|| api.threads(slug, self.at.number.0))), Ok);
            let asked = scope.spawn(|| api.permissions(slug, wanted));
            let unseen: Vec<u64> = triggers.iter().copied().filter(|id| !on_triggers.contains_key(id)).collect();
            let more = scope.spawn(move || self.on_triggers(&unseen));
            permissions.extend(joined(asked)?);
            let mut on_triggers = on_triggers;
            on_triggers.extend(joined(more)?);
            let here = on_triggers.into_iter().filter(|(id, _)| triggers.contains(id));
            reactions.value.extend(here.flat_map(|(_, list)| list));
            Ok(Second {
                about: about.or_else(joined)?,
                threads: read.or_else(joined)?,
                permissions,
                reactions: reactions.value,
            })
        })?;
        Ok(((said, account), second))
    }

    /// Reads comments and threads again until they tell of the same comments. A comment that only one of them knows
    /// was just made or deleted, or a page was cut; one that stays missing from the list is an incomplete read.
    /// Tells too whether anything was read again.
    fn fitting(
        &self,
        said: &mut Said,
        mut threads: Vec<KeptThread>,
        asked: bool,
    ) -> Result<(Vec<Thread>, bool), Fault> {
        for turn in 1.. {
            let inline = said.comments.iter().filter(|comment| comment.channel == Channel::Inline);
            let listed: BTreeSet<u64> = inline.map(|comment| comment.id).collect();
            let turned: Vec<Thread> = threads.iter().filter_map(KeptThread::thread).collect();
            let told: BTreeSet<u64> = turned.iter().flat_map(|thread| thread.comments.iter().copied()).collect();
            if listed == told || (turn == FITS && told.is_subset(&listed)) {
                // What was kept and not asked for again stays as old as it is.
                if asked || turn > 1 {
                    self.api.keep(&self.name("threads"), threads);
                }
                return Ok((turned, turn > 1));
            }
            if turn == FITS {
                break;
            }
            let (inline, read) = thread::scope(|scope| {
                let inline = scope.spawn(|| self.inline(Depth::Full));
                let read = self.api.threads(&self.at.slug, self.at.number.0);
                (joined(inline), read)
            });
            said.renew(values(inline?.list.value));
            threads = read?;
        }
        let request = format!("GET /{}/comments", self.path());
        Err(Fault::failed(&request, "incomplete read: threads hold comments that the list does not"))
    }

    /// Returns the newest comments of the last reading, without asking the forge.
    pub(crate) fn known_comments(&self) -> Vec<Comment> {
        let first = |path: String| self.api.url(&path).ok();
        let inline = first(self.inline_path()).and_then(|url| self.api.known_page::<Vec<wire::Inline>>(&url));
        let reviews = first(self.reviews_path()).and_then(|url| self.api.known_page::<Vec<wire::Review>>(&url));
        let at = self.api.client.server_time();
        let inline = inline.unwrap_or_default().into_iter().map(convert::inline);
        inline.chain(reviews.unwrap_or_default().into_iter().filter_map(|r| convert::review(r, at))).collect()
    }

    fn inline_path(&self) -> String {
        format!("{}/comments?sort=updated&direction=desc&per_page=100", self.path())
    }

    fn reviews_path(&self) -> String {
        format!("{}/reviews?per_page=100", self.path())
    }

    fn inline(&self, depth: Depth) -> Result<Newest<wire::Inline>, Fault> {
        let path = self.inline_path();
        match depth {
            Depth::Warm => self.api.newest(&path),
            Depth::Full => self.api.every(&path),
        }
    }

    fn about(&self, head: &Sha, base: &str) -> Result<About, Fault> {
        let (checks, rules) = thread::scope(|scope| {
            let checks = scope.spawn(|| self.api.checks(&self.at.slug, head));
            let rules = self.api.rules(&self.at.slug, base);
            (joined(checks), rules)
        });
        Ok(About { checks: checks?, rules: rules? })
    }

    fn on_triggers(&self, ids: &[u64]) -> Result<BTreeMap<u64, Vec<Reaction>>, Fault> {
        let repo = repo(&self.at.slug);
        let all = super::rest::parallel(ids.to_vec(), 4, |id| {
            match self.api.reactions(&format!("{repo}/issues/comments/{id}"), Some(id)) {
                Ok(seen) => Ok((id, seen.value)),
                // Deleted since the list was read: nothing stands on it any more.
                Err(Fault::NotThere { .. }) => Ok((id, Vec::new())),
                Err(fault) => Err(fault),
            }
        })?;
        Ok(all.into_iter().collect())
    }

    fn assemble(&self, parts: Parts, bots: Reading<BTreeSet<Login>>) -> Observation {
        let Parts { pull, said, account, threads, about, permissions, reactions, plan: former } = parts;
        let at = self.api.client.server_time();
        let since = former.as_ref().map_or(at, |plan| plan.since);
        let plan = Plan {
            head: pull.head.clone(),
            base: pull.base.clone(),
            since,
            logins: permissions.keys().cloned().collect(),
            triggers: said.triggers,
        };
        if former.as_ref() != Some(&plan) {
            self.api.keep(&self.name("plan"), plan);
        }
        let comments = said.comments;
        let head_since = head_since(&pull, &comments, about.checks.oldest, since);
        Observation {
            at,
            account,
            pr: pull,
            comments,
            threads,
            reactions,
            permissions,
            checks: about.checks.reading,
            rules: about.rules,
            recent_bots: bots,
            head_since: Some(head_since),
            barred: self.api.client.heard().barred(),
        }
    }
}

/// Returns since when the head is there: the oldest sign bound to it, our own first sight of it included. A sign older
/// than the pull request comes from the same commit elsewhere.
fn head_since(pull: &PullRequest, comments: &[Comment], check: Option<Timestamp>, seen: Timestamp) -> Timestamp {
    let reviews = comments
        .iter()
        .filter(|c| c.channel == Channel::Review && c.review_commit.as_ref() == Some(&pull.head))
        .map(|c| c.created_at);
    let signs = reviews.chain(check).chain([seen]).filter(|at| *at >= pull.created_at);
    signs.min().unwrap_or(seen)
}

fn people(said: &Said, pull: &PullRequest) -> BTreeSet<Login> {
    let authors = said.comments.iter().filter_map(|comment| comment.author.as_ref()).chain(&pull.author);
    let people = authors.filter(|author| author.kind == AccountKind::Person);
    people.map(|author| &author.login).collect::<BTreeSet<_>>().into_iter().cloned().collect()
}

/// Returns the newest comments of people that carry reactions: a bot answers a request there.
fn triggers(talk: &[wire::Talk]) -> Vec<u64> {
    let person = |c: &&wire::Talk| c.user.as_ref().is_some_and(|u| convert::author(u).kind == AccountKind::Person);
    let reacted = |c: &&wire::Talk| c.reactions.as_ref().is_some_and(|r| r.total_count.unwrap_or(1) > 0);
    talk.iter().rev().filter(person).filter(reacted).take(TRIGGERS).map(|c| c.id).collect()
}
