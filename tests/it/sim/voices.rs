//! How the reviewers of the simulation speak: a finding, the end of a review, a limit. The forms are those of the real ones.

use pushback::review::comment::{Channel, ReviewState};
use pushback::review::ids::Sha;

use super::world::Defect;

/// A reviewer, by the account that reviews.
pub(crate) type Name = &'static str;

pub(crate) const CODEX: Name = "chatgpt-codex-connector";
pub(crate) const RABBIT: Name = "coderabbitai";
pub(crate) const GREPTILE: Name = "greptile-apps";
pub(crate) const BUGBOT: Name = "cursor";
pub(crate) const COPILOT: Name = "copilot-pull-request-reviewer";

/// Who reviews in a world.
pub(crate) const CASTS: [&[Name]; 8] = [
    &[CODEX],
    &[RABBIT],
    &[CODEX, RABBIT],
    &[GREPTILE],
    &[BUGBOT],
    &[COPILOT, RABBIT],
    &[BUGBOT, CODEX],
    &[GREPTILE, COPILOT],
];

/// Returns the levels that a reviewer tells apart.
pub(crate) fn levels(name: Name) -> &'static [&'static str] {
    match name {
        COPILOT => &["P2"],
        BUGBOT => &["P1", "P2", "P2", "P3"],
        _ => &["P1", "P2", "P2", "P3", "nit"],
    }
}

/// Returns the account under which a reviewer comments on lines.
pub(crate) fn hand(name: Name) -> &'static str {
    if name == COPILOT { "Copilot" } else { name }
}

/// Tells whether a reviewer can take a finding back in words that are known.
pub(crate) fn takes_back(name: Name) -> bool {
    name == RABBIT
}

/// Tells whether a comment says that it is a P1.
pub(crate) fn is_p1(body: &str) -> bool {
    ["P1 Badge", "Critical_", "alt=\"P1\"", "**High Severity**"].iter().any(|mark| body.contains(mark))
}

/// Returns what a comment says of its defect, without what changes from review to review.
pub(crate) fn claim(body: &str) -> &str {
    body.split("\n\n<!-- LOCATIONS START").next().unwrap_or(body)
}

/// Returns an inline comment.
pub(crate) fn finding(defect: &Defect, head: &Sha, line: u32) -> String {
    let Defect { n, path, level, title, text, .. } = defect;
    match defect.bot {
        RABBIT => {
            let level = match *level {
                "P1" => "_🔴 Critical_",
                "P2" => "_🟠 Major_",
                "P3" => "_🟡 Minor_",
                _ => "_🔵 Trivial_",
            };
            format!("_⚠️ Potential issue_ | {level}\n\n**{title}**\n\n{text}")
        }
        GREPTILE if *level == "nit" => format!("**style:** {title}\n\n{text}"),
        GREPTILE => {
            let file = level.to_lowercase();
            format!(
                "<a href=\"#\"><img alt=\"{level}\" src=\"https://greptile-static-assets.s3.amazonaws.com/badges/{file}.svg?v=9\" \
                 align=\"top\"></a> **{title}**\n\n{text}"
            )
        }
        BUGBOT => {
            let level = match *level {
                "P1" => "High",
                "P2" => "Medium",
                _ => "Low",
            };
            format!(
                "### {title}\n\n**{level} Severity**\n\n<!-- DESCRIPTION START -->\n{text}\n<!-- DESCRIPTION END -->\n\n\
                 <!-- BUGBOT_BUG_ID: 4c1d6f7e-90aa-4b15-8f0e-{n:012x} -->\n\n\
                 <!-- LOCATIONS START\n{path}#L{line}\nLOCATIONS END -->\n\n\
                 <sup>Reviewed by [Cursor Bugbot](https://cursor.com/bugbot) for commit {head}.</sup>"
            )
        }
        COPILOT => format!("{title}. {text}"),
        _ if *level == "nit" => format!("nit: {title}"),
        _ => format!(
            "**<sub><sub>![{level} Badge](https://img.shields.io/badge/{level}-orange?style=flat)</sub></sub>  {title}**\n\n{text}\n\n\
             Useful? React with 👍 / 👎."
        ),
    }
}

/// The words at the end of a review, and where they stand.
pub(crate) struct End {
    /// A review's body, with its state; `None` where there is no review around the comments.
    pub(crate) review: Option<(ReviewState, String)>,
    /// A comment in the conversation.
    pub(crate) talk: Option<String>,
    /// True where that comment is the reviewer's only one, edited each time.
    pub(crate) sticky: bool,
}

/// Returns how a review with so many comments ends.
pub(crate) fn end(name: Name, said: usize, head: &Sha) -> End {
    let review = |state, body: String| Some((state, body));
    let (review, talk) = match (name, said) {
        (RABBIT, 0) => (review(ReviewState::Approved, "**Actionable comments posted: 0**".to_owned()), None),
        (RABBIT, _) => (review(ReviewState::Commented, format!("**Actionable comments posted: {said}**")), None),
        (GREPTILE, _) => {
            let (score, around) =
                if said == 0 { (5, None) } else { (3, review(ReviewState::Commented, String::new())) };
            let summary = format!(
                "<!-- greptile_summary -->\n\n<h2>Confidence Score: {score}/5</h2>\n\n<sub>Last reviewed commit: \
                 [\"Work\"](https://github.com/octo/app/commit/{head})</sub>"
            );
            (around, Some(summary))
        }
        (BUGBOT, 0) => {
            let text = format!(
                "Bugbot reviewed your changes and found no new issues!\n\n<sup>Reviewed by [Cursor Bugbot](https://cursor.com/bugbot) \
                 for commit {head}.</sup>"
            );
            (None, Some(text))
        }
        (BUGBOT, _) => {
            let issues = if said == 1 { "issue" } else { "issues" };
            let text = format!(
                "Cursor Bugbot has reviewed your changes and found {said} potential {issues}.\n\n<!-- BUGBOT_REVIEW -->\n\n\
                 <sup>Reviewed by [Cursor Bugbot](https://cursor.com/bugbot) for commit {head}.</sup>"
            );
            (review(ReviewState::Commented, text), None)
        }
        (COPILOT, _) => {
            let count = if said == 0 { "no new comments".to_owned() } else { format!("{said} comments") };
            let text = format!(
                "## Pull request overview\n\nChanges some parts.\n\n### Reviewed changes\n\nCopilot reviewed 3 out of 3 changed files in \
                 this pull request and generated {count}."
            );
            (review(ReviewState::Commented, text), None)
        }
        (_, 0) => {
            let text = format!(
                "Codex Review: Didn't find any major issues. Keep them coming!\n\n**Reviewed commit:** `{}`",
                head.short()
            );
            (None, Some(text))
        }
        (_, _) => {
            let text = "### 💡 Codex Review\n\nHere are some automated review suggestions for this pull request.";
            (review(ReviewState::Commented, text.to_owned()), None)
        }
    };
    End { review, talk, sticky: name == GREPTILE }
}

/// Returns the notice of a reviewer that cannot review now.
pub(crate) fn limited(name: Name) -> (Channel, &'static str) {
    let text = match name {
        RABBIT => {
            "## Review limit reached\n\nPlease wait **20 minutes and 5 seconds** before requesting another review.\n\n<!-- rate limited by \
             coderabbit.ai -->"
        }
        GREPTILE => "Your free trial has ended. Upgrade to go on with reviews.",
        BUGBOT => "Bugbot couldn't run - usage limit reached",
        COPILOT => "Copilot was not started: you have reached your Copilot premium request quota limit.",
        _ => "You have reached your Codex usage limits for code reviews.",
    };
    (Channel::Conversation, text)
}
