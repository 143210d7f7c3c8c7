//! The Model Context Protocol server: tools to store and find memories, and resources and prompts to read them.
//!
//! A client's mistake is reported in the tool's result, with the remedy, so that the model can correct it. Only an
//! unknown name of a tool, resource or prompt is a protocol error.

mod input;
pub(super) mod read_tools;
mod resources;
pub(super) mod tool;
pub(super) mod view;
pub(super) mod work_tools;
pub(super) mod write_tools;

use std::sync::Arc;

use axum::http::request::Parts;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, GetPromptRequestParams,
    GetPromptResponse, Implementation, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities,
    ServerConfig,
};
use rmcp::service::{QuitReason, RequestContext, ServerInitializeError};
use rmcp::transport::stdio;
use rmcp::{RoleServer, ServerHandler, ServiceExt as _};
use serde_json::Value;
use tokio::sync::RwLock;
use tokio_util::sync::CancellationToken;

use self::tool::{ToolError, error_chain};
use crate::api::{ApiError, Memories};
use crate::memory::Namespace;
use crate::serve::MemoryPool;

pub use tool::Profile;
pub(crate) use tool::{Effect, ToolRow};

/// Instructions that clients receive when they connect.
const INSTRUCTIONS: &str = include_str!("../../../prompts/mcp/instructions.md");

/// Answers the requests of clients. The server is cheap to clone, because all clones share one pool.
#[derive(Debug, Clone)]
pub struct MemoryServer {
    pool: Arc<MemoryPool>,
    profile: Profile,
    /// Keeps calls of one client in order: a call sees the writes that were sent before it, and reads run in parallel.
    turns: Arc<RwLock<()>>,
}

impl MemoryServer {
    /// Returns a server that offers the tools of `profile`.
    #[must_use]
    pub fn new(pool: MemoryPool, profile: Profile) -> Self {
        Self { pool: Arc::new(pool), profile, turns: Arc::default() }
    }

    fn tools(&self) -> impl Iterator<Item = &'static ToolRow> + use<> {
        let (profile, is_read_only) = (self.profile, self.pool.is_read_only());
        let can_be_called = move |tool: &&ToolRow| tool.effect == Effect::Reads || !is_read_only;
        TOOLS.iter().filter(move |tool| tool.profiles.contains(&profile)).filter(can_be_called)
    }

    /// Expires and purges memories regularly until `stop` is cancelled.
    pub(super) fn maintain_until(&self, stop: CancellationToken) {
        Arc::clone(&self.pool).maintain_until(stop);
    }

    /// Returns the connections that the server shares with other interfaces to the same memories.
    pub(crate) fn pool(&self) -> Arc<MemoryPool> {
        Arc::clone(&self.pool)
    }

    /// Runs `work` on a thread that may block on file access.
    async fn with<T: Send + 'static>(
        &self,
        context: &RequestContext<RoleServer>,
        work: impl FnOnce(&Memories) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<Result<T, ApiError>, ErrorData> {
        let (pool, namespace) = (Arc::clone(&self.pool), namespace_of(context));
        // SQLite blocks its thread, and a blocked worker thread would delay other requests.
        let done = tokio::task::spawn_blocking(move || pool.with_in(namespace?, work)).await;
        done.map_err(|error| {
            tracing::error!(%error, "a request caused a panic");
            ErrorData::internal_error("the request could not be finished; see the server's log", None)
        })
    }
}

/// Returns the namespace in the address of a request, as in `/mcp?namespace=team/ana`.
fn namespace_of(context: &RequestContext<RoleServer>) -> Result<Option<Namespace>, ApiError> {
    let query = context.extensions.get::<Parts>().and_then(|head| head.uri.query()).unwrap_or_default();
    let named = form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "namespace");
    Ok(named.map(|(_, text)| text.parse::<Namespace>()).transpose()?)
}

impl ServerHandler for MemoryServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_resources().enable_prompts().build();
        let own = Implementation::new("afterthought", env!("CARGO_PKG_VERSION")).with_title("afterthought");
        ServerConfig::new(capabilities).with_server_info(own).with_instructions(INSTRUCTIONS.trim_end())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let categories = &self.pool.config().categories.value;
        Ok(ListToolsResult::with_all_items(self.tools().map(|tool| tool.described(categories)).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        // Only tools of the profile are searched, because a tool that is not listed must not be callable.
        let Some(tool) = self.tools().find(|tool| tool.name == request.name) else {
            let names: Vec<&str> = self.tools().map(|tool| tool.name).collect();
            let message = format!("there is no tool {:?}; available tools: {}", request.name, names.join(", "));
            return Err(ErrorData::invalid_params(message, None));
        };
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let call = self.with(&context, move |memories| {
            Ok((tool.call)(memories, &arguments).map(|mut answer| {
                (tool.clean)(&mut answer);
                answer
            }))
        });
        let done = if tool.effect == Effect::Reads {
            let _turn = self.turns.read().await;
            call.await?
        } else {
            let _turn = self.turns.write().await;
            let done = call.await?;
            self.pool().embed_aside();
            done
        };
        let result = match done.map_err(ToolError::from).and_then(|done| done).map_err(|error| error_chain(&error)) {
            Ok(answer) => CallToolResult::structured(answer),
            Err(why) => CallToolResult::error(vec![ContentBlock::text(format!("{}: {why}", tool.name))]),
        };
        Ok(result.into())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(resources::fixed()))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(resources::templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri;
        let asked = uri.clone();
        let read = self.with(&context, move |memories| resources::read(memories, &asked)).await?;
        match read {
            Ok(Some(result)) => Ok(result.into()),
            Ok(None) => Err(ErrorData::resource_not_found(format!("there is no resource {uri}"), None)),
            Err(error) => Err(ErrorData::resource_not_found(format!("{uri}: {}", error_chain(&error)), None)),
        }
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(resources::prompts()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let GetPromptRequestParams { name, arguments, .. } = request;
        let arguments = arguments.unwrap_or_default();
        let prompt = self.with(&context, move |memories| resources::prompt(memories, &name, &arguments)).await?;
        match prompt {
            Ok(Ok(prompt)) => Ok(prompt.into()),
            Ok(Err(why)) => Err(ErrorData::invalid_params(why, None)),
            Err(error) => Err(ErrorData::internal_error(error_chain(&error), None)),
        }
    }
}

/// The reason why serving on standard input ended before the client ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StdioError {
    /// The client did not complete the initialisation.
    #[error("the client did not follow the protocol at the start; start the server from an MCP client")]
    Initialize(#[source] Box<ServerInitializeError>),
    /// The server failed.
    #[error("the server ended unexpectedly")]
    Broken(#[source] tokio::task::JoinError),
}

/// Serves requests until the input ends or `stop` is cancelled.
///
/// # Errors
/// [`StdioError`] if the client does not follow the protocol. A client that disconnects is not an error.
pub(crate) async fn serve_stdio(server: MemoryServer, stop: CancellationToken) -> Result<(), StdioError> {
    server.maintain_until(stop.clone());
    let pool = Arc::clone(&server.pool);
    let (input, output) = stdio();
    let running = match server.serve_with_ct((input::repaired(input), output), stop.clone()).await {
        Ok(running) => running,
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => return Ok(()),
        Err(error) => return Err(StdioError::Initialize(Box::new(error))),
    };
    let ended = running.waiting().await;
    pool.finish().await;
    match ended {
        Ok(QuitReason::JoinError(error)) | Err(error) => Err(StdioError::Broken(error)),
        Ok(_) => Ok(()),
    }
}

/// Every tool, in the order in which clients see them. Each name occurs once per profile.
pub const TOOLS: &[ToolRow] = &[
    ToolRow::of::<write_tools::Store>(),
    ToolRow::of::<read_tools::Recall>(),
    ToolRow::of::<read_tools::Recall>().variant(&[Profile::Basecoat], read_tools::recall_counted),
    ToolRow::of::<write_tools::Update>(),
    ToolRow::of::<write_tools::ForgetOne>(),
    ToolRow::of::<write_tools::Forget>(),
    ToolRow::of::<write_tools::Forget>().variant(&[Profile::Blockcell], write_tools::forget_in_tenths),
    ToolRow::of::<read_tools::List>(),
    ToolRow::of::<write_tools::Upsert>(),
    ToolRow::of::<read_tools::Query>(),
    ToolRow::of::<read_tools::Brief>(),
    ToolRow::of::<read_tools::History>(),
    ToolRow::of::<write_tools::Relate>(),
    ToolRow::of::<work_tools::Blame>(),
    ToolRow::of::<work_tools::Fix>(),
    ToolRow::of::<work_tools::How>(),
];

#[cfg(test)]
mod tests;
