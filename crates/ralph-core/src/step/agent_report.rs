//! The reports that the agent of the run makes with a tool of ralph while it works. A signal waits until the attempt has ended; see
//! `claim::tool_signal` for whether it counts.
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;

use super::transitions::record_fact;
use super::{LoopContext, StepResult};
use crate::attempt::AttemptReport;
use crate::claim::{ToolSignal, WaitRequest, WaitTime};
use crate::control_command::AgentReport;
use crate::fact::{Fact, ReportKind};
use crate::loop_state::{AttemptSignal, IterationState, LoopPhase};
use crate::text::{format_duration_ms, text_head};

/// How many reports of an iteration are recorded. An agent that reports without end does not fill the journal.
const MAX_REPORTS: u32 = 200;
/// Signals are recorded up to here, so that an agent with too much to tell can still say that it is done.
const MAX_REPORTS_WITH_SIGNALS: u32 = MAX_REPORTS + 20;

/// How much of the text of a report is kept.
const MAX_WORDS_BYTES: usize = 2_000;

/// Records a report of the agent that works now. At any other time no agent works that could report something.
pub(super) fn record_report(context: LoopContext, phase: LoopPhase, report: AgentReport) -> StepResult {
    let LoopPhase::Working { iteration, attempt } = phase else { return context.stay_in(phase) };
    let max_reports = match report {
        AgentReport::Progress { .. } => MAX_REPORTS,
        AgentReport::Signal { .. } => MAX_REPORTS_WITH_SIGNALS,
    };
    if iteration.reports >= max_reports {
        return context.stay_in(LoopPhase::Working { iteration, attempt });
    }
    let (kind, words, signal) = match report {
        AgentReport::Progress { words } => (ReportKind::Progress, words, None),
        AgentReport::Signal { signal } => (kind_of_signal(&signal), words_of_signal(&signal), Some(signal)),
    };
    let words = text_head(&words, MAX_WORDS_BYTES).to_string();
    let fact = Fact::AgentReported { iteration: iteration.number, attempt, kind, words };
    let iteration = IterationState {
        reports: iteration.reports.saturating_add(1),
        tool_signal: signal.map(|signal| AttemptSignal { attempt, signal }).or(iteration.tool_signal),
        ..iteration
    };
    (context.enter_phase(LoopPhase::Working { iteration, attempt }), vec![record_fact(fact)])
}

/// Adds the signal that the agent gave with a tool in this attempt to what was read in its messages.
pub(super) fn add_tool_signal(
    iteration: &IterationState,
    attempt: u32,
    mut report: Box<AttemptReport>,
) -> Box<AttemptReport> {
    if let Some(given) = iteration.tool_signal.as_ref().filter(|given| given.attempt == attempt) {
        report.reading = report.reading.with_tool_signal(&given.signal, iteration.nonce.as_ref());
    }
    report
}

fn kind_of_signal(signal: &ToolSignal) -> ReportKind {
    match signal {
        ToolSignal::Done { .. } => ReportKind::Done,
        ToolSignal::Blocked { .. } => ReportKind::Blocked,
        ToolSignal::Wait { .. } => ReportKind::Wait,
    }
}

fn words_of_signal(signal: &ToolSignal) -> String {
    match signal {
        ToolSignal::Done { summary } => summary.clone(),
        ToolSignal::Blocked { reason } => reason.clone(),
        ToolSignal::Wait { request: WaitRequest { time: WaitTime::For { ms }, reason } } => {
            format!("{}: {reason}", format_duration_ms(*ms))
        }
        ToolSignal::Wait { request: WaitRequest { time: WaitTime::Until(_), reason } } => reason.clone(),
    }
}
