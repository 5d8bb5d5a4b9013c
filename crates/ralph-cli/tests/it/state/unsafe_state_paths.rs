//! State files and folders must be plain and owned by ralph, or they are refused: nothing is written elsewhere, and
//! nothing hangs.
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::harness::{FAKE_AGENT, Project};

const PRECIOUS: &str = "nobody may write here";

/// Asserts that a run and a reading command refuse the planted file, name it, and start nothing.
#[track_caller]
fn assert_refused(project: &Project, path: &Path, what: &str) {
    let starts = project.starts().len();
    for call in [project.run(&["complete"]), project.ralph(["runs"]), project.ralph(["show"])] {
        let answer = call.output_with_damaged_state().expect(10);
        let named = format!("{} is {what}", path.display());
        assert!(answer.stderr.starts_with("error: ") && answer.stderr.contains(&named), "{}", answer.stderr);
        assert!(answer.stderr.contains("\nhint: "), "{}", answer.stderr);
    }
    assert_eq!(project.starts().len(), starts, "nothing is started");
}

/// A project with one finished run, and a foreign file beside it.
fn project_with_foreign_file() -> (Project, PathBuf) {
    let project = Project::new();
    project.run(&["complete"]).output().expect(0);
    let foreign = project.outside("foreign");
    fs::write(&foreign, PRECIOUS).unwrap();
    (project, foreign)
}

fn make_pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

fn make_device(path: &Path) {
    let made = Command::new("mknod").arg(path).args(["c", "1", "3"]).status().unwrap();
    assert!(made.success(), "a device can be made only with privileges (root)");
}

// fault: 62
// spec: D1, C6
#[test]
fn planted_files_in_place_of_the_database_are_refused_and_never_written_to() {
    for name in ["ralph.db", "ralph.db-wal", "ralph.db-shm"] {
        let (project, foreign) = project_with_foreign_file();
        let path = project.state().join(name);
        let plants: [(&str, &dyn Fn()); 6] = [
            ("a symbolic link", &|| symlink(&foreign, &path).unwrap()),
            ("a symbolic link", &|| symlink(project.outside("nowhere"), &path).unwrap()),
            ("a file with another name (a hard link)", &|| fs::hard_link(&foreign, &path).unwrap()),
            ("a named pipe", &|| make_pipe(&path)),
            ("a folder", &|| fs::create_dir(&path).unwrap()),
            ("a device", &|| make_device(&path)),
        ];
        for (what, plant) in plants {
            let _ = fs::remove_file(&path);
            plant();
            assert_refused(&project, &path, what);
            if path.is_dir() {
                fs::remove_dir(&path).unwrap();
            }
        }
        assert_eq!(fs::read_to_string(&foreign).unwrap(), PRECIOUS);
        assert!(!project.outside("nowhere").exists());
    }
}

// fault: 62
#[test]
fn a_state_folder_that_is_a_link_is_refused_and_nothing_is_created_behind_it() {
    let project = Project::new();
    let elsewhere = project.outside("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::create_dir_all(project.state().parent().unwrap()).unwrap();
    symlink(&elsewhere, project.state()).unwrap();
    assert_refused(&project, &project.state(), "a symbolic link");
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
}

// fault: 62
#[test]
fn folders_of_logs_that_are_links_are_refused_before_anything_is_started() {
    let (project, _) = project_with_foreign_file();
    let runs = project.state().join("runs");
    fs::rename(&runs, project.outside("moved")).unwrap();
    symlink(project.outside("moved"), &runs).unwrap();
    let answer = project.run(&["complete"]).output_with_damaged_state().expect(10);
    assert!(answer.stderr.contains(&format!("{} is a symbolic link", runs.display())), "{}", answer.stderr);
    assert_eq!(project.starts().len(), 1);
    assert_eq!(fs::read_dir(project.outside("moved")).unwrap().count(), 1);
}

// fault: 62, 56
#[test]
fn a_log_that_is_a_link_is_not_written_and_the_run_continues_with_a_warning() {
    let (project, foreign) = project_with_foreign_file();
    let foreign = foreign.display().to_string();
    let state = project.state().display().to_string();
    let agent = format!(
        "cat > /dev/null; cd {state}/runs/$RALPH_RUN_ID
         ln -s '{foreign}' iteration-002.ndjson; mkfifo iteration-001.check-1.log
         echo working; echo '<promise>COMPLETE</promise>'"
    );
    let call = project.run_shell(&agent).args([
        "--no-baseline",
        "--check",
        "echo checked; test -e second || { touch second; false; }",
    ]);
    call.output_with_damaged_state().expect(0);
    assert_eq!(fs::read_to_string(foreign).unwrap(), PRECIOUS);
}

// fault: 62
#[test]
fn a_linked_home_works_unless_the_link_is_part_of_the_repository() {
    let project = Project::new();
    let dotfiles = project.outside("dotfiles");
    fs::create_dir(&dotfiles).unwrap();
    symlink(&dotfiles, project.root().join(".ralph")).unwrap();
    project.run(&["complete"]).output().expect(0);
    assert!(dotfiles.join("notes").is_dir());
    let git = Command::new("git").args(["add", ".ralph"]).current_dir(project.root()).status().unwrap();
    assert!(git.success());
    let answer = project.run(&["complete"]).start().wait_without_invariants().expect(10);
    assert!(answer.stderr.contains("is part of the repository but links to a path outside it"), "{}", answer.stderr);
    assert!(answer.stderr.contains("hint: nothing was written there"), "{}", answer.stderr);
    assert_eq!(project.starts().len(), 1);
}

/// Starts ralph with a umask.
#[expect(unsafe_code, reason = "only between fork and exec can the child's umask be set")]
fn with_umask(command: &mut Command, mask: u32) {
    // SAFETY: umask is async-signal-safe and touches only the fresh child.
    unsafe {
        command.pre_exec(move || {
            libc::umask(mask);
            Ok(())
        });
    }
}

// fault: 64
#[test]
fn everything_is_private_whatever_the_umask_says() {
    for mask in [0o000, 0o022, 0o077] {
        let project = Project::new();
        let call = project.run(&["stderr-mix", "5"]).args(["--max-iterations", "1"]);
        // The invariants check every file and folder of the state.
        call.with(|command| with_umask(command, mask)).output().expect(3);
        for path in [project.root().join(".ralph"), project.state(), project.state().join("runs")] {
            let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
            assert_eq!(mode, 0o700, "{} with umask {mask:o}", path.display());
        }
        let ignore = fs::metadata(project.state().join(".gitignore")).unwrap();
        assert_eq!(ignore.mode() & 0o777, 0o600, "umask {mask:o}");
    }
}

// fault: 62
// spec: D1
#[test]
fn a_project_with_a_non_utf8_path_works_like_any_other() {
    let project = Project::new();
    let root = project.outside("sp\u{fc}r").with_file_name(OsStr::from_bytes(b"no \xff text"));
    fs::create_dir(&root).unwrap();
    let git = Command::new("git").args(["init", "--quiet"]).arg(&root).status().unwrap();
    assert!(git.success());
    project.run(&["complete"]).args(["--check", "true"]).folder(&root).output().expect(0);
    let runs = project.ralph(["runs", "--json"]).folder(&root).output().expect(0).json();
    assert_eq!(runs[0]["status"], "completed");
    assert!(project.state_of(&root).join("ralph.db").is_file());
    project.ralph(["show"]).folder(&root).output().expect(0);
}

// spec: C8, U1
#[test]
fn a_prompt_file_with_a_non_utf8_name_is_used_or_refused_without_a_panic() {
    let project = Project::new();
    let name = OsStr::from_bytes(b"@task \xff.md");
    fs::write(project.root().join(OsStr::from_bytes(b"task \xff.md")), "do the work").unwrap();
    let call = project.ralph(["run"]).args([name]);
    let call = call.args(["--agent", "text", "--agent-cmd", FAKE_AGENT, "--agent-arg=complete", "--json"]);
    let answer = call.args(["--promise", "COMPLETE"]).output();
    assert!([0, 64].contains(&answer.code()), "{}", answer.stderr);
}

// spec: U1
#[test]
fn an_arbitrary_file_named_git_is_not_a_repository() {
    let project = Project::new();
    let folder = project.outside("empty");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join(".git"), "").unwrap();
    let answer = project.ralph(["runs"]).folder(&folder).output().expect(1);
    assert!(answer.stderr.contains("is not inside a git repository"), "{}", answer.stderr);
    assert!(answer.stderr.contains("caused by: `git rev-parse --show-toplevel` failed"), "{}", answer.stderr);
}
