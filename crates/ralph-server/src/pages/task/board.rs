//! The board: the inbox first, then a lane for each status of tasks.
use askama::Template;
use ralph_app::error::AppError;
use ralph_app::tasks::{ListedTask, TaskListFilter, list_tasks};
use ralph_app::view::is_task_ready;
use ralph_core::task::{Approval, TaskStatus};

use crate::driver::TaskDeferrals;
use crate::pages::controls::capitalize;
use crate::pages::display::{DisplayText, DisplayTime, StatusMark, path_segment};
use crate::pages::frame::{NavPage, PageError, PageFrame, PageHeading, PageRequest, PageResult, ProjectState, render};
use crate::pages::home::{InboxEntry, RunningLoop, running_loops};

/// A lane shows at most this many cards, and links to the rest.
const MAX_CARDS: usize = 30;
const MAX_NOTE_CHARS: usize = 160;

/// A task on the board.
struct TaskCard {
    href: String,
    id: DisplayText,
    title: DisplayText,
    /// `Coder (3/15)`; empty before the first run.
    stage: DisplayText,
    mark: Option<StatusMark>,
    note: DisplayText,
    proof: Option<StatusMark>,
    since: DisplayTime,
}

struct Lane {
    id: &'static str,
    title: &'static str,
    total: usize,
    cards: Vec<TaskCard>,
    more_href: Option<String>,
}

#[derive(Template)]
#[template(path = "board.html")]
struct BoardPage {
    frame: PageFrame,
    inbox: Vec<InboxEntry>,
    slots: Vec<RunningLoop>,
    lanes: Vec<Lane>,
}

/// The lanes, in the order of the stages.
const LANES: [(&str, &str, &[TaskStatus]); 6] = [
    ("todo", "To do", &[TaskStatus::Todo]),
    ("coding", "Coding", &[TaskStatus::Coding]),
    ("reviewing", "Reviewing", &[TaskStatus::Reviewing]),
    ("testing", "Testing and QA", &[TaskStatus::Testing, TaskStatus::Qa]),
    ("blocked", "Blocked", &[TaskStatus::Blocked]),
    ("done", "Done", &[TaskStatus::Done]),
];

pub(in crate::pages) async fn show_board(request: PageRequest) -> PageResult {
    let page = load_board(&request).await.map_err(|error| PageError::from_app_error(&request.context, &error))?;
    Ok(render(&page))
}

async fn load_board(request: &PageRequest) -> Result<BoardPage, AppError> {
    let context = &request.context;
    let state = ProjectState::load(context).await?;
    let tasks = list_tasks(&context.project, &TaskListFilter::default()).await?.tasks;
    let heading = PageHeading { title: "Board", nav: NavPage::Board, api: "/api/tasks".to_owned() };
    Ok(BoardPage {
        inbox: state.inbox.iter().map(|item| InboxEntry::new(context, item)).collect(),
        slots: running_loops(context, &state),
        lanes: LANES
            .iter()
            .map(|(id, title, statuses)| {
                Lane::new((id, title), statuses, &tasks).with_deferrals(context.driver.deferrals())
            })
            .collect(),
        frame: PageFrame::new(request, &state, heading),
    })
}

impl Lane {
    fn new((id, title): (&'static str, &'static str), statuses: &[TaskStatus], tasks: &[ListedTask]) -> Self {
        let mut found: Vec<&ListedTask> = tasks.iter().filter(|task| statuses.contains(&task.item.status)).collect();
        if statuses.contains(&TaskStatus::Done) {
            found.sort_by_key(|task| std::cmp::Reverse(task.item.updated_at));
        }
        let more = found.len() > MAX_CARDS;
        let cards = found.iter().take(MAX_CARDS).map(|task| TaskCard::new(task)).collect();
        Self { id, title, total: found.len(), cards, more_href: more.then(|| format!("/tasks?status={id}")) }
    }

    /// Says on the cards why the worker could not start their tasks.
    fn with_deferrals(mut self, deferrals: &TaskDeferrals) -> Self {
        // A finished task was started by another process.
        let cards = self.cards.iter_mut().filter(|_| self.id != "done");
        for card in cards {
            if let Some(deferred) = deferrals.find(card.id.as_str()) {
                card.note = DisplayText::first_line(format!("not started: {}", deferred.reason), MAX_NOTE_CHARS);
            }
        }
        self
    }
}

impl TaskCard {
    fn new(task: &ListedTask) -> Self {
        let item = &task.item;
        let run = item.run.as_ref().filter(|_| item.status != TaskStatus::Done);
        let blockers = task.blockers();
        let note = match (item.status, item.approval) {
            (TaskStatus::Todo, Approval::Pending) => "waits for the approval of its checks".to_owned(),
            (TaskStatus::Todo, _) if is_task_ready(item, &blockers) => "ready".to_owned(),
            (TaskStatus::Todo, _) => format!("waits for {}", blockers.join(", ")),
            (_, _) => String::new(),
        };
        Self {
            href: format!("/tasks/{}", path_segment(&item.id)),
            id: DisplayText::new(&item.id),
            title: DisplayText::first_line(&item.title, 120),
            stage: run
                .map(|run| format!("{} ({}/{})", capitalize(&run.role), run.iterations.max(1), run.max_iterations))
                .map(DisplayText::from)
                .unwrap_or_default(),
            mark: run.map(|run| StatusMark::new(&run.status)),
            note: note.into(),
            proof: item.proof.as_deref().filter(|_| item.status == TaskStatus::Done).map(StatusMark::new),
            since: DisplayTime::new(item.updated_at),
        }
    }
}
