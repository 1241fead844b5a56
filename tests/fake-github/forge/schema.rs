//! The GraphQL fields that are known, and the check of a whole document against them before it is run: also of parts that an
//! empty list would never reach.

use std::collections::BTreeMap;

use graphql_parser::query::{FragmentDefinition, Selection, SelectionSet, TypeCondition};

/// Type to its fields: a bare name is a leaf, `name:Type` one object, `name:[Type]` a connection, `name:A|B` a union.
const TYPES: &[(&str, &str)] = &[
    ("Query", "viewer:User rateLimit:RateLimit repository:Repository node:Any"),
    (
        "Mutation",
        "resolveReviewThread:ThreadPayload unresolveReviewThread:ThreadPayload minimizeComment:MinimizePayload \
         markPullRequestReadyForReview:ReadyPayload",
    ),
    ("ThreadPayload", "clientMutationId thread:PullRequestReviewThread"),
    ("MinimizePayload", "clientMutationId minimizedComment:Minimizable"),
    ("ReadyPayload", "clientMutationId pullRequest:PullRequest"),
    ("Minimizable", "isMinimized minimizedReason"),
    ("RateLimit", "limit cost used remaining resetAt nodeCount"),
    ("User", "login id databaseId url"),
    ("Bot", "login id databaseId url"),
    ("Actor", "login url"),
    (
        "Repository",
        "id databaseId name nameWithOwner isPrivate viewerPermission pullRequest:PullRequest issue:Issue object:Commit",
    ),
    (
        "PullRequest",
        "id fullDatabaseId number title body state isDraft merged headRefOid headRefName baseRefName baseRefOid url createdAt \
         updatedAt mergeable reviewDecision viewerCanUpdate author:Actor reviewThreads:[PullRequestReviewThread] reviews:[PullRequestReview] \
         latestReviews:[PullRequestReview] comments:[IssueComment] reactions:[Reaction] closingIssuesReferences:[Issue] \
         commits:[PullRequestCommit] statusCheckRollup:StatusCheckRollup",
    ),
    (
        "PullRequestReviewThread",
        "id isResolved isOutdated isCollapsed resolvedBy:User viewerCanResolve viewerCanUnresolve viewerCanReply path line \
         startLine originalLine originalStartLine diffSide subjectType comments:[PullRequestReviewComment]",
    ),
    (
        "PullRequestReviewComment",
        "id fullDatabaseId body author:Actor authorAssociation isMinimized minimizedReason path line originalLine outdated \
         createdAt updatedAt diffHunk url replyTo:PullRequestReviewComment pullRequestReview:PullRequestReview commit:Commit \
         originalCommit:Commit",
    ),
    ("PullRequestReview", "id fullDatabaseId state body author:Actor submittedAt commit:Commit isMinimized"),
    ("IssueComment", "id fullDatabaseId body author:Actor createdAt updatedAt isMinimized minimizedReason"),
    ("Issue", "id number title body state author:Actor repository:Repository url"),
    ("PullRequestCommit", "commit:Commit"),
    ("Commit", "oid id abbreviatedOid statusCheckRollup:StatusCheckRollup"),
    ("StatusCheckRollup", "id state contexts:[CheckRun|StatusContext]"),
    (
        "CheckRun",
        "id databaseId fullDatabaseId name status conclusion startedAt completedAt checkSuite:CheckSuite isRequired",
    ),
    ("CheckSuite", "id databaseId app:App"),
    ("App", "id databaseId slug name"),
    ("StatusContext", "id context state description targetUrl createdAt isRequired"),
    ("Reaction", "content user:User"),
    ("PageInfo", "hasNextPage hasPreviousPage endCursor startCursor"),
];

/// Fields that may not be asked for without these arguments.
const NEEDED: &[(&str, &str, &str)] = &[
    ("Query", "repository", "owner name"),
    ("Query", "node", "id"),
    ("Repository", "pullRequest", "number"),
    ("Repository", "issue", "number"),
    ("Mutation", "resolveReviewThread", "input"),
    ("Mutation", "unresolveReviewThread", "input"),
    ("Mutation", "minimizeComment", "input"),
    ("Mutation", "markPullRequestReadyForReview", "input"),
];

/// Collects what is wrong with a selection set.
pub struct Check<'f, 'd> {
    pub fragments: &'f BTreeMap<String, &'d FragmentDefinition<'d, String>>,
    pub wrong: Vec<String>,
    depth: usize,
}

impl<'f, 'd> Check<'f, 'd> {
    /// Starts a check.
    pub fn new(fragments: &'f BTreeMap<String, &'d FragmentDefinition<'d, String>>) -> Self {
        Self { fragments, wrong: Vec::new(), depth: 0 }
    }

    /// Checks a selection on a type.
    pub fn set(&mut self, kind: &str, set: &SelectionSet<'_, String>) {
        self.depth += 1;
        if self.depth > 40 {
            self.wrong.push("a selection that never ends".into());
        } else {
            set.items.iter().for_each(|item| self.item(kind, item));
        }
        self.depth -= 1;
    }

    fn item(&mut self, kind: &str, item: &Selection<'_, String>) {
        match item {
            Selection::Field(field) if field.name == "__typename" => {}
            Selection::Field(field) => {
                let Some(target) = target(kind, &field.name) else {
                    self.wrong.push(format!("Field '{}' doesn't exist on type '{kind}'", field.name));
                    return;
                };
                let needed = NEEDED.iter().find(|(k, f, _)| *k == kind && *f == field.name).map_or("", |n| n.2);
                for name in needed.split_whitespace() {
                    if !field.arguments.iter().any(|(n, _)| n == name) {
                        self.wrong.push(format!("Field '{}' is missing required arguments: {name}", field.name));
                    }
                }
                let inner = &field.selection_set;
                match target {
                    "" if inner.items.is_empty() => {}
                    "" => self.wrong.push(format!("Field '{}' must not have a selection", field.name)),
                    _ if inner.items.is_empty() => {
                        self.wrong.push(format!("Field '{}' must have selections", field.name));
                    }
                    list if list.starts_with('[') => {
                        let page = ["first", "last"].iter().any(|n| field.arguments.iter().any(|(a, _)| a == n));
                        if !page {
                            let text = "You must provide a `first` or `last` value to properly paginate the";
                            self.wrong.push(format!("{text} `{}` connection.", field.name));
                        }
                        self.connection(list.trim_matches(['[', ']']), inner);
                    }
                    one => self.set(one, inner),
                }
            }
            Selection::InlineFragment(fragment) => {
                let on = fragment.type_condition.as_ref().map(|TypeCondition::On(name)| name.as_str());
                self.condition(kind, on, &fragment.selection_set);
            }
            Selection::FragmentSpread(spread) => match self.fragments.get(&spread.fragment_name).copied() {
                Some(fragment) => {
                    let TypeCondition::On(name) = &fragment.type_condition;
                    self.condition(kind, Some(name), &fragment.selection_set);
                }
                None => self.wrong.push(format!("Fragment {} was used, but not defined", spread.fragment_name)),
            },
        }
    }

    fn condition(&mut self, kind: &str, on: Option<&str>, set: &SelectionSet<'_, String>) {
        let Some(name) = on else { return self.set(kind, set) };
        let possible = match kind {
            "Any" => true,
            "Actor" => matches!(name, "User" | "Bot" | "Actor"),
            "Minimizable" => matches!(name, "PullRequestReviewComment" | "IssueComment" | "Minimizable"),
            _ => kind == name || kind.split('|').any(|k| k == name) || name == "Node",
        };
        match possible {
            true => self.set(name, set),
            false => self.wrong.push(format!("Fragment on {name} can't be spread inside {kind}")),
        }
    }

    fn connection(&mut self, kind: &str, set: &SelectionSet<'_, String>) {
        for item in &set.items {
            let Selection::Field(field) = item else { continue };
            let inner = &field.selection_set;
            match field.name.as_str() {
                "nodes" => self.set(kind, inner),
                "pageInfo" => self.set("PageInfo", inner),
                "edges" => {
                    for edge in &inner.items {
                        if let Selection::Field(node) = edge
                            && node.name == "node"
                        {
                            self.set(kind, &node.selection_set);
                        }
                    }
                }
                _ => {}
            }
        }
    }
}

/// Returns what a field leads to, an empty text for a leaf.
fn target(kind: &str, field: &str) -> Option<&'static str> {
    let (_, fields) = TYPES.iter().find(|(name, _)| *name == kind)?;
    let found = fields.split_whitespace().map(|f| f.split_once(':').unwrap_or((f, "")));
    found.into_iter().find(|(name, _)| *name == field).map(|(_, target)| target)
}
