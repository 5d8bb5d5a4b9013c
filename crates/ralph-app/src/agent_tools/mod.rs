//! The actions of an agent over MCP: it reads its task, reports its progress to ralph, and creates follow-up tasks. An agent of a run
//! sees and changes only its own run and task; any other caller only reads. No action approves, accepts, guides or lands.
mod agent_text;
mod agent_work;
mod followup_task;
mod report_to_run;
mod tool_caller;
mod work_status;

pub use agent_text::{MAX_TEXT_BYTES, clean_agent_text, clean_output};
pub use agent_work::{SpecificationText, WorkDescription, read_work};
pub use followup_task::{FollowupCheck, FollowupTaskRequest, create_followup_task};
pub use report_to_run::report_to_run;
pub use tool_caller::{ToolCaller, find_tool_caller};
pub use work_status::read_status;
