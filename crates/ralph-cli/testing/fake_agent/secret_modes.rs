//! Modes that leak a secret, the argument or the value of CANARY_TOKEN, in every form.
use std::io;
use std::time::Duration;

use serde_json::json;

use crate::Mode;
use crate::agent_start::{AgentStart, print_error, print_output};
use crate::claude;

pub(crate) const MODES: &[(&str, Mode)] = &[("leak-secret", leak_in_text), ("claude-leak-secret", leak_in_records)];

fn secret_to_leak(start: &AgentStart) -> String {
    let argument = start.arg().map(str::to_owned);
    argument
        .or_else(|| std::env::var("CANARY_TOKEN").ok())
        .unwrap_or_else(|| "sk-ant-api03-AAAABBBBCCCCDDDD".to_owned())
}

fn leak_in_text(start: &AgentStart) -> io::Result<u8> {
    let secret = secret_to_leak(start);
    print_error(&format!("Authorization: Bearer {secret}\n"));
    print_output(format!("using key {secret} now, at https://me:{secret}@example.org/x\n"))?;
    print_output(format!("{}\n", json!({ "key": secret })))?;
    for prefix in ["", "1", "12"] {
        print_output(format!("{}\n", encode_base64(format!("{prefix}{secret}:more").as_bytes())))?;
    }
    print_in_two_halves(&secret)?;
    print_output(format!("\nI used {secret}.\n\n{}\n", start.tag))?;
    Ok(0)
}

fn leak_in_records(start: &AgentStart) -> io::Result<u8> {
    let secret = secret_to_leak(start);
    claude::print_init(&start.args)?;
    claude::print_tool_use("Bash", &format!("curl -H 'x-api-key: {secret}'"), &format!("{{\"key\":\"{secret}\"}}"))?;
    print_error(&format!("{secret}\n"));
    claude::print_message(&format!("The key is {secret}, in base64 {}.", encode_base64(secret.as_bytes())))?;
    let last = format!("I used {secret}.\n\n{}", start.tag);
    claude::print_message(&last)?;
    claude::print_result(&last, 0.01)?;
    Ok(0)
}

/// The pause lets the reader read each half separately; the agent cannot observe whether it did.
fn print_in_two_halves(secret: &str) -> io::Result<()> {
    let (first, second) = secret.split_at(secret.len() / 2);
    print_output(first)?;
    std::thread::sleep(Duration::from_millis(20));
    print_output(second)
}

fn encode_base64(bytes: &[u8]) -> String {
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
