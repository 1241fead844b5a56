//! Whether a commit changes something at a place (R8), and whether a later one took that away again (FC-41).

use super::{EDITED_LINE, Mapped, NEAR_LINES, Place, likeness, map_line, normal, telling};
use crate::review::code;
use crate::review::comment::Side;
use crate::review::diff::{FileChange, FileDiff, Hunk};

/// Whose line numbers a place carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Numbering {
    /// The commit's parent: a cited place, mapped to the head the editor was given.
    Before,
    /// The commit itself: a place the editor names after its work.
    After,
}

/// Tells whether a diff changes something at the place or close to it (R8).
///
/// White space never counts, comments only where the finding is about a comment.
pub fn touches(place: &Place, numbering: Numbering, diffs: &[FileDiff], about_comment: bool) -> bool {
    diffs.iter().filter(|diff| concerns(place, numbering, diff)).any(|diff| {
        let whole = place.side == Side::Left || place.range().is_none();
        if diff.binary || (diff.new_path.is_none() && diff.hunks.is_empty()) {
            return diff.change != FileChange::Renamed;
        }
        diff.hunks.iter().filter(|hunk| whole || near(place, numbering, hunk)).any(|hunk| {
            let path = diff.new_path.as_ref().or(diff.old_path.as_ref()).map(ToString::to_string).unwrap_or_default();
            substantial(&path, hunk, about_comment)
        })
    })
}

pub(super) fn concerns(place: &Place, numbering: Numbering, diff: &FileDiff) -> bool {
    let old = diff.old_path.as_ref() == Some(&place.path);
    let new = diff.new_path.as_ref() == Some(&place.path);
    match numbering {
        Numbering::After => new || (old && diff.new_path.is_none()),
        // Removed text can only come back in a file that is there or is added again.
        Numbering::Before => old || (new && diff.change == FileChange::Added),
    }
}

pub(super) fn near(place: &Place, numbering: Numbering, hunk: &Hunk) -> bool {
    let Some((start, end)) = place.range() else { return true };
    let (from, len) = match numbering {
        Numbering::Before => (hunk.old_start, hunk.old_len),
        Numbering::After => (hunk.new_start, hunk.new_len),
    };
    let to = from + len.max(1) - 1;
    from <= end.saturating_add(NEAR_LINES) && to.saturating_add(NEAR_LINES) >= start
}

pub(super) fn substantial(path: &str, hunk: &Hunk, about_comment: bool) -> bool {
    if about_comment {
        !code::spacing_only(path, &hunk.removed, &hunk.added)
    } else {
        !code::cosmetic(path, &hunk.removed, &hunk.added)
    }
}

/// Tells whether a finding is about a comment: its title says so, or the cited lines are nothing else.
pub fn about_comment(title: &str, path: &str, cited: &[String]) -> bool {
    const WORDS: [&str; 10] =
        ["comment", "comments", "docstring", "docstrings", "doc", "docs", "documentation", "typo", "todo", "javadoc"];
    let says = title
        .split(|c: char| !c.is_alphanumeric())
        .any(|word| WORDS.iter().any(|known| word.eq_ignore_ascii_case(known)));
    says || code::all_comment(path, cited)
}

/// Tells how much of a fix a later diff took away (FC-41).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Undone {
    /// Every line the fix added is removed, or everything it removed is back.
    Wholly,
    /// Something of it is left, or it cannot be told.
    No,
}

/// Compares a fix with the diff from the fix to the head. Only its hunks at the place are asked; without any, all of them.
pub fn undone(place: &Place, fix: &[FileDiff], since: &[FileDiff]) -> Undone {
    let all: Vec<(&FileDiff, &Hunk)> = fix
        .iter()
        .flat_map(|diff| diff.hunks.iter().map(move |hunk| (diff, hunk)))
        .filter(|(diff, hunk)| {
            let path = diff.new_path.as_ref().or(diff.old_path.as_ref()).map(ToString::to_string).unwrap_or_default();
            substantial(&path, hunk, false)
        })
        .collect();
    let at: Vec<_> = all
        .iter()
        .filter(|(diff, hunk)| concerns(place, Numbering::Before, diff) && near(place, Numbering::Before, hunk))
        .copied()
        .collect();
    let asked = if at.is_empty() { all } else { at };
    let wholly = !asked.is_empty() && asked.iter().all(|(diff, hunk)| hunk_undone(diff, hunk, since));
    if wholly { Undone::Wholly } else { Undone::No }
}

fn hunk_undone(diff: &FileDiff, hunk: &Hunk, since: &[FileDiff]) -> bool {
    let Some(path) = &diff.new_path else {
        // The fix deleted the file: undone once it is there again.
        return since.iter().any(|later| later.change == FileChange::Added && later.new_path == diff.old_path);
    };
    let Some(later) = since.iter().find(|later| later.old_path.as_ref() == Some(path)) else { return false };
    if later.new_path.is_none() {
        return false;
    }
    let back = |lines: &[String]| {
        let wanted: Vec<String> = lines.iter().map(|line| normal(line)).filter(|line| telling(line)).collect();
        !wanted.is_empty()
            && later.hunks.iter().any(|hunk| {
                let added: Vec<String> = hunk.added.iter().map(|line| normal(line)).collect();
                wanted.iter().all(|line| added.contains(line))
            })
    };
    if hunk.new_len == 0 {
        return back(&hunk.removed);
    }
    let removed = (hunk.new_start..hunk.new_start + hunk.new_len)
        .zip(&hunk.added)
        .filter(|(_, text)| telling(&normal(text)))
        .map(|(line, _)| matches!(map_line(&later.hunks, line), Mapped::Removed(_)))
        .collect::<Vec<_>>();
    let none_left = !removed.is_empty() && removed.iter().all(|gone| *gone);
    // An edit of the fix keeps it; only text that has gone without a likeness is undone.
    none_left
        && !(hunk.added.iter().map(|l| normal(l)).filter(|l| telling(l)))
            .any(|old| later.hunks.iter().flat_map(|h| &h.added).any(|new| likeness(&old, &normal(new)) >= EDITED_LINE))
        || (none_left && hunk.old_len > 0 && back(&hunk.removed))
}
