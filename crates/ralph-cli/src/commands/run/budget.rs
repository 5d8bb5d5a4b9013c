//! Prints the budget before a run starts.
use std::time::Duration;

use ralph_core::budget::{Budget, format_dollars};

use crate::commands::out;
use ralph_app::plan::agents_with_unknown_cost;
use ralph_engine::run_driver::RunPlan;
use ralph_util::duration;

/// Prints the limits of the run, and warns about agents that do not report their cost.
pub fn print_budget(plan: &RunPlan) {
    let own = &plan.spec.policy.budget;
    // Every run has a time limit, so it is not printed.
    print_limits(&Budget { max_duration_ms: None, ..*own }, "");
    for shared in &plan.spec.policy.shared {
        print_limits(&shared.budget, &format!(" for {}", shared.scope.describe()));
    }
    for name in agents_with_unknown_cost(plan) {
        out::print_note(&format!("warning   {name} does not report its cost: a spending limit cannot stop it"));
    }
}

fn print_limits(budget: &Budget, scope_suffix: &str) {
    let money = budget.max_cost_micros.map(format_dollars);
    let tokens = budget.max_tokens.map(|tokens| format!("{tokens} tokens"));
    let time = budget.max_duration_ms.map(|ms| duration::format_exact(Duration::from_millis(ms)));
    let parts: Vec<String> = money.into_iter().chain(tokens).chain(time).collect();
    if !parts.is_empty() {
        out::print_note(&format!("budget    {}{scope_suffix}", parts.join(", ")));
    }
}
