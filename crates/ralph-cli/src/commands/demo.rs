//! `ralph demo`: a complete run with a scripted agent, in a few seconds.
use std::io::{self, IsTerminal};
use std::time::Duration;

use clap::Args;
use ralph_core::claim::{ClaimRules, Promise};
use ralph_core::criterion::ExternalCheck;
use ralph_core::outcome::exit_code;
use ralph_core::policy::{Policy, ProofRequirement};

use super::output_args::OutputMode;
use super::run::execute_run;
use super::{block_on, out};
use crate::error::CommandError;
use crate::report::{ColorMode, ReportDetail, TextStyle};
use ralph_agents as agent;
use ralph_agents::PresetOverrides;
use ralph_app::demo::{DEMO_CHECK, DEMO_TASK, DemoRepository};
use ralph_app::view::{RunView, short_id};
use ralph_engine::project::Project;
use ralph_engine::run_driver::{AgentChoice, OutputVisibility, PromptSource, RunContext, RunPlan, RunSpec, new_run_id};
use ralph_store::{OpenMode, Store};

/// Shows a complete run with a scripted agent that lies first; needs no account and no setup
///
/// Creates a small git repository in the temporary directory, gives the agent a task and a check, and shows how ralph
/// rejects a false claim and verifies a true one.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Does not pause between steps
    #[arg(long)]
    fast: bool,
}

/// Delay between two steps of the agent, so that the user can read along.
const AGENT_PACE_MS: &str = "350";

pub fn run(args: &DemoArgs) -> Result<u8, CommandError> {
    let repository = DemoRepository::create().map_err(|error| {
        CommandError::from_error(exit_code::PREFLIGHT_FAILED, &error)
            .with_hint("the demo needs git and free space in the temporary directory")
    })?;
    print_introduction(&repository);
    let is_watched = io::stderr().is_terminal() && !args.fast;
    let plan = plan_demo_run(&repository, if is_watched { &["--pace", AGENT_PACE_MS] } else { &[] })?;
    let id = plan.context.id.clone();
    let code = execute_run(plan, OutputMode::Plain(ReportDetail::Everything))?;
    print_result(&repository, &id)?;
    Ok(code)
}

fn plan_demo_run(repository: &DemoRepository, extra_args: &[&str]) -> Result<RunPlan, CommandError> {
    let internal =
        |error: &(dyn std::error::Error + 'static)| CommandError::from_error(exit_code::INTERNAL_ERROR, error);
    let promise = Promise::parse("DONE").map_err(|error| internal(&error))?;
    let agent = AgentChoice {
        name: "demo".to_owned(),
        adapter: agent::find_agent("demo").map_err(|error| internal(&error))?,
        overrides: PresetOverrides::default(),
        model: None,
        permission: None,
        extra_args: extra_args.iter().map(|&arg| arg.to_owned()).collect(),
        env: Vec::new(),
    };
    let policy = Policy { proof: ProofRequirement::Checks, ..Policy::new(5) };
    let prompt = PromptSource::Text(DEMO_TASK.to_owned());
    let spec = RunSpec {
        criteria: vec![ExternalCheck::from_shell_text(DEMO_CHECK).into()],
        stop_grace: Duration::from_secs(5),
        ..RunSpec::new(prompt, &agent, ClaimRules::new(promise), policy)
    };
    let context = RunContext {
        id: new_run_id(),
        kind: "demo",
        project: Project::find_from(&repository.root)?,
        agent,
        fallback: Vec::new(),
        judge: None,
        session_log: None,
        visibility: OutputVisibility::Shown,
        own_worktree: None,
        lease_fence: None,
    };
    Ok(RunPlan { spec, context })
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
    let colors = ColorMode::for_stream(&io::stdout());
    out::print_message(&format!("\n{}", colors.style_text(TextStyle::Bold, "What was proven")));
    for line in block_on(load_claims(repository, id))? {
        out::print_message(&format!("  {line}"));
    }
    match repository.agent_commit().map_err(|error| CommandError::from_error(exit_code::INTERNAL_ERROR, &error))? {
        Some((commit, change)) => out::print_message(&format!("  commit   {commit}\n  change   {change}")),
        None => out::print_message("  nothing: the agent was stopped before it had done the work"),
    }
    let title = colors.style_text(TextStyle::Bold, "Now with your own agent, in your own project");
    out::print_message(&format!("\n{title}\n  ralph run 'Make the tests pass' --check 'cargo test'"));
    let root = repository.root.display();
    out::print_message(&format!("\nShow this run again\n  cd {root} && {} show {}", own_command(), short_id(id)));
    Ok(())
}

/// Returns the command that starts this program: `ralph` if that is on PATH, else the path of this binary.
fn own_command() -> String {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let installed = std::env::split_paths(&path).any(|folder| folder.join("ralph").is_file());
    match std::env::current_exe() {
        Ok(own) if !installed => own.display().to_string(),
        Ok(_) | Err(_) => "ralph".to_owned(),
    }
}

async fn load_claims(repository: &DemoRepository, id: &str) -> Result<Vec<String>, CommandError> {
    let project = Project::find_from(&repository.root)?;
    let Some(store) = Store::open(&project.state_folder(), OpenMode::Existing).await? else {
        return Ok(Vec::new());
    };
    let Some(run) = store.find_runs_by_id_part(id).await?.into_iter().next() else { return Ok(Vec::new()) };
    Ok(RunView::load(&store, run).await?.claim_lines())
}
