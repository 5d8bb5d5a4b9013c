//! Makes external text safe for a terminal: an agent's output must not move the cursor, write the clipboard, forge a
//! link, or reverse the reading direction of ralph's lines.
use std::iter::Peekable;
use std::str::Chars;

const ESCAPE: char = '\u{1b}';
const BELL_CHARACTER: char = '\u{7}';
const CONTROL_SEQUENCE_INTRODUCER: char = '\u{9b}';
/// The one-character form of `ESC \`, which ends strings.
const STRING_TERMINATOR: char = '\u{9c}';

/// Removes control characters and terminal sequences. Keeps newlines, replaces tabs with spaces, and a carriage return
/// without a newline with a newline.
pub fn sanitize_text(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            ESCAPE => skip_escape(&mut rest),
            CONTROL_SEQUENCE_INTRODUCER => skip_control_sequence(&mut rest),
            '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => skip_string_command(&mut rest),
            '\n' => clean.push('\n'),
            '\r' if rest.peek() != Some(&'\n') => clean.push('\n'),
            '\t' => clean.push_str("    "),
            '\u{2028}' | '\u{2029}' => clean.push('\n'),
            hidden if hidden.is_control() || changes_text_direction(hidden) => {}
            plain => clean.push(plain),
        }
    }
    clean
}

/// Escapes the characters that a terminal would interpret or not show, so that a user who approves a command sees all
/// of it. Keeps newlines.
#[must_use]
pub fn escape_hidden(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' => escaped.push('\n'),
            hidden if is_hidden_character(hidden) => escaped.extend(hidden.escape_default()),
            plain => escaped.push(plain),
        }
    }
    escaped
}

/// Returns whether a terminal would interpret a character or not show it.
#[must_use]
pub fn is_hidden_character(character: char) -> bool {
    character.is_control() || changes_text_direction(character) || is_invisible(character)
}

/// Returns whether a character has no glyph, or is a blank other than the ordinary space.
fn is_invisible(character: char) -> bool {
    matches!(character, '\u{a0}' | '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180e}' | '\u{2000}'..='\u{200d}' | '\u{2028}' | '\u{2029}' | '\u{202f}'
        | '\u{205f}'..='\u{2064}' | '\u{206a}'..='\u{206f}' | '\u{3000}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// Returns whether a character reorders or hides the text after it.
fn changes_text_direction(character: char) -> bool {
    matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{61c}' | '\u{feff}')
}

fn skip_escape(rest: &mut Peekable<Chars<'_>>) {
    match rest.peek() {
        Some('[') => {
            rest.next();
            skip_control_sequence(rest);
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            rest.next();
            skip_string_command(rest);
        }
        Some(' '..='/') => {
            while rest.next_if(|next| (' '..='/').contains(next)).is_some() {}
            rest.next_if(|next| ('0'..='~').contains(next));
        }
        Some('0'..='~') => drop(rest.next()),
        Some(_) | None => {}
    }
}

/// Skips parameters and the final letter of a control sequence.
fn skip_control_sequence(rest: &mut Peekable<Chars<'_>>) {
    while rest.next_if(|next| (' '..='?').contains(next)).is_some() {}
    rest.next_if(|next| ('@'..='~').contains(next));
}

/// Skips a string command to its end. An unclosed one ends with its line, so that it cannot hide later output.
fn skip_string_command(rest: &mut Peekable<Chars<'_>>) {
    while let Some(next) = rest.next_if(|next| *next != '\n') {
        match next {
            BELL_CHARACTER | STRING_TERMINATOR => return,
            ESCAPE => {
                rest.next_if(|next| *next == '\\');
                return;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test] // spec: A4
    fn terminal_sequences_do_not_pass() {
        let table = [
            ("\x1b[31mred\x1b[0m", "red"),
            ("\x1b]52;c;cm0gLXJm\x07paste", "paste"),
            ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
            ("\x1b[2J\x1b[1;1Hclear", "clear"),
            ("\x1bPq sixel\x1b\\after", "after"),
            ("\u{9b}31mred", "red"),
            ("\u{9d}0;title\u{9c}text", "text"),
            ("a\x1bcb", "ab"),
            ("a\x1b(0b", "ab"),
            ("over\rwritten", "over\nwritten"),
            ("dos\r\nline", "dos\nline"),
            ("bell\x07 back\x08space nul\0", "bell backspace nul"),
            ("safe\u{202e}txt.exe\u{202c}", "safetxt.exe"),
            ("\x1b]0;never closed\nnext line", "\nnext line"),
            ("tab\there", "tab    here"),
            ("\x1b", ""),
            ("日本 🎉 é", "日本 🎉 é"),
        ];
        for (dirty, clean) in table {
            assert_eq!(sanitize_text(dirty), clean, "{dirty:?}");
        }
    }

    #[test] // spec: X1, T8
    fn characters_that_a_terminal_hides_are_escaped() {
        let table = [
            ("make test", "make test"),
            ("a\nb", "a\nb"),
            ("true #\x1b[2K\rrm -rf /", "true #\\u{1b}[2K\\rrm -rf /"),
            ("a\tb\0", "a\\tb\\u{0}"),
            ("safe\u{202e}txt\u{200b}\u{a0}x", "safe\\u{202e}txt\\u{200b}\\u{a0}x"),
            ("日本 é", "日本 é"),
        ];
        for (dirty, escaped) in table {
            assert_eq!(escape_hidden(dirty), escaped);
        }
    }

    proptest! {
        #[test] // spec: X1
        fn escaped_text_has_no_hidden_characters(text in any::<String>()) {
            let escaped = escape_hidden(&text);
            prop_assert!(escaped.chars().all(|c| c == '\n' || !is_hidden_character(c)));
        }

        #[test] // spec: A4
        fn sanitized_text_has_no_control_characters(text in any::<String>(), noise in "[\\x00-\\x1f\\x7f-\\u{9f}\\[\\];a\\\\]{0,40}") {
            let clean = sanitize_text(&format!("{text}{noise}{text}"));
            prop_assert!(clean.chars().all(|c| c == '\n' || (!c.is_control() && !changes_text_direction(c))));
        }
    }
}
