//! Prints the header of a run, its summary, and where its work is.
use std::io;

use ralph_core::outcome::{Outcome, exit_code};
use ralph_core::receipt::ProofLevel;
use ralph_core::task::Approval;
use serde_json::json;

use crate::commands::out;
use crate::commands::run::budget;
use crate::hints;
use crate::report::{ColorMode, TextStyle};
use ralph_app::agents::describe_untested_agents;
use ralph_app::run::{CompletionRecord, RunDelivery, RunSummary, WorktreeOutcome};
use ralph_app::tasks::{GeneratedTask, GenerationOutcome};
use ralph_app::view::{format_cost, pluralize, short_id};
use ralph_engine::run_driver::{OutputVisibility, RunPlan};
use ralph_store::RunRow;
use ralph_util::duration;

pub fn print_run_header(plan: &RunPlan) {
    let colors = ColorMode::for_stream(&io::stderr());
    out::print_note(&format!(
        "{} {} · agent {} {}",
        colors.style_text(TextStyle::Bold, &format!("ralph {}", plan.context.kind)),
        short_id(&plan.context.id),
        plan.context.agent.name,
        plan.context.agent.describe_permissions(),
    ));
    out::print_note(&format!(
        "until     promise {} · at most {}",
        plan.spec.claim_rules.promise.as_str(),
        pluralize(i64::from(plan.spec.policy.max_iterations), "iteration"),
    ));
    for note in describe_untested_agents(plan) {
        out::print_note(&format!("note      {note}"));
    }
    budget::print_budget(plan);
    for agent in &plan.context.fallback {
        out::print_note(&format!("fallback  {}", agent.name));
    }
    print_fresh_session_note(plan);
    if let Some(stage) = &plan.spec.stage {
        out::print_note(&format!("task      {}, {}", stage.task, stage.role));
    }
    if plan.spec.criteria.is_empty() {
        out::print_note("no checks: the claim alone decides, and nothing is verified");
    }
    for check in &plan.spec.criteria {
        out::print_note(&format!("check     {}", check.display_name()));
    }
    if let Some(place) = &plan.context.own_worktree {
        out::print_note(&format!("tree      {}, branch {}", place.worktree.path.display(), place.worktree.branch()));
    }
}

/// Prints which agents start a new session in every iteration although the run continues sessions.
pub fn print_fresh_session_note(plan: &RunPlan) {
    if let Some(note) = plan.describe_agents_without_resume() {
        out::print_note(&format!("context   {note}"));
    }
}

/// Prints how a run ended.
pub fn print_summary(summary: &RunSummary) {
    let RunSummary { end, row, took, completion, .. } = summary;
    let colors = ColorMode::for_stream(&io::stdout());
    let tone = if end.outcome == Outcome::Completed { TextStyle::Good } else { TextStyle::Bad };
    out::print_message(&format!(
        "\n{} after {} in {}{}: {}{}",
        colors.style_text(tone, end.outcome.as_str()),
        pluralize(row.as_ref().map_or(0, |row| row.iterations), "iteration"),
        duration::format_rounded(*took),
        completion.as_ref().map(|completion| format!(" ({})", completion.proof.display_word())).unwrap_or_default(),
        end.reason,
        if completion.as_ref().is_some_and(is_uncommitted) { "; not committed" } else { "" },
    ));
    if let Some(row) = row {
        print_usage(row);
        if end.outcome == Outcome::Interrupted {
            out::print_message(&format!("resume    ralph resume {}", short_id(&row.id)));
        }
        if summary.has_waiting_claim {
            out::print_message(&format!("decide    {}", hints::for_waiting_claim(short_id(&row.id))));
        }
    }
    if let Some(path) = &summary.session_log {
        out::print_message(&format!("log       {}", path.display()));
    }
    if let Some(caveat) = outcome_caveat(summary) {
        out::print_message(&caveat);
    }
}

fn is_uncommitted(completion: &CompletionRecord) -> bool {
    completion.is_committed == Some(false)
}

fn print_usage(row: &RunRow) {
    let tokens = match (row.input_tokens, row.output_tokens) {
        (Some(input), Some(output)) => format!(", {input} tokens in, {output} out"),
        (_, _) => String::new(),
    };
    out::print_message(&format!("spent     {}{tokens}", format_cost(row.cost_micros)));
    out::print_message(&format!("details   ralph show {}", short_id(&row.id)));
}

/// Returns what the outcome alone does not show: missing proof, or an exit code of 0 without completion.
fn outcome_caveat(summary: &RunSummary) -> Option<String> {
    match (summary.end.outcome, summary.end.exit_code) {
        (Outcome::Completed, _) => {
            let proof = &summary.completion.as_ref()?.proof;
            (proof.level < ProofLevel::Proven).then(|| proof.describe())
        }
        (Outcome::Exhausted, exit_code::COMPLETED) => {
            Some("not complete: the iterations are used up, but the exit code is 0; with --strict it is 3".to_owned())
        }
        (_, _) => None,
    }
}

/// Prints where the work of a run is.
pub fn print_delivery(delivery: &RunDelivery, audience: OutputVisibility) {
    match delivery {
        RunDelivery::InPlace => {}
        RunDelivery::Worktree(outcome) => print_worktree_outcome(outcome),
        RunDelivery::Tasks(outcome) => print_generation(outcome, audience),
    }
}

fn print_worktree_outcome(outcome: &WorktreeOutcome) {
    out::print_note(&match outcome {
        WorktreeOutcome::Unfinished { path } => format!("tree      {} contains the work so far", path.display()),
        WorktreeOutcome::Accepted { branch, tree } => format!("branch    {branch}; `ralph land {tree}` merges it"),
        WorktreeOutcome::NotAccepted { branch, reason } => format!("warning: {branch} was not moved: {reason}"),
    });
}

/// Prints the tasks of a run that generates tasks.
pub fn print_generation(outcome: &GenerationOutcome, audience: OutputVisibility) {
    match outcome {
        GenerationOutcome::Imported { spec, tasks } => print_generated_tasks(spec, tasks, audience),
        GenerationOutcome::AlreadyImported | GenerationOutcome::NotImported { answer: None } => {}
        GenerationOutcome::NotImported { answer: Some(answer) } => out::print_note(&format!(
            "no tasks were imported; the agent's file is {}: fix it, review its commands, and import it with \
             `ralph task import`",
            answer.display()
        )),
    }
}

fn print_generated_tasks(spec: &str, generated: &[GeneratedTask], audience: OutputVisibility) {
    let waiting = generated.iter().filter(|task| task.approval == Approval::Pending).count();
    match audience {
        OutputVisibility::Hidden => {
            let tasks = generated
                .iter()
                .map(|task| json!({ "id": task.id, "status": "todo", "approved": task.approval == Approval::Granted }));
            let tasks: Vec<_> = tasks.collect();
            out::print_line(&json!({ "spec_id": spec, "tasks": tasks }).to_string());
        }
        OutputVisibility::Shown => {
            let created = pluralize(generated.len() as i64, "task");
            out::print_message(&format!("created   {created} of spec {spec}: ralph task list --spec {spec}"));
            if waiting > 0 {
                let pending = pluralize(waiting as i64, "task");
                out::print_message(&format!("approve   checks of {pending}: ralph task approve --spec {spec}"));
            }
        }
    }
}
