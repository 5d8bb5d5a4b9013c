//! The message of an agent: its text without terminal codes, its lines, and the parts that are code or quotation.
pub(crate) mod code_block;
pub(crate) mod excluded_regions;
pub(crate) mod markdown_lines;
pub(crate) mod message_tail;
pub(crate) mod parsed_message;
pub(crate) mod terminal_filter;
pub(crate) mod utf8_decoder;
