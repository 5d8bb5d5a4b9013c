//! `ralph mcp`: a server of the Model Context Protocol on stdin and stdout, for agents. Its tools call `ralph_app::agent_tools`, which
//! decides what the caller may do. Each call is complete in itself and names the run that it is about.
mod arguments;
mod server;
mod stdio;
mod tool_call;
mod tool_list;

pub use server::{McpContext, ToolServer};
pub use stdio::{McpError, serve_stdio};
