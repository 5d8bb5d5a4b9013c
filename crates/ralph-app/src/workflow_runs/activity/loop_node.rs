//! Loop nodes: one run of ralph whose iterations are those of the loop. A loop that needs a decision after each iteration
//! is stepped: `until_field`, `until_bash`, a gate, or the output of the iteration before in the next prompt.
use ralph_core::claim::{ClaimFinder, ClaimRules, PlainLinePolicy, Promise, TranscriptEvent};
use ralph_core::outcome::{Outcome, RunEnd};
use ralph_core::policy::IterationStepping;
use ralph_core::receipt::ProofLevel;
use ralph_core::workflow::graph::{ActivityResult, IterationVerdict, LoopGate};
use ralph_core::workflow::{LoopNode, TextReference, WorkflowForm, WorkflowVariable, find_references, messages};
use ralph_engine::control::SteppedRun;
use ralph_engine::run_driver::{Clock, ControlEvent};
use ralph_store::{RunRow, StoredRun};
use tokio::sync::mpsc::UnboundedReceiver;

use super::agent_node::{describe, unsuccessful_result, with_group_feedback, with_output_instruction};
use super::agent_pass::{EndedPass, LoopRules, PassRequest};
use super::control_relay::ControlRelay;
use super::loop_completion::{CompletionClaim, CompletionVerdict};
use super::{ActivityRunner, NodeLoopPosition, ReadyActivity, failed};
use crate::error::{AppError, AppResult};
use crate::workflow_runs::loop_receipt::{CompletionChannel, LoopChecks, LoopClaim};

/// The step after an iteration that did not complete the loop by its signal.
enum IterationDecision {
    Complete {
        reason: String,
        proof: ProofLevel,
    },
    /// The completion is accepted, and a person decides about it.
    AskPerson {
        proof: ProofLevel,
    },
    Continue,
    Stopped,
    Fail {
        reason: String,
    },
}

impl ActivityRunner {
    pub(super) async fn run_loop_node(
        &self,
        ready: &ReadyActivity,
        node: &LoopNode,
        position: &NodeLoopPosition,
        control: UnboundedReceiver<ControlEvent>,
    ) -> ActivityResult {
        let driven = LoopDriver {
            runner: self,
            ready,
            node,
            relay: ControlRelay::new(control),
            has_user_input: !position.user_input.is_empty(),
        };
        match driven.run(position).await {
            Ok(result) => result,
            Err(error) => failed(describe(&error)),
        }
    }
}

/// Drives the loop of one node.
struct LoopDriver<'a> {
    runner: &'a ActivityRunner,
    ready: &'a ReadyActivity,
    node: &'a LoopNode,
    relay: ControlRelay,
    /// Whether the person at the gate has said something for the iteration in progress.
    has_user_input: bool,
}

impl LoopDriver<'_> {
    async fn run(mut self, position: &NodeLoopPosition) -> AppResult<ActivityResult> {
        let mut pass = match self.open_pass(position).await? {
            Ok(pass) => pass,
            Err(result) => return Ok(result),
        };
        loop {
            if pass.end.outcome == Outcome::Completed {
                return Ok(self.complete(&pass, pass.proof.unwrap_or(ProofLevel::Unverified)));
            }
            let is_between = pass.end == RunEnd::awaiting_next_iteration();
            if !is_between && pass.end.outcome != Outcome::Exhausted {
                return Ok(self.fail_in_iteration(&pass));
            }
            match self.decide(&pass).await? {
                IterationDecision::Complete { reason, proof } => {
                    self.close(&pass, reason).await?;
                    return Ok(self.complete(&pass, proof));
                }
                IterationDecision::Fail { reason } => {
                    self.close(&pass, reason.clone()).await?;
                    self.announce(&messages::loop_failed(pass.iterations, &reason));
                    return Ok(failed(reason));
                }
                IterationDecision::Stopped => return Ok(ActivityResult::Stopped),
                IterationDecision::Continue if !is_between => return Ok(self.fail_at_limit()),
                IterationDecision::AskPerson { proof } => return Ok(self.reach_gate(&pass, Some(proof))),
                IterationDecision::Continue if self.node.control.interactive => {
                    return Ok(self.reach_gate(&pass, None));
                }
                IterationDecision::Continue if self.relay.is_stopped() => return Ok(ActivityResult::Stopped),
                IterationDecision::Continue => pass = self.next_iteration(&pass, "").await?,
            }
        }
    }

    /// Starts the loop, or opens the run that an earlier activity or process has started.
    async fn open_pass(&mut self, position: &NodeLoopPosition) -> AppResult<Result<EndedPass, ActivityResult>> {
        let started = match (position.iterations > 0, self.ready.is_recovery) {
            (true, _) => self.runner.find_newest_pass(&self.ready.node).await?,
            (false, true) => self.runner.find_interrupted_pass(self.ready).await?,
            (false, false) => None,
        };
        if let Some((row, stored)) = started {
            return self.continue_pass(row, stored, position).await.map(Ok);
        }
        let prompt = match self.prompt("", "") {
            Ok(prompt) => prompt,
            Err(reason) => return Ok(Err(failed(reason))),
        };
        let rules = match self.rules() {
            Ok(rules) => rules,
            Err(reason) => return Ok(Err(failed(reason))),
        };
        let session = self.runner.find_session(self.ready).await?;
        let ready = self.ready;
        let request = PassRequest {
            ready,
            label: ready.label.clone(),
            prompt,
            options: &self.node.options,
            loop_rules: Some(rules),
            session,
        };
        let control = self.relay.next_channel();
        Ok(Ok(self.runner.run_pass(request, control).await?))
    }

    /// Continues the run of the loop that an earlier activity or process has left.
    async fn continue_pass(
        &mut self,
        row: RunRow,
        stored: StoredRun,
        position: &NodeLoopPosition,
    ) -> AppResult<EndedPass> {
        if !stored.state.can_resume() {
            return self.runner.load_ended_pass(&row.id, None).await;
        }
        let is_between = stored.state.run_end() == Some(&RunEnd::awaiting_next_iteration());
        if !is_between {
            let control = self.relay.next_channel();
            return self.runner.resume_pass(row, stored, None, control).await;
        }
        let ended = self.runner.load_ended_pass(&row.id, None).await?;
        // After a gate the person has decided; after a crash the iteration has not been decided yet.
        let is_decided = position.iterations >= ended.iterations;
        if is_decided { self.next_iteration(&ended, &position.user_input).await } else { Ok(ended) }
    }

    fn rules(&self) -> Result<LoopRules, String> {
        let control = &self.node.control;
        // An agent's signal does not end an interactive loop, unless its author wants that.
        let signal = control.until.as_deref().filter(|_| !control.interactive || control.signal_completes);
        let promise = signal.map(|until| Promise::parse(until).map_err(|error| format!("`until`: {error}")));
        Ok(LoopRules {
            promise: promise.transpose()?,
            max_iterations: control.max_iterations.max(1),
            checks: control.checks.clone(),
            is_fresh_context: control.fresh_context,
            stepping: if self.is_stepped() { IterationStepping::OneByOne } else { IterationStepping::Continuous },
            may_stall: !control.interactive,
        })
    }

    fn is_stepped(&self) -> bool {
        let control = &self.node.control;
        let has_channel = control.until_bash.is_some() || self.node.until_field.is_some() || control.interactive;
        has_channel || self.has_only_checks() || self.prompt_uses_loop_values()
    }

    fn prompt_uses_loop_values(&self) -> bool {
        let template = self.runner.prompt_template(&self.node.prompt).unwrap_or_default();
        find_references(template).iter().any(|found| {
            matches!(
                found.reference,
                TextReference::Variable(WorkflowVariable::LoopPrevOutput | WorkflowVariable::LoopUserInput)
            )
        })
    }

    /// Returns the prompt of an iteration.
    fn prompt(&self, previous_output: &str, user_input: &str) -> Result<String, String> {
        let mut values = self.ready.values.clone();
        values.set_variable(WorkflowVariable::LoopPrevOutput, previous_output.to_owned());
        values.set_variable(WorkflowVariable::LoopUserInput, user_input.to_owned());
        let template = self.runner.prompt_template(&self.node.prompt)?;
        let text = values.with_text_values(|values| ralph_core::workflow::substitute_prompt(template, values));
        let text = text.map_err(|error| error.to_string())?.text;
        let text = with_output_instruction(with_group_feedback(text, self.ready), self.ready);
        Ok(match &self.node.control.until {
            Some(until) if !text.to_lowercase().contains(&until.to_lowercase()) => format!(
                "{}\n\nWhen the whole task is done, and only then, end your last message with this on a separate \
                 line:\n\n<promise>{until}</promise>\n",
                text.trim_end()
            ),
            Some(_) | None => text,
        })
    }

    async fn next_iteration(&mut self, pass: &EndedPass, user_input: &str) -> AppResult<EndedPass> {
        let previous = strip_promise_tags(&pass.output);
        let prompt = self.prompt(&previous, user_input).map_err(AppError::preflight)?;
        let (row, stored) = self.runner.load_pass(&pass.run).await?;
        let control = self.relay.next_channel();
        self.runner.resume_pass(row, stored, Some(prompt), control).await
    }

    /// Asks the other ways to complete, the cheap ones first.
    async fn decide(&mut self, pass: &EndedPass) -> AppResult<IterationDecision> {
        if let Some(claim) = self.find_claim(pass) {
            return self.verify(pass, claim).await;
        }
        let Some(script) = &self.node.control.until_bash else { return Ok(IterationDecision::Continue) };
        let mut ready = self.values_for_until(pass);
        ready.label = format!("{}~until-{}", self.ready.label, pass.iterations);
        let control = self.relay.next_channel();
        let unevaluated = match self.runner.judge_until_bash(&ready, script, control).await {
            None => return Ok(IterationDecision::Stopped),
            Some(IterationVerdict::Accepted { proof }) => {
                let reason = "`until_bash` exited with 0".to_owned();
                let channel = CompletionChannel::UntilBash { command: script.clone() };
                let claim = CompletionClaim { channel, reason, level: proof, is_by_command: true };
                return self.verify(pass, claim).await;
            }
            Some(IterationVerdict::Rejected { .. }) => None,
            Some(IterationVerdict::CouldNotEvaluate { reason }) => Some(reason),
        };
        let ended = self.runner.record_until_bash(pass, script, unevaluated).await?;
        Ok(ended.map_or(IterationDecision::Continue, |reason| IterationDecision::Fail { reason }))
    }

    /// Returns the completion that the output of an iteration claims, other than by a promise that its run watches.
    fn find_claim(&self, pass: &EndedPass) -> Option<CompletionClaim> {
        let claim = |channel, reason: String| CompletionClaim {
            channel,
            reason,
            level: ProofLevel::Unverified,
            is_by_command: false,
        };
        let control = &self.node.control;
        if control.interactive && !control.signal_completes && self.has_signal(&pass.output) {
            return Some(claim(CompletionChannel::Signal, "the agent gave the completion signal".to_owned()));
        }
        if let Some(field) = self.node.until_field.as_ref().filter(|field| is_field_true(&pass.output, field)) {
            let channel = CompletionChannel::UntilField { field: field.clone() };
            return Some(claim(channel, format!("`{field}` is true")));
        }
        self.has_only_checks().then(|| claim(CompletionChannel::Checks, "the iteration has ended".to_owned()))
    }

    /// Returns whether nothing but the checks completes the loop.
    fn has_only_checks(&self) -> bool {
        let control = &self.node.control;
        let has_channel = control.until.is_some() || control.until_bash.is_some() || self.node.until_field.is_some();
        !has_channel && !control.checks.is_empty()
    }

    async fn verify(&mut self, pass: &EndedPass, claim: CompletionClaim) -> AppResult<IterationDecision> {
        let control = self.relay.next_channel();
        let (reason, channel) = (claim.reason.clone(), claim.channel.clone());
        Ok(match self.runner.verify_completion(pass, claim, control).await? {
            CompletionVerdict::Accepted { proof, checks } => {
                self.report_completion(pass, channel, checks);
                match self.node.control.completes_without_person(self.has_user_input) {
                    true => IterationDecision::Complete { reason, proof },
                    false => IterationDecision::AskPerson { proof },
                }
            }
            CompletionVerdict::NotAccepted => IterationDecision::Continue,
            CompletionVerdict::Ended { reason } => IterationDecision::Fail { reason },
            CompletionVerdict::Stopped => IterationDecision::Stopped,
        })
    }

    /// Reports the evidence for the receipt of the node.
    fn report_completion(&self, pass: &EndedPass, channel: CompletionChannel, checks: LoopChecks) {
        let services = &self.runner.services;
        let (run, iterations) = (Some(pass.run.clone()), Some(pass.iterations));
        services.report_loop_claim(&self.ready.node, LoopClaim { channel, run, iterations, repository: None });
        services.report_loop_checks(&self.ready.node, checks);
    }

    fn values_for_until(&self, pass: &EndedPass) -> ReadyActivity {
        let mut values = self.ready.values.clone();
        values.set_variable(WorkflowVariable::LoopPrevOutput, strip_promise_tags(&pass.output));
        ReadyActivity {
            label: self.ready.label.clone(),
            node: self.ready.node.clone(),
            definition: self.ready.definition.clone(),
            values,
            action: super::ReadyAction::Unsupported { reason: String::new() },
            is_recovery: false,
            report: String::new(),
            session: super::SessionChoice::Fresh,
            feedback: String::new(),
        }
    }

    async fn close(&self, pass: &EndedPass, reason: String) -> AppResult<()> {
        if pass.end != RunEnd::awaiting_next_iteration() {
            return Ok(());
        }
        let (row, _) = self.runner.load_pass(&pass.run).await?;
        let store = &self.runner.services.host.store;
        let run = SteppedRun { store, run: &pass.run, settings: &row.settings };
        Ok(run.close(reason, Clock::wall_now()).await?)
    }

    fn complete(&self, pass: &EndedPass, proof: ProofLevel) -> ActivityResult {
        let name = self.display_name();
        self.runner.services.announce(&messages::loop_completed(name, pass.iterations));
        let output = strip_promise_tags(&pass.output);
        self.runner.finish_output(self.ready, output.trim().to_owned(), Some(proof))
    }

    /// `accepted` is the proof level of an accepted completion.
    fn reach_gate(&self, pass: &EndedPass, accepted: Option<ProofLevel>) -> ActivityResult {
        ActivityResult::ReachedGate(LoopGate {
            iteration: pass.iterations,
            output: strip_promise_tags(&pass.output).trim().to_owned().into(),
            is_claimed: accepted.is_some(),
            proof: accepted.unwrap_or(ProofLevel::Unverified),
        })
    }

    /// Returns whether the agent says that an interactive loop is done.
    fn has_signal(&self, output: &str) -> bool {
        let Some(Ok(promise)) = self.node.control.until.as_deref().map(Promise::parse) else { return false };
        let rules = ClaimRules { plain: PlainLinePolicy::Accepted, ..ClaimRules::new(promise) };
        let mut finder = ClaimFinder::new(rules, "");
        finder.handle_event(TranscriptEvent::AgentText { message: 1, text: output });
        finder.handle_event(TranscriptEvent::TurnFinished);
        finder.finish().claim.is_made()
    }

    fn fail_in_iteration(&self, pass: &EndedPass) -> ActivityResult {
        match unsuccessful_result(pass) {
            Some(ActivityResult::Stopped) => ActivityResult::Stopped,
            Some(result) => {
                self.runner.services.announce(&messages::loop_failed(pass.iterations, &pass.end.reason));
                result
            }
            None => failed(pass.end.reason.clone()),
        }
    }

    fn fail_at_limit(&self) -> ActivityResult {
        let control = &self.node.control;
        let reason = messages::max_iterations_reached(control.max_iterations, control.until.as_deref());
        self.announce(&messages::loop_incomplete(self.display_name(), &reason));
        failed(reason)
    }

    fn announce(&self, text: &str) {
        self.runner.services.announce(text);
    }

    /// The name of the workflow if it is nothing but this loop, else that of the node.
    fn display_name(&self) -> &str {
        let workflow = &self.runner.services.spec.workflow;
        match workflow.form {
            WorkflowForm::Loop => &workflow.name,
            WorkflowForm::Steps | WorkflowForm::Nodes => &self.ready.node,
        }
    }
}

/// Returns whether an answer is a JSON object in which the field is true.
fn is_field_true(output: &str, field: &str) -> bool {
    let text = output.trim();
    let inside = text.strip_prefix("```").and_then(|inside| inside.strip_suffix("```"));
    let body = inside.and_then(|inside| inside.split_once('\n')).map_or(text, |(_, body)| body.trim());
    let value: Option<serde_json::Value> = serde_json::from_str(body).ok();
    value.is_some_and(|value| value.get(field) == Some(&serde_json::Value::Bool(true)))
}

/// Removes promise tags with their text.
fn strip_promise_tags(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("<promise") {
        let Some((_, behind)) = after.split_once("</promise>") else { break };
        kept.push_str(before);
        rest = behind;
    }
    kept.push_str(rest);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: W4
    #[test]
    fn promise_tags_are_removed_from_the_output_of_an_iteration() {
        assert_eq!(strip_promise_tags("done\n<promise>COMPLETE</promise>\n"), "done\n\n");
        assert_eq!(strip_promise_tags("a <promise>X</promise> b <promise id=\"q\">Y</promise> c"), "a  b  c");
        assert_eq!(strip_promise_tags("an open <promise> stays"), "an open <promise> stays");
    }

    // spec: W4
    #[test]
    fn only_a_field_that_is_true_completes_a_loop() {
        assert!(is_field_true("```json\n{\"done\": true}\n```", "done"));
        for other in ["{\"done\": false}", "{\"done\": \"true\"}", "{}", "done: true"] {
            assert!(!is_field_true(other, "done"), "{other}");
        }
    }
}
