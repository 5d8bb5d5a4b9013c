//! Runs of workflows: the driver of the graph machine, and how the nodes are performed. Agents work in ordinary runs of
//! ralph; the graph in `ralph-core` decides what starts, waits, is repeated or skipped.
mod activity;
mod agents;
mod answer;
mod background;
mod cancel;
mod children;
mod driver;
pub mod dry_run;
mod end_text;
mod fact;
mod journal;
mod log;
mod lookup;
mod metadata;
mod node_values;
mod observer;
mod opened_run;
mod orders;
mod parking;
mod prepare;
mod questions;
mod ready;
mod rerun;
mod services;
mod spec;
mod start;
mod trust;
mod worktree;

pub use answer::{AnswerRequest, AnsweredQuestion, answer_question};
pub use background::start_workflow_in_background;
pub use cancel::cancel_workflow_run;
pub use driver::WorkflowEnd;
pub use fact::WorkflowFact;
pub(crate) use fact::describe_skip;
pub use log::WorkflowLog;
pub use lookup::{
    FoundWorkflowRun, OpenQuestionView, WorkflowRunView, find_workflow_run, list_active_workflow_runs,
    list_workflow_runs, load_open_questions, names_workflow_run,
};
pub use observer::{EventSource, WorkflowObserver};
pub use orders::{WorkflowGuidance, WorkflowPause, guide_workflow_run, limit_workflow_run, pause_workflow_run};
pub use prepare::{PreparedWorkflow, WorkflowRunRequest, WorkflowSource, WorkflowWorkspace, prepare_workflow_run};
pub use rerun::{RerunRequest, prepare_rerun};
pub use spec::WorkflowRunSpec;
pub use start::{FinishedWorkflow, WorkflowProcess, resume_workflow_run, run_workflow};
pub use trust::{approve_workflows, has_unapproved_workflows, list_workflow_files};
