//! The HTTP server: `/mcp` and `/health`, for this machine only, unless a token is set.
//!
//! A web page that a person visits can send requests to that person's machine and, by rebinding its own name to a
//! loopback address, even read the answers. Its name appears in `Host` and `Origin`, so both must be ours.

use std::future::{Future, IntoFuture as _};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use sha2::{Digest, Sha256};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::mcp::MemoryServer;

/// Maximum size of a request's body, in bytes: many times what any tool needs.
pub(crate) const MAX_BODY_BYTES: usize = 1024 * 1024;
/// Time that requests in progress are given when the server stops.
const GRACE: Duration = Duration::from_secs(5);

/// Why the server cannot run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HttpError {
    /// Other machines could access the memories without any restriction.
    #[error("{address} can be reached from other machines; set AFTERTHOUGHT_TOKEN, or use --addr 127.0.0.1:{}", .address.port())]
    NeedsToken {
        /// The address.
        address: SocketAddr,
    },
    /// The address cannot be bound.
    #[error("cannot listen on {address}; end what listens there, or choose another with --addr")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: std::io::Error,
    },
    /// Serving failed.
    #[error("cannot serve")]
    Serve(#[source] std::io::Error),
}

/// Where memories are served, and to which clients.
#[derive(Debug, Clone)]
pub(crate) struct HttpOptions {
    /// The address; port 0 means any free port.
    pub address: SocketAddr,
    /// Further names under which the server can be reached.
    pub names: Vec<String>,
    /// The token that clients must send.
    pub token: Option<String>,
}

/// Binds the address and returns it together with the future that serves `server` there until `stop` is cancelled:
/// after that no new connection is accepted, and requests in progress get five seconds.
///
/// # Errors
/// [`HttpError`] if the address is in use, or if other machines can reach it and there is no token.
pub(crate) async fn listen(
    server: MemoryServer,
    listening: &HttpOptions,
    stop: CancellationToken,
) -> Result<(SocketAddr, impl Future<Output = Result<(), HttpError>>), HttpError> {
    let address = listening.address;
    // A variable that is set but empty must not become a token that everybody can guess.
    let token = listening.token.as_deref().map(str::trim).filter(|token| !token.is_empty());
    if token.is_none() && !address.ip().is_loopback() {
        return Err(HttpError::NeedsToken { address });
    }
    let listener = TcpListener::bind(address).await.map_err(|source| HttpError::Bind { address, source })?;
    // Port 0 is replaced by the port that the system chose.
    let address = listener.local_addr().map_err(|source| HttpError::Bind { address, source })?;
    let router = router(server, AccessPolicy::new(address, &listening.names, token), &stop);
    let ended = stop.clone();
    let serving = axum::serve(listener, router).with_graceful_shutdown(stop.cancelled_owned());
    let served = async move {
        // A client that keeps its connection open would prevent the server from stopping.
        let late = async {
            ended.cancelled().await;
            tokio::time::sleep(GRACE).await;
        };
        tokio::select! {
            outcome = serving.into_future() => outcome.map_err(HttpError::Serve),
            () = late => Ok(()),
        }
    };
    Ok((address, served))
}

/// Every answer is one JSON document, and there are no sessions, so a client does not notice a restart of the server.
fn router(server: MemoryServer, policy: AccessPolicy, stop: &CancellationToken) -> Router {
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(MAX_BODY_BYTES)
        .with_cancellation_token(stop.child_token())
        // The access policy checks both, for every path.
        .disable_allowed_hosts()
        .disable_allowed_origins();
    let mcp = StreamableHttpService::new(move || Ok(server.clone()), Arc::new(NeverSessionManager::default()), config);
    Router::new()
        .route("/health", get(health))
        .nest_service("/mcp", mcp)
        .layer(from_fn_with_state(Arc::new(policy), admit))
}

async fn health() -> Response {
    let body = serde_json::json!({"status": "ok", "version": env!("CARGO_PKG_VERSION")});
    ([(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}

async fn admit(State(policy): State<Arc<AccessPolicy>>, request: Request, next: Next) -> Response {
    let headers = request.headers();
    // HTTP/2 sends the name as `:authority` instead of `Host`.
    let host =
        value(headers, header::HOST).or_else(|| request.uri().authority().map(axum::http::uri::Authority::as_str));
    match policy.admit(host, value(headers, header::ORIGIN), value(headers, header::AUTHORIZATION)) {
        Ok(()) => next.run(request).await,
        Err(refusal) => {
            tracing::warn!("refused a request: {refusal}");
            let status = StatusCode::from_u16(refusal.status()).unwrap_or(StatusCode::FORBIDDEN);
            let mut answer = (status, format!("{refusal}\n")).into_response();
            if status == StatusCode::UNAUTHORIZED {
                let bearer = header::HeaderValue::from_static("Bearer");
                answer.headers_mut().insert(header::WWW_AUTHENTICATE, bearer);
            }
            answer
        }
    }
}

/// Returns the single value of a header. A header that is not text, or that occurs twice, counts as an unknown value.
fn value(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    let first = values.next()?;
    Some(if values.next().is_some() { "" } else { first.to_str().unwrap_or("") })
}

/// Names that always mean this machine.
const LOOPBACK: &[&str] = &["localhost", "127.0.0.1", "[::1]"];

/// The conditions under which a request is served.
#[derive(Debug, Clone)]
pub(crate) struct AccessPolicy {
    /// Allowed names in `Host` and `Origin`, in lower case; ports are ignored.
    hosts: Vec<String>,
    /// Hash of the token, so that comparing takes the same time whatever is guessed.
    token: Option<[u8; 32]>,
}

/// The reason why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    /// It was sent to a name that is not ours.
    #[error("this Host is not served; use the address that the server printed, or start it with --allow-host NAME")]
    Host,
    /// It comes from a page on another site.
    #[error("this Origin is not served; start the server with --allow-host NAME to let its pages in")]
    Origin,
    /// It contains no token, or a wrong one.
    #[error("a bearer token is needed; send the value of AFTERTHOUGHT_TOKEN in the Authorization header")]
    Token,
}

impl Refusal {
    /// Returns the status of the answer.
    #[must_use]
    pub(crate) const fn status(self) -> u16 {
        match self {
            Self::Host | Self::Origin => 403,
            Self::Token => 401,
        }
    }
}

impl AccessPolicy {
    /// Returns the policy of a server at `address` that also answers to `names`, and requires `token` if there is one.
    #[must_use]
    pub(crate) fn new(address: SocketAddr, names: &[String], token: Option<&str>) -> Self {
        let mut hosts: Vec<String> = LOOPBACK.iter().map(|&name| name.to_owned()).collect();
        // The unspecified address is only for listening, and names no host.
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
    pub(crate) fn admit(
        &self,
        host: Option<&str>,
        origin: Option<&str>,
        authorization: Option<&str>,
    ) -> Result<(), Refusal> {
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
    // The colons of an IPv6 address are inside the brackets; the colon of the port follows them.
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

    fn policy(address: &str, names: &[&str], token: Option<&str>) -> AccessPolicy {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        AccessPolicy::new(address.parse().unwrap(), &names, token)
    }

    #[test]
    fn only_our_own_names_are_let_in() {
        let policy = policy("127.0.0.1:8787", &["Memories.Local"], None);
        for host in ["localhost", "LOCALHOST:8787", "127.0.0.1:1", "[::1]:8787", "[::1]", "memories.local:8787"] {
            assert_eq!(policy.admit(Some(host), None, None), Ok(()), "{host}");
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
            assert_eq!(policy.admit(Some(host), None, None), Err(Refusal::Host), "{host}");
        }
        assert_eq!(policy.admit(None, None, None), Err(Refusal::Host));
    }

    #[test]
    fn only_our_own_pages_are_let_in() {
        let policy = policy("[::1]:8787", &[], None);
        for origin in ["http://localhost:3000", "https://127.0.0.1", "http://[::1]:8787"] {
            assert_eq!(policy.admit(Some("localhost"), Some(origin), None), Ok(()), "{origin}");
        }
        for origin in ["null", "", "http://evil.example", "file://", "http://localhost/x", "http://a@localhost:1@b"] {
            assert_eq!(policy.admit(Some("localhost"), Some(origin), None), Err(Refusal::Origin), "{origin}");
        }
    }

    #[test]
    fn a_token_is_asked_for_where_there_is_one() {
        let policy = policy("0.0.0.0:8787", &["box.example"], Some("marmalade"));
        for shown in [Some("Bearer marmalade"), Some("bearer  marmalade ")] {
            assert_eq!(policy.admit(Some("box.example:8787"), None, shown), Ok(()));
        }
        for shown in [None, Some("Bearer"), Some("Bearer jam"), Some("Basic marmalade"), Some("marmalade")] {
            assert_eq!(policy.admit(Some("box.example"), None, shown), Err(Refusal::Token), "{shown:?}");
        }
        assert_eq!(policy.admit(Some("0.0.0.0"), None, Some("Bearer marmalade")), Err(Refusal::Host));
    }
}
