//! Random walks over random graphs: whatever the order of events, and wherever the process ends, the invariants hold.
use alloc::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::workflow::{Decision, NodeRetry, RejectRework, RetryScope};

const SLOTS: u32 = 2;

/// The choices from which a node is built.
#[derive(Debug, Clone)]
struct NodeChoice {
    kind: u8,
    dependencies: Vec<usize>,
    rule: u8,
    condition: u8,
    has_retry: bool,
    members: Vec<NodeChoice>,
}

fn node_choices(depth: u32) -> BoxedStrategy<Vec<NodeChoice>> {
    let members = if depth == 0 { Just(Vec::new()).boxed() } else { node_choices(depth - 1) };
    let dependencies = prop::collection::vec(0_usize..100, 0..4);
    let choice = (any::<u8>(), dependencies, any::<u8>(), any::<u8>(), any::<bool>(), members).prop_map(
        |(kind, dependencies, rule, condition, has_retry, members)| NodeChoice {
            kind,
            dependencies,
            rule,
            condition,
            has_retry,
            members,
        },
    );
    prop::collection::vec(choice, 1..9).boxed()
}

fn build(choices: &[NodeChoice]) -> Vec<Node> {
    choices.iter().enumerate().map(|(position, choice)| build_node(position, choice)).collect()
}

fn build_node(position: usize, choice: &NodeChoice) -> Node {
    let dependencies: BTreeSet<String> = match position {
        0 => BTreeSet::new(),
        _ => choice.dependencies.iter().map(|dependency| format!("n{}", dependency % position)).collect(),
    };
    let dependencies: Vec<&str> = dependencies.iter().map(String::as_str).collect();
    let id = format!("n{position}");
    let mut node = build_kind(&id, &dependencies, choice);
    node.trigger_rule = match choice.rule % 4 {
        0 => TriggerRule::AllSuccess,
        1 => TriggerRule::OneSuccess,
        2 => TriggerRule::NoneFailedMinOneSuccess,
        _ => TriggerRule::AllDone,
    };
    let first = dependencies.first().copied();
    let condition = match (choice.condition % 8, first) {
        (0, _) => Some("$INPUTS.mode == 'slow'".to_string()),
        (1, Some(first)) => Some(format!("${first}.output.f == '1'")),
        (2, Some(first)) => Some(format!("${first}.output != 'DONE'")),
        _ => None,
    };
    node.when = condition.map(|condition| Condition::parse(&condition).unwrap());
    node.retry = choice.has_retry.then_some(NodeRetry { max_attempts: 2, delay_ms: 10, on_error: RetryScope::All });
    node
}

fn build_kind(id: &str, dependencies: &[&str], choice: &NodeChoice) -> Node {
    match choice.kind % 10 {
        0 | 1 => bash(id, dependencies),
        2 | 3 => agent(id, dependencies),
        4 => checks(id, dependencies),
        5 => child(id, dependencies, None),
        6 => {
            let join = if choice.has_retry { FanOutJoin::AllDone } else { FanOutJoin::AllSuccess };
            // With room for all items: else the order decides which ones start before a failure.
            child(id, dependencies, fan_out(4, join))
        }
        7 => {
            let decisions = vec![Decision { id: "approve".to_string(), label: None }];
            let on_reject = Some(RejectRework { prompt: "fix".to_string(), max_attempts: 9 });
            let approve = if choice.has_retry {
                ApprovalNode { decisions, ..question("?") }
            } else {
                ApprovalNode { on_reject, ..question("?") }
            };
            approval(id, dependencies, approve)
        }
        _ if choice.members.is_empty() => bash(id, dependencies),
        _ => {
            let until = (choice.condition & 8 == 0).then(|| "DONE".to_string());
            let until_bash = (choice.condition & 16 == 0).then(|| "true".to_string());
            let checks = if choice.condition & 32 == 0 { vec![test_check()] } else { Vec::new() };
            let interactive = choice.condition & 64 == 0;
            let control =
                LoopControl { until, until_bash, checks, interactive, max_iterations: 3, ..LoopControl::default() };
            group(id, dependencies, control, build(&choice.members))
        }
    }
}

/// A number that depends on the work alone, not on the order of events: the same work has the same result.
fn fate(run: &TestRun, activity: ActivityId, detail: &str) -> u64 {
    let group = run.graph.node(activity.node).unwrap().group;
    let generation = group.and_then(|group| run.state.group_progress(group)).map_or(0, |group| group.generation);
    let text = format!("{} {generation} {detail}", run.name(activity));
    // FNV-1a.
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    hash >> 20
}

fn result_of(run: &TestRun, activity: ActivityId, work: &Activity) -> ActivityResult {
    // A recovered activity has the same result.
    let fate = fate(run, activity, &format!("{:?} {}", work.action, work.attempt));
    match &work.action {
        ActivityAction::RunUntilBash { .. } | ActivityAction::VerifyGroup { .. } => {
            ActivityResult::Judged(match fate % 4 {
                0 | 1 => IterationVerdict::Accepted { proof: ProofLevel::Checked },
                2 => IterationVerdict::Rejected { feedback: None },
                _ => IterationVerdict::CouldNotEvaluate { reason: "127".to_string() },
            })
        }
        ActivityAction::FindItems if !fate.is_multiple_of(5) => {
            ActivityResult::ItemsFound((0..fate % 4).map(|item| json!(item)).collect())
        }
        ActivityAction::Run
        | ActivityAction::FindItems
        | ActivityAction::RunItem { .. }
        | ActivityAction::ContinueLoop { .. }
        | ActivityAction::Rework { .. } => match fate % 6 {
            0 => failure(FailureKind::Transient),
            1 => failure(FailureKind::CouldNotEvaluate),
            2 => success(r#"{"f": 1}"#),
            3 => success("DONE"),
            _ => success("text"),
        },
    }
}

fn failure(kind: FailureKind) -> ActivityResult {
    ActivityResult::Failed(NodeFailure { reason: "no".to_string(), kind, child_outcome: None })
}

fn success(output: &str) -> ActivityResult {
    ActivityResult::Completed(NodeSuccess { output: output.into(), proof: Some(ProofLevel::Checked) })
}

/// The answers never cancel the run: the end would depend on the order of events.
fn answer_to(run: &TestRun, activity: ActivityId, question: &PersonQuestion) -> PersonAnswer {
    let text = "words".to_string();
    match question {
        PersonQuestion::Approval { rejections } => {
            let node = &run.graph.node(activity.node).unwrap().definition;
            let NodeKind::Approval(approval) = &node.kind else { panic!() };
            let is_rejected =
                approval.on_reject.is_some() && fate(run, activity, &format!("{rejections}")).is_multiple_of(2);
            let can_be_rejected = *rejections < 9;
            if is_rejected && can_be_rejected { PersonAnswer::Reject { text } } else { PersonAnswer::Approve { text } }
        }
        PersonQuestion::Gate(gate) => {
            let decision = if fate(run, activity, &format!("gate {}", gate.iteration)).is_multiple_of(3) {
                "complete"
            } else {
                "continue"
            };
            PersonAnswer::Decide { decision: decision.to_string(), text }
        }
    }
}

/// Performs one of the owed events, chosen by `choice`. Returns whether there was one.
fn step(run: &mut TestRun, choice: usize) -> bool {
    let names: Vec<(u8, String)> = (run.active.keys().map(|name| (0, name.clone())))
        .chain(run.questions.keys().map(|name| (1, name.clone())))
        .chain(run.timers.keys().map(|name| (2, name.clone())))
        .collect();
    if names.is_empty() {
        return false;
    }
    let (kind, name) = &names[choice % names.len()];
    match kind {
        0 => {
            let (activity, work) = run.active[name].clone();
            run.end_activity(name, result_of(run, activity, &work));
        }
        1 => {
            let (activity, question) = run.questions[name].clone();
            run.answer(name, answer_to(run, activity, &question));
        }
        _ => run.expire_timer(name),
    }
    assert_invariants(run);
    true
}

fn assert_invariants(run: &TestRun) {
    for (name, (activity, work)) in &run.active {
        let node = run.graph.node(activity.node).unwrap();
        for dependency in &node.dependencies {
            let is_settled = run.state.node(*dependency).unwrap().outcome().is_some();
            assert!(is_settled, "{name} runs before {dependency:?}: {work:?}");
        }
    }
    let count = |is_counted: fn(&NodeKind) -> bool| {
        let counted = |(activity, work): &&(ActivityId, Activity)| {
            let is_run = matches!(work.action, ActivityAction::Run);
            is_run && is_counted(&run.graph.node(activity.node).unwrap().definition.kind)
        };
        run.active.values().filter(counted).count()
    };
    let reworks = run.active.values().filter(|(_, work)| matches!(work.action, ActivityAction::Rework { .. })).count();
    assert!(count(|kind| matches!(kind, NodeKind::Agent(_))) + reworks <= SLOTS as usize, "slots");
    assert!(run.settlements.values().all(|count| *count == 1), "settled twice: {:?}", run.settlements);
    let is_waiting = *run.state.phase() == GraphPhase::Waiting;
    let is_idle = run.active.is_empty() && run.timers.is_empty();
    assert_eq!(is_waiting, is_idle && run.end().is_none(), "waiting exactly when only a person can continue the run");
}

/// The final states, by node and iteration.
fn final_states(run: &TestRun) -> Vec<(String, u32, NodeState)> {
    let mut states: Vec<_> =
        run.nodes.values().map(|row| (row.key.clone(), row.generation, row.state.clone())).collect();
    states.sort_by(|a, b| (&a.0, a.1).cmp(&(&b.0, b.1)));
    states
}

fn run_in_order(nodes: &[Node], choose: impl Fn(usize) -> usize, crashes: &BTreeSet<usize>) -> TestRun {
    let mut run = TestRun::with_slots(nodes.to_vec(), SLOTS);
    assert_invariants(&run);
    for event in 0.. {
        assert!(event < 20_000, "the run does not end");
        if crashes.contains(&event) {
            run.restart_process();
            assert_invariants(&run);
        }
        if !step(&mut run, choose(event)) {
            break;
        }
    }
    run
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    // spec: W3, W7, L13
    #[test]
    fn every_order_of_events_and_every_crash_leads_to_the_same_end(
        choices in node_choices(2),
        order in prop::collection::vec(any::<prop::sample::Index>(), 64),
        crashes in prop::collection::btree_set(0_usize..60, 0..12),
    ) {
        let nodes = build(&choices);
        let first = run_in_order(&nodes, |_| 0, &BTreeSet::new());
        let chosen = |event: usize| order[event % order.len()].index(1_000);
        let second = run_in_order(&nodes, chosen, &crashes);
        let end = first.end().expect("the run ends when no event is owed");
        prop_assert_eq!(Some(end), second.end());
        for node in &nodes {
            prop_assert!(first.state_of(node.id.as_str()).outcome().is_some());
        }
        prop_assert_eq!(final_states(&first), final_states(&second));
    }

    // spec: L12, L13, W3
    #[test]
    fn a_run_that_is_stopped_anywhere_ends_and_an_interrupted_one_resumes_to_the_same_end(
        choices in node_choices(1),
        order in prop::collection::vec(any::<prop::sample::Index>(), 64),
        stop_after in 0_usize..20,
    ) {
        let nodes = build(&choices);
        let expected = run_in_order(&nodes, |_| 0, &BTreeSet::new());
        let mut run = TestRun::with_slots(nodes.clone(), SLOTS);
        for choice in order.iter().take(stop_after) {
            step(&mut run, choice.index(1_000));
        }
        let has_ended = run.end().is_some();
        let started = run.started.len();
        run.send(GraphEvent::InterruptRequested { reason: "SIGTERM".to_string() });
        while let Some((name, (activity, work))) = run.active.first_key_value().map(|(name, value)| (name.clone(), value.clone())) {
            let is_in_time = fate(&run, activity, "in time").is_multiple_of(2);
            let result = if is_in_time { result_of(&run, activity, &work) } else { ActivityResult::Stopped };
            run.end_activity(&name, result);
        }
        prop_assert_eq!(run.started.len(), started, "nothing starts after the stop");
        prop_assert!(run.end().is_some());
        if !has_ended {
            run.restart_process();
            for event in 0..20_000 {
                if !step(&mut run, order[event % order.len()].index(1_000)) {
                    break;
                }
            }
        }
        prop_assert_eq!(run.end(), expected.end());
        prop_assert_eq!(final_states(&run), final_states(&expected));
    }
}
