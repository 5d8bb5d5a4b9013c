//! Texts about one run: why, its receipt, and the file of its newest log.
use std::path::PathBuf;

use ralph_core::receipt::Receipt;
use ralph_engine::project::Project;
use ralph_util::sanitize::sanitize_text;

use crate::error::{AppError, AppResult};
use crate::run::{FoundRun, find_run};
use crate::view::short_id;
use crate::why::explain_decision;

/// Returns the explanation of a task, run or workflow run.
pub async fn load_why_text(project: &Project, id: &str) -> AppResult<String> {
    Ok(explain_decision(project, Some(id), None).await?.to_text())
}

/// Returns the receipt of the newest run of a task, or of a run: what was checked, on which files, with which result.
pub async fn load_receipt_text(project: &Project, id: &str) -> AppResult<String> {
    let FoundRun { store, run } = find_run(project, Some(id)).await?;
    let receipt = store.receipt_of_run(&run.id).await?;
    store.close().await;
    let Some(stored) = receipt else {
        return Err(AppError::preflight(format!("run {} has no receipt", short_id(&run.id)))
            .with_cause("only a completed run has one"));
    };
    let unreadable = |error| AppError::preflight("the receipt cannot be read").with_cause(error);
    let receipt: Receipt = serde_json::from_str(&stored.body).map_err(unreadable)?;
    let proof = receipt.findings.proof();
    let body = serde_json::to_string_pretty(&receipt).unwrap_or_default();
    Ok(sanitize_text(&format!(
        "receipt of run {}\n{}\nsha256 {}\n\n{body}",
        short_id(&run.id),
        proof.describe(),
        stored.sha256
    )))
}

/// Returns the newest raw log of the newest run of a task, or of a run.
pub async fn find_log_file(project: &Project, id: &str) -> AppResult<PathBuf> {
    let FoundRun { store, run } = find_run(project, Some(id)).await?;
    store.close().await;
    let folder = project.run_folder(&run.id);
    let files = std::fs::read_dir(&folder).ok().into_iter().flatten().filter_map(Result::ok);
    let logs = files.map(|file| file.path()).filter(|path| path.extension().is_some_and(|ending| ending == "ndjson"));
    logs.max().ok_or_else(|| {
        AppError::preflight(format!("run {} has no log", short_id(&run.id)))
            .with_cause(format!("there is none in {}", folder.display()))
    })
}
