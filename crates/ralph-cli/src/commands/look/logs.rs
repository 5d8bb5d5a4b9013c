//! `ralph logs`: what the agent of a run said and did.
use std::io;

use clap::Args;
use ralph_app::control::{FollowResult, FollowUntil};
use ralph_app::run::{FollowedRun, ReplayScope};
use ralph_app::view::{run_title, short_id};
use ralph_app::workflow_runs::names_workflow_run;
use ralph_core::outcome::exit_code;
use ralph_core::task::Role;
use ralph_engine::project::Project;
use ralph_store::RunRow;
use ralph_util::sanitize::sanitize_text;

use crate::commands::look::journal_output::{interrupted_notice, reader_status};
use crate::commands::workflows::follow_run;
use crate::commands::{block_on, out};
use crate::error::CommandError;
use crate::report::{ColorMode, PlainReport, ReportDetail, TextStyle};

/// Shows what the agent of a run said and did
///
/// The text and the tool calls of the agent, with its claims and the verdicts of the checks. For a task, all of its runs are
/// shown, oldest first. Ctrl-C ends the reading; the run continues.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph logs                        the newest run
  ralph logs -f                     until it ends
  ralph logs TASK-001 --role qa     only the qa stage of a task
  ralph logs 3f2a9c41 --iteration 2")]
pub struct LogsArgs {
    /// The start or end of a run id, or a task id [default: the newest run]
    #[arg(value_name = "RUN|TASK")]
    run: Option<String>,
    /// Shows new output until the run ends
    #[arg(long, short)]
    follow: bool,
    /// Shows only this iteration
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    iteration: Option<u32>,
    /// Shows only the runs of this stage of a task: coder, reviewer, tester or qa
    #[arg(long, value_name = "ROLE", value_parser = parse_role)]
    role: Option<Role>,
}

fn parse_role(text: &str) -> Result<Role, String> {
    Role::parse(text).map_err(|error| error.to_string())
}

pub fn run(args: &LogsArgs) -> Result<u8, CommandError> {
    let here = Project::find_here_or_outside()?;
    if block_on(async { Ok(names_workflow_run(&here, args.run.as_deref()).await?) })? {
        return follow_run::print_log(&here, args.run.as_deref(), args.follow);
    }
    block_on(async {
        let project = Project::find_here_or_outside()?;
        let runs = FollowedRun::find_all(&project, args.run.as_deref()).await?;
        let wanted: Vec<&FollowedRun> = runs.iter().filter(|run| args.selects(run.row())).collect();
        let Some((newest, earlier)) = wanted.split_last() else {
            return Err(CommandError::usage_error(args.nothing_selected())
                .with_hint("`ralph runs` lists the runs with their roles and iterations"));
        };
        for run in earlier {
            args.show_run(run, FollowUntil::Now).await?;
        }
        let until = if args.follow { FollowUntil::RunEnd } else { FollowUntil::Now };
        tokio::select! {
            shown = args.show_run(newest, until) => shown.map(|()| exit_code::COMPLETED),
            _ = tokio::signal::ctrl_c() => Ok(exit_code::SIGINT),
        }
    })
}

impl LogsArgs {
    fn selects(&self, run: &RunRow) -> bool {
        let has_iteration = |wanted| i64::from(wanted) <= run.iterations || run.ended_at.is_none();
        self.role.as_ref().is_none_or(|role| run.role.as_deref() == Some(role.as_str()))
            && self.iteration.is_none_or(has_iteration)
    }

    fn nothing_selected(&self) -> String {
        match self.iteration {
            Some(iteration) => format!("no run that you chose has an iteration {iteration}"),
            None => "no run of this task has this role".to_owned(),
        }
    }

    async fn show_run(&self, run: &FollowedRun, until: FollowUntil) -> Result<(), CommandError> {
        let row = run.row();
        let colors = ColorMode::for_stream(&io::stdout());
        out::print_message(&colors.style_text(TextStyle::Bold, &heading(row)));
        let most = u32::try_from(row.max_iterations).unwrap_or(u32::MAX);
        let mut report = PlainReport::without_progress(io::stdout(), ReportDetail::Everything, most);
        let scope = ReplayScope::Complete { iteration: self.iteration };
        let result = run.replay_part(scope, until, &mut report, reader_status).await?;
        report.flush_open_line();
        match (result, run.load_summary().await?) {
            (_, Some(summary)) => {
                let end = &summary.end;
                out::print_message(&sanitize_text(&format!("\n{}: {}\n", end.outcome.as_str(), end.reason)));
            }
            (FollowResult::Interrupted, None) => out::print_note(&interrupted_notice(&row.id)),
            (FollowResult::Finished | FollowResult::StoppedReading, None) => {}
        }
        Ok(())
    }
}

/// Returns the line above a run: its id, its task and role or its kind, its agent, and what it was asked.
fn heading(run: &RunRow) -> String {
    let subject = match (&run.task, &run.role) {
        (Some(task), Some(role)) => format!("{task} {role}"),
        (_, _) => run.kind.clone(),
    };
    sanitize_text(&format!("run {} · {subject} · {} · {}", short_id(&run.id), run.agent, run_title(run)))
}
