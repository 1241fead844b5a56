//! Keeps the beginning and the end of an endless output in constant memory. Decides what of it is kept, not what it means.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};

/// Longest line that is passed on for display.
pub(super) const LINE: usize = 2048;

/// A file that takes the first `head` bytes at once and the last `tail` bytes at the end.
#[derive(Debug)]
pub(super) struct Capture {
    file: File,
    head_left: usize,
    ring: Vec<u8>,
    tail: usize,
    at: usize,
    beyond: u64,
    failed: bool,
}

impl Capture {
    /// Starts a capture into an empty file.
    pub(super) fn new(file: File, head: usize, tail: usize) -> Self {
        Self { file, head_left: head, ring: Vec::new(), tail, at: 0, beyond: 0, failed: false }
    }

    /// Takes output. A full disk must not stop the program that writes, so a failure is only remembered.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let (head, rest) = bytes.split_at(bytes.len().min(self.head_left));
        if !head.is_empty() {
            self.failed |= self.file.write_all(head).is_err();
            self.head_left -= head.len();
        }
        self.beyond += rest.len() as u64;
        let mut rest = if rest.len() > self.tail { &rest[rest.len() - self.tail..] } else { rest };
        while !rest.is_empty() && self.tail > 0 {
            if self.ring.len() < self.tail {
                let (fits, left) = rest.split_at(rest.len().min(self.tail - self.ring.len()));
                self.ring.extend_from_slice(fits);
                rest = left;
            } else {
                let (fits, left) = rest.split_at(rest.len().min(self.tail - self.at));
                self.ring[self.at..self.at + fits.len()].copy_from_slice(fits);
                self.at = (self.at + fits.len()) % self.tail;
                rest = left;
            }
        }
    }

    /// Writes the end, with a mark where something was left out. Returns how many bytes were, and whether all else is on disk.
    pub(super) fn finish(&mut self) -> (u64, bool) {
        let cut = self.beyond - self.ring.len() as u64;
        let (newer, older) = self.ring.split_at(self.at.min(self.ring.len()));
        let wrote = (|| -> io::Result<()> {
            self.file.seek(SeekFrom::End(0))?;
            if cut > 0 {
                write!(self.file, "\n[... {cut} bytes left out ...]\n")?;
            }
            self.file.write_all(older)?;
            self.file.write_all(newer)?;
            self.file.flush()
        })();
        self.ring = Vec::new();
        (self.beyond, self.at) = (0, 0);
        (cut, wrote.is_ok() && !self.failed)
    }
}

/// Cuts a stream into lines for display: long lines lose their end, floods lose their middle.
#[derive(Debug, Default)]
pub(super) struct Lines {
    line: Vec<u8>,
    skipping: bool,
}

impl Lines {
    /// Takes output and passes on every line that became complete.
    pub(super) fn push(&mut self, mut bytes: &[u8], mut each: impl FnMut(&str)) {
        if bytes.len() > 8 * LINE {
            // Nobody reads a flood; only its end is shown.
            bytes = &bytes[bytes.len() - LINE..];
            self.line.clear();
            self.skipping = true;
        }
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (text, ended) = match piece.strip_suffix(b"\n") {
                Some(text) => (text, true),
                None => (piece, false),
            };
            if !self.skipping {
                self.line.extend_from_slice(&text[..text.len().min(LINE - self.line.len())]);
            }
            if ended {
                if !self.skipping {
                    each(String::from_utf8_lossy(&self.line).trim_end_matches('\r'));
                }
                self.line.clear();
                self.skipping = false;
            }
        }
    }
}

/// Finds a word in a stream although it may be cut between two readings.
#[derive(Debug)]
pub(super) struct Watch {
    word: Vec<u8>,
    kept: Vec<u8>,
}

impl Watch {
    /// Starts to look for a word.
    pub(super) fn new(word: &str) -> Self {
        Self { word: word.as_bytes().to_vec(), kept: Vec::new() }
    }

    /// Takes output; tells whether the word has just been completed in it.
    pub(super) fn push(&mut self, bytes: &[u8]) -> bool {
        if self.word.is_empty() {
            return false;
        }
        self.kept.extend_from_slice(bytes);
        let found = self.kept.windows(self.word.len()).any(|window| window == self.word);
        let keep = self.kept.len().min(self.word.len() - 1);
        self.kept.drain(..self.kept.len() - keep);
        found
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Seek, SeekFrom};

    use proptest::prelude::*;

    use super::*;

    fn captured(chunks: &[Vec<u8>], head: usize, tail: usize) -> (Vec<u8>, u64) {
        let file = tempfile::tempfile().unwrap();
        let mut reader = file.try_clone().unwrap();
        let mut capture = Capture::new(file, head, tail);
        for chunk in chunks {
            capture.push(chunk);
        }
        let (cut, whole) = capture.finish();
        assert!(whole);
        let mut text = Vec::new();
        reader.seek(SeekFrom::Start(0)).unwrap();
        reader.read_to_end(&mut text).unwrap();
        (text, cut)
    }

    proptest! {
        #[test]
        fn a_capture_is_the_head_and_the_tail(
            chunks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 0..20),
            head in 0usize..60,
            tail in 0usize..60,
        ) {
            let all: Vec<u8> = chunks.concat();
            let (text, cut) = captured(&chunks, head, tail);
            if all.len() <= head + tail {
                prop_assert_eq!(cut, 0);
                prop_assert_eq!(text, all);
            } else {
                let left_out = all.len() - head - tail;
                prop_assert_eq!(cut, left_out as u64);
                let mut wanted = all[..head].to_vec();
                wanted.extend_from_slice(format!("\n[... {left_out} bytes left out ...]\n").as_bytes());
                wanted.extend_from_slice(&all[all.len() - tail..]);
                prop_assert_eq!(text, wanted);
            }
        }

        #[test]
        fn lines_do_not_depend_on_how_they_arrive(text in "[a-c\n]{0,80}", cuts in proptest::collection::vec(1usize..9, 1..20)) {
            let (mut whole, mut pieces) = (Vec::new(), Vec::new());
            Lines::default().push(text.as_bytes(), |line| whole.push(line.to_owned()));
            let (mut lines, mut rest) = (Lines::default(), text.as_bytes());
            for cut in cuts.iter().cycle() {
                if rest.is_empty() { break; }
                let (now, later) = rest.split_at((*cut).min(rest.len()));
                lines.push(now, |line| pieces.push(line.to_owned()));
                rest = later;
            }
            prop_assert_eq!(whole, pieces);
        }

        #[test]
        fn a_watch_finds_what_is_there(text in "[ab]{0,40}", word in "[ab]{1,4}", cut in 1usize..5) {
            let mut watch = Watch::new(&word);
            let found = text.as_bytes().chunks(cut).any(|chunk| watch.push(chunk));
            prop_assert_eq!(found, text.contains(&word));
        }
    }

    #[test]
    fn fm_29_a_long_line_is_cut_and_the_next_one_is_whole() {
        let mut lines = Lines::default();
        let mut seen = Vec::new();
        for _ in 0..100 {
            lines.push(&[b'x'; 1000], |line| seen.push(line.to_owned()));
        }
        lines.push(b"\nnext\n", |line| seen.push(line.to_owned()));
        assert_eq!(seen.len(), 2);
        assert_eq!(seen[0].len(), LINE);
        assert_eq!(seen[1], "next");
    }
}
