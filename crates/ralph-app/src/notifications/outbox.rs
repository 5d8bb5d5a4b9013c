//! The outbox: stores what happened for the targets that want it, and sends what is due. One message is sent by one process.
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ralph_core::event::UnixMillis;
use ralph_core::notification::{
    DeliveryDecision, DeliveryFailure, LocalClock, MAX_SEPARATE_MESSAGES, NotificationEvent, NotificationLine,
    notification_retry_delay_ms,
};
use ralph_engine::local_time::utc_offset_minutes;
use ralph_engine::run_driver::Clock;
use ralph_store::{DeliveryResult, NewNotification, OpenDeliveryRow, Store};
use tokio::task::JoinSet;

use super::channel::SendError;
use super::message::{MessageBody, MessageItem, MessageKind, OutgoingMessage, clean_text};
use super::notifier::Notifier;
use super::observe::{ObservedEvent, ObservedSpan, observe_events};
use crate::config::NotifyTarget;
use crate::error::AppResult;

/// Events that are older when they are first seen are not notified.
const MAX_EVENT_AGE_MS: u64 = 24 * 3_600_000;
/// A message that could not be sent for so long is lost: its target is no longer configured, or lacks its variables.
const MAX_MESSAGE_AGE_MS: u64 = 3 * 86_400_000;
/// How long a process may send a message before another one sends it. Longer than any attempt takes.
const CLAIM_TIME: Duration = Duration::from_secs(60);

/// The messages of one target that are sent as one.
struct MessageBatch {
    kind: MessageKind,
    rows: Vec<OpenDeliveryRow>,
}

impl Notifier {
    /// Stores what happened and sends what is due. Returns when the next message is due, if one waits.
    pub(super) async fn run_round(
        self: &Arc<Self>,
        store: &Arc<Store>,
        timeout: Duration,
    ) -> AppResult<Option<UnixMillis>> {
        self.store_events(store).await?;
        self.send_due_messages(store, timeout).await
    }

    async fn store_events(&self, store: &Store) -> AppResult<()> {
        let now = Clock::wall_now();
        let names: Vec<&str> = self.targets.iter().map(|target| target.name.as_str()).collect();
        let known = store.register_notification_targets(&names, self.since).await?;
        let since_of = |target: &NotifyTarget| known.get(&target.name).copied().unwrap_or(self.since);
        let Some(first) = self.targets.iter().map(since_of).min() else { return Ok(()) };
        let oldest = UnixMillis(now.0.saturating_sub_unsigned(MAX_EVENT_AGE_MS));
        let span = ObservedSpan { since: first.max(oldest), now };
        let mut observed = observe_events(&self.project, store, span).await?;
        let ids: Vec<String> = observed.iter().map(|event| event.id.clone()).collect();
        let stored = store.stored_notifications(&ids).await?;
        observed.retain(|event| !stored.contains(&event.id));
        for event in &observed {
            let wants = |target: &&NotifyTarget| {
                event.happened_at >= since_of(target) && target.rule.selects(&event.events, event.subject_kind)
            };
            let targets: Vec<&str> = self.targets.iter().filter(wants).map(|target| target.name.as_str()).collect();
            let body = serde_json::to_string(&self.message_body(event)).unwrap_or_default();
            let new = NewNotification { id: &event.id, happened_at: event.happened_at, body: &body, at: now };
            store.add_notification(&new, &targets).await?;
        }
        if !observed.is_empty() {
            store.forget_old_notifications(now).await?;
        }
        Ok(())
    }

    fn message_body(&self, event: &ObservedEvent) -> MessageBody {
        let usual = event.events.first().copied().unwrap_or(NotificationEvent::Waiting);
        let line = NotificationLine {
            subject: &event.subject,
            role: event.role.as_deref(),
            event: usual,
            reason: &event.reason,
        };
        MessageBody {
            events: event.events.iter().map(|event| event.as_str().to_owned()).collect(),
            kind: event.subject_kind.as_str().to_owned(),
            subject: clean_text(&event.subject),
            role: event.role.as_deref().map(clean_text),
            task: event.task.clone(),
            run: event.run.clone(),
            line: clean_text(&line.to_text()),
            commands: event.answer.iter().flat_map(|answer| (self.host.commands)(answer)).collect(),
            page: event.page.clone(),
            waits: usual != NotificationEvent::Completed,
        }
    }

    /// Sends to all targets at the same time, so that one that hangs does not delay the others.
    async fn send_due_messages(
        self: &Arc<Self>,
        store: &Arc<Store>,
        timeout: Duration,
    ) -> AppResult<Option<UnixMillis>> {
        let now = Clock::wall_now();
        let clock = LocalClock { now, utc_offset_minutes: utc_offset_minutes(now) };
        let mut of_target: BTreeMap<String, Vec<OpenDeliveryRow>> = BTreeMap::new();
        for row in store.open_deliveries().await? {
            of_target.entry(row.key.target.clone()).or_default().push(row);
        }
        let mut next_due: Option<UnixMillis> = None;
        let mut sending = JoinSet::new();
        for (name, rows) in of_target {
            let Some(target) = self.targets.iter().find(|target| target.name == name) else {
                drop_old_messages(store, &rows, now).await?;
                continue;
            };
            let (batches, waits_until) = plan_batches(target, rows, &clock);
            next_due = [next_due, waits_until].into_iter().flatten().min();
            let (notifier, store, target) = (Arc::clone(self), Arc::clone(store), target.clone());
            sending.spawn(async move {
                for batch in batches {
                    // A message whose result could not be recorded is tried again when its claim has ended.
                    if !notifier.send_batch(&store, &target, batch, timeout).await.unwrap_or(false) {
                        break;
                    }
                }
            });
        }
        while sending.join_next().await.is_some() {}
        Ok(next_due)
    }

    /// Sends the messages that no other process has claimed. Returns whether the target accepted them.
    async fn send_batch(
        &self,
        store: &Store,
        target: &NotifyTarget,
        batch: MessageBatch,
        timeout: Duration,
    ) -> AppResult<bool> {
        let now = Clock::wall_now();
        let until = now.add_millis(u64::try_from(CLAIM_TIME.as_millis()).unwrap_or(u64::MAX));
        let mut claimed = Vec::new();
        for row in batch.rows {
            if store.claim_delivery(&row.key, now, until).await? {
                claimed.push(row);
            }
        }
        let items: Vec<MessageItem> = claimed.iter().filter_map(read_item).collect();
        if items.is_empty() {
            return Ok(true);
        }
        let kind = if items.len() > 1 { batch.kind } else { MessageKind::Single };
        let link = target.link.as_deref().or(self.host.server.as_deref());
        let message = OutgoingMessage::about(&items, kind, &self.project_name(), link, now);
        let sent = self.send_message(target, &message, timeout).await;
        for row in &claimed {
            record_result(store, row, &sent).await?;
        }
        Ok(sent.is_ok())
    }
}

/// Returns the batches that are due now, and when the next one is.
fn plan_batches(
    target: &NotifyTarget,
    rows: Vec<OpenDeliveryRow>,
    clock: &LocalClock,
) -> (Vec<MessageBatch>, Option<UnixMillis>) {
    let (mut separate, mut joined, mut next_due) = (Vec::new(), Vec::new(), None::<UnixMillis>);
    for row in rows {
        match target.schedule.decide(&row.pending, clock) {
            DeliveryDecision::Send => separate.push(row),
            DeliveryDecision::SendInDigest => joined.push(row),
            DeliveryDecision::Wait { until } => next_due = Some(next_due.map_or(until, |next| next.min(until))),
        }
    }
    if separate.len() > MAX_SEPARATE_MESSAGES {
        joined.append(&mut separate);
    }
    let single = |row| MessageBatch { kind: MessageKind::Single, rows: vec![row] };
    let digest = (!joined.is_empty()).then_some(MessageBatch { kind: MessageKind::Digest, rows: joined });
    (digest.into_iter().chain(separate.into_iter().map(single)).collect(), next_due)
}

fn read_item(row: &OpenDeliveryRow) -> Option<MessageItem> {
    let body = serde_json::from_str(&row.body).ok()?;
    Some(MessageItem { id: row.key.notification.clone(), happened_at: row.happened_at, body })
}

async fn record_result(store: &Store, row: &OpenDeliveryRow, sent: &Result<(), SendError>) -> AppResult<()> {
    let now = Clock::wall_now();
    let (failure, error) = match sent {
        Ok(()) => return Ok(store.record_delivery_result(&row.key, DeliveryResult::Sent).await?),
        Err(SendError { failure, message }) => (*failure, message),
    };
    let is_old = now.elapsed_since(row.pending.created_at) > MAX_MESSAGE_AGE_MS;
    let delay = notification_retry_delay_ms(failure, row.failures + 1).filter(|_| !is_old);
    let result = match delay {
        Some(delay) => DeliveryResult::Failed { error, retry_at: now.add_millis(delay) },
        None => DeliveryResult::Lost { error },
    };
    Ok(store.record_delivery_result(&row.key, result).await?)
}

/// Gives up old messages of targets that this process does not have. Others may have them.
async fn drop_old_messages(store: &Store, rows: &[OpenDeliveryRow], now: UnixMillis) -> AppResult<()> {
    for row in rows.iter().filter(|row| now.elapsed_since(row.pending.created_at) > MAX_MESSAGE_AGE_MS) {
        let error = row.error.as_deref().unwrap_or("the target is not configured");
        store.record_delivery_result(&row.key, DeliveryResult::Lost { error }).await?;
    }
    Ok(())
}

/// A failure that is worth another attempt.
pub(super) fn temporary(message: impl Into<String>) -> SendError {
    SendError { failure: DeliveryFailure::Temporary, message: message.into() }
}
