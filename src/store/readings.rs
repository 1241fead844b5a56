//! What comments were found to say, kept beside the state of a pull request. Whatever is wrong with the file, or whoever
//! else made it, it counts as absent: the comments are read again.

use std::io::{self, Write};

use camino::Utf8PathBuf;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::atomic::{Durable, read, replace_with};
use super::ledger::hex;
use super::{FileStore, make_dirs};
use crate::review::readings::Readings;

/// Largest file read.
const LIMIT: u64 = 256 * 1024 * 1024;

/// The first line of the file. A reading a line follows, and last a line with the hash of all that is above it.
#[derive(Serialize, Deserialize)]
struct Heading {
    /// The program that read.
    program: String,
    /// The rules by which it did.
    rules: String,
}

/// Sums up what is written.
struct Summed<'w> {
    out: &'w mut dyn Write,
    hash: Sha256,
}

impl Write for Summed<'_> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.hash.update(data);
        self.out.write_all(data)?;
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl FileStore {
    fn readings_path(&self) -> Utf8PathBuf {
        self.dir.join("readings.json")
    }

    /// Keeps what comments say, as this program read them by these rules; failing to is no failure.
    pub fn keep_readings(&self, program: &str, rules: &str, readings: &Readings) {
        let heading = Heading { program: program.to_owned(), rules: rules.to_owned() };
        let write = |out: &mut dyn Write| -> io::Result<()> {
            let mut out = Summed { out, hash: Sha256::new() };
            serde_json::to_writer(&mut out, &heading)?;
            for kept in readings.to_kept() {
                out.write_all(b"\n")?;
                serde_json::to_writer(&mut out, &kept)?;
            }
            let sum = hex(&out.hash.finalize());
            out.out.write_all(format!("\n{sum}").as_bytes())
        };
        let _ = make_dirs(&self.common_dir, &self.dir, Durable::No)
            .and_then(|()| replace_with(&self.readings_path(), Durable::No, write));
    }

    /// Returns what comments say, where the same program read them, and the rules by which it did.
    pub fn readings(&self, program: &str) -> Option<(String, Readings)> {
        let text = read(&self.readings_path(), LIMIT).ok().flatten()?;
        let end = text.iter().rposition(|byte| *byte == b'\n')?;
        let (all, sum) = (text.get(..end)?, text.get(end + 1..)?);
        let mut lines = all.split(|byte| *byte == b'\n');
        let heading: Heading = serde_json::from_slice(lines.next()?).ok()?;
        if heading.program != program || hex(&Sha256::digest(all)).as_bytes() != sum {
            return None;
        }
        let mut readings = Readings::default();
        for line in lines {
            readings.keep(serde_json::from_slice(line).ok()?);
        }
        Some((heading.rules, readings))
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
        let other = String::from_utf8(whole).expect("UTF-8").replace("\"r\"", "\"s\"");
        std::fs::write(store.readings_path(), other).expect("changed");
        assert!(store.readings("p").is_none(), "changed");
    }
}
