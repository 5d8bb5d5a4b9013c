//! Finds the files of the work tree that the command of a check executes, and the folders on its PATH.
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

use ralph_core::criterion::{CheckCommand, ExecutedFiles, ExternalCheck};

use crate::verify::CheckEnvironment;
use crate::verify::seals::python_modules::{list_library_files, list_module_files};

/// How many unresolved words of a command are reported.
const MAX_COMMAND_NOTES: usize = 3;

pub(in crate::verify) struct CommandFiles {
    /// Programs and scripts, each with all possible paths, whether they exist or not.
    scripts: Vec<Vec<PathBuf>>,
    possible_files: Vec<PathBuf>,
    /// Files that Python would import instead of installed modules, and files that would make a target of make up to date.
    pub(in crate::verify) shadowing_files: Vec<PathBuf>,
    /// Groups of files of which an interpreter runs the first that exists.
    pub(in crate::verify) completions: Vec<Vec<PathBuf>>,
    /// Folders in which the command finds programs by name.
    pub(in crate::verify) folders: Vec<PathBuf>,
    /// Notes about files that are not known in advance.
    pub(in crate::verify) notes: Vec<String>,
}

impl CommandFiles {
    pub(in crate::verify) fn from_check(environment: &CheckEnvironment, check: &ExternalCheck) -> Self {
        let ExecutedFiles {
            scripts,
            possible_files: perhaps,
            completions,
            python_modules,
            python_folders,
            test_targets,
            program_folders: folders,
            unresolved_words: unknown,
            task_calls: _,
        } = check.command.executed_files(&|name| variable_value(environment, check, name));
        let bases = base_folders(environment, check);
        let inside = |names: &[String]| -> Vec<PathBuf> {
            let paths = names.iter().flat_map(|name| bases.iter().map(move |base| normalize_path(&base.join(name))));
            paths.filter(|path| path.starts_with(&environment.root)).collect()
        };
        let scripts: Vec<Vec<PathBuf>> = scripts.iter().map(|places| inside(places)).collect();
        let modules = python_modules.iter().flat_map(|module| list_module_files(environment, module));
        let imported = python_folders.iter().flat_map(|folder| list_library_files(folder));
        let shadowing: Vec<String> = modules.chain(imported).collect();
        let modules: Vec<String> = python_modules.iter().flat_map(|module| module.files.clone()).collect();
        let completed: Vec<String> = completions.concat();
        let targets = inside(&test_targets).into_iter().filter(|path| would_be_up_to_date(path));
        Self {
            shadowing_files: inside(&shadowing).into_iter().chain(targets).collect(),
            completions: completions.iter().map(|group| inside(group)).collect(),
            scripts: scripts.into_iter().filter(|places| !places.is_empty()).collect(),
            possible_files: [inside(&perhaps), inside(&modules), inside(&completed)].concat(),
            folders: folders_on_path(environment, check).into_iter().chain(inside(&folders)).collect(),
            notes: unknown.iter().take(MAX_COMMAND_NOTES).map(|word| unknown_file_note(check, word)).collect(),
        }
    }

    pub(in crate::verify) fn files(&self) -> Vec<PathBuf> {
        self.scripts.iter().flatten().chain(&self.possible_files).cloned().collect()
    }

    /// Returns whether a program or script exists at none of its possible paths.
    pub(in crate::verify) fn is_missing(&self) -> bool {
        self.scripts.iter().any(|places| !places.iter().any(|path| path.exists()))
    }
}

/// Returns whether a file at this path would keep make from running the target of that name: it is not declared as phony,
/// and its recipe does not write the file.
fn would_be_up_to_date(path: &Path) -> bool {
    let (Some(folder), Some(target)) = (path.parent(), path.file_name().and_then(OsStr::to_str)) else { return false };
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
    let Some(text) = ["GNUmakefile", "makefile", "Makefile"].into_iter().find_map(read) else { return false };
    let is_phony = |line: &str| {
        let names = line.strip_prefix(".PHONY").map(|names| names.trim_start_matches([' ', ':']));
        names.is_some_and(|names| names.split_whitespace().any(|name| name == target))
    };
    let is_rule = |line: &&str| {
        let names = line.split_once(':').map_or("", |(names, _)| names);
        !line.starts_with('\t') && names.split_whitespace().any(|name| name == target)
    };
    let recipe = || text.lines().skip_while(|line| !is_rule(line)).skip(1).take_while(|line| line.starts_with('\t'));
    let writes_target = recipe().any(|line| line.contains("$@") || line.contains("-o "));
    text.lines().any(|line| is_rule(&line)) && !text.lines().any(is_phony) && !writes_target
}

fn unknown_file_note(check: &ExternalCheck, word: &str) -> String {
    format!(
        "`{}` runs a file named by `{word}`, which is not known in advance and so not sealed; guard it if the result \
         depends on it",
        check.command
    )
}

fn variable_value(environment: &CheckEnvironment, check: &ExternalCheck, name: &str) -> Option<String> {
    let inherited = || environment.env.iter().find(|(known, _)| known == name)?.1.to_str().map(str::to_owned);
    check.env.get(name).cloned().or_else(inherited)
}

/// Returns the folders against which paths are resolved. In an argument list, the program is relative to the root,
/// whatever the working directory is.
fn base_folders(environment: &CheckEnvironment, check: &ExternalCheck) -> Vec<PathBuf> {
    let folder =
        check.working_dir.as_ref().map_or_else(|| environment.root.clone(), |named| environment.root.join(named));
    match &check.command {
        CheckCommand::Shell(_) => vec![folder],
        CheckCommand::Argv(_) if folder == environment.root => vec![folder],
        CheckCommand::Argv(_) => vec![folder, environment.root.clone()],
    }
}

/// Returns the folders of the work tree that are on the PATH of a check.
fn folders_on_path(environment: &CheckEnvironment, check: &ExternalCheck) -> Vec<PathBuf> {
    let check_path = check.env.get("PATH").map(OsString::from);
    let path =
        check_path.or_else(|| environment.env.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.clone()));
    let bases = base_folders(environment, check);
    let entries: Vec<PathBuf> = std::env::split_paths(path.as_deref().unwrap_or(OsStr::new(""))).collect();
    entries
        .iter()
        .flat_map(|entry| bases.iter().map(move |base| normalize_path(&base.join(entry))))
        .map(|entry| if entry.starts_with(&environment.root) { entry } else { entry.canonicalize().unwrap_or(entry) })
        .filter(|entry| entry.starts_with(&environment.root))
        .collect()
}

/// Removes `.` and `..` from a path without resolving links.
fn normalize_path(path: &Path) -> PathBuf {
    let mut normalized = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(normalized.pop()),
            Component::Normal(_) | Component::RootDir | Component::Prefix(_) => normalized.push(part),
        }
    }
    normalized
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: V9
    #[test]
    fn a_target_that_is_phony_or_writes_its_file_is_not_shadowed() {
        let folder = tempfile::tempdir().unwrap();
        for (makefile, is_shadowed) in [
            ("all test: a\n\tsh a\n", true),
            (".PHONY: all test\ntest:\n\tsh a\n", false),
            ("test: a.c\n\tcc -o test a.c\n", false),
            ("test:\n\tcc $< > $@\n", false),
            ("other:\n\ttrue\n", false),
        ] {
            std::fs::write(folder.path().join("Makefile"), makefile).unwrap();
            assert_eq!(would_be_up_to_date(&folder.path().join("test")), is_shadowed, "{makefile}");
        }
    }
}
