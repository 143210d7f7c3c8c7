//! Access to the page: a token that works once, then a cookie; the allowed host names; and a token in every form.
//!
//! Every request that shows or changes memories needs the cookie. Nobody else has the cookie: neither other users of
//! the machine, nor pages of other sites, nor host names that were rebound to this machine.

use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};

use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, Method, header};
use transcripts::hex;

use crate::memory::string_enum;
use crate::serve::connections::{digest, only, secret};

/// The access rules of one server's page.
#[derive(Debug)]
pub(super) struct Access {
    /// The values of `Host` that refer to this server.
    hosts: [String; 3],
    cookie: String,
    session: String,
    /// The token of the printed URL, until the token is used.
    entry: Mutex<Option<String>>,
}

/// The reason why a request is admitted.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// The request has the token of the printed URL; this cookie replaces the token.
    Entered(String),
    /// The request has the cookie.
    Granted,
}

string_enum!(
    /// The reason why a request is refused, spelled as the key of its explanation.
    Refusal, "a refusal", {
    /// The request was sent to a host name that is not ours, or by a page of another site.
    Foreign = "foreign",
    /// The request has neither the cookie nor an unused token.
    Stranger = "stranger",
    /// The form is not from this server, or is from an earlier instance of the server.
    Form = "form",
});

impl Access {
    /// Returns the access rules for a server at `address`.
    pub(super) fn new(address: SocketAddr) -> Self {
        let port = address.port();
        Self {
            hosts: [format!("127.0.0.1:{port}"), format!("localhost:{port}"), format!("[::1]:{port}")],
            // All ports of a host name share cookies, so two servers need different cookie names.
            cookie: format!("afterthought_{port}"),
            session: secret(),
            entry: Mutex::new(Some(secret())),
        }
    }

    /// Returns the token for the URL, if the token has not been used.
    pub(super) fn entry(&self) -> Option<String> {
        self.entry.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the token that every form must send.
    pub(super) fn form_token(&self) -> String {
        hex(&digest(&format!("form {}", self.session)))
    }

    /// Checks that a request was sent to this server, either by a page of this server or by the user.
    ///
    /// # Errors
    /// [`Refusal::Foreign`] if it was not.
    pub(super) fn is_ours(&self, parts: &Parts) -> Result<(), Refusal> {
        let host = only(&parts.headers, header::HOST).unwrap_or_default().to_ascii_lowercase();
        if !self.hosts.contains(&host) {
            return Err(Refusal::Foreign);
        }
        let origin = only(&parts.headers, header::ORIGIN);
        if origin.is_some_and(|origin| origin.strip_prefix("http://") != Some(host.as_str())) {
            return Err(Refusal::Foreign);
        }
        Ok(())
    }

    /// Decides whether to admit a request for a page, where `token` is the token in the URL.
    ///
    /// # Errors
    /// [`Refusal`], in the order of its variants.
    pub(super) fn admit(&self, parts: &Parts, token: Option<&str>) -> Result<Admission, Refusal> {
        self.is_ours(parts)?;
        let is_known = cookies(&parts.headers)
            .filter(|(name, _)| *name == self.cookie)
            .any(|(_, value)| digest(value) == digest(&self.session));
        if let Some(token) = token.filter(|_| parts.method == Method::GET) {
            let mut entry = self.entry.lock().unwrap_or_else(PoisonError::into_inner);
            if entry.as_deref().is_some_and(|entry| digest(entry) == digest(token)) {
                *entry = None;
                let cookie = format!("{}={}; HttpOnly; SameSite=Strict; Path=/", self.cookie, self.session);
                return Ok(Admission::Entered(cookie));
            }
        }
        if !is_known {
            return Err(Refusal::Stranger);
        }
        // The cookie is sent to all ports of this machine, so this header must exclude pages of other ports.
        let site = only(&parts.headers, HeaderName::from_static("sec-fetch-site"));
        if site.is_some_and(|site| !matches!(site, "same-origin" | "none")) {
            return Err(Refusal::Foreign);
        }
        Ok(Admission::Granted)
    }

    /// Checks the token that a form sent.
    ///
    /// # Errors
    /// [`Refusal::Form`] if the token is wrong or missing.
    pub(super) fn admit_form(&self, token: Option<&str>) -> Result<(), Refusal> {
        let expected = digest(&self.form_token());
        if token.is_some_and(|token| digest(token) == expected) { Ok(()) } else { Err(Refusal::Form) }
    }
}

/// Returns the cookies of a request.
pub(super) fn cookies(headers: &HeaderMap) -> impl Iterator<Item = (&str, &str)> {
    let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access() -> Access {
        Access::new("127.0.0.1:8788".parse().unwrap())
    }

    fn request(method: &str, headers: &[(&str, &str)]) -> Parts {
        let start = axum::http::Request::builder().method(method).uri("/");
        headers.iter().fold(start, |made, (name, value)| made.header(*name, *value)).body(()).unwrap().into_parts().0
    }

    #[test]
    fn the_token_of_the_address_works_once_and_the_cookie_from_then_on() {
        let access = access();
        let host = ("host", "127.0.0.1:8788");
        let token = access.entry().unwrap();
        assert_eq!(access.admit(&request("GET", &[host]), None), Err(Refusal::Stranger));
        assert_eq!(access.admit(&request("GET", &[host]), Some("guess")), Err(Refusal::Stranger));
        let Ok(Admission::Entered(cookie)) = access.admit(&request("GET", &[host]), Some(&token)) else { panic!() };
        assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
        assert_eq!(access.admit(&request("GET", &[host]), Some(&token)), Err(Refusal::Stranger));
        assert_eq!(access.entry(), None);
        let cookie = ("cookie", cookie.split(';').next().unwrap());
        assert_eq!(access.admit(&request("GET", &[host, cookie]), None), Ok(Admission::Granted));
        let among_others = ("cookie", &*format!("a=b; {}; c=d", cookie.1));
        assert_eq!(access.admit(&request("GET", &[host, among_others]), None), Ok(Admission::Granted));
        let of_other_port = ("cookie", &*cookie.1.replace("8788", "8789"));
        assert_eq!(access.admit(&request("GET", &[host, of_other_port]), None), Err(Refusal::Stranger));
    }

    #[test]
    fn other_names_other_pages_and_other_ports_are_refused_in_spite_of_the_cookie() {
        let access = access();
        let cookie = format!("{}={}", access.cookie, access.session);
        let ask = |headers: &[(&str, &str)]| {
            access.admit(&request("POST", &[&[("cookie", cookie.as_str())], headers].concat()), None)
        };
        let host = ("host", "localhost:8788");
        for headers in [
            &[host][..],
            &[("host", "LOCALHOST:8788")],
            &[host, ("origin", "http://localhost:8788")],
            &[host, ("sec-fetch-site", "same-origin")],
            &[host, ("sec-fetch-site", "none")],
        ] {
            assert_eq!(ask(headers), Ok(Admission::Granted), "{headers:?}");
        }
        for headers in [
            &[][..],
            &[("host", "localhost")],
            &[("host", "evil.example:8788")],
            &[("host", "localhost:8788.evil.example")],
            &[host, host],
            &[host, ("origin", "null")],
            &[host, ("origin", "http://localhost:3000")],
            &[host, ("origin", "http://127.0.0.1:8788")],
            &[host, ("origin", "https://localhost:8788")],
            &[host, ("sec-fetch-site", "same-site")],
            &[host, ("sec-fetch-site", "cross-site")],
        ] {
            assert_eq!(ask(headers), Err(Refusal::Foreign), "{headers:?}");
        }
    }

    #[test]
    fn a_form_needs_the_token_of_this_server() {
        let access = access();
        assert_eq!(access.admit_form(Some(&access.form_token())), Ok(()));
        assert_eq!(access.admit_form(None), Err(Refusal::Form));
        let another = Access::new("127.0.0.1:8788".parse().unwrap());
        assert_eq!(access.admit_form(Some(&another.form_token())), Err(Refusal::Form));
    }
}
