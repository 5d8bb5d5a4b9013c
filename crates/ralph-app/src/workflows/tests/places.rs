//! Where workflows, commands and scripts are found.
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use ralph_core::workflow::ScriptRuntime;

use crate::workflows::catalog::{WorkflowCatalog, WorkflowFolders};
use crate::workflows::commands::{CommandError, CommandLibrary};
use crate::workflows::discovery::{FolderLayout, WorkflowFolder, WorkflowOrigin, find_workflow_files};

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn names_in(root: &Path, layout: FolderLayout) -> Vec<(String, Option<String>)> {
    let folder = WorkflowFolder { origin: WorkflowOrigin::Project, path: root.to_path_buf(), layout };
    let relative = |path: &Path| path.strip_prefix(root.join("workflows")).unwrap().display().to_string();
    let found = find_workflow_files(&folder).into_iter();
    found.map(|file| (relative(&file.path), file.package.as_deref().map(relative))).collect()
}

// spec: W1
#[test]
fn archon_folders_have_groups_and_packages() {
    let temp = tempfile::tempdir().unwrap();
    let root = temp.path();
    for name in
        ["a.yaml", "group/b.yml", "pack/flow/c.yaml", "pack/flow/deep/d.yaml", "x.test.yaml", "y.stubs.yaml", "note.md"]
    {
        write(&root.join("workflows").join(name), "name: x");
    }
    assert_eq!(
        names_in(root, FolderLayout::Archon),
        [
            ("a.yaml".to_owned(), None),
            ("group/b.yml".to_owned(), None),
            ("pack/flow/c.yaml".to_owned(), Some("pack/flow".to_owned())),
        ]
    );
}

// spec: W1
#[test]
fn ralph_folders_may_be_nested_and_a_folder_with_commands_is_a_package() {
    let temp = tempfile::tempdir().unwrap();
    let root = temp.path();
    for name in ["a.yaml", "x/y/z/b.yaml", "pack/c.yaml", "pack/commands/no.yaml"] {
        write(&root.join("workflows").join(name), "name: x");
    }
    assert_eq!(
        names_in(root, FolderLayout::Ralph),
        [
            ("a.yaml".to_owned(), None),
            ("pack/c.yaml".to_owned(), Some("pack".to_owned())),
            ("x/y/z/b.yaml".to_owned(), None),
        ]
    );
}

// spec: W1
#[test]
fn a_file_of_the_repository_replaces_one_of_the_user() {
    let temp = tempfile::tempdir().unwrap();
    let folder = |name: &str, origin| {
        let path = temp.path().join(name);
        write(
            &path.join("workflows/w.yaml"),
            &format!("name: w\ndescription: {name}\nnodes:\n  - id: a\n    bash: echo\n"),
        );
        WorkflowFolder { origin, path, layout: FolderLayout::Ralph }
    };
    let folders = vec![
        folder("user", WorkflowOrigin::User),
        folder("archon", WorkflowOrigin::ProjectArchon),
        folder("own", WorkflowOrigin::Project),
    ];
    let catalog = WorkflowCatalog::read(WorkflowFolders { folders, ..WorkflowFolders::default() }, None);
    assert_eq!(catalog.find("w").unwrap().loaded.workflow.description, "own");
    assert_eq!(catalog.active_entries().filter(|entry| entry.name == "w").count(), 1);
}

// spec: W1
// fault: 81
#[test]
fn a_link_out_of_the_repository_is_not_read() {
    let temp = tempfile::tempdir().unwrap();
    let (root, outside) = (temp.path().join("root"), temp.path().join("outside.yaml"));
    write(&outside, "name: outside\ndescription: d\nnodes:\n  - id: a\n    bash: echo\n");
    fs::create_dir_all(root.join(".ralph/workflows")).unwrap();
    symlink(&outside, root.join(".ralph/workflows/link.yaml")).unwrap();
    let folders = vec![WorkflowFolder {
        origin: WorkflowOrigin::Project,
        path: root.join(".ralph"),
        layout: FolderLayout::Ralph,
    }];
    let catalog =
        WorkflowCatalog::read(WorkflowFolders { folders, root: Some(root), ..WorkflowFolders::default() }, None);
    let entry = catalog.entries().iter().position(|entry| entry.name == "link").unwrap();
    let problems = catalog.load_entry(entry).unwrap_err();
    assert_eq!(problems[0].message, "the link leads out of the repository");
}

fn library(folders: &[PathBuf]) -> CommandLibrary {
    CommandLibrary::new(folders.to_vec())
}

// spec: W5
#[test]
fn a_command_is_found_in_any_folder_below_and_its_front_matter_is_removed() {
    let temp = tempfile::tempdir().unwrap();
    let root = temp.path().to_path_buf();
    write(&root.join("commands/a/b/plan.md"), "---\ndescription: Plans\nother: [x]\n---\nMake a plan.\n---\nEnd\n");
    write(&root.join("commands/plain.md"), "--- not front matter\nText\n");
    let library = library(&[root]);
    let plan = library.find_command("plan", &[]).unwrap();
    assert_eq!((plan.description.as_deref(), plan.text.as_str()), (Some("Plans"), "Make a plan.\n---\nEnd\n"));
    assert_eq!(library.find_command("plain", &[]).unwrap().text, "--- not front matter\nText\n");
    assert_eq!(library.find_command("pla", &[]).unwrap_err().hint(), Some("did you mean plan?"));
}

// spec: W5
#[test]
fn the_first_folder_wins_and_a_package_wins_over_all() {
    let temp = tempfile::tempdir().unwrap();
    let folder = |name: &str| {
        write(&temp.path().join(name).join("commands/c.md"), name);
        temp.path().join(name)
    };
    let library = library(&[folder("project"), folder("user")]);
    assert_eq!(library.find_command("c", &[]).unwrap().text, "project");
    assert_eq!(library.find_command("c", &[folder("package")]).unwrap().text, "package");
}

// spec: W5
// fault: 81
#[test]
fn a_command_outside_of_its_folder_is_not_read() {
    let temp = tempfile::tempdir().unwrap();
    let root = temp.path().join("root");
    write(&temp.path().join("secret.md"), "secret");
    fs::create_dir_all(root.join("commands")).unwrap();
    symlink(temp.path().join("secret.md"), root.join("commands/leak.md")).unwrap();
    let library = library(&[root]);
    for name in ["../secret", "..", "/etc/passwd", "a\0b"] {
        let error = library.find_command(name, &[]).unwrap_err();
        assert!(matches!(error, CommandError::InvalidName { .. }), "{name:?}: {error}");
    }
    let error = library.find_command("leak", &[]).unwrap_err();
    assert!(error.to_string().ends_with("the link leads out of its folder"), "{error}");
}

// spec: W3
#[test]
fn a_script_is_found_by_the_endings_of_its_runtime() {
    let temp = tempfile::tempdir().unwrap();
    let root = temp.path().to_path_buf();
    write(&root.join("scripts/a.js"), "1");
    write(&root.join("scripts/a.py"), "2");
    let library = library(&[root]);
    assert_eq!(library.find_script("a", ScriptRuntime::Bun, &[]).unwrap().text, "1");
    assert_eq!(library.find_script("a", ScriptRuntime::Uv, &[]).unwrap().text, "2");
    assert!(matches!(library.find_script("b", ScriptRuntime::Uv, &[]), Err(CommandError::UnknownScript { .. })));
}
