//! The time of a run as bars: agent, checks, waits and pauses.
use ralph_app::overview::JournalEntry;
use ralph_core::fact::Fact;

use crate::pages::display::path_segment;
use crate::pages::timeline::{SpanKind, TimeLane, TimeSpan, Timeline};

/// Draws one lane for each iteration. `now` ends what has not ended.
pub(in crate::pages) fn draw_run_timeline(run: &str, journal: &[JournalEntry], now: i64) -> Timeline {
    let mut lanes: Vec<TimeLane> = Vec::new();
    for IterationSpan { iteration, span } in list_spans(journal, now) {
        let label = if iteration == 0 { "before".to_owned() } else { format!("iteration {iteration}") };
        match lanes.iter_mut().find(|lane| lane.label == label) {
            Some(lane) => lane.spans.push(span),
            None => lanes.push(TimeLane { label, href: iteration_href(run, iteration), spans: vec![span] }),
        }
    }
    Timeline::draw(&lanes)
}

fn iteration_href(run: &str, iteration: u32) -> String {
    match iteration {
        0 => format!("/runs/{}?view=journal", path_segment(run)),
        number => format!("/runs/{}/iterations/{number}", path_segment(run)),
    }
}

struct IterationSpan {
    iteration: u32,
    span: TimeSpan,
}

/// Returns the parts of the time, in their order. Each event ends the part before it.
fn list_spans(journal: &[JournalEntry], now: i64) -> Vec<IterationSpan> {
    let mut spans = Vec::new();
    let mut open: Option<(SpanKind, i64)> = None;
    let mut iteration = 0;
    for entry in journal {
        let Some(fact) = &entry.fact else { continue };
        let Some(next) = next_span(fact) else { continue };
        if let Some((kind, from)) = open {
            spans.push(IterationSpan { iteration, span: TimeSpan { kind, from, to: entry.at } });
        }
        if let Fact::IterationStarted { iteration: started } = fact {
            iteration = *started;
        }
        open = next.map(|kind| (kind, entry.at));
    }
    if let Some((kind, from)) = open {
        spans.push(IterationSpan { iteration, span: TimeSpan { kind, from, to: now.max(from) } });
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
        let timeline = draw_run_timeline("r", &journal, 70_000);
        let sums: Vec<(&str, &str)> = timeline.sums.iter().map(|sum| (sum.label, sum.time.as_str())).collect();
        assert_eq!(sums, [("preparation", "1.0s"), ("agent", "9.0s"), ("wait", "1m 00s")]);
        assert_eq!(timeline.rows.len(), 1);
    }
}
