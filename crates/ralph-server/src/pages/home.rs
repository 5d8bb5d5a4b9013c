//! The home page: what waits for a person, what runs, what ended since yesterday evening, and what it cost.
use askama::Template;
use ralph_app::error::AppError;
use ralph_app::inbox::{InboxAnswer, InboxItem};
use ralph_app::overview::{cost_limit_of_run, last_output_at};
use ralph_app::plan::WorkCostLimit;
use ralph_app::run::{RunPageRequest, load_run_page};
use ralph_app::view::{ActiveWork, LoopView, run_title, short_id};
use ralph_app::workflow_runs::list_workflow_runs;
use ralph_core::outcome::Outcome;
use ralph_engine::run_driver::Clock;
use ralph_store::{RunRow, WorkflowRunRow};

use super::controls::{Controls, capitalize};
use super::display::{DisplayText, DisplayTime, StatusMark, path_segment, short_cost, without_status};
use super::frame::{NavPage, PageError, PageFrame, PageHeading, PageRequest, PageResult, ProjectState, render};
use super::run_table::RunLine;
use super::shown_decision::load_entries;
use crate::context::ServerContext;

/// How far back the table of ended runs goes: from the evening to the morning.
const RECENT_END_MS: i64 = 18 * 3_600_000;
/// How many of the newest runs are searched for those that ended recently.
const RECENT_RUN_WINDOW: u32 = 100;
const MAX_TITLE_CHARS: usize = 120;
/// How many items of the inbox are open; the others are folded.
const OPEN_INBOX_ITEMS: usize = 8;

#[derive(Template)]
#[template(path = "home.html")]
struct HomePage {
    frame: PageFrame,
    inbox: Vec<InboxEntry>,
    running: Vec<RunningLoop>,
    workflows: Vec<RunningWorkflow>,
    /// Runs that ended without success.
    ended: Vec<RunLine>,
    completed: Vec<RunLine>,
    ended_workflows: Vec<RunningWorkflow>,
    spending: SpendingPanel,
}

impl HomePage {
    fn first_items(&self) -> &[InboxEntry] {
        self.inbox.get(..OPEN_INBOX_ITEMS).unwrap_or(&self.inbox)
    }

    fn other_items(&self) -> &[InboxEntry] {
        self.inbox.get(OPEN_INBOX_ITEMS..).unwrap_or_default()
    }
}

/// An item of the inbox.
pub(super) struct InboxEntry {
    pub(super) kind: String,
    pub(super) id: DisplayText,
    pub(super) title: DisplayText,
    pub(super) reason: DisplayText,
    pub(super) href: String,
    pub(super) since: Option<DisplayTime>,
    pub(super) notes: Vec<String>,
    pub(super) commands: Vec<DisplayText>,
    /// The text that the controls decide on; empty if there is none.
    pub(super) text: DisplayText,
    pub(super) controls: Controls,
}

impl InboxEntry {
    pub(super) fn new(context: &ServerContext, item: &InboxItem) -> Self {
        let is_workflow = matches!(item.answer, InboxAnswer::AnswerWorkflow { .. });
        let href = match (&item.task, &item.run) {
            (_, Some(run)) if is_workflow => format!("/workflow-runs/{}", path_segment(run)),
            (_, Some(run)) => format!("/runs/{}", path_segment(run)),
            (Some(task), None) => format!("/tasks/{}", path_segment(task)),
            (None, None) => "/commands".to_owned(),
        };
        let holds = item.holds_slot.then(|| "holds a slot".to_owned());
        let blocks = (item.blocked_tasks > 0).then(|| match item.blocked_tasks {
            1 => "blocks 1 task".to_owned(),
            count => format!("blocks {count} tasks"),
        });
        Self {
            kind: item.kind.label(),
            id: DisplayText::new(&item.id),
            title: DisplayText::first_line(&item.title, MAX_TITLE_CHARS),
            reason: DisplayText::new(without_status(&item.reason)),
            href,
            since: item.since.map(|since| DisplayTime::new(since.0)),
            notes: holds.into_iter().chain(blocks).collect(),
            commands: (context.words.inbox_commands)(&item.answer).into_iter().map(DisplayText::from).collect(),
            text: DisplayText::default(),
            controls: Controls::for_answer(&item.answer),
        }
    }
}

/// A loop that has not ended.
pub(super) struct RunningLoop {
    pub(super) href: String,
    /// `Coder (3/15)`.
    pub(super) position: DisplayText,
    pub(super) id: DisplayText,
    pub(super) title: DisplayText,
    pub(super) agent: DisplayText,
    pub(super) status: StatusMark,
    pub(super) detail: Option<DisplayText>,
    pub(super) started: DisplayTime,
    pub(super) last_output: Option<DisplayTime>,
    pub(super) cost: String,
    pub(super) limit: Option<LimitBar>,
    pub(super) controls: Controls,
}

/// How much of a limit is used.
pub(super) struct LimitBar {
    pub(super) percent: u64,
    pub(super) text: String,
}

impl LimitBar {
    fn new(used_micros: i64, limit_micros: u64) -> Self {
        let used = u64::try_from(used_micros).unwrap_or(0);
        let limit = short_cost(i64::try_from(limit_micros).ok());
        Self { percent: used.saturating_mul(100) / limit_micros.max(1), text: format!("of {limit}") }
    }
}

impl RunningLoop {
    pub(super) fn new(context: &ServerContext, view: &LoopView) -> Self {
        let run = view.run();
        let limit = cost_limit_of_run(run);
        Self {
            href: format!("/runs/{}", path_segment(&run.id)),
            position: DisplayText::new(stage_text(run)),
            id: DisplayText::new(run.task.as_deref().unwrap_or_else(|| short_id(&run.id))),
            title: DisplayText::first_line(run_title(run), MAX_TITLE_CHARS),
            agent: DisplayText::new(&run.agent),
            status: StatusMark::new(view.status_word()),
            detail: view.detail_line(&context.words.remedy).map(DisplayText::from),
            started: DisplayTime::new(run.started_at),
            last_output: last_output_at(&context.project, &run.id).map(DisplayTime::new),
            cost: short_cost(run.cost_micros),
            limit: limit.map(|limit| LimitBar::new(run.cost_micros.unwrap_or(0), limit)),
            controls: Controls::for_active_run(&run.id, view.status_word()),
        }
    }
}

/// Returns the stage and the iteration, as cards show them: `Coder (3/15)`.
pub(super) fn stage_text(run: &RunRow) -> String {
    let role = capitalize(run.role.as_deref().unwrap_or(&run.kind));
    format!("{role} ({}/{})", run.iterations.max(1), run.max_iterations)
}

/// Returns the name and the position of a run in a few words.
pub(super) fn position_text(run: &RunRow) -> String {
    format!("{} {}", run.task.as_deref().unwrap_or_else(|| short_id(&run.id)), stage_text(run))
}

/// A workflow run in a list.
pub(super) struct RunningWorkflow {
    pub(super) href: String,
    pub(super) workflow: DisplayText,
    pub(super) message: DisplayText,
    pub(super) status: StatusMark,
    pub(super) reason: DisplayText,
    pub(super) started: DisplayTime,
}

impl RunningWorkflow {
    pub(super) fn new(run: &WorkflowRunRow) -> Self {
        Self {
            href: format!("/workflow-runs/{}", path_segment(&run.id)),
            workflow: DisplayText::new(&run.workflow),
            message: DisplayText::first_line(&run.message, MAX_TITLE_CHARS),
            status: StatusMark::new(&run.status),
            reason: DisplayText::first_line(run.reason.as_deref().unwrap_or_default(), 200),
            started: DisplayTime::new(run.started_at),
        }
    }
}

/// The panel with the spending.
struct SpendingPanel {
    rows: Vec<SpendingRow>,
    limits: Vec<String>,
}

struct SpendingRow {
    period: &'static str,
    cost: String,
    runs: u64,
    unpriced: u64,
    rejected: u64,
}

impl SpendingPanel {
    fn new(state: &ProjectState) -> Self {
        let row = |period, summary: &ralph_core::stats::RunStatsSummary| SpendingRow {
            period,
            cost: match (summary.totals.spent.cost_micros, summary.totals.runs) {
                (None, 0) => "$0.00".to_owned(),
                (micros, _) => short_cost(micros.and_then(|micros| i64::try_from(micros).ok())),
            },
            runs: summary.totals.runs,
            unpriced: summary.totals.unpriced_runs,
            rejected: summary.totals.rejected_claims,
        };
        let dollars = |micros: u64| short_cost(i64::try_from(micros).ok());
        let limits = match &state.spending.limit {
            WorkCostLimit::Unlimited => Vec::new(),
            WorkCostLimit::AllTasks { max_cost_micros } => vec![format!("{} for all tasks", dollars(*max_cost_micros))],
            WorkCostLimit::PerScope(limits) => {
                limits.iter().map(|limit| format!("{} per {}", dollars(limit.max_cost_micros), limit.scope)).collect()
            }
        };
        Self { rows: vec![row("Today", &state.spending.today), row("Last 7 days", &state.spending.week)], limits }
    }
}

pub(super) async fn show_home(request: PageRequest) -> PageResult {
    let page = load_home(&request).await.map_err(|error| PageError::from_app_error(&request.context, &error))?;
    Ok(render(&page))
}

async fn load_home(request: &PageRequest) -> Result<HomePage, AppError> {
    let context = &request.context;
    let state = ProjectState::load(context).await?;
    let newest = RunPageRequest { limit: RECENT_RUN_WINDOW, ..RunPageRequest::default() };
    let newest = load_run_page(&context.project, &newest).await?.runs;
    let since = Clock::wall_now().0 - RECENT_END_MS;
    let ended = newest.iter().map(|listed| &listed.run).filter(|run| run.ended_at.is_some_and(|at| at >= since));
    let (completed, ended): (Vec<&RunRow>, Vec<&RunRow>) =
        ended.partition(|run| run.status == Outcome::Completed.as_str());
    let newest_workflows = list_workflow_runs(&context.project, RECENT_RUN_WINDOW).await?;
    let ended_workflows = newest_workflows.iter().filter(|run| run.ended_at.is_some_and(|at| at >= since));
    let heading = PageHeading { title: "Home", nav: NavPage::Home, api: "/api/inbox".to_owned() };
    let (first, others) = state.inbox.split_at(state.inbox.len().min(OPEN_INBOX_ITEMS));
    let mut inbox = load_entries(context, first).await;
    inbox.extend(others.iter().map(|item| InboxEntry::new(context, item)));
    Ok(HomePage {
        inbox,
        running: running_loops(context, &state),
        workflows: state.workflows.iter().filter(|run| run.parent.is_none()).map(RunningWorkflow::new).collect(),
        ended: ended.into_iter().map(RunLine::new).collect(),
        completed: completed.into_iter().map(RunLine::new).collect(),
        ended_workflows: ended_workflows.filter(|run| run.parent.is_none()).map(RunningWorkflow::new).collect(),
        spending: SpendingPanel::new(&state),
        frame: PageFrame::new(request, &state, heading),
    })
}

/// Returns the loops that have not ended.
pub(super) fn running_loops(context: &ServerContext, state: &ProjectState) -> Vec<RunningLoop> {
    let view = |work: &ActiveWork| match work {
        ActiveWork::Loop(view) => Some(RunningLoop::new(context, view)),
        ActiveWork::SettingUp(_) | ActiveWork::Worker(_) => None,
    };
    state.work.iter().filter_map(view).collect()
}

#[cfg(test)]
mod tests {
    use ralph_app::inbox::InboxKind;

    use super::*;

    const HOSTILE: &str = "<img src=x onerror=alert(1)></script>\u{1b}]0;title\u{7}";

    fn sample_run(title: &str) -> RunRow {
        RunRow {
            id: "01a1f565-0000".to_owned(),
            kind: "stage".to_owned(),
            task: Some("T-1".to_owned()),
            role: Some("coder".to_owned()),
            status: "exhausted".to_owned(),
            reason: Some(title.to_owned()),
            exit_code: Some(3),
            agent: "demo".to_owned(),
            promise: "DONE".to_owned(),
            max_iterations: 15,
            first_max_iterations: 15,
            iterations: 3,
            started_at: 0,
            ended_at: Some(60_000),
            input_tokens: None,
            output_tokens: None,
            cost_micros: None,
            proof: None,
            accepted_by: None,
            settings: serde_json::json!({ "prompt_title": title }).to_string(),
        }
    }

    fn sample_item(title: &str) -> InboxItem {
        InboxItem {
            kind: InboxKind::Exhausted,
            id: "T-1".to_owned(),
            task: Some("T-1".to_owned()),
            run: Some("01a1f565-0000".to_owned()),
            title: title.to_owned(),
            reason: format!("exhausted: {title}"),
            since: None,
            holds_slot: false,
            blocked_tasks: 2,
            answer: InboxAnswer::RetryTask { task: "T-1".to_owned() },
        }
    }

    fn sample_entry(item: &InboxItem) -> InboxEntry {
        InboxEntry {
            kind: item.kind.label(),
            id: DisplayText::new(&item.id),
            title: DisplayText::first_line(&item.title, MAX_TITLE_CHARS),
            reason: DisplayText::new(without_status(&item.reason)),
            href: "/tasks/T-1".to_owned(),
            since: None,
            notes: vec!["blocks 2 tasks".to_owned()],
            commands: vec!["ralph retry T-1".into()],
            text: DisplayText::default(),
            controls: Controls::for_answer(&item.answer),
        }
    }

    fn render_home(csrf: &str, title: &str) -> String {
        let page = HomePage {
            frame: PageFrame::sample(csrf),
            inbox: vec![sample_entry(&sample_item(title))],
            running: Vec::new(),
            workflows: Vec::new(),
            ended: vec![RunLine::new(&sample_run(title))],
            completed: Vec::new(),
            ended_workflows: Vec::new(),
            spending: SpendingPanel { rows: Vec::new(), limits: vec!["$5.00 per task".to_owned()] },
        };
        page.render().unwrap()
    }

    // spec: U5
    #[test]
    fn a_card_names_the_stage_and_its_iteration() {
        assert_eq!(stage_text(&sample_run("x")), "Coder (3/15)");
        assert_eq!(position_text(&sample_run("x")), "T-1 Coder (3/15)");
    }

    // spec: U5, U10
    #[test]
    fn the_home_page_shows_the_inbox_and_what_ended() {
        insta::assert_snapshot!(render_home("secret", "Add a login page"));
    }

    // spec: X2
    #[test]
    fn a_reader_without_a_session_gets_no_buttons() {
        let html = render_home("", "Add a login page");
        assert_eq!(html.matches("data-post").count(), 0);
        assert_eq!(html.matches("ralph serve --print-url").count(), 1);
    }

    // fault: 49, 107
    #[test]
    fn markup_and_control_characters_of_titles_have_no_effect() {
        let html = render_home("secret", HOSTILE);
        assert_eq!(html.matches("<img").count() + html.matches("onerror=alert(1)></script>").count(), 0);
        assert_eq!(html.matches("&#60;img src=x onerror=alert(1)&#62;&#60;/script&#62;").count(), 4);
        assert_eq!(html.matches(['\u{1b}', '\u{7}']).count(), 0);
    }

    // spec: X2
    #[test]
    fn no_page_has_inline_scripts_or_styles() {
        let html = render_home("secret", "x");
        assert_eq!(html.matches("<script").count(), 1);
        assert_eq!(
            html.matches("style=").count() + html.matches("<style").count() + html.matches(" onclick").count(),
            0
        );
    }
}
