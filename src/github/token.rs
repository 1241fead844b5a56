//! Where the token comes from. It is held as a secret and shown nowhere.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use secrecy::{ExposeSecret as _, SecretString};
use sha2::{Digest as _, Sha256};

/// Which token is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// The one at hand.
    Current,
    /// A fresh one: the forge refused the last one.
    Renewed,
}

type Source = dyn Fn(Wanted) -> Result<SecretString, String> + Send + Sync;

/// A source of tokens, asked once, and once more when the forge refuses the token.
pub struct TokenSource {
    source: Box<Source>,
    held: Mutex<Option<SecretString>>,
}

impl fmt::Debug for TokenSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenSource(***)")
    }
}

impl TokenSource {
    /// Asks a function; its error says in one line why there is no token.
    pub fn new(source: impl Fn(Wanted) -> Result<SecretString, String> + Send + Sync + 'static) -> Self {
        Self { source: Box::new(source), held: Mutex::new(None) }
    }

    /// Uses one token that cannot be renewed.
    pub fn fixed(token: SecretString) -> Self {
        Self::new(move |_| Ok(token.clone()))
    }

    /// Returns the token to use now.
    pub(crate) fn current(&self) -> Result<SecretString, String> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(token) = &*held {
            return Ok(token.clone());
        }
        let token = checked((self.source)(Wanted::Current)?)?;
        *held = Some(token.clone());
        Ok(token)
    }

    /// Returns another token than the refused one; `None` when there is none.
    pub(crate) fn instead_of(&self, refused: &SecretString) -> Option<SecretString> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let differs = |token: &SecretString| token.expose_secret() != refused.expose_secret();
        // Another reader may have renewed it while this one waited.
        if let Some(token) = held.as_ref().filter(|token| differs(token)) {
            return Some(token.clone());
        }
        let token = (self.source)(Wanted::Renewed).and_then(checked).ok().filter(differs)?;
        *held = Some(token.clone());
        Some(token)
    }
}

fn checked(token: SecretString) -> Result<SecretString, String> {
    let text = token.expose_secret();
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_graphic()) {
        return Err("the token is empty or holds blanks".to_owned());
    }
    Ok(token)
}

/// Returns a digest that tells tokens apart and reveals none.
pub(crate) fn digest(token: &SecretString) -> String {
    let hash = Sha256::digest(token.expose_secret().as_bytes());
    hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn fc_77_a_refused_token_is_renewed_once() {
        static ASKED: AtomicUsize = AtomicUsize::new(0);
        let source = TokenSource::new(|wanted| {
            ASKED.fetch_add(1, Ordering::SeqCst);
            Ok(SecretString::from(if wanted == Wanted::Current { "one" } else { "two" }))
        });
        let one = source.current().expect("a token");
        assert_eq!(source.current().expect("the same").expose_secret(), "one");
        assert_eq!(ASKED.load(Ordering::SeqCst), 1);
        let two = source.instead_of(&one).expect("another");
        assert_eq!(source.instead_of(&one).expect("the renewed one").expose_secret(), "two");
        assert_eq!(ASKED.load(Ordering::SeqCst), 2);
        assert!(source.instead_of(&two).is_none());
        assert!(!format!("{source:?} {one:?}").contains("one"));
        assert_ne!(digest(&one), digest(&two));
    }

    #[test]
    fn tokens_with_blanks_never_reach_a_header() {
        for bad in ["", "a b", "a\nb", "ä"] {
            assert!(TokenSource::fixed(SecretString::from(bad)).current().is_err(), "{bad:?}");
        }
    }
}
