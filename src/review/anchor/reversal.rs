//! Whether a round's change takes a region back to what it was before an earlier fix (R21).

use similar::TextDiff;

use super::touch::{concerns, near, substantial};
use super::{LONGEST, Mapped, NEAR_LINES, Numbering, Place, map_line, normal};
use crate::review::diff::{FileDiff, Hunk};

/// From this likeness on, a text is the former one.
const FORMER: f32 = 0.9;

/// Tells whether a change takes a region of a fix back to its old form.
///
/// `fix` is the diff of the commit that fixed the place, `between` leads from that commit to the tree the round began with,
/// `round` from there to what the round left. The old form must be nearer than the fixed one, for small fixes are alike both.
pub fn reverses(place: &Place, fix: &[FileDiff], between: &[FileDiff], round: &[FileDiff]) -> bool {
    let all: Vec<(&FileDiff, &Hunk)> = fix
        .iter()
        .flat_map(|diff| diff.hunks.iter().map(move |hunk| (diff, hunk)))
        .filter(|(diff, hunk)| substantial(&name(diff), hunk, false))
        .collect();
    let at = |(diff, hunk): &&(&FileDiff, &Hunk)| {
        concerns(place, Numbering::Before, diff) && near(place, Numbering::Before, hunk)
    };
    let here: Vec<_> = all.iter().filter(at).copied().collect();
    let asked = if here.is_empty() { all } else { here };
    asked.iter().any(|(diff, hunk)| goes_back(diff, hunk, between, round))
}

fn name(diff: &FileDiff) -> String {
    diff.new_path.as_ref().or(diff.old_path.as_ref()).map(ToString::to_string).unwrap_or_default()
}

fn goes_back(diff: &FileDiff, hunk: &Hunk, between: &[FileDiff], round: &[FileDiff]) -> bool {
    let Some(path) = &diff.new_path else {
        // The fix deleted the file.
        return round.iter().any(|later| later.old_path.is_none() && later.new_path == diff.old_path);
    };
    let later = between.iter().find(|file| file.old_path.as_ref() == Some(path));
    let Some(path) = later.map_or(Some(path), |file| file.new_path.as_ref()) else { return false };
    let none = Vec::new();
    let moved = later.map_or(&none, |file| &file.hunks);
    let Some(change) = round.iter().find(|file| file.old_path.as_ref() == Some(path) && !file.binary) else {
        return false;
    };
    let (old, fixed) = (text(&hunk.removed), text(&hunk.added));
    let now = if hunk.new_len == 0 {
        let Mapped::Kept(line) = map_line(moved, hunk.new_start.max(1)) else { return false };
        beside(change, line, hunk.removed.len())
    } else {
        let Some(lines) = region(hunk, moved) else { return false };
        within(change, &lines, hunk.removed.len())
    };
    now.iter().any(|now| {
        if old.is_empty() {
            now.is_empty()
        } else {
            alike(now, &old) >= FORMER && alike(now, &old) > alike(now, &fixed)
        }
    })
}

/// The fixed lines as they stand where the round begins; `None` when something else stands there by now.
fn region(hunk: &Hunk, moved: &[Hunk]) -> Option<Vec<(u32, String)>> {
    if hunk.new_len > LONGEST {
        return None;
    }
    let lines = (hunk.new_start..).zip(&hunk.added).map(|(line, text)| match map_line(moved, line) {
        Mapped::Kept(now) => Some((now, text.clone())),
        Mapped::Removed(_) => None,
    });
    lines.collect()
}

/// What the round made of these lines: as a whole, and every run of added lines as long as the old form.
fn within(change: &FileDiff, lines: &[(u32, String)], long: usize) -> Vec<String> {
    let (Some((first, _)), Some((last, _))) = (lines.first(), lines.last()) else { return Vec::new() };
    let touches = |hunk: &&Hunk| {
        let (from, to) = span(hunk);
        from <= *last && to >= *first
    };
    let hunks: Vec<&Hunk> = change.hunks.iter().filter(touches).collect();
    if hunks.is_empty() {
        return Vec::new();
    }
    let mut now: Vec<String> = Vec::new();
    let mut told: Vec<u32> = Vec::new();
    for (line, text) in lines {
        let hit = hunks.iter().find(|hunk| {
            let (from, to) = span(hunk);
            from <= *line && *line <= to
        });
        match hit {
            Some(hunk) if told.contains(&hunk.new_start) => {}
            Some(hunk) => {
                told.push(hunk.new_start);
                now.extend(hunk.added.iter().cloned());
                if hunk.old_len == 0 {
                    now.push(text.clone());
                }
            }
            None => now.push(text.clone()),
        }
    }
    let mut all = vec![text(&now)];
    all.extend(runs(&hunks, long));
    all
}

/// What the round added close to where the fix had removed something.
fn beside(change: &FileDiff, line: u32, long: usize) -> Vec<String> {
    let close = |hunk: &&Hunk| {
        let (from, to) = span(hunk);
        from <= line.saturating_add(NEAR_LINES) && to.saturating_add(NEAR_LINES) >= line
    };
    let hunks: Vec<&Hunk> = change.hunks.iter().filter(close).collect();
    runs(&hunks, long)
}

/// First and last line a hunk removes; for an insertion, the line before it.
fn span(hunk: &Hunk) -> (u32, u32) {
    (hunk.old_start, hunk.old_start + hunk.old_len.max(1) - 1)
}

fn runs(hunks: &[&Hunk], long: usize) -> Vec<String> {
    if long == 0 {
        return Vec::new();
    }
    hunks.iter().flat_map(|hunk| hunk.added.windows(long).map(text)).collect()
}

fn text(lines: &[String]) -> String {
    lines.iter().map(|line| normal(line)).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

fn alike(one: &str, other: &str) -> f32 {
    if one.len() + other.len() > 4_000 {
        return TextDiff::from_words(one, other).ratio();
    }
    TextDiff::from_chars(one, other).ratio()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::review::diff::FileChange;
    use crate::review::ids::RepoPath;
    use proptest::prelude::*;
    use similar::DiffOp;

    fn diff(before: &str, after: &str) -> Vec<FileDiff> {
        let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
        let n = |n: usize| u32::try_from(n).expect("small");
        let start = |range: &std::ops::Range<usize>| if range.is_empty() { n(range.start) } else { n(range.start + 1) };
        let own = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
        let ops = TextDiff::from_slices(&old, &new);
        let hunks: Vec<Hunk> = ops
            .ops()
            .iter()
            .filter(|op| !matches!(op, DiffOp::Equal { .. }))
            .map(|op| {
                let (o, w) = (op.old_range(), op.new_range());
                Hunk {
                    old_start: start(&o),
                    old_len: n(o.len()),
                    new_start: start(&w),
                    new_len: n(w.len()),
                    removed: own(&old[o.clone()]),
                    added: own(&new[w]),
                }
            })
            .collect();
        if hunks.is_empty() {
            return Vec::new();
        }
        let path = Some(RepoPath::from_git("src/a.rs"));
        vec![FileDiff { change: FileChange::Modified, old_path: path.clone(), new_path: path, binary: false, hunks }]
    }

    fn check(before: &str, fixed: &str, start: &str, end: &str, expected: bool) {
        let place = Place::named("src/a.rs:3").expect("a place");
        let got = reverses(&place, &diff(before, fixed), &diff(fixed, start), &diff(start, end));
        assert_eq!(got, expected, "{before:?} fixed as {fixed:?}, then {start:?} became {end:?}");
    }

    const A: &str = "use std;\nfn total() {\n    let rate = 0;\n    rate * price\n}\n";
    const B: &str = "use std;\nfn total() {\n    let rate = fee();\n    rate * price\n}\n";

    #[test]
    fn r21_a_region_that_goes_back_to_its_old_form_is_a_reversal() {
        check(A, B, B, A, true);
        check(A, B, B, &B.replace("fee()", "fee(7)"), false);
        check(A, B, B, &B.replace("price", "cost"), false);
        check(A, B, B, &A.replace("let rate = 0;", "let  rate = 0 ;"), true);
        // The file went on meanwhile; the region moved.
        let later = format!("// one\n// two\n{}", B.replace("use std;", "use std::num;"));
        check(A, B, &later, &later.replace("fee()", "0"), true);
        check(A, B, &later, &later.replace("// one", "// three"), false);
    }

    #[test]
    fn r21_a_guard_that_goes_or_a_removed_line_that_comes_back_is_a_reversal() {
        let guarded = A.replace("    let rate", "    if price < 0 {\n        return 0;\n    }\n    let rate");
        check(A, &guarded, &guarded, A, true);
        check(A, &guarded, &guarded, &guarded.replace("< 0", "<= 0"), false);
        let without = A.replace("    let rate = 0;\n", "");
        check(A, &without, &without, A, true);
        check(A, &without, &without, &without.replace("}\n", "}\nfn other() {}\n"), false);
    }

    #[test]
    fn r21_a_small_fix_is_not_taken_back_by_another_small_change() {
        let long = "    let message = \"the price of this item could not be computed from its rate\";\n";
        let old = A.replace("    let rate = 0;\n", long);
        let fixed = old.replace("could not", "cannot");
        check(&old, &fixed, &fixed, &fixed.replace("this item", "an item"), false);
        check(&old, &fixed, &fixed, &old, true);
    }

    proptest! {
        #[test]
        fn r21_taking_a_fix_back_is_always_found(
            lines in proptest::collection::vec("[a-z]{4,9} = [a-z]{4,9};", 3..12), at in 0usize..12, new in "[A-Z]{6,20} \\+ [A-Z]{6,20}",
        ) {
            let at = at % lines.len();
            let mut fixed = lines.clone();
            fixed[at] = new;
            let (before, fixed) = (lines.join("\n"), fixed.join("\n"));
            let place = Place::named(&format!("src/a.rs:{}", at + 1)).expect("a place");
            prop_assert!(reverses(&place, &diff(&before, &fixed), &[], &diff(&fixed, &before)));
            prop_assert!(!reverses(&place, &diff(&before, &fixed), &[], &[]));
        }
    }
}
