//! Whether a round's commit touches the place of a finding, or another place that its answer names.

use crate::review::anchor::{self, Numbering, Place, about_comment};
use crate::review::comment::Side;
use crate::review::diff::FileDiff;
use crate::review::ids::RepoPath;
use crate::review::summary::Entry;

/// Tells where a commit touches what a finding is about; else says why it does not.
pub fn touches(entry: &Entry, places: &[String], diff: &[FileDiff]) -> Result<String, String> {
    if diff.is_empty() {
        return Err("it was answered with `fix`, but the commit changes nothing".to_owned());
    }
    let finding = &entry.finding;
    let about = about_comment(&finding.title, finding.path.as_deref().unwrap_or_default(), &[]);
    let cited = cited(entry);
    if let Some(place) = cited.as_ref().filter(|place| anchor::touches(place, Numbering::Before, diff, about)) {
        return Ok(shown(place));
    }
    let mut named = places.iter().filter_map(|text| Place::named(text));
    if let Some(place) = named.find(|place| anchor::touches(place, Numbering::After, diff, about)) {
        return Ok(shown(&place));
    }
    match cited {
        Some(place) => Err(format!(
            "it was answered with `fix`, but the commit touches neither {} nor another place that the answer names \
             (white space and comments do not count)",
            shown(&place)
        )),
        None if places.is_empty() => anywhere(diff, about),
        None => {
            Err("it was answered with `fix`, but the commit touches none of the places that the answer names"
                .to_owned())
        }
    }
}

/// Returns the place a finding cites, at the head the editor was given.
fn cited(entry: &Entry) -> Option<Place> {
    let finding = &entry.finding;
    let path = RepoPath::from_outside(finding.path.as_deref()?).ok()?;
    let side = finding.side.unwrap_or(Side::Right);
    Some(Place { path, start_line: entry.start_line, line: finding.line, side, whole_file: entry.whole_file })
}

/// A finding without a place is touched by any change that is one.
fn anywhere(diff: &[FileDiff], about: bool) -> Result<String, String> {
    let files = diff.iter().filter_map(|file| file.new_path.clone().or_else(|| file.old_path.clone()));
    let whole = |path| Place { path, start_line: None, line: None, side: Side::Right, whole_file: true };
    let found = files.map(whole).find(|place| anchor::touches(place, Numbering::After, diff, about));
    found
        .map(|place| shown(&place))
        .ok_or_else(|| "it was answered with `fix`, but the commit changes only white space or comments".to_owned())
}

fn shown(place: &Place) -> String {
    match (place.start_line, place.line) {
        (Some(from), Some(to)) if from != to => format!("{}:{from}-{to}", place.path),
        (_, Some(line)) => format!("{}:{line}", place.path),
        (_, None) => place.path.to_string(),
    }
}
