//! Reads the `Link` header and knows page numbers in addresses. Follows nothing by itself.

use reqwest::Url;
use reqwest::header::HeaderMap;

/// The pages a list answer points to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Links {
    /// The next page.
    pub(crate) next: Option<String>,
    /// The last page.
    pub(crate) last: Option<String>,
}

impl Links {
    /// Reads the header of an answer; `None` when it has none.
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        let mut all = headers.get_all("link").iter().peekable();
        all.peek()?;
        let text: Vec<&str> = all.filter_map(|value| value.to_str().ok()).collect();
        Some(parse(&text.join(", ")))
    }
}

/// Parses `<target>; rel="next", <target>; rel="last"`. What does not fit is skipped.
pub(crate) fn parse(header: &str) -> Links {
    let mut links = Links::default();
    let mut rest = header;
    while let Some(start) = rest.find('<') {
        let Some(length) = rest[start + 1..].find('>') else { break };
        let target = &rest[start + 1..start + 1 + length];
        rest = &rest[start + length + 2..];
        let end = end_of_parameters(rest);
        let parameters = &rest[..end];
        rest = &rest[end..];
        for relation in relations(parameters) {
            let place = match relation.to_ascii_lowercase().as_str() {
                "next" => &mut links.next,
                "last" => &mut links.last,
                _ => continue,
            };
            place.get_or_insert_with(|| target.to_owned());
        }
    }
    links
}

fn end_of_parameters(text: &str) -> usize {
    unquoted(text, ',').next().map_or(text.len(), |at| at + 1)
}

/// Returns where a character stands outside quotes.
fn unquoted(text: &str, wanted: char) -> impl Iterator<Item = usize> {
    let mut quoted = false;
    text.char_indices().filter_map(move |(at, c)| {
        quoted ^= c == '"';
        (!quoted && c == wanted).then_some(at)
    })
}

fn relations(parameters: &str) -> impl Iterator<Item = &str> {
    let parameters = parameters.trim_end_matches(',');
    let ends = unquoted(parameters, ';').chain([parameters.len()]);
    let parts = ends.scan(0, |start, end| {
        let part = &parameters[*start..end];
        *start = end + 1;
        Some(part)
    });
    parts
        .filter_map(|part| part.split_once('='))
        .filter(|(name, _)| name.trim().eq_ignore_ascii_case("rel"))
        .flat_map(|(_, value)| value.trim().trim_matches('"').split_ascii_whitespace())
}

/// Returns the page number in an address.
pub(crate) fn page_of(url: &Url) -> Option<u32> {
    url.query_pairs().find(|(name, _)| name == "page").and_then(|(_, value)| value.parse().ok())
}

/// Returns the address with another page number, everything else as it was.
pub(crate) fn with_page(url: &Url, page: u32) -> Url {
    let query = url.query().unwrap_or_default();
    let parts: Vec<String> = query
        .split('&')
        .map(|part| if part.starts_with("page=") { format!("page={page}") } else { part.to_owned() })
        .collect();
    let mut changed = url.clone();
    changed.set_query(Some(&parts.join("&")));
    changed
}

/// Returns the address of the page that would follow, where pages are numbered.
pub(crate) fn after(url: &Url) -> Url {
    match page_of(url) {
        Some(page) => with_page(url, page.saturating_add(1)),
        None => {
            let mut next = url.clone();
            next.query_pairs_mut().append_pair("page", "2");
            next
        }
    }
}

/// Returns the addresses of the pages from `next` to `last`, where both are numbered alike.
pub(crate) fn span(next: &Url, last: Option<&Url>, most: u32) -> Vec<Url> {
    let (Some(from), Some(to)) = (page_of(next), last.and_then(page_of)) else { return vec![next.clone()] };
    if to < from || to - from >= most || last.is_some_and(|last| with_page(next, to) != *last) {
        return vec![next.clone()];
    }
    (from..=to).map(|page| with_page(next, page)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn links_are_read() {
        let check = |header: &str, next: Option<&str>, last: Option<&str>| {
            let expected = Links { next: next.map(str::to_owned), last: last.map(str::to_owned) };
            assert_eq!(parse(header), expected, "{header}");
        };
        check("", None, None);
        check(
            "<https://h/a?page=2>; rel=\"next\", <https://h/a?page=9>; rel=\"last\"",
            Some("https://h/a?page=2"),
            Some("https://h/a?page=9"),
        );
        check("<https://h/a?x=1,2&page=1>; rel=\"prev\", <b>; rel=next", Some("b"), None);
        check("<a>;title=\"x, y; rel=last\";REL=\"first NEXT\"", Some("a"), None);
        check("<a>; rel=\"next\", <b>; rel=\"next\"", Some("a"), None);
        check("<unclosed; rel=\"next\"", None, None);
        check("nonsense", None, None);
    }

    #[test]
    fn the_page_after_is_the_next_number() {
        let check = |url: &str, expected: &str| {
            assert_eq!(after(&Url::parse(url).expect("an address")).as_str(), expected);
        };
        check("https://h/x", "https://h/x?page=2");
        check("https://h/x?sort=updated&per_page=100", "https://h/x?sort=updated&per_page=100&page=2");
        check("https://h/x?per_page=100&page=9&a=b%3A", "https://h/x?per_page=100&page=10&a=b%3A");
    }

    #[test]
    fn pages_are_counted_only_where_numbered_alike() {
        let url = |text: &str| Url::parse(text).expect("an address");
        let next = url("https://h/repositories/1/x?per_page=100&page=2");
        let all = span(&next, Some(&url("https://h/repositories/1/x?per_page=100&page=4")), 100);
        assert_eq!(all.iter().filter_map(page_of).collect::<Vec<_>>(), [2, 3, 4]);
        assert_eq!(all[2].as_str(), "https://h/repositories/1/x?per_page=100&page=4");
        for last in [
            "https://h/other?per_page=100&page=4",
            "https://h/repositories/1/x?per_page=100&page=4000000",
            "https://h/x",
        ] {
            assert_eq!(span(&next, Some(&url(last)), 100), std::slice::from_ref(&next), "{last}");
        }
    }

    proptest! {
        #[test]
        fn any_header_is_survived(header in "\\PC{0,200}") {
            parse(&header);
        }

        #[test]
        fn written_links_are_read_back(
            next in "https://[a-z]{1,9}/[a-z0-9/]{0,20}(\\?[a-z0-9=&,;_]{0,30})?",
            last in "https://[a-z]{1,9}/[a-z0-9/]{0,20}",
            others in proptest::collection::vec("[a-z]{1,5}", 0..4),
            swap in any::<bool>(),
        ) {
            let mut parts = vec![format!("<{next}>; rel=\"next\""), format!("<{last}>; rel=\"last\"")];
            if swap {
                parts.swap(0, 1);
            }
            let reserved = ["next", "last"];
            parts.extend(others.iter().filter(|o| !reserved.contains(&o.as_str())).map(|o| format!("<x{o}>; rel=\"{o}\"")));
            let links = parse(&parts.join(", "));
            prop_assert_eq!(links, Links { next: Some(next), last: Some(last) });
        }
    }
}
