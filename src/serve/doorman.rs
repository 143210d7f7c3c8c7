//! Who may come in over HTTP. Pure: it looks at headers alone.
//!
//! A web page that a person visits can send requests to their own machine, and by rebinding its own name to a loopback
//! address even read the answers. Its name stands in `Host` and `Origin`, so both must be ours.

use std::net::{IpAddr, SocketAddr};

use sha2::{Digest, Sha256};

/// Names that always mean this machine.
const LOOPBACK: &[&str] = &["localhost", "127.0.0.1", "[::1]"];

/// What a request must show.
#[derive(Debug, Clone)]
pub struct Door {
    /// Names in `Host` and `Origin`, in lower case; ports are not looked at.
    hosts: Vec<String>,
    /// Hash of the token, so that comparing takes the same time whatever is guessed.
    token: Option<[u8; 32]>,
}

/// Why a request is turned away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It was sent to another name than ours.
    #[error("this Host is not served; use the address that the server printed, or start it with --allow-host NAME")]
    Host,
    /// It comes from a page of another site.
    #[error("this Origin is not served; start the server with --allow-host NAME to let its pages in")]
    Origin,
    /// It shows no token, or a wrong one.
    #[error("a bearer token is needed; send the value of AFTERTHOUGHT_TOKEN in the Authorization header")]
    Token,
}

impl Refusal {
    /// Returns the status of the answer.
    #[must_use]
    pub const fn status(self) -> u16 {
        match self {
            Self::Host | Self::Origin => 403,
            Self::Token => 401,
        }
    }
}

impl Door {
    /// Returns the door of a server at `address` that also answers to `names`, and wants `token` where there is one.
    #[must_use]
    pub fn new(address: SocketAddr, names: &[String], token: Option<&str>) -> Self {
        let mut hosts: Vec<String> = LOOPBACK.iter().map(|&name| name.to_owned()).collect();
        if !address.ip().is_unspecified() {
            hosts.push(spelled(address.ip()));
        }
        hosts.extend(names.iter().map(|name| name.trim().to_ascii_lowercase()));
        Self { hosts, token: token.map(hash) }
    }

    /// Decides on a request by the values of its headers `Host`, `Origin` and `Authorization`.
    ///
    /// # Errors
    /// [`Refusal`], in the order of its variants.
    pub fn admit(&self, host: Option<&str>, origin: Option<&str>, authorization: Option<&str>) -> Result<(), Refusal> {
        if !host.is_some_and(|host| self.knows(host)) {
            return Err(Refusal::Host);
        }
        if !origin.is_none_or(|origin| self.knows_page(origin)) {
            return Err(Refusal::Origin);
        }
        let Some(expected) = self.token else { return Ok(()) };
        let shown = authorization.and_then(|value| {
            let (scheme, token) = value.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| hash(token.trim()))
        });
        if shown == Some(expected) { Ok(()) } else { Err(Refusal::Token) }
    }

    fn knows(&self, authority: &str) -> bool {
        let name = name_of(authority).to_ascii_lowercase();
        self.hosts.contains(&name)
    }

    fn knows_page(&self, origin: &str) -> bool {
        let authority = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        authority.is_some_and(|authority| !authority.contains('/') && self.knows(authority))
    }
}

/// Returns an authority without its port.
fn name_of(authority: &str) -> &str {
    let end = authority.rfind(']').map_or(0, |at| at + 1);
    let port = authority[end..].rfind(':').map(|at| end + at);
    port.map_or(authority, |at| &authority[..at])
}

/// Returns an address as it is spelled in an authority.
fn spelled(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    }
}

fn hash(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn door(address: &str, names: &[&str], token: Option<&str>) -> Door {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        Door::new(address.parse().unwrap(), &names, token)
    }

    #[test]
    fn only_our_own_names_are_let_in() {
        let door = door("127.0.0.1:8787", &["Memories.Local"], None);
        for host in ["localhost", "LOCALHOST:8787", "127.0.0.1:1", "[::1]:8787", "[::1]", "memories.local:8787"] {
            assert_eq!(door.admit(Some(host), None, None), Ok(()), "{host}");
        }
        let foreign = [
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example:8787",
            "",
            "192.168.0.2",
            "[::2]",
            "::1",
        ];
        for host in foreign {
            assert_eq!(door.admit(Some(host), None, None), Err(Refusal::Host), "{host}");
        }
        assert_eq!(door.admit(None, None, None), Err(Refusal::Host));
    }

    #[test]
    fn only_our_own_pages_are_let_in() {
        let door = door("[::1]:8787", &[], None);
        for origin in ["http://localhost:3000", "https://127.0.0.1", "http://[::1]:8787"] {
            assert_eq!(door.admit(Some("localhost"), Some(origin), None), Ok(()), "{origin}");
        }
        for origin in ["null", "", "http://evil.example", "file://", "http://localhost/x", "http://a@localhost:1@b"] {
            assert_eq!(door.admit(Some("localhost"), Some(origin), None), Err(Refusal::Origin), "{origin}");
        }
    }

    #[test]
    fn a_token_is_asked_for_where_there_is_one() {
        let door = door("0.0.0.0:8787", &["box.example"], Some("marmalade"));
        for shown in [Some("Bearer marmalade"), Some("bearer  marmalade ")] {
            assert_eq!(door.admit(Some("box.example:8787"), None, shown), Ok(()));
        }
        for shown in [None, Some("Bearer"), Some("Bearer jam"), Some("Basic marmalade"), Some("marmalade")] {
            assert_eq!(door.admit(Some("box.example"), None, shown), Err(Refusal::Token), "{shown:?}");
        }
        assert_eq!(door.admit(Some("0.0.0.0"), None, Some("Bearer marmalade")), Err(Refusal::Host));
    }
}
