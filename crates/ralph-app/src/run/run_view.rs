//! Loads everything about one run.
use std::io::{self, Read};
use std::path::Path;

use ralph_core::event::AttemptKey;
use ralph_engine::project::Project;
use ralph_engine::run_driver::prompt_log_name;
use ralph_store::AttemptRow;
use ralph_util::private_files;

use super::{FoundRun, find_run};
use crate::error::{AppError, AppResult};
use crate::view::{RunView, short_id};

/// Returns the run whose id starts or ends with `part`, or the newest run.
pub async fn load_run_view(project: &Project, part: Option<&str>) -> AppResult<RunView> {
    let FoundRun { store, run } = find_run(project, part).await?;
    let notes = find_notes(project, &run.id);
    Ok(RunView::load(&store, run).await?.with_notes(notes))
}

/// The prompt of an attempt as it was sent to the agent, without secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentPrompt {
    pub run_id: String,
    pub iteration: u32,
    pub attempt: u32,
    pub text: String,
}

/// Returns the prompt of the last attempt of an iteration, or of the last iteration.
pub async fn load_sent_prompt(project: &Project, part: Option<&str>, iteration: Option<u32>) -> AppResult<SentPrompt> {
    let FoundRun { store, run } = find_run(project, part).await?;
    let attempts = store.attempts_of_run(&run.id).await?;
    store.close().await;
    let is_wanted = |attempt: &&AttemptRow| iteration.is_none_or(|wanted| i64::from(wanted) == attempt.iteration);
    let short = short_id(&run.id);
    let Some(attempt) = attempts.iter().rfind(is_wanted) else {
        let asked = iteration.map_or_else(|| "no iteration".to_owned(), |number| format!("no iteration {number}"));
        return Err(AppError::not_found(format!("run {short} has {asked}")));
    };
    let number = |value: i64| u32::try_from(value).unwrap_or(u32::MAX);
    let key = AttemptKey { iteration: number(attempt.iteration), attempt: number(attempt.number) };
    let path = project.run_folder(&run.id).join(prompt_log_name(key));
    let text = read_sent_prompt(&path).map_err(|error| {
        AppError::preflight(format!("the prompt of iteration {} of run {short} is not stored", key.iteration))
            .with_cause(format!("{}: {error}", path.display()))
            .with_advice("runs of older versions have no stored prompts, and old logs are removed")
    })?;
    Ok(SentPrompt { run_id: run.id, iteration: key.iteration, attempt: key.attempt, text })
}

fn read_sent_prompt(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    private_files::open_regular_file(path)?.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the path of the run's notes, if they are not empty.
fn find_notes(project: &Project, run: &str) -> Option<String> {
    let path = project.notes_file(run);
    let length = private_files::open_regular_file(&path).and_then(|file| file.metadata()).ok()?.len();
    let shown = path.strip_prefix(&project.root).unwrap_or(&path);
    (length > 0).then(|| shown.display().to_string())
}
