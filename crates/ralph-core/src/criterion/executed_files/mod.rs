//! Which files a command runs: the programs and scripts that it names. Files that it merely reads are the work, and the
//! agent may change them. Nothing is run to find out: what only a shell can tell is named as unknown.
mod known_programs;
mod shell_words;

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use known_programs::{
    COMMAND_PREFIX_WORDS, CommandStart, CommandWrapper, SHELL_NAMES, find_interpreter, find_wrapper, strip_version,
};
use shell_words::{ShellToken, ShellWord, WordPiece, tokenize_shell};

use super::CheckCommand;

/// How deep a shell in a shell is looked into.
const MAX_SHELL_DEPTH: u32 = 5;
/// How many folders, and how many meanings of one word, are followed.
const MAX_ALTERNATIVES: usize = 32;

/// What a command runs, as far as its text tells. Paths are meant from the folder in which it starts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExecutedFiles {
    /// Programs and scripts that it names, each with all the places that may be meant.
    pub scripts: Vec<Vec<String>>,
    /// Files that it may run: modules, or what another command hands to an interpreter.
    pub possible_files: Vec<String>,
    /// Folders in which it looks for programs before all others.
    pub program_folders: Vec<String>,
    /// Words that name what is run in a way that only a shell can tell.
    pub unresolved_words: Vec<String>,
}

impl CheckCommand {
    /// Returns what the command runs. `known` tells the values of the variables that it starts with.
    #[must_use]
    pub fn executed_files(&self, known: &dyn Fn(&str) -> Option<String>) -> ExecutedFiles {
        let folders = vec![".".to_owned()];
        let mut shell = ShellAnalyzer {
            lookup_variable: known,
            current_folders: folders,
            variables: BTreeMap::new(),
            previous_command: Vec::new(),
            executed: ExecutedFiles::default(),
        };
        match self {
            Self::Shell(text) => shell.analyze_text(text, MAX_SHELL_DEPTH),
            Self::Argv(words) => {
                let words: Vec<ShellWord> = words.iter().map(|word| ShellWord::literal(word)).collect();
                shell.analyze_command(&words, &[], MAX_SHELL_DEPTH);
            }
        }
        shell.executed
    }
}

/// What a shell would know at a place of a text. It forgets nothing: a folder that was entered may still be the one.
struct ShellAnalyzer<'a> {
    lookup_variable: &'a dyn Fn(&str) -> Option<String>,
    /// Where it may stand.
    current_folders: Vec<String>,
    /// What variables may hold; nothing where only a shell can tell.
    variables: BTreeMap<String, Option<Vec<String>>>,
    /// The command before.
    previous_command: Vec<ShellWord>,
    executed: ExecutedFiles,
}

impl ShellAnalyzer<'_> {
    fn analyze_text(&mut self, text: &str, depth: u32) {
        if depth == 0 {
            return;
        }
        let (mut words, mut inputs) = (Vec::new(), Vec::new());
        for token in tokenize_shell(text).into_iter().chain([ShellToken::CommandEnd]) {
            match token {
                ShellToken::Word(word) => words.push(word),
                ShellToken::StandardInput(word) => inputs.push(word),
                ShellToken::Substitution(text) => self.analyze_text(&text, depth - 1),
                ShellToken::CommandEnd => {
                    self.analyze_command(&words, &inputs, depth);
                    if !words.is_empty() {
                        self.previous_command = core::mem::take(&mut words);
                    }
                    inputs.clear();
                }
            }
        }
    }

    /// Looks at a simple command.
    fn analyze_command(&mut self, words: &[ShellWord], inputs: &[ShellWord], depth: u32) {
        let Some((first, rest)) = words.split_first() else { return };
        if let Some((name, value)) = first.as_assignment() {
            self.assign_variable(&name, &value);
            return self.analyze_command(rest, inputs, depth);
        }
        if first.as_literal().is_some_and(|word| COMMAND_PREFIX_WORDS.contains(&word)) {
            let is_option = |word: &&ShellWord| word.as_literal().is_some_and(|text| text.starts_with('-'));
            let options = rest.iter().take_while(is_option).count();
            return self.analyze_command(rest.get(options..).unwrap_or_default(), inputs, depth);
        }
        let meanings = self.possible_values(first);
        if meanings.is_empty() {
            self.executed.unresolved_words.push(first.to_source());
        }
        for program in meanings {
            let name = program.rsplit('/').next().unwrap_or(&program).to_owned();
            if program.contains('/') {
                self.add_script(&ShellWord::literal(&program));
            }
            self.analyze_program(&name, (rest, inputs), depth);
        }
    }

    fn analyze_program(&mut self, name: &str, (rest, inputs): (&[ShellWord], &[ShellWord]), depth: u32) {
        let short = strip_version(name);
        if SHELL_NAMES.contains(&short) {
            self.analyze_shell_call(rest, inputs, depth);
        } else if let Some(one) = find_interpreter(short) {
            self.analyze_interpreter_call(one, rest, inputs);
        } else if let Some(one) = find_wrapper(name) {
            self.analyze_wrapped_command(one, (rest, inputs), depth);
        } else {
            self.analyze_builtin(name, rest, depth);
        }
    }

    /// Looks at what neither runs a script nor a command of its own, and at what only a shell knows.
    fn analyze_builtin(&mut self, name: &str, rest: &[ShellWord], depth: u32) {
        match name {
            "cd" | "pushd" => self.enter_folder(rest),
            "eval" => {
                let text: Vec<String> = rest.iter().map(ShellWord::to_source).collect();
                self.analyze_text(&text.join(" "), depth.saturating_sub(1));
            }
            "trap" => {
                if let Some(text) = rest.first() {
                    self.analyze_text(&text.to_source(), depth.saturating_sub(1));
                }
            }
            "export" | "readonly" | "local" | "declare" | "typeset" => {
                for (name, value) in rest.iter().filter_map(ShellWord::as_assignment) {
                    self.assign_variable(&name, &value);
                }
            }
            "for" => self.analyze_for_loop(rest),
            "find" => {
                let is_exec = |word: &ShellWord| {
                    word.as_literal().is_some_and(|text| ["-exec", "-execdir", "-ok", "-okdir"].contains(&text))
                };
                let commands: Vec<&[ShellWord]> = rest.split(is_exec).skip(1).collect();
                commands.into_iter().for_each(|words| self.analyze_command(words, &[], depth));
            }
            "make" | "gmake" | "bmake" => self.analyze_make(rest),
            _ => {}
        }
    }

    fn analyze_make(&mut self, rest: &[ShellWord]) {
        for (option, value) in rest.iter().zip(rest.iter().skip(1)) {
            match option.as_literal() {
                Some("-C" | "--directory") => self.enter_folder(core::slice::from_ref(value)),
                Some("-f" | "--file" | "--makefile") => self.add_script(value),
                Some(_) | None => {}
            }
        }
        for named in rest
            .iter()
            .filter_map(ShellWord::as_literal)
            .filter_map(|word| ["--file=", "--makefile="].iter().find_map(|option| word.strip_prefix(option)))
        {
            self.add_script(&ShellWord::literal(named));
        }
    }

    /// `for NAME in WORDS`
    fn analyze_for_loop(&mut self, rest: &[ShellWord]) {
        let Some((name, values)) = rest.split_first() else { return };
        if let Some(name) = name.as_literal().map(ToString::to_string) {
            values.iter().skip(1).for_each(|value| self.assign_variable(&name, value));
            if values.len() < 2 {
                self.variables.insert(name, None);
            }
        }
    }

    fn analyze_shell_call(&mut self, rest: &[ShellWord], inputs: &[ShellWord], depth: u32) {
        let (mut is_text, mut rest) = (false, rest.iter());
        while let Some(word) = rest.next() {
            match word.as_literal() {
                Some("--") => {
                    return rest.next().into_iter().for_each(|word| self.analyze_shell_argument(word, is_text, depth));
                }
                Some("--rcfile" | "--init-file") => {
                    rest.next().into_iter().for_each(|file| self.add_script(file));
                }
                Some(long) if long.starts_with("--") => {}
                Some(option) if option.len() > 1 && option.starts_with(['-', '+']) => {
                    is_text |= option.contains('c');
                    if option.contains(['o', 'O']) {
                        rest.next();
                    }
                }
                Some("-") => {}
                Some(_) | None => return self.analyze_shell_argument(word, is_text, depth),
            }
        }
        self.add_standard_input(inputs);
    }

    fn analyze_shell_argument(&mut self, word: &ShellWord, is_text: bool, depth: u32) {
        if is_text { self.analyze_text(&word.to_source(), depth.saturating_sub(1)) } else { self.add_script(word) }
    }

    fn analyze_interpreter_call(
        &mut self,
        one: &known_programs::ScriptInterpreter,
        rest: &[ShellWord],
        inputs: &[ShellWord],
    ) {
        let mut rest = rest.iter();
        while let Some(word) = rest.next() {
            let Some(text) = word.as_literal() else { return self.add_script(word) };
            if one.code_options.contains(&text) {
                return;
            } else if text == "-m" {
                return self.add_python_module(rest.next());
            } else if one.file_options.contains(&text) {
                rest.next().into_iter().for_each(|file| self.add_script(file));
            } else if one.value_options.contains(&text) {
                rest.next();
            } else if text == "-" {
                break;
            } else if !text.starts_with('-') && !one.leading_words.contains(&text) {
                return self.add_script(word);
            }
        }
        self.add_standard_input(inputs);
    }

    /// `python -m a.b` runs `a/b.py` or `a/b/__main__.py`, if they are there.
    fn add_python_module(&mut self, name: Option<&ShellWord>) {
        let Some(name) = name.and_then(ShellWord::as_literal) else { return };
        let path = name.replace('.', "/");
        for file in [[&path, ".py"].concat(), [&path, "/__main__.py"].concat()] {
            let places = self.possible_paths(&file);
            self.executed.possible_files.extend(places);
        }
    }

    /// An interpreter without a script reads one: from a file, or from the command before.
    fn add_standard_input(&mut self, inputs: &[ShellWord]) {
        let before = core::mem::take(&mut self.previous_command);
        for word in inputs.iter().chain(before.iter().skip(1)) {
            for meaning in self.possible_values(word) {
                let places = self.possible_paths(&meaning);
                self.executed.possible_files.extend(places);
            }
        }
        let unknown = inputs.iter().filter(|word| self.possible_values(word).is_empty());
        let unknown: Vec<String> = unknown.map(ShellWord::to_source).collect();
        self.executed.unresolved_words.extend(unknown);
        self.previous_command = before;
    }

    fn analyze_wrapped_command(
        &mut self,
        one: &CommandWrapper,
        (rest, inputs): (&[ShellWord], &[ShellWord]),
        depth: u32,
    ) {
        let mut rest = rest;
        let mut arguments = match one.command_start {
            CommandStart::AfterArguments(count) => count,
            CommandStart::AfterWord(_) => 0,
        };
        let mut is_open = matches!(one.command_start, CommandStart::AfterArguments(_));
        while let Some((word, after)) = rest.split_first() {
            let text = word.as_literal().unwrap_or_default();
            if one.command_text_options.contains(&text) {
                return after.first().into_iter().for_each(|word| self.analyze_shell_argument(word, true, depth));
            }
            rest = after;
            if one.folder_options.contains(&text) {
                self.enter_folder(after.get(..1).unwrap_or_default());
                rest = after.get(1..).unwrap_or_default();
            } else if one.value_options.contains(&text) {
                rest = after.get(1..).unwrap_or_default();
            } else if text.starts_with('-') {
            } else if arguments > 0 {
                arguments -= 1;
            } else if matches!(one.command_start, CommandStart::AfterWord(first) if first == text) {
                is_open = true;
            } else if is_open {
                // `uv run check.py` names a script without a slash.
                let meanings = self.possible_values(word);
                let places: Vec<String> = meanings.iter().flat_map(|file| self.possible_paths(file)).collect();
                self.executed.possible_files.extend(places);
                let command: Vec<ShellWord> = core::iter::once(word).chain(after).cloned().collect();
                return self.analyze_command(&command, inputs, depth);
            } else {
                return;
            }
        }
    }

    fn enter_folder(&mut self, rest: &[ShellWord]) {
        let is_folder = |word: &&ShellWord| !word.as_literal().is_some_and(|text| text.starts_with('-'));
        let Some(folder) = rest.iter().find(is_folder) else { return };
        let meanings = self.possible_values(folder);
        if meanings.is_empty() {
            self.executed.unresolved_words.push(["cd ", &folder.to_source()].concat());
        }
        let entered: Vec<String> = meanings.iter().flat_map(|folder| self.possible_paths(folder)).collect();
        for folder in entered {
            if self.current_folders.len() < MAX_ALTERNATIVES && !self.current_folders.contains(&folder) {
                self.current_folders.push(folder);
            }
        }
    }

    fn assign_variable(&mut self, name: &str, value: &ShellWord) {
        if name == "PATH" {
            return self.extend_program_path(value);
        }
        let meanings = self.possible_values(value);
        let known = self.variables.entry(name.to_owned()).or_insert_with(|| Some(Vec::new()));
        match known {
            Some(known) if !meanings.is_empty() && known.len() < MAX_ALTERNATIVES => known.extend(meanings),
            Some(_) | None => *known = None,
        }
    }

    /// Programs are looked for in other folders, beside those of before.
    fn extend_program_path(&mut self, path: &ShellWord) {
        let is_own = |piece: &WordPiece| matches!(piece, WordPiece::Variable(name) if name == "PATH");
        let others = ShellWord(path.0.iter().filter(|piece| !is_own(piece)).cloned().collect());
        let meanings = self.possible_values(&others);
        if meanings.is_empty() {
            self.executed.unresolved_words.push(["PATH=", &path.to_source()].concat());
        }
        let entries = meanings.iter().flat_map(|path| path.split(':')).filter(|entry| !entry.is_empty());
        let folders: Vec<String> = entries.flat_map(|entry| self.possible_paths(entry)).collect();
        self.executed.program_folders.extend(folders);
    }

    fn add_script(&mut self, word: &ShellWord) {
        let meanings = self.possible_values(word);
        let places: Vec<String> = meanings.iter().flat_map(|path| self.possible_paths(path)).collect();
        if meanings.is_empty() {
            self.executed.unresolved_words.push(word.to_source());
        } else if !self.executed.scripts.contains(&places) {
            self.executed.scripts.push(places);
        }
    }

    /// Returns where a path may lead.
    fn possible_paths(&self, path: &str) -> Vec<String> {
        let from = |folder: &String| match folder.as_str() {
            _ if path.starts_with('/') => path.to_owned(),
            "." => path.to_owned(),
            folder => [folder, "/", path].concat(),
        };
        let mut places: Vec<String> = self.current_folders.iter().map(from).collect();
        places.dedup();
        places
    }

    /// Returns what a word may be once its variables are put in; nothing where only a shell can tell.
    fn possible_values(&self, word: &ShellWord) -> Vec<String> {
        let mut meanings = vec![String::new()];
        for piece in &word.0 {
            let values = match piece {
                WordPiece::Text(text) => vec![text.clone()],
                WordPiece::Variable(name) => self.variable_values(name),
                WordPiece::Unresolved => Vec::new(),
            };
            meanings = meanings
                .iter()
                .flat_map(|begun| values.iter().map(move |value| [begun.as_str(), value].concat()))
                .take(MAX_ALTERNATIVES)
                .collect();
        }
        meanings
    }

    fn variable_values(&self, name: &str) -> Vec<String> {
        match (name, self.variables.get(name)) {
            ("PWD", _) => self.current_folders.clone(),
            (_, Some(values)) => values.clone().unwrap_or_default(),
            (_, None) => (self.lookup_variable)(name).into_iter().collect(),
        }
    }
}

#[cfg(test)]
mod tests;
