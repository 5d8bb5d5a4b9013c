//! A chart of horizontal bars as SVG. Every bar leads to the runs that it counts.
use crate::pages::display::DisplayText;

const WIDTH: usize = 640;
const LABEL_WIDTH: usize = 190;
const VALUE_WIDTH: usize = 120;
const ROW_HEIGHT: usize = 26;
const MAX_LABEL_CHARS: usize = 24;
/// Thinner bars could not be seen.
const MIN_BAR_WIDTH: usize = 2;

/// A value with its label.
pub(super) struct BarValue {
    pub(super) label: String,
    pub(super) value: u64,
    /// The value for people.
    pub(super) text: String,
    pub(super) class: &'static str,
    pub(super) href: String,
}

pub(in crate::pages) struct ChartBar {
    pub(in crate::pages) label: DisplayText,
    pub(in crate::pages) title: DisplayText,
    pub(in crate::pages) text: DisplayText,
    pub(in crate::pages) class: &'static str,
    pub(in crate::pages) href: String,
    pub(in crate::pages) y: usize,
    pub(in crate::pages) width: usize,
}

impl ChartBar {
    pub(in crate::pages) fn text_y(&self) -> usize {
        self.y + 15
    }

    pub(in crate::pages) fn text_x(&self) -> usize {
        LABEL_WIDTH + self.width + 8
    }
}

pub(in crate::pages) struct BarChart {
    pub(in crate::pages) title: &'static str,
    pub(in crate::pages) about: &'static str,
    pub(in crate::pages) width: usize,
    pub(in crate::pages) height: usize,
    pub(in crate::pages) left: usize,
    pub(in crate::pages) bars: Vec<ChartBar>,
}

impl BarChart {
    pub(super) fn new(title: &'static str, about: &'static str, values: Vec<BarValue>) -> Self {
        let most = values.iter().map(|value| value.value).max().unwrap_or(0).max(1);
        let room = u64::try_from(WIDTH - LABEL_WIDTH - VALUE_WIDTH).unwrap_or(0);
        let bar = |(at, value): (usize, BarValue)| ChartBar {
            label: DisplayText::first_line(&value.label, MAX_LABEL_CHARS),
            title: DisplayText::new(format!("{}: {}", value.label, value.text)),
            text: value.text.into(),
            class: value.class,
            href: value.href,
            y: at * ROW_HEIGHT + 3,
            width: usize::try_from(value.value.saturating_mul(room) / most).unwrap_or(0).max(MIN_BAR_WIDTH),
        };
        let bars: Vec<ChartBar> = values.into_iter().enumerate().map(bar).collect();
        Self { title, about, width: WIDTH, height: bars.len().max(1) * ROW_HEIGHT, left: LABEL_WIDTH, bars }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(label: &str, value: u64) -> BarValue {
        BarValue { label: label.to_owned(), value, text: value.to_string(), class: "", href: "/runs".to_owned() }
    }

    // spec: U5
    #[test]
    fn bars_are_as_long_as_their_values_and_never_invisible() {
        let chart = BarChart::new("t", "", vec![value("a", 100), value("b", 50), value("c", 0)]);
        let widths: Vec<usize> = chart.bars.iter().map(|bar| bar.width).collect();
        assert_eq!(widths, [330, 165, MIN_BAR_WIDTH]);
        assert_eq!(chart.height, 3 * ROW_HEIGHT);
    }

    #[test]
    fn a_chart_without_values_is_empty() {
        assert_eq!(BarChart::new("t", "", Vec::new()).bars.len(), 0);
    }
}
