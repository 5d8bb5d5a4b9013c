//! The rules of the board, one sentence each.
use std::sync::Arc;

use ralph_app::board::{BoardSnapshot, CardLane};
use ralph_app::inbox::{InboxAnswer, InboxKind};
use ralph_core::event::UnixMillis;
use ralph_core::limit_change::{LimitChange, LimitChanges};

use super::board_action::{BoardAction, BoardOrder, OrderKind};
use super::board_input::KeyPress::{self, Char, Enter, Escape};
use super::board_input::{BoardInput, DetailContent, OrderResult};
use super::board_state::BoardState;
use super::card_filter::CardFilter;
use super::detail_pane::DetailView;
use super::handle_input::handle_input;
use super::overlay::Overlay;
use super::panel::Panel;
use super::test_board::{
    NOW, board_with, busy_board, busy_snapshot, card, item, live_card, press, question, type_text, waiting_card,
};
use crate::keys::search_bindings;

fn orders(actions: &[BoardAction]) -> Vec<&OrderKind> {
    let order = |action| match action {
        &BoardAction::Order(BoardOrder { ref kind, .. }) => Some(kind),
        _ => None,
    };
    actions.iter().filter_map(order).collect()
}

fn shown_ids(state: &BoardState, panel: Panel) -> Vec<String> {
    let positions = state.visible.of_panel(panel).iter();
    positions.map(|at| state.cards()[*at].id.clone()).collect()
}

fn filtered(text: &str) -> Vec<String> {
    let filter = CardFilter::parse(text).unwrap();
    busy_snapshot().cards.iter().filter(|card| filter.matches(card)).map(|card| card.id.clone()).collect()
}

// spec: U4, U10
#[test]
fn the_inbox_has_the_focus_when_something_waits() {
    assert_eq!(busy_board().focus, Panel::Inbox);
    let nothing_waits = BoardSnapshot { inbox: Vec::new(), ..busy_snapshot() };
    assert_eq!(board_with(nothing_waits).focus, Panel::Running);
    assert_eq!(board_with(BoardSnapshot::default()).focus, Panel::Inbox);
}

// spec: U4
#[test]
fn the_selection_follows_its_card_when_the_list_changes() {
    let mut state = busy_board();
    press(&mut state, &[Char('3'), Char('j')]);
    assert_eq!(state.subject().unwrap().id, "TASK-002");
    let mut changed = busy_snapshot();
    changed.cards.insert(0, live_card("TASK-000"));
    handle_input(&mut state, BoardInput::Snapshot(Arc::new(changed)));
    assert_eq!((state.subject().unwrap().id.as_str(), state.selected_line(Panel::Running)), ("TASK-002", 2));
}

// spec: U4
#[test]
fn moving_the_selection_shows_the_criteria_and_never_opens_the_output() {
    let mut state = busy_board();
    let actions = press(&mut state, &[Char('3'), Char('j')]);
    assert!(actions.iter().all(|action| matches!(action, BoardAction::Load { view: DetailView::Summary, .. })));
    assert_eq!(actions.len(), 2);
    assert_eq!(state.focus, Panel::Running);
}

// spec: U4
#[test]
fn data_that_is_not_confirmed_for_five_seconds_is_old() {
    let mut state = busy_board();
    handle_input(&mut state, BoardInput::Tick(UnixMillis(NOW.0 + 4_000)));
    assert_eq!(state.stale_for(), None);
    handle_input(&mut state, BoardInput::LoadFailed("the database is busy".to_owned()));
    handle_input(&mut state, BoardInput::Tick(UnixMillis(NOW.0 + 40_000)));
    assert_eq!(state.stale_for(), Some(40_000));
    handle_input(&mut state, BoardInput::Unchanged(UnixMillis(NOW.0 + 40_000)));
    assert_eq!((state.stale_for(), &state.load_problem), (None, &None));
}

// spec: U4, L11
#[test]
fn cancelling_asks_first_and_only_y_is_a_yes() {
    let mut state = busy_board();
    let actions = press(&mut state, &[Char('3'), Char('c'), Enter, Char('x')]);
    assert_eq!(orders(&actions), Vec::<&OrderKind>::new());
    assert!(matches!(state.overlay, Some(Overlay::Confirm { .. })));
    assert_eq!(orders(&press(&mut state, &[Char('n'), Char('c'), Escape])), Vec::<&OrderKind>::new());
    assert_eq!(orders(&press(&mut state, &[Char('c'), Char('y')])), [&OrderKind::Cancel]);
    assert_eq!(state.pending_orders, 1);
}

// spec: U4, U3
#[test]
fn guidance_is_typed_and_sent_to_the_selected_loop() {
    let mut state = busy_board();
    press(&mut state, &[Char('3'), Char('g')]);
    type_text(&mut state, "use q and c");
    handle_input(&mut state, BoardInput::Paste(" pasted\nwords".to_owned()));
    let actions = press(&mut state, &[Enter]);
    assert_eq!(orders(&actions), [&OrderKind::Guide { words: "use q and c pasted words".to_owned() }]);
    handle_input(&mut state, BoardInput::OrderDone(OrderResult { is_done: true, text: "sent".to_owned() }));
    assert_eq!(state.notice.as_ref().map(|notice| (notice.text.as_str(), notice.is_error)), Some(("sent", false)));
    press(&mut state, &[Char('g'), Enter]);
    assert!(state.notice.as_ref().is_some_and(|notice| notice.is_error));
}

// spec: U4, L19
#[test]
fn limits_are_raised_lowered_and_set() {
    let mut state = busy_board();
    let iterations = |change| LimitChanges { max_iterations: Some(change), ..LimitChanges::default() };
    let cost = |change| LimitChanges { max_cost_micros: Some(change), ..LimitChanges::default() };
    let actions = press(&mut state, &[Char('3'), Char('+'), Char('-')]);
    let more = OrderKind::ChangeLimits(iterations(LimitChange::Added(1)));
    let fewer = OrderKind::ChangeLimits(iterations(LimitChange::Total(14)));
    assert_eq!(orders(&actions), [&more, &fewer]);
    for (text, change) in [("+2.5", LimitChange::Added(2_500_000)), ("$10", LimitChange::Total(10_000_000))] {
        press(&mut state, &[Char('$')]);
        type_text(&mut state, text);
        assert_eq!(orders(&press(&mut state, &[Enter])), [&OrderKind::ChangeLimits(cost(change))]);
    }
    press(&mut state, &[Char('$')]);
    type_text(&mut state, "much");
    assert_eq!(orders(&press(&mut state, &[Enter])), Vec::<&OrderKind>::new());
}

// spec: U4, V17
#[test]
fn an_approval_needs_that_its_text_was_shown() {
    let approval = item("TASK-007", InboxKind::CheckApproval, InboxAnswer::ApproveTask { task: "TASK-007".to_owned() });
    let mut state = board_with(BoardSnapshot { inbox: vec![approval.clone()], ..busy_snapshot() });
    let actions = press(&mut state, &[Char('a')]);
    assert_eq!(orders(&actions), Vec::<&OrderKind>::new());
    assert_eq!((state.focus, state.detail.view), (Panel::Detail, DetailView::InboxText));
    // The text has not arrived yet.
    assert_eq!(orders(&press(&mut state, &[Char('a'), Char('y')])), Vec::<&OrderKind>::new());
    let subject = state.detail.subject.clone().unwrap();
    let content = Ok(DetailContent::Text("coder: test -e done".to_owned()));
    handle_input(&mut state, BoardInput::Detail { subject, view: DetailView::InboxText, content });
    let actions = press(&mut state, &[Char('a'), Char('y')]);
    assert_eq!(orders(&actions), [&OrderKind::Approve(Box::new(approval))]);
}

// spec: U4, V17
#[test]
fn claims_are_accepted_and_rejected_with_a_reason() {
    let claim = item("TASK-008", InboxKind::ChangedTests, InboxAnswer::DecideClaim { id: "TASK-008".to_owned() });
    let mut state = board_with(BoardSnapshot { inbox: vec![claim], ..busy_snapshot() });
    assert_eq!(orders(&press(&mut state, &[Char('a'), Char('y')])), [&OrderKind::Accept { because: None }]);
    press(&mut state, &[Char('x')]);
    type_text(&mut state, "the test was right");
    let rejected = press(&mut state, &[Enter]);
    assert_eq!(orders(&rejected), [&OrderKind::Reject { because: Some("the test was right".to_owned()) }]);
    press(&mut state, &[Char('e')]);
    type_text(&mut state, "old");
    assert_eq!(orders(&press(&mut state, &[Enter])), [&OrderKind::Accept { because: Some("old".to_owned()) }]);
}

// spec: U4, U10
#[test]
fn a_question_of_a_workflow_is_answered_with_one_of_its_decisions() {
    let answer = InboxAnswer::AnswerWorkflow {
        run: "wf-1".to_owned(),
        node: "release".to_owned(),
        decisions: vec!["ship".to_owned(), "wait".to_owned()],
    };
    let mut state = board_with(BoardSnapshot {
        inbox: vec![item("wf-1", InboxKind::WorkflowQuestion, answer)],
        ..BoardSnapshot::default()
    });
    press(&mut state, &[Char('e')]);
    type_text(&mut state, "ship on Monday");
    let expected = OrderKind::AnswerWorkflow {
        node: "release".to_owned(),
        decision: "ship".to_owned(),
        text: "on Monday".to_owned(),
    };
    assert_eq!(orders(&press(&mut state, &[Enter])), [&expected]);
    press(&mut state, &[Char('e')]);
    type_text(&mut state, "soon");
    assert_eq!(orders(&press(&mut state, &[Enter])), Vec::<&OrderKind>::new());
}

// spec: U4
#[test]
fn rewinding_needs_an_iteration_and_a_yes() {
    let mut state = busy_board();
    press(&mut state, &[Char('3'), Char('b')]);
    type_text(&mut state, "2");
    assert_eq!(orders(&press(&mut state, &[Enter])), Vec::<&OrderKind>::new());
    assert_eq!(orders(&press(&mut state, &[Char('y')])), [&OrderKind::Rewind { iteration: 2 }]);
    press(&mut state, &[Char('b'), Char('0'), Enter]);
    assert_eq!(state.overlay, None);
}

// spec: U4
#[test]
fn filters_have_words_columns_expressions_and_negation() {
    assert_eq!(filtered("failed"), ["TASK-005"]);
    assert_eq!(filtered("waiting"), ["TASK-002", "TASK-004"]);
    assert_eq!(filtered("ready"), ["TASK-003"]);
    assert_eq!(filtered("role=qa"), ["TASK-002"]);
    assert_eq!(filtered("task-00[12] !role=qa"), ["TASK-001"]);
    assert_eq!(filtered("cost>2"), Vec::<String>::new());
    assert_eq!(filtered("cost<2 done"), ["TASK-006"]);
    assert_eq!(filtered("agent=claude !failed iteration=3 refund"), ["TASK-004"]);
    // Upper case asks for upper case.
    assert_eq!(filtered("TITLE"), Vec::<String>::new());
    for wrong in ["cost>much", "[", "agent=("] {
        assert!(CardFilter::parse(wrong).is_err(), "{wrong}");
    }
}

// spec: U4
#[test]
fn an_unknown_cost_matches_no_comparison() {
    let unknown = ralph_app::board::BoardCard { cost_micros: None, ..card("a", CardLane::Ended) };
    assert!(!CardFilter::parse("cost<1").unwrap().matches(&unknown));
    assert!(CardFilter::parse("!cost<1").unwrap().matches(&unknown));
}

// spec: U4
#[test]
fn the_palette_filters_sorts_and_jumps() {
    let mut state = busy_board();
    press(&mut state, &[Char(':')]);
    type_text(&mut state, "failed");
    press(&mut state, &[Enter]);
    assert_eq!((state.focus, shown_ids(&state, Panel::Ended)), (Panel::Ended, vec!["TASK-005".to_owned()]));
    assert_eq!(shown_ids(&state, Panel::Slots).len(), 2);
    press(&mut state, &[Escape]);
    assert_eq!(shown_ids(&state, Panel::Ended).len(), 2);
    press(&mut state, &[Char(':')]);
    type_text(&mut state, "task 004");
    press(&mut state, &[Enter]);
    assert_eq!((state.focus, state.subject().unwrap().id.as_str()), (Panel::Detail, "TASK-004"));
    press(&mut state, &[Char(':')]);
    type_text(&mut state, "sort nonsense");
    press(&mut state, &[Enter]);
    assert!(state.notice.as_ref().is_some_and(|notice| notice.is_error));
    press(&mut state, &[Char(':')]);
    type_text(&mut state, "q");
    assert_eq!(press(&mut state, &[Enter]), [BoardAction::Quit]);
}

// spec: U4
#[test]
fn lanes_are_sorted_by_a_column_and_reversed() {
    let mut snapshot = busy_snapshot();
    snapshot.cards[1].cost_micros = Some(9_000_000);
    let mut state = board_with(snapshot);
    press(&mut state, &[Char(':')]);
    type_text(&mut state, "sort cost");
    press(&mut state, &[Enter]);
    assert_eq!(shown_ids(&state, Panel::Running), ["TASK-002", "TASK-001"]);
    press(&mut state, &[Char('3'), Char('S')]);
    assert_eq!(shown_ids(&state, Panel::Running), ["TASK-001", "TASK-002"]);
}

// spec: U4
#[test]
fn the_filter_applies_while_it_is_typed_and_an_open_bracket_is_no_error_yet() {
    let mut state = busy_board();
    press(&mut state, &[Char('4'), Char('/')]);
    type_text(&mut state, "task-003");
    assert_eq!(shown_ids(&state, Panel::ToDo), ["TASK-003"]);
    press(&mut state, &[Enter, Escape, Char('/')]);
    type_text(&mut state, "[");
    assert_eq!((shown_ids(&state, Panel::ToDo).len(), &state.notice), (2, &None));
}

// spec: U4
#[test]
fn the_help_lists_the_keys_that_are_valid_here_and_executes_one() {
    let mut state = busy_board();
    let has = |state: &BoardState, query: &str| !search_bindings(state, query).is_empty();
    assert!(has(&state, "approve") && !has(&state, "unfold") && !has(&state, "graph of"));
    press(&mut state, &[Char('5')]);
    assert!(!has(&state, "approve"));
    press(&mut state, &[Char('l')]);
    assert!(has(&state, "unfold"));
    press(&mut state, &[Char('?')]);
    type_text(&mut state, "palette");
    press(&mut state, &[Enter]);
    assert!(matches!(state.overlay, Some(Overlay::Palette(_))));
    // A key finds itself.
    assert_eq!(search_bindings(&state, "w").first().map(|binding| binding.help.starts_with("why")), Some(true));
}

// spec: U4
#[test]
fn a_key_without_a_meaning_says_so() {
    let mut state = busy_board();
    assert_eq!(press(&mut state, &[Char('ß')]), []);
    assert!(state.notice.as_ref().is_some_and(|notice| notice.text.starts_with("ß does nothing here")));
}

// spec: U4
#[test]
fn the_output_is_followed_from_its_key_until_the_detail_is_left() {
    let mut state = busy_board();
    press(&mut state, &[Char('3')]);
    let followed = press(&mut state, &[Char('l')]);
    assert!(matches!(followed.as_slice(), [BoardAction::FollowOutput(subject)] if subject.id == "TASK-001"));
    assert_eq!(press(&mut state, &[Char('l')]), []);
    assert_eq!(press(&mut state, &[Escape]).first(), Some(&BoardAction::StopOutput));
    assert_eq!(state.focus, Panel::Running);
}

// spec: U4, U7
#[test]
fn new_items_of_the_inbox_ring_with_id_and_reason_and_known_ones_do_not() {
    let mut state = busy_board();
    let mut snapshot = busy_snapshot();
    snapshot.inbox.push(question("TASK-009"));
    let actions = handle_input(&mut state, BoardInput::Snapshot(Arc::new(snapshot)));
    let expected = BoardAction::Notify("TASK-009 · question: blocked: which API key?".to_owned());
    assert_eq!(
        actions.iter().filter(|action| matches!(action, BoardAction::Notify(_))).collect::<Vec<_>>(),
        [&expected]
    );
}

// spec: U4
#[test]
fn a_key_of_the_user_runs_for_the_selected_card() {
    let mut state = busy_board();
    state.user_commands.insert('t', "just test {worktree}".to_owned());
    let actions = press(&mut state, &[Char('3'), Char('t')]);
    assert!(matches!(actions.last(), Some(BoardAction::RunUserCommand { key, subject })
        if key == "t" && subject.id == "TASK-001"));
}

// spec: U4
#[test]
fn no_key_changes_the_state_for_ever_or_panics() {
    let keys = [
        Char('j'),
        Char('k'),
        Char('z'),
        Char('l'),
        Char('w'),
        Char('/'),
        Char('a'),
        Char('?'),
        Char(':'),
        Char('x'),
        Char('y'),
        Char('g'),
        Char('s'),
        Char('S'),
        Char('['),
        Char(']'),
        Char('o'),
        Char('f'),
        Char('n'),
        Char('N'),
        Enter,
        Escape,
        KeyPress::Tab,
        KeyPress::BackTab,
        KeyPress::Up,
        KeyPress::PageDown,
        KeyPress::End,
        KeyPress::Home,
        KeyPress::Backspace,
        Char('6'),
        Char('2'),
        Char('+'),
        Char('-'),
        Char('$'),
        Char('e'),
    ];
    let mut state = busy_board();
    let mut seed: usize = 42;
    for step in 0..20_000 {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        press(&mut state, &[keys[(seed >> 33) % keys.len()]]);
        if step % 500 == 0 {
            let snapshot = if step % 1_000 == 0 { busy_snapshot() } else { BoardSnapshot::default() };
            handle_input(&mut state, BoardInput::Snapshot(Arc::new(snapshot)));
        }
    }
    state.overlay = None;
    handle_input(&mut state, BoardInput::Snapshot(Arc::new(busy_snapshot())));
    assert_eq!(press(&mut state, &[Char('q')]), [BoardAction::Quit]);
}

// spec: U4, L6
#[test]
fn a_slot_is_a_driven_loop_and_filters_do_not_hide_it() {
    let mut parked = waiting_card("TASK-010");
    if let Some(live) = &mut parked.live {
        live.is_driven = false;
    }
    let mut snapshot = busy_snapshot();
    snapshot.cards.insert(0, parked);
    let mut state = board_with(snapshot);
    state.filter = CardFilter::parse("nothing-matches").unwrap();
    state.refresh_visible();
    assert_eq!(shown_ids(&state, Panel::Slots), ["TASK-001", "TASK-002"]);
    assert_eq!(shown_ids(&state, Panel::Running), Vec::<String>::new());
}
