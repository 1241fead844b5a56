//! Stores what is said: comments, replies, reviews, emoji. The same for scripted people and for requests.

use super::git::Fail;
use super::state::{At, Comment, Ms, Reaction, Review, State, Talk};

impl State {
    /// Stores a review.
    pub fn new_review(
        &mut self,
        at: At,
        user: &str,
        body: &str,
        state: &str,
        commit: Option<String>,
        when: Option<Ms>,
    ) -> Result<u64, Fail> {
        let id = self.fresh_id();
        let submitted = when.unwrap_or_else(|| self.clock.now());
        let pull = self.pull_mut(at)?;
        pull.requested.retain(|l| !l.eq_ignore_ascii_case(user));
        let review = Review { id, user: user.into(), body: body.into(), state: state.into(), commit, submitted };
        pull.reviews.push(review);
        self.version += 1;
        Ok(id)
    }

    /// Stores a comment on the diff; alone it may bring an empty review with it.
    pub fn new_comment(&mut self, at: At, draft: Draft, review: Option<u64>) -> Result<u64, Fail> {
        let review = match review {
            None if self.settings.empty_reviews => {
                let commit = Some(draft.commit.clone());
                Some(self.new_review(at, &draft.user, "", "COMMENTED", commit, Some(draft.at))?)
            }
            review => review,
        };
        let id = self.fresh_id();
        self.version += 1;
        let pull = self.pull_mut(at)?;
        pull.updated = draft.at;
        pull.comments.push(draft.into_comment(id, review));
        Ok(id)
    }

    /// Stores an answer; any comment of the thread may be named.
    pub fn new_reply(&mut self, at: At, user: &str, body: &str, to: u64) -> Result<u64, Fail> {
        let now = self.clock.now();
        let pull = self.pull_mut(at)?;
        let named = pull.comments.iter().find(|c| c.id == to).ok_or_else(|| format!("no comment {to}"))?;
        let root = named.reply_to.unwrap_or(to);
        let root = pull.comments.iter().find(|c| c.id == root).unwrap_or(named).clone();
        let review = match self.settings.empty_reviews {
            true => Some(self.new_review(at, user, "", "COMMENTED", Some(root.commit.clone()), None)?),
            false => None,
        };
        let id = self.fresh_id();
        self.version += 1;
        let reply = Comment {
            id,
            user: user.into(),
            body: body.into(),
            reply_to: Some(root.id),
            review,
            created: now,
            updated: now,
            reactions: Vec::new(),
            ..root
        };
        let pull = self.pull_mut(at)?;
        pull.updated = now;
        pull.comments.push(reply);
        Ok(id)
    }

    /// Stores a comment in the conversation.
    pub fn new_talk(&mut self, at: At, user: &str, body: &str, when: Option<Ms>) -> u64 {
        let id = self.fresh_id();
        let now = when.unwrap_or_else(|| self.clock.now());
        self.version += 1;
        if let Ok(pull) = self.pull_mut(at) {
            pull.updated = now;
            let talk =
                Talk { id, user: user.into(), body: body.into(), created: now, updated: now, reactions: Vec::new() };
            pull.talk.push(talk);
        }
        id
    }

    /// Gives an item new words.
    pub fn edit(&mut self, at: At, id: u64, body: &str) -> bool {
        let now = self.clock.now();
        self.version += 1;
        let Ok(pull) = self.pull_mut(at) else { return false };
        if let Some(c) = pull.comments.iter_mut().find(|c| c.id == id) {
            (c.body, c.updated) = (body.into(), now);
        } else if let Some(t) = pull.talk.iter_mut().find(|t| t.id == id) {
            (t.body, t.updated) = (body.into(), now);
        } else if let Some(r) = pull.reviews.iter_mut().find(|r| r.id == id) {
            r.body = body.into();
        } else {
            return false;
        }
        true
    }

    /// Takes an item away. The answers of a deleted top comment stay and go on naming it.
    pub fn delete(&mut self, at: At, id: u64) -> bool {
        self.version += 1;
        let Ok(pull) = self.pull_mut(at) else { return false };
        let before = pull.comments.len() + pull.talk.len() + pull.reviews.len();
        pull.comments.retain(|c| c.id != id);
        pull.talk.retain(|t| t.id != id);
        pull.reviews.retain(|r| r.id != id);
        before != pull.comments.len() + pull.talk.len() + pull.reviews.len()
    }

    /// Returns the reactions of a comment, or of the pull request for 0.
    pub fn reactions_mut(&mut self, at: At, to: u64) -> Option<&mut Vec<Reaction>> {
        let pull = self.pull_mut(at).ok()?;
        if to == 0 {
            return Some(&mut pull.reactions);
        }
        let comment = pull.comments.iter_mut().find(|c| c.id == to).map(|c| &mut c.reactions);
        comment.or_else(|| pull.talk.iter_mut().find(|t| t.id == to).map(|t| &mut t.reactions))
    }

    /// Adds an emoji once; says whether it is new.
    pub fn new_reaction(&mut self, at: At, user: &str, content: &str, to: u64) -> Option<(u64, bool)> {
        let (id, created) = (self.fresh_id(), self.clock.now());
        self.version += 1;
        let list = self.reactions_mut(at, to)?;
        if let Some(old) = list.iter().find(|r| r.user == user && r.content == content) {
            return Some((old.id, false));
        }
        list.push(Reaction { id, user: user.into(), content: content.into(), created });
        Some((id, true))
    }
}

/// A comment before it has a number.
#[derive(Debug, Clone)]
pub struct Draft {
    pub user: String,
    pub body: String,
    pub path: String,
    pub side: String,
    pub line: Option<u64>,
    pub start_line: Option<u64>,
    pub commit: String,
    pub position: Option<u64>,
    pub hunk: String,
    pub file_level: bool,
    pub at: Ms,
}

impl Draft {
    fn into_comment(self, id: u64, review: Option<u64>) -> Comment {
        Comment {
            id,
            user: self.user,
            body: self.body,
            path: self.path,
            side: self.side,
            line: self.line,
            start_line: self.start_line,
            position: self.position,
            original_line: self.line,
            original_start_line: self.start_line,
            original_position: self.position,
            original_commit: self.commit.clone(),
            commit: self.commit,
            hunk: self.hunk,
            file_level: self.file_level,
            reply_to: None,
            review,
            created: self.at,
            updated: self.at,
            outdated: false,
            reactions: Vec::new(),
        }
    }
}
