//! Our block inside a body of people: found, put in, read back. What stands around it stays byte for byte (R24).

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use super::{BEGIN, Counters, END, MAX_BODY, RECEIPT, STATE, measure};
use crate::review::fence::{Fences, LineIs};

/// Why the block cannot be found or written, with the mend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlockProblem {
    /// Not exactly one begin and one end.
    Pair {
        /// Begin lines.
        begins: usize,
        /// End lines.
        ends: usize,
    },
    /// The end stands before the begin.
    Order,
    /// A begin or end line was changed.
    Changed,
    /// A code fence of the description is open where the block would go.
    OpenFence,
    /// The description has no room.
    TooLong,
}

impl fmt::Display for BlockProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mend =
            format!("remove every `{BEGIN}` and `{END}` line from the description, and what stands between them");
        match self {
            Self::Pair { begins, ends } => {
                write!(f, "the description has {begins} begin and {ends} end lines of our block; {mend}")
            }
            Self::Order => write!(f, "our block in the description ends before it begins; {mend}"),
            Self::Changed => write!(f, "a begin or end line of our block in the description was changed; {mend}"),
            Self::OpenFence => f.write_str("a code fence in the description is never closed; close it"),
            Self::TooLong => {
                write!(f, "the description has no room for our block; shorten it below {MAX_BODY} characters")
            }
        }
    }
}

/// Finds the block: from the start of its begin line to the end of its end line.
pub(super) fn locate(body: &str) -> Result<Option<Range<usize>>, BlockProblem> {
    let (mut begins, mut ends, mut changed) = (Vec::new(), Vec::new(), false);
    let (mut fences, mut at) = (Fences::default(), 0);
    for full in body.split_inclusive('\n') {
        let line = full.strip_suffix('\n').unwrap_or(full);
        let line = line.strip_suffix('\r').unwrap_or(line);
        if fences.feed(line) == LineIs::Text {
            if line == BEGIN {
                begins.push(at);
            } else if line == END {
                ends.push(at + END.len());
            } else {
                let bare = line.trim_start();
                changed |= bare.starts_with("<!-- pushback:begin") || bare.starts_with("<!-- pushback:end");
            }
        }
        at += full.len();
    }
    match (begins.as_slice(), ends.as_slice(), changed) {
        (_, _, true) => Err(BlockProblem::Changed),
        ([], [], false) if fences.open() => Err(BlockProblem::OpenFence),
        ([], [], false) => Ok(None),
        ([begin], [end], false) if begin < end => Ok(Some(*begin..*end)),
        ([_], [_], false) => Err(BlockProblem::Order),
        _ => Err(BlockProblem::Pair { begins: begins.len(), ends: ends.len() }),
    }
}

/// Puts a block into a description. Every other byte stays.
pub fn splice(body: &str, block: &str) -> Result<String, BlockProblem> {
    let whole = match locate(body)? {
        Some(range) => format!("{}{block}{}", &body[..range.start], &body[range.end..]),
        None if body.is_empty() => block.to_owned(),
        None => {
            let gap = if body.ends_with("\n\n") || body.ends_with("\n\r\n") {
                ""
            } else if body.ends_with('\n') {
                "\n"
            } else {
                "\n\n"
            };
            format!("{body}{gap}{block}")
        }
    };
    if measure(&whole) > MAX_BODY { Err(BlockProblem::TooLong) } else { Ok(whole) }
}

/// What of our block is in a description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlockReading {
    /// There is none.
    Absent,
    /// It cannot be told apart from the rest.
    Broken(BlockProblem),
    /// It is there.
    Block(Block),
}

/// The block as read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Block {
    /// What stands before each key: the outcome of a row, or the name in a list.
    pub lines: BTreeMap<String, String>,
    /// The counters, where they can be read.
    pub counters: Option<Counters>,
}

/// Reads our block out of a description.
pub fn read(body: &str) -> BlockReading {
    match locate(body) {
        Err(BlockProblem::OpenFence) | Ok(None) => BlockReading::Absent,
        Err(problem) => BlockReading::Broken(problem),
        Ok(Some(range)) => BlockReading::Block(read_block(&body[range])),
    }
}

fn read_block(block: &str) -> Block {
    let mut read = Block::default();
    let mut fences = Fences::default();
    for line in block.lines() {
        if fences.feed(line) == LineIs::Code {
            continue;
        }
        if let Some(state) = line.strip_prefix(STATE).and_then(|rest| rest.trim_end().strip_suffix("-->")) {
            read.counters = serde_json::from_str(state).ok();
            continue;
        }
        let mut from = 0;
        for found in RECEIPT.captures_iter(line) {
            let whole = found.get_match();
            let text = before(&line[from..whole.start()]);
            for key in found["keys"].split(',') {
                read.lines.entry(key.to_owned()).or_insert_with(|| text.to_owned());
            }
            from = whole.end();
        }
    }
    read
}

/// Returns the outcome cell of a row, or the whole text of a list item.
fn before(text: &str) -> &str {
    let text = text.trim();
    let text = match text.strip_prefix('|') {
        Some(row) => row.split_once(" | ").map_or("", |(_, outcome)| outcome),
        None => text.trim_start_matches(['-', ',', ' ']),
    };
    text.trim()
}
