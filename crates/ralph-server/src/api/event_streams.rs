//! Streams of server-sent events: the journal of a run, and the changes of the project. A client reads a journal at its own
//! speed: events are read from the database when the client takes them, so a slow one costs no memory and loses nothing.
use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, StatusCode};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use futures_util::stream::unfold;
use ralph_app::error::AppResult;
use ralph_app::run::{FoundRun, find_run, open_existing_store};
use ralph_app::view::event_json_line;
use ralph_app::workflow_runs::{FoundWorkflowRun, find_workflow_run};
use ralph_util::redact::redact_text;
use serde_json::json;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::watch;

use super::ProjectChange;
use super::events::workflow_event_json;
use super::parameters::RequestedId;
use super::use_case::run_use_case;
use crate::context::SharedContext;
use crate::problem::Problem;

const LAST_EVENT_ID_HEADER: HeaderName = HeaderName::from_static("last-event-id");
/// Shows clients and proxies that the stream lives.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);
/// How many events are read at once.
const EVENTS_PER_READ: u32 = 200;
/// A journal is also read without a report of changes, in case one was missed.
const JOURNAL_REREAD_INTERVAL: Duration = Duration::from_secs(5);

pub(super) fn routes() -> Router<SharedContext> {
    Router::new()
        .route("/api/runs/{id}/events/stream", get(stream_run_events))
        .route("/api/workflow-runs/{id}/events/stream", get(stream_workflow_events))
        .route("/api/changes/stream", get(stream_changes))
}

async fn stream_run_events(
    State(context): State<SharedContext>,
    RequestedId(id): RequestedId,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let found = run_use_case(&context, async move |context| {
        let FoundRun { store, run } = find_run(&context.project, Some(&id)).await?;
        store.close().await;
        Ok(run.id)
    });
    let run = found.await?;
    JournalStream::open(context, JournalKind::Run, run, &headers)
}

async fn stream_workflow_events(
    State(context): State<SharedContext>,
    RequestedId(id): RequestedId,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let found = run_use_case(&context, async move |context| {
        let FoundWorkflowRun { store, run } = find_workflow_run(&context.project, Some(&id)).await?;
        store.close().await;
        Ok(run.id)
    });
    let run = found.await?;
    JournalStream::open(context, JournalKind::Workflow, run, &headers)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum JournalKind {
    Run,
    Workflow,
}

/// A journal that a client reads.
struct JournalStream {
    context: SharedContext,
    kind: JournalKind,
    run: String,
    last_seq: i64,
    /// Events that were read and not sent.
    pending: VecDeque<StreamedEvent>,
    changes: broadcast::Receiver<Arc<ProjectChange>>,
    is_stopping: watch::Receiver<bool>,
    has_ended: bool,
}

struct StreamedEvent {
    seq: i64,
    name: String,
    data: String,
}

impl JournalStream {
    fn open(context: SharedContext, kind: JournalKind, run: String, headers: &HeaderMap) -> Result<Response, Problem> {
        let last_seq = match headers.get(LAST_EVENT_ID_HEADER).map(|value| value.to_str().map(str::parse::<u32>)) {
            None => 0,
            Some(Ok(Ok(number))) => number.into(),
            Some(_) => return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "Last-Event-ID is not a number")),
        };
        let (changes, is_stopping) = (context.changes.subscribe(), context.is_stopping.clone());
        let pending = VecDeque::new();
        let stream = Self { context, kind, run, last_seq, pending, changes, is_stopping, has_ended: false };
        let events = unfold(stream, async |mut stream| {
            stream.next_event().await.map(|event| (Ok::<_, Infallible>(event), stream))
        });
        Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE_INTERVAL)).into_response())
    }

    /// Returns the next event; `None` after the end of the run, or when the server stops.
    async fn next_event(&mut self) -> Option<Event> {
        loop {
            if let Some(StreamedEvent { seq, name, data }) = self.pending.pop_front() {
                self.has_ended = self.kind.ends_with(&name);
                return Some(Event::default().id(seq.to_string()).event(name).data(data));
            }
            // A workflow run or a run that was resumed continues its journal; clients then connect again.
            if self.has_ended || *self.is_stopping.borrow() {
                return None;
            }
            self.pending = self.read_events().await.ok()?;
            match self.pending.back() {
                Some(last) => self.last_seq = last.seq,
                None => self.wait_for_change().await,
            }
        }
    }

    async fn wait_for_change(&mut self) {
        let run = &self.run;
        let changed = async {
            loop {
                match self.changes.recv().await {
                    Ok(change) if change.is_incomplete || change.runs.contains(run) => return,
                    Ok(_) => {}
                    // Changes were missed: read.
                    Err(RecvError::Lagged(_)) => return,
                    Err(RecvError::Closed) => std::future::pending().await,
                }
            }
        };
        tokio::select! {
            () = changed => {}
            _ = self.is_stopping.wait_for(|stops| *stops) => {}
            () = tokio::time::sleep(JOURNAL_REREAD_INTERVAL) => {}
        }
    }

    async fn read_events(&self) -> Result<VecDeque<StreamedEvent>, Problem> {
        let (kind, run, after) = (self.kind, self.run.clone(), self.last_seq);
        run_use_case(&self.context, async move |context| -> AppResult<VecDeque<StreamedEvent>> {
            let Some(store) = open_existing_store(&context.project).await? else { return Ok(VecDeque::new()) };
            let events = match kind {
                JournalKind::Run => {
                    let rows = store.events_after(&run, after, EVENTS_PER_READ).await?;
                    rows.iter().map(|row| StreamedEvent::new(row.seq, &event_json_line(&run, row))).collect()
                }
                JournalKind::Workflow => {
                    let rows = store.workflow_events_after(&run, after, EVENTS_PER_READ).await?;
                    rows.iter()
                        .map(|row| StreamedEvent::new(row.seq, &workflow_event_json(&run, row).to_string()))
                        .collect()
                }
            };
            store.close().await;
            Ok(events)
        })
        .await
    }
}

impl JournalKind {
    fn ends_with(self, event: &str) -> bool {
        match self {
            Self::Run => event == "run.finished",
            Self::Workflow => event == "workflow.finished",
        }
    }
}

impl StreamedEvent {
    fn new(seq: i64, line: &str) -> Self {
        let parsed: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
        let name = parsed["event"].as_str().unwrap_or("event").to_owned();
        Self { seq, name, data: redact_text(line).into_owned() }
    }
}

async fn stream_changes(State(context): State<SharedContext>) -> Response {
    let listener = ChangeListener { changes: context.changes.subscribe(), is_stopping: context.is_stopping.clone() };
    let events = unfold(listener, async |mut listener| listener.next_event().await.map(|event| (event, listener)));
    Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE_INTERVAL)).into_response()
}

/// A client that receives changes.
struct ChangeListener {
    changes: broadcast::Receiver<Arc<ProjectChange>>,
    is_stopping: watch::Receiver<bool>,
}

impl ChangeListener {
    async fn next_event(&mut self) -> Option<Result<Event, Infallible>> {
        if *self.is_stopping.borrow() {
            return None;
        }
        let received = tokio::select! {
            received = self.changes.recv() => received,
            _ = self.is_stopping.wait_for(|stops| *stops) => return None,
        };
        match received {
            Ok(change) => Some(Ok(change_event(&change))),
            // The client was too slow.
            Err(RecvError::Lagged(_)) => Some(Ok(gap_event())),
            Err(RecvError::Closed) => None,
        }
    }
}

fn change_event(change: &ProjectChange) -> Event {
    let ProjectChange { runs, tasks, may_change_inbox, is_incomplete } = change;
    if *is_incomplete {
        return gap_event();
    }
    let data = json!({ "runs": runs, "tasks": tasks, "inbox": may_change_inbox });
    Event::default().event("changed").data(data.to_string())
}

/// Tells a client that it may have missed changes, and must load everything again.
fn gap_event() -> Event {
    Event::default().event("gap").data("{}")
}
