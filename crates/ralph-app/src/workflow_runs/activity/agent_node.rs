//! Agent nodes: one pass of an agent, whose last message is the output.
use ralph_core::outcome::Outcome;
use ralph_core::workflow::graph::{ActivityResult, FailureKind, NodeFailure};
use ralph_core::workflow::{AgentNode, AgentOptions, PromptText, output_schema, substitute_prompt};
use ralph_engine::run_driver::ControlEvent;
use tokio::sync::mpsc::UnboundedReceiver;

use super::agent_pass::{EndedPass, PassRequest, PassSession};
use super::shell_node::ignored_output;
use super::typed_output::read_node_output;
use super::{ActivityRunner, ReadyActivity, failed};
use crate::error::AppError;

/// How often an agent is asked again for an answer that fits its `output_format`.
const MAX_OUTPUT_REQUESTS: u32 = 3;

/// The prompt for an agent, and its session.
struct AgentQuestion<'a> {
    prompt: String,
    options: &'a AgentOptions,
    session: Option<PassSession>,
}

impl ActivityRunner {
    pub(super) async fn run_agent_node(
        &self,
        ready: &ReadyActivity,
        node: &AgentNode,
        control: UnboundedReceiver<ControlEvent>,
    ) -> ActivityResult {
        let prompt = match self.node_prompt(ready, &node.prompt) {
            Ok(prompt) => prompt,
            Err(reason) => return failed(reason),
        };
        let prompt = with_output_instruction(with_group_feedback(prompt, ready), ready);
        let session = match self.find_session(ready).await {
            Ok(session) => session,
            Err(error) => return failed(describe(&error)),
        };
        let question = AgentQuestion { prompt, options: &node.options, session };
        match self.ask_agent(ready, question, control).await {
            Ok(result) => result,
            Err(error) => failed(describe(&error)),
        }
    }

    /// Runs the agent, and asks it again while its answer does not fit the `output_format`.
    async fn ask_agent(
        &self,
        ready: &ReadyActivity,
        question: AgentQuestion<'_>,
        control: UnboundedReceiver<ControlEvent>,
    ) -> Result<ActivityResult, AppError> {
        let mut relay = super::control_relay::ControlRelay::new(control);
        let AgentQuestion { mut prompt, options, mut session } = question;
        for number in 0..=MAX_OUTPUT_REQUESTS {
            let label = if number == 0 { ready.label.clone() } else { format!("{}~{number}", ready.label) };
            let request = PassRequest { ready, label, prompt, options, loop_rules: None, session };
            let pass = self.run_pass(request, relay.next_channel()).await?;
            if let Some(result) = unsuccessful_result(&pass) {
                return Ok(result);
            }
            let output = pass.output.trim().to_owned();
            let problem = match read_node_output(ready, output.clone()) {
                Ok(_) => return Ok(self.finish_output(ready, output, None)),
                Err(error) => error,
            };
            if number == MAX_OUTPUT_REQUESTS {
                return Ok(failed(format!("{problem} (asked {} times)", number + 1)));
            }
            let schema = ready.definition.output_format.as_ref().unwrap_or(&serde_json::Value::Null);
            prompt = output_schema::ask_again(&problem, schema);
            session = pass.state.session.map(|session| PassSession { session, is_fork: false });
        }
        Ok(failed("the agent gave no answer"))
    }

    /// Reworks what a person rejected.
    pub(super) async fn run_rework(
        &self,
        ready: &ReadyActivity,
        prompt: &str,
        options: &AgentOptions,
        control: UnboundedReceiver<ControlEvent>,
    ) -> ActivityResult {
        let substituted = match ready.values.with_text_values(|values| substitute_prompt(prompt, values)) {
            Ok(substituted) => substituted.text,
            Err(error) => return failed(error.to_string()),
        };
        let label = ready.label.clone();
        let request = PassRequest { ready, label, prompt: substituted, options, loop_rules: None, session: None };
        match self.run_pass(request, control).await {
            Ok(pass) => unsuccessful_result(&pass).unwrap_or_else(ignored_output),
            Err(error) => failed(describe(&error)),
        }
    }

    /// Returns the prompt of a node with its values.
    pub(super) fn node_prompt(&self, ready: &ReadyActivity, prompt: &PromptText) -> Result<String, String> {
        let template = self.prompt_template(prompt)?;
        let substituted = ready.values.with_text_values(|values| substitute_prompt(template, values));
        let substituted = substituted.map_err(|error| error.to_string())?;
        for unknown in &substituted.unknown_nodes {
            self.services.warn(&format!(
                "{}: the prompt mentions ${unknown}.output, but the workflow has no such node; the text is unchanged",
                ready.node
            ));
        }
        Ok(substituted.text)
    }

    /// Returns the text of a prompt before its references are replaced.
    pub(in crate::workflow_runs) fn prompt_template<'a>(&'a self, prompt: &'a PromptText) -> Result<&'a str, String> {
        prompt_text(&self.services.spec, prompt)
    }
}

/// Returns the text of a prompt before its references are replaced.
pub(in crate::workflow_runs) fn prompt_text<'a>(
    spec: &'a crate::workflow_runs::spec::WorkflowRunSpec,
    prompt: &'a PromptText,
) -> Result<&'a str, String> {
    match prompt {
        PromptText::Inline(text) => Ok(text),
        PromptText::Command { name, .. } => {
            spec.commands.get(name).map(String::as_str).ok_or_else(|| format!("the command {name} was not found"))
        }
    }
}

/// Appends why the last iteration of a loop group around the node did not count as done.
pub(super) fn with_group_feedback(prompt: String, ready: &ReadyActivity) -> String {
    if ready.feedback.is_empty() { prompt } else { format!("{}{}", prompt.trim_end(), ready.feedback) }
}

/// Appends the description of the `output_format`, if the node has one.
pub(super) fn with_output_instruction(prompt: String, ready: &ReadyActivity) -> String {
    match &ready.definition.output_format {
        None => prompt,
        Some(schema) => {
            format!("{}\n\n{}\n", prompt.trim_end(), output_schema::describe_output_format(schema).trim())
        }
    }
}

/// Returns the result of a pass that was not successful.
pub(super) fn unsuccessful_result(pass: &EndedPass) -> Option<ActivityResult> {
    let permanent = |reason: String| {
        Some(ActivityResult::Failed(NodeFailure { reason, kind: FailureKind::Permanent, child_outcome: None }))
    };
    match pass.end.outcome {
        Outcome::Completed | Outcome::Exhausted => None,
        Outcome::Interrupted => Some(ActivityResult::Stopped),
        Outcome::Failed => {
            let kind = if pass.state.can_resume() { FailureKind::Transient } else { FailureKind::Permanent };
            Some(ActivityResult::Failed(NodeFailure { reason: pass.end.reason.clone(), kind, child_outcome: None }))
        }
        Outcome::Stalled | Outcome::OverBudget | Outcome::Blocked | Outcome::Cancelled => {
            permanent(pass.end.reason.clone())
        }
    }
}

/// Describes an error with its causes in one line.
pub(super) fn describe(error: &AppError) -> String {
    let advice = error.advice.iter().find_map(|advice| match advice {
        crate::advice::Advice::Text(text) => Some(format!(" ({text})")),
        _ => None,
    });
    format!("{error}{}", advice.unwrap_or_default())
}
