//! `ralph reject`: a person rejects a claim that waits for a decision.
use clap::Args;
use ralph_app::control::{DecisionRequest, RejectResult, reject_claim};
use ralph_engine::project::Project;

use crate::commands::args::config_args::ConfigArgs;
use crate::commands::{block_on, out};
use crate::error::CommandError;

/// Rejects the claim of a blocked run or task
///
/// The reason is part of the next prompt. `ralph resume` continues a run, `ralph work` the stage of a task.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph reject 3f2a9c41 --because 'Keep tests/login.sh as it was'; ralph resume 3f2a9c41
  ralph reject TASK-001 --because 'Fix the parser, not its test'; ralph work")]
pub struct RejectArgs {
    /// Task id, or beginning or end of a run id [default: the only claim that waits for a decision]
    #[arg(value_name = "RUN|TASK")]
    id: Option<String>,
    /// Why you reject it, for the agent
    #[arg(long, value_name = "TEXT")]
    because: String,
    #[command(flatten)]
    config: ConfigArgs,
}

pub fn run(args: &RejectArgs) -> Result<u8, CommandError> {
    let (project, config) = (Project::find_here()?, args.config.source());
    let because = Some(args.because.clone());
    let request = DecisionRequest { project: &project, id: args.id.as_deref(), because, config: &config };
    let text = match block_on(async { Ok(reject_claim(request).await?) })? {
        RejectResult::Run { run } => format!("Rejected; `ralph resume {run}` continues the run with your reason"),
        RejectResult::Stage { task, stage } => {
            format!("Rejected; `ralph work` continues {stage} of {task} with your reason")
        }
    };
    out::print_message(&text);
    Ok(0)
}
