//! The table of results, with ratios and limits.

/// One row of the table.
pub(super) struct ComparisonRow {
    pub(super) title: String,
    pub(super) ours: MeasuredValue,
    pub(super) theirs: MeasuredValue,
    pub(super) ratio: f64,
    pub(super) limit: RatioLimit,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum MeasuredValue {
    Millis(f64),
    Seconds(f64),
    Megabytes(f64),
}

#[derive(Debug, Clone, Copy)]
pub(super) enum RatioLimit {
    /// The ratio must be at most this.
    AtMost(f64),
    /// No limit; shown for comparison.
    Unlimited,
}

#[derive(Default)]
pub(super) struct BenchReport {
    pub(super) rows: Vec<ComparisonRow>,
    /// Remarks, such as a measurement that was skipped.
    pub(super) notes: Vec<String>,
}

impl MeasuredValue {
    fn to_text(self) -> String {
        match self {
            Self::Millis(value) => format!("{value:.2} ms"),
            Self::Seconds(value) => format!("{value:.2} s"),
            Self::Megabytes(value) => format!("{value:.1} MB"),
        }
    }
}

impl ComparisonRow {
    /// Returns whether the ratio is within its limit. NaN never is.
    fn is_within_limit(&self) -> bool {
        match self.limit {
            RatioLimit::AtMost(most) => self.ratio <= most,
            RatioLimit::Unlimited => true,
        }
    }

    fn to_cells(&self) -> [String; 6] {
        let (ratio, limit) = match self.limit {
            RatioLimit::AtMost(most) => (format!("{:.2}", self.ratio), format!("{most:.2}")),
            RatioLimit::Unlimited => (format!("{:.2}", self.ratio), "-".to_owned()),
        };
        let verdict = match self.limit {
            RatioLimit::Unlimited => "",
            RatioLimit::AtMost(_) if self.is_within_limit() => "ok",
            RatioLimit::AtMost(_) => "OVER",
        };
        [self.title.clone(), self.ours.to_text(), self.theirs.to_text(), ratio, limit, verdict.to_owned()]
    }
}

impl BenchReport {
    /// Returns the titles of rows that exceed their limit.
    pub(super) fn titles_over_limit(&self) -> impl Iterator<Item = &str> {
        self.rows.iter().filter(|row| !row.is_within_limit()).map(|row| row.title.as_str())
    }

    pub(super) fn to_table(&self) -> String {
        let head = ["what", "ours", "theirs", "ratio", "limit", ""].map(str::to_owned);
        let lines: Vec<[String; 6]> =
            std::iter::once(head).chain(self.rows.iter().map(ComparisonRow::to_cells)).collect();
        let width = |column: usize| lines.iter().map(|cells| cells[column].chars().count()).max().unwrap_or(0);
        let widths: [usize; 6] = std::array::from_fn(width);
        let mut shown: Vec<String> = lines.iter().map(|cells| align_cells(cells, &widths)).collect();
        shown.extend(self.notes.iter().map(|note| format!("  note: {note}")));
        shown.push(String::new());
        shown.join("\n")
    }
}

/// Aligns titles to the left and numbers to the right.
fn align_cells(cells: &[String; 6], widths: &[usize; 6]) -> String {
    let [title, numbers @ .., verdict] = cells;
    let mut line = format!("  {title:<width$}", width = widths[0]);
    for (cell, width) in numbers.iter().zip(&widths[1..]) {
        line.push_str(&format!("  {cell:>width$}"));
    }
    format!("{line}  {verdict}").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example_row(ratio: f64, limit: RatioLimit) -> ComparisonRow {
        let title = "one iteration".to_owned();
        ComparisonRow { title, ours: MeasuredValue::Millis(3.0), theirs: MeasuredValue::Millis(4.0), ratio, limit }
    }

    #[test]
    fn the_table_is_aligned_and_marks_exceeded_limits() {
        let rows = vec![
            example_row(0.75, RatioLimit::AtMost(0.8)),
            example_row(0.9, RatioLimit::AtMost(0.8)),
            example_row(0.25, RatioLimit::Unlimited),
        ];
        let report = BenchReport { rows, notes: vec!["jq is not installed".to_owned()] };
        let expected = "  what              ours   theirs  ratio  limit
  one iteration  3.00 ms  4.00 ms   0.75   0.80  ok
  one iteration  3.00 ms  4.00 ms   0.90   0.80  OVER
  one iteration  3.00 ms  4.00 ms   0.25      -
  note: jq is not installed
";
        assert_eq!(report.to_table(), expected);
        assert_eq!(report.titles_over_limit().count(), 1);
    }

    #[test]
    fn nan_is_never_within_a_limit() {
        assert!(!example_row(f64::NAN, RatioLimit::AtMost(1.0)).is_within_limit());
    }
}
