//! Modes that leak a secret, the argument or the value of CANARY_TOKEN, in every form.
use std::io;
use std::time::Duration;

use serde_json::json;

use crate::Mode;
use crate::claude;
use crate::start::{Start, complain, say};

pub(crate) const MODES: &[(&str, Mode)] = &[("leak-secret", in_text), ("claude-leak-secret", in_records)];

fn secret(start: &Start) -> String {
    let argument = start.arg().map(str::to_owned);
    argument
        .or_else(|| std::env::var("CANARY_TOKEN").ok())
        .unwrap_or_else(|| "sk-ant-api03-AAAABBBBCCCCDDDD".to_owned())
}

fn in_text(start: &Start) -> io::Result<u8> {
    let secret = secret(start);
    complain(&format!("Authorization: Bearer {secret}\n"));
    say(format!("using key {secret} now, at https://me:{secret}@example.org/x\n"))?;
    say(format!("{}\n", json!({ "key": secret })))?;
    for prefix in ["", "1", "12"] {
        say(format!("{}\n", base64(format!("{prefix}{secret}:more").as_bytes())))?;
    }
    in_two_halves(&secret)?;
    say(format!("\nI used {secret}.\n\n{}\n", start.tag))?;
    Ok(0)
}

fn in_records(start: &Start) -> io::Result<u8> {
    let secret = secret(start);
    claude::init(&start.args)?;
    claude::use_tool("Bash", &format!("curl -H 'x-api-key: {secret}'"), &format!("{{\"key\":\"{secret}\"}}"))?;
    complain(&format!("{secret}\n"));
    claude::speak(&format!("The key is {secret}, in base64 {}.", base64(secret.as_bytes())))?;
    let last = format!("I used {secret}.\n\n{}", start.tag);
    claude::speak(&last)?;
    claude::result(&last, 0.01)?;
    Ok(0)
}

/// The pause lets the reader read each half separately; the agent cannot observe whether it did.
fn in_two_halves(secret: &str) -> io::Result<()> {
    let (first, second) = secret.split_at(secret.len() / 2);
    say(first)?;
    std::thread::sleep(Duration::from_millis(20));
    say(second)
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let byte = |index: usize| u32::from(group.get(index).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4_usize {
            let letter = LETTERS[(bits >> (18 - 6 * place)) as usize & 63];
            text.push(if place <= group.len() { char::from(letter) } else { '=' });
        }
    }
    text
}
