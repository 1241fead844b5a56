//! `show`: one finding with all that is known of it.

use serde::Serialize;

use super::{explain, view};
use crate::cli::args::IdArgs;
use crate::cli::failure::Failure;
use crate::cli::{Context, look, output};
use crate::engine::rounds;
use crate::engine::survey::Survey;
use crate::report::table;
use crate::review::brief::ThreadLine;
use crate::review::classify::{below_title, readable};
use crate::review::gate;
use crate::review::summary::{Entry, Finding, Move};
use crate::review::tried::tried;

#[derive(Serialize)]
struct ShowView {
    finding: Finding,
    body: String,
    hunk: String,
    code: String,
    thread: Vec<ThreadLine>,
    tried: Vec<String>,
    history: Vec<Move>,
}

pub(super) fn run(cx: &Context, args: &IdArgs) -> Result<u8, Failure> {
    let desk = look::desk(cx, "show")?;
    let (summary, survey) = look::look(cx, &desk)?;
    let entry = explain::find(&summary, &args.id)?;
    let around = rounds::around(&desk.place.tree, &survey, entry)?;
    let more = ShowView {
        finding: entry.finding.clone(),
        body: entry.text.clone(),
        hunk: around.hunk,
        code: around.code,
        thread: around.thread,
        tried: tried(&summary, entry),
        history: entry.history.clone(),
    };
    if cx.global.json {
        let next = view::next(&desk, gate::status_code(&summary, &survey.reviewers), &summary);
        output::json(&view::envelope("show", (0, next), &summary, more));
    } else {
        output::shown(&text(entry, &more, &survey));
    }
    Ok(0)
}

pub(super) fn section(title: &str, body: &str) -> String {
    if body.trim().is_empty() { String::new() } else { format!("\n{title}\n{}\n", body.trim_end()) }
}

fn text(entry: &Entry, view: &ShowView, survey: &Survey) -> String {
    let finding = &entry.finding;
    let mut out = format!(
        "{} {} {} by {} at {}\n",
        finding.id,
        finding.severity,
        finding.status,
        finding.author,
        table::place(finding)
    );
    out.push_str(&format!("{}\n{}\n", finding.title, finding.url));
    if !finding.why.is_empty() {
        out.push_str(&format!("{}\n", finding.why));
    }
    out.push_str(&section("What was said", &below_title(&view.body, &finding.title)));
    out.push_str(&section(&format!("Code at {}", survey.obs.pr.head.short()), &view.code));
    out.push_str(&section("The hunk as the reviewer saw it", &view.hunk));
    let thread: Vec<String> =
        view.thread.iter().map(|line| format!("{}: {}", line.author, readable(&line.text))).collect();
    out.push_str(&section("Thread", &thread.join("\n")));
    out.push_str(&section("Tried", &view.tried.join("\n")));
    let history: Vec<String> = view
        .history
        .iter()
        .map(|step| {
            let from = step.from.map_or("new", |status| status.as_str());
            format!("round {} {}: {from} → {}: {}", step.round, step.at, step.to, step.why)
        })
        .collect();
    out.push_str(&section("History", &history.join("\n")));
    out
}
