//! The GraphQL mutations.

use super::graph::{Args, Found, Graph, Node, Out, wrong};

impl Graph<'_> {
    /// Carries out one mutation.
    pub fn mutation(&mut self, name: &str, args: &Args) -> Found {
        let input = args.0.get("input").cloned().unwrap_or_default();
        let id = |key: &str| input[key].as_str().unwrap_or_default().to_owned();
        let missing =
            |what: &str| wrong("NOT_FOUND", format!("Could not resolve to a node with the global id of '{what}'"));
        match name {
            "resolveReviewThread" | "unresolveReviewThread" => {
                let thread = id("threadId");
                let Some(Node::Thread(at, root)) = self.by_node_id(&thread) else { return missing(&thread) };
                if !self.may_resolve(at) {
                    return wrong("FORBIDDEN", self.me.refusal());
                }
                self.st.version += 1;
                let me = self.me.login.clone();
                let Ok(pull) = self.st.pull_mut(at) else { return missing(&thread) };
                if name == "resolveReviewThread" {
                    pull.resolved.entry(root).or_insert(me);
                } else {
                    pull.resolved.remove(&root);
                }
                Ok(Out::One(Node::Payload("thread".into(), Box::new(Node::Thread(at, root)))))
            }
            "minimizeComment" => {
                let subject = id("subjectId");
                let (at, number) = match self.by_node_id(&subject) {
                    Some(Node::Comment(at, n) | Node::Talk(at, n) | Node::Review(at, n)) => (at, n),
                    _ => return missing(&subject),
                };
                let reason = id("classifier").to_lowercase();
                self.st.version += 1;
                if let Ok(pull) = self.st.pull_mut(at) {
                    pull.minimized.insert(number, reason.clone());
                }
                Ok(Out::One(Node::Payload("minimizedComment".into(), Box::new(Node::Minimized(reason)))))
            }
            "markPullRequestReadyForReview" => {
                let subject = id("pullRequestId");
                let Some(Node::Pull(at)) = self.by_node_id(&subject) else { return missing(&subject) };
                self.st.version += 1;
                if let Ok(pull) = self.st.pull_mut(at) {
                    pull.draft = false;
                }
                Ok(Out::One(Node::Payload("pullRequest".into(), Box::new(Node::Pull(at)))))
            }
            _ => Err(None),
        }
    }
}
