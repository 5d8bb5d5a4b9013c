//! The parts of the protocol that a server implements: its identity, its tools, and the answers to calls.
use std::sync::Arc;

use ralph_app::agent_tools::find_tool_caller;
use ralph_app::config::Settings;
use ralph_app::error::AppError;
use ralph_core::claim::AgentTool;
use ralph_engine::project::Project;
use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, Implementation, ListToolsResult, PaginatedRequestParams,
    ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use crate::{tool_call, tool_list};

/// How many calls are worked on at the same time; others wait.
const MAX_CONCURRENT_CALLS: usize = 4;

const INSTRUCTIONS: &str = "Tools for an agent that works in a ralph loop. Call read_task first: it returns the id of your run, which \
the other tools need. When the work is done, call claim_completion as your last tool call and end your turn: ralph then \
verifies the work. A claim that other tool calls follow does not count.";

/// The data that the server needs.
pub struct McpContext {
    pub project: Project,
    pub settings: Settings,
    /// Returns what the caller can do about an error, one hint each.
    pub hints: fn(&AppError) -> Vec<String>,
}

/// The server of one client.
#[derive(Clone)]
pub struct ToolServer {
    context: Arc<McpContext>,
    slots: Arc<Semaphore>,
}

impl ToolServer {
    #[must_use]
    pub fn new(context: McpContext) -> Self {
        Self { context: Arc::new(context), slots: Arc::new(Semaphore::new(MAX_CONCURRENT_CALLS)) }
    }
}

impl ServerHandler for ToolServer {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("ralph", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let caller = find_tool_caller(&self.context.project);
        Ok(ListToolsResult::with_all_items(tool_list::tools_for(&caller)))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = AgentTool::ALL.into_iter().find(|tool| tool.name() == request.name) else {
            return Err(ErrorData::invalid_params(unknown_tool_message(&request.name), None));
        };
        let slot = Arc::clone(&self.slots).acquire_owned().await;
        let (context, runtime) = (Arc::clone(&self.context), Handle::current());
        let arguments = request.arguments.unwrap_or_default();
        // The use cases read files and processes, and their futures stay on one thread.
        let call = move || {
            let result = runtime.block_on(tool_call::call_tool(&context, tool, arguments));
            drop(slot);
            result
        };
        let result = tokio::task::spawn_blocking(call).await;
        Ok(result.map_err(|_| ErrorData::internal_error("internal error in ralph", None))?.into())
    }
}

fn unknown_tool_message(name: &str) -> String {
    let names = AgentTool::ALL.map(AgentTool::name);
    let shown: String = name.chars().take(80).collect();
    format!("there is no tool {shown:?}; the tools are {}", names.join(", "))
}
