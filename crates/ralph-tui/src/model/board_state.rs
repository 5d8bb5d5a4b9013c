//! Everything that the board shows.
use std::collections::BTreeMap;
use std::sync::Arc;

use ralph_app::board::{BoardCard, BoardSnapshot, CardScope};
use ralph_app::inbox::InboxItem;
use ralph_core::event::UnixMillis;

use super::card_filter::CardFilter;
use super::card_sort::CardSort;
use super::detail_pane::{DetailPane, Subject};
use super::output_pane::OutputPane;
use super::overlay::Overlay;
use super::panel::Panel;
use super::visible_cards::VisibleCards;
use crate::board_options::BoardWords;

/// After this time without a word from the loader, its data is shown as old.
pub(crate) const STALE_AFTER_MS: u64 = 5_000;
/// How long a message stays.
const NOTICE_MS: u64 = 12_000;

/// A message about an order or a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Notice {
    pub text: String,
    pub is_error: bool,
    pub shown_at: UnixMillis,
}

/// Which line of a panel is selected, and what it is about: the selection follows its card when the list changes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Selection {
    pub line: usize,
    pub id: Option<String>,
}

pub(crate) struct BoardState {
    pub words: BoardWords,
    pub now: UnixMillis,
    /// `None` until the loader has read the project for the first time.
    pub snapshot: Option<Arc<BoardSnapshot>>,
    /// When the loader last said that its data is current.
    pub seen_at: UnixMillis,
    /// Why the loader cannot read.
    pub load_problem: Option<String>,
    pub visible: VisibleCards,
    /// The cards that were asked for.
    pub scope: CardScope,
    /// An id to open when all cards have been read.
    pub pending_jump: Option<String>,
    pub filter: CardFilter,
    pub sort: CardSort,
    pub focus: Panel,
    /// The list that has the focus again when the detail is left.
    pub last_list: Panel,
    pub is_zoomed: bool,
    pub selections: BTreeMap<usize, Selection>,
    pub detail: DetailPane,
    pub output: OutputPane,
    pub overlay: Option<Overlay>,
    pub notice: Option<Notice>,
    /// Orders that have been given and have not ended.
    pub pending_orders: usize,
    /// The commands of the user, by key.
    pub user_commands: BTreeMap<char, String>,
    /// The height of the detail panel when it was drawn, for scrolling by pages.
    pub detail_height: usize,
    pub project_name: String,
}

impl BoardState {
    pub(crate) fn new(project_name: String, words: BoardWords, now: UnixMillis) -> Self {
        Self {
            words,
            now,
            snapshot: None,
            seen_at: now,
            load_problem: None,
            visible: VisibleCards::default(),
            scope: CardScope::default(),
            pending_jump: None,
            filter: CardFilter::default(),
            sort: CardSort::default(),
            focus: Panel::Inbox,
            last_list: Panel::Inbox,
            is_zoomed: false,
            selections: BTreeMap::new(),
            detail: DetailPane::default(),
            output: OutputPane::default(),
            overlay: None,
            notice: None,
            pending_orders: 0,
            user_commands: BTreeMap::new(),
            detail_height: 20,
            project_name,
        }
    }

    pub(crate) fn cards(&self) -> &[BoardCard] {
        self.snapshot.as_ref().map_or(&[], |snapshot| &snapshot.cards)
    }

    pub(crate) fn inbox(&self) -> &[InboxItem] {
        self.snapshot.as_ref().map_or(&[], |snapshot| &snapshot.inbox)
    }

    pub(crate) fn line_count(&self, panel: Panel) -> usize {
        self.visible.of_panel(panel).len()
    }

    pub(crate) fn selected_line(&self, panel: Panel) -> usize {
        let line = self.selections.get(&panel.index()).map_or(0, |selection| selection.line);
        line.min(self.line_count(panel).saturating_sub(1))
    }

    /// Returns what a line of a panel is about.
    pub(crate) fn subject_at(&self, panel: Panel, line: usize) -> Option<Subject> {
        let position = *self.visible.of_panel(panel).get(line)?;
        match panel {
            Panel::Inbox => self.inbox().get(position).map(Subject::of_inbox_item),
            Panel::Slots | Panel::Running | Panel::ToDo | Panel::Ended => {
                self.cards().get(position).map(Subject::of_card)
            }
            Panel::Detail => None,
        }
    }

    /// Returns what keys act on: the open detail, or the selected line of the focused panel.
    pub(crate) fn subject(&self) -> Option<Subject> {
        match self.focus {
            Panel::Detail => self.detail.subject.clone(),
            list => self.subject_at(list, self.selected_line(list)),
        }
    }

    /// Returns the card of a subject.
    pub(crate) fn card_of(&self, subject: &Subject) -> Option<&BoardCard> {
        self.cards().iter().find(|card| card.id == subject.id)
    }

    pub(crate) fn select_line(&mut self, panel: Panel, line: usize) {
        let line = line.min(self.line_count(panel).saturating_sub(1));
        let id = self.subject_at(panel, line).map(|subject| subject.id);
        self.selections.insert(panel.index(), Selection { line, id });
    }

    /// Selects the lines again that were selected before the lists changed.
    pub(crate) fn restore_selections(&mut self) {
        for panel in Panel::LISTS {
            let Some(selection) = self.selections.get(&panel.index()).cloned() else { continue };
            let is_selected = |line: &usize| self.subject_at(panel, *line).map(|subject| subject.id) == selection.id;
            let nearby = Some(selection.line).filter(is_selected);
            let line = nearby.or_else(|| (0..self.line_count(panel)).find(is_selected));
            self.select_line(panel, line.unwrap_or(selection.line));
        }
    }

    /// Computes which cards are shown.
    pub(crate) fn refresh_visible(&mut self) {
        if let Some(snapshot) = &self.snapshot {
            self.visible = VisibleCards::select(snapshot, &self.filter, self.sort);
        }
        self.restore_selections();
    }

    /// Returns whether cards are missing that a filter or an order needs.
    pub(crate) fn waits_for_cards(&self) -> bool {
        self.snapshot.as_ref().is_some_and(|snapshot| snapshot.scope != self.scope && snapshot.is_partial())
    }

    /// The loader has confirmed the data at this time. A report that waited to be taken is as old as it is.
    pub(crate) fn confirm(&mut self, at: UnixMillis) {
        self.seen_at = UnixMillis(self.seen_at.0.max(at.0.min(self.now.0)));
        self.load_problem = None;
    }

    /// Returns for how long nothing is known, if that is too long to show the data as current.
    pub(crate) fn stale_for(&self) -> Option<u64> {
        let age = self.now.elapsed_since(self.seen_at);
        (age >= STALE_AFTER_MS).then_some(age)
    }

    pub(crate) fn show_notice(&mut self, text: impl Into<String>) {
        self.notice = Some(Notice { text: text.into(), is_error: false, shown_at: self.now });
    }

    pub(crate) fn show_error(&mut self, text: impl Into<String>) {
        self.notice = Some(Notice { text: text.into(), is_error: true, shown_at: self.now });
    }

    /// Removes a message that has been shown long enough. Errors stay until the next key.
    pub(crate) fn expire_notice(&mut self) {
        let is_old = |notice: &Notice| !notice.is_error && self.now.elapsed_since(notice.shown_at) >= NOTICE_MS;
        if self.notice.as_ref().is_some_and(is_old) {
            self.notice = None;
        }
    }
}
