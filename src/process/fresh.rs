//! Fresh identifiers. They are unique and hard to guess; they are not keys.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

/// Returns 32 hexadecimal digits that were not used before.
pub fn fresh_id() -> String {
    let half = || {
        let mut hasher = RandomState::new().build_hasher();
        hasher.write_u32(std::process::id());
        if let Ok(age) = std::time::SystemTime::UNIX_EPOCH.elapsed() {
            hasher.write_u128(age.as_nanos());
        }
        hasher.finish()
    };
    format!("{:016x}{:016x}", half(), half())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    #[test]
    fn ids_differ_and_have_one_shape() {
        let ids: BTreeSet<String> = (0..1000).map(|_| super::fresh_id()).collect();
        assert_eq!(ids.len(), 1000);
        assert!(ids.iter().all(|id| id.len() == 32 && id.bytes().all(|b| b.is_ascii_hexdigit())));
    }
}
