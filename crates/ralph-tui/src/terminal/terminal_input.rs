//! Turns the events of the terminal into inputs of the board.
use std::io;
use std::time::Duration;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Rect;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::draw::board_layout::BoardLayout;
use crate::draw::entry_at_row;
use crate::model::board_input::{BoardInput, KeyPress};
use crate::model::board_state::BoardState;
use crate::model::panel::Panel;

/// How many lines one step of the mouse wheel scrolls.
const WHEEL_LINES: i32 = 3;

/// Whether there is still a terminal to read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TerminalPresence {
    Present,
    /// It was closed, and no signal says so to a process that ignores hangups.
    Gone,
}

/// Waits until keys can be read, the terminal is closed, or the time is over.
pub(crate) fn wait_for_terminal(timeout: Duration) -> io::Result<TerminalPresence> {
    let input = io::stdin();
    let mut wanted = [PollFd::new(&input, PollFlags::IN)];
    let time = Timespec::try_from(timeout).map_err(io::Error::other)?;
    match poll(&mut wanted, Some(&time)) {
        // A signal, such as that of a new size.
        Err(Errno::INTR) => return Ok(TerminalPresence::Present),
        polled => polled?,
    };
    let closed = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
    let is_closed = wanted.iter().any(|terminal| terminal.revents().intersects(closed));
    Ok(if is_closed { TerminalPresence::Gone } else { TerminalPresence::Present })
}

/// Returns the input; `None` for events that mean nothing to the board. A resize only needs a redraw.
pub(crate) fn input_of_event(event: Event, state: &BoardState, screen: Rect) -> Option<BoardInput> {
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => key_press(key).map(BoardInput::Key),
        Event::Paste(text) => Some(BoardInput::Paste(text)),
        Event::Mouse(mouse) => mouse_input(mouse, state, screen),
        Event::Key(_) | Event::Resize(..) | Event::FocusGained | Event::FocusLost => None,
    }
}

fn key_press(key: KeyEvent) -> Option<KeyPress> {
    Some(match key.code {
        KeyCode::Char(character) if key.modifiers.contains(KeyModifiers::CONTROL) => {
            KeyPress::Control(character.to_ascii_lowercase())
        }
        KeyCode::Char(character) => KeyPress::Char(character),
        KeyCode::Enter => KeyPress::Enter,
        KeyCode::Esc => KeyPress::Escape,
        KeyCode::Tab => KeyPress::Tab,
        KeyCode::BackTab => KeyPress::BackTab,
        KeyCode::Backspace => KeyPress::Backspace,
        KeyCode::Delete => KeyPress::Delete,
        KeyCode::Up => KeyPress::Up,
        KeyCode::Down => KeyPress::Down,
        KeyCode::Left => KeyPress::Left,
        KeyCode::Right => KeyPress::Right,
        KeyCode::Home => KeyPress::Home,
        KeyCode::End => KeyPress::End,
        KeyCode::PageUp => KeyPress::PageUp,
        KeyCode::PageDown => KeyPress::PageDown,
        _ => return None,
    })
}

fn mouse_input(mouse: MouseEvent, state: &BoardState, screen: Rect) -> Option<BoardInput> {
    let placed = BoardLayout::new(state, screen).panel_at(mouse.column, mouse.row)?;
    let panel = placed.panel;
    match mouse.kind {
        MouseEventKind::Down(MouseButton::Left) => {
            let inner = inner_area(placed.area);
            let line = if panel == Panel::Detail { 0 } else { entry_at_row(state, panel, inner, mouse.row) };
            Some(BoardInput::Click { panel, line })
        }
        MouseEventKind::ScrollDown => Some(BoardInput::Scroll { panel, lines: WHEEL_LINES }),
        MouseEventKind::ScrollUp => Some(BoardInput::Scroll { panel, lines: -WHEEL_LINES }),
        _ => None,
    }
}

fn inner_area(area: Rect) -> Rect {
    Rect { x: area.x + 1, y: area.y + 1, width: area.width.saturating_sub(2), height: area.height.saturating_sub(2) }
}
