//! `ralph accept`: a person accepts a claim that the checks did not accept.
use clap::Args;
use ralph_app::control::{AcceptResult, DecisionRequest, accept_claim};
use ralph_engine::project::Project;

use crate::commands::args::config_args::ConfigArgs;
use crate::commands::{block_on, out};
use crate::error::CommandError;

/// Accepts the claim of a blocked run or task
///
/// A run or stage ends as blocked if its agent changed protected tests twice, or if its checks could not be evaluated. Look
/// at the work, then accept or reject it. A run becomes completed; its measured proof level stays, and the receipt names
/// you. A task continues with its next stage; nothing is merged. If the files have changed since the claim, ralph refuses.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph diff 3f2a9c41; ralph accept 3f2a9c41 --because 'The old test was wrong'
  ralph accept TASK-001; ralph work")]
pub struct AcceptArgs {
    /// Task id, or beginning or end of a run id [default: the only claim that waits for a decision]
    #[arg(value_name = "RUN|TASK")]
    id: Option<String>,
    /// Why you accept it; part of the receipt
    #[arg(long, value_name = "TEXT")]
    because: Option<String>,
    #[command(flatten)]
    config: ConfigArgs,
}

pub fn run(args: &AcceptArgs) -> Result<u8, CommandError> {
    let (project, config) = (Project::find_here()?, args.config.source());
    let request =
        DecisionRequest { project: &project, id: args.id.as_deref(), because: args.because.clone(), config: &config };
    let text = match block_on(async { Ok(accept_claim(request).await?) })? {
        AcceptResult::Run { run, user, proof } => format!("Run {run} is completed ({proof}, accepted by {user})"),
        AcceptResult::Stage { task, stage, user, next: Some(next) } => {
            format!("{user} accepted {stage} of {task}; the next stage is {next}: `ralph work` runs it")
        }
        AcceptResult::Stage { task, stage, user, next: None } => {
            format!("{user} accepted {stage} of {task}; the task is done: `ralph land {task}` merges it")
        }
    };
    out::print_message(&text);
    Ok(0)
}
