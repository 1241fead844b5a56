//! Reads a long list by its newest page. Decides when that is enough; a deletion or a move is not seen this way, so a
//! verdict and a new head read the list whole.

use std::collections::HashMap;
use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;

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
        let key = self.key(&format!("newer than {first}"));
        let newer = self.cache.get::<(Option<String>, Vec<T>)>(&key);
        let base = pages.first().and_then(|page| page.etag.clone());
        // What is newer counts only beside the very pages it was compared with.
        let newer = newer.filter(|kept| kept.value.0 == base);
        let condition = newer.as_ref().map_or(base.clone(), |kept| kept.etag.clone());
        let mut items = newer.map(|kept| kept.value.1).unwrap_or_default();
        let answer = self.client.json::<Vec<T>>(&Ask::get(first, condition.as_deref()))?;
        let changed = match answer {
            Got::Unchanged(_) => false,
            Got::Fresh(head, page) => {
                let Some(fresh) = fresh(&pages, &items, page) else { return self.every(path) };
                items.extend(fresh);
                if items.len() > MOST_NEWER {
                    return self.every(path);
                }
                let kept = Kept {
                    etag: head.etag,
                    at: self.client.clock().now(),
                    next: None,
                    last: None,
                    value: (base, items),
                };
                self.cache.put(&key, &kept);
                items = kept.value.1;
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

/// Returns the items of the newest page that are not known as they are; `None` when the page does not reach down to
/// what is known, so that something between could be missed. Its last item decides: times repeat within a second.
fn fresh<T: Item>(pages: &[Kept<Vec<T>>], newer: &[T], page: Vec<T>) -> Option<Vec<T>> {
    let all = pages.iter().flat_map(|page| &page.value).chain(newer);
    let mut known: HashMap<u64, Option<Timestamp>> = HashMap::new();
    for item in all {
        let at = known.entry(item.id()).or_default();
        *at = (*at).max(item.changed());
    }
    let is_known = |item: &T| known.get(&item.id()).is_some_and(|at| *at == item.changed());
    page.last().filter(|last| is_known(last))?;
    Some(page.into_iter().filter(|item| !is_known(item)).collect())
}
