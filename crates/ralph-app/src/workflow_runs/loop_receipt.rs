//! The receipt of a loop that is completed by something else than the promise of its run: a command, a field, its checks, a
//! person, or the signal in a group. The run of such a loop never claims, so that it is not `completed` and has no receipt;
//! the workflow run stores this one, in the step that settles the node.
use std::collections::BTreeMap;

use ralph_core::event::UnixMillis;
use ralph_core::receipt::{ProofLevel, ReceiptCheck, WorkTreeSnapshot};
use ralph_core::workflow::NodeKind;
use ralph_core::workflow::graph::{Graph, GraphFact, NodeOutcome, NodeState, PersonQuestion};
use ralph_engine::run_driver::format_timestamp;
use ralph_store::receipt_file::canonical_json;
use ralph_util::digest::sha256_hex;
use ralph_util::redact;
use serde::{Deserialize, Serialize};

use super::fact::WorkflowFact;

/// The version of this format. Within it, keys are only added.
const RECEIPT_VERSION: u32 = 1;

/// The kind of these receipts; those of runs have the kind of the run.
const RECEIPT_KIND: &str = "loop_node";

/// The channel that reported that a loop is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "channel", rename_all = "snake_case")]
pub enum CompletionChannel {
    /// The completion signal in the output of an agent.
    Signal,
    /// `until_bash` exited with 0.
    UntilBash { command: String },
    /// The field of `until_field` is true.
    UntilField { field: String },
    /// The checks, without another channel.
    Checks,
    /// A person at the gate, without a claim.
    Person,
}

/// A completion that was found in an iteration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoopClaim {
    pub channel: CompletionChannel,
    /// The run of the loop; a group has none.
    pub run: Option<String>,
    /// How many iterations have ended, if the graph does not know.
    pub iterations: Option<u32>,
    /// The files of the run when the channel said so.
    pub repository: Option<WorkTreeSnapshot>,
}

/// The checks that accepted a completion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoopChecks {
    pub checks: Vec<ReceiptCheck>,
    /// The files that they verified.
    pub repository: Option<WorkTreeSnapshot>,
}

/// The evidence for the completion of a loop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoopReceipt {
    pub version: u32,
    pub kind: String,
    pub workflow_run: String,
    pub workflow: String,
    pub node: String,
    /// The run of the loop; a group has none.
    pub run: Option<String>,
    pub completed_by: CompletionChannel,
    /// The person who completed it at the gate.
    pub accepted_by: Option<String>,
    /// Whether a command or a check accepted the work.
    pub verified: bool,
    pub proof: ProofLevel,
    pub checks: Vec<ReceiptCheck>,
    pub repository: Option<WorkTreeSnapshot>,
    pub iterations: Option<u32>,
    pub finished_at: String,
    pub ralph: String,
}

/// The run that the receipts belong to, and the time.
#[derive(Debug, Clone, Copy)]
pub struct ReceiptContext<'a> {
    pub workflow_run: &'a str,
    pub workflow: &'a str,
    pub at: UnixMillis,
}

/// The known details about the completions of the loops of a run, until they are settled.
#[derive(Debug, Default)]
pub struct LoopCompletions {
    loops: BTreeMap<String, LoopEvidence>,
}

#[derive(Debug, Default)]
struct LoopEvidence {
    claim: Option<LoopClaim>,
    checks: Option<LoopChecks>,
    person: Option<String>,
    /// The iteration of a group, or before a gate.
    iteration: Option<u32>,
}

impl LoopCompletions {
    pub fn note_claim(&mut self, node: String, claim: LoopClaim) {
        let evidence = self.loops.entry(node).or_default();
        (evidence.claim, evidence.checks) = (Some(claim), None);
    }

    pub fn note_checks(&mut self, node: String, checks: LoopChecks) {
        self.loops.entry(node).or_default().checks = Some(checks);
    }

    /// Notes who completes a loop at the gate after an iteration.
    pub fn note_person(&mut self, node: String, person: String, iteration: Option<u32>) {
        let evidence = self.loops.entry(node).or_default();
        (evidence.person, evidence.iteration) = (Some(person), iteration);
    }

    /// Returns the receipts of the loops that these facts complete. `channel_of_group` returns what completes a loop group
    /// if no activity has claimed it; `None` for other nodes.
    pub fn take_receipts(
        &mut self,
        facts: &[GraphFact],
        context: ReceiptContext<'_>,
        channel_of_group: impl Fn(&str) -> Option<CompletionChannel>,
    ) -> Vec<WorkflowFact> {
        let mut receipts = Vec::new();
        for fact in facts {
            let GraphFact::Node(row) = fact else { continue };
            match &row.state {
                NodeState::Settled { outcome: NodeOutcome::Completed { proof: Some(proof), .. } } => {
                    let known = self.loops.remove(&row.key);
                    let channel = channel_of_group(&row.key);
                    let evidence = if channel.is_some() { Some(known.unwrap_or_default()) } else { known };
                    let receipt = evidence.map(|evidence| evidence.into_receipt(context, &row.key, *proof, channel));
                    receipts.extend(receipt.and_then(|receipt| receipt.into_fact().ok()));
                }
                NodeState::Settled { .. } | NodeState::Running { .. } => drop(self.loops.remove(&row.key)),
                NodeState::Repeating(progress) => {
                    let evidence = self.loops.entry(row.key.clone()).or_default();
                    if evidence.iteration.replace(progress.iteration) != Some(progress.iteration) {
                        *evidence = LoopEvidence { iteration: evidence.iteration, ..LoopEvidence::default() };
                    }
                }
                NodeState::Pending
                | NodeState::Queued { .. }
                | NodeState::Parked { .. }
                | NodeState::Interrupted { .. }
                | NodeState::AwaitingRetry { .. }
                | NodeState::Asking { .. }
                | NodeState::FanningOut { .. } => {}
            }
        }
        receipts
    }
}

impl LoopEvidence {
    fn into_receipt(
        self,
        context: ReceiptContext<'_>,
        node: &str,
        proof: ProofLevel,
        unclaimed: Option<CompletionChannel>,
    ) -> LoopReceipt {
        let Self { claim, checks, person, iteration } = self;
        let unclaimed = unclaimed.filter(|_| person.is_none()).unwrap_or(CompletionChannel::Person);
        let (run, iterations) = claim.as_ref().map(|claim| (claim.run.clone(), claim.iterations)).unwrap_or_default();
        let (checks, verified_files) = checks.map(|checks| (checks.checks, checks.repository)).unwrap_or_default();
        let claimed_files = claim.as_ref().and_then(|claim| claim.repository.clone());
        let completed_by = claim.map_or(unclaimed, |claim| claim.channel);
        let is_by_command = matches!(completed_by, CompletionChannel::UntilBash { .. });
        LoopReceipt {
            version: RECEIPT_VERSION,
            kind: RECEIPT_KIND.to_owned(),
            workflow_run: context.workflow_run.to_owned(),
            workflow: context.workflow.to_owned(),
            node: node.to_owned(),
            run,
            verified: is_by_command || checks.iter().any(ReceiptCheck::verifies_work),
            completed_by,
            accepted_by: person,
            proof,
            checks,
            repository: verified_files.or(claimed_files),
            iterations: iteration.or(iterations),
            finished_at: format_timestamp(context.at),
            ralph: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

impl LoopReceipt {
    /// Returns the event that stores the receipt, without secrets and with its hash.
    fn into_fact(self) -> serde_json::Result<WorkflowFact> {
        let text = canonical_json(&self)?;
        let receipt: Self = serde_json::from_str(&redact::redact_text(&text))?;
        let sha256 = sha256_hex(canonical_json(&receipt)?);
        Ok(WorkflowFact::Receipt { node: self.node, receipt: Box::new(receipt), sha256 })
    }

    /// Describes in a few words what completed the loop.
    #[must_use]
    pub fn describe_completion(&self) -> String {
        let person = self.accepted_by.as_ref().map(|person| format!(", accepted by {person}")).unwrap_or_default();
        let channel = match &self.completed_by {
            CompletionChannel::Signal => "its signal".to_owned(),
            CompletionChannel::UntilBash { command } => {
                format!("`until_bash`: {}", command.lines().next().unwrap_or_default())
            }
            CompletionChannel::UntilField { field } => format!("`until_field`: {field}"),
            CompletionChannel::Checks => "its checks".to_owned(),
            CompletionChannel::Person => "a person".to_owned(),
        };
        format!("{channel}{person}")
    }
}

/// Returns what completes a loop group if no activity has claimed it; `None` for other nodes.
pub fn unclaimed_channel(graph: &Graph, node: &str) -> Option<CompletionChannel> {
    let compiled = graph.node(graph.find(node)?)?;
    let NodeKind::LoopGroup(group) = &compiled.definition.kind else { return None };
    let has_signal = group.control.until.is_some();
    Some(if has_signal { CompletionChannel::Signal } else { CompletionChannel::Checks })
}

/// Returns the iteration after which a loop asks at its gate.
pub fn gate_iteration(state: &NodeState) -> Option<u32> {
    if let NodeState::Asking { question: PersonQuestion::Gate(gate) } = state { Some(gate.iteration) } else { None }
}

#[cfg(test)]
mod tests {
    use ralph_core::workflow::graph::NodeRow;

    use super::*;

    const CONTEXT: ReceiptContext<'static> = ReceiptContext { workflow_run: "w", workflow: "build", at: UnixMillis(0) };

    fn settled(proof: Option<ProofLevel>) -> GraphFact {
        let outcome = NodeOutcome::Completed { output: "done".to_owned().into(), proof };
        let state = NodeState::Settled { outcome };
        GraphFact::Node(NodeRow { key: "fix".to_owned(), generation: 0, starts: 1, state })
    }

    fn claim(channel: CompletionChannel) -> LoopClaim {
        LoopClaim { channel, run: Some("r".to_owned()), iterations: Some(2), repository: None }
    }

    fn receipt_of(facts: &[WorkflowFact]) -> &LoopReceipt {
        let [WorkflowFact::Receipt { receipt, sha256, .. }] = facts else { panic!("{facts:?}") };
        assert_eq!(*sha256, sha256_hex(canonical_json(receipt).unwrap()));
        receipt
    }

    // spec: W4, V14
    #[test]
    fn a_completion_by_a_command_has_a_receipt_that_names_the_command() {
        let mut completions = LoopCompletions::default();
        completions.note_claim("fix".to_owned(), claim(CompletionChannel::UntilBash { command: "make ok".to_owned() }));
        let facts = completions.take_receipts(&[settled(Some(ProofLevel::Checked))], CONTEXT, |_| None);
        let receipt = receipt_of(&facts);
        assert_eq!((receipt.proof, receipt.verified, receipt.iterations), (ProofLevel::Checked, true, Some(2)));
        assert_eq!(receipt.describe_completion(), "`until_bash`: make ok");
        assert_eq!(completions.take_receipts(&[settled(Some(ProofLevel::Checked))], CONTEXT, |_| None), []);
    }

    // spec: W4
    #[test]
    fn a_loop_with_the_receipt_of_its_run_gets_no_second_one_and_a_group_always_has_one() {
        let mut completions = LoopCompletions::default();
        let completed = [settled(Some(ProofLevel::Unverified))];
        assert_eq!(completions.take_receipts(&completed, CONTEXT, |_| None), []);
        let facts = completions.take_receipts(&completed, CONTEXT, |_| Some(CompletionChannel::Signal));
        assert_eq!(
            (receipt_of(&facts).completed_by.clone(), receipt_of(&facts).verified),
            (CompletionChannel::Signal, false)
        );
        assert_eq!(completions.take_receipts(&[settled(None)], CONTEXT, |_| None), []);
    }

    // spec: W4, W13
    #[test]
    fn the_person_who_completes_a_loop_at_its_gate_is_named() {
        let mut completions = LoopCompletions::default();
        completions.note_person("fix".to_owned(), "ann".to_owned(), Some(3));
        let facts = completions.take_receipts(&[settled(Some(ProofLevel::Unverified))], CONTEXT, |_| None);
        let receipt = receipt_of(&facts);
        assert_eq!(
            (receipt.describe_completion().as_str(), receipt.iterations),
            ("a person, accepted by ann", Some(3))
        );
    }
}
