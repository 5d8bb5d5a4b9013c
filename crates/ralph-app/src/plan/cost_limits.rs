//! Which spending limits apply to a run or a worker, and which agents a limit cannot stop.
use ralph_engine::run_driver::RunPlan;

use crate::config::Settings;

/// The spending limits of a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkCostLimit {
    Unlimited,
    /// For all tasks together.
    AllTasks {
        max_cost_micros: u64,
    },
    /// Only for parts of the work.
    PerScope(Vec<ScopeCostLimit>),
}

/// The spending limit of each stage, task or spec.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScopeCostLimit {
    pub scope: &'static str,
    pub max_cost_micros: u64,
}

/// Returns the limit that applies. A limit for all tasks together comes first.
#[must_use]
pub fn work_cost_limit(all_tasks_micros: Option<u64>, settings: &Settings) -> WorkCostLimit {
    if let Some(max_cost_micros) = all_tasks_micros {
        return WorkCostLimit::AllTasks { max_cost_micros };
    }
    let limits = &settings.limits;
    let scopes =
        [("stage", &limits.max_cost_usd), ("task", &limits.task.max_cost_usd), ("spec", &limits.spec.max_cost_usd)];
    let known = scopes.into_iter().filter_map(|(scope, limit)| {
        limit.value.map(|money| ScopeCostLimit { scope, max_cost_micros: money.as_micros() })
    });
    let known: Vec<ScopeCostLimit> = known.collect();
    if known.is_empty() { WorkCostLimit::Unlimited } else { WorkCostLimit::PerScope(known) }
}

/// Returns the agents of a run with a spending limit that do not report their cost: the limit cannot stop them.
#[must_use]
pub fn agents_with_unknown_cost(plan: &RunPlan) -> Vec<&str> {
    let policy = &plan.spec.policy;
    let budgets = policy.shared.iter().map(|shared| &shared.budget).chain([&policy.budget]);
    if budgets.into_iter().all(|budget| budget.max_cost_micros.is_none()) {
        return Vec::new();
    }
    let silent = plan.context.all_agents().filter(|agent| !agent.adapter.profile().reports_cost);
    silent.map(|agent| agent.name.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use ralph_util::amounts::DollarAmount;

    use super::*;

    #[test]
    fn a_worker_without_any_spending_limit_is_unlimited() {
        assert_eq!(work_cost_limit(None, &Settings::default()), WorkCostLimit::Unlimited);
    }

    #[test]
    fn the_limit_for_all_tasks_replaces_the_limits_of_stages_and_tasks() {
        let mut settings = Settings::default();
        let amount = DollarAmount::parse("3").ok();
        settings.limits.task.max_cost_usd.set_from_flag(Some(amount), "--max-cost");
        let task_limit = ScopeCostLimit { scope: "task", max_cost_micros: 3_000_000 };
        assert_eq!(work_cost_limit(None, &settings), WorkCostLimit::PerScope(vec![task_limit]));
        assert_eq!(work_cost_limit(Some(5), &settings), WorkCostLimit::AllTasks { max_cost_micros: 5 });
    }
}
