//! What reviewers of the scenes say, in the forms of the real ones, and ready-made scripts.

use serde_json::{Value, json};

pub(crate) const CODEX: &str = "chatgpt-codex-connector[bot]";
pub(crate) const RABBIT: &str = "coderabbitai[bot]";

/// The pull request's file.
pub(crate) const PAY: &str = "# Payments\nprice=$1\nrate=0\ntotal=$((price * rate))\n\nitems=$2\n\
    for item in $items; do\n    echo \"$item\"\ndone\n\n# Leftover\ntmp=1\n\nsum=$total\necho \"$sum\"\n";

/// A reason that an argument stands on.
pub(crate) const REASON: &str = "The items in src/pay.sh come from a fixed list of product codes without spaces, so \
    splitting on words is what is wanted here.";

/// An inline comment of Codex.
pub(crate) fn codex(level: &str, at: &str, title: &str, text: &str) -> Value {
    let body = format!(
        "**<sub><sub>![{level} Badge](https://img.shields.io/badge/{level}-orange?style=flat)</sub></sub>  {title}**\n\n{text}\n\nUseful? React with 👍 / 👎."
    );
    json!({ "path": "src/pay.sh", "match": at, "body": body })
}

/// An inline comment of CodeRabbit; `head` is its first line.
pub(crate) fn rabbit(head: &str, at: &str, title: &str, text: &str) -> Value {
    let body = format!("{head}\n\n**{title}**\n\n{text}\n\n<!-- This is an auto-generated comment by CodeRabbit -->");
    json!({ "path": "src/pay.sh", "match": at, "body": body })
}

/// The usual P1: gone as soon as `rate=0` is.
pub(crate) fn p1() -> Value {
    codex("P1", "rate=0", "Multiply by a rate that is not zero", "Every price becomes nothing: `rate=0` drops the fee.")
}

/// The usual P2.
pub(crate) fn p2() -> Value {
    rabbit(
        "_⚠️ Potential issue_ | _🟠 Major_",
        "for item in",
        "Quote the list of items.",
        "`for item in $items` hands every word on its own.",
    )
}

pub(crate) fn p3() -> Value {
    codex("P3", "items=$2", "Say what the second argument is", "Readers may take it for a price.")
}

pub(crate) fn nit() -> Value {
    rabbit("_🧹 Nitpick_ | _🔵 Trivial_", "tmp=1", "Drop the leftover variable.", "`tmp` is never read.")
}

/// Codex: these comments at first; after every push those of `again` whose text is still there, else the clean verdict.
pub(crate) fn codex_reviews(first: &[Value], again: &[Value]) -> Vec<Value> {
    let clean = json!({ "issue_comment": { "user": CODEX, "body": clean_words() } });
    let wrapper =
        "### 💡 Codex Review\n\nHere are some automated review suggestions.\n\n**Reviewed commit:** `{{head10}}`";
    let review = |comments: &[Value]| match comments {
        [] => clean.clone(),
        _ => json!({ "review": { "user": CODEX, "body": wrapper, "comments": comments, "when_clean": [clean] } }),
    };
    vec![
        json!({ "after_push": 0, "actions": [review(first)] }),
        json!({ "after_push": 1, "and_later": true, "actions": [review(again)] }),
    ]
}

/// The clean verdict of Codex.
pub(crate) fn clean_words() -> String {
    "Codex Review: Didn't find any major issues. Keep them coming!\n\n**Reviewed commit:** `{{head10}}`".to_owned()
}

/// CodeRabbit: these comments once, approval after every later push.
pub(crate) fn rabbit_reviews(comments: &[Value]) -> Vec<Value> {
    let body = format!("**Actionable comments posted: {}**", comments.len());
    let first = json!({ "review": { "user": RABBIT, "body": body, "comments": comments } });
    let later = json!({ "review": { "user": RABBIT, "state": "APPROVED", "body": "" } });
    vec![
        json!({ "after_push": 0, "actions": [first] }),
        json!({ "after_push": 1, "and_later": true, "actions": [later] }),
    ]
}

/// The usual four findings of two reviewers.
pub(crate) fn story() -> Vec<Value> {
    let mut script = codex_reviews(&[p1(), p3()], &[p1()]);
    script.extend(rabbit_reviews(&[p2(), nit()]));
    script
}

/// The editor that settles them: the P1 fixed, the P2 argued.
pub(crate) fn settles() -> Value {
    json!({ "findings": [fixes(), argues()] })
}

pub(crate) fn fixes() -> Value {
    json!({ "contains": "rate=0", "decision": "fix", "edits": [{ "path": "src/pay.sh", "replace": "rate=0", "with": "rate=1" }] })
}

pub(crate) fn argues() -> Value {
    json!({ "contains": "hands every word", "decision": "argue", "reason": REASON })
}
