//! Finds existing files that the checks run through another file, such as a script of a make target or of another script,
//! and that the work changed. Nothing seals them, because they may be the work, so such a claim is not proven. The analysis
//! is static, and reads the files as they were before the work.
use alloc::borrow::ToOwned;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde_json::Value;

use super::path_pattern::matches_pattern;
use super::recipes::{MakeFile, select_scripts};
use super::{FileChange, classify_path};
use crate::criterion::{CheckCommand, ExecutedFiles, ExternalCheck, TaskCall};

/// How many files are read.
const MAX_READ_FILES: usize = 64;
const MAKEFILES: &[&str] = &["GNUmakefile", "makefile", "Makefile"];
const JUSTFILES: &[&str] = &["justfile", "Justfile", ".justfile"];
const SHELL_ENDINGS: &[&str] = &[".sh", ".bash", ".zsh", ".ksh"];

/// The files that the work changed and that are neither sealed nor protected.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnprotectedChanges {
    /// Files that existed before.
    pub changed: BTreeSet<String>,
    pub added: BTreeSet<String>,
}

impl UnprotectedChanges {
    pub fn insert(&mut self, path: String, change: FileChange) {
        let paths = match change {
            FileChange::Added => &mut self.added,
            FileChange::Removed | FileChange::Modified => &mut self.changed,
        };
        paths.insert(path);
    }

    pub fn extend(&mut self, other: Self) {
        self.changed.extend(other.changed);
        self.added.extend(other.added);
    }
}

/// A changed file that a check runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunFile {
    pub path: String,
    pub is_new: bool,
    /// The caller: a file, or the command of a check.
    pub by: String,
}

impl RunFile {
    /// Returns the change as a sentence without a period.
    #[must_use]
    pub fn describe(&self) -> String {
        let change = if self.is_new { "added" } else { "changed" };
        format!("the work {change} {}, which {} runs", self.path, self.by)
    }
}

/// Returns the changed files that the checks run through another file. A new file counts only if make may include it without
/// an error when it does not exist. `read_base` returns the text of a file before the work.
pub fn find_run_files(
    checks: &[&ExternalCheck],
    changes: &UnprotectedChanges,
    read_base: &mut dyn FnMut(&str) -> Option<String>,
) -> Vec<RunFile> {
    let mut collector = RunFileCollector { changes, read_base, read: BTreeSet::new(), found: Vec::new() };
    if *changes != UnprotectedChanges::default() {
        for check in checks {
            let caller = Caller { folder: check.working_dir.clone().unwrap_or_default(), file: None };
            collector.read_command(&check.command, &caller);
        }
    }
    collector.found
}

/// The caller of a command: a check, or a file that it runs.
struct Caller {
    /// The folder in which the command runs, relative to the root.
    folder: String,
    file: Option<String>,
}

struct RunFileCollector<'a> {
    changes: &'a UnprotectedChanges,
    read_base: &'a mut dyn FnMut(&str) -> Option<String>,
    read: BTreeSet<String>,
    found: Vec<RunFile>,
}

impl RunFileCollector<'_> {
    fn read_command(&mut self, command: &CheckCommand, caller: &Caller) {
        let executed = command.executed_files(&|_| None);
        let ExecutedFiles { scripts, possible_files, completions, python_modules, unresolved_words, .. } = &executed;
        let modules = python_modules.iter().flat_map(|module| &module.files);
        let named = scripts.iter().chain(completions).flatten().chain(possible_files).chain(modules);
        let paths: Vec<String> = named.filter_map(|path| join_path(&caller.folder, path)).collect();
        for path in paths {
            self.read_script(&path, caller);
        }
        for word in unresolved_words {
            self.read_unresolved(word, command, caller);
        }
        for call in &executed.task_calls {
            for folder in call.folders.iter().filter_map(|folder| join_path(&caller.folder, folder)) {
                self.read_tasks(call, &folder);
            }
        }
    }

    /// Records a file that a file runs. The files that a check itself names are sealed.
    fn record(&mut self, path: &str, by: Option<&str>) {
        let Some(by) = by else { return };
        if self.changes.changed.contains(path) {
            self.record_once(RunFile { path: path.to_owned(), is_new: false, by: by.to_owned() });
        }
    }

    /// Records a file that a file of make includes.
    fn record_included(&mut self, path: &str, by: &str) {
        self.record(path, Some(by));
        if self.changes.added.contains(path) {
            self.record_once(RunFile { path: path.to_owned(), is_new: true, by: by.to_owned() });
        }
    }

    fn record_once(&mut self, file: RunFile) {
        if !self.found.iter().any(|known| known.path == file.path) {
            self.found.push(file);
        }
    }

    /// Follows a shell script. A protected test is not followed: the scripts that it runs are the work that it tests.
    fn read_script(&mut self, path: &str, caller: &Caller) {
        self.record(path, caller.file.as_deref());
        if classify_path(path).is_some() {
            return;
        }
        let Some(text) = self.read_once(path) else { return };
        let is_shell = SHELL_ENDINGS.iter().any(|ending| path.ends_with(ending))
            || text.lines().next().is_some_and(|line| line.starts_with("#!") && line.contains("sh"));
        if is_shell {
            let caller = Caller { folder: caller.folder.clone(), file: Some(path.to_owned()) };
            self.read_command(&CheckCommand::Shell(text), &caller);
        }
    }

    /// A word that only a shell can resolve may end with a path beside the script, as in `$(dirname "$0")/lib.sh`. In a
    /// check, every changed file that its text names may be meant.
    fn read_unresolved(&mut self, word: &str, command: &CheckCommand, caller: &Caller) {
        match &caller.file {
            Some(file) => {
                let Some((_, name)) = word.rsplit_once("$?/").or_else(|| word.rsplit_once("}/")) else { return };
                let beside = file.rsplit_once('/').map_or("", |(folder, _)| folder);
                let paths = [join_path(beside, name), join_path(&caller.folder, name)];
                paths.into_iter().flatten().for_each(|path| self.read_script(&path, caller));
            }
            None => {
                let named = named_files(&command.to_string(), &caller.folder, &self.changes.changed);
                let by = format!("`{command}`");
                named.iter().for_each(|path| self.record(path, Some(&by)));
            }
        }
    }

    fn read_tasks(&mut self, call: &TaskCall, folder: &str) {
        match call.program.as_str() {
            "make" | "gmake" | "bmake" => self.read_rules(folder, MAKEFILES, call),
            "just" => self.read_rules(folder, JUSTFILES, call),
            _ => {
                let Some(path) = join_path(folder, "package.json") else { return };
                let Some(text) = self.read_once(&path) else { return };
                let Ok(package) = serde_json::from_str::<Value>(&text) else { return };
                let scripts =
                    package.get("scripts").and_then(Value::as_object).map(|all| select_scripts(all, &call.words));
                let caller = Caller { folder: folder.to_owned(), file: Some(path) };
                for script in scripts.unwrap_or_default() {
                    self.read_command(&CheckCommand::Shell(script), &caller);
                }
            }
        }
    }

    fn read_rules(&mut self, folder: &str, names: &[&str], call: &TaskCall) {
        let option = call.words.iter().zip(call.words.iter().skip(1)).find(|(option, _)| *option == "-f");
        let attached = call.words.iter().find_map(|word| word.strip_prefix("-f").filter(|file| !file.is_empty()));
        let named = option.map(|(_, file)| file.as_str()).or(attached);
        let paths = named.map_or_else(|| names.to_vec(), |file| [file].into());
        for path in paths.iter().filter_map(|name| join_path(folder, name)) {
            // The same file may be called with other targets.
            let Some(mut text) = (self.read_base)(&path) else { continue };
            if !self.read.insert([path.as_str(), " ", &call.words.join(" ")].concat())
                || self.read.len() > MAX_READ_FILES
            {
                return;
            }
            for included in MakeFile::included_files(&text) {
                let Some(included) = join_path(folder, &included) else { continue };
                self.record_included(&included, &path);
                text.push('\n');
                text.push_str(&(self.read_base)(&included).unwrap_or_default());
            }
            let commands = MakeFile::parse(&text).reachable_commands(&call.words);
            let caller = Caller { folder: folder.to_owned(), file: Some(path) };
            return self.read_command(&CheckCommand::Shell(commands), &caller);
        }
    }

    fn read_once(&mut self, path: &str) -> Option<String> {
        let is_new = self.read.len() < MAX_READ_FILES && self.read.insert(path.to_owned());
        if is_new { (self.read_base)(path) } else { None }
    }
}

/// Returns the changed files that a text names, matches with a glob, or names a folder of.
fn named_files(text: &str, folder: &str, changed: &BTreeSet<String>) -> Vec<String> {
    let is_separator = |letter: char| letter.is_whitespace() || "\"'`();|&<>=,".contains(letter);
    let words: BTreeSet<String> = text.split(is_separator).filter_map(|word| join_path(folder, word)).collect();
    let is_named = |path: &&String| {
        words.iter().filter(|word| !word.is_empty()).any(|word| {
            let anchored = ["/", word].concat();
            *path == word
                || matches_pattern(&anchored, path)
                || path.strip_prefix(word.as_str()).is_some_and(|rest| rest.starts_with('/'))
        })
    };
    changed.iter().filter(is_named).map(ToString::to_string).collect()
}

/// Returns a path relative to the root without `.` and `..`; `None` if it is outside of the root.
fn join_path(folder: &str, path: &str) -> Option<String> {
    if path.starts_with('/') {
        return None;
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILES: &[(&str, &str)] = &[
        (
            "Makefile",
            "PY ?= python3\ninclude vars.env\n-include local.env\n.PHONY: test\nall: test\ntest: prepare\n\t@sh ci/t.sh\n\
                      prepare:\n\t$(PY) ci/prepare.py\n\t$(MAKE) -C sub\ndeploy:\n\tsh ci/deploy.sh\n",
        ),
        ("sub/Makefile", "all:\n\t./run.sh\n"),
        ("ci/t.sh", ". \"$(dirname \"$0\")/lib.sh\"\nsh ci/more.sh\ngrep -q done work\n"),
        (
            "package.json",
            r#"{"scripts":{"pretest":"node ci/a.js","test":"npm run unit","unit":"sh ci/u.sh","x":"sh ci/x.sh"}}"#,
        ),
        ("justfile", "test: build\n    @sh ci/t.sh\nbuild:\n    sh ci/build.sh\nother:\n    sh ci/x.sh\n"),
        ("check.sh", "#!/bin/sh\nsh ci/more.sh\n"),
        ("tests/all.sh", "sh greet.sh | grep -q hello\n"),
    ];

    fn run_by(command: &str, changed: &[&str]) -> Vec<String> {
        find_in_files(command, &UnprotectedChanges { changed: to_set(changed), added: BTreeSet::new() })
    }

    fn to_set(paths: &[&str]) -> BTreeSet<String> {
        paths.iter().map(ToString::to_string).collect()
    }

    fn find_in_files(command: &str, changes: &UnprotectedChanges) -> Vec<String> {
        let check = ExternalCheck::from_shell_text(command);
        let mut read = |path: &str| FILES.iter().find(|(name, _)| *name == path).map(|(_, text)| (*text).to_owned());
        find_run_files(&[&check], changes, &mut read).iter().map(RunFile::describe).collect()
    }

    // spec: V16
    // finding: N3
    // finding: N9
    #[test]
    fn scripts_that_a_check_runs_through_another_file_are_found() {
        for (command, path, by) in [
            ("make test", "ci/t.sh", "Makefile"),
            ("make", "ci/t.sh", "Makefile"),
            ("make test", "ci/prepare.py", "Makefile"),
            ("make test", "sub/run.sh", "sub/Makefile"),
            ("make test", "vars.env", "Makefile"),
            ("make test", "ci/lib.sh", "ci/t.sh"),
            ("make deploy", "ci/deploy.sh", "Makefile"),
            ("make unknown", "ci/deploy.sh", "Makefile"),
            ("npm test --silent", "ci/a.js", "package.json"),
            ("npm test", "ci/u.sh", "package.json"),
            ("npm run x", "ci/x.sh", "package.json"),
            ("just test", "ci/build.sh", "justfile"),
            ("sh check.sh", "ci/more.sh", "check.sh"),
            ("find ck -name '*.sh' -exec sh {} +", "ck/a.sh", "`find ck -name '*.sh' -exec sh {} +`"),
            ("ls ck/*.sh | xargs -n1 sh", "ck/a.sh", "`ls ck/*.sh | xargs -n1 sh`"),
        ] {
            let expected = format!("the work changed {path}, which {by} runs");
            assert_eq!(run_by(command, &[path, "src/lib.sh"]), [expected], "{command}");
        }
    }

    // spec: V16
    #[test]
    fn a_new_file_counts_only_if_make_includes_it() {
        let changes = UnprotectedChanges { added: to_set(&["local.env", "ci/t.sh"]), ..UnprotectedChanges::default() };
        let expected = ["the work added local.env, which Makefile runs"];
        assert_eq!(find_in_files("make test", &changes), expected);
        assert_eq!(find_in_files("npm test", &changes), [""; 0]);
    }

    // spec: V16
    #[test]
    fn files_that_the_checks_only_read_and_other_targets_are_the_work() {
        for (command, path) in [
            ("make test", "work"),
            ("make test", "ci/deploy.sh"),
            ("npm test", "ci/x.sh"),
            ("just test", "ci/x.sh"),
            ("sh check.sh", "check.sh"),
            ("sh tests/all.sh", "greet.sh"),
            ("cargo test", "src/lib.rs"),
            ("find src -name '*.py' -exec python3 -m py_compile {} +", "src/a.py"),
        ] {
            assert_eq!(run_by(command, &[path]), [""; 0], "{command} {path}");
        }
    }
}
