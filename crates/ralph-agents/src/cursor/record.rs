//! One record of Cursor's stream.
use crate::stream::members::{members, whole_line};

members!(
    CursorRecord {
        kind: b"type",
        subtype: b"subtype",
        session: b"session_id",
        model: b"model",
        is_error: b"is_error",
        result: b"result",
        tool_call: b"tool_call",
        text: b"text",
    }
    nested { message: b"message" => CursorMessage }
);
whole_line!(CursorRecord);

members!(CursorMessage { content: b"content" });
