//! `ralph demo`: a complete run with a scripted agent, in a few seconds.
use std::io::{self, IsTerminal};

use clap::Args;

use crate::commands::args::output_args::OutputMode;
use crate::commands::run::demo_work::run_demo_work;
use crate::commands::run::execute::execute_run;
use crate::commands::{block_on, out};
use crate::error::CommandError;
use crate::report::{ColorMode, ReportDetail, TextStyle};
use ralph_app::demo::{
    DEMO_CHECK, DemoCommit, DemoRepository, create_demo_repository, load_demo_result, prepare_demo_run,
};
use ralph_app::view::short_id;

/// Shows a complete run with a scripted agent that lies first; needs no account and no setup
///
/// Creates a small git repository in the temporary directory, gives the agent a task and a check, and shows how ralph
/// rejects a false claim and verifies a true one. With --work it shows `ralph work`: three tasks that depend on each other
/// go through coder, reviewer, tester and qa, and the reviewer sends one back.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Runs a whole specification of tasks, as `ralph work` does overnight
    #[arg(long)]
    work: bool,
    /// Does not pause between steps
    #[arg(long)]
    fast: bool,
}

/// Delay between two steps of the agent, so that the user can read along.
const AGENT_PACE_MS: &str = "350";

pub fn run(args: &DemoArgs) -> Result<u8, CommandError> {
    if args.work {
        return run_demo_work(args.fast);
    }
    let repository = create_demo_repository()?;
    print_introduction(&repository);
    let is_watched = io::stderr().is_terminal() && !args.fast;
    let pace: &[&str] = if is_watched { &["--pace", AGENT_PACE_MS] } else { &[] };
    let prepared = prepare_demo_run(&repository, pace.iter().map(|&arg| arg.to_owned()).collect())?;
    let id = prepared.id().to_owned();
    let code = execute_run(prepared, OutputMode::Plain(ReportDetail::Everything), None)?;
    print_result(&repository, &id)?;
    Ok(code)
}

fn print_introduction(repository: &DemoRepository) {
    let colors = ColorMode::for_stream(&io::stderr());
    let title = colors.style_text(TextStyle::Bold, "ralph demo: a scripted agent in a real git repository");
    out::print_note(&format!(
        "{title}\n\n  task   make slugify.sh handle capitals and punctuation\n  check  {DEMO_CHECK}\n  where  {}\n  \
         catch  this agent lies: watch its first claim\n",
        repository.root.display()
    ));
}

/// Prints what was proven, and what to do next.
fn print_result(repository: &DemoRepository, id: &str) -> Result<(), CommandError> {
    let result = block_on(async { Ok(load_demo_result(repository, id).await?) })?;
    let colors = ColorMode::for_stream(&io::stdout());
    out::print_message(&format!("\n{}", colors.style_text(TextStyle::Bold, "What was proven")));
    for line in result.claims {
        out::print_message(&format!("  {line}"));
    }
    out::print_message(&match result.commit {
        Some(DemoCommit { commit, change }) => format!("  commit   {commit}\n  change   {change}"),
        None => "  nothing: the agent was stopped before it had done the work".to_owned(),
    });
    let title = colors.style_text(TextStyle::Bold, "Now with your own agent, in your own project");
    out::print_message(&format!("\n{title}\n  ralph run 'Make the tests pass' --check 'cargo test'"));
    let root = repository.root.display();
    out::print_message(&format!("\nShow this run again\n  cd {root} && {} show {}", own_command(), short_id(id)));
    Ok(())
}

/// Returns the command that starts this program: `ralph` if that is on PATH, else the path of this binary.
pub(super) fn own_command() -> String {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let installed = std::env::split_paths(&path).any(|folder| folder.join("ralph").is_file());
    match std::env::current_exe() {
        Ok(own) if !installed => own.display().to_string(),
        Ok(_) | Err(_) => "ralph".to_owned(),
    }
}
