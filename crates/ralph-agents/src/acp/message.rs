//! The shapes of what an agent sends, as far as they are needed here.
use crate::members::{members, whole_line};
use ralph_util::json::{Cursor, Malformed, Raw};

members!(Message {
    version: b"jsonrpc",
    id: b"id",
    method: b"method",
    params: b"params",
    result: b"result",
    error: b"error",
});
whole_line!(Message);

members!(
    /// What a request was answered with, whichever it was.
    Answer {
        protocol: b"protocolVersion",
        auth_methods: b"authMethods",
        session: b"sessionId",
        sessions: b"sessions",
        options: b"configOptions",
        stop_reason: b"stopReason",
    }
    nested {
        agent: b"agentInfo" => AgentInfo,
        abilities: b"agentCapabilities" => Abilities,
        models: b"models" => Models,
        usage: b"usage" => Tokens,
        meta: b"_meta" => Meta,
    }
);

members!(AgentInfo { name: b"name" });

members!(Abilities { load: b"loadSession" } nested { sessions: b"sessionCapabilities" => OfSessions });

members!(OfSessions { resume: b"resume" });

members!(Models { current: b"currentModelId" });

members!(Setting { id: b"id", category: b"category", current: b"currentValue" });

members!(
    /// Tokens in the spellings that occur.
    Tokens {
        input: b"inputTokens",
        output: b"outputTokens",
        input_snake: b"input_tokens",
        output_snake: b"output_tokens",
    }
);

members!(Meta {} nested { quota: b"quota" => Quota, usage: b"usage" => Tokens });

members!(Quota {} nested { tokens: b"token_count" => Tokens });

members!(Notice { session: b"sessionId" } nested { update: b"update" => Update });

members!(
    Update {
        kind: b"sessionUpdate",
        message: b"messageId",
        content: b"content",
        tool: b"toolCallId",
        name: b"name",
        title: b"title",
        tool_kind: b"kind",
        status: b"status",
        input: b"rawInput",
        output: b"rawOutput",
        locations: b"locations",
    }
    nested { cost: b"cost" => Cost, meta: b"_meta" => Meta }
);

members!(Cost { amount: b"amount", currency: b"currency" });

members!(Asked { session: b"sessionId", options: b"options" } nested { tool: b"toolCall" => Update });

members!(Choice { id: b"optionId", kind: b"kind" });

members!(Place { path: b"path" });

members!(Failure { code: b"code", message: b"message", data: b"data" });

members!(Data { details: b"details", message: b"message", kind: b"errorKind", name: b"errorName" });

/// Reads the members of a value that may be missing.
macro_rules! of_value {
    ($($name:ident),+) => {
        $(impl<'a> $name<'a> {
            pub(super) fn of(raw: Option<Raw<'a>>) -> Result<Self, Malformed> {
                raw.map_or(Ok(Self::default()), |raw| Self::read(&mut Cursor::new(raw)))
            }
        })+
    };
}
of_value!(Answer, Notice, Asked, Failure, Data);

/// Reads the objects of a list. Anything else is an empty one.
macro_rules! list_of {
    ($($name:ident),+) => {
        $(impl<'a> $name<'a> {
            pub(super) fn list(raw: Option<Raw<'a>>) -> Result<Vec<Self>, Malformed> {
                let mut all = Vec::new();
                if let Some(raw) = raw.filter(|raw| raw.starts_with(b"[")) {
                    Cursor::new(raw).array(|cursor| Self::read(cursor).map(|one| all.push(one)))?;
                }
                Ok(all)
            }
        })+
    };
}
list_of!(Setting, Choice, Place);
