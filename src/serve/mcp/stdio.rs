//! The server on standard input and output: one message a line, and nothing else on the output.

use rmcp::ServiceExt as _;
use rmcp::service::{QuitReason, ServerInitializeError};
use rmcp::transport::stdio;
use tokio_util::sync::CancellationToken;

use super::MemoryServer;

/// Why serving on standard input ended before the client did.
#[derive(Debug, thiserror::Error)]
pub enum StdioError {
    /// The client never said who it is.
    #[error("the client did not begin as the protocol wants it; start the server from an MCP client")]
    Initialize(#[source] Box<ServerInitializeError>),
    /// The server broke.
    #[error("the server ended unexpectedly")]
    Broken(#[source] tokio::task::JoinError),
}

/// Serves until the input ends or `stop` comes.
///
/// # Errors
/// [`StdioError`] if the client does not speak the protocol. A client that goes away is none.
pub async fn serve_stdio(server: MemoryServer, stop: CancellationToken) -> Result<(), StdioError> {
    let running = match server.serve_with_ct(stdio(), stop.clone()).await {
        Ok(running) => running,
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => return Ok(()),
        Err(error) => return Err(StdioError::Initialize(Box::new(error))),
    };
    match running.waiting().await {
        Ok(QuitReason::JoinError(error)) | Err(error) => Err(StdioError::Broken(error)),
        Ok(_) => Ok(()),
    }
}
