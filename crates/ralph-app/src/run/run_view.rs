//! Loads everything about one run.
use ralph_engine::project::Project;
use ralph_util::private_files;

use super::{FoundRun, find_run};
use crate::error::AppResult;
use crate::view::RunView;

/// Returns the run whose id starts or ends with `part`, or the newest run.
pub async fn load_run_view(project: &Project, part: Option<&str>) -> AppResult<RunView> {
    let FoundRun { store, run } = find_run(project, part).await?;
    let notes = find_notes(project, &run.id);
    Ok(RunView::load(&store, run).await?.with_notes(notes))
}

/// Returns the path of the run's notes, if they are not empty.
fn find_notes(project: &Project, run: &str) -> Option<String> {
    let path = project.notes_file(run);
    let length = private_files::open_regular_file(&path).and_then(|file| file.metadata()).ok()?.len();
    let shown = path.strip_prefix(&project.root).unwrap_or(&path);
    (length > 0).then(|| shown.display().to_string())
}
