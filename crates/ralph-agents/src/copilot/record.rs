//! One record of Copilot's stream: a kind, and data that depend on it.
use crate::members::{members, whole_line};

members!(
    Record { kind: b"type", session: b"sessionId", exit_code: b"exitCode" }
    nested { data: b"data" => Data }
);
whole_line!(Record);

members!(
    Data {
        message_id: b"messageId",
        content: b"content",
        parent: b"parentToolCallId",
        model: b"model",
        tool: b"toolName",
        arguments: b"arguments",
        success: b"success",
        status: b"statusCode",
        error_type: b"errorType",
        error_message: b"errorMessage",
        message: b"message",
        reason: b"reason",
    }
    nested { result: b"result" => Answer, error: b"error" => Failure }
);

members!(Answer { content: b"content" });

members!(Failure { message: b"message" });
