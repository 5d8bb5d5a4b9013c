//! `ralph demo --work`: the tasks of a small specification go through all stages, with a scripted agent, in under a minute.
use std::io::{self, IsTerminal};

use ralph_core::task::TaskStatus;

use crate::commands::interaction::TerminalInteraction;
use crate::commands::run::demo::own_command;
use crate::commands::tasks::work::run_worker_here;
use crate::commands::{block_on, out};
use crate::error::CommandError;
use crate::report::{ColorMode, TextStyle};
use ralph_app::demo::{
    DEMO_WORK_TASKS, DemoRepository, DemoTaskResult, create_demo_work_repository, demo_settings, import_demo_tasks,
    load_demo_work_result, prepare_demo_work,
};
use ralph_app::view::pluralize;
use ralph_engine::project::Project;

/// Delay between two steps of the agent on a terminal. It has about 60 steps.
const AGENT_PACE_MS: &str = "150";

pub fn run_demo_work(is_fast: bool) -> Result<u8, CommandError> {
    let repository = create_demo_work_repository()?;
    print_introduction(&repository);
    let is_watched = io::stderr().is_terminal() && !is_fast;
    let pace: &[&str] = if is_watched { &["--pace", AGENT_PACE_MS] } else { &[] };
    let pace = pace.iter().map(|&arg| arg.to_owned()).collect();
    let import = import_demo_tasks(&repository, &TerminalInteraction);
    let code = run_worker_here(demo_settings(), Project::find_from(&repository.root)?, import, |observer| {
        prepare_demo_work(&repository, pace, Box::new(TerminalInteraction), observer)
    })?;
    print_result(&repository)?;
    Ok(code)
}

fn print_introduction(repository: &DemoRepository) {
    let colors = ColorMode::for_stream(&io::stderr());
    let title = colors.style_text(TextStyle::Bold, "ralph demo --work: three tasks, a scripted agent, real tests");
    out::print_note(&format!(
        "{title}\n\n  tasks  tasks.yaml: {}, each needs the one before\n  stages coder, reviewer, tester, qa\n  \
         where  {}\n  catch  the first claim is false, and one program is careless\n",
        DEMO_WORK_TASKS.join(", "),
        repository.root.display()
    ));
}

/// Prints what was proven, and what to try next.
fn print_result(repository: &DemoRepository) -> Result<(), CommandError> {
    let results = block_on(async { Ok(load_demo_work_result(repository).await?) })?;
    let colors = ColorMode::for_stream(&io::stdout());
    let print_title = |title: &str| out::print_message(&format!("\n{}", colors.style_text(TextStyle::Bold, title)));
    print_title("What was proven");
    results.iter().for_each(|result| out::print_message(&format!("  {}", describe_result(result))));
    let done = results.iter().filter(|result| result.status == TaskStatus::Done).map(|result| result.task.as_str());
    let done: Vec<&str> = done.collect();
    print_title("Now it is morning: try this");
    let ralph = own_command();
    out::print_message(&format!("  cd {}", repository.root.display()));
    for command in ["status", "runs", "show GREET-2", "logs GREET-2", "diff GREET-2"] {
        out::print_message(&format!("  {ralph} {command}"));
    }
    if !done.is_empty() {
        let done = done.join(" ");
        out::print_message(&format!("  {ralph} land --dry-run {done}\n  {ralph} land {done}"));
    }
    print_title("With your own agent, in your own project");
    out::print_message("  ralph task import tasks.yaml\n  ralph work --until-idle --detach");
    out::print_message("  ralph help overnight");
    Ok(())
}

fn describe_result(result: &DemoTaskResult) -> String {
    let proof = result.proof.as_ref().map(|proof| format!(" ({proof})")).unwrap_or_default();
    let count = |count: usize, noun: &str| pluralize(i64::try_from(count).unwrap_or(i64::MAX), noun);
    let mut parts = vec![format!("{}  {}{proof}: {}", result.task, result.status.as_str(), result.title)];
    if result.rejected_claims > 0 {
        parts.push(format!("{} rejected", count(result.rejected_claims, "false claim")));
    }
    if result.sent_back > 0 {
        parts.push(format!("sent back {}", count(result.sent_back, "time")));
    }
    parts.join(" · ")
}
