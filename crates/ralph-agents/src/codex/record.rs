//! One record of Codex's stream.
use crate::stream::members::{members, whole_line};

members!(
    CodexRecord { kind: b"type", thread: b"thread_id", message: b"message" }
    nested { item: b"item" => CodexItem, error: b"error" => CodexTurnError, usage: b"usage" => CodexTokenUsage }
);
whole_line!(CodexRecord);

members!(
    /// One item of a turn: a message, reasoning or a tool call. Its members depend on its kind.
    CodexItem {
        id: b"id",
        kind: b"type",
        text: b"text",
        message: b"message",
        status: b"status",
        command: b"command",
        output: b"aggregated_output",
        exit_code: b"exit_code",
        changes: b"changes",
        query: b"query",
        prompt: b"prompt",
        server: b"server",
        tool: b"tool",
        arguments: b"arguments",
        error: b"error",
    }
    nested { result: b"result" => CodexToolResult }
);

members!(CodexToolResult { content: b"content" });

members!(CodexTurnError { message: b"message" });

members!(CodexTokenUsage { input: b"input_tokens", output: b"output_tokens" });
