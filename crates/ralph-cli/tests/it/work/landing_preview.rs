//! Reading the work of a task before it is landed: `land --dry-run` and `diff TASK`.
use crate::work::pipeline::{git, project, work};

// spec: U9
// finding: N50
#[test]
fn a_preview_shows_the_files_and_checks_of_a_landing_and_changes_nothing() {
    let project = project(&[("T-1", ""), ("T-2", "  dependencies: [T-1]\n"), ("T-3", "")]);
    work(&project, &["--until-idle", "T-1", "T-2"]).output().expect(0);
    let before = git(&project, &["rev-parse", "HEAD"]);
    let preview = project.ralph(["land", "--dry-run", "T-1", "T-2"]).output().expect(0).stdout;
    let (first, second) = preview.split_once("T-2 would be landed on ").unwrap();
    assert!(first.starts_with("T-1 would be landed on ") && first.contains(" (proven)\n"), "{preview}");
    assert!(first.contains(" done-T-1 | 1 +\n") && first.contains("would run"), "{preview}");
    assert!(second.contains(" done-T-2 | 1 +\n"), "{preview}");
    assert!(!second.contains("done-T-1 |"), "each is shown on top of the one before: {preview}");
    let json = project.ralph(["land", "--dry-run", "T-2", "--json"]).output().expect(0).json();
    assert_eq!((&json["dry_run"], &json["landed"]), (&true.into(), &false.into()));
    project.ralph(["land", "--dry-run", "T-3"]).output().expect(1);
    assert_eq!(
        (git(&project, &["rev-parse", "HEAD"]), git(&project, &["status", "--porcelain"])),
        (before, String::new())
    );
    project.ralph(["land", "T-1", "T-2"]).output().expect(0);
    let landed = project.ralph(["land", "--dry-run", "T-2"]).output();
    assert!(landed.stdout.contains("is already on"), "{}{}", landed.stdout, landed.stderr);
}

// spec: U11
// finding: N50
#[test]
fn the_diff_of_a_task_has_the_changes_of_all_its_stages() {
    let project = project(&[("T-1", "")]);
    work(&project, &["--until-idle"]).output().expect(0);
    let diff = project.ralph(["diff", "T-1"]).output().expect(0).stdout;
    assert!(diff.contains("+++ b/done-T-1\n") && diff.contains("+++ b/test-T-1\n"), "{diff}");
}

// spec: U11
// finding: N50
#[test]
fn a_landing_without_a_name_takes_the_only_finished_task_and_lists_several() {
    let project = project(&[("T-1", ""), ("T-2", "  dependencies: [T-1]\n")]);
    let none = project.ralph(["land"]).output().expect(1).stderr;
    assert!(none.contains("no finished task waits to be merged"), "{none}");
    work(&project, &["--until-idle"]).output().expect(0);
    let several = project.ralph(["land", "--dry-run"]).output().expect(64).stderr;
    let (first, second) = (several.find("T-1  ").unwrap(), several.find("T-2  ").unwrap());
    assert!(first < second, "a task follows those that it depends on: {several}");
    project.ralph(["land", "T-1"]).output().expect(0);
    assert!(project.ralph(["land", "--dry-run"]).output().expect(0).stdout.starts_with("T-2 would be landed"));
    project.ralph(["land"]).output().expect(0);
    assert!(git(&project, &["ls-files"]).contains("done-T-2"));
}

// spec: U11
// finding: N50
#[test]
fn a_retry_without_a_name_takes_the_only_cancelled_task_and_lists_several() {
    let project = project(&[("T-1", ""), ("T-2", "")]);
    let none = project.ralph(["retry"]).output().expect(1).stderr;
    assert!(none.contains("no task is blocked or cancelled"), "{none}");
    project.ralph(["cancel", "T-1"]).output().expect(0);
    assert_eq!(project.ralph(["retry"]).output().expect(0).stdout, "T-1 is ready again\n");
    project.ralph(["cancel", "T-1"]).output().expect(0);
    project.ralph(["cancel", "T-2"]).output().expect(0);
    let several = project.ralph(["retry"]).output().expect(64).stderr;
    assert!(several.contains("T-1  ") && several.contains("T-2  "), "{several}");
}
