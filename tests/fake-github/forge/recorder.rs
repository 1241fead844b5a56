//! Writes every exchange down when `FAKE_GITHUB_RECORD` names a folder, one JSON object a line, for `scripts/conformance`.
//! Judges nothing.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock, PoisonError};

use serde_json::{Value, json};

use super::http::{Reply, Req};

static FILE: OnceLock<Option<Mutex<File>>> = OnceLock::new();

/// The folder's file of this process.
fn open() -> Option<Mutex<File>> {
    let dir = PathBuf::from(std::env::var_os("FAKE_GITHUB_RECORD").filter(|dir| !dir.is_empty())?);
    std::fs::create_dir_all(&dir).expect("the folder of the records");
    let name = dir.join(format!("{}.jsonl", std::process::id()));
    Some(Mutex::new(OpenOptions::new().create(true).append(true).open(name).expect("a record")))
}

/// Writes one exchange down; `faults` names what was done to it on purpose.
pub fn keep(req: &Req, reply: &Reply, faults: &[String]) {
    let Some(file) = FILE.get_or_init(open) else { return };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let parsed = |bytes: &[u8]| serde_json::from_slice(bytes).unwrap_or_else(|_| Value::String(text(bytes)));
    let body = if req.body.is_empty() { Value::Null } else { parsed(&req.body) };
    let answer = if reply.body.is_empty() { Value::Null } else { parsed(&reply.body) };
    let line = json!({
        "method": req.method, "path": req.path, "query": req.query_text, "body": body, "accept": req.header("accept"),
        "agent": req.header("user-agent"), "status": reply.status, "type": reply.get("content-type"), "answer": answer,
        "faults": faults,
    });
    let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
    // A file that cannot be written shows itself as exchanges that are missing.
    let _ = file.write_all(format!("{line}\n").as_bytes());
}
