//! The interface for programs: resources under `/api/v1`, and their description as an `OpenAPI` document.
//!
//! ```text
//! request ─▶ route ─▶ arguments (path, query, body) ─▶ MCP tool or own operation ─▶ api ─▶ answer or problem
//! ```
//!
//! Operations are tools of MCP or have the same form, so agents and programs get the same checks and messages.

mod answers;
mod openapi;
mod operations;
mod problem;
mod routes;

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{RawPathParams, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{any, get};
use serde_json::{Map, Value};

use self::operations::{ExportArguments, export, version_of};
pub(super) use self::problem::Problem;
use self::routes::{Access, Endpoint, ROUTES, Run};
use super::mcp::Effect;
use super::mcp::tool::{ToolRow, read_arguments};
use super::mcp::view::whole;
use super::pool::MemoryPool;
use crate::api::{ApiError, Memories};
use crate::memory::{Memory, Namespace};

pub(crate) use openapi::BASE;

/// The memories that programs can access, and the decisions that programs may make about them.
#[derive(Clone)]
pub(super) struct ProgramServer {
    pool: Arc<MemoryPool>,
    /// Whether clients act for the owner of the memories.
    is_owner: bool,
}

impl ProgramServer {
    pub(super) fn new(pool: Arc<MemoryPool>, is_owner: bool) -> Self {
        Self { pool, is_owner }
    }
}

/// Returns the routes of the interface, relative to [`BASE`].
pub(super) fn router(programs: ProgramServer) -> Router {
    let mut by_path: BTreeMap<&str, Vec<&'static Endpoint>> = BTreeMap::new();
    for route in ROUTES {
        by_path.entry(route.path).or_default().push(route);
    }
    let mut router = Router::new().route("/openapi.json", get(describe));
    for (path, routes) in by_path {
        let serve = async move |State(programs): State<ProgramServer>, parameters: RawPathParams, request: Request| {
            let asked = Asked::read(&routes, &parameters, request).await;
            match asked {
                Ok(asked) => programs.answer(asked).await.unwrap_or_else(Problem::into_response),
                Err(problem) => problem.into_response(),
            }
        };
        router = router.route(path, any(serve));
    }
    router.fallback(unknown).with_state(programs)
}

async fn describe() -> Response {
    json_response(openapi::document())
}

async fn unknown(request: Request) -> Problem {
    let path = request.uri().path();
    Problem::new(StatusCode::NOT_FOUND, format!("there is nothing at {BASE}{path}; see {BASE}/openapi.json"))
}

fn json_response(document: &Value) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], document.to_string()).into_response()
}

/// The operation that a request calls.
struct Asked {
    route: &'static Endpoint,
    arguments: Map<String, Value>,
    namespace: Option<Namespace>,
    /// Whether texts are returned exactly as they are stored.
    is_exact: bool,
    /// The version of the memory that the change is based on.
    version: Option<String>,
}

impl Asked {
    async fn read(routes: &[&'static Endpoint], parameters: &RawPathParams, request: Request) -> Result<Self, Problem> {
        let (head, body) = request.into_parts();
        let Some(route) = routes.iter().find(|route| route.verb.is(&head.method)) else {
            let allowed: Vec<&str> = routes.iter().map(|route| route.verb.as_str()).collect();
            let path = format!("{BASE}{}", head.uri.path());
            return Err(Problem::method(head.method.as_str(), &path, allowed.join(", ")));
        };
        let input = (route.input)();
        let (mut namespace, mut is_exact, mut texts) = (None, false, BTreeMap::<String, Vec<String>>::new());
        for (name, text) in form_urlencoded::parse(head.uri.query().unwrap_or_default().as_bytes()) {
            match name.as_ref() {
                "namespace" => namespace = Some(text.parse::<Namespace>().map_err(ApiError::from)?),
                "exact" if text == "true" => is_exact = true,
                "exact" if text == "false" => is_exact = false,
                "exact" => return Err(unfit(format!("the parameter exact is {text:?}; use true or false"))),
                _ => texts.entry(name.into_owned()).or_default().push(text.into_owned()),
            }
        }
        let mut arguments = if route.verb.has_body() { body_of(&head.headers, body).await? } else { Map::new() };
        if let Some(name) = texts.keys().find(|_| route.verb.has_body()) {
            return Err(unfit(format!("the query has the unknown parameter {name:?}; send it in the body")));
        }
        for (name, texts) in texts {
            let schema = input.get("properties").and_then(|properties| properties.get(&name));
            arguments.insert(name, typed(schema, texts));
        }
        for (name, text) in parameters {
            if arguments.insert(name.to_owned(), Value::String(text.to_owned())).is_some() {
                return Err(unfit(format!("{name} is given twice; leave it out, because the path contains it")));
            }
        }
        let version = head.headers.get(header::IF_MATCH).filter(|_| route.takes_version());
        let version = version.and_then(|version| version.to_str().ok()).filter(|version| *version != "*");
        Ok(Self { route, arguments, namespace, is_exact, version: version.map(str::to_owned) })
    }
}

fn unfit(detail: String) -> Problem {
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, detail)
}

/// Returns the object in a body; an empty body is an empty object.
async fn body_of(headers: &HeaderMap, body: Body) -> Result<Map<String, Value>, Problem> {
    // The server has already limited the length.
    let bytes = to_bytes(body, usize::MAX).await.unwrap_or_default();
    if bytes.is_empty() {
        return Ok(Map::new());
    }
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or("missing");
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if kind != "application/json" {
        let detail = format!("the Content-Type is {kind}; send application/json");
        return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail));
    }
    match serde_json::from_slice(&bytes) {
        Ok(Value::Object(arguments)) => Ok(arguments),
        Ok(_) => Err(unfit("the body is not an object; send the arguments as one JSON object".to_owned())),
        Err(error) => {
            Err(Problem::new(StatusCode::BAD_REQUEST, format!("the body is not JSON: {error}; send one JSON object")))
        }
    }
}

/// Returns the value of a parameter, as its schema requires. Text that does not fit is rejected by the check of the
/// arguments, whose message contains the expected type.
fn typed(schema: Option<&Value>, mut texts: Vec<String>) -> Value {
    let is = |kind: &str| {
        let types = schema.and_then(|schema| schema.get("type"));
        types.is_some_and(|types| types == kind || types.as_array().is_some_and(|types| types.contains(&kind.into())))
    };
    if is("array") || texts.len() > 1 {
        return texts.into();
    }
    let text = texts.pop().unwrap_or_default();
    let parsed = match text.as_str() {
        "true" | "false" if is("boolean") => Some(Value::Bool(text == "true")),
        _ if is("integer") || is("number") => serde_json::from_str(&text).ok().filter(Value::is_number),
        _ => None,
    };
    parsed.unwrap_or(Value::String(text))
}

impl ProgramServer {
    async fn answer(self, asked: Asked) -> Result<Response, Problem> {
        if asked.route.effect != Effect::Reads && self.pool.is_read_only() {
            let detail = "this server only reads the memories of shards; workers write them";
            return Err(Problem::new(StatusCode::FORBIDDEN, detail));
        }
        if asked.route.access == Access::Owner && !self.is_owner {
            let detail = "only the owner of the memories may do this; start the server with `afterthought serve http \
                          --owner`, and keep its token from agents";
            return Err(Problem::new(StatusCode::FORBIDDEN, detail));
        }
        match &asked.route.run {
            Run::Answer(tool) => self.call(tool, asked).await,
            Run::Export => self.export(asked).await,
        }
    }

    async fn call(self, tool: &'static ToolRow, asked: Asked) -> Result<Response, Problem> {
        let (pool, effect) = (Arc::clone(&self.pool), asked.route.effect);
        let work = move || {
            pool.with_in(asked.namespace, |memories| {
                let answer = |arguments| {
                    let answer = (tool.call)(memories, &Value::Object(arguments))?;
                    let version = memory_of(memories, &answer).as_ref().map(version_of);
                    Ok::<_, Problem>((answer, version))
                };
                let mut answer = match asked.version {
                    None => answer(asked.arguments),
                    // No other process can change the memory between the comparison and the change.
                    Some(version) => memories.together(|| {
                        unchanged(memories, &version, &asked.arguments)?;
                        answer(asked.arguments)
                    }),
                };
                match &mut answer {
                    Ok((answer, _)) if !asked.is_exact => (tool.clean)(answer),
                    Err(problem) if !asked.is_exact => problem.clean(tool.clean),
                    Ok(_) | Err(_) => {}
                }
                Ok::<_, ApiError>(answer)
            })
        };
        // SQLite blocks its thread, and a blocked worker thread would delay other requests.
        let (answer, version) = tokio::task::spawn_blocking(work).await.map_err(|error| {
            tracing::error!(%error, "a request caused a panic");
            let detail = "the request could not be finished; see the server's log";
            Problem::new(StatusCode::INTERNAL_SERVER_ERROR, detail)
        })???;
        if effect != Effect::Reads {
            self.pool.embed_aside();
        }
        let mut response = json_response(&answer);
        let version = version.and_then(|version| HeaderValue::try_from(version).ok());
        response.headers_mut().extend(version.map(|version| (header::ETAG, version)));
        Ok(response)
    }

    /// Answers with one memory per line, as the memories are read.
    async fn export(self, asked: Asked) -> Result<Response, Problem> {
        let arguments: ExportArguments = read_arguments(&Value::Object(asked.arguments), asked.route.input)?;
        let (sender, mut lines) = tokio::sync::mpsc::channel::<Result<String, Problem>>(64);
        tokio::task::spawn_blocking(move || {
            let exported = self.pool.with_in(asked.namespace, |memories| {
                // The export ends if the client has disconnected.
                export(memories, arguments, &mut |line| sender.blocking_send(Ok(line)).map_err(|_| Ended::Left))
            });
            if let Err(Ended::Failed(error)) = exported {
                sender.blocking_send(Err(Problem::from(error))).ok();
            }
        });
        // An error before the first line results in an error status; a later error ends the answer early.
        let first = lines.recv().await.transpose()?;
        let rest = futures::stream::unfold(lines, async |mut lines| {
            let line: Result<String, Problem> = lines.recv().await?;
            let line = line.map_err(|_| std::io::Error::other("the export failed; see the server's log"));
            Some((line.map(Bytes::from), lines))
        });
        let first = futures::stream::iter(first.map(|line| Ok(Bytes::from(line))));
        let body = Body::from_stream(futures::StreamExt::chain(first, rest));
        Ok(([(header::CONTENT_TYPE, "application/x-ndjson")], body).into_response())
    }
}

/// Why an export ended early.
enum Ended {
    Left,
    Failed(ApiError),
}

impl From<ApiError> for Ended {
    fn from(error: ApiError) -> Self {
        Self::Failed(error)
    }
}

/// Checks that a memory has not changed since the client read it.
fn unchanged(memories: &Memories, version: &str, arguments: &Map<String, Value>) -> Result<(), Problem> {
    let memory = memories.resolve(arguments.get("id").and_then(Value::as_str).unwrap_or_default())?;
    let current = version_of(&memory);
    if version == current {
        return Ok(());
    }
    let mut sent = arguments.clone();
    sent.remove("id");
    Err(Problem::outdated(serde_json::json!(whole(&memory)), current, Value::Object(sent)))
}

/// Returns the memory that an answer is about, as it is now.
fn memory_of(memories: &Memories, answer: &Value) -> Option<Memory> {
    memories.resolve(answer.get("memory")?["id"].as_str()?).ok()
}

#[cfg(test)]
mod tests;
