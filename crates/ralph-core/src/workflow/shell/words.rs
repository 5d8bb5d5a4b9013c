//! The words of a command, as far as they decide how the shell reads a value.
use super::ValueUsage;
use super::edits::{Edit, Replacement};

/// Commands that evaluate their words as arithmetic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommandKind {
    Let,
    /// `declare`, `local` or `typeset`, which may get `-i`.
    Declare,
    DeclareInteger,
    Unset,
    Read,
    /// `mapfile` or `readarray`.
    ReadArray,
    Printf,
    /// `test` or `[`.
    Test,
    Wait,
    Eval,
    Other,
}

/// The options of `declare` and its like that change how it reads its words.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct DeclareOptions {
    /// `-a` or `-A`.
    pub is_array: bool,
    /// `-n`
    pub is_reference: bool,
    /// The command is `export`, which takes no subscripts.
    pub is_export: bool,
}

impl CommandKind {
    pub fn from_name(name: &str) -> Self {
        match name {
            "let" => Self::Let,
            "declare" | "local" | "typeset" | "readonly" | "export" => Self::Declare,
            "unset" => Self::Unset,
            "read" => Self::Read,
            "mapfile" | "readarray" => Self::ReadArray,
            "printf" => Self::Printf,
            "test" | "[" => Self::Test,
            "wait" => Self::Wait,
            "eval" => Self::Eval,
            _ => Self::Other,
        }
    }

    pub fn is_arithmetic(self) -> bool {
        match self {
            Self::Let | Self::DeclareInteger => true,
            Self::Declare
            | Self::Unset
            | Self::Read
            | Self::ReadArray
            | Self::Printf
            | Self::Test
            | Self::Wait
            | Self::Eval
            | Self::Other => false,
        }
    }
}

/// Words after which a command starts.
pub(super) fn is_command_prefix(word: &str) -> bool {
    matches!(
        word,
        "then"
            | "do"
            | "else"
            | "elif"
            | "if"
            | "while"
            | "until"
            | "!"
            | "{"
            | "}"
            | "time"
            | "for"
            | "builtin"
            | "command"
    )
}

/// The words of `[[ … ]]`.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TestWords {
    /// The number of edits before the previous word.
    pub previous_first_edit: usize,
    /// The start and the end of the previous word.
    pub previous_start: usize,
    pub previous_end: usize,
    /// Whether the current word is the right side of a numeric comparison.
    pub is_right_side: bool,
    /// Whether the current word is the name of a variable, after `-v` or `-R`.
    pub is_name: bool,
}

/// Operators of `[[ … ]]` that evaluate both sides as arithmetic.
pub(super) fn is_numeric_operator(word: &str) -> bool {
    matches!(word, "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge")
}

/// Marks the values of a word as numbers.
pub(super) fn mark_numbers(edits: &mut [Edit], frame: usize) {
    for edit in edits {
        match &mut edit.replacement {
            Replacement::Value(value) if value.code_frame == Some(frame) => value.usage = ValueUsage::Number,
            Replacement::Compared { code_frame, is_number, .. } if *code_frame == frame => *is_number = true,
            Replacement::Compared { .. }
            | Replacement::Value(_)
            | Replacement::Text(_)
            | Replacement::Variable { .. } => {}
        }
    }
}
