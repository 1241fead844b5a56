//! `summary.json` on disk: what can be read, what is set aside, and fields of later versions that must survive.

use camino::{Utf8Path, Utf8PathBuf};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::atomic::{io, read};
use crate::ports::StoreError;
use crate::review::summary::{SCHEMA_VERSION, Summary};

/// State larger than this is no state of ours.
const LIMIT: u64 = 256 * 1024 * 1024;
/// What tells elements of a list apart.
const IDENTITY: &[&str] = &["key", "n", "sha", "head", "id"];

/// What a file turned out to be.
#[derive(Debug)]
pub(super) enum Read {
    Absent,
    Known(Box<Summary>),
    Bad(String),
}

/// Reads a file. Fails only where the disk does, or where a newer version wrote it.
pub(super) fn load(path: &Utf8Path) -> Result<Read, StoreError> {
    match std::fs::symlink_metadata(path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Read::Absent),
        Err(e) => return Err(io("read", path, e)),
        Ok(meta) if !meta.is_file() => return Ok(Read::Bad("it is no regular file".to_owned())),
        Ok(_) => {}
    }
    match read(path, LIMIT)? {
        None => Ok(Read::Absent),
        Some(data) => parse(path, &data),
    }
}

fn parse(path: &Utf8Path, data: &[u8]) -> Result<Read, StoreError> {
    if data.is_empty() {
        return Ok(Read::Bad("it is empty".to_owned()));
    }
    // The version first: a newer file may mean something else by the same words.
    let version = match serde_json::from_slice::<Versioned>(data) {
        Ok(read) => read.schema_version.as_ref().and_then(Value::as_u64),
        Err(e) if e.is_data() => None,
        Err(e) => return Ok(Read::Bad(format!("it is no JSON: {e}"))),
    };
    let Some(version) = version else {
        return Ok(Read::Bad("it has no schema version".to_owned()));
    };
    if version > u64::from(SCHEMA_VERSION) {
        return Err(StoreError::Newer { path: path.to_owned(), found: version, known: SCHEMA_VERSION });
    }
    if version < u64::from(SCHEMA_VERSION) {
        // There is no older version yet; the first one adds its migration here.
        return Ok(Read::Bad(format!("schema version {version} was never written")));
    }
    match serde_json::from_slice::<Summary>(data) {
        Ok(summary) => Ok(Read::Known(Box::new(summary))),
        Err(e) => Ok(Read::Bad(format!("it is not a summary: {e}"))),
    }
}

/// What says how a file is to be read.
#[derive(Deserialize)]
struct Versioned {
    schema_version: Option<Value>,
}

/// Turns state into the bytes of the file; what the file holds beyond this version's fields is carried over.
pub(super) fn render(path: &Utf8Path, summary: &Summary, former: Option<&[u8]>) -> Result<Vec<u8>, StoreError> {
    let failed = |e: serde_json::Error| io("write", path, e);
    let mut data = match former.and_then(unknown_fields) {
        None => serde_json::to_vec_pretty(summary).map_err(failed)?,
        Some(unknown) => {
            let mut value = serde_json::to_value(summary).map_err(failed)?;
            graft(&mut value, &unknown);
            serde_json::to_vec_pretty(&value).map_err(failed)?
        }
    };
    // A number that JSON cannot hold (a cost that is none) would make the file unreadable.
    serde_json::from_slice::<Summary>(&data)
        .map_err(|e| io("write", path, format!("it could not be read again: {e}")))?;
    data.push(b'\n');
    Ok(data)
}

/// Returns the fields of a file that this version does not know.
fn unknown_fields(former: &[u8]) -> Option<Value> {
    let summary: Summary = serde_json::from_slice(former).ok()?;
    let known = serde_json::to_value(summary).ok()?;
    beyond(&serde_json::from_slice(former).ok()?, &known)
}

/// Returns what `raw` has and `known` has not. Null and empty values say nothing.
fn beyond(raw: &Value, known: &Value) -> Option<Value> {
    match (raw, known) {
        (Value::Object(raw), Value::Object(known)) => {
            let mut left = Map::new();
            for (name, value) in raw {
                let rest = match known.get(name) {
                    Some(known) => beyond(value, known),
                    None => (!value.is_null()).then(|| value.clone()),
                };
                if let Some(rest) = rest {
                    left.insert(name.clone(), rest);
                }
            }
            (!left.is_empty()).then_some(Value::Object(left))
        }
        (Value::Array(raw), Value::Array(known)) if raw.len() == known.len() => {
            let pairs = raw.iter().zip(known);
            let left: Vec<Value> = pairs.filter_map(|(raw, known)| with_identity(beyond(raw, known)?, raw)).collect();
            (!left.is_empty()).then_some(Value::Array(left))
        }
        _ => None,
    }
}

fn identity_of(value: &Value) -> Option<(&'static str, &Value)> {
    IDENTITY.iter().find_map(|name| Some((*name, value.get(*name).filter(|v| !v.is_null())?)))
}

fn with_identity(mut rest: Value, raw: &Value) -> Option<Value> {
    let (name, id) = identity_of(raw)?;
    rest.as_object_mut()?.insert(name.to_owned(), id.clone());
    Some(rest)
}

/// Adds unknown fields where the place they belong to still exists.
fn graft(value: &mut Value, unknown: &Value) {
    match (value, unknown) {
        (Value::Object(value), Value::Object(unknown)) => {
            for (name, rest) in unknown {
                match value.get_mut(name) {
                    Some(inner) => graft(inner, rest),
                    // A finding that is gone does not come back by its unknown fields.
                    None => drop(value.insert(name.clone(), rest.clone())),
                }
            }
        }
        (Value::Array(value), Value::Array(unknown)) => {
            for rest in unknown {
                let same = |v: &&mut Value| identity_of(v).is_some() && identity_of(v) == identity_of(rest);
                if let Some(inner) = value.iter_mut().find(same) {
                    graft(inner, rest);
                }
            }
        }
        _ => {}
    }
}

/// Moves an unreadable file out of the way, under a name that is free.
pub(super) fn set_aside(path: &Utf8Path) -> Result<Utf8PathBuf, StoreError> {
    let free = (1..u32::MAX).map(|n| Utf8PathBuf::from(format!("{path}.bad-{n}")));
    let mut free = free.filter(|p| std::fs::symlink_metadata(p).is_err());
    let kept = free.next().ok_or_else(|| io("set aside", path, "no name is free"))?;
    std::fs::rename(path, &kept).map_err(|e| io("set aside", path, e))?;
    Ok(kept)
}
