//! A judge over https, with a certificate that is used only in this test.
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};

use crate::harness::{CallOutput, Project};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/data/tls").join(name)
}

/// Writes the certificate of the server to the trusted ones.
fn trusted_certificate() -> String {
    data("ca.pem").display().to_string()
}

/// Starts a judge that accepts all work, until the test ends. Returns the port.
fn serve() -> u16 {
    let chain: Vec<_> = CertificateDer::pem_file_iter(data("server.pem")).unwrap().map(Result::unwrap).collect();
    let key = PrivateKeyDer::from_pem_file(data("server.key")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let versions = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = Arc::new(versions.with_no_client_auth().with_single_cert(chain, key).unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let tls = StreamOwned::new(ServerConnection::new(Arc::clone(&config)).unwrap(), stream);
            // A client that does not trust the certificate disconnects.
            drop(answer(tls));
        }
    });
    port
}

fn answer(stream: impl Read + Write) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        stream.read_line(&mut line)?;
        match line.trim().to_ascii_lowercase().split_once(": ") {
            Some(("content-length", value)) => length = value.parse().map_err(io::Error::other)?,
            Some(_) => {}
            None if line.trim().is_empty() => break,
            None => {}
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    let question = String::from_utf8_lossy(&body);
    let id = question.split_once("-----BEGIN CRITERIA ").and_then(|(_, after)| after.get(..32)).unwrap_or_default();
    let finding = json!({"criterion": 1, "met": true, "quotation": "hello", "reason": ""});
    let content = json!({"id": id, "findings": [finding]}).to_string();
    let body =
        json!({"model": "m", "choices": [{"finish_reason": "stop", "message": {"content": content}}]}).to_string();
    let head = format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len());
    let stream = stream.get_mut();
    stream.write_all((head + &body).as_bytes())?;
    stream.flush()
}

fn run(project: &Project, variables: &[(&str, &str)]) -> CallOutput {
    let url = format!("https://localhost:{}/v1/chat/completions", serve());
    let judge = format!("{{api: openai, url: '{url}', key_env: JUDGE_API_KEY, model: small, timeout: 30s}}");
    let config = project.outside("judging.yaml");
    fs::write(&config, format!("verification: {{judge: {judge}}}\nchecks: [{{check_for: [there is a greeting]}}]\n"))
        .unwrap();
    let agent = "cat > /dev/null; echo hello > greeting.txt; echo '<promise>COMPLETE</promise>'";
    let call = project.run_shell(agent).args(["--max-iterations", "1", "--config", config.to_str().unwrap()]);
    let call = call.env("JUDGE_API_KEY", "correct-horse-battery-staple");
    variables.iter().fold(call, |call, (name, value)| call.env(name, value)).output()
}

fn check(answer: &CallOutput) -> Value {
    answer.events_named("verdict").pop().unwrap()["checks"][0].clone()
}

// spec: V3
#[test]
fn a_judge_over_https_is_asked_if_its_certificate_is_known() {
    let project = Project::new();
    let answer = run(&project, &[("SSL_CERT_FILE", trusted_certificate().as_str())]).expect(0);
    assert_eq!(check(&answer)["verdict"], "accepted", "{}", answer.stdout);
}

// spec: V3, X3
#[test]
fn a_server_with_an_unknown_certificate_gets_neither_work_nor_key() {
    let project = Project::new();
    let answer = run(&project, &[]).expect(6);
    let check = check(&answer);
    assert_eq!(check["verdict"], "could_not_evaluate");
    let reason = check["reason"].as_str().unwrap();
    assert!(reason.contains("certificate") && reason.contains("it cannot be reached"), "{reason}");
}

/// A proxy that opens one tunnel after the other and records its input.
fn proxy() -> (u16, Arc<Mutex<Vec<u8>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let ear = Arc::clone(&heard);
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            // The client may disconnect at any time.
            drop(tunnel(&client, &ear));
        }
    });
    (port, heard)
}

fn tunnel(mut client: &TcpStream, heard: &Arc<Mutex<Vec<u8>>>) -> io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        client.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    heard.lock().unwrap().extend_from_slice(&head);
    let head = String::from_utf8_lossy(&head).into_owned();
    let server = TcpStream::connect(head.split_whitespace().nth(1).unwrap_or_default())?;
    client.write_all(b"HTTP/1.1 200 OK\r\n\r\n")?;
    let (mut back, mut to) = (server.try_clone()?, client.try_clone()?);
    let answering = std::thread::spawn(move || io::copy(&mut back, &mut to));
    let mut piece = [0; 4096];
    loop {
        match client.read(&mut piece)? {
            0 => break,
            count => {
                heard.lock().unwrap().extend_from_slice(&piece[..count]);
                (&server).write_all(&piece[..count])?;
            }
        }
    }
    drop(answering.join());
    Ok(())
}

// spec: V3, X3
#[test]
fn a_proxy_carries_the_question_and_sees_neither_work_nor_key() {
    let project = Project::new();
    let (port, heard) = proxy();
    let proxy = format!("http://127.0.0.1:{port}");
    let answer = run(&project, &[("SSL_CERT_FILE", &trusted_certificate()), ("HTTPS_PROXY", &proxy)]).expect(0);
    assert_eq!(check(&answer)["verdict"], "accepted", "{}", answer.stdout);
    let heard = String::from_utf8_lossy(&heard.lock().unwrap()).into_owned();
    assert!(heard.starts_with("CONNECT localhost:"), "{heard}");
    assert!(!heard.contains("correct-horse") && !heard.contains("greeting"), "{heard}");
}
