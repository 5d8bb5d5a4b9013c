//! The rules that decide on runs, iterations, tasks and workflow runs: their names in JSON, and what each of them says.

/// Declares the rules with their names and sentences, so that no rule lacks either.
macro_rules! deciding_rules {
    ($($(#[$about:meta])* $variant:ident, $name:literal, $sentence:literal;)*) => {
        /// A rule that decided, or could decide.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum DecidingRule {
            $($(#[$about])* $variant,)*
        }

        impl DecidingRule {
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// Returns the name, which is stable.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// Returns what the rule says.
            #[must_use]
            pub fn sentence(self) -> &'static str {
                match self {
                    $(Self::$variant => $sentence,)*
                }
            }
        }
    };
}

deciding_rules! {
    ChecksAccepted, "checks_accepted", "The agent claimed that it is done, and every required check accepted the claim.";
    ClaimAlone, "claim_alone", "The agent claimed that it is done. The run has no checks, so the claim alone completes it.";
    PersonAccepted, "person_accepted", "A person accepted the claim that the checks did not accept.";

    IterationLimit, "iteration_limit", "A run ends after its last iteration if that iteration did not complete it.";
    ClosedByWorkflow, "closed_by_workflow", "The workflow decided after an iteration that the loop is done.";
    StallLimit, "stall_limit", "A run ends after too many iterations in a row without a change.";
    CostLimit, "cost_limit", "A run ends when the cost of all its attempts and judges reaches the limit.";
    TokenLimit, "token_limit", "A run ends when the tokens of all its attempts and judges reach the limit.";
    TimeLimit, "time_limit", "A run ends when it has worked for as long as it may, without pauses.";
    UnknownCost, "unknown_cost", "A run that requires known costs ends when an agent does not report its cost.";
    SharedIterationLimit, "shared_iteration_limit", "The runs that share a budget have started as many iterations as they may.";
    RateLimitWaitLimit, "rate_limit_wait_limit", "A run ends when a rate limit lasts longer than the run may wait.";
    AgentWaitLimit, "agent_wait_limit", "A run ends when its agent asks to wait for longer than it may.";

    RetryLimit, "retry_limit", "A run fails when the attempts of an iteration fail more often than they may be retried.";
    AgentFailure, "agent_failure", "A run fails at once when an attempt fails in a way that a retry cannot change.";
    PlanMissing, "plan_missing", "A run that follows an implementation plan needs that plan.";
    StateUnusable, "state_unusable", "A run fails when its work tree or its state cannot be used any more.";
    InternalError, "internal_error", "A part of ralph failed. The outcome of the attempt is unknown.";

    AgentBlocked, "agent_blocked", "The agent said that it is blocked and needs a person.";
    WorkSentBack, "work_sent_back", "The role that judges the work rejected it, and the work goes back.";
    ChangedTests, "changed_tests", "Claims were rejected because of changed protected tests as often as allowed: a person decides.";
    JudgeFailed, "judge_failed", "The judge was asked and gave no verdict. The agent cannot change that: a person decides.";
    ChecksUnevaluated, "checks_unevaluated", "Too many claims in a row could not be evaluated: a person decides.";
    CheckCannotRun, "check_cannot_run", "A check cannot run, so no claim could be verified. No agent was started.";
    SealImpossible, "seal_impossible", "The files that must not change cannot be sealed. No agent was started.";
    ProofImpossible, "proof_impossible", "The run requires proof that its checks cannot give. No agent was started.";

    Cancelled, "cancelled", "A person cancelled the run.";
    SessionEnded, "session_ended", "The session of the loop was aborted or deleted.";
    StopSignal, "stop_signal", "A signal stopped the run. It can be resumed.";
    Parked, "parked", "A long wait ends the process of the run. The run continues after the wait.";
    AwaitsWorkflow, "awaits_workflow", "The workflow decides after each iteration how the loop continues.";
    ReopenedByPerson, "reopened_by_person", "A person rejected the claim, answered the question or changed the limits: the run can be resumed.";
    DriverDied, "driver_died", "The process that drove the run ended without recording an end. The run can be resumed.";

    /// The rules of one iteration.
    CheckRejected, "check_rejected", "A claim is rejected if a required check fails.";
    CheckUnevaluated, "check_unevaluated", "A claim is not accepted if a required check cannot be evaluated.";
    ProofTooLow, "proof_too_low", "The checks accepted the claim, but the run requires a proven result.";
    ProtectedTests, "protected_tests", "A claim is rejected if the checks fail with the tests as they were before the work.";
    SealBroken, "seal_broken", "A claim is rejected if a sealed file has changed.";
    WorkNotCommitted, "work_not_committed", "A claim is rejected if the claimed work is not committed.";
    ContradictedClaim, "contradicted_claim", "A claim is rejected if the same message says that work is open.";
    ContradictedApproval, "contradicted_approval", "An approval is rejected if the same message also rejects the work.";
    NoClaim, "no_claim", "Without a claim there is nothing to verify, so the next iteration follows.";
    IterationTimeout, "iteration_timeout", "An iteration that takes too long is stopped.";
    SilenceTimeout, "silence_timeout", "An agent that prints nothing for too long is stopped.";
    Interrupted, "interrupted", "The iteration was stopped before it ended.";

    /// The activity of a run that has not ended.
    NotStarted, "not_started", "The run has not started.";
    Preparing, "preparing", "Files are being sealed, and the checks run once before the work.";
    AgentWorks, "agent_works", "The agent works. The attempt ends when its process ends.";
    RetryWait, "retry_wait", "An attempt failed, and is repeated after a delay.";
    RateLimitWait, "rate_limit_wait", "Every agent is rate limited. The next attempt starts after the wait.";
    AgentWait, "agent_wait", "The agent asked for a wait. The iteration continues after it.";
    ChecksRun, "checks_run", "The agent claimed that it is done, and the checks run.";
    Stopping, "stopping", "The agent or the checks were asked to stop.";
    Paused, "paused", "A person paused the run. It waits until a person resumes it.";

    /// The rules of tasks.
    AllStagesAccepted, "all_stages_accepted", "A task is done when every stage was accepted.";
    Dependency, "dependency", "A task starts when all tasks on which it depends are done.";
    Approval, "approval", "An agent wrote the checks of the task. It starts when a person has approved them.";
    Lease, "lease", "A worker has the task. No other worker may take it meanwhile.";
    Ready, "ready", "Nothing keeps the task from starting. It waits for a free slot of a worker.";
    AttemptLimit, "attempt_limit", "A task is blocked when its stages have failed as often as they may.";
    RoundLimit, "round_limit", "A task is blocked when its work was sent back more often than it may be.";
    StageBlocked, "stage_blocked", "A task is blocked when a stage is blocked or over budget: another attempt would end the same way.";
    SetByPerson, "set_by_person", "A person set the status of the task.";

    /// The rules of workflow runs.
    AllNodesEnded, "all_nodes_ended", "A workflow is completed when all its nodes have ended and none of them failed.";
    NodeFailed, "node_failed", "A workflow fails when a node fails and no later node runs in spite of it.";
    NoResult, "no_result", "A workflow fails when the node whose output is its result does not complete.";
    NegativeVerdict, "negative_verdict", "A workflow fails when the field of the result that decides is not true.";
    Question, "question", "A node asks a person, and nothing else can run.";
    NodesRun, "nodes_run", "Nodes run. The workflow ends when all of them have ended.";

    Unknown, "unknown", "The journal does not say which rule decided: another version of ralph wrote it.";
}

impl DecidingRule {
    /// Returns the name for people: `iteration limit`.
    #[must_use]
    pub fn label(self) -> alloc::string::String {
        self.as_str().replace('_', " ")
    }

    /// Returns whether the rule is a limit that a person can set.
    pub(super) fn is_limit(self) -> bool {
        matches!(self, Self::CostLimit | Self::TokenLimit | Self::TimeLimit)
    }
}
