//! Orders: requests that start, control or decide something. One order at a time is carried out for a run or task; another one
//! that arrives meanwhile is a conflict.
mod commands;
mod limit_values;
mod order_locks;
mod run_orders;
mod start;
mod task_orders;
mod work;
mod workflow_orders;

use axum::Router;

pub(super) use limit_values::{LimitValue, LimitsOrder};
pub(crate) use order_locks::OrderLocks;
pub(super) use run_orders::{DecisionOrder, EmptyOrder, GuideOrder, PauseOrder, ResumeOrder};
pub(super) use start::{StartRunOrder, StartWorkflowOrder};
pub(super) use task_orders::ApprovalOrder;
pub(super) use work::WorkOrder;
pub(super) use workflow_orders::{AnswerOrder, RerunOrder};

use crate::context::SharedContext;

pub(super) fn routes() -> Router<SharedContext> {
    Router::new()
        .merge(start::routes())
        .merge(work::routes())
        .merge(commands::routes())
        .merge(run_orders::routes())
        .merge(task_orders::routes())
        .merge(workflow_orders::routes())
}
