//! One record of Codex's stream.
use crate::members::{members, whole_line};

members!(
    Record { kind: b"type", thread: b"thread_id", message: b"message" }
    nested { item: b"item" => Item, error: b"error" => Failure, usage: b"usage" => Usage }
);
whole_line!(Record);

members!(
    /// One thing that the agent does: a message, a thought or a tool call. Which members are there depends on
    /// its kind.
    Item {
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
    nested { result: b"result" => Answer }
);

members!(Answer { content: b"content" });

members!(Failure { message: b"message" });

members!(Usage { input: b"input_tokens", output: b"output_tokens" });
