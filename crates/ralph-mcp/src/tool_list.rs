//! The tools with their descriptions and schemas.
use std::sync::Arc;

use ralph_app::agent_tools::{MAX_TEXT_BYTES, ToolCaller};
use ralph_core::claim::AgentTool;
use rmcp::model::{JsonObject, MetaObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

/// Tells a client that defers tools to offer this one from the start.
const ALWAYS_LOAD_KEY: &str = "anthropic/alwaysLoad";

/// Returns the tools that the caller can use. Outside of a run these are the ones that only read.
pub(crate) fn tools_for(caller: &ToolCaller) -> Vec<Tool> {
    let is_usable = |tool: &AgentTool| match caller {
        ToolCaller::AgentOfRun(_) => true,
        ToolCaller::UnknownAgent | ToolCaller::Outside => tool.only_reads(),
    };
    AgentTool::ALL.into_iter().filter(is_usable).map(describe_tool).collect()
}

fn describe_tool(tool: AgentTool) -> Tool {
    // ralph's tools change only ralph's own records of the caller's run.
    let hints = ToolAnnotations::new().read_only(tool.only_reads()).destructive(false).open_world(false);
    let mut described = Tool::new(tool.name(), description(tool), Arc::new(schema(tool))).with_annotations(hints);
    // Some clients hide tools behind a search, and an agent that does not know them cannot use them.
    let always_load = [(ALWAYS_LOAD_KEY.to_owned(), Value::Bool(true))].into_iter().collect();
    described.meta = Some(MetaObject(always_load));
    described
}

fn description(tool: AgentTool) -> &'static str {
    match tool {
        AgentTool::ReadTask => {
            "Returns the task that you work on: what must be true when it is done, what will be verified, its specification, your \
             notes, guidance from a person, and why the last claim was rejected. Also the id of your run, which the other tools \
             need."
        }
        AgentTool::ReadStatus => "Returns the active loops: which task or run, which iteration, and for how long.",
        AgentTool::ReportProgress => {
            "Tells the person who watches how far you are, in one or two sentences. It does not end the work."
        }
        AgentTool::ClaimCompletion => {
            "Claims that the work is done. Call it as your last tool call, then end your turn: ralph verifies the work, and the claim \
             counts only if the evidence confirms it and no other tool call follows."
        }
        AgentTool::RequestWait => {
            "Asks ralph to pause you until something outside has finished, such as a build. Call it as your last tool call, then end \
             your turn: ralph starts you again when the time has come."
        }
        AgentTool::ReportBlocked => {
            "Says that you cannot continue without a person, and why. Call it as your last tool call, then end your turn: the run ends, \
             and a person is told."
        }
        AgentTool::CreateFollowup => {
            "Creates a task for work that you found and that is not part of your own task. A person must approve its checks before \
             they run."
        }
    }
}

fn schema(tool: AgentTool) -> JsonObject {
    let id = text("The id of your task or run. Leave it out to read your own.");
    let run = || text("The id of your run, from read_task.");
    match tool {
        AgentTool::ReadTask => object(&json!({ "id": id }), &[]),
        AgentTool::ReadStatus => object(&json!({}), &[]),
        AgentTool::ReportProgress => {
            object(&json!({ "run": run(), "message": text("What is done and what comes next.") }), &["run", "message"])
        }
        AgentTool::ClaimCompletion => {
            object(&json!({ "run": run(), "summary": text("What you did.") }), &["run", "summary"])
        }
        AgentTool::RequestWait => {
            let properties = json!({
                "run": run(),
                "reason": text("What you wait for."),
                "for": text("How long, such as 30m or 2h. Give this or `until`."),
                "until": text("Until when, with a time zone, such as 2026-03-04T15:00:00Z."),
            });
            object(&properties, &["run", "reason"])
        }
        AgentTool::ReportBlocked => {
            object(&json!({ "run": run(), "reason": text("What you need from a person.") }), &["run", "reason"])
        }
        AgentTool::CreateFollowup => object(&followup_properties(&run()), &["run", "id", "title"]),
    }
}

fn followup_properties(run: &Value) -> Value {
    json!({
        "run": run,
        "id": text("The id of the new task, such as TASK-042."),
        "title": text("What is to be done, in one line."),
        "description": text("Everything that the next agent must know."),
        "outcome": text("What is true when the task is done. Default: that of your task."),
        "acceptance_criteria": {
            "type": "array",
            "items": { "type": "string", "maxLength": MAX_TEXT_BYTES },
            "description": "One checkable statement each. Default: those of your task.",
        },
        "check_command": text("A command that must succeed when the task is done, such as: cargo test limits"),
    })
}

fn text(description: &str) -> Value {
    json!({ "type": "string", "maxLength": MAX_TEXT_BYTES, "description": description })
}

fn object(properties: &Value, required: &[&str]) -> JsonObject {
    let schema = json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    });
    match schema {
        Value::Object(schema) => schema,
        _ => JsonObject::new(),
    }
}
