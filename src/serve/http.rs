//! The server over HTTP: `/mcp` and `/health`, for this machine alone unless a token is set.

use std::future::{Future, IntoFuture as _};
use std::net::SocketAddr;
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
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::Door;
use super::mcp::MemoryServer;

/// Longest body of a request, in bytes: many times what any tool takes.
pub const MAX_BODY_BYTES: usize = 1024 * 1024;
/// How long requests that are under way may take when the server is told to end.
const GRACE: Duration = Duration::from_secs(5);

/// Why nothing is served.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// Others could reach the memories, and nothing would keep them out.
    #[error("{address} can be reached from other machines; set AFTERTHOUGHT_TOKEN, or use --addr 127.0.0.1:{}", .address.port())]
    NeedsToken {
        /// The address.
        address: SocketAddr,
    },
    /// The address cannot be taken.
    #[error("cannot listen on {address}; end what listens there, or choose another with --addr")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: std::io::Error,
    },
    /// The connection to the network broke.
    #[error("cannot serve")]
    Serve(#[source] std::io::Error),
}

/// Where and to whom memories are served.
#[derive(Debug, Clone)]
pub struct Listening {
    /// The address; port 0 takes a free one.
    pub address: SocketAddr,
    /// Further names that the server is reached by.
    pub names: Vec<String>,
    /// What clients must show.
    pub token: Option<String>,
}

/// Takes the address and returns it with the future that serves `server` there until `stop` comes: then no new connection
/// is taken, and requests that are under way have five seconds.
///
/// # Errors
/// [`HttpError`] if the address is taken, or can be reached by others and there is no token.
pub async fn listen(
    server: MemoryServer,
    listening: &Listening,
    stop: CancellationToken,
) -> Result<(SocketAddr, impl Future<Output = Result<(), HttpError>>), HttpError> {
    let address = listening.address;
    let token = listening.token.as_deref().map(str::trim).filter(|token| !token.is_empty());
    if token.is_none() && !address.ip().is_loopback() {
        return Err(HttpError::NeedsToken { address });
    }
    let listener = TcpListener::bind(address).await.map_err(|source| HttpError::Bind { address, source })?;
    let address = listener.local_addr().map_err(|source| HttpError::Bind { address, source })?;
    let router = router(server, Door::new(address, &listening.names, token), &stop);
    let ended = stop.clone();
    let serving = axum::serve(listener, router).with_graceful_shutdown(stop.cancelled_owned());
    let served = async move {
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

/// Every answer is one JSON document, and no session is kept: a client does not notice that the server was started anew.
fn router(server: MemoryServer, door: Door, stop: &CancellationToken) -> Router {
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(MAX_BODY_BYTES)
        .with_cancellation_token(stop.child_token())
        // The doorman looks at both, for every path.
        .disable_allowed_hosts()
        .disable_allowed_origins();
    let mcp = StreamableHttpService::new(move || Ok(server.clone()), Arc::new(NeverSessionManager::default()), config);
    Router::new()
        .route("/health", get(health))
        .nest_service("/mcp", mcp)
        .layer(from_fn_with_state(Arc::new(door), admit))
}

async fn health() -> Response {
    let body = serde_json::json!({"status": "ok", "version": env!("CARGO_PKG_VERSION")});
    ([(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}

async fn admit(State(door): State<Arc<Door>>, request: Request, next: Next) -> Response {
    let headers = request.headers();
    let host =
        value(headers, header::HOST).or_else(|| request.uri().authority().map(axum::http::uri::Authority::as_str));
    match door.admit(host, value(headers, header::ORIGIN), value(headers, header::AUTHORIZATION)) {
        Ok(()) => next.run(request).await,
        Err(refusal) => {
            tracing::warn!("turned a request away: {refusal}");
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

/// Returns the only value of a header. One that is no text, or comes twice, is a value that nobody knows.
fn value(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    let first = values.next()?;
    Some(if values.next().is_some() { "" } else { first.to_str().unwrap_or("") })
}
