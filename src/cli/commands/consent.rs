//! Whether a repository agreed to being written to (R26), and what would be written, word for word.

use std::io::IsTerminal;

use dialoguer::Confirm;

use crate::cli::Context;
use crate::cli::failure::Failure;
use crate::cli::look::Desk;
use crate::engine::resolve::Drafted;
use crate::ports::{Event, Reporter};
use crate::report::json::{PlanView, PlannedView};
use crate::report::prompter;
use crate::review::description;
use crate::review::summary::{Summary, Target, WriteKind, WriteState};
use crate::store;

/// What a command is going to do outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Does {
    /// Pushes commits and posts.
    PushAndPost,
    /// Posts only.
    Post,
}

/// Tells whether posting in this repository was agreed to.
pub(super) fn given(desk: &Desk) -> Result<bool, Failure> {
    let known = store::consent(desk.place.tree.common_dir(), &desk.pr.host, &desk.pr.slug)?.is_some();
    Ok(known || desk.settings.policy.post.enabled)
}

/// Remembers that posting was agreed to.
pub(super) fn give(cx: &Context, desk: &Desk) -> Result<(), Failure> {
    store::give_consent(desk.place.tree.common_dir(), &desk.pr.host, &desk.pr.slug, cx.clock.now())?;
    Ok(())
}

/// The first command that posts in a repository says what it will post and asks once (R26).
pub(super) fn ask(cx: &Context, desk: &Desk, yes: bool, does: Does) -> Result<(), Failure> {
    if given(desk)? {
        return Ok(());
    }
    if !yes {
        let slug = &desk.pr.slug;
        let try_first = match does {
            Does::PushAndPost => "look at `pushback run --dry-run`",
            Does::Post => "look at the same command with `--dry-run`",
        };
        if !std::io::stderr().is_terminal() || !std::io::stdin().is_terminal() {
            let hint = format!(
                "{try_first}, then pass `--yes` once or set `post.enabled = true` on the default branch or in your own config"
            );
            return Err(Failure::usage(format!("nobody has agreed yet that pushback may post in {slug}"), hint));
        }
        cx.printer.tell(Event::Line(words(desk, does)));
        let question = Confirm::new().with_prompt("Go on?").default(false);
        if prompter::ask(&cx.signals, || question.interact_opt().ok().flatten()) != Some(true) {
            let hint = format!("{try_first}: it shows the exact texts");
            return Err(Failure::usage("not agreed, nothing was done", hint));
        }
    }
    give(cx, desk)
}

/// Says what a command will do outside, and as whom.
fn words(desk: &Desk, does: Does) -> String {
    let account =
        desk.obs.account.as_ref().map_or_else(|| "the token's account".to_owned(), |account| account.login.to_string());
    let push = match does {
        Does::PushAndPost => format!("push commits to `{}` and ", desk.obs.pr.head_branch),
        Does::Post => String::new(),
    };
    let request = match does {
        Does::PushAndPost => ", at most one re-review request per bot and head",
        Does::Post => "",
    };
    format!(
        "pushback will {push}post on {} as {account}: short replies in review threads, resolved bot threads, one block in the \
         description{request}.",
        desk.pr
    )
}

/// Returns the planned writes with their exact texts; `body` is the description now.
pub(super) fn planned(summary: &Summary, body: &str) -> Vec<PlannedView> {
    let open = summary.outbox.iter().filter(|item| item.state == WriteState::Planned);
    open.map(|item| PlannedView {
        kind: item.kind.as_str(),
        target: item.target.clone(),
        body: match item.kind {
            WriteKind::Describe => description::render_for(summary, body).unwrap_or_default(),
            _ => item.body.clone(),
        },
        findings: item.findings.clone(),
    })
    .collect()
}

/// Returns the follow-up plans that would be written.
pub(super) fn plans(drafted: Vec<Drafted>) -> Vec<PlanView> {
    let view = |plan: Drafted| PlanView { path: plan.path.to_string(), text: plan.text, findings: plan.ids };
    drafted.into_iter().map(view).collect()
}

/// Shows plans word for word.
pub(super) fn exact_plans(plans: &[PlanView]) -> String {
    let show = |plan: &PlanView| {
        let ids: Vec<String> = plan.findings.iter().map(ToString::to_string).collect();
        format!("== would write {} for {}\n{}\n\n", plan.path, ids.join(", "), plan.text.trim_end())
    };
    plans.iter().map(show).collect()
}

/// Shows planned writes word for word.
pub(super) fn exact(planned: &[PlannedView]) -> String {
    let mut text = String::new();
    for write in planned {
        let ids: Vec<String> = write.findings.iter().map(ToString::to_string).collect();
        let place = place(&write.target);
        let of = if ids.is_empty() { String::new() } else { format!(" {}", ids.join(", ")) };
        text.push_str(&format!("== would {}{of}{place}\n{}\n\n", write.kind, write.body));
    }
    text
}

/// Says in words where something is posted; threads are named by their findings already.
fn place(target: &Target) -> &'static str {
    match target {
        Target::Thread { .. } | Target::Reply { .. } => ", in its thread",
        Target::Conversation => ", in the conversation",
        Target::Description => ", in the description",
        Target::ThreadNode { .. } | Target::Inline { .. } | Target::Own { .. } | Target::Reviewer { .. } => "",
    }
}
