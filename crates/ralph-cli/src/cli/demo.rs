//! `ralph demo`: the whole story in a few seconds.
use std::io::{self, IsTerminal};
use std::time::Duration;

use clap::Args;
use ralph_core::claim::{ClaimRules, Promise};
use ralph_core::criterion::ExternalCheck;
use ralph_core::outcome::exit_code;
use ralph_core::policy::{Policy, Proof};

use super::output_args::Show;
use super::run::execute;
use super::{block_on, out};
use crate::error::Failure;
use crate::report::{Detail, Paint, Tone};
use ralph_agents as agent;
use ralph_agents::Overrides;
use ralph_app::demo::{CHECK, Stage, TASK};
use ralph_app::view::{RunView, short_id};
use ralph_engine::engine::{AgentChoice, Audience, PromptSource, RunPlan, new_run_id};
use ralph_engine::lock::Sharing;
use ralph_engine::project::Project;
use ralph_engine::verify::Acceptance;
use ralph_store::{Opening, Store};
use ralph_util::memory_size::MemorySize;

/// Shows the whole story with a scripted agent that lies first: no account, no set-up
///
/// Makes a small git repository in the folder for temporary files, gives the agent a task and a check, and
/// shows how a false "done" is caught and a true one is proven.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Does not wait for people to read
    #[arg(long)]
    fast: bool,
}

/// The agent's time between two steps, for people.
const PACE_MS: &str = "350";

pub fn run(args: &DemoArgs) -> Result<u8, Failure> {
    let stage = Stage::build().map_err(|error| {
        Failure::new(exit_code::PREFLIGHT, &error)
            .hint("the demo needs git, and room in the folder for temporary files")
    })?;
    introduce(&stage);
    let people = io::stderr().is_terminal() && !args.fast;
    let plan = plan(&stage, if people { &["--pace", PACE_MS] } else { &[] })?;
    let id = plan.id.clone();
    let code = execute(plan, Show::People(Detail::Everything))?;
    conclude(&stage, &id)?;
    Ok(code)
}

fn plan(stage: &Stage, extra_args: &[&str]) -> Result<RunPlan, Failure> {
    let internal = |error: &(dyn std::error::Error + 'static)| Failure::new(exit_code::INTERNAL, error);
    let promise = Promise::parse("DONE").map_err(|error| internal(&error))?;
    Ok(RunPlan {
        id: new_run_id(),
        kind: "demo",
        project: Project::around(&stage.root)?,
        agent: AgentChoice {
            name: "demo".to_owned(),
            adapter: agent::find("demo").map_err(|error| internal(&error))?,
            overrides: Overrides::default(),
            model: None,
            permission: None,
            extra_args: extra_args.iter().map(|&arg| arg.to_owned()).collect(),
            env: Vec::new(),
        },
        fallback: Vec::new(),
        prompt: PromptSource::Text(TASK.to_owned()),
        follows: None,
        stage: None,
        tree: None,
        session: None,
        rules: ClaimRules::new(promise),
        checks: vec![ExternalCheck::of_command(CHECK).into()],
        acceptance: Acceptance::default(),
        judge: None,
        policy: Policy { proof: Proof::Checks, ..Policy::new(5) },
        grace: Duration::from_secs(5),
        audience: Audience::People,
        max_memory: None,
        log_limit: MemorySize::GIGABYTE,
        sharing: Sharing::Alone,
        configured: None,
    })
}

fn introduce(stage: &Stage) {
    let paint = Paint::for_stream(&io::stderr());
    let title = paint.paint(Tone::Bold, "ralph demo: a scripted agent in a real git repository");
    out::note(&format!(
        "{title}\n\n  task   make slugify.sh handle capitals and punctuation\n  check  {CHECK}\n  where  {}\n  \
         catch  this agent lies: watch its first claim\n",
        stage.root.display()
    ));
}

/// Says what was proven, and what to do next.
fn conclude(stage: &Stage, id: &str) -> Result<(), Failure> {
    let paint = Paint::for_stream(&io::stdout());
    out::say(&format!("\n{}", paint.paint(Tone::Bold, "What was proven")));
    for line in block_on(claims(stage, id))? {
        out::say(&format!("  {line}"));
    }
    match stage.work().map_err(|error| Failure::new(exit_code::INTERNAL, &error))? {
        Some((commit, change)) => out::say(&format!("  commit   {commit}\n  change   {change}")),
        None => out::say("  nothing: the agent was stopped before it had done the work"),
    }
    let title = paint.paint(Tone::Bold, "Now with your own agent, in your own project");
    out::say(&format!("\n{title}\n  ralph run 'Make the tests pass' --check 'cargo test'"));
    let root = stage.root.display();
    out::say(&format!("\nLook at this run again\n  cd {root} && {} show {}", own_name(), short_id(id)));
    Ok(())
}

/// Returns what the user can type to start this program.
fn own_name() -> String {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let installed = std::env::split_paths(&path).any(|folder| folder.join("ralph").is_file());
    match std::env::current_exe() {
        Ok(own) if !installed => own.display().to_string(),
        Ok(_) | Err(_) => "ralph".to_owned(),
    }
}

async fn claims(stage: &Stage, id: &str) -> Result<Vec<String>, Failure> {
    let project = Project::around(&stage.root)?;
    let Some(store) = Store::open(&project.state(), Opening::Existing).await? else { return Ok(Vec::new()) };
    let Some(run) = store.runs_like(id).await?.into_iter().next() else { return Ok(Vec::new()) };
    Ok(RunView::load(&store, run).await?.claims())
}
