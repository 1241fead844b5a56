//! Where a cited place is now: anchors mapped through a diff (R14), and whether a commit touches a place (R8).
//!
//! It proves or declines to prove; what follows from a place that is gone is decided elsewhere. The forge's own word
//! for outdated comments is not used. Whatever cannot be proved is [`Located::Unsure`] and counts as still there.

use similar::TextDiff;

use super::comment::Side;
use super::diff::{FileChange, FileDiff, Hunk};
use super::ids::RepoPath;

mod reversal;
mod touch;

pub use reversal::reverses;
pub use touch::{Numbering, Undone, about_comment, touches, undone};

/// From this likeness on, a line is the cited line with an edit.
pub const EDITED_LINE: f32 = 0.6;
/// Below this likeness, nothing of a line is left in another.
pub const UNLIKE_LINE: f32 = 0.45;
/// A rewrite proves that lines are gone only if it replaced this many lines beyond the cited ones.
pub const WIDE_REWRITE: usize = 6;
/// Share of a block's telling lines that must stand elsewhere for the block to have moved there.
pub const MOVED_SHARE: f32 = 0.6;
/// Telling characters below which an equal text elsewhere may be chance.
pub const TELLING: usize = 12;
/// A commit touches a place when it changes a line at most this far away.
pub const NEAR_LINES: u32 = 3;
/// Lines of a place that are looked at; longer ones are judged by their end.
const LONGEST: u32 = 400;
/// Added lines that are compared by likeness; beyond, only equal lines are found.
const MOST_COMPARED: usize = 4_000;

/// A cited place, in the numbering of the commit the comment was made on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// File.
    pub path: RepoPath,
    /// First line, of a place of several.
    pub start_line: Option<u32>,
    /// Last line; `None` means the file.
    pub line: Option<u32>,
    /// Side of the diff; the removed side is numbered by the base.
    pub side: Side,
    /// True when the whole file is meant.
    pub whole_file: bool,
}

impl Place {
    /// Reads a place an editor names: `path`, `path:line` or `path:from-to`.
    pub fn named(text: &str) -> Option<Self> {
        let text = text.trim().trim_matches('`');
        let (path, lines) = match text.rsplit_once(':') {
            Some((path, lines)) if lines.starts_with(|c: char| c.is_ascii_digit()) => (path, Some(lines)),
            Some(_) | None => (text, None),
        };
        let path = RepoPath::from_outside(path).ok()?;
        let (start_line, line) = match lines {
            None => (None, None),
            Some(lines) => match lines.split_once(['-', '–']) {
                Some((from, to)) => (Some(from.trim().parse().ok()?), Some(to.trim().parse().ok()?)),
                None => (None, Some(lines.trim().parse().ok()?)),
            },
        };
        Some(Self { path, start_line, line, side: Side::Right, whole_file: line.is_none() })
    }

    /// Returns first and last line in order; `None` for a place without lines.
    fn range(&self) -> Option<(u32, u32)> {
        if self.whole_file {
            return None;
        }
        let end = self.line.or(self.start_line)?;
        let start = self.start_line.unwrap_or(end);
        let (start, end) = (start.min(end).max(1), start.max(end).max(1));
        Some((start.max(end.saturating_sub(LONGEST)), end))
    }
}

/// Where a place is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Located {
    /// Still there.
    There {
        /// File, after renames and moves.
        path: RepoPath,
        /// Last line; for the removed side, still in the base's numbering.
        line: Option<u32>,
        /// First line, of several.
        start_line: Option<u32>,
        /// True when its text is not what it was.
        edited: bool,
    },
    /// Provably gone.
    Gone {
        /// The proof in a clause.
        because: String,
    },
    /// Cannot be proved: counts as still there.
    Unsure {
        /// What is missing for a proof.
        because: String,
    },
}

fn unsure(because: impl Into<String>) -> Located {
    Located::Unsure { because: because.into() }
}

fn gone(because: impl Into<String>) -> Located {
    Located::Gone { because: because.into() }
}

/// Maps a place through the diff from the commit it was made on to the head.
///
/// `then` is the file's text at that commit, for the removed side the removed text; `now` returns a file's text at the head.
pub fn locate(
    place: &Place,
    diffs: &[FileDiff],
    then: Option<&str>,
    now: impl Fn(&RepoPath) -> Option<String>,
) -> Located {
    if place.side == Side::Left {
        return locate_removed(place, diffs, then);
    }
    let Some(diff) = file_of(&place.path, diffs) else {
        if diffs.iter().any(|diff| diff.new_path.as_ref() == Some(&place.path)) {
            return unsure("the file was added after the comment was made");
        }
        return match now(&place.path) {
            Some(_) => there(&place.path, place.range(), false),
            None => unsure("the file is neither in the tree nor in the diff"),
        };
    };
    let Some(path) = &diff.new_path else {
        return deleted_file(place, diff, diffs);
    };
    let Some((start, end)) = place.range() else {
        return there(path, None, !diff.hunks.is_empty() || diff.binary);
    };
    if diff.binary {
        return unsure("the file is not text");
    }
    let text = now(path);
    Mapping { place, diff, diffs, path, start, end, then, now: text.as_deref() }.run()
}

fn there(path: &RepoPath, range: Option<(u32, u32)>, edited: bool) -> Located {
    let (line, start_line) = match range {
        None => (None, None),
        Some((start, end)) => (Some(end), (start < end).then_some(start)),
    };
    Located::There { path: path.clone(), line, start_line, edited }
}

fn file_of<'a>(path: &RepoPath, diffs: &'a [FileDiff]) -> Option<&'a FileDiff> {
    let before = diffs.iter().find(|diff| diff.old_path.as_ref() == Some(path));
    // A comment may already carry the name a later rename gave the file.
    before.or_else(|| {
        diffs.iter().find(|diff| diff.change == FileChange::Renamed && diff.new_path.as_ref() == Some(path))
    })
}

/// Removed text stays removed until the file goes or the text comes back.
fn locate_removed(place: &Place, diffs: &[FileDiff], then: Option<&str>) -> Located {
    let diff = file_of(&place.path, diffs);
    if let Some(FileDiff { new_path: None, .. }) = diff {
        return gone(format!("`{}` was deleted", place.path));
    }
    let added_again =
        |diff: &&FileDiff| diff.old_path.as_ref() == Some(&place.path) || diff.new_path.as_ref() == Some(&place.path);
    let lines: Vec<String> = then.map(telling_lines).unwrap_or_default();
    let back = diffs.iter().filter(added_again).flat_map(|diff| &diff.hunks).any(|hunk| {
        let added: Vec<String> = hunk.added.iter().map(|line| normal(line)).collect();
        lines.iter().all(|line| added.contains(line))
    });
    if back && lines.iter().map(String::len).sum::<usize>() >= TELLING {
        return gone("the removed text is back");
    }
    let path = diff.and_then(|diff| diff.new_path.as_ref()).unwrap_or(&place.path);
    there(path, place.range(), false)
}

fn deleted_file(place: &Place, diff: &FileDiff, diffs: &[FileDiff]) -> Located {
    let because = format!("`{}` was deleted", place.path);
    let Some((start, end)) = place.range() else { return gone(because) };
    let cited: Vec<String> =
        (start..=end).filter_map(|line| removed_line(&diff.hunks, line)).map(normal).filter(|l| telling(l)).collect();
    moved(&cited, diffs, None).unwrap_or_else(|| gone(because))
}

/// What became of one old line.
enum Mapped {
    Kept(u32),
    Removed(usize),
}

fn map_line(hunks: &[Hunk], line: u32) -> Mapped {
    let mut shift: i64 = 0;
    for (at, hunk) in hunks.iter().enumerate() {
        let first_after = if hunk.old_len == 0 { hunk.old_start + 1 } else { hunk.old_start + hunk.old_len };
        if line >= first_after {
            shift += i64::from(hunk.new_len) - i64::from(hunk.old_len);
        } else if hunk.old_len > 0 && line >= hunk.old_start {
            return Mapped::Removed(at);
        } else {
            break;
        }
    }
    Mapped::Kept(u32::try_from(i64::from(line) + shift).unwrap_or(1).max(1))
}

fn removed_line(hunks: &[Hunk], line: u32) -> Option<&str> {
    let hunk = hunks.iter().find(|hunk| line >= hunk.old_start && line < hunk.old_start + hunk.old_len)?;
    hunk.removed.get((line - hunk.old_start) as usize).map(String::as_str)
}

struct Mapping<'a> {
    place: &'a Place,
    diff: &'a FileDiff,
    diffs: &'a [FileDiff],
    path: &'a RepoPath,
    start: u32,
    end: u32,
    then: Option<&'a str>,
    now: Option<&'a str>,
}

impl Mapping<'_> {
    fn run(&self) -> Located {
        let hunks = &self.diff.hunks;
        let mut kept: Vec<(u32, u32)> = Vec::new();
        let mut hit: Vec<usize> = Vec::new();
        for line in self.start..=self.end {
            match map_line(hunks, line) {
                Mapped::Kept(new) => kept.push((line, new)),
                Mapped::Removed(at) if hit.last() != Some(&at) => hit.push(at),
                Mapped::Removed(_) => {}
            }
        }
        let (first, last) = (kept.first().map(|k| k.1), kept.last().map(|k| k.1));
        if let (Some(first), Some(last), true) = (first, last, hit.is_empty()) {
            let grown = last - first != self.end - self.start;
            return there(self.path, Some((first, last)), grown);
        }
        if let (Some(first), Some(last), true) = (first, last, self.any_telling(&kept)) {
            return there(self.path, Some((first, last)), true);
        }
        self.all_removed(&hit)
    }

    /// Tells whether a line that survived says something; a lone brace belongs to whoever stands around it now.
    fn any_telling(&self, kept: &[(u32, u32)]) -> bool {
        let Some(then) = self.then else { return true };
        let lines: Vec<&str> = then.lines().collect();
        kept.iter().any(|(old, _)| lines.get(*old as usize - 1).is_none_or(|line| telling(&normal(line))))
    }

    fn all_removed(&self, hit: &[usize]) -> Located {
        let hunks: Vec<&Hunk> = hit.iter().filter_map(|at| self.diff.hunks.get(*at)).collect();
        let mut cited = self.cited(self.start, self.end);
        if cited.is_empty() {
            // Nothing but braces or blanks is cited: its neighbours speak for it, if they were removed too.
            let (from, to) = (self.start.saturating_sub(NEAR_LINES).max(1), self.end + NEAR_LINES);
            let covered = (from..=to).all(|line| removed_line(&self.diff.hunks, line).is_some());
            cited = self.cited(from, to);
            if !covered || cited.is_empty() {
                return unsure("the cited line says too little to be followed");
            }
        }
        if let Some(found) = self.edited_in_place(&cited, &hunks) {
            return found;
        }
        if let Some(found) = moved(&cited, self.diffs, Some(self.path)) {
            return found;
        }
        if self.stands_beside(&cited, &hunks) {
            return unsure("the same text stands right beside the removed lines");
        }
        self.verdict(&cited, &hunks)
    }

    /// Returns the telling lines of the old text that were removed.
    fn cited(&self, from: u32, to: u32) -> Vec<String> {
        (from..=to)
            .filter_map(|line| removed_line(&self.diff.hunks, line))
            .map(normal)
            .filter(|line| telling(line))
            .collect()
    }

    fn edited_in_place(&self, cited: &[String], hunks: &[&Hunk]) -> Option<Located> {
        let mut found: Vec<(u32, f32)> = Vec::new();
        for old in cited {
            let mut best: Option<(u32, f32)> = None;
            for hunk in hunks {
                for (line, new) in (hunk.new_start..).zip(&hunk.added) {
                    let like = likeness(old, &normal(new));
                    if like >= EDITED_LINE && best.is_none_or(|(_, most)| like > most) {
                        best = Some((line, like));
                    }
                }
            }
            found.extend(best);
        }
        let first = found.iter().map(|f| f.0).min()?;
        let last = found.iter().map(|f| f.0).max()?;
        let edited = found.len() < cited.len() || found.iter().any(|f| f.1 < 1.0);
        Some(there(self.path, Some((first, last)), edited))
    }

    /// Of two equal blocks a diff may report either as the removed one.
    fn stands_beside(&self, cited: &[String], hunks: &[&Hunk]) -> bool {
        let Some(now) = self.now else { return true };
        let lines: Vec<String> = now.lines().map(normal).collect();
        hunks.iter().any(|hunk| {
            let reach = (hunk.old_len + NEAR_LINES) as usize;
            let at = hunk.new_start as usize;
            let window = lines.get(at.saturating_sub(reach)..(at + reach).min(lines.len())).unwrap_or_default();
            cited.iter().all(|line| window.contains(line))
        })
    }

    fn verdict(&self, cited: &[String], hunks: &[&Hunk]) -> Located {
        let what = match self.end - self.start {
            0 => format!("line {} of `{}`", self.end, self.place.path),
            _ => format!("lines {}-{} of `{}`", self.start, self.end, self.place.path),
        };
        if hunks.iter().all(|hunk| hunk.new_len == 0) {
            return gone(format!("{what} no longer exists"));
        }
        let replaced: usize = hunks.iter().map(|hunk| hunk.old_len as usize).sum();
        let own = (self.end - self.start + 1) as usize;
        let traces = hunks
            .iter()
            .flat_map(|hunk| &hunk.added)
            .any(|new| cited.iter().any(|old| likeness(old, &normal(new)) >= UNLIKE_LINE));
        if replaced >= own + WIDE_REWRITE && !traces {
            return gone(format!("{what} was rewritten with everything around it, and nothing like it is left"));
        }
        unsure(format!("{what} was replaced by other text"))
    }
}

/// Looks for cited lines among the lines that were added elsewhere.
fn moved(cited: &[String], diffs: &[FileDiff], home: Option<&RepoPath>) -> Option<Located> {
    if cited.is_empty() {
        return None;
    }
    let needed = (cited.len() as f32 * MOVED_SHARE).ceil() as usize;
    let size: usize = cited.iter().map(String::len).sum();
    let mut compared = 0;
    let mut alike = false;
    for (path, hunk) in diffs
        .iter()
        .filter_map(|d| Some((d.new_path.as_ref()?, &d.hunks)))
        .flat_map(|(path, hunks)| hunks.iter().map(move |hunk| (path, hunk)))
    {
        let added: Vec<(u32, String)> = (hunk.new_start..).zip(hunk.added.iter().map(|line| normal(line))).collect();
        let at: Vec<u32> =
            cited.iter().filter_map(|old| added.iter().find(|(_, new)| new == old).map(|found| found.0)).collect();
        if at.len() >= needed {
            if size < TELLING {
                return Some(unsure("an equal short line was added elsewhere"));
            }
            let range = (at.iter().copied().min()?, at.iter().copied().max()?);
            return Some(there(path, Some(range), at.len() < cited.len()));
        }
        compared += added.len();
        if compared <= MOST_COMPARED && !alike {
            let near = |old: &&String| added.iter().any(|(_, new)| likeness(old, new) >= EDITED_LINE + 0.15);
            alike = cited.iter().filter(near).count() >= needed;
        }
    }
    alike.then(|| match home {
        Some(_) => unsure("something much like the removed lines was added elsewhere"),
        None => unsure("something much like the deleted file's lines was added elsewhere"),
    })
}

/// A line without its white space at the ends and with single blanks inside; `\r` is white space.
fn normal(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn telling(line: &str) -> bool {
    line.chars().filter(|c| c.is_alphanumeric()).count() >= 3
}

fn telling_lines(text: &str) -> Vec<String> {
    text.lines().map(normal).filter(|line| telling(line)).collect()
}

/// Likeness of two lines, 0 to 1.
fn likeness(one: &str, other: &str) -> f32 {
    if one == other {
        return 1.0;
    }
    let (a, b) = (one.chars().count() as f32, other.chars().count() as f32);
    // The ratio cannot exceed this, so most pairs need no comparison.
    if a + b == 0.0 || 2.0 * a.min(b) / (a + b) < UNLIKE_LINE || a.max(b) > 1_000.0 {
        return 0.0;
    }
    TextDiff::from_chars(one, other).ratio()
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;
    use similar::{Algorithm, DiffTag, capture_diff_slices};

    use super::*;

    fn path(text: &str) -> RepoPath {
        RepoPath::from_git(text)
    }

    /// Returns the diff of one file between two texts; an empty name means that it is not there.
    pub(crate) fn diff(old: (&str, &str), new: (&str, &str)) -> FileDiff {
        let (a, b): (Vec<&str>, Vec<&str>) = (old.1.lines().collect(), new.1.lines().collect());
        let own = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
        let hunks = capture_diff_slices(Algorithm::Myers, &a, &b)
            .into_iter()
            .filter(|op| op.tag() != DiffTag::Equal)
            .map(|op| {
                let (old, new) = (op.old_range(), op.new_range());
                let start = |range: &std::ops::Range<usize>| range.start as u32 + u32::from(!range.is_empty());
                Hunk {
                    old_start: start(&old),
                    old_len: old.len() as u32,
                    new_start: start(&new),
                    new_len: new.len() as u32,
                    removed: own(&a[old]),
                    added: own(&b[new]),
                }
            })
            .collect();
        let named = |name: &str| (!name.is_empty()).then(|| path(name));
        let change = match (old.0, new.0) {
            ("", _) => FileChange::Added,
            (_, "") => FileChange::Deleted,
            (a, b) if a == b => FileChange::Modified,
            _ => FileChange::Renamed,
        };
        FileDiff { change, old_path: named(old.0), new_path: named(new.0), binary: false, hunks }
    }

    fn at(file: &str, line: u32) -> Place {
        Place { path: path(file), start_line: None, line: Some(line), side: Side::Right, whole_file: false }
    }

    #[derive(Debug, PartialEq)]
    enum Is {
        At(&'static str, u32),
        Edited(&'static str, u32),
        File(&'static str),
        Gone,
        Unsure,
    }

    /// Files before and after by name, the place, what is expected.
    fn check(before: &[(&str, &str)], after: &[(&str, &str)], renames: &[(&str, &str)], place: &Place, expected: &Is) {
        let text = |files: &[(&str, &str)], name: &str| {
            files.iter().find(|(file, _)| *file == name).map(|(_, text)| (*text).to_owned())
        };
        let mut diffs = Vec::new();
        for (name, old) in before {
            let target = renames.iter().find(|(from, _)| from == name).map_or(*name, |(_, to)| *to);
            match text(after, target) {
                Some(new) if new == *old && target == *name => {}
                Some(new) => diffs.push(diff((name, old), (target, &new))),
                None => diffs.push(diff((name, old), ("", ""))),
            }
        }
        for (name, new) in after {
            if text(before, name).is_none() && renames.iter().all(|(_, to)| to != name) {
                diffs.push(diff(("", ""), (name, new)));
            }
        }
        let name = place.path.to_string();
        let found = locate(place, &diffs, text(before, &name).as_deref(), |path| text(after, &path.to_string()));
        let fits = match (&found, expected) {
            (Located::There { path, line, edited, .. }, Is::At(file, at)) => {
                path.to_string() == *file && *line == Some(*at) && !edited
            }
            (Located::There { path, line, edited, .. }, Is::Edited(file, at)) => {
                path.to_string() == *file && *line == Some(*at) && *edited
            }
            (Located::There { path, line: None, .. }, Is::File(file)) => path.to_string() == *file,
            (Located::Gone { .. }, Is::Gone) | (Located::Unsure { .. }, Is::Unsure) => true,
            _ => false,
        };
        assert!(fits, "{found:?}, not {expected:?}");
    }

    const CODE: &str = "use std::io;\n\nfn first() {\n    let list = read_list();\n    list.first().unwrap();\n}\n\nfn second() {\n    write_everything(1);\n}\n";

    #[test]
    fn fc_05_lines_above_shift_the_place() {
        let after = format!("{}{CODE}", "// new line\n".repeat(30));
        check(&[("a.rs", CODE)], &[("a.rs", &after)], &[], &at("a.rs", 5), &Is::At("a.rs", 35));
        check(&[("a.rs", CODE)], &[("a.rs", CODE)], &[], &at("a.rs", 5), &Is::At("a.rs", 5));
    }

    #[test]
    fn r14_an_edited_line_is_still_there() {
        let after = CODE.replace("list.first().unwrap()", "list.first().unwrap_or(&0)");
        check(&[("a.rs", CODE)], &[("a.rs", &after)], &[], &at("a.rs", 5), &Is::Edited("a.rs", 5));
        let spaced = CODE.replace("    list", "  list");
        check(&[("a.rs", CODE)], &[("a.rs", &spaced)], &[], &at("a.rs", 5), &Is::At("a.rs", 5));
        let crlf = CODE.replace('\n', "\r\n");
        check(&[("a.rs", CODE)], &[("a.rs", &crlf)], &[], &at("a.rs", 5), &Is::At("a.rs", 5));
    }

    #[test]
    fn r14_a_deleted_line_and_a_deleted_file_are_gone() {
        let after = CODE.replace("    list.first().unwrap();\n", "");
        check(&[("a.rs", CODE)], &[("a.rs", &after)], &[], &at("a.rs", 5), &Is::Gone);
        check(&[("a.rs", CODE)], &[], &[], &at("a.rs", 5), &Is::Gone);
        let all = Place { whole_file: true, line: None, ..at("a.rs", 1) };
        check(&[("a.rs", CODE)], &[], &[], &all, &Is::Gone);
        check(&[("a.rs", CODE)], &[("a.rs", "x\n")], &[], &all, &Is::File("a.rs"));
    }

    #[test]
    fn r14_renames_and_moved_blocks_are_followed() {
        check(&[("a.rs", CODE)], &[("b.rs", CODE)], &[("a.rs", "b.rs")], &at("a.rs", 5), &Is::At("b.rs", 5));
        let rest = CODE.replace("    let list = read_list();\n    list.first().unwrap();\n", "");
        let other = "fn third() {\n    let list = read_list();\n    list.first().unwrap();\n}\n";
        let block = Place { start_line: Some(4), ..at("a.rs", 5) };
        check(&[("a.rs", CODE)], &[("a.rs", &rest), ("b.rs", other)], &[], &block, &Is::At("b.rs", 3));
        check(&[("a.rs", CODE)], &[("b.rs", CODE)], &[], &at("a.rs", 5), &Is::At("b.rs", 5));
    }

    #[test]
    fn r14_what_cannot_be_proved_is_unsure() {
        let replaced = CODE.replace("list.first().unwrap();", "return 0;");
        check(&[("a.rs", CODE)], &[("a.rs", &replaced)], &[], &at("a.rs", 5), &Is::Unsure);
        check(&[("a.rs", CODE)], &[("a.rs", CODE)], &[], &at("b.rs", 5), &Is::Unsure);
        let twice = format!("{CODE}{CODE}");
        check(&[("a.rs", &twice)], &[("a.rs", CODE)], &[], &at("a.rs", 15), &Is::Unsure);
        let shorter = CODE.replace("}\n\nfn second", "\nfn second");
        check(&[("a.rs", CODE)], &[("a.rs", &shorter)], &[], &at("a.rs", 6), &Is::Unsure);
    }

    #[test]
    fn r14_a_wide_rewrite_without_a_trace_is_gone() {
        let old: String = (0..12).map(|n| format!("    collect_metrics_of_worker({n}, &registry);\n")).collect();
        check(&[("a.rs", &old)], &[("a.rs", "if x { y!() }\n")], &[], &at("a.rs", 6), &Is::Gone);
        let kept = format!("{}z\n", old.replace("collect", "gather").replace("&registry", "&reg"));
        check(&[("a.rs", &old)], &[("a.rs", &kept)], &[], &at("a.rs", 6), &Is::Edited("a.rs", 6));
    }

    #[test]
    fn fc_09_the_removed_side_never_points_at_a_new_line() {
        let left = Place { side: Side::Left, ..at("a.rs", 12) };
        let removed = "if list.is_empty() { return Err(Empty); }";
        let there = |diffs: &[FileDiff]| locate(&left, diffs, Some(removed), |_| None);
        let grown = diff(("a.rs", CODE), ("a.rs", &format!("// x\n{CODE}")));
        let same = Located::There { path: path("a.rs"), line: Some(12), start_line: None, edited: false };
        assert_eq!(there(&[]), same);
        assert_eq!(there(&[grown]), same);
        let back =
            diff(("a.rs", CODE), ("a.rs", &CODE.replace("fn first() {", &format!("fn first() {{\n  {removed}"))));
        assert!(matches!(there(&[back]), Located::Gone { .. }));
        assert!(matches!(there(&[diff(("a.rs", CODE), ("", ""))]), Located::Gone { .. }));
    }

    #[test]
    fn r08_a_commit_touches_what_it_changes_near_the_place() {
        let edit = |from: &str, to: &str| vec![diff(("a.rs", CODE), ("a.rs", &CODE.replace(from, to)))];
        let touched = |place: &Place, diffs: &[FileDiff], comment| touches(place, Numbering::Before, diffs, comment);
        let fix = edit(".unwrap()", ".copied()");
        assert!(touched(&at("a.rs", 5), &fix, false));
        assert!(touched(&at("a.rs", 2), &fix, false) && !touched(&at("a.rs", 9), &fix, false));
        assert!(!touched(&at("b.rs", 5), &fix, false));
        assert!(touched(&Place { whole_file: true, ..at("a.rs", 1) }, &fix, false));
        let comment = edit("fn first", "// Panics.\nfn first");
        assert!(!touched(&at("a.rs", 3), &comment, false) && touched(&at("a.rs", 3), &comment, true));
        let blank = edit("    list", "list");
        assert!(!touched(&at("a.rs", 5), &blank, false) && !touched(&at("a.rs", 5), &blank, true));
        let guard = edit("    list.first", "    if list.is_empty() { return; }\n    list.first");
        assert!(touched(&at("a.rs", 5), &guard, false));
        assert!(touched(&at("a.rs", 5), &[diff(("a.rs", CODE), ("", ""))], false));
        assert!(!touched(&at("a.rs", 5), &[diff(("a.rs", CODE), ("b.rs", CODE))], false));
        let grown = edit("use std::io;", &format!("use std::io;\n{}", "step();\n".repeat(20)));
        let after = |line| touches(&at("a.rs", line), Numbering::After, &grown, false);
        assert!(after(15) && !after(40));
    }

    #[test]
    fn r08_named_places_are_read() {
        let named = |text: &str| Place::named(text).map(|p| (p.path.to_string(), p.start_line, p.line, p.whole_file));
        assert_eq!(named("src/a.rs:10-14"), Some(("src/a.rs".to_owned(), Some(10), Some(14), false)));
        assert_eq!(named("`a.rs:3`"), Some(("a.rs".to_owned(), None, Some(3), false)));
        assert_eq!(named("a.rs"), Some(("a.rs".to_owned(), None, None, true)));
        for bad in ["", "../a.rs:3", "/etc/passwd", "a.rs:3-x", "a.rs:99999999999"] {
            assert_eq!(named(bad), None, "{bad}");
        }
    }

    #[test]
    fn r08_a_finding_about_a_comment_is_told() {
        let code = ["let a = 1;".to_owned()];
        assert!(about_comment("Fix typo in docstring", "a.py", &code));
        assert!(!about_comment("Documented limits are exceeded", "a.py", &code));
        assert!(about_comment("Says the opposite", "a.rs", &["// never fails".to_owned()]));
    }

    #[test]
    fn fc_41_a_fix_taken_away_is_told() {
        let guard = "    if list.is_empty() { return; }\n    list.first";
        let fixed = CODE.replace("    list.first", guard);
        let fix = [diff(("a.rs", CODE), ("a.rs", &fixed))];
        let place = at("a.rs", 5);
        let since = |text: &str| undone(&place, &fix, &[diff(("a.rs", &fixed), ("a.rs", text))]);
        assert_eq!(undone(&place, &fix, &[]), Undone::No);
        assert_eq!(since(CODE), Undone::Wholly);
        assert_eq!(since(&fixed.replace("return;", "return None;")), Undone::No);
        assert_eq!(since(&fixed.replace("write_everything", "write_all")), Undone::No);
        let edit = CODE.replace(".unwrap()", ".unwrap_or(&0)");
        let fix = [diff(("a.rs", CODE), ("a.rs", &edit))];
        assert_eq!(undone(&place, &fix, &[diff(("a.rs", &edit), ("a.rs", CODE))]), Undone::Wholly);
    }

    #[derive(Debug, Clone)]
    enum Edit {
        Insert(usize, u8),
        Delete(usize, u8),
    }

    fn edits() -> impl Strategy<Value = Vec<Edit>> {
        let edit = prop_oneof![
            (0usize..60, 1u8..9).prop_map(|(at, n)| Edit::Insert(at, n)),
            (0usize..60, 1u8..9).prop_map(|(at, n)| Edit::Delete(at, n)),
        ];
        prop::collection::vec(edit, 0..8)
    }

    proptest! {
        /// Lines carry a number of their own, so where each one went is known without any diff.
        #[test]
        fn r14_anchors_survive_unrelated_edits(edits in edits(), line in 1u32..=50) {
            let word = |n: usize| format!("    step_{n}_{}(context, {n});", ["alpha", "beta", "gamma", "delta"][n % 4]);
            let old: Vec<String> = (0..50).map(word).collect();
            let mut new = old.clone();
            let mut fresh = 1_000;
            for edit in edits {
                match edit {
                    Edit::Insert(at, n) => for _ in 0..n {
                        fresh += 1;
                        new.insert(at.min(new.len()), format!("{{ {} }}", "#".repeat(fresh % 40 + 3)));
                    },
                    Edit::Delete(at, n) => for _ in 0..n {
                        if at < new.len() { new.remove(at); }
                    },
                }
            }
            let (old_text, new_text) = (old.join("\n"), new.join("\n"));
            let diffs = [diff(("a.rs", &old_text), ("a.rs", &new_text))];
            let found = locate(&at("a.rs", line), &diffs, Some(&old_text), |_| Some(new_text.clone()));
            let wanted = &old[line as usize - 1];
            match (new.iter().position(|text| text == wanted), found) {
                (Some(at), Located::There { line, edited, .. }) => {
                    prop_assert_eq!(line, Some(at as u32 + 1));
                    prop_assert!(!edited);
                }
                (Some(_), other) => prop_assert!(false, "it is there, not {:?}", other),
                (None, Located::There { .. }) => prop_assert!(false, "it is gone"),
                (None, Located::Gone { .. } | Located::Unsure { .. }) => {}
            }
        }

        #[test]
        fn r14_nothing_breaks_on_odd_numbers(line in any::<u32>(), start in any::<u32>(), edits in 0u32..5) {
            let place = Place { start_line: Some(start), ..at("a.rs", line) };
            let new = "x\n".repeat(edits as usize);
            let diffs = [diff(("a.rs", CODE), ("a.rs", &new))];
            let _ = locate(&place, &diffs, Some(CODE), |_| Some(new.clone()));
            let _ = touches(&place, Numbering::After, &diffs, false);
        }
    }
}
