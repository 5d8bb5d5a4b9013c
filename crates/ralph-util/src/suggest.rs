//! "Did you mean": finds the known name that is nearest to a mistyped one.

const MAX_COMPARED_CHARS: usize = 64;

/// Returns a hint with the nearest known name, or with all known names if none is near enough.
#[must_use]
pub fn suggestion_hint(typed: &str, known: &[&str]) -> String {
    match nearest_name(typed, known) {
        Some(name) => format!("did you mean {name}?"),
        None => format!("choose one of {}", known.join(", ")),
    }
}

/// Returns the nearest known name, or `None` if none is near enough.
#[must_use]
pub fn nearest_name<'a>(typed: &str, known: &[&'a str]) -> Option<&'a str> {
    // The cost grows with the length of both texts, and a longer text is not near to any name.
    let written: String = typed.to_lowercase().chars().take(MAX_COMPARED_CHARS).collect();
    let distance_to = |name: &str| strsim::osa_distance(&written, &name.to_lowercase());
    let (distance, name) = known.iter().map(|name| (distance_to(name), *name)).min()?;
    // In a short name, two different letters make another word.
    let max_distance = if name.len() > 5 { 2 } else { 1 };
    (distance <= max_distance && distance < name.len() / 2 + 1).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test] // spec: A1
    fn a_typing_mistake_is_recognised() {
        for slip in ["cluade", "claud", "Claude", "claudee", "xlaude"] {
            assert_eq!(suggestion_hint(slip, &["text", "claude"]), "did you mean claude?", "{slip}");
        }
    }

    #[test] // spec: A1
    fn an_unknown_name_gets_the_whole_list() {
        assert_eq!(suggestion_hint("aider", &["text", "claude"]), "choose one of text, claude");
        assert_eq!(suggestion_hint("", &["text", "claude"]), "choose one of text, claude");
        assert_eq!(suggestion_hint(&"x".repeat(100_000), &["text"]), "choose one of text");
    }
}
