//! `gate --publish`: where the verdict's status goes and whether it may be written now.

use std::time::Duration;

use jiff::Timestamp;

use crate::cli::Context;
use crate::cli::args::GateArgs;
use crate::cli::event::{self, Queued};
use crate::cli::failure::Failure;
use crate::cli::look::Desk;
use crate::engine::publish::{self, Published, Spot};
use crate::ports::StatusBoard as _;
use crate::report::json::PublishedView;
use crate::review::gate::publish::{CLOSE_S, OwnStatus, own, says_the_same, stands, status_of};
use crate::review::ids::Sha;
use crate::review::observation::PrState;
use crate::review::verdict::Gate;

/// Verdicts that yield to a newer one before this call leaves it at that.
const YIELDS: u32 = 4;

/// What was published so far in this call.
pub(super) struct Board {
    wanted: bool,
    queued: Option<Queued>,
    yielded: u32,
    /// What this call wrote last, and where.
    wrote: Option<(Sha, OwnStatus)>,
    last: Option<PublishedView>,
}

impl Board {
    /// Prepares publishing, where it is asked for.
    pub(super) fn new(args: &GateArgs) -> Result<Self, Failure> {
        let queued = if args.publish { event::queued()? } else { None };
        Ok(Self { wanted: args.publish, queued, yielded: 0, wrote: None, last: None })
    }

    /// Returns what was published last.
    pub(super) fn view(&mut self) -> Option<PublishedView> {
        self.last.take()
    }

    /// Publishes a verdict. Returns a pause when a newer one is about: it has to be judged again after that.
    pub(super) fn take(
        &mut self,
        cx: &Context,
        desk: &Desk,
        verdict: &Gate,
        judged: Timestamp,
    ) -> Result<Option<Duration>, Failure> {
        if !self.wanted {
            return Ok(None);
        }
        let sha = self.queued.as_ref().map_or(&verdict.head, |queued| &queued.sha).clone();
        let context = desk.settings.policy.gate.status.clone();
        let ours = alone(desk, status_of(verdict, judged))?;
        let view = |written: bool, why: String| PublishedView {
            sha: sha.to_string(),
            context: context.clone(),
            state: ours.state,
            description: ours.description.clone(),
            written,
            why,
        };
        if desk.obs.pr.state != PrState::Open {
            self.last = Some(view(false, "the pull request is not open".to_owned()));
            return Ok(None);
        }
        if cx.global.dry_run {
            self.last = Some(view(false, String::new()));
            return Ok(None);
        }
        let spot = Spot { sha: &sha, context: &context };
        if self.still_stands(desk, spot, &ours)? {
            return Ok(None);
        }
        match publish::publish(&desk.forge, spot, &ours)? {
            Published::Stands => {
                self.last = Some(view(true, String::new()));
                self.wrote = Some((sha.clone(), ours));
                Ok(None)
            }
            Published::Newer(other) => {
                self.yielded += 1;
                if self.yielded < YIELDS {
                    return Ok(Some(Duration::from_secs(CLOSE_S.unsigned_abs() + 1)));
                }
                publish::withdraw(&desk.forge, spot, &ours)?;
                self.last = Some(view(false, format!("a newer verdict stands: {other}")));
                Ok(None)
            }
        }
    }

    /// Tells whether what this call wrote before says the same and is still on top: a long wait writes no row of equals.
    fn still_stands(&self, desk: &Desk, spot: Spot<'_>, ours: &OwnStatus) -> Result<bool, Failure> {
        match &self.wrote {
            Some((sha, before)) if sha == spot.sha && says_the_same(before, ours) => {
                Ok(stands(&desk.forge.statuses(spot.sha, spot.context)?, before))
            }
            Some(_) | None => Ok(false),
        }
    }
}

/// A status says nothing about which pull request it is of. Where several open ones share the head, a good verdict on
/// one of them would open the gate of the others.
fn alone(desk: &Desk, ours: OwnStatus) -> Result<OwnStatus, Failure> {
    if ours.state != "success" {
        return Ok(ours);
    }
    let others = desk.forge.same_head(&desk.obs.pr)?;
    if others.is_empty() {
        return Ok(ours);
    }
    let list: Vec<String> = others.iter().map(|number| format!("#{number}")).collect();
    let what = format!("unknown: {} has the same head; a status cannot tell them apart", list.join(", "));
    Ok(own("error", &what, ours.judged))
}
