//! The demo: a small repository with one task or a specification of several, and a scripted agent that first makes a false
//! claim and then does the work.
mod agent;
mod demo_repository;
mod demo_run;
mod demo_stream_writer;
mod demo_work;
mod init_prompts;
mod stage_prompts;
mod work_spec;

pub use agent::{DemoPace, play_agent};
pub use demo_repository::{DEMO_CHECK, DEMO_TASK, DemoRepository, DemoRepositoryError};
pub use demo_run::{DemoCommit, DemoResult, create_demo_repository, load_demo_result, prepare_demo_run};
pub use demo_work::{
    DemoTaskResult, create_demo_work_repository, demo_settings, import_demo_tasks, load_demo_work_result,
    prepare_demo_work,
};
pub use work_spec::DEMO_WORK_TASKS;
