//! Asks a judge over HTTP. The key goes to the one address that was configured, and is written nowhere.
use std::time::Duration;

use ralph_core::judge::{JudgeApiReply, JudgeEndpoint, JudgeFailure, JudgeRetryDecision, error_message};
use reqwest::header::{LOCATION, RETRY_AFTER};
use reqwest::{Client, Response, Url};

use super::dns;
use super::judge::{JudgeQuestion, JudgeReply};
use super::program::PausableDeadline;
use super::verification_control::VerificationControl;
use ralph_process::{JobCommand, RawLog};

/// A longer answer is none.
const MAX_ANSWER_BYTES: usize = 1 << 20;
/// How much of where a server points to is told.
const MAX_LOCATION_CHARS: usize = 200;

/// Asks until there is an answer, trying again what may pass, for as long as the question has time.
pub(super) async fn ask_api(
    endpoint: &JudgeEndpoint,
    question: &JudgeQuestion<'_>,
    mut log: RawLog,
    control: &mut VerificationControl,
) -> JudgeReply {
    let request = match JudgeRequest::from_question(endpoint, question) {
        Ok(request) => request,
        Err(why) => return JudgeReply::failed(why),
    };
    let mut time = PausableDeadline::new(question.timeout);
    let answer = send_with_retries(&request, &mut time, control).await;
    let told = answer.map(|body| {
        let told = endpoint.api.parse_reply(&body);
        log.write(&mut body.clone());
        told
    });
    if let Err(why) = &told {
        log.write(&mut format!("[ralph: none: {why}]\n").into_bytes());
    }
    // A log that is not whole does not change what was said.
    let _ = log.finish();
    match told {
        Ok(JudgeApiReply { text, model, spend }) => JudgeReply { text, model, spend, leftovers: 0 },
        Err(why) => JudgeReply::failed(why),
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
        let model = question.model.ok_or("it needs a model: set verification.judge.model")?;
        let key = endpoint.key_env.as_deref().map(read_api_key).transpose()?;
        let url = Url::parse(&endpoint.url).map_err(|error| format!("its address is wrong: {error}"))?;
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
        Ok(_) | Err(_) => Err(format!("the variable {variable}, which holds its key, is not set")),
    }
}

/// No address is followed but the one that was configured. What is for this machine goes to no proxy.
fn build_http_client(url: &Url) -> Result<Client, String> {
    // Somebody has installed one already where this fails.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .dns_resolver(dns::ThreadedDnsResolver)
        .user_agent(concat!("ralph/", env!("CARGO_PKG_VERSION")));
    let builder = if url.scheme() == "https" { builder } else { builder.no_proxy() };
    builder.build().map_err(|error| format!("no request can be made: {}", describe_error(&error)))
}

/// Tries again for as long as the rules allow. Orders end it at once.
async fn send_with_retries(
    request: &JudgeRequest,
    time: &mut PausableDeadline,
    control: &mut VerificationControl,
) -> Result<Vec<u8>, String> {
    let mut tries = 0;
    loop {
        tries += 1;
        let trouble = match run_until_timeout_or_stop(send_once(request), time, control).await? {
            Ok(body) => return Ok(body),
            Err(trouble) => trouble,
        };
        match trouble.decide_retry(tries, time.remaining_ms()) {
            JudgeRetryDecision::GiveUp { reason: why } => return Err(why),
            JudgeRetryDecision::Retry { after_ms } => {
                let pause = tokio::time::sleep(Duration::from_millis(after_ms));
                run_until_timeout_or_stop(pause, time, control).await?;
            }
        }
    }
}

/// Waits for something, but not after the time is up or an order to stop has come.
async fn run_until_timeout_or_stop<T>(
    work: impl Future<Output = T>,
    time: &mut PausableDeadline,
    control: &mut VerificationControl,
) -> Result<T, String> {
    let mut work = std::pin::pin!(work);
    loop {
        tokio::select! {
            biased;
            order = control.next_command() => {
                time.apply_command(&order);
                match order {
                    JobCommand::Stop { .. } | JobCommand::Kill => return Err("it was not waited for".to_owned()),
                    // Nothing of ours runs elsewhere: whoever paused us has nothing to wait for.
                    JobCommand::Pause { delivered } => drop(delivered.send(())),
                    JobCommand::Resume => {}
                }
            }
            done = &mut work => return Ok(done),
            () = time.wait_until_expired() => return Err("it took too long".to_owned()),
        }
    }
}

async fn send_once(request: &JudgeRequest) -> Result<Vec<u8>, JudgeFailure> {
    let broken = |error: reqwest::Error| JudgeFailure::ConnectionFailed { reason: describe_error(&error) };
    let asked = request
        .headers
        .iter()
        .fold(request.client.post(request.url.clone()), |asked, (name, value)| asked.header(*name, value));
    let asked = asked.body(request.body.clone()).build();
    let asked = asked.map_err(|error| JudgeFailure::Permanent { reason: describe_error(&error) })?;
    let mut response = request.client.execute(asked).await.map_err(broken)?;
    let body = read_bounded_body(&mut response).await?;
    if response.status().as_u16() == 200 { Ok(body) } else { Err(status_failure(&response, &body)) }
}

async fn read_bounded_body(response: &mut Response) -> Result<Vec<u8>, JudgeFailure> {
    let mut body = Vec::new();
    loop {
        let piece = response.chunk().await;
        let piece = piece.map_err(|error| JudgeFailure::ConnectionFailed {
            reason: format!("its answer broke off: {}", describe_error(&error)),
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

/// Reads seconds or a date.
fn parse_retry_after_ms(header: &str) -> Option<u64> {
    if let Ok(seconds) = header.trim().parse::<u64>() {
        return seconds.checked_mul(1_000);
    }
    let at = jiff::fmt::rfc2822::parse(header.trim()).ok()?.timestamp();
    let wait = at.as_millisecond().saturating_sub(jiff::Timestamp::now().as_millisecond());
    Some(u64::try_from(wait).unwrap_or(0))
}

/// Says what happened and why, without the address, which the user knows.
fn describe_error(error: &reqwest::Error) -> String {
    let what = if error.is_connect() {
        "it cannot be reached"
    } else if error.is_builder() {
        "it cannot be asked"
    } else {
        "the connection broke"
    };
    let causes = std::iter::successors(std::error::Error::source(error), |cause| cause.source());
    let mut words = vec![what.to_owned()];
    for cause in causes.map(ToString::to_string) {
        // Each names the next in its own words.
        if !words.iter().any(|said| said.contains(&cause)) {
            words.push(cause);
        }
    }
    words.join(": ")
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: V3
    #[test]
    fn a_server_asks_to_wait_in_seconds_or_until_a_date() {
        assert_eq!(parse_retry_after_ms("7"), Some(7_000));
        assert_eq!(parse_retry_after_ms(&u64::MAX.to_string()), None);
        assert_eq!(parse_retry_after_ms("soon"), None);
        assert_eq!(parse_retry_after_ms("Wed, 21 Oct 2015 07:28:00 GMT"), Some(0), "that is over");
        let wait = parse_retry_after_ms("Wed, 21 Oct 2195 07:28:00 GMT").unwrap();
        assert!(wait > 1_000_000_000, "{wait}");
    }
}
