//! `ralph install` and `ralph uninstall`: what is there stays, and what came goes without a trace.
mod faults;
mod hook_timeouts;
mod install_and_uninstall;
mod project_scope;
mod task_import;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::harness::{Call, Project};

pub const HOSTS: &[&str] = &["claude", "codex", "gemini", "qwen", "copilot", "opencode"];

/// Settings as people have them: with comments, trailing commas, hooks of others, and a secret.
const SETTINGS: &str = "// mine\n{\n    \"env\": { \"TOKEN\": \"keep-me-private\" }, // do not touch\n    \"hooks\": {\n        \"Stop\": [\n            { \"hooks\": [{ \"type\": \"command\", \"command\": \"say done\" }] }, /* theirs */\n        ],\n    },\n}\n";

/// The files that hooks are merged into.
const MERGED: &[&str] = &[
    "home/.claude/settings.json",
    "home/.codex/hooks.json",
    "home/.gemini/settings.json",
    "home/.qwen/settings.json",
    "project/.claude/settings.local.json",
    "project/.codex/hooks.json",
    "project/.gemini/settings.json",
    "project/.qwen/settings.json",
];

/// A project and a home in which every host already has settings.
fn project_with_settings() -> Project {
    let project = Project::new();
    MERGED.iter().for_each(|name| write(&project, name, SETTINGS));
    project
}

fn write(project: &Project, name: &str, text: &str) {
    let path = project.outside(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn read(project: &Project, name: &str) -> String {
    fs::read_to_string(project.outside(name)).unwrap()
}

fn call<'a>(project: &'a Project, verb: &str, host: &str, scope: &str) -> Call<'a> {
    project.ralph([verb, host, scope])
}

/// Every file, folder and link of home and project, with mode and bytes, except the install record of ralph.
fn snapshot_files(project: &Project) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    let mut found = BTreeMap::new();
    for top in ["home", "project"] {
        walk(&project.outside(top), &mut found);
    }
    let own = project.home().join(".local");
    found.retain(|path, _| !path.starts_with(&own) && !path.starts_with(project.root().join(".git")));
    found
}

fn walk(folder: &Path, found: &mut BTreeMap<PathBuf, (u32, Vec<u8>)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let facts = path.symlink_metadata().unwrap();
        let bytes = if facts.is_symlink() {
            fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
        } else if facts.is_dir() {
            walk(&path, found);
            Vec::new()
        } else {
            fs::read(&path).unwrap()
        };
        found.insert(path, (facts.permissions().mode(), bytes));
    }
}
