//! `explain`: which rule gave a finding its severity, and on which text.

use super::view;
use crate::cli::args::IdArgs;
use crate::cli::failure::Failure;
use crate::cli::{Context, look, output};
use crate::report::json::ExplainView;
use crate::report::table;
use crate::review::gate;
use crate::review::ids::FindingId;
use crate::review::next;
use crate::review::severity::DecidedBy;
use crate::review::summary::{Entry, Summary};

pub(super) fn run(cx: &Context, args: &IdArgs) -> Result<u8, Failure> {
    let desk = look::desk(cx, "explain")?;
    let (summary, survey) = look::look(cx, &desk)?;
    let entry = find(&summary, &args.id)?;
    let explanation = explanation(entry);
    if cx.global.json {
        let more = ExplainView { finding: entry.finding.clone(), explanation };
        let next = view::next(&desk, gate::status_code(&summary, &survey.reviewers), &summary);
        output::json(&view::envelope("explain", (0, next), &summary, more));
    } else {
        let finding = &entry.finding;
        let mut text = format!(
            "{} {} {} by {} at {}\n",
            finding.id,
            finding.severity,
            finding.status,
            finding.author,
            table::place(finding)
        );
        text.push_str(&format!("{}\n", finding.title));
        for line in explanation {
            text.push_str(&format!("- {line}\n"));
        }
        output::shown(&text);
    }
    Ok(0)
}

/// Finds a finding by its id.
pub(super) fn find<'a>(summary: &'a Summary, text: &str) -> Result<&'a Entry, Failure> {
    let id: FindingId = text
        .parse()
        .map_err(|bad: crate::review::ids::BadId| Failure::usage(bad.to_string(), "`pushback status` lists the ids"))?;
    summary.comments.get(&id).ok_or_else(|| {
        let known: Vec<FindingId> = summary.comments.keys().copied().collect();
        let near: Vec<String> = next::nearest(&known, text, 3).iter().map(ToString::to_string).collect();
        let known = match near.as_slice() {
            [] => "there are no findings".to_owned(),
            [one] => format!("the only one is {one}"),
            _ => format!("nearest are {}", near.join(", ")),
        };
        Failure::usage(format!("no finding {id} on this pull request; {known}"), "`pushback status` lists all")
    })
}

fn explanation(entry: &Entry) -> Vec<String> {
    let finding = &entry.finding;
    let mut lines = vec![match (&finding.rule, finding.decided_by) {
        (Some(rule), DecidedBy::UnknownTag) => {
            format!(
                "a marker that no rule knows: `{}` ({}, rule {}); such a marker counts as P2",
                rule.matched, rule.file, rule.name
            )
        }
        (Some(rule), _) => format!("rule `{}` of {} matched `{}`", rule.name, rule.file, rule.matched),
        (None, _) => format!("no marker: {} is the level of untagged findings of {}", finding.severity, finding.author),
    }];
    if let Some(regrade) = &entry.regrade {
        lines.push(format!("re-graded from {} by {}: {}", regrade.from, regrade.by, regrade.why));
    }
    if !finding.previous.is_empty() {
        let ids: Vec<String> = finding.previous.iter().map(ToString::to_string).collect();
        lines.push(format!("came back from {}", ids.join(", ")));
    }
    lines.push(format!(
        "status {}: {}",
        finding.status,
        if finding.why.is_empty() { "as found" } else { &finding.why }
    ));
    lines
}
