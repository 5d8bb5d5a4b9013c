//! The diff of a run. A comment on a line becomes guidance for the next prompt.
use askama::Template;
use axum::extract::Path;
use ralph_app::error::AppError;
use ralph_app::maintenance::{DiffDetail, DiffEnd, diff_run};
use ralph_app::run::load_run_view;
use ralph_app::view::{run_title, short_id};

use super::diff_parser::{DiffLine, ParsedDiff};
use crate::pages::display::{DisplayText, StatusMark, path_segment};
use crate::pages::frame::{NavPage, PageError, PageFrame, PageHeading, PageRequest, PageResult, render};
use crate::pages::run_table::status_of_run;

/// The code of a line is quoted up to this length.
const MAX_QUOTED_CHARS: usize = 160;

#[derive(Template)]
#[template(path = "diff.html")]
struct DiffPage {
    frame: PageFrame,
    title: DisplayText,
    status: StatusMark,
    short: DisplayText,
    run_href: String,
    guide_path: String,
    /// Whether a comment can reach an agent.
    can_guide: bool,
    is_now: bool,
    diff: ParsedDiff,
    /// The reason why the diff is missing.
    problem: Option<DisplayText>,
}

impl DiffPage {
    fn quoted(&self, line: &DiffLine) -> DisplayText {
        DisplayText::first_line(line.text.as_str(), MAX_QUOTED_CHARS)
    }
}

pub(in crate::pages) async fn show_diff(request: PageRequest, Path(id): Path<String>) -> PageResult {
    let to_page_error = |error: AppError| PageError::from_app_error(&request.context, &error);
    let project = &request.context.project;
    let view = load_run_view(project, Some(&id)).await.map_err(to_page_error)?;
    let run = view.row();
    // A run without a snapshot has a page, too: it says why.
    let found = diff_run(project, Some(&run.id), DiffDetail::Full).await;
    let title = format!("Changes of {}", run_title(run));
    let api = format!("/api/runs/{}/diff", path_segment(&run.id));
    let heading = PageHeading { title: &title, nav: NavPage::Runs, api };
    let problem = found.as_ref().err().map(|error| DisplayText::new(error.to_string()));
    let frame = PageFrame::load(&request, heading).await?;
    Ok(render(&DiffPage {
        title: DisplayText::first_line(&title, 160),
        status: status_of_run(run),
        short: DisplayText::new(short_id(&run.id)),
        run_href: format!("/runs/{}", path_segment(&run.id)),
        guide_path: format!("/api/runs/{}/guide", path_segment(&run.id)),
        can_guide: frame.can_order() && matches!(run.status.as_str(), "running" | "interrupted" | "blocked"),
        is_now: found.as_ref().is_ok_and(|diff| diff.end == DiffEnd::Now),
        diff: found.map(|diff| ParsedDiff::parse(&diff.text)).unwrap_or_default(),
        problem,
        frame,
    }))
}
