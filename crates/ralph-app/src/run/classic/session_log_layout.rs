//! The layout of a session log: the text around the agent's raw output. These functions only format.
use std::time::Duration;

use jiff::tz::TimeZone;
use ralph_core::event::UnixMillis;
use ralph_core::fact::IterationStatus;
use ralph_core::outcome::RunEnd;

use crate::view::format_cost;

const RULE_COLUMNS: usize = 80;

/// The header of an iteration, before the agent's output.
#[derive(Debug, Clone, Copy)]
pub(super) struct SessionLogHeader<'a> {
    pub(super) iteration: u32,
    pub(super) mode: &'a str,
    /// The time as formatted by [`format_local_time`].
    pub(super) start: &'a str,
}

/// The footer of an iteration, after the agent's output. Lines with unknown values are omitted.
#[derive(Debug, Clone, Copy)]
pub(super) struct SessionLogFooter<'a> {
    pub(super) iteration: u32,
    pub(super) end: &'a str,
    pub(super) took: Duration,
    pub(super) model: Option<&'a str>,
    pub(super) messages: Option<u32>,
    pub(super) cost_micros: Option<u64>,
    pub(super) retries: u32,
    pub(super) status: IterationStatus,
}

/// The summary at the end of the log.
#[derive(Debug, Clone, Copy)]
pub(super) struct SessionLogSummary<'a> {
    pub(super) successful: u32,
    pub(super) failed: u32,
    pub(super) took: Duration,
    pub(super) ended: &'a RunEnd,
}

pub(super) fn format_header(header: &SessionLogHeader<'_>) -> String {
    let (thick, thin) = rule_lines();
    let SessionLogHeader { iteration, mode, start } = header;
    format!("{thick}\nITERATION {iteration}\n{thick}\nMode: {mode}\nStart Time: {start}\n{thin}\n")
}

pub(super) fn format_footer(footer: &SessionLogFooter<'_>) -> String {
    let (thick, thin) = rule_lines();
    let known = [
        footer.model.map(|model| format!("Model: {}\n", to_one_line(model))),
        footer.messages.map(|count| format!("Messages: {count}\n")),
        footer.cost_micros.map(|cost| format!("Cost: {}\n", format_cost(i64::try_from(cost).ok()))),
    ];
    let known: String = known.into_iter().flatten().collect();
    let SessionLogFooter { iteration, end, retries, .. } = footer;
    let took = format_duration(footer.took);
    let status = status_label(footer.status);
    format!(
        "{thin}\nITERATION {iteration} COMPLETE\nEnd Time: {end}\nDuration: {took}\n{known}Retries: {retries}\n\
         Status: {status}\n{thick}\n\n"
    )
}

pub(super) fn format_summary(summary: &SessionLogSummary<'_>) -> String {
    let (thick, _) = rule_lines();
    let SessionLogSummary { successful, failed, ended, .. } = summary;
    let total = successful + failed;
    let took = format_duration(summary.took);
    let (outcome, reason, exit_code) = (ended.outcome.as_str(), to_one_line(&ended.reason), ended.exit_code);
    format!(
        "{thick}\nSESSION SUMMARY\n{thick}\nTotal Iterations: {total}\nSuccessful: {successful}\nFailed: {failed}\n\
         Total Duration: {took}\nExit Reason: {outcome}: {reason}\nExit Code: {exit_code}\n{thick}\n"
    )
}

/// Formats a duration in whole seconds: `7s`, `5m 23s`, `2h 05m 00s`.
fn format_duration(took: Duration) -> String {
    let seconds = took.as_secs();
    match seconds {
        0..=59 => format!("{seconds}s"),
        60..=3_599 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h {:02}m {:02}s", seconds / 3_600, seconds % 3_600 / 60, seconds % 60),
    }
}

/// Formats a remark by ralph between the agent's output.
pub(super) fn format_remark(text: &str) -> String {
    format!("[ralph: {}]\n", to_one_line(text))
}

/// Formats a time as ISO 8601 with the offset of the zone.
pub(super) fn format_local_time(at: UnixMillis, zone: &TimeZone) -> String {
    format_time(at, zone, "%Y-%m-%dT%H:%M:%S%:z")
}

/// Returns the file name of the log of a session that started at this time. The second log of the same second ends in `-2`.
pub(super) fn log_file_name(at: UnixMillis, zone: &TimeZone, number: u32) -> String {
    let stem = format_time(at, zone, "session-%Y%m%d-%H%M%S");
    if number == 1 { format!("{stem}.log") } else { format!("{stem}-{number}.log") }
}

fn format_time(at: UnixMillis, zone: &TimeZone, format: &str) -> String {
    // A time after the year 9999 is shown as the Unix epoch.
    let at = jiff::Timestamp::from_millisecond(at.0).unwrap_or_default();
    at.to_zoned(zone.clone()).strftime(format).to_string()
}

fn rule_lines() -> (String, String) {
    ("=".repeat(RULE_COLUMNS), "-".repeat(RULE_COLUMNS))
}

fn status_label(status: IterationStatus) -> &'static str {
    match status {
        IterationStatus::Finished => "success",
        IterationStatus::Failed => "failed",
        IterationStatus::TimedOut => "timed out",
        IterationStatus::Interrupted => "interrupted",
    }
}

/// Joins a value into one line.
fn to_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use ralph_core::policy::ExhaustionPolicy;

    use super::*;

    const START_TIME: &str = "2026-03-29T01:59:58+01:00";
    const END_TIME: &str = "2026-03-29T03:05:21+02:00";

    fn minimal_footer() -> SessionLogFooter<'static> {
        SessionLogFooter {
            iteration: 3,
            end: END_TIME,
            took: Duration::from_secs(323),
            model: None,
            messages: None,
            cost_micros: None,
            retries: 0,
            status: IterationStatus::Finished,
        }
    }

    // spec: C5
    #[test]
    fn an_iteration_has_a_header_and_a_footer() {
        let known = SessionLogFooter {
            model: Some("opus"),
            messages: Some(12),
            cost_micros: Some(1_230_000),
            retries: 2,
            ..minimal_footer()
        };
        let text = format_header(&SessionLogHeader { iteration: 3, mode: "build", start: START_TIME })
            + "raw output\n"
            + &format_footer(&known);
        insta::assert_snapshot!(text, @r"
    ================================================================================
    ITERATION 3
    ================================================================================
    Mode: build
    Start Time: 2026-03-29T01:59:58+01:00
    --------------------------------------------------------------------------------
    raw output
    --------------------------------------------------------------------------------
    ITERATION 3 COMPLETE
    End Time: 2026-03-29T03:05:21+02:00
    Duration: 5m 23s
    Model: opus
    Messages: 12
    Cost: $1.23
    Retries: 2
    Status: success
    ================================================================================
    ");
    }

    // spec: C5
    #[test]
    fn unknown_values_are_omitted() {
        insta::assert_snapshot!(format_footer(&minimal_footer()), @r"
    --------------------------------------------------------------------------------
    ITERATION 3 COMPLETE
    End Time: 2026-03-29T03:05:21+02:00
    Duration: 5m 23s
    Retries: 0
    Status: success
    ================================================================================
    ");
    }

    // spec: C5
    #[test]
    fn each_iteration_status_has_its_label() {
        let label = |status| {
            let text = format_footer(&SessionLogFooter { status, ..minimal_footer() });
            text.lines().find_map(|line| line.strip_prefix("Status: ").map(str::to_owned)).unwrap()
        };
        let statuses = [
            IterationStatus::Finished,
            IterationStatus::Failed,
            IterationStatus::TimedOut,
            IterationStatus::Interrupted,
        ];
        assert_eq!(statuses.map(label), ["success", "failed", "timed out", "interrupted"]);
    }

    // spec: C5
    #[test]
    fn the_summary_has_the_counts_and_the_exit_reason() {
        let text = format_summary(&SessionLogSummary {
            successful: 4,
            failed: 1,
            took: Duration::from_secs(7_500),
            ended: &RunEnd::iterations_exhausted(
                "Max iterations reached\nwithout completion promise".to_owned(),
                ExhaustionPolicy::Fine,
            ),
        });
        insta::assert_snapshot!(text, @r"
    ================================================================================
    SESSION SUMMARY
    ================================================================================
    Total Iterations: 5
    Successful: 4
    Failed: 1
    Total Duration: 2h 05m 00s
    Exit Reason: exhausted: Max iterations reached without completion promise
    Exit Code: 0
    ================================================================================
    ");
    }

    // spec: C5
    #[test]
    fn times_are_local_with_their_offset() {
        let zone = TimeZone::fixed(jiff::tz::offset(-3));
        let at = UnixMillis(1_774_749_598_123);
        assert_eq!(format_local_time(at, &zone), "2026-03-28T22:59:58-03:00");
        assert_eq!(format_local_time(at, &TimeZone::UTC), "2026-03-29T01:59:58+00:00");
    }

    // spec: C5
    #[test]
    fn a_log_is_named_by_its_start_time_and_a_second_log_of_that_time_gets_a_number() {
        let at = UnixMillis(1_774_749_598_123);
        assert_eq!(log_file_name(at, &TimeZone::UTC, 1), "session-20260329-015958.log");
        assert_eq!(log_file_name(at, &TimeZone::UTC, 2), "session-20260329-015958-2.log");
    }

    // spec: C5
    #[test]
    fn durations_are_whole_seconds() {
        let shown = [0, 999, 59_999, 60_000, 323_000, 7_507_000].map(|ms| format_duration(Duration::from_millis(ms)));
        assert_eq!(shown, ["0s", "0s", "59s", "1m 00s", "5m 23s", "2h 05m 07s"]);
    }
}
