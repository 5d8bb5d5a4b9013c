//! The texts of a node in which references are replaced, with what they are: a prompt, or text whose meaning depends on
//! each reference.
use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde_json::Value;

use super::node::{LoopControl, Node, NodeKind, PromptText, ScriptRuntime, ScriptSource};

/// The purpose of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextRole {
    /// Read by an agent or a person: unknown references stay as they are.
    Prompt,
    /// Run by bash.
    Shell,
    /// Run by the runtime of a script node.
    Code(ScriptRuntime),
    /// A value for another node or workflow.
    Value,
}

/// A text of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeText<'a> {
    /// The keys that lead to it, joined by dots, such as `loop.prompt`.
    pub field: Cow<'static, str>,
    pub text: &'a str,
    pub role: TextRole,
}

impl Node {
    /// Returns the texts of this node, without those of the nodes inside a loop group.
    #[must_use]
    pub fn texts(&self) -> Vec<NodeText<'_>> {
        let mut found = Vec::new();
        match &self.kind {
            NodeKind::Agent(agent) => {
                add_prompt(&mut found, &agent.prompt, false);
                add_optional(&mut found, "systemPrompt", agent.options.system_prompt.as_ref(), TextRole::Prompt);
            }
            NodeKind::Bash(bash) => add(&mut found, "bash", &bash.script, TextRole::Shell),
            NodeKind::Script(script) => {
                if let ScriptSource::Code(code) = &script.source {
                    add(&mut found, "script", code, TextRole::Code(script.runtime));
                }
                add_values(&mut found, "with", &script.with);
            }
            NodeKind::Loop(looping) => {
                add_prompt(&mut found, &looping.prompt, true);
                add_control(&mut found, &looping.control, "loop");
                add_optional(&mut found, "systemPrompt", looping.options.system_prompt.as_ref(), TextRole::Prompt);
            }
            NodeKind::LoopGroup(group) => add_control(&mut found, &group.control, "loop_group"),
            NodeKind::Approval(approval) => {
                add(&mut found, "approval.message", &approval.message, TextRole::Prompt);
                let rework = approval.on_reject.as_ref().map(|rework| &rework.prompt);
                add_optional(&mut found, "approval.on_reject.prompt", rework, TextRole::Prompt);
            }
            NodeKind::Cancel { reason } => add(&mut found, "cancel", reason, TextRole::Prompt),
            NodeKind::Workflow(child) => {
                add_optional(&mut found, "input", child.input.as_ref(), TextRole::Value);
                add_values(&mut found, "with", &child.with);
                add_optional(&mut found, "fan_out.items", child.fan_out.as_ref().map(|it| &it.items), TextRole::Value);
            }
            NodeKind::Checks(_) => {}
        }
        add_values(&mut found, "with", &self.inputs);
        found
    }

    /// Calls `change` for every text of this node, in any order.
    pub fn change_texts(&mut self, change: &mut dyn FnMut(&mut String)) {
        match &mut self.kind {
            NodeKind::Agent(agent) => {
                change_prompt(&mut agent.prompt, change);
                agent.options.system_prompt.iter_mut().for_each(&mut *change);
            }
            NodeKind::Bash(bash) => change(&mut bash.script),
            NodeKind::Script(script) => {
                if let ScriptSource::Code(code) = &mut script.source {
                    change(code);
                }
                script.with.values_mut().for_each(|value| change_value(value, change));
            }
            NodeKind::Loop(looping) => {
                change_prompt(&mut looping.prompt, change);
                change_control(&mut looping.control, change);
                looping.options.system_prompt.iter_mut().for_each(&mut *change);
            }
            NodeKind::LoopGroup(group) => change_control(&mut group.control, change),
            NodeKind::Approval(approval) => {
                change(&mut approval.message);
                approval.on_reject.iter_mut().for_each(|rework| change(&mut rework.prompt));
            }
            NodeKind::Cancel { reason } => change(reason),
            NodeKind::Workflow(child) => {
                child.input.iter_mut().for_each(&mut *change);
                child.with.values_mut().for_each(|value| change_value(value, change));
                child.fan_out.iter_mut().for_each(|fan_out| change(&mut fan_out.items));
            }
            NodeKind::Checks(_) => {}
        }
        self.inputs.values_mut().for_each(|value| change_value(value, change));
    }
}

fn add<'a>(found: &mut Vec<NodeText<'a>>, field: &'static str, text: &'a str, role: TextRole) {
    found.push(NodeText { field: Cow::Borrowed(field), text, role });
}

fn add_optional<'a>(found: &mut Vec<NodeText<'a>>, field: &'static str, text: Option<&'a String>, role: TextRole) {
    if let Some(text) = text {
        add(found, field, text, role);
    }
}

fn add_prompt<'a>(found: &mut Vec<NodeText<'a>>, prompt: &'a PromptText, is_loop: bool) {
    match prompt {
        PromptText::Inline(text) => add(found, if is_loop { "loop.prompt" } else { "prompt" }, text, TextRole::Prompt),
        PromptText::Command { with, .. } => add_values(found, if is_loop { "loop.with" } else { "with" }, with),
    }
}

fn add_control<'a>(found: &mut Vec<NodeText<'a>>, control: &'a LoopControl, key: &str) {
    if let Some(text) = &control.until_bash {
        found.push(NodeText { field: Cow::Owned(format!("{key}.until_bash")), text, role: TextRole::Shell });
    }
    if let Some(text) = &control.gate_message {
        found.push(NodeText { field: Cow::Owned(format!("{key}.gate_message")), text, role: TextRole::Prompt });
    }
}

fn add_values<'a>(found: &mut Vec<NodeText<'a>>, key: &str, values: &'a BTreeMap<String, Value>) {
    for (name, value) in values {
        add_value(found, &format!("{key}.{name}"), value);
    }
}

fn add_value<'a>(found: &mut Vec<NodeText<'a>>, field: &str, value: &'a Value) {
    match value {
        Value::String(text) => {
            found.push(NodeText { field: Cow::Owned(field.into()), text, role: TextRole::Value });
        }
        Value::Array(items) => items.iter().for_each(|item| add_value(found, field, item)),
        Value::Object(members) => members.values().for_each(|member| add_value(found, field, member)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn change_prompt(prompt: &mut PromptText, change: &mut dyn FnMut(&mut String)) {
    match prompt {
        PromptText::Inline(text) => change(text),
        PromptText::Command { with, .. } => with.values_mut().for_each(|value| change_value(value, change)),
    }
}

fn change_control(control: &mut LoopControl, change: &mut dyn FnMut(&mut String)) {
    control.until_bash.iter_mut().for_each(&mut *change);
    control.gate_message.iter_mut().for_each(change);
}

/// Calls `change` for every string in a value.
fn change_value(value: &mut Value, change: &mut dyn FnMut(&mut String)) {
    match value {
        Value::String(text) => change(text),
        Value::Array(items) => items.iter_mut().for_each(|item| change_value(item, change)),
        Value::Object(members) => members.values_mut().for_each(|member| change_value(member, change)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
