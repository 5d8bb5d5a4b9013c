//! The environment, descriptors, signals and working directory of a started program.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use ralph_process::{JobExit, SpawnError};

use crate::fixture::{Fixture, file, reader, rest, stat, text, until};
use crate::helper_process;

crate::test_cases![
    the_environment_is_exactly_the_specified_one_plus_the_run_id,
    an_environment_of_a_megabyte_arrives,
    a_single_value_beyond_the_limit_of_the_kernel_is_refused_with_its_size,
    only_descriptors_0_to_2_are_open_in_the_program,
    the_program_has_its_own_group_and_no_terminal,
    signals_that_ralph_inherited_blocked_or_ignored_are_reset,
    a_bare_name_is_searched_in_the_path_of_the_job,
    a_relative_program_path_is_relative_to_the_working_directory,
];

/// Signals 32 and 33 are reserved by the C library and cannot be set.
const C_LIBRARY_SIGNALS: u64 = 0b11 << 31;

async fn the_environment_is_exactly_the_specified_one_plus_the_run_id(fixture: Fixture) {
    let mut spec = fixture.spec("/usr/bin/env", &[]);
    spec.env = vec![("A".into(), "1=2".into()), ("RALPH_RUN_ID".into(), "outer".into()), ("B".into(), "".into())];
    let mut job = fixture.keeper.spawn(spec).await.unwrap();
    let output = rest(&mut reader(job.stdout)).await;
    let run_id = format!("RALPH_RUN_ID={}", fixture.run_id);
    assert_eq!(output.lines().collect::<BTreeSet<_>>(), BTreeSet::from(["A=1=2", "B=", run_id.as_str()]));
    job.completion.wait_until_gone().await;
    fixture.assert_nothing_is_left();
}

async fn an_environment_of_a_megabyte_arrives(fixture: Fixture) {
    let mut spec = fixture.spec("/usr/bin/env", &[]);
    let value = "v".repeat(100_000);
    spec.env = (0..11).map(|number| (format!("BIG_{number}").into(), value.clone().into())).collect();
    let mut job = fixture.keeper.spawn(spec).await.unwrap();
    let output = rest(&mut reader(job.stdout)).await;
    assert_eq!(output.lines().filter(|line| line.ends_with(&value)).count(), 11);
    assert_eq!(job.completion.wait_for_exit().await, JobExit::Code(0));
    job.completion.wait_until_gone().await;
    fixture.assert_nothing_is_left();
}

async fn a_single_value_beyond_the_limit_of_the_kernel_is_refused_with_its_size(fixture: Fixture) {
    let mut spec = fixture.spec("/bin/true", &[]);
    spec.env = vec![("BIG".into(), "v".repeat(1 << 20).into())];
    let error = fixture.keeper.spawn(spec).await.err().unwrap();
    assert!(matches!(error, SpawnError::ArgumentsTooLong { longest, .. } if longest > 1 << 20), "{error}");
    fixture.assert_nothing_is_left();
}

fn open_fds(pid: u32) -> BTreeSet<String> {
    let open = fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
    open.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

async fn only_descriptors_0_to_2_are_open_in_the_program(fixture: Fixture) {
    let mut job = fixture.keeper.spawn(fixture.spec("sleep", &["1000"])).await.unwrap();
    // The loader keeps its libraries open for a short time; an inherited descriptor would stay open.
    until("only three descriptors are open", || open_fds(job.pid) == ["0", "1", "2"].map(String::from).into()).await;
    job.control.kill();
    job.completion.wait_until_gone().await;
    fixture.assert_nothing_is_left();
}

// spec: A7
async fn the_program_has_its_own_group_and_no_terminal(fixture: Fixture) {
    let mut job = fixture.sh("(: </dev/tty) 2>/dev/null && exit 1; sleep 1000").await;
    let (own, program) = (stat(std::process::id()).unwrap(), stat(job.pid).unwrap());
    assert_eq!(program[2], job.pid.to_string(), "it leads its process group");
    assert_ne!(program[3], own[3], "it is in another session");
    assert_eq!(program[4], "0", "it has no terminal");
    job.control.kill();
    assert_eq!(job.completion.wait_for_exit().await, JobExit::Signal(9));
    job.completion.wait_until_gone().await;
    fixture.assert_nothing_is_left();
}

async fn signals_that_ralph_inherited_blocked_or_ignored_are_reset(fixture: Fixture) {
    let helper = helper_process::command("signals", &fixture.run_id);
    let mut shell = std::process::Command::new("/bin/sh");
    shell.args(["-c", "trap '' HUP INT TERM USR1 CHLD PIPE; exec \"$@\"", "sh"]);
    shell.arg(helper.get_program()).args(helper.get_args());
    let status = String::from_utf8(shell.output().unwrap().stdout).unwrap();
    helper_process::reap_orphans(&fixture.run_id);
    for field in ["SigBlk", "SigIgn"] {
        let line = status.lines().find(|line| line.starts_with(field)).unwrap();
        let mask = u64::from_str_radix(line.split_whitespace().last().unwrap(), 16).unwrap();
        assert_eq!(mask & !C_LIBRARY_SIGNALS, 0, "{line}");
    }
    fixture.assert_nothing_is_left();
}

async fn a_bare_name_is_searched_in_the_path_of_the_job(fixture: Fixture) {
    let (folder, _) = file(b"#!/bin/sh\nexit 9\n", 0o755);
    let mut spec = fixture.spec("program", &[]);
    spec.env = vec![("PATH".into(), format!("/nowhere:{}", text(folder.path())).into())];
    let mut job = fixture.keeper.spawn(spec).await.unwrap();
    assert_eq!(job.completion.wait_for_exit().await, JobExit::Code(9));
    job.completion.wait_until_gone().await;
    fixture.assert_nothing_is_left();
}

async fn a_relative_program_path_is_relative_to_the_working_directory(fixture: Fixture) {
    let (folder, _) = file(b"#!/bin/sh\nexit 8\n", 0o755);
    let mut spec = fixture.spec("./program", &[]);
    spec.cwd = PathBuf::from(folder.path());
    let mut job = fixture.keeper.spawn(spec).await.unwrap();
    assert_eq!(job.completion.wait_for_exit().await, JobExit::Code(8));
    job.completion.wait_until_gone().await;
    fixture.assert_nothing_is_left();
}
