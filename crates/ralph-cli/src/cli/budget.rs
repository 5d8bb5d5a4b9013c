//! What is said about a budget before a run starts.
use std::time::Duration;

use ralph_core::budget::{Budget, UnknownCost, dollars};

use super::out;
use crate::error::Failure;
use ralph_engine::engine::{AgentChoice, RunPlan};
use ralph_util::duration;

/// Refuses an agent whose cost nobody would know, where it must be known.
pub fn can_be_kept(budget: &Budget, agent: &AgentChoice) -> Result<(), Failure> {
    match budget.unknown_cost {
        UnknownCost::Refuse if !agent.adapter.about().tells_cost => {
            let what =
                format!("the agent {} does not tell what it costs, and that must be known", agent.name);
            Err(Failure::preflight(what)
                .hint("choose another agent, or set `limits.require_known_cost` to false"))
        }
        UnknownCost::Refuse | UnknownCost::Bear => Ok(()),
    }
}

/// Says what the run may use, and who could not be held to it.
pub fn introduce(plan: &RunPlan) {
    let own = &plan.policy.budget;
    // The time of a run is always limited, and nobody need be told.
    say(&Budget { max_duration_ms: None, ..*own }, "");
    for shared in &plan.policy.shared {
        say(&shared.budget, &format!(" for {}", shared.scope.words()));
    }
    let budgets = plan.policy.shared.iter().map(|shared| &shared.budget).chain([own]);
    let is_money_limited = budgets.into_iter().any(|budget| budget.max_cost_micros.is_some());
    let silent = plan.agents().filter(|agent| !agent.adapter.about().tells_cost);
    for agent in silent.filter(|_| is_money_limited) {
        let name = &agent.name;
        out::note(&format!("warning   {name} does not tell what it costs: no amount of money stops it"));
    }
}

fn say(budget: &Budget, whose: &str) {
    let money = budget.max_cost_micros.map(dollars);
    let tokens = budget.max_tokens.map(|tokens| format!("{tokens} tokens"));
    let time = budget.max_duration_ms.map(|ms| duration::write(Duration::from_millis(ms)));
    let parts: Vec<String> = money.into_iter().chain(tokens).chain(time).collect();
    if !parts.is_empty() {
        out::note(&format!("budget    {}{whose}", parts.join(", ")));
    }
}
