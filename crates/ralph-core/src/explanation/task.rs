//! Why a task is where it is: what it waits for, or which rule ended it.
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::rule_numbers::UnappliedRule;
use super::{DecidingRule, DecisionExplanation, EvidenceLine, RuleNumber, headline};
use crate::outcome::{Outcome, RunEnd};
use crate::pipeline::{StageOutcome, TaskProgress};
use crate::task::{Approval, TaskStatus};

/// The stored facts of a task.
#[derive(Debug, Clone, Copy)]
pub struct TaskFacts<'a> {
    pub status: TaskStatus,
    pub approval: Approval,
    pub progress: Option<&'a TaskProgress>,
    /// The dependencies that are not done.
    pub unmet: &'a [TaskDependencyFacts],
    pub is_leased: bool,
    /// The headline of its newest run.
    pub run_headline: Option<&'a str>,
    /// How its newest run ended; `None` if it has not, or if there is none.
    pub run_end: Option<&'a RunEnd>,
    /// How often it may fail, and how often its work may be sent back; `None` if it is not known.
    pub max_attempts: Option<u32>,
    pub max_rounds: Option<u32>,
}

/// A dependency that is not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskDependencyFacts {
    pub id: String,
    /// `None` if the task was deleted.
    pub status: Option<TaskStatus>,
}

/// Explains where a task is.
#[must_use]
pub fn explain_task(facts: &TaskFacts<'_>) -> DecisionExplanation {
    let rule = rule_of_task(facts);
    let all = task_rules(facts);
    let numbers = all.iter().filter(|other| other.rule == rule).filter_map(|other| other.number.clone()).collect();
    DecisionExplanation {
        headline: headline(facts.status.as_str(), &reason_of_task(facts, rule)),
        rule,
        evidence: evidence_of_task(facts),
        numbers,
        not_applied: all.into_iter().filter(|other| other.rule != rule).collect(),
        until: None,
    }
}

fn rule_of_task(facts: &TaskFacts<'_>) -> DecidingRule {
    match facts.status {
        TaskStatus::Done if facts.run_headline.is_none() => DecidingRule::SetByPerson,
        TaskStatus::Done => DecidingRule::AllStagesAccepted,
        TaskStatus::Cancelled => DecidingRule::Cancelled,
        TaskStatus::Blocked => rule_of_blocked_task(facts.run_end),
        TaskStatus::Todo | TaskStatus::Coding | TaskStatus::Reviewing | TaskStatus::Testing | TaskStatus::Qa => {
            rule_of_open_task(facts)
        }
    }
}

fn rule_of_open_task(facts: &TaskFacts<'_>) -> DecidingRule {
    if facts.is_leased {
        DecidingRule::Lease
    } else if facts.approval == Approval::Pending {
        DecidingRule::Approval
    } else if !facts.unmet.is_empty() {
        DecidingRule::Dependency
    } else {
        DecidingRule::Ready
    }
}

fn rule_of_blocked_task(run_end: Option<&RunEnd>) -> DecidingRule {
    let Some(end) = run_end else { return DecidingRule::SetByPerson };
    if end.is_work_sent_back() {
        return DecidingRule::RoundLimit;
    }
    match end.outcome {
        Outcome::Exhausted | Outcome::Failed | Outcome::Stalled => DecidingRule::AttemptLimit,
        Outcome::Blocked | Outcome::OverBudget => DecidingRule::StageBlocked,
        Outcome::Completed | Outcome::Cancelled | Outcome::Interrupted => DecidingRule::SetByPerson,
    }
}

fn reason_of_task(facts: &TaskFacts<'_>, rule: DecidingRule) -> String {
    let stage = || facts.progress.map_or("its stage", |progress| progress.stage.as_str());
    let end_reason = || facts.run_end.map_or("", |end| end.reason.as_str());
    #[expect(clippy::wildcard_enum_match_arm, reason = "the other rules have the reason of the newest run")]
    match rule {
        DecidingRule::AllStagesAccepted => "every stage was accepted".to_owned(),
        DecidingRule::SetByPerson => "a person set this status".to_owned(),
        DecidingRule::Lease => match facts.run_headline {
            Some(run) => format!("a worker has it; {} is {run}", stage()),
            None => "a worker prepares it".to_owned(),
        },
        DecidingRule::Approval => "waits for a person: an agent wrote its checks, and they are not approved".to_owned(),
        DecidingRule::Dependency => {
            let names: Vec<String> = facts.unmet.iter().map(describe_dependency).collect();
            format!("waits for {}", names.join(", "))
        }
        DecidingRule::Ready => match facts.run_end.map(|end| end.outcome) {
            Some(Outcome::Interrupted) => "ready: a worker resumes its stage".to_owned(),
            _ => "ready: waits for a worker".to_owned(),
        },
        _ => end_reason().to_owned(),
    }
}

fn describe_dependency(dependency: &TaskDependencyFacts) -> String {
    format!("{} ({})", dependency.id, dependency.status.map_or("deleted", TaskStatus::as_str))
}

/// Returns the rules that can keep a task from continuing, with their counts.
fn task_rules(facts: &TaskFacts<'_>) -> Vec<UnappliedRule> {
    let (attempts, rounds) = facts.progress.map_or((0, 0), |progress| (progress.attempts, progress.rounds));
    let noted = |rule, note| UnappliedRule { rule, number: None, note };
    let counted = |rule, number| UnappliedRule { rule, number: Some(number), note: "" };
    let approval = match facts.approval {
        Approval::Granted => "granted",
        Approval::Pending => "pending",
    };
    Vec::from([
        counted(
            DecidingRule::Dependency,
            RuleNumber::count("unmet_dependencies", facts.unmet.len() as u64, None, "dependencies are not done"),
        ),
        noted(DecidingRule::Approval, approval),
        noted(DecidingRule::Lease, if facts.is_leased { "a worker has it" } else { "no worker has it" }),
        counted(
            DecidingRule::AttemptLimit,
            RuleNumber::count("attempts", attempts.into(), facts.max_attempts.map(Into::into), "failed attempts"),
        ),
        counted(
            DecidingRule::RoundLimit,
            RuleNumber::count("rounds", rounds.into(), facts.max_rounds.map(Into::into), "times sent back"),
        ),
    ])
}

fn evidence_of_task(facts: &TaskFacts<'_>) -> Vec<EvidenceLine> {
    let mut lines = Vec::new();
    for report in facts.progress.map(|progress| progress.reports.as_slice()).unwrap_or_default() {
        let how = match report.how {
            StageOutcome::Accepted => "accepted",
            StageOutcome::SentBack => "sent the work back",
            StageOutcome::Failed => "failed",
        };
        let words = report.words.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default();
        lines.push(headline(&format!("{} {how}", report.stage.as_str()), words));
    }
    let stage = facts.progress.map(|progress| format!("stage: {}", progress.stage.as_str()));
    lines.extend(stage);
    lines.extend(facts.run_headline.map(|run| format!("newest run: {run}")));
    lines.extend(facts.unmet.iter().map(|dependency| format!("depends on {}", describe_dependency(dependency))));
    lines.into_iter().map(EvidenceLine::without_fact).collect()
}
