//! Asks a judge over HTTP. The key goes to the one address that was configured, and is written nowhere.
use std::time::Duration;

use ralph_core::judge::{Endpoint, Next, Told, Trouble, complaint};
use reqwest::header::{LOCATION, RETRY_AFTER};
use reqwest::{Client, Response, Url};

use super::judge::{Question, Said};
use super::names;
use super::orders::Orders;
use super::program::TimeLeft;
use ralph_process::{Order, RawLog};

/// A longer answer is none.
const MOST: usize = 1 << 20;
/// How much of where a server points to is told.
const LOCATION_BYTES: usize = 200;

/// Asks until there is an answer, trying again what may pass, for as long as the question has time.
pub(super) async fn ask(
    endpoint: &Endpoint,
    question: &Question<'_>,
    mut log: RawLog,
    orders: &mut Orders,
) -> Said {
    let request = match Request::of(endpoint, question) {
        Ok(request) => request,
        Err(why) => return Said::nothing(why),
    };
    let mut time = TimeLeft::new(question.time);
    let answer = persist(&request, &mut time, orders).await;
    let told = answer.map(|body| {
        let told = endpoint.api.read(&body);
        log.write(&mut body.clone());
        told
    });
    if let Err(why) = &told {
        log.write(&mut format!("[ralph: none: {why}]\n").into_bytes());
    }
    // A log that is not whole does not change what was said.
    let _ = log.finish();
    match told {
        Ok(Told { text, model, spend }) => Said { text, model, spend, leftovers: 0 },
        Err(why) => Said::nothing(why),
    }
}

struct Request {
    client: Client,
    url: Url,
    headers: Vec<(&'static str, String)>,
    body: String,
}

impl Request {
    fn of(endpoint: &Endpoint, question: &Question<'_>) -> Result<Self, String> {
        let model = question.model.ok_or("it needs a model: set verification.judge.model")?;
        let key = endpoint.key_env.as_deref().map(key).transpose()?;
        let url = Url::parse(&endpoint.url).map_err(|error| format!("its address is wrong: {error}"))?;
        Ok(Self {
            client: client(&url)?,
            url,
            headers: endpoint.api.headers(key.as_deref()),
            body: endpoint.api.body(model, question.text),
        })
    }
}

fn key(variable: &str) -> Result<String, String> {
    match std::env::var(variable) {
        Ok(key) if !key.trim().is_empty() => Ok(key.trim().to_owned()),
        Ok(_) | Err(_) => Err(format!("the variable {variable}, which holds its key, is not set")),
    }
}

/// No address is followed but the one that was configured. What is for this machine goes to no proxy.
fn client(url: &Url) -> Result<Client, String> {
    // Somebody has installed one already where this fails.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .dns_resolver(names::Resolver)
        .user_agent(concat!("ralph/", env!("CARGO_PKG_VERSION")));
    let builder = if url.scheme() == "https" { builder } else { builder.no_proxy() };
    builder.build().map_err(|error| format!("no request can be made: {}", chain(&error)))
}

/// Tries again for as long as the rules allow. Orders end it at once.
async fn persist(request: &Request, time: &mut TimeLeft, orders: &mut Orders) -> Result<Vec<u8>, String> {
    let mut tries = 0;
    loop {
        tries += 1;
        let trouble = match heeding(once(request), time, orders).await? {
            Ok(body) => return Ok(body),
            Err(trouble) => trouble,
        };
        match trouble.next(tries, time.left_ms()) {
            Next::GiveUp { why } => return Err(why),
            Next::AskAgain { after_ms } => {
                let pause = tokio::time::sleep(Duration::from_millis(after_ms));
                heeding(pause, time, orders).await?;
            }
        }
    }
}

/// Waits for something, but not after the time is up or an order to stop has come.
async fn heeding<T>(
    work: impl Future<Output = T>,
    time: &mut TimeLeft,
    orders: &mut Orders,
) -> Result<T, String> {
    let mut work = std::pin::pin!(work);
    loop {
        tokio::select! {
            biased;
            order = orders.next() => {
                time.heed(&order);
                match order {
                    Order::Stop { .. } | Order::Kill => return Err("it was not waited for".to_owned()),
                    // Nothing of ours runs elsewhere: whoever paused us has nothing to wait for.
                    Order::Pause { passed_on } => drop(passed_on.send(())),
                    Order::Resume => {}
                }
            }
            done = &mut work => return Ok(done),
            () = time.is_up() => return Err("it took too long".to_owned()),
        }
    }
}

async fn once(request: &Request) -> Result<Vec<u8>, Trouble> {
    let broken = |error: reqwest::Error| Trouble::Broken { why: chain(&error) };
    let asked = request
        .headers
        .iter()
        .fold(request.client.post(request.url.clone()), |asked, (name, value)| asked.header(*name, value));
    let asked = asked.body(request.body.clone()).build();
    let asked = asked.map_err(|error| Trouble::Hopeless { why: chain(&error) })?;
    let mut response = request.client.execute(asked).await.map_err(broken)?;
    let body = bounded(&mut response).await?;
    if response.status().as_u16() == 200 { Ok(body) } else { Err(status(&response, &body)) }
}

async fn bounded(response: &mut Response) -> Result<Vec<u8>, Trouble> {
    let mut body = Vec::new();
    loop {
        let piece = response.chunk().await;
        let piece = piece
            .map_err(|error| Trouble::Broken { why: format!("its answer broke off: {}", chain(&error)) })?;
        let Some(piece) = piece else { return Ok(body) };
        body.extend_from_slice(&piece);
        if body.len() > MOST {
            return Err(Trouble::Hopeless { why: "its answer is too long".to_owned() });
        }
    }
}

fn status(response: &Response, body: &[u8]) -> Trouble {
    let header = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
    Trouble::Status {
        code: response.status().as_u16(),
        words: complaint(body),
        retry_after_ms: header(RETRY_AFTER).and_then(retry_after),
        location: header(LOCATION).map(|location| location.chars().take(LOCATION_BYTES).collect()),
    }
}

/// Reads seconds or a date.
fn retry_after(written: &str) -> Option<u64> {
    if let Ok(seconds) = written.trim().parse::<u64>() {
        return seconds.checked_mul(1_000);
    }
    let at = jiff::fmt::rfc2822::parse(written.trim()).ok()?.timestamp();
    let wait = at.as_millisecond().saturating_sub(jiff::Timestamp::now().as_millisecond());
    Some(u64::try_from(wait).unwrap_or(0))
}

/// Says what happened and why, without the address, which the user knows.
fn chain(error: &reqwest::Error) -> String {
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
        assert_eq!(retry_after("7"), Some(7_000));
        assert_eq!(retry_after(&u64::MAX.to_string()), None);
        assert_eq!(retry_after("soon"), None);
        assert_eq!(retry_after("Wed, 21 Oct 2015 07:28:00 GMT"), Some(0), "that is over");
        let wait = retry_after("Wed, 21 Oct 2195 07:28:00 GMT").unwrap();
        assert!(wait > 1_000_000_000, "{wait}");
    }
}
