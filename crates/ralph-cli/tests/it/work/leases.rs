//! Several workers on one project: each task has one worker at a time, and a worker that lost its lease writes nothing
//! more.
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use ralph_core::event::UnixMillis;
use ralph_core::fact::Fact;
use ralph_core::loop_state::LoopState;
use ralph_core::pipeline::Pipeline;
use ralph_core::policy::Policy;
use ralph_core::task::{Approval, Role, Task, TaskStatus};
use ralph_store::{
    FIRST_FENCE, LeaseDisposition, NewRun, OpenMode, StepRecord, Store, StoreError, TaskFilter, TaskProgressUpdate,
};
use rustix::process::Signal;
use sqlx::{ConnectOptions, Connection, Row};

use crate::harness::{Project, Running, wait_until, wait_until_within};
use crate::limits::clock_changes;
use crate::process_table::state_of;
use crate::state::database_damage::RandomNumbers;
use crate::work::pipeline::{git, project, start_held_worker, starts, statuses, work, write_agent_command};

/// Returns one number for each row that a query gives.
pub fn query_numbers(project: &Project, sql: &'static str) -> BTreeMap<String, i64> {
    runtime().block_on(async {
        let options = sqlx::sqlite::SqliteConnectOptions::new().filename(project.state().join("ralph.db"));
        let mut connection = options.read_only(true).connect().await.unwrap();
        let rows = sqlx::query(sql).fetch_all(&mut connection).await.unwrap();
        connection.close().await.unwrap();
        rows.iter().map(|row| (row.get(0), row.get(1))).collect()
    })
}

// spec: L14
// fault: 94
#[test]
fn a_worker_that_slept_past_its_lease_records_nothing_and_releases_the_task() {
    let project = project(&[("T-1", "")]);
    let sleeper =
        start_held_worker(&project, "coder", work(&project, &["--until-idle"]).env("RALPH_PIPELINE_LEASE", "1s"));
    sleeper.signal(Signal::STOP);
    let second = work(&project, &["T-1"]).env("RALPH_PIPELINE_LEASE", "1s").start();
    let answer = second.wait_without_invariants().expect(0);
    assert_eq!(answer.events_named("task.over")[0]["status"], "done");
    sleeper.signal(Signal::CONT);
    let woken = sleeper.wait().expect(0);
    assert_eq!(woken.events_named("task.lost")[0]["task"], "T-1");
    assert!(woken.events_named("task.over").is_empty());
    let ends = "SELECT run, COUNT(*) FROM events WHERE kind = 'run.finished' GROUP BY run";
    let ends = query_numbers(&project, ends);
    assert_eq!((ends.len(), ends.values().max()), (4, Some(&1)), "every stage ended once");
    assert_eq!(statuses(&project)[0].1, "done");
    let expected = ["coder", "coder", "reviewer", "tester", "qa"].map(|role| format!("T-1 {role}"));
    assert_eq!(starts(&project), expected);
}

/// Returns the commit of every branch, accepted work and tree.
fn branch_and_tree_commits(project: &Project) -> String {
    let refs = git(project, &["for-each-ref", "refs/heads", "refs/ralph"]);
    let trees = git(project, &["worktree", "list", "--porcelain"]);
    let staged = git(project, &["-C", &tree_of(project), "ls-files", "--stage"]);
    [refs, trees, staged].join("\n")
}

fn tree_of(project: &Project) -> String {
    let listed = git(project, &["worktree", "list", "--porcelain"]);
    listed.lines().filter_map(|line| line.strip_prefix("worktree ")).next_back().unwrap().to_owned()
}

/// Stops a worker at a named point until another one has done the task, and continues it. It must then change nothing.
fn stop_worker_at(project: &Project, point: &str) {
    let call = work(project, &["--until-idle"]).env("RALPH_PIPELINE_LEASE", "1s");
    let sleeper = call.env("RALPH_FAIL", format!("{point}:1:stop")).start();
    wait_until("it sleeps", || state_of(sleeper.pid()) == Some('T'));
    let second = work(project, &["T-1"]).env("RALPH_PIPELINE_LEASE", "1s").start();
    let answer = second.wait_without_invariants().expect(0);
    assert_eq!(answer.events_named("task.over")[0]["status"], "done");
    let before = branch_and_tree_commits(project);
    sleeper.signal(Signal::CONT);
    let woken = sleeper.wait().expect(0);
    assert_eq!(woken.events_named("task.lost")[0]["task"], "T-1", "{}", woken.stdout);
    assert_eq!(branch_and_tree_commits(project), before);
}

// spec: P6
// fault: 94
#[test]
fn a_worker_that_slept_before_accepting_a_stage_moves_no_branch() {
    for point in ["complete.recorded.unannounced", "accept.begins"] {
        let project = project(&[("T-1", "")]);
        stop_worker_at(&project, point);
        assert_eq!(git(&project, &["show", "ralph/T-1:test-T-1"]), "test T-1", "the tester's work is there");
    }
}

// spec: P1
// fault: 94
#[test]
fn a_worker_that_slept_before_it_started_a_stage_does_not_affect_the_next() {
    let project = project(&[("T-1", "")]);
    let dead = start_held_worker(&project, "coder", work(&project, &["--until-idle"]));
    dead.signal(Signal::KILL);
    dead.wait_without_invariants();
    stop_worker_at(&project, "stage.left.found");
    let expected = ["coder", "coder", "reviewer", "tester", "qa"].map(|role| format!("T-1 {role}"));
    assert_eq!(starts(&project), expected);
}

// spec: U3, L11
// fault: 94
#[test]
fn a_stage_taken_from_a_sleeping_worker_is_shown_as_active() {
    let project = project(&[("T-1", "")]);
    let sleeper =
        start_held_worker(&project, "coder", work(&project, &["--until-idle"]).env("RALPH_PIPELINE_LEASE", "1s"));
    sleeper.signal(Signal::STOP);
    write_agent_command(&project, "wish-hold-T-1-coder");
    let second = work(&project, &["T-1"]).env("RALPH_PIPELINE_LEASE", "1s").start();
    wait_until("another coder is at work", || starts(&project).len() == 2);
    sleeper.signal(Signal::CONT);
    sleeper.wait_without_invariants().expect(0);
    let call = |args: &[&str]| project.ralph(args).start().wait_without_invariants();
    wait_until("it is shown as alive", || !call(&["status"]).stdout.contains("died"));
    let cancelled = call(&["cancel", "T-1"]).expect(0);
    assert!(cancelled.stdout.contains("Cancelled Ralph loop for"), "{}", cancelled.stdout);
    let answer = second.wait().expect(3);
    assert_eq!(answer.events_named("task.over")[0]["status"], "cancelled", "who drives it has heard of it");
}

// spec: P1
#[test]
fn a_worker_that_renews_late_does_not_expire_its_own_leases() {
    let project = project(&[("T-1", ""), ("T-2", "")]);
    let call = work(&project, &["--until-idle", "--slots", "4"]).env("RALPH_PIPELINE_LEASE", "1ms");
    let answer = call.output().expect(0);
    assert_eq!(answer.events_named("task.taken").len(), 2);
    assert_eq!(starts(&project).len(), 8);
}

// fault: 96
#[test]
fn a_worker_with_a_wrong_clock_takes_no_leased_task() {
    let project = project(&[("T-1", "")]);
    write_agent_command(&project, "wish-hold-T-1-coder");
    let library = clock_changes::library(&project);
    let shift = project.outside("shift");
    let running = work(&project, &["--until-idle"]).start();
    wait_until("the coder is at work", || project.outside("marks/holding").exists());
    for seconds in ["600", "-600"] {
        fs::write(&shift, seconds).unwrap();
        let other = work(&project, &["--until-idle"]).env("LD_PRELOAD", &library).env("CLOCK_SHIFT", &shift);
        let answer = other.start().wait_without_invariants().expect(0);
        assert!(answer.events_named("task.taken").is_empty(), "{}", answer.stdout);
    }
    running.signal(Signal::INT);
    running.wait().expect(130);
    assert_eq!(starts(&project), ["T-1 coder"]);
}

// spec: P1
// fault: 95
#[test]
fn workers_that_are_stopped_and_killed_at_random_finish_every_task_once() {
    let ids: Vec<String> = (1..=24).map(|number| format!("T-{number:02}")).collect();
    let tasks: Vec<(&str, &str)> = ids.iter().map(|id| (id.as_str(), "")).collect();
    let project = project(&tasks);
    let begin = || {
        let call = work(&project, &["--slots", "2"]).env("RALPH_PIPELINE_STAGES", "coder,qa");
        call.env("RALPH_PIPELINE_LEASE", "2s").start()
    };
    let mut workers: Vec<Running<'_>> = (0..4).map(|_| begin()).collect();
    let mut stopped = vec![0_u64; workers.len()];
    let mut random = RandomNumbers(95);
    let finished = || query_numbers(&project, "SELECT status, COUNT(*) FROM tasks GROUP BY status");
    wait_until_within(Duration::from_secs(180), "every task is done", || {
        let at = usize::try_from(random.roll(4)).unwrap();
        match (random.roll(400), stopped[at]) {
            (0, 0) => {
                workers[at].signal(Signal::KILL);
                let dead = std::mem::replace(&mut workers[at], begin());
                dead.wait_without_invariants();
            }
            (1..=9, 0) => {
                workers[at].signal(Signal::STOP);
                stopped[at] = 2 + random.roll(100);
            }
            (_, 1) => {
                workers[at].signal(Signal::CONT);
                stopped[at] = 0;
            }
            (_, 0) => {}
            (_, left) => stopped[at] = left - 1,
        }
        assert!(workers.iter().all(Running::is_alive), "a worker has given up");
        finished().get("done") == Some(&24)
    });
    for worker in workers {
        worker.signal(Signal::CONT);
        worker.signal(Signal::TERM);
        worker.wait_without_invariants().expect(143);
    }
    let completed = "SELECT task || ' ' || role, COUNT(*) FROM runs WHERE status = 'completed' GROUP BY task, role";
    let completed = query_numbers(&project, completed);
    assert_eq!((completed.len(), completed.values().max()), (48, Some(&1)), "{completed:?}");
    let attempts = query_numbers(&project, "SELECT 'all', COUNT(*) FROM attempts")["all"];
    let started = i64::try_from(starts(&project).len()).unwrap();
    assert!(started <= attempts, "{started} starts, and only {attempts} of them are recorded");
    // This call checks every invariant at the end.
    project.ralph(["task", "list"]).output().expect(0);
}

fn task(id: &str) -> Task {
    Task { id: id.to_owned(), title: id.to_owned(), ..Task::default() }
}

// spec: P1
// fault: 95
#[test]
fn of_sixteen_workers_exactly_one_finishes_each_of_a_thousand_tasks() {
    let folder = tempfile::tempdir().unwrap();
    runtime().block_on(async {
        let store = Store::open(folder.path(), OpenMode::Create).await.unwrap().unwrap();
        let add = |number: u32| {
            let (task, metadata) = (task(&format!("T-{number}")), "{}".to_owned());
            ralph_store::TaskChange::Add { task, metadata, approval: Approval::Granted }
        };
        let all = |_: &[_]| Ok::<_, StoreError>((0..1_000).map(add).collect());
        store.change_tasks(UnixMillis(0), all).await.unwrap();
    });
    let finished = std::thread::scope(|scope| {
        let folder = folder.path();
        let work = |seed: u64| scope.spawn(move || runtime().block_on(run_worker(folder, RandomNumbers(seed))));
        let workers: Vec<_> = (1..=16).map(work).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect::<Vec<String>>()
    });
    let mut each = finished.clone();
    each.sort();
    each.dedup();
    assert_eq!((each.len(), finished.len()), (1_000, 1_000), "every task once");
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// Leases tasks until none is left, and returns those that it finished. It often sleeps past its lease before it writes.
async fn run_worker(folder: &Path, mut random: RandomNumbers) -> Vec<String> {
    let worker = Store::open(folder, OpenMode::Existing).await.unwrap().unwrap();
    let mut finished = Vec::new();
    let mut asleep = Vec::new();
    while let Some(claimed) =
        worker.lease_next_task("{}", Duration::from_secs(600), TaskFilter::default()).await.unwrap()
    {
        if random.roll(4) == 0 {
            worker.expire_lease(&claimed.lease).await.unwrap();
            asleep.push(claimed);
        } else {
            finished.extend(finish(&worker, &claimed).await);
        }
        if random.roll(8) == 0
            && let Some(woken) = asleep.pop()
        {
            finished.extend(finish(&worker, &woken).await);
        }
    }
    for woken in asleep {
        finished.extend(finish(&worker, &woken).await);
    }
    finished
}

/// Finishes a task, and returns it if this worker still had its lease.
async fn finish(worker: &Store, claimed: &ralph_store::LeasedTask) -> Option<String> {
    let pipeline = Pipeline::new(vec![Role::Coder], 3, 2).unwrap();
    let progress = pipeline.start_or_resume(TaskStatus::Todo, None);
    let to = TaskProgressUpdate {
        progress: &progress,
        status: Some(TaskStatus::Done),
        metadata: None,
        lease_disposition: LeaseDisposition::Release,
    };
    match worker.advance_task(&claimed.lease, &to, UnixMillis(1)).await {
        Ok(()) => Some(claimed.lease.task_id.clone()),
        Err(StoreError::LeaseLost { .. }) => None,
        Err(error) => panic!("{error}"),
    }
}

/// Starts a run and stores many steps of it, with a pause of `rest` between two of them.
async fn many_steps(store: &Store, run: &str, steps: u32, mut rest: impl FnMut() -> u64) -> Result<(), StoreError> {
    let new = NewRun {
        kind: "run",
        agent: "text",
        promise: "DONE",
        settings: "{}",
        owner: "{}",
        stage: None,
        workflow: None,
    };
    for number in 1..=steps {
        let (next, state) = (Fact::IterationStarted { iteration: number }, LoopState::new(Policy::new(number)));
        let entry = StepRecord {
            run,
            fence: FIRST_FENCE,
            first_seq: number.into(),
            at: UnixMillis(1),
            facts: &[&next],
            state: &state,
            answered_commands: &[],
            for_next_stage: None,
        };
        match number {
            1 => store.insert_run(&new, &entry).await?,
            _ => store.record_step(&entry).await?,
        }
        for _ in 0..rest() {
            tokio::task::yield_now().await;
        }
    }
    Ok(())
}

// spec: L14
// fault: 36
#[test]
fn concurrent_writes_of_another_loop_are_not_tampering() {
    let folder = tempfile::tempdir().unwrap();
    runtime().block_on(async {
        let store = Store::open(folder.path(), OpenMode::Create).await.unwrap().unwrap();
        let mut random = RandomNumbers(36);
        // One writes without a pause. The other comes at any moment of that, also between a write and its end.
        let (steady, now_and_then) = tokio::join!(
            many_steps(&store, "steady", 6_000, || 0),
            many_steps(&store, "now-and-then", 1_500, || random.roll(60))
        );
        steady.unwrap();
        now_and_then.unwrap();
    });
}
