//! One record of Claude's stream, read in a single pass over its bytes whatever the order of its members.
use crate::members::members;
use ralph_util::json::{self, Cursor, Malformed, Raw};

/// The members that most records share. Everything else is looked up only in the record types that need it.
#[derive(Debug, Default)]
pub(super) struct Record<'a> {
    pub(super) kind: &'a str,
    pub(super) subtype: &'a str,
    /// Whether a sub-agent speaks here.
    pub(super) is_nested: bool,
    /// The category of an API failure that stands in place of an answer.
    pub(super) error: &'a str,
    pub(super) message: Message<'a>,
    /// A raw event of the model's own stream.
    pub(super) event: Option<Raw<'a>>,
}

#[derive(Debug, Default)]
pub(super) struct Message<'a> {
    pub(super) id: Option<Raw<'a>>,
    pub(super) model: Option<Raw<'a>>,
    pub(super) content: Content<'a>,
}

#[derive(Debug, Default)]
pub(super) enum Content<'a> {
    #[default]
    Nothing,
    /// A bare string.
    Words(Raw<'a>),
    Blocks(Vec<Block<'a>>),
}

members!(
    /// One content block. Which members are there depends on its kind.
    Block {
        kind: b"type",
        text: b"text",
        thinking: b"thinking",
        name: b"name",
        input: b"input",
        content: b"content",
        is_error: b"is_error",
    }
);

/// The members of a record as they are found.
#[derive(Default)]
struct Found<'a> {
    kind: Option<Raw<'a>>,
    subtype: Option<Raw<'a>>,
    parent: Option<Raw<'a>>,
    error: Option<Raw<'a>>,
    event: Option<Raw<'a>>,
    message: Option<Message<'a>>,
}

impl<'a> Record<'a> {
    pub(super) fn read(line: &'a [u8]) -> Result<Self, Malformed> {
        let mut found = Found::default();
        let mut cursor = Cursor::new(line);
        cursor.object(|cursor, key| match key {
            b"type" => json::once(&mut found.kind, cursor.raw()?),
            b"subtype" => json::once(&mut found.subtype, cursor.raw()?),
            b"parent_tool_use_id" => json::once(&mut found.parent, cursor.raw()?),
            b"error" => json::once(&mut found.error, cursor.raw()?),
            b"event" => json::once(&mut found.event, cursor.raw()?),
            b"message" if found.message.is_some() => Err(Malformed),
            b"message" => Message::read(cursor).map(|message| found.message = Some(message)),
            _ => cursor.skip(),
        })?;
        cursor.end()?;
        Ok(Self {
            kind: json::name(found.kind),
            subtype: json::name(found.subtype),
            is_nested: json::is_set(found.parent),
            error: json::name(found.error),
            message: found.message.unwrap_or_default(),
            event: found.event,
        })
    }
}

impl<'a> Message<'a> {
    fn read(cursor: &mut Cursor<'a>) -> Result<Self, Malformed> {
        let mut message = Self::default();
        if cursor.peek() != Some(b'{') {
            return cursor.skip().map(|()| message);
        }
        let mut has_content = false;
        cursor.object(|cursor, key| match key {
            b"id" => json::once(&mut message.id, cursor.raw()?),
            b"model" => json::once(&mut message.model, cursor.raw()?),
            b"content" if std::mem::replace(&mut has_content, true) => Err(Malformed),
            b"content" => Content::read(cursor).map(|content| message.content = content),
            _ => cursor.skip(),
        })?;
        Ok(message)
    }
}

impl<'a> Content<'a> {
    fn read(cursor: &mut Cursor<'a>) -> Result<Self, Malformed> {
        match cursor.peek() {
            Some(b'[') => {
                let mut blocks = Vec::new();
                cursor.array(|cursor| Block::read(cursor).map(|block| blocks.push(block)))?;
                Ok(Self::Blocks(blocks))
            }
            Some(b'"') => cursor.raw().map(Self::Words),
            Some(_) | None => cursor.skip().map(|()| Self::Nothing),
        }
    }
}
