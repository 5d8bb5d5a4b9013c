//! The work on a task over all of its stages: who is next, and what the end of a stage makes of the task. It drives no
//! loop itself: each stage is one.
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::outcome::{Ended, Outcome};
use crate::task::{Role, Status};
use crate::text::tail_of;

/// How much of a stage's last message is kept for those who come after it.
const SAID_BYTES: usize = 4_000;
/// How many stages the next one hears of.
const SAID: usize = 8;

/// What the configuration says about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pipeline {
    /// In their order; at least one.
    stages: Vec<Role>,
    /// How often work may be sent back.
    pub max_rounds: u32,
    /// How often a task may fail before somebody must look at it.
    pub max_attempts: u32,
}

/// How far the work on a task is, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// The role that is next, or at work.
    pub stage: Role,
    /// The run of that stage, from when it is about to begin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// How often the work was sent back in this attempt.
    pub rounds: u32,
    /// How many attempts have failed.
    pub attempts: u32,
    /// What the last stages said, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub said: Vec<Said>,
}

/// How a stage ended, for those who come after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    pub stage: Role,
    pub how: How,
    /// The end of its last message, or why it sent the work back, or why it failed.
    pub words: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    Accepted,
    SentBack,
    Failed,
}

/// What is kept of a stage that did not get there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageFailure {
    pub stage: Role,
    pub iterations_used: u32,
    pub last_output: String,
    pub reason: String,
}

/// The end of a stage.
#[derive(Debug, Clone, Copy)]
pub struct StageEnd<'a> {
    pub ended: &'a Ended,
    pub iterations: u32,
    /// The agent's last message.
    pub last_output: &'a str,
    /// It ended because the worker has no money left for anything.
    pub is_purse_empty: bool,
}

/// What follows from the end of a stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Turn {
    /// The stage that the progress names is next.
    Next,
    /// The task leaves the pipeline with this status.
    Over { status: Status, why: String, failure: Option<StageFailure> },
    /// The stage can go on where it stopped.
    Left,
}

impl Pipeline {
    /// Returns a pipeline of these stages, or `None` where there are none, or one of them twice.
    #[must_use]
    pub fn new(stages: Vec<Role>, max_rounds: u32, max_attempts: u32) -> Option<Self> {
        let is_once = |(at, role): (usize, &Role)| !stages.iter().take(at).any(|before| before == role);
        let is_sound = !stages.is_empty() && stages.iter().enumerate().all(is_once);
        is_sound.then_some(Self { stages, max_rounds, max_attempts })
    }

    #[must_use]
    pub fn stages(&self) -> &[Role] {
        &self.stages
    }

    /// Returns where the work on a task begins, or goes on.
    #[must_use]
    pub fn begin(&self, status: Status, before: Option<Progress>) -> Progress {
        match before {
            Some(before) if self.goes_on(status, &before.stage) => before,
            Some(before) => {
                Progress { stage: self.first(), run: None, rounds: 0, attempts: before.attempts, ..before }
            }
            None => Progress {
                stage: self.stage_during(status).unwrap_or_else(|| self.first()),
                run: None,
                rounds: 0,
                attempts: 0,
                said: Vec::new(),
            },
        }
    }

    /// Tells whether a task is still in the stage that its progress names. A task that is to do was put back, unless the
    /// stage is one that no status stands for.
    fn goes_on(&self, status: Status, stage: &Role) -> bool {
        self.stages.contains(stage) && (status != Status::Todo || Status::during(stage).is_none())
    }

    /// Returns the stage that a task is in which somebody moved by hand.
    fn stage_during(&self, status: Status) -> Option<Role> {
        self.stages.iter().find(|role| Status::during(role) == Some(status)).cloned()
    }

    /// Returns the stages that a task has before it, the one that it is in first. A run that was begun has its own plan.
    #[must_use]
    pub fn ahead(&self, progress: &Progress) -> &[Role] {
        let at = self.stages.iter().position(|role| *role == progress.stage).unwrap_or_default();
        let at = if progress.run.is_some() { at + 1 } else { at };
        self.stages.get(at..).unwrap_or_default()
    }

    fn first(&self) -> Role {
        self.stages.first().cloned().unwrap_or(Role::Coder)
    }

    /// Returns who hears that the work was sent back: the coder, or else whoever comes first.
    fn maker(&self) -> Role {
        if self.stages.contains(&Role::Coder) { Role::Coder } else { self.first() }
    }

    fn after(&self, stage: &Role) -> Option<Role> {
        let at = self.stages.iter().position(|role| role == stage)?;
        self.stages.get(at + 1).cloned()
    }
}

impl Progress {
    /// The stage has ended: returns what the task's work is after it, and what follows.
    #[must_use]
    pub fn end(self, pipeline: &Pipeline, end: &StageEnd<'_>) -> (Self, Turn) {
        if end.ended.is_sent_back() {
            return self.sent_back(pipeline, end.ended);
        }
        match end.ended.outcome {
            Outcome::Completed => self.accepted(pipeline, end),
            Outcome::Exhausted | Outcome::Failed | Outcome::Stalled => self.failed(pipeline, end),
            // Who brings new money lets it begin anew.
            Outcome::OverBudget if end.is_purse_empty => (Self { run: None, ..self }, Turn::Left),
            // More of the same would cost more of the same.
            Outcome::Blocked | Outcome::OverBudget => self.over(Status::Blocked, &end.ended.reason),
            Outcome::Cancelled => self.over(Status::Cancelled, &end.ended.reason),
            Outcome::Interrupted => (self, Turn::Left),
        }
    }

    /// Somebody took the work back to what this stage had come to: it is next, and what was said after it began is unsaid.
    #[must_use]
    pub fn back_to(mut self, stage: Role) -> Self {
        let is_its_end = |said: &Said| said.stage == stage && said.how == How::Accepted;
        if self.stage != stage
            && let Some(at) = self.said.iter().rposition(is_its_end)
        {
            self.said.truncate(at);
        }
        Self { stage, run: None, ..self }
    }

    fn accepted(self, pipeline: &Pipeline, end: &StageEnd<'_>) -> (Self, Turn) {
        let next = pipeline.after(&self.stage);
        let heard = self.hears(How::Accepted, end.last_output);
        match next {
            Some(stage) => (Self { stage, run: None, ..heard }, Turn::Next),
            None => heard.over(Status::Done, "every stage was accepted"),
        }
    }

    fn sent_back(self, pipeline: &Pipeline, ended: &Ended) -> (Self, Turn) {
        let reason = ended.sent_back_because().unwrap_or_default();
        let rounds = self.rounds + 1;
        let by = self.stage.clone();
        let heard = Self { rounds, ..self.hears(How::SentBack, reason) };
        if rounds > pipeline.max_rounds {
            let why = format!("{by} sent the work back for the {}: {reason}", nth(rounds));
            return heard.over(Status::Blocked, &why);
        }
        (Self { stage: pipeline.maker(), run: None, ..heard }, Turn::Next)
    }

    fn failed(self, pipeline: &Pipeline, end: &StageEnd<'_>) -> (Self, Turn) {
        let reason = reason(end.ended);
        let failure = StageFailure {
            stage: self.stage.clone(),
            iterations_used: end.iterations,
            last_output: tail_of(end.last_output.trim(), SAID_BYTES).to_owned(),
            reason: reason.clone(),
        };
        let attempts = self.attempts + 1;
        let stage = self.stage.clone();
        let heard = self.hears(How::Failed, &reason);
        let heard = Self { attempts, run: None, stage: pipeline.first(), rounds: 0, ..heard };
        let (status, why) = if attempts >= pipeline.max_attempts {
            (
                Status::Blocked,
                format!("{stage} failed, and so have {attempts} of {attempts} attempts: {reason}"),
            )
        } else {
            (Status::Todo, format!("{stage} failed: {reason}"))
        };
        (heard, Turn::Over { status, why, failure: Some(failure) })
    }

    fn over(self, status: Status, why: &str) -> (Self, Turn) {
        (Self { run: None, ..self }, Turn::Over { status, why: why.to_owned(), failure: None })
    }

    fn hears(mut self, how: How, words: &str) -> Self {
        let words = tail_of(words.trim(), SAID_BYTES).to_owned();
        self.said.push(Said { stage: self.stage.clone(), how, words });
        let old = self.said.len().saturating_sub(SAID);
        self.said.drain(..old);
        self
    }
}

/// Says why a stage failed. A stage that used up its iterations is told in the words that others look for.
fn reason(ended: &Ended) -> String {
    match ended.outcome {
        Outcome::Exhausted => "Max iterations reached without completion promise".to_owned(),
        Outcome::Completed
        | Outcome::Failed
        | Outcome::Stalled
        | Outcome::OverBudget
        | Outcome::Blocked
        | Outcome::Cancelled
        | Outcome::Interrupted => ended.reason.clone(),
    }
}

fn nth(number: u32) -> String {
    let ending = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        (_, _) => "th",
    };
    format!("{number}{ending} time")
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;
    use alloc::vec;

    use super::*;

    fn usual() -> Pipeline {
        Pipeline::new(Role::KNOWN.to_vec(), 3, 2).unwrap()
    }

    fn fresh(pipeline: &Pipeline) -> Progress {
        pipeline.begin(Status::Todo, None)
    }

    fn ends(pipeline: &Pipeline, progress: Progress, ended: &Ended) -> (Progress, Turn) {
        progress.end(
            pipeline,
            &StageEnd { ended, iterations: 15, last_output: "last words", is_purse_empty: false },
        )
    }

    fn end(pipeline: &Pipeline, progress: Progress, outcome: Outcome) -> (Progress, Turn) {
        ends(pipeline, progress, &Ended::new(outcome, "why".to_string()))
    }

    // spec: P1
    #[test]
    fn ahead_of_a_task_is_its_stage_unless_that_has_begun_and_all_after_it() {
        let pipeline = usual();
        let begun = Progress { stage: Role::Tester, run: Some("r".to_string()), ..fresh(&pipeline) };
        assert_eq!(pipeline.ahead(&fresh(&pipeline)), Role::KNOWN);
        assert_eq!(pipeline.ahead(&begun), [Role::Qa]);
        assert_eq!(pipeline.ahead(&Progress { run: None, ..begun.clone() }), [Role::Tester, Role::Qa]);
        assert_eq!(pipeline.ahead(&Progress { stage: Role::Qa, ..begun }), []);
    }

    fn status(turn: &Turn) -> Option<Status> {
        match turn {
            Turn::Over { status, .. } => Some(*status),
            Turn::Next | Turn::Left => None,
        }
    }

    // spec: P2
    #[test]
    fn every_stage_in_its_order_and_the_last_makes_the_task_done() {
        let pipeline = usual();
        let mut progress = fresh(&pipeline);
        for next in [Role::Reviewer, Role::Tester, Role::Qa] {
            let turn;
            (progress, turn) = end(&pipeline, progress, Outcome::Completed);
            assert_eq!((&progress.stage, turn), (&next, Turn::Next));
        }
        let (progress, turn) = end(&pipeline, progress, Outcome::Completed);
        assert_eq!(status(&turn), Some(Status::Done));
        assert_eq!(progress.said.len(), 4, "what every stage said is kept");
    }

    // spec: P2
    #[test]
    fn stages_can_be_left_out_and_come_in_another_order() {
        let pipeline = Pipeline::new(vec![Role::Tester, Role::Coder], 3, 2).unwrap();
        let (progress, _) = end(&pipeline, fresh(&pipeline), Outcome::Completed);
        assert_eq!(progress.stage, Role::Coder);
        let (_, turn) = end(&pipeline, progress, Outcome::Completed);
        assert_eq!(status(&turn), Some(Status::Done));
        assert_eq!(Pipeline::new(Vec::new(), 3, 2), None);
        assert_eq!(Pipeline::new(vec![Role::Qa, Role::Qa], 3, 2), None);
    }

    // spec: P4
    #[test]
    fn work_that_is_sent_back_is_the_coder_s_again_and_goes_through_every_stage_anew() {
        let pipeline = usual();
        let at_qa = Progress { stage: Role::Qa, ..fresh(&pipeline) };
        let (progress, turn) = ends(&pipeline, at_qa, &Ended::sent_back("no tests"));
        assert_eq!((&progress.stage, progress.rounds, turn), (&Role::Coder, 1, Turn::Next));
        let said = Said { stage: Role::Qa, how: How::SentBack, words: "no tests".to_string() };
        assert_eq!(progress.said, [said]);
        let (progress, _) = end(&pipeline, progress, Outcome::Completed);
        assert_eq!(progress.stage, Role::Reviewer);
    }

    // spec: P4
    #[test]
    fn work_is_sent_back_three_times_at_most_then_somebody_must_look() {
        let pipeline = usual();
        let mut progress = fresh(&pipeline);
        for round in 1..=3 {
            let turn;
            progress.stage = Role::Reviewer;
            (progress, turn) = ends(&pipeline, progress, &Ended::sent_back("still wrong"));
            assert_eq!((progress.rounds, turn), (round, Turn::Next));
        }
        progress.stage = Role::Reviewer;
        let (_, turn) = ends(&pipeline, progress, &Ended::sent_back("still wrong"));
        let Turn::Over { status, why, .. } = turn else { panic!("{turn:?}") };
        assert_eq!(status, Status::Blocked);
        assert_eq!(why, "reviewer sent the work back for the 4th time: still wrong");
    }

    // spec: P5
    #[test]
    fn a_stage_that_fails_gives_the_task_back_and_says_what_it_used() {
        let pipeline = usual();
        for outcome in [Outcome::Exhausted, Outcome::Failed, Outcome::Stalled] {
            let (progress, turn) = end(&pipeline, fresh(&pipeline), outcome);
            let Turn::Over { status, failure: Some(failure), .. } = turn else { panic!("{turn:?}") };
            assert_eq!((status, progress.attempts), (Status::Todo, 1));
            assert_eq!((failure.stage, failure.iterations_used), (Role::Coder, 15));
            assert_eq!(failure.last_output, "last words");
        }
    }

    // spec: P5
    #[test]
    fn used_up_iterations_are_told_in_the_words_that_others_look_for() {
        let (_, turn) = end(&usual(), fresh(&usual()), Outcome::Exhausted);
        let Turn::Over { failure: Some(failure), .. } = turn else { panic!("{turn:?}") };
        assert_eq!(failure.reason, "Max iterations reached without completion promise");
    }

    // spec: P5
    #[test]
    fn the_second_failed_attempt_blocks_the_task_and_the_next_one_begins_with_the_first_stage() {
        let pipeline = usual();
        let at_tester = Progress { stage: Role::Tester, rounds: 2, ..fresh(&pipeline) };
        let (once, _) = end(&pipeline, at_tester, Outcome::Stalled);
        let again = pipeline.begin(Status::Todo, Some(once));
        assert_eq!((&again.stage, again.rounds, again.attempts), (&Role::Coder, 0, 1));
        assert_eq!(again.said.len(), 1, "it hears why the first attempt failed");
        let (_, turn) = end(&pipeline, again, Outcome::Failed);
        assert_eq!(status(&turn), Some(Status::Blocked));
    }

    // spec: L11, P5
    #[test]
    fn what_was_cancelled_blocked_or_too_dear_is_not_tried_again_by_itself() {
        let pipeline = usual();
        for (outcome, expected) in [
            (Outcome::Cancelled, Status::Cancelled),
            (Outcome::Blocked, Status::Blocked),
            (Outcome::OverBudget, Status::Blocked),
        ] {
            let (progress, turn) = end(&pipeline, fresh(&pipeline), outcome);
            assert_eq!((status(&turn), progress.attempts), (Some(expected), 0));
        }
    }

    // spec: L8
    #[test]
    fn a_stage_that_the_worker_has_no_money_for_begins_anew_when_there_is_some() {
        let pipeline = usual();
        let at_work = Progress { run: Some("r1".to_string()), stage: Role::Tester, ..fresh(&pipeline) };
        let ended = Ended::new(Outcome::OverBudget, "why".to_string());
        let end = StageEnd { ended: &ended, iterations: 1, last_output: "", is_purse_empty: true };
        let (left, turn) = at_work.end(&pipeline, &end);
        assert_eq!((&left.stage, &left.run, turn), (&Role::Tester, &None, Turn::Left));
        assert_eq!(pipeline.begin(Status::Testing, Some(left.clone())), left);
    }

    // spec: P2, P8
    #[test]
    fn a_stage_that_no_status_stands_for_is_gone_on_with_and_a_failure_begins_with_the_first() {
        let own = |name: &str| Role::parse(name).unwrap();
        let pipeline = Pipeline::new(vec![own("planner"), own("builder"), Role::Qa], 3, 2).unwrap();
        let (at_builder, _) = end(&pipeline, fresh(&pipeline), Outcome::Completed);
        let at_builder = Progress { run: Some("r2".to_string()), ..at_builder };
        assert_eq!(pipeline.begin(Status::Todo, Some(at_builder.clone())), at_builder);
        let (failed, _) = end(&pipeline, at_builder, Outcome::Failed);
        let again = pipeline.begin(Status::Todo, Some(failed));
        assert_eq!((again.stage, again.run), (own("planner"), None));
    }

    // spec: P8
    #[test]
    fn a_stage_that_was_interrupted_is_gone_on_with() {
        let pipeline = usual();
        let at_work = Progress { run: Some("r1".to_string()), stage: Role::Tester, ..fresh(&pipeline) };
        let (left, turn) = end(&pipeline, at_work.clone(), Outcome::Interrupted);
        assert_eq!((&left, turn), (&at_work, Turn::Left));
        assert_eq!(pipeline.begin(Status::Testing, Some(left)), at_work);
    }

    // spec: P2
    #[test]
    fn a_task_that_somebody_moved_by_hand_begins_where_he_put_it() {
        let pipeline = usual();
        assert_eq!(pipeline.begin(Status::Testing, None).stage, Role::Tester);
        let short = Pipeline::new(vec![Role::Coder, Role::Qa], 3, 2).unwrap();
        assert_eq!(short.begin(Status::Testing, None).stage, Role::Coder, "there is no such stage");
        let gone = Progress { stage: Role::Tester, ..fresh(&usual()) };
        assert_eq!(short.begin(Status::Testing, Some(gone)).stage, Role::Coder);
    }

    // spec: P7
    #[test]
    fn work_that_was_taken_back_to_a_stage_is_that_stage_s_again_and_hears_nothing_of_what_came_after_it() {
        let pipeline = usual();
        let (progress, _) = ends(&pipeline, fresh(&pipeline), &Ended::sent_back("no tests"));
        let (progress, _) = end(&pipeline, progress, Outcome::Completed);
        let (progress, _) = end(&pipeline, progress, Outcome::Completed);
        let at_work = Progress { run: Some("r1".to_string()), ..progress };
        assert_eq!((&at_work.stage, at_work.said.len()), (&Role::Tester, 3));
        let coder = at_work.clone().back_to(Role::Coder);
        assert_eq!((&coder.stage, &coder.run, coder.rounds), (&Role::Coder, &None, 1));
        assert_eq!(coder.said.len(), 1, "why the work was sent back still holds");
        let same = at_work.clone().back_to(Role::Tester);
        assert_eq!((same.said, same.run), (at_work.said, None));
    }

    // spec: P3
    #[test]
    fn what_is_kept_of_the_stages_is_bounded() {
        let pipeline = Pipeline::new(Role::KNOWN.to_vec(), 100, 2).unwrap();
        let mut progress = fresh(&pipeline);
        let long = "x".repeat(100_000);
        for _ in 0..50 {
            (progress, _) = ends(&pipeline, progress, &Ended::sent_back(&long));
        }
        assert_eq!(progress.said.len(), SAID);
        assert!(progress.said.iter().all(|said| said.words.len() <= SAID_BYTES));
    }
}
