//! `checks` nodes: criteria that must accept the files of the run. They have neither a claim nor a baseline.
use ralph_core::criterion::Criterion;
use ralph_core::evidence::{Evidence, Verdict};
use ralph_core::prompt::RejectionFeedback;
use ralph_core::receipt::{Proof, ProofLevel, ReceiptCheck};
use ralph_core::workflow::ChecksNode;
use ralph_core::workflow::graph::{ActivityResult, FailureKind, IterationVerdict, NodeFailure};
use ralph_engine::git::REPOSITORY_VARIABLES;
use ralph_engine::run_driver::{ControlEvent, JudgeChoice, PROJECT_ENV_VAR, SignalRequest, suspend_commands};
use ralph_engine::verify::{self, CheckCache, CheckContext, CheckEnvironment, SealMonitor, SubmittedClaim};
use ralph_process::{JobCommand, LogBudget};
use ralph_util::memory_size::MemorySize;
use ralph_util::private_files;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::shell_node::file_name;
use super::{ActivityRunner, ReadyActivity, failed};
use crate::workflow_runs::loop_receipt::LoopChecks;

/// The evidence about the files of a run, and the proof level that it has if it accepts them.
struct VerifiedFiles {
    evidence: Evidence,
    proof: ProofLevel,
}

impl ActivityRunner {
    pub(super) async fn run_checks(
        &self,
        ready: &ReadyActivity,
        node: &ChecksNode,
        control: UnboundedReceiver<ControlEvent>,
    ) -> ActivityResult {
        match self.verify_files(ready, &node.criteria, control).await {
            Err(reason) => failed(reason),
            Ok(None) => ActivityResult::Stopped,
            Ok(Some(VerifiedFiles { evidence, proof })) => match evidence.verdict() {
                Verdict::Accepted => self.finish_output(ready, evidence.verdict_reason(), Some(proof)),
                Verdict::Rejected => failed(evidence.verdict_reason()),
                Verdict::CouldNotEvaluate => ActivityResult::Failed(NodeFailure {
                    reason: evidence.verdict_reason(),
                    kind: FailureKind::CouldNotEvaluate,
                    child_outcome: None,
                }),
            },
        }
    }

    /// Verifies the checks of a loop group.
    pub(super) async fn verify_group(
        &self,
        ready: &ReadyActivity,
        criteria: &[Criterion],
        control: UnboundedReceiver<ControlEvent>,
    ) -> ActivityResult {
        match self.verify_files(ready, criteria, control).await {
            Err(reason) => failed(reason),
            Ok(None) => ActivityResult::Stopped,
            Ok(Some(VerifiedFiles { evidence, proof })) => ActivityResult::Judged(match evidence.verdict() {
                Verdict::Accepted => {
                    let checks = evidence.checks.iter().map(ReceiptCheck::from).collect();
                    let repository = self.services.take_snapshot().await;
                    self.services.report_loop_checks(&ready.node, LoopChecks { checks, repository });
                    IterationVerdict::Accepted { proof }
                }
                Verdict::Rejected => IterationVerdict::Rejected {
                    feedback: Some(RejectionFeedback::rejected_completion(
                        evidence.verdict_reason(),
                        evidence.deciding_output_tail().to_owned(),
                    )),
                },
                Verdict::CouldNotEvaluate => IterationVerdict::CouldNotEvaluate { reason: evidence.verdict_reason() },
            }),
        }
    }

    /// Runs criteria on the files of the run. Returns `None` if they were stopped.
    async fn verify_files(
        &self,
        ready: &ReadyActivity,
        criteria: &[Criterion],
        control: UnboundedReceiver<ControlEvent>,
    ) -> Result<Option<VerifiedFiles>, String> {
        let context = self.check_context(ready)?;
        let (commands, received) = unbounded_channel();
        let verifying = verify::verify_checkout(&context, &[], criteria, received);
        let evidence = match drive_checks(verifying, &commands, control).await {
            None => return Ok(None),
            Some(Err(setup)) => return Err(setup.reason.clone()),
            Some(Ok(evidence)) => evidence,
        };
        if let Some(spend) = evidence.judge_spend() {
            self.services.record_judge_spend(&ready.label, spend);
        }
        // Without a baseline nothing was seen to fail.
        let proof = Proof::from_evidence(&evidence.checks, &[]).level;
        Ok(Some(VerifiedFiles { evidence, proof }))
    }

    fn check_context(&self, ready: &ReadyActivity) -> Result<CheckContext, String> {
        let services = &self.services;
        let log_folder = services.run_folder();
        private_files::ensure_folder(&log_folder).map_err(|error| format!("cannot create the log folder: {error}"))?;
        let inherited = std::env::vars_os()
            .filter(|(name, _)| name != PROJECT_ENV_VAR && !REPOSITORY_VARIABLES.iter().any(|gone| name == gone));
        let env = inherited.chain([(PROJECT_ENV_VAR.into(), services.project.root.clone().into())]).collect();
        Ok(CheckContext {
            keeper: services.host.keeper.clone(),
            environment: CheckEnvironment { root: services.project.root.clone(), env, run_id: services.run.clone() },
            cache: CheckCache::default(),
            seal_monitor: SealMonitor::default(),
            log_budget: LogBudget::new(MemorySize::GIGABYTE.as_byte_count(), &log_folder),
            log_folder,
            log_prefix: format!("node-{}", file_name(&ready.label)),
            plugin_folder: services.project.verifiers_folder(),
            claim: SubmittedClaim { report: ready.report.clone(), ..SubmittedClaim::default() },
            judge: self.restore_judge()?.as_ref().map(JudgeChoice::to_judge),
        })
    }
}

/// Waits for checks, and stops or pauses them by commands. Returns `None` if they were stopped.
pub(super) async fn drive_checks<T>(
    work: impl Future<Output = T>,
    commands: &UnboundedSender<JobCommand>,
    mut control: UnboundedReceiver<ControlEvent>,
) -> Option<T> {
    let mut work = std::pin::pin!(work);
    loop {
        tokio::select! {
            done = &mut work => return Some(done),
            event = control.recv() => match event {
                Some(ControlEvent::Signal(SignalRequest::Stop(_)) | ControlEvent::LeaseLost) => {
                    // The checks may have just ended.
                    let _ = commands.send(JobCommand::Kill);
                    let _ = work.await;
                    return None;
                }
                Some(ControlEvent::Suspend(request)) => suspend_commands(request, commands).await,
                Some(ControlEvent::Signal(SignalRequest::Suspend | SignalRequest::CheckOrders)) => {}
                None => std::future::pending().await,
            },
        }
    }
}
