//! Server-sent events: a page that is open learns that memories have changed, also through other programs.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use futures::stream::unfold;

use super::Page;
use crate::api::{ApiError, Memories};

/// Time between two looks at the database.
const PAUSE: Duration = Duration::from_secs(1);
/// Looks without an event after which a comment is sent, so that a connection whose client is gone ends.
const SILENCE: u32 = 15;

type State = Option<(i64, i64, i64)>;

/// Returns a response that goes on until the server stops or the client leaves.
pub(super) fn response(page: Arc<Page>) -> Response {
    let first = (page, None, true);
    let events = unfold(first, |(page, known, is_first): (Arc<Page>, State, bool)| async move {
        if is_first {
            // Something is sent at once, so that the client knows that it is connected.
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

/// Returns the state of the memories; a database that cannot be read now may be readable at the next look.
async fn look(page: &Arc<Page>) -> State {
    let pool = page.pool();
    let read = move || {
        pool.with(Memories::state)
            .map_err(|error: ApiError| tracing::debug!("cannot read the state of the memories: {error}"))
    };
    tokio::task::spawn_blocking(read).await.ok()?.ok()
}
