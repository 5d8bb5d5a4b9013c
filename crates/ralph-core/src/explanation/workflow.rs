//! Why a workflow run ended as it did, or what it waits for.
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::rule_numbers::UnappliedRule;
use super::run_end::rule_of_budget;
use super::{DecidingRule, DecisionExplanation, EvidenceLine, RuleNumber, headline};

/// The stored facts of a workflow run.
#[derive(Debug, Clone, Copy)]
pub struct WorkflowEndFacts<'a> {
    /// `running`, `waiting`, or how it ended.
    pub status: &'a str,
    pub reason: Option<&'a str>,
    /// In the order of their start.
    pub nodes: &'a [WorkflowNodeFacts],
}

/// The state of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkflowNodeFacts {
    pub node: String,
    /// `pending`, `queued`, `running`, `waiting`, `retrying`, `interrupted`, `completed`, `failed` or `skipped`.
    pub status: String,
    /// Why it failed, was skipped or is retried, or the question that it asks.
    pub note: Option<String>,
}

/// Explains a workflow run.
#[must_use]
pub fn explain_workflow(facts: &WorkflowEndFacts<'_>) -> DecisionExplanation {
    let rule = rule_of_workflow(facts);
    let count = |status: &str| facts.nodes.iter().filter(|node| node.status == status).count() as u64;
    let numbers = Vec::from([RuleNumber::count("completed_nodes", count("completed"), None, "completed nodes")]);
    let all = [
        (DecidingRule::NodeFailed, RuleNumber::count("failed_nodes", count("failed"), None, "failed nodes")),
        (
            DecidingRule::Question,
            RuleNumber::count("open_questions", count("waiting"), None, "nodes that wait for a person"),
        ),
    ];
    let not_applied = all.into_iter().filter(|(other, _)| *other != rule);
    let not_applied = not_applied.map(|(rule, number)| UnappliedRule { rule, number: Some(number), note: "" });
    let mut nodes: Vec<&WorkflowNodeFacts> = facts.nodes.iter().collect();
    nodes.sort_by_key(|node| importance(&node.status));
    DecisionExplanation {
        headline: headline(facts.status, &reason_of_workflow(facts)),
        rule,
        evidence: nodes.into_iter().map(node_line).collect(),
        numbers,
        not_applied: not_applied.collect(),
        until: None,
    }
}

fn rule_of_workflow(facts: &WorkflowEndFacts<'_>) -> DecidingRule {
    let reason = facts.reason.unwrap_or_default();
    let has_failed_node = facts.nodes.iter().any(|node| node.status == "failed");
    match facts.status {
        "completed" => DecidingRule::AllNodesEnded,
        "waiting" => DecidingRule::Question,
        "running" => DecidingRule::NodesRun,
        "cancelled" => DecidingRule::Cancelled,
        "over_budget" => rule_of_budget(reason),
        "interrupted" => DecidingRule::Interrupted,
        "failed" if reason.ends_with("is not true") => DecidingRule::NegativeVerdict,
        "failed" if has_failed_node => DecidingRule::NodeFailed,
        "failed" => DecidingRule::NoResult,
        _ => DecidingRule::Unknown,
    }
}

fn reason_of_workflow(facts: &WorkflowEndFacts<'_>) -> String {
    if let Some(reason) = facts.reason {
        return reason.to_owned();
    }
    let asking = facts.nodes.iter().find(|node| node.status == "waiting");
    let running: Vec<&str> =
        facts.nodes.iter().filter(|node| node.status == "running").map(|node| node.node.as_str()).collect();
    match asking {
        Some(node) => format!("{} asks: {}", node.node, first_line(node.note.as_deref().unwrap_or_default())),
        None if running.is_empty() => String::new(),
        None => format!("{} runs", running.join(", ")),
    }
}

/// Returns the place of a node in the evidence: what decided first, what did not run last.
fn importance(status: &str) -> u8 {
    match status {
        "failed" => 0,
        "waiting" | "running" | "retrying" | "interrupted" => 1,
        "completed" => 2,
        _ => 3,
    }
}

fn node_line(node: &WorkflowNodeFacts) -> EvidenceLine {
    let note = node.note.as_deref().map(first_line).unwrap_or_default();
    EvidenceLine::without_fact(headline(&format!("node {} {}", node.node, node.status), note))
}

fn first_line(text: &str) -> &str {
    text.trim().lines().next().unwrap_or_default()
}
