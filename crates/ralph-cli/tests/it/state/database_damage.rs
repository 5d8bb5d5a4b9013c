//! A damaged database is refused with a copy kept, or all its data is still readable. It is never a fresh start,
//! nothing is deleted, and nothing panics.
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use ralph_store::{OpenMode, Store, StoreError};
use serde_json::Value;

use crate::harness::{Project, wait_until};

/// A project with a few runs of several iterations.
fn project_with_runs() -> Project {
    let project = Project::new();
    project.run(&["work"]).args(["--max-iterations", "6"]).output().expect(3);
    project.run(&["complete"]).args(["--check", "echo proven"]).output().expect(0);
    project.run(&["exit", "1"]).args(["--max-retries", "0"]).output().expect(4);
    project
}

fn database(project: &Project) -> PathBuf {
    project.state().join("ralph.db")
}

/// Asserts that every command refuses a damaged database with a clear error; returns the error of a run.
#[track_caller]
fn refused_everywhere(project: &Project, what: &str) -> String {
    let starts = project.starts().len();
    let before = fs::read(database(project)).ok();
    for command in [&["runs"][..], &["runs", "--json"], &["show"], &["events"], &["export"]] {
        let answer = project.ralph(command).output_with_damaged_state().expect(10);
        assert!(answer.stderr.contains(what), "{command:?}: {}", answer.stderr);
        assert!(answer.stdout.is_empty(), "{command:?}: {}", answer.stdout);
    }
    let printed = project.run(&["complete"]).output_with_damaged_state().expect(10).stderr;
    assert!(printed.contains(what) && printed.contains("nothing was deleted"), "{printed}");
    assert_eq!(project.starts().len(), starts, "nothing is started");
    assert_eq!(fs::read(database(project)).ok(), before, "nothing is touched");
    printed
}

// fault: 59
// spec: X4, C6, D1
#[test]
fn an_empty_database_file_is_not_a_fresh_start() {
    let project = project_with_runs();
    File::create(database(&project)).unwrap();
    let printed = refused_everywhere(&project, "the file is empty");
    assert!(printed.contains("hint: restore a backup, or start over: mv "), "{printed}");
    fs::remove_file(database(&project)).unwrap();
    refused_everywhere(&project, "the file is missing");
}

// fault: 59
// spec: X4
#[test]
fn a_damaged_database_is_copied_once_for_inspection() {
    let project = project_with_runs();
    let damaged = b"garbage".repeat(1000);
    fs::write(database(&project), &damaged).unwrap();
    let printed = refused_everywhere(&project, "the file is not an SQLite database");
    let kept = printed.split("a copy is kept in ").nth(1).unwrap().lines().next().unwrap();
    assert_eq!(fs::read(Path::new(kept).join("ralph.db")).unwrap(), damaged);
    assert_eq!(fs::metadata(kept).unwrap().mode() & 0o777, 0o700);
    let copies = fs::read_dir(project.state()).unwrap().flatten();
    let copies = copies.filter(|entry| entry.file_name().to_string_lossy().starts_with("damaged-"));
    assert_eq!(copies.count(), 1);
}

// fault: 59
#[test]
fn after_a_damaged_state_was_moved_away_a_new_run_starts() {
    let project = project_with_runs();
    File::create(database(&project)).unwrap();
    fs::rename(project.state(), project.outside("state.damaged")).unwrap();
    project.run(&["complete"]).output().expect(0);
}

// fault: 59
#[test]
fn a_database_cut_in_the_middle_says_how_much_is_missing() {
    let project = project_with_runs();
    let size = fs::metadata(database(&project)).unwrap().len();
    File::options().write(true).open(database(&project)).unwrap().set_len(size / 2).unwrap();
    refused_everywhere(&project, &format!("the file is {} bytes, expected {size}", size / 2));
}

// fault: 36, 59
#[test]
fn a_database_of_another_program_is_not_written_to() {
    let project = project_with_runs();
    let header = File::options().write(true).open(database(&project)).unwrap();
    header.write_all_at(&[1, 2, 3, 4], 68).unwrap();
    refused_everywhere(&project, "it belongs to another program");
}

/// Everything that was ever recorded, as it is read back.
async fn read_all_records(folder: &Path) -> Result<Vec<Value>, StoreError> {
    let store = Store::open(folder, OpenMode::Create).await?.unwrap();
    let mut all = Vec::new();
    for run in store.recent_runs(1_000).await? {
        let header = store.export_header(&run).await?;
        all.push(serde_json::to_value(&header).unwrap());
        let facts = store.events_after(&run.id, 0, 10_000).await?;
        all.extend(
            facts
                .iter()
                .map(|row| serde_json::from_str::<Value>(&row.body).unwrap_or_else(|_| row.body.clone().into())),
        );
    }
    store.close().await;
    Ok(all)
}

/// A small generator: the same numbers for the same seed.
pub struct RandomNumbers(pub u64);

impl RandomNumbers {
    pub fn roll(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

/// Damages a file; the seed selects the kind of damage.
fn damage(bytes: &mut Vec<u8>, seed: u64) -> String {
    let mut random = RandomNumbers(seed);
    random.roll(2);
    let length = bytes.len() as u64;
    let at = usize::try_from(random.roll(length)).unwrap();
    match seed % 4 {
        0 => {
            bytes.truncate(at);
            format!("cut at {at}")
        }
        1 => {
            let page = at / 4096 * 4096;
            bytes[page..page + 4096].fill(0);
            format!("zero page at {page}")
        }
        2 => {
            let bit = random.roll(8);
            bytes[at] ^= 1 << bit;
            format!("bit {bit} of {at}")
        }
        _ => {
            let end = (at + 512).min(bytes.len());
            bytes[at..end].iter_mut().for_each(|byte| *byte = random.roll(256) as u8);
            format!("garbage at {at}")
        }
    }
}

// fault: 59
// spec: X4
#[test]
fn a_thousand_kinds_of_damage_lose_no_data_silently() {
    let project = project_with_runs();
    let sound = fs::read(database(&project)).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let expected = runtime.block_on(read_all_records(&project.state())).unwrap();
    let folder = project.outside("damaged");
    let mut refused = 0;
    let mut silent = Vec::new();
    for seed in 0..1_000 {
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join(".gitignore"), "*\n").unwrap();
        let mut bytes = sound.clone();
        let how = damage(&mut bytes, seed);
        fs::write(folder.join("ralph.db"), &bytes).unwrap();
        match runtime.block_on(read_all_records(&folder)) {
            Ok(found) if found == expected => {}
            Ok(_) => silent.push(how),
            Err(_) => refused += 1,
        }
        assert!(folder.join("ralph.db").exists(), "seed {seed}: nothing is deleted");
    }
    assert!(silent.is_empty(), "{} of 1000 were not noticed: {silent:#?}", silent.len());
    // The rest hits pages that are empty here.
    assert!(refused > 400, "only {refused} were refused");
}

// fault: 61
// spec: D1
#[test]
fn a_copy_taken_during_a_run_without_its_log_is_opened_or_refused_but_never_a_fresh_start() {
    let project = Project::new();
    let go = project.outside("go");
    let running = project.run(&["wait-file", go.to_str().unwrap()]).start();
    project.wait_for("ready");
    let copied = |names: &[&str]| {
        let folder = project.outside("copied");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        for name in names.iter().chain(&[".gitignore", "ralph.db"]) {
            fs::copy(project.state().join(name), folder.join(name)).unwrap();
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(read_all_records(&folder)).map(|all| all.len())
    };
    let whole = copied(&["ralph.db-wal"]).unwrap();
    assert!(whole > 1, "the log was copied too: the run is there");
    assert_eq!(copied(&["ralph.db-wal", "ralph.db-shm"]).unwrap(), whole);
    let alone = copied(&[]);
    assert!(matches!(alone, Err(StoreError::Damaged { .. })), "{alone:?}");
    fs::write(&go, "").unwrap();
    running.wait().expect(0);
}

// fault: 61
#[test]
fn a_missing_shared_memory_file_is_recreated() {
    let project = Project::new();
    let running = project.run(&["hang"]).start();
    project.wait_for("ready");
    running.signal(rustix::process::Signal::KILL);
    running.wait_without_invariants();
    fs::remove_file(project.state().join("ralph.db-shm")).unwrap();
    wait_until("the agent is gone", || project.processes_of_runs().is_empty());
    let runs = project.ralph(["runs", "--json"]).output().expect(0).json();
    assert_eq!(runs.as_array().unwrap().len(), 1);
    project.run(&["complete"]).output().expect(0);
}
