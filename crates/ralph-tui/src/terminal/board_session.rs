//! The main loop: waits for keys and messages, changes the state, performs actions, draws.
use std::io::{self, Write};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::{Duration, Instant};

use crossterm::event;
use ralph_app::board::{UserCommandSubject, find_log_file, load_user_commands, prepare_user_command};
use ralph_app::error::AppResult;
use ralph_core::event::StopSignal;
use ralph_engine::run_driver::{Clock, stop_own_process};
use ralph_util::failpoints::{self, FailPoint};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use tokio::sync::mpsc::UnboundedSender;

use super::foreground_command::{open_in_pager, run_user_command};
use super::terminal_guard::{PanicRestore, TerminalGuard};
use super::terminal_input::{TerminalPresence, input_of_event, wait_for_terminal};
use crate::board_options::{BoardError, BoardOptions};
use crate::draw::draw_board;
use crate::draw::theme::Theme;
use crate::loader::follow_output::OutputFollower;
use crate::loader::loader_thread::{LoaderContext, LoaderOutput, LoaderRequest, SessionEvent, start_loader};
use crate::loader::reading_slot::ReadingSlot;
use crate::model::board_action::BoardAction;
use crate::model::board_input::BoardInput;
use crate::model::board_state::BoardState;
use crate::model::detail_pane::Subject;
use crate::model::handle_input::handle_input;

/// How long messages of other threads wait at most.
const INPUT_POLL_INTERVAL: Duration = Duration::from_millis(100);
/// How long after the end of another program an interrupt may still be meant for it.
const LATE_INTERRUPT_TIME: Duration = Duration::from_secs(2);
/// How often ages and clocks are drawn again.
const CLOCK_INTERVAL: Duration = Duration::from_secs(1);

/// Shows the board until the user leaves, or a signal stops this process. Runs are not affected.
pub fn run_board(options: &BoardOptions) -> Result<Option<StopSignal>, BoardError> {
    let terminal_error = |source| BoardError::Terminal { source };
    let panics = PanicRestore::install(options.open_terminal);
    let (events, received) = channel();
    let readings = ReadingSlot::default();
    let context = LoaderContext {
        project: options.project.clone(),
        config: options.config.clone(),
        words: options.words,
        resume_in_background: options.resume_in_background,
    };
    let loader =
        start_loader(context.clone(), LoaderOutput { events, readings: readings.clone() }).map_err(terminal_error)?;
    let guard = TerminalGuard::enter(options.open_terminal, options.uses_mouse, &panics).map_err(terminal_error)?;
    let backend = CrosstermBackend::new((options.open_terminal)());
    let screen = Terminal::new(backend).map_err(terminal_error)?;
    let mut session = BoardSession {
        state: initial_state(options),
        theme: Theme { is_colored: options.is_colored },
        screen,
        guard,
        loader,
        received,
        readings,
        panics,
        interrupts_from: Instant::now(),
        output: None,
        context,
    };
    session.run()
}

fn initial_state(options: &BoardOptions) -> BoardState {
    let root = &options.project.root;
    let name = root.file_name().map_or_else(|| root.display().to_string(), |name| name.to_string_lossy().into_owned());
    let name = ralph_util::sanitize::sanitize_text(&name);
    let mut state = BoardState::new(name, options.words, Clock::wall_now());
    match load_user_commands(&options.project, &options.config) {
        Ok(commands) => {
            let single = |(key, command): (String, String)| {
                Some((key.chars().next().filter(|_| key.chars().count() == 1)?, command))
            };
            state.user_commands = commands.into_iter().filter_map(single).collect();
        }
        Err(error) => state.show_error(error.to_string()),
    }
    state
}

/// Why the main loop ends.
enum SessionEnd {
    Left,
    Stopped(StopSignal),
}

struct BoardSession {
    state: BoardState,
    theme: Theme,
    screen: Terminal<CrosstermBackend<Box<dyn Write + Send>>>,
    guard: TerminalGuard,
    loader: UnboundedSender<LoaderRequest>,
    received: Receiver<SessionEvent>,
    readings: ReadingSlot,
    panics: PanicRestore,
    /// Interrupts before this time were meant for another program: Ctrl-C there goes to every process of the terminal.
    interrupts_from: Instant,
    output: Option<OutputFollower>,
    context: LoaderContext,
}

impl BoardSession {
    fn run(&mut self) -> Result<Option<StopSignal>, BoardError> {
        let terminal_error = |source| BoardError::Terminal { source };
        let mut last_drawn = Instant::now();
        let mut needs_drawing = true;
        let mut shown_lines = 0;
        loop {
            if self.panics.has_panicked() {
                return Err(BoardError::LoaderEnded);
            }
            let lines = self.state.output.buffer.lock().total_lines;
            needs_drawing |= lines != shown_lines || last_drawn.elapsed() >= CLOCK_INTERVAL;
            if needs_drawing {
                self.apply(BoardInput::Tick(Clock::wall_now()))?;
                self.draw().map_err(terminal_error)?;
                (last_drawn, needs_drawing, shown_lines) = (Instant::now(), false, lines);
            }
            match self.wait_for_inputs()? {
                WaitResult::Nothing => {}
                WaitResult::Changed => needs_drawing = true,
                WaitResult::Ended(SessionEnd::Left) => return Ok(None),
                WaitResult::Ended(SessionEnd::Stopped(signal)) => return Ok(Some(signal)),
            }
        }
    }

    fn draw(&mut self) -> io::Result<()> {
        failpoints::reach_fail_point(FailPoint::BoardDrawn);
        let (state, theme) = (&mut self.state, self.theme);
        self.screen.draw(|frame| draw_board(frame, state, theme)).map(drop)
    }

    /// Waits a moment for keys, then takes all messages of other threads.
    fn wait_for_inputs(&mut self) -> Result<WaitResult, BoardError> {
        let terminal_error = |source| BoardError::Terminal { source };
        let mut result = WaitResult::Nothing;
        let terminal = wait_for_terminal(INPUT_POLL_INTERVAL).map_err(terminal_error)?;
        if terminal == TerminalPresence::Gone {
            return Ok(WaitResult::Ended(SessionEnd::Stopped(StopSignal::Hangup)));
        }
        // Without a separate wait: it never returns if the terminal goes away meanwhile.
        while event::poll(Duration::ZERO).map_err(terminal_error)? {
            result = WaitResult::Changed;
            let event = event::read().map_err(terminal_error)?;
            let area = self.screen.size().map_err(terminal_error)?;
            let area = Rect { x: 0, y: 0, width: area.width, height: area.height };
            if let Some(input) = input_of_event(event, &self.state, area)
                && let Some(end) = self.apply(input)?
            {
                return Ok(WaitResult::Ended(end));
            }
        }
        if let Some(end) = self.take_readings(&mut result)? {
            return Ok(WaitResult::Ended(end));
        }
        loop {
            match self.received.try_recv() {
                Ok(SessionEvent::Input(input)) => {
                    result = WaitResult::Changed;
                    if let Some(end) = self.apply(input)? {
                        return Ok(WaitResult::Ended(end));
                    }
                }
                Ok(SessionEvent::Stop(StopSignal::Int)) if Instant::now() < self.interrupts_from => {}
                Ok(SessionEvent::Stop(signal)) => return Ok(WaitResult::Ended(SessionEnd::Stopped(signal))),
                Ok(SessionEvent::Suspend) => {
                    self.suspend().map_err(terminal_error)?;
                    result = WaitResult::Changed;
                }
                Err(TryRecvError::Empty) => return Ok(result),
                Err(TryRecvError::Disconnected) => return Err(BoardError::LoaderEnded),
            }
        }
    }

    /// Takes what the loader has read.
    fn take_readings(&mut self, result: &mut WaitResult) -> Result<Option<SessionEnd>, BoardError> {
        let readings = self.readings.take();
        if !readings.is_empty() {
            self.apply(BoardInput::Tick(Clock::wall_now()))?;
        }
        for input in readings {
            // Unchanged data needs no drawing, but for the age of old data.
            if !matches!(input, BoardInput::Unchanged(_)) || self.state.stale_for().is_some() {
                *result = WaitResult::Changed;
            }
            if let Some(end) = self.apply(input)? {
                return Ok(Some(end));
            }
        }
        Ok(None)
    }

    /// Applies an input, and performs what follows from it.
    fn apply(&mut self, input: BoardInput) -> Result<Option<SessionEnd>, BoardError> {
        for action in handle_input(&mut self.state, input) {
            if let Some(end) = self.perform(action)? {
                return Ok(Some(end));
            }
        }
        Ok(None)
    }

    fn perform(&mut self, action: BoardAction) -> Result<Option<SessionEnd>, BoardError> {
        let terminal_error = |source| BoardError::Terminal { source };
        let request = match action {
            BoardAction::Quit => return Ok(Some(SessionEnd::Left)),
            BoardAction::Reload => LoaderRequest::Reload,
            BoardAction::SetScope(scope) => LoaderRequest::SetScope(scope),
            BoardAction::Load { subject, view } => LoaderRequest::Load { subject, view },
            BoardAction::Order(order) => LoaderRequest::Order(order),
            BoardAction::Suspend => return self.suspend().map(|()| None).map_err(terminal_error),
            BoardAction::Redraw => return self.screen.clear().map(|()| None).map_err(terminal_error),
            BoardAction::StopOutput => {
                self.output = None;
                return Ok(None);
            }
            BoardAction::FollowOutput(subject) => {
                let buffer = self.state.output.buffer.clone();
                let follower = OutputFollower::start(self.context.project.clone(), subject.id, buffer);
                self.output = Some(follower.map_err(terminal_error)?);
                return Ok(None);
            }
            BoardAction::OpenPager(subject) => return self.open_pager(&subject).map(|()| None).map_err(terminal_error),
            BoardAction::RunUserCommand { key, subject } => {
                return self.run_user_key(&key, &subject).map(|()| None).map_err(terminal_error);
            }
            BoardAction::Notify(text) => return self.notify(&text).map(|()| None).map_err(terminal_error),
        };
        self.loader.send(request).map_err(|_| BoardError::LoaderEnded)?;
        Ok(None)
    }

    /// Gives the terminal back, stops this process, and takes the terminal again when it is continued.
    fn suspend(&mut self) -> io::Result<()> {
        self.outside_of_screen(stop_own_process)
    }

    /// Does something while the terminal is as it was before the board.
    fn outside_of_screen<T>(&mut self, work: impl FnOnce() -> T) -> io::Result<T> {
        self.guard.restore();
        let done = work();
        self.guard.take()?;
        self.screen.clear()?;
        self.interrupts_from = Instant::now() + LATE_INTERRUPT_TIME;
        Ok(done)
    }

    fn open_pager(&mut self, subject: &Subject) -> io::Result<()> {
        let found = block_on(find_log_file(&self.context.project, &subject.id))?;
        match found {
            Err(error) => self.state.show_error(self.context.describe_error(&error)),
            Ok(file) => {
                if let Err(error) = self.outside_of_screen(|| open_in_pager(&file))? {
                    self.state.show_error(format!("the pager cannot be started: {error}"));
                }
            }
        }
        Ok(())
    }

    fn run_user_key(&mut self, key: &str, subject: &Subject) -> io::Result<()> {
        let is_task = subject.kind == ralph_app::board::CardKind::Task;
        let values = UserCommandSubject {
            id: subject.id.clone(),
            task: is_task.then(|| subject.id.clone()),
            run: subject.run.clone(),
        };
        let words = block_on(prepare_user_command(&self.context.project, &self.context.config, key, &values))?;
        match words {
            Err(error) => self.state.show_error(self.context.describe_error(&error)),
            Ok(words) => {
                let root = self.context.project.root.clone();
                let ended = self.outside_of_screen(|| run_user_command(&root, &words))?;
                match ended {
                    Ok(text) => self.state.show_notice(text),
                    Err(error) => self.state.show_error(format!("{}: {error}", words.join(" "))),
                }
            }
        }
        Ok(())
    }

    /// Rings the bell and shows a notification of the terminal, by the sequences that terminals know (OSC 9 and 777).
    fn notify(&mut self, text: &str) -> io::Result<()> {
        let text = ralph_util::sanitize::sanitize_text(text).replace(['\n', ';'], " ");
        let terminal = self.screen.backend_mut();
        write!(terminal, "\x07\x1b]9;{text}\x07\x1b]777;notify;ralph;{text}\x07")?;
        Write::flush(terminal)
    }
}

enum WaitResult {
    Nothing,
    Changed,
    Ended(SessionEnd),
}

/// Runs a short use case of this thread.
fn block_on<T>(work: impl Future<Output = AppResult<T>>) -> io::Result<AppResult<T>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok(runtime.block_on(work))
}
