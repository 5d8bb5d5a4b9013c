//! One call of a tool: reads the arguments, calls the use case, and formats the result.
use ralph_app::agent_tools::{
    FollowupCheck, FollowupTaskRequest, ToolCaller, clean_agent_text, create_followup_task, find_tool_caller,
    read_status, read_work, report_to_run,
};
use ralph_app::error::AppError;
use ralph_core::claim::{AgentTool, ToolSignal, WaitRequest, WaitTime};
use ralph_core::control_command::AgentReport;
use rmcp::model::{CallToolResult, ContentBlock, JsonObject};
use serde_json::{Value, json};

use crate::arguments::{
    ClaimCompletionArguments, CreateFollowupArguments, ReadStatusArguments, ReadTaskArguments, ReportBlockedArguments,
    ReportProgressArguments, RequestWaitArguments, parse_arguments,
};
use crate::server::McpContext;

/// Why a call failed, for the agent.
enum CallFailure {
    Arguments(String),
    UseCase(AppError),
}

impl From<AppError> for CallFailure {
    fn from(error: AppError) -> Self {
        Self::UseCase(error)
    }
}

type CallOutcome = Result<Value, CallFailure>;

/// Calls a tool. The agent sees a failure as the result of the call.
pub(crate) async fn call_tool(context: &McpContext, tool: AgentTool, arguments: JsonObject) -> CallToolResult {
    let caller = find_tool_caller(&context.project);
    let outcome = match tool {
        AgentTool::ReadTask => read_task(context, &caller, arguments).await,
        AgentTool::ReadStatus => active_loops(context, &caller, arguments).await,
        AgentTool::ReportProgress => report_progress(context, &caller, arguments).await,
        AgentTool::ClaimCompletion => claim_completion(context, &caller, arguments).await,
        AgentTool::RequestWait => request_wait(context, &caller, arguments).await,
        AgentTool::ReportBlocked => report_blocked(context, &caller, arguments).await,
        AgentTool::CreateFollowup => create_followup(context, &caller, arguments).await,
    };
    match outcome {
        Ok(result) => CallToolResult::structured(result),
        Err(failure) => CallToolResult::error(vec![ContentBlock::text(describe_failure(context, &failure))]),
    }
}

fn describe_failure(context: &McpContext, failure: &CallFailure) -> String {
    match failure {
        CallFailure::Arguments(message) => message.clone(),
        CallFailure::UseCase(error) => {
            let hints = (context.hints)(error).into_iter().map(|hint| format!("\nhint: {hint}"));
            std::iter::once(error.to_string()).chain(hints).collect()
        }
    }
}

async fn read_task(context: &McpContext, caller: &ToolCaller, arguments: JsonObject) -> CallOutcome {
    let ReadTaskArguments { id } = parse(arguments)?;
    let work = read_work(&context.project, caller, &context.settings, id.as_deref()).await?;
    serde_json::to_value(work).map_err(|error| CallFailure::Arguments(error.to_string()))
}

async fn active_loops(context: &McpContext, caller: &ToolCaller, arguments: JsonObject) -> CallOutcome {
    let ReadStatusArguments {} = parse(arguments)?;
    Ok(json!({ "active": read_status(&context.project, caller).await? }))
}

async fn report_progress(context: &McpContext, caller: &ToolCaller, arguments: JsonObject) -> CallOutcome {
    let ReportProgressArguments { run, message } = parse(arguments)?;
    let report = AgentReport::Progress { words: clean_agent_text("message", &message)? };
    report_to_run(&context.project, caller, &run, report).await?;
    Ok(json!({ "recorded": true }))
}

async fn claim_completion(context: &McpContext, caller: &ToolCaller, arguments: JsonObject) -> CallOutcome {
    let ClaimCompletionArguments { run, summary } = parse(arguments)?;
    let summary = clean_agent_text("summary", &summary)?;
    give_signal(context, caller, &run, ToolSignal::Done { summary }).await?;
    Ok(json!({
        "recorded": true,
        "next": "End your turn now. ralph verifies the work; the claim does not count if another tool call follows.",
    }))
}

async fn request_wait(context: &McpContext, caller: &ToolCaller, arguments: JsonObject) -> CallOutcome {
    let RequestWaitArguments { run, reason, duration, until } = parse(arguments)?;
    let reason = clean_agent_text("reason", &reason)?;
    let time = match (duration.as_deref(), until.as_deref()) {
        (Some(duration), None) => WaitTime::parse_for(duration),
        (None, Some(until)) => WaitTime::parse_until(until),
        (None, None) | (Some(_), Some(_)) => {
            return Err(CallFailure::Arguments("give either `for` or `until`".to_owned()));
        }
    };
    let Some(time) = time else {
        let message = "this is not a valid time: `for` takes 30m or 2h, `until` takes 2026-03-04T15:00:00Z";
        return Err(CallFailure::Arguments(message.to_owned()));
    };
    give_signal(context, caller, &run, ToolSignal::Wait { request: WaitRequest { time, reason } }).await?;
    Ok(json!({ "recorded": true, "next": "End your turn now. ralph starts you again when the time has come." }))
}

async fn report_blocked(context: &McpContext, caller: &ToolCaller, arguments: JsonObject) -> CallOutcome {
    let ReportBlockedArguments { run, reason } = parse(arguments)?;
    let reason = clean_agent_text("reason", &reason)?;
    give_signal(context, caller, &run, ToolSignal::Blocked { reason }).await?;
    Ok(json!({ "recorded": true, "next": "End your turn now. The run ends, and a person is told." }))
}

async fn give_signal(
    context: &McpContext,
    caller: &ToolCaller,
    run: &str,
    signal: ToolSignal,
) -> Result<(), CallFailure> {
    Ok(report_to_run(&context.project, caller, run, AgentReport::Signal { signal }).await?)
}

async fn create_followup(context: &McpContext, caller: &ToolCaller, arguments: JsonObject) -> CallOutcome {
    let arguments: CreateFollowupArguments = parse(arguments)?;
    let request = FollowupTaskRequest {
        run: arguments.run,
        id: arguments.id,
        title: arguments.title,
        description: arguments.description,
        outcome: arguments.outcome,
        acceptance_criteria: arguments.acceptance_criteria,
        check: arguments.check_command.map(|command| FollowupCheck { command }),
    };
    let created = create_followup_task(&context.project, caller, request).await?;
    Ok(json!({
        "created": created.id,
        "title": created.title,
        "next": "A person must approve its checks before they run: continue with your own task.",
    }))
}

fn parse<T: serde::de::DeserializeOwned>(arguments: JsonObject) -> Result<T, CallFailure> {
    parse_arguments(arguments).map_err(CallFailure::Arguments)
}
