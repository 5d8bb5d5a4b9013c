//! `acp FILE`: an agent that speaks the Agent Client Protocol. The file has one step per start, as for `script`. Every line
//! that it reads is appended to the file `heard` next to FA_COUNT; sessions are files in the folder `talks` there.
//!
//! Before the prompt:
//!   version N           answers `initialize` with that version    offers ABILITY…  default: load resume
//!   garbage TEXT        answers `initialize` with that line       mute             never answers anything
//!   lose                has lost all sessions                     late             replays a session after the answer
//!   named NAME          the agent's name
//! After it:
//!   say TEXT            a message, word by word                   tell TEXT        a message in one chunk
//!   permit KIND TITLE   asks, and prints the answer               edit PATH TEXT   asks, and writes if permitted
//!   ask METHOD          any request; prints the answer            write PATH TEXT  writes without asking
//!   error CODE TEXT     answers the prompt with an error          stop REASON      stop reason (default: end_turn)
//!   hang                waits for a cancel                        deaf             runs on and ignores all input
//!   exit CODE           exits without an answer                   stay             runs on after its answer, and prints
//!   cost USD            the cost of the session
use std::fs::{self, OpenOptions};
use std::io::{self, BufRead, Write};
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use crate::Mode;
use crate::agent_start::{AgentStart, print_output, report_ready, starts_so_far, usage_error};
use crate::script::select_step;

pub(crate) const MODES: &[(&str, Mode)] = &[("acp", acp)];

/// One start: its orders and its state.
struct AcpAgent<'a> {
    orders: Vec<(&'a str, String)>,
    session: String,
    prompt: Value,
    sent_text: String,
}

/// The effect of a command on the script.
enum NextAction {
    Continue,
    Answer(Value),
    Exit(u8),
}

fn acp(start: &AgentStart) -> io::Result<u8> {
    let file = fs::read_to_string(start.arg_or(""))?;
    let number = starts_so_far();
    let orders = select_step(&file, number).into_iter().map(|line| {
        let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
        let rest = rest.replace("\\n", "\n").replace("{promise}", &start.tag);
        (name, rest.replace("{n}", &number.to_string()))
    });
    let session = format!("talk-{number}");
    let mut agent = AcpAgent { orders: orders.collect(), session, prompt: Value::Null, sent_text: String::new() };
    while let Some(message) = read_message()? {
        if let NextAction::Exit(code) = agent.handle_message(&message)? {
            return Ok(code);
        }
    }
    if agent.order_text("stay").is_some() {
        print_forever()?;
    }
    Ok(0)
}

impl AcpAgent<'_> {
    fn order_text(&self, name: &str) -> Option<&str> {
        self.orders.iter().find(|(order, _)| *order == name).map(|(_, rest)| rest.as_str())
    }

    fn handle_message(&mut self, message: &Value) -> io::Result<NextAction> {
        if self.order_text("mute").is_some() {
            report_ready()?;
            return Ok(NextAction::Continue);
        }
        let result = match message["method"].as_str().unwrap_or_default() {
            "initialize" => return self.answer_initialize(message),
            "session/new" => json!({"sessionId": self.session}),
            "session/resume" | "session/load" => return self.resume_session(message),
            "session/prompt" => {
                self.prompt = message["id"].clone();
                self.record_turn("user", message["params"]["prompt"][0]["text"].as_str().unwrap_or_default())?;
                return self.run_turn();
            }
            _ => return Ok(NextAction::Continue),
        };
        send_response(&message["id"], &json!({"result": result}))?;
        Ok(NextAction::Continue)
    }

    fn answer_initialize(&self, message: &Value) -> io::Result<NextAction> {
        if let Some(garbage) = self.order_text("garbage") {
            print_output(format!("{garbage}\n"))?;
            return Ok(NextAction::Exit(0));
        }
        let version: u64 = self.order_text("version").map_or(Ok(1), parse_number)?;
        let offers = self.order_text("offers").unwrap_or("load resume");
        let sessions = if offers.contains("resume") { json!({"resume": {}}) } else { json!({}) };
        let abilities = json!({"loadSession": offers.contains("load"), "sessionCapabilities": sessions});
        let name = self.order_text("named").unwrap_or("fake");
        let result = json!({"protocolVersion": version, "agentCapabilities": abilities, "agentInfo": {"name": name}});
        send_response(&message["id"], &json!({"result": result}))?;
        Ok(NextAction::Continue)
    }

    /// Resumes or loads a session. A loaded session is replayed, by the protocol before the answer.
    fn resume_session(&mut self, message: &Value) -> io::Result<NextAction> {
        let session = message["params"]["sessionId"].as_str().unwrap_or_default().to_owned();
        let old = fs::read_to_string(sessions_folder()?.join(&session)).unwrap_or_default();
        if old.is_empty() || self.order_text("lose").is_some() {
            let error = json!({"code": -32602, "message": format!("Session not found: {session}")});
            send_response(&message["id"], &json!({"error": error}))?;
            return Ok(NextAction::Continue);
        }
        self.session = session;
        let (is_loaded, is_late) = (message["method"] == "session/load", self.order_text("late").is_some());
        if is_loaded && !is_late {
            self.replay_session(&old)?;
        }
        send_response(&message["id"], &json!({"result": {}}))?;
        if is_loaded && is_late {
            self.replay_session(&old)?;
        }
        Ok(NextAction::Continue)
    }

    fn replay_session(&self, old: &str) -> io::Result<()> {
        old.lines().try_for_each(|line| {
            let turn: Value = serde_json::from_str(line)?;
            let kind = if turn[0] == "user" { "user_message_chunk" } else { "agent_message_chunk" };
            self.send_chunk(kind, turn[1].as_str().unwrap_or_default())
        })
    }

    fn run_turn(&mut self) -> io::Result<NextAction> {
        for at in 0..self.orders.len() {
            let (name, rest) = self.orders[at].clone();
            match self.perform(name, &rest)? {
                NextAction::Continue => {}
                NextAction::Answer(value) => return self.end_turn(&value),
                NextAction::Exit(code) => return Ok(NextAction::Exit(code)),
            }
        }
        self.end_turn(&json!({"result": {"stopReason": "end_turn"}}))
    }

    fn end_turn(&self, value: &Value) -> io::Result<NextAction> {
        self.record_turn("agent", &self.sent_text)?;
        send_response(&self.prompt, value)?;
        Ok(NextAction::Continue)
    }

    fn perform(&mut self, name: &str, rest: &str) -> io::Result<NextAction> {
        let (first, second) = rest.split_once(' ').unwrap_or((rest, ""));
        match name {
            "say" => self.send_message(rest.split_inclusive(' '))?,
            "tell" => self.send_message(std::iter::once(rest))?,
            "permit" => {
                let answered = self.request_permission(first, second, None)?;
                self.send_message(std::iter::once(format!("{title}: {answered}. ", title = second).as_str()))?;
            }
            "edit" => self.edit_if_permitted(first, second)?,
            "ask" => {
                let answered = send_request(first, &json!({"sessionId": self.session}))?;
                self.send_message(std::iter::once(format!("{}. ", answered["error"]["code"]).as_str()))?;
            }
            "write" => fs::write(first, format!("{second}\n"))?,
            "cost" => {
                let amount: f64 = parse_number(rest)?;
                let cost = json!({"amount": amount, "currency": "USD"});
                self.send_update(&json!({"sessionUpdate": "usage_update", "used": 1, "size": 2, "cost": cost}))?;
            }
            "error" => {
                let code: i64 = parse_number(first)?;
                return Ok(NextAction::Answer(json!({"error": {"code": code, "message": second}})));
            }
            "stop" => return Ok(NextAction::Answer(json!({"result": {"stopReason": rest}}))),
            "hang" => return wait_for_cancel(),
            "deaf" => {
                report_ready()?;
                print_forever()?;
            }
            "exit" => return Ok(NextAction::Exit(parse_number(rest)?)),
            _ => {}
        }
        Ok(NextAction::Continue)
    }

    fn edit_if_permitted(&self, path: &str, text: &str) -> io::Result<()> {
        let answered = self.request_permission("edit", "Edit a file", Some(path))?;
        if answered == "yes" { fs::write(path, format!("{text}\n")) } else { Ok(()) }
    }

    fn send_message<'b>(&mut self, pieces: impl Iterator<Item = &'b str>) -> io::Result<()> {
        for piece in pieces {
            self.sent_text.push_str(piece);
            self.send_chunk("agent_message_chunk", piece)?;
        }
        Ok(())
    }

    /// Asks for a permission and returns the chosen option.
    fn request_permission(&self, kind: &str, title: &str, path: Option<&str>) -> io::Result<String> {
        let places: Vec<Value> = path.into_iter().map(|path| json!({"path": path})).collect();
        let tool = json!({"toolCallId": "t", "title": title, "kind": kind, "locations": places});
        let options = json!([{"optionId": "ever", "kind": "allow_always"}, {"optionId": "yes", "kind": "allow_once"},
            {"optionId": "no", "kind": "reject_once"}]);
        let params = json!({"sessionId": self.session, "toolCall": tool, "options": options});
        let answered = send_request("session/request_permission", &params)?;
        let outcome = &answered["result"]["outcome"];
        Ok(outcome["optionId"].as_str().or(outcome["outcome"].as_str()).unwrap_or("nothing").to_owned())
    }

    fn send_chunk(&self, kind: &str, text: &str) -> io::Result<()> {
        self.send_update(&json!({"sessionUpdate": kind, "content": {"type": "text", "text": text}}))
    }

    fn send_update(&self, update: &Value) -> io::Result<()> {
        let params = json!({"sessionId": self.session, "update": update});
        send_line(&json!({"jsonrpc": "2.0", "method": "session/update", "params": params}))
    }

    fn record_turn(&self, speaker: &str, text: &str) -> io::Result<()> {
        fs::create_dir_all(sessions_folder()?)?;
        append_line(&sessions_folder()?.join(&self.session), &json!([speaker, text]).to_string())
    }
}

/// Sends a request and waits for the answer. The first id is 0, as with real agents.
fn send_request(method: &str, params: &Value) -> io::Result<Value> {
    send_line(&json!({"jsonrpc": "2.0", "id": 0, "method": method, "params": params}))?;
    while let Some(message) = read_message()? {
        if message["id"] == 0 && message["method"].is_null() {
            return Ok(message);
        }
    }
    Ok(Value::Null)
}

fn wait_for_cancel() -> io::Result<NextAction> {
    report_ready()?;
    while let Some(message) = read_message()? {
        if message["method"] == "session/cancel" {
            return Ok(NextAction::Answer(json!({"result": {"stopReason": "cancelled"}})));
        }
    }
    Ok(NextAction::Exit(0))
}

/// Prints irrelevant notifications forever.
fn print_forever() -> io::Result<()> {
    loop {
        send_line(&json!({"jsonrpc": "2.0", "method": "_fake/still_here", "params": {}}))?;
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn read_message() -> io::Result<Option<Value>> {
    let mut text = String::new();
    if io::stdin().lock().read_line(&mut text)? == 0 {
        return Ok(None);
    }
    append_line(&path_next_to_count("heard")?, text.trim_end())?;
    serde_json::from_str(&text).map(Some).map_err(io::Error::from)
}

fn send_response(id: &Value, value: &Value) -> io::Result<()> {
    let mut message = json!({"jsonrpc": "2.0", "id": id});
    for (name, value) in value.as_object().into_iter().flatten() {
        message[name] = value.clone();
    }
    send_line(&message)
}

fn send_line(message: &Value) -> io::Result<()> {
    print_output(format!("{message}\n"))
}

fn append_line(path: &PathBuf, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().append(true).create(true).open(path)?;
    file.write_all(format!("{text}\n").as_bytes())
}

fn sessions_folder() -> io::Result<PathBuf> {
    path_next_to_count("talks")
}

fn path_next_to_count(name: &str) -> io::Result<PathBuf> {
    let count_file = std::env::var_os("FA_COUNT").ok_or_else(|| usage_error("this mode needs FA_COUNT"))?;
    Ok(PathBuf::from(count_file).with_file_name(name))
}

fn parse_number<T: std::str::FromStr>(text: &str) -> io::Result<T> {
    text.trim().parse().map_err(|_| usage_error(&format!("{text:?} is not a number")))
}
