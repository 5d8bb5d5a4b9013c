//! One record of Cline's stream, of current or earlier versions.
use crate::stream::members::{members, whole_line};

members!(
    ClineRecord {
        kind: b"type",
        task: b"taskId",
        timestamp: b"ts",
        say: b"say",
        ask: b"ask",
        text: b"text",
        partial: b"partial",
        hook: b"hookEventName",
        parent: b"parentAgentId",
        finish_reason: b"finishReason",
        message: b"message",
        model_id: b"modelId",
    }
    nested { event: b"event" => ClineAgentEvent, model: b"model" => ClineModel }
);
whole_line!(ClineRecord);

members!(
    /// The event inside an `agent_event` record.
    ClineAgentEvent {
        kind: b"type",
        content: b"contentType",
        text: b"text",
        reasoning: b"reasoning",
        tool: b"toolName",
        input: b"input",
        output: b"output",
        error: b"error",
        error_class: b"errorClass",
        input_tokens: b"inputTokens",
        output_tokens: b"outputTokens",
        total_cost: b"totalCost",
    }
);

members!(ClineModel { id: b"id" });
