//! How a session log looks: the words around the agent's raw output. Facts in, text out; it writes nothing.
use std::time::Duration;

use jiff::tz::TimeZone;
use ralph_core::event::Millis;
use ralph_core::fact::IterationStatus;
use ralph_core::outcome::Ended;

use ralph_app::view::money;

const WIDTH: usize = 80;

/// What stands before the output of an iteration.
#[derive(Debug, Clone, Copy)]
pub struct Header<'a> {
    pub iteration: u32,
    pub mode: &'a str,
    /// The time as [`local_time`] shows it.
    pub start: &'a str,
}

/// What stands behind it. A line whose value is unknown is left out.
#[derive(Debug, Clone, Copy)]
pub struct Footer<'a> {
    pub iteration: u32,
    pub end: &'a str,
    pub took: Duration,
    pub model: Option<&'a str>,
    pub messages: Option<u32>,
    pub cost_micros: Option<u64>,
    pub retries: u32,
    pub status: IterationStatus,
}

/// What stands at the end of the log.
#[derive(Debug, Clone, Copy)]
pub struct Summary<'a> {
    pub successful: u32,
    pub failed: u32,
    pub took: Duration,
    pub ended: &'a Ended,
}

#[must_use]
pub fn header(header: &Header<'_>) -> String {
    let (thick, thin) = rules();
    let Header { iteration, mode, start } = header;
    format!("{thick}\nITERATION {iteration}\n{thick}\nMode: {mode}\nStart Time: {start}\n{thin}\n")
}

#[must_use]
pub fn footer(footer: &Footer<'_>) -> String {
    let (thick, thin) = rules();
    let known = [
        footer.model.map(|model| format!("Model: {}\n", one_line(model))),
        footer.messages.map(|count| format!("Messages: {count}\n")),
        footer.cost_micros.map(|cost| format!("Cost: {}\n", money(i64::try_from(cost).ok()))),
    ];
    let known: String = known.into_iter().flatten().collect();
    let Footer { iteration, end, retries, .. } = footer;
    let took = lasted(footer.took);
    let status = status(footer.status);
    format!(
        "{thin}\nITERATION {iteration} COMPLETE\nEnd Time: {end}\nDuration: {took}\n{known}Retries: {retries}\n\
         Status: {status}\n{thick}\n\n"
    )
}

#[must_use]
pub fn summary(summary: &Summary<'_>) -> String {
    let (thick, _) = rules();
    let Summary { successful, failed, ended, .. } = summary;
    let total = successful + failed;
    let took = lasted(summary.took);
    let (outcome, reason, exit_code) = (ended.outcome.as_str(), one_line(&ended.reason), ended.exit_code);
    format!(
        "{thick}\nSESSION SUMMARY\n{thick}\nTotal Iterations: {total}\nSuccessful: {successful}\nFailed: {failed}\n\
         Total Duration: {took}\nExit Reason: {outcome}: {reason}\nExit Code: {exit_code}\n{thick}\n"
    )
}

/// Shows a duration in whole seconds: `7s`, `5m 23s`, `2h 05m 00s`.
fn lasted(took: Duration) -> String {
    let seconds = took.as_secs();
    match seconds {
        0..=59 => format!("{seconds}s"),
        60..=3_599 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h {:02}m {:02}s", seconds / 3_600, seconds % 3_600 / 60, seconds % 60),
    }
}

/// Returns a remark of ralph's own among the agent's output.
#[must_use]
pub fn remark(text: &str) -> String {
    format!("[ralph: {}]\n", one_line(text))
}

/// Shows a moment as ISO 8601 has it, in the user's zone, with its offset.
#[must_use]
pub fn local_time(at: Millis, zone: &TimeZone) -> String {
    shown(at, zone, "%Y-%m-%dT%H:%M:%S%:z")
}

/// Returns the name of the log of a session that began then; the second of a name is `-2`.
#[must_use]
pub fn file_name(at: Millis, zone: &TimeZone, number: u32) -> String {
    let stem = shown(at, zone, "session-%Y%m%d-%H%M%S");
    if number == 1 { format!("{stem}.log") } else { format!("{stem}-{number}.log") }
}

fn shown(at: Millis, zone: &TimeZone, format: &str) -> String {
    // A clock beyond the year 9999 is shown as the beginning of all time.
    let at = jiff::Timestamp::from_millisecond(at.0).unwrap_or_default();
    at.to_zoned(zone.clone()).strftime(format).to_string()
}

fn rules() -> (String, String) {
    ("=".repeat(WIDTH), "-".repeat(WIDTH))
}

fn status(status: IterationStatus) -> &'static str {
    match status {
        IterationStatus::Finished => "success",
        IterationStatus::Failed => "failed",
        IterationStatus::TimedOut => "timed out",
        IterationStatus::Interrupted => "interrupted",
    }
}

/// A value never takes more than its line.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use ralph_core::policy::WhenExhausted;

    use super::*;

    const START: &str = "2026-03-29T01:59:58+01:00";
    const END: &str = "2026-03-29T03:05:21+02:00";

    fn plain() -> Footer<'static> {
        Footer {
            iteration: 3,
            end: END,
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
    fn an_iteration_is_framed_by_header_and_footer() {
        let known = Footer {
            model: Some("opus"),
            messages: Some(12),
            cost_micros: Some(1_230_000),
            retries: 2,
            ..plain()
        };
        let text =
            header(&Header { iteration: 3, mode: "build", start: START }) + "raw output\n" + &footer(&known);
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
    fn what_is_unknown_is_left_out() {
        insta::assert_snapshot!(footer(&plain()), @r"
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
    fn the_four_ways_an_iteration_ends_have_their_words() {
        let word = |status| {
            let text = footer(&Footer { status, ..plain() });
            text.lines().find_map(|line| line.strip_prefix("Status: ").map(str::to_owned)).unwrap()
        };
        let ways = [
            IterationStatus::Finished,
            IterationStatus::Failed,
            IterationStatus::TimedOut,
            IterationStatus::Interrupted,
        ];
        assert_eq!(ways.map(word), ["success", "failed", "timed out", "interrupted"]);
    }

    // spec: C5
    #[test]
    fn the_summary_counts_and_says_how_it_ended() {
        let text = summary(&Summary {
            successful: 4,
            failed: 1,
            took: Duration::from_secs(7_500),
            ended: &Ended::exhausted(
                "Max iterations reached\nwithout completion promise".to_owned(),
                WhenExhausted::Fine,
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
        let at = Millis(1_774_749_598_123);
        assert_eq!(local_time(at, &zone), "2026-03-28T22:59:58-03:00");
        assert_eq!(local_time(at, &TimeZone::UTC), "2026-03-29T01:59:58+00:00");
    }

    // spec: C5
    #[test]
    fn a_log_is_named_by_its_moment_and_the_next_of_that_name_by_a_number() {
        let at = Millis(1_774_749_598_123);
        assert_eq!(file_name(at, &TimeZone::UTC, 1), "session-20260329-015958.log");
        assert_eq!(file_name(at, &TimeZone::UTC, 2), "session-20260329-015958-2.log");
    }

    // spec: C5
    #[test]
    fn durations_are_whole_seconds() {
        let shown = [0, 999, 59_999, 60_000, 323_000, 7_507_000].map(|ms| lasted(Duration::from_millis(ms)));
        assert_eq!(shown, ["0s", "0s", "59s", "1m 00s", "5m 23s", "2h 05m 07s"]);
    }
}
