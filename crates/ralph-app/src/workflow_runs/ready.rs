//! Prepares an activity when the graph starts it: its texts are resolved against the outputs as they are now.
use std::collections::BTreeMap;

use ralph_core::prompt::RejectionFeedback;
use ralph_core::workflow::graph::{Activity, ActivityAction, ActivityId, CompiledNode, Graph, GraphState, NodeIndex};
use ralph_core::workflow::{
    AgentOptions, ChildWorkflowNode, NodeContext, NodeKind, PromptText, WorkflowVariable, substitute_text, value_text,
};
use serde_json::Value;

use super::activity::{ChildCall, NodeLoopPosition, ReadyAction, ReadyActivity, SessionChoice, ShellText, prompt_text};
use super::child_inputs::{ChildInputs, name_in_parent, resolve_child_inputs};
use super::node_values::NodeValues;
use super::services::RunServices;

/// Returns the name of an activity in the whole run.
#[must_use]
pub fn activity_label(key: &str, activity: ActivityId) -> String {
    let item = activity.item.map(|item| format!("[{item}]")).unwrap_or_default();
    format!("{key}{item}#{}", activity.start)
}

/// Prepares an activity. The error is the reason why the node fails.
pub fn prepare_activity(
    graph: &Graph,
    state: &GraphState,
    services: &RunServices,
    activity: ActivityId,
    work: &Activity,
) -> Result<ReadyActivity, String> {
    let node = graph.node(activity.node).ok_or_else(|| "the node does not exist".to_owned())?;
    let context = ActivityContext { graph, state, services, node, id: activity };
    let (action, mut values) = context.action_and_values(work)?;
    context.add_loop_variables(&mut values);
    Ok(ReadyActivity {
        label: activity_label(&node.key, activity),
        node: node.key.clone(),
        definition: node.definition.clone(),
        values,
        action,
        is_recovery: work.is_recovery,
        report: context.report(work),
        session: context.session_choice(),
        feedback: context.group_feedback(),
    })
}

struct ActivityContext<'a> {
    graph: &'a Graph,
    state: &'a GraphState,
    services: &'a RunServices,
    node: &'a CompiledNode,
    id: ActivityId,
}

impl ActivityContext<'_> {
    fn action_and_values(&self, work: &Activity) -> Result<(ReadyAction, NodeValues), String> {
        let action = match (&work.action, &self.node.definition.kind) {
            (ActivityAction::Run, NodeKind::Agent(node)) => ReadyAction::Agent(node.clone()),
            (ActivityAction::Run, NodeKind::Bash(node)) => {
                ReadyAction::Bash { script: ShellText(node.script.clone()), timeout_ms: node.timeout_ms }
            }
            (ActivityAction::Run, NodeKind::Script(node)) => ReadyAction::Script(Box::new(node.clone())),
            (ActivityAction::Run, NodeKind::Checks(node)) => ReadyAction::Checks(node.clone()),
            (ActivityAction::Run, NodeKind::Loop(node)) => {
                ReadyAction::Loop { node: node.clone(), position: NodeLoopPosition::default() }
            }
            (ActivityAction::ContinueLoop { iterations, input }, NodeKind::Loop(node)) => ReadyAction::Loop {
                node: node.clone(),
                position: NodeLoopPosition { iterations: *iterations, user_input: input.clone() },
            },
            (ActivityAction::Rework { reason, .. }, NodeKind::Approval(node)) => {
                let prompt = node.on_reject.as_ref().map(|rework| rework.prompt.clone()).unwrap_or_default();
                let mut values = self.values(&[&prompt])?;
                values.set_variable(WorkflowVariable::RejectionReason, reason.clone());
                let options = Box::new(AgentOptions::default());
                return Ok((ReadyAction::Rework { prompt, options }, values));
            }
            (ActivityAction::RunUntilBash { output, .. }, NodeKind::LoopGroup(group)) => {
                let script = group.control.until_bash.clone().unwrap_or_default();
                let mut values = self.values(&[&script])?;
                values.set_variable(WorkflowVariable::LoopPrevOutput, output.text().to_owned());
                return Ok((ReadyAction::UntilBash { script }, values));
            }
            (ActivityAction::VerifyGroup { .. }, NodeKind::LoopGroup(group)) => {
                ReadyAction::VerifyGroup { criteria: group.control.checks.clone() }
            }
            (ActivityAction::Run, NodeKind::Workflow(child)) => return self.child_action(child, None),
            (ActivityAction::RunItem { value }, NodeKind::Workflow(child)) => {
                return self.child_action(child, Some(value));
            }
            (ActivityAction::FindItems, NodeKind::Workflow(child)) => return self.find_items(child),
            (action, _) => return Err(format!("the node has no action {action:?}")),
        };
        let texts: Vec<String> = self.texts();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        Ok((action, self.values(&texts)?))
    }

    /// Resolves what a child run gets. The item is one of its inputs, or its message.
    fn child_action(
        &self,
        child: &ChildWorkflowNode,
        item: Option<&Value>,
    ) -> Result<(ReadyAction, NodeValues), String> {
        let target = self.services.spec.children.get(&child.workflow);
        let target = target.ok_or_else(|| format!("the workflow {} was not found", child.workflow))?;
        let texts: Vec<String> = self.texts();
        let values = self.values(&texts.iter().map(String::as_str).collect::<Vec<_>>())?;
        let ChildInputs { message, inputs } = resolve_child_inputs(child, &target.workflow, item, &values)?;
        let call = ChildCall {
            activity: self.id,
            workflow: child.workflow.clone(),
            message,
            inputs,
            own_worktree: child.own_worktree,
            parent_node: name_in_parent(self.graph, self.state, self.id),
        };
        // The child has its inputs. The list of a fan-out is among the values: each of its items would keep it.
        Ok((ReadyAction::Child(call), NodeValues::default()))
    }

    fn find_items(&self, child: &ChildWorkflowNode) -> Result<(ReadyAction, NodeValues), String> {
        let template = child.fan_out.as_ref().map(|fan_out| fan_out.items.as_str()).unwrap_or_default();
        let values = self.values(&[template])?;
        let resolved = values.with_text_values(|values| substitute_text(template, values));
        let text = resolved.map_err(|error| format!("fan_out.items: {error}"))?.text;
        Ok((ReadyAction::FoundItems(read_items(template, &text)?), values))
    }

    /// Returns all texts of the node whose references are resolved when it starts.
    fn texts(&self) -> Vec<String> {
        let mut texts: Vec<String> =
            self.node.definition.texts().into_iter().map(|text| text.text.to_owned()).collect();
        if let Some(prompt @ PromptText::Command { .. }) = self.prompt() {
            texts.extend(prompt_text(&self.services.spec, prompt).map(str::to_owned));
        }
        texts
    }

    fn prompt(&self) -> Option<&PromptText> {
        self.node.definition.kind.agent_work().map(|work| work.prompt)
    }

    /// Collects the values of these texts. The values of `with` are inputs of the command file.
    fn values(&self, texts: &[&str]) -> Result<NodeValues, String> {
        let values = NodeValues::collect(self.graph, self.state, self.id.node, texts)
            .with_inputs(self.services.spec.inputs.clone())
            .with_variables(self.services.variables());
        let included = resolve_with(&self.node.definition.inputs, &values)?;
        let mut inputs = self.services.spec.inputs.clone();
        inputs.extend(included);
        let values = values.with_inputs(inputs.clone());
        match self.prompt() {
            Some(PromptText::Command { with, .. }) => {
                inputs.extend(resolve_with(with, &values)?);
                Ok(values.with_inputs(inputs))
            }
            Some(PromptText::Inline(_)) | None => Ok(values),
        }
    }

    /// Returns what judges and plugins read as the report of the agent: the output of the iteration of a group, else the
    /// last messages of the agents directly before the node.
    fn report(&self, work: &Activity) -> String {
        if let ActivityAction::VerifyGroup { output, .. } = &work.action {
            return output.text().to_owned();
        }
        let agents = self.node.dependencies.iter().filter(|dependency| self.is_agent(**dependency));
        let outcomes = agents.filter_map(|agent| self.state.node(*agent)?.outcome());
        let texts = outcomes.filter_map(|outcome| outcome.output().read(None).ok());
        texts.map(std::borrow::Cow::into_owned).collect::<Vec<_>>().join("\n\n")
    }

    /// The loop values of the group around the node.
    fn add_loop_variables(&self, values: &mut NodeValues) {
        let Some(progress) = self.node.group.and_then(|group| self.state.group_progress(group)) else { return };
        values.set_variable(WorkflowVariable::LoopUserInput, progress.user_input.clone());
        values.set_variable(WorkflowVariable::LoopPrevOutput, progress.previous_output.text().to_owned());
    }

    /// Returns why the last iterations of the groups around the node did not count as done, the nearest group first.
    fn group_feedback(&self) -> String {
        let group_of = |node: NodeIndex| self.graph.node(node).and_then(|node| node.group);
        let groups = std::iter::successors(self.node.group, |group| group_of(*group));
        let feedback = groups.filter_map(|group| self.state.group_progress(group)?.feedback.as_ref());
        feedback.map(RejectionFeedback::to_prompt_section).collect()
    }

    fn options(&self) -> Option<&AgentOptions> {
        self.node.definition.kind.agent_work().map(|work| work.options)
    }

    /// Without a `context` the node continues its only dependency, if that is an agent node with no other agent dependant.
    fn session_choice(&self) -> SessionChoice {
        let Some(options) = self.options() else { return SessionChoice::Fresh };
        match &options.context {
            Some(NodeContext::Fresh) => SessionChoice::Fresh,
            Some(NodeContext::Resume(id)) => match self.graph.find_from(self.id.node, id) {
                Some(node) => SessionChoice::Fork { node: self.key_of(node) },
                None => SessionChoice::Fresh,
            },
            Some(NodeContext::Shared) => self
                .nearest_agent()
                .map_or(SessionChoice::Fresh, |node| SessionChoice::Continue { node: self.key_of(node) }),
            None => self
                .only_agent_dependency()
                .map_or(SessionChoice::Fresh, |node| SessionChoice::Continue { node: self.key_of(node) }),
        }
    }

    fn key_of(&self, node: NodeIndex) -> String {
        self.graph.node(node).map(|node| node.key.clone()).unwrap_or_default()
    }

    fn is_agent(&self, node: NodeIndex) -> bool {
        self.graph.node(node).is_some_and(|node| node.definition.kind.agent_work().is_some())
    }

    fn only_agent_dependency(&self) -> Option<NodeIndex> {
        let &[dependency] = self.node.dependencies.as_slice() else { return None };
        let dependants = &self.graph.node(dependency)?.dependants;
        let agents = dependants.iter().filter(|dependant| self.is_agent(**dependant)).count();
        (self.is_agent(dependency) && agents == 1).then_some(dependency)
    }

    /// Returns the nearest agent node before this one.
    fn nearest_agent(&self) -> Option<NodeIndex> {
        let mut seen: BTreeMap<NodeIndex, ()> = BTreeMap::new();
        let mut front: Vec<NodeIndex> = self.node.dependencies.clone();
        while !front.is_empty() {
            if let Some(found) = front.iter().rev().find(|node| self.is_agent(**node)) {
                return Some(*found);
            }
            let mut next = Vec::new();
            for node in front {
                if seen.insert(node, ()).is_none() {
                    next.extend(self.graph.node(node).map(|node| node.dependencies.clone()).unwrap_or_default());
                }
            }
            front = next;
        }
        None
    }
}

/// Reads the list of a fan-out.
pub fn read_items(template: &str, text: &str) -> Result<Vec<Value>, String> {
    match serde_json::from_str(text.trim()) {
        Ok(Value::Array(items)) => Ok(items),
        Ok(_) | Err(_) => {
            let start: String = text.trim().chars().take(80).collect();
            Err(format!("`fan_out.items` is not a JSON array: {template} is {start:?}"))
        }
    }
}

/// Returns the values of `with` as texts.
pub fn resolve_with(with: &BTreeMap<String, Value>, values: &NodeValues) -> Result<BTreeMap<String, String>, String> {
    let mut resolved = BTreeMap::new();
    for (name, value) in with {
        let text = match value {
            Value::String(text) => {
                values
                    .with_text_values(|values| substitute_text(text, values))
                    .map_err(|error| format!("with.{name}: {error}"))?
                    .text
            }
            other => value_text(other).into_owned(),
        };
        resolved.insert(name.clone(), text);
    }
    Ok(resolved)
}
