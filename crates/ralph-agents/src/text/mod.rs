//! The adapter for any program that reads a prompt on stdin. Everything that it prints is agent text.
mod launch;

pub(crate) use launch::{PlainTextParser, TextAgent};
