//! Finds the programs and scripts that a command executes. Files that the command only reads are part of the work, and
//! the agent may change them. The analysis is static: words that only a shell could resolve are reported as unresolved.
mod known_programs;
mod shell_words;
mod task_call;

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use known_programs::{
    COMMAND_PREFIX_WORDS, CommandStart, CommandWrapper, SHELL_NAMES, ScriptInterpreter, ScriptSearch, find_interpreter,
    find_wrapper, strip_version,
};
use shell_words::{ShellToken, ShellWord, WordPiece, tokenize_shell};

pub use task_call::TaskCall;

use super::CheckCommand;

/// How deep nested shell calls are analyzed.
const MAX_SHELL_DEPTH: u32 = 5;
/// How many folders, and how many values of one word, are tracked.
const MAX_ALTERNATIVES: usize = 32;

/// The files that a command executes, as far as its text shows. Paths are relative to the folder in which it starts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExecutedFiles {
    /// Programs and scripts that it names, each with all paths that it may refer to.
    pub scripts: Vec<Vec<String>>,
    /// Files that it may execute: modules, and files that another command pipes into an interpreter.
    pub possible_files: Vec<String>,
    /// Groups of files of which an interpreter executes the first that exists.
    pub completions: Vec<Vec<String>>,
    /// Modules that Python finds in the work tree before those that are installed.
    pub python_modules: Vec<PythonModule>,
    /// Folders in which Python looks for imported modules first.
    pub python_folders: Vec<String>,
    /// Targets of make that run tests: a file with this name would make the target up to date.
    pub test_targets: Vec<String>,
    /// Folders that it adds to `PATH`.
    pub program_folders: Vec<String>,
    /// Calls of make, npm and the like, which run commands from a file.
    pub task_calls: Vec<TaskCall>,
    /// Words that name an executed file but that only a shell can resolve.
    pub unresolved_words: Vec<String>,
}

/// A module that `python -m` executes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PythonModule {
    /// The name of the outermost package.
    pub name: String,
    /// The files in which Python finds it.
    pub files: Vec<String>,
}

/// The files that `node NAME` executes if `NAME` itself does not exist.
const NODE_COMPLETIONS: &[&str] = &["", ".js", ".json", ".node", "/package.json", "/index.js", "/index.json"];

/// How the targets of make begin that run something and are not the name of a file.
const TEST_TARGETS: &[&str] =
    &["test", "check", "lint", "verify", "spec", "ci", "qa", "e2e", "unit", "integration", "validate"];

fn is_test_target(word: &str) -> bool {
    let is_plain = word.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_".contains(letter));
    is_plain && TEST_TARGETS.iter().any(|start| word.starts_with(start))
}

impl CheckCommand {
    /// Returns the files that the command executes. `lookup_variable` returns the value of an environment variable.
    #[must_use]
    pub fn executed_files(&self, lookup_variable: &dyn Fn(&str) -> Option<String>) -> ExecutedFiles {
        let mut shell = ShellAnalyzer {
            lookup_variable,
            current_folders: vec![".".to_owned()],
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

/// The state of the analysis at a position of the text. Folders are only added: after `cd`, the old folder may still be
/// the current one, for example because the `cd` ran in a subshell.
struct ShellAnalyzer<'a> {
    lookup_variable: &'a dyn Fn(&str) -> Option<String>,
    /// The possible current folders.
    current_folders: Vec<String>,
    /// The possible values of each variable; `None` if only a shell can resolve it.
    variables: BTreeMap<String, Option<Vec<String>>>,
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

    /// Analyzes a simple command. `inputs` are the files that are redirected to its stdin.
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
        let programs = self.possible_values(first);
        if programs.is_empty() {
            self.executed.unresolved_words.push(first.to_source());
        }
        for program in programs {
            let name = program.rsplit('/').next().unwrap_or(&program).to_owned();
            if program.contains('/') {
                self.add_script(&ShellWord::literal(&program));
            }
            self.analyze_program(&name, rest, inputs, depth);
        }
    }

    fn analyze_program(&mut self, name: &str, rest: &[ShellWord], inputs: &[ShellWord], depth: u32) {
        let short = strip_version(name);
        self.record_task_call(name, rest);
        if SHELL_NAMES.contains(&short) {
            self.analyze_shell_call(rest, inputs, depth);
        } else if let Some(interpreter) = find_interpreter(short) {
            self.analyze_interpreter_call(interpreter, rest, inputs);
        } else if let Some(wrapper) = find_wrapper(name) {
            self.analyze_wrapped_command(wrapper, rest, inputs, depth);
        } else {
            self.analyze_builtin(name, rest, depth);
        }
    }

    /// Analyzes shell builtins, and the programs `find` and `make`.
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
                let commands: Vec<Vec<ShellWord>> =
                    rest.split(is_exec).skip(1).map(task_call::with_found_files).collect();
                commands.into_iter().for_each(|words| self.analyze_command(&words, &[], depth));
            }
            "make" | "gmake" | "bmake" => self.analyze_make(rest),
            "awk" | "gawk" | "mawk" | "nawk" | "sed" | "gsed" => self.add_program_files(rest),
            "java" => {
                let is_source = |word: &&ShellWord| word.as_literal().is_some_and(|text| text.ends_with(".java"));
                rest.iter().find(is_source).into_iter().for_each(|file| self.add_script(file));
            }
            _ => {}
        }
    }

    fn analyze_make(&mut self, rest: &[ShellWord]) {
        for (option, value) in rest.iter().zip(rest.iter().skip(1)) {
            if matches!(option.as_literal(), Some("-C" | "--directory")) {
                self.enter_folder(core::slice::from_ref(value));
            }
        }
        self.add_program_files(rest);
        let targets = rest.iter().filter_map(ShellWord::as_literal).filter(|word| is_test_target(word));
        let targets: Vec<String> = targets.map(ToString::to_string).collect();
        for target in targets {
            let paths = self.possible_paths(&target);
            self.executed.test_targets.extend(paths);
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
                Some(option) if option.starts_with(['-', '+']) => {
                    is_text |= option.contains('c');
                    if option.contains(['o', 'O']) {
                        rest.next();
                    }
                }
                Some(_) | None => return self.analyze_shell_argument(word, is_text, depth),
            }
        }
        self.add_standard_input(inputs);
    }

    fn analyze_shell_argument(&mut self, word: &ShellWord, is_text: bool, depth: u32) {
        if is_text { self.analyze_text(&word.to_source(), depth.saturating_sub(1)) } else { self.add_script(word) }
    }

    fn analyze_interpreter_call(&mut self, interpreter: &ScriptInterpreter, rest: &[ShellWord], inputs: &[ShellWord]) {
        let mut rest = rest.iter();
        while let Some(word) = rest.next() {
            let Some(text) = word.as_literal() else { return self.add_script(word) };
            if interpreter.code_options.contains(&text) {
                if interpreter.search == ScriptSearch::Python {
                    self.add_python_folders(".");
                }
                return;
            } else if text == "-m" {
                return self.add_python_module(rest.next());
            } else if interpreter.file_options.contains(&text) {
                rest.next().into_iter().for_each(|file| self.add_script(file));
            } else if interpreter.value_options.contains(&text) {
                rest.next();
            } else if text == "-" {
                break;
            } else if !text.starts_with('-') && !interpreter.leading_words.contains(&text) {
                return self.add_interpreted_script(interpreter, word);
            }
        }
        self.add_standard_input(inputs);
    }

    /// `python -m a.b` executes `a/b.py` or `a/b/__main__.py`, and before it `a/__init__.py`, if they exist.
    fn add_python_module(&mut self, name: Option<&ShellWord>) {
        let Some(name) = name.and_then(ShellWord::as_literal) else { return };
        let parts: Vec<&str> = name.split('.').collect();
        let mut files = Vec::new();
        for length in 1..=parts.len() {
            let path = parts.get(..length).unwrap_or_default().join("/");
            for end in [".py", "/__init__.py", "/__main__.py"] {
                files.extend(self.possible_paths(&[path.as_str(), end].concat()));
            }
        }
        let name = parts.first().copied().unwrap_or_default().to_owned();
        self.executed.python_modules.push(PythonModule { name, files });
        self.add_python_folders(".");
    }

    /// Records the folder from which Python imports modules first.
    fn add_python_folders(&mut self, folder: &str) {
        let folders = self.possible_paths(folder);
        self.executed.python_folders.extend(folders);
    }

    /// Records the script of an interpreter, and the files that the interpreter also looks for.
    fn add_interpreted_script(&mut self, interpreter: &ScriptInterpreter, word: &ShellWord) {
        for value in self.possible_values(word) {
            match interpreter.search {
                ScriptSearch::Exact => {}
                ScriptSearch::Node => self.add_completions(&value),
                ScriptSearch::Python => {
                    self.add_python_folders(&value);
                    // A folder is executed through its `__main__.py`.
                    let main = self.possible_paths(&[value.as_str(), "/__main__.py"].concat());
                    self.executed.possible_files.extend(main);
                    self.add_python_folders(value.rsplit_once('/').map_or(".", |(folder, _)| folder));
                }
            }
        }
        self.add_script(word);
    }

    fn add_completions(&mut self, name: &str) {
        let completed: Vec<String> = NODE_COMPLETIONS.iter().map(|end| [name, end].concat()).collect();
        let in_folder = |folder: usize| -> Vec<String> {
            completed.iter().filter_map(|file| self.possible_paths(file).get(folder).cloned()).collect()
        };
        let groups: Vec<Vec<String>> =
            (0..self.current_folders.len()).map(in_folder).filter(|group| !group.is_empty()).collect();
        self.executed.completions.extend(groups);
    }

    /// An interpreter without a script argument reads its stdin: a redirected file, or the output of the previous
    /// command.
    fn add_standard_input(&mut self, inputs: &[ShellWord]) {
        let previous = core::mem::take(&mut self.previous_command);
        for word in inputs.iter().chain(previous.iter().skip(1)) {
            for value in self.possible_values(word) {
                let paths = self.possible_paths(&value);
                self.executed.possible_files.extend(paths);
            }
        }
        let unresolved = inputs.iter().filter(|word| self.possible_values(word).is_empty());
        let unresolved: Vec<String> = unresolved.map(ShellWord::to_source).collect();
        self.executed.unresolved_words.extend(unresolved);
        self.previous_command = previous;
    }

    fn analyze_wrapped_command(
        &mut self,
        wrapper: &CommandWrapper,
        rest: &[ShellWord],
        inputs: &[ShellWord],
        depth: u32,
    ) {
        let mut rest = rest;
        let mut arguments = match wrapper.command_start {
            CommandStart::AfterArguments(count) => count,
            CommandStart::AfterWord(_) => 0,
        };
        let mut command_may_follow = matches!(wrapper.command_start, CommandStart::AfterArguments(_));
        while let Some((word, after)) = rest.split_first() {
            let text = word.as_literal().unwrap_or_default();
            if wrapper.command_text_options.contains(&text) {
                return after.first().into_iter().for_each(|word| self.analyze_shell_argument(word, true, depth));
            }
            rest = after;
            if wrapper.folder_options.contains(&text) {
                self.enter_folder(after.get(..1).unwrap_or_default());
                rest = after.get(1..).unwrap_or_default();
            } else if wrapper.value_options.contains(&text) {
                rest = after.get(1..).unwrap_or_default();
            } else if text.starts_with('-') {
            } else if arguments > 0 {
                arguments -= 1;
            } else if matches!(wrapper.command_start, CommandStart::AfterWord(first) if first == text) {
                command_may_follow = true;
            } else if command_may_follow {
                // `uv run check.py` names a script without a slash.
                let files = self.possible_values(word);
                let paths: Vec<String> = files.iter().flat_map(|file| self.possible_paths(file)).collect();
                self.executed.possible_files.extend(paths);
                let command: Vec<ShellWord> = core::iter::once(word).chain(after).cloned().collect();
                let command = if wrapper.reads_arguments() { task_call::with_read_files(&command) } else { command };
                return self.analyze_command(&command, inputs, depth);
            } else {
                return;
            }
        }
    }

    fn enter_folder(&mut self, rest: &[ShellWord]) {
        let is_folder = |word: &&ShellWord| !word.as_literal().is_some_and(|text| text.starts_with('-'));
        let Some(folder) = rest.iter().find(is_folder) else { return };
        let folders = self.possible_values(folder);
        if folders.is_empty() {
            self.executed.unresolved_words.push(["cd ", &folder.to_source()].concat());
        }
        let entered: Vec<String> = folders.iter().flat_map(|folder| self.possible_paths(folder)).collect();
        for folder in entered {
            if self.current_folders.len() < MAX_ALTERNATIVES && !self.current_folders.contains(&folder) {
                self.current_folders.push(folder);
            }
        }
    }

    fn assign_variable(&mut self, name: &str, value: &ShellWord) {
        match name {
            "PATH" => return self.extend_program_path(value),
            "BASH_ENV" | "ENV" | "PYTHONSTARTUP" => self.add_possible_file(value),
            "NODE_OPTIONS" | "RUBYOPT" => self.add_preloaded_files(name, value),
            "PYTHONPATH" => self.possible_values(value).iter().for_each(|folder| self.add_python_folders(folder)),
            _ => {}
        }
        let values = self.possible_values(value);
        let known = self.variables.entry(name.to_owned()).or_insert_with(|| Some(Vec::new()));
        match known {
            Some(known) if !values.is_empty() && known.len() < MAX_ALTERNATIVES => known.extend(values),
            Some(_) | None => *known = None,
        }
    }

    /// Records the folders that an assignment to `PATH` adds.
    fn extend_program_path(&mut self, path: &ShellWord) {
        let is_old_path = |piece: &WordPiece| matches!(piece, WordPiece::Variable(name) if name == "PATH");
        let added = ShellWord(path.0.iter().filter(|piece| !is_old_path(piece)).cloned().collect());
        let values = self.possible_values(&added);
        if values.is_empty() {
            self.executed.unresolved_words.push(["PATH=", &path.to_source()].concat());
        }
        let entries = values.iter().flat_map(|path| path.split(':')).filter(|entry| !entry.is_empty());
        let folders: Vec<String> = entries.flat_map(|entry| self.possible_paths(entry)).collect();
        self.executed.program_folders.extend(folders);
    }

    fn add_script(&mut self, word: &ShellWord) {
        let values = self.possible_values(word);
        let paths: Vec<String> = values.iter().flat_map(|path| self.possible_paths(path)).collect();
        if values.is_empty() {
            self.executed.unresolved_words.push(word.to_source());
        } else if !self.executed.scripts.contains(&paths) {
            self.executed.scripts.push(paths);
        }
    }

    /// Returns the path relative to each possible current folder.
    fn possible_paths(&self, path: &str) -> Vec<String> {
        let from = |folder: &String| match folder.as_str() {
            _ if path.starts_with('/') => path.to_owned(),
            "." => path.to_owned(),
            folder => [folder, "/", path].concat(),
        };
        let mut paths: Vec<String> = self.current_folders.iter().map(from).collect();
        paths.dedup();
        paths
    }

    /// Returns the possible values of a word after variable expansion; empty if only a shell can resolve it.
    fn possible_values(&self, word: &ShellWord) -> Vec<String> {
        let mut expanded = vec![String::new()];
        for piece in &word.0 {
            let values = match piece {
                WordPiece::Text(text) => vec![text.clone()],
                WordPiece::Variable(name) => self.variable_values(name),
                WordPiece::Unresolved => Vec::new(),
            };
            expanded = expanded
                .iter()
                .flat_map(|prefix| values.iter().map(move |value| [prefix.as_str(), value].concat()))
                .take(MAX_ALTERNATIVES)
                .collect();
        }
        expanded
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
