//! Whether a person's command (R6) still holds where what came after it is read together with it, or state was lost.
//!
//! Read one by one, a word that insists, a P1 posted again and an edit of the finding each take a command back; read together
//! they must do the same (R12, R13).

use super::absorb::{Before, View};
use super::commands::{self, Command};
use super::comment::Comment;
use super::description;
use super::ids::FindingId;
use super::severity::Severity;
use super::summary::{Entry, Summary};
use super::threads;

/// Tells whether a finding's comment was edited since something was said; within one second times say nothing.
pub(super) fn edited_since(view: &View<'_>, id: FindingId, said: &Comment) -> bool {
    let since = |comment: &Comment| comment.updated_at > comment.created_at && comment.updated_at >= said.created_at;
    view.comment(id).is_some_and(since)
}

/// What has come after a command.
pub(super) struct Later<'v, 'a> {
    /// The state before this reading.
    pub(super) before: &'v Before,
    /// The reading.
    pub(super) view: &'v View<'a>,
    /// The comment that gives the command.
    pub(super) said: &'v Comment,
}

impl Later<'_, '_> {
    /// Tells whether a later fact takes the command back.
    pub(super) fn outlives(&self, summary: &Summary, id: FindingId, command: &Command) -> bool {
        let Some(entry) = summary.comments.get(&id) else { return false };
        match command {
            Command::Accept { .. } => {
                self.insisted() || self.posted_again(entry) || (self.edited(id) && !self.same_text(entry))
            }
            Command::Regrade { to, .. } => {
                let says = entry.regrade.as_ref().map_or(entry.finding.severity, |earlier| earlier.from);
                *to > says && self.edited(id) && !self.no_worse(entry, says)
            }
            Command::Retry | Command::OutOfScope { .. } => false,
        }
    }

    /// Somebody who counts says in the thread that the finding stands.
    fn insisted(&self) -> bool {
        let after = |comment: &Comment| (comment.created_at, comment.id) > (self.said.created_at, self.said.id);
        let posts = self.view.threads.get(&self.said.root()).into_iter().flatten();
        posts
            .filter(|(comment, note)| threads::insists(note) && threads::has_weight(&note.standing) && after(comment))
            .any(|(comment, _)| !commands::is_command(&comment.body))
    }

    /// The finding is a P1 that was posted after the command in another thread.
    fn posted_again(&self, entry: &Entry) -> bool {
        let carrier = self.view.comment(entry.finding.id);
        entry.finding.severity == Severity::P1 && carrier.is_some_and(|copy| copy.created_at > self.said.created_at)
    }

    fn edited(&self, id: FindingId) -> bool {
        edited_since(self.view, id, self.said)
    }

    /// Tells whether the command was given about the text as it is now: what cannot be known is another text.
    fn same_text(&self, entry: &Entry) -> bool {
        self.given_about(&[&entry.body_hash]).map_or_else(|| self.before.means_the_same(entry), |about| about.is_some())
    }

    /// Tells whether the reviewer's grade is no worse than the one that was replaced, as far as that can be known.
    fn no_worse(&self, entry: &Entry, says: Severity) -> bool {
        self.given_about(&Severity::ALL.map(Severity::as_str)).map_or_else(
            || self.before.says(entry.finding.id).is_some_and(|then| then <= says),
            |from| Severity::ALL.into_iter().any(|grade| Some(grade.as_str()) == from && grade <= says),
        )
    }

    fn given_about<'c>(&self, candidates: &[&'c str]) -> Option<Option<&'c str>> {
        let version = commands::version(self.said.id, &commands::first_line(&self.said.body));
        description::given_about(&self.view.seen.obs.pr.body, &version, candidates)
    }
}

#[cfg(test)]
mod tests {
    use super::super::absorb::tests::{Scene, found, get, person, time};
    use super::super::moves::tests::summary;
    use super::super::note::ReplyVerdict;
    use super::super::sample;
    use super::super::status::Status;
    use super::*;

    const FIRST: &str = "Guard the list against an empty file";
    const OTHER: &str = "This deletes what the user has not saved";

    /// A finding `c1` of codex, a command `c60` of ann, and the description as it was written last.
    struct Thread {
        scene: Scene,
        summary: Summary,
    }

    impl Thread {
        fn new(severity: Severity) -> Self {
            let mut scene = Scene::new();
            scene.inline(1, "codex", 4, found(severity, FIRST));
            Self { scene, summary: summary() }
        }

        fn look(&mut self) -> &mut Self {
            self.scene.absorb(&mut self.summary);
            self
        }

        fn says(&mut self, said: &str) -> &mut Self {
            self.scene.reply(60, 1, person("ann"), ReplyVerdict::Unclear, said);
            self
        }

        fn edit(&mut self, at: i64, severity: Severity, text: &str) -> &mut Self {
            let comment = self.scene.obs.comments.iter_mut().find(|comment| comment.id == 1).expect("the finding");
            comment.updated_at = time(at);
            let note = self.scene.notes.iter_mut().find(|note| note.id == 1).expect("its note");
            note.said.findings = vec![found(severity, text)];
            self
        }

        fn describe(&mut self) -> &mut Self {
            self.scene.obs.pr.body = description::render(&self.summary, 60_000).expect("room");
            self
        }

        /// Loses the state and looks.
        fn lose(&mut self) -> &mut Self {
            self.summary = summary();
            self.look()
        }

        fn now(&mut self) -> (Status, Severity) {
            self.look();
            let finding = &get(&self.summary, "c1").finding;
            (finding.status, finding.severity)
        }
    }

    #[test]
    fn r12_an_edit_opens_what_a_command_accepted_however_it_is_read() {
        use Severity::{P1, P2};
        let accepted = || {
            let mut thread = Thread::new(P1);
            thread.look().says("/pushback accept only in tests").look().describe();
            assert_eq!(thread.now(), (Status::Withdrawn, P1));
            thread
        };
        for level in [P1, P2] {
            assert_eq!(accepted().edit(90, level, OTHER).look().now(), (Status::Open, P1), "read later");
            assert_eq!(accepted().edit(90, level, OTHER).lose().now(), (Status::Open, level), "state lost");
            let mut thread = Thread::new(P1);
            thread.look().says("/pushback accept").edit(90, level, OTHER);
            assert_eq!(thread.now(), (Status::Open, P1), "edit and command together");
            let mut thread = Thread::new(P1);
            assert_eq!(
                thread.says("/pushback accept").edit(90, level, OTHER).now(),
                (Status::Open, level),
                "all together"
            );
        }
        assert_eq!(accepted().edit(90, P1, FIRST).look().now(), (Status::Withdrawn, P1), "nothing else is meant");
        assert_eq!(accepted().edit(90, P1, FIRST).lose().now(), (Status::Withdrawn, P1), "nothing else was meant");
        assert_eq!(accepted().lose().now(), (Status::Withdrawn, P1));
        assert_eq!(accepted().edit(59, P1, OTHER).lose().now(), (Status::Withdrawn, P1), "the edit is older");
        let mut thread = Thread::new(P1);
        thread.look().says("/pushback accept").edit(90, P1, FIRST);
        assert_eq!(thread.now(), (Status::Withdrawn, P1), "nothing else is meant, both together");
        let mut thread = accepted();
        thread.edit(90, P1, OTHER).look().edit(91, P1, FIRST).look().describe();
        assert_eq!(thread.lose().now(), (Status::Open, P1), "opened, and then the words of old again");
        let mut thread = Thread::new(P1);
        thread.says("/pushback accept").edit(90, P1, FIRST);
        assert_eq!(thread.now(), (Status::Open, P1), "nobody knows what the words were when it was accepted");
    }

    #[test]
    fn r06_an_edit_to_worse_ends_a_grade_however_it_is_read() {
        use Severity::{P1, P2, P3};
        let graded = || {
            let mut thread = Thread::new(P2);
            thread.look().says("/pushback regrade P3 rare").look().describe();
            assert_eq!(thread.now(), (Status::Open, P3));
            thread
        };
        assert_eq!(graded().edit(90, P1, OTHER).look().now(), (Status::Open, P1), "read later");
        assert_eq!(graded().edit(90, P1, OTHER).lose().now(), (Status::Open, P1), "state lost");
        assert_eq!(graded().edit(90, P2, OTHER).look().now(), (Status::Open, P3), "no worse, read later");
        assert_eq!(graded().edit(90, P2, OTHER).lose().now(), (Status::Open, P3), "no worse, state lost");
        assert_eq!(graded().lose().now(), (Status::Open, P3));
        let mut thread = Thread::new(P2);
        assert_eq!(thread.look().says("/pushback regrade P3 rare").edit(90, P1, OTHER).now(), (Status::Open, P1));
        let mut thread = Thread::new(P2);
        assert_eq!(thread.says("/pushback regrade P3 rare").edit(90, P1, OTHER).now(), (Status::Open, P1));
        let mut thread = Thread::new(P3);
        let to_worse = thread.says("/pushback regrade P1 it is not").edit(90, P2, OTHER).now();
        assert_eq!(to_worse, (Status::Open, P1), "a grade to worse holds");
    }

    #[test]
    fn r12_words_of_a_reviewer_about_another_text_withdraw_nothing() {
        for (edited, expected) in [(None, Status::Withdrawn), (Some(61), Status::Open), (Some(59), Status::Withdrawn)] {
            let mut thread = Thread::new(Severity::P2);
            thread.scene.reply(50, 1, person("runner"), ReplyVerdict::Unclear, "Callers check it.");
            thread.scene.reply(60, 1, sample::bot("codex"), ReplyVerdict::Accepts, "You are right.");
            if let Some(at) = edited {
                thread.edit(at, Severity::P2, OTHER);
            }
            assert_eq!(thread.now().0, expected, "{edited:?}");
        }
    }
}
