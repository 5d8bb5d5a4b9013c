//! The time of a run as bars: agent, checks, waits and pauses.
use ralph_app::overview::JournalEntry;
use ralph_app::view::format_elapsed;
use ralph_core::fact::Fact;

use crate::pages::display::path_segment;

const WIDTH: i64 = 1_000;
const LABEL_WIDTH: i64 = 120;
const ROW_HEIGHT: i64 = 26;
/// Thinner bars could not be seen.
const MIN_BAR_WIDTH: i64 = 2;

/// The meaning of a bar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::pages) enum SpanKind {
    Preparation,
    Agent,
    Checks,
    Wait,
    Paused,
}

impl SpanKind {
    fn label(self) -> &'static str {
        match self {
            Self::Preparation => "preparation",
            Self::Agent => "agent",
            Self::Checks => "checks",
            Self::Wait => "wait",
            Self::Paused => "paused",
        }
    }

    fn class(self) -> &'static str {
        match self {
            Self::Preparation => "quiet",
            Self::Agent => "run",
            Self::Checks => "good",
            Self::Wait => "warn",
            Self::Paused => "wait",
        }
    }
}

/// A part of the time of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct TimeSpan {
    kind: SpanKind,
    iteration: u32,
    from: i64,
    to: i64,
}

/// A bar of the drawing.
pub(in crate::pages) struct TimelineBar {
    pub(in crate::pages) x: i64,
    pub(in crate::pages) y: i64,
    pub(in crate::pages) width: i64,
    pub(in crate::pages) class: &'static str,
    pub(in crate::pages) title: String,
    pub(in crate::pages) href: String,
}

/// The label of a row.
pub(in crate::pages) struct TimelineRow {
    pub(in crate::pages) y: i64,
    pub(in crate::pages) label: String,
}

/// The drawing.
pub(in crate::pages) struct Timeline {
    pub(in crate::pages) width: i64,
    pub(in crate::pages) height: i64,
    pub(in crate::pages) rows: Vec<TimelineRow>,
    pub(in crate::pages) bars: Vec<TimelineBar>,
    /// The sums by kind, for the legend and for readers of text.
    pub(in crate::pages) sums: Vec<TimelineSum>,
}

/// The time of all parts of one kind.
pub(in crate::pages) struct TimelineSum {
    pub(in crate::pages) label: &'static str,
    pub(in crate::pages) class: &'static str,
    pub(in crate::pages) time: String,
}

impl Timeline {
    /// `now` ends what has not ended.
    pub(in crate::pages) fn new(run: &str, journal: &[JournalEntry], now: i64) -> Self {
        let spans = list_spans(journal, now);
        let start = spans.iter().map(|span| span.from).min().unwrap_or(0);
        let end = spans.iter().map(|span| span.to).max().unwrap_or(1).max(start + 1);
        let scale = |at: i64| LABEL_WIDTH + (at - start) * (WIDTH - LABEL_WIDTH) / (end - start);
        let mut iterations: Vec<u32> = spans.iter().map(|span| span.iteration).collect();
        iterations.sort_unstable();
        iterations.dedup();
        let row_y = |iteration: u32| {
            let row = iterations.iter().position(|known| *known == iteration).unwrap_or(0);
            i64::try_from(row).unwrap_or(0) * ROW_HEIGHT
        };
        let bar = |span: &TimeSpan| TimelineBar {
            x: scale(span.from),
            y: row_y(span.iteration) + 4,
            width: (scale(span.to) - scale(span.from)).max(MIN_BAR_WIDTH),
            class: span.kind.class(),
            title: format!("{}: {}", span.kind.label(), format_elapsed(span.to - span.from)),
            href: match span.iteration {
                0 => format!("/runs/{}?view=journal", path_segment(run)),
                number => format!("/runs/{}/iterations/{number}", path_segment(run)),
            },
        };
        let label = |iteration: &u32| TimelineRow {
            y: row_y(*iteration) + 17,
            label: if *iteration == 0 { "before".to_owned() } else { format!("iteration {iteration}") },
        };
        Self {
            width: WIDTH,
            height: i64::try_from(iterations.len()).unwrap_or(1).max(1) * ROW_HEIGHT,
            rows: iterations.iter().map(label).collect(),
            bars: spans.iter().map(bar).collect(),
            sums: sum_spans(&spans),
        }
    }
}

fn sum_spans(spans: &[TimeSpan]) -> Vec<TimelineSum> {
    let kinds = [SpanKind::Preparation, SpanKind::Agent, SpanKind::Checks, SpanKind::Wait, SpanKind::Paused];
    let sum =
        |kind: SpanKind| -> i64 { spans.iter().filter(|span| span.kind == kind).map(|span| span.to - span.from).sum() };
    let sums = kinds.into_iter().map(|kind| (kind, sum(kind))).filter(|(_, sum)| *sum > 0);
    sums.map(|(kind, sum)| TimelineSum { label: kind.label(), class: kind.class(), time: format_elapsed(sum) })
        .collect()
}

/// Returns the parts of the time, in their order. Each event ends the part before it.
fn list_spans(journal: &[JournalEntry], now: i64) -> Vec<TimeSpan> {
    let mut spans = Vec::new();
    let mut open: Option<(SpanKind, i64)> = None;
    let mut iteration = 0;
    for entry in journal {
        let Some(fact) = &entry.fact else { continue };
        let Some(next) = next_span(fact) else { continue };
        if let Some((kind, from)) = open {
            spans.push(TimeSpan { kind, iteration, from, to: entry.at });
        }
        if let Fact::IterationStarted { iteration: started } = fact {
            iteration = *started;
        }
        open = next.map(|kind| (kind, entry.at));
    }
    if let Some((kind, from)) = open {
        spans.push(TimeSpan { kind, iteration, from, to: now.max(from) });
    }
    spans
}

/// Returns what begins with an event: `Some(None)` if nothing does, `None` if the event changes nothing.
#[expect(clippy::option_option, reason = "an event can begin a part, end it, or do neither")]
fn next_span(fact: &Fact) -> Option<Option<SpanKind>> {
    match fact {
        Fact::RunStarted { .. } | Fact::RunResumed { .. } | Fact::IterationStarted { .. } => {
            Some(Some(SpanKind::Preparation))
        }
        Fact::AttemptStarted { .. } => Some(Some(SpanKind::Agent)),
        Fact::AttemptEnded { .. } => Some(Some(SpanKind::Checks)),
        Fact::RetryScheduled { .. } | Fact::LimitWaiting { .. } | Fact::AgentWaiting { .. } => {
            Some(Some(SpanKind::Wait))
        }
        Fact::RunPaused { .. } => Some(Some(SpanKind::Paused)),
        Fact::IterationEnded { .. } | Fact::RunFinished { .. } => Some(None),
        Fact::RunSealed { .. }
        | Fact::Baseline { .. }
        | Fact::RunGuided { .. }
        | Fact::AgentReported { .. }
        | Fact::StandingGuidance { .. }
        | Fact::LimitsChanged { .. }
        | Fact::AgentChanged { .. }
        | Fact::SessionFresh { .. }
        | Fact::Claim { .. }
        | Fact::Verdict { .. }
        | Fact::StopRequested { .. }
        | Fact::RunAccepted { .. }
        | Fact::RunRejected { .. }
        | Fact::Receipt { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(seq: i64, at: i64, body: &str) -> JournalEntry {
        JournalEntry { seq, at, fact: Some(serde_json::from_str(body).unwrap()), body: body.to_owned() }
    }

    // spec: U5
    #[test]
    fn the_wait_for_a_rate_limit_is_a_part_of_its_own() {
        let journal = [
            entry(1, 0, r#"{"event":"iteration.started","iteration":1}"#),
            entry(2, 1_000, r#"{"event":"attempt.started","iteration":1,"attempt":1}"#),
            entry(
                3,
                5_000,
                r#"{"event":"limit.waiting","iteration":1,"attempt":2,"agent":"a","delay_ms":60000,"reset_at":null,"reason":"limit"}"#,
            ),
            entry(4, 65_000, r#"{"event":"attempt.started","iteration":1,"attempt":2}"#),
        ];
        let timeline = Timeline::new("r", &journal, 70_000);
        let sums: Vec<(&str, &str)> = timeline.sums.iter().map(|sum| (sum.label, sum.time.as_str())).collect();
        assert_eq!(sums, [("preparation", "1.0s"), ("agent", "9.0s"), ("wait", "1m 00s")]);
        assert_eq!(timeline.rows.len(), 1);
    }
}
