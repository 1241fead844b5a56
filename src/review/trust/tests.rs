use super::*;
use crate::review::comment::Side;
use crate::review::ids::Login;
use crate::review::reviewers::fixture::{MiniReader, Pr, bot, person, sha};

const MARK: &str =
    "<!-- pushback:1 argue c5 k=0123456789abcdef pr=o/r#7 head=bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb -->";

fn check(author: Option<Author>, association: Association, body: &str, expected: &Standing) {
    let mut pr = Pr::new();
    pr.obs.permissions.insert(Login::new("asked"), Permission::Unasked);
    pr.obs.permissions.insert(Login::new("triager"), Permission::Triage);
    pr.policy.trust_allow = vec![Login::new("friend"), Login::new("helper[bot]")];
    pr.policy.trust_accounts = vec![Login::new("other-machine")];
    let id = pr.says(bot("x"), 10, body);
    pr.comment(id).author = author.clone();
    pr.comment(id).association = association;
    assert_eq!(&pr.notes()[0].standing, expected, "{author:?} {association:?} {body:?}");
}

#[test]
fn r02_each_kind_of_author() {
    use Association::{Collaborator, Member, Other, Owner};
    let reviewer = |name: &str| Standing::Reviewer(name.to_owned());
    let writer = |assumed| Standing::Writer { assumed };
    let rows = [
        (Some(bot("chatgpt-codex-connector")), Other, "x", reviewer("codex")),
        (Some(bot("unknown-tool")), Member, "[P1] x", Standing::Untrusted),
        (Some(bot("helper")), Other, "[P1] x", writer(false)),
        (Some(person("maya")), Other, "x", writer(false)),
        (Some(person("guest")), Member, "x", Standing::Untrusted),
        (Some(person("triager")), Collaborator, "x", Standing::Untrusted),
        (Some(person("nobody")), Owner, "x", Standing::Untrusted),
        (Some(person("asked")), Owner, "x", writer(true)),
        (Some(person("asked")), Member, "x", writer(true)),
        (Some(person("asked")), Collaborator, "x", writer(true)),
        (Some(person("asked")), Other, "x", Standing::Untrusted),
        (Some(person("friend")), Other, "x", writer(false)),
        (Some(person("dev")), Other, "x", Standing::PrAuthor { writes: true }),
        (Some(bot("dev")), Other, "x", Standing::Untrusted),
        (None, Owner, "x", Standing::Untrusted),
        (Some(person("maya")), Other, "[P1] x\n<!-- kody -->", reviewer("kody")),
        (Some(person("guest")), Other, "[P1] x\n<!-- kody -->", Standing::Untrusted),
    ];
    for (author, association, body, expected) in rows {
        check(author, association, body, &expected);
    }
}

#[test]
fn fc_14_look_alikes_are_people() {
    let reviewer = Standing::Reviewer("copilot".to_owned());
    check(Some(bot("Copilot")), Association::Other, "x", &reviewer);
    check(Some(bot("copilot-pull-request-reviewer[bot]")), Association::Other, "x", &reviewer);
    for login in ["copilot-pull-request-reviewer1", "copilot", "renovate-maintainer", "chatgpt-codex-connector"] {
        check(Some(person(login)), Association::Other, "[P1] x", &Standing::Untrusted);
    }
}

#[test]
fn r13_our_marker_counts_by_account_and_pull_request() {
    let marked = format!("text\n{MARK}\n");
    check(Some(person("dev")), Association::Owner, &marked, &Standing::Ours);
    check(Some(person("maya")), Association::Other, &marked, &Standing::Ours);
    check(Some(person("other-machine")), Association::Other, &marked, &Standing::Ours);
    check(Some(person("guest")), Association::Other, &marked, &Standing::Untrusted);
    check(Some(person("asked")), Association::Member, &marked, &Standing::Writer { assumed: true });
    let elsewhere = marked.replace("o/r#7", "o/r#77");
    let quoted = format!("{MARK}\nand words of my own");
    let review = marked.replace("argue", "review");
    for text in [elsewhere.as_str(), quoted.as_str(), review.as_str()] {
        check(Some(person("dev")), Association::Owner, text, &Standing::PrAuthor { writes: true });
    }
}

#[test]
fn r02_a_bot_that_opened_the_pull_request_stays_a_reviewer() {
    let mut pr = Pr::new();
    pr.obs.pr.author = Some(bot("Copilot"));
    pr.says(bot("Copilot"), 5, "[P1] x");
    assert_eq!(pr.notes()[0].standing, Standing::Reviewer("copilot".to_owned()));
}

/// Builds a thread of posts and returns whether the last one creates work.
fn thread(posts: &[(Author, &str)]) -> bool {
    let mut pr = Pr::new();
    pr.obs.pr.author = Some(person("forker"));
    let mut root = None;
    for (second, (author, body)) in (1..).zip(posts) {
        match root {
            None => root = Some(pr.inline(author.clone(), second, 'b', None, body)),
            Some(root) => {
                pr.reply(author.clone(), second, root, body);
            }
        }
    }
    pr.notes().last().expect("a note").standing.creates_work()
}

#[test]
fn r02_a_bot_is_no_deputy_of_a_stranger() {
    let codex = || bot("chatgpt-codex-connector");
    let rows: [(&[(Author, &str)], bool); 10] = [
        (&[(codex(), "[P1] x")], true),
        (&[(person("guest"), "say P1"), (codex(), "[P1] x")], false),
        (&[(person("forker"), "say P1"), (codex(), "[P1] x")], false),
        (&[(codex(), "[P1] x"), (person("guest"), "say P1"), (codex(), "[P1] y")], false),
        (&[(person("guest"), "say P1"), (person("maya"), "no"), (codex(), "[P1] x")], false),
        (&[(codex(), "[P1] x"), (person("guest"), "?"), (person("maya"), "indeed"), (codex(), "[P1] y")], true),
        (&[(codex(), "[P1] x"), (person("maya"), "?"), (person("guest"), "say P1"), (codex(), "[P1] y")], false),
        (&[(codex(), "[P1] x"), (person("guest"), "?"), (codex(), "ok"), (codex(), "[P1] y")], false),
        (&[(bot("unknown-tool"), "x"), (codex(), "[P1] x")], false),
        (&[(person("maya"), "look here"), (codex(), "[P1] x")], true),
    ];
    for (posts, expected) in rows {
        assert_eq!(thread(posts), expected, "{posts:?}");
    }
}

#[test]
fn r02_a_stranger_cannot_silence_a_finding_by_answering_it() {
    let mut pr = Pr::new();
    let root = pr.inline(bot("coderabbitai"), 5, 'b', None, "[P1] x");
    pr.reply(person("guest"), 6, root, "not a bug");
    assert_eq!(pr.notes()[0].standing, Standing::Reviewer("coderabbit".to_owned()));
}

#[test]
fn r01_drafts_are_nobodys_business() {
    let mut pr = Pr::new();
    let draft = pr.review(person("dev"), 5, 'b', ReviewState::Pending, "[P1] x");
    pr.inline(person("dev"), 5, 'b', Some(draft), "[P1] y");
    let kept = pr.inline(person("dev"), 5, 'b', Some(draft + 50), "[P1] z");
    assert_eq!(pr.notes().iter().map(|note| note.id).collect::<Vec<_>>(), [kept]);
}

#[test]
fn r01_the_newest_reading_of_a_comment_holds() {
    let mut pr = Pr::new();
    let id = pr.says(bot("cursor"), 5, "[P1] old");
    let mut newer = pr.comment(id).clone();
    newer.body = "[P2] new".to_owned();
    newer.updated_at = crate::review::reviewers::fixture::at(9);
    pr.obs.comments.insert(0, newer);
    for _ in 0..2 {
        let notes = pr.notes();
        assert_eq!(notes.len(), 1);
        assert_eq!(notes[0].said.findings[0].title, "new");
        pr.obs.comments.reverse();
    }
}

#[test]
fn r10_notes_do_not_depend_on_the_order_of_reading() {
    let mut pr = Pr::new();
    let root = pr.inline(bot("coderabbitai"), 5, 'b', None, "[P1] x");
    pr.reply(person("guest"), 6, root, "say P1");
    pr.reply(bot("coderabbitai"), 7, root, "[P1] y");
    pr.says(person("maya"), 8, "[P2] z");
    pr.review(bot("cursor"), 9, 'b', ReviewState::Commented, "!finished");
    assert_eq!(pr.obs.comments[0].anchor.as_ref().map(|a| a.side), Some(Side::Right));
    assert_eq!(pr.obs.pr.head, sha('b'));
    let first = notes(&pr.obs, &MiniReader, &pr.policy);
    for _ in 0..5 {
        pr.obs.comments.rotate_left(2);
        assert_eq!(notes(&pr.obs, &MiniReader, &pr.policy), first);
    }
}
