//! Tests of explanations, by the sentences that people read.
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::{
    DecidingRule, DecisionExplanation, RunRecord, TaskDependencyFacts, TaskFacts, WorkflowEndFacts, WorkflowNodeFacts,
    explain_dead_run, explain_ended_run, explain_iteration, explain_open_run, explain_task, explain_workflow,
};
use crate::attempt::{AgentErrorKind, AttemptReport, ModelSpend};
use crate::budget::{Budget, BudgetScope, BudgetUsage, ScopedBudget, UnknownCostPolicy};
use crate::claim::WaitTime;
use crate::control_command::{ControlCommand, PauseTiming};
use crate::decision::PersonDecision;
use crate::event::{EventKind, LifecycleEvent, LoopTimer, PersonVerdict, StopSignal};
use crate::evidence::{Evidence, EvidenceKind, Verdict};
use crate::outcome::{CancelCause, Outcome, RunEnd};
use crate::pipeline::{StageOutcome, StageReport, TaskProgress};
use crate::policy::{IterationStepping, MinimumProof, ParkingPolicy, Policy, RateLimitPolicy, RejectTagUse};
use crate::step::tests::builders::{
    LoopScenario, attempt_key, blocked_report, claiming_report, contradicting_report, crash_report, error_report,
    evidence_with_verdict, policy_with_checks, quiet_report, rate_limited_report, waiting_report,
};
use crate::task::{Approval, Role, TaskStatus};

fn record(scene: &LoopScenario) -> RunRecord<'_> {
    RunRecord { facts: &scene.journal, state: Some(&scene.state), used_by_others: &[] }
}

fn explain_end(scene: &LoopScenario) -> DecisionExplanation {
    explain_ended_run(&record(scene)).unwrap_or_else(|| panic!("the run has not ended: {:?}", scene.state.phase))
}

fn rule_of(scene: &LoopScenario) -> DecidingRule {
    explain_end(scene).rule
}

fn texts(explained: &DecisionExplanation) -> Vec<String> {
    explained.evidence.iter().map(|line| line.text.clone()).collect()
}

fn other_rules(explained: &DecisionExplanation) -> Vec<String> {
    explained.not_applied.iter().map(super::UnappliedRule::text).collect()
}

fn with_cost(micros: u64, report: AttemptReport) -> AttemptReport {
    AttemptReport { spend: ModelSpend { cost_micros: Some(micros), ..ModelSpend::default() }, ..report }
}

fn verify(scene: LoopScenario, iteration: u32, verdict: Verdict) -> LoopScenario {
    scene.end_attempt(iteration, 1, claiming_report()).deliver_verdict(iteration, 1, verdict)
}

fn decide(scene: LoopScenario, verdict: PersonVerdict) -> LoopScenario {
    let because = Some("so it is".to_string());
    let decision = PersonDecision { user: "anna".to_string(), at: "today".to_string(), because };
    scene.play_event(EventKind::Lifecycle(LifecycleEvent::Decided { verdict, decision }))
}

// spec: U6
#[test]
fn a_completed_run_names_who_accepted_its_claim() {
    let claimed = LoopScenario::start_run(Policy::new(3)).end_attempt(1, 1, claiming_report());
    assert_eq!(rule_of(&claimed), DecidingRule::ClaimAlone);
    let checked = verify(LoopScenario::start_run(policy_with_checks(3)), 1, Verdict::Accepted);
    let explained = explain_end(&checked);
    assert_eq!(
        (explained.rule, explained.headline.as_str()),
        (DecidingRule::ChecksAccepted, "completed: 1 check passed")
    );
    assert_eq!(
        texts(&explained),
        ["claim: asserted on line 1 of the final message", "`make test` accepted: External verification passed"]
    );
    let blocked = verify(
        verify(LoopScenario::start_run(policy_with_checks(2)), 1, Verdict::CouldNotEvaluate),
        2,
        Verdict::CouldNotEvaluate,
    );
    let explained = explain_end(&decide(blocked, PersonVerdict::Accepted));
    assert_eq!(explained.rule, DecidingRule::PersonAccepted);
    assert!(texts(&explained).contains(&"accepted by anna: so it is, today".to_string()), "{explained:?}");
}

// spec: U6
#[test]
fn an_exhausted_run_lists_its_iterations_and_the_output_of_the_last_check() {
    let scene = LoopScenario::start_run(policy_with_checks(2)).end_attempt(1, 1, quiet_report());
    let scene = verify(scene, 2, Verdict::Rejected);
    let explained = explain_end(&scene);
    assert_eq!(explained.rule, DecidingRule::IterationLimit);
    assert_eq!(explained.numbers.iter().map(super::RuleNumber::text).collect::<Vec<_>>(), ["2 of 2 iterations"]);
    assert_eq!(
        texts(&explained),
        [
            "claims: 1 in 2 iterations, 0 accepted",
            "iteration 1: no claim: the final message contains no promise tag",
            "iteration 2: the claim was rejected: `make test`: Command exited with 1, expected 0",
            "`make test` rejected: Command exited with 1, expected 0",
            "  | 1 failed",
        ]
    );
}

// spec: U6
#[test]
fn the_rules_that_did_not_apply_are_listed_with_their_numbers() {
    let budget = Budget { max_cost_micros: Some(5_000_000), ..Budget::default() };
    let shared = ScopedBudget {
        scope: BudgetScope::Task("T-1".to_string()),
        budget: Budget { max_cost_micros: Some(9_000_000), ..Budget::default() },
    };
    let policy = Policy { budget, stall_after: 3, shared: [shared].into(), ..policy_with_checks(15) };
    let scene = LoopScenario::start_run(policy).end_attempt(1, 1, with_cost(410_000, quiet_report()));
    let scene = verify(scene, 2, Verdict::Accepted);
    let others = [BudgetUsage {
        spent: ModelSpend { cost_micros: Some(1_000_000), ..ModelSpend::default() },
        ..BudgetUsage::default()
    }];
    let explained = explain_ended_run(&RunRecord { used_by_others: &others, ..record(&scene) }).unwrap();
    assert_eq!(
        other_rules(&explained),
        [
            "iteration limit: 2 of 15 iterations",
            "stall limit: 0 of 3 iterations in a row without a change",
            "cost limit: $0.41 of $5.00",
            "token limit: unknown tokens, no limit",
            "time limit: 4s, no limit",
            "unknown cost: off",
            "cost limit: $1.41 of $9.00 (task T-1)",
            "retry limit: 0 of 3 retries in this iteration",
            "rate limit wait limit: 0s of 6h",
            "agent wait limit: 0s of 1d",
            "checks unevaluated: 0 of 2 claims in a row that could not be evaluated",
            "changed tests: 0 of 2 claims with changed protected tests",
        ]
    );
}

// spec: U6, L8
#[test]
fn each_budget_is_named_by_the_rule_that_it_ended_the_run_with() {
    let with_budget = |budget: Budget| LoopScenario::start_run(Policy { budget, ..Policy::new(9) });
    let cost = with_budget(Budget { max_cost_micros: Some(1), ..Budget::default() });
    let cost = cost.end_attempt(1, 1, with_cost(7_000_000, quiet_report()));
    assert_eq!(rule_of(&cost), DecidingRule::CostLimit);
    assert_eq!(explain_end(&cost).numbers[0].text(), "$7.00 of $0.000001");
    let tokens = with_budget(Budget { max_tokens: Some(5), ..Budget::default() });
    let spend = ModelSpend { input_tokens: Some(9), ..ModelSpend::default() };
    let tokens = tokens.end_attempt(1, 1, AttemptReport { spend, ..quiet_report() });
    assert_eq!(rule_of(&tokens), DecidingRule::TokenLimit);
    let time = with_budget(Budget { max_duration_ms: Some(3_000), ..Budget::default() });
    let time = time.set_time(3_600_000).end_attempt(1, 1, quiet_report());
    assert_eq!(rule_of(&time), DecidingRule::TimeLimit);
    let unknown = with_budget(Budget { unknown_cost: UnknownCostPolicy::Refuse, ..Budget::default() });
    assert_eq!(rule_of(&unknown.end_attempt(1, 1, quiet_report())), DecidingRule::UnknownCost);
    let limited = Budget { max_iterations: Some(1), ..Budget::default() };
    let shared = [ScopedBudget { scope: BudgetScope::Worker, budget: limited }].into();
    let shared = LoopScenario::start_run(Policy { shared, ..Policy::new(9) }).end_attempt(1, 1, quiet_report());
    assert_eq!(rule_of(&shared), DecidingRule::SharedIterationLimit);
}

// spec: U6, L10
#[test]
fn a_wait_that_is_too_long_is_named_by_what_the_run_waited_for() {
    let rate_limits = RateLimitPolicy { max_wait_ms: 1, max_agent_wait_ms: 1, ..RateLimitPolicy::default() };
    let start = || LoopScenario::start_run(Policy { rate_limits: rate_limits.clone(), ..Policy::new(3) });
    assert_eq!(
        rule_of(&start().end_attempt(1, 1, rate_limited_report(Some(9_000_000)))),
        DecidingRule::RateLimitWaitLimit
    );
    let asked = start().end_attempt(1, 1, waiting_report(WaitTime::For { ms: 9_000 }, "the build (max_cost_usd)"));
    assert_eq!(rule_of(&asked), DecidingRule::AgentWaitLimit, "the words of the agent name no rule");
    assert_eq!(explain_iteration(&record(&asked), 1).unwrap().rule, DecidingRule::AgentWaitLimit);
}

// spec: U6
#[test]
fn a_failed_run_says_whether_its_attempts_were_retried() {
    let policy = Policy { max_retries: 1, ..Policy::new(3) };
    let scene = LoopScenario::start_run(policy).end_attempt(1, 1, crash_report());
    let scene = scene.fire_timer(LoopTimer::Retry { key: attempt_key(1, 2) }).end_attempt(1, 2, crash_report());
    let explained = explain_end(&scene);
    assert_eq!(explained.rule, DecidingRule::RetryLimit);
    assert_eq!(explained.numbers[0].text(), "1 of 1 retries in this iteration");
    let lines = texts(&explained);
    assert!(
        lines[0].starts_with("attempt 1 failed: ") && lines[1].starts_with("retried after a failure: "),
        "{lines:?}"
    );
    let fatal = LoopScenario::start_run(Policy::new(3)).end_attempt(1, 1, error_report(AgentErrorKind::Auth));
    assert_eq!(rule_of(&fatal), DecidingRule::AgentFailure);
    let broken = LoopScenario::start_run(Policy::new(3)).play_event(EventKind::broken("the disk is full".to_string()));
    let broken = broken.end_attempt(1, 1, quiet_report());
    assert_eq!(rule_of(&broken), DecidingRule::StateUnusable);
    let without_plan = LoopScenario::new(Policy::new(3)).without_plan();
    let without_plan = without_plan.play_event(EventKind::Lifecycle(LifecycleEvent::Started {
        opening: crate::step::tests::builders::sample_opening(),
        orders: Vec::new(),
    }));
    assert_eq!(rule_of(&without_plan), DecidingRule::PlanMissing);
}

// spec: U6
#[test]
fn a_blocked_run_says_what_needs_a_person() {
    let asked = LoopScenario::start_run(Policy::new(3)).end_attempt(1, 1, blocked_report("which key?"));
    assert_eq!(rule_of(&asked), DecidingRule::AgentBlocked);
    let iteration = explain_iteration(&record(&asked), 1).unwrap();
    assert_eq!(iteration.headline, "iteration 1 of 3: the agent is blocked: which key?");
    assert_eq!(rule_of(&decide(asked, PersonVerdict::Answered)), DecidingRule::ReopenedByPerson);
    let mut rejecting = quiet_report();
    rejecting.reading.reject = Some("no tests".to_string());
    let judging = Policy { judging: RejectTagUse::Yes, ..policy_with_checks(3) };
    let sent_back = LoopScenario::start_run(judging).end_attempt(1, 1, rejecting);
    assert_eq!(rule_of(&sent_back), DecidingRule::WorkSentBack);
    assert_eq!(explain_iteration(&record(&sent_back), 1).unwrap().rule, DecidingRule::WorkSentBack);
    let unevaluated = LoopScenario::start_run(policy_with_checks(5));
    let unevaluated = verify(verify(unevaluated, 1, Verdict::CouldNotEvaluate), 2, Verdict::CouldNotEvaluate);
    assert_eq!(rule_of(&unevaluated), DecidingRule::ChecksUnevaluated);
    assert_eq!(explain_end(&unevaluated).numbers[0].text(), "2 of 2 claims in a row that could not be evaluated");
}

fn deliver(scene: LoopScenario, evidence: Evidence) -> LoopScenario {
    let key = attempt_key(1, 1);
    let verified = crate::event::WorkEvent::Verified { key, evidence, snapshot: None, tree_after_checks: None };
    scene.end_attempt(1, 1, claiming_report()).play_event(EventKind::Work(verified))
}

// spec: U6, V15
#[test]
fn a_run_that_changed_tests_or_whose_judge_failed_waits_for_a_decision() {
    let mut changed = evidence_with_verdict(Verdict::Rejected);
    changed.checks[0].method = EvidenceKind::ProtectedTests;
    let policy = Policy { protected_rejections: 1, ..policy_with_checks(5) };
    let scene = deliver(LoopScenario::start_run(policy), changed);
    assert_eq!(rule_of(&scene), DecidingRule::ChangedTests);
    assert_eq!(explain_iteration(&record(&scene), 1).unwrap().rule, DecidingRule::ProtectedTests);
    let mut judged = evidence_with_verdict(Verdict::CouldNotEvaluate);
    (judged.checks[0].method, judged.checks[0].spend) = (EvidenceKind::Semantic, Some(ModelSpend::default()));
    let scene = deliver(LoopScenario::start_run(policy_with_checks(5)), judged);
    assert_eq!(rule_of(&scene), DecidingRule::JudgeFailed);
}

// spec: U6, V8
#[test]
fn a_run_that_could_not_start_shows_its_baseline() {
    let start = |policy| {
        LoopScenario::new(policy).play_event(EventKind::Lifecycle(LifecycleEvent::Started {
            opening: crate::step::tests::builders::sample_opening(),
            orders: Vec::new(),
        }))
    };
    let scene = start(policy_with_checks(3)).finish_preparation(Verdict::CouldNotEvaluate);
    let explained = explain_end(&scene);
    assert_eq!(explained.rule, DecidingRule::CheckCannotRun);
    assert!(texts(&explained)[0].starts_with("`make test` could not be evaluated: "), "{explained:?}");
    let proven = Policy { required_proof: MinimumProof::Proven, ..policy_with_checks(3) };
    assert_eq!(rule_of(&start(proven).finish_preparation(Verdict::Accepted)), DecidingRule::ProofImpossible);
    let sealing = crate::seal::SealingResult::Impossible { why: "no git".to_string() };
    let prepared = crate::event::WorkEvent::Prepared { sealing, baseline: Vec::new() };
    let scene = start(policy_with_checks(3)).play_event(EventKind::Work(prepared));
    assert_eq!(rule_of(&scene), DecidingRule::SealImpossible);
}

// spec: U6
#[test]
fn stopped_runs_say_who_stopped_them() {
    let cancel = EventKind::command_received(ControlCommand::Cancel);
    let cancelled = LoopScenario::start_run(Policy::new(3)).play_event(cancel).end_attempt(1, 1, quiet_report());
    assert_eq!(rule_of(&cancelled), DecidingRule::Cancelled);
    assert_eq!(explain_iteration(&record(&cancelled), 1).unwrap().rule, DecidingRule::Interrupted);
    let abandoned = EventKind::Lifecycle(LifecycleEvent::Abandoned { cause: CancelCause::SessionDeleted });
    assert_eq!(rule_of(&LoopScenario::start_run(Policy::new(3)).play_event(abandoned)), DecidingRule::SessionEnded);
    let signalled =
        LoopScenario::start_run(Policy::new(3)).send_signal(StopSignal::Int).end_attempt(1, 1, quiet_report());
    assert_eq!(rule_of(&signalled), DecidingRule::StopSignal);
    let stalled = LoopScenario::start_run(Policy { stall_after: 1, ..Policy::new(3) });
    let stalled = stalled.end_attempt(1, 1, AttemptReport { has_changed_files: Some(false), ..quiet_report() });
    assert_eq!(rule_of(&stalled), DecidingRule::StallLimit);
    let stepped = LoopScenario::start_run(Policy { stepping: IterationStepping::OneByOne, ..Policy::new(3) });
    let stepped = stepped.end_attempt(1, 1, quiet_report());
    assert_eq!(rule_of(&stepped), DecidingRule::AwaitsWorkflow);
    let closed = stepped.play_event(EventKind::Lifecycle(LifecycleEvent::Closed { reason: "done".to_string() }));
    assert_eq!(rule_of(&closed), DecidingRule::ClosedByWorkflow);
    let parking = ParkingPolicy { is_possible: true, after_ms: 1, ..ParkingPolicy::default() };
    let rate_limits = RateLimitPolicy { parking, ..RateLimitPolicy::default() };
    let parked = LoopScenario::start_run(Policy { rate_limits, ..Policy::new(3) });
    let explained = explain_end(&parked.end_attempt(1, 1, rate_limited_report(None)));
    assert_eq!((explained.rule, explained.until.is_some()), (DecidingRule::Parked, true));
}

// spec: U6
#[test]
fn an_iteration_says_which_rule_decided_on_its_claim() {
    let scene = LoopScenario::start_run(policy_with_checks(9)).end_attempt(1, 1, quiet_report());
    let scene = verify(verify(scene, 2, Verdict::Rejected), 3, Verdict::CouldNotEvaluate);
    let scene = scene.fire_timer(LoopTimer::Silence { key: attempt_key(4, 1) }).end_attempt(4, 1, quiet_report());
    let scene = scene.fire_timer(LoopTimer::Iteration { key: attempt_key(5, 1) }).end_attempt(5, 1, quiet_report());
    let rules: Vec<DecidingRule> =
        (1..=6).map(|number| explain_iteration(&record(&scene), number).unwrap().rule).collect();
    assert_eq!(
        rules,
        [
            DecidingRule::NoClaim,
            DecidingRule::CheckRejected,
            DecidingRule::CheckUnevaluated,
            DecidingRule::SilenceTimeout,
            DecidingRule::IterationTimeout,
            DecidingRule::AgentWorks,
        ]
    );
    assert!(explain_iteration(&record(&scene), 7).is_none());
    let second = explain_iteration(&record(&scene), 2).unwrap();
    assert_eq!(
        second.headline,
        "iteration 2 of 9: the claim was rejected: `make test`: Command exited with 1, expected 0"
    );
    assert_eq!(
        other_rules(&second),
        ["iteration limit: 2 of 9 iterations", "retry limit: 0 of 3 retries in this iteration"]
    );
    let contradicted = LoopScenario::start_run(Policy::new(9)).end_attempt(1, 1, contradicting_report());
    let first = explain_iteration(&record(&contradicted), 1).unwrap();
    assert_eq!(first.rule, DecidingRule::ContradictedClaim);
    assert!(texts(&first).contains(&"the same message says: 2 tests fail.".to_string()), "{first:?}");
}

// spec: U6
#[test]
fn an_open_run_says_what_it_does_and_what_would_end_it() {
    let working = LoopScenario::start_run(policy_with_checks(5)).end_attempt(1, 1, quiet_report());
    let explained = explain_open_run(&record(&working));
    assert_eq!(explained.headline, "running: the agent works on iteration 2 of 5, attempt 1");
    let rules = other_rules(&explained);
    assert!(rules.contains(&"iteration limit: 2 of 5 iterations".to_string()), "{rules:?}");
    assert!(rules.contains(&"silence timeout: unknown, at most 10m".to_string()), "{rules:?}");
    let checking = working.clone().end_attempt(2, 1, claiming_report());
    assert_eq!(explain_open_run(&record(&checking)).rule, DecidingRule::ChecksRun);
    let retrying = working.clone().end_attempt(2, 1, crash_report());
    let explained = explain_open_run(&record(&retrying));
    assert_eq!((explained.rule, explained.until.is_some()), (DecidingRule::RetryWait, true));
    let limited = explain_open_run(&record(&working.clone().end_attempt(2, 1, rate_limited_report(None))));
    assert_eq!((limited.rule, limited.until.is_some()), (DecidingRule::RateLimitWait, true));
    let wait = waiting_report(WaitTime::For { ms: 90_000 }, "the build");
    let waiting = explain_open_run(&record(&working.clone().end_attempt(2, 1, wait)));
    assert_eq!(waiting.headline, "waiting: iteration 2 of 5, attempt 2 starts after the wait: the build");
    let pause = EventKind::command_received(ControlCommand::Pause { when: PauseTiming::Now });
    let paused = explain_open_run(&record(&working.clone().play_event(pause).end_attempt(2, 1, quiet_report())));
    assert_eq!(paused.headline, "paused: before iteration 2 of 5, attempt 2, until a person resumes it");
    let dead = explain_dead_run(&record(&working), "its ralph died");
    assert_eq!((dead.rule, dead.headline.as_str()), (DecidingRule::DriverDied, "interrupted: its ralph died"));
}

fn task_facts(status: TaskStatus) -> TaskFacts<'static> {
    TaskFacts {
        status,
        approval: Approval::Granted,
        progress: None,
        unmet: &[],
        is_leased: false,
        run_headline: None,
        run_end: None,
        max_attempts: Some(3),
        max_rounds: Some(2),
    }
}

// spec: U6
#[test]
fn an_open_task_says_what_it_waits_for() {
    let unmet = [
        TaskDependencyFacts { id: "T-1".to_string(), status: Some(TaskStatus::Coding) },
        TaskDependencyFacts { id: "T-2".to_string(), status: None },
    ];
    let waiting = explain_task(&TaskFacts { unmet: &unmet, ..task_facts(TaskStatus::Todo) });
    assert_eq!(waiting.headline, "todo: waits for T-1 (coding), T-2 (deleted)");
    assert_eq!(waiting.rule, DecidingRule::Dependency);
    let pending = explain_task(&TaskFacts { approval: Approval::Pending, ..task_facts(TaskStatus::Todo) });
    assert_eq!(pending.rule, DecidingRule::Approval);
    let ready = explain_task(&task_facts(TaskStatus::Todo));
    assert_eq!((ready.rule, ready.headline.as_str()), (DecidingRule::Ready, "todo: ready: waits for a worker"));
    assert_eq!(
        other_rules(&ready),
        [
            "dependency: 0 dependencies are not done",
            "approval: granted",
            "lease: no worker has it",
            "attempt limit: 0 of 3 failed attempts",
            "round limit: 0 of 2 times sent back",
        ]
    );
    let leased = TaskFacts {
        is_leased: true,
        run_headline: Some("running: the agent works on iteration 2 of 5, attempt 1"),
        ..task_facts(TaskStatus::Coding)
    };
    assert_eq!(explain_task(&leased).rule, DecidingRule::Lease);
}

// spec: U6
#[test]
fn a_blocked_task_names_the_rule_that_blocked_it() {
    let reports = Vec::from([StageReport {
        stage: Role::Reviewer,
        how: StageOutcome::SentBack,
        words: "there are no tests".to_string(),
    }]);
    let progress =
        TaskProgress { stage: Role::Reviewer, run: None, rounds: 3, attempts: 1, reports, accepted_by_person: None };
    let blocked = |end: &RunEnd| {
        let facts = TaskFacts {
            progress: Some(&progress),
            run_end: Some(end),
            run_headline: Some("a run"),
            ..task_facts(TaskStatus::Blocked)
        };
        explain_task(&facts)
    };
    let sent_back = blocked(&RunEnd::work_sent_back("there are no tests"));
    assert_eq!(sent_back.rule, DecidingRule::RoundLimit);
    assert_eq!(sent_back.numbers[0].text(), "3 of 2 times sent back");
    assert_eq!(texts(&sent_back)[0], "reviewer sent the work back: there are no tests");
    let exhausted = RunEnd::new(Outcome::Exhausted, "Max iterations reached".to_string());
    assert_eq!(blocked(&exhausted).rule, DecidingRule::AttemptLimit);
    assert_eq!(blocked(&exhausted).headline, "blocked: Max iterations reached");
    let over = RunEnd::new(Outcome::OverBudget, "$5.00 of $5.00 spent (max_cost_usd)".to_string());
    assert_eq!(blocked(&over).rule, DecidingRule::StageBlocked);
    assert_eq!(explain_task(&task_facts(TaskStatus::Blocked)).rule, DecidingRule::SetByPerson);
    assert_eq!(explain_task(&task_facts(TaskStatus::Cancelled)).rule, DecidingRule::Cancelled);
    let done = TaskFacts { run_headline: Some("completed: 1 check passed"), ..task_facts(TaskStatus::Done) };
    assert_eq!(explain_task(&done).headline, "done: every stage was accepted");
}

// spec: U6
#[test]
fn a_workflow_run_names_the_node_that_decided() {
    let node = |node: &str, status: &str, note: &str| WorkflowNodeFacts {
        node: node.to_string(),
        status: status.to_string(),
        note: (!note.is_empty()).then(|| note.to_string()),
    };
    let nodes =
        [node("plan", "completed", ""), node("ask", "waiting", "Publish it?\nNow"), node("ship", "pending", "")];
    let waiting = explain_workflow(&WorkflowEndFacts { status: "waiting", reason: None, nodes: &nodes });
    assert_eq!((waiting.rule, waiting.headline.as_str()), (DecidingRule::Question, "waiting: ask asks: Publish it?"));
    assert_eq!(waiting.numbers[0].text(), "1 completed nodes");
    let nodes = [node("ship", "skipped", "its condition is false"), node("plan", "failed", "exit code 2")];
    let reason = Some("node plan failed: exit code 2");
    let failed = explain_workflow(&WorkflowEndFacts { status: "failed", reason, nodes: &nodes });
    assert_eq!(
        (failed.rule, failed.headline.as_str()),
        (DecidingRule::NodeFailed, "failed: node plan failed: exit code 2")
    );
    assert_eq!(texts(&failed)[1], "node ship skipped: its condition is false");
    let nodes = [node("plan", "completed", "")];
    for (reason, rule) in [
        ("`ok` of the result is not true", DecidingRule::NegativeVerdict),
        ("node ship, whose output is the result, did not complete", DecidingRule::NoResult),
    ] {
        let facts = WorkflowEndFacts { status: "failed", reason: Some(reason), nodes: &nodes };
        assert_eq!(explain_workflow(&facts).rule, rule);
    }
}

// spec: U6
#[test]
fn every_rule_has_a_name_and_a_sentence_of_its_own() {
    for (index, rule) in DecidingRule::ALL.iter().enumerate() {
        let (name, sentence) = (rule.as_str(), rule.sentence());
        assert!(!name.is_empty() && sentence.ends_with('.'), "{rule:?}");
        let others = || DecidingRule::ALL.iter().skip(index + 1);
        assert!(others().all(|other| other.as_str() != name && other.sentence() != sentence), "{rule:?}");
    }
}
