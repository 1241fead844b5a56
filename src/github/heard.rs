//! What headers tell of the token and of the clock, beside an answer's content.

use jiff::SignedDuration;
use reqwest::header::HeaderMap;

/// What was told so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct Heard {
    /// Scopes of a classic token.
    pub(crate) scopes: Option<Vec<String>>,
    /// How far our clock is ahead; the smallest of all answers, which is the least delayed one.
    pub(crate) ahead: Option<SignedDuration>,
}

impl Heard {
    /// Takes one answer's headers in.
    pub(crate) fn note(&mut self, headers: &HeaderMap, ahead: Option<SignedDuration>) {
        if let Some(text) = headers.get("x-oauth-scopes").and_then(|value| value.to_str().ok()) {
            let scopes = text.split(',').map(str::trim).filter(|scope| !scope.is_empty());
            self.scopes = Some(scopes.map(str::to_owned).collect());
        }
        let nearer = |new: &SignedDuration| self.ahead.is_none_or(|known| new.abs() < known.abs());
        self.ahead = ahead.filter(nearer).or(self.ahead);
    }
}
