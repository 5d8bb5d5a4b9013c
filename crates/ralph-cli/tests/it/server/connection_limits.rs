//! Clients that send too much, too slowly, or do not read.
use std::io::{Read, Write};
use std::time::Duration;

use serde_json::json;

use super::client::{HttpRequest, connect, exchange};
use super::served_project::ServedProject;
use crate::harness::{Project, WAIT_TIMEOUT};
use crate::process_table;

/// More connections than the server keeps open.
const SLOW_CONNECTIONS: usize = 450;
/// The server must not keep what it refuses.
const MAX_MEMORY_KB: u64 = 200 * 1024;

fn head(path: &str, headers: &str) -> String {
    format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{headers}\r\n")
}

// fault: 101
#[test]
fn requests_that_are_too_large_are_refused_and_their_connection_is_closed() {
    let project = Project::new();
    project.commit();
    let served = ServedProject::start(&project);
    let token = format!("Authorization: Bearer {}\r\n", served.token);
    let answer = |request: String| exchange(served.port, request.as_bytes(), WAIT_TIMEOUT);
    let huge = answer(head("/api/runs", &format!("{token}Content-Length: 10000000000\r\n")));
    assert!(huge.starts_with("HTTP/1.1 413 "), "{huge}");
    assert!(huge.to_ascii_lowercase().contains("connection: close"), "{huge}");
    let endless = "10000\r\n".to_owned() + &"x".repeat(0x10000) + "\r\n";
    let chunked = head("/api/runs", &format!("{token}Transfer-Encoding: chunked\r\n")) + &endless.repeat(40);
    assert!(answer(chunked).starts_with("HTTP/1.1 413 "));
    let zipped = answer(head("/api/runs", &format!("{token}Content-Encoding: gzip\r\nContent-Length: 4\r\n")) + "xxxx");
    assert!(zipped.starts_with("HTTP/1.1 415 "), "{zipped}");
    let headers: String = (0..100_000).map(|number| format!("x-{number}: y\r\n")).collect();
    assert!(answer(head("/api/runs", &headers)).starts_with("HTTP/1.1 431 "));
    let long_header = format!("x: {}\r\n", "y".repeat(1024 * 1024));
    assert!(answer(head("/api/runs", &long_header)).starts_with("HTTP/1.1 431 "));
    let long_path = format!("/{}", "a".repeat(1024 * 1024));
    let refused = answer(head(&long_path, ""));
    assert!(refused.starts_with("HTTP/1.1 4"), "{refused:.80}");
    assert!(answer("this is not HTTP\r\n\r\n".to_owned()).starts_with("HTTP/1.1 400 "));
    served.get("/healthz").expect(200);
    let memory = process_table::peak_memory_kb(served.server.pid()).unwrap();
    assert!(memory < MAX_MEMORY_KB, "{memory}");
    served.stop();
}

// fault: 102
#[test]
fn many_slow_clients_do_not_keep_others_out_and_are_closed() {
    let project = Project::new();
    project.commit();
    let served = ServedProject::start(&project);
    let mut slow: Vec<_> = (0..SLOW_CONNECTIONS)
        .map(|_| {
            let mut stream = connect(served.port);
            stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: loc").unwrap();
            stream
        })
        .collect();
    for _ in 0..20 {
        served.get("/healthz").expect(200);
    }
    // One byte at a time does not extend the deadline.
    let newest = slow.last_mut().unwrap();
    newest.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    let mut closed = false;
    for _ in 0..120 {
        drop(newest.write_all(b"a"));
        match newest.read(&mut [0; 512]) {
            Err(error) if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut) => {}
            Ok(0) | Err(_) => {
                closed = true;
                break;
            }
            Ok(_) => {}
        }
    }
    assert!(closed);
    // The connections of the oldest clients made room.
    let first = &mut slow[0];
    let mut rest = Vec::new();
    drop(first.read_to_end(&mut rest));
    served.get("/healthz").expect(200);
    served.stop();
}

// fault: 102
#[test]
fn a_body_that_does_not_arrive_is_not_waited_for() {
    let project = Project::new();
    project.commit();
    let served = ServedProject::start(&project);
    let request =
        head("/api/runs", &format!("Authorization: Bearer {}\r\nContent-Length: 100\r\n", served.token)) + "{";
    let answer = exchange(served.port, request.as_bytes(), WAIT_TIMEOUT);
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    served.stop();
}

// fault: 104
#[test]
fn a_client_that_never_reads_a_stream_does_not_slow_the_run() {
    let project = super::served_project::project_with_script("text More.\n---\ntext Done.\\n\\n{promise}\n");
    let served = ServedProject::start(&project);
    let stalled: Vec<_> = (0..50).map(|_| HttpRequest::get("/api/changes/stream").open(served.port)).collect();
    let run = served.start_run(&json!({ "prompt": "x" }));
    let journals: Vec<_> =
        (0..50).map(|_| HttpRequest::get(format!("/api/runs/{run}/events/stream")).open(served.port)).collect();
    served.wait_for_status(&run, "completed");
    let memory = process_table::peak_memory_kb(served.server.pid()).unwrap();
    assert!(memory < MAX_MEMORY_KB, "{memory}");
    drop((stalled, journals));
    served.get("/healthz").expect(200);
    served.stop();
}
