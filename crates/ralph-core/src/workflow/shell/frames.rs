//! Where the scanner is: the quotes and expansions that are open.
use alloc::collections::VecDeque;
use core::ops::Range;

use super::heredoc::Heredoc;
use super::words::{CommandKind, DeclareOptions, TestWords};

pub(super) enum Frame {
    Code(CodeFrame),
    DoubleQuotes,
    /// `${…}`
    Parameter(ParameterFrame),
    /// `$((…))`, `((…))`, `$[…]` or a subscript.
    Arithmetic(ArithmeticFrame),
    /// The body of a here-document that the shell expands.
    HeredocBody {
        outer_limit: usize,
        resume_at: usize,
    },
}

/// Commands: the script itself, `$(…)`, `(…)`, `<(…)` or the words of an array.
pub(super) struct CodeFrame {
    /// Whether a `)` ends the frame.
    pub has_closer: bool,
    /// Whether commands can start here; not in the words of an array.
    pub has_commands: bool,
    /// Here-documents whose bodies begin after the next newline.
    pub pending: VecDeque<Heredoc>,
    /// The start of the current word.
    pub word_start: Option<usize>,
    /// The number of edits before the current word.
    pub word_first_edit: usize,
    /// Whether the next word is the name of a command or a keyword.
    pub is_command_start: bool,
    /// The `case` commands that are open: a `)` ends a pattern.
    pub case_depth: usize,
    pub command: CommandKind,
    /// The options of a declaration.
    pub declare_options: DeclareOptions,
    /// The word before the current one in its command.
    pub previous_word: Range<usize>,
    /// Whether the options of `printf` have ended.
    pub has_format: bool,
    /// Whether the command has a word that names a shell.
    pub has_shell_word: bool,
    /// Whether the words are elements of an associative array.
    pub has_text_keys: bool,
    /// How the shell reads the output, if the frame is a substitution.
    pub output: NumberContext,
    /// Inside `[[ … ]]`.
    pub test: Option<TestWords>,
}

impl CodeFrame {
    pub fn new(has_closer: bool, has_commands: bool) -> Self {
        Self {
            has_closer,
            has_commands,
            pending: VecDeque::new(),
            word_start: None,
            word_first_edit: 0,
            is_command_start: has_commands,
            case_depth: 0,
            command: CommandKind::Other,
            declare_options: DeclareOptions::default(),
            previous_word: 0..0,
            has_format: false,
            has_shell_word: false,
            has_text_keys: false,
            output: NumberContext::Text,
            test: None,
        }
    }

    pub fn start_command(&mut self) {
        self.is_command_start = self.has_commands;
        self.command = CommandKind::Other;
        self.declare_options = DeclareOptions::default();
        self.previous_word = 0..0;
        self.has_format = false;
        self.has_shell_word = false;
    }
}

#[derive(Clone, Copy)]
pub(super) struct ParameterFrame {
    pub is_quoted: bool,
    pub operator: ParameterOperator,
    /// How the shell reads the result.
    pub output: NumberContext,
}

/// How the shell reads the result of an expansion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NumberContext {
    Text,
    /// As an expression.
    Number,
    /// As words of `test`, which reads operators such as `-v` in them: a value must stay one word.
    Words,
    /// As an expression, if an operator of `[[ … ]]` compares numbers.
    Compared {
        code_frame: usize,
    },
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ParameterOperator {
    /// `${x:-word}` and its like.
    Word,
    /// `${x#pattern}`, `${x/pattern/text}` and their like.
    Pattern,
    /// `${x:offset:length}`.
    Substring,
}

pub(super) struct ArithmeticFrame {
    pub closer: ArithmeticCloser,
    /// Parentheses or brackets that are open inside.
    pub depth: usize,
    /// Whether the text may be the key of an associative array.
    pub is_key: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ArithmeticCloser {
    DoubleParenthesis,
    Bracket,
}
