//! Server-sent events: notifies open pages of changed memories, including changes by other programs.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use futures::stream::unfold;

use super::state::Page;
use crate::api::{ApiError, Memories};

/// Interval between checks of the database.
const PAUSE: Duration = Duration::from_secs(1);
/// Number of checks without an event after which a comment is sent, so that a connection ends if its client has left.
const SILENCE: u32 = 15;

type State = Option<(i64, i64, i64)>;

/// Returns a response that continues until the server stops or the client leaves.
pub(super) fn response(page: Arc<Page>) -> Response {
    let first = (page, None, true);
    let events = unfold(first, |(page, known, is_first): (Arc<Page>, State, bool)| async move {
        if is_first {
            // The first event is sent immediately, so that the client knows that it is connected.
            let state = look(&page).await;
            return Some((Ok::<_, Infallible>("retry: 2000\n\n"), (page, state, false)));
        }
        for _ in 0..SILENCE {
            tokio::select! {
                () = tokio::time::sleep(PAUSE) => {}
                () = page.stop.cancelled() => return None,
            }
            let state = look(&page).await;
            if state.is_some() && state != known {
                return Some((Ok("event: change\ndata:\n\n"), (page, state, false)));
            }
        }
        Some((Ok(":\n\n"), (page, known, false)))
    });
    ([(header::CONTENT_TYPE, "text/event-stream")], Body::from_stream(events)).into_response()
}

/// Returns the state of the memories; a database that cannot be read now may be readable at the next check.
async fn look(page: &Arc<Page>) -> State {
    let pool = page.pool();
    let read = move || {
        pool.with(Memories::state)
            .map_err(|error: ApiError| tracing::debug!("cannot read the state of the memories: {error}"))
    };
    tokio::task::spawn_blocking(read).await.ok()?.ok()
}
