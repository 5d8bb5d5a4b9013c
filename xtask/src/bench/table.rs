//! The table of results: what, ours, theirs, ratio, limit, and whether it holds.

/// One comparison.
pub(super) struct Row {
    pub(super) what: String,
    pub(super) ours: Amount,
    pub(super) theirs: Amount,
    pub(super) ratio: f64,
    pub(super) limit: Limit,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Amount {
    Millis(f64),
    Seconds(f64),
    Megabytes(f64),
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Limit {
    /// The ratio is at most this.
    Ratio(f64),
    /// It is shown for comparison.
    None,
}

#[derive(Default)]
pub(super) struct Report {
    pub(super) rows: Vec<Row>,
    /// What could not be measured, and why.
    pub(super) notes: Vec<String>,
}

impl Amount {
    fn shown(self) -> String {
        match self {
            Self::Millis(value) => format!("{value:.2} ms"),
            Self::Seconds(value) => format!("{value:.2} s"),
            Self::Megabytes(value) => format!("{value:.1} MB"),
        }
    }
}

impl Row {
    /// Tells whether the limit holds. What is no number holds no limit.
    fn holds(&self) -> bool {
        match self.limit {
            Limit::Ratio(most) => self.ratio <= most,
            Limit::None => true,
        }
    }

    fn cells(&self) -> [String; 6] {
        let (ratio, limit) = match self.limit {
            Limit::Ratio(most) => (format!("{:.2}", self.ratio), format!("{most:.2}")),
            Limit::None => (format!("{:.2}", self.ratio), "-".to_owned()),
        };
        let verdict = match self.limit {
            Limit::None => "",
            Limit::Ratio(_) if self.holds() => "ok",
            Limit::Ratio(_) => "OVER",
        };
        [self.what.clone(), self.ours.shown(), self.theirs.shown(), ratio, limit, verdict.to_owned()]
    }
}

impl Report {
    /// Returns what is over its limit.
    pub(super) fn over(&self) -> impl Iterator<Item = &str> {
        self.rows.iter().filter(|row| !row.holds()).map(|row| row.what.as_str())
    }

    pub(super) fn shown(&self) -> String {
        let head = ["what", "ours", "theirs", "ratio", "limit", ""].map(str::to_owned);
        let lines: Vec<[String; 6]> = std::iter::once(head).chain(self.rows.iter().map(Row::cells)).collect();
        let width =
            |column: usize| lines.iter().map(|cells| cells[column].chars().count()).max().unwrap_or(0);
        let widths: [usize; 6] = std::array::from_fn(width);
        let mut shown: Vec<String> = lines.iter().map(|cells| aligned(cells, &widths)).collect();
        shown.extend(self.notes.iter().map(|note| format!("  note: {note}")));
        shown.push(String::new());
        shown.join("\n")
    }
}

/// Puts the words to the left and the numbers to the right.
fn aligned(cells: &[String; 6], widths: &[usize; 6]) -> String {
    let [what, numbers @ .., verdict] = cells;
    let mut line = format!("  {what:<width$}", width = widths[0]);
    for (cell, width) in numbers.iter().zip(&widths[1..]) {
        line.push_str(&format!("  {cell:>width$}"));
    }
    format!("{line}  {verdict}").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(ratio: f64, limit: Limit) -> Row {
        let what = "one iteration".to_owned();
        Row { what, ours: Amount::Millis(3.0), theirs: Amount::Millis(4.0), ratio, limit }
    }

    #[test]
    fn the_table_is_aligned_and_judged() {
        let rows = vec![row(0.75, Limit::Ratio(0.8)), row(0.9, Limit::Ratio(0.8)), row(0.25, Limit::None)];
        let report = Report { rows, notes: vec!["jq is not installed".to_owned()] };
        let expected = "  what              ours   theirs  ratio  limit
  one iteration  3.00 ms  4.00 ms   0.75   0.80  ok
  one iteration  3.00 ms  4.00 ms   0.90   0.80  OVER
  one iteration  3.00 ms  4.00 ms   0.25      -
  note: jq is not installed
";
        assert_eq!(report.shown(), expected);
        assert_eq!(report.over().count(), 1);
    }

    #[test]
    fn what_is_no_number_holds_no_limit() {
        assert!(!row(f64::NAN, Limit::Ratio(1.0)).holds());
    }
}
