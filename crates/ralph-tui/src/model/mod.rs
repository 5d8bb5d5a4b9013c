//! The state of the board and how inputs change it. Pure: no clock, no file, no terminal.
pub(crate) mod board_action;
pub(crate) mod board_input;
pub(crate) mod board_state;
pub(crate) mod card_filter;
pub(crate) mod card_sort;
mod change_scope;
pub(crate) mod detail_pane;
pub(crate) mod handle_input;
pub(crate) mod output_pane;
pub(crate) mod overlay;
pub(crate) mod palette;
pub(crate) mod panel;
pub(crate) mod perform_command;
pub(crate) mod text_field;
pub(crate) mod visible_cards;

#[cfg(test)]
mod reading_tests;
#[cfg(test)]
pub(crate) mod test_board;
#[cfg(test)]
mod tests;
