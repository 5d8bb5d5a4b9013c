//! The messages that an agent sends, limited to the members that ralph needs.
use crate::stream::members::{members, whole_line};
use ralph_util::json::{JsonCursor, MalformedJson, RawJson};

members!(AcpMessage {
    version: b"jsonrpc",
    id: b"id",
    method: b"method",
    params: b"params",
    result: b"result",
    error: b"error",
});
whole_line!(AcpMessage);

members!(
    /// The result of any request.
    AcpResponse {
        protocol_version: b"protocolVersion",
        auth_methods: b"authMethods",
        session: b"sessionId",
        sessions: b"sessions",
        config_options: b"configOptions",
        stop_reason: b"stopReason",
    }
    nested {
        agent: b"agentInfo" => AcpAgentInfo,
        capabilities: b"agentCapabilities" => AcpAgentCapabilities,
        models: b"models" => AcpModelState,
        usage: b"usage" => AcpTokenUsage,
        meta: b"_meta" => AcpMetadata,
    }
);

members!(AcpAgentInfo { name: b"name" });

members!(AcpAgentCapabilities { load_session: b"loadSession" } nested { session_capabilities: b"sessionCapabilities" => AcpSessionCapabilities });

members!(AcpSessionCapabilities { resume: b"resume" });

members!(AcpModelState { current: b"currentModelId" });

members!(AcpConfigOption { id: b"id", category: b"category", current: b"currentValue" });

members!(
    /// Token counts, in both spellings that agents use.
    AcpTokenUsage {
        input: b"inputTokens",
        output: b"outputTokens",
        input_snake: b"input_tokens",
        output_snake: b"output_tokens",
    }
);

members!(AcpMetadata {} nested { quota: b"quota" => AcpQuota, usage: b"usage" => AcpTokenUsage });

members!(AcpQuota {} nested { tokens: b"token_count" => AcpTokenUsage });

members!(AcpSessionNotification { session: b"sessionId" } nested { update: b"update" => AcpSessionUpdate });

members!(
    AcpSessionUpdate {
        kind: b"sessionUpdate",
        message_id: b"messageId",
        content: b"content",
        tool_call_id: b"toolCallId",
        name: b"name",
        title: b"title",
        tool_kind: b"kind",
        status: b"status",
        input: b"rawInput",
        output: b"rawOutput",
        locations: b"locations",
    }
    nested { cost: b"cost" => AcpCost, meta: b"_meta" => AcpMetadata }
);

members!(AcpCost { amount: b"amount", currency: b"currency" });

members!(AcpPermissionRequest { session: b"sessionId", options: b"options" } nested { tool_call: b"toolCall" => AcpSessionUpdate });

members!(AcpPermissionOption { id: b"optionId", kind: b"kind" });

members!(AcpToolLocation { path: b"path" });

members!(AcpRpcError { code: b"code", message: b"message", data: b"data" });

members!(AcpErrorDetails { details: b"details", message: b"message", kind: b"errorKind", name: b"errorName" });

/// Reads the members of an optional value.
macro_rules! of_value {
    ($($name:ident),+) => {
        $(impl<'a> $name<'a> {
            pub(crate) fn of(raw: Option<RawJson<'a>>) -> Result<Self, MalformedJson> {
                raw.map_or(Ok(Self::default()), |raw| Self::read(&mut JsonCursor::new(raw)))
            }
        })+
    };
}
of_value!(AcpResponse, AcpSessionNotification, AcpPermissionRequest, AcpRpcError, AcpErrorDetails);

/// Reads the objects of a list. Any other value counts as an empty list.
macro_rules! list_of {
    ($($name:ident),+) => {
        $(impl<'a> $name<'a> {
            pub(crate) fn list(raw: Option<RawJson<'a>>) -> Result<Vec<Self>, MalformedJson> {
                let mut all = Vec::new();
                if let Some(raw) = raw.filter(|raw| raw.starts_with(b"[")) {
                    JsonCursor::new(raw).visit_array(|cursor| Self::read(cursor).map(|one| all.push(one)))?;
                }
                Ok(all)
            }
        })+
    };
}
list_of!(AcpConfigOption, AcpPermissionOption, AcpToolLocation);
