//! Which files a command runs: the programs and scripts that it names. Files that it merely reads are the work, and the
//! agent may change them. Nothing is run to find out: what only a shell can tell is named as unknown.
mod programs;
mod words;

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use programs::{BEFORE, First, SHELLS, Wrapper, interpreter, unversioned, wrapping};
use words::{Piece, Token, Word, tokens};

use super::CheckCommand;

/// How deep a shell in a shell is looked into.
const DEEPEST: u32 = 5;
/// How many folders, and how many meanings of one word, are followed.
const MOST: usize = 32;

/// What a command runs, as far as its text tells. Paths are meant from the folder in which it starts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Runs {
    /// Programs and scripts that it names, each with all the places that may be meant.
    pub scripts: Vec<Vec<String>>,
    /// Files that it may run: modules, or what another command hands to an interpreter.
    pub perhaps: Vec<String>,
    /// Folders in which it looks for programs before all others.
    pub folders: Vec<String>,
    /// Words that name what is run in a way that only a shell can tell.
    pub unknown: Vec<String>,
}

impl CheckCommand {
    /// Returns what the command runs. `known` tells the values of the variables that it starts with.
    #[must_use]
    pub fn runs(&self, known: &dyn Fn(&str) -> Option<String>) -> Runs {
        let folders = vec![".".to_owned()];
        let mut shell =
            Shell { known, folders, values: BTreeMap::new(), before: Vec::new(), runs: Runs::default() };
        match self {
            Self::Shell(text) => shell.text(text, DEEPEST),
            Self::Argv(words) => {
                let words: Vec<Word> = words.iter().map(|word| Word::of(word)).collect();
                shell.command(&words, &[], DEEPEST);
            }
        }
        shell.runs
    }
}

/// What a shell would know at a place of a text. It forgets nothing: a folder that was entered may still be the one.
struct Shell<'a> {
    known: &'a dyn Fn(&str) -> Option<String>,
    /// Where it may stand.
    folders: Vec<String>,
    /// What variables may hold; nothing where only a shell can tell.
    values: BTreeMap<String, Option<Vec<String>>>,
    /// The command before.
    before: Vec<Word>,
    runs: Runs,
}

impl Shell<'_> {
    fn text(&mut self, text: &str, depth: u32) {
        if depth == 0 {
            return;
        }
        let (mut words, mut inputs) = (Vec::new(), Vec::new());
        for token in tokens(text).into_iter().chain([Token::End]) {
            match token {
                Token::Word(word) => words.push(word),
                Token::Input(word) => inputs.push(word),
                Token::Inner(text) => self.text(&text, depth - 1),
                Token::End => {
                    self.command(&words, &inputs, depth);
                    if !words.is_empty() {
                        self.before = core::mem::take(&mut words);
                    }
                    inputs.clear();
                }
            }
        }
    }

    /// Looks at a simple command.
    fn command(&mut self, words: &[Word], inputs: &[Word], depth: u32) {
        let Some((first, rest)) = words.split_first() else { return };
        if let Some((name, value)) = first.assignment() {
            self.assign(&name, &value);
            return self.command(rest, inputs, depth);
        }
        if first.plain().is_some_and(|word| BEFORE.contains(&word)) {
            let is_option = |word: &&Word| word.plain().is_some_and(|text| text.starts_with('-'));
            let options = rest.iter().take_while(is_option).count();
            return self.command(rest.get(options..).unwrap_or_default(), inputs, depth);
        }
        let meanings = self.meanings(first);
        if meanings.is_empty() {
            self.runs.unknown.push(first.source());
        }
        for program in meanings {
            let name = program.rsplit('/').next().unwrap_or(&program).to_owned();
            if program.contains('/') {
                self.script(&Word::of(&program));
            }
            self.program(&name, (rest, inputs), depth);
        }
    }

    fn program(&mut self, name: &str, (rest, inputs): (&[Word], &[Word]), depth: u32) {
        let short = unversioned(name);
        if SHELLS.contains(&short) {
            self.shell(rest, inputs, depth);
        } else if let Some(one) = interpreter(short) {
            self.interpreted(one, rest, inputs);
        } else if let Some(one) = wrapping(name) {
            self.wrapped(one, (rest, inputs), depth);
        } else {
            self.builtin(name, rest, depth);
        }
    }

    /// Looks at what neither runs a script nor a command of its own, and at what only a shell knows.
    fn builtin(&mut self, name: &str, rest: &[Word], depth: u32) {
        match name {
            "cd" | "pushd" => self.enter(rest),
            "eval" => {
                let text: Vec<String> = rest.iter().map(Word::source).collect();
                self.text(&text.join(" "), depth.saturating_sub(1));
            }
            "trap" => {
                if let Some(text) = rest.first() {
                    self.text(&text.source(), depth.saturating_sub(1));
                }
            }
            "export" | "readonly" | "local" | "declare" | "typeset" => {
                for (name, value) in rest.iter().filter_map(Word::assignment) {
                    self.assign(&name, &value);
                }
            }
            "for" => self.each(rest),
            "find" => {
                let is_exec = |word: &Word| {
                    word.plain().is_some_and(|text| ["-exec", "-execdir", "-ok", "-okdir"].contains(&text))
                };
                let commands: Vec<&[Word]> = rest.split(is_exec).skip(1).collect();
                commands.into_iter().for_each(|words| self.command(words, &[], depth));
            }
            "make" | "gmake" | "bmake" => self.make(rest),
            _ => {}
        }
    }

    fn make(&mut self, rest: &[Word]) {
        for (option, value) in rest.iter().zip(rest.iter().skip(1)) {
            match option.plain() {
                Some("-C" | "--directory") => self.enter(core::slice::from_ref(value)),
                Some("-f" | "--file" | "--makefile") => self.script(value),
                Some(_) | None => {}
            }
        }
        for named in rest
            .iter()
            .filter_map(Word::plain)
            .filter_map(|word| ["--file=", "--makefile="].iter().find_map(|option| word.strip_prefix(option)))
        {
            self.script(&Word::of(named));
        }
    }

    /// `for NAME in WORDS`
    fn each(&mut self, rest: &[Word]) {
        let Some((name, values)) = rest.split_first() else { return };
        if let Some(name) = name.plain().map(ToString::to_string) {
            values.iter().skip(1).for_each(|value| self.assign(&name, value));
            if values.len() < 2 {
                self.values.insert(name, None);
            }
        }
    }

    fn shell(&mut self, rest: &[Word], inputs: &[Word], depth: u32) {
        let (mut is_text, mut rest) = (false, rest.iter());
        while let Some(word) = rest.next() {
            match word.plain() {
                Some("--") => {
                    return rest.next().into_iter().for_each(|word| self.given(word, is_text, depth));
                }
                Some("--rcfile" | "--init-file") => {
                    rest.next().into_iter().for_each(|file| self.script(file));
                }
                Some(long) if long.starts_with("--") => {}
                Some(option) if option.len() > 1 && option.starts_with(['-', '+']) => {
                    is_text |= option.contains('c');
                    if option.contains(['o', 'O']) {
                        rest.next();
                    }
                }
                Some("-") => {}
                Some(_) | None => return self.given(word, is_text, depth),
            }
        }
        self.fed(inputs);
    }

    fn given(&mut self, word: &Word, is_text: bool, depth: u32) {
        if is_text { self.text(&word.source(), depth.saturating_sub(1)) } else { self.script(word) }
    }

    fn interpreted(&mut self, one: &programs::Interpreter, rest: &[Word], inputs: &[Word]) {
        let mut rest = rest.iter();
        while let Some(word) = rest.next() {
            let Some(text) = word.plain() else { return self.script(word) };
            if one.code.contains(&text) {
                return;
            } else if text == "-m" {
                return self.module(rest.next());
            } else if one.files.contains(&text) {
                rest.next().into_iter().for_each(|file| self.script(file));
            } else if one.values.contains(&text) {
                rest.next();
            } else if text == "-" {
                break;
            } else if !text.starts_with('-') && !one.before.contains(&text) {
                return self.script(word);
            }
        }
        self.fed(inputs);
    }

    /// `python -m a.b` runs `a/b.py` or `a/b/__main__.py`, if they are there.
    fn module(&mut self, name: Option<&Word>) {
        let Some(name) = name.and_then(Word::plain) else { return };
        let path = name.replace('.', "/");
        for file in [[&path, ".py"].concat(), [&path, "/__main__.py"].concat()] {
            let places = self.places(&file);
            self.runs.perhaps.extend(places);
        }
    }

    /// An interpreter without a script reads one: from a file, or from the command before.
    fn fed(&mut self, inputs: &[Word]) {
        let before = core::mem::take(&mut self.before);
        for word in inputs.iter().chain(before.iter().skip(1)) {
            for meaning in self.meanings(word) {
                let places = self.places(&meaning);
                self.runs.perhaps.extend(places);
            }
        }
        let unknown = inputs.iter().filter(|word| self.meanings(word).is_empty());
        let unknown: Vec<String> = unknown.map(Word::source).collect();
        self.runs.unknown.extend(unknown);
        self.before = before;
    }

    fn wrapped(&mut self, one: &Wrapper, (rest, inputs): (&[Word], &[Word]), depth: u32) {
        let mut rest = rest;
        let mut arguments = match one.first {
            First::Arguments(count) => count,
            First::Word(_) => 0,
        };
        let mut is_open = matches!(one.first, First::Arguments(_));
        while let Some((word, after)) = rest.split_first() {
            let text = word.plain().unwrap_or_default();
            if one.text.contains(&text) {
                return after.first().into_iter().for_each(|word| self.given(word, true, depth));
            }
            rest = after;
            if one.folder.contains(&text) {
                self.enter(after.get(..1).unwrap_or_default());
                rest = after.get(1..).unwrap_or_default();
            } else if one.values.contains(&text) {
                rest = after.get(1..).unwrap_or_default();
            } else if text.starts_with('-') {
            } else if arguments > 0 {
                arguments -= 1;
            } else if matches!(one.first, First::Word(first) if first == text) {
                is_open = true;
            } else if is_open {
                // `uv run check.py` names a script without a slash.
                let meanings = self.meanings(word);
                let places: Vec<String> = meanings.iter().flat_map(|file| self.places(file)).collect();
                self.runs.perhaps.extend(places);
                let command: Vec<Word> = core::iter::once(word).chain(after).cloned().collect();
                return self.command(&command, inputs, depth);
            } else {
                return;
            }
        }
    }

    fn enter(&mut self, rest: &[Word]) {
        let is_folder = |word: &&Word| !word.plain().is_some_and(|text| text.starts_with('-'));
        let Some(folder) = rest.iter().find(is_folder) else { return };
        let meanings = self.meanings(folder);
        if meanings.is_empty() {
            self.runs.unknown.push(["cd ", &folder.source()].concat());
        }
        let entered: Vec<String> = meanings.iter().flat_map(|folder| self.places(folder)).collect();
        for folder in entered {
            if self.folders.len() < MOST && !self.folders.contains(&folder) {
                self.folders.push(folder);
            }
        }
    }

    fn assign(&mut self, name: &str, value: &Word) {
        if name == "PATH" {
            return self.look_in(value);
        }
        let meanings = self.meanings(value);
        let known = self.values.entry(name.to_owned()).or_insert_with(|| Some(Vec::new()));
        match known {
            Some(known) if !meanings.is_empty() && known.len() < MOST => known.extend(meanings),
            Some(_) | None => *known = None,
        }
    }

    /// Programs are looked for in other folders, beside those of before.
    fn look_in(&mut self, path: &Word) {
        let is_own = |piece: &Piece| matches!(piece, Piece::Value(name) if name == "PATH");
        let others = Word(path.0.iter().filter(|piece| !is_own(piece)).cloned().collect());
        let meanings = self.meanings(&others);
        if meanings.is_empty() {
            self.runs.unknown.push(["PATH=", &path.source()].concat());
        }
        let entries = meanings.iter().flat_map(|path| path.split(':')).filter(|entry| !entry.is_empty());
        let folders: Vec<String> = entries.flat_map(|entry| self.places(entry)).collect();
        self.runs.folders.extend(folders);
    }

    fn script(&mut self, word: &Word) {
        let meanings = self.meanings(word);
        let places: Vec<String> = meanings.iter().flat_map(|path| self.places(path)).collect();
        if meanings.is_empty() {
            self.runs.unknown.push(word.source());
        } else if !self.runs.scripts.contains(&places) {
            self.runs.scripts.push(places);
        }
    }

    /// Returns where a path may lead.
    fn places(&self, path: &str) -> Vec<String> {
        let from = |folder: &String| match folder.as_str() {
            _ if path.starts_with('/') => path.to_owned(),
            "." => path.to_owned(),
            folder => [folder, "/", path].concat(),
        };
        let mut places: Vec<String> = self.folders.iter().map(from).collect();
        places.dedup();
        places
    }

    /// Returns what a word may be once its variables are put in; nothing where only a shell can tell.
    fn meanings(&self, word: &Word) -> Vec<String> {
        let mut meanings = vec![String::new()];
        for piece in &word.0 {
            let values = match piece {
                Piece::Text(text) => vec![text.clone()],
                Piece::Value(name) => self.values_of(name),
                Piece::Unknown => Vec::new(),
            };
            meanings = meanings
                .iter()
                .flat_map(|begun| values.iter().map(move |value| [begun.as_str(), value].concat()))
                .take(MOST)
                .collect();
        }
        meanings
    }

    fn values_of(&self, name: &str) -> Vec<String> {
        match (name, self.values.get(name)) {
            ("PWD", _) => self.folders.clone(),
            (_, Some(values)) => values.clone().unwrap_or_default(),
            (_, None) => (self.known)(name).into_iter().collect(),
        }
    }
}

#[cfg(test)]
mod tests;
