//! The demo: a small repository with a task, and a scripted agent that first makes a false claim and then does the
//! work.
mod agent;
mod demo_repository;
mod demo_run;
mod demo_stream_writer;
mod init_prompts;

pub use agent::{DemoPace, play_agent};
pub use demo_repository::{DEMO_CHECK, DEMO_TASK, DemoRepository, DemoRepositoryError};
pub use demo_run::{DemoCommit, DemoResult, create_demo_repository, load_demo_result, prepare_demo_run};
