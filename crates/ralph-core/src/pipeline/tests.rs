//! Tests of `pipeline`.
use alloc::string::ToString;
use alloc::vec;

use super::*;

fn default_pipeline() -> Pipeline {
    Pipeline::new(Role::BUILT_IN.to_vec(), 3, 2).unwrap()
}

fn fresh_progress(pipeline: &Pipeline) -> TaskProgress {
    pipeline.start_or_resume(TaskStatus::Todo, None)
}

fn finish_stage_with(pipeline: &Pipeline, progress: TaskProgress, run_end: &RunEnd) -> (TaskProgress, PipelineAction) {
    progress.finish_stage(
        pipeline,
        &StageEnd { run_end, iterations: 15, last_output: "last message", is_worker_budget_spent: false },
    )
}

fn finish_stage_as(pipeline: &Pipeline, progress: TaskProgress, outcome: Outcome) -> (TaskProgress, PipelineAction) {
    finish_stage_with(pipeline, progress, &RunEnd::new(outcome, "why".to_string()))
}

// spec: P1
#[test]
fn remaining_stages_are_the_current_one_unless_it_has_started_and_all_after_it() {
    let pipeline = default_pipeline();
    let started = TaskProgress { stage: Role::Tester, run: Some("r".to_string()), ..fresh_progress(&pipeline) };
    assert_eq!(pipeline.remaining_stages(&fresh_progress(&pipeline)), Role::BUILT_IN);
    assert_eq!(pipeline.remaining_stages(&started), [Role::Qa]);
    assert_eq!(pipeline.remaining_stages(&TaskProgress { run: None, ..started.clone() }), [Role::Tester, Role::Qa]);
    assert_eq!(pipeline.remaining_stages(&TaskProgress { stage: Role::Qa, ..started }), []);
}

fn final_status(action: &PipelineAction) -> Option<TaskStatus> {
    match action {
        PipelineAction::LeavePipeline { status, .. } => Some(*status),
        PipelineAction::RunNextStage | PipelineAction::ResumeStage => None,
    }
}

// spec: P2
#[test]
fn stages_run_in_order_and_the_last_one_makes_the_task_done() {
    let pipeline = default_pipeline();
    let mut progress = fresh_progress(&pipeline);
    for next in [Role::Reviewer, Role::Tester, Role::Qa] {
        let action;
        (progress, action) = finish_stage_as(&pipeline, progress, Outcome::Completed);
        assert_eq!((&progress.stage, action), (&next, PipelineAction::RunNextStage));
    }
    let (progress, action) = finish_stage_as(&pipeline, progress, Outcome::Completed);
    assert_eq!(final_status(&action), Some(TaskStatus::Done));
    assert_eq!(progress.reports.len(), 4, "the report of every stage is kept");
}

// spec: P2
#[test]
fn stages_can_be_left_out_and_reordered() {
    let pipeline = Pipeline::new(vec![Role::Tester, Role::Coder], 3, 2).unwrap();
    let (progress, _) = finish_stage_as(&pipeline, fresh_progress(&pipeline), Outcome::Completed);
    assert_eq!(progress.stage, Role::Coder);
    let (_, action) = finish_stage_as(&pipeline, progress, Outcome::Completed);
    assert_eq!(final_status(&action), Some(TaskStatus::Done));
    assert_eq!(Pipeline::new(Vec::new(), 3, 2), None);
    assert_eq!(Pipeline::new(vec![Role::Qa, Role::Qa], 3, 2), None);
}

// spec: P4
#[test]
fn work_that_is_sent_back_returns_to_the_coder_and_passes_every_stage_again() {
    let pipeline = default_pipeline();
    let at_qa = TaskProgress { stage: Role::Qa, ..fresh_progress(&pipeline) };
    let (progress, action) = finish_stage_with(&pipeline, at_qa, &RunEnd::work_sent_back("no tests"));
    assert_eq!((&progress.stage, progress.rounds, action), (&Role::Coder, 1, PipelineAction::RunNextStage));
    let report = StageReport { stage: Role::Qa, how: StageOutcome::SentBack, words: "no tests".to_string() };
    assert_eq!(progress.reports, [report]);
    let (progress, _) = finish_stage_as(&pipeline, progress, Outcome::Completed);
    assert_eq!(progress.stage, Role::Reviewer);
}

// spec: P4
#[test]
fn work_is_sent_back_at_most_three_times_and_then_needs_a_human() {
    let pipeline = default_pipeline();
    let mut progress = fresh_progress(&pipeline);
    for round in 1..=3 {
        let action;
        progress.stage = Role::Reviewer;
        (progress, action) = finish_stage_with(&pipeline, progress, &RunEnd::work_sent_back("still wrong"));
        assert_eq!((progress.rounds, action), (round, PipelineAction::RunNextStage));
    }
    progress.stage = Role::Reviewer;
    let (_, action) = finish_stage_with(&pipeline, progress, &RunEnd::work_sent_back("still wrong"));
    let PipelineAction::LeavePipeline { status, reason, .. } = action else { panic!("{action:?}") };
    assert_eq!(status, TaskStatus::Blocked);
    assert_eq!(reason, "reviewer sent the work back for the 4th time: still wrong");
}

// spec: P5
#[test]
fn a_failed_stage_returns_the_task_to_todo_and_reports_its_iterations() {
    let pipeline = default_pipeline();
    for outcome in [Outcome::Exhausted, Outcome::Failed, Outcome::Stalled] {
        let (progress, action) = finish_stage_as(&pipeline, fresh_progress(&pipeline), outcome);
        let PipelineAction::LeavePipeline { status, failure: Some(failure), .. } = action else { panic!("{action:?}") };
        assert_eq!((status, progress.attempts), (TaskStatus::Todo, 1));
        assert_eq!((failure.stage, failure.iterations_used), (Role::Coder, 15));
        assert_eq!(failure.last_output, "last message");
    }
}

// spec: P5
// finding: N32
#[test]
fn the_failure_of_a_stage_has_the_reason_of_its_run() {
    let reasons =
        ["Max iterations reached without completion promise", "Max iterations reached. Last verification: exit 1"];
    for reason in reasons {
        let end = RunEnd::new(Outcome::Exhausted, reason.to_string());
        let (_, action) = finish_stage_with(&default_pipeline(), fresh_progress(&default_pipeline()), &end);
        let PipelineAction::LeavePipeline { failure: Some(failure), .. } = action else { panic!("{action:?}") };
        assert_eq!(failure.reason, reason);
    }
}

// spec: P5
#[test]
fn a_second_attempt_starts_at_the_first_stage_and_blocks_the_task_if_it_fails() {
    let pipeline = default_pipeline();
    let at_tester = TaskProgress { stage: Role::Tester, rounds: 2, ..fresh_progress(&pipeline) };
    let (once, _) = finish_stage_as(&pipeline, at_tester, Outcome::Stalled);
    let again = pipeline.start_or_resume(TaskStatus::Todo, Some(once));
    assert_eq!((&again.stage, again.rounds, again.attempts), (&Role::Coder, 0, 1));
    assert_eq!(again.reports.len(), 1, "it gets the reason why the first attempt failed");
    let (_, action) = finish_stage_as(&pipeline, again, Outcome::Failed);
    assert_eq!(final_status(&action), Some(TaskStatus::Blocked));
}

// spec: L11, P5
#[test]
fn a_cancelled_blocked_or_over_budget_stage_is_not_retried_automatically() {
    let pipeline = default_pipeline();
    for (outcome, expected) in [
        (Outcome::Cancelled, TaskStatus::Cancelled),
        (Outcome::Blocked, TaskStatus::Blocked),
        (Outcome::OverBudget, TaskStatus::Blocked),
    ] {
        let (progress, action) = finish_stage_as(&pipeline, fresh_progress(&pipeline), outcome);
        assert_eq!((final_status(&action), progress.attempts), (Some(expected), 0));
    }
}

// spec: L8
#[test]
fn a_stage_without_worker_budget_starts_again_once_there_is_budget() {
    let pipeline = default_pipeline();
    let at_work = TaskProgress { run: Some("r1".to_string()), stage: Role::Tester, ..fresh_progress(&pipeline) };
    let ended = RunEnd::new(Outcome::OverBudget, "why".to_string());
    let end = StageEnd { run_end: &ended, iterations: 1, last_output: "", is_worker_budget_spent: true };
    let (left, action) = at_work.finish_stage(&pipeline, &end);
    assert_eq!((&left.stage, &left.run, action), (&Role::Tester, &None, PipelineAction::ResumeStage));
    assert_eq!(pipeline.start_or_resume(TaskStatus::Testing, Some(left.clone())), left);
}

// spec: P2, P8
#[test]
fn a_stage_without_a_task_status_is_resumed_and_a_failure_restarts_at_the_first_stage() {
    let custom = |name: &str| Role::parse(name).unwrap();
    let pipeline = Pipeline::new(vec![custom("planner"), custom("builder"), Role::Qa], 3, 2).unwrap();
    let (at_builder, _) = finish_stage_as(&pipeline, fresh_progress(&pipeline), Outcome::Completed);
    let at_builder = TaskProgress { run: Some("r2".to_string()), ..at_builder };
    assert_eq!(pipeline.start_or_resume(TaskStatus::Todo, Some(at_builder.clone())), at_builder);
    let (failed, _) = finish_stage_as(&pipeline, at_builder, Outcome::Failed);
    let again = pipeline.start_or_resume(TaskStatus::Todo, Some(failed));
    assert_eq!((again.stage, again.run), (custom("planner"), None));
}

// spec: P8
#[test]
fn an_interrupted_stage_is_resumed() {
    let pipeline = default_pipeline();
    let at_work = TaskProgress { run: Some("r1".to_string()), stage: Role::Tester, ..fresh_progress(&pipeline) };
    let (left, action) = finish_stage_as(&pipeline, at_work.clone(), Outcome::Interrupted);
    assert_eq!((&left, action), (&at_work, PipelineAction::ResumeStage));
    assert_eq!(pipeline.start_or_resume(TaskStatus::Testing, Some(left)), at_work);
}

// spec: P2
#[test]
fn a_task_that_the_user_moved_starts_at_the_stage_of_its_new_status() {
    let pipeline = default_pipeline();
    assert_eq!(pipeline.start_or_resume(TaskStatus::Testing, None).stage, Role::Tester);
    let short = Pipeline::new(vec![Role::Coder, Role::Qa], 3, 2).unwrap();
    assert_eq!(short.start_or_resume(TaskStatus::Testing, None).stage, Role::Coder, "the pipeline has no such stage");
    let gone = TaskProgress { stage: Role::Tester, ..fresh_progress(&default_pipeline()) };
    assert_eq!(short.start_or_resume(TaskStatus::Testing, Some(gone)).stage, Role::Coder);
}

// spec: P7
#[test]
fn rewinding_to_a_stage_drops_the_reports_of_later_stages() {
    let pipeline = default_pipeline();
    let (progress, _) = finish_stage_with(&pipeline, fresh_progress(&pipeline), &RunEnd::work_sent_back("no tests"));
    let (progress, _) = finish_stage_as(&pipeline, progress, Outcome::Completed);
    let (progress, _) = finish_stage_as(&pipeline, progress, Outcome::Completed);
    let at_work = TaskProgress { run: Some("r1".to_string()), ..progress };
    assert_eq!((&at_work.stage, at_work.reports.len()), (&Role::Tester, 3));
    let coder = at_work.clone().rewind_to(Role::Coder);
    assert_eq!((&coder.stage, &coder.run, coder.rounds), (&Role::Coder, &None, 1));
    assert_eq!(coder.reports.len(), 1, "the reason why the work was sent back still applies");
    let same = at_work.clone().rewind_to(Role::Tester);
    assert_eq!((same.reports, same.run), (at_work.reports, None));
}

// spec: P3
#[test]
fn stored_stage_reports_are_bounded() {
    let pipeline = Pipeline::new(Role::BUILT_IN.to_vec(), 100, 2).unwrap();
    let mut progress = fresh_progress(&pipeline);
    let long = "x".repeat(100_000);
    for _ in 0..50 {
        (progress, _) = finish_stage_with(&pipeline, progress, &RunEnd::work_sent_back(&long));
    }
    assert_eq!(progress.reports.len(), MAX_REPORTS);
    assert!(progress.reports.iter().all(|report| report.words.len() <= MAX_REPORT_BYTES));
}

// spec: P8
#[test]
fn only_an_interrupted_stage_keeps_its_run() {
    let pipeline = default_pipeline();
    let started = |stage: Role| TaskProgress { run: Some("r1".to_string()), stage, ..fresh_progress(&pipeline) };
    for outcome in [Outcome::Completed, Outcome::Failed, Outcome::Blocked, Outcome::Cancelled] {
        for stage in [Role::Coder, Role::Qa] {
            let (progress, _) = finish_stage_as(&pipeline, started(stage), outcome);
            assert_eq!(progress.run, None, "{outcome:?}");
        }
    }
    for rounds in [0, 3] {
        let progress = TaskProgress { rounds, ..started(Role::Qa) };
        let (progress, _) = finish_stage_with(&pipeline, progress, &RunEnd::work_sent_back("no tests"));
        assert_eq!(progress.run, None, "sent back after {rounds} rounds");
    }
    let (progress, _) = finish_stage_as(&pipeline, started(Role::Qa), Outcome::Interrupted);
    assert_eq!(progress.run.as_deref(), Some("r1"));
}

// spec: P5
#[test]
fn the_progress_of_a_failed_attempt_is_stored_at_the_first_stage_without_rounds() {
    let pipeline = default_pipeline();
    let at_tester = TaskProgress { stage: Role::Tester, rounds: 2, ..fresh_progress(&pipeline) };
    let (progress, action) = finish_stage_as(&pipeline, at_tester, Outcome::Failed);
    assert_eq!((progress.stage, progress.rounds, progress.attempts), (Role::Coder, 0, 1));
    let PipelineAction::LeavePipeline { reason, .. } = action else { panic!("{action:?}") };
    assert_eq!(reason, "tester failed: why");
}

// spec: P2, P5
#[test]
fn a_task_that_was_put_back_to_todo_starts_again_and_keeps_its_failed_attempts() {
    let pipeline = default_pipeline();
    let fresh = fresh_progress(&pipeline);
    let at_tester =
        TaskProgress { stage: Role::Tester, run: Some("r1".to_string()), rounds: 2, attempts: 1, ..fresh.clone() };
    let again = pipeline.start_or_resume(TaskStatus::Todo, Some(at_tester));
    assert_eq!(again, TaskProgress { attempts: 1, ..fresh });
}

// spec: P2
#[test]
fn a_pipeline_lists_its_stages_in_their_order() {
    let pipeline = Pipeline::new(vec![Role::Tester, Role::Coder], 3, 2).unwrap();
    assert_eq!(pipeline.stages(), [Role::Tester, Role::Coder]);
}

// spec: P4
#[test]
fn rejected_work_returns_to_the_first_stage_if_the_pipeline_has_no_coder() {
    let pipeline = Pipeline::new(vec![Role::Tester, Role::Qa], 3, 2).unwrap();
    let at_qa = TaskProgress { stage: Role::Qa, ..fresh_progress(&pipeline) };
    let (progress, _) = finish_stage_with(&pipeline, at_qa, &RunEnd::work_sent_back("no tests"));
    assert_eq!(progress.stage, Role::Tester);
}

#[test]
fn a_count_of_times_is_an_ordinal_number() {
    let ordinals = [1, 2, 3, 4, 10, 11, 12, 13, 21, 42, 100, 101, 111, 113, 123].map(format_ordinal_time);
    let expected = [
        "1st", "2nd", "3rd", "4th", "10th", "11th", "12th", "13th", "21st", "42nd", "100th", "101st", "111th", "113th",
        "123rd",
    ];
    assert_eq!(ordinals, expected.map(|ordinal| format!("{ordinal} time")));
}

// spec: V13
// finding: N15
#[test]
fn a_rejection_that_was_not_answered_survives_a_retry_by_a_person() {
    let pipeline = Pipeline::new(Role::BUILT_IN.to_vec(), 3, 2).unwrap();
    let report = |stage, how| StageReport { stage, how, words: "no tests".to_string() };
    let fresh = pipeline.start_or_resume(TaskStatus::Todo, None);
    assert_eq!(fresh.clone().reset_for_retry(), None);
    let reports = Vec::from([
        report(Role::Coder, StageOutcome::Accepted),
        report(Role::Reviewer, StageOutcome::SentBack),
        report(Role::Coder, StageOutcome::Failed),
    ]);
    let blocked = TaskProgress { attempts: 2, rounds: 1, reports, ..fresh };
    let kept = blocked.reset_for_retry().unwrap();
    assert_eq!((kept.attempts, kept.rounds, kept.run.is_none()), (0, 0, true));
    assert_eq!(kept.reports, [report(Role::Reviewer, StageOutcome::SentBack)]);
    let again = pipeline.start_or_resume(TaskStatus::Todo, Some(kept));
    assert_eq!((&again.stage, open_rejection(&again.reports, &Role::Coder)), (&Role::Coder, Some(0)));
}

// spec: L19
// finding: N49
#[test]
fn a_stage_whose_run_is_continued_does_not_count_as_a_failed_attempt() {
    let pipeline = default_pipeline();
    let at_tester = TaskProgress { stage: Role::Tester, run: Some("r1".to_string()), ..fresh_progress(&pipeline) };
    let (failed, _) = finish_stage_as(&pipeline, at_tester.clone(), Outcome::Exhausted);
    assert_eq!(failed.reopen_stage(Role::Tester, "r1".to_string()), at_tester);
    let (blocked, _) = finish_stage_as(&pipeline, at_tester.clone(), Outcome::OverBudget);
    assert_eq!(blocked.reopen_stage(Role::Tester, "r1".to_string()), at_tester, "it was not counted as one");
}
