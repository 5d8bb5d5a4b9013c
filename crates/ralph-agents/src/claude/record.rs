//! One record of Claude's stream, parsed in a single pass over its bytes in any member order.
use crate::stream::members::members;
use ralph_util::json::{self, JsonCursor, MalformedJson, RawJson};

/// The members that most records share. Other members are looked up only for the record types that need them.
#[derive(Debug, Default)]
pub(crate) struct ClaudeRecord<'a> {
    pub(crate) kind: &'a str,
    pub(crate) subtype: &'a str,
    /// Whether the record comes from a sub-agent.
    pub(crate) is_nested: bool,
    /// The category of an API failure in place of an answer.
    pub(crate) error: &'a str,
    pub(crate) message: ClaudeMessage<'a>,
    /// A raw event of the model's stream.
    pub(crate) event: Option<RawJson<'a>>,
}

#[derive(Debug, Default)]
pub(crate) struct ClaudeMessage<'a> {
    pub(crate) id: Option<RawJson<'a>>,
    pub(crate) model: Option<RawJson<'a>>,
    pub(crate) content: ClaudeContent<'a>,
}

#[derive(Debug, Default)]
pub(crate) enum ClaudeContent<'a> {
    #[default]
    Empty,
    /// A bare string.
    Text(RawJson<'a>),
    Blocks(Vec<ClaudeContentBlock<'a>>),
}

members!(
    /// One content block. Its members depend on its kind.
    ClaudeContentBlock {
        kind: b"type",
        text: b"text",
        thinking: b"thinking",
        name: b"name",
        input: b"input",
        content: b"content",
        is_error: b"is_error",
    }
);

/// The members of a record while it is parsed.
#[derive(Default)]
struct ClaudeRecordMembers<'a> {
    kind: Option<RawJson<'a>>,
    subtype: Option<RawJson<'a>>,
    parent: Option<RawJson<'a>>,
    error: Option<RawJson<'a>>,
    event: Option<RawJson<'a>>,
    message: Option<ClaudeMessage<'a>>,
}

impl<'a> ClaudeRecord<'a> {
    pub(crate) fn parse(line: &'a [u8]) -> Result<Self, MalformedJson> {
        let mut found = ClaudeRecordMembers::default();
        let mut cursor = JsonCursor::new(line);
        cursor.visit_object(|cursor, key| match key {
            b"type" => json::set_once(&mut found.kind, cursor.take_raw()?),
            b"subtype" => json::set_once(&mut found.subtype, cursor.take_raw()?),
            b"parent_tool_use_id" => json::set_once(&mut found.parent, cursor.take_raw()?),
            b"error" => json::set_once(&mut found.error, cursor.take_raw()?),
            b"event" => json::set_once(&mut found.event, cursor.take_raw()?),
            b"message" if found.message.is_some() => Err(MalformedJson),
            b"message" => ClaudeMessage::parse(cursor).map(|message| found.message = Some(message)),
            _ => cursor.skip_value(),
        })?;
        cursor.expect_end()?;
        Ok(Self {
            kind: json::as_name(found.kind),
            subtype: json::as_name(found.subtype),
            is_nested: json::is_set(found.parent),
            error: json::as_name(found.error),
            message: found.message.unwrap_or_default(),
            event: found.event,
        })
    }
}

impl<'a> ClaudeMessage<'a> {
    fn parse(cursor: &mut JsonCursor<'a>) -> Result<Self, MalformedJson> {
        let mut message = Self::default();
        if cursor.peek() != Some(b'{') {
            return cursor.skip_value().map(|()| message);
        }
        let mut has_content = false;
        cursor.visit_object(|cursor, key| match key {
            b"id" => json::set_once(&mut message.id, cursor.take_raw()?),
            b"model" => json::set_once(&mut message.model, cursor.take_raw()?),
            b"content" if std::mem::replace(&mut has_content, true) => Err(MalformedJson),
            b"content" => ClaudeContent::parse(cursor).map(|content| message.content = content),
            _ => cursor.skip_value(),
        })?;
        Ok(message)
    }
}

impl<'a> ClaudeContent<'a> {
    fn parse(cursor: &mut JsonCursor<'a>) -> Result<Self, MalformedJson> {
        match cursor.peek() {
            Some(b'[') => {
                let mut blocks = Vec::new();
                cursor.visit_array(|cursor| ClaudeContentBlock::read(cursor).map(|block| blocks.push(block)))?;
                Ok(Self::Blocks(blocks))
            }
            Some(b'"') => cursor.take_raw().map(Self::Text),
            Some(_) | None => cursor.skip_value().map(|()| Self::Empty),
        }
    }
}
