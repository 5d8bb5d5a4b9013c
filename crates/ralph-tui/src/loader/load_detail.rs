//! Loads what a view of the detail panel shows.
use ralph_app::board::{
    CardKind, load_inbox_text, load_receipt_text, load_run_grids, load_why_text, load_workflow_text,
};
use ralph_app::error::AppResult;
use ralph_app::maintenance::{DiffDetail, DiffEnd, diff_run, diff_stored_iteration};
use ralph_app::task_files::find_task;
use ralph_app::tasks::load_task_view;
use ralph_util::redact::redact_text;
use ralph_util::sanitize::sanitize_text;

use super::loader_thread::{LoaderContext, ShownItems};
use crate::model::board_input::DetailContent;
use crate::model::detail_pane::{DetailView, Subject};

pub(super) async fn load_detail(
    context: &LoaderContext,
    subject: &Subject,
    view: DetailView,
    shown: &ShownItems,
) -> AppResult<DetailContent> {
    let (project, id) = (&context.project, subject.id.as_str());
    let text = match view {
        DetailView::Summary => return load_summary(context, subject).await,
        DetailView::InboxText => load_item(context, subject, shown).await?,
        DetailView::Why => load_why_text(project, id).await?,
        DetailView::Diff => load_diff(context, subject).await?,
        DetailView::Receipt => load_receipt_text(project, id).await?,
        DetailView::Graph => load_workflow_text(project, id).await?,
        // The output has a separate thread.
        DetailView::Output => String::new(),
    };
    Ok(DetailContent::Text(redact_text(&text).into_owned()))
}

/// Returns the criteria by iteration; for a task without a run, when it is done.
async fn load_summary(context: &LoaderContext, subject: &Subject) -> AppResult<DetailContent> {
    if subject.kind == CardKind::Task && subject.run.is_none() {
        let settings = context.config.load_settings(Some(&context.project))?;
        let found = find_task(&context.project, &subject.id).await?;
        return Ok(DetailContent::Text(load_task_view(&context.project, found, &settings).await?.to_text()));
    }
    Ok(DetailContent::Grids(load_run_grids(&context.project, &subject.id).await?))
}

async fn load_diff(context: &LoaderContext, subject: &Subject) -> AppResult<String> {
    let project = &context.project;
    let diff = match subject.iteration {
        Some(iteration) => {
            let run = subject.run.as_deref().unwrap_or(&subject.id);
            diff_stored_iteration(project, run, iteration, DiffDetail::Full).await?
        }
        None => diff_run(project, Some(&subject.id), DiffDetail::Full).await?,
    };
    let text = sanitize_text(&diff.text);
    let end = match diff.end {
        DiffEnd::RunEnd => "at its end",
        DiffEnd::Now => "now; it has not ended",
    };
    Ok(if text.trim().is_empty() { format!("no file has changed (compared with the files {end})") } else { text })
}

async fn load_item(context: &LoaderContext, subject: &Subject, shown: &ShownItems) -> AppResult<String> {
    let Some(item) = &subject.item else { return Ok(String::new()) };
    let (text, covered) = load_inbox_text(&context.project, &context.config, item).await?;
    shown.borrow_mut().insert(subject.id.clone(), covered);
    let commands = (context.words.inbox_commands)(&item.answer).join("\n  ");
    Ok(format!("{}\n\n{text}\n\nanswered by\n  {commands}", item.reason))
}
