//! `ralph show`.
use clap::Args;

use super::{block_on, out, run_lookup};
use crate::error::CommandError;
use ralph_app::run::FoundRun;
use ralph_app::view::RunView;
use ralph_engine::project::Project;
use ralph_util::private_files;

/// Shows one run: its outcome, its iterations, what was claimed and what was proven
///
/// Without RUN, the newest. RUN is the beginning or the end of an id.
#[derive(Debug, Args)]
pub struct ShowArgs {
    run: Option<String>,
    /// Prints one object: id, kind, outcome, reason, iterations
    #[arg(long)]
    json: bool,
}

pub fn run(args: &ShowArgs) -> Result<u8, CommandError> {
    block_on(async {
        let FoundRun { store, run } = run_lookup::find_run(args.run.as_deref()).await?;
        let notes = notes_path(&Project::find_here()?, &run.id);
        let view = RunView::load(&store, run).await?.with_notes(notes);
        if args.json {
            out::print_line(&view.to_json().to_string());
        } else {
            out::print_wrapped(&view.to_text());
        }
        Ok(0)
    })
}

/// Returns the notes of a run, if anything stands in them.
fn notes_path(project: &Project, run: &str) -> Option<String> {
    let path = project.notes_file(run);
    let length = private_files::open_regular_file(&path).and_then(|file| file.metadata()).ok()?.len();
    let shown = path.strip_prefix(&project.root).unwrap_or(&path);
    (length > 0).then(|| shown.display().to_string())
}
