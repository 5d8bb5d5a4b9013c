//! The iterations of a run as cells, and its criteria with the verdict of every iteration.
use ralph_app::view::{RunView, format_elapsed};
use ralph_store::{CheckRow, IterationRow};

use crate::pages::display::{DisplayText, StatusMark, path_segment, short_cost};

/// One iteration.
pub(in crate::pages) struct IterationCell {
    pub(in crate::pages) href: String,
    pub(in crate::pages) number: i64,
    pub(in crate::pages) status: StatusMark,
    /// `claimed`, `no claim`, or nothing while it runs.
    pub(in crate::pages) claim: &'static str,
    pub(in crate::pages) reason: DisplayText,
    pub(in crate::pages) took: String,
    pub(in crate::pages) cost: String,
    pub(in crate::pages) attempts: i64,
}

impl IterationCell {
    pub(in crate::pages) fn list(view: &RunView) -> Vec<Self> {
        view.iterations().iter().map(|iteration| Self::new(view, iteration)).collect()
    }

    fn new(view: &RunView, iteration: &IterationRow) -> Self {
        Self {
            href: format!("/runs/{}/iterations/{}", path_segment(view.id()), iteration.number),
            number: iteration.number,
            status: iteration_mark(iteration),
            claim: match iteration.claimed {
                Some(true) => "claimed done",
                Some(false) => "no claim",
                None => "",
            },
            reason: DisplayText::first_line(iteration_reason(iteration), 90),
            took: iteration.duration_ms.map(format_elapsed).unwrap_or_default(),
            cost: iteration.cost_micros.map_or_else(String::new, |micros| short_cost(Some(micros))),
            attempts: iteration.attempts,
        }
    }
}

/// Returns the verdict on the claim of an iteration, else how it ended.
pub(in crate::pages) fn iteration_mark(iteration: &IterationRow) -> StatusMark {
    match (&iteration.verdict, iteration.status.as_str()) {
        (Some(verdict), _) => StatusMark::new(verdict),
        (None, "finished") => StatusMark::with_word("pending", "no verdict"),
        (None, status) => StatusMark::new(status),
    }
}

pub(in crate::pages) fn iteration_reason(iteration: &IterationRow) -> &str {
    iteration.verdict_reason.as_deref().or(iteration.claim_reason.as_deref()).unwrap_or_default()
}

/// A criterion with its verdict in every iteration of a run.
pub(in crate::pages) struct CriterionRow {
    pub(in crate::pages) name: DisplayText,
    pub(in crate::pages) cells: Vec<VerdictCell>,
    /// The reason of the last verdict.
    pub(in crate::pages) last_reason: DisplayText,
}

pub(in crate::pages) struct VerdictCell {
    pub(in crate::pages) glyph: &'static str,
    pub(in crate::pages) class: &'static str,
    pub(in crate::pages) word: DisplayText,
    pub(in crate::pages) href: String,
}

impl CriterionRow {
    pub(in crate::pages) fn list(view: &RunView) -> Vec<Self> {
        let numbers: Vec<i64> = view.iterations().iter().map(|iteration| iteration.number).collect();
        let mut outline: Vec<&CheckRow> = Vec::new();
        for check in numbers.iter().flat_map(|number| view.checks_of(*number)) {
            let is_known = outline.iter().any(|known| is_same_criterion(known, check));
            if !is_known {
                outline.push(check);
            }
        }
        outline.into_iter().map(|check| Self::new(view, &numbers, check)).collect()
    }

    fn new(view: &RunView, numbers: &[i64], criterion: &CheckRow) -> Self {
        let find = |number: i64| view.checks_of(number).find(|check| is_same_criterion(check, criterion));
        let last = numbers.iter().rev().find_map(|number| find(*number)).unwrap_or(criterion);
        let cell = |number: &i64| VerdictCell::new(view.id(), *number, find(*number));
        Self {
            name: DisplayText::new(check_name(criterion)),
            cells: numbers.iter().map(cell).collect(),
            last_reason: DisplayText::first_line(&last.reason, 120),
        }
    }
}

fn is_same_criterion(one: &CheckRow, other: &CheckRow) -> bool {
    one.outline_number == other.outline_number && one.command == other.command
}

pub(in crate::pages) fn check_name(check: &CheckRow) -> &str {
    check.name.as_deref().unwrap_or(&check.command)
}

impl VerdictCell {
    fn new(run: &str, iteration: i64, check: Option<&CheckRow>) -> Self {
        let href = format!("/runs/{}/iterations/{iteration}#checks", path_segment(run));
        match check {
            None => Self { glyph: "·", class: "", word: "not checked".into(), href },
            Some(check) if check.verdict == "could_not_evaluate" => {
                Self { glyph: "?", class: "warn", word: "could not be evaluated".into(), href }
            }
            Some(check) => {
                let mark = StatusMark::new(&check.verdict);
                Self { glyph: mark.glyph, class: mark.class, word: mark.word, href }
            }
        }
    }
}
