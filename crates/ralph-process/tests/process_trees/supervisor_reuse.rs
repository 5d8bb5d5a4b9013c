//! Supervisors that take one job after the other.

use std::collections::BTreeSet;

use ralph_process::{JobExit, TreeCleanup};

use crate::fixture::{Fixture, descendants, is_alive, kill, line, reader, rest, until};
use crate::helper_process;

crate::test_cases![
    a_supervisor_takes_the_next_job_when_its_last_one_is_gone,
    the_output_of_jobs_that_start_together_ends_with_each_job,
    a_supervisor_kills_what_each_of_its_jobs_has_left,
    after_many_jobs_few_supervisors_wait,
    a_reused_supervisor_that_is_killed_is_swept,
];

/// Returns how many supervisors of this process wait for a job.
fn count_spares() -> usize {
    descendants(std::process::id()).iter().filter(|pid| helper_process::name(**pid) == "rk-spare").count()
}

async fn a_supervisor_takes_the_next_job_when_its_last_one_is_gone(fixture: Fixture) {
    let mut supervisors = BTreeSet::new();
    for _ in 0..40 {
        let mut job = fixture.sh("echo $PPID").await;
        supervisors.insert(line(&mut reader(job.stdout)).await);
        assert_eq!(job.completion.wait_for_exit().await, JobExit::Code(0));
        assert_eq!(job.completion.wait_until_gone().await, TreeCleanup { killed: 0, leaked: Vec::new() });
    }
    assert!(supervisors.len() < 20, "{supervisors:?}");
    fixture.assert_nothing_is_left();
}

async fn the_output_of_jobs_that_start_together_ends_with_each_job(fixture: Fixture) {
    for _ in 0..3 {
        let start = |number: u32| {
            let spec = fixture.spec("/bin/sh", &["-c", &format!("echo {number}")]);
            async { fixture.keeper.spawn(spec).await.unwrap() }
        };
        let mut jobs = Vec::new();
        for number in 0..24 {
            jobs.push((number, start(number).await));
        }
        for (number, mut job) in jobs {
            // Ends only when nobody holds the other end of the pipe.
            assert_eq!(rest(&mut reader(job.stdout)).await, format!("{number}\n"));
            assert_eq!(rest(&mut reader(job.stderr)).await, "");
            assert_eq!(job.completion.wait_until_gone().await.killed, 0);
        }
    }
    fixture.assert_nothing_is_left();
}

// spec: A7
async fn a_supervisor_kills_what_each_of_its_jobs_has_left(fixture: Fixture) {
    for _ in 0..10 {
        let mut job = fixture.sh("setsid sleep 1000 & echo $!").await;
        let left: u32 = line(&mut reader(job.stdout)).await.parse().unwrap();
        assert_eq!(job.completion.wait_for_exit().await, JobExit::Code(0));
        assert_eq!(job.completion.wait_until_gone().await, TreeCleanup { killed: 1, leaked: Vec::new() });
        assert!(!is_alive(left));
    }
    fixture.assert_nothing_is_left();
}

async fn after_many_jobs_few_supervisors_wait(fixture: Fixture) {
    let mut jobs = Vec::new();
    for _ in 0..24 {
        jobs.push(fixture.sh("exit 0").await);
    }
    for mut job in jobs {
        job.completion.wait_until_gone().await;
    }
    until("the others have exited", || count_spares() <= 8).await;
    until("one waits", || count_spares() >= 1).await;
    fixture.assert_nothing_is_left();
}

// spec: A7
// fault: 6
async fn a_reused_supervisor_that_is_killed_is_swept(fixture: Fixture) {
    fixture.sh("exit 0").await.completion.wait_until_gone().await;
    let mut job = fixture.sh("setsid sleep 1000 & echo $PPID; exec sleep 1000").await;
    let supervisor: u32 = line(&mut reader(job.stdout)).await.parse().unwrap();
    kill("-KILL", supervisor);
    assert_eq!(job.completion.wait_for_exit().await, JobExit::SupervisorDied);
    assert!(job.completion.wait_until_gone().await.leaked.is_empty());
    fixture.assert_nothing_is_left();
    let mut next = fixture.sh("exit 7").await;
    assert_eq!(next.completion.wait_for_exit().await, JobExit::Code(7));
    next.completion.wait_until_gone().await;
}
