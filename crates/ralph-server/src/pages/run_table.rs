//! A run as a row of a table.
use ralph_app::run::ListedRun;
use ralph_app::view::{format_elapsed, run_title, short_id};
use ralph_core::outcome::{Outcome, exit_code};
use ralph_store::RunRow;

use super::display::{DisplayText, DisplayTime, StatusMark, path_segment, short_cost};

const MAX_TITLE_CHARS: usize = 140;
const MAX_REASON_CHARS: usize = 220;

pub(super) struct RunLine {
    pub(super) href: String,
    pub(super) short_id: DisplayText,
    pub(super) status: StatusMark,
    /// The task and role, or the kind.
    pub(super) subject: DisplayText,
    pub(super) title: DisplayText,
    pub(super) reason: DisplayText,
    pub(super) iterations: i64,
    pub(super) max_iterations: i64,
    pub(super) agent: DisplayText,
    pub(super) cost: String,
    pub(super) proof: Option<StatusMark>,
    pub(super) started: DisplayTime,
    pub(super) took: String,
}

impl RunLine {
    /// A run that has not ended shows what it does now.
    pub(super) fn from_listed(listed: &ListedRun) -> Self {
        let line = Self::new(&listed.run);
        match &listed.activity {
            Some(activity) => Self { status: StatusMark::new(activity.status_word()), ..line },
            None => line,
        }
    }

    pub(super) fn new(run: &RunRow) -> Self {
        let subject = match (&run.task, &run.role) {
            (Some(task), Some(role)) => format!("{task} · {role}"),
            (_, _) => run.kind.clone(),
        };
        Self {
            href: format!("/runs/{}", path_segment(&run.id)),
            short_id: DisplayText::new(short_id(&run.id)),
            status: status_of_run(run),
            subject: DisplayText::new(subject),
            title: DisplayText::first_line(run_title(run), MAX_TITLE_CHARS),
            reason: DisplayText::first_line(run.reason.as_deref().unwrap_or_default(), MAX_REASON_CHARS),
            iterations: run.iterations,
            max_iterations: run.max_iterations,
            agent: DisplayText::new(&run.agent),
            cost: short_cost(run.cost_micros),
            proof: run.proof.as_deref().map(StatusMark::new),
            started: DisplayTime::new(run.started_at),
            took: run.ended_at.map(|ended| format_elapsed(ended - run.started_at)).unwrap_or_default(),
        }
    }
}

/// Returns the status of a run. A judging role that sends the work back has done its job: nothing waits for a person.
pub(super) fn status_of_run(run: &RunRow) -> StatusMark {
    let is_sent_back =
        run.status == Outcome::Blocked.as_str() && run.exit_code == Some(i64::from(exit_code::NOT_COMPLETE));
    if is_sent_back { StatusMark::with_word("skipped", "sent back") } else { StatusMark::new(&run.status) }
}
