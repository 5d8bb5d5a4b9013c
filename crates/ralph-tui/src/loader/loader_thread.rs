//! The thread that reads the project again and again, loads details and performs orders. The screen only waits for its messages.
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use ralph_app::board::{BoardReader, CardScope, ShownInboxItem};
use ralph_app::config::ConfigSource;
use ralph_app::error::AppError;
use ralph_core::event::StopSignal;
use ralph_engine::project::Project;
use ralph_engine::run_driver::{Clock, SignalRequest, SignalStream};
use ralph_util::redact::redact_text;
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::LocalSet;

use super::load_detail::load_detail;
use super::perform_order::perform_order;
use super::reading_slot::ReadingSlot;
use crate::board_options::{BackgroundResume, BoardWords};
use crate::model::board_action::BoardOrder;
use crate::model::board_input::{BoardInput, OrderResult};
use crate::model::detail_pane::{DetailView, Subject};

/// How often the loader looks for changes. Without one this costs a few system calls.
const CHANGE_POLL_INTERVAL: Duration = Duration::from_millis(500);

/// A message to the screen from other threads.
pub(crate) enum SessionEvent {
    Input(BoardInput),
    Stop(StopSignal),
    Suspend,
}

/// A request of the screen to the loader.
pub(crate) enum LoaderRequest {
    Reload,
    SetScope(CardScope),
    Load { subject: Subject, view: DetailView },
    Order(BoardOrder),
}

/// The inputs of the loader.
#[derive(Clone)]
pub(crate) struct LoaderContext {
    pub project: Project,
    pub config: ConfigSource,
    pub words: BoardWords,
    pub resume_in_background: fn(&Path, &str) -> io::Result<BackgroundResume>,
}

impl LoaderContext {
    /// Returns an error with its causes and hints, one per line, without secrets.
    pub(crate) fn describe_error(&self, error: &AppError) -> String {
        let hints = (self.words.hints)(error).into_iter().map(|hint| format!("hint: {hint}"));
        let causes = error.causes.iter().map(|cause| format!("caused by: {cause}"));
        let lines: Vec<String> = std::iter::once(error.message.clone()).chain(causes).chain(hints).collect();
        redact_text(&lines.join("\n")).into_owned()
    }
}

/// The shown text of each inbox item, by the id of its subject. An approval covers only this.
pub(crate) type ShownItems = Rc<RefCell<BTreeMap<String, ShownInboxItem>>>;

/// Where the loader sends its results.
#[derive(Clone)]
pub(crate) struct LoaderOutput {
    pub events: Sender<SessionEvent>,
    pub readings: ReadingSlot,
}

/// Starts the loader. It ends when the sender of requests is dropped.
pub(crate) fn start_loader(context: LoaderContext, output: LoaderOutput) -> io::Result<UnboundedSender<LoaderRequest>> {
    let (requests, received) = unbounded_channel();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let signals = {
        let _entered = runtime.enter();
        SignalStream::listen()?
    };
    let work = move || {
        let local = LocalSet::new();
        local.spawn_local(forward_signals(signals, output.events.clone()));
        local.block_on(&runtime, serve_requests(context, output, received));
    };
    std::thread::Builder::new().name("board-loader".to_owned()).spawn(work)?;
    Ok(requests)
}

async fn forward_signals(mut signals: SignalStream, events: Sender<SessionEvent>) {
    loop {
        let event = match signals.next().await {
            SignalRequest::Stop(signal) => SessionEvent::Stop(signal),
            SignalRequest::Suspend => SessionEvent::Suspend,
            SignalRequest::CheckOrders => continue,
        };
        if events.send(event).is_err() {
            return;
        }
    }
}

async fn serve_requests(context: LoaderContext, output: LoaderOutput, mut requests: UnboundedReceiver<LoaderRequest>) {
    let LoaderOutput { events, readings } = output;
    let wishes = Rc::new(ReadingWishes::default());
    tokio::task::spawn_local(read_project(context.clone(), readings, Rc::clone(&wishes)));
    let shown = ShownItems::default();
    while let Some(request) = requests.recv().await {
        let (context, events, shown) = (context.clone(), events.clone(), Rc::clone(&shown));
        match request {
            LoaderRequest::Reload => wishes.reload.notify_one(),
            LoaderRequest::SetScope(scope) => {
                wishes.scope.set(scope);
                wishes.reload.notify_one();
            }
            LoaderRequest::Load { subject, view } => {
                tokio::task::spawn_local(async move {
                    let content = load_detail(&context, &subject, view, &shown).await;
                    let content = content.map_err(|error| context.describe_error(&error));
                    let _ = events.send(SessionEvent::Input(BoardInput::Detail { subject, view, content }));
                });
            }
            LoaderRequest::Order(order) => {
                tokio::task::spawn_local(async move {
                    let result = match perform_order(&context, order, &shown).await {
                        Ok(text) => OrderResult { is_done: true, text },
                        Err(error) => OrderResult { is_done: false, text: context.describe_error(&error) },
                    };
                    let _ = events.send(SessionEvent::Input(BoardInput::OrderDone(result)));
                });
            }
        }
    }
}

/// The requests of the screen for the next reading.
#[derive(Default)]
struct ReadingWishes {
    reload: Notify,
    scope: Cell<CardScope>,
}

/// Reads the project until this task is dropped, with the screen.
async fn read_project(context: LoaderContext, readings: ReadingSlot, wishes: Rc<ReadingWishes>) {
    let mut reader = BoardReader::new(&context.project);
    loop {
        reader.set_scope(wishes.scope.get());
        let began = Clock::wall_now();
        readings.put(match reader.read_changes().await {
            Ok(Some(snapshot)) => BoardInput::Snapshot(Arc::new(snapshot)),
            Ok(None) => BoardInput::Unchanged(began),
            Err(error) => BoardInput::LoadFailed(context.describe_error(&error)),
        });
        tokio::select! {
            () = wishes.reload.notified() => reader.expire(),
            () = tokio::time::sleep(CHANGE_POLL_INTERVAL) => {}
        }
    }
}
