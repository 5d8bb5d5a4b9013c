//! `ralph report`.
use std::path::PathBuf;

use clap::{ArgGroup, Args};

use crate::commands::{block_on, out};
use crate::error::CommandError;
use ralph_app::report::{load_report, render_html, render_markdown};
use ralph_engine::project::Project;

/// Writes a report of a run, a task or a workflow run that can be shared
///
/// One file without scripts: the decision, the first failing evidence, criteria by iteration, claims and verdicts, spending,
/// changed files and tests, the receipt, and the prompts. Secrets are redacted, and nothing that an agent wrote is
/// interpreted. Markdown fits into the description of a pull request.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("format").required(true).args(["html", "markdown"]), after_help = "Examples:
  ralph report --html -o report.html             the newest run
  ralph report TASK-001 --html -o report.html    a task with all its stages
  ralph report TASK-001 --markdown | gh pr create --title 'Login' --body-file -")]
pub struct ReportArgs {
    /// A task id, or the start or end of a run id [default: the newest run]
    #[arg(value_name = "RUN|TASK")]
    id: Option<String>,
    /// Writes HTML
    #[arg(long)]
    html: bool,
    /// Writes Markdown
    #[arg(long)]
    markdown: bool,
    /// The file to write [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub fn run(args: &ReportArgs) -> Result<u8, CommandError> {
    let report = block_on(async {
        let project = Project::find_here_or_outside()?;
        Ok(load_report(&project, args.id.as_deref()).await?)
    })?;
    let text = if args.markdown { render_markdown(&report) } else { render_html(&report) };
    match &args.output {
        None => out::print_data(&text),
        Some(path) => {
            std::fs::write(path, text).map_err(|error| {
                CommandError::preflight_error(format!("cannot write {}", path.display())).with_cause(error)
            })?;
            out::print_note(&format!("wrote {}", path.display()));
        }
    }
    Ok(0)
}
