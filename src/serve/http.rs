//! The HTTP server: `/mcp`, `/api/v1` and `/health`, for clients with the server's token.
//!
//! Other users of the machine can reach every server on it, so even a local server needs a token. A web page can send
//! requests to the machine of a visitor and, after rebinding its own host name to a loopback address, even read the
//! answers. The host name of the page appears in `Host` and `Origin`, so both headers must contain one of our names.

use std::future::Future;
use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{StatusCode, Uri, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::connections::{READ_TIME, digest, only, secret, serve};
use super::mcp::MemoryServer;
use super::pool::MemoryPool;
pub(crate) use super::rest::BASE as API;
use super::rest::{self, Problem, ProgramServer};
use crate::private;

/// Maximum size of a request's body, in bytes; far more than any tool needs.
pub(crate) const MAX_BODY_BYTES: usize = 1024 * 1024;

/// The reason why the server cannot run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HttpError {
    /// Other machines could access the memories without any restriction.
    #[error("{address} can be reached from other machines; set AFTERTHOUGHT_TOKEN, or use --addr 127.0.0.1:{}", .address.port())]
    NeedsToken {
        /// The address.
        address: SocketAddr,
    },
    /// Other machines could reach the page.
    #[error("{address} can be reached from other machines, but the page is only for this one; use --addr 127.0.0.1:{}", .address.port())]
    NotLoopback {
        /// The address.
        address: SocketAddr,
    },
    /// The address cannot be bound.
    #[error("cannot listen on {address}; stop the program that listens there, or choose another address with --addr")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// The error from the system.
        source: std::io::Error,
    },
    /// The file with the token cannot be used.
    #[error("cannot use the token in {}; remove the file, or set AFTERTHOUGHT_TOKEN", .path.display())]
    Token {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
}

/// Address, names and token of the server.
#[derive(Debug)]
pub(crate) struct HttpOptions {
    /// The address; port 0 means any free port.
    pub address: SocketAddr,
    /// Additional names of the server.
    pub names: Vec<String>,
    /// The token that clients must send, if the user chose one.
    pub token: Option<String>,
    /// The file with the token, if the user chose none; created if missing.
    pub token_file: PathBuf,
    /// Every namespace, if programs act for the owner of the memories.
    pub owned: Option<Arc<MemoryPool>>,
}

/// A server that is listening.
pub(crate) struct HttpServer<F> {
    /// The address that the server listens on.
    pub address: SocketAddr,
    /// The file with the server's token, if the file has just been created.
    pub new_token_file: Option<PathBuf>,
    /// A future that serves until the server is stopped.
    pub serving: F,
}

/// Binds the address, and returns the future that serves `server` until `stop` is cancelled. After that, no new
/// connections are accepted, and requests in progress get five seconds.
///
/// # Errors
/// [`HttpError`] if the address is in use, if other machines can reach it and the user chose no token, or if
/// there is no place for a token.
pub(crate) async fn listen(
    server: MemoryServer,
    listening: HttpOptions,
    stop: CancellationToken,
) -> Result<HttpServer<impl Future<Output = ()>>, HttpError> {
    let address = listening.address;
    // An empty environment variable must not become a token that anyone could guess.
    let chosen = listening.token.as_deref().map(str::trim).filter(|token| !token.is_empty());
    if chosen.is_none() && !address.ip().is_loopback() {
        return Err(HttpError::NeedsToken { address });
    }
    let (listener, address) = bind(address).await?;
    let path = &listening.token_file;
    let (token, is_new) = match chosen {
        Some(token) => (token.to_owned(), false),
        None => own_token(path).map_err(|source| HttpError::Token { path: path.clone(), source })?,
    };
    server.maintain_until(stop.clone());
    let new_token_file = is_new.then(|| path.clone());
    let is_owner = listening.owned.is_some();
    let programs = ProgramServer::new(listening.owned.unwrap_or_else(|| server.pool()), is_owner);
    let router = router(server, programs, AccessPolicy::new(address, &listening.names, &token), &stop);
    Ok(HttpServer { address, new_token_file, serving: serve(listener, router, stop) })
}

/// Binds the address, and returns it with the port that the system chose in place of port 0.
pub(super) async fn bind(address: SocketAddr) -> Result<(TcpListener, SocketAddr), HttpError> {
    let bound = TcpListener::bind(address).await.and_then(|listener| listener.local_addr().map(|own| (listener, own)));
    bound.map_err(|source| HttpError::Bind { address, source })
}

/// Returns the token in the file, and whether the file was created because it did not exist.
fn own_token(path: &Path) -> io::Result<(String, bool)> {
    if let Some(folder) = path.parent() {
        private::create_folder(folder)?;
    }
    match private::options().write(true).create_new(true).open(path) {
        Ok(mut file) => {
            let token = secret();
            writeln!(file, "{token}")?;
            return Ok((token, true));
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    let (mut token, mut file) = (String::new(), private::options().read(true).open(path)?);
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let data = file.metadata()?;
        if data.uid() != rustix::process::geteuid().as_raw() || data.mode() & 0o077 != 0 {
            return Err(io::Error::other("other users can read or write the file"));
        }
    }
    file.read_to_string(&mut token)?;
    let token = token.trim();
    if token.len() < MIN_TOKEN {
        return Err(io::Error::other(format!("the token has fewer than {MIN_TOKEN} characters")));
    }
    Ok((token.to_owned(), false))
}

/// Minimum length of a token in the file, in bytes.
const MIN_TOKEN: usize = 32;

/// Every answer is one JSON document, and there are no sessions, so a client does not notice a restart of the server.
fn router(server: MemoryServer, programs: ProgramServer, policy: AccessPolicy, stop: &CancellationToken) -> Router {
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(MAX_BODY_BYTES)
        .with_cancellation_token(stop.child_token())
        // The access policy checks hosts and origins for every path.
        .disable_allowed_hosts()
        .disable_allowed_origins();
    let mcp = StreamableHttpService::new(move || Ok(server.clone()), Arc::new(NeverSessionManager::default()), config);
    Router::new()
        .route("/health", get(health))
        .nest_service("/mcp", mcp)
        .nest(rest::BASE, rest::router(programs))
        .fallback(elsewhere)
        .layer(from_fn_with_state(Arc::new(policy), admit))
}

async fn elsewhere(uri: Uri) -> Problem {
    let detail = format!("there is nothing at {}; this server answers at /mcp, {API} and /health", uri.path());
    Problem::new(StatusCode::NOT_FOUND, detail)
}

async fn health() -> Response {
    let body = serde_json::json!({"status": "ok", "version": env!("CARGO_PKG_VERSION")});
    ([(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}

async fn admit(State(policy): State<Arc<AccessPolicy>>, request: Request, next: Next) -> Response {
    let headers = request.headers();
    // HTTP/2 sends the name as `:authority` instead of `Host`.
    let host =
        only(headers, header::HOST).or_else(|| request.uri().authority().map(axum::http::uri::Authority::as_str));
    match policy.admit(host, only(headers, header::ORIGIN), only(headers, header::AUTHORIZATION)) {
        Ok(()) => answer(request, next).await,
        Err(refusal) => {
            tracing::warn!("refused a request: {refusal}");
            let status = StatusCode::from_u16(refusal.status()).unwrap_or(StatusCode::FORBIDDEN);
            let mut answer = refused(&request.into_parts().0, status, &refusal.to_string());
            if status == StatusCode::UNAUTHORIZED {
                let bearer = header::HeaderValue::from_static("Bearer");
                answer.headers_mut().insert(header::WWW_AUTHENTICATE, bearer);
            }
            answer
        }
    }
}

/// Refuses a request in the form that its client reads.
fn refused(head: &Parts, status: StatusCode, reason: &str) -> Response {
    if head.uri.path().starts_with(rest::BASE) {
        Problem::new(status, reason).into_response()
    } else {
        (status, format!("{reason}\n")).into_response()
    }
}

/// Answers an admitted request, once its body has arrived.
async fn answer(request: Request, next: Next) -> Response {
    let is_json =
        only(request.headers(), header::CONTENT_TYPE).is_some_and(|kind| kind.starts_with("application/json"));
    let (head, body) = request.into_parts();
    let body = match tokio::time::timeout(READ_TIME, to_bytes(body, MAX_BODY_BYTES)).await {
        Ok(Ok(body)) => body,
        Ok(Err(_)) => return refused(&head, StatusCode::PAYLOAD_TOO_LARGE, "the body is longer than 1 MiB"),
        Err(_) => return refused(&head, StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time"),
    };
    if head.uri.path().starts_with(rest::BASE) {
        return next.run(Request::from_parts(head, Body::from(body))).await;
    }
    let is_readable = serde_json::from_slice::<serde::de::IgnoredAny>(&body).is_ok();
    let answer = next.run(Request::from_parts(head, Body::from(body))).await;
    if !is_json || answer.status() != StatusCode::UNSUPPORTED_MEDIA_TYPE {
        return answer;
    }
    // The content type is right, but the body is not a message of the protocol.
    let (code, message) = if is_readable { (-32_600, "Invalid Request") } else { (-32_700, "Parse error") };
    let error = serde_json::json!({"jsonrpc": "2.0", "id": null, "error": {"code": code, "message": message}});
    (StatusCode::BAD_REQUEST, [(header::CONTENT_TYPE, "application/json")], error.to_string()).into_response()
}

/// Names that always mean this machine.
const LOOPBACK: &[&str] = &["localhost", "127.0.0.1", "[::1]"];

/// The conditions under which a request is served.
#[derive(Debug, Clone)]
pub(crate) struct AccessPolicy {
    /// Allowed names in `Host` and `Origin`, in lower case; ports are ignored.
    hosts: Vec<String>,
    /// Hash of the token, so that the time of a comparison is the same for every guess.
    token: [u8; 32],
}

/// The reason why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    /// The request was sent to a host name that is not ours.
    #[error("this Host is not allowed; use the address that the server printed, or start it with --allow-host NAME")]
    Host,
    /// The request comes from a page on another site.
    #[error("this Origin is not allowed; start the server with --allow-host NAME to accept its pages")]
    Origin,
    /// The request contains no token, or a wrong one.
    #[error(
        "the Authorization header must contain a bearer token: the value of AFTERTHOUGHT_TOKEN, or the content of the \
         token file whose path the server printed when it first started"
    )]
    Token,
}

impl Refusal {
    /// Returns the status of the answer.
    pub(crate) const fn status(self) -> u16 {
        match self {
            Self::Host | Self::Origin => 403,
            Self::Token => 401,
        }
    }
}

impl AccessPolicy {
    /// Returns the policy of a server at `address` that also answers to `names`, and requires `token`.
    pub(crate) fn new(address: SocketAddr, names: &[String], token: &str) -> Self {
        let mut hosts: Vec<String> = LOOPBACK.iter().map(|&name| name.to_owned()).collect();
        // The unspecified address is used only for listening and is not a host name.
        if !address.ip().is_unspecified() {
            hosts.push(spelled(address.ip()));
        }
        hosts.extend(names.iter().map(|name| name.trim().to_ascii_lowercase()));
        Self { hosts, token: digest(token) }
    }

    /// Decides whether to admit a request, using its headers `Host`, `Origin` and `Authorization`.
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
        let shown = authorization.and_then(|value| {
            let (scheme, token) = value.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| digest(token.trim()))
        });
        if shown == Some(self.token) { Ok(()) } else { Err(Refusal::Token) }
    }

    fn knows(&self, authority: &str) -> bool {
        let name = name_of(authority);
        let port = &authority[name.len()..];
        let is_port = port.is_empty() || port.len() > 1 && port[1..].bytes().all(|byte| byte.is_ascii_digit());
        is_port && self.hosts.contains(&name.to_ascii_lowercase())
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

/// Returns an address in the form used in an authority.
fn spelled(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: Option<&str> = Some("Bearer marmalade");

    fn policy(address: &str, names: &[&str]) -> AccessPolicy {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        AccessPolicy::new(address.parse().unwrap(), &names, "marmalade")
    }

    #[test]
    fn only_our_own_names_are_let_in() {
        let policy = policy("127.0.0.1:8787", &["Memories.Local"]);
        for host in ["localhost", "LOCALHOST:8787", "127.0.0.1:1", "[::1]:8787", "[::1]", "memories.local:8787"] {
            assert_eq!(policy.admit(Some(host), None, TOKEN), Ok(()), "{host}");
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
        let policy = policy("[::1]:8787", &[]);
        for origin in ["http://localhost:3000", "https://127.0.0.1", "http://[::1]:8787"] {
            assert_eq!(policy.admit(Some("localhost"), Some(origin), TOKEN), Ok(()), "{origin}");
        }
        for origin in ["null", "", "http://evil.example", "file://", "http://localhost/x", "http://a@localhost:1@b"] {
            assert_eq!(policy.admit(Some("localhost"), Some(origin), None), Err(Refusal::Origin), "{origin}");
        }
    }

    #[test]
    fn a_token_is_asked_for() {
        let policy = policy("0.0.0.0:8787", &["box.example"]);
        for shown in [Some("Bearer marmalade"), Some("bearer  marmalade ")] {
            assert_eq!(policy.admit(Some("box.example:8787"), None, shown), Ok(()));
        }
        for shown in [None, Some("Bearer"), Some("Bearer jam"), Some("Basic marmalade"), Some("marmalade")] {
            assert_eq!(policy.admit(Some("box.example"), None, shown), Err(Refusal::Token), "{shown:?}");
        }
        assert_eq!(policy.admit(Some("0.0.0.0"), None, Some("Bearer marmalade")), Err(Refusal::Host));
    }

    #[test]
    fn a_token_is_written_once_and_must_be_private() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state/http-token");
        let (token, is_new) = own_token(&path).unwrap();
        assert!(token.len() == 64 && is_new);
        assert_eq!(own_token(&path).unwrap(), (token.clone(), false));
        let other = own_token(&folder.path().join("other")).unwrap().0;
        assert_ne!(other, token);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let allow = |mode| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
            allow(0o640);
            assert!(own_token(&path).is_err());
            allow(0o600);
        }
        std::fs::write(&path, "short").unwrap();
        assert!(own_token(&path).is_err());
    }
}
