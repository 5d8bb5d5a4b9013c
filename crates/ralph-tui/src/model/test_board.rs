//! Boards for tests.
use std::sync::Arc;

use ralph_app::board::{BoardCard, BoardSnapshot, CardKind, CardLane, LastOutput, LiveLoop};
use ralph_app::inbox::{InboxAnswer, InboxItem, InboxKind};
use ralph_core::event::UnixMillis;

use super::board_action::BoardAction;
use super::board_input::{BoardInput, KeyPress};
use super::board_state::BoardState;
use super::handle_input::handle_input;
use crate::board_options::BoardWords;

pub(crate) const NOW: UnixMillis = UnixMillis(1_700_000_000_000);

pub(crate) fn words() -> BoardWords {
    BoardWords {
        hints: |_| vec!["a hint".to_owned()],
        inbox_commands: |_| vec!["ralph answer".to_owned()],
        remedy: |_| "start a worker".to_owned(),
        text_command: |_, id, _| format!("ralph show {id}"),
    }
}

pub(crate) fn card(id: &str, lane: CardLane) -> BoardCard {
    BoardCard {
        kind: CardKind::Task,
        lane,
        id: id.to_owned(),
        run: None,
        title: format!("Title of {id}"),
        status: match lane {
            CardLane::Running => "coding",
            CardLane::ToDo => "todo",
            CardLane::Ended => "done",
        }
        .to_owned(),
        role: "coder".to_owned(),
        iteration: 3,
        max_iterations: 15,
        agent: Some("claude".to_owned()),
        cost_micros: Some(410_000),
        proof: None,
        reason: None,
        priority: Some(3),
        waits_for: Vec::new(),
        changed_at: NOW.0 - 60_000,
        live: None,
    }
}

pub(crate) fn live_card(id: &str) -> BoardCard {
    let live = LiveLoop {
        started_at: UnixMillis(NOW.0 - 323_000),
        status: "running",
        is_driven: true,
        wait: None,
        attempt: 1,
        is_pause_requested: false,
        pending_guidance: Vec::new(),
        max_cost_micros: Some(5_000_000),
        input_tokens: Some(12_000),
        output_tokens: Some(3_400),
        unmet: vec![4, 2, 1],
        criteria: 4,
        last_output: Some(LastOutput {
            at: UnixMillis(NOW.0 - 12_000),
            tool: Some("Edit src/auth.rs".to_owned()),
            context_percent: Some(61),
        }),
    };
    BoardCard { run: Some(format!("run-of-{id}")), live: Some(Box::new(live)), ..card(id, CardLane::Running) }
}

/// A loop that waits for a rate limit.
pub(crate) fn waiting_card(id: &str) -> BoardCard {
    let mut card = live_card(id);
    if let Some(live) = &mut card.live {
        live.status = "rate_limited";
        live.wait = Some("rate limit until 14:20, not counted".to_owned());
        live.started_at = UnixMillis(NOW.0 - 60_000);
    }
    BoardCard { role: "qa".to_owned(), iteration: 1, max_iterations: 5, ..card }
}

pub(crate) fn item(id: &str, kind: InboxKind, answer: InboxAnswer) -> InboxItem {
    InboxItem {
        kind,
        id: id.to_owned(),
        task: Some(id.to_owned()),
        run: Some(format!("run-of-{id}")),
        title: format!("Title of {id}"),
        reason: "blocked: which API key?".to_owned(),
        since: Some(UnixMillis(NOW.0 - 7_200_000)),
        holds_slot: false,
        blocked_tasks: 2,
        answer,
    }
}

pub(crate) fn question(id: &str) -> InboxItem {
    item(id, InboxKind::Question, InboxAnswer::AnswerQuestion { id: id.to_owned(), is_task: true })
}

/// A project with some of everything.
pub(crate) fn busy_snapshot() -> BoardSnapshot {
    let failed = BoardCard {
        status: "blocked".to_owned(),
        reason: Some("the agent is blocked: which API key?".to_owned()),
        ..card("TASK-005", CardLane::Ended)
    };
    let long = BoardCard {
        title: "Charge customers through the payment provider, 日本語 included, and handle every refund".to_owned(),
        waits_for: vec!["TASK-001".to_owned()],
        ..card("TASK-004", CardLane::ToDo)
    };
    let done = BoardCard { proof: Some("proven".to_owned()), ..card("TASK-006", CardLane::Ended) };
    BoardSnapshot {
        taken_at: NOW,
        inbox: vec![question("TASK-005")],
        cards: vec![
            live_card("TASK-001"),
            waiting_card("TASK-002"),
            card("TASK-003", CardLane::ToDo),
            long,
            failed,
            done,
        ],
        workers: Vec::new(),
        day_cost_micros: Some(2_100_000),
        ..BoardSnapshot::default()
    }
}

/// Returns a board that has received this snapshot.
pub(crate) fn board_with(snapshot: BoardSnapshot) -> BoardState {
    let mut state = BoardState::new("shop".to_owned(), words(), NOW);
    handle_input(&mut state, BoardInput::Snapshot(Arc::new(snapshot)));
    state
}

pub(crate) fn busy_board() -> BoardState {
    board_with(busy_snapshot())
}

/// Presses keys, and returns all actions.
pub(crate) fn press(state: &mut BoardState, keys: &[KeyPress]) -> Vec<BoardAction> {
    keys.iter().flat_map(|key| handle_input(state, BoardInput::Key(*key))).collect()
}

/// Types a text.
pub(crate) fn type_text(state: &mut BoardState, text: &str) -> Vec<BoardAction> {
    text.chars().flat_map(|character| handle_input(state, BoardInput::Key(KeyPress::Char(character)))).collect()
}
