//! The page of one iteration: the prompt as it was sent, the output, the changed files, the checks and the spending.
use askama::Template;
use axum::extract::Path;
use axum::http::StatusCode;
use ralph_app::error::AppError;
use ralph_app::maintenance::{DiffDetail, diff_iteration, diff_run};
use ralph_app::overview::{OutputEntry, load_iteration_output, read_check_log};
use ralph_app::run::{load_run_view, load_sent_prompt};
use ralph_app::view::{RunView, format_elapsed, format_tokens, run_title, short_id};
use ralph_app::why::explain_decision;
use ralph_core::prompt::prompt_sections::{PromptAuthor, split_prompt};
use ralph_store::{CheckRow, IterationRow};

use super::cells::{check_name, iteration_mark, iteration_reason};
use crate::context::ServerContext;
use crate::pages::display::{DisplayText, StatusMark, path_segment, short_cost};
use crate::pages::frame::{NavPage, PageError, PageFrame, PageHeading, PageRequest, PageResult, render};

/// How much of the output of a check is shown.
const MAX_CHECK_OUTPUT_BYTES: u64 = 200_000;

/// A part of the prompt.
struct PromptPart {
    author: &'static str,
    class: &'static str,
    text: DisplayText,
}

/// A part of the agent's output.
enum OutputPart {
    Text(DisplayText),
    Thinking(DisplayText),
    Tool { name: DisplayText, detail: DisplayText, mark: StatusMark, excerpt: DisplayText },
    Failure(DisplayText),
    Attempt(u32),
}

/// A check of the claim.
struct CheckPanel {
    depth: usize,
    name: DisplayText,
    command: DisplayText,
    method: DisplayText,
    mark: StatusMark,
    reason: DisplayText,
    took: String,
    notes: Vec<String>,
    output: DisplayText,
    skipped_bytes: u64,
    is_open: bool,
}

#[derive(Template)]
#[template(path = "iteration.html")]
struct IterationPage {
    frame: PageFrame,
    title: DisplayText,
    headline: DisplayText,
    short: DisplayText,
    number: u32,
    run_href: String,
    previous: Option<i64>,
    next: Option<i64>,
    mark: StatusMark,
    claim: &'static str,
    took: String,
    cost: String,
    tokens: String,
    attempts: Vec<AttemptLine>,
    evidence: Vec<DisplayText>,
    prompt: Vec<PromptPart>,
    prompt_problem: Option<DisplayText>,
    output: Vec<OutputPart>,
    skipped_output: usize,
    checks: Vec<CheckPanel>,
    changed_files: DisplayText,
    /// Otherwise they are those of the whole run.
    is_of_iteration: bool,
}

/// An attempt of the iteration.
struct AttemptLine {
    number: i64,
    mark: StatusMark,
    model: DisplayText,
    failure: DisplayText,
}

pub(in crate::pages) async fn show_iteration(
    request: PageRequest,
    Path((id, number)): Path<(String, u32)>,
) -> PageResult {
    let to_page_error = |error: AppError| PageError::from_app_error(&request.context, &error);
    let view = load_run_view(&request.context.project, Some(&id)).await.map_err(to_page_error)?;
    let found = view.iterations().iter().find(|iteration| iteration.number == i64::from(number));
    let Some(iteration) = found else {
        let detail = format!("Run {} has no iteration {number}.", short_id(view.id()));
        return Err(PageError::new(StatusCode::NOT_FOUND, detail));
    };
    Ok(render(&load_iteration_page(&request, &view, iteration).await.map_err(to_page_error)?))
}

async fn load_iteration_page(
    request: &PageRequest,
    view: &RunView,
    iteration: &IterationRow,
) -> Result<IterationPage, AppError> {
    let context = &request.context;
    let (project, id) = (&context.project, view.id());
    let number = u32::try_from(iteration.number).unwrap_or(u32::MAX);
    let prompt = load_sent_prompt(project, Some(id), Some(number)).await;
    // A run of another version may not be explained, and still has a page.
    let why = explain_decision(project, Some(id), Some(number)).await.ok();
    let output = load_iteration_output(project, id, number).await?;
    // Files that cannot be compared, such as those of a removed work tree, do not hide the rest of the page.
    let by_iteration = diff_iteration(project, id, number).await.ok().flatten();
    let is_of_iteration = by_iteration.is_some();
    let changed = match by_iteration {
        Some(changed) => changed,
        None => diff_run(project, Some(id), DiffDetail::FileList).await.map(|diff| diff.text).unwrap_or_default(),
    };
    let title = format!("Iteration {number} of {}", run_title(view.row()));
    let api = format!("/api/runs/{}/iterations/{number}", path_segment(id));
    let heading = PageHeading { title: &title, nav: NavPage::Runs, api };
    let state = crate::pages::frame::ProjectState::load(context).await?;
    let exists = |number: i64| view.iterations().iter().any(|other| other.number == number).then_some(number);
    let headline = why.as_ref().map_or_else(|| iteration_reason(iteration), |why| &why.explained.headline);
    Ok(IterationPage {
        title: DisplayText::first_line(&title, 160),
        headline: DisplayText::new(headline),
        short: DisplayText::new(short_id(id)),
        number,
        run_href: format!("/runs/{}", path_segment(id)),
        previous: exists(iteration.number - 1),
        next: exists(iteration.number + 1),
        mark: iteration_mark(iteration),
        claim: match iteration.claimed {
            Some(true) => "The agent claimed to be done.",
            Some(false) => "The agent did not claim to be done.",
            None => "",
        },
        took: iteration.duration_ms.map(format_elapsed).unwrap_or_default(),
        cost: short_cost(iteration.cost_micros),
        tokens: format_tokens(iteration.input_tokens, iteration.output_tokens).unwrap_or_default(),
        attempts: view.attempts_of(iteration.number).map(AttemptLine::new).collect(),
        evidence: why.iter().flat_map(|why| &why.explained.evidence).map(|line| DisplayText::new(&line.text)).collect(),
        prompt_problem: prompt.as_ref().err().map(|error| DisplayText::new(error.to_string())),
        prompt: prompt.map(|prompt| list_prompt_parts(&prompt.text)).unwrap_or_default(),
        skipped_output: output.skipped,
        output: output.entries.iter().map(OutputPart::new).collect(),
        checks: view.checks_of(iteration.number).map(|check| CheckPanel::new(context, id, check)).collect(),
        changed_files: DisplayText::new(changed.trim_end()),
        is_of_iteration,
        frame: PageFrame::new(request, &state, heading),
    })
}

fn list_prompt_parts(prompt: &str) -> Vec<PromptPart> {
    let class = |author: PromptAuthor| match author {
        PromptAuthor::Task | PromptAuthor::Ralph => "",
        PromptAuthor::Notes => "agent",
        PromptAuthor::Checks => "checks",
        PromptAuthor::Person => "person",
    };
    let part = |section: ralph_core::prompt::prompt_sections::PromptSection| PromptPart {
        author: section.author.label(),
        class: class(section.author),
        text: DisplayText::new(section.text.trim_matches('\n')),
    };
    split_prompt(prompt).into_iter().map(part).collect()
}

impl AttemptLine {
    fn new(attempt: &ralph_store::AttemptRow) -> Self {
        Self {
            number: attempt.number,
            mark: StatusMark::new(&attempt.status),
            model: attempt.model.as_deref().map(DisplayText::new).unwrap_or_default(),
            failure: attempt.failure.as_deref().map(DisplayText::new).unwrap_or_default(),
        }
    }
}

impl OutputPart {
    fn new(entry: &OutputEntry) -> Self {
        match entry {
            OutputEntry::Text(text) => Self::Text(DisplayText::new(text.trim())),
            OutputEntry::Thinking(text) => Self::Thinking(DisplayText::new(text.trim())),
            OutputEntry::ToolCall { name, detail, result } => Self::Tool {
                name: name.into(),
                detail: DisplayText::first_line(detail, 200),
                mark: match result {
                    Some(result) if result.ok => StatusMark::with_word("accepted", "ok"),
                    Some(_) => StatusMark::new("failed"),
                    None => StatusMark::with_word("pending", "no result"),
                },
                excerpt: result.as_ref().map(|result| DisplayText::new(&result.excerpt)).unwrap_or_default(),
            },
            OutputEntry::Denied(action) => Self::Failure(DisplayText::new(format!("not allowed: {action}"))),
            OutputEntry::Failure(message) => Self::Failure(message.into()),
            OutputEntry::Attempt(number) => Self::Attempt(*number),
        }
    }
}

impl CheckPanel {
    fn new(context: &ServerContext, run: &str, check: &CheckRow) -> Self {
        let output = read_check_log(&context.project, run, check, MAX_CHECK_OUTPUT_BYTES);
        let tries = (check.tries > 1).then(|| format!("run {} times", check.tries));
        let cached = check.cached.then(|| "cached: nothing has changed since the last check".to_owned());
        let optional = (!check.required).then(|| "optional".to_owned());
        Self {
            depth: check.outline_number.matches('.').count(),
            name: DisplayText::new(check_name(check)),
            command: DisplayText::new(&check.command),
            method: DisplayText::new(&check.method),
            mark: StatusMark::new(&check.verdict),
            reason: DisplayText::new(&check.reason),
            took: format_elapsed(check.duration_ms),
            notes: [tries, cached, optional].into_iter().flatten().collect(),
            skipped_bytes: output.as_ref().map_or(0, |log| log.skipped_bytes),
            output: output.map(|log| DisplayText::new(log.text.trim_end())).unwrap_or_default(),
            is_open: check.verdict != "accepted",
        }
    }
}
