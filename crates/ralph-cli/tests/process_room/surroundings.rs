//! What a program finds around it when it starts.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use ralph_process::{JobExit, SpawnError};

use crate::helper;
use crate::scene::{Scene, file, reader, rest, stat, text, until};

crate::stories![
    the_environment_is_exactly_the_given_one_and_the_run_id,
    an_environment_of_a_megabyte_arrives,
    a_single_value_beyond_the_limit_of_the_kernel_is_refused_with_its_size,
    only_descriptors_0_to_2_are_open_in_the_program,
    the_program_has_its_own_group_and_no_terminal,
    signals_that_ralph_inherited_blocked_or_ignored_are_reset,
    a_bare_name_is_looked_up_in_the_path_of_the_job,
    a_relative_program_starts_at_the_working_directory,
];

/// Signals 32 and 33 belong to the C library, which lets nobody else set them.
const C_LIBRARY_OWN: u64 = 0b11 << 31;

async fn the_environment_is_exactly_the_given_one_and_the_run_id(scene: Scene) {
    let mut wanted = scene.spec("/usr/bin/env", &[]);
    wanted.env = vec![("A".into(), "1=2".into()), ("RALPH_RUN_ID".into(), "outer".into()), ("B".into(), "".into())];
    let mut job = scene.keeper.spawn(wanted).await.unwrap();
    let output = rest(&mut reader(job.stdout)).await;
    let mark = format!("RALPH_RUN_ID={}", scene.run_id);
    assert_eq!(output.lines().collect::<BTreeSet<_>>(), BTreeSet::from(["A=1=2", "B=", mark.as_str()]));
    job.completion.wait_until_gone().await;
    scene.assert_nothing_is_left();
}

async fn an_environment_of_a_megabyte_arrives(scene: Scene) {
    let mut wanted = scene.spec("/usr/bin/env", &[]);
    let value = "v".repeat(100_000);
    wanted.env = (0..11).map(|number| (format!("BIG_{number}").into(), value.clone().into())).collect();
    let mut job = scene.keeper.spawn(wanted).await.unwrap();
    let output = rest(&mut reader(job.stdout)).await;
    assert_eq!(output.lines().filter(|line| line.ends_with(&value)).count(), 11);
    assert_eq!(job.completion.wait_for_exit().await, JobExit::Code(0));
    job.completion.wait_until_gone().await;
    scene.assert_nothing_is_left();
}

async fn a_single_value_beyond_the_limit_of_the_kernel_is_refused_with_its_size(scene: Scene) {
    let mut wanted = scene.spec("/bin/true", &[]);
    wanted.env = vec![("BIG".into(), "v".repeat(1 << 20).into())];
    let refused = scene.keeper.spawn(wanted).await.err().unwrap();
    assert!(matches!(refused, SpawnError::ArgumentsTooLong { longest, .. } if longest > 1 << 20), "{refused}");
    scene.assert_nothing_is_left();
}

fn open(pid: u32) -> BTreeSet<String> {
    let open = fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
    open.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

async fn only_descriptors_0_to_2_are_open_in_the_program(scene: Scene) {
    let mut job = scene.keeper.spawn(scene.spec("sleep", &["1000"])).await.unwrap();
    // The loader has its libraries open for a moment; a descriptor of ours would stay.
    until("only three descriptors are open", || open(job.pid) == ["0", "1", "2"].map(String::from).into()).await;
    job.control.kill();
    job.completion.wait_until_gone().await;
    scene.assert_nothing_is_left();
}

// spec: A7
async fn the_program_has_its_own_group_and_no_terminal(scene: Scene) {
    let mut job = scene.sh("(: </dev/tty) 2>/dev/null && exit 1; sleep 1000").await;
    let (mine, its) = (stat(std::process::id()).unwrap(), stat(job.pid).unwrap());
    assert_eq!(its[2], job.pid.to_string(), "it leads its own group");
    assert_ne!(its[3], mine[3], "it lives in another session");
    assert_eq!(its[4], "0", "it has no terminal");
    job.control.kill();
    assert_eq!(job.completion.wait_for_exit().await, JobExit::Signal(9));
    job.completion.wait_until_gone().await;
    scene.assert_nothing_is_left();
}

async fn signals_that_ralph_inherited_blocked_or_ignored_are_reset(scene: Scene) {
    let helper = helper::command("signals", &scene.run_id);
    let mut careless = std::process::Command::new("/bin/sh");
    careless.args(["-c", "trap '' HUP INT TERM USR1 CHLD PIPE; exec \"$@\"", "sh"]);
    careless.arg(helper.get_program()).args(helper.get_args());
    let status = String::from_utf8(careless.output().unwrap().stdout).unwrap();
    helper::bury(&scene.run_id);
    for field in ["SigBlk", "SigIgn"] {
        let line = status.lines().find(|line| line.starts_with(field)).unwrap();
        let mask = u64::from_str_radix(line.split_whitespace().last().unwrap(), 16).unwrap();
        assert_eq!(mask & !C_LIBRARY_OWN, 0, "{line}");
    }
    scene.assert_nothing_is_left();
}

async fn a_bare_name_is_looked_up_in_the_path_of_the_job(scene: Scene) {
    let (folder, _) = file(b"#!/bin/sh\nexit 9\n", 0o755);
    let mut wanted = scene.spec("program", &[]);
    wanted.env = vec![("PATH".into(), format!("/nowhere:{}", text(folder.path())).into())];
    let mut job = scene.keeper.spawn(wanted).await.unwrap();
    assert_eq!(job.completion.wait_for_exit().await, JobExit::Code(9));
    job.completion.wait_until_gone().await;
    scene.assert_nothing_is_left();
}

async fn a_relative_program_starts_at_the_working_directory(scene: Scene) {
    let (folder, _) = file(b"#!/bin/sh\nexit 8\n", 0o755);
    let mut wanted = scene.spec("./program", &[]);
    wanted.cwd = PathBuf::from(folder.path());
    let mut job = scene.keeper.spawn(wanted).await.unwrap();
    assert_eq!(job.completion.wait_for_exit().await, JobExit::Code(8));
    job.completion.wait_until_gone().await;
    scene.assert_nothing_is_left();
}
