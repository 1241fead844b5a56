//! Which token is used, and that it goes to its own host only. Never shown, never stored.

use std::process::Command;
use std::time::Duration;

use secrecy::SecretString;

use crate::github::{TokenSource, Wanted};
use crate::process::bounded;

/// Variables of github.com and of `*.ghe.com`.
const CLOUD: [&str; 2] = ["GH_TOKEN", "GITHUB_TOKEN"];
/// Variables of other hosts.
const ENTERPRISE: [&str; 2] = ["GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN"];
/// How long `gh` may take: a locked keyring asks a person first.
const GH_LIMIT: Duration = Duration::from_secs(60);
/// The program's own variable; goes to whatever API base is set.
pub(crate) const OWN: &str = "PUSHBACK_TOKEN";

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// Returns every token our own variables hold: no child and no report may carry one of them.
pub(crate) fn secrets() -> Vec<SecretString> {
    let names = CLOUD.iter().chain(&ENTERPRISE).chain(&[OWN, "PUSHBACK_REVIEWER_TOKEN"]);
    names.filter_map(|name| variable(name)).map(SecretString::from).collect()
}

/// Returns the variables that may hold a host's token, besides our own.
pub(crate) fn variables(host: &str) -> [&'static str; 2] {
    if host == "github.com" || host.ends_with(".ghe.com") { CLOUD } else { ENTERPRISE }
}

fn from_gh(host: &str) -> Option<String> {
    let mut gh = Command::new("gh");
    gh.args(["auth", "token", "--hostname", host]).env("GH_PROMPT_DISABLED", "1");
    let (status, said) = bounded::answer(&mut gh, GH_LIMIT)?;
    let text = String::from_utf8(said).ok()?.trim().to_owned();
    (status.success() && !text.is_empty()).then_some(text)
}

/// Says where the token comes from, without showing it; `None` when there is none.
pub(crate) fn origin(host: &str) -> Option<String> {
    let named = std::iter::once(OWN).chain(variables(host)).find(|name| variable(name).is_some());
    named.map(str::to_owned).or_else(|| from_gh(host).map(|_| format!("gh auth token --hostname {host}")))
}

/// Makes the source for a host. `own_base` is false when the API base was set by hand for another host:
/// then only our own variable is used.
pub(crate) fn source(host: &str, own_base: bool) -> TokenSource {
    let host = host.to_owned();
    TokenSource::new(move |wanted| {
        if let Some(token) = variable(OWN) {
            return Ok(SecretString::from(token));
        }
        if !own_base {
            return Err(format!(
                "no token for this API base: set {OWN}; tokens of {host} are not sent to another host"
            ));
        }
        let named = variables(&host);
        let from_environment = named.iter().find_map(|name| variable(name));
        // A refused token is renewed from where tokens can be renewed.
        let token = match wanted {
            Wanted::Current => from_environment.or_else(|| from_gh(&host)),
            Wanted::Renewed => from_gh(&host).or(from_environment),
        };
        token.map(SecretString::from).ok_or_else(|| {
            format!("no token for {host}: set {OWN} or {}, or log in with `gh auth login -h {host}`", named[0])
        })
    })
}
