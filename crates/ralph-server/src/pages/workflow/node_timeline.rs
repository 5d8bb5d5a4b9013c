//! The time of a workflow run as bars: for each node, how long it was in the queue, at work, and waiting.
use std::collections::BTreeMap;

use ralph_app::workflow_runs::{NodeReport, TimedEvent, WorkflowFact};
use ralph_core::workflow::Workflow;

use crate::pages::display::path_segment;
use crate::pages::timeline::{SpanKind, TimeLane, TimeSpan, Timeline};

/// Draws one lane for each node that was ready to start.
pub(super) fn draw_node_timeline(
    workflow: &Workflow,
    reports: &[NodeReport],
    events: &[TimedEvent],
    now: i64,
) -> Timeline {
    let times = NodeTimes::read(events, now);
    let lane = |report: &NodeReport| {
        let worked = times.spans.get(&report.key).map(Vec::as_slice).unwrap_or_default();
        let queued = queue_span(workflow, report, reports, &times);
        let spans: Vec<TimeSpan> = queued.into_iter().chain(worked.iter().copied()).collect();
        let href = format!("#node-{}", path_segment(&report.key));
        (!spans.is_empty()).then(|| TimeLane { label: report.key.clone(), href, spans })
    };
    Timeline::draw(&reports.iter().filter_map(lane).collect::<Vec<_>>())
}

/// When the nodes worked and waited, by their keys.
struct NodeTimes {
    started_at: i64,
    spans: BTreeMap<String, Vec<TimeSpan>>,
}

/// The part of a node that has not ended.
struct OpenSpan {
    kind: SpanKind,
    from: i64,
    /// Whether the node continues to work after the answer of a person.
    is_at_work: bool,
}

impl NodeTimes {
    fn read(events: &[TimedEvent], now: i64) -> Self {
        let started_at = events.first().map_or(now, |event| event.at);
        let mut times = Self { started_at, spans: BTreeMap::new() };
        let mut open: BTreeMap<&str, OpenSpan> = BTreeMap::new();
        for TimedEvent { at, fact } in events {
            let Some(NodeChange { node, next }) = NodeChange::of_fact(fact) else {
                if matches!(fact, WorkflowFact::Finished { .. }) {
                    std::mem::take(&mut open).into_iter().for_each(|(node, span)| times.add(node, &span, *at));
                }
                continue;
            };
            let before = open.remove(node);
            if let Some(span) = &before {
                times.add(node, span, *at);
            }
            let was_at_work = before.is_some_and(|before| before.is_at_work);
            let span = |kind, is_at_work| OpenSpan { kind, from: *at, is_at_work };
            let next = match next {
                NextPart::Work => Some(span(SpanKind::Node, true)),
                NextPart::Wait => Some(span(SpanKind::Wait, false)),
                NextPart::Person => Some(span(SpanKind::Person, was_at_work)),
                NextPart::AfterPerson => was_at_work.then(|| span(SpanKind::Node, true)),
                NextPart::End => None,
            };
            open.extend(next.map(|next| (node, next)));
        }
        open.into_iter().for_each(|(node, span)| times.add(node, &span, now));
        times
    }

    fn add(&mut self, node: &str, span: &OpenSpan, to: i64) {
        let span = TimeSpan { kind: span.kind, from: span.from, to: to.max(span.from) };
        self.spans.entry(node.to_owned()).or_default().push(span);
    }
}

/// The part of a node's timeline that an event begins.
struct NodeChange<'a> {
    node: &'a str,
    next: NextPart,
}

enum NextPart {
    Work,
    Wait,
    Person,
    AfterPerson,
    End,
}

impl<'a> NodeChange<'a> {
    fn of_fact(fact: &'a WorkflowFact) -> Option<Self> {
        let (node, next) = match fact {
            WorkflowFact::NodeStarted { node, .. } => (node, NextPart::Work),
            WorkflowFact::NodeRetry { node, .. } => (node, NextPart::Wait),
            WorkflowFact::QuestionAsked { node, .. } => (node, NextPart::Person),
            WorkflowFact::QuestionAnswered { node, .. } => (node, NextPart::AfterPerson),
            WorkflowFact::NodeCompleted { node, .. }
            | WorkflowFact::NodeFailed { node, .. }
            | WorkflowFact::NodeSkipped { node, .. } => (node, NextPart::End),
            WorkflowFact::Started { .. }
            | WorkflowFact::Resumed
            | WorkflowFact::ChildStarted { .. }
            | WorkflowFact::Judged { .. }
            | WorkflowFact::Receipt { .. }
            | WorkflowFact::Message { .. }
            | WorkflowFact::Waiting
            | WorkflowFact::Finished { .. } => return None,
        };
        Some(Self { node, next })
    }
}

/// Returns the time between the moment when a node could start and its start. For nodes of a loop group it is not known.
fn queue_span(workflow: &Workflow, report: &NodeReport, reports: &[NodeReport], times: &NodeTimes) -> Option<TimeSpan> {
    let node = workflow.nodes.iter().find(|node| node.id.as_str() == report.key)?;
    let first = times.spans.get(&report.key)?.first()?;
    let end_of = |id: &str| reports.iter().find(|other| other.key == id).and_then(|other| other.ended_at);
    let from = node.depends_on.iter().filter_map(|id| end_of(id.as_str())).max().unwrap_or(times.started_at);
    (from < first.from).then_some(TimeSpan { kind: SpanKind::Queued, from, to: first.from })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(at: i64, body: &str) -> TimedEvent {
        TimedEvent { at, fact: serde_json::from_str(body).unwrap() }
    }

    fn spans(events: &[TimedEvent], node: &str) -> Vec<(SpanKind, i64)> {
        let times = NodeTimes::read(events, 1_000);
        times.spans[node].iter().map(|span| (span.kind, span.to - span.from)).collect()
    }

    // spec: U5
    #[test]
    fn a_node_works_waits_for_its_retry_and_asks_a_person() {
        let events = [
            event(0, r#"{"event":"node.started","node":"a","attempt":1}"#),
            event(100, r#"{"event":"node.retry","node":"a","delay_ms":50,"reason":"r"}"#),
            event(150, r#"{"event":"node.started","node":"a","attempt":2}"#),
            event(200, r#"{"event":"question.asked","node":"a","question":"a/1","text":"?","decisions":["approve"]}"#),
            event(
                500,
                r#"{"event":"question.answered","node":"a","question":"a/1","decision":"approve","text":"","person":"p"}"#,
            ),
            event(600, r#"{"event":"node.completed","node":"a"}"#),
        ];
        let expected = [
            (SpanKind::Node, 100),
            (SpanKind::Wait, 50),
            (SpanKind::Node, 50),
            (SpanKind::Person, 300),
            (SpanKind::Node, 100),
        ];
        assert_eq!(spans(&events, "a"), expected);
    }

    // spec: U5
    #[test]
    fn an_approval_only_waits_for_a_person_and_an_open_one_waits_until_now() {
        let asked = r#"{"event":"question.asked","node":"a","question":"a/1","text":"?","decisions":["approve"]}"#;
        let answered =
            r#"{"event":"question.answered","node":"a","question":"a/1","decision":"approve","text":"","person":"p"}"#;
        let events = [event(100, asked), event(400, answered), event(401, r#"{"event":"node.completed","node":"a"}"#)];
        assert_eq!(spans(&events, "a"), [(SpanKind::Person, 300)]);
        assert_eq!(spans(&events[..1], "a"), [(SpanKind::Person, 900)]);
    }
}
