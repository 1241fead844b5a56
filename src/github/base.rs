//! Where a host's API is, and which addresses may ever see the token. Decides nothing about requests.

use reqwest::Url;

/// An API address that this program does not use, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{address}` cannot be used as API address: {why}")]
pub struct BadBase {
    /// Address, without user information.
    pub address: String,
    /// Why.
    pub why: &'static str,
}

/// Returns the REST address of a host as remotes name it (`github.com`, a ghe.com tenant, an enterprise server).
pub fn api_base(host: &str) -> Result<Url, BadBase> {
    let host = host.trim().trim_end_matches('.').to_ascii_lowercase();
    let name = host.rsplit_once(':').map_or(host.as_str(), |(name, _)| name);
    let text = match name {
        "github.com" | "www.github.com" | "ssh.github.com" => "https://api.github.com/".to_owned(),
        "api.github.com" => "https://api.github.com/".to_owned(),
        _ if name.ends_with(".ghe.com") => {
            let tenant = name.strip_prefix("api.").unwrap_or(name);
            format!("https://api.{tenant}/")
        }
        "localhost" | "127.0.0.1" | "[::1]" => format!("http://{host}/api/v3/"),
        _ => format!("https://{host}/api/v3/"),
    };
    parse_base(&text)
}

/// Parses and checks an API address given by hand.
pub fn parse_base(text: &str) -> Result<Url, BadBase> {
    let shown = || text.rsplit('@').next().unwrap_or(text).chars().take(200).collect::<String>();
    let mut url = Url::parse(text.trim()).map_err(|_| BadBase { address: shown(), why: "it is not an address" })?;
    check(&url)?;
    if !url.path().ends_with('/') {
        let path = format!("{}/", url.path());
        url.set_path(&path);
    }
    Ok(url)
}

/// Derives the GraphQL address from the REST address.
pub fn graphql_url(base: &Url) -> Url {
    let mut url = base.clone();
    let path = base.path().trim_end_matches('/');
    let path = match path.strip_suffix("/v3") {
        Some(before) => format!("{before}/graphql"),
        None => format!("{path}/graphql"),
    };
    url.set_path(&path);
    url
}

/// Refuses what could send a token in the clear or hide another host.
pub(crate) fn check(url: &Url) -> Result<(), BadBase> {
    let bad = |why| {
        let mut shown = url.clone();
        let _ = shown.set_username("");
        let _ = shown.set_password(None);
        Err(BadBase { address: shown.to_string(), why })
    };
    if !url.username().is_empty() || url.password().is_some() {
        return bad("it carries user information");
    }
    if url.query().is_some() || url.fragment().is_some() {
        return bad("it carries a query or fragment");
    }
    match url.scheme() {
        "https" if url.host_str().is_some() => Ok(()),
        "http" if is_loopback(url) => Ok(()),
        "http" => bad("plain http is only used for this machine"),
        _ => bad("only https is used"),
    }
}

/// Tells whether an address is on this machine.
pub(crate) fn is_loopback(url: &Url) -> bool {
    let Some(host) = url.host_str() else { return false };
    if host.eq_ignore_ascii_case("localhost") {
        return true;
    }
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    bare.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// Tells whether two addresses are of one origin: scheme, host and port.
pub(crate) fn same_origin(one: &Url, other: &Url) -> bool {
    one.scheme() == other.scheme()
        && one.host_str().is_some()
        && one.host_str() == other.host_str()
        && one.port_or_known_default() == other.port_or_known_default()
        && other.username().is_empty()
        && other.password().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bases_follow_the_host() {
        let check = |host: &str, rest: &str, graphql: &str| {
            let base = api_base(host).expect("a base");
            assert_eq!((base.as_str(), graphql_url(&base).as_str()), (rest, graphql), "{host}");
        };
        check("github.com", "https://api.github.com/", "https://api.github.com/graphql");
        check("GitHub.com.", "https://api.github.com/", "https://api.github.com/graphql");
        check("acme.ghe.com", "https://api.acme.ghe.com/", "https://api.acme.ghe.com/graphql");
        check("api.acme.ghe.com", "https://api.acme.ghe.com/", "https://api.acme.ghe.com/graphql");
        check("git.example.org", "https://git.example.org/api/v3/", "https://git.example.org/api/graphql");
        check(
            "git.example.org:8443",
            "https://git.example.org:8443/api/v3/",
            "https://git.example.org:8443/api/graphql",
        );
    }

    #[test]
    fn bases_by_hand_are_checked() {
        for good in ["http://127.0.0.1:80/x", "http://localhost:1", "http://[::1]:9/", "https://api.github.com"] {
            assert!(parse_base(good).is_ok_and(|u| u.path().ends_with('/')), "{good}");
        }
        for bad in
            ["http://api.github.com", "https://u:p@h/", "ftp://h/", "x", "http://127.0.0.1.evil.org/", "https://h/?a=b"]
        {
            let error = parse_base(bad).expect_err(bad);
            assert!(!error.to_string().contains("u:p"), "{error}");
        }
        let own = parse_base("http://127.0.0.1:8080").expect("a base");
        assert_eq!(graphql_url(&own).as_str(), "http://127.0.0.1:8080/graphql");
    }

    #[test]
    fn fm_15_origins_are_scheme_host_and_port() {
        let url = |text: &str| Url::parse(text).expect("an address");
        let base = url("https://api.github.com/");
        assert!(same_origin(&base, &url("https://api.github.com:443/repositories/1")));
        for other in [
            "http://api.github.com/",
            "https://api.github.com:444/",
            "https://api.github.com.evil.org/",
            "https://github.com/",
            "https://api.github.com@evil.org/",
            "https://x@api.github.com/",
        ] {
            assert!(!same_origin(&base, &url(other)), "{other}");
        }
    }
}
