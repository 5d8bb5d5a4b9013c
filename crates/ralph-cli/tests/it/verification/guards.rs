//! Files under `--guard` cannot be changed in any way.
use std::fs;
use std::path::Path;

use crate::verification::cheating::{claims_after, project, rejected, rejection};

// spec: V9, C8
// fault: 76
#[test]
fn guarded_tests_can_neither_be_weakened_nor_removed_nor_added_to() {
    let project = project();
    fs::create_dir_all(project.root().join("tests/deep")).unwrap();
    project.write("tests/a.sh", "grep -q done work\n");
    project.write("tests/deep/b.sh", "exit 0\n");
    project.commit();
    let check = "for t in tests/*.sh tests/deep/*.sh; do sh $t || exit 1; done";
    let cases = [
        ("echo 'exit 0' > tests/a.sh", "tests/a.sh was changed"),
        ("rm tests/a.sh", "tests/a.sh was removed"),
        ("echo 'echo done > work' > tests/0.sh", "tests/0.sh was added"),
        ("rm -r tests; mkdir tests", "tests/deep/b.sh was removed"),
        ("mv tests moved; ln -s moved tests", "tests was added"),
    ];
    for (agent_script, why) in cases {
        let _ = fs::remove_file(project.outside("seen"));
        project.restore();
        rejected(claims_after(&project, agent_script).args(["--check", check, "--guard", "tests/**"]), why);
    }
    project.restore();
    let by_product = "mkdir -p tests/__pycache__; touch tests/__pycache__/a.pyc; echo done > work";
    let _ = fs::remove_file(project.outside("seen"));
    claims_after(&project, by_product).args(["--check", check, "--guard", "tests"]).output().expect(0);
    for (agent_script, guard, why) in [
        (by_product, "tests/__pycache__", "tests/__pycache__/a.pyc was added"),
        ("touch tests/unittest.pyc; echo done > work", "tests", "tests/unittest.pyc was added"),
    ] {
        project.restore();
        let _ = fs::remove_file(project.outside("seen"));
        let call = claims_after(&project, agent_script).args(["--check", check, "--guard", guard]);
        rejected(call, why);
    }
}

/// A compiled Python file can contain anything, also for a guarded test.
// spec: V9
// fault: 76
#[test]
fn compiled_python_files_beside_a_guarded_test_are_not_read_by_a_check() {
    let project = project();
    let places = project.outside("places");
    let check = format!(
        "case \"$PYTHONPYCACHEPREFIX\" in /*) ;; *) exit 1;; esac; test ! -e \"$PYTHONPYCACHEPREFIX\" || exit 1
         mkdir -p \"$PYTHONPYCACHEPREFIX/a\"; echo \"$PYTHONPYCACHEPREFIX\" >> {}; grep -q done work",
        places.display()
    );
    let call = claims_after(&project, "echo done > work").args(["--check", &check, "--check", &check]);
    call.env("RALPH_VERIFICATION_CACHE", "off").env("PYTHONPYCACHEPREFIX", "/of/the/user").output().expect(0);
    let places = fs::read_to_string(places).unwrap();
    let mut named: Vec<&str> = places.lines().collect();
    assert!(named.len() >= 3 && named.iter().all(|place| !Path::new(place).exists()), "{places}");
    named.sort_unstable();
    named.dedup();
    assert_eq!(named.len(), places.lines().count(), "each check has one of its own: {places}");
}

// spec: V9, C8
// fault: 76
#[test]
fn a_guard_works_without_a_check_and_warns_if_it_covers_nothing() {
    let project = project();
    let guard = ["--guard", "verify.sh", "--guard", "tets/**"];
    let call = claims_after(&project, "echo 'exit 0' > verify.sh").args(guard);
    let answer = call.output().expect(3);
    assert!(rejection(&answer).contains("verify.sh was changed"));
    let notes = answer.events_named("run.sealed")[0]["notes"].to_string();
    assert!(
        notes.contains("the guard pattern tets/** matches no file") && !notes.contains("the guard pattern verify.sh"),
        "{notes}"
    );
    project.restore();
    let _ = fs::remove_file(project.outside("seen"));
    claims_after(&project, "echo done > work").args(guard).output().expect(0);
    let shown = project.ralph(["show"]).output().expect(0).stdout;
    assert!(shown.contains("receipt  unverified: only the agent's claim"), "{shown}");
}

// spec: V9, C8
#[test]
fn of_the_patterns_of_a_guard_the_last_one_decides() {
    let project = project();
    fs::create_dir_all(project.root().join("tests/data")).unwrap();
    project.write("tests/data/a", "1\n");
    project.write("tests/data/kept", "1\n");
    project.commit();
    let guard = ["--guard", "tests", "--guard", "!tests/data", "--guard", "tests/data/kept", "--check", "./verify.sh"];
    claims_after(&project, "echo 2 > tests/data/a; echo done > work").args(guard).output().expect(0);
    project.restore();
    let _ = fs::remove_file(project.outside("seen"));
    rejected(claims_after(&project, "echo 2 > tests/data/kept").args(guard), "tests/data/kept was changed");
}

// spec: V9, C8
#[test]
fn an_invalid_guard_pattern_is_refused_before_anything_starts() {
    let project = project();
    let answer = project.run(&["complete"]).args(["--check", "true", "--guard", "a["]).output().expect(64);
    assert!(answer.stderr.contains("\"a[\"") && answer.stderr.contains("hint: "), "{}", answer.stderr);
    assert_eq!(project.starts().len(), 0);
}

// spec: V9
#[test]
fn a_check_that_writes_into_guarded_files_is_reported_before_any_work() {
    let project = project();
    fs::create_dir(project.root().join("tests")).unwrap();
    let check = "date +%N > tests/report; grep -q done work";
    let call = claims_after(&project, "echo done > work").args(["--check", check, "--guard", "tests"]);
    let answer = call.output().expect(3);
    let notes = answer.events_named("run.sealed")[0]["notes"].to_string();
    assert!(notes.contains("the checks themselves change sealed files: tests/report was added"), "{notes}");
    assert!(rejection(&answer).contains("from the guard with `!`"));
    let _ = fs::remove_file(project.outside("seen"));
    let call = claims_after(&project, "echo done > work").args(["--check", check, "--guard", "tests"]);
    call.args(["--guard", "!tests/report"]).output().expect(0);
}
