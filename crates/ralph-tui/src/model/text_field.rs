//! A line of text that a person edits.
use super::board_input::KeyPress;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TextField {
    pub text: String,
    /// In characters.
    pub cursor: usize,
}

impl TextField {
    pub(crate) fn with_text(text: &str) -> Self {
        Self { text: text.to_owned(), cursor: text.chars().count() }
    }

    /// Applies a key. Returns whether the field uses it.
    pub(crate) fn press(&mut self, key: KeyPress) -> bool {
        match key {
            KeyPress::Char(character) => self.insert(&character.to_string()),
            KeyPress::Backspace if self.cursor > 0 => {
                self.cursor -= 1;
                self.remove_at_cursor();
            }
            KeyPress::Delete => self.remove_at_cursor(),
            KeyPress::Left => self.cursor = self.cursor.saturating_sub(1),
            KeyPress::Right => self.cursor = (self.cursor + 1).min(self.text.chars().count()),
            KeyPress::Home | KeyPress::Control('a') => self.cursor = 0,
            KeyPress::End | KeyPress::Control('e') => self.cursor = self.text.chars().count(),
            KeyPress::Control('u') => *self = Self::default(),
            _ => return false,
        }
        true
    }

    /// Inserts text. Line breaks become spaces.
    pub(crate) fn insert(&mut self, text: &str) {
        let plain: String =
            text.chars().map(|character| if character.is_control() { ' ' } else { character }).collect();
        let at = self.byte_of(self.cursor);
        self.text.insert_str(at, &plain);
        self.cursor += plain.chars().count();
    }

    fn remove_at_cursor(&mut self) {
        if self.cursor < self.text.chars().count() {
            let at = self.byte_of(self.cursor);
            self.text.remove(at);
        }
    }

    fn byte_of(&self, character: usize) -> usize {
        self.text.char_indices().nth(character).map_or(self.text.len(), |(at, _)| at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: U4
    #[test]
    fn a_field_edits_characters_of_any_width() {
        let mut field = TextField::with_text("aé本");
        field.press(KeyPress::Left);
        field.press(KeyPress::Backspace);
        field.insert("x\ny");
        assert_eq!((field.text.as_str(), field.cursor), ("ax y本", 4));
    }
}
