//! Asks a judge over HTTP. The API key is sent only to the configured address and is never stored.
use std::time::Duration;

use ralph_core::judge::{JudgeApiReply, JudgeEndpoint, JudgeFailure, JudgeRetryDecision, error_message};
use reqwest::header::{LOCATION, RETRY_AFTER};
use reqwest::{Client, Response, Url};

use crate::http_client::{build_http_client, describe_http_error};
use crate::verify::judges::claim_judge::{JudgeQuestion, JudgeReply};
use crate::verify::program::PausableDeadline;
use crate::verify::verification_control::VerificationControl;
use ralph_process::{JobCommand, RawLog};

/// A longer answer is an error.
const MAX_ANSWER_BYTES: usize = 1 << 20;
/// How much of a redirect address is reported.
const MAX_LOCATION_CHARS: usize = 200;

/// Sends the question and retries transient failures until the question times out.
pub(in crate::verify) async fn ask_api(
    endpoint: &JudgeEndpoint,
    question: &JudgeQuestion<'_>,
    mut log: RawLog,
    control: &mut VerificationControl,
) -> JudgeReply {
    let request = match JudgeRequest::from_question(endpoint, question) {
        Ok(request) => request,
        Err(reason) => return JudgeReply::failed(reason),
    };
    let mut deadline = PausableDeadline::new(question.timeout);
    let answer = send_with_retries(&request, &mut deadline, control).await;
    let reply = answer.map(|body| {
        let reply = endpoint.api.parse_reply(&body);
        log.write(&mut body.clone());
        reply
    });
    if let Err(reason) = &reply {
        log.write(&mut format!("[ralph: no answer: {reason}]\n").into_bytes());
    }
    // An incomplete log does not change the answer.
    let _ = log.finish();
    match reply {
        Ok(JudgeApiReply { text, model, spend }) => {
            let text = text.map_err(|reason| JudgeFailure::UnusableAnswer { reason });
            JudgeReply { text, model, spend, leftovers: 0 }
        }
        Err(reason) => JudgeReply::failed(reason),
    }
}

struct JudgeRequest {
    client: Client,
    url: Url,
    headers: Vec<(&'static str, String)>,
    body: String,
}

impl JudgeRequest {
    fn from_question(endpoint: &JudgeEndpoint, question: &JudgeQuestion<'_>) -> Result<Self, String> {
        let model = question.model.ok_or("no model is set: set verification.judge.model")?;
        let key = endpoint.key_env.as_deref().map(read_api_key).transpose()?;
        let url = Url::parse(&endpoint.url).map_err(|error| format!("its URL is invalid: {error}"))?;
        Ok(Self {
            client: build_http_client(&url)?,
            url,
            headers: endpoint.api.request_headers(key.as_deref()),
            body: endpoint.api.request_body(model, question.text),
        })
    }
}

fn read_api_key(variable: &str) -> Result<String, String> {
    match std::env::var(variable) {
        Ok(key) if !key.trim().is_empty() => Ok(key.trim().to_owned()),
        Ok(_) | Err(_) => Err(format!("the environment variable {variable} for its API key is not set")),
    }
}

/// Sends the request and retries as the core decides. A stop ends it immediately.
async fn send_with_retries(
    request: &JudgeRequest,
    deadline: &mut PausableDeadline,
    control: &mut VerificationControl,
) -> Result<Vec<u8>, String> {
    let mut tries = 0;
    loop {
        tries += 1;
        let failure = match run_until_timeout_or_stop(send_once(request), deadline, control).await? {
            Ok(body) => return Ok(body),
            Err(failure) => failure,
        };
        match failure.decide_retry(tries, deadline.remaining_ms()) {
            JudgeRetryDecision::GiveUp { reason } => return Err(reason),
            JudgeRetryDecision::Retry { after_ms } => {
                let delay = tokio::time::sleep(Duration::from_millis(after_ms));
                run_until_timeout_or_stop(delay, deadline, control).await?;
            }
        }
    }
}

/// Waits for a future until the deadline expires or a stop is requested.
pub(in crate::verify) async fn run_until_timeout_or_stop<T>(
    work: impl Future<Output = T>,
    deadline: &mut PausableDeadline,
    control: &mut VerificationControl,
) -> Result<T, String> {
    let mut work = std::pin::pin!(work);
    loop {
        tokio::select! {
            biased;
            command = control.next_command() => {
                deadline.apply_command(&command);
                match command {
                    JobCommand::Stop { .. } | JobCommand::Kill => return Err("the run was stopped".to_owned()),
                    // No process has to be paused, so the pause is effective immediately.
                    JobCommand::Pause { delivered } => drop(delivered.send(())),
                    JobCommand::Resume => {}
                }
            }
            done = &mut work => return Ok(done),
            () = deadline.wait_until_expired() => return Err("it timed out".to_owned()),
        }
    }
}

async fn send_once(request: &JudgeRequest) -> Result<Vec<u8>, JudgeFailure> {
    let connection_failed =
        |error: reqwest::Error| JudgeFailure::ConnectionFailed { reason: describe_http_error(&error) };
    let builder = request
        .headers
        .iter()
        .fold(request.client.post(request.url.clone()), |builder, (name, value)| builder.header(*name, value));
    let http_request = builder.body(request.body.clone()).build();
    let http_request = http_request.map_err(|error| JudgeFailure::Permanent { reason: describe_http_error(&error) })?;
    let mut response = request.client.execute(http_request).await.map_err(connection_failed)?;
    let body = read_bounded_body(&mut response).await?;
    if response.status().as_u16() == 200 { Ok(body) } else { Err(status_failure(&response, &body)) }
}

async fn read_bounded_body(response: &mut Response) -> Result<Vec<u8>, JudgeFailure> {
    let mut body = Vec::new();
    loop {
        let piece = response.chunk().await;
        let piece = piece.map_err(|error| JudgeFailure::ConnectionFailed {
            reason: format!("its answer was cut off: {}", describe_http_error(&error)),
        })?;
        let Some(piece) = piece else { return Ok(body) };
        body.extend_from_slice(&piece);
        if body.len() > MAX_ANSWER_BYTES {
            return Err(JudgeFailure::Permanent { reason: "its answer is too long".to_owned() });
        }
    }
}

fn status_failure(response: &Response, body: &[u8]) -> JudgeFailure {
    let header = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
    JudgeFailure::HttpStatus {
        code: response.status().as_u16(),
        message: error_message(body),
        retry_after_ms: header(RETRY_AFTER).and_then(parse_retry_after_ms),
        location: header(LOCATION).map(|location| location.chars().take(MAX_LOCATION_CHARS).collect()),
    }
}

/// Parses a `Retry-After` header: seconds or a date.
fn parse_retry_after_ms(header: &str) -> Option<u64> {
    if let Ok(seconds) = header.trim().parse::<u64>() {
        return seconds.checked_mul(1_000);
    }
    let at = jiff::fmt::rfc2822::parse(header.trim()).ok()?.timestamp();
    let wait = at.as_millisecond().saturating_sub(jiff::Timestamp::now().as_millisecond());
    Some(u64::try_from(wait).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: V3
    #[test]
    fn retry_after_is_given_in_seconds_or_as_a_date() {
        assert_eq!(parse_retry_after_ms("7"), Some(7_000));
        assert_eq!(parse_retry_after_ms(&u64::MAX.to_string()), None);
        assert_eq!(parse_retry_after_ms("soon"), None);
        assert_eq!(parse_retry_after_ms("Wed, 21 Oct 2015 07:28:00 GMT"), Some(0), "a date in the past");
        let wait = parse_retry_after_ms("Wed, 21 Oct 2195 07:28:00 GMT").unwrap();
        assert!(wait > 1_000_000_000, "{wait}");
    }
}
