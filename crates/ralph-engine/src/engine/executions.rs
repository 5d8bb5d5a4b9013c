//! Keeps the execution log of a stage: each iteration, once its end is stored. The store is the truth, and the log only
//! repeats it: what a crash kept from the log is added when the run is taken up again.
use std::io;

use ralph_core::event::Millis;
use ralph_core::execution::{Stage, Writer};
use ralph_core::fact::Fact;

use super::books::shown;
use super::plan::RunPlan;
use crate::execution_log::ExecutionLog;

pub(super) struct Executions {
    run: String,
    writer: Writer,
    log: ExecutionLog,
    /// The last iteration that stands in the log.
    logged: u32,
    trouble: Trouble,
}

enum Trouble {
    None,
    /// Nobody has been told yet.
    Fresh(io::Error),
    Told,
}

impl Executions {
    /// Returns the log of a run, if it is a stage.
    pub(super) fn of(plan: &RunPlan) -> Option<Self> {
        let stage = plan.stage.as_ref().map(|stage| Stage {
            task: stage.task.clone(),
            role: stage.role.to_string(),
            run: plan.id.clone(),
            max_iterations: plan.policy.max_iterations,
        })?;
        Some(Self {
            run: plan.id.clone(),
            writer: Writer::new(stage, shown),
            log: ExecutionLog::new(&plan.project.session_logs()),
            logged: 0,
            trouble: Trouble::None,
        })
    }

    /// Looks how much of the run stands in the log already.
    pub(super) fn catch_up(&mut self) {
        match self.log.last_of(&self.run) {
            Ok(last) => self.logged = last,
            Err(error) => {
                // Rather a line less than one twice.
                self.logged = u32::MAX;
                self.failed(error);
            }
        }
    }

    pub(super) fn heed(&mut self, at: Millis, fact: &Fact) {
        let Some(record) = self.writer.heed(at, fact) else { return };
        if record.ralph_iteration > self.logged {
            self.logged = record.ralph_iteration;
            self.log.append(&record).unwrap_or_else(|error| self.failed(error));
        }
    }

    fn failed(&mut self, error: io::Error) {
        if let Trouble::None = self.trouble {
            self.trouble = Trouble::Fresh(error);
        }
    }

    /// Says why the log is not whole, once.
    pub(super) fn complaint(&mut self) -> Option<String> {
        if let Trouble::None | Trouble::Told = self.trouble {
            return None;
        }
        match std::mem::replace(&mut self.trouble, Trouble::Told) {
            Trouble::Fresh(error) => {
                Some(format!("the execution log {} is not whole: {error}", self.log.path().display()))
            }
            Trouble::None | Trouble::Told => None,
        }
    }
}
