//! The database of a project: the journal of facts of every run, and the projections built from it. Both change in the
//! same transaction. This crate stores and reads; it decides nothing.
mod control_commands;
mod conversations;
mod driver;
mod error;
mod journal;
mod notifications;
mod queries;
mod sqlite;
mod standing_guidance;
mod store;
mod tasks;
#[cfg(test)]
mod test_run;
mod workflows;

pub use control_commands::{
    CommandAnswer, CommandTarget, CommandsForNextStage, LoopRow, NewCommand, PendingCommand, TaskOwnership,
    TaskSettlement,
};
pub use conversations::{
    ConversationMessageRow, ConversationRow, ConversationRunRow, ConversationStart, DeliveryState,
    NewConversationMessage,
};
pub use driver::{DatabaseProblem, DriverError};
pub use error::{BUSY_MESSAGE, DamagedCopy, DatabaseDamage, StoreError};
pub use journal::receipt_file;
pub use journal::record_step::{FIRST_FENCE, NewRun, NewStage, StepRecord};
pub use journal::run_deletion::RunActivity;
pub use journal::takeover::{StoredRun, TakeoverGuard};
pub use journal::transfer::{EXPORT_VERSION, ExportHeader, ImportedFact};
pub use notifications::{DeliveryKey, DeliveryResult, NewNotification, OpenDeliveryRow};
pub use queries::changes::{ChangePosition, StoredChanges};
pub use queries::charts::{CheckTimeRow, ClaimVerdictRow, IterationsToDoneRow, TaskCostRow};
pub use queries::inbox::{DoneTaskRow, TaskDependencyRow, WaitingTaskRow};
pub use queries::run_rows::{AttemptRow, CheckRow, IterationRow, ReceiptRow, RunRow};
pub use queries::runs::EventRow;
pub use queries::runs::RunPageFilter;
pub use queries::stats::{KeyedPart, StatsGrouping};
pub use queries::task_window::{TaskStatusCount, TaskWindow};
pub use sqlite::file_stamps::ChangeStamp;
pub use sqlite::open::OpenMode;
pub use store::Store;
pub use tasks::leases::{
    LeaseDisposition, LeaseRelease, LeaseRow, LeasedTask, TaskFilter, TaskLease, TaskProgressUpdate,
};
pub use tasks::task_changes::{TaskChange, TaskPageFilter};
pub use tasks::task_rows::{StageRun, TaskListItem, TaskRow};
pub use tasks::task_seals::TaskSealRow;
pub use workflows::answers::{NewWorkflowAnswer, WorkflowAnswerRow};
pub use workflows::queries::WorkflowActivity;
pub use workflows::record_workflow::{NewWorkflowRun, WorkflowNodeUpdate, WorkflowRunUpdate, WorkflowStep};
pub use workflows::workflow_rows::{WorkflowEventRow, WorkflowNodeKey, WorkflowNodeRow, WorkflowRunRow};
