//! Publishes a verdict as a commit status (R19): reads what is there, writes once, reads back. A good verdict is never
//! left standing over a newer one.

use super::EngineError;
use crate::ports::{ForgeError, StatusBoard, Written};
use crate::review::gate::publish::{self, OwnStatus, Standing};
use crate::review::ids::Sha;

/// Where a status goes.
#[derive(Debug, Clone, Copy)]
pub struct Spot<'a> {
    /// The judged commit, or the merge group's.
    pub sha: &'a Sha,
    /// Context.
    pub context: &'a str,
}

/// What publishing came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Published {
    /// It stands.
    Stands,
    /// A newer verdict is there, or came in while this one was written: judge again.
    Newer(String),
}

/// Publishes one verdict.
pub fn publish(board: &dyn StatusBoard, spot: Spot<'_>, ours: &OwnStatus) -> Result<Published, EngineError> {
    let read = || board.statuses(spot.sha, spot.context);
    if let Some(other) = publish::newer(&read()?, ours) {
        return Ok(Published::Newer(said(other)));
    }
    // What may have taken effect is looked for before it is tried again.
    for _ in 0..2 {
        let why = match board.set_status(spot.sha, spot.context, ours) {
            Written::Done(_) => String::new(),
            Written::Unclear(why) | Written::NotSent(why) => why,
            Written::Forbidden(why) => return Err(forbidden(spot, why).into()),
            Written::Gone(why) | Written::Refused(why) => return Err(failed(spot, why).into()),
            Written::Limited(until) => return Err(ForgeError::Limited { request: request(spot), until }.into()),
        };
        let now = read()?;
        let others: Vec<Standing> = now.iter().filter(|other| !same(other, ours)).cloned().collect();
        if let Some(other) = publish::newer(&others, ours) {
            return Ok(Published::Newer(said(other)));
        }
        if publish::stands(&now, ours) {
            return Ok(Published::Stands);
        }
        if now.iter().any(|other| same(other, ours)) {
            // An older verdict was written after it; it yields when it reads back. Ours is said once more.
            continue;
        }
        if !why.is_empty() {
            continue;
        }
        return Err(failed(spot, "it was accepted and is not there".to_owned()).into());
    }
    Err(failed(spot, "it could not be told whether it was written".to_owned()).into())
}

/// Replaces a good verdict of ours that turned out not to be the newest.
pub fn withdraw(board: &dyn StatusBoard, spot: Spot<'_>, ours: &OwnStatus) -> Result<(), EngineError> {
    let good = || -> Result<bool, EngineError> {
        Ok(ours.state == "success" && publish::stands(&board.statuses(spot.sha, spot.context)?, ours))
    };
    if !good()? {
        return Ok(());
    }
    let instead = publish::own("pending", "waiting: a newer verdict is about; judge again", ours.judged);
    let why = match board.set_status(spot.sha, spot.context, &instead) {
        Written::Done(_) => return Ok(()),
        Written::Forbidden(why) => return Err(forbidden(spot, why).into()),
        Written::Limited(until) => return Err(ForgeError::Limited { request: request(spot), until }.into()),
        Written::Unclear(why) | Written::NotSent(why) | Written::Gone(why) | Written::Refused(why) => why,
    };
    // A write that is not sure may have been made.
    if good()? {
        return Err(
            failed(spot, format!("a good verdict that is not the newest could not be taken back: {why}")).into()
        );
    }
    Ok(())
}

fn same(other: &Standing, ours: &OwnStatus) -> bool {
    other.state == ours.state && other.description == ours.description
}

fn said(other: &Standing) -> String {
    format!("{}: {}", other.state, other.description)
}

fn request(spot: Spot<'_>) -> String {
    format!("POST statuses/{}", spot.sha)
}

fn failed(spot: Spot<'_>, why: String) -> ForgeError {
    ForgeError::CouldNotRead { request: request(spot), why: format!("status `{}`: {why}", spot.context) }
}

fn forbidden(spot: Spot<'_>, why: String) -> ForgeError {
    ForgeError::Permission {
        request: request(spot),
        why: format!("status `{}` could not be published: {why}", spot.context),
        hint: "give the token `statuses: write` (classic tokens: `repo:status`); in GitHub Actions write \
               `permissions: statuses: write`"
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use jiff::Timestamp;

    use super::*;

    /// A board on which others write at chosen moments.
    struct Board {
        now: RefCell<Vec<Standing>>,
        answers: RefCell<Vec<Written>>,
        /// Written by another right after our next write, below or above it.
        racer: RefCell<Option<(Standing, bool)>>,
        writes: RefCell<u32>,
    }

    impl Board {
        fn new(now: Vec<Standing>, answers: Vec<Written>) -> Self {
            Self {
                now: RefCell::new(now),
                answers: RefCell::new(answers),
                racer: RefCell::default(),
                writes: RefCell::default(),
            }
        }
    }

    impl StatusBoard for Board {
        fn statuses(&self, _: &Sha, _: &str) -> Result<Vec<Standing>, ForgeError> {
            Ok(self.now.borrow().clone())
        }

        fn set_status(&self, _: &Sha, _: &str, ours: &OwnStatus) -> Written {
            *self.writes.borrow_mut() += 1;
            let answer = self.answers.borrow_mut().pop().unwrap_or(Written::Done(None));
            let mut now = self.now.borrow_mut();
            if let Written::Done(_) | Written::Unclear(_) = answer {
                now.insert(0, seen(ours));
            }
            if let Some((other, above)) = self.racer.borrow_mut().take() {
                now.insert(usize::from(!above), other);
            }
            answer
        }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).expect("a time")
    }

    fn own(state: &'static str, second: i64) -> OwnStatus {
        publish::own(state, "x", at(second))
    }

    fn seen(own: &OwnStatus) -> Standing {
        Standing { state: own.state.to_owned(), description: own.description.clone(), at: own.judged }
    }

    fn go(board: &Board, ours: &OwnStatus) -> Result<Published, EngineError> {
        let sha = Sha::parse(&"b".repeat(40)).expect("a commit");
        publish(board, Spot { sha: &sha, context: "pushback/gate" }, ours)
    }

    #[test]
    fn r19_nothing_is_written_over_a_newer_verdict() {
        let board = Board::new(vec![seen(&own("failure", 20))], Vec::new());
        assert!(matches!(go(&board, &own("success", 10)), Ok(Published::Newer(_))));
        assert_eq!(*board.writes.borrow(), 0);
        assert_eq!(go(&board, &own("success", 30)), Ok(Published::Stands));
    }

    #[test]
    fn r19_a_newer_verdict_that_came_in_between_is_seen() {
        for above in [true, false] {
            let board = Board::new(Vec::new(), Vec::new());
            *board.racer.borrow_mut() = Some((seen(&own("failure", 20)), above));
            assert!(matches!(go(&board, &own("success", 10)), Ok(Published::Newer(_))), "{above}");
        }
        let sha = Sha::parse(&"b".repeat(40)).expect("a commit");
        let ours = own("success", 10);
        let board = Board::new(vec![seen(&ours), seen(&own("failure", 20))], Vec::new());
        withdraw(&board, Spot { sha: &sha, context: "c" }, &ours).expect("withdrawn");
        assert_eq!(board.now.borrow()[0].state, "pending", "no good verdict is left over a newer one");
        withdraw(&board, Spot { sha: &sha, context: "c" }, &ours).expect("nothing to do");
        assert_eq!(*board.writes.borrow(), 1);
        // One that could not be taken back is said, and not left to be believed.
        let refused = vec![Written::Refused("no".to_owned())];
        let board = Board::new(vec![seen(&ours), seen(&own("failure", 20))], refused);
        assert!(withdraw(&board, Spot { sha: &sha, context: "c" }, &ours).is_err());
        let unclear = vec![Written::Unclear("reset".to_owned())];
        let board = Board::new(vec![seen(&ours), seen(&own("failure", 20))], unclear);
        assert!(withdraw(&board, Spot { sha: &sha, context: "c" }, &ours).is_ok());
    }

    #[test]
    fn r19_an_older_verdict_that_came_in_between_is_written_over() {
        let board = Board::new(Vec::new(), Vec::new());
        *board.racer.borrow_mut() = Some((seen(&own("success", 5)), true));
        assert_eq!(go(&board, &own("failure", 10)), Ok(Published::Stands));
        assert_eq!((board.now.borrow()[0].state.as_str(), *board.writes.borrow()), ("failure", 2));
    }

    #[test]
    fn r19_a_write_whose_effect_is_unclear_is_looked_for() {
        let board = Board::new(Vec::new(), vec![Written::Unclear("status 502".to_owned())]);
        assert_eq!(go(&board, &own("failure", 10)), Ok(Published::Stands));
        assert_eq!(*board.writes.borrow(), 1);
        let board = Board::new(Vec::new(), vec![Written::NotSent("reset".to_owned())]);
        assert_eq!(go(&board, &own("failure", 10)), Ok(Published::Stands));
        assert_eq!(*board.writes.borrow(), 2);
        let board =
            Board::new(Vec::new(), vec![Written::NotSent("reset".to_owned()), Written::NotSent("reset".to_owned())]);
        assert!(matches!(go(&board, &own("failure", 10)), Err(EngineError::Forge(ForgeError::CouldNotRead { .. }))));
    }

    #[test]
    fn r19_a_missing_right_is_named() {
        let board = Board::new(Vec::new(), vec![Written::Forbidden("@me: status 403".to_owned())]);
        match go(&board, &own("failure", 10)) {
            Err(EngineError::Forge(ForgeError::Permission { hint, why, .. })) => {
                assert!(hint.contains("statuses: write") && why.contains("@me"), "{hint} {why}");
            }
            other => panic!("{other:?}"),
        }
    }
}
