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
use crate::script::step;
use crate::start::{Start, ready, say, starts_so_far, usage};

pub(crate) const MODES: &[(&str, Mode)] = &[("acp", acp)];

/// One start: its orders and its state.
struct Agent<'a> {
    orders: Vec<(&'a str, String)>,
    session: String,
    prompt: Value,
    said: String,
}

/// What follows an order.
enum Next {
    Continue,
    Answer(Value),
    Exit(u8),
}

fn acp(start: &Start) -> io::Result<u8> {
    let file = fs::read_to_string(start.arg_or(""))?;
    let number = starts_so_far();
    let orders = step(&file, number).into_iter().map(|line| {
        let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
        let rest = rest.replace("\\n", "\n").replace("{promise}", &start.tag);
        (name, rest.replace("{n}", &number.to_string()))
    });
    let session = format!("talk-{number}");
    let mut agent = Agent { orders: orders.collect(), session, prompt: Value::Null, said: String::new() };
    while let Some(message) = read_message()? {
        if let Next::Exit(code) = agent.reply(&message)? {
            return Ok(code);
        }
    }
    if agent.order("stay").is_some() {
        print_forever()?;
    }
    Ok(0)
}

impl Agent<'_> {
    fn order(&self, name: &str) -> Option<&str> {
        self.orders.iter().find(|(order, _)| *order == name).map(|(_, rest)| rest.as_str())
    }

    fn reply(&mut self, message: &Value) -> io::Result<Next> {
        if self.order("mute").is_some() {
            ready()?;
            return Ok(Next::Continue);
        }
        let result = match message["method"].as_str().unwrap_or_default() {
            "initialize" => return self.greet(message),
            "session/new" => json!({"sessionId": self.session}),
            "session/resume" | "session/load" => return self.resume_session(message),
            "session/prompt" => {
                self.prompt = message["id"].clone();
                self.remember("user", message["params"]["prompt"][0]["text"].as_str().unwrap_or_default())?;
                return self.turn();
            }
            _ => return Ok(Next::Continue),
        };
        answer(&message["id"], &json!({"result": result}))?;
        Ok(Next::Continue)
    }

    fn greet(&self, message: &Value) -> io::Result<Next> {
        if let Some(garbage) = self.order("garbage") {
            say(format!("{garbage}\n"))?;
            return Ok(Next::Exit(0));
        }
        let version: u64 = self.order("version").map_or(Ok(1), number)?;
        let offers = self.order("offers").unwrap_or("load resume");
        let sessions = if offers.contains("resume") { json!({"resume": {}}) } else { json!({}) };
        let abilities = json!({"loadSession": offers.contains("load"), "sessionCapabilities": sessions});
        let name = self.order("named").unwrap_or("fake");
        let result = json!({"protocolVersion": version, "agentCapabilities": abilities, "agentInfo": {"name": name}});
        answer(&message["id"], &json!({"result": result}))?;
        Ok(Next::Continue)
    }

    /// Resumes or loads a session. A loaded session is replayed, by the protocol before the answer.
    fn resume_session(&mut self, message: &Value) -> io::Result<Next> {
        let session = message["params"]["sessionId"].as_str().unwrap_or_default().to_owned();
        let old = fs::read_to_string(sessions_folder()?.join(&session)).unwrap_or_default();
        if old.is_empty() || self.order("lose").is_some() {
            let error = json!({"code": -32602, "message": format!("Session not found: {session}")});
            answer(&message["id"], &json!({"error": error}))?;
            return Ok(Next::Continue);
        }
        self.session = session;
        let (is_loaded, is_late) = (message["method"] == "session/load", self.order("late").is_some());
        if is_loaded && !is_late {
            self.repeat(&old)?;
        }
        answer(&message["id"], &json!({"result": {}}))?;
        if is_loaded && is_late {
            self.repeat(&old)?;
        }
        Ok(Next::Continue)
    }

    fn repeat(&self, old: &str) -> io::Result<()> {
        old.lines().try_for_each(|line| {
            let turn: Value = serde_json::from_str(line)?;
            let kind = if turn[0] == "user" { "user_message_chunk" } else { "agent_message_chunk" };
            self.chunk(kind, turn[1].as_str().unwrap_or_default())
        })
    }

    fn turn(&mut self) -> io::Result<Next> {
        for at in 0..self.orders.len() {
            let (name, rest) = self.orders[at].clone();
            match self.perform(name, &rest)? {
                Next::Continue => {}
                Next::Answer(value) => return self.end(&value),
                Next::Exit(code) => return Ok(Next::Exit(code)),
            }
        }
        self.end(&json!({"result": {"stopReason": "end_turn"}}))
    }

    fn end(&self, value: &Value) -> io::Result<Next> {
        self.remember("agent", &self.said)?;
        answer(&self.prompt, value)?;
        Ok(Next::Continue)
    }

    fn perform(&mut self, name: &str, rest: &str) -> io::Result<Next> {
        let (first, second) = rest.split_once(' ').unwrap_or((rest, ""));
        match name {
            "say" => self.speak(rest.split_inclusive(' '))?,
            "tell" => self.speak(std::iter::once(rest))?,
            "permit" => {
                let answered = self.request_permission(first, second, None)?;
                self.speak(std::iter::once(format!("{title}: {answered}. ", title = second).as_str()))?;
            }
            "edit" => self.edit(first, second)?,
            "ask" => {
                let answered = request(first, &json!({"sessionId": self.session}))?;
                self.speak(std::iter::once(format!("{}. ", answered["error"]["code"]).as_str()))?;
            }
            "write" => fs::write(first, format!("{second}\n"))?,
            "cost" => {
                let amount: f64 = number(rest)?;
                let cost = json!({"amount": amount, "currency": "USD"});
                self.update(&json!({"sessionUpdate": "usage_update", "used": 1, "size": 2, "cost": cost}))?;
            }
            "error" => {
                let code: i64 = number(first)?;
                return Ok(Next::Answer(json!({"error": {"code": code, "message": second}})));
            }
            "stop" => return Ok(Next::Answer(json!({"result": {"stopReason": rest}}))),
            "hang" => return wait_for_cancel(),
            "deaf" => {
                ready()?;
                print_forever()?;
            }
            "exit" => return Ok(Next::Exit(number(rest)?)),
            _ => {}
        }
        Ok(Next::Continue)
    }

    fn edit(&self, path: &str, text: &str) -> io::Result<()> {
        let answered = self.request_permission("edit", "Edit a file", Some(path))?;
        if answered == "yes" { fs::write(path, format!("{text}\n")) } else { Ok(()) }
    }

    fn speak<'b>(&mut self, pieces: impl Iterator<Item = &'b str>) -> io::Result<()> {
        for piece in pieces {
            self.said.push_str(piece);
            self.chunk("agent_message_chunk", piece)?;
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
        let answered = request("session/request_permission", &params)?;
        let outcome = &answered["result"]["outcome"];
        Ok(outcome["optionId"].as_str().or(outcome["outcome"].as_str()).unwrap_or("nothing").to_owned())
    }

    fn chunk(&self, kind: &str, text: &str) -> io::Result<()> {
        self.update(&json!({"sessionUpdate": kind, "content": {"type": "text", "text": text}}))
    }

    fn update(&self, update: &Value) -> io::Result<()> {
        let params = json!({"sessionId": self.session, "update": update});
        line(&json!({"jsonrpc": "2.0", "method": "session/update", "params": params}))
    }

    fn remember(&self, who: &str, text: &str) -> io::Result<()> {
        fs::create_dir_all(sessions_folder()?)?;
        append(&sessions_folder()?.join(&self.session), &json!([who, text]).to_string())
    }
}

/// Sends a request and waits for the answer. The first id is 0, as with real agents.
fn request(method: &str, params: &Value) -> io::Result<Value> {
    line(&json!({"jsonrpc": "2.0", "id": 0, "method": method, "params": params}))?;
    while let Some(message) = read_message()? {
        if message["id"] == 0 && message["method"].is_null() {
            return Ok(message);
        }
    }
    Ok(Value::Null)
}

fn wait_for_cancel() -> io::Result<Next> {
    ready()?;
    while let Some(message) = read_message()? {
        if message["method"] == "session/cancel" {
            return Ok(Next::Answer(json!({"result": {"stopReason": "cancelled"}})));
        }
    }
    Ok(Next::Exit(0))
}

/// Prints irrelevant notifications forever.
fn print_forever() -> io::Result<()> {
    loop {
        line(&json!({"jsonrpc": "2.0", "method": "_fake/still_here", "params": {}}))?;
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn read_message() -> io::Result<Option<Value>> {
    let mut text = String::new();
    if io::stdin().lock().read_line(&mut text)? == 0 {
        return Ok(None);
    }
    append(&path_next_to_count("heard")?, text.trim_end())?;
    serde_json::from_str(&text).map(Some).map_err(io::Error::from)
}

fn answer(id: &Value, value: &Value) -> io::Result<()> {
    let mut message = json!({"jsonrpc": "2.0", "id": id});
    for (name, value) in value.as_object().into_iter().flatten() {
        message[name] = value.clone();
    }
    line(&message)
}

fn line(message: &Value) -> io::Result<()> {
    say(format!("{message}\n"))
}

fn append(path: &PathBuf, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().append(true).create(true).open(path)?;
    file.write_all(format!("{text}\n").as_bytes())
}

fn sessions_folder() -> io::Result<PathBuf> {
    path_next_to_count("talks")
}

fn path_next_to_count(name: &str) -> io::Result<PathBuf> {
    let count_file = std::env::var_os("FA_COUNT").ok_or_else(|| usage("this mode needs FA_COUNT"))?;
    Ok(PathBuf::from(count_file).with_file_name(name))
}

fn number<T: std::str::FromStr>(text: &str) -> io::Result<T> {
    text.trim().parse().map_err(|_| usage(&format!("{text:?} is not a number")))
}
