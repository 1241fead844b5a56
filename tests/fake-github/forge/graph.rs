//! The GraphQL fields of each type, read from the state, and the mutations.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::graphql::{rate, rollup};
use super::http::Caller;
use super::state::At;
use super::state::{Pull, State, iso};

/// Arguments of a field.
pub struct Args(pub Map<String, Value>);

impl Args {
    /// Returns a text, empty when absent.
    pub fn text(&self, key: &str) -> &str {
        self.0.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns a number, 0 when absent.
    pub fn number(&self, key: &str) -> u64 {
        self.0.get(key).and_then(Value::as_u64).unwrap_or_default()
    }
}

/// A place in the graph.
#[derive(Debug, Clone)]
pub enum Node {
    Query,
    Mutation,
    RateLimit,
    /// The login, and whether it is a bot.
    Actor(String, bool),
    /// The caller; bots keep their `[bot]` here.
    Viewer(String),
    Repo(usize),
    Pull(At),
    Thread(At, u64),
    Comment(At, u64),
    Review(At, u64),
    Talk(At, u64),
    Issue(usize, u64),
    PullCommit(usize, String, u64),
    Commit(usize, String),
    Rollup(usize, String),
    Check(usize, u64),
    Suite(usize, u64),
    App(u64, String),
    Context(usize, u64),
    Reaction(String, String),
    Edge(usize, Box<Self>),
    PageInfo {
        low: usize,
        high: usize,
        total: usize,
    },
    Payload(String, Box<Self>),
    Minimized(String),
}

impl Node {
    /// Returns the type's name.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Query => "Query",
            Self::Mutation => "Mutation",
            Self::RateLimit => "RateLimit",
            Self::Actor(_, true) => "Bot",
            Self::Actor(_, false) => "User",
            Self::Viewer(_) => "User",
            Self::Repo(_) => "Repository",
            Self::Pull(_) => "PullRequest",
            Self::Thread(..) => "PullRequestReviewThread",
            Self::Comment(..) => "PullRequestReviewComment",
            Self::Review(..) => "PullRequestReview",
            Self::Talk(..) => "IssueComment",
            Self::Issue(..) => "Issue",
            Self::PullCommit(..) => "PullRequestCommit",
            Self::Commit(..) => "Commit",
            Self::Rollup(..) => "StatusCheckRollup",
            Self::Check(..) => "CheckRun",
            Self::Suite(..) => "CheckSuite",
            Self::App(..) => "App",
            Self::Context(..) => "StatusContext",
            Self::Reaction(..) => "Reaction",
            Self::Edge(..) => "Edge",
            Self::PageInfo { .. } => "PageInfo",
            Self::Payload(..) => "Payload",
            Self::Minimized(_) => "Minimizable",
        }
    }

    /// Returns whether a type condition fits.
    pub fn is(&self, name: &str) -> bool {
        let more: &[&str] = match self {
            Self::Actor(..) => &["Actor"],
            Self::Commit(..) => &["GitObject"],
            Self::Minimized(_) => &["PullRequestReviewComment", "IssueComment"],
            _ => &["Node"],
        };
        self.type_name() == name || more.contains(&name)
    }
}

/// What a field gives.
pub enum Out {
    Leaf(Value),
    Null,
    One(Node),
    Plain(Vec<Node>),
    Connection(Vec<Node>),
}

/// An entry for `errors`.
pub struct Wrong {
    pub kind: &'static str,
    pub message: String,
}

/// A field's outcome; `Err(None)` = there is no such field.
pub type Found = Result<Out, Option<Wrong>>;

/// Refuses a field.
pub fn wrong<T>(kind: &'static str, message: impl Into<String>) -> Result<T, Option<Wrong>> {
    Err(Some(Wrong { kind, message: message.into() }))
}

/// Gives a leaf.
pub fn leaf(value: impl Into<Value>) -> Found {
    Ok(Out::Leaf(value.into()))
}

/// Where in the lists of a pull request things stand, so that a long list is not searched for each field.
#[derive(Default)]
pub struct Places {
    comments: HashMap<u64, usize>,
    threads: HashMap<u64, Vec<usize>>,
    reviews: HashMap<u64, usize>,
}

impl Places {
    fn of(pull: &Pull) -> Self {
        let mut places = Self::default();
        for (n, comment) in pull.comments.iter().enumerate() {
            places.comments.insert(comment.id, n);
            places.threads.entry(comment.reply_to.unwrap_or(comment.id)).or_default().push(n);
        }
        places.reviews = pull.reviews.iter().enumerate().map(|(n, review)| (review.id, n)).collect();
        places
    }
}

/// The state with somebody looking at it.
pub struct Graph<'a> {
    pub st: &'a mut State,
    pub me: &'a Caller,
    /// Of the pull requests that were looked at; void after a mutation.
    pub places: HashMap<(usize, u64), Places>,
}

impl Graph<'_> {
    /// Reads one field.
    pub fn field(&mut self, node: &Node, name: &str, args: &Args) -> Found {
        match node {
            Node::Query => self.query(name, args),
            Node::Mutation => {
                self.places.clear();
                self.mutation(name, args)
            }
            Node::RateLimit => self.rate_limit(name),
            Node::Actor(login, _) => self.actor(login, name),
            Node::Viewer(login) if name == "login" => leaf(login.as_str()),
            Node::Viewer(login) => self.actor(login, name),
            Node::Repo(index) => self.repo(*index, name, args),
            Node::Pull(at) => self.pull(*at, name, args),
            Node::Thread(at, root) => self.thread(*at, *root, name),
            Node::Comment(at, id) => self.comment(*at, *id, name),
            Node::Review(at, id) => self.review(*at, *id, name),
            Node::Talk(at, id) => self.talk(*at, *id, name),
            Node::Issue(repo, number) => self.issue(*repo, *number, name),
            Node::PullCommit(repo, sha, _) => match name {
                "commit" => Ok(Out::One(Node::Commit(*repo, sha.clone()))),
                _ => Err(None),
            },
            Node::Commit(repo, sha) => self.commit(*repo, sha, name),
            Node::Rollup(repo, sha) => self.rollup(*repo, sha, name),
            Node::Check(repo, id) => self.check(*repo, *id, name, args),
            Node::Suite(repo, id) => self.suite(*repo, *id, name),
            Node::App(id, slug) => match name {
                "databaseId" => leaf(*id),
                "slug" | "name" => leaf(slug.as_str()),
                "id" => leaf(format!("A_{id}")),
                _ => Err(None),
            },
            Node::Context(repo, id) => self.context(*repo, *id, name, args),
            Node::Reaction(user, content) => match name {
                "content" => leaf(content.as_str()),
                "user" => self.person(user),
                _ => Err(None),
            },
            Node::Edge(n, inner) => match name {
                "cursor" => leaf(format!("c:{n}")),
                "node" => Ok(Out::One((**inner).clone())),
                _ => Err(None),
            },
            Node::PageInfo { low, high, total } => match name {
                "hasNextPage" => leaf(high < total),
                "hasPreviousPage" => leaf(*low > 0),
                "endCursor" if high > low => leaf(format!("c:{}", high - 1)),
                "startCursor" if high > low => leaf(format!("c:{low}")),
                "endCursor" | "startCursor" => leaf(Value::Null),
                _ => Err(None),
            },
            Node::Payload(key, inner) => match name {
                _ if name == key => Ok(Out::One((**inner).clone())),
                "clientMutationId" => leaf(Value::Null),
                _ => Err(None),
            },
            Node::Minimized(reason) => match name {
                "isMinimized" => leaf(true),
                "minimizedReason" => leaf(reason.as_str()),
                _ => Err(None),
            },
        }
    }

    fn query(&mut self, name: &str, args: &Args) -> Found {
        match name {
            "viewer" => Ok(Out::One(Node::Viewer(self.me.login.clone()))),
            "rateLimit" => Ok(Out::One(Node::RateLimit)),
            "repository" => {
                let slug = format!("{}/{}", args.text("owner"), args.text("name"));
                let index = self.st.repos.iter().position(|r| {
                    r.slug().eq_ignore_ascii_case(&slug) || r.renamed_from.iter().any(|o| o.eq_ignore_ascii_case(&slug))
                });
                match index {
                    Some(i)
                        if self.me.kind == "installation"
                            || self.st.access(&self.st.repos[i], &self.me.login) != "none" =>
                    {
                        Ok(Out::One(Node::Repo(i)))
                    }
                    _ => wrong("NOT_FOUND", format!("Could not resolve to a Repository with the name '{slug}'.")),
                }
            }
            "node" => match self.by_node_id(args.text("id")) {
                Some(node) => Ok(Out::One(node)),
                None => wrong("NOT_FOUND", "Could not resolve to a node with the global id"),
            },
            _ => Err(None),
        }
    }

    /// Finds what a node id names.
    pub fn by_node_id(&self, id: &str) -> Option<Node> {
        let (kind, number) = id.split_once('_')?;
        let number: u64 = number.parse().ok()?;
        for (repo, r) in self.st.repos.iter().enumerate() {
            for p in &r.pulls {
                let at = At { repo, pull: p.number, trigger: None };
                let comment = p.comments.iter().find(|c| c.id == number);
                match kind {
                    "PRRT" if comment.is_some() || p.comments.iter().any(|c| c.reply_to == Some(number)) => {
                        return Some(Node::Thread(at, number));
                    }
                    "PRRC" if comment.is_some() => return Some(Node::Comment(at, number)),
                    "IC" if p.talk.iter().any(|t| t.id == number) => return Some(Node::Talk(at, number)),
                    "PRR" if p.reviews.iter().any(|r| r.id == number) => return Some(Node::Review(at, number)),
                    "PR" if p.id == number => return Some(Node::Pull(at)),
                    _ => {}
                }
            }
        }
        None
    }

    fn rate_limit(&self, name: &str) -> Found {
        let (limit, used, reset) = rate(self.st, &self.me.login);
        match name {
            "limit" => leaf(limit),
            "cost" => leaf(1),
            "used" => leaf(used),
            "remaining" => leaf((limit - used).max(0)),
            "resetAt" => leaf(reset),
            "nodeCount" => leaf(1),
            _ => Err(None),
        }
    }

    fn actor(&self, login: &str, name: &str) -> Found {
        let Some(user) = self.st.user(login) else { return Ok(Out::Null) };
        match name {
            "login" => leaf(user.login.trim_end_matches("[bot]")),
            "id" => leaf(format!("U_{}", user.id)),
            "databaseId" => leaf(user.id),
            "url" => leaf(format!("{}/{}", self.st.base, user.login)),
            _ => Err(None),
        }
    }

    fn person(&self, login: &str) -> Found {
        match self.st.user(login) {
            // The type is told by the account, not by the spelling of the login.
            Some(user) => Ok(Out::One(Node::Actor(user.login.clone(), user.kind() == "Bot"))),
            None => Ok(Out::Null),
        }
    }

    fn repo(&mut self, index: usize, name: &str, args: &Args) -> Found {
        let repo = &self.st.repos[index];
        match name {
            "pullRequest" => {
                if !self.me.may("pull_requests", "read") {
                    return wrong("FORBIDDEN", self.me.refusal());
                }
                let number = args.number("number");
                match repo.pull(number) {
                    Some(_) => Ok(Out::One(Node::Pull(At { repo: index, pull: number, trigger: None }))),
                    None => {
                        wrong("NOT_FOUND", format!("Could not resolve to a PullRequest with the number of {number}."))
                    }
                }
            }
            "issue" => Ok(Out::One(Node::Issue(index, args.number("number")))),
            "object" => {
                let name = if args.text("oid").is_empty() { args.text("expression") } else { args.text("oid") };
                let git = super::git::open(&repo.git, &[]).ok();
                match git.and_then(|g| super::git::resolve(&g, name)) {
                    Some(sha) => Ok(Out::One(Node::Commit(index, sha))),
                    None => Ok(Out::Null),
                }
            }
            "nameWithOwner" => leaf(repo.slug()),
            "name" => leaf(repo.name.as_str()),
            "id" => leaf(format!("R_{}", repo.id)),
            "databaseId" => leaf(repo.id),
            "isPrivate" => leaf(repo.private),
            "viewerPermission" => leaf(self.st.access(repo, &self.me.login).to_uppercase()),
            _ => Err(None),
        }
    }

    fn places(&mut self, at: At) -> Result<&Places, Option<Wrong>> {
        if !self.places.contains_key(&(at.repo, at.pull)) {
            let places = Places::of(self.the_pull(at)?);
            self.places.insert((at.repo, at.pull), places);
        }
        self.places.get(&(at.repo, at.pull)).ok_or(None)
    }

    fn the_pull(&self, at: At) -> Result<&Pull, Option<Wrong>> {
        self.st.repos[at.repo].pull(at.pull).ok_or(None)
    }

    fn pull(&mut self, at: At, name: &str, _args: &Args) -> Found {
        let pull = self.the_pull(at)?;
        match name {
            "id" => leaf(format!("PR_{}", pull.id)),
            "fullDatabaseId" => leaf(pull.id.to_string()),
            "number" => leaf(pull.number),
            "title" => leaf(pull.title.as_str()),
            "body" => leaf(pull.body.clone().unwrap_or_default()),
            "state" if pull.merged => leaf("MERGED"),
            "state" => leaf(pull.state.to_uppercase()),
            "isDraft" => leaf(pull.draft),
            "merged" => leaf(pull.merged),
            "headRefOid" => leaf(pull.head.as_str()),
            "headRefName" => leaf(pull.head_branch.as_str()),
            "baseRefName" => leaf(pull.base.as_str()),
            "baseRefOid" => leaf(pull.base_sha.as_str()),
            "url" => leaf(format!("{}/{}/pull/{}", self.st.base, self.st.repos[at.repo].slug(), pull.number)),
            "author" => self.person(&pull.author),
            "createdAt" => leaf(iso(pull.created)),
            "updatedAt" => leaf(iso(pull.updated)),
            "mergeable" => leaf(if pull.mergeable_null > 0 {
                "UNKNOWN"
            } else if pull.mergeable == Some(false) {
                "CONFLICTING"
            } else {
                "MERGEABLE"
            }),
            "reviewDecision" => leaf(Value::Null),
            "viewerCanUpdate" => leaf(self.may_update(at)),
            "reviewThreads" => {
                // A thread outlives its top comment as long as an answer stands.
                let mut seen = std::collections::HashSet::new();
                let roots = pull.comments.iter().map(|c| c.reply_to.unwrap_or(c.id)).filter(|id| seen.insert(*id));
                Ok(Out::Connection(roots.map(|id| Node::Thread(at, id)).collect()))
            }
            "reviews" | "latestReviews" => {
                Ok(Out::Connection(pull.reviews.iter().map(|r| Node::Review(at, r.id)).collect()))
            }
            "comments" => Ok(Out::Connection(pull.talk.iter().map(|t| Node::Talk(at, t.id)).collect())),
            "reactions" => {
                let shown = |r: &super::state::Reaction| Node::Reaction(r.user.clone(), reaction_word(&r.content));
                Ok(Out::Connection(pull.reactions.iter().map(shown).collect()))
            }
            "closingIssuesReferences" => {
                Ok(Out::Connection(pull.closes.iter().map(|n| Node::Issue(at.repo, *n)).collect()))
            }
            "commits" => {
                let git = self.st.git_of(at.repo, at.pull).ok();
                let list =
                    git.and_then(|g| super::git::between(&g, &pull.base_sha, &pull.head).ok()).unwrap_or_default();
                Ok(Out::Connection(list.into_iter().map(|c| Node::PullCommit(at.repo, c.sha, at.pull)).collect()))
            }
            "statusCheckRollup" => Ok(match rollup(self.st, at.repo, &pull.head) {
                Some(_) => Out::One(Node::Rollup(at.repo, pull.head.clone())),
                None => Out::Null,
            }),
            _ => Err(None),
        }
    }

    /// Returns whether the caller may change title and description.
    fn may_update(&self, at: At) -> bool {
        let repo = &self.st.repos[at.repo];
        let role = matches!(self.st.access(repo, &self.me.login), "write" | "maintain" | "admin");
        let author = repo.pull(at.pull).is_some_and(|p| p.author.eq_ignore_ascii_case(&self.me.login));
        (role || author || self.me.kind == "installation") && self.me.may("pull_requests", "write")
    }

    /// Returns whether the caller may resolve threads there.
    pub fn may_resolve(&self, at: At) -> bool {
        let repo = &self.st.repos[at.repo];
        let access = self.st.access(repo, &self.me.login);
        let role = self.me.kind == "installation" || matches!(access, "write" | "maintain" | "admin");
        let author = repo.pull(at.pull).is_some_and(|p| p.author.eq_ignore_ascii_case(&self.me.login));
        (role || author) && self.me.may("contents", "write") && self.me.may("pull_requests", "write")
    }

    fn thread(&mut self, at: At, root: u64, name: &str) -> Found {
        let may = self.may_resolve(at);
        let own = self.places(at)?.threads.get(&root).cloned().ok_or(None)?;
        let pull = self.the_pull(at)?;
        let top = own.first().and_then(|n| pull.comments.get(*n)).ok_or(None)?;
        let by = pull.resolved.get(&root);
        match name {
            "id" => leaf(format!("PRRT_{root}")),
            "isResolved" => leaf(by.is_some()),
            "isOutdated" => leaf(top.outdated),
            "isCollapsed" => leaf(by.is_some() || top.outdated),
            "resolvedBy" => by.map_or(Ok(Out::Null), |login| self.person(login)),
            "viewerCanResolve" => leaf(may && by.is_none()),
            "viewerCanUnresolve" => leaf(may && by.is_some()),
            "viewerCanReply" => leaf(self.me.may("pull_requests", "write")),
            "path" => leaf(top.path.as_str()),
            "line" => leaf(json!(top.line)),
            "startLine" => leaf(json!(top.start_line)),
            "originalLine" => leaf(json!(top.original_line)),
            "originalStartLine" => leaf(json!(top.original_start_line)),
            "diffSide" => leaf(top.side.as_str()),
            "subjectType" => leaf(if top.file_level { "FILE" } else { "LINE" }),
            "comments" => {
                let own = own.iter().filter_map(|n| pull.comments.get(*n));
                Ok(Out::Connection(own.map(|c| Node::Comment(at, c.id)).collect()))
            }
            _ => Err(None),
        }
    }

    fn comment(&mut self, at: At, id: u64, name: &str) -> Found {
        let place = self.places(at)?.comments.get(&id).copied().ok_or(None)?;
        let pull = self.the_pull(at)?;
        let comment = pull.comments.get(place).ok_or(None)?;
        match name {
            "id" => leaf(format!("PRRC_{id}")),
            "fullDatabaseId" => leaf(id.to_string()),
            "body" => leaf(comment.body.as_str()),
            "author" => self.person(&comment.user),
            "authorAssociation" => leaf(self.st.association(&self.st.repos[at.repo], &pull.author, &comment.user)),
            "isMinimized" => leaf(pull.minimized.contains_key(&id)),
            "minimizedReason" => leaf(json!(pull.minimized.get(&id))),
            "path" => leaf(comment.path.as_str()),
            "line" => leaf(json!(comment.line)),
            "originalLine" => leaf(json!(comment.original_line)),
            "outdated" => leaf(comment.outdated),
            "createdAt" => leaf(iso(comment.created)),
            "updatedAt" => leaf(iso(comment.updated)),
            "diffHunk" => leaf(comment.hunk.as_str()),
            "replyTo" => Ok(comment.reply_to.map_or(Out::Null, |root| Out::One(Node::Comment(at, root)))),
            "pullRequestReview" => Ok(comment.review.map_or(Out::Null, |r| Out::One(Node::Review(at, r)))),
            "commit" => Ok(Out::One(Node::Commit(at.repo, comment.commit.clone()))),
            "originalCommit" => Ok(Out::One(Node::Commit(at.repo, comment.original_commit.clone()))),
            "url" => {
                let slug = self.st.repos[at.repo].slug();
                leaf(format!("{}/{slug}/pull/{}#discussion_r{id}", self.st.base, at.pull))
            }
            _ => Err(None),
        }
    }

    fn review(&mut self, at: At, id: u64, name: &str) -> Found {
        let place = self.places(at)?.reviews.get(&id).copied().ok_or(None)?;
        let pull = self.the_pull(at)?;
        let review = pull.reviews.get(place).ok_or(None)?;
        match name {
            "id" => leaf(format!("PRR_{id}")),
            "fullDatabaseId" => leaf(id.to_string()),
            "state" => leaf(review.state.as_str()),
            "body" => leaf(review.body.as_str()),
            "author" => self.person(&review.user),
            "submittedAt" => leaf(iso(review.submitted)),
            "commit" => Ok(review.commit.clone().map_or(Out::Null, |sha| Out::One(Node::Commit(at.repo, sha)))),
            "isMinimized" => leaf(pull.minimized.contains_key(&id)),
            _ => Err(None),
        }
    }

    fn talk(&mut self, at: At, id: u64, name: &str) -> Found {
        let pull = self.the_pull(at)?;
        let talk = pull.talk.iter().find(|t| t.id == id).ok_or(None)?;
        match name {
            "id" => leaf(format!("IC_{id}")),
            "fullDatabaseId" => leaf(id.to_string()),
            "body" => leaf(talk.body.as_str()),
            "author" => self.person(&talk.user),
            "createdAt" => leaf(iso(talk.created)),
            "updatedAt" => leaf(iso(talk.updated)),
            "isMinimized" => leaf(pull.minimized.contains_key(&id)),
            "minimizedReason" => leaf(json!(pull.minimized.get(&id))),
            _ => Err(None),
        }
    }

    fn issue(&mut self, repo: usize, number: u64, name: &str) -> Found {
        let Some(issue) = self.st.repos[repo].issues.iter().find(|i| i.number == number) else {
            return wrong("NOT_FOUND", format!("Could not resolve to an Issue with the number of {number}."));
        };
        match name {
            "id" => leaf(format!("I_{number}")),
            "number" => leaf(number),
            "title" => leaf(issue.title.as_str()),
            "body" => leaf(issue.body.clone().unwrap_or_default()),
            "state" => leaf(issue.state.to_uppercase()),
            "author" => self.person(&issue.author),
            "repository" => Ok(Out::One(Node::Repo(repo))),
            "url" => leaf(format!("{}/{}/issues/{number}", self.st.base, self.st.repos[repo].slug())),
            _ => Err(None),
        }
    }
}

fn reaction_word(content: &str) -> String {
    match content {
        "+1" => "THUMBS_UP".into(),
        "-1" => "THUMBS_DOWN".into(),
        other => other.to_uppercase(),
    }
}
