//! Answers kept on disk with their ETag, one file per address. Whatever is wrong with a file, it counts as absent.

use std::fs::{self, DirBuilder};
use std::io::{BufWriter, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::sync::Once;
use std::time::{Duration, SystemTime};

use camino::{Utf8Path, Utf8PathBuf};
use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::pages::Links;

const VERSION: u32 = 1;
const KEEP: Duration = Duration::from_secs(30 * 86_400);

/// What an answer belongs to: never served to another account, address or form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Key {
    /// A digest of the token.
    pub(crate) identity: String,
    /// Full address.
    pub(crate) url: String,
    /// The form asked for.
    pub(crate) accept: String,
}

impl Key {
    fn file_name(&self) -> String {
        let mut hash = Sha256::new();
        for part in [&self.identity, &self.url, &self.accept] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        }
        let hex = hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect::<String>();
        format!("{hex}.json")
    }
}

/// A kept answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Kept<T> {
    /// For a conditional request.
    pub(crate) etag: Option<String>,
    /// When it was read.
    pub(crate) at: Timestamp,
    /// The next page.
    pub(crate) next: Option<String>,
    /// The last page.
    pub(crate) last: Option<String>,
    /// What was read.
    pub(crate) value: T,
}

impl<T> Kept<T> {
    /// Returns the links of the answer.
    pub(crate) fn links(&self) -> Links {
        Links { next: self.next.clone(), last: self.last.clone() }
    }
}

#[derive(Serialize)]
struct FileOut<'a, T> {
    version: u32,
    key: &'a Key,
    kept: &'a Kept<T>,
}

#[derive(Deserialize)]
struct FileIn<T> {
    version: u32,
    key: Key,
    kept: Kept<T>,
}

/// The folder of kept answers; without a folder nothing is kept.
pub(crate) struct Cache {
    dir: Option<Utf8PathBuf>,
    tidied: Once,
}

impl Cache {
    /// Uses this folder, which need not exist yet.
    pub(crate) fn new(dir: Option<Utf8PathBuf>) -> Self {
        Self { dir, tidied: Once::new() }
    }

    /// Returns what is kept under a key.
    pub(crate) fn get<T: DeserializeOwned>(&self, key: &Key) -> Option<Kept<T>> {
        let path = self.dir.as_ref()?.join(key.file_name());
        // A slice is read several times faster than a stream.
        let found: FileIn<T> = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
        (found.version == VERSION && found.key == *key).then_some(found.kept)
    }

    /// Keeps an answer. A failure to do so only costs a later request its condition.
    pub(crate) fn put<T: Serialize>(&self, key: &Key, kept: &Kept<T>) {
        let Some(dir) = &self.dir else { return };
        self.tidied.call_once(|| tidy(dir));
        if let Err(error) = write(dir, &key.file_name(), &FileOut { version: VERSION, key, kept }) {
            tracing::debug!(%error, "an answer could not be kept");
        }
    }
}

fn write<T: Serialize>(dir: &Utf8Path, name: &str, content: &FileOut<'_, T>) -> std::io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    // Temporary files are made with mode 0600, and a rename keeps it.
    let mut out = BufWriter::new(tempfile::NamedTempFile::new_in(dir)?);
    serde_json::to_writer(&mut out, content)?;
    out.flush()?;
    let file = out.into_inner().map_err(std::io::IntoInnerError::into_error)?;
    file.persist(dir.join(name)).map_err(|error| error.error)?;
    Ok(())
}

fn tidy(dir: &Utf8Path) {
    let Ok(entries) = fs::read_dir(dir) else { return };
    let now = SystemTime::now();
    for entry in entries.flatten() {
        let old = entry.metadata().ok().and_then(|m| m.modified().ok()).and_then(|t| now.duration_since(t).ok());
        let ours = entry.file_name().to_str().is_some_and(|n| n.ends_with(".json") || n.starts_with(".tmp"));
        if ours && old.is_some_and(|age| age > KEEP) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn key(url: &str) -> Key {
        Key { identity: "a".to_owned(), url: url.to_owned(), accept: "json".to_owned() }
    }

    fn kept(value: &str) -> Kept<String> {
        let at = Timestamp::UNIX_EPOCH;
        Kept { etag: Some("W/\"1\"".to_owned()), at, next: Some("n".to_owned()), last: None, value: value.to_owned() }
    }

    #[test]
    fn fm_21_kept_answers_stay_with_their_key() {
        let dir = tempfile::tempdir().expect("a folder");
        let root = Utf8PathBuf::from_path_buf(dir.path().join("http")).expect("UTF-8");
        let cache = Cache::new(Some(root.clone()));
        assert_eq!(cache.get::<String>(&key("u")), None);
        cache.put(&key("u"), &kept("one"));
        assert_eq!(cache.get(&key("u")), Some(kept("one")));
        assert_eq!(cache.get::<String>(&key("v")), None);
        assert_eq!(cache.get::<String>(&Key { identity: "b".to_owned(), ..key("u") }), None);
        assert_eq!(cache.get::<u64>(&key("u")), None);

        let path = root.join(key("u").file_name());
        let mode = |path: &Utf8Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(&root)), (0o600, 0o700));

        fs::copy(&path, root.join(key("v").file_name())).expect("copied");
        assert_eq!(cache.get::<String>(&key("v")), None, "a file under another name is not believed");
        let whole = fs::read(&path).expect("read");
        for cut in [0, 1, whole.len() / 2, whole.len() - 1] {
            fs::write(&path, &whole[..cut]).expect("torn");
            assert_eq!(cache.get::<String>(&key("u")), None, "torn at {cut}");
        }
        cache.put(&key("u"), &kept("two"));
        assert_eq!(cache.get(&key("u")), Some(kept("two")));
    }

    #[test]
    fn without_a_folder_nothing_is_kept() {
        let cache = Cache::new(None);
        cache.put(&key("u"), &kept("one"));
        assert_eq!(cache.get::<String>(&key("u")), None);
    }
}
