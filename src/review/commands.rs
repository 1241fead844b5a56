//! Thread commands (R6): the first line of a person's reply, who may give it, and what it does to the finding.
//!
//! What is posted in answer (a reaction, or a hint with the right form), and the plan a follow-up needs, are made elsewhere.

use super::absorb::{Absorbed, Before, View, What};
use super::comment::{AccountKind, Author, Channel, Comment};
use super::decision::Verb;
use super::ids::FindingId;
use super::marker;
use super::note::{Note, Standing};
use super::observation::Permission;
use super::outlived::Later;
use super::policy::Regraders;
use super::severity::Severity;
use super::status::{NewFact, Status};
use super::summary::{CommandRecord, Entry, Pending, Proof, Regrade, Summary, WriteKind};

/// Characters of a reason that are kept.
const LONGEST_REASON: usize = 2_000;

/// What a person may say to the program in a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Gives the finding another severity.
    Regrade {
        /// The severity.
        to: Severity,
        /// Why.
        reason: String,
    },
    /// Takes the finding as it is: nothing more is owed.
    Accept {
        /// Why; may be empty.
        reason: String,
    },
    /// Asks for another try, with fresh limits.
    Retry,
    /// Leaves it to a follow-up.
    OutOfScope {
        /// Why.
        reason: String,
    },
}

/// What a hint about a command names as its subject: it speaks of no finding.
pub const HINT: &str = "command";

/// Tells whether a text of ours is a hint about a command, and so answers no finding.
pub fn is_hint(body: &str) -> bool {
    let receipts = marker::parse_all(body);
    !receipts.is_empty() && receipts.iter().all(|receipt| receipt.id() == HINT)
}

/// Tells whether the first line of a text speaks to the program.
pub fn is_command(body: &str) -> bool {
    first_word(body).is_some_and(|(word, _)| word == "/pushback")
}

fn first_word(body: &str) -> Option<(&str, &str)> {
    let line = body.trim_start_matches('\u{feff}').lines().next()?.trim();
    Some(line.split_once(char::is_whitespace).unwrap_or((line, "")))
}

/// Reads the first line of a reply; `None` when it is no command, an error when it is one that cannot be understood.
pub fn parse(body: &str) -> Option<Result<Command, String>> {
    if !is_command(body) {
        return None;
    }
    let (_, rest) = first_word(body)?;
    let (verb, rest) = rest.trim().split_once(char::is_whitespace).unwrap_or((rest.trim(), ""));
    let reason: String = rest.trim().chars().filter(|c| !c.is_control()).take(LONGEST_REASON).collect();
    Some(match verb.to_ascii_lowercase().as_str() {
        "regrade" => regrade(&reason),
        "accept" => Ok(Command::Accept { reason }),
        "retry" => Ok(Command::Retry),
        "out-of-scope" if reason.is_empty() => Err("`out-of-scope` needs a reason".to_owned()),
        "out-of-scope" => Ok(Command::OutOfScope { reason }),
        // The hint lists them.
        _ => Err("there is no such command".to_owned()),
    })
}

fn regrade(text: &str) -> Result<Command, String> {
    let (level, reason) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let to = Severity::ALL.into_iter().find(|severity| severity.as_str().eq_ignore_ascii_case(level));
    match (to, reason.trim()) {
        (None, _) => Err("`regrade` needs one of P1, P2, P3, nit".to_owned()),
        (Some(_), "") => Err("`regrade` needs a reason".to_owned()),
        (Some(to), reason) => Ok(Command::Regrade { to, reason: reason.to_owned() }),
    }
}

/// Takes every command that was not heard yet, oldest first.
pub(super) fn take_commands(summary: &mut Summary, view: &View<'_>, before: &Before, out: &mut Absorbed) {
    for (comment, note) in view.in_order() {
        let reply = comment.channel == Channel::Inline && comment.in_reply_to.is_some();
        if !reply || !is_command(&comment.body) {
            continue;
        }
        let said = first_line(&comment.body);
        let version = version(comment.id, &said);
        if heard(summary, comment.id, &version) {
            continue;
        }
        let (Some(command), Some(by)) = (parse(&comment.body), person(view, note)) else { continue };
        summary.commands_heard.retain(|id| *id != comment.id);
        summary.commands_heard.push(comment.id);
        let id = meant(summary, comment.root());
        let result = match (id, command) {
            (_, Err(why)) => Err(why),
            (None, Ok(_)) => Err("there is no finding in this thread".to_owned()),
            (Some(id), Ok(command)) if Later { before, view, said: comment }.outlives(summary, id, &command) => Ok(()),
            (Some(id), Ok(command)) => Order { view, comment, by }.obey(summary, id, command, out),
        };
        let (comment, root, by) = (comment.id, comment.root(), by.login.clone());
        let record = CommandRecord { comment, root, id, by, said, version, refused: result.err() };
        summary.commands.retain(|known| known.comment != comment);
        summary.commands.push(record.clone());
        out.commands.push(record);
    }
    summary.commands_heard.sort_unstable();
}

/// Returns the version of a comment with a command: an edit of its first line is another command.
pub(super) fn version(comment: u64, said: &str) -> String {
    marker::key(WriteKind::React, &comment.to_string(), said)
}

/// Tells whether this version of a comment was taken before. Of what an older state heard the version is not known.
fn heard(summary: &Summary, comment: u64, version: &str) -> bool {
    match summary.commands.iter().find(|record| record.comment == comment) {
        Some(record) => record.version == version,
        None => summary.commands_heard.contains(&comment),
    }
}

pub(super) fn first_line(body: &str) -> String {
    let line = body.trim_start_matches('\u{feff}').lines().next().unwrap_or_default().trim();
    line.chars().filter(|c| !c.is_control()).take(LONGEST_REASON).collect()
}

/// Returns the author if it is a person who may write here. Being allowed to create work is not enough.
fn person<'a>(view: &View<'_>, note: &'a Note) -> Option<&'a Author> {
    let author = note.author.as_ref().filter(|author| author.kind == AccountKind::Person)?;
    let writes = match (&note.standing, view.seen.obs.permission(author)) {
        (Standing::Reviewer(_) | Standing::Ours | Standing::Untrusted, _) => false,
        (Standing::Writer { .. } | Standing::PrAuthor { .. }, Permission::Write) => true,
        (Standing::Writer { assumed }, Permission::Unasked) => *assumed,
        (Standing::PrAuthor { writes }, Permission::Unasked) => *writes,
        (Standing::Writer { .. } | Standing::PrAuthor { .. }, Permission::Read | Permission::Triage) => false,
    };
    writes.then_some(author)
}

/// Returns the finding a command in a thread is about; for a copy, the one that carries it.
fn meant(summary: &Summary, root: u64) -> Option<FindingId> {
    let in_thread = |entry: &&Entry| entry.thread == Some(root);
    let mut id = FindingId::Inline(root);
    if !summary.comments.contains_key(&id) {
        id = summary.comments.values().find(in_thread)?.finding.id;
    }
    for _ in 0..summary.comments.len() {
        match summary.comments.get(&id).map(|entry| (entry.finding.status, &entry.proof)) {
            Some((Status::Duplicate, Some(Proof::SameAs { id: of }))) if summary.comments.contains_key(of) => id = *of,
            _ => break,
        }
    }
    Some(id)
}

/// Tells whether an account may re-grade, and so take back a P1.
pub fn may_regrade(regraders: &Regraders, by: &Author, pr_author: Option<&Author>) -> bool {
    match regraders {
        Regraders::Writers => true,
        Regraders::NotAuthor => pr_author.is_some_and(|author| author != by),
        Regraders::Named(logins) => logins.contains(&by.login),
    }
}

/// Words between who accepted a finding by a command, and why.
const ACCEPTS: &str = " accepts it: ";

/// One command of somebody who may give commands.
struct Order<'v, 'a> {
    view: &'v View<'a>,
    comment: &'a Comment,
    by: &'a Author,
}

impl Order<'_, '_> {
    fn obey(&self, summary: &mut Summary, id: FindingId, command: Command, out: &mut Absorbed) -> Result<(), String> {
        let may = may_regrade(&self.view.seen.policy.gate.regrade, self.by, self.view.seen.obs.pr.author.as_ref());
        let Some(entry) = summary.comments.get_mut(&id) else { return Err("there is no such finding".to_owned()) };
        match command {
            Command::Regrade { .. } if !may => Err("`gate.regrade` does not allow this account".to_owned()),
            Command::Regrade { to, reason } => {
                self.regrade(entry, to, reason, out);
                Ok(())
            }
            Command::Accept { .. } if entry.finding.severity == Severity::P1 && !may => {
                Err("a P1 is accepted only by an account that `gate.regrade` allows".to_owned())
            }
            Command::Accept { reason } => {
                self.accept(entry, reason, out);
                Ok(())
            }
            Command::Retry => {
                if self.retry(entry, out) {
                    summary.restart_rounds();
                }
                Ok(())
            }
            Command::OutOfScope { .. } if entry.finding.severity == Severity::P1 => {
                Err("a P1 cannot be left to a follow-up; `regrade` it first".to_owned())
            }
            Command::OutOfScope { .. } if entry.finding.status.settled() => {
                Err(format!("it is {} already", entry.finding.status))
            }
            Command::OutOfScope { reason } => {
                entry.finding.needs_person = false;
                entry.finding.why = format!("{} calls it out of scope", self.by.login);
                // A plan that is drafted or written stays.
                let plan = entry.pending.take().filter(|pending| pending.verb == Verb::Defer);
                let mut plan = plan.unwrap_or_else(|| Pending::new(Verb::Defer, &reason, self.view.round));
                if plan.file.is_none() {
                    plan.reason = reason;
                }
                entry.pending = Some(plan);
                Ok(())
            }
        }
    }

    fn regrade(&self, entry: &mut Entry, to: Severity, why: String, out: &mut Absorbed) {
        // What its reviewer said stays known over several regrades.
        let from = entry.regrade.as_ref().map_or(entry.finding.severity, |earlier| earlier.from);
        entry.regrade = Some(Regrade { by: self.by.login.clone(), from, to: Some(to), why });
        entry.finding.severity = to;
        // A grade is no consent to send what was drafted.
        if entry.drafted() {
            entry.pending = None;
        }
        entry.finding.needs_person &= entry.finding.status == Status::Gone;
        let allowed = |pending: &Pending| match pending.verb {
            Verb::Fix | Verb::Stale => true,
            Verb::Argue => to.arguable(),
            Verb::Defer | Verb::Answer => to != Severity::P1,
        };
        if entry.pending.as_ref().is_some_and(|pending| !allowed(pending)) {
            entry.pending = None;
        }
        let text = format!("{} regraded it from {from} to {to}", self.by.login);
        // Of two people's commands the later one counts.
        let accepted = entry.finding.status == Status::Withdrawn && entry.finding.why.contains(ACCEPTS);
        if accepted && to.blocks() && entry.reopen(NewFact::Asked, text.clone(), self.view.at, self.view.round) {
            out.tell(entry, What::Reopened(NewFact::Asked));
            return;
        }
        if entry.outgraded() && entry.reopen(NewFact::Graded, text.clone(), self.view.at, self.view.round) {
            out.tell(entry, What::Reopened(NewFact::Graded));
            return;
        }
        entry.finding.why = text;
        out.tell(entry, What::Graded);
    }

    fn accept(&self, entry: &mut Entry, reason: String, out: &mut Absorbed) {
        let because = if reason.is_empty() { "accepted as it is".to_owned() } else { reason };
        let why = format!("{}{ACCEPTS}{because}", self.by.login);
        let proof = Proof::Person { by: self.by.login.clone(), because };
        if entry.settle(Status::Withdrawn, proof, why, self.view.at, self.view.round) {
            out.tell(entry, What::Settled(Status::Withdrawn));
        }
        // What is settled already is accepted as it is.
    }

    /// Gives a finding another try. Returns whether anything was tried before: a command older than that says nothing.
    fn retry(&self, entry: &mut Entry, out: &mut Absorbed) -> bool {
        if entry.history.first().is_some_and(|first| first.at >= self.comment.created_at) {
            return false;
        }
        entry.finding.attempts = 0;
        entry.exchanges = 0;
        if entry.drafted() {
            entry.pending = None;
        }
        entry.finding.needs_person = false;
        if entry.reopen(NewFact::Asked, "a person asks for another try", self.view.at, self.view.round) {
            out.tell(entry, What::Reopened(NewFact::Asked));
        } else {
            entry.finding.why = "a person asks for another try".to_owned();
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::absorb::tests::{Scene, found, get, get_mut, person};
    use super::super::ids::Login;
    use super::super::moves::DRAFTED;
    use super::super::moves::tests::summary;
    use super::super::note::ReplyVerdict;
    use super::super::sample;
    use super::*;

    #[test]
    fn r06_commands_are_read_from_the_first_line() {
        fn check(body: &str, expected: Option<Result<Command, ()>>) {
            assert_eq!(parse(body).map(|parsed| parsed.map_err(|_| ())), expected, "{body:?}");
        }
        let regrade = |to, reason: &str| Some(Ok(Command::Regrade { to, reason: reason.to_owned() }));
        check("/pushback regrade P2 only in tests", regrade(Severity::P2, "only in tests"));
        check("/pushback  Regrade NIT x\nmore", regrade(Severity::Nit, "x"));
        check("/pushback regrade P2", Some(Err(())));
        check("/pushback regrade P7 why", Some(Err(())));
        check("/pushback accept", Some(Ok(Command::Accept { reason: String::new() })));
        check("/pushback retry\r\n", Some(Ok(Command::Retry)));
        check("/pushback out-of-scope", Some(Err(())));
        check("/pushback out-of-scope next PR", Some(Ok(Command::OutOfScope { reason: "next PR".to_owned() })));
        check("/pushback", Some(Err(())));
        check("/pushback merge", Some(Err(())));
        check("/pushbackaccept", None);
        check("> /pushback accept", None);
        check("Please:\n/pushback accept", None);
        check("", None);
    }

    struct Case {
        by: &'static str,
        said: &'static str,
        severity: Severity,
        regraders: Regraders,
    }

    fn run(case: &Case) -> (Summary, Result<(), String>) {
        let (mut summary, mut scene) = (summary(), Scene::new());
        scene.policy.gate.regrade = case.regraders.clone();
        scene.inline(1, "codex", 4, found(case.severity, "Guard the list"));
        scene.absorb(&mut summary);
        let entry = get_mut(&mut summary, "c1");
        (entry.finding.attempts, entry.finding.needs_person) = (3, true);
        scene.reply(60, 1, person(case.by), ReplyVerdict::Unclear, case.said);
        let out = scene.absorb(&mut summary);
        let result = match out.commands.first() {
            None => Err("not heard".to_owned()),
            Some(record) => record.refused.clone().map_or(Ok(()), Err),
        };
        (summary, result)
    }

    #[test]
    fn r06_who_may_and_what_it_does() {
        let check = |by, said, severity, regraders: Regraders, expected: (bool, Severity, Status, bool)| {
            let (summary, result) = run(&Case { by, said, severity, regraders });
            let entry = get(&summary, "c1");
            let got = (result.is_ok(), entry.finding.severity, entry.finding.status, entry.finding.needs_person);
            assert_eq!(got, expected, "{by}: {said} on {severity}");
        };
        use Severity::{P1, P2};
        use Status::{Open, Withdrawn};
        let writers = || Regraders::Writers;
        check("ann", "/pushback regrade P2 rare", P1, writers(), (true, P2, Open, false));
        check("dev", "/pushback regrade P2 rare", P1, writers(), (true, P2, Open, false));
        check("dev", "/pushback regrade P2 rare", P1, Regraders::NotAuthor, (false, P1, Open, true));
        check("ann", "/pushback regrade P2 rare", P1, Regraders::NotAuthor, (true, P2, Open, false));
        let bob = || Regraders::Named(vec![Login::new("bob")]);
        check("ann", "/pushback regrade P2 rare", P1, bob(), (false, P1, Open, true));
        check("eve", "/pushback regrade P2 rare", P1, writers(), (false, P1, Open, true));
        check("runner", "/pushback accept", P1, writers(), (false, P1, Open, true));
        check("ann", "/pushback accept", P1, writers(), (true, P1, Withdrawn, false));
        check("ann", "/pushback accept", P1, bob(), (false, P1, Open, true));
        check("ann", "/pushback accept", P2, bob(), (true, P2, Withdrawn, false));
        check("ann", "/pushback out-of-scope later", P1, writers(), (false, P1, Open, true));
        check("ann", "/pushback out-of-scope later", P2, writers(), (true, P2, Open, false));
    }

    #[test]
    fn r06_an_edited_command_is_another_one_and_each_version_is_heard_once() {
        let (mut summary, mut scene) = (summary(), Scene::new());
        scene.inline(1, "codex", 4, found(Severity::P2, "Guard the list"));
        scene.reply(60, 1, person("ann"), ReplyVerdict::Unclear, "/pushback acept");
        assert_eq!(scene.absorb(&mut summary).commands.len(), 1);
        assert!(summary.commands[0].refused.is_some());
        assert!(scene.absorb(&mut summary).commands.is_empty(), "heard once");
        let comment = scene.obs.comments.iter_mut().find(|c| c.id == 60).expect("the reply");
        comment.body = "/pushback accept\n\nas agreed".into();
        assert_eq!(scene.absorb(&mut summary).commands.len(), 1);
        assert_eq!(get(&summary, "c1").finding.status, Status::Withdrawn);
        assert_eq!((summary.commands.len(), &summary.commands[0].refused), (1, &None));
        let comment = scene.obs.comments.iter_mut().find(|c| c.id == 60).expect("the reply");
        comment.body = "/pushback accept\n\nas agreed with bob".into();
        assert!(scene.absorb(&mut summary).commands.is_empty(), "the first line is what counts");
    }

    #[test]
    fn r06_being_allowed_to_create_work_gives_no_command() {
        let (mut summary, mut scene) = (summary(), Scene::new());
        scene.inline(1, "codex", 4, found(Severity::P2, "Guard the list"));
        scene.obs.permissions.insert(Login::new("ann"), Permission::Read);
        scene.reply(60, 1, person("ann"), ReplyVerdict::Unclear, "/pushback accept");
        assert!(scene.absorb(&mut summary).commands.is_empty());
        assert_eq!(get(&summary, "c1").finding.status, Status::Open);
    }

    #[test]
    fn r08_no_command_sends_a_draft_that_nobody_has_read() {
        let check = |said: &str, expected: Option<(Verb, &str)>| {
            let (mut summary, mut scene) = (summary(), Scene::new());
            scene.inline(1, "codex", 4, found(Severity::P2, "Guard the list"));
            scene.absorb(&mut summary);
            let entry = get_mut(&mut summary, "c1");
            entry.pending = Some(Pending::new(Verb::Defer, "drafted", 1));
            entry.finding.needs_person = true;
            entry.finding.why = format!("{DRAFTED} follow-up waits");
            scene.reply(60, 1, person("ann"), ReplyVerdict::Unclear, said);
            scene.absorb(&mut summary);
            let entry = get(&summary, "c1");
            assert!(!entry.finding.needs_person, "{said}");
            assert_eq!(entry.pending.as_ref().map(|p| (p.verb, p.reason.as_str())), expected, "{said}");
        };
        check("/pushback retry", None);
        check("/pushback regrade P3 rare", None);
        check("/pushback accept", None);
        check("/pushback out-of-scope later, with the callers", Some((Verb::Defer, "later, with the callers")));
    }

    #[test]
    fn r20_retry_resets_the_limits_once() {
        let case = Case { by: "ann", said: "/pushback retry", severity: Severity::P1, regraders: Regraders::Writers };
        let (summary, result) = run(&case);
        let entry = get(&summary, "c1");
        assert!(result.is_ok());
        assert_eq!((entry.finding.attempts, entry.finding.needs_person), (0, false));
        assert_eq!(summary.commands_heard, [60]);
    }

    #[test]
    fn r20_a_retry_older_than_the_state_resets_nothing() {
        let (mut summary, mut scene) = (summary(), Scene::new());
        summary.used.rounds = 4;
        scene.inline(1, "codex", 4, found(Severity::P2, "Guard the list"));
        scene.reply(6, 1, person("ann"), ReplyVerdict::Unclear, "/pushback retry");
        scene.absorb(&mut summary);
        assert_eq!(summary.used.rounds, 4);
    }

    #[test]
    fn r06_out_of_scope_waits_for_its_plan() {
        let said = "/pushback out-of-scope belongs to the next change";
        let (summary, _) = run(&Case { by: "ann", said, severity: Severity::P2, regraders: Regraders::Writers });
        let pending = get(&summary, "c1").pending.clone().expect("an answer under way");
        assert_eq!((pending.verb, pending.reason.as_str()), (Verb::Defer, "belongs to the next change"));
    }

    #[test]
    fn r06_a_later_grade_opens_what_a_command_accepted() {
        let check = |grade: &str, together: bool, expected: (Status, Severity)| {
            let (mut summary, mut scene) = (summary(), Scene::new());
            scene.inline(1, "codex", 4, found(Severity::P1, "Guard the list"));
            scene.absorb(&mut summary);
            scene.reply(60, 1, person("ann"), ReplyVerdict::Unclear, "/pushback accept only in tests");
            if !together {
                scene.absorb(&mut summary);
                assert_eq!(get(&summary, "c1").finding.status, Status::Withdrawn);
            }
            let said = format!("/pushback regrade {grade} it is in production");
            scene.reply(61, 1, person("dev"), ReplyVerdict::Unclear, &said);
            for _ in 0..2 {
                scene.absorb(&mut summary);
                let finding = &get(&summary, "c1").finding;
                assert_eq!((finding.status, finding.severity), expected, "{grade} {together}");
            }
        };
        for together in [false, true] {
            check("P1", together, (Status::Open, Severity::P1));
            check("P2", together, (Status::Open, Severity::P2));
            check("P3", together, (Status::Withdrawn, Severity::P3));
        }
    }

    #[test]
    fn r06_a_p1_posted_again_after_it_was_accepted_is_open_also_where_all_is_read_together() {
        for (copy, expected) in [(70, Status::Open), (50, Status::Withdrawn)] {
            let (mut summary, mut scene) = (summary(), Scene::new());
            scene.inline(1, "codex", 4, found(Severity::P1, "Guard the list"));
            scene.reply(60, 1, person("ann"), ReplyVerdict::Unclear, "/pushback accept only in tests");
            scene.inline(copy, "codex", 4, found(Severity::P1, "Guard the list"));
            for _ in 0..2 {
                scene.absorb(&mut summary);
                assert_eq!(get(&summary, &format!("c{copy}")).finding.status, expected, "copy {copy}");
            }
        }
    }

    #[test]
    fn r06_who_insists_after_a_command_accepted_opens_the_finding_also_where_both_are_read_together() {
        for together in [false, true] {
            for (accepts, insists, expected) in [(60, 61, Status::Open), (61, 60, Status::Withdrawn)] {
                let (mut summary, mut scene) = (summary(), Scene::new());
                scene.inline(1, "codex", 4, found(Severity::P1, "Guard the list"));
                scene.absorb(&mut summary);
                for id in [60, 61] {
                    if id == accepts {
                        scene.reply(id, 1, person("ann"), ReplyVerdict::Unclear, "/pushback accept only in tests");
                    } else {
                        scene.reply(id, 1, sample::bot("codex"), ReplyVerdict::Insists, "It still applies.");
                    }
                    if !together {
                        scene.absorb(&mut summary);
                    }
                }
                for _ in 0..2 {
                    scene.absorb(&mut summary);
                    let status = get(&summary, "c1").finding.status;
                    assert_eq!(status, expected, "together {together}, insists in {insists}");
                }
            }
        }
    }

    #[test]
    fn r06_raising_a_settled_finding_opens_it() {
        let (mut summary, mut scene) = (summary(), Scene::new());
        scene.inline(1, "codex", 4, found(Severity::Nit, "Rename it"));
        scene.absorb(&mut summary);
        let at = scene.obs.at;
        assert!(get_mut(&mut summary, "c1").settle(Status::Acknowledged, Proof::Listed, "listed", at, 1));
        scene.reply(60, 1, person("ann"), ReplyVerdict::Unclear, "/pushback regrade P1 breaks callers");
        scene.absorb(&mut summary);
        let entry = get(&summary, "c1");
        assert_eq!((entry.finding.status, entry.finding.severity), (Status::Open, Severity::P1));
    }
}
