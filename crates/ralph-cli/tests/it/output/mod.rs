//! Output: commands that print, errors, logs, the terminal and secrets.
mod ci_report;
mod commands;
mod debug_log;
mod error_messages;
mod guide_pages;
mod help_topics;
mod journal_format;
mod raw_logs;
mod reading;
mod report;
mod secrets;
mod stats;
mod terminal_screen;
mod why;
