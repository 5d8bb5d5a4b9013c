//! Uses of values that bash evaluates as code, and that no rewriting makes safe: names of variables that a value makes,
//! whose subscript bash evaluates, and programs that another shell runs. A script with such a use is refused.
use alloc::string::{String, ToString};
use core::ops::Range;

use super::declarations::is_name;
use super::frames::{CodeFrame, Frame};
use super::guards::takes_outside_values;
use super::scanner::Scanner;
use super::words::{CommandKind, DeclareOptions};
use super::{UnsafeUse, UnsafeUseKind};
use crate::workflow::references::identifier_len;

/// The shells whose option `-c` takes a program.
const SHELLS: [&str; 5] = ["bash", "sh", "dash", "zsh", "ksh"];

impl Scanner<'_> {
    /// Notes an ended word of a command, other than its name, that bash reads as the name of a variable.
    pub fn check_name_word(&mut self, range: Range<usize>) {
        if !self.guards_numbers {
            return;
        }
        let text = self.text;
        let word = text.get(range.clone()).unwrap_or_default();
        if is_redirected(text.get(..range.start).unwrap_or_default()) {
            return;
        }
        let Some(code) = self.code_frame() else { return };
        let previous = unquoted(text.get(code.previous_word.clone()).unwrap_or_default());
        let option = unquoted(word);
        let (previous, option) = (previous.as_str(), option.as_str());
        let is_name = match code.command {
            CommandKind::Unset => true,
            CommandKind::Read => !option.starts_with('-') && !takes_argument(previous, "dinNptu"),
            CommandKind::ReadArray => !option.starts_with('-') && !takes_argument(previous, "dnOsuCc"),
            CommandKind::Printf if code.has_format => false,
            CommandKind::Printf if previous == "-v" || (option.starts_with("-v") && option.len() > 2) => true,
            CommandKind::Printf if option == "-v" => false,
            CommandKind::Printf => {
                code.has_format = true;
                // A format from outside could be the option `-v`.
                if has_expansion(word) {
                    self.insert(range.start, "-- ".to_string());
                }
                return;
            }
            CommandKind::Test => matches!(previous, "-v" | "-R"),
            CommandKind::Wait => previous == "-p",
            CommandKind::Declare | CommandKind::DeclareInteger => {
                let options = code.declare_options;
                return self.check_declared_word(range, options);
            }
            CommandKind::Let | CommandKind::Eval | CommandKind::Other => false,
        };
        if is_name && !is_plain_name(word) {
            self.note_unsafe_use(range, UnsafeUseKind::Name);
        }
    }

    /// Checks the operand of `-v` and `-R` in `[[ … ]]`.
    pub fn check_tested_name(&mut self, range: Range<usize>) {
        let word = self.text.get(range.clone()).unwrap_or_default();
        if self.guards_numbers && !is_plain_name(word) {
            self.note_unsafe_use(range, UnsafeUseKind::Name);
        }
    }

    /// A quoted value of an array is read as the list of its elements, and a value of `-n` is a name. Without a value, the
    /// next assignment gives a name.
    fn check_declared_word(&mut self, range: Range<usize>, options: DeclareOptions) {
        let word = self.text.get(range.clone()).unwrap_or_default();
        if word.starts_with(['-', '+']) {
            return;
        }
        let (name, value) = word.split_once('=').map_or((word, ""), |(name, value)| (name, value));
        let name = name.trim_end_matches('+');
        let is_array = options.is_array || self.declarations.is_array(name);
        let is_list = is_array && !value.starts_with('(') && (has_expansion(value) || value.contains('['));
        let is_unsafe_reference = options.is_reference && (value.is_empty() || !is_plain_name(value));
        let is_safe_name = options.is_export || is_plain_name(name);
        if !is_safe_name || is_list || is_unsafe_reference {
            self.note_unsafe_use(range, UnsafeUseKind::Name);
        }
    }

    /// Checks a subscript in the list of the elements of an array.
    pub fn check_element(&mut self, range: Range<usize>) {
        let word = self.text.get(range.clone()).unwrap_or_default();
        let subscript = word.strip_prefix('[').and_then(|rest| rest.split_once("]=").or(rest.split_once("]+=")));
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if self.guards_numbers && subscript.is_some_and(|(subscript, _)| !is_number(subscript)) {
            self.note_unsafe_use(range, UnsafeUseKind::Name);
        }
    }

    /// Checks `${!name}`, which reads the variable that a value names, and `${name@P}`, which expands a value.
    pub fn check_indirection(&mut self) {
        if !self.guards_numbers {
            return;
        }
        let inside = self.rest().get(2..).unwrap_or_default();
        let end = inside.find('}').unwrap_or(inside.len());
        let (body, length) = (inside.get(..end).unwrap_or_default(), end + 3);
        let is_prompt = body.ends_with("@P");
        let is_indirect = body.strip_prefix('!').is_some_and(|name| {
            let rest = name.get(identifier_len(name)..).unwrap_or_default();
            identifier_len(name) > 0 && !matches!(rest, "*" | "@" | "[@]" | "[*]")
        });
        if is_prompt || is_indirect {
            self.note_unsafe_use(self.at..self.at + length, UnsafeUseKind::Name);
        }
    }

    /// Notes a value or a variable in the words of `eval`, or in the program of `sh -c`.
    pub fn check_evaluated(&mut self, range: Range<usize>) {
        let Some(Frame::Code(code)) = self.direct_code_frame().and_then(|index| self.frames.get(index)) else { return };
        let previous = self.text.get(code.previous_word.clone()).unwrap_or_default();
        let is_program = code.has_shell_word && is_option_with(previous, 'c');
        if (code.command == CommandKind::Eval && !code.is_command_start) || is_program {
            // From the start of the word, because the reference alone may occur elsewhere.
            let start = code.word_start.unwrap_or(range.start);
            self.note_unsafe_use(start..range.end, UnsafeUseKind::Program);
        }
    }

    /// Notes a variable with a value from outside where a program is evaluated.
    pub fn check_evaluated_variable(&mut self, range: Range<usize>) {
        if takes_outside_values(self.text.get(range.clone()).unwrap_or_default()) {
            self.check_evaluated(range);
        }
    }

    fn note_unsafe_use(&mut self, range: Range<usize>, kind: UnsafeUseKind) {
        self.unsafe_uses.push(UnsafeUse { range, kind });
    }
}

impl CodeFrame {
    /// Remembers an ended word for those after it.
    pub fn remember_word(&mut self, range: Range<usize>, word: &str) {
        let program = word.rsplit('/').next().unwrap_or_default();
        self.has_shell_word |= SHELLS.contains(&program);
        self.previous_word = range;
    }
}

/// Whether the word after this text is the target of a redirection, such as the text of `<<<`.
fn is_redirected(before: &str) -> bool {
    let before = before.trim_end_matches([' ', '\t']);
    let operator = before.strip_suffix(['&', '|']).filter(|rest| rest.ends_with(['<', '>'])).unwrap_or(before);
    operator.strip_suffix(['<', '>']).is_some_and(|rest| !rest.ends_with('\\'))
}

/// Whether a word is an option whose last letter takes the next word as its argument.
fn takes_argument(word: &str, letters: &str) -> bool {
    word.strip_prefix('-').and_then(|options| options.chars().last()).is_some_and(|last| letters.contains(last))
}

fn is_option_with(word: &str, letter: char) -> bool {
    word.strip_prefix('-').is_some_and(|options| !options.starts_with('-') && options.ends_with(letter))
}

/// A word as the command gets it, if it has no expansions.
fn unquoted(word: &str) -> String {
    word.chars().filter(|letter| !matches!(letter, '"' | '\'' | '\\')).collect()
}

/// Whether a word names a variable, or an element of an array by a number, whatever the values are.
fn is_plain_name(word: &str) -> bool {
    let word = word.trim_matches(['"', '\'']);
    match word.split_once('[') {
        None => !has_expansion(word),
        Some((name, subscript)) => {
            let subscript = subscript.strip_suffix(']').unwrap_or(subscript);
            is_name(name) && (subscript.bytes().all(|byte| byte.is_ascii_digit()) || matches!(subscript, "@" | "*"))
        }
    }
}

fn has_expansion(text: &str) -> bool {
    text.contains(['$', '`'])
}
