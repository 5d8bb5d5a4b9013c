//! Draws the state. Costs what the screen shows, not what the project has.
pub(crate) mod board_layout;
mod card_lines;
mod detail_lines;
mod draw_board;
mod draw_overlay;
mod list_panel;
mod output_lines;
mod slot_lines;
mod text_width;
pub(crate) mod theme;

pub(crate) use draw_board::draw_board;
pub(crate) use list_panel::entry_at_row;

#[cfg(test)]
mod tests;
