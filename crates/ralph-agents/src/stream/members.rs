//! Macros that declare the members of a JSON object that a parser needs. All members, including those of nested
//! objects, are found in one pass over the bytes and kept as raw JSON. A duplicate member makes the record malformed.
//! Hand-written because it uses the `ralph_util::json` scanner, which skips large tool results without decoding them.

/// `members!(Name { field: b"key", … } nested { field: b"key" => OtherName, … })`
macro_rules! members {
    (
        $(#[$about:meta])*
        $name:ident { $($field:ident: $key:literal),* $(,)? }
        $(nested { $($inner:ident: $inner_key:literal => $inner_name:ident),+ $(,)? })?
    ) => {
        $(#[$about])*
        #[derive(Debug, Default, Clone, Copy)]
        pub(crate) struct $name<'a> {
            $(pub(crate) $field: Option<ralph_util::json::RawJson<'a>>,)*
            $($(pub(crate) $inner: Option<$inner_name<'a>>,)+)?
        }

        impl<'a> $name<'a> {
            /// Reads the object at the cursor. Any other value is skipped and has no members.
            pub(crate) fn read(
                cursor: &mut ralph_util::json::JsonCursor<'a>,
            ) -> Result<Self, ralph_util::json::MalformedJson> {
                let mut found = Self::default();
                if cursor.peek() != Some(b'{') {
                    return cursor.skip_value().map(|()| found);
                }
                cursor.visit_object(|cursor, key| match key {
                    $($key => ralph_util::json::set_once(&mut found.$field, cursor.take_raw()?),)*
                    $($($inner_key => {
                        let inner = $inner_name::read(cursor)?;
                        ralph_util::json::set_once(&mut found.$inner, inner)
                    })+)?
                    _ => cursor.skip_value(),
                })?;
                Ok(found)
            }
        }
    };
}

/// Adds a constructor that reads a whole line to a type declared with `members!`.
macro_rules! whole_line {
    ($name:ident) => {
        impl<'a> $name<'a> {
            pub(crate) fn of_line(line: &'a [u8]) -> Result<Self, ralph_util::json::MalformedJson> {
                let mut cursor = ralph_util::json::JsonCursor::new(line);
                if cursor.peek() != Some(b'{') {
                    return Err(ralph_util::json::MalformedJson);
                }
                let found = Self::read(&mut cursor)?;
                cursor.expect_end()?;
                Ok(found)
            }
        }
    };
}

pub(crate) use {members, whole_line};
