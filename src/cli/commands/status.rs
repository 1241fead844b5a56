//! `status`: one look; findings, reviewers, gate. Writes nothing to the forge.

use super::view;
use crate::cli::args::StatusArgs;
use crate::cli::failure::Failure;
use crate::cli::{Context, look, output};
use crate::engine::rounds;
use crate::review::gate::{self, LocalHeads, RemoteTip};

pub(super) fn run(cx: &Context, args: &StatusArgs) -> Result<u8, Failure> {
    if let Some(file) = &args.comments {
        return super::super::offline::status(cx, file);
    }
    let desk = look::desk(cx, "status")?;
    let (summary, survey) = look::look(cx, &desk)?;
    let setup = desk.setup(None);
    // Another pull request's head says nothing about what is checked out here.
    let local = desk
        .place
        .local_head()
        .filter(|_| desk.on_its_branch())
        .map(|local| LocalHeads { local, remote: RemoteTip::NotAsked });
    let verdict = rounds::judge_gate(&setup, &summary, &survey, local.as_ref());
    let exit = gate::status_code(&summary, &survey.reviewers);
    let next = view::next(&desk, exit, &summary);
    if cx.global.json {
        let mut more = view::status(&desk, &summary, &survey, Some(verdict));
        more.notes.extend(view::unposted(&desk, &summary, &survey));
        let mut answer = view::envelope("status", (exit, next), &summary, more);
        answer.retry_after_s = (exit == 12).then(|| desk.settings.poll_max.as_secs().max(1));
        output::json(&answer);
    } else {
        view::print(&desk, &summary, &survey, Some(&verdict));
        output::stdout(&format!("next: {next}\n"));
    }
    Ok(exit)
}
