//! The commands and workflow files of the project, exactly as they are, and the approval of what is shown.
use askama::Template;
use ralph_app::error::AppError;
use ralph_app::review::CommandReview;

use super::controls::Controls;
use super::display::{DisplayText, StatusMark};
use super::frame::{NavPage, PageError, PageFrame, PageHeading, PageRequest, PageResult, render};

#[derive(Template)]
#[template(path = "commands.html")]
struct CommandsPage {
    frame: PageFrame,
    status: StatusMark,
    is_empty: bool,
    text: DisplayText,
    controls: Controls,
}

pub(super) async fn show_commands(request: PageRequest) -> PageResult {
    let to_page_error = |error: AppError| PageError::from_app_error(&request.context, &error);
    let review = CommandReview::load(&request.context.project, &request.context.config).map_err(to_page_error)?;
    let heading =
        PageHeading { title: "Commands of this project", nav: NavPage::Home, api: "/api/commands".to_owned() };
    Ok(render(&CommandsPage {
        frame: PageFrame::load(&request, heading).await?,
        status: match review.is_approved {
            true => StatusMark::with_word("accepted", "approved"),
            false => StatusMark::with_word("waiting", "not approved"),
        },
        is_empty: review.is_empty(),
        controls: match review.is_approved {
            true => Controls::default(),
            false => Controls::for_shown_commands(&review.shown.digest),
        },
        text: DisplayText::new(&review.shown.text),
    }))
}
