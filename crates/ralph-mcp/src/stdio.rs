//! Serves one client on stdin and stdout until it closes stdin.
use rmcp::service::ServerInitializeError;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::stdio_pipes;
use rmcp::{RoleServer, serve_server};

use crate::server::{McpContext, ToolServer};

/// A longer line is dropped. No tool accepts that much.
const MAX_LINE_BYTES: usize = 1 << 20;

/// Why the server ended before its client closed the connection.
#[derive(Debug, thiserror::Error)]
pub enum McpError {
    #[error("the first message of the client does not start the protocol")]
    NotStarted,
    #[error("the server stopped")]
    Stopped { source: tokio::task::JoinError },
}

/// Answers the requests of one client. Ends when the client has closed stdin and all calls are answered.
pub async fn serve_stdio(context: McpContext) -> Result<(), McpError> {
    let (input, output) = stdio_pipes();
    let transport = AsyncRwTransport::<RoleServer, _, _>::new(input, output).with_max_line_length(MAX_LINE_BYTES);
    match serve_server(ToolServer::new(context), transport).await {
        Ok(server) => server.waiting().await.map(drop).map_err(|source| McpError::Stopped { source }),
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        // The error repeats the message, which may be long.
        Err(_) => Err(McpError::NotStarted),
    }
}
