//! Workers in the background: starting, listing, following and stopping them. A worker has a folder with a lock that it
//! holds while it works, its log, and its exit code once it has ended.
mod follow_worker;
mod start_worker;
mod stop_worker;
mod worker_record;

pub use follow_worker::{FollowedWorker, find_worker_to_follow};
pub use start_worker::{BackgroundWorkerStart, WorkerStartup, start_worker_in_background};
pub use stop_worker::{StopWorkerResult, stop_worker};
pub(crate) use worker_record::forget_old_workers;
pub use worker_record::{BackgroundWorker, WorkerStatus, is_worker_id, list_workers};
