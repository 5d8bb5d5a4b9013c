//! The answers of orders with an `Idempotency-Key`: a repeated order gets the same answer, and is not carried out again.
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Bytes;
use axum::http::response::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use ralph_util::digest::sha256_hex;

/// Answers that are kept; the oldest are forgotten.
const MAX_STORED_ANSWERS: usize = 1_000;

/// The order that a key belongs to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct OrderKey {
    pub key: String,
    pub method: String,
    pub path: String,
}

#[derive(Debug, Clone)]
pub(super) struct StoredAnswer {
    status: StatusCode,
    content_type: Option<HeaderValue>,
    body: Bytes,
}

/// The answers of orders, by their keys.
#[derive(Default)]
pub(crate) struct IdempotentAnswers {
    entries: Mutex<StoredAnswers>,
}

#[derive(Default)]
struct StoredAnswers {
    by_key: BTreeMap<OrderKey, AnswerEntry>,
    oldest_first: VecDeque<OrderKey>,
}

struct AnswerEntry {
    body_hash: String,
    answer: Option<StoredAnswer>,
}

/// The state of an order with a key.
pub(super) enum AnswerSlot {
    Stored(StoredAnswer),
    InProgress,
    /// Its body differs from that of the first order with this key.
    OtherOrder,
    /// It is new.
    Reserved(ReservedAnswer),
}

/// The place of an answer. Dropped without an answer, it is free again.
pub(super) struct ReservedAnswer {
    answers: Arc<IdempotentAnswers>,
    key: Option<OrderKey>,
}

impl IdempotentAnswers {
    pub(super) fn reserve(self: &Arc<Self>, key: &OrderKey, body: &[u8]) -> AnswerSlot {
        let body_hash = sha256_hex(body);
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        match entries.by_key.get(key) {
            Some(entry) if entry.body_hash != body_hash => return AnswerSlot::OtherOrder,
            Some(AnswerEntry { answer: Some(answer), .. }) => return AnswerSlot::Stored(answer.clone()),
            Some(AnswerEntry { answer: None, .. }) => return AnswerSlot::InProgress,
            None => {}
        }
        entries.by_key.insert(key.clone(), AnswerEntry { body_hash, answer: None });
        AnswerSlot::Reserved(ReservedAnswer { answers: Arc::clone(self), key: Some(key.clone()) })
    }
}

impl ReservedAnswer {
    /// Keeps the answer. One about a fault of the server, or about another order, is not kept, so that the order can be repeated.
    pub(super) fn store(mut self, answer: StoredAnswer) {
        if answer.status.is_server_error() || answer.status == StatusCode::CONFLICT {
            return;
        }
        let Some(key) = self.key.take() else { return };
        let mut entries = self.answers.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = entries.by_key.get_mut(&key) {
            entry.answer = Some(answer);
        }
        entries.oldest_first.push_back(key);
        if entries.oldest_first.len() > MAX_STORED_ANSWERS
            && let Some(oldest) = entries.oldest_first.pop_front()
        {
            entries.by_key.remove(&oldest);
        }
    }
}

impl Drop for ReservedAnswer {
    fn drop(&mut self) {
        if let Some(key) = &self.key {
            self.answers.entries.lock().unwrap_or_else(PoisonError::into_inner).by_key.remove(key);
        }
    }
}

impl StoredAnswer {
    pub(super) fn new(head: &Parts, body: Bytes) -> Self {
        Self { status: head.status, content_type: head.headers.get(header::CONTENT_TYPE).cloned(), body }
    }
}

impl IntoResponse for StoredAnswer {
    fn into_response(self) -> Response {
        let mut response = (self.status, self.body).into_response();
        if let Some(content_type) = self.content_type {
            response.headers_mut().insert(header::CONTENT_TYPE, content_type);
        }
        response
    }
}
