//! Small records beside state: that a person agreed to posts in a repository (R26), and which contents of a
//! configuration file were trusted (R29).

use camino::{Utf8Path, Utf8PathBuf};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::atomic::{Durable, read, replace};
use super::{io, repo_dir, root_dir};
use crate::ports::StoreError;
use crate::review::ids::RepoSlug;

/// Version of both formats.
const VERSION: u32 = 1;
/// Trusted contents remembered; branches may have different ones.
const TRUSTED: usize = 50;
/// Largest record read.
const LIMIT: u64 = 1024 * 1024;

/// That a person agreed, and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Consent {
    /// Version of this format.
    pub schema_version: u32,
    /// When.
    pub at: Timestamp,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Trust {
    schema_version: u32,
    #[serde(default)]
    hashes: Vec<String>,
}

fn consent_path(common_dir: &Utf8Path, host: &str, slug: &RepoSlug) -> Result<Utf8PathBuf, StoreError> {
    Ok(repo_dir(common_dir, host, slug)?.join("consent.json"))
}

/// Reads the consent to posts in a repository; an unreadable record is none.
pub fn consent(common_dir: &Utf8Path, host: &str, slug: &RepoSlug) -> Result<Option<Consent>, StoreError> {
    let data = read(&consent_path(common_dir, host, slug)?, LIMIT)?.unwrap_or_default();
    let found = serde_json::from_slice::<Consent>(&data).ok();
    Ok(found.filter(|c| c.schema_version == VERSION))
}

/// Writes down that a person agreed.
pub fn give_consent(common_dir: &Utf8Path, host: &str, slug: &RepoSlug, at: Timestamp) -> Result<(), StoreError> {
    let path = consent_path(common_dir, host, slug)?;
    super::make_dirs(common_dir, path.parent().unwrap_or(&path), Durable::Yes)?;
    write(&path, &Consent { schema_version: VERSION, at })
}

/// Returns where it is kept which configuration files are trusted.
pub fn trust_path(common_dir: &Utf8Path) -> Utf8PathBuf {
    root_dir(common_dir).join("trust.json")
}

/// Returns the hash by which a configuration file's content is trusted.
pub fn content_hash(content: &[u8]) -> String {
    hex(&Sha256::digest(content))
}

/// Writes bytes as digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Tells whether exactly this content was trusted; an unreadable record trusts nothing.
pub fn is_trusted(common_dir: &Utf8Path, content: &[u8]) -> Result<bool, StoreError> {
    Ok(trusted(common_dir)?.hashes.contains(&content_hash(content)))
}

/// Trusts exactly this content.
pub fn trust(common_dir: &Utf8Path, content: &[u8]) -> Result<(), StoreError> {
    let hash = content_hash(content);
    let mut record = trusted(common_dir)?;
    record.schema_version = VERSION;
    record.hashes.retain(|h| *h != hash);
    record.hashes.push(hash);
    let surplus = record.hashes.len().saturating_sub(TRUSTED);
    record.hashes.drain(..surplus);
    super::make_dirs(common_dir, &root_dir(common_dir), Durable::Yes)?;
    write(&trust_path(common_dir), &record)
}

fn trusted(common_dir: &Utf8Path) -> Result<Trust, StoreError> {
    let data = read(&trust_path(common_dir), LIMIT)?.unwrap_or_default();
    let found = serde_json::from_slice::<Trust>(&data).unwrap_or_default();
    Ok(if found.schema_version == VERSION { found } else { Trust::default() })
}

fn write<T: Serialize>(path: &Utf8Path, record: &T) -> Result<(), StoreError> {
    let mut data = serde_json::to_vec_pretty(record).map_err(|e| io("write", path, e))?;
    data.push(b'\n');
    replace(path, &data, Durable::Yes)
}
