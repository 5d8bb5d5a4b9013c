//! The table of keys.
use super::board_command::{BoardCommand as Command, CommandPlace as Place};
use crate::model::board_input::KeyPress::{self, Char, Control};
use crate::model::board_state::BoardState;
use crate::model::detail_pane::{DetailView, LoadedDetail};
use crate::model::panel::Panel;
use ralph_app::board::CardKind;

/// One line of the help.
pub(crate) struct KeyBinding {
    pub keys: &'static [KeyPress],
    pub command: Command,
    pub place: Place,
    /// Its effect, in words.
    pub help: &'static str,
}

const fn bind(keys: &'static [KeyPress], command: Command, place: Place, help: &'static str) -> KeyBinding {
    KeyBinding { keys, command, place, help }
}

/// Every key of the board. Of two valid bindings of a key, the first one counts.
#[rustfmt::skip]
pub(crate) const KEY_TABLE: &[KeyBinding] = &[
    bind(&[Char('?')], Command::ShowHelp, Place::Everywhere, "search the keys that are valid here; enter executes one"),
    bind(&[Char(':')], Command::ShowPalette, Place::Everywhere, "palette: :failed, :cost>2, :agent=codex, :run ID, :sort cost"),
    bind(&[Char('q')], Command::Quit, Place::Everywhere, "leave; runs continue"),
    bind(&[Char('j'), KeyPress::Down], Command::MoveDown, Place::Everywhere, "down"),
    bind(&[Char('k'), KeyPress::Up], Command::MoveUp, Place::Everywhere, "up"),
    bind(&[KeyPress::PageDown, Control('d')], Command::PageDown, Place::Everywhere, "a page down"),
    bind(&[KeyPress::PageUp, Control('u')], Command::PageUp, Place::Everywhere, "a page up"),
    bind(&[KeyPress::Home, Char('<')], Command::MoveToStart, Place::Everywhere, "to the start"),
    bind(&[KeyPress::End, Char('>'), Char('G')], Command::MoveToEnd, Place::Everywhere, "to the end; follows the output again"),
    bind(&[KeyPress::Tab], Command::NextPanel, Place::Everywhere, "next panel"),
    bind(&[KeyPress::BackTab], Command::PreviousPanel, Place::Everywhere, "previous panel"),
    bind(&[Char('1')], Command::FocusPanel(0), Place::Everywhere, "inbox"),
    bind(&[Char('2')], Command::FocusPanel(1), Place::Everywhere, "slots"),
    bind(&[Char('3')], Command::FocusPanel(2), Place::Everywhere, "running"),
    bind(&[Char('4')], Command::FocusPanel(3), Place::Everywhere, "to do"),
    bind(&[Char('5')], Command::FocusPanel(4), Place::Everywhere, "ended"),
    bind(&[Char('6')], Command::FocusPanel(5), Place::Everywhere, "detail"),
    bind(&[KeyPress::Enter], Command::ToggleFold, Place::Output, "fold or unfold the tool call"),
    bind(&[KeyPress::Enter], Command::Open, Place::Lists, "open"),
    bind(&[KeyPress::Escape], Command::Back, Place::Everywhere, "back: closes the detail, ends full screen, clears the filter"),
    bind(&[Char('z')], Command::ToggleZoom, Place::Everywhere, "this panel in full screen, and back"),
    bind(&[Char('a')], Command::Approve, Place::InboxItem, "approve or accept; the text is shown first"),
    bind(&[Char('x')], Command::Reject, Place::InboxItem, "reject, with a reason"),
    bind(&[Char('e')], Command::Answer, Place::InboxItem, "answer in words, or accept with a reason"),
    bind(&[Char('i')], Command::ViewSummary, Place::Subject, "criteria by iteration"),
    bind(&[Char('w')], Command::ViewWhy, Place::Subject, "why: the deciding rule and its evidence"),
    bind(&[Char('d')], Command::ViewDiff, Place::Subject, "diff of the run, or of the selected iteration"),
    bind(&[Char('r')], Command::ViewReceipt, Place::Subject, "receipt"),
    bind(&[Char('l')], Command::ViewOutput, Place::Subject, "live output"),
    bind(&[Char('L')], Command::OpenPager, Place::Subject, "raw log in $PAGER"),
    bind(&[Char('v')], Command::ViewGraph, Place::Workflow, "graph of the workflow"),
    bind(&[Char('g')], Command::Guide, Place::Subject, "guide: words for the next prompt"),
    bind(&[Char('p')], Command::Pause, Place::Subject, "pause after the iteration"),
    bind(&[Char('u')], Command::Resume, Place::Subject, "resume"),
    bind(&[Char('c')], Command::Cancel, Place::Subject, "cancel, after a question"),
    bind(&[Char('R')], Command::Retry, Place::Task, "retry the task from its first stage"),
    bind(&[Char('b')], Command::Rewind, Place::Task, "rewind the work tree to an iteration"),
    bind(&[Char('+')], Command::AddIterations, Place::Subject, "one iteration more"),
    bind(&[Char('-')], Command::RemoveIterations, Place::LiveLoop, "one iteration less"),
    bind(&[Char('$')], Command::RaiseCost, Place::Subject, "new spending limit; a run that has ended continues"),
    bind(&[Char('/')], Command::Search, Place::Everywhere, "filter the lanes, or search the text"),
    bind(&[Char('n')], Command::NextHit, Place::Text, "next hit"),
    bind(&[Char('N')], Command::PreviousHit, Place::Text, "previous hit"),
    bind(&[Char('f')], Command::ToggleFollow, Place::Output, "follow the end, or stop"),
    bind(&[Char('o')], Command::ToggleAllFolds, Place::Output, "unfold all tool calls, or fold them"),
    bind(&[Char('t')], Command::NextKindFilter, Place::Output, "everything, words only, or tools only"),
    bind(&[Char('T')], Command::NextRoleFilter, Place::Output, "only the next role, or all of them"),
    bind(&[Char(']')], Command::NextIteration, Place::Iterations, "select the next iteration, for its diff and output"),
    bind(&[Char('[')], Command::PreviousIteration, Place::Iterations, "select the previous iteration"),
    bind(&[Char('s')], Command::NextSortColumn, Place::Lists, "sort by the next column"),
    bind(&[Char('S')], Command::ReverseSort, Place::Lists, "reverse the order"),
    bind(&[Control('r')], Command::Reload, Place::Everywhere, "read the project now"),
    bind(&[Control('l')], Command::Redraw, Place::Everywhere, "draw the screen again"),
    bind(&[Control('z')], Command::Suspend, Place::Everywhere, "stop the board; `fg` brings it back"),
    bind(&[Control('c')], Command::Quit, Place::Everywhere, "leave; runs continue"),
];

/// Returns the bindings that are valid now.
pub(crate) fn valid_bindings(state: &BoardState) -> impl Iterator<Item = &'static KeyBinding> {
    KEY_TABLE.iter().filter(|binding| is_valid(state, binding.place))
}

/// Returns the valid binding of a key.
pub(crate) fn binding_for_key(state: &BoardState, key: KeyPress) -> Option<&'static KeyBinding> {
    valid_bindings(state).find(|binding| binding.keys.contains(&key))
}

/// Returns the valid bindings whose key is the query, or whose help contains all its words.
pub(crate) fn search_bindings(state: &BoardState, query: &str) -> Vec<&'static KeyBinding> {
    let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
    let is_key = |binding: &KeyBinding| binding.keys.iter().any(|key| key.name() == query.trim());
    let has_words = |binding: &KeyBinding| words.iter().all(|word| binding.help.to_lowercase().contains(word));
    let (by_key, by_words): (Vec<_>, Vec<_>) = valid_bindings(state)
        .filter(|binding| is_key(binding) || has_words(binding))
        .partition(|binding| is_key(binding));
    by_key.into_iter().chain(by_words).collect()
}

fn is_valid(state: &BoardState, place: Place) -> bool {
    let is_detail = state.focus == Panel::Detail;
    let is_output = is_detail && state.detail.view == DetailView::Output && state.detail.subject.is_some();
    let subject = || state.subject();
    match place {
        Place::Everywhere => true,
        Place::Lists => !is_detail,
        Place::Output => is_output,
        Place::Iterations => {
            is_output
                || (is_detail
                    && state.detail.subject.is_some()
                    && matches!(state.detail.view, DetailView::Summary | DetailView::Diff))
        }
        Place::Text => is_output || (is_detail && matches!(state.detail.loaded, LoadedDetail::Lines(_))),
        Place::Subject => subject().is_some_and(|subject| subject.id != "project"),
        Place::InboxItem => subject().is_some_and(|subject| subject.item.is_some()),
        Place::Workflow => subject().is_some_and(|subject| subject.kind == CardKind::Workflow),
        Place::Task => subject().is_some_and(|subject| subject.kind == CardKind::Task),
        Place::LiveLoop => {
            subject().and_then(|subject| state.card_of(&subject).map(|card| card.live.is_some())).unwrap_or(false)
        }
    }
}
