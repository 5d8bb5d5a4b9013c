//! "Did you mean": finds the known name that is nearest to a mistyped one.

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
    let written = typed.to_lowercase();
    let nearest = known.iter().map(|name| (edit_distance(&written, &name.to_lowercase()), *name)).min()?;
    let (distance, name) = nearest;
    // In a short name, two different letters make another word.
    let max_distance = if name.len() > 5 { 2 } else { 1 };
    (distance <= max_distance && distance < name.len() / 2 + 1).then_some(name)
}

/// Returns the number of letters to insert, delete, replace or swap with a neighbour.
fn edit_distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(64).collect(), b.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
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
