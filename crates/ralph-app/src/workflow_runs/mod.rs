//! Runs of workflows: the driver of the graph machine, and how the nodes are performed. Agents work in ordinary runs of
//! ralph; the graph in `ralph-core` decides what starts, waits, is repeated or skipped.
mod activity;
mod agents;
mod answer;
mod background;
mod cancel;
mod child_inputs;
mod children;
mod critical_path;
mod driver;
pub mod dry_run;
mod end_text;
mod fact;
mod journal;
mod kept_guidance;
mod log;
mod lookup;
mod metadata;
mod node_report;
mod node_values;
mod observer;
mod opened_run;
mod orders;
mod parking;
mod prepare;
mod progress_text;
mod questions;
mod ready;
mod rerun;
mod services;
mod spec;
mod start;
mod trust;
mod worktree;

pub use answer::{
    AnswerRequest, AnsweredQuestion, SeenAnswer, answer_question, answer_question_as, answer_seen_question,
};
pub use background::{
    ResumableWorkflow, find_resumable_workflow, resume_workflow_in_background, start_workflow_in_background,
};
pub use cancel::cancel_workflow_run;
pub use critical_path::CriticalPath;
pub use driver::WorkflowEnd;
pub use fact::WorkflowFact;
pub(crate) use fact::describe_skip;
pub use kept_guidance::{clear_workflow_guidance, keep_workflow_guidance, list_workflow_guidance};
pub use log::WorkflowLog;
pub use lookup::{
    FoundWorkflowRun, ListedWorkflowRun, OpenQuestionView, TimedEvent, WorkflowRunPage, WorkflowRunView, find_root_run,
    find_workflow_run, list_active_workflow_runs, list_workflow_runs, load_open_questions, load_timed_events,
    load_workflow_run_page, names_workflow_run, with_actual_status, workflow_proof, workflow_title,
};
pub use node_report::{ConditionValue, NodeReport, report_nodes};
pub use observer::{EventSource, WorkflowObserver};
pub use orders::{WorkflowGuidance, WorkflowPause, guide_workflow_run, limit_workflow_run, pause_workflow_run};
pub use prepare::{
    PreparedWorkflow, WorkflowRunRequest, WorkflowSource, WorkflowWorkspace, prepare_workflow_run, workflow_error,
};
pub use progress_text::describe_progress;
pub use rerun::{RerunRequest, prepare_rerun};
pub use spec::WorkflowRunSpec;
pub use start::{FinishedWorkflow, WorkflowProcess, resume_workflow_run, run_workflow};
pub use trust::{
    ShownFile, WorkflowFiles, approve_workflow_files, approve_workflows, has_unapproved_workflows, list_workflow_files,
};
