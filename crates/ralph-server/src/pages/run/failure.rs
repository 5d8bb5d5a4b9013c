//! The summary at the top of a run: which rule decided, the first failing evidence, and how to repeat it.
use ralph_app::overview::read_check_log;
use ralph_app::view::{RunView, run_title};
use ralph_app::why::ExplanationView;
use ralph_engine::project::Project;
use ralph_store::CheckRow;

use super::cells::check_name;
use crate::pages::display::DisplayText;

/// How much of the output of the failing check is shown.
const MAX_EVIDENCE_BYTES: u64 = 6_000;

/// Why a run ended as it did, or what could end it.
pub(in crate::pages) struct DecisionSummary {
    pub(in crate::pages) class: &'static str,
    pub(in crate::pages) rule: DisplayText,
    pub(in crate::pages) sentence: &'static str,
    pub(in crate::pages) evidence: Vec<DisplayText>,
    pub(in crate::pages) numbers: Vec<DisplayText>,
    pub(in crate::pages) not_applied: Vec<DisplayText>,
    pub(in crate::pages) failing: Option<FailingCheck>,
    /// Everything above as text, for an agent.
    pub(in crate::pages) for_agent: DisplayText,
}

/// The first check that rejected the last claim.
pub(in crate::pages) struct FailingCheck {
    pub(in crate::pages) iteration: i64,
    pub(in crate::pages) name: DisplayText,
    pub(in crate::pages) reason: DisplayText,
    /// `None` if the check is not a command.
    pub(in crate::pages) reproduce: Option<DisplayText>,
    pub(in crate::pages) output: DisplayText,
}

impl DecisionSummary {
    pub(in crate::pages) fn new(project: &Project, view: &RunView, why: &ExplanationView) -> Self {
        let explained = &why.explained;
        let evidence = explained.evidence.iter().map(|line| DisplayText::new(&line.text)).collect();
        let failing = view.first_failing_check().map(|check| FailingCheck::new(project, view, check));
        let class = match view.row().status.as_str() {
            "running" => "open",
            "completed" => "good",
            _ => "",
        };
        let mut summary = Self {
            class,
            rule: DisplayText::new(explained.rule.label()),
            sentence: explained.rule.sentence(),
            evidence,
            numbers: explained.numbers.iter().map(|number| DisplayText::new(number.text())).collect(),
            not_applied: explained.not_applied.iter().map(|rule| DisplayText::new(rule.text())).collect(),
            failing: failing.filter(|_| class != "good"),
            for_agent: DisplayText::default(),
        };
        summary.for_agent = DisplayText::new(summary.text_for_agent(view));
        summary
    }

    fn text_for_agent(&self, view: &RunView) -> String {
        let mut text = format!("Task: {}\nResult: {}\n", run_title(view.row()), view.headline());
        text.push_str(&format!("Rule: {}: {}\n", self.rule, self.sentence));
        for line in &self.evidence {
            text.push_str(&format!("Evidence: {line}\n"));
        }
        if let Some(failing) = &self.failing {
            text.push_str(&format!("Failing check: {}: {}\n", failing.name, failing.reason));
            if let Some(reproduce) = &failing.reproduce {
                text.push_str(&format!("Reproduce: {reproduce}\n"));
            }
            text.push_str(&format!("Output:\n{}\n", failing.output));
        }
        text
    }
}

impl FailingCheck {
    fn new(project: &Project, view: &RunView, check: &CheckRow) -> Self {
        let output = read_check_log(project, view.id(), check, MAX_EVIDENCE_BYTES);
        Self {
            iteration: check.iteration,
            name: DisplayText::new(check_name(check)),
            reason: DisplayText::new(&check.reason),
            reproduce: (check.method == "external").then(|| DisplayText::new(&check.command)),
            output: output.map(|log| DisplayText::new(log.text.trim_end())).unwrap_or_default(),
        }
    }
}
