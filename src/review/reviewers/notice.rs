//! Tells words of a review from a notice in its place, for bodies that no rule knows. Known notices are the rules' business.

/// How far into a body a notice is looked for: notices are short and come first.
const NOTICE_TOP: usize = 400;

/// Words of notices. They only ever keep a review from counting, so a word too many costs time, never a false verdict.
const NOTICE_WORDS: [&str; 45] = [
    "unable",
    "not able",
    "n't able",
    "couldn't",
    "could not",
    "can't",
    "cannot",
    "won't",
    "will not",
    "didn't review",
    "did not review",
    "not reviewed",
    "not be reviewed",
    "no review",
    "fail",
    "error occurred",
    "an error",
    "internal error",
    "unexpected error",
    "skip",
    "postpone",
    "delayed",
    "limit",
    "quota",
    "pause",
    "disabled",
    "unavailable",
    "exceed",
    "too large",
    "too many",
    "too big",
    "upgrade",
    "subscri",
    "trial",
    "billing",
    "credit",
    "in progress",
    "crafting",
    "starting",
    "queued",
    "try again",
    "timed out",
    "aborted",
    "suspend",
    "unsupported",
];

/// Tells whether the top of a body speaks of something that kept a reviewer from its work.
pub(super) fn speaks_of_obstacles(body: &str) -> bool {
    let top: String = body.chars().take(NOTICE_TOP).collect();
    let top = top.to_lowercase().replace('\u{2019}', "'");
    NOTICE_WORDS.iter().any(|word| top.contains(word))
}

/// Tells whether anything is left of a body once its hidden comments are gone.
pub(super) fn has_words(body: &str) -> bool {
    let mut rest = body;
    while let Some((before, comment)) = rest.split_once("<!--") {
        if !before.trim().is_empty() {
            return true;
        }
        match comment.split_once("-->") {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    !rest.trim().is_empty()
}
