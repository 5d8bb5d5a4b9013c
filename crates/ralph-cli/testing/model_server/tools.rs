//! The tools that agents offer to a model: which of them writes a file, which runs a command, and with which arguments.
//! A tool is recognized by its name and arguments, independent of the agent.
use serde_json::{Map, Value, json};

use crate::reply::{ToolCall, ToolInput};
use crate::script::{FileContent, NamedCall};

/// A tool that the client offers.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tool {
    pub(crate) name: String,
    /// The schema of its arguments; null if it takes free text.
    pub(crate) schema: Value,
}

/// Reads a list of tools. `key` is the field with the schema.
pub(crate) fn parse_tools(tools: &Value, key: &str) -> Vec<Tool> {
    let named = tools.as_array().into_iter().flatten().filter_map(|tool| {
        let name = tool["name"].as_str()?.to_owned();
        Some(Tool { name, schema: tool[key].clone() })
    });
    named.collect()
}

/// The names of the tools that write a file, in order of preference, and of their arguments.
const WRITERS: &[&str] = &["Write", "write", "write_file", "create", "editor", "developer__text_editor", "text_editor"];
const PATHS: &[&str] = &["file_path", "filePath", "path"];
const CONTENTS: &[&str] = &["content", "file_text", "new_text"];

const RUNNERS: &[&str] =
    &["Bash", "bash", "exec_command", "run_shell_command", "shell", "developer__shell", "run_commands"];
const COMMANDS: &[&str] = &["command", "cmd", "commands"];

/// Values for arguments that a tool requires and the script does not set.
const FILLERS: &[(&str, &str)] = &[("command", "create"), ("description", "scripted"), ("mode", "sync")];

/// Returns the call that writes this file, or the reason why no tool can do that.
pub(crate) fn call_that_writes(tools: &[Tool], file: &FileContent) -> Result<ToolCall, String> {
    if let Some(patch) = tools.iter().find(|tool| tool.name == "apply_patch") {
        return Ok(ToolCall { tool: patch.name.clone(), input: ToolInput::Free(format_patch(file)) });
    }
    let tool = choose_tool(tools, WRITERS)?;
    let mut input = Map::new();
    set_argument(&mut input, tool, PATHS, &file.path)?;
    set_argument(&mut input, tool, CONTENTS, &file.content)?;
    Ok(fill_required_arguments(tool, input))
}

/// Returns the call that runs this command, or the reason why no tool can do that.
pub(crate) fn call_that_runs(tools: &[Tool], command: &str) -> Result<ToolCall, String> {
    let tool = choose_tool(tools, RUNNERS)?;
    let mut input = Map::new();
    set_argument(&mut input, tool, COMMANDS, command)?;
    Ok(fill_required_arguments(tool, input))
}

/// Returns the call of the offered tool whose name ends with this, or the reason why there is none. `$RUN` in the input becomes
/// the id of the run that the conversation has named.
pub(crate) fn call_by_name(tools: &[Tool], call: &NamedCall, conversation: &Value) -> Result<ToolCall, String> {
    let Some(tool) = tools.iter().find(|tool| tool.name.ends_with(&call.name)) else {
        let offered: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        return Err(format!("{:?} is not among the tools {offered:?}", call.name));
    };
    let mut input = call.input.to_string();
    if input.contains("$RUN") {
        let run = find_run_id(conversation).ok_or("no tool result has named a run")?;
        input = input.replace("$RUN", &run);
    }
    let input = serde_json::from_str(&input).map_err(|error| error.to_string())?;
    Ok(ToolCall { tool: tool.name.clone(), input: ToolInput::Named(input) })
}

/// Finds the id of a run in the results of tools, which are JSON in strings of JSON.
fn find_run_id(conversation: &Value) -> Option<String> {
    let text = conversation.to_string().replace('\\', "");
    let (_, rest) = text.split_once(r#""run":""#)?;
    rest.get(..36).map(str::to_owned)
}

fn format_patch(file: &FileContent) -> String {
    let lines: String = file.content.lines().map(|line| format!("+{line}\n")).collect();
    format!("*** Begin Patch\n*** Add File: {}\n{lines}*** End Patch\n", file.path)
}

fn choose_tool<'a>(tools: &'a [Tool], names: &[&str]) -> Result<&'a Tool, String> {
    let found = names.iter().find_map(|name| tools.iter().find(|tool| tool.name == *name));
    found.ok_or_else(|| {
        let offered: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        format!("none of {names:?} is among the tools {offered:?}")
    })
}

/// Sets the value under the first of these names that the tool has.
fn set_argument(input: &mut Map<String, Value>, tool: &Tool, names: &[&str], value: &str) -> Result<(), String> {
    let known = |name: &&&str| tool.schema["properties"].get(**name).is_some();
    let Some(name) = names.iter().find(known) else {
        return Err(format!("{} has none of the arguments {names:?}: {}", tool.name, tool.schema));
    };
    let is_list = tool.schema["properties"][*name]["type"] == "array";
    input.insert((*name).to_owned(), if is_list { json!([value]) } else { json!(value) });
    Ok(())
}

/// Returns the call with fillers for the other required arguments.
fn fill_required_arguments(tool: &Tool, mut input: Map<String, Value>) -> ToolCall {
    for required in tool.schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        let filler = || filler_value(required, &tool.schema["properties"][required]);
        input.entry(required).or_insert_with(filler);
    }
    ToolCall { tool: tool.name.clone(), input: ToolInput::Named(Value::Object(input)) }
}

fn filler_value(name: &str, schema: &Value) -> Value {
    match schema["type"].as_str() {
        Some("boolean") => json!(false),
        Some("number" | "integer") => json!(600),
        _ => {
            let word = FILLERS.iter().find(|(known, _)| *known == name).map_or("scripted", |(_, word)| word);
            json!(word)
        }
    }
}
