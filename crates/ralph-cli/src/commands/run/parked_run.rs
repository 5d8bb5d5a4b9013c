//! A run in the background that was parked: its process sleeps without locks, and continues the run after the wait.
use std::fs::File;

use ralph_app::config::ConfigSource;
use ralph_app::run::{
    BackgroundOutput, PreparedResume, ResumeNotNeeded, ResumeRequest, StartedRun, parked_until, prepare_resume,
    sleep_until_wall_clock,
};
use ralph_app::view::{format_clock_time, short_id};
use ralph_core::event::UnixMillis;
use ralph_core::outcome::exit_code;
use ralph_engine::project::Project;
use ralph_engine::run_driver::{Clock, OutputVisibility, SignalStream};
use ralph_process::Keeper;

use crate::commands::args::output_args::{BackgroundMode, OutputMode};
use crate::commands::interaction::TerminalInteraction;
use crate::commands::run::resume::resume_and_report;
use crate::commands::{out, signal_exit_code};
use crate::error::CommandError;

/// The data that continues a run after it was parked.
pub struct ParkedRun {
    project: Project,
    run: String,
    keeper: Keeper,
    log: File,
    config: ConfigSource,
}

impl ParkedRun {
    /// Returns what a run in the background needs; `None` for another run, which is never parked.
    pub fn for_background(started: &StartedRun, output: &OutputMode) -> Result<Option<Self>, CommandError> {
        let OutputMode::Background(BackgroundMode { output, config }) = output else { return Ok(None) };
        let log = output.log.try_clone();
        let context = &started.plan().context;
        Ok(Some(Self {
            project: context.project.clone(),
            run: context.id.clone(),
            keeper: started.keeper(),
            log: log.map_err(|error| CommandError::from_error(exit_code::INTERNAL_ERROR, &error))?,
            config: config.clone(),
        }))
    }

    /// Sleeps until the wait is over, and continues the run, unless it was resumed or ended meanwhile. A signal ends this
    /// process; the run stays parked.
    pub async fn continue_after_wait(self) -> Result<u8, CommandError> {
        let Some(until) = parked_until(&self.project, &self.run).await? else { return Ok(exit_code::NOT_COMPLETE) };
        self.announce_wait(until);
        let signals = SignalStream::listen();
        let mut signals = signals.map_err(|error| CommandError::from_error(exit_code::INTERNAL_ERROR, &error))?;
        tokio::select! {
            () = sleep_until_wall_clock(until) => {}
            signal = signals.wait_for_stop() => return Ok(signal_exit_code(signal)),
        }
        let visibility = OutputVisibility::Hidden;
        let request = ResumeRequest { config: &self.config, visibility, person: &TerminalInteraction };
        match prepare_resume(&self.project, Some(&self.run), &request).await? {
            PreparedResume::Resumable(mut run) => {
                run.allow_parking();
                let output = BackgroundOutput { log: self.log, startup_pipe: None };
                let config = self.config.clone();
                let mode = OutputMode::Background(BackgroundMode { output, config: self.config });
                resume_and_report(*run, self.keeper, mode, &config).await
            }
            PreparedResume::NotNeeded(ResumeNotNeeded::Ended(ended)) => Ok(ended.end.exit_code),
            PreparedResume::NotNeeded(ResumeNotNeeded::WokenUp { .. } | ResumeNotNeeded::PauseWithdrawn { .. }) => {
                Ok(exit_code::COMPLETED)
            }
        }
    }

    fn announce_wait(&self, until: UnixMillis) {
        let until = format_clock_time(until, Clock::wall_now());
        let short = short_id(&self.run);
        out::print_note(&format!(
            "parked    until {until}; this process then continues the run. After a reboot: ralph resume {short}"
        ));
    }
}
