//! The hidden receipt at the end of everything we post: how it is written, and when a text carries one.
//!
//! Whether a receipt counts (who wrote it, for which pull request) is decided by its readers.

use sha2::{Digest, Sha256};

use super::fence::Fences;
use super::ids::{FindingId, PrNumber, PrRef, RepoSlug, Sha};
use super::summary::WriteKind;

const OPEN: &str = "<!-- pushback:1 ";
/// What every text holds that bears a marker or a command of ours.
pub const NAME: &str = "pushback";
const CLOSE: &str = " -->";

/// Digits of a key.
pub const KEY_LEN: usize = 16;

/// A receipt: what was posted, about what, in which version, for which pull request and head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marker {
    kind: WriteKind,
    id: String,
    key: String,
    slug: RepoSlug,
    number: PrNumber,
    head: Sha,
}

impl Marker {
    /// Builds a receipt; `None` when a part could not be written without breaking out of it.
    pub fn new(kind: WriteKind, id: &str, key: &str, pr: &PrRef, head: &Sha) -> Option<Self> {
        let slug: RepoSlug = pr.slug.to_string().parse().ok()?;
        let good = marked(kind.as_str()) == Some(kind) && is_word(id) && is_key(key);
        good.then(|| Self { kind, id: id.to_owned(), key: key.to_owned(), slug, number: pr.number, head: head.clone() })
    }

    /// Returns what was posted.
    pub fn kind(&self) -> WriteKind {
        self.kind
    }

    /// Returns the finding it is about; `None` for requests and own reviews.
    pub fn finding(&self) -> Option<FindingId> {
        self.id.parse().ok()
    }

    /// Returns what it is about, as written.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the key.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Returns the head it speaks about.
    pub fn head(&self) -> &Sha {
        &self.head
    }

    /// Tells whether it was made for this pull request; the host is that of the reading.
    pub fn names(&self, pr: &PrRef) -> bool {
        self.slug.same(&pr.slug) && self.number == pr.number
    }

    /// Returns the line as posted.
    pub fn render(&self) -> String {
        let Self { kind, id, key, slug, number, head } = self;
        format!("{OPEN}{} {id} k={key} pr={slug}#{number} head={head}{CLOSE}", kind.as_str())
    }

    /// Reads one line, which must be exactly a receipt.
    pub fn from_line(line: &str) -> Option<Self> {
        let inner = line.strip_prefix(OPEN)?.strip_suffix(CLOSE)?;
        let words: Vec<&str> = inner.split(' ').collect();
        let [kind, id, key, pr, head] = words.as_slice() else { return None };
        let (slug, number) = pr.strip_prefix("pr=")?.rsplit_once('#')?;
        let kind = marked(kind)?;
        let slug = slug.parse().ok()?;
        let number = PrNumber(number.parse().ok()?);
        let (key, head) = (key.strip_prefix("k=")?, Sha::parse(head.strip_prefix("head=")?).ok()?);
        let found = Self { kind, id: (*id).to_owned(), key: key.to_owned(), slug, number, head };
        (is_word(id) && is_key(key) && found.render() == line).then_some(found)
    }
}

/// Returns the key of one text about one version of a finding.
pub fn key(kind: WriteKind, id: &str, version: &str) -> String {
    let mut hash = Sha256::new();
    for part in [kind.as_str(), id, version] {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    hex(&hash.finalize())[..KEY_LEN].to_owned()
}

/// Returns bytes as lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().flat_map(|b| [b >> 4, b & 15]).filter_map(|d| char::from_digit(u32::from(d), 16)).collect()
}

/// Reads the receipt in the last line of a text, and nowhere else.
pub fn parse(body: &str) -> Option<Marker> {
    parse_all(body).pop()
}

/// Reads the receipts at the very end of a text: one for each finding that it answers, in their order.
pub fn parse_all(body: &str) -> Vec<Marker> {
    let lines: Vec<&str> = body.trim_end().lines().collect();
    let mut found: Vec<Marker> = lines.iter().rev().map_while(|line| Marker::from_line(line)).collect();
    found.reverse();
    let mut fences = Fences::default();
    for line in &lines[..lines.len() - found.len()] {
        fences.feed(line);
    }
    if fences.open() { Vec::new() } else { found }
}

/// Returns the kind whose word stands in a receipt; descriptions, resolutions and the like leave none.
fn marked(word: &str) -> Option<WriteKind> {
    use WriteKind::{Answer, Argue, Defer, Fixed, Request, Review, Stale};
    [Argue, Stale, Defer, Fixed, Answer, Request, Review].into_iter().find(|kind| kind.as_str() == word)
}

fn is_word(id: &str) -> bool {
    let good = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_');
    (1..=100).contains(&id.len()) && id.bytes().all(|b| good(b) || b == b'-') && !id.starts_with('-')
}

/// Tells whether a text is a key.
pub(crate) fn is_key(text: &str) -> bool {
    text.len() == KEY_LEN && text.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pr() -> PrRef {
        PrRef { host: "github.com".into(), slug: "o/r".parse().expect("slug"), number: PrNumber(7) }
    }

    fn head() -> Sha {
        Sha::parse(&"a1".repeat(20)).expect("sha")
    }

    fn good() -> String {
        format!("<!-- pushback:1 argue c12 k=0123456789abcdef pr=o/r#7 head={} -->", head())
    }

    fn check(body: &str, expected: usize) {
        assert_eq!(parse_all(body).len(), expected, "{body}");
    }

    #[test]
    fn r23_a_receipt_is_the_last_line_and_exact() {
        let good = good();
        let marker = parse(&format!("Some reason.\n\n{good}")).expect("a marker");
        assert_eq!(marker.render(), good);
        assert_eq!(marker.finding(), Some(FindingId::Inline(12)));
        assert!(marker.names(&pr()));
        check(&good, 1);
        check(&format!("x\r\n\r\n{good}\r\n"), 1);
        check(&format!("x\n{good}\n{good}"), 2);
        check(&format!("{good}\nand more"), 0);
        check(&format!("> {good}"), 0);
        check(&format!("x {good}"), 0);
        check(&format!("  {good}"), 0);
        check(&format!("```\n{good}"), 0);
        check(&format!("```\ncode\n```\n{good}"), 1);
        check(&good.replace("argue", "describe"), 0);
        check(&good.replace("argue", "ARGUE"), 0);
        check(&good.replace("pushback:1", "pushback:2"), 0);
        check(&good.replace("k=0", "k=G"), 0);
        check(&good.replace("#7", "#07"), 0);
        check(&good.replace("#7", "#-7"), 0);
        check(&good.replace(" c12", "  c12"), 0);
        check("", 0);
        check("\n\n", 0);
    }

    #[test]
    fn fm_42_a_receipt_of_another_pull_request_is_told_apart() {
        let other = parse(&good().replace("o/r#7", "o/r#8")).expect("a marker");
        assert!(!other.names(&pr()));
        let twin = parse(&good().replace("o/r#7", "O/R#7")).expect("a marker");
        assert!(twin.names(&pr()));
    }

    #[test]
    fn keys_tell_kind_id_and_version_apart() {
        let all = [
            key(WriteKind::Argue, "c1", "h"),
            key(WriteKind::Fixed, "c1", "h"),
            key(WriteKind::Argue, "c2", "h"),
            key(WriteKind::Argue, "c1", "i"),
            key(WriteKind::Argue, "c1h", ""),
        ];
        let set: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!(set.len(), all.len());
        assert!(all.iter().all(|key| is_key(key)));
    }

    proptest! {
        #[test]
        fn what_is_rendered_is_read_back(id in "(c[0-9]{1,9}|[ri][0-9]{1,9}\\.[0-9]{1,3}|codex|a-b_c)", version in ".*",
                                         number in 0_u64..1_000_000) {
            let pr = PrRef { number: PrNumber(number), ..pr() };
            let key = key(WriteKind::Argue, &id, &version);
            let marker = Marker::new(WriteKind::Argue, &id, &key, &pr, &head()).expect("good parts");
            prop_assert_eq!(parse(&format!("text\n\n{}", marker.render())), Some(marker));
        }

        #[test]
        fn no_input_breaks_out(id in ".*", key in ".*", owner in ".*", name in ".*") {
            let pr = PrRef { slug: RepoSlug { owner, name }, ..pr() };
            if let Some(marker) = Marker::new(WriteKind::Stale, &id, &key, &pr, &head()) {
                let line = marker.render();
                prop_assert_eq!(line.lines().count(), 1);
                prop_assert_eq!(line.matches("-->").count(), 1);
                prop_assert_eq!(Marker::from_line(&line), Some(marker));
            }
        }

        #[test]
        fn reading_never_fails(body in "(?s).*") {
            for marker in parse_all(&body) {
                prop_assert!(body.contains(&marker.render()));
            }
        }
    }
}
