//! The orders `call` and `ask` of a script: calls a tool of `ralph mcp` as Claude would. `FA_RALPH` is the path of ralph. Each
//! result is appended to the file `FA_ANSWERS`, if that is set.
use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::agent_start::usage_error;
use crate::claude::{print_tool_call, print_tool_result};

/// The revision of the protocol that the client speaks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Revision {
    /// With `initialize`.
    Initialized,
    /// Every request carries the version.
    Stateless,
}

impl Revision {
    fn version(self) -> &'static str {
        match self {
            Self::Initialized => "2025-11-25",
            Self::Stateless => "2026-07-28",
        }
    }
}

/// Calls a tool: `TOOL ARGUMENTS`, where the arguments are JSON. Adds the id of the run, which `read_task` returns.
pub(crate) fn call_tool(text: &str, revision: Revision) -> io::Result<()> {
    let (tool, arguments) = text.split_once(' ').unwrap_or((text, "{}"));
    let mut arguments: Value = serde_json::from_str(arguments)?;
    let mut client = McpClient::start(revision)?;
    let task = client.call("read_task", &json!({}))?;
    let run = task["structuredContent"]["run"].clone();
    let takes_run = !tool.starts_with("read_") && arguments.get("run").is_none();
    if takes_run {
        arguments["run"] = run;
    }
    print_tool_call(&format!("mcp__ralph__{tool}"), &arguments)?;
    let result = client.call(tool, &arguments)?;
    client.close()?;
    print_tool_result(&result.to_string())?;
    match std::env::var_os("FA_ANSWERS") {
        Some(path) => {
            let mut file = OpenOptions::new().append(true).create(true).open(path)?;
            file.write_all(format!("{result}\n").as_bytes())
        }
        None => Ok(()),
    }
}

struct McpClient {
    server: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    revision: Revision,
    requests: u64,
}

impl McpClient {
    fn start(revision: Revision) -> io::Result<Self> {
        let ralph = std::env::var_os("FA_RALPH").ok_or_else(|| usage_error("FA_RALPH is not set"))?;
        let mut server = Command::new(ralph).arg("mcp").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let stdin = server.stdin.take().ok_or_else(|| io::Error::other("no stdin"))?;
        let stdout = server.stdout.take().ok_or_else(|| io::Error::other("no stdout"))?;
        let mut client = Self { server, stdin, stdout: BufReader::new(stdout), revision, requests: 0 };
        if revision == Revision::Initialized {
            let params = json!({"protocolVersion": revision.version(), "capabilities": {},
                "clientInfo": {"name": "fake-agent", "version": "1"}});
            client.request("initialize", params)?;
            client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        }
        Ok(client)
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> io::Result<Value> {
        self.request("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    fn request(&mut self, method: &str, mut params: Value) -> io::Result<Value> {
        if self.revision == Revision::Stateless {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": self.revision.version(),
                "io.modelcontextprotocol/clientInfo": {"name": "fake-agent", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {},
            });
        }
        self.requests += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.requests, "method": method, "params": params}))?;
        loop {
            let mut line = String::new();
            if self.stdout.read_line(&mut line)? == 0 {
                return Err(io::Error::other("ralph mcp ended without an answer"));
            }
            let answer: Value = serde_json::from_str(&line)?;
            if answer["id"] == self.requests {
                return match answer.get("error") {
                    Some(error) => Err(io::Error::other(error.to_string())),
                    None => Ok(answer["result"].clone()),
                };
            }
        }
    }

    fn send(&mut self, message: &Value) -> io::Result<()> {
        self.stdin.write_all(format!("{message}\n").as_bytes())?;
        self.stdin.flush()
    }

    fn close(mut self) -> io::Result<()> {
        drop(self.stdin);
        self.server.wait().map(drop)
    }
}
