//! The page on which people view their memories in a browser.
//!
//! ```text
//! request ─▶ Access ─▶ Visit ─▶ view ─▶ api ─▶ Reply ─▶ template ─▶ language ─▶ response
//! ```
//!
//! Pages are rendered here and work without JavaScript; `page.js` adds keyboard shortcuts and search as you type. A
//! page loads only its own style sheet and script.

mod access;
mod analytics;
mod change;
mod evals;
mod events;
mod graph;
mod inbox;
mod language;
mod memory;
mod project;
#[cfg(feature = "scale")]
mod queue;
mod render;
mod runs;
mod search;
mod settings;
mod state;
mod timeline;
mod visit;

use std::future::Future;
use std::sync::{Arc, RwLock};

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use self::access::{Access, Admission, Refusal};
use self::language::Language;
use self::state::Page;
pub(crate) use self::state::PageOptions;
use self::visit::{Reply, Visit, fields};
use super::connections::{READ_TIME, serve};
use super::http::{HttpError, bind};
use crate::api::{ApiError, Filter, Memories, StoreError};
use crate::config::Config;

/// Maximum size of a form, in bytes: enough for the longest memory, with each character encoded in nine bytes.
const MAX_FORM_BYTES: usize = 256 * 1024;
/// Allows only the style sheet and the script of this server, no frames, and no forms that are sent to other servers.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; \
                      form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/// Binds the address. Returns the URL to open, which contains the token, and the future that serves the page until
/// `stop` is cancelled.
///
/// # Errors
/// [`HttpError`] if the address is in use, or can be reached from other machines.
pub(crate) async fn listen(
    config: Config,
    options: PageOptions,
    stop: CancellationToken,
) -> Result<(String, impl Future<Output = ()>), HttpError> {
    let address = options.address;
    if !address.ip().is_loopback() {
        return Err(HttpError::NotLoopback { address });
    }
    let (listener, address) = bind(address).await?;
    let access = Access::new(address);
    let entry = format!("http://{address}/?token={}", access.entry().unwrap_or_default());
    let pool = Arc::new(options.pool(config));
    Arc::clone(&pool).maintain_until(stop.clone());
    let pool = RwLock::new(pool);
    let page = Arc::new(Page { access, pool, options, stop: stop.clone() });
    let router = Router::new().fallback(answer).with_state(page);
    Ok((entry, serve(listener, router, stop)))
}

async fn answer(State(page): State<Arc<Page>>, request: Request) -> Response {
    let mut response = page.respond(request).await;
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // With `no-referrer`, browsers would send `Origin: null` with our own forms.
        (header::REFERRER_POLICY, "same-origin"),
        (header::CACHE_CONTROL, "no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

impl Page {
    async fn respond(self: Arc<Self>, request: Request) -> Response {
        let (parts, body) = request.into_parts();
        let language = Language::of(&parts.headers);
        if let Err(refusal) = self.access.is_ours(&parts) {
            return refused(refusal, language);
        }
        match parts.uri.path() {
            "/page.css" => return asset("text/css; charset=utf-8", include_str!("page.css")),
            "/page.js" => return asset("text/javascript; charset=utf-8", include_str!("page.js")),
            _ => {}
        }
        let query = fields(parts.uri.query().unwrap_or_default().as_bytes());
        let token = query.iter().find(|(name, _)| name == "token").map(|(_, token)| token.as_str());
        match self.access.admit(&parts, token) {
            Ok(Admission::Granted) => {}
            Ok(Admission::Entered(cookie)) => {
                // A redirect would not work: the browser would withhold the cookie if the URL was opened from another
                // site or file.
                let mut response = shown(StatusCode::OK, language, "entered", json!({}));
                response.headers_mut().extend(HeaderValue::try_from(cookie).map(|cookie| (header::SET_COOKIE, cookie)));
                return response;
            }
            Err(refusal) => return refused(refusal, language),
        }
        if parts.uri.path() == "/events" && parts.method == Method::GET {
            return events::response(self);
        }
        let form = match parts.method {
            Method::GET | Method::HEAD => None,
            Method::POST => match tokio::time::timeout(READ_TIME, axum::body::to_bytes(body, MAX_FORM_BYTES)).await {
                Ok(Ok(bytes)) => Some(fields(&bytes)),
                Ok(Err(_)) => return message(StatusCode::PAYLOAD_TOO_LARGE, language, "too_long", ""),
                Err(_) => return message(StatusCode::REQUEST_TIMEOUT, language, "failed", ""),
            },
            _ => return message(StatusCode::METHOD_NOT_ALLOWED, language, "not_found", ""),
        };
        let (path, form_token) = (parts.uri.path().to_owned(), self.access.form_token());
        let (settings_file, evals) = (self.options.settings_file.clone(), self.options.evals.clone());
        let visit = Visit { path, query, form, form_token, language, settings_file, evals };
        if visit.form.is_some()
            && let Err(refusal) = self.access.admit_form(visit.sent("form_token"))
        {
            return refused(refusal, language);
        }
        let changes = visit.form.is_some() && visit.path != "/language";
        if changes && self.options.read_only {
            return message(StatusCode::FORBIDDEN, language, "read_only", "");
        }
        let page = Arc::clone(&self);
        // Reading the file blocks, as does waiting for another process that writes it.
        let done = tokio::task::spawn_blocking(move || {
            let reply = page.pool().with(|memories| match page.view(memories, &visit)? {
                Reply::Page(template, values) => Ok(Reply::Page(template, page.framed(memories, &visit, values)?)),
                Reply::Conflict(values) => Ok(Reply::Conflict(page.framed(memories, &visit, values)?)),
                other => Ok(other),
            });
            if matches!(reply, Ok(Reply::SettingsChanged(_))) {
                page.reload();
            }
            finished(reply, &visit)
        });
        let Ok(response) = done.await else {
            return message(StatusCode::INTERNAL_SERVER_ERROR, language, "failed", "");
        };
        if changes && response.status().is_redirection() {
            // Vectors are computed after the response, on a separate thread, because a store can be used by only one
            // thread at a time.
            let runtime = tokio::runtime::Handle::current();
            tokio::task::spawn_blocking(move || runtime.block_on(self.pool().embed()));
        }
        response
    }

    #[cfg_attr(not(feature = "scale"), expect(clippy::unused_self, reason = "only other builds have a queue"))]
    fn view(&self, memories: &Memories, visit: &Visit) -> Result<Reply, ApiError> {
        #[cfg(feature = "scale")]
        if let (Some(queue), "/queue", None) = (&self.options.queue, visit.path.as_str(), &visit.form) {
            return Ok(queue::show(queue));
        }
        view(memories, visit)
    }

    /// Adds to the values of a page those that every page needs.
    fn framed(&self, memories: &Memories, visit: &Visit, values: Value) -> Result<Value, ApiError> {
        let undecided = Filter { statuses: Vec::new(), undecided: true, ..Filter::default() };
        let frame = json!({
            "form_token": visit.form_token, "here": visit.here(), "done": visit.asked("done"),
            "run_done": visit.asked("run"), "can_change": memories.can_write(), "has_queue": self.has_queue(),
            "waiting": memories.count_memories(undecided)?,
        });
        Ok(merged(frame, values))
    }

    #[cfg(feature = "scale")]
    const fn has_queue(&self) -> bool {
        self.options.queue.is_some()
    }

    #[cfg(not(feature = "scale"))]
    #[expect(clippy::unused_self, reason = "only other builds have a queue")]
    const fn has_queue(&self) -> bool {
        false
    }
}

/// Answers a request with the view for its path.
fn view(memories: &Memories, visit: &Visit) -> Result<Reply, ApiError> {
    let segments: Vec<&str> = visit.path.split('/').filter(|part| !part.is_empty()).collect();
    match (visit.form.is_some(), segments.as_slice()) {
        (false, []) => search::show(memories, visit),
        // A reload of the page that refused an outdated form leads to the memory.
        (false, ["memory", id] | ["memory", id, "edit"]) => memory::show(memories, visit, id),
        (false, ["memory", id, "quote"]) => memory::quote(memories, visit, id),
        (false, ["memory", id, "merge"]) => memory::show_merge(memories, visit, id),
        (true, ["memory", id, "merge"]) => memory::merge(memories, visit, id),
        (true, ["memory", id, verb]) => memory::change(memories, visit, id, verb),
        (false, ["erase"]) => memory::would_erase(memories, visit),
        (true, ["erase"]) => memory::erase(memories, visit),
        (false, ["inbox"]) => inbox::show(memories, visit),
        (true, ["inbox"]) => inbox::judge(memories, visit),
        (false, ["projects"]) => project::list(memories),
        (false, ["project"]) => project::show(memories, visit),
        (false, ["file"]) => project::file(memories, visit),
        (false, ["timeline"]) => timeline::show(memories, visit),
        (false, ["brief"]) => search::brief(memories, visit),
        (false, ["runs"]) => runs::list(memories, visit),
        (false, ["runs", id]) => runs::show(memories, visit, id),
        (true, ["runs", id, "undo"]) => runs::undo(memories, visit, id),
        (false, ["graph"]) => graph::show(memories, visit),
        (false, ["analytics"]) => analytics::show(memories, visit),
        (false, ["evals"]) => Ok(evals::show(memories, visit)),
        (true, ["retry"]) => runs::retry(memories, visit),
        (false, ["health"]) => runs::health(memories, visit),
        (false, ["settings"]) => Ok(settings::show(memories, visit)),
        (true, ["settings"]) => settings::change(visit),
        (true, ["language"]) => Ok(visit.chosen_language()),
        _ => Ok(Reply::NotFound),
    }
}

/// Returns the response to a request.
fn finished(reply: Result<Reply, ApiError>, visit: &Visit) -> Response {
    let language = visit.language;
    match reply {
        Ok(Reply::Page(template, values)) => shown(StatusCode::OK, language, template, values),
        Ok(Reply::Conflict(values)) => shown(StatusCode::CONFLICT, language, "conflict", values),
        Ok(Reply::SeeOther(address) | Reply::SettingsChanged(address)) => see_other(&address),
        Ok(Reply::Language(chosen, address)) => {
            let mut response = see_other(&address);
            let (name, code) = (language::COOKIE, chosen.as_str());
            let cookie = format!("{name}={code}; HttpOnly; SameSite=Strict; Path=/; Max-Age=31536000");
            response.headers_mut().extend(HeaderValue::try_from(cookie).map(|cookie| (header::SET_COOKIE, cookie)));
            response
        }
        Ok(Reply::NotFound) => message(StatusCode::NOT_FOUND, language, "not_found", ""),
        Err(ApiError::Store(
            error @ (StoreError::UnknownMemory { .. }
            | StoreError::AmbiguousMemory { .. }
            | StoreError::ShortId { .. }
            | StoreError::UnknownRun { .. }),
        )) => message(StatusCode::NOT_FOUND, language, "not_found", &language.error(&error.to_string())),
        Err(error @ ApiError::NotNow { .. }) => {
            let detail = language.error(&error.to_string());
            let ApiError::NotNow { id, .. } = error else { unreachable!("matched above") };
            let values = json!({"key": "refused", "detail": detail, "memory": id});
            shown(StatusCode::CONFLICT, language, "message", values)
        }
        Err(ApiError::Config(error)) if visit.form.is_some() => {
            let detail = language.error(&error.to_string());
            let values = json!({"key": "refused", "detail": detail, "settings": true});
            shown(StatusCode::UNPROCESSABLE_ENTITY, language, "message", values)
        }
        Err(error) => {
            // An error while handling a form is attributed to the submitted values; an error while showing a page is
            // attributed to the database file.
            let status =
                if visit.form.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::INTERNAL_SERVER_ERROR };
            message(status, language, "failed", &language.error(&error.to_string()))
        }
    }
}

fn refused(refusal: Refusal, language: Language) -> Response {
    message(StatusCode::FORBIDDEN, language, refusal.as_str(), "")
}

/// Returns a page that explains what happened, and what to do.
fn message(status: StatusCode, language: Language, key: &str, detail: &str) -> Response {
    shown(status, language, "message", json!({"key": key, "detail": detail}))
}

fn shown(status: StatusCode, language: Language, template: &str, values: Value) -> Response {
    let frame = json!({"language": language, "lang": language.tag(), "languages": Language::ALL, "view": template});
    match render::render(template, &merged(frame, values)) {
        Ok(body) => (status, [(header::CONTENT_TYPE, "text/html; charset=utf-8")], body).into_response(),
        Err(error) => {
            tracing::error!("cannot render the page {template}: {error:#}");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

fn merged(mut frame: Value, values: Value) -> Value {
    if let (Value::Object(frame), Value::Object(values)) = (&mut frame, values) {
        frame.extend(values);
    }
    frame
}

fn see_other(address: &str) -> Response {
    (StatusCode::SEE_OTHER, [(header::LOCATION, address.to_owned())]).into_response()
}

fn asset(kind: &'static str, text: &'static str) -> Response {
    ([(header::CONTENT_TYPE, kind)], text).into_response()
}
