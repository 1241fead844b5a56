//! What follows a step of a run: a post, a push, a wait, the end.

use std::time::Duration;

use jiff::Timestamp;

use super::{BLIND_WAITS, Ending, Next, POST_TRIES, Run, RunEnd};
use crate::engine::EngineError;
use crate::engine::ask::stacked;
use crate::engine::post::Posted;
use crate::engine::push::PushEnd;
use crate::engine::survey::Survey;
use crate::ports::{Depth, Event, Woken};
use crate::review::ids::Sha;
use crate::review::summary::{StopReason, Summary};

impl Run<'_> {
    pub(super) fn posted(&mut self, key: &str, posted: Posted) -> Option<Next> {
        match posted {
            Posted::Tried => None,
            Posted::NotSent(why) => {
                let tries = self.not_sent.entry(key.to_owned()).or_insert(0);
                *tries += 1;
                let why = format!("the forge could not be written to: {why}");
                let ending = Ending::new(StopReason::CouldNotRead, why, "run again; what is owed is remembered");
                (*tries >= POST_TRIES).then_some(Next::End(ending))
            }
            Posted::Limited(until) => Some(Next::End(Ending {
                retry: Some(until),
                ..Ending::new(
                    StopReason::WaitingReviewer,
                    format!("the forge takes no posts until {until}"),
                    "run again then",
                )
            })),
            Posted::Forbidden(why) => {
                Some(Next::End(Ending::new(StopReason::Permission, why, "give the token that right, then run again")))
            }
        }
    }

    pub(super) fn pushed(
        &mut self,
        summary: &mut Summary,
        sha: &Sha,
        end: PushEnd,
    ) -> Result<Option<Next>, EngineError> {
        Ok(match end {
            PushEnd::Done => {
                self.pushed = Some(sha.clone());
                self.pause = self.setup.poll_min;
                self.ports.store.save(&self.held, summary)?;
                Some(Next::Look(Depth::Full))
            }
            PushEnd::Again => {
                // What somebody pushed has to be seen before anything is verified on top of it.
                self.pushed = crate::review::step::unpushed(summary).next().map(|round| round.head_before.clone());
                self.ports.store.save(&self.held, summary)?;
                Some(Next::Look(Depth::Full))
            }
            PushEnd::Stop(reason, why) => {
                let remedy = match reason {
                    StopReason::PushRefused => {
                        "mend what the remote or the hook names, then run again; the commit waits here"
                    }
                    _ => "bring the branch up to date, then run again",
                };
                Some(Next::End(Ending::new(reason, why, remedy)))
            }
        })
    }

    pub(super) fn wait(
        &mut self,
        what: &str,
        until: Option<Timestamp>,
        reason: StopReason,
    ) -> Result<Option<Next>, EngineError> {
        let left = self.request.wait.map(|all| all.saturating_sub(self.waited));
        if left.is_some_and(|left| left.is_zero()) {
            let remedy = "run again later, or let it wait with `--wait 30m`";
            return Ok(Some(Next::End(Ending { retry: until, ..Ending::new(reason, what, remedy) })));
        }
        self.blind = if until.is_none() { self.blind + 1 } else { 0 };
        if self.blind > BLIND_WAITS {
            return Ok(Some(Next::End(Ending::new(reason, what, "run again later"))));
        }
        // A moment that is over tells nobody anything.
        let ahead = until.filter(|until| *until > self.ports.clock.now());
        self.ports.reporter.tell(Event::Waiting { what: what.to_owned(), until: ahead });
        let mut pause = self.pause.min(left.unwrap_or(Duration::MAX));
        if let Some(until) = until {
            let due = Duration::try_from(until.duration_since(self.ports.clock.now())).unwrap_or(self.setup.poll_min);
            pause = pause.min(due.max(Duration::from_millis(50)));
        }
        self.pause = (self.pause * 3 / 2).min(self.setup.poll_max);
        let woken = self.ports.clock.sleep(pause);
        self.waited += pause;
        self.ports.reporter.tell(Event::WaitOver);
        match woken {
            Woken::Elapsed => Ok(Some(Next::Look(Depth::Warm))),
            Woken::Interrupted => {
                Ok(Some(Next::End(Ending::new(StopReason::Interrupted, "stopped by a signal", "run again to go on"))))
            }
        }
    }

    pub(super) fn end(
        &self,
        mut summary: Summary,
        survey: Option<Survey>,
        ending: Ending,
    ) -> Result<RunEnd, EngineError> {
        summary.stop_reason = Some(ending.reason);
        if let (StopReason::Settled, true, Some(survey)) = (ending.reason, self.request.until_ready, &survey)
            && let Some(words) = stacked(self.ports.forge, &survey.obs.pr)
        {
            self.ports.warn(words);
        }
        self.ports.store.save(&self.held, &summary)?;
        let exit = ending.reason.exit_code(ending.person);
        let retry_after_s = (exit == 12).then(|| {
            let due = ending.retry.map(|at| at.duration_since(self.ports.clock.now()).as_secs().max(1));
            due.and_then(|s| u64::try_from(s).ok()).unwrap_or_else(|| self.setup.poll_max.as_secs().max(1))
        });
        Ok(RunEnd {
            reason: ending.reason,
            why: ending.why,
            remedy: ending.remedy,
            exit,
            retry_after_s,
            summary,
            survey,
        })
    }
}
