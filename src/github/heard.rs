//! What answers tell of the token and of the clock beside what was asked for.

use jiff::SignedDuration;
use reqwest::header::HeaderMap;

use crate::review::observation::Barred;

/// What was told so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct Heard {
    /// Scopes of a classic token.
    pub(crate) scopes: Option<Vec<String>>,
    /// How far our clock is ahead; the smallest of all answers, which is the least delayed one.
    pub(crate) ahead: Option<SignedDuration>,
    /// Whether the account may change the description, as the threads' answer says.
    pub(crate) may_describe: Option<bool>,
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

    /// Returns what the token surely may not do; what only a write would show is not in it.
    pub(crate) fn barred(&self) -> Barred {
        let posts = |scopes: &Vec<String>| scopes.iter().any(|scope| matches!(scope.as_str(), "repo" | "public_repo"));
        Barred {
            posting: self.scopes.as_ref().filter(|scopes| !posts(scopes)).cloned(),
            describing: self.may_describe == Some(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_told_bars() {
        let mut heard = Heard::default();
        assert_eq!(heard.barred(), Barred::default());
        for (scopes, bars) in
            [("repo", false), ("read:org, public_repo", false), ("read:org, repo:status", true), ("", true)]
        {
            let mut headers = HeaderMap::new();
            headers.insert("x-oauth-scopes", scopes.parse().expect("a header"));
            heard.note(&headers, None);
            assert_eq!(heard.barred().posting.is_some(), bars, "{scopes}");
        }
        heard.may_describe = Some(true);
        assert!(!heard.barred().describing);
        heard.may_describe = Some(false);
        assert!(heard.barred().describing);
    }
}
