//! The changes between two snapshots, in one line each. Ages and amounts do not count as changes.
use std::collections::BTreeMap;

use ralph_app::board::{BoardCard, BoardSnapshot, CardLane};
use ralph_app::inbox::InboxItem;
use ralph_app::view::format_cost;
use ralph_util::sanitize::sanitize_text;

use crate::board_options::BoardWords;

/// Returns one line per change; without an earlier snapshot, the counts and what runs and waits.
pub(super) fn change_lines(before: Option<&BoardSnapshot>, now: &BoardSnapshot, words: &BoardWords) -> Vec<String> {
    let mut lines = Vec::new();
    if before.is_none() {
        lines.push(count_line(now));
    }
    let known = before.map(|before| before.inbox.as_slice()).unwrap_or_default();
    let is_in = |items: &[InboxItem], item: &InboxItem| items.iter().any(|other| has_same_cause(other, item));
    lines.extend(now.inbox.iter().filter(|item| !is_in(known, item)).map(|item| waiting_line(item, words)));
    let gone = known.iter().filter(|item| !is_in(&now.inbox, item));
    lines.extend(gone.map(|item| clean(&format!("no longer waits: {} {}", item.id, item.kind.label()))));
    lines.extend(card_lines(before, now));
    lines
}

fn has_same_cause(one: &InboxItem, other: &InboxItem) -> bool {
    one.id == other.id && one.kind == other.kind && one.run == other.run && one.reason == other.reason
}

fn count_line(now: &BoardSnapshot) -> String {
    let running = now.cards.iter().filter(|card| card.live.as_ref().is_some_and(|live| live.is_driven)).count();
    format!(
        "{running} running, {} waiting for you, {} to do, {} ended",
        now.inbox.len(),
        now.totals.to_do,
        now.totals.ended
    )
}

fn waiting_line(item: &InboxItem, words: &BoardWords) -> String {
    let reason = item.reason.lines().next().unwrap_or_default();
    let commands = (words.inbox_commands)(&item.answer).join("  or  ");
    clean(&format!("waits for you: {} {}: {reason}; answered by: {commands}", item.id, item.kind.label()))
}

fn card_lines(before: Option<&BoardSnapshot>, now: &BoardSnapshot) -> Vec<String> {
    let cards = before.map(|before| before.cards.as_slice()).unwrap_or_default();
    let known: BTreeMap<&str, String> = cards.iter().map(|card| (card.id.as_str(), card_state(card))).collect();
    let is_told = |card: &&BoardCard| match known.get(card.id.as_str()) {
        Some(state) => *state != card_state(card),
        // At first only what runs; later also what was added. A card that was only not read before is not new.
        None if before.is_none() => card.lane == CardLane::Running,
        None => card.changed_at >= before.map_or(0, |before| before.taken_at.0),
    };
    now.cards.iter().filter(is_told).map(card_line).collect()
}

fn card_line(card: &BoardCard) -> String {
    let cost = card.cost_micros.map(|micros| format!(", {}", format_cost(Some(micros)))).unwrap_or_default();
    clean(&format!("{} {}: {}{cost}", card.name(), card.title, card_state(card)))
}

/// Returns the state in words, without what changes all the time.
fn card_state(card: &BoardCard) -> String {
    let mut parts = vec![match card.lane {
        CardLane::Running => "in progress".to_owned(),
        CardLane::ToDo if card.waits_for.is_empty() => "to do".to_owned(),
        CardLane::ToDo => format!("to do after {}", card.waits_for.join(", ")),
        CardLane::Ended => card.status.clone(),
    }];
    if card.lane != CardLane::ToDo && card.max_iterations > 0 {
        parts.push(card.position());
    }
    if let Some(live) = &card.live {
        parts.push(if live.is_driven { live.status.replace('_', " ") } else { "no process drives it".to_owned() });
        parts.extend(live.wait.clone());
        if let Some(unmet) = live.unmet.last() {
            parts.push(format!("{unmet} of {} criteria unmet", live.criteria));
        }
    }
    parts.extend(card.proof.clone());
    parts.extend(card.reason.clone());
    parts.join(", ")
}

/// Returns the text as one line without control characters.
fn clean(text: &str) -> String {
    sanitize_text(text).replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::test_board::{busy_snapshot, card, question, words};

    // spec: U4
    #[test]
    fn the_first_lines_say_what_runs_and_what_waits() {
        let lines = change_lines(None, &busy_snapshot(), &words());
        assert_eq!(
            lines,
            [
                "2 running, 1 waiting for you, 0 to do, 0 ended",
                "waits for you: TASK-005 question: blocked: which API key?; answered by: ralph answer",
                "TASK-001 Title of TASK-001: in progress, Coder (3/15), running, 1 of 4 criteria unmet, $0.41",
                "TASK-002 Title of TASK-002: in progress, QA (1/5), rate limited, rate limit until 14:20, not counted, \
                 1 of 4 criteria unmet, $0.41",
            ]
        );
    }

    // spec: U4
    #[test]
    fn later_lines_are_one_per_change_and_amounts_and_output_are_none() {
        let before = busy_snapshot();
        let mut now = before.clone();
        now.cards[0].cost_micros = Some(900_000);
        if let Some(live) = &mut now.cards[0].live {
            live.last_output = None;
        }
        assert_eq!(change_lines(Some(&before), &now, &words()), Vec::<String>::new());
        now.cards[0].iteration = 4;
        now.cards[2] = card("TASK-003", CardLane::Ended);
        now.inbox = vec![question("TASK-009")];
        assert_eq!(
            change_lines(Some(&before), &now, &words()),
            [
                "waits for you: TASK-009 question: blocked: which API key?; answered by: ralph answer",
                "no longer waits: TASK-005 question",
                "TASK-001 Title of TASK-001: in progress, Coder (4/15), running, 1 of 4 criteria unmet, $0.90",
                "TASK-003 Title of TASK-003: done, Coder (3/15), $0.41",
            ]
        );
    }

    // spec: U4, S8
    #[test]
    fn a_hostile_title_stays_one_line_without_control_characters() {
        let mut now = busy_snapshot();
        now.cards[0].title = "\u{1b}[2J\u{7}two\nlines".to_owned();
        let lines = change_lines(None, &now, &words());
        assert!(lines.iter().all(|line| !line.contains(char::is_control)), "{lines:?}");
        assert_eq!(lines.len(), 4);
    }
}
