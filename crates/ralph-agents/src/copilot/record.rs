//! One record of Copilot's stream: a kind, and a payload that depends on it.
use crate::stream::members::{members, whole_line};

members!(
    CopilotRecord { kind: b"type", session: b"sessionId", exit_code: b"exitCode" }
    nested { data: b"data" => CopilotRecordPayload }
);
whole_line!(CopilotRecord);

members!(
    CopilotRecordPayload {
        message_id: b"messageId",
        content: b"content",
        parent: b"parentToolCallId",
        model: b"model",
        tool: b"toolName",
        tool_call: b"toolCallId",
        arguments: b"arguments",
        success: b"success",
        status: b"statusCode",
        error_type: b"errorType",
        error_message: b"errorMessage",
        message: b"message",
        reason: b"reason",
    }
    nested { result: b"result" => CopilotToolResult, error: b"error" => CopilotToolError }
);

members!(CopilotToolResult { content: b"content" });

members!(CopilotToolError { code: b"code", message: b"message" });
