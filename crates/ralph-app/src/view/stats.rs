//! What many runs came to, as a table and as JSON.
use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use ralph_core::budget::dollars as shown_dollars;
use ralph_core::stats::Summary;
use serde_json::{Value, json};

use super::words::dollars;
use ralph_store::KeyedPart;
use ralph_util::duration;
use ralph_util::sanitize::visible;

/// Tables fit into a terminal of the usual width.
const WIDTH: usize = 80;

const HEADS: [&str; 8] = ["runs", "done", "back", "iterations", "cost", "tokens", "time", "false"];

/// The groups of some runs, and all of them together.
#[derive(Debug)]
pub struct StatsView {
    /// What a key is, such as `role`.
    of: &'static str,
    groups: Vec<(Option<String>, Summary)>,
    total: Summary,
    /// How many groups are left out.
    hidden: usize,
}

impl StatsView {
    /// Puts the parts of each group together, and the costliest groups first; iterations stand in their
    /// order. At most so many are shown.
    #[must_use]
    pub fn new(of: &'static str, groups: Vec<KeyedPart>, total: Vec<KeyedPart>, most: usize) -> Self {
        let mut summed: BTreeMap<Option<String>, Summary> = BTreeMap::new();
        for (key, part) in groups {
            summed.entry(key).or_default().add(part);
        }
        let mut groups: Vec<_> = summed.into_iter().collect();
        let number = |key: &Option<String>| key.as_ref().and_then(|key| key.parse::<u64>().ok());
        if of == "iteration" {
            groups.sort_by_key(|(key, _)| number(key));
        } else {
            groups.sort_by_key(|(_, group)| {
                std::cmp::Reverse((group.all.spent.cost_micros, group.all.spent.tokens(), group.all.runs))
            });
        }
        let hidden = groups.len().saturating_sub(most);
        groups.truncate(most);
        let mut all = Summary::default();
        total.into_iter().for_each(|(_, part)| all.add(part));
        Self { of, groups, total: all, hidden }
    }

    /// Tells whether there is nothing to tell.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.total.all.runs == 0
    }

    /// Returns the object of `stats --json`.
    #[must_use]
    pub fn json(&self) -> Value {
        let groups = self.groups.iter().map(|(key, group)| {
            let mut object = object(group);
            object["key"] = json!(key);
            object
        });
        json!({ "by": self.of, "total": object(&self.total), "groups": groups.collect::<Vec<_>>() })
    }

    /// Returns the table for people.
    #[must_use]
    pub fn text(&self) -> String {
        let heads = HEADS.map(str::to_owned);
        let mut rows = vec![(self.of.to_owned(), heads)];
        rows.extend(self.groups.iter().map(|(key, group)| (name(key.as_deref()), cells(group))));
        rows.push(("all".to_owned(), cells(&self.total)));
        let mut text = table(&rows);
        for line in self.notes() {
            let _ = writeln!(text, "{line}");
        }
        text
    }

    /// Says what the table alone does not.
    fn notes(&self) -> Vec<String> {
        let all = &self.total.all;
        let hidden = (self.hidden > 0).then(|| "there are more: -n shows them".to_owned());
        let unpriced = (all.unpriced > 0).then(|| {
            format!("+N?: N runs of which the cost is not, or not wholly, known; here {}", all.unpriced)
        });
        let judges = all
            .judges_micros
            .map(|micros| format!("judges: {} of the cost, where they told it", shown_dollars(micros)));
        hidden.into_iter().chain(unpriced).chain(judges).collect()
    }
}

fn name(key: Option<&str>) -> String {
    visible(key.unwrap_or("-"))
}

/// Returns what stands behind the name of a group.
fn cells(group: &Summary) -> [String; 8] {
    let all = &group.all;
    let rate = group.success_rate().map_or_else(|| "-".to_owned(), |rate| format!("{:.0}%", rate * 100.0));
    let lengths = group.iterations().map_or_else(
        || "-".to_owned(),
        |lengths| format!("{:.1}/{}/{}", lengths.mean, lengths.median, lengths.most),
    );
    let cost = match (all.spent.cost_micros, all.unpriced) {
        (None, 0) => "-".to_owned(),
        (None, _) => "unknown".to_owned(),
        (Some(micros), 0) => cents(micros),
        (Some(micros), unknown) => format!("{} +{unknown}?", cents(micros)),
    };
    let tokens = all.spent.tokens().map_or_else(|| "-".to_owned(), short);
    let time = group.mean_ms().map_or_else(|| "-".to_owned(), |ms| duration::show(Duration::from_millis(ms)));
    [
        all.runs.to_string(),
        rate,
        all.sent_back.to_string(),
        lengths,
        cost,
        tokens,
        time,
        all.rejected.to_string(),
    ]
}

fn cents(micros: u64) -> String {
    format!("${}.{:02}", micros / 1_000_000, micros % 1_000_000 / 10_000)
}

/// Shows a number in at most five characters: `999`, `12.3k`, `4.5M`.
#[expect(clippy::cast_precision_loss, reason = "one digit behind the point is shown")]
fn short(number: u64) -> String {
    let units = [(1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")];
    match units.into_iter().find(|(unit, _)| number >= *unit) {
        Some((unit, name)) => format!("{:.1}{name}", number as f64 / unit as f64),
        None => number.to_string(),
    }
}

/// Lays the columns out. A name that leaves no room for the others has a line of its own.
fn table(rows: &[(String, [String; 8])]) -> String {
    let wide = |column: usize| rows.iter().map(|(_, cells)| cells[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; 8] = std::array::from_fn(wide);
    let room = WIDTH.saturating_sub(widths.iter().map(|width| width + 2).sum());
    let longest = rows.iter().map(|(name, _)| name.chars().count()).filter(|length| *length <= room).max();
    let names = longest.unwrap_or(0);
    let mut text = String::new();
    for (name, cells) in rows {
        if name.chars().count() > room {
            let _ = writeln!(text, "{name}");
            let _ = write!(text, "{:names$}", "");
        } else {
            let _ = write!(text, "{name:<names$}");
        }
        for (cell, width) in cells.iter().zip(widths) {
            let _ = write!(text, "  {cell:>width$}");
        }
        text.push('\n');
    }
    text
}

fn object(group: &Summary) -> Value {
    let all = &group.all;
    let lengths = group.iterations();
    let micros = |micros: Option<u64>| dollars(micros.and_then(|micros| i64::try_from(micros).ok()));
    json!({
        "runs": all.runs,
        "ended": all.ended,
        "completed": all.completed,
        "sent_back": all.sent_back,
        "success_rate": group.success_rate(),
        "iterations": lengths.map(|lengths| json!({
            "mean": lengths.mean, "median": lengths.median, "max": lengths.most,
        })),
        "cost_usd": micros(all.spent.cost_micros),
        "cost_unknown_runs": all.unpriced,
        "judges_cost_usd": micros(all.judges_micros),
        "input_tokens": all.spent.input_tokens,
        "output_tokens": all.spent.output_tokens,
        "tokens_unknown_runs": all.uncounted,
        "time_ms": { "mean": group.mean_ms(), "total": all.worked_ms },
        "false_claims": all.rejected,
    })
}

#[cfg(test)]
mod tests {
    use ralph_core::attempt::Spend;
    use ralph_core::stats::Part;

    use super::*;

    fn part(cost_micros: Option<u64>) -> Part {
        let spent = Spend { cost_micros, input_tokens: Some(1_234_567), output_tokens: Some(9) };
        let unpriced = if cost_micros.is_none() { 3 } else { 0 };
        Part {
            iterations: 12,
            runs: 40,
            ended: 40,
            completed: 33,
            rejected: 7,
            spent,
            unpriced,
            worked_ms: 40 * 7_500_000,
            timed: 40,
            ..Part::default()
        }
    }

    // spec: P9, U1
    #[test]
    fn a_table_has_at_most_eighty_columns_whatever_the_names_are() {
        let keys = ["coder", "a-model-with-a-very-long-name-that-is-not-cut-20260101"];
        let rows = || keys.map(|key| (Some(key.to_owned()), part(Some(123_456_000_000)))).to_vec();
        let unknown = (None, part(None));
        let view = StatsView::new("model", [rows(), vec![unknown.clone()]].concat(), vec![unknown], 9);
        let text = view.text();
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        assert!(text.contains(keys[1]) && text.contains("$123456.00"), "{text}");
        assert!(text.contains("unknown"), "{text}");
    }

    // spec: P9
    #[test]
    fn the_costliest_groups_stand_first_and_the_others_are_counted() {
        let group = |key: &str, micros| (Some(key.to_owned()), part(Some(micros)));
        let view = StatsView::new("task", vec![group("a", 1), group("b", 3), group("c", 2)], vec![], 2);
        let keys: Vec<Value> =
            view.json()["groups"].as_array().unwrap().iter().map(|group| group["key"].clone()).collect();
        assert_eq!(keys, ["b", "c"]);
        assert!(view.text().contains("there are more"), "{}", view.text());
    }
}
