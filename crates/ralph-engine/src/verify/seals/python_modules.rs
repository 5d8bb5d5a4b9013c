//! Finds the files that Python would import from the work tree instead of the modules that are installed.
use std::fs;
use std::path::{Path, PathBuf};

use ralph_core::criterion::PythonModule;

use crate::verify::CheckEnvironment;

/// Modules of the standard library that test runners and scripts import and that a file of the same name replaces. Names
/// that projects often use for their own modules are left out.
const LIBRARY_MODULES: &[&str] = &[
    "argparse",
    "ast",
    "asyncio",
    "atexit",
    "bdb",
    "cmd",
    "collections",
    "concurrent",
    "contextlib",
    "copy",
    "csv",
    "dataclasses",
    "datetime",
    "difflib",
    "dis",
    "doctest",
    "enum",
    "errno",
    "fnmatch",
    "functools",
    "gettext",
    "glob",
    "hashlib",
    "importlib",
    "inspect",
    "itertools",
    "json",
    "linecache",
    "locale",
    "logging",
    "math",
    "multiprocessing",
    "opcode",
    "operator",
    "optparse",
    "os",
    "pathlib",
    "pdb",
    "pickle",
    "pkgutil",
    "pluggy",
    "pprint",
    "pytest",
    "random",
    "re",
    "reprlib",
    "runpy",
    "shlex",
    "shutil",
    "signal",
    "socket",
    "sre_compile",
    "sre_parse",
    "string",
    "struct",
    "subprocess",
    "sys",
    "sysconfig",
    "tempfile",
    "textwrap",
    "threading",
    "time",
    "tokenize",
    "traceback",
    "typing",
    "unittest",
    "urllib",
    "uuid",
    "warnings",
    "weakref",
    "xml",
    "zipfile",
    "_pytest",
    "iniconfig",
    "packaging",
];

/// Returns the files that replace modules of the standard library if they are in this folder.
pub(in crate::verify) fn list_library_files(folder: &str) -> Vec<String> {
    let in_folder = |name: &str| if folder == "." { name.to_owned() } else { format!("{folder}/{name}") };
    let files = |module: &&str| [in_folder(&format!("{module}.py")), in_folder(&format!("{module}/__init__.py"))];
    LIBRARY_MODULES.iter().flat_map(files).collect()
}

/// Returns the files that replace an installed module. If it is not installed, the agent may write it.
pub(in crate::verify) fn list_module_files(environment: &CheckEnvironment, module: &PythonModule) -> Vec<String> {
    let is_installed = LIBRARY_MODULES.contains(&module.name.as_str()) || is_installed(environment, &module.name);
    let is_partly_written = || module.files.iter().any(|file| environment.root.join(file).is_file());
    if is_installed || is_partly_written() { module.files.clone() } else { Vec::new() }
}

fn is_installed(environment: &CheckEnvironment, name: &str) -> bool {
    let contains = |folder: &PathBuf| folder.join(name).is_dir() || folder.join(format!("{name}.py")).is_file();
    installation_folders(environment).iter().flat_map(|root| library_folders(root)).any(|folder| contains(&folder))
}

/// Returns the folders under which Python may be installed for the checks.
fn installation_folders(environment: &CheckEnvironment) -> Vec<PathBuf> {
    let variable = |name: &str| environment.env.iter().find(|(known, _)| known == name).map(|(_, value)| value);
    let path = variable("PATH").map(|path| std::env::split_paths(path).collect::<Vec<_>>()).unwrap_or_default();
    let programs = path.iter().flat_map(|folder| ["python3", "python"].map(|name| folder.join(name)));
    let real = programs.filter_map(|program| program.canonicalize().ok());
    let programs = real.chain(path.iter().map(|folder| folder.join("python3"))).filter(|program| program.is_file());
    let mut folders: Vec<PathBuf> =
        programs.filter_map(|program| Some(program.parent()?.parent()?.to_path_buf())).collect();
    folders.extend(variable("HOME").map(|home| Path::new(home).join(".local")));
    folders.extend([".venv", "venv"].map(|name| environment.root.join(name)));
    folders
}

/// Returns the folders with modules of an installation.
fn library_folders(root: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(root.join("lib")).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_python =
        |path: &PathBuf| path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with("python"));
    let versions = entries.filter(is_python);
    versions.flat_map(|lib| [lib.join("site-packages"), lib.join("dist-packages"), lib]).collect()
}
