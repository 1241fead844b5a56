//! What lies under the client: building it, telling its failures apart, and how many requests go out at once.

use std::io;
use std::sync::{Condvar, Mutex, PoisonError};

use reqwest::Url;
use reqwest::blocking::Client as Http;

use super::base;
use super::client::{Bounds, held};
use super::fault::{Effect, tame};

/// Why sending or reading broke.
pub(crate) struct Broken {
    /// Cause.
    pub(crate) why: String,
    /// What is known of the effect.
    pub(crate) effect: Effect,
    /// True when trying again cannot help.
    pub(crate) hopeless: bool,
}

impl Broken {
    pub(crate) fn hopeless(why: impl Into<String>, effect: Effect) -> Self {
        Self { why: why.into(), effect, hopeless: true }
    }
}

pub(crate) fn build(api: &Url, bounds: &Bounds) -> Result<Http, String> {
    // Another part of the program may have installed it before; that one serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = Http::builder()
        .user_agent(concat!("pushback/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .connect_timeout(bounds.connect)
        // The blocking client applies this to the head of an answer and to each read of its body.
        .timeout(bounds.idle);
    if base::is_loopback(api) {
        builder = builder.no_proxy();
    }
    if base::is_loopback(api) && api.scheme() == "http" {
        // No other origin is ever asked, so there is no certificate to check and the machine's need not be read.
        builder = builder.tls_certs_only([]);
    }
    builder.build().map_err(|error| format!("no HTTP client: {}", causes(&error)))
}

pub(crate) fn broken(error: reqwest::Error) -> Broken {
    let error = error.without_url();
    let effect = if error.is_connect() || error.is_builder() { Effect::None } else { Effect::Unclear };
    let hopeless = error.is_builder() || certificate(&error);
    let why = if error.is_timeout() { format!("no answer in time: {}", causes(&error)) } else { causes(&error) };
    Broken { why, effect, hopeless }
}

/// Tells whether TLS refused the other side: trying again would only ask for a second opinion.
pub(crate) fn certificate(error: &reqwest::Error) -> bool {
    let mut next = std::error::Error::source(error);
    while let Some(cause) = next {
        let inner = cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        let tls = inner.and_then(|e| e.downcast_ref::<rustls::Error>()).or_else(|| cause.downcast_ref());
        if matches!(tls, Some(rustls::Error::InvalidCertificate(_) | rustls::Error::NoCertificatesPresented)) {
            return true;
        }
        next = cause.source();
    }
    false
}

pub(crate) fn causes(error: &dyn std::error::Error) -> String {
    let mut text = vec![error.to_string()];
    let mut next = error.source();
    while let Some(cause) = next {
        let said = cause.to_string();
        if text.last().is_none_or(|last| !last.contains(&said)) {
            text.push(said);
        }
        next = cause.source();
    }
    tame(&text.join(": "))
}

pub(crate) struct Permits {
    free: Mutex<usize>,
    given: Condvar,
}

pub(crate) struct Permit<'a>(&'a Permits);

impl Permits {
    pub(crate) fn new(n: usize) -> Self {
        Self { free: Mutex::new(n), given: Condvar::new() }
    }

    pub(crate) fn take(&self) -> Permit<'_> {
        let mut free = held(&self.free);
        while *free == 0 {
            free = self.given.wait(free).unwrap_or_else(PoisonError::into_inner);
        }
        *free -= 1;
        Permit(self)
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        *held(&self.0.free) += 1;
        self.0.given.notify_one();
    }
}
