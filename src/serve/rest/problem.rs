//! Errors of the interface, as documents of the type `application/problem+json` (RFC 9457).

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

#[cfg(feature = "scale")]
use crate::api::ScaleError;
use crate::api::{ApiError, StoreError};
use crate::serve::mcp::tool::{ToolError, error_chain};

/// The type of a body that describes a problem.
pub(super) const CONTENT_TYPE: &str = "application/problem+json";

/// Why a request failed.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::serve) struct Problem {
    /// The kind of problem; always `about:blank`, so the status names it
    #[serde(rename = "type")]
    kind: &'static str,
    /// The name of the status
    title: &'static str,
    /// The status of the answer
    status: u16,
    /// What happened to what, and the remedy
    detail: String,
    /// The memory as it is now, if another change came first
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<crate::serve::mcp::view::MemoryView<'static>>")]
    current: Option<Box<Value>>,
    /// The fields that were sent, if another change came first
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Value>")]
    sent: Option<Box<Value>>,
    /// A further header of the answer.
    #[serde(skip)]
    header: Option<Box<(HeaderName, String)>>,
}

impl Problem {
    pub(in crate::serve) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        let title = status.canonical_reason().unwrap_or("Error");
        let detail = detail.into();
        Self { kind: "about:blank", title, status: status.as_u16(), detail, current: None, sent: None, header: None }
    }

    /// Returns the problem of a request whose method is not one of `allowed`.
    pub(super) fn method(method: &str, path: &str, allowed: String) -> Self {
        let detail = format!("{path} does not support {method}; use {allowed}");
        let header = Some(Box::new((header::ALLOW, allowed)));
        Self { header, ..Self::new(StatusCode::METHOD_NOT_ALLOWED, detail) }
    }

    /// Returns the problem of a change to a memory that has changed since the client read it.
    pub(super) fn outdated(current: Value, version: String, sent: Value) -> Self {
        let detail = "the memory was changed in the meantime; compare `current` with `sent`, and send the change again \
                      with the new ETag in If-Match";
        let (current, sent) = (Some(Box::new(current)), Some(Box::new(sent)));
        let header = Some(Box::new((header::ETAG, version)));
        Self { current, sent, header, ..Self::new(StatusCode::PRECONDITION_FAILED, detail) }
    }

    /// Makes the texts of the memory harmless for an agent.
    pub(super) fn clean(&mut self, clean: fn(&mut Value)) {
        self.current.iter_mut().for_each(|memory| clean(memory));
    }
}

impl From<ApiError> for Problem {
    fn from(error: ApiError) -> Self {
        Self::from(ToolError::Failed(error))
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        ApiError::from(error).into()
    }
}

impl From<ToolError> for Problem {
    fn from(error: ToolError) -> Self {
        let status = match &error {
            ToolError::Arguments { .. } => StatusCode::UNPROCESSABLE_ENTITY,
            ToolError::Failed(error) => status_of(error),
        };
        let detail = error_chain(&error);
        if status.is_server_error() {
            tracing::error!("a request failed: {detail}");
        }
        Self::new(status, detail)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = serde_json::to_string(&self).unwrap_or_default();
        let mut response = (status, [(header::CONTENT_TYPE, CONTENT_TYPE)], body).into_response();
        let header = self.header.and_then(|header| Some((header.0, HeaderValue::try_from(header.1).ok()?)));
        response.headers_mut().extend(header);
        response
    }
}

/// Returns the status of an error, which depends on what a client can do about it.
fn status_of(error: &ApiError) -> StatusCode {
    match error {
        ApiError::Store(error) => status_of_store(error),
        ApiError::OutOfReach { .. }
        | ApiError::Pinned { .. }
        | ApiError::NotMaintainer { .. }
        | ApiError::Unreviewed => StatusCode::FORBIDDEN,
        ApiError::Conflict(_) | ApiError::NotNow { .. } | ApiError::ForgottenText { .. } => StatusCode::CONFLICT,
        ApiError::Invalid(_) | ApiError::Secret { .. } | ApiError::Name(_) | ApiError::TooLong { .. } => {
            StatusCode::UNPROCESSABLE_ENTITY
        }
        // The settings or a server that the user chose are not ready.
        ApiError::NotReady { .. } | ApiError::Model(_) | ApiError::Embed(_) => StatusCode::SERVICE_UNAVAILABLE,
        ApiError::Unusable(_)
        | ApiError::Ingest(_)
        | ApiError::Config(_)
        | ApiError::Naming(_)
        | ApiError::Sync(_)
        | ApiError::Pack(_)
        | ApiError::Adapter(_)
        | ApiError::NoLedger { .. }
        | ApiError::Apply(_)
        | ApiError::Pipeline(_)
        | ApiError::Price { .. } => StatusCode::INTERNAL_SERVER_ERROR,
        #[cfg(feature = "scale")]
        ApiError::Queue(ScaleError::UnknownShard { .. }) => StatusCode::NOT_FOUND,
        #[cfg(feature = "scale")]
        ApiError::Queue(_) => StatusCode::SERVICE_UNAVAILABLE,
    }
}

fn status_of_store(error: &StoreError) -> StatusCode {
    match error {
        StoreError::UnknownMemory { .. }
        | StoreError::ShortId { .. }
        | StoreError::UnknownProject { .. }
        | StoreError::UnknownRun { .. } => StatusCode::NOT_FOUND,
        StoreError::AmbiguousMemory { .. }
        | StoreError::AmbiguousProject { .. }
        | StoreError::Exists { .. }
        | StoreError::NotWaiting { .. }
        | StoreError::NothingToUndo
        | StoreError::RunInProgress { .. }
        | StoreError::RunUndone { .. }
        | StoreError::RunNotUndone { .. }
        | StoreError::NothingToRedo { .. }
        | StoreError::MergeUndone { .. } => StatusCode::CONFLICT,
        StoreError::SelfRelation { .. } => StatusCode::UNPROCESSABLE_ENTITY,
        StoreError::Locked { .. } | StoreError::InUse { .. } => StatusCode::SERVICE_UNAVAILABLE,
        // All others concern the file, which a client cannot repair.
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}
