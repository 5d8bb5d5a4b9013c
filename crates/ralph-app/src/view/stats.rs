//! Renders statistics of runs, as a table and as JSON.
use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use ralph_core::budget::format_dollars as shown_dollars;
use ralph_core::stats::RunStatsSummary;
use serde_json::{Value, json};

use super::text_format::micros_to_dollars;
use ralph_store::KeyedPart;
use ralph_util::duration;
use ralph_util::sanitize::escape_hidden;

/// Width of a standard terminal.
const TABLE_WIDTH: usize = 80;

const COLUMN_HEADINGS: [&str; 8] = ["runs", "done", "back", "iterations", "cost", "tokens", "time", "false"];

/// Statistics of runs by group, and in total.
#[derive(Debug)]
pub struct StatsView {
    /// The kind of the keys, such as `role`.
    group_kind: &'static str,
    groups: Vec<(Option<String>, RunStatsSummary)>,
    total: RunStatsSummary,
    /// Number of groups that are not shown.
    hidden_groups: usize,
}

impl StatsView {
    /// Sums the parts of each group and sorts the groups by cost, highest first; iterations are sorted by number. Shows
    /// at most `max_groups`.
    #[must_use]
    pub fn new(group_kind: &'static str, groups: Vec<KeyedPart>, total: Vec<KeyedPart>, max_groups: usize) -> Self {
        let mut summed: BTreeMap<Option<String>, RunStatsSummary> = BTreeMap::new();
        for (key, part) in groups {
            summed.entry(key).or_default().add_bucket(part);
        }
        let mut groups: Vec<_> = summed.into_iter().collect();
        let number = |key: &Option<String>| key.as_ref().and_then(|key| key.parse::<u64>().ok());
        if group_kind == "iteration" {
            groups.sort_by_key(|(key, _)| number(key));
        } else {
            groups.sort_by_key(|(_, group)| {
                std::cmp::Reverse((
                    group.totals.spent.cost_micros,
                    group.totals.spent.total_tokens(),
                    group.totals.runs,
                ))
            });
        }
        let hidden_groups = groups.len().saturating_sub(max_groups);
        groups.truncate(max_groups);
        let mut all = RunStatsSummary::default();
        total.into_iter().for_each(|(_, part)| all.add_bucket(part));
        Self { group_kind, groups, total: all, hidden_groups }
    }

    /// Returns the sum of all runs.
    #[must_use]
    pub fn total(&self) -> &RunStatsSummary {
        &self.total
    }

    /// Returns the groups with their keys, in the order in which they are shown.
    #[must_use]
    pub fn groups(&self) -> &[(Option<String>, RunStatsSummary)] {
        &self.groups
    }

    /// Returns whether the statistics cover no runs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.total.totals.runs == 0
    }

    /// Returns the JSON object of `stats --json`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let groups = self.groups.iter().map(|(key, group)| {
            let mut object = summary_json(group);
            object["key"] = json!(key);
            object
        });
        json!({ "by": self.group_kind, "total": summary_json(&self.total), "groups": groups.collect::<Vec<_>>() })
    }

    /// Returns the table with its notes.
    #[must_use]
    pub fn to_text(&self) -> String {
        let heads = COLUMN_HEADINGS.map(str::to_owned);
        let mut rows = vec![(self.group_kind.to_owned(), heads)];
        rows.extend(self.groups.iter().map(|(key, group)| (group_name(key.as_deref()), table_cells(group))));
        rows.push(("all".to_owned(), table_cells(&self.total)));
        let mut text = render_table(&rows);
        for line in self.table_notes() {
            let _ = writeln!(text, "{line}");
        }
        text
    }

    /// Returns the notes below the table.
    fn table_notes(&self) -> Vec<String> {
        let all = &self.total.totals;
        let hidden = (self.hidden_groups > 0).then(|| "more groups are hidden: use -n to show them".to_owned());
        let unpriced = (all.unpriced_runs > 0)
            .then(|| format!("+N?: the cost of N runs is unknown or incomplete; in total {}", all.unpriced_runs));
        let judges = all
            .judge_cost_micros
            .map(|micros| format!("judges: {} of the cost, as far as they report it", shown_dollars(micros)));
        hidden.into_iter().chain(unpriced).chain(judges).collect()
    }
}

fn group_name(key: Option<&str>) -> String {
    escape_hidden(key.unwrap_or("-"))
}

/// Returns the cells after the name of a group.
fn table_cells(group: &RunStatsSummary) -> [String; 8] {
    let all = &group.totals;
    let rate = group.success_rate().map_or_else(|| "-".to_owned(), |rate| format!("{:.0}%", rate * 100.0));
    let lengths = group
        .iteration_stats()
        .map_or_else(|| "-".to_owned(), |lengths| format!("{:.1}/{}/{}", lengths.mean, lengths.median, lengths.max));
    let cost = match (all.spent.cost_micros, all.unpriced_runs) {
        (None, 0) => "-".to_owned(),
        (None, _) => "unknown".to_owned(),
        (Some(micros), 0) => format_cents(micros),
        (Some(micros), unknown) => format!("{} +{unknown}?", format_cents(micros)),
    };
    let tokens = all.spent.total_tokens().map_or_else(|| "-".to_owned(), format_short_number);
    let time =
        group.mean_work_ms().map_or_else(|| "-".to_owned(), |ms| duration::format_rounded(Duration::from_millis(ms)));
    [
        all.runs.to_string(),
        rate,
        all.sent_back_runs.to_string(),
        lengths,
        cost,
        tokens,
        time,
        all.rejected_claims.to_string(),
    ]
}

fn format_cents(micros: u64) -> String {
    format!("${}.{:02}", micros / 1_000_000, micros % 1_000_000 / 10_000)
}

/// Shows a number in at most five characters: `999`, `12.3k`, `4.5M`.
#[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
fn format_short_number(number: u64) -> String {
    let units = [(1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")];
    match units.into_iter().find(|(unit, _)| number >= *unit) {
        Some((unit, name)) => format!("{:.1}{name}", number as f64 / unit as f64),
        None => number.to_string(),
    }
}

/// Aligns the columns. A name that is too long gets a separate line.
fn render_table(rows: &[(String, [String; 8])]) -> String {
    let column_width = |column: usize| rows.iter().map(|(_, cells)| cells[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; 8] = std::array::from_fn(column_width);
    let name_room = TABLE_WIDTH.saturating_sub(widths.iter().map(|width| width + 2).sum());
    let longest = rows.iter().map(|(name, _)| name.chars().count()).filter(|length| *length <= name_room).max();
    let name_width = longest.unwrap_or(0);
    let mut text = String::new();
    for (name, cells) in rows {
        if name.chars().count() > name_room {
            let _ = writeln!(text, "{name}");
            let _ = write!(text, "{:name_width$}", "");
        } else {
            let _ = write!(text, "{name:<name_width$}");
        }
        for (cell, width) in cells.iter().zip(widths) {
            let _ = write!(text, "  {cell:>width$}");
        }
        text.push('\n');
    }
    text
}

fn summary_json(group: &RunStatsSummary) -> Value {
    let all = &group.totals;
    let lengths = group.iteration_stats();
    let micros = |micros: Option<u64>| micros_to_dollars(micros.and_then(|micros| i64::try_from(micros).ok()));
    json!({
        "runs": all.runs,
        "ended": all.ended_runs,
        "completed": all.completed_runs,
        "sent_back": all.sent_back_runs,
        "success_rate": group.success_rate(),
        "iterations": lengths.map(|lengths| json!({
            "mean": lengths.mean, "median": lengths.median, "max": lengths.max,
        })),
        "cost_usd": micros(all.spent.cost_micros),
        "cost_unknown_runs": all.unpriced_runs,
        "judges_cost_usd": micros(all.judge_cost_micros),
        "input_tokens": all.spent.input_tokens,
        "output_tokens": all.spent.output_tokens,
        "tokens_unknown_runs": all.runs_without_tokens,
        "time_ms": { "mean": group.mean_work_ms(), "total": all.worked_ms },
        "false_claims": all.rejected_claims,
    })
}

#[cfg(test)]
mod tests {
    use ralph_core::attempt::ModelSpend;
    use ralph_core::stats::RunStatsBucket;

    use super::*;

    fn sample_part(cost_micros: Option<u64>) -> RunStatsBucket {
        let spent = ModelSpend { cost_micros, input_tokens: Some(1_234_567), output_tokens: Some(9) };
        let unpriced = if cost_micros.is_none() { 3 } else { 0 };
        RunStatsBucket {
            iterations: 12,
            runs: 40,
            ended_runs: 40,
            completed_runs: 33,
            rejected_claims: 7,
            spent,
            unpriced_runs: unpriced,
            worked_ms: 40 * 7_500_000,
            timed_runs: 40,
            ..RunStatsBucket::default()
        }
    }

    // spec: P9, U1
    #[test]
    fn a_table_has_at_most_eighty_columns_even_with_long_names() {
        let keys = ["coder", "a-model-with-a-very-long-name-that-is-not-cut-20260101"];
        let rows = || keys.map(|key| (Some(key.to_owned()), sample_part(Some(123_456_000_000)))).to_vec();
        let unknown = (None, sample_part(None));
        let view = StatsView::new("model", [rows(), vec![unknown.clone()]].concat(), vec![unknown], 9);
        let text = view.to_text();
        assert!(text.lines().all(|line| line.chars().count() <= TABLE_WIDTH), "{text}");
        assert!(text.contains(keys[1]) && text.contains("$123456.00"), "{text}");
        assert!(text.contains("unknown"), "{text}");
    }

    // spec: P9
    #[test]
    fn the_costliest_groups_come_first_and_hidden_groups_are_mentioned() {
        let group = |key: &str, micros| (Some(key.to_owned()), sample_part(Some(micros)));
        let view = StatsView::new("task", vec![group("a", 1), group("b", 3), group("c", 2)], vec![], 2);
        let keys: Vec<Value> =
            view.to_json()["groups"].as_array().unwrap().iter().map(|group| group["key"].clone()).collect();
        assert_eq!(keys, ["b", "c"]);
        assert!(view.to_text().contains("more groups are hidden"), "{}", view.to_text());
    }
}
