//! Renders a stored event as a line of JSON.
use serde_json::Value;

use ralph_store::EventRow;

/// Returns an event with its position in the journal: `{"event", "run", "seq", "at", …}`. The stored body is an object
/// that begins with the event name; the position is inserted after it.
#[must_use]
pub fn event_json_line(run: &str, row: &EventRow) -> String {
    let name_end = row.body.match_indices('"').nth(3).map_or(0, |(at, _)| at + 1);
    let (event, rest) = row.body.split_at(name_end);
    format!("{event},\"run\":\"{run}\",\"seq\":{},\"at\":{}{rest}", row.seq, timestamp_json(row.at))
}

/// Returns a stored time as an ISO 8601 string in UTC.
#[must_use]
pub fn timestamp_json(millis: i64) -> Value {
    jiff::Timestamp::from_millisecond(millis).map_or(Value::Null, |at| at.to_string().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_journal_position_follows_the_event_name() {
        let row = EventRow { seq: 7, at: 0, body: r#"{"event":"iteration.started","iteration":2}"#.to_owned() };
        let line = event_json_line("r1", &row);
        let expected = r#"{"event":"iteration.started","run":"r1","seq":7,"at":"1970-01-01T00:00:00Z","iteration":2}"#;
        assert_eq!(line, expected);
    }
}
