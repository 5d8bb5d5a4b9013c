//! Files that options and variables name, and calls of programs that run commands from a separate file.
use alloc::borrow::ToOwned;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::known_programs::{CommandWrapper, find_interpreter};
use super::shell_words::{ShellWord, WordPiece};
use super::{ShellAnalyzer, tokenize_shell};
use crate::criterion::executed_files::shell_words::ShellToken;

/// Programs that run commands from a separate file.
const TASK_RUNNERS: &[&str] = &["make", "gmake", "bmake", "npm", "pnpm", "yarn", "bun", "just"];

/// Options of make, awk and sed whose value is a file with rules or a program.
const FILE_OPTIONS: &[&str] = &["-f", "--file", "--makefile", "--exec"];

/// A call of a program that runs commands from a separate file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskCall {
    pub program: String,
    /// Its arguments, as far as they need no shell.
    pub words: Vec<String>,
    /// The folders in which it may run.
    pub folders: Vec<String>,
}

impl CommandWrapper {
    /// Returns whether the command also gets arguments that the wrapper reads.
    pub(super) fn reads_arguments(&self) -> bool {
        matches!(self.name, "xargs" | "parallel")
    }
}

/// Returns a command of `find -exec` in which `{}` is a file that only `find` knows.
pub(super) fn with_found_files(words: &[ShellWord]) -> Vec<ShellWord> {
    let replace = |word: &ShellWord| match word.as_literal() {
        Some(text) if text.contains("{}") => unknown_word(),
        Some(_) | None => word.clone(),
    };
    words.iter().map(replace).collect()
}

/// Returns a command of `xargs` with the arguments that it reads.
pub(super) fn with_read_files(words: &[ShellWord]) -> Vec<ShellWord> {
    with_found_files(words).into_iter().chain([unknown_word()]).collect()
}

fn unknown_word() -> ShellWord {
    ShellWord([WordPiece::Unresolved].into())
}

impl ShellAnalyzer<'_> {
    /// Records a call of make, npm and the like. The folder of `make -C` is one of the possible folders.
    pub(super) fn record_task_call(&mut self, name: &str, rest: &[ShellWord]) {
        if !TASK_RUNNERS.contains(&name) {
            return;
        }
        let words: Vec<String> = rest.iter().filter_map(ShellWord::as_literal).map(ToString::to_string).collect();
        let folder_options = ["-C", "--directory", "--cwd", "--prefix"];
        let named =
            words.iter().zip(words.iter().skip(1)).filter(|(option, _)| folder_options.contains(&option.as_str()));
        let named: Vec<String> = named.flat_map(|(_, folder)| self.possible_paths(folder)).collect();
        let folders = if named.is_empty() { self.current_folders.clone() } else { named };
        self.executed.task_calls.push(TaskCall { program: name.to_owned(), words, folders });
    }

    /// Adds the files of `-f FILE`, `-fFILE`, `-nf FILE` and `--file=FILE`.
    pub(super) fn add_program_files(&mut self, rest: &[ShellWord]) {
        let mut words = rest.iter();
        while let Some(word) = words.next() {
            let Some(text) = word.as_literal().map(ToOwned::to_owned) else { continue };
            let is_cluster = text.len() > 2
                && text.ends_with('f')
                && text
                    .strip_prefix('-')
                    .is_some_and(|letters| letters.chars().all(|letter| letter.is_ascii_lowercase()));
            if FILE_OPTIONS.contains(&text.as_str()) || is_cluster {
                words.next().into_iter().for_each(|file| self.add_script(file));
            } else if let Some((option, file)) = text.split_once('=').filter(|(option, _)| option.starts_with("--")) {
                if FILE_OPTIONS.contains(&option) {
                    self.add_script(&ShellWord::literal(file));
                }
            } else if let Some(file) = text.strip_prefix("-f") {
                self.add_script(&ShellWord::literal(file));
            }
        }
    }

    /// Adds the files of `NODE_OPTIONS='--require FILE'` and the like.
    pub(super) fn add_preloaded_files(&mut self, name: &str, value: &ShellWord) {
        let Some(interpreter) = find_interpreter(if name == "RUBYOPT" { "ruby" } else { "node" }) else { return };
        for text in self.possible_values(value) {
            let words: Vec<String> = tokenize_shell(&text)
                .iter()
                .filter_map(|token| match token {
                    ShellToken::Word(word) => word.as_literal().map(ToOwned::to_owned),
                    ShellToken::StandardInput(_) | ShellToken::Substitution(_) | ShellToken::CommandEnd => None,
                })
                .collect();
            for (at, word) in words.iter().enumerate() {
                let (option, attached) = word.split_once('=').unwrap_or((word, ""));
                if interpreter.file_options.contains(&option) {
                    let file =
                        if attached.is_empty() { words.get(at + 1).map_or("", String::as_str) } else { attached };
                    self.add_possible_file(&ShellWord::literal(file));
                }
            }
        }
    }

    /// Adds a file that may be executed: the word may also be the name of something else.
    pub(super) fn add_possible_file(&mut self, word: &ShellWord) {
        let paths: Vec<String> = self.possible_values(word).iter().flat_map(|path| self.possible_paths(path)).collect();
        self.executed.possible_files.extend(paths);
    }
}
