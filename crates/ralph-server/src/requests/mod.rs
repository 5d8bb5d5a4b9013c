//! Limits of a request: the size and time of its body, and the time of its answer. Orders are carried out to their end, also if
//! the client does not wait for it, and only once if they are repeated with the same key.
mod body_limit;
mod idempotency;
mod run_order;

pub(crate) use body_limit::{answer_in_time, read_limited_body};
pub(crate) use idempotency::IdempotentAnswers;
pub(crate) use run_order::run_order_to_end;
