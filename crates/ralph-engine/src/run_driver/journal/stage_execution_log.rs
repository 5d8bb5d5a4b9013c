//! Writes the execution log of a stage: each iteration, after its end is stored. The store is authoritative; records that
//! are missing after a crash are added when the run is resumed.
use std::io;

use ralph_core::event::UnixMillis;
use ralph_core::execution_log::{ExecutionLogStage, ExecutionRecordBuilder};
use ralph_core::fact::Fact;

use super::run_record::format_timestamp;
use crate::execution_log::ExecutionLog;
use crate::run_driver::plan::run_plan::RunPlan;

pub(in crate::run_driver) struct StageExecutionLog {
    run_id: String,
    record_writer: ExecutionRecordBuilder,
    log: ExecutionLog,
    /// The last iteration in the log.
    last_logged_iteration: u32,
    failure: LogFailure,
}

enum LogFailure {
    None,
    Unreported(io::Error),
    Reported,
}

impl StageExecutionLog {
    /// Returns the log of a run, if it is a stage.
    pub(in crate::run_driver) fn for_plan(plan: &RunPlan) -> Option<Self> {
        let stage = plan.spec.stage.as_ref().map(|stage| ExecutionLogStage {
            task: stage.task.clone(),
            role: stage.role.to_string(),
            run: plan.context.id.clone(),
            max_iterations: plan.spec.policy.max_iterations,
        })?;
        Some(Self {
            run_id: plan.context.id.clone(),
            record_writer: ExecutionRecordBuilder::new(stage, format_timestamp),
            log: ExecutionLog::new(&plan.context.project.session_logs_folder()),
            last_logged_iteration: 0,
            failure: LogFailure::None,
        })
    }

    /// Reads which iteration of the run is the last one in the log.
    pub(in crate::run_driver) fn load_last_logged(&mut self) {
        match self.log.last_iteration_of(&self.run_id) {
            Ok(last) => self.last_logged_iteration = last,
            Err(error) => {
                // Missing records are better than duplicates.
                self.last_logged_iteration = u32::MAX;
                self.set_failure(error);
            }
        }
    }

    pub(in crate::run_driver) fn record_fact(&mut self, at: UnixMillis, fact: &Fact) {
        let Some(record) = self.record_writer.observe_fact(at, fact) else { return };
        if record.ralph_iteration > self.last_logged_iteration {
            self.last_logged_iteration = record.ralph_iteration;
            self.log.append_record(&record).unwrap_or_else(|error| self.set_failure(error));
        }
    }

    fn set_failure(&mut self, error: io::Error) {
        if let LogFailure::None = self.failure {
            self.failure = LogFailure::Unreported(error);
        }
    }

    /// Returns, once, why the log is incomplete.
    pub(in crate::run_driver) fn take_warning(&mut self) -> Option<String> {
        if let LogFailure::None | LogFailure::Reported = self.failure {
            return None;
        }
        match std::mem::replace(&mut self.failure, LogFailure::Reported) {
            LogFailure::Unreported(error) => {
                Some(format!("the execution log {} is incomplete: {error}", self.log.path().display()))
            }
            LogFailure::None | LogFailure::Reported => None,
        }
    }
}
