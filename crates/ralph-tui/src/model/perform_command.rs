//! The effect of each command of the key table.
use ralph_app::board::CardKind;
use ralph_app::inbox::{InboxAnswer, InboxItem};
use ralph_core::limit_change::{LimitChange, LimitChanges};
use ralph_util::amounts::DollarAmount;

use super::board_action::{BoardAction, BoardOrder, OrderKind};
use super::board_state::BoardState;
use super::card_filter::CardFilter;
use super::detail_pane::{DetailView, LoadedDetail, Subject};
use super::handle_input::preview_selected;
use super::output_pane::OutputPane;
use super::overlay::{AskPurpose, AskedText, Overlay};
use super::panel::Panel;
use super::text_field::TextField;
use crate::keys::BoardCommand;

pub(crate) fn perform_command(state: &mut BoardState, command: BoardCommand) -> Vec<BoardAction> {
    use BoardCommand as Command;
    match command {
        Command::MoveDown => move_by(state, 1),
        Command::MoveUp => move_by(state, -1),
        Command::PageDown => move_by(state, page_of(state)),
        Command::PageUp => move_by(state, -page_of(state)),
        Command::MoveToStart => move_by(state, i64::MIN / 4),
        Command::MoveToEnd => move_by(state, i64::MAX / 4),
        Command::NextPanel => focus_panel(state, state.focus.cycle(1)),
        Command::PreviousPanel => focus_panel(state, state.focus.cycle(Panel::ALL.len() - 1)),
        Command::FocusPanel(index) => focus_panel(state, Panel::ALL.get(index).copied().unwrap_or(state.focus)),
        Command::Open => open_selected(state),
        Command::Back => go_back(state),
        Command::ToggleZoom => {
            state.is_zoomed = !state.is_zoomed;
            Vec::new()
        }
        Command::ShowHelp => show_overlay(state, Overlay::Help { query: TextField::default(), selected: 0 }),
        Command::ShowPalette => show_overlay(state, Overlay::Palette(TextField::default())),
        Command::Search => start_search(state),
        Command::NextHit => find_hit(state, true),
        Command::PreviousHit => find_hit(state, false),
        Command::NextSortColumn => {
            state.sort.column = state.sort.column.next();
            changed_order(state)
        }
        Command::ReverseSort => {
            state.sort.is_reversed = !state.sort.is_reversed;
            changed_order(state)
        }
        Command::Reload => vec![BoardAction::Reload],
        Command::Redraw => vec![BoardAction::Redraw],
        Command::Suspend => vec![BoardAction::Suspend],
        Command::Quit => vec![BoardAction::Quit],
        view_or_order => perform_on_subject(state, view_or_order),
    }
}

fn perform_on_subject(state: &mut BoardState, command: BoardCommand) -> Vec<BoardAction> {
    use BoardCommand as Command;
    let Some(subject) = state.subject() else { return Vec::new() };
    match command {
        Command::ViewSummary => open_view(state, subject, DetailView::Summary),
        Command::ViewWhy => open_view(state, subject, DetailView::Why),
        Command::ViewDiff => open_view(state, subject, DetailView::Diff),
        Command::ViewReceipt => open_view(state, subject, DetailView::Receipt),
        Command::ViewOutput => open_view(state, subject, DetailView::Output),
        Command::ViewGraph => open_view(state, subject, DetailView::Graph),
        Command::OpenPager => vec![BoardAction::OpenPager(subject)],
        Command::Guide => ask(state, format!("guidance for the next prompt of {}", subject.name), AskPurpose::Guide),
        Command::Pause => order(state, subject, OrderKind::Pause),
        Command::Resume => order(state, subject, OrderKind::Resume),
        Command::Cancel => {
            let question =
                format!("cancel {}? its agent is stopped, and a cancelled run cannot be resumed", subject.name);
            confirm(state, question, BoardOrder { subject, kind: OrderKind::Cancel })
        }
        Command::Retry => {
            let question = format!("retry {} from its first stage? its commits stay", subject.name);
            confirm(state, question, BoardOrder { subject, kind: OrderKind::Retry })
        }
        Command::Rewind => ask(state, format!("rewind {} to the end of iteration", subject.name), AskPurpose::RewindTo),
        Command::AddIterations => order(state, subject, OrderKind::ChangeLimits(more_iterations())),
        Command::RemoveIterations => remove_iteration(state, subject),
        Command::RaiseCost => ask(
            state,
            format!("spending limit of {} in dollars (10 is a total, +5 adds)", subject.name),
            AskPurpose::RaiseCost,
        ),
        Command::Approve | Command::Reject | Command::Answer => answer_item(state, subject, command),
        Command::NextIteration => select_iteration(state, subject, 1),
        Command::PreviousIteration => select_iteration(state, subject, -1),
        output => perform_in_output(state, output),
    }
}

fn perform_in_output(state: &mut BoardState, command: BoardCommand) -> Vec<BoardAction> {
    use BoardCommand as Command;
    match command {
        Command::ToggleFollow if state.output.is_following() => state.output.scroll(-1, state.detail_height),
        Command::ToggleFollow => state.output.follow_again(),
        Command::ToggleFold => state.output.toggle_block(),
        Command::ToggleAllFolds => state.output.toggle_all(),
        Command::NextKindFilter => state.output.kinds = state.output.kinds.next(),
        Command::NextRoleFilter => state.output.show_next_role(),
        _ => {}
    }
    Vec::new()
}

/// Selects the iteration `step` after the selected one in the open view; past the ends, all of them.
fn select_iteration(state: &mut BoardState, mut subject: Subject, step: i64) -> Vec<BoardAction> {
    if state.detail.view == DetailView::Output {
        state.output.change_iteration(step);
        subject.iteration = state.output.iteration;
        state.detail.subject = Some(subject);
        return Vec::new();
    }
    let mut newest = state.detail.newest_iteration();
    if let Some(card) = state.card_of(&subject) {
        subject.run = card.run.clone();
        newest = newest.max(u32::try_from(card.iteration).unwrap_or(0));
    }
    let now = i64::from(subject.iteration.unwrap_or(if step < 0 { newest + 1 } else { 0 }));
    let wanted = u32::try_from(now + step).unwrap_or(0);
    subject.iteration = (1..=newest).contains(&wanted).then_some(wanted);
    if state.detail.view == DetailView::Diff {
        return view_subject(state, subject, DetailView::Diff);
    }
    // The criteria show all iterations: only the mark moves.
    state.detail.subject = Some(subject);
    Vec::new()
}

fn page_of(state: &BoardState) -> i64 {
    i64::try_from(state.detail_height.saturating_sub(1).max(5)).unwrap_or(10)
}

fn move_by(state: &mut BoardState, by: i64) -> Vec<BoardAction> {
    if state.focus != Panel::Detail {
        let line = i64::try_from(state.selected_line(state.focus)).unwrap_or(0).saturating_add(by).max(0);
        state.select_line(state.focus, usize::try_from(line).unwrap_or(usize::MAX));
        return preview_selected(state);
    }
    match state.detail.view {
        DetailView::Output => state.output.scroll(by, state.detail_height),
        _ => {
            let last = match &state.detail.loaded {
                LoadedDetail::Lines(lines) | LoadedDetail::Failed(lines) => lines.len(),
                LoadedDetail::Grids(grids) => {
                    grids.iter().map(|grid| grid.criteria.len() + grid.iterations.len() + 12).sum()
                }
                LoadedDetail::Nothing | LoadedDetail::Loading => 0,
            };
            let scroll = i64::try_from(state.detail.scroll).unwrap_or(0).saturating_add(by).max(0);
            // Wrapped lines take more rows than one: the last of them can be scrolled to the top.
            let is_wrapped = matches!(state.detail.loaded, LoadedDetail::Lines(_));
            let most = last.saturating_sub(if is_wrapped { 1 } else { state.detail_height });
            state.detail.scroll = usize::try_from(scroll).unwrap_or(usize::MAX).min(most);
        }
    }
    Vec::new()
}

fn focus_panel(state: &mut BoardState, panel: Panel) -> Vec<BoardAction> {
    if panel == Panel::Detail {
        focus_detail(state);
        return Vec::new();
    }
    state.focus = panel;
    preview_selected(state)
}

/// Opens the selected line in the detail panel, which gets the focus.
pub(crate) fn open_selected(state: &mut BoardState) -> Vec<BoardAction> {
    let actions = preview_selected(state);
    if state.subject().is_some() {
        focus_detail(state);
    }
    actions
}

fn open_view(state: &mut BoardState, subject: Subject, view: DetailView) -> Vec<BoardAction> {
    let actions = view_subject(state, subject, view);
    focus_detail(state);
    actions
}

/// Shows a view of a subject, and asks for its content.
pub(crate) fn view_subject(state: &mut BoardState, subject: Subject, view: DetailView) -> Vec<BoardAction> {
    let was_output = state.detail.view == DetailView::Output && state.detail.subject.is_some();
    let is_same = state.detail.subject.as_ref().is_some_and(|shown| shown.id == subject.id);
    state.detail.open(subject.clone(), view);
    match (view, was_output) {
        (DetailView::Output, true) if is_same => Vec::new(),
        (DetailView::Output, _) => {
            state.output = OutputPane { iteration: subject.iteration, ..OutputPane::default() };
            vec![BoardAction::FollowOutput(subject)]
        }
        (_, true) => vec![BoardAction::StopOutput, BoardAction::Load { subject, view }],
        (_, false) => vec![BoardAction::Load { subject, view }],
    }
}

fn go_back(state: &mut BoardState) -> Vec<BoardAction> {
    if state.is_zoomed {
        state.is_zoomed = false;
    } else if state.focus == Panel::Detail {
        return leave_detail(state);
    } else if !state.filter.is_empty() {
        return clear_filter(state);
    }
    Vec::new()
}

/// Gives the focus back to the list that had it before.
fn leave_detail(state: &mut BoardState) -> Vec<BoardAction> {
    state.focus = state.last_list;
    match state.detail.subject.clone() {
        Some(subject) if state.detail.view == DetailView::Output => view_subject(state, subject, DetailView::Summary),
        Some(_) | None => Vec::new(),
    }
}

/// Gives the focus to the detail panel, and remembers the list that had it.
fn focus_detail(state: &mut BoardState) {
    if state.focus != Panel::Detail {
        state.last_list = state.focus;
    }
    state.focus = Panel::Detail;
}

fn clear_filter(state: &mut BoardState) -> Vec<BoardAction> {
    state.filter = CardFilter::default();
    state.refresh_visible();
    Vec::new()
}

fn changed_order(state: &mut BoardState) -> Vec<BoardAction> {
    state.refresh_visible();
    let direction = if state.sort.is_reversed { ", reversed" } else { "" };
    state.show_notice(format!("sorted by {}{direction}", state.sort.column.as_str()));
    Vec::new()
}

fn show_overlay(state: &mut BoardState, overlay: Overlay) -> Vec<BoardAction> {
    state.overlay = Some(overlay);
    Vec::new()
}

fn start_search(state: &mut BoardState) -> Vec<BoardAction> {
    let text = match (state.focus, state.detail.view) {
        (Panel::Detail, DetailView::Output) => state.output.search.clone(),
        (Panel::Detail, _) => state.detail.search.clone(),
        (_, _) => state.filter.text.clone(),
    };
    show_overlay(state, Overlay::Search(TextField::with_text(&text)))
}

fn find_hit(state: &mut BoardState, is_forward: bool) -> Vec<BoardAction> {
    match state.detail.view {
        DetailView::Output => state.output.find_next(is_forward),
        _ => state.detail.find_next(is_forward),
    }
    Vec::new()
}

fn ask(state: &mut BoardState, question: String, purpose: AskPurpose) -> Vec<BoardAction> {
    let asked = AskedText { question, field: TextField::default(), purpose };
    show_overlay(state, Overlay::Ask(Box::new(asked)))
}

fn confirm(state: &mut BoardState, question: String, order: BoardOrder) -> Vec<BoardAction> {
    show_overlay(state, Overlay::Confirm { question, action: Box::new(BoardAction::Order(order)) })
}

fn order(state: &mut BoardState, subject: Subject, kind: OrderKind) -> Vec<BoardAction> {
    state.pending_orders += 1;
    vec![BoardAction::Order(BoardOrder { subject, kind })]
}

fn more_iterations() -> LimitChanges {
    LimitChanges { max_iterations: Some(LimitChange::Added(1)), ..LimitChanges::default() }
}

fn remove_iteration(state: &mut BoardState, subject: Subject) -> Vec<BoardAction> {
    let most = state.card_of(&subject).map_or(0, |card| card.max_iterations);
    let Some(total) = u64::try_from(most - 1).ok().filter(|total| *total > 0) else {
        state.show_error(format!("{} has only one iteration", subject.name));
        return Vec::new();
    };
    let changes = LimitChanges { max_iterations: Some(LimitChange::Total(total)), ..LimitChanges::default() };
    order(state, subject, OrderKind::ChangeLimits(changes))
}

/// Answers the item of a subject. An approval needs its text to have been shown before.
fn answer_item(state: &mut BoardState, subject: Subject, command: BoardCommand) -> Vec<BoardAction> {
    let Some(item) = subject.item.clone() else { return Vec::new() };
    match (&item.answer, command) {
        (InboxAnswer::ApproveCommands | InboxAnswer::ApproveTask { .. }, BoardCommand::Approve) => {
            approve_shown(state, subject, item)
        }
        (InboxAnswer::DecideClaim { id }, BoardCommand::Approve) => {
            let question =
                format!("accept the claim of {id}? the measured proof level stays, and the receipt names you");
            confirm(state, question, BoardOrder { subject, kind: OrderKind::Accept { because: None } })
        }
        (InboxAnswer::DecideClaim { id }, BoardCommand::Reject) => ask(
            state,
            format!("why do you reject the claim of {id}? the reason is part of the next prompt"),
            AskPurpose::RejectBecause,
        ),
        (InboxAnswer::DecideClaim { id }, _) => ask(
            state,
            format!("why do you accept the claim of {id}? the reason is part of the receipt"),
            AskPurpose::AcceptBecause,
        ),
        (InboxAnswer::AnswerWorkflow { node, decisions, .. }, _) => answer_workflow(state, node, decisions, command),
        (InboxAnswer::AnswerQuestion { id, .. }, BoardCommand::Answer) => {
            ask(state, format!("your answer for {id}"), AskPurpose::AnswerQuestion)
        }
        (InboxAnswer::Continue { .. } | InboxAnswer::Resume { .. }, BoardCommand::Approve) => {
            order(state, subject, OrderKind::Resume)
        }
        (InboxAnswer::RetryTask { .. }, BoardCommand::Approve) => perform_on_subject(state, BoardCommand::Retry),
        (_, _) => {
            let commands = (state.words.inbox_commands)(&item.answer).join("  or  ");
            state.show_error(format!("this is answered with: {commands}"));
            Vec::new()
        }
    }
}

fn approve_shown(state: &mut BoardState, subject: Subject, item: Box<InboxItem>) -> Vec<BoardAction> {
    let is_shown = state.detail.view == DetailView::InboxText
        && state.detail.subject.as_ref() == Some(&subject)
        && matches!(state.detail.loaded, LoadedDetail::Lines(_));
    if !is_shown || state.focus != Panel::Detail {
        state.show_notice("read what you approve, then press a again");
        return open_view(state, subject, DetailView::InboxText);
    }
    let question = format!("approve what is shown of {}?", subject.name);
    confirm(state, question, BoardOrder { subject, kind: OrderKind::Approve(item) })
}

fn answer_workflow(
    state: &mut BoardState,
    node: &str,
    decisions: &[String],
    command: BoardCommand,
) -> Vec<BoardAction> {
    let Some(subject) = state.subject() else { return Vec::new() };
    let (node, decisions) = (node.to_owned(), decisions.to_vec());
    match command {
        BoardCommand::Approve => {
            let question = format!("approve node {node}?");
            let kind = OrderKind::AnswerWorkflow { node, decision: "approve".to_owned(), text: String::new() };
            confirm(state, question, BoardOrder { subject, kind })
        }
        BoardCommand::Reject => {
            let purpose = AskPurpose::AnswerWorkflow { node: node.clone(), decisions: vec!["reject".to_owned()] };
            ask(state, format!("why do you reject node {node}?"), purpose)
        }
        _ => {
            let question = format!("answer for node {node}: {}, then text", decisions.join(" | "));
            ask(state, question, AskPurpose::AnswerWorkflow { node, decisions })
        }
    }
}

/// Makes the order for which a text was asked.
pub(crate) fn answer_text(state: &mut BoardState, asked: AskedText) -> Vec<BoardAction> {
    let Some(subject) = state.subject() else { return Vec::new() };
    let text = asked.field.text.trim().to_owned();
    let reason = Some(text.clone()).filter(|text| !text.is_empty());
    let kind = match asked.purpose {
        AskPurpose::Guide | AskPurpose::AnswerQuestion if text.is_empty() => {
            Err("write what the agent must know".to_owned())
        }
        AskPurpose::Guide | AskPurpose::AnswerQuestion => Ok(OrderKind::Guide { words: text }),
        AskPurpose::RaiseCost => parse_cost(&text).map(OrderKind::ChangeLimits),
        AskPurpose::RejectBecause => Ok(OrderKind::Reject { because: reason }),
        AskPurpose::AcceptBecause => Ok(OrderKind::Accept { because: reason }),
        AskPurpose::RewindTo => return confirm_rewind(state, subject, &text),
        AskPurpose::AnswerWorkflow { node, decisions } => {
            split_decision(&text, &decisions).map(|(decision, text)| OrderKind::AnswerWorkflow { node, decision, text })
        }
    };
    match kind {
        Ok(kind) => order(state, subject, kind),
        Err(problem) => {
            state.show_error(problem);
            Vec::new()
        }
    }
}

fn confirm_rewind(state: &mut BoardState, subject: Subject, text: &str) -> Vec<BoardAction> {
    match text.parse().ok().filter(|iteration| *iteration > 0) {
        Some(iteration) if subject.kind == CardKind::Task => {
            let question = format!(
                "reset the files of {} to iteration {iteration}? the present ones are stored first",
                subject.name
            );
            confirm(state, question, BoardOrder { subject, kind: OrderKind::Rewind { iteration } })
        }
        Some(_) | None => {
            state.show_error(format!("{text:?} is not an iteration: they count from 1"));
            Vec::new()
        }
    }
}

/// Parses `10` as a total and `+5` as an addition.
fn parse_cost(text: &str) -> Result<LimitChanges, String> {
    let wrong = || format!("{text:?} is not an amount: write 10 or +5");
    let (is_added, number) = match text.strip_prefix('+') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let micros = DollarAmount::parse(number).map_err(|_| wrong())?.as_micros();
    let change = if is_added { LimitChange::Added(micros) } else { LimitChange::Total(micros) };
    Ok(LimitChanges { max_cost_micros: Some(change), ..LimitChanges::default() })
}

/// Takes the decision from the front of the text. If only one is possible, the whole text belongs to it.
fn split_decision(text: &str, decisions: &[String]) -> Result<(String, String), String> {
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    if let Some(named) = decisions.iter().find(|decision| *decision == word) {
        return Ok((named.clone(), rest.trim().to_owned()));
    }
    match decisions {
        [only] => Ok((only.clone(), text.to_owned())),
        _ => Err(format!("begin with one of {}", decisions.join(", "))),
    }
}
