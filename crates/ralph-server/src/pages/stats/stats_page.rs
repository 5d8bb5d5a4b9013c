//! Statistics: iterations to done, cost of accepted tasks, verdicts on claims, and times of checks.
use std::collections::BTreeMap;
use std::time::Duration;

use askama::Template;
use axum::extract::Query;
use ralph_app::error::AppError;
use ralph_app::maintenance::{StatsPeriod, StatsRequest, load_stats};
use ralph_app::overview::{ChartData, load_chart_data};
use ralph_app::view::{StatsView, format_elapsed, pluralize};
use ralph_store::{CheckTimeRow, ClaimVerdictRow, IterationsToDoneRow, StatsGrouping, TaskCostRow};
use serde::Deserialize;

use super::bar_chart::{BarChart, BarValue};
use crate::pages::display::{DisplayText, StatusMark, path_segment, short_cost};
use crate::pages::frame::{NavPage, PageError, PageFrame, PageHeading, PageRequest, PageResult, render};

const MAX_GROUPS: u32 = 20;

#[derive(Debug, Clone, Default, Deserialize)]
pub(in crate::pages) struct StatsQuery {
    days: Option<u64>,
}

struct PeriodChoice {
    href: String,
    label: String,
    is_chosen: bool,
}

struct GroupLine {
    name: DisplayText,
    href: String,
    runs: u64,
    done: String,
    iterations: String,
    cost: String,
    rejected: u64,
    time: String,
}

struct GroupTable {
    title: &'static str,
    lines: Vec<GroupLine>,
}

#[derive(Template)]
#[template(path = "stats.html")]
struct StatsPage {
    frame: PageFrame,
    periods: Vec<PeriodChoice>,
    charts: Vec<BarChart>,
    tables: Vec<GroupTable>,
}

pub(in crate::pages) async fn show_stats(request: PageRequest, Query(query): Query<StatsQuery>) -> PageResult {
    let page = load_stats_page(&request, query.days.filter(|days| *days > 0)).await?;
    Ok(render(&page))
}

async fn load_stats_page(request: &PageRequest, days: Option<u64>) -> Result<StatsPage, PageError> {
    let to_page_error = |error: AppError| PageError::from_app_error(&request.context, &error);
    let project = &request.context.project;
    let period = days.map(|days| Duration::from_secs(days.saturating_mul(86_400)));
    let data = load_chart_data(project, period).await.map_err(to_page_error)?;
    let mut tables = Vec::new();
    for (title, grouping) in
        [("By agent", StatsGrouping::Agent), ("By role", StatsGrouping::Role), ("By task", StatsGrouping::Task)]
    {
        let period = period.map_or(StatsPeriod::AllTime, StatsPeriod::Last);
        let view = load_stats(project, StatsRequest { grouping, period, limit: MAX_GROUPS }).await;
        tables.push(GroupTable::new(title, grouping, &view.map_err(to_page_error)?));
    }
    let choice = |choice: Option<u64>| PeriodChoice {
        href: choice.map_or_else(|| "/stats".to_owned(), |days| format!("/stats?days={days}")),
        label: choice.map_or_else(|| "all time".to_owned(), |days| format!("{days} days")),
        is_chosen: choice == days,
    };
    let heading = PageHeading { title: "Statistics", nav: NavPage::Stats, api: "/api/stats".to_owned() };
    Ok(StatsPage {
        frame: PageFrame::load(request, heading).await?,
        periods: [None, Some(7), Some(30)].map(choice).into(),
        charts: list_charts(data),
        tables,
    })
}

fn list_charts(data: ChartData) -> Vec<BarChart> {
    let ChartData { iterations_to_done, task_costs, claim_verdicts, check_times } = data;
    vec![
        BarChart::new(
            "Iterations to done",
            "How many iterations completed runs needed on average, by agent and role.",
            iterations_to_done_values(&iterations_to_done),
        ),
        BarChart::new(
            "Cost per accepted task",
            "All runs of a task together, the newest task first.",
            task_costs.iter().map(task_cost_value).collect(),
        ),
        BarChart::new(
            "Verdicts on claims",
            "What the agents claimed and which rule decided.",
            claim_verdict_values(&claim_verdicts),
        ),
        BarChart::new(
            "Time of checks",
            "The checks that took the most time, on average for each time they ran.",
            check_times.iter().map(check_time_value).collect(),
        ),
    ]
}

/// Averages with one decimal, drawn in tenths.
fn iterations_to_done_values(rows: &[IterationsToDoneRow]) -> Vec<BarValue> {
    let mut groups: BTreeMap<(&str, &str), (i64, i64)> = BTreeMap::new();
    for row in rows {
        let sums = groups.entry((&row.agent, &row.role)).or_default();
        sums.0 += row.iterations * row.runs;
        sums.1 += row.runs;
    }
    let value = |((agent, role), (iterations, runs)): ((&str, &str), (i64, i64))| {
        let tenths = iterations * 10 / runs.max(1);
        let is_stage = ralph_core::task::Role::BUILT_IN.iter().any(|known| known.as_str() == role);
        let field = if is_stage { "role" } else { "kind" };
        BarValue {
            label: format!("{agent} · {role}"),
            value: u64::try_from(tenths).unwrap_or(0),
            text: format!("{}.{} in {}", tenths / 10, tenths % 10, pluralize(runs, "run")),
            class: "",
            href: format!("/runs?status=completed&agent={}&{field}={}", path_segment(agent), path_segment(role)),
        }
    };
    groups.into_iter().map(value).collect()
}

fn task_cost_value(row: &TaskCostRow) -> BarValue {
    BarValue {
        label: format!("{} {}", row.task, row.title),
        value: u64::try_from(row.cost_micros.unwrap_or(0)).unwrap_or(0),
        text: format!("{}, {}", short_cost(row.cost_micros), pluralize(row.runs, "run")),
        class: "",
        href: format!("/runs?task={}", path_segment(&row.task)),
    }
}

fn claim_verdict_values(rows: &[ClaimVerdictRow]) -> Vec<BarValue> {
    let total: i64 = rows.iter().map(|row| row.claims).sum();
    let value = |row: &ClaimVerdictRow| {
        let verdict = row.verdict.replace('_', " ");
        let rule = match (&row.method, row.verdict.as_str()) {
            (_, "accepted") => verdict,
            (Some(method), _) => format!("{verdict}: {}", method.replace('_', " ")),
            (None, _) => format!("{verdict}: protected files"),
        };
        BarValue {
            label: rule,
            value: u64::try_from(row.claims).unwrap_or(0),
            text: format!("{} ({}%)", pluralize(row.claims, "claim"), row.claims * 100 / total.max(1)),
            class: StatusMark::new(&row.verdict).class,
            href: match row.verdict.as_str() {
                "accepted" => "/runs?verdict=accepted".to_owned(),
                other => {
                    let method = row.method.as_deref().unwrap_or("none");
                    format!("/runs?verdict={}&method={}", path_segment(other), path_segment(method))
                }
            },
        }
    };
    rows.iter().map(value).collect()
}

fn check_time_value(row: &CheckTimeRow) -> BarValue {
    let average = row.total_ms / row.times_run.max(1);
    BarValue {
        label: row.command.clone(),
        value: u64::try_from(average).unwrap_or(0),
        text: format!("{} × {}", format_elapsed(average), row.times_run),
        class: "",
        href: format!("/runs/{}", path_segment(&row.newest_run)),
    }
}

impl GroupTable {
    fn new(title: &'static str, grouping: StatsGrouping, view: &StatsView) -> Self {
        let line = |(key, summary): &(Option<String>, ralph_core::stats::RunStatsSummary)| {
            let key = key.as_deref();
            let totals = &summary.totals;
            let field = match grouping {
                StatsGrouping::Agent => "agent",
                StatsGrouping::Role => "role",
                StatsGrouping::Task => "task",
                StatsGrouping::All | StatsGrouping::Model | StatsGrouping::Spec | StatsGrouping::Iteration => "kind",
            };
            GroupLine {
                name: DisplayText::new(key.unwrap_or("none")),
                href: key.map_or_else(|| "/runs".to_owned(), |key| format!("/runs?{field}={}", path_segment(key))),
                runs: totals.runs,
                done: summary.success_rate().map_or_else(|| "–".to_owned(), |rate| format!("{:.0}%", rate * 100.0)),
                iterations: summary
                    .iteration_stats()
                    .map_or_else(|| "–".to_owned(), |stats| format!("{:.1}", stats.mean)),
                cost: short_cost(totals.spent.cost_micros.and_then(|micros| i64::try_from(micros).ok())),
                rejected: totals.rejected_claims,
                time: summary
                    .mean_work_ms()
                    .and_then(|millis| i64::try_from(millis).ok())
                    .map_or_else(String::new, format_elapsed),
            }
        };
        Self { title, lines: view.groups().iter().map(line).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: U5
    #[test]
    fn the_iterations_of_a_role_are_averaged_over_its_runs() {
        let row = |iterations, runs| IterationsToDoneRow {
            agent: "claude".to_owned(),
            role: "coder".to_owned(),
            iterations,
            runs,
        };
        let values = iterations_to_done_values(&[row(1, 3), row(5, 1)]);
        assert_eq!((values.len(), values[0].text.as_str()), (1, "2.0 in 4 runs"));
        assert_eq!(values[0].href, "/runs?status=completed&agent=claude&role=coder");
    }

    // spec: U5
    #[test]
    fn shares_of_verdicts_are_those_of_all_claims() {
        let row = |verdict: &str, method: Option<&str>, claims| ClaimVerdictRow {
            verdict: verdict.to_owned(),
            method: method.map(str::to_owned),
            claims,
        };
        let values = claim_verdict_values(&[row("accepted", None, 3), row("rejected", Some("external"), 1)]);
        assert_eq!(values[1].label, "rejected: external");
        assert_eq!(values[1].text, "1 claim (25%)");
        assert_eq!(values[0].href, "/runs?verdict=accepted");
        assert_eq!(values[1].href, "/runs?verdict=rejected&method=external");
    }
}
