//! Connections of the HTTP servers: limits on their number and on the time for which a client may be silent, and the
//! headers and secrets by which clients are recognised.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderName};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use sha2::{Digest as _, Sha256};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;
use transcripts::hex;
use uuid::Uuid;

/// Maximum number of open connections. Few systems allow a process fewer than 256 files.
const MAX_OPEN: usize = 64;
/// Time that a client has to send the headers of a request, and again to send the body.
pub(super) const READ_TIME: Duration = Duration::from_secs(10);
/// Time that requests in progress are given when the server stops.
const GRACE: Duration = Duration::from_secs(5);
/// Pause before accepting connections again after the system had no file descriptor for a connection.
const PAUSE: Duration = Duration::from_millis(50);

/// An open connection.
struct Client {
    /// Time at which the connection began to wait for a request, in milliseconds since the server started; `BUSY`
    /// during a request.
    waits_since: Arc<AtomicU64>,
    task: AbortHandle,
}

/// Marks a connection whose request is being answered.
const BUSY: u64 = u64::MAX;

/// Serves `router` until `stop` is cancelled; then no new connection is accepted, and requests in progress get five
/// seconds.
pub(super) async fn serve(listener: TcpListener, router: Router, stop: CancellationToken) {
    let (begun, mut tasks, mut clients) = (Instant::now(), JoinSet::new(), Vec::<Client>::new());
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => break,
        };
        while tasks.try_join_next().is_some() {}
        clients.retain(|client| !client.task.is_finished());
        let Ok((stream, _)) = accepted else {
            close_idle(&mut clients);
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        // A client that merely keeps connections open must not lock out others, so the connection that has been silent
        // the longest is closed.
        if clients.len() >= MAX_OPEN && !close_idle(&mut clients) {
            // Requests are being answered on all connections, which does not take long.
            tasks.join_next().await;
            clients.retain(|client| !client.task.is_finished());
        }
        let waits_since = Arc::new(AtomicU64::new(since(begun)));
        let task = tasks.spawn(answer(stream, router.clone(), Arc::clone(&waits_since), begun, stop.clone()));
        clients.push(Client { waits_since, task });
    }
    drop(listener);
    // A client that keeps its connection open would prevent the server from stopping.
    tokio::time::timeout(GRACE, async { while tasks.join_next().await.is_some() {} }).await.ok();
}

/// Returns the single value of a header. A header that is not text or that occurs twice counts as having an unknown
/// value.
pub(super) fn only(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    let first = values.next()?;
    Some(if values.next().is_some() { "" } else { first.to_str().unwrap_or("") })
}

/// Returns a random text that nobody can guess.
pub(super) fn secret() -> String {
    // Each id has 74 random bits.
    let random = [Uuid::now_v7(), Uuid::now_v7()].map(|id| id.to_string()).concat();
    hex(&digest(&random))
}

/// Digests are compared instead of secrets, so that the time of a comparison reveals nothing about the secrets.
pub(super) fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

/// Closes the connection that has waited longest for a request; returns `false` if none is waiting.
fn close_idle(clients: &mut Vec<Client>) -> bool {
    let waiting = clients.iter().enumerate().map(|(at, client)| (client.waits_since.load(Ordering::Relaxed), at));
    match waiting.min().filter(|(since, _)| *since != BUSY) {
        Some((_, at)) => {
            clients.swap_remove(at).task.abort();
            true
        }
        None => false,
    }
}

fn since(begun: Instant) -> u64 {
    u64::try_from(begun.elapsed().as_millis()).unwrap_or(BUSY - 1)
}

/// Answers the requests of one connection.
async fn answer(
    stream: TcpStream,
    router: Router,
    waits_since: Arc<AtomicU64>,
    begun: Instant,
    stop: CancellationToken,
) {
    let service = hyper::service::service_fn(move |request: hyper::Request<Incoming>| {
        waits_since.store(BUSY, Ordering::Relaxed);
        let (reply, waits_since) = (router.clone().oneshot(request.map(Body::new)), Arc::clone(&waits_since));
        async move {
            let reply = reply.await;
            waits_since.store(since(begun), Ordering::Relaxed);
            Ok::<_, Infallible>(reply.unwrap_or_else(|never| match never {}))
        }
    });
    let mut options = http1::Builder::new();
    options.timer(TokioTimer::new()).header_read_timeout(READ_TIME);
    let mut connection = std::pin::pin!(options.serve_connection(TokioIo::new(stream), service));
    // A client that disconnects is not a failure of the server.
    tokio::select! {
        _ = connection.as_mut() => {}
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await.ok();
        }
    }
}
