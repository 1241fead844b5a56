//! What comments were found to say, kept beside the state of a pull request. Whatever is wrong with the file, or whoever
//! else made it, it counts as absent: the comments are read again.

use camino::Utf8PathBuf;
use serde::{Deserialize, Serialize};

use super::atomic::{Durable, read, replace};
use super::{FileStore, content_hash, make_dirs};
use crate::review::readings::{KeptReading, Readings};

/// Largest file read.
const LIMIT: u64 = 256 * 1024 * 1024;

/// The first line of the file.
#[derive(Serialize, Deserialize)]
struct Heading {
    /// The program that read.
    program: String,
    /// The rules by which it did.
    rules: String,
    /// Hash of the rest.
    sum: String,
}

impl FileStore {
    fn readings_path(&self) -> Utf8PathBuf {
        self.dir.join("readings.json")
    }

    /// Keeps what comments say, as this program read them by these rules; failing to is no failure.
    pub fn keep_readings(&self, program: &str, rules: &str, readings: &Readings) {
        let Ok(rest) = serde_json::to_vec(&readings.to_kept()) else { return };
        let (program, rules) = (program.to_owned(), rules.to_owned());
        let heading = Heading { program, rules, sum: content_hash(&rest) };
        let Ok(mut text) = serde_json::to_vec(&heading) else { return };
        text.push(b'\n');
        text.extend(rest);
        let _ = make_dirs(&self.common_dir, &self.dir, Durable::No)
            .and_then(|()| replace(&self.readings_path(), &text, Durable::No));
    }

    /// Returns what comments say, where the same program read them, and the rules by which it did.
    pub fn readings(&self, program: &str) -> Option<(String, Readings)> {
        let text = read(&self.readings_path(), LIMIT).ok().flatten()?;
        let end = text.iter().position(|byte| *byte == b'\n')?;
        let (heading, rest) = (text.get(..end)?, text.get(end + 1..)?);
        let heading: Heading = serde_json::from_slice(heading).ok()?;
        let ours = heading.program == program && heading.sum == content_hash(rest);
        let kept: Vec<KeptReading> = ours.then(|| serde_json::from_slice(rest).ok())??;
        Some((heading.rules, Readings::from_kept(kept)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::review::ids::{PrNumber, PrRef};

    #[test]
    fn readings_of_another_program_or_broken_ones_are_absent() {
        let temp = tempfile::tempdir().expect("a folder");
        let root = Utf8PathBuf::from_path_buf(temp.path().canonicalize().expect("a path")).expect("UTF-8");
        let slug = "o/r".parse().expect("a repository");
        let pr = PrRef { host: "h".to_owned(), slug, number: PrNumber(7) };
        let store = FileStore::new(&root, &root, pr, "test").expect("a store");
        assert!(store.readings("p").is_none());
        store.keep_readings("p", "r", &Readings::default());
        assert_eq!(store.readings("p").map(|(rules, _)| rules).as_deref(), Some("r"));
        assert!(store.readings("q").is_none());
        let whole = std::fs::read(store.readings_path()).expect("it is there");
        for cut in 0..whole.len() {
            std::fs::write(store.readings_path(), &whole[..cut]).expect("torn");
            assert!(store.readings("p").is_none(), "torn at {cut}");
        }
        let other = String::from_utf8(whole).expect("UTF-8").replace("[]", "[ ]");
        std::fs::write(store.readings_path(), other).expect("changed");
        assert!(store.readings("p").is_none(), "changed");
    }
}
