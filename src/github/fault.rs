//! Why a request brought nothing, told apart as finely as the readings need it, and put into the port's words.

use jiff::Timestamp;

use crate::ports::ForgeError;

/// Why a request brought nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// 404 or 410: not there, or not visible.
    NotThere {
        /// Method and path.
        request: String,
        /// The forge's word.
        message: String,
    },
    /// 403 without signs of a limit.
    Denied {
        /// Method and path.
        request: String,
        /// The forge's word.
        message: String,
        /// The right that the forge names.
        right: Option<String>,
        /// Further advice of the forge.
        advice: Option<String>,
    },
    /// 401, also after renewing the token.
    Unauthorised {
        /// Method and path.
        request: String,
        /// Why.
        why: String,
    },
    /// A limit that outlasts the allowed wait.
    Limited {
        /// Method and path.
        request: String,
        /// Until when.
        until: Timestamp,
    },
    /// Everything else.
    Failed {
        /// Method and path.
        request: String,
        /// Status or cause.
        why: String,
        /// What is known of the request's effect.
        effect: Effect,
    },
}

/// What is known of a failed request's effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// It never reached the forge.
    None,
    /// The forge refused it.
    Refused,
    /// It may have been carried out.
    Unclear,
}

impl Fault {
    /// Makes a failure whose effect does not matter or is not known.
    pub(crate) fn failed(request: &str, why: impl Into<String>) -> Self {
        Self::Failed { request: request.to_owned(), why: why.into(), effect: Effect::Unclear }
    }

    /// Says in one sentence why a fact is unknown, where a missing right or resource hides it.
    pub(crate) fn hides(&self, what: &str) -> Option<String> {
        match self {
            Self::NotThere { .. } => Some(format!("{what}: missing, or this token cannot see it")),
            Self::Denied { right, message, .. } => Some(match right {
                Some(right) => format!("{what}: the token lacks `{right}`"),
                None => format!("{what}: status 403, {message}"),
            }),
            Self::Unauthorised { .. } | Self::Limited { .. } | Self::Failed { .. } => None,
        }
    }

    /// Puts the fault into the port's words for this repository.
    pub(crate) fn tell(self, repository: &str) -> ForgeError {
        match self {
            Self::NotThere { request, .. } => ForgeError::Permission {
                request,
                why: format!("status 404: {repository} is missing, or this token cannot see it"),
                hint: "check the repository and the token; fine-grained tokens must name the repository".to_owned(),
            },
            Self::Denied { request, message, right, advice } => {
                let needs = match right {
                    Some(right) => format!("the token needs `{right}` on {repository}"),
                    None => format!("the token lacks a right on {repository}"),
                };
                let hint = advice.map_or_else(|| needs.clone(), |advice| format!("{needs}; {advice}"));
                ForgeError::Permission { request, why: format!("status 403: {message}"), hint }
            }
            Self::Unauthorised { request, why } => ForgeError::Permission {
                request,
                // Tokens of github.com are for nobody else, and so is a login there.
                hint: if why.starts_with("no token for this API base") {
                    "set PUSHBACK_TOKEN to a token of that server".to_owned()
                } else {
                    "the token is missing, wrong or has ended: set PUSHBACK_TOKEN, or log in with `gh auth login`"
                        .to_owned()
                },
                // Without a token nothing was asked.
                why: if why.starts_with("no token") { why } else { format!("status 401: {why}") },
            },
            Self::Limited { request, until } => ForgeError::Limited { request, until },
            Self::Failed { request, why, .. } => ForgeError::CouldNotRead { request, why },
        }
    }
}

/// Makes a text of the forge fit for a message: one line, no control characters, short.
pub(crate) fn tame(text: &str) -> String {
    let flat: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(200).collect();
    flat.split_whitespace().collect::<Vec<_>>().join(" ")
}
