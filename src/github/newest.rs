//! Reads a long list by its newest page. Decides when that is enough; a deletion or a move is not seen this way, so a
//! verdict and a new head read the list whole.

use std::collections::HashMap;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::client::{Ask, Got};
use super::etag::Kept;
use super::fault::Fault;
use super::rest::{Api, Seen};
use super::wire::Item;

/// Lists up to this many pages are asked whole: that is one round trip of conditional requests.
const SHORT: usize = 8;
const WHOLE_AGE: Duration = Duration::from_secs(600);
const MOST_NEWER: usize = 300;

/// A list, and whether only its newest page was asked.
pub(crate) struct Newest<T> {
    /// All items that are known now.
    pub(crate) list: Seen<Vec<Vec<T>>>,
    /// True when the rest was taken from the last whole reading.
    pub(crate) by_newest: bool,
}

/// What was seen on the newest page since the last whole reading.
#[derive(Serialize, Deserialize)]
struct Newer<T> {
    /// ETag of the first page at the whole reading.
    base: Option<String>,
    /// ETag of the newest page.
    etag: Option<String>,
    items: Vec<T>,
}

impl Api {
    /// Reads a list that is sorted by last change, newest first.
    pub(crate) fn newest<T>(&self, path: &str) -> Result<Newest<T>, Fault>
    where
        T: Item + Serialize + DeserializeOwned + PartialEq + Send,
    {
        let first = self.url(path)?;
        let chain = self.known_chain::<Vec<T>>(&first);
        let whole: Option<Vec<Kept<Vec<T>>>> = match chain.last() {
            Some((_, Some(last))) if chain.len() > SHORT && last.next.is_none() && self.read_whole_lately(path) => {
                chain.into_iter().map(|(_, kept)| kept).collect()
            }
            _ => return self.every(path),
        };
        let Some(pages) = whole else { return self.every(path) };
        let base = pages.first().and_then(|page| page.etag.clone());
        let newer = self.kept::<Option<Newer<T>>>(&newer_name(path), WHOLE_AGE).flatten();
        // What is newer counts only beside the very pages it was compared with.
        let newer = newer.filter(|newer| newer.base == base);
        let condition = newer.as_ref().map_or(base.clone(), |newer| newer.etag.clone());
        let mut items = newer.map(|newer| newer.items).unwrap_or_default();
        let answer = self.client.json::<Vec<T>>(&Ask::get(first, condition.as_deref()))?;
        let changed = match answer {
            Got::Unchanged(_) => false,
            Got::Fresh(head, page) => {
                let Some(fresh) = fresh(&pages, &items, page) else { return self.every(path) };
                items.extend(fresh);
                if items.len() > MOST_NEWER {
                    return self.every(path);
                }
                let newer = Newer { base, etag: head.etag, items };
                self.keep(&newer_name(path), Some(&newer));
                items = newer.items;
                true
            }
        };
        let mut value: Vec<Vec<T>> = pages.into_iter().map(|page| page.value).collect();
        value.push(items);
        Ok(Newest { list: Seen { value, changed }, by_newest: true })
    }

    /// Reads the list whole, whatever is known.
    pub(crate) fn every<T>(&self, path: &str) -> Result<Newest<T>, Fault>
    where
        T: Item + Serialize + DeserializeOwned + PartialEq + Send,
    {
        let list = self.list::<Vec<T>>(path)?;
        if list.value.len() > SHORT {
            self.keep(&whole_name(path), ());
            // A whole reading ends what was only known to be newer: some of it may be gone.
            self.keep(&newer_name(path), None::<Newer<T>>);
        }
        Ok(Newest { list, by_newest: false })
    }

    fn read_whole_lately(&self, path: &str) -> bool {
        self.kept::<()>(&whole_name(path), WHOLE_AGE).is_some()
    }
}

fn whole_name(path: &str) -> String {
    format!("whole {path}")
}

fn newer_name(path: &str) -> String {
    format!("newer {path}")
}

/// Returns the items of the newest page that are not known as they are; `None` when the page does not reach down to
/// what is known, so that something between could be missed. Its last item decides: times repeat within a second.
fn fresh<T: Item + PartialEq>(pages: &[Kept<Vec<T>>], newer: &[T], page: Vec<T>) -> Option<Vec<T>> {
    let all = pages.iter().flat_map(|page| &page.value).chain(newer);
    // The later form of an item replaces the earlier one.
    let known: HashMap<u64, &T> = all.map(|item| (item.id(), item)).collect();
    let is_known = |item: &T| known.get(&item.id()).is_some_and(|known| *known == item);
    page.last().filter(|last| is_known(last))?;
    Some(page.into_iter().filter(|item| !is_known(item)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    struct Thing(u64, char);

    impl Item for Thing {
        fn id(&self) -> u64 {
            self.0
        }
        fn changed(&self) -> Option<jiff::Timestamp> {
            None
        }
    }

    #[test]
    fn the_newest_page_must_reach_down_to_what_is_known() {
        let kept = |value| Kept { etag: None, at: jiff::Timestamp::UNIX_EPOCH, next: None, last: None, value };
        let pages = [kept(vec![Thing(3, 'a'), Thing(2, 'a')]), kept(vec![Thing(1, 'a')])];
        let newer = [Thing(4, 'a'), Thing(2, 'b')];
        let check = |page: &[Thing], expected: Option<&[Thing]>| {
            assert_eq!(fresh(&pages, &newer, page.to_vec()).as_deref(), expected, "{page:?}");
        };
        check(&[Thing(5, 'a'), Thing(4, 'a')], Some(&[Thing(5, 'a')]));
        check(&[Thing(3, 'b'), Thing(4, 'a'), Thing(2, 'b')], Some(&[Thing(3, 'b')]));
        check(&[Thing(4, 'a'), Thing(2, 'a')], None);
        check(&[Thing(6, 'a'), Thing(5, 'a')], None);
        check(&[], None);
    }
}
