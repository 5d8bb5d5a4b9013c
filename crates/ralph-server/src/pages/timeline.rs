//! Time as bars: one lane for each iteration or node, and the sums by kind.
use ralph_app::view::format_elapsed;

use super::display::DisplayText;

const WIDTH: i64 = 1_000;
const LABEL_WIDTH: i64 = 150;
const ROW_HEIGHT: i64 = 26;
/// Thinner bars could not be seen.
const MIN_BAR_WIDTH: i64 = 2;
const MAX_LABEL_CHARS: usize = 20;

/// The meaning of a bar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SpanKind {
    /// It could start and waits for a free place.
    Queued,
    Preparation,
    Agent,
    /// A node of a workflow.
    Node,
    Checks,
    Wait,
    /// A person is asked.
    Person,
    Paused,
}

impl SpanKind {
    const ALL: [Self; 8] = [
        Self::Queued,
        Self::Preparation,
        Self::Agent,
        Self::Node,
        Self::Checks,
        Self::Wait,
        Self::Person,
        Self::Paused,
    ];

    fn label(self) -> &'static str {
        match self {
            Self::Queued => "in the queue",
            Self::Preparation => "preparation",
            Self::Agent => "agent",
            Self::Node => "at work",
            Self::Checks => "checks",
            Self::Wait => "wait",
            Self::Person => "waits for a person",
            Self::Paused => "paused",
        }
    }

    fn class(self) -> &'static str {
        match self {
            Self::Queued | Self::Preparation => "quiet",
            Self::Agent | Self::Node => "run",
            Self::Checks => "good",
            Self::Wait => "warn",
            Self::Person | Self::Paused => "wait",
        }
    }
}

/// A part of the time, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TimeSpan {
    pub(super) kind: SpanKind,
    pub(super) from: i64,
    pub(super) to: i64,
}

/// The content of one row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TimeLane {
    pub(super) label: String,
    pub(super) href: String,
    pub(super) spans: Vec<TimeSpan>,
}

/// A bar of the drawing.
pub(super) struct TimelineBar {
    pub(super) x: i64,
    pub(super) y: i64,
    pub(super) width: i64,
    pub(super) class: &'static str,
    pub(super) title: DisplayText,
    pub(super) href: String,
}

/// The label of a row.
pub(super) struct TimelineRow {
    pub(super) y: i64,
    pub(super) label: DisplayText,
}

/// The drawing.
pub(super) struct Timeline {
    pub(super) width: i64,
    pub(super) height: i64,
    pub(super) rows: Vec<TimelineRow>,
    pub(super) bars: Vec<TimelineBar>,
    /// The sums by kind, for the legend and for readers of text.
    pub(super) sums: Vec<TimelineSum>,
}

/// The time of all parts of one kind.
pub(super) struct TimelineSum {
    pub(super) label: &'static str,
    pub(super) class: &'static str,
    pub(super) time: String,
}

impl Timeline {
    pub(super) fn draw(lanes: &[TimeLane]) -> Self {
        let spans = || lanes.iter().flat_map(|lane| &lane.spans);
        let start = spans().map(|span| span.from).min().unwrap_or(0);
        let end = spans().map(|span| span.to).max().unwrap_or(1).max(start + 1);
        let scale = |at: i64| LABEL_WIDTH + (at - start) * (WIDTH - LABEL_WIDTH) / (end - start);
        let mut drawing = Self {
            width: WIDTH,
            height: i64::try_from(lanes.len()).unwrap_or(1).max(1) * ROW_HEIGHT,
            rows: Vec::new(),
            bars: Vec::new(),
            sums: sum_spans(&spans().copied().collect::<Vec<_>>()),
        };
        let mut y = 0;
        for lane in lanes {
            drawing.rows.push(TimelineRow { y: y + 17, label: DisplayText::first_line(&lane.label, MAX_LABEL_CHARS) });
            drawing.bars.extend(lane.spans.iter().map(|span| TimelineBar {
                x: scale(span.from).min(WIDTH - MIN_BAR_WIDTH),
                y: y + 4,
                width: (scale(span.to) - scale(span.from)).max(MIN_BAR_WIDTH),
                class: span.kind.class(),
                title: format!("{}: {} {}", lane.label, span.kind.label(), format_elapsed(span.to - span.from)).into(),
                href: lane.href.clone(),
            }));
            y += ROW_HEIGHT;
        }
        drawing
    }
}

fn sum_spans(spans: &[TimeSpan]) -> Vec<TimelineSum> {
    let sum =
        |kind: SpanKind| -> i64 { spans.iter().filter(|span| span.kind == kind).map(|span| span.to - span.from).sum() };
    let sums = SpanKind::ALL.into_iter().map(|kind| (kind, sum(kind))).filter(|(_, sum)| *sum > 0);
    sums.map(|(kind, sum)| TimelineSum { label: kind.label(), class: kind.class(), time: format_elapsed(sum) })
        .collect()
}
